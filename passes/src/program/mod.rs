//! Passes over whole programs, before any block is compiled (section 2.1, P013).
//!
//! What the text of a program says is used up first: constants cross blocks and calls, branches that never hold go,
//! straight-line functions take the place of their calls, and blocks that become neighbours become one DAG, so that
//! operators fuse across them. Results that nothing reads go, and what is the same in every iteration is computed before
//! its loop. None of the passes changes the order of effects or of errors.

mod inline;
mod motion;
#[cfg(test)]
mod tests;

pub use inline::inline_functions;
pub use motion::move_invariants;

use crate::blocks::each_dag;
use crate::liveness::remove_dead_outputs;
use crate::size::{SizeEnvironment, ValidationError, propagate_constants};
use fuseline_ir::hop::HopDag;
use fuseline_ir::program::Program;
use std::collections::BTreeSet;

/// Which passes run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramOptions {
    /// Constants across blocks and through functions, and branches that never hold.
    pub constants: bool,
    /// Straight-line functions in place of their calls.
    pub inlining: bool,
    /// Invariant aggregates out of loops.
    pub motion: bool,
}

impl Default for ProgramOptions {
    fn default() -> Self {
        ProgramOptions { constants: true, inlining: true, motion: true }
    }
}

impl ProgramOptions {
    /// No pass but the removal of results that nothing reads.
    pub const NONE: ProgramOptions = ProgramOptions { constants: false, inlining: false, motion: false };
}

/// Simplifies the DAGs of a program, as [`crate::rewrite::simplify`] does, or finds how that was done before.
pub type Simplify<'a> = dyn FnMut(&mut [HopDag]) + 'a;

/// Simplifies a program: by the passes over blocks, and its DAGs by the rewrites that need no sizes. The program starts
/// with the variables `inputs`, and its variables `results` are needed at the end.
///
/// # Errors
/// Shapes or types do not fit.
pub fn simplify_program(
    program: &mut Program,
    inputs: &SizeEnvironment,
    results: &BTreeSet<String>,
    options: ProgramOptions,
    simplify: &mut Simplify<'_>,
) -> Result<(), ValidationError> {
    if options.constants {
        propagate_constants(program, inputs)?;
    }
    if options.inlining {
        inline_functions(program);
        if options.constants {
            // The bodies are now those of one call each.
            propagate_constants(program, inputs)?;
        }
    }
    remove_dead_outputs(program, results);
    let mut dags = Vec::new();
    each_dag(program, &mut |dag| dags.push(std::mem::take(dag)));
    simplify(&mut dags);
    let mut simplified = dags.into_iter();
    each_dag(program, &mut |dag| *dag = simplified.next().unwrap_or_default());
    if options.motion {
        move_invariants(program);
        remove_dead_outputs(program, results);
    }
    Ok(())
}
