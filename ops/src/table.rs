//! The rows. Each macro calls `$callback!` with every row of its arity, so that other crates stamp their kernels from
//! the same list (`vecprims` does).
//!
//! The flops of what is dearer than an addition weigh it: the time of its vector kernel in cache, where `exp` is 18, or
//! where a quotient is 22 for what the unit that divides computes.

use crate::{Algebra, BinaryZero, ErrorBound, FloatOp, Lowering, Predicate, Step, UnaryZero, math};
use serde::{Deserialize, Serialize};

/// Calls a macro with every unary row: `Variant = "mnemonic", label, dml, |x| reference, zero, flops, error, lowering`.
#[macro_export]
macro_rules! for_each_unary_op {
    ($callback:ident) => {
        $callback! {
            /// Absolute value.
            Abs = "abs", "u(abs)", Some("abs"), |x| x.abs(), Preserves, 1.0, Exact, Lowering::Intrinsic("llvm.fabs");
            /// Negation.
            Neg = "neg", "u(-)", None, |x| -x, Preserves, 1.0, Exact, Lowering::Float(FloatOp::Neg);
            /// Square root.
            Sqrt = "sqrt", "u(sqrt)", Some("sqrt"), |x| x.sqrt(), Preserves, 33.0, Exact, Lowering::Intrinsic("llvm.sqrt");
            /// Exponential function.
            Exp = "exp", "u(exp)", Some("exp"), |x| math::exp(x), Fills, 18.0, Ulp(1.0), Lowering::Call;
            /// Natural logarithm.
            Log = "log", "u(log)", Some("log"), |x| math::log(x), Fills, 23.0, Ulp(1.0), Lowering::Call;
            /// Logistic function `1/(1+exp(-x))`.
            Sigmoid = "sigmoid", "u(sigmoid)", Some("sigmoid"), |x| math::sigmoid(x), Fills, 24.0, Ulp(3.0), Lowering::Call;
            /// `x*(1-x)`.
            Sprop = "sprop", "u(sprop)", None, |x| x * (1.0 - x), Preserves, 2.0, Ulp(2.0),
                Lowering::Expand(&[Step::Arg(0), Step::Const(1.0), Step::Arg(0), Step::Binary(BinaryOp::Minus), Step::Binary(BinaryOp::Mult)]);
            /// The nearest integer, upwards from the middle; 0 for NaN.
            Round = "round", "u(round)", Some("round"), |x| math::round(x), Preserves, 4.0, Exact,
                Lowering::Expand(&[
                    Step::Arg(0), Step::Arg(0), Step::Binary(BinaryOp::Equal),
                    Step::Arg(0), Step::Unary(UnaryOp::Floor),
                    Step::Arg(0), Step::Arg(0), Step::Unary(UnaryOp::Floor), Step::Binary(BinaryOp::Minus),
                    Step::Const(0.5), Step::Binary(BinaryOp::GreaterEqual), Step::Binary(BinaryOp::Plus),
                    Step::Const(0.0), Step::Ternary(TernaryOp::IfElse),
                ]);
            /// Largest integer not above.
            Floor = "floor", "u(floor)", Some("floor"), |x| x.floor(), Preserves, 1.0, Exact, Lowering::Intrinsic("llvm.floor");
            /// Smallest integer not below.
            Ceil = "ceil", "u(ceil)", Some("ceil"), |x| x.ceil(), Preserves, 1.0, Exact, Lowering::Intrinsic("llvm.ceil");
            /// Sign: -1, 0 or 1.
            Sign = "sign", "u(sign)", Some("sign"), |x| math::sign(x), Preserves, 1.0, Exact,
                Lowering::Expand(&[
                    Step::Arg(0), Step::Unary(UnaryOp::IsNan), Step::Arg(0),
                    Step::Arg(0), Step::Const(0.0), Step::Binary(BinaryOp::Greater),
                    Step::Arg(0), Step::Const(0.0), Step::Binary(BinaryOp::Less), Step::Binary(BinaryOp::Minus),
                    Step::Ternary(TernaryOp::IfElse)]);
            /// Logical negation: 1 where zero, else 0.
            Not = "not", "u(!)", Some("!"), |x| math::indicator(x == 0.0), Fills, 1.0, Exact,
                Lowering::Expand(&[Step::Arg(0), Step::Const(0.0), Step::Binary(BinaryOp::Equal)]);
            /// Square.
            Pow2 = "pow2", "u(^2)", None, |x| x * x, Preserves, 1.0, Exact,
                Lowering::Expand(&[Step::Arg(0), Step::Arg(0), Step::Binary(BinaryOp::Mult)]);
            /// Twice the value: `x + x`.
            Mult2 = "mult2", "u(*2)", None, |x| x + x, Preserves, 1.0, Exact,
                Lowering::Expand(&[Step::Arg(0), Step::Arg(0), Step::Binary(BinaryOp::Plus)]);
            /// Natural logarithm where not zero, else 0.
            LogNz = "log_nz", "u(log_nz)", None, |x| math::log_nz(x), Preserves, 24.0, Ulp(1.0),
                Lowering::Expand(&[Step::Arg(0), Step::Arg(0), Step::Unary(UnaryOp::Log), Step::Const(0.0), Step::Ternary(TernaryOp::IfElse)]);
            /// `log(1 + x)` without cancellation near zero.
            Log1p = "log1p", "u(log1p)", None, |x| math::log1p(x), Preserves, 34.0, Ulp(2.0), Lowering::Call;
            /// `exp(x) - 1` without cancellation near zero.
            Expm1 = "expm1", "u(expm1)", None, |x| math::expm1(x), Preserves, 21.0, Ulp(2.0), Lowering::Call;
            /// Sine.
            Sin = "sin", "u(sin)", Some("sin"), |x| math::sin(x), Preserves, 26.0, Ulp(1.0), Lowering::Call;
            /// Cosine.
            Cos = "cos", "u(cos)", Some("cos"), |x| math::cos(x), Fills, 26.0, Ulp(1.0), Lowering::Call;
            /// Tangent.
            Tan = "tan", "u(tan)", Some("tan"), |x| math::tan(x), Preserves, 32.0, Ulp(3.0), Lowering::Call;
            /// Arc sine.
            Asin = "asin", "u(asin)", Some("asin"), |x| math::asin(x), Preserves, 37.0, Ulp(2.0), Lowering::Call;
            /// Arc cosine.
            Acos = "acos", "u(acos)", Some("acos"), |x| math::acos(x), Fills, 37.0, Ulp(1.0), Lowering::Call;
            /// Arc tangent.
            Atan = "atan", "u(atan)", Some("atan"), |x| math::atan(x), Preserves, 18.0, Ulp(2.0), Lowering::Call;
            /// Hyperbolic sine.
            Sinh = "sinh", "u(sinh)", Some("sinh"), |x| math::sinh(x), Preserves, 28.0, Ulp(3.0), Lowering::Call;
            /// Hyperbolic cosine.
            Cosh = "cosh", "u(cosh)", Some("cosh"), |x| math::cosh(x), Fills, 27.0, Ulp(2.0), Lowering::Call;
            /// Hyperbolic tangent.
            Tanh = "tanh", "u(tanh)", Some("tanh"), |x| math::tanh(x), Preserves, 27.0, Ulp(3.0), Lowering::Call;
            /// Error function.
            Erf = "erf", "u(erf)", None, |x| math::erf(x), Preserves, 112.0, Ulp(2.0), Lowering::Call;
            /// Cumulative distribution function of the standard normal distribution.
            NormalCdf = "normal_cdf", "u(normal_cdf)", None, |x| math::normal_cdf(x), Fills, 112.0, Ulp(2.0), Lowering::Call;
            /// Whether not a number: 1 or 0.
            IsNan = "is_nan", "u(isnan)", Some("isNaN"), |x| math::indicator(x.is_nan()), Preserves, 1.0, Exact,
                Lowering::Expand(&[Step::Arg(0), Step::Arg(0), Step::Binary(BinaryOp::NotEqual)]);
            /// Whether infinite: 1 or 0.
            IsInf = "is_inf", "u(isinf)", Some("isInf"), |x| math::indicator(x.abs() == f64::INFINITY), Preserves, 1.0, Exact,
                Lowering::Expand(&[Step::Arg(0), Step::Unary(UnaryOp::Abs), Step::Const(f64::INFINITY), Step::Binary(BinaryOp::Equal)]);
        }
    };
}

