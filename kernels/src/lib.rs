//! Fuseline's basic (unfused) matrix operators.
