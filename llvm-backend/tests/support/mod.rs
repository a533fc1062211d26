//! Units of work with their memory, and the comparison of kernels with the reference evaluator.

pub(crate) mod generator;
pub(crate) mod plans;
pub(crate) mod reference;

use fuseline_ir::cplan::{
    CInput, CNode, CNodeId, CPlan, ColumnRange, FACTOR_U, FACTOR_V, Length, Shape, VerifiedCPlan,
};
use fuseline_ir::template::Space;
use fuseline_llvm_backend::{LlvmBackend, LlvmOptions, PrimitiveMode};
use fuseline_skeletons::abi::{Context, Main, Output, Side, Unit, UnitSize};
use fuseline_skeletons::backend::{Backend, CompiledCPlan};
use fuseline_vecprims::Isa;
use std::sync::OnceLock;

/// What surrounds outputs and scratch memory.
pub(crate) const CANARY: f64 = -7.125e77;
/// Columns of matrices that rows are multiplied with, and the rank of factors.
pub(crate) const WIDTH: usize = 5;
/// Columns of side matrices that are read at ranges or single columns.
pub(crate) const RANGE: usize = 9;
/// The number of the units' first rows.
pub(crate) const FIRST_ROW: usize = 1_000_003;

/// A plan from its text form.
pub(crate) fn plan(text: &str) -> VerifiedCPlan {
    let plan = fuseline_ir::cplan::parse(text).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    plan.verify().unwrap_or_else(|errors| panic!("{errors:?}\n{text}"))
}

/// The instruction sets of this machine that code is generated for.
pub(crate) fn isas() -> impl Iterator<Item = Isa> {
    Isa::available().into_iter().filter(|&isa| isa != Isa::Portable)
}

/// Every combination of instruction set and form.
pub(crate) fn backends() -> &'static [LlvmBackend] {
    static BACKENDS: OnceLock<Vec<LlvmBackend>> = OnceLock::new();
    BACKENDS.get_or_init(|| {
        let prims = [PrimitiveMode::Auto, PrimitiveMode::Shared, PrimitiveMode::Inlined];
        isas()
            .flat_map(|isa| prims.map(|prims| LlvmOptions { isa, prims, ..LlvmOptions::default() }))
            .map(|options| LlvmBackend::new(options).expect("the machine has this instruction set"))
            .collect()
    })
}

/// Values that arithmetic treats specially.
const SPECIAL: [f64; 8] = [
    f64::NAN,
    -f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::MIN_POSITIVE / 3.0,
    -f64::from_bits(1),
    f64::MAX,
    -f64::MIN_POSITIVE,
];

/// A deterministic sequence of values of mixed magnitude and sign, with exact zeros of both signs.
pub(crate) struct Values {
    state: u64,
    /// One value in this many is special; 0 for none.
    special: u64,
}

impl Values {
    pub(crate) fn new(seed: u64, special: u64) -> Self {
        Values { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, special }
    }

    fn bits(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    pub(crate) fn value(&mut self) -> f64 {
        let bits = self.bits();
        if self.special != 0 && (bits >> 20).is_multiple_of(self.special) {
            return SPECIAL[(bits >> 8) as usize % SPECIAL.len()];
        }
        let unit = (bits >> 11) as f64 / (1_u64 << 53) as f64;
        match bits % 97 {
            0..=9 => 0.0,
            10 => -0.0,
            _ => (unit - 0.4) * 8.0,
        }
    }

    /// A number below a bound.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.bits() >> 16) as usize % bound
    }

    pub(crate) fn vector(&mut self, len: usize) -> Vec<f64> {
        (0..len).map(|_| self.value()).collect()
    }
}

/// A side input with its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct SideMemory {
    pub(crate) values: Vec<f64>,
    pub(crate) row_stride: usize,
    pub(crate) cols: usize,
    pub(crate) factor: Vec<f64>,
    /// Whether there is one value for each position.
    pub(crate) is_by_position: bool,
}

