//! What a drawing of a DAG shows, whatever draws it: nodes in boxes, with edges between them.
//!
//! A fused operator is a box of the operators that it covers. What several fused operators cover is drawn in each of
//! them, as each computes it; so boxes never overlap, and what is between two of them is what is really materialised.

use super::document::{ExplainedDag, ExplainedHop};
use fuseline_ir::template::TemplateType;
use fuseline_passes::explain::report::OperatorReport;
use fuseline_passes::explain::seconds_text;
use fuseline_passes::memory::bytes_text;
use std::collections::BTreeMap;

/// A drawing of a DAG.
#[derive(Clone, Debug, Default)]
pub(super) struct Drawing {
    /// The DAG's name.
    pub(super) title: String,
    /// What is executed, inputs before their users: the order of the graph between boxes.
    pub(super) boxes: Vec<Frame>,
    /// The operators.
    pub(super) nodes: Vec<Node>,
    /// Who reads whom.
    pub(super) edges: Vec<Edge>,
}

/// A fused operator, or a single operator without a frame.
#[derive(Clone, Debug, Default)]
pub(super) struct Frame {
    /// The template of a fused operator: what it is coloured by.
    pub(super) template: Option<TemplateType>,
    /// What is written on top of a frame.
    pub(super) caption: String,
    /// The nodes inside.
    pub(super) nodes: Vec<usize>,
}

/// An operator.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    /// What is written on it.
    pub(super) lines: Vec<String>,
    /// Whether it is data from outside of the DAG.
    pub(super) is_read: bool,
    /// The box that it is in.
    pub(super) owner: usize,
}

/// The value of one node as an input of another.
#[derive(Clone, Debug)]
pub(super) struct Edge {
    /// The producer.
    pub(super) from: usize,
    /// The consumer.
    pub(super) to: usize,
    /// The size of what is materialised; nothing within a fused operator.
    pub(super) label: String,
    /// Why the edge is not fused.
    pub(super) reason: Option<String>,
}

impl Drawing {
    /// The drawing of a DAG at its stage. Operators that nothing needs, and literals, are not drawn by themselves.
    pub(super) fn new(dag: &ExplainedDag) -> Self {
        let mut builder =
            Builder { dag, drawing: Drawing::default(), nodes: BTreeMap::new(), computed: BTreeMap::new() };
        let fused: Vec<&OperatorReport> =
            dag.plan.iter().flat_map(|plan| &plan.operators).filter(|operator| operator.template.is_some()).collect();
        for step in steps(dag, &fused) {
            match step {
                Step::Fused(operator) => builder.fused(operator),
                Step::Single(hop) => builder.single(hop),
            }
        }
        builder.connect();
        builder.drawing.title.clone_from(&dag.name);
        builder.drawing
    }
}

