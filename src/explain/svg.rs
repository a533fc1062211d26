//! Drawings as SVG: fused operators are laid out by themselves, then the boxes among each other.

use super::drawing::{Drawing, Edge, Frame, Node};
use super::layers::{Graph, Layout, layout};
use fuseline_ir::template::TemplateType;
use std::collections::BTreeSet;
use std::fmt::Write;

const MARGIN: f64 = 16.0;
const PADDING: f64 = 12.0;
const CAPTION: f64 = 16.0;
const LINE: f64 = 14.0;
/// Width of a character of the nodes' font.
const CHARACTER: f64 = 6.7;
const TITLE: f64 = 26.0;

const STYLE: &str = "text{font:11px monospace;fill:#222}.title{font:bold 15px sans-serif}\
.caption{font:bold 11px sans-serif;stroke-width:4px;paint-order:stroke}.size{font:10px sans-serif;fill:#666}.node{fill:#fff;stroke:#555}\
.read{fill:#eee;stroke:#999}.edge{fill:none;stroke:#555}.fused{fill:none;stroke:#999;stroke-dasharray:3 3}";

/// Fill and line of a template's boxes.
pub(super) fn colours(template: Option<TemplateType>) -> (&'static str, &'static str) {
    match template {
        Some(TemplateType::Cell) => ("#dce9f7", "#3b74b0"),
        Some(TemplateType::Row) => ("#dff1d9", "#4a9440"),
        Some(TemplateType::MAgg) => ("#eadff3", "#8457a8"),
        Some(TemplateType::Outer) => ("#fbe6cf", "#c67a1e"),
        None => ("#ffffff", "#555555"),
    }
}

/// The drawings below each other, under a legend.
pub(super) fn document(stage: &str, drawings: &[Drawing]) -> String {
    let placed: Vec<(&Drawing, Placed)> = drawings.iter().map(|drawing| (drawing, Placed::new(drawing))).collect();
    let legend = legend(drawings);
    let width = placed.iter().map(|(_, placed)| placed.size.0).fold(420.0, f64::max) + 2.0 * MARGIN;
    let mut body = String::new();
    let mut y = MARGIN + if legend.is_empty() { 0.0 } else { 30.0 };
    for (drawing, placed) in &placed {
        let _ = writeln!(body, "<g transform=\"translate({MARGIN} {y:.1})\">");
        let _ = writeln!(body, "<text class=\"title\" x=\"0\" y=\"14\">{}</text>", escaped(&drawing.title));
        let _ = writeln!(body, "<g transform=\"translate(0 {TITLE})\">");
        placed.write(&mut body, drawing);
        body.push_str("</g>\n</g>\n");
        y += placed.size.1 + TITLE + 2.0 * MARGIN;
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{y:.0}\" viewBox=\"0 0 {width:.0} {y:.0}\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n\
         <defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"6\" markerHeight=\"6\" orient=\"auto\">\
         <path d=\"M0 0L8 4L0 8z\" fill=\"#555\"/></marker></defs>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{legend}{body}</svg>\n",
        escaped(stage)
    )
}

/// The colours of the templates that occur.
fn legend(drawings: &[Drawing]) -> String {
    let occurs = |template: &&TemplateType| {
        drawings.iter().flat_map(|drawing| &drawing.boxes).any(|frame| frame.template == Some(**template))
    };
    let mut text = String::new();
    for (place, template) in TemplateType::ALL.iter().filter(occurs).enumerate() {
        let (x, (fill, line)) = (MARGIN + 100.0 * place as f64, colours(Some(*template)));
        let _ = writeln!(
            text,
            "<rect x=\"{x}\" y=\"{MARGIN}\" width=\"14\" height=\"14\" rx=\"3\" fill=\"{fill}\" stroke=\"{line}\"/>\
             <text class=\"caption\" x=\"{}\" y=\"27\">{template}</text>",
            x + 20.0
        );
    }
    text
}

