//! One plan for each variant, aggregation function, kind of side input and form.

use crate::axes::{Row, SideKind};
use fuseline_ir::cplan::{
    Bits, CInput, CInputId, CNode, CNodeId, COutput, CPlan, CellType, ColumnRange, Filters, RowType, StatedOutput,
    Variant, VerifiedCPlan,
};
use fuseline_ir::ops::{AggOp, BinaryOp, TernaryOp, UnaryOp, WindowOp, Windows};
use fuseline_ir::template::Space;

/// Columns of the matrices that rows are multiplied with, and the rank of factors.
pub(crate) const WIDTH: usize = 5;
/// Columns of those of some plans.
const NARROW: usize = 2;

/// How a plan uses its main input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Element-wise; zeros give zeros.
    Kept,
    /// Element-wise; zeros give something else.
    Filled,
    /// Row plans: a quotient in which zeros give one value, or one for each row, so that sparse rows are laid out after it.
    LaidOut,
    /// Row plans: such a quotient of the sum of a matrix and the main input, in this order, whose rows are joined.
    JoinedLaidOut,
    /// Row plans: aggregated and multiplied alone, so that sparse rows have an entry of their own.
    Products,
    /// Element-wise, with a matrix: zeros of both give zeros.
    Joined,
    /// Element-wise, with a matrix: zeros of both give one value, which is not zero. Plans over cells alone.
    Constant,
}

impl Form {
    pub(crate) const ALL: &[Form] =
        &[Form::Kept, Form::Filled, Form::LaidOut, Form::JoinedLaidOut, Form::Products, Form::Joined, Form::Constant];
}

/// Which format an input gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Main,
    Factor,
    /// The side input whose format varies.
    Side,
}

/// Rows and columns of an input, from those of the main input.
pub(crate) type ShapeOf = fn(usize, usize) -> (usize, usize);

/// A plan with its inputs.
pub(crate) struct Plan {
    pub(crate) name: String,
    pub(crate) cplan: VerifiedCPlan,
    pub(crate) matrices: Vec<(Part, ShapeOf)>,
    form: Form,
    kind: SideKind,
}

impl Plan {
    /// The plan; `None` where the variant has no such form.
    pub(crate) fn new(row: &Row, form: Form, kind: SideKind) -> Option<Plan> {
        let mut builder = Builder::new(row.variant, kind, form, row.agg);
        let needs_matrix = matches!(form, Form::Joined | Form::JoinedLaidOut | Form::Constant);
        let space = builder.plan.space();
        if needs_matrix && (kind != SideKind::Matrix || space == Space::Factors) {
            return None;
        }
        if form == Form::Constant && space != Space::Cells {
            return None;
        }
        match row.variant {
            Variant::Row(row_type) => builder.row(row_type)?,
            _ if matches!(form, Form::LaidOut | Form::JoinedLaidOut | Form::Products) => return None,
            Variant::Cell(_) | Variant::MAgg | Variant::Outer(_) => builder.cells(),
        }
        let agg = row.agg.map_or("", AggOp::mnemonic);
        let (template, variant) = (row.variant.template(), row.variant.mnemonic());
        let name = format!("{template} {variant} {agg} {form:?}, side {kind:?}");
        let cplan = builder.plan.clone().verify().unwrap_or_else(|errors| panic!("{name}: {errors}\n{}", builder.plan));
        Some(Plan { name, cplan, matrices: builder.matrices, form, kind })
    }

    /// Whether no more cells are visited than a sparse main input and a sparse side input store: of plans that are zero where
    /// both are, or have one value there. Columns, and cells that have that value, would have to know how many zeros there are.
    pub(crate) fn goes_by_joined_non_zeros(&self) -> bool {
        let counts_zeros =
            || self.cplan.outputs.iter().any(|output| output.agg().is_some_and(|agg| !agg.ignores_zeros()));
        let is_joined = matches!(self.form, Form::Joined | Form::Constant);
        match self.cplan.variant {
            Variant::Row(_) if self.form == Form::JoinedLaidOut => true,
            Variant::Cell(CellType::ColAgg | CellType::NoAgg) if self.form == Form::Constant => false,
            Variant::Cell(CellType::ColAgg) | Variant::Row(RowType::ColAgg | RowType::FullAgg) if counts_zeros() => {
                false
            }
            Variant::Cell(CellType::CumAgg) => false,
            Variant::Row(RowType::CumAgg | RowType::NoAggConst | RowType::ColAggConst | RowType::MultiAgg) => false,
            _ => is_joined,
        }
    }

