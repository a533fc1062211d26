//! What became of the cases of a suite.

use std::collections::{BTreeMap, BTreeSet};

/// What became of a case.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// It ran, as if nothing had been changed or to another result.
    Fine,
    /// It was stopped when it was asked to.
    Stopped,
    /// It was refused with a message that names a place.
    Refused(String),
    /// It panicked, aborted, hung, or said nothing useful.
    Wrong(String),
}

/// Counts by mutation, distinct messages, and what went wrong.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    counts: BTreeMap<&'static str, [u64; 4]>,
    messages: BTreeSet<String>,
    wrong: Vec<String>,
}

impl Tally {
    pub(crate) fn count(&mut self, mutation: &'static str, verdict: Verdict, case: impl Fn() -> String) {
        let counts = self.counts.entry(mutation).or_default();
        match verdict {
            Verdict::Fine => counts[0] += 1,
            Verdict::Stopped => counts[1] += 1,
            Verdict::Refused(message) => {
                counts[2] += 1;
                self.messages.insert(kind(&message));
            }
            Verdict::Wrong(what) => {
                counts[3] += 1;
                self.wrong.push(format!("{}\n{what}", case()));
            }
        }
    }

    /// Prints the counts; every one of these mutations must have been at work, and nothing wrong.
    pub(crate) fn finish(self, mutations: &[&str]) {
        let sum = |place: usize| self.counts.values().map(|counts| counts[place]).sum::<u64>();
        println!("mutation                ran  stopped  refused  wrong");
        for (name, [fine, stopped, refused, wrong]) in &self.counts {
            println!("{name:<20} {fine:>6}  {stopped:>7}  {refused:>7}  {wrong:>5}");
        }
        let (fine, stopped, refused) = (sum(0), sum(1), sum(2));
        let distinct = self.messages.len();
        println!("{fine} ran, {stopped} stopped, {refused} refused with {distinct} distinct messages");
        let shown: Vec<&str> = self.wrong.iter().take(20).map(String::as_str).collect();
        assert!(self.wrong.is_empty(), "{} cases went wrong:\n\n{}", self.wrong.len(), shown.join("\n\n"));
        let idle: Vec<&&str> = mutations.iter().filter(|name| !self.counts.contains_key(**name)).collect();
        assert!(idle.is_empty(), "mutations that were never drawn: {idle:?}");
        assert!(distinct > 0 && fine > 0, "cases neither all run nor are all refused");
    }
}

/// The kind of a message: its first line without numbers and quoted parts.
fn kind(message: &str) -> String {
    let line = message.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let mut kind = String::new();
    for (place, part) in line.split('`').enumerate() {
        match place % 2 {
            0 => kind.extend(part.chars().filter(|character| !character.is_ascii_digit())),
            _ => kind.push('…'),
        }
    }
    kind
}
