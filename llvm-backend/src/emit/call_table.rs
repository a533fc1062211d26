//! Long sequences of calls: a table with a line for each, and a loop that makes the calls. LLVM takes its time for every
//! instruction, of which a call has a dozen, and next to none for a line of numbers.
//!
//! Calls of one *kind* differ in addresses alone, so the loop has a block for each kind, with its only call. A line names
//! the kind, and for each address its base, by the place in a list on the stack, and the cells behind that:
//!
//! ```text
//! line = [kind, base, cells, base, cells, ...]
//! ```

use super::calls::{Argument, Arguments, Call};
use super::memory::CellAddress;
use super::{Emit, Emitter};
use fuseline_vecprims::Primitive;
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::module::Linkage;
use inkwell::types::{ArrayType, IntType};
use inkwell::values::{IntValue, PointerValue};
use std::collections::HashMap;
use std::hash::Hash;

/// The least number of calls that become a table: fewer take little time, and are easier to read.
const LEAST_CALLS: usize = 64;

/// The least number of calls for each kind: where fewer are alike, the table's loop would be as long as they are.
const LEAST_CALLS_PER_KIND: usize = 4;

/// What calls that differ in addresses alone have in common.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Kind<'ctx> {
    primitive: Primitive,
    /// The numbers among its arguments; lines have the others.
    numbers: Vec<Option<IntValue<'ctx>>>,
}

impl<'ctx> Kind<'ctx> {
    fn of(call: &Call<'ctx>) -> Self {
        let number = |argument: &Argument<'ctx>| match *argument {
            Argument::Number(number) => Some(number),
            Argument::Address(_) => None,
        };
        Kind { primitive: call.primitive, numbers: call.arguments.values.iter().map(number).collect() }
    }
}

/// Different values, numbered as they come.
struct Numbered<T> {
    list: Vec<T>,
    numbers: HashMap<T, u64>,
}

impl<T: Clone + Eq + Hash> Numbered<T> {
    fn new() -> Self {
        Numbered { list: Vec::new(), numbers: HashMap::new() }
    }

    fn number(&mut self, value: T) -> u64 {
        *self.numbers.entry(value).or_insert_with_key(|value| {
            self.list.push(value.clone());
            self.list.len() as u64 - 1
        })
    }
}

/// Calls in order.
struct CallTable<'ctx> {
    kinds: Numbered<Kind<'ctx>>,
    bases: Numbered<PointerValue<'ctx>>,
    lines: Vec<Vec<u64>>,
}

