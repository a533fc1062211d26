//! Where the row vectors of a plan lie while it runs: the paper's ring buffer (P036).

use super::{CNode, CNodeId, COutput, CPlan};
use cranelift_entity::SecondaryMap;

/// The buffers of the row vectors that a plan has in memory at a time. The main row and vectors of sides have none:
/// they are read where they lie.
///
/// Where no vector has several users the evaluation is a tree: a vector is done with once its user is computed, and its
/// buffer is used again, so that a chain of any length needs two. With shared vectors each has a buffer of its own, as
/// in the paper. A backend that computes one node after the other has these buffers. One that fuses loops leaves
/// vectors in registers, keeps others longer, and says itself how many it has.
#[derive(Clone, Debug, Default)]
pub struct RowBuffers {
    of_node: SecondaryMap<CNodeId, Option<usize>>,
    computed: usize,
    rows_of_sides: usize,
}

impl RowBuffers {
    /// The buffer of a vector that the plan computes; of anything else none.
    pub fn of(&self, node: CNodeId) -> Option<usize> {
        self.of_node[node]
    }

    /// How many buffers the vectors share that the plan computes.
    pub fn computed(&self) -> usize {
        self.computed
    }

    /// How many rows of sides the plan reads, each of which skeletons lay out where the side is not stored so.
    pub fn rows_of_sides(&self) -> usize {
        self.rows_of_sides
    }

    /// How many row vectors the plan has at a time.
    pub fn count(&self) -> usize {
        self.computed + self.rows_of_sides
    }
}

impl CPlan {
    /// The buffers of the plan's row vectors.
    pub fn row_buffers(&self) -> RowBuffers {
        let shapes = self.shapes();
        let is_row_of_side = |id: CNodeId| matches!(self.nodes[id], CNode::SideRow(..));
        let is_computed = |id: CNodeId| shapes.is_vector(id) && !self.nodes[id].operands().is_empty();
        let uses = self.uses();
        let is_tree = self.nodes.keys().all(|id| uses[id] <= 1 || !(is_row_of_side(id) || is_computed(id)));
        let mut buffers = RowBuffers::default();
        let mut free = Vec::new();
        for (id, node) in &self.nodes {
            buffers.rows_of_sides += usize::from(is_row_of_side(id));
            if is_computed(id) {
                let buffer = free.pop().unwrap_or(buffers.computed);
                buffers.computed = buffers.computed.max(buffer + 1);
                buffers.of_node[id] = Some(buffer);
            }
            // Only now, so that no operation writes what it reads.
            if is_tree {
                free.extend(node.operands().into_iter().filter_map(|operand| buffers.of_node[operand]));
            }
        }
        buffers
    }

    /// How often nodes and outputs take each value.
    fn uses(&self) -> SecondaryMap<CNodeId, u32> {
        let by_nodes = self.nodes.values().flat_map(CNode::operands);
        let by_outputs = self.outputs.iter().flat_map(COutput::operands);
        let mut uses = SecondaryMap::new();
        by_nodes.chain(by_outputs).for_each(|operand| uses[operand] += 1);
        uses
    }
}

#[cfg(test)]
mod tests {
    use crate::cplan::parse;

    /// The buffers of the nodes of a Row plan over a main row and two sides, `%0` to `%2`, and how many there are of
    /// rows of sides and in all.
    fn buffers(nodes: &str) -> (Vec<Option<usize>>, usize, usize) {
        let text = format!(
            "cplan row no_agg sparse_safe=false {{\nin0 = matrix\nin1 = matrix\nin2 = matrix\n%0 = main\n%1 = side_row in1\n\
             %2 = side_vector in2\n{nodes}\n}}"
        );
        let plan = parse(&text).expect("a plan");
        let buffers = plan.row_buffers();
        (plan.nodes.keys().skip(3).map(|id| buffers.of(id)).collect(), buffers.rows_of_sides(), buffers.count())
    }

    #[test]
    fn chains_alternate_between_two_buffers() {
        let chain = "%3 = exp %0\n%4 = abs %3\n%5 = sqrt %4\n%6 = exp %5\nout %6";
        assert_eq!(buffers(chain), (vec![Some(0), Some(1), Some(0), Some(1)], 1, 3));
    }

    #[test]
    fn branches_of_a_tree_wait_for_each_other() {
        let tree = "%3 = exp %0\n%4 = abs %2\n%5 = plus %3, %4\n%6 = sqrt %1\n%7 = mult %5, %6\nout %7";
        assert_eq!(buffers(tree), (vec![Some(0), Some(1), Some(2), Some(1), Some(0)], 1, 4));
    }

    /// What aggregates read is done with, too; numbers have no buffers.
    #[test]
    fn aggregates_end_vectors() {
        let aggregates = "%3 = exp %0\n%4 = row_agg.sum %3\n%5 = abs %2\n%6 = mult %5, %4\nout %6";
        assert_eq!(buffers(aggregates), (vec![Some(0), None, Some(0), Some(1)], 1, 3));
    }

    #[test]
    fn shared_vectors_have_buffers_of_their_own() {
        let shared = "%3 = exp %0\n%4 = abs %3\n%5 = plus %3, %4\n%6 = sqrt %5\nout %6";
        assert_eq!(buffers(shared), (vec![Some(0), Some(1), Some(2), Some(3)], 1, 5));
        let side = "%3 = plus %1, %0\n%4 = sqrt %3\n%5 = mult %4, %1\nout %5";
        assert_eq!(buffers(side), (vec![Some(0), Some(1), Some(2)], 1, 4));
    }
}
