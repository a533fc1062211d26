//! The `fuseline` program: a thin shell around the library.
#![forbid(unsafe_code)]

mod arguments;
mod cache;
mod calibrate;
mod check;
mod convert;
mod explain;
mod generate;
mod interrupt;
mod machine;
mod opt;
mod run;
mod size;
mod standard_error;
mod systemds;

use arguments::{Cli, Command};
use clap::Parser;
use fuseline::{Abort, Error, caught};
// Memory that the system refuses ends a run with an error.
use fuseline_malloc as _;
use std::process::ExitCode;

/// A failure as the user sees it.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An error of the library.
    Library(Box<Error>),
    /// Anything else, as a sentence.
    Other(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Library(Box::new(error))
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Failure::Other(message)
    }
}

impl From<Abort> for Failure {
    fn from(abort: Abort) -> Self {
        match abort {
            Abort::Memory(failure) => Failure::Library(Box::new(Error::Memory(failure))),
            Abort::Stopped => Failure::Library(Box::new(Error::Interrupted)),
        }
    }
}

impl Failure {
    fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Library(error) if matches!(**error, Error::Interrupted) => interrupt::INTERRUPTED.into(),
            _ => ExitCode::FAILURE,
        }
    }

    fn render(&self, color: bool) -> String {
        match self {
            Failure::Library(error) => error.render(color),
            Failure::Other(message) => format!("error: {message}\n"),
        }
    }
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to standard output and are no failure; everything else is.
            let failed = error.use_stderr();
            let printed = error.print();
            return if failed || printed.is_err() { ExitCode::FAILURE } else { ExitCode::SUCCESS };
        }
    };
    // Commands that run no script have nobody else who makes errors of memory that is refused.
    let result = caught(|| match &cli.command {
        Command::Run(arguments) => run::run(arguments),
        Command::Explain(arguments) => explain::explain(arguments),
        Command::Opt(arguments) => opt::opt(arguments),
        Command::Check(arguments) => check::check(arguments),
        Command::Calibrate(arguments) => calibrate::calibrate(arguments),
        Command::Convert(arguments) => convert::convert(arguments),
        Command::Systemds { arguments } => systemds::translated(arguments).and_then(|arguments| run::run(&arguments)),
        Command::Generate(arguments) => generate::generate(arguments),
    });
    match result.unwrap_or_else(|abort| Err(abort.into())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            standard_error::tell(&failure.render(standard_error::shows_colors()));
            failure.exit_code()
        }
    }
}

/// The text of a script or DAG file.
pub(crate) fn read_source(path: &str) -> Result<String, Failure> {
    if std::path::Path::new(path).is_dir() {
        return Err(format!("{path} is a directory, not a file").into());
    }
    let bytes = fuseline::read_script(path.as_ref()).map_err(|error| format!("cannot read {path}: {error}"))?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()]);
        let line = valid.matches('\n').count() + 1;
        let column = valid.chars().rev().take_while(|&c| c != '\n').count() + 1;
        Failure::Other(format!("{path}:{line}:{column}: the file is not UTF-8 text"))
    })
}
