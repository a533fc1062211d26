//! The compilations of a program's blocks, by what they are for.
//!
//! A compilation is for one block in one optimizer environment, and for one DAG with sizes: types and dimensions of all
//! operators, and the literals that sizes tell. So a block whose variables have other values but whose DAG gets the
//! same sizes (the next batch of a loop) is found, and no decision can hang on a value that the comparison does not
//! see. Of numbers of non-zeros only the magnitude counts, and only that of sparse variables: a factor of two may
//! change a plan.

use crate::compiled_dag::CompiledDag;
use crate::environment::Fingerprint;
use crate::scalar_block::ScalarBlock;
use crate::value::{RuntimeValue, Variables};
use foldhash::HashMap;
use fuseline_ir::hop::{Hop, HopDag, HopOp};
use fuseline_ir::program::{Evaluation, Program};
use fuseline_ir::{DataType, Format, Value};
use fuseline_matrix::MatrixBlock;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Compilations of one block that are kept.
const KEPT_PER_BLOCK: usize = 16;

/// The compiled blocks of a program, which may outlive a run of it: a prepared script compiles again only what meets
/// other sizes.
#[derive(Debug, Default)]
pub struct CompiledBlocks {
    pub(crate) blocks: HashMap<BlockKey, BlockCache>,
    /// The programs of calls of what texts name, whose blocks are among these; `None` for what needs the values of
    /// constants, and has further programs. They are kept as long as this, so that no address becomes another block's.
    pub(crate) evaluated: Vec<(Evaluation, Option<Arc<Program>>)>,
}

/// What the compilations of one block have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BlockKey {
    /// The address of the block's DAG: the program must neither change nor move between runs.
    dag: usize,
    /// What else decides plans.
    environment: Fingerprint,
}

impl BlockKey {
    pub(crate) fn of(dag: &HopDag, environment: Fingerprint) -> BlockKey {
        BlockKey { dag: std::ptr::from_ref(dag).addr(), environment }
    }
}

/// The compilations of one block in one environment.
#[derive(Debug, Default)]
pub(crate) struct BlockCache {
    /// Scalars on whose values sizes within the block hang.
    size_variables: BTreeSet<String>,
    /// Whether it was compiled before.
    is_compiled: bool,
    kept: Vec<Kept>,
    /// The last compilation, where the block is about scalars alone.
    scalars: Option<Arc<ScalarBlock>>,
}

#[derive(Debug)]
struct Kept {
    /// What it was last found for: the same again needs no sizes of operators.
    signature: Signature,
    sized: HopDag,
    compiled: Arc<CompiledDag>,
}

/// What sizes follow from: what is known of the variables that a block reads.
#[derive(Clone, Debug)]
pub(crate) struct Signature {
    variables: Vec<VariableSignature>,
    /// The values of the scalars on which sizes within the block hang.
    values: Vec<Value>,
}

#[derive(Clone, Debug, PartialEq)]
struct VariableSignature {
    data_type: DataType,
    dims: Option<(u64, u64)>,
    /// Of matrices.
    stored: Option<StoredSignature>,
}

impl VariableSignature {
    fn of(value: &RuntimeValue) -> Self {
        let stored = match value {
            RuntimeValue::Matrix(block) => Some(StoredSignature::of(block)),
            _ => None,
        };
        VariableSignature { data_type: value.data_type(), dims: value.size().known_dims(), stored }
    }
}

/// What plans follow from the storage of a matrix.
#[derive(Clone, Debug, PartialEq)]
struct StoredSignature {
    format: Format,
    /// The number of binary digits of the number of non-zeros, where that costs nothing to know: 0 for a matrix without any,
    /// which plans do not read.
    nnz_magnitude: Option<u32>,
}

impl StoredSignature {
    fn of(block: &MatrixBlock) -> Self {
        let nnz_magnitude = block.size().nnz.map(|nnz| nnz.checked_ilog2().map_or(0, |magnitude| magnitude + 1));
        StoredSignature { format: block.format(), nnz_magnitude }
    }
}

impl BlockCache {
    pub(crate) fn size_variables(&self) -> &BTreeSet<String> {
        &self.size_variables
    }

