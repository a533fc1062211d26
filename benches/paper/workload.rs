//! A workload: a script on some data, the same by hand, what the operator must reach, and the measurement of all.

use crate::by_hand;
use crate::conditions::{self, assert_equal_conditions};
use crate::rounds::{Contender, Times, in_turn};
use fuseline::generate::Specification;
use fuseline::ir::{DataType, Format};
use fuseline::{
    CompileOptions, Csr, Dense, Layout, MatrixBlock, Mode, PreparedScript, PrimitiveMode, RuntimeValue,
    ScriptInterface, Session, Statistics, Variables,
};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::hint::black_box;

/// How results may differ: they are sums in other orders.
const TOLERANCE: f64 = 1e-9;

/// A way to run a script.
#[derive(Clone, Copy)]
pub(crate) struct Way {
    pub(crate) name: &'static str,
    mode: Mode,
    primitives: PrimitiveMode,
    /// Whether the heuristics are the paper's, which leave aggregates apart.
    paper_heuristics: bool,
}

/// The ways that are compared.
pub(crate) const WAYS: [Way; 5] = [
    Way::of(BASE, Mode::Base),
    Way::of(FUSED, Mode::Fused),
    Way { primitives: PrimitiveMode::Shared, ..Way::of("Gen shared", Mode::Gen) },
    Way { primitives: PrimitiveMode::Inlined, ..Way::of("Gen inlined", Mode::Gen) },
    Way::of(GEN, Mode::Gen),
];

/// The heuristics, ours and the paper's: these read what aggregates share once for each of them (P171).
pub(crate) const HEURISTICS: [Way; 4] = [
    Way::of("FA", Mode::GenFuseAll),
    Way::of("FNR", Mode::GenFuseNoRedundancy),
    Way::of_the_paper(FUSE_ALL_OF_THE_PAPER, Mode::GenFuseAll),
    Way::of_the_paper(NO_REDUNDANCY_OF_THE_PAPER, Mode::GenFuseNoRedundancy),
];

impl Way {
    pub(crate) const fn of(name: &'static str, mode: Mode) -> Way {
        Way { name, mode, primitives: PrimitiveMode::Auto, paper_heuristics: false }
    }

    /// One of the paper's heuristics.
    pub(crate) const fn of_the_paper(name: &'static str, mode: Mode) -> Way {
        Way { paper_heuristics: true, ..Way::of(name, mode) }
    }

    pub(crate) fn options(self) -> CompileOptions {
        let Way { mode, primitives, paper_heuristics, .. } = self;
        CompileOptions { mode, primitives, paper_heuristics, ..conditions::options() }
    }
}
pub(crate) const BASE: &str = "Base";
pub(crate) const FUSED: &str = "Fused";
pub(crate) const FUSE_ALL_OF_THE_PAPER: &str = "FA of the paper";
pub(crate) const NO_REDUNDANCY_OF_THE_PAPER: &str = "FNR of the paper";
pub(crate) const GEN: &str = "Gen";
pub(crate) const BY_HAND: &str = "by hand";
pub(crate) const READ: &str = "read";
pub(crate) const PARTS: &str = "product + log";

/// What an operator is held against, each as a share of its speed or a multiple of it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    /// Reading the inputs once.
    Read(f64),
    /// The loop written by hand.
    ByHand(f64),
    /// Basic operators.
    Base(f64),
    /// The matrix product and the logarithms alone.
    Parts(f64),
}

impl Bound {
    /// The least ratio of speeds, and the contender that it is a ratio to.
    pub(crate) fn target(self) -> (f64, &'static str) {
        match self {
            Bound::Read(least) => (least, READ),
            Bound::ByHand(least) => (least, BY_HAND),
            Bound::Base(least) => (least, BASE),
            Bound::Parts(least) => (least, PARTS),
        }
    }
}

/// Matrices by name.
pub(crate) struct Data(Variables);

