//! The compile thread: CPlan in, object bytes out.
//!
//! LLVM recurses deeply on long chains of operations, so compilation runs on a thread of its own with a stack of 8 MiB.
//! The thread lives as long as the backend and keeps its emitters of machine code. Linking needs neither and happens
//! on the caller's thread.

use crate::emit::Emitter;
use crate::schedule::{Entry, Schedule, ScratchNeed};
use crate::target::Target;
use crate::{LlvmOptions, NAME};
use fuseline_ir::cplan::{CPlan, VerifiedCPlan};
use fuseline_ir::memo::TemplateType;
use fuseline_skeletons::abi::has_sparse_entry;
use fuseline_skeletons::backend::BackendError;
use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{FileType, TargetMachine};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, Sender};

/// The compile thread's stack.
const STACK_BYTES: usize = 8 << 20;

/// How hard LLVM works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LlvmOpt {
    /// No IR passes, since the emitted code is what they would make of it; light instruction selection for loops, the
    /// fastest for sequences of calls.
    #[default]
    Direct,
    /// LLVM's standard pipeline.
    O3,
}

/// A compiled but not linked plan.
#[derive(Debug)]
pub(crate) struct ObjectCode {
    pub(crate) bytes: Vec<u8>,
    pub(crate) code_bytes: usize,
    pub(crate) entries: Vec<Entry>,
    pub(crate) scratch: ScratchNeed,
    pub(crate) called: Vec<String>,
    pub(crate) llvm_ir: Option<String>,
    pub(crate) assembly: Option<String>,
}

struct Job {
    plan: VerifiedCPlan,
    reply: Sender<Result<ObjectCode, BackendError>>,
}

/// A handle of the compile thread, which ends with it.
#[derive(Debug)]
pub(crate) struct Compiler {
    jobs: Sender<Job>,
}

pub(crate) fn internal(message: impl Into<String>) -> BackendError {
    BackendError::Internal { backend: NAME, message: message.into() }
}

impl Compiler {
    pub(crate) fn start(options: LlvmOptions, target: Target) -> Result<Compiler, BackendError> {
        let (jobs, queue) = mpsc::channel();
        std::thread::Builder::new()
            .name("fuseline-llvm".into())
            .stack_size(STACK_BYTES)
            .spawn(move || run(&options, target, &queue))
            .map_err(|error| internal(error.to_string()))?;
        Ok(Compiler { jobs })
    }

    /// Compiles a plan and waits for it.
    pub(crate) fn compile(&self, plan: &VerifiedCPlan) -> Result<ObjectCode, BackendError> {
        let (reply, answer) = mpsc::channel();
        self.jobs.send(Job { plan: plan.clone(), reply }).map_err(|_| internal("the compile thread has ended"))?;
        answer.recv().unwrap_or_else(|_| Err(internal("the compile thread dropped the plan")))
    }
}

fn run(options: &LlvmOptions, target: Target, queue: &Receiver<Job>) {
    let mut worker = Worker { options: *options, target, machines: Vec::new() };
    for job in queue {
        let result = catch_unwind(AssertUnwindSafe(|| worker.compile(&job.plan)));
        // A panic leaves nothing behind but the context of its own plan.
        let result = result.unwrap_or_else(|_| Err(internal(format!("a panic while compiling\n{}", &*job.plan))));
        // The receiver is gone only when the thread that asked is.
        let _ = job.reply.send(result);
    }
}

struct Worker {
    options: LlvmOptions,
    target: Target,
    machines: Vec<(OptimizationLevel, TargetMachine)>,
}

impl Worker {
    fn compile(&mut self, plan: &CPlan) -> Result<ObjectCode, BackendError> {
        let schedules = entries(plan)
            .into_iter()
            .map(|entry| Schedule::new(plan, entry, self.options.prims))
            .collect::<Result<Vec<Schedule>, String>>()
            .map_err(|what| BackendError::Unsupported { backend: NAME, what })?;
        let context = Context::create();
        let module = context.create_module("operator");
        let mut called = Vec::new();
        for schedule in &schedules {
            Emitter::emit(&context, &module, &self.target, plan, schedule, &mut called)
                .map_err(|error| internal(error.to_string()))?;
        }
        let has_loops = schedules.iter().any(Schedule::has_loops);
        let options = self.options;
        let machine = self.machine(level(options.opt, has_loops))?;
        let (bytes, llvm_ir, assembly) = generate(&module, machine, options)?;
        Ok(ObjectCode {
            code_bytes: code_bytes(&bytes).unwrap_or(0),
            bytes,
            entries: schedules.iter().map(|schedule| schedule.entry).collect(),
            scratch: ScratchNeed::largest(schedules.iter().map(|schedule| ScratchNeed::new(&schedule.slots))),
            called,
            llvm_ir,
            assembly,
        })
    }

    fn machine(&mut self, level: OptimizationLevel) -> Result<&TargetMachine, BackendError> {
        if !self.machines.iter().any(|(known, _)| *known == level) {
            self.machines.push((level, self.target.machine(level).map_err(internal)?));
        }
        let known = self.machines.iter().find(|(known, _)| *known == level);
        known.map(|(_, machine)| machine).ok_or_else(|| internal("the emitter that was just made is gone"))
    }
}

/// The entry points of a plan.
fn entries(plan: &CPlan) -> Vec<Entry> {
    match plan.template() {
        TemplateType::Outer => vec![Entry::Sparse],
        _ if has_sparse_entry(plan) => vec![Entry::Dense, Entry::Sparse],
        _ => vec![Entry::Dense],
    }
}

fn level(opt: LlvmOpt, has_loops: bool) -> OptimizationLevel {
    match opt {
        LlvmOpt::Direct if has_loops => OptimizationLevel::Less,
        LlvmOpt::Direct => OptimizationLevel::None,
        LlvmOpt::O3 => OptimizationLevel::Aggressive,
    }
}

/// Verifies and optimises a module, and generates its object file.
fn generate(
    module: &Module<'_>,
    machine: &TargetMachine,
    options: LlvmOptions,
) -> Result<(Vec<u8>, Option<String>, Option<String>), BackendError> {
    module.set_triple(&machine.get_triple());
    module.set_data_layout(&machine.get_target_data().get_data_layout());
    module.verify().map_err(|message| internal(message.to_string()))?;
    if options.opt == LlvmOpt::O3 {
        let passes = module.run_passes("default<O3>", machine, PassBuilderOptions::create());
        passes.map_err(|message| internal(message.to_string()))?;
    }
    // Before generation, which rewrites the module on its way.
    let llvm_ir = options.keep_ir.then(|| module.print_to_string().to_string());
    let write = |kind| machine.write_to_memory_buffer(module, kind).map_err(|message| internal(message.to_string()));
    let object = write(FileType::Object)?.as_slice().to_vec();
    let assembly = match options.keep_asm {
        true => {
            let bytes = write(FileType::Assembly)?.as_slice().to_vec();
            Some(String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned())
        }
        false => None,
    };
    Ok((object, llvm_ir, assembly))
}

/// The size of the text sections of an object file.
fn code_bytes(object: &[u8]) -> Option<usize> {
    // LLVM wants a byte after the contents that it can set to zero.
    let buffer = MemoryBuffer::create_from_memory_range_copy(object, "operator");
    let file = buffer.create_binary_file(None).ok()?;
    let mut sections = file.get_sections()?;
    let mut bytes = 0;
    while let Some(section) = sections.next_section() {
        if section.get_name().is_some_and(|name| name.to_bytes().starts_with(b".text")) {
            bytes += section.get_size();
        }
    }
    usize::try_from(bytes).ok()
}
