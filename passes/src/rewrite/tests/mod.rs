//! Tests of rewriting: whole DAGs here, every rule of the tables in [`rules`], extraction in [`extraction`].

mod dags;
mod evaluate;
mod extraction;
mod rules;
