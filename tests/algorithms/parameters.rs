//! The parameters of the library's functions: names, places, types, defaults and results are those of `signatures.txt`,
//! second names mean the same, and each parameter has an effect. `calls.txt` has a call of every function and a value
//! off its default for each parameter:
//!
//! ```text
//! scale
//! X = matrix(seq(1, 6), rows=3, cols=2)
//! call X=X
//! off center=FALSE
//! off scale=FALSE with center=FALSE
//! ```
//!
//! What follows `with` is part of both calls that are compared. A parameter that is accepted without effect says so in
//! the header of its script, and stands here in a line `idle NAME`.

use crate::execution::session;
use fuseline::{BackendKind, Mode, Session, Variables};
use std::collections::BTreeMap;
use std::fs;

/// A declared parameter or result.
#[derive(Clone, Debug, PartialEq)]
struct Declaration {
    data_type: String,
    name: String,
    default: Option<String>,
}

#[derive(Debug, PartialEq)]
struct Signature {
    parameters: Vec<Declaration>,
    results: Vec<Declaration>,
}

/// Values of parameters, by name.
type Arguments = Vec<(String, String)>;

/// One paragraph of `calls.txt`.
#[derive(Debug)]
struct Case {
    function: String,
    setup: String,
    call: Arguments,
    /// A parameter, its value, and what else both calls are given.
    off: Vec<(String, String, Arguments)>,
    idle: Vec<String>,
}

