//! The script library in every mode: run times and what compilation cost. Writes `docs/algorithms.md`.
//!
//! `./x bench algorithms`, or `cargo bench --bench algorithms -- NAME` for the algorithms of which the name contains
//! this, whose rows are printed alone; with `--columns` the headings of the table, and nothing runs. Every run has a
//! session of its own, so that the first includes all compilation; the second, of the same prepared script on the same
//! data, includes none.

#[path = "support/host.rs"]
mod host;
#[path = "support/provenance.rs"]
mod provenance;

use fuseline::ir::DataType;
use fuseline::{BackendKind, CompileOptions, Mode, ScriptInterface, Session, Statistics, Variables};
use std::fmt::Write;
use std::time::Instant;

const MODES: &[(&str, Mode)] =
    &[("base", Mode::Base), ("gen", Mode::Gen), ("gen-fa", Mode::GenFuseAll), ("gen-fnr", Mode::GenFuseNoRedundancy)];

/// Data by name: a script that assigns the matrices `X` and `Y`, the labels from 1.
const DATA: &[(&str, &str)] = &[
    (
        "breast cancer, 569 x 30",
        "D = read('examples/data/breast_cancer.csv', format='csv', header=TRUE)
         [X, means, deviations] = scale(D[, 1:30], TRUE, TRUE)
         Y = D[, 31] + 1",
    ),
    (
        "digits, 1797 x 64",
        "D = read('examples/data/digits.csv', format='csv', header=TRUE)
         X = D[, 1:64]
         Y = D[, 65] + 1",
    ),
    (
        "dense, 100000 x 10, 2 classes",
        "X = rand(rows=100000, cols=10, min=-1, max=1, seed=1)
         Y = 1 + (X %*% cos(seq(1, 10)) + rand(rows=100000, cols=1, min=-0.5, max=0.5, seed=2) > 0)",
    ),
    (
        "dense, 100000 x 10, 5 classes",
        "X = rand(rows=100000, cols=10, min=-1, max=1, seed=1)
         S = X %*% matrix(cos(seq(1, 50)), rows=10, cols=5) + rand(rows=100000, cols=5, min=-0.5, max=0.5, seed=2)
         Y = rowIndexMax(S)",
    ),
    (
        "sparse 0.2, 6000 x 784, 2 classes",
        "X = rand(rows=6000, cols=784, min=0, max=1, sparsity=0.2, seed=1)
         Y = 1 + (X %*% cos(seq(1, 784)) + rand(rows=6000, cols=1, min=-0.5, max=0.5, seed=2) > 0)",
    ),
    (
        "sparse 0.01, 2000 x 2000",
        "X = rand(rows=2000, cols=2000, min=1, max=5, sparsity=0.01, seed=1)
         Y = matrix(1, rows=2000, cols=1)",
    ),
    (
        "dense, 1000 x 1000",
        "X = rand(rows=1000, cols=1000, min=0, max=1, seed=1)
         Y = matrix(1, rows=1000, cols=1)",
    ),
    (
        "links 0.001, 10000 x 10000",
        "X = rand(rows=10000, cols=10000, min=1, max=1, sparsity=0.001, seed=1)
         X = X / max(colSums(X), 1)
         Y = matrix(1, rows=10000, cols=1)",
    ),
];

/// An algorithm in one configuration, on some of the data.
struct Workload {
    name: &'static str,
    configuration: &'static str,
    data: &'static [&'static str],
    script: &'static str,
}

const CANCER: &str = "breast cancer, 569 x 30";
const DIGITS: &str = "digits, 1797 x 64";
const DENSE: &str = "dense, 100000 x 10, 2 classes";
const CLASSES: &str = "dense, 100000 x 10, 5 classes";
const SPARSE: &str = "sparse 0.2, 6000 x 784, 2 classes";
const RATINGS: &str = "sparse 0.01, 2000 x 2000";
const SQUARE: &str = "dense, 1000 x 1000";
const LINKS: &str = "links 0.001, 10000 x 10000";

