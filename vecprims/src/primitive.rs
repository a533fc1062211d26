//! The names and signatures of the primitives: the one list that tables, tests and code generators share.

use crate::family::*;
use crate::isa::Isa;
use crate::table::{Code, Primitives, primitives};
use fuseline_ops::{AggOp, BinaryOp, Lowering, TernaryOp, UnaryOp, WindowOp};
use std::fmt;

/// Which operands of a binary primitive are vectors, the others being one value per row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Form {
    /// Vector and vector.
    VectVect,
    /// Vector and scalar.
    VectScalar,
    /// Scalar and vector.
    ScalarVect,
}

impl Form {
    /// Every form.
    pub const ALL: &[Form] = &[Form::VectVect, Form::VectScalar, Form::ScalarVect];

    /// The suffix in names.
    pub fn suffix(self) -> &'static str {
        match self {
            Form::VectVect => "vv",
            Form::VectScalar => "vs",
            Form::ScalarVect => "sv",
        }
    }
}

/// A primitive. [`fmt::Display`] gives its symbol, `ARCHITECTURE.md` says what each computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Primitive {
    /// `vect_{op}`
    Unary(UnaryOp),
    /// `vect_{op}_{form}`
    Binary(BinaryOp, Form),
    /// `vect_{op}`
    Ternary(TernaryOp),
    /// `vect_copy`
    Copy,
    /// `vect_spread`
    Spread,
    /// `row_{agg}`
    RowAgg(AggOp),
    /// `row_cum{agg}`, of cumulative functions.
    RowCumulative(AggOp),
    /// `full_{agg}`; no mean, no variance.
    FullAgg(AggOp),
    /// `col_{agg}`; no mean, no variance.
    ColAgg(AggOp),
    /// `dot_product`
    DotProduct,
    /// `vect_mat_mult`
    VectMatMult,
    /// `mat_mult_add`
    MatMultAdd,
    /// `outer_mult_add`
    OuterMultAdd,
    /// `segment_row_{agg}`
    SegmentRowAgg(AggOp),
    /// `sparse_col_{agg}`; no mean, no variance.
    SparseColAgg(AggOp),
    /// `segment_spread`
    SegmentSpread,
    /// `sparse_gather`
    SparseGather,
    /// `sparse_scatter`
    SparseScatter,
    /// `segment_dot_product`
    SegmentDotProduct,
    /// `sparse_dot_product`
    SparseDotProduct,
    /// `sparse_vect_mat_mult`
    SparseVectMatMult,
    /// `sparse_mat_mult_add`
    SparseMatMultAdd,
    /// `sparse_outer_mult_add`
    SparseOuterMultAdd,
    /// `sampled_product`
    SampledProduct,
    /// `tile_mat_mult`
    TileMatMult,
    /// `max_pool`, `avg_pool`, `unfold`
    Windows(WindowOp),
    /// `convolve`
    Convolve,
}

impl Primitive {
    /// Every primitive, the same on every instruction set.
    pub fn all() -> Vec<Primitive> {
        use Primitive::*;
        let mut all: Vec<Primitive> = UnaryOp::ALL.iter().map(|&op| Unary(op)).collect();
        all.extend(BinaryOp::ALL.iter().flat_map(|&op| Form::ALL.iter().map(move |&form| Binary(op, form))));
        all.extend(TernaryOp::ALL.iter().map(|&op| Ternary(op)));
        for &op in AggOp::ALL {
            all.extend([RowAgg(op), SegmentRowAgg(op)]);
            if op.merges() {
                all.extend([FullAgg(op), ColAgg(op), SparseColAgg(op)]);
            }
            if op.is_cumulative() {
                all.push(RowCumulative(op));
            }
        }
        all.extend([
            Copy,
            Spread,
            DotProduct,
            VectMatMult,
            MatMultAdd,
            OuterMultAdd,
            SegmentSpread,
            SparseGather,
            SparseScatter,
            SegmentDotProduct,
            SparseDotProduct,
            SparseVectMatMult,
        ]);
        all.extend([SparseMatMultAdd, SparseOuterMultAdd, SampledProduct, TileMatMult, Convolve]);
        all.extend(WindowOp::ALL.iter().map(|&op| Windows(op)));
        all
    }

