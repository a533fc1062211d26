//! Which operators may fail: the one place that rewrites, constants and code motion ask before they drop an operator.
//!
//! Where a value is read, what may fail on the way to it is kept. Inference checks types and shapes as far as they are
//! known, so an operator that asks for nothing more cannot fail where all of them are. Running out of memory, and an
//! interruption, are no failures in this sense: what is not computed needs no memory.

use super::{CastOp, DataGenOp, FrameFunction, Function, HopDag, HopId, HopOp, ReorgOp, ShapeOp, infer};
use crate::types::{DataType, Value};

/// What an operation asks of its inputs, each more than the one before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Demands {
    /// Nothing.
    Nothing,
    /// Matrices and scalars.
    Types,
    /// Dimensions that fit.
    Dimensions,
    /// Dimensions that fit, and scalars that say where to look or what to make.
    Scalars,
    /// Content: cells, texts, elements or files.
    Content,
}

impl HopDag {
    /// Whether an operation on these operators of the DAG may fail when it runs, given the types, dimensions and literals
    /// that are known of them. Whether its inputs may fail is another question.
    pub fn may_fail(&self, op: &HopOp, inputs: &[HopId]) -> bool {
        let are_simple =
            inputs.iter().all(|&input| matches!(self[input].data_type, DataType::Matrix(_) | DataType::Scalar(_)));
        match demands(op) {
            Demands::Nothing => false,
            Demands::Content => true,
            _ if !are_simple => true,
            Demands::Types => false,
            Demands::Dimensions if !is_picky(op) && self.is_one_matrix(inputs) => false,
            Demands::Dimensions => !self.have_known_dimensions(inputs),
            Demands::Scalars => {
                let is_whole = *op == HopOp::Index && self.is_whole_range(inputs);
                !is_whole && (!self.have_known_dimensions(inputs) || !self.are_scalars_fine(op, inputs))
            }
        }
    }

    /// Whether no two of the matrices are different ones: a matrix fits itself, and scalars.
    fn is_one_matrix(&self, inputs: &[HopId]) -> bool {
        let mut matrices = inputs.iter().filter(|&&input| self[input].is_matrix());
        matrices.next().is_none_or(|first| matrices.all(|other| other == first))
    }

    fn have_known_dimensions(&self, inputs: &[HopId]) -> bool {
        inputs.iter().all(|&input| !self[input].is_matrix() || self[input].size.known_dims().is_some())
    }

    /// Whether the scalars are known to be what the operation needs, where dimensions of matrices are known and fit.
    fn are_scalars_fine(&self, op: &HopOp, inputs: &[HopId]) -> bool {
        let has_known_size = || infer::output(self, op, inputs).is_ok_and(|(_, size)| size.known_dims().is_some());
        let is_literal = |input: &HopId| self.literal_value(*input).is_some();
        match (op, inputs) {
            (HopOp::Index, [_, range @ ..]) | (HopOp::LeftIndex, [_, _, range @ ..]) => range.iter().all(is_literal),
            (HopOp::Cast(_), [input]) => self[*input].data_type != DataType::STR && self[*input].is_scalar(),
            (HopOp::Parameterized { function: Function::RemoveEmpty, names }, [_, margin]) => {
                let margins = [Value::Str("rows".to_owned()), Value::Str("cols".to_owned())];
                *names == ["margin"] && self.literal_value(*margin).is_some_and(|margin| margins.contains(margin))
            }
            (HopOp::DataGen(DataGenOp::Matrix), [value, ..]) => match self[*value].data_type {
                DataType::Matrix(_) => infer::output(self, op, inputs)
                    .is_ok_and(|(_, size)| size.cells().is_some() && size.cells() == self[*value].size.cells()),
                DataType::STR => false,
                _ => has_known_size(),
            },
            (HopOp::DataGen(DataGenOp::Rand), _) => has_known_size() && self.is_density(inputs),
            (HopOp::DataGen(DataGenOp::Seq | DataGenOp::Expand), _) => has_known_size(),
            _ => false,
        }
    }

    /// Whether a range runs from 1 to `nrow` and from 1 to `ncol` of the indexed matrix, whatever these are.
    fn is_whole_range(&self, inputs: &[HopId]) -> bool {
        let &[matrix, first_row, last_row, first_col, last_col] = inputs else { return false };
        let is_extent =
            |last: HopId, extent| self[last].op == HopOp::Shape(extent) && self[last].inputs[..] == [matrix];
        let begin = [first_row, first_col].iter().all(|&first| self.literal_f64(first) == Some(1.0));
        begin && is_extent(last_row, ShapeOp::Nrow) && is_extent(last_col, ShapeOp::Ncol)
    }

    /// Whether the literals describe a distribution of random numbers.
    fn is_density(&self, inputs: &[HopId]) -> bool {
        let number = |position: usize| self.literal_f64(inputs[position]);
        let range = number(2).zip(number(3)).is_some_and(|(min, max)| min.is_finite() && max.is_finite() && min <= max);
        let sparsity = number(4).is_some_and(|sparsity| (0.0..=1.0).contains(&sparsity));
        let is_known = |name: &Value| matches!(name, Value::Str(name) if name == "uniform" || name == "normal");
        range && sparsity && self.literal_value(inputs[6]).is_some_and(is_known)
    }
}

/// Whether an only matrix may not suit the operation.
fn is_picky(op: &HopOp) -> bool {
    matches!(op, HopOp::MatMul | HopOp::Outer(_) | HopOp::Reorg(ReorgOp::Diag) | HopOp::Cast(_) | HopOp::Fused(_))
}

fn demands(op: &HopOp) -> Demands {
    match op {
        // The operator whose result an item is has failed, or has it.
        HopOp::Read(_) | HopOp::Literal(_) | HopOp::Item(_) => Demands::Nothing,
        HopOp::Unary(_) | HopOp::AggUnary(..) | HopOp::Cumulative(_) | HopOp::Shape(_) | HopOp::Concat => {
            Demands::Types
        }
        HopOp::Reorg(ReorgOp::Transpose | ReorgOp::Rev) | HopOp::Cast(CastOp::AsMatrix) => Demands::Types,
        HopOp::Binary(_) | HopOp::Ternary(_) | HopOp::Nary(_) | HopOp::Outer(_) | HopOp::MatMul => Demands::Dimensions,
        HopOp::Reorg(ReorgOp::Diag) | HopOp::Cast(CastOp::AsScalar) | HopOp::Fused(_) => Demands::Dimensions,
        HopOp::Index | HopOp::LeftIndex | HopOp::DataGen(_) => Demands::Scalars,
        HopOp::Cast(CastOp::AsDouble | CastOp::AsInteger | CastOp::AsLogical) => Demands::Scalars,
        HopOp::Cast(CastOp::AsList | CastOp::AsFrame) | HopOp::SpoofOp { .. } => Demands::Content,
        HopOp::Parameterized { function, .. } => demands_of_function(*function),
    }
}

fn demands_of_function(function: Function) -> Demands {
    match function {
        Function::Time | Function::List => Demands::Nothing,
        Function::RemoveEmpty => Demands::Scalars,
        Function::ToString | Function::RowIndexMax | Function::RowIndexMin => Demands::Types,
        Function::Frame(FrameFunction::ReplaceCells) => Demands::Types,
        _ => Demands::Content,
    }
}
