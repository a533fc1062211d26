//! `fuseline opt`.

use crate::arguments::OptArguments;
use crate::{Failure, read_source};
use fuseline::{Session, StagePrinter};
use std::io::Write;

pub(crate) fn opt(arguments: &OptArguments) -> Result<(), Failure> {
    let text = read_source(&arguments.file)?;
    let dags = fuseline::ir::hop::parse(&text).map_err(|errors| {
        let located = |error: &str| format!("{}:{error}", arguments.file);
        errors.to_string().lines().map(located).collect::<Vec<_>>().join("\n")
    })?;
    let session = Session::new(arguments.options.compile_options(arguments.emit.needs_code())?)?;
    let mut output = std::io::stdout().lock();
    for (name, dag) in dags {
        dag.verify().map_err(|errors| format!("{}: @{name}: {errors}", arguments.file))?;
        let mut printer = StagePrinter::new(arguments.emit);
        session.compile_dag(&dag, &mut |stage| printer.observe(&stage))?;
        writeln!(output, "# @{name}\n{}", printer.take()).map_err(|error| format!("cannot print: {error}"))?;
    }
    Ok(())
}
