//! What a plan makes of the layouts of its inputs: every extent that generated code relies on is checked here, once for each
//! execution, or, where an operator runs again on dense inputs of the same dimensions, once for all of these.

use crate::error::SkeletonError;
use crate::roles::{INLINE_INPUTS, INLINE_SIDES, Role, index, is_strict, multiplies_dense_vectors, roles};
use crate::side::Columns;
use cranelift_entity::SecondaryMap;
use fuseline_ir::cplan::{
    CInputId, CNode, CNodeId, COutput, CPlan, ColumnRange, FACTOR_U, FACTOR_V, Filters, Positions,
};
use fuseline_ir::schedule::{Access, Schedule};
use fuseline_ir::template::Space;
use fuseline_matrix::MatrixBlock;
use smallvec::SmallVec;

/// What a plan makes of inputs of some layouts.
#[derive(Debug)]
pub(crate) struct Fit {
    /// Rows and columns of the main input.
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    /// Whether a node reads the main input's cells.
    pub(crate) reads_main: bool,
    /// Whether a node reads the products of factors.
    pub(crate) reads_products: bool,
    /// By input id; the main input and scalars have no role.
    pub(crate) sides: SmallVec<[Option<SideFit>; INLINE_SIDES]>,
    /// Lengths of vector values, none for scalars.
    pub(crate) lengths: SecondaryMap<CNodeId, Option<usize>>,
    /// Whether units are those of the sparse entry, over the non-zeros of the main input.
    pub(crate) runs_sparse_entry: bool,
    /// What lies by position in these units, in Row plans.
    pub(crate) positions: Positions,
    /// The side inputs whose rows are joined with those of the main input for these units, by number.
    pub(crate) joined: Vec<usize>,
    /// The side inputs that meet the main input in these units, by number: where one of them has no position, nothing
    /// is contributed. None where rows are joined.
    pub(crate) met: Vec<usize>,
    /// What each output of a plan over cells has, or takes in, where these units have no positions.
    pub(crate) elsewhere: Vec<f64>,
}

/// What is read of a side input.
#[derive(Debug)]
pub(crate) struct SideFit {
    pub(crate) role: Role,
    /// What is read of each row, where the side is read by row.
    pub(crate) columns: Columns,
    /// Whether dense vectors are multiplied with it.
    pub(crate) is_factor: bool,
}

impl Fit {
    /// What a plan makes of these inputs, with scalars by input id.
    pub(crate) fn new(
        plan: &CPlan,
        has_sparse_entry: bool,
        inputs: &[MatrixBlock],
        scalars: &[f64],
        strict_ieee: bool,
    ) -> Result<Self, SkeletonError> {
        let mut roles = roles(plan)?;
        let (rows, cols) = inputs[0].dims();
        check_dimensions(plan, &roles, inputs)?;
        let lengths = vector_lengths(plan, inputs)?;
        let is_outer = plan.space() == Space::Factors;
        if is_outer && !has_sparse_entry {
            return Err(SkeletonError::NoSparseEntry { template: plan.template().mnemonic() });
        }
        let skips_zeros = is_outer && plan.sparse_safe;
        let may_skip = has_sparse_entry && (skips_zeros || !is_outer && inputs[0].format().is_sparse());
        let visited = if may_skip { non_zeros(plan, inputs, scalars, strict_ieee) } else { None };
        let runs_sparse_entry = visited.is_some();
        let NonZeros { positions, joined, met, elsewhere } = visited.unwrap_or_default();
        for id in plan.inputs.keys().filter(|&id| positions.has_input(id)) {
            roles[index(id)] = Role::Cell;
        }
        let side = |id: CInputId| match roles[index(id)] {
            Role::None => None,
            role => Some(SideFit {
                role,
                columns: columns(plan, id, role, &inputs[index(id)]),
                is_factor: multiplies_dense_vectors(plan, id, &positions),
            }),
        };
        Ok(Fit {
            rows,
            cols,
            reads_main: plan.nodes.values().any(|node| matches!(node, CNode::Main)),
            reads_products: plan.nodes.values().any(|node| matches!(node, CNode::OuterProduct)),
            sides: plan.inputs.keys().map(side).collect(),
            lengths,
            runs_sparse_entry,
            positions,
            joined,
            met,
            elsewhere,
        })
    }
}

