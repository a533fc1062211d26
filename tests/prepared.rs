//! Prepared scripts: bound inputs, many runs, fetched outputs.

#[path = "prepared/borrowed.rs"]
mod borrowed;
#[path = "prepared/narrow.rs"]
mod narrow;

use fuseline::ir::{DataType, Element};
use fuseline::{BackendKind, CompileOptions, Csr, Dense, Error, RuntimeValue, ScriptInterface, Session};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

fn session() -> Session {
    let options = CompileOptions { backend: BackendKind::Interp, threads: 2, ..CompileOptions::default() };
    Session::new(options).expect("a session")
}

const X: (&str, DataType) = ("X", DataType::MATRIX);

fn interface<'a>(inputs: &'a [(&'a str, DataType)], outputs: &'a [&'a str]) -> ScriptInterface<'a> {
    ScriptInterface { inputs, outputs, ..ScriptInterface::default() }
}

#[test]
fn runs_on_data_of_the_same_shape_compile_nothing() {
    let session = session();
    let text = "s = 0\nfor (i in 1:3) { s = s + sum(X * X + i) }";
    let mut script = session.prepare_script("<text>", text, &interface(&[X], &["s"])).expect("a script");
    let mut dags = Vec::new();
    for (rows, value) in [(20, 1.0), (20, 2.0), (30, 2.0), (20, 3.0)] {
        script.bind("X", Dense::from_fn(rows, 10, |_, _| value)).expect("a matrix");
        let outcome = script.execute(&mut std::io::sink()).expect("a run");
        assert_eq!(outcome.scalar("s").expect("a number"), rows as f64 * 10.0 * (3.0 * value * value + 6.0));
        assert_eq!(outcome.variables.len(), 1, "only outputs come back: {:?}", outcome.variables.keys());
        dags.push(outcome.statistics.dags_optimized);
    }
    assert!(dags[0] > 0 && dags[2] > 0, "{dags:?}");
    assert_eq!((dags[1], dags[3]), (0, 0), "{dags:?}");
}

#[test]
fn dense_and_sparse_inputs_take_turns() {
    let session = session();
    let mut script = session.prepare_script("<text>", "Y = X * 2\ns = sum(Y)", &interface(&[X], &["Y", "s"])).unwrap();
    let dense = Dense::from_fn(40, 50, |i, j| f64::from(u8::from((i + j) % 17 == 0)));
    let sparse = Csr::from_dense(&dense);
    let first = script.bind("X", dense).unwrap().execute(&mut std::io::sink()).unwrap();
    let second = script.bind("X", sparse).unwrap().execute(&mut std::io::sink()).unwrap();
    assert_eq!(first.scalar("s").unwrap(), second.scalar("s").unwrap());
    assert_eq!(first.matrix("Y").unwrap().to_dense(), second.matrix("Y").unwrap().to_dense());
}

/// All threads of the pool are busy meanwhile. The operators are of several blocks.
#[test]
fn what_is_done_at_once_waits_for_no_other_thread() {
    let session = session();
    let inputs = [X, ("v", DataType::MATRIX)];
    let cell =
        |i: usize, j: usize| if (7 * i + 11 * j).is_multiple_of(500) { 1.0 + ((i + j) % 7) as f64 / 3.0 } else { 0.0 };
    let x = Csr::from_dense(&Dense::from_fn(4000, 4000, cell));
    assert!((30_000..50_000).contains(&x.nnz()));
    let v = Dense::from_fn(4000, 1, |i, _| 1.0 / (1.0 + i as f64));
    for text in [
        "R = sum(X * (v %*% t(v)))",
        "R = X %*% v",
        "R = t(X) %*% v",
        "R = sum(X * v * t(v))",
        "R = rowSums(X * v)",
        "R = colSums(X ^ 2)",
        "R = X * v",
        "R = X[2:3, ]",
    ] {
        let mut script = session.prepare_script("<text>", text, &interface(&inputs, &["R"])).unwrap();
        script.bind("X", x.clone()).unwrap().bind("v", v.clone()).unwrap();
        let bits = |outcome: &fuseline::Outcome| -> Vec<u64> {
            let value = match &outcome.variables["R"] {
                RuntimeValue::Matrix(block) => block.to_dense().values().to_vec(),
                value => vec![value.as_f64().expect("a number")],
            };
            value.into_iter().map(f64::to_bits).collect()
        };
        let compiled = script.execute(&mut std::io::sink()).unwrap();
        let busy = Busy::all_of(&session);
        let alone = script.execute(&mut std::io::sink()).unwrap();
        assert!(busy.are_still(), "{text} waited");
        assert_eq!(bits(&compiled), bits(&alone), "{text}");
    }
}

/// The threads of a session, held up for a while.
struct Busy {
    left: Arc<AtomicUsize>,
    count: usize,
    /// They go on when it is gone.
    _held: Vec<Sender<()>>,
}

impl Busy {
    fn all_of(session: &Session) -> Busy {
        let context = session.engine().kernel_context();
        let count = context.pool.current_num_threads();
        let left = Arc::new(AtomicUsize::new(count));
        let (has_begun, begun) = channel();
        let mut held = Vec::new();
        for _ in 0..count {
            let (hold, release) = channel();
            let (left, has_begun) = (Arc::clone(&left), has_begun.clone());
            context.pool.spawn(move || {
                has_begun.send(()).expect("somebody waits for it");
                _ = release.recv_timeout(Duration::from_secs(30));
                left.fetch_sub(1, Ordering::SeqCst);
            });
            held.push(hold);
        }
        assert_eq!(begun.iter().take(count).count(), count);
        Busy { left, count, _held: held }
    }

    fn are_still(&self) -> bool {
        self.left.load(Ordering::SeqCst) == self.count
    }
}

/// Narrow rows, none of which fills a cache line: what is written past the caches has the cells of what goes through them.
#[test]
fn results_larger_than_the_caches() {
    let session = session();
    let inputs = [X, ("v", DataType::MATRIX)];
    let text = "Y = (X - v) * 2\ns = (X - v) * 2 + 1";
    let mut script = session.prepare_script("<text>", text, &interface(&inputs, &["Y", "s"])).unwrap();
    for (rows, cols) in [(1_200_001, 7), (8_500_001, 1)] {
        let value = |row: usize, col: usize| ((row * 7 + col) % 1000) as f64;
        let shift = |row: usize| (row % 13) as f64;
        script.bind("X", Dense::from_fn(rows, cols, value)).unwrap();
        script.bind("v", Dense::from_fn(rows, 1, |row, _| shift(row))).unwrap();
        let outcome = script.execute(&mut std::io::sink()).unwrap();
        for (name, plus) in [("Y", 0.0), ("s", 1.0)] {
            let result = outcome.matrix(name).unwrap().to_dense();
            assert!(size_of_val(result.values()) > 64 << 20);
            let expected = Dense::from_fn(rows, cols, |row, col| (value(row, col) - shift(row)) * 2.0 + plus);
            assert!(*result == expected, "{name}, {rows} x {cols}");
        }
    }
}

#[test]
fn what_is_bound_takes_the_place_of_files() {
    let session = session();
    let text = "X = read($file)\nf = function(Double x) return (Double y) { y = x + 1 }\ns = f(sum(X))";
    let arguments = [("file", "there/is/no/such/file.csv")];
    let interface = ScriptInterface { arguments: &arguments, inputs: &[X], outputs: &["s"] };
    let mut script = session.prepare_script("<text>", text, &interface).expect("a script");
    script.bind("X", Dense::from_fn(2, 2, |_, _| 1.0)).expect("a matrix");
    assert_eq!(script.execute(&mut std::io::sink()).expect("a run").scalar("s").expect("a number"), 5.0);
}

#[test]
fn inputs_that_do_not_fit_are_told_by_name() {
    let session = session();
    let inputs = [X, ("n", DataType::I64), ("scale", DataType::F64)];
    let text = "Y = X * scale + n";
    let mut script = session.prepare_script("<text>", text, &interface(&inputs, &["Y"])).expect("a script");
    let unknown = script.bind("Z", 1.0).expect_err("no such input").to_string();
    assert_eq!(unknown, "the script has no input `Z`; its inputs are X, n, scale");
    let scalar = script.bind("X", 1.0).expect_err("a scalar").to_string();
    assert_eq!(scalar, "the input `X` is declared as matrix, not f64");
    assert!(matches!(script.bind("n", 1.5), Err(Error::InputType { .. })));
    script.bind("scale", 2_i64).expect("integers pass as doubles").bind("n", 1_i64).expect("an integer");
    let unbound = script.execute(&mut std::io::sink()).expect_err("X is missing").to_string();
    assert_eq!(unbound, "the input `X` was not bound before the script ran");
    let outcome = script.bind("X", Dense::from_fn(1, 1, |_, _| 3.0)).unwrap().execute(&mut std::io::sink()).unwrap();
    assert_eq!(outcome.scalar("Y").expect("a 1 x 1 matrix is a number"), 7.0);
    assert_eq!(outcome.scalar("Z").expect_err("no such variable").to_string(), "the script does not compute `Z`");
}

#[test]
fn inputs_of_elements_that_nothing_computes_with_are_mistakes() {
    let inputs = [("X", DataType::Matrix(Element::F32))];
    let error = session().prepare_script("<text>", "s = sum(X)", &interface(&inputs, &["s"])).expect_err("singles");
    assert!(error.to_string().contains("matrices of f32 are stored, not computed with"), "{error}");
}

#[test]
fn outputs_that_the_script_never_assigns_are_mistakes() {
    let session = session();
    let error = session.prepare_script("<text>", "s = sum(X)", &interface(&[X], &["t"])).expect_err("no t");
    assert_eq!(error.to_string(), "the script does not compute `t`");
    let undeclared = session.prepare_script("<text>", "s = sum(X)", &interface(&[], &["s"])).expect_err("no X");
    assert!(matches!(undeclared, Error::Script(_)), "{undeclared:?}");
}

#[test]
fn what_a_script_prints_goes_to_the_callers_output() {
    let session = session();
    let inputs = [("name", DataType::STR)];
    let mut script = session.prepare_script("<text>", "print('hello ' + name)", &interface(&inputs, &[])).unwrap();
    let mut output = Vec::new();
    script.bind("name", RuntimeValue::from("world")).unwrap().execute(&mut output).unwrap();
    assert_eq!(String::from_utf8(output).unwrap(), "hello world\n");
}

/// Processors give NaN a sign by the instruction, and by the order of its operands.
#[test]
fn every_nan_that_a_caller_gets_has_the_same_bits() {
    let session = session();
    let nan = f64::NAN.to_bits();
    let text = "R = sqrt(-X) * X\nS = cbind(R, X)\ns = sum(R)\nL = list(R, list(s))";
    let interface = interface(&[X], &["R", "S", "s", "L"]);
    let mut script = session.prepare_script("<text>", text, &interface).unwrap();
    let (x, sparse) = (Dense::from_vec(2, 2, vec![1.0, -f64::NAN, f64::NAN, -4.0]), [0.0, 9.0, 0.0, 0.0, 0.0, 0.0]);
    let sparse = Dense::from_vec(6, 1, sparse.to_vec());
    for input in [RuntimeValue::from(x), RuntimeValue::from(Csr::from_dense(&sparse))] {
        let outcome = script.bind("X", input).unwrap().execute(&mut std::io::sink()).unwrap();
        let mut count = 0;
        let mut left: Vec<&RuntimeValue> = outcome.variables.values().collect();
        while let Some(value) = left.pop() {
            let cells = match value {
                RuntimeValue::List(list) => {
                    left.extend(list.elements.iter().map(|element| &element.value));
                    continue;
                }
                RuntimeValue::Matrix(block) => block.to_dense().values().to_vec(),
                value => vec![value.as_f64().expect("a number")],
            };
            for cell in cells.into_iter().filter(|cell| cell.is_nan()) {
                assert_eq!(cell.to_bits(), nan);
                count += 1;
            }
        }
        assert!(count >= 5, "{count} cells are NaN");
    }
    let negative = fuseline::Matrix::from(Dense::from_vec(1, 2, vec![-f64::NAN, -1.0]));
    let block = session.eval(&negative * &negative).unwrap();
    assert_eq!(block.get(0, 0).to_bits(), nan);
}

/// Results of every way to write cells: X, of which half the cells or few are not zero, has as many rows and columns as U and V
/// have rows, and u and v have one column.
const WAYS_TO_WRITE: &[&str] = &[
    "R = X * 2",
    "R = abs(X)",
    "R = X - v",
    "R = (X * 2 + X ^ 2) / 3",
    "R = exp(X) * X + 1",
    "R = X * u",
    "R = ifelse(X > 0.5, X, u)",
    "R = X %*% t(v)",
    "R = t(X) %*% u",
    "R = t(X) %*% (u * (X %*% t(v)))",
    "R = (X * u) %*% V",
    "R = rowSums(X * 3 + X ^ 2)",
    "R = rowMaxs(X)",
    "R = colSums(X * u)",
    "R = X / rowSums(X + 1)",
    "R = X * (U %*% t(V))",
    "R = (X * (U %*% t(V))) %*% V",
    "R = t(X * (U %*% t(V))) %*% U",
    "R = U %*% t(V) + 1",
    "R = cbind(X, u)",
    "R = X[2:nrow(X), 1:3]",
    "R = X + Y",
    "R = X * Y + Y ^ 2",
    "R = rowSums(abs(X - Y))",
];

/// What [`WAYS_TO_WRITE`] give with an X of this share of non-zeros in which one cell is replaced.
fn written(sparsity: f64, cell: Option<f64>, mut check: impl FnMut(&str, &fuseline::MatrixBlock)) {
    let session = session();
    let (rows, cols) = (700, 60);
    let mut x = Dense::from_fn(rows, cols, |i, j| {
        let draw = ((i * cols + j) * 7919 % 10_007) as f64 / 10_007.0;
        if draw < sparsity { 0.1 + draw / sparsity } else { 0.0 }
    });
    if let Some(cell) = cell {
        x.values_mut()[rows / 2 * cols + cols - 1] = cell;
    }
    let dense = |rows, cols| Dense::from_fn(rows, cols, |i, j| 0.1 + ((i * 31 + j * 17) % 13) as f64);
    let names = ["X", "Y", "U", "V", "u", "v"];
    let inputs = names.map(|name| (name, DataType::MATRIX));
    for text in WAYS_TO_WRITE {
        let mut script = session.prepare_script("<text>", text, &interface(&inputs, &["R"])).unwrap();
        let sides = [dense(rows, 5), dense(cols, 5), dense(rows, 1), dense(1, cols)].map(fuseline::MatrixBlock::from);
        let matrices = [fuseline::MatrixBlock::from(x.clone()).in_best_format(), Csr::from_dense(&x).into()];
        for (name, block) in names.into_iter().zip(matrices.into_iter().chain(sides)) {
            script.bind(name, block).unwrap();
        }
        let outcome = script.execute(&mut std::io::sink()).unwrap();
        check(text, outcome.matrix("R").unwrap());
    }
}

/// A look at a large result that is in no cache any more takes as long as half the operator. Sums of a single block are small.
#[test]
fn results_whose_cells_were_seen_as_they_were_written_are_not_gone_through_again() {
    for sparsity in [0.02, 0.5] {
        let mut count = 0;
        written(sparsity, None, |text, block| {
            let has_rows = block.rows() > 600;
            assert!(!has_rows || block.is_nan_free(), "{text}, {sparsity}: nobody looked at the cells");
            count += usize::from(has_rows);
        });
        assert!(count >= 20, "{count} results have a row for each row of X");
    }
}

#[test]
fn one_nan_leaves_however_it_is_written() {
    for (sparsity, cell) in [(0.02, f64::NAN), (0.5, -f64::NAN), (0.5, f64::NEG_INFINITY)] {
        let mut count = 0;
        written(sparsity, Some(cell), |text, block| {
            for value in block.to_dense().values().iter().filter(|value| value.is_nan()) {
                assert_eq!(value.to_bits(), f64::NAN.to_bits(), "{text}, {cell}");
                count += 1;
            }
        });
        assert!(count > 20, "{count} cells are NaN with {cell}");
    }
}