impl Data {
    /// The variables that a script assigns.
    pub(crate) fn generate(script: &str) -> Data {
        let session = Session::new(CompileOptions::default()).expect("a session");
        let compiled = session.compile_script("<data>", script, &[]).unwrap_or_else(|error| panic!("{error}"));
        let outcome = session.run(&compiled, Variables::new(), &mut std::io::sink());
        Data(outcome.unwrap_or_else(|error| panic!("{error}")).variables)
    }

    /// Data `X` of a kind with its labels `Y`, zero where the kind has none; `labels` is a script that may assign others.
    pub(crate) fn look_alike(specification: &Specification, labels: &str) -> Data {
        let generated = specification.generate().unwrap_or_else(|error| panic!("{error}"));
        let labelled = generated.labels.unwrap_or_else(|| Dense::zeros(generated.data.rows(), 1).into());
        let session = Session::new(CompileOptions::default()).expect("a session");
        let inputs = &[("Y", DataType::MATRIX)];
        let interface = ScriptInterface { inputs, outputs: &["Y"], ..ScriptInterface::default() };
        let mut script =
            session.prepare_script("<labels>", labels, &interface).unwrap_or_else(|error| panic!("{error}"));
        script.bind("Y", labelled).expect("the script has this input");
        let outcome = script.execute(&mut std::io::sink()).unwrap_or_else(|error| panic!("{error}"));
        let mut variables = outcome.variables;
        variables.insert("X".into(), generated.data.into());
        Data(variables)
    }

    /// The matrix in words: how it is stored, and its size.
    pub(crate) fn words(&self, name: &str) -> String {
        let block = self.block(name);
        let (rows, cols) = block.dims();
        let density = block.nnz() as f64 / (rows as f64 * cols as f64);
        match block.format() {
            Format::Dense => format!("dense, {rows} x {cols}"),
            Format::Sparse => format!("sparse {}, {rows} x {cols}", rounded(density)),
        }
    }

    /// The cells of a matrix that are stored.
    pub(crate) fn stored(&self, name: &str) -> usize {
        let block = self.block(name);
        match block.format() {
            Format::Dense => block.rows() * block.cols(),
            Format::Sparse => block.nnz(),
        }
    }

    fn block(&self, name: &str) -> &MatrixBlock {
        match self.0.get(name) {
            Some(RuntimeValue::Matrix(block)) => block,
            other => panic!("{name} is no matrix but {other:?}"),
        }
    }

    pub(crate) fn dense(&self, name: &str) -> &Dense {
        match self.block(name).layout() {
            Layout::Dense(Cow::Borrowed(dense)) => dense,
            layout => panic!("{name} is not stored dense but {layout:?}"),
        }
    }

    pub(crate) fn csr(&self, name: &str) -> &Csr {
        match self.block(name).layout() {
            Layout::Sparse(Cow::Borrowed(csr)) => csr,
            layout => panic!("{name} is not stored sparse but {layout:?}"),
        }
    }

    /// All matrices.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = &MatrixBlock> {
        self.0.values().filter_map(|value| match value {
            RuntimeValue::Matrix(block) => Some(block),
            RuntimeValue::Scalar(_) | RuntimeValue::List(_) | RuntimeValue::Frame(_) => None,
        })
    }

    /// Reads everything once.
    fn read(&self) -> f64 {
        self.blocks().map(read).sum()
    }

    /// The number of rows of a matrix.
    pub(crate) fn rows(&self, name: &str) -> usize {
        self.block(name).rows()
    }

    /// The number of columns of a matrix.
    pub(crate) fn cols(&self, name: &str) -> usize {
        self.block(name).cols()
    }

    /// Reads one matrix once.
    pub(crate) fn read_one(&self, name: &str) -> f64 {
        read(self.block(name))
    }

    /// Gives a script these inputs.
    pub(crate) fn bind(&self, script: &mut PreparedScript<'_>, names: &[&str]) {
        for name in names {
            script.bind(name, self.block(name).clone()).expect("the script has these inputs");
        }
    }
}

