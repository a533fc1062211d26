//! Passes over programs change nothing that a script prints: each script runs with every pass alone, with all and with
//! none, fused and unfused.

use fuseline::{BackendKind, CompileOptions, Mode, ProgramOptions, Session, Statistics, Variables};

const PASSES: [ProgramOptions; 5] = [
    ProgramOptions { constants: true, ..ProgramOptions::NONE },
    ProgramOptions { inlining: true, ..ProgramOptions::NONE },
    ProgramOptions { motion: true, ..ProgramOptions::NONE },
    ProgramOptions { constants: true, inlining: true, motion: true },
    ProgramOptions { constants: false, inlining: true, motion: true },
];

/// What a script printed, then its error, if it ended with one; and what the run did.
fn run(text: &str, mode: Mode, program: ProgramOptions) -> (String, Option<Statistics>) {
    let options =
        CompileOptions { mode, program, backend: BackendKind::Interp, threads: 2, ..CompileOptions::default() };
    let session = Session::new(options).expect("the interpreter runs everywhere");
    let mut output = Vec::new();
    let outcome = session
        .compile_script("script.dml", text, &[])
        .and_then(|script| session.run(&script.for_effects(), Variables::new(), &mut output));
    let mut output = String::from_utf8(output).expect("output is UTF-8");
    match outcome {
        Ok(outcome) => (output, Some(outcome.statistics)),
        Err(error) => {
            // What it is and where; what it worked on depends on where blocks end.
            output.extend(error.render(false).lines().take(2).flat_map(|line| [line, "\n"]));
            (output, None)
        }
    }
}

/// Runs a script in all ways; returns what it printed in each.
#[track_caller]
fn same(text: &str) -> String {
    let (expected, _) = run(text, Mode::Base, ProgramOptions::NONE);
    for mode in [Mode::Base, Mode::Gen] {
        for passes in PASSES {
            let (actual, _) = run(text, mode, passes);
            assert_eq!(actual, expected, "{mode:?} {passes:?}\n{text}");
        }
    }
    expected
}

const DATA: &str = "X = round(rand(rows=200, cols=10, min=-5, max=5, seed=1))\n\
    y = round(rand(rows=200, cols=1, min=-5, max=5, seed=2))\n";

#[test]
fn constants_and_branches() {
    let text = "intercept = 1\nverbose = FALSE\nscale = 2 * 3\n\
        if (intercept == 1) { X = cbind(X, matrix(1, rows=nrow(X), cols=1)) }\n\
        if (verbose & scale > 3) { print(\"never\") } else { scale = scale - 1 }\n\
        k = 0\n\
        while (k < scale) { k = k + 2; if (k == 4) { intercept = 7 } }\n\
        print(sum(X * scale) + k + intercept)\nprint(ncol(X))\n";
    assert!(same(&format!("{DATA}{text}")).ends_with("\n11\n"));
}

#[test]
fn constants_through_functions_and_recursion() {
    let text = "power = function(Double base, Integer n, Boolean negate = FALSE) return (Double result, Integer used) {\n\
        \x20 result = 1\n  used = n\n\
        \x20 if (n > 0) { [rest, m] = power(base, n - 1); result = base * rest }\n\
        \x20 if (negate) { result = -result }\n}\n\
        [a, n] = power(2, 5)\n[b, m] = power(3.0, 3, TRUE)\nprint(a + \" \" + n + \" \" + b + \" \" + m)\n";
    assert_eq!(same(text), "32 5 -27.0 3\n");
}

#[test]
fn locals_of_inlined_functions_are_not_the_callers() {
    let text = "f = function(Matrix[Double] A, Double s) return (Matrix[Double] B, Double t) {\n\
        \x20 X = A * s\n  s = s + 1\n  B = X + s\n  t = s\n}\n\
        s = 10.0\n[B, t] = f(X, 2)\n[C, s2] = f(B, s)\n[X, s] = f(X, s)\n\
        print(sum(X) + sum(B) + sum(C))\nprint(s + t + s2)\n";
    assert!(same(&format!("{DATA}{text}")).ends_with("\n25.0\n"));
}

