//! The command line: names that other programs rely on.

use crate::Failure;
use crate::cache::PlanCache;
use crate::machine::machine;
use crate::size::parse_bytes;
use clap::{Args, Parser, Subcommand, ValueEnum};
use fuseline::calibrate::ROUNDS;
use fuseline::generate::Kind;
use fuseline::{
    BackendKind, CompileOptions, Enumeration, ExplainStage, LlvmLevel, Mode, PrimitiveMode, ProgramOptions,
};
use std::path::PathBuf;

/// Compiles and runs linear algebra: DML scripts, fused and just-in-time compiled
#[derive(Debug, Parser)]
#[command(name = "fuseline", version, about)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a DML script
    Run(RunArguments),
    /// Show how a script is compiled, without running it
    Explain(ExplainArguments),
    /// Take a DAG in text form through the compiler
    Opt(OptArguments),
    /// Check a script without running it
    Check(CheckArguments),
    /// Measure this machine for the cost model, some twenty seconds; later runs plan for it
    Calibrate(CalibrateArguments),
    /// Convert a matrix from one file format to another
    Convert(ConvertArguments),
    /// Run a DML script with the command line of SystemDS: -f, -args, -nvargs, -stats, -explain
    Systemds {
        /// SystemDS' arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
        arguments: Vec<String>,
    },
    /// Generate synthetic data: random matrices, features with labels, look-alikes of known data sets
    Generate(GenerateArguments),
}

#[derive(Args, Debug)]
pub(crate) struct CalibrateArguments {
    /// The file to write [default: fuseline/machine.json in the user's cache folder]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    /// Rounds of all measurements, of which the medians count
    #[arg(long, value_name = "N", default_value_t = ROUNDS as u16, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) rounds: u16,
}

/// What a script's `$name` and `$1` stand for.
#[derive(Args, Debug)]
pub(crate) struct ScriptArguments {
    /// The script
    #[arg(value_name = "SCRIPT.dml")]
    pub(crate) script: String,

    /// Values of $1, $2, ...
    #[arg(long, value_name = "V", num_args = 1.., allow_negative_numbers = true)]
    args: Vec<String>,

    /// Values of $NAME
    #[arg(long, value_name = "NAME=VALUE", num_args = 1..)]
    nvargs: Vec<String>,

    /// Folder of DML functions, the function f in f.dml or builtin/f.dml; may be given several times
    #[arg(long, value_name = "DIR")]
    lib: Vec<PathBuf>,
}

impl ScriptArguments {
    /// The folders of DML functions, which must exist.
    pub(crate) fn library_folders(&self) -> Result<Vec<PathBuf>, Failure> {
        match self.lib.iter().find(|folder| !folder.is_dir()) {
            Some(missing) => Err(Failure::Other(format!("--lib takes a folder, and {} is none", missing.display()))),
            None => Ok(self.lib.clone()),
        }
    }

