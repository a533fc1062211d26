//! Which loops have independent iterations.

use crate::{ParseOptions, parse};

/// The variables through which iterations depend on each other.
fn dependencies(parfor: &str) -> Vec<String> {
    let before = "X = matrix(0, rows=100, cols=100)\nY = X\ns = 0\nk = nrow(X) / 10\nn = 3\n";
    let Err(errors) = parse("test.dml", &format!("{before}{parfor}"), &ParseOptions::from_files()) else {
        return Vec::new();
    };
    let name = |message: &str| message.split('`').rev().nth(1).unwrap_or_default().to_owned();
    errors.errors.iter().map(|error| name(&error.message)).collect()
}

#[track_caller]
fn check(body: &str, expected: &[&str]) {
    assert_eq!(dependencies(&format!("parfor (i in 1:9) {{ {body} }}")), expected, "{body}");
}

#[test]
fn variables_of_an_iteration_are_its_own() {
    check("a = i; b = a + 1; s = b", &[]);
    check("s = s + i", &["s"]);
    check("print(s)\n s = i", &["s"]);
    check("if (i > 3) s = 1\n print(s)", &["s"]);
    check("if (i > 3) { s = 1 } else { s = 2 }\n print(s)", &[]);
    check("for (j in 1:3) a = j\n print(j)", &[]);
    check("while (s < 10) s = s + 1", &["s"]);
    check("s += i", &[]);
    check("s += i; print(s)", &["s"]);
}

#[test]
fn ranges_that_move_with_the_loop_are_disjoint() {
    check("X[i, ] = Y[i, ]", &[]);
    check("X[, 2 * i + 1] = Y[, 1]", &[]);
    check("X[i, 1] = X[i, 2] + 1", &[]);
    check("X[i, 1] = X[i + 1, 2] + 1", &[]);
    check("X[i, 1] = X[i + 1, 1] + 1", &["X"]);
    check("X[i:(i + 1), ] = Y[1:2, ]", &["X"]);
    check("X[(2 * i):(2 * i + 1), ] = Y[1:2, ]", &[]);
    check("X[((i - 1) * 10 + 1):(i * 10), ] = Y[1:10, ]", &[]);
    check("X[((i - 1) * k + 1):(i * k), ] = Y[1:10, ]", &[]);
    check("first = (i - 1) * k + 1; last = first + k - 1; X[first:last, ] = Y[1:10, ]", &[]);
    check("X[((i - 1) * k):(i * k), ] = Y[1:11, ]", &["X"]);
    check("X[10 - i, 1] = i", &[]);
    check("X[n + i, 1] = i", &[]);
    check("X[n, 1] = i", &["X"]);
    check("X[i * i, 1] = i", &["X"]);
    check("X[i %% 3 + 1, 1] = i", &["X"]);
    check("X[1, ] = Y[1, ]", &["X"]);
    check("X[i, 1] = sum(X)", &["X"]);
    check("X[i, 1] = nrow(X)", &[]);
    check("X = Y; X[1, 1] = i", &[]);
    check("[X[1:1, i], a] = eigen(Y)", &[]);
}

#[test]
fn inner_loops_that_promise_independence_are_believed() {
    // Both loops complain.
    check("parfor (j in 1:9) X[1, i] = as.scalar(X[1, j])", &["X", "X"]);
    check("parfor (j in 1:9, check=0) X[1, i] = as.scalar(X[1, j])", &[]);
}

#[test]
fn inner_loops_span_their_range() {
    check("for (j in 1:10) X[i, j] = j", &[]);
    check("for (j in 1:10) X[j, i] = j", &[]);
    check("for (j in 1:10) X[j, 1] = j", &["X"]);
    check("for (j in 1:k) X[(i - 1) * k + j, 1] = j", &[]);
    check("for (j in 1:11) X[(i - 1) * 10 + j, 1] = j", &["X"]);
    check("for (j in 0:1) X[2 * i - j, 1] = j", &[]);
}

#[test]
fn the_step_of_the_loop_counts() {
    assert_eq!(dependencies("parfor (i in seq(1, 9, 2)) X[i:(i + 1), ] = Y[1:2, ]"), [""; 0]);
    assert_eq!(dependencies("parfor (i in seq(9, 1, -2)) X[i:(i + 1), ] = Y[1:2, ]"), [""; 0]);
    assert_eq!(dependencies("parfor (i in seq(1, 9, 2)) X[i:(i + 2), ] = Y[1:3, ]"), ["X"]);
    assert_eq!(dependencies("parfor (i in seq(1, 9, n)) X[i, ] = Y[1, ]"), ["X"]);
}

#[test]
fn a_promise_or_a_sequential_loop_is_not_checked() {
    assert_eq!(dependencies("parfor (i in 1:9, check=0) s = s + i"), [""; 0]);
    assert_eq!(dependencies("parfor (i in 1:9, check=1) s = s + i"), ["s"]);
    let own = "Q = X; parfor (i in 1:9) { parfor (j in 1:2, check=0) { Q = matrix(j, 1, 3) }; Q[1, 1] = i }";
    assert_eq!(dependencies(own), [""; 0], "what it surely assigns is the iteration's own");
    assert_eq!(dependencies("for (i in 1:9) s = s + i"), [""; 0]);
}

/// Each local is looked into once, however often others use it; products of long sums are not.
#[test]
fn chains_of_locals_take_linear_work() {
    let chain = |op: &str| (1..20).map(|n| format!("k{n} = k{0} {op} k{0}; ", n - 1)).collect::<String>();
    assert_eq!(dependencies(&format!("parfor (i in 1:9) {{ k0 = i; {} X[k19, 1] = i }}", chain("+"))), [""; 0]);
    let sum: Vec<String> = (0..40).map(|n| format!("n{n}")).collect();
    let values: String = (0..40).map(|n| format!("n{n} = 1\n")).collect();
    let product = format!("{values}parfor (i in 1:9) {{ k0 = {}; {} X[k3 + i, 1] = i }}", sum.join(" + "), chain("*"));
    assert_eq!(dependencies(&product), ["X"]);
}

/// What looks independent and is not: a changed counter, loops that fall, what loops leave behind, sizes that change,
/// and positions that are cut off.
#[test]
fn hidden_dependencies_are_found() {
    check("i = 5; X[i, 1] = 1 + X[i, 1]", &["X"]);
    check("for (j in (i + 5):i) { X[j, 1] = X[j, 1] + i }", &["X"]);
    check("X[i, 1] = s; for (s in 1:(i + 1)) { x = s }", &["s"]);
    check("m = nrow(X); X = matrix(0, rows=m + 1, cols=1)", &["X"]);
    check("X[i, 1] = nrow(matrix(0, rows=as.scalar(X[i - 1, 1]) + 1, cols=1))", &["X"]);
    check("X[i * 0.5, 1] = i", &["X"]);
    assert_eq!(dependencies("parfor (i in seq(1, 9, 0.5)) X[i, 1] = 1"), ["X"]);
}
