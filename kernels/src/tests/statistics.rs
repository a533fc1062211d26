//! Order statistics, groups and distributions: known values, and plain definitions.

use super::*;
use crate::{Distribution, GroupFunction, distribution_function, grouped_aggregate, quantile_function};
use fuseline_ir::ops::Direction;
use fuseline_matrix::run_context::Abort;
use fuseline_matrix::{Budget, MemoryKind, RunContext, StopFlag};
use std::borrow::Cow;
use std::sync::Arc;

fn quantile(values: &MatrixBlock, weights: Option<&MatrixBlock>, probability: f64) -> Result<f64, KernelError> {
    alone(false, |context| crate::quantile(context, values, weights, probability))
}

fn quantiles(
    values: &MatrixBlock,
    weights: Option<&MatrixBlock>,
    probabilities: &MatrixBlock,
) -> Result<MatrixBlock, KernelError> {
    alone(false, |context| crate::quantiles(context, values, weights, probabilities))
}

fn median(values: &MatrixBlock, weights: Option<&MatrixBlock>) -> Result<f64, KernelError> {
    alone(false, |context| crate::median(context, values, weights))
}

fn inter_quartile_mean(values: &MatrixBlock, weights: Option<&MatrixBlock>) -> Result<f64, KernelError> {
    alone(false, |context| crate::inter_quartile_mean(context, values, weights))
}

fn unique(matrix: &MatrixBlock, direction: Direction) -> MatrixBlock {
    run(|context| crate::unique(context, matrix, direction))
}

fn count_distinct(matrix: &MatrixBlock, direction: Direction) -> MatrixBlock {
    run(|context| crate::count_distinct(context, matrix, direction))
}

fn column(cells: &[f64]) -> MatrixBlock {
    dense(cells.len(), 1, cells)
}

/// A vector in which each value stands as often as its weight says.
fn repeated(values: &[f64], weights: &[f64]) -> MatrixBlock {
    let repeat = |(&value, &weight): (&f64, &f64)| vec![value; weight as usize];
    column(&values.iter().zip(weights).flat_map(repeat).collect::<Vec<_>>())
}

#[test]
fn quantiles_are_cells_at_positions() {
    let values = column(&[9.0, 1.0, 5.0, 3.0, 7.0]);
    let at = |p| quantile(&values, None, p).unwrap();
    assert_eq!([at(0.0), at(0.2), at(0.21), at(0.5), at(0.8), at(0.81), at(1.0)], [1.0, 1.0, 3.0, 5.0, 7.0, 9.0, 9.0]);
    let several = quantiles(&dense(1, 5, &[9.0, 1.0, 5.0, 3.0, 7.0]), None, &column(&[0.5, 0.1])).unwrap();
    assert_cells(&several, 2, 1, |i, _| [5.0, 1.0][i]);
    assert_eq!(quantile(&column(&[f64::NAN, 2.0, 1.0]), None, 0.5).unwrap(), 2.0);
    assert!(quantile(&column(&[f64::NAN, 2.0]), None, 1.0).unwrap().is_nan());
}

#[test]
fn a_single_quantile_of_an_even_number_lies_between_two_cells() {
    let ten = column(&(1..=10).map(f64::from).collect::<Vec<_>>());
    let at = |p| quantile(&ten, None, p).unwrap();
    assert_eq!(
        [at(0.0), at(0.05), at(0.25), at(0.3), at(0.31), at(0.9), at(0.95), at(1.0)],
        [1.0, 1.5, 3.5, 3.5, 4.5, 9.5, 10.0, 10.0]
    );
    let several = quantiles(&ten, None, &column(&[0.0, 0.05, 0.25, 1.0])).unwrap();
    assert_cells(&several, 4, 1, |i, _| [1.0, 1.0, 3.0, 10.0][i]);
    let weighted = quantile(&column(&[3.0, 1.0, 2.0]), Some(&column(&[2.0, 1.0, 1.0])), 0.5).unwrap();
    assert_eq!(weighted, 2.5);
}

#[test]
fn the_median_of_an_even_number_lies_between_two_cells() {
    assert_eq!(median(&column(&[4.0, 1.0, 3.0, 2.0]), None).unwrap(), 2.5);
    assert_eq!(median(&column(&[4.0, 1.0, 3.0]), None).unwrap(), 3.0);
    assert_eq!(median(&column(&[7.0]), None).unwrap(), 7.0);
}

#[test]
fn the_inter_quartile_mean_counts_parts_of_cells() {
    // Of 8 cells the middle 4; of 6 the middle 2, and half of each neighbour.
    let known = inter_quartile_mean(&column(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 80.0]), None).unwrap();
    assert_eq!(known, 4.5);
    let known = inter_quartile_mean(&column(&[0.0, 1.0, 2.0, 4.0, 7.0, 90.0]), None).unwrap();
    assert_eq!(known, (0.5 + 2.0 + 4.0 + 3.5) / 3.0);
    assert_eq!(inter_quartile_mean(&column(&[3.0]), None).unwrap(), 3.0);
}