    /// Whether no more cells of a sparse main input are visited than are stored: of all plans that are zero where it is. Over
    /// rows these are the ones that neither cumulate cells, nor put them beside others, nor count zeros of several rows in.
    pub(crate) fn goes_by_non_zeros(&self) -> bool {
        let is_kept = self.form == Form::Kept && self.cplan.sparse_safe;
        let counts_zeros =
            || self.cplan.outputs.iter().any(|output| output.agg().is_some_and(|agg| !agg.ignores_zeros()));
        match self.cplan.variant {
            Variant::Cell(_) | Variant::MAgg | Variant::Outer(_) => is_kept,
            Variant::Row(_) if self.form == Form::LaidOut => true,
            Variant::Row(RowType::NoAggConst | RowType::ColAggConst | RowType::MultiAgg) => false,
            Variant::Row(RowType::ColAgg | RowType::FullAgg) if counts_zeros() => false,
            Variant::Row(_) => is_kept && self.kind != SideKind::None || self.form == Form::Products,
        }
    }
}

struct Builder {
    plan: CPlan,
    matrices: Vec<(Part, ShapeOf)>,
    kind: SideKind,
    form: Form,
    agg: Option<AggOp>,
    /// The matrix that rows are multiplied with.
    factor: Option<CInputId>,
}

impl Builder {
    fn new(variant: Variant, kind: SideKind, form: Form, agg: Option<AggOp>) -> Self {
        let mut builder = Builder { plan: CPlan::new(variant), matrices: Vec::new(), kind, form, agg, factor: None };
        builder.matrix(Part::Main, |m, n| (m, n));
        if variant.space() == Space::Factors {
            builder.matrix(Part::Factor, |m, _| (m, WIDTH));
            builder.matrix(Part::Factor, |_, n| (n, WIDTH));
        }
        let cumulates = matches!(variant, Variant::Cell(CellType::CumAgg) | Variant::Row(RowType::CumAgg));
        builder.plan.sparse_safe = !cumulates && matches!(form, Form::Kept | Form::Products);
        builder
    }

    fn matrix(&mut self, part: Part, shape: ShapeOf) -> CInputId {
        self.matrices.push((part, shape));
        self.plan.inputs.push(CInput::MATRIX)
    }

    fn push(&mut self, node: CNode) -> CNodeId {
        self.plan.nodes.push(node)
    }

    fn literal(&mut self, value: f64) -> CNodeId {
        self.push(CNode::Literal(Bits::new(value)))
    }

    fn unary(&mut self, op: UnaryOp, a: CNodeId) -> CNodeId {
        self.push(CNode::Unary(op, a))
    }

    fn binary(&mut self, op: BinaryOp, a: CNodeId, b: CNodeId) -> CNodeId {
        self.push(CNode::Binary(op, a, b))
    }

    fn output(&mut self, node: CNodeId, left: Option<CNodeId>) {
        let is_aggregated = self.plan.variant != Variant::Row(RowType::RowAgg);
        let agg = self.agg.filter(|_| is_aggregated && left.is_none());
        let output = StatedOutput { node, agg, left }.in_plan(&self.plan);
        self.plan.outputs.push(output.unwrap_or_else(|message| panic!("{message}\n{}", self.plan)));
    }

    /// Aggregates of these nodes, and sums of products of node and left vector.
    fn outputs(&mut self, aggregated: &[CNodeId], products: [(CNodeId, CNodeId); 3]) {
        aggregated.iter().for_each(|&node| self.output(node, None));
        products.into_iter().for_each(|(node, left)| self.output(node, Some(left)));
    }

    /// Products of more than a few cells are exact for -1, 0 and 1 alone.
    fn bounded(&mut self, node: CNodeId) -> CNodeId {
        if self.agg == Some(AggOp::Prod) { self.unary(UnaryOp::Sign, node) } else { node }
    }

