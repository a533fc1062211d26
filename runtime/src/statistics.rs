//! Counters and times of a run (`--stats`).

use crate::code_folder::CodeFolder;
use crate::compiled_dag::Decided;
use crate::engine::Engine;
use fuseline_matrix::Budget;
use fuseline_passes::memory::bytes_text;
use fuseline_skeletons::BackendActivity;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::time::Duration;

/// What a run did.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Statistics {
    /// Time to parse and check the script, in seconds.
    pub parse_seconds: f64,
    /// Time in rewrites, size propagation, exploration and selection, in seconds.
    pub optimize_seconds: f64,
    /// Time that the run waited for backends, in seconds: when blocks were compiled, and when operators needed code that
    /// had been left out then.
    pub codegen_seconds: f64,
    /// Time in operators, in seconds.
    pub execute_seconds: f64,
    /// DAGs taken through the optimizer: a block for each set of sizes that it meets.
    pub dags_optimized: u64,
    /// DAGs that did not go through it, since another process had kept their plans.
    pub dags_restored: u64,
    /// DAGs among both that had been compiled before, for other sizes.
    pub recompilations: u64,
    /// Executions of blocks that were compiled already for their sizes.
    pub block_cache_hits: u64,
    /// Operations of blocks of scalars that were compiled already: none of them is timed or listed.
    pub scalar_operations: u64,
    /// Fusion plans costed.
    pub plans_costed: u64,
    /// Candidate operators priced while plans were looked for.
    pub operators_priced: u64,
    /// Plan partitions decided, in the form of each DAG that was chosen.
    pub partitions: u64,
    /// Partitions among them whose plan is proven to be the cheapest.
    pub partitions_optimal: u64,
    /// The greatest share of a DAG's planned cost by which another plan may be cheaper, of the DAGs for which that is
    /// proven.
    pub plan_gap: f64,
    /// DAGs for whose plans nothing is proven: only the exact solver counts whatever multi-aggregates may merge.
    pub dags_unproven: u64,
    /// CPlans of these DAGs, constructed or restored. Each is compiled, or found in the plan cache.
    pub cplans: u64,
    /// Operators compiled by the backend.
    pub operators_compiled: u64,
    /// CPlans found in the plan cache.
    pub plan_cache_hits: u64,
    /// CPlans of blocks that were found compiled for their sizes: found without a look into the plan cache.
    pub plans_of_found_blocks: u64,
    /// Entry points of operators whose machine code was generated.
    pub code_generated: u64,
    /// Entry points whose machine code was found in the code folder.
    pub code_restored: u64,
    /// Bytes of machine code of both.
    pub code_bytes: u64,
    /// Entries of the code folder that were damaged, and of no use.
    pub kept_damaged: u64,
    /// Calls of generated code.
    pub genexec_calls: u64,
    /// Cells that these calls processed.
    pub genexec_cells: u64,
    /// Rows that these calls processed.
    pub genexec_rows: u64,
    /// Blocks of fused operators, each the work of one thread.
    pub genexec_blocks: u64,
    /// Blocks among them that had sums of their own.
    pub private_sums: u64,
    /// Strips of rows that fused operators reduced one by one.
    pub strips: u64,
    /// Bytes that fused operators read of their inputs, each as often as a unit reads it.
    pub genexec_bytes_read: u64,
    /// Bytes of their results.
    pub genexec_bytes_written: u64,
    /// Calls among these that were interpreted while their machine code was being generated.
    pub genexec_interpreted: u64,
    /// Bytes of matrices allocated, recycled or fresh.
    pub bytes_allocated: u64,
    /// Bytes of fresh memory among them.
    pub bytes_fresh: u64,
    /// The most bytes that were reserved at a time.
    pub memory_peak: u64,
    /// The most bytes that were reserved at a time for each kind of memory.
    pub memory_peaks: BTreeMap<String, u64>,
    /// Fused operators executed, by template and variant.
    pub fused_operators: BTreeMap<String, u64>,
    /// CPlans that the backend refused, with its reasons; their operators ran unfused.
    pub unsupported: BTreeMap<String, u64>,
    /// Operators by the time spent in them.
    pub heavy_hitters: BTreeMap<String, HeavyHitter>,
}

/// How many of those that were looked for were found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HitRate {
    /// Found.
    pub hits: u64,
    /// Looked for.
    pub of: u64,
}

impl HitRate {
    /// The share that was found; 0 where nothing was looked for.
    pub fn share(self) -> f64 {
        self.hits as f64 / self.of.max(1) as f64
    }
}

