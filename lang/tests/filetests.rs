//! The file tests of this stage: each script states, in `#>` lines at its end, the program that it becomes.
//! `FUSELINE_BLESS=1` rewrites these lines.

use fuseline_lang::{Argument, ParseOptions, parse};
use std::path::Path;

fn program_of(name: &str, text: &str) -> String {
    let arguments = [("X", "X.csv"), ("Y", "Y.csv"), ("model", "w.csv"), ("reg", "0.5")];
    let arguments = arguments.map(|(name, value)| (name.to_owned(), Argument::from_text(value)));
    let options = ParseOptions { arguments: arguments.into(), ..ParseOptions::from_files() };
    match parse(name, text, &options) {
        Ok(program) => {
            program.verify().unwrap_or_else(|errors| panic!("{name} is not well-formed: {errors}"));
            program.to_string()
        }
        Err(errors) => errors.render(false),
    }
}

#[test]
fn scripts_become_the_programs_that_they_state() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/filetests/parse");
    let mut count = 0;
    for entry in std::fs::read_dir(&folder).expect("the folder of file tests can be read") {
        let path = entry.expect("its entries too").path();
        if path.extension().is_none_or(|extension| extension != "dml") {
            continue;
        }
        count += 1;
        let name =
            path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let text = std::fs::read_to_string(&path).expect("a script can be read");
        let script: String = text
            .lines()
            .filter(|line| !line.starts_with("#>"))
            .map(|line| format!("{line}\n"))
            .collect();
        let script = format!("{}\n", script.trim_end());
        let actual: String =
            program_of(&name, &script).lines().map(|line| format!("#> {line}\n")).collect();
        let actual = format!("{script}\n{}", actual.replace(" \n", "\n"));
        if std::env::var_os("FUSELINE_BLESS").is_some() {
            std::fs::write(&path, &actual).expect("a script can be written");
        } else {
            assert_eq!(text, actual, "{name} has changed; FUSELINE_BLESS=1 accepts it");
        }
    }
    assert!(count >= 2, "the file tests were not found");
}