/// What differs from unit to unit of one plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    /// One value in this many is special; 0 for none.
    pub(crate) special: u64,
}

/// The units of every plan: empty ones, rows of every number of registers, several blocks, and special values so rare
/// that most sums stay numbers, and so frequent that few do.
const SIZES: [Size; 19] = {
    const fn size(rows: usize, cols: usize, special: u64) -> Size {
        Size { rows, cols, special }
    }
    [
        size(0, 5, 0),
        size(1, 0, 0),
        size(3, 1, 0),
        size(4, 3, 0),
        size(2, 8, 0),
        size(5, 10, 0),
        size(3, 15, 0),
        size(4, 17, 0),
        size(3, 23, 0),
        size(2, 27, 0),
        size(4, 31, 0),
        size(19, 4, 0),
        size(26, 11, 20),
        size(2, 32, 0),
        size(5, 33, 0),
        size(7, 93, 0),
        size(1, 300, 0),
        size(7, 45, 150),
        size(5, 70, 5),
    ]
};

/// A unit with its memory. Dense rows lie `stride` apart.
#[derive(Clone, Debug)]
pub(crate) struct UnitMemory {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) stride: usize,
    pub(crate) main: Vec<f64>,
    /// Row offsets and columns of sparse rows.
    pub(crate) sparse: Option<(Vec<usize>, Vec<u32>)>,
    pub(crate) sides: Vec<SideMemory>,
    /// One value per cell, or per position.
    pub(crate) products: Vec<f64>,
    pub(crate) scalars: Vec<f64>,
}

impl UnitMemory {
    /// A unit of a plan, with everything laid out as the ABI says.
    pub(crate) fn new(plan: &CPlan, size: Size, is_sparse: bool) -> UnitMemory {
        let Size { rows, cols, special } = size;
        let mut values = Values::new((rows * 7919 + cols * 31 + usize::from(is_sparse)) as u64 + 1, special);
        let stride = cols + 3;
        let sparse = is_sparse.then(|| sparse_structure(&mut values, rows, cols));
        let positions = sparse.as_ref().map_or(0, |(_, columns)| columns.len());
        let main = match is_sparse {
            true => values.vector(positions).into_iter().map(|value| value + 0.125).collect(),
            false => values.vector(rows * stride),
        };
        let mut sides = vec![SideMemory::default(); plan.inputs.len()];
        if plan.space() == Space::Factors {
            let factor = |values: &mut Values, rows| SideMemory {
                values: values.vector(rows * (WIDTH + 1)),
                row_stride: WIDTH + 1,
                cols: WIDTH,
                ..SideMemory::default()
            };
            sides[FACTOR_U.as_u32() as usize] = factor(&mut values, rows);
            sides[FACTOR_V.as_u32() as usize] = factor(&mut values, cols);
        }
        let found = plan.positions(false).unwrap_or_default();
        for node in plan.nodes.values() {
            if let Some(input) = node.input()
                && plan.inputs[input] == CInput::MATRIX
                && sides[input.as_u32() as usize].values.is_empty()
            {
                let by_position = is_sparse && (plan.space() != Space::Rows || found.has_input(input));
                let factor_rows = match node {
                    CNode::VectMatMult(operand, _) => length(plan, *operand, cols, &sides),
                    CNode::Convolve(operand, _, filters) => {
                        length(plan, *operand, cols, &sides) / filters.windows as usize
                    }
                    _ => 0,
                };
                let side = side(node, (rows, cols), factor_rows, by_position.then_some(positions), &mut values);
                sides[input.as_u32() as usize] = side;
            }
        }
        let scalars = values.vector(plan.inputs.len());
        let products = values.vector(if is_sparse { positions } else { rows * cols });
        UnitMemory { rows, cols, stride, main, sparse, sides, products, scalars }
    }

    pub(crate) fn positions(&self) -> usize {
        self.sparse.as_ref().map_or(0, |(_, columns)| columns.len())
    }

