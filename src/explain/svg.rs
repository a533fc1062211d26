//! Drawings as SVG: fused operators are laid out by themselves, then the boxes among each other.

use super::drawing::{Drawing, Edge, Frame, Node};
use super::layers::{Layout, layout};
use fuseline_ir::memo::TemplateType;
use std::fmt::Write;

const MARGIN: f64 = 16.0;
const PADDING: f64 = 12.0;
const CAPTION: f64 = 16.0;
const LINE: f64 = 14.0;
/// Width of a character of the nodes' font.
const CHARACTER: f64 = 6.7;
const TITLE: f64 = 26.0;

const STYLE: &str = "text{font:11px monospace;fill:#222}.title{font:bold 15px sans-serif}\
.caption{font:bold 11px sans-serif}.size{font:10px sans-serif;fill:#666}.node{fill:#fff;stroke:#555}\
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
    /// The points that edges pass between boxes, and inside of one.
    routes: Vec<Vec<(f64, f64)>>,
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

impl Placed {
    fn new(drawing: &Drawing) -> Placed {
        let inner: Vec<(Layout, Vec<usize>)> = (0..drawing.boxes.len()).map(|number| inside(drawing, number)).collect();
        let sizes: Vec<(f64, f64)> =
            drawing.boxes.iter().zip(&inner).map(|(frame, (inner, _))| outer_size(frame, inner)).collect();
        let (between, links) = outside(drawing, &sizes);
        let mut placed = Placed {
            boxes: between.corners.iter().zip(&sizes).map(|(&corner, &size)| rectangle(corner, size)).collect(),
            nodes: vec![Rectangle::default(); drawing.nodes.len()],
            routes: vec![Vec::new(); drawing.edges.len()],
            size: between.size,
        };
        for ((frame, (inner, edges)), &(left, top)) in drawing.boxes.iter().zip(&inner).zip(&between.corners) {
            let (side, above, _) = frame_size(frame);
            let (x, y) = (left + side, top + above);
            for (&node, corner) in frame.nodes.iter().zip(&inner.corners) {
                placed.nodes[node] = rectangle((corner.0 + x, corner.1 + y), node_size(&drawing.nodes[node]));
            }
            for (&edge, route) in edges.iter().zip(&inner.routes) {
                placed.routes[edge] = route.iter().map(|point| (point.0 + x, point.1 + y)).collect();
            }
        }
        for (edge, link) in drawing.edges.iter().enumerate() {
            let ends = (drawing.nodes[link.from].owner, drawing.nodes[link.to].owner);
            if let Some(number) = links.iter().position(|known| *known == ends) {
                placed.routes[edge].clone_from(&between.routes[number]);
            }
        }
        placed
    }

    fn write(&self, text: &mut String, drawing: &Drawing) {
        for (frame, place) in drawing.boxes.iter().zip(&self.boxes).filter(|(frame, _)| frame.template.is_some()) {
            let (fill, line) = colours(frame.template);
            let Rectangle { x, y, width, height } = place;
            let _ = writeln!(
                text,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"8\" fill=\"{fill}\" stroke=\"{line}\"/>\
                 <text class=\"caption\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                x + PADDING,
                y + CAPTION,
                escaped(&frame.caption)
            );
        }
        for (edge, route) in drawing.edges.iter().zip(&self.routes) {
            self.write_edge(text, edge, route);
        }
        for (node, place) in drawing.nodes.iter().zip(&self.nodes) {
            write_node(text, node, place);
        }
    }

    fn write_edge(&self, text: &mut String, edge: &Edge, route: &[(f64, f64)]) {
        let (start, end) = (self.nodes[edge.from].bottom(), self.nodes[edge.to].top());
        let mut path = format!("M{:.1} {:.1}", start.0, start.1);
        let mut last = start;
        for &(x, y) in route.iter().chain([&end]) {
            let middle = f64::midpoint(last.1, y);
            let _ = write!(path, "C{:.1} {middle:.1} {x:.1} {middle:.1} {x:.1} {y:.1}", last.0);
            last = (x, y);
        }
        let class = if edge.label.is_empty() { "fused" } else { "edge" };
        let reason = edge.reason.as_ref().map_or(String::new(), |reason| format!("<title>{}</title>", escaped(reason)));
        let _ = write!(text, "<g>{reason}<path class=\"{class}\" marker-end=\"url(#arrow)\" d=\"{path}\"/>");
        if !edge.label.is_empty() {
            let (x, y) = (end.0 + 4.0, end.1 - 7.0);
            let _ = write!(text, "<text class=\"size\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escaped(&edge.label));
        }
        text.push_str("</g>\n");
    }
}

/// The layout inside of a box, and the edges that it routes.
fn inside(drawing: &Drawing, number: usize) -> (Layout, Vec<usize>) {
    let nodes = &drawing.boxes[number].nodes;
    let place = |node: usize| nodes.binary_search(&node).ok();
    let (numbers, edges): (Vec<usize>, Vec<(usize, usize)>) = drawing
        .edges
        .iter()
        .enumerate()
        .filter_map(|(number, edge)| Some((number, (place(edge.from)?, place(edge.to)?))))
        .unzip();
    let sizes: Vec<(f64, f64)> = nodes.iter().map(|&node| node_size(&drawing.nodes[node])).collect();
    (layout(&sizes, &edges), numbers)
}

/// The layout of the boxes, and the pairs of boxes that its routes connect.
fn outside(drawing: &Drawing, sizes: &[(f64, f64)]) -> (Layout, Vec<(usize, usize)>) {
    let owner = |node: usize| drawing.nodes[node].owner;
    let mut links: Vec<(usize, usize)> = drawing.edges.iter().map(|edge| (owner(edge.from), owner(edge.to))).collect();
    links.retain(|(from, to)| from != to);
    links.sort_unstable();
    links.dedup();
    (layout(sizes, &links), links)
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
