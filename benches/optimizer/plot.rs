//! Plans costed as bars: `docs/optimizer.svg`.

use super::{Measured, Searched, report};
use fuseline_passes::select::Enumeration;
use std::fmt::Write;

/// Pixels of a bar's height, of the names on the left, of the longest bar, and of the numbers behind bars.
const BAR: f64 = 9.0;
const LEFT: f64 = 120.0;
const LONGEST: f64 = 560.0;
const RIGHT: f64 = 80.0;

/// One for each kind of enumeration that costs plans.
const COLOURS: [&str; 4] = ["#9a9a9a", "#3b74b0", "#4a9440", "#c67a1e"];

/// Bars on a logarithmic scale, by algorithm and enumeration.
pub(crate) fn bars(measured: &[Measured]) -> String {
    let most = measured.iter().flat_map(|row| &row.searches).map(Searched::costed).fold(10.0, f64::max);
    let decade = LONGEST / most.log10();
    let mut body = legend();
    let mut y = 34.0;
    for row in measured {
        let _ = writeln!(body, "<text x=\"8\" y=\"{}\">{}</text>", y + 2.5 * BAR, row.workload.name);
        for (searched, colour) in row.searches.iter().zip(COLOURS) {
            let width = searched.costed().max(1.0).log10() * decade + 2.0;
            let _ = writeln!(
                body,
                "<rect x=\"{LEFT}\" y=\"{y}\" width=\"{width:.1}\" height=\"{}\" fill=\"{colour}\"/>\
                 <text x=\"{:.1}\" y=\"{}\">{}</text>",
                BAR - 1.0,
                LEFT + width + 4.0,
                y + BAR - 1.5,
                report::count(searched).replace('>', "&gt;")
            );
            y += BAR;
        }
        y += BAR;
    }
    let width = LEFT + LONGEST + RIGHT;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{y}\" viewBox=\"0 0 {width} {y}\">\n\
         <title>Plans costed by algorithm and enumeration, logarithmic</title>\n\
         <style>text{{font:9px sans-serif;fill:#222}}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{body}</svg>\n"
    )
}

fn legend() -> String {
    let mut text = String::new();
    for (place, (kind, colour)) in Enumeration::ALL.iter().zip(COLOURS).enumerate() {
        let x = LEFT + 90.0 * place as f64;
        let _ = writeln!(
            text,
            "<rect x=\"{x}\" y=\"8\" width=\"10\" height=\"10\" fill=\"{colour}\"/><text x=\"{}\" y=\"17\">{}</text>",
            x + 16.0,
            kind.mnemonic()
        );
    }
    text
}
