//! Which partitions and aggregates have to be decided about together, because multi-aggregates may span them.

use super::super::PartitionPlan;
use super::super::multi_aggregate::outside_partitions;
use crate::cover::Operator;
use crate::facts::{Context, can_share_pass};
use crate::hops::is_transpose;
use crate::union_find::UnionFind;
use cranelift_entity::SecondaryMap;
use fuseline_ir::hop::HopId;

/// Partitions and aggregates outside of them that may read the same matrices.
#[derive(Clone, Debug, Default)]
pub(super) struct Component {
    /// The numbers of the partitions.
    pub(super) partitions: Vec<usize>,
    /// The aggregates that are in no partition.
    pub(super) outside: Vec<Operator>,
    /// All aggregates, ascending.
    pub(super) aggregates: Vec<HopId>,
}

/// The components that have several aggregates.
pub(super) fn components(context: &Context<'_>, partitions: &[PartitionPlan]) -> Vec<Component> {
    let aggregates = |number: usize| -> Vec<HopId> {
        let members = &partitions[number].partition.members;
        members.iter().copied().filter(|&id| can_share_pass(context, id)).collect()
    };
    let inside = (0..partitions.len()).map(|number| {
        let aggregates = aggregates(number);
        Component { partitions: vec![number], outside: vec![], aggregates }
    });
    let outside = outside_partitions(context, partitions).into_iter().map(|operator| {
        let aggregates = vec![operator.root()];
        Component { partitions: vec![], outside: vec![operator], aggregates }
    });
    let parts: Vec<Component> = inside.filter(|part| !part.aggregates.is_empty()).chain(outside).collect();

    let mut connected = UnionFind::new(parts.len());
    let mut first_reader = SecondaryMap::<HopId, Option<usize>>::new();
    for (number, part) in parts.iter().enumerate() {
        for id in part.may_read(context, partitions) {
            connected.union(number, *first_reader[id].get_or_insert(number));
        }
    }
    let mut components = vec![Component::default(); parts.len()];
    for (number, part) in parts.into_iter().enumerate() {
        let component = &mut components[connected.find(number)];
        component.partitions.extend(part.partitions);
        component.outside.extend(part.outside);
        component.aggregates.extend(part.aggregates);
    }
    components.retain(|component| component.aggregates.len() > 1);
    components.iter_mut().for_each(|component| component.aggregates.sort_unstable());
    components
}

impl Component {
    /// The matrices that some operator of an aggregate may read, and perhaps others.
    fn may_read(&self, context: &Context<'_>, partitions: &[PartitionPlan]) -> Vec<HopId> {
        let inside = self.partitions.iter().map(|&number| &partitions[number].partition);
        let mut all: Vec<HopId> = inside.flat_map(|part| part.members.iter().chain(&part.inputs)).copied().collect();
        all.extend(self.outside.iter().flat_map(|operator| operator.inputs.iter().copied()));
        // Inner products read through a transpose.
        let transposed = |&id: &HopId| is_transpose(context.dag, id).then(|| context.hop(id).inputs[0]);
        all.extend(all.iter().filter_map(transposed).collect::<Vec<_>>());
        all.retain(|&id| context.hop(id).is_matrix());
        all
    }
}
