//! The operators that may compute a group: what the search chooses among.
//!
//! An operator grows from its root along the references of the memo table. It either includes the producer of a reference
//! or reads it, so the operators of a root are found by branching: grow, then for each producer among the members cut it
//! off, include for good the producers that come after it, and grow again. What is cut off further down lies below or
//! beside it, so that it stays an input, and hardly an operator is met twice. In contrast to the paper's assignments two
//! operators may decide differently about the same producer, edges that are no interesting points are decided about, too,
//! every template that can start at the root gets its turn, and so does the basic operator.
//!
//! Where a plan is known, operators are left out that no better one has: whatever is materialised besides what every plan
//! materialises must be written in what the known plan costs more than the bound. So producers whose write alone exceeds
//! that are never cut off.

use super::super::bound::least_seconds_to_write;
use super::super::effort::Effort;
use super::super::entry::{ByMember, Member};
use super::super::search::PartitionSearch;
use super::branch::Branch;
use super::group_set::GroupSet;
use super::growth::{Cover, Grown, Growth};
use crate::cover::Operator;
use crate::template::{self, BY_PREFERENCE};
use foldhash::{HashMap, HashMapExt};
use fuseline_ir::memo::TemplateType;
use smallvec::{SmallVec, smallvec};

/// An operator that may compute a group.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// The operator; several are one multi-aggregate.
    pub(super) operators: SmallVec<[Operator; 1]>,
    /// The price.
    pub(super) seconds: f64,
    /// The groups of the partition that it reads.
    pub(super) reads: GroupSet,
}

/// The candidates of one group.
#[derive(Clone, Debug, Default)]
pub(super) struct Candidates {
    /// In the order in which they were found.
    pub(super) list: Vec<Candidate>,
    /// Whether these are all.
    pub(super) is_complete: bool,
}

/// Which references the search for operators decides about; the others it follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::select) enum Decided {
    /// References to the producers of interesting points.
    Points,
    /// All.
    All,
}

/// By operator: the templates as which it grew, with what was left to decide. Row operators that do a Cell operator's work
/// grow to others than Cell operators when something is cut off.
type Seen = HashMap<Cover, SmallVec<[(TemplateType, GroupSet); 1]>>;

/// The groups of a partition, for which operators are searched.
pub(super) struct Groups<'a> {
    pub(super) search: PartitionSearch<'a>,
    growth: Growth<'a>,
    pricing: Pricing<'a>,
    /// What the search for operators may visit.
    pub(super) effort: &'a Effort,
    /// Branches of the search for operators so far.
    pub(super) branches: u64,
    /// Branches that are to be taken from a root, and the operators found: memory that every root uses again.
    pending: Vec<Branch>,
    seen: Seen,
    listed: Vec<Candidate>,
}

impl<'a> Groups<'a> {
    /// Decides about these references. Leaves out operators that only plans have which spend more than `slack` seconds on writing what not every plan
    /// materialises.
    pub(super) fn new(search: &PartitionSearch<'a>, effort: &'a Effort, slack: f64, decided: Decided) -> Self {
        let pricing = Pricing::new(search, slack);
        let points = decided == Decided::Points;
        let producers: GroupSet = if points { search.producers().collect() } else { search.members().collect() };
        let growth =
            Growth::new(search, producers.iter().filter(|&member| pricing.may_be_materialized(member)).collect());
        Groups {
            search: *search,
            growth,
            pricing,
            effort,
            branches: 0,
            pending: Vec::new(),
            seen: Seen::new(),
            listed: Vec::new(),
        }
    }

    /// Operators priced so far.
    pub(super) fn priced(&self) -> u64 {
        self.pricing.priced
    }

    /// Seconds that no operator of this group can undercut: it writes the group's value.
    pub(super) fn floor(&self, member: Member) -> f64 {
        let PartitionSearch { model, context, .. } = self.search;
        least_seconds_to_write(model, context, self.search.id(member))
    }

