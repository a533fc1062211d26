//! What a release needs, which `./x test --long` asks for: packages that build alone, an interface that has what the
//! last release had, and examples for what is public.

use crate::cargo::{Cargo, check, root};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::UNIX_EPOCH;

/// Makes the packages of crates.io and builds each from what is in it alone, without publishing anything.
pub(crate) fn packages(cargo: &Cargo) -> Result<()> {
    // A named folder is one for all packages. Cargo takes a package that it has built there, or has unpacked for packages
    // there, for the same as long as its version is: the folder must be one that never was.
    let target = folder(&format!("publish-{}", UNIX_EPOCH.elapsed()?.as_secs()));
    let mut command = cargo.command(&["publish", "--workspace", "--dry-run", "--allow-dirty"]);
    command.arg("--target-dir").arg(&target);
    command.env("CARGO_INCREMENTAL", "0").env("CARGO_PROFILE_DEV_DEBUG", "none");
    if !cargo.links_llvm_22() {
        eprintln!("x: packages are made, but not built: that takes LLVM 22, their default");
        command.arg("--no-verify");
    }
    let result = check("packages", command);
    let _ = std::fs::remove_dir_all(target);
    result
}

/// The crates whose items users of `fuseline` see. None of them has another interface without LLVM.
const INTERFACE: &[&str] = &["fuseline", "fuseline-ir", "fuseline-matrix", "fuseline-passes", "fuseline-runtime"];

/// The version of cargo-semver-checks, which knows the documentation format of `rust-toolchain.toml`.
const SEMVER_CHECKS: &str = "0.51.0";

/// Compares the interface with that of the last release, the last tag `v*` before this commit.
pub(crate) fn interface(cargo: &Cargo) -> Result<()> {
    let mut describe = Command::new("git");
    describe.current_dir(root()).args(["describe", "--tags", "--abbrev=0", "--match", "v*"]);
    let output = describe.output().context("cannot start git")?;
    if !output.status.success() {
        eprintln!("x: the interface is NOT compared: no tag v* is a release to compare it with");
        return Ok(());
    }
    let tag = String::from_utf8(output.stdout)?;
    let tools = folder("tools");
    let mut install = cargo.command(&["install", "--quiet", "--locked", "--version", SEMVER_CHECKS]);
    install.arg("--root").arg(&tools).arg("cargo-semver-checks");
    check("installing cargo-semver-checks", install)?;
    let mut command = Command::new(tools.join("bin/cargo-semver-checks"));
    command.current_dir(root()).args(["semver-checks", "--only-explicit-features", "--baseline-rev", tag.trim()]);
    command.args(INTERFACE.iter().flat_map(|package| ["--package", package]));
    check("comparing the interface with the last release", command)
}

/// Counts the examples of what `fuseline` makes public. Every type, trait and function has one, or says whose it
/// shares; the share of methods is told.
pub(crate) fn examples(cargo: &Cargo) -> Result<()> {
    // Without LLVM, which changes nothing of the interface.
    let mut command = cargo.command(&["rustdoc", "--quiet", "--package", "fuseline", "--lib", "--no-default-features"]);
    let target = folder("documentation");
    command.arg("--target-dir").arg(&target).args(["--", "-Z", "unstable-options", "--output-format", "json"]);
    // The format is not stable.
    command.env("RUSTC_BOOTSTRAP", "1");
    check("documentation as data", command)?;
    let path = target.join("doc/fuseline.json");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let documentation = serde_json::from_str(&text)?;
    let mut items = Items::default();
    items.visit(&documentation, &documentation["root"], "")?;
    eprint!("{}", items.report());
    let bare: Vec<&str> = items.bare().collect();
    if bare.is_empty() { Ok(()) } else { bail!("public items without an example: {}", bare.join(", ")) }
}

/// A folder of our own among those of builds.
fn folder(name: &str) -> PathBuf {
    root().join("target").join(name)
}

