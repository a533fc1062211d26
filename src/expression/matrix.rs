//! Matrices that are yet to be computed.

use super::expr::Expr;
use super::failure::Place;
use super::operand::Operand;
use super::scalar::Scalar;
use fuseline_ir::hop::{CastOp, DataGenOp, Function, HopOp, NaryOp, NumericFunction, ReorgOp, ShapeOp};
use fuseline_ir::ops::{AggOp, BinaryOp, Direction, UnaryOp};
use fuseline_ir::{DataType, SizeInfo, Value};
use fuseline_matrix::{BorrowError, Csr, CsrError, Dense, MatrixBlock, NarrowDense};
use ndarray::{Array2, ArrayView2};
use sprs::CsMatI;
use std::borrow::Borrow;
use std::ops::{Bound, RangeBounds};
use std::panic::Location;
use std::sync::Arc;

/// What a reduction runs over.
///
/// ```
/// use fuseline::{Axis, Matrix, Session, ndarray::array};
///
/// let x = Matrix::from(array![[1.0, 2.0], [3.0, 4.0]]);
/// let (columns, rows) = Session::builder().build()?.eval((x.sum_over(Axis::Rows), x.sum_over(Axis::Columns)))?;
/// assert_eq!((columns.dims(), columns.get(0, 1)), ((1, 2), 6.0));
/// assert_eq!((rows.dims(), rows.get(1, 0)), ((2, 1), 7.0));
/// # Ok::<(), fuseline::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Axis {
    /// Over the rows: one value for each column (1 x n). NumPy's axis 0.
    Rows,
    /// Over the columns: one value for each row (m x 1). NumPy's axis 1.
    Columns,
}

impl From<Axis> for Direction {
    fn from(axis: Axis) -> Self {
        match axis {
            Axis::Rows => Direction::Col,
            Axis::Columns => Direction::Row,
        }
    }
}

/// A matrix that is there, is bound later, or is yet to be computed; cheap to clone.
///
/// Operators work cell by cell, as in NumPy, with numbers and with row and column vectors, which are repeated. They take
/// matrices, scalars and numbers, by value and by reference:
///
/// ```
/// use fuseline::{Matrix, Session, ndarray::array};
///
/// let x = Matrix::from(array![[1.0, 2.0], [3.0, 4.0]]);
/// let y = 2.0 * &x - x.t() / (&x + 1.0);
/// assert_eq!(Session::builder().build()?.eval(&y)?.get(0, 0), 1.5);
/// # Ok::<(), fuseline::Error>(())
/// ```
///
/// What does not fit is told by `eval`, with the places of the operation and of its operands:
///
/// ```
/// use fuseline::{Matrix, Session, ndarray::array};
///
/// let x = Matrix::from(array![[1.0, 2.0], [3.0, 4.0]]);
/// let w = Matrix::from(array![[1.0], [2.0], [3.0]]);
/// let error = Session::builder().build()?.eval(x.dot(&w)).unwrap_err().to_string();
/// assert!(error.contains("2x2") && error.contains("3x1"), "{error}");
/// # Ok::<(), fuseline::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Matrix(Expr);

impl Matrix {
    /// A matrix that is bound before each run of what is [compiled](crate::Session::compile).
    ///
    /// ```
    /// use fuseline::{Matrix, Session, ndarray::array};
    ///
    /// let session = Session::builder().build()?;
    /// let mut total = session.compile(Matrix::symbol("X").sum())?;
    /// assert_eq!(total.bind("X", array![[1.0, 2.0]])?.run()?, 3.0);
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    #[track_caller]
    pub fn symbol(name: &str) -> Matrix {
        Matrix(Expr::symbol(name, DataType::MATRIX, SizeInfo::UNKNOWN))
    }

    /// The array where it lies, without a copy where its rows lie one behind the other.
    ///
    /// ```
    /// use fuseline::{Matrix, Session, ndarray::Array2};
    /// use std::sync::Arc;
    ///
    /// let array = Arc::new(Array2::from_elem((1000, 10), 0.5));
    /// let x = Matrix::borrow_ndarray(&array)?;
    /// assert_eq!(Session::builder().build()?.eval(x.sum())?, 5000.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The array is not in C order.
    #[track_caller]
    pub fn borrow_ndarray(array: &Arc<Array2<f64>>) -> Result<Matrix, BorrowError> {
        Dense::borrow_ndarray(Arc::clone(array)).map(Matrix::from)
    }

