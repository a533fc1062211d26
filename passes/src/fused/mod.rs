//! Hand-coded fused operators in the place of the patterns that they were written for: the paper's baseline "Fused"
//! (section 5), which competes with generated operators.
//!
//! Patterns are data, in the table of `patterns`. An operator takes the place of a pattern where its inputs have shapes that it is
//! made for, and where nothing else needs what the pattern computes on the way: that would be computed anyway.
//! Transposes, which products read through, and comparisons with zero are exempt.
//!
//! Where matches overlap, the family that saves most decides; within a family consumers come before what they read, and
//! at one operator the pattern that covers most.

mod matching;
mod patterns;
mod price;
#[cfg(test)]
mod tests;

pub use price::predict;

use cranelift_entity::{EntitySet, SecondaryMap};
use fuseline_ir::hop::{FusedOp, Hop, HopDag, HopId, HopOp, Inputs, LossWeight, ProductWeight, ReorgOp};
use fuseline_ir::ops::BinaryOp;
use fuseline_ir::size::SizeInfo;
use matching::{Binding, Match, matches};
use patterns::{Family, PATTERNS, Pattern};
use std::borrow::Cow;

/// Factors of more columns are no narrow ones.
const MAX_RANK: u64 = 1000;

/// The DAG with hand-coded operators. Under strict IEEE semantics none that skips zeros of a matrix that may be sparse.
///
/// Ids are fresh and topologically ordered; operators that nothing needs any more are gone.
pub fn fuse_by_hand(dag: &HopDag, strict_ieee: bool) -> HopDag {
    let mut fusion = Fusion::new(dag, strict_ieee, |_| true);
    fusion.replace_all(&Family::ALL);
    fusion.finish()
}

/// The DAG with the hand-coded operators whose algorithm is of another complexity class than that of any fused operator:
/// aggregates of all comparisons of a column with a row, which are found in sorted cells. Generated code competes with what
/// fusion can do, and these belong to every mode that optimizes.
pub fn search_sorted(dag: &HopDag) -> Cow<'_, HopDag> {
    let mut fusion = Fusion::new(dag, false, |op| matches!(op, HopOp::Fused(FusedOp::OuterAggregate(..))));
    fusion.replace_all(&[Family::Aggregates]);
    if fusion.chosen.values().all(Option::is_none) { Cow::Borrowed(dag) } else { Cow::Owned(fusion.finish()) }
}

/// How often each operator is read by an operator that an output or effect needs, or leaves the DAG.
fn live_consumers(dag: &HopDag) -> SecondaryMap<HopId, Vec<Option<HopId>>> {
    let mut consumers = SecondaryMap::<HopId, Vec<Option<HopId>>>::new();
    for root in dag.roots() {
        consumers[root].push(None);
    }
    for (id, hop) in dag.hops.iter().rev() {
        if !consumers[id].is_empty() {
            for &input in &hop.inputs {
                consumers[input].push(Some(id));
            }
        }
    }
    consumers
}

/// An operator in the place of a pattern.
#[derive(Clone)]
struct Replacement {
    pattern: &'static Pattern,
    inputs: Vec<Binding>,
}

struct Fusion<'a> {
    dag: &'a HopDag,
    strict_ieee: bool,
    /// Which operators may take the place of patterns.
    is_wanted: fn(&HopOp) -> bool,
    /// By operator the live ones that read it; `None` stands for an output or an effect.
    consumers: SecondaryMap<HopId, Vec<Option<HopId>>>,
    /// By root of a pattern.
    chosen: SecondaryMap<HopId, Option<Replacement>>,
    /// The operators of the patterns that were replaced.
    taken: EntitySet<HopId>,
}

impl<'a> Fusion<'a> {
    fn new(dag: &'a HopDag, strict_ieee: bool, is_wanted: fn(&HopOp) -> bool) -> Self {
        let (chosen, taken) = (SecondaryMap::new(), EntitySet::new());
        Fusion { dag, strict_ieee, is_wanted, consumers: live_consumers(dag), chosen, taken }
    }

    fn replace_all(&mut self, families: &[Family]) {
        for &family in families {
            for root in self.dag.hops.keys().rev() {
                self.replace_at(root, family);
            }
        }
    }

