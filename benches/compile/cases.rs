//! What is compiled: the paper's algorithms, and programs of which there is one in each size.

use crate::workloads::WORKLOADS;
use fuseline::ir::hop::HopDag;
use fuseline::{BackendKind, CompileOptions, CompileStage, Mode, Session};
use std::fmt::Write;

/// A script with the sized DAGs of its blocks; none where it is but checked.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) blocks: Vec<HopDag>,
}

/// Programs that differ in their size alone.
pub(crate) struct Family {
    pub(crate) name: &'static str,
    /// What the size counts, and what there are so many of.
    pub(crate) meaning: &'static str,
    /// Ascending.
    pub(crate) sizes: [usize; 3],
    /// Whether programs are parsed and simplified, and nothing else.
    pub(crate) is_checked_only: bool,
    text: fn(usize) -> String,
}

pub(crate) const FAMILIES: &[Family] = &[
    Family {
        name: "products",
        meaning: "times `Y = t(X) %*% (X * i)`, `z = rowSums(Y / sum(Y))` in one block, and the sum of all `z`",
        sizes: [25, 50, 100],
        is_checked_only: false,
        text: products,
    },
    Family {
        name: "aggregates",
        meaning: "times `sum(abs(X - i))` of one input in one block",
        sizes: [500, 1000, 2000],
        is_checked_only: false,
        text: aggregates,
    },
    Family {
        name: "iterations",
        meaning: "times `w = w / sum(w)`, `w = t(X) %*% (X %*% (w * i)) + w`, each of the result before, in one block",
        sizes: [50, 100, 200],
        is_checked_only: false,
        text: iterations,
    },
    Family {
        name: "rows",
        meaning: "times `Y = Y / rowSums(abs(Y)) + X * i`, each of the result before, in one block",
        sizes: [50, 100, 200],
        is_checked_only: false,
        text: rows,
    },
    Family {
        name: "chain",
        meaning: "times `s = sum(abs(X - s))`, each of the sum before, in one block",
        sizes: [250, 500, 1000],
        is_checked_only: false,
        text: chain,
    },
    Family {
        name: "loops",
        meaning: "`while` loops within each other",
        sizes: [50, 100, 200],
        is_checked_only: true,
        text: loops,
    },
    Family {
        name: "statements",
        meaning: "statements, every tenth one an `if` with one of them in it",
        sizes: [1_000, 10_000, 100_000],
        is_checked_only: true,
        text: statements,
    },
];

impl Family {
    /// The program of a size.
    pub(crate) fn case(&self, size: usize) -> Case {
        let text = (self.text)(size);
        let blocks = if self.is_checked_only { Vec::new() } else { sized_blocks(&text) };
        Case { name: self.case_name(size), text, blocks }
    }

    pub(crate) fn case_name(&self, size: usize) -> String {
        format!("{}-{size}", self.name)
    }
}

/// An algorithm of the paper with the DAGs that it meets when it runs.
pub(crate) fn algorithm(name: &str) -> Case {
    let workload = WORKLOADS.iter().find(|workload| workload.name == name).expect("an algorithm of the paper");
    // Which blocks a run meets depends on neither the mode nor the backend: this is the fastest to a single run.
    let (blocks, _) = workload.run(CompileOptions { backend: BackendKind::Interp, ..CompileOptions::default() });
    Case { name: name.to_owned(), text: workload.script(), blocks }
}

/// The blocks of a script of which all sizes are known before it runs.
fn sized_blocks(text: &str) -> Vec<HopDag> {
    // Compiled for their sizes alone.
    let options = CompileOptions { mode: Mode::Base, backend: BackendKind::Interp, ..CompileOptions::default() };
    let session = Session::new(options).expect("a session");
    let script = session.compile_script("<text>", text, &[]).expect("the script is well-formed").for_effects();
    let mut blocks = Vec::new();
    let mut observe = |_, stage: CompileStage<'_>| {
        if let CompileStage::Sized(dag) = stage {
            blocks.push(dag.clone());
        }
    };
    session.compile_blocks(&script, &mut observe).expect("blocks compile");
    blocks
}

fn products(size: usize) -> String {
    let mut text = "X = rand(rows=10000, cols=100, seed=1)\n".to_owned();
    for i in 1..=size {
        let _ = writeln!(text, "Y{i} = t(X) %*% (X * {i})\nz{i} = rowSums(Y{i} / sum(Y{i}))");
    }
    let sum: Vec<String> = (1..=size).map(|i| format!("z{i}")).collect();
    let _ = writeln!(text, "print(sum({}))", sum.join(" + "));
    text
}

fn aggregates(size: usize) -> String {
    let mut text = "X = rand(rows=1000, cols=100, seed=1)\ns = 0\n".to_owned();
    for i in 1..=size {
        let _ = writeln!(text, "s = s + sum(abs(X - {i}))");
    }
    text + "print(s)\n"
}

fn iterations(size: usize) -> String {
    let mut text = "X = rand(rows=100000, cols=100, seed=1)\nw = rand(rows=100, cols=1, seed=2)\n".to_owned();
    for i in 1..=size {
        let _ = writeln!(text, "w = w / sum(w)\nw = t(X) %*% (X %*% (w * {i})) + w");
    }
    text + "print(sum(w))\n"
}

fn rows(size: usize) -> String {
    let mut text = "X = rand(rows=100000, cols=100, seed=1)\nY = X\n".to_owned();
    for i in 1..=size {
        let _ = writeln!(text, "Y = Y / rowSums(abs(Y)) + X * {i}");
    }
    text + "print(sum(Y))\n"
}

fn chain(size: usize) -> String {
    "X = rand(rows=1000, cols=100, seed=1)\ns = 1\n".to_owned() + &"s = sum(abs(X - s))\n".repeat(size) + "print(s)\n"
}

fn loops(size: usize) -> String {
    let open: String = (1..=size).map(|i| format!("while (sum(X) < {i}) {{\nX = X + {i}\n")).collect();
    format!("X = rand(rows=1000, cols=100, seed=1)\n{open}{}print(sum(X))\n", "}\n".repeat(size))
}

fn statements(size: usize) -> String {
    /// Variables that statements read and assign in turn.
    const VARIABLES: usize = 7;
    let mut text = String::new();
    for i in 0..VARIABLES {
        let _ = writeln!(text, "A{i} = rand(rows=1000, cols=100, seed={i})");
    }
    for i in VARIABLES..size {
        let (target, source) = (i % VARIABLES, (i + 3) % VARIABLES);
        let condition = if i % 10 == 0 { format!("if (sum(A{source}) > {i}) ") } else { String::new() };
        let _ = writeln!(text, "{condition}A{target} = A{target} * A{source} + {i}");
    }
    text + "print(sum(A0))\n"
}
