//! The output type and size of every operator, from those of its inputs: the one place that knows them. The front
//! end, the expression builder, the verifier and size propagation all ask here.

mod elementwise;
mod functions;
mod numeric;
mod range;

pub use numeric::window_count;

use super::{CastOp, DataGenOp, Function, FusedOp, Hop, HopDag, HopId, HopOp, NaryOp, ReorgOp, ShapeOp};
use crate::ops::{AggOp, BinaryOp, Direction};
use crate::size::SizeInfo;
use crate::types::{DataType, ScalarType, StoredOnly};
use thiserror::Error;

/// Inputs whose types or shapes do not fit an operation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// A wrong number of inputs.
    #[error("{operation} takes {expected} inputs, not {actual}")]
    Arity {
        /// The operation.
        operation: String,
        /// How many it takes.
        expected: usize,
        /// How many it got.
        actual: usize,
    },
    /// A matrix where a scalar is needed, or a scalar or text where a matrix is.
    #[error("{operation} needs {expected} as input {position}, not {actual}")]
    Type {
        /// The operation.
        operation: String,
        /// What it needs.
        expected: &'static str,
        /// 1-based.
        position: usize,
        /// What it got.
        actual: DataType,
    },
    /// A matrix of cells that no operator computes with.
    #[error("{operation} cannot take input {position}: {error}")]
    Element {
        /// The operation.
        operation: String,
        /// 1-based.
        position: usize,
        /// What is wrong with it.
        error: StoredOnly,
    },
    /// Dimensions that do not fit.
    #[error("{operation}: the shapes {} and {} do not fit: {rule}", .left.without_nnz(), .right.without_nnz())]
    Dimensions {
        /// The operation.
        operation: String,
        /// Size of the first input.
        left: SizeInfo,
        /// Size of the second input.
        right: SizeInfo,
        /// What would fit.
        rule: &'static str,
    },
    /// A matrix of a wrong shape.
    #[error("{operation} of a matrix {}: {rule}", .size.without_nnz())]
    Size {
        /// The operation.
        operation: String,
        /// Size of the matrix.
        size: SizeInfo,
        /// What would fit.
        rule: &'static str,
    },
    /// A range outside of a matrix.
    #[error("{operation}: the range [{rows}, {cols}] lies outside of a matrix {}", .size.without_nnz())]
    Range {
        /// The operation.
        operation: String,
        /// Requested rows.
        rows: String,
        /// Requested columns.
        cols: String,
        /// Size of the matrix.
        size: SizeInfo,
    },
}

struct Context<'a> {
    dag: &'a HopDag,
    op: &'a HopOp,
    inputs: &'a [HopId],
}

/// The data type and size of `op` on these operators of `dag`.
///
/// Matrices are of doubles, inputs and outputs.
///
/// # Errors
/// The inputs do not fit: wrong number, type or dimensions. Unknown dimensions always fit.
pub fn output(dag: &HopDag, op: &HopOp, inputs: &[HopId]) -> Result<(DataType, SizeInfo), ShapeError> {
    let context = Context { dag, op, inputs };
    context.check_elements()?;
    context.infer()
}

/// The result type of a binary operation on two scalars.
pub fn scalar_binary_type(op: BinaryOp, left: ScalarType, right: ScalarType) -> ScalarType {
    if op.algebra().boolean {
        ScalarType::Bool
    } else if matches!(op, BinaryOp::Div | BinaryOp::Pow) {
        ScalarType::F64
    } else if left == ScalarType::I64 && right == ScalarType::I64 {
        ScalarType::I64
    } else {
        ScalarType::F64
    }
}

