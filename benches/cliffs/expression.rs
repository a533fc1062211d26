//! Expressions as graphs of operators over random matrices, and their text in DML.

use std::fmt;

/// A matrix of random values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Input {
    pub(crate) name: &'static str,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    /// The share of cells that are not zero.
    pub(crate) density: f64,
    /// The bounds of these cells.
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Input {
    pub(crate) fn is_sparse(&self) -> bool {
        self.density < 1.0
    }
}

/// The call that generates the matrix: the name decides the seed.
impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Input { name, rows, cols, density, low, high } = self;
        let seed = name.as_bytes()[0];
        write!(f, "rand(rows={rows}, cols={cols}, min={low}, max={high}, sparsity={density}, seed={seed})")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unary {
    Abs,
    Exp,
    Log,
    Round,
    Sigmoid,
    Sign,
    Sqrt,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Plus,
    Minus,
    Mult,
    Div,
    Power,
    Min,
    Max,
    NotEqual,
    Greater,
    LessEqual,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aggregate {
    Sum,
    Mean,
    Min,
    Max,
}

/// What an aggregate takes together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Full,
    /// Each row: the result is a column.
    Row,
    /// Each column: the result is a row.
    Col,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Op {
    Input(Input),
    Number(f64),
    Unary(Unary),
    Binary(Binary),
    Product,
    Transpose,
    Aggregate(Aggregate, Direction),
}

/// An operator and the positions of its operands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) op: Op,
    pub(crate) operands: Vec<usize>,
}

/// A graph of operators, operands before those that use them, of which some are results.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Expression {
    pub(crate) nodes: Vec<Node>,
    pub(crate) results: Vec<usize>,
}

impl Expression {
    /// The position of a node, which is there already where one is equal.
    pub(crate) fn position_of(&mut self, node: Node) -> usize {
        let known = self.nodes.iter().position(|other| *other == node);
        known.unwrap_or_else(|| {
            self.nodes.push(node);
            self.nodes.len() - 1
        })
    }

    pub(crate) fn is_operator(&self, position: usize) -> bool {
        !matches!(self.nodes[position].op, Op::Input(_) | Op::Number(_))
    }

    /// The number of operators: the size of an expression.
    pub(crate) fn operators(&self) -> usize {
        (0..self.nodes.len()).filter(|&position| self.is_operator(position)).count()
    }

    pub(crate) fn inputs(&self) -> impl Iterator<Item = &Input> {
        self.nodes.iter().filter_map(|node| match &node.op {
            Op::Input(input) => Some(input),
            _ => None,
        })
    }

    pub(crate) fn is_over_sparse_inputs(&self) -> bool {
        self.inputs().any(Input::is_sparse)
    }

    /// The names of the results, in their order.
    pub(crate) fn result_names(&self) -> Vec<String> {
        (1..=self.results.len()).map(|number| format!("R{number}")).collect()
    }

    /// The nodes that results need, each once.
    pub(crate) fn without_dead_nodes(&self) -> Expression {
        let mut is_live = vec![false; self.nodes.len()];
        self.results.iter().for_each(|&result| is_live[result] = true);
        for position in (0..self.nodes.len()).rev().filter(|&position| self.is_operator(position)) {
            if is_live[position] {
                self.nodes[position].operands.iter().for_each(|&operand| is_live[operand] = true);
            }
        }
        let mut live = Expression::default();
        let mut places = vec![0; self.nodes.len()];
        for (position, node) in self.nodes.iter().enumerate().filter(|(position, _)| is_live[*position]) {
            let operands = node.operands.iter().map(|&operand| places[operand]).collect();
            places[position] = live.position_of(Node { op: node.op, operands });
        }
        for &result in &self.results {
            if !live.results.contains(&places[result]) {
                live.results.push(places[result]);
            }
        }
        live
    }

    /// The statements that generate the inputs, by name.
    pub(crate) fn data_text(&self) -> String {
        let mut statements: Vec<String> = self.inputs().map(|input| format!("{} = {input}\n", input.name)).collect();
        statements.sort();
        statements.concat()
    }

