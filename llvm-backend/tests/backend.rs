//! What the backend says of its code, what it refuses, and that code goes away.

use fuseline_ir::cplan::{VerifiedCPlan, parse};
use fuseline_llvm_backend::{LlvmBackend, LlvmLevel, LlvmOptions, PrimitiveMode};
use fuseline_skeletons::abi::{Context, Main, Output, Side, Unit, UnitSize};
use fuseline_skeletons::backend::{Backend, BackendError, CompiledCPlan};
use fuseline_vecprims::Isa;

fn plan(text: &str) -> VerifiedCPlan {
    parse(text).expect("the text is a plan").verify().expect("the plan is well-formed")
}

fn backend(options: LlvmOptions) -> LlvmBackend {
    LlvmBackend::new(options).expect("tests run on machines with AVX2")
}

fn with_prims(prims: PrimitiveMode) -> LlvmBackend {
    backend(LlvmOptions { prims, keep_ir: true, keep_asm: true, ..LlvmOptions::default() })
}

const SUM_OF_PRODUCTS: &str = "cplan cell full_agg sparse_safe=true {
  in0 = matrix
  in1 = matrix
  in2 = matrix
  %0 = main
  %1 = side_cell in1
  %2 = side_cell in2
  %3 = mult %0, %1
  %4 = mult %3, %2
  out %4 agg=sum
}";

const HESSIAN_VECTOR: &str = "cplan row col_agg_t sparse_safe=true {
  in0 = matrix
  in1 = matrix
  in2 = matrix
  %0 = main
  %1 = side_vector in1
  %2 = dot_product %0, %1
  %3 = side_row_scalar in2
  %4 = mult %2, %3
  out %4 left=%0
}";

#[test]
fn shared_code_calls_primitives_in_node_order() {
    let compiled = with_prims(PrimitiveMode::Shared).compile(&plan(SUM_OF_PRODUCTS)).unwrap();
    assert_eq!(compiled.info.called_symbols, ["vect_mult_vv", "full_sum"]);
    let compiled = with_prims(PrimitiveMode::Shared).compile(&plan(HESSIAN_VECTOR)).unwrap();
    let symbols = ["dot_product", "vect_mult_vv", "outer_mult_add", "sparse_dot_product", "sparse_outer_mult_add"];
    assert_eq!(compiled.info.called_symbols, symbols);
}

#[test]
fn inlined_code_calls_only_what_has_no_loop() {
    let compiled = with_prims(PrimitiveMode::Inlined).compile(&plan(SUM_OF_PRODUCTS)).unwrap();
    assert!(compiled.info.called_symbols.is_empty());
    let ir = compiled.info.llvm_ir.unwrap();
    assert!(ir.contains("define void @genexec_dense") && ir.contains("define void @genexec_sparse"), "{ir}");
    assert!(ir.contains("nounwind") && !ir.contains("fast") && !ir.contains("reassoc"), "{ir}");
    assert!(compiled.info.assembly.unwrap().contains("genexec_dense:"));
    assert!(compiled.info.code_bytes > 100);
}

/// Registers that are kept while a function is called do not lie across two cache lines; what calls none has no need of that.
#[test]
fn registers_on_the_stack_are_aligned() {
    let exponentials = "cplan cell full_agg sparse_safe=false {
  in0 = matrix
  in1 = scalar
  %0 = main
  %1 = scalar in1
  %2 = mult %0, %1
  %3 = exp %2
  out %3 agg=max
}";
    let compiled = with_prims(PrimitiveMode::Inlined).compile(&plan(exponentials)).unwrap();
    let assembly = compiled.info.assembly.as_ref().unwrap();
    let aligned = format!("andq\t$-{}, %rsp", 8 * Isa::detect().lanes());
    assert!(assembly.contains("callq\tmath_exp") && assembly.contains(&aligned), "{assembly}");
    let without_calls = with_prims(PrimitiveMode::Inlined).compile(&plan(SUM_OF_PRODUCTS)).unwrap();
    let aligns = [compiled, without_calls].map(|compiled| compiled.info.llvm_ir.unwrap().contains("alignstack="));
    assert_eq!(aligns, [true, false]);
}

