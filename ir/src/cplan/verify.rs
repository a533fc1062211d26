//! The verifier of CPlans: what templates, backends and skeletons may rely on.

use super::{
    CInput, CInputId, CNode, CNodeId, COutput, CPlan, ColumnRange, Filters, Length, MAIN, ProductOrder, RowType, Shape,
    Shapes, Variant,
};
use crate::ops::Windows;
use crate::template::Space;
pub use crate::verifier::VerifierErrors;
use cranelift_entity::{EntityRef, EntitySet};
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

/// A plan that passed the verifier.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VerifiedCPlan(CPlan);

impl VerifiedCPlan {
    /// The plan that units of sparse main rows run: [`CPlan::sparse_form`], which is well-formed as this one is.
    pub fn sparse_form(&self) -> Option<Cow<'_, VerifiedCPlan>> {
        Some(match self.0.sparse_form()? {
            Cow::Borrowed(_) => Cow::Borrowed(self),
            Cow::Owned(form) => Cow::Owned(form.verify().expect("the form of a well-formed plan is well-formed")),
        })
    }

    /// The plan, to be changed and verified again.
    pub fn into_inner(self) -> CPlan {
        self.0
    }
}

impl Deref for VerifiedCPlan {
    type Target = CPlan;
    fn deref(&self) -> &CPlan {
        &self.0
    }
}

impl fmt::Display for VerifiedCPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl CPlan {
    /// Checks every rule of well-formed plans.
    ///
    /// # Errors
    /// All broken rules: operands after their users, inputs of the wrong kind or order, nodes that the template does
    /// not have, shapes that cannot fit in any execution, outputs that do not suit the variant, nodes without use.
    pub fn verify(self) -> Result<VerifiedCPlan, VerifierErrors> {
        let mut verifier = Verifier { plan: &self, shapes: Shapes::default(), errors: VerifierErrors::default() };
        verifier.inputs();
        if verifier.order() {
            verifier.shapes = self.shapes();
            for (id, node) in &self.nodes {
                verifier.node(id, node);
            }
            verifier.outputs();
            verifier.uses();
        }
        let errors = verifier.errors;
        errors.finish(()).map(|()| VerifiedCPlan(self))
    }
}

struct Verifier<'a> {
    plan: &'a CPlan,
    shapes: Shapes,
    errors: VerifierErrors,
}

/// Whether vectors of these lengths may be equally long in some execution.
fn may_equal(left: Length, right: Length) -> bool {
    !matches!((left, right), (Length::Const(left), Length::Const(right)) if left != right)
}