/// Calls a macro with every binary row:
/// `Variant = "mnemonic", label, dml, |x, y| reference, zero, commutative, boolean, flops, error, lowering`.
#[macro_export]
macro_rules! for_each_binary_op {
    ($callback:ident) => {
        $callback! {
            /// Sum.
            Plus = "plus", "b(+)", Some("+"), |x, y| x + y, Joint, true, false, 1.0, Exact, Lowering::Float(FloatOp::Add);
            /// Difference.
            Minus = "minus", "b(-)", Some("-"), |x, y| x - y, Joint, false, false, 1.0, Exact, Lowering::Float(FloatOp::Sub);
            /// Element-wise product.
            Mult = "mult", "b(*)", Some("*"), |x, y| x * y, Annihilates, true, false, 1.0, Exact, Lowering::Float(FloatOp::Mul);
            /// Quotient.
            Div = "div", "b(/)", Some("/"), |x, y| x / y, LeftAnnihilates, false, false, 22.0, Exact, Lowering::Float(FloatOp::Div);
            /// Power.
            Pow = "pow", "b(^)", Some("^"), |x, y| math::pow(x, y), Fills, false, false, 216.0, Ulp(1.0), Lowering::Call;
            /// Floored quotient.
            IntDiv = "intdiv", "b(%/%)", Some("%/%"), |x, y| math::int_div(x, y), LeftAnnihilates, false, false, 22.0, Exact,
                Lowering::Expand(&[Step::Arg(0), Step::Arg(1), Step::Binary(BinaryOp::Div), Step::Unary(UnaryOp::Floor)]);
            /// Floored remainder.
            Modulus = "mod", "b(%%)", Some("%%"), |x, y| math::modulus(x, y), LeftAnnihilates, false, false, 22.0, Exact,
                Lowering::Expand(&[Step::Arg(0), Step::Arg(0), Step::Arg(1), Step::Binary(BinaryOp::Div), Step::Unary(UnaryOp::Floor),
                    Step::Arg(1), Step::Binary(BinaryOp::Mult), Step::Binary(BinaryOp::Minus)]);
            /// Smaller operand; NaN propagates.
            Min = "min", "b(min)", Some("min"), |x, y| math::min(x, y), Joint, true, false, 1.0, Exact,
                Lowering::MinMax { keep_first: Predicate::Less };
            /// Larger operand; NaN propagates.
            Max = "max", "b(max)", Some("max"), |x, y| math::max(x, y), Joint, true, false, 1.0, Exact,
                Lowering::MinMax { keep_first: Predicate::Greater };
            /// Equal: 1 or 0.
            Equal = "eq", "b(==)", Some("=="), |x, y| math::indicator(x == y), Fills, true, true, 1.0, Exact, Lowering::Compare(Predicate::Equal);
            /// Not equal: 1 or 0.
            NotEqual = "ne", "b(!=)", Some("!="), |x, y| math::indicator(x != y), Joint, true, true, 1.0, Exact, Lowering::Compare(Predicate::NotEqual);
            /// Less: 1 or 0.
            Less = "lt", "b(<)", Some("<"), |x, y| math::indicator(x < y), Joint, false, true, 1.0, Exact, Lowering::Compare(Predicate::Less);
            /// Less or equal: 1 or 0.
            LessEqual = "le", "b(<=)", Some("<="), |x, y| math::indicator(x <= y), Fills, false, true, 1.0, Exact, Lowering::Compare(Predicate::LessEqual);
            /// Greater: 1 or 0.
            Greater = "gt", "b(>)", Some(">"), |x, y| math::indicator(x > y), Joint, false, true, 1.0, Exact, Lowering::Compare(Predicate::Greater);
            /// Greater or equal: 1 or 0.
            GreaterEqual = "ge", "b(>=)", Some(">="), |x, y| math::indicator(x >= y), Fills, false, true, 1.0, Exact, Lowering::Compare(Predicate::GreaterEqual);
            /// Logical and: 1 or 0.
            And = "and", "b(&)", Some("&"), |x, y| math::indicator(x != 0.0 && y != 0.0), Annihilates, true, true, 1.0, Exact,
                Lowering::Expand(&[Step::Arg(0), Step::Const(0.0), Step::Binary(BinaryOp::NotEqual), Step::Arg(1), Step::Const(0.0),
                    Step::Binary(BinaryOp::NotEqual), Step::Binary(BinaryOp::Mult)]);
            /// Logical or: 1 or 0.
            Or = "or", "b(|)", Some("|"), |x, y| math::indicator(x != 0.0 || y != 0.0), Joint, true, true, 1.0, Exact,
                Lowering::Expand(&[Step::Arg(0), Step::Const(0.0), Step::Binary(BinaryOp::NotEqual), Step::Arg(1), Step::Const(0.0),
                    Step::Binary(BinaryOp::NotEqual), Step::Binary(BinaryOp::Max)]);
            /// `1 - x*y`, rounded once.
            Minus1Mult = "minus1mult", "b(1-*)", None, |x, y| (-x).mul_add(y, 1.0), Fills, true, false, 2.0, Exact,
                Lowering::Expand(&[Step::Const(1.0), Step::Arg(0), Step::Arg(1), Step::Ternary(TernaryOp::MinusMult)]);
            /// Exclusive or: 1 or 0.
            Xor = "xor", "b(xor)", Some("xor"), |x, y| math::indicator((x != 0.0) != (y != 0.0)), Joint, true, true, 1.0, Exact,
                Lowering::Expand(&[Step::Arg(0), Step::Const(0.0), Step::Binary(BinaryOp::NotEqual), Step::Arg(1), Step::Const(0.0),
                    Step::Binary(BinaryOp::NotEqual), Step::Binary(BinaryOp::NotEqual)]);
            /// Bitwise and of the operands as 64-bit integers, truncated and saturated; NaN counts as 0.
            BitwAnd = "bitwand", "b(bitwAnd)", Some("bitwAnd"), |x, y| math::bitw_and(x, y), Annihilates, true, false, 50.0, Exact, Lowering::Call;
            /// Bitwise or of the operands as integers, as in `BitwAnd`.
            BitwOr = "bitwor", "b(bitwOr)", Some("bitwOr"), |x, y| math::bitw_or(x, y), Joint, true, false, 50.0, Exact, Lowering::Call;
            /// Bitwise exclusive or of the operands as integers, as in `BitwAnd`.
            BitwXor = "bitwxor", "b(bitwXor)", Some("bitwXor"), |x, y| math::bitw_xor(x, y), Joint, true, false, 50.0, Exact, Lowering::Call;
            /// The first operand as an integer, shifted up by as many bits as the lowest six bits of the second say.
            BitwShiftL = "bitwshiftl", "b(bitwShiftL)", Some("bitwShiftL"), |x, y| math::bitw_shift_left(x, y), LeftAnnihilates, false, false, 50.0, Exact, Lowering::Call;
            /// The first operand as an integer, shifted down with its sign, as in `BitwShiftL`.
            BitwShiftR = "bitwshiftr", "b(bitwShiftR)", Some("bitwShiftR"), |x, y| math::bitw_shift_right(x, y), LeftAnnihilates, false, false, 50.0, Exact, Lowering::Call;
            /// Logarithm of the first operand to the base of the second.
            LogBase = "log_base", "b(log)", None, |x, y| math::log(x) / math::log(y), Fills, false, false, 52.0, Ulp(4.0),
                Lowering::Expand(&[Step::Arg(0), Step::Unary(UnaryOp::Log), Step::Arg(1), Step::Unary(UnaryOp::Log), Step::Binary(BinaryOp::Div)]);
            /// Logarithm to a base where the first operand is not zero, else 0.
            LogNzBase = "log_nz_base", "b(log_nz)", None, |x, y| math::log_nz_base(x, y), LeftAnnihilates, false, false, 52.0, Ulp(4.0),
                Lowering::Expand(&[Step::Arg(0), Step::Arg(0), Step::Arg(1), Step::Binary(BinaryOp::LogBase), Step::Const(0.0),
                    Step::Ternary(TernaryOp::IfElse)]);
            /// Difference where the first operand is not zero, else 0.
            MinusNz = "minus_nz", "b(-nz)", None, |x, y| math::minus_nz(x, y), LeftAnnihilates, false, false, 2.0, Exact,
                Lowering::Expand(&[Step::Arg(0), Step::Arg(0), Step::Arg(1), Step::Binary(BinaryOp::Minus), Step::Const(0.0),
                    Step::Ternary(TernaryOp::IfElse)]);
        }
    };
}