#[test]
fn calls_within_calls_and_loops() {
    let text = "g = function(Matrix[Double] A) return (Double r) { r = sum(A * 2) }\n\
        h = function(Matrix[Double] A, Double n) return (Double r) { b = A + n; r = g(b) + n }\n\
        total = 0\nfor (i in 1:3) { total = total + h(X, i); X = X + 1 }\nprint(total)\n\
        while (h(X, 0) < 1e6) { X = X * 2 }\nprint(sum(X))\n";
    same(&format!("{DATA}{text}"));
}

#[test]
fn invariants_of_loops() {
    let text = "v = matrix(1, rows=10, cols=1)\n\
        for (i in 1:3) { n = sum(X ^ 2); G = t(X) %*% X; v = v + colSums(t(G)) * 0 + n; print(sum(v)) }\n\
        for (i in 3:1) { X = X + i; for (j in 1:2) { print(max(X) + min(y) + j) } }\n\
        i = 1\nwhile (i > 5) { print(sum(undefined_later(X))) }\n\
        print(i)\n";
    let function = "undefined_later = function(Matrix[Double] A) return (Matrix[Double] B) { B = A }\n";
    same(&format!("{function}{DATA}{text}"));
}

/// Output before an error, the error and its place stay as they are.
#[test]
fn errors_and_effects_keep_their_order() {
    for text in [
        "f = function(Matrix[Double] A) return (Matrix[Double] B) { B = A %*% A }\n\
            n = sum(rand(rows=2, cols=2, min=3, max=3, seed=1)) / 4\n\
            print(\"before\")\nB = f(rand(rows=n, cols=2, seed=1))\nprint(\"after\")\nprint(sum(B))\n",
        "n = sum(rand(rows=2, cols=2, min=3, max=3, seed=1))\n\
            verbose = TRUE\nif (verbose) { print(\"first\") }\nX = matrix(1, rows=n, cols=2)\n\
            if (verbose) { stop(\"here\") }\nprint(sum(X[n + 1, ]))\n",
        "c = sum(rand(rows=2, cols=2, seed=1)) > 100\nif (c) { n = 5 }\nprint(\"on\")\nprint(n + 1)\n",
        "n = sum(rand(rows=2, cols=2, min=3, max=3, seed=1))\nfor (i in 1:3) {\n\
            \x20 print(i)\n  if (i == 2) { n = 5 }\n  X = matrix(1, rows=n, cols=2) + matrix(1, rows=12, cols=3)[, 1:2]\n  print(sum(X))\n}\n",
    ] {
        let output = same(text);
        assert!(output.contains("Error: "), "{output}");
    }
}

/// A branch that goes leaves one block behind, whose operators fuse; so does a call.
#[test]
fn what_becomes_one_block_fuses() {
    let text = "f = function(Matrix[Double] A, Matrix[Double] B) return (Matrix[Double] C) { C = (A - B) * A }\n\
        X = rand(rows=500, cols=500, seed=1)\nY = rand(rows=500, cols=500, seed=2)\n\
        debug = FALSE\nZ = f(X, Y)\nif (debug) { print(sum(Z)) }\ns = sum(Z * Y)\nwhile (FALSE) {}\nprint(s > 0)\n";
    let fused = |passes| run(text, Mode::Gen, passes).1.expect("it runs").fused_operators.values().sum::<u64>();
    assert_eq!((fused(ProgramOptions::default()), fused(ProgramOptions::NONE)), (1, 2));
}

/// Blocks compile once for the sizes that they meet, again for others, and not for other values.
/// A chain of values by row, each used twice: as many paths as 2^40, and as many steps as 40.
#[test]
fn chains_of_shared_values_compile() {
    let chain = "s = min(s * s, s)\n".repeat(40);
    same(&format!("{DATA}s = rowSums(X)\n{chain}print(sum(s) + sum(colSums(X * s)))\n"));
}

