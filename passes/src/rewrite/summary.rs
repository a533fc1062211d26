//! Rewrites in one line each: what an expression was, what it became, and the cost of both.

use super::{RewriteOptions, rewrite_with_report};
use fuseline_ir::hop::{HopDag, HopId, HopOp};
use std::fmt;

/// Longer expressions are cut off here.
const LONGEST: usize = 160;

/// What rewriting made of a DAG.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RewriteSummary {
    /// The outputs before, as expressions.
    pub before: String,
    /// The outputs after.
    pub after: String,
    /// Cost before and after: floating-point operations plus values read and written.
    pub cost: (u128, u128),
}

/// What rewriting makes of a DAG, in one line.
pub fn summarize_rewrites(dag: &HopDag, options: &RewriteOptions) -> RewriteSummary {
    let (rewritten, report) = rewrite_with_report(dag, options);
    RewriteSummary { before: outputs(dag), after: outputs(&rewritten), cost: report.cost }
}

fn outputs(dag: &HopDag) -> String {
    let mut text = String::new();
    for (position, output) in dag.outputs.iter().enumerate() {
        text.push_str(if position > 0 { ", " } else { "" });
        write_expression(dag, output.hop, &mut text);
    }
    if text.len() > LONGEST {
        text.truncate(text.floor_char_boundary(LONGEST));
        text.push('…');
    }
    text
}

/// Appends `plus(X, 2)` and the like. What several operators use is repeated, so long texts end early.
fn write_expression(dag: &HopDag, id: HopId, text: &mut String) {
    if text.len() > LONGEST {
        return;
    }
    let hop = &dag[id];
    match &hop.op {
        HopOp::Read(name) => return text.push_str(name),
        HopOp::Literal(value) => return text.push_str(&value.to_string()),
        op => text.push_str(&op.to_string()),
    }
    text.push('(');
    for (position, &input) in hop.inputs.iter().enumerate() {
        text.push_str(if position > 0 { ", " } else { "" });
        write_expression(dag, input, text);
    }
    text.push(')');
}

/// Prints `t(t(X)) -> X, cost 60 -> 0`.
impl fmt::Display for RewriteSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (before, after) = self.cost;
        if self.before == self.after {
            write!(f, "{} stays, cost {before}", self.before)
        } else {
            write!(f, "{} -> {}, cost {before} -> {after}", self.before, self.after)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fuseline_ir::SizeInfo;
    use fuseline_ir::ops::{BinaryOp, UnaryOp};

    #[test]
    fn expressions_before_and_after() {
        let mut dag = HopDag::new();
        let x = dag.read_matrix("X", SizeInfo::dims(10, 10));
        let negated = dag.add(UnaryOp::Neg.into(), &[x], None).expect("a matrix");
        let sum = dag.add(BinaryOp::Plus.into(), &[x, negated], None).expect("of one shape");
        dag.write("r", sum);
        let summary = summarize_rewrites(&dag, &RewriteOptions::default());
        assert_eq!((summary.before.as_str(), summary.after.as_str()), ("plus(X, neg(X))", "minus(X, X)"));
        assert!(summary.cost.1 < summary.cost.0);
    }

    #[test]
    fn texts_of_shared_expressions_end() {
        let mut dag = HopDag::new();
        let mut last = dag.read_matrix("X", SizeInfo::dims(10, 10));
        for _ in 0..200 {
            let other = dag.add(UnaryOp::Exp.into(), &[last], None).expect("a matrix");
            last = dag.add(BinaryOp::Div.into(), &[last, other], None).expect("of one shape");
        }
        dag.write("r", last);
        assert!(outputs(&dag).chars().count() <= LONGEST + 1);
    }
}
