//! The verifier of CPlans: what templates, backends and skeletons may rely on.

use super::{
    CInput, CInputId, CNode, CNodeId, COutput, CPlan, CellType, FACTOR_V, Length, MAIN, OuterType, RowType, Shape,
    Shapes, Variant,
};
use crate::memo::TemplateType;
pub use crate::verifier::VerifierErrors;
use cranelift_entity::{EntityRef, EntitySet};
use std::fmt;
use std::ops::Deref;

/// A plan that passed the verifier.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VerifiedCPlan(CPlan);

impl VerifiedCPlan {
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

/// The number of leading inputs with a role of their own: X, or X, U and V.
fn leading_inputs(template: TemplateType) -> usize {
    if template == TemplateType::Outer { FACTOR_V.index() + 1 } else { MAIN.index() + 1 }
}

/// Whether vectors of these lengths may be equally long in some execution.
fn may_equal(left: Length, right: Length) -> bool {
    !matches!((left, right), (Length::Const(left), Length::Const(right)) if left != right)
}

impl Verifier<'_> {
    fn inputs(&mut self) {
        let leading = leading_inputs(self.plan.template());
        if self.plan.inputs.len() < leading {
            let message = format!("{} plans have at least {leading} inputs", self.plan.template());
            self.errors.push("inputs", message);
        }
        let mut scalars = false;
        for (id, input) in &self.plan.inputs {
            if id.index() < leading {
                self.errors.check(*input == CInput::Matrix, id, "the leading inputs are matrices");
            }
            self.errors.check(!(scalars && *input == CInput::Matrix), id, "matrices precede scalars");
            scalars |= *input == CInput::Scalar;
        }
        if self.plan.template() == TemplateType::Outer {
            self.errors.check(self.plan.sparse_safe, "plan", "outer plans are sparse-safe");
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
            for node in [Some(output.node), output.left].into_iter().flatten() {
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
            CNode::SideRow(_, Some((first, last))) => {
                self.errors.check(first < last, id, format!("the range {first}:{last} is empty"));
            }
            CNode::RowAgg(_, operand) | CNode::VectMatMult(operand, _) => {
                self.vector(id, operand);
            }
            CNode::RowCumulative(op, operand) => {
                self.errors.check(op.is_cumulative(), id, format!("{op} has no cumulative form"));
                self.vector(id, operand);
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
        let template = self.plan.template();
        let (allowed, kind) = match node {
            CNode::SideCell(_) => (template != TemplateType::Row, "side_cell"),
            CNode::SideColScalar(_) => (template != TemplateType::Row, "side_col_scalar"),
            CNode::SideRow(..) => (template == TemplateType::Row, "side_row"),
            CNode::SideVector(_) => (template == TemplateType::Row, "side_vector"),
            CNode::RowAgg(..) => (template == TemplateType::Row, "row_agg"),
            CNode::RowCumulative(..) => (template == TemplateType::Row, "row_cumulative"),
            CNode::Cbind(..) => (template == TemplateType::Row, "cbind"),
            CNode::DotProduct(..) => (template == TemplateType::Row, "dot_product"),
            CNode::VectMatMult(..) => (template == TemplateType::Row, "vect_mat_mult"),
            CNode::OuterProduct => (template == TemplateType::Outer, "outer_product"),
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
        self.errors.check(actual == CInput::Matrix, id, format!("{input} is no matrix"));
        let is_side = input.index() >= leading_inputs(self.plan.template());
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
        match variant {
            Variant::MAgg | Variant::Row(RowType::MultiAgg) => {
                let message = format!("{} {} plans have at least one output", variant.template(), variant.mnemonic());
                self.errors.check(count >= 1, "outputs", message);
            }
            _ => self.errors.check(count == 1, "outputs", format!("the plan has one output, not {count}")),
        }
        for (position, output) in self.plan.outputs.iter().enumerate() {
            let (entity, variant) = (format!("output {position}"), self.plan.output_variant(output));
            self.aggregation(&entity, variant, output);
            self.left(&entity, variant, output);
            self.output_shape(&entity, variant, output);
        }
    }

    fn aggregation(&mut self, entity: &str, variant: Variant, output: &COutput) {
        let aggregates = matches!(
            variant,
            Variant::Cell(CellType::RowAgg | CellType::ColAgg | CellType::FullAgg)
                | Variant::Row(RowType::ColAgg | RowType::ColAggB1R | RowType::ColAggConst | RowType::FullAgg)
                | Variant::MAgg
                | Variant::Outer(OuterType::FullAgg)
        );
        let variant = variant.mnemonic();
        match output.agg {
            Some(op) if !op.merges() => {
                self.errors.push(entity, format!("partial results of {op} do not merge, except over a row"));
            }
            Some(_) => self.errors.check(aggregates, entity, format!("{variant} takes no aggregation function")),
            None => self.errors.check(!aggregates, entity, format!("{variant} needs an aggregation function")),
        }
    }

    fn left(&mut self, entity: &str, variant: Variant, output: &COutput) {
        let needs_left = matches!(variant, Variant::Row(RowType::ColAggT | RowType::ColAggB1 | RowType::ColAggB1T));
        match output.left {
            Some(_) if !needs_left => {
                self.errors.push(entity, format!("{} takes no left vector", variant.mnemonic()));
            }
            None if needs_left => {
                self.errors.push(entity, format!("{} needs a left vector", variant.mnemonic()));
            }
            Some(left) => {
                self.vector(entity, left);
                if variant == Variant::Row(RowType::ColAggB1T) {
                    self.long_vector(entity, left);
                }
            }
            None => {}
        }
    }

    fn long_vector(&mut self, entity: &str, node: CNodeId) {
        self.errors.check(
            self.shapes.is_long(node),
            entity,
            format!("{node} must be as long as a row of the main input"),
        );
    }

    fn output_shape(&mut self, entity: &str, variant: Variant, output: &COutput) {
        let Variant::Row(row_type) = variant else { return };
        match row_type {
            RowType::RowAgg | RowType::ColAggT => {
                let is_scalar = self.length(output.node).is_none();
                self.errors.check(is_scalar, entity, format!("{} is a vector where a scalar is needed", output.node));
            }
            RowType::ColAggB1T => {
                self.vector(entity, output.node);
            }
            RowType::NoAgg | RowType::NoAggB1 | RowType::NoAggConst => {
                if self.vector(entity, output.node) {
                    self.variant_of_length(entity, variant, output.node, RowType::no_agg);
                }
            }
            RowType::ColAgg | RowType::ColAggB1R | RowType::ColAggConst => {
                if self.vector(entity, output.node) {
                    self.variant_of_length(entity, variant, output.node, RowType::col_agg);
                }
            }
            RowType::ColAggB1 => {
                self.vector(entity, output.node);
                self.long_vector(entity, output.node);
            }
            // Of several outputs none has this variant by itself.
            RowType::FullAgg | RowType::MultiAgg => {}
        }
    }

    /// Checks that the length of the output vector decides the variant.
    fn variant_of_length(&mut self, entity: &str, actual: Variant, node: CNodeId, of_length: fn(Length) -> RowType) {
        let expected = self.shapes.vector_length(node).map(|length| Variant::Row(of_length(length)));
        if let Some(expected) = expected.filter(|expected| *expected != actual) {
            let (actual, expected) = (actual.mnemonic(), expected.mnemonic());
            self.errors.push(entity, format!("the length of {node} makes the plan {expected}, not {actual}"));
        }
    }

    fn uses(&mut self) {
        let mut used = EntitySet::new();
        for output in &self.plan.outputs {
            for node in [Some(output.node), output.left].into_iter().flatten() {
                used.insert(node);
            }
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
        let reads_main = matches!(self.plan.template(), TemplateType::Outer | TemplateType::Row)
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
