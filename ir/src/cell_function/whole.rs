//! Functions of a whole frame, which `map` takes by their names in SystemDS, with constant arguments.

use super::parse::{Result, error, parse};
use super::{CellFunction, CellFunctionError};

/// What `map` applies.
#[derive(Clone, Debug, PartialEq)]
pub enum MapFunction {
    /// A function of cells.
    Cells(CellFunction),
    /// A function of the whole frame.
    Frame(WholeFrameFunction),
}

/// A function of a whole frame.
#[derive(Clone, Debug, PartialEq)]
pub enum WholeFrameFunction {
    /// `UtilFunctions.syntacticalPatternDiscovery(threshold,replacement)`: replaces the cells that do not look like most of
    /// their column.
    SyntacticPatterns {
        /// The share of a column's cells that a pattern must exceed.
        threshold: f64,
        /// What stands for cells of other patterns.
        replacement: String,
    },
    /// `UtilFunctions.exponentialMovingAverageImputation(tries;mode;season;alpha;beta;gamma)`: predicts each cell of each
    /// column from those before it.
    MovingAverage {
        /// How many values to try for the weights that are not given.
        tries: usize,
        /// What is smoothed.
        smoothing: Smoothing,
        /// Cells of a season.
        season: usize,
        /// How much a new level, trend and season weigh, from 0 to 1; NaN where it is not given.
        weights: [f64; 3],
    },
}

/// What exponential smoothing follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Smoothing {
    /// `single`: the level.
    Level,
    /// `double`: level and trend (Holt).
    Trend,
    /// `triple`: level, trend and season (Holt and Winters).
    Season,
}

/// The names of functions of whole frames, in the order of [`WholeFrameFunction`].
const NAMES: [&str; 2] =
    ["UtilFunctions.syntacticalPatternDiscovery", "UtilFunctions.exponentialMovingAverageImputation"];

/// Parses a text that `map` takes.
///
/// # Errors
/// It is neither a function of cells nor one of a whole frame, or their arguments cannot be.
pub fn parse_map(text: &str) -> Result<MapFunction> {
    let called = NAMES.iter().position(|name| text.trim_start().starts_with(name));
    let Some(function) = called else { return parse(text).map(MapFunction::Cells) };
    let arguments = Arguments::new(text, [',', ';'][function])?;
    let function = if function == 0 {
        let [threshold, replacement] = arguments.exactly()?;
        WholeFrameFunction::SyntacticPatterns {
            threshold: arguments.share(threshold)?,
            replacement: replacement.to_owned(),
        }
    } else {
        let [tries, mode, season, alpha, beta, gamma] = arguments.exactly()?;
        WholeFrameFunction::MovingAverage {
            tries: arguments.count(tries)?,
            smoothing: arguments.smoothing(mode)?,
            season: arguments.count(season)?,
            weights: [arguments.weight(alpha)?, arguments.weight(beta)?, arguments.weight(gamma)?],
        }
    };
    Ok(MapFunction::Frame(function))
}

/// The arguments of a function of a whole frame, in the text of the call.
struct Arguments<'a> {
    text: &'a str,
    parts: Vec<&'a str>,
}

impl<'a> Arguments<'a> {
    fn new(text: &'a str, separator: char) -> Result<Self> {
        let call = text.trim_end();
        let open = call.find('(').filter(|_| call.ends_with(')'));
        let open = open.ok_or_else(|| error(text, text.chars().count(), "arguments in parentheses are missing"))?;
        Ok(Arguments { text, parts: call[open + 1..call.len() - 1].split(separator).collect() })
    }

    /// So many arguments.
    fn exactly<const COUNT: usize>(&self) -> Result<[&'a str; COUNT]> {
        let wrong =
            |_| self.error(self.text, format!("the function takes {COUNT} arguments, not {}", self.parts.len()));
        self.parts.clone().try_into().map_err(wrong)
    }

    /// An error at an argument.
    fn error(&self, part: &str, message: impl Into<String>) -> CellFunctionError {
        let byte = part.as_ptr() as usize - self.text.as_ptr() as usize;
        error(self.text, self.text[..byte].chars().count() + 1, message)
    }

    fn number(&self, part: &str) -> Result<f64> {
        part.trim().parse().map_err(|_| self.error(part, format!("{:?} is no number", part.trim())))
    }

    fn share(&self, part: &str) -> Result<f64> {
        match self.number(part)? {
            share if (0.0..=1.0).contains(&share) => Ok(share),
            other => Err(self.error(part, format!("a share from 0 to 1 is needed, not {other}"))),
        }
    }

    fn weight(&self, part: &str) -> Result<f64> {
        match self.number(part)? {
            missing if missing.is_nan() => Ok(missing),
            _ => self.share(part),
        }
    }

    fn count(&self, part: &str) -> Result<usize> {
        match self.number(part)? {
            count if count >= 1.0 && count <= f64::from(u32::MAX) && count.fract() == 0.0 => Ok(count as usize),
            other => Err(self.error(part, format!("a count from 1 on is needed, not {other}"))),
        }
    }

    fn smoothing(&self, part: &str) -> Result<Smoothing> {
        match part.trim() {
            "single" => Ok(Smoothing::Level),
            "double" => Ok(Smoothing::Trend),
            "triple" => Ok(Smoothing::Season),
            other => Err(self.error(part, format!("`single`, `double` or `triple` is needed, not {other:?}"))),
        }
    }
}
