//! Stages of a compilation, as text (`--explain`, `fuseline explain`, `fuseline opt`), data and drawings.
//!
//! ```
//! use fuseline::{ExplainStage, Matrix, Session};
//!
//! let session = Session::builder().build()?;
//! let plan = session.explain((Matrix::symbol("X") * 2.0).sum(), ExplainStage::Hops)?;
//! assert!(plan.contains("read"), "{plan}");
//! # Ok::<(), fuseline::Error>(())
//! ```

pub mod document;
mod dot;
mod drawing;
mod layers;
mod svg;
#[cfg(test)]
mod tests;

use document::{DOCUMENT_VERSION, ExplainDocument, ExplainedDag};
use drawing::Drawing;
use fuseline_ir::cplan::CPlan;
use fuseline_ir::hop::HopDag;
use fuseline_passes::explain::{memo_text, operator_legend, report, report_text};
use fuseline_passes::memory::{bytes_text, estimate_memory};
use fuseline_passes::pipeline::Stage;
use fuseline_runtime::CompileStage;
use fuseline_skeletons::CompiledCPlan;
use std::borrow::Cow;
use std::fmt::Write;
use std::str::FromStr;

/// A stage that can be shown.
///
/// ```
/// use fuseline::ExplainStage;
///
/// let stage: ExplainStage = "plan".parse()?;
/// assert_eq!((stage, stage.name()), (ExplainStage::Plan, "plan"));
/// assert!(stage.is_graph() && !stage.needs_code());
/// assert!(ExplainStage::ALL.iter().any(|(name, stage)| *name == "asm" && stage.needs_code()));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplainStage {
    /// Operators with sizes.
    Hops,
    /// Operators after simplification.
    Rewritten,
    /// The memo table of partial fusion plans.
    Memo,
    /// The chosen fusion plan.
    Plan,
    /// The CPlans of the fused operators.
    Cplan,
    /// Their code as LLVM IR.
    Llvm,
    /// Their code as assembly.
    Asm,
    /// What is executed.
    Runtime,
}

impl ExplainStage {
    /// Every stage, in order, with its name on the command line.
    pub const ALL: &[(&str, ExplainStage)] = &[
        ("hops", ExplainStage::Hops),
        ("rewritten", ExplainStage::Rewritten),
        ("memo", ExplainStage::Memo),
        ("plan", ExplainStage::Plan),
        ("cplan", ExplainStage::Cplan),
        ("llvm", ExplainStage::Llvm),
        ("asm", ExplainStage::Asm),
        ("runtime", ExplainStage::Runtime),
    ];

    /// The stage's name on the command line. As in the example of [`ExplainStage`].
    pub fn name(self) -> &'static str {
        ExplainStage::ALL.iter().find(|(_, stage)| *stage == self).map_or("", |(name, _)| name)
    }

    /// Whether the stage is a graph, which can be had as data and be drawn. As in the example of [`ExplainStage`].
    pub fn is_graph(self) -> bool {
        matches!(self, ExplainStage::Hops | ExplainStage::Rewritten | ExplainStage::Memo | ExplainStage::Plan)
    }

    /// Whether the stage shows generated code, which sessions keep only on demand. As in the example of
    /// [`ExplainStage`].
    pub fn needs_code(self) -> bool {
        matches!(self, ExplainStage::Llvm | ExplainStage::Asm)
    }
}

impl FromStr for ExplainStage {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        let stage = ExplainStage::ALL.iter().find(|(known, _)| *known == name);
        stage.map(|(_, stage)| *stage).ok_or_else(|| {
            let names: Vec<&str> = ExplainStage::ALL.iter().map(|(name, _)| *name).collect();
            format!("`{name}` is no stage; the stages are {}", names.join(", "))
        })
    }
}

