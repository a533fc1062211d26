//! Where code comes from: generated at once or in the background, by several threads, or found in a store.

use fuseline_ir::cplan::{VerifiedCPlan, parse};
use fuseline_llvm_backend::{LlvmBackend, LlvmLevel, LlvmOptions, PrimitiveMode};
use fuseline_skeletons::abi::{Context, Kernel, Main, Output, Side, Unit, UnitSize};
use fuseline_skeletons::backend::{Backend, BackendError, CodeStore, CompileInfo, CompiledCPlan};
use fuseline_vecprims::Isa;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// `sum((X - number) * Y)`.
fn plan(number: u32) -> VerifiedCPlan {
    of_text(&format!(
        "cplan cell full_agg sparse_safe=false {{
  in0 = matrix
  in1 = matrix
  %0 = main
  %1 = literal {number}.0
  %2 = minus %0, %1
  %3 = side_cell in1
  %4 = mult %2, %3
  out %4 agg=sum
}}"
    ))
}

fn of_text(text: &str) -> VerifiedCPlan {
    parse(text).expect("the text is a plan").verify().expect("the plan is well-formed")
}

fn backend(options: LlvmOptions) -> LlvmBackend {
    LlvmBackend::new(options).expect("tests run on machines with AVX2")
}

const CELLS: usize = 37;

/// The plan over one row of the cells 1, 2, 3, ... where the side input is 2.
fn run(compiled: &CompiledCPlan, is_sparse: bool) -> f64 {
    let cells: Vec<f64> = (1..=CELLS).map(|cell| cell as f64).collect();
    let columns: Vec<u32> = (0..CELLS as u32).collect();
    let twos = vec![2.0; CELLS];
    let side = Side { values: &twos, row_stride: CELLS, cols: CELLS, factor: &[] };
    let main = if is_sparse {
        Main::Sparse { row_offsets: &[0, CELLS], columns: &columns, values: &cells }
    } else {
        Main::Dense { values: &cells, row_stride: CELLS }
    };
    let unit =
        Unit { rows: 1, cols: CELLS, first_row: 0, first_col: 0, main, sides: &[side; 2], products: &[], next_unit: 0 };
    let mut scratch = vec![0.0; compiled.scratch_len(UnitSize { rows: 1, positions: CELLS, longest: CELLS })];
    let mut result = [0.0];
    let mut outputs = [Output { values: &mut result, row_stride: 1 }];
    // SAFETY: the operands have the extents that the plan reads and writes.
    unsafe { compiled.genexec(&mut Context { scalars: &[0.0; 2], scratch: &mut scratch }, &unit, &mut outputs) };
    result[0]
}

fn expected(number: u32) -> f64 {
    (1..=CELLS).map(|cell| 2.0 * (cell as f64 - f64::from(number))).sum()
}

/// A store in memory, that keeps who stores waiting while it is shut.
#[derive(Debug, Default)]
struct Shelf {
    kept: Mutex<BTreeMap<String, Vec<u8>>>,
    is_shut: Mutex<bool>,
    opened: Condvar,
}

impl Shelf {
    fn shut() -> Arc<Shelf> {
        Arc::new(Shelf { is_shut: Mutex::new(true), ..Shelf::default() })
    }

    fn close(&self) {
        *self.is_shut.lock().unwrap() = true;
    }

    fn open(&self) {
        *self.is_shut.lock().unwrap() = false;
        self.opened.notify_all();
    }

    fn len(&self) -> usize {
        self.kept.lock().unwrap().len()
    }

    fn on(self: &Arc<Self>, options: LlvmOptions) -> LlvmBackend {
        backend(options).with_store(Arc::clone(self) as Arc<dyn CodeStore>)
    }
}

impl CodeStore for Shelf {
    fn load(&self, key: &str) -> Option<Vec<u8>> {
        self.kept.lock().unwrap().get(key).cloned()
    }

    fn store(&self, key: &str, code: &[u8]) {
        let shut = self.is_shut.lock().unwrap();
        let _open = self.opened.wait_while(shut, |is_shut| *is_shut).unwrap();
        self.kept.lock().unwrap().insert(key.to_owned(), code.to_vec());
    }
}

