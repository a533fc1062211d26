//! The programs of expressions that a session has met, so that an expression that is built again compiles nothing.

use super::program::{ExprProgram, are_same_blocks, output_name};
use crate::error::Error;
use crate::session::{Script, Session};
use foldhash::HashMap;
use fuseline_ir::program::{Program, StatementBlock};
use fuseline_passes::size::SizeEnvironment;
use fuseline_runtime::CompiledBlocks;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Programs that a session keeps; beyond them the one that was not used for longest goes.
const MOST_PROGRAMS: usize = 1024;

/// The programs of a session, by the hash of their blocks.
#[derive(Debug, Default)]
pub(crate) struct ExprPrograms {
    programs: Mutex<HashMap<u64, Arc<KeptProgram>>>,
    uses: AtomicU64,
}

/// A program with what was compiled of it.
#[derive(Debug)]
pub(crate) struct KeptProgram {
    /// The blocks as they came of the expressions.
    body: Vec<StatementBlock>,
    script: Script,
    /// The compilations that no run uses now: each run takes one for itself.
    idle: Mutex<Vec<CompiledBlocks>>,
    last_used: AtomicU64,
}

impl KeptProgram {
    fn new(body: Vec<StatementBlock>, script: Script) -> Self {
        KeptProgram { body, script, idle: Mutex::default(), last_used: AtomicU64::new(0) }
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
    /// The kept program of these expressions, if there is one.
    fn find(&self, hash: u64, program: &ExprProgram) -> Option<Arc<KeptProgram>> {
        let programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = programs.get(&hash).filter(|kept| are_same_blocks(&kept.body, &program.body))?;
        self.note_use(kept);
        Some(Arc::clone(kept))
    }

    fn insert(&self, hash: u64, kept: KeptProgram) -> Arc<KeptProgram> {
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        if programs.len() >= MOST_PROGRAMS {
            let oldest = programs.iter().min_by_key(|(_, kept)| kept.last_used.load(Ordering::Relaxed));
            let oldest = oldest.map(|(&hash, _)| hash);
            oldest.and_then(|hash| programs.remove(&hash));
        }
        let kept = Arc::new(kept);
        self.note_use(&kept);
        programs.insert(hash, Arc::clone(&kept));
        kept
    }

    fn note_use(&self, kept: &KeptProgram) {
        kept.last_used.store(self.uses.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
    }
}

impl Session {
    /// The program of these expressions, a kept one where there is one.
    ///
    /// # Errors
    /// What is left of a loop after an iteration does not fit what the loop does with it.
    pub(super) fn kept_program(&self, program: &ExprProgram) -> Result<Arc<KeptProgram>, Error> {
        let hash = program.hash();
        if let Some(kept) = self.programs.find(hash, program) {
            return Ok(kept);
        }
        let script = Script::of_program(self.simplified_expressions(program, &program.environment(false))?);
        Ok(self.programs.insert(hash, KeptProgram::new(program.body.clone(), script)))
    }

    /// Expressions as a program that is simplified across its blocks, where it has several.
    pub(super) fn simplified_expressions(
        &self,
        program: &ExprProgram,
        environment: &SizeEnvironment,
    ) -> Result<Program, Error> {
        let whole = Program { body: program.body.clone(), ..Program::default() };
        if let [StatementBlock::Basic(_)] = &whole.body[..] {
            return Ok(whole);
        }
        let results = (0..program.outputs).map(output_name).collect();
        self.simplified(whole, environment, &results)
    }
}
