//! The algorithms on generated data, dense and sparse: a sparse matrix gives the same model in either format, and every
//! mode the same model after the same number of iterations, but for one.

use crate::execution::{BACKENDS, MODES, session};
use crate::results::Results;
use fuseline::ir::DataType;
use fuseline::{BackendKind, MatrixBlock, Mode, ScriptInterface, Session, Variables};

/// Reads `X` and prints the model's quantities. `X` is positive, so that all of them take it.
const ALGORITHMS: &[(&str, &str)] = &[
    (
        "l2svm",
        "y = X %*% cos(seq(1, ncol(X))) > 0
         w = l2svm(X=X, Y=y, intercept=TRUE, epsilon=1e-12, reg=1, maxIterations=100, verbose=TRUE)
         print('weights: ' + sum(abs(w)))
         [scores, column] = l2svmPredict(X=X, W=w)
         print('right: ' + sum((scores > 0) == y))",
    ),
    (
        "msvm",
        "y = 1 + (X[, 1] > 0) + (X[, 2] > 0.3)
         W = msvm(X=X, Y=y, intercept=TRUE, epsilon=1e-12, reg=1, maxIterations=100)
         print('weights: ' + sum(abs(W)))
         [scores, class] = msvmPredict(X=X, W=W)
         print('classes: ' + sum(class))",
    ),
    (
        "multiLogReg",
        "y = 1 + (X[, 1] > 0) + (X[, 2] > 0.3)
         B = multiLogReg(X=X, Y=y, icpt=2, tol=1e-9, reg=1, maxi=50, verbose=TRUE)
         print('coefficients: ' + sum(abs(B)))
         [P, class, accuracy] = multiLogRegPredict(X=X, B=B, Y=y)
         print('accuracy: ' + accuracy)",
    ),
    (
        "glm",
        "y = X %*% cos(seq(1, ncol(X))) + sin(31 * seq(1, nrow(X))) > 0
         B = glm(X=X, Y=y, dfam=2, link=3, icpt=1, reg=0.001, tol=1e-12, verbose=FALSE)
         print('coefficients: ' + sum(abs(B)))
         M = glmPredict(X=X, B=B, dfam=2, link=3, verbose=FALSE)
         print('right: ' + sum((M[, 1] > 0.5) == y))",
    ),
    (
        "kmeans",
        "[C, Y] = kmeans(X=X, k=5, runs=2, max_iter=30, seed=3)
         print('centroids: ' + sum(abs(C)))
         print('clusters: ' + sum(Y))
         print('predicted: ' + sum(kmeansPredict(X=X, C=C) == Y))",
    ),
    (
        "alsCG",
        "[U, V] = alsCG(X=X, rank=3, regType='wL2', reg=0.01, maxi=5, thr=0, verbose=TRUE)
         print('loss: ' + sum((X != 0) * (U %*% V - X) ^ 2))
         T = alsPredict(userIDs=seq(1, 5), I=X, L=U, R=V)
         print('unknown: ' + sum(abs(T)))",
    ),
    (
        "autoencoder_2layer",
        "W1 = matrix(sin(seq(1, 4 * ncol(X))), rows=4, cols=ncol(X))
         W2 = matrix(sin(seq(1, 8)), rows=2, cols=4)
         W4 = matrix(sin(seq(1, 4 * ncol(X))), rows=ncol(X), cols=4)
         [A1, b1, A2, b2, A3, b3, A4, b4, H] = autoencoder_2layer(X=X, num_hidden1=4, num_hidden2=2, max_epochs=1,
             batch_size=64, step=0.01, W1_rand=W1, W2_rand=W2, W3_rand=t(W2), W4_rand=W4, order_rand=sin(seq(1, nrow(X))))
         print('weights: ' + (sum(abs(A1)) + sum(abs(A4))))
         print('hidden: ' + sum(abs(H)))",
    ),
    (
        "lm",
        "y = X %*% cos(seq(1, ncol(X))) + sin(31 * seq(1, nrow(X)))
         B = lm(X=X, y=y, icpt=2, reg=0.1, verbose=FALSE)
         print('coefficients: ' + sum(abs(B)))
         G = lmCG(X=X, y=y, icpt=2, reg=0.1, tol=1e-12, verbose=TRUE)
         print('by conjugate gradients: ' + sum(abs(G)))
         print('predicted: ' + sum(abs(lmPredict(X=X, B=B))))",
    ),
    (
        "pca",
        "[Y, M, means, deviations] = pca(X=X, K=3)
         print('components: ' + sum(abs(M)))
         print('variance: ' + sum(Y ^ 2))",
    ),
    (
        "pnmf",
        "[W, H] = pnmf(X=X, rnk=4, maxi=5, verbose=TRUE, seed=7)
         print('factors: ' + (sum(W ^ 2) + sum(H ^ 2)))",
    ),
    (
        "pageRank",
        "G = t(X) %*% X
         G = G / colSums(G)
         n = ncol(G)
         p = pageRank(G=G, p=matrix(1 / n, rows=n, cols=1), e=matrix(1 / n, rows=n, cols=1), max_iter=30)
         print('ranks: ' + sum(abs(p - 1 / n)))
         print('sum: ' + sum(p))",
    ),
];

