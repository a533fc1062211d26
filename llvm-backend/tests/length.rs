//! Plans of any length: what becomes loops, what becomes calls, how many buffers they take, and what is refused.

use fuseline_ir::cplan::{VerifiedCPlan, parse};
use fuseline_llvm_backend::{LlvmBackend, LlvmOptions, PrimitiveMode};
use fuseline_skeletons::abi::UnitSize;
use fuseline_skeletons::backend::{Backend, BackendError, CompileInfo};

fn plan(text: &str) -> VerifiedCPlan {
    parse(text).expect("the text is a plan").verify().expect("the plan is well-formed")
}

fn backend(options: LlvmOptions) -> LlvmBackend {
    LlvmBackend::new(options).expect("tests run on machines with AVX2")
}

fn with_prims(prims: PrimitiveMode) -> LlvmBackend {
    backend(LlvmOptions { prims, keep_ir: true, keep_asm: true, ..LlvmOptions::default() })
}

/// How plans over the rows of a side matrix begin: they have one entry.
const ROWS: &str = "cplan row row_agg sparse_safe=false {\nin0 = matrix\nin1 = matrix\n%0 = side_row in1\n";

/// A Row plan of this many element-wise operations, each on the one before, and an aggregate.
fn chain(operations: usize) -> VerifiedCPlan {
    let mut text = format!("{ROWS}%1 = row_agg.sum %0\n");
    for index in 0..operations {
        let operand = if index == 0 { 0 } else { index + 1 };
        text += &format!("%{} = mult %{operand}, %1\n", index + 2);
    }
    plan(&format!("{text}%{} = row_agg.sum %{}\nout %{}\n}}", operations + 2, operations + 1, operations + 2))
}

#[test]
fn auto_inlines_chains_up_to_a_length() {
    let auto = with_prims(PrimitiveMode::Auto);
    let symbols = |operations: usize| auto.compile(&chain(operations)).unwrap().info.called_symbols;
    // For narrow rows the rows are copied, and the row sums that all loops read are repeated.
    assert_eq!(symbols(256), ["row_sum", "vect_copy", "vect_spread"]);
    assert_eq!(symbols(257), ["row_sum", "vect_mult_vs"]);
}

/// P179b: a chain of any length needs two buffers (and here a column for the row sums, in whole cache lines).
#[test]
fn chains_of_calls_alternate_between_two_buffers() {
    for operations in [60, 500] {
        let compiled = with_prims(PrimitiveMode::Shared).compile(&chain(operations)).unwrap();
        assert_eq!(compiled.scratch_len(UnitSize { rows: 10, positions: 0, longest: 1000 }), 2 * 10 * 1000 + 16);
    }
    let fused = with_prims(PrimitiveMode::Inlined).compile(&chain(20)).unwrap();
    // For narrow rows, of at most 31 cells, the loop has a tile each for the rows, the repeated row sums, and what it
    // aggregates.
    assert_eq!(fused.scratch_len(UnitSize { rows: 10, positions: 0, longest: 1000 }), 16 + 3 * 312);
    assert_eq!(fused.scratch_len(UnitSize { rows: 10, positions: 0, longest: 4 }), 16 + 3 * 40);
}

/// Machine code does not grow with them, nor do the texts of the calls.
#[test]
fn many_calls_become_a_table() {
    let compile = |operations: usize| with_prims(PrimitiveMode::Shared).compile(&chain(operations)).unwrap().info;
    let calls = |info: &CompileInfo| info.llvm_ir.as_ref().unwrap().matches("call void @vect_mult_vs").count();
    // Two calls more are those of the row sums.
    let (few, many) = (compile(61), compile(62));
    assert_eq!((calls(&few), calls(&many)), (61, 2));
    assert!(!few.llvm_ir.unwrap().contains("@calls") && many.llvm_ir.unwrap().contains("@calls"));
    let (long, longer) = (compile(500), compile(5000));
    assert_eq!(longer.called_symbols, ["row_sum", "vect_mult_vs"]);
    assert!(longer.llvm_ir.unwrap().contains("[5002 x [7 x i32]]"));
    assert!(long.code_bytes.abs_diff(longer.code_bytes) < 16, "{} {}", long.code_bytes, longer.code_bytes);
}

