//! Plans that are kept for other processes, beside their machine code: what the optimizer decides of the blocks of a
//! program (section 2.1), and what the rewrites that need no sizes make of its DAGs.
//!
//! An entry's key is all that the decision follows from: the DAGs with their sizes, the optimizer environment, the
//! sketches of sparse inputs, and the sources of the optimizer. It tells more than the comparison within a process,
//! which takes numbers of non-zeros by their magnitude: what is found is what would be decided anew. What is not read
//! back as it was, and plans that a backend refused, are not kept.

#[cfg(test)]
mod tests;

use crate::code_folder::{CodeFolder, Kind};
use crate::compiled_dag::{CompiledDag, Decided};
use crate::engine::Engine;
use crate::kept_dag::Places;
use fuseline_ir::cplan::{self, VerifiedCPlan};
use fuseline_ir::hop::{HopDag, HopOp, OperatorId};
use fuseline_passes::cost::{Prediction, Predictions};
use fuseline_passes::rewrite::{RewriteOptions, simplify};
use fuseline_passes::sketch::{Counts, InputSketches, Sketch};
use std::fmt::Write;

/// What decides plans besides what a key says of its DAGs: our sources.
const SOURCES: &str = concat!(env!("CARGO_PKG_VERSION"), " ", env!("FUSELINE_SOURCES"));

/// Where the plan of a block is kept, if it is.
pub(crate) struct KeptPlan<'a> {
    folder: &'a CodeFolder,
    places: Places,
    key: String,
}

/// The plan of a block.
#[derive(Debug)]
pub(crate) struct BlockPlan {
    /// The DAG with fused operators, each numbered by its plan.
    pub(crate) dag: HopDag,
    /// The plans of fused operators.
    pub(crate) cplans: Vec<VerifiedCPlan>,
    pub(crate) predictions: Predictions,
    pub(crate) decided: Decided,
}

impl<'a> KeptPlan<'a> {
    /// The place of the plan for a DAG with sizes; none where there is no folder.
    pub(crate) fn of(engine: &'a Engine, sized: &HopDag, sketches: &InputSketches) -> Option<Self> {
        let folder = engine.options.code_folder.as_deref()?;
        let places = Places::of([sized]);
        let mut key = format!("plan {SOURCES}\nenvironment {}\n", engine.fingerprint.to_hex());
        for (name, sketch) in sketches {
            writeln!(key, "sketch {name:?} {}", hash(sketch)).expect("strings take writes");
        }
        key.push_str(&places.write(sized)?);
        Some(KeptPlan { folder, places, key })
    }

    /// The plan that another process kept.
    pub(crate) fn find(&self) -> Option<BlockPlan> {
        let entry = self.folder.find(Kind::Plan, &self.key)?;
        let plan = std::str::from_utf8(&entry).ok().and_then(|text| BlockPlan::read(text, &self.places));
        if plan.is_none() {
            self.folder.note_damage();
        }
        plan
    }

    /// Keeps a compiled block, whose operators have these plans.
    pub(crate) fn keep(&self, compiled: &CompiledDag, cplans: Vec<VerifiedCPlan>) {
        if compiled.decided.rejected > 0 || !self.folder.may_keep_plan() {
            return;
        }
        let number = |operator| compiled.operators.iter().position(|&known| known == operator);
        let Some(dag) = renumbered(&compiled.dag, |operator| Some(OperatorId::from_u32(number(operator)? as u32)))
        else {
            return;
        };
        let (predictions, decided) = (compiled.predictions.clone(), compiled.decided);
        if let Some(text) = (BlockPlan { dag, cplans, predictions, decided }).write(&self.places) {
            self.folder.keep(Kind::Plan, &self.key, text.as_bytes());
        }
    }
}

impl BlockPlan {
    /// The block, whose plans have become these operators.
    pub(crate) fn compiled(self, operators: Vec<OperatorId>) -> Option<CompiledDag> {
        let dag = renumbered(&self.dag, |number| operators.get(number.as_u32() as usize).copied())?;
        Some(CompiledDag::new(dag, self.predictions, operators, self.decided))
    }

    /// The text form, if it reads back as it is: what was decided, the seconds of each operator, the DAG, the plans.
    fn write(&self, places: &Places) -> Option<String> {
        let Decided { is_searched, partitions, optimal, gap, rejected: _ } = self.decided;
        let mut text = format!("decided {is_searched} {partitions} {optimal} {}\nseconds", optional(gap));
        for hop in self.dag.hops.keys() {
            text.push(' ');
            text.push_str(&predicted(self.predictions[hop]));
        }
        text.push('\n');
        text.push_str(&places.write_to_be_read(&self.dag)?);
        for cplan in &self.cplans {
            writeln!(text, "{cplan}").expect("strings take writes");
        }
        let read = BlockPlan::read(&text, places)?;
        let is_same = read.cplans == self.cplans
            && read.decided == self.decided
            && self.dag.hops.keys().all(|hop| read.predictions[hop] == self.predictions[hop]);
        is_same.then_some(text)
    }