    /// The matrix of `sprs` where it lies, without a copy.
    ///
    /// ```
    /// use fuseline::{Matrix, Session, sprs::CsMatI};
    /// use std::sync::Arc;
    ///
    /// let diagonal = CsMatI::new_from_unsorted((2, 2), vec![0_usize, 1, 2], vec![0_u32, 1], vec![3.0, 4.0]);
    /// let x = Matrix::borrow_sprs(&Arc::new(diagonal.unwrap()))?;
    /// assert_eq!(Session::builder().build()?.eval(x.sum())?, 7.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The matrix lies by columns.
    #[track_caller]
    pub fn borrow_sprs(matrix: &Arc<CsMatI<f64, u32, usize>>) -> Result<Matrix, BorrowError> {
        Csr::borrow_sprs(matrix).map(Matrix::from)
    }

    /// A matrix of equal cells.
    ///
    /// ```
    /// use fuseline::{Matrix, Session};
    ///
    /// assert_eq!(Session::builder().build()?.eval(Matrix::full(2, 3, 0.5).sum())?, 3.0);
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    #[track_caller]
    pub fn full(rows: usize, columns: usize, value: impl Operand) -> Matrix {
        let place = Place::Rust(Location::caller());
        let dimension = |count: usize| Expr::value_at(Value::I64(count as i64), place.clone());
        let value = value.into_expr(place.clone());
        let inputs = [&value, &dimension(rows), &dimension(columns)];
        Matrix(Expr::apply_at(HopOp::DataGen(DataGenOp::Matrix), &inputs, place.clone()))
    }

    /// The untyped expression. As in the examples of [`Expr`].
    pub fn as_expr(&self) -> &Expr {
        &self.0
    }

    /// The size, as far as it is known before anything is computed.
    ///
    /// ```
    /// use fuseline::{Matrix, ndarray::array};
    ///
    /// let x = Matrix::from(array![[1.0, 2.0, 3.0]]);
    /// assert_eq!(x.t().dot(&x).size().known_dims(), Some((3, 3)));
    /// ```
    pub fn size(&self) -> SizeInfo {
        self.0.size()
    }

    pub(super) fn of(expr: Expr) -> Matrix {
        Matrix(expr)
    }

    #[track_caller]
    fn apply(&self, op: impl Into<HopOp>) -> Matrix {
        Matrix(Expr::apply(op, &[&self.0]))
    }

    #[track_caller]
    fn numeric(&self, function: NumericFunction) -> Expr {
        let function = HopOp::Parameterized { function: Function::Numeric(function), names: Vec::new() };
        Expr::apply(function, &[&self.0])
    }

    /// The transpose.
    ///
    /// ```
    /// use fuseline::{Matrix, Session, ndarray::array};
    ///
    /// let x = Matrix::from(array![[1.0, 2.0]]);
    /// assert_eq!(Session::builder().build()?.eval(x.t())?.dims(), (2, 1));
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    #[track_caller]
    pub fn t(&self) -> Matrix {
        self.apply(HopOp::Reorg(ReorgOp::Transpose))
    }

    /// The matrix product.
    ///
    /// ```
    /// use fuseline::{Matrix, Session, ndarray::array};
    ///
    /// let x = Matrix::from(array![[1.0, 2.0]]);
    /// assert_eq!(Session::builder().build()?.eval(x.dot(x.t()))?.get(0, 0), 5.0);
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    #[track_caller]
    pub fn dot(&self, other: impl Borrow<Matrix>) -> Matrix {
        Matrix(Expr::apply(HopOp::MatMul, &[&self.0, &other.borrow().0]))
    }

