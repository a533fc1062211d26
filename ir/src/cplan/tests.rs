//! Tests of the text form, the verifier and the content hash of CPlans.

use super::*;
use crate::text::testing::Random;
use expect_test::{Expect, expect};
use std::collections::HashSet;

/// A plan of random nodes, each after its operands; rules beyond the grammar need not hold.
fn random_plan(random: &mut Random) -> CPlan {
    let variant = random.pick(&Variant::all().collect::<Vec<_>>());
    let mut plan = CPlan { sparse_safe: random.chance(), ..CPlan::new(variant) };
    for _ in 0..1 + random.below(5) {
        let element = random.pick(Element::ALL);
        plan.inputs.push(random.pick(&[CInput::MATRIX, CInput::Matrix(element), CInput::Scalar]));
    }
    plan.nodes.push(CNode::Main);
    for _ in 0..random.below(20) {
        let input = CInputId::from_u32(random.below(plan.inputs.len()) as u32);
        let mut node = || CNodeId::from_u32(random.below(plan.nodes.len()) as u32);
        let (a, b, c) = (node(), node(), node());
        let node = match random.below(22) {
            0 => CNode::Main,
            1 => CNode::Scalar(input),
            2 => CNode::Literal(Bits::new(random.f64())),
            3 => CNode::SideCell(input),
            4 => CNode::SideRowScalar(input, random.below(3) as u32),
            5 => CNode::SideColScalar(input),
            6 => CNode::SideRow(input, ColumnRange::All),
            7 => CNode::SideRow(input, ColumnRange::Part { first: random.below(9) as u32, end: u32::MAX }),
            8 => CNode::SideVector(input),
            9 => CNode::OuterProduct,
            10 => CNode::Unary(random.pick(UnaryOp::ALL), a),
            11 => CNode::Ternary(random.pick(TernaryOp::ALL), a, b, c),
            12 => CNode::RowAgg(random.pick(AggOp::ALL), a),
            13 => CNode::DotProduct(a, b),
            14 => CNode::VectMatMult(a, input),
            15 => CNode::RowIndex,
            16 => CNode::RowCumulative(random.pick(AggOp::ALL), a),
            17 => CNode::Cbind(a, b),
            20 => CNode::Scatter(a, b),
            18 => CNode::Windows(random.pick(WindowOp::ALL), a, random_windows(random)),
            19 => CNode::Convolve(a, input, Filters { count: random.below(4) as u32, windows: random.below(9) as u32 }),
            _ => CNode::Binary(random.pick(BinaryOp::ALL), a, b),
        };
        plan.nodes.push(node);
    }
    for _ in 0..random.below(3) {
        let output = random_output(random, &plan);
        plan.outputs.push(output);
    }
    plan
}

/// Windows, some of which do not fit.
fn random_windows(random: &mut Random) -> Windows {
    let mut pair = || [random.below(4), random.below(5)];
    let [image, window, stride, padding] = [pair(), pair(), pair(), pair()];
    Windows { channels: random.below(3), image, window, stride, padding }
}

/// An output that the variant has.
fn random_output(random: &mut Random, plan: &CPlan) -> COutput {
    loop {
        let node = CNodeId::from_u32(random.below(plan.nodes.len()) as u32);
        let agg = random.chance().then(|| random.pick(AggOp::ALL));
        let left = random.chance().then_some(CNodeId::from_u32(0));
        if let Ok(output) = (StatedOutput { node, agg, left }).in_plan(plan) {
            return output;
        }
    }
}

#[test]
fn printed_plans_read_back_as_equal_values() {
    for seed in 0..500 {
        let plan = random_plan(&mut Random(seed));
        let text = plan.to_string();
        let parsed = parse(&text).unwrap_or_else(|errors| panic!("seed {seed}: {errors}\n{text}"));
        assert_eq!(parsed, plan, "seed {seed}\n{text}");
        assert_eq!(parsed.content_hash(), plan.content_hash(), "seed {seed}");
    }
}