/// Generated and restored entry points.
fn origins(backend: &LlvmBackend) -> (u64, u64) {
    let activity = backend.activity();
    (activity.generated, activity.restored)
}

#[test]
fn what_one_backend_generated_another_one_links() {
    let shelf = Arc::new(Shelf::default());
    for (turn, origin) in [(2, 0), (0, 2), (0, 2)].into_iter().enumerate() {
        let backend = shelf.on(LlvmOptions::default());
        let compiled = backend.compile(&plan(3)).unwrap();
        assert!(compiled.info.code_bytes > 100 && compiled.has_sparse_entry());
        assert_eq!([run(&compiled, false), run(&compiled, true)], [expected(3); 2]);
        assert_eq!(origins(&backend), origin, "turn {turn}");
        let bytes = backend.activity().code_bytes;
        assert!(bytes > compiled.info.code_bytes as u64, "{bytes}");
    }
    assert_eq!(shelf.len(), 2);
}

/// Whoever wants to read code gets what this process made of it.
#[test]
fn texts_are_never_taken_from_a_store() {
    let shelf = Arc::new(Shelf::default());
    shelf.on(LlvmOptions::default()).compile(&plan(1)).unwrap();
    let verbose = shelf.on(LlvmOptions { keep_ir: true, ..LlvmOptions::default() });
    assert!(verbose.compile(&plan(1)).unwrap().info.llvm_ir.is_some());
    assert_eq!((origins(&verbose), shelf.len()), ((2, 0), 1));
}

/// Each option that decides code is part of the key, and each finds its own.
#[test]
fn code_is_for_the_options_that_it_was_generated_with() {
    let shelf = Arc::new(Shelf::default());
    let mut options = Vec::new();
    for isa in [Isa::Avx512, Isa::Avx2].into_iter().filter(|isa| isa.is_available()) {
        for prims in [PrimitiveMode::Auto, PrimitiveMode::Shared, PrimitiveMode::Inlined] {
            for opt in [LlvmLevel::Direct, LlvmLevel::O1, LlvmLevel::O2, LlvmLevel::O3] {
                options.push(LlvmOptions { isa, prims, opt, ..LlvmOptions::default() });
            }
        }
    }
    for origin in [(1, 0), (0, 1)] {
        for &options in &options {
            let backend = shelf.on(options);
            assert_eq!(run(&backend.compile(&plan(5)).unwrap(), false), expected(5));
            assert_eq!(origins(&backend), origin, "{options:?}");
        }
    }
    assert_eq!(shelf.len(), options.len());
}

/// Inputs in another order, another constant, another aggregate: other code. The same plan built again: the same.
#[test]
fn code_is_for_one_plan_alone() {
    let shelf = Arc::new(Shelf::default());
    let template = |first: &str, second: &str, literal: &str, agg: &str| {
        of_text(&format!(
            "cplan cell full_agg sparse_safe=false {{
  in0 = matrix
  in1 = matrix
  in2 = matrix
  %0 = main
  %1 = side_cell {first}
  %2 = side_cell {second}
  %3 = literal {literal}
  %4 = minus %1, %2
  %5 = minusmult %0, %4, %3
  out %5 agg={agg}
}}"
        ))
    };
    let different = [
        template("in1", "in2", "2.0", "sum"),
        template("in2", "in1", "2.0", "sum"),
        template("in1", "in2", "2.0000000000000004", "sum"),
        template("in1", "in2", "-2.0", "sum"),
        template("in1", "in2", "2.0", "max"),
    ];
    let backend = shelf.on(LlvmOptions::default());
    for plan in &different {
        backend.compile(plan).unwrap();
    }
    assert_eq!(origins(&backend), (different.len() as u64, 0));
    backend.compile(&template("in1", "in2", "2.00", "sum")).unwrap();
    assert_eq!(origins(&backend), (different.len() as u64, 1));
}

