//! Calls of functions that have effects or named arguments.

use super::bind::type_name;
use super::builtin::Bind;
use super::{Lowered, Lowerer};
use crate::diagnostic::Diagnostic;
use crate::load::BYTE_ORDER_MARK;
use fuseline_ir::hop::{Function, Hop, HopId, HopOp};
use fuseline_ir::size::SizeInfo;
use fuseline_ir::types::{DataType, Value};
use serde::Deserialize;
use std::path::Path;

/// What decides the type of a `read`, in the `.mtd` file beside a data file.
#[derive(Debug, Default, Deserialize)]
struct Description {
    data_type: Option<String>,
    value_type: Option<String>,
}

impl Lowerer<'_> {
    /// Leading parameters become inputs by position, others named inputs.
    pub(super) fn function_call(&mut self, call: &Bind<'_>, function: Function) -> Lowered<HopId> {
        let (mut inputs, mut names) = (Vec::new(), Vec::new());
        for (position, (parameter, argument)) in call.builtin.parameters.iter().zip(&call.bound.slots).enumerate() {
            let Some(argument) = argument else { continue };
            inputs.push(self.expression(argument)?);
            if position >= function.positional_inputs() {
                names.push(parameter.name.to_owned());
            }
        }
        self.check_function(call, function, &inputs, &names)?;
        let id = self.add(HopOp::Parameterized { function, names }, &inputs, call.span)?;
        if function == Function::Read {
            self.declare_read(call, id)?;
        }
        Ok(id)
    }

    /// `print(value)` of any value, or `print(format, values...)` of numbers and texts.
    pub(super) fn print(&mut self, call: &Bind<'_>) -> Lowered<HopId> {
        let inputs = self.inputs(call)?;
        let is_open = |input: HopId| {
            let data_type = self.blocks.dag[input].data_type;
            data_type.is_scalar() || data_type == DataType::Unknown
        };
        let given = call.bound.slots.iter().flatten().chain(&call.bound.rest).zip(&inputs);
        let wrong = given.filter(|_| inputs.len() > 1).find(|(_, input)| !is_open(**input));
        if let Some((argument, input)) = wrong {
            let found = type_name(self.blocks.dag[*input].data_type);
            let message = format!("`print` puts numbers and texts into a format, not {found}");
            let error = Diagnostic::new(argument.span, message).here("here");
            return self.report(error.help("convert it with `toString(...)`"));
        }
        self.add(HopOp::Parameterized { function: Function::Print, names: Vec::new() }, &inputs, call.span)
    }

    /// Gives a `read` the type and the dimensions that its arguments state; the type may also stand in a `.mtd` file.
    fn declare_read(&mut self, call: &Bind<'_>, id: HopId) -> Lowered<()> {
        let description = self.description_of_file(id);
        let stated = |name: &str, described: Option<&String>| {
            self.named_text(id, name).or_else(|| described.map(|text| text.to_lowercase()))
        };
        let data_type = stated("data_type", description.data_type.as_ref());
        let value_type = stated("value_type", description.value_type.as_ref());
        let is_scalar = match data_type.as_deref() {
            None | Some("matrix") => false,
            Some("scalar") => true,
            Some("frame") => {
                let hop = &mut self.blocks.dag.hops[id];
                (hop.data_type, hop.size) = (DataType::Frame, SizeInfo::UNKNOWN);
                return Ok(());
            }
            Some(other) => {
                let message = format!("`read` gives a matrix, a frame or a scalar; `{other}` is not supported");
                return self.report(Diagnostic::new(call.span, message));
            }
        };
        if !is_scalar {
            let count = |value: f64| (value >= 0.0).then_some(value as u64);
            let number = |name: &str| {
                let input = named_input(&self.blocks.dag[id], name)?;
                self.blocks.dag.literal_f64(input).and_then(count)
            };
            let size = SizeInfo { rows: number("rows"), cols: number("cols"), nnz: number("nnz") };
            let fits = size.nnz.zip(size.cells()).is_none_or(|(nnz, cells)| nnz <= cells);
            self.blocks.dag.hops[id].size = SizeInfo { nnz: size.nnz.filter(|_| fits), ..size };
            return Ok(());
        }
        self.blocks.dag.hops[id].data_type = match value_type.as_deref() {
            None | Some("double" | "fp64" | "fp32") => DataType::F64,
            Some("int" | "integer" | "int64" | "int32") => DataType::I64,
            Some("boolean") => DataType::BOOL,
            Some("string") => DataType::STR,
            Some(other) => {
                return self.report(Diagnostic::new(call.span, format!("there is no value type `{other}`")));
            }
        };
        Ok(())
    }

    /// What the `.mtd` file beside a data file says, as far as it is there already; the run time reports what is wrong
    /// with it.
    fn description_of_file(&self, id: HopId) -> Description {
        let file = self.blocks.dag[id].inputs.first().and_then(|&file| self.blocks.dag.literal_value(file));
        let Some(Value::Str(path)) = file else { return Description::default() };
        let text = (self.loader)(Path::new(&format!("{path}.mtd")));
        let parsed = |text: String| serde_json::from_str(text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text)).ok();
        text.ok().and_then(parsed).unwrap_or_default()
    }

    /// The text of a named input of an operator, in lower case, when it is a literal.
    fn named_text(&self, id: HopId, name: &str) -> Option<String> {
        let input = named_input(&self.blocks.dag[id], name)?;
        match self.blocks.dag.literal_value(input) {
            Some(Value::Str(text)) => Some(text.to_lowercase()),
            _ => None,
        }
    }

    fn check_function(
        &mut self,
        call: &Bind<'_>,
        function: Function,
        inputs: &[HopId],
        names: &[String],
    ) -> Lowered<()> {
        let named =
            |position: usize| names.get(position.checked_sub(function.positional_inputs())?).map(String::as_str);
        let takes_matrix = |position: usize| match function {
            Function::Write | Function::ToString | Function::RowIndexMax | Function::RowIndexMin => position == 0,
            Function::Order => position == 0 || named(position) == Some("by"),
            Function::RemoveEmpty => position == 0 || named(position) == Some("select"),
            Function::Table => position < function.positional_inputs(),
            Function::List | Function::Print => true,
            Function::Numeric(function) => function.takes_matrix(position),
            Function::Frame(function) => function.takes_matrix(position),
            Function::TransformDecode => position == 0,
            Function::Read | Function::Stop | Function::Assert | Function::Time => false,
            Function::Remove | Function::TransformEncode | Function::TransformApply | Function::TypeOf => false,
        };
        let wrong = (0..inputs.len()).find(|&at| self.blocks.dag[inputs[at]].is_matrix() && !takes_matrix(at));
        let Some(wrong) = wrong else { return Ok(()) };
        let place = self.blocks.dag[inputs[wrong]].span.unwrap_or(call.span);
        let given = call.builtin.parameters.iter().zip(&call.bound.slots).filter(|(_, slot)| slot.is_some());
        let parameter = given.map(|(parameter, _)| parameter.name).nth(wrong).unwrap_or_default();
        self.matrix_for_scalar(call.builtin.name, parameter, place)
    }
}

/// The input of this name; names are those of the last inputs.
fn named_input(hop: &Hop, name: &str) -> Option<HopId> {
    let HopOp::Parameterized { names, .. } = &hop.op else { return None };
    let position = names.iter().position(|known| known == name)?;
    hop.inputs.get(hop.inputs.len() - names.len() + position).copied()
}
