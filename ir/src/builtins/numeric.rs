//! The table of builtin functions of linear algebra, statistics and images.

use super::{Builtin, Lowering, Parameter, Presence, named, optional, required, row, target_of_script, with_default};
use crate::hop::NumericFunction;
use crate::ops::Direction;

/// A function that the front end composes of other operators, so that it fuses like them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Composed {
    /// The argument as it is: how a matrix is stored is not a script's to say.
    Unchanged,
    /// The mean of all cells, with or without weights.
    Mean,
    /// Partial sums along each row.
    RowCumulativeSum,
    /// A comparison of two operands, named by the text of the last argument.
    Comparison,
    /// Quantiles, with or without weights in the middle.
    Quantile,
    /// A central moment, with or without weights in the middle.
    Moment,
    /// The covariance of two vectors.
    Covariance,
    /// The correlations of all pairs of columns.
    Correlation,
    /// The Euclidean distances of all pairs of rows.
    Distances,
    /// The square root of a matrix, by a named strategy.
    MatrixRoot,
    /// Whether a value occurs in a matrix.
    Contains,
    /// One row per cell of a vector, with a one in the column that the cell names.
    OneHot,
    /// A row per cell of a vector as of `OneHot`, or a column, with cells that name nothing left out.
    Expansion,
    /// Random integers, whose third argument may be the seed.
    Sample,
    /// The distinct values of a matrix, or of each of its rows or columns.
    Unique,
    /// How many distinct values a matrix has, or each of its rows or columns; a direction that is fixed, or named by an
    /// argument.
    CountDistinct(Option<Direction>),
    /// The discrete Fourier transform or its inverse.
    Fourier {
        /// Whether it is the inverse.
        is_inverse: bool,
        /// Whether each row is transformed by itself, else both dimensions are.
        by_row: bool,
    },
    /// A distribution function, of a distribution that is fixed or named by an argument.
    DistributionFunction(Option<DistributionName>),
    /// The inverse of a distribution function.
    QuantileFunction(Option<DistributionName>),
    /// A 2-D convolution, or a gradient of it; shapes are lists of numbers.
    Convolution(NumericFunction),
    /// The maximum or mean over windows of images, or a gradient of it.
    Pool(NumericFunction),
}

/// A probability distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DistributionName {
    /// Normal: mean and standard deviation.
    Normal,
    /// Exponential: rate.
    Exponential,
    /// Chi-squared: degrees of freedom.
    ChiSquared,
    /// Student's t: degrees of freedom.
    StudentT,
    /// Fisher's F: degrees of freedom of numerator and denominator.
    FisherF,
}

impl DistributionName {
    /// Every distribution.
    pub const ALL: [DistributionName; 5] = [
        DistributionName::Normal,
        DistributionName::Exponential,
        DistributionName::ChiSquared,
        DistributionName::StudentT,
        DistributionName::FisherF,
    ];

    /// The name, as the argument `dist` spells it.
    pub fn name(self) -> &'static str {
        match self {
            DistributionName::Normal => "normal",
            DistributionName::Exponential => "exp",
            DistributionName::ChiSquared => "chisq",
            DistributionName::StudentT => "t",
            DistributionName::FisherF => "f",
        }
    }

    /// The distribution of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|distribution| distribution.name() == name)
    }

    /// The parameters, with their defaults.
    pub fn parameters(self) -> &'static [(&'static str, Option<f64>)] {
        match self {
            DistributionName::Normal => &[("mean", Some(0.0)), ("sd", Some(1.0))],
            DistributionName::Exponential => &[("rate", Some(1.0))],
            DistributionName::ChiSquared | DistributionName::StudentT => &[("df", None)],
            DistributionName::FisherF => &[("df1", None), ("df2", None)],
        }
    }
}

const TARGET: &[Parameter] = &[required("target")];
const WEIGHTED: &[Parameter] = &[required("target"), optional("weights")];
const DISTINCT: &[Parameter] = &[required("target"), with_default("dir", Presence::Str("rc"))];
const MOMENT: &[Parameter] = &[required("target"), required("weights_or_k"), optional("k")];
const AGGREGATE: &[Parameter] = &[
    required("target"),
    required("groups"),
    required("fn"),
    optional("weights"),
    optional("ngroups"),
    optional("order"),
];
const TRIANGLE: &[Parameter] =
    &[required("target"), with_default("diag", Presence::Bool(false)), with_default("values", Presence::Bool(false))];
const LOWER_TAIL: Parameter = with_default("lower.tail", Presence::Bool(true));
const NORMAL: [Parameter; 3] =
    [required("target"), with_default("mean", Presence::F64(0.0)), with_default("sd", Presence::F64(1.0))];