    /// The operators of a group, found in at most `limit` branches.
    pub(super) fn candidates(&mut self, root: Member, limit: u64) -> Candidates {
        self.seen.clear();
        let last = self.branches + limit;
        let mut is_complete = true;
        let mut rooted = self.growth.from(root);
        for template in BY_PREFERENCE {
            let tried = template::of(template);
            let Some(mut growing) = rooted.growing(tried) else { continue };
            self.pending.clear();
            let writes = self.pricing.write[root];
            if writes <= self.pricing.slack {
                self.pending.push(Branch::first(writes));
            }
            let reads_what_is_cut = growing.reads_what_is_cut();
            while let Some(branch) = self.pending.pop() {
                self.effort.spend(growing.take_visits());
                if self.branches >= last || self.effort.is_spent() {
                    is_complete = false;
                    break;
                }
                self.branches += 1;
                let (operators, decisions) = growing.grow(&branch, |cover| self.seen.contains_key(cover));
                let undecided = branch.undecided(&decisions);
                let mut leads_on = operators.is_empty();
                let mut are_simpler = tried.simpler().is_some();
                for Grown { cover, operator } in operators {
                    are_simpler &= Some(cover.template) == tried.simpler();
                    let earlier = self.seen.entry(cover).or_default();
                    leads_on |=
                        !earlier.iter().any(|(grown_as, all)| *grown_as == template && undecided.is_subset(all));
                    let is_new = earlier.is_empty();
                    earlier.push((template, undecided.clone()));
                    if let Some(operator) = operator.filter(|_| is_new) {
                        self.listed.extend(self.pricing.candidate(root, operator));
                    }
                }
                // The simpler template comes later, and finds these operators itself.
                if leads_on && !(are_simpler && growing.is_simpler_work(&branch)) {
                    let Pricing { write, slack, .. } = &self.pricing;
                    let write = |producer| if reads_what_is_cut { write[producer] } else { 0.0 };
                    branch.split(&undecided, &decisions.entries, write, *slack, &mut self.pending);
                }
            }
        }
        let basic = Operator::basic(self.search.context, self.search.id(root));
        self.listed.extend(self.pricing.candidate(root, basic));
        Candidates { list: self.listed.drain(..).collect(), is_complete }
    }
}

/// Prices operators, but for those that only worse plans have than the known one.
struct Pricing<'a> {
    search: PartitionSearch<'a>,
    /// Seconds by group to materialise it at least, zero where every plan does.
    write: ByMember<'a, f64>,
    /// Seconds that a plan has for materialising groups that not every plan materialises.
    slack: f64,
    /// Operators priced so far.
    priced: u64,
}

impl<'a> Pricing<'a> {
    fn new(search: &PartitionSearch<'a>, slack: f64) -> Self {
        let PartitionSearch { context, model, scratch, .. } = *search;
        let write = search.partition.members.iter().map(|&id| least_seconds_to_write(model, context, id));
        let mut pricing = Pricing { search: *search, write: ByMember::new(write, scratch), slack, priced: 0 };
        search.required.iter().for_each(|&member| pricing.write[member] = 0.0);
        pricing
    }

    /// Whether a plan better than the known one can have the value of a group written.
    fn may_be_materialized(&self, group: Member) -> bool {
        self.write[group] <= self.slack
    }

    /// An operator of a group with its price, unless only plans have it that are worse than the known one.
    fn candidate(&mut self, root: Member, operator: Operator) -> Option<Candidate> {
        let reads: GroupSet = operator.inputs.iter().filter_map(|&id| self.search.member(id)).collect();
        let writes = self.write[root] + reads.iter().map(|read| self.write[read]).sum::<f64>();
        let is_affordable = writes <= self.slack;
        if !is_affordable {
            return None;
        }
        self.priced += 1;
        let seconds = self.search.model.operator_seconds(self.search.context, &operator);
        Some(Candidate { operators: smallvec![operator], seconds, reads })
    }
}
