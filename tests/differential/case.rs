//! Cases: a DAG with its inputs, and the shrinking of those that fail.

use fuseline_ir::hop::{HopDag, HopId, HopOp};
use fuseline_ir::{SizeInfo, Value};
use fuseline_matrix::{Csr, Dense, MatrixBlock};
use std::fmt;

/// Which values leaves hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stratum {
    /// Small integers, and operations that keep integers: all plans agree bit for bit.
    IntegerExact,
    /// Doubles around 1.
    Float,
    /// Doubles with NaN, infinities, zeros of either sign and subnormals among them.
    NonFinite,
}

impl Stratum {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Stratum::IntegerExact => "integers",
            Stratum::Float => "doubles",
            Stratum::NonFinite => "non-finite doubles",
        }
    }
}

/// A leaf of a DAG.
#[derive(Clone, Debug)]
pub(crate) enum Leaf {
    Matrix(MatrixBlock),
    Scalar(f64),
    Literal(f64),
}

impl Leaf {
    fn matrix(&self) -> Option<&MatrixBlock> {
        match self {
            Leaf::Matrix(block) => Some(block),
            Leaf::Scalar(_) | Leaf::Literal(_) => None,
        }
    }
}

/// The first rows and columns of a matrix, in its format.
fn cut_out(block: &MatrixBlock, rows: usize, cols: usize) -> MatrixBlock {
    let dense = block.to_dense();
    let part = Dense::from_fn(rows, cols, |i, j| dense.get(i, j));
    if block.is_sparse() { Csr::from_dense(&part).into() } else { part.into() }
}

/// An operator on earlier values: leaves first, then the results of earlier steps.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) op: HopOp,
    pub(crate) inputs: Vec<usize>,
}

/// A DAG with its inputs.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) stratum: Stratum,
    pub(crate) leaves: Vec<Leaf>,
    pub(crate) steps: Vec<Step>,
    pub(crate) outputs: Vec<usize>,
}

impl Case {
    /// The DAG; outputs are named `o0`, `o1`, ...; leaves `v0`, `v1`, ...
    pub(crate) fn dag(&self) -> Option<HopDag> {
        let mut dag = HopDag::new();
        let mut ids: Vec<HopId> = Vec::new();
        for (index, leaf) in self.leaves.iter().enumerate() {
            ids.push(match leaf {
                Leaf::Matrix(block) => {
                    let size = SizeInfo { nnz: Some(block.nnz() as u64), ..block.size() };
                    dag.read_matrix(&format!("v{index}"), size)
                }
                Leaf::Scalar(_) => dag.read_scalar(&format!("v{index}")),
                Leaf::Literal(value) => dag.literal(Value::F64(*value)),
            });
        }
        for step in &self.steps {
            let inputs: Vec<HopId> = step.inputs.iter().map(|&input| ids[input]).collect();
            ids.push(dag.add(step.op.clone(), &inputs, None).ok()?);
        }
        for (index, &output) in self.outputs.iter().enumerate() {
            dag.write(&format!("o{index}"), ids[output]);
        }
        Some(dag)
    }

