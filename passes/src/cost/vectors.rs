//! The vectors beside the cells of an operator: each belongs to rows or to columns. A column whose transpose the operator takes
//! belongs to columns there, as a row vector does.

use crate::cover::{Hops, Operator};
use crate::facts::Context;
use crate::hops::is_column_transpose;
use fuseline_ir::SizeInfo;
use fuseline_ir::hop::HopId;

/// The vectors that an operator reads.
pub(super) struct Vectors<'a> {
    context: &'a Context<'a>,
    /// What is read as it lies, and columns of which a transpose is read, members and inputs alike; none where there is no such
    /// transpose, so that everything is read as it lies.
    read: Option<[Hops; 2]>,
}

impl<'a> Vectors<'a> {
    /// The vectors of an operator.
    pub(super) fn of(context: &'a Context<'a>, operator: &Operator) -> Self {
        let turns = |id: HopId| is_column_transpose(context.dag, id);
        if !operator.members.iter().any(|&id| turns(id)) {
            return Vectors { context, read: None };
        }
        let (mut upright, mut turned) = (Hops::from_slice(&operator.roots), Hops::new());
        for &id in operator.members.iter().rev() {
            let inputs = &context.hop(id).inputs;
            if turns(id) || turned.contains(&id) {
                turned.extend_from_slice(inputs);
            }
            if !turns(id) && upright.contains(&id) {
                upright.extend_from_slice(inputs);
            }
        }
        Vectors { context, read: Some([upright, turned]) }
    }

    fn is_upright(&self, input: HopId) -> bool {
        self.read.as_ref().is_none_or(|[upright, _]| upright.contains(&input))
    }

    fn is_turned(&self, input: HopId) -> bool {
        self.read.as_ref().is_some_and(|[_, turned]| turned.contains(&input))
    }

    /// Whether an input has a value for each column of cells of this size.
    pub(super) fn belongs_to_columns(&self, input: HopId, cells: &SizeInfo) -> bool {
        let size = &self.context.hop(input).size;
        let is_row = self.is_upright(input) && size.rows == Some(1) && size.cols == cells.cols;
        let is_turned = self.is_turned(input) && size.cols == Some(1) && size.rows == cells.cols;
        cells.rows != Some(1) && (is_row || is_turned)
    }

    /// How many of these have a value for each row of cells of this size.
    pub(super) fn of_rows(&self, mut read: Hops, cells: &SizeInfo) -> usize {
        read.retain(|&mut id| self.belongs_to_rows(id, cells));
        read.sort_unstable();
        read.dedup();
        read.len()
    }

    /// Whether an input has a value for each row of cells of this size.
    pub(super) fn belongs_to_rows(&self, input: HopId, cells: &SizeInfo) -> bool {
        let size = &self.context.hop(input).size;
        self.is_upright(input) && cells.cols != Some(1) && size.cols == Some(1) && size.rows == cells.rows
    }
}