    /// Zeros stay zeros in one form and become something else in the other.
    fn combine(&mut self, x: CNodeId, side: CNodeId) -> CNodeId {
        let op = match self.form {
            Form::LaidOut => return self.laid_out(x, side),
            Form::JoinedLaidOut => {
                let (sum, three) = (self.binary(BinaryOp::Plus, side, x), self.literal(3.0));
                return self.laid_out(sum, three);
            }
            Form::Filled => BinaryOp::Plus,
            Form::Joined | Form::Constant => BinaryOp::Minus,
            Form::Kept | Form::Products => BinaryOp::Mult,
        };
        let combined = self.binary(op, x, side);
        if self.form != Form::Constant {
            return combined;
        }
        let two = self.literal(2.0);
        self.binary(BinaryOp::Plus, combined, two)
    }

    /// What zeros give has one value, or one for each row, before a vector comes in.
    fn laid_out(&mut self, x: CNodeId, side: CNodeId) -> CNodeId {
        let is_vector = self.plan.shapes().is_vector(side);
        let shift = if is_vector { self.literal(3.0) } else { side };
        let (sum, two) = (self.binary(BinaryOp::Plus, x, shift), self.literal(2.0));
        let half = self.binary(BinaryOp::IntDiv, sum, two);
        if is_vector { self.binary(BinaryOp::Plus, half, side) } else { half }
    }

    fn scalar(&mut self) -> CNodeId {
        let input = self.plan.inputs.push(CInput::Scalar);
        self.push(CNode::Scalar(input))
    }
}

/// Cell, MAgg and Outer.
impl Builder {
    fn cells(&mut self) {
        let side = self.cell_side();
        let x = self.push(CNode::Main);
        let mut value = self.combine(x, side);
        if self.plan.space() == Space::Factors {
            let product = self.push(CNode::OuterProduct);
            let op = if self.form == Form::Filled { BinaryOp::Minus } else { BinaryOp::Mult };
            value = self.binary(op, value, product);
        }
        let value = self.bounded(value);
        self.output(value, None);
        if self.plan.variant == Variant::MAgg {
            let other = self.unary(UnaryOp::Abs, value);
            let outputs = [(other, AggOp::Sum), (value, AggOp::Max), (x, AggOp::Nnz)];
            let outputs = outputs.map(|(node, agg)| COutput::FullAgg(agg, node));
            self.plan.outputs.extend(outputs);
        }
    }

    /// A value per cell: of a matrix and two fixed columns of it, of a column vector (and the number of the row), of a row
    /// vector, or the same everywhere.
    fn cell_side(&mut self) -> CNodeId {
        match self.kind {
            SideKind::None => self.literal(3.0),
            SideKind::Scalar => self.scalar(),
            SideKind::Row => {
                let row = self.matrix(Part::Side, |_, n| (1, n));
                self.push(CNode::SideColScalar(row))
            }
            SideKind::Column => self.column(),
            SideKind::Matrix if matches!(self.form, Form::Joined | Form::Constant) => {
                let full = self.matrix(Part::Side, |m, n| (m, n));
                self.push(CNode::SideCell(full))
            }
            SideKind::Matrix => {
                let full = self.matrix(Part::Side, |m, n| (m, n));
                let wide = self.matrix(Part::Side, |m, _| (m, WIDTH));
                let cell = self.push(CNode::SideCell(full));
                let (third, first) =
                    (self.push(CNode::SideRowScalar(wide, 3)), self.push(CNode::SideRowScalar(wide, 1)));
                self.push(CNode::Ternary(TernaryOp::MinusMult, cell, third, first))
            }
        }
    }

    /// A value per row.
    fn column(&mut self) -> CNodeId {
        let column = self.matrix(Part::Side, |m, _| (m, 1));
        let value = self.push(CNode::SideRowScalar(column, 0));
        if self.form != Form::Filled {
            return value;
        }
        let number = self.push(CNode::RowIndex);
        let seven = self.literal(7.0);
        let number = self.binary(BinaryOp::Modulus, number, seven);
        self.binary(BinaryOp::Minus, value, number)
    }
}