    /// Names and values.
    pub(crate) fn values(&self) -> Result<Vec<(String, String)>, Failure> {
        let positional =
            self.args.iter().enumerate().map(|(index, value)| Ok(((index + 1).to_string(), value.clone())));
        let named = self.nvargs.iter().map(|pair| match pair.split_once('=') {
            Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
            _ => Err(Failure::Other(format!("--nvargs takes NAME=VALUE, not `{pair}`"))),
        });
        positional.chain(named).collect()
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ModeName {
    /// Basic operators
    Base,
    /// Hand-coded fused operators
    Fused,
    /// Cost-based fusion plans
    Gen,
    /// Maximal fusion
    GenFa,
    /// Fusion without redundant computation
    GenFnr,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum BackendName {
    /// Machine code
    Llvm,
    /// Interpretation over vector primitives
    Interp,
    /// Interpretation until machine code is there
    Tiered,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LlvmOptName {
    /// No passes over LLVM's IR
    Direct,
    /// LLVM's standard pipeline at its first level
    #[value(name = "O1")]
    O1,
    /// At its second
    #[value(name = "O2")]
    O2,
    /// At its third
    #[value(name = "O3")]
    O3,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum PrimsName {
    Auto,
    Shared,
    Inlined,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum EnumerationName {
    /// All plans of a whole DAG
    None,
    /// All plans of each partition
    Partition,
    /// Partitions and cost-based pruning
    Cost,
    /// Partitions and structural pruning
    Structure,
    /// Partitions, cost-based and structural pruning
    All,
    /// The cheapest plan of each partition, with proof
    Exact,
}

/// How to compile.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// How operators are fused
    #[arg(long, value_enum, default_value = "gen")]
    mode: ModeName,

    /// What runs fused operators [default: tiered, or interp in a build without LLVM]
    #[arg(long, value_enum)]
    backend: Option<BackendName>,

    /// How hard LLVM works
    #[arg(long, value_enum, value_name = "LEVEL", default_value = "direct")]
    llvm_opt: LlvmOptName,

    /// Whether generated code calls vector primitives or inlines them
    #[arg(long, value_enum, value_name = "FORM", default_value = "auto")]
    prims: PrimsName,

    /// Keep compiled operators: on (plans and code in the user's cache folder), off, or a folder for them
    #[arg(long, value_name = "on|off|DIR", default_value = "on")]
    plan_cache: String,

    /// How fusion plans are enumerated
    #[arg(long, value_enum, value_name = "WAY", default_value = "exact")]
    enumeration: EnumerationName,

    /// In the modes gen-fa and gen-fnr, leave aggregates that share an input apart and write products of low rank that no
    /// outer operator computes, as the paper's heuristics do
    #[arg(long)]
    paper_heuristics: bool,

    /// Leave expressions, and the program around them, as they are written
    #[arg(long)]
    no_rewrites: bool,

    /// Exactly IEEE arithmetic: zeros annihilate only what is known to be finite
    #[arg(long)]
    strict_ieee: bool,

    /// Rewrite as if numbers were real, whatever that does to overflow, NaN and infinities
    #[arg(long, conflicts_with_all = ["strict_ieee", "no_rewrites"])]
    algebraic: bool,

    /// Threads [default: all]; results do not depend on it
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    threads: usize,

    /// Keep each thread on a processor of its own: for machines that nothing else uses (Linux)
    #[arg(long)]
    pin_threads: bool,

    /// Memory that a run may hold at a time, such as 512m or 16g [default: the machine's]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    mem: Option<u64>,

    /// Memory for the inputs and the output of an operator that plans assume, such as 512m or 16g [default: --mem, or
    /// what the machine to plan for has]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    plan_mem: Option<u64>,

    /// The machine to plan for: a typical one, or that of a file of `fuseline calibrate` [default: the last calibration,
    /// if there is one]
    #[arg(long, value_name = "default|FILE")]
    machine: Option<String>,
}

impl Options {
    /// The library's options.
    pub(crate) fn compile_options(&self, keep_code: bool) -> Result<CompileOptions, Failure> {
        let defaults = CompileOptions::default();
        let plan_cache = PlanCache::of(&self.plan_cache);
        Ok(CompileOptions {
            mode: match self.mode {
                ModeName::Base => Mode::Base,
                ModeName::Fused => Mode::Fused,
                ModeName::Gen => Mode::Gen,
                ModeName::GenFa => Mode::GenFuseAll,
                ModeName::GenFnr => Mode::GenFuseNoRedundancy,
            },
            backend: match self.backend {
                None => BackendKind::default(),
                Some(BackendName::Llvm) => BackendKind::Llvm,
                Some(BackendName::Interp) => BackendKind::Interp,
                Some(BackendName::Tiered) => BackendKind::Tiered,
            },
            llvm: match self.llvm_opt {
                LlvmOptName::Direct => LlvmLevel::Direct,
                LlvmOptName::O1 => LlvmLevel::O1,
                LlvmOptName::O2 => LlvmLevel::O2,
                LlvmOptName::O3 => LlvmLevel::O3,
            },
            primitives: match self.prims {
                PrimsName::Auto => PrimitiveMode::Auto,
                PrimsName::Shared => PrimitiveMode::Shared,
                PrimsName::Inlined => PrimitiveMode::Inlined,
            },
            plan_cache: plan_cache != PlanCache::Off,
            code_folder: plan_cache.code_folder(),
            enumeration: match self.enumeration {
                EnumerationName::None => Enumeration::None,
                EnumerationName::Partition => Enumeration::Partition,
                EnumerationName::Cost => Enumeration::Cost,
                EnumerationName::Structure => Enumeration::Structure,
                EnumerationName::All => Enumeration::All,
                EnumerationName::Exact => Enumeration::Exact,
            },
            paper_heuristics: self.paper_heuristics,
            rewrites: !self.no_rewrites,
            program: if self.no_rewrites { ProgramOptions::NONE } else { ProgramOptions::default() },
            strict_ieee: self.strict_ieee,
            algebraic: self.algebraic,
            threads: self.threads,
            pin_threads: self.pin_threads,
            memory_budget: self.mem,
            plan_memory_budget: self.plan_mem,
            machine: machine(self.machine.as_deref())?.unwrap_or(defaults.machine.clone()),
            keep_code,
            ..defaults
        })
    }
}

/// A form of statistics.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum StatsFormat {
    Text,
    Json,
}

#[derive(Args, Debug)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) script: ScriptArguments,

    #[command(flatten)]
    pub(crate) options: Options,

    /// Print what the run did to standard error
    #[arg(long, value_enum, value_name = "FORMAT", num_args = 0..=1, require_equals = true, default_missing_value = "text")]
    pub(crate) stats: Option<StatsFormat>,

    /// Print a stage of every compilation to standard error
    #[arg(long, value_name = "STAGE")]
    pub(crate) explain: Option<ExplainStage>,

    /// Write every operator's LLVM module to a folder [default: llvm]
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true, default_missing_value = "llvm")]
    pub(crate) emit_llvm: Option<String>,

    /// Write every operator's assembly to a folder [default: asm]
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true, default_missing_value = "asm")]
    pub(crate) emit_asm: Option<String>,
}

