//! Estimates of the non-zeros of all operators of a DAG, from the sketches of its inputs.

use super::{HALF, Sketch};
use crate::hops::{drawn_negative, drawn_share};
use cranelift_entity::{EntitySet, SecondaryMap};
use fuseline_ir::SizeInfo;
use fuseline_ir::hop::{Hop, HopDag, HopId, HopOp, NaryOp, ReorgOp};
use fuseline_ir::ops::{AggOp, BinaryOp, BinaryZero, Direction, Known, UnaryOp};
use fuseline_ir::size::SPARSITY_TURN_POINT;
use smallvec::{SmallVec, smallvec};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The sketches of variables, by name. Variables without one count as unstructured.
pub type InputSketches = BTreeMap<String, Arc<Sketch>>;

/// The number of non-zeros that is expected of the operators of a DAG, where it can be told.
#[derive(Clone, Debug, Default)]
pub struct SparsityEstimates {
    non_zeros: SecondaryMap<HopId, Option<u64>>,
    patterns: SecondaryMap<HopId, Option<Pattern>>,
}

impl SparsityEstimates {
    /// Estimates for a DAG. A DAG without sparse matrices needs none.
    pub fn new(dag: &HopDag, inputs: &InputSketches) -> Self {
        let mut estimates = SparsityEstimates::default();
        if !dag.hops.values().any(|hop| is_sparse(hop) || is_drawn_sparse(dag, hop)) {
            return estimates;
        }
        let mut sketches = SecondaryMap::<HopId, Option<Sketch>>::new();
        let mut patterns = SecondaryMap::<HopId, Option<Pattern>>::new();
        let mut filled = SecondaryMap::<HopId, Option<Filled>>::new();
        for (id, hop) in dag.hops.iter().filter(|(_, hop)| hop.is_matrix()) {
            let Some((rows, cols)) = hop.size.known_dims() else { continue };
            let propagation = Propagation { dag, sketches: &sketches, patterns: &patterns, filled: &filled, inputs };
            let over_one = propagation.over_one(hop);
            let (sketch, pattern) = propagation.operator(id, hop, over_one);
            filled[id] = over_one;
            patterns[id] = Some(pattern);
            let sketch = sketch
                .filter(|sketch| sketch.rows().len() as u64 == rows && sketch.cols().len() as u64 == cols)
                .unwrap_or_else(|| of_size(&hop.size, rows, cols));
            if sketch.non_zeros() < sketch.cells() {
                estimates.non_zeros[id] = Some(sketch.non_zeros().ceil() as u64);
            }
            sketches[id] = Some(sketch);
        }
        estimates.patterns = patterns;
        estimates
    }

    /// The expected number of non-zeros of an operator's value.
    pub fn non_zeros(&self, id: HopId) -> Option<u64> {
        self.non_zeros[id]
    }

    /// Whether an operator's value is known to have non-zeros only where that of another one has them.
    pub fn lies_within(&self, one: HopId, other: HopId) -> bool {
        let pattern = |id: HopId| self.patterns[id].as_ref();
        one == other || pattern(one).zip(pattern(other)).is_some_and(|(one, other)| one.lies_within(other))
    }
}

fn is_sparse(hop: &Hop) -> bool {
    hop.is_matrix() && hop.size.format().is_sparse()
}

/// Whether the operator draws random values for few of its cells. How many it will be is no bound, since chance decides.
fn is_drawn_sparse(dag: &HopDag, hop: &Hop) -> bool {
    drawn_share(dag, hop).is_some_and(|share| share < SPARSITY_TURN_POINT)
}

/// What the size alone tells.
fn of_size(size: &SizeInfo, rows: u64, cols: u64) -> Sketch {
    match size.nnz {
        Some(nnz) => Sketch::uniform(rows, cols, nnz as f64),
        None => Sketch::dense(rows, cols),
    }
}

/// The shares of the non-zeros of two matrices that are left where the other one is zero.
fn left_beside_zeros(op: BinaryOp, one: &Sketch, other: &Sketch) -> [f64; 2] {
    let (negative, positive) = ([one, other].map(Sketch::negative), [one, other].map(|sketch| 1.0 - sketch.negative()));
    match op {
        BinaryOp::Min => negative,
        BinaryOp::Max => positive,
        BinaryOp::Less => [negative[0], positive[1]],
        BinaryOp::Greater => [positive[0], negative[1]],
        _ => [1.0, 1.0],
    }
}