/// Row.
impl Builder {
    fn row(&mut self, row_type: RowType) -> Option<()> {
        let x = self.push(CNode::Main);
        use RowType::{ColAggB1, ColAggB1R, ColAggB1T, MultiAgg, NoAggB1};
        if matches!(row_type, NoAggB1 | ColAggB1 | ColAggB1R | ColAggB1T | MultiAgg) {
            // Matrices precede scalars.
            self.factor();
        }
        let has_windows = matches!(row_type, RowType::NoAggConst | RowType::ColAggConst)
            && self.form != Form::Products
            && !matches!(self.kind, SideKind::None | SideKind::Matrix);
        if has_windows {
            self.factor();
        }
        let has_filters = has_windows && self.kind == SideKind::Row;
        let filters = has_filters.then(|| self.matrix(Part::Side, |_, _| (3, 2)));
        if self.form == Form::Products {
            return self.row_of_products(row_type, x);
        }
        let value = self.row_value(x);
        let value = self.bounded(value);
        match row_type {
            RowType::NoAgg | RowType::CumAgg | RowType::ColAgg | RowType::FullAgg => self.output(value, None),
            RowType::RowAgg => {
                let aggregated = self.push(CNode::RowAgg(self.agg.unwrap_or(AggOp::Sum), value));
                self.output(aggregated, None);
            }
            RowType::NoAggB1 | RowType::ColAggB1R => {
                let product = self.times_matrix(value);
                let product = self.bounded(product);
                self.output(product, None);
            }
            RowType::NoAggConst | RowType::ColAggConst => {
                if has_windows {
                    let values = self.windows(value, filters);
                    let values = self.bounded(values);
                    self.output(values, None);
                    return Some(());
                }
                let least = self.push(CNode::RowAgg(AggOp::Min, value));
                let columns = self.push(CNode::Cbind(least, value));
                self.output(columns, None);
            }
            RowType::ColAggT => {
                let sum = self.push(CNode::RowAgg(AggOp::Sum, x));
                self.output(sum, Some(value));
            }
            RowType::ColAggB1 => {
                let product = self.times_matrix(value);
                self.output(value, Some(product));
            }
            RowType::ColAggB1T => {
                let product = self.times_matrix(x);
                self.output(product, Some(value));
            }
            RowType::MultiAgg => {
                let (sum, product) = (self.push(CNode::RowAgg(AggOp::Sum, value)), self.times_matrix(value));
                let columns = self.push(CNode::Cbind(sum, product));
                let aggregated = [sum, value, product, columns].map(|node| self.bounded(node));
                self.outputs(&aggregated, [(sum, value), (value, product), (product, value)]);
            }
        }
        Some(())
    }

    fn times_matrix(&mut self, value: CNodeId) -> CNodeId {
        let matrix = self.factor();
        self.push(CNode::VectMatMult(value, matrix))
    }

    /// A pool, or a convolution, of a product as an image of a single row.
    fn windows(&mut self, value: CNodeId, filters: Option<CInputId>) -> CNodeId {
        let image = self.times_matrix(value);
        let width = if self.has_narrow_factor() { NARROW } else { WIDTH };
        let windows = Windows { channels: 1, image: [1, width], window: [1, 2], stride: [1, 2], padding: [0, 1] };
        let op = match self.kind {
            SideKind::Scalar => WindowOp::MaxPool,
            SideKind::Column => WindowOp::AvgPool,
            SideKind::None | SideKind::Row | SideKind::Matrix => WindowOp::Unfold,
        };
        let computed = self.push(CNode::Windows(op, image, windows));
        let Some(filters) = filters else { return computed };
        self.push(CNode::Convolve(computed, filters, Filters { count: 3, windows: windows.per_channel() as u32 }))
    }

    fn factor(&mut self) -> CInputId {
        let factor = self.factor.unwrap_or_else(|| match self.has_narrow_factor() {
            true => self.matrix(Part::Side, |_, n| (n, NARROW)),
            false => self.matrix(Part::Side, |_, n| (n, WIDTH)),
        });
        self.factor = Some(factor);
        factor
    }

    /// Whether rows are multiplied with a matrix of few columns, by another rule than with a wide one.
    fn has_narrow_factor(&self) -> bool {
        self.kind == SideKind::Column
    }

    /// A vector as long as the main row.
    fn row_value(&mut self, x: CNodeId) -> CNodeId {
        let side = match self.kind {
            SideKind::None => {
                let growing = self.push(CNode::RowCumulative(AggOp::Max, x));
                let one = self.literal(1.0);
                self.binary(BinaryOp::Plus, growing, one)
            }
            SideKind::Scalar => self.scalar(),
            SideKind::Column => self.column(),
            SideKind::Row => {
                let row = self.matrix(Part::Side, |_, n| (1, n));
                self.push(CNode::SideVector(row))
            }
            SideKind::Matrix => {
                let full = self.matrix(Part::Side, |m, n| (m, n));
                self.push(CNode::SideRow(full, ColumnRange::All))
            }
        };
        self.combine(x, side)
    }

