//! Estimates of the non-zeros of all operators of a DAG, from the sketches of its inputs.

use super::Sketch;
use crate::hops::drawn_share;
use cranelift_entity::{EntitySet, SecondaryMap};
use fuseline_ir::SizeInfo;
use fuseline_ir::hop::{Hop, HopDag, HopId, HopOp, NaryOp, ReorgOp};
use fuseline_ir::ops::{AggOp, BinaryZero, Direction, Known};
use fuseline_ir::size::SPARSITY_TURN_POINT;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The sketches of variables, by name. Variables without one count as unstructured.
pub type InputSketches = BTreeMap<String, Arc<Sketch>>;

/// The number of non-zeros that is expected of the operators of a DAG, where it can be told.
#[derive(Clone, Debug, Default)]
pub struct SparsityEstimates {
    non_zeros: SecondaryMap<HopId, Option<u64>>,
}

impl SparsityEstimates {
    /// Estimates for a DAG. A DAG without sparse matrices needs none.
    pub fn new(dag: &HopDag, inputs: &InputSketches) -> Self {
        let mut estimates = SparsityEstimates::default();
        if !dag.hops.values().any(|hop| is_sparse(hop) || is_drawn_sparse(dag, hop)) {
            return estimates;
        }
        let mut sketches = SecondaryMap::<HopId, Option<Sketch>>::new();
        for (id, hop) in dag.hops.iter().filter(|(_, hop)| hop.is_matrix()) {
            let Some((rows, cols)) = hop.size.known_dims() else { continue };
            let sketch = Propagation { dag, sketches: &sketches, inputs }
                .operator(hop)
                .filter(|sketch| sketch.rows().len() as u64 == rows && sketch.cols().len() as u64 == cols)
                .unwrap_or_else(|| of_size(&hop.size, rows, cols));
            if sketch.non_zeros() < sketch.cells() {
                estimates.non_zeros[id] = Some(sketch.non_zeros().ceil() as u64);
            }
            sketches[id] = Some(sketch);
        }
        estimates
    }

    /// The expected number of non-zeros of an operator's value.
    pub fn non_zeros(&self, id: HopId) -> Option<u64> {
        self.non_zeros[id]
    }
}

fn is_sparse(hop: &Hop) -> bool {
    hop.is_matrix() && hop.size.format().is_sparse()
}

/// Whether the operator draws random values for few of its cells. How many it will be is no bound, since chance decides.
fn is_drawn_sparse(dag: &HopDag, hop: &Hop) -> bool {
    drawn_share(dag, hop).is_some_and(|share| share < SPARSITY_TURN_POINT)
}

/// What the size alone tells.
fn of_size(size: &SizeInfo, rows: u64, cols: u64) -> Sketch {
    match size.nnz {
        Some(nnz) => Sketch::uniform(rows, cols, nnz as f64),
        None => Sketch::dense(rows, cols),
    }
}

/// The variables whose structure may matter: those below products of a sparse matrix that are matrices themselves.
pub fn inputs_worth_a_sketch(dag: &HopDag) -> BTreeSet<&str> {
    let mut below = EntitySet::<HopId>::new();
    let mut names = BTreeSet::new();
    for (id, hop) in dag.hops.iter().rev() {
        let is_sparse_product =
            hop.op == HopOp::MatMul && hop.size.is_matrix() && hop.inputs.iter().any(|&input| is_sparse(&dag[input]));
        if !is_sparse_product && !below.contains(id) {
            continue;
        }
        for &input in hop.inputs.iter().filter(|&&input| dag[input].is_matrix()) {
            below.insert(input);
        }
        if let HopOp::Read(name) = &hop.op {
            names.insert(name.as_str());
        }
    }
    names
}

struct Propagation<'a> {
    dag: &'a HopDag,
    sketches: &'a SecondaryMap<HopId, Option<Sketch>>,
    inputs: &'a InputSketches,
}

