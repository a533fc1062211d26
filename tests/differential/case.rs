//! Random DAGs with inputs: generation from a seed, construction, and shrinking of failures.

use fuseline_ir::hop::{HopDag, HopId, HopOp, ReorgOp};
use fuseline_ir::ops::{AggOp, BinaryOp, Direction, TernaryOp, UnaryOp};
use fuseline_ir::{DataType, SizeInfo, Value};
use fuseline_matrix::{Csr, Dense, MatrixBlock};
use rand::seq::IndexedRandom;
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::fmt;

/// Which values leaves hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stratum {
    /// Small integers, and operations that keep integers: all plans agree bit for bit.
    IntegerExact,
    /// Doubles around 1.
    Float,
    /// Doubles with NaN, infinities, zeros of either sign and subnormals among them.
    NonFinite,
}

/// A leaf of a DAG.
#[derive(Clone, Debug)]
pub enum Leaf {
    Matrix(MatrixBlock),
    Scalar(f64),
    Literal(f64),
}

/// An operator on earlier values: leaves first, then the results of earlier steps.
#[derive(Clone, Debug)]
pub struct Step {
    pub op: HopOp,
    pub inputs: Vec<usize>,
}

/// A DAG with its inputs.
#[derive(Clone, Debug)]
pub struct Case {
    pub stratum: Stratum,
    pub leaves: Vec<Leaf>,
    pub steps: Vec<Step>,
    pub outputs: Vec<usize>,
}

impl Case {
    /// The case of this seed.
    pub fn generate(seed: u64) -> Case {
        Generator::new(seed).case()
    }

    /// The DAG; outputs are named `o0`, `o1`, ...; leaves `v0`, `v1`, ...
    pub fn dag(&self) -> Option<HopDag> {
        let mut dag = HopDag::new();
        let mut ids: Vec<HopId> = Vec::new();
        for (index, leaf) in self.leaves.iter().enumerate() {
            ids.push(match leaf {
                Leaf::Matrix(block) => {
                    let size = SizeInfo { nnz: Some(block.nnz() as u64), ..block.size() };
                    dag.read_matrix(&format!("v{index}"), size)
                }
                Leaf::Scalar(_) => dag.read_scalar(&format!("v{index}")),
                Leaf::Literal(value) => dag.literal(Value::F64(*value)),
            });
        }
        for step in &self.steps {
            let inputs: Vec<HopId> = step.inputs.iter().map(|&input| ids[input]).collect();
            ids.push(dag.add(step.op.clone(), &inputs, None).ok()?);
        }
        for (index, &output) in self.outputs.iter().enumerate() {
            dag.write(&format!("o{index}"), ids[output]);
        }
        Some(dag)
    }

    /// The matrix and scalar inputs by name.
    pub fn inputs(&self) -> impl Iterator<Item = (String, &Leaf)> {
        let named = self.leaves.iter().enumerate().map(|(index, leaf)| (format!("v{index}"), leaf));
        named.filter(|(_, leaf)| !matches!(leaf, Leaf::Literal(_)))
    }

    /// The smallest case found that still fails.
    pub fn shrink(self, fails: &mut dyn FnMut(&Case) -> bool) -> Case {
        let mut case = self;
        loop {
            let smaller = case.reductions().into_iter().find(|candidate| candidate.dag().is_some() && fails(candidate));
            match smaller {
                Some(candidate) => case = candidate,
                None => return case,
            }
        }
    }

    /// Cases with one output less, an output moved to an operand, or an operator skipped.
    fn reductions(&self) -> Vec<Case> {
        let mut candidates = Vec::new();
        let with_outputs = |outputs: Vec<usize>| Case { outputs, ..self.clone() }.without_dead_steps();
        if self.outputs.len() > 1 {
            candidates.extend(self.outputs.iter().map(|&output| with_outputs(vec![output])));
        }
        for (position, &output) in self.outputs.iter().enumerate() {
            let Some(step) = output.checked_sub(self.leaves.len()) else { continue };
            for &input in &self.steps[step].inputs {
                let mut outputs = self.outputs.clone();
                outputs[position] = input;
                if input >= self.leaves.len() {
                    candidates.push(with_outputs(outputs));
                }
            }
        }
        for skipped in 0..self.steps.len() {
            for &replacement in &self.steps[skipped].inputs {
                let mut case = self.clone();
                let index = self.leaves.len() + skipped;
                for step in &mut case.steps[skipped + 1..] {
                    step.inputs.iter_mut().filter(|input| **input == index).for_each(|input| *input = replacement);
                }
                if !case.outputs.contains(&index) {
                    candidates.push(case.without_dead_steps());
                }
            }
        }
        candidates.retain(|case| case.steps.len() < self.steps.len() || case.outputs.len() < self.outputs.len());
        candidates
    }

