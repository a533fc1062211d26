//! Random cases from seeds: leaves of all formats and shapes, motifs of fused operators, random operators around them.

use crate::case::{Case, Leaf, Step, Stratum};
use fuseline_ir::DataType;
use fuseline_ir::hop::{HopDag, HopId, HopOp, NaryOp, ReorgOp};
use fuseline_ir::ops::{AggOp, BinaryOp, Direction, TernaryOp, UnaryOp};
use fuseline_matrix::{Csr, Dense};
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Extents of matrices, those around powers of two more often than none and many.
const SIZES: [usize; 23] = [0, 1, 1, 2, 7, 7, 8, 8, 9, 9, 31, 31, 32, 32, 33, 33, 63, 63, 64, 64, 65, 65, 1000];
const SPARSITIES: [f64; 6] = [0.0, 0.02, 0.1, 0.39, 1.0, 1.0];
/// No intermediate has more cells.
const MOST_CELLS: u64 = 85_000;
/// No matrix product has more multiplications.
const MOST_PRODUCTS: u64 = 1_000_000;

/// Positions of the leaves that motifs use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaves {
    /// m x n.
    pub(crate) x: usize,
    /// m x n.
    pub(crate) y: usize,
    /// m x n.
    pub(crate) z: usize,
    /// n x 1.
    pub(crate) v: usize,
    /// n x k.
    pub(crate) b: usize,
    /// m x 1.
    pub(crate) w: usize,
    /// m x k.
    pub(crate) p: usize,
    /// m x r.
    pub(crate) left_factor: usize,
    /// n x r.
    pub(crate) right_factor: usize,
    /// A scalar variable.
    pub(crate) scalar: usize,
    pub(crate) zero: usize,
    pub(crate) one: usize,
}

/// A case while it grows.
#[derive(Debug)]
pub(crate) struct Generator {
    pub(crate) random: Pcg64Mcg,
    pub(crate) leaves: Leaves,
    case: Case,
    dag: HopDag,
    ids: Vec<HopId>,
}

impl Case {
    /// The case of this seed.
    pub(crate) fn generate(seed: u64) -> Case {
        let mut generator = Generator::new(seed);
        let wanted = generator.random.random_range(1..=20);
        for _ in 0..400 {
            if generator.case.steps.len() >= wanted {
                break;
            }
            if generator.random.random_bool(0.12) {
                generator.motif();
            } else {
                generator.step();
            }
        }
        generator.finish()
    }
}

impl Generator {
    fn new(seed: u64) -> Self {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let stratum = match random.random_range(0..20) {
            0..14 => Stratum::IntegerExact,
            14..18 => Stratum::Float,
            _ => Stratum::NonFinite,
        };
        let mut case = Case { stratum, leaves: Vec::new(), steps: Vec::new(), outputs: Vec::new() };
        let leaves = leaves(&mut random, &mut case);
        let dag = case.dag().expect("leaves form a DAG");
        let ids = dag.hops.keys().collect();
        Generator { random, leaves, case, dag, ids }
    }

    pub(crate) fn stratum(&self) -> Stratum {
        self.case.stratum
    }

    fn finish(mut self) -> Case {
        self.choose_outputs();
        self.case.without_dead_steps().without_dead_leaves()
    }

    /// Appends an operator if the shapes fit and the result stays small.
    pub(crate) fn add(&mut self, op: HopOp, inputs: &[usize]) -> Option<usize> {
        let ids: Vec<HopId> = inputs.iter().map(|&input| self.ids[input]).collect();
        if matches!(op, HopOp::MatMul) {
            let (left, right) = (&self.dag[ids[0]], &self.dag[ids[1]]);
            let products = left.size.cells().zip(right.size.cols).map(|(cells, cols)| cells * cols);
            if products.is_none_or(|products| products > MOST_PRODUCTS) {
                return None;
            }
        }
        let id = self.dag.add(op.clone(), &ids, None).ok()?;
        let hop = &self.dag[id];
        if hop.is_matrix() && hop.size.cells().is_none_or(|cells| cells > MOST_CELLS) {
            // The operator stays in this DAG of the generator, unused.
            return None;
        }
        self.ids.push(id);
        self.case.steps.push(Step { op, inputs: inputs.to_vec() });
        Some(self.ids.len() - 1)
    }

    pub(crate) fn unary(&mut self, op: UnaryOp, x: usize) -> Option<usize> {
        self.add(HopOp::Unary(op), &[x])
    }

