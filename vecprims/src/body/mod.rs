//! The algorithms, each once, generic over the register type and inlined into one wrapper per instruction set.
//!
//! Rule numbers refer to the execution contract in `ARCHITECTURE.md`. Every function here is `unsafe` for the same two
//! reasons: the caller must run on the instruction set of `V`, and the pointers, strides and lengths must describe
//! live memory as the table of primitives says, with outputs that overlap no input.

pub(crate) mod abreast;
pub(crate) mod ahead;
pub(crate) mod column;
pub(crate) mod copy;
pub(crate) mod elementwise;
pub(crate) mod few_terms;
pub(crate) mod matrix;
pub(crate) mod narrow;
pub(crate) mod positions;
pub(crate) mod product;
pub(crate) mod reduce;
pub(crate) mod resident;
pub(crate) mod rows;
pub(crate) mod run_product;
pub(crate) mod sampled;
pub(crate) mod scaled;
pub(crate) mod short;
pub(crate) mod sparse;
pub(crate) mod upright;
pub(crate) mod windows;
