//! The operators that may compute a group: what the search chooses among.
//!
//! An operator grows from its root along the references of the memo table. At every interesting producer (one that some
//! interesting point leads to) it either includes the producer or reads it, so the operators of a root are found by
//! branching: grow, then for each interesting producer among the members cut it off, include for good the producers that
//! come after it, and grow again. What is cut off further down lies below or beside it, so that it stays an input, and
//! hardly an operator is met twice. In contrast to the paper's assignments two operators may
//! decide differently about the same producer, and every template that can start at the root gets its turn.
//!
//! Where a plan is known, operators are left out that no better one has: whatever is materialised besides what every plan
//! materialises must be written in what the known plan costs more than the bound.

use super::super::bound::least_seconds_to_write;
use super::super::effort::Effort;
use super::super::entry::{ByMember, Member};
use super::branch::Branch;
use super::group_set::GroupSet;
use super::growth::{Cover, Grown, Growth};
use crate::cost::CostModel;
use crate::cover::Operator;
use crate::facts::Context;
use crate::hops::untransposed;
use crate::partition::PlanPartition;
use crate::template::BY_PREFERENCE;
use bumpalo::Bump;
use cranelift_entity::EntityRef;
use foldhash::{HashMap, HashMapExt};
use fuseline_ir::hop::{HopId, HopOp};
use fuseline_ir::memo::{MemoTable, TemplateType};
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

/// The groups of a partition, for which operators are searched.
pub(super) struct Groups<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) partition: &'a PlanPartition,
    model: &'a CostModel,
    growth: Growth<'a>,
    /// Seconds by group to materialise it at least, zero where every plan does.
    write: ByMember<'a, f64>,
    /// Seconds that a plan has for materialising groups that not every plan materialises.
    slack: f64,
    /// What the search for operators may visit.
    effort: &'a Effort,
    /// Branches of the search for operators so far.
    pub(super) branches: u64,
    /// Operators priced so far.
    pub(super) priced: u64,
    /// Branches that are to be taken from a root, and the operators found: memory that every root uses again.
    pending: Vec<Branch>,
    seen: Seen,
    listed: Vec<Candidate>,
}

/// By operator: the templates as which it grew, with what was left to decide. Row operators that do a Cell operator's work
/// grow to others than Cell operators when something is cut off.
type Seen = HashMap<Cover, SmallVec<[(TemplateType, GroupSet); 1]>>;

impl<'a> Groups<'a> {
    pub(super) fn new(
        context: &'a Context<'a>,
        memo: &MemoTable,
        partition: &'a PlanPartition,
        model: &'a CostModel,
        effort: &'a Effort,
        slack: f64,
        scratch: &'a Bump,
    ) -> Self {
        let growth = Growth::new(context, memo, partition, scratch);
        let write = partition.members.iter().map(|&id| least_seconds_to_write(model, context, id));
        let write = ByMember::new(write, scratch);
        let (pending, seen, listed) = (Vec::new(), Seen::new(), Vec::new());
        let mut groups = Groups {
            context,
            partition,
            model,
            growth,
            write,
            slack,
            effort,
            branches: 0,
            priced: 0,
            pending,
            seen,
            listed,
        };
        for member in groups.required() {
            groups.write[member] = 0.0;
        }
        groups
    }

    fn member(&self, id: HopId) -> Option<Member> {
        self.growth.member(id)
    }

    /// What the search may do.
    pub(super) fn effort(&self) -> &'a Effort {
        self.effort
    }

    /// The groups that every plan materialises, ascending.
    pub(super) fn required(&self) -> SmallVec<[Member; 16]> {
        let starts = self.partition.roots.iter().chain(&self.partition.externally_consumed);
        let mut required: SmallVec<[Member; 16]> = starts.filter_map(|&id| self.member(id)).collect();
        required.sort_unstable();
        required
    }

    /// Seconds that no operator of this group can undercut: it writes the group's value.
    pub(super) fn floor(&self, member: Member) -> f64 {
        least_seconds_to_write(self.model, self.context, self.partition.members[member.index()])
    }

    /// Whether a plan that materialises a group and these others may be better than the known one.
    fn is_affordable(&self, root: Member, reads: &GroupSet) -> bool {
        self.write[root] + reads.iter().map(|read| self.write[read]).sum::<f64>() <= self.slack
    }

    /// The operators of a group, found in at most `limit` branches.
    pub(super) fn candidates(&mut self, root: Member, limit: u64) -> Candidates {
        self.growth.turn_to(root);
        self.seen.clear();
        let last = self.branches + limit;
        let mut is_complete = true;
        let mut is_always_fused = false;
        for tried in *BY_PREFERENCE {
            let template = tried.ttype();
            if !self.growth.starts(root, template) {
                continue;
            }
            self.growth.start(template);
            self.pending.clear();
            self.pending.push(Branch::default());
            while let Some(branch) = self.pending.pop() {
                self.effort.spend(std::mem::take(&mut self.growth.visited));
                if self.branches >= last || self.effort.is_spent() {
                    is_complete = false;
                    break;
                }
                self.branches += 1;
                let is_known = |cover: &Cover| self.seen.contains_key(cover);
                let (operators, decisions) = self.growth.grow(root, template, &branch, is_known);
                // Nothing is left to be cut off: the group has a fused operator whatever is materialised.
                is_always_fused |= decisions.producers.is_empty() && !operators.is_empty();
                let open = branch.undecided(&decisions);
                let mut leads_on = operators.is_empty();
                let mut are_simpler = tried.simpler().is_some();
                for Grown { cover, operator } in operators {
                    are_simpler &= Some(cover.template) == tried.simpler();
                    let earlier = self.seen.entry(cover).or_default();
                    leads_on |= !earlier.iter().any(|(grown_as, all)| *grown_as == template && open.is_subset(all));
                    let is_new = earlier.is_empty();
                    earlier.push((template, open.clone()));
                    if let Some(operator) = operator.filter(|_| is_new) {
                        self.list(root, operator);
                    }
                }
                // The simpler template comes later, and finds these operators itself.
                if leads_on && !(are_simpler && self.growth.is_simpler_work(root, tried, &branch)) {
                    branch.split(&open, &decisions.entries, &mut self.pending);
                }
            }
        }
        // Where the budget ended, a fused operator that is always there may be among those that were not found.
        if self.listed.is_empty() || is_complete && !is_always_fused {
            let basic = Operator::basic(self.context, self.partition.members[root.index()]);
            self.list(root, basic);
        }
        Candidates { list: self.listed.drain(..).collect(), is_complete }
    }

    /// Adds an operator of a group to the candidates unless only plans have it that are worse than the known one.
    fn list(&mut self, root: Member, operator: Operator) {
        let reads: GroupSet = operator.inputs.iter().filter_map(|&id| self.member(id)).collect();
        if self.is_affordable(root, &reads) {
            self.priced += 1;
            let seconds = self.model.operator_seconds(self.context, &operator);
            self.listed.push(Candidate { operators: smallvec![operator], seconds, reads });
        }
    }

    /// What a product that ends operators reads through the transpose of its left operand.
    pub(super) fn behind_transpose(&self, member: Member) -> Option<Member> {
        let product = self.context.hop(self.partition.members[member.index()]);
        let left = product.inputs.first().filter(|_| product.op == HopOp::MatMul)?;
        self.member(untransposed(self.context.dag, *left)?)
    }
}
