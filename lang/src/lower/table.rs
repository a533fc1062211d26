//! Calls of `table`, whose dimensions may stand in the place of the weights.

use super::builtin::Bind;
use super::composed::table_of;
use super::{Lowered, Lowerer};
use crate::ast::Expression;
use crate::diagnostic::Diagnostic;
use fuseline_ir::hop::HopId;
use fuseline_ir::types::{DataType, Value};

impl Lowerer<'_> {
    /// `table(A, B)`, then weights, the two dimensions, or all three; then whether empty blocks are kept, which says
    /// how a result is stored and nothing of its cells.
    pub(super) fn table(&mut self, call: &Bind<'_>) -> Lowered<HopId> {
        let [Some(rows), Some(cols), weights, first, second, keeps_blocks] = call.bound.slots[..] else {
            unreachable!("the first two parameters are required")
        };
        let (weights, dims): (Option<&Expression>, Option<[&Expression; 2]>) = match (weights, first, second) {
            (weights, Some(first), Some(second)) => (weights, Some([first, second])),
            (Some(first), Some(second), None) | (Some(first), None, Some(second)) => (None, Some([first, second])),
            (weights, None, None) => (weights, None),
            (None, Some(alone), None) | (None, None, Some(alone)) => {
                let error = Diagnostic::new(alone.span, "`table` needs both dimensions or none").here("alone");
                return self.report(error.help("write `table(A, B, rows, columns)`"));
            }
        };
        let mut inputs = vec![self.expression(rows)?, self.expression(cols)?];
        inputs.push(match weights {
            Some(weights) => self.expression(weights)?,
            None => self.literal(Value::F64(1.0), call.span),
        });
        for (name, dimension) in ["dim1", "dim2"].into_iter().zip(dims.into_iter().flatten()) {
            let input = self.expression(dimension)?;
            if self.blocks.dag[input].is_matrix() {
                return self.matrix_for_scalar(call.builtin.name, name, dimension.span);
            }
            inputs.push(input);
        }
        if let Some(flag) = keeps_blocks {
            let value = self.expression(flag)?;
            if !matches!(self.blocks.dag[value].data_type, DataType::BOOL | DataType::Unknown) {
                let error = Diagnostic::new(flag.span, "`table` needs a truth value as `outputEmptyBlocks`");
                return self.report(error.here("must be TRUE or FALSE"));
            }
        }
        let names: &[&str] = if dims.is_some() { &["dim1", "dim2"] } else { &[] };
        self.add(table_of(names), &inputs, call.span)
    }
}