/// Content that is not code, or not this code: it is generated anew, and replaced.
#[test]
fn bad_content_is_as_good_as_none() {
    let shelf = Arc::new(Shelf::default());
    shelf.on(LlvmOptions::default()).compile(&plan(7)).unwrap();
    let (key, good) = shelf.kept.lock().unwrap().pop_first().expect("it was stored");
    let object = &good[good.iter().position(|&byte| byte == b'\n').expect("a line of names")..];
    let unknown = [b"no_such_primitive", object].concat();
    let other = {
        let shelf = Arc::new(Shelf::default());
        let text = "cplan outer full_agg sparse_safe=true {
  in0 = matrix
  in1 = matrix
  in2 = matrix
  %0 = main
  %1 = outer_product
  %2 = mult %0, %1
  out %2 agg=sum
}";
        shelf.on(LlvmOptions::default()).compile(&of_text(text)).unwrap();
        let (_, sparse_only) = shelf.kept.lock().unwrap().pop_first().expect("it was stored");
        sparse_only
    };
    let bad: [&[u8]; 6] = [b"", b"no line", b"\n", b"\nno object", &unknown, &other];
    for (case, bad) in bad.into_iter().enumerate() {
        shelf.kept.lock().unwrap().insert(key.clone(), bad.to_vec());
        let backend = shelf.on(LlvmOptions::default());
        assert_eq!(run(&backend.compile(&plan(7)).unwrap(), false), expected(7), "case {case}");
        assert_eq!(origins(&backend), (1, 0), "case {case}");
        assert_eq!(shelf.load(&key).as_deref(), Some(&good[..]), "code generation is deterministic");
    }
}

#[test]
fn plans_of_a_batch_compile_side_by_side() {
    let backend = backend(LlvmOptions::default()).with_threads(4);
    let plans: Vec<VerifiedCPlan> = (0..12).map(plan).collect();
    for (number, compiled) in backend.compile_all(&plans).into_iter().enumerate() {
        assert_eq!(run(&compiled.unwrap(), false), expected(number as u32));
    }
    assert_eq!(origins(&backend), (12, 0));
}

/// An interpreter of the plans above, that counts its units.
#[derive(Clone, Debug, Default)]
struct Interpreter {
    units: Arc<AtomicUsize>,
}

#[derive(Debug)]
struct Interpreted {
    number: u32,
    units: Arc<AtomicUsize>,
}

impl Backend for Interpreter {
    fn name(&self) -> &'static str {
        "interpreter"
    }

    fn compile(&self, of: &VerifiedCPlan) -> Result<CompiledCPlan, BackendError> {
        let number = (0..100).find(|&number| plan(number) == *of).unwrap_or_default();
        let kernel = Arc::new(Interpreted { number, units: Arc::clone(&self.units) });
        Ok(CompiledCPlan::new(of.clone(), kernel, CompileInfo::default()))
    }
}

impl Kernel for Interpreted {
    fn has_sparse_entry(&self) -> bool {
        true
    }

    fn scratch_len(&self, _: UnitSize) -> usize {
        12_345
    }

    fn genexec(&self, context: &mut Context<'_>, _: &Unit<'_>, outputs: &mut [Output<'_>]) {
        assert!(context.scratch.len() >= 12_345);
        self.units.fetch_add(1, Ordering::Relaxed);
        outputs[0].values[0] = expected(self.number);
    }
}

/// A store that takes a moment to keep code.
#[derive(Debug)]
struct Slow(Duration);

impl CodeStore for Slow {
    fn load(&self, _: &str) -> Option<Vec<u8>> {
        None
    }

