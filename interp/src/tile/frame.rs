//! An interpreted plan, and the state of one call: the unit, scratch memory, and the values of nodes so far.

use super::value::{Memory, Place, Value};
use cranelift_entity::EntityRef;
use fuseline_ir::cplan::{CNode, CNodeId, COutput, Positions, VerifiedCPlan};
use fuseline_ir::template::Space;
use fuseline_skeletons::abi::{Context, Main, Side, Unit};
use fuseline_vecprims::{CsrTile, Primitives, Tile, TileMut};
use smallvec::{SmallVec, smallvec};

/// A plan to be interpreted.
#[derive(Debug)]
pub(crate) struct InterpKernel {
    pub(crate) plan: VerifiedCPlan,
    /// What lies by position in sparse units of a Row plan.
    pub(super) positions: Option<Positions>,
    pub(crate) primitives: &'static Primitives,
    /// Literals by node id, 0 elsewhere.
    pub(super) literals: Vec<f64>,
    /// How many values of each shape scratch memory has to hold.
    pub(super) vectors: usize,
    pub(super) scalars: usize,
}

impl InterpKernel {
    pub(crate) fn new(plan: &VerifiedCPlan, primitives: &'static Primitives) -> Self {
        let literals =
            plan.nodes.values().map(|node| if let CNode::Literal(bits) = node { bits.get() } else { 0.0 }).collect();
        let is_row = plan.space() == Space::Rows;
        let shapes = plan.shapes();
        // Every node, and every output that has to be spread over the cells of the unit.
        let outputs = plan.outputs.iter().flat_map(COutput::operands);
        let is_vector = |id: &CNodeId| !is_row || shapes.is_vector(*id);
        let (vectors, scalars): (Vec<CNodeId>, Vec<CNodeId>) = plan.nodes.keys().chain(outputs).partition(is_vector);
        let (vectors, scalars) = (vectors.len(), scalars.len());
        InterpKernel { plan: plan.clone(), positions: plan.positions(false), primitives, literals, vectors, scalars }
    }
}

/// The state of one genexec call.
pub(crate) struct Frame<'a> {
    pub(crate) kernel: &'a InterpKernel,
    pub(crate) unit: &'a Unit<'a>,
    scalars: &'a [f64],
    scratch: &'a mut [f64],
    /// Values of scratch memory that hold something.
    pub(super) used: usize,
    /// By node id.
    pub(super) values: SmallVec<[Value; 16]>,
    /// By node id: values that have been gathered or repeated for positions.
    at_positions: SmallVec<[Option<Value>; 16]>,
}

impl<'a> Frame<'a> {
    /// The state before the first node.
    pub(super) fn new(kernel: &'a InterpKernel, unit: &'a Unit<'a>, context: &'a mut Context<'_>) -> Self {
        let (scalars, scratch) = (context.scalars, &mut *context.scratch);
        let at_positions = smallvec![None; kernel.plan.nodes.len()];
        Frame { kernel, unit, scalars, scratch, used: 0, values: SmallVec::new(), at_positions }
    }

    pub(crate) fn value(&self, node: CNodeId) -> Value {
        self.values[node.index()]
    }

    pub(crate) fn is_row_plan(&self) -> bool {
        self.kernel.plan.space() == Space::Rows
    }

    /// Whether the node's value lies by position of the sparse rows of a Row plan.
    pub(crate) fn lies_by_position(&self, node: CNodeId) -> bool {
        let positions = self.kernel.positions.as_ref();
        matches!(self.unit.main, Main::Sparse { .. }) && positions.is_some_and(|found| found.contains(node))
    }

    /// The node's value as sparse rows, if it lies by position.
    pub(super) fn sparse_rows(&self, node: CNodeId) -> Option<SparseValue> {
        self.lies_by_position(node).then(|| SparseValue(self.value(node)))
    }

    /// The node's value for each position; constants stay as they are.
    pub(super) fn at_positions(&mut self, node: CNodeId) -> Value {
        let value = self.value(node);
        if self.lies_by_position(node) || !(value.by_row || value.by_col) {
            return value;
        }
        if let Some(known) = self.at_positions[node.index()] {
            return known;
        }
        let primitives = self.kernel.primitives;
        let count = self.memory().sparse_main().map_or(0, |main| main.values.len());
        let place = self.fill(count, |memory, out| match memory.sparse_main() {
            Some(main) if value.by_col => {
                primitives.sparse_gather(main.row_offsets, main.columns, memory.tile(value), out);
            }
            Some(main) => primitives.segment_spread(main.row_offsets, memory.tile(value), out),
            None => {}
        });
        let gathered = Value::rows(place, 0, count);
        self.at_positions[node.index()] = Some(gathered);
        gathered
    }

    /// All memory that may be read.
    pub(crate) fn memory(&self) -> Memory<'_> {
        let literals = &self.kernel.literals;
        Memory { unit: self.unit, scalars: self.scalars, literals, scratch: &self.scratch[..self.used] }
    }

    /// Fills `len` fresh values of scratch memory, and says where they begin.
    pub(crate) fn fill(&mut self, len: usize, write: impl FnOnce(Memory<'_>, &mut [f64])) -> Place {
        let start = self.used;
        let (written, fresh) = self.scratch.split_at_mut(start);
        let memory =
            Memory { unit: self.unit, scalars: self.scalars, literals: &self.kernel.literals, scratch: written };
        write(memory, &mut fresh[..len]);
        self.used += len;
        Place::Scratch(start)
    }

    /// One scalar for each row.
    pub(super) fn per_row(&mut self, write: impl FnOnce(Memory<'_>, TileMut<'_>)) -> Value {
        let place = self.fill(self.unit.rows, |memory, out| write(memory, TileMut::new(out, 1)));
        Value::per_row(place, 1)
    }
}

/// A side matrix as it is stored.
pub(crate) fn matrix(side: Side<'_>) -> Tile<'_> {
    Tile::new(side.values, side.row_stride)
}

/// A value that lies by position.
#[derive(Clone, Copy)]
pub(super) struct SparseValue(Value);

impl SparseValue {
    /// The value as sparse rows.
    pub(super) fn rows<'m>(self, memory: Memory<'m>) -> CsrTile<'m> {
        let main = memory.sparse_main().expect("sparse units alone have values by position");
        with_values(main, memory.values(self.0))
    }
}

/// The positions of a sparse unit with other values.
pub(crate) fn with_values<'a>(main: CsrTile<'a>, values: &'a [f64]) -> CsrTile<'a> {
    CsrTile { values: &values[..main.values.len()], ..main }
}
