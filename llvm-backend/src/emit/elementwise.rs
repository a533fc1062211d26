//! Element-wise operations in registers, from the op table's lowering data.

use super::{Emit, Emitter, align_stack};
use fuseline_ir::cplan::{CNode, CNodeId};
use fuseline_ir::ops::{BinaryOp, FloatOp, Lowering, Predicate, Step};
use inkwell::FloatPredicate;
use inkwell::intrinsics::Intrinsic;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{BasicMetadataValueEnum, BasicValueEnum, FunctionValue, VectorValue};

fn float_predicate(predicate: Predicate) -> FloatPredicate {
    match predicate {
        Predicate::Equal => FloatPredicate::OEQ,
        Predicate::NotEqual => FloatPredicate::UNE,
        Predicate::Less => FloatPredicate::OLT,
        Predicate::LessEqual => FloatPredicate::OLE,
        Predicate::Greater => FloatPredicate::OGT,
        Predicate::GreaterEqual => FloatPredicate::OGE,
    }
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// The value of an element-wise node.
    pub(super) fn element_wise(&mut self, id: CNodeId, operands: &[VectorValue<'ctx>]) -> Emit<VectorValue<'ctx>> {
        match self.plan.nodes[id] {
            CNode::Unary(op, _) => self.lower(op.lowering(), op.mnemonic(), operands),
            CNode::Binary(op, ..) => self.lower(op.lowering(), op.mnemonic(), operands),
            CNode::Ternary(op, ..) => self.lower(op.lowering(), op.mnemonic(), operands),
            ref node => unreachable!("{node:?} is not element-wise, so no loop computes it"),
        }
    }

    fn lower(&mut self, lowering: Lowering, mnemonic: &str, operands: &[VectorValue<'ctx>]) -> Emit<VectorValue<'ctx>> {
        match lowering {
            Lowering::Float(op) => self.float_op(op, operands),
            Lowering::Compare(predicate) => {
                let holds = self.compare(predicate, operands[0], operands[1])?;
                self.select(holds, self.constant(1.0), self.constant(0.0))
            }
            Lowering::Intrinsic(name) => self.intrinsic(name, operands),
            Lowering::MinMax { keep_first } => self.min_max(keep_first, operands[0], operands[1]),
            Lowering::Select => {
                let holds = self.compare(Predicate::NotEqual, operands[0], self.constant(0.0))?;
                self.select(holds, operands[1], operands[2])
            }
            Lowering::Call => self.math_call(mnemonic, operands),
            Lowering::Expand(steps) => self.expand(steps, operands),
        }
    }

    fn float_op(&mut self, op: FloatOp, operands: &[VectorValue<'ctx>]) -> Emit<VectorValue<'ctx>> {
        match (op, operands) {
            (FloatOp::Neg, &[x]) => self.builder.build_float_neg(x, ""),
            (FloatOp::Add, &[x, y]) => self.builder.build_float_add(x, y, ""),
            (FloatOp::Sub, &[x, y]) => self.builder.build_float_sub(x, y, ""),
            (FloatOp::Mul, &[x, y]) => self.builder.build_float_mul(x, y, ""),
            (FloatOp::Div, &[x, y]) => self.builder.build_float_div(x, y, ""),
            (FloatOp::MulAdd, &[a, b, c]) => self.fma(b, c, a),
            (FloatOp::NegMulAdd, &[a, b, c]) => {
                let negated = self.builder.build_float_neg(b, "")?;
                self.fma(negated, c, a)
            }
            _ => unreachable!("the op table gives {op:?} to operations with other operands: {}", operands.len()),
        }
    }

    /// `x * y + z`, rounded once.
    pub(super) fn fma(
        &mut self,
        x: VectorValue<'ctx>,
        y: VectorValue<'ctx>,
        z: VectorValue<'ctx>,
    ) -> Emit<VectorValue<'ctx>> {
        self.intrinsic("llvm.fma", &[x, y, z])
    }

    fn compare(&self, predicate: Predicate, x: VectorValue<'ctx>, y: VectorValue<'ctx>) -> Emit<VectorValue<'ctx>> {
        self.builder.build_float_compare(float_predicate(predicate), x, y, "")
    }

    /// `condition ? x : y` in every lane.
    pub(super) fn select(
        &self,
        condition: VectorValue<'ctx>,
        x: VectorValue<'ctx>,
        y: VectorValue<'ctx>,
    ) -> Emit<VectorValue<'ctx>> {
        Ok(self.builder.build_select(condition, x, y, "")?.into_vector_value())
    }

    /// `(x keeps first y || isnan(x)) ? x : y`.
    fn min_max(
        &mut self,
        keep_first: Predicate,
        x: VectorValue<'ctx>,
        y: VectorValue<'ctx>,
    ) -> Emit<VectorValue<'ctx>> {
        let keeps = self.compare(keep_first, x, y)?;
        let is_nan = self.builder.build_float_compare(FloatPredicate::UNO, x, x, "")?;
        let first = self.builder.build_or(keeps, is_nan, "")?;
        self.select(first, x, y)
    }

    /// A binary operation of the op table.
    pub(super) fn binary(
        &mut self,
        op: BinaryOp,
        x: VectorValue<'ctx>,
        y: VectorValue<'ctx>,
    ) -> Emit<VectorValue<'ctx>> {
        self.lower(op.lowering(), op.mnemonic(), &[x, y])
    }

    /// An intrinsic overloaded on the type of its operands.
    pub(super) fn intrinsic(&mut self, name: &str, operands: &[VectorValue<'ctx>]) -> Emit<VectorValue<'ctx>> {
        let function = self.intrinsic_function(name, &[self.register().into()]);
        let arguments: Vec<BasicMetadataValueEnum<'ctx>> = operands.iter().map(|&operand| operand.into()).collect();
        let call = self.builder.build_call(function, &arguments, "")?;
        Ok(vector_result(call.try_as_basic_value().basic()))
    }

    pub(super) fn intrinsic_function(&self, name: &str, types: &[BasicTypeEnum<'ctx>]) -> FunctionValue<'ctx> {
        Intrinsic::find(name)
            .and_then(|intrinsic| intrinsic.get_declaration(self.module, types))
            .expect("LLVM has every intrinsic that the op table and this emitter name")
    }

    /// A vector math kernel that takes and returns registers.
    fn math_call(&mut self, mnemonic: &str, operands: &[VectorValue<'ctx>]) -> Emit<VectorValue<'ctx>> {
        align_stack(self.function, self.target);
        let name = fuseline_vecprims::math_symbol(mnemonic, self.lanes() as usize);
        let register = self.register();
        let parameters = vec![register.into(); operands.len()];
        let signature = inkwell::types::BasicType::fn_type(&register, &parameters, false);
        let function = self.primitive(&name, signature);
        let arguments: Vec<BasicMetadataValueEnum<'ctx>> = operands.iter().map(|&operand| operand.into()).collect();
        let call = self.builder.build_call(function, &arguments, "")?;
        Ok(vector_result(call.try_as_basic_value().basic()))
    }

    /// Runs postfix steps over a stack of values.
    fn expand(&mut self, steps: &[Step], operands: &[VectorValue<'ctx>]) -> Emit<VectorValue<'ctx>> {
        let mut stack: Vec<VectorValue<'ctx>> = Vec::new();
        for step in steps {
            let (arity, lowering, mnemonic) = match *step {
                Step::Arg(position) => {
                    stack.push(operands[usize::from(position)]);
                    continue;
                }
                Step::Const(value) => {
                    stack.push(self.constant(value));
                    continue;
                }
                Step::Unary(op) => (1, op.lowering(), op.mnemonic()),
                Step::Binary(op) => (2, op.lowering(), op.mnemonic()),
                Step::Ternary(op) => (3, op.lowering(), op.mnemonic()),
            };
            let arguments = stack.split_off(stack.len() - arity);
            stack.push(self.lower(lowering, mnemonic, &arguments)?);
        }
        Ok(stack.pop().expect("the op table's tests check that expansions leave one value"))
    }
}

fn vector_result(value: Option<BasicValueEnum<'_>>) -> VectorValue<'_> {
    value.expect("the function returns a register").into_vector_value()
}
