//! The templates of fused operators (Table 1), and what each of them runs over.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The template of a fused operator (Table 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum TemplateType {
    /// Cells of a main input.
    Cell,
    /// Rows of a main input.
    Row,
    /// Several full aggregates over cells.
    MAgg,
    /// Non-zero cells of a main input with rows of two factors.
    Outer,
}

/// What the values of an operator belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Cells of the main input: each value is a scalar per cell, and which cells make a unit is the skeleton's choice.
    Cells,
    /// Rows of the main input: each value is a scalar or a vector per row, and units are whole rows.
    Rows,
    /// Cells of the main input that are not zero, each with a row of both factors: each value is a scalar per cell.
    Factors,
}

impl TemplateType {
    /// Every template.
    pub const ALL: &[TemplateType] = &[TemplateType::Cell, TemplateType::Row, TemplateType::MAgg, TemplateType::Outer];

    /// The text mnemonic.
    pub fn mnemonic(self) -> &'static str {
        match self {
            TemplateType::Cell => "cell",
            TemplateType::Row => "row",
            TemplateType::MAgg => "magg",
            TemplateType::Outer => "outer",
        }
    }

    /// The letter of memo-table entries: `C`, `R`, `M`, `O`.
    pub fn letter(self) -> char {
        match self {
            TemplateType::Cell => 'C',
            TemplateType::Row => 'R',
            TemplateType::MAgg => 'M',
            TemplateType::Outer => 'O',
        }
    }

    /// What the values of its operators belong to.
    pub fn space(self) -> Space {
        match self {
            TemplateType::Cell | TemplateType::MAgg => Space::Cells,
            TemplateType::Row => Space::Rows,
            TemplateType::Outer => Space::Factors,
        }
    }
}

impl fmt::Display for TemplateType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.mnemonic())
    }
}

impl FromStr for TemplateType {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        TemplateType::ALL
            .iter()
            .copied()
            .find(|template| template.mnemonic() == text)
            .ok_or_else(|| format!("`{text}` is no template"))
    }
}
