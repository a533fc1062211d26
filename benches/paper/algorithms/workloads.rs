//! The algorithms as the paper's table 2 configures them, their data, and what no execution of them does without.

use super::data::Source;
use crate::workloads::Scale;

/// An algorithm on some data.
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) on: String,
    pub(crate) data: Source,
    /// Assigns the model `M`.
    pub(crate) script: String,
    /// What the algorithm needs, by its outer iterations and all steps within them.
    pub(crate) needs: Option<fn(f64, f64) -> Needs>,
    /// The paper's hits of the plan cache, and its plans.
    pub(crate) paper_hits: (u32, u32),
    pub(crate) rounds: usize,
}

/// What no execution of an algorithm does without.
#[derive(Clone, Copy)]
pub(crate) struct Needs {
    /// Scans of X.
    pub(crate) scans: f64,
    /// Columns beside X, of as many values as it has rows, that are read or written.
    pub(crate) columns: f64,
    /// Floating-point operations for each row of X: those of products with X, and [`FUNCTION`] for each function.
    pub(crate) flops: f64,
}

/// Operations of an exponential or another function, about the terms of its polynomial.
const FUNCTION: f64 = 20.0;

/// Columns of X.
pub(crate) const COLUMNS: f64 = 10.0;

/// Operations of a product of a row of X with a column.
const PRODUCT: f64 = 2.0 * COLUMNS;

/// The same script for every size of data.
pub(crate) fn workloads(scale: Scale, rounds: usize) -> Vec<Workload> {
    let workload = |algorithm: &Algorithm, (on, data): (String, String), needs| Workload {
        needs,
        ..algorithm.workload(on, Source::Script(data), rounds)
    };
    let (rows, more_rows, sparse_rows) = match scale {
        Scale::Quick => (100_000, None, 2_000),
        Scale::Default | Scale::Full => (1_000_000, Some(10_000_000), 60_000),
    };
    // Basic operators go through all cells of the product of the factors, some 860 times.
    let ratings = if scale == Scale::Full { (5_000, 2_000) } else { (1_000, 1_000) };
    let images = if scale == Scale::Full { 10_000 } else { 600 };
    let mut all = Vec::new();
    let sizes = [Some((rows, rounds, "")), more_rows.map(|rows| (rows, 3, ", 4 iterations"))];
    for (rows, rounds, shortened) in sizes.into_iter().flatten() {
        let on = |classes: usize, note: &str| {
            labelled(&format!("dense, {rows} x 10{note}{shortened}"), rows, 10, "1", classes)
        };
        let workload = |algorithm: &Algorithm, on| {
            let workload = workload(algorithm, on, algorithm.needs);
            // More iterations would show the same, in five times the time.
            let workload = if shortened.is_empty() { workload } else { workload.with_iterations(4) };
            Workload { rounds, ..workload }
        };
        all.extend([
            workload(&L2SVM, on(2, "")),
            workload(&MLOGREG, on(5, ", 5 classes")),
            workload(&GLM, on(2, "")),
            workload(&KMEANS, on(2, "")),
        ]);
    }
    let sparse = || labelled(&format!("sparse 0.2, {sparse_rows} x 784"), sparse_rows, 784, "0.2", 2);
    all.extend([&L2SVM, &MLOGREG, &GLM, &KMEANS].map(|algorithm| workload(algorithm, sparse(), None)));
    all.extend([
        workload(&ALS_CG, rated(ratings), None),
        workload(&AUTOENCODER, labelled(&format!("dense, {images} x 784"), images, 784, "1", 2), None),
    ]);
    all
}

/// The first gradient, of the labels; then X times the direction, which is written, the search along that over both scores and
/// the labels at least once, and the new scores, which are written, with the gradient.
fn l2svm_needs(outer: f64, _: f64) -> Needs {
    let scans = 1.0 + 2.0 * outer;
    Needs { scans, columns: 1.0 + 8.0 * outer, flops: PRODUCT * scans }
}

/// The first gradient, of the labels; then the probabilities of four classes, which are written, and the gradient in one scan; and
/// in each step both products of the Hessian, of the probabilities, in one scan.
fn mlogreg_needs(outer: f64, steps: f64) -> Needs {
    let classes = 4.0;
    let products = 1.0 + 2.0 * outer + 2.0 * steps;
    Needs {
        scans: 1.0 + outer + steps,
        columns: 1.0 + (1.0 + classes) * outer + classes * steps,
        flops: classes * (PRODUCT * products + FUNCTION * outer),
    }
}

/// As multinomial regression of one class, with the distribution and the density of the probit link.
fn glm_needs(outer: f64, steps: f64) -> Needs {
    let products = 2.0 + 2.0 * outer + 2.0 * steps;
    Needs {
        scans: 2.0 + outer + steps,
        columns: 1.0 + 2.0 * outer + steps,
        flops: PRODUCT * products + 2.0 * FUNCTION * outer,
    }
}