#[test]
fn blocks_compile_again_only_for_other_sizes() {
    let counts = |text: &str| {
        let (output, statistics) = run(text, Mode::Gen, ProgramOptions::default());
        let statistics = statistics.unwrap_or_else(|| panic!("{output}"));
        (statistics.dags_optimized, statistics.recompilations, statistics.block_cache_hits)
    };
    let steady = "X = rand(rows=50, cols=5, seed=1)\nfor (i in 1:20) { X = X * 2 + i; v = X[i, ] }\nprint(sum(X))\n";
    let (_, again, hits) = counts(steady);
    assert_eq!((again, hits), (0, 19));
    // Sizes that stay open hang on no value: a counter does not make the block compile again.
    let open = "X = rand(rows=50, cols=5, seed=1)\n\
        for (i in 1:20) { Y = removeEmpty(target=X, margin=\"rows\"); X = X * 2 + i; s = sum(Y) }\nprint(sum(X) + s)\n";
    let (_, again, hits) = counts(open);
    assert_eq!((again, hits), (0, 19));
    // A matrix that grows is another size each time; one whose size hangs on a counter as well.
    let growing = "X = rand(rows=5, cols=1, seed=1)\nfor (i in 1:4) { X = rbind(X, X) * 2 }\nprint(sum(X))\n";
    assert_eq!(counts(growing).1, 3);
    let counted = "s = 0\nfor (i in 1:4) { s = s + sum(matrix(2, rows=i, cols=3)) }\nprint(s)\n";
    assert_eq!(counts(counted).1, 3);
}

/// The next batch of a loop has the size of the one before: its values compile nothing again, and decide nothing in
/// what was compiled.
#[test]
fn batches_compile_once_for_each_size() {
    let counts = |text: &str| {
        let text = format!("X = rand(rows=45, cols=6, min=-1, max=1, seed=1)\ns = 0.5\n{text}print(s)\n");
        same(&text);
        let (output, statistics) = run(&text, Mode::Gen, ProgramOptions::default());
        let statistics = statistics.unwrap_or_else(|| panic!("{output}"));
        (statistics.recompilations, statistics.block_cache_hits)
    };
    // Eleven batches of four rows, then one of a single row.
    let batches = "from = 1\nwhile (from <= 45) { to = min(from + 3, 45)\n  B = X[from:to, ]\n\
        \x20 s = s + sum(B * B) * from + sum(t(B)[2:3, ] + from)\n  from = to + 1 }\n";
    let (again, _) = counts(batches);
    assert_eq!(again, 1);
    let rows = "for (i in 1:9) { B = X[(5 * i - 4):(5 * i), ]; s = s * 0.5 + sum(B ^ 3) }\n";
    assert_eq!(counts(rows), (0, 8));
    // Whole first, then parts, of which some have one size and begin elsewhere.
    let parts = "for (i in 0:8) { a = 1 + 2 * i; b = 45 - (i > 0) * (18 - 2 * i)\n\
        \x20 s = s * 0.5 + sum(X[a:b, ] * 2) + sum(X[a:b, 2:(2 + min(i, 4))]) }\n";
    counts(parts);
    let alternating = "for (i in 0:9) { a = 1 + (i %% 2); b = 45 - (i %% 2); s = s * 0.5 + sum(X[a:b, ] ^ 3) }\n";
    assert_eq!(counts(alternating), (1, 8));
    // Sequences that shift keep their length, and what is counted up in them is their values.
    let shifting = "for (i in 1:9) { s = s * 0.5 + sum(seq(i, i + 9) * seq(i, i + 18, 2)) }\n";
    assert_eq!(counts(shifting), (0, 8));
    let backwards = "for (i in 1:9) { s = s * 0.5 + sum(rev(seq(i, 3 * i, i)) * X[i:(i + 2), 1]) + i }\n";
    counts(backwards);
    // A fill by a value that is a size as well, and one that is not.
    let fills = "for (i in 1:9) { A = matrix(i, rows=3 + 0 * i, cols=2); s = s * 0.5 + sum(A * A + i) }\n";
    assert_eq!(counts(fills), (0, 8));
    // Sequences of one length that begin at fractions: the size does not tell these.
    let fractions = "for (i in 1:4) { s = s * 0.5 + sum(seq(i / 4, 5) * seq(1, 5)) }\n";
    assert_eq!(counts(fractions).0, 3);
}

