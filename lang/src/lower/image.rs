//! Convolution and pooling, whose shapes are lists of numbers.

use super::builtin::Bind;
use super::{Lowered, Lowerer};
use crate::diagnostic::Diagnostic;
use fuseline_ir::hop::{Function, HopId, HopOp, NumericFunction};
use fuseline_ir::types::Value;

impl Lowerer<'_> {
    /// `conv2d(input, filter, input_shape=[N,C,H,W], filter_shape=[F,C,h,w], stride=[..], padding=[..])`, or a gradient of
    /// it.
    pub(super) fn convolution(&mut self, call: &Bind<'_>, function: NumericFunction) -> Lowered<HopId> {
        let mut inputs = vec![self.required_argument(call, 0)?, self.required_argument(call, 1)?];
        let first = call.builtin.parameters.len() - 4;
        let image = self.numbers(call, first, 4, None)?;
        let filter = self.numbers(call, first + 1, 4, None)?;
        let (stride, padding) =
            (self.numbers(call, first + 2, 2, Some(1))?, self.numbers(call, first + 3, 2, Some(0))?);
        if function == NumericFunction::Conv2dBackwardFilter {
            inputs.push(filter[0]);
        }
        inputs.extend([&image[1..], &filter[2..], &stride, &padding].concat());
        self.numeric(function, Vec::new(), &inputs, call.span)
    }

    /// `max_pool(input, input_shape=[N,C,H,W], pool_size=[h,w], stride=[..], padding=[..])`, or a gradient of it, by its
    /// result as the second argument.
    pub(super) fn pool(&mut self, call: &Bind<'_>, function: NumericFunction) -> Lowered<HopId> {
        let matrices = (0..2).filter(|&position| function.takes_matrix(position)).count();
        let mut inputs: Vec<HopId> =
            (0..matrices).map(|position| self.required_argument(call, position)).collect::<Lowered<_>>()?;
        let image = self.numbers(call, matrices, 4, None)?;
        let window = self.numbers(call, matrices + 1, 2, None)?;
        let stride = self.numbers(call, matrices + 2, 2, Some(1))?;
        let padding = self.numbers(call, matrices + 3, 2, Some(0))?;
        inputs.extend([&image[1..], &window, &stride, &padding].concat());
        self.numeric(function, Vec::new(), &inputs, call.span)
    }

    /// The elements of an argument that is a list of so many, or as many defaults.
    fn numbers(&mut self, call: &Bind<'_>, position: usize, count: usize, default: Option<i64>) -> Lowered<Vec<HopId>> {
        let Some(list) = self.argument_or_default(call, position)? else {
            let value = Value::I64(default.unwrap_or_default());
            return Ok((0..count).map(|_| self.literal(value.clone(), call.span)).collect());
        };
        let hop = &self.blocks.dag[list];
        let is_list = matches!(hop.op, HopOp::Parameterized { function: Function::List, .. });
        if is_list && hop.inputs.len() == count {
            return Ok(hop.inputs.to_vec());
        }
        let (function, parameter) = (call.builtin.name, call.builtin.parameters[position].name);
        let place = call.bound.slots[position].map_or(call.span, |argument| argument.span);
        let message = format!("`{function}` needs a list of {count} numbers as `{parameter}`");
        let example = if count == 2 { "[1,1]" } else { "[N,C,H,W]" };
        let error = Diagnostic::new(place, message).here("not such a list");
        self.report(error.help(format!("write `{parameter}={example}`")))
    }
}
