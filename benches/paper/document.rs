//! A report as Markdown, with its plots beside it, and as one HTML page that holds them.

use crate::svg::escaped;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt::Write;
use std::path::Path;

/// A piece of a report.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) enum Part {
    Heading(String),
    Text(String),
    Table { header: Vec<String>, rows: Vec<Vec<String>> },
    Plot { name: Cow<'static, str>, title: String, svg: String },
}

impl Part {
    pub(crate) fn heading(text: &str) -> Part {
        Part::Heading(text.to_owned())
    }

    /// A paragraph; line breaks in it are spaces.
    pub(crate) fn text(text: impl Into<String>) -> Part {
        Part::Text(text.into())
    }

    pub(crate) fn table(header: &[&str], rows: Vec<Vec<String>>) -> Part {
        Part::Table { header: header.iter().map(|name| (*name).to_owned()).collect(), rows }
    }
}

/// Writes `benchmarks.md`, `benchmarks.html`, and the plots into a folder `benchmarks` beside them.
///
/// # Errors
/// A file cannot be written.
pub(crate) fn write(folder: &Path, title: &str, parts: &[Part]) -> std::io::Result<()> {
    let plots = folder.join("benchmarks");
    std::fs::create_dir_all(&plots)?;
    for part in parts {
        if let Part::Plot { name, svg, .. } = part {
            std::fs::write(plots.join(format!("{name}.svg")), svg)?;
        }
    }
    std::fs::write(folder.join("benchmarks.md"), markdown(title, parts))?;
    std::fs::write(folder.join("benchmarks.html"), html(title, parts))
}

/// A line of a table.
fn line(cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|").replace('*', "\\*")).collect();
    format!("| {} |\n", cells.join(" | "))
}

pub(crate) fn markdown(title: &str, parts: &[Part]) -> String {
    let mut text = format!("# {title}\n");
    for part in parts {
        let _ = match part {
            Part::Heading(heading) => writeln!(text, "\n## {heading}"),
            Part::Text(paragraph) => writeln!(text, "\n{paragraph}"),
            Part::Plot { name, title, .. } => writeln!(text, "\n![{title}](benchmarks/{name}.svg)"),
            Part::Table { header, rows } => {
                let lines: String = rows.iter().map(|row| line(row)).collect();
                writeln!(text, "\n{}{}{}", line(header), "|---".repeat(header.len()) + "|\n", lines.trim_end())
            }
        };
    }
    text
}

const STYLE: &str = "body{font:15px/1.5 sans-serif;color:#222;max-width:1100px;margin:2em auto;padding:0 1em}\
table{border-collapse:collapse;font-size:13px}td,th{border:1px solid #ccc;padding:2px 8px;text-align:left}\
th{background:#f2f2f2}svg{max-width:100%;height:auto}";

fn html(title: &str, parts: &[Part]) -> String {
    let mut body = format!("<h1>{}</h1>\n", escaped(title));
    for part in parts {
        let _ = match part {
            Part::Heading(heading) => writeln!(body, "<h2>{}</h2>", escaped(heading)),
            Part::Text(paragraph) => writeln!(body, "<p>{}</p>", with_code(paragraph)),
            Part::Plot { svg, .. } => writeln!(body, "{svg}"),
            Part::Table { header, rows } => {
                let line = |cells: &[String], tag: &str| {
                    let cells = cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell)));
                    format!("<tr>{}</tr>\n", cells.collect::<String>())
                };
                let lines: String = rows.iter().map(|row| line(row, "td")).collect();
                writeln!(body, "<table>\n{}{lines}</table>", line(header, "th"))
            }
        };
    }
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{}</title>\
         <style>{STYLE}</style></head>\n<body>\n{body}</body></html>\n",
        escaped(title)
    )
}

/// Text with code between backticks and names of columns between asterisks.
fn with_code(text: &str) -> String {
    let mut marked = String::new();
    for (place, piece) in escaped(text).split('`').enumerate() {
        let _ = match place % 2 {
            1 => write!(marked, "<code>{piece}</code>"),
            _ => write!(marked, "{}", emphasised(piece)),
        };
    }
    marked
}

fn emphasised(text: &str) -> String {
    let pieces = text.split('*').enumerate();
    pieces.map(|(place, piece)| if place % 2 == 1 { format!("<em>{piece}</em>") } else { piece.to_owned() }).collect()
}

/// Seconds in the unit that suits them.
pub(crate) fn time(seconds: f64) -> String {
    match seconds {
        seconds if seconds >= 1.0 => format!("{seconds:.2} s"),
        seconds if seconds >= 1e-3 => format!("{} ms", digits(seconds * 1e3)),
        seconds => format!("{} us", digits(seconds * 1e6)),
    }
}

/// Three digits.
pub(crate) fn digits(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}
