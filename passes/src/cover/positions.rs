//! Which members of an operator over rows have one cell per non-zero of a sparse main input, in the place of one per column:
//! what [`fuseline_ir::cplan::Positions`] will say of its plan, or of the form of it that lays some of these values out.

use super::{Hops, Operator};
use crate::facts::{Context, cells, sparsity, transposed_product};
use crate::hops::untransposed;
use crate::zeros::{Driven, Zeros};
use cranelift_entity::EntitySet;
use fuseline_ir::cplan::{SCATTER_FLOPS, fewest};
use fuseline_ir::hop::{HopId, HopOp};
use fuseline_ir::ops::{Direction, Known};
use smallvec::SmallVec;

/// The values of an operator over rows that lie by position in units of its sparse main rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ByPosition {
    /// Members, ascending.
    pub(crate) members: Hops,
    /// Matrices of the main input's dimensions of which nothing else is read, ascending.
    pub(crate) inputs: Hops,
    /// Sparse inputs whose rows are joined with those of the main one, since values are zero only where all of them are.
    pub(crate) joined: Hops,
    /// What lies by position, the main input among it, and is laid out besides, for members that need all columns.
    pub(crate) laid_out: Hops,
    /// Members that read some of that for all columns, ascending.
    readers_of_laid_out: Hops,
}

impl ByPosition {
    /// Whether a value lies by position.
    pub(crate) fn contains(&self, id: HopId) -> bool {
        let lists = [&self.members, &self.inputs];
        lists.iter().any(|list| list.binary_search(&id).is_ok()) || self.joined.contains(&id)
    }

    /// Whether a member takes values that lie by position as they lie, if it reads any.
    pub(crate) fn takes(&self, member: HopId) -> bool {
        self.readers_of_laid_out.binary_search(&member).is_err()
    }
}

impl Operator {
    /// The values that lie by position if the operator goes over the non-zeros of the rows of `main`; `None` if it cannot,
    /// since it needs all columns of them, or of what is computed of them cell by cell.
    pub(crate) fn by_position(&self, context: &Context<'_>, main: HopId) -> Option<ByPosition> {
        self.found_by_position(context, main, false)
    }

    /// The values that lie by position where some of them are laid out, for members that need all columns; `None` if little
    /// is saved by that.
    pub(crate) fn laid_out(&self, context: &Context<'_>, main: HopId) -> Option<ByPosition> {
        self.found_by_position(context, main, true)
    }

    /// What a search finds, laying values out or not, with the main input alone, or else with others that are joined with it.
    fn found_by_position(&self, context: &Context<'_>, main: HopId, lays_out: bool) -> Option<ByPosition> {
        let finish = |search: Search<'_>| if lays_out { search.finish_laying_out() } else { search.finish() };
        if let Some(alone) = finish(Search::new(context, self, main, &[main])) {
            return Some(alone);
        }
        let candidates = self.joinable(context, main);
        let mut all: Hops = candidates.iter().copied().chain([main]).collect();
        all.sort_unstable();
        if all.len() == 1 {
            return None;
        }
        let found = finish(Search::new(context, self, main, &all))?;
        let mut sparse: Hops = candidates.into_iter().filter(|&id| sparsity(context, id) < 1.0).collect();
        sparse
            .sort_by(|&one, &other| sparsity(context, one).total_cmp(&sparsity(context, other)).then(one.cmp(&other)));
        let joined = fewest(&sparse, |joined| {
            let zeros: Hops = joined.iter().copied().chain([main]).collect();
            let search = Search::new(context, self, main, &zeros);
            let search = Search { found: found.members.clone(), taken: all.clone(), ..search };
            search.has_found(&found)
        })?;
        Some(ByPosition { joined: Hops::from_vec(joined), ..found })
    }

    /// The inputs of the main one's dimensions that members read cell by cell, or as rows, and otherwise not.
    fn joinable(&self, context: &Context<'_>, main: HopId) -> Hops {
        let is_whole = |id: &HopId| {
            let mut readers = self.members.iter().map(|&member| context.hop(member));
            readers.all(|hop| !hop.inputs.contains(id) || !matches!(hop.op, HopOp::Index | HopOp::Parameterized { .. }))
        };
        let has_dims = |id: &HopId| *id != main && context.hop(*id).size.same_dims(&context.hop(main).size);
        self.inputs.iter().copied().filter(has_dims).filter(is_whole).collect()
    }
}

