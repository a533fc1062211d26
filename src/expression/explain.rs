//! What the compiler makes of expressions, without running them.

use super::eval::Outputs;
use super::expr::Expr;
use super::program::ExprProgram;
use crate::error::Error;
use crate::explain::document::ExplainDocument;
use crate::explain::{BlocksPrinter, ExplainStage, StageCollector};
use crate::options::{BackendKind, CompileOptions};
use crate::session::Session;
use fuseline_ir::program::Program;
use fuseline_passes::size::SizeEnvironment;

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
        let Explained { program, environment } = explained(self, &outputs)?;
        let mut printer = BlocksPrinter::new(stage);
        if stage.needs_code() {
            let backend = BackendKind::for_measurement();
            let options = CompileOptions { keep_code: true, backend, code_folder: None, ..self.options().clone() };
            self.reconfigured(options)?
                .compile_program(&program, &environment, &mut |block, stage| printer.observe(block, &stage))?;
        } else {
            self.compile_program(&program, &environment, &mut |block, stage| printer.observe(block, &stage))?;
        }
        // A single block needs no number.
        Ok(if program.body.len() == 1 { printer.into_texts().collect() } else { printer.into_text() })
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
        let Explained { program, environment } = explained(self, &outputs)?;
        let is_single = program.body.len() == 1;
        self.compile_program(&program, &environment, &mut |block, stage| {
            let name = if is_single { "expression".to_owned() } else { format!("block {block}") };
            collector.observe(&name, &stage);
        })?;
        Ok(Some(collector.into_document()))
    }
}

/// The program of expressions, and what is known of the variables that it starts with.
struct Explained {
    program: Program,
    environment: SizeEnvironment,
}

fn explained(session: &Session, outputs: &impl Outputs) -> Result<Explained, Error> {
    let mut exprs: Vec<Expr> = Vec::new();
    outputs.append_to(&mut exprs);
    let program = ExprProgram::of(&exprs)?;
    let simplified = session.simplified_expressions(&program, &program.environment(false))?;
    Ok(Explained { program: simplified, environment: program.environment(true) })
}
