//! The interpreter's genexec: nodes in id order, then the outputs.

use super::element::Plan;
use super::frame::{Frame, Interpreted, matrix};
use super::output;
use super::value::{Memory, Place, Value};
use cranelift_entity::EntityRef;
use fuseline_ir::cplan::{CInputId, CNode, CNodeId, Filters, VerifiedCPlan};
use fuseline_ir::ops::{AggOp, WindowOp, Windows};
use fuseline_skeletons::abi::{Context, Kernel, Main, Output, Unit, UnitSize};
use fuseline_vecprims::{Primitives, TileMut};
use smallvec::SmallVec;
use std::borrow::Cow;

/// The entries of a plan: one for units of dense rows, and one for those of sparse ones.
#[derive(Debug)]
pub(crate) struct InterpKernel {
    plan: Interpreted,
    sparse: SparseEntry,
}

/// What units of sparse rows run.
#[derive(Debug)]
enum SparseEntry {
    /// There are none.
    None,
    /// The plan itself.
    Plan,
    /// Another form of it.
    Form(Interpreted),
}

impl InterpKernel {
    pub(crate) fn new(plan: &VerifiedCPlan, primitives: &'static Primitives) -> Self {
        let sparse = match plan.sparse_form() {
            None => SparseEntry::None,
            Some(Cow::Borrowed(_)) => SparseEntry::Plan,
            Some(Cow::Owned(form)) => SparseEntry::Form(Interpreted::new(&form, primitives)),
        };
        InterpKernel { plan: Interpreted::new(plan, primitives), sparse }
    }

    /// What a unit runs.
    fn interpreted(&self, unit: &Unit<'_>) -> &Interpreted {
        match (&self.sparse, unit.main) {
            (SparseEntry::Form(form), Main::Sparse { .. }) => form,
            _ => &self.plan,
        }
    }
}

impl Kernel for InterpKernel {
    fn has_sparse_entry(&self) -> bool {
        !matches!(self.sparse, SparseEntry::None)
    }

    fn scratch_len(&self, unit: UnitSize) -> usize {
        let own = self.plan.scratch_len(unit);
        if let SparseEntry::Form(form) = &self.sparse { own.max(form.scratch_len(unit)) } else { own }
    }

    fn genexec(&self, context: &mut Context<'_>, unit: &Unit<'_>, outputs: &mut [Output<'_>]) {
        let interpreted = self.interpreted(unit);
        let mut frame = Frame::new(interpreted, unit, context);
        for (id, node) in &interpreted.plan.nodes {
            let value = frame.node(id, node);
            frame.values.push(value);
        }
        for (declared, output) in interpreted.plan.outputs.iter().zip(outputs) {
            output::write(&mut frame, declared, output);
        }
    }
}

impl<'a> Frame<'a> {
    fn node(&mut self, id: CNodeId, node: &CNode) -> Value {
        match *node {
            CNode::Main => self.main(),
            CNode::Scalar(input) => Value::constant(Place::Scalar(input.index())),
            CNode::Literal(_) => Value::constant(Place::Literal(id.index())),
            CNode::SideCell(input) => {
                let side = self.unit.sides[input.index()];
                self.cells(Place::Side(input.index(), 0), side.row_stride)
            }
            CNode::SideColScalar(input) => self.cells(Place::Side(input.index(), 0), 0),
            CNode::SideRowScalar(input, column) => self.side_row_scalar(input, column as usize),
            CNode::RowIndex => self.row_index(),
            CNode::SideRow(input, _) if self.lies_by_position(id) => self.cells(Place::Side(input.index(), 0), 0),
            CNode::SideRow(input, range) => {
                let side = self.unit.sides[input.index()];
                let columns = range.of(side.cols);
                // A stride of 0 would mean one row for all.
                let row_stride = side.row_stride.max(1);
                Value::rows(Place::Side(input.index(), columns.start), row_stride, columns.len())
            }
            CNode::SideVector(input) => {
                Value::rows(Place::Side(input.index(), 0), 0, self.unit.sides[input.index()].cols)
            }
            CNode::OuterProduct => self.cells(Place::Products, self.unit.cols),
            CNode::Unary(..) | CNode::Binary(..) | CNode::Ternary(..) => self.element_wise(id, node),
            CNode::RowAgg(op, operand) => self.row_agg(op, operand),
            CNode::RowCumulative(op, operand) => self.row_cumulative(id, op, operand),
            CNode::Cbind(left, right) => self.cbind(id, left, right),
            CNode::Scatter(operand, elsewhere) => self.scatter(id, operand, elsewhere),
            CNode::DotProduct(left, right) => self.dot_product(left, right),
            CNode::VectMatMult(operand, input) => self.vect_mat_mult(id, operand, input),
            CNode::Windows(op, operand, windows) => self.windows(id, op, operand, &windows),
            CNode::Convolve(operand, input, filters) => self.convolve(id, operand, input, filters),
        }
    }

