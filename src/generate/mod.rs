//! Synthetic data: random matrices, features with labels for each family of algorithms, and look-alikes of the data
//! sets that operator fusion was first measured on.
//!
//! The same [`Specification`] gives the same data for any number of threads. Rows are generated in parallel, by the
//! current rayon pool.
//!
//! ```
//! use fuseline::generate::{Kind, Specification};
//!
//! let specification = Specification { rows: Some(1000), cols: Some(10), ..Specification::new(Kind::Classes) };
//! let generated = specification.generate()?;
//! assert_eq!(generated.data.dims(), (1000, 10));
//! assert_eq!(generated.labels.map(|labels| labels.dims()), Some((1000, 1)));
//! # Ok::<(), fuseline::generate::GenerateError>(())
//! ```

mod airline;
mod blocks;
mod clusters;
mod digits;
mod features;
mod kind;
mod linear;
mod ratings;
#[cfg(test)]
mod tests;

pub use kind::Kind;

use crate::memory::physical_memory;
use features::{Values, features};
use fuseline_ir::work::{self, NON_ZERO_BYTES, ROW_BYTES};
use fuseline_matrix::{Dense, MatrixBlock};
use kind::Facts;
use linear::Response;
use thiserror::Error;

/// Bytes of a cell.
const CELL_BYTES: f64 = work::CELL_BYTES as f64;

/// What to generate.
///
/// ```
/// use fuseline::generate::{Kind, Specification};
///
/// let specification = Specification { scale: 0.01, ..Specification::new(Kind::Mnist) };
/// assert_eq!(specification.generate()?.data.dims(), (600, 784));
/// let other = Specification { seed: 2, ..specification.clone() };
/// assert_ne!(other.generate()?.data, specification.generate()?.data);
/// # Ok::<(), fuseline::generate::GenerateError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Specification {
    /// What the data is like.
    pub kind: Kind,
    /// Rows before scaling; look-alikes have those of the original otherwise.
    pub rows: Option<u64>,
    /// Columns before scaling; look-alikes have those of the original otherwise.
    pub cols: Option<u64>,
    /// The expected share of non-zeros, above 0 to 1; that of the kind otherwise.
    pub sparsity: Option<f64>,
    /// A factor for the number of rows, and of ratings also for the columns.
    pub scale: f64,
    /// Other seeds give other data of the same kind.
    pub seed: u64,
    /// The number of classes or clusters, at least 2.
    pub classes: usize,
    /// The deviation of noise: in the scores of classes, in the values of a regression (scores have deviation 1), and
    /// around the centres of clusters (which lie between -1 and 1).
    pub noise: f64,
}

/// What was generated.
///
/// ```
/// use fuseline::generate::{Generated, Kind, Specification};
///
/// let specification = Specification { rows: Some(100), cols: Some(3), ..Specification::new(Kind::Clusters) };
/// let Generated { data, labels } = specification.generate()?;
/// assert_eq!((data.dims(), labels.expect("clusters have numbers").dims()), ((100, 3), (100, 1)));
/// # Ok::<(), fuseline::generate::GenerateError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Generated {
    /// The data.
    pub data: MatrixBlock,
    /// A column of labels or responses, for kinds that have them.
    pub labels: Option<MatrixBlock>,
}

/// A specification that makes no sense or asks for too much.
///
/// ```
/// use fuseline::generate::{GenerateError, Kind, Specification};
///
/// let error = Specification::new(Kind::Uniform).generate().unwrap_err();
/// assert_eq!(error, GenerateError::NoShape { kind: Kind::Uniform, missing: "rows" });
/// ```
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum GenerateError {
    /// A kind that has no shape of its own.
    #[error("data of kind `{kind}` needs {missing}")]
    NoShape {
        /// The kind.
        kind: Kind,
        /// `rows` or `cols`.
        missing: &'static str,
    },
    /// A number out of its range.
    #[error("{name} is {value}, where {expected} is needed")]
    Range {
        /// The field of the specification.
        name: &'static str,
        /// Its value.
        value: f64,
        /// What was expected.
        expected: &'static str,
    },
    /// A shape that the kind does not have.
    #[error("data of kind `{kind}` has {expected}")]
    Shape {
        /// The kind.
        kind: Kind,
        /// What its shape is.
        expected: &'static str,
    },
    /// More than fits into memory.
    #[error(
        "a {rows} x {cols} matrix with about {nonzeros} non-zeros takes {needed} MB, and there are {available} MB of memory"
    )]
    Memory {
        /// Rows.
        rows: u64,
        /// Columns.
        cols: u64,
        /// Expected non-zeros.
        nonzeros: u64,
        /// Megabytes that generating takes.
        needed: u64,
        /// Megabytes that there are.
        available: u64,
    },
}

