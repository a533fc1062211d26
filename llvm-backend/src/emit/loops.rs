//! What a fused loop is to those who emit it: what it reads, writes, reduces and asks for ahead of its use, and its rows.

use super::memory::View;
use super::registers::Mask;
use crate::schedule::FusedLoop;
use fuseline_ir::cplan::CNodeId;
use fuseline_ir::ops::AggOp;
use inkwell::values::{IntValue, PointerValue, VectorValue};
use std::collections::HashMap;

/// How a loop reads a value that it does not compute.
#[derive(Clone, Copy)]
pub(super) enum Source<'ctx> {
    /// One value in every lane.
    Uniform(VectorValue<'ctx>),
    /// Consecutive values from here on.
    Run(PointerValue<'ctx>),
    /// Values a stride apart.
    Strided(PointerValue<'ctx>, IntValue<'ctx>),
    /// The whole numbers from this one on.
    Numbers(IntValue<'ctx>),
}

impl Source<'_> {
    /// Takes values that lie a stride apart for neighbours, which those of a column are.
    pub(super) fn follow(&mut self) {
        if let Source::Strided(first, _) = *self {
            *self = Source::Run(first);
        }
    }
}

/// Where a reduction's value goes.
#[derive(Clone, Copy)]
pub(super) enum ReducedInto {
    /// A row aggregate that other steps read.
    Node(CNodeId),
    /// A row aggregate that is the output.
    RowOutput(usize),
    /// A full aggregate.
    UnitOutput(usize),
}

/// A reduction of the loop; its registers are carried from block to block.
#[derive(Clone, Copy)]
pub(super) struct Reduction {
    pub(super) agg: AggOp,
    pub(super) value: CNodeId,
    pub(super) into: ReducedInto,
}

/// A value of the loop that is written to memory.
#[derive(Clone, Copy)]
pub(super) struct LoopWrite<'ctx> {
    pub(super) value: CNodeId,
    pub(super) view: View<'ctx>,
    /// The function that merges what is written into what is there.
    pub(super) merge: Option<AggOp>,
}

/// A value that the loop reads, other in each row or cell.
#[derive(Clone, Copy)]
pub(super) struct LoopInput<'ctx> {
    pub(super) node: CNodeId,
    pub(super) view: View<'ctx>,
}

/// Everything about a loop that does not change from row to row.
#[derive(Clone)]
pub(super) struct Loop<'a, 'ctx> {
    pub(super) fused: &'a FusedLoop,
    pub(super) rows: IntValue<'ctx>,
    /// The cells of a row.
    pub(super) length: IntValue<'ctx>,
    /// The lanes of a row that one register holds, where the loop has a form for these.
    pub(super) short_rows: Option<Mask<'ctx>>,
    /// The lanes of the last register of a row, if that is a part of one, where the rest of a row has code of its own.
    pub(super) last_lanes: Option<Mask<'ctx>>,
    /// Whether the values of rows that the loop reads from matrices follow each other, as they do in a column.
    pub(super) reads_columns: bool,
    /// What the loop asks for with each register of a row.
    pub(super) ahead: Vec<InputAhead<'ctx>>,
    pub(super) inputs: Vec<LoopInput<'ctx>>,
    pub(super) constants: HashMap<CNodeId, Source<'ctx>>,
    pub(super) writes: Vec<LoopWrite<'ctx>>,
    /// Full aggregates first.
    pub(super) reductions: Vec<Reduction>,
    pub(super) unit_reductions: usize,
}

impl<'a, 'ctx> Loop<'a, 'ctx> {
    /// The loop with these writes instead of its own, and without reductions.
    pub(super) fn without_aggregates(&self, writes: Vec<LoopWrite<'ctx>>) -> Loop<'a, 'ctx> {
        let (inputs, constants) = (self.inputs.clone(), self.constants.clone());
        let (ahead, last_lanes, reductions) = (vec![], None, vec![]);
        Loop { inputs, constants, writes, ahead, last_lanes, reductions, unit_reductions: 0, ..*self }
    }
}

/// A row of a loop.
pub(super) struct Row<'ctx> {
    pub(super) length: IntValue<'ctx>,
    pub(super) sources: HashMap<CNodeId, Source<'ctx>>,
    /// Where the row of each write begins.
    pub(super) writes: Vec<PointerValue<'ctx>>,
}

/// An input of a loop, and how many values behind its current ones lies what is asked for.
#[derive(Clone, Copy)]
pub(super) struct InputAhead<'ctx> {
    pub(super) node: CNodeId,
    pub(super) distance: IntValue<'ctx>,
    pub(super) near: Near,
}

/// How near a cache what is asked for comes, as LLVM counts locality.
#[derive(Clone, Copy)]
pub(super) enum Near {
    /// The second level and those behind it.
    SecondLevel = 2,
    /// All of them. Asked for into the second level, lines wait once more for their way into the first, among the few that a core
    /// waits for at a time: streams of rows take a quarter longer.
    FirstLevel = 3,
}

/// Lines of memory to ask for: the first, and how many values behind each lies the next.
#[derive(Clone, Copy)]
pub(super) struct LinesAhead<'ctx> {
    pub(super) first: PointerValue<'ctx>,
    pub(super) distance: IntValue<'ctx>,
}
