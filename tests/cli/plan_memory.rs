//! `--plan-mem`: the memory that plans assume, and what `explain` says of it.

use crate::command::{Folder, fuseline, script};

/// Two sums over products of matrices of 0.8 MB each that share `X * Y`: an operator of both reads four matrices.
const SHARED_PRODUCT: &str = "X = rand(rows=1000, cols=100, seed=1)\nY = rand(rows=1000, cols=100, seed=2)\n\
    Z = rand(rows=1000, cols=100, seed=3)\nW = rand(rows=1000, cols=100, seed=4)\n\
    if (sum(X) > 0) { P = X * Y }\nprint(sum(P * Z) + sum(P * W))\n";

const HOPS: &str = "hops {\n\
    \x20 %0 = read \"X\" : f64[1000x100]\n\
    \x20 %1 = read \"Y\" : f64[1000x100]\n\
    \x20 %2 = read \"Z\" : f64[1000x100]\n\
    \x20 %3 = read \"W\" : f64[1000x100]\n\
    \x20 %4 = mult %0, %1 : f64[1000x100]\n\
    \x20 %5 = mult %4, %2 : f64[1000x100]\n\
    \x20 %6 = sum.full %5 : f64\n\
    \x20 %7 = mult %4, %3 : f64[1000x100]\n\
    \x20 %8 = sum.full %7 : f64\n\
    \x20 write \"a\" %6\n\
    \x20 write \"b\" %8\n\
    }\n";

/// The most members of a fused operator of the plan.
fn largest_operator(arguments: &[&str]) -> usize {
    let folder = Folder::with("shared.hop", HOPS);
    let all = [&["opt", "shared.hop", "--emit", "plan", "--machine", "default"], arguments].concat();
    let plan = folder.run(&all).quiet();
    let members = plan.lines().filter_map(|line| line.split_once(" members: "));
    members.map(|(_, members)| members.split(' ').count()).max().unwrap_or(0)
}

#[test]
fn plans_keep_to_the_memory_that_they_assume() {
    let unlimited = largest_operator(&[]);
    assert!(largest_operator(&["--plan-mem", "2400000"]) < unlimited);
    assert_eq!(largest_operator(&["--plan-mem", "1g"]), unlimited);
    // It goes before that of the run.
    assert_eq!(largest_operator(&["--mem", "2400000", "--plan-mem", "1g"]), unlimited);
}

/// However little plans assume, a run is not refused.
#[test]
fn runs_are_held_to_the_other_budget() {
    let expected = script(SHARED_PRODUCT, &[]).quiet();
    for size in ["1", "1k", "2400000", "16G"] {
        let sum: f64 = script(SHARED_PRODUCT, &["--plan-mem", size]).quiet().trim().parse().expect("a number");
        let expected: f64 = expected.trim().parse().expect("a number");
        assert!((sum - expected).abs() <= 1e-9 * expected, "{size}: {sum} {expected}");
    }
}

#[test]
fn sizes_that_are_none_are_refused() {
    for size in ["much", "0", "-1", "1.5g", ""] {
        let message = script("print(1)", &[&format!("--plan-mem={size}")]).message();
        assert!(message.contains("a size is a number of bytes, or of k, m, g or t such as 512m or 16g"), "{message}");
        assert!(message.contains("--plan-mem"), "{message}");
    }
}

/// The first line of a plan says what it depends on besides script and sizes.
#[test]
fn plans_say_what_they_depend_on() {
    let first_line = |arguments: &[&str]| {
        let all = [&["explain", "examples/l2svm.dml", "--stage", "plan", "--machine", "default"], arguments].concat();
        let text = fuseline(&[&all, &["--nvargs", "rows=100000", "cols=10"][..]].concat()).quiet();
        text.lines().next().unwrap_or_default().to_owned()
    };
    let typical = first_line(&[]);
    assert!(typical.starts_with("# optimizer environment "), "{typical}");
    assert!(typical.ends_with(" threads, operators of any size, no cluster"), "{typical}");
    assert_eq!(first_line(&["--threads", "1", "--mem", "1g", "--plan-mem", "2g"]), first_line(&["--plan-mem", "2g"]));
    let limited = first_line(&["--plan-mem", "512m"]);
    assert!(limited.contains(" threads, 512.0 MiB for inputs and output of an operator, "), "{limited}");
    let fingerprint = |line: &str| line.split(':').next().unwrap_or_default().to_owned();
    for others in [&["--plan-mem", "256m"][..], &["--enumeration", "all"], &["--strict-ieee"], &["--algebraic"], &[]] {
        assert_ne!(fingerprint(&first_line(others)), fingerprint(&limited), "{others:?}");
    }
}
