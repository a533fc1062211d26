//! Tests of rewriting: whole DAGs in [`dags`], chains in [`chains`],
//! every rule of the tables in [`rules`], extraction in [`extraction`].

mod chains;
mod dags;
mod evaluate;
mod extraction;
mod instances;
mod rules;