/// A form of explanations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExplainFormat {
    Text,
    /// Graphviz, a graph per block; of hops, rewritten, memo and plan
    Dot,
    /// A drawing, of hops, rewritten, memo and plan
    Svg,
    /// Data, of hops, rewritten, memo and plan
    Json,
}

#[derive(Args, Debug)]
pub(crate) struct ExplainArguments {
    #[command(flatten)]
    pub(crate) script: ScriptArguments,

    /// What to show: hops, rewritten, memo, plan, cplan, llvm, asm or runtime
    #[arg(long, value_name = "STAGE")]
    pub(crate) stage: ExplainStage,

    /// In which form
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: ExplainFormat,

    #[command(flatten)]
    pub(crate) options: Options,
}

#[derive(Args, Debug)]
pub(crate) struct OptArguments {
    /// A file of DAGs in text form
    #[arg(value_name = "FILE.hop")]
    pub(crate) file: String,

    /// What to print: hops, rewritten, memo, plan, cplan, llvm, asm or runtime
    #[arg(long, value_name = "STAGE")]
    pub(crate) emit: ExplainStage,

    #[command(flatten)]
    pub(crate) options: Options,
}

#[derive(Args, Debug)]
pub(crate) struct CheckArguments {
    #[command(flatten)]
    pub(crate) script: ScriptArguments,
}

#[derive(Args, Debug)]
pub(crate) struct GenerateArguments {
    /// uniform, normal; with labels: classes, regression, poisson, gamma, binomial, clusters; ratings, graph;
    /// look-alikes: airline78, mnist, netflix, amazon
    #[arg(value_name = "KIND")]
    pub(crate) kind: Kind,

    /// Rows [default of look-alikes: those of the original]
    #[arg(long, value_name = "R")]
    pub(crate) rows: Option<u64>,

    /// Columns [default of look-alikes: those of the original]
    #[arg(long, value_name = "C")]
    pub(crate) cols: Option<u64>,

    /// Share of non-zeros [default: 1; ratings: 0.01; graph: 8 links per page; look-alikes: that of the original]
    #[arg(long, value_name = "S")]
    pub(crate) sparsity: Option<f64>,

    /// Factor for the rows, and for the columns of ratings
    #[arg(long, value_name = "F", default_value_t = 1.0)]
    pub(crate) scale: f64,

    /// Other seeds give other data; the same seed gives the same data
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Number of classes or clusters
    #[arg(long, value_name = "K", default_value_t = 2)]
    pub(crate) classes: usize,

    /// Deviation of the noise of classes, regression and clusters
    #[arg(long, value_name = "D", default_value_t = 0.1)]
    pub(crate) noise: f64,

    /// The file to write, with its metadata in FILE.mtd; its name tells the format, else it is binary
    #[arg(long, value_name = "FILE")]
    pub(crate) out: String,

    /// The file for labels or responses, a column
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<String>,

    /// Threads [default: all]; the data does not depend on it
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) threads: usize,
}

#[derive(Args, Debug)]
pub(crate) struct ConvertArguments {
    /// The file to read
    #[arg(value_name = "IN")]
    pub(crate) input: String,

    /// The file to write, with its metadata in OUT.mtd; a name in .gz compresses
    #[arg(value_name = "OUT")]
    pub(crate) output: String,

    /// Format of IN: csv, text, mm, libsvm, npy, npz or binary [default: that of IN.mtd, or of the name]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) from: Option<String>,

    /// Format of OUT: csv, text, mm, libsvm, npy or binary [default: that of the name]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: Option<String>,

    /// IN is CSV and its first line names the columns
    #[arg(long)]
    pub(crate) header: bool,

    /// IN is CSV or libsvm with this separator
    #[arg(long, value_name = "CHARACTER")]
    pub(crate) sep: Option<String>,

    /// Rows of IN, where the format does not tell
    #[arg(long, value_name = "N")]
    pub(crate) rows: Option<u64>,

    /// Columns of IN, where the format does not tell
    #[arg(long, value_name = "N")]
    pub(crate) cols: Option<u64>,
}
