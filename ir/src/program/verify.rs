//! The verifier of programs.

use super::{Call, Function, Parameter, Predicate, Program, StatementBlock};
use crate::hop::HopDag;
use crate::verifier::VerifierErrors;
use std::collections::HashSet;

impl Program {
    /// Checks every rule of well-formed programs.
    ///
    /// # Errors
    /// All broken rules: those of the DAGs, calls that do not suit the functions they name, predicates without their
    /// one output.
    pub fn verify(&self) -> Result<(), VerifierErrors> {
        let mut verifier = Verifier { program: self, errors: VerifierErrors::default() };
        for (name, function) in &self.functions {
            verifier.function(name, function);
        }
        verifier.statements("program", &self.body);
        verifier.errors.finish(())
    }
}

struct Verifier<'a> {
    program: &'a Program,
    errors: VerifierErrors,
}

impl Verifier<'_> {
    fn function(&mut self, name: &str, function: &Function) {
        let entity = format!("function {name}");
        self.errors.check(function.name == name, &entity, format!("its own name is {}", function.name));
        self.parameters(&entity, "parameter", &function.parameters);
        self.parameters(&entity, "result", &function.results);
        self.statements(&entity, &function.body);
    }

    fn parameters(&mut self, entity: &str, noun: &str, parameters: &[Parameter]) {
        let mut names = HashSet::new();
        for parameter in parameters {
            let is_new = names.insert(&parameter.name);
            self.errors.check(is_new, entity, format!("the {noun} {} is declared twice", parameter.name));
            self.errors
                .check_result(parameter.data_type.check_computes(), format_args!("{entity}, {}", parameter.name));
        }
    }

    /// Blocks are named by their 0-based positions in what holds them.
    fn statements(&mut self, parent: &str, blocks: &[StatementBlock]) {
        for (position, block) in blocks.iter().enumerate() {
            self.statement(&format!("{parent}, {} {position}", block.keyword()), block);
        }
    }

    fn statement(&mut self, entity: &str, block: &StatementBlock) {
        match block {
            StatementBlock::Basic(dag) => self.dag(entity, dag),
            StatementBlock::Call(call) => self.call(entity, call),
            StatementBlock::If { predicate, then_body, else_body, .. } => {
                self.predicate(&format!("{entity} predicate"), predicate);
                self.statements(&format!("{entity} then"), then_body);
                self.statements(&format!("{entity} else"), else_body);
            }
            StatementBlock::While { predicate, body, .. } => {
                self.predicate(&format!("{entity} predicate"), predicate);
                self.statements(entity, body);
            }
            StatementBlock::For { from, to, by, body, .. } => {
                self.predicate(&format!("{entity} from"), from);
                self.predicate(&format!("{entity} to"), to);
                if let Some(by) = by {
                    self.predicate(&format!("{entity} by"), by);
                }
                self.statements(entity, body);
            }
        }
    }

    fn dag(&mut self, entity: &str, dag: &HopDag) {
        if let Err(errors) = dag.verify() {
            self.errors.extend_from(entity, errors);
        }
    }

    fn call(&mut self, entity: &str, call: &Call) {
        self.dag(entity, &call.arguments);
        if call.is_evaluation() {
            let is_named = call.arguments.outputs.iter().any(|argument| argument.name == Call::EVALUATED);
            self.errors.check(is_named, entity, format!("the argument {} is missing", Call::EVALUATED));
            let count = call.targets.len();
            self.errors.check(count == 1, entity, format!("what a text names has one target, not {count}"));
            return;
        }
        let Some(function) = self.program.functions.get(&call.function) else {
            self.errors.push(entity, format!("the function {} does not exist", call.function));
            return;
        };
        for argument in &call.arguments.outputs {
            let is_known = function.parameters.iter().any(|parameter| parameter.name == argument.name);
            let message = format!("{} has no parameter {}", call.function, argument.name);
            self.errors.check(is_known, entity, message);
        }
        for parameter in &function.parameters {
            let is_given = call.arguments.outputs.iter().any(|argument| argument.name == parameter.name);
            let message = format!("the argument {} of {} is missing", parameter.name, call.function);
            self.errors.check(is_given, entity, message);
        }
        let (expected, actual) = (function.results.len(), call.targets.len());
        let message = format!("{} has {expected} results, but the call has {actual} targets", call.function);
        self.errors.check(expected == actual, entity, message);
    }

    fn predicate(&mut self, entity: &str, predicate: &Predicate) {
        self.statements(&format!("{entity} prelude"), &predicate.prelude);
        self.dag(entity, &predicate.dag);
        let [output] = predicate.dag.outputs.as_slice() else {
            let count = predicate.dag.outputs.len();
            self.errors.push(entity, format!("a predicate has one output, not {count}"));
            return;
        };
        let expected = Predicate::VALUE;
        self.errors.check(output.name == expected, entity, format!("the output is {}, not {expected}", output.name));
        let is_matrix = predicate.dag.hops.get(output.hop).is_some_and(crate::hop::Hop::is_matrix);
        self.errors.check(!is_matrix, entity, "the value of a predicate is a scalar");
    }
}

impl StatementBlock {
    /// The keyword of the block's text form.
    fn keyword(&self) -> &'static str {
        match self {
            StatementBlock::Basic(_) => "block",
            StatementBlock::Call(_) => "call",
            StatementBlock::If { .. } => "if",
            StatementBlock::While { .. } => "while",
            StatementBlock::For { parallel: false, .. } => "for",
            StatementBlock::For { parallel: true, .. } => "parfor",
        }
    }
}
