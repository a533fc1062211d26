//! Random cases from seeds. The generator evaluates each operator with the oracle as it adds it, so that it can refuse
//! what says little: cells about which legal plans may disagree, and values that leave the integers where plans are to
//! agree bit for bit. What operators are drawn is in [`super::steps`] and [`super::motifs`].

use super::case::{Case, Expected, Leaf, Node, name};
use super::leaves::{self, ValueClass, extents};
use super::motifs;
use super::tally::Tally;
use fuseline_interp::oracle::{OracleValue, OracleValues};
use fuseline_ir::Value;
use fuseline_ir::hop::{HopDag, HopId, HopOp, ReorgOp};
use fuseline_ir::ops::{AggOp, BinaryOp, BinaryZero, UnaryOp, UnaryZero};
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeMap;

/// No intermediate of a small case has more cells.
const MOST_CELLS: usize = 6_000;
/// No intermediate of any case has more cells.
const MOST_CELLS_OF_LARGE: usize = 95_000;
/// No matrix product has more multiplications per cell that leaves may have.
const PRODUCTS_PER_CELL: usize = 10;

/// Roles of leaves in motifs: m x n and what fits to it.
pub(crate) const ROLES: [(&str, Extent, Extent); 12] = [
    ("X", Extent::M, Extent::N),
    ("Y", Extent::M, Extent::N),
    ("Z", Extent::M, Extent::N),
    ("v", Extent::N, Extent::One),
    ("w", Extent::M, Extent::One),
    ("y", Extent::M, Extent::One),
    ("r", Extent::One, Extent::N),
    ("B", Extent::N, Extent::K),
    ("P", Extent::M, Extent::K),
    ("U", Extent::M, Extent::R),
    ("V", Extent::N, Extent::R),
    ("c", Extent::One, Extent::One),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    One,
    M,
    N,
    K,
    R,
}

/// A case with what the oracle says of it.
#[derive(Debug)]
pub(crate) struct Generated {
    pub(crate) case: Case,
    pub(crate) expected: Expected,
}

/// A case while it grows.
#[derive(Debug)]
pub(crate) struct Generator {
    pub(crate) random: Pcg64Mcg,
    class: ValueClass,
    /// The extents that `Extent` stands for.
    dims: [usize; 5],
    case: Case,
    dag: HopDag,
    ids: Vec<HopId>,
    inputs: BTreeMap<String, OracleValue>,
    values: OracleValues,
    /// Results that no operator may read: they left the integers.
    is_terminal: Vec<bool>,
    uses: Vec<u32>,
    by_name: BTreeMap<String, usize>,
    most_cells: usize,
}

/// The case of this seed; what it holds is counted.
pub(crate) fn generate(seed: u64, tally: &mut Tally) -> Generated {
    let mut generator = Generator::new(seed, tally);
    let wanted = match generator.random.random_range(0..100) {
        0..50 => generator.random.random_range(1..=6),
        50..95 => generator.random.random_range(4..=16),
        _ => generator.random.random_range(16..=60),
    };
    for role in ["X", "Y", "w", "v"] {
        if role == "X" || generator.random.random_bool(0.5) {
            generator.leaf(role, tally);
        }
    }
    for _ in 0..wanted * 6 {
        if generator.case.operators() >= wanted {
            break;
        }
        if generator.random.random_bool(0.15) {
            motifs::add_random(&mut generator, tally);
        } else {
            generator.step(tally);
        }
    }
    if generator.case.operators() == 0 {
        let x = generator.leaf("X", tally);
        generator.add(HopOp::Unary(UnaryOp::Abs), &[x]);
    }
    generator.finish(tally)
}

/// A case of nothing but a motif; `None` where its shapes do not fit.
pub(crate) fn with_motif(seed: u64, motif: &str) -> Option<Case> {
    let tally = &mut Tally::default();
    let mut generator = Generator::new(seed, tally);
    motifs::add(&mut generator, motif, tally)?;
    Some(generator.finish(tally).case)
}

impl Generator {
    fn new(seed: u64, tally: &mut Tally) -> Self {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let class = ValueClass::draw(&mut random);
        let (m, n) = extents(&mut random);
        let k = *[1, 2, 3, 4, 7, 8, 17].choose(&mut random).expect("extents");
        let r = *[1, 2, 3, 8, 9, 16].choose(&mut random).expect("extents");
        tally.count("class", class.name());
        tally.count("rows", m.to_string());
        tally.count("columns", n.to_string());
        Generator {
            random,
            class,
            dims: [1, m, n, k, r],
            case: Case::default(),
            dag: HopDag::new(),
            ids: Vec::new(),
            inputs: BTreeMap::new(),
            values: OracleValues::default(),
            is_terminal: Vec::new(),
            uses: Vec::new(),
            by_name: BTreeMap::new(),
            most_cells: if m * n > MOST_CELLS { MOST_CELLS_OF_LARGE } else { MOST_CELLS },
        }
    }