#[test]
fn a_weight_repeats_a_value() {
    let (values, weights) = ([5.0, -1.0, 8.0, 2.5, 4.0], [3.0, 0.0, 2.0, 7.0, 1.0]);
    let (given, counts, plain) = (column(&values), column(&weights), repeated(&values, &weights));
    for p in [0.0, 0.1, 0.3, 0.5, 0.55, 0.9, 1.0] {
        assert_eq!(quantile(&given, Some(&counts), p), quantile(&plain, None, p), "{p}");
    }
    assert_eq!(median(&given, Some(&counts)), median(&plain, None));
    let [weighted, repeated] =
        [inter_quartile_mean(&given, Some(&counts)), inter_quartile_mean(&plain, None)].map(Result::unwrap);
    assert!((weighted - repeated).abs() < 1e-14, "{weighted} {repeated}");
}

#[test]
fn order_statistics_refuse_what_has_none() {
    let message = |error: KernelError| error.to_string();
    assert_eq!(message(median(&dense(0, 1, &[]), None).unwrap_err()), "median: there are no values");
    assert_eq!(message(median(&dense(2, 2, &[1.0; 4]), None).unwrap_err()), "median: a 2 x 2 matrix is no vector");
    let two = column(&[1.0, 2.0]);
    assert_eq!(message(quantile(&two, None, 1.5).unwrap_err()), "quantile: 1.5 is no probability");
    let error = message(quantile(&two, Some(&column(&[1.0])), 0.5).unwrap_err());
    assert_eq!(error, "quantile: 1 weights do not fit 2 values");
    let error = message(quantile(&two, Some(&column(&[1.0, -1.0])), 0.5).unwrap_err());
    assert_eq!(error, "quantile: -1 is no weight");
}

#[test]
fn distinct_values_ascend() {
    let cells = [3.0, -0.0, f64::NAN, 1.0, 0.0, 3.0, f64::NAN, f64::NEG_INFINITY];
    let result = unique(&dense(2, 4, &cells), Direction::Full);
    assert_cells(&result, 5, 1, |i, _| [f64::NEG_INFINITY, 0.0, 1.0, 3.0, f64::NAN][i]);
    assert_eq!(result.get(1, 0).to_bits(), 0);
    assert_eq!(unique(&dense(0, 1, &[]), Direction::Full).dims(), (0, 1));
    let matrix = dense(3, 3, &[2.0, 1.0, 2.0, 0.0, -0.0, 0.0, f64::NAN, 5.0, f64::NAN]);
    for format in all_formats(&matrix) {
        let rows = [[1.0, 2.0], [0.0, 0.0], [5.0, f64::NAN]];
        assert_cells(&unique(&format, Direction::Row), 3, 2, |i, j| rows[i][j]);
        let columns = [[0.0, 2.0, f64::NAN], [0.0, 1.0, 5.0], [0.0, 2.0, f64::NAN]];
        assert_cells(&unique(&format, Direction::Col), 3, 3, |i, j| columns[j][i]);
        assert_cells(&count_distinct(&format, Direction::Full), 1, 1, |_, _| 5.0);
        assert_cells(&count_distinct(&format, Direction::Row), 3, 1, |i, _| [2.0, 1.0, 2.0][i]);
        assert_cells(&count_distinct(&format, Direction::Col), 1, 3, |_, _| 3.0);
    }
    assert_cells(&count_distinct(&dense(0, 2, &[]), Direction::Full), 1, 1, |_, _| 0.0);
    assert_cells(&count_distinct(&dense(0, 2, &[]), Direction::Col), 1, 2, |_, _| 0.0);
    assert_eq!(unique(&dense(2, 0, &[]), Direction::Row).dims(), (2, 0));
}

