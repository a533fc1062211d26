//! `fuseline systemds ARGS`: SystemDS' command line, translated to that of `fuseline run`.

use crate::Failure;
use crate::arguments::{Cli, Command, RunArguments};
use clap::Parser;

/// The options that are understood, for messages.
const KNOWN: &str = "-f SCRIPT, -args V..., -nvargs NAME=VALUE..., -stats [N] and -explain [LEVEL]";

/// The levels of `-explain`, and the stages that show the same.
const LEVELS: &[(&str, &str)] = &[
    ("hops", "hops"),
    ("recompile_hops", "rewritten"),
    ("runtime", "runtime"),
    ("recompile_runtime", "runtime"),
    ("codegen", "cplan"),
    ("codegen_recompile", "cplan"),
];

/// What `fuseline run` is to do for these arguments of SystemDS.
///
/// # Errors
/// An option that is not understood, by name; no script; arguments that `run` refuses.
pub(crate) fn translated(arguments: &[String]) -> Result<RunArguments, Failure> {
    let mut script = None;
    let mut options = Vec::new();
    let mut rest = arguments;
    while let [option, behind @ ..] = rest {
        let values = leading_values(behind);
        rest = &behind[values.len()..];
        match option.as_str() {
            "-f" => script = Some(only(option, values)?),
            "-args" | "-nvargs" => {
                options.push(format!("-{option}"));
                options.extend_from_slice(values);
            }
            // A number says how many operators to list; all are.
            "-stats" => options.push("--stats".to_owned()),
            "-explain" => options.extend(["--explain".to_owned(), stage(values)?.to_owned()]),
            name if !name.starts_with('-') && script.is_none() && values.is_empty() => script = Some(option),
            name => return Err(format!("SystemDS' option `{name}` is unknown here; {KNOWN} are understood").into()),
        }
    }
    let Some(script) = script else { return Err(format!("no script is named; {KNOWN} are understood").into()) };
    let command = ["fuseline", "run", script].map(str::to_owned).into_iter().chain(options);
    match Cli::try_parse_from(command) {
        Ok(Cli { command: Command::Run(run) }) => Ok(run),
        Ok(_) => Err("a command that runs no script".to_owned().into()),
        Err(error) => Err(error.to_string().trim_start_matches("error: ").trim_end().to_owned().into()),
    }
}

/// The arguments up to the next option. Numbers are no options.
fn leading_values(arguments: &[String]) -> &[String] {
    let is_option = |argument: &String| argument.starts_with('-') && argument.parse::<f64>().is_err();
    let end = arguments.iter().position(is_option).unwrap_or(arguments.len());
    &arguments[..end]
}

fn only<'a>(option: &str, values: &'a [String]) -> Result<&'a String, Failure> {
    match values {
        [value] => Ok(value),
        _ => Err(format!("`{option}` takes one value, not {}", values.len()).into()),
    }
}

fn stage(values: &[String]) -> Result<&'static str, Failure> {
    if values.is_empty() {
        return Ok("runtime");
    }
    let level = only("-explain", values)?;
    let found = LEVELS.iter().find(|(name, _)| name == level).map(|(_, stage)| *stage);
    found.ok_or_else(|| {
        let names: Vec<&str> = LEVELS.iter().map(|(name, _)| *name).collect();
        Failure::Other(format!("`-explain` takes {}, not `{level}`", names.join(", ")))
    })
}
