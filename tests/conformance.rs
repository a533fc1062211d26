//! The conformance suite of backends and skeletons: every template variant, aggregation function, format of the main
//! input, of side inputs and of factors, on every backend, instruction set, form of primitives and number of threads.
//!
//! The cases are generated from the tables (`Variant::all`, `AggOp::ALL`, the formats in `conformance/axes.rs`): a new row
//! of a table has cases, or does not compile. Each run counts what its schedule states: strips, blocks, private sums, calls
//! of generated code, rows, cells, and bytes read of each input and written (`conformance/stated.rs`). On small integers,
//! where every sum is exact, all results equal those of a plain evaluator of CPlans; on other numbers all backends and
//! numbers of threads give the same bits. With `FUSELINE_LONG` they also have the bits of Valgrind's processor, which hides
//! AVX-512 and shows other caches.

#[path = "conformance/axes.rs"]
mod axes;
#[path = "conformance/check.rs"]
mod check;
#[path = "conformance/data.rs"]
mod data;
#[path = "support/long.rs"]
mod long;
#[path = "support/narrow.rs"]
mod narrow;
#[path = "conformance/plans.rs"]
mod plans;
#[path = "conformance/record.rs"]
mod record;
#[path = "conformance/reference.rs"]
mod reference;
#[path = "conformance/stated.rs"]
mod stated;

use axes::{Cell, Factors, Formats, MainFormat, Row, SideFormat, SideKind};
use check::Checker;
use fuseline_interp::InterpBackend;
use fuseline_ir::cplan::{CNode, ColumnRange};
use fuseline_ir::template::{Space, TemplateType};
use fuseline_skeletons::Backend;
use plans::{Form, Plan};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// Checks all cells of the conformance matrix that belong to these variants.
fn conform(name: &str, rows: &[Row]) {
    let mut checker = Checker::new();
    let (mut covered, mut plans) = (BTreeSet::<Cell>::new(), 0);
    for (number, row) in rows.iter().enumerate() {
        for (position, &kind) in SideKind::ALL.iter().enumerate() {
            for &form in Form::ALL {
                let Some(plan) = Plan::new(row, form, kind) else { continue };
                let compiled = checker.compile(&plan);
                plans += 1;
                let template = row.variant.template();
                for formats in Formats::all(template).into_iter().filter(|formats| formats.side.kind() == kind) {
                    checker.check(&plan, &compiled, formats);
                    covered.insert((row.number, row.agg, formats));
                }
                let sides: Vec<SideFormat> =
                    SideFormat::ALL.iter().copied().filter(|side| side.kind() == kind).collect();
                let side = sides[number % sides.len()];
                for main in [MainFormat::Dense, MainFormat::Csr, MainFormat::Narrow] {
                    let factors = Factors::of(template)[0];
                    checker.check_edges(&plan, &compiled, Formats { main, side, factors });
                }
                checker.check_misfits(&plan, &compiled, side);
                // The kinds of side inputs take turns.
                if number % SideKind::ALL.len() == position {
                    checker.check_blocks(&plan, &compiled, side);
                }
            }
        }
    }
    let expected = axes::cells(rows);
    let missing: Vec<&Cell> = expected.difference(&covered).collect();
    assert!(missing.is_empty(), "{} cells have no case: {missing:?}", missing.len());
    let (cells, combinations, executions) = (covered.len(), checker.combinations(), checker.executions);
    println!(
        "{name}: {} of {} cells ({cells} formats of variants x {combinations} backends and threads), {plans} plans, \
         {executions} executions",
        cells * combinations,
        expected.len() * combinations
    );
}

/// Defines the tests of each template, among which its variants are dealt: a template without one does not compile.
macro_rules! tests_of_templates {
    ($($template:ident { $($test:ident: $part:literal),* })*) => {
        /// How many tests share the variants of a template.
        fn parts(template: TemplateType) -> usize {
            match template {
                $(TemplateType::$template => [$($part),*].len(),)*
            }
        }

        $($(
            #[test]
            fn $test() {
                let template = TemplateType::$template;
                let rows: Vec<Row> = Row::all(template).into_iter().skip($part).step_by(parts(template)).collect();
                conform(stringify!($test), &rows);
            }
        )*)*
    };
}

tests_of_templates! {
    Cell { cell_plans: 0 }
    MAgg { magg_plans: 0 }
    Row { row_plans_0: 0, row_plans_1: 1, row_plans_2: 2 }
    Outer { outer_plans: 0 }
}