struct Search<'a> {
    context: &'a Context<'a>,
    operator: &'a Operator,
    main: HopId,
    /// The main input, and those that are joined with it, ascending: all of them lie by position.
    taken: Hops,
    /// What of these is zero together.
    zeros: Hops,
    /// What members are there, by their place; none where that is not known.
    at_zero: SmallVec<[Known; 16]>,
    found: Hops,
}

impl<'a> Search<'a> {
    fn new(context: &'a Context<'a>, operator: &'a Operator, main: HopId, drivers: &[HopId]) -> Self {
        let strict = context.limits.strict_ieee;
        let zeros = Zeros::CellOfRow;
        let at_zero = Driven { dag: context.dag, members: &operator.members, drivers, zeros, strict }.values();
        let zeros = Hops::from_slice(drivers);
        Search { context, operator, main, taken: zeros.clone(), zeros, at_zero, found: Hops::new() }
    }

    /// What lies by position, if all that takes it can.
    fn finish(mut self) -> Option<ByPosition> {
        self.follow_main();
        self.takes_positions().then(|| self.with_operands())
    }

    /// What lies by position if what is needed for all columns is laid out, as far as it has one value between positions; `None`
    /// if that saves little.
    fn finish_laying_out(mut self) -> Option<ByPosition> {
        self.follow_main();
        let saves = |search: &Self, laid_out: usize| search.saved_flops() >= SCATTER_FLOPS * laid_out as f64;
        if !saves(&self, 1) {
            return None;
        }
        let laid_out = self.leave_out();
        if !saves(&self, laid_out.len()) {
            return None;
        }
        let reads = |id: HopId| self.read_by(id).any(|input| laid_out.contains(&input));
        let members = self.operator.members.iter().copied();
        let readers_of_laid_out = members.filter(|&id| !self.takes(id) && reads(id)).collect();
        Some(ByPosition { laid_out, readers_of_laid_out, ..self.with_operands() })
    }

    /// Whether what was found lies by position, and nothing but what is laid out is needed for all columns.
    fn has_found(mut self, found: &ByPosition) -> bool {
        if found.laid_out.is_empty() {
            return self.takes_positions();
        }
        self.leave_out() == found.laid_out && self.found == found.members
    }

    /// Takes out of what was found by position all that is needed for all columns, unless it has one value between positions.
    /// What is left and needed for all columns: members that are not computed cell by cell, others that do not lie by position,
    /// and roots cannot take it as it lies. Ascending.
    fn leave_out(&mut self) -> Hops {
        let (operator, uniform) = (self.operator, self.uniform());
        let Operator { members, roots, .. } = operator;
        let mut needed: Hops = roots.iter().copied().filter(|&root| self.has(root) && !self.is_sparse(root)).collect();
        for &id in members.iter().rev() {
            if needed.contains(&id) && !uniform.contains(id) {
                self.found.retain(|found| *found != id);
                needed.retain(|needed| *needed != id);
            }
            if !self.takes(id) {
                needed.extend(self.read_by(id).filter(|&input| self.has(input) && self.is_needed_by(id, input)));
            }
        }
        needed.sort_unstable();
        needed.dedup();
        needed
    }

    /// Whether a member takes what it reads of values by position as it lies.
    fn takes(&self, id: HopId) -> bool {
        if self.is_by_cell(id) { self.found.binary_search(&id).is_ok() } else { self.suits(id) }
    }

    /// Whether a member that cannot take all that it reads as it lies needs this one for all columns: of a sum over rows
    /// the left factor may lie by position, if it is zero elsewhere.
    fn is_needed_by(&self, id: HopId, input: HopId) -> bool {
        match transposed_product(self.context, id) {
            Some((left, _)) => input != left || !self.is_sparse(left) || self.context.limits.strict_ieee,
            None => true,
        }
    }

    /// What has one value between positions, of the main input, those joined with it, and members: scalars and values of rows are the
    /// same for all columns, and so is what is computed cell by cell of nothing else.
    fn uniform(&self) -> EntitySet<HopId> {
        let main = self.context.hop(self.main).size;
        let mut uniform: EntitySet<HopId> = EntitySet::new();
        self.zeros.iter().for_each(|&id| _ = uniform.insert(id));
        for (&id, known) in self.operator.members.iter().zip(&self.at_zero) {
            let is_same = |&input: &HopId| {
                let size = self.context.hop(input).size;
                let is_by_row = size.cols == Some(1) && main.cols != Some(1);
                !self.context.hop(input).is_matrix() || is_by_row || uniform.contains(input)
            };
            let is_computed = || self.is_by_cell(id) && self.context.hop(id).inputs.iter().all(is_same);
            if known.value().is_some() || is_computed() {
                uniform.insert(id);
            }
        }
        uniform
    }