/// Calls a macro with every ternary row: `Variant = "mnemonic", label, |a, b, c| reference, flops, error, lowering`.
#[macro_export]
macro_rules! for_each_ternary_op {
    ($callback:ident) => {
        $callback! {
            /// `a + b*c`, rounded once.
            PlusMult = "plusmult", "t(+*)", |a, b, c| b.mul_add(c, a), 2.0, Exact, Lowering::Float(FloatOp::MulAdd);
            /// `a - b*c`, rounded once.
            MinusMult = "minusmult", "t(-*)", |a, b, c| (-b).mul_add(c, a), 2.0, Exact, Lowering::Float(FloatOp::NegMulAdd);
            /// `b` where `a` is not zero, else `c`.
            IfElse = "ifelse", "t(ifelse)", |a, b, c| if a != 0.0 { b } else { c }, 2.0, Exact, Lowering::Select;
            /// `c` where `a` equals the pattern `b` or both are NaN, else `a`.
            Replace = "replace", "t(replace)", |a, b, c| math::replace(a, b, c), 1.0, Exact,
                Lowering::Expand(&[Step::Arg(0), Step::Arg(1), Step::Binary(BinaryOp::Equal), Step::Arg(0), Step::Unary(UnaryOp::IsNan),
                    Step::Arg(1), Step::Unary(UnaryOp::IsNan), Step::Binary(BinaryOp::Mult), Step::Binary(BinaryOp::Max),
                    Step::Arg(2), Step::Arg(0), Step::Ternary(TernaryOp::IfElse)]);
        }
    };
}