/// The first six as in the paper: its table 2 says how they are configured.
const WORKLOADS: &[Workload] = &[
    Workload {
        name: "l2svm",
        configuration: "no intercept, reg 1e-3, tol 1e-12, 20 iterations",
        data: &[CANCER, DENSE, SPARSE],
        script: "M = l2svm(X=X, Y=Y, intercept=FALSE, reg=0.001, epsilon=1e-12, maxIterations=20, maxii=1000)",
    },
    Workload {
        name: "multiLogReg",
        configuration: "no intercept, reg 1e-3, tol 1e-12, 20 / 10 iterations",
        data: &[CANCER, DENSE, CLASSES, SPARSE],
        script: "M = multiLogReg(X=X, Y=Y, icpt=0, reg=0.001, tol=1e-12, maxi=20, maxii=10,
            verbose=FALSE)",
    },
    Workload {
        name: "glm",
        configuration: "binomial, probit, reg 1e-3, tol 1e-12, 20 / 10 iterations",
        data: &[CANCER, DENSE, SPARSE],
        script: "M = glm(X=X, Y=Y, dfam=2, link=3, yneg=1, reg=0.001, tol=1e-12, moi=20, mii=10,
            verbose=FALSE)",
    },
    Workload {
        name: "kmeans",
        configuration: "1 run, k = 5, tol 1e-12, 20 iterations",
        data: &[DIGITS, DENSE, SPARSE],
        script: "[M, Z] = kmeans(X=X, k=5, runs=1, max_iter=20, eps=1e-12, seed=1)",
    },
    Workload {
        name: "alsCG",
        configuration: "rank 20, weighted L2, reg 1e-3, threshold 1e-12, 20 / 20 iterations",
        data: &[DIGITS, RATINGS],
        script: "[M, V] = alsCG(X=X, rank=20, regType='wL2', reg=0.001, maxi=20, check=TRUE, thr=1e-12,
            verbose=FALSE)",
    },
    Workload {
        name: "autoencoder_2layer",
        configuration: "batches of 512, 500 and 2 neurons, 1 pass",
        data: &[DIGITS, SQUARE],
        script: "[M, b1, W2, b2, W3, b3, W4, b4, H] = autoencoder_2layer(X=X, num_hidden1=500, num_hidden2=2,
            max_epochs=1, batch_size=512)",
    },
    Workload {
        name: "msvm",
        configuration: "intercept, reg 1, tol 1e-3, 100 iterations",
        data: &[DIGITS],
        script: "M = msvm(X=X, Y=Y, intercept=TRUE)",
    },
    Workload {
        name: "lmDS",
        configuration: "intercept and scaling, reg 1e-7",
        data: &[CANCER, DENSE, SPARSE],
        script: "M = lmDS(X=X, y=Y, icpt=2, verbose=FALSE)",
    },
    Workload {
        name: "lmCG",
        configuration: "intercept and scaling, reg 1e-7, tol 1e-7",
        data: &[CANCER, DENSE, SPARSE],
        script: "M = lmCG(X=X, y=Y, icpt=2, verbose=FALSE)",
    },
    Workload {
        name: "pca",
        configuration: "2 components, centered and scaled",
        data: &[DIGITS, DENSE],
        script: "[Z, M, means, deviations] = pca(X=X, K=2)",
    },
    Workload {
        name: "pnmf",
        configuration: "rank 10, 10 iterations",
        data: &[DIGITS, RATINGS],
        script: "[M, H] = pnmf(X=X, rnk=10, maxi=10, verbose=FALSE, seed=1)",
    },
    Workload { name: "pageRank", configuration: "20 iterations", data: &[LINKS], script: "M = pageRank(G=X, seed=1)" },
];

/// One row of the table.
struct Measured {
    first_seconds: f64,
    second_seconds: f64,
    statistics: Statistics,
}

fn main() {
    if std::env::args().any(|argument| argument == "--columns") {
        return print!("{HEADER}");
    }
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let wanted = |name: &str| filter.as_deref().is_none_or(|filter| name.contains(filter));
    let mut text = format!("{}\n", introduction());
    for workload in WORKLOADS.iter().filter(|workload| wanted(workload.name)) {
        text.push_str(&section(workload));
    }
    if filter.is_none() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/algorithms.md");
        std::fs::write(path, text).expect("the report can be written");
    }
}

