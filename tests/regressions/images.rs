//! Convolution and pooling as operations of rows, beside what their basic operators give.

use crate::harness::case::Case;
use crate::{case, check, csr, dense, mixed, sparse};
use fuseline::{BackendKind, CompileOptions, MatrixBlock, Mode, Session};

/// The shapes of images and of windows over them.
#[derive(Clone, Copy, Debug)]
struct Shape {
    channels: usize,
    image: [usize; 2],
    window: [usize; 2],
    stride: [usize; 2],
    padding: [usize; 2],
}

const fn shape(channels: usize, image: [usize; 2], window: [usize; 2], stride: usize, padding: [usize; 2]) -> Shape {
    Shape { channels, image, window, stride: [stride; 2], padding }
}

/// Single cells, one channel, strides, padding, windows that padding alone makes room for, and windows in nothing but
/// padding.
const SHAPES: [Shape; 8] = [
    shape(3, [1, 1], [1, 1], 1, [0, 0]),
    shape(1, [5, 4], [2, 3], 1, [0, 0]),
    shape(2, [5, 6], [2, 2], 2, [0, 0]),
    shape(2, [4, 5], [3, 3], 1, [1, 1]),
    shape(2, [3, 3], [4, 5], 1, [1, 2]),
    shape(1, [2, 3], [2, 2], 2, [2, 3]),
    shape(1, [3, 7], [3, 7], 1, [0, 0]),
    shape(2, [1, 9], [1, 4], 3, [0, 1]),
];

impl Shape {
    fn cells(&self) -> usize {
        self.channels * self.image[0] * self.image[1]
    }

    fn count(&self) -> [usize; 2] {
        [0, 1].map(|axis| (self.image[axis] + 2 * self.padding[axis] - self.window[axis]) / self.stride[axis] + 1)
    }

    /// The numbers that operators take, as operators of a DAG.
    fn numbers(&self) -> [usize; 9] {
        let Shape { channels, image, window, stride, padding } = *self;
        let all = [&[channels][..], &image, &window, &stride, &padding].concat();
        all.try_into().expect("there are nine")
    }
}

/// The lines of a DAG under construction.
#[derive(Default)]
struct Lines {
    lines: Vec<String>,
    next: usize,
}

impl Lines {
    fn add(&mut self, line: &str) -> String {
        let id = format!("%{}", self.next);
        self.next += 1;
        self.lines.push(format!("{id} = {line}"));
        id
    }

    fn over_windows(&mut self, function: &str, inputs: &str, shape: &Shape, dims: [usize; 2]) -> String {
        let numbers = shape.numbers().map(|number| self.add(&format!("literal {number} : i64")));
        self.add(&format!("{function} {inputs}, {} : f64[{}x{}]", numbers.join(", "), dims[0], dims[1]))
    }
}

const FILTERS: usize = 2;

/// `pool(max(conv2d(X, W) + bias, 0)) * 2` by row and by column; the pool has the windows of the convolution if these fit
/// what comes of it, else ones of a single cell.
fn layer(images: &MatrixBlock, filters: &MatrixBlock, bias: &MatrixBlock, shape: &Shape, pool: &str) -> Case {
    let mut dag = Lines { next: 3, ..Lines::default() };
    let (rows, [down, across]) = (images.rows(), shape.count());
    let (cells, zero, two) = (FILTERS * down * across, dag.add("literal 0 : i64"), dag.add("literal 2 : i64"));
    let convolved = dag.over_windows("conv2d", "%0, %1", shape, [rows, cells]);
    let count = dag.add(&format!("literal {cells} : i64"));
    let bias_row = dag.add(&format!("expand %2, {count} : f64[1x{cells}]"));
    let added = dag.add(&format!("plus {convolved}, {bias_row} : f64[{rows}x{cells}]"));
    let cut = dag.add(&format!("max {added}, {zero} : f64[{rows}x{cells}]"));
    let fits = (0..2).all(|axis| shape.window[axis] <= [down, across][axis] + 2 * shape.padding[axis]);
    let window = if fits { shape.window } else { [1, 1] };
    let pooling = Shape { channels: FILTERS, image: [down, across], window, ..*shape };
    let pooled_cells = FILTERS * pooling.count().into_iter().product::<usize>();
    let pooled = dag.over_windows(pool, &cut, &pooling, [rows, pooled_cells]);
    let twice = dag.add(&format!("mult {pooled}, {two} : f64[{rows}x{pooled_cells}]"));
    let sums = dag.add(&format!("sum.row {twice} : f64[{rows}x1]"));
    dag.lines.push(format!("write \"o\" {sums}"));
    let largest = dag.add(&format!("max.col {twice} : f64[1x{pooled_cells}]"));
    dag.lines.push(format!("write \"p\" {largest}"));
    let lines: Vec<&str> = dag.lines.iter().map(String::as_str).collect();
    case(&lines, &[("X", images), ("W", filters), ("b", bias)])
}