    /// A range of rows and columns, counted from 0, whose ends are not part of it.
    ///
    /// ```
    /// use fuseline::{Matrix, Session, ndarray::array};
    ///
    /// let x = Matrix::from(array![[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(Session::builder().build()?.eval(x.slice(1.., 0..2))?.get(0, 1), 4.0);
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    #[track_caller]
    pub fn slice(&self, rows: impl RangeBounds<usize>, columns: impl RangeBounds<usize>) -> Matrix {
        let place = Place::Rust(Location::caller());
        let [first_row, last_row] = self.range(&rows, ShapeOp::Nrow, &place);
        let [first_column, last_column] = self.range(&columns, ShapeOp::Ncol, &place);
        let inputs = [&self.0, &first_row, &last_row, &first_column, &last_column];
        Matrix(Expr::apply_at(HopOp::Index, &inputs, place))
    }

    /// The first and the last position of a range, counted from 1.
    fn range(&self, range: &impl RangeBounds<usize>, extent: ShapeOp, place: &Place) -> [Expr; 2] {
        let number = |number: usize| Expr::value_at(Value::I64(number as i64), place.clone());
        let first = match range.start_bound() {
            Bound::Included(&first) => first.saturating_add(1),
            Bound::Excluded(&before) => before.saturating_add(2),
            Bound::Unbounded => 1,
        };
        let last = match range.end_bound() {
            Bound::Included(&last) => number(last.saturating_add(1)),
            Bound::Excluded(&end) => number(end),
            Bound::Unbounded => Expr::apply_at(HopOp::Shape(extent), &[&self.0], place.clone()),
        };
        [number(first), last]
    }

    /// The cell of a 1 x 1 matrix as a scalar.
    ///
    /// ```
    /// use fuseline::{Matrix, Session, ndarray::array};
    ///
    /// let x = Matrix::from(array![[3.0], [4.0]]);
    /// let norm = x.t().dot(&x).to_scalar().sqrt();
    /// assert_eq!(Session::builder().build()?.eval(norm)?, 5.0);
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    #[track_caller]
    pub fn to_scalar(&self) -> Scalar {
        Scalar::of(Expr::apply(HopOp::Cast(CastOp::AsScalar), &[&self.0]))
    }

    /// The number of rows.
    ///
    /// ```
    /// use fuseline::{Matrix, Session, ndarray::array};
    ///
    /// let x = Matrix::from(array![[3.0], [4.0]]);
    /// assert_eq!(Session::builder().build()?.eval(x.sum() / x.rows())?, 3.5);
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    #[track_caller]
    pub fn rows(&self) -> Scalar {
        Scalar::of(Expr::apply(HopOp::Shape(ShapeOp::Nrow), &[&self.0]))
    }

    /// The number of columns.
    ///
    /// ```
    /// use fuseline::{Matrix, Session, ndarray::array};
    ///
    /// let x = Matrix::from(array![[3.0, 4.0]]);
    /// assert_eq!(Session::builder().build()?.eval(x.columns())?, 2.0);
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    #[track_caller]
    pub fn columns(&self) -> Scalar {
        Scalar::of(Expr::apply(HopOp::Shape(ShapeOp::Ncol), &[&self.0]))
    }

    /// The cells on the diagonal of a square matrix as a column, or a column as the diagonal of a square matrix.
    ///
    /// ```
    /// use fuseline::{Matrix, Session, ndarray::array};
    ///
    /// let x = Matrix::from(array![[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(Session::builder().build()?.eval(x.diagonal().sum())?, 5.0);
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    #[track_caller]
    pub fn diagonal(&self) -> Matrix {
        self.apply(HopOp::Reorg(ReorgOp::Diag))
    }

    /// The rows in reverse order.
    ///
    /// ```
    /// use fuseline::{Matrix, Session, ndarray::array};
    ///
    /// let x = Matrix::from(array![[3.0], [4.0]]);
    /// assert_eq!(Session::builder().build()?.eval(x.reversed())?.get(0, 0), 4.0);
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    #[track_caller]
    pub fn reversed(&self) -> Matrix {
        self.apply(HopOp::Reorg(ReorgOp::Rev))
    }

    /// For each row the position of its largest cell, counted from 0; the last of equals.
    ///
    /// ```
    /// use fuseline::{Matrix, Session, ndarray::array};
    ///
    /// let x = Matrix::from(array![[1.0, 5.0, 2.0]]);
    /// assert_eq!(Session::builder().build()?.eval(x.argmax())?.get(0, 0), 1.0);
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    #[track_caller]
    pub fn argmax(&self) -> Matrix {
        self.apply(HopOp::Parameterized { function: Function::RowIndexMax, names: Vec::new() }) - 1.0
    }

