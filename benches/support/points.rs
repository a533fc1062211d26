//! Points over logarithmic axes of the same range as SVG, with the line on which both coordinates are equal.

use crate::svg::{COLOURS, RIGHT, TOP, drawing, escaped, legend};
use std::fmt::Write;

/// Width and height of the area that points are drawn in, and the space for the numbers of its axes.
const SIDE: f64 = 480.0;
const AXIS: f64 = 60.0;

/// Points by series; grid lines are powers of ten.
pub(crate) fn plot(title: &str, axes: [&str; 2], series: &[String], points: &[Vec<(f64, f64)>]) -> String {
    let exponents = || points.iter().flatten().flat_map(|&(x, y)| [x.log10(), y.log10()]);
    let least = exponents().fold(f64::MAX, f64::min).floor();
    let most = exponents().fold(f64::MIN, f64::max).ceil();
    let along = |exponent: f64| (exponent - least) / (most - least) * SIDE;
    let (x_of, y_of) = (|exponent: f64| AXIS + along(exponent), |exponent: f64| TOP + SIDE - along(exponent));
    let mut body = legend(AXIS, series);
    let bottom = TOP + SIDE;
    for power in least as i32..=most as i32 {
        let (x, y) = (x_of(f64::from(power)), y_of(f64::from(power)));
        let _ = writeln!(
            body,
            "<path d=\"M{AXIS},{y:.1}H{}M{x:.1},{TOP}V{bottom}\" stroke=\"#ddd\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">1e{power}</text>\
             <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">1e{power}</text>",
            AXIS + SIDE,
            AXIS - 4.0,
            y + 3.0,
            bottom + 14.0
        );
    }
    let _ = writeln!(
        body,
        "<path d=\"M{AXIS},{bottom}L{},{TOP}\" stroke=\"#222\"/>\
         <text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text><text x=\"4\" y=\"{}\">{}</text>",
        AXIS + SIDE,
        AXIS + SIDE,
        bottom + 26.0,
        escaped(axes[0]),
        TOP - 8.0,
        escaped(axes[1])
    );
    for (points, colour) in points.iter().zip(COLOURS) {
        for (x, y) in points.iter().map(|(x, y)| (x_of(x.log10()), y_of(y.log10()))) {
            let _ = writeln!(
                body,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.2\" fill=\"{colour}\" fill-opacity=\"0.7\"/>"
            );
        }
    }
    drawing(title, AXIS + SIDE + RIGHT, bottom + 34.0, &body)
}