const RATE: Parameter = with_default("rate", Presence::F64(1.0));
const ANY_DISTRIBUTION: [Parameter; 8] = [
    required("target"),
    required("dist"),
    optional("mean"),
    optional("sd"),
    optional("rate"),
    optional("df"),
    optional("df1"),
    optional("df2"),
];
const STRIDE: Parameter = optional("stride");
const PADDING: Parameter = optional("padding");
const INPUT_SHAPE: Parameter = required("input_shape");
const FILTER_SHAPE: Parameter = required("filter_shape");
const POOL_SIZE: Parameter = required("pool_size");
const POOL: &[Parameter] = &[required("input"), INPUT_SHAPE, POOL_SIZE, STRIDE, PADDING];
const POOL_BACKWARD: &[Parameter] = &[required("input"), required("dout"), INPUT_SHAPE, POOL_SIZE, STRIDE, PADDING];
const FOURIER: &[Parameter] = &[required("real")];
const INVERSE_FOURIER: &[Parameter] = &[required("real"), optional("imaginary")];

/// A convolution of two matrices, or a gradient of it.
const fn convolution(first: &'static str, second: &'static str) -> [Parameter; 6] {
    [required(first), required(second), INPUT_SHAPE, FILTER_SHAPE, STRIDE, PADDING]
}

const fn numeric(name: &'static str, parameters: &'static [Parameter], function: NumericFunction) -> Builtin {
    row(name, parameters, Lowering::Numeric(function))
}

const fn composed(name: &'static str, parameters: &'static [Parameter], function: Composed) -> Builtin {
    row(name, parameters, Lowering::Composed(function))
}

/// A composed function whose parameters have names.
const fn composed_by_name(name: &'static str, parameters: &'static [Parameter], function: Composed) -> Builtin {
    named(name, parameters, Lowering::Composed(function))
}

/// A distribution function: `p` and the name of a distribution.
const fn cdf(name: &'static str, parameters: &'static [Parameter], distribution: DistributionName) -> Builtin {
    composed_by_name(name, parameters, Composed::DistributionFunction(Some(distribution)))
}

/// A quantile function: `q` and the name of a distribution.
const fn icdf(name: &'static str, parameters: &'static [Parameter], distribution: DistributionName) -> Builtin {
    composed_by_name(name, parameters, Composed::QuantileFunction(Some(distribution)))
}

