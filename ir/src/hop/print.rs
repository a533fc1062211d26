//! The text form of HOP DAGs, as [`super::parse()`] reads it.
//!
//! ```text
//! hops @example {
//!   %0 = read "X" : f64[1000x10, nnz=2000]
//!   %1 = read "v" : f64[10x1]
//!   %2 = matmul %0, %1 : f64[1000x1]
//!   %3 = sum.full %2 : f64
//!   write "s" %3
//!   cover row roots(%3) members(%2, %3)
//! }
//! ```
//!
//! One operator per line with the type of its value: `f64[rows x cols, nnz=n]` for matrices, with `?` for what is
//! unknown, and with what files may hold in the place of `f64`; `f64`, `i64`, `bool` or `str` for scalars; `list`; `frame`; `unknown` before types are known.

use super::{FusionCover, Hop, HopDag, HopId, HopOp};
use crate::text::{name, quoted, value};
use crate::types::DataType;
use std::fmt;

/// A DAG under a name, for printing.
#[derive(Clone, Copy, Debug)]
pub struct NamedHopDag<'a> {
    name: &'a str,
    dag: &'a HopDag,
}

impl HopDag {
    /// The DAG's text form with a name: `hops @name { ... }`.
    pub fn display_named<'a>(&'a self, name: &'a str) -> NamedHopDag<'a> {
        NamedHopDag { name, dag: self }
    }

    /// Writes the lines between the braces.
    pub(crate) fn write_body(&self, f: &mut impl fmt::Write, indentation: &str) -> fmt::Result {
        for (id, hop) in &self.hops {
            writeln!(f, "{indentation}{id} = {hop}")?;
        }
        for output in &self.outputs {
            writeln!(f, "{indentation}write {} {}", quoted(&output.name), output.hop)?;
        }
        for effect in &self.effects {
            writeln!(f, "{indentation}effect {effect}")?;
        }
        for cover in &self.covers {
            writeln!(f, "{indentation}{cover}")?;
        }
        Ok(())
    }
}

impl fmt::Display for HopDag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("hops {\n")?;
        self.write_body(f, "  ")?;
        f.write_str("}")
    }
}

impl fmt::Display for NamedHopDag<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name.is_empty() {
            return self.dag.fmt(f);
        }
        writeln!(f, "hops @{} {{", name(self.name))?;
        self.dag.write_body(f, "  ")?;
        f.write_str("}")
    }
}

/// Operation, inputs and type: what stands on the right of a definition.
impl fmt::Display for Hop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.op)?;
        let names: &[String] = match &self.op {
            HopOp::Parameterized { names, .. } => names,
            _ => &[],
        };
        let positional = self.inputs.len().saturating_sub(names.len());
        for (position, input) in self.inputs.iter().enumerate() {
            f.write_str(if position > 0 { ", " } else { " " })?;
            if let Some(argument) = position.checked_sub(positional) {
                write!(f, "{}=", name(&names[argument]))?;
            }
            write!(f, "{input}")?;
        }
        f.write_str(" : ")?;
        match self.data_type {
            DataType::Matrix(element) => write!(f, "{element}{}", self.size),
            scalar => write!(f, "{scalar}"),
        }
    }
}

/// The operation as the text form writes it: `matmul`, `sum.row`, `read "X"`, `literal 1.0`.
impl fmt::Display for HopOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HopOp::Read(variable) => write!(f, "read {}", quoted(variable)),
            HopOp::Literal(literal) => write!(f, "literal {}", value(literal)),
            HopOp::Unary(op) => f.write_str(op.mnemonic()),
            HopOp::Binary(op) => f.write_str(op.mnemonic()),
            HopOp::Ternary(op) => f.write_str(op.mnemonic()),
            HopOp::Nary(op) => f.write_str(op.mnemonic()),
            HopOp::AggUnary(op, direction) => write!(f, "{op}.{direction}"),
            HopOp::Cumulative(op) => write!(f, "cumulative.{op}"),
            HopOp::Outer(op) => write!(f, "outer.{op}"),
            HopOp::MatMul => f.write_str("matmul"),
            HopOp::Reorg(op) => f.write_str(op.mnemonic()),
            HopOp::Index => f.write_str("index"),
            HopOp::LeftIndex => f.write_str("leftindex"),
            HopOp::DataGen(op) => f.write_str(op.mnemonic()),
            HopOp::Shape(op) => f.write_str(op.mnemonic()),
            HopOp::Cast(op) => f.write_str(op.mnemonic()),
            HopOp::Concat => f.write_str("concat"),
            HopOp::Item(position) => write!(f, "item.{position}"),
            HopOp::Parameterized { function, .. } => f.write_str(function.mnemonic()),
            HopOp::Fused(op) => write!(f, "{op}"),
            HopOp::SpoofOp { operator, template } => write!(f, "spoof.{template} {operator}"),
        }
    }
}

impl fmt::Display for FusionCover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |ids: &[HopId]| ids.iter().map(HopId::to_string).collect::<Vec<_>>().join(", ");
        write!(f, "cover {} roots({}) members({})", self.template, list(&self.roots), list(&self.members))
    }
}
