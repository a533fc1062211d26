//! A compiled plan bound to its inputs: how it reads them, and what it makes of their layouts.

use crate::abi::Kernel;
use crate::backend::CompiledCPlan;
use crate::error::SkeletonError;
use crate::fit::{Fit, SideFit, cells};
use crate::roles::{INLINE_INPUTS, Role, index};
use crate::side::{Factor, SideInput};
use crate::source::{Source, source_of, source_of_layout};
use crate::transpose::transpose;
use fuseline_ir::cplan::{CInput, CNode, CNodeId, COutput, CPlan, FACTOR_U};
use fuseline_ir::schedule::LONG_VECTOR;
use fuseline_ir::template::Space;
use fuseline_matrix::{Csr, Dense, Layout, MatrixBlock};
use fuseline_vecprims::adds_up_rows;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::Arc;

/// A plan, its code, and inputs that fit.
pub(crate) struct Binding<'a> {
    pub(crate) plan: &'a CPlan,
    pub(crate) kernel: &'a dyn Kernel,
    /// What the plan makes of the inputs' layouts.
    pub(crate) fit: Arc<Fit>,
    /// Dense or CSR in Outer plans that skip its zeros, which rely on its having no explicitly stored ones.
    pub(crate) main: Box<dyn Source + 'a>,
    /// By input id; the main input and scalars have no role.
    pub(crate) sides: Vec<Option<SideInput<'a>>>,
    /// By input id.
    pub(crate) scalars: SmallVec<[f64; INLINE_INPUTS]>,
}

