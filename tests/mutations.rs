//! Valid programs and files of every format, changed by named mutations: whatever comes of it, runs end, by themselves or
//! when they are asked to, and messages name a place. Nothing panics, aborts or hangs.
//!
//! `FUSELINE_LONG=1` runs 20,000 cases in place of 500; `FUSELINE_SEED=N` draws others.

#[path = "mutations/bytes.rs"]
mod bytes;
#[path = "mutations/children.rs"]
mod children;
#[path = "mutations/files.rs"]
mod files;
#[path = "mutations/limits.rs"]
mod limits;
#[path = "support/long.rs"]
mod long;
#[path = "mutations/tally.rs"]
mod tally;
#[path = "mutations/text.rs"]
mod text;
#[path = "mutations/valid.rs"]
mod valid;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tally::Tally;

/// Cases of a suite and of its long form.
fn cases(short: u64, of_long_form: u64) -> u64 {
    if long::is_long() { of_long_form } else { short }
}

/// Seeds of cases, each of which can be repeated by itself.
fn seeds(count: u64) -> impl Iterator<Item = u64> {
    let first = std::env::var("FUSELINE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1_u64);
    (0..count).map(move |case| first.wrapping_mul(1_000_003).wrapping_add(case))
}

/// One of them.
fn one_of<'a, T>(random: &mut Pcg64Mcg, choices: &'a [T]) -> &'a T {
    &choices[random.random_range(0..choices.len())]
}

/// A folder for the files of a suite, in which it runs: what mutated programs write, they write there. A process has one
/// working directory, so that suites of one process take turns.
fn enter_folder() -> (tempfile::TempDir, MutexGuard<'static, ()>) {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().expect("there is room for a folder");
    std::env::set_current_dir(folder.path()).expect("it is a folder");
    (folder, turn)
}

/// How long something hangs that is at work, in time of the processor, of which other programs take none.
const HANGS_AT_WORK: Duration = Duration::from_secs(5);

/// How long something hangs that waits.
const HANGS_WAITING: Duration = Duration::from_secs(120);

#[test]
fn there_are_enough_programs_files_and_mutations() {
    let programs = valid::programs();
    assert!(programs.len() > 60, "{} programs", programs.len());
    let formats: BTreeSet<&str> = files::all().iter().map(|file| file.format).collect();
    for format in &formats {
        let count = files::all().iter().filter(|file| file.format == *format).count();
        assert!(count >= 20, "{count} files of {format}");
    }
    let expected = ["binary", "blocks", "csv", "frame", "libsvm", "mm", "npy", "npz", "text"];
    assert_eq!(formats.into_iter().collect::<Vec<_>>(), expected);
    let mutations: BTreeSet<&str> = [text::names(), bytes::names(), limits::names()].concat().into_iter().collect();
    assert!(mutations.len() >= 15, "{mutations:?}");
}

/// Without a mutation nothing is wrong with any of them.
#[test]
fn programs_and_files_are_valid_as_they_are() {
    let (folder, _turn) = enter_folder();
    let session = valid::session(valid::CONFIGURATIONS[0]);
    for program in valid::programs() {
        program.write_inputs(folder.path());
        let result = valid::run(&session, &program.path, &program.text, &program.arguments);
        assert_eq!(result.err(), None, "{}", program.path);
    }
    for file in files::all() {
        file.write(folder.path());
        assert_eq!(file.read(folder.path()).err(), None, "{} of {} bytes", file.name, file.bytes.len());
    }
}

#[test]
fn mutated_programs_end_as_programs_should() {
    let (folder, _turn) = enter_folder();
    let (programs, mut tally) = (valid::programs(), Tally::default());
    let mut runners: Vec<_> = valid::CONFIGURATIONS.iter().copied().map(valid::Runner::new).collect();
    for seed in seeds(cases(250, 10_000)) {
        let random = &mut Pcg64Mcg::seed_from_u64(seed);
        let program = one_of(random, &programs);
        let &(name, mutation) = one_of(random, text::MUTATIONS);
        let mutated = mutation(&program.text, random);
        program.write_inputs(folder.path());
        let number = random.random_range(0..runners.len());
        let verdict = runners[number].run(program, &mutated);
        tally.count(name, verdict, || {
            format!("seed {seed}: {name} of {}, {:?}\n{mutated}", program.path, valid::CONFIGURATIONS[number])
        });
    }
    tally.finish(&text::names());
}

#[test]
fn mutated_files_are_read_or_refused() {
    let (folder, _turn) = enter_folder();
    let (files, mut tally) = (files::all(), Tally::default());
    for seed in seeds(cases(200, 9_000)) {
        let random = &mut Pcg64Mcg::seed_from_u64(seed);
        let mut file = one_of(random, &files).clone();
        let &(name, mutation) = one_of(random, bytes::MUTATIONS);
        mutation(&mut file, random);
        file.write(folder.path());
        let verdict = files::verdict(&file, folder.path());
        tally.count(name, verdict, || {
            let metadata = String::from_utf8_lossy(&file.metadata);
            format!("seed {seed}: {name} of {} ({})\n{metadata}\n{:?}", file.name, file.format, file.bytes)
        });
    }
    tally.finish(&bytes::names());
}

/// Limits of the system and closed streams, which only a process of its own can have.
#[cfg(unix)]
#[test]
fn processes_end_as_they_should_whatever_the_system_refuses() {
    run_within(limits::LIMITS, cases(30, 1_000));
}

/// Whichever allocation it is, and on every backend: an error, or the run goes on.
#[cfg(target_env = "gnu")]
#[test]
fn processes_end_as_they_should_whichever_allocation_is_refused() {
    run_within(&[limits::REFUSED_ALLOCATION], cases(20, 3_000));
}

/// Runs so many programs in processes of their own, within these limits. They take turns, so that a few cases have all.
#[cfg(unix)]
fn run_within(limits: &[limits::Limit], cases: u64) {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let (programs, mut tally) = (valid::programs(), Tally::default());
    let with_files: Vec<_> = programs.iter().filter(|program| program.has_files()).cloned().collect();
    for (seed, limit) in seeds(cases).zip(limits.iter().cycle()) {
        let random = &mut Pcg64Mcg::seed_from_u64(seed);
        let program = one_of(random, if limit.is_of_files { &with_files } else { &programs });
        let shell = (limit.shell)(random);
        let verdict = children::run(program, folder.path(), limit, &shell);
        tally.count(limit.name, verdict, || format!("seed {seed}: `{shell}` for {}", program.path));
    }
    let names: Vec<&str> = limits.iter().map(|limit| limit.name).collect();
    tally.finish(&names);
}

/// Whether a message names a line of a script, or of a function of the library that it calls: `name.dml:line`.
fn names_line(message: &str) -> bool {
    message.split(".dml:").skip(1).any(|behind| behind.starts_with(|character: char| character.is_ascii_digit()))
}

fn file_name(path: &str) -> String {
    Path::new(path).file_name().unwrap_or_default().to_string_lossy().into_owned()
}
