//! The variants of each template (Table 1): what a fused operator does with the values of its output.

use super::Length;
use crate::template::{Space, TemplateType};

/// Defines the variants of a template with their text mnemonics, the paper's names.
macro_rules! variants {
    ($(#[$doc:meta])* $type:ident { $($(#[$variant_doc:meta])* $variant:ident = $mnemonic:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $type {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $type {
            /// Every variant.
            pub const ALL: &[$type] = &[$($type::$variant),*];

            /// The paper's name of the variant.
            pub fn mnemonic(self) -> &'static str {
                match self {
                    $($type::$variant => $mnemonic,)*
                }
            }
        }
    };
}

variants! {
    /// Variants of the Cell template.
    CellType {
        /// m x n: one value per cell.
        NoAgg = "no_agg",
        /// m x n: cells merged with those above them.
        CumAgg = "cum_agg",
        /// m x 1: aggregated per row.
        RowAgg = "row_agg",
        /// 1 x n: aggregated per column.
        ColAgg = "col_agg",
        /// 1 x 1.
        FullAgg = "full_agg",
    }
}

variants! {
    /// Variants of the Row template; X (m x n) is the main input. B1 is SystemDS' name for the one side matrix that gives a
    /// vector its length.
    RowType {
        /// m x n: the output node is a vector as long as a row of X.
        NoAgg = "no_agg",
        /// m x k: the output node is a vector as long as a row of a side input (a row times a side matrix).
        NoAggB1 = "no_agg_b1",
        /// m x k: the output node is a vector of another length (a range of columns, columns side by side).
        NoAggConst = "no_agg_const",
        /// m x k: the output node's vectors, or scalars, merged with those of the rows above.
        CumAgg = "cum_agg",
        /// m x 1: the output node is a scalar per row.
        RowAgg = "row_agg",
        /// 1 x n: the output node is a vector as long as a row of X, aggregated over the rows.
        ColAgg = "col_agg",
        /// 1 x k: the output node is a vector as long as a row of a side input, aggregated over the rows.
        ColAggB1R = "col_agg_b1r",
        /// 1 x k: the output node is a vector of another length, aggregated over the rows.
        ColAggConst = "col_agg_const",
        /// 1 x 1: the output node (scalar or vector) aggregated over everything.
        FullAgg = "full_agg",
        /// n x 1: `t(X) %*% s`: the sum over rows of a vector (length n) times a scalar of the row.
        ColAggT = "col_agg_t",
        /// k x n: `t(S) %*% X`: the sum over rows of a vector of another length (k) times one as long as a row of X (n).
        ColAggB1 = "col_agg_b1",
        /// n x k: `t(X) %*% S`: the sum over rows of a vector as long as a row of X (n) times one of another length (k).
        ColAggB1T = "col_agg_b1_t",
        /// Several outputs that aggregate over the rows, in one pass: a column of all their cells, one output after the
        /// other and each by row. [`super::CPlan::output_variant`] says which variant each of them is.
        MultiAgg = "multi_agg",
    }
}

impl RowType {
    /// The variant without aggregation for an output vector of this length.
    pub fn no_agg(length: Length) -> Self {
        match length {
            Length::Main => RowType::NoAgg,
            Length::Cols(_) | Length::Cells(_) => RowType::NoAggB1,
            Length::Const(_) | Length::Cbind(_) => RowType::NoAggConst,
        }
    }

    /// The variant that aggregates an output vector of this length over the rows.
    pub fn col_agg(length: Length) -> Self {
        match length {
            Length::Main => RowType::ColAgg,
            Length::Cols(_) | Length::Cells(_) => RowType::ColAggB1R,
            Length::Const(_) | Length::Cbind(_) => RowType::ColAggConst,
        }
    }
}

variants! {
    /// Variants of the Outer template; X (m x n) drives, U is m x r, V is n x r.
    OuterType {
        /// n x r: `t(W) %*% U`, with W the output node's cells.
        LeftMM = "left_mm",
        /// m x r: `W %*% V`.
        RightMM = "right_mm",
        /// m x n, sparse as X: W itself.
        NoAgg = "no_agg",
        /// 1 x 1: W aggregated.
        FullAgg = "full_agg",
    }
}

/// A template with its variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// Cell.
    Cell(CellType),
    /// Row.
    Row(RowType),
    /// Several full aggregates over the same cells: k x 1.
    MAgg,
    /// Outer.
    Outer(OuterType),
}

impl Variant {
    /// The template.
    pub fn template(self) -> TemplateType {
        match self {
            Variant::Cell(_) => TemplateType::Cell,
            Variant::Row(_) => TemplateType::Row,
            Variant::MAgg => TemplateType::MAgg,
            Variant::Outer(_) => TemplateType::Outer,
        }
    }

    /// What its values belong to.
    pub fn space(self) -> Space {
        self.template().space()
    }

    /// Every variant of every template.
    pub fn all() -> impl Iterator<Item = Variant> {
        TemplateType::ALL.iter().flat_map(|&template| Variant::of(template))
    }

    /// Every variant of a template.
    pub fn of(template: TemplateType) -> Vec<Variant> {
        match template {
            TemplateType::Cell => CellType::ALL.iter().copied().map(Variant::Cell).collect(),
            TemplateType::Row => RowType::ALL.iter().copied().map(Variant::Row).collect(),
            TemplateType::MAgg => vec![Variant::MAgg],
            TemplateType::Outer => OuterType::ALL.iter().copied().map(Variant::Outer).collect(),
        }
    }

    /// The paper's name of the variant (Table 1).
    pub fn mnemonic(self) -> &'static str {
        match self {
            Variant::Cell(cell_type) => cell_type.mnemonic(),
            Variant::Row(row_type) => row_type.mnemonic(),
            Variant::MAgg => "full_agg",
            Variant::Outer(outer_type) => outer_type.mnemonic(),
        }
    }

    /// Whether plans may have several outputs.
    pub fn has_several_outputs(self) -> bool {
        match self {
            Variant::MAgg => true,
            Variant::Row(row_type) => row_type == RowType::MultiAgg,
            Variant::Cell(_) | Variant::Outer(_) => false,
        }
    }
}
