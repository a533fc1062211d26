//! Reduction of cases that fail: fewer outputs and operators, smaller matrices, simpler values.

use super::case::{Case, Leaf, Node};
use super::text::sparse;
use fuseline::{Dense, Layout, MatrixBlock};
use fuseline_interp::oracle::OracleValue;
use fuseline_ir::Value;
use std::ops::Range;

/// Candidates of one kind that are smaller than a case.
type Reduction = fn(&Case) -> Vec<Case>;

/// The most expensive steps last: operators first, then extents, then cells.
const REDUCTIONS: [Reduction; 7] = [
    with_one_output,
    with_outputs_moved_to_operands,
    with_operators_as_leaves,
    with_operators_skipped,
    with_smaller_extents,
    with_simpler_leaves,
    with_simpler_cells,
];

/// Candidates that are tried at most.
const MOST_TRIALS: usize = 3_000;

/// The smallest case found for which `fails` still holds.
pub(crate) fn shrink(case: Case, fails: &mut dyn FnMut(&Case) -> bool) -> Case {
    let mut case = case;
    let mut trials = 0;
    let mut try_all = |case: &mut Case, reduction: Reduction| {
        let mut has_shrunk = false;
        // A success gives new candidates; those before it failed and are likely to fail again.
        let mut position = 0;
        loop {
            let candidates = reduction(case);
            let Some(candidate) = candidates.get(position) else { return has_shrunk };
            trials += 1;
            if trials > MOST_TRIALS {
                return false;
            }
            if candidate.dag().is_some() && fails(candidate) {
                *case = candidate.clone();
                has_shrunk = true;
            } else {
                position += 1;
            }
        }
    };
    while REDUCTIONS.iter().any(|&reduction| try_all(&mut case, reduction)) {}
    case
}

fn with_one_output(case: &Case) -> Vec<Case> {
    if case.outputs.len() < 2 {
        return Vec::new();
    }
    let single = |&output: &usize| Case { outputs: vec![output], ..case.clone() }.without_dead_nodes();
    case.outputs.iter().map(single).collect()
}

fn with_outputs_moved_to_operands(case: &Case) -> Vec<Case> {
    let mut candidates = Vec::new();
    for (position, &output) in case.outputs.iter().enumerate() {
        for &input in case.nodes[output].inputs() {
            if case.nodes[input].is_operator() {
                let mut moved = case.clone();
                moved.outputs[position] = input;
                let moved = moved.without_dead_nodes();
                // Another output may keep everything alive.
                candidates.extend((moved.operators() < case.operators()).then_some(moved));
            }
        }
    }
    candidates
}

/// Operators replaced by their values, the last ones first: these make the most operators superfluous.
fn with_operators_as_leaves(case: &Case) -> Vec<Case> {
    let mut candidates = Vec::new();
    for position in (0..case.nodes.len()).rev() {
        if !case.nodes[position].is_operator() || case.outputs.contains(&position) {
            continue;
        }
        let part = Case { nodes: case.nodes[..=position].to_vec(), outputs: vec![position] };
        let value = part.dag().and_then(|dag| part.expected(&dag).ok()).and_then(|values| values.into_values().next());
        let leaf = match value {
            Some(OracleValue::Scalar(cell)) => Leaf::Scalar(cell.value()),
            Some(OracleValue::Matrix(matrix)) => {
                let cell = |i, j| matrix.get(i, j).value();
                Leaf::Matrix(Dense::from_fn(matrix.rows, matrix.cols, cell).into())
            }
            _ => continue,
        };
        let mut replaced = case.clone();
        replaced.nodes[position] = Node::Leaf(leaf);
        candidates.push(replaced.without_dead_nodes());
    }
    candidates
}

fn with_operators_skipped(case: &Case) -> Vec<Case> {
    let mut candidates = Vec::new();
    for position in 0..case.nodes.len() {
        if !case.nodes[position].is_operator() || case.outputs.contains(&position) {
            continue;
        }
        for &replacement in case.nodes[position].inputs() {
            let mut skipped = case.clone();
            for node in &mut skipped.nodes[position + 1..] {
                node.inputs_mut().iter_mut().filter(|input| **input == position).for_each(|input| *input = replacement);
            }
            candidates.push(skipped.without_dead_nodes());
        }
    }
    candidates
}

/// A part of a matrix, in its format, with the zeros that it stores.
fn part(block: &MatrixBlock, rows: Range<usize>, cols: Range<usize>) -> MatrixBlock {
    let (first_row, first_col) = (rows.start, cols.start);
    match block.layout() {
        Layout::Sparse(csr) => {
            let width = cols.len();
            let cell = |position: usize| {
                let (i, j) = (first_row + position / width, first_col + position % width);
                let (columns, values) = csr.row(i);
                columns.binary_search(&(j as u32)).ok().map(|found| values[found])
            };
            sparse(rows.len(), width, cell).into()
        }
        Layout::Dense(_) => {
            Dense::from_fn(rows.len(), cols.len(), |i, j| block.get(first_row + i, first_col + j)).into()
        }
    }
}