    /// For each row the position of its smallest cell, counted from 0; the last of equals.
    ///
    /// ```
    /// use fuseline::{Matrix, Session, ndarray::array};
    ///
    /// let x = Matrix::from(array![[1.0, 5.0, 0.5]]);
    /// assert_eq!(Session::builder().build()?.eval(x.argmin())?.get(0, 0), 2.0);
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    #[track_caller]
    pub fn argmin(&self) -> Matrix {
        self.apply(HopOp::Parameterized { function: Function::RowIndexMin, names: Vec::new() }) - 1.0
    }

    /// The solution `x` of `self.dot(x) = right`; of an overdetermined system the one of least squares.
    ///
    /// ```
    /// use fuseline::{Matrix, Session, ndarray::array};
    ///
    /// let a = Matrix::from(array![[2.0, 0.0], [0.0, 4.0]]);
    /// let x = a.solve(&Matrix::from(array![[2.0], [2.0]]));
    /// assert_eq!(Session::builder().build()?.eval(x)?.get(1, 0), 0.5);
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    #[track_caller]
    pub fn solve(&self, right: &Matrix) -> Matrix {
        let function = Function::Numeric(NumericFunction::Solve);
        Matrix(Expr::apply(HopOp::Parameterized { function, names: Vec::new() }, &[&self.0, &right.0]))
    }

    /// The inverse.
    ///
    /// ```
    /// use fuseline::{Matrix, Session, ndarray::array};
    ///
    /// let a = Matrix::from(array![[2.0, 0.0], [0.0, 4.0]]);
    /// assert_eq!(Session::builder().build()?.eval(a.inverse())?.get(1, 1), 0.25);
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    #[track_caller]
    pub fn inverse(&self) -> Matrix {
        Matrix(self.numeric(NumericFunction::Inverse))
    }

    /// The lower triangular factor `L` with `L.dot(L.t()) = self`.
    ///
    /// ```
    /// use fuseline::{Matrix, Session, ndarray::array};
    ///
    /// let a = Matrix::from(array![[4.0, 0.0], [0.0, 9.0]]);
    /// assert_eq!(Session::builder().build()?.eval(a.cholesky())?.get(1, 1), 3.0);
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    #[track_caller]
    pub fn cholesky(&self) -> Matrix {
        Matrix(self.numeric(NumericFunction::Cholesky))
    }

    /// The eigenvalues of a symmetric matrix as a column, ascending, and its eigenvectors as columns.
    ///
    /// ```
    /// use fuseline::{Matrix, Session, ndarray::array};
    ///
    /// let (values, _vectors) = Matrix::from(array![[2.0, 0.0], [0.0, 3.0]]).eigen();
    /// assert_eq!(Session::builder().build()?.eval(values.sum())?, 5.0);
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    #[track_caller]
    pub fn eigen(&self) -> (Matrix, Matrix) {
        let results = self.numeric(NumericFunction::Eigen);
        let result = |position| Matrix(Expr::apply(HopOp::Item(position), &[&results]));
        (result(0), result(1))
    }

    /// The singular value decomposition: `u`, the diagonal matrix of singular values, and `v`.
    ///
    /// ```
    /// use fuseline::{Matrix, Session, ndarray::array};
    ///
    /// let (_u, s, _v) = Matrix::from(array![[2.0, 0.0], [0.0, 3.0]]).svd();
    /// let total = Session::builder().build()?.eval(s.sum())?;
    /// assert!((total - 5.0).abs() < 1e-12);
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    #[track_caller]
    pub fn svd(&self) -> (Matrix, Matrix, Matrix) {
        let results = self.numeric(NumericFunction::Svd);
        let result = |position| Matrix(Expr::apply(HopOp::Item(position), &[&results]));
        (result(0), result(1), result(2))
    }

    /// The determinant.
    ///
    /// ```
    /// use fuseline::{Matrix, Session, ndarray::array};
    ///
    /// let a = Matrix::from(array![[2.0, 0.0], [0.0, 3.0]]);
    /// assert_eq!(Session::builder().build()?.eval(a.determinant())?, 6.0);
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    #[track_caller]
    pub fn determinant(&self) -> Scalar {
        Scalar::of(self.numeric(NumericFunction::Determinant))
    }
}