    pub(crate) fn binary(&mut self, op: BinaryOp, x: usize, y: usize) -> Option<usize> {
        self.add(HopOp::Binary(op), &[x, y])
    }

    pub(crate) fn aggregate(&mut self, op: AggOp, direction: Direction, x: usize) -> Option<usize> {
        self.add(HopOp::AggUnary(op, direction), &[x])
    }

    pub(crate) fn product(&mut self, x: usize, y: usize) -> Option<usize> {
        self.add(HopOp::MatMul, &[x, y])
    }

    pub(crate) fn transpose(&mut self, x: usize) -> Option<usize> {
        self.add(HopOp::Reorg(ReorgOp::Transpose), &[x])
    }

    /// A leaf or result, results and later ones more often.
    fn any(&mut self) -> usize {
        let first = self.random.random_range(0..self.ids.len());
        first.max(self.random.random_range(0..self.ids.len()))
    }

    fn any_matrix(&mut self) -> usize {
        loop {
            let index =
                if self.random.random_bool(0.3) { self.random.random_range(0..self.ids.len()) } else { self.any() };
            if self.dag[self.ids[index]].data_type == DataType::Matrix {
                return index;
            }
        }
    }

    fn rows_and_cols(&self, index: usize) -> (u64, u64) {
        self.dag[self.ids[index]].size.known_dims().expect("sizes are known")
    }

    /// A random operation that stays within the stratum.
    pub(crate) fn any_unary(&mut self) -> UnaryOp {
        const EXACT: [UnaryOp; 10] = [
            UnaryOp::Abs,
            UnaryOp::Neg,
            UnaryOp::Round,
            UnaryOp::Floor,
            UnaryOp::Ceil,
            UnaryOp::Sign,
            UnaryOp::Sign,
            UnaryOp::Not,
            UnaryOp::Sprop,
            UnaryOp::Pow2,
        ];
        loop {
            let all = if self.stratum() == Stratum::IntegerExact { &EXACT[..] } else { UnaryOp::ALL };
            let op = *all.choose(&mut self.random).expect("operations");
            if !(matches!(op, UnaryOp::Log | UnaryOp::Sqrt) && self.avoids_nan()) {
                return op;
            }
        }
    }

    /// Whether to draw again instead of an operation that makes NaN of numbers: such cells soon say nothing.
    fn avoids_nan(&mut self) -> bool {
        self.random.random_bool(0.7)
    }

    /// A random operation that stays within the stratum; products and sums are what templates are about.
    pub(crate) fn any_binary(&mut self) -> BinaryOp {
        const INEXACT: [BinaryOp; 4] = [BinaryOp::Div, BinaryOp::Pow, BinaryOp::IntDiv, BinaryOp::Modulus];
        loop {
            let op = match self.random.random_range(0..3) {
                0 => BinaryOp::Mult,
                1 => *[BinaryOp::Plus, BinaryOp::Minus].choose(&mut self.random).expect("operations"),
                _ => *BinaryOp::ALL.choose(&mut self.random).expect("operations"),
            };
            let is_suitable = !INEXACT.contains(&op) || self.stratum() != Stratum::IntegerExact && !self.avoids_nan();
            if is_suitable {
                return op;
            }
        }
    }

    fn any_aggregate(&mut self) -> AggOp {
        let exact = [AggOp::Sum, AggOp::Sum, AggOp::SumSq, AggOp::Min, AggOp::Max];
        let all = if self.stratum() == Stratum::IntegerExact { &exact[..] } else { AggOp::ALL };
        *all.choose(&mut self.random).expect("operations")
    }

    /// One random operator, or none where its inputs do not fit.
    fn step(&mut self) -> Option<usize> {
        match self.random.random_range(0..42) {
            0..6 => {
                let (op, x) = (self.any_unary(), self.any_matrix());
                self.unary(op, x)
            }
            6..20 => {
                let (op, mut x, mut y) = (self.any_binary(), self.any_matrix(), self.any());
                if self.random.random_bool(0.3) {
                    std::mem::swap(&mut x, &mut y);
                }
                self.binary(op, x, y)
            }
            20..22 => {
                let op = *TernaryOp::ALL.choose(&mut self.random).expect("operations");
                let inputs = [self.any_matrix(), self.any(), self.any()];
                self.add(HopOp::Ternary(op), &inputs)
            }
            22..30 => {
                let (op, x) = (self.any_aggregate(), self.any_matrix());
                let direction = *Direction::ALL.choose(&mut self.random).expect("directions");
                self.aggregate(op, direction, x)
            }
            30..36 => {
                let (x, y) = (self.any_matrix(), self.any_matrix());
                self.product(x, y)
            }
            36..40 => {
                let x = self.any_matrix();
                self.transpose(x)
            }
            40 => self.range(),
            _ => {
                let op = *[NaryOp::Cbind, NaryOp::Rbind].choose(&mut self.random).expect("operations");
                let inputs = [self.any_matrix(), self.any_matrix()];
                self.add(HopOp::Nary(op), &inputs)
            }
        }
    }

