//! `--stats`.

use crate::command::{BACKENDS, fuseline, script};
use serde_json::Value;

/// Statistics of the main job on generated data.
#[track_caller]
fn statistics(options: &[&str]) -> Value {
    statistics_on(&["rows=100000", "cols=10"], options)
}

/// Statistics of the main job on generated data of other dimensions.
#[track_caller]
fn statistics_on(dims: &[&str], options: &[&str]) -> Value {
    let arguments = [&["run", "examples/l2svm.dml", "--stats=json"], options].concat();
    let arguments = [&arguments[..], &["--nvargs", "maxiter=3"], dims].concat();
    let finished = fuseline(&arguments).success();
    serde_json::from_str(&finished.stderr).unwrap_or_else(|error| panic!("{error}: {}", finished.stderr))
}

#[track_caller]
fn count(statistics: &Value, field: &str) -> u64 {
    statistics[field].as_u64().unwrap_or_else(|| panic!("{field} is no count in {statistics:#}"))
}

/// Other programs rely on these names.
const TIMES: &[&str] = &["parse_seconds", "optimize_seconds", "codegen_seconds", "execute_seconds"];
const COUNTS: &[&str] = &[
    "dags_optimized",
    "dags_restored",
    "recompilations",
    "block_cache_hits",
    "scalar_operations",
    "plans_costed",
    "operators_priced",
    "partitions",
    "partitions_optimal",
    "dags_unproven",
    "cplans",
    "operators_compiled",
    "plan_cache_hits",
    "plans_of_found_blocks",
    "code_generated",
    "code_restored",
    "code_bytes",
    "kept_damaged",
    "genexec_calls",
    "genexec_cells",
    "genexec_rows",
    "genexec_blocks",
    "private_sums",
    "strips",
    "genexec_bytes_read",
    "genexec_bytes_written",
    "genexec_interpreted",
    "bytes_allocated",
    "bytes_fresh",
    "memory_peak",
];
const TABLES: &[&str] = &["memory_peaks", "fused_operators", "unsupported", "heavy_hitters"];

#[test]
fn statistics_are_json_with_these_fields() {
    let statistics = statistics(&[]);
    for field in TIMES {
        assert!(statistics[field].as_f64().is_some_and(|seconds| seconds >= 0.0), "{field} in {statistics:#}");
    }
    for field in COUNTS {
        count(&statistics, field);
    }
    for field in TABLES {
        assert!(statistics[field].is_object(), "{field} in {statistics:#}");
    }
    let fields = statistics.as_object().expect("statistics are an object").len();
    assert_eq!(fields, TIMES.len() + COUNTS.len() + TABLES.len() + ["plan_gap"].len(), "{statistics:#}");
    // Every plan of this script is proven to be the cheapest.
    assert!(count(&statistics, "partitions") > 0, "{statistics:#}");
    assert_eq!(count(&statistics, "partitions"), count(&statistics, "partitions_optimal"), "{statistics:#}");
    assert_eq!(statistics["plan_gap"].as_f64(), Some(0.0), "{statistics:#}");
    assert_eq!(count(&statistics, "dags_unproven"), 0, "{statistics:#}");
    let hitter = &statistics["heavy_hitters"].as_object().expect("just checked").values().next();
    let hitter = hitter.expect("something took time");
    assert!(hitter["count"].is_u64() && hitter["seconds"].is_f64(), "{hitter}");
    for field in ["predicted_seconds", "seconds_of_predicted"] {
        assert!(hitter[field].is_f64(), "{field} in {hitter}");
    }
    let fused = statistics["heavy_hitters"].as_object().expect("just checked").iter();
    let (_, fused) = fused.into_iter().find(|(name, _)| name.starts_with("spoof")).expect("fused operators run");
    assert_eq!(fused["predicted"], fused["count"], "every fused operator has a price: {fused}");
    assert!(fused["predicted_seconds"].as_f64() > Some(0.0), "{fused}");
}

/// A plan is compiled once, however many operators it is that of.
#[test]
fn operators_of_one_plan_are_compiled_once() {
    // Vectors of so many cells are worth fused operators, those of several blocks by the same plan.
    let statistics = statistics_on(&["rows=1000", "cols=1000"], &["--backend", "interp"]);
    assert!(count(&statistics, "plan_cache_hits") > 0, "{statistics:#}");
    assert_eq!(count(&statistics, "cplans"), cplans_compiled_or_found(&statistics), "{statistics:#}");
}

