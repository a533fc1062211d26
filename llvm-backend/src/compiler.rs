//! CPlan in, object bytes out: emission, verification and code generation on one of the compile threads.

use crate::emit::{Emitter, set_enum_attribute};
use crate::schedule::{Entry, PrimitiveMode, Schedule};
use crate::target::Target;
use crate::{LlvmOptions, NAME};
use fuseline_allocator::fallible;
use fuseline_ir::cplan::CPlan;
use fuseline_ir::template::Space;
use fuseline_skeletons::abi::has_sparse_entry;
use fuseline_skeletons::backend::BackendError;
use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{FileType, TargetMachine};
use inkwell::values::FunctionValue;

/// The most nodes of a plan.
const MAX_NODES: usize = 20_000;

/// The most loops of an entry point, and the most operations in them: beyond, LLVM takes seconds and deep recursion.
const MAX_LOOPS: usize = 100;
const MAX_LOOP_OPERATIONS: usize = 2_000;

/// How hard LLVM works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LlvmLevel {
    /// No passes over the code, since it is emitted as they would make it; a good register allocator for loops, the
    /// fastest for sequences of calls.
    #[default]
    Direct,
    /// LLVM's standard pipeline at its first level.
    O1,
    /// At its second.
    O2,
    /// At its third.
    O3,
}

impl LlvmLevel {
    /// The passes over a module.
    fn passes(self) -> Option<&'static str> {
        match self {
            LlvmLevel::Direct => None,
            LlvmLevel::O1 => Some("default<O1>"),
            LlvmLevel::O2 => Some("default<O2>"),
            LlvmLevel::O3 => Some("default<O3>"),
        }
    }
}

/// Generated entry points, and the primitives that they call.
#[derive(Debug)]
pub(crate) struct ObjectCode {
    pub(crate) entries: Vec<Entry>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) code_bytes: usize,
    pub(crate) called: Vec<String>,
    pub(crate) llvm_ir: Option<String>,
    pub(crate) assembly: Option<String>,
}

pub(crate) fn internal(message: impl Into<String>) -> BackendError {
    BackendError::Internal { backend: NAME, message: message.into() }
}

/// Bytes that LLVM may take for a plan, many times what it takes for the largest that are allowed.
const RESERVE: usize = 64 << 20;

/// Makes sure that there is memory for LLVM, which ends the process where it is refused any: it has an error handler for
/// that, but none from which a compilation could go on. Another thread may still be faster.
pub(crate) fn reserve() -> Result<(), BackendError> {
    let refused = |_| BackendError::Memory { backend: NAME, bytes: RESERVE as u64 };
    let mut memory = Vec::<u8>::new();
    fallible(|| memory.try_reserve_exact(RESERVE)).map_err(refused)?;
    // What nobody looks at need not be allocated.
    std::hint::black_box(&memory);
    Ok(())
}

/// What a compile thread keeps: its emitters of machine code.
pub(crate) struct Worker {
    options: LlvmOptions,
    target: Target,
    machines: Vec<(OptimizationLevel, TargetMachine)>,
}

impl Worker {
    pub(crate) fn new(options: LlvmOptions, target: Target) -> Worker {
        Worker { options, target, machines: Vec::new() }
    }

    /// Generates code for entry points of a plan, and makes sure that the `later` ones are well-formed, too.
    pub(crate) fn compile(&mut self, plan: &CPlan, now: &[Entry], later: &[Entry]) -> Result<ObjectCode, BackendError> {
        reserve()?;
        let prims = self.options.prims;
        let object = self.generate_together(plan, &schedules(plan, now, prims)?)?;
        if !later.is_empty() {
            let context = Context::create();
            let module = self.emit(&context, plan, &schedules(plan, later, prims)?, &mut Vec::new())?;
            module.verify().map_err(|message| internal(message.to_string()))?;
        }
        Ok(object)
    }