/// `19 of 20 (95.0 %)`.
impl fmt::Display for HitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} ({:.1} %)", self.hits, self.of, 100.0 * self.share())
    }
}

/// Executions of one kind of operator.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct HeavyHitter {
    /// How often.
    pub count: u64,
    /// How long in all, in seconds.
    pub seconds: f64,
    /// How often the cost model had a price.
    pub predicted: u64,
    /// How long it expected these to take in all, in seconds.
    pub predicted_seconds: f64,
    /// How long these took, in seconds.
    pub seconds_of_predicted: f64,
}

impl HeavyHitter {
    /// Measured over predicted time, of the executions that had a price: above 1 the model was too hopeful.
    pub fn ratio(&self) -> Option<f64> {
        (self.predicted_seconds > 0.0).then(|| self.seconds_of_predicted / self.predicted_seconds)
    }

    fn add(&mut self, other: &HeavyHitter) {
        self.count += other.count;
        self.seconds += other.seconds;
        self.predicted += other.predicted;
        self.predicted_seconds += other.predicted_seconds;
        self.seconds_of_predicted += other.seconds_of_predicted;
    }
}

/// How many operators the text form lists.
const LISTED: usize = 10;

/// Counters of an engine at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    calls: u64,
    cells: u64,
    rows: u64,
    blocks: u64,
    private_sums: u64,
    strips: u64,
    read: u64,
    written: u64,
    bytes: u64,
    fresh: u64,
    backend: BackendActivity,
}

impl Counts {
    pub(crate) fn of(engine: &Engine) -> Self {
        let memory = engine.buffers().statistics();
        Counts {
            calls: engine.counters.genexec_calls(),
            cells: engine.counters.cells(),
            rows: engine.counters.rows(),
            blocks: engine.counters.blocks(),
            private_sums: engine.counters.private_sums(),
            strips: engine.counters.strips(),
            read: engine.counters.bytes_read().iter().sum(),
            written: engine.counters.bytes_written(),
            bytes: memory.bytes,
            fresh: memory.fresh_bytes,
            backend: engine.backend().activity(),
        }
    }
}

impl Statistics {
    /// Takes over how much memory was reserved since a run began.
    pub(crate) fn add_peaks(&mut self, budget: &Budget) {
        self.memory_peak = self.memory_peak.max(budget.peak());
        for (kind, bytes) in budget.peaks().filter(|(_, bytes)| *bytes > 0) {
            let peak = self.memory_peaks.entry(kind.to_string()).or_default();
            *peak = bytes.max(*peak);
        }
    }

    /// Adds the damaged entries that were met since a run told of them: when its script was compiled, and in it.
    pub(crate) fn add_damaged(&mut self, folder: Option<&CodeFolder>) {
        self.kept_damaged += folder.map_or(0, CodeFolder::take_damaged);
    }

    /// Adds what an engine counted between two moments.
    pub(crate) fn add_counts(&mut self, before: Counts, after: Counts) {
        self.genexec_calls += after.calls - before.calls;
        self.genexec_cells += after.cells - before.cells;
        self.genexec_rows += after.rows - before.rows;
        self.genexec_blocks += after.blocks - before.blocks;
        self.private_sums += after.private_sums - before.private_sums;
        self.strips += after.strips - before.strips;
        self.genexec_bytes_read += after.read - before.read;
        self.genexec_bytes_written += after.written - before.written;
        self.bytes_allocated += after.bytes - before.bytes;
        self.bytes_fresh += after.fresh - before.fresh;
        self.code_generated += after.backend.generated - before.backend.generated;
        self.code_restored += after.backend.restored - before.backend.restored;
        self.code_bytes += after.backend.code_bytes - before.backend.code_bytes;
        self.genexec_interpreted += after.backend.interpreted_units - before.backend.interpreted_units;
        self.codegen_seconds += (after.backend.waited - before.backend.waited).as_secs_f64();
    }

    /// Counts what is known of the fusion plan of a DAG.
    pub(crate) fn add_decided(&mut self, decided: &Decided) {
        if !decided.is_searched {
            return;
        }
        // What was read of a file may be any number.
        self.partitions = self.partitions.saturating_add(decided.partitions);
        self.partitions_optimal = self.partitions_optimal.saturating_add(decided.optimal);
        match decided.gap {
            Some(gap) => self.plan_gap = self.plan_gap.max(gap),
            None => self.dags_unproven += 1,
        }
    }

