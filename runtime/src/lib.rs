//! Fuseline's run time: executes programs.
