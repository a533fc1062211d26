//! What the compiler makes of expressions, without running them.

use super::eval::Outputs;
use super::expr::Expr;
use super::program::ExprProgram;
use crate::error::Error;
use crate::explain::document::ExplainDocument;
use crate::explain::{ExplainStage, StageCollector, StagePrinter};
use crate::options::{BackendKind, CompileOptions};
use crate::session::Session;
use fuseline_ir::hop::{HopDag, HopOp};
use fuseline_runtime::RuntimeValue;

impl Session {
    /// A stage of the compilation of expressions, as text.
    ///
    /// ```
    /// use fuseline::{ExplainStage, Matrix, Session, ndarray::Array2};
    ///
    /// let session = Session::builder().build()?;
    /// let x = Matrix::from(Array2::from_elem((1000, 100), 0.5));
    /// let plan = session.explain((&x * &x + 1.0).sum(), ExplainStage::Plan)?;
    /// assert!(plan.contains("cell"), "{plan}");
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    ///
    /// # Errors
    /// Operands that do not fit.
    pub fn explain<O: Outputs>(&self, outputs: O, stage: ExplainStage) -> Result<String, Error> {
        let dag = explained_dag(&outputs)?;
        let mut printer = StagePrinter::new(stage);
        if stage.needs_code() {
            let backend = BackendKind::for_measurement();
            let options = CompileOptions { keep_code: true, backend, code_folder: None, ..self.options().clone() };
            self.reconfigured(options)?.compile_dag(&dag, &mut |stage| printer.observe(&stage))?;
        } else {
            self.compile_dag(&dag, &mut |stage| printer.observe(&stage))?;
        }
        Ok(printer.take())
    }

    /// A stage of the compilation of expressions as data, which can be drawn; `None` where the stage is no graph.
    ///
    /// ```
    /// use fuseline::{ExplainStage, Matrix, Session, ndarray::Array2};
    ///
    /// let session = Session::builder().build()?;
    /// let x = Matrix::from(Array2::from_elem((1000, 100), 0.5));
    /// let document = session.explain_document((&x * &x).sum(), ExplainStage::Plan)?.expect("a plan is a graph");
    /// assert!(document.to_svg().starts_with("<svg"));
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    ///
    /// # Errors
    /// Operands that do not fit.
    pub fn explain_document<O: Outputs>(
        &self,
        outputs: O,
        stage: ExplainStage,
    ) -> Result<Option<ExplainDocument>, Error> {
        let Some(mut collector) = StageCollector::new(stage) else { return Ok(None) };
        self.compile_dag(&explained_dag(&outputs)?, &mut |stage| collector.observe("expression", &stage))?;
        Ok(Some(collector.into_document()))
    }
}

/// The DAG of expressions with the sizes of what it reads.
fn explained_dag(outputs: &impl Outputs) -> Result<HopDag, Error> {
    let mut exprs: Vec<Expr> = Vec::new();
    outputs.append_to(&mut exprs);
    let ExprProgram { mut dag, captured, .. } = ExprProgram::of(&exprs)?;
    for hop in dag.hops.values_mut() {
        if let HopOp::Read(name) = &hop.op
            && let Some(value @ RuntimeValue::Matrix(_)) = captured.get(name)
        {
            hop.size = value.size();
        }
    }
    Ok(dag)
}
