//! What an expression is where its driver is zero: the one analysis behind sparse-safe operators.
//!
//! Constants are propagated through the covered operators with the driver's cells (in Row operators: rows) set to
//! zero and everything else unknown. What operations give then is said by `ops` (`eval_known`), under the default meaning of
//! zeros or by strict IEEE.

use crate::hops::{is_elementwise, is_transpose, untransposed};
use fuseline_ir::hop::{HopDag, HopId, HopOp, ReorgOp};
use fuseline_ir::ops::Known;
use smallvec::{SmallVec, smallvec};

/// How deep to look for the matrix that an expression takes its zeros from.
const DEPTH: usize = 8;

/// What of the driver is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Zeros {
    /// Cell (i, j), where an expression over cells is evaluated.
    Cell,
    /// All of row i, where an expression over rows is evaluated.
    Row,
    /// Cell (i, j), where an expression over rows is evaluated: what combines the cells of a row is not known.
    CellOfRow,
}

/// Operators with a driver, or several that are zero together, of which cells or a row are zero.
pub(crate) struct Driven<'a> {
    pub(crate) dag: &'a HopDag,
    /// The covered operators, ascending.
    pub(crate) members: &'a [HopId],
    /// The inputs that are zero together.
    pub(crate) drivers: &'a [HopId],
    /// What of them is zero.
    pub(crate) zeros: Zeros,
    /// Whether a zero annihilates only what it annihilates by IEEE.
    pub(crate) strict: bool,
}

impl Driven<'_> {
    /// Whether the results of all these members, or what those that aggregate take in, are zero with the driver.
    ///
    /// Sums and counts ignore zeros; for extremes and products skeletons take one zero for all that they skip.
    pub(crate) fn makes_zero(&self, roots: &[HopId]) -> bool {
        let evaluation = self.evaluation(None);
        roots.iter().all(|&root| evaluation.value(root).value() == Some(0.0))
    }

    /// What is known of the members with the driver, by their place.
    pub(crate) fn values(&self) -> SmallVec<[Known; 16]> {
        self.evaluation(None).values
    }

    /// Whether the cells of all these members, or those that they aggregate, have one value each where the driver is zero,
    /// which may depend on scalars.
    pub(crate) fn makes_constant(&self, roots: &[HopId]) -> bool {
        let evaluation = self.evaluation(Some(f64::NAN));
        roots.iter().all(|&root| {
            let hop = &self.dag[root];
            let cells = if matches!(hop.op, HopOp::AggUnary(..)) { hop.inputs[0] } else { root };
            evaluation.value(cells).value().is_some()
        })
    }

    /// The members, where scalars that are no literals have this value: nothing is known of them, or that they are the same for
    /// all cells, which NaN stands for.
    fn evaluation(&self, scalar: Option<f64>) -> Evaluation<'_> {
        let mut evaluation = Evaluation { driven: self, scalar, values: smallvec![Known::Nothing; self.members.len()] };
        for (position, &member) in self.members.iter().enumerate() {
            evaluation.values[position] = evaluation.operator(member);
        }
        evaluation
    }
}

/// Whether an element-wise operation is zero in the cells in which this input is.
pub(crate) fn is_zero_with(dag: &HopDag, id: HopId, input: HopId, strict: bool) -> bool {
    is_zero_with_all(dag, id, &[input], strict)
}

/// Whether an element-wise operation is zero in the cells in which all of these inputs are.
pub(crate) fn is_zero_with_all(dag: &HopDag, id: HopId, inputs: &[HopId], strict: bool) -> bool {
    Driven { dag, members: &[id], drivers: inputs, zeros: Zeros::Cell, strict }.makes_zero(&[id])
}

/// Whether the expression takes zeros from a matrix of its size: `X != 0`, `X * y`, a matrix itself.
pub(crate) fn keeps_zeros(dag: &HopDag, id: HopId, strict: bool) -> bool {
    keeps_zeros_within(dag, id, strict, DEPTH)
}

