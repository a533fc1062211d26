//! Operators as formulas: what a fused operator computes, in terms of what it reads.

use crate::hops::is_transpose;
use fuseline_ir::hop::{HopDag, HopId, HopOp};
use fuseline_ir::ops::{AggOp, Direction};

/// Formulas longer than this name their innermost operations by number.
const LONGEST: usize = 100;

/// How strongly an operation binds its operands; names and calls the strongest.
const CALL: u8 = 9;
const COMPARISON: u8 = 4;

/// What the operator `root` computes from everything outside of `members`: `t(X) %*% (y - sigmoid(X %*% w))`.
pub(crate) fn formula(dag: &HopDag, root: HopId, members: &[HopId]) -> String {
    let mut text = value_name(dag, root);
    for depth in 1..=members.len() {
        let deeper = Writer { dag, members }.write(root, depth).0;
        if deeper.len() > LONGEST {
            break;
        }
        text = deeper;
    }
    text
}

/// The variable or literal, or the number of an operator: `X`, `0.5`, `%7`.
pub(crate) fn value_name(dag: &HopDag, id: HopId) -> String {
    match &dag[id].op {
        HopOp::Read(name) => name.clone(),
        HopOp::Literal(value) => value.to_string(),
        _ => id.to_string(),
    }
}

struct Writer<'a> {
    dag: &'a HopDag,
    members: &'a [HopId],
}

impl Writer<'_> {
    /// The text of an operation and how strongly its outermost one binds.
    fn write(&self, id: HopId, depth: usize) -> (String, u8) {
        if depth == 0 || self.members.binary_search(&id).is_err() {
            return (value_name(self.dag, id), CALL);
        }
        let hop = &self.dag[id];
        let operands: Vec<(String, u8)> = hop.inputs.iter().map(|&input| self.write(input, depth - 1)).collect();
        match infix(&hop.op) {
            Some((symbol, strength)) if operands.len() == 2 => {
                let space = if symbol == "^" { "" } else { " " };
                // Comparisons have no order among themselves that readers know.
                let left_least = if strength == COMPARISON { strength + 1 } else { strength };
                let (left, right) = (bound(&operands[0], left_least), bound(&operands[1], strength + 1));
                (format!("{left}{space}{symbol}{space}{right}"), strength)
            }
            _ => (self.call(id, &operands), CALL),
        }
    }

    fn call(&self, id: HopId, operands: &[(String, u8)]) -> String {
        let texts: Vec<&str> = operands.iter().map(|(text, _)| text.as_str()).collect();
        if self.dag[id].op == HopOp::Index {
            return format!("{}[{}:{}, {}:{}]", texts[0], texts[1], texts[2], texts[3], texts[4]);
        }
        let name = if is_transpose(self.dag, id) { "t".to_owned() } else { function(&self.dag[id].op) };
        format!("{name}({})", texts.join(", "))
    }
}

/// The text of an operand, in parentheses where it binds less than this.
fn bound(operand: &(String, u8), least: u8) -> String {
    let (text, strength) = operand;
    if *strength < least { format!("({text})") } else { text.clone() }
}

/// The symbol of an operation between two operands, and how strongly it binds.
fn infix(op: &HopOp) -> Option<(&'static str, u8)> {
    let symbol = match op {
        HopOp::MatMul => "%*%",
        HopOp::Binary(op) => op.dml().filter(|symbol| !symbol.starts_with(char::is_alphabetic))?,
        _ => return None,
    };
    let strength = match symbol {
        "^" => 8,
        "%*%" | "%/%" | "%%" => 7,
        "*" | "/" => 6,
        "+" | "-" => 5,
        "&" => 3,
        "|" => 2,
        _ => COMPARISON,
    };
    Some((symbol, strength))
}

/// The name of an operation as a function.
fn function(op: &HopOp) -> String {
    match op {
        HopOp::Unary(op) => op.dml().unwrap_or(op.mnemonic()).to_owned(),
        HopOp::Binary(op) => op.dml().unwrap_or(op.mnemonic()).to_owned(),
        HopOp::AggUnary(op, direction) => aggregate(*op, *direction),
        other => other.to_string(),
    }
}

/// `sum`, `rowSums`, `colMaxs`, as the language calls them.
fn aggregate(op: AggOp, direction: Direction) -> String {
    let name = op.mnemonic();
    let prefix = match direction {
        Direction::Full => return name.to_owned(),
        Direction::Row => "row",
        Direction::Col => "col",
    };
    let (first, rest) = name.split_at(1);
    format!("{prefix}{}{rest}s", first.to_uppercase())
}
