//! The table of builtin functions.

use super::{
    Builtin, Composed, Lowering, Parameter, Presence, named, optional, required, row, target_of_script, with_default,
};
use crate::hop::{CastOp, DataGenOp, Function, NaryOp, ReorgOp, ShapeOp};
use crate::ops::{AggOp, BinaryOp, Direction, TernaryOp, UnaryOp};

const fn variadic(builtin: Builtin) -> Builtin {
    Builtin { variadic: true, ..builtin }
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

const WEIGHTED: &[Parameter] = &[required("target"), optional("weights")];

const OPERATION: &[Parameter] = &[required("left"), required("right"), required("op")];

const TABLE: &[Parameter] = &[
    required("A"),
    required("B"),
    optional("weights"),
    optional("dim1"),
    optional("dim2"),
    optional("outputEmptyBlocks"),
];

const TRANSFORM: &[Parameter] = &[required("target"), required("spec"), required("meta")];

const RAND: &[Parameter] = &[
    with_default("rows", Presence::I64(1)),
    with_default("cols", Presence::I64(1)),
    with_default("min", Presence::F64(0.0)),
    with_default("max", Presence::F64(1.0)),
    with_default("sparsity", Presence::F64(1.0)),
    with_default("seed", Presence::I64(-1)),
    with_default("pdf", Presence::Str("uniform")),
    with_default("lambda", Presence::F64(1.0)),
];

/// Functions of scalars, matrices, lists and frames; [`super::numeric`] has more.
pub(super) const BUILTINS: &[Builtin] = &[
    unary("abs", UnaryOp::Abs),
    unary("sqrt", UnaryOp::Sqrt),
    unary("exp", UnaryOp::Exp),
    named("sigmoid", &[target_of_script("X")], Lowering::Unary(UnaryOp::Sigmoid)),
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
    row("bitwOr", &[required("left"), required("right")], Lowering::Binary(BinaryOp::BitwOr)),
    row("bitwXor", &[required("left"), required("right")], Lowering::Binary(BinaryOp::BitwXor)),
    row("bitwShiftL", &[required("left"), required("right")], Lowering::Binary(BinaryOp::BitwShiftL)),
    row("bitwShiftR", &[required("left"), required("right")], Lowering::Binary(BinaryOp::BitwShiftR)),
    row("ifelse", &[required("test"), required("yes"), required("no")], Lowering::Ternary(TernaryOp::IfElse)),
    named("replace", &[required("target"), required("pattern"), required("replacement")], Lowering::Replace),
    row("bias_add", &[required("input"), required("bias")], Lowering::Bias(BinaryOp::Plus)),
    row("bias_multiply", &[required("input"), required("bias")], Lowering::Bias(BinaryOp::Mult)),
    row("outer", OPERATION, Lowering::Outer),
    row("ppred", OPERATION, Lowering::Composed(Composed::Comparison)),
    row("log", &[required("target"), optional("base")], Lowering::Log),
    aggregate("sum", AggOp::Sum, Direction::Full),
    row("compress", TARGET, Lowering::Composed(Composed::Unchanged)),
    row("decompress", TARGET, Lowering::Composed(Composed::Unchanged)),
    row("mean", WEIGHTED, Lowering::Composed(Composed::Mean)),
    row("avg", WEIGHTED, Lowering::Composed(Composed::Mean)),
    aggregate("prod", AggOp::Prod, Direction::Full),
    aggregate("var", AggOp::Var, Direction::Full),
    row("sd", TARGET, Lowering::Deviation(Direction::Full)),
    variadic(row("min", TARGET, Lowering::AggregateOrNary(AggOp::Min, NaryOp::Min))),
    variadic(row("max", TARGET, Lowering::AggregateOrNary(AggOp::Max, NaryOp::Max))),
    variadic(row("pmin", TARGET, Lowering::AggregateOrNary(AggOp::Min, NaryOp::Min))),
    variadic(row("pmax", TARGET, Lowering::AggregateOrNary(AggOp::Max, NaryOp::Max))),
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
    row("rowcumsum", TARGET, Lowering::Composed(Composed::RowCumulativeSum)),
    row("trace", TARGET, Lowering::Trace),
    row("tr", TARGET, Lowering::Trace),
    row("nrow", TARGET, Lowering::Shape(ShapeOp::Nrow)),
    row("ncol", TARGET, Lowering::Shape(ShapeOp::Ncol)),
    row("length", TARGET, Lowering::Shape(ShapeOp::Length)),
    row("t", TARGET, Lowering::Reorg(ReorgOp::Transpose)),
    row("rev", TARGET, Lowering::Reorg(ReorgOp::Rev)),
    row("diag", TARGET, Lowering::Reorg(ReorgOp::Diag)),
    variadic(row("cbind", TARGET, Lowering::Nary(NaryOp::Cbind))),
    variadic(row("rbind", TARGET, Lowering::Nary(NaryOp::Rbind))),
    variadic(row("append", TARGET, Lowering::Nary(NaryOp::Cbind))),
    named(
        "matrix",
        &[required("data"), required("rows"), required("cols"), with_default("byrow", Presence::Bool(true))],
        Lowering::DataGen(DataGenOp::Matrix),
    ),
    row("seq", &[required("from"), required("to"), optional("incr")], Lowering::DataGen(DataGenOp::Seq)),
    named("rand", RAND, Lowering::DataGen(DataGenOp::Rand)),
    named("Rand", RAND, Lowering::DataGen(DataGenOp::Rand)),
    named(
        "order",
        &[required("target"), optional("by"), optional("decreasing"), optional("index.return")],
        Lowering::Function(Function::Order),
    ),
    named(
        "removeEmpty",
        &[required("target"), required("margin"), optional("select"), optional("empty.return")],
        Lowering::Function(Function::RemoveEmpty),
    ),
    row("table", TABLE, Lowering::Table),
    row("ctable", TABLE, Lowering::Table),
    row("rowIndexMax", TARGET, Lowering::Function(Function::RowIndexMax)),
    row("rowIndexMin", TARGET, Lowering::Function(Function::RowIndexMin)),
    cast("as.scalar", CastOp::AsScalar),
    cast("castAsScalar", CastOp::AsScalar),
    cast("as.matrix", CastOp::AsMatrix),
    cast("as.double", CastOp::AsDouble),
    cast("as.integer", CastOp::AsInteger),
    cast("as.logical", CastOp::AsLogical),
    cast("as.boolean", CastOp::AsLogical),
    cast("as.list", CastOp::AsList),
    cast("as.frame", CastOp::AsFrame),
    variadic(row("print", TARGET, Lowering::Print)),
    row("stop", &[required("message")], Lowering::Function(Function::Stop)),
    row("assert", &[required("condition")], Lowering::Function(Function::Assert)),
    named(
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
    variadic(named("list", &[], Lowering::List)),
    variadic(named("eval", &[required("function")], Lowering::Evaluation { all_results: false })),
    variadic(named("evalList", &[required("function")], Lowering::Evaluation { all_results: true })),
    row("remove", &[required("target"), required("index")], Lowering::Function(Function::Remove)),
    row("typeof", TARGET, Lowering::Function(Function::TypeOf)),
    named("transformencode", &[required("target"), required("spec")], Lowering::Function(Function::TransformEncode)),
    named("transformapply", TRANSFORM, Lowering::Function(Function::TransformApply)),
    named("transformdecode", TRANSFORM, Lowering::Function(Function::TransformDecode)),
    row("time", &[], Lowering::Function(Function::Time)),
    named(
        "read",
        &[
            required("file"),
            optional("data_type"),
            optional("value_type"),
            optional("format"),
            optional("rows"),
            optional("cols"),
            optional("nnz"),
            optional("rows_in_block"),
            optional("cols_in_block"),
            optional("header"),
            optional("sep"),
            optional("fill"),
            optional("default"),
            optional("naStrings"),
            optional("schema"),
            optional("indSep"),
        ],
        Lowering::Function(Function::Read),
    ),
    named(
        "write",
        &[
            required("target"),
            required("file"),
            optional("format"),
            optional("header"),
            optional("sep"),
            optional("sparse"),
            optional("description"),
            optional("indSep"),
        ],
        Lowering::Function(Function::Write),
    ),
    named("exists", &[required("variable")], Lowering::Exists),
    named("ifdef", &[required("argument"), required("default")], Lowering::IfDef),
];
