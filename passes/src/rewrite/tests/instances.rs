//! Random instances of rules: leaves for the variables of a pattern, with shapes and values that often meet the guards
//! of the rule and sometimes just miss them.

use super::super::guards::Kind;
use super::super::rules::{Guard, Rule};
use super::super::{compile, egraph};
use super::evaluate::Cells;
use super::rules::Random;
use egg::{ENodeOrVar, Id, Pattern, Rewrite, Var};
use egraph::{EGraph, Facts, FactsAnalysis, Node, add_given};
use fuseline_ir::SizeInfo;
use fuseline_ir::hop::{DataGenOp, Hop, HopDag, HopId, HopOp, Inputs};
use fuseline_ir::ops::BinaryOp;
use fuseline_ir::types::{DataType, ScalarType, Value};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// What cells hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Values {
    SmallIntegers,
    Reals,
    Sparse,
    /// Finite, but so large or small that products and exponentials leave the range of doubles.
    Extreme,
    NonFinite,
}

impl Values {
    pub(super) const ALL: [Values; 5] =
        [Values::SmallIntegers, Values::Reals, Values::Sparse, Values::Extreme, Values::NonFinite];
    /// Those on which what is right for real numbers is right in doubles.
    pub(super) const TAME: [Values; 3] = [Values::SmallIntegers, Values::Reals, Values::Sparse];

    fn draw(self, random: &mut Random) -> f64 {
        let real = (random.next() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0;
        match self {
            Values::SmallIntegers => random.below(17) as f64 - 8.0,
            Values::Reals => real,
            Values::Sparse => {
                if random.below(3) > 0 {
                    0.0
                } else {
                    real
                }
            }
            Values::Extreme => {
                let special = [1e308, -1e200, 1e-200, -1e-310, 5e-324, 720.0, -745.5, -0.0, 0.0, 1.0, -1.5];
                special[random.below(special.len())]
            }
            Values::NonFinite => {
                [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, 1.5, -2.0, 1e308, 0.0][random.below(9)]
            }
        }
    }
}

/// What is known of a leaf where a rule is tried.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Known {
    Nothing,
    Rows,
    Columns,
    Dimensions,
    NonZeros,
    /// Dimensions of matrices and values of scalars: what is known when a program runs.
    Everything,
}

impl Known {
    const ALL: [Known; 5] = [Known::Nothing, Known::Rows, Known::Columns, Known::Dimensions, Known::NonZeros];

    fn size(self, cells: &Cells) -> SizeInfo {
        let (rows, cols) = (cells.rows as u64, cells.cols as u64);
        match self {
            Known::Nothing => SizeInfo::UNKNOWN,
            Known::Rows => SizeInfo { rows: Some(rows), ..SizeInfo::UNKNOWN },
            Known::Columns => SizeInfo { cols: Some(cols), ..SizeInfo::UNKNOWN },
            Known::Dimensions | Known::Everything => SizeInfo::dims(rows, cols),
            Known::NonZeros => {
                SizeInfo::with_nnz(rows, cols, cells.values.iter().filter(|value| **value != 0.0).count() as u64)
            }
        }
    }
}

/// A leaf of an instance.
#[derive(Clone, Debug)]
enum Leaf {
    Matrix(Cells),
    /// Where the cells are not zero.
    Indicator(Cells),
    /// A variable: a double, an integer or a truth value.
    Scalar(Value),
    Literal(Value),
    /// A number of rows, columns, or a position; a literal where it is known.
    Count(i64),
}

/// One pattern of a rule, with its operations filled in.
pub(super) struct Patterns {
    pub(super) left: Pattern<Node>,
    right: Pattern<Node>,
    /// Under the guards of the rule.
    pub(super) guarded: Vec<Rewrite<Node, FactsAnalysis>>,
}

impl Patterns {
    pub(super) fn new(rule: &Rule, left: &str, right: &str) -> Self {
        let guarded = compile::compile_pattern(rule, rule.when, compile::Errors::Stay, left, right);
        Patterns { left: compile::parse(left), right: compile::parse(right), guarded }
    }