#[test]
fn groups_are_aggregated_column_by_column() {
    let target = dense(5, 2, &[1.0, 10.0, 2.0, 20.0, 4.0, 40.0, 8.0, 80.0, 16.0, 160.0]);
    let groups = column(&[1.0, 3.0, 1.0, 3.0, 3.0]);
    let result = |function, weights: Option<&MatrixBlock>, count| {
        grouped_aggregate(&target, &groups, weights, function, count).unwrap()
    };
    assert_cells(&result(GroupFunction::Sum, None, None), 3, 2, |i, j| [5.0, 0.0, 26.0][i] * [1.0, 10.0][j]);
    assert_cells(&result(GroupFunction::Count, None, Some(4)), 4, 2, |i, _| [2.0, 0.0, 3.0, 0.0][i]);
    assert_cells(&result(GroupFunction::Mean, None, Some(1)), 1, 2, |_, j| [2.5, 25.0][j]);
    assert_cells(&result(GroupFunction::Variance, None, Some(2)), 2, 2, |i, j| [4.5, 0.0][i] * [1.0, 100.0][j]);
    assert_cells(&result(GroupFunction::CentralMoment(2), None, Some(2)), 2, 2, |i, j| {
        [2.25, f64::NAN][i] * [1.0, 100.0][j]
    });
    assert_cells(&result(GroupFunction::Min, None, Some(3)), 3, 2, |i, j| [1.0, 0.0, 2.0][i] * [1.0, 10.0][j]);
    assert_cells(&result(GroupFunction::Max, None, Some(3)), 3, 2, |i, j| [4.0, 0.0, 16.0][i] * [1.0, 10.0][j]);
    let weights = column(&[3.0, 1.0, 1.0, 0.0, 1.0]);
    assert_cells(&result(GroupFunction::Sum, Some(&weights), None), 3, 2, |i, j| [7.0, 0.0, 18.0][i] * [1.0, 10.0][j]);
    assert_cells(&result(GroupFunction::Mean, Some(&weights), None), 3, 2, |i, j| [1.75, 0.0, 9.0][i] * [1.0, 10.0][j]);
    assert_cells(&result(GroupFunction::Variance, Some(&weights), Some(1)), 1, 2, |_, j| 2.25 * [1.0, 100.0][j]);
    // A single observation has no variance.
    let single = grouped_aggregate(&column(&[7.0]), &column(&[1.0]), None, GroupFunction::Variance, None).unwrap();
    assert_cells(&single, 1, 1, |_, _| 0.0);
    let message = |groups: &[f64]| {
        grouped_aggregate(&target, &column(groups), None, GroupFunction::Sum, None).unwrap_err().to_string()
    };
    assert_eq!(message(&[1.0]), "aggregate: 1 groups do not fit 5 rows");
    assert_eq!(message(&[1.0, 2.0, 0.0, 1.0, 1.0]), "aggregate: 0 is no group");
    assert_eq!(message(&[1.0, f64::NAN, 1.0, 1.0, 1.0]), "aggregate: NaN is no group");
}

/// A distribution, a value, the probability of at most it, and of more.
type Known = (Distribution, f64, f64, f64);

/// From tables of the distributions with 15 and more digits (closed forms where there are ones).
fn known_values() -> Vec<Known> {
    let normal = Distribution::Normal { mean: 1.5, deviation: 2.0 };
    let exponential = Distribution::Exponential { rate: 5.0 };
    let chi = |freedom| Distribution::ChiSquared { freedom };
    let t = |freedom| Distribution::StudentT { freedom };
    let f = |numerator, denominator| Distribution::FisherF { numerator, denominator };
    vec![
        (normal, 1.5, 0.5, 0.5),
        (normal, 3.5, 0.841_344_746_068_542_9, 0.158_655_253_931_457_05),
        (exponential, 0.2, 1.0 - (-1.0_f64).exp(), (-1.0_f64).exp()),
        // Two degrees of freedom: exp(-x / 2).
        (chi(2.0), 3.0, 1.0 - (-1.5_f64).exp(), (-1.5_f64).exp()),
        // Four: (1 + x / 2) exp(-x / 2).
        (chi(4.0), 100.0, 1.0, 51.0 * (-50.0_f64).exp()),
        // One: the probability that a normal number is within 2.
        (chi(1.0), 4.0, 0.954_499_736_103_641_6, 0.045_500_263_896_358_42),
        (Distribution::Normal { mean: 0.0, deviation: 1.0 }, -37.5, 4.605353009581955e-308, 1.0),
        // One degree of freedom is the Cauchy distribution.
        (t(1.0), 1.0, 0.75, 0.25),
        (t(1.0), -3.0_f64.sqrt(), 1.0 / 6.0, 5.0 / 6.0),
        // Two: (1 + x / sqrt(2 + x^2)) / 2.
        (t(2.0), 2.0, 0.5 + 0.5 * (2.0 / 6.0_f64.sqrt()), 0.5 - 0.5 * (2.0 / 6.0_f64.sqrt())),
        // F(2, d): 1 - (1 + 2 x / d)^(-d / 2).
        (f(2.0, 6.0), 3.0, 1.0 - 0.125, 0.125),
        // The square of t(1) is F(1, 1).
        (f(1.0, 1.0), 3.0, 2.0 / 3.0, 1.0 / 3.0),
        (f(2.0, 10.0), 45.0, 1.0 - 1e-5, 1e-5),
    ]
}