/// The name of an operation in messages, as a script spells it: `%*%`, `rowSums`, `as.matrix`, `indexing`.
pub fn operation_name(op: &HopOp) -> String {
    match op {
        HopOp::Unary(op) => op.dml().unwrap_or(op.mnemonic()).to_owned(),
        HopOp::Binary(op) => op.dml().unwrap_or(op.mnemonic()).to_owned(),
        HopOp::MatMul => "%*%".to_owned(),
        HopOp::AggUnary(op, Direction::Full) => op.mnemonic().to_owned(),
        HopOp::AggUnary(op, direction) => {
            let (plural, direction) = (op.mnemonic(), direction.mnemonic());
            format!("{direction}{}{}s", plural[..1].to_uppercase(), &plural[1..])
        }
        HopOp::Reorg(op) => op.mnemonic().to_owned(),
        HopOp::Cumulative(op) => format!("cum{op}"),
        HopOp::Concat => "+".to_owned(),
        HopOp::Outer(op) => format!("outer with {}", op.dml().unwrap_or(op.mnemonic())),
        HopOp::Nary(op) => op.fold().and_then(BinaryOp::dml).unwrap_or(op.mnemonic()).to_owned(),
        HopOp::Parameterized { function, .. } => function.mnemonic().to_owned(),
        HopOp::Index => "indexing".to_owned(),
        HopOp::LeftIndex => "left indexing".to_owned(),
        HopOp::DataGen(op) => op.mnemonic().to_owned(),
        HopOp::Shape(op) => op.mnemonic().to_owned(),
        HopOp::Cast(op) => op.mnemonic().to_owned(),
        HopOp::Ternary(op) => op.mnemonic().to_owned(),
        other => other.label(),
    }
}

const SCALAR: SizeInfo = SizeInfo::UNKNOWN;

