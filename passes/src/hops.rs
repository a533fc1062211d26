//! What an operator of a DAG is, by itself and its inputs alone.

use fuseline_ir::Value;
use fuseline_ir::hop::{DataGenOp, Function, Hop, HopDag, HopId, HopOp, NaryOp, NumericFunction, ReorgOp};
use fuseline_ir::ops::{WindowOp, Windows};
use fuseline_ir::work::MULTIPLICATIONS_AT_ONCE;

/// An element-wise operation with a matrix result of known dimensions whose matrix inputs have the result's
/// dimensions, its rows and one column, its columns and one row, or a single cell. Operations with 1 x 1 results are
/// left alone.
pub(crate) fn is_elementwise(dag: &HopDag, id: HopId) -> bool {
    let hop = &dag[id];
    let by_cells = match hop.op {
        HopOp::Unary(_) | HopOp::Binary(_) | HopOp::Ternary(_) | HopOp::Outer(_) => true,
        HopOp::Nary(op) => op.fold().is_some(),
        _ => false,
    };
    if !by_cells || !hop.is_matrix() {
        return false;
    }
    let Some((rows, cols)) = hop.size.known_dims() else { return false };
    if rows.saturating_mul(cols) <= 1 {
        return false;
    }
    hop.inputs.iter().all(|&input| {
        let input = &dag[input];
        if input.is_scalar() {
            return input.data_type != fuseline_ir::DataType::STR;
        }
        let dims = input.size.known_dims();
        input.is_matrix() && [(rows, cols), (rows, 1), (1, cols), (1, 1)].into_iter().any(|fit| dims == Some(fit))
    })
}

/// The position of `sparsity` among the inputs of `rand`.
const DRAWN_SHARE: usize = 4;

/// The share of its cells that an operator of random values draws, where the text tells.
pub(crate) fn drawn_share(dag: &HopDag, hop: &Hop) -> Option<f64> {
    if hop.op != HopOp::DataGen(DataGenOp::Rand) {
        return None;
    }
    dag.literal_f64(*hop.inputs.get(DRAWN_SHARE)?).filter(|share| (0.0..=1.0).contains(share))
}

/// The positions of the bounds of values among the inputs of `rand`.
const DRAWN_BOUNDS: [usize; 2] = [2, 3];

/// The position of the distribution.
const DISTRIBUTION: usize = 6;

/// The share of the values that an operator of random values draws that is negative, where the text tells that they are spread
/// evenly between two bounds.
pub(crate) fn drawn_negative(dag: &HopDag, hop: &Hop) -> Option<f64> {
    let is_even = |input: &HopId| matches!(dag.literal_value(*input), Some(Value::Str(name)) if name == "uniform");
    if hop.op != HopOp::DataGen(DataGenOp::Rand) || !hop.inputs.get(DISTRIBUTION).is_some_and(is_even) {
        return None;
    }
    let [least, most] = DRAWN_BOUNDS.map(|position| dag.literal_f64(*hop.inputs.get(position)?));
    let (least, most) = (least?, most?);
    if least >= 0.0 {
        Some(0.0)
    } else if most <= 0.0 {
        Some(1.0)
    } else {
        Some(-least / (most - least))
    }
}

/// A transpose of a matrix of known dimensions.
pub(crate) fn is_transpose(dag: &HopDag, id: HopId) -> bool {
    dag[id].op == HopOp::Reorg(ReorgOp::Transpose) && dag[id].size.known_dims().is_some()
}

/// A transpose of a column of several rows.
pub(crate) fn is_column_transpose(dag: &HopDag, id: HopId) -> bool {
    is_transpose(dag, id) && dag[id].size.is_row_vector()
}

/// The input of a transpose.
pub(crate) fn untransposed(dag: &HopDag, id: HopId) -> Option<HopId> {
    is_transpose(dag, id).then(|| dag[id].inputs[0])
}

/// What an operator may read where an operation has this input: the input itself, or through a transpose what that is of.
pub(crate) fn read_as(dag: &HopDag, input: HopId) -> impl Iterator<Item = HopId> {
    [input].into_iter().chain(untransposed(dag, input))
}

/// The columns `first..last` (0-based, half open) of an index over all rows, at least two, with a literal first column.
fn literal_columns(dag: &HopDag, id: HopId) -> Option<(u32, u32)> {
    let hop = &dag[id];
    if hop.op != HopOp::Index {
        return None;
    }
    let (rows, cols) = hop.size.known_dims()?;
    let (source_rows, source_cols) = dag[hop.inputs[0]].size.known_dims()?;
    let first = dag.literal_f64(hop.inputs[3])?;
    if rows != source_rows || rows < 2 || cols < 1 || first < 1.0 || first.fract() != 0.0 {
        return None;
    }
    let first = first as u64 - 1;
    let last = first.checked_add(cols).filter(|&last| last <= source_cols)?;
    Some((u32::try_from(first).ok()?, u32::try_from(last).ok()?))
}

