//! From a CPlan to the steps of one entry point: which operations share a loop, which are calls of vector primitives,
//! and where every value lives (section 5 of the paper: inline code against shared primitives).

mod extent;
mod narrow;
mod packs;
mod phases;
mod slots;

pub(crate) use extent::{Entry, Extent, extents};
pub(crate) use narrow::narrow_cells;
pub(crate) use packs::{needs_positions, takes_positions};
use slots::Assignment;
pub(crate) use slots::{Place, SLOT_ALIGNMENT, ScratchNeed, Slot, SlotClass};

use cranelift_entity::SecondaryMap;
use fuseline_ir::cplan::{CNode, CNodeId, COutput, CPlan};
use fuseline_ir::template::Space;
use std::borrow::Cow;
use std::collections::HashMap;

/// When element-wise operations become inline loops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PrimitiveMode {
    /// By cost: loops of up to 48 operations, unless an entry point would have more than 32 loops or 256 operations in
    /// them; in Row plans only where a loop fuses something, or repeats values of rows, which narrow rows make costly.
    #[default]
    Auto,
    /// Never, except where no primitive serves: copies, and row numbers.
    Shared,
    /// Always.
    Inlined,
}

/// The most operations of a loop where their number is ours to choose: beyond, broadcasts spill.
const OPERATIONS_PER_LOOP: usize = 48;

/// The most loops of an entry point, and the most operations in them, where calls may replace them. Loops of so few
/// operations stay in the instruction cache however many there are, and take two thirds of the time of calls; what ends
/// that is the time to compile them, 0.2 ms for each operation.
const MAX_INLINE_LOOPS: usize = 32;
const MAX_INLINE_OPERATIONS: usize = 256;

/// One step of an entry point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A fused loop.
    Loop(FusedLoop),
    /// A value as a gapless tile of an extent: in units of narrow rows, or one for each position of sparse rows.
    Pack(CNodeId, Extent),
    /// A call of the primitive of one node.
    Call(CNodeId),
    /// Calls of the primitives that aggregate into an output.
    Output(usize),
}

/// An explicit-vector loop over the cells of an extent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FusedLoop {
    /// What the loop runs over.
    pub(crate) extent: Extent,
    /// The element-wise operations and the values per row that it finds itself, in id order.
    pub(crate) nodes: Vec<CNodeId>,
    /// Row aggregates (`CNode::RowAgg`) of values of the loop.
    pub(crate) row_aggs: Vec<CNodeId>,
    /// Outputs that the loop stores or aggregates.
    pub(crate) outputs: Vec<usize>,
}

/// The steps of one entry point in execution order, with the places of all values.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    pub(crate) entry: Entry,
    /// The form of the plan that the entry point runs, if that is not the plan itself.
    pub(crate) form: Option<CPlan>,
    pub(crate) extents: SecondaryMap<CNodeId, Extent>,
    pub(crate) steps: Vec<Step>,
    pub(crate) places: SecondaryMap<CNodeId, Option<Place>>,
    /// The slots of values that lie in gapless tiles of an extent where rows are narrow, or for each position, besides or
    /// instead of their places.
    pub(crate) packed: HashMap<(CNodeId, Extent), usize>,
    pub(crate) slots: Vec<Slot>,
}

impl Step {
    /// Whether the step reads the value for what it computes. A pack may find its tile where it is.
    fn reads(&self, plan: &CPlan, value: CNodeId) -> bool {
        let is_operand = |&id: &CNodeId| plan.nodes[id].operands().contains(&value);
        let is_of_output = |&output: &usize| plan.outputs[output].operands().contains(&value);
        match self {
            Step::Loop(fused) => {
                fused.nodes.iter().chain(&fused.row_aggs).any(is_operand) || fused.outputs.iter().any(is_of_output)
            }
            Step::Pack(..) => false,
            Step::Call(id) => is_operand(id),
            Step::Output(output) => is_of_output(output),
        }
    }
}

impl FusedLoop {
    /// Whether the loop finds values with each row: the number of the row, or a value of it that it does not compute.
    pub(crate) fn finds_rows(&self, plan: &CPlan) -> bool {
        self.nodes.iter().any(|&id| plan.nodes[id].operands().is_empty())
    }
}