    /// The matrix and scalar inputs by name.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = (String, &Leaf)> {
        let named = self.leaves.iter().enumerate().map(|(index, leaf)| (format!("v{index}"), leaf));
        named.filter(|(_, leaf)| !matches!(leaf, Leaf::Literal(_)))
    }

    /// The smallest case found that still fails.
    pub(crate) fn shrink(self, fails: &mut dyn FnMut(&Case) -> bool) -> Case {
        let mut case = self;
        loop {
            let smaller = case.reductions().into_iter().find(|candidate| candidate.dag().is_some() && fails(candidate));
            match smaller {
                Some(candidate) => case = candidate,
                None => return case.without_dead_leaves(),
            }
        }
    }

    /// Cases with one output less, an output moved to an operand, or an operator skipped.
    fn reductions(&self) -> Vec<Case> {
        let mut candidates = Vec::new();
        let with_outputs = |outputs: Vec<usize>| Case { outputs, ..self.clone() }.without_dead_steps();
        if self.outputs.len() > 1 {
            candidates.extend(self.outputs.iter().map(|&output| with_outputs(vec![output])));
        }
        for (position, &output) in self.outputs.iter().enumerate() {
            let Some(step) = output.checked_sub(self.leaves.len()) else { continue };
            for &input in &self.steps[step].inputs {
                let mut outputs = self.outputs.clone();
                outputs[position] = input;
                if input >= self.leaves.len() {
                    candidates.push(with_outputs(outputs));
                }
            }
        }
        for skipped in 0..self.steps.len() {
            for &replacement in &self.steps[skipped].inputs {
                let mut case = self.clone();
                let index = self.leaves.len() + skipped;
                for step in &mut case.steps[skipped + 1..] {
                    step.inputs.iter_mut().filter(|input| **input == index).for_each(|input| *input = replacement);
                }
                if !case.outputs.contains(&index) {
                    candidates.push(case.without_dead_steps());
                }
            }
        }
        candidates.retain(|case| case.steps.len() < self.steps.len() || case.outputs.len() < self.outputs.len());
        candidates.extend(self.smaller_matrices());
        candidates.extend(self.simpler_leaves());
        candidates
    }

    /// Cases where one extent is smaller in all leaves that have it.
    fn smaller_matrices(&self) -> Vec<Case> {
        let blocks = self.leaves.iter().filter_map(Leaf::matrix);
        let mut extents: Vec<usize> = blocks.flat_map(|block| [block.rows(), block.cols()]).collect();
        extents.sort_unstable();
        extents.dedup();
        let mut candidates = Vec::new();
        for extent in extents {
            let mut smaller = vec![1, 2, extent / 2, extent.saturating_sub(1)];
            smaller.retain(|&smaller| 0 < smaller && smaller < extent);
            smaller.dedup();
            for smaller in smaller {
                let cut = |size: usize| if size == extent { smaller } else { size };
                let leaves = self.leaves.iter().map(|leaf| match leaf {
                    Leaf::Matrix(block) => Leaf::Matrix(cut_out(block, cut(block.rows()), cut(block.cols()))),
                    Leaf::Literal(value) if *value == extent as f64 && extent > 2 => Leaf::Literal(smaller as f64),
                    leaf => leaf.clone(),
                });
                candidates.push(Case { leaves: leaves.collect(), ..self.clone() });
            }
        }
        candidates
    }

    /// Cases where one leaf holds ones in place of its values, or is dense.
    fn simpler_leaves(&self) -> Vec<Case> {
        let mut candidates = Vec::new();
        for (position, leaf) in self.leaves.iter().enumerate() {
            let Leaf::Matrix(block) = leaf else { continue };
            let dense = block.to_dense().into_owned();
            let mut replace = |block: MatrixBlock| {
                let mut case = self.clone();
                case.leaves[position] = Leaf::Matrix(block);
                candidates.push(case);
            };
            if block.is_sparse() {
                replace(dense.clone().into());
            }
            if dense.values().iter().any(|&value| value != 0.0 && value != 1.0) {
                let ones =
                    Dense::from_fn(dense.rows(), dense.cols(), |i, j| f64::from(u8::from(dense.get(i, j) != 0.0)));
                replace(if block.is_sparse() { Csr::from_dense(&ones).into() } else { ones.into() });
            }
        }
        candidates
    }

    /// Drops the leaves that nothing uses.
    pub(crate) fn without_dead_leaves(mut self) -> Case {
        let mut live = vec![false; self.leaves.len() + self.steps.len()];
        self.steps.iter().flat_map(|step| &step.inputs).chain(&self.outputs).for_each(|&input| live[input] = true);
        live[self.leaves.len()..].fill(true);
        let mut next = 0;
        let renumbered: Vec<usize> = live
            .iter()
            .map(|&is_live| {
                next += usize::from(is_live);
                next - usize::from(is_live)
            })
            .collect();
        let mut live = live.into_iter();
        self.leaves.retain(|_| live.next() == Some(true));
        self.steps.iter_mut().flat_map(|step| &mut step.inputs).for_each(|input| *input = renumbered[*input]);
        self.outputs.iter_mut().for_each(|output| *output = renumbered[*output]);
        self
    }

    /// Drops the steps that no output needs.
    pub(crate) fn without_dead_steps(mut self) -> Case {
        let first = self.leaves.len();
        let mut live = vec![false; self.steps.len()];
        for &output in self.outputs.iter().filter(|&&output| output >= first) {
            live[output - first] = true;
        }
        for step in (0..self.steps.len()).rev() {
            if live[step] {
                self.steps[step]
                    .inputs
                    .iter()
                    .filter(|&&input| input >= first)
                    .for_each(|&input| live[input - first] = true);
            }
        }
        let mut renumbered: Vec<usize> = (0..first).collect();
        let mut next = first;
        for &is_live in &live {
            renumbered.push(next);
            next += usize::from(is_live);
        }
        let mut index = 0;
        self.steps.retain(|_| {
            index += 1;
            live[index - 1]
        });
        self.steps.iter_mut().flat_map(|step| &mut step.inputs).for_each(|input| *input = renumbered[*input]);
        self.outputs.iter_mut().for_each(|output| *output = renumbered[*output]);
        self
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?}", self.stratum)?;
        for (index, leaf) in self.leaves.iter().enumerate() {
            match leaf {
                Leaf::Matrix(block) => {
                    let format = if block.is_sparse() { "csr" } else { "dense" };
                    writeln!(f, "v{index}: {format} {} x {}, {} non-zeros", block.rows(), block.cols(), block.nnz())?;
                    if block.rows() * block.cols() <= 64 {
                        writeln!(f, "    {:?}", block.to_dense().values())?;
                    }
                }
                Leaf::Scalar(value) => writeln!(f, "v{index}: scalar {value:?}")?,
                Leaf::Literal(value) => writeln!(f, "v{index}: literal {value:?}")?,
            }
        }
        for (index, step) in self.steps.iter().enumerate() {
            writeln!(f, "v{}: {} {:?}", self.leaves.len() + index, step.op.label(), step.inputs)?;
        }
        write!(f, "outputs {:?}", self.outputs)
    }
}