    /// Drops the steps that no output needs.
    fn without_dead_steps(mut self) -> Case {
        let first = self.leaves.len();
        let mut live = vec![false; self.steps.len()];
        for &output in self.outputs.iter().filter(|&&output| output >= first) {
            live[output - first] = true;
        }
        for step in (0..self.steps.len()).rev() {
            if live[step] {
                self.steps[step].inputs.iter().filter(|&&input| input >= first).for_each(|&input| live[input - first] = true);
            }
        }
        let mut renumbered: Vec<usize> = (0..first).collect();
        let mut next = first;
        for &is_live in &live {
            renumbered.push(next);
            next += usize::from(is_live);
        }
        let mut index = 0;
        self.steps.retain(|_| {
            index += 1;
            live[index - 1]
        });
        self.steps.iter_mut().flat_map(|step| &mut step.inputs).for_each(|input| *input = renumbered[*input]);
        self.outputs.iter_mut().for_each(|output| *output = renumbered[*output]);
        self
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?}", self.stratum)?;
        for (index, leaf) in self.leaves.iter().enumerate() {
            match leaf {
                Leaf::Matrix(block) => {
                    let format = if block.is_sparse() { "csr" } else { "dense" };
                    writeln!(f, "v{index}: {format} {} x {}, {} non-zeros", block.rows(), block.cols(), block.nnz())?;
                }
                Leaf::Scalar(value) => writeln!(f, "v{index}: scalar {value:?}")?,
                Leaf::Literal(value) => writeln!(f, "v{index}: literal {value:?}")?,
            }
        }
        for (index, step) in self.steps.iter().enumerate() {
            writeln!(f, "v{}: {} {:?}", self.leaves.len() + index, step.op.label(), step.inputs)?;
        }
        write!(f, "outputs {:?}", self.outputs)
    }
}

const SIZES: [usize; 14] = [0, 1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65, 100, 1000];
const SPARSITIES: [f64; 5] = [0.0, 0.01, 0.1, 0.39, 1.0];

struct Generator {
    random: Pcg64Mcg,
    stratum: Stratum,
    dag: HopDag,
    ids: Vec<HopId>,
    case: Case,
}

impl Generator {
    fn new(seed: u64) -> Self {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let stratum = match random.random_range(0..10) {
            0..6 => Stratum::IntegerExact,
            6..9 => Stratum::Float,
            _ => Stratum::NonFinite,
        };
        let case = Case { stratum, leaves: Vec::new(), steps: Vec::new(), outputs: Vec::new() };
        Generator { random, stratum, dag: HopDag::new(), ids: Vec::new(), case }
    }

    fn case(mut self) -> Case {
        self.leaves();
        let wanted = self.random.random_range(1..=20);
        let mut attempts = 0;
        while self.case.steps.len() < wanted && attempts < 400 {
            attempts += 1;
            let step = self.step();
            self.try_add(step);
        }
        self.choose_outputs();
        self.case
    }

    fn value(&mut self) -> f64 {
        match self.stratum {
            Stratum::IntegerExact => f64::from(self.random.random_range(-3_i32..=3)),
            Stratum::Float => self.random.random_range(-2.0..2.0),
            Stratum::NonFinite => match self.random.random_range(0..12) {
                0 => f64::NAN,
                1 => f64::INFINITY,
                2 => f64::NEG_INFINITY,
                3 => -0.0,
                4 => 5e-324,
                5 => 1e300,
                _ => self.random.random_range(-2.0..2.0),
            },
        }
    }

    fn matrix(&mut self, rows: usize, cols: usize) -> Leaf {
        let sparsity = *SPARSITIES.choose(&mut self.random).expect("sparsities");
        let is_dense = self.random.random_bool(0.5);
        let cells: Vec<f64> = (0..rows * cols)
            .map(|_| if self.random.random::<f64>() < sparsity || is_dense && sparsity > 0.3 { self.value() } else { 0.0 })
            .collect();
        let dense = Dense::from_vec(rows, cols, cells);
        Leaf::Matrix(if is_dense { dense.into() } else { Csr::from_dense(&dense).into() })
    }

    fn leaves(&mut self) {
        let mut pick = |limit: usize| loop {
            let size = *SIZES.choose(&mut self.random).expect("sizes");
            if size <= limit {
                return size;
            }
        };
        let m = pick(1000);
        let n = pick(if m > 100 { 65 } else { 1000 });
        let k = [1, 2, 4, 7][self.random.random_range(0..4)];
        let shapes = [(m, n), (m, n), (m, n), (m, 1), (1, n), (n, k), (m, k), (n, 1), (1, 1), (n, m)];
        let count = self.random.random_range(2..=6);
        let first = self.matrix(m, n);
        self.push_leaf(first);
        for _ in 1..count {
            let (rows, cols) = *shapes.choose(&mut self.random).expect("shapes");
            let leaf = self.matrix(rows, cols);
            self.push_leaf(leaf);
        }
        let scalar = self.value();
        self.push_leaf(Leaf::Scalar(scalar));
        for literal in [0.0, 1.0, 2.0, -1.0] {
            self.push_leaf(Leaf::Literal(literal));
        }
    }

