//! All claims of the paper's evaluation, with what is asked of each here. What they say is in `docs/paper.md`.

use super::judge::Limit::{self, AtLeast, AtMost, Between, Missing, Shown};
use super::judge::Unit::{self, Bytes, Count, Distance, Orders, Seconds, Share, Times};
use super::judge::{Bound, Claim};

const PAGE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/paper.md"));

/// What an item says, where the page has it.
pub(crate) fn says(item: &str) -> Option<&'static str> {
    let row = |line: &'static str| line.strip_prefix("| ")?.strip_prefix(item)?.strip_prefix(" | ")?.strip_suffix(" |");
    PAGE.lines().find_map(row)
}

/// The most that a claim asks of something, where it asks for that.
pub(crate) fn most_of(item: &str, what: &str) -> Option<f64> {
    let claim = CLAIMS.iter().find(|claim| claim.item == item)?;
    match claim.bounds.iter().find(|bound| bound.what == what)?.limit {
        AtMost(most) => Some(most),
        _ => None,
    }
}

const fn claim(item: &'static str, bounds: &'static [Bound]) -> Claim {
    Claim { item, bounds }
}

const fn bound(what: &'static str, limit: Limit, unit: Unit) -> Bound {
    Bound { what, limit, unit }
}

const fn missing(what: &'static str, part: &'static str) -> Bound {
    bound(what, Missing(part), Count)
}

/// What runs that are compressed, spilled or distributed would need.
const COLUMN_GROUPS: &str = "matrices have no representation by column groups";
const SPILL_FILES: &str = "values that do not fit into memory end a run, none is moved to a file";
const WORKERS: &str = "operators run in one process";

/// Gen's time as a multiple of another mode's.
pub(crate) const SLOWDOWN: f64 = 1.02;

/// Relative difference of sums that their order explains.
const ROUNDING: f64 = 1e-9;

/// The times of an algorithm in all modes: Gen is nowhere slower than another.
const TIMES: &[Bound] = &[
    bound("time of Gen over the best other mode", AtMost(SLOWDOWN), Times),
    bound("speed of Gen over Fused", Shown, Times),
];

const fn overhead(item: &'static str, bounds: &'static [Bound; 5]) -> Claim {
    claim(item, bounds)
}

/// Seconds that compilation takes, against those of the paper.
const fn overhead_bounds(seconds: f64) -> [Bound; 5] {
    [
        bound("compilation", AtMost(seconds), Seconds),
        bound("compilation, interpreted meanwhile", Shown, Seconds),
        bound("compilation with code that was kept", AtMost(0.01), Seconds),
        bound("whole run", Shown, Seconds),
        bound("DAGs optimized", Shown, Count),
    ]
}

