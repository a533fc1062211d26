//! Explanations as data: what `fuseline explain --format json` prints, and what drawings are made of.
//!
//! The document has a version, which changes when a field changes its meaning or goes; new fields may come without.
//! Operators are named by their numbers within their DAG. Order is that of the DAG, so equal compilations give equal
//! bytes. The example of [`ExplainDocument`] is that of all types here.

use super::ExplainStage;
use fuseline_ir::hop::{HopDag, HopId, HopOp};
use fuseline_ir::memo::MemoTable;
use fuseline_ir::template::TemplateType;
use fuseline_passes::explain::report;
use fuseline_passes::explain::report::PlanReport;
use fuseline_passes::memory::OutputBytes;
use fuseline_passes::pipeline::Stage;
use fuseline_runtime::CompileStage;
use serde::{Deserialize, Serialize};

/// The version of [`ExplainDocument`], as in its example.
pub const DOCUMENT_VERSION: u32 = 2;

/// A stage of the compilation of a script.
///
/// ```
/// use fuseline::explain::document::DOCUMENT_VERSION;
/// use fuseline::{ExplainStage, Matrix, Session, ndarray::Array2};
///
/// let session = Session::builder().build()?;
/// let x = Matrix::from(Array2::from_elem((1000, 100), 0.5));
/// let total = (&x * &x + 1.0).sum();
///
/// let document = session.explain_document(&total, ExplainStage::Plan)?.expect("a plan is a graph");
/// assert_eq!((document.version, document.stage.as_str()), (DOCUMENT_VERSION, "plan"));
/// let dag = &document.dags[0];
/// let (input, output) = (&dag.operators[0], &dag.outputs[0]);
/// assert_eq!((input.rows, input.cols, input.bytes), (Some(1000), Some(100), Some(800_000)));
/// assert!(dag.operators.iter().any(|operator| operator.id == output.hop));
/// assert_eq!(dag.plan.as_ref().expect("it is a plan").operators.len(), 1);
/// assert!(document.to_dot().starts_with("digraph") && document.to_svg().starts_with("<svg"));
///
/// let document = session.explain_document(&total, ExplainStage::Memo)?.expect("a memo table is a graph");
/// let groups = document.dags[0].memo.as_ref().expect("it is a memo table");
/// assert!(groups.iter().flat_map(|group| &group.entries).any(|entry| entry.valid && entry.notation.starts_with('C')));
/// # Ok::<(), fuseline::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExplainDocument {
    /// [`DOCUMENT_VERSION`].
    pub version: u32,
    /// The stage: `hops`, `rewritten`, `memo` or `plan`.
    pub stage: String,
    /// The DAGs, in the order of the program.
    pub dags: Vec<ExplainedDag>,
}

/// A DAG at a stage. As in the example of [`ExplainDocument`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExplainedDag {
    /// Where it comes from: `block 2`.
    pub name: String,
    /// The operators, inputs before their users.
    pub operators: Vec<ExplainedHop>,
    /// The variables that it assigns.
    pub outputs: Vec<ExplainedOutput>,
    /// The operators with effects, in program order.
    pub effects: Vec<u32>,
    /// The memo table (stage `memo`): the groups in ascending order.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub memo: Option<Vec<ExplainedGroup>>,
    /// The chosen plan and the reasons for it (stage `plan`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub plan: Option<PlanReport>,
}

/// An operator of a DAG. As in the example of [`ExplainDocument`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExplainedHop {
    /// Its number.
    pub id: u32,
    /// The operation, as the text form writes it.
    pub operation: String,
    /// The operation as the paper labels it.
    pub label: String,
    /// The operators whose values it takes, by position.
    pub inputs: Vec<u32>,
    /// The type of its value.
    pub data_type: String,
    /// Rows of a matrix, where known.
    pub rows: Option<u64>,
    /// Columns of a matrix, where known.
    pub cols: Option<u64>,
    /// Non-zeros of a matrix at most, where known.
    pub nnz: Option<u64>,
    /// Bytes of its value, where known.
    pub bytes: Option<u64>,
}

