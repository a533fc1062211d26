//! `fuseline explain`, `opt` and `check`, `--explain` and `--emit-llvm`.

use crate::command::{Folder, fuseline};

const STAGES: &[&str] = &["hops", "rewritten", "memo", "plan", "cplan", "llvm", "asm", "runtime"];

const L2SVM: &[&str] = &["examples/l2svm.dml", "--nvargs", "rows=100000", "cols=10"];

#[track_caller]
fn explain(stage: &str) -> String {
    fuseline(&[&["explain", L2SVM[0], "--stage", stage], &L2SVM[1..]].concat()).quiet()
}

#[test]
fn every_stage_can_be_shown_and_is_deterministic() {
    for stage in STAGES {
        let text = explain(stage);
        let start = if *stage == "plan" { "# optimizer environment " } else { "# block " };
        assert!(text.starts_with(start), "{stage}: {text}");
        assert_eq!(text, explain(stage), "{stage}");
    }
}

/// What the stages of the main job show, from the script to what runs.
#[test]
fn stages_show_the_way_of_the_main_job() {
    for (stage, parts) in [
        ("hops", &["matmul", "f64[100000x10"][..]),
        ("rewritten", &["hops {"]),
        ("memo", &["R(", "C("]),
        ("plan", &["partition 1", "row roots:", "cell roots:"]),
        ("cplan", &["cplan row", "cplan cell", "out "]),
        ("runtime", &["spoof"]),
    ] {
        let text = explain(stage);
        for part in parts {
            assert!(text.contains(part), "{stage} without {part}: {text}");
        }
    }
}

/// P037: a plan says which form of it sparse rows run, where that is another one.
#[test]
fn plans_show_what_sparse_rows_run() {
    let script = |function: &str| {
        format!(
            "X = rand(rows=2000, cols=5000, sparsity=0.01)\nv = rand(rows=5000, cols=1)\n\
             print(sum(({function}(X) %*% v)^2))\n"
        )
    };
    for (function, is_shown) in [("exp", true), ("sqrt", false)] {
        let folder = Folder::with("product.dml", script(function));
        let text = folder.run(&["explain", "product.dml", "--stage", "cplan"]).quiet();
        assert!(text.contains("cplan row"), "{text}");
        assert_eq!(text.contains("# units of sparse rows run\ncplan row"), is_shown, "{text}");
        assert_eq!(text.contains("= scatter %1, %"), is_shown, "{text}");
    }
}

/// Silence would leave the user to guess.
#[test]
fn what_has_nothing_to_show_says_so() {
    assert_eq!(fuseline(&["explain", L2SVM[0], "--stage", "plan", "--mode", "base"]).quiet(), "# nothing is fused\n");
    let folder = Folder::with("scalars.dml", "print(1 + 2)\n");
    for stage in ["memo", "plan", "cplan", "llvm"] {
        assert_eq!(folder.run(&["explain", "scalars.dml", "--stage", stage]).quiet(), "# nothing is fused\n");
    }
}

#[test]
fn interpreted_operators_say_so_in_place_of_code() {
    let arguments = ["explain", L2SVM[0], "--stage", "llvm", "--backend", "interp"];
    let text = fuseline(&[&arguments, &L2SVM[1..]].concat()).quiet();
    assert!(text.contains("; interpreted\n") && !text.contains("define"), "{text}");
}

const HOPS: &str = "hops @gram {\n\
    \x20 %0 = read \"X\" : f64[10000x100]\n\
    \x20 %1 = read \"v\" : f64[100x1]\n\
    \x20 %2 = matmul %0, %1 : f64[10000x1]\n\
    \x20 %3 = t %0 : f64[100x10000]\n\
    \x20 %4 = matmul %3, %2 : f64[100x1]\n\
    \x20 write \"g\" %4\n\
    }\n";

#[test]
fn opt_takes_the_text_form() {
    let folder = Folder::with("gram.hop", HOPS);
    for stage in STAGES {
        let text = folder.run(&["opt", "gram.hop", "--emit", stage]).quiet();
        assert!(text.starts_with("# @gram\n") && text.lines().count() > 1, "{stage}: {text}");
        assert_eq!(text, folder.run(&["opt", "gram.hop", "--emit", stage]).quiet(), "{stage}");
    }
    let plan = folder.run(&["opt", "gram.hop", "--emit", "plan"]).quiet();
    for part in [
        "# @gram\npartition 1: none\n  ",
        ", proven optimal; ",
        "\nrow roots: 4 members: 2 3 4\n  %4 = t(X) %*% (X %*% v)\n",
        "\n  reads X 7.6 MiB, v 800 bytes; writes g 800 bytes\n",
        "\noperators: 2 ba(+*), 3 r(t), 4 ba(+*)\n\n",
    ] {
        assert!(plan.contains(part), "{part:?} in {plan}");
    }
    let base = folder.run(&["opt", "gram.hop", "--emit", "plan", "--mode", "base"]).quiet();
    assert_eq!(base, "# @gram\n\n");
}

