//! Drawings in the language of Graphviz.

use super::drawing::{Drawing, Edge, Frame, Node};
use super::svg::colours;
use std::fmt::Write;

/// One graph, with a cluster for each fused operator.
pub(super) fn graph(drawing: &Drawing) -> String {
    let mut text = format!("digraph {} {{\n", quoted(&drawing.title));
    let _ = writeln!(text, "  graph [label={}, labelloc=t, fontname=\"sans-serif\"];", quoted(&drawing.title));
    text.push_str(
        "  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"monospace\", fontsize=10];\n",
    );
    text.push_str("  edge [fontname=\"sans-serif\", fontsize=9];\n");
    for (number, frame) in drawing.boxes.iter().enumerate() {
        cluster(&mut text, number, frame, &drawing.nodes);
    }
    for edge in &drawing.edges {
        let _ = writeln!(text, "  n{} -> n{} [{}];", edge.from, edge.to, edge_attributes(edge));
    }
    text.push_str("}\n");
    text
}

fn cluster(text: &mut String, number: usize, frame: &Frame, nodes: &[Node]) {
    let indentation = if let Some(template) = frame.template {
        let (fill, line) = colours(Some(template));
        let _ = writeln!(text, "  subgraph cluster_{number} {{");
        let _ = writeln!(
            text,
            "    graph [label={}, style=\"rounded,filled\", fillcolor=\"{fill}\", color=\"{line}\"];",
            quoted(&frame.caption)
        );
        "    "
    } else {
        "  "
    };
    for &node in &frame.nodes {
        let shape = if nodes[node].is_read { ", shape=ellipse" } else { "" };
        let _ = writeln!(text, "{indentation}n{node} [label={}{shape}];", quoted(&nodes[node].lines.join("\n")));
    }
    if frame.template.is_some() {
        text.push_str("  }\n");
    }
}

fn edge_attributes(edge: &Edge) -> String {
    match &edge.reason {
        _ if edge.label.is_empty() => "style=dashed".to_owned(),
        None => format!("label={}", quoted(&edge.label)),
        Some(reason) => format!("label={}, tooltip={}", quoted(&edge.label), quoted(reason)),
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