/// A layer over these images in every configuration.
fn check_layer(images: &MatrixBlock, shape: &Shape, pool: &str) {
    let filters = dense(FILTERS, shape.channels * shape.window[0] * shape.window[1], mixed);
    let bias = dense(FILTERS, 1, |i, _| i as f64 - 1.0);
    check(&layer(images, &filters, &bias, shape, pool));
}

#[test]
fn layers_of_all_shapes_have_the_values_of_their_operators() {
    for (number, shape) in SHAPES.iter().enumerate() {
        let pool = ["max_pool", "avg_pool"][number % 2];
        check_layer(&dense(13, shape.cells(), mixed), shape, pool);
        check_layer(&csr(7, shape.cells(), sparse), shape, pool);
    }
}

#[test]
fn layers_of_no_images_and_of_one_have_the_values_of_their_operators() {
    for rows in [0, 1, 2] {
        for images in [dense(rows, SHAPES[3].cells(), mixed), csr(rows, SHAPES[3].cells(), mixed)] {
            check_layer(&images, &SHAPES[3], "max_pool");
        }
    }
}

/// Padding takes no part in a maximum, not even beside NaN and infinities, which spread through sums.
#[test]
fn pools_of_special_values_have_the_values_of_their_operators() {
    fn special(i: usize, j: usize) -> f64 {
        match (i * 5 + j * 3) % 17 {
            0 => f64::NAN,
            1 => f64::INFINITY,
            2 => f64::NEG_INFINITY,
            3 => -0.0,
            _ => mixed(i, j) - 7.0,
        }
    }
    for shape in &SHAPES {
        let [down, across] = shape.count();
        let cells = shape.channels * down * across;
        for (pool, images) in
            [("max_pool", dense(9, shape.cells(), special)), ("avg_pool", csr(9, shape.cells(), special))]
        {
            let mut dag = Lines { next: 1, ..Lines::default() };
            let negated = dag.add(&format!("neg %0 : f64[9x{}]", shape.cells()));
            let pooled = dag.over_windows(pool, &negated, shape, [9, cells]);
            let absolute = dag.add(&format!("abs {pooled} : f64[9x{cells}]"));
            let sums = dag.add(&format!("sum.row {absolute} : f64[9x1]"));
            dag.lines.extend([format!("write \"o\" {absolute}"), format!("write \"p\" {sums}")]);
            let lines: Vec<&str> = dag.lines.iter().map(String::as_str).collect();
            check(&case(&lines, &[("X", &images)]));
        }
    }
}

/// A layer is one operator over rows, whose result has the bits of basic operators.
#[test]
fn a_layer_is_one_operator() {
    let shape = SHAPES[3];
    let images = dense(50, shape.cells(), |i, j| (i as f64 * 0.37 + j as f64 * 0.11).sin());
    let filters = dense(FILTERS, shape.channels * 9, |i, j| (i as f64 - j as f64 * 0.3).cos());
    let case = layer(&images, &filters, &dense(FILTERS, 1, |i, _| i as f64 * 0.25), &shape, "max_pool");
    let run = |mode: Mode| {
        let options = CompileOptions { mode, backend: BackendKind::Interp, ..CompileOptions::default() };
        let session = Session::new(options).expect("a session of this machine");
        session.run_dag(&case.dag().expect("it is a DAG"), case.variables()).expect("it runs")
    };
    let (base, fused) = (run(Mode::Base), run(Mode::GenFuseAll));
    assert!(base.statistics.fused_operators.is_empty());
    let kinds: Vec<&str> = fused.statistics.fused_operators.keys().map(String::as_str).collect();
    assert!(kinds.iter().all(|kind| kind.starts_with("row ")) && !kinds.is_empty(), "{kinds:?}");
    assert_eq!(format!("{:?}", base.variables.get("p")), format!("{:?}", fused.variables.get("p")));
}