/// Dimensions and density, checked.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Shape {
    rows: usize,
    cols: usize,
    sparsity: f64,
}

impl Shape {
    fn nonzeros(&self) -> f64 {
        self.rows as f64 * self.cols as f64 * self.sparsity
    }

    fn is_sparse(&self) -> bool {
        MatrixBlock::best_format(self.rows, self.cols, self.nonzeros() as usize).is_sparse()
    }

    /// Bytes that are needed at a time. Sparse matrices are put together from blocks, which hold them once more.
    fn bytes(&self) -> f64 {
        let labels = self.rows as f64 * CELL_BYTES;
        if self.is_sparse() {
            2.0 * (self.nonzeros() * NON_ZERO_BYTES as f64 + self.rows as f64 * ROW_BYTES as f64) + labels
        } else {
            self.rows as f64 * self.cols as f64 * CELL_BYTES + labels
        }
    }
}

impl Specification {
    /// Data of this kind with defaults for everything else. As in the example of [`Specification`].
    pub fn new(kind: Kind) -> Self {
        Specification { kind, rows: None, cols: None, sparsity: None, scale: 1.0, seed: 1, classes: 2, noise: 0.1 }
    }

    /// Generates the data. As in the example of [`Specification`].
    ///
    /// # Errors
    /// A shape that is missing or not the kind's, numbers out of range, more than fits into memory.
    pub fn generate(&self) -> Result<Generated, GenerateError> {
        self.check_numbers()?;
        let shape = self.shape()?;
        self.check_memory(&shape)?;
        let seed = self.seed;
        let without_labels = |data: MatrixBlock| (data, None);
        let with_labels = |(data, labels): (MatrixBlock, Dense)| (data, Some(labels));
        let plain = |values: Values| features(&shape, values, seed, |_, _, _| 0.0).0;
        let (data, labels) = match self.kind {
            Kind::Uniform => without_labels(plain(Values::Uniform)),
            Kind::Normal => without_labels(plain(Values::Normal)),
            Kind::Classes => with_labels(linear::labelled(self, &shape, Response::Class)),
            Kind::Regression => with_labels(linear::labelled(self, &shape, Response::Value)),
            Kind::Poisson => with_labels(linear::labelled(self, &shape, Response::Poisson)),
            Kind::Gamma => with_labels(linear::labelled(self, &shape, Response::Gamma)),
            Kind::Binomial => with_labels(linear::labelled(self, &shape, Response::Binomial)),
            Kind::Clusters => with_labels(clusters::clusters(self, &shape)),
            Kind::Ratings | Kind::Netflix => without_labels(ratings::ratings(&shape, seed, ratings::NETFLIX)),
            Kind::Amazon => without_labels(ratings::ratings(&shape, seed, ratings::AMAZON)),
            Kind::Graph => without_labels(ratings::graph(&shape, seed)),
            Kind::Airline78 => with_labels(airline::flights(&shape, seed)),
            Kind::Mnist => with_labels(digits::digits(&shape, seed)),
        };
        Ok(Generated { data, labels: labels.map(MatrixBlock::from) })
    }

