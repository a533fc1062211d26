//! Where the time of `./x test` goes: seconds of each step, and of each suite as nextest reports them.

use anyhow::{Context, Result};
use roxmltree::{Document, Node};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Instant;

/// What was measured so far.
#[derive(Debug)]
pub(crate) struct Timing {
    start: Instant,
    steps: Vec<(String, f64)>,
    suites: Vec<Suite>,
}

/// The tests of one binary.
#[derive(Clone, Debug, PartialEq)]
struct Suite {
    name: String,
    tests: usize,
    seconds: f64,
}

impl Timing {
    pub(crate) fn begin() -> Self {
        Timing { start: Instant::now(), steps: Vec::new(), suites: Vec::new() }
    }

    /// Runs a step and keeps how long it took, whether or not it succeeds.
    pub(crate) fn step(&mut self, name: &str, run: impl FnOnce() -> Result<()>) -> Result<()> {
        let start = Instant::now();
        let result = run();
        self.steps.push((name.to_owned(), start.elapsed().as_secs_f64()));
        result
    }

    /// Adds the suites of a step from the `JUnit` report that nextest wrote.
    pub(crate) fn add_suites(&mut self, step: &str, report: &str) -> Result<()> {
        let suites = read_suites(report).context("nextest's report")?;
        self.suites.extend(suites.into_iter().map(|suite| Suite { name: format!("{}, {step}", suite.name), ..suite }));
        Ok(())
    }

    /// Two tables, the longest first. Tests run side by side, so that suites add up to more than their step takes.
    pub(crate) fn report(&self) -> String {
        let mut steps: Vec<_> = self.steps.iter().map(|(name, seconds)| (*seconds, name.clone())).collect();
        let mut suites: Vec<_> = self
            .suites
            .iter()
            .map(|suite| (suite.seconds, format!("{} ({} tests)", suite.name, suite.tests)))
            .collect();
        let mut text = format!("seconds of each step, {:.1} in all:\n", self.start.elapsed().as_secs_f64());
        write_rows(&mut text, &mut steps);
        if !suites.is_empty() {
            text.push_str("seconds of each suite's tests, added up:\n");
            write_rows(&mut text, &mut suites);
        }
        text
    }
}

fn write_rows(text: &mut String, rows: &mut [(f64, String)]) {
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (seconds, name) in rows {
        writeln!(text, "{seconds:8.1}  {name}").expect("strings take writes");
    }
}

/// The suites of a `JUnit` report, by name.
fn read_suites(report: &str) -> Result<Vec<Suite>> {
    let document = Document::parse(report)?;
    let mut suites = BTreeMap::new();
    for case in document.descendants().filter(|node| node.has_tag_name("testcase")) {
        let name = case.parent().and_then(|suite| suite.attribute("name")).context("a test outside of a suite")?;
        let (tests, seconds) = suites.entry(name).or_insert((0, 0.0));
        *tests += 1;
        *seconds += seconds_of(case)?;
    }
    Ok(suites.into_iter().map(|(name, (tests, seconds))| Suite { name: name.to_owned(), tests, seconds }).collect())
}

fn seconds_of(case: Node<'_, '_>) -> Result<f64> {
    let text = case.attribute("time").context("a test without a time")?;
    text.parse().with_context(|| format!("{text} is no time"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="3" time="2.000">
    <testsuite name="fuseline::cli" tests="2">
        <testcase name="a" classname="fuseline::cli" time="0.500"></testcase>
        <testcase name="b" classname="fuseline::cli" time="1.250"><failure type="x">no &lt; yes</failure></testcase>
    </testsuite>
    <testsuite name="fuseline::tidy" tests="1">
        <testcase name="c" classname="fuseline::tidy" time="2.000"/>
    </testsuite>
</testsuites>"#;

    #[test]
    fn suites_are_the_sums_of_their_tests() {
        let suite = |name: &str, tests, seconds| Suite { name: name.into(), tests, seconds };
        assert_eq!(read_suites(REPORT).unwrap(), [suite("fuseline::cli", 2, 1.75), suite("fuseline::tidy", 1, 2.0)]);
    }

    #[test]
    fn broken_reports_are_errors() {
        for report in [
            "<a>",
            "<testsuite name='s'><testcase/></testsuite>",
            "<testsuite name='s'><testcase time='x'/></testsuite>",
        ] {
            assert!(read_suites(report).is_err(), "{report}");
        }
    }

    #[test]
    fn the_longest_come_first_and_failed_steps_count() {
        let mut timing = Timing::begin();
        timing.step("quick", || Ok(())).unwrap();
        timing.step("failing", || anyhow::bail!("no")).unwrap_err();
        timing.add_suites("with everything", REPORT).unwrap();
        let report = timing.report();
        let at = |text: &str| report.find(text).unwrap_or_else(|| panic!("{text} is not in\n{report}"));
        assert!(at("quick") > 0 && at("failing") > 0);
        assert!(at("2.0  fuseline::tidy, with everything (1 tests)") < at("1.8  fuseline::cli"), "{report}");
    }
}
