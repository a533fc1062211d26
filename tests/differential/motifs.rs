//! Motifs: the expressions of the paper that fused operators are about, over the leaves of a random case.

use crate::case::Stratum;
use crate::generate::Generator;
use fuseline_ir::ops::{AggOp, BinaryOp, Direction, UnaryOp};

impl Generator {
    /// Appends a random motif, as far as its shapes fit.
    pub(crate) fn motif(&mut self) -> Option<usize> {
        match rand::RngExt::random_range(&mut self.random, 0..12) {
            0 => self.cell_sum(),
            1 => self.multi_aggregate(),
            2 => self.matrix_vector_chain(false),
            3 => self.matrix_vector_chain(true),
            4 => self.multinomial_gradient(),
            5 => self.row_normalized(),
            6 => self.weighted_outer_product(),
            7 => self.outer_product_sum(),
            8 => self.outer_product_update(false),
            9 => self.outer_product_update(true),
            10 => self.hinge_loss(),
            _ => self.cell_chain(),
        }
    }

    /// sum(X * Y * Z).
    fn cell_sum(&mut self) -> Option<usize> {
        let product = self.binary(BinaryOp::Mult, self.leaves.x, self.leaves.y)?;
        let product = self.binary(BinaryOp::Mult, product, self.leaves.z)?;
        self.aggregate(AggOp::Sum, Direction::Full, product)
    }

    /// sum(X ^ 2), sum(X * Y), sum(Y ^ 2).
    fn multi_aggregate(&mut self) -> Option<usize> {
        let (x, y) = (self.leaves.x, self.leaves.y);
        let squares = self.unary(UnaryOp::Pow2, x)?;
        let first = self.aggregate(AggOp::Sum, Direction::Full, squares)?;
        let product = self.binary(BinaryOp::Mult, x, y)?;
        let second = self.aggregate(AggOp::Sum, Direction::Full, product)?;
        let squares = self.unary(UnaryOp::Pow2, y)?;
        let third = self.aggregate(AggOp::Sum, Direction::Full, squares)?;
        let sum = self.binary(BinaryOp::Plus, first, second)?;
        self.binary(BinaryOp::Minus, sum, third)
    }

    /// t(X) %*% (X %*% v), or t(X) %*% (w * (X %*% v)).
    fn matrix_vector_chain(&mut self, is_weighted: bool) -> Option<usize> {
        let mut product = self.product(self.leaves.x, self.leaves.v)?;
        if is_weighted {
            product = self.binary(BinaryOp::Mult, self.leaves.w, product)?;
        }
        let transposed = self.transpose(self.leaves.x)?;
        self.product(transposed, product)
    }

    /// Q = P * (X %*% B); t(X) %*% (Q - P * rowSums(Q)).
    fn multinomial_gradient(&mut self) -> Option<usize> {
        let (x, p) = (self.leaves.x, self.leaves.p);
        let product = self.product(x, self.leaves.b)?;
        let q = self.binary(BinaryOp::Mult, p, product)?;
        let sums = self.aggregate(AggOp::Sum, Direction::Row, q)?;
        let scaled = self.binary(BinaryOp::Mult, p, sums)?;
        let difference = self.binary(BinaryOp::Minus, q, scaled)?;
        let transposed = self.transpose(x)?;
        self.product(transposed, difference)
    }

    /// X / rowSums(X), with a difference in place of the quotient where integers must stay.
    fn row_normalized(&mut self) -> Option<usize> {
        let sums = self.aggregate(AggOp::Sum, Direction::Row, self.leaves.x)?;
        let is_exact = self.stratum() == Stratum::IntegerExact;
        self.binary(if is_exact { BinaryOp::Minus } else { BinaryOp::Div }, self.leaves.x, sums)
    }

    /// U %*% t(V).
    fn outer_product(&mut self) -> Option<usize> {
        let transposed = self.transpose(self.leaves.right_factor)?;
        self.product(self.leaves.left_factor, transposed)
    }

    /// (X != 0) * f(U %*% t(V)), or X * f(U %*% t(V)).
    fn weighted_outer_product(&mut self) -> Option<usize> {
        let mut inner = self.outer_product()?;
        if rand::RngExt::random_bool(&mut self.random, 0.4) {
            let op = self.any_unary();
            inner = self.unary(op, inner)?;
        }
        if rand::RngExt::random_bool(&mut self.random, 0.4) {
            inner = self.binary(BinaryOp::Minus, inner, self.leaves.y)?;
        }
        let driver = match rand::RngExt::random_bool(&mut self.random, 0.5) {
            true => self.binary(BinaryOp::NotEqual, self.leaves.x, self.leaves.zero)?,
            false => self.leaves.x,
        };
        self.binary(BinaryOp::Mult, driver, inner)
    }

    /// sum((X != 0) * f(U %*% t(V))).
    fn outer_product_sum(&mut self) -> Option<usize> {
        let weighted = self.weighted_outer_product()?;
        self.aggregate(AggOp::Sum, Direction::Full, weighted)
    }

    /// ((X != 0) * f(U %*% t(V))) %*% V, or its transpose times U.
    fn outer_product_update(&mut self, is_left: bool) -> Option<usize> {
        let weighted = self.weighted_outer_product()?;
        if is_left {
            let transposed = self.transpose(weighted)?;
            self.product(transposed, self.leaves.left_factor)
        } else {
            self.product(weighted, self.leaves.right_factor)
        }
    }

    /// out = 1 - w * (X %*% v + s * w); out = out * (out > 0); g = sum(out * w).
    fn hinge_loss(&mut self) -> Option<usize> {
        let w = self.leaves.w;
        let product = self.product(self.leaves.x, self.leaves.v)?;
        let step = self.binary(BinaryOp::Mult, self.leaves.scalar, w)?;
        let sum = self.binary(BinaryOp::Plus, product, step)?;
        let scaled = self.binary(BinaryOp::Mult, w, sum)?;
        let out = self.binary(BinaryOp::Minus, self.leaves.one, scaled)?;
        let positive = self.binary(BinaryOp::Greater, out, self.leaves.zero)?;
        let out = self.binary(BinaryOp::Mult, out, positive)?;
        let gradient = self.binary(BinaryOp::Mult, out, w)?;
        self.aggregate(AggOp::Sum, Direction::Full, gradient)
    }

    /// A chain of random element-wise operators over X and Y.
    fn cell_chain(&mut self) -> Option<usize> {
        let op = self.any_binary();
        let mut value = self.binary(op, self.leaves.x, self.leaves.y)?;
        for _ in 0..3 {
            let op = self.any_unary();
            value = self.unary(op, value)?;
            let op = self.any_binary();
            value = self.binary(op, value, self.leaves.z)?;
        }
        Some(value)
    }
}
