//! Fuseline.
