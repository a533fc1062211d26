//! The order of a chain of matrix products and scalings, by dynamic programming over its intervals with estimates of
//! sparsity.

use super::super::cost::{Shape, Weights, operator_cost};
use fuseline_ir::SizeInfo;
use fuseline_ir::hop::{HopOp, ReorgOp};
use fuseline_ir::ops::{BinaryOp, math};
use fuseline_ir::types::DataType;

/// Where every interval of a chain is split: `split[first][last]`, the last factor of the left part.
#[derive(Debug)]
pub(super) struct Order {
    split: Vec<Vec<usize>>,
    /// The cost of the whole chain.
    #[cfg(test)]
    pub(super) cost: u128,
}

impl Order {
    /// The last factor of the left part of `first..=last`, an interval of several factors.
    pub(super) fn split(&self, first: usize, last: usize) -> usize {
        self.split[first][last]
    }
}

/// What a factor of a chain, or the product of several, spans.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Extent {
    /// A matrix of this size.
    Matrix(SizeInfo),
    /// A diagonal matrix, kept as the column or row of its diagonal, which multiplies or divides.
    Diagonal { vector: SizeInfo, op: BinaryOp },
}

/// What the product of two diagonals does, given whether each multiplies or divides.
pub(super) fn joint_op(one: BinaryOp, other: BinaryOp) -> BinaryOp {
    if one == other { one } else { BinaryOp::Mult }
}

/// What makes one diagonal of two, given whether each multiplies or divides.
pub(super) fn joining_op(one: BinaryOp, other: BinaryOp) -> BinaryOp {
    if one == other { BinaryOp::Mult } else { BinaryOp::Div }
}

/// The expected size of the product of two intervals.
fn product_extent(left: Extent, right: Extent) -> Extent {
    use Extent::{Diagonal, Matrix};
    match (left, right) {
        (Matrix(left), Matrix(right)) => Matrix(product_size(left, right)),
        (Matrix(size), Diagonal { .. }) | (Diagonal { .. }, Matrix(size)) => Matrix(size),
        (Diagonal { vector, op }, Diagonal { op: other, .. }) => Diagonal { vector, op: joint_op(op, other) },
    }
}

/// The expected non-zeros of a product of matrices whose non-zeros are spread evenly and independently.
fn product_size(left: SizeInfo, right: SizeInfo) -> SizeInfo {
    let mut size = SizeInfo { rows: left.rows, cols: right.cols, nnz: None };
    let sparsity = left.sparsity() * right.sparsity();
    if sparsity < 1.0 {
        let inner = left.cols.unwrap_or(1) as f64;
        let share = -math::expm1(inner * math::log1p(-sparsity));
        size.nnz = size.cells().map(|cells| (share * cells as f64).ceil() as u64);
    }
    size
}

/// The expected extents of the products of all intervals, from the left: an estimate must not depend on the order of
/// multiplication, or the best order of an interval would not be part of the best order of the whole.
fn interval_extents(factors: &[Extent]) -> Vec<Vec<Extent>> {
    let row = |first: usize| -> Vec<Extent> {
        let mut extents = vec![Extent::Matrix(SizeInfo::UNKNOWN); first];
        for &factor in &factors[first..] {
            let left = extents.last().filter(|_| extents.len() > first);
            extents.push(left.map_or(factor, |&left| product_extent(left, factor)));
        }
        extents
    };
    (0..factors.len()).map(row).collect()
}

/// The cost of multiplying two intervals.
fn step_cost(left: Extent, right: Extent, output: Extent) -> u128 {
    use Extent::{Diagonal, Matrix};
    let output = match output {
        Matrix(size) | Diagonal { vector: size, .. } => size,
    };
    match (left, right) {
        (Matrix(left), Matrix(right)) => cost(&HopOp::MatMul, &[left, right], output),
        (Matrix(matrix), Diagonal { vector, op }) => scaling_cost(matrix, vector, op, is_row, output),
        (Diagonal { vector, op }, Matrix(matrix)) => scaling_cost(matrix, vector, op, is_column, output),
        (Diagonal { vector, op }, Diagonal { vector: other, op: other_op }) => {
            let is_turned: fn(SizeInfo) -> bool = if is_column(vector) { is_column } else { is_row };
            scaling_cost(vector, other, joining_op(op, other_op), is_turned, output)
        }
    }
}

/// The cost of scaling by a vector, transposed if it is not turned as it should be.
fn scaling_cost(
    matrix: SizeInfo,
    vector: SizeInfo,
    op: BinaryOp,
    is_turned: impl Fn(SizeInfo) -> bool,
    output: SizeInfo,
) -> u128 {
    let turned = SizeInfo { rows: vector.cols, cols: vector.rows, ..vector };
    let scaled = cost(&op.into(), &[matrix, vector], output);
    if is_turned(vector) { scaled } else { scaled + cost(&HopOp::Reorg(ReorgOp::Transpose), &[vector], turned) }
}

fn is_column(vector: SizeInfo) -> bool {
    vector.cols == Some(1)
}

fn is_row(vector: SizeInfo) -> bool {
    vector.rows == Some(1)
}

