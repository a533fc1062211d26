//! `fuseline explain`.

use crate::arguments::{ExplainArguments, ExplainFormat};
use crate::{Failure, run};
use fuseline::explain::document::ExplainDocument;
use fuseline::{BlocksPrinter, CompileOptions, ExplainStage, Script, Session, StageCollector};
use std::io::Write;

pub(crate) fn explain(arguments: &ExplainArguments) -> Result<(), Failure> {
    if arguments.format != ExplainFormat::Text && !arguments.stage.is_graph() {
        return Err(no_such_form(arguments));
    }
    let session = Session::new(CompileOptions {
        library_folders: arguments.script.library_folders()?,
        ..arguments.options.compile_options(arguments.stage.needs_code())?
    })?;
    let script = run::compile(&session, &arguments.script)?;
    let text = match arguments.format {
        ExplainFormat::Text => match text(&session, &script, arguments.stage)? {
            nothing if nothing.is_empty() => "# nothing is fused\n".to_owned(),
            text if arguments.stage == ExplainStage::Plan => {
                format!("# optimizer environment {}\n{text}", session.options().environment())
            }
            text => text,
        },
        ExplainFormat::Dot => document(&session, &script, arguments)?.to_dot(),
        ExplainFormat::Svg => document(&session, &script, arguments)?.to_svg(),
        ExplainFormat::Json => {
            let document = document(&session, &script, arguments)?;
            serde_json::to_string_pretty(&document).map_err(|error| format!("cannot print: {error}"))? + "\n"
        }
    };
    std::io::stdout().lock().write_all(text.as_bytes()).map_err(|error| format!("cannot print: {error}"))?;
    Ok(())
}

fn no_such_form(arguments: &ExplainArguments) -> Failure {
    let graphs = ExplainStage::ALL.iter().filter(|(_, stage)| stage.is_graph()).map(|(name, _)| *name);
    let graphs: Vec<&str> = graphs.collect();
    let stage = arguments.stage.name();
    Failure::Other(format!(
        "the stage {stage} can be shown as text alone; dot, svg and json are there for {}",
        graphs.join(", ")
    ))
}

fn text(session: &Session, script: &Script, stage: ExplainStage) -> Result<String, Failure> {
    let mut printer = BlocksPrinter::new(stage);
    session.compile_blocks(script, &mut |block, stage| printer.observe(block, &stage))?;
    Ok(printer.into_text())
}

fn document(session: &Session, script: &Script, arguments: &ExplainArguments) -> Result<ExplainDocument, Failure> {
    let mut collector = StageCollector::new(arguments.stage).ok_or_else(|| no_such_form(arguments))?;
    session.compile_blocks(script, &mut |block, stage| collector.observe(&format!("block {block}"), &stage))?;
    Ok(collector.into_document())
}
