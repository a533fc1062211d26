//! Fuseline's front end: DML text to programs.