/// Public items of a crate.
#[derive(Debug, Default)]
struct Items {
    /// By kind and name, whether there is an example.
    has_example: BTreeMap<(&'static str, String), bool>,
}

impl Items {
    /// Adds an item and what is in it; `docs` is what its re-export says of it.
    fn visit(&mut self, documentation: &Value, id: &Value, docs: &str) -> Result<()> {
        let Some(item) = documentation["index"].get(id.to_string()) else { return Ok(()) };
        let docs = format!("{docs}{}", item["docs"].as_str().unwrap_or_default());
        let (kind, content) =
            item["inner"].as_object().and_then(|inner| inner.iter().next()).context("an empty item")?;
        let kind = match kind.as_str() {
            "module" => {
                return ids(&content["items"]).try_for_each(|id| self.visit(documentation, id, ""));
            }
            "use" => return self.visit_use(documentation, content, &docs),
            "struct" | "enum" | "union" => "types",
            "trait" => "traits",
            "function" => "functions",
            _ => return Ok(()),
        };
        let name = item["name"].as_str().context("an item without a name")?;
        self.add(kind, name.to_owned(), &docs);
        for implementation in ids(&content["impls"]) {
            let content = &documentation["index"][implementation.to_string()]["inner"]["impl"];
            if content["trait"].is_null() {
                self.add_methods(documentation, name, &content["items"]);
            }
        }
        self.add_methods(documentation, name, &content["items"]);
        Ok(())
    }

    /// Adds what is made public from elsewhere. Of items of other crates the re-export has the example; their methods,
    /// and whole crates, are not counted.
    fn visit_use(&mut self, documentation: &Value, content: &Value, docs: &str) -> Result<()> {
        let id = &content["id"];
        if documentation["index"].get(id.to_string()).is_some() {
            return self.visit(documentation, id, docs);
        }
        let path = &documentation["paths"][id.to_string()]["path"];
        if path.as_array().is_some_and(|path| path.len() > 1) {
            self.add("items of other crates", content["name"].as_str().unwrap_or_default().to_owned(), docs);
        }
        Ok(())
    }

    fn add_methods(&mut self, documentation: &Value, of: &str, items: &Value) {
        let items = ids(items).map(|id| &documentation["index"][id.to_string()]);
        for item in items.filter(|item| item["inner"].get("function").is_some()) {
            let name = format!("{of}::{}", item["name"].as_str().unwrap_or_default());
            self.add("methods", name, item["docs"].as_str().unwrap_or_default());
        }
    }

    fn add(&mut self, kind: &'static str, name: String, docs: &str) {
        let has_example = docs.contains("```") || docs.contains("xample") || docs.contains("; see [`");
        self.has_example.insert((kind, name), has_example);
    }

    /// What must have an example and has none.
    fn bare(&self) -> impl Iterator<Item = &str> {
        let bare = self.has_example.iter().filter(|((kind, _), has_example)| *kind != "methods" && !**has_example);
        bare.map(|((_, name), _)| name.as_str())
    }

    /// How many of each kind there are, and how many of them have an example.
    fn report(&self) -> String {
        let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for ((kind, _), has_example) in &self.has_example {
            let (with_example, all) = counts.entry(kind).or_default();
            *with_example += usize::from(*has_example);
            *all += 1;
        }
        let line = |(kind, (with_example, all))| format!("x: {with_example} of {all} {kind} have an example\n");
        counts.into_iter().map(line).collect()
    }
}

/// The elements of a list of numbers of items.
fn ids(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn public_items_are_found_with_their_examples() {
        let function = json!({"function": {}});
        let documentation = json!({
            "index": {
                "0": {"name": "fuseline", "docs": "", "inner": {"module": {"items": [1, 2, 3]}}},
                "1": {"name": "T", "docs": "```\n```", "inner": {"struct": {"impls": [4, 5]}}},
                "2": {"name": null, "docs": "As in the example.", "inner": {"use": {"name": "f", "id": 6}}},
                "3": {"name": null, "docs": null, "inner": {"use": {"name": "Other", "id": 7}}},
                "4": {"name": null, "docs": null, "inner": {"impl": {"trait": null, "items": [8]}}},
                "5": {"name": null, "docs": null, "inner": {"impl": {"trait": {}, "items": [9]}}},
                "6": {"name": "f", "docs": "Says nothing.", "inner": &function},
                "8": {"name": "method", "docs": "", "inner": &function},
                "9": {"name": "of_a_trait", "docs": "", "inner": &function},
            },
            "paths": {"7": {"path": ["other", "Other"]}},
        });
        let mut items = Items::default();
        items.visit(&documentation, &json!(0), "").unwrap();
        assert_eq!(items.bare().collect::<Vec<_>>(), ["Other"]);
        let report = items.report();
        for line in ["1 of 1 types", "1 of 1 functions", "0 of 1 methods", "0 of 1 items of other crates"] {
            assert!(report.contains(line), "{report}");
        }
    }
}
