//! The e-graph over HOPs: the one file, with the rules' compilation, that egg's types stay inside.
//!
//! [`Node`] is an operator with its inputs; [`FactsAnalysis`] keeps for every class what sizes and types say of it.

use super::cost::Shape;
use super::operator::Operator;
use crate::fold::fold;
use crate::size::size_inputs;
use egg::{Analysis, DidMerge, FromOp, Id, Language};
use fuseline_ir::hop::{DataGenOp, Hop, HopDag, HopId, HopOp, Inputs, ShapeOp, Span, infer};
use fuseline_ir::ops::UnaryOp;
use fuseline_ir::size::SizeInfo;
use fuseline_ir::types::{DataType, Value};
use smallvec::SmallVec;
use std::fmt;

pub(super) type EGraph = egg::EGraph<Node, FactsAnalysis>;

/// An operator and the classes of its inputs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Node {
    pub(super) operator: Operator,
    pub(super) inputs: SmallVec<[Id; 3]>,
}

impl Language for Node {
    type Discriminant = Operator;

    fn discriminant(&self) -> Operator {
        self.operator.clone()
    }

    fn matches(&self, other: &Self) -> bool {
        self.inputs.len() == other.inputs.len() && self.operator == other.operator
    }

    fn children(&self) -> &[Id] {
        &self.inputs
    }

    fn children_mut(&mut self) -> &mut [Id] {
        &mut self.inputs
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.operator.fmt(f)
    }
}

impl FromOp for Node {
    type Error = String;

    fn from_op(mnemonic: &str, inputs: Vec<Id>) -> Result<Self, String> {
        let operator = Operator::from_mnemonic(mnemonic).ok_or_else(|| format!("`{mnemonic}` names no operation"))?;
        Ok(Node { operator, inputs: SmallVec::from_vec(inputs) })
    }
}

/// What is known of the value of a class.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub(super) data_type: DataType,
    pub(super) size: SizeInfo,
    pub(super) constant: Option<Value>,
    /// Whether it is a matrix of one constant.
    pub(super) is_fill: bool,
    /// Whether all cells are 0 or 1.
    pub(super) is_indicator: bool,
    /// Whether an operator of the class may fail when it runs.
    may_fail: bool,
    /// Whether it, or an operator on the way to its value, may fail.
    pub(super) may_be_missing: bool,
    pub(super) span: Option<Span>,
}

impl Facts {
    const UNKNOWN: Facts = Facts {
        data_type: DataType::Unknown,
        size: SizeInfo::UNKNOWN,
        constant: None,
        is_fill: false,
        is_indicator: false,
        may_fail: true,
        may_be_missing: true,
        span: None,
    };

    /// The facts of an operator of the input. Whether it may be missing, its inputs say.
    pub(super) fn of(dag: &HopDag, hop: &Hop) -> Self {
        let constant = match &hop.op {
            HopOp::Literal(value) => Some(value.clone()),
            _ => None,
        };
        let may_fail = dag.may_fail(&hop.op, &hop.inputs);
        Facts {
            data_type: hop.data_type,
            size: hop.size,
            constant,
            is_fill: false,
            is_indicator: is_indicator(&hop.op, hop.data_type),
            may_fail,
            may_be_missing: may_fail,
            span: hop.span,
        }
    }

    /// Whether no rule finds anything simpler. What the rules make of such values only adds to them: all empty matrices
    /// of one shape are one class, with operators that have itself as an input.
    pub(super) fn is_settled(&self) -> bool {
        self.constant.is_some() || self.is_fill
    }

    pub(super) fn shape(&self) -> Shape {
        (self.data_type, self.size)
    }

    /// Whether an operator that gives the value may fail when it runs, and none proves that there is such a value.
    pub(super) fn may_fail(&self) -> bool {
        self.may_fail && self.may_be_missing
    }

    /// Whether the two may describe one value: same type, no dimension known to differ.
    pub(super) fn agrees(&self, other: &Facts) -> bool {
        self.data_type == other.data_type
            && may_be_equal(self.size.rows, other.size.rows)
            && may_be_equal(self.size.cols, other.size.cols)
    }
}

/// Whether two dimensions are not known to differ.
fn may_be_equal(one: Option<u64>, other: Option<u64>) -> bool {
    one.is_none() || other.is_none() || one == other
}