/// How a plan runs on inputs of some layouts.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    pub(crate) schedule: Schedule,
    /// Whether units of positions that have none are left out.
    pub(crate) skips_empty_units: bool,
    /// How units read each input, by id.
    pub(crate) accesses: SmallVec<[Access; INLINE_INPUTS]>,
}

/// The number of cells of a matrix.
///
/// # Errors
/// [`SkeletonError::TooLarge`] beyond what can be addressed.
pub(crate) fn cells(rows: usize, cols: usize) -> Result<usize, SkeletonError> {
    let bytes = rows.checked_mul(cols).and_then(|cells| cells.checked_mul(size_of::<f64>()));
    match bytes {
        Some(bytes) if isize::try_from(bytes).is_ok() => Ok(rows * cols),
        _ => Err(SkeletonError::TooLarge { rows, cols }),
    }
}

/// The columns that are read of a side input.
fn columns(plan: &CPlan, input: CInputId, role: Role, block: &MatrixBlock) -> Columns {
    match role {
        Role::RowScalar => Columns::single(fixed_columns(plan, input)),
        Role::Row => {
            let ranges = plan.nodes.values().filter_map(|node| match *node {
                CNode::SideRow(side, range) if side == input => Some(range.of(block.cols())),
                _ => None,
            });
            let all = ranges.reduce(|one, other| one.start.min(other.start)..one.end.max(other.end));
            Columns::Range(all.unwrap_or(0..0))
        }
        _ => Columns::Range(0..block.cols()),
    }
}

/// What the units of a sparse main input visit.
#[derive(Default)]
struct NonZeros {
    /// What lies by position in Row plans.
    positions: Positions,
    /// The side inputs that are joined with the main one, by number.
    joined: Vec<usize>,
    /// The side inputs that meet the main one, by number.
    met: Vec<usize>,
    /// What outputs over cells have, or take in, elsewhere.
    elsewhere: Vec<f64>,
}

/// What of its inputs a plan visits if it goes over non-zeros of the main one; `None` if it needs all cells.
fn non_zeros(plan: &CPlan, inputs: &[MatrixBlock], scalars: &[f64], strict_ieee: bool) -> Option<NonZeros> {
    let numbers = |joined: Vec<CInputId>| {
        let mut joined: Vec<usize> = joined.into_iter().map(index).collect();
        joined.sort_unstable();
        joined
    };
    let scalar = |input: CInputId| scalars[index(input)];
    // In the order of their density: what meets few positions leaves few to the next.
    let met_cells = |elsewhere: &[f64]| {
        let met = plan.met_cells(strict_ieee, &sparse_sides(inputs), &scalar, elsewhere);
        met.into_iter().map(index).collect()
    };
    match plan.space() {
        // Every cell is merged with those above it.
        Space::Cells if matches!(plan.outputs[0], COutput::Cumulative(..)) => None,
        Space::Cells => {
            let (joined, elsewhere) = if plan.sparse_safe {
                (Vec::new(), vec![0.0; plan.outputs.len()])
            } else {
                plan.joined_cells(strict_ieee, &sparse_sides(inputs), &scalar)?
            };
            let met = if joined.is_empty() { met_cells(&elsewhere) } else { Vec::new() };
            Some(NonZeros { joined: numbers(joined), met, elsewhere, ..NonZeros::default() })
        }
        Space::Factors => {
            let elsewhere = vec![0.0; plan.outputs.len()];
            // Tiles of a dense main input are built from its non-zeros alone.
            let met = if inputs[0].format().is_sparse() { met_cells(&elsewhere) } else { Vec::new() };
            Some(NonZeros { met, elsewhere, ..NonZeros::default() })
        }
        Space::Rows => {
            let positions = plan.positions(false).filter(|found| !strict_ieee || is_strict(plan, found))?;
            let joined =
                if positions.joins() { plan.joined_rows(strict_ieee, &sparse_sides(inputs))? } else { Vec::new() };
            let may_meet = joined.is_empty() && !strict_ieee;
            let met = if may_meet { plan.met_rows(&positions, &sparse_sides(inputs)) } else { Vec::new() };
            let met = met.into_iter().map(index).collect();
            Some(NonZeros { positions, joined: numbers(joined), met, ..NonZeros::default() })
        }
    }
}