/// The columns `first..last` (0-based, half open) of an index over all rows with literal columns, at least two.
pub(crate) fn column_range(dag: &HopDag, id: HopId) -> Option<(u32, u32)> {
    literal_columns(dag, id).filter(|(first, last)| last - first > 1)
}

/// The column (0-based) of an index over all rows with one literal column.
pub(crate) fn single_column(dag: &HopDag, id: HopId) -> Option<u32> {
    literal_columns(dag, id).filter(|(first, last)| last - first == 1).map(|(first, _)| first)
}

/// First value and increment of a sequence of several values between literals: the value in row `i` is
/// `from + i * by`, rounded once.
pub(crate) fn literal_sequence(dag: &HopDag, id: HopId) -> Option<(f64, f64)> {
    let hop = &dag[id];
    if hop.op != HopOp::DataGen(DataGenOp::Seq) || hop.size.rows.is_none_or(|rows| rows < 2) {
        return None;
    }
    let [from, _to, by] = [0, 1, 2].map(|position| dag.literal_f64(hop.inputs[position]));
    Some((from?, by?))
}

/// Matrices of the same, known number of rows, several, side by side.
pub(crate) fn is_concatenation(dag: &HopDag, id: HopId) -> bool {
    let hop = &dag[id];
    let Some((rows, _)) = hop.size.known_dims().filter(|(rows, _)| *rows > 1) else { return false };
    let mut dims = hop.inputs.iter().map(|&input| dag[input].size.known_dims());
    hop.op == HopOp::Nary(NaryOp::Cbind)
        && hop.inputs.len() > 1
        && dims.all(|dims| dims.is_some_and(|(own, cols)| own == rows && cols > 0))
}

/// What an operator computes of the windows of images, which are the rows of its first input: several, of known shape and
/// of more than one cell. A convolution unfolds them, and multiplies that with its second input, which is not the first.
pub(crate) fn over_windows(dag: &HopDag, id: HopId) -> Option<(WindowOp, Windows)> {
    let hop = &dag[id];
    let HopOp::Parameterized { function: Function::Numeric(function), .. } = hop.op else { return None };
    let (op, first_extent) = match function {
        NumericFunction::Conv2d => (WindowOp::Unfold, 2),
        NumericFunction::MaxPool => (WindowOp::MaxPool, 1),
        NumericFunction::AvgPool => (WindowOp::AvgPool, 1),
        _ => return None,
    };
    let windows = literal_windows(dag, hop.inputs.get(first_extent..)?).filter(Windows::is_valid)?;
    let images = dag[hop.inputs[0]].size.known_dims()?;
    let filters = match op {
        WindowOp::Unfold => Some(dag[hop.inputs[1]].size.known_dims()?),
        WindowOp::MaxPool | WindowOp::AvgPool => None,
    };
    // Within a unit nobody looks for a request to stop.
    let multiplications = |count: u64| count.saturating_mul((windows.filter_cells() * windows.per_channel()) as u64);
    let takes_filters = |(count, cells): (u64, u64)| {
        count > 0
            && cells == windows.filter_cells() as u64
            && hop.inputs[0] != hop.inputs[1]
            && multiplications(count) <= MULTIPLICATIONS_AT_ONCE as u64
    };
    let is_counted = |cells: u64| u32::try_from(cells).is_ok_and(|cells| cells > 0);
    let fits = images.0 > 1
        && images.1 > 1
        && images.1 == windows.image_cells() as u64
        && filters.is_none_or(takes_filters)
        && [images.1, op.cells(&windows) as u64].into_iter().all(is_counted)
        && hop.size.cols.is_some_and(is_counted);
    fits.then_some((op, windows))
}

/// Windows whose extents are literals, in the order of a function's inputs.
fn literal_windows(dag: &HopDag, inputs: &[HopId]) -> Option<Windows> {
    let extent = |&id: &HopId| {
        let is_extent = |value: &f64| value.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(value);
        Some(dag.literal_f64(id).filter(is_extent)? as usize)
    };
    let extents: Vec<usize> = inputs.iter().map(extent).collect::<Option<_>>()?;
    let [channels, height, width, rows, cols, down, across, above, beside] = extents[..] else { return None };
    let (image, window) = ([height, width], [rows, cols]);
    Some(Windows { channels, image, window, stride: [down, across], padding: [above, beside] })
}

/// The inputs of an operator whose rows it reads one by one where it is a member of an operator over rows; others are read
/// as a whole.
pub(crate) fn inputs_by_row(dag: &HopDag, id: HopId) -> &[HopId] {
    let inputs = &dag[id].inputs;
    if over_windows(dag, id).is_some() { &inputs[..1] } else { inputs }
}
