//! Reductions in registers: 32 lane accumulators and the fixed merge tree of the execution contract.

use super::registers::Mask;
use super::{Emit, Emitter};
use fuseline_ir::ops::{AggOp, BinaryOp};
use inkwell::values::{FloatValue, VectorValue};

/// Accumulator lanes of a reduction, on every instruction set.
pub(super) const LANES: u32 = 32;

impl<'ctx> Emitter<'_, 'ctx> {
    /// Registers per 32 lanes.
    pub(super) fn parts(&self) -> usize {
        (LANES / self.lanes()) as usize
    }

    /// Takes one value per lane into an accumulator, except in lanes that the mask excludes.
    pub(super) fn accumulate(
        &mut self,
        agg: AggOp,
        accumulator: VectorValue<'ctx>,
        value: VectorValue<'ctx>,
        mask: Option<Mask<'ctx>>,
    ) -> Emit<VectorValue<'ctx>> {
        let next = match agg {
            AggOp::SumSq => self.fma(value, value, accumulator)?,
            AggOp::Nnz => {
                let counts = self.binary(BinaryOp::NotEqual, value, self.constant(0.0))?;
                self.merge(agg, accumulator, counts)?
            }
            AggOp::Sum | AggOp::Mean | AggOp::Min | AggOp::Max | AggOp::Prod => self.merge(agg, accumulator, value)?,
            AggOp::Var => unreachable!("schedules leave variances to the primitive"),
        };
        match mask {
            Some(mask) => self.select(mask.lanes, next, accumulator),
            None => Ok(next),
        }
    }

    /// Merges accumulators, lane by lane.
    pub(super) fn merge(&mut self, agg: AggOp, x: VectorValue<'ctx>, y: VectorValue<'ctx>) -> Emit<VectorValue<'ctx>> {
        match agg {
            AggOp::Sum | AggOp::SumSq | AggOp::Nnz | AggOp::Mean | AggOp::Var => self.builder.build_float_add(x, y, ""),
            AggOp::Prod => self.builder.build_float_mul(x, y, ""),
            AggOp::Min => self.binary(BinaryOp::Min, x, y),
            AggOp::Max => self.binary(BinaryOp::Max, x, y),
        }
    }

    /// Merges lanes `l` and `l + 16`, then `l` and `l + 8`, 4, 2, 1; the result is in the first lane.
    pub(super) fn merge_tree(&mut self, agg: AggOp, registers: &[VectorValue<'ctx>]) -> Emit<VectorValue<'ctx>> {
        let mut registers = registers.to_vec();
        while registers.len() > 1 {
            let upper = registers.split_off(registers.len() / 2);
            for (lower, upper) in registers.iter_mut().zip(upper) {
                *lower = self.merge(agg, *lower, upper)?;
            }
        }
        let mut merged = registers[0];
        let mut distance = self.lanes() / 2;
        while distance > 0 {
            let upper = self.shift_lanes(merged, distance)?;
            merged = self.merge(agg, merged, upper)?;
            distance /= 2;
        }
        Ok(merged)
    }

    /// Lane `l` gets the value of lane `l + distance`, around the end.
    fn shift_lanes(&self, value: VectorValue<'ctx>, distance: u32) -> Emit<VectorValue<'ctx>> {
        let i32 = self.context.i32_type();
        let mask: Vec<_> =
            (0..self.lanes()).map(|lane| i32.const_int(((lane + distance) % self.lanes()).into(), false)).collect();
        self.builder.build_shuffle_vector(value, value, inkwell::types::VectorType::const_vector(&mask), "")
    }

    /// The value of the first lane.
    pub(super) fn first_lane(&self, value: VectorValue<'ctx>) -> Emit<FloatValue<'ctx>> {
        let lane = self.builder.build_extract_element(value, self.context.i32_type().const_zero(), "")?;
        Ok(lane.into_float_value())
    }
}