#[test]
fn every_variant_and_operation_prints_and_parses() {
    for variant in Variant::all() {
        let mut plan = CPlan::new(variant);
        plan.inputs.push(CInput::MATRIX);
        let main = plan.nodes.push(CNode::Main);
        plan.nodes.extend(UnaryOp::ALL.iter().map(|&op| CNode::Unary(op, main)));
        plan.nodes.extend(BinaryOp::ALL.iter().map(|&op| CNode::Binary(op, main, main)));
        plan.nodes.extend(TernaryOp::ALL.iter().map(|&op| CNode::Ternary(op, main, main, main)));
        plan.nodes.extend(AggOp::ALL.iter().map(|&op| CNode::RowAgg(op, main)));
        plan.nodes.extend(AggOp::ALL.iter().map(|&op| CNode::RowCumulative(op, main)));
        let windows = Windows { channels: 2, image: [3, 4], window: [2, 3], stride: [1, 2], padding: [0, 5] };
        plan.nodes.extend(WindowOp::ALL.iter().map(|&op| CNode::Windows(op, main, windows)));
        plan.nodes.push(CNode::Scatter(main, main));
        plan.nodes.push(CNode::Convolve(main, MAIN, Filters { count: 7, windows: 9 }));
        assert_eq!(parse(&plan.to_string()), Ok(plan));
    }
}

#[test]
fn damaged_texts_give_errors_or_plans_that_print_stably() {
    for seed in 0..2000 {
        let mut random = Random(seed);
        let text = random_plan(&mut random).to_string();
        if let Ok(plan) = parse(&random.damaged(&text)) {
            assert_eq!(parse(&plan.to_string()).as_ref(), Ok(&plan), "seed {seed}");
            // The verifier must survive whatever parses.
            let _ = plan.verify();
        }
    }
}

/// `X^T (P * (X v))` of the inner loop of multinomial regression, P031 to P036.
const MLOGREG: &str = "\
cplan row col_agg_b1_t sparse_safe=false ring=5 {
  in0 = matrix
  in1 = matrix
  in2 = matrix
  %0 = main
  %1 = side_row in2[0:4]
  %2 = vect_mat_mult %0, in1
  %3 = mult %1, %2
  %4 = row_agg.sum %3
  %5 = mult %1, %4
  %6 = minus %3, %5
  out %6 left=%0
}";

#[test]
fn the_plan_of_expression_2_reads_prints_and_verifies() {
    let plan = parse(MLOGREG).expect("well-formed");
    assert_eq!(plan.to_string(), MLOGREG);
    let verified = plan.clone().verify().expect("verified");
    assert_eq!(verified.into_inner(), plan);
}

/// P024: the plan cache finds equal plans by hash, and tells others apart.
#[test]
fn equal_plans_hash_alike_and_permuted_ones_differ() {
    let plan = parse(MLOGREG).expect("well-formed");
    let other_ids = MLOGREG.replace("%6", "%17").replace("in2", "in9");
    assert_eq!(parse(&other_ids).expect("well-formed").content_hash(), plan.content_hash());
    let permuted = MLOGREG.replace("side_row in2", "side_row in1").replace("%0, in1", "%0, in2");
    for changed in [
        permuted,
        MLOGREG.replace("0:4", "0:5"),
        MLOGREG.replace("sparse_safe=false", "sparse_safe=true"),
        MLOGREG.replace("minus %3, %5", "minus %5, %3"),
    ] {
        assert_ne!(parse(&changed).expect("well-formed").content_hash(), plan.content_hash(), "{changed}");
    }
    // The same in every process; when it changes, caches on disk lose what they hold.
    expect!["a7f90430a321bb64c3364aa25a360eab"].assert_eq(&format!("{:032x}", plan.content_hash()));
}