/// Cases in which one extent is smaller in all leaves that have it: what remains lies at the start or the end.
fn with_smaller_extents(case: &Case) -> Vec<Case> {
    let blocks = case.nodes.iter().filter_map(Node::matrix);
    let mut extents: Vec<usize> = blocks.flat_map(|block| [block.rows(), block.cols()]).collect();
    extents.sort_unstable();
    extents.dedup();
    let mut candidates = Vec::new();
    for extent in extents.into_iter().rev().filter(|&extent| extent > 1) {
        let mut ranges = vec![0..1, 0..2, 0..extent / 2, extent / 2..extent, 0..extent - 1, 1..extent];
        ranges.retain(|range| !range.is_empty() && range.len() < extent);
        for range in ranges {
            let cut = |size: usize| if size == extent { range.clone() } else { 0..size };
            let cut_node = |node: &Node| match node {
                Node::Leaf(Leaf::Matrix(block)) => {
                    Node::Leaf(Leaf::Matrix(part(block, cut(block.rows()), cut(block.cols()))))
                }
                Node::Leaf(Leaf::Literal(value)) if extent > 2 && value.as_f64() == Some(extent as f64) => {
                    Node::Leaf(Leaf::Literal(Value::F64(range.len() as f64)))
                }
                node => node.clone(),
            };
            candidates.push(Case { nodes: case.nodes.iter().map(cut_node).collect(), ..case.clone() });
        }
    }
    candidates
}

fn with_leaf(case: &Case, position: usize, leaf: Leaf) -> Case {
    let mut changed = case.clone();
    changed.nodes[position] = Node::Leaf(leaf);
    changed
}

/// The block with every stored value changed; zeros stay zeros.
fn mapped(block: &MatrixBlock, map: impl Fn(f64) -> f64) -> MatrixBlock {
    match block.layout() {
        Layout::Sparse(csr) => {
            let values = csr.values().iter().map(|&value| map(value)).collect();
            fuseline::Csr::from_parts(
                csr.rows(),
                csr.cols(),
                csr.row_offsets().to_vec(),
                csr.columns().to_vec(),
                values,
            )
            .into()
        }
        Layout::Dense(_) => Dense::from_fn(block.rows(), block.cols(), |i, j| map(block.get(i, j))).into(),
    }
}

/// Leaves that are dense, or hold ones or small integers in place of their values.
fn with_simpler_leaves(case: &Case) -> Vec<Case> {
    let mut candidates = Vec::new();
    let one = |value: f64| f64::from(u8::from(value != 0.0));
    let integer = |value: f64| if value.is_finite() { value.round().clamp(-4.0, 4.0) } else { value };
    for (position, node) in case.nodes.iter().enumerate() {
        match node {
            Node::Leaf(Leaf::Matrix(block)) => {
                let is_changed = |map: &dyn Fn(f64) -> f64| block.to_dense().values().iter().any(|&x| map(x) != x);
                if block.format().is_sparse() {
                    candidates.push(with_leaf(case, position, Leaf::Matrix(block.to_dense().into_owned().into())));
                }
                if is_changed(&one) {
                    candidates.push(with_leaf(case, position, Leaf::Matrix(mapped(block, one))));
                }
                if is_changed(&integer) {
                    candidates.push(with_leaf(case, position, Leaf::Matrix(mapped(block, integer))));
                }
            }
            Node::Leaf(Leaf::Scalar(value)) if integer(*value) != *value && !value.is_nan() => {
                candidates.push(with_leaf(case, position, Leaf::Scalar(integer(*value))));
            }
            _ => {}
        }
    }
    candidates
}

/// Small matrices with one cell set to zero.
fn with_simpler_cells(case: &Case) -> Vec<Case> {
    let mut candidates = Vec::new();
    for (position, node) in case.nodes.iter().enumerate() {
        let Some(block) = node.matrix().filter(|block| block.rows() * block.cols() <= 64) else { continue };
        for cell in 0..block.rows() * block.cols() {
            let (row, col) = (cell / block.cols(), cell % block.cols());
            if block.get(row, col) != 0.0 {
                let get = |i, j| if (i, j) == (row, col) { 0.0 } else { block.get(i, j) };
                let simpler: MatrixBlock = match block.layout() {
                    Layout::Sparse(_) => {
                        let width = block.cols();
                        let value = |position| Some(get(position / width, position % width));
                        sparse(block.rows(), width, |position| value(position).filter(|&value| value != 0.0)).into()
                    }
                    Layout::Dense(_) => Dense::from_fn(block.rows(), block.cols(), get).into(),
                };
                candidates.push(with_leaf(case, position, Leaf::Matrix(simpler)));
            }
        }
    }
    candidates
}
