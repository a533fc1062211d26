//! Size propagation within one DAG.
//!
//! `nrow`, `ncol` and `length` of known sizes become literals. Other scalars that are known (constants of earlier
//! blocks, values at recompilation) become literals only where a size says the same, as in `matrix(0, rows=n, cols=1)`:
//! elsewhere they stay inputs, or every iteration of a loop would compile its own operators. Of a range as `X[a:b, ]`
//! the values give the size alone. Constant propagation, which knows what the text of the program alone says, makes
//! literals of all of them.

use super::environment::{FileSizes, NoFiles, SizeEnvironment, VariableFacts};
use super::error::ValidationError;
use crate::fold::fold;
use cranelift_entity::{EntitySet, SecondaryMap};
use fuseline_ir::SizeInfo;
use fuseline_ir::hop::infer::{self, ShapeError};
use fuseline_ir::hop::{DataGenOp, Function, Hop, HopDag, HopId, HopOp, HopOutput, Inputs, ShapeOp};
use fuseline_ir::types::{DataType, Value};
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// Which scalars of known value become literals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Literals {
    /// Literals that sizes tell.
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
        may_be_missing: SecondaryMap::new(),
        literals: Vec::new(),
    };
    let mut new_ids = SecondaryMap::with_default(HopId::from_u32(0));
    for (id, hop) in &dag.hops {
        let inputs: Inputs = hop.inputs.iter().map(|&input| new_ids[input]).collect();
        new_ids[id] = propagation.operator(hop, inputs)?;
    }
    let Propagation { mut result, constants, may_be_missing, .. } = propagation;
    for HopOutput { name, hop } in &dag.outputs {
        result.outputs.push(HopOutput { name: name.clone(), hop: new_ids[*hop] });
    }
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
        let &Hop { data_type, size, span, .. } = hop;
        let may_be_missing = may_be_missing[output.hop];
        let facts = VariableFacts { data_type, size, value, may_be_missing, origin: origin.or(span) };
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
    /// Whether operators of the result, or what they need, may fail. What is computed before a block runs is there.
    may_be_missing: SecondaryMap<HopId, bool>,
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
            let count = Value::I64(count);
            if !self.may_be_missing[input] {
                return Ok(self.push_literal(count, hop));
            }
            return Ok(self.push(Hop { inputs, data_type, size, ..hop.clone() }, Some(count)));
        }
        let data_type = if data_type == DataType::Unknown { hop.data_type } else { data_type };
        let constants: Option<Vec<&Value>> = inputs.iter().map(|&input| self.constants[input].as_ref()).collect();
        let constant = constants.filter(|_| op.is_pure() && !inputs.is_empty());
        let constant = constant.and_then(|values| fold(op, data_type, &values));
        if let (Some(value), Literals::Everywhere, false) = (&constant, self.wanted, self.may_lack(&inputs)) {
            return Ok(self.push_literal(value.clone(), hop));
        }
        Ok(self.push(Hop { op: op.clone(), inputs, data_type, size, span: hop.span }, constant))
    }

    /// Whether one of these operators may have no value.
    fn may_lack(&self, inputs: &[HopId]) -> bool {
        inputs.iter().any(|&input| self.may_be_missing[input])
    }

    fn push(&mut self, hop: Hop, constant: Option<Value>) -> HopId {
        let may_be_missing = self.may_lack(&hop.inputs) || self.result.may_fail(&hop.op, &hop.inputs);
        let id = self.result.push(hop);
        self.constants[id] = constant;
        self.may_be_missing[id] = may_be_missing;
        id
    }

    fn push_literal(&mut self, value: Value, replaced: &Hop) -> HopId {
        let data_type = DataType::Scalar(value.scalar_type());
        let op = HopOp::Literal(value.clone());
        let hop = Hop { op, inputs: Inputs::new(), data_type, size: SizeInfo::UNKNOWN, span: replaced.span };
        self.push(hop, Some(value))
    }

    fn error(&self, error: ShapeError, inputs: &[HopId], hop: &Hop) -> ValidationError {
        ValidationError::new(error, &self.result, inputs, hop.span, |name| self.environment.get(name)?.origin)
    }

    fn variable(&mut self, name: &str, hop: &Hop) -> HopId {
        match self.environment.get(name) {
            Some(VariableFacts { value: Some(value), may_be_missing: false, .. })
                if self.wanted == Literals::Everywhere =>
            {
                self.push_literal(value.clone(), hop)
            }
            Some(facts) => {
                let known = facts.data_type != DataType::Unknown;
                let data_type = if known { facts.data_type } else { hop.data_type };
                let read = self.push(Hop { data_type, size: facts.size, ..hop.clone() }, facts.value.clone());
                self.may_be_missing[read] = facts.may_be_missing && self.wanted == Literals::Everywhere;
                read
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
        let [rows, cols, nnz] = ["rows", "cols", "nnz"].map(|name| argument(names, inputs, name));
        let size = SizeInfo {
            rows: rows.and_then(|id| count(self.constants[id].as_ref()?.as_f64()?)).or(of_file.rows),
            cols: cols.and_then(|id| count(self.constants[id].as_ref()?.as_f64()?)).or(of_file.cols),
            nnz: nnz.and_then(|id| count(self.result.literal_f64(id)?)).or(of_file.nnz),
        };
        (DataType::MATRIX, size)
    }

    /// Type and size by inference. Where a dimension stays unknown but the scalars that decide it have values, it comes
    /// from these, and the scalars become literals if it is what they say and no more.
    fn infer(&mut self, op: &HopOp, inputs: &mut Inputs) -> Result<(DataType, SizeInfo), ShapeError> {
        let shape = infer::output(&self.result, op, inputs)?;
        let mut open: SmallVec<[&[usize]; 2]> = SmallVec::new();
        for (group, dimension) in size_inputs(op).iter().zip(dims(&shape.1)) {
            if dimension.is_none() && group.iter().all(|&position| self.constants[inputs[position]].is_some()) {
                open.push(group);
            }
        }
        if open.is_empty() {
            return Ok(shape);
        }
        let (scratch, evaluated) = self.evaluated(inputs, &open.concat());
        let shape = infer::output(&scratch, op, &evaluated)?;
        for (group, dimension) in size_inputs(op).iter().zip(dims(&shape.1)) {
            if open.contains(group) && dimension.is_some_and(|dimension| self.tells_all(op, inputs, group, dimension)) {
                group.iter().for_each(|&position| inputs[position] = self.as_literal(inputs[position]));
            }
        }
        Ok(shape)
    }

    /// Leaves like the inputs, with the values of those at these positions.
    fn evaluated(&self, inputs: &[HopId], positions: &[usize]) -> (HopDag, Inputs) {
        let mut scratch = HopDag::new();
        let mut leaves = Inputs::new();
        for (position, &input) in inputs.iter().enumerate() {
            let has_value = positions.contains(&position);
            let same =
                (0..position).find(|earlier| inputs[*earlier] == input && positions.contains(earlier) == has_value);
            let leaf = same.map(|earlier| leaves[earlier]).unwrap_or_else(|| {
                let hop = &self.result[input];
                let value = self.constants[input].clone().filter(|_| has_value);
                let op = value.map_or_else(|| hop.op.clone(), HopOp::Literal);
                scratch.push(Hop { op, inputs: Inputs::new(), ..hop.clone() })
            });
            leaves.push(leaf);
        }
        (scratch, leaves)
    }

    /// Whether the extent of a dimension says all about the scalars that decide it: of the bounds only one is no literal,
    /// or they name the whole of a matrix. `X[i:(i + 9), ]` has one size for every `i`, and must not be compiled for
    /// each. The increment of a sequence mostly follows from its bounds.
    fn tells_all(&self, op: &HopOp, inputs: &[HopId], group: &[usize], extent: u64) -> bool {
        let bounds = group.iter().take(2).map(|&position| self.result.literal_value(inputs[position]));
        bounds.filter(Option::is_none).count() <= 1
            || *op == HopOp::Index && {
                let [rows, cols] = dims(&self.result[inputs[0]].size);
                let of_source = if group == ROWS_OF_RANGE { rows } else { cols };
                of_source == Some(extent)
            }
    }

    /// The literal of a scalar that is known.
    fn as_literal(&mut self, id: HopId) -> HopId {
        let is_open = self.result.literal_value(id).is_none() && !self.may_be_missing[id];
        let Some(value) = self.constants[id].clone().filter(|_| is_open) else { return id };
        for &literal in &self.literals {
            if self.result.literal_value(literal).is_some_and(|other| other.same_bits(&value)) {
                return literal;
            }
        }
        let replaced = self.result[id].clone();
        let literal = self.push_literal(value, &replaced);
        self.literals.push(literal);
        literal
    }
}

/// The inputs of [`HopOp::Index`] that decide the rows of its range.
const ROWS_OF_RANGE: &[usize] = &[1, 2];

/// The inputs that together decide the rows of the output, and those that decide its columns, where scalars do.
pub(crate) fn size_inputs(op: &HopOp) -> &'static [&'static [usize]] {
    match op {
        HopOp::DataGen(DataGenOp::Matrix) => &[&[1], &[2]],
        HopOp::DataGen(DataGenOp::Rand) => &[&[0], &[1]],
        HopOp::DataGen(DataGenOp::Seq) => &[&[0, 1, 2]],
        HopOp::Index => &[ROWS_OF_RANGE, &[3, 4]],
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

/// The named argument of a function; named ones are its last inputs.
fn argument(names: &[String], inputs: &[HopId], name: &str) -> Option<HopId> {
    Some(inputs[names.iter().position(|other| other == name)? + inputs.len() - names.len()])
}

/// The number that an argument says, if it is one.
fn count(value: f64) -> Option<u64> {
    (value >= 0.0).then_some(value as u64)
}

fn dims(size: &SizeInfo) -> [Option<u64>; 2] {
    [size.rows, size.cols]
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