fn keeps_zeros_within(dag: &HopDag, id: HopId, strict: bool, depth: usize) -> bool {
    if !is_elementwise(dag, id) {
        return true;
    }
    depth > 0
        && dag[id].inputs.iter().any(|&input| {
            dag[input].size.same_dims(&dag[id].size)
                && is_zero_with(dag, id, input, strict)
                && keeps_zeros_within(dag, input, strict, depth - 1)
        })
}

struct Evaluation<'a> {
    driven: &'a Driven<'a>,
    /// The value of scalars that are no literals.
    scalar: Option<f64>,
    /// By position among the members.
    values: SmallVec<[Known; 16]>,
}

/// Zero, where a value is known to be.
fn zero(known: Known) -> Known {
    Known::cells(known.value().filter(|&x| x == 0.0))
}

/// Zero, where two values are known to be.
fn both_zero(x: Known, y: Known) -> Known {
    if zero(x) == zero(y) { zero(x) } else { Known::Nothing }
}

/// What is known of a fold of several values.
fn folded(values: SmallVec<[Known; 3]>, fold: impl Fn(Known, Known) -> Known) -> Known {
    values.into_iter().reduce(fold).unwrap_or_default()
}

impl Evaluation<'_> {
    fn value(&self, id: HopId) -> Known {
        if self.driven.drivers.contains(&id) {
            return Known::Cells(0.0);
        }
        if let Ok(position) = self.driven.members.binary_search(&id) {
            return self.values[position];
        }
        let of_scalar = || self.scalar.filter(|_| self.driven.dag[id].is_scalar());
        Known::scalar(self.driven.dag.literal_f64(id).or_else(of_scalar))
    }

    /// The value of an operand that is read through a transpose: its columns are the rows of what it is the transpose of.
    fn left_value(&self, id: HopId) -> Known {
        match self.value(id) {
            Known::Nothing => untransposed(self.driven.dag, id).map_or(Known::Nothing, |input| self.value(input)),
            known => known,
        }
    }

    /// Whether what is cumulated is the transpose of a value, and not of what was cumulated along rows before.
    fn is_along_rows(&self, cumulated: HopId) -> bool {
        let dag = self.driven.dag;
        untransposed(dag, cumulated).is_some_and(|inner| !matches!(dag[inner].op, HopOp::Cumulative(_)))
    }

    fn operator(&self, id: HopId) -> Known {
        let hop = &self.driven.dag[id];
        let values: SmallVec<[Known; 3]> = hop.inputs.iter().map(|&input| self.value(input)).collect();
        match hop.op {
            HopOp::Unary(op) => op.eval_known(values[0]),
            HopOp::Binary(op) | HopOp::Outer(op) => op.eval_known(values[0], values[1], self.driven.strict),
            HopOp::Ternary(op) => op.eval_known(values[0], values[1], values[2], self.driven.strict),
            HopOp::Nary(op) => match op.fold() {
                Some(fold) => folded(values, |x, y| fold.eval_known(x, y, self.driven.strict)),
                None => folded(values, both_zero),
            },
            _ if self.driven.zeros == Zeros::CellOfRow => Known::Nothing,
            // A cumulative aggregate along rows stands between two transposes; other transposes have their zeros in other
            // cells than their operands, and are read through only where a product does. Down the columns there is what is
            // above a row of zeros.
            HopOp::Cumulative(_) if self.is_along_rows(hop.inputs[0]) => zero(self.left_value(hop.inputs[0])),
            HopOp::Reorg(ReorgOp::Transpose) if matches!(self.driven.dag[hop.inputs[0]].op, HopOp::Cumulative(_)) => {
                values[0]
            }
            // Columns of a row of zeros are zero, but cell (i, k) may not be where cell (i, j) is.
            HopOp::Index if self.driven.zeros == Zeros::Row => values[0],
            // Every aggregate of zeros is zero.
            HopOp::AggUnary(..) => zero(values[0]),
            HopOp::MatMul if !self.driven.strict => {
                let by_rows = is_transpose(self.driven.dag, hop.inputs[0]);
                match (zero(self.left_value(hop.inputs[0])), values[1]) {
                    (Known::Nothing, right) if by_rows => zero(right),
                    (left, _) => left,
                }
            }
            _ => Known::Nothing,
        }
    }
}
