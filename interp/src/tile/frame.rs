//! An interpreted plan, and the state of one call: the unit, scratch memory, and the values of nodes so far.

use super::value::{Memory, Place, Scratch, Value};
use cranelift_entity::EntityRef;
use fuseline_ir::cplan::{CNode, CNodeId, COutput, Positions, RowBuffers, VerifiedCPlan};
use fuseline_ir::template::Space;
use fuseline_skeletons::abi::{Context, Main, Side, Unit, UnitSize};
use fuseline_vecprims::{CsrTile, Primitives, Tile, TileMut};
use smallvec::{SmallVec, smallvec};

/// A plan to be interpreted, of which units are dense or sparse.
#[derive(Debug)]
pub(crate) struct Interpreted {
    pub(crate) plan: VerifiedCPlan,
    /// What lies by position in sparse units of a Row plan.
    pub(super) positions: Option<Positions>,
    pub(crate) primitives: &'static Primitives,
    /// Literals by node id, 0 elsewhere.
    pub(super) literals: Vec<f64>,
    /// Where the vectors of a Row plan lie.
    pub(super) buffers: RowBuffers,
    /// How many tiles scratch memory has: these buffers, or the values of a plan over cells.
    tiles: usize,
    /// How many values there are one of for each row.
    columns: usize,
    /// How many values may lie by position.
    values: usize,
}

impl Interpreted {
    pub(crate) fn new(plan: &VerifiedCPlan, primitives: &'static Primitives) -> Self {
        let literals =
            plan.nodes.values().map(|node| if let CNode::Literal(bits) = node { bits.get() } else { 0.0 }).collect();
        let is_row = plan.space() == Space::Rows;
        let shapes = plan.shapes();
        // Every node, and every output that has to be spread over the cells of the unit.
        let outputs = plan.outputs.iter().flat_map(COutput::operands);
        let is_vector = |id: &CNodeId| !is_row || shapes.is_vector(*id);
        let (vectors, scalars): (Vec<CNodeId>, Vec<CNodeId>) = plan.nodes.keys().chain(outputs).partition(is_vector);
        let buffers = plan.row_buffers();
        Interpreted {
            plan: plan.clone(),
            positions: plan.positions(false),
            primitives,
            literals,
            tiles: if is_row { buffers.computed() } else { vectors.len() },
            buffers,
            columns: scalars.len(),
            values: vectors.len() + scalars.len(),
        }
    }

    /// The scratch values that a unit needs.
    pub(super) fn scratch_len(&self, unit: UnitSize) -> usize {
        let UnitSize { rows, positions, longest } = unit;
        self.tiles * rows * longest + self.beside_tiles(rows, positions)
    }

    /// The values of scratch memory besides tiles.
    fn beside_tiles(&self, rows: usize, positions: usize) -> usize {
        // Each value may lie by position, and be gathered or repeated for positions besides.
        rows * self.columns + 2 * positions * self.values
    }
}

/// The state of one genexec call.
pub(crate) struct Frame<'a> {
    pub(crate) kernel: &'a Interpreted,
    pub(crate) unit: &'a Unit<'a>,
    scalars: &'a [f64],
    scratch: &'a mut [f64],
    /// The length of a buffer of row vectors. These lie at the beginning of scratch memory.
    buffer: usize,
    /// Where the rest of scratch memory holds nothing yet.
    used: usize,
    /// By node id.
    pub(super) values: SmallVec<[Value; 16]>,
    /// By node id: values that have been gathered or repeated for positions.
    at_positions: SmallVec<[Option<Value>; 16]>,
}

impl<'a> Frame<'a> {
    /// The state before the first node.
    pub(super) fn new(kernel: &'a Interpreted, unit: &'a Unit<'a>, context: &'a mut Context<'_>) -> Self {
        let (scalars, scratch) = (context.scalars, &mut *context.scratch);
        let at_positions = smallvec![None; kernel.plan.nodes.len()];
        let positions = if let Main::Sparse { values, .. } = unit.main { values.len() } else { 0 };
        let buffers = kernel.buffers.computed();
        // At least what was asked for: the rows of the unit, as long as the longest vector.
        let of_buffers = scratch.len().saturating_sub(kernel.beside_tiles(unit.rows, positions));
        let buffer = of_buffers.checked_div(buffers).unwrap_or(0);
        let used = buffers * buffer;
        Frame { kernel, unit, scalars, scratch, buffer, used, values: SmallVec::new(), at_positions }
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
        Memory { unit: self.unit, scalars: self.scalars, literals, scratch: Scratch::whole(&self.scratch[..self.used]) }
    }

    /// Where a node's value begins in scratch memory: a vector's in its buffer, anything else behind all that is there.
    pub(super) fn start_of(&self, node: CNodeId) -> usize {
        match self.kernel.buffers.of(node) {
            Some(buffer) if !self.lies_by_position(node) => buffer * self.buffer,
            _ => self.used,
        }
    }

    /// Fills `len` fresh values of scratch memory, and says where they begin.
    pub(crate) fn fill(&mut self, len: usize, write: impl FnOnce(Memory<'_>, &mut [f64])) -> Place {
        self.fill_from(self.used, len, write)
    }

    /// Fills `len` values of scratch memory from `start` on, and says where they begin.
    pub(super) fn fill_from(&mut self, start: usize, len: usize, write: impl FnOnce(Memory<'_>, &mut [f64])) -> Place {
        let (scratch, part) = Scratch::around(self.scratch, start, len);
        let literals = &self.kernel.literals;
        write(Memory { unit: self.unit, scalars: self.scalars, literals, scratch }, part);
        self.used = self.used.max(start + len);
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
