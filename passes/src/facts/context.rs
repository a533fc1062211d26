//! Facts of a DAG that template conditions share.

use super::conditions::find_transposed_product;
use super::{Operation, Storage, TemplateLimits};
use crate::hops::is_elementwise;
use crate::memory::OutputBytes;
use crate::sketch::SparsityEstimates;
use crate::zeros;
use cranelift_entity::{EntitySet, SecondaryMap};
use fuseline_ir::hop::{Hop, HopDag, HopId, HopOp, ReorgOp};
use fuseline_ir::{Format, SizeInfo};
use smallvec::SmallVec;
use std::cell::OnceCell;

/// What is below an expression, as far as the Outer template is concerned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OuterFacts {
    /// The outer-product-like matrix product that the expression applies element-wise operations to.
    pub product: Option<HopId>,
    /// A matrix of the same size outside of the product, such that the expression is zero wherever the matrix is.
    pub driver: Option<HopId>,
    /// Whether the expression combines the product with other matrices of its size, whose cells it may be computed with.
    pub meets_matrix: bool,
}

/// The most matrices that are looked at for one with whose zeros an expression is zero.
const MAX_SOURCES: usize = 8;

/// A DAG with what conditions need to know of it.
#[derive(Debug)]
pub struct Context<'a> {
    /// The DAG.
    pub dag: &'a HopDag,
    /// The limits.
    pub limits: &'a TemplateLimits,
    consumers: SecondaryMap<HopId, Vec<HopId>>,
    live: EntitySet<HopId>,
    leaving: EntitySet<HopId>,
    outer: SecondaryMap<HopId, OuterFacts>,
    estimates: SparsityEstimates,
    storage: SecondaryMap<HopId, Storage>,
    operations: SecondaryMap<HopId, Operation>,
    transposed_products: SecondaryMap<HopId, Option<(HopId, HopId)>>,
    /// Bytes of outputs in the worst case, once constraints on memory ask for them.
    worst_case: OnceCell<OutputBytes>,
}

impl<'a> Context<'a> {
    /// Derives the facts, in one pass over the DAG.
    pub fn new(dag: &'a HopDag, limits: &'a TemplateLimits) -> Self {
        Context::with_estimates(dag, limits, SparsityEstimates::default())
    }

    /// [`Context::new`], with estimates of non-zeros for costs.
    pub fn with_estimates(dag: &'a HopDag, limits: &'a TemplateLimits, estimates: SparsityEstimates) -> Self {
        let roots = dag.roots();
        let live = live_operators(dag, &roots);
        let mut consumers = SecondaryMap::<HopId, Vec<HopId>>::new();
        for (id, hop) in dag.hops.iter().filter(|(id, _)| live.contains(*id)) {
            for &input in &hop.inputs {
                if consumers[input].last() != Some(&id) {
                    consumers[input].push(id);
                }
            }
        }
        let mut leaving = EntitySet::new();
        roots.iter().for_each(|&root| {
            leaving.insert(root);
        });
        let count = dag.hops.len();
        let mut context = Context {
            dag,
            limits,
            consumers,
            live,
            leaving,
            outer: SecondaryMap::new(),
            estimates,
            storage: SecondaryMap::with_capacity(count),
            operations: SecondaryMap::with_capacity(count),
            transposed_products: SecondaryMap::new(),
            worst_case: OnceCell::new(),
        };
        for id in dag.hops.keys() {
            context.storage[id] = context.expected_storage(id);
            context.operations[id] = Operation::of(dag, id);
            if let Some(factors) = find_transposed_product(&context, id) {
                context.transposed_products[id] = Some(factors);
            }
            let facts = context.derive_outer(id);
            if facts != OuterFacts::default() {
                context.outer[id] = facts;
            }
        }
        context
    }

