//! Random operators, added to an expression where the facts of their operands allow them.

use crate::expression::{Binary, Expression, Input, Node, Op, Unary};
use crate::facts::Facts;
use crate::world::{World, one_of};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

/// An expression while it grows. What methods add is given by its position.
pub(crate) struct Builder<'a> {
    pub(crate) world: &'a World,
    pub(crate) random: &'a mut Pcg64Mcg,
    pub(crate) expression: Expression,
    /// Facts of all nodes.
    pub(crate) facts: Vec<Facts>,
}

impl<'a> Builder<'a> {
    /// An empty expression.
    pub(crate) fn new(world: &'a World, random: &'a mut Pcg64Mcg) -> Self {
        Builder { world, random, expression: Expression::default(), facts: Vec::new() }
    }

    /// The operator of these operands, or its first operand where it is not allowed.
    pub(crate) fn add(&mut self, op: Op, operands: &[usize]) -> usize {
        let facts: Vec<Facts> = operands.iter().map(|&operand| self.facts[operand]).collect();
        let Some(facts) = Facts::of(op, &facts) else { return operands[0] };
        let position = self.expression.position_of(Node { op, operands: operands.to_vec() });
        if position == self.facts.len() {
            self.facts.push(facts);
        }
        position
    }

    pub(crate) fn input(&mut self, name: &'static str) -> usize {
        let World { rows, cols, narrow, densities } = *self.world;
        let positive = Input { name, rows, cols, density: 1.0, low: 0.1, high: 1.0 };
        let signed = Input { low: -1.0, ..positive };
        let input = match name {
            "X" => Input { density: densities[0], ..positive },
            "Y" => Input { density: densities[1], ..signed },
            "Z" => Input { density: densities[2], ..positive },
            "u" => Input { cols: 1, ..positive },
            "w" => Input { cols: 1, ..signed },
            "v" => Input { rows: cols, cols: 1, ..signed },
            "r" => Input { rows: 1, ..positive },
            "U" => Input { cols: narrow, ..positive },
            _ => Input { rows: cols, cols: narrow, ..positive },
        };
        self.add(Op::Input(input), &[])
    }

    pub(crate) fn number(&mut self, number: f64) -> usize {
        self.add(Op::Number(number), &[])
    }

    pub(crate) fn binary(&mut self, binary: Binary, left: usize, right: usize) -> usize {
        self.add(Op::Binary(binary), &[left, right])
    }

    pub(crate) fn product(&mut self, left: usize, right: usize) -> usize {
        self.add(Op::Product, &[left, right])
    }

    pub(crate) fn transposed(&mut self, operand: usize) -> usize {
        let Node { op, operands } = &self.expression.nodes[operand];
        if *op == Op::Transpose { operands[0] } else { self.add(Op::Transpose, &[operand]) }
    }

    pub(crate) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        *one_of(choices, self.random)
    }

    /// A function of each cell, or an operation with a number.
    pub(crate) fn of_each_cell(&mut self, operand: usize) -> usize {
        if self.random.random_bool(0.4) {
            let functions =
                [Unary::Abs, Unary::Exp, Unary::Log, Unary::Round, Unary::Sigmoid, Unary::Sign, Unary::Sqrt];
            let function = self.one_of(&functions);
            // Logarithms of what may be zero are those of one more.
            let operand = match function {
                Unary::Log if self.facts[operand].low == 0.0 => {
                    let one = self.number(1.0);
                    self.binary(Binary::Plus, operand, one)
                }
                _ => operand,
            };
            return self.add(Op::Unary(function), &[operand]);
        }
        let operations = [
            (Binary::Mult, 2.0),
            (Binary::Mult, 0.5),
            (Binary::Power, 2.0),
            (Binary::Power, 2.0),
            (Binary::NotEqual, 0.0),
            (Binary::Plus, 1.0),
            (Binary::Div, 3.0),
            (Binary::Max, 0.0),
            (Binary::Min, 0.5),
            (Binary::Greater, 0.5),
            (Binary::LessEqual, 0.5),
        ];
        let (operation, number) = self.one_of(&operations);
        let number = self.number(number);
        if operation == Binary::Plus && self.random.random_bool(0.5) {
            return self.binary(Binary::Minus, number, operand);
        }
        self.binary(operation, operand, number)
    }

    /// An operation of two values of equal shape; of one value and itself only the product.
    pub(crate) fn of_both(&mut self, left: usize, right: usize) -> usize {
        let operations = [
            Binary::Mult,
            Binary::Mult,
            Binary::Mult,
            Binary::Plus,
            Binary::Plus,
            Binary::Minus,
            Binary::Div,
            Binary::Min,
            Binary::Max,
        ];
        let operation = if left == right { Binary::Mult } else { self.one_of(&operations) };
        self.binary(operation, left, right)
    }
}
