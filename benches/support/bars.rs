//! Grouped horizontal bars as SVG.

use crate::svg::{COLOURS, RIGHT, TOP, drawing, escaped, legend};
use std::fmt::Write;

/// Pixels of a bar's height, and of the longest bar.
const BAR: f64 = 9.0;
const LONGEST: f64 = 560.0;

/// A bar with the text behind it.
pub(crate) struct Bar {
    pub(crate) length: f64,
    pub(crate) label: String,
}

/// Bars of one name, one for each series that has one.
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) bars: Vec<Option<Bar>>,
}

/// Horizontal bars; lengths are in units of the longest.
pub(crate) fn plot(title: &str, series: &[String], groups: &[Group]) -> String {
    let left = 16.0 + 5.0 * groups.iter().map(|group| group.name.chars().count()).max().unwrap_or(0) as f64;
    let longest = groups.iter().flat_map(|group| group.bars.iter().flatten()).map(|bar| bar.length).fold(0.0, f64::max);
    let mut body = legend(left, series);
    let mut y = TOP;
    for group in groups {
        let middle = y + (group.bars.len() as f64 + 0.7) * BAR / 2.0;
        let _ = writeln!(body, "<text x=\"8\" y=\"{middle:.1}\">{}</text>", escaped(&group.name));
        for (bar, colour) in group.bars.iter().zip(COLOURS) {
            if let Some(bar) = bar {
                let width = bar.length / longest * LONGEST + 2.0;
                let _ = writeln!(
                    body,
                    "<rect x=\"{left}\" y=\"{y}\" width=\"{width:.1}\" height=\"{}\" fill=\"{colour}\"/>\
                     <text x=\"{:.1}\" y=\"{}\">{}</text>",
                    BAR - 1.0,
                    left + width + 4.0,
                    y + BAR - 1.5,
                    escaped(&bar.label)
                );
            }
            y += BAR;
        }
        y += BAR;
    }
    drawing(title, left + LONGEST + RIGHT, y, &body)
}