    /// The operator.
    pub fn hop(&self, id: HopId) -> &'a Hop {
        &self.dag.hops[id]
    }

    /// The size with the number of non-zeros that is expected, for costs alone: the bound that the operator's own size
    /// holds, unless an estimate lies below it.
    pub fn expected_size(&self, id: HopId) -> SizeInfo {
        let size = self.hop(id).size;
        let nnz = [size.nnz, self.estimates.non_zeros(id)].into_iter().flatten().min();
        SizeInfo { nnz, ..size }
    }

    /// How a value is expected to be stored, given that of its inputs. The product of a sparse and a dense matrix is computed
    /// dense, and stays so where it may have too many non-zeros for a sparse format, however few it has: nobody counts them.
    fn expected_storage(&self, id: HopId) -> Storage {
        let size = self.expected_size(id);
        let is_left_dense = self
            .most_non_zeros_beside_dense(id)
            .is_some_and(|most| SizeInfo { nnz: Some(most), ..size }.format() == Format::Dense);
        Storage::of(&if is_left_dense { SizeInfo { nnz: None, ..size } } else { size })
    }

    /// The most non-zeros of the product of a sparse and a dense matrix, from those of the sparse one.
    fn most_non_zeros_beside_dense(&self, id: HopId) -> Option<u64> {
        let hop = self.hop(id);
        let [left, right] = hop.inputs[..] else { return None };
        let [of_left, of_right] = [left, right].map(|side| self.storage(side));
        let (sparse, times) = match (of_left.format, of_right.format) {
            (Format::Sparse, Format::Dense) => (of_left, hop.size.cols),
            (Format::Dense, Format::Sparse) => (of_right, hop.size.rows),
            _ => return None,
        };
        (hop.op == HopOp::MatMul).then(|| (sparse.non_zeros * times.unwrap_or(0) as f64) as u64)
    }

    /// Whether a matrix is known to have non-zeros only where another one has them.
    pub(crate) fn lies_within(&self, one: HopId, other: HopId) -> bool {
        self.estimates.lies_within(one, other)
    }

    /// Bytes of the operator's output in the worst case, for constraints on memory; none where its size is open.
    pub fn worst_case_bytes(&self, id: HopId) -> Option<u64> {
        self.worst_case.get_or_init(|| OutputBytes::of(self.dag)).get(id)
    }

    /// How the value is expected to be stored, for costs alone.
    pub fn storage(&self, id: HopId) -> &Storage {
        &self.storage[id]
    }

    /// What the operator computes, for costs alone.
    pub fn operation(&self, id: HopId) -> &Operation {
        &self.operations[id]
    }

    /// The factors of a product that is a sum over rows.
    pub(super) fn transposed_product(&self, id: HopId) -> Option<(HopId, HopId)> {
        self.transposed_products[id]
    }

    /// Whether an output or effect of the DAG needs the operator.
    pub fn is_live(&self, id: HopId) -> bool {
        self.live.contains(id)
    }

    /// The live consumers, each once, in ascending order.
    pub fn consumers(&self, id: HopId) -> &[HopId] {
        &self.consumers[id]
    }

    /// Whether the operator's value leaves the DAG.
    pub fn leaves_dag(&self, id: HopId) -> bool {
        self.leaving.contains(id)
    }

    /// Number of distinct consumers, the DAG's outputs counting as one.
    pub fn consumer_count(&self, id: HopId) -> usize {
        self.consumers(id).len() + usize::from(self.leaves_dag(id))
    }

    /// The only consumer, where the value is used nowhere else.
    pub fn single_consumer(&self, id: HopId) -> Option<HopId> {
        match self.consumers(id) {
            [consumer] if !self.leaves_dag(id) => Some(*consumer),
            _ => None,
        }
    }

    /// The outer product below an expression.
    pub fn outer(&self, id: HopId) -> OuterFacts {
        self.outer[id]
    }

    /// Whether the expression `root` uses `target`, as far as a bounded look downwards tells.
    pub fn uses(&self, root: HopId, target: HopId) -> bool {
        let mut pending: SmallVec<[HopId; 16]> = SmallVec::from_slice(&[root]);
        // At most as many as the budget allows.
        let mut seen: SmallVec<[HopId; 64]> = SmallVec::new();
        let mut budget = self.limits.look_around;
        while let Some(id) = pending.pop() {
            if id == target {
                return true;
            }
            // Inputs precede their users, so nothing below the target can use it.
            if id < target || budget == 0 || seen.contains(&id) {
                continue;
            }
            seen.push(id);
            budget -= 1;
            pending.extend(self.hop(id).inputs.iter().copied());
        }
        false
    }

    fn derive_outer(&self, id: HopId) -> OuterFacts {
        let hop = self.hop(id);
        if is_outer_product_like(self, id) {
            return OuterFacts { product: Some(id), ..OuterFacts::default() };
        }
        if hop.op == HopOp::Reorg(ReorgOp::Transpose) {
            return self.outer(hop.inputs[0]);
        }
        if !is_elementwise(self.dag, id) {
            return OuterFacts::default();
        }
        let inputs = || hop.inputs.iter().copied().filter(|&input| self.hop(input).size.same_dims(&hop.size));
        let Some(chain) = inputs().find(|&input| self.outer(input).product.is_some()) else {
            return OuterFacts::default();
        };
        let driver = if self.limits.strict_ieee { None } else { self.derive_driver(id, chain) };
        let meets_matrix = self.outer(chain).meets_matrix || inputs().any(|input| self.outer(input).product.is_none());
        OuterFacts { product: self.outer(chain).product, driver, meets_matrix }
    }

    /// The matrix whose zeros make an operator zero; `chain` is its input over the outer product.
    fn derive_driver(&self, id: HopId, chain: HopId) -> Option<HopId> {
        let hop = self.hop(id);
        if let Some(inner) = self.outer(chain).driver
            && self.is_zero_with(id, chain)
        {
            return Some(inner);
        }
        let is_beside = |input: &HopId| *input != chain && self.hop(*input).size.same_dims(&hop.size);
        let others: SmallVec<[HopId; 3]> = hop.inputs.iter().copied().filter(is_beside).collect();
        let alone = others.iter().copied().find(|&input| self.is_zero_with(id, input));
        alone.or_else(|| self.common_driver(id, chain, &others))
    }

    /// The matrix whose zeros make the chain and all operands beside it zero, and so the operator: that of
    /// `(X != 0) * (U %*% t(V)) - X` is X.
    fn common_driver(&self, id: HopId, chain: HopId, others: &[HopId]) -> Option<HopId> {
        let inner = self.outer(chain).driver?;
        let all: SmallVec<[HopId; 4]> = others.iter().copied().chain([chain]).collect();
        if others.is_empty() || !zeros::is_zero_with_all(self.dag, id, &all, self.limits.strict_ieee) {
            return None;
        }
        let sources: SmallVec<[_; 3]> = others.iter().map(|&other| self.sources_of_zeros(other)).collect();
        let mut of_chain = self.sources_of_zeros(inner).into_iter();
        of_chain.find(|id| sources.iter().all(|of_other| of_other.contains(id)))
    }

    /// A matrix, and those of its size from which it takes zeros through element-wise operations.
    fn sources_of_zeros(&self, id: HopId) -> SmallVec<[HopId; 8]> {
        let mut sources: SmallVec<[HopId; 8]> = SmallVec::from_slice(&[id]);
        let mut next = 0;
        while next < sources.len() && sources.len() < MAX_SOURCES {
            let source = sources[next];
            let hop = self.hop(source);
            let inputs = hop.inputs.iter().copied().filter(|&input| self.hop(input).size.same_dims(&hop.size));
            let inputs = inputs.filter(|&input| is_elementwise(self.dag, source) && self.is_zero_with(source, input));
            let new: SmallVec<[HopId; 3]> = inputs.filter(|input| !sources.contains(input)).collect();
            sources.extend(new);
            next += 1;
        }
        sources
    }

    /// Whether an operator is zero where one of its inputs is.
    fn is_zero_with(&self, id: HopId, input: HopId) -> bool {
        zeros::is_zero_with(self.dag, id, input, self.limits.strict_ieee)
    }
}

fn live_operators(dag: &HopDag, roots: &[HopId]) -> EntitySet<HopId> {
    let mut live = EntitySet::new();
    let mut pending = roots.to_vec();
    while let Some(id) = pending.pop() {
        if live.insert(id) {
            pending.extend(dag[id].inputs.iter().copied());
        }
    }
    live
}

/// A product that is large compared with its factors: more rows than the rank and fewer ranks than columns.
pub(crate) fn is_outer_product_like(context: &Context<'_>, id: HopId) -> bool {
    let hop = context.hop(id);
    if hop.op != HopOp::MatMul {
        return false;
    }
    let (left, right) = (context.hop(hop.inputs[0]).size, context.hop(hop.inputs[1]).size);
    match (left.known_dims(), right.known_dims()) {
        (Some((rows, rank)), Some((_, cols))) => rows > rank && rank < cols && rank > 0,
        _ => false,
    }
}
