//! The text form of programs, as [`super::parse()`] reads it. The nesting of blocks is the nesting of braces; the lines
//! of their DAGs are those of [`crate::hop`].
//!
//! ```text
//! program {
//!   function scale(X: matrix, factor: f64) -> (Y: matrix) {
//!     block {
//!       %0 = read "X" : f64[?x?]
//!       %1 = read "factor" : f64
//!       %2 = mult %0, %1 : f64[?x?]
//!       write "Y" %2
//!     }
//!   }
//!   call scale -> Z {
//!     %0 = read "A" : f64[10x10]
//!     %1 = literal 2.0 : f64
//!     write "X" %0
//!     write "factor" %1
//!   }
//!   while {
//!     %0 = read "continue" : bool
//!     write "_predicate" %0
//!   } do {
//!     ...
//!   }
//! }
//! ```
//!
//! `if { predicate } then { .. } else { .. }`, `while { predicate } do { .. }`, and
//! `for i from { .. } to { .. } by { .. } do { .. }` (or `parfor`). Statements that run before a predicate stand in
//! front of its DAG in `prelude { .. }`. Source texts and spans are not part of the text form.

use super::{Call, Function, Parameter, Predicate, Program, StatementBlock};
use crate::text::name;
use std::fmt;

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("program {\n")?;
        let mut printer = Printer { out: f, indentation: "  ".to_owned() };
        for function in self.functions.values() {
            printer.function(function)?;
        }
        printer.statements(&self.body)?;
        f.write_str("}")
    }
}

struct Printer<'a, 'b> {
    out: &'a mut fmt::Formatter<'b>,
    indentation: String,
}

impl Printer<'_, '_> {
    fn line(&mut self, text: &str) -> fmt::Result {
        writeln!(self.out, "{}{text}", self.indentation)
    }

    fn indented(&mut self, body: impl FnOnce(&mut Self) -> fmt::Result) -> fmt::Result {
        self.indentation.push_str("  ");
        let result = body(self);
        self.indentation.truncate(self.indentation.len() - 2);
        result
    }

    fn function(&mut self, function: &Function) -> fmt::Result {
        let list = |all: &[Parameter]| all.iter().map(Parameter::to_string).collect::<Vec<_>>().join(", ");
        let (parameters, results) = (list(&function.parameters), list(&function.results));
        self.line(&format!("function {}({parameters}) -> ({results}) {{", name(&function.name)))?;
        self.indented(|printer| printer.statements(&function.body))?;
        self.line("}")
    }

    fn statements(&mut self, blocks: &[StatementBlock]) -> fmt::Result {
        blocks.iter().try_for_each(|block| self.statement(block))
    }

    fn statement(&mut self, block: &StatementBlock) -> fmt::Result {
        match block {
            StatementBlock::Basic(dag) => {
                self.line("block {")?;
                self.indented(|printer| dag.write_body(printer.out, &printer.indentation))?;
                self.line("}")
            }
            StatementBlock::Call(call) => self.call(call),
            StatementBlock::If { predicate, then_body, else_body, .. } => {
                self.predicate("if {", predicate)?;
                self.body("} then {", then_body)?;
                if !else_body.is_empty() {
                    self.body("} else {", else_body)?;
                }
                self.line("}")
            }
            StatementBlock::While { predicate, body, .. } => {
                self.predicate("while {", predicate)?;
                self.body("} do {", body)?;
                self.line("}")
            }
            StatementBlock::For { variable, from, to, by, body, parallel, .. } => {
                let keyword = if *parallel { "parfor" } else { "for" };
                self.predicate(&format!("{keyword} {} from {{", name(variable)), from)?;
                self.predicate("} to {", to)?;
                if let Some(by) = by {
                    self.predicate("} by {", by)?;
                }
                self.body("} do {", body)?;
                self.line("}")
            }
        }
    }

    fn call(&mut self, call: &Call) -> fmt::Result {
        let target = |target: &Option<String>| target.as_deref().map_or_else(|| "-".to_owned(), name);
        let targets: Vec<String> = call.targets.iter().map(target).collect();
        let arrow = if targets.is_empty() { "" } else { " -> " };
        self.line(&format!("call {}{arrow}{} {{", name(&call.function), targets.join(", ")))?;
        self.indented(|printer| call.arguments.write_body(printer.out, &printer.indentation))?;
        self.line("}")
    }

    fn body(&mut self, head: &str, blocks: &[StatementBlock]) -> fmt::Result {
        self.line(head)?;
        self.indented(|printer| printer.statements(blocks))
    }

    fn predicate(&mut self, head: &str, predicate: &Predicate) -> fmt::Result {
        self.line(head)?;
        self.indented(|printer| {
            if !predicate.prelude.is_empty() {
                printer.body("prelude {", &predicate.prelude)?;
                printer.line("}")?;
            }
            predicate.dag.write_body(printer.out, &printer.indentation)
        })
    }
}

/// `name: type`.
impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", name(&self.name), self.data_type)
    }
}