/// Functions of linear algebra, statistics and images.
pub(super) const NUMERIC: &[Builtin] = &[
    numeric("solve", &[required("a"), required("b")], NumericFunction::Solve),
    numeric("inv", TARGET, NumericFunction::Inverse),
    numeric("inverse", TARGET, NumericFunction::Inverse),
    numeric("det", TARGET, NumericFunction::Determinant),
    numeric("cholesky", TARGET, NumericFunction::Cholesky),
    numeric("eigen", TARGET, NumericFunction::Eigen),
    numeric("svd", TARGET, NumericFunction::Svd),
    numeric("lu", TARGET, NumericFunction::Lu),
    numeric("qr", TARGET, NumericFunction::Qr),
    composed_by_name(
        "sqrtMatrix",
        &[target_of_script("A"), with_default("S", Presence::Str("DML"))],
        Composed::MatrixRoot,
    ),
    numeric("sqrtMatrixJava", TARGET, NumericFunction::MatrixRoot),
    composed("quantile", &[required("target"), required("weights_or_p"), optional("p")], Composed::Quantile),
    numeric("median", WEIGHTED, NumericFunction::Median),
    numeric("interQuartileMean", WEIGHTED, NumericFunction::InterQuartileMean),
    numeric("iqm", WEIGHTED, NumericFunction::InterQuartileMean),
    composed("moment", MOMENT, Composed::Moment),
    composed("centralMoment", MOMENT, Composed::Moment),
    composed("cov", &[required("x"), required("y"), optional("weights")], Composed::Covariance),
    composed_by_name("cor", &[target_of_script("X")], Composed::Correlation),
    composed_by_name("dist", &[target_of_script("X")], Composed::Distances),
    named("aggregate", AGGREGATE, Lowering::Numeric(NumericFunction::GroupedAggregate)),
    named("groupedAggregate", AGGREGATE, Lowering::Numeric(NumericFunction::GroupedAggregate)),
    composed_by_name("contains", &[required("target"), required("pattern")], Composed::Contains),
    composed_by_name("unique", DISTINCT, Composed::Unique),
    composed_by_name("countDistinct", DISTINCT, Composed::CountDistinct(None)),
    composed("rowCountDistinct", TARGET, Composed::CountDistinct(Some(Direction::Row))),
    composed("colCountDistinct", TARGET, Composed::CountDistinct(Some(Direction::Col))),
    composed_by_name("countDistinctApprox", DISTINCT, Composed::CountDistinct(None)),
    composed("rowCountDistinctApprox", TARGET, Composed::CountDistinct(Some(Direction::Row))),
    composed("colCountDistinctApprox", TARGET, Composed::CountDistinct(Some(Direction::Col))),
    composed_by_name("toOneHot", &[required("X"), required("numClasses")], Composed::OneHot),
    composed_by_name(
        "rexpand",
        &[
            required("target"),
            required("max"),
            required("dir"),
            with_default("cast", Presence::Bool(true)),
            with_default("ignore", Presence::Bool(true)),
        ],
        Composed::Expansion,
    ),
    composed(
        "sample",
        &[required("range"), required("size"), optional("replacement"), optional("seed")],
        Composed::Sample,
    ),
    numeric("roll", &[required("target"), required("shift")], NumericFunction::Roll),
    named("lower.tri", TRIANGLE, Lowering::Numeric(NumericFunction::LowerTriangle)),
    named("upper.tri", TRIANGLE, Lowering::Numeric(NumericFunction::UpperTriangle)),
    numeric("cumsumprod", TARGET, NumericFunction::CumulativeSumProduct),
    composed_by_name("cdf", &CDF, Composed::DistributionFunction(None)),
    composed_by_name("icdf", &ANY_DISTRIBUTION, Composed::QuantileFunction(None)),
    cdf("pnorm", &[NORMAL[0], NORMAL[1], NORMAL[2], LOWER_TAIL], DistributionName::Normal),
    cdf("pexp", &[required("target"), RATE, LOWER_TAIL], DistributionName::Exponential),
    cdf("pchisq", &[required("target"), required("df"), LOWER_TAIL], DistributionName::ChiSquared),
    cdf("pt", &[required("target"), required("df"), LOWER_TAIL], DistributionName::StudentT),
    cdf("pf", &[required("target"), required("df1"), required("df2"), LOWER_TAIL], DistributionName::FisherF),
    icdf("qnorm", &NORMAL, DistributionName::Normal),
    icdf("qexp", &[required("target"), RATE], DistributionName::Exponential),
    icdf("qchisq", &[required("target"), required("df")], DistributionName::ChiSquared),
    icdf("qt", &[required("target"), required("df")], DistributionName::StudentT),
    icdf("qf", &[required("target"), required("df1"), required("df2")], DistributionName::FisherF),
    composed_by_name("conv2d", &CONV2D, Composed::Convolution(NumericFunction::Conv2d)),
    composed_by_name(
        "conv2d_backward_filter",
        &convolution("input", "dout"),
        Composed::Convolution(NumericFunction::Conv2dBackwardFilter),
    ),
    composed_by_name(
        "conv2d_backward_data",
        &convolution("filter", "dout"),
        Composed::Convolution(NumericFunction::Conv2dBackwardData),
    ),
    composed_by_name("max_pool", POOL, Composed::Pool(NumericFunction::MaxPool)),
    composed_by_name("avg_pool", POOL, Composed::Pool(NumericFunction::AvgPool)),
    composed_by_name("max_pool_backward", POOL_BACKWARD, Composed::Pool(NumericFunction::MaxPoolBackward)),
    composed_by_name("avg_pool_backward", POOL_BACKWARD, Composed::Pool(NumericFunction::AvgPoolBackward)),
    composed("fft", FOURIER, Composed::Fourier { is_inverse: false, by_row: false }),
    composed("fft_linearized", FOURIER, Composed::Fourier { is_inverse: false, by_row: true }),
    composed("ifft", INVERSE_FOURIER, Composed::Fourier { is_inverse: true, by_row: false }),
    composed("ifft_linearized", INVERSE_FOURIER, Composed::Fourier { is_inverse: true, by_row: true }),
];

/// A convolution with a bias, which is taken and not added, as in SystemDS: scripts add it with `bias_add`.
const CONV2D: [Parameter; 7] = {
    let [input, filter, input_shape, filter_shape, stride, padding] = convolution("input", "filter");
    [input, filter, optional("bias"), input_shape, filter_shape, stride, padding]
};

/// Any distribution, with a choice of the tail.
const CDF: [Parameter; 9] = {
    let mut parameters = [LOWER_TAIL; 9];
    let mut next = 0;
    while next < ANY_DISTRIBUTION.len() {
        parameters[next] = ANY_DISTRIBUTION[next];
        next += 1;
    }
    parameters
};
