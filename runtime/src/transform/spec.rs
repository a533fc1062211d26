//! The specification of a transformation: JSON, as in SystemDS, whose keys need no quotes.
//!
//! `{ids: true, recode: [1, 3], dummycode: [3], bin: [{id: 2, method: "equi-width", numbins: 5}],
//! impute: [{id: 2, method: "global_mean"}], omit: [1]}`: columns by position from 1, or by name without `ids`.

use super::TransformError;
use fuseline_matrix::{Collected, Part};
use serde::Deserialize;

/// The most bins of a column.
const MAX_BINS: usize = 1_000_000;

/// What becomes of each column.
#[derive(Debug, PartialEq)]
pub(crate) struct Specification {
    pub(super) columns: Collected<ColumnSpecification>,
}

impl Part for ColumnSpecification {}

/// What becomes of a column.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ColumnSpecification {
    pub(super) recode: bool,
    pub(super) dummycode: bool,
    pub(super) bin: Option<(BinMethod, usize)>,
    pub(super) impute: Option<Imputation>,
    omit: bool,
}

/// How bins divide a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) enum BinMethod {
    /// Into intervals of equal lengths.
    #[serde(rename = "equi-width")]
    EquiWidth,
    /// Into intervals of equally many cells.
    #[serde(rename = "equi-height")]
    EquiHeight,
}

/// What replaces missing cells.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Imputation {
    Mean,
    Mode,
    /// A text as it is.
    Constant(String),
    /// A number, as cells of the column are written.
    Number(f64),
}

/// A column by position from 1 or by name.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum ColumnReference {
    Position(usize),
    Name(String),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    ids: bool,
    #[serde(default)]
    recode: Vec<ColumnReference>,
    #[serde(default)]
    dummycode: Vec<ColumnReference>,
    #[serde(default)]
    bin: Vec<Bin>,
    #[serde(default)]
    impute: Vec<Impute>,
    #[serde(default)]
    omit: Vec<ColumnReference>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Bin {
    #[serde(alias = "name")]
    id: ColumnReference,
    method: BinMethod,
    numbins: usize,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Impute {
    #[serde(alias = "name")]
    id: ColumnReference,
    method: ImputeMethod,
    value: Option<Constant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ImputeMethod {
    GlobalMean,
    GlobalMode,
    Constant,
}

/// A constant is a text or a number.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Constant {
    Text(String),
    Number(f64),
}

impl Specification {
    /// Reads a specification for a frame with columns of these names.
    ///
    /// # Errors
    /// It is not of the right form, or names columns that there are not.
    pub(crate) fn parse(json: &str, names: &[String]) -> Result<Self, TransformError> {
        let document: Document =
            json5::from_str(json).map_err(|error| TransformError::Specification(error.to_string()))?;
        let mut columns = Collected::filled(names.len(), ColumnSpecification::default());
        let find = |reference: &ColumnReference| position(reference, document.ids, names);
        for reference in &document.recode {
            columns[find(reference)?].recode = true;
        }
        for reference in &document.dummycode {
            columns[find(reference)?].dummycode = true;
        }
        for reference in &document.omit {
            columns[find(reference)?].omit = true;
        }
        for bin in &document.bin {
            if !(1..=MAX_BINS).contains(&bin.numbins) {
                return Err(TransformError::Specification(format!("`numbins` is from 1 to {MAX_BINS}")));
            }
            columns[find(&bin.id)?].bin = Some((bin.method, bin.numbins));
        }
        for impute in &document.impute {
            columns[find(&impute.id)?].impute = Some(imputation(impute)?);
        }
        for (column, name) in columns.iter_mut().zip(names) {
            if column.recode && column.bin.is_some() {
                let problem = format!("the column `{name}` is recoded and binned");
                return Err(TransformError::Specification(problem));
            }
            // A column that is dummy coded and nothing else has categories.
            column.recode |= column.dummycode && column.bin.is_none();
        }
        Ok(Specification { columns })
    }

    /// Positions, from 0, of the columns whose missing cells omit their rows.
    pub(super) fn omitted(&self) -> impl Iterator<Item = usize> {
        self.columns.iter().enumerate().filter(|(_, column)| column.omit).map(|(position, _)| position)
    }
}

fn imputation(impute: &Impute) -> Result<Imputation, TransformError> {
    match (impute.method, &impute.value) {
        (ImputeMethod::GlobalMean, _) => Ok(Imputation::Mean),
        (ImputeMethod::GlobalMode, _) => Ok(Imputation::Mode),
        (ImputeMethod::Constant, Some(Constant::Text(text))) => Ok(Imputation::Constant(text.clone())),
        (ImputeMethod::Constant, Some(Constant::Number(number))) => Ok(Imputation::Number(*number)),
        (ImputeMethod::Constant, None) => {
            Err(TransformError::Specification("the method `constant` needs a `value`".to_owned()))
        }
    }
}

fn position(reference: &ColumnReference, ids: bool, names: &[String]) -> Result<usize, TransformError> {
    let (found, name) = match reference {
        ColumnReference::Position(id) if ids => {
            (id.checked_sub(1).filter(|position| *position < names.len()), id.to_string())
        }
        ColumnReference::Name(name) if !ids => (names.iter().position(|known| known == name), format!("`{name}`")),
        ColumnReference::Position(_) => {
            return Err(TransformError::Specification("positions of columns need `ids: true`".to_owned()));
        }
        ColumnReference::Name(_) => {
            return Err(TransformError::Specification("names of columns need `ids: false`".to_owned()));
        }
    };
    found.ok_or_else(|| TransformError::NoColumn { name, known: names.join(", ") })
}
