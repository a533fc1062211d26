//! Names, signatures and addresses.

use fuseline_ops::WindowOp;
use fuseline_vecprims::{ArgKind, Isa, Primitive, primitive_names, signature, symbols};
use std::collections::HashSet;

#[test]
fn every_instruction_set_has_every_primitive_under_one_name() {
    let names = primitive_names();
    assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len(), "names are unique");
    for isa in Isa::available() {
        let symbols = symbols(isa);
        assert!(symbols.iter().map(|(name, _)| name).take(names.len()).eq(&names), "{isa}");
        assert!(symbols.iter().all(|&(_, address)| address != 0));
    }
    for (name, primitive) in names.iter().zip(Primitive::all()) {
        assert_eq!(Primitive::from_name(name), Some(primitive));
        assert_eq!(signature(name), Some(primitive.signature()));
    }
    assert_eq!(signature("vect_unknown"), None);
}

#[test]
fn names_and_signatures_are_those_of_the_architecture() {
    use ArgKind::{Columns, Offsets, Usize, Values, ValuesMut, Windows};
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../ARCHITECTURE.md")).unwrap();
    for primitive in Primitive::all() {
        let name = primitive.to_string();
        let family = match primitive {
            Primitive::Unary(_) => "vect_{unary}",
            Primitive::Binary(..) => "vect_{binary}_vv",
            Primitive::Ternary(_) => "vect_{ternary}",
            Primitive::RowAgg(_) => "row_{agg}",
            Primitive::RowCumulative(_) => "row_cum{agg}",
            Primitive::FullAgg(_) => "full_{agg}",
            Primitive::ColAgg(_) => "col_{agg}",
            Primitive::SegmentRowAgg(_) => "segment_row_{agg}",
            Primitive::SparseColAgg(_) => "sparse_col_{agg}",
            // Described as "the same" as the row above.
            Primitive::SparseMatMultAdd => "sparse_vect_mat_mult",
            Primitive::Windows(WindowOp::AvgPool) => "max_pool",
            _ => &name,
        };
        let line = page.lines().find(|line| line.starts_with(&format!("| `{family}`"))).expect("the table has a row");
        let documented: Vec<ArgKind> = line
            .split('|')
            .nth(2)
            .unwrap()
            .split(',')
            .map(|argument| match argument.trim() {
                "row_offsets" => Offsets,
                "columns" => Columns,
                "a" | "b" | "c" | "factor" | "panels" | "u" | "v" => Values,
                "out" | "acc" => ValuesMut,
                "windows" => Windows,
                _ => Usize,
            })
            .collect();
        assert_eq!(primitive.signature(), documented, "{name}");
    }
}

#[test]
fn instruction_sets_round_trip_through_their_names() {
    for &isa in Isa::ALL {
        assert_eq!(isa.to_string().parse(), Ok(isa));
    }
    assert!("sse9".parse::<Isa>().is_err());
    assert_eq!(Isa::detect(), Isa::available()[0]);
}