    fn main(&self) -> Value {
        match self.unit.main {
            Main::Dense { row_stride, .. } => Value::rows(Place::Main, row_stride.max(1), self.unit.cols),
            Main::Sparse { values, .. } => Value::rows(Place::Main, 0, values.len()),
        }
    }

    /// Values laid out by cell: dense rows, or one run of positions.
    fn cells(&self, place: Place, row_stride: usize) -> Value {
        match self.unit.main {
            Main::Dense { .. } => Value::rows(place, row_stride, self.unit.cols),
            Main::Sparse { values, .. } => Value::rows(place, 0, values.len()),
        }
    }

    fn side_row_scalar(&mut self, input: CInputId, column: usize) -> Value {
        let side = self.unit.sides[input.index()];
        let value = Value::per_row(Place::Side(input.index(), column), side.row_stride);
        match self.position_offsets() {
            Some(offsets) => {
                self.by_position(offsets, |memory, r| memory.values(value).get(r * side.row_stride).copied())
            }
            None => value,
        }
    }

    fn row_index(&mut self) -> Value {
        let first = self.unit.first_row;
        match self.position_offsets() {
            Some(offsets) => self.by_position(offsets, |_, r| Some((first + r) as f64)),
            None => self.per_row(|_, out| {
                for (r, cell) in out.values.iter_mut().enumerate() {
                    *cell = (first + r) as f64;
                }
            }),
        }
    }

    /// The row offsets of units whose values are laid out by position.
    fn position_offsets(&self) -> Option<&'a [usize]> {
        match self.unit.main {
            Main::Sparse { row_offsets, .. } if !self.is_row_plan() => Some(row_offsets),
            _ => None,
        }
    }

