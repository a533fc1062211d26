//! Graphs that loops of the host language build, one iteration on top of the other: computed iteration by iteration, so
//! that they end neither in one huge program nor in a new one each time.
//!
//! An iteration leaves the same operations at the same distance again and again. The graph is cut at one of the operations
//! that recur, always the same one, and all values that cross a cut are computed together. Every part between two cuts is
//! then the same program, which is compiled once.

use super::expr::{Expr, State};
use crate::error::Error;
use crate::session::Session;
use foldhash::fast::FixedState;
use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use fuseline_ir::DataType;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, Hash, Hasher};

/// How often an operation recurs at least where a graph is that of a loop.
const LEAST_CUTS: usize = 3;
/// Levels of operands that tell operations apart.
const LEVELS: u32 = 3;

impl Session {
    /// Computes the oldest operations of an expression that a loop has built, so that few are left. An expression that is
    /// not built from parts that recur is computed as a whole.
    ///
    /// ```
    /// use fuseline::{Matrix, Session, ndarray::array};
    ///
    /// let session = Session::builder().build()?;
    /// let mut x = Matrix::from(array![[1.0]]);
    /// for _ in 0..10_000 {
    ///     x = &x * 0.5 + 1.0;
    ///     if x.as_expr().depth() > 1000 {
    ///         session.shorten(x.as_expr())?;
    ///     }
    /// }
    /// assert_eq!(session.eval(&x)?.get(0, 0), 2.0);
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    ///
    /// # Errors
    /// What makes [`Session::eval`] fail.
    pub fn shorten(&self, root: &Expr) -> Result<(), Error> {
        let cuts = recurring_depths(root);
        if cuts.is_empty() {
            self.compute_together(std::slice::from_ref(root), None)?;
            return Ok(());
        }
        for crossing in crossing(root, &cuts) {
            self.compute_together(&crossing, None)?;
        }
        measure_depth(root);
        Ok(())
    }
}

/// The depths of an operation that recurs on the longest way to a value, ascending.
fn recurring_depths(root: &Expr) -> Vec<u32> {
    let mut depths: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
    let mut next = Some(root.clone());
    while let Some(expr) = next {
        let operands = expr.operands();
        if expr.depth() > 0 {
            depths.entry(signature(&expr, LEVELS)).or_default().push(expr.depth());
        }
        next = operands.into_iter().max_by_key(Expr::depth).filter(|operand| operand.depth() > 0);
    }
    let mut recurring = depths.into_values().find(|depths| depths.len() >= LEAST_CUTS).unwrap_or_default();
    recurring.reverse();
    recurring
}

/// What tells an operation apart: it, and the operations that give its operands.
fn signature(expr: &Expr, levels: u32) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    expr.data_type().hash(&mut hasher);
    match &*expr.state() {
        State::Operation(op, _) => super::program::hash_op(op, &mut hasher),
        State::LoopResult(_, position) => position.hash(&mut hasher),
        State::Value(_) | State::Symbol(_) | State::Failed(_) => {}
    }
    if levels > 0 {
        for operand in expr.operands() {
            signature(&operand, levels - 1).hash(&mut hasher);
        }
    }
    hasher.finish()
}

/// For each cut, from the lowest on, the values from below it that operations above it read.
fn crossing(root: &Expr, cuts: &[u32]) -> Vec<Vec<Expr>> {
    let mut crossing = vec![Vec::new(); cuts.len()];
    let mut held: Vec<HashSet<usize>> = vec![HashSet::new(); cuts.len()];
    let (mut seen, mut pending) = (HashSet::from_iter([root.address()]), vec![root.clone()]);
    while let Some(user) = pending.pop() {
        for operand in user.operands() {
            let (from, to) = (operand.depth(), user.depth());
            if from == 0 {
                continue;
            }
            let first = cuts.partition_point(|&cut| cut < from);
            let last = cuts.partition_point(|&cut| cut < to);
            for cut in first..last {
                if held[cut].insert(operand.address()) {
                    crossing[cut].push(operand.clone());
                }
            }
            if seen.insert(operand.address()) {
                pending.push(operand);
            }
        }
    }
    // A list of results is no value by itself.
    for exprs in &mut crossing {
        exprs.retain(|expr| !matches!(expr.data_type(), DataType::List));
    }
    crossing
}

/// Measures the depths of the operations that are left anew.
fn measure_depth(root: &Expr) {
    let mut depths: HashMap<usize, u32> = HashMap::new();
    let mut pending = vec![root.clone()];
    while let Some(expr) = pending.last().cloned() {
        let operands = expr.operands();
        let missing: BTreeSet<usize> = (0..operands.len())
            .filter(|&position| operands[position].depth() > 0 && !depths.contains_key(&operands[position].address()))
            .collect();
        if missing.is_empty() || depths.contains_key(&expr.address()) {
            let known = |operand: &Expr| depths.get(&operand.address()).copied().unwrap_or(0);
            let depth = 1 + operands.iter().map(known).max().unwrap_or(0);
            expr.set_depth(depth);
            depths.insert(expr.address(), depth);
            pending.pop();
        } else {
            pending.extend(missing.into_iter().map(|position| operands[position].clone()));
        }
    }
}