/// A drawing with the places of everything.
struct Placed {
    /// Corners and sizes of boxes.
    boxes: Vec<Rectangle>,
    /// Corners and sizes of nodes.
    nodes: Vec<Rectangle>,
    /// The points of the edges.
    ways: Vec<Vec<(f64, f64)>>,
    size: (f64, f64),
}

#[derive(Clone, Copy, Default)]
struct Rectangle {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

impl Rectangle {
    fn top(&self) -> (f64, f64) {
        (self.x + self.width / 2.0, self.y)
    }

    fn bottom(&self) -> (f64, f64) {
        (self.x + self.width / 2.0, self.y + self.height)
    }
}

fn node_size(node: &Node) -> (f64, f64) {
    let longest = node.lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    (longest as f64 * CHARACTER + 14.0, node.lines.len() as f64 * LINE + 8.0)
}

/// What a frame adds to what is in it: to the left and right, above, and below.
fn frame_size(frame: &Frame) -> (f64, f64, f64) {
    if frame.template.is_some() { (PADDING, PADDING + CAPTION, PADDING) } else { (0.0, 0.0, 0.0) }
}

/// The layout inside of a box. Values enter a frame and leave it where the layout says, so that no edge runs over the
/// nodes of a frame.
struct Inside {
    layout: Layout,
    /// What is laid out: the producers of what enters, the nodes, and those of them whose values leave.
    slots: Vec<Slot>,
    widths: Vec<f64>,
    edges: Vec<(usize, usize)>,
}

/// A place in a box, for the value of a node of the drawing or the node itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Slot {
    Entry(usize),
    Node(usize),
    Exit(usize),
}

impl Inside {
    fn new(drawing: &Drawing, number: usize) -> Inside {
        let frame = &drawing.boxes[number];
        let is_inside = |node: usize| drawing.nodes[node].owner == number;
        // What is no frame has no borders to pass.
        let edges = drawing.edges.iter().filter(|_| frame.template.is_some());
        let links: BTreeSet<(Slot, Slot)> = edges
            .filter_map(|edge| match (is_inside(edge.from), is_inside(edge.to)) {
                (true, true) => Some((Slot::Node(edge.from), Slot::Node(edge.to))),
                (true, false) => Some((Slot::Node(edge.from), Slot::Exit(edge.from))),
                (false, true) => Some((Slot::Entry(edge.from), Slot::Node(edge.to))),
                (false, false) => None,
            })
            .collect();
        let ends = links.iter().flat_map(|&(from, to)| [from, to]);
        // In the order of their kinds.
        let slots: BTreeSet<Slot> = ends.chain(frame.nodes.iter().map(|&node| Slot::Node(node))).collect();
        let slots: Vec<Slot> = slots.into_iter().collect();
        let position = |slot: &Slot| slots.binary_search(slot).expect("links lead from slot to slot");
        let edges: Vec<(usize, usize)> = links.iter().map(|(from, to)| (position(from), position(to))).collect();
        let size =
            |slot: &Slot| if let Slot::Node(node) = slot { node_size(&drawing.nodes[*node]) } else { (0.0, 0.0) };
        let count = |is_kind: fn(&Slot) -> bool| slots.iter().filter(|slot| is_kind(slot)).count();
        let graph = Graph {
            sizes: slots.iter().map(size).collect(),
            edges,
            entries: count(|slot| matches!(slot, Slot::Entry(_))),
            exits: count(|slot| matches!(slot, Slot::Exit(_))),
        };
        let widths = graph.sizes.iter().map(|(width, _)| *width).collect();
        Inside { layout: layout(&graph), slots, widths, edges: graph.edges }
    }

