//! From a schedule to LLVM IR: one function per entry point.
//!
//! No fast-math flag is ever set, multiply-adds are fused only where the plan or the execution contract says so, and
//! all loads and stores carry the alignment of a double: wider alignment is a property of allocations, never an
//! assumption of code.

mod ahead;
mod blocks;
mod call_table;
mod calls;
mod column;
mod conditions;
mod elementwise;
mod fused;
mod loops;
mod memory;
mod narrow;
mod outputs;
mod reduce;
mod registers;
mod unit;

use crate::schedule::{Schedule, Step};
use crate::target::Target;
use fuseline_ir::cplan::CPlan;
use inkwell::AddressSpace;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::basic_block::BasicBlock;
use inkwell::builder::{Builder, BuilderError};
use inkwell::context::ContextRef;
use inkwell::module::Module;
use inkwell::types::{FloatType, IntType, PointerType, VectorType};
use inkwell::values::{FunctionValue, IntValue, PointerValue, VectorValue};
use memory::SlotOffsets;
use std::collections::HashMap;
use unit::{Fact, FactValue};

/// The result of emitting something; errors are bugs of the emitter.
pub(crate) type Emit<T> = Result<T, BuilderError>;

/// Emits one entry point.
pub(crate) struct Emitter<'a, 'ctx> {
    plan: &'a CPlan,
    schedule: &'a Schedule,
    context: ContextRef<'ctx>,
    module: &'a Module<'ctx>,
    builder: Builder<'ctx>,
    target: &'a Target,
    function: FunctionValue<'ctx>,
    /// Holds what is computed once per call; ends in a branch to the steps.
    prologue: BasicBlock<'ctx>,
    facts: HashMap<Fact, FactValue<'ctx>>,
    slots: SlotOffsets<'ctx>,
    /// Addresses of constants by their bits.
    literals: HashMap<u64, PointerValue<'ctx>>,
    called: &'a mut Vec<String>,
}

/// Attributes of functions that run on a target.
fn set_function_attributes(context: &ContextRef<'_>, function: FunctionValue<'_>, target: &Target) {
    let bits = target.vector_bits.to_string();
    let strings = [
        ("target-cpu", target.cpu.as_str()),
        ("target-features", target.features.as_str()),
        ("min-legal-vector-width", bits.as_str()),
        ("prefer-vector-width", bits.as_str()),
        // No loop becomes a call of the C library, which the linker of operators does not know.
        ("no-builtins", ""),
    ];
    for (key, value) in strings {
        function.add_attribute(AttributeLoc::Function, context.create_string_attribute(key, value));
    }
    set_nounwind(function);
}

/// Lets a function keep registers on the stack while it calls others so that none lies across two cache lines.
fn align_stack(function: FunctionValue<'_>, target: &Target) {
    set_enum_attribute(function, "alignstack", u64::from(target.vector_bits) / 8);
}

fn set_nounwind(function: FunctionValue<'_>) {
    set_enum_attribute(function, "nounwind", 0);
}

/// Gives a function an attribute that LLVM knows; those without a value take none but 0.
pub(crate) fn set_enum_attribute(function: FunctionValue<'_>, name: &str, value: u64) {
    let context = function.get_type().get_context();
    let attribute = context.create_enum_attribute(Attribute::get_named_enum_kind_id(name), value);
    function.add_attribute(AttributeLoc::Function, attribute);
}

impl<'a, 'ctx> Emitter<'a, 'ctx> {
    /// Emits the entry point of a schedule into a module; the names of called primitives are added to `called`.
    pub(crate) fn emit(
        module: &'a Module<'ctx>,
        target: &'a Target,
        plan: &'a CPlan,
        schedule: &'a Schedule,
        called: &'a mut Vec<String>,
    ) -> Emit<FunctionValue<'ctx>> {
        let context = module.get_context();
        let pointer = context.ptr_type(AddressSpace::default());
        let signature = context.void_type().fn_type(&[pointer.into(), pointer.into()], false);
        let function = module.add_function(schedule.entry.symbol(), signature, None);
        set_function_attributes(&context, function, target);
        let prologue = context.append_basic_block(function, "prologue");
        let steps = context.append_basic_block(function, "steps");
        let builder = context.create_builder();
        builder.position_at_end(steps);
        let mut emitter = Emitter {
            plan,
            schedule,
            context,
            module,
            builder,
            target,
            function,
            prologue,
            facts: HashMap::new(),
            slots: SlotOffsets::default(),
            literals: HashMap::new(),
            called,
        };
        let are_calls = |step: &Step, next: &Step| matches!((step, next), (Step::Call(_), Step::Call(_)));
        for steps in schedule.steps.chunk_by(are_calls) {
            emitter.schedule_steps(steps)?;
        }
        emitter.builder.build_return(None)?;
        emitter.builder.position_at_end(prologue);
        emitter.builder.build_unconditional_branch(steps)?;
        Ok(function)
    }

    /// One step, or calls that follow each other.
    fn schedule_steps(&mut self, steps: &[Step]) -> Emit<()> {
        let mut calls = Vec::new();
        for step in steps {
            match step {
                Step::Loop(fused) => return self.fused_loop(fused),
                Step::Pack(id, extent) => return self.pack(*id, *extent),
                Step::Output(index) => return self.output_call(*index),
                Step::Call(id) => calls.extend(self.calls_of(*id)?),
            }
        }
        self.call_all(&calls)
    }

    /// Emits into the prologue, and returns to where it was.
    fn in_prologue<T>(&mut self, emit: impl FnOnce(&mut Self) -> Emit<T>) -> Emit<T> {
        let here = self.builder.get_insert_block();
        self.builder.position_at_end(self.prologue);
        let result = emit(self);
        if let Some(here) = here {
            self.builder.position_at_end(here);
        }
        result
    }

    /// The type of a value, of which registers hold several.
    fn lane_type(&self) -> FloatType<'ctx> {
        self.context.f64_type()
    }

    fn i64(&self) -> IntType<'ctx> {
        self.context.i64_type()
    }

    fn pointer(&self) -> PointerType<'ctx> {
        self.context.ptr_type(AddressSpace::default())
    }

    /// Doubles per register.
    fn lanes(&self) -> u32 {
        self.target.lanes()
    }

    /// A register of doubles.
    fn register(&self) -> VectorType<'ctx> {
        self.lane_type().vec_type(self.lanes())
    }

    fn index(&self, value: u64) -> IntValue<'ctx> {
        self.i64().const_int(value, false)
    }

    /// The constant in every lane.
    fn constant(&self, value: f64) -> VectorValue<'ctx> {
        let lane = self.lane_type().const_float(value);
        VectorType::const_vector(&vec![lane; self.lanes() as usize])
    }

    /// The doubles 0, 1, ..., one per lane.
    fn lane_numbers(&self) -> VectorValue<'ctx> {
        let lanes: Vec<_> = (0..self.lanes()).map(|lane| self.lane_type().const_float(lane.into())).collect();
        VectorType::const_vector(&lanes)
    }

    /// The indexes 0, 1, ..., one per lane.
    fn lane_indexes(&self) -> VectorValue<'ctx> {
        let lanes: Vec<IntValue<'ctx>> = (0..self.lanes()).map(|lane| self.index(lane.into())).collect();
        VectorType::const_vector(&lanes)
    }
}