/// k-means: distances, which cluster is the nearest, and three outputs of these.
#[test]
fn outputs_of_one_pass_share_what_they_are_made_of() {
    let clusters = "cplan row multi_agg sparse_safe=false {
  in0 = matrix
  in1 = matrix
  in2 = matrix
  %0 = main
  %1 = vect_mat_mult %0, in1
  %2 = side_vector in2
  %3 = plus %1, %2
  %4 = row_agg.min %3
  %5 = le %3, %4
  %6 = row_agg.sum %5
  %7 = div %5, %6
  out %4 agg=sum
  out %7 agg=sum
  out %0 left=%7
}";
    let ir = with_prims(PrimitiveMode::Shared).compile(&plan(clusters)).unwrap().info.llvm_ir.unwrap();
    let dense = ir.split("define void @").find(|function| function.starts_with("genexec_dense")).unwrap();
    let calls: Vec<&str> = dense
        .match_indices("call void @")
        .filter_map(|(at, call)| dense[at + call.len()..].split('(').next())
        .collect();
    let steps = ["vect_mat_mult", "vect_plus_vv", "row_min", "vect_le_vs", "row_sum", "vect_div_vs"];
    assert_eq!(calls, [&steps[..], &["full_sum", "col_sum", "outer_mult_add"]].concat());
}

#[test]
fn auto_shares_what_fuses_nothing() {
    let auto = with_prims(PrimitiveMode::Auto);
    // One operation per row fuses nothing.
    let single = auto.compile(&plan(HESSIAN_VECTOR)).unwrap().info.called_symbols;
    assert!(single.contains(&"vect_mult_vv".to_owned()), "{single:?}");
}

/// Runs `sum(X * Y * Z)` over one row of ones.
fn run(compiled: &CompiledCPlan, cells: usize) -> f64 {
    let ones = vec![1.0; cells];
    let side = Side { values: &ones, row_stride: cells, cols: cells, factor: &[] };
    let unit = Unit {
        rows: 1,
        cols: cells,
        first_row: 0,
        first_col: 0,
        main: Main::Dense { values: &ones, row_stride: cells },
        sides: &[side; 3],
        products: &[],
        next_unit: 0,
    };
    let mut scratch = vec![0.0; compiled.scratch_len(UnitSize { rows: 1, positions: 0, longest: cells })];
    let mut result = [0.0];
    let mut outputs = [Output { values: &mut result, row_stride: 1 }];
    // SAFETY: the operands have the extents that the plan reads and writes.
    unsafe { compiled.genexec(&mut Context { scalars: &[0.0; 3], scratch: &mut scratch }, &unit, &mut outputs) };
    result[0]
}

/// The same over the non-zeros of one sparse row.
fn run_sparse(compiled: &CompiledCPlan, positions: usize) -> f64 {
    let ones = vec![1.0; positions];
    let columns: Vec<u32> = (0..positions as u32).collect();
    let side = Side { values: &ones, row_stride: 0, cols: positions, factor: &[] };
    let unit = Unit {
        rows: 1,
        cols: positions,
        first_row: 0,
        first_col: 0,
        main: Main::Sparse { row_offsets: &[0, positions], columns: &columns, values: &ones },
        sides: &[side; 3],
        products: &[],
        next_unit: 0,
    };
    let mut scratch = vec![0.0; compiled.scratch_len(UnitSize { rows: 0, positions, longest: 1 })];
    let mut result = [0.0];
    let mut outputs = [Output { values: &mut result, row_stride: 1 }];
    // SAFETY: the operands have the extents that the plan reads and writes.
    unsafe { compiled.genexec(&mut Context { scalars: &[0.0; 3], scratch: &mut scratch }, &unit, &mut outputs) };
    result[0]
}