    /// Counts an execution of a block that was compiled already for its sizes, with this many plans.
    pub(crate) fn add_found_block(&mut self, plans: u64) {
        self.block_cache_hits += 1;
        self.plans_of_found_blocks += plans;
    }

    /// Counts an execution of a block of scalars that was compiled already, with this many operations.
    pub(crate) fn add_scalar_block(&mut self, operations: u64) {
        self.add_found_block(0);
        self.scalar_operations += operations;
    }

    /// The CPlans that were constructed, or restored, and looked up in the plan cache, and those among them that were
    /// found there: what the paper counts (P189).
    pub fn plan_hits(&self) -> HitRate {
        HitRate { hits: self.plan_cache_hits, of: self.cplans }
    }

    /// The executions of blocks, and those among them whose block was compiled already for its sizes.
    pub fn block_hits(&self) -> HitRate {
        let hits = self.block_cache_hits;
        HitRate { hits, of: hits + self.dags_optimized + self.dags_restored }
    }

    /// The CPlans that executions of blocks needed, and those among them that were found: in the plan cache, or with a
    /// block that was compiled already for its sizes.
    ///
    /// A system that compiles a block again for each execution, as the paper's does, constructs and looks up all of these.
    pub fn plans_found(&self) -> HitRate {
        let with_blocks = self.plans_of_found_blocks;
        HitRate { hits: self.plan_cache_hits + with_blocks, of: self.cplans + with_blocks }
    }

    /// Adds the counts and times of another run.
    pub fn merge(&mut self, other: Statistics) {
        self.parse_seconds += other.parse_seconds;
        self.optimize_seconds += other.optimize_seconds;
        self.codegen_seconds += other.codegen_seconds;
        self.execute_seconds += other.execute_seconds;
        self.dags_optimized += other.dags_optimized;
        self.dags_restored += other.dags_restored;
        self.recompilations += other.recompilations;
        self.block_cache_hits += other.block_cache_hits;
        self.scalar_operations += other.scalar_operations;
        self.plans_costed += other.plans_costed;
        self.operators_priced += other.operators_priced;
        self.partitions += other.partitions;
        self.partitions_optimal += other.partitions_optimal;
        self.plan_gap = self.plan_gap.max(other.plan_gap);
        self.dags_unproven += other.dags_unproven;
        self.cplans += other.cplans;
        self.operators_compiled += other.operators_compiled;
        self.plan_cache_hits += other.plan_cache_hits;
        self.plans_of_found_blocks += other.plans_of_found_blocks;
        self.code_generated += other.code_generated;
        self.code_restored += other.code_restored;
        self.code_bytes += other.code_bytes;
        self.kept_damaged += other.kept_damaged;
        self.genexec_calls += other.genexec_calls;
        self.genexec_cells += other.genexec_cells;
        self.genexec_rows += other.genexec_rows;
        self.genexec_blocks += other.genexec_blocks;
        self.private_sums += other.private_sums;
        self.strips += other.strips;
        self.genexec_bytes_read += other.genexec_bytes_read;
        self.genexec_bytes_written += other.genexec_bytes_written;
        self.genexec_interpreted += other.genexec_interpreted;
        self.bytes_allocated += other.bytes_allocated;
        self.bytes_fresh += other.bytes_fresh;
        self.memory_peak = self.memory_peak.max(other.memory_peak);
        for (kind, bytes) in other.memory_peaks {
            let peak = self.memory_peaks.entry(kind).or_default();
            *peak = bytes.max(*peak);
        }
        for (name, count) in other.fused_operators {
            *self.fused_operators.entry(name).or_default() += count;
        }
        for (reason, count) in other.unsupported {
            *self.unsupported.entry(reason).or_default() += count;
        }
        for (name, hitter) in other.heavy_hitters {
            self.heavy_hitters.entry(name).or_default().add(&hitter);
        }
    }

    /// Counts one execution of a fused operator.
    pub(crate) fn count_fused(&mut self, label: &str) {
        match self.fused_operators.get_mut(label) {
            Some(count) => *count += 1,
            None => _ = self.fused_operators.insert(label.to_owned(), 1),
        }
    }

    /// Counts one execution of an operator, with the seconds that the cost model expected, if it had a price.
    pub(crate) fn record(&mut self, operator: &str, duration: Duration, predicted: Option<f64>) {
        let seconds = duration.as_secs_f64();
        let priced = if predicted.is_some() { seconds } else { 0.0 };
        let execution = HeavyHitter {
            count: 1,
            seconds,
            predicted: u64::from(predicted.is_some()),
            predicted_seconds: predicted.unwrap_or(0.0),
            seconds_of_predicted: priced,
        };
        let entry = match self.heavy_hitters.get_mut(operator) {
            Some(entry) => entry,
            None => self.heavy_hitters.entry(operator.to_owned()).or_default(),
        };
        entry.add(&execution);
    }

