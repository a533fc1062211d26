//! What an explanation of a fusion plan says, as data: the text form and the drawings are made of it, and it is the
//! schema of the JSON form.
//!
//! Operators of the DAG are named by their numbers. Times are in seconds, amounts of data in bytes, as the cost model
//! estimates them.

use fuseline_ir::memo::TemplateType;
use serde::{Deserialize, Serialize};

/// Why a plan is what it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanReport {
    /// The selection policy.
    pub policy: String,
    /// Estimated time of all operators together.
    pub seconds: f64,
    /// What is proven of them, whatever multi-aggregates may merge.
    pub proof: Proof,
    /// How each plan partition was decided.
    pub partitions: Vec<PartitionReport>,
    /// What is executed on matrices, fused and basic operators, in ascending order of their first roots.
    pub operators: Vec<OperatorReport>,
    /// Where an operator reads the materialised result of another, and why.
    pub unfused: Vec<UnfusedEdge>,
}

/// What is proven of an estimated time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Proof {
    /// Nothing: no bound was looked for.
    #[default]
    Unproven,
    /// No other plan takes less than so many seconds.
    AtLeast {
        /// Fewer than the plan takes.
        seconds: f64,
    },
    /// No other plan takes less.
    Optimal,
}

/// How a plan partition was decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartitionReport {
    /// Its operators.
    pub members: Vec<u32>,
    /// The interesting points.
    pub points: Vec<PointReport>,
    /// Estimated time of the chosen plan's operators, each by itself: multi-aggregates merge some of them.
    pub seconds: f64,
    /// What is proven of it.
    pub proof: Proof,
    /// Operators that were priced.
    pub priced: u64,
    /// Plans that were costed, at least partially; the exact solver costs none.
    pub costed: u64,
    /// Plans that were skipped, because they cannot be cheaper; saturates.
    pub skipped: u64,
    /// Whether the search ended at its limit.
    pub exhausted: bool,
    /// Which search found the plan: the exact solver, enumeration, or the heuristics.
    pub found_by: String,
}

/// An interesting point with its decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PointReport {
    /// The reading operator.
    pub consumer: u32,
    /// The operator that may be materialised.
    pub producer: u32,
    /// Whether it is.
    pub materialized: bool,
}

/// A basic or fused operator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperatorReport {
    /// The template of a fused operator.
    pub template: Option<TemplateType>,
    /// The template's variant; none for basic operators, and for covers without a CPlan.
    pub variant: Option<String>,
    /// The operators whose values it computes.
    pub roots: Vec<u32>,
    /// What it covers, ascending.
    pub members: Vec<u32>,
    /// What it computes, as a formula of what it reads; one per root.
    pub formulas: Vec<String>,
    /// What it reads, each once.
    pub reads: Vec<Transfer>,
    /// What it writes, by root.
    pub writes: Vec<Transfer>,
    /// Floating-point operations.
    pub flops: f64,
    /// The sparse input whose zeros it skips.
    pub exploits: Option<ExploitedSparsity>,
    /// How a fused operator will run; none of basic ones, and where sizes are unknown.
    pub schedule: Option<ScheduleReport>,
    /// Its estimated time.
    pub cost: CostReport,
    /// Why a chosen cover stays unfused after all.
    pub rejected: Option<String>,
}

/// A value that moves between memory and an operator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Transfer {
    /// The operator whose value it is.
    pub hop: u32,
    /// The variable, where it is read or is the only one that takes the value.
    pub name: Option<String>,
    /// Bytes that are moved, where the size is known.
    pub bytes: Option<f64>,
}

impl OperatorReport {
    /// Whether all sizes that the cost rests on are known: else it is what the rest takes.
    pub fn is_priced(&self) -> bool {
        self.reads.iter().chain(&self.writes).all(|transfer| transfer.bytes.is_some())
    }
}

/// How a fused operator will run: what the counters of its run will say, where its sizes are right and no row is empty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScheduleReport {
    /// The main input.
    pub main: u32,
    /// What units go over.
    pub driver: String,
    /// Whether rows of the main input without non-zeros are left out.
    pub skips_empty_rows: bool,
    /// Strips of rows, each of which reduces to one result; none where each row has outputs of its own.
    pub strips: u64,
    /// Blocks of all strips, each the work of one thread.
    pub blocks: u64,
    /// Blocks among them that have sums of their own.
    pub private_sums: u64,
    /// Cells, or non-zeros, that are visited.
    pub cells: u64,
    /// Calls of generated code; none where row offsets decide.
    pub calls: Option<u64>,
}

