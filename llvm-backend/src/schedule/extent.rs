//! How many values a node has within a unit.

use cranelift_entity::SecondaryMap;
use fuseline_ir::cplan::{CNode, CNodeId, CPlan, Length, Shape, Shapes};
use fuseline_ir::template::Space;

/// An entry point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Entry {
    /// Units with dense main rows.
    Dense,
    /// Units with sparse main rows.
    Sparse,
}

impl Entry {
    /// The extent of a unit's cells in Cell, MAgg and Outer plans.
    pub(crate) fn cells(self) -> Extent {
        match self {
            Entry::Dense => Extent::Cells,
            Entry::Sparse => Extent::Positions,
        }
    }

    /// The name of the entry point.
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Entry::Dense => "genexec_dense",
            Entry::Sparse => "genexec_sparse",
        }
    }
}

/// The extent of a value within a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Extent {
    /// One value for the whole unit.
    #[default]
    One,
    /// One value per row.
    Rows,
    /// One value per cell of a dense tile.
    Cells,
    /// One value per position of sparse rows.
    Positions,
    /// One vector per row.
    Vector(Length),
}

/// The extents of all nodes. Vectors that element-wise operations join have the same length, under one name.
///
/// Weights of dense cells that are the same everywhere or for a row are repeated for each cell, since products with factors
/// read one per cell. In Row plans positions have what [`CPlan::positions`] says.
pub(crate) fn extents(plan: &CPlan, entry: Entry) -> SecondaryMap<CNodeId, Extent> {
    let is_row = plan.space() == Space::Rows;
    let (mut extents, shapes) = (SecondaryMap::new(), plan.shapes());
    let positions = if entry == Entry::Sparse { plan.positions(false) } else { None }.unwrap_or_default();
    for (id, node) in &plan.nodes {
        extents[id] = match node {
            _ if positions.contains(id) => Extent::Positions,
            CNode::Literal(_) | CNode::Scalar(_) => Extent::One,
            CNode::SideRowScalar(..) | CNode::RowIndex | CNode::RowAgg(..) | CNode::DotProduct(..) => Extent::Rows,
            CNode::Main if is_row => Extent::Vector(Length::Main),
            CNode::Main | CNode::SideCell(_) | CNode::SideColScalar(_) | CNode::OuterProduct => entry.cells(),
            CNode::SideRow(..)
            | CNode::SideVector(_)
            | CNode::VectMatMult(..)
            | CNode::Cbind(..)
            | CNode::Scatter(..)
            | CNode::Windows(..)
            | CNode::Convolve(..) => vector(&shapes, id),
            CNode::RowCumulative(..) | CNode::Unary(..) | CNode::Binary(..) | CNode::Ternary(..) => {
                let operands = node.operands();
                operands.iter().map(|&operand| extents[operand]).reduce(join).unwrap_or_default()
            }
        };
    }
    for output in plan.outputs.iter().filter(|output| entry == Entry::Dense && output.takes_weights()) {
        if matches!(extents[output.node()], Extent::One | Extent::Rows) {
            extents[output.node()] = Extent::Cells;
        }
    }
    unify(plan, &mut extents);
    extents
}

/// Gives equal lengths one name, a constant if there is one, so that loops can be shared.
fn unify(plan: &CPlan, extents: &mut SecondaryMap<CNodeId, Extent>) {
    for node in plan.nodes.values().filter(|node| node.is_element_wise()) {
        let vectors: Vec<Extent> =
            node.operands().into_iter().map(|operand| extents[operand]).filter(is_vector).collect();
        let is_constant = |extent: &&Extent| matches!(extent, Extent::Vector(Length::Const(_)));
        let Some(&name) = vectors.iter().find(is_constant).or(vectors.first()) else { continue };
        // Mostly: then nothing is to be looked for among all nodes.
        if vectors.iter().all(|&vector| vector == name) {
            continue;
        }
        for id in plan.nodes.keys() {
            if vectors.contains(&extents[id]) {
                extents[id] = name;
            }
        }
    }
}

fn is_vector(extent: &Extent) -> bool {
    matches!(extent, Extent::Vector(_))
}

fn vector(shapes: &Shapes, id: CNodeId) -> Extent {
    match shapes.of(id) {
        Shape::Vector(length) => Extent::Vector(length),
        Shape::Scalar => Extent::Rows,
    }
}

/// The extent of an element-wise operation on two values: the larger one, the first among vectors.
fn join(left: Extent, right: Extent) -> Extent {
    let rank = |extent| match extent {
        Extent::One => 0,
        Extent::Rows => 1,
        Extent::Cells | Extent::Positions | Extent::Vector(_) => 2,
    };
    if rank(right) > rank(left) { right } else { left }
}
