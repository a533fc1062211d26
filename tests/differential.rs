//! Differential tests: random DAGs on the oracle, unfused, and fused in every mode, on every backend, instruction set and
//! number of threads.
//!
//! Within one mode all results have the same bits; between modes they are equal where every legal evaluation gives the
//! same integers, and else lie within the oracle's error radius. `FUSELINE_LONG=1` runs more cases, `FUSELINE_SEED=N`
//! starts at another seed, `FUSELINE_CASES=N` and `FUSELINE_LLVM_CASES=N` set the numbers of cases per shard.

#[path = "differential/case.rs"]
mod case;
#[path = "differential/check.rs"]
mod check;
#[path = "differential/generate.rs"]
mod generate;
#[path = "differential/motifs.rs"]
mod motifs;
#[path = "differential/sessions.rs"]
mod sessions;

use case::Case;
use check::{Checker, Failure, Tally};

/// Shards run in parallel, each with sessions of its own.
const SHARDS: u64 = 8;
/// Cases of all shards in a usual run.
const CASES: u64 = 2_000;
/// Cases of all shards in a long run; `LONG_LLVM` of these run on LLVM, too.
const LONG: u64 = 100_000;
const LONG_LLVM: u64 = 10_000;
const HAS_LLVM: bool = cfg!(any(feature = "llvm22", feature = "llvm19"));

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is a number, not {text}")))
}

fn run_shard(shard: u64) {
    let is_long = variable("FUSELINE_LONG").is_some_and(|value| value != 0);
    let (total, total_llvm) = if is_long { (LONG, LONG_LLVM) } else { (CASES, CASES) };
    let cases = variable("FUSELINE_CASES").unwrap_or(total / SHARDS);
    let llvm_cases =
        if HAS_LLVM { cases.min(variable("FUSELINE_LLVM_CASES").unwrap_or(total_llvm / SHARDS)) } else { 0 };
    // Shards of a long run do not overlap, and a usual run is the start of each.
    let first = variable("FUSELINE_SEED").unwrap_or(0) + shard * (LONG / SHARDS);
    println!("seeds {first}..{}, {llvm_cases} of {cases} cases on LLVM", first + cases);
    let mut checker = Checker::new(llvm_cases > 0);
    for seed in first..first + cases {
        checker.llvm = seed - first < llvm_cases;
        let case = Case::generate(seed);
        if let Err(failure) = checker.check(&case, seed) {
            report(&mut checker, case, seed, &failure);
        }
    }
    summarize(&checker.tally, cases);
}

/// Shrinks the case and panics with all that is known of its failure.
fn report(checker: &mut Checker, case: Case, seed: u64, original: &Failure) -> ! {
    let mut failure = original.clone();
    let shrunk = case.shrink(&mut |candidate| match checker.check(candidate, seed) {
        Err(found) if found.kind == original.kind => {
            failure = found;
            true
        }
        _ => false,
    });
    let combination = failure.combination.or(original.combination);
    let plan = combination.map_or(String::new(), |combination| checker.explain(&shrunk, combination));
    let place = combination.map_or("the oracle".to_owned(), |combination| combination.to_string());
    panic!(
        "seed {seed} (FUSELINE_SEED={seed} FUSELINE_CASES=1, shard 0) fails on {place}: {:?}: {}\nfirst seen as: {}\n{shrunk}\n{plan}",
        failure.kind, failure.message, original.message
    );
}

fn summarize(tally: &Tally, cases: u64) {
    println!("{tally:#?}");
    if cases < CASES / SHARDS {
        return;
    }
    for template in ["cell", "row", "magg", "outer"] {
        let executed: u64 =
            tally.fused.iter().filter(|(name, _)| name.starts_with(template)).map(|(_, count)| count).sum();
        assert!(executed >= cases / 10, "only {executed} executions of {template}");
    }
    let exact: usize = tally.cases.values().map(|(_, exact)| exact).sum();
    assert!(exact as u64 * 2 >= cases, "only {exact} of {cases} cases are exact");
    let share = tally.tainted_shares / tally.outputs.max(1) as f64;
    assert!(share <= 0.05, "outputs have {:.1} % of tainted cells on average", 100.0 * share);
}

macro_rules! shards {
    ($($name:ident = $shard:literal),*) => {
        $(
            #[test]
            fn $name() {
                run_shard($shard);
            }
        )*
    };
}

shards!(shard_0 = 0, shard_1 = 1, shard_2 = 2, shard_3 = 3, shard_4 = 4, shard_5 = 5, shard_6 = 6, shard_7 = 7);