impl Schedule {
    /// Schedules an entry point of a plan.
    pub(crate) fn new(plan: &CPlan, entry: Entry, prims: PrimitiveMode) -> Schedule {
        let form = match entry {
            Entry::Dense => None,
            Entry::Sparse => plan.sparse_form().and_then(into_other_form),
        };
        let plan = form.as_ref().unwrap_or(plan);
        let scheduler = Scheduler { plan, entry, prims, extents: extents(plan, entry), live: live(plan) };
        let mut steps = match prims {
            PrimitiveMode::Shared => scheduler.shared(),
            PrimitiveMode::Inlined => scheduler.fused(),
            PrimitiveMode::Auto => {
                let fused = scheduler.fused();
                let operations: usize = loops(&fused).map(|fused| fused.nodes.len()).sum();
                let is_short = loops(&fused).count() <= MAX_INLINE_LOOPS && operations <= MAX_INLINE_OPERATIONS;
                if is_short { fused } else { scheduler.shared() }
            }
        };
        steps.extend(scheduler.remaining_outputs(&steps));
        let steps = packs::with_packs(plan, entry, &scheduler.extents, |id| scheduler.is_computed(id), steps);
        let located = scheduler.located_output();
        let Assignment { places, packed, slots } = slots::assign(plan, entry, &scheduler.extents, &steps, located);
        let extents = scheduler.extents;
        Schedule { entry, form, extents, steps, places, packed, slots }
    }

    /// Whether a step before a loop reads the value.
    pub(crate) fn is_read_before(&self, plan: &CPlan, fused: &FusedLoop, value: CNodeId) -> bool {
        let is_loop = |step: &&Step| matches!(step, Step::Loop(other) if other == fused);
        self.steps.iter().take_while(|step| !is_loop(step)).any(|step| step.reads(plan, value))
    }

    /// The fused loops.
    pub(crate) fn loops(&self) -> impl Iterator<Item = &FusedLoop> {
        loops(&self.steps)
    }
}

/// A form of a plan that is not the plan itself.
fn into_other_form(form: Cow<'_, CPlan>) -> Option<CPlan> {
    if let Cow::Owned(form) = form { Some(form) } else { None }
}

fn loops(steps: &[Step]) -> impl Iterator<Item = &FusedLoop> {
    steps.iter().filter_map(|step| if let Step::Loop(fused) = step { Some(fused) } else { None })
}

/// The nodes that reach an output.
fn live(plan: &CPlan) -> SecondaryMap<CNodeId, bool> {
    let mut live = SecondaryMap::new();
    for operand in plan.outputs.iter().flat_map(COutput::operands) {
        live[operand] = true;
    }
    for (id, node) in plan.nodes.iter().rev() {
        if live[id] {
            node.operands().into_iter().for_each(|operand| live[operand] = true);
        }
    }
    live
}

/// What the scheduling functions share.
struct Scheduler<'a> {
    plan: &'a CPlan,
    entry: Entry,
    prims: PrimitiveMode,
    extents: SecondaryMap<CNodeId, Extent>,
    live: SecondaryMap<CNodeId, bool>,
}