    /// The leaf of this role, which is made when first asked for.
    pub(crate) fn leaf(&mut self, role: &str, tally: &mut Tally) -> usize {
        if let Some(&position) = self.by_name.get(role) {
            return position;
        }
        let leaf = match ROLES.iter().find(|(name, ..)| *name == role) {
            None => Leaf::Scalar(self.class.value(&mut self.random)),
            Some(&(_, rows, cols)) => {
                let (rows, cols) = (self.dims[rows as usize], self.dims[cols as usize]);
                let (leaf, format, density) = leaves::matrix(&mut self.random, self.class, rows, cols);
                tally.count("format", format);
                tally.count("density", density);
                leaf
            }
        };
        let position = self.push_leaf(leaf);
        self.by_name.insert(role.to_owned(), position);
        position
    }

    /// A constant.
    pub(crate) fn literal(&mut self, value: Value) -> usize {
        let key = format!("{value:?}");
        if let Some(&position) = self.by_name.get(&key) {
            return position;
        }
        let position = self.push_leaf(Leaf::Literal(value));
        self.by_name.insert(key, position);
        position
    }

    pub(crate) fn number(&mut self, value: f64) -> usize {
        self.literal(Value::F64(value))
    }

    fn push_leaf(&mut self, leaf: Leaf) -> usize {
        if let Some(value) = leaf.oracle_value() {
            self.inputs.insert(name(self.ids.len()), value);
        }
        let node = Node::Leaf(leaf);
        let id = node.add_to(&mut self.dag, &self.ids).expect("leaves always fit");
        self.values.evaluate(&self.dag, id, &self.inputs).expect("leaves have values");
        self.push(node, id)
    }

    fn push(&mut self, node: Node, id: HopId) -> usize {
        node.inputs().iter().for_each(|&input| self.uses[input] += 1);
        self.case.nodes.push(node);
        self.ids.push(id);
        self.is_terminal.push(false);
        self.uses.push(0);
        self.ids.len() - 1
    }

    /// Appends an operator if its inputs fit, its result stays small, and it says something.
    pub(crate) fn add(&mut self, op: HopOp, inputs: &[usize]) -> Option<usize> {
        if inputs.iter().any(|&input| self.is_terminal[input]) || !self.is_affordable(&op, inputs) {
            return None;
        }
        let node = Node::Operator { op, inputs: inputs.to_vec() };
        let id = node.add_to(&mut self.dag, &self.ids)?;
        // What is refused from here on stays in this DAG of the generator, unused.
        let (tainted_share, is_exact) = match self.values.evaluate(&self.dag, id, &self.inputs).ok()? {
            OracleValue::Matrix(matrix) if matrix.cells.len() > self.most_cells => return None,
            OracleValue::Matrix(matrix) => (matrix.tainted_share(), matrix.is_exact()),
            OracleValue::Scalar(cell) => (f64::from(u8::from(cell.is_tainted())), cell.is_exact()),
            OracleValue::Text(_) => return None,
        };
        let most_taint = if self.class == ValueClass::NonFinite { 0.5 } else { 0.04 };
        if tainted_share > most_taint && !self.random.random_bool(0.02) {
            return None;
        }
        let leaves_integers = self.class == ValueClass::IntegerExact && !is_exact;
        if leaves_integers && !self.random.random_bool(0.05) {
            return None;
        }
        let position = self.push(node, id);
        self.is_terminal[position] = leaves_integers;
        Some(position)
    }

    /// Whether the result and the work for it stay small.
    fn is_affordable(&self, op: &HopOp, inputs: &[usize]) -> bool {
        let dims = |position: usize| self.dims_of(inputs[position]).unwrap_or((1, 1));
        match op {
            HopOp::MatMul => {
                let ((m, k), (_, n)) = (dims(0), dims(1));
                m * k * n <= PRODUCTS_PER_CELL * self.most_cells && m * n <= self.most_cells
            }
            HopOp::Outer(_) => dims(0).0 * dims(1).1 <= self.most_cells,
            HopOp::Reorg(ReorgOp::Diag) => dims(0).1 != 1 || dims(0).0 * dims(0).0 <= self.most_cells,
            _ => true,
        }
    }

    /// The oracle's value of a node.
    pub(crate) fn value(&self, position: usize) -> Option<&OracleValue> {
        self.values.get(self.ids[position])
    }

    /// m and n.
    pub(crate) fn rows_and_cols(&self) -> (usize, usize) {
        (self.dims[Extent::M as usize], self.dims[Extent::N as usize])
    }

    /// Rows and columns of a matrix; `None` for scalars.
    pub(crate) fn dims_of(&self, position: usize) -> Option<(usize, usize)> {
        match self.value(position) {
            Some(OracleValue::Matrix(matrix)) => Some((matrix.rows, matrix.cols)),
            _ => None,
        }
    }

