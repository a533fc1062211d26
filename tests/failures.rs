//! An error is never rewritten away: what may fail on the way to a value that is read fails in every mode, wherever the
//! value goes, with the message of the plain evaluation.

use fuseline::{BackendKind, CompileOptions, Error, Mode, ProgramOptions, Session, Variables};
use fuseline_ir::hop::{CastOp, DataGenOp, FrameFunction, Function, HopDag, HopOp, NumericFunction, ReorgOp};
use fuseline_ir::program::StatementBlock;
use std::collections::BTreeSet;

/// Matrices, and the number 3, which only the run tells.
const VALUES: &str = "X = matrix(\"1 2 3 4\", rows=2, cols=2)
three = as.scalar(rand(rows=1, cols=1, min=3, max=3, seed=1))
T = matrix(1, rows=three, cols=2)
v = matrix(\"1 2 3\", rows=3, cols=1)
L = list(X, 5)
F = as.frame(X)
";

/// Expressions that fail as matrices.
const MATRICES: &[&str] = &[
    "solve(X * 0, X)",
    "inv(X * 0)",
    "cholesky(-X)",
    "matrix(X, rows=3, cols=3)",
    "matrix(X, rows=three, cols=3)",
    "matrix(\"1 2 3\", rows=2, cols=2)",
    "matrix(0, rows=-three, cols=2)",
    "seq(1, three, 0)",
    "sample(3, 9)",
    "sample(three, 9)",
    "removeEmpty(target=X, margin=\"foo\")",
    "order(target=X, by=7)",
    "order(target=X, by=three)",
    "X[three, ]",
    "X[1:three, 1]",
    "X[, three]",
    "X + T",
    "X * T",
    "max(X, T)",
    "max(X, X, T)",
    "T %*% T",
    "ifelse(X, T, T)",
    "cbind(X, T)",
    "rbind(X, t(T))",
    "outer(T, X, \"+\")",
    "diag(T)",
    "table(X[, 1], T[, 1])",
    "table(-v, v)",
    "as.matrix(L[three])",
    "as.matrix(list(\"a\"))",
    "eigen_values(T)",
    "lu_factor(T)",
    "quantile(v, v * three)",
    "aggregate(target=v, groups=-v, fn=\"sum\")",
    "cdf(target=X, dist=\"t\", df=-three)",
    "conv2d(T, T, input_shape=[1,1,three,3], filter_shape=[1,1,2,2])",
    "max_pool(T, input_shape=[1,1,three,3], pool_size=[2,2])",
    "read(\"missing.csv\", rows=2, cols=2, data_type=\"matrix\")",
    "transform(F)",
    "replaced(X)",
    "applied(F)",
    "as.matrix(decoded(X))",
    "as.matrix(removed(L, three))",
    "singular_values(X / 0)",
    "roll(T, 1 / (three - 3))",
    "cumsumprod(t(T))",
    "avg_pool(T, input_shape=[1,1,three,3], pool_size=[2,2])",
    "as.matrix(as.list(L[three]))",
    "conv2d_backward_filter(T, T, input_shape=[1,1,three,3], filter_shape=[1,1,2,2])",
    "conv2d_backward_data(T, T, input_shape=[1,1,three,3], filter_shape=[1,1,2,2])",
    "max_pool_backward(T, T, input_shape=[1,1,three,3], pool_size=[2,2])",
    "avg_pool_backward(T, T, input_shape=[1,1,three,3], pool_size=[2,2])",
    "sqrtMatrixJava(T)",
    "inverse_transform(X, T)",
    "as.matrix(map(F, \"x -> x.charAt(9)\"))",
    "as.matrix(frame(list(1, 2), rows=three, cols=three))",
    "as.matrix(tokenize(target=F, spec=\"{nonsense\"))",
    "as.matrix(dropInvalidType(F, as.frame(X)))",
    "as.matrix(dropInvalidLength(F, matrix(1, rows=1, cols=three)))",
    "as.matrix(freplicate(F, F))",
    "as.matrix(F == F[1, ])",
    "rand(rows=-three, cols=2)",
    "as.matrix(as.list(F))",
    "as.matrix(as.frame(list(L)))",
];

/// Functions of several results, and statements, as expressions.
const FUNCTIONS: &str = "
eigen_values = function(matrix[double] A) return (matrix[double] w) { [w, V] = eigen(A) }
lu_factor = function(matrix[double] A) return (matrix[double] U) { [P, L, U] = lu(A) }
transform = function(frame[string] F) return (matrix[double] M) { [M, meta] = transformencode(target=F, spec=\"{nonsense\") }
applied = function(frame[string] F) return (matrix[double] M) { M = transformapply(target=F, spec=\"{nonsense\", meta=F) }
decoded = function(matrix[double] A) return (frame[string] F) {
  F = transformdecode(target=A, spec=\"{nonsense\", meta=as.frame(A))
}
texts = function() return (list[unknown] texts) { texts = list(\"x\", 2) }
removed = function(list[unknown] L, double at) return (list[unknown] rest) { [rest, element] = remove(L, at) }
singular_values = function(matrix[double] A) return (matrix[double] S) { [U, S, V] = svd(A) }
inverse_transform = function(matrix[double] A, matrix[double] B) return (matrix[double] C) { [C, D] = ifft(A, B) }
replaced = function(matrix[double] A) return (matrix[double] B) { B = A; B[nrow(A) + 1, 1] = 7 }
";

/// Expressions that fail as scalars.
const SCALARS: &[&str] = &[
    "interQuartileMean(T[, 1:(three - 1)])",
    "icdf(target=0.5, dist=\"t\", df=-three)",
    "as.logical(as.scalar(texts()[1]))",
    "det(T)",
    "as.scalar(T)",
    "as.double(\"x\" + three)",
    "as.integer(\"x\" + three)",
    "as.scalar(X[three, 1])",
    "median(T %*% T)",
    "median(v, -v)",
];

/// The assignment of the failing expression within a place; without it, it stands before the place.
const ASSIGNMENT: &str = "{f}";

/// Where a matrix goes that does not matter.
const PLACES_OF_MATRICES: &[&str] = &[
    "print(sum(0 * f))",
    "print(sum(f * 0))",
    "print(nrow(f))",
    "print(sum(f) * 0)",
    "print(sum(f * 1) * 0)",
    "print(sum(as.matrix(f)) * 0)",
    "print(as.scalar(f[1, 1]) - as.scalar(f[1, 1]))",
    "s = 0\nfor (i in 1:3) { s = s + sum(f) * 0 }\nprint(s)",
    "s = 0\nfor (i in 1:3) {\n{f}\ns = s + sum(f) * 0 }\nprint(s)",
    "n = nrow(f)\nif (n > 0) { print(\"some\") } else { print(\"none\") }",
    "Z = matrix(0, rows=nrow(f), cols=1)\nprint(sum(Z))",
];

const PLACES_OF_SCALARS: &[&str] = &[
    "print(0 * f)",
    "print(f * 0)",
    "print(f - f)",
    "s = 0\nfor (i in 1:3) { s = s + f * 0 }\nprint(s)",
    "s = 0\nfor (i in 1:3) {\n{f}\ns = s + f * 0 }\nprint(s)",
];

/// Statements that do not run, as only the run tells.
const WITHIN_WHAT_DOES_NOT_RUN: &[&str] = &[
    "s = three - 3\nwhile (s > 0) {\n{f}\ns = s + sum(as.matrix(f)) }\nprint(s)",
    "s = 0\nif (three > 3) {\n{f}\ns = s + sum(as.matrix(f)) }\nprint(s)",
];

/// Kinds of expressions with what reads a value, and the places where it does not matter.
const KINDS: [(&[&str], &str, &[&str]); 2] =
    [(MATRICES, "print(toString(f))", PLACES_OF_MATRICES), (SCALARS, "print(f)", PLACES_OF_SCALARS)];

fn script(expression: &str, place: &str) -> String {
    let assignment = format!("f = {expression}");
    if place.contains(ASSIGNMENT) {
        return format!("{FUNCTIONS}{VALUES}{}\n", place.replace(ASSIGNMENT, &assignment));
    }
    format!("{FUNCTIONS}{VALUES}{assignment}\n{place}\n")
}

/// The operation in which a run fails, with which its message begins. Of a product of which a cell is read, the factors are
/// cut before they are multiplied, so that the shapes in the message may be those of a row and a column.
fn failure(session: &Session, text: &str) -> Result<(), String> {
    let run = session
        .compile_script("<text>", text, &[])
        .and_then(|script| session.run(&script.for_effects(), Variables::new(), &mut std::io::sink()));
    run.map(drop).map_err(|error| {
        let message = error.to_string();
        let words = message.split([' ', ':']).filter(|word| !word.is_empty());
        words.take(2).collect::<Vec<_>>().join(" ")
    })
}

fn session(mode: Mode, is_plain: bool) -> Session {
    let program = if is_plain { ProgramOptions::NONE } else { ProgramOptions::default() };
    let backend = BackendKind::Interp;
    let options =
        CompileOptions { mode, program, rewrites: !is_plain, backend, threads: 1, ..CompileOptions::default() };
    Session::new(options).expect("a session")
}

fn sessions() -> Vec<(Mode, Session)> {
    let modes = [Mode::Base, Mode::Fused, Mode::Gen, Mode::GenFuseAll, Mode::GenFuseNoRedundancy];
    modes.into_iter().map(|mode| (mode, session(mode, false))).collect()
}

#[test]
fn errors_stay_where_values_do_not_matter() {
    let plain = session(Mode::Base, true);
    let sessions = sessions();
    for (expressions, use_of_value, places) in KINDS {
        for expression in expressions {
            assert!(failure(&plain, &script(expression, use_of_value)).is_err(), "{expression}");
            for place in places {
                let expected = failure(&plain, &script(expression, place)).expect_err(expression);
                for (mode, session) in &sessions {
                    let actual = failure(session, &script(expression, place));
                    assert_eq!(actual.err().as_deref(), Some(&*expected), "{mode:?}: {expression} in {place}");
                }
            }
        }
    }
}

/// What is the same in every iteration is computed before a loop only where it cannot fail.
#[test]
fn what_does_not_run_does_not_fail() {
    let plain = session(Mode::Base, true);
    let sessions = sessions();
    for expression in MATRICES.iter().chain(SCALARS) {
        for place in WITHIN_WHAT_DOES_NOT_RUN {
            let expected = failure(&plain, &script(expression, place));
            for (mode, session) in &sessions {
                let actual = failure(session, &script(expression, place));
                assert_eq!(actual, expected, "{mode:?}: {expression} in {place}");
            }
        }
    }
}

/// What nothing reads may go.
#[test]
fn values_that_nothing_reads_are_not_computed() {
    let text = format!("{VALUES}f = solve(X * 0, X)\nprint(sum(X))\n");
    for (mode, session) in sessions() {
        assert_eq!(failure(&session, &text), Ok(()), "{mode:?}");
    }
}

/// Values that surely can be computed give way to what is known of them.
#[test]
fn what_cannot_fail_goes() {
    for text in ["n = nrow(rand(rows=5, cols=3))", "n = ncol(cbind(matrix(1, 2, 3), matrix(2, 2, 1)))"] {
        let session = session(Mode::Gen, false);
        let script = session.compile_script("<text>", &format!("{text}\nprint(n)"), &[]).expect("a script");
        let StatementBlock::Basic(dag) = &script.program().body[0] else { panic!("one block") };
        assert!(dag.hops.values().all(|hop| !hop.is_matrix()), "{dag}");
    }
}

/// Every operator that content or scalars may fail is the one that fails in a script above.
#[test]
fn every_operator_that_may_fail_is_tried() {
    let plain = session(Mode::Base, true);
    let mut tried = BTreeSet::new();
    for (expressions, use_of_value, _) in KINDS {
        for expression in expressions {
            collect_failing(&plain, &script(expression, use_of_value), &mut tried);
        }
    }
    let missing: Vec<String> = operators_that_may_fail().filter(|name| !tried.contains(name)).collect();
    let excused: Vec<&str> = EXCUSED.iter().flat_map(|(names, _)| names.split(' ')).collect();
    let missing: Vec<&String> = missing.iter().filter(|name| !excused.contains(&name.as_str())).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Operators that no expression above tries.
const EXCUSED: &[(&str, &str)] = &[
    ("fwrite print stop assert", "effects, which nothing removes"),
    ("expand", "of bias_add, whose vector is checked by the same rule as the other shapes"),
    (
        "fft countDistinct qr unique lower.tri upper.tri typeof colnames detectSchema",
        "every value that passes the checks of types has a result",
    ),
];

/// Collects the operators at the place where a run fails. What is refused before it runs has none.
fn collect_failing(session: &Session, text: &str, tried: &mut BTreeSet<String>) {
    let Ok(script) = session.compile_script("<text>", text, &[]) else { return };
    let script = script.for_effects();
    let run = session.run(&script, Variables::new(), &mut std::io::sink());
    let Err(Error::Run(diagnostics)) = run else { panic!("{text} does not fail while it runs") };
    let place = diagnostics.errors[0].span;
    let program = script.program();
    let bodies = program.functions.values().map(|function| &function.body).chain([&program.body]);
    let dags = bodies.flatten().filter_map(|block| match block {
        StatementBlock::Basic(dag) => Some(dag),
        StatementBlock::Call(call) => Some(&call.arguments),
        _ => None,
    });
    let failing = dags.flat_map(|dag| dag.hops.values()).filter(|hop| hop.span == Some(place));
    tried.extend(failing.map(|hop| hop.op.to_string()));
}

/// The names of all operators that ask for more than types and dimensions, by [`HopDag::may_fail`] on no inputs.
fn operators_that_may_fail() -> impl Iterator<Item = String> {
    let functions = Function::ALL.iter().copied().chain(NumericFunction::ALL.iter().map(|&op| Function::Numeric(op)));
    let functions = functions.chain(FrameFunction::ALL.iter().map(|&op| Function::Frame(op)));
    let functions = functions.map(|function| HopOp::Parameterized { function, names: Vec::new() });
    let casts = CastOp::ALL.iter().map(|&op| HopOp::Cast(op));
    let reorganisations = ReorgOp::ALL.iter().map(|&op| HopOp::Reorg(op));
    let dag = HopDag::new();
    let may_fail = functions.chain(casts).chain(reorganisations).filter(move |op| dag.may_fail(op, &[]));
    let of_scalars = DataGenOp::ALL.iter().map(|&op| HopOp::DataGen(op)).chain([HopOp::Index, HopOp::LeftIndex]);
    may_fail.chain(of_scalars).map(|op| op.to_string())
}
