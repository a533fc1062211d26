//! The harness of differential tests: random cases, the configurations that run them, the comparison with the oracle,
//! the reduction of cases that fail, and the count of what was run.

pub(crate) mod case;
pub(crate) mod check;
pub(crate) mod configuration;
pub(crate) mod generate;
pub(crate) mod leaves;
pub(crate) mod motifs;
#[path = "../support/narrow.rs"]
pub(crate) mod narrow;
pub(crate) mod shrink;
#[path = "../support/starts.rs"]
pub(crate) mod starts;
pub(crate) mod steps;
pub(crate) mod tally;
pub(crate) mod text;
