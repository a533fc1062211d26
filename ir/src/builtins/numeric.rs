//! The table of builtin functions of linear algebra, statistics and images.

use super::{Builtin, Lowering, Parameter, Presence, optional, required, row, with_default};
use crate::hop::NumericFunction;

/// A function that the front end composes of other operators, so that it fuses like them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Composed {
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
    /// The symmetric square root of a symmetric positive semi-definite matrix.
    MatrixRoot,
    /// Whether a value occurs in a matrix.
    Contains,
    /// One row per cell of a vector, with a one in the column that the cell names.
    OneHot,
    /// As `OneHot`, or transposed, with cells that name nothing left out.
    Expansion,
    /// Random integers, whose third argument may be the seed.
    Sample,
    /// The distinct values of a whole matrix.
    Unique,
    /// A distribution function, of a distribution that is fixed or named by an argument.
    DistributionFunction(Option<DistributionName>),
    /// The inverse of a distribution function.
    QuantileFunction(Option<DistributionName>),
    /// A 2-D convolution; shapes are lists of numbers.
    Convolution,
    /// The maximum or mean over windows of images.
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
const POOL: &[Parameter] = &[required("input"), required("input_shape"), required("pool_size"), STRIDE, PADDING];

const fn numeric(name: &'static str, parameters: &'static [Parameter], function: NumericFunction) -> Builtin {
    row(name, parameters, Lowering::Numeric(function))
}

const fn composed(name: &'static str, parameters: &'static [Parameter], function: Composed) -> Builtin {
    row(name, parameters, Lowering::Composed(function))
}

/// A distribution function: `p` and the name of a distribution.
const fn cdf(name: &'static str, parameters: &'static [Parameter], distribution: DistributionName) -> Builtin {
    composed(name, parameters, Composed::DistributionFunction(Some(distribution)))
}

/// A quantile function: `q` and the name of a distribution.
const fn icdf(name: &'static str, parameters: &'static [Parameter], distribution: DistributionName) -> Builtin {
    composed(name, parameters, Composed::QuantileFunction(Some(distribution)))
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
    composed("sqrtMatrix", TARGET, Composed::MatrixRoot),
    composed("quantile", &[required("target"), required("weights_or_p"), optional("p")], Composed::Quantile),
    numeric("median", WEIGHTED, NumericFunction::Median),
    numeric("interQuartileMean", WEIGHTED, NumericFunction::InterQuartileMean),
    numeric("iqm", WEIGHTED, NumericFunction::InterQuartileMean),
    composed("moment", &[required("target"), required("weights_or_k"), optional("k")], Composed::Moment),
    composed("cov", &[required("x"), required("y"), optional("weights")], Composed::Covariance),
    composed("cor", TARGET, Composed::Correlation),
    composed("dist", TARGET, Composed::Distances),
    numeric(
        "aggregate",
        &[
            required("target"),
            required("groups"),
            required("fn"),
            optional("weights"),
            optional("ngroups"),
            optional("order"),
        ],
        NumericFunction::GroupedAggregate,
    ),
    composed("contains", &[required("target"), required("pattern")], Composed::Contains),
    composed("unique", &[required("target"), with_default("dir", Presence::Str("rc"))], Composed::Unique),
    composed("toOneHot", &[required("X"), required("numClasses")], Composed::OneHot),
    composed(
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
    numeric("lower.tri", TRIANGLE, NumericFunction::LowerTriangle),
    numeric("upper.tri", TRIANGLE, NumericFunction::UpperTriangle),
    numeric("cumsumprod", TARGET, NumericFunction::CumulativeSumProduct),
    composed("cdf", &CDF, Composed::DistributionFunction(None)),
    composed("icdf", &ANY_DISTRIBUTION, Composed::QuantileFunction(None)),
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
    composed(
        "conv2d",
        &[required("input"), required("filter"), required("input_shape"), required("filter_shape"), STRIDE, PADDING],
        Composed::Convolution,
    ),
    composed("max_pool", POOL, Composed::Pool(NumericFunction::MaxPool)),
    composed("avg_pool", POOL, Composed::Pool(NumericFunction::AvgPool)),
];

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
