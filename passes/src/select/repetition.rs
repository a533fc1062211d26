//! What values with several readers add to lower bounds (section 4.4, cost-based pruning).
//!
//! Of the readers of a group, some can never be in one operator, and are in as many operators as there are of them. Each of
//! these operators reads the group, which then is written, or computes it. So a plan spends the lesser one of two things
//! besides what every plan does: writing the group, or computing it once for each of these operators after the first. What
//! the group alone reads is computed as often as the group, or written in its place. Readers that are decided to fuse it
//! leave no choice: whether it is written or not, each of their operators computes it.
//!
//! The paper's bound counts a value once until a point of it is true.

use super::entry::{ByMember, Member, Point};
use super::reachability::{Points, ReachabilityGraph};
use super::search::PartitionSearch;
use super::space::SearchSpace;
use cranelift_entity::EntityRef;
use smallvec::SmallVec;

/// A group that several operators may compute.
pub(super) struct Repeated {
    pub(super) group: Member,
    points: SmallVec<[Point; 4]>,
    /// The least seconds of computing it for one more operator, for two more and so on.
    seconds: Vec<f64>,
    /// The least seconds of writing it.
    write: f64,
}

impl Repeated {
    /// The groups of a partition that several operators may compute, given by group the least seconds of computing and of
    /// writing it.
    pub(super) fn all(
        search: &PartitionSearch<'_>,
        graph: &ReachabilityGraph,
        compute: &ByMember<'_, f64>,
        write: &ByMember<'_, f64>,
    ) -> Vec<Repeated> {
        let mut by_producer: Vec<(Member, Point)> = Vec::new();
        for reference in &graph.references {
            let may_be_left_out =
                [reference.consumer, reference.producer].iter().any(|group| graph.read_through.contains(group.index()));
            if let Some(point) = reference.point.filter(|_| !may_be_left_out) {
                by_producer.push((reference.producer, point));
            }
        }
        by_producer.sort_unstable();
        let mut all = Vec::new();
        let none = Points::new();
        for points in by_producer.chunk_by(|one, other| one.0 == other.0) {
            let group = points[0].0;
            let points: SmallVec<[Point; 4]> = points.iter().map(|(_, point)| *point).collect();
            if graph.readers_apart(&points, &none) > 1 {
                let own = Own::of(search, graph, group);
                let seconds = (1..=points.len()).map(|times| own.seconds(times as f64, compute, write)).collect();
                all.push(Repeated { group, points, seconds, write: write[group] });
            }
        }
        all
    }

    /// The least seconds of computing the group more than once, or of writing it unless that is counted already, with the
    /// points of an assignment true and others decided to be false.
    pub(super) fn seconds(
        &self,
        space: &SearchSpace<'_>,
        assignment: &Points,
        decided: &Points,
        is_written: bool,
    ) -> f64 {
        let is_fused = |point: &Point| decided.contains(point.index()) && space.inseparable().is_fused(*point);
        let fused: SmallVec<[Point; 4]> = self.points.iter().copied().filter(is_fused).collect();
        // Where it is written, one operator more computes it for that.
        let beside = self.computed(space.graph.readers_apart(&fused, assignment));
        if is_written {
            return beside;
        }
        let operators = space.graph.readers_apart(&self.points, assignment);
        (self.write + beside).min(self.computed(operators.saturating_sub(1)))
    }

    /// The least seconds of computing it so many times more.
    fn computed(&self, more: usize) -> f64 {
        more.checked_sub(1).map_or(0.0, |place| self.seconds[place])
    }
}

/// A group and what operators compute for it alone, readers before what they read, each with the place of its reader.
struct Own(Vec<(Member, usize)>);

impl Own {
    fn of(search: &PartitionSearch<'_>, graph: &ReachabilityGraph, group: Member) -> Own {
        let mut own = vec![(group, 0)];
        let mut next = 0;
        while let Some(&(reader, _)) = own.get(next) {
            for reference in graph.references_of(reader) {
                let is_own = search.context.single_consumer(search.id(reference.producer)) == Some(search.id(reader));
                let is_computed = !graph.read_through.contains(reference.producer.index());
                if reference.point.is_none() && is_own && is_computed {
                    own.push((reference.producer, next));
                }
            }
            next += 1;
        }
        Own(own)
    }

    /// The least seconds of computing the group so many times, with what it alone reads written or computed.
    fn seconds(&self, times: f64, compute: &ByMember<'_, f64>, write: &ByMember<'_, f64>) -> f64 {
        let mut below = vec![0.0; self.0.len()];
        for (place, &(group, reader)) in self.0.iter().enumerate().skip(1).rev() {
            below[reader] += write[group].min(times * compute[group] + below[place]);
        }
        times * compute[self.0[0].0] + below[0]
    }
}
