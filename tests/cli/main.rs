//! Tests of the `fuseline` program as its users run it.

mod bad_input;
mod calibrate;
mod check;
mod command;
mod errors;
mod explain;
mod files;
mod formats;
mod generate;
mod interrupt;
mod l2svm;
mod library;
mod limits;
#[path = "../support/long.rs"]
mod long;
mod machines;
mod memory;
mod plan_cache;
mod plan_memory;
mod readme;
mod run;
mod statistics;
mod streams;
mod systemds;