    /// The way from one slot to another, without its ends, and where it ends: the left upper corner of all is at `origin`.
    fn way(&self, from: Slot, to: Slot, origin: (f64, f64)) -> Vec<(f64, f64)> {
        let place = |slot: &Slot| self.slots.binary_search(slot).expect("links lead from slot to slot");
        let link = (place(&from), place(&to));
        let edge = self.edges.binary_search(&link).expect("every link is laid out");
        let moved = |(x, y): (f64, f64)| (x + origin.0, y + origin.1);
        let centre = |slot: usize| self.layout.corners[slot].0 + self.widths[slot] / 2.0;
        self.layout.routes[edge].points(centre(link.0), centre(link.1)).into_iter().map(moved).collect()
    }
}

impl Placed {
    fn new(drawing: &Drawing) -> Placed {
        let insides: Vec<Inside> = (0..drawing.boxes.len()).map(|number| Inside::new(drawing, number)).collect();
        let frames = drawing.boxes.iter().zip(&insides);
        let sizes: Vec<(f64, f64)> = frames.map(|(frame, inside)| outer_size(frame, &inside.layout)).collect();
        let corners_and_sizes =
            |layout: &Layout| layout.corners.iter().zip(&sizes).map(|(&c, &s)| rectangle(c, s)).collect();
        let (between, links) = outside(drawing, &sizes);
        let mut placed = Placed {
            boxes: corners_and_sizes(&between),
            nodes: vec![Rectangle::default(); drawing.nodes.len()],
            ways: Vec::new(),
            size: between.size,
        };
        for (number, inside) in insides.iter().enumerate() {
            let (x, y) = placed.origin(drawing, number);
            for (slot, corner) in inside.slots.iter().zip(&inside.layout.corners) {
                if let Slot::Node(node) = *slot {
                    placed.nodes[node] = rectangle((corner.0 + x, corner.1 + y), node_size(&drawing.nodes[node]));
                }
            }
        }
        let ways = drawing.edges.iter().map(|edge| placed.way(drawing, edge, &insides, &between, &links));
        placed.ways = ways.collect();
        placed
    }

    /// The left upper corner of what is inside of a box.
    fn origin(&self, drawing: &Drawing, number: usize) -> (f64, f64) {
        let (side, above, _) = frame_size(&drawing.boxes[number]);
        (self.boxes[number].x + side, self.boxes[number].y + above)
    }

    /// The points of an edge: within a box, or out of one, between the boxes and into another.
    fn way(
        &self,
        drawing: &Drawing,
        &Edge { from, to, .. }: &Edge,
        insides: &[Inside],
        between: &Layout,
        links: &[(usize, usize)],
    ) -> Vec<(f64, f64)> {
        let [one, other] = [from, to].map(|node| drawing.nodes[node].owner);
        let is_frame = |number: usize| drawing.boxes[number].template.is_some();
        let part = |number: usize, from: Slot, to: Slot| insides[number].way(from, to, self.origin(drawing, number));
        let mut way = vec![self.nodes[from].bottom()];
        if one == other {
            way.extend(part(one, Slot::Node(from), Slot::Node(to)));
        } else {
            let (before, after) = (
                if is_frame(one) { part(one, Slot::Node(from), Slot::Exit(from)) } else { vec![] },
                if is_frame(other) { part(other, Slot::Entry(from), Slot::Node(to)) } else { vec![] },
            );
            way.extend(before);
            let link = links.binary_search(&(one, other)).expect("every pair of boxes is laid out");
            let start = way.last().map_or(0.0, |point| point.0);
            let end = after.first().map_or(self.nodes[to].top().0, |point| point.0);
            way.extend(between.routes[link].points(start, end));
            way.extend(after);
        }
        way.push(self.nodes[to].top());
        way
    }

