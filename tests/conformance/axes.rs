//! The axes of the conformance matrix.

use fuseline_ir::cplan::{CellType, OuterType, RowType, Variant};
use fuseline_ir::ops::AggOp;
use fuseline_ir::template::{Space, TemplateType};
use std::collections::BTreeSet;

/// Numbers of threads.
pub(crate) const THREADS: [usize; 4] = [1, 2, 3, 7];

/// The main input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MainFormat {
    Dense,
    /// CSR rows, few of them empty.
    Csr,
    /// CSR rows, most of them empty.
    UltraSparse,
    /// CSR rows without non-zeros.
    Empty,
    /// Dense, of values that are narrower than doubles.
    Narrow,
}

impl MainFormat {
    pub(crate) const ALL: &[MainFormat] =
        &[MainFormat::Dense, MainFormat::Csr, MainFormat::UltraSparse, MainFormat::Empty, MainFormat::Narrow];
}

/// A side input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SideFormat {
    None,
    DenseMatrix,
    CsrMatrix,
    NarrowMatrix,
    DenseColumn,
    SparseColumn,
    NarrowColumn,
    DenseRow,
    SparseRow,
    Scalar,
}

/// How a matrix is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stored {
    Dense,
    Sparse,
    Narrow,
}

impl SideFormat {
    pub(crate) const ALL: &[SideFormat] = &[
        SideFormat::None,
        SideFormat::DenseMatrix,
        SideFormat::CsrMatrix,
        SideFormat::NarrowMatrix,
        SideFormat::DenseColumn,
        SideFormat::SparseColumn,
        SideFormat::NarrowColumn,
        SideFormat::DenseRow,
        SideFormat::SparseRow,
        SideFormat::Scalar,
    ];

    /// What a plan knows of it.
    pub(crate) fn kind(self) -> SideKind {
        match self {
            SideFormat::None => SideKind::None,
            SideFormat::DenseMatrix | SideFormat::CsrMatrix | SideFormat::NarrowMatrix => SideKind::Matrix,
            SideFormat::DenseColumn | SideFormat::SparseColumn | SideFormat::NarrowColumn => SideKind::Column,
            SideFormat::DenseRow | SideFormat::SparseRow => SideKind::Row,
            SideFormat::Scalar => SideKind::Scalar,
        }
    }

    pub(crate) fn stored(self) -> Stored {
        match self {
            SideFormat::CsrMatrix | SideFormat::SparseColumn | SideFormat::SparseRow => Stored::Sparse,
            SideFormat::NarrowMatrix | SideFormat::NarrowColumn => Stored::Narrow,
            SideFormat::None
            | SideFormat::DenseMatrix
            | SideFormat::DenseColumn
            | SideFormat::DenseRow
            | SideFormat::Scalar => Stored::Dense,
        }
    }
}

/// What a plan knows of a side input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SideKind {
    None,
    Matrix,
    Column,
    Row,
    Scalar,
}

impl SideKind {
    pub(crate) const ALL: &[SideKind] =
        &[SideKind::None, SideKind::Matrix, SideKind::Column, SideKind::Row, SideKind::Scalar];
}

/// The factors U and V of Outer plans; other plans have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Factors {
    Absent,
    Dense,
    Sparse,
}

impl Factors {
    pub(crate) fn of(template: TemplateType) -> &'static [Factors] {
        match template.space() {
            Space::Factors => &[Factors::Dense, Factors::Sparse],
            Space::Cells | Space::Rows => &[Factors::Absent],
        }
    }
}

/// The formats of all inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Formats {
    pub(crate) main: MainFormat,
    pub(crate) side: SideFormat,
    pub(crate) factors: Factors,
}

impl Formats {
    /// All formats of a template's inputs.
    pub(crate) fn all(template: TemplateType) -> Vec<Formats> {
        let with_factors = |factors: &Factors| {
            let factors = *factors;
            let with_side =
                move |&side: &SideFormat| MainFormat::ALL.iter().map(move |&main| Formats { main, side, factors });
            SideFormat::ALL.iter().flat_map(with_side)
        };
        Factors::of(template).iter().flat_map(with_factors).collect()
    }
}

/// A template variant with an aggregation function, where it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// By position in [`Variant::all`].
    pub(crate) number: usize,
    pub(crate) variant: Variant,
    pub(crate) agg: Option<AggOp>,
}

impl Row {
    /// All variants of a template with all their aggregation functions.
    pub(crate) fn all(template: TemplateType) -> Vec<Row> {
        let of_template = Variant::all().enumerate().filter(|(_, variant)| variant.template() == template);
        of_template
            .flat_map(|(number, variant)| aggs(variant).into_iter().map(move |agg| Row { number, variant, agg }))
            .collect()
    }
}

fn aggs(variant: Variant) -> Vec<Option<AggOp>> {
    match variant {
        // The aggregate of each row is a node, and need not merge.
        Variant::Row(RowType::RowAgg) => AggOp::ALL.iter().copied().map(Some).collect(),
        Variant::Cell(CellType::CumAgg) | Variant::Row(RowType::CumAgg) => {
            AggOp::ALL.iter().copied().filter(|agg| agg.is_cumulative()).map(Some).collect()
        }
        Variant::Cell(CellType::RowAgg | CellType::ColAgg | CellType::FullAgg)
        | Variant::Row(
            RowType::ColAgg | RowType::ColAggB1R | RowType::ColAggConst | RowType::FullAgg | RowType::MultiAgg,
        )
        | Variant::MAgg
        | Variant::Outer(OuterType::FullAgg) => {
            AggOp::ALL.iter().copied().filter(|agg| agg.merges()).map(Some).collect()
        }
        Variant::Cell(CellType::NoAgg)
        | Variant::Row(
            RowType::NoAgg
            | RowType::NoAggB1
            | RowType::NoAggConst
            | RowType::ColAggT
            | RowType::ColAggB1
            | RowType::ColAggB1T,
        )
        | Variant::Outer(OuterType::LeftMM | OuterType::RightMM | OuterType::NoAgg) => vec![None],
    }
}

/// A cell of the matrix, but for backends and threads: the variant's number, the aggregation function, the formats.
pub(crate) type Cell = (usize, Option<AggOp>, Formats);

/// The cells of some variants.
pub(crate) fn cells(rows: &[Row]) -> BTreeSet<Cell> {
    let formats = |row: &Row| {
        let (number, agg) = (row.number, row.agg);
        Formats::all(row.variant.template()).into_iter().map(move |formats| (number, agg, formats))
    };
    rows.iter().flat_map(formats).collect()
}
