//! The script library on real and generated data: equal models in every mode, format and backend, and the models that
//! other libraries compute for the same problems (`algorithms/reference`).

#[path = "algorithms/execution.rs"]
mod execution;
#[path = "algorithms/generated.rs"]
mod generated;
#[path = "algorithms/odd_inputs.rs"]
mod odd_inputs;
#[path = "algorithms/parameters.rs"]
mod parameters;
#[path = "algorithms/real_data.rs"]
mod real_data;
#[path = "algorithms/reference.rs"]
mod reference;
#[path = "algorithms/results.rs"]
mod results;
