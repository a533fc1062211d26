//! Random valid plans: an instrument of tests, for plans that no policy would pick.
//!
//! The memo table is thinned out at random, so that any entry of a group may become its best one, and interesting
//! points are materialised at random. Entries that refer to a group without a compatible entry are unusable under every
//! policy, so what is read off the table stays valid.

use super::PlanAssignment;
use fuseline_ir::hop::HopDag;
use fuseline_ir::memo::MemoTable;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Numbers that follow from a seed and what they decide about.
struct Draw {
    state: DefaultHasher,
}

impl Draw {
    fn new(seed: u64, what: impl Hash) -> Self {
        let mut state = DefaultHasher::new();
        (seed, what).hash(&mut state);
        Draw { state }
    }

    /// A number below `bound` for one decision.
    fn below(&self, decision: impl Hash, bound: u64) -> u64 {
        let mut state = self.state.clone();
        decision.hash(&mut state);
        state.finish() % bound
    }
}

/// A table with some entries of each group removed at random; every group keeps one at least. The same seed gives
/// other draws for another DAG.
pub(super) fn thin_out(dag: &HopDag, memo: &MemoTable, seed: u64) -> MemoTable {
    let draw = Draw::new(seed, memo.display(dag));
    // Of a table as it is, with half, and with all but one entry per group removed, each has its plans.
    let removed_of_four = draw.below("share", 4);
    let mut thin = memo.clone();
    for (group, entries) in memo.groups() {
        let kept = draw.below(("kept", group), entries.len() as u64);
        let mut position = 0;
        thin.retain(group, |_| {
            position += 1;
            position - 1 == kept || draw.below((group, position), 4) >= removed_of_four
        });
    }
    thin
}

/// A random assignment of so many interesting points of a partition that starts at this operator.
pub(super) fn assignment(seed: u64, partition: impl Hash, points: usize) -> PlanAssignment {
    let draw = Draw::new(seed, partition);
    let materialized_of_four = draw.below("share", 4);
    (0..points).map(|point| draw.below(point, 4) < materialized_of_four).collect()
}

#[cfg(test)]
mod tests {
    use crate::cost::CostModel;
    use crate::explore::explore;
    use crate::facts::{Context, TemplateLimits};
    use crate::select::{SearchLimits, SelectPolicy, select};
    use crate::template::{TEMPLATES, verify_cover};
    use std::collections::BTreeSet;

    /// sum(X * Y) and rowSums((X * Y) ^ 2), which share a product.
    const SHARED: &str = r#"
hops {
  %0 = read "X" : f64[100x50]
  %1 = read "Y" : f64[100x50]
  %2 = mult %0, %1 : f64[100x50]
  %3 = sum.full %2 : f64
  %4 = pow2 %2 : f64[100x50]
  %5 = sum.row %4 : f64[100x1]
  write "a" %3
  write "b" %5
}"#;

    #[test]
    fn seeds_give_several_plans_and_each_is_valid() {
        let dag = fuseline_ir::hop::parse(SHARED).unwrap().remove(0).1;
        let limits = TemplateLimits::default();
        let context = Context::new(&dag, &limits);
        let memo = explore(&context, TEMPLATES);
        let covers = |seed| {
            let policy = SelectPolicy::Random { seed };
            select(&context, &memo, policy, &CostModel::default(), &SearchLimits::default()).covers
        };
        let mut plans = BTreeSet::new();
        for seed in 0..40 {
            let plan = covers(seed);
            assert_eq!(plan, covers(seed));
            for cover in &plan {
                assert!(verify_cover(&context, cover).is_ok(), "seed {seed}: {cover:?}");
            }
            plans.insert(format!("{plan:?}"));
        }
        assert!(plans.len() >= 4, "{plans:#?}");
    }
}