    /// Plans whose sparse rows are aggregated and multiplied alone.
    fn row_of_products(&mut self, row_type: RowType, x: CNodeId) -> Option<()> {
        match row_type {
            // Their output is an element-wise value of the main row.
            RowType::NoAgg => return None,
            RowType::ColAgg => {
                let plain = self.kind == SideKind::None && self.agg.is_some_and(AggOp::ignores_zeros);
                plain.then(|| self.output(x, None))?;
            }
            RowType::RowAgg => {
                let aggregated = self.push(CNode::RowAgg(self.agg.unwrap_or(AggOp::Sum), x));
                let factor = self.row_scalar(x);
                let product = self.binary(BinaryOp::Mult, aggregated, factor);
                self.output(product, None);
            }
            RowType::CumAgg | RowType::FullAgg => {
                let value = self.row_scalar(x);
                let value = self.bounded(value);
                self.output(value, None);
            }
            RowType::NoAggB1 | RowType::ColAggB1R => {
                let product = self.scaled_product(x);
                let product = self.bounded(product);
                self.output(product, None);
            }
            RowType::NoAggConst | RowType::ColAggConst => {
                let (value, sum) = (self.row_scalar(x), self.push(CNode::RowAgg(AggOp::SumSq, x)));
                let columns = self.push(CNode::Cbind(value, sum));
                let mut columns = self.bounded(columns);
                if self.kind == SideKind::Matrix {
                    let wide = self.matrix(Part::Side, |m, _| (m, WIDTH));
                    let range = self.push(CNode::SideRow(wide, ColumnRange::Part { first: 1, end: 3 }));
                    let range = self.bounded(range);
                    columns = self.binary(BinaryOp::Mult, columns, range);
                }
                self.output(columns, None);
            }
            RowType::ColAggT => {
                let value = self.row_scalar(x);
                self.output(value, Some(x));
            }
            RowType::ColAggB1 => {
                let product = self.scaled_product(x);
                self.output(x, Some(product));
            }
            RowType::ColAggB1T => {
                let product = self.scaled_product(x);
                self.output(product, Some(x));
            }
            RowType::MultiAgg => {
                let (sum, product) = (self.row_scalar(x), self.scaled_product(x));
                let columns = self.push(CNode::Cbind(sum, product));
                let mut aggregated = [sum, product, columns].map(|node| self.bounded(node)).to_vec();
                aggregated.extend(self.agg.filter(|agg| agg.ignores_zeros()).map(|_| x));
                self.outputs(&aggregated, [(sum, x), (x, product), (product, x)]);
            }
        }
        Some(())
    }

    /// The main row times a matrix, times a value per row.
    fn scaled_product(&mut self, x: CNodeId) -> CNodeId {
        let product = self.times_matrix(x);
        let factor = match self.kind {
            SideKind::None | SideKind::Matrix => return product,
            SideKind::Scalar => self.scalar(),
            SideKind::Column => self.column(),
            SideKind::Row => {
                let row = self.matrix(Part::Side, |_, _| (1, WIDTH));
                self.push(CNode::SideVector(row))
            }
        };
        self.binary(BinaryOp::Mult, product, factor)
    }

    /// A value per row that is zero for rows of zeros.
    fn row_scalar(&mut self, x: CNodeId) -> CNodeId {
        if self.kind == SideKind::Row {
            let row = self.matrix(Part::Side, |_, n| (1, n));
            let row = self.push(CNode::SideVector(row));
            return self.push(CNode::DotProduct(x, row));
        }
        let sum = self.push(CNode::RowAgg(AggOp::Sum, x));
        match self.kind {
            SideKind::None | SideKind::Row => sum,
            SideKind::Scalar => {
                let scalar = self.scalar();
                self.binary(BinaryOp::Mult, sum, scalar)
            }
            SideKind::Column => {
                let column = self.column();
                self.binary(BinaryOp::Mult, sum, column)
            }
            SideKind::Matrix => {
                let product = self.times_matrix(x);
                let largest = self.push(CNode::RowAgg(AggOp::Max, product));
                self.binary(BinaryOp::Minus, largest, sum)
            }
        }
    }
}