/// Counters and conditions run without what matrices need, and give what they give otherwise.
#[test]
fn blocks_of_scalars_run_by_themselves() {
    let operations = |text: &str| {
        let printed = same(text);
        let (output, statistics) = run(text, Mode::Gen, ProgramOptions::NONE);
        (printed, statistics.unwrap_or_else(|| panic!("{output}")).scalar_operations)
    };
    let counting = "n = nrow(matrix(0, rows=20, cols=1))\ni = 0\ns = 0.5\nwhile (i < n) {\n\
        \x20 i = i + 1\n  s = s + i / 2\n  if (s > 40 & i %% 2 == 0) { s = s - 40 }\n}\nprint(i + \" \" + s)\n";
    let (printed, count) = operations(counting);
    assert_eq!(printed, "20 25.5\n");
    // Of 21 conditions, 20 bodies of three operations and 20 inner conditions of four, all but the first ones, which
    // compile.
    assert!(count >= 20 + 19 * 7, "{count} operations");
    // Integers that become doubles where they do not fit, and what copies copies in turn.
    let (printed, _) = operations("a = nrow(matrix(0, rows=1, cols=1))\nfor (i in 1:70) { a = a * 2 }\nprint(a)\n");
    assert_eq!(printed, "1.1805916207174113E21\n");
    let (printed, _) = operations("a = 1\nb = 2\nfor (i in 1:7) { c = a; a = b; b = c }\nprint(a + \" \" + b)\n");
    assert_eq!(printed, "2 1\n");
    let (printed, count) =
        operations("X = rand(rows=9, cols=9, seed=1)\nfor (i in 1:9) { s = sum(X) * i }\nprint(s > 0)\n");
    assert_eq!((printed.as_str(), count), ("TRUE\n", 0), "a block with a matrix");
}

/// Dimensions are literals of what a block is compiled for, and nothing of another matrix.
#[test]
fn blocks_of_dimensions_are_no_blocks_of_scalars() {
    let shrinking = "X = matrix(1, rows=4, cols=2)\nk = 0\n\
        while (nrow(X) > 1 & k < 10) { X = X[2:nrow(X), ]; k = k + 1 }\nprint(nrow(X) + \" \" + k)\n";
    assert_eq!(same(shrinking), "1 3\n");
    let called = "f = function(Matrix[Double] X) return (Double r) { r = 0; if (nrow(X) > 3) { r = 1 } }\n\
        g = function(Matrix[Double] X) return (Double n) { n = ncol(X) * 2 }\n\
        s = \"\"\nn = 0\nfor (i in 1:6) { Y = matrix(1, rows=7 - i, cols=i); s = s + f(Y) + \" \"; n = n + g(Y) }\n\
        print(s + n)\n";
    assert_eq!(same(called), "1 1 1 0 0 0 42\n");
}

/// What was a number may be a text the next time.
#[test]
fn errors_of_blocks_that_were_about_scalars_have_their_place() {
    let text = "f = function(Integer n) return (Unknown r) { r = n; if (n == 3) { r = \"three\" } }\n\
        for (i in 1:4) {\n  s = f(i)\n  t = s * 2\n  print(t)\n}\n";
    let output = same(text);
    assert!(output.starts_with("2\n4\n") && output.contains("Error"), "{output}");
}

/// A range outside of its matrix is an error, though one of the same size was compiled.
#[test]
fn ranges_are_checked_for_every_value() {
    for range in ["a:(a + 3), ", ", (a - 4):a"] {
        let text = format!(
            "X = rand(rows=9, cols=9, seed=1)\nfor (i in 1:9) {{ a = 4 + i\n  print(i + sum(X[{range}] * 2)) }}\n"
        );
        let output = same(&text);
        assert!(output.contains("Error: ") && output.contains("lies outside of a 9 x 9 matrix"), "{output}");
    }
}