    /// The primitive with this symbol.
    pub fn from_name(name: &str) -> Option<Primitive> {
        Primitive::all().into_iter().find(|primitive| primitive.to_string() == name)
    }

    /// The kinds of its arguments, in order; it returns nothing.
    pub fn signature(self) -> &'static [ArgKind] {
        match self {
            Primitive::Unary(_) | Primitive::Copy | Primitive::Spread | Primitive::RowCumulative(_) => UNARY,
            Primitive::Binary(..) => BINARY,
            Primitive::Ternary(_) => TERNARY,
            Primitive::RowAgg(_) => ROW_AGG,
            Primitive::FullAgg(_) => FULL_AGG,
            Primitive::ColAgg(_) => COL_AGG,
            Primitive::DotProduct => DOT_PRODUCT,
            Primitive::VectMatMult => VECT_MAT_MULT,
            Primitive::MatMultAdd => MAT_MULT_ADD,
            Primitive::OuterMultAdd => OUTER_MULT_ADD,
            Primitive::SegmentRowAgg(_) => SEGMENT_ROW_AGG,
            Primitive::SparseColAgg(_) => SPARSE_COL_AGG,
            Primitive::SegmentSpread => SEGMENT_SPREAD,
            Primitive::SparseGather => SPARSE_GATHER,
            Primitive::SparseScatter => SPARSE_SCATTER,
            Primitive::SegmentDotProduct => SEGMENT_DOT_PRODUCT,
            Primitive::SparseDotProduct => SPARSE_DOT_PRODUCT,
            Primitive::SparseVectMatMult | Primitive::SparseMatMultAdd | Primitive::SparseOuterMultAdd => {
                SPARSE_MAT_MULT
            }
            Primitive::SampledProduct => SAMPLED_PRODUCT,
            Primitive::TileMatMult => TILE_MAT_MULT,
            Primitive::Windows(_) => WINDOWS,
            Primitive::Convolve => CONVOLVE,
        }
    }

    /// Its code for an instruction set.
    fn code(self, table: &Primitives) -> usize {
        match self {
            Primitive::Unary(op) => table.unary[op.index()] as usize,
            Primitive::Binary(op, form) => table.binary_form(form)[op.index()] as usize,
            Primitive::Ternary(op) => table.ternary[op.index()] as usize,
            Primitive::Copy => table.copy as usize,
            Primitive::Spread => table.spread as usize,
            Primitive::RowAgg(op) => table.row_agg[op as usize] as usize,
            Primitive::RowCumulative(op) => table.row_cumulative[op as usize] as usize,
            Primitive::FullAgg(op) => table.full_agg[op as usize] as usize,
            Primitive::ColAgg(op) => table.col_agg[op as usize] as usize,
            Primitive::DotProduct => table.dot_product as usize,
            Primitive::VectMatMult => table.vect_mat_mult as usize,
            Primitive::MatMultAdd => table.mat_mult_add as usize,
            Primitive::OuterMultAdd => table.outer_mult_add as usize,
            Primitive::SegmentRowAgg(op) => table.segment_row_agg[op as usize] as usize,
            Primitive::SparseColAgg(op) => table.sparse_col_agg[op as usize] as usize,
            Primitive::SegmentSpread => table.segment_spread as usize,
            Primitive::SparseGather => table.sparse_gather as usize,
            Primitive::SparseScatter => table.sparse_scatter as usize,
            Primitive::SegmentDotProduct => table.segment_dot_product as usize,
            Primitive::SparseDotProduct => table.sparse_dot_product as usize,
            Primitive::SparseVectMatMult => table.sparse_vect_mat_mult as usize,
            Primitive::SparseMatMultAdd => table.sparse_mat_mult_add as usize,
            Primitive::SparseOuterMultAdd => table.sparse_outer_mult_add as usize,
            Primitive::SampledProduct => table.sampled_product as usize,
            Primitive::TileMatMult => table.tile_mat_mult as usize,
            Primitive::Windows(op) => table.of_windows(op) as usize,
            Primitive::Convolve => table.convolve as usize,
        }
    }
}

impl Primitives {
    /// The table of one form of the binary operations.
    pub(crate) fn binary_form(&self, form: Form) -> &[BinaryFn; BinaryOp::ALL.len()] {
        match form {
            Form::VectVect => &self.binary_vv,
            Form::VectScalar => &self.binary_vs,
            Form::ScalarVect => &self.binary_sv,
        }
    }

