//! Tests of rewriting: whole DAGs in [`dags`], every rule of the tables in [`rules`], extraction in [`extraction`].

mod dags;
mod evaluate;
mod extraction;
mod instances;
mod rules;