/// Fused operators run, their code is called for units of many cells, and each plan is compiled once.
#[test]
fn generated_code_is_called_for_many_cells_at_once() {
    for backend in BACKENDS {
        let statistics = statistics(&["--backend", backend]);
        let (calls, cells) = (count(&statistics, "genexec_calls"), count(&statistics, "genexec_cells"));
        assert!(calls > 0, "{statistics:#}");
        // Two passes over the data at least in each of three iterations.
        assert!(cells >= 6_000_000, "{statistics:#}");
        assert!(cells / calls >= 1_000, "{} cells per call", cells / calls);
        assert_eq!(count(&statistics, "cplans"), cplans_compiled_or_found(&statistics), "{statistics:#}");
        assert_eq!(statistics["unsupported"], serde_json::json!({}));
        let fused = statistics["fused_operators"].as_object().expect("a table");
        assert!(!fused.is_empty() && fused.values().all(|count| count.as_u64() > Some(0)), "{statistics:#}");
        let is_machine_code = count(&statistics, "code_bytes") > 0;
        let code_was_there_in_time = *backend == "llvm" || (*backend == "tiered" && is_machine_code);
        assert_eq!(is_machine_code, code_was_there_in_time, "{statistics:#}");
        let interpreted = count(&statistics, "genexec_interpreted");
        assert!(interpreted == 0 || (*backend == "tiered" && interpreted <= calls), "{statistics:#}");
    }
}

fn cplans_compiled_or_found(statistics: &Value) -> u64 {
    count(statistics, "operators_compiled") + count(statistics, "plan_cache_hits")
}

#[test]
fn base_mode_runs_no_generated_code() {
    let statistics = statistics(&["--mode", "base"]);
    for field in ["genexec_calls", "cplans", "operators_compiled", "plans_costed", "code_bytes"] {
        assert_eq!(count(&statistics, field), 0, "{field}");
    }
    assert_eq!(statistics["fused_operators"], serde_json::json!({}));
}

/// Mode fused: hand-coded operators, and no generated code.
#[test]
fn fused_mode_runs_hand_coded_operators_alone() {
    let statistics = statistics(&["--mode", "fused"]);
    for field in ["genexec_calls", "cplans", "operators_compiled", "plans_costed", "code_bytes"] {
        assert_eq!(count(&statistics, field), 0, "{field}");
    }
    let fused = statistics["fused_operators"].as_object().expect("a table");
    assert!(fused.contains_key("tak2.full"), "{statistics:#}");
}

/// P189: a loop needs each plan once per iteration, and finds it with its block, or in the plan cache.
#[test]
fn plans_of_found_blocks_count_as_found() {
    let text = |iterations: u32| {
        format!(
            "X = rand(rows=200, cols=10, seed=1)\ns = 0.0\n\
             for (i in 1:{iterations}) {{ s = s + sum((X + i) * X * 2) }}\nprint(s > 0)"
        )
    };
    let run = |iterations: u32, options: &[&str]| {
        let finished = script(&text(iterations), &[&["--backend", "interp"], options].concat()).success();
        finished.stderr
    };
    let counts = |iterations: u32| -> [u64; 3] {
        let statistics: Value = serde_json::from_str(&run(iterations, &["--stats=json"])).expect("statistics");
        ["operators_compiled", "plan_cache_hits", "plans_of_found_blocks"].map(|field| count(&statistics, field))
    };
    assert_eq!(counts(1), [1, 0, 0]);
    assert_eq!(counts(20), [1, 0, 19]);
    let told = run(20, &["--stats"]);
    assert!(told.contains("19 of 20 (95.0 %), 19 with their blocks"), "{told}");
    // Of the plan that was constructed none was there.
    assert!(told.contains("plan cache hits            0 of 1 (0.0 %)"), "{told}");
}

#[test]
fn without_the_plan_cache_nothing_is_found_in_it() {
    let statistics = statistics(&["--plan-cache", "off"]);
    assert_eq!(count(&statistics, "plan_cache_hits"), 0);
    assert_eq!(count(&statistics, "cplans"), count(&statistics, "operators_compiled"));
}

/// Fusion allocates fewer intermediates.
#[test]
fn fusion_saves_memory() {
    let bytes = |mode| count(&statistics(&["--mode", mode]), "bytes_allocated");
    let (fused, unfused) = (bytes("gen"), bytes("base"));
    assert!(fused * 2 < unfused, "{fused} and {unfused} bytes");
}

/// Units of rows of a sparse matrix lay none of these out, however many columns there are.
#[test]
fn columns_of_sparse_matrices_take_no_memory() {
    let text = "X = rand(rows=5000, cols=1000000, sparsity=0.000001, seed=1)
v = rand(rows=1000000, cols=1, seed=2)
Y = exp(X %*% v) + rowSums(X)
print(sum(Y ^ 2) > 0)";
    for backend in BACKENDS {
        let finished = script(text, &["--stats=json", "--mode", "gen-fa", "--backend", backend]).success();
        let statistics: Value = serde_json::from_str(&finished.stderr).expect("statistics");
        let fused = statistics["fused_operators"].as_object().expect("a table");
        assert!(fused.keys().any(|name| name.starts_with("row")), "{statistics:#}");
        assert!(count(&statistics, "bytes_allocated") < 40_000_000, "{statistics:#}");
    }
}

#[test]
fn statistics_are_text_by_default_and_stand_on_standard_error() {
    let finished = script("print(sum(rand(rows=100, cols=100, seed=1) * 2 + 1) > 0)", &["--stats"]).success();
    assert_eq!(finished.stdout, "TRUE\n");
    for line in ["Fuseline statistics\n", "\n  optimize ", "\n  genexec calls ", "\n  heavy hitters ", " predicted "] {
        assert!(finished.stderr.contains(line), "{line:?} in {}", finished.stderr);
    }
}