#[test]
fn all_errors_are_reported_with_their_places() {
    let text = "\
cplan row col_agg sparse_safe=maybe {
}
cplan cell row_agg sparse_safe=false ring=3 {
  in0 = matrix
  in1 = vector
  %0 = main
  %1 = plus %0
  %2 = frob %0
  %3 = plus %2, %1
  %4 = side_cell in7
  %5 = literal 1
  %6 = side_row in0[4]
  out %0 agg=median
  out %3 left=%0 left=%0
}
cplan cell row_agg sparse_safe=false ring=3 {
  in0 = matrix
  %0 = main
  out %0 agg=sum
}";
    let errors = parse_all(text).expect_err("ill-formed");
    expect![[r#"
        1:31: expected `true` or `false`, found `maybe`
        5:9: an input is a `matrix` or a `scalar`, not `vector`
        7:13: expected 2 operands, found 1
        8:8: `frob` is no operation
        10:18: in7 is not defined before its use
        11:16: expected a double such as `1.0`
        12:22: expected `:`, found `]`
        13:14: expected an aggregation function, found `median`
        14:18: expected the end of the line, found `left`
        16:1: the plan has ring=0, not ring=3"#]]
    .assert_eq(&errors.to_string());
}

fn check_verifier_errors(text: &str, expected: &Expect) {
    let plan = parse(text).expect("well-formed text");
    let errors = plan.verify().expect_err("the plan is ill-formed");
    expected.assert_eq(&errors.to_string());
}

#[test]
fn inputs_of_other_elements_are_other_plans_which_are_refused() {
    let doubles = "cplan cell no_agg sparse_safe=true ring=0 {
  in0 = matrix
  in1 = matrix
  %0 = main
  %1 = side_cell in1
  %2 = mult %0, %1
  out %2
}";
    let singles = doubles.replace("in1 = matrix", "in1 = matrix.f32");
    let (computed, stored) = (parse(doubles).expect("well-formed"), parse(&singles).expect("well-formed"));
    assert_eq!((computed.to_string().as_str(), stored.to_string()), (doubles, singles.clone()));
    assert!(computed != stored && computed.content_hash() != stored.content_hash());
    assert!(computed.verify().is_ok());
    check_verifier_errors(&singles, &expect!["in1: matrices of f32 are stored, not computed with"]);
}