/// A variable that a DAG assigns. As in the example of [`ExplainDocument`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExplainedOutput {
    /// The variable.
    pub name: String,
    /// The operator whose value it takes.
    pub hop: u32,
}

/// The partial fusion plans of an operator. As in the example of [`ExplainDocument`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExplainedGroup {
    /// The operator.
    pub hop: u32,
    /// Its plans, in the order of exploration.
    pub entries: Vec<ExplainedEntry>,
}

/// A partial fusion plan. As in the example of [`ExplainDocument`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExplainedEntry {
    /// The plan in the paper's notation: `R(-1,9)`.
    pub notation: String,
    /// The template.
    pub template: TemplateType,
    /// By input: the group that is fused there, or nothing where the input is materialised.
    pub inputs: Vec<Option<u32>>,
    /// Whether consumers may extend the plan.
    pub open: bool,
    /// Whether the plan is an operator as it is.
    pub valid: bool,
}

impl ExplainedDag {
    /// The DAG at a stage, if this is that stage.
    pub(super) fn at(stage: ExplainStage, compiled: &CompileStage<'_>, name: &str) -> Option<ExplainedDag> {
        let dag = match (stage, compiled) {
            (ExplainStage::Hops, CompileStage::Sized(dag))
            | (ExplainStage::Rewritten, CompileStage::Rewritten(dag, _)) => ExplainedDag::new(dag, name),
            (ExplainStage::Memo, CompileStage::Fusion(Stage::Explored(dag, memo))) => {
                ExplainedDag { memo: Some(groups(memo)), ..ExplainedDag::new(dag, name) }
            }
            (ExplainStage::Plan, CompileStage::Fusion(Stage::Selected(selection))) => {
                ExplainedDag { plan: Some(report(selection)), ..ExplainedDag::new(selection.context.dag, name) }
            }
            _ => return None,
        };
        Some(dag)
    }

    fn new(dag: &HopDag, name: &str) -> Self {
        let output = |output: &fuseline_ir::hop::HopOutput| ExplainedOutput {
            name: output.name.clone(),
            hop: output.hop.as_u32(),
        };
        ExplainedDag {
            name: name.to_owned(),
            operators: operators(dag),
            outputs: dag.outputs.iter().map(output).collect(),
            effects: dag.effects.iter().map(|effect| effect.as_u32()).collect(),
            memo: None,
            plan: None,
        }
    }
}

fn operators(dag: &HopDag) -> Vec<ExplainedHop> {
    let bytes = OutputBytes::of(dag);
    dag.hops.keys().map(|id| hop(dag, id, bytes.get(id))).collect()
}

fn hop(dag: &HopDag, id: HopId, bytes: Option<u64>) -> ExplainedHop {
    let hop = &dag[id];
    ExplainedHop {
        id: id.as_u32(),
        operation: hop.op.to_string(),
        label: match &hop.op {
            HopOp::Read(name) => name.clone(),
            HopOp::Literal(value) => value.to_string(),
            op => op.label(),
        },
        inputs: hop.inputs.iter().map(|input| input.as_u32()).collect(),
        data_type: hop.data_type.to_string(),
        rows: hop.size.rows,
        cols: hop.size.cols,
        nnz: hop.size.nnz,
        bytes,
    }
}

fn groups(memo: &MemoTable) -> Vec<ExplainedGroup> {
    let groups = memo.groups().map(|(group, entries)| ExplainedGroup {
        hop: group.as_u32(),
        entries: entries
            .iter()
            .map(|entry| ExplainedEntry {
                notation: entry.to_string(),
                template: entry.ttype,
                inputs: entry.inputs[..usize::from(entry.arity)]
                    .iter()
                    .map(|input| input.expand().map(HopId::as_u32))
                    .collect(),
                open: entry.close.is_open(),
                valid: entry.close.is_valid(),
            })
            .collect(),
    });
    groups.collect()
}
