//! Documents and drawings.

use super::document::{ExplainDocument, ExplainedDag};
use super::drawing::Drawing;
use super::layers::{Graph, layout};
use super::{ExplainStage, StageCollector};
use crate::{BackendKind, CompileOptions, Session};
use std::collections::BTreeSet;

/// The factorisation of the paper's expression (1), with a fused operator of two templates, a shared operator and texts
/// that need escaping.
const DAG: &str = "hops @als {
  %0 = read \"X\" : f64[20000x10000, nnz=2000000]
  %1 = read \"U<&\\\">\" : f64[20000x20]
  %2 = read \"V\" : f64[10000x20]
  %3 = read \"r\" : f64[20000x1]
  %4 = literal 0.0 : f64
  %5 = literal 1e-6 : f64
  %6 = ne %0, %4 : f64[20000x10000, nnz=2000000]
  %7 = t %2 : f64[20x10000]
  %8 = matmul %1, %7 : f64[20000x10000]
  %9 = mult %6, %8 : f64[20000x10000, nnz=2000000]
  %10 = matmul %9, %2 : f64[20000x20]
  %11 = mult %5, %1 : f64[20000x20]
  %12 = mult %11, %3 : f64[20000x20]
  %13 = plus %10, %12 : f64[20000x20]
  write \"O\" %13
}
";

fn document(stage: ExplainStage) -> ExplainDocument {
    let options = CompileOptions { backend: BackendKind::Interp, rewrites: false, ..CompileOptions::default() };
    let session = Session::new(options).expect("a session");
    let mut collector = StageCollector::new(stage).expect("a graph");
    let dags = fuseline_ir::hop::parse(DAG).expect("well-formed");
    for (name, dag) in &dags {
        session.compile_dag(dag, &mut |stage| collector.observe(name, &stage)).expect("compiles");
    }
    collector.into_document()
}

const GRAPHS: [ExplainStage; 4] = [ExplainStage::Hops, ExplainStage::Rewritten, ExplainStage::Memo, ExplainStage::Plan];

#[test]
fn only_graphs_are_collected() {
    for &(name, stage) in ExplainStage::ALL {
        assert_eq!(stage.name(), name);
        assert_eq!(StageCollector::new(stage).is_some(), GRAPHS.contains(&stage), "{name}");
    }
}

#[test]
fn documents_read_back() {
    for stage in GRAPHS {
        let document = document(stage);
        let text = serde_json::to_string(&document).expect("numbers are finite");
        let again: ExplainDocument = serde_json::from_str(&text).expect("the schema is that of the types");
        assert_eq!(again, document);
        assert_eq!((document.version, document.stage.as_str()), (2, stage.name()));
        let [dag] = &document.dags[..] else { panic!("one DAG: {text}") };
        assert_eq!(
            (dag.memo.is_some(), dag.plan.is_some()),
            (stage == ExplainStage::Memo, stage == ExplainStage::Plan)
        );
    }
}

fn fused_boxes(dag: &ExplainedDag) -> usize {
    Drawing::new(dag).boxes.iter().filter(|frame| frame.template.is_some()).count()
}

#[test]
fn fused_operators_are_boxes() {
    let document = document(ExplainStage::Plan);
    let drawing = Drawing::new(&document.dags[0]);
    let boxes: Vec<(usize, &str)> = drawing
        .boxes
        .iter()
        .filter(|frame| frame.template.is_some())
        .map(|frame| (frame.nodes.len(), frame.caption.split(',').next().unwrap_or_default()))
        .collect();
    assert_eq!(boxes, [(5, "outer right_mm"), (3, "cell no_agg")]);
    let materialized: Vec<_> = drawing.edges.iter().filter(|edge| edge.reason.is_some()).collect();
    assert_eq!(materialized.len(), 1);
    assert!(materialized[0].reason.as_ref().is_some_and(|reason| reason.contains("outer operator")));
    assert_eq!(fused_boxes(&super::tests::document(ExplainStage::Hops).dags[0]), 0);
}

#[test]
fn svg_is_well_formed_and_nothing_overlaps() {
    for stage in GRAPHS {
        let svg = document(stage).to_svg();
        assert_eq!(svg, document(stage).to_svg());
        let tree = roxmltree::Document::parse(&svg).unwrap_or_else(|error| panic!("{error}: {svg}"));
        assert_eq!(tree.root_element().tag_name().name(), "svg");
        assert!(!svg.contains("href"), "self-contained");
        let number = |node: &roxmltree::Node<'_, '_>, name: &str| -> f64 {
            node.attribute(name).and_then(|value| value.parse().ok()).expect("a number")
        };
        let (width, height) = (number(&tree.root_element(), "width"), number(&tree.root_element(), "height"));
        let nodes: Vec<[f64; 4]> = tree
            .descendants()
            .filter(|node| matches!(node.attribute("class"), Some("node" | "read")) && node.has_tag_name("rect"))
            .map(|node| ["x", "y", "width", "height"].map(|name| number(&node, name)))
            .collect();
        assert_eq!(nodes.len(), 12, "all but the literals");
        for (place, one) in nodes.iter().enumerate() {
            assert!(one[0] >= 0.0 && one[1] >= 0.0 && one[0] + one[2] <= width && one[1] + one[3] <= height, "{one:?}");
            for other in &nodes[..place] {
                let apart = |low: usize, size: usize| {
                    one[low] + one[size] <= other[low] || other[low] + other[size] <= one[low]
                };
                assert!(apart(0, 2) || apart(1, 3), "{one:?} and {other:?} of {svg}");
            }
        }
    }
}