    /// Emits entry points into a module; adds the names of called primitives to `called`.
    fn emit<'ctx>(
        &mut self,
        context: &'ctx Context,
        plan: &CPlan,
        schedules: &[Schedule],
        called: &mut Vec<String>,
    ) -> Result<Module<'ctx>, BackendError> {
        let module = context.create_module("operator");
        let level = self.level(schedules);
        let machine = self.machine(level)?;
        module.set_triple(&machine.get_triple());
        module.set_data_layout(&machine.get_target_data().get_data_layout());
        for schedule in schedules {
            let form = schedule.form.as_ref().unwrap_or(plan);
            let function = Emitter::emit(&module, &self.target, form, schedule, called)
                .map_err(|error| internal(error.to_string()))?;
            if self.options.opt == LlvmLevel::Direct {
                leave_as_it_is(function);
            }
        }
        Ok(module)
    }

    /// Generates one object file for several entry points.
    fn generate_together(&mut self, plan: &CPlan, schedules: &[Schedule]) -> Result<ObjectCode, BackendError> {
        let context = Context::create();
        let mut called = Vec::new();
        let module = self.emit(&context, plan, schedules, &mut called)?;
        let (options, level) = (self.options, self.level(schedules));
        let Generated { object, llvm_ir, assembly } = generate(&module, self.machine(level)?, options)?;
        Ok(ObjectCode {
            entries: schedules.iter().map(|schedule| schedule.entry).collect(),
            code_bytes: code_bytes(&object).unwrap_or(0),
            bytes: object,
            called,
            llvm_ir,
            assembly,
        })
    }

    fn level(&self, schedules: &[Schedule]) -> OptimizationLevel {
        match self.options.opt {
            LlvmLevel::Direct if schedules.iter().any(|schedule| schedule.loops().next().is_some()) => {
                OptimizationLevel::Less
            }
            LlvmLevel::Direct => OptimizationLevel::None,
            LlvmLevel::O1 => OptimizationLevel::Less,
            LlvmLevel::O2 => OptimizationLevel::Default,
            LlvmLevel::O3 => OptimizationLevel::Aggressive,
        }
    }

    fn machine(&mut self, level: OptimizationLevel) -> Result<&TargetMachine, BackendError> {
        if !self.machines.iter().any(|(known, _)| *known == level) {
            self.machines.push((level, self.target.machine(level).map_err(internal)?));
        }
        let known = self.machines.iter().find(|(known, _)| *known == level);
        known.map(|(_, machine)| machine).ok_or_else(|| internal("the emitter that was just made is gone"))
    }
}

/// The schedules of entry points of a plan, within the limits.
pub(crate) fn schedules(plan: &CPlan, entries: &[Entry], prims: PrimitiveMode) -> Result<Vec<Schedule>, BackendError> {
    within_limit(plan.nodes.len(), MAX_NODES, "nodes")?;
    let schedule = |&entry: &Entry| {
        let schedule = Schedule::new(plan, entry, prims);
        within_limit(schedule.loops().count(), MAX_LOOPS, "loops")?;
        let operations = schedule.loops().map(|fused| fused.nodes.len()).sum();
        within_limit(operations, MAX_LOOP_OPERATIONS, "operations in loops")?;
        Ok(schedule)
    };
    entries.iter().map(schedule).collect()
}

fn within_limit(count: usize, limit: usize, what: &str) -> Result<(), BackendError> {
    if count <= limit {
        return Ok(());
    }
    Err(BackendError::Limit { backend: NAME, what: format!("{count} {what}, of which {limit} are allowed") })
}

/// The entry points of a plan, the one that is most likely needed first.
pub(crate) fn entries(plan: &CPlan) -> Vec<Entry> {
    match plan.space() {
        Space::Factors => vec![Entry::Sparse, Entry::Dense],
        _ if has_sparse_entry(plan) => vec![Entry::Dense, Entry::Sparse],
        _ => vec![Entry::Dense],
    }
}

/// Keeps a function from everything that would optimise it, but not from the good register allocator that its level
/// brings: loops are emitted as they should run, and searching them for improvements takes most of the time.
fn leave_as_it_is(function: FunctionValue<'_>) {
    for name in ["optnone", "noinline"] {
        set_enum_attribute(function, name, 0);
    }
}

/// What a module becomes.
struct Generated {
    object: Vec<u8>,
    llvm_ir: Option<String>,
    assembly: Option<String>,
}

/// Verifies and optimises a module, and generates its object file.
fn generate(module: &Module<'_>, machine: &TargetMachine, options: LlvmOptions) -> Result<Generated, BackendError> {
    module.verify().map_err(|message| internal(message.to_string()))?;
    if let Some(passes) = options.opt.passes() {
        let run = module.run_passes(passes, machine, PassBuilderOptions::create());
        run.map_err(|message| internal(message.to_string()))?;
    }
    // Before generation, which rewrites the module on its way.
    let llvm_ir = options.keep_ir.then(|| module.print_to_string().to_string());
    let write = |kind| {
        let buffer = machine.write_to_memory_buffer(module, kind).map_err(|message| internal(message.to_string()))?;
        Ok::<Vec<u8>, BackendError>(buffer.as_slice().to_vec())
    };
    let object = write(FileType::Object)?;
    let assembly = if options.keep_asm { Some(write(FileType::Assembly)?) } else { None };
    let assembly = assembly.map(|text| String::from_utf8_lossy(&text).trim_end_matches('\0').to_owned());
    Ok(Generated { object, llvm_ir, assembly })
}

/// The size of the text sections of an object file.
pub(crate) fn code_bytes(object: &[u8]) -> Option<usize> {
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
