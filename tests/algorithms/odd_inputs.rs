//! Inputs at the edge of what the algorithms take: the documented result, or a message that says what is wrong.

use crate::execution::{BACKENDS, run, session};
use fuseline::{BackendKind, Mode};

const ODD_MODES: &[Mode] = &[Mode::Base, Mode::Gen];

/// A script prints this in every mode and on every backend.
#[track_caller]
fn prints(text: &str, expected: &[&str]) {
    for &mode in ODD_MODES {
        for &backend in BACKENDS {
            let results = run(&session(mode, backend), "<odd>", text, &[]);
            let results = results.unwrap_or_else(|error| panic!("{mode:?} {backend:?}: {error}\n{text}"));
            assert_eq!(results.lines, expected, "{mode:?} {backend:?}\n{text}");
        }
    }
}

/// A script stops with this message.
#[track_caller]
fn stops(text: &str, message: &str) {
    for &mode in ODD_MODES {
        let result = run(&session(mode, BackendKind::Interp), "<odd>", text, &[]);
        let error = result.expect_err(text);
        assert!(error.contains(message), "{mode:?}: {error}\n{text}");
    }
}

/// Twelve rows of three columns, the second of them constant.
const X: &str = "X = cbind(seq(1, 12), matrix(2, rows=12, cols=1), sin(seq(1, 12)))\n";

fn with_x(text: &str) -> String {
    format!("{X}{text}")
}

#[test]
fn l2svm_needs_two_classes() {
    stops(&with_x("w = l2svm(X=X, Y=matrix(1, rows=12, cols=1))"), "l2svm: Y must have two values");
    stops(&with_x("w = l2svm(X=X, Y=seq(1, 12))"), "l2svm: Y must have two values");
}

#[test]
fn l2svm_takes_one_column_and_constant_columns() {
    prints(
        "X = seq(1, 12)
         w = l2svm(X=X, Y=X > 6, intercept=TRUE, epsilon=1e-12, reg=1e-6, maxIterations=1000)
         print('right ' + (sum((X * as.scalar(w[1, 1]) + as.scalar(w[2, 1]) > 0) == (X > 6)) == 12))",
        &["right TRUE"],
    );
    prints(
        &with_x("w = l2svm(X=X, Y=X[, 1] > 6, intercept=TRUE)\nprint('rows ' + nrow(w) + ', ' + (sum(abs(w)) < Inf))"),
        &["rows 4, TRUE"],
    );
}

#[test]
fn l2svm_predict_compares_shapes() {
    stops(
        &with_x("W = removeEmpty(target=t(t(X[1:3, 1]) - 1), margin='rows')\n[s, y] = l2svmPredict(X=X, W=W)"),
        "l2svmPredict: W has 2 rows, X has 3 columns",
    );
}

#[test]
fn msvm_never_predicts_a_class_without_rows() {
    prints(
        &with_x(
            "Y = ifelse(X[, 1] > 6, 3, 1)
             W = msvm(X=X, Y=Y, intercept=TRUE)
             print('classes ' + ncol(W) + ', intercept of the second ' + as.scalar(W[4, 2]))
             [S, class] = msvmPredict(X=X, W=W)
             print('second ' + sum(class == 2))",
        ),
        &["classes 3, intercept of the second -Infinity", "second 0.0"],
    );
    stops(&with_x("W = msvm(X=X, Y=-X[, 1])"), "msvm: classes must not be negative");
}

#[test]
fn multi_log_reg_needs_two_classes() {
    stops(
        &with_x("B = multiLogReg(X=X, Y=matrix(1, rows=12, cols=1), verbose=FALSE)"),
        "multiLogReg: Y must have two classes or more",
    );
}

#[test]
fn multi_log_reg_takes_constant_columns_and_missing_values() {
    prints(
        &with_x(
            "X[3, 3] = NaN
             B = multiLogReg(X=X, Y=1 + (X[, 1] > 6), icpt=2, reg=0.1, verbose=FALSE)
             [P, class, accuracy] = multiLogRegPredict(X=X, B=B, Y=1 + (X[, 1] > 6))
             print('rows ' + nrow(B) + ', right ' + (accuracy == 100) + ', sums ' + (max(abs(rowSums(P) - 1)) < 1e-12))",
        ),
        &["rows 4, right TRUE, sums TRUE"],
    );
}

#[test]
fn glm_says_what_responses_it_takes() {
    let glm = |arguments: &str| with_x(&format!("b = glm(X=X, {arguments}, verbose=FALSE)"));
    stops(&glm("Y=matrix(1, rows=12, cols=1), dfam=2, link=2"), "glm: all labels say the same; yneg is 0");
    stops(&glm("Y=-X[, 1], dfam=1, vpow=1, link=1, lpow=0"), "glm: a response is negative");
    stops(&glm("Y=X[, 1] - 1, dfam=1, vpow=2, link=1, lpow=0"), "glm: a response is not positive");
    stops(&glm("Y=X[, 1], dfam=4"), "glm: the family dfam must be 1 or 2, not 4");
    stops(&glm("Y=X[, 1], dfam=1, link=3"), "glm: the family 1 needs a power link");
}