    /// An instance of the left side; `None` where the random shapes do not fit.
    pub(super) fn instantiate(&self, rule: &Rule, values: Values, random: &mut Random) -> Option<Instance> {
        let counts = self.counts();
        // Few distinct extents, so that shapes often fit.
        let mut extent = || if random.below(8) == 0 { 0 } else { 1 + random.below(3) };
        let extents = [extent(), extent()];
        let mut leaves: BTreeMap<Var, Leaf> = BTreeMap::new();
        let mut known = BTreeMap::new();
        let all_alike = (random.below(2) == 0).then(|| Known::ALL[random.below(5)]);
        for var in self.left.vars() {
            let leaf = draw_leaf(var, rule.when, &leaves, counts.contains(&var), extents, values, random);
            leaves.insert(var, leaf);
            known.insert(var, all_alike.unwrap_or(Known::ALL[random.below(5)]));
        }
        let instance = Instance { leaves, known };
        let (mut dag, leaves) = instance.leaves(&|_| Known::Everything);
        build(&mut dag, &self.left, &leaves)?;
        let is_sound = |id: HopId, hop: &Hop| match hop.op {
            HopOp::DataGen(DataGenOp::Matrix) if dag[hop.inputs[0]].is_matrix() => {
                dag[id].size.cells() == dag[hop.inputs[0]].size.cells()
            }
            HopOp::DataGen(DataGenOp::Seq) => dag[id].size.rows.is_some(),
            _ => true,
        };
        let fits = dag.hops.iter().all(|(id, hop)| is_sound(id, hop));
        fits.then_some(instance)
    }

    /// Both sides over the same leaves, of known sizes; `None` where the right side has no shape.
    pub(super) fn sides(&self, instance: &Instance) -> Option<Sides> {
        let (mut dag, leaves) = instance.leaves(&|_| Known::Dimensions);
        let left = build(&mut dag, &self.left, &leaves).expect("instances have left sides");
        let right = build(&mut dag, &self.right, &leaves)?;
        Some(Sides { left, right, variables: instance.variables(), dag })
    }

    /// The variables that stand for numbers of rows, columns or positions.
    fn counts(&self) -> Vec<Var> {
        let mut counts = Vec::new();
        for node in self.left.ast.iter() {
            let ENodeOrVar::ENode(node) = node else { continue };
            let from = match node.operator.op() {
                HopOp::Index | HopOp::DataGen(DataGenOp::Matrix) => 1,
                HopOp::LeftIndex => 2,
                _ => continue,
            };
            for &input in &node.inputs[from..] {
                if let ENodeOrVar::Var(var) = &self.left.ast[input] {
                    counts.push(*var);
                }
            }
        }
        counts
    }
}

/// What the variables of a pattern are.
#[derive(Clone, Debug)]
pub(super) struct Instance {
    leaves: BTreeMap<Var, Leaf>,
    known: BTreeMap<Var, Known>,
}

/// Both sides of a pattern in one DAG.
#[derive(Debug)]
pub(super) struct Sides {
    pub(super) dag: HopDag,
    pub(super) left: HopId,
    pub(super) right: HopId,
    pub(super) variables: BTreeMap<String, Cells>,
}

impl Instance {
    /// The values of the variables, by their names.
    pub(super) fn variables(&self) -> BTreeMap<String, Cells> {
        let cells = |leaf: &Leaf| match leaf {
            Leaf::Matrix(cells) | Leaf::Indicator(cells) => Some(cells.clone()),
            Leaf::Scalar(value) => Some(Cells::scalar(value.as_f64().expect("a number"))),
            Leaf::Count(count) => Some(Cells::scalar(*count as f64)),
            Leaf::Literal(_) => None,
        };
        self.leaves.iter().filter_map(|(var, leaf)| Some((var.to_string(), cells(leaf)?))).collect()
    }

