//! Results that are computed for all cells, of which few may be non-zeros: block by block these are stored, or all cells.

use crate::operator::{Operator, Workspace};
use crate::output::{on_threads_for, split_parts};
use crate::roles::Role;
use crate::side::SideInput;
use crate::write::Write;
use fuseline_ir::cplan::{CNode, CNodeId};
use fuseline_matrix::{BufferPool, Dense, MatrixBlock, SuitedRows};

/// A matrix of so many rows in the format that suits the number of its non-zeros, of which `each` computes the cells of one of
/// some blocks of whole rows.
pub(crate) fn suited_rows(
    operator: &Operator<'_>,
    [rows, cols]: [usize; 2],
    heights: impl Iterator<Item = usize>,
    each: impl Fn(&mut Workspace, usize, &mut [f64]) + Send + Sync,
) -> MatrixBlock {
    let env = operator.env;
    let mut dense = Dense::uninit_in(env.buffers, rows, cols);
    let write = Write::to(operator, &dense);
    let places = split_parts(dense.values_mut(), heights.map(|height| height * cols));
    let blocks = operator.run(places, |workspace, block, place| {
        let mut cells = BufferPool::take(env.buffers, place.len());
        each(workspace, block, &mut cells);
        write.saw(&cells);
        SuitedRows::new(env.buffers, cols, &cells, |cells| write.copy(operator, cols, cells, place))
    });
    write.note(&mut dense);
    on_threads_for(env, rows.saturating_mul(cols), || SuitedRows::put_together(env.buffers, dense, blocks))
}

/// Whether a result of so many rows and columns that is computed for all cells may be stored sparse, as that of an operation by
/// itself: beside a sparse matrix, and where values are chosen or replaced.
pub(crate) fn may_leave_few(operator: &Operator<'_>, result: CNodeId, [rows, cols]: [usize; 2]) -> bool {
    let binding = &operator.binding;
    let node = &binding.plan.nodes[result];
    let is_choice = matches!(node, CNode::Ternary(op, ..) if !op.is_sum());
    let is_by_cell = matches!(node, CNode::Unary(..) | CNode::Binary(..) | CNode::Ternary(..));
    let is_sparse = |side: &SideInput<'_>| matches!(side.role, Role::Cell | Role::Row) && side.source.csr().is_some();
    let is_beside_sparse = || binding.main.csr().is_some() || binding.sides.iter().flatten().any(is_sparse);
    MatrixBlock::best_format(rows, cols, 0).is_sparse() && (is_choice || is_by_cell && is_beside_sparse())
}
