//! How far plan selection looks, and what it reports of that.

use crate::partition::PointKinds;
use serde::Serialize;
use std::str::FromStr;

/// How the cheapest plan is looked for: the paper's four switches of `MPSkipEnum` (section 5.3 compares them), each of its
/// prunings by itself, and the exact solver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub enum Enumeration {
    /// All plans of the whole DAG as one search space.
    None,
    /// All plans of each partition.
    Partition,
    /// Partitions, and plans skipped by their lower bound.
    Cost,
    /// Partitions, and independent sub-problems solved one by one.
    Structure,
    /// Partitions, plans skipped by their lower bound, and independent sub-problems solved one by one.
    All,
    /// The cheapest plan of each partition, template choice included.
    #[default]
    Exact,
}

impl Enumeration {
    /// Every way.
    pub const ALL: &[Enumeration] = &[
        Enumeration::None,
        Enumeration::Partition,
        Enumeration::Cost,
        Enumeration::Structure,
        Enumeration::All,
        Enumeration::Exact,
    ];

    /// The text mnemonic.
    pub fn mnemonic(self) -> &'static str {
        match self {
            Enumeration::None => "none",
            Enumeration::Partition => "partition",
            Enumeration::Cost => "cost",
            Enumeration::Structure => "structure",
            Enumeration::All => "all",
            Enumeration::Exact => "exact",
        }
    }
}

impl FromStr for Enumeration {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let enumeration = Enumeration::ALL.iter().copied().find(|enumeration| enumeration.mnemonic() == text);
        enumeration.ok_or_else(|| format!("`{text}` is no way to enumerate plans"))
    }
}

/// Which search found a plan, the most thorough first: what comes of one that reaches its limit is compared with the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundBy {
    /// The exact solver.
    Exact,
    /// Enumeration that skips plans by bounds and structure.
    Enumeration,
    /// The better heuristic, or what flipping single points makes of it.
    Heuristics,
}

impl FoundBy {
    /// The text as a part of a sentence.
    pub fn name(self) -> &'static str {
        match self {
            FoundBy::Exact => "exact solver",
            FoundBy::Enumeration => "enumeration",
            FoundBy::Heuristics => "heuristics",
        }
    }
}

/// The steps that the searches for the plan of a partition take before the best plan so far is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Budget {
    /// Of enumeration: plans to cost, or runs of plans to skip; fewer in partitions of thousands of operators.
    pub plans: u64,
    /// Of the exact solver's search for operators: branches to take.
    pub branches: u64,
    /// Of the exact solver's choice among operators: partial assignments to extend.
    pub assignments: u64,
}

impl Budget {
    /// So many steps of each search.
    pub const fn of(steps: u64) -> Budget {
        Budget { plans: steps, branches: steps, assignments: steps }
    }

    /// A quarter of the budget, or of a quarter and so on: so many times, but no fewer steps than `least` if there were
    /// as many.
    pub(crate) fn quartered(self, times: u32, least: u64) -> Budget {
        let [plans, branches, assignments] =
            [self.plans, self.branches, self.assignments].map(|steps| (steps >> (2 * times)).max(least.min(steps)));
        Budget { plans, branches, assignments }
    }
}

/// Limits of the search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SearchLimits {
    /// How the cheapest plan is looked for.
    pub enumeration: Enumeration,
    /// Which decisions span the space that is enumerated.
    pub points: PointKinds,
    /// Steps per partition.
    pub budget: Budget,
    /// Groups that the default search visits per group of a partition at most: what keeps its time and its memory in
    /// proportion to the block. The paper's ways to enumerate plans, which are there to be compared, have no such limit.
    pub visits: u64,
    /// The most interesting points for which [`super::SelectPolicy::Exhaustive`] costs every plan; partitions with more
    /// are searched with pruning.
    pub exhaustive_points: usize,
    /// Whether [`super::SelectPolicy::FuseAll`] and [`super::SelectPolicy::FuseNoRedundancy`] are the paper's, which
    /// leave aggregates that share an input apart (P171). Otherwise they merge them like every other policy.
    pub paper_heuristics: bool,
}

impl Default for SearchLimits {
    fn default() -> Self {
        SearchLimits {
            enumeration: Enumeration::default(),
            points: PointKinds::default(),
            budget: Budget::of(20_000),
            visits: 8_192,
            exhaustive_points: 20,
            paper_heuristics: false,
        }
    }
}