/// What is executed at a time.
enum Step<'a> {
    Fused(&'a OperatorReport),
    Single(&'a ExplainedHop),
}

/// What is needed, inputs before their users.
fn steps<'a>(dag: &'a ExplainedDag, fused: &[&'a OperatorReport]) -> Vec<Step<'a>> {
    enum Visit {
        Enter(u32),
        Leave(u32),
    }
    let roots = dag.outputs.iter().map(|output| output.hop).chain(dag.effects.iter().copied());
    let mut pending: Vec<Visit> = roots.map(Visit::Enter).collect();
    pending.reverse();
    let mut entered = vec![false; dag.operators.len()];
    let mut steps = Vec::new();
    while let Some(visit) = pending.pop() {
        let (Visit::Enter(id) | Visit::Leave(id)) = visit;
        let hop = &dag.operators[id as usize];
        let operator = fused.iter().find(|operator| operator.roots.contains(&id));
        if let Visit::Leave(_) = visit {
            steps.push(operator.map_or(Step::Single(hop), |operator| Step::Fused(operator)));
            continue;
        }
        if is_literal(hop) || std::mem::replace(&mut entered[id as usize], true) {
            continue;
        }
        for &root in operator.iter().flat_map(|operator| &operator.roots) {
            entered[root as usize] = true;
        }
        pending.push(Visit::Leave(id));
        let inputs: Vec<u32> = match operator {
            Some(operator) => operator.reads.iter().map(|read| read.hop).collect(),
            None => hop.inputs.to_vec(),
        };
        pending.extend(inputs.into_iter().rev().map(Visit::Enter));
    }
    steps
}

struct Builder<'a> {
    dag: &'a ExplainedDag,
    drawing: Drawing,
    /// By box and operator.
    nodes: BTreeMap<(usize, u32), usize>,
    /// The node that computes the value of an operator which is materialised.
    computed: BTreeMap<u32, usize>,
}

impl<'a> Builder<'a> {
    fn fused(&mut self, operator: &OperatorReport) {
        let variant = operator.variant.as_deref().unwrap_or("unfused");
        let template = operator.template.map_or("", TemplateType::mnemonic);
        let caption = format!("{template} {variant}, {}", seconds_text(operator.cost.seconds));
        let members = operator.members.iter().map(|&id| &self.dag.operators[id as usize]);
        let members: Vec<&ExplainedHop> = members.collect();
        self.add(Frame { template: operator.template, caption, nodes: vec![] }, &members, &operator.roots);
    }

    fn single(&mut self, hop: &ExplainedHop) {
        self.add(Frame::default(), &[hop], &[hop.id]);
    }

    fn add(&mut self, frame: Frame, members: &[&ExplainedHop], roots: &[u32]) {
        let owner = self.drawing.boxes.len();
        self.drawing.boxes.push(frame);
        for hop in members {
            let node = self.drawing.nodes.len();
            let is_root = roots.contains(&hop.id);
            self.drawing.nodes.push(Node { lines: self.lines(hop, is_root), is_read: is_read(hop), owner });
            self.drawing.boxes[owner].nodes.push(node);
            self.nodes.insert((owner, hop.id), node);
            if is_root {
                self.computed.insert(hop.id, node);
            }
        }
    }

    /// Number and label with literal operands, the size, and what the stage knows of the operator.
    fn lines(&self, hop: &ExplainedHop, is_root: bool) -> Vec<String> {
        let operands = hop.inputs.iter().map(|&input| &self.dag.operators[input as usize]);
        let literals: Vec<&str> = operands.filter(|input| is_literal(input)).map(|input| &*input.label).collect();
        let mut first = if is_read(hop) { hop.label.clone() } else { format!("{} {}", hop.id, hop.label) };
        for literal in literals {
            first.push(' ');
            first.push_str(literal);
        }
        let mut lines = vec![first, size(hop)];
        let groups = self.dag.memo.iter().flatten().filter(|group| group.hop == hop.id);
        let plans: Vec<&str> = groups.flat_map(|group| &group.entries).map(|entry| &*entry.notation).collect();
        lines.extend(plans.chunks(4).map(|plans| plans.join(" ")));
        let basic = self.dag.plan.iter().flat_map(|plan| &plan.operators);
        let basic = basic.filter(|operator| operator.template.is_none() && operator.roots == [hop.id] && is_root);
        lines.extend(basic.map(|operator| seconds_text(operator.cost.seconds)));
        let outputs = self.dag.outputs.iter().filter(|output| output.hop == hop.id && is_root && !is_read(hop));
        lines.extend(outputs.map(|output| format!("= {}", output.name)));
        lines
    }

    /// Draws what each node reads.
    fn connect(&mut self) {
        for (&(owner, id), &to) in &self.nodes {
            let hop = &self.dag.operators[id as usize];
            for (position, &input) in hop.inputs.iter().enumerate() {
                let is_repeated = hop.inputs[..position].contains(&input);
                let inside = self.nodes.get(&(owner, input)).copied();
                let Some(from) = inside.or_else(|| self.computed.get(&input).copied()).filter(|_| !is_repeated) else {
                    continue;
                };
                let producer = &self.dag.operators[input as usize];
                let label =
                    if inside.is_some() { String::new() } else { producer.bytes.map_or("?".to_owned(), bytes_text) };
                let reason = self.reason(owner, id, input).filter(|_| inside.is_none());
                self.drawing.edges.push(Edge { from, to, label, reason });
            }
        }
    }

    fn reason(&self, owner: usize, consumer: u32, producer: u32) -> Option<String> {
        let is_reader = |reader: u32| self.nodes.contains_key(&(owner, reader));
        let edges = self.dag.plan.iter().flat_map(|plan| &plan.unfused);
        let mut edges =
            edges.filter(|edge| edge.consumer == consumer && edge.producer == producer && is_reader(edge.reader));
        edges.next().map(|edge| edge.sentence.clone())
    }
}

fn is_literal(hop: &ExplainedHop) -> bool {
    hop.operation.starts_with("literal ")
}

fn is_read(hop: &ExplainedHop) -> bool {
    hop.operation.starts_with("read ") && hop.inputs.is_empty()
}

/// `100000 x 50`, with the share of non-zeros where it is known to be below 1; for scalars the type.
fn size(hop: &ExplainedHop) -> String {
    let part = |value: Option<u64>| value.map_or("?".to_owned(), |value| value.to_string());
    if hop.rows.is_none() && hop.cols.is_none() && hop.data_type != "matrix" {
        return hop.data_type.clone();
    }
    let dims = format!("{} x {}", part(hop.rows), part(hop.cols));
    match (hop.rows, hop.cols, hop.nnz) {
        (Some(rows), Some(cols), Some(nnz)) if (nnz as f64) < rows as f64 * cols as f64 => {
            format!("{dims}, {nnz} non-zeros")
        }
        _ => dims,
    }
}
