//! Blocks of scalars alone, such as the counters and conditions of loops: compiled once for the types that they meet,
//! they run without anything that matrices need (memory, threads, times of operators).

use crate::scalars;
use crate::value::{RuntimeValue, Variables};
use cranelift_entity::SecondaryMap;
use fuseline_ir::hop::{CastOp, Hop, HopDag, HopId, HopOp, Span};
use fuseline_ir::ops::{BinaryOp, TernaryOp, UnaryOp};
use fuseline_ir::{ScalarType, Value};

/// The steps of a block whose operators all give numbers or truth values, and which has no effects.
#[derive(Debug)]
pub(crate) struct ScalarBlock {
    /// All variables that the block reads as it is written, with the types that it is for: compilation leaves some of
    /// them out because of what they are, such as a matrix of which only the dimensions are asked.
    reads: Vec<(String, ScalarType)>,
    /// Each gives one value, of those before it.
    steps: Vec<Step>,
    outputs: Vec<ScalarOutput>,
    /// How many steps compute something.
    operations: u64,
}

/// A variable that a block assigns, or the value of a condition.
#[derive(Debug)]
pub(crate) struct ScalarOutput {
    pub(crate) name: String,
    /// Where it is computed.
    pub(crate) span: Option<Span>,
    /// The variable that it copies.
    pub(crate) copied: Option<String>,
    /// The step that gives its value.
    pub(crate) step: usize,
}

/// An operator on the values of these steps.
#[derive(Debug)]
enum Step {
    /// A variable.
    Read(String),
    Literal(Value),
    Unary(UnaryOp, usize),
    Binary(BinaryOp, [usize; 2]),
    Ternary(TernaryOp, [usize; 3]),
    Cast(CastOp, usize),
}

impl ScalarBlock {
    /// The steps of a compiled DAG for variables of the types that these have; `None` where it, or what it was compiled
    /// from, is about more than scalars.
    pub(crate) fn of(dag: &HopDag, sized: &HopDag, variables: &Variables) -> Option<ScalarBlock> {
        if !dag.effects.is_empty() {
            return None;
        }
        let number = |name: &str| match variables.get(name) {
            Some(RuntimeValue::Scalar(value)) => value.as_f64().map(|_| (name.to_owned(), value.scalar_type())),
            _ => None,
        };
        let reads = sized.reads().map(|(_, name)| number(name)).collect::<Option<Vec<_>>>()?;
        let mut step_of = SecondaryMap::<HopId, usize>::new();
        let mut steps = Vec::with_capacity(dag.hops.len());
        for (id, hop) in dag.hops.iter() {
            step_of[id] = steps.len();
            steps.push(step(hop, &step_of)?);
        }
        let outputs = dag.outputs.iter().map(|output| {
            let hop = &dag[output.hop];
            let copied = match &hop.op {
                HopOp::Read(name) => Some(name.clone()),
                _ => None,
            };
            ScalarOutput { name: output.name.clone(), span: hop.span, copied, step: step_of[output.hop] }
        });
        let operations = steps.iter().filter(|step| !matches!(step, Step::Read(_) | Step::Literal(_))).count() as u64;
        Some(ScalarBlock { outputs: outputs.collect(), reads, steps, operations })
    }

    pub(crate) fn outputs(&self) -> &[ScalarOutput] {
        &self.outputs
    }

    /// How many operators it evaluates.
    pub(crate) fn operations(&self) -> u64 {
        self.operations
    }

    /// Computes the values of all steps; whether the variables have the types that the block is for, and every step has
    /// a value. Where they do not, whoever runs the block in the general way finds out why.
    pub(crate) fn compute(&self, variables: &Variables, values: &mut Vec<Value>) -> bool {
        values.clear();
        self.reads.iter().all(|read| has_type(variables, read))
            && self.steps.iter().all(|step| match step.value(variables, values) {
                Some(value) => {
                    values.push(value);
                    true
                }
                None => false,
            })
    }
}

/// Whether a variable has this type.
fn has_type(variables: &Variables, (name, scalar_type): &(String, ScalarType)) -> bool {
    match variables.get(name) {
        Some(RuntimeValue::Scalar(value)) => value.scalar_type() == *scalar_type,
        _ => false,
    }
}