#[test]
fn windows_fit_what_they_lie_in() {
    check_verifier_errors(
        "cplan row no_agg_const sparse_safe=false {
           in0 = matrix
           in1 = matrix
           %0 = main
           %1 = max_pool %0, 2x3x4 window=2x2 stride=1x1 padding=0x0
           %2 = avg_pool %1, 1x2x5 window=1x1 stride=1x1 padding=0x0
           %3 = unfold %0, 1x3x3 window=4x1 stride=1x1 padding=0x0
           %4 = unfold %0, 1x3x3 window=2x2 stride=0x1 padding=0x0
           %5 = unfold %0, 1x3x3 window=2x2 stride=1x1 padding=0x0
           %6 = convolve %5, in1 filters=2 windows=5
           %7 = convolve %5, in1 filters=2 windows=0
           %8 = row_agg.sum %0
           %9 = max_pool %8, 1x1x1 window=1x1 stride=1x1 padding=0x0
           %10 = convolve %9, in1 filters=2 windows=1
           %11 = cbind %2, %3
           %12 = cbind %11, %4
           %13 = cbind %12, %6
           %14 = cbind %13, %7
           %15 = cbind %14, %10
           out %15
         }",
        &expect![[r#"
            %2: the length of %1 is 12, not 10
            %3: there are no windows 1x3x3 window=4x1 stride=1x1 padding=0x0
            %4: there are no windows 1x3x3 window=2x2 stride=0x1 padding=0x0
            %6: %5 has 16 values, which are not rows of 5 windows
            %7: there are no products of 2 filters and 0 windows
            %9: %8 is a scalar where a vector is needed"#]],
    );
}

#[test]
fn templates_allow_their_own_nodes_alone() {
    check_verifier_errors(
        "cplan cell no_agg sparse_safe=false {
           in0 = matrix
           in1 = scalar
           in2 = matrix
           %0 = main
           %1 = side_row in2
           %2 = side_cell in0
           %3 = side_cell in1
           %4 = scalar in2
           %5 = outer_product
           %6 = ifelse %1, %2, %3
           %7 = ifelse %4, %5, %6
           out %7
         }",
        &expect![[r#"
            in2: matrices precede scalars
            %1: cell plans have no side_row nodes
            %2: in0 is no side input
            %3: in1 is no matrix
            %4: in2 is no scalar
            %5: cell plans have no outer_product nodes
            %0: the value is not used"#]],
    );
    check_verifier_errors(
        "cplan row row_agg sparse_safe=false {
           in0 = matrix
           in1 = matrix
           %0 = side_cell in1
           %1 = side_col_scalar in1
           %2 = plus %0, %1
           %3 = row_agg.sum %2
           %4 = literal 1.0
           out %3
         }",
        &expect![[r#"
            %0: row plans have no side_cell nodes
            %1: row plans have no side_col_scalar nodes
            %3: %2 is a scalar where a vector is needed
            %4: the value is not used"#]],
    );
    check_verifier_errors(
        "cplan outer right_mm sparse_safe=false {
           in0 = matrix
           in1 = matrix
           %0 = outer_product
           %1 = side_cell in1
           %2 = mult %0, %1
           out %2
           out %2
         }",
        &expect![[r#"
            inputs: outer plans have at least 3 inputs
            %1: in1 is no side input
            outputs: the plan has one output, not 2"#]],
    );
}

#[test]
fn shapes_must_fit_in_some_execution() {
    check_verifier_errors(
        "cplan row no_agg sparse_safe=false {
           in0 = matrix
           in1 = matrix
           %0 = main
           %1 = side_row in1[0:3]
           %2 = side_row in1[2:6]
           %3 = side_row in1[5:5]
           %4 = plus %1, %2
           %5 = ifelse %3, %4, %0
           %6 = dot_product %1, %2
           %7 = dot_product %6, %5
           %8 = vect_mat_mult %7, in1
           %9 = row_agg.max %8
           out %9
         }",
        &expect![[r#"
            %3: the range 5:5 is empty
            %4: the lengths of %1 and %2 differ: 3 and 4
            %5: the lengths of %3 and %4 differ: 0 and 3
            %6: the lengths of %1 and %2 differ: 3 and 4
            %7: %6 is a scalar where a vector is needed
            %8: %7 is a scalar where a vector is needed
            output 0: the output makes the plan row_agg, not no_agg"#]],
    );
}

#[test]
fn outputs_must_suit_the_variant() {
    let plan = |variant: &str, output: &str| {
        format!(
            "cplan row {variant} sparse_safe=false {{
               in0 = matrix
               in1 = matrix
               %0 = main
               %1 = side_row in1
               %2 = dot_product %0, %1
               %3 = mult %1, %2
               %4 = mult %3, %0
               {output}
             }}"
        )
    };
    let errors_of = |variant: &str, output: &str| match parse(&plan(variant, output)).map(CPlan::verify) {
        Ok(Ok(_)) => "ok".to_owned(),
        Ok(Err(errors)) => {
            let about_outputs = errors.errors().iter().filter(|error| error.entity.starts_with("output"));
            about_outputs.map(ToString::to_string).collect::<Vec<_>>().join("; ")
        }
        Err(errors) => errors.to_string(),
    };
    let mut table = String::new();
    for (variant, output) in [
        ("no_agg", "out %4"),
        ("no_agg", "out %2"),
        ("no_agg_b1", "out %4 left=%0"),
        ("no_agg_b1", "out %4"),
        ("row_agg", "out %4"),
        ("row_agg", "out %2 agg=sum"),
        ("col_agg", "out %4"),
        ("col_agg", "out %4 agg=mean"),
        ("full_agg", "out %4 agg=max"),
        ("col_agg_t", "out %2"),
        ("col_agg_t", "out %4 left=%2"),
        ("col_agg_b1", "out %4 left=%3"),
        ("col_agg_b1", "out %3 left=%4"),
        ("col_agg_b1", "out %4 agg=sum left=%3"),
        ("col_agg_b1_t", "out %3 left=%4"),
        ("col_agg_b1_t", "out %4 left=%3"),
        ("col_agg_b1_t", "out %2 left=%4"),
        ("row_agg", ""),
    ] {
        table.push_str(&format!("{variant} | {output} | {}\n", errors_of(variant, output)));
    }
    expect![[r#"
        no_agg | out %4 | ok
        no_agg | out %2 | output 0: the output makes the plan row_agg, not no_agg
        no_agg_b1 | out %4 left=%0 | 9:28: no_agg_b1 takes no left vector
        no_agg_b1 | out %4 | output 0: the output makes the plan no_agg, not no_agg_b1
        row_agg | out %4 | output 0: the output makes the plan no_agg, not row_agg
        row_agg | out %2 agg=sum | 9:27: row_agg takes no aggregation function
        col_agg | out %4 | 9:20: col_agg needs an aggregation function
        col_agg | out %4 agg=mean | output 0: partial results of mean do not merge, except over a row
        full_agg | out %4 agg=max | ok
        col_agg_t | out %2 | 9:20: col_agg_t needs a left vector
        col_agg_t | out %4 left=%2 | output 0: %2 is a scalar where a vector is needed; output 0: the output makes the plan col_agg_b1_t, not col_agg_t
        col_agg_b1 | out %4 left=%3 | ok
        col_agg_b1 | out %3 left=%4 | output 0: %3 must be as long as a row of the main input
        col_agg_b1 | out %4 agg=sum left=%3 | 9:36: products take no aggregation function
        col_agg_b1_t | out %3 left=%4 | ok
        col_agg_b1_t | out %4 left=%3 | output 0: %3 must be as long as a row of the main input
        col_agg_b1_t | out %2 left=%4 | output 0: the output makes the plan col_agg_t, not col_agg_b1_t
        row_agg |  | outputs: the plan has one output, not 0
    "#]].assert_eq(&table);
}

#[test]
fn several_outputs_are_for_multi_aggregates() {
    let text = "\
cplan magg full_agg sparse_safe=true ring=0 {
  in0 = matrix
  in1 = matrix
  %0 = main
  %1 = side_cell in1
  %2 = mult %0, %1
  out %2 agg=sum
  out %0 agg=sumsq
}";
    let plan = parse(text).expect("well-formed");
    assert_eq!(plan.to_string(), text);
    assert!(plan.clone().verify().is_ok());
    let cell = CPlan { variant: Variant::Cell(CellType::FullAgg), ..plan.clone() };
    assert!(cell.verify().is_err());
    assert!(CPlan { outputs: Vec::new(), ..plan }.verify().is_err());
}

#[test]
fn outputs_of_a_multi_aggregate_over_rows_have_the_variants_that_their_shapes_give() {
    let text = "cplan row multi_agg sparse_safe=false {
           in0 = matrix
           in1 = matrix
           in2 = matrix
           %0 = main
           %1 = vect_mat_mult %0, in1
           %2 = row_agg.min %1
           %3 = side_row in2[0:3]
           %4 = abs %0
           out %2 agg=sum
           out %1 agg=sum
           out %3 agg=max
           out %4 agg=min
           out %2 left=%4
           out %4 left=%1
           out %1 left=%4
           out %4 left=%0
         }";
    let plan = parse(text).expect("well-formed text").verify().expect("a well-formed plan");
    let variants = variants_of_outputs(&plan);
    let expected = [
        "full_agg",
        "col_agg_b1r",
        "col_agg_const",
        "col_agg",
        "col_agg_t",
        "col_agg_b1",
        "col_agg_b1_t",
        "col_agg_b1_t",
    ];
    assert_eq!(variants, expected);

    check_verifier_errors(
        "cplan row multi_agg sparse_safe=false {
           in0 = matrix
           in1 = matrix
           %0 = main
           %1 = vect_mat_mult %0, in1
           %2 = row_agg.sum %1
           out %1 left=%1
           out %0 left=%2
           out %2 agg=mean
         }",
        &expect![[r#"
            output 0: %1 must be as long as a row of the main input
            output 1: %2 is a scalar where a vector is needed
            output 2: partial results of mean do not merge, except over a row"#]],
    );
    let mut plan = plan.into_inner();
    let [main, product] = [0, 1].map(CNodeId::from_u32);
    plan.outputs = vec![
        COutput::FullAgg(AggOp::Sum, product),
        COutput::row_product(main, main, ProductOrder::ShortByLong),
        COutput::Store(product),
        COutput::TimesFactor(product),
    ];
    let errors = plan.verify().expect_err("outputs that the text form does not tell apart");
    let about_outputs = errors.errors().iter().filter(|error| error.entity.starts_with("output"));
    expect![[r#"
        output 0: %1 is a vector, which multi_agg plans aggregate by column
        output 1: %0 is the long factor, since it comes first
        output 2: multi_agg plans have no store outputs
        output 3: row plans have no times_factor outputs"#]]
    .assert_eq(&about_outputs.map(ToString::to_string).collect::<Vec<_>>().join("\n"));
    check_verifier_errors(
        "cplan row multi_agg sparse_safe=false {
           in0 = matrix
         }",
        &expect![[r#"outputs: row multi_agg plans have at least one output"#]],
    );
}

fn variants_of_outputs(plan: &CPlan) -> Vec<&'static str> {
    let shapes = plan.shapes();
    let variants = plan.outputs.iter().map(|output| plan.output_variant(output, &shapes));
    variants.map(|variant| variant.expect("verified").mnemonic()).collect()
}

/// Each variant has one kind of output, which says the variant.
#[test]
fn outputs_and_variants_say_each_other() {
    for variant in Variant::all().filter(|&variant| variant != Variant::Row(RowType::MultiAgg)) {
        let mnemonic = variant.mnemonic();
        let mut plan = CPlan::new(variant);
        plan.inputs.extend([CInput::MATRIX; 4]);
        let long = plan.nodes.push(CNode::Main);
        let short = plan.nodes.push(CNode::SideVector(CInputId::from_u32(3)));
        let range = ColumnRange::Part { first: 0, end: 2 };
        let constant = plan.nodes.push(CNode::SideRow(CInputId::from_u32(3), range));
        let scalar = plan.nodes.push(CNode::RowIndex);
        let stated = [long, short, constant, scalar].into_iter().flat_map(|node| {
            let options = [(None, None), (Some(AggOp::Sum), None), (None, Some(long)), (None, Some(short))];
            options.map(|(agg, left)| StatedOutput { node, agg, left })
        });
        let outputs: Vec<COutput> = stated.filter_map(|stated| stated.in_plan(&plan).ok()).collect();
        assert!(!outputs.is_empty(), "{mnemonic}");
        let shapes = plan.shapes();
        let own = outputs.iter().filter(|output| plan.output_variant(output, &shapes) == Some(variant)).count();
        assert!(own > 0, "{mnemonic}: {outputs:?}");
        assert!(outputs.iter().all(|output| output.mnemonic() == outputs[0].mnemonic()), "{mnemonic}: {outputs:?}");
    }
}

/// Names tell variants apart, and a template has several roots where one of its variants has several outputs.
#[test]
fn variants_belong_to_their_templates() {
    let mut names = HashSet::new();
    for &template in TemplateType::ALL {
        let variants = Variant::of(template);
        assert!(variants.iter().all(|variant| variant.template() == template), "{variants:?}");
        assert!(variants.iter().all(|variant| names.insert((template.mnemonic(), variant.mnemonic()))), "{variants:?}");
        let has_several = variants.into_iter().any(Variant::has_several_outputs);
        assert_eq!(template.takes_several_roots(), has_several, "{template}");
    }
    assert_eq!(names.len(), Variant::all().count());
    let letters: HashSet<char> = TemplateType::ALL.iter().map(|template| template.letter()).collect();
    assert_eq!(letters.len(), TemplateType::ALL.len());
}

#[test]
fn references_are_checked_before_anything_follows_them() {
    let mut plan = CPlan::new(Variant::Row(RowType::NoAgg));
    plan.inputs.push(CInput::MATRIX);
    plan.nodes.push(CNode::Unary(UnaryOp::Exp, CNodeId::from_u32(0)));
    plan.nodes.push(CNode::SideVector(CInputId::from_u32(5)));
    plan.outputs.push(COutput::Store(CNodeId::from_u32(77)));
    expect![[r#"
        %0: the operand %0 does not precede its user
        output 0: %77 does not exist"#]]
    .assert_eq(&plan.clone().verify().expect_err("ill-formed").to_string());
    plan.nodes[CNodeId::from_u32(0)] = CNode::Main;
    plan.outputs[0] = COutput::Store(CNodeId::from_u32(0));
    expect![[r#"
        %1: in5 does not exist
        %1: the value is not used"#]]
    .assert_eq(&plan.verify().expect_err("ill-formed").to_string());
}

/// Scalars that share operands are looked at once each: this chain has 2^64 paths.
#[test]
fn shapes_of_shared_scalars_take_one_walk() {
    let mut text =
        "cplan row multi_agg sparse_safe=false {\n in0 = matrix\n %0 = main\n %1 = row_agg.sum %0\n".to_owned();
    for node in 2..66 {
        text.push_str(&format!(" %{node} = max %{0}, %{0}\n", node - 1));
    }
    text.push_str(" out %65 agg=sum\n out %0 agg=sum\n}");
    let plan = parse(&text).expect("well-formed text").verify().expect("a well-formed plan");
    assert_eq!(variants_of_outputs(&plan), ["full_agg", "col_agg"]);
}
