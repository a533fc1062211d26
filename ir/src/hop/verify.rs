//! The verifier of HOP DAGs: what every pass may rely on.

use super::{DataGenOp, Function, FusionCover, Hop, HopDag, HopId, HopOp, infer};
use crate::size::SizeInfo;
use crate::types::DataType;
use crate::verifier::VerifierErrors;
use cranelift_entity::EntitySet;
use std::collections::HashSet;
use std::fmt;
use std::ops::{Deref, RangeInclusive};

/// A DAG that passed the verifier.
#[derive(Clone, Debug)]
pub struct VerifiedHopDag(HopDag);

impl VerifiedHopDag {
    /// The DAG, to be changed and verified again.
    pub fn into_inner(self) -> HopDag {
        self.0
    }
}

impl Deref for VerifiedHopDag {
    type Target = HopDag;
    fn deref(&self) -> &HopDag {
        &self.0
    }
}

impl fmt::Display for VerifiedHopDag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl HopDag {
    /// Checks every rule of well-formed DAGs.
    ///
    /// # Errors
    /// All broken rules: inputs after their users, wrong numbers or types of inputs, types or dimensions that
    /// contradict the inputs', outputs and effects that do not exist, covers that are no groups of operators.
    pub fn verify(&self) -> Result<(), VerifierErrors> {
        let mut verifier = Verifier { dag: self, errors: VerifierErrors::default() };
        for (id, hop) in &self.hops {
            verifier.hop(id, hop);
        }
        verifier.outputs();
        verifier.effects();
        for (position, cover) in self.covers.iter().enumerate() {
            verifier.cover(&format!("cover {position}"), cover);
        }
        verifier.errors.finish(())
    }

    /// Checks the DAG and remembers in its type that it was.
    ///
    /// # Errors
    /// The errors of [`HopDag::verify`].
    pub fn into_verified(self) -> Result<VerifiedHopDag, VerifierErrors> {
        self.verify().map(|()| VerifiedHopDag(self))
    }
}

/// How many inputs an operation takes.
fn arity(op: &HopOp) -> RangeInclusive<usize> {
    let exactly = |count: usize| count..=count;
    match op {
        HopOp::Read(_) | HopOp::Literal(_) => exactly(0),
        HopOp::Unary(_) | HopOp::AggUnary(..) | HopOp::Reorg(_) | HopOp::Shape(_) | HopOp::Cast(_) => exactly(1),
        HopOp::Cumulative(_) | HopOp::Item(_) => exactly(1),
        HopOp::Binary(_) | HopOp::Outer(_) | HopOp::MatMul | HopOp::Concat => exactly(2),
        HopOp::DataGen(DataGenOp::Expand) => exactly(2),
        HopOp::Ternary(_) | HopOp::DataGen(DataGenOp::Matrix | DataGenOp::Seq) => exactly(3),
        HopOp::Index => exactly(5),
        HopOp::LeftIndex => exactly(6),
        HopOp::DataGen(DataGenOp::Rand) => exactly(7),
        HopOp::Fused(op) => exactly(op.inputs().len()),
        HopOp::Nary(_) | HopOp::SpoofOp { .. } => 1..=usize::MAX,
        HopOp::Parameterized { function: Function::List, names } => names.len()..=usize::MAX,
        HopOp::Parameterized { function, names } => exactly(function.positional_inputs() + names.len()),
    }
}

/// What is wrong with this number of inputs.
pub(super) fn arity_error(op: &HopOp, count: usize) -> Option<String> {
    let arity = arity(op);
    if arity.contains(&count) {
        return None;
    }
    let at_least = if arity.start() == arity.end() { "" } else { "at least " };
    let inputs = if *arity.start() == 1 { "input" } else { "inputs" };
    Some(format!("expected {at_least}{} {inputs}, found {count}", arity.start()))
}

struct Verifier<'a> {
    dag: &'a HopDag,
    errors: VerifierErrors,
}

