//! Size propagation within one DAG.
//!
//! `nrow`, `ncol` and `length` of known sizes become literals. Other scalars that are known (constants of earlier
//! blocks, values at recompilation) become literals only where a size hangs on them, as in `matrix(0, rows=n, cols=1)`:
//! elsewhere they stay inputs, or every iteration of a loop would compile its own operators. Constant propagation, which
//! knows what the text of the program alone says, makes literals of all of them.

use super::environment::{FileSizes, NoFiles, SizeEnvironment, VariableFacts};
use super::error::ValidationError;
use crate::rewrite::fold::fold;
use cranelift_entity::{EntitySet, SecondaryMap};
use fuseline_ir::SizeInfo;
use fuseline_ir::hop::infer::{self, ShapeError};
use fuseline_ir::hop::{DataGenOp, Function, Hop, HopDag, HopId, HopOp, HopOutput, Inputs, ShapeOp};
use fuseline_ir::types::{DataType, Value};
use std::collections::BTreeSet;

/// Which scalars of known value become literals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Literals {
    /// Those that sizes hang on.
    OfSizes,
    /// All of them.
    Everywhere,
}

/// Recomputes types and sizes of all operators of a DAG from what is known of its variables; variables that the
/// environment lacks keep what the DAG says. Ids may change.
///
/// # Errors
/// Shapes or types do not fit; the DAG is then unchanged.
pub fn propagate_dag(dag: &mut HopDag, environment: &SizeEnvironment) -> Result<(), ValidationError> {
    let mut environment = environment.clone();
    *dag = propagate(dag, &mut environment, &NoFiles, Literals::OfSizes)?;
    Ok(())
}

/// The DAG with sizes under `environment`, which then holds the facts of the DAG's outputs too.
pub(super) fn propagate(
    dag: &HopDag,
    environment: &mut SizeEnvironment,
    files: &dyn FileSizes,
    wanted: Literals,
) -> Result<HopDag, ValidationError> {
    let mut propagation = Propagation {
        environment,
        files,
        wanted,
        result: HopDag::new(),
        constants: SecondaryMap::new(),
        literals: Vec::new(),
    };
    let mut new_ids = SecondaryMap::with_default(HopId::from_u32(0));
    for (id, hop) in &dag.hops {
        let inputs: Inputs = hop.inputs.iter().map(|&input| new_ids[input]).collect();
        new_ids[id] = propagation.operator(hop, inputs)?;
    }
    let Propagation { mut result, constants, .. } = propagation;
    let output = |output: &HopOutput| HopOutput { name: output.name.clone(), hop: new_ids[output.hop] };
    result.outputs = dag.outputs.iter().map(output).collect();
    result.effects = dag.effects.iter().map(|&effect| new_ids[effect]).collect();
    result.covers.clone_from(&dag.covers);
    for cover in &mut result.covers {
        cover.roots.iter_mut().chain(&mut cover.members).for_each(|member| *member = new_ids[*member]);
    }
    for output in &result.outputs {
        let hop = &result[output.hop];
        let value = constants[output.hop].clone();
        let origin = match &hop.op {
            HopOp::Read(name) => environment.get(name).and_then(|facts| facts.origin),
            _ => None,
        };
        let facts = VariableFacts { data_type: hop.data_type, size: hop.size, value, origin: origin.or(hop.span) };
        environment.set(&output.name, facts);
    }
    Ok(result)
}

struct Propagation<'a> {
    environment: &'a SizeEnvironment,
    files: &'a dyn FileSizes,
    wanted: Literals,
    result: HopDag,
    /// Values of scalars that are known, of operators of the result.
    constants: SecondaryMap<HopId, Option<Value>>,
    /// Literals that replaced other scalars.
    literals: Vec<HopId>,
}

