//! The memo table of partial fusion plans (section 3.1).
//!
//! One group per operator that is amenable to fusion, keyed by operator id; each group holds the operator's valid
//! partial plans. A reference from an entry to a group means that the two operators are fused, and implies that the
//! group holds at least one compatible plan; `-1` means that the input is materialised.

use crate::hop::{HopDag, HopId};
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;

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

/// The largest number of operands that plans decide about: an operator has up to `2^6` plans of a template. The operators of
/// the paper have three; sums, extremes and concatenations of many matrices have any number.
pub const MAX_REFERENCES: usize = 6;

/// Entries per operator that a table has room for at first: two templates, each with and without one fused input.
const ENTRIES_PER_OPERATOR: usize = 4;

/// A partial fusion plan of one operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemoEntry {
    /// The template.
    pub ttype: TemplateType,
    /// By operand that plans decide about: the group fused there, or none for a materialised one.
    pub inputs: [PackedOption<HopId>; MAX_REFERENCES],
    /// How many operands that are: the operator's inputs by position, of indexing its matrix alone; of more than
    /// [`MAX_REFERENCES`] inputs those that exploration chose.
    pub arity: u8,
    /// The close status.
    pub close: CloseStatus,
}

impl MemoEntry {
    /// The fused groups, in input order.
    pub fn references(&self) -> impl Iterator<Item = HopId> + '_ {
        self.inputs.iter().filter_map(|input| input.expand())
    }

    /// Whether any input is fused.
    pub fn has_references(&self) -> bool {
        self.inputs.iter().any(PackedOption::is_some)
    }

    /// Whether the input at this position is fused.
    pub fn is_fused(&self, position: usize) -> bool {
        self.inputs.get(position).is_some_and(PackedOption::is_some)
    }
}

/// Of entries of a template those with materialised operands come first.
impl Ord for MemoEntry {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |entry: &MemoEntry| (entry.ttype, entry.inputs.map(PackedOption::expand), entry.arity, entry.close);
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for MemoEntry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
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
            match self.inputs[position].expand() {
                Some(group) => write!(f, "{}", group.as_u32())?,
                None => f.write_str("-1")?,
            }
        }
        f.write_str(")")
    }
}

/// Where the entries of a group lie.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    first: u32,
    end: u32,
}

impl Span {
    fn range(self) -> Range<usize> {
        self.first as usize..self.end as usize
    }

    fn is_empty(self) -> bool {
        self.first == self.end
    }
}

/// The memo table: groups of partial fusion plans.
///
/// All entries lie in one vector, those of a group side by side: a table of any size takes a handful of allocations, and
/// so does its clone. What a group loses, or leaves behind when it grows after others did, stays unused.
#[derive(Clone, Debug, Default)]
pub struct MemoTable {
    entries: Vec<MemoEntry>,
    /// Empty where an operator has no group.
    groups: SecondaryMap<HopId, Span>,
    /// Operators to make room for with the first entry: most DAGs of scalars have none.
    operators: usize,
}

impl PartialEq for MemoTable {
    fn eq(&self, other: &Self) -> bool {
        self.groups().eq(other.groups())
    }
}

impl Eq for MemoTable {}

impl MemoTable {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty table that makes room for the groups of so many operators with its first entry.
    pub fn for_operators(operators: usize) -> Self {
        MemoTable { operators, ..Self::default() }
    }

    /// The partial plans of an operator; empty where it has no group.
    pub fn entries(&self, group: HopId) -> &[MemoEntry] {
        &self.entries[self.groups[group].range()]
    }

    /// Whether the operator has a group.
    pub fn contains(&self, group: HopId) -> bool {
        !self.groups[group].is_empty()
    }

    /// Adds an entry unless the group holds it already.
    pub fn insert(&mut self, group: HopId, entry: MemoEntry) {
        if self.entries(group).contains(&entry) {
            return;
        }
        if self.entries.capacity() == 0 {
            self.entries.reserve(self.operators * ENTRIES_PER_OPERATOR);
            self.groups = SecondaryMap::with_capacity(self.operators);
        }
        let span = self.groups[group];
        let first = if span.range().end == self.entries.len() && !span.is_empty() {
            span.range().start
        } else {
            let moved = self.entries.len();
            self.entries.extend_from_within(span.range());
            moved
        };
        self.entries.push(entry);
        self.groups[group] = Span { first: first as u32, end: self.entries.len() as u32 };
    }

    /// Keeps the entries of a group for which the predicate holds, and removes a group that becomes empty.
    pub fn retain(&mut self, group: HopId, mut predicate: impl FnMut(&MemoEntry) -> bool) {
        let all = self.groups[group].range();
        let mut end = all.start;
        for position in all.clone() {
            if predicate(&self.entries[position]) {
                self.entries.swap(end, position);
                end += 1;
            }
        }
        if end < all.end {
            self.groups[group].end = end as u32;
        }
    }

    /// The entries of a group, to be changed in place.
    pub fn entries_mut(&mut self, group: HopId) -> &mut [MemoEntry] {
        &mut self.entries[self.groups[group].range()]
    }

    /// The groups, in ascending order.
    pub fn groups(&self) -> impl Iterator<Item = (HopId, &[MemoEntry])> {
        let groups = self.groups.iter().filter(|(_, span)| !span.is_empty());
        groups.map(|(group, span)| (group, &self.entries[span.range()]))
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
                (entry.ttype, entry.inputs.map(|input| input.expand().map_or(-1, |id| i64::from(id.as_u32()))))
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