/// A fused operator whose inputs enter next to nodes that do not read them: no edge runs over a node, and each value has
/// its size written once.
#[test]
fn edges_of_a_drawing_pass_its_nodes() {
    for stage in GRAPHS {
        let svg = document(stage).to_svg();
        let tree = roxmltree::Document::parse(&svg).expect("well-formed");
        let is_class = |node: &roxmltree::Node<'_, '_>, classes: &[&str]| {
            node.attribute("class").is_some_and(|class| classes.contains(&class))
        };
        let number = |node: &roxmltree::Node<'_, '_>, name: &str| -> f64 {
            node.attribute(name).and_then(|value| value.parse().ok()).expect("a number")
        };
        let nodes: Vec<[f64; 4]> = tree
            .descendants()
            .filter(|node| node.has_tag_name("rect") && is_class(node, &["node", "read"]))
            .map(|node| ["x", "y", "width", "height"].map(|name| number(&node, name)))
            .collect();
        let mut edges = 0;
        for path in tree.descendants().filter(|node| is_class(node, &["edge", "fused"])) {
            edges += 1;
            for (x, y) in points_of_path(path.attribute("d").expect("a path")) {
                let is_on = |&&[left, top, width, height]: &&[f64; 4]| {
                    left + 1.0 < x && x < left + width - 1.0 && top + 1.0 < y && y < top + height - 1.0
                };
                assert_eq!(nodes.iter().find(is_on), None, "({x}, {y}) of {svg}");
            }
        }
        let sizes: Vec<(f64, f64)> = tree
            .descendants()
            .filter(|node| is_class(node, &["size"]))
            .map(|node| (number(&node, "x"), number(&node, "y")))
            .collect();
        assert!(edges > 10 && sizes.len() >= 5, "{edges} edges, {} sizes", sizes.len());
        for (place, one) in sizes.iter().enumerate() {
            assert!(!sizes[..place].contains(one), "two sizes at {one:?} of {svg}");
        }
    }
}

/// Points along a path of cubic curves.
fn points_of_path(path: &str) -> Vec<(f64, f64)> {
    let numbers: Vec<f64> = path.split(['M', 'C', ' ']).filter_map(|number| number.parse().ok()).collect();
    let mut last = (numbers[0], numbers[1]);
    let mut points = Vec::new();
    for curve in numbers[2..].chunks_exact(6) {
        for step in 1..=40 {
            let t = f64::from(step) / 40.0;
            let weights = [(1.0 - t).powi(3), 3.0 * (1.0 - t).powi(2) * t, 3.0 * (1.0 - t) * t * t, t.powi(3)];
            let along = |ends: [f64; 4]| weights.iter().zip(ends).map(|(weight, end)| weight * end).sum::<f64>();
            points.push((along([last.0, curve[0], curve[2], curve[4]]), along([last.1, curve[1], curve[3], curve[5]])));
        }
        last = (curve[4], curve[5]);
    }
    points
}

#[test]
fn dot_is_what_its_readers_read() {
    for stage in GRAPHS {
        let dot = document(stage).to_dot();
        assert_eq!(dot, document(stage).to_dot());
        let mut parser = ::layout::gv::DotParser::new(&dot);
        let graph = parser.process().unwrap_or_else(|error| panic!("{error}: {dot}"));
        assert!(!graph.list.list.is_empty());
        assert_eq!(dot.matches("subgraph cluster_").count(), if stage == ExplainStage::Plan { 2 } else { 0 });
    }
}

/// Random graphs: nodes of a layer do not overlap, edges lead downwards, and the same graph is drawn the same way.
#[test]
fn layouts_keep_order_and_distance() {
    let mut state = 5_u64;
    let mut random = |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound
    };
    for _ in 0..100 {
        let count = 2 + random(20);
        let sizes: Vec<(f64, f64)> =
            (0..count).map(|_| (20.0 + random(100) as f64, 20.0 + random(40) as f64)).collect();
        let edges: BTreeSet<(usize, usize)> = (1..count).flat_map(|to| [(random(to), to), (random(to), to)]).collect();
        let edges: Vec<(usize, usize)> = edges.into_iter().collect();
        let graph = Graph { sizes: sizes.clone(), edges: edges.clone(), ..Graph::default() };
        let drawn = layout(&graph);
        assert_eq!(drawn.corners, layout(&graph).corners);
        for &(from, to) in &edges {
            assert!(drawn.corners[from].1 + sizes[from].1 <= drawn.corners[to].1, "{from} above {to}");
        }
        for one in 0..count {
            let (x, y) = drawn.corners[one];
            assert!(x >= 0.0 && x + sizes[one].0 <= drawn.size.0 + 1e-9 && y + sizes[one].1 <= drawn.size.1 + 1e-9);
            for other in 0..one {
                let (left, top) = drawn.corners[other];
                let apart = x + sizes[one].0 <= left
                    || left + sizes[other].0 <= x
                    || y + sizes[one].1 <= top
                    || top + sizes[other].1 <= y;
                assert!(apart, "{one} and {other} of {sizes:?} {edges:?}");
            }
        }
    }
}
