//! What passes over whole programs know of blocks: their parts, the variables that these assign and mention, and blocks
//! that become one.

mod mentions;
mod sequence;
mod variables;

pub(crate) use mentions::{Mentions, Place};
pub(crate) use sequence::Sequence;
pub(crate) use variables::{Assigned, Names, bodies_mut, each_dag, predicates, predicates_mut};