    fn unit<'a>(&'a self, sides: &'a [Side<'a>]) -> Unit<'a> {
        let main = match &self.sparse {
            Some((row_offsets, columns)) => Main::Sparse { row_offsets, columns, values: &self.main },
            None => Main::Dense { values: &self.main, row_stride: self.stride },
        };
        Unit {
            rows: self.rows,
            cols: self.cols,
            first_row: FIRST_ROW,
            first_col: 0,
            main,
            sides,
            products: &self.products,
            next_unit: self.stride,
        }
    }

    /// The length of a vector value; 1 of a scalar.
    pub(crate) fn length(&self, plan: &CPlan, id: CNodeId) -> usize {
        length(plan, id, self.cols, &self.sides)
    }
}

/// The length of a vector value, whose side inputs are there already; 1 of a scalar.
fn length(plan: &CPlan, id: CNodeId, cols: usize, sides: &[SideMemory]) -> usize {
    match plan.shapes().of(id) {
        Shape::Scalar => 1,
        Shape::Vector(Length::Main) => cols,
        Shape::Vector(Length::Cols(input) | Length::Cells(input)) => sides[input.as_u32() as usize].cols,
        Shape::Vector(Length::Const(cells)) => cells as usize,
        Shape::Vector(Length::Cbind(id)) => {
            plan.nodes[id].operands().into_iter().map(|part| length(plan, part, cols, sides)).sum()
        }
    }
}

/// Rows of every density, among them empty ones; the first offset is not 0.
fn sparse_structure(values: &mut Values, rows: usize, cols: usize) -> (Vec<usize>, Vec<u32>) {
    let mut offsets = vec![11];
    let mut columns: Vec<u32> = Vec::new();
    for row in 0..rows {
        let keep = [97, 30, 0, 60][row % 4];
        columns.extend((0..cols as u32).filter(|_| values.bits() % 97 < keep));
        offsets.push(11 + columns.len());
    }
    (offsets, columns)
}

fn side(
    node: &CNode,
    (rows, cols): (usize, usize),
    factor_rows: usize,
    positions: Option<usize>,
    values: &mut Values,
) -> SideMemory {
    let packed = |values: Vec<f64>, cols| SideMemory { values, cols, ..SideMemory::default() };
    match (node, positions) {
        (CNode::SideCell(_) | CNode::SideColScalar(_) | CNode::SideRow(_, ColumnRange::All), Some(positions)) => {
            SideMemory { is_by_position: true, ..packed(values.vector(positions), cols) }
        }
        (CNode::SideColScalar(_) | CNode::SideVector(_), None) => packed(values.vector(cols), cols),
        (CNode::SideRowScalar(..), _) | (CNode::SideRow(_, ColumnRange::Part { .. }), None) => {
            SideMemory { row_stride: RANGE, ..packed(values.vector(rows * RANGE), RANGE) }
        }
        (CNode::SideCell(_) | CNode::SideRow(_, ColumnRange::All), None) => {
            SideMemory { row_stride: cols + 1, ..packed(values.vector(rows * (cols + 1)), cols) }
        }
        (CNode::VectMatMult(..), None) => {
            let stored = values.vector(factor_rows * WIDTH);
            SideMemory { factor: stored.clone(), row_stride: WIDTH, ..packed(stored, WIDTH) }
        }
        // The rows of a filter's factor are its columns.
        (CNode::Convolve(_, _, filters), _) => {
            let row_stride = factor_rows + 1;
            SideMemory { row_stride, ..packed(values.vector(filters.count as usize * row_stride), factor_rows) }
        }
        _ => SideMemory::default(),
    }
}

/// What the outputs of a unit hold before and after.
struct Expected {
    strides: Vec<usize>,
    before: Vec<Vec<f64>>,
    after: Vec<Vec<f64>>,
}

