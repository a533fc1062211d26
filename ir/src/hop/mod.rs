//! HOP DAGs: directed acyclic graphs of high-level operators, one per last-level statement block (section 2.1).
//!
//! Ids index a vector and an input is always created before its user, so every DAG is in topological order by
//! construction. Operators are factored (operation, direction, inputs), never a product of these. Facts that passes
//! derive (memo tables, costs) live beside the DAG; sizes and the chosen fusion covers are part of its text form.

use crate::ops::{AggOp, BinaryOp, Direction, TernaryOp, UnaryOp};
use crate::size::SizeInfo;
use crate::types::{DataType, Value};
use cranelift_entity::{EntitySet, PrimaryMap, entity_impl};
use smallvec::SmallVec;

mod evaluated;
mod expression;
mod failure;
mod frame;
mod fused;
pub mod infer;
mod numeric;
mod operator;
mod parse;
mod print;
#[cfg(test)]
mod tests;
mod verify;

pub use crate::template::TemplateType;
pub use evaluated::ProductForm;
pub use expression::Expression;
pub use frame::FrameFunction;
pub use fused::{ChainWeight, FusedOp, LossWeight, OuterAggregate, ProductWeight, Side};
pub use numeric::NumericFunction;
pub use operator::{CastOp, DataGenOp, Function, HopOp, NaryOp, OperatorId, ReorgOp, ShapeOp};
pub(crate) use parse::BodyParser;
pub use parse::parse;
pub use print::NamedHopDag;
pub use verify::VerifiedHopDag;

/// An operator of a [`HopDag`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HopId(u32);
entity_impl!(HopId, "%");

/// Where in a script something was written: bytes `start..end` of source number `source` of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// Index into [`crate::program::Program::sources`].
    pub source: u32,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// The input list of an operator.
pub type Inputs = SmallVec<[HopId; 3]>;

/// One high-level operator.
#[derive(Clone, Debug)]
pub struct Hop {
    /// What it computes.
    pub op: HopOp,
    /// Its inputs, by position.
    pub inputs: Inputs,
    /// Matrix or scalar.
    pub data_type: DataType,
    /// Output size; [`SizeInfo::UNKNOWN`] for scalars.
    pub size: SizeInfo,
    /// Where it was written; not part of the text form or of equality.
    pub span: Option<Span>,
}

impl Hop {
    /// Whether the output is a matrix.
    pub fn is_matrix(&self) -> bool {
        self.data_type.is_matrix()
    }

    /// Whether the output is a scalar.
    pub fn is_scalar(&self) -> bool {
        self.data_type.is_scalar()
    }
}

/// A variable that a DAG assigns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HopOutput {
    /// The variable.
    pub name: String,
    /// Its value.
    pub hop: HopId,
}

/// A group of operators that one fused operator computes.
///
/// Several covers may share members: overlapping fused operators compute these redundantly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FusionCover {
    /// The template.
    pub template: TemplateType,
    /// The operators whose results leave the fused operator: one, or several for a multi-aggregate.
    pub roots: Vec<HopId>,
    /// All covered operators, roots included, in ascending order.
    pub members: Vec<HopId>,
}

/// A directed acyclic graph of high-level operators.
#[derive(Clone, Debug, Default)]
pub struct HopDag {
    /// The operators, in topological order.
    pub hops: PrimaryMap<HopId, Hop>,
    /// Variables written at the end, in order of assignment; each name once.
    pub outputs: Vec<HopOutput>,
    /// Operators with effects (`print`, `write`, `stop`, `assert`), in program order.
    pub effects: Vec<HopId>,
    /// The chosen fusion covers, empty before selection.
    pub covers: Vec<FusionCover>,
}

impl HopDag {
    /// An empty DAG.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends an operator.
    pub fn push(&mut self, hop: Hop) -> HopId {
        debug_assert!(hop.inputs.iter().all(|input| self.hops.is_valid(*input)), "inputs precede their users");
        self.hops.push(hop)
    }