/// A matrix that a loop updates is copied at most once: where something else holds it, too.
#[test]
fn ranges_are_updated_in_place() {
    const MATRIX: u64 = 1000 * 100 * 8;
    let bytes = |before: &str, loops: &str| {
        let text = format!("X = matrix(0, rows=1000, cols=100)\nv = matrix(1, rows=1, cols=100)\n{before}\n{loops}");
        let runs = [Mode::Base, Mode::Gen].map(|mode| {
            let (output, statistics) = run(&text, mode, ProgramOptions::default());
            statistics.unwrap_or_else(|| panic!("{output}")).bytes_allocated
        });
        runs.into_iter().max().unwrap_or_default()
    };
    let rows = "for (i in 1:1000) X[i, ] = v\nprint(sum(X))";
    let cells = "i = 0\nwhile (i < 2000) { i = i + 1; if (i <= 1000) X[i, 7] = i }\nprint(sum(X))";
    let several =
        "for (i in 1:500) { for (j in 1:2) X[2 * i - j + 1, ] = v; X[i, 1:2] = matrix(i, 1, 2) }\nprint(sum(X))";
    let own = "for (i in 1:999) X[i + 1, ] = X[i, ] + v\nprint(sum(X))";
    for (loops, of_rows) in [(rows, 0), (cells, 0), (several, MATRIX / 50), (own, 2 * MATRIX)] {
        let alone = bytes("", loops);
        assert!(alone < 2 * MATRIX + of_rows, "{alone} of {MATRIX}: {loops}");
        for holder in ["Y = X\nprint(sum(Y))", "L = list(X)", "L = list(list(a=X), 2)"] {
            let held = bytes(
                holder,
                &format!("{loops}\n{}", if holder.starts_with('Y') { "print(sum(Y))" } else { "print(length(L))" }),
            );
            assert!(held < 3 * MATRIX + of_rows, "{held} of {MATRIX}: {holder}, {loops}");
        }
    }
    let called =
        "f = function(Matrix[Double] A, Double n) return (Matrix[Double] A) { for (i in 1:n) A[i, ] = A[i, ] * 0 + i }";
    let calls = format!("{called}\nB = f(X, 1000)\nprint(sum(X) + sum(B))");
    assert!(bytes("", &calls) < 6 * MATRIX, "{}", bytes("", &calls));
}

/// What is taken out of a list, or made of a frame, has a size for the block that uses it, which then fuses.
#[test]
fn what_comes_out_of_lists_and_frames_fuses() {
    let scripts = [
        "f = function(List[Unknown] L) return (Double s) { s = sum(as.matrix(L[1]) * as.matrix(L[\"b\"]) + 1) }
         print(f(list(R, b=R + 1)))",
        "L = list(R, 2)
         for (i in 1:2) { X = as.matrix(L[1]); print(sum(X * X * as.scalar(L[2]))) }",
        "[X, M] = transformencode(target=as.frame(R), spec=\"{}\")
         print(sum(X * X + 1))",
        "F = as.frame(R)
         [X, M] = transformencode(target=F, spec=\"{}\")
         print(sum(transformapply(target=F, spec=\"{}\", meta=M) * X + 1))",
        "F = as.frame(R)
         print(sum(as.matrix(F) ^ 2 + as.matrix(F)))",
    ];
    for script in scripts {
        let text = &format!("R = round(rand(rows=1000, cols=100, min=-5, max=5, seed=1))\n{script}\n");
        let (output, statistics) = run(text, Mode::Gen, ProgramOptions::default());
        let statistics = statistics.unwrap_or_else(|| panic!("{output}"));
        assert!(!statistics.fused_operators.is_empty(), "{text}");
        assert_eq!(same(text), output);
    }
}
