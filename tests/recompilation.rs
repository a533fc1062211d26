//! Blocks are compiled again from what the script says: a block that meets other sizes, types or formats in the course
//! of a run gets the plan that it would get had it met nothing else before (P020).

use fuseline::ir::DataType;
use fuseline::{
    BackendKind, CompileOptions, CompileStage, Csr, Dense, MatrixBlock, Outcome, PreparedScript, RuntimeValue,
    ScriptInterface, Session,
};
use fuseline_passes::pipeline::Stage;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The texts of a compilation: the DAG with sizes, the form of it that is fused, the plans of fused operators, and the
/// DAG with these.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Compilation {
    sized: String,
    rewritten: String,
    plans: String,
    fused: String,
}

fn session() -> Session {
    let options = CompileOptions { backend: BackendKind::Interp, threads: 2, ..CompileOptions::default() };
    Session::new(options).expect("there are threads")
}

/// Adds what a stage says to the last of these compilations.
fn record(compilations: &mut Vec<Compilation>, stage: &CompileStage<'_>) {
    if let CompileStage::Sized(dag) = stage {
        compilations.push(Compilation { sized: dag.to_string(), ..Compilation::default() });
    }
    let last = compilations.last_mut().expect("a DAG has sizes first");
    match stage {
        CompileStage::Rewritten(dag, _) => last.rewritten = dag.to_string(),
        CompileStage::Fusion(Stage::Constructed(_, plans, rejections)) => {
            last.plans = plans.iter().map(|plan| format!("{}\n", *plan.cplan)).collect();
            rejections.iter().for_each(|rejection| last.plans.push_str(&rejection.reason));
        }
        CompileStage::Fusion(Stage::Replaced(dag)) => last.fused = numbered_anew(&dag.to_string()),
        _ => {}
    }
}

/// A text whose operators of the plan cache are numbered in the order in which it names them: sessions number them as
/// they meet them.
fn numbered_anew(text: &str) -> String {
    let mut known: Vec<&str> = Vec::new();
    let mut result = String::new();
    for word in text.split_inclusive([' ', '\n']) {
        let name = word.trim_end();
        let is_operator = name.strip_prefix("op").is_some_and(|number| number.parse::<u32>().is_ok());
        if !is_operator {
            result.push_str(word);
            continue;
        }
        let number = known.iter().position(|&other| other == name).unwrap_or_else(|| {
            known.push(name);
            known.len() - 1
        });
        write!(result, "op{number}{}", &word[name.len()..]).expect("strings take writes");
    }
    result
}

