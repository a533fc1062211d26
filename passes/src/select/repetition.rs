//! What values that several operators need add to lower bounds (section 4.4, cost-based pruning).
//!
//! Operators that need a value read it, and then it is written, or compute it, each for itself. So a plan spends the lesser
//! one of two things besides what every plan does: writing the value, or computing it once for each of these operators after
//! the first. What the value alone reads is computed as often, or written in its place. Operators that certainly compute it
//! leave no choice: if it is written, one operator more computes it for that.
//!
//! How many operators need a value is known from two sides: of its readers some can never be in one operator, so that they
//! are in as many as there are of them; and of the operators that certainly start, those whose outlines have it.
//!
//! The paper's bound counts a value once until a point of it is true.

use super::entry::{ByMember, Member, Point};
use super::reachability::{Points, ReachabilityGraph};
use super::space::SearchSpace;
use cranelift_entity::EntityRef;
use smallvec::SmallVec;

/// A group that several operators may compute.
pub(super) struct Repeated {
    pub(super) group: Member,
    points: SmallVec<[Point; 4]>,
    /// What it computes alone.
    own: Own,
    /// The least seconds of writing it.
    write: f64,
}

/// How often a group is computed.
#[derive(Clone, Copy)]
pub(super) struct Needs {
    /// Whether an operator that is determined computes it.
    pub(super) is_computed: bool,
    /// Whether every plan writes it.
    pub(super) is_written: bool,
    /// Other operators that certainly compute it.
    pub(super) computing: usize,
    /// Others that read or compute it.
    pub(super) open: usize,
}

impl Repeated {
    /// The producers of points of a partition, given by group the least seconds of computing and of writing it.
    pub(super) fn all(
        space: &SearchSpace<'_>,
        compute: &ByMember<'_, f64>,
        write: &ByMember<'_, f64>,
    ) -> Vec<Repeated> {
        let graph = &space.graph;
        let mut by_producer: Vec<(Member, Point)> = Vec::new();
        for reference in &graph.references {
            let may_be_left_out =
                [reference.consumer, reference.producer].iter().any(|group| graph.read_through.contains(group.index()));
            if let Some(point) = reference.point.filter(|_| !may_be_left_out) {
                by_producer.push((reference.producer, point));
            }
        }
        by_producer.sort_unstable();
        let producers = by_producer.chunk_by(|one, other| one.0 == other.0);
        let repeated = producers.map(|points| {
            let group = points[0].0;
            let own = Own::of(space, group, compute, write);
            Repeated { group, points: points.iter().map(|(_, point)| *point).collect(), own, write: write[group] }
        });
        repeated.collect()
    }

    /// The least seconds of computing the group more often than once, if no operator that is determined computes it, or of
    /// writing it unless that is counted already, with the points of an assignment true.
    pub(super) fn seconds(&self, graph: &ReachabilityGraph, assignment: &Points, needs: Needs) -> f64 {
        let Needs { is_computed, is_written, computing, open } = needs;
        if is_computed {
            let more = self.own.together(computing + open);
            let for_writing = usize::from(!is_written);
            let beside = self.own.together(computing + for_writing);
            return if is_written { self.own.together(computing) } else { more.min(self.write + beside) };
        }
        if is_written {
            return self.own.seconds(computing.saturating_sub(1));
        }
        let operators = graph.readers_apart(&self.points, assignment).max(computing + open);
        let beside = self.own.seconds(computing);
        (self.write + beside).min(self.own.seconds(operators.saturating_sub(1)))
    }
}

/// A group and what operators compute for it alone, readers before what they read.
struct Own(Vec<Computed>);

struct Computed {
    /// The place of its reader.
    reader: usize,
    /// Whether every operator that computes the first group computes it.
    is_drawn_in: bool,
    compute: f64,
    write: f64,
}

impl Own {
    fn of(space: &SearchSpace<'_>, group: Member, compute: &ByMember<'_, f64>, write: &ByMember<'_, f64>) -> Own {
        let SearchSpace { search, graph, .. } = space;
        let mut groups = vec![(group, 0, true)];
        let mut next = 0;
        while let Some(&(reader, _, is_drawn_in)) = groups.get(next) {
            for (number, reference) in graph.numbered_references_of(reader) {
                let is_own = search.context.single_consumer(search.id(reference.producer)) == Some(search.id(reader));
                let is_computed = !graph.read_through.contains(reference.producer.index());
                if reference.point.is_none() && is_own && is_computed {
                    let is_drawn_in = is_drawn_in && space.inseparable().is_fused(number);
                    groups.push((reference.producer, next, is_drawn_in));
                }
            }
            next += 1;
        }
        let computed = |(group, reader, is_drawn_in)| Computed {
            reader,
            is_drawn_in,
            compute: compute[group],
            write: write[group],
        };
        Own(groups.into_iter().map(computed).collect())
    }

    /// The least seconds of computing the group so many times, with what it alone reads written or computed.
    fn seconds(&self, times: usize) -> f64 {
        let times = times as f64;
        let mut below = vec![0.0; self.0.len()];
        for (place, computed) in self.0.iter().enumerate().skip(1).rev() {
            below[computed.reader] += computed.write.min(times * computed.compute + below[place]);
        }
        times * self.0[0].compute + below[0]
    }

    /// The least seconds of computing the group so many times, where what it alone reads may be written already.
    fn together(&self, times: usize) -> f64 {
        let together: f64 = self.0.iter().filter(|group| group.is_drawn_in).map(|group| group.compute).sum();
        times as f64 * together
    }
}
