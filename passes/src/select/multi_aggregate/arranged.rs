//! What was decided about the aggregates of some partitions, and about these.

use super::super::renumber::Renumbered;
use super::Pass;
use crate::cover::Operator;
use fuseline_ir::hop::HopId;

/// What comes of deciding about multi-aggregates of some partitions.
#[derive(Clone, PartialEq)]
pub(in crate::select) struct Arranged {
    /// Seconds that nothing undercuts, multi-aggregates included.
    pub(in crate::select) bound: f64,
    /// None where nothing cheaper was found.
    pub(in crate::select) better: Option<Arrangement>,
}

/// Plans and passes in the place of those before.
#[derive(Clone, PartialEq)]
pub(in crate::select) struct Arrangement {
    pub(in crate::select) operators: Vec<Operator>,
    /// All passes, of other partitions, too.
    pub(in crate::select) passes: Vec<Pass>,
}

impl Renumbered for Arranged {
    fn renumbered(&self, id: &dyn Fn(HopId) -> Option<HopId>) -> Option<Self> {
        let better = match &self.better {
            Some(Arrangement { operators, passes }) => {
                Some(Arrangement { operators: operators.renumbered(id)?, passes: passes.renumbered(id)? })
            }
            None => None,
        };
        Some(Arranged { bound: self.bound, better })
    }
}