impl Propagation<'_> {
    fn operator(&mut self, hop: &Hop, mut inputs: Inputs) -> Result<HopId, ValidationError> {
        let (op, (data_type, size)) = match &hop.op {
            HopOp::Read(name) => return Ok(self.variable(name, hop)),
            HopOp::Literal(value) => return Ok(self.push(hop.clone(), Some(value.clone()))),
            HopOp::Parameterized { function: Function::Read, names } => {
                (&hop.op, self.file(names, hop.data_type, &inputs))
            }
            HopOp::SpoofOp { .. } => (&hop.op, (hop.data_type, hop.size)),
            op => {
                let shape = self.infer(op, &mut inputs);
                (op, shape.map_err(|error| self.error(error, &inputs, hop))?)
            }
        };
        if let (HopOp::Shape(shape), Some(&input)) = (op, inputs.first())
            && let Some(count) = shape_fact(*shape, &self.result[input].size)
        {
            return Ok(self.push_literal(Value::I64(count), hop));
        }
        let data_type = if data_type == DataType::Unknown { hop.data_type } else { data_type };
        let constants: Option<Vec<&Value>> = inputs.iter().map(|&input| self.constants[input].as_ref()).collect();
        let constant = constants.filter(|_| op.is_pure() && !inputs.is_empty());
        let constant = constant.and_then(|values| fold(op, data_type, &values));
        if let (Some(value), Literals::Everywhere) = (&constant, self.wanted) {
            return Ok(self.push_literal(value.clone(), hop));
        }
        Ok(self.push(Hop { op: op.clone(), inputs, data_type, size, span: hop.span }, constant))
    }

    fn push(&mut self, hop: Hop, constant: Option<Value>) -> HopId {
        let id = self.result.push(hop);
        self.constants[id] = constant;
        id
    }

    fn push_literal(&mut self, value: Value, replaced: &Hop) -> HopId {
        let data_type = DataType::Scalar(value.scalar_type());
        let op = HopOp::Literal(value.clone());
        let hop = Hop { op, inputs: Inputs::new(), data_type, size: SizeInfo::UNKNOWN, span: replaced.span };
        self.push(hop, Some(value))
    }

    fn error(&self, error: ShapeError, inputs: &[HopId], hop: &Hop) -> ValidationError {
        let origin = |name: &str| self.environment.get(name).and_then(|facts| facts.origin);
        ValidationError::new(error, &self.result, inputs, hop.span, origin)
    }

    fn variable(&mut self, name: &str, hop: &Hop) -> HopId {
        match self.environment.get(name) {
            Some(VariableFacts { value: Some(value), .. }) if self.wanted == Literals::Everywhere => {
                self.push_literal(value.clone(), hop)
            }
            Some(facts) => {
                let known = facts.data_type != DataType::Unknown;
                let data_type = if known { facts.data_type } else { hop.data_type };
                self.push(Hop { data_type, size: facts.size, ..hop.clone() }, facts.value.clone())
            }
            None => self.push(hop.clone(), None),
        }
    }

    /// Type and size of `read(path, rows=.., cols=..)`: arguments first, then the file's metadata.
    fn file(&self, names: &[String], data_type: DataType, inputs: &[HopId]) -> (DataType, SizeInfo) {
        if data_type.is_scalar() || data_type == DataType::Frame {
            return (data_type, SizeInfo::UNKNOWN);
        }
        let of_file = match inputs.first().and_then(|&path| self.constants[path].as_ref()) {
            Some(Value::Str(path)) => self.files.size(path).unwrap_or(SizeInfo::UNKNOWN),
            _ => SizeInfo::UNKNOWN,
        };
        let argument = |name: &str| {
            let position = names.iter().position(|other| other == name)? + inputs.len() - names.len();
            let value = self.constants[inputs[position]].as_ref()?.as_f64()?;
            (value >= 0.0).then_some(value as u64)
        };
        let rows = argument("rows").or(of_file.rows);
        let cols = argument("cols").or(of_file.cols);
        let nnz = argument("nnz").or(of_file.nnz);
        (DataType::Matrix, SizeInfo { rows, cols, nnz })
    }

    /// Type and size by inference; where a dimension stays unknown, known scalars that decide it become literals.
    fn infer(&mut self, op: &HopOp, inputs: &mut Inputs) -> Result<(DataType, SizeInfo), ShapeError> {
        let mut shape = infer::output(&self.result, op, inputs)?;
        for group in size_inputs(op) {
            let is_known = |position: &usize| self.constants[inputs[*position]].is_some();
            if shape.1.known_dims().is_some() || !group.iter().all(is_known) {
                continue;
            }
            let mut replaced = inputs.clone();
            for &position in *group {
                replaced[position] = self.as_literal(inputs[position]);
            }
            let better = infer::output(&self.result, op, &replaced)?;
            if known_dims(&better.1) > known_dims(&shape.1) {
                (shape, *inputs) = (better, replaced);
            }
        }
        Ok(shape)
    }

    /// The literal of a scalar that is known.
    fn as_literal(&mut self, id: HopId) -> HopId {
        let Some(value) = self.constants[id].clone().filter(|_| self.result.literal_value(id).is_none()) else {
            return id;
        };
        let same = |literal: &&HopId| self.result.literal_value(**literal).is_some_and(|other| other.same_bits(&value));
        if let Some(&literal) = self.literals.iter().find(same) {
            return literal;
        }
        let replaced = self.result[id].clone();
        let literal = self.push_literal(value, &replaced);
        self.literals.push(literal);
        literal
    }
}

/// Groups of inputs that together decide a dimension of the output.
fn size_inputs(op: &HopOp) -> &'static [&'static [usize]] {
    match op {
        HopOp::DataGen(DataGenOp::Matrix) => &[&[1], &[2]],
        HopOp::DataGen(DataGenOp::Rand) => &[&[0], &[1]],
        HopOp::DataGen(DataGenOp::Seq) => &[&[0, 1, 2]],
        HopOp::Index => &[&[1, 2], &[3, 4]],
        _ => &[],
    }
}

/// The scalar variables of whose values dimensions hang that are unknown in a DAG with sizes.
pub fn size_variables(dag: &HopDag) -> BTreeSet<String> {
    let mut decides = EntitySet::new();
    for hop in dag.hops.values().filter(|hop| hop.is_matrix() && hop.size.known_dims().is_none()) {
        for &position in size_inputs(&hop.op).iter().copied().flatten() {
            decides.insert(hop.inputs[position]);
        }
    }
    let mut names = BTreeSet::new();
    for (id, hop) in dag.hops.iter().rev().filter(|(_, hop)| !hop.is_matrix()) {
        if decides.contains(id) {
            hop.inputs.iter().for_each(|&input| _ = decides.insert(input));
            if let HopOp::Read(name) = &hop.op {
                names.insert(name.clone());
            }
        }
    }
    names
}

fn known_dims(size: &SizeInfo) -> usize {
    usize::from(size.rows.is_some()) + usize::from(size.cols.is_some())
}

fn shape_fact(op: ShapeOp, size: &SizeInfo) -> Option<i64> {
    let count = match op {
        ShapeOp::Nrow => size.rows?,
        ShapeOp::Ncol => size.cols?,
        ShapeOp::Length => size.rows?.checked_mul(size.cols?)?,
    };
    i64::try_from(count).ok()
}

/// The text form of a DAG after [`propagate_dag`] from the sizes of its own reads, or the error.
pub fn explain_sizes(dag: &HopDag) -> String {
    let mut dag = dag.clone();
    match propagate_dag(&mut dag, &SizeEnvironment::new()) {
        Ok(()) => format!("{dag}\n"),
        Err(error) => format!("error: {error}\n"),
    }
}