    /// Adds an operator, or one of the same treatment of zeros that keeps integers where the first one does not.
    pub(crate) fn add_or_stand_in(&mut self, op: &HopOp, inputs: &[usize]) -> Option<usize> {
        if let Some(position) = self.add(op.clone(), inputs)
            && !self.is_terminal[position]
        {
            return Some(position);
        }
        let preserving = [UnaryOp::Abs, UnaryOp::Sign, UnaryOp::Neg, UnaryOp::Round];
        let stand_in = match op {
            HopOp::Unary(op) if op.zero() == UnaryZero::Preserves => {
                HopOp::Unary(*preserving.choose(&mut self.random).expect("operations"))
            }
            HopOp::Unary(_) => HopOp::Unary(UnaryOp::Not),
            HopOp::Binary(op) => HopOp::Binary(match op.zero() {
                BinaryZero::Annihilates | BinaryZero::LeftAnnihilates => BinaryOp::And,
                BinaryZero::Joint => BinaryOp::Max,
                BinaryZero::Fills => BinaryOp::LessEqual,
            }),
            HopOp::AggUnary(_, direction) => HopOp::AggUnary(AggOp::Max, *direction),
            _ => return None,
        };
        self.add(stand_in, inputs)
    }

    /// Nodes that an operator may read and for which the predicate holds.
    pub(crate) fn candidates(&self, accepts: impl Fn(&Self, usize) -> bool) -> Vec<usize> {
        (0..self.ids.len()).filter(|&index| !self.is_terminal[index] && accepts(self, index)).collect()
    }

    /// One of these nodes: results that nothing reads yet, and later ones, more often.
    pub(crate) fn pick(&mut self, candidates: &[usize]) -> Option<usize> {
        if candidates.is_empty() {
            return None;
        }
        let unread: Vec<usize> = candidates
            .iter()
            .copied()
            .filter(|&index| self.uses[index] == 0 && self.case.nodes[index].is_operator())
            .collect();
        if !unread.is_empty() && self.random.random_bool(0.6) {
            return unread.choose(&mut self.random).copied();
        }
        let first = self.random.random_range(0..candidates.len());
        Some(candidates[first.max(self.random.random_range(0..candidates.len()))])
    }

    pub(crate) fn any_matrix(&mut self) -> Option<usize> {
        let matrices = self.candidates(|this, index| this.dims_of(index).is_some());
        self.pick(&matrices)
    }

    pub(crate) fn matrix_of(&mut self, accepts: impl Fn((usize, usize)) -> bool) -> Option<usize> {
        let matrices = self.candidates(|this, index| this.dims_of(index).is_some_and(&accepts));
        self.pick(&matrices)
    }

    /// Every result that nothing reads, at most four, and sometimes one that something does.
    fn choose_outputs(&mut self) {
        let operators = self.candidates_of_outputs(|_| true);
        let mut outputs = self.candidates_of_outputs(|uses| uses == 0);
        while outputs.len() > 4 {
            outputs.remove(self.random.random_range(0..outputs.len()));
        }
        if outputs.len() < 4 && self.random.random_bool(0.25) {
            let extra = *operators.choose(&mut self.random).expect("there is an operator");
            if !outputs.contains(&extra) {
                outputs.push(extra);
            }
        }
        self.case.outputs = outputs;
    }

    fn candidates_of_outputs(&self, accepts: impl Fn(u32) -> bool) -> Vec<usize> {
        (0..self.ids.len()).filter(|&index| self.case.nodes[index].is_operator() && accepts(self.uses[index])).collect()
    }

    fn finish(mut self, tally: &mut Tally) -> Generated {
        self.choose_outputs();
        let output = |(index, &position): (usize, &usize)| {
            let value = self.values.get(self.ids[position]).expect("operators were evaluated");
            (format!("o{index}"), value.clone())
        };
        let expected: Expected = self.case.outputs.iter().enumerate().map(output).collect();
        for (node, &id) in self.case.nodes.iter().zip(&self.ids) {
            let Node::Operator { op, .. } = node else { continue };
            let share = match self.values.get(id) {
                Some(OracleValue::Matrix(matrix)) => matrix.tainted_share(),
                Some(OracleValue::Scalar(cell)) => f64::from(u8::from(cell.is_tainted())),
                _ => 0.0,
            };
            tally.operator(op, (self.class != ValueClass::NonFinite).then_some(share));
        }
        let is_exact = |value: &OracleValue| match value {
            OracleValue::Matrix(matrix) => matrix.is_exact(),
            OracleValue::Scalar(cell) => cell.is_exact(),
            OracleValue::Text(_) => true,
        };
        tally.cases += 1;
        tally.exact_cases += u64::from(expected.values().all(is_exact));
        tally.count("outputs", self.case.outputs.len().to_string());
        Generated { case: self.case.without_dead_nodes(), expected }
    }
}