    /// The function of windows.
    pub(crate) fn of_windows(&self, op: WindowOp) -> WindowsFn {
        match op {
            WindowOp::MaxPool => self.max_pool,
            WindowOp::AvgPool => self.avg_pool,
            WindowOp::Unfold => self.unfold,
        }
    }
}

impl fmt::Display for Primitive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Primitive::Unary(op) => write!(f, "vect_{op}"),
            Primitive::Binary(op, form) => write!(f, "vect_{op}_{}", form.suffix()),
            Primitive::Ternary(op) => write!(f, "vect_{op}"),
            Primitive::Copy => f.write_str("vect_copy"),
            Primitive::Spread => f.write_str("vect_spread"),
            Primitive::RowAgg(op) => write!(f, "row_{op}"),
            Primitive::RowCumulative(op) => write!(f, "row_cum{op}"),
            Primitive::FullAgg(op) => write!(f, "full_{op}"),
            Primitive::ColAgg(op) => write!(f, "col_{op}"),
            Primitive::DotProduct => f.write_str("dot_product"),
            Primitive::VectMatMult => f.write_str("vect_mat_mult"),
            Primitive::MatMultAdd => f.write_str("mat_mult_add"),
            Primitive::OuterMultAdd => f.write_str("outer_mult_add"),
            Primitive::SegmentRowAgg(op) => write!(f, "segment_row_{op}"),
            Primitive::SparseColAgg(op) => write!(f, "sparse_col_{op}"),
            Primitive::SegmentSpread => f.write_str("segment_spread"),
            Primitive::SparseGather => f.write_str("sparse_gather"),
            Primitive::SparseScatter => f.write_str("sparse_scatter"),
            Primitive::SegmentDotProduct => f.write_str("segment_dot_product"),
            Primitive::SparseDotProduct => f.write_str("sparse_dot_product"),
            Primitive::SparseVectMatMult => f.write_str("sparse_vect_mat_mult"),
            Primitive::SparseMatMultAdd => f.write_str("sparse_mat_mult_add"),
            Primitive::SparseOuterMultAdd => f.write_str("sparse_outer_mult_add"),
            Primitive::SampledProduct => f.write_str("sampled_product"),
            Primitive::TileMatMult => f.write_str("tile_mat_mult"),
            Primitive::Windows(op) => write!(f, "{op}"),
            Primitive::Convolve => f.write_str("convolve"),
        }
    }
}

/// The symbol of every primitive that takes memory, the same on every instruction set.
pub fn primitive_names() -> Vec<String> {
    Primitive::all().iter().map(Primitive::to_string).collect()
}

/// The argument kinds of the primitive with this symbol; `None` where there is no such primitive.
pub fn signature(name: &str) -> Option<&'static [ArgKind]> {
    Primitive::from_name(name).map(Primitive::signature)
}

/// The symbol of an element-wise function from registers to a register of `lanes` values, for operations whose
/// lowering is `Call`: as many register arguments as the operation has operands.
pub fn math_symbol(mnemonic: &str, lanes: usize) -> String {
    format!("math_{mnemonic}_v{lanes}")
}

/// Every symbol of an instruction set with its address: the primitives, and the register functions of its width.
///
/// # Panics
/// If this machine lacks the instruction set.
pub fn symbols(isa: Isa) -> Vec<(String, usize)> {
    let table = primitives(isa);
    let mut symbols: Vec<(String, usize)> =
        Primitive::all().iter().map(|primitive| (primitive.to_string(), primitive.code(table))).collect();
    let unary = UnaryOp::ALL.iter().map(|op| (op.mnemonic(), op.lowering(), table.math_unary[op.index()]));
    let binary = BinaryOp::ALL.iter().map(|op| (op.mnemonic(), op.lowering(), table.math_binary[op.index()]));
    let math: Vec<(&str, Lowering, Code)> = unary.chain(binary).collect();
    for (mnemonic, lowering, code) in math {
        if matches!(lowering, Lowering::Call) {
            symbols.push((math_symbol(mnemonic, isa.lanes()), code as usize));
        }
    }
    symbols
}