/// Each of these matrices has a stride of its own, so no two calls are alike. The first is a vector, which is another value in
/// each column, so that there is no entry for sparse rows.
#[test]
fn different_calls_are_made_one_by_one() {
    let sum = |matrices: usize| {
        let inputs: String = (0..=matrices).map(|input| format!("in{input} = matrix\n")).collect();
        let sides: String = (2..=matrices).map(|input| format!("%{input} = side_row in{input}\n")).collect();
        let sums: String = (1..=matrices)
            .map(|side| {
                format!("%{} = plus %{}, %{side}\n", matrices + side, if side == 1 { 0 } else { matrices + side - 1 })
            })
            .collect();
        plan(&format!(
            "cplan row no_agg sparse_safe=false {{\n{inputs}%0 = main\n%1 = side_vector in1\n{sides}{sums}%{} = exp %{}\nout %{}\n}}",
            2 * matrices + 1,
            2 * matrices,
            2 * matrices + 1
        ))
    };
    let text = with_prims(PrimitiveMode::Shared).compile(&sum(100)).unwrap().info.llvm_ir.unwrap();
    assert_eq!((text.matches("call void @vect_plus_vv").count(), text.contains("@calls")), (100, false));
}

/// Constants and scalars are cells behind one address each, however often they are read.
#[test]
fn calls_of_a_table_share_addresses() {
    let mut text = "cplan row row_agg sparse_safe=false {\nin0 = matrix\nin1 = scalar\nin2 = scalar\n%0 = main
      %1 = scalar in1\n%2 = scalar in2\n%3 = literal 0.5\n%4 = literal 0.5\n%5 = row_cumulative.max %0\n"
        .to_owned();
    for index in 0..90 {
        text += &format!("%{} = mult %{}, %{}\n", index + 6, index + 5, 1 + index % 4);
    }
    let plan = plan(&format!("{text}%96 = row_agg.sum %95\nout %96\n}}"));
    let text = with_prims(PrimitiveMode::Shared).compile(&plan).unwrap().info.llvm_ir.unwrap();
    assert_eq!(text.matches("= private constant double").count(), 1);
    // Main rows, scalars, the constant, two buffers in turn, and the output.
    assert!(text.contains("%bases = alloca [6 x ptr]"), "{text}");
}

/// Loops of at most 48 operations hand one value on, and alternate between two buffers too.
#[test]
fn long_chains_are_cut_into_loops() {
    let loops_and_buffers = |operations: usize| {
        let compiled = with_prims(PrimitiveMode::Auto).compile(&chain(operations)).unwrap();
        let buffers = compiled.buffers();
        (compiled.info.llvm_ir.unwrap().matches("\nrows_done").count(), buffers)
    };
    assert_eq!([48, 49, 97, 128].map(loops_and_buffers), [(1, 0), (2, 1), (3, 2), (3, 2)]);
}

#[test]
fn plans_beyond_the_limit_are_refused() {
    let auto = backend(LlvmOptions::default());
    let result = auto.compile(&chain(20_000));
    assert!(matches!(&result, Err(BackendError::Limit { what, .. }) if what.contains("20003 nodes")), "{result:?}");
}

/// Expression (2): a range of columns and a product have one length under two names, and still share their loops. For narrow
/// rows the range is copied and the row sums are repeated, once.
#[test]
fn vectors_of_one_length_share_loops() {
    let expression_2 = plan(
        "cplan row col_agg_b1_t sparse_safe=true {\nin0 = matrix\nin1 = matrix\nin2 = matrix\n%0 = main\n\
         %1 = vect_mat_mult %0, in1\n%2 = side_row in2[0:4]\n%3 = mult %1, %2\n%4 = row_agg.sum %3\n%5 = mult %2, %4\n\
         %6 = minus %3, %5\nout %6 left=%0\n}",
    );
    let compiled = with_prims(PrimitiveMode::Auto).compile(&expression_2).unwrap();
    let of_dense_rows = ["vect_mat_mult", "vect_copy", "row_sum", "vect_spread", "outer_mult_add"];
    assert_eq!(compiled.info.called_symbols[..5], of_dense_rows);
    let text = compiled.info.llvm_ir.unwrap();
    let dense = text.split("define void @").find(|function| function.starts_with("genexec_dense")).unwrap();
    assert_eq!(dense.matches("call void @vect_copy").count(), 1);
    // Their rows are surely narrow, so there is no other form of the loops.
    assert_eq!((dense.matches("\nrun_done").count(), dense.matches("\nrows_done").count()), (2, 0));
}

