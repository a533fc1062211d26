//! The order of a chain of matrix products, by dynamic programming over its intervals with estimates of sparsity.

use super::super::cost::{Shape, Weights, operator_cost};
use fuseline_ir::SizeInfo;
use fuseline_ir::hop::HopOp;
use fuseline_ir::ops::math;
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

/// The expected sizes of the products of all intervals, from the left: an estimate must not depend on the order of
/// multiplication, or the best order of an interval would not be part of the best order of the whole.
fn interval_sizes(factors: &[SizeInfo]) -> Vec<Vec<SizeInfo>> {
    let row = |first: usize| -> Vec<SizeInfo> {
        let mut sizes = vec![SizeInfo::UNKNOWN; first];
        for &factor in &factors[first..] {
            let size = sizes.last().filter(|_| sizes.len() > first).map_or(factor, |&left| product_size(left, factor));
            sizes.push(size);
        }
        sizes
    };
    (0..factors.len()).map(row).collect()
}

/// The cost of multiplying two intervals.
fn step_cost(left: SizeInfo, right: SizeInfo, output: SizeInfo) -> u128 {
    let shape = |size: SizeInfo| -> Shape { (DataType::MATRIX, size) };
    operator_cost(&HopOp::MatMul, &[shape(left), shape(right)], shape(output)).weighted(Weights::Balanced)
}

/// The cheapest order of a chain of at least two factors of known dimensions.
pub(super) fn cheapest_order(factors: &[SizeInfo]) -> Order {
    let count = factors.len();
    let sizes = interval_sizes(factors);
    let mut cost = vec![vec![0_u128; count]; count];
    let mut split = vec![vec![0; count]; count];
    for length in 2..=count {
        for first in 0..=count - length {
            let last = first + length - 1;
            let of_split = |middle: usize| {
                let step = step_cost(sizes[first][middle], sizes[middle + 1][last], sizes[first][last]);
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
    fn brute_force(sizes: &[Vec<SizeInfo>], first: usize, last: usize) -> u128 {
        let of_split = |middle: usize| {
            let parts = brute_force(sizes, first, middle) + brute_force(sizes, middle + 1, last);
            parts + step_cost(sizes[first][middle], sizes[middle + 1][last], sizes[first][last])
        };
        (first..last).map(of_split).min().unwrap_or(0)
    }

    fn random_chain(random: &mut Random) -> Vec<SizeInfo> {
        let count = 2 + random.below(6);
        let dims: Vec<u64> = (0..=count).map(|_| random.pick(&[1, 2, 10, 50, 1000])).collect();
        let size = |(rows, cols): (u64, u64), random: &mut Random| {
            let nnz = random.pick(&[None, Some(100), Some(10), Some(1)]).map(|percent| rows * cols * percent / 100);
            SizeInfo { rows: Some(rows), cols: Some(cols), nnz }
        };
        dims.windows(2).map(|pair| size((pair[0], pair[1]), random)).collect()
    }

    #[test]
    fn orders_are_those_of_exhaustive_search() {
        let mut random = Random(3);
        for _ in 0..500 {
            let factors = random_chain(&mut random);
            let sizes = interval_sizes(&factors);
            let expected = brute_force(&sizes, 0, factors.len() - 1);
            assert_eq!(cheapest_order(&factors).cost, expected, "{factors:?}");
        }
    }

    #[test]
    fn a_vector_at_the_end_is_multiplied_first() {
        let factors = [SizeInfo::dims(1000, 500), SizeInfo::dims(500, 800), SizeInfo::dims(800, 1)];
        let order = cheapest_order(&factors);
        assert_eq!(order.split(0, 2), 0);
        assert_eq!(order.split(1, 2), 1);
    }

    /// Dimensions alone are indifferent; the sparse pair is cheap, and its product sparse.
    #[test]
    fn sparsity_decides_where_dimensions_do_not() {
        let (sparse, dense) = (SizeInfo::with_nnz(1000, 1000, 1000), SizeInfo::dims(1000, 1000));
        assert_eq!(cheapest_order(&[sparse, sparse, dense]).split(0, 2), 1);
        assert_eq!(cheapest_order(&[dense, sparse, sparse]).split(0, 2), 0);
        let ultra_sparse = SizeInfo::with_nnz(1000, 1000, 10);
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
