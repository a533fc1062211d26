//! The memo table explained: the table in the paper's notation, where plans end, and what was pruned.

use super::text::labelled;
use crate::pipeline::Selection;
use crate::select::prepare;
use crate::template::TEMPLATES;
use fuseline_ir::hop::HopId;
use fuseline_ir::memo::{CloseStatus, MemoTable};

/// The memo table in the paper's notation, with what the notation leaves out: at which groups plans are complete, or
/// not yet operators, and which plans were pruned.
pub fn memo_text(selection: &Selection<'_>) -> String {
    let Selection { context, memo, options, .. } = *selection;
    let mut text = memo.display(context.dag);
    let mut section = |title: &str, items: Vec<String>| {
        if !items.is_empty() {
            text.push_str(&format!("{title}: {}\n", items.join(", ")));
        }
    };
    section("operators end at", with_status(selection, CloseStatus::ClosedValid));
    section("no operators by themselves at", with_status(selection, CloseStatus::OpenInvalid));
    section("pruned, since closed plans of one operator fuse nothing", closed_alone(selection));
    let searched = prepare(context, memo, options.policy);
    let title = format!("pruned for the policy {}, since other plans do as much", options.policy.mnemonic());
    section(&title, missing(memo, &searched));
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
    let is_closed = |status: CloseStatus| !status.is_open();
    let at = |id: HopId| {
        let templates = TEMPLATES.iter().filter(move |template| {
            context.is_live(id) && template.open(context, id) && is_closed(template.close(context, id))
        });
        templates.map(move |template| format!("{} ({})", labelled(context.dag, id.as_u32()), template.ttype()))
    };
    context.dag.hops.keys().flat_map(at).collect()
}

/// The entries that one table has and another lacks.
fn missing(memo: &MemoTable, searched: &MemoTable) -> Vec<String> {
    let lost = |(group, entries): (HopId, &[_])| {
        let lost: Vec<String> =
            entries.iter().filter(|entry| !searched.entries(group).contains(entry)).map(ToString::to_string).collect();
        (!lost.is_empty()).then(|| format!("{} {}", group.as_u32(), lost.join(" ")))
    };
    memo.groups().filter_map(lost).collect()
}
