//! Fuseline's SIMD vector primitives, shared by all generated operators.
