//! Registers and memory: loads and stores of one register, masked where a run ends within it.

use super::memory::ALIGNMENT;
use super::{Emit, Emitter};
use fuseline_ir::work::CELL_BYTES;
use inkwell::attributes::AttributeLoc;
use inkwell::basic_block::BasicBlock;
use inkwell::types::VectorType;
use inkwell::values::{
    BasicMetadataValueEnum, BasicValue, FunctionValue, IntValue, PhiValue, PointerValue, VectorValue,
};
use inkwell::{AddressSpace, IntPredicate};

/// The lanes of a register with which a run ends: those whose index is below their number.
#[derive(Clone, Copy)]
pub(super) struct Mask<'ctx> {
    pub(super) lanes: VectorValue<'ctx>,
    pub(super) count: IntValue<'ctx>,
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// A value in every lane.
    pub(super) fn splat<V: BasicValue<'ctx>>(&self, value: V, register: VectorType<'ctx>) -> Emit<VectorValue<'ctx>> {
        let i32 = self.context.i32_type();
        let first = self.builder.build_insert_element(register.get_poison(), value, i32.const_zero(), "")?;
        let lanes = i32.vec_type(register.get_size()).const_zero();
        self.builder.build_shuffle_vector(first, register.get_poison(), lanes, "")
    }

    /// Loads the double at an address into every lane.
    pub(super) fn broadcast(&self, address: PointerValue<'ctx>) -> Emit<VectorValue<'ctx>> {
        let value = self.load_scalar(address)?;
        self.splat(value, self.register())
    }

    /// The lanes whose index is below the end, which is no negative number: signed comparisons are cheaper on AVX2.
    pub(super) fn lanes_before(&self, count: IntValue<'ctx>) -> Emit<Mask<'ctx>> {
        let end = self.splat(count, self.i64().vec_type(self.lanes()))?;
        let lanes = self.builder.build_int_compare(IntPredicate::SLT, self.lane_indexes(), end, "")?;
        Ok(Mask { lanes, count })
    }

    /// Loads consecutive doubles; zeros where masked out.
    pub(super) fn load_register(
        &self,
        address: PointerValue<'ctx>,
        mask: Option<Mask<'ctx>>,
    ) -> Emit<VectorValue<'ctx>> {
        let Some(mask) = mask else {
            let value = self.builder.build_load(self.register(), address, "")?;
            let load = value.as_instruction_value().expect("a load is an instruction");
            load.set_alignment(ALIGNMENT).expect("a power of two");
            return Ok(value.into_vector_value());
        };
        let function = self.intrinsic_function("llvm.masked.load", &[self.register().into(), self.pointer().into()]);
        let zero = self.register().const_zero();
        self.masked_access(function, &[address.into()], &[mask.lanes.into(), zero.into()])
            .map(|call| call.expect("a load has a value"))
    }

    /// Stores consecutive doubles, except where masked out.
    pub(super) fn store_register(
        &mut self,
        address: PointerValue<'ctx>,
        value: VectorValue<'ctx>,
        mask: Option<Mask<'ctx>>,
    ) -> Emit<()> {
        let Some(mask) = mask else { return self.store(address, value.into()) };
        if self.lanes() <= 4 {
            return self.store_lanes(address, value, mask.count);
        }
        let function = self.intrinsic_function("llvm.masked.store", &[self.register().into(), self.pointer().into()]);
        self.masked_access(function, &[value.into(), address.into()], &[mask.lanes.into()]).map(|_| ())
    }

    /// Stores the first `count` lanes, or all of them, one by one: without registers of masks a masked store takes some
    /// processors as long as a dozen others.
    ///
    /// The last lane goes first; lanes behind the last that counts go to its place, where it overwrites them. Where none
    /// counts, they go to a place that nobody reads.
    fn store_lanes(
        &mut self,
        address: PointerValue<'ctx>,
        value: VectorValue<'ctx>,
        count: IntValue<'ctx>,
    ) -> Emit<()> {
        let nowhere = self.register();
        let nowhere = self.in_prologue(|emitter| emitter.builder.build_alloca(nowhere, "nowhere"))?;
        let is_empty = self.builder.build_int_compare(IntPredicate::EQ, count, self.index(0), "")?;
        let address = self.builder.build_select(is_empty, nowhere, address, "")?.into_pointer_value();
        let last = self.builder.build_int_sub(count, self.index(1), "")?;
        for lane in (0..self.lanes()).rev() {
            let index = self.index(lane.into());
            let is_within = self.builder.build_int_compare(IntPredicate::ULE, index, last, "")?;
            let place = self.builder.build_select(is_within, index, last, "")?.into_int_value();
            let lane = self.builder.build_extract_element(value, index, "")?;
            let address = self.offset(address, place)?;
            self.store(address, lane)?;
        }
        Ok(())
    }

    /// Loads doubles that lie a stride apart.
    pub(super) fn load_strided(
        &self,
        first: PointerValue<'ctx>,
        stride: IntValue<'ctx>,
        mask: Option<Mask<'ctx>>,
    ) -> Emit<VectorValue<'ctx>> {
        let integers = self.i64().vec_type(self.lanes());
        let pointers = self.context.ptr_type(AddressSpace::default()).vec_type(self.lanes());
        let bytes = self.builder.build_int_mul(stride, self.index(CELL_BYTES), "")?;
        let bytes = self.splat(bytes, integers)?;
        let distances = self.builder.build_int_mul(self.lane_indexes(), bytes, "")?;
        let base = self.builder.build_ptr_to_int(first, self.i64(), "")?;
        let base = self.splat(base, integers)?;
        let addresses = self.builder.build_int_add(base, distances, "")?;
        let addresses = self.builder.build_int_to_ptr(addresses, pointers, "")?;
        let every_lane =
            VectorType::const_vector(&vec![self.context.bool_type().const_all_ones(); self.lanes() as usize]);
        let mask = mask.map_or(every_lane, |mask| mask.lanes);
        let function = self.intrinsic_function("llvm.masked.gather", &[self.register().into(), pointers.into()]);
        let zero = self.register().const_zero();
        self.masked_access(function, &[addresses.into()], &[mask.into(), zero.into()])
            .map(|call| call.expect("a gather has a value"))
    }

    /// Calls a masked intrinsic; `before` ends with the address. LLVM 22 takes the alignment as an attribute of the
    /// address, LLVM 19 as the argument after it.
    fn masked_access(
        &self,
        function: FunctionValue<'ctx>,
        before: &[BasicMetadataValueEnum<'ctx>],
        after: &[BasicMetadataValueEnum<'ctx>],
    ) -> Emit<Option<VectorValue<'ctx>>> {
        let takes_alignment = function.count_params() as usize > before.len() + after.len();
        let mut arguments = before.to_vec();
        if takes_alignment {
            arguments.push(self.context.i32_type().const_int(ALIGNMENT.into(), false).into());
        }
        arguments.extend_from_slice(after);
        let call = self.builder.build_call(function, &arguments, "")?;
        if !takes_alignment {
            call.set_alignment_attribute(AttributeLoc::Param(before.len() as u32 - 1), ALIGNMENT);
        }
        Ok(call.try_as_basic_value().basic().map(inkwell::values::BasicValueEnum::into_vector_value))
    }
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// One phi for each register, with its value from a block.
    pub(super) fn phis(&self, initial: &[VectorValue<'ctx>], from: BasicBlock<'ctx>) -> Emit<Vec<PhiValue<'ctx>>> {
        initial
            .iter()
            .map(|value| {
                let phi = self.builder.build_phi(self.register(), "")?;
                phi.add_incoming(&[(value, from)]);
                Ok(phi)
            })
            .collect()
    }

    pub(super) fn new_block(&self, name: &str) -> BasicBlock<'ctx> {
        self.context.append_basic_block(self.function, name)
    }

    pub(super) fn current_block(&self) -> BasicBlock<'ctx> {
        self.builder.get_insert_block().expect("the emitter always stands at the end of a block")
    }
}

/// The values of phis of registers.
pub(super) fn registers<'ctx>(phis: &[PhiValue<'ctx>]) -> Vec<VectorValue<'ctx>> {
    phis.iter().map(|phi| phi.as_basic_value().into_vector_value()).collect()
}

/// Adds the values of phis from one more block.
pub(super) fn add_incoming<'ctx>(phis: &[PhiValue<'ctx>], values: &[VectorValue<'ctx>], from: BasicBlock<'ctx>) {
    for (phi, value) in phis.iter().zip(values) {
        phi.add_incoming(&[(value, from)]);
    }
}