/// The sparse side inputs, the sparsest first.
pub(crate) fn sparse_sides(inputs: &[MatrixBlock]) -> SmallVec<[CInputId; INLINE_SIDES]> {
    let sides = (1..inputs.len()).filter(|&number| inputs[number].format().is_sparse());
    let mut sparse: SmallVec<[CInputId; INLINE_SIDES]> =
        sides.map(|number| CInputId::from_u32(number as u32)).collect();
    // Of equally many non-zeros the last input comes first, so that the first ones are left out first.
    sparse.sort_by_key(|&id| (inputs[index(id)].nnz(), std::cmp::Reverse(id)));
    sparse
}

fn mismatch(input: CInputId, block: &MatrixBlock, expected: String) -> SkeletonError {
    SkeletonError::Dimensions { input, rows: block.rows(), cols: block.cols(), expected }
}

/// Whether a side input of this role has the dimensions that go with the main input's, and the rank of factors.
fn fits(plan: &CPlan, input: CInputId, role: Role, inputs: &[MatrixBlock], rank: usize) -> bool {
    let (main_rows, main_cols) = inputs[0].dims();
    let (rows, cols) = inputs[index(input)].dims();
    match role {
        Role::None | Role::Matrix => true,
        Role::Cell => (rows, cols) == (main_rows, main_cols),
        Role::RowScalar => rows == main_rows && cols >= fixed_columns_needed(plan, input),
        Role::ColScalar => (rows, cols) == (1, main_cols),
        Role::Row | Role::FactorU => rows == main_rows,
        Role::Vector => rows == 1 || cols == 1,
        Role::FactorV => (rows, cols) == (main_cols, rank),
    }
}

/// What [`fits`] asks for, in words.
fn expected_dimensions(plan: &CPlan, input: CInputId, role: Role, inputs: &[MatrixBlock], rank: usize) -> String {
    let (rows, cols) = inputs[0].dims();
    match role {
        Role::None | Role::Matrix => "any matrix".to_owned(),
        Role::Cell => format!("{rows} x {cols}"),
        Role::RowScalar => format!("{rows} rows and at least {} columns", fixed_columns_needed(plan, input)),
        Role::ColScalar => format!("1 x {cols}"),
        Role::Row | Role::FactorU => format!("a matrix of {rows} rows"),
        Role::Vector => "a row or column vector".to_owned(),
        Role::FactorV => format!("{cols} x {rank}"),
    }
}

/// How many columns a side input must have for those that are read of it by number.
fn fixed_columns_needed(plan: &CPlan, input: CInputId) -> usize {
    fixed_columns(plan, input).map(|column| column as usize + 1).max().unwrap_or(0)
}

fn check_dimensions(plan: &CPlan, roles: &[Role], inputs: &[MatrixBlock]) -> Result<(), SkeletonError> {
    let (rows, cols) = inputs[0].dims();
    let rank = if plan.space() == Space::Factors { inputs[index(FACTOR_U)].cols() } else { 0 };
    for input in plan.inputs.keys() {
        let Some(block) = inputs.get(index(input)) else { continue };
        if !fits(plan, input, roles[index(input)], inputs, rank) {
            return Err(mismatch(input, block, expected_dimensions(plan, input, roles[index(input)], inputs, rank)));
        }
        // What is laid out densely must be addressable.
        if !matches!(roles[index(input)], Role::None | Role::Cell | Role::Row | Role::RowScalar) {
            cells(block.rows(), block.cols())?;
        }
    }
    if plan.space() == Space::Factors && u32::try_from(cols).is_err() {
        return Err(SkeletonError::TooLarge { rows, cols });
    }
    debug_assert_eq!(FACTOR_V.as_u32(), 2);
    Ok(())
}