    fn leaves(&self, known: &dyn Fn(Var) -> Known) -> (HopDag, BTreeMap<Var, HopId>) {
        let mut dag = HopDag::new();
        let mut leaves = BTreeMap::new();
        for (var, leaf) in &self.leaves {
            let name = var.to_string();
            let id = match leaf {
                Leaf::Matrix(cells) => dag.read_matrix(&name, known(*var).size(cells)),
                Leaf::Indicator(cells) => {
                    let inputs = [dag.read_matrix(&name, known(*var).size(cells)), dag.literal(Value::I64(0))];
                    dag.add(BinaryOp::NotEqual.into(), &inputs, None).expect("a comparison")
                }
                Leaf::Scalar(value) if known(*var) == Known::Everything => dag.literal(value.clone()),
                Leaf::Scalar(value) => read_scalar(&mut dag, name, value.scalar_type()),
                Leaf::Literal(value) => dag.literal(value.clone()),
                Leaf::Count(_) if known(*var) == Known::Nothing => dag.read_scalar(&name),
                Leaf::Count(count) => dag.literal(Value::I64(*count)),
            };
            leaves.insert(*var, id);
        }
        (dag, leaves)
    }

    /// The left side as a DAG that knows what the instance knows, and its root.
    pub(super) fn dag(&self, left: &Pattern<Node>) -> Option<(HopDag, HopId)> {
        let (mut dag, leaves) = self.leaves(&|var| self.known[&var]);
        let root = build(&mut dag, left, &leaves)?;
        Some((dag, root))
    }

    /// Whether one of the rewrites changes the class of the left side.
    pub(super) fn fires(&self, left: &Pattern<Node>, rewrites: &[Rewrite<Node, FactsAnalysis>]) -> bool {
        let Some((dag, root)) = self.dag(left) else { return false };
        rewrites.iter().any(|rewrite| {
            let mut egraph = EGraph::new(FactsAnalysis::default());
            let mut classes: Vec<Id> = Vec::new();
            for hop in dag.hops.values() {
                let operator = super::super::operator::Operator::pure(&hop.op);
                let inputs: SmallVec<[Id; 3]> = hop.inputs.iter().map(|id| classes[id.as_u32() as usize]).collect();
                classes.push(add_given(&mut egraph, Node { operator, inputs }, Facts::of(&dag, hop)));
            }
            egraph.rebuild();
            let root = egraph.find(classes[root.as_u32() as usize]);
            let matches = rewrite.search(&egraph);
            rewrite.apply(&mut egraph, &matches).contains(&root)
        })
    }
}

fn read_scalar(dag: &mut HopDag, name: String, scalar_type: ScalarType) -> HopId {
    let data_type = DataType::Scalar(scalar_type);
    dag.push(Hop { op: HopOp::Read(name), inputs: Inputs::new(), data_type, size: SizeInfo::UNKNOWN, span: None })
}

fn build(dag: &mut HopDag, pattern: &Pattern<Node>, leaves: &BTreeMap<Var, HopId>) -> Option<HopId> {
    let mut ids: Vec<HopId> = Vec::new();
    for node in pattern.ast.iter() {
        ids.push(match node {
            ENodeOrVar::Var(var) => leaves[var],
            ENodeOrVar::ENode(node) => {
                let inputs: Vec<HopId> = node.inputs.iter().map(|&input| ids[usize::from(input)]).collect();
                dag.add(node.operator.op().clone(), &inputs, None).ok()?
            }
        });
    }
    ids.last().copied()
}