/// The zeros of this input are skipped.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExploitedSparsity {
    /// The sparse input.
    pub driver: u32,
    /// The share of cells that are visited.
    pub share: f64,
}

/// The terms of `T_start + T_write + max(T_read, T_compute)`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CostReport {
    /// `T_start`, with the share of what is paid once.
    pub start: f64,
    /// `T_write`.
    pub write: f64,
    /// `T_read`.
    pub read: f64,
    /// `T_compute`.
    pub compute: f64,
    /// What shows of the shorter of the two.
    #[serde(default)]
    pub exposed: f64,
    /// All together.
    pub seconds: f64,
}

/// An edge between two operators of the DAG that no fused operator covers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnfusedEdge {
    /// The reading operator.
    pub consumer: u32,
    /// Whose materialised value it reads.
    pub producer: u32,
    /// The root of the fused or basic operator that the consumer is part of.
    pub reader: u32,
    /// Why.
    pub reason: Reason,
    /// The reason as a sentence.
    pub sentence: String,
}

/// Why an edge is not fused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// The dimensions of this operator are unknown.
    UnknownSize {
        /// The operator.
        hop: u32,
    },
    /// No template fuses the two: what fails, by template.
    NoTemplate {
        /// One condition per template.
        conditions: Vec<TemplateCondition>,
    },
    /// A template would fuse the two but for a limit.
    Limit {
        /// The limit.
        limit: TemplateLimit,
    },
    /// Outer operators read through the producer, the transpose of a factor, but the product is part of none.
    ReadThrough,
    /// Partial plans fuse the two, but none that leads to an operator that the rest of the reader can be part of.
    NoOperator,
    /// The plan with this edge fused costs more.
    Dearer(Comparison),
    /// It costs just as much.
    AsDear(Comparison),
    /// It would cost less, but the policy, or the limit of the search, kept it from being considered.
    NotConsidered(Comparison),
}

/// The plan compared with that in which one more edge is fused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The operator that would cover both ends.
    pub template: TemplateType,
    /// Its members.
    pub members: Vec<u32>,
    /// Time of the operators of the chosen plan that the other does not have.
    pub chosen: f64,
    /// Time of the operators of the other plan that the chosen one does not have; none where a constraint of the
    /// machine forbids one of them.
    pub fused: Option<f64>,
    /// What makes the difference, as far as it has a name.
    pub effects: Vec<Effect>,
}

/// What fusing an edge would change besides saving the materialisation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Effect {
    /// Others read the producer too, so that it would be computed again.
    ComputedAgain {
        /// The roots of the other operators that need the value.
        readers: Vec<u32>,
    },
    /// The producer would be part of an operator of another template than it is now.
    TemplateSwitch {
        /// The template of the operator that computes it now.
        from: TemplateType,
    },
    /// The zeros of this input would no longer be skipped.
    LosesSparsity {
        /// The input.
        driver: u32,
        /// The share of cells that the operator visits now.
        share: f64,
    },
    /// More would have to be materialised.
    Materializes {
        /// What.
        hops: Vec<u32>,
    },
    /// The reader is a multi-aggregate.
    MultiAggregate {
        /// Its roots.
        roots: Vec<u32>,
    },
}

/// A limit of the templates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TemplateLimit {
    /// Row operators take matrix products only with fewer columns than this.
    NarrowProduct {
        /// The limit.
        cols: u64,
    },
    /// Plans of an operator decide about no more operands, of more the largest.
    Operands {
        /// The limit.
        count: u64,
    },
    /// Exactly IEEE arithmetic lets no zero annihilate.
    StrictIeee,
}

/// What keeps a template from fusing an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TemplateCondition {
    /// The template.
    pub template: TemplateType,
    /// The condition that fails.
    pub fails: FailedCondition,
}

/// The condition of the open-fuse-merge-close abstraction that an edge fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailedCondition {
    /// The template has no place for the producer.
    Producer,
    /// The template has no place for the consumer.
    Consumer,
    /// Operators of the template that contain the producer end there.
    Closed,
    /// An operator of the template at the producer does not grow to the consumer.
    Fuse,
    /// The template takes the consumer but does not merge this input.
    Merge,
}
