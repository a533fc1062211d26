//! The templates of fused operators (Table 1), and what each of them runs over.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

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

/// Defines the templates, a row each: `Name = mnemonic, letter of memo-table entries, what values belong to`.
macro_rules! templates {
    ($($(#[$doc:meta])* $name:ident = $mnemonic:literal, $letter:literal, $space:ident;)*) => {
        /// The template of a fused operator (Table 1).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum TemplateType {
            $($(#[$doc])* $name,)*
        }

        impl TemplateType {
            /// Every template.
            pub const ALL: &[TemplateType] = &[$(TemplateType::$name),*];

            /// The text mnemonic.
            pub fn mnemonic(self) -> &'static str {
                match self {
                    $(TemplateType::$name => $mnemonic,)*
                }
            }

            /// The letter of memo-table entries.
            pub fn letter(self) -> char {
                match self {
                    $(TemplateType::$name => $letter,)*
                }
            }

            /// What the values of its operators belong to.
            pub fn space(self) -> Space {
                match self {
                    $(TemplateType::$name => Space::$space,)*
                }
            }
        }
    };
}

templates! {
    /// Cells of a main input.
    Cell = "cell", 'C', Cells;
    /// Rows of a main input.
    Row = "row", 'R', Rows;
    /// Several full aggregates over cells.
    MAgg = "magg", 'M', Cells;
    /// Non-zero cells of a main input with rows of two factors.
    Outer = "outer", 'O', Factors;
}

impl TemplateType {
    /// Whether an operator may have several roots, which share a pass over cells or rows.
    pub fn takes_several_roots(self) -> bool {
        match self {
            TemplateType::MAgg | TemplateType::Row => true,
            TemplateType::Cell | TemplateType::Outer => false,
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