/// From a library of arbitrary precision (mpmath, 60 digits), over the shapes, sizes and tails of the distributions.
#[expect(clippy::excessive_precision, reason = "the digits of the source")]
fn precise_values() -> Vec<Known> {
    let chi = |freedom| Distribution::ChiSquared { freedom };
    let t = |freedom| Distribution::StudentT { freedom };
    let f = |numerator, denominator| Distribution::FisherF { numerator, denominator };
    vec![
        (chi(1.0), 1e-10, 7.9788456078956729e-6, 0.9999920211543921),
        (chi(1.0), 0.01, 0.079655674554057964, 0.92034432544594204),
        (chi(1.0), 50.0, 0.99999999999846254, 1.5374597944280349e-12),
        (chi(3.0), 0.5, 0.081108588345324141, 0.91889141165467586),
        (chi(3.0), 2.5, 0.52470891665697941, 0.47529108334302059),
        (chi(5.0), 200.0, 1.0, 2.8406228986415317e-41),
        (chi(7.5), 7.4, 0.55856914224936624, 0.44143085775063376),
        (chi(30.0), 8.0, 1.9931727482710028e-5, 0.99998006827251729),
        (chi(30.0), 30.0, 0.53434629105599037, 0.46565370894400963),
        (chi(30.0), 95.0, 0.99999998875459772, 1.1245402280801111e-8),
        (chi(101.0), 100.0, 0.49057549602811613, 0.50942450397188387),
        (chi(101.0), 20.0, 8.2138749150590279e-20, 1.0),
        (chi(1000.0), 1000.0, 0.50594714617076036, 0.49405285382923964),
        (chi(1000.0), 800.0, 8.1093810787991598e-7, 0.99999918906189212),
        (chi(1000.0), 1300.0, 0.99999999961102635, 3.8897364994868525e-10),
        (chi(0.5), 0.75, 0.80479911260088011, 0.19520088739911989),
        (chi(0.5), 3.0, 0.96658355584102097, 0.03341644415897903),
        (chi(20000.0), 20100.0, 0.69234244070256556, 0.30765755929743444),
        (chi(20000.0), 19000.0, 1.8624546517951551e-7, 0.99999981375453482),
        (chi(2.5), 1400.0, 1.0, 5.5972023239913797e-304),
        (t(3.0), 0.001, 0.50036755251526953, 0.49963244748473047),
        (t(3.0), 1.7, 0.90615467922329496, 0.093845320776705044),
        (t(3.0), 40.0, 0.99998280965960542, 1.7190340394579264e-5),
        (t(4.0), 2.25, 0.95617741174830266, 0.043822588251697344),
        (t(4.0), 1000000.0, 1.0, 2.99999999998e-24),
        (t(10.0), 0.5, 0.68605319712851353, 0.31394680287148647),
        (t(10.0), 6.0, 0.99993394556982261, 6.6054430177392802e-5),
        (t(29.5), 2.04, 0.97480373696534575, 0.02519626303465425),
        (t(29.5), 12.0, 0.99999999999964501, 3.549868329060638e-13),
        (t(200.0), 1.97, 0.97489069774093758, 0.025109302259062422),
        (t(200.0), 20.0, 1.0, 6.6788835291939045e-50),
        (t(5000.0), 3.3, 0.99951318935935675, 0.00048681064064324553),
        (t(5000.0), 30.0, 1.0, 2.845829058930851e-182),
        (t(0.5), 2.0, 0.77724255490843438, 0.22275744509156562),
        (t(0.5), 100000000.0, 0.99996792990245858, 3.207009754142229e-5),
        (f(1.0, 1.0), 0.001, 0.020124978303644131, 0.97987502169635587),
        (f(3.0, 5.0), 0.25, 0.14161333765485301, 0.85838666234514699),
        (f(3.0, 5.0), 5.4, 0.94983950854235272, 0.05016049145764728),
        (f(3.0, 5.0), 100000.0, 0.9999999999976899, 2.3101027378304377e-12),
        (f(10.0, 4.0), 2.0, 0.73677554869684499, 0.26322445130315501),
        (f(10.0, 4.0), 0.1, 0.0016000000000000003, 0.9984),
        (f(7.5, 33.0), 2.3, 0.95291068599889325, 0.047089314001106753),
        (f(60.0, 80.0), 1.0, 0.50459795330873094, 0.49540204669126906),
        (f(60.0, 80.0), 0.4, 0.00014111036332372346, 0.99985888963667628),
        (f(60.0, 80.0), 3.0, 0.99999732340055054, 2.6765994494553958e-6),
        (f(500.0, 300.0), 1.1, 0.81854264483015354, 0.18145735516984646),
        (f(500.0, 300.0), 0.6, 2.4268049655076322e-7, 0.99999975731950345),
        (f(4.0, 10000.0), 8.0, 0.99999804329341509, 1.9567065849056184e-6),
        (f(10000.0, 4.0), 0.2, 0.00050349627624406384, 0.99949650372375594),
        (f(0.5, 0.8), 2.0, 0.6495134341900101, 0.3504865658099899),
        (f(1.0, 250.0), 1e-08, 7.9708707584312773e-5, 0.99992029129241569),
        (f(3000.0, 7000.0), 1.05, 0.94409424033077489, 0.055905759669225107),
        (f(2.0, 60.0), 120.0, 1.0, 1.073741824e-21),
    ]
}

