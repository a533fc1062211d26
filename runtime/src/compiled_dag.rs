//! What compilation makes of a block's DAG.

use fuseline_ir::hop::HopDag;
use fuseline_passes::cost::Predictions;

/// A compiled block.
#[derive(Debug)]
pub struct CompiledDag {
    /// The DAG with fused operators.
    pub dag: HopDag,
    /// What the cost model expects of its operators.
    pub predictions: Predictions,
    /// The plans of its generated operators: found again with the block, none of them is looked up.
    pub plans: u64,
}