#[test]
fn glm_takes_constant_columns_next_to_an_intercept() {
    prints(
        &with_x(
            "y = 2 + 3 * X[, 1]
             b = glm(X=X, Y=y, icpt=1, reg=1e-6, tol=1e-14, verbose=FALSE)
             M = glmPredict(X=X, B=b, verbose=FALSE)
             print('close ' + (max(abs(M - y)) < 1e-4))",
        ),
        &["close TRUE"],
    );
}

#[test]
fn kmeans_takes_more_clusters_than_distinct_rows() {
    prints(
        "X = rbind(matrix(1, rows=5, cols=2), matrix(3, rows=5, cols=2))
         [C, Y] = kmeans(X=X, k=4, runs=3, seed=1)
         P = table(seq(1, 10), Y, 10, 4)
         print('clusters ' + nrow(C) + ', none far ' + (sum((X - P %*% C) ^ 2) < 1e-20))",
        &["clusters 4, none far TRUE"],
    );
    stops(
        "X = removeEmpty(target=matrix('0 1 2 3', rows=4, cols=1), margin='rows')
         [C, Y] = kmeans(X=X, k=nrow(X) - 3)",
        "kmeans: k, runs and max_iter must be positive",
    );
}

#[test]
fn kmeans_takes_one_column_and_one_cluster() {
    prints("[C, Y] = kmeans(X=seq(1, 9), k=1, runs=1, seed=1)\nprint('at ' + as.scalar(C))", &["at 5.0"]);
}

#[test]
fn als_takes_rows_and_columns_without_known_cells() {
    prints(
        "X = matrix('1 0 2  0 0 0  3 0 4', rows=3, cols=3)
         [U, V] = alsCG(X=X, rank=2, reg=0.001, maxi=100, thr=1e-12, verbose=FALSE)
         print('close ' + (max(abs((X != 0) * (U %*% V - X))) < 0.01))",
        &["close TRUE"],
    );
    stops("[U, V] = alsCG(X=matrix(1, rows=3, cols=3), regType='L1')", "alsCG: regType must be L2 or wL2, not L1");
    stops(
        "Y = alsPredict(userIDs=matrix(4, 1, 1), I=matrix(0, 3, 3), L=matrix(1, 3, 2), R=matrix(1, 2, 3))",
        "alsPredict: user 4",
    );
}

#[test]
fn linear_regression_takes_one_column_and_fewer_rows_than_columns() {
    prints(
        "x = seq(1, 9)
         B = lm(X=x, y=2 * x + 1, icpt=1, reg=0, verbose=FALSE)
         G = lmCG(X=x, y=2 * x + 1, icpt=1, reg=0, tol=1e-14, maxi=20, verbose=FALSE)
         expected = matrix('2 1', rows=2, cols=1)
         print('close ' + (max(abs(B - expected)) < 1e-9) + ' ' + (max(abs(G - expected)) < 1e-9))",
        &["close TRUE TRUE"],
    );
    prints(
        "X = matrix(sin(seq(1, 15) ^ 2), rows=3, cols=5)
         B = lm(X=X, y=seq(1, 3), reg=1e-5, verbose=FALSE)
         print('close ' + (max(abs(X %*% B - seq(1, 3))) < 0.01))",
        &["close TRUE"],
    );
}

#[test]
fn pca_takes_all_components_at_most() {
    prints(
        "X = matrix(sin(seq(1, 40)), rows=10, cols=4)
         [Y, M, means, deviations] = pca(X=X, K=9, scale=FALSE)
         print('orthonormal ' + (max(abs(t(M) %*% M - diag(matrix(1, rows=4, cols=1)))) < 1e-9))",
        &["pca: 9 components of 4 columns, taking 4", "orthonormal TRUE"],
    );
}

#[test]
fn pnmf_takes_rows_and_columns_of_zeros() {
    prints(
        "X = matrix('1 0 2  0 0 0  3 0 4', rows=3, cols=3)
         [W, H] = pnmf(X=X, rnk=2, maxi=200, verbose=FALSE)
         print('finite ' + (sum(W) + sum(H) < Inf) + ', not negative ' + (min(W) >= 0 & min(H) >= 0))",
        &["finite TRUE, not negative TRUE"],
    );
}

#[test]
fn page_rank_draws_first_ranks_and_takes_one_page() {
    prints(
        "G = matrix(0.25, rows=4, cols=4)
         p = pageRank(G=G, e=matrix(0.25, rows=4, cols=1), seed=5, max_iter=10)
         print('equal ' + (max(p) - min(p) < 1e-12))
         p = pageRank(G=as.matrix(1), p=as.matrix(0), e=as.matrix(1), seed=5)
         print('one page ' + (as.scalar(p) > 0 & as.scalar(p) < 1))",
        &["equal TRUE", "one page TRUE"],
    );
}

#[test]
fn scale_leaves_constant_columns_at_zero() {
    prints(
        &with_x(
            "[Z, means, deviations] = scale(X, TRUE, TRUE)
             print('zero ' + (sum(abs(Z[, 2])) == 0) + ', variance ' + (max(abs(colVars(Z[, 1]) - 1)) < 1e-12))",
        ),
        &["zero TRUE, variance TRUE"],
    );
}