    /// Replaces the largest pattern of a family with this root.
    fn replace_at(&mut self, root: HopId, family: Family) {
        if self.consumers[root].is_empty() || self.taken.contains(root) {
            return;
        }
        let Some((pattern, found)) = self.find(root, family) else { return };
        let bound = pattern.inputs.iter().map(|name| found.get(name));
        let inputs = bound.map(|binding| binding.expect("patterns bind the inputs of their operators")).collect();
        let taken: Vec<HopId> = found.members.iter().copied().filter(|&id| !self.is_exempt(&found, id)).collect();
        self.taken.extend(taken);
        self.chosen[root] = Some(Replacement { pattern, inputs });
    }

    fn find(&self, root: HopId, family: Family) -> Option<(&'static Pattern, Match)> {
        let patterns = PATTERNS.iter().filter(|pattern| pattern.family == family);
        let patterns = patterns.filter(|pattern| (self.is_wanted)(&pattern.operator));
        let mut found = patterns.flat_map(|pattern| {
            matches(self.dag, &pattern.expression, root).into_iter().map(move |found| (pattern, found))
        });
        found.find(|(pattern, found)| self.is_closed(found) && self.fits(pattern, found))
    }

    /// Whether nothing else needs what a match computes on the way.
    fn is_closed(&self, found: &Match) -> bool {
        found.members.iter().enumerate().all(|(position, &id)| {
            let is_root = position == 0;
            let mut consumers = self.consumers[id].iter();
            self.is_exempt(found, id)
                || !self.taken.contains(id)
                    && (is_root || consumers.all(|consumer| consumer.is_some_and(|id| found.members.contains(&id))))
        })
    }

    /// Whether a member of a match costs too little to keep it from being replaced.
    fn is_exempt(&self, found: &Match, id: HopId) -> bool {
        let hop = &self.dag[id];
        let reads_member = hop.inputs.iter().any(|input| found.members.contains(input));
        !reads_member && (is_transpose(hop) || hop.op == HopOp::Binary(BinaryOp::NotEqual))
    }

    fn size(&self, found: &Match, name: &str) -> SizeInfo {
        match found.get(name) {
            Some(Binding::Hop(id)) => self.dag[id].size,
            Some(Binding::TransposeOf(id)) => transposed(self.dag[id].size),
            None => SizeInfo::UNKNOWN,
        }
    }

    /// Whether the inputs of a match have the shapes that the operator is made for.
    fn fits(&self, pattern: &Pattern, found: &Match) -> bool {
        let [x, y, u, v] = ["X", "Y", "U", "V"].map(|name| self.size(found, name));
        let HopOp::Fused(op) = pattern.operator else { return has_known_dims_of(x, y) };
        match op {
            FusedOp::TransposeSelf(_) => true,
            FusedOp::OuterAggregate(..) => u.cols == Some(1) && v.rows == Some(1),
            FusedOp::MatrixChain(_) => {
                let mut vectors = [("V", v), ("Y", y)].into_iter().filter(|(name, _)| found.get(name).is_some());
                vectors.all(|(_, size)| size.cols == Some(1)) && has_weight_per_row(x, y)
            }
            FusedOp::BinaryAggregate(_) | FusedOp::TernaryAggregate(_) => {
                pattern.inputs.iter().all(|name| has_known_dims_of(x, self.size(found, name)))
            }
            FusedOp::WeightedSquaredLoss(_)
            | FusedOp::WeightedSigmoid { .. }
            | FusedOp::WeightedProduct(..)
            | FusedOp::WeightedMultiply
            | FusedOp::WeightedCrossEntropy { .. }
            | FusedOp::WeightedUnary(..) => {
                let weights = ["W", "X"].into_iter().filter(|name| found.get(name).is_some());
                let weights: Vec<SizeInfo> = weights.map(|name| self.size(found, name)).collect();
                is_outer_product(&weights, u, v) && self.may_skip(op, weights[0])
            }
        }
    }

    /// Whether an operator may visit the non-zeros of this driver alone, or visits all of it anyway.
    fn may_skip(&self, op: FusedOp, driver: SizeInfo) -> bool {
        let weighs_by_indicator = matches!(
            op,
            FusedOp::WeightedSquaredLoss(LossWeight::PostNonZero)
                | FusedOp::WeightedProduct(ProductWeight::MinusNonZero, _)
        );
        !self.strict_ieee || !driver.format().is_sparse() && !weighs_by_indicator
    }

