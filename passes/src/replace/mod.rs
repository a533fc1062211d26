//! Replacement (section 2.1): the DAG with fused operators in place of what they cover.
//!
//! The new DAG is built from its outputs downwards, so covered operators that nothing else needs disappear, while
//! those that an uncovered operator or another cover reads stay.

#[cfg(test)]
mod tests;

use crate::construct::{ConstructedPlan, CoverInput};
use crate::memory::dense_outputs;
use cranelift_entity::{EntitySet, SecondaryMap};
use fuseline_ir::hop::{CastOp, DataGenOp, Hop, HopDag, HopId, HopOp, Inputs, OperatorId, ReorgOp};
use fuseline_ir::{DataType, SizeInfo, Value};
use std::collections::BTreeMap;

/// A constructed plan with its compiled operator.
#[derive(Clone, Debug)]
pub struct CompiledCover {
    /// The plan.
    pub plan: ConstructedPlan,
    /// The operator.
    pub operator: OperatorId,
}

/// A DAG with fused operators.
#[derive(Clone, Debug)]
pub struct Replaced {
    /// The DAG.
    pub dag: HopDag,
    /// The fused operator of each cover; `None` where no output needs it.
    pub operators: Vec<Option<HopId>>,
}

/// The DAG with each cover's roots computed by its operator.
///
/// A fused operator always gives a matrix: a full aggregate is cast back to a scalar, and the roots of a
/// multi-aggregate, which gives a column of all their cells, are taken out one by one.
pub fn replace(dag: &HopDag, covers: &[CompiledCover]) -> Replaced {
    let mut replacement = Replacement {
        old: dag,
        dense: dense_outputs(dag),
        covers,
        cover_of: SecondaryMap::new(),
        new: HopDag::new(),
        renamed: SecondaryMap::new(),
        spoofs: vec![None; covers.len()],
        adapters: BTreeMap::new(),
    };
    for (number, cover) in covers.iter().enumerate() {
        for (position, &root) in cover.plan.cover.roots.iter().enumerate() {
            replacement.cover_of[root] = Some((number as u32, cover.plan.outputs[position]));
        }
    }
    // What stays keeps its order, as far as multi-aggregates allow.
    let needed = replacement.needed();
    for id in dag.hops.keys().filter(|&id| needed.contains(id)) {
        replacement.build(id);
    }
    let mut new = std::mem::take(&mut replacement.new);
    for output in &dag.outputs {
        new.write(&output.name, replacement.renamed(output.hop));
    }
    new.effects = dag.effects.iter().map(|&effect| replacement.renamed(effect)).collect();
    Replaced { dag: new, operators: replacement.spoofs }
}

struct Replacement<'a> {
    old: &'a HopDag,
    /// What the old operators store dense.
    dense: EntitySet<HopId>,
    covers: &'a [CompiledCover],
    /// For each root of a cover: the cover and the position among its outputs.
    cover_of: SecondaryMap<HopId, Option<(u32, u32)>>,
    new: HopDag,
    renamed: SecondaryMap<HopId, Option<HopId>>,
    /// The fused operator of each cover, once built.
    spoofs: Vec<Option<HopId>>,
    /// Transposes and casts that were added, by what they make of which old operator.
    adapters: BTreeMap<CoverInput, HopId>,
}

