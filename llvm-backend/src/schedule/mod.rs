//! From a CPlan to the steps of one entry point: which operations share a loop, which are calls of vector primitives,
//! and where every value lives (section 5 of the paper: inline code against shared primitives).

mod extent;
mod phases;
mod slots;

pub(crate) use extent::{Entry, Extent, extents};
pub(crate) use slots::{Place, ScratchNeed, Slot};

use cranelift_entity::SecondaryMap;
use fuseline_ir::cplan::{CNode, CNodeId, CPlan, CellType, OuterType, RowType, Variant};
use fuseline_ir::ops::AggOp;

/// When element-wise operations become inline loops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PrimMode {
    /// By cost: up to 32 loops of up to 48 operations; in Row plans only where a loop fuses something.
    #[default]
    Auto,
    /// Never, except where no primitive serves: copies, and values per row among non-zeros.
    Shared,
    /// Always.
    Inlined,
}

/// The most operations of an inline loop: beyond, broadcasts spill and compile time explodes.
const MAX_INLINE_OPERATIONS: usize = 48;

/// The most loops of an entry point where their number is ours to choose: compile time grows with its square.
const MAX_INLINE_LOOPS: usize = 32;

/// One step of an entry point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A fused loop.
    Loop(FusedLoop),
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
    /// The element-wise operations, in id order.
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
    pub(crate) extents: SecondaryMap<CNodeId, Extent>,
    pub(crate) steps: Vec<Step>,
    pub(crate) places: SecondaryMap<CNodeId, Option<Place>>,
    pub(crate) slots: Vec<Slot>,
}

impl Schedule {
    /// Schedules a plan; the error says what is not supported.
    pub(crate) fn new(plan: &CPlan, entry: Entry, prims: PrimMode) -> Result<Schedule, String> {
        check(plan)?;
        let scheduler = Scheduler { plan, entry, prims, extents: extents(plan, entry), live: live(plan) };
        let mut steps = match prims {
            PrimMode::Shared => scheduler.shared(),
            PrimMode::Inlined => scheduler.fused(),
            PrimMode::Auto => {
                let fused = scheduler.fused();
                if loops(&fused).count() > MAX_INLINE_LOOPS { scheduler.shared() } else { fused }
            }
        };
        steps.extend(scheduler.remaining_outputs(&steps));
        let located = scheduler.located_output();
        let (places, slots) = slots::assign(plan, &scheduler.extents, &steps, located);
        Ok(Schedule { entry, extents: scheduler.extents, steps, places, slots })
    }

    /// The fused loops.
    pub(crate) fn loops(&self) -> impl Iterator<Item = &FusedLoop> {
        loops(&self.steps)
    }
}

fn loops(steps: &[Step]) -> impl Iterator<Item = &FusedLoop> {
    steps.iter().filter_map(|step| if let Step::Loop(fused) = step { Some(fused) } else { None })
}

/// Refuses what the execution contract leaves undefined.
fn check(plan: &CPlan) -> Result<(), String> {
    let per_row = matches!(plan.variant, Variant::Cell(CellType::RowAgg));
    let has_mean = plan.outputs.iter().any(|output| output.agg == Some(AggOp::Mean));
    if has_mean && !per_row {
        return Err("means over blocks of rows".into());
    }
    let needs_agg = matches!(
        plan.variant,
        Variant::MAgg
            | Variant::Cell(CellType::RowAgg | CellType::ColAgg | CellType::FullAgg)
            | Variant::Row(RowType::ColAgg | RowType::FullAgg)
            | Variant::Outer(OuterType::FullAgg)
    );
    if needs_agg && plan.outputs.iter().any(|output| output.agg.is_none()) {
        return Err("an aggregating variant without aggregation function".into());
    }
    if plan.outputs.is_empty() || (plan.outputs.len() > 1 && plan.variant != Variant::MAgg) {
        return Err(format!("{} outputs", plan.outputs.len()));
    }
    Ok(())
}

/// The nodes that reach an output.
fn live(plan: &CPlan) -> SecondaryMap<CNodeId, bool> {
    let mut live = SecondaryMap::new();
    for output in &plan.outputs {
        live[output.node] = true;
        output.left.into_iter().for_each(|left| live[left] = true);
    }
    for (id, node) in plan.nodes.iter().rev() {
        if live[id] {
            node.operands().into_iter().for_each(|operand| live[operand] = true);
        }
    }
    live
}

/// Whether a node is an operation rather than an input or a constant.
pub(crate) fn is_operation(node: &CNode) -> bool {
    !node.operands().is_empty() || matches!(node, CNode::OuterProduct)
}

/// What the scheduling functions share.
struct Scheduler<'a> {
    plan: &'a CPlan,
    entry: Entry,
    prims: PrimMode,
    extents: SecondaryMap<CNodeId, Extent>,
    live: SecondaryMap<CNodeId, bool>,
}