    fn finish(self) -> HopDag {
        let needed = self.needed();
        let mut rebuilt = Rebuilt { dag: HopDag::new(), new_ids: SecondaryMap::new() };
        for (id, hop) in self.dag.hops.iter().filter(|(id, _)| needed.contains(*id)) {
            let new = match &self.chosen[id] {
                Some(replacement) => rebuilt.replacement(self.dag, hop, replacement),
                None => {
                    let inputs = hop.inputs.iter().map(|&input| rebuilt.new_id(input)).collect();
                    rebuilt.push(Hop { inputs, ..hop.clone() })
                }
            };
            rebuilt.new_ids[id] = Some(new);
        }
        for output in &self.dag.outputs {
            let new = rebuilt.new_id(output.hop);
            rebuilt.dag.write(&output.name, new);
        }
        rebuilt.dag.effects = self.dag.effects.iter().map(|&effect| rebuilt.new_id(effect)).collect();
        rebuilt.dag
    }

    /// The operators that are left, and the roots of patterns.
    fn needed(&self) -> EntitySet<HopId> {
        let mut needed = EntitySet::new();
        needed.extend(self.dag.roots());
        for (id, hop) in self.dag.hops.iter().rev() {
            if !needed.contains(id) {
                continue;
            }
            match &self.chosen[id] {
                Some(replacement) => needed.extend(replacement.inputs.iter().map(|input| match *input {
                    Binding::Hop(id) | Binding::TransposeOf(id) => id,
                })),
                None => needed.extend(hop.inputs.iter().copied()),
            }
        }
        needed
    }
}

/// Whether a matrix of known size has that of another one.
fn has_known_dims_of(one: SizeInfo, other: SizeInfo) -> bool {
    one.known_dims().is_some() && one.same_dims(&other)
}

/// A DAG under construction.
struct Rebuilt {
    dag: HopDag,
    new_ids: SecondaryMap<HopId, Option<HopId>>,
}

impl Rebuilt {
    fn new_id(&self, old: HopId) -> HopId {
        self.new_ids[old].expect("inputs are needed and come first")
    }

    fn push(&mut self, hop: Hop) -> HopId {
        match (&hop.op, &hop.inputs[..]) {
            // A transpose around a pattern that was transposed.
            (HopOp::Reorg(ReorgOp::Transpose), &[input]) if is_transpose(&self.dag[input]) => self.dag[input].inputs[0],
            _ => self.dag.push(hop),
        }
    }

    fn transpose(&mut self, input: HopId, like: &Hop) -> HopId {
        let (op, inputs) = (HopOp::Reorg(ReorgOp::Transpose), Inputs::from_slice(&[input]));
        let size = transposed(self.dag[input].size);
        self.push(Hop { op, inputs, size, ..like.clone() })
    }

    /// The operator in the place of a pattern with this root.
    fn replacement(&mut self, old: &HopDag, root: &Hop, replacement: &Replacement) -> HopId {
        let inputs: Inputs = replacement
            .inputs
            .iter()
            .map(|input| match *input {
                Binding::Hop(id) => self.new_id(id),
                Binding::TransposeOf(id) => self.transpose(self.new_id(id), &old[id]),
            })
            .collect();
        let Pattern { operator, is_transposed, .. } = replacement.pattern;
        let size = if *is_transposed { transposed(root.size) } else { root.size };
        let new = self.dag.push(Hop { op: operator.clone(), inputs, size, ..root.clone() });
        if *is_transposed { self.transpose(new, root) } else { new }
    }
}

fn is_transpose(hop: &Hop) -> bool {
    hop.op == HopOp::Reorg(ReorgOp::Transpose)
}

fn transposed(size: SizeInfo) -> SizeInfo {
    SizeInfo { rows: size.cols, cols: size.rows, nnz: size.nnz }
}

/// Whether weights, if there are any, have a row for each row of the matrix.
fn has_weight_per_row(matrix: SizeInfo, weights: SizeInfo) -> bool {
    weights == SizeInfo::UNKNOWN || matrix.rows.is_some() && matrix.rows == weights.rows
}

/// Whether `U %*% t(V)` is larger than its factors, and weights are of its size.
fn is_outer_product(weights: &[SizeInfo], u: SizeInfo, v: SizeInfo) -> bool {
    let (Some((rows, rank)), Some((cols, _))) = (u.known_dims(), v.known_dims()) else { return false };
    let is_narrow = rank < rows && rank < cols && rank <= MAX_RANK;
    is_narrow && weights.iter().all(|weights| weights.known_dims() == Some((rows, cols)))
}