/// Collects one stage of compilations as text.
///
/// ```
/// use fuseline::{ExplainStage, Session, StagePrinter};
///
/// let session = Session::builder().build()?;
/// let script = session.compile_script("<text>", "X = rand(rows=1000, cols=10)\nprint(sum(X * X + 1))", &[])?;
/// let mut plans = StagePrinter::new(ExplainStage::Plan);
/// session.compile_blocks(&script, &mut |_, stage| plans.observe(&stage))?;
/// assert!(plans.take().contains("cell"));
/// # Ok::<(), fuseline::Error>(())
/// ```
#[derive(Debug)]
pub struct StagePrinter {
    stage: ExplainStage,
    text: String,
}

impl StagePrinter {
    /// A printer of this stage. As in the example of [`StagePrinter`].
    pub fn new(stage: ExplainStage) -> Self {
        StagePrinter { stage, text: String::new() }
    }

    /// What came since the last call. As in the example of [`StagePrinter`].
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    /// Appends the stage's text, if it is the one to show. As in the example of [`StagePrinter`].
    pub fn observe(&mut self, stage: &CompileStage<'_>) {
        let text = match (self.stage, stage) {
            (ExplainStage::Hops, CompileStage::Sized(dag)) => with_memory(dag),
            (ExplainStage::Rewritten, CompileStage::Rewritten(dag, report)) => {
                format!("{}{dag}", report.tried_as_comments())
            }
            (ExplainStage::Memo, CompileStage::Fusion(Stage::Selected(selection))) => memo_text(selection),
            (ExplainStage::Plan, CompileStage::Fusion(Stage::Selected(selection))) => {
                let dag = selection.context.dag;
                report_text(dag, &report(selection)) + &operator_legend(dag, selection.plan)
            }
            (ExplainStage::Cplan, CompileStage::Fusion(Stage::Constructed(_, plans, rejections))) => {
                let mut text: String = plans.iter().map(|plan| plan_text(&plan.cplan)).collect();
                for rejection in *rejections {
                    writeln!(text, "# left unfused: {}", rejection.reason).expect("strings take writes");
                }
                text
            }
            (ExplainStage::Llvm, CompileStage::Operator(operator, compiled)) => {
                let code = compiled.info.llvm_ir.as_deref().unwrap_or("; interpreted\n");
                format!("; {operator}{}\n{code}", row_vectors(compiled))
            }
            (ExplainStage::Asm, CompileStage::Operator(operator, compiled)) => {
                let code = compiled.info.assembly.as_deref().unwrap_or("# interpreted\n");
                format!("# {operator}{}\n{code}", row_vectors(compiled))
            }
            (ExplainStage::Runtime, CompileStage::Fusion(Stage::Replaced(dag))) => with_memory(dag),
            _ => return,
        };
        self.text.push_str(&text);
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }
}

/// A plan and, where units of sparse rows run another form of it, that form.
fn plan_text(plan: &CPlan) -> String {
    match plan.sparse_form() {
        Some(Cow::Owned(form)) => format!("{plan}\n# units of sparse rows run\n{form}\n"),
        Some(Cow::Borrowed(_)) | None => format!("{plan}\n"),
    }
}

/// How many of a plan's row vectors its code has in memory, where the plan has any: others stay in registers, or are
/// read where they lie.
fn row_vectors(compiled: &CompiledCPlan) -> String {
    match compiled.plan().row_buffers().count() {
        0 => String::new(),
        ring => format!(", {} of {ring} row vectors in memory", compiled.buffers()),
    }
}

/// Collects one stage of the compilations of a program's blocks as text, under their numbers.
///
/// ```
/// use fuseline::{BlocksPrinter, ExplainStage, Session};
///
/// let session = Session::builder().build()?;
/// let script = session.compile_script("<text>", "X = rand(rows=1000, cols=10)\nprint(sum(X * X + 1))", &[])?;
/// let mut plans = BlocksPrinter::new(ExplainStage::Plan);
/// session.compile_blocks(&script, &mut |block, stage| plans.observe(block, &stage))?;
/// assert!(plans.into_text().starts_with("# block 0\n"));
/// # Ok::<(), fuseline::Error>(())
/// ```
#[derive(Debug)]
pub struct BlocksPrinter {
    printer: StagePrinter,
    blocks: Vec<(usize, String)>,
}

