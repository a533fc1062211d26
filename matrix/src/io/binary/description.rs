//! What a binary file holds and where, whatever its version.

use super::{HEADER_BYTES, Problem};

/// How cells are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// All cells, row after row.
    Dense = 0,
    /// Row offsets, column indexes, values.
    Csr = 1,
}

impl Layout {
    pub(super) fn of_number(number: u16) -> Result<Self, Problem> {
        match number {
            0 => Ok(Layout::Dense),
            1 => Ok(Layout::Csr),
            other => Err((12, format!("the layout {other} is not known"))),
        }
    }
}

/// The type of the numbers of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    F64 = 1,
    F32 = 2,
    I32 = 3,
    U8 = 4,
    /// Of column indexes.
    U32 = 5,
    /// Of row offsets.
    U64 = 6,
}

impl Element {
    /// The type of values with this number.
    pub(super) fn of_values(number: u16) -> Option<Self> {
        [Element::F64, Element::F32, Element::I32, Element::U8].into_iter().find(|&element| element as u16 == number)
    }

    pub(super) fn bytes(self) -> u64 {
        match self {
            Element::F64 | Element::U64 => 8,
            Element::F32 | Element::I32 | Element::U32 => 4,
            Element::U8 => 1,
        }
    }
}

/// What a section holds of its strip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// All cells (dense), or those of the stored positions (CSR).
    Values = 1,
    /// Integers of 8 bytes, one more than the strip has rows, the first of them 0.
    RowOffsets = 2,
    /// Integers of 4 bytes.
    Columns = 3,
}

/// A run of numbers in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) kind: Kind,
    pub(super) element: Element,
    /// The strip of rows that it is of.
    pub(super) strip: u64,
    /// Where it begins.
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

impl Section {
    /// How many numbers there are.
    pub(super) fn count(&self) -> u64 {
        self.bytes / self.element.bytes()
    }
}

/// The matrix of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) layout: Layout,
    pub(super) element: Element,
    pub(super) rows: u64,
    pub(super) cols: u64,
    /// Non-zeros (dense) or stored positions (CSR).
    pub(super) nnz: u64,
    /// Rows of each strip but the last, which may have fewer.
    pub(super) strip_rows: u64,
}

impl Shape {
    pub(super) fn strips(&self) -> u64 {
        self.rows.div_ceil(self.strip_rows)
    }

    /// Rows of a strip.
    pub(super) fn rows_of(&self, strip: u64) -> u64 {
        self.strip_rows.min(self.rows - strip * self.strip_rows)
    }

    /// Sections of each strip.
    pub(super) fn sections_per_strip(&self) -> u64 {
        match self.layout {
            Layout::Dense => 1,
            Layout::Csr => 3,
        }
    }

    /// Checks that there are not more non-zeros than cells, and not more columns than have numbers.
    pub(super) fn check_counts(&self) -> Result<(), Problem> {
        if u128::from(self.nnz) > u128::from(self.rows) * u128::from(self.cols) {
            let problem = format!("a {} x {} matrix cannot have {} non-zeros", self.rows, self.cols, self.nnz);
            return Err((32, problem));
        }
        if self.layout == Layout::Csr && u32::try_from(self.cols).is_err() {
            return Err((24, format!("a sparse matrix cannot have {} columns", self.cols)));
        }
        Ok(())
    }

    /// The sections of the strips one behind the other, of which a sparse one has so many stored positions; none if no file
    /// can be so large.
    pub(super) fn sections(&self, positions: impl Fn(u64) -> u64) -> Option<Vec<Section>> {
        let mut sections = Vec::new();
        let mut end = HEADER_BYTES as u64;
        let mut add = |kind, element: Element, strip, count: u64, alignment| {
            let (offset, bytes) = (end.checked_next_multiple_of(alignment)?, count.checked_mul(element.bytes())?);
            end = offset.checked_add(bytes)?;
            sections.push(Section { kind, element, strip, offset, bytes });
            Some(())
        };
        for strip in 0..self.strips() {
            let rows = self.rows_of(strip);
            match self.layout {
                // Strips have no gaps between them.
                Layout::Dense => add(Kind::Values, self.element, strip, rows.checked_mul(self.cols)?, 1)?,
                Layout::Csr => {
                    add(Kind::RowOffsets, Element::U64, strip, rows.checked_add(1)?, 64)?;
                    add(Kind::Columns, Element::U32, strip, positions(strip), 64)?;
                    add(Kind::Values, self.element, strip, positions(strip), 64)?;
                }
            }
        }
        Some(sections)
    }
}

/// What a file holds and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Description {
    pub(super) shape: Shape,
    pub(super) sections: Vec<Section>,
    /// One for each piece of each section, in their order; the first version has none.
    pub(super) checksums: Option<Vec<u32>>,
}
