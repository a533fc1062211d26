//! Layered layout of directed acyclic graphs, after Sugiyama, Tagawa and Toda: nodes in layers from top to bottom, ordered
//! by the barycentres of their neighbours, with a way around the nodes of other layers for every edge.
//!
//! The layout is our own because no library lays out clusters: boxes that hold the nodes of an operator and no others.
//!
//! Everything is decided by the order of nodes and edges, so that equal graphs are drawn equally.

/// Distance between layers.
const LAYER_GAP: f64 = 34.0;

/// Distance between neighbours in a layer.
const NODE_GAP: f64 = 18.0;

/// Width that a passing edge takes.
const PASSING: f64 = 6.0;

/// How often layers are ordered, and nodes moved, towards their neighbours.
const SWEEPS: usize = 12;

/// What is laid out. Edges lead from earlier nodes to later ones.
#[derive(Clone, Debug, Default)]
pub(super) struct Graph {
    /// Widths and heights of the nodes.
    pub(super) sizes: Vec<(f64, f64)>,
    /// From node to node.
    pub(super) edges: Vec<(usize, usize)>,
    /// So many nodes, the first, stand on top of all others.
    pub(super) entries: usize,
    /// So many nodes, the last, stand below all others.
    pub(super) exits: usize,
}

/// How an edge passes, so that it crosses others but no nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Route {
    /// The lower border of the layer that it comes from: above it turns to no side.
    pub(super) leaves: f64,
    /// The points that it passes, from top to bottom.
    pub(super) passes: Vec<(f64, f64)>,
    /// The upper border of the layer that it leads to: below it turns to no side.
    pub(super) enters: f64,
}

impl Route {
    /// The points between an end at `start` on the one side and one at `end` on the other, both from the left.
    pub(super) fn points(&self, start: f64, end: f64) -> Vec<(f64, f64)> {
        let passes = self.passes.iter().copied();
        std::iter::once((start, self.leaves)).chain(passes).chain([(end, self.enters)]).collect()
    }
}

/// Where nodes are placed, and how edges pass.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    /// The left upper corner of every node.
    pub(super) corners: Vec<(f64, f64)>,
    /// By edge.
    pub(super) routes: Vec<Route>,
    /// Width and height of all.
    pub(super) size: (f64, f64),
}

/// A node, or a place that an edge passes.
struct Slot {
    width: f64,
    layer: usize,
    above: Vec<usize>,
    below: Vec<usize>,
    /// Left border.
    x: f64,
}

/// Lays out a graph.
pub(super) fn layout(graph: &Graph) -> Layout {
    let Graph { sizes, edges, .. } = graph;
    let layers_of_nodes = assign_layers(graph);
    let slot =
        |(&(width, _), &layer): (&(f64, f64), &usize)| Slot { width, layer, above: vec![], below: vec![], x: 0.0 };
    let mut slots: Vec<Slot> = sizes.iter().zip(&layers_of_nodes).map(slot).collect();
    let passes: Vec<Vec<usize>> = edges.iter().map(|&(from, to)| insert_passes(&mut slots, from, to)).collect();
    let mut layers = vec![Vec::new(); layers_of_nodes.iter().max().map_or(0, |last| last + 1)];
    for (number, slot) in slots.iter().enumerate() {
        layers[slot.layer].push(number);
    }
    order(&slots, &mut layers);
    place(&mut slots, &layers);
    finish(graph, &slots, &passes, &layers)
}

/// The longest way from a node without inputs; those stand right above the first that needs them, unless they are
/// entries.
fn assign_layers(graph: &Graph) -> Vec<usize> {
    let (nodes, edges) = (graph.sizes.len(), &graph.edges);
    let mut sorted = edges.clone();
    sorted.sort_unstable();
    let mut layers = vec![0; nodes];
    for &(from, to) in &sorted {
        layers[to] = layers[to].max(layers[from] + 1);
    }
    for node in graph.entries..nodes {
        let is_source = !edges.iter().any(|&(_, to)| to == node);
        let first = edges.iter().filter(|&&(from, _)| from == node).map(|&(_, to)| layers[to]).min();
        if let Some(first) = first.filter(|_| is_source) {
            layers[node] = first - 1;
        }
    }
    let (inner, exits) = layers.split_at_mut(nodes - graph.exits);
    exits.fill(inner.iter().max().map_or(0, |last| last + 1));
    layers
}

/// Gives an edge a place in every layer between its ends.
fn insert_passes(slots: &mut Vec<Slot>, from: usize, to: usize) -> Vec<usize> {
    let (mut last, mut passes) = (from, Vec::new());
    for layer in slots[from].layer + 1..slots[to].layer {
        let number = slots.len();
        slots.push(Slot { width: PASSING, layer, above: vec![], below: vec![], x: 0.0 });
        link(slots, last, number);
        passes.push(number);
        last = number;
    }
    link(slots, last, to);
    passes
}