/// Of numbers that two runs print: sums over models, of which all cells have to agree as closely.
const TOLERANCE: f64 = 1e-8;

fn generated(sparsity: f64) -> MatrixBlock {
    let session = session(Mode::Base, BackendKind::Interp);
    let text = format!("X = rand(rows=300, cols=12, min=0.1, max=1, sparsity={sparsity}, seed=5)");
    let script = session.compile_script("<data>", &text, &[]).expect("the script is right");
    let outcome = session.run(&script, Variables::new(), &mut std::io::sink()).expect("the script runs");
    outcome.matrix("X").expect("it is a matrix").clone()
}

#[track_caller]
fn run(session: &Session, name: &str, text: &str, x: MatrixBlock) -> Results {
    let interface = ScriptInterface { inputs: &[("X", DataType::MATRIX)], ..ScriptInterface::default() };
    let mut script = session.prepare_script(name, text, &interface).unwrap_or_else(|error| panic!("{name}: {error}"));
    script.bind("X", x).expect("X is an input");
    let mut printed = Vec::new();
    script.execute(&mut printed).unwrap_or_else(|error| panic!("{name}: {error}"));
    Results::of_print(std::str::from_utf8(&printed).expect("scripts print UTF-8"))
}

/// All algorithms on a matrix in some formats: the modes agree on each, the formats with each other, and the backends in
/// every bit.
fn check(formats: &[(&str, MatrixBlock)]) {
    let mut first: Vec<Option<Results>> = vec![None; ALGORITHMS.len()];
    for &mode in MODES {
        let sessions: Vec<Session> = BACKENDS.iter().map(|&backend| session(mode, backend)).collect();
        for ((algorithm, text), first) in ALGORITHMS.iter().zip(&mut first) {
            for (format, x) in formats {
                let what = format!("{algorithm} {mode:?} {format}");
                let results: Vec<Results> =
                    sessions.iter().map(|session| run(session, &what, text, x.clone())).collect();
                assert!(results.iter().all(|other| *other == results[0]), "{what}: backends differ: {results:?}");
                match first {
                    Some(first) => results[0].assert_close(first, TOLERANCE, &what),
                    None => *first = results.into_iter().next(),
                }
            }
        }
    }
}

#[test]
fn dense_data() {
    check(&[("dense", generated(1.0))]);
}

#[test]
fn sparse_data_in_either_format() {
    let x = generated(0.15);
    let (dense, sparse) = (x.to_dense().into_owned(), x.to_csr().into_owned());
    check(&[("dense", dense.into()), ("CSR", sparse.into())]);
}