impl Verifier<'_> {
    fn hop(&mut self, id: HopId, hop: &Hop) {
        let mut ordered = true;
        for input in hop.inputs.iter().filter(|&&input| input >= id) {
            self.errors.push(id, format!("the input {input} does not precede its user"));
            ordered = false;
        }
        let arity_error = arity_error(&hop.op, hop.inputs.len());
        let fits = ordered && arity_error.is_none();
        if let Some(message) = arity_error {
            self.errors.push(id, message);
        }
        self.size(id, hop);
        self.errors.check_result(hop.data_type.check_computes(), id);
        if fits {
            match infer::output(self.dag, &hop.op, &hop.inputs) {
                Ok((data_type, size)) => self.declared(id, hop, data_type, size),
                Err(error) => self.errors.push(id, error.to_string()),
            }
        }
    }

    fn size(&mut self, id: HopId, hop: &Hop) {
        if hop.is_matrix() {
            let fits = hop.size.nnz.zip(hop.size.cells()).is_none_or(|(nnz, cells)| nnz <= cells);
            self.errors.check(fits, id, format!("more non-zeros than cells in {}", hop.size));
        } else {
            self.errors.check(hop.size == SizeInfo::UNKNOWN, id, format!("a size {} without a matrix", hop.size));
        }
    }

    /// Compares the type and size that an operator states with those that follow from its inputs.
    fn declared(&mut self, id: HopId, hop: &Hop, data_type: DataType, size: SizeInfo) {
        // What files hold and what fused operators return is not known here.
        let is_opaque = matches!(hop.op, HopOp::Parameterized { function: Function::Read, .. } | HopOp::SpoofOp { .. });
        let is_open = is_opaque || hop.data_type == DataType::Unknown || data_type == DataType::Unknown;
        if !is_open && hop.data_type != data_type {
            self.errors.push(id, format!("the type is {}, but the operation gives {data_type}", hop.data_type));
            return;
        }
        let contradicts = |declared: Option<u64>, inferred: Option<u64>| {
            declared.zip(inferred).is_some_and(|(declared, inferred)| declared != inferred)
        };
        if hop.is_matrix() && (contradicts(hop.size.rows, size.rows) || contradicts(hop.size.cols, size.cols)) {
            self.errors.push(id, format!("the size is {}, but the operation gives {size}", hop.size));
        }
    }

    fn outputs(&mut self) {
        let mut names = HashSet::new();
        for output in &self.dag.outputs {
            let entity = format!("write {}", crate::text::quoted(&output.name));
            self.errors.check(names.insert(&output.name), &entity, "the variable is written twice");
            self.errors.check(self.dag.hops.is_valid(output.hop), &entity, format!("{} does not exist", output.hop));
        }
    }

    fn effects(&mut self) {
        let mut listed = EntitySet::new();
        for &id in &self.dag.effects {
            match self.dag.hops.get(id) {
                Some(hop) => {
                    self.errors.check(hop.op.is_effect(), format_args!("effect {id}"), "the operator has no effect");
                    self.errors.check(listed.insert(id), format_args!("effect {id}"), "the effect is listed twice");
                }
                None => {
                    self.errors.push(format_args!("effect {id}"), "the operator does not exist");
                }
            }
        }
        for (id, hop) in &self.dag.hops {
            self.errors.check(!hop.op.is_effect() || listed.contains(id), id, "the effect is not listed");
        }
    }

    fn cover(&mut self, entity: &str, cover: &FusionCover) {
        self.errors.check(cover.members.is_sorted_by(|a, b| a < b), entity, "the members do not ascend");
        for &member in &cover.members {
            self.errors.check(self.dag.hops.is_valid(member), entity, format!("{member} does not exist"));
        }
        let several = cover.template.takes_several_roots();
        let count = cover.roots.len();
        let message = if several { "a cover has roots" } else { "the cover has one root" };
        self.errors.check(count == 1 || (several && count > 1), entity, format!("{message}, not {count}"));
        for root in &cover.roots {
            self.errors.check(cover.members.contains(root), entity, format!("the root {root} is no member"));
        }
    }
}
