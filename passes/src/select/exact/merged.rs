//! The operators that may compute several aggregates in one pass: unions of one operator of each.

use super::super::entry::Member;
use super::group_set::GroupSet;
use super::operators::Candidate;
use super::problem::{Priced, undominated};
use crate::cost::CostModel;
use crate::facts::Context;
use crate::select::multi_aggregate::Pass;
use fuseline_ir::hop::HopId;
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// The most unions that are priced of one set of aggregates.
const MAX_UNIONS: usize = 1024;

/// An aggregate with its operators, cheapest first, each with the form in which it can be merged.
pub(super) struct Aggregate {
    pub(super) group: Member,
    pub(super) candidates: Vec<(Candidate, Option<Pass>)>,
}

/// The operators of several aggregates in one pass.
#[derive(Clone, Default)]
pub(super) struct Merged {
    /// The operators that no other one dominates; none if the aggregates cannot be merged.
    pub(super) candidates: Vec<Candidate>,
    /// One of the unions: which other operators it waits for does not depend on its members, since aggregates are
    /// never fused into others.
    pub(super) example: Option<Pass>,
    /// The most seconds that any of them saves.
    pub(super) saving: f64,
    /// Whether all unions were priced.
    pub(super) is_complete: bool,
}

impl Aggregate {
    pub(super) fn new(context: &Context<'_>, group: Member, mut candidates: Vec<Candidate>) -> Aggregate {
        candidates.sort_by(|one, other| one.seconds.total_cmp(&other.seconds));
        let forms: Vec<Option<Pass>> =
            candidates.iter().map(|it| Pass::of(context, &it.operators[0], it.seconds)).collect();
        Aggregate { group, candidates: candidates.into_iter().zip(forms).collect() }
    }

    fn forms(&self) -> impl Iterator<Item = (&Candidate, &Pass)> {
        self.candidates.iter().filter_map(|(candidate, form)| Some((candidate, form.as_ref()?)))
    }

    /// How many operators can be merged.
    pub(super) fn number_of_forms(&self) -> usize {
        self.forms().count()
    }

    /// Whether some operators of the two can be merged.
    pub(super) fn can_merge(&self, context: &Context<'_>, other: &Aggregate) -> bool {
        self.forms().any(|(_, one)| other.forms().any(|(_, other)| one.can_merge(context, other)))
    }

    /// The operators by themselves.
    pub(super) fn by_itself(&self) -> Vec<Candidate> {
        undominated(self.candidates.iter().map(|(candidate, _)| candidate.clone()).collect())
    }
}

/// All unions of one operator of each aggregate of a set, by number. An aggregate more makes them those of a larger
/// set.
pub(super) type Unions = Vec<Union>;

/// One operator of each of several aggregates.
pub(super) enum Union {
    /// Together in this pass, which has no price yet.
    Pass(Pass),
    /// They cannot be merged. With others between them they may.
    Apart,
    /// One fuses what another one reads: the union with its operator that fuses it, too, is the one to take, whatever
    /// else is in it.
    Redundant,
}

impl Union {
    /// The union of these parts, where that of all but the last one is known.
    fn of(
        context: &Context<'_>,
        parts: &[(&Candidate, &Pass)],
        free: &BTreeMap<HopId, Member>,
        without_last: Option<&Union>,
    ) -> Union {
        if matches!(without_last, Some(Union::Redundant)) || is_redundant(parts, free) {
            return Union::Redundant;
        }
        let pass = match (without_last, parts.last()) {
            (Some(Union::Pass(before)), Some((_, last))) => before.with(context, last),
            _ => Pass::all_unpriced(context, &parts.iter().map(|(_, form)| *form).collect::<SmallVec<[&Pass; 8]>>()),
        };
        pass.map_or(Union::Apart, Union::Pass)
    }
}

