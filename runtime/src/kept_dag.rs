//! DAGs that are kept for other processes: in their text form, each after a line that says where in the scripts its
//! operators stand.
//!
//! Places are told by their number in the order of all places of the DAGs that something is kept for. So a script may
//! change before a block that stays as it is, and errors still name the place that an operator has now.

use fuseline_ir::hop::{HopDag, HopOp, Span, parse};
use std::fmt::Write;

/// The places of DAGs in their order.
pub(crate) struct Places(Vec<Span>);

impl Places {
    /// Places of all operators in these DAGs.
    pub(crate) fn of<'d>(dags: impl IntoIterator<Item = &'d HopDag>) -> Places {
        let mut places: Vec<Span> =
            dags.into_iter().flat_map(|dag| dag.hops.values().filter_map(|hop| hop.span)).collect();
        places.sort_unstable_by_key(order);
        places.dedup();
        Places(places)
    }

    /// A DAG as text; nothing where it has other places.
    pub(crate) fn write(&self, dag: &HopDag) -> Option<String> {
        let mut text = String::from("places");
        for hop in dag.hops.values() {
            match hop.span {
                Some(span) => write!(text, " {}", self.0.binary_search_by_key(&order(&span), order).ok()?),
                None => write!(text, " -"),
            }
            .ok()?;
        }
        write!(text, "\n{dag}\n").ok()?;
        Some(text)
    }

    /// [`Places::write`] of a DAG that reads back as it is.
    pub(crate) fn write_to_be_read(&self, dag: &HopDag) -> Option<String> {
        let text = self.write(dag)?;
        let (read, rest) = self.read(&text)?;
        (rest.is_empty() && is_same(dag, &read)).then_some(text)
    }

    /// A well-formed DAG from the start of a text, and the rest of it.
    pub(crate) fn read<'t>(&self, text: &'t str) -> Option<(HopDag, &'t str)> {
        let (places, rest) = text.strip_prefix("places")?.split_once('\n')?;
        let (dag, rest) = rest.split_at(rest.find(END)? + END.len());
        let [(_, dag)] = &mut parse(dag).ok()?[..] else { return None };
        let mut places = places.split_ascii_whitespace();
        for hop in dag.hops.values_mut() {
            hop.span = match places.next()? {
                "-" => None,
                place => Some(*self.0.get(place.parse::<usize>().ok()?)?),
            };
        }
        let is_right = places.next().is_none() && dag.verify().is_ok();
        is_right.then(|| (std::mem::take(dag), rest))
    }
}

/// The end of a DAG's text form: within it lines are indented, and texts are on one line.
const END: &str = "\n}\n";

fn order(span: &Span) -> (u32, u32, u32) {
    (span.source, span.start, span.end)
}

/// Whether two DAGs are the same in all that there is of them.
fn is_same(one: &HopDag, other: &HopDag) -> bool {
    let is_same_operation = |one: &HopOp, other: &HopOp| match (one, other) {
        (HopOp::Literal(one), HopOp::Literal(other)) => one.same_bits(other),
        _ => one == other,
    };
    let mut pairs = one.hops.values().zip(other.hops.values());
    let is_same_hops = pairs.all(|(one, other)| {
        is_same_operation(&one.op, &other.op)
            && (&one.inputs, one.data_type, one.size, one.span)
                == (&other.inputs, other.data_type, other.size, other.span)
    });
    is_same_hops
        && one.hops.len() == other.hops.len()
        && (&one.outputs, &one.effects, &one.covers) == (&other.outputs, &other.effects, &other.covers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fuseline_ir::ops::UnaryOp;
    use fuseline_ir::{SizeInfo, Value};

    fn span(start: u32) -> Option<Span> {
        Some(Span { source: 1, start, end: start + 2 })
    }

    /// `exp(X)` and a literal, at these places.
    fn dag(places: [Option<Span>; 3], literal: Value) -> HopDag {
        let mut dag = HopDag::new();
        let x = dag.read_matrix("a \"name\"\n}\n", SizeInfo::with_nnz(3, 4, 5));
        let exp = dag.add(UnaryOp::Exp.into(), &[x], None).expect("it fits");
        let literal = dag.literal(literal);
        dag.write("y", exp);
        dag.write("z", literal);
        for (hop, place) in dag.hops.values_mut().zip(places) {
            hop.span = place;
        }
        dag
    }

    #[test]
    fn dags_read_back_with_the_places_of_another_script() {
        let (old, new) = ([span(5), None, span(9)], [span(105), None, span(119)]);
        for literal in [f64::NAN, -0.0, 0.1].map(Value::F64).into_iter().chain([Value::Str("}\n} \\".into())]) {
            let (one, other) = (dag(old, literal.clone()), dag(new, literal));
            let (places, others) = (Places::of([&one]), Places::of([&other]));
            let text = places.write_to_be_read(&one).expect("all of it has a text form");
            assert_eq!(Some(&text), others.write(&other).as_ref());
            let more = format!("{text}more");
            let (read, rest) = others.read(&more).expect("it is right");
            assert!(is_same(&read, &other) && !is_same(&read, &one));
            assert_eq!(rest, "more");
        }
    }

    #[test]
    fn which_places_are_the_same_and_which_come_first_is_told() {
        let texts =
            [[span(5), span(5), span(9)], [span(5), span(9), span(9)], [span(9), span(9), span(5)]].map(|places| {
                let dag = dag(places, Value::I64(1));
                Places::of([&dag]).write(&dag).expect("the places are its own")
            });
        assert!(texts[0] != texts[1] && texts[0] != texts[2] && texts[1] != texts[2]);
        let other = dag([span(6), None, None], Value::I64(1));
        assert!(Places::of([&dag([span(5), None, None], Value::I64(1))]).write(&other).is_none());
    }

    #[test]
    fn what_is_no_dag_is_not_read() {
        let dag = dag([span(5), None, span(9)], Value::I64(1));
        let places = Places::of([&dag]);
        let text = places.write(&dag).expect("the places are its own");
        for length in 0..text.len() {
            assert!(places.read(&text[..length]).is_none(), "{length} bytes");
        }
        let wrong = [("places 0", "places 2"), ("places 0", "places"), ("places 0", "places 0 0"), ("exp", "matmul")];
        for (right, wrong) in wrong {
            assert!(text.contains(right));
            assert!(places.read(&text.replacen(right, wrong, 1)).is_none(), "{wrong}");
        }
        // Two rows where there are three.
        assert!(places.read(&text.replacen("exp %0 : f64[3x4", "exp %0 : f64[2x4", 1)).is_none());
    }
}