/// Two digits of a share.
fn rounded(share: f64) -> String {
    let digits = 1 - share.log10().floor() as i32;
    format!("{share:.*}", digits.max(0) as usize).trim_end_matches('0').to_owned()
}

fn read(block: &MatrixBlock) -> f64 {
    match block.layout() {
        Layout::Dense(dense) => by_hand::dense::read(dense.values()),
        Layout::Sparse(csr) => by_hand::sparse::read(&csr),
    }
}

/// A loop written by hand.
pub(crate) type Loop = fn(&Data) -> f64;

/// A script on some data.
pub(crate) struct Workload {
    /// The expression, in DML.
    pub(crate) name: &'static str,
    /// The data in words.
    pub(crate) on: String,
    /// A script that assigns the data.
    pub(crate) data: String,
    /// A script on the data that assigns `R`, and with a second result `S`.
    pub(crate) script: &'static str,
    /// Floating-point operations, products and functions being one each.
    pub(crate) flops: f64,
    pub(crate) by_hand: fn(&Data) -> Vec<f64>,
    /// Further loops by name: parts that no implementation can do without, or other ways to do it.
    pub(crate) loops: Vec<(&'static str, Loop)>,
    pub(crate) bounds: Vec<Bound>,
    /// Whether basic operators run at all: their intermediates may take all memory there is.
    pub(crate) has_base: bool,
    /// Whether the heuristics run, too.
    pub(crate) has_heuristics: bool,
}

/// What was measured of a workload.
pub(crate) struct Measured {
    pub(crate) name: &'static str,
    pub(crate) on: String,
    pub(crate) bytes: f64,
    pub(crate) flops: f64,
    pub(crate) times: Vec<Times>,
    pub(crate) bounds: Vec<Reached>,
    /// Counters of a run without compilation, by the name of the way.
    pub(crate) statistics: Vec<(&'static str, Statistics)>,
    /// Cells of `X` that are stored, and cells of all inputs.
    pub(crate) stored: usize,
    pub(crate) values: usize,
    /// How many numbers of threads the ways have.
    pub(crate) threads: usize,
}

/// A bound with the number that was reached.
pub(crate) struct Reached {
    pub(crate) least: f64,
    pub(crate) reference: &'static str,
    pub(crate) reached: f64,
    /// What the loop written by hand reaches.
    pub(crate) by_hand: f64,
}

impl Reached {
    pub(crate) fn holds(&self) -> bool {
        self.reached >= self.least
    }
}

impl Measured {
    pub(crate) fn times_of(&self, name: &str) -> Option<&Times> {
        self.times.iter().find(|times| times.name == name)
    }

    pub(crate) fn statistics_of(&self, name: &str) -> Option<&Statistics> {
        self.statistics.iter().find(|(way, _)| *way == name).map(|(_, statistics)| statistics)
    }

    /// How many times as fast one way is as another, where both ran.
    pub(crate) fn speedup(&self, name: &str, over: &str) -> Option<f64> {
        Some(self.times_of(name)?.speedup_over(self.times_of(over)?))
    }

