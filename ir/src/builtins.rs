//! The signatures of DML's builtin functions: one row each, from which the front end binds arguments and lowers calls.
//!
//! A row names the parameters in order, says which may be left out, and what the call becomes. Functions of DML that
//! are not supported yet have their names in [`not_yet`], so that a script that uses one gets an honest message.

use crate::hop::{CastOp, DataGenOp, Function, NaryOp, ReorgOp, ShapeOp};
use crate::ops::{AggOp, BinaryOp, Direction, TernaryOp, UnaryOp};
use crate::types::Value;

/// What becomes of a parameter that a call leaves out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Presence {
    /// It must be given.
    Required,
    /// It may be left out, and then stays absent.
    Optional,
    /// It may be left out, and then is this double.
    F64(f64),
    /// It may be left out, and then is this integer.
    I64(i64),
    /// It may be left out, and then is this truth value.
    Bool(bool),
    /// It may be left out, and then is this text.
    Str(&'static str),
}

impl Presence {
    /// The default value, where there is one.
    pub fn default_value(self) -> Option<Value> {
        match self {
            Presence::Required | Presence::Optional => None,
            Presence::F64(value) => Some(Value::F64(value)),
            Presence::I64(value) => Some(Value::I64(value)),
            Presence::Bool(value) => Some(Value::Bool(value)),
            Presence::Str(value) => Some(Value::Str(value.to_owned())),
        }
    }
}

/// A parameter of a builtin function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// The name, as named arguments spell it.
    pub name: &'static str,
    /// What happens when it is left out.
    pub presence: Presence,
}

/// What a call of a builtin function becomes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lowering {
    /// An element-wise operation of one operand.
    Unary(UnaryOp),
    /// An element-wise operation of two operands.
    Binary(BinaryOp),
    /// An element-wise operation of three operands.
    Ternary(TernaryOp),
    /// The natural logarithm, divided by that of the base where a base is given.
    Log,
    /// An element-wise operation with a vector that is expanded to the columns of the first operand.
    Bias(BinaryOp),
    /// An element-wise operation of a column with a row, named by the text of the last argument.
    Outer,
    /// An aggregation.
    Aggregate(AggOp, Direction),
    /// The square root of the variance.
    Deviation(Direction),
    /// An aggregation of one argument, or an element-wise operation over several.
    AggregateOrNary(AggOp, NaryOp),
    /// Partial aggregates down each column.
    Cumulative(AggOp),
    /// The sum of the diagonal.
    Trace,
    /// A fact of a shape.
    Shape(ShapeOp),
    /// A reorganisation.
    Reorg(ReorgOp),
    /// An operation of any number of matrices.
    Nary(NaryOp),
    /// A generated matrix; parameters in the order of the operator's inputs.
    DataGen(DataGenOp),
    /// A change of type.
    Cast(CastOp),
    /// A function whose leading parameters are inputs by position and whose other ones are named inputs.
    Function(Function),
    /// A contingency table, with weights, dimensions or both after the first two arguments.
    Table,
    /// `ifdef`: a script argument, or a default where it was not passed.
    IfDef,
}

impl Lowering {
    /// Whether a call has a value; the others are statements.
    pub fn has_value(self) -> bool {
        !matches!(self, Lowering::Function(Function::Print | Function::Stop | Function::Assert | Function::Write))
    }
}

/// A builtin function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Builtin {
    /// The name.
    pub name: &'static str,
    /// The parameters, in the order of positional arguments.
    pub parameters: &'static [Parameter],
    /// Whether further positional arguments may follow the last parameter.
    pub variadic: bool,
    /// What a call becomes.
    pub lowering: Lowering,
}

/// The builtin function of this name, when it is supported.
pub fn find(name: &str) -> Option<&'static Builtin> {
    BUILTINS.iter().find(|builtin| builtin.name == name)
}

/// Whether DML has a builtin function of this name that is not supported yet.
pub fn is_not_yet(name: &str) -> bool {
    not_yet().any(|known| known == name)
}

/// The names of DML's builtin functions, compiled and scripted ones, that are not supported yet.
pub fn not_yet() -> impl Iterator<Item = &'static str> {
    NOT_YET.split_whitespace()
}