/// The sparse entry point is generated when it is needed: once, whichever thread is first, backend or no backend.
#[test]
fn sparse_units_bring_their_code_into_being() {
    let plan = plan(SUM_OF_PRODUCTS);
    let both = with_prims(PrimitiveMode::Auto).compile(&plan).unwrap();
    let dense = backend(LlvmOptions::default()).compile(&plan).unwrap();
    assert!(dense.has_sparse_entry());
    assert!(dense.info.code_bytes * 3 < both.info.code_bytes * 2, "{} {}", dense.info.code_bytes, both.info.code_bytes);
    let debug = |compiled: &CompiledCPlan| format!("{compiled:?}");
    assert!(debug(&dense).contains("<uninit>") && !debug(&both).contains("<uninit>"), "{dense:?} {both:?}");
    std::thread::scope(|scope| {
        for positions in [10, 100, 1000, 0] {
            let dense = &dense;
            scope.spawn(move || assert_eq!(run_sparse(dense, positions), positions as f64));
        }
    });
    assert!(!debug(&dense).contains("<uninit>"), "{dense:?}");
    assert_eq!(run(&dense, 50), 50.0);
}

/// Resident memory of this process.
fn resident_kib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[test]
fn dropping_a_plan_frees_its_code_and_no_other() {
    let backend = with_prims(PrimitiveMode::Shared);
    let plan = plan(SUM_OF_PRODUCTS);
    let kept = backend.compile(&plan).unwrap();
    for _ in 0..50 {
        assert_eq!(run(&backend.compile(&plan).unwrap(), 100), 100.0);
    }
    let before = resident_kib();
    for _ in 0..200 {
        assert_eq!(run(&backend.compile(&plan).unwrap(), 100), 100.0);
    }
    let grown = resident_kib().saturating_sub(before);
    // One page per leaked operator would be 800 KiB; tests run side by side, so leave room for theirs.
    assert!(grown < 16 * 1024, "{grown} KiB");
    assert_eq!(run(&kept, 33), 33.0);
}

#[test]
fn code_outlives_its_backend() {
    let compiled = backend(LlvmOptions::default()).compile(&plan(SUM_OF_PRODUCTS)).unwrap();
    assert_eq!(run(&compiled, 1000), 1000.0);
}

#[test]
fn several_threads_compile_and_run_at_once() {
    let backend = backend(LlvmOptions::default());
    let plan = plan(SUM_OF_PRODUCTS);
    std::thread::scope(|scope| {
        for cells in [10, 20, 30, 40] {
            let (backend, plan) = (&backend, &plan);
            scope.spawn(move || {
                for _ in 0..5 {
                    assert_eq!(run(&backend.compile(plan).unwrap(), cells), cells as f64);
                }
            });
        }
    });
}

#[test]
fn the_standard_pipeline_gives_the_same_result() {
    let standard = backend(LlvmOptions { opt: LlvmLevel::O3, ..LlvmOptions::default() });
    assert_eq!(run(&standard.compile(&plan(SUM_OF_PRODUCTS)).unwrap(), 77), 77.0);
}

/// Its aggregates are constants, which the standard pipeline would store by `memset`.
#[test]
fn the_standard_pipeline_calls_no_library() {
    let constant_rows = "cplan cell row_agg sparse_safe=true {
  in0 = matrix
  %0 = main
  %1 = lt %0, %0
  out %1 agg=min
}";
    for prims in [PrimitiveMode::Auto, PrimitiveMode::Inlined] {
        let standard = backend(LlvmOptions { opt: LlvmLevel::O3, prims, ..LlvmOptions::default() });
        assert!(standard.compile(&plan(constant_rows)).is_ok());
    }
}

#[test]
fn instruction_sets_without_a_target_are_refused() {
    let result = LlvmBackend::new(LlvmOptions { isa: Isa::Portable, ..LlvmOptions::default() });
    assert!(matches!(result, Err(BackendError::Unsupported { .. })), "{result:?}");
}

/// On a machine with AVX-512, code for AVX2 uses nothing wider.
#[test]
fn avx2_code_has_no_wide_registers() {
    let options =
        LlvmOptions { isa: Isa::Avx2, prims: PrimitiveMode::Inlined, keep_asm: true, ..LlvmOptions::default() };
    let assembly = backend(options).compile(&plan(SUM_OF_PRODUCTS)).unwrap().info.assembly.unwrap();
    assert!(assembly.contains("ymm") && !assembly.contains("zmm") && !assembly.contains("%k1"), "{assembly}");
}