    fn check_numbers(&self) -> Result<(), GenerateError> {
        let range = |name, value: f64, is_right: bool, expected| {
            if is_right { Ok(()) } else { Err(GenerateError::Range { name, value, expected }) }
        };
        let sparsity = self.sparsity.unwrap_or(1.0);
        range("sparsity", sparsity, sparsity > 0.0 && sparsity <= 1.0, "a share above 0 and up to 1")?;
        range("scale", self.scale, self.scale > 0.0 && self.scale.is_finite(), "a factor above 0")?;
        range("classes", self.classes as f64, (2..=1 << 20).contains(&self.classes), "a number from 2 to 1048576")?;
        range("noise", self.noise, self.noise >= 0.0 && self.noise.is_finite(), "a deviation of at least 0")
    }

    fn shape(&self) -> Result<Shape, GenerateError> {
        let kind = self.kind;
        let facts = kind.facts();
        self.check_fixed(facts)?;
        let rows = self.rows.or(facts.rows).ok_or(GenerateError::NoShape { kind, missing: "rows" })?;
        let rows = scaled("rows", rows, self.scale)?;
        let cols = match self.cols.or(facts.cols) {
            _ if kind == Kind::Graph => rows,
            Some(cols) if facts.scales_cols => scaled("cols", cols, self.scale)?,
            Some(cols) => scaled("cols", cols, 1.0)?,
            None => return Err(GenerateError::NoShape { kind, missing: "cols" }),
        };
        let links_per_page = 8.0;
        let default = if kind == Kind::Graph { (links_per_page / cols as f64).min(1.0) } else { facts.sparsity };
        Ok(Shape { rows, cols, sparsity: self.sparsity.unwrap_or(default) })
    }

    /// Refuses what a kind fixes.
    fn check_fixed(&self, facts: &Facts) -> Result<(), GenerateError> {
        let kind = self.kind;
        let differs = |given: Option<u64>, fixed: Option<u64>| given.is_some() && given != fixed;
        let expected = match kind {
            Kind::Graph if differs(self.cols, self.rows) => "as many columns as rows",
            Kind::Airline78 if differs(self.cols, facts.cols) => "29 columns",
            Kind::Airline78 if self.sparsity.is_some() => "a fixed density",
            Kind::Mnist if differs(self.cols, facts.cols) => "784 columns",
            _ => return Ok(()),
        };
        Err(GenerateError::Shape { kind, expected })
    }

    /// Bytes of what all rows have in common.
    fn model_bytes(&self, shape: &Shape) -> f64 {
        let per_column = match self.kind {
            Kind::Classes | Kind::Clusters => CELL_BYTES * self.classes as f64,
            Kind::Regression | Kind::Poisson | Kind::Gamma | Kind::Binomial => CELL_BYTES,
            // Popularity, the table to draw columns from while it is made, the factors of columns.
            Kind::Ratings | Kind::Netflix | Kind::Amazon | Kind::Graph => 128.0,
            Kind::Uniform | Kind::Normal | Kind::Airline78 | Kind::Mnist => 0.0,
        };
        per_column * shape.cols as f64
    }

    fn check_memory(&self, shape: &Shape) -> Result<(), GenerateError> {
        let available = physical_memory();
        let needed = shape.bytes() + self.model_bytes(shape);
        if needed <= available as f64 {
            return Ok(());
        }
        let megabytes = |bytes: f64| (bytes / 1e6).ceil() as u64;
        Err(GenerateError::Memory {
            rows: shape.rows as u64,
            cols: shape.cols as u64,
            nonzeros: shape.nonzeros() as u64,
            needed: megabytes(needed),
            available: megabytes(available as f64),
        })
    }
}

/// A scaled dimension: at least one.
fn scaled(name: &'static str, number: u64, scale: f64) -> Result<usize, GenerateError> {
    let value = (number as f64 * scale).round().max(if number == 0 { 0.0 } else { 1.0 });
    // Columns have 32-bit indexes; rows are bounded by memory.
    let (largest, expected) = match name {
        "cols" => (f64::from(u32::MAX), "a number from 1 to 4294967295"),
        _ => (2_f64.powi(48), "a number from 1 to 2^48"),
    };
    if value < 1.0 || value > largest {
        return Err(GenerateError::Range { name, value, expected });
    }
    Ok(value as usize)
}