/// The sums of squares, and the assignment at the end; distances to five centroids and sums of records in one scan.
fn kmeans_needs(outer: f64, _: f64) -> Needs {
    Needs { scans: 2.0 + outer, columns: 0.0, flops: PRODUCT + 5.0 * PRODUCT * (1.0 + 2.0 * outer) }
}

/// An algorithm of the paper, as its table 2 configures it.
pub(crate) struct Algorithm {
    pub(crate) name: &'static str,
    /// Assigns the model `M`.
    script: &'static str,
    /// What it needs on ten columns.
    needs: Option<fn(f64, f64) -> Needs>,
    /// The paper's hits of the plan cache, and its plans.
    pub(crate) paper_hits: (u32, u32),
}

impl Algorithm {
    pub(crate) fn workload(&self, on: String, data: Source, rounds: usize) -> Workload {
        let Algorithm { name, script, needs, paper_hits } = *self;
        Workload { name, on, data, script: script.to_owned(), needs, paper_hits, rounds }
    }
}

impl Workload {
    /// With another limit of outer iterations.
    ///
    /// # Panics
    /// The script has none.
    pub(crate) fn with_iterations(mut self, iterations: usize) -> Workload {
        const LIMITS: [&str; 4] = [" maxIterations=", " maxi=", " moi=", " max_iter="];
        let limit = LIMITS.into_iter().find(|limit| self.script.contains(*limit)).expect("iterations are limited");
        self.script = self.script.replace(&format!("{limit}20,"), &format!("{limit}{iterations},"));
        self
    }
}

pub(crate) const L2SVM: Algorithm = Algorithm {
    name: "L2SVM",
    script: "M = l2svm(X=X, Y=Y, intercept=FALSE, reg=0.001, epsilon=1e-12, maxIterations=20, maxii=1000, verbose=FALSE)",
    needs: Some(l2svm_needs),
    paper_hits: (4, 20),
};
pub(crate) const MLOGREG: Algorithm = Algorithm {
    name: "MLogreg",
    script: "M = multiLogReg(X=X, Y=Y, icpt=0, reg=0.001, tol=1e-12, maxi=20, maxii=10, verbose=FALSE)",
    needs: Some(mlogreg_needs),
    paper_hits: (1494, 1520),
};
pub(crate) const GLM: Algorithm = Algorithm {
    name: "GLM",
    script: "M = glm(X=X, Y=Y, dfam=2, link=3, yneg=1, reg=0.001, tol=1e-12, moi=20, mii=10, verbose=FALSE)",
    needs: Some(glm_needs),
    paper_hits: (88, 145),
};
pub(crate) const KMEANS: Algorithm = Algorithm {
    name: "KMeans",
    script: "[M, Z] = kmeans(X=X, k=5, runs=1, max_iter=20, eps=1e-12, seed=1, is_verbose=FALSE)",
    needs: Some(kmeans_needs),
    paper_hits: (27, 45),
};
pub(crate) const ALS_CG: Algorithm = Algorithm {
    name: "ALS-CG",
    script: "[M, V] = alsCG(X=X, rank=20, regType='wL2', reg=0.001, maxi=20, check=TRUE, thr=1e-12)",
    needs: None,
    paper_hits: (5636, 5657),
};
/// The weights to start from are part of the script, since the algorithm draws others at random.
pub(crate) const AUTOENCODER: Algorithm = Algorithm {
    name: "AutoEncoder",
    script: "W1 = rand(rows=500, cols=ncol(X), min=-1, max=1, seed=1)
    W2 = rand(rows=2, cols=500, min=-1, max=1, seed=2)
    W3 = rand(rows=500, cols=2, min=-1, max=1, seed=3)
    W4 = rand(rows=ncol(X), cols=500, min=-1, max=1, seed=4)
    places = rand(rows=nrow(X), cols=1, min=0, max=1, seed=5)
    [M, b1, V2, b2, V3, b3, V4, b4, H] = autoencoder_2layer(X=X, num_hidden1=500, num_hidden2=2, max_epochs=1, batch_size=512,
        W1_rand=W1, W2_rand=W2, W3_rand=W3, W4_rand=W4, order_rand=places)",
    needs: None,
    paper_hits: (2242, 2259),
};

/// Data in words and its script: labels follow from linear scores with some noise.
pub(crate) fn labelled(on: &str, rows: usize, cols: usize, sparsity: &str, classes: usize) -> (String, String) {
    let data = format!(
        "X = rand(rows={rows}, cols={cols}, min=-1, max=1, sparsity={sparsity}, seed=1)
         S = X %*% matrix(cos(seq(1, {cells})), rows={cols}, cols={classes})
         Y = rowIndexMax(S + rand(rows={rows}, cols={classes}, min=-0.5, max=0.5, seed=2))",
        cells = cols * classes
    );
    (on.to_owned(), data)
}

pub(crate) fn rated((rows, cols): (usize, usize)) -> (String, String) {
    let data = format!(
        "X = rand(rows={rows}, cols={cols}, min=1, max=5, sparsity=0.01, seed=1)
         Y = matrix(1, rows={rows}, cols=1)"
    );
    (format!("sparse 0.01, {rows} x {cols}"), data)
}