    /// The statements that compute the results: one for each of them, and for each operator that several others use.
    pub(crate) fn text(&self) -> String {
        let mut names = vec![None; self.nodes.len()];
        for (&result, name) in self.results.iter().zip(self.result_names()) {
            names[result] = Some(name);
        }
        let mut shared = 0;
        for (position, name) in names.iter_mut().enumerate() {
            if name.is_none() && self.is_shared(position) {
                shared += 1;
                *name = Some(format!("s{shared}"));
            }
        }
        let named = names.iter().enumerate().filter_map(|(position, name)| Some((position, name.as_ref()?)));
        named.map(|(position, name)| format!("{name} = {}\n", self.formula(position, &names))).collect()
    }

    /// Whether several operators use this one. Transposed inputs are written where they are used.
    fn is_shared(&self, position: usize) -> bool {
        let node = &self.nodes[position];
        let is_transposed_input = node.op == Op::Transpose && !self.is_operator(node.operands[0]);
        let uses = self.nodes.iter().flat_map(|node| &node.operands).filter(|&&operand| operand == position).count();
        self.is_operator(position) && !is_transposed_input && uses > 1
    }

    /// An operator of its operands, by their names where they have some.
    fn formula(&self, position: usize, names: &[Option<String>]) -> String {
        let Node { op, operands } = &self.nodes[position];
        let operand = |index: usize| match &names[operands[index]] {
            Some(name) => name.clone(),
            None => self.formula(operands[index], names),
        };
        let factor = |index: usize| {
            let is_bare = names[operands[index]].is_some() || !self.nodes[operands[index]].op.is_infix();
            if is_bare { operand(index) } else { format!("({})", operand(index)) }
        };
        match op {
            Op::Input(input) => input.name.to_owned(),
            Op::Number(number) => number.to_string(),
            Op::Binary(_) | Op::Product if op.is_infix() => format!("{} {} {}", factor(0), op.word(), factor(1)),
            Op::Binary(_) | Op::Product => format!("{}({}, {})", op.word(), operand(0), operand(1)),
            Op::Unary(_) | Op::Transpose | Op::Aggregate(..) => format!("{}({})", op.word(), operand(0)),
        }
    }
}

impl Op {
    /// Whether the operator stands between its operands.
    fn is_infix(self) -> bool {
        match self {
            Op::Binary(binary) => !matches!(binary, Binary::Min | Binary::Max),
            op => op == Op::Product,
        }
    }

    /// The operator or function of DML; inputs and numbers have none.
    fn word(self) -> &'static str {
        match self {
            Op::Input(_) | Op::Number(_) => "",
            Op::Unary(Unary::Abs) => "abs",
            Op::Unary(Unary::Exp) => "exp",
            Op::Unary(Unary::Log) => "log",
            Op::Unary(Unary::Round) => "round",
            Op::Unary(Unary::Sigmoid) => "sigmoid",
            Op::Unary(Unary::Sign) => "sign",
            Op::Unary(Unary::Sqrt) => "sqrt",
            Op::Binary(Binary::Plus) => "+",
            Op::Binary(Binary::Minus) => "-",
            Op::Binary(Binary::Mult) => "*",
            Op::Binary(Binary::Div) => "/",
            Op::Binary(Binary::Power) => "^",
            Op::Binary(Binary::Min) => "min",
            Op::Binary(Binary::Max) => "max",
            Op::Binary(Binary::NotEqual) => "!=",
            Op::Binary(Binary::Greater) => ">",
            Op::Binary(Binary::LessEqual) => "<=",
            Op::Product => "%*%",
            Op::Transpose => "t",
            Op::Aggregate(Aggregate::Sum, Direction::Full) => "sum",
            Op::Aggregate(Aggregate::Sum, Direction::Row) => "rowSums",
            Op::Aggregate(Aggregate::Sum, Direction::Col) => "colSums",
            Op::Aggregate(Aggregate::Mean, Direction::Full) => "mean",
            Op::Aggregate(Aggregate::Mean, Direction::Row) => "rowMeans",
            Op::Aggregate(Aggregate::Mean, Direction::Col) => "colMeans",
            Op::Aggregate(Aggregate::Min, Direction::Full) => "min",
            Op::Aggregate(Aggregate::Min, Direction::Row) => "rowMins",
            Op::Aggregate(Aggregate::Min, Direction::Col) => "colMins",
            Op::Aggregate(Aggregate::Max, Direction::Full) => "max",
            Op::Aggregate(Aggregate::Max, Direction::Row) => "rowMaxs",
            Op::Aggregate(Aggregate::Max, Direction::Col) => "colMaxs",
        }
    }
}
