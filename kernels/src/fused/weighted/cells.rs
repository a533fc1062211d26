//! Cells of the product that are computed together, and the steps from them to those of a result.

use fuseline_ir::ops::{AggOp, BinaryOp, UnaryOp};
use fuseline_vecprims::{Form, Primitives, Tile, TileMut};

/// A matrix of the size of the product.
#[derive(Clone, Copy, Debug)]
pub(super) enum Weight {
    /// The one that says which cells are visited.
    Driver,
    /// The other one.
    Other,
}

/// A tile of cells, or the non-zeros of some rows as one long row: first of the product, then of what steps make of it.
#[derive(Debug)]
pub(super) struct Cells<'a> {
    pub(super) primitives: &'static Primitives,
    pub(super) rows: usize,
    pub(super) len: usize,
    pub(super) driver: Tile<'a>,
    pub(super) other: Tile<'a>,
    /// The cells, row after row.
    pub(super) front: &'a mut [f64],
    /// Memory for as many cells: where the next step goes.
    pub(super) back: &'a mut [f64],
    /// Whether `front` and `back` changed places.
    pub(super) is_swapped: bool,
}

impl<'a> Cells<'a> {
    fn weight(&self, weight: Weight) -> Tile<'a> {
        match weight {
            Weight::Driver => self.driver,
            Weight::Other => self.other,
        }
    }

    fn step(&mut self, step: impl FnOnce(Tile<'_>, TileMut<'_>)) -> &mut Self {
        step(Tile::new(self.front, self.len), TileMut::new(self.back, self.len));
        std::mem::swap(&mut self.front, &mut self.back);
        self.is_swapped = !self.is_swapped;
        self
    }

    /// `op` of each cell.
    pub(super) fn unary(&mut self, op: UnaryOp) -> &mut Self {
        let (primitives, rows, len) = (self.primitives, self.rows, self.len);
        self.step(|cells, out| primitives.unary(op, rows, len, cells, out))
    }

    /// `op` of the weight's cell and each cell.
    pub(super) fn left(&mut self, op: BinaryOp, weight: Weight) -> &mut Self {
        let (primitives, rows, len, weight) = (self.primitives, self.rows, self.len, self.weight(weight));
        self.step(|cells, out| primitives.binary(op, Form::VectVect, rows, len, weight, cells, out))
    }

    /// `op` of each cell and the weight's.
    pub(super) fn right(&mut self, op: BinaryOp, weight: Weight) -> &mut Self {
        let (primitives, rows, len, weight) = (self.primitives, self.rows, self.len, self.weight(weight));
        self.step(|cells, out| primitives.binary(op, Form::VectVect, rows, len, cells, weight, out))
    }

    /// Adds a number to each cell.
    pub(super) fn plus(&mut self, number: f64) -> &mut Self {
        let (primitives, rows, len) = (self.primitives, self.rows, self.len);
        let number = [number];
        let number = Tile::new(&number, 0);
        self.step(|cells, out| primitives.binary(BinaryOp::Plus, Form::VectScalar, rows, len, cells, number, out))
    }

    /// The sum of the cells' squares.
    pub(super) fn sum_of_squares(&self) -> f64 {
        self.primitives.full_agg(AggOp::SumSq, self.rows, self.len, Tile::new(self.front, self.len))
    }

    /// The sum of the cells, each times the driver's.
    pub(super) fn dot_driver(&mut self) -> f64 {
        let (rows, len) = (self.rows, self.len);
        if rows * len == 0 {
            return 0.0;
        }
        let (cells, sums) = (Tile::new(self.front, len), TileMut::new(self.back, 1));
        self.primitives.dot_product(rows, len, cells, self.driver, sums);
        self.primitives.full_agg(AggOp::Sum, 1, rows, Tile::new(self.back, rows))
    }

    /// Ends with the cells where the product was.
    pub(super) fn finish(self) {
        if self.is_swapped {
            self.back.copy_from_slice(self.front);
        }
    }
}
