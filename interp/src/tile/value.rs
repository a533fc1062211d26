//! Values of nodes for one unit: where they lie and along which axes they vary.

use fuseline_skeletons::abi::{Main, Side, Unit};
use fuseline_vecprims::{CsrTile, Tile};

/// The memory that holds a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// Scratch memory from this index on.
    Scratch(usize),
    /// The main input: dense rows, or the values of non-zeros.
    Main,
    /// A side input, from this index of each row on.
    Side(usize, usize),
    /// The products of factors.
    Products,
    /// A scalar input.
    Scalar(usize),
    /// The literal of a node.
    Literal(usize),
}

/// A value: cell (r, c) lies `r * row_stride + c` into its place, where an axis along which it does not vary counts as 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    pub(crate) place: Place,
    /// Whether there is one value per row of the unit.
    pub(crate) by_row: bool,
    /// Whether there is one value per column, position or vector cell.
    pub(crate) by_col: bool,
    pub(crate) row_stride: usize,
    /// Cells along the columns where it varies, else 1.
    pub(crate) len: usize,
}

impl Value {
    /// One value for all cells.
    pub(crate) fn constant(place: Place) -> Self {
        Value { place, by_row: false, by_col: false, row_stride: 0, len: 1 }
    }

    /// One value for each row, `row_stride` apart.
    pub(crate) fn per_row(place: Place, row_stride: usize) -> Self {
        Value { place, by_row: true, by_col: false, row_stride, len: 1 }
    }

    /// Rows of `len` values; a stride of 0 is one row for all.
    pub(crate) fn rows(place: Place, row_stride: usize, len: usize) -> Self {
        Value { place, by_row: row_stride != 0, by_col: true, row_stride, len }
    }
}

/// What the values of a unit are read from.
#[derive(Clone, Copy)]
pub(crate) struct Memory<'a> {
    pub(crate) unit: &'a Unit<'a>,
    pub(crate) scalars: &'a [f64],
    pub(crate) literals: &'a [f64],
    /// Scratch memory besides what is being written.
    pub(super) scratch: Scratch<'a>,
}

/// Scratch memory around a part that is being written, if any is.
#[derive(Clone, Copy)]
pub(super) struct Scratch<'a> {
    before: &'a [f64],
    /// Where `after` begins.
    end: usize,
    after: &'a [f64],
}

impl<'a> Scratch<'a> {
    /// All of it.
    pub(super) fn whole(scratch: &'a [f64]) -> Self {
        Scratch { before: scratch, end: scratch.len(), after: &[] }
    }

    /// What lies before and after so many values from `start` on, and these.
    pub(super) fn around(scratch: &'a mut [f64], start: usize, len: usize) -> (Self, &'a mut [f64]) {
        let (before, rest) = scratch.split_at_mut(start);
        let (part, after) = rest.split_at_mut(len);
        (Scratch { before, end: start + len, after }, part)
    }

    /// The values from an index on; none where these are being written.
    fn from(self, start: usize) -> &'a [f64] {
        match start.checked_sub(self.end) {
            Some(start) => self.after.get(start..).unwrap_or(&[]),
            None => self.before.get(start..).unwrap_or(&[]),
        }
    }
}

impl<'a> Memory<'a> {
    /// The memory of a value, from its first cell on.
    pub(crate) fn values(&self, value: Value) -> &'a [f64] {
        match value.place {
            Place::Scratch(start) => self.scratch.from(start),
            Place::Main => match self.unit.main {
                Main::Dense { values, .. } | Main::Sparse { values, .. } => values,
            },
            Place::Side(input, first) => self.side(input).values.get(first..).unwrap_or(&[]),
            Place::Products => self.unit.products,
            Place::Scalar(input) => &self.scalars[input..],
            Place::Literal(node) => &self.literals[node..],
        }
    }

    /// A value as a tile.
    pub(crate) fn tile(&self, value: Value) -> Tile<'a> {
        Tile::new(self.values(value), if value.by_row { value.row_stride } else { 0 })
    }

    /// A side input.
    pub(crate) fn side(&self, input: usize) -> Side<'a> {
        self.unit.sides[input]
    }

    /// The main input's rows, in a sparse unit.
    pub(crate) fn sparse_main(&self) -> Option<CsrTile<'a>> {
        match self.unit.main {
            Main::Sparse { row_offsets, columns, values } => Some(CsrTile { row_offsets, columns, values }),
            Main::Dense { .. } => None,
        }
    }
}