impl<'ctx> CallTable<'ctx> {
    fn new(calls: &[Call<'ctx>]) -> Self {
        let mut table = CallTable { kinds: Numbered::new(), bases: Numbered::new(), lines: Vec::new() };
        calls.iter().for_each(|call| table.push(call));
        table
    }

    fn push(&mut self, call: &Call<'ctx>) {
        let mut line = vec![self.kinds.number(Kind::of(call))];
        for argument in &call.arguments.values {
            if let Argument::Address(CellAddress { base, cells }) = *argument {
                line.extend([self.bases.number(base), cells.into()]);
            }
        }
        self.lines.push(line);
    }

    /// Whether it is shorter than its calls one by one.
    fn is_worth_its_loop(&self) -> bool {
        self.lines.len() >= LEAST_CALLS.max(LEAST_CALLS_PER_KIND * self.kinds.list.len())
    }

    /// Numbers per line, of which calls with few addresses leave some unused.
    fn width(&self) -> usize {
        self.lines.iter().map(Vec::len).max().unwrap_or(0)
    }
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// Makes calls in order, one by one or by a table.
    pub(super) fn call_all(&mut self, calls: &[Call<'ctx>]) -> Emit<()> {
        let table = CallTable::new(calls);
        if table.is_worth_its_loop() {
            return self.walk(&table);
        }
        calls.iter().try_for_each(|call| self.make(call))
    }

    /// Makes the calls of a table.
    fn walk(&mut self, table: &CallTable<'ctx>) -> Emit<()> {
        let (lines, line_type) = self.lines(table);
        let bases = self.bases(table)?;

        let before = self.current_block();
        let head = self.new_block("call");
        let blocks: Vec<BasicBlock<'ctx>> =
            table.kinds.list.iter().map(|kind| self.new_block(&kind.primitive.to_string())).collect();
        let [made, done] = ["made", "calls_done"].map(|name| self.new_block(name));
        self.builder.build_unconditional_branch(head)?;
        self.builder.position_at_end(head);
        let index = self.builder.build_phi(self.i64(), "call")?;
        index.add_incoming(&[(&self.index(0), before)]);
        let call = index.as_basic_value().into_int_value();
        // SAFETY: the loop ends with the last line.
        let line = unsafe { self.builder.build_in_bounds_gep(line_type, lines, &[call], "line")? };
        self.branch_to_kind(line, &blocks)?;

        for (kind, &block) in table.kinds.list.iter().zip(&blocks) {
            self.builder.position_at_end(block);
            self.call_of_line(kind, line, bases)?;
            self.builder.build_unconditional_branch(made)?;
        }

        self.builder.position_at_end(made);
        let next = self.builder.build_int_add(call, self.index(1), "")?;
        index.add_incoming(&[(&next, made)]);
        let count = self.index(table.lines.len() as u64);
        let more = self.builder.build_int_compare(IntPredicate::ULT, next, count, "")?;
        self.builder.build_conditional_branch(more, head, done)?;
        self.builder.position_at_end(done);
        Ok(())
    }

    /// The lines as a constant, with their type.
    fn lines(&self, table: &CallTable<'ctx>) -> (PointerValue<'ctx>, ArrayType<'ctx>) {
        let (number, width) = (self.number_in_line(), table.width());
        let lines = table.lines.iter().map(|line| {
            let numbers = line.iter().copied().chain(std::iter::repeat(0)).take(width);
            number.const_array(&numbers.map(|value| number.const_int(value, false)).collect::<Vec<_>>())
        });
        let line_type = number.array_type(width as u32);
        let lines = line_type.const_array(&lines.collect::<Vec<_>>());
        let global = self.module.add_global(lines.get_type(), None, "calls");
        global.set_initializer(&lines);
        global.set_constant(true);
        global.set_linkage(Linkage::Private);
        (global.as_pointer_value(), line_type)
    }

    /// The type of numbers in lines.
    fn number_in_line(&self) -> IntType<'ctx> {
        self.context.i32_type()
    }

    /// The bases as a list on the stack.
    fn bases(&mut self, table: &CallTable<'ctx>) -> Emit<PointerValue<'ctx>> {
        let list = self.pointer().array_type(table.bases.list.len() as u32);
        let list = self.in_prologue(|emitter| emitter.builder.build_alloca(list, "bases"))?;
        for (place, &base) in table.bases.list.iter().enumerate() {
            let element = self.base(list, self.index(place as u64))?;
            self.builder.build_store(element, base)?;
        }
        Ok(list)
    }

    /// Where a base is in their list.
    fn base(&self, list: PointerValue<'ctx>, place: IntValue<'ctx>) -> Emit<PointerValue<'ctx>> {
        // SAFETY: lines name nothing but places of the list.
        unsafe { self.builder.build_in_bounds_gep(self.pointer(), list, &[place], "") }
    }

    /// Branches to the block of the kind that a line names.
    fn branch_to_kind(&self, line: PointerValue<'ctx>, blocks: &[BasicBlock<'ctx>]) -> Emit<()> {
        let (last, others) = blocks.split_last().expect("a table has a line");
        let kind = self.load_from_line(line, 0)?;
        let cases: Vec<_> = others.iter().enumerate().map(|(kind, &block)| (self.index(kind as u64), block)).collect();
        self.builder.build_switch(kind, *last, &cases).map(|_| ())
    }

    /// A call of this kind with the addresses of a line.
    fn call_of_line(&mut self, kind: &Kind<'ctx>, line: PointerValue<'ctx>, bases: PointerValue<'ctx>) -> Emit<()> {
        let mut arguments = Arguments::default();
        let mut at = 1;
        for number in &kind.numbers {
            arguments = match *number {
                Some(number) => arguments.with(number),
                None => {
                    let (place, cells) = (self.load_from_line(line, at)?, self.load_from_line(line, at + 1)?);
                    at += 2;
                    let base = self.builder.build_load(self.pointer(), self.base(bases, place)?, "")?;
                    arguments.with(self.offset(base.into_pointer_value(), cells)?)
                }
            };
        }
        self.call_primitive(kind.primitive, &arguments)
    }

    /// A number of a line.
    fn load_from_line(&self, line: PointerValue<'ctx>, at: u64) -> Emit<IntValue<'ctx>> {
        // SAFETY: lines are as wide as those of any kind.
        let address = unsafe { self.builder.build_in_bounds_gep(self.number_in_line(), line, &[self.index(at)], "")? };
        let number = self.builder.build_load(self.number_in_line(), address, "")?.into_int_value();
        self.builder.build_int_z_extend(number, self.i64(), "")
    }
}
