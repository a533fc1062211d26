//! Random well-formed plans: any nodes in any order, of shapes that fit, under any variant that the verifier lets the
//! result have. Operations and aggregates are drawn from the tables.

use super::{RANGE, Values, WIDTH};
use fuseline_ir::cplan::{
    Bits, CInput, CInputId, CNode, CNodeId, CPlan, CellType, ColumnRange, Filters, OuterType, RowType, StatedOutput,
    Variant, VerifiedCPlan,
};
use fuseline_ir::ops::{AggOp, BinaryOp, BinaryZero, TernaryOp, UnaryOp, WindowOp, Windows};
use fuseline_ir::template::Space;
use std::collections::HashMap;

/// The length of a vector: so many rows of the main input and so many cells.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Cells {
    main_rows: usize,
    more: usize,
}

/// A vector as long as the main row.
const LONG: Cells = Cells { main_rows: 1, more: 0 };

/// The longest vector that is taken for an image.
const MOST_IMAGE_CELLS: usize = 24;

struct Generator {
    random: Values,
    plan: CPlan,
    /// Scalars: one per cell, or one per row.
    scalars: Vec<CNodeId>,
    vectors: Vec<(CNodeId, Cells)>,
    /// Vectors that are zero where the main row is, and go nowhere where that would matter; none in plans that take the main
    /// row like any vector.
    sparse: Vec<CNodeId>,
}

/// A plan that depends on the seed alone.
pub(crate) fn random_plan(seed: u64) -> VerifiedCPlan {
    let mut random = Values::new(seed.wrapping_mul(0x5851_f42d_4c95_7f2d) ^ 0x1405_7b7e, 0);
    let variants: Vec<Variant> = Variant::all().collect();
    let variant = variants[random.below(variants.len())];
    let mut generator =
        Generator { random, plan: CPlan::new(variant), scalars: vec![], vectors: vec![], sparse: vec![] };
    generator.inputs();
    let operations = match generator.random.below(8) {
        // More than a loop takes.
        0 => 50 + generator.random.below(100),
        _ => 2 + generator.random.below(25),
    };
    for _ in 0..operations {
        generator.operation();
    }
    // Lengths decide between variants, so the first draw need not suit.
    (0..100_000).find_map(|_| generator.finished()).expect("some output suits the variant")
}

