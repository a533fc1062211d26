//! How far plan selection looks, and what it reports of that.

use std::str::FromStr;

/// How the cheapest plan is looked for: the paper's four switches of `MPSkipEnum` (section 5.3 compares them), and the
/// exact solver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Enumeration {
    /// All plans of the whole DAG as one search space.
    None,
    /// All plans of each partition.
    Partition,
    /// Partitions, and plans skipped by their lower bound.
    Cost,
    /// Partitions, plans skipped by their lower bound, and independent sub-problems solved one by one.
    All,
    /// The cheapest plan of each partition, template choice included.
    #[default]
    Exact,
}

impl Enumeration {
    /// Every way.
    pub const ALL: &[Enumeration] =
        &[Enumeration::None, Enumeration::Partition, Enumeration::Cost, Enumeration::All, Enumeration::Exact];

    /// The text mnemonic.
    pub fn mnemonic(self) -> &'static str {
        match self {
            Enumeration::None => "none",
            Enumeration::Partition => "partition",
            Enumeration::Cost => "cost",
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

/// Limits of the search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchLimits {
    /// How the cheapest plan is looked for.
    pub enumeration: Enumeration,
    /// Plans to cost, or runs of plans to skip, per partition before the best so far is taken; fewer in partitions of
    /// thousands of operators.
    pub plans: u64,
    /// Groups that the default search visits per group of a partition at most: what keeps its time and its memory in
    /// proportion to the block. The paper's ways to enumerate plans, which are there to be compared, have no such limit.
    pub visits: u64,
    /// The most interesting points for which [`super::SelectPolicy::Exhaustive`] costs every plan; partitions with more
    /// are searched with pruning.
    pub exhaustive_points: usize,
}

impl Default for SearchLimits {
    fn default() -> Self {
        SearchLimits { enumeration: Enumeration::default(), plans: 20_000, visits: 8_192, exhaustive_points: 20 }
    }
}
