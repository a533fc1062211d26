//! What generated data looks like, at a small scale, and that threads do not matter.

use super::airline::COLUMNS;
use super::digits::PIXELS;
use super::*;
use std::collections::BTreeSet;

fn generated(specification: &Specification) -> Generated {
    specification.generate().unwrap_or_else(|error| panic!("{specification:?}: {error}"))
}

/// A small specification of any kind.
fn small(kind: Kind) -> Specification {
    let mut specification = Specification { seed: 7, ..Specification::new(kind) };
    match kind {
        Kind::Airline78 => specification.scale = 0.001,
        Kind::Mnist => specification.scale = 0.05,
        Kind::Netflix => specification.scale = 0.02,
        Kind::Amazon => specification.scale = 0.05,
        Kind::Graph => specification.rows = Some(3000),
        _ => (specification.rows, specification.cols) = (Some(4000), Some(50)),
    }
    specification
}

fn share(data: &MatrixBlock) -> f64 {
    data.nnz() as f64 / (data.rows() as f64 * data.cols() as f64)
}

fn distinct(values: impl Iterator<Item = f64>) -> usize {
    values.map(f64::to_bits).collect::<BTreeSet<u64>>().len()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Mean and deviation.
fn moments(values: &[f64]) -> (f64, f64) {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (mean, (squares / values.len() as f64).sqrt())
}

#[track_caller]
fn assert_near(actual: f64, expected: f64, tolerance: f64) {
    assert!((actual - expected).abs() <= tolerance, "{actual} is not {expected} +- {tolerance}");
}

/// Non-zeros per row and per column.
fn degrees(data: &MatrixBlock) -> (Vec<f64>, Vec<f64>) {
    let csr = data.to_csr();
    let rows = (0..csr.rows()).map(|row| csr.row(row).0.len() as f64).collect();
    let mut cols = vec![0.0; csr.cols()];
    csr.columns().iter().for_each(|&column| cols[column as usize] += 1.0);
    (rows, cols)
}

/// Median and maximum over mean.
fn skew(mut values: Vec<f64>) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    let mean = mean(&values);
    (values[values.len() / 2] / mean, values[values.len() - 1] / mean)
}

fn labels(generated: &Generated) -> Vec<f64> {
    generated.labels.as_ref().expect("there are labels").to_dense().values().to_vec()
}

#[test]
fn threads_do_not_matter_and_seeds_do() {
    for kind in Kind::all() {
        let specification = small(kind);
        let in_pool = |threads: usize, specification: &Specification| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            pool.install(|| generated(specification))
        };
        let one = in_pool(1, &specification);
        let three = in_pool(3, &specification);
        assert_eq!(one.data.to_csr(), three.data.to_csr(), "{kind}");
        assert_eq!(one.labels, three.labels, "{kind}");
        assert_eq!(one.labels.is_some(), kind.has_labels(), "{kind}");
        let other = in_pool(1, &Specification { seed: 8, ..specification });
        assert_ne!(one.data.to_csr(), other.data.to_csr(), "{kind}");
    }
}

#[test]
fn rows_of_different_blocks_differ() {
    let specification = Specification { rows: Some(100_000), cols: Some(2), ..Specification::new(Kind::Uniform) };
    let data = generated(&specification).data;
    assert_eq!(distinct(data.to_dense().values().iter().copied()), 200_000);
}

#[test]
fn values_have_their_distribution_and_density() {
    for sparsity in [1.0, 0.6, 0.05] {
        for (kind, deviation) in [(Kind::Uniform, (1.0_f64 / 3.0).sqrt()), (Kind::Normal, 1.0)] {
            let data = generated(&Specification { sparsity: Some(sparsity), ..small(kind) }).data;
            assert_eq!(data.format().is_sparse(), sparsity < 0.4);
            assert_near(share(&data), sparsity, 0.01);
            let csr = data.to_csr();
            let (mean, actual) = moments(csr.values());
            assert_near(mean, 0.0, 0.03);
            assert_near(actual, deviation, 0.03);
        }
    }
}

#[test]
fn classes_follow_a_linear_model() {
    for sparsity in [1.0, 0.1] {
        let specification = Specification { classes: 4, sparsity: Some(sparsity), ..small(Kind::Classes) };
        let labels = labels(&generated(&specification));
        for class in 1..=4 {
            let count = labels.iter().filter(|&&label| label == f64::from(class)).count();
            assert!((400..2500).contains(&count), "{count} of class {class}");
        }
        // Noise changes few labels: those of rows near a border.
        let exact = Specification { noise: 0.0, ..specification };
        let exact = self::labels(&generated(&exact));
        assert_eq!(distinct(exact.iter().copied()), 4);
    }
}

