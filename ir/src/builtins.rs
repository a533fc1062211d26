//! The signatures of DML builtin functions.
