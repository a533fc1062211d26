//! Entities by the numbers that a text gives them.

use super::{Cursor, ParseError};
use std::collections::HashMap;

/// What a text has defined so far. Numbers need not be consecutive: printers renumber.
///
/// An entity whose definition had errors stays known, so that its users add no errors of their own.
#[derive(Debug)]
pub(crate) struct Ids<T> {
    prefix: &'static str,
    noun: &'static str,
    defined: HashMap<u32, Option<T>>,
}

impl<T: Copy> Ids<T> {
    /// No entities; texts write them as the prefix and a number.
    pub(crate) fn new(prefix: &'static str, noun: &'static str) -> Self {
        Ids { prefix, noun, defined: HashMap::new() }
    }

    /// Reads the entity on the left of a definition; it stands for nothing until [`Ids::define`].
    pub(crate) fn declare(&mut self, cursor: &mut Cursor<'_>) -> Result<u32, ParseError> {
        let number = cursor.entity(self.prefix, self.noun)?;
        if self.defined.contains_key(&number) {
            return Err(cursor.error(format!("{}{number} is defined twice", self.prefix)));
        }
        self.defined.insert(number, None);
        Ok(number)
    }

    /// Says what a declared entity is.
    pub(crate) fn define(&mut self, number: u32, value: T) {
        self.defined.insert(number, Some(value));
    }

    /// Reads a reference to an entity; `None` where its definition had errors.
    pub(crate) fn reference(&self, cursor: &mut Cursor<'_>) -> Result<Option<T>, ParseError> {
        let number = cursor.entity(self.prefix, self.noun)?;
        let defined = self.defined.get(&number).copied();
        defined.ok_or_else(|| cursor.error(format!("{}{number} is not defined before its use", self.prefix)))
    }
}
