//! The memo table explained: the table in the paper's notation, where plans end, and what was pruned.

use super::text::labelled;
use crate::pipeline::Selection;
use crate::select::prepare;
use crate::template::TEMPLATES;
use fuseline_ir::memo::{CloseStatus, MemoTable};

/// The memo table in the paper's notation, with what the notation leaves out: at which groups plans are complete, or
/// not yet operators, and which plans were pruned.
pub fn memo_text(selection: &Selection<'_>) -> String {
    let Selection { context, memo, options, .. } = *selection;
    let mut text = memo.display(context.dag);
    let pruned = format!("pruned for the policy {}, since other plans do as much", options.policy.mnemonic());
    let sections = [
        ("operators end at", with_status(selection, CloseStatus::ClosedValid)),
        ("no operators by themselves at", with_status(selection, CloseStatus::OpenInvalid)),
        ("pruned, since closed plans of one operator fuse nothing", closed_alone(selection)),
        (&pruned, missing(memo, &prepare(context, memo, options.policy))),
    ];
    for (title, items) in sections.into_iter().filter(|(_, items)| !items.is_empty()) {
        text.push_str(&format!("{title}: {}\n", items.join(", ")));
    }
    text
}

/// The groups with plans of this status, with their templates.
fn with_status(selection: &Selection<'_>, status: CloseStatus) -> Vec<String> {
    let mut items = Vec::new();
    for (group, entries) in selection.memo.groups() {
        for template in selection.memo.templates(group) {
            if entries.iter().any(|entry| entry.ttype == template && entry.close == status) {
                items.push(format!("{} ({template})", labelled(selection.context.dag, group.as_u32())));
            }
        }
    }
    items
}

/// The operators at which a template opens and closes at once.
fn closed_alone(selection: &Selection<'_>) -> Vec<String> {
    let context = selection.context;
    let mut items = Vec::new();
    for id in context.dag.hops.keys().filter(|&id| context.is_live(id)) {
        for template in TEMPLATES {
            if template.open(context, id) && !template.close(context, id).is_open() {
                items.push(format!("{} ({})", labelled(context.dag, id.as_u32()), template.ttype()));
            }
        }
    }
    items
}

/// The entries that one table has and another lacks.
fn missing(memo: &MemoTable, searched: &MemoTable) -> Vec<String> {
    let mut items = Vec::new();
    for (group, entries) in memo.groups() {
        let lost = entries.iter().filter(|entry| !searched.entries(group).contains(entry));
        let lost: Vec<String> = lost.map(ToString::to_string).collect();
        if !lost.is_empty() {
            items.push(format!("{} {}", group.as_u32(), lost.join(" ")));
        }
    }
    items
}
