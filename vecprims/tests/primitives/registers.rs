//! The functions from registers to registers, on x86-64.

use crate::data::{Generator, Kind, assert_same};
use fuseline_ops::{BinaryOp, Lowering, UnaryOp};
use fuseline_vecprims::{Isa, math_symbol, primitive_names, symbols};
use std::collections::HashSet;

/// Calls a register function on an array.
mod callers {
    use std::arch::x86_64::{__m128d, __m256d, __m512d};
    use std::mem::transmute;

    macro_rules! callers {
        ($unary:ident, $binary:ident, $register:ty, $lanes:literal, $(#[$features:meta])*) => {
            $(#[$features])*
            pub(super) unsafe fn $unary(address: usize, x: [f64; $lanes]) -> [f64; $lanes] {
                // SAFETY: the address is that of a function of this type on this machine.
                unsafe {
                    let function: unsafe extern "C" fn($register) -> $register = transmute(address);
                    transmute(function(transmute::<[f64; $lanes], $register>(x)))
                }
            }

            $(#[$features])*
            pub(super) unsafe fn $binary(address: usize, x: [f64; $lanes], y: [f64; $lanes]) -> [f64; $lanes] {
                // SAFETY: the address is that of a function of this type on this machine.
                unsafe {
                    let function: unsafe extern "C" fn($register, $register) -> $register = transmute(address);
                    transmute(function(transmute::<[f64; $lanes], $register>(x), transmute::<[f64; $lanes], $register>(y)))
                }
            }
        };
    }
    callers!(unary_v8, binary_v8, __m512d, 8, #[target_feature(enable = "avx512f")]);
    callers!(unary_v4, binary_v4, __m256d, 4, #[target_feature(enable = "avx2")]);
    callers!(unary_v2, binary_v2, __m128d, 2,);
}

/// Calls the register function of a unary or binary operation on blocks of eight values.
fn call(isa: Isa, address: usize, x: &[f64], y: Option<&[f64]>) -> Vec<f64> {
    macro_rules! blocks {
        ($lanes:literal, $unary:ident, $binary:ident) => {
            (0..x.len() / $lanes)
                .flat_map(|block| {
                    let range = block * $lanes..(block + 1) * $lanes;
                    let first = x[range.clone()].try_into().unwrap();
                    // SAFETY: the symbols of an available instruction set have this type at this width.
                    unsafe {
                        match y {
                            Some(y) => callers::$binary(address, first, y[range].try_into().unwrap()),
                            None => callers::$unary(address, first),
                        }
                    }
                })
                .collect()
        };
    }
    match isa {
        Isa::Avx512 => blocks!(8, unary_v8, binary_v8),
        Isa::Avx2 => blocks!(4, unary_v4, binary_v4),
        Isa::Portable => blocks!(2, unary_v2, binary_v2),
    }
}

#[test]
fn register_functions_are_the_references_of_operations_lowered_by_call() {
    let mut generator = Generator::new(6);
    let (x, y) = (generator.values(Kind::Special, 4096), generator.values(Kind::Special, 4096));
    for isa in Isa::available() {
        let symbols = symbols(isa);
        let mut left: HashSet<&str> =
            symbols.iter().skip(primitive_names().len()).map(|(name, _)| name.as_str()).collect();
        let mut address = |mnemonic: &str| {
            let name = math_symbol(mnemonic, isa.lanes());
            left.remove(name.as_str());
            symbols.iter().find(|(symbol, _)| *symbol == name).expect("operations lowered by call have a symbol").1
        };
        for &op in UnaryOp::ALL.iter().filter(|op| matches!(op.lowering(), Lowering::Call)) {
            let expected: Vec<f64> = x.iter().map(|&x| op.eval(x)).collect();
            assert_same(&call(isa, address(op.mnemonic()), &x, None), &expected, || format!("{op} on {isa}"));
        }
        for &op in BinaryOp::ALL.iter().filter(|op| matches!(op.lowering(), Lowering::Call)) {
            let expected: Vec<f64> = x.iter().zip(&y).map(|(&x, &y)| op.eval(x, y)).collect();
            assert_same(&call(isa, address(op.mnemonic()), &x, Some(&y)), &expected, || format!("{op} on {isa}"));
        }
        assert!(left.is_empty(), "only operations lowered by call have register functions: {left:?}");
    }
}