impl Verifier<'_> {
    fn inputs(&mut self) {
        let leading = self.plan.leading_inputs();
        if self.plan.inputs.len() < leading {
            let message = format!("{} plans have at least {leading} inputs", self.plan.template());
            self.errors.push("inputs", message);
        }
        let mut scalars = false;
        for (id, input) in &self.plan.inputs {
            if id.index() < leading {
                self.errors.check(input.is_matrix(), id, "the leading inputs are matrices");
            }
            self.errors.check(!(scalars && input.is_matrix()), id, "matrices precede scalars");
            if let CInput::Matrix(element) = input {
                self.errors.check_result(element.check_computes(), id);
            }
            scalars |= *input == CInput::Scalar;
        }
    }

    /// Whether all references lead to earlier nodes; nothing else can be checked before they do.
    fn order(&mut self) -> bool {
        let mut ordered = true;
        for (id, node) in &self.plan.nodes {
            for operand in node.operands().into_iter().filter(|&operand| operand >= id) {
                self.errors.push(id, format!("the operand {operand} does not precede its user"));
                ordered = false;
            }
        }
        for (position, output) in self.plan.outputs.iter().enumerate() {
            for node in output.operands() {
                if !self.plan.nodes.is_valid(node) {
                    self.errors.push(format_args!("output {position}"), format!("{node} does not exist"));
                    ordered = false;
                }
            }
        }
        ordered
    }

    fn node(&mut self, id: CNodeId, node: &CNode) {
        self.template_has(id, node);
        if let Some(input) = node.input() {
            self.input_kind(id, node, input);
        }
        match *node {
            CNode::SideRow(_, ColumnRange::Part { first, end }) => {
                self.errors.check(first < end, id, format!("the range {first}:{end} is empty"));
            }
            CNode::RowAgg(_, operand) | CNode::VectMatMult(operand, _) => {
                self.vector(id, operand);
            }
            CNode::RowCumulative(op, operand) => {
                self.errors.check(op.is_cumulative(), id, format!("{op} has no cumulative form"));
                self.vector(id, operand);
            }
            CNode::Windows(op, operand, windows) => {
                let are_counted = |windows: &Windows| {
                    let counts = [windows.image_cells(), op.cells(windows)];
                    counts.iter().all(|count| u32::try_from(*count).is_ok())
                };
                let exist = windows.is_valid() && are_counted(&windows);
                self.errors.check(exist, id, format!("there are no windows {windows}"));
                if exist {
                    self.length_of(id, operand, windows.image_cells() as u32);
                }
            }
            CNode::Convolve(operand, _, filters) => {
                let Filters { count, windows } = filters;
                let exist = count.checked_mul(windows).is_some_and(|values| values > 0);
                self.errors.check(exist, id, format!("there are no products of {count} filters and {windows} windows"));
                if self.vector(id, operand)
                    && let Some(Length::Const(cells)) = self.length(operand)
                {
                    let message = format!("{operand} has {cells} values, which are not rows of {windows} windows");
                    self.errors.check(windows == 0 || cells.is_multiple_of(windows), id, message);
                }
            }
            CNode::Scatter(operand, elsewhere) => {
                self.vector(id, operand);
                let message = format!("{elsewhere} is a vector where a scalar is needed");
                self.errors.check(self.length(elsewhere).is_none(), id, message);
            }
            // Operands of any lengths.
            CNode::Cbind(..) => {}
            CNode::DotProduct(left, right) => {
                if self.vector(id, left) & self.vector(id, right) {
                    self.equal_lengths(id, node);
                }
            }
            _ => self.equal_lengths(id, node),
        }
    }

    fn template_has(&mut self, id: CNodeId, node: &CNode) {
        let (template, space) = (self.plan.template(), self.plan.space());
        let (allowed, kind) = match node {
            CNode::SideCell(_) => (space != Space::Rows, "side_cell"),
            CNode::SideColScalar(_) => (space != Space::Rows, "side_col_scalar"),
            CNode::SideRow(..) => (space == Space::Rows, "side_row"),
            CNode::SideVector(_) => (space == Space::Rows, "side_vector"),
            CNode::RowAgg(..) => (space == Space::Rows, "row_agg"),
            CNode::RowCumulative(..) => (space == Space::Rows, "row_cumulative"),
            CNode::Cbind(..) => (space == Space::Rows, "cbind"),
            CNode::Scatter(..) => (space == Space::Rows, "scatter"),
            CNode::DotProduct(..) => (space == Space::Rows, "dot_product"),
            CNode::VectMatMult(..) => (space == Space::Rows, "vect_mat_mult"),
            CNode::Windows(op, ..) => (space == Space::Rows, op.mnemonic()),
            CNode::Convolve(..) => (space == Space::Rows, "convolve"),
            CNode::OuterProduct => (space == Space::Factors, "outer_product"),
            CNode::Main
            | CNode::Scalar(_)
            | CNode::Literal(_)
            | CNode::SideRowScalar(..)
            | CNode::RowIndex
            | CNode::Unary(..)
            | CNode::Binary(..)
            | CNode::Ternary(..) => (true, ""),
        };
        self.errors.check(allowed, id, format!("{template} plans have no {kind} nodes"));
    }

    fn input_kind(&mut self, id: CNodeId, node: &CNode, input: CInputId) {
        let Some(&actual) = self.plan.inputs.get(input) else {
            self.errors.push(id, format!("{input} does not exist"));
            return;
        };
        if let CNode::Scalar(_) = node {
            self.errors.check(actual == CInput::Scalar, id, format!("{input} is no scalar"));
            return;
        }
        self.errors.check(actual.is_matrix(), id, format!("{input} is no matrix"));
        let is_side = input.index() >= self.plan.leading_inputs();
        self.errors.check(is_side || *node == CNode::Main, id, format!("{input} is no side input"));
    }

    fn length(&self, id: CNodeId) -> Option<Length> {
        match self.shapes.of(id) {
            Shape::Vector(length) => Some(length),
            Shape::Scalar => None,
        }
    }

    fn vector(&mut self, id: impl fmt::Display, operand: CNodeId) -> bool {
        let is_vector = self.length(operand).is_some();
        self.errors.check(is_vector, id, format!("{operand} is a scalar where a vector is needed"));
        is_vector
    }

    /// Checks that a value is a vector that may be so long.
    fn length_of(&mut self, id: CNodeId, operand: CNodeId, length: u32) {
        if self.vector(id, operand)
            && let Some(actual) = self.length(operand)
        {
            let message = format!("the length of {operand} is {actual}, not {length}");
            self.errors.check(may_equal(actual, Length::Const(length)), id, message);
        }
    }

    fn equal_lengths(&mut self, id: CNodeId, node: &CNode) {
        let operands = node.operands();
        for (position, &right) in operands.iter().enumerate() {
            for &left in &operands[..position] {
                if let (Some(l), Some(r)) = (self.length(left), self.length(right)) {
                    self.errors.check(
                        may_equal(l, r),
                        id,
                        format!("the lengths of {left} and {right} differ: {l} and {r}"),
                    );
                }
            }
        }
    }

    fn outputs(&mut self) {
        let (count, variant) = (self.plan.outputs.len(), self.plan.variant);
        if variant.has_several_outputs() {
            let message = format!("{} {} plans have at least one output", variant.template(), variant.mnemonic());
            self.errors.check(count >= 1, "outputs", message);
        } else {
            self.errors.check(count == 1, "outputs", format!("the plan has one output, not {count}"));
        }
        for (position, output) in self.plan.outputs.iter().enumerate() {
            let entity = format!("output {position}");
            self.output_operands(&entity, output);
            self.output_variant(&entity, output);
        }
    }

    /// The functions and shapes that an output can take.
    fn output_operands(&mut self, entity: &str, output: &COutput) {
        if let Some(op) = output.agg() {
            let message = format!("partial results of {op} do not merge, except over a row");
            self.errors.check(op.merges(), entity, message);
        }
        match *output {
            COutput::Cumulative(op, _) => {
                self.errors.check(op.is_cumulative(), entity, format!("{op} has no cumulative form"));
                let message = "below a row of zeros there is what is above it: no row may be skipped".to_owned();
                self.errors.check(!self.plan.sparse_safe, entity, message);
            }
            COutput::ColAgg(_, node) if self.plan.space() == Space::Rows => {
                self.vector(entity, node);
            }
            COutput::RowProduct { long, short, order } => {
                let adds_vectors = order == ProductOrder::ShortByLong || self.length(short).is_some();
                if adds_vectors {
                    self.vector(entity, short);
                }
                if self.vector(entity, long) && adds_vectors {
                    let message = format!("{long} must be as long as a row of the main input");
                    self.errors.check(self.shapes.is_long(long), entity, message);
                }
            }
            _ => {}
        }
    }

    /// What the output says of the plan's variant.
    fn output_variant(&mut self, entity: &str, output: &COutput) {
        let (template, variant) = (self.plan.template(), self.plan.variant);
        let Some(own) = self.plan.output_variant(output, &self.shapes) else {
            return self.errors.push(entity, format!("{template} plans have no {} outputs", output.mnemonic()));
        };
        if variant == Variant::Row(RowType::MultiAgg) {
            self.output_of_several(entity, output);
        } else if own != variant {
            let (own, variant) = (own.mnemonic(), variant.mnemonic());
            self.errors.push(entity, format!("the output makes the plan {own}, not {variant}"));
        }
    }

    /// An output of a multi-aggregate over rows: its shapes alone say what becomes of it, as in the text form.
    fn output_of_several(&mut self, entity: &str, output: &COutput) {
        match *output {
            COutput::FullAgg(_, node) => {
                let message = format!("{node} is a vector, which multi_agg plans aggregate by column");
                self.errors.check(self.length(node).is_none(), entity, message);
            }
            COutput::RowProduct { short, order: ProductOrder::ShortByLong, .. } => {
                let message = format!("{short} is the long factor, since it comes first");
                self.errors.check(!self.shapes.is_long(short), entity, message);
            }
            _ => {
                let message = format!("multi_agg plans have no {} outputs", output.mnemonic());
                self.errors.check(output.accumulates_rows(), entity, message);
            }
        }
    }

    fn uses(&mut self) {
        let mut used = EntitySet::new();
        for node in self.plan.outputs.iter().flat_map(COutput::operands) {
            used.insert(node);
        }
        for (id, node) in self.plan.nodes.iter().rev() {
            if used.contains(id) {
                for operand in node.operands() {
                    used.insert(operand);
                }
            }
        }
        for id in self.plan.nodes.keys().filter(|&id| !used.contains(id)) {
            self.errors.push(id, "the value is not used");
        }
        // X drives Outer plans even where no node reads its cells, and Row plans may read it as a side input alone.
        let reads_main = matches!(self.plan.space(), Space::Factors | Space::Rows)
            || self.plan.nodes.values().any(|node| matches!(node, CNode::Main));
        self.errors.check(reads_main, MAIN, "the main input is not used");
    }
}

/// How the text of errors names lengths.
impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Length::Main => f.write_str("ncol(main)"),
            Length::Cols(input) => write!(f, "ncol({input})"),
            Length::Cells(input) => write!(f, "length({input})"),
            Length::Const(length) => write!(f, "{length}"),
            Length::Cbind(node) => write!(f, "ncol({node})"),
        }
    }
}