/// Columns side by side.
///
/// ```
/// use fuseline::{Matrix, Session, cbind, ndarray::array};
///
/// let x = Matrix::from(array![[1.0], [2.0]]);
/// assert_eq!(Session::builder().build()?.eval(cbind(&[&x, &x.square()]))?.get(1, 1), 4.0);
/// # Ok::<(), fuseline::Error>(())
/// ```
#[track_caller]
pub fn cbind(matrices: &[&Matrix]) -> Matrix {
    bind(NaryOp::Cbind, matrices)
}

/// Rows below each other.
///
/// ```
/// use fuseline::{Matrix, Session, ndarray::array, rbind};
///
/// let x = Matrix::from(array![[1.0, 2.0]]);
/// assert_eq!(Session::builder().build()?.eval(rbind(&[&x, &x]))?.dims(), (2, 2));
/// # Ok::<(), fuseline::Error>(())
/// ```
#[track_caller]
pub fn rbind(matrices: &[&Matrix]) -> Matrix {
    bind(NaryOp::Rbind, matrices)
}

#[track_caller]
fn bind(op: NaryOp, matrices: &[&Matrix]) -> Matrix {
    let inputs: Vec<&Expr> = matrices.iter().map(|matrix| &matrix.0).collect();
    Matrix(Expr::apply(HopOp::Nary(op), &inputs))
}

macro_rules! reductions {
    ($($full:ident, $along:ident: $op:ident, $doc:literal, $of_all:literal, $of_row:literal;)*) => {
        impl Matrix {$(
            #[doc = concat!($doc, " of all cells.")]
            #[doc = ""]
            #[doc = "```"]
            #[doc = "use fuseline::{Matrix, Session, ndarray::array};"]
            #[doc = ""]
            #[doc = "let x = Matrix::from(array![[1.0, 4.0], [1.0, 4.0]]);"]
            #[doc = concat!("let of_all = Session::builder().build()?.eval(x.", stringify!($full), "())?;")]
            #[doc = concat!("assert_eq!(of_all, ", $of_all, ");")]
            #[doc = "# Ok::<(), fuseline::Error>(())"]
            #[doc = "```"]
            #[track_caller]
            pub fn $full(&self) -> Scalar {
                Scalar::of(Expr::apply((AggOp::$op, Direction::Full), &[&self.0]))
            }

            #[doc = concat!($doc, " along an axis.")]
            #[doc = ""]
            #[doc = "```"]
            #[doc = "use fuseline::{Axis, Matrix, Session, ndarray::array};"]
            #[doc = ""]
            #[doc = "let x = Matrix::from(array![[1.0, 4.0], [1.0, 4.0]]);"]
            #[doc = concat!("let rows = Session::builder().build()?.eval(x.", stringify!($along), "(Axis::Columns))?;")]
            #[doc = concat!("assert_eq!((rows.dims(), rows.get(1, 0)), ((2, 1), ", $of_row, "));")]
            #[doc = "# Ok::<(), fuseline::Error>(())"]
            #[doc = "```"]
            #[track_caller]
            pub fn $along(&self, axis: Axis) -> Matrix {
                Matrix(Expr::apply((AggOp::$op, Direction::from(axis)), &[&self.0]))
            }
        )*}
    };
}

reductions! {
    sum, sum_over: Sum, "The sum", 10.0, 5.0;
    sum_squares, sum_squares_over: SumSq, "The sum of squares", 34.0, 17.0;
    mean, mean_over: Mean, "The mean", 2.5, 2.5;
    variance, variance_over: Var, "The variance of a sample", 3.0, 4.5;
    min, min_over: Min, "The smallest", 1.0, 1.0;
    max, max_over: Max, "The largest", 4.0, 4.0;
    product, product_over: Prod, "The product", 16.0, 4.0;
    nonzeros, nonzeros_over: Nnz, "The number of non-zeros", 4.0, 2.0;
}