/// The covariance of the response with each feature is its weight times the variance: the explained share of the
/// response's variance is near 1 for little noise.
#[test]
fn regressions_are_explained_by_their_features() {
    let specification =
        Specification { rows: Some(40_000), cols: Some(5), seed: 3, ..Specification::new(Kind::Regression) };
    let generated = generated(&specification);
    let (data, responses) = (generated.data.to_dense().into_owned(), labels(&generated));
    let explained: f64 = (0..5)
        .map(|column| {
            let covariance: f64 =
                responses.iter().enumerate().map(|(row, y)| y * data.get(row, column)).sum::<f64>() / 40_000.0;
            3.0 * covariance * covariance
        })
        .sum();
    let (_, deviation) = moments(&responses);
    assert_near(explained / (deviation * deviation), 1.0, 0.1);
}

#[test]
fn responses_are_in_their_range() {
    let responses = |kind| labels(&generated(&small(kind)));
    let counts = responses(Kind::Poisson);
    assert!(counts.iter().all(|count| *count >= 0.0 && count.fract() == 0.0));
    // The mean of exp of a normal score is exp of half its variance.
    assert_near(mean(&counts), 0.5_f64.exp(), 0.6);
    let amounts = responses(Kind::Gamma);
    assert!(amounts.iter().all(|amount| *amount > 0.0 && amount.is_finite()));
    assert_near(mean(&amounts), 0.5_f64.exp(), 0.6);
    let events = responses(Kind::Binomial);
    assert!(events.iter().all(|event| *event == 0.0 || *event == 1.0));
    assert_near(mean(&events), 0.5, 0.1);
}

#[test]
fn clusters_surround_their_centres() {
    let specification = Specification { classes: 3, ..small(Kind::Clusters) };
    let generated = generated(&specification);
    let (data, numbers) = (generated.data.to_dense().into_owned(), labels(&generated));
    for cluster in [1.0, 2.0, 3.0] {
        let members: Vec<f64> =
            (0..data.rows()).filter(|&row| numbers[row] == cluster).map(|row| data.get(row, 0)).collect();
        assert!(members.len() > 1000);
        let (centre, deviation) = moments(&members);
        assert!(centre.abs() < 1.1);
        assert_near(deviation, 0.1, 0.01);
    }
}

#[test]
fn flights_look_like_airline_data() {
    let generated = generated(&small(Kind::Airline78));
    let data = generated.data.to_dense().into_owned();
    assert_eq!(generated.data.dims(), (14_463, 29));
    assert!(!generated.data.format().is_sparse());
    assert_near(share(&generated.data), 0.73, 0.01);
    let column = |name: &str| {
        let column = COLUMNS.iter().position(|column| *column == name).expect("a column");
        (0..data.rows()).map(move |row| (row, column))
    };
    let values = |name: &str| column(name).map(|(row, column)| data.get(row, column)).collect::<Vec<f64>>();
    assert!(data.values().iter().all(|value| value.fract() == 0.0));
    for (name, least, most) in [
        ("Year", 2, 2),
        ("Month", 12, 12),
        ("DayofMonth", 31, 31),
        ("DayOfWeek", 7, 7),
        ("CRSDepTime", 200, 216),
        ("DepTime", 800, 1441),
        ("UniqueCarrier", 20, 20),
        ("TailNum", 4000, 5400),
        ("Origin", 200, 310),
        ("Cancelled", 2, 2),
        ("CancellationCode", 5, 5),
        ("Diverted", 2, 2),
        ("SecurityDelay", 2, 200),
        ("ArrDelay", 100, 500),
    ] {
        let count = distinct(values(name).into_iter());
        assert!((least..=most).contains(&count), "{name} has {count} values");
    }
    let zeros = |name: &str| values(name).iter().filter(|&&value| value == 0.0).count() as f64 / data.rows() as f64;
    assert_near(zeros("Cancelled"), 0.98, 0.01);
    assert_near(zeros("WeatherDelay"), 0.98, 0.02);
    assert!(zeros("NASDelay") > 0.8 && zeros("NASDelay") < 0.95);
    // Delays of late arrivals are those of their causes.
    for row in 0..data.rows() {
        let causes: f64 = (24..29).map(|column| data.get(row, column)).sum();
        assert_eq!(causes, if data.get(row, 14) >= 15.0 { data.get(row, 14) } else { 0.0 });
    }
    let late = labels(&generated).iter().filter(|&&label| label == 2.0).count() as f64 / data.rows() as f64;
    assert!((0.1..0.4).contains(&late), "{late}");
}