impl Scheduler<'_> {
    /// The operations that reach an output, in id order.
    fn operations(&self) -> impl DoubleEndedIterator<Item = CNodeId> {
        self.plan.nodes.iter().filter(|(id, node)| self.live[*id] && is_operation(node)).map(|(id, _)| id)
    }

    /// Whether a loop can compute the node in registers.
    fn is_fusable(&self, id: CNodeId) -> bool {
        matches!(self.plan.nodes[id], CNode::Unary(..) | CNode::Binary(..) | CNode::Ternary(..))
    }

    /// A step that computes one node by itself: its primitive, or a loop where none serves: no primitive combines
    /// the positions of sparse rows with one value per row.
    fn single(&self, id: CNodeId) -> Step {
        let operands = self.plan.nodes[id].operands();
        let among_positions = self.extents[id] == Extent::Positions;
        if among_positions && operands.iter().any(|&operand| self.extents[operand] == Extent::Rows) {
            return Step::Loop(FusedLoop {
                extent: self.extents[id],
                nodes: vec![id],
                row_aggs: vec![],
                outputs: vec![],
            });
        }
        Step::Call(id)
    }

    /// One step per operation, in id order.
    fn shared(&self) -> Vec<Step> {
        self.operations().map(|id| self.single(id)).collect()
    }

    /// Whether a loop of these operations is worth its code.
    fn is_worth_inlining(&self, operations: usize, has_reduction: bool) -> bool {
        match (self.prims, self.plan.variant) {
            (PrimMode::Shared, _) => false,
            (PrimMode::Inlined, _) => true,
            (PrimMode::Auto, _) if operations > MAX_INLINE_OPERATIONS => false,
            (PrimMode::Auto, Variant::Row(_)) => operations >= 2 || (operations == 1 && has_reduction),
            (PrimMode::Auto, _) => true,
        }
    }

    /// The extent of the values that an output stores or aggregates.
    fn output_extent(&self, index: usize) -> Extent {
        let cells = self.entry.cells();
        let own = self.extents[self.plan.outputs[index].node];
        match self.plan.variant {
            Variant::Cell(_) | Variant::MAgg | Variant::Outer(_) => cells,
            Variant::Row(RowType::RowAgg) => Extent::Rows,
            Variant::Row(RowType::FullAgg) if own == Extent::One => Extent::Rows,
            Variant::Row(_) => own,
        }
    }

    /// Whether a loop over the output's cells can aggregate it.
    fn is_fusable_output(&self, index: usize) -> bool {
        match self.plan.variant {
            Variant::Cell(CellType::ColAgg) => self.entry == Entry::Dense,
            Variant::Cell(CellType::RowAgg | CellType::FullAgg)
            | Variant::MAgg
            | Variant::Outer(OuterType::FullAgg) => true,
            Variant::Row(RowType::ColAgg | RowType::FullAgg) => {
                matches!(self.output_extent(index), Extent::Vector(_) | Extent::Rows)
            }
            Variant::Cell(CellType::NoAgg)
            | Variant::Row(_)
            | Variant::Outer(OuterType::NoAgg | OuterType::LeftMM | OuterType::RightMM) => false,
        }
    }

    /// The output node that is computed straight into the output, for the variants that store it as it is.
    fn located_output(&self) -> Option<CNodeId> {
        let stores = matches!(
            self.plan.variant,
            Variant::Cell(CellType::NoAgg)
                | Variant::Row(RowType::NoAgg | RowType::NoAggB1 | RowType::RowAgg)
                | Variant::Outer(OuterType::NoAgg)
        );
        let node = self.plan.outputs[0].node;
        let is_computed = is_operation(&self.plan.nodes[node]) && self.extents[node] == self.output_extent(0);
        (stores && is_computed).then_some(node)
    }

    /// Steps for the outputs that no loop among these handles.
    fn remaining_outputs(&self, steps: &[Step]) -> Vec<Step> {
        let in_loops =
            |index: usize| steps.iter().any(|step| matches!(step, Step::Loop(fused) if fused.outputs.contains(&index)));
        let located = self.located_output();
        (0..self.plan.outputs.len())
            .filter(|&index| !in_loops(index) && Some(self.plan.outputs[index].node) != located)
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

    /// Whether the output's value has to be broadcast or copied before a primitive could take it, or is stored as it is.
    fn needs_copy(&self, index: usize) -> bool {
        let node = self.plan.outputs[index].node;
        let is_broadcast = self.extents[node] != self.output_extent(index);
        match self.plan.variant {
            // The primitives of these take any stride, or are the only way.
            Variant::Row(RowType::ColAggT | RowType::ColAggB1 | RowType::ColAggB1T) => false,
            Variant::Row(RowType::ColAgg) => false,
            Variant::Row(RowType::FullAgg) => {
                is_broadcast || (self.extents[node] == Extent::Rows && !is_operation(&self.plan.nodes[node]))
            }
            Variant::Cell(CellType::NoAgg)
            | Variant::Row(RowType::NoAgg | RowType::NoAggB1 | RowType::RowAgg)
            | Variant::Outer(OuterType::NoAgg) => true,
            Variant::Cell(_) | Variant::MAgg | Variant::Outer(_) => is_broadcast,
        }
    }
}
