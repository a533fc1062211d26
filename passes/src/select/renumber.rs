//! Decisions with other ids for operators: those of a form of the DAG, or their numbers within a part of it.

use super::PartitionPlan;
use crate::cover::Operator;
use crate::partition::{InterestingPoint, PlanPartition};
use fuseline_ir::hop::HopId;
use fuseline_ir::memo::MemoEntry;
use smallvec::{Array, SmallVec};

/// What is about operators of a DAG.
pub(super) trait Renumbered: Sized {
    /// What it says, about the operators with these ids, which keep the order; none if one has none.
    fn renumbered(&self, id: &dyn Fn(HopId) -> Option<HopId>) -> Option<Self>;
}

impl Renumbered for HopId {
    fn renumbered(&self, id: &dyn Fn(HopId) -> Option<HopId>) -> Option<Self> {
        id(*self)
    }
}

impl<T: Renumbered> Renumbered for Vec<T> {
    fn renumbered(&self, id: &dyn Fn(HopId) -> Option<HopId>) -> Option<Self> {
        self.iter().map(|item| item.renumbered(id)).collect()
    }
}

impl<A: Array<Item = HopId>> Renumbered for SmallVec<A> {
    fn renumbered(&self, id: &dyn Fn(HopId) -> Option<HopId>) -> Option<Self> {
        self.iter().map(|item| id(*item)).collect()
    }
}

impl Renumbered for InterestingPoint {
    fn renumbered(&self, id: &dyn Fn(HopId) -> Option<HopId>) -> Option<Self> {
        Some(InterestingPoint { consumer: id(self.consumer)?, producer: id(self.producer)? })
    }
}

impl Renumbered for MemoEntry {
    fn renumbered(&self, id: &dyn Fn(HopId) -> Option<HopId>) -> Option<Self> {
        let mut renumbered = *self;
        for input in &mut renumbered.inputs {
            if let Some(group) = input.expand() {
                *input = Some(id(group)?).into();
            }
        }
        Some(renumbered)
    }
}

impl Renumbered for Operator {
    fn renumbered(&self, id: &dyn Fn(HopId) -> Option<HopId>) -> Option<Self> {
        Some(Operator {
            template: self.template,
            roots: self.roots.renumbered(id)?,
            members: self.members.renumbered(id)?,
            inputs: self.inputs.renumbered(id)?,
        })
    }
}

impl Renumbered for PlanPartition {
    fn renumbered(&self, id: &dyn Fn(HopId) -> Option<HopId>) -> Option<Self> {
        Some(PlanPartition {
            members: self.members.renumbered(id)?,
            roots: self.roots.renumbered(id)?,
            inputs: self.inputs.renumbered(id)?,
            materialization_points: self.materialization_points.renumbered(id)?,
            externally_consumed: self.externally_consumed.renumbered(id)?,
            points: self.points.renumbered(id)?,
        })
    }
}

impl Renumbered for PartitionPlan {
    fn renumbered(&self, id: &dyn Fn(HopId) -> Option<HopId>) -> Option<Self> {
        Some(PartitionPlan {
            partition: self.partition.renumbered(id)?,
            operators: self.operators.renumbered(id)?,
            assignment: self.assignment.clone(),
            ..*self
        })
    }
}