/// Loops over vectors of a length that the plan gives have those forms alone that will run.
#[test]
fn loops_of_known_length_have_one_form() {
    let forms = |cells: usize, operations: &str| {
        let text = format!(
            "cplan row row_agg sparse_safe=false {{\nin0 = matrix\nin1 = matrix\n%0 = side_row in1[3:{}]\n{operations}\n}}",
            3 + cells
        );
        let text = with_prims(PrimitiveMode::Inlined).compile(&plan(&text)).unwrap().info.llvm_ir.unwrap();
        ["pack", "run", "short", "block"].map(|block| text.contains(&format!("\n{block}:")))
    };
    let aggregate = "%1 = exp %0\n%2 = row_agg.sum %1\nout %2";
    assert_eq!(forms(2, aggregate), [true, true, false, false]);
    assert_eq!(forms(31, aggregate), [true, true, false, false]);
    assert_eq!(forms(32, aggregate), [false, false, false, true]);
    // Without an aggregate within the loop narrow rows take no other one than wide ones, but for those of one register.
    let alone = "%1 = exp %0\n%2 = row_agg.var %1\nout %2";
    assert_eq!(forms(2, alone), [false, false, false, false]);
    assert_eq!(forms(31, alone), [false, false, false, false]);
    assert_eq!(forms(100, alone), [false, false, false, true]);
}

/// Each row sum waits for the one before, so none share a loop.
#[test]
fn plans_of_many_loops_become_calls() {
    let alternating = |sums: usize| {
        let mut text = format!("{ROWS}%1 = row_agg.sum %0\n");
        for index in 0..sums {
            let last = 2 * index + 1;
            text += &format!("%{} = mult %0, %{last}\n%{} = row_agg.sum %{}\n", last + 1, last + 2, last + 1);
        }
        plan(&format!("{text}out %{}\n}}", 2 * sums + 1))
    };
    let symbols =
        |sums: usize| with_prims(PrimitiveMode::Auto).compile(&alternating(sums)).unwrap().info.called_symbols;
    assert_eq!(symbols(32), ["row_sum", "vect_copy", "vect_spread"]);
    assert_eq!(symbols(33), ["row_sum", "vect_mult_vs"]);
    assert_eq!(symbols(1000), ["row_sum", "vect_mult_vs"]);
    let result = with_prims(PrimitiveMode::Inlined).compile(&alternating(101));
    assert!(matches!(&result, Err(BackendError::Limit { what, .. }) if what.contains("loops")), "{result:?}");
    let result = with_prims(PrimitiveMode::Inlined).compile(&chain(2001));
    assert!(matches!(&result, Err(BackendError::Limit { what, .. }) if what.contains("2001 operations")), "{result:?}");
}

/// A chain of this many operations on the cells and one value per row, summed up.
fn cellwise_chain(header: &str, first: &str, operations: usize) -> VerifiedCPlan {
    let mut text = format!("{header}\n%0 = {first}\n%1 = side_row_scalar in3\n");
    for index in 0..operations {
        let operand = if index == 0 { 0 } else { index + 1 };
        text += &format!("%{} = {} %{operand}, %1\n", index + 2, ["mult", "plus"][index % 2]);
    }
    plan(&format!("{text}out %{} agg=sum\n}}", operations + 1))
}

const CELL_HEADER: &str =
    "cplan cell full_agg sparse_safe=false {\nin0 = matrix\nin1 = matrix\nin2 = matrix\nin3 = matrix";
const OUTER_HEADER: &str =
    "cplan outer full_agg sparse_safe=true {\nin0 = matrix\nin1 = matrix\nin2 = matrix\nin3 = matrix";

/// Among non-zeros the value of a row is repeated once, whatever the number of operations that read it.
#[test]
fn values_per_row_among_nonzeros_are_repeated_once() {
    let spreads = |operations: usize| {
        let plan = cellwise_chain(OUTER_HEADER, "outer_product", operations);
        let compiled = with_prims(PrimitiveMode::Shared).compile(&plan).unwrap();
        let symbols = ["segment_spread", "vect_mult_vv", "vect_plus_vv", "full_sum"];
        assert_eq!(compiled.info.called_symbols[..4], symbols);
        compiled.info.llvm_ir.unwrap().matches("segment_spread").count()
    };
    assert_eq!(spreads(20), spreads(500));
}

#[test]
fn plans_of_ten_thousand_operations_compile_or_are_refused() {
    let cell = cellwise_chain(CELL_HEADER, "main", 10_000);
    let outer = cellwise_chain(OUTER_HEADER, "outer_product", 10_000);
    let compile = |prims, plan| backend(LlvmOptions { prims, ..LlvmOptions::default() }).compile(plan);
    for plan in [&chain(10_000), &cell, &outer] {
        let auto = compile(PrimitiveMode::Auto, plan);
        assert!(auto.is_ok(), "{:?}", auto.err());
        let inlined = compile(PrimitiveMode::Inlined, plan);
        assert!(matches!(&inlined, Err(BackendError::Limit { .. })), "{inlined:?}");
    }
}