const fn required(name: &'static str) -> Parameter {
    Parameter { name, presence: Presence::Required }
}

const fn optional(name: &'static str) -> Parameter {
    Parameter { name, presence: Presence::Optional }
}

const fn with_default(name: &'static str, presence: Presence) -> Parameter {
    Parameter { name, presence }
}

const fn row(name: &'static str, parameters: &'static [Parameter], lowering: Lowering) -> Builtin {
    Builtin { name, parameters, variadic: false, lowering }
}

const fn variadic(name: &'static str, parameters: &'static [Parameter], lowering: Lowering) -> Builtin {
    Builtin { name, parameters, variadic: true, lowering }
}

const fn unary(name: &'static str, op: UnaryOp) -> Builtin {
    row(name, TARGET, Lowering::Unary(op))
}

const fn aggregate(name: &'static str, op: AggOp, direction: Direction) -> Builtin {
    row(name, TARGET, Lowering::Aggregate(op, direction))
}

const fn cast(name: &'static str, op: CastOp) -> Builtin {
    row(name, TARGET, Lowering::Cast(op))
}

const TARGET: &[Parameter] = &[required("target")];

const RAND: &[Parameter] = &[
    with_default("rows", Presence::I64(1)),
    with_default("cols", Presence::I64(1)),
    with_default("min", Presence::F64(0.0)),
    with_default("max", Presence::F64(1.0)),
    with_default("sparsity", Presence::F64(1.0)),
    with_default("seed", Presence::I64(-1)),
    with_default("pdf", Presence::Str("uniform")),
];