/// The parts between commas outside of brackets and texts.
fn parts(text: &str) -> Vec<&str> {
    let (mut depth, mut from, mut is_text, mut found) = (0, 0, false, Vec::new());
    for (at, letter) in text.char_indices() {
        match letter {
            '"' | '\'' => is_text = !is_text,
            '(' | '[' if !is_text => depth += 1,
            ')' | ']' if !is_text => depth -= 1,
            ',' if depth == 0 && !is_text => {
                found.push(text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    let last = text[from..].trim();
    found.extend((!last.is_empty()).then_some(last));
    found
}

/// A default without what does not matter: spaces, names of arguments, the form of a number.
fn plain(default: &str) -> String {
    let number = default.trim().parse::<f64>().map(|number| number.to_string());
    number.unwrap_or_else(|_| default.replace([' ', '"'], "").replace("rows=", "").replace("cols=", ""))
}

fn declarations(text: &str) -> Vec<Declaration> {
    let declared = |part: &str| {
        let (left, default) = part.split_once('=').map_or((part, None), |(left, right)| (left, Some(right)));
        let (data_type, name) = left.trim().rsplit_once(' ').expect("a type and a name");
        let data_type = data_type.trim().to_lowercase();
        let data_type = if data_type == "int" { "integer".to_owned() } else { data_type };
        Declaration { data_type, name: name.to_owned(), default: default.map(plain) }
    };
    parts(text).into_iter().map(declared).collect()
}

/// What stands in the bracket that opens at the start of a text, and what follows it.
fn bracket(text: &str) -> (&str, &str) {
    let mut depth = 0;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return (&text[1..at], &text[at + 1..]);
        }
    }
    panic!("no end of {text}");
}

/// The text of a function's script.
fn script(function: &str) -> String {
    fs::read_to_string(format!("algorithms/{function}.dml")).expect("the function has a script")
}

/// What the script of a function declares.
fn declared(function: &str) -> Signature {
    let text = script(function);
    let mark = format!("\nm_{function} = function");
    let start = text.find(&mark).unwrap_or_else(|| panic!("{function} has no entry")) + mark.len();
    let (parameters, rest) = bracket(&text[start..]);
    let results = rest.trim_start().strip_prefix("return").expect("results").trim_start();
    Signature { parameters: declarations(parameters), results: declarations(bracket(results).0) }
}

/// The second names that the header of a script declares, by parameter.
fn second_names(function: &str) -> BTreeMap<String, String> {
    let text = script(function);
    let lines = text.lines().skip_while(|line| *line != "# SECOND NAMES").skip(1);
    let lines = lines.map_while(|line| line.strip_prefix("# ")).flat_map(parts);
    lines
        .map(|part| part.split_once(" = ").expect("second = first"))
        .map(|(second, first)| (first.to_owned(), second.to_owned()))
        .collect()
}

/// The functions of the library that other scripts are meant to call.
fn functions() -> Vec<String> {
    let files = fs::read_dir("algorithms").expect("the folder can be read").map(|entry| entry.expect("a file").path());
    let scripts = files.filter(|path| path.extension().is_some_and(|extension| extension == "dml"));
    let mut names: Vec<String> =
        scripts.map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn arguments(text: &str) -> Arguments {
    let pair = |part: &str| part.split_once('=').map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
    parts(text).into_iter().map(|part| pair(part).expect("name=value")).collect()
}

fn cases() -> Vec<Case> {
    let text = fs::read_to_string("tests/algorithms/calls.txt").expect("the calls can be read");
    text.split("\n\n").map(|paragraph| case(paragraph.trim())).collect()
}

fn case(paragraph: &str) -> Case {
    let mut lines = paragraph.lines();
    let function = lines.next().expect("a name").to_owned();
    let mut case = Case { function, setup: String::new(), call: Vec::new(), off: Vec::new(), idle: Vec::new() };
    for line in lines {
        if let Some(call) = line.strip_prefix("call ") {
            case.call = arguments(call);
        } else if let Some(off) = line.strip_prefix("off ") {
            let (off, with) = off.split_once(" with ").unwrap_or((off, ""));
            let (name, value) = arguments(off).remove(0);
            case.off.push((name, value, arguments(with)));
        } else if let Some(name) = line.strip_prefix("idle ") {
            case.idle.push(name.to_owned());
        } else {
            case.setup += line;
            case.setup.push('\n');
        }
    }
    case
}

/// The arguments with some replaced or added.
fn with(arguments: &Arguments, others: &[(String, String)]) -> Arguments {
    let kept = arguments.iter().filter(|(name, _)| others.iter().all(|(other, _)| other != name));
    kept.chain(others).cloned().collect()
}

fn by_name(arguments: &Arguments) -> String {
    let named: Vec<String> = arguments.iter().map(|(name, value)| format!("{name}={value}")).collect();
    named.join(", ")
}

impl Case {
    /// What a call prints, with its results: all digits of each.
    fn outcome(&self, session: &Session, arguments: &str) -> Result<String, String> {
        let results = declared(&self.function).results;
        let names: Vec<String> = (1..=results.len()).map(|number| format!("result_{number}")).collect();
        let mut text = format!("{}[{}] = {}({arguments})\n", self.setup, names.join(", "), self.function);
        for (name, result) in names.iter().zip(&results) {
            let is_matrix = result.data_type.starts_with("matrix");
            text +=
                &if is_matrix { format!("print(toString({name}, decimal=12))\n") } else { format!("print({name})\n") };
        }
        let script = session.compile_script(&self.function, &text, &[]).map_err(|error| error.to_string())?;
        let mut printed = Vec::new();
        session.run(&script.for_effects(), Variables::new(), &mut printed).map_err(|error| error.to_string())?;
        Ok(String::from_utf8(printed).expect("scripts print UTF-8"))
    }

    /// The arguments by position, up to the last that is given: the others between have their defaults.
    fn by_position(&self) -> String {
        let given: BTreeMap<&str, &str> = self.call.iter().map(|(name, value)| (&**name, &**value)).collect();
        let parameters = declared(&self.function).parameters;
        let count = parameters.iter().rposition(|p| given.contains_key(&*p.name)).map_or(0, |last| last + 1);
        let value = |parameter: &Declaration| match given.get(&*parameter.name) {
            Some(value) => (*value).to_owned(),
            None => as_written(parameter.default.as_deref().expect("what has no default is given"), parameter),
        };
        parameters[..count].iter().map(value).collect::<Vec<String>>().join(", ")
    }
}

/// A default as a script writes it.
fn as_written(default: &str, parameter: &Declaration) -> String {
    if parameter.data_type == "string" { format!("\"{default}\"") } else { default.to_owned() }
}

fn interpreter() -> Session {
    session(Mode::Base, BackendKind::Interp)
}

/// Functions that the peer does not have: parts that others of ours share.
const OUR_OWN: &[&str] = &["glmBinomial", "glmLikelihood"];

#[test]
fn signatures_are_those_of_the_peer() {
    let text = fs::read_to_string("tests/algorithms/signatures.txt").expect("the signatures can be read");
    let mut known = BTreeMap::new();
    for line in text.lines() {
        let (name, rest) = line.split_at(line.find('(').expect("parameters"));
        let (parameters, results) = bracket(rest);
        let results = results.trim().strip_prefix("->").expect("results");
        known.insert(name, Signature { parameters: declarations(parameters), results: declarations(results) });
    }
    for function in functions().iter().filter(|function| !OUR_OWN.contains(&function.as_str())) {
        let expected = known.remove(function.as_str()).unwrap_or_else(|| panic!("{function} is not in signatures.txt"));
        assert_eq!(declared(function), expected, "{function}");
    }
    assert!(known.is_empty(), "in signatures.txt alone: {:?}", known.keys());
}

#[test]
fn arguments_bind_by_name_and_by_position() {
    let session = interpreter();
    let cases = cases();
    let called: Vec<&str> = cases.iter().map(|case| &*case.function).collect();
    assert_eq!(called, functions().iter().filter(|name| !OUR_OWN.contains(&name.as_str())).collect::<Vec<_>>());
    for case in &cases {
        let backwards: Arguments = case.call.iter().rev().cloned().collect();
        let named = case.outcome(&session, &by_name(&backwards)).unwrap_or_else(|error| panic!("{error}"));
        let positional = case.outcome(&session, &case.by_position()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(named, positional, "{}", case.function);
    }
}

#[test]
fn second_names_mean_the_same_and_exclude_the_first() {
    let session = interpreter();
    let mut seen = 0;
    for case in &cases() {
        let seconds = second_names(&case.function);
        for (name, value) in &case.call {
            let Some(second) = seconds.get(name) else { continue };
            seen += 1;
            let renamed = case
                .call
                .iter()
                .map(|(known, value)| (if known == name { second.clone() } else { known.clone() }, value.clone()));
            let first = case.outcome(&session, &by_name(&case.call)).unwrap_or_else(|error| panic!("{error}"));
            let renamed = by_name(&renamed.collect());
            assert_eq!(case.outcome(&session, &renamed).as_ref(), Ok(&first), "{}: {second}", case.function);
            let both = case.outcome(&session, &format!("{renamed}, {name}={value}")).expect_err("given twice");
            let expected = format!("the parameter `{name}` of `{}` is given twice", case.function);
            assert!(both.contains(&expected), "{both}");
        }
        let unknown = seconds.keys().find(|name| case.call.iter().all(|(called, _)| called != *name));
        assert_eq!(unknown, None, "{}: a call in calls.txt should give what has a second name", case.function);
    }
    assert!(seen >= 30, "{seen} second names");
}

#[test]
fn every_parameter_has_an_effect() {
    let session = interpreter();
    let mut idle = 0;
    for case in &cases() {
        let declared = declared(&case.function).parameters;
        let optional = declared.iter().filter(|parameter| parameter.default.is_some());
        let known: Vec<&str> = case.off.iter().map(|(name, _, _)| &**name).collect();
        let missing = optional
            .map(|parameter| &parameter.name)
            .find(|name| !known.contains(&name.as_str()) && !case.idle.contains(name));
        assert_eq!(missing, None, "{}: calls.txt has no value off the default", case.function);
        for (name, value, others) in &case.off {
            let base = with(&case.call, others);
            let off = with(&base, &[(name.clone(), value.clone())]);
            let outcome = |arguments: &Arguments| case.outcome(&session, &by_name(arguments));
            let usual = outcome(&base);
            assert!(usual.is_ok(), "{}: {usual:?}", case.function);
            assert_eq!(outcome(&base), usual, "{}: calls to compare have to be repeatable", case.function);
            assert_ne!(outcome(&off), usual, "{}: {name}={value} changes nothing", case.function);
        }
        for name in &case.idle {
            let header = script(&case.function);
            let line = header.lines().find(|line| line.starts_with(&format!("#   {name} "))).unwrap_or_default();
            assert!(line.contains("accepted, without effect here"), "{}: {name}", case.function);
            idle += 1;
        }
    }
    assert!(idle <= 10, "{idle} parameters without effect");
}