impl Propagation<'_> {
    fn input(&self, hop: &Hop, position: usize) -> Option<&Sketch> {
        hop.inputs.get(position).and_then(|&input| self.sketches[input].as_ref())
    }

    /// The sketch of an operator's value, where more than its size tells.
    fn operator(&self, hop: &Hop) -> Option<Sketch> {
        let first = || self.input(hop, 0);
        match &hop.op {
            HopOp::Read(name) => self.inputs.get(name).map(|sketch| (**sketch).clone()),
            HopOp::MatMul => {
                let (left, right) = (first()?, self.input(hop, 1)?);
                (left.cols().len() == right.rows().len()).then(|| left.product(right))
            }
            HopOp::Reorg(ReorgOp::Transpose) => first().map(Sketch::transpose),
            HopOp::Reorg(ReorgOp::Rev) => first().map(Sketch::reverse_rows),
            HopOp::Reorg(ReorgOp::Diag) => {
                let sketch = first()?;
                Some(if sketch.cols().len() == 1 { sketch.diagonal_matrix() } else { sketch.diagonal() })
            }
            HopOp::AggUnary(AggOp::Sum | AggOp::SumSq | AggOp::Nnz | AggOp::Mean, Direction::Row) => {
                first().map(Sketch::row_sums)
            }
            HopOp::AggUnary(AggOp::Sum | AggOp::SumSq | AggOp::Nnz | AggOp::Mean, Direction::Col) => {
                first().map(Sketch::column_sums)
            }
            HopOp::Nary(NaryOp::Cbind) => self.bound(hop, Sketch::bind_columns),
            HopOp::Nary(NaryOp::Rbind) => self.bound(hop, Sketch::bind_rows),
            HopOp::Index => self.range(hop),
            HopOp::DataGen(_) => self.drawn(hop),
            HopOp::Binary(op) => self.binary(hop, op.zero()),
            HopOp::Unary(_) | HopOp::Ternary(_) => self.only_matrix(hop).cloned(),
            _ => None,
        }
    }

    /// The sketch of the single matrix among the inputs of an element-wise operator that keeps its zeros.
    fn only_matrix(&self, hop: &Hop) -> Option<&Sketch> {
        let mut matrices = hop.inputs.iter().filter(|&&input| self.dag[input].is_matrix());
        let only = *matrices.next()?;
        if matrices.next().is_some() || !self.keeps_zeros(hop) { None } else { self.sketches[only].as_ref() }
    }

    /// Whether an element-wise operator is zero where the matrices among its inputs are, whatever scalars that are not in the
    /// text turn out to be.
    fn keeps_zeros(&self, hop: &Hop) -> bool {
        let known = |position: usize| {
            let input = hop.inputs[position];
            if self.dag[input].is_matrix() { Known::Cells(0.0) } else { Known::scalar(self.dag.literal_f64(input)) }
        };
        let value = match hop.op {
            HopOp::Unary(op) => op.eval_known(known(0)),
            HopOp::Binary(op) => op.eval_known(known(0), known(1), false),
            HopOp::Ternary(op) => op.eval_known(known(0), known(1), known(2), false),
            _ => Known::Nothing,
        };
        value.value() == Some(0.0)
    }

    fn bound(&self, hop: &Hop, bind: impl Fn(&Sketch, &Sketch) -> Sketch) -> Option<Sketch> {
        let mut parts = hop.inputs.iter().map(|&input| self.sketches[input].as_ref());
        let first = parts.next()??.clone();
        parts.try_fold(first, |so_far, part| Some(bind(&so_far, part?)))
    }

    fn drawn(&self, hop: &Hop) -> Option<Sketch> {
        let (rows, cols) = hop.size.known_dims()?;
        Some(Sketch::uniform(rows, cols, drawn_share(self.dag, hop)? * rows as f64 * cols as f64))
    }

    fn range(&self, hop: &Hop) -> Option<Sketch> {
        let source = self.input(hop, 0)?;
        let first = |position: usize| {
            let bound = self.dag.literal_f64(*hop.inputs.get(position)?)?;
            (bound >= 1.0).then_some(bound as usize - 1)
        };
        let (rows, cols) = hop.size.known_dims()?;
        let (first_row, first_col) = (first(1)?, first(3)?);
        let fits = first_row + rows as usize <= source.rows().len() && first_col + cols as usize <= source.cols().len();
        fits.then(|| source.range(first_row..first_row + rows as usize, first_col..first_col + cols as usize))
    }

    /// Of two matrices of the same dimensions, of a matrix and a vector that repeats, or of a matrix and a scalar.
    fn binary(&self, hop: &Hop, zero: BinaryZero) -> Option<Sketch> {
        let (left, right) = match hop.inputs[..] {
            [left, right] if self.dag[left].is_matrix() && self.dag[right].is_matrix() => (left, right),
            _ => return self.only_matrix(hop).cloned(),
        };
        let (one, other) = (self.sketches[left].as_ref()?, self.sketches[right].as_ref()?);
        let dims = |sketch: &Sketch| (sketch.rows().len(), sketch.cols().len());
        let (rows, cols) = dims(one);
        match (zero, dims(other)) {
            (BinaryZero::Annihilates, same) if same == (rows, cols) => Some(one.intersection(other)),
            (BinaryZero::Joint, same) if same == (rows, cols) => Some(one.union(other)),
            (BinaryZero::Annihilates, (others, 1)) if others == rows => Some(one.masked_by_column(other)),
            (BinaryZero::Annihilates, (1, others)) if others == cols => Some(one.masked_by_row(other)),
            (BinaryZero::LeftAnnihilates, _) => Some(one.clone()),
            _ => None,
        }
    }
}