fn link(slots: &mut [Slot], upper: usize, lower: usize) {
    slots[upper].below.push(lower);
    slots[lower].above.push(upper);
}

/// Orders the layers so that few edges cross.
fn order(slots: &[Slot], layers: &mut [Vec<usize>]) {
    let mut positions = vec![0.0; slots.len()];
    let number = |layer: &[usize], positions: &mut [f64]| {
        for (position, &slot) in layer.iter().enumerate() {
            positions[slot] = position as f64;
        }
    };
    layers.iter().for_each(|layer| number(layer, &mut positions));
    for sweep in 0..SWEEPS {
        let is_downwards = sweep % 2 == 0;
        for step in 0..layers.len() {
            let layer = if is_downwards { step } else { layers.len() - 1 - step };
            let neighbours = |slot: usize| if is_downwards { &slots[slot].above } else { &slots[slot].below };
            let mut keyed: Vec<(f64, usize)> = layers[layer]
                .iter()
                .map(|&slot| {
                    (mean(neighbours(slot).iter().map(|&other| positions[other])).unwrap_or(positions[slot]), slot)
                })
                .collect();
            keyed.sort_by(|one, other| one.0.total_cmp(&other.0));
            layers[layer] = keyed.into_iter().map(|(_, slot)| slot).collect();
            number(&layers[layer], &mut positions);
        }
    }
}

/// Moves the slots of each layer towards the middle of their neighbours, without overlaps.
fn place(slots: &mut [Slot], layers: &[Vec<usize>]) {
    for layer in layers {
        spread(slots, layer, &vec![0.0; layer.len()]);
    }
    for sweep in 0..SWEEPS {
        for step in 0..layers.len() {
            let layer = &layers[if sweep % 2 == 0 { step } else { layers.len() - 1 - step }];
            let wanted: Vec<f64> = layer.iter().map(|&slot| wanted(slots, slot)).collect();
            spread(slots, layer, &wanted);
        }
    }
}

/// The left border at which a slot is in the middle of its neighbours.
fn wanted(slots: &[Slot], slot: usize) -> f64 {
    let centre = |other: &usize| slots[*other].x + slots[*other].width / 2.0;
    let own = &slots[slot];
    mean(own.above.iter().chain(&own.below).map(centre)).map_or(own.x, |middle| middle - own.width / 2.0)
}

/// Places a layer as near as possible to what is wanted: from the left and from the right as far as neighbours allow,
/// and in the middle of both.
fn spread(slots: &mut [Slot], layer: &[usize], wanted: &[f64]) {
    let mut from_left = wanted.to_vec();
    for place in 1..layer.len() {
        let border = from_left[place - 1] + slots[layer[place - 1]].width + NODE_GAP;
        from_left[place] = from_left[place].max(border);
    }
    let mut from_right = wanted.to_vec();
    for place in (1..layer.len()).rev() {
        let border = from_right[place] - slots[layer[place - 1]].width - NODE_GAP;
        from_right[place - 1] = from_right[place - 1].min(border);
    }
    for (place, &slot) in layer.iter().enumerate() {
        slots[slot].x = f64::midpoint(from_left[place], from_right[place]);
    }
}

fn finish(graph: &Graph, slots: &[Slot], passes: &[Vec<usize>], layers: &[Vec<usize>]) -> Layout {
    let Graph { sizes, edges, .. } = graph;
    let left = slots.iter().map(|slot| slot.x).fold(f64::INFINITY, f64::min);
    let width = slots.iter().map(|slot| slot.x + slot.width - left).fold(0.0, f64::max);
    let height = |slot: usize| sizes.get(slot).map_or(0.0, |(_, height)| *height);
    let (mut tops, mut heights, mut y) = (Vec::new(), Vec::new(), 0.0);
    for layer in layers {
        let tallest = layer.iter().map(|&slot| height(slot)).fold(0.0, f64::max);
        tops.push(y);
        heights.push(tallest);
        y += tallest + LAYER_GAP;
    }
    let top = |slot: usize| tops[slots[slot].layer] + (heights[slots[slot].layer] - height(slot)) / 2.0;
    let bottom = |layer: usize| tops[layer] + heights[layer];
    let route = |(passes, &(from, to)): (&Vec<usize>, &(usize, usize))| {
        let through = |&slot: &usize| {
            let (x, layer) = (slots[slot].x - left + PASSING / 2.0, slots[slot].layer);
            [(x, tops[layer]), (x, bottom(layer))]
        };
        Route {
            leaves: bottom(slots[from].layer),
            passes: passes.iter().flat_map(through).collect(),
            enters: tops[slots[to].layer],
        }
    };
    Layout {
        corners: (0..sizes.len()).map(|slot| (slots[slot].x - left, top(slot))).collect(),
        routes: passes.iter().zip(edges).map(route).collect(),
        size: (width, (y - LAYER_GAP).max(0.0)),
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0_u32, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / f64::from(count))
}