/// The supported functions.
pub const BUILTINS: &[Builtin] = &[
    unary("abs", UnaryOp::Abs),
    unary("sqrt", UnaryOp::Sqrt),
    unary("exp", UnaryOp::Exp),
    unary("sigmoid", UnaryOp::Sigmoid),
    unary("round", UnaryOp::Round),
    unary("floor", UnaryOp::Floor),
    unary("ceil", UnaryOp::Ceil),
    unary("ceiling", UnaryOp::Ceil),
    unary("sign", UnaryOp::Sign),
    unary("sin", UnaryOp::Sin),
    unary("cos", UnaryOp::Cos),
    unary("tan", UnaryOp::Tan),
    unary("asin", UnaryOp::Asin),
    unary("acos", UnaryOp::Acos),
    unary("atan", UnaryOp::Atan),
    unary("sinh", UnaryOp::Sinh),
    unary("cosh", UnaryOp::Cosh),
    unary("tanh", UnaryOp::Tanh),
    unary("isNaN", UnaryOp::IsNan),
    unary("is.nan", UnaryOp::IsNan),
    unary("isNA", UnaryOp::IsNan),
    unary("is.na", UnaryOp::IsNan),
    unary("isInf", UnaryOp::IsInf),
    unary("is.infinite", UnaryOp::IsInf),
    row("xor", &[required("left"), required("right")], Lowering::Binary(BinaryOp::Xor)),
    row("bitwAnd", &[required("left"), required("right")], Lowering::Binary(BinaryOp::BitwAnd)),
    row("ifelse", &[required("test"), required("yes"), required("no")], Lowering::Ternary(TernaryOp::IfElse)),
    row(
        "replace",
        &[required("target"), required("pattern"), required("replacement")],
        Lowering::Ternary(TernaryOp::Replace),
    ),
    row("bias_add", &[required("input"), required("bias")], Lowering::Bias(BinaryOp::Plus)),
    row("bias_multiply", &[required("input"), required("bias")], Lowering::Bias(BinaryOp::Mult)),
    row("outer", &[required("left"), required("right"), required("op")], Lowering::Outer),
    row("log", &[required("target"), optional("base")], Lowering::Log),
    aggregate("sum", AggOp::Sum, Direction::Full),
    aggregate("mean", AggOp::Mean, Direction::Full),
    aggregate("prod", AggOp::Prod, Direction::Full),
    aggregate("var", AggOp::Var, Direction::Full),
    row("sd", TARGET, Lowering::Deviation(Direction::Full)),
    variadic("min", TARGET, Lowering::AggregateOrNary(AggOp::Min, NaryOp::Min)),
    variadic("max", TARGET, Lowering::AggregateOrNary(AggOp::Max, NaryOp::Max)),
    aggregate("rowSums", AggOp::Sum, Direction::Row),
    aggregate("rowMeans", AggOp::Mean, Direction::Row),
    aggregate("rowMins", AggOp::Min, Direction::Row),
    aggregate("rowMaxs", AggOp::Max, Direction::Row),
    aggregate("rowProds", AggOp::Prod, Direction::Row),
    aggregate("rowVars", AggOp::Var, Direction::Row),
    row("rowSds", TARGET, Lowering::Deviation(Direction::Row)),
    aggregate("colSums", AggOp::Sum, Direction::Col),
    aggregate("colMeans", AggOp::Mean, Direction::Col),
    aggregate("colMins", AggOp::Min, Direction::Col),
    aggregate("colMaxs", AggOp::Max, Direction::Col),
    aggregate("colProds", AggOp::Prod, Direction::Col),
    aggregate("colVars", AggOp::Var, Direction::Col),
    row("colSds", TARGET, Lowering::Deviation(Direction::Col)),
    row("cumsum", TARGET, Lowering::Cumulative(AggOp::Sum)),
    row("cumprod", TARGET, Lowering::Cumulative(AggOp::Prod)),
    row("cummin", TARGET, Lowering::Cumulative(AggOp::Min)),
    row("cummax", TARGET, Lowering::Cumulative(AggOp::Max)),
    row("trace", TARGET, Lowering::Trace),
    row("nrow", TARGET, Lowering::Shape(ShapeOp::Nrow)),
    row("ncol", TARGET, Lowering::Shape(ShapeOp::Ncol)),
    row("length", TARGET, Lowering::Shape(ShapeOp::Length)),
    row("t", TARGET, Lowering::Reorg(ReorgOp::Transpose)),
    row("rev", TARGET, Lowering::Reorg(ReorgOp::Rev)),
    row("diag", TARGET, Lowering::Reorg(ReorgOp::Diag)),
    variadic("cbind", TARGET, Lowering::Nary(NaryOp::Cbind)),
    variadic("rbind", TARGET, Lowering::Nary(NaryOp::Rbind)),
    variadic("append", TARGET, Lowering::Nary(NaryOp::Cbind)),
    row(
        "matrix",
        &[required("data"), required("rows"), required("cols"), with_default("byrow", Presence::Bool(true))],
        Lowering::DataGen(DataGenOp::Matrix),
    ),
    row("seq", &[required("from"), required("to"), optional("incr")], Lowering::DataGen(DataGenOp::Seq)),
    row("rand", RAND, Lowering::DataGen(DataGenOp::Rand)),
    row("Rand", RAND, Lowering::DataGen(DataGenOp::Rand)),
    row(
        "order",
        &[required("target"), optional("by"), optional("decreasing"), optional("index.return")],
        Lowering::Function(Function::Order),
    ),
    row(
        "removeEmpty",
        &[required("target"), required("margin"), optional("select"), optional("empty.return")],
        Lowering::Function(Function::RemoveEmpty),
    ),
    row(
        "table",
        &[required("A"), required("B"), optional("weights"), optional("dim1"), optional("dim2")],
        Lowering::Table,
    ),
    row("rowIndexMax", TARGET, Lowering::Function(Function::RowIndexMax)),
    row("rowIndexMin", TARGET, Lowering::Function(Function::RowIndexMin)),
    cast("as.scalar", CastOp::AsScalar),
    cast("as.matrix", CastOp::AsMatrix),
    cast("as.double", CastOp::AsDouble),
    cast("as.integer", CastOp::AsInteger),
    cast("as.logical", CastOp::AsLogical),
    row("print", TARGET, Lowering::Function(Function::Print)),
    row("stop", &[required("message")], Lowering::Function(Function::Stop)),
    row("assert", &[required("condition")], Lowering::Function(Function::Assert)),
    row(
        "toString",
        &[
            required("target"),
            optional("rows"),
            optional("cols"),
            optional("decimal"),
            optional("sparse"),
            optional("sep"),
            optional("linesep"),
        ],
        Lowering::Function(Function::ToString),
    ),
    row("time", &[], Lowering::Function(Function::Time)),
    row(
        "read",
        &[
            required("file"),
            optional("data_type"),
            optional("value_type"),
            optional("format"),
            optional("rows"),
            optional("cols"),
            optional("nnz"),
            optional("header"),
            optional("sep"),
            optional("fill"),
            optional("default"),
            optional("naStrings"),
        ],
        Lowering::Function(Function::Read),
    ),
    row(
        "write",
        &[
            required("target"),
            required("file"),
            optional("format"),
            optional("header"),
            optional("sep"),
            optional("sparse"),
            optional("description"),
        ],
        Lowering::Function(Function::Write),
    ),
    row("ifdef", &[required("argument"), required("default")], Lowering::IfDef),
];