fn section(workload: &Workload) -> String {
    let mut text = format!("\n## {}\n\n{}\n\n{HEADER}", workload.name, workload.configuration);
    println!("{}", text.trim_end());
    for data in workload.data {
        let variables = load(data);
        for (mode, row) in MODES.iter().map(|(name, mode)| (name, measure(workload, *mode, &variables))) {
            let line = table_row(data, mode, &row);
            println!("{line}");
            writeln!(text, "{line}").expect("strings take writes");
        }
    }
    text
}

/// The variables `X` and `Y` of some data.
fn load(name: &str) -> Variables {
    let (_, text) = DATA.iter().find(|(known, _)| *known == name).expect("the data has a script");
    let session = session(Mode::Base);
    let script = session.compile_script("<data>", text, &[]).unwrap_or_else(|error| panic!("{name}: {error}"));
    let outcome = session.run(&script, Variables::new(), &mut std::io::sink());
    let mut variables = outcome.unwrap_or_else(|error| panic!("{name}: {error}")).variables;
    variables.retain(|name, _| name == "X" || name == "Y");
    variables
}

fn session(mode: Mode) -> Session {
    // Generated code alone: what compilation costs is not to pass while units are interpreted.
    Session::new(CompileOptions { mode, backend: BackendKind::for_measurement(), ..CompileOptions::default() })
        .expect("a session")
}

fn measure(workload: &Workload, mode: Mode, variables: &Variables) -> Measured {
    let fail = |error: fuseline::Error| -> ! { panic!("{} {mode:?}: {error}", workload.name) };
    let session = session(mode);
    let inputs = &[("X", DataType::MATRIX), ("Y", DataType::MATRIX)];
    let interface = ScriptInterface { inputs, outputs: &["M"], ..ScriptInterface::default() };
    let script = session.prepare_script(workload.name, workload.script, &interface);
    let mut script = script.unwrap_or_else(|error| fail(error));
    for (name, value) in variables {
        script.bind(name, value.clone()).unwrap_or_else(|error| fail(error));
    }
    let mut execute = || {
        let start = Instant::now();
        let outcome = script.execute(&mut std::io::sink()).unwrap_or_else(|error| fail(error));
        (start.elapsed().as_secs_f64(), outcome.statistics)
    };
    let (first_seconds, statistics) = execute();
    let (second_seconds, _) = execute();
    Measured { first_seconds, second_seconds, statistics }
}

const HEADER: &str = "\
| data | mode | first run, s | second run, s | optimize, s | codegen, s | DAGs | recompiled | CPlans | compiled | cache hits | with blocks | operators fused |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
";

fn table_row(data: &str, mode: &str, row: &Measured) -> String {
    let statistics = &row.statistics;
    let fused: u64 = statistics.fused_operators.values().sum();
    format!(
        "| {data} | {mode} | {:.3} | {:.3} | {:.3} | {:.3} | {} | {} | {} | {} | {} | {} | {fused} |",
        row.first_seconds,
        row.second_seconds,
        statistics.optimize_seconds,
        statistics.codegen_seconds,
        statistics.dags_optimized,
        statistics.recompilations,
        statistics.cplans,
        statistics.operators_compiled,
        statistics.plan_cache_hits,
        statistics.plans_of_found_blocks,
    )
}

fn introduction() -> String {
    format!(
        "# Algorithms: run times and what compilation costs

{}

Data is in memory before a run. The *first run* of a script in a new session includes all compilation; the *second run*
of the same prepared script, on the same data, includes none. Runs wait for generated code (`--backend llvm`). Every other
number is of the first run: seconds in the
optimizer (*optimize*: rewrites, sizes, exploration, selection) and waiting for code (*codegen*), blocks optimized
(*DAGs*), of these compiled again for other sizes (*recompiled*), fused operators constructed (*CPlans*), of these
*compiled* and found in the plan cache (*cache hits*), plans found with blocks that were compiled already for their
sizes (*with blocks*), and executions of fused operators (*operators fused*).
",
        provenance::made_by("./x bench algorithms", "benches/algorithms.rs")
    )
}
