//! What the verifiers of all levels report: everything that is wrong with a structure, not the first thing alone.

use std::fmt;

/// A broken rule of an intermediate representation, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifierError {
    /// The entity, as the text form prints it: `%3`, `in1`, `output 0`, `function f`.
    pub entity: String,
    /// The rule and how it is broken.
    pub message: String,
}

impl fmt::Display for VerifierError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.entity, self.message)
    }
}

/// Everything that is wrong with a structure: always a bug of ours, or of one that was built by hand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifierErrors(Vec<VerifierError>);

impl VerifierErrors {
    /// Records an error.
    pub(crate) fn push(&mut self, entity: impl fmt::Display, message: impl Into<String>) {
        self.0.push(VerifierError { entity: entity.to_string(), message: message.into() });
    }

    /// Records an error unless the rule holds.
    pub(crate) fn check(&mut self, holds: bool, entity: impl fmt::Display, message: impl Into<String>) {
        if !holds {
            self.push(entity, message);
        }
    }

    /// Records the error of a check.
    pub(crate) fn check_result(&mut self, result: Result<(), impl fmt::Display>, entity: impl fmt::Display) {
        if let Err(error) = result {
            self.push(entity, error.to_string());
        }
    }

    /// Records the errors of a part, with the part's name in front of their entities.
    pub(crate) fn extend_from(&mut self, part: impl fmt::Display, errors: VerifierErrors) {
        for error in errors.0 {
            self.push(format_args!("{part}, {}", error.entity), error.message);
        }
    }

    /// `value` if nothing was recorded, the errors otherwise.
    pub(crate) fn finish<T>(self, value: T) -> Result<T, VerifierErrors> {
        if self.0.is_empty() { Ok(value) } else { Err(self) }
    }

    /// The errors, in the order of the text form.
    pub fn errors(&self) -> &[VerifierError] {
        &self.0
    }
}

/// One error per line.
impl fmt::Display for VerifierErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, error) in self.0.iter().enumerate() {
            if position > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for VerifierErrors {}