macro_rules! define_unary {
    ($($(#[$doc:meta])* $variant:ident = $mnemonic:literal, $label:literal, $dml:expr, |$x:ident| $eval:expr, $zero:ident,
        $flops:literal, $error:ident$(($ulp:literal))?, $lowering:expr;)*) => {
        /// An element-wise operation of one operand.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum UnaryOp { $($(#[$doc])* $variant),* }

        impl UnaryOp {
            /// Every unary operation, in table order.
            pub const ALL: &[UnaryOp] = &[$(UnaryOp::$variant),*];

            /// The text mnemonic, free of parentheses.
            pub fn mnemonic(self) -> &'static str {
                match self { $(UnaryOp::$variant => $mnemonic),* }
            }

            /// The paper's label, as memo tables print it.
            pub fn label(self) -> &'static str {
                match self { $(UnaryOp::$variant => $label),* }
            }

            /// The DML function or operator, where there is one.
            pub fn dml(self) -> Option<&'static str> {
                match self { $(UnaryOp::$variant => $dml),* }
            }

            /// The scalar reference.
            #[inline(always)]
            pub fn eval(self, x: f64) -> f64 {
                match self { $(UnaryOp::$variant => { let $x = x; $eval }),* }
            }

            /// What happens to a zero.
            pub fn zero(self) -> UnaryZero {
                match self { $(UnaryOp::$variant => UnaryZero::$zero),* }
            }

            /// Weight in floating-point operations.
            pub fn flops(self) -> f64 {
                match self { $(UnaryOp::$variant => $flops),* }
            }

            /// Distance from the correctly rounded result.
            pub fn error(self) -> ErrorBound {
                match self { $(UnaryOp::$variant => ErrorBound::$error$(($ulp))?),* }
            }

            /// How backends lower it.
            pub fn lowering(self) -> Lowering {
                match self { $(UnaryOp::$variant => $lowering),* }
            }
        }
    };
}
for_each_unary_op!(define_unary);