impl Scheduler<'_> {
    /// Whether a step computes the node; others are read where they lie.
    fn is_computed(&self, id: CNodeId) -> bool {
        let node = &self.plan.nodes[id];
        !node.operands().is_empty() || self.is_found_per_row(id)
    }

    /// Whether loops find the node's value with each row: the number of the row, and among cells what is one value for
    /// several of them.
    fn is_found_per_row(&self, id: CNodeId) -> bool {
        match self.plan.nodes[id] {
            CNode::RowIndex => true,
            CNode::SideRowScalar(..) | CNode::Scalar(_) | CNode::Literal(_) => self.extents[id] == Extent::Cells,
            _ => false,
        }
    }

    /// Whether no primitive computes the node: all of them take a value per cell from at least one operand.
    fn needs_loop(&self, id: CNodeId) -> bool {
        let operands = self.plan.nodes[id].operands();
        let is_repeated = self.extents[id] == Extent::Cells
            && !operands.is_empty()
            && operands.iter().all(|&operand| matches!(self.extents[operand], Extent::One | Extent::Rows));
        is_repeated || self.is_found_per_row(id)
    }

    /// The nodes that steps compute and that reach an output, in id order.
    fn operations(&self) -> impl DoubleEndedIterator<Item = CNodeId> {
        self.plan.nodes.keys().filter(|&id| self.live[id] && self.is_computed(id))
    }

    /// Whether a loop can compute the node in registers.
    fn is_fusable(&self, id: CNodeId) -> bool {
        self.plan.nodes[id].is_element_wise() || self.is_found_per_row(id)
    }

    /// A step that computes one node by itself: its primitive, or a loop where there is none.
    fn single(&self, id: CNodeId) -> Step {
        if !self.needs_loop(id) {
            return Step::Call(id);
        }
        Step::Loop(FusedLoop { extent: self.extents[id], nodes: vec![id], row_aggs: vec![], outputs: vec![] })
    }

    /// One step per operation, in id order.
    fn shared(&self) -> Vec<Step> {
        self.operations().map(|id| self.single(id)).collect()
    }

    /// Whether a loop is worth its code.
    fn is_worth_inlining(&self, group: &FusedLoop) -> bool {
        match (self.prims, self.plan.space()) {
            (PrimitiveMode::Shared, _) => false,
            (PrimitiveMode::Inlined, _) => true,
            (PrimitiveMode::Auto, Space::Rows) => match group.nodes[..] {
                [] => false,
                [id] => group.has_aggregates() || self.repeats_values(id),
                _ => true,
            },
            (PrimitiveMode::Auto, Space::Cells | Space::Factors) => true,
        }
    }

    /// Whether the node combines vectors with values of rows.
    fn repeats_values(&self, id: CNodeId) -> bool {
        let operands = self.plan.nodes[id].operands();
        matches!(self.extents[id], Extent::Vector(_))
            && operands.iter().any(|&operand| self.extents[operand] == Extent::Rows)
    }

    /// The extent of the values that an output stores or aggregates.
    fn output_extent(&self, index: usize) -> Extent {
        if self.plan.space() != Space::Rows {
            return self.entry.cells();
        }
        let own = self.extents[self.plan.outputs[index].node()];
        match self.plan.outputs[index] {
            // What is the same for all rows is stored and counted for each of them.
            COutput::Store(_) | COutput::Cumulative(..) | COutput::FullAgg(..) if own == Extent::One => Extent::Rows,
            _ => own,
        }
    }

    /// Whether a loop over the output's cells can aggregate it. Positions are one run over rows that may be short: what belongs
    /// to rows or columns is left to the primitives.
    fn is_fusable_output(&self, index: usize) -> bool {
        match self.plan.outputs[index] {
            COutput::FullAgg(..) => true,
            COutput::RowAgg(..) | COutput::ColAgg(..) => self.output_extent(index) != Extent::Positions,
            COutput::Store(_)
            | COutput::Cumulative(..)
            | COutput::RowProduct { .. }
            | COutput::TimesFactor(_)
            | COutput::TransposedTimesFactor(_) => false,
        }
    }

    /// The output node that is computed straight into the output, for the variants that store it as it is.
    fn located_output(&self) -> Option<CNodeId> {
        let output = self.plan.outputs[0];
        let node = output.node();
        (output.stores() && self.is_computed(node) && self.extents[node] == self.output_extent(0)).then_some(node)
    }

    /// Steps for the outputs that no loop among these handles.
    fn remaining_outputs(&self, steps: &[Step]) -> Vec<Step> {
        let in_loops =
            |index: usize| steps.iter().any(|step| matches!(step, Step::Loop(fused) if fused.outputs.contains(&index)));
        let located = self.located_output();
        (0..self.plan.outputs.len())
            .filter(|&index| !in_loops(index) && Some(self.plan.outputs[index].node()) != located)
            .map(|index| {
                if self.needs_copy(index) {
                    let extent = self.output_extent(index);
                    Step::Loop(FusedLoop { extent, nodes: vec![], row_aggs: vec![], outputs: vec![index] })
                } else {
                    Step::Output(index)
                }
            })
            .collect()
    }

    /// Whether the output's value has to be broadcast or copied before a primitive could take it, or is stored as it is. What
    /// is repeated for positions is packed.
    fn needs_copy(&self, index: usize) -> bool {
        let node = self.plan.outputs[index].node();
        let is_broadcast = self.extents[node] != self.output_extent(index);
        // Full aggregates take values per row as one run.
        let is_strided = self.extents[node] == Extent::Rows && !self.is_computed(node);
        match self.plan.outputs[index] {
            COutput::Store(_) | COutput::Cumulative(..) => true,
            _ if self.output_extent(index) == Extent::Positions => false,
            COutput::FullAgg(..) => is_broadcast || is_strided,
            COutput::RowAgg(..)
            | COutput::ColAgg(..)
            | COutput::RowProduct { .. }
            | COutput::TimesFactor(_)
            | COutput::TransposedTimesFactor(_) => is_broadcast,
        }
    }
}
