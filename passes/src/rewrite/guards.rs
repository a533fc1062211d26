//! Whether a match of a pattern meets the guards of its rule, by the facts of the e-graph's classes.

use super::egraph::{EGraph, Facts};
use super::rules::Guard;
use egg::{Id, Subst, Var};
use fuseline_ir::SizeInfo;
use fuseline_ir::types::{DataType, Value};

/// Integers of smaller magnitude have exact sums and products.
const SMALL: f64 = 67_108_864.0;

/// What a variable stands for, by its name, as the documentation of the rules says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Matrix,
    MatrixOrScalar,
    Literal(f64),
}

impl Kind {
    pub(super) fn of(var: Var) -> Self {
        let name = var.to_string();
        match name.chars().nth(1) {
            Some(digit) if digit.is_ascii_digit() => Kind::Literal(f64::from(digit as u8 - b'0')),
            Some(letter) if letter.is_ascii_uppercase() => Kind::Matrix,
            _ => Kind::MatrixOrScalar,
        }
    }

    fn holds(self, facts: &Facts) -> bool {
        match self {
            Kind::Matrix => facts.data_type.is_matrix(),
            Kind::MatrixOrScalar => facts.data_type.is_matrix() || facts.data_type.is_scalar(),
            Kind::Literal(number) => number_of(facts) == Some(number),
        }
    }
}

/// What a match must meet.
pub(super) struct Condition {
    kinds: Vec<(Var, Kind)>,
    guards: Vec<Guard>,
    /// The variables that guards speak of, by their names.
    names: Vec<(&'static str, Var)>,
}

impl Condition {
    /// The kinds of these variables, and those of the guards that speak of them alone.
    pub(super) fn new(variables: &[Var], guards: &[Guard]) -> Self {
        let mut guards = guards.to_vec();
        guards.retain(|guard| guard.variables().all(|name| variables.contains(&variable(name))));
        let names = guards.iter().flat_map(|guard| guard.variables()).map(|name| (name, variable(name))).collect();
        Condition { kinds: variables.iter().map(|&var| (var, Kind::of(var))).collect(), guards, names }
    }

    /// Whether a match in this class meets it, as far as is known.
    pub(super) fn holds(&self, egraph: &EGraph, class: Id, subst: &Subst) -> bool {
        let matched = Match { names: &self.names, egraph, class: egraph.find(class), subst };
        self.kinds.iter().all(|(var, kind)| kind.holds(&egraph[subst[*var]].data))
            && self.guards.iter().all(|guard| matched.meets(*guard))
    }
}

/// The variable of a pattern that a guard names.
fn variable(name: &str) -> Var {
    format!("?{name}").parse().expect("guards name variables")
}

fn number_of(facts: &Facts) -> Option<f64> {
    facts.constant.as_ref().and_then(Value::as_f64)
}

/// A match of a pattern: what the variables that guards name stand for.
struct Match<'a> {
    names: &'a [(&'static str, Var)],
    egraph: &'a EGraph,
    class: Id,
    subst: &'a Subst,
}

impl Match<'_> {
    fn class_of(&self, name: &str) -> Id {
        let (_, var) = self.names.iter().find(|(other, _)| *other == name).expect("guards were bound");
        self.egraph.find(self.subst[*var])
    }

    fn facts(&self, name: &str) -> &Facts {
        &self.egraph[self.class_of(name)].data
    }

    fn size(&self, name: &str) -> SizeInfo {
        self.facts(name).size
    }

    fn number_is(&self, name: &str, test: impl Fn(f64) -> bool) -> bool {
        number_of(self.facts(name)).is_some_and(test)
    }

    /// Whether a number is a count that is known.
    fn counts(&self, name: &str, count: Option<u64>) -> bool {
        count.is_some_and(|count| self.number_is(name, |number| number == count as f64))
    }

    fn meets(&self, guard: Guard) -> bool {
        match guard {
            Guard::Scalar(x) => self.facts(x).data_type.is_scalar() && self.facts(x).data_type != DataType::STR,
            Guard::Real(x) => self.facts(x).data_type.is_matrix() || self.facts(x).data_type == DataType::F64,
            Guard::Is(x, value) => self.number_is(x, |number| number == value),
            Guard::Text(x, text) => self.facts(x).constant == Some(Value::Str(text.to_owned())),
            Guard::Integer(x) => self.number_is(x, |n| n != 0.0 && n == n.trunc() && n.abs() < SMALL),
            Guard::Positive(x) => self.number_is(x, |number| number > 0.0 && number.is_finite()),
            Guard::AtLeastOne(x) => self.number_is(x, |number| (1.0..SMALL).contains(&number.abs())),
            Guard::Indicator(x) => self.facts(x).is_indicator,
            Guard::Empty(x) => self.size(x).known_dims().is_some() && self.size(x).nnz == Some(0),
            Guard::SomeRows(x) => self.size(x).rows.is_some_and(|rows| rows > 0),
            Guard::SomeColumns(x) => self.size(x).cols.is_some_and(|cols| cols > 0),
            Guard::OneRow(x) => self.size(x).rows == Some(1),
            Guard::OneColumn(x) => self.size(x).cols == Some(1),
            Guard::Single(x) => self.size(x).is_single(),
            Guard::Square(x) => are_equal(self.size(x).rows, self.size(x).cols),
            Guard::SquareProduct(x, y) => are_equal(self.size(x).rows, self.size(y).cols),
            Guard::Conform(x, y) => are_equal(self.size(x).cols, self.size(y).rows),
            Guard::SameShape(x, y) => same_shape(self.egraph, self.class_of(x), self.class_of(y)),
            Guard::SameRows(x, y) => are_equal(self.size(x).rows, self.size(y).rows),
            Guard::SameColumns(x, y) => are_equal(self.size(x).cols, self.size(y).cols),
            Guard::Result(x) => same_shape(self.egraph, self.class_of(x), self.class),
            Guard::Rows(n, x) => self.counts(n, self.size(x).rows),
            Guard::Columns(n, x) => self.counts(n, self.size(x).cols),
        }
    }
}

/// Whether two dimensions are known to be the same.
fn are_equal(one: Option<u64>, other: Option<u64>) -> bool {
    one.is_some() && one == other
}

fn same_shape(egraph: &EGraph, x: Id, y: Id) -> bool {
    let (left, right) = (&egraph[x].data, &egraph[y].data);
    x == y
        || left.data_type.is_scalar() && right.data_type.is_scalar()
        || left.data_type.is_matrix() && right.data_type.is_matrix() && left.size.same_dims(&right.size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_variables_are_kinds() {
        let kind = |name: &str| Kind::of(name.parse().expect("a variable"));
        assert_eq!(kind("?X"), Kind::Matrix);
        assert_eq!(kind("?x"), Kind::MatrixOrScalar);
        assert_eq!(kind("?1b"), Kind::Literal(1.0));
    }
}
