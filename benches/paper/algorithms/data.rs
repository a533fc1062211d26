//! Where the data of an algorithm comes from.

use crate::workload::Data;
use fuseline::generate::Specification;

/// What gives `X` and its labels `Y`.
pub(crate) enum Source {
    /// A script that assigns both.
    Script(String),
    /// Data like that of the paper; a script that takes `Y` may assign other labels.
    LookAlike(Specification, &'static str),
}

impl Source {
    pub(crate) fn generate(&self) -> Data {
        match self {
            Source::Script(script) => Data::generate(script),
            Source::LookAlike(specification, labels) => Data::look_alike(specification, labels),
        }
    }
}