macro_rules! cumulative {
    ($($name:ident: $op:ident, $doc:literal, $second:literal;)*) => {
        impl Matrix {$(
            #[doc = $doc]
            #[doc = ""]
            #[doc = "```"]
            #[doc = "use fuseline::{Matrix, Session, ndarray::array};"]
            #[doc = ""]
            #[doc = "let x = Matrix::from(array![[1.0], [2.0]]);"]
            #[doc = concat!("let so_far = Session::builder().build()?.eval(x.", stringify!($name), "())?;")]
            #[doc = concat!("assert_eq!((so_far.get(0, 0), so_far.get(1, 0)), (1.0, ", $second, "));")]
            #[doc = "# Ok::<(), fuseline::Error>(())"]
            #[doc = "```"]
            #[track_caller]
            pub fn $name(&self) -> Matrix {
                self.apply(HopOp::Cumulative(AggOp::$op))
            }
        )*}
    };
}

cumulative! {
    cumsum: Sum, "Sums down each column.", 3.0;
    cumprod: Prod, "Products down each column.", 2.0;
    cummin: Min, "The smallest so far, down each column.", 1.0;
    cummax: Max, "The largest so far, down each column.", 2.0;
}

/// Methods of element-wise operations for matrices and scalars. Examples make an operand of `new` and a number, and
/// read a value of the result by `read`.
macro_rules! elementwise_methods {
    ($type:ident, $new:literal, $read:literal) => {
        crate::expression::matrix::unary_methods! { $type, $new, $read;
            abs: Abs, "The absolute value.", -2.0 => 2.0;
            sign: Sign, "The sign: -1, 0 or 1.", -2.0 => -1.0;
            sqrt: Sqrt, "The square root.", 9.0 => 3.0;
            square: Pow2, "The square.", 3.0 => 9.0;
            exp: Exp, "The exponential function.", 0.0 => 1.0;
            exp_m1: Expm1, "`exp(x) - 1`, exact near 0.", 0.0 => 0.0;
            ln: Log, "The natural logarithm.", 1.0 => 0.0;
            ln_1p: Log1p, "The natural logarithm of `1 + x`, exact near 0.", 0.0 => 0.0;
            ln_nonzero: LogNz, "The natural logarithm where not zero, else 0: zeros stay zeros.", 0.0 => 0.0;
            sigmoid: Sigmoid, "`1 / (1 + exp(-x))`.", 0.0 => 0.5;
            round: Round, "The nearest integer.", 2.6 => 3.0;
            floor: Floor, "The largest integer that is not larger.", 2.6 => 2.0;
            ceil: Ceil, "The smallest integer that is not smaller.", 2.2 => 3.0;
            not: Not, "1 where zero, else 0.", 0.0 => 1.0;
            sin: Sin, "The sine.", 0.0 => 0.0;
            cos: Cos, "The cosine.", 0.0 => 1.0;
            tan: Tan, "The tangent.", 0.0 => 0.0;
            asin: Asin, "The arc sine.", 0.0 => 0.0;
            acos: Acos, "The arc cosine.", 1.0 => 0.0;
            atan: Atan, "The arc tangent.", 0.0 => 0.0;
            sinh: Sinh, "The hyperbolic sine.", 0.0 => 0.0;
            cosh: Cosh, "The hyperbolic cosine.", 0.0 => 1.0;
            tanh: Tanh, "The hyperbolic tangent.", 0.0 => 0.0;
            erf: Erf, "The error function.", 0.0 => 0.0;
            normal_cdf: NormalCdf, "The distribution function of the standard normal distribution.", 0.0 => 0.5;
            is_nan: IsNan, "1 where not a number, else 0.", f64::NAN => 1.0;
            is_infinite: IsInf, "1 where infinite, else 0.", f64::INFINITY => 1.0;
        }
        crate::expression::matrix::binary_methods! { $type, $new, $read;
            pow: Pow, "A power.", 3.0, 2.0 => 9.0;
            modulo: Modulus, "The remainder of a division that is rounded down.", -7.0, 3.0 => 2.0;
            floor_div: IntDiv, "The quotient, rounded down.", -7.0, 2.0 => -4.0;
            minimum: Min, "The smaller of two; NaN if one is.", 2.0, 3.0 => 2.0;
            maximum: Max, "The larger of two; NaN if one is.", 2.0, 3.0 => 3.0;
            eq: Equal, "1 where equal, else 0.", 2.0, 2.0 => 1.0;
            ne: NotEqual, "1 where not equal, else 0.", 2.0, 2.0 => 0.0;
            lt: Less, "1 where less, else 0.", 2.0, 3.0 => 1.0;
            le: LessEqual, "1 where less or equal, else 0.", 2.0, 2.0 => 1.0;
            gt: Greater, "1 where greater, else 0.", 2.0, 3.0 => 0.0;
            ge: GreaterEqual, "1 where greater or equal, else 0.", 2.0, 2.0 => 1.0;
            and: And, "1 where neither is zero, else 0.", 2.0, 0.0 => 0.0;
            or: Or, "1 where one is not zero, else 0.", 2.0, 0.0 => 1.0;
            xor: Xor, "1 where exactly one is not zero, else 0.", 2.0, 0.0 => 1.0;
            log: LogBase, "The logarithm to a base.", 4.0, 2.0 => 2.0;
        }
    };
}
pub(super) use elementwise_methods;

