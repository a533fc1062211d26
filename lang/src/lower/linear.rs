//! Index expressions as polynomials of variables, to compare what different iterations of a loop touch.

use crate::ast::{Expression, ExpressionKind, Infix, Prefix};
use fuseline_ir::ops::BinaryOp;
use std::collections::BTreeMap;

/// A sum of products of variables: coefficients by the sorted names in a product, none for the constant.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Polynomial(BTreeMap<Vec<String>, f64>);

/// Products of more variables say nothing useful.
const MAX_DEGREE: usize = 4;

/// Nor do sums of more products, of which small scripts can make very many.
const MAX_TERMS: usize = 256;

impl Polynomial {
    pub(super) fn constant(value: f64) -> Self {
        let mut result = Polynomial::default();
        result.add_term(Vec::new(), value);
        result
    }

    pub(super) fn variable(name: &str) -> Self {
        Polynomial(BTreeMap::from([(vec![name.to_owned()], 1.0)]))
    }

    fn add_term(&mut self, product: Vec<String>, coefficient: f64) {
        let sum = self.0.get(&product).unwrap_or(&0.0) + coefficient;
        if sum == 0.0 {
            self.0.remove(&product);
        } else {
            self.0.insert(product, sum);
        }
    }

    pub(super) fn plus(mut self, other: &Polynomial, factor: f64) -> Self {
        for (product, coefficient) in &other.0 {
            self.add_term(product.clone(), factor * coefficient);
        }
        self
    }

    pub(super) fn times(&self, other: &Polynomial) -> Option<Self> {
        if self.0.len() * other.0.len() > MAX_TERMS {
            return None;
        }
        let mut result = Polynomial::default();
        for (left, x) in &self.0 {
            for (right, y) in &other.0 {
                let mut product = [left.as_slice(), right].concat();
                if product.len() > MAX_DEGREE {
                    return None;
                }
                product.sort();
                result.add_term(product, x * y);
            }
        }
        Some(result)
    }

    /// The value, when no variable is left.
    pub(super) fn as_constant(&self) -> Option<f64> {
        match self.0.len() {
            0 => Some(0.0),
            1 => self.0.get(&Vec::new()).copied(),
            _ => None,
        }
    }

    /// Whether whole numbers in place of the variables give whole numbers.
    pub(super) fn is_integral(&self) -> bool {
        self.0.values().all(|coefficient| coefficient.fract() == 0.0)
    }

    /// What the variable is multiplied with, when the polynomial is linear in it.
    pub(super) fn coefficient_of(&self, variable: &str) -> Option<Self> {
        let mut coefficient = Polynomial::default();
        for (product, value) in &self.0 {
            let rest: Vec<String> = product.iter().filter(|name| *name != variable).cloned().collect();
            match product.len() - rest.len() {
                0 => {}
                1 => coefficient.add_term(rest, *value),
                _ => return None,
            }
        }
        Some(coefficient)
    }

    /// The polynomial with another in the place of a variable that it is linear in.
    pub(super) fn substituted(&self, variable: &str, value: &Polynomial) -> Option<Self> {
        let coefficient = self.coefficient_of(variable)?;
        let without = self.clone().plus(&coefficient.times(&Polynomial::variable(variable))?, -1.0);
        Some(without.plus(&coefficient.times(value)?, 1.0))
    }

    /// The polynomial that an expression computes. `resolve` gives that of a variable or of a call; none where its
    /// value is not known.
    pub(super) fn of(expression: &Expression, resolve: &dyn Fn(&Expression) -> Option<Polynomial>) -> Option<Self> {
        match &expression.kind {
            ExpressionKind::Literal(value) => value.as_f64().filter(|value| value.is_finite()).map(Self::constant),
            ExpressionKind::Prefix(Prefix::Plus, operand) => Self::of(operand, resolve),
            ExpressionKind::Prefix(Prefix::Minus, operand) => {
                Some(Polynomial::default().plus(&Self::of(operand, resolve)?, -1.0))
            }
            ExpressionKind::Infix(Infix::Elementwise(op), left, right) => {
                // Chains lean to the left and may be long; an index of many operators is not looked into.
                if expression.depth > 50 {
                    return None;
                }
                let (left, right) = (Self::of(left, resolve)?, Self::of(right, resolve)?);
                match op {
                    BinaryOp::Plus => Some(left.plus(&right, 1.0)),
                    BinaryOp::Minus => Some(left.plus(&right, -1.0)),
                    BinaryOp::Mult => left.times(&right),
                    _ => None,
                }
            }
            _ => resolve(expression),
        }
    }
}