/// The step of an operator.
fn step(hop: &Hop, step_of: &SecondaryMap<HopId, usize>) -> Option<Step> {
    let input = |position: usize| step_of[hop.inputs[position]];
    Some(match &hop.op {
        HopOp::Read(name) => Step::Read(name.clone()),
        HopOp::Literal(value) if value.as_f64().is_some() => Step::Literal(value.clone()),
        HopOp::Unary(op) => Step::Unary(*op, input(0)),
        HopOp::Binary(op) => Step::Binary(*op, [input(0), input(1)]),
        HopOp::Ternary(op) => Step::Ternary(*op, [input(0), input(1), input(2)]),
        HopOp::Cast(op @ (CastOp::AsScalar | CastOp::AsDouble | CastOp::AsInteger | CastOp::AsLogical)) => {
            Step::Cast(*op, input(0))
        }
        _ => return None,
    })
}

impl Step {
    fn value(&self, variables: &Variables, values: &[Value]) -> Option<Value> {
        match self {
            Step::Read(name) => match variables.get(name) {
                Some(RuntimeValue::Scalar(value)) => Some(value.clone()),
                _ => None,
            },
            Step::Literal(value) => Some(value.clone()),
            Step::Unary(op, a) => scalars::unary(*op, &values[*a]),
            Step::Binary(op, [a, b]) => scalars::binary(*op, &values[*a], &values[*b]),
            Step::Ternary(op, [a, b, c]) => scalars::ternary(*op, &values[*a], &values[*b], &values[*c]),
            Step::Cast(op, a) => scalars::cast(*op, &values[*a]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fuseline_ir::hop;

    fn block(text: &str, variables: &Variables) -> Option<ScalarBlock> {
        let (_, dag) = hop::parse(text).expect("the text is well-formed").remove(0);
        ScalarBlock::of(&dag, &dag, variables)
    }

    fn variables(named: &[(&str, RuntimeValue)]) -> Variables {
        named.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }

    #[test]
    fn values_are_those_of_operators_and_copies_tell_what_they_copy() {
        let text = "hops @block {\n  %0 = read \"i\" : i64\n  %1 = literal 2 : i64\n  %2 = plus %0, %1 : i64\n  write \"j\" %2\n  \
            write \"k\" %0\n}\n";
        let given = variables(&[("i", 40_i64.into())]);
        let block = block(text, &given).expect("scalars alone");
        let mut values = Vec::new();
        assert!(block.compute(&given, &mut values));
        let outputs = block.outputs().iter().map(|output| (output.name.as_str(), &values[output.step]));
        assert_eq!(outputs.collect::<Vec<_>>(), [("j", &Value::I64(42)), ("k", &Value::I64(40))]);
        assert_eq!(block.outputs()[1].copied.as_deref(), Some("i"));
        assert_eq!(block.operations(), 1);
        let others: [RuntimeValue; 3] = [40.0.into(), true.into(), "40".into()];
        for other in others {
            assert!(!block.compute(&variables(&[("i", other)]), &mut values), "another type");
        }
        assert!(!block.compute(&Variables::new(), &mut values), "no value");
    }

    /// Compilation knows dimensions, and leaves the matrix out.
    #[test]
    fn what_a_block_reads_as_it_is_written_counts() {
        let parse = |text: &str| hop::parse(text).expect("the text is well-formed").remove(0).1;
        let compiled = parse("hops @block {\n  %0 = literal 4 : i64\n  write \"n\" %0\n}\n");
        let written = parse("hops @block {\n  %0 = read \"X\" : f64[4x1]\n  %1 = nrow %0 : i64\n  write \"n\" %1\n}\n");
        let given = variables(&[("X", fuseline_matrix::Dense::zeros(4, 1).into())]);
        assert!(ScalarBlock::of(&compiled, &written, &given).is_none());
        let flag = parse("hops @block {\n  %0 = read \"b\" : f64\n  %1 = literal 4 : i64\n  write \"n\" %1\n}\n");
        let block = ScalarBlock::of(&compiled, &flag, &variables(&[("b", 1.0.into())])).expect("scalars alone");
        let mut values = Vec::new();
        assert!(block.compute(&variables(&[("b", 2.0.into())]), &mut values));
        assert!(!block.compute(&given, &mut values) && !block.compute(&variables(&[("b", true.into())]), &mut values));
    }

    #[test]
    fn texts_matrices_and_effects_are_no_scalars() {
        let copy = "hops @block {\n  %0 = read \"x\" : unknown\n  write \"y\" %0\n}\n";
        assert!(block(copy, &variables(&[("x", 1.0.into())])).is_some());
        assert!(block(copy, &variables(&[("x", "a text".into())])).is_none());
        assert!(block(copy, &variables(&[("x", fuseline_matrix::Dense::zeros(1, 1).into())])).is_none());
    }
}