/// Whether one of these operators fuses what may be materialised and another one reads.
fn is_redundant(parts: &[(&Candidate, &Pass)], free: &BTreeMap<HopId, Member>) -> bool {
    let mut inputs = parts.iter().flat_map(|(_, form)| &form.operator.inputs);
    inputs.any(|id| free.contains_key(id) && parts.iter().any(|(_, form)| form.operator.covers(*id)))
}

impl Merged {
    /// The operators of all these aggregates together, and the unions that they were chosen from. `free` has the groups
    /// that may or may not be materialised, `without_last` the unions of all these aggregates but the last one.
    pub(super) fn new(
        context: &Context<'_>,
        model: &CostModel,
        aggregates: &[&Aggregate],
        free: &BTreeMap<HopId, Member>,
        without_last: Option<&Unions>,
    ) -> (Merged, Unions) {
        let mut forms: Vec<Vec<(&Candidate, &Pass)>> =
            aggregates.iter().map(|aggregate| aggregate.forms().collect()).collect();
        let mut most = forms.iter().map(Vec::len).max().unwrap_or(0);
        let is_complete = number_of_unions(&forms, most) <= MAX_UNIONS;
        while number_of_unions(&forms, most) > MAX_UNIONS {
            most -= 1;
        }
        forms.iter_mut().for_each(|forms| forms.truncate(most));

        let mut merged = Merged { is_complete, ..Merged::default() };
        let mut priced: Vec<PricedUnion> = Vec::new();
        let count: usize = forms.iter().map(Vec::len).product();
        let others: usize = forms[..forms.len() - 1].iter().map(Vec::len).product();
        // Of as many operators as here.
        let without_last = without_last.filter(|unions| unions.len() == others);
        let mut unions: Unions = Vec::with_capacity(count);
        for number in 0..count {
            let parts = choice(&forms, number);
            let union = Union::of(context, &parts, free, without_last.map(|unions| &unions[number % others]));
            if let Union::Pass(pass) = &union
                && let Some((union, group)) = priced_union(context, model, pass, number, free)
            {
                merged.saving = merged.saving.max(group.saving());
                merged.example.get_or_insert(group);
                priced.push(union);
            }
            unions.push(union);
        }
        for PricedUnion { number, seconds, reads } in undominated(priced) {
            let parts = choice(&forms, number).into_iter();
            let operators = parts.flat_map(|(part, _)| part.operators.iter().cloned()).collect();
            merged.candidates.push(Candidate { operators, seconds, reads });
        }
        (merged, unions)
    }
}

/// How many unions there are of one operator of each aggregate, of the first so many.
fn number_of_unions<T>(forms: &[Vec<T>], most: usize) -> usize {
    forms.iter().map(|forms| forms.len().min(most)).fold(1, usize::saturating_mul)
}

/// What tells a union from others.
struct PricedUnion {
    /// Which of its aggregates' operators it is made of.
    number: usize,
    seconds: f64,
    reads: GroupSet,
}

impl Priced for PricedUnion {
    fn seconds(&self) -> f64 {
        self.seconds
    }

    fn reads(&self) -> &GroupSet {
        &self.reads
    }
}

/// One of each list: the digits of the number.
fn choice<T: Copy>(lists: &[Vec<T>], mut number: usize) -> SmallVec<[T; 8]> {
    let mut chosen = SmallVec::new();
    for list in lists {
        chosen.push(list[number % list.len()]);
        number /= list.len();
    }
    chosen
}

/// A pass, of the choice of this number, with its price; none if a constraint forbids it.
fn priced_union(
    context: &Context<'_>,
    model: &CostModel,
    pass: &Pass,
    number: usize,
    free: &BTreeMap<HopId, Member>,
) -> Option<(PricedUnion, Pass)> {
    let group = pass.clone().priced(context, model);
    if group.seconds.is_infinite() {
        return None;
    }
    let reads: GroupSet = group.operator.inputs.iter().filter_map(|id| free.get(id)).copied().collect();
    Some((PricedUnion { number, seconds: group.seconds, reads }, group))
}
