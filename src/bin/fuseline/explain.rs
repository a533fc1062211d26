//! `fuseline explain`.

use crate::arguments::{ExplainArguments, ExplainFormat};
use crate::{Failure, not_yet, run};
use fuseline::{CompileOptions, Session, StagePrinter};
use std::io::Write;

pub(crate) fn explain(arguments: &ExplainArguments) -> Result<(), Failure> {
    if arguments.format != ExplainFormat::Text {
        return Err(not_yet("explaining in another form than text"));
    }
    let session = Session::new(CompileOptions {
        library_folders: arguments.script.library_folders()?,
        ..arguments.options.compile_options(arguments.stage.needs_code())?
    })?;
    let script = run::compile(&session, &arguments.script)?;
    let mut printer = StagePrinter::new(arguments.stage);
    let mut blocks: Vec<(usize, String)> = Vec::new();
    session.compile_blocks(&script, &mut |block, stage| {
        printer.observe(&stage);
        let text = printer.take();
        match blocks.last_mut() {
            _ if text.is_empty() => {}
            Some((last, so_far)) if *last == block => so_far.push_str(&text),
            _ => blocks.push((block, text)),
        }
    })?;
    let mut output = std::io::stdout().lock();
    for (block, text) in blocks {
        writeln!(output, "# block {block}\n{text}").map_err(|error| format!("cannot print: {error}"))?;
    }
    Ok(())
}
