//! The memo table of partial fusion plans (section 3.1).
//!
//! One group per operator that is amenable to fusion, keyed by operator id; each group holds the operator's valid
//! partial plans. A reference from an entry to a group means that the two operators are fused, and implies that the
//! group holds at least one compatible plan; `-1` means that the input is materialised.

use crate::hop::{HopDag, HopId};
use std::collections::BTreeMap;
use std::fmt;

pub use crate::template::TemplateType;

/// Whether a partial plan may be extended at its consumers, and whether it is a valid entry point as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CloseStatus {
    /// May be extended; a valid operator as it is.
    OpenValid,
    /// May be extended; not yet a valid operator (an Outer without a sparse driver, a lone transpose).
    OpenInvalid,
    /// Complete.
    ClosedValid,
    /// Neither; such entries are removed.
    ClosedInvalid,
}

impl CloseStatus {
    /// Whether consumers may extend the plan.
    pub fn is_open(self) -> bool {
        matches!(self, CloseStatus::OpenValid | CloseStatus::OpenInvalid)
    }

    /// Whether the plan may be the top of a fused operator.
    pub fn is_valid(self) -> bool {
        matches!(self, CloseStatus::OpenValid | CloseStatus::ClosedValid)
    }
}

/// The largest number of inputs that an entry may refer to.
pub const MAX_REFERENCES: usize = 3;

/// A partial fusion plan of one operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MemoEntry {
    /// The template.
    pub ttype: TemplateType,
    /// By input position: the group fused there, or `None` for a materialised input.
    pub inputs: [Option<HopId>; MAX_REFERENCES],
    /// How many positions count (the operator's inputs, at most [`MAX_REFERENCES`]; indexing counts its matrix alone).
    pub arity: u8,
    /// The close status.
    pub close: CloseStatus,
}

impl MemoEntry {
    /// The fused groups, in input order.
    pub fn references(&self) -> impl Iterator<Item = HopId> + '_ {
        self.inputs.iter().flatten().copied()
    }

    /// Whether any input is fused.
    pub fn has_references(&self) -> bool {
        self.inputs.iter().any(Option::is_some)
    }

    /// Whether the input at this position is fused.
    pub fn is_fused(&self, position: usize) -> bool {
        self.inputs.get(position).is_some_and(Option::is_some)
    }
}

/// The paper's notation: `R(-1,9)`.
impl fmt::Display for MemoEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.ttype.letter())?;
        for position in 0..usize::from(self.arity) {
            if position > 0 {
                f.write_str(",")?;
            }
            match self.inputs[position] {
                Some(group) => write!(f, "{}", group.as_u32())?,
                None => f.write_str("-1")?,
            }
        }
        f.write_str(")")
    }
}

/// The memo table: groups of partial fusion plans.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoTable {
    groups: BTreeMap<HopId, Vec<MemoEntry>>,
}

impl MemoTable {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// The partial plans of an operator; empty where it has no group.
    pub fn entries(&self, group: HopId) -> &[MemoEntry] {
        self.groups.get(&group).map_or(&[], Vec::as_slice)
    }

    /// Whether the operator has a group.
    pub fn contains(&self, group: HopId) -> bool {
        self.groups.contains_key(&group)
    }

    /// Adds an entry unless the group holds it already.
    pub fn insert(&mut self, group: HopId, entry: MemoEntry) {
        let entries = self.groups.entry(group).or_default();
        if !entries.contains(&entry) {
            entries.push(entry);
        }
    }

    /// Keeps the entries of a group for which the predicate holds, and removes a group that becomes empty.
    pub fn retain(&mut self, group: HopId, predicate: impl FnMut(&MemoEntry) -> bool) {
        if let Some(entries) = self.groups.get_mut(&group) {
            entries.retain(predicate);
            if entries.is_empty() {
                self.groups.remove(&group);
            }
        }
    }

    /// The entries of a group, to be changed in place.
    pub fn entries_mut(&mut self, group: HopId) -> &mut [MemoEntry] {
        self.groups.get_mut(&group).map_or(&mut [], Vec::as_mut_slice)
    }

    /// The groups, in ascending order.
    pub fn groups(&self) -> impl Iterator<Item = (HopId, &[MemoEntry])> {
        self.groups.iter().map(|(&group, entries)| (group, entries.as_slice()))
    }

    /// The distinct templates of a group's entries, in order of appearance.
    pub fn templates(&self, group: HopId) -> Vec<TemplateType> {
        let mut templates = Vec::new();
        for entry in self.entries(group) {
            if !templates.contains(&entry.ttype) {
                templates.push(entry.ttype);
            }
        }
        templates
    }

    /// The table as text, in the paper's notation, entries in a fixed order.
    pub fn display(&self, dag: &HopDag) -> String {
        let mut text = String::new();
        let mut rows: Vec<(String, String, String)> = Vec::new();
        for (group, entries) in self.groups() {
            let mut sorted: Vec<&MemoEntry> = entries.iter().collect();
            sorted.sort_by_key(|entry| {
                (entry.ttype, entry.inputs.map(|input| input.map_or(-1, |id| i64::from(id.as_u32()))))
            });
            let plans: Vec<String> = sorted.iter().map(ToString::to_string).collect();
            rows.push((group.as_u32().to_string(), dag[group].op.label(), plans.join(" ")));
        }
        let widths = rows.iter().fold((0, 0), |(id, label), row| (id.max(row.0.len()), label.max(row.1.len())));
        for (id, label, plans) in rows {
            text.push_str(&format!("{id:>w0$} {label:<w1$}  {plans}\n", w0 = widths.0, w1 = widths.1));
        }
        text
    }
}