    /// A value of each row, at every position of that row.
    fn by_position(&mut self, offsets: &[usize], value: impl Fn(Memory<'_>, usize) -> Option<f64>) -> Value {
        let first = offsets[0];
        let len = offsets[offsets.len() - 1] - first;
        let place = self.fill(len, |memory, out| {
            for (r, bounds) in offsets.windows(2).enumerate() {
                let cells = &mut out[bounds[0] - first..bounds[1] - first];
                if let (false, Some(value)) = (cells.is_empty(), value(memory, r)) {
                    cells.fill(value);
                }
            }
        });
        Value::rows(place, 0, len)
    }

    fn element_wise(&mut self, id: CNodeId, node: &CNode) -> Value {
        let by_position = self.lies_by_position(id);
        let operands = node.operands().into_iter();
        let operands: SmallVec<[Value; 3]> = operands
            .map(|operand| if by_position { self.at_positions(operand) } else { self.value(operand) })
            .collect();
        let start = self.start_of(id);
        let plan = Plan::new(&operands, self.unit.rows, start);
        let primitives = self.kernel.primitives;
        let mut value = None;
        self.fill_from(start, plan.cells(), |memory, out| {
            value = Some(plan.compute(primitives, node, memory, &operands, out));
        });
        value.expect("`fill_from` calls its argument")
    }

    fn row_agg(&mut self, op: AggOp, operand: CNodeId) -> Value {
        let (primitives, rows, cols) = (self.kernel.primitives, self.unit.rows, self.unit.cols);
        let sparse = self.sparse_rows(operand);
        let operand = self.value(operand);
        self.per_row(|memory, out| match sparse.map(|sparse| sparse.rows(memory)) {
            Some(sparse) => primitives.segment_row_agg(op, sparse.row_offsets, sparse.values, cols, out),
            None => primitives.row_agg(op, rows, operand.len, memory.tile(operand), out),
        })
    }

    fn row_cumulative(&mut self, id: CNodeId, op: AggOp, operand: CNodeId) -> Value {
        let (primitives, operand) = (self.kernel.primitives, self.value(operand));
        let (rows, len) = (if operand.by_row { self.unit.rows } else { 1 }, operand.len);
        let place = self.fill_from(self.start_of(id), rows * len, |memory, out| {
            primitives.row_cumulative(op, rows, len, memory.tile(operand), TileMut::new(out, len));
        });
        Value { place, by_row: operand.by_row, by_col: true, row_stride: len, len }
    }

    fn cbind(&mut self, id: CNodeId, left: CNodeId, right: CNodeId) -> Value {
        let (primitives, left, right) = (self.kernel.primitives, self.value(left), self.value(right));
        let by_row = left.by_row || right.by_row;
        let (rows, len) = (if by_row { self.unit.rows } else { 1 }, left.len + right.len);
        let place = self.fill_from(self.start_of(id), rows * len, |memory, out| {
            primitives.copy(rows, left.len, memory.tile(left), TileMut::new(out, len));
            let rest = out.get_mut(left.len..).unwrap_or_default();
            primitives.copy(rows, right.len, memory.tile(right), TileMut::new(rest, len));
        });
        Value { place, by_row, by_col: true, row_stride: len, len }
    }

    fn scatter(&mut self, id: CNodeId, operand: CNodeId, elsewhere: CNodeId) -> Value {
        let (primitives, rows, cols) = (self.kernel.primitives, self.unit.rows, self.unit.cols);
        let sparse = self.sparse_rows(operand);
        let (operand, elsewhere) = (self.value(operand), self.value(elsewhere));
        let place = self.fill_from(self.start_of(id), rows * cols, |memory, out| {
            let out = TileMut::new(out, cols);
            match sparse.map(|sparse| sparse.rows(memory)) {
                Some(sparse) => primitives.sparse_scatter(sparse, cols, memory.tile(elsewhere), out),
                None => primitives.copy(rows, cols, memory.tile(operand), out),
            }
        });
        Value { place, by_row: true, by_col: true, row_stride: cols, len: cols }
    }

    fn dot_product(&mut self, left: CNodeId, right: CNodeId) -> Value {
        let (primitives, rows) = (self.kernel.primitives, self.unit.rows);
        let (dense, other) = if self.lies_by_position(left) { (right, left) } else { (left, right) };
        let (sparse, factors) = (self.sparse_rows(other), self.sparse_rows(dense));
        let (dense, other) = (self.value(dense), self.value(other));
        if let (Some(sparse), Some(factors)) = (sparse, factors) {
            return self.per_row(|memory, out| {
                let (a, b) = (sparse.rows(memory), factors.rows(memory));
                primitives.segment_dot_product(a.row_offsets, a.values, b.values, out);
            });
        }
        self.per_row(|memory, out| match sparse.map(|sparse| sparse.rows(memory)) {
            Some(sparse) => primitives.sparse_dot_product(sparse, memory.tile(dense), out),
            None => primitives.dot_product(rows, dense.len, memory.tile(dense), memory.tile(other), out),
        })
    }

    fn vect_mat_mult(&mut self, id: CNodeId, operand: CNodeId, input: CInputId) -> Value {
        let (primitives, rows) = (self.kernel.primitives, self.unit.rows);
        let sparse = self.sparse_rows(operand);
        let (operand, k) = (self.value(operand), self.unit.sides[input.index()].cols);
        let place = self.fill_from(self.start_of(id), rows * k, |memory, out| {
            let (side, out) = (memory.side(input.index()), TileMut::new(out, k));
            match sparse.map(|sparse| sparse.rows(memory)) {
                Some(sparse) => primitives.sparse_vect_mat_mult(sparse, k, matrix(side), out),
                None => primitives.vect_mat_mult(rows, operand.len, k, memory.tile(operand), side.factor, out),
            }
        });
        Value::rows(place, k.max(1), k)
    }

    fn windows(&mut self, id: CNodeId, op: WindowOp, operand: CNodeId, windows: &Windows) -> Value {
        let (primitives, operand) = (self.kernel.primitives, self.value(operand));
        let (rows, len) = (if operand.by_row { self.unit.rows } else { 1 }, op.cells(windows));
        let place = self.fill_from(self.start_of(id), rows * len, |memory, out| {
            primitives.windows(op, rows, windows, memory.tile(operand), TileMut::new(out, len));
        });
        Value { place, by_row: operand.by_row, by_col: true, row_stride: len, len }
    }

    fn convolve(&mut self, id: CNodeId, operand: CNodeId, input: CInputId, filters: Filters) -> Value {
        let (primitives, operand) = (self.kernel.primitives, self.value(operand));
        let Filters { count, windows } = filters;
        let (filters, windows) = (count as usize, windows as usize);
        let (rows, len) = (if operand.by_row { self.unit.rows } else { 1 }, filters * windows);
        let extents = (filters, operand.len / windows, windows);
        let place = self.fill_from(self.start_of(id), rows * len, |memory, out| {
            let side = matrix(memory.side(input.index()));
            primitives.convolve(rows, extents, memory.tile(operand), side, TileMut::new(out, len));
        });
        Value { place, by_row: operand.by_row, by_col: true, row_stride: len, len }
    }
}