    /// A plan that keeps all rules, from its text form.
    fn read(text: &str, places: &Places) -> Option<Self> {
        let (decided, rest) = text.strip_prefix("decided ")?.split_once('\n')?;
        let (seconds, rest) = rest.strip_prefix("seconds")?.split_once('\n')?;
        let (dag, cplans) = places.read(rest)?;
        let cplans = cplan::parse_all(cplans).ok()?;
        let cplans: Vec<VerifiedCPlan> = cplans.into_iter().map(|plan| plan.verify().ok()).collect::<Option<_>>()?;
        let is_bound = dag.hops.values().all(|hop| match hop.op {
            HopOp::SpoofOp { operator, template } => cplans
                .get(operator.as_u32() as usize)
                .is_some_and(|cplan| cplan.template() == template && cplan.inputs.len() == hop.inputs.len()),
            _ => true,
        });
        let mut predictions = Predictions::new();
        let mut seconds = seconds.split_ascii_whitespace();
        for hop in dag.hops.keys() {
            predictions[hop] = read_predicted(seconds.next()?)?;
        }
        let decided = read_decided(decided)?;
        (is_bound && seconds.next().is_none()).then_some(BlockPlan { dag, cplans, predictions, decided })
    }
}

fn read_decided(text: &str) -> Option<Decided> {
    let [is_searched, partitions, optimal, gap] = text.split(' ').collect::<Vec<_>>()[..] else { return None };
    Some(Decided {
        is_searched: is_searched.parse().ok()?,
        partitions: partitions.parse().ok()?,
        optimal: optimal.parse().ok()?,
        gap: read_optional(gap)?,
        rejected: 0,
    })
}

/// A number that reads back as it is.
fn optional(number: Option<f64>) -> String {
    number.map_or_else(|| "-".to_owned(), |number| format!("{number:?}"))
}

fn read_optional(word: &str) -> Option<Option<f64>> {
    if word == "-" { Some(None) } else { word.parse().ok().map(Some) }
}

/// What is expected of an operator: with all threads, and of one.
fn predicted(prediction: Option<Prediction>) -> String {
    prediction.map_or_else(|| optional(None), |Prediction { seconds, alone }| format!("{seconds:?}/{alone:?}"))
}

fn read_predicted(word: &str) -> Option<Option<Prediction>> {
    let Some((seconds, alone)) = word.split_once('/') else {
        return read_optional(word)?.is_none().then_some(None);
    };
    Some(Some(Prediction { seconds: seconds.parse().ok()?, alone: alone.parse().ok()? }))
}

/// A DAG with other numbers of its generated operators, if all of them have one.
fn renumbered(dag: &HopDag, mut number: impl FnMut(OperatorId) -> Option<OperatorId>) -> Option<HopDag> {
    let mut dag = dag.clone();
    for hop in dag.hops.values_mut() {
        if let HopOp::SpoofOp { operator, .. } = &mut hop.op {
            *operator = number(*operator)?;
        }
    }
    Some(dag)
}

/// Counts of a sketch that are hashed at a time.
const HASHED_TOGETHER: usize = 1 << 12;

/// A hash of all that a sketch says.
fn hash(sketch: &Sketch) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&[u8::from(sketch.is_exact())]);
    for counts in [sketch.rows(), sketch.cols()] {
        match counts {
            Counts::Uniform { length, count } => {
                hasher.update(b"uniform").update(&(*length as u64).to_le_bytes()).update(&count.to_le_bytes());
            }
            Counts::Each(counts) => {
                hasher.update(b"each").update(&(counts.len() as u64).to_le_bytes());
                // Many at a time: hashes of few bytes each take long.
                for counts in counts.chunks(HASHED_TOGETHER) {
                    let bytes: Vec<u8> = counts.iter().flat_map(|count| count.to_le_bytes()).collect();
                    hasher.update(&bytes);
                }
            }
        }
    }
    hasher.finalize()
}

/// Simplifies the DAGs of a program by the rewrites that need no sizes, or finds what they become.
pub fn simplify_dags(engine: &Engine, dags: &mut [HopDag], rewrites: &RewriteOptions) {
    let kept = engine.options.code_folder.as_deref().and_then(|folder| KeptSimplification::of(folder, dags, rewrites));
    if let Some(simplified) = kept.as_ref().and_then(|kept| kept.find(dags.len())) {
        dags.iter_mut().zip(simplified).for_each(|(dag, simplified)| *dag = simplified);
        return;
    }
    dags.iter_mut().for_each(|dag| *dag = simplify(dag, rewrites));
    if let Some(kept) = kept {
        kept.keep(dags);
    }
}

/// Where the simplified DAGs of a program are kept, if they are: all in one entry.
struct KeptSimplification<'a> {
    folder: &'a CodeFolder,
    places: Places,
    key: String,
}

impl<'a> KeptSimplification<'a> {
    fn of(folder: &'a CodeFolder, dags: &[HopDag], rewrites: &RewriteOptions) -> Option<Self> {
        let places = Places::of(dags);
        let rewrites = serde_json::to_string(rewrites).expect("options are numbers and names");
        let mut key = format!("simplified {SOURCES}\nrewrites {rewrites}\n");
        for dag in dags {
            key.push_str(&places.write(dag)?);
        }
        Some(KeptSimplification { folder, places, key })
    }

    fn find(&self, count: usize) -> Option<Vec<HopDag>> {
        let entry = self.folder.find(Kind::Plan, &self.key)?;
        let dags = std::str::from_utf8(&entry).ok().and_then(|text| self.read(text, count));
        if dags.is_none() {
            self.folder.note_damage();
        }
        dags
    }

    fn read(&self, mut text: &str, count: usize) -> Option<Vec<HopDag>> {
        let mut dags = Vec::new();
        while !text.is_empty() {
            let (dag, rest) = self.places.read(text)?;
            dags.push(dag);
            text = rest;
        }
        (dags.len() == count).then_some(dags)
    }

    fn keep(&self, simplified: &[HopDag]) {
        if let Some(text) = simplified.iter().map(|dag| self.places.write_to_be_read(dag)).collect::<Option<String>>() {
            self.folder.keep(Kind::Plan, &self.key, text.as_bytes());
        }
    }
}