/// From the source of [`precise_values`], with few degrees of freedom, and far out.
#[expect(clippy::excessive_precision, reason = "the digits of the source")]
fn extreme_values() -> Vec<Known> {
    let chi = |freedom| Distribution::ChiSquared { freedom };
    let t = |freedom| Distribution::StudentT { freedom };
    let f = |numerator, denominator| Distribution::FisherF { numerator, denominator };
    vec![
        (chi(1e-6), 1e-300, 0.9996546139295937, 0.000345386070406300341),
        (chi(1e-6), 1e-10, 0.999988429175514065, 0.0000115708244859351136),
        (chi(1e-6), 1.0, 0.999999720113129267, 2.7988687073298861e-7),
        (chi(1e-6), 1.99, 0.999999889383660085, 1.10616339915404401e-7),
        (chi(1e-6), 30.0, 0.999999999999990407, 9.59315550355604368e-15),
        (chi(0.01), 1e-5, 0.943494426418716401, 0.0565055735812835985),
        (chi(0.01), 1.0, 0.997193837273388462, 0.00280616272661153835),
        (chi(0.1), 0.3, 0.927832443365792807, 0.0721675566342071929),
        (chi(0.9), 2.5, 0.900834490435545576, 0.0991655095644544236),
        (chi(0.9), 1e-8, 0.000207619812178150493, 0.99979238018782185),
        (t(1e-6), 1e-10, 0.50000000000005, 0.49999999999995),
        (t(1e-6), 1.0, 0.500003800436705762, 0.499996199563294238),
        (t(1e-6), 1e300, 0.500349066310943737, 0.499650933689056263),
        (t(0.01), 1e200, 0.9951473671424413, 0.0048526328575587004),
        (t(0.5), 1.3e154, 1.0, 2.8127336228663061e-78),
        (t(0.5), 1.4e154, 1.0, 2.71041793866915873e-78),
        (t(1.0), 1e200, 1.0, 3.18309886183790672e-201),
        (t(1.0), 1e-200, 0.5, 0.5),
        (t(1.5), 1e200, 1.0, 3.77085243201624635e-301),
        (t(2.0), 1e150, 1.0, 5.0e-301),
        (f(1e-6, 1e-6), 1e-300, 0.49982733593797464, 0.50017266406202536),
        (f(1e-6, 1e-6), 1.0, 0.5, 0.5),
        (f(1e-6, 1e-6), 30.0, 0.500000850298425056, 0.499999149701574944),
        (f(1e-6, 1e-6), 1e300, 0.50017266406202536, 0.49982733593797464),
        (f(1e-6, 0.5), 1e-10, 0.999980100973844384, 0.0000198990261556155266),
        (f(1e-6, 0.5), 0.9999, 0.999991613686233958, 8.38631376604227801e-6),
        (f(1e-6, 0.5), 30.0, 0.99999331431486136, 6.68568513863984008e-6),
        (f(1e-6, 1e8), 0.01, 0.999990731736607696, 9.26826339230355364e-6),
        (f(1e-6, 1e8), 1.0, 0.999993034302763154, 6.9656972368462338e-6),
        (f(1e-6, 1e8), 30.0, 0.999994734883804208, 5.2651161957921665e-6),
        (f(0.5, 1e-6), 1e-10, 1.68178555663174229e-7, 0.999999831821444337),
        (f(0.5, 1e-6), 1.0, 8.38626376398644653e-6, 0.999991613736236014),
        (f(1e8, 1e-6), 0.1, 5.81441429715431803e-6, 0.999994185585702846),
        (f(1e8, 1e-6), 1.0, 6.9656972368462338e-6, 0.999993034302763154),
        (f(1e8, 1e-6), 30.0, 8.6662823941502281e-6, 0.99999133371760585),
        (f(0.1, 7.0), 0.5, 0.847165892572333451, 0.152834107427666549),
        (f(7.0, 0.1), 2.0, 0.152834107427666549, 0.847165892572333451),
        (f(0.3, 0.2), 0.5, 0.383394324964104942, 0.616605675035895058),
        (f(0.01, 1000.0), 1.0, 0.97662176422951536, 0.0233782357704846405),
        (f(0.9, 0.9), 1e-5, 0.0034474876613028985, 0.996552512338697102),
        (f(0.9, 0.9), 1e5, 0.996552512338697102, 0.0034474876613028985),
    ]
}

