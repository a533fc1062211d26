//! The rewrite rules, as tables by family. Adding a rule is one row; the tests instantiate every row with random shapes
//! and values and evaluate both sides.
//!
//! Patterns are s-expressions over the mnemonics of the op table. Commuted forms of commutative operations match
//! without being written. The name of a variable says what it stands for:
//!
//! | variable | stands for |
//! |---|---|
//! | `?X` (upper case) | a matrix |
//! | `?x` (lower case) | a matrix or a number |
//! | `?1`, `?1b` (a digit) | a scalar literal of this value, of any numeric type |
//!
//! A match is refused where the right side would have another type or shape than the left (`TRUE * 1` is the double
//! `1.0`).

mod aggregates;
mod elementwise;
mod identities;

/// What a rewrite may change in the result, besides the payload of NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changes {
    /// Nothing: the same bits.
    Nothing,
    /// The sign of a zero.
    SignOfZero,
    /// The order in which an aggregate adds its cells, which no standard prescribes, and the rounding of its partial
    /// sums.
    AggregationOrder,
    /// The rounding of single cells (fused multiply-adds, functions rounded as a whole).
    Rounding,
}

/// A rewrite rule. It holds for all values, NaN and infinities included, up to what [`Changes`] says.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The name, as explanations print it.
    pub name: &'static str,
    /// What it does.
    pub doc: &'static str,
    /// How exact it is.
    pub changes: Changes,
    /// Left and right sides.
    pub patterns: &'static [(&'static str, &'static str)],
}

impl Rule {
    /// Whether the rule holds under strict IEEE semantics: the same bits for every cell.
    pub fn is_strict(&self) -> bool {
        matches!(self.changes, Changes::Nothing | Changes::AggregationOrder)
    }
}

/// Every rule.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    [identities::RULES, elementwise::RULES, aggregates::RULES].into_iter().flatten()
}
