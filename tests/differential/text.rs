//! The text form of cases: the DAG, and one comment line per input. A failure prints it, and a file of it is a
//! regression test.
//!
//! ```text
//! # input v0 csr 2x3: 1.0 0 0 | 0 [0] 2.5
//! # input v1 scalar: 3.0
//! hops { ... }
//! ```
//!
//! `[0]` is a zero that a sparse matrix stores.

use super::case::{Case, Leaf, Node};
use fuseline::{Csr, Dense, MatrixBlock};
use fuseline_ir::hop::HopOp;
use std::collections::BTreeMap;
use std::fmt::{self, Write};

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, node) in self.nodes.iter().enumerate() {
            match node {
                Node::Leaf(Leaf::Matrix(block)) => writeln!(f, "# input v{index} {}", matrix_text(block))?,
                Node::Leaf(Leaf::Scalar(value)) => writeln!(f, "# input v{index} scalar: {value:?}")?,
                _ => {}
            }
        }
        match self.dag() {
            Some(dag) => write!(f, "{dag}"),
            None => f.write_str("(the shapes do not fit)"),
        }
    }
}

fn matrix_text(block: &MatrixBlock) -> String {
    let (rows, cols) = block.dims();
    let mut text = format!("{} {rows}x{cols}:", if block.format().is_sparse() { "csr" } else { "dense" });
    for i in 0..rows {
        text.push_str(if i > 0 { " |" } else { "" });
        for j in 0..cols {
            let is_stored = block.layout().sparse().is_some_and(|csr| csr.row(i).0.contains(&(j as u32)));
            let _ = match block.get(i, j) {
                value if value == 0.0 && is_stored => write!(text, " [{value:?}]"),
                value if value == 0.0 && value.is_sign_positive() => write!(text, " 0"),
                value => write!(text, " {value:?}"),
            };
        }
    }
    text
}

impl Case {
    /// Reads the text form.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Case, String> {
        Case::parse_with(text, BTreeMap::new())
    }

    /// Reads the text form, in addition to these inputs.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn parse_with(text: &str, mut leaves: BTreeMap<String, Leaf>) -> Result<Case, String> {
        for line in text.lines().filter_map(|line| line.strip_prefix("# input ")) {
            let (name, leaf) = parse_input(line).ok_or_else(|| format!("cannot read the input `{line}`"))?;
            leaves.insert(name, leaf);
        }
        let dags = fuseline_ir::hop::parse(text).map_err(|errors| format!("{:?}", errors.errors()))?;
        let [(_, dag)] = &dags[..] else { return Err(format!("{} DAGs in place of one", dags.len())) };
        let mut case = Case::default();
        for hop in dag.hops.values() {
            case.nodes.push(match &hop.op {
                HopOp::Read(name) => {
                    Node::Leaf(leaves.get(name).cloned().ok_or_else(|| format!("the input {name} is missing"))?)
                }
                HopOp::Literal(value) => Node::Leaf(Leaf::Literal(value.clone())),
                op => {
                    let inputs = hop.inputs.iter().map(|input| input.as_u32() as usize).collect();
                    Node::Operator { op: op.clone(), inputs }
                }
            });
        }
        case.outputs = dag.outputs.iter().map(|output| output.hop.as_u32() as usize).collect();
        Ok(case)
    }
}

/// Reads `v0 csr 2x3: ...` or `v1 scalar: 3.0`.
fn parse_input(line: &str) -> Option<(String, Leaf)> {
    let (head, cells) = line.split_once(':')?;
    let mut words = head.split_whitespace();
    let (name, format) = (words.next()?, words.next()?);
    if format == "scalar" {
        return Some((name.to_owned(), Leaf::Scalar(cells.trim().parse().ok()?)));
    }
    let (rows, cols) = words.next()?.split_once('x')?;
    let (rows, cols): (usize, usize) = (rows.parse().ok()?, cols.parse().ok()?);
    let mut values = Vec::new();
    let mut stored = Vec::new();
    for word in cells.split_whitespace().filter(|word| *word != "|") {
        let inner = word.strip_prefix('[').and_then(|word| word.strip_suffix(']'));
        values.push(inner.unwrap_or(word).parse::<f64>().ok()?);
        stored.push(inner.is_some());
    }
    if values.len() != rows * cols {
        return None;
    }
    let block = match format {
        "dense" => Dense::from_vec(rows, cols, values).into(),
        "csr" => {
            sparse(rows, cols, |position| Some(values[position]).filter(|&value| value != 0.0 || stored[position]))
                .into()
        }
        _ => return None,
    };
    Some((name.to_owned(), Leaf::Matrix(block)))
}

/// A sparse matrix of the values that are stored, by position row after row.
pub(crate) fn sparse(rows: usize, cols: usize, mut value: impl FnMut(usize) -> Option<f64>) -> Csr {
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..rows {
        for j in 0..cols {
            if let Some(value) = value(i * cols + j) {
                columns.push(j as u32);
                values.push(value);
            }
        }
        offsets.push(values.len());
    }
    Csr::from_parts(rows, cols, offsets, columns, values)
}