    /// Appends an operator, with data type and size inferred from its inputs.
    ///
    /// # Errors
    /// The shapes or types of the inputs do not fit the operation.
    pub fn add(&mut self, op: HopOp, inputs: &[HopId], span: Option<Span>) -> Result<HopId, infer::ShapeError> {
        let (data_type, size) = infer::output(self, &op, inputs)?;
        Ok(self.push(Hop { op, inputs: Inputs::from_slice(inputs), data_type, size, span }))
    }

    /// Appends a literal.
    pub fn literal(&mut self, value: Value) -> HopId {
        let data_type = DataType::Scalar(value.scalar_type());
        self.push(Hop {
            op: HopOp::Literal(value),
            inputs: Inputs::new(),
            data_type,
            size: SizeInfo::UNKNOWN,
            span: None,
        })
    }

    /// Appends the read of a matrix variable of this size.
    pub fn read_matrix(&mut self, name: &str, size: SizeInfo) -> HopId {
        self.push(Hop {
            op: HopOp::Read(name.to_owned()),
            inputs: Inputs::new(),
            data_type: DataType::MATRIX,
            size,
            span: None,
        })
    }

    /// Appends the read of a scalar double variable.
    pub fn read_scalar(&mut self, name: &str) -> HopId {
        self.push(Hop {
            op: HopOp::Read(name.to_owned()),
            inputs: Inputs::new(),
            data_type: DataType::F64,
            size: SizeInfo::UNKNOWN,
            span: None,
        })
    }

    /// Declares that the variable `name` takes the value of `hop`; a second assignment replaces the first.
    pub fn write(&mut self, name: &str, hop: HopId) {
        match self.outputs.iter_mut().find(|output| output.name == name) {
            Some(output) => output.hop = hop,
            None => self.outputs.push(HopOutput { name: name.to_owned(), hop }),
        }
    }

    /// The operators whose values leave the DAG or act: outputs, then effects, without repetition.
    pub fn roots(&self) -> Vec<HopId> {
        let all = self.outputs.iter().map(|output| output.hop).chain(self.effects.iter().copied());
        let mut seen = EntitySet::new();
        all.filter(|&hop| seen.insert(hop)).collect()
    }

    /// For every operator, its consumers in ascending order, one entry per distinct consumer.
    pub fn consumers(&self) -> cranelift_entity::SecondaryMap<HopId, Vec<HopId>> {
        let mut consumers = cranelift_entity::SecondaryMap::<HopId, Vec<HopId>>::new();
        for (id, hop) in &self.hops {
            for &input in &hop.inputs {
                if consumers[input].last() != Some(&id) {
                    consumers[input].push(id);
                }
            }
        }
        consumers
    }

    /// The variables that are read, with the operators that read them.
    pub fn reads(&self) -> impl Iterator<Item = (HopId, &str)> {
        self.hops.iter().filter_map(|(id, hop)| match &hop.op {
            HopOp::Read(name) => Some((id, name.as_str())),
            _ => None,
        })
    }

    /// The literal value of an operator, if it is one.
    pub fn literal_value(&self, id: HopId) -> Option<&Value> {
        match &self.hops[id].op {
            HopOp::Literal(value) => Some(value),
            _ => None,
        }
    }

    /// The literal value of an operator as a double, if it is a number.
    pub fn literal_f64(&self, id: HopId) -> Option<f64> {
        self.literal_value(id).and_then(Value::as_f64)
    }

    /// Whether any operator is left that outputs or effects need.
    pub fn is_empty(&self) -> bool {
        self.outputs.is_empty() && self.effects.is_empty()
    }
}

impl std::ops::Index<HopId> for HopDag {
    type Output = Hop;
    fn index(&self, id: HopId) -> &Hop {
        &self.hops[id]
    }
}

/// Shorthand for operations in tests and builders.
impl From<UnaryOp> for HopOp {
    fn from(op: UnaryOp) -> Self {
        HopOp::Unary(op)
    }
}

impl From<BinaryOp> for HopOp {
    fn from(op: BinaryOp) -> Self {
        HopOp::Binary(op)
    }
}

impl From<TernaryOp> for HopOp {
    fn from(op: TernaryOp) -> Self {
        HopOp::Ternary(op)
    }
}

impl From<(AggOp, Direction)> for HopOp {
    fn from((op, direction): (AggOp, Direction)) -> Self {
        HopOp::AggUnary(op, direction)
    }
}