    fn store(&self, _: &str, _: &[u8]) {
        std::thread::sleep(self.0);
    }
}

#[test]
fn a_compilation_lasts_until_there_is_code() {
    let moment = Duration::from_millis(30);
    let backend = backend(LlvmOptions::default()).with_store(Arc::new(Slow(moment)));
    let compiled = backend.compile(&plan(1)).expect("the plan compiles");
    assert!(compiled.info.duration >= moment, "{:?}", compiled.info.duration);
}

/// Waits until so many entry points are there.
fn wait_for(backend: &LlvmBackend, generated: u64) {
    while backend.activity().generated < generated {
        std::thread::yield_now();
    }
}

/// While the store is shut no code is ready, so units are interpreted; then none is.
#[test]
fn units_are_interpreted_until_their_code_is_there() {
    let (shelf, interpreter) = (Shelf::shut(), Interpreter::default());
    let backend = shelf.on(LlvmOptions::default()).with_interpreter(Box::new(interpreter.clone()));
    let compiled = backend.compile(&plan(4)).unwrap();
    let interpreted = || interpreter.units.load(Ordering::Relaxed);
    for is_sparse in [false, true, false] {
        assert_eq!(run(&compiled, is_sparse), expected(4));
    }
    assert_eq!((interpreted(), backend.activity().interpreted_units), (3, 3));
    shelf.open();
    wait_for(&backend, 2);
    // Code is counted before it is linked.
    let mut turns = 0;
    while turns < 3 {
        let before = interpreted();
        assert_eq!([run(&compiled, false), run(&compiled, true)], [expected(4); 2]);
        turns = if interpreted() == before { turns + 1 } else { 0 };
    }
    assert_eq!(origins(&backend), (2, 0));
    // What is found need not be interpreted.
    let (before, backend) =
        (interpreted(), shelf.on(LlvmOptions::default()).with_interpreter(Box::new(interpreter.clone())));
    let compiled = backend.compile(&plan(4)).unwrap();
    assert_eq!([run(&compiled, false), run(&compiled, true)], [expected(4); 2]);
    assert_eq!((interpreted(), origins(&backend)), (before, (0, 2)));
    // Nor does what is there for dense units keep sparse ones waiting.
    shelf.kept.lock().unwrap().retain(|key, _| !key.contains("genexec_sparse"));
    shelf.close();
    let backend = shelf.on(LlvmOptions::default()).with_interpreter(Box::new(interpreter.clone()));
    let compiled = backend.compile(&plan(4)).unwrap();
    for (is_sparse, units) in [(false, 0), (true, 1), (false, 1), (true, 2)] {
        assert_eq!(run(&compiled, is_sparse), expected(4));
        assert_eq!(interpreted(), before + units);
    }
    shelf.open();
}

/// Many threads run units of one plan: its code is generated once.
#[test]
fn code_is_asked_for_once() {
    let (shelf, interpreter) = (Shelf::shut(), Interpreter::default());
    let backend = shelf.on(LlvmOptions::default()).with_interpreter(Box::new(interpreter)).with_threads(4);
    let compiled = backend.compile(&plan(6)).unwrap();
    std::thread::scope(|scope| {
        for turn in 0..16 {
            let compiled = &compiled;
            scope.spawn(move || assert_eq!(run(compiled, turn % 2 == 0), expected(6)));
        }
    });
    shelf.open();
    wait_for(&backend, 2);
    drop(compiled);
    assert_eq!(origins(&backend), (2, 0));
}

/// Whoever goes waits for what is being generated, not for what is not yet begun.
#[test]
fn dropping_everything_ends_the_threads() {
    let shelf = Shelf::shut();
    let backend = shelf.on(LlvmOptions::default()).with_interpreter(Box::new(Interpreter::default()));
    let plans: Vec<VerifiedCPlan> = (0..40).map(plan).collect();
    let compiled: Vec<_> = backend.compile_all(&plans).into_iter().map(|compiled| compiled.unwrap()).collect();
    assert_eq!(run(&compiled[39], false), expected(39));
    drop(backend);
    let opener = {
        let shelf = Arc::clone(&shelf);
        std::thread::spawn(move || shelf.open())
    };
    drop(compiled);
    opener.join().expect("it only opens");
    // Threads hold the store while they live.
    assert_eq!(Arc::strong_count(&shelf), 1);
    assert!(shelf.len() <= 40);
}

/// A plan that LLVM would take too long for is refused at once, whoever might interpret it.
#[test]
fn limits_hold_in_the_background() {
    let mut text = "cplan cell no_agg sparse_safe=false {\n  in0 = matrix\n  %0 = main\n".to_owned();
    for node in 1..=3_000 {
        text += &format!("  %{node} = exp %{}\n", node - 1);
    }
    text += "  out %3000\n}";
    let options = LlvmOptions { prims: PrimitiveMode::Inlined, ..LlvmOptions::default() };
    let backend = backend(options).with_interpreter(Box::new(Interpreter::default()));
    let result = backend.compile(&of_text(&text));
    assert!(matches!(result, Err(BackendError::Limit { .. })), "{result:?}");
}
