//! What a script computed, and how close two computations are.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What a script printed and wrote. Equal results have equal bits: numbers are written with all of their digits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Results {
    /// Lines that name no number.
    pub(crate) lines: Vec<String>,
    /// Numbers of lines `name: number` and `name = number`; of several of the same name all, in order.
    scalars: BTreeMap<String, Vec<f64>>,
    /// Matrices by file name without the ending.
    matrices: BTreeMap<String, Vec<Vec<f64>>>,
}

impl Results {
    pub(crate) fn of_print(printed: &str) -> Self {
        let mut results = Results { lines: Vec::new(), scalars: BTreeMap::new(), matrices: BTreeMap::new() };
        for line in printed.lines() {
            let named = line.rsplit_once(": ").map(|(name, rest)| (name, rest.rsplit(" = ").next().unwrap_or(rest)));
            match named.and_then(|(name, number)| Some((name, number.parse().ok()?))) {
                Some((name, number)) => results.scalars.entry(name.to_owned()).or_default().push(number),
                None => results.lines.push(line.to_owned()),
            }
        }
        results
    }

    /// Adds the CSV files of a folder.
    pub(crate) fn with_files(mut self, folder: &Path) -> Self {
        for entry in fs::read_dir(folder).expect("the folder can be read") {
            let path = entry.expect("folders can be read").path();
            if path.extension().is_some_and(|extension| extension == "csv") {
                let text = fs::read_to_string(&path).expect("the script wrote text");
                let row = |line: &str| line.split(',').map(|cell| cell.parse().expect("a number")).collect();
                let name = path.file_stem().expect("files have names").to_string_lossy().into_owned();
                self.matrices.insert(name, text.lines().map(row).collect());
            }
        }
        self
    }

    pub(crate) fn scalar(&self, name: &str) -> f64 {
        let numbers = self.scalars.get(name).unwrap_or_else(|| panic!("`{name}` is not among {:?}", self.scalars));
        *numbers.last().expect("a name has a number")
    }

    pub(crate) fn matrix(&self, name: &str) -> &[Vec<f64>] {
        self.matrices.get(name).unwrap_or_else(|| panic!("{name}.csv is not among {:?}", self.matrices.keys()))
    }

    /// How many iterations were reported, as lines `iteration 7: ...`.
    pub(crate) fn iterations(&self) -> usize {
        self.scalars.keys().filter(|name| is_progress(name)).count()
    }

    /// Every number but those of iterations, by the name of what it belongs to.
    fn numbers(&self) -> impl Iterator<Item = (&str, Vec<f64>)> {
        let scalars = self.scalars.iter().filter(|(name, _)| !is_progress(name));
        let scalars = scalars.map(|(name, numbers)| (name.as_str(), numbers.clone()));
        let matrices = self.matrices.iter().map(|(name, rows)| (name.as_str(), rows.concat()));
        scalars.chain(matrices)
    }

    /// Asserts that both hold the same quantities, each as close as [`distance`] measures it, and that iterations differ
    /// by one at most.
    #[track_caller]
    pub(crate) fn assert_close(&self, other: &Results, tolerance: f64, what: &str) {
        assert_eq!(self.lines, other.lines, "{what}");
        let (one, another) = (self.iterations(), other.iterations());
        assert!(one.abs_diff(another) <= 1, "{what}: {one} and {another} iterations");
        assert!(self.numbers().map(|(name, _)| name).eq(other.numbers().map(|(name, _)| name)), "{what}");
        for ((name, one), (_, another)) in self.numbers().zip(other.numbers()) {
            assert_near(&one, &another, tolerance, &format!("{what}: {name}"));
        }
    }
}

fn is_progress(name: &str) -> bool {
    name.starts_with("iteration ")
}

/// The largest distance of two numbers at the same place, relative to the largest number of all; equal infinities have
/// none.
pub(crate) fn distance(one: &[f64], another: &[f64]) -> f64 {
    let finite = |values: &[f64]| values.iter().map(|value| value.abs()).filter(|v| v.is_finite()).fold(0.0, f64::max);
    let largest = finite(one).max(finite(another)).max(f64::MIN_POSITIVE);
    let of_pair = |(one, another): (&f64, &f64)| if one == another { 0.0 } else { (one - another).abs() / largest };
    one.iter().zip(another).map(of_pair).fold(0.0, |most, next| if next > most || next.is_nan() { next } else { most })
}

#[track_caller]
pub(crate) fn assert_near(actual: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(actual.len(), expected.len(), "{what}");
    let distance = distance(actual, expected);
    assert!(distance <= tolerance, "{what}: {distance:e} apart\n{actual:?}\n{expected:?}");
}

#[test]
fn distances_are_relative_and_see_what_is_not_finite() {
    assert_eq!(distance(&[1.0, 100.0], &[2.0, 100.0]), 0.01);
    assert_eq!(distance(&[f64::INFINITY], &[f64::INFINITY]), 0.0);
    assert_eq!(distance(&[f64::INFINITY, 1.0], &[1.0, 1.0]), f64::INFINITY);
    assert!(distance(&[f64::NAN, 1.0], &[1.0, 1.0]).is_nan());
}

#[test]
fn results_tell_numbers_from_other_lines() {
    let results = Results::of_print("loss: 1.5\niteration 2: objective = 3, gradient = 4\nno number: yes\n");
    assert_eq!(results.scalar("loss"), 1.5);
    assert_eq!(results.iterations(), 1);
    assert_eq!(results.lines, ["no number: yes"]);
}
