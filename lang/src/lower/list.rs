//! `list(...)`, whose arguments have names of their own.

use super::{Lowered, Lowerer};
use crate::ast::Call;
use crate::diagnostic::Diagnostic;
use fuseline_ir::hop::{Function, HopId, HopOp, Span};
use std::collections::BTreeMap;

impl Lowerer<'_> {
    /// A list of the arguments: first those without a name, then those with one.
    pub(super) fn list(&mut self, call: &Call, span: Span) -> Lowered<HopId> {
        let mut first_of_name = BTreeMap::new();
        let (mut inputs, mut names) = (Vec::new(), Vec::new());
        for argument in &call.arguments {
            match &argument.name {
                Some(name) => {
                    if let Some(first) = first_of_name.insert(name.text.as_str(), name.span) {
                        let message = format!("the list has two elements `{}`", name.text);
                        let error = Diagnostic::new(name.span, message).here("again here");
                        return self.report(error.label(first, "first here"));
                    }
                    names.push(name.text.clone());
                }
                None if names.is_empty() => {}
                None => {
                    let message = "an element of a list without a name follows one with a name";
                    let error = Diagnostic::new(argument.value.span, message).here("without a name");
                    return self.report(error.help("give all later elements a name"));
                }
            }
            inputs.push(self.expression(&argument.value)?);
        }
        self.add(HopOp::Parameterized { function: Function::List, names }, &inputs, span)
    }
}
