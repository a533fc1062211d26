//! Random expressions from seeds: equal ones on every machine.
//!
//! A *world* fixes the sizes: matrices of m x n cells, columns of m and of n cells, and narrow matrices beside them. Values
//! of each kind are drawn from values of the others. Where the facts of an operator forbid it, one of its operands stands
//! in its place, so that everything drawn is valid.

use crate::builder::Builder;
use crate::expression::{Aggregate, Binary, Direction, Expression, Op};
use crate::facts::Shape;
use crate::world::World;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

/// Operators from which on only inputs are drawn.
const MANY_OPERATORS: usize = 12;
/// Columns up to which the product of a matrix with its transpose is drawn.
const MOST_COLS_OF_SQUARE: usize = 100;

/// An expression of one to three results that reads one of the world's large matrices at least.
pub(crate) fn draw(world: &World, random: &mut Pcg64Mcg) -> Expression {
    loop {
        let mut builder = Builder::new(world, random);
        for _ in 0..builder.one_of(&[1, 1, 1, 2, 2, 3]) {
            let result = builder.result();
            if builder.expression.is_operator(result) {
                builder.expression.results.push(result);
            }
        }
        let expression = builder.expression.without_dead_nodes();
        if expression.inputs().any(|input| (input.rows, input.cols) == (world.rows, world.cols)) {
            return expression;
        }
    }
}

/// The extent of a column or of a narrow matrix: that of the columns of the world's matrices, or that of their rows.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Rows,
    Cols,
}

impl Side {
    fn other(self) -> Side {
        if self == Side::Rows { Side::Cols } else { Side::Rows }
    }
}

/// `depth` bounds the operators between a value and inputs.
impl Builder<'_> {
    fn is_finished(&self, depth: usize) -> bool {
        depth == 0 || self.expression.operators() >= MANY_OPERATORS
    }

    /// A matrix of m x n cells.
    fn matrix(&mut self, depth: usize) -> usize {
        let shape = Shape::Matrix { rows: self.world.rows, cols: self.world.cols };
        let is_known =
            |position: &usize| self.facts[*position].shape == shape && self.expression.is_operator(*position);
        let known: Vec<usize> = (0..self.facts.len()).filter(is_known).collect();
        if !known.is_empty() && self.random.random_bool(0.4) {
            return self.one_of(&known);
        }
        if self.is_finished(depth) {
            let name = self.one_of(&["X", "X", "X", "Y", "Z"]);
            return self.input(name);
        }
        let operand = self.matrix(depth - 1);
        let scaling = self.one_of(&[Binary::Mult, Binary::Mult, Binary::Div]);
        match self.random.random_range(0..14) {
            0..3 => {
                let column = self.column(Side::Rows, depth - 1);
                self.binary(scaling, operand, column)
            }
            3..6 => {
                let row = self.row(depth - 1);
                self.binary(scaling, operand, row)
            }
            6..9 => self.of_each_cell(operand),
            9..12 => {
                let other = self.matrix(depth - 1);
                self.of_both(operand, other)
            }
            _ => {
                let low_rank = self.low_rank();
                self.of_both(operand, low_rank)
            }
        }
    }

    /// A product of two narrow matrices with m x n cells, perhaps a function of it.
    fn low_rank(&mut self) -> usize {
        let (left, right) = (self.input("U"), self.input("V"));
        let right = self.transposed(right);
        let product = self.product(left, right);
        if self.random.random_bool(0.5) { self.of_each_cell(product) } else { product }
    }

    /// A row of n cells.
    fn row(&mut self, depth: usize) -> usize {
        if self.is_finished(depth) || self.random.random_bool(0.6) {
            return self.input("r");
        }
        let column = self.column(Side::Cols, depth - 1);
        self.transposed(column)
    }

    /// A column of m or n cells.
    fn column(&mut self, side: Side, depth: usize) -> usize {
        if self.is_finished(depth) || self.random.random_bool(0.2) {
            let names: &[_] = if side == Side::Rows { &["u", "u", "w"] } else { &["v"] };
            let name = self.one_of(names);
            return self.input(name);
        }
        match self.random.random_range(0..8) {
            0..2 => self.aggregated(side, depth - 1),
            2..5 => {
                let factor = self.column(side.other(), depth - 1);
                self.product_with(side, factor, depth - 1)
            }
            5..6 => {
                let operand = self.column(side, depth - 1);
                self.of_each_cell(operand)
            }
            _ => {
                let (left, right) = (self.column(side, depth - 1), self.column(side, depth - 1));
                self.of_both(left, right)
            }
        }
    }

    /// The rows or columns of a matrix, taken together, as a column.
    fn aggregated(&mut self, side: Side, depth: usize) -> usize {
        let operand = self.matrix(depth);
        let aggregate = self.one_of(&[Aggregate::Sum, Aggregate::Sum, Aggregate::Mean, Aggregate::Min, Aggregate::Max]);
        let direction = if side == Side::Rows { Direction::Row } else { Direction::Col };
        let aggregated = self.add(Op::Aggregate(aggregate, direction), &[operand]);
        if side == Side::Rows { aggregated } else { self.transposed(aggregated) }
    }

    /// The product of a matrix, transposed where its columns are wanted, with what has a row for each of its columns.
    fn product_with(&mut self, side: Side, factor: usize, depth: usize) -> usize {
        let operand = self.matrix(depth);
        let left = if side == Side::Rows { operand } else { self.transposed(operand) };
        self.product(left, factor)
    }

    /// A narrow matrix of m or n rows.
    fn narrow(&mut self, side: Side, depth: usize) -> usize {
        if self.is_finished(depth) || self.random.random_bool(0.2) {
            return self.input(if side == Side::Rows { "U" } else { "V" });
        }
        match self.random.random_range(0..6) {
            0..4 => {
                let factor = self.narrow(side.other(), depth - 1);
                self.product_with(side, factor, depth - 1)
            }
            4 => {
                let (operand, column) = (self.narrow(side, depth - 1), self.column(side, depth - 1));
                self.binary(Binary::Mult, operand, column)
            }
            _ => {
                let operand = self.narrow(side, depth - 1);
                self.of_each_cell(operand)
            }
        }
    }

    /// What an expression ends with.
    fn result(&mut self) -> usize {
        let depth = self.one_of(&[2, 3, 3, 4]);
        let side = self.one_of(&[Side::Rows, Side::Rows, Side::Cols]);
        match self.random.random_range(0..14) {
            0..3 => {
                let operand = self.matrix(depth);
                let aggregate = self.one_of(&[Aggregate::Sum, Aggregate::Sum, Aggregate::Mean, Aggregate::Max]);
                self.add(Op::Aggregate(aggregate, Direction::Full), &[operand])
            }
            3..5 => self.aggregated(side, depth),
            5..8 => {
                let factor = self.column(side.other(), depth - 2);
                self.product_with(side, factor, depth)
            }
            8..10 => self.column(side, depth),
            10 => {
                let operand = self.column(side, depth);
                self.add(Op::Aggregate(Aggregate::Sum, Direction::Full), &[operand])
            }
            11..13 => self.narrow(side, depth),
            _ => self.square(side, depth),
        }
    }

    /// A product that takes all rows together: of two matrices of few columns, or of narrow ones.
    fn square(&mut self, side: Side, depth: usize) -> usize {
        let [left, right] = if self.world.cols <= MOST_COLS_OF_SQUARE {
            [self.matrix(depth), self.matrix(depth - 1)]
        } else {
            [self.narrow(side, depth), self.narrow(side, depth - 1)]
        };
        let left = self.transposed(left);
        self.product(left, right)
    }
}