/// The kinds of nodes: a new one does not compile until it is in the list, and then needs a plan.
fn kind_of(node: &CNode) -> &'static str {
    match node {
        CNode::Main => "main",
        CNode::Scalar(_) => "scalar",
        CNode::Literal(_) => "literal",
        CNode::SideCell(_) => "side_cell",
        CNode::SideRowScalar(_, 0) => "side_row_scalar",
        CNode::SideRowScalar(..) => "side_row_scalar of a fixed column",
        CNode::RowIndex => "row_index",
        CNode::SideColScalar(_) => "side_col_scalar",
        CNode::SideRow(_, ColumnRange::All) => "side_row",
        CNode::SideRow(_, ColumnRange::Part { .. }) => "side_row of a range",
        CNode::SideVector(_) => "side_vector",
        CNode::OuterProduct => "outer_product",
        CNode::Unary(..) => "unary",
        CNode::Binary(..) => "binary",
        CNode::Ternary(..) => "ternary",
        CNode::RowAgg(..) => "row_agg",
        CNode::RowCumulative(..) => "row_cumulative",
        CNode::Cbind(..) => "cbind",
        CNode::Scatter(..) => "scatter",
        CNode::DotProduct(..) => "dot_product",
        CNode::VectMatMult(..) => "vect_mat_mult",
        CNode::Windows(op, ..) => op.mnemonic(),
        CNode::Convolve(..) => "convolve",
    }
}

#[test]
fn the_plans_have_every_kind_of_node_and_both_entries() {
    let rows = TemplateType::ALL.iter().copied().flat_map(Row::all);
    let plans: Vec<Plan> = rows
        .flat_map(|row| {
            let forms = SideKind::ALL.iter().flat_map(|&kind| Form::ALL.iter().map(move |&form| (form, kind)));
            forms.filter_map(|(form, kind)| Plan::new(&row, form, kind)).collect::<Vec<Plan>>()
        })
        .collect();
    let forms: Vec<_> = plans.iter().filter_map(|plan| plan.cplan.sparse_form()).collect();
    let nodes = plans.iter().map(|plan| &plan.cplan).chain(forms.iter().map(AsRef::as_ref));
    let kinds: BTreeSet<&str> = nodes.flat_map(|plan| plan.nodes.values().map(kind_of)).collect();
    assert_eq!(kinds.len(), 25, "{kinds:?}");
    let of_rows = plans.iter().filter(|plan| plan.cplan.space() == Space::Rows);
    let (sparse, dense): (Vec<&Plan>, Vec<&Plan>) =
        of_rows.partition(|plan| fuseline_skeletons::abi::has_sparse_entry(&plan.cplan));
    assert!(sparse.len() > 100 && dense.len() > 100, "{} sparse, {} dense", sparse.len(), dense.len());
}

/// P036: the interpreter has room for the row vectors that plans say they compute, and for no more.
#[test]
fn the_interpreter_has_the_buffers_of_the_plan() {
    let rows = Row::all(TemplateType::Row);
    let plans = rows.iter().flat_map(|row| {
        let forms = SideKind::ALL.iter().flat_map(|&kind| Form::ALL.iter().map(move |&form| (form, kind)));
        forms.filter_map(|(form, kind)| Plan::new(row, form, kind))
    });
    let mut counts = BTreeSet::new();
    for plan in plans {
        let compiled = InterpBackend::new().compile(&plan.cplan).expect("it runs every plan");
        let buffers = plan.cplan.row_buffers();
        let of_form = compiled.sparse_form().map_or(0, |form| form.row_buffers().computed());
        assert_eq!(compiled.buffers(), buffers.computed().max(of_form), "{}", *plan.cplan);
        assert!(plan.cplan.to_string().contains(&format!(" ring={} ", buffers.count())), "{}", *plan.cplan);
        counts.insert(buffers.computed());
    }
    assert!(counts.len() > 3, "{counts:?}");
}

/// The variable that names the file of a recording to the run that makes it.
const RECORDING: &str = "FUSELINE_CONFORMANCE_RECORDING";

/// Every plan with every format, some 6800 results, natively and under Valgrind, which takes four seconds.
#[test]
fn results_have_the_bits_of_another_processor() {
    if let Some(file) = env::var_os(RECORDING) {
        let mut out = BufWriter::new(File::create(file).expect("the folder is there"));
        let rows: Vec<Row> = TemplateType::ALL.iter().copied().flat_map(Row::all).collect();
        println!("{} results", record::record(&rows, &mut out));
        return;
    }
    if !long::is_long() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (native, hidden) = (folder.path().join("native.txt"), folder.path().join("hidden.txt"));
    let program = env::current_exe().expect("it runs");
    record_with(Command::new(&program), &native);
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=none", "--quiet"]).arg(&program);
    record_with(valgrind, &hidden);
    let [native, hidden] = [native, hidden].map(|file| fs::read_to_string(file).expect("it was written"));
    let other = native.lines().zip(hidden.lines()).find(|(native, hidden)| native != hidden);
    assert_eq!(other, None, "other bits under Valgrind");
    assert!(native.lines().count() > 1000 && native.len() == hidden.len(), "{} results", native.lines().count());
}

/// Runs this test in a process of its own, which writes the file.
fn record_with(mut command: Command, file: &Path) {
    command.args(["--exact", "results_have_the_bits_of_another_processor"]).env(RECORDING, file);
    let output = command.output().expect("./x test --long installs Valgrind");
    let messages = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(output.status.success() && file.exists(), "{messages}");
}