/// Keeps [`Facts`] of every class; where equal classes merge, what either knows holds, and the tighter bound on
/// non-zeros.
#[derive(Debug, Default)]
pub(super) struct FactsAnalysis {
    /// The facts of the operator that is being added, where the input DAG gives them.
    given: Option<Facts>,
    /// How much ranges between scalars cover, whose values decide no more than that.
    extents: Vec<(SmallVec<[Id; 3]>, u64)>,
}

/// Adds an operator of the input with the facts that the input gives.
pub(super) fn add_given(egraph: &mut EGraph, node: Node, facts: Facts) -> Id {
    for (range, extent) in ranges(&node).zip([facts.size.rows, facts.size.cols]) {
        let is_open = of_range(&node, range).any(|bound| egraph[bound].data.constant.is_none());
        let known = extent.filter(|_| is_open).map(|extent| (of_range(&node, range).collect(), extent));
        egraph.analysis.extents.extend(known);
    }
    egraph.analysis.given = Some(facts);
    let id = egraph.add(node);
    egraph.analysis.given = None;
    id
}

impl Analysis<Node> for FactsAnalysis {
    type Data = Facts;

    fn make(egraph: &mut EGraph, node: &Node, _id: Id) -> Facts {
        let facts = egraph.analysis.given.take().unwrap_or_else(|| infer_facts(egraph, node));
        let inputs = || node.inputs.iter().map(|&input| &egraph[input].data);
        let is_fill =
            *node.operator.op() == HopOp::DataGen(DataGenOp::Matrix) && inputs().all(|input| input.constant.is_some());
        let may_be_missing = facts.may_be_missing || inputs().any(|input| input.may_be_missing);
        Facts { is_fill, may_be_missing, ..facts }
    }

    fn merge(&mut self, a: &mut Facts, b: Facts) -> DidMerge {
        merge_types(&mut a.data_type, b.data_type)
            | keep_first(&mut a.size.rows, b.size.rows)
            | keep_first(&mut a.size.cols, b.size.cols)
            | egg::merge_option(&mut a.size.nnz, b.size.nnz, egg::merge_min)
            | keep_first(&mut a.constant, b.constant)
            | egg::merge_max(&mut a.is_fill, b.is_fill)
            | egg::merge_max(&mut a.is_indicator, b.is_indicator)
            // Equal forms fail alike, but by an operator of their own or by one on their way: `f * 1` cannot fail where
            // `f` did not, and is `f`, which may.
            | egg::merge_max(&mut a.may_fail, b.may_fail)
            | egg::merge_min(&mut a.may_be_missing, b.may_be_missing)
            | egg::merge_option(&mut a.span, b.span, earlier)
    }

    fn modify(egraph: &mut EGraph, id: Id) {
        let Some(value) = egraph[id].data.constant.clone() else { return };
        let literal = Node { operator: Operator::pure(&HopOp::Literal(value)), inputs: SmallVec::new() };
        if !egraph[id].nodes.contains(&literal) {
            let literal = egraph.add(literal);
            egraph.union(id, literal);
        }
    }
}

fn merge_types(a: &mut DataType, b: DataType) -> DidMerge {
    match (*a, b) {
        (DataType::Unknown, DataType::Unknown) => DidMerge(false, false),
        (DataType::Unknown, _) => {
            *a = b;
            DidMerge(true, false)
        }
        (_, DataType::Unknown) => DidMerge(false, true),
        _ => DidMerge(false, false),
    }
}

fn keep_first<T>(a: &mut Option<T>, b: Option<T>) -> DidMerge {
    egg::merge_option(a, b, |_, _| DidMerge(false, false))
}

/// The place that comes first in the sources.
fn earlier(a: &mut Span, b: Span) -> DidMerge {
    let order = (a.source, a.start, a.end).cmp(&(b.source, b.start, b.end));
    if order.is_gt() {
        *a = b;
    }
    DidMerge(order.is_gt(), order.is_lt())
}