    /// A readable report.
    pub fn to_text(&self) -> String {
        let mut text = String::from("Fuseline statistics\n");
        let mut line = |name: &str, value: String| writeln!(text, "  {name:<26} {value}").expect("strings take writes");
        line("parse", format!("{:.4} s", self.parse_seconds));
        line("optimize", format!("{:.4} s", self.optimize_seconds));
        line("codegen", format!("{:.4} s", self.codegen_seconds));
        line("execute", format!("{:.4} s", self.execute_seconds));
        line("DAGs optimized", self.dags_optimized.to_string());
        if self.dags_restored > 0 {
            line("DAGs restored", self.dags_restored.to_string());
        }
        line("recompilations", self.recompilations.to_string());
        line("block cache hits", self.block_hits().to_string());
        if self.scalar_operations > 0 {
            line("scalar operations", format!("{} that were not timed", self.scalar_operations));
        }
        line("plans costed", format!("{} ({} operators priced)", self.plans_costed, self.operators_priced));
        line("partitions", format!("{} ({} proven optimal)", self.partitions, self.partitions_optimal));
        if self.plan_gap > 0.0 {
            line("gap", format!("at most {:.1} % of a DAG's planned cost", 100.0 * self.plan_gap));
        }
        if self.dags_unproven > 0 {
            line("gap not proven", format!("{} DAGs", self.dags_unproven));
        }
        line("CPlans", self.cplans.to_string());
        line("operators compiled", self.operators_compiled.to_string());
        line(
            "machine code",
            format!("{} generated, {} restored, {} bytes", self.code_generated, self.code_restored, self.code_bytes),
        );
        if self.kept_damaged > 0 {
            line("damaged files", format!("{} in the folder of code", self.kept_damaged));
        }
        line("plan cache hits", self.plan_hits().to_string());
        if self.plans_of_found_blocks > 0 {
            let with_blocks = self.plans_of_found_blocks;
            line("plans found", format!("{}, {with_blocks} with their blocks", self.plans_found()));
        }
        let per_call = self.genexec_cells.checked_div(self.genexec_calls).unwrap_or(0);
        line("genexec calls", format!("{} ({per_call} cells per call)", self.genexec_calls));
        let sums = self.private_sums;
        line("blocks of these", format!("{} ({sums} with sums of their own)", self.genexec_blocks));
        let [read, written] = [self.genexec_bytes_read, self.genexec_bytes_written].map(bytes_text);
        line("bytes of these", format!("{read} read, {written} written"));
        if self.genexec_interpreted > 0 {
            line("interpreted meanwhile", format!("{} calls", self.genexec_interpreted));
        }
        line("bytes allocated", format!("{} ({} fresh)", self.bytes_allocated, self.bytes_fresh));
        let peaks: Vec<String> =
            self.memory_peaks.iter().map(|(kind, bytes)| format!("{kind} {}", bytes_text(*bytes))).collect();
        let by_kind = if peaks.is_empty() { String::new() } else { format!(" ({})", peaks.join(", ")) };
        line("memory reserved at most", format!("{}{by_kind}", bytes_text(self.memory_peak)));
        for (name, count) in &self.fused_operators {
            line("fused operator", format!("{name} x {count}"));
        }
        for (reason, count) in &self.unsupported {
            line("left unfused", format!("{reason} x {count}"));
        }
        let mut hitters: Vec<(&String, &HeavyHitter)> = self.heavy_hitters.iter().collect();
        hitters.sort_by(|a, b| b.1.seconds.total_cmp(&a.1.seconds));
        writeln!(
            text,
            "  {:<26} {:>8}   {:>10}   {:>10} {:>9}",
            "heavy hitters", "count", "seconds", "predicted", "ratio"
        )
        .expect("strings take writes");
        for (name, hitter) in hitters.iter().take(LISTED) {
            let HeavyHitter { count, seconds, predicted_seconds, .. } = hitter;
            write!(text, "    {name:<24} {count:>8} x {seconds:>10.4} s").expect("strings take writes");
            match hitter.ratio() {
                Some(ratio) => writeln!(text, " {predicted_seconds:>10.4} s {ratio:>7.2}"),
                None => writeln!(text, " {:>12} {:>7}", "-", "-"),
            }
            .expect("strings take writes");
        }
        text
    }
}
