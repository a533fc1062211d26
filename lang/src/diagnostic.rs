//! Messages about a script: where, what is wrong, what was found there, and how to mend it.

use ariadne::{Config, IndexType, Label, Report, ReportKind};
use fuseline_ir::hop::Span;
use fuseline_ir::program::Source;
use std::fmt;
use std::ops::Range;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The script cannot be compiled or run.
    Error,
    /// The script is likely not meant as it is written.
    Warning,
}

/// An error in a script, or a warning about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Where.
    pub span: Span,
    /// What is wrong, in one sentence without a full stop.
    pub message: String,
    /// Remarks at places of the text; the first is usually at `span`.
    pub labels: Vec<(Span, String)>,
    /// How to mend it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error at a place.
    pub fn new(span: Span, message: impl Into<String>) -> Self {
        Diagnostic { severity: Severity::Error, span, message: message.into(), labels: Vec::new(), help: None }
    }

    /// A warning at a place.
    pub fn warning(span: Span, message: impl Into<String>) -> Self {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::new(span, message) }
    }

    /// Adds a remark at the place of the error.
    #[must_use]
    pub fn here(self, remark: impl Into<String>) -> Self {
        let span = self.span;
        self.label(span, remark)
    }

    /// Adds a remark at another place.
    #[must_use]
    pub fn label(mut self, span: Span, remark: impl Into<String>) -> Self {
        self.labels.push((span, remark.into()));
        self
    }

    /// Says how to mend the error.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Says how to mend the error, when that is known.
    #[must_use]
    pub fn maybe_help(mut self, help: Option<String>) -> Self {
        self.help = help.or(self.help);
        self
    }

    /// The message with the lines of text it is about, as `file:line:column` and a caret.
    ///
    /// `sources` are those that spans index; a span outside of them prints the message alone.
    pub fn render(&self, sources: &[Source], color: bool) -> String {
        let in_range =
            |span: &Span| sources.get(span.source as usize).is_some_and(|s| span.end as usize <= s.text.len());
        if !in_range(&self.span) || !self.labels.iter().all(|(span, _)| in_range(span)) {
            return format!("{}: {}\n", self.severity.word(), self.message);
        }
        let place = |span: Span| (sources[span.source as usize].name.clone(), range(span));
        let config = Config::default().with_color(color).with_index_type(IndexType::Byte);
        let mut report =
            Report::build(self.severity.kind(), place(self.span)).with_config(config).with_message(&self.message);
        // In the order of the text, the file of the error first: the renderer groups neighbours.
        let mut labels: Vec<(Span, &str)> = self.labels.iter().map(|(span, remark)| (*span, remark.as_str())).collect();
        if labels.is_empty() {
            labels.push((self.span, "here"));
        }
        labels.sort_by_key(|(span, _)| (span.source != self.span.source, span.source, span.start));
        for (span, remark) in labels {
            report = report.with_label(Label::new(place(span)).with_message(remark));
        }
        if let Some(help) = &self.help {
            report = report.with_help(help);
        }
        let texts = sources.iter().map(|source| (source.name.clone(), source.text.to_string()));
        let mut buffer = Vec::new();
        match report.finish().write(ariadne::sources(texts), &mut buffer) {
            Ok(()) => trim_lines(&String::from_utf8_lossy(&buffer)),
            Err(_) => format!("{}: {}\n", self.severity.word(), self.message),
        }
    }
}

impl Severity {
    fn kind(self) -> ReportKind<'static> {
        match self {
            Severity::Error => ReportKind::Error,
            Severity::Warning => ReportKind::Warning,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Severity::Error => "Error",
            Severity::Warning => "Warning",
        }
    }
}

fn range(span: Span) -> Range<usize> {
    span.start as usize..span.end as usize
}

/// Without the blanks at the ends of lines that the renderer leaves.
fn trim_lines(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The errors or the warnings of a script and of the files that it sources, with their texts.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    /// The texts that spans refer to.
    pub sources: Vec<Source>,
    /// The errors, in the order of their discovery.
    pub errors: Vec<Diagnostic>,
}

impl Diagnostics {
    /// All messages, one after the other.
    pub fn render(&self, color: bool) -> String {
        self.errors.iter().map(|error| error.render(&self.sources, color)).collect()
    }

    /// Line and column of the start of a span, both 1-based, columns in characters.
    fn position(&self, span: Span) -> Option<(&str, usize, usize)> {
        let source = self.sources.get(span.source as usize)?;
        let before = source.text.get(..span.start as usize)?;
        let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
        Some((&source.name, before.matches('\n').count() + 1, column))
    }
}

/// One line per error: `file:line:column: message`.
impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, error) in self.errors.iter().enumerate() {
            if number > 0 {
                f.write_str("\n")?;
            }
            if let Some((name, line, column)) = self.position(error.span) {
                write!(f, "{name}:{line}:{column}: ")?;
            }
            f.write_str(&error.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}