    /// What a member reads: through transposes.
    fn read_by(&self, id: HopId) -> impl Iterator<Item = HopId> + use<'a> {
        let context = self.context;
        context.hop(id).inputs.iter().map(|&input| untransposed(context.dag, input).unwrap_or(input))
    }

    /// The flops for a cell that are done at positions alone.
    fn saved_flops(&self) -> f64 {
        let flops: f64 = self.found.iter().map(|&id| self.context.operation(id).dense_flops).sum();
        flops / cells(&self.context.hop(self.main).size).max(1.0)
    }

    /// Finds what is computed cell by cell of the main input.
    fn follow_main(&mut self) {
        for &id in &self.operator.members {
            if self.is_by_cell(id) && self.context.hop(id).inputs.iter().any(|&input| self.has(input)) {
                self.found.push(id);
            }
        }
    }

    /// Whether whatever is not computed cell by cell, and all roots, can take positions where they take such a value.
    fn takes_positions(&self) -> bool {
        let Operator { members, roots, .. } = self.operator;
        roots.iter().all(|&root| !self.has(root) || self.is_sparse(root))
            && members.iter().all(|&id| self.is_by_cell(id) || self.suits(id))
    }

    /// Whether a member that is not computed cell by cell can take positions.
    fn suits(&self, id: HopId) -> bool {
        let hop = self.context.hop(id);
        let taken = || self.read_by(id).filter(|&input| self.has(input));
        let are_sparse = || taken().all(|input| self.is_sparse(input));
        match hop.op {
            _ if taken().next().is_none() => true,
            // Whoever reads through it says what it takes.
            HopOp::Reorg(_) if untransposed(self.context.dag, id).is_some() => true,
            HopOp::AggUnary(_, Direction::Row) => are_sparse(),
            HopOp::AggUnary(..) if self.operator.is_multi_aggregate() && self.is_full(id) => are_sparse(),
            HopOp::AggUnary(agg, _) => are_sparse() && agg.ignores_zeros(),
            HopOp::MatMul => !self.context.limits.strict_ieee && self.suits_product(id) && are_sparse(),
            // Columns are read of the matrix a second time, as of any other.
            HopOp::Index => true,
            _ => false,
        }
    }

    /// Whether one factor of a product lies by position, and may: either one of a sum over rows, else the left one.
    fn suits_product(&self, id: HopId) -> bool {
        match transposed_product(self.context, id) {
            Some((left, right)) => self.has(left) != self.has(right),
            None => {
                let inputs = &self.context.hop(id).inputs;
                self.has(inputs[0]) && !self.has(inputs[1])
            }
        }
    }

    fn is_full(&self, id: HopId) -> bool {
        matches!(self.context.hop(id).op, HopOp::AggUnary(_, Direction::Full))
    }

    /// What was found, with the operands of which nothing else is read.
    fn with_operands(mut self) -> ByPosition {
        let operator = self.operator;
        for &id in operator.members.iter().rev() {
            if !self.has(id) && self.is_by_cell(id) && self.is_read_by_position(id) {
                self.found.push(id);
                self.found.sort_unstable();
            }
        }
        let inputs = operator.inputs.iter().copied();
        let inputs =
            inputs.filter(|&id| id != self.main && self.has_dims(id) && self.is_read_by_position(id)).collect();
        ByPosition { members: self.found, inputs, ..ByPosition::default() }
    }

    /// Whether values by position alone read a value, which does not leave the operator.
    fn is_read_by_position(&self, id: HopId) -> bool {
        let Operator { members, roots, .. } = self.operator;
        let mut readers = members.iter().filter(|&&member| self.context.hop(member).inputs.contains(&id));
        !roots.contains(&id) && readers.all(|reader| self.found.binary_search(reader).is_ok())
    }

    /// Whether a member is a matrix of the main input's dimensions, computed cell by cell.
    fn is_by_cell(&self, id: HopId) -> bool {
        self.has_dims(id) && self.context.operation(id).is_element_wise
    }

    fn has_dims(&self, id: HopId) -> bool {
        self.context.hop(id).size.same_dims(&self.context.hop(self.main).size)
    }

    fn has(&self, id: HopId) -> bool {
        self.taken.contains(&id) || self.found.binary_search(&id).is_ok()
    }

    /// Whether a value is zero where the main input is.
    fn is_sparse(&self, id: HopId) -> bool {
        let place = self.operator.members.binary_search(&id);
        self.zeros.contains(&id) || place.is_ok_and(|place| self.at_zero[place].value() == Some(0.0))
    }
}
