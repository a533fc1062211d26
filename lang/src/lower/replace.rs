//! Calls of `replace`. In matrices numbers may be written as texts: `replace(target=X, pattern="NaN", replacement=0)`.

use super::builtin::Bind;
use super::{Lowered, Lowerer};
use crate::diagnostic::Diagnostic;
use fuseline_ir::hop::{CastOp, FrameFunction, Function, HopId, HopOp};
use fuseline_ir::ops::TernaryOp;
use fuseline_ir::types::{DataType, Value};

impl Lowerer<'_> {
    pub(super) fn replace(&mut self, call: &Bind<'_>) -> Lowered<HopId> {
        let target = self.required_argument(call, 0)?;
        if self.blocks.dag[target].data_type == DataType::Frame {
            let inputs = [target, self.required_argument(call, 1)?, self.required_argument(call, 2)?];
            let function = Function::Frame(FrameFunction::ReplaceCells);
            return self.add(HopOp::Parameterized { function, names: Vec::new() }, &inputs, call.span);
        }
        let (pattern, replacement) = (self.number_or_text(call, 1)?, self.number_or_text(call, 2)?);
        self.add(HopOp::Ternary(TernaryOp::Replace), &[target, pattern, replacement], call.span)
    }

    /// An argument that is a number, or a text that says one.
    fn number_or_text(&mut self, call: &Bind<'_>, position: usize) -> Lowered<HopId> {
        let value = self.required_argument(call, position)?;
        if self.blocks.dag[value].data_type != DataType::STR {
            return Ok(value);
        }
        let place = call.bound.slots[position].map_or(call.span, |argument| argument.span);
        let Some(Value::Str(text)) = self.blocks.dag.literal_value(value) else {
            return self.add(HopOp::Cast(CastOp::AsDouble), &[value], place);
        };
        match text.trim().parse() {
            Ok(number) => Ok(self.literal(Value::F64(number), place)),
            Err(_) => {
                let (function, parameter) = (call.builtin.name, call.builtin.parameters[position].name);
                let message = format!("`{function}` needs a number as `{parameter}`, not {text:?}");
                let error = Diagnostic::new(place, message).here("says no number");
                self.report(error.help("write a number, or \"NaN\", \"Infinity\" or \"-Infinity\""))
            }
        }
    }
}