macro_rules! define_binary {
    ($($(#[$doc:meta])* $variant:ident = $mnemonic:literal, $label:literal, $dml:expr, |$x:ident, $y:ident| $eval:expr, $zero:ident,
        $commutative:literal, $boolean:literal, $flops:literal, $error:ident$(($ulp:literal))?, $lowering:expr;)*) => {
        /// An element-wise operation of two operands.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum BinaryOp { $($(#[$doc])* $variant),* }

        impl BinaryOp {
            /// Every binary operation, in table order.
            pub const ALL: &[BinaryOp] = &[$(BinaryOp::$variant),*];

            /// The text mnemonic, free of parentheses.
            pub fn mnemonic(self) -> &'static str {
                match self { $(BinaryOp::$variant => $mnemonic),* }
            }

            /// The paper's label, as memo tables print it.
            pub fn label(self) -> &'static str {
                match self { $(BinaryOp::$variant => $label),* }
            }

            /// The DML function or operator, where there is one.
            pub fn dml(self) -> Option<&'static str> {
                match self { $(BinaryOp::$variant => $dml),* }
            }

            /// The scalar reference.
            #[inline(always)]
            pub fn eval(self, x: f64, y: f64) -> f64 {
                match self { $(BinaryOp::$variant => { let ($x, $y) = (x, y); $eval }),* }
            }

            /// What happens to zeros.
            pub fn zero(self) -> BinaryZero {
                match self { $(BinaryOp::$variant => BinaryZero::$zero),* }
            }

            /// Algebraic properties.
            pub fn algebra(self) -> Algebra {
                match self { $(BinaryOp::$variant => Algebra { commutative: $commutative, boolean: $boolean }),* }
            }

            /// Weight in floating-point operations.
            pub fn flops(self) -> f64 {
                match self { $(BinaryOp::$variant => $flops),* }
            }

            /// Distance from the correctly rounded result.
            pub fn error(self) -> ErrorBound {
                match self { $(BinaryOp::$variant => ErrorBound::$error$(($ulp))?),* }
            }

            /// How backends lower it.
            pub fn lowering(self) -> Lowering {
                match self { $(BinaryOp::$variant => $lowering),* }
            }
        }
    };
}
for_each_binary_op!(define_binary);