    fn push_leaf(&mut self, leaf: Leaf) {
        self.case.leaves.push(leaf);
        let prefix = Case { steps: Vec::new(), outputs: Vec::new(), ..self.case.clone() };
        self.dag = prefix.dag().expect("leaves form a DAG");
        self.ids = self.dag.hops.keys().collect();
    }

    /// A matrix value, the later ones more often.
    fn any_matrix(&mut self) -> usize {
        loop {
            let index = self.random.random_range(0..self.ids.len());
            let index = index.max(self.random.random_range(0..self.ids.len()));
            if self.dag[self.ids[index]].data_type == DataType::Matrix {
                return index;
            }
        }
    }

    fn any(&mut self) -> usize {
        self.random.random_range(0..self.ids.len())
    }

    fn unary(&mut self) -> UnaryOp {
        let exact = [UnaryOp::Abs, UnaryOp::Neg, UnaryOp::Round, UnaryOp::Floor, UnaryOp::Ceil, UnaryOp::Sign, UnaryOp::Not, UnaryOp::Pow2];
        let all = if self.stratum == Stratum::IntegerExact { &exact[..] } else { UnaryOp::ALL };
        *all.choose(&mut self.random).expect("operations")
    }

    fn binary(&mut self) -> BinaryOp {
        let inexact = [BinaryOp::Div, BinaryOp::Pow, BinaryOp::IntDiv, BinaryOp::Modulus, BinaryOp::Minus1Mult];
        loop {
            // Products and sums are what templates are about.
            let op = match self.random.random_range(0..3) {
                0 => BinaryOp::Mult,
                1 => [BinaryOp::Plus, BinaryOp::Minus][self.random.random_range(0..2)],
                _ => *BinaryOp::ALL.choose(&mut self.random).expect("operations"),
            };
            if self.stratum != Stratum::IntegerExact || !inexact.contains(&op) {
                return op;
            }
        }
    }

    fn step(&mut self) -> Step {
        match self.random.random_range(0..20) {
            0..3 => Step { op: HopOp::Unary(self.unary()), inputs: vec![self.any_matrix()] },
            3..10 => {
                let mut inputs = vec![self.any_matrix(), self.any()];
                if self.random.random_bool(0.3) {
                    inputs.reverse();
                }
                Step { op: HopOp::Binary(self.binary()), inputs }
            }
            10 => {
                let op = *TernaryOp::ALL.choose(&mut self.random).expect("operations");
                Step { op: HopOp::Ternary(op), inputs: vec![self.any_matrix(), self.any(), self.any()] }
            }
            11..15 => {
                let last = if self.stratum == Stratum::IntegerExact { AggOp::ALL.len() - 1 } else { AggOp::ALL.len() };
                let op = AggOp::ALL[self.random.random_range(0..last)];
                let direction = *Direction::ALL.choose(&mut self.random).expect("directions");
                Step { op: HopOp::AggUnary(op, direction), inputs: vec![self.any_matrix()] }
            }
            15..18 => Step { op: HopOp::MatMul, inputs: vec![self.any_matrix(), self.any_matrix()] },
            _ => Step { op: HopOp::Reorg(ReorgOp::Transpose), inputs: vec![self.any_matrix()] },
        }
    }

    /// Appends the step if its shapes fit and its result stays small.
    fn try_add(&mut self, step: Step) {
        let inputs: Vec<HopId> = step.inputs.iter().map(|&input| self.ids[input]).collect();
        let Ok(id) = self.dag.add(step.op.clone(), &inputs, None) else { return };
        let hop = &self.dag[id];
        if hop.is_matrix() && hop.size.cells().is_none_or(|cells| cells > 70_000) {
            self.dag.hops = self.dag.hops.iter().take(self.ids.len()).map(|(_, hop)| hop.clone()).collect();
            return;
        }
        self.ids.push(id);
        self.case.steps.push(step);
    }

    /// Every value that nothing consumes, at most four, and sometimes one that something does.
    fn choose_outputs(&mut self) {
        let first = self.case.leaves.len();
        let mut used = vec![false; self.ids.len()];
        self.case.steps.iter().flat_map(|step| &step.inputs).for_each(|&input| used[input] = true);
        let mut outputs: Vec<usize> = (first..self.ids.len()).filter(|&index| !used[index]).collect();
        while outputs.len() > 4 {
            outputs.remove(self.random.random_range(0..outputs.len()));
        }
        if outputs.len() < 4 && self.ids.len() > first && self.random.random_bool(0.2) {
            let extra = self.random.random_range(first..self.ids.len());
            if !outputs.contains(&extra) {
                outputs.push(extra);
            }
        }
        self.case.outputs = outputs;
        self.case = std::mem::replace(&mut self.case, Case { stratum: self.stratum, leaves: vec![], steps: vec![], outputs: vec![] }).without_dead_steps();
    }
}