/// From the source of [`precise_values`], with the most degrees of freedom.
#[expect(clippy::excessive_precision, reason = "the digits of the source")]
fn vast_values() -> Vec<Known> {
    let chi = |freedom| Distribution::ChiSquared { freedom };
    let t = |freedom| Distribution::StudentT { freedom };
    let f = |numerator, denominator| Distribution::FisherF { numerator, denominator };
    vec![
        (chi(1e8), 9.99e7, 7.56028505272747789e-13, 0.999999999999243971),
        (chi(1e8), 1e8, 0.500018806319453681, 0.499981193680546319),
        (chi(1e8), 1.0001e8, 0.760257262338763064, 0.239742737661236936),
        (chi(1e8), 1.0005e8, 0.99979610621750978, 0.000203893782490219984),
        (t(1e8), 0.5, 0.691462460723911031, 0.308537539276088969),
        (t(1e8), 3.0, 0.998650101635981253, 0.00134989836401874719),
        (t(1e8), 30.0, 1.0, 4.91668214294163249e-198),
        (f(0.5, 1e8), 0.5, 0.640157204816693531, 0.359842795183306469),
        (f(1e8, 1e8), 0.9999, 0.308528737037793139, 0.691471262962206861),
        (f(1e8, 1e8), 1.0001, 0.691453659695839765, 0.308546340304160235),
    ]
}

/// Of parameters up to some 10^4, where continued fractions are long.
#[test]
fn distributions_are_exact_to_twelve_digits() {
    assert_digits(precise_values(), 5e-13);
}

/// With few degrees of freedom one side is small wherever the other one ends.
#[test]
fn distributions_are_exact_at_the_ends_of_their_parameters() {
    assert_digits(extreme_values(), 5e-13);
}

/// Continued fractions of so many terms keep fewer digits.
#[test]
fn distributions_of_a_hundred_million_degrees_of_freedom_are_exact_to_ten_digits() {
    assert_digits(vast_values(), 1e-10);
}

/// Both sides are within this share of the known ones.
fn assert_digits(known: Vec<Known>, share: f64) {
    for (distribution, x, lower, upper) in known {
        for (is_lower, expected) in [(true, lower), (false, upper)] {
            let result = alone(false, |c| distribution_function(c, distribution, is_lower, &MatrixBlock::single(x)));
            let error = (result.unwrap().get(0, 0) - expected).abs() / expected;
            assert!(error <= share, "{distribution:?} at {x}, lower {is_lower}: {error:e} off");
        }
    }
}

/// Wherever a probability tells where it is, the quantile finds that place again.
#[test]
fn quantiles_invert_distributions() {
    let probabilities = [1e-300, 1e-20, 1e-5, 0.01, 0.3, 0.5, 0.7, 0.999, 1.0 - 1e-12];
    for (distribution, ..) in precise_values().into_iter().chain(known_values()) {
        let cells = dense(1, probabilities.len(), &probabilities);
        let quantiles = alone(false, |c| quantile_function(c, distribution, &cells)).unwrap();
        let found = |is_lower| alone(false, |c| distribution_function(c, distribution, is_lower, &quantiles)).unwrap();
        let (lower, upper) = (found(true), found(false));
        for (j, &probability) in probabilities.iter().enumerate() {
            let (actual, expected) =
                if probability < 0.5 { (lower.get(0, j), probability) } else { (upper.get(0, j), 1.0 - probability) };
            let error = (actual - expected).abs() / expected;
            // Where the quantile is subnormal or beyond all numbers, there is no place to find. The tail of Student's t is
            // about this power.
            let quantile = quantiles.get(0, j);
            let is_beyond = matches!(
                distribution, Distribution::StudentT { freedom } if expected.powf(-1.0 / freedom) == f64::INFINITY
            );
            assert_eq!(quantile.is_infinite(), is_beyond, "{distribution:?} at {probability}: {quantile}");
            let is_there = quantile == 0.0 || quantile.abs() >= 1e-300 && !is_beyond;
            assert!(!is_there || error <= 1e-12, "{distribution:?} at {probability}: {quantile} is {error:e} off");
        }
    }
}

