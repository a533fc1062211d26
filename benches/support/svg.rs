//! What plots as SVG have in common.

use std::fmt::Write;

/// Pixels above a plot, for its legend, and on its right, for the ends of texts.
pub(crate) const TOP: f64 = 34.0;
pub(crate) const RIGHT: f64 = 80.0;

/// One for each series.
pub(crate) const COLOURS: [&str; 7] = ["#9a9a9a", "#3b74b0", "#4a9440", "#c67a1e", "#8a4fa3", "#b03b4a", "#3a9a9a"];

/// The names of series beside their colours, in a row.
pub(crate) fn legend(left: f64, series: &[String]) -> String {
    let mut text = String::new();
    let mut x = left;
    for (name, colour) in series.iter().zip(COLOURS) {
        let _ = writeln!(
            text,
            "<rect x=\"{x}\" y=\"8\" width=\"10\" height=\"10\" fill=\"{colour}\"/><text x=\"{}\" y=\"17\">{}</text>",
            x + 14.0,
            escaped(name)
        );
        x += 36.0 + 5.0 * name.chars().count() as f64;
    }
    text
}

/// A drawing of this size, in pixels.
pub(crate) fn drawing(title: &str, width: f64, height: f64, body: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
         <title>{}</title>\n\
         <style>text{{font:9px sans-serif;fill:#222}}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{body}</svg>\n",
        escaped(title)
    )
}

/// Text between tags.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