impl Context<'_> {
    fn infer(&self) -> Result<(DataType, SizeInfo), ShapeError> {
        match self.op {
            HopOp::Read(_) => Ok((DataType::Unknown, SizeInfo::UNKNOWN)),
            HopOp::Literal(value) => Ok((DataType::Scalar(value.scalar_type()), SCALAR)),
            HopOp::Unary(op) => self.unary(*op),
            HopOp::Binary(op) => self.binary(*op),
            HopOp::Ternary(op) => self.ternary(*op),
            HopOp::Nary(op) => self.nary(*op),
            HopOp::AggUnary(op, direction) => self.aggregate(*op, *direction),
            HopOp::Cumulative(_) => {
                self.arity(1)?;
                self.expect_matrix(0)?;
                Ok((DataType::MATRIX, SizeInfo { nnz: None, ..self.size(0) }))
            }
            HopOp::Outer(op) => self.outer(*op),
            HopOp::MatMul => self.matmul(),
            HopOp::Reorg(op) => self.reorganise(*op),
            HopOp::Index => self.index(),
            HopOp::LeftIndex => self.left_index(),
            HopOp::DataGen(op) => self.data_gen(*op),
            HopOp::Shape(op) => self.shape(*op),
            HopOp::Cast(op) => self.cast(*op),
            HopOp::Concat => {
                self.arity(2)?;
                self.expect_scalar(0)?;
                self.expect_scalar(1)?;
                Ok((DataType::STR, SCALAR))
            }
            HopOp::Item(position) => self.item(*position),
            HopOp::Parameterized { function, names } => self.function(*function, names),
            HopOp::Fused(op) => self.fused(*op),
            HopOp::SpoofOp { .. } => Ok((DataType::MATRIX, SizeInfo::UNKNOWN)),
        }
    }

    /// The type and the size of a hand-coded operator: those of its definition.
    fn fused(&self, op: FusedOp) -> Result<(DataType, SizeInfo), ShapeError> {
        let inputs: Vec<&Hop> = self.inputs.iter().map(|&input| &self.dag[input]).collect();
        let (definition, root) = op.as_dag(&inputs)?;
        Ok((definition[root].data_type, definition[root].size))
    }

    /// Checks that operators compute with the cells of all matrices.
    fn check_elements(&self) -> Result<(), ShapeError> {
        for position in 0..self.inputs.len() {
            self.data_type(position).check_computes().map_err(|error| ShapeError::Element {
                operation: self.operation(),
                position: position + 1,
                error,
            })?;
        }
        Ok(())
    }

    fn operation(&self) -> String {
        operation_name(self.op)
    }

    fn data_type(&self, position: usize) -> DataType {
        self.dag[self.inputs[position]].data_type
    }

    fn size(&self, position: usize) -> SizeInfo {
        self.dag[self.inputs[position]].size
    }

    fn arity(&self, expected: usize) -> Result<(), ShapeError> {
        let actual = self.inputs.len();
        if actual == expected {
            Ok(())
        } else {
            Err(ShapeError::Arity { operation: self.operation(), expected, actual })
        }
    }

    fn type_error(&self, position: usize, expected: &'static str) -> ShapeError {
        ShapeError::Type {
            operation: self.operation(),
            expected,
            position: position + 1,
            actual: self.data_type(position),
        }
    }

    fn expect_matrix(&self, position: usize) -> Result<(), ShapeError> {
        match self.data_type(position) {
            DataType::Matrix(_) | DataType::Unknown => Ok(()),
            _ => Err(self.type_error(position, "a matrix")),
        }
    }

    fn expect_scalar(&self, position: usize) -> Result<(), ShapeError> {
        match self.data_type(position) {
            DataType::Scalar(_) | DataType::Unknown => Ok(()),
            _ => Err(self.type_error(position, "a scalar")),
        }
    }

    fn expect_number(&self, position: usize) -> Result<(), ShapeError> {
        match self.data_type(position) {
            DataType::Scalar(ScalarType::Str) | DataType::List | DataType::Frame => {
                Err(self.type_error(position, "a matrix or a number"))
            }
            DataType::Matrix(_) | DataType::Scalar(_) | DataType::Unknown => Ok(()),
        }
    }

    fn expect_table(&self, position: usize) -> Result<(), ShapeError> {
        match self.data_type(position) {
            DataType::Matrix(_) | DataType::Frame | DataType::List | DataType::Unknown => Ok(()),
            DataType::Scalar(_) => Err(self.type_error(position, "a matrix, a frame or a list")),
        }
    }

    fn expect_type(&self, position: usize, data_type: DataType, name: &'static str) -> Result<(), ShapeError> {
        let actual = self.data_type(position);
        if actual == data_type || actual == DataType::Unknown { Ok(()) } else { Err(self.type_error(position, name)) }
    }

    fn shape(&self, op: ShapeOp) -> Result<(DataType, SizeInfo), ShapeError> {
        self.arity(1)?;
        if op != ShapeOp::Length || self.data_type(0) != DataType::STR {
            self.expect_table(0)?;
        }
        Ok((DataType::I64, SCALAR))
    }

    /// One of the results of the operator that gives this operator's input.
    fn item(&self, position: usize) -> Result<(DataType, SizeInfo), ShapeError> {
        self.arity(1)?;
        self.expect_type(0, DataType::List, "a list")?;
        let producer = &self.dag[self.inputs[0]];
        Context { dag: self.dag, op: &producer.op, inputs: &producer.inputs }.result(position)
    }

    /// Type and size of the result at a position of an operator with several.
    fn result(&self, position: usize) -> Result<(DataType, SizeInfo), ShapeError> {
        let HopOp::Parameterized { function, .. } = self.op else { return Ok((DataType::Unknown, SizeInfo::UNKNOWN)) };
        Ok(match (function, position) {
            (Function::Numeric(function), _) => (DataType::MATRIX, self.numeric_result(*function, position)),
            (Function::Remove, _) => (DataType::List, SizeInfo::UNKNOWN),
            (Function::TransformEncode, 0) => (DataType::MATRIX, SizeInfo::UNKNOWN),
            (Function::TransformEncode, _) => (DataType::Frame, SizeInfo::UNKNOWN),
            _ => (DataType::Unknown, SizeInfo::UNKNOWN),
        })
    }

    fn dimensions(&self, left: usize, right: usize, rule: &'static str) -> ShapeError {
        ShapeError::Dimensions { operation: self.operation(), left: self.size(left), right: self.size(right), rule }
    }

    fn nary(&self, op: NaryOp) -> Result<(DataType, SizeInfo), ShapeError> {
        if let Some(fold) = op.fold() {
            return self.nary_elementwise(fold);
        }
        match self.inputs.first().map(|&first| self.dag[first].data_type) {
            // A single list of matrices is bound as these.
            Some(DataType::List) if self.inputs.len() == 1 => return Ok((DataType::MATRIX, SizeInfo::UNKNOWN)),
            Some(DataType::List) if op == NaryOp::Cbind => return Ok((DataType::List, SizeInfo::UNKNOWN)),
            _ if self.binds_a_frame() => return self.bind_frames(),
            Some(DataType::Unknown) => return Ok((DataType::Unknown, SizeInfo::UNKNOWN)),
            _ => {}
        }
        let mut result: Option<SizeInfo> = None;
        for position in 0..self.inputs.len() {
            self.expect_matrix(position)?;
            let size = self.size(position);
            let Some(so_far) = result else {
                result = Some(size);
                continue;
            };
            let add = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
            let same = |a: Option<u64>, b: Option<u64>| match (a, b) {
                (Some(a), Some(b)) if a != b => None,
                (a, b) => Some(a.or(b)),
            };
            let nnz = add(so_far.nnz, size.nnz);
            let merged = match op {
                NaryOp::Cbind => same(so_far.rows, size.rows)
                    .map(|rows| SizeInfo { rows, cols: add(so_far.cols, size.cols), nnz })
                    .ok_or_else(|| self.dimensions(0, position, "cbind needs equal numbers of rows")),
                _ => same(so_far.cols, size.cols)
                    .map(|cols| SizeInfo { rows: add(so_far.rows, size.rows), cols, nnz })
                    .ok_or_else(|| self.dimensions(0, position, "rbind needs equal numbers of columns")),
            };
            result = Some(merged?);
        }
        let arity_error = || ShapeError::Arity { operation: self.operation(), expected: 1, actual: 0 };
        Ok((DataType::MATRIX, result.ok_or_else(arity_error)?))
    }

    fn binds_a_frame(&self) -> bool {
        (0..self.inputs.len()).any(|position| self.data_type(position) == DataType::Frame)
    }

    /// Frames and matrices, which become frames.
    fn bind_frames(&self) -> Result<(DataType, SizeInfo), ShapeError> {
        for position in 0..self.inputs.len() {
            match self.data_type(position) {
                DataType::Frame | DataType::Matrix(_) | DataType::Unknown => {}
                _ => return Err(self.type_error(position, "a frame or a matrix")),
            }
        }
        Ok((DataType::Frame, SizeInfo::UNKNOWN))
    }

    fn aggregate(&self, op: AggOp, direction: Direction) -> Result<(DataType, SizeInfo), ShapeError> {
        self.arity(1)?;
        self.expect_matrix(0)?;
        let size = self.size(0);
        let nnz = |cells: Option<u64>, each: Option<u64>| match (size.nnz, op) {
            // The mean of no cells is NaN.
            (_, AggOp::Mean) if each.is_none_or(|each| each == 0) => None,
            (Some(nnz), AggOp::Sum | AggOp::SumSq | AggOp::Nnz | AggOp::Mean) => cells.map(|cells| nnz.min(cells)),
            _ => None,
        };
        Ok(match direction {
            Direction::Full => (DataType::F64, SCALAR),
            Direction::Row => {
                (DataType::MATRIX, SizeInfo { rows: size.rows, cols: Some(1), nnz: nnz(size.rows, size.cols) })
            }
            Direction::Col => {
                (DataType::MATRIX, SizeInfo { rows: Some(1), cols: size.cols, nnz: nnz(size.cols, size.rows) })
            }
        })
    }

    fn reorganise(&self, op: ReorgOp) -> Result<(DataType, SizeInfo), ShapeError> {
        self.arity(1)?;
        self.expect_matrix(0)?;
        let size = self.size(0);
        let size = match op {
            ReorgOp::Transpose => SizeInfo { rows: size.cols, cols: size.rows, nnz: size.nnz },
            ReorgOp::Rev => size,
            ReorgOp::Diag if size.cols == Some(1) => SizeInfo { cols: size.rows, ..size },
            ReorgOp::Diag => match size.known_dims() {
                Some((rows, cols)) if rows == cols => {
                    SizeInfo { rows: Some(rows), cols: Some(1), nnz: size.nnz.map(|nnz| nnz.min(rows)) }
                }
                Some(_) => return Err(self.type_error(0, "a square matrix or a column vector")),
                // A column grows, a square matrix shrinks: only the number of rows is known.
                None => SizeInfo { rows: size.rows, cols: None, nnz: None },
            },
        };
        Ok((DataType::MATRIX, size))
    }

    fn matmul(&self) -> Result<(DataType, SizeInfo), ShapeError> {
        self.arity(2)?;
        self.expect_matrix(0)?;
        self.expect_matrix(1)?;
        let (left, right) = (self.size(0), self.size(1));
        if let (Some(inner_left), Some(inner_right)) = (left.cols, right.rows)
            && inner_left != inner_right
        {
            let rule = "the columns of the left must be as many as the rows of the right";
            return Err(self.dimensions(0, 1, rule));
        }
        let mut size = SizeInfo { rows: left.rows, cols: right.cols, nnz: None };
        if left.is_empty() || right.is_empty() {
            size.nnz = Some(0);
        } else if let (Some((_, inner)), Some((_, cols)), Some(cells)) =
            (left.known_dims(), right.known_dims(), size.cells())
        {
            // A non-zero of the left reaches at most a row of the right, and the reverse.
            let from_left = left.nnz.map(|nnz| nnz.saturating_mul(cols));
            let from_right = right.nnz.and_then(|nnz| Some(nnz.saturating_mul(left.rows?)));
            let bound = from_left.into_iter().chain(from_right).min();
            size.nnz = bound.map(|bound| bound.min(cells)).filter(|_| inner > 0);
        }
        Ok((DataType::MATRIX, size))
    }

    /// The number of cells in a 1-based inclusive range given by two literals, `None` when unknown.
    fn range(&self, first: usize, last: usize) -> Option<(i64, i64)> {
        let first = self.dag.literal_f64(self.inputs[first])?;
        let last = self.dag.literal_f64(self.inputs[last])?;
        Some((first as i64, last as i64))
    }

    fn check_range(&self, size: SizeInfo, first: usize) -> Result<(Option<u64>, Option<u64>), ShapeError> {
        let (rows, cols) = (self.range(first, first + 1), self.range(first + 2, first + 3));
        let outside = |range: Option<(i64, i64)>, limit: Option<u64>| {
            range.is_some_and(|(low, high)| low < 1 || high < low || limit.is_some_and(|limit| high as u64 > limit))
        };
        if outside(rows, size.rows) || outside(cols, size.cols) {
            let print = |range: Option<(i64, i64)>| range.map_or("?".to_owned(), |(low, high)| format!("{low}:{high}"));
            return Err(ShapeError::Range { operation: self.operation(), rows: print(rows), cols: print(cols), size });
        }
        let extent = |range: Option<(i64, i64)>| range.map(|(low, high)| (high - low + 1) as u64);
        let between = |first: usize| range::extent(self.dag, self.inputs[first], self.inputs[first + 1]);
        Ok((extent(rows).or_else(|| between(first)), extent(cols).or_else(|| between(first + 2))))
    }

    fn index(&self) -> Result<(DataType, SizeInfo), ShapeError> {
        self.arity(5)?;
        self.expect_table(0)?;
        for position in 1..5 {
            self.expect_scalar(position)?;
        }
        if !self.data_type(0).is_matrix() {
            return Ok((self.data_type(0), SizeInfo::UNKNOWN));
        }
        let size = self.size(0);
        let (rows, cols) = self.check_range(size, 1)?;
        let rows = rows.or_else(|| self.is_full(1, 2, ShapeOp::Nrow).then_some(size.rows).flatten());
        let cols = cols.or_else(|| self.is_full(3, 4, ShapeOp::Ncol).then_some(size.cols).flatten());
        let cells = rows.zip(cols).map(|(rows, cols)| rows.saturating_mul(cols));
        let nnz = size.nnz.zip(cells).map(|(nnz, cells)| nnz.min(cells));
        Ok((DataType::MATRIX, SizeInfo { rows, cols, nnz }))
    }

    /// Whether the range runs from 1 to `nrow` or `ncol` of the indexed matrix.
    fn is_full(&self, first: usize, last: usize, extent: ShapeOp) -> bool {
        let last = &self.dag[self.inputs[last]];
        self.dag.literal_f64(self.inputs[first]) == Some(1.0)
            && last.op == HopOp::Shape(extent)
            && last.inputs.first() == Some(&self.inputs[0])
    }

    fn left_index(&self) -> Result<(DataType, SizeInfo), ShapeError> {
        self.arity(6)?;
        self.expect_table(0)?;
        for position in 2..6 {
            self.expect_scalar(position)?;
        }
        if !self.data_type(0).is_matrix() {
            return Ok((self.data_type(0), SizeInfo::UNKNOWN));
        }
        self.expect_number(1)?;
        let size = self.size(0);
        let (rows, cols) = self.check_range(size, 2)?;
        if self.data_type(1).is_matrix() {
            let replacement = self.size(1);
            let differs = |a: Option<u64>, b: Option<u64>| matches!((a, b), (Some(a), Some(b)) if a != b);
            if differs(rows, replacement.rows) || differs(cols, replacement.cols) {
                let rule = "the replacement must have the size of the range";
                let range = SizeInfo { rows, cols, nnz: None };
                return Err(ShapeError::Dimensions {
                    operation: self.operation(),
                    left: range,
                    right: replacement,
                    rule,
                });
            }
        }
        Ok((DataType::MATRIX, SizeInfo { nnz: None, ..size }))
    }

    fn literal_dim(&self, position: usize) -> Option<u64> {
        self.dim_of(self.inputs[position])
    }

    fn dim_of(&self, input: HopId) -> Option<u64> {
        let value = self.dag.literal_f64(input)?;
        (0.0..9.0e18).contains(&value).then_some(value as u64)
    }

    fn data_gen(&self, op: DataGenOp) -> Result<(DataType, SizeInfo), ShapeError> {
        match op {
            DataGenOp::Matrix => {
                self.arity(3)?;
                let (rows, cols) = (self.literal_dim(1), self.literal_dim(2));
                let cells = rows.zip(cols).map(|(rows, cols)| rows.saturating_mul(cols));
                let nnz = match self.data_type(0) {
                    DataType::Matrix(_) => self.size(0).nnz,
                    DataType::List | DataType::Frame => {
                        return Err(self.type_error(0, "a scalar, a text of numbers or a matrix"));
                    }
                    DataType::STR | DataType::Unknown => None,
                    DataType::Scalar(_) => match self.dag.literal_f64(self.inputs[0]) {
                        Some(0.0) => Some(0),
                        Some(_) => cells,
                        None => None,
                    },
                };
                Ok((DataType::MATRIX, SizeInfo { rows, cols, nnz }))
            }
            DataGenOp::Seq => {
                self.arity(3)?;
                let value = |position: usize| self.dag.literal_f64(self.inputs[position]);
                let rows = value(0).zip(value(1)).zip(value(2)).and_then(|((from, to), by)| seq_length(from, to, by));
                Ok((DataType::MATRIX, SizeInfo { rows, cols: Some(1), nnz: None }))
            }
            DataGenOp::Expand => {
                self.arity(2)?;
                self.expect_matrix(0)?;
                let (cells, cols) = (self.size(0).cells(), self.literal_dim(1));
                if let (Some(cells), Some(cols)) = (cells, cols)
                    && (cells == 0 || cols % cells != 0)
                {
                    return Err(self.type_error(0, "a vector whose length divides the number of columns"));
                }
                let repeat = cells.zip(cols).map(|(cells, cols)| cols / cells);
                let nnz = self.size(0).nnz.zip(repeat).map(|(nnz, repeat)| nnz.saturating_mul(repeat));
                Ok((DataType::MATRIX, SizeInfo { rows: Some(1), cols, nnz }))
            }
            DataGenOp::Rand => {
                self.arity(7)?;
                Ok((DataType::MATRIX, SizeInfo { rows: self.literal_dim(0), cols: self.literal_dim(1), nnz: None }))
            }
        }
    }

    fn cast(&self, op: CastOp) -> Result<(DataType, SizeInfo), ShapeError> {
        self.arity(1)?;
        let (data_type, size) = (self.data_type(0), self.size(0));
        let makes_scalar = !matches!(op, CastOp::AsMatrix | CastOp::AsList | CastOp::AsFrame);
        if makes_scalar && data_type.is_matrix() && !size.is_single() && size.known_dims().is_some() {
            return Err(self.type_error(0, "a scalar or a 1 x 1 matrix"));
        }
        Ok(match op {
            CastOp::AsScalar => match data_type {
                DataType::Matrix(_) => (DataType::F64, SCALAR),
                // The type of an element of a list or a cell of a frame is known at run time.
                DataType::Scalar(_) => (data_type, SCALAR),
                DataType::List | DataType::Frame | DataType::Unknown => (DataType::Unknown, SCALAR),
            },
            CastOp::AsMatrix => (DataType::MATRIX, if data_type.is_scalar() { SizeInfo::dims(1, 1) } else { size }),
            CastOp::AsList => {
                self.expect_table(0)?;
                (DataType::List, SCALAR)
            }
            CastOp::AsFrame => (DataType::Frame, SCALAR),
            CastOp::AsDouble => (DataType::F64, SCALAR),
            CastOp::AsInteger => (DataType::I64, SCALAR),
            CastOp::AsLogical => (DataType::BOOL, SCALAR),
        })
    }
}

/// The number of values of `seq(from, to, by)`; `None` where it does not end or is not a number.
pub fn seq_length(from: f64, to: f64, by: f64) -> Option<u64> {
    let steps = ((to - from) / by + 1e-10).floor();
    if !steps.is_finite() || steps > 9.0e15 {
        return None;
    }
    Some(if steps < 0.0 { 0 } else { steps as u64 + 1 })
}
