//! `eval`: calls of functions that a text names at run time.

use crate::error::{RuntimeError, RuntimeErrorKind};
use crate::value::{RuntimeValue, Variables};
use fuseline_ir::Value;
use fuseline_ir::hop::Span;
use fuseline_ir::program::{Call, EvaluatedArgument, Evaluation, Program, Source};
use std::error::Error;
use std::sync::Arc;

/// Makes programs of calls of what texts name.
pub trait Evaluator: Sync {
    /// A program that makes the call, from a program of these sources; its own sources begin with them.
    ///
    /// # Errors
    /// There is no such function, or it does not take these arguments.
    fn program(&self, evaluation: &Evaluation, sources: &[Source]) -> Result<Program, Box<dyn Error + Send + Sync>>;
}

/// The programs of one run.
pub(crate) struct Evaluations<'a> {
    evaluator: &'a dyn Evaluator,
    kept: &'a mut Vec<(Evaluation, Option<Arc<Program>>)>,
}

impl<'a> Evaluations<'a> {
    pub(crate) fn new(evaluator: &'a dyn Evaluator, kept: &'a mut Vec<(Evaluation, Option<Arc<Program>>)>) -> Self {
        Evaluations { evaluator, kept }
    }

    /// The program of a call with these values. Values are no part of it, unless the function needs them before it runs.
    pub(crate) fn program(
        &mut self,
        mut evaluation: Evaluation,
        values: &Variables,
        sources: &[Source],
    ) -> Result<Arc<Program>, RuntimeError> {
        match self.known(&evaluation) {
            Some(Some(program)) => return Ok(program),
            // It failed before without constants.
            Some(None) => {}
            None => {
                if let Ok(program) = self.make(&evaluation, sources) {
                    return Ok(program);
                }
            }
        }
        let elements = evaluation.elements.iter_mut().flatten();
        for argument in evaluation.arguments.iter_mut().chain(elements) {
            argument.constant = match values.get(&argument.variable) {
                Some(RuntimeValue::Scalar(value @ (Value::Str(_) | Value::Bool(_)))) => Some(value.clone()),
                _ => None,
            };
        }
        match self.known(&evaluation).flatten() {
            Some(program) => Ok(program),
            None => self.make(&evaluation, sources),
        }
    }

    fn known(&self, evaluation: &Evaluation) -> Option<Option<Arc<Program>>> {
        self.kept.iter().find(|(known, _)| known == evaluation).map(|(_, program)| program.clone())
    }

    fn make(&mut self, evaluation: &Evaluation, sources: &[Source]) -> Result<Arc<Program>, RuntimeError> {
        let program = self.evaluator.program(evaluation, sources).map(Arc::new);
        self.kept.push((evaluation.clone(), program.as_ref().ok().cloned()));
        program.map_err(|error| RuntimeErrorKind::Evaluation(error.to_string()).at(Some(evaluation.place)))
    }
}

/// The call of what the value of [`Call::EVALUATED`] names, and the variables of its arguments.
pub(crate) fn evaluation_of(
    call: &Call,
    place: Span,
    mut values: Variables,
) -> Result<(Evaluation, Variables), RuntimeError> {
    let function = match values.remove(Call::EVALUATED) {
        Some(RuntimeValue::Scalar(Value::Str(text))) => text,
        other => {
            let actual = other.as_ref().map_or("nothing".to_owned(), RuntimeValue::describe);
            let operation = "the name of a function".to_owned();
            return Err(RuntimeErrorKind::Type { operation, expected: "a text", actual }.at(Some(place)));
        }
    };
    let mut variables = Variables::new();
    let mut arguments = Vec::new();
    for output in call.arguments.outputs.iter().filter(|output| output.name != Call::EVALUATED) {
        let Some(value) = values.remove(&output.name) else { continue };
        let name = Some(output.name.clone()).filter(|name| !name.starts_with('_'));
        let variable = format!("_argument{}", arguments.len() + 1);
        arguments.push(EvaluatedArgument {
            name,
            variable: variable.clone(),
            data_type: value.data_type(),
            constant: None,
        });
        variables.insert(variable, value);
    }
    let list = match (arguments.as_slice(), variables.values().next()) {
        ([EvaluatedArgument { name: None, .. }], Some(RuntimeValue::List(list))) => Some(Arc::clone(list)),
        _ => None,
    };
    let elements = list.map(|list| {
        let elements = list.elements.iter().enumerate().map(|(position, element)| {
            let variable = format!("_element{}", position + 1);
            variables.insert(variable.clone(), element.value.clone());
            let data_type = element.value.data_type();
            EvaluatedArgument { name: element.name.clone(), variable, data_type, constant: None }
        });
        elements.collect()
    });
    let all_results = call.function == Call::EVAL_LIST;
    Ok((Evaluation { function, place, arguments, elements, all_results }, variables))
}