    /// Adds scalars on whose values sizes hang; whether any was not known to.
    pub(crate) fn add_size_variables(&mut self, names: BTreeSet<String>) -> bool {
        let known = self.size_variables.len();
        self.size_variables.extend(names);
        self.size_variables.len() > known
    }

    /// The compilation that was last found for what is known of these variables, from which the same sizes follow.
    pub(crate) fn with_variables(&self, dag: &HopDag, variables: &Variables) -> Option<Arc<CompiledDag>> {
        let is_same = |kept: &&Kept| kept.signature.is_of(dag, variables, &self.size_variables);
        self.kept.iter().find(is_same).map(|kept| Arc::clone(&kept.compiled))
    }

    /// The compilation for this DAG with sizes.
    pub(crate) fn with_sizes(&mut self, signature: &Signature, sized: &HopDag) -> Option<Arc<CompiledDag>> {
        let kept = self.kept.iter_mut().find(|kept| {
            kept.signature.variables == signature.variables && differ_in_non_zeros_alone(&kept.sized, sized)
        })?;
        kept.signature = signature.clone();
        Some(Arc::clone(&kept.compiled))
    }

    /// The steps of the last compilation, where the block is about scalars alone.
    pub(crate) fn scalars(&self) -> Option<Arc<ScalarBlock>> {
        self.scalars.clone()
    }

    /// Keeps a compilation for these variables, in the place of the oldest where there are many; whether the block was
    /// compiled before.
    pub(crate) fn keep(
        &mut self,
        signature: Signature,
        sized: HopDag,
        compiled: Arc<CompiledDag>,
        variables: &Variables,
    ) -> bool {
        let scalars = ScalarBlock::of(&compiled.dag, &sized, variables).filter(|_| self.size_variables.is_empty());
        self.scalars = scalars.map(Arc::new);
        if self.kept.len() >= KEPT_PER_BLOCK {
            self.kept.remove(0);
        }
        self.kept.push(Kept { signature, sized, compiled });
        std::mem::replace(&mut self.is_compiled, true)
    }
}

/// Whether two DAGs of one block with sizes are the same but for numbers of non-zeros.
fn differ_in_non_zeros_alone(one: &HopDag, other: &HopDag) -> bool {
    let mut pairs = one.hops.values().zip(other.hops.values());
    one.hops.len() == other.hops.len() && pairs.all(|(one, other)| differs_in_non_zeros_alone(one, other))
}

/// Whether two operators are the same but for their number of non-zeros.
fn differs_in_non_zeros_alone(one: &Hop, other: &Hop) -> bool {
    let is_same_op = match (&one.op, &other.op) {
        (HopOp::Literal(one), HopOp::Literal(other)) => one.same_bits(other),
        (one, other) => one == other,
    };
    is_same_op
        && one.inputs == other.inputs
        && one.data_type == other.data_type
        && one.size.without_nnz() == other.size.without_nnz()
}

impl Signature {
    /// That of a block, of whose scalars only those are looked at on whose values sizes hang.
    pub(crate) fn of(dag: &HopDag, variables: &Variables, size_variables: &BTreeSet<String>) -> Self {
        Signature {
            variables: read(dag, variables).map(VariableSignature::of).collect(),
            values: values(variables, size_variables).cloned().collect(),
        }
    }

    /// Whether this is that of a block. Values count by their bits: a range may start at -0.
    fn is_of(&self, dag: &HopDag, variables: &Variables, size_variables: &BTreeSet<String>) -> bool {
        let mut known = self.values.iter();
        read(dag, variables).map(VariableSignature::of).eq(self.variables.iter().cloned())
            && values(variables, size_variables).all(|value| known.next().is_some_and(|known| known.same_bits(value)))
            && known.next().is_none()
    }
}

/// The values of the variables that a block reads.
fn read<'a>(dag: &'a HopDag, variables: &'a Variables) -> impl Iterator<Item = &'a RuntimeValue> {
    dag.reads().filter_map(|(_, name)| variables.get(name))
}

/// The values of the scalars on which sizes within a block hang.
fn values<'a>(variables: &'a Variables, size_variables: &'a BTreeSet<String>) -> impl Iterator<Item = &'a Value> {
    size_variables.iter().filter_map(|name| match variables.get(name) {
        Some(RuntimeValue::Scalar(scalar)) => Some(scalar),
        _ => None,
    })
}
