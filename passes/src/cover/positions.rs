//! Which members of an operator over rows have one cell per non-zero of a sparse main input, in the place of one per column:
//! what [`fuseline_ir::cplan::Positions`] will say of its plan.

use super::{Hops, Operator};
use crate::facts::{Context, sparsity, transposed_product};
use crate::hops::{is_elementwise, untransposed};
use crate::zeros::{Driven, Zeros};
use fuseline_ir::cplan::fewest;
use fuseline_ir::hop::{HopId, HopOp};
use fuseline_ir::ops::{Direction, Known};
use smallvec::SmallVec;

/// The values of an operator over rows that lie by position in units of its sparse main rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ByPosition {
    /// Members, ascending.
    pub(crate) members: Hops,
    /// Matrices of the main input's dimensions of which nothing else is read, ascending.
    pub(crate) inputs: Hops,
    /// Sparse inputs whose rows are joined with those of the main one, since values are zero only where all of them are.
    pub(crate) joined: Hops,
}

impl ByPosition {
    /// Whether a value lies by position.
    pub(crate) fn contains(&self, id: HopId) -> bool {
        let lists = [&self.members, &self.inputs];
        lists.iter().any(|list| list.binary_search(&id).is_ok()) || self.joined.contains(&id)
    }
}

impl Operator {
    /// The values that lie by position if the operator goes over the non-zeros of the rows of `main`; `None` if it cannot,
    /// since it needs all columns of them, or of what is computed of them cell by cell.
    pub(crate) fn by_position(&self, context: &Context<'_>, main: HopId) -> Option<ByPosition> {
        if let Some(alone) = Search::new(context, self, main, &[main]).finish() {
            return Some(alone);
        }
        let candidates = self.joinable(context, main);
        let mut all: Hops = candidates.iter().copied().chain([main]).collect();
        all.sort_unstable();
        let found = Search::new(context, self, main, &all).finish().filter(|_| all.len() > 1)?;
        let mut sparse: Hops = candidates.into_iter().filter(|&id| sparsity(context, id) < 1.0).collect();
        sparse
            .sort_by(|&one, &other| sparsity(context, one).total_cmp(&sparsity(context, other)).then(one.cmp(&other)));
        let joined = fewest(&sparse, |joined| {
            let zeros: Hops = joined.iter().copied().chain([main]).collect();
            Search { found: found.members.clone(), taken: all.clone(), ..Search::new(context, self, main, &zeros) }
                .takes_positions()
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
        let read = |input: HopId| untransposed(self.context.dag, input).unwrap_or(input);
        let taken = || hop.inputs.iter().map(|&input| read(input)).filter(|&input| self.has(input));
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
        ByPosition { members: self.found, inputs, joined: Hops::new() }
    }

    /// Whether values by position alone read a value, which does not leave the operator.
    fn is_read_by_position(&self, id: HopId) -> bool {
        let Operator { members, roots, .. } = self.operator;
        let mut readers = members.iter().filter(|&&member| self.context.hop(member).inputs.contains(&id));
        !roots.contains(&id) && readers.all(|reader| self.found.binary_search(reader).is_ok())
    }

    /// Whether a member is a matrix of the main input's dimensions, computed cell by cell.
    fn is_by_cell(&self, id: HopId) -> bool {
        self.has_dims(id) && is_elementwise(self.context.dag, id)
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
