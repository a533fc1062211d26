//! Whether a match of a pattern meets the guards of its rule, by the facts of the e-graph's classes.

use super::egraph::{EGraph, Facts};
use super::rules::Guard;
use egg::{Id, Subst, Var};
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
        let named = |name: &'static str| (name, format!("?{name}").parse().expect("guards name variables"));
        let occurs = |guard: &Guard| guard.variables().all(|name| variables.contains(&named(name).1));
        let guards: Vec<Guard> = guards.iter().copied().filter(occurs).collect();
        let names = guards.iter().flat_map(|guard| guard.variables()).map(named).collect();
        Condition { kinds: variables.iter().map(|&var| (var, Kind::of(var))).collect(), guards, names }
    }

    /// Whether a match in this class meets it, as far as is known.
    pub(super) fn holds(&self, egraph: &EGraph, class: Id, subst: &Subst) -> bool {
        let class_of = |name: &str| {
            let (_, var) = self.names.iter().find(|(other, _)| *other == name).expect("guards were bound");
            egraph.find(subst[*var])
        };
        self.kinds.iter().all(|(var, kind)| kind.holds(&egraph[subst[*var]].data))
            && self.guards.iter().all(|guard| holds(*guard, egraph, egraph.find(class), &class_of))
    }
}

fn number_of(facts: &Facts) -> Option<f64> {
    facts.constant.as_ref().and_then(Value::as_f64)
}

fn holds(guard: Guard, egraph: &EGraph, result: Id, class_of: &dyn Fn(&str) -> Id) -> bool {
    let facts = |name: &str| &egraph[class_of(name)].data;
    let size = |name: &str| facts(name).size;
    let number_is = |name: &str, test: &dyn Fn(f64) -> bool| number_of(facts(name)).is_some_and(test);
    let known = |a: Option<u64>, b: Option<u64>| a.is_some() && a == b;
    let count_is = |name: &str, count: Option<u64>| number_is(name, &|n| count.is_some_and(|count| n == count as f64));
    match guard {
        Guard::Scalar(x) => facts(x).data_type.is_scalar() && facts(x).data_type != DataType::STR,
        Guard::Real(x) => facts(x).data_type.is_matrix() || facts(x).data_type == DataType::F64,
        Guard::Is(x, value) => number_is(x, &|number| number == value),
        Guard::Text(x, text) => facts(x).constant == Some(Value::Str(text.to_owned())),
        Guard::Integer(x) => number_is(x, &|n| n != 0.0 && n == n.trunc() && n.abs() < SMALL),
        Guard::Positive(x) => number_is(x, &|number| number > 0.0 && number.is_finite()),
        Guard::AtLeastOne(x) => number_is(x, &|number| (1.0..SMALL).contains(&number.abs())),
        Guard::Indicator(x) => facts(x).is_indicator,
        Guard::Empty(x) => size(x).known_dims().is_some() && size(x).nnz == Some(0),
        Guard::SomeRows(x) => size(x).rows.is_some_and(|rows| rows > 0),
        Guard::SomeColumns(x) => size(x).cols.is_some_and(|cols| cols > 0),
        Guard::OneRow(x) => size(x).rows == Some(1),
        Guard::OneColumn(x) => size(x).cols == Some(1),
        Guard::Single(x) => size(x).is_single(),
        Guard::Square(x) => known(size(x).rows, size(x).cols),
        Guard::SquareProduct(x, y) => known(size(x).rows, size(y).cols),
        Guard::Conform(x, y) => known(size(x).cols, size(y).rows),
        Guard::SameShape(x, y) => same_shape(egraph, class_of(x), class_of(y)),
        Guard::SameRows(x, y) => known(size(x).rows, size(y).rows),
        Guard::SameColumns(x, y) => known(size(x).cols, size(y).cols),
        Guard::Result(x) => same_shape(egraph, class_of(x), result),
        Guard::Rows(n, x) => count_is(n, size(x).rows),
        Guard::Columns(n, x) => count_is(n, size(x).cols),
    }
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