/// Every block of a script is a graph, a drawing or an object of its own, with the same bytes from every process.
#[test]
fn graphs_come_in_every_form() {
    for stage in ["hops", "rewritten", "memo", "plan"] {
        let blocks = explain(stage).matches("# block ").count();
        for (format, start, per_block) in [
            ("dot", "digraph \"block ", "digraph "),
            ("svg", "<svg xmlns", "class=\"title\""),
            ("json", "{\n  \"version\": 2,", "\"name\": \"block "),
        ] {
            let arguments = [&["explain", L2SVM[0], "--stage", stage, "--format", format], &L2SVM[1..]].concat();
            let text = fuseline(&arguments).quiet();
            assert!(text.starts_with(start), "{stage} as {format}: {text}");
            assert!(text.matches(per_block).count() >= blocks, "{stage} as {format}: {text}");
            assert_eq!(text, fuseline(&arguments).quiet(), "{stage} as {format}");
        }
    }
}

/// The text that one command prints is what another reads.
#[test]
fn hops_print_back_through_opt() {
    let folder = Folder::with("gram.hop", HOPS);
    let printed = folder.run(&["opt", "gram.hop", "--emit", "hops"]).quiet();
    folder.write("again.hop", printed.replace("hops {", "hops @gram {"));
    assert_eq!(folder.run(&["opt", "again.hop", "--emit", "hops"]).quiet(), printed);
}

#[test]
fn mistakes_in_the_text_form_have_places() {
    let folder = Folder::with("bad.hop", HOPS.replace("matmul %0, %1", "matmul %0, %9"));
    let message = folder.run(&["opt", "bad.hop", "--emit", "plan"]).message();
    assert_eq!(message, "error: bad.hop:4:19: %9 is not defined before its use\n");
    folder.write("shape.hop", HOPS.replace("f64[100x1]", "f64[99x1]"));
    let message = folder.run(&["opt", "shape.hop", "--emit", "plan"]).message();
    assert!(message.starts_with("error: shape.hop: @gram: "), "{message}");
}

#[test]
fn check_accepts_without_running() {
    let folder = Folder::with("good.dml", "print(\"never printed\")\nwrite(1, \"file\")\n");
    assert_eq!(folder.run(&["check", "good.dml"]).quiet(), "");
    assert!(!folder.path("file").exists());
    folder.write("bad.dml", "x = undefined_variable + 1\nprint(x)\n");
    assert!(folder.run(&["check", "bad.dml"]).message().contains("bad.dml:1:5"));
    assert_eq!(fuseline(&["check", "examples/l2svm.dml"]).quiet(), "");
}

const ROW: &str = "X = rand(rows=10000, cols=200, seed=1)\n\
    v = rand(rows=200, cols=1, seed=2)\n\
    print(sum(t(X) %*% (X %*% v)) > 0)\n";

#[test]
fn stages_are_shown_while_running() {
    let finished = Folder::new().script(ROW, &["--explain", "plan"]).success();
    assert_eq!(finished.stdout, "TRUE\n");
    assert!(finished.stderr.contains("row roots:"), "{}", finished.stderr);
}

#[cfg(feature = "llvm")]
mod code {
    use super::ROW;
    use crate::command::Folder;

    /// Modules are written one per operator; with shared primitives they call these.
    #[test]
    fn modules_are_written_and_call_shared_primitives() {
        let folder = Folder::new();
        let options = ["--prims", "shared", "--emit-llvm=modules", "--emit-asm"];
        assert_eq!(folder.script(ROW, &options).quiet(), "TRUE\n");
        let modules = folder.list("modules");
        assert!(!modules.is_empty() && modules.iter().all(|name| name.ends_with(".ll")), "{modules:?}");
        let text: String = modules.iter().map(|name| folder.read(&format!("modules/{name}"))).collect();
        for part in ["define ", "target triple", "declare ", "call void @dot_product", "call void @outer_mult_add"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert_eq!(folder.list("asm").len(), modules.len());
        assert!(folder.list("asm").iter().all(|name| name.ends_with(".s")));
    }

    #[test]
    fn inlined_primitives_are_not_called() {
        let folder = Folder::new();
        let text = "X = rand(rows=1000, cols=20, seed=1)\nprint(sum(X * X + 2 * X) > 0)\n";
        assert_eq!(folder.script(text, &["--prims", "inlined", "--emit-llvm"]).quiet(), "TRUE\n");
        let modules = folder.list("llvm");
        assert!(!modules.is_empty());
        for name in modules {
            let module = folder.read(&format!("llvm/{name}"));
            assert!(!module.contains("call void @vect_"), "{module}");
        }
    }
}
