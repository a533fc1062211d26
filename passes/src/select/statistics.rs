//! What a search counts.

/// Counters of a search. Where it went to its end, `evaluated`, `partially_costed`, `skipped_by_cost` and
/// `skipped_by_structure` add up to the plans that there are: 2 to the power of the points, per partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchStats {
    /// Interesting points.
    pub points: u64,
    /// Plans costed to open the search with a low upper bound, besides the enumeration.
    pub opening: u64,
    /// Plans costed to the end.
    pub evaluated: u64,
    /// Plans whose costing stopped early, at the best cost so far.
    pub partially_costed: u64,
    /// Plans skipped by their lower bound; saturates.
    pub skipped_by_cost: u64,
    /// Plans skipped because independent parts of them were optimised one by one; saturates.
    pub skipped_by_structure: u64,
    /// Operators priced: by enumeration each time that one is not remembered from another plan, by the exact solver
    /// each candidate once.
    pub operators: u64,
    /// Operators of the plans costed, those remembered from other plans included: what plans cost that are priced one
    /// by one.
    pub operators_of_plans: u64,
    /// Partitions whose search ended at the limit of plans.
    pub exhausted: u64,
    /// Groups that the search visited, in whatever plan or branch: what its time is in proportion to.
    pub visits: u64,
}

impl SearchStats {
    /// Plans costed, partially or to the end.
    pub fn costed(&self) -> u64 {
        self.opening + self.evaluated + self.partially_costed
    }

    /// Plans skipped for whatever reason; saturates.
    pub fn skipped(&self) -> u64 {
        self.skipped_by_cost.saturating_add(self.skipped_by_structure)
    }
}

impl std::ops::Add for SearchStats {
    type Output = SearchStats;
    fn add(self, other: SearchStats) -> SearchStats {
        SearchStats {
            points: self.points + other.points,
            opening: self.opening + other.opening,
            evaluated: self.evaluated + other.evaluated,
            partially_costed: self.partially_costed + other.partially_costed,
            skipped_by_cost: self.skipped_by_cost.saturating_add(other.skipped_by_cost),
            skipped_by_structure: self.skipped_by_structure.saturating_add(other.skipped_by_structure),
            operators: self.operators + other.operators,
            operators_of_plans: self.operators_of_plans + other.operators_of_plans,
            exhausted: self.exhausted + other.exhausted,
            visits: self.visits.saturating_add(other.visits),
        }
    }
}
