//! The six algorithms of the paper, on data that decides plans as theirs does and still runs in seconds.

use fuseline::ir::hop::HopDag;
use fuseline::{CompileOptions, CompileStage, Session, Statistics, Variables};
use std::collections::BTreeSet;

/// An algorithm with its data.
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    /// What it runs on, and how it is configured.
    pub(crate) configuration: &'static str,
    data: &'static str,
    call: &'static str,
}

impl Workload {
    /// A script that generates the data and runs the algorithm on it.
    pub(crate) fn script(&self) -> String {
        format!("{}\n{}\nprint(sum(M))\n", self.data, self.call)
    }

    /// Runs the algorithm: what [`run`] gives.
    pub(crate) fn run(&self, options: CompileOptions) -> (Vec<HopDag>, Statistics) {
        run(self.name, &self.script(), options)
    }
}

/// Runs a script: the distinct DAGs that compilation meets, with their sizes, and the counters of the run.
pub(crate) fn run(name: &str, script: &str, options: CompileOptions) -> (Vec<HopDag>, Statistics) {
    let fail = |error: fuseline::Error| -> ! { panic!("{name}: {error}") };
    let session = Session::new(options).unwrap_or_else(|error| fail(error));
    let script = session.compile_script(name, script, &[]).unwrap_or_else(|error| fail(error));
    let (mut dags, mut texts) = (Vec::<HopDag>::new(), BTreeSet::new());
    let mut observe = |stage: CompileStage<'_>| {
        if let CompileStage::Sized(dag) = stage
            && texts.insert(dag.to_string())
        {
            dags.push(dag.clone());
        }
    };
    let outcome = session.run_observed(&script.for_effects(), Variables::new(), &mut std::io::sink(), &mut observe);
    let statistics = outcome.unwrap_or_else(|error| fail(error)).statistics;
    (dags, statistics)
}

const TWO_CLASSES: &str = "X = rand(rows=100000, cols=10, min=-1, max=1, seed=1)
Y = 1 + (X %*% cos(seq(1, 10)) + rand(rows=100000, cols=1, min=-0.5, max=0.5, seed=2) > 0)";

const FIVE_CLASSES: &str = "X = rand(rows=100000, cols=10, min=-1, max=1, seed=1)
S = X %*% matrix(cos(seq(1, 50)), rows=10, cols=5) + rand(rows=100000, cols=5, min=-0.5, max=0.5, seed=2)
Y = rowIndexMax(S)";

/// As the paper's table 2 configures them, with fewer iterations: the DAGs are the same.
pub(crate) const WORKLOADS: &[Workload] = &[
    Workload {
        name: "l2svm",
        configuration: "100000 x 10 dense, 2 classes; no intercept, reg 1e-3, 5 iterations",
        data: TWO_CLASSES,
        call: "M = l2svm(X=X, Y=Y, intercept=FALSE, reg=0.001, epsilon=1e-12, maxIterations=5, maxii=20)",
    },
    Workload {
        name: "multiLogReg",
        configuration: "100000 x 10 dense, 5 classes; no intercept, reg 1e-3, 5 / 5 iterations",
        data: FIVE_CLASSES,
        call: "M = multiLogReg(X=X, Y=Y, icpt=0, reg=0.001, tol=1e-12, maxi=5, maxii=5, verbose=FALSE)",
    },
    Workload {
        name: "glm",
        configuration: "100000 x 10 dense; binomial, probit, reg 1e-3, 5 / 5 iterations",
        data: TWO_CLASSES,
        call: "M = glm(X=X, Y=Y, dfam=2, link=3, yneg=1, reg=0.001, tol=1e-12, moi=5, mii=5, verbose=FALSE)",
    },
    Workload {
        name: "kmeans",
        configuration: "100000 x 10 dense; 1 run, k = 5, 10 iterations",
        data: TWO_CLASSES,
        call: "[M, Z] = kmeans(X=X, k=5, runs=1, max_iter=10, eps=1e-12, seed=1)",
    },
    Workload {
        name: "alsCG",
        configuration: "10000 x 5000, sparsity 0.01; rank 20, weighted L2, reg 1e-3, 2 / 5 iterations",
        data: "X = rand(rows=10000, cols=5000, min=1, max=5, sparsity=0.01, seed=1)",
        call: "[M, V] = alsCG(X=X, rank=20, regType='wL2', reg=0.001, maxi=2, check=TRUE, thr=1e-12, verbose=FALSE)",
    },
    Workload {
        name: "autoencoder_2layer",
        configuration: "2000 x 784 dense; batches of 512, 500 and 2 neurons, 1 pass",
        data: "X = rand(rows=2000, cols=784, min=0, max=1, seed=1)",
        call: "[M, b1, W2, b2, W3, b3, W4, b4, H] = autoencoder_2layer(X=X, num_hidden1=500, num_hidden2=2, max_epochs=1, batch_size=512)",
    },
];