macro_rules! define_ternary {
    ($($(#[$doc:meta])* $variant:ident = $mnemonic:literal, $label:literal, |$a:ident, $b:ident, $c:ident| $eval:expr,
        $flops:literal, $error:ident$(($ulp:literal))?, $lowering:expr;)*) => {
        /// An element-wise operation of three operands.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum TernaryOp { $($(#[$doc])* $variant),* }

        impl TernaryOp {
            /// Every ternary operation, in table order.
            pub const ALL: &[TernaryOp] = &[$(TernaryOp::$variant),*];

            /// The text mnemonic, free of parentheses.
            pub fn mnemonic(self) -> &'static str {
                match self { $(TernaryOp::$variant => $mnemonic),* }
            }

            /// The paper's label, as memo tables print it.
            pub fn label(self) -> &'static str {
                match self { $(TernaryOp::$variant => $label),* }
            }

            /// The scalar reference.
            #[inline(always)]
            pub fn eval(self, a: f64, b: f64, c: f64) -> f64 {
                match self { $(TernaryOp::$variant => { let ($a, $b, $c) = (a, b, c); $eval }),* }
            }

            /// Weight in floating-point operations.
            pub fn flops(self) -> f64 {
                match self { $(TernaryOp::$variant => $flops),* }
            }

            /// Distance from the correctly rounded result.
            pub fn error(self) -> ErrorBound {
                match self { $(TernaryOp::$variant => ErrorBound::$error$(($ulp))?),* }
            }

            /// How backends lower it.
            pub fn lowering(self) -> Lowering {
                match self { $(TernaryOp::$variant => $lowering),* }
            }
        }
    };
}
for_each_ternary_op!(define_ternary);
