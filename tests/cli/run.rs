//! `fuseline run`.

use crate::command::{BACKENDS, Folder, script};

#[test]
fn results_are_printed() {
    let text = "X = matrix(\"1 2 3 4\", rows=2, cols=2)\n\
        print(sum(X))\n\
        print(\"rows: \" + nrow(X))\n\
        print(toString(X))\n\
        print(1 < 2)\n\
        print(7 %/% 2)\n\
        print(1 / 4)\n";
    let expected = "10.0\nrows: 2\n1.000 2.000\n3.000 4.000\n\nTRUE\n3\n0.25\n";
    assert_eq!(script(text, &[]).quiet(), expected);
}

#[test]
fn positional_arguments_are_numbered() {
    let text = "print($1 + $2)\nprint($3)";
    assert_eq!(script(text, &["--args", "2", "0.5", "text"]).quiet(), "2.5\ntext\n");
    assert_eq!(script(text, &["--args", "-2", "-0.1", "-0.5", "--threads", "1"]).quiet(), "-2.1\n-0.5\n");
}

#[test]
fn named_arguments_have_names() {
    let text = "print($n * 2)\nprint(ifdef($m, 7))\nprint($path)";
    let output = script(text, &["--nvargs", "n=21", "path=a=b"]).quiet();
    assert_eq!(output, "42\n7\na=b\n");
}

/// Each mode computes the same, on each backend.
#[test]
fn modes_and_backends_agree() {
    let text = "X = rand(rows=500, cols=20, min=-1, max=1, seed=1)\n\
        y = rand(rows=500, cols=1, seed=2)\n\
        Q = t(X) %*% (X %*% (t(X) %*% y))\n\
        print(sum(Q != 0))\n\
        print(sum(X * X + 1) > 10000)\n\
        print(abs(sum(Q) - sum(t(X) %*% X %*% t(X) %*% y)) < 1e-6)\n";
    for backend in BACKENDS {
        for mode in ["base", "gen", "gen-fa", "gen-fnr"] {
            let output = script(text, &["--backend", backend, "--mode", mode]).quiet();
            assert_eq!(output, "20.0\nTRUE\nTRUE\n", "{backend} {mode}");
        }
    }
}

/// Results do not depend on the number of threads: not in any bit.
#[test]
fn sums_have_the_same_bits_on_any_number_of_threads() {
    let text = "X = rand(rows=100000, cols=10, min=-1, max=1, seed=1)\n\
        print(sum(X ^ 3 * 2 + X))\n\
        print(sum(t(X) %*% (X %*% rand(rows=10, cols=1, seed=2))))\n";
    let mut outputs = Vec::new();
    for backend in BACKENDS {
        for threads in ["1", "2", "3", "8"] {
            outputs.push(script(text, &["--backend", backend, "--threads", threads]).quiet());
        }
        #[cfg(target_os = "linux")]
        outputs.push(script(text, &["--backend", backend, "--threads", "3", "--pin-threads"]).quiet());
    }
    assert!(outputs.iter().all(|output| *output == outputs[0]), "{outputs:?}");
    // All digits are printed: other bits would be another text.
    assert!(outputs[0].lines().all(|line| line.len() > 12), "{outputs:?}");
}

#[test]
fn a_zero_annihilates_unless_told_otherwise() {
    // The driver of the product is sparse, so the default skips the cells where it is zero.
    let text = "X = rand(rows=1000, cols=100, sparsity=0.01, seed=1)\n\
        Y = matrix(seq(1, 100000), rows=1000, cols=100) / 0\n\
        s = sum(X * Y)\n\
        print(s)";
    assert_eq!(script(text, &["--strict-ieee"]).quiet(), "NaN\n");
    assert_eq!(script(text, &[]).quiet(), "Infinity\n");
}

#[test]
fn algebraic_rewrites_are_asked_for() {
    let text = "X = matrix(1000, rows=10, cols=10)\nprint(sum(exp(X) / (1 + exp(X))))";
    assert_eq!(script(text, &[]).quiet(), "NaN\n");
    assert_eq!(script(text, &["--algebraic"]).quiet(), "100.0\n");
}

#[test]
fn a_script_sources_others_next_to_it() {
    let folder = Folder::with("double.dml", "double = function(Double x) return (Double y) { y = 2 * x }\n");
    let text = "source(\"double.dml\") as library\nprint(library::double(21.0))";
    assert_eq!(folder.script(text, &[]).quiet(), "42.0\n");
}

#[test]
fn help_and_version_are_no_failures() {
    let folder = Folder::new();
    let help = folder.run(&["--help"]).quiet();
    for command in ["run", "explain", "opt", "check"] {
        assert!(help.contains(&format!("\n  {command} ")), "{help}");
    }
    assert_eq!(folder.run(&["--version"]).quiet(), format!("fuseline {}\n", env!("CARGO_PKG_VERSION")));
    assert!(folder.run(&["run", "--help"]).quiet().contains("--nvargs"));
}
