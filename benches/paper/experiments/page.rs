//! The page: a verdict on every claim, then what the experiments measured.

use super::claims::{CLAIMS, says};
use super::judge::{Finding, Verdict, judge};
use crate::document::Part;

const NO_TEXT: &str = "docs/paper.md does not say";

pub(super) fn parts(findings: &[Finding], sections: Vec<Part>) -> Vec<Part> {
    let judgements: Vec<_> = CLAIMS.iter().map(|claim| (claim, judge(claim, findings))).collect();
    let count = |is: fn(&Verdict) -> bool| judgements.iter().filter(|(_, judgement)| is(&judgement.verdict)).count();
    let rows = judgements.iter().map(|(claim, judgement)| {
        vec![
            claim.item.to_owned(),
            says(claim.item).unwrap_or(NO_TEXT).to_owned(),
            judgement.asked.clone(),
            judgement.measured.clone(),
            judgement.verdict.text(),
        ]
    });
    let introduction = vec![
        Part::text(
            "What the paper's evaluation (its section 5) claims, claim by claim, and whether it holds here. Verdicts are \
             computed from what is measured and what is asked (`benches/paper/experiments/claims.rs`), by \
             `benches/paper/experiments/judge.rs`: where several rows are measured, the worst decides. *Open* is what was \
             not measured at this scale, *missing* what Fuseline does not have; what *cannot hold* is beyond what a loop \
             written by hand, or the rates of the machine, would give, which is stated. Speeds and times of two ways are compared \
             within rounds in which all ways run in turn, and ratios are medians of these; the page `docs/benchmarks.md` \
             has what is measured beside the paper. Sections say which command made them, of which sources, and where.",
        ),
        Part::text(format!(
            "Of {} claims {} hold, {} cannot here, {} do not, {} are missing parts, {} are open.",
            CLAIMS.len(),
            count(|verdict| *verdict == Verdict::Holds),
            count(|verdict| matches!(verdict, Verdict::OutOfReach(_))),
            count(|verdict| matches!(verdict, Verdict::DoesNotHold(_))),
            count(|verdict| matches!(verdict, Verdict::Missing(_))),
            count(|verdict| matches!(verdict, Verdict::Open(_))),
        )),
        Part::heading("Verdicts"),
        Part::table(&["item", "claim", "asked", "measured", "verdict"], rows.collect()),
    ];
    introduction.into_iter().chain(sections).collect()
}