impl<'a> Binding<'a> {
    /// Binds a plan to inputs. What it makes of their layouts is found out unless it is known.
    pub(crate) fn new(
        compiled: &'a CompiledCPlan,
        inputs: &'a [MatrixBlock],
        scalars: &[f64],
        strict_ieee: bool,
        known: Option<Arc<Fit>>,
    ) -> Result<Self, SkeletonError> {
        count_inputs(compiled.plan(), inputs, scalars)?;
        let (kernel, scalars) = (compiled.kernel(), by_input(compiled.plan(), scalars));
        let fit = match known {
            Some(fit) => fit,
            None => Arc::new(fit_of(compiled, inputs, &scalars, strict_ieee)?),
        };
        let form = compiled.sparse_form().filter(|_| fit.runs_sparse_entry);
        let plan: &CPlan = form.unwrap_or(compiled.plan());
        let side =
            |(block, side): (&'a MatrixBlock, &Option<SideFit>)| side.as_ref().map(|side| bind_side(side, block));
        let matrices = inputs.iter().zip(&fit.sides).map(side);
        let sides = matrices.chain(fit.sides.iter().skip(inputs.len()).map(|_| None)).collect();
        Ok(Binding { plan, kernel, main: bind_main(plan, &inputs[0]), fit, sides, scalars })
    }

    /// The length of a vector value; `None` for scalars.
    pub(crate) fn vector_length(&self, node: CNodeId) -> Option<usize> {
        self.fit.lengths[node]
    }

    /// The longest vector value, the main row included where it is read.
    pub(crate) fn longest_vector(&self) -> usize {
        self.plan.nodes.keys().filter_map(|node| self.fit.lengths[node]).max().unwrap_or(1).max(1)
    }

    /// The longest vector value of which there is one for each row, besides the main row and what lies by position.
    pub(crate) fn longest_computed_vector(&self) -> usize {
        let is_computed = |(id, node): &(CNodeId, &CNode)| {
            !matches!(node, CNode::Main | CNode::SideVector(_)) && !self.fit.positions.contains(*id)
        };
        let nodes = self.plan.nodes.iter().filter(is_computed).filter_map(|(id, _)| self.fit.lengths[id]);
        let copies = self.sides.iter().flatten().filter(|side| side.role == Role::Row);
        nodes.chain(copies.map(|side| side.columns.row_stride())).max().unwrap_or(0)
    }

    /// The element-wise operations that compute a long vector for each row, but for what lies by position.
    pub(crate) fn long_operations(&self) -> usize {
        let is_long = |(id, node): &(CNodeId, &CNode)| {
            let is_computed = node.is_element_wise() && !self.fit.positions.contains(*id);
            is_computed && self.fit.lengths[*id].is_some_and(|length| length >= LONG_VECTOR)
        };
        self.plan.nodes.iter().filter(is_long).count()
    }

    /// The longest vector value of which there is one for each row.
    pub(crate) fn widest_row(&self) -> usize {
        self.longest_computed_vector().max(if self.fit.reads_main { self.fit.cols } else { 0 })
    }

    /// The values that are read of all inputs by row, for each row.
    pub(crate) fn inputs_per_row(&self) -> usize {
        let sides = self.sides.iter().flatten().filter(|side| side.role == Role::Row);
        sides
            .map(|side| side.columns.row_stride())
            .fold(if self.fit.reads_main { self.fit.cols } else { 0 }, usize::saturating_add)
    }

    /// The matrices whose rows are joined for sparse units: the main input and others, or none.
    pub(crate) fn joined_matrices(&self) -> SmallVec<[&Csr; 4]> {
        if self.fit.joined.is_empty() {
            return SmallVec::new();
        }
        self.main.csr().into_iter().chain(self.matrices(&self.fit.joined)).collect()
    }

    /// Some sparse side inputs, by number.
    pub(crate) fn matrices(&self, inputs: &[usize]) -> SmallVec<[&Csr; 4]> {
        inputs.iter().filter_map(|&input| self.sides[input].as_ref()?.source.csr()).collect()
    }

    /// Whether the rows of units are joined, or met, from those of several matrices.
    pub(crate) fn combines_rows(&self) -> bool {
        !self.fit.joined.is_empty() || !self.fit.met.is_empty()
    }

    /// Whether something asks for the columns of joined rows in their order: what looks them up in rows beside them,
    /// and a result with their pattern.
    pub(crate) fn needs_ascending_columns(&self) -> bool {
        let looks_up = |(input, side): (usize, &Option<SideInput<'_>>)| match side.as_ref().map(|side| side.role) {
            Some(Role::Cell) => !self.fit.joined.contains(&input),
            role => role == Some(Role::ColScalar),
        };
        // What a Row plan stores for a row as a whole has no columns of the main row.
        let stores_positions = |output: &COutput| {
            output.stores() && (self.plan.space() != Space::Rows || self.fit.positions.contains(output.node()))
        };
        self.sides.iter().enumerate().any(looks_up) || self.plan.outputs.iter().any(stores_positions)
    }

    /// The non-zeros of a sparse main input, and of what is joined with it.
    pub(crate) fn non_zeros(&self) -> usize {
        let joined = self.joined_matrices().iter().map(|csr| csr.nnz()).sum();
        if self.fit.joined.is_empty() { self.main.csr().map_or(0, Csr::nnz) } else { joined }
    }

    /// Cells of the main input.
    ///
    /// # Errors
    /// [`SkeletonError::TooLarge`] beyond what can be addressed.
    pub(crate) fn cells(&self) -> Result<usize, SkeletonError> {
        cells(self.fit.rows, self.fit.cols)
    }

    /// The non-zeros that an Outer plan visits of a sparse main input; `None` where it runs over tiles.
    pub(crate) fn sparse_driver(&self) -> Option<&Csr> {
        self.main.csr().filter(|_| self.plan.sparse_safe)
    }

    /// The cells whose non-zeros an Outer plan over tiles visits; `None` where it visits all cells, however they are stored.
    pub(crate) fn dense_driver(&self) -> Option<&Dense> {
        self.main.dense().filter(|_| self.plan.sparse_safe)
    }

    /// The rank of the factors of an Outer plan.
    pub(crate) fn rank(&self) -> usize {
        self.sides[index(FACTOR_U)].as_ref().map_or(0, |side| side.cols)
    }
}

/// What a plan makes of inputs: the form for sparse units if these run on them, else the plan itself.
fn fit_of(
    compiled: &CompiledCPlan,
    inputs: &[MatrixBlock],
    scalars: &[f64],
    strict_ieee: bool,
) -> Result<Fit, SkeletonError> {
    let fit = |plan: &CPlan| Fit::new(plan, compiled.has_sparse_entry(), inputs, scalars, strict_ieee);
    let form = compiled.sparse_form().filter(|_| inputs[0].format().is_sparse());
    let of_form = form.map(|form| fit(form)).transpose()?;
    match of_form.filter(|fit| fit.runs_sparse_entry) {
        Some(of_form) => Ok(of_form),
        None => fit(compiled.plan()),
    }
}

fn count_inputs(plan: &CPlan, inputs: &[MatrixBlock], scalars: &[f64]) -> Result<(), SkeletonError> {
    let matrices = plan.inputs.values().filter(|input| input.is_matrix()).count();
    if matrices != inputs.len() {
        return Err(SkeletonError::Matrices { expected: matrices, actual: inputs.len() });
    }
    let expected = plan.scalars().count();
    if expected != scalars.len() {
        return Err(SkeletonError::Scalars { expected, actual: scalars.len() });
    }
    Ok(())
}

fn bind_main<'a>(plan: &CPlan, block: &'a MatrixBlock) -> Box<dyn Source + 'a> {
    if plan.space() != Space::Factors || !plan.sparse_safe {
        return source_of(block);
    }
    source_of_layout(match block.layout() {
        Layout::Sparse(csr) if csr.has_stored_zeros() => Layout::Sparse(Cow::Owned(csr.without_stored_zeros())),
        main => main,
    })
}

fn bind_side<'a>(fit: &SideFit, block: &'a MatrixBlock) -> SideInput<'a> {
    let source = match fit.role {
        Role::Cell | Role::Row | Role::RowScalar => source_of(block),
        _ => Box::new(block.to_dense()),
    };
    let (rows, cols) = block.dims();
    let factor = match source.dense() {
        Some(_) if fit.is_factor && adds_up_rows(cols) => Factor::Stored,
        Some(dense) if fit.is_factor => {
            let mut transposed = vec![0.0; rows * cols];
            transpose(dense.values(), rows, cols, &mut transposed);
            Factor::Transposed(transposed)
        }
        _ => Factor::None,
    };
    SideInput { role: fit.role, source, cols, columns: fit.columns.clone(), factor }
}

/// Scalars by input id, zeros for matrices.
fn by_input(plan: &CPlan, scalars: &[f64]) -> SmallVec<[f64; INLINE_INPUTS]> {
    let mut next = scalars.iter();
    let of_input = |input: &CInput| match input {
        CInput::Scalar => next.next().copied().unwrap_or_default(),
        CInput::Matrix(_) => 0.0,
    };
    plan.inputs.values().map(of_input).collect()
}