const NOT_YET: &str = "
    aggregate als alsCG alsDS apply_pipeline arima as.frame as.list atan2 autoencoder_2layer avg_pool bitwOr
    bitwShiftL bitwShiftR bitwXor bivar cast.logical cdf cholesky compress confusionMatrix contains conv2d
    conv2d_backward_data conv2d_backward_filter cor correctTypos cov cox cspline csplineCG csplineDS cumsumprod cvlm
    dbscan decisionTree decompress det detectSchema discoverFD dist dmv dropInvalidLength dropInvalidType eigen eval
    evalList exists fft frameSort garch getAccuracy getNames glm glmPredict gmm gmmPredict gnmf gridSearch
    hospitalResidencyMatch hyperband icdf ifft img_brightness img_crop img_cutout img_invert img_mirror
    img_posterize img_rotate img_sample_pairing img_shear img_transform img_translate imputeByFD imputeByMean
    imputeByMedian imputeByMode interQuantile interQuartileMean intersect inv invcumulative iqm km kmeans
    kmeansPredict knn knnbf l2svm l2svmPredict lasso lenetPredict lenetTrain lineage list listFiles lm lmCG lmDS
    lmPredict local logSumExp lower.tri lower_tri lstm lu map matrixProfile max_pool max_pool_backward mcc mda
    median mice moment msvm msvmPredict multiLogReg multiLogRegPredict naiveBayes naiveBayesPredict normalize
    normalizeApply outlier outlierByIQR outlierBySd pca pcaInverse pcaTransform pchisq pexp pf pnmf pnorm ppca ppred
    pt qchisq qexp qf qnorm qr qt quantile randomForest remove rmempty roll sample scale scaleApply scaleMinMax
    selectByVarThresh setdiff setwd sherlock shortestPath slicefinder smote softmax solve split splitBalanced
    sqrtMatrix stableMarriage statsNA steplm stratstats svd symmetricDifference tomekLink toOneHot topk_cleaning
    transformapply transformcolmap transformdecode transformencode transformmeta typeof union unique univar
    upper.tri upper_tri vectorToCsv winsorize winsorizeApply xdummy1 xgboost xgboostPredictClassification
    xgboostPredictRegression
";

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_either_supported_or_not_yet() {
        let mut seen = BTreeSet::new();
        for name in BUILTINS.iter().map(|builtin| builtin.name).chain(not_yet()) {
            assert!(seen.insert(name), "{name} appears twice");
        }
    }

    #[test]
    fn parameters_are_unique_and_required_ones_come_first() {
        for builtin in BUILTINS {
            let names: BTreeSet<_> = builtin.parameters.iter().map(|parameter| parameter.name).collect();
            assert_eq!(names.len(), builtin.parameters.len(), "{}", builtin.name);
            let required = builtin.parameters.iter().map(|parameter| parameter.presence == Presence::Required);
            assert!(required.is_sorted_by(|earlier, later| earlier >= later), "{}", builtin.name);
        }
    }

    #[test]
    fn every_operation_with_a_function_name_has_a_row_of_that_name() {
        let is_name = |name: &str| name.starts_with(|first: char| first.is_ascii_alphabetic());
        for (name, lowering) in UnaryOp::ALL.iter().filter_map(|op| Some((op.dml()?, Lowering::Unary(*op)))) {
            let found = find(name).map(|builtin| builtin.lowering);
            assert!(!is_name(name) || found == Some(lowering) || found == Some(Lowering::Log), "{name}");
        }
        for name in BinaryOp::ALL.iter().filter_map(|op| op.dml()).filter(|name| is_name(name)) {
            assert!(find(name).is_some(), "{name}");
        }
    }
}