/// The share of the non-zeros of an operation on two matrices, which is zero where both are, that is expected to be negative.
fn negative_joined(op: BinaryOp, one: &Sketch, other: &Sketch) -> f64 {
    match op {
        BinaryOp::Plus | BinaryOp::Min | BinaryOp::Max => one.mean_negative(other),
        BinaryOp::Minus => one.mean_negative(&other.clone().with_negative(1.0 - other.negative())),
        _ if op.algebra().boolean => 0.0,
        _ => HALF,
    }
}

/// What an operation that is zero where both are makes of two matrices of the same dimensions.
fn joined(op: BinaryOp, one: &Sketch, other: &Sketch) -> Sketch {
    one.union_of_shares(other, left_beside_zeros(op, one, other)).with_negative(negative_joined(op, one, other))
}

/// Whether the signs of the operands decide where the result is zero.
fn asks_for_signs(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Min | BinaryOp::Max | BinaryOp::Less | BinaryOp::Greater)
}

/// The variables that are worth a sketch: the matrices below products of a sparse matrix and a matrix, and those below comparisons
/// beside a sparse matrix, the signs of whose cells decide there. Of dense ones signs alone are worth it.
pub fn inputs_worth_a_sketch(dag: &HopDag) -> BTreeSet<&str> {
    let (mut below_product, mut below_comparison) = (EntitySet::<HopId>::new(), EntitySet::<HopId>::new());
    let mut names = BTreeSet::new();
    for (id, hop) in dag.hops.iter().rev() {
        let is_beside_sparse = || hop.inputs.iter().any(|&input| is_sparse(&dag[input]));
        let is_sparse_product = hop.op == HopOp::MatMul && hop.size.is_matrix() && is_beside_sparse();
        let is_comparison = || {
            matches!(hop.op, HopOp::Binary(op) if asks_for_signs(op))
                && hop.inputs.iter().all(|&input| dag[input].is_matrix())
                && is_beside_sparse()
        };
        let of_product = is_sparse_product || below_product.contains(id);
        let of_comparison = below_comparison.contains(id) || is_comparison();
        for &input in hop.inputs.iter().filter(|&&input| dag[input].is_matrix()) {
            if of_product {
                below_product.insert(input);
            }
            if of_comparison {
                below_comparison.insert(input);
            }
        }
        if let HopOp::Read(name) = &hop.op
            && (of_comparison || of_product && is_sparse(hop))
        {
            names.insert(name.as_str());
        }
    }
    names
}

/// Where an operator's value has its non-zeros, as far as others have theirs there, too.
#[derive(Clone, Debug)]
struct Pattern {
    /// The operator that has non-zeros in the same cells, which stands for all that do.
    same: HopId,
    /// Operators that stand for the patterns that this one lies within, itself included; of many the last ones.
    within: SmallVec<[HopId; MOST_PATTERNS]>,
    /// Operators that stand for patterns of which this one holds a share: those that it joins, and those that they join.
    parts: SmallVec<[(HopId, f64); 2]>,
}

/// Patterns that are remembered of one operator.
const MOST_PATTERNS: usize = 8;

impl Pattern {
    /// A pattern of its own.
    fn of(id: HopId) -> Self {
        Pattern { same: id, within: smallvec![id], parts: SmallVec::new() }
    }

    /// A pattern of its own that joins others, of which such shares are left.
    fn joined(id: HopId, others: [(&Pattern, f64); 2]) -> Self {
        let shares = others.into_iter().flat_map(|(pattern, share)| {
            let own = std::iter::once((pattern.same, share));
            own.chain(pattern.parts.iter().map(move |&(part, of_pattern)| (part, share * of_pattern)))
        });
        let parts = shares.filter(|&(_, share)| share > 0.0).take(MOST_PATTERNS).collect();
        Pattern { parts, ..Pattern::of(id) }
    }

    /// A pattern of its own within others.
    fn inside(id: HopId, others: &[&Pattern]) -> Self {
        let mut within: SmallVec<[HopId; MOST_PATTERNS]> = smallvec![id];
        for &other in others.iter().flat_map(|pattern| &pattern.within) {
            if within.len() < MOST_PATTERNS && !within.contains(&other) {
                within.push(other);
            }
        }
        Pattern { within, ..Pattern::of(id) }
    }