fn cost(op: &HopOp, inputs: &[SizeInfo], output: SizeInfo) -> u128 {
    let shape = |size: SizeInfo| -> Shape { (DataType::MATRIX, size) };
    let inputs: Vec<Shape> = inputs.iter().map(|&size| shape(size)).collect();
    operator_cost(op, &inputs, shape(output)).weighted(Weights::Balanced)
}

/// The cheapest order of a chain of at least two factors of known dimensions.
pub(super) fn cheapest_order(factors: &[Extent]) -> Order {
    let count = factors.len();
    let extents = interval_extents(factors);
    let mut cost = vec![vec![0_u128; count]; count];
    let mut split = vec![vec![0; count]; count];
    for length in 2..=count {
        for first in 0..=count - length {
            let last = first + length - 1;
            let of_split = |middle: usize| {
                let step = step_cost(extents[first][middle], extents[middle + 1][last], extents[first][last]);
                cost[first][middle] + cost[middle + 1][last] + step
            };
            let (least, middle) = (first..last).map(|middle| (of_split(middle), middle)).min().expect("a split");
            cost[first][last] = least;
            split[first][last] = middle;
        }
    }
    Order {
        split,
        #[cfg(test)]
        cost: cost[0][count - 1],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    /// The least cost over all parenthesisations, by trying them.
    fn brute_force(extents: &[Vec<Extent>], first: usize, last: usize) -> u128 {
        let of_split = |middle: usize| {
            let parts = brute_force(extents, first, middle) + brute_force(extents, middle + 1, last);
            parts + step_cost(extents[first][middle], extents[middle + 1][last], extents[first][last])
        };
        (first..last).map(of_split).min().unwrap_or(0)
    }

    /// Matrices, now and then with a diagonal matrix between them.
    fn random_chain(random: &mut Random) -> Vec<Extent> {
        let count = 2 + random.below(6);
        let dims: Vec<u64> = (0..=count).map(|_| random.pick(&[1, 2, 10, 50, 1000])).collect();
        let size = |(rows, cols): (u64, u64), random: &mut Random| {
            let nnz = random.pick(&[None, Some(100), Some(10), Some(1)]).map(|percent| rows * cols * percent / 100);
            SizeInfo { rows: Some(rows), cols: Some(cols), nnz }
        };
        let mut chain = Vec::new();
        for pair in dims.windows(2) {
            while random.below(3) == 0 {
                let vector = random.pick(&[SizeInfo::dims(pair[0], 1), SizeInfo::dims(1, pair[0])]);
                chain.push(Extent::Diagonal { vector, op: random.pick(&[BinaryOp::Mult, BinaryOp::Div]) });
            }
            chain.push(Extent::Matrix(size((pair[0], pair[1]), random)));
        }
        chain
    }

    #[test]
    fn orders_are_those_of_exhaustive_search() {
        let mut random = Random(3);
        for _ in 0..500 {
            let factors = random_chain(&mut random);
            let extents = interval_extents(&factors);
            let expected = brute_force(&extents, 0, factors.len() - 1);
            assert_eq!(cheapest_order(&factors).cost, expected, "{factors:?}");
        }
    }

    /// Terms of two sparse matrices are few, but dear.
    #[test]
    fn a_sparse_matrix_meets_a_narrow_one_before_its_transpose() {
        let sparse = |rows, cols| Extent::Matrix(SizeInfo { rows: Some(rows), cols: Some(cols), nnz: Some(1_000_000) });
        let narrow = Extent::Matrix(SizeInfo::dims(1000, 16));
        let order = cheapest_order(&[sparse(1000, 100_000), sparse(100_000, 1000), narrow]);
        assert_eq!(order.split(0, 2), 0);
    }

    #[test]
    fn a_vector_at_the_end_is_multiplied_first() {
        let factors =
            [(1000, 500), (500, 800), (800, 1)].map(|(rows, cols)| Extent::Matrix(SizeInfo::dims(rows, cols)));
        let order = cheapest_order(&factors);
        assert_eq!(order.split(0, 2), 0);
        assert_eq!(order.split(1, 2), 1);
    }

    /// Dimensions alone are indifferent; the sparse pair is cheap, and its product sparse.
    #[test]
    fn sparsity_decides_where_dimensions_do_not() {
        let [sparse, dense] =
            [Some(1000), None].map(|nnz| Extent::Matrix(SizeInfo { nnz, ..SizeInfo::dims(1000, 1000) }));
        assert_eq!(cheapest_order(&[sparse, sparse, dense]).split(0, 2), 1);
        assert_eq!(cheapest_order(&[dense, sparse, sparse]).split(0, 2), 0);
        let ultra_sparse = Extent::Matrix(SizeInfo::with_nnz(1000, 1000, 10));
        assert_eq!(cheapest_order(&[dense, dense, ultra_sparse]).split(0, 2), 0);
    }

    #[test]
    fn expected_non_zeros_are_those_of_independent_cells() {
        let (left, right) = (SizeInfo::with_nnz(100, 100, 1000), SizeInfo::with_nnz(100, 100, 1000));
        // 1 - (1 - 0.01)^100 = 0.634 of the cells.
        assert_eq!(product_size(left, right).nnz, Some(6340));
        assert_eq!(product_size(SizeInfo::dims(3, 4), SizeInfo::dims(4, 5)), SizeInfo::dims(3, 5));
        assert_eq!(product_size(SizeInfo::with_nnz(9, 9, 0), right).nnz, Some(0));
    }
}
