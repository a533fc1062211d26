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

/// The passes of all unions of one operator of each aggregate of a set, by number, without prices; none where they cannot be
/// merged. An aggregate more makes them those of a larger set.
pub(super) type Unions = Vec<Option<Pass>>;

impl Merged {
    /// The operators of all these aggregates together, and the passes that they were chosen from. `free` has the groups that may
    /// or may not be materialised, `without_last` the passes of all these aggregates but the last one.
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
        let mut unions: Vec<Union> = Vec::new();
        let count: usize = forms.iter().map(Vec::len).product();
        let others: usize = forms[..forms.len() - 1].iter().map(Vec::len).product();
        // Of as many operators as here.
        let without_last = without_last.filter(|passes| passes.len() == others);
        let mut passes: Unions = Vec::with_capacity(count);
        for number in 0..count {
            let parts = choice(&forms, number);
            let before = without_last.and_then(|passes| passes[number % others].as_ref());
            passes.push(match (before, parts.last()) {
                (Some(before), Some((_, last))) => before.with(context, last),
                _ => {
                    Pass::all_unpriced(context, &parts.iter().map(|(_, form)| *form).collect::<SmallVec<[&Pass; 8]>>())
                }
            });
            let Some(pass) = &passes[number] else { continue };
            if let Some((union, group)) = union(context, model, &parts, pass, number, free) {
                merged.saving = merged.saving.max(group.saving());
                merged.example.get_or_insert(group);
                unions.push(union);
            }
        }
        for Union { number, seconds, reads } in undominated(unions) {
            let parts = choice(&forms, number).into_iter();
            let operators = parts.flat_map(|(part, _)| part.operators.iter().cloned()).collect();
            merged.candidates.push(Candidate { operators, seconds, reads });
        }
        (merged, passes)
    }
}

/// How many unions there are of one operator of each aggregate, of the first so many.
fn number_of_unions<T>(forms: &[Vec<T>], most: usize) -> usize {
    forms.iter().map(|forms| forms.len().min(most)).fold(1, usize::saturating_mul)
}

/// What tells a union from others.
struct Union {
    /// Which of its aggregates' operators it is made of.
    number: usize,
    seconds: f64,
    reads: GroupSet,
}

impl Priced for Union {
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

/// These operators, the choice of this number, in one pass; none if another union is the one to take.
fn union(
    context: &Context<'_>,
    model: &CostModel,
    parts: &[(&Candidate, &Pass)],
    pass: &Pass,
    number: usize,
    free: &BTreeMap<HopId, Member>,
) -> Option<(Union, Pass)> {
    // What one fuses another need not read: the union with its operator that fuses it, too, is the one to take.
    let mut inputs = parts.iter().flat_map(|(_, form)| &form.operator.inputs);
    if inputs.any(|id| free.contains_key(id) && pass.operator.covers(*id)) {
        return None;
    }
    let group = pass.clone().priced(context, model);
    if group.seconds.is_infinite() {
        return None;
    }
    let reads: GroupSet = group.operator.inputs.iter().filter_map(|id| free.get(id)).copied().collect();
    Some((Union { number, seconds: group.seconds, reads }, group))
}
