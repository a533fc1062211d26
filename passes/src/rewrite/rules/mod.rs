//! The rewrite rules, as tables by family (section 2.1; [`Change`] says how exact they are). Adding a rule is one row;
//! the tests instantiate every row with random shapes and values, and check what fires against the oracle.
//!
//! Patterns are s-expressions over the mnemonics of the op table; literals stand for themselves, and functions with named
//! arguments are written `removeEmpty:margin`. Commuted forms of commutative operations match without being written.
//! The name of a variable says what it stands for:
//!
//! | variable | stands for |
//! |---|---|
//! | `?X` (upper case) | a matrix |
//! | `?x` (lower case) | a matrix or a scalar |
//! | `?1`, `?1b` (a digit) | a scalar literal of this value, of any numeric type |
//!
//! What else must be known of it stands in [`Rule::when`]. A rule without such guards holds whatever the sizes; a rule
//! with guards fires where sizes, non-zeros and constants that are known make them hold. Right sides need no code for
//! numbers: `(nrow ?X)` and sums of literals are evaluated in the e-graph where they are known.
//!
//! A match is refused where the right side would have another type or shape than the left (`TRUE * 1` is the double
//! `1.0`).
//!
//! Only one direction of an equality is a rule where the other gives nothing, so that the e-graph stays bounded:
//! negations and scalars move outwards, nested concatenations are flattened, fills become scalars. Transposes move both
//! ways, which at most doubles the operators.

mod aggregates;
mod comparisons;
mod diagonals;
mod distributivity;
mod elementwise;
mod fills;
mod identities;
mod indexing;
mod products;
mod shapes;
mod transposes;

use super::RewriteOptions;
use fuseline_ir::ops::{BinaryOp, UnaryOp};

/// What a rewrite may change in the result, besides the payload of NaN. A rule without changes keeps all bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The sign of a zero, and so of an infinity that it is the divisor of.
    SignOfZero,
    /// The order in which an aggregate adds its terms, which no standard prescribes, and the rounding of its partial
    /// sums and of the products that it adds.
    AggregationOrder,
    /// The rounding of single cells, within the error bound of the expression that is replaced.
    Rounding,
    /// Digits of a result below the smallest normal double, or all of it where the left side overflows on its way to zero.
    Underflow,
    /// Cells in which a zero may annihilate NaN, an infinity or a zero denominator, by the default meaning of zeros.
    Annihilation,
    /// The magnitude of rounding errors: terms are regrouped, so that partial results may cancel or overflow that did
    /// not before. Right for real numbers only.
    Magnitude,
    /// Results where a cell is NaN or infinite, or a divisor zero. Right for finite numbers only.
    NonFinite,
}

