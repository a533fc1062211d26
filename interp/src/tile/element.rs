//! Element-wise operations on values that vary along different axes. One result per cell, so how the cells are grouped
//! for the primitives changes no bit.

use super::value::{Memory, Place, Value};
use fuseline_ir::cplan::CNode;
use fuseline_vecprims::{Form, Operand, Primitives, Tile, TileMut};

/// Operands seen as rows of cells. Values that vary by row alone become one row, so that they make long runs.
#[derive(Clone, Copy)]
struct View<'a> {
    tile: Tile<'a>,
    is_vector: bool,
}

/// The result of an element-wise operation, before it is computed.
pub(crate) struct Plan {
    value: Value,
    rows: usize,
    len: usize,
    /// Whether rows are seen as columns.
    turned: bool,
}

impl Plan {
    /// The result of these operands in a unit of `rows` rows, placed in scratch memory from `start` on.
    pub(crate) fn new(operands: &[Value], rows: usize, start: usize) -> Self {
        let by_row = operands.iter().any(|operand| operand.by_row);
        let by_col = operands.iter().any(|operand| operand.by_col);
        let len = operands.iter().filter(|operand| operand.by_col).map(|operand| operand.len).next().unwrap_or(1);
        let turned = by_row && !by_col && operands.iter().all(|operand| !operand.by_row || operand.row_stride == 1);
        let value = Value { place: Place::Scratch(start), by_row, by_col, row_stride: len, len };
        let rows = if by_row { rows } else { 1 };
        if turned { Plan { value, rows: 1, len: rows, turned } } else { Plan { value, rows, len, turned } }
    }

    /// The number of cells.
    pub(crate) fn cells(&self) -> usize {
        self.rows * self.len
    }

    fn view<'a>(&self, memory: Memory<'a>, operand: Value) -> View<'a> {
        if self.turned {
            View { tile: Tile::new(memory.values(operand), 0), is_vector: operand.by_row }
        } else {
            View { tile: memory.tile(operand), is_vector: operand.by_col }
        }
    }

    /// Computes the cells of `node` into `out`.
    pub(crate) fn compute(
        &self,
        primitives: &Primitives,
        node: &CNode,
        memory: Memory<'_>,
        operands: &[Value],
        out: &mut [f64],
    ) -> Value {
        let (rows, len) = (self.rows, self.len);
        let view = |position: usize| self.view(memory, operands[position]);
        let out = TileMut::new(out, len);
        match *node {
            CNode::Unary(op, _) => primitives.unary(op, rows, len, view(0).tile, out),
            CNode::Binary(op, ..) => {
                let (a, b) = (view(0), view(1));
                let form = match (a.is_vector, b.is_vector) {
                    (true, false) => Form::VectScalar,
                    (false, true) => Form::ScalarVect,
                    (true, true) | (false, false) => Form::VectVect,
                };
                primitives.binary(op, form, rows, len, a.tile, b.tile, out);
            }
            CNode::Ternary(op, ..) => {
                let operand = |position: usize| {
                    let view = view(position);
                    Operand { tile: view.tile, scalar: !view.is_vector }
                };
                primitives.ternary(op, rows, len, [operand(0), operand(1), operand(2)], out);
            }
            _ => unreachable!("only element-wise nodes are planned as such"),
        }
        self.value
    }
}