    /// The fused operators of Gen, by template and variant.
    pub(crate) fn operators(&self) -> String {
        let operators = self.statistics_of(GEN).into_iter().flat_map(|statistics| statistics.fused_operators.keys());
        operators.cloned().collect::<Vec<_>>().join(", ")
    }
}

/// Checks that everyone computes the same, then times all in turn.
pub(crate) fn measure(workload: &Workload, rounds: usize) -> Measured {
    let data = Data::generate(&workload.data);
    let first = Session::new(conditions::options()).expect("a session");
    let heuristics: &[Way] = if workload.has_heuristics { &HEURISTICS } else { &[] };
    let ways = || WAYS.iter().filter(|way| workload.has_base || way.name != BASE).chain(heuristics);
    let sessions: Vec<Session> = ways().map(|way| first.reconfigured(way.options()).expect("a session")).collect();
    assert_equal_conditions(&sessions, data.blocks());
    let mut scripts: Vec<PreparedScript<'_>> =
        sessions.iter().map(|session| prepared(session, workload.name, workload.script, &data)).collect();
    let expected = (workload.by_hand)(&data);
    let mut statistics = Vec::new();
    for (way, script) in ways().zip(&mut scripts) {
        check(workload, way.name, &results(script), &expected);
        statistics.push((way.name, script.execute(&mut std::io::sink()).expect("it ran before").statistics));
    }
    let mut contenders = vec![Contender::new(READ, || _ = black_box(data.read()))];
    for (way, mut script) in ways().zip(scripts) {
        let run = move || _ = script.execute(&mut std::io::sink()).expect("it ran before");
        contenders.push(Contender::new(way.name, run));
    }
    contenders.push(Contender::new(BY_HAND, || _ = black_box((workload.by_hand)(&data))));
    for (name, run) in workload.loops.iter().copied() {
        let data = &data;
        contenders.push(Contender::new(name, move || _ = black_box(run(data))));
    }
    let times = in_turn(&mut contenders, rounds);
    drop(contenders);
    let find = |name: &str| times.iter().find(|times| times.name == name);
    let gen_times = find(GEN).expect("Gen always runs");
    let hand_times = find(BY_HAND).expect("the loop written by hand always runs");
    let bounds = workload.bounds.iter().filter_map(|bound| {
        let (least, reference) = bound.target();
        let other = find(reference)?;
        let (reached, by_hand) = (gen_times.speedup_over(other), hand_times.speedup_over(other));
        Some(Reached { least, reference, reached, by_hand })
    });
    Measured {
        name: workload.name,
        on: workload.on.clone(),
        bytes: data.blocks().map(|block| block.bytes() as f64).sum(),
        flops: workload.flops,
        bounds: bounds.collect(),
        times,
        statistics,
        stored: data.stored("X"),
        values: data.0.keys().map(|name| data.stored(name)).sum(),
        threads: sessions.iter().map(|session| session.options().threads).collect::<BTreeSet<_>>().len(),
    }
}

/// A script on some data that gives `R`, and with a second result `S`.
pub(crate) fn prepared<'s>(session: &'s Session, name: &str, script: &str, data: &Data) -> PreparedScript<'s> {
    let inputs: Vec<(&str, DataType)> = data.0.keys().map(|name| (name.as_str(), DataType::MATRIX)).collect();
    let outputs: &[&str] = if script.contains("S = ") { &["R", "S"] } else { &["R"] };
    let interface = ScriptInterface { inputs: &inputs, outputs, ..ScriptInterface::default() };
    let mut script = session.prepare_script(name, script, &interface).unwrap_or_else(|error| panic!("{name}: {error}"));
    data.bind(&mut script, &inputs.iter().map(|input| input.0).collect::<Vec<_>>());
    script
}

/// The cells of all results.
fn results(script: &mut PreparedScript<'_>) -> Vec<f64> {
    let outcome = script.execute(&mut std::io::sink()).unwrap_or_else(|error| panic!("{error}"));
    let cells = outcome.variables.values().flat_map(|value| match value {
        RuntimeValue::Matrix(block) => block.to_dense().values().to_vec(),
        other => vec![other.as_f64().expect("results are numbers")],
    });
    cells.collect()
}

fn check(workload: &Workload, name: &str, actual: &[f64], expected: &[f64]) {
    let largest = expected.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    let error = actual.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    let is_equal = actual.len() == expected.len() && error <= TOLERANCE * largest;
    assert!(is_equal, "{} on {}: {name} is off by {error} where cells reach {largest}", workload.name, workload.on);
}