    fn lies_within(&self, other: &Pattern) -> bool {
        self.within.contains(&other.same)
    }

    /// The share of another pattern's non-zeros that are among these, as far as that is known: of those that it lies within the
    /// largest share that this one holds.
    fn share_of(&self, other: &Pattern) -> f64 {
        let held = self.parts.iter().filter(|(part, _)| other.within.contains(part));
        held.map(|&(_, share)| share).fold(0.0, f64::max)
    }

    /// What stands for the last pattern that both lie within.
    fn common(&self, other: &Pattern) -> Option<HopId> {
        self.within.iter().copied().filter(|id| other.within.contains(id)).max()
    }
}

/// A matrix that is computed cell by cell of another one and scalars alone: one and the same value where that is zero.
#[derive(Clone, Copy, Debug)]
struct Filled {
    source: HopId,
    elsewhere: f64,
}

struct Propagation<'a> {
    dag: &'a HopDag,
    sketches: &'a SecondaryMap<HopId, Option<Sketch>>,
    patterns: &'a SecondaryMap<HopId, Option<Pattern>>,
    filled: &'a SecondaryMap<HopId, Option<Filled>>,
    inputs: &'a InputSketches,
}

impl Propagation<'_> {
    fn input(&self, hop: &Hop, position: usize) -> Option<&Sketch> {
        hop.inputs.get(position).and_then(|&input| self.sketches[input].as_ref())
    }

    /// The sketch of an operator's value, where more than its size tells, and its pattern, given what it makes of one matrix.
    fn operator(&self, id: HopId, hop: &Hop, over_one: Option<Filled>) -> (Option<Sketch>, Pattern) {
        let of_matrices = match &hop.op {
            HopOp::Binary(op) => self.of_two(id, hop, *op),
            HopOp::Unary(_) | HopOp::Ternary(_) => None,
            _ => return (self.structural(hop), Pattern::of(id)),
        };
        of_matrices.or_else(|| self.only_matrix(hop, over_one?)).unwrap_or_else(|| (None, Pattern::of(id)))
    }

    /// The sketch of what an operator that is not element-wise gives.
    fn structural(&self, hop: &Hop) -> Option<Sketch> {
        let first = || self.input(hop, 0);
        match &hop.op {
            HopOp::Read(name) => self.inputs.get(name).map(|sketch| (**sketch).clone()),
            HopOp::MatMul => {
                let (left, right) = (first()?, self.input(hop, 1)?);
                (left.cols().len() == right.rows().len()).then(|| left.product(right))
            }
            HopOp::Reorg(ReorgOp::Transpose) => first().map(Sketch::transpose),
            HopOp::Reorg(ReorgOp::Rev) => first().map(Sketch::reverse_rows),
            HopOp::Reorg(ReorgOp::Diag) => {
                let sketch = first()?;
                Some(if sketch.cols().len() == 1 { sketch.diagonal_matrix() } else { sketch.diagonal() })
            }
            HopOp::AggUnary(AggOp::Sum | AggOp::SumSq | AggOp::Nnz | AggOp::Mean, Direction::Row) => {
                first().map(Sketch::row_sums)
            }
            HopOp::AggUnary(AggOp::Sum | AggOp::SumSq | AggOp::Nnz | AggOp::Mean, Direction::Col) => {
                first().map(Sketch::column_sums)
            }
            HopOp::Nary(NaryOp::Cbind) => self.bound(hop, Sketch::bind_columns),
            HopOp::Nary(NaryOp::Rbind) => self.bound(hop, Sketch::bind_rows),
            HopOp::Index => self.range(hop),
            HopOp::DataGen(_) => self.drawn(hop),
            _ => None,
        }
    }

    /// What the matrix has of which an element-wise operator, and others before it, make something else that is zero where it
    /// is. Of what several operators make of it no sign is known.
    fn only_matrix(&self, hop: &Hop, Filled { source, elsewhere }: Filled) -> Option<(Option<Sketch>, Pattern)> {
        if elsewhere != 0.0 {
            return None;
        }
        let (sketch, pattern) = self.known(source)?;
        let signed = |sketch: Sketch| {
            let is_direct = hop.inputs.contains(&source);
            let negative = if is_direct { self.negative(hop, sketch.negative()) } else { HALF };
            sketch.with_negative(negative)
        };
        Some((sketch.map(signed), pattern))
    }

    /// What an element-wise operator with a single matrix among its inputs makes of this one, or of what that is made of.
    fn over_one(&self, hop: &Hop) -> Option<Filled> {
        let mut matrices = hop.inputs.iter().filter(|&&input| self.dag[input].is_matrix());
        let only = *matrices.next()?;
        let before = self.filled[only].filter(|before| before.elsewhere != 0.0);
        let before = before.unwrap_or(Filled { source: only, elsewhere: 0.0 });
        if matrices.next().is_some() {
            return None;
        }
        let elsewhere = self.value_elsewhere(hop, before.elsewhere)?;
        Some(Filled { elsewhere, ..before })
    }

    /// The share of negative values of an element-wise operator over one matrix, given that of its non-zeros.
    fn negative(&self, hop: &Hop, share: f64) -> f64 {
        let is_negative = |&input: &HopId| self.dag.literal_f64(input).is_some_and(|literal| literal < 0.0);
        match hop.op {
            HopOp::Unary(UnaryOp::Abs | UnaryOp::Sqrt | UnaryOp::Pow2) => 0.0,
            HopOp::Unary(UnaryOp::Neg) => 1.0 - share,
            HopOp::Binary(BinaryOp::Mult | BinaryOp::Div) if hop.inputs.iter().any(is_negative) => 1.0 - share,
            _ => share,
        }
    }

    fn known(&self, id: HopId) -> Option<(Option<Sketch>, Pattern)> {
        Some((self.sketches[id].clone(), self.patterns[id].clone()?))
    }

    /// A matrix times, or divided by, values that leave its pattern as it is, and turn the signs of some of its own.
    fn turned(&self, id: HopId, by: HopId) -> Option<(Option<Sketch>, Pattern)> {
        let (sketch, pattern) = self.known(id)?;
        let by = self.sketches[by].as_ref()?;
        let turned = |sketch: Sketch| {
            let negative = sketch.negative_products(by);
            sketch.with_negative(negative)
        };
        Some((sketch.map(turned), pattern))
    }

    /// What an operation that is zero where both operands are makes of a matrix and one that it lies within, of which such a share
    /// is left where the inner one is zero.
    fn joined_inside(
        &self,
        id: HopId,
        op: BinaryOp,
        [inner, outer]: [HopId; 2],
        share: f64,
    ) -> Option<(Option<Sketch>, Pattern)> {
        let (one, other) = (self.sketches[inner].as_ref()?, self.sketches[outer].as_ref()?);
        let pattern = self.patterns[outer].as_ref()?;
        let (sketch, pattern) = if share == 1.0 {
            (other.clone(), pattern.clone())
        } else {
            (one.union_inside(other, share), Pattern::inside(id, &[pattern]))
        };
        Some((Some(sketch.with_negative(negative_joined(op, one, other))), pattern))
    }

    /// What an element-wise operator is where the matrices among its inputs have this value, if that is known whatever scalars
    /// that are not in the text turn out to be.
    fn value_elsewhere(&self, hop: &Hop, cells: f64) -> Option<f64> {
        let known = |position: usize| {
            let input = hop.inputs[position];
            if self.dag[input].is_matrix() { Known::Cells(cells) } else { Known::scalar(self.dag.literal_f64(input)) }
        };
        let value = match hop.op {
            HopOp::Unary(op) => op.eval_known(known(0)),
            HopOp::Binary(op) => op.eval_known(known(0), known(1), false),
            HopOp::Ternary(op) => op.eval_known(known(0), known(1), known(2), false),
            _ => Known::Nothing,
        };
        value.value()
    }

    fn bound(&self, hop: &Hop, bind: impl Fn(&Sketch, &Sketch) -> Sketch) -> Option<Sketch> {
        let mut parts = hop.inputs.iter().map(|&input| self.sketches[input].as_ref());
        let first = parts.next()??.clone();
        parts.try_fold(first, |so_far, part| Some(bind(&so_far, part?)))
    }

    fn drawn(&self, hop: &Hop) -> Option<Sketch> {
        let (rows, cols) = hop.size.known_dims()?;
        let sketch = Sketch::uniform(rows, cols, drawn_share(self.dag, hop)? * rows as f64 * cols as f64);
        Some(match drawn_negative(self.dag, hop) {
            Some(negative) => sketch.with_negative(negative),
            None => sketch,
        })
    }

    fn range(&self, hop: &Hop) -> Option<Sketch> {
        let source = self.input(hop, 0)?;
        let first = |position: usize| {
            let bound = self.dag.literal_f64(*hop.inputs.get(position)?)?;
            (bound >= 1.0).then_some(bound as usize - 1)
        };
        let (rows, cols) = hop.size.known_dims()?;
        let (first_row, first_col) = (first(1)?, first(3)?);
        let fits = first_row + rows as usize <= source.rows().len() && first_col + cols as usize <= source.cols().len();
        fits.then(|| source.range(first_row..first_row + rows as usize, first_col..first_col + cols as usize))
    }

    /// Of two matrices of the same dimensions, or of a matrix and a vector that repeats.
    fn of_two(&self, id: HopId, hop: &Hop, op: BinaryOp) -> Option<(Option<Sketch>, Pattern)> {
        let &[left, right] = &hop.inputs[..] else { return None };
        if !self.dag[left].is_matrix() || !self.dag[right].is_matrix() {
            return None;
        }
        let (one, other) = (self.sketches[left].as_ref()?, self.sketches[right].as_ref()?);
        let (one_pattern, other_pattern) = (self.patterns[left].as_ref()?, self.patterns[right].as_ref()?);
        let dims = |sketch: &Sketch| (sketch.rows().len(), sketch.cols().len());
        let (rows, cols) = dims(one);
        let masked = |vector: &Sketch, mask: fn(&Sketch, &Sketch) -> Sketch| {
            // What is expected to have no zeros leaves the pattern as it is.
            if vector.non_zeros() >= vector.cells() {
                return self.turned(left, right);
            }
            Some((Some(mask(one, vector)), Pattern::inside(id, &[one_pattern])))
        };
        match (op.zero(), dims(other)) {
            (BinaryZero::Annihilates, same) if same == (rows, cols) => {
                if one_pattern.lies_within(other_pattern) {
                    return self.turned(left, right);
                }
                if other_pattern.lies_within(one_pattern) {
                    return self.turned(right, left);
                }
                let common = one_pattern.common(other_pattern).and_then(|common| self.sketches[common].as_ref());
                let met = match common {
                    Some(common) => one.intersection_inside(other, common),
                    None => one.intersection(other),
                };
                // What is joined of a matrix and others has non-zeros where that matrix has them, not by chance.
                let held = [(one, other_pattern.share_of(one_pattern)), (other, one_pattern.share_of(other_pattern))];
                let held = held.into_iter().filter(|&(_, share)| share > 0.0).map(|(sketch, share)| sketch.part(share));
                let sketch = held.fold(met, |most, held| if held.non_zeros() > most.non_zeros() { held } else { most });
                let sketch = sketch.with_negative(one.negative_products(other));
                Some((Some(sketch), Pattern::inside(id, &[one_pattern, other_pattern])))
            }
            (BinaryZero::Joint, same) if same == (rows, cols) => {
                let [of_one, of_other] = left_beside_zeros(op, one, other);
                if one_pattern.lies_within(other_pattern) {
                    return self.joined_inside(id, op, [left, right], of_other);
                }
                if other_pattern.lies_within(one_pattern) {
                    return self.joined_inside(id, op, [right, left], of_one);
                }
                let pattern = Pattern::joined(id, [(one_pattern, of_one), (other_pattern, of_other)]);
                Some((Some(joined(op, one, other)), pattern))
            }
            (BinaryZero::Annihilates, (others, 1)) if others == rows => masked(other, Sketch::masked_by_column),
            (BinaryZero::Annihilates, (1, others)) if others == cols => masked(other, Sketch::masked_by_row),
            (BinaryZero::LeftAnnihilates, _) => self.turned(left, right),
            (BinaryZero::Joint, _) if asks_for_signs(op) => {
                let (rows, cols) = hop.size.known_dims()?;
                let [one, other] = [one, other].map(|sketch| sketch.repeated(rows as usize, cols as usize));
                Some((Some(joined(op, &one, &other)), Pattern::of(id)))
            }
            _ => None,
        }
    }
}
