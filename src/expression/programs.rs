//! The programs of expressions that a session has met, so that an expression that is built again compiles nothing.

use super::program::{ExprProgram, is_same_dag};
use crate::session::Script;
use fuseline_ir::hop::HopDag;
use fuseline_ir::program::{Program, StatementBlock};
use fuseline_runtime::CompiledBlocks;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Programs that a session keeps; beyond them the one that was not used for longest goes.
const MOST_PROGRAMS: usize = 1024;

/// The programs of a session, by the hash of their DAG.
#[derive(Debug, Default)]
pub(crate) struct ExprPrograms {
    programs: Mutex<HashMap<u64, Arc<KeptProgram>>>,
    uses: AtomicU64,
}

/// A program with what was compiled of it.
#[derive(Debug)]
pub(crate) struct KeptProgram {
    pub(crate) script: Script,
    /// The compilations that no run uses now: each run takes one for itself.
    idle: Mutex<Vec<CompiledBlocks>>,
    last_used: AtomicU64,
}

impl KeptProgram {
    fn new(dag: HopDag) -> Self {
        let program = Program { body: vec![StatementBlock::Basic(dag)], ..Program::default() };
        KeptProgram { script: Script::of_program(program), idle: Mutex::default(), last_used: AtomicU64::new(0) }
    }

    fn dag(&self) -> Option<&HopDag> {
        match self.script.program().body.first() {
            Some(StatementBlock::Basic(dag)) => Some(dag),
            _ => None,
        }
    }

    /// Does something with a compilation of the program that no other thread has meanwhile.
    pub(crate) fn with_compiled<T>(&self, work: impl FnOnce(&Script, &mut CompiledBlocks) -> T) -> T {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let mut compiled = idle().pop().unwrap_or_default();
        let result = work(&self.script, &mut compiled);
        idle().push(compiled);
        result
    }
}

impl ExprPrograms {
    /// The program of these expressions, a kept one where there is one.
    pub(super) fn find(&self, program: &ExprProgram) -> Arc<KeptProgram> {
        let hash = program.hash();
        let now = self.uses.fetch_add(1, Ordering::Relaxed);
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = programs.get(&hash);
        if let Some(kept) = kept.filter(|kept| kept.dag().is_some_and(|dag| is_same_dag(dag, &program.dag))) {
            kept.last_used.store(now, Ordering::Relaxed);
            return Arc::clone(kept);
        }
        if programs.len() >= MOST_PROGRAMS {
            let oldest = programs.iter().min_by_key(|(_, kept)| kept.last_used.load(Ordering::Relaxed));
            let oldest = oldest.map(|(&hash, _)| hash);
            oldest.and_then(|hash| programs.remove(&hash));
        }
        let kept = Arc::new(KeptProgram::new(program.dag.clone()));
        kept.last_used.store(now, Ordering::Relaxed);
        programs.insert(hash, Arc::clone(&kept));
        kept
    }
}