/// Over all numbers, from one degree of freedom in a million to a hundred million.
#[test]
fn probabilities_rise_at_the_ends_of_the_degrees_of_freedom() {
    let cells = [1e-300, 1e-10, 0.5, 0.9999, 1.0, 1.0001, 30.0, 1e8, 1.0001e8, 1e300];
    let ends = [1e-6, 0.5, 1e8];
    let of_two = ends
        .iter()
        .flat_map(|&numerator| ends.iter().map(move |&denominator| Distribution::FisherF { numerator, denominator }));
    let of_one =
        ends.iter().flat_map(|&freedom| [Distribution::ChiSquared { freedom }, Distribution::StudentT { freedom }]);
    for distribution in of_two.chain(of_one) {
        let found = |is_lower| {
            let cells = dense(1, cells.len(), &cells);
            alone(false, |c| distribution_function(c, distribution, is_lower, &cells)).unwrap()
        };
        let (lower, upper) = (found(true), found(false));
        for (j, cell) in cells.iter().enumerate() {
            let (below, above) = (lower.get(0, j), upper.get(0, j));
            let is_sound = [below, above].iter().all(|side| (0.0..=1.0).contains(side));
            assert!(is_sound, "{distribution:?} at {cell}: {below} and {above}");
            let rises = j == 0 || below >= lower.get(0, j - 1) - 1e-9 && above <= upper.get(0, j - 1) + 1e-9;
            assert!(rises, "{distribution:?} falls at {cell}");
        }
        let quantiles = alone(false, |c| quantile_function(c, distribution, &dense(1, 2, &[0.25, 0.75]))).unwrap();
        assert!(quantiles.get(0, 0) <= quantiles.get(0, 1), "{distribution:?}");
    }
}

/// Whose squares are no numbers.
#[test]
fn quantiles_of_students_t_are_found_far_out() {
    for (freedom, probability, expected) in [
        (1.0, 1e-200, -3.183_098_861_837_907e199),
        (0.01, 0.99, 3.960_440_137_152_13e168),
        (0.5, 1e-100, -1.028_491_156_316_34e199),
    ] {
        let distribution = Distribution::StudentT { freedom };
        let quantile = alone(false, |c| quantile_function(c, distribution, &MatrixBlock::single(probability)));
        let error = quantile.unwrap().get(0, 0) / expected - 1.0;
        assert!(error.abs() <= 1e-11, "{freedom} at {probability}: {error:e} off");
    }
}

/// Over several blocks, and with every number of threads.
#[test]
fn distributions_of_many_cells_are_those_of_each() {
    let distribution = Distribution::FisherF { numerator: 3.0, denominator: 5.0 };
    let cells = Dense::from_fn(3, 111, |i, j| (i * 111 + j) as f64 / 333.0).into();
    let probabilities = run(|context| distribution_function(context, distribution, true, &cells).unwrap());
    let quantiles = run(|context| quantile_function(context, distribution, &cells).unwrap());
    let single = |i, j| MatrixBlock::single(cells.get(i, j));
    assert_cells(&probabilities, 3, 111, |i, j| {
        alone(false, |context| distribution_function(context, distribution, true, &single(i, j))).unwrap().get(0, 0)
    });
    assert_cells(&quantiles, 3, 111, |i, j| {
        alone(false, |context| quantile_function(context, distribution, &single(i, j))).unwrap().get(0, 0)
    });
}

#[test]
fn distributions_hear_a_request_to_stop() {
    let stop = StopFlag::default();
    let run = RunContext::new(BufferPool::new(0), stop.clone());
    let normal = Distribution::Normal { mean: 0.0, deviation: 1.0 };
    for cells in [dense(1, 1, &[0.5]), dense(1, 1000, &[0.5; 1000])] {
        let probabilities = || alone(false, |context| distribution_function(context, normal, true, &cells));
        let quantiles = || alone(false, |context| quantile_function(context, normal, &cells));
        stop.raise();
        assert_eq!(run.run(probabilities), Err(Abort::Stopped));
        assert_eq!(run.run(quantiles), Err(Abort::Stopped));
        assert!(stop.take());
        assert!(run.run(probabilities).is_ok() && run.run(quantiles).is_ok());
    }
}

