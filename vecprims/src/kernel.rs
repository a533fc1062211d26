//! The scalar references of the op table as types, so that bodies can be monomorphised per operation.

use fuseline_ir::ops::{BinaryOp, TernaryOp, UnaryOp};

/// An element-wise operation of `N` operands.
pub(crate) trait Elementwise<const N: usize> {
    /// The scalar reference.
    fn eval(operands: [f64; N]) -> f64;
}

/// Stamps one type per row of an arity, and `$entries!(wrapper)`: the array of `wrapper::<Type>` in table order.
/// `$dollar` is a dollar sign, which a macro that defines a macro has no other way to spell.
macro_rules! define_kernels {
    ($dollar:tt $module:ident $entries:ident $op:ident $operands:tt $arguments:tt $count:literal: $($variant:ident)*) => {
        pub(crate) mod $module {
            $(
                #[derive(Debug)]
                pub(crate) struct $variant;

                impl super::Elementwise<$count> for $variant {
                    #[inline(always)]
                    fn eval($operands: [f64; $count]) -> f64 {
                        super::$op::$variant.eval $arguments
                    }
                }
            )*
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
        define_kernels!($ unary unary_entries UnaryOp [x] (x) 1: $($variant)*);
    };
}
fuseline_ir::for_each_unary_op!(define_unary);

macro_rules! define_binary {
    ($($(#[$doc:meta])* $variant:ident = $mnemonic:literal, $label:literal, $dml:expr, |$x:ident, $y:ident| $eval:expr, $zero:ident,
        $commutative:literal, $boolean:literal, $flops:literal, $error:ident$(($ulp:literal))?, $lowering:expr;)*) => {
        define_kernels!($ binary binary_entries BinaryOp [x, y] (x, y) 2: $($variant)*);
    };
}
fuseline_ir::for_each_binary_op!(define_binary);

macro_rules! define_ternary {
    ($($(#[$doc:meta])* $variant:ident = $mnemonic:literal, $label:literal, |$a:ident, $b:ident, $c:ident| $eval:expr,
        $flops:literal, $error:ident$(($ulp:literal))?, $lowering:expr;)*) => {
        define_kernels!($ ternary ternary_entries TernaryOp [a, b, c] (a, b, c) 3: $($variant)*);
    };
}
fuseline_ir::for_each_ternary_op!(define_ternary);
