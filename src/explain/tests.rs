//! Documents and drawings.