/// The most bytes that the work reserves: in all, as matrices, and besides.
fn peak_bytes(work: impl FnOnce(&KernelContext<'_>)) -> [u64; 3] {
    let budget = Budget::unlimited();
    let run = RunContext::new(BufferPool::within(Arc::clone(&budget), 0), StopFlag::default());
    run.run(|| alone(false, work)).unwrap();
    let of = |kind| budget.peaks().find(|(other, _)| *other == kind).unwrap().1;
    [budget.peak(), of(MemoryKind::Matrix), of(MemoryKind::Scratch)]
}

/// Values and weights are cells that are read where they are, or those of a sparse vector, which are gone before the sort.
#[test]
fn order_statistics_reserve_what_they_take() {
    const COUNT: usize = 100_000;
    let vector = |seed| matrix(COUNT, 1, 1, seed);
    let pair = (COUNT * size_of::<(f64, f64)>()) as u64;
    let [dense, sparse, _] = all_formats(&vector(1));
    let weights = all_formats(&Dense::from_fn(COUNT, 1, |i, _| (i % 2) as f64).into());
    let peaks = |values: &MatrixBlock, weights: Option<&MatrixBlock>| {
        peak_bytes(|context| assert!(crate::median(context, values, weights).is_ok()))
    };
    assert!(matches!(crate::statistics::cells("median", &dense), Ok(Cow::Borrowed(_))), "cells are copied");
    assert_eq!(peaks(&dense, None), [2 * pair, 0, 2 * pair]);
    assert_eq!(peaks(&dense, Some(&weights[0])), [2 * pair, 0, 2 * pair]);
    assert_eq!(peaks(&sparse, None), [2 * pair, pair / 2, 2 * pair]);
    assert_eq!(peaks(&sparse, Some(&weights[1])), [2 * pair, pair, 2 * pair]);
}

/// All distinct values, however many lines they are of, and no more than those.
#[test]
fn distinct_values_stay_reserved() {
    const COUNT: usize = 1 << 12;
    let line = (COUNT * size_of::<f64>()) as u64;
    let distinct = Dense::from_fn(COUNT, 64, |i, j| (i * 64 + j) as f64).into();
    let [_, _, scratch] = peak_bytes(|context| drop(crate::unique(context, &distinct, Direction::Col)));
    assert!((64 * line..=2 * 64 * line + 2 * line).contains(&scratch), "{scratch}");
    let few = Dense::from_fn(COUNT, 64, |i, j| (i % 2 + j) as f64).into();
    let [_, _, scratch] = peak_bytes(|context| drop(crate::unique(context, &few, Direction::Col)));
    assert!((line..=2 * line).contains(&scratch), "{scratch}");
    let [_, _, scratch] = peak_bytes(|context| drop(crate::count_distinct(context, &distinct, Direction::Col)));
    assert!((line..=2 * line).contains(&scratch), "{scratch}");
}

#[test]
fn distributions_have_their_known_values() {
    let close = |actual: f64, expected: f64| (actual - expected).abs() <= 4e-14 * expected.abs();
    for (distribution, x, lower, upper) in known_values() {
        for (is_lower, expected) in [(true, lower), (false, upper)] {
            let result = alone(false, |c| distribution_function(c, distribution, is_lower, &MatrixBlock::single(x)));
            let actual = result.unwrap().get(0, 0);
            assert!(close(actual, expected), "{distribution:?} at {x}, lower {is_lower}: {actual:e} != {expected:e}");
        }
        if lower < 1.0 {
            let result = alone(false, |c| quantile_function(c, distribution, &MatrixBlock::single(lower)));
            let actual = result.unwrap().get(0, 0);
            assert!((actual - x).abs() <= 1e-10 * x.abs(), "{distribution:?}: quantile {actual} != {x}");
        }
    }
}

#[test]
fn quantiles_of_distributions_end_where_the_distributions_do() {
    let ends = |distribution| {
        let result = alone(false, |c| quantile_function(c, distribution, &dense(1, 3, &[0.0, 0.5, 1.0]))).unwrap();
        (result.get(0, 0), result.get(0, 1), result.get(0, 2))
    };
    let infinite = f64::INFINITY;
    assert_eq!(ends(Distribution::Normal { mean: 0.0, deviation: 1.0 }), (-infinite, 0.0, infinite));
    assert_eq!(ends(Distribution::StudentT { freedom: 3.0 }), (-infinite, 0.0, infinite));
    let (low, _, high) = ends(Distribution::ChiSquared { freedom: 3.0 });
    assert_eq!((low, high), (0.0, infinite));
    let (low, middle, high) = ends(Distribution::FisherF { numerator: 4.0, denominator: 4.0 });
    assert_eq!((low, high), (0.0, infinite));
    assert!((middle - 1.0).abs() < 1e-12, "{middle}");
    for x in [-infinite, infinite] {
        let result = alone(false, |c| {
            distribution_function(c, Distribution::StudentT { freedom: 3.0 }, true, &MatrixBlock::single(x))
        });
        assert_eq!(result.unwrap().get(0, 0), if x > 0.0 { 1.0 } else { 0.0 });
    }
}

#[test]
fn distributions_refuse_parameters_and_probabilities_that_cannot_be() {
    let bad = Distribution::ChiSquared { freedom: 0.0 };
    let error = alone(false, |c| distribution_function(c, bad, true, &MatrixBlock::single(1.0)).unwrap_err());
    assert_eq!(error.to_string(), "cdf: the number of degrees of freedom must be from 1e-6 to 1e8, not 0");
    let normal = Distribution::Normal { mean: 0.0, deviation: 1.0 };
    let error = alone(false, |c| quantile_function(c, normal, &MatrixBlock::single(1.5)).unwrap_err());
    assert_eq!(error.to_string(), "icdf: 1.5 is no probability");
}