impl Generator {
    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.random.below(list.len())]
    }

    fn scalar(&mut self, node: CNode) {
        let id = self.plan.nodes.push(node);
        self.scalars.push(id);
    }

    fn vector(&mut self, node: CNode, cells: Cells) {
        let id = self.plan.nodes.push(node);
        self.vectors.push((id, cells));
    }

    fn matrix(&mut self) -> CInputId {
        self.plan.inputs.push(CInput::MATRIX)
    }

    fn inputs(&mut self) {
        self.matrix();
        match self.plan.space() {
            Space::Rows => self.row_inputs(),
            space => {
                if space == Space::Factors {
                    self.matrix();
                    self.matrix();
                    self.scalar(CNode::OuterProduct);
                }
                self.scalar(CNode::Main);
                let (cell, column) = (self.matrix(), self.matrix());
                self.scalar(CNode::SideCell(cell));
                self.scalar(CNode::SideColScalar(column));
            }
        }
        let side = self.matrix();
        for _ in 0..2 {
            let column = self.random.below(RANGE) as u32;
            self.scalar(CNode::SideRowScalar(side, column));
        }
        let input = self.plan.inputs.push(CInput::Scalar);
        self.scalar(CNode::Scalar(input));
        self.scalar(CNode::RowIndex);
        let literal = Bits::new(self.random.value());
        self.scalar(CNode::Literal(literal));
    }

    fn row_inputs(&mut self) {
        let main = self.plan.nodes.push(CNode::Main);
        match self.random.below(2) {
            0 => self.sparse.push(main),
            _ => self.vectors.push((main, LONG)),
        }
        let (vector, rows, range) = (self.matrix(), self.matrix(), self.matrix());
        self.vector(CNode::SideVector(vector), LONG);
        self.vector(CNode::SideRow(rows, ColumnRange::All), LONG);
        let first = self.random.below(RANGE);
        let more = 1 + self.random.below(RANGE - first);
        let part = ColumnRange::Part { first: first as u32, end: (first + more) as u32 };
        self.vector(CNode::SideRow(range, part), Cells { main_rows: 0, more });
    }

    /// Adds an operation that suits what there is.
    fn operation(&mut self) {
        let is_row = self.plan.space() == Space::Rows;
        if !self.sparse.is_empty() && self.random.below(4) == 0 {
            return self.sparse_operation();
        }
        if !is_row || self.random.below(3) == 0 {
            let node = self.element_wise(&self.scalars.clone());
            return self.scalar(node);
        }
        let &(vector, cells) = &self.vectors[self.random.below(self.vectors.len())];
        let alike: Vec<CNodeId> = self.vectors.iter().filter(|(_, other)| *other == cells).map(|(id, _)| *id).collect();
        let takes_sparse = !self.sparse.is_empty() && self.random.below(2) == 0;
        let reduced = takes_sparse.then(|| self.pick(&self.sparse.clone()));
        match self.random.below(11) {
            0..3 => {
                let mut operands = alike;
                let scalar = self.pick(&self.scalars.clone());
                operands.push(scalar);
                let node = self.element_wise(&operands);
                // Drawn from scalars alone it is one.
                match node.operands().iter().all(|&id| id == scalar) {
                    true => self.scalar(node),
                    false => self.vector(node, cells),
                }
            }
            3 | 4 => {
                let agg = self.pick(AggOp::ALL);
                self.scalar(CNode::RowAgg(agg, reduced.unwrap_or(vector)));
            }
            5 => match reduced.filter(|_| cells == LONG) {
                Some(main) => self.scalar(CNode::DotProduct(main, vector)),
                None => {
                    let other = self.pick(&alike);
                    self.scalar(CNode::DotProduct(vector, other));
                }
            },
            6 => {
                let agg = self.pick(AggOp::ALL);
                if agg.is_cumulative() {
                    self.vector(CNode::RowCumulative(agg, vector), cells);
                }
            }
            7 => self.concatenation((vector, cells)),
            8 | 9 if cells.main_rows > 0 || cells.more > MOST_IMAGE_CELLS => {}
            8 => {
                let windows = self.windows(cells.more);
                let op = self.pick(WindowOp::ALL);
                let more = op.cells(&windows);
                self.vector(CNode::Windows(op, vector, windows), Cells { main_rows: 0, more });
            }
            9 => {
                let factor = self.insert_matrix();
                let windows: Vec<usize> = (1..=cells.more).filter(|&count| cells.more.is_multiple_of(count)).collect();
                let (count, windows) = (1 + self.random.below(3), self.pick(&windows));
                let filters = Filters { count: count as u32, windows: windows as u32 };
                let more = count * windows;
                self.vector(CNode::Convolve(vector, factor, filters), Cells { main_rows: 0, more });
            }
            _ => {
                let factor = self.insert_matrix();
                let operand = reduced.unwrap_or(vector);
                self.vector(CNode::VectMatMult(operand, factor), Cells { main_rows: 0, more: WIDTH });
            }
        }
    }

    /// Adds an operation that is zero where the main row is.
    fn sparse_operation(&mut self) {
        let (a, b) = (self.pick(&self.sparse.clone()), self.pick(&self.sparse.clone()));
        let mut others: Vec<CNodeId> =
            self.vectors.iter().filter(|(_, cells)| *cells == LONG).map(|(id, _)| *id).collect();
        others.extend(&self.scalars);
        let other = self.pick(&others);
        let annihilating = |op: &&BinaryOp| matches!(op.zero(), BinaryZero::Annihilates | BinaryZero::LeftAnnihilates);
        let node = match self.random.below(4) {
            0 => {
                let ops: Vec<UnaryOp> = UnaryOp::ALL.iter().copied().filter(|op| op.eval(0.0) == 0.0).collect();
                CNode::Unary(self.pick(&ops), a)
            }
            1 => {
                let ops: Vec<BinaryOp> = BinaryOp::ALL.iter().copied().filter(|op| op.eval(0.0, 0.0) == 0.0).collect();
                CNode::Binary(self.pick(&ops), a, b)
            }
            2 => CNode::Ternary(TernaryOp::PlusMult, a, b, other),
            _ => {
                let ops: Vec<BinaryOp> = BinaryOp::ALL.iter().filter(annihilating).copied().collect();
                CNode::Binary(self.pick(&ops), a, other)
            }
        };
        let id = self.plan.nodes.push(node);
        self.sparse.push(id);
    }

    /// Windows over an image of so many cells.
    fn windows(&mut self, cells: usize) -> Windows {
        let channels = if cells.is_multiple_of(2) { 1 + self.random.below(2) } else { 1 };
        let image = [1, cells / channels];
        let padding = [self.random.below(2), self.random.below(3)];
        let window = [0, 1].map(|axis| 1 + self.random.below((image[axis] + 2 * padding[axis]).min(3)));
        let stride = [1 + self.random.below(2), 1 + self.random.below(2)];
        Windows { channels, image, window, stride, padding }
    }

    /// A new matrix input in front of the scalar one.
    fn insert_matrix(&mut self) -> CInputId {
        let scalar = self.plan.scalars().next().expect("every plan has one");
        let moved = self.plan.inputs.push(CInput::Scalar);
        self.plan.inputs[scalar] = CInput::MATRIX;
        for node in self.plan.nodes.values_mut() {
            if *node == CNode::Scalar(scalar) {
                *node = CNode::Scalar(moved);
            }
        }
        scalar
    }

    fn concatenation(&mut self, (left, cells): (CNodeId, Cells)) {
        let &(right, more) = &self.vectors[self.random.below(self.vectors.len())];
        let scalar = self.pick(&self.scalars.clone());
        let sum = |a: Cells, b: Cells| Cells { main_rows: a.main_rows + b.main_rows, more: a.more + b.more };
        let one = Cells { main_rows: 0, more: 1 };
        match self.random.below(3) {
            0 if sum(cells, more).main_rows < 3 => self.vector(CNode::Cbind(left, right), sum(cells, more)),
            1 => self.vector(CNode::Cbind(left, scalar), sum(cells, one)),
            _ => self.vector(CNode::Cbind(scalar, left), sum(one, cells)),
        }
    }

    fn element_wise(&mut self, operands: &[CNodeId]) -> CNode {
        let [a, b, c] = [0; 3].map(|_| self.pick(operands));
        match self.random.below(4) {
            0 => CNode::Unary(self.pick(UnaryOp::ALL), a),
            1 => CNode::Ternary(self.pick(TernaryOp::ALL), a, b, c),
            _ => CNode::Binary(self.pick(BinaryOp::ALL), a, b),
        }
    }

    /// The plan with outputs drawn at random, where that is well-formed.
    fn finished(&mut self) -> Option<VerifiedCPlan> {
        let mut plan = self.plan.clone();
        let outputs = if plan.variant.has_several_outputs() { 1 + self.random.below(5) } else { 1 };
        for _ in 0..outputs {
            let output = self.output(plan.variant)?.in_plan(&plan).ok()?;
            plan.outputs.push(output);
        }
        if plan.space() == Space::Cells {
            // The main input has to be read.
            let main = plan.nodes.iter().find(|(_, node)| **node == CNode::Main).map(|(id, _)| id)?;
            let op = self.pick(BinaryOp::ALL);
            plan.outputs[0] = plan.outputs[0].map_operands(|node| plan.nodes.push(CNode::Binary(op, node, main)));
        }
        without_unused(&plan).verify().ok()
    }

    fn output(&mut self, variant: Variant) -> Option<StatedOutput> {
        // Late nodes have longer histories, but may not suit the variant.
        let late = |random: &mut Values, len: usize| match random.below(2) {
            0 => random.below(len),
            _ => len - 1 - random.below(len).min(random.below(len)),
        };
        let scalar = self.scalars[late(&mut self.random, self.scalars.len())];
        let merging: Vec<AggOp> = AggOp::ALL.iter().copied().filter(|agg| agg.merges()).collect();
        let agg = Some(self.pick(&merging));
        let cumulative: Vec<AggOp> = AggOp::ALL.iter().copied().filter(|agg| agg.is_cumulative()).collect();
        let merged_downwards = Some(self.pick(&cumulative));
        let plain = |node| Some(StatedOutput { node, agg: None, left: None });
        let row_type = match variant {
            Variant::Row(row_type) => row_type,
            Variant::Cell(CellType::NoAgg)
            | Variant::Outer(OuterType::NoAgg | OuterType::LeftMM | OuterType::RightMM) => return plain(scalar),
            Variant::Cell(CellType::CumAgg) => {
                return Some(StatedOutput { node: scalar, agg: merged_downwards, left: None });
            }
            Variant::Cell(CellType::RowAgg | CellType::ColAgg | CellType::FullAgg)
            | Variant::MAgg
            | Variant::Outer(OuterType::FullAgg) => return Some(StatedOutput { node: scalar, agg, left: None }),
        };
        let &(vector, _) = &self.vectors[late(&mut self.random, self.vectors.len())];
        let mut long: Vec<CNodeId> =
            self.vectors.iter().filter(|(_, cells)| *cells == LONG).map(|(id, _)| *id).collect();
        let mut vector = vector;
        if !self.sparse.is_empty() {
            long.clone_from(&self.sparse);
            let sparse = self.sparse[late(&mut self.random, self.sparse.len())];
            vector = self.pick(&[vector, sparse]);
        }
        let long = self.pick(&long);
        let short: Vec<CNodeId> = self
            .vectors
            .iter()
            .filter(|(_, cells)| cells.main_rows == 0 && cells.more <= RANGE)
            .map(|(id, _)| *id)
            .collect();
        let short = self.pick(&short);
        match row_type {
            RowType::NoAgg | RowType::NoAggB1 | RowType::NoAggConst => plain(vector),
            RowType::ColAgg | RowType::ColAggB1R | RowType::ColAggConst => {
                Some(StatedOutput { node: vector, agg, left: None })
            }
            RowType::RowAgg => plain(scalar),
            RowType::CumAgg => {
                let node = self.pick(&[vector, scalar]);
                Some(StatedOutput { node, agg: merged_downwards, left: None })
            }
            RowType::FullAgg => {
                let node = self.pick(&[vector, scalar]);
                Some(StatedOutput { node, agg, left: None })
            }
            RowType::ColAggT => Some(StatedOutput { node: scalar, agg: None, left: Some(long) }),
            RowType::ColAggB1 => Some(StatedOutput { node: long, agg: None, left: Some(short) }),
            RowType::ColAggB1T => Some(StatedOutput { node: short, agg: None, left: Some(long) }),
            RowType::MultiAgg => {
                use RowType::{ColAgg, ColAggB1, ColAggB1T, ColAggT, FullAgg};
                let row_type = self.pick(&[FullAgg, ColAgg, ColAggT, ColAggB1, ColAggB1T]);
                self.output(Variant::Row(row_type))
            }
        }
    }
}

/// The plan without nodes that reach no output.
pub(super) fn without_unused(plan: &CPlan) -> CPlan {
    let mut is_used: HashMap<CNodeId, bool> = HashMap::new();
    for output in &plan.outputs {
        is_used.extend(output.operands().into_iter().map(|id| (id, true)));
    }
    for (id, node) in plan.nodes.iter().rev() {
        if is_used.contains_key(&id) {
            is_used.extend(node.operands().into_iter().map(|operand| (operand, true)));
        }
    }
    let mut result = CPlan { nodes: Default::default(), outputs: vec![], ..plan.clone() };
    let mut moved: HashMap<CNodeId, CNodeId> = HashMap::new();
    for (id, node) in plan.nodes.iter().filter(|(id, _)| is_used.contains_key(id)) {
        moved.insert(id, result.nodes.push(node.map_operands(|operand| moved[&operand])));
    }
    result.outputs = plan.outputs.iter().map(|output| output.map_operands(|operand| moved[&operand])).collect();
    result
}