#[test]
fn digits_look_like_mnist() {
    let generated = generated(&small(Kind::Mnist));
    assert_eq!(generated.data.dims(), (3000, 784));
    assert!(generated.data.format().is_sparse());
    assert_near(share(&generated.data), 0.25, 0.01);
    let csr = generated.data.to_csr();
    assert!(csr.values().iter().all(|value| value.fract() == 0.0 && (1.0..=255.0).contains(value)));
    assert_eq!(distinct(csr.values().iter().copied()), 255);
    let (_, pixels) = degrees(&generated.data);
    let never = pixels.iter().filter(|&&count| count == 0.0).count();
    assert!((50..500).contains(&never), "{never} of {PIXELS} pixels are never grey");
    assert_eq!(pixels[0], 0.0, "the corner is empty");
    let labels = labels(&generated);
    assert_eq!(distinct(labels.iter().copied()), 10);
    // Images of a class are more alike than those of different ones.
    let cell = |row: usize, pixel: usize| f64::from(u8::from(generated.data.get(row, pixel) > 0.0));
    let overlap =
        |left: usize, right: usize| (0..PIXELS).map(|pixel| cell(left, pixel) * cell(right, pixel)).sum::<f64>();
    let pairs = (0..60).flat_map(|left| (left + 1..60).map(move |right| (left, right)));
    let (same, other): (Vec<_>, Vec<_>) = pairs.partition(|&(left, right)| labels[left] == labels[right]);
    let mean_overlap = |pairs: &[(usize, usize)]| {
        pairs.iter().map(|&(left, right)| overlap(left, right)).sum::<f64>() / pairs.len() as f64
    };
    assert!(mean_overlap(&same) > 1.2 * mean_overlap(&other));
}

/// Median and maximum of users and films, relative to their means: 0.46 and about 80 (at most all films), 0.1 and 41.
#[test]
fn ratings_are_skewed_as_those_of_netflix() {
    let data = generated(&Specification { scale: 0.1, ..small(Kind::Netflix) }).data;
    assert_eq!(data.dims(), (48_019, 1777));
    assert!(data.format().is_sparse());
    assert_near(share(&data), 0.012, 0.0006);
    let (users, films) = degrees(&data);
    let (user_median, user_most) = skew(users);
    assert_near(user_median, 0.46, 0.08);
    assert!(user_most > 20.0, "{user_most}");
    let (film_median, film_most) = skew(films);
    assert_near(film_median, 0.12, 0.05);
    assert!((15.0..60.0).contains(&film_most), "{film_most}");
    let csr = data.to_csr();
    assert_eq!(distinct(csr.values().iter().copied()), 5);
    assert_near(mean(csr.values()), 3.6, 0.15);
}

#[test]
fn ratings_of_amazon_are_very_few_and_very_skewed() {
    let data = generated(&Specification { rows: Some(8_026_324), cols: Some(2_330_066), ..small(Kind::Amazon) }).data;
    assert_eq!(data.dims(), (401_316, 116_503));
    // Means of less than one rating per user are possible, too.
    assert_near(share(&data) / 1.2e-6, 1.0, 0.05);
    let denser = generated(&Specification { sparsity: Some(2.4e-5), ..small(Kind::Amazon) }).data;
    let (users, items) = degrees(&denser);
    assert!((0.2..0.6).contains(&skew(users).0));
    let (item_median, item_most) = skew(items);
    assert!(item_median < 0.35 && item_most > 300.0, "{item_median} {item_most}");
    assert!(mean(denser.to_csr().values()) > 4.0);
}