/// The lengths of all vector values, in this execution.
fn vector_lengths(plan: &CPlan, inputs: &[MatrixBlock]) -> Result<SecondaryMap<CNodeId, Option<usize>>, SkeletonError> {
    let mut lengths: SecondaryMap<CNodeId, Option<usize>> = SecondaryMap::with_capacity(plan.nodes.len());
    let is_row = plan.space() == Space::Rows;
    for (id, node) in &plan.nodes {
        let length = match *node {
            CNode::Main if is_row => Some(inputs[0].cols()),
            CNode::SideRow(input, range) => Some(side_row_length(input, &inputs[index(input)], range)?),
            CNode::SideVector(input) => {
                let (rows, cols) = inputs[index(input)].dims();
                Some(rows.max(cols) * rows.min(cols))
            }
            CNode::VectMatMult(operand, input) => {
                let matrix = &inputs[index(input)];
                let length = lengths[operand].unwrap_or(0);
                if matrix.rows() != length {
                    return Err(mismatch(input, matrix, format!("a matrix of {length} rows")));
                }
                Some(matrix.cols())
            }
            CNode::Windows(op, operand, windows) => {
                let (expected, actual) = (windows.image_cells(), lengths[operand].unwrap_or(0));
                if actual != expected {
                    return Err(SkeletonError::Lengths { node: id, left: actual, right: expected });
                }
                Some(op.cells(&windows))
            }
            CNode::Convolve(operand, input, Filters { count, windows }) => {
                let (matrix, windows, length) =
                    (&inputs[index(input)], windows as usize, lengths[operand].unwrap_or(0));
                let cells = length / windows;
                if length != cells * windows {
                    return Err(SkeletonError::Lengths { node: id, left: length, right: cells * windows });
                }
                if matrix.dims() != (count as usize, cells) {
                    return Err(mismatch(input, matrix, format!("{count} x {cells}")));
                }
                Some(count as usize * windows)
            }
            CNode::Unary(..) | CNode::Binary(..) | CNode::Ternary(..) | CNode::RowCumulative(..) => {
                common_length(id, node, &lengths)?
            }
            CNode::Scatter(operand, _) => {
                let (expected, actual) = (inputs[0].cols(), lengths[operand].unwrap_or(0));
                if actual != expected {
                    return Err(SkeletonError::Lengths { node: id, left: actual, right: expected });
                }
                Some(actual)
            }
            // A scalar is a vector of one cell here.
            CNode::Cbind(left, right) => Some(lengths[left].unwrap_or(1) + lengths[right].unwrap_or(1)),
            CNode::DotProduct(..) => {
                common_length(id, node, &lengths)?;
                None
            }
            _ => None,
        };
        lengths[id] = length;
    }
    Ok(lengths)
}

/// The columns that a side input is read at by `SideRowScalar`.
fn fixed_columns(plan: &CPlan, input: CInputId) -> impl Iterator<Item = u32> {
    plan.nodes.values().filter_map(move |node| match *node {
        CNode::SideRowScalar(side, column) if side == input => Some(column),
        _ => None,
    })
}

fn side_row_length(input: CInputId, block: &MatrixBlock, range: ColumnRange) -> Result<usize, SkeletonError> {
    let columns = range.of(block.cols());
    if columns.start <= columns.end && columns.end <= block.cols() {
        return Ok(columns.len());
    }
    Err(mismatch(input, block, format!("a matrix of at least {} columns", columns.end)))
}

fn common_length(
    id: CNodeId,
    node: &CNode,
    lengths: &SecondaryMap<CNodeId, Option<usize>>,
) -> Result<Option<usize>, SkeletonError> {
    let mut common = None;
    for operand in node.operands() {
        match (common, lengths[operand]) {
            (Some(left), Some(right)) if left != right => return Err(SkeletonError::Lengths { node: id, left, right }),
            (None, length) => common = length,
            _ => {}
        }
    }
    Ok(common)
}