    /// All rows of the first one or two columns of a matrix with as many rows as X.
    fn range(&mut self) -> Option<usize> {
        let matrix = self.any_matrix();
        let (rows, cols) = self.rows_and_cols(matrix);
        let literal = |value: u64| {
            let wanted = value as f64;
            self.case.leaves.iter().position(|leaf| matches!(leaf, Leaf::Literal(value) if *value == wanted))
        };
        let (last_row, last_col) = (literal(rows)?, literal(cols.min(2))?);
        if rows == 0 || cols == 0 {
            return None;
        }
        self.add(HopOp::Index, &[matrix, self.leaves.one, last_row, self.leaves.one, last_col])
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
    }
}

fn value(random: &mut Pcg64Mcg, stratum: Stratum) -> f64 {
    match stratum {
        Stratum::IntegerExact => f64::from(random.random_range(-3_i32..=3)),
        Stratum::Float => random.random_range(-2.0..2.0),
        Stratum::NonFinite => match random.random_range(0..60) {
            0 => f64::NAN,
            1 => f64::INFINITY,
            2 => f64::NEG_INFINITY,
            3..6 => -0.0,
            6..9 => 5e-324,
            9 => 1e300,
            _ => random.random_range(-2.0..2.0),
        },
    }
}

fn matrix(random: &mut Pcg64Mcg, stratum: Stratum, rows: usize, cols: usize) -> Leaf {
    let sparsity = *SPARSITIES.choose(random).expect("sparsities");
    let is_sparse = random.random_bool(0.4);
    let cell = |random: &mut Pcg64Mcg| if random.random::<f64>() < sparsity { value(random, stratum) } else { 0.0 };
    let cells: Vec<f64> = (0..rows * cols).map(|_| cell(random)).collect();
    let dense = Dense::from_vec(rows, cols, cells);
    Leaf::Matrix(if is_sparse { Csr::from_dense(&dense).into() } else { dense.into() })
}

fn extents(random: &mut Pcg64Mcg) -> (usize, usize) {
    if random.random_bool(0.01) {
        // Beyond the usual floors of Outer.
        return (random.random_range(257..290), random.random_range(257..290));
    }
    loop {
        let mut size = || *SIZES.choose(random).expect("sizes");
        let (m, n) = (size(), size());
        if m * n <= 40_000 {
            return (m, n);
        }
    }
}

/// All leaves that motifs need; what nothing uses is dropped in the end.
fn leaves(random: &mut Pcg64Mcg, case: &mut Case) -> Leaves {
    let (m, n) = extents(random);
    let k = *[1, 2, 4, 7].choose(random).expect("sizes");
    let r = *[1, 2, 8, 9].choose(random).expect("sizes");
    let stratum = case.stratum;
    let mut push = |leaf: Leaf| {
        case.leaves.push(leaf);
        case.leaves.len() - 1
    };
    let leaves = Leaves {
        x: push(matrix(random, stratum, m, n)),
        y: push(matrix(random, stratum, m, n)),
        z: push(matrix(random, stratum, m, n)),
        v: push(matrix(random, stratum, n, 1)),
        b: push(matrix(random, stratum, n, k)),
        w: push(matrix(random, stratum, m, 1)),
        p: push(matrix(random, stratum, m, k)),
        left_factor: push(matrix(random, stratum, m, r)),
        right_factor: push(matrix(random, stratum, n, r)),
        scalar: push(Leaf::Scalar(value(random, stratum))),
        zero: push(Leaf::Literal(0.0)),
        one: push(Leaf::Literal(1.0)),
    };
    push(Leaf::Literal(2.0));
    push(Leaf::Literal(-1.0));
    push(Leaf::Literal(m as f64));
    push(matrix(random, stratum, 1, n));
    push(matrix(random, stratum, 1, 1));
    leaves
}