/// Facts of an operator that a rule made, from those of its inputs.
fn infer_facts(egraph: &EGraph, node: &Node) -> Facts {
    let op = node.operator.op();
    if let HopOp::Literal(value) = op {
        let data_type = DataType::Scalar(value.scalar_type());
        let is_indicator = is_indicator(op, data_type);
        let constant = Some(value.clone());
        return Facts { data_type, constant, is_indicator, may_fail: false, may_be_missing: false, ..Facts::UNKNOWN };
    }
    if !op.is_pure() || matches!(op, HopOp::Read(_) | HopOp::Parameterized { .. } | HopOp::SpoofOp { .. }) {
        // Only the input knows the types and sizes of these.
        return Facts::UNKNOWN;
    }
    let (mut scratch, mut inputs) = input_dag(egraph, node);
    for range in ranges(node) {
        if let Some(extent) = extent(egraph, node, range) {
            // Any range of this length has the same size.
            let stand_in = [1, extent, 1].map(|bound| scratch.literal(Value::I64(bound)));
            range.iter().zip(stand_in).for_each(|(&position, bound)| inputs[position] = bound);
        }
    }
    let Ok((data_type, size)) = infer::output(&scratch, op, &inputs) else { return Facts::UNKNOWN };
    let constants: Option<Vec<&Value>> = node.inputs.iter().map(|&id| egraph[id].data.constant.as_ref()).collect();
    let constant = constants.filter(|inputs| !inputs.is_empty()).and_then(|inputs| fold(op, data_type, &inputs));
    let constant = constant.or_else(|| count(egraph, node).map(Value::I64));
    let may_fail = scratch.may_fail(op, &inputs);
    let is_indicator = is_indicator(op, data_type);
    Facts { data_type, size, constant, is_fill: false, is_indicator, may_fail, may_be_missing: may_fail, span: None }
}

/// Whether an operation gives 0 or 1 in every cell.
fn is_indicator(op: &HopOp, data_type: DataType) -> bool {
    data_type == DataType::BOOL
        || match op {
            HopOp::Unary(op) => matches!(op, UnaryOp::Not | UnaryOp::IsNan | UnaryOp::IsInf),
            HopOp::Binary(op) | HopOp::Outer(op) => op.algebra().boolean,
            _ => false,
        }
}

/// The number of rows, columns or cells that an operator asks for, where it is known, and surely is there to be counted.
fn count(egraph: &EGraph, node: &Node) -> Option<i64> {
    let (HopOp::Shape(shape), [input]) = (node.operator.op(), &node.inputs[..]) else { return None };
    let facts = &egraph[*input].data;
    let count = match shape {
        _ if !facts.data_type.is_matrix() || facts.may_be_missing => None,
        ShapeOp::Nrow => facts.size.rows,
        ShapeOp::Ncol => facts.size.cols,
        ShapeOp::Length => facts.size.cells(),
    };
    count.and_then(|count| i64::try_from(count).ok())
}

/// The positions of inputs of which several together decide a dimension, rows first.
fn ranges(node: &Node) -> impl Iterator<Item = &'static [usize]> {
    size_inputs(node.operator.op()).iter().copied().filter(|inputs| inputs.len() > 1)
}

fn of_range(node: &Node, range: &'static [usize]) -> impl Iterator<Item = Id> {
    range.iter().map(|&position| node.inputs[position])
}

/// How much a range covers, if the input DAG told.
fn extent(egraph: &EGraph, node: &Node, range: &'static [usize]) -> Option<i64> {
    let (_, extent) = egraph.analysis.extents.iter().find(|(known, _)| {
        known.len() == range.len() && of_range(node, range).zip(known).all(|(a, &b)| egraph.find(a) == egraph.find(b))
    })?;
    i64::try_from(*extent).ok()
}

/// A DAG of leaves that have the facts of the inputs of `node`, since inference asks about operators of a DAG.
fn input_dag(egraph: &EGraph, node: &Node) -> (HopDag, Inputs) {
    let mut dag = HopDag::new();
    let mut inputs = Inputs::new();
    for (position, &id) in node.inputs.iter().enumerate() {
        let class = egraph.find(id);
        let repeated = node.inputs[..position].iter().position(|&earlier| egraph.find(earlier) == class);
        inputs.push(match repeated {
            Some(earlier) => inputs[earlier],
            None => push_leaf(&mut dag, &egraph[class].data),
        });
    }
    (dag, inputs)
}

fn push_leaf(dag: &mut HopDag, facts: &Facts) -> HopId {
    let op = facts.constant.clone().map_or_else(|| HopOp::Read(String::new()), HopOp::Literal);
    dag.push(Hop { op, inputs: Inputs::new(), data_type: facts.data_type, size: facts.size, span: None })
}
