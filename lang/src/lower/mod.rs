//! The syntax tree to a program: names resolved, calls bound, straight-line statements gathered into HOP DAGs.
//!
//! Blocks are cut by control flow and by calls of user functions, which are hoisted out of expressions to stand before
//! the statement (section 2.1). The types of variables are tracked along the way; where control flow joins and the
//! types differ, the type is unknown until run time.

mod bind;
mod blocks;
mod builtin;
mod call;
mod composed;
mod control;
mod default;
mod distribution;
mod evaluation;
mod expression;
mod frame;
mod function;
mod image;
mod linear;
mod list;
mod numeric;
mod parameterized;
mod parfor;
mod replace;
mod resolve;
mod scope;
mod statement;
mod table;
#[cfg(test)]
mod tests;

use crate::argument::Argument;
use crate::ast::Name;
use crate::diagnostic::Diagnostic;
use crate::load::{File, Loaded};
use crate::{Library, ParseOptions};
use blocks::Blocks;
pub(crate) use evaluation::lower_evaluation;
use function::Signature;
use fuseline_ir::hop::Span;
use fuseline_ir::program::Program;
use fuseline_ir::types::DataType;
use scope::Scope;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::Path;

/// The error was reported; what depends on the value is given up.
#[derive(Debug)]
struct Reported;

type Lowered<T> = Result<T, Reported>;

/// Lowers all files that parsed; the program is of use only when there are no errors.
pub(crate) fn lower(loaded: &Loaded, options: &ParseOptions<'_>, errors: &mut Vec<Diagnostic>) -> Program {
    let signatures = function::signatures(loaded, errors);
    let mut program = Program::default();
    let mut given_up = None;
    for (number, file) in loaded.files.iter().enumerate().filter(|(_, file)| file.is_whole) {
        let mut lowerer = Lowerer::new(file, loaded, options, &signatures);
        lowerer.functions(&mut program);
        if number == 0 {
            program.body = lowerer.script(&options.inputs);
        } else if let Some(statement) = file.script.statements.first() {
            let error = Diagnostic::new(statement.span, "a sourced file may only define functions");
            lowerer.errors.push(error.here("a statement outside of functions"));
        }
        given_up = given_up.or(lowerer.given_up);
        errors.append(&mut lowerer.errors);
    }
    let unexplained = unexplained(given_up, errors);
    errors.extend(unexplained);
    program
}

/// An error of the compiler itself: a statement was given up, and nothing says why.
fn unexplained(given_up: Option<Span>, errors: &[Diagnostic]) -> Option<Diagnostic> {
    let message = "internal error: this statement was not compiled, and nothing says why";
    given_up.filter(|_| errors.is_empty()).map(|span| Diagnostic::new(span, message).help("please report this script"))
}

/// The state while the statements of one file are lowered.
struct Lowerer<'a> {
    file: &'a File,
    loaded: &'a Loaded,
    arguments: &'a BTreeMap<String, Argument>,
    /// Reads a file.
    loader: &'a dyn Fn(&Path) -> io::Result<String>,
    library: &'a dyn Library,
    signatures: &'a BTreeMap<String, Signature<'a>>,
    /// The variables that have values before the script runs; none within functions.
    inputs: BTreeSet<String>,
    errors: Vec<Diagnostic>,
    /// The first statement that was given up.
    given_up: Option<Span>,
    scope: Scope,
    blocks: Blocks,
    /// The variables that hold the results of hoisted calls, by the place of the call.
    hoisted: HashMap<Span, String>,
    temporaries: usize,
    /// The variables that stand for others: for the parameters that a default sees.
    renamed: BTreeMap<String, String>,
    /// The defaults that are being evaluated.
    defaults: Vec<Span>,
    /// The types of variables whose type changes from one iteration to the next, by the place of the loop.
    unstable: HashMap<Span, BTreeMap<String, DataType>>,
}

impl<'a> Lowerer<'a> {
    fn new(
        file: &'a File,
        loaded: &'a Loaded,
        options: &'a ParseOptions<'_>,
        signatures: &'a BTreeMap<String, Signature<'a>>,
    ) -> Self {
        Lowerer {
            file,
            loaded,
            arguments: &options.arguments,
            loader: options.loader,
            library: options.library,
            signatures,
            inputs: BTreeSet::new(),
            errors: Vec::new(),
            given_up: None,
            scope: Scope::default(),
            blocks: Blocks::default(),
            hoisted: HashMap::new(),
            temporaries: 0,
            renamed: BTreeMap::new(),
            defaults: Vec::new(),
            unstable: HashMap::new(),
        }
    }

    fn script(&mut self, inputs: &BTreeMap<String, DataType>) -> Vec<fuseline_ir::program::StatementBlock> {
        self.scope = Scope::default();
        for (name, data_type) in inputs {
            self.scope.set(name, *data_type);
        }
        self.inputs = inputs.keys().cloned().collect();
        self.body(&self.file.script.statements)
    }

    fn report<T>(&mut self, error: Diagnostic) -> Lowered<T> {
        self.errors.push(error);
        Err(Reported)
    }

    /// A fresh variable that no script can name.
    fn temporary(&mut self, span: Span) -> Name {
        self.temporaries += 1;
        Name { text: format!("_t{}", self.temporaries), span }
    }
}