/// What must be known of the variables of a pattern, by their names. It binds the patterns in which all of them occur.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Guard {
    /// A scalar.
    Scalar(&'static str),
    /// A matrix or a double: unlike an integer, it has a negative zero.
    Real(&'static str),
    /// A literal of this value.
    Is(&'static str, f64),
    /// A literal text.
    Text(&'static str, &'static str),
    /// A literal integer other than zero, so small that sums and products of two are exact.
    Integer(&'static str),
    /// A finite literal above zero.
    Positive(&'static str),
    /// A literal of magnitude 1 or more: what it is factored out of overflows no earlier without it; and not so large that
    /// what underflows without it would have been a normal number.
    AtLeastOne(&'static str),
    /// All cells are 0 or 1.
    Indicator(&'static str),
    /// A matrix of known dimensions without non-zeros.
    Empty(&'static str),
    /// At least one row.
    SomeRows(&'static str),
    /// At least one column.
    SomeColumns(&'static str),
    /// One row.
    OneRow(&'static str),
    /// One column.
    OneColumn(&'static str),
    /// One row and one column.
    Single(&'static str),
    /// It has as many rows as columns.
    Square(&'static str),
    /// The product of the two has as many rows as columns.
    SquareProduct(&'static str, &'static str),
    /// The product of the two exists.
    Conform(&'static str, &'static str),
    /// Both are scalars, or matrices of the same dimensions.
    SameShape(&'static str, &'static str),
    /// Both have as many rows.
    SameRows(&'static str, &'static str),
    /// Both have as many columns.
    SameColumns(&'static str, &'static str),
    /// The shape of the result: nothing that it is combined with is larger.
    Result(&'static str),
    /// The first is a literal: the number of rows of the second.
    Rows(&'static str, &'static str),
    /// The first is a literal: the number of columns of the second.
    Columns(&'static str, &'static str),
}

impl Guard {
    /// The variables that it speaks of.
    pub fn variables(self) -> impl Iterator<Item = &'static str> {
        let (first, second) = match self {
            Guard::Scalar(x)
            | Guard::Real(x)
            | Guard::Is(x, _)
            | Guard::Text(x, _)
            | Guard::Integer(x)
            | Guard::Positive(x)
            | Guard::AtLeastOne(x)
            | Guard::Indicator(x)
            | Guard::Empty(x)
            | Guard::SomeRows(x)
            | Guard::SomeColumns(x)
            | Guard::OneRow(x)
            | Guard::OneColumn(x)
            | Guard::Single(x)
            | Guard::Square(x)
            | Guard::Result(x) => (x, None),
            Guard::SquareProduct(x, y)
            | Guard::Conform(x, y)
            | Guard::SameShape(x, y)
            | Guard::SameRows(x, y)
            | Guard::SameColumns(x, y)
            | Guard::Rows(x, y)
            | Guard::Columns(x, y) => (x, Some(y)),
        };
        std::iter::once(first).chain(second)
    }
}

/// The operations that `$0`, `$1` in the patterns of a rule stand for: a rule holds for each of them.
#[derive(Clone, Copy, Debug)]
pub enum Each {
    /// The patterns name their operations.
    Itself,
    /// `$0` is every element-wise operation of one input.
    Unary,
    /// `$0` is every element-wise operation of two inputs.
    Binary,
    /// `$0`, `$1` are the entries of these rows.
    Of(&'static [&'static [&'static str]]),
}

/// A rewrite rule. It holds for all values, NaN and infinities included, up to what [`Change`] says.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The name, as explanations print it.
    pub name: &'static str,
    /// What it does.
    pub doc: &'static str,
    /// How exact it is.
    pub changes: &'static [Change],
    /// What must be known.
    pub when: &'static [Guard],
    /// The operations that it holds for.
    pub each: Each,
    /// Left and right sides.
    pub patterns: &'static [(&'static str, &'static str)],
}

impl Rule {
    /// What most rules are: without guards, of the operations that they name.
    const PLAIN: Rule = Rule { name: "", doc: "", changes: &[], when: &[], each: Each::Itself, patterns: &[] };

    /// Whether the rule holds under strict IEEE semantics: the same bits for every cell, but for the order of sums.
    pub fn is_strict(&self) -> bool {
        self.changes.iter().all(|change| *change == Change::AggregationOrder)
    }

    /// Whether the rule is right for real numbers only: what it changes no meaning of zeros allows.
    pub fn is_algebraic(&self) -> bool {
        self.changes.iter().any(|change| matches!(change, Change::Magnitude | Change::NonFinite))
    }

    /// Whether these options allow the rule.
    pub fn is_allowed(&self, options: &RewriteOptions) -> bool {
        if options.strict_ieee { self.is_strict() } else { options.algebraic || !self.is_algebraic() }
    }

    /// The patterns, for each of the operations.
    pub fn instances(&self) -> Vec<(String, String)> {
        let mut instances = Vec::new();
        self.each_row(&mut |names| {
            let fill = |pattern: &str| {
                let numbered = names.iter().enumerate();
                numbered.fold(pattern.to_owned(), |text, (i, name)| text.replace(&format!("${i}"), name))
            };
            instances.extend(self.patterns.iter().map(|(left, right)| (fill(left), fill(right))));
        });
        instances
    }

    fn each_row(&self, visit: &mut dyn FnMut(&[&str])) {
        match self.each {
            Each::Itself => visit(&[]),
            Each::Unary => UnaryOp::ALL.iter().for_each(|op| visit(&[op.mnemonic()])),
            Each::Binary => BinaryOp::ALL.iter().for_each(|op| visit(&[op.mnemonic()])),
            Each::Of(rows) => rows.iter().for_each(|row| visit(row)),
        }
    }
}

/// Rules about the same operations.
pub(super) struct Family {
    pub(super) rules: &'static [Rule],
    /// Whether they pay whatever is fused afterwards: what they put in the place of cells fuses wherever that did.
    /// Products, transposes and ranges that move may come between operators that would have been one.
    pub(super) always_pays: bool,
}

/// The tables.
pub(super) const FAMILIES: [Family; 11] = [
    Family { rules: identities::RULES, always_pays: true },
    Family { rules: comparisons::RULES, always_pays: true },
    Family { rules: elementwise::RULES, always_pays: true },
    Family { rules: distributivity::RULES, always_pays: false },
    Family { rules: aggregates::RULES, always_pays: true },
    Family { rules: transposes::RULES, always_pays: false },
    Family { rules: diagonals::RULES, always_pays: false },
    Family { rules: products::RULES, always_pays: false },
    Family { rules: fills::RULES, always_pays: true },
    Family { rules: shapes::RULES, always_pays: true },
    Family { rules: indexing::RULES, always_pays: false },
];

/// Every rule, in the order of the families.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    FAMILIES.iter().flat_map(|family| family.rules)
}