impl Expected {
    fn new(plan: &CPlan, memory: &UnitMemory) -> Expected {
        let strides = reference::output_strides(plan, memory);
        let lengths = reference::output_lengths(plan, memory, &strides);
        let fill = |(index, len): (usize, usize)| Values::new(index as u64 + 99, 0).vector(len);
        let before: Vec<Vec<f64>> = lengths.into_iter().enumerate().map(fill).collect();
        let mut after = before.clone();
        reference::genexec(plan, memory, &mut after, &strides);
        Expected { strides, before, after }
    }
}

/// Compares a kernel with the reference on one unit, and checks that it writes nothing else.
fn check(compiled: &CompiledCPlan, memory: &UnitMemory, expected: &Expected, what: &str) {
    let plan: &CPlan = compiled.plan();
    let padded = |cells: &Vec<f64>| [&[CANARY; 8], &cells[..], &[CANARY; 8]].concat();
    let mut outputs: Vec<Vec<f64>> = expected.before.iter().map(padded).collect();
    let longest = plan.nodes.keys().map(|id| memory.length(plan, id)).fold(memory.cols, usize::max).max(1);
    let scratch_len = compiled.scratch_len(UnitSize { rows: memory.rows, positions: memory.positions(), longest });
    let mut scratch = vec![CANARY; scratch_len + 16];
    {
        let sides: Vec<Side<'_>> = memory
            .sides
            .iter()
            .map(|side| Side {
                values: &side.values,
                row_stride: side.row_stride,
                cols: side.cols,
                factor: &side.factor,
            })
            .collect();
        let mut views: Vec<Output<'_>> = outputs
            .iter_mut()
            .zip(&expected.strides)
            .map(|(cells, &row_stride)| {
                let end = cells.len() - 8;
                Output { values: &mut cells[8..end], row_stride }
            })
            .collect();
        let mut context = Context { scalars: &memory.scalars, scratch: &mut scratch[8..8 + scratch_len] };
        // SAFETY: the operands have the extents that the plan reads and writes.
        unsafe { compiled.genexec(&mut context, &memory.unit(&sides), &mut views) };
    }
    let what = format!("{what}: {} x {} (positions {})\n{plan}", memory.rows, memory.cols, memory.positions());
    assert!(scratch[..8].iter().chain(&scratch[8 + scratch_len..]).all(|&cell| cell == CANARY), "scratch of {what}");
    for (cells, expected) in outputs.iter().zip(&expected.after) {
        assert!(cells[..8].iter().chain(&cells[8 + expected.len()..]).all(|&cell| cell == CANARY), "around {what}");
        for (index, (actual, expected)) in cells[8..].iter().zip(expected).enumerate() {
            let same = actual.to_bits() == expected.to_bits() || (actual.is_nan() && expected.is_nan());
            assert!(same, "cell {index} is {actual:e}, not {expected:e}, in {what}");
        }
    }
}

/// Compares every backend with the reference, on units of many sizes and both formats.
pub(crate) fn check_all(plan: &VerifiedCPlan) {
    let form = plan.sparse_form();
    let of_entry = |is_sparse| if is_sparse { form.as_deref().map(|form| &**form) } else { Some(&**plan) };
    let units = SIZES.into_iter().flat_map(|size| [false, true].map(|is_sparse| (size, is_sparse)));
    let (memories, expected): (Vec<UnitMemory>, Vec<Expected>) = units
        .filter_map(|(size, is_sparse)| {
            let plan = of_entry(is_sparse)?;
            let memory = UnitMemory::new(plan, size, is_sparse);
            let expected = Expected::new(plan, &memory);
            Some((memory, expected))
        })
        .unzip();
    for backend in backends() {
        let compiled = backend.compile(plan).unwrap_or_else(|error| panic!("{error}\n{}", &**plan));
        for (memory, expected) in memories.iter().zip(&expected) {
            check(&compiled, memory, expected, &format!("{:?}", backend.options()));
        }
    }
}
