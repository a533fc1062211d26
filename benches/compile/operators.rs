//! How many operators there are to compile.

use crate::cases::Case;
use crate::stages::{Stage, parse};
use fuseline::ir::program::{Program, StatementBlock};

/// Operators of a case.
#[derive(Clone, Copy)]
pub(crate) struct Operators {
    /// Operators of the program, the library's functions that it calls among them.
    of_program: usize,
    /// Operators of the blocks that are optimized.
    of_blocks: usize,
}

impl Operators {
    pub(crate) fn of(case: &Case) -> Operators {
        let Program { body, functions, .. } = parse(&case.text);
        let of_functions: usize = functions.values().map(|function| count(&function.body)).sum();
        let of_blocks = case.blocks.iter().map(|dag| dag.hops.len()).sum();
        Operators { of_program: count(&body) + of_functions, of_blocks }
    }

    /// How many a stage works on.
    pub(crate) fn in_stage(self, stage: Stage) -> f64 {
        match stage {
            Stage::Parse | Stage::Simplify => self.of_program as f64,
            _ => self.of_blocks as f64,
        }
    }
}

fn count(blocks: &[StatementBlock]) -> usize {
    let of = |block: &StatementBlock| {
        let predicates = block.predicates().into_iter();
        let decisions: usize = predicates.map(|it| count(&it.prelude) + it.dag.hops.len()).sum();
        let statements = match block {
            StatementBlock::Basic(dag) => dag.hops.len(),
            StatementBlock::Call(call) => call.arguments.hops.len(),
            StatementBlock::If { then_body, else_body, .. } => count(then_body) + count(else_body),
            StatementBlock::While { body, .. } | StatementBlock::For { body, .. } => count(body),
        };
        decisions + statements
    };
    blocks.iter().map(of).sum()
}