impl Replacement<'_> {
    /// The old operators that the new DAG computes or takes from fused operators.
    fn needed(&self) -> EntitySet<HopId> {
        let mut needed = EntitySet::new();
        let mut pending = self.old.roots();
        while let Some(id) = pending.pop() {
            if needed.insert(id) {
                pending.extend(self.needs(id));
            }
        }
        needed
    }

    /// Builds an old operator and everything that it needs.
    fn build(&mut self, target: HopId) {
        let mut pending = vec![target];
        let mut entered = EntitySet::new();
        while let Some(&id) = pending.last() {
            if self.renamed[id].is_some() {
                pending.pop();
                continue;
            }
            let is_first_visit = entered.insert(id);
            let missing: Vec<HopId> =
                self.needs(id).into_iter().filter(|&input| self.renamed[input].is_none()).collect();
            if missing.is_empty() {
                let new = self.emit(id);
                self.renamed[id] = Some(new);
                pending.pop();
            } else {
                assert!(is_first_visit, "covers must not depend on each other in a cycle");
                pending.extend(missing.into_iter().rev());
            }
        }
    }

    fn needs(&self, id: HopId) -> Vec<HopId> {
        match self.cover_of[id] {
            Some((cover, _)) => {
                let inputs = self.covers[cover as usize].plan.inputs.iter();
                inputs.map(|&(CoverInput::Hop(id) | CoverInput::Transpose(id) | CoverInput::Scalar(id))| id).collect()
            }
            None => self.old[id].inputs.to_vec(),
        }
    }

    fn renamed(&self, id: HopId) -> HopId {
        self.renamed[id].expect("inputs are built before their users, and every root of the DAG is built")
    }

    fn emit(&mut self, id: HopId) -> HopId {
        if let Some((cover, position)) = self.cover_of[id] {
            let spoof = self.spoof(cover as usize);
            return self.take_root(id, &self.covers[cover as usize], position, spoof);
        }
        let old = &self.old[id];
        let inputs: Inputs = old.inputs.iter().map(|&input| self.renamed(input)).collect();
        self.new.push(Hop { inputs, ..old.clone() })
    }

    fn matrix(&mut self, op: HopOp, inputs: &[HopId], size: SizeInfo, like: HopId) -> HopId {
        let span = self.old[like].span;
        self.new.push(Hop { op, inputs: Inputs::from_slice(inputs), data_type: DataType::MATRIX, size, span })
    }

    /// The fused operator of a cover.
    fn spoof(&mut self, number: usize) -> HopId {
        if let Some(spoof) = self.spoofs[number] {
            return spoof;
        }
        let CompiledCover { plan, operator } = &self.covers[number];
        let inputs: Vec<HopId> = plan.inputs.iter().map(|&input| self.input(input)).collect();
        let root = plan.cover.roots[0];
        let size = match &self.old[root] {
            _ if plan.cover.roots.len() > 1 => {
                SizeInfo::dims(plan.cover.roots.iter().map(|&root| self.cells(root)).sum(), 1)
            }
            hop if hop.is_scalar() => SizeInfo::dims(1, 1),
            _ if plan.transposed_output => transposed(self.stored_size(root)),
            _ => self.stored_size(root),
        };
        let op = HopOp::SpoofOp { operator: *operator, template: plan.cover.template };
        let spoof = self.matrix(op, &inputs, size, root);
        self.spoofs[number] = Some(spoof);
        spoof
    }

    /// The size of what a fused operator stores: products and what the old operator stores dense are dense.
    fn stored_size(&self, root: HopId) -> SizeInfo {
        let Hop { op, size, .. } = &self.old[root];
        let is_dense = *op == HopOp::MatMul || self.dense.contains(root);
        if is_dense && size.format().is_sparse() { size.without_nnz() } else { *size }
    }

    fn input(&mut self, input: CoverInput) -> HopId {
        if let Some(&adapter) = self.adapters.get(&input) {
            return adapter;
        }
        let adapter = match input {
            CoverInput::Hop(id) => return self.renamed(id),
            CoverInput::Transpose(id) => {
                let (source, size) = (self.renamed(id), transposed(self.old[id].size));
                self.matrix(HopOp::Reorg(ReorgOp::Transpose), &[source], size, id)
            }
            CoverInput::Scalar(id) => self.as_scalar(self.renamed(id), DataType::F64, id),
        };
        self.adapters.insert(input, adapter);
        adapter
    }

    /// The cell of a 1 x 1 matrix.
    fn as_scalar(&mut self, matrix: HopId, data_type: DataType, like: HopId) -> HopId {
        let (op, span) = (HopOp::Cast(CastOp::AsScalar), self.old[like].span);
        self.new.push(Hop { op, inputs: Inputs::from_slice(&[matrix]), data_type, size: SizeInfo::UNKNOWN, span })
    }

    /// The value of a root from its fused operator.
    fn take_root(&mut self, root: HopId, cover: &CompiledCover, position: u32, spoof: HopId) -> HopId {
        let old = &self.old[root];
        let mut value = spoof;
        if cover.plan.cover.roots.len() > 1 {
            value = self.take_cells(root, &cover.plan, position, spoof);
        } else if cover.plan.transposed_output {
            value = self.matrix(HopOp::Reorg(ReorgOp::Transpose), &[spoof], old.size, root);
        }
        if !old.is_scalar() {
            return value;
        }
        self.as_scalar(value, old.data_type, root)
    }

    /// A literal.
    fn integer(&mut self, value: u64) -> HopId {
        self.new.literal(Value::I64(value as i64))
    }

    /// The cells of a value of known size.
    fn cells(&self, id: HopId) -> u64 {
        let hop = &self.old[id];
        if hop.is_scalar() { 1 } else { hop.size.cells().expect("the aggregates of a pass have known sizes") }
    }

    /// The cells of one root of a multi-aggregate, in its shape. They follow those of the outputs before.
    fn take_cells(&mut self, root: HopId, plan: &ConstructedPlan, position: u32, spoof: HopId) -> HopId {
        let roots = plan.cover.roots.iter().zip(&plan.outputs);
        let before: u64 = roots.filter(|(_, output)| **output < position).map(|(&before, _)| self.cells(before)).sum();
        let cells = self.cells(root);
        let [first, last, one] = [before + 1, before + cells, 1].map(|value| self.integer(value));
        let value = self.matrix(HopOp::Index, &[spoof, first, last, one, one], SizeInfo::dims(cells, 1), root);
        let size = self.old[root].size;
        match size.known_dims() {
            Some((rows, cols)) if self.old[root].is_matrix() && cols > 1 => {
                let [rows, cols] = [rows, cols].map(|value| self.integer(value));
                self.matrix(HopOp::DataGen(DataGenOp::Matrix), &[value, rows, cols], size, root)
            }
            _ => value,
        }
    }
}

fn transposed(size: SizeInfo) -> SizeInfo {
    SizeInfo { rows: size.cols, cols: size.rows, nnz: size.nnz }
}