impl BlocksPrinter {
    /// A printer of this stage.
    pub fn new(stage: ExplainStage) -> Self {
        BlocksPrinter { printer: StagePrinter::new(stage), blocks: Vec::new() }
    }

    /// Appends the stage's text, if it is the one to show, to that of the block.
    pub fn observe(&mut self, block: usize, stage: &CompileStage<'_>) {
        self.printer.observe(stage);
        let text = self.printer.take();
        match self.blocks.last_mut() {
            _ if text.is_empty() => {}
            Some((last, so_far)) if *last == block => so_far.push_str(&text),
            _ => self.blocks.push((block, text)),
        }
    }

    /// The numbers and texts of the blocks that have one.
    pub(crate) fn into_blocks(self) -> Vec<(usize, String)> {
        self.blocks
    }

    /// What was collected.
    pub fn into_text(self) -> String {
        self.blocks.into_iter().map(|(block, text)| format!("# block {block}\n{text}\n")).collect()
    }
}

/// The text form of a DAG, with the memory that operators on matrices need for their inputs and output as comments.
fn with_memory(dag: &HopDag) -> String {
    let estimates = estimate_memory(dag);
    let comments = dag.hops.iter().map(|(id, hop)| {
        let is_on_matrices = hop.is_matrix() || hop.inputs.iter().any(|&input| dag[input].is_matrix());
        let bytes = estimates[id].total().map_or("?".to_owned(), bytes_text);
        if is_on_matrices { format!("  # {bytes}") } else { String::new() }
    });
    // The line of the opening brace, then one line per operator.
    let comments = std::iter::once(String::new()).chain(comments).chain(std::iter::repeat(String::new()));
    dag.to_string().lines().zip(comments).map(|(line, comment)| format!("{line}{comment}\n")).collect()
}

/// Collects one stage of compilations as data, for every form besides text.
///
/// ```
/// use fuseline::{ExplainStage, Session, StageCollector};
///
/// let session = Session::builder().build()?;
/// let script = session.compile_script("<text>", "X = rand(rows=1000, cols=10)\nprint(sum(X * X + 1))", &[])?;
/// let mut collector = StageCollector::new(ExplainStage::Plan).expect("a plan is a graph");
/// session.compile_blocks(&script, &mut |block, stage| collector.observe(&format!("block {block}"), &stage))?;
/// assert_eq!(collector.into_document().stage, "plan");
/// # Ok::<(), fuseline::Error>(())
/// ```
#[derive(Debug)]
pub struct StageCollector {
    stage: ExplainStage,
    document: ExplainDocument,
}

impl StageCollector {
    /// A collector of this stage; none where the stage is no graph. As in the example of [`StageCollector`].
    pub fn new(stage: ExplainStage) -> Option<Self> {
        let document = ExplainDocument { version: DOCUMENT_VERSION, stage: stage.name().to_owned(), dags: vec![] };
        stage.is_graph().then_some(StageCollector { stage, document })
    }

    /// Adds the DAG under this name, if it is at the stage to show. As in the example of [`StageCollector`].
    pub fn observe(&mut self, name: &str, stage: &CompileStage<'_>) {
        self.document.dags.extend(ExplainedDag::at(self.stage, stage, name));
    }

    /// What was collected. As in the example of [`StageCollector`].
    pub fn into_document(self) -> ExplainDocument {
        self.document
    }
}

impl ExplainDocument {
    /// A Graphviz file of one graph per DAG, with a cluster for each fused operator. As in the example of
    /// [`ExplainDocument`].
    pub fn to_dot(&self) -> String {
        let graphs = self.dags.iter().map(|dag| dot::graph(&Drawing::new(dag)));
        graphs.collect()
    }

    /// A self-contained SVG file, with a box for each fused operator and the DAGs below each other. As in the example
    /// of [`ExplainDocument`].
    pub fn to_svg(&self) -> String {
        let drawings: Vec<Drawing> = self.dags.iter().map(Drawing::new).collect();
        svg::document(&self.stage, &drawings)
    }
}
