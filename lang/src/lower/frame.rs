//! Functions of frames, and comparisons of frames.

use super::builtin::Bind;
use super::{Lowered, Lowerer};
use crate::diagnostic::Diagnostic;
use fuseline_ir::cell_function;
use fuseline_ir::hop::{FrameFunction, Function, HopId, HopOp, Span};
use fuseline_ir::ops::BinaryOp;
use fuseline_ir::types::{DataType, Value};

impl Lowerer<'_> {
    pub(super) fn frame_call(&mut self, call: &Bind<'_>, function: FrameFunction) -> Lowered<HopId> {
        if function == FrameFunction::Map {
            self.check_cell_function(call)?;
        }
        self.function_call(call, Function::Frame(function))
    }

    /// Says what is wrong with the function that `map` applies, where it is constant; the run says it of others.
    fn check_cell_function(&mut self, call: &Bind<'_>) -> Lowered<()> {
        let Some(argument) = call.bound.slots[1] else { return Ok(()) };
        let function = self.expression(argument)?;
        let Some(Value::Str(text)) = self.blocks.dag.literal_value(function) else { return Ok(()) };
        match cell_function::parse_map(text) {
            Ok(_) => Ok(()),
            Err(error) => {
                let message = format!("`map` cannot apply this function: {}", error.message);
                let diagnostic = Diagnostic::new(argument.span, message);
                let at = format!("at character {} of the text", error.at);
                self.report(diagnostic.here(at).help("a function of cells is a text such as \"x -> x.toLowerCase()\""))
            }
        }
    }

    /// The comparison of a frame with another, cell by cell; `None` for other operations and operands.
    pub(super) fn frame_comparison(
        &mut self,
        op: BinaryOp,
        operands: [HopId; 2],
        span: Span,
    ) -> Option<Lowered<HopId>> {
        let is_comparison = op.algebra().boolean && !matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor);
        let compares_frame = operands.iter().any(|&operand| self.blocks.dag[operand].data_type == DataType::Frame);
        if !is_comparison || !compares_frame {
            return None;
        }
        let name = self.literal(Value::Str(op.dml().unwrap_or(op.mnemonic()).to_owned()), span);
        let function = Function::Frame(FrameFunction::Compare);
        let [left, right] = operands;
        Some(self.add(HopOp::Parameterized { function, names: Vec::new() }, &[left, right, name], span))
    }
}
