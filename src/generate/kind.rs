//! The kinds of data: names, and the shapes of look-alikes.

use std::fmt;
use std::str::FromStr;

/// A kind of synthetic data.
///
/// ```
/// use fuseline::generate::Kind;
///
/// let kind: Kind = "clusters".parse()?;
/// assert_eq!((kind, kind.name()), (Kind::Clusters, "clusters"));
/// assert!(kind.has_labels() && !Kind::Graph.has_labels());
/// assert!(Kind::all().any(|known| known == kind));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Uniform from -1 to 1.
    Uniform,
    /// Normal with mean 0 and deviation 1.
    Normal,
    /// Uniform features; labels 1 to the number of classes from a linear model with noise.
    Classes,
    /// Uniform features; values of a linear model with noise.
    Regression,
    /// Uniform features; counts with a logarithmic link to a linear model.
    Poisson,
    /// Uniform features; positive values with a logarithmic link to a linear model.
    Gamma,
    /// Uniform features; 0 or 1 with a probit link to a linear model.
    Binomial,
    /// Points around centres; the numbers of the centres as labels.
    Clusters,
    /// Ratings from 1 to 5 of low rank with noise, skewed over rows and columns as Netflix' are.
    Ratings,
    /// The link matrix of a web; each column sums to 1.
    Graph,
    /// Like the flights of 2007 and 2008 in the Airline data; labels 1 and 2.
    Airline78,
    /// Like the images of Mnist; labels 1 to 10. The scale 16.875 gives Mnist1m, 135 Mnist8m.
    Mnist,
    /// Like the ratings of the Netflix Prize.
    Netflix,
    /// Like the ratings of books at Amazon.
    Amazon,
}

/// What a kind is called and which shape it has unless another one is asked for.
#[derive(Debug)]
pub(super) struct Facts {
    kind: Kind,
    name: &'static str,
    pub(super) rows: Option<u64>,
    pub(super) cols: Option<u64>,
    pub(super) sparsity: f64,
    /// Whether the scale is one of the columns, too.
    pub(super) scales_cols: bool,
}

const fn synthetic(kind: Kind, name: &'static str) -> Facts {
    Facts { kind, name, rows: None, cols: None, sparsity: 1.0, scales_cols: false }
}

const fn look_alike(kind: Kind, name: &'static str, rows: u64, cols: u64, sparsity: f64) -> Facts {
    Facts { kind, name, rows: Some(rows), cols: Some(cols), sparsity, scales_cols: false }
}

/// Shapes and densities are those of the originals.
const KINDS: &[Facts] = &[
    synthetic(Kind::Uniform, "uniform"),
    synthetic(Kind::Normal, "normal"),
    synthetic(Kind::Classes, "classes"),
    synthetic(Kind::Regression, "regression"),
    synthetic(Kind::Poisson, "poisson"),
    synthetic(Kind::Gamma, "gamma"),
    synthetic(Kind::Binomial, "binomial"),
    synthetic(Kind::Clusters, "clusters"),
    Facts { sparsity: 0.01, scales_cols: true, ..synthetic(Kind::Ratings, "ratings") },
    synthetic(Kind::Graph, "graph"),
    look_alike(Kind::Airline78, "airline78", 14_462_943, 29, 0.73),
    look_alike(Kind::Mnist, "mnist", 60_000, 784, 0.25),
    Facts { scales_cols: true, ..look_alike(Kind::Netflix, "netflix", 480_189, 17_770, 0.012) },
    Facts { scales_cols: true, ..look_alike(Kind::Amazon, "amazon", 8_026_324, 2_330_066, 1.2e-6) },
];

impl Kind {
    /// All kinds. As in the example of [`Kind`].
    pub fn all() -> impl Iterator<Item = Kind> {
        KINDS.iter().map(|facts| facts.kind)
    }

    /// The name on the command line. As in the example of [`Kind`].
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// Whether data of this kind has labels or responses. As in the example of [`Kind`].
    pub fn has_labels(self) -> bool {
        match self {
            Kind::Uniform | Kind::Normal | Kind::Ratings | Kind::Graph | Kind::Netflix | Kind::Amazon => false,
            Kind::Classes | Kind::Regression | Kind::Poisson | Kind::Gamma | Kind::Binomial => true,
            Kind::Clusters | Kind::Airline78 | Kind::Mnist => true,
        }
    }

    pub(super) fn facts(self) -> &'static Facts {
        KINDS.iter().find(|facts| facts.kind == self).expect("every kind has a row")
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kind {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        Kind::all().find(|kind| kind.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Kind::all().map(Kind::name).collect();
            format!("there is no such kind; there are {}", names.join(", "))
        })
    }
}