pub(crate) const CLAIMS: &[Claim] = &[
    claim("P160", &[bound("fused operators that Base runs", AtMost(0.0), Count)]),
    claim("P161", &[bound("hand-coded operators that Fused runs", AtLeast(1.0), Count)]),
    claim("P162", &[bound("generated operators that the mode runs", AtLeast(1.0), Count)]),
    claim("P163", &[bound("speed of Gen over a library that compiles loops", AtLeast(1.0), Times)]),
    claim("P164", &[bound("speed of Gen over a library for tensors", AtLeast(1.0), Times)]),
    claim(
        "P165",
        &[
            bound("bytes of a stored value", Between(8.0, 8.0), Count),
            bound("numbers of threads that modes have", Between(1.0, 1.0), Count),
        ],
    ),
    claim("P166", &[bound("speed of Gen over Base", AtLeast(1.0), Times)]),
    claim(
        "P167",
        &[bound("speed of Gen over Base", AtLeast(3.0), Times), bound("speed of Fused over Base", AtLeast(3.0), Times)],
    ),
    claim(
        "P168",
        &[
            bound("speed of Gen as a share of reading", AtLeast(0.85), Share),
            bound("speed of Gen over Base", Shown, Times),
        ],
    ),
    claim("P169", &[bound("speed of Gen over PyTorch without its compiler", AtLeast(2.0), Times)]),
    claim(
        "P170",
        &[
            bound("speed of Gen over Base", AtLeast(1.0), Times),
            bound("speed of Gen over Fused", AtLeast(1.0), Times),
            bound("time of a loop with binary searches over Gen", AtLeast(1.0), Times),
        ],
    ),
    claim(
        "P171",
        &[
            bound("speed of Gen over Fused, dense", AtLeast(1.25), Times),
            bound("multi-aggregates that Gen runs", AtLeast(1.0), Count),
            bound("multi-aggregates that the paper's heuristics run", AtMost(0.0), Count),
            bound("speed of Gen over the paper's heuristics", Shown, Times),
        ],
    ),
    claim("P172", &[bound("cells visited for each non-zero of X", AtMost(1.0), Times)]),
    claim(
        "P173",
        &[
            bound("speed of Gen over Base", AtLeast(1.8), Times),
            bound("speed of Fused over Base", AtLeast(1.8), Times),
            bound("values of X that Gen visits for each that is stored", AtMost(1.0), Times),
            // What a vector in the cache is read counts at every use.
            bound("bytes that Gen reads over those of the inputs", Shown, Times),
        ],
    ),
    claim(
        "P174",
        &[
            bound("speed of Gen over Base", AtLeast(1.8), Times),
            bound("speed of Fused over Base", Between(0.9, 1.1), Times),
        ],
    ),
    claim("P175", &[bound("speed of Gen over Base", AtLeast(1.0), Times)]),
    claim(
        "P176",
        &[
            bound("time of Base over that of its fastest density", AtMost(1.25), Times),
            bound("speed of Gen over Base, density 0.0001", AtLeast(500.0), Times),
            bound("speed of Gen over Base, dense", AtLeast(1.5), Times),
        ],
    ),
    claim("P177", &[bound("share of the product in Base's time, dense", AtMost(0.15), Share)]),
    claim("P178", &[missing("sums of squares over compressed matrices", COLUMN_GROUPS)]),
    claim("P179", &[missing("calls of generated code for distinct values alone", COLUMN_GROUPS)]),
    claim("P179a", &[bound("time of shared over inlined code, from 100 operations on", AtMost(1.15), Times)]),
    claim("P179b", &[bound("vectors that a thread holds", AtMost(2.0), Count)]),
    claim("P179c", &[bound("time per operation over that of 10 operations", AtMost(1.1), Times)]),
    overhead("P180", &overhead_bounds(0.054)),
    overhead("P181", &overhead_bounds(0.355)),
    overhead("P182", &overhead_bounds(0.388)),
    overhead("P183", &overhead_bounds(0.084)),
    overhead("P184", &overhead_bounds(0.965)),
    overhead("P185", &overhead_bounds(0.452)),
    claim("P186", &[bound("compilation", AtMost(1.0), Seconds)]),
    claim("P187", &[bound("counters of compilation that say something, of 5", AtLeast(5.0), Count)]),
    claim(
        "P188",
        &[
            bound("wait for LLVM's whole pipeline over that of a run by default", AtLeast(31.6), Times),
            bound("the same without the plan cache", AtLeast(31.6), Times),
            bound("wait for LLVM's whole pipeline over that without passes", Shown, Times),
        ],
    ),
    claim("P189", &[bound("share of plans found over the paper's", AtLeast(1.0), Times)]),
    claim("P190", &[bound("operators compiled for each plan not found", Between(1.0, 1.0), Times)]),
    claim(
        "P191",
        &[
            bound("wait for code without the plan cache over that with it", AtLeast(1.5), Times),
            bound("run without the plan cache over that with it", Shown, Times),
        ],
    ),
    claim("P192", &[bound("plans that partitions and both prunings leave, of all there are", AtMost(1.0), Share)]),
    claim("P193", &[bound("plans costed with both prunings", AtMost(5000.0), Count)]),
    claim(
        "P194",
        &[
            bound("plans that interesting points save", AtLeast(4.0), Orders),
            bound("plans that partitions save", AtLeast(4.0), Orders),
            bound("operators with partial plans", Shown, Count),
        ],
    ),
    claim("P195", &[bound("plans that pruning saves", AtLeast(6.0), Orders)]),
    claim(
        "P196",
        &[bound("plans costed with pruning by structure alone over those by cost alone", AtLeast(1.0), Times)],
    ),
    claim("P197", TIMES),
    claim("P198", TIMES),
    claim("P199", TIMES),
    claim("P200", TIMES),
    claim("P201", TIMES),
    claim("P202", TIMES),
    claim("P203", TIMES),
    claim(
        "P204",
        &[
            bound("speed of Gen over Fused, L2SVM", AtLeast(7.0), Times),
            bound("speed of Gen over Fused, MLogreg", AtLeast(6.0), Times),
            bound("speed of Gen over Fused, GLM", AtLeast(16.0), Times),
            bound("speed of Gen over Fused, KMeans", AtLeast(12.0), Times),
            bound("time of Gen over scanning and computing at the machine's rates", Shown, Times),
        ],
    ),
    claim(
        "P205",
        &[
            bound("time of Gen over the better heuristic", AtMost(SLOWDOWN), Times),
            bound("speed of Gen over FA of the paper, mean of the largest dense data", AtLeast(1.1), Times),
            bound("speed of Gen over Gen-FA, mean of the largest dense data", Shown, Times),
        ],
    ),
    claim("P206", &[bound("share of the rows in which Gen-FA is no slower than Gen-FNR", AtLeast(0.5), Share)]),
    claim(
        "P207",
        &[
            bound("Row multi-aggregates in an iteration, narrow data", AtLeast(1.0), Times),
            bound("fused operators in an iteration of wide data beyond narrow data", AtLeast(1.0), Times),
            bound("time of Gen over the best other mode, wide data", AtMost(SLOWDOWN), Times),
            bound("time of Gen-FNR, which writes intermediates, over Gen, wide data", Shown, Times),
        ],
    ),
    claim(
        "P208",
        &[
            bound("bytes allocated by Gen over Base", AtMost(1.0), Times),
            bound("operators run by Gen over Base", AtMost(1.0), Times),
            bound("busy threads of Gen over Base", AtLeast(1.0), Times),
        ],
    ),
    claim(
        "P209",
        &[
            bound("seconds of Gen for a scan of X", Shown, Seconds),
            bound("speed of Gen over Base", AtLeast(1.0), Times),
        ],
    ),
    claim("P210", &[bound("steps from the knee to that of the roofline", AtMost(1.0), Count)]),
    claim(
        "P211",
        &[missing("intermediates that are evicted", SPILL_FILES), bound("memory of Base over Gen", Shown, Times)],
    ),
    claim("P212", &[bound("time of Gen over its trend", AtMost(1.2), Times)]),
    claim(
        "P213",
        &[
            bound("time of FA of the paper over Gen", AtLeast(5.0), Times),
            bound("time of FNR of the paper over Gen", AtLeast(5.0), Times),
            bound("time of Base over Gen", AtLeast(5.0), Times),
            bound("time of Gen-FA over Gen", Shown, Times),
            bound("time of Gen-FNR over Gen", Shown, Times),
        ],
    ),
    claim("P214", &[bound("time of Gen over Fused", AtMost(1.0), Times)]),
    claim(
        "P215",
        &[
            bound("Outer operators that FA of the paper runs for each of Gen", AtMost(0.75), Times),
            bound("Outer operators that FNR of the paper runs for each of Gen", AtMost(0.75), Times),
            bound("bytes allocated by FA of the paper over Gen", AtLeast(2.0), Times),
            bound("bytes allocated by FNR of the paper over Gen", AtLeast(2.0), Times),
        ],
    ),
    claim("P216", &[bound("time of Gen over Fused", AtMost(1.05), Times)]),
    claim(
        "P217",
        &[
            bound("speed of Gen over Fused", AtLeast(1.5), Times),
            bound("time of Gen over the better heuristic", AtMost(1.03), Times),
        ],
    ),
    claim("P218", &[bound("speed of Gen over Base", AtLeast(1.5), Times)]),
    claim(
        "P219",
        &[missing("evictions under pressure", SPILL_FILES), bound("memory of Gen at its peak", Shown, Bytes)],
    ),
    claim("P220", &[missing("data of the size of a cluster's memory", WORKERS)]),
    claim("P221", &[missing("fused operators of all variants on workers", WORKERS)]),
    claim("P222", &[missing("blocks, broadcasts and joins", WORKERS)]),
    claim("P223", &[missing("L2SVM on workers", WORKERS)]),
    claim("P224", &[missing("MLogreg on workers", WORKERS)]),
    claim("P225", &[missing("GLM on workers", WORKERS)]),
    claim("P226", &[missing("KMeans on workers", WORKERS)]),
    claim("P227", &[missing("bytes broadcast", WORKERS)]),
    claim("P228", &[missing("heuristics on workers", WORKERS)]),
    claim("P229", &[missing("the largest gain on workers", WORKERS)]),
    claim(
        "P230",
        &[
            bound("speed of Gen over Fused on patterns of hand-coded operators", AtLeast(0.95), Times),
            bound("speed of Gen over Fused on algorithms", AtLeast(0.95), Times),
        ],
    ),
    claim(
        "P231",
        &[
            bound("distance between what the models of the modes say of X", AtMost(1e-4), Distance),
            bound("distance between the models of the modes", Shown, Distance),
            missing("compressed", COLUMN_GROUPS),
            missing("distributed", WORKERS),
        ],
    ),
    claim("P232", &[bound("values that one plan both fuses and materialises", AtLeast(1.0), Count)]),
    claim(
        "P233",
        &[bound("time of one search's plans over that of rewrites, then fusion", AtMost(1.0 + ROUNDING), Times)],
    ),
    claim(
        "P234",
        &[bound("fused operators that Gen runs", AtLeast(1.0), Count), bound("speed of Gen over Base", Shown, Times)],
    ),
];
