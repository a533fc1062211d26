//! Functions of matrices and numbers that have kernels of their own.

use serde::{Deserialize, Serialize};

/// A function of matrices and numbers. Inputs are in the order of the text; those that may be left out have names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum NumericFunction {
    /// The solution of a system of linear equations, or of least squares. Inputs: matrix, right-hand sides.
    Solve,
    /// The inverse of a square matrix.
    Inverse,
    /// The determinant of a square matrix.
    Determinant,
    /// The lower Cholesky factor of a symmetric positive definite matrix.
    Cholesky,
    /// The eigendecomposition of a square matrix. Results: real parts of the values (n x 1, ascending), vectors (n x n);
    /// of a pair of complex ones the real and the imaginary part.
    Eigen,
    /// The square root of a square matrix whose eigenvalues are not negative.
    MatrixRoot,
    /// The thin singular value decomposition. Results: left vectors (m x k), diagonal matrix of values (k x k,
    /// descending), right vectors (n x k).
    Svd,
    /// The LU decomposition of a square matrix. Results: permutation, lower and upper triangle, all n x n.
    Lu,
    /// The QR decomposition. Results: Householder vectors, triangle, both m x n.
    Qr,
    /// Quantiles of a vector. Inputs: values, probability (or a vector of them); `weights`.
    Quantile,
    /// The median of a vector. Inputs: values; `weights`.
    Median,
    /// The mean of the middle half of a vector. Inputs: values; `weights`.
    InterQuartileMean,
    /// The distinct values of a matrix, ascending, as a column; or of each row or column, before as many zeros as the
    /// longest has more. Inputs: matrix, direction (`"full"`, `"row"` or `"col"`).
    Unique,
    /// Aggregates of groups of rows. Inputs: matrix, group of each row; `weights`, `fn` (`"count"`, `"sum"`, `"mean"`,
    /// `"variance"`, `"min"`, `"max"` or `"centralmoment"`), `ngroups`, `order` (of the moment).
    GroupedAggregate,
    /// Random integers. Inputs: range, size, replacement, seed (-1: drawn).
    Sample,
    /// The rows moved down. Inputs: matrix, by how many rows.
    Roll,
    /// The part below the diagonal. Inputs: matrix, with the diagonal?, with the values (else ones)?
    LowerTriangle,
    /// The part above the diagonal. Inputs as of the lower one.
    UpperTriangle,
    /// `y[i] = x[i, 1] + x[i, 2] * y[i - 1]` of a matrix of two columns.
    CumulativeSumProduct,
    /// The distribution function, cell by cell. Inputs: values, name of the distribution, its two parameters (0 where
    /// it has fewer), lower tail?
    DistributionFunction,
    /// The inverse of the distribution function, cell by cell. Inputs: probabilities, name, two parameters.
    QuantileFunction,
    /// A 2-D convolution. Inputs: images (one per row), filters (one per row), then channels, height and width of an
    /// image, height and width of a filter, strides and paddings of rows and columns.
    Conv2d,
    /// The gradient of a 2-D convolution by its filters. Inputs: images, gradient by the result (one row per image),
    /// number of filters, then shapes as of the convolution.
    Conv2dBackwardFilter,
    /// The gradient of a 2-D convolution by its images. Inputs: filters, gradient by the result, then shapes as of the
    /// convolution.
    Conv2dBackwardData,
    /// The maximum over windows. Inputs: images, then channels, height and width of an image, height and width of a
    /// window, strides and paddings of rows and columns.
    MaxPool,
    /// The mean over windows, of which padding is part. Inputs as of the maximum.
    AvgPool,
    /// The gradient of the maximum over windows: all of a window's goes to its first largest cell. Inputs: images,
    /// gradient by the result, then shapes as of the maximum.
    MaxPoolBackward,
    /// The gradient of the mean over windows. Inputs as of the gradient of the maximum.
    AvgPoolBackward,
    /// How many distinct values a matrix, or each of its rows or columns, has. Inputs: matrix, direction.
    CountDistinct,
    /// The discrete Fourier transform. Inputs: real part, row by row (FALSE: of both dimensions); imaginary part
    /// `imaginary`. Results: real and imaginary part.
    Fourier,
    /// The inverse of the discrete Fourier transform. Inputs and results as of it.
    InverseFourier,
}

impl NumericFunction {
    /// How many inputs the function takes by position; the others have names.
    pub fn positional_inputs(self) -> usize {
        match self {
            NumericFunction::Inverse
            | NumericFunction::Determinant
            | NumericFunction::Cholesky
            | NumericFunction::Eigen
            | NumericFunction::MatrixRoot
            | NumericFunction::Svd
            | NumericFunction::Lu
            | NumericFunction::Qr
            | NumericFunction::Median
            | NumericFunction::InterQuartileMean
            | NumericFunction::CumulativeSumProduct => 1,
            NumericFunction::Solve
            | NumericFunction::Quantile
            | NumericFunction::GroupedAggregate
            | NumericFunction::Unique
            | NumericFunction::CountDistinct
            | NumericFunction::Fourier
            | NumericFunction::InverseFourier
            | NumericFunction::Roll => 2,
            NumericFunction::LowerTriangle | NumericFunction::UpperTriangle => 3,
            NumericFunction::Sample | NumericFunction::QuantileFunction => 4,
            NumericFunction::DistributionFunction => 5,
            NumericFunction::MaxPool | NumericFunction::AvgPool => 10,
            NumericFunction::Conv2d
            | NumericFunction::Conv2dBackwardData
            | NumericFunction::MaxPoolBackward
            | NumericFunction::AvgPoolBackward => 11,
            NumericFunction::Conv2dBackwardFilter => 12,
        }
    }

    /// How many results the function gives; several are a list.
    pub fn results(self) -> usize {
        match self {
            NumericFunction::Eigen
            | NumericFunction::Qr
            | NumericFunction::Fourier
            | NumericFunction::InverseFourier => 2,
            NumericFunction::Svd | NumericFunction::Lu => 3,
            _ => 1,
        }
    }

    /// Whether an input by position is a matrix, or may be one; the others are scalars.
    pub fn takes_matrix(self, position: usize) -> bool {
        match self {
            NumericFunction::Sample => false,
            NumericFunction::Solve
            | NumericFunction::Quantile
            | NumericFunction::GroupedAggregate
            | NumericFunction::Conv2d
            | NumericFunction::Conv2dBackwardFilter
            | NumericFunction::Conv2dBackwardData
            | NumericFunction::MaxPoolBackward
            | NumericFunction::AvgPoolBackward => position < 2,
            _ => position == 0,
        }
    }
}