/// Ratings have structure: a few users' columns explain each other better than noise does.
#[test]
fn ratings_have_low_rank() {
    let specification = Specification { sparsity: Some(1.0), rows: Some(2000), cols: Some(40), ..small(Kind::Ratings) };
    let data = generated(&specification).data.to_dense().into_owned();
    let column = |j: usize| (0..2000).map(|row| data.get(row, j)).collect::<Vec<f64>>();
    let correlation = |left: &[f64], right: &[f64]| {
        let ((left_mean, left_deviation), (right_mean, right_deviation)) = (moments(left), moments(right));
        let products: f64 = left.iter().zip(right).map(|(left, right)| (left - left_mean) * (right - right_mean)).sum();
        products / 2000.0 / left_deviation / right_deviation
    };
    let strongest = (1..40).map(|j| correlation(&column(0), &column(j)).abs()).fold(0.0, f64::max);
    assert!(strongest > 0.25, "{strongest}");
}

#[test]
fn columns_of_link_matrices_sum_to_one() {
    let data = generated(&small(Kind::Graph)).data;
    assert_eq!(data.dims(), (3000, 3000));
    assert_near(data.nnz() as f64 / 3000.0, 8.0, 1.0);
    let csr = data.to_csr();
    let mut sums = vec![0.0; 3000];
    csr.columns().iter().zip(csr.values()).for_each(|(&column, value)| sums[column as usize] += value);
    sums.into_iter().for_each(|sum| assert_near(sum, 1.0, 1e-12));
    let (incoming, _) = degrees(&data);
    assert!(skew(incoming).1 > 50.0);
}

#[test]
fn scales_and_shapes_are_checked() {
    let message = |change: &dyn Fn(&mut Specification), kind| {
        let mut specification = small(kind);
        change(&mut specification);
        specification.generate().expect_err("it makes no sense").to_string()
    };
    assert_eq!(message(&|data| data.rows = None, Kind::Uniform), "data of kind `uniform` needs rows");
    assert_eq!(message(&|data| data.cols = None, Kind::Classes), "data of kind `classes` needs cols");
    let zero_rows = message(&|data| data.rows = Some(0), Kind::Normal);
    assert_eq!(zero_rows, "rows is 0, where a number from 1 to 2^48 is needed");
    assert!(message(&|data| data.cols = Some(1 << 40), Kind::Normal).starts_with("cols is 1099511627776, where"));
    for sparsity in [0.0, -1.0, 1.5, f64::NAN] {
        assert!(message(&|data| data.sparsity = Some(sparsity), Kind::Normal).contains("a share above 0"));
    }
    for scale in [0.0, -1.0, f64::INFINITY, f64::NAN] {
        assert!(message(&|data| data.scale = scale, Kind::Mnist).contains("a factor above 0"));
    }
    assert!(message(&|data| data.classes = 1, Kind::Classes).contains("a number from 2"));
    assert!(message(&|data| data.noise = -0.5, Kind::Classes).contains("a deviation of at least 0"));
    assert_eq!(message(&|data| data.cols = Some(30), Kind::Airline78), "data of kind `airline78` has 29 columns");
    assert_eq!(message(&|data| data.cols = Some(30), Kind::Mnist), "data of kind `mnist` has 784 columns");
    assert_eq!(message(&|data| data.cols = Some(7), Kind::Graph), "data of kind `graph` has as many columns as rows");
}

/// More than any machine has is refused at once.
#[test]
fn memory_is_checked_before_it_is_taken() {
    let specification = Specification { rows: Some(1 << 40), cols: Some(1000), ..Specification::new(Kind::Normal) };
    let error = specification.generate().expect_err("no machine has 9 PB");
    assert!(matches!(error, GenerateError::Memory { needed: 8_804_889_116, .. }), "{error:?}");
    let message = error.to_string();
    assert!(
        message.starts_with("a 1099511627776 x 1000 matrix with about 1099511627776000 non-zeros takes"),
        "{message}"
    );
    let sparse = Specification { scale: 1000.0, ..Specification::new(Kind::Netflix) };
    assert!(matches!(sparse.generate(), Err(GenerateError::Memory { .. })));
    // Few cells, but many columns, each of which has its popularity.
    let wide = Shape { rows: 1, cols: 1 << 31, sparsity: 1e-9 };
    assert!(wide.bytes() < 1e3 && Specification::new(Kind::Ratings).model_bytes(&wide) > 2e11);
}

#[test]
fn names_and_kinds_correspond() {
    for kind in Kind::all() {
        assert_eq!(kind.name().parse(), Ok(kind));
    }
    let message = "airline".parse::<Kind>().expect_err("no such kind");
    assert!(message.starts_with("there is no such kind; there are uniform, normal, classes"), "{message}");
}