    fn write(&self, text: &mut String, drawing: &Drawing) {
        let frames = || drawing.boxes.iter().zip(&self.boxes).filter(|(frame, _)| frame.template.is_some());
        for (frame, Rectangle { x, y, width, height }) in frames() {
            let (fill, line) = colours(frame.template);
            let _ = writeln!(
                text,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"8\" fill=\"{fill}\" stroke=\"{line}\"/>"
            );
        }
        let mut labelled = BTreeSet::new();
        for (edge, way) in drawing.edges.iter().zip(&self.ways) {
            // All edges of a value have its size, which is written where they start.
            let is_first = !edge.label.is_empty() && labelled.insert(edge.from);
            self.write_edge(text, edge, way, is_first);
        }
        // Over the edges that enter.
        for (frame, place) in frames() {
            let (x, y) = (place.x + PADDING, place.y + CAPTION);
            let (caption, (halo, _)) = (escaped(&frame.caption), colours(frame.template));
            let _ =
                writeln!(text, "<text class=\"caption\" stroke=\"{halo}\" x=\"{x:.1}\" y=\"{y:.1}\">{caption}</text>");
        }
        for (node, place) in drawing.nodes.iter().zip(&self.nodes) {
            write_node(text, node, place);
        }
    }

    fn write_edge(&self, text: &mut String, edge: &Edge, way: &[(f64, f64)], has_label: bool) {
        let mut path = format!("M{:.1} {:.1}", way[0].0, way[0].1);
        for pair in way.windows(2) {
            let (last, (x, y)) = (pair[0], pair[1]);
            let middle = f64::midpoint(last.1, y);
            let _ = write!(path, "C{:.1} {middle:.1} {x:.1} {middle:.1} {x:.1} {y:.1}", last.0);
        }
        let class = if edge.label.is_empty() { "fused" } else { "edge" };
        let reason = edge.reason.as_ref().map_or(String::new(), |reason| format!("<title>{}</title>", escaped(reason)));
        let _ = write!(text, "<g>{reason}<path class=\"{class}\" marker-end=\"url(#arrow)\" d=\"{path}\"/>");
        if has_label {
            // Below its layer, where there are no nodes.
            let (x, y) = (way[1].0 + 4.0, way[1].1 + 11.0);
            let _ = write!(text, "<text class=\"size\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escaped(&edge.label));
        }
        text.push_str("</g>\n");
    }
}

/// The layout of the boxes, and the pairs of boxes that its routes connect.
fn outside(drawing: &Drawing, sizes: &[(f64, f64)]) -> (Layout, Vec<(usize, usize)>) {
    let owner = |node: usize| drawing.nodes[node].owner;
    let mut links: Vec<(usize, usize)> = drawing.edges.iter().map(|edge| (owner(edge.from), owner(edge.to))).collect();
    links.retain(|(from, to)| from != to);
    links.sort_unstable();
    links.dedup();
    (layout(&Graph { sizes: sizes.to_vec(), edges: links.clone(), ..Graph::default() }), links)
}

fn outer_size(frame: &Frame, inner: &Layout) -> (f64, f64) {
    let (side, above, below) = frame_size(frame);
    let caption = frame.caption.chars().count() as f64 * CHARACTER;
    ((inner.size.0 + 2.0 * side).max(caption + 2.0 * side), inner.size.1 + above + below)
}

fn rectangle((x, y): (f64, f64), (width, height): (f64, f64)) -> Rectangle {
    Rectangle { x, y, width, height }
}

fn write_node(text: &mut String, node: &Node, place: &Rectangle) {
    let Rectangle { x, y, width, height } = place;
    let (class, corner) = if node.is_read { ("read", 10) } else { ("node", 4) };
    let _ = write!(
        text,
        "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"{corner}\"/>"
    );
    for (number, line) in node.lines.iter().enumerate() {
        let (x, y) = (x + 7.0, y + LINE * (number as f64 + 1.0));
        let _ = write!(text, "<text x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escaped(line));
    }
    text.push('\n');
}

fn escaped(text: &str) -> String {
    // What XML has no place for cannot be escaped either.
    let text: String = text.chars().filter(|&c| c >= ' ' || c == '\n' || c == '\t').collect();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