macro_rules! unary_methods {
    (
        $type:ident, $new:literal, $read:literal;
        $($name:ident: $op:ident, $doc:literal, $operand:expr => $value:expr;)*
    ) => {
        impl $type {$(
            #[doc = $doc]
            #[doc = ""]
            #[doc = "```"]
            #[doc = concat!("use fuseline::{", stringify!($type), ", Session};")]
            #[doc = ""]
            #[doc = concat!("let y = ", $new, stringify!($operand), ").", stringify!($name), "();")]
            #[doc = concat!("assert_eq!(Session::builder().build()?.eval(y)?", $read, ", ", stringify!($value), ");")]
            #[doc = "# Ok::<(), fuseline::Error>(())"]
            #[doc = "```"]
            #[track_caller]
            pub fn $name(&self) -> $type {
                $type::of(Expr::apply(UnaryOp::$op, &[self.as_expr()]))
            }
        )*}
    };
}
pub(super) use unary_methods;

macro_rules! binary_methods {
    (
        $type:ident, $new:literal, $read:literal;
        $($name:ident: $op:ident, $doc:literal, $left:expr, $right:expr => $value:expr;)*
    ) => {
        impl $type {$(
            #[doc = $doc]
            #[doc = ""]
            #[doc = "```"]
            #[doc = concat!("use fuseline::{", stringify!($type), ", Session};")]
            #[doc = ""]
            #[doc = concat!("let x = ", $new, stringify!($left), ");")]
            #[doc = concat!("let y = x.", stringify!($name), "(", stringify!($right), ");")]
            #[doc = concat!("assert_eq!(Session::builder().build()?.eval(y)?", $read, ", ", stringify!($value), ");")]
            #[doc = "# Ok::<(), fuseline::Error>(())"]
            #[doc = "```"]
            #[track_caller]
            pub fn $name(&self, other: impl $crate::expression::operand::OperandOf<$type>) -> $type {
                let place = Place::Rust(Location::caller());
                let other = other.into_expr(place.clone());
                $type::of(Expr::apply_at(BinaryOp::$op, &[self.as_expr(), &other], place))
            }
        )*}
    };
}
pub(super) use binary_methods;

elementwise_methods!(Matrix, "Matrix::full(2, 2, ", ".get(1, 1)");

impl From<Matrix> for Expr {
    fn from(matrix: Matrix) -> Self {
        matrix.0
    }
}

macro_rules! from_values {
    ($($(#[$doc:meta])* $type:ty;)*) => {$(
        $(#[$doc])*
        impl From<$type> for Matrix {
            #[track_caller]
            fn from(matrix: $type) -> Self {
                Matrix(Expr::value(MatrixBlock::from(matrix)))
            }
        }
    )*};
}

from_values! {
    MatrixBlock;
    Dense;
    Csr;
    NarrowDense;
    /// Without a copy in C order, else with one.
    Array2<f64>;
    /// With a copy.
    ArrayView2<'_, f64>;
}

/// Without a copy.
impl TryFrom<CsMatI<f64, u32, usize>> for Matrix {
    type Error = CsrError;
    #[track_caller]
    fn try_from(matrix: CsMatI<f64, u32, usize>) -> Result<Self, CsrError> {
        Csr::from_sprs(matrix).map(Matrix::from)
    }
}
