//! What the compiler makes of expressions, without running them.

use super::eval::Outputs;
use super::expr::Expr;
use super::program::ExprProgram;
use crate::error::Error;
use crate::explain::document::ExplainDocument;
use crate::explain::{BlocksPrinter, ExplainStage, StageCollector};
use crate::options::{BackendKind, CompileOptions};
use crate::session::Session;
use fuseline_ir::program::{Program, StatementBlock};
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
        let names = block_names(&program);
        let blocks = printer.into_blocks().into_iter();
        // A single block needs no number.
        Ok(if names.len() == 1 {
            blocks.map(|(_, text)| text).collect()
        } else {
            blocks.map(|(block, text)| format!("# {}\n{text}\n", names[block])).collect()
        })
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
        let names = match block_names(&program) {
            single if single.len() == 1 => vec!["expression".to_owned()],
            names => names,
        };
        self.compile_program(&program, &environment, &mut |block, stage| collector.observe(&names[block], &stage))?;
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

/// The names of the blocks of expressions, in the order in which they are compiled: numbers, and which part of which loop.
fn block_names(program: &Program) -> Vec<String> {
    let (mut parts, mut loops) = (Vec::new(), 0);
    parts_of_loops(&program.body, "", &mut loops, &mut parts);
    let parts = parts.into_iter().enumerate();
    parts.map(|(block, part)| format!("block {block}{}{part}", if part.is_empty() { "" } else { ": " })).collect()
}

/// Which part of which loop each of these blocks is, which are part of `around`.
fn parts_of_loops(blocks: &[StatementBlock], around: &str, loops: &mut usize, parts: &mut Vec<String>) {
    for block in blocks {
        let StatementBlock::While { predicate, body, .. } = block else {
            // Expressions make straight-line blocks besides.
            parts.push(around.to_owned());
            continue;
        };
        *loops += 1;
        let number = *loops;
        let outside = if around.is_empty() { String::new() } else { format!(", in the {around}") };
        let condition = format!("condition of loop {number}{outside}");
        parts_of_loops(&predicate.prelude, &condition, loops, parts);
        parts.push(condition);
        parts_of_loops(body, &format!("body of loop {number}{outside}"), loops, parts);
    }
}
