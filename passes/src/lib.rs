//! Fuseline's compiler passes: rewrites, sizes, exploration, selection, CPlan construction.
