//! Lines over logarithmic axes as SVG.

use crate::svg::{COLOURS, RIGHT, TOP, drawing, escaped, legend};
use std::fmt::Write;

/// Width and height of the area that lines are drawn in, and the space for the numbers of its axes.
const AREA: (f64, f64) = (560.0, 240.0);
const AXIS: f64 = 60.0;

/// Lines through points, both axes logarithmic. Ticks of the horizontal axis are the points' own places.
pub(crate) fn plot(title: &str, axes: [&str; 2], series: &[String], points: &[Vec<(f64, f64)>]) -> String {
    let all = || points.iter().flatten();
    let range = |values: Vec<f64>| {
        (values.iter().copied().fold(f64::MAX, f64::min), values.iter().copied().fold(0.0, f64::max))
    };
    let (least_x, most_x) = range(all().map(|point| point.0).collect());
    let (least_y, most_y) = range(all().map(|point| point.1).collect());
    let (least_y, most_y) = (least_y / 1.2, most_y * 1.2);
    let x_of = |x: f64| AXIS + (x / least_x).ln() / (most_x / least_x).ln() * AREA.0;
    let y_of = |y: f64| TOP + AREA.1 - (y / least_y).ln() / (most_y / least_y).ln() * AREA.1;
    let mut body = legend(AXIS, series);
    let bottom = TOP + AREA.1;
    let _ = writeln!(body, "<path d=\"M{AXIS},{TOP}V{bottom}H{}\" fill=\"none\" stroke=\"#222\"/>", AXIS + AREA.0);
    for (x, _) in points.first().into_iter().flatten() {
        let _ = writeln!(body, "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{x}</text>", x_of(*x), bottom + 14.0);
    }
    for step in 0..=4 {
        let y = least_y * (most_y / least_y).powf(f64::from(step) / 4.0);
        let _ =
            writeln!(body, "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{y:.3}</text>", AXIS - 4.0, y_of(y) + 3.0);
    }
    let _ = writeln!(
        body,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text><text x=\"4\" y=\"{}\">{}</text>",
        AXIS + AREA.0,
        bottom + 26.0,
        escaped(axes[0]),
        TOP - 8.0,
        escaped(axes[1])
    );
    for (points, colour) in points.iter().zip(COLOURS) {
        let path: Vec<String> = points.iter().map(|(x, y)| format!("{:.1},{:.1}", x_of(*x), y_of(*y))).collect();
        let _ = writeln!(
            body,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"/>",
            path.join(" ")
        );
    }
    drawing(title, AXIS + AREA.0 + RIGHT, bottom + 34.0, &body)
}
