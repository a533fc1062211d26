//! The scalar references of the op table as types, so that bodies can be monomorphised per operation.

use fuseline_ops::{BinaryOp, TernaryOp, UnaryOp};

/// An element-wise operation of `N` operands.
pub(crate) trait Elementwise<const N: usize> {
    /// The scalar reference.
    fn eval(operands: [f64; N]) -> f64;

    /// Whether the straight-line form serves these operands.
    #[inline(always)]
    fn is_ordinary(_operands: [f64; N]) -> bool {
        true
    }

    /// The scalar reference of ordinary operands, as straight-line code.
    #[inline(always)]
    fn eval_ordinary(operands: [f64; N]) -> f64 {
        Self::eval(operands)
    }
}

/// One type for a row, with the methods of its operation.
macro_rules! define_kernel {
    ($variant:ident $op:ident $count:literal [$($method:ident -> $result:ty),*] $operands:tt $arguments:tt) => {
        #[derive(Debug)]
        pub(crate) struct $variant;

        impl super::Elementwise<$count> for $variant {
            $(
                #[inline(always)]
                fn $method($operands: [f64; $count]) -> $result {
                    super::$op::$variant.$method $arguments
                }
            )*
        }
    };
}

/// Stamps one type per row of an arity, and `$entries!(wrapper)`: the array of `wrapper::<Type>` in table order.
/// `$dollar` is a dollar sign, which a macro that defines a macro has no other way to spell.
macro_rules! define_kernels {
    ($dollar:tt $module:ident $entries:ident $op:ident $methods:tt $operands:tt $arguments:tt $count:literal: $($variant:ident)*) => {
        pub(crate) mod $module {
            $(define_kernel!($variant $op $count $methods $operands $arguments);)*
        }

        macro_rules! $entries {
            ($dollar wrapper:ident) => { [$($dollar wrapper::<$crate::kernel::$module::$variant>),*] };
        }
        pub(crate) use $entries;
    };
}

macro_rules! define_unary {
    ($($(#[$doc:meta])* $variant:ident = $mnemonic:literal, $label:literal, $dml:expr, |$x:ident| $eval:expr, $zero:ident,
        $flops:literal, $error:ident$(($ulp:literal))?, $lowering:expr;)*) => {
        define_kernels!($ unary unary_entries UnaryOp [eval -> f64, is_ordinary -> bool, eval_ordinary -> f64] [x] (x) 1: $($variant)*);
    };
}
fuseline_ops::for_each_unary_op!(define_unary);

macro_rules! define_binary {
    ($($(#[$doc:meta])* $variant:ident = $mnemonic:literal, $label:literal, $dml:expr, |$x:ident, $y:ident| $eval:expr, $zero:ident,
        $commutative:literal, $boolean:literal, $flops:literal, $error:ident$(($ulp:literal))?, $lowering:expr;)*) => {
        define_kernels!($ binary binary_entries BinaryOp [eval -> f64] [x, y] (x, y) 2: $($variant)*);
    };
}
fuseline_ops::for_each_binary_op!(define_binary);

macro_rules! define_ternary {
    ($($(#[$doc:meta])* $variant:ident = $mnemonic:literal, $label:literal, |$a:ident, $b:ident, $c:ident| $eval:expr,
        $flops:literal, $error:ident$(($ulp:literal))?, $lowering:expr;)*) => {
        define_kernels!($ ternary ternary_entries TernaryOp [eval -> f64] [a, b, c] (a, b, c) 3: $($variant)*);
    };
}
fuseline_ops::for_each_ternary_op!(define_ternary);