/// A leaf for a variable; four of five meet the guards that speak of it, as far as earlier leaves allow.
fn draw_leaf(
    var: Var,
    guards: &[Guard],
    earlier: &BTreeMap<Var, Leaf>,
    is_count: bool,
    extents: [usize; 2],
    values: Values,
    random: &mut Random,
) -> Leaf {
    let text = var.to_string();
    let name = text.trim_start_matches('?');
    let own: Vec<Guard> = guards.iter().copied().filter(|guard| guard.variables().any(|other| other == name)).collect();
    let misses = random.below(5) == 0;
    if let Some(leaf) = own.iter().filter(|_| misses).find_map(|guard| near_miss(*guard, is_count, random)) {
        return leaf;
    }
    let own = if misses { Vec::new() } else { own };
    let dims_of = |other: &str| match earlier.get(&format!("?{other}").parse().expect("a variable")) {
        Some(Leaf::Matrix(cells)) => Some((cells.rows, cells.cols)),
        _ => None,
    };
    let integer = |value: i64| if is_count { Leaf::Count(value) } else { Leaf::Literal(Value::I64(value)) };
    if let Kind::Literal(number) = Kind::of(var) {
        return if random.below(2) == 0 { Leaf::Literal(Value::F64(number)) } else { integer(number as i64) };
    }
    let mut dims = (extents[random.below(2)], extents[random.below(2)]);
    let mut is_empty = false;
    for guard in &own {
        match *guard {
            Guard::Is(_, number) if is_count => return integer(number as i64),
            Guard::Is(_, number) => return Leaf::Literal(Value::F64(number)),
            Guard::Text(_, text) => return Leaf::Literal(Value::Str(text.to_owned())),
            Guard::Integer(_) if is_count => return integer(1 + random.below(3) as i64),
            Guard::Integer(_) => return integer([-3, -2, -1, 1, 2, 3, 4][random.below(7)]),
            Guard::Positive(_) if is_count => return integer(1 + random.below(3) as i64),
            Guard::Positive(_) => return Leaf::Literal(Value::F64([0.5, 1.0, 3.0, 0.1][random.below(4)])),
            Guard::AtLeastOne(_) => return Leaf::Literal(Value::F64([1.0, -1.5, 3.0, -2.0][random.below(4)])),
            Guard::Scalar(_) => return draw_scalar(is_count, values, random),
            Guard::Rows(n, x) if n == name => {
                return integer(dims_of(x).map_or(1 + random.below(3), |(rows, _)| rows) as i64);
            }
            Guard::Columns(n, x) if n == name => {
                return integer(dims_of(x).map_or(1 + random.below(3), |(_, cols)| cols) as i64);
            }
            Guard::OneRow(_) => dims.0 = 1,
            Guard::OneColumn(_) => dims.1 = 1,
            Guard::Single(_) => dims = (1, 1),
            Guard::Empty(_) => is_empty = true,
            _ => {}
        }
    }
    if is_count {
        return integer(1 + random.below(3) as i64);
    }
    let is_indicator = own.iter().any(|guard| matches!(guard, Guard::Indicator(_)));
    if Kind::of(var) == Kind::MatrixOrScalar && random.below(3) == 0 {
        return if is_indicator {
            Leaf::Literal(Value::Bool(random.below(2) == 0))
        } else {
            draw_scalar(false, values, random)
        };
    }
    if !own.is_empty() && random.below(2) == 0 {
        // What rules combine is often of one shape.
        dims = own.iter().flat_map(|guard| guard.variables()).filter_map(dims_of).next().unwrap_or(dims);
    }
    let mut draw = || if is_empty { 0.0 } else { values.draw(random) };
    let cells = (0..dims.0 * dims.1).map(|_| draw()).collect();
    let cells = Cells { rows: dims.0, cols: dims.1, values: cells };
    if is_indicator { Leaf::Indicator(cells) } else { Leaf::Matrix(cells) }
}

/// A leaf that does not meet a guard, but nearly.
fn near_miss(guard: Guard, is_count: bool, random: &mut Random) -> Option<Leaf> {
    let odd = [0.7, 0.1, 1e308, 1e-300, f64::INFINITY, 3.0 - 1e-11];
    match guard {
        Guard::Text(_, "rows") => Some(Leaf::Literal(Value::Str("cols".to_owned()))),
        Guard::Text(..) => Some(Leaf::Literal(Value::Str("rows".to_owned()))),
        Guard::Integer(_) if !is_count => {
            let number = Value::F64(odd[random.below(odd.len())]);
            Some(if random.below(2) == 0 { Leaf::Scalar(number) } else { Leaf::Literal(number) })
        }
        Guard::Positive(_) if is_count => Some(Leaf::Count(0)),
        _ => None,
    }
}

fn draw_scalar(is_count: bool, values: Values, random: &mut Random) -> Leaf {
    if is_count {
        return Leaf::Count(random.below(4) as i64);
    }
    let special = [0.0, -0.0, 1.0, -1.0, 0.5, 1e300, f64::INFINITY, f64::NAN];
    let is_tame = Values::TAME.contains(&values);
    let value = match random.below(8) {
        0 | 1 => Value::F64(special[random.below(if is_tame { 5 } else { special.len() })]),
        2 => Value::Bool(random.below(2) == 0),
        3 | 4 => Value::I64(random.below(5) as i64 - 2),
        _ => Value::F64(values.draw(random)),
    };
    if random.below(2) == 0 { Leaf::Literal(value) } else { Leaf::Scalar(value) }
}
