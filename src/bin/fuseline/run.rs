//! `fuseline run`.

use crate::arguments::{RunArguments, ScriptArguments, StatsFormat};
use crate::interrupt::end_on_signal;
use crate::standard_error::tell;
use crate::{Failure, read_source, standard_error};
use fuseline::io::StreamWriter;
use fuseline::{CompileOptions, CompileStage, Script, Session, StagePrinter, Statistics, Variables};
use std::collections::BTreeSet;
use std::io::{LineWriter, Write};
use std::path::Path;

/// Parses and checks the script of a command line.
pub(crate) fn compile(session: &Session, arguments: &ScriptArguments) -> Result<Script, Failure> {
    let values = arguments.values()?;
    let values: Vec<(&str, &str)> = values.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let text = read_source(&arguments.script)?;
    let script = session.compile_script(&arguments.script, &text, &values)?;
    if script.program().body.is_empty() && script.program().functions.is_empty() {
        return Err(format!("{}: the script has no statements", arguments.script).into());
    }
    Ok(script.for_effects())
}

pub(crate) fn run(arguments: &RunArguments) -> Result<(), Failure> {
    let emits = arguments.emit_llvm.is_some() || arguments.emit_asm.is_some();
    let keep_code = emits || arguments.explain.is_some_and(fuseline::ExplainStage::needs_code);
    let session = Session::new(CompileOptions {
        library_folders: arguments.script.library_folders()?,
        ..arguments.options.compile_options(keep_code)?
    })?;
    warn_of_cluster(&session);
    let script = compile(&session, &arguments.script)?;
    // Until here nothing is left behind by a signal that just kills.
    end_on_signal(&session)?;
    let (mut printer, mut printed) = (arguments.explain.map(StagePrinter::new), Ok(()));
    let mut emitter = CodeEmitter::new(arguments)?;
    let mut observer = |stage: CompileStage<'_>| {
        if let Some(printer) = &mut printer {
            printer.observe(&stage);
            let text = printer.take();
            // A stream that failed once is not tried again.
            if printed.is_ok() {
                printed = standard_error::print(&text);
            }
        }
        emitter.observe(&stage);
    };
    let mut output = LineWriter::new(StreamWriter::new(std::io::stdout()));
    let is_observed = emits || arguments.explain.is_some();
    let outcome = if is_observed {
        session.run_observed(&script, Variables::new(), &mut output, &mut observer)?
    } else {
        session.run(&script, Variables::new(), &mut output)?
    };
    output.flush().map_err(|error| format!("cannot print: {error}"))?;
    emitter.finish()?;
    printed?;
    if let Some(format) = arguments.stats {
        print_statistics(&outcome.statistics, format)?;
    }
    Ok(())
}

/// Says that the workers of the machine to plan for, if it has any, are planned for alone.
fn warn_of_cluster(session: &Session) {
    if let Some(cluster) = &session.options().machine.cluster {
        let workers = cluster.workers;
        tell(&format!(
            "warning: plans are made for {workers} workers of a cluster, but this machine runs all operators: nothing is \
             distributed, and what is planned for workers may take longer here\n"
        ));
    }
}

fn print_statistics(statistics: &Statistics, format: StatsFormat) -> Result<(), Failure> {
    standard_error::print(&match format {
        StatsFormat::Text => statistics.to_text(),
        StatsFormat::Json => serde_json::to_string_pretty(statistics).map_err(|error| error.to_string())? + "\n",
    })
}

/// Writes the code of each operator to a file of its own.
struct CodeEmitter<'a> {
    llvm: Option<&'a str>,
    asm: Option<&'a str>,
    seen: BTreeSet<String>,
    failure: Option<String>,
}

impl<'a> CodeEmitter<'a> {
    fn new(arguments: &'a RunArguments) -> Result<Self, Failure> {
        let (llvm, asm) = (arguments.emit_llvm.as_deref(), arguments.emit_asm.as_deref());
        for folder in [llvm, asm].into_iter().flatten() {
            std::fs::create_dir_all(folder).map_err(|error| format!("cannot create {folder}: {error}"))?;
        }
        Ok(CodeEmitter { llvm, asm, seen: BTreeSet::new(), failure: None })
    }

    fn observe(&mut self, stage: &CompileStage<'_>) {
        let CompileStage::Operator(operator, compiled) = stage else { return };
        let name = operator.to_string();
        if !self.seen.insert(name.clone()) {
            return;
        }
        self.write(self.llvm, &format!("{name}.ll"), compiled.info.llvm_ir.as_deref());
        self.write(self.asm, &format!("{name}.s"), compiled.info.assembly.as_deref());
    }

    fn write(&mut self, folder: Option<&str>, file: &str, content: Option<&str>) {
        let (Some(folder), Some(content)) = (folder, content) else { return };
        let path = Path::new(folder).join(file);
        if let Err(error) = std::fs::write(&path, content) {
            self.failure.get_or_insert(format!("cannot write {}: {error}", path.display()));
        }
    }

    fn finish(self) -> Result<(), Failure> {
        self.failure.map_or(Ok(()), |failure| Err(failure.into()))
    }
}