/// Inputs of a run by name.
type Inputs = Vec<(&'static str, RuntimeValue)>;

fn execute(script: &mut PreparedScript<'_>, inputs: &Inputs) -> (Vec<Compilation>, Outcome) {
    for (name, value) in inputs {
        script.bind(name, value.clone()).expect("an input of its type");
    }
    let mut compilations = Vec::new();
    let outcome = script
        .execute_observed(&mut std::io::sink(), &mut |stage| record(&mut compilations, &stage))
        .unwrap_or_else(|error| panic!("{error}"));
    (compilations, outcome)
}

/// A run in a session of its own.
fn fresh(text: &str, types: &[(&str, DataType)], outputs: &[&str], inputs: &Inputs) -> (Vec<Compilation>, Outcome) {
    let session = session();
    let interface = ScriptInterface { inputs: types, outputs, ..ScriptInterface::default() };
    let mut script = session.prepare_script("<text>", text, &interface).expect("the script is right");
    execute(&mut script, inputs)
}

/// Checks that these compilations are among those of fresh runs.
fn assert_fresh(compilations: &[Compilation], fresh: &[Compilation], what: &str) {
    for compilation in compilations {
        if fresh.contains(compilation) {
            continue;
        }
        let of_these_sizes = fresh.iter().find(|other| other.sized == compilation.sized);
        panic!("{what}: compiled again to\n{compilation:#?}\nand at first to\n{of_these_sizes:#?}");
    }
}

impl Compilation {
    /// What was decided: the plans, and the operators without their sizes.
    fn decision(&self) -> String {
        let operators = self.fused.lines().map(|line| line.split(" : ").next().unwrap_or_default());
        operators.fold(self.plans.clone(), |text, operator| text + operator + "\n")
    }
}

/// What was decided about a block of the most operators, for all that it met.
fn decisions_of_body(compilations: &[Compilation]) -> BTreeSet<String> {
    let operators = |compilation: &&Compilation| compilation.sized.lines().count();
    let most = compilations.iter().map(|compilation| operators(&compilation)).max();
    let of_body = compilations.iter().filter(|compilation| Some(operators(compilation)) == most);
    of_body.map(Compilation::decision).collect()
}

fn dense(rows: usize, cols: usize) -> MatrixBlock {
    Dense::from_fn(rows, cols, |i, j| ((i * 7 + j * 3) % 11) as f64 - 4.5).into()
}

/// A matrix of which one cell in so many is not zero, dense if that is each.
fn with_zeros(rows: usize, cols: usize, step: usize) -> MatrixBlock {
    if step == 1 {
        return dense(rows, cols);
    }
    let cell = |i: usize, j: usize| if (i * 13 + j).is_multiple_of(step) { ((i + j) % 9) as f64 - 4.5 } else { 0.0 };
    Csr::from_dense(&Dense::from_fn(rows, cols, cell)).into()
}

/// A loop whose body changes the matrices that it starts from.
struct Loop {
    /// The statements of the body.
    body: &'static str,
    /// The matrices before the first turn; those that the body changes first.
    matrices: Vec<(&'static str, MatrixBlock)>,
    /// How many of them it changes.
    changed: usize,
}

const TURNS: u32 = 5;

impl Loop {
    fn text(&self) -> String {
        format!("s = 0.0\ni = 0\nwhile (i < n) {{\n{}\ni = i + 1\n}}", self.body)
    }

    /// Runs so many turns from these matrices on.
    fn run(&self, matrices: &[(&'static str, MatrixBlock)], turns: u32) -> (Vec<Compilation>, Outcome) {
        let mut types: Vec<(&str, DataType)> = matrices.iter().map(|(name, _)| (*name, DataType::MATRIX)).collect();
        types.push(("n", DataType::F64));
        let mut inputs: Inputs = matrices.iter().map(|(name, block)| (*name, block.clone().into())).collect();
        inputs.push(("n", f64::from(turns).into()));
        let mut outputs: Vec<&str> = matrices[..self.changed].iter().map(|(name, _)| *name).collect();
        outputs.push("s");
        fresh(&self.text(), &types, &outputs, &inputs)
    }

    /// The matrices after so many turns.
    fn after(&self, turns: u32) -> Vec<(&'static str, MatrixBlock)> {
        if turns == 0 {
            return self.matrices.clone();
        }
        let (_, outcome) = self.run(&self.matrices, turns);
        let mut matrices = self.matrices.clone();
        for (name, block) in &mut matrices[..self.changed] {
            *block = outcome.matrix(name).expect("the loop assigns it").clone();
        }
        matrices
    }

    /// Checks that a run of many turns compiles what runs of one turn each compile; gives the compilations.
    fn check(&self) -> Vec<Compilation> {
        let (compilations, outcome) = self.run(&self.matrices, TURNS);
        let mut of_turns = Vec::new();
        for turns in 0..TURNS {
            let (of_turn, _) = self.run(&self.after(turns), 1);
            assert_fresh(&of_turn, &compilations, &format!("a first turn after {turns}: {}", self.text()));
            of_turns.extend(of_turn);
        }
        assert_fresh(&compilations, &of_turns, &self.text());
        assert!(outcome.statistics.recompilations > 0, "{}", self.text());
        compilations
    }
}

/// Matrices of half the rows with each turn, the last of which are too small for some operators.
#[test]
fn matrices_that_shrink_get_the_plans_of_their_sizes() {
    let shrinking = Loop {
        body: "P = X %*% B %*% C\ns = s + sum(X * Y + 1) + sum(t(X) %*% (X %*% v)) + sum(P ^ 2 * 2)\n\
               m = nrow(X) / 8\nX = X[1:m, ]\nY = Y[1:m, ]",
        matrices: vec![
            ("X", dense(32_768, 20)),
            ("Y", dense(32_768, 20)),
            ("v", dense(20, 1)),
            ("B", dense(20, 30)),
            ("C", dense(30, 40)),
        ],
        changed: 2,
    };
    let decisions = decisions_of_body(&shrinking.check());
    assert!(decisions.len() > 1, "{decisions:#?}");
}

/// A matrix that gets a column more with each turn, so that a row vector becomes a matrix.
#[test]
fn matrices_that_grow_get_the_plans_of_their_sizes() {
    let growing = Loop {
        body: "P = exp(X %*% t(X[1:3, ]))\ns = s + sum(t(X) %*% (P / rowSums(P)))\nX = cbind(X, X * 2)",
        matrices: vec![("X", dense(3000, 1))],
        changed: 1,
    };
    let decisions = decisions_of_body(&growing.check());
    assert!(decisions.len() > 1, "{decisions:#?}");
}

/// A dense matrix that a mask makes sparse. As long as it is dense, the small factors of a chain of products are
/// multiplied first.
#[test]
fn matrices_that_become_sparse_get_the_plans_of_their_format() {
    let thinning = Loop {
        body: "s = s + sum((X %*% P %*% Q) ^ 2 * 2) + sum(X * log(abs(U %*% t(V)) + 1))\nX = X * M",
        matrices: vec![
            ("X", dense(100, 800)),
            ("M", with_zeros(100, 800, 50)),
            ("P", dense(800, 100)),
            ("Q", dense(100, 40)),
            ("U", dense(100, 10)),
            ("V", dense(800, 10)),
        ],
        changed: 1,
    };
    let decisions = decisions_of_body(&thinning.check());
    assert!(decisions.len() > 1, "{decisions:#?}");
}

/// A sparse matrix that gets a value in every cell.
#[test]
fn matrices_that_become_dense_get_the_plans_of_their_format() {
    let filling = Loop {
        body: "s = s + sum((X %*% P %*% Q) ^ 2 * 2) + sum((X != 0) * (U %*% t(V) - X) ^ 2)\nX = X + 0.5",
        matrices: vec![
            ("X", with_zeros(100, 800, 50)),
            ("P", dense(800, 100)),
            ("Q", dense(100, 40)),
            ("U", dense(100, 10)),
            ("V", dense(800, 10)),
        ],
        changed: 1,
    };
    let decisions = decisions_of_body(&filling.check());
    assert!(decisions.len() > 1, "{decisions:#?}");
}

/// Scripts over X and Y (m x n), u (m x 1), w (1 x n), v (n x 1), U (m x 4), V (n x 4), and c: a number or a column.
const SCRIPTS: &[&str] = &[
    "s = sum(X * Y + c)",
    "a = sum(X ^ 2)\nb = sum(X * Y)\ns = a + b + sum(Y ^ 2 * c)",
    "g = t(X) %*% (c * (X %*% v) - u)\ns = sum(g)",
    "Z = X / rowSums(abs(X) + 1) * c\ns = sum(Z %*% v)",
    "Z = (X * w + c) * Y\ns = sum(colSums(Z) ^ 2) + sum(rowSums(Z))",
    "s = sum(X * log(abs(U %*% t(V)) + 1) * c)",
    "R = ((X != 0) * (U %*% t(V) - X)) %*% V\ns = sum(R * 2 + c)",
    "P = exp(X %*% V)\nG = t(X) %*% (P / rowSums(P) * c)\ns = sum(G)",
    "Z = X\nif (sum(Z) > c[1, 1]) Z = Z + Y * 2\ns = sum(Z * X)",
    "s = 0.0\nfor (i in 1:3) { Z = X[, 1:i] * i\n s = s + sum(Z * rowSums(Z) * c) }",
];

const TYPES: &[(&str, DataType)] = &[
    ("X", DataType::MATRIX),
    ("Y", DataType::MATRIX),
    ("u", DataType::MATRIX),
    ("w", DataType::MATRIX),
    ("v", DataType::MATRIX),
    ("U", DataType::MATRIX),
    ("V", DataType::MATRIX),
    ("c", DataType::Unknown),
];

/// Inputs of a random shape, in random formats.
fn random_inputs(random: &mut Pcg64Mcg, text: &str) -> Inputs {
    let &(m, n) = [(3, 4), (500, 60), (60, 500), (3000, 5), (900, 90)].choose(random).expect("there are shapes");
    let &step = [1, 4, 30, 200].choose(random).expect("there are shares");
    let other = if random.random_bool(0.3) { step } else { 1 };
    let takes_cell = text.contains("c[");
    let c = if takes_cell || random.random_bool(0.5) { RuntimeValue::from(dense(m, 1)) } else { 2.5.into() };
    let matrices = [
        ("X", with_zeros(m, n, step)),
        ("Y", with_zeros(m, n, other)),
        ("u", dense(m, 1)),
        ("w", dense(1, n)),
        ("v", dense(n, 1)),
        ("U", dense(m, 4)),
        ("V", dense(n, 4)),
    ];
    matrices.into_iter().map(|(name, block)| (name, block.into())).chain([("c", c)]).collect()
}

/// Any sequence of shapes, types and formats: a script that has met others before is compiled as one that has not.
#[test]
fn scripts_get_the_plans_of_what_they_meet() {
    let mut random = Pcg64Mcg::seed_from_u64(20);
    let (mut again, mut seen) = (0, BTreeSet::new());
    for text in SCRIPTS {
        let session = session();
        let interface = ScriptInterface { inputs: TYPES, outputs: &["s"], ..ScriptInterface::default() };
        let mut script = session.prepare_script("<text>", text, &interface).expect("the script is right");
        for run in 0..8 {
            let inputs = random_inputs(&mut random, text);
            let (compilations, outcome) = execute(&mut script, &inputs);
            let (at_first, expected) = fresh(text, TYPES, &["s"], &inputs);
            assert_fresh(&compilations, &at_first, &format!("run {run} of {text}"));
            let [value, expected] = [outcome, expected].map(|outcome| outcome.scalar("s").expect("a number"));
            let is_close = (value - expected).abs() <= 1e-9 * expected.abs();
            assert!(is_close || value.to_bits() == expected.to_bits(), "run {run} of {text}: {value}, not {expected}");
            again += if run > 0 { compilations.len() } else { 0 };
            seen.extend(compilations.iter().map(Compilation::decision));
        }
    }
    assert!(again > 60 && seen.len() > 40, "{again} compilations after the first run, {} plans", seen.len());
}
