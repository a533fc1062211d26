//! Every experiment of the paper, with verdicts: `./x bench paper [--scale quick|default|full] [PART]...`.
//!
//! `claims` is the list of what the paper claims and what is asked of each claim; a part runs experiments and says what it
//! found; `judge` holds one against the other. What a part found is kept in the target folder, so that parts can be run
//! one by one: the page is made of the last runs of all parts at one scale. It is `docs/experiments.md` once all parts
//! were run at the default scale (in less than half an hour) or in full (the paper's sizes, as far as memory goes), and
//! stays in the target folder otherwise.

mod algorithms;
pub(crate) mod claims;
mod classes;
mod compilation;
mod enumeration;
mod findings;
#[cfg(feature = "llvm")]
mod footprint;
mod hybrid;
mod judge;
mod load;
mod machine;
mod operators;
mod page;
mod patterns;
mod peers;
mod setting;
mod trend;

use crate::document::{self, Part};
use crate::provenance;
use crate::workloads::Scale;
use findings::Findings;
use judge::Finding;
use load::Load;
use serde::{Deserialize, Serialize};
use setting::Setting;
use std::path::{Path, PathBuf};

const TITLE: &str = "Experiments";

/// Measures, says what it found out, and gives the sections that show it. Without a setting nothing runs, and sections have
/// their headings alone.
type Experiment = fn(Option<Setting>, &mut Findings) -> Vec<Part>;

/// The parts, in the order of the page.
const PARTS: &[(&str, Experiment)] = &[
    ("machine", machine::run),
    ("operators", operators::run),
    ("patterns", patterns::run),
    #[cfg(feature = "llvm")]
    ("footprint", footprint::run),
    ("compilation", compilation::run),
    ("enumeration", enumeration::run),
    ("algorithms", algorithms::run),
    ("hybrid", hybrid::run),
    ("classes", classes::run),
    ("peers", peers::run),
];

/// What a part found, when it last ran.
#[derive(Deserialize, Serialize)]
struct Kept {
    made_by: String,
    findings: Vec<Finding>,
    sections: Vec<Part>,
}

pub(crate) fn run(arguments: &[&str]) {
    if arguments.contains(&"--columns") {
        let sections = PARTS.iter().flat_map(|(_, run)| run(None, &mut Findings::default()));
        return println!("{}", document::markdown(TITLE, &page::parts(&[], sections.collect())));
    }
    let (scale, wanted) = parse(arguments).unwrap_or_else(|message| {
        eprintln!("{message}");
        std::process::exit(1);
    });
    for (name, run) in PARTS.iter().filter(|(name, _)| wanted.is_empty() || wanted.contains(name)) {
        let command = format!("./x bench paper --scale {} {name}", name_of(scale));
        eprintln!("{command}");
        // Sources may change while the part runs.
        let made_by = provenance::made_by(&command, "benches/paper");
        let (mut findings, load) = (Findings::default(), Load::begin());
        let sections = run(Some(Setting::of(scale)), &mut findings);
        let made_by = made_by + &load.of_others();
        keep(scale, name, &Kept { made_by, findings: findings.into_list(), sections });
        let path = write(scale).expect("the page can be written");
        eprintln!("{}", path.display());
    }
}

fn name_of(scale: Scale) -> &'static str {
    scale.pick(["quick", "default", "full"])
}

/// The scale, and the parts that are asked for: none means all.
fn parse<'a>(arguments: &[&'a str]) -> Result<(Scale, Vec<&'a str>), String> {
    let (mut scale, mut wanted) = (Scale::Default, Vec::new());
    let mut arguments = arguments.iter();
    while let Some(&argument) = arguments.next() {
        match argument {
            "--scale" => {
                let name = arguments.next().copied().unwrap_or_default();
                let scales = [Scale::Quick, Scale::Default, Scale::Full];
                let known = scales.into_iter().find(|scale| name_of(*scale) == name);
                scale = known.ok_or_else(|| format!("--scale needs quick, default or full, not `{name}`"))?;
            }
            name if PARTS.iter().any(|(part, _)| *part == name) => wanted.push(name),
            other => {
                let names: Vec<&str> = PARTS.iter().map(|(name, _)| *name).collect();
                return Err(format!("there is no part `{other}`; there are {}", names.join(", ")));
            }
        }
    }
    Ok((scale, wanted))
}

fn kept_path(scale: Scale, name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("experiments").join(name_of(scale)).join(format!("{name}.json"))
}

fn keep(scale: Scale, name: &str, kept: &Kept) {
    let path = kept_path(scale, name);
    std::fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("the target folder takes folders");
    let text = serde_json::to_string_pretty(kept).expect("findings are data");
    std::fs::write(path, text).expect("the target folder takes files");
}

/// Makes the page of what all parts found when they last ran at a scale.
fn write(scale: Scale) -> std::io::Result<PathBuf> {
    let (mut findings, mut sections, mut is_complete) = (Vec::new(), Vec::new(), true);
    for (name, _) in PARTS {
        let text = std::fs::read_to_string(kept_path(scale, name)).ok();
        match text.and_then(|text| serde_json::from_str::<Kept>(&text).ok()) {
            Some(kept) => {
                findings.extend(kept.findings);
                // Plots are those of the report.
                let mut parts = kept.sections.into_iter().filter(|part| !matches!(part, Part::Plot { .. }));
                sections.extend(parts.next());
                sections.push(Part::text(kept.made_by));
                sections.extend(parts);
            }
            None => is_complete = false,
        }
    }
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/docs");
    let is_page = is_complete && scale != Scale::Quick;
    let path = Path::new(if is_page { docs } else { env!("CARGO_TARGET_TMPDIR") }).join("experiments.md");
    std::fs::write(&path, document::markdown(TITLE, &page::parts(&findings, sections)))?;
    Ok(path)
}
