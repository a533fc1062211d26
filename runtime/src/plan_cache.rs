//! The plan cache: compiled operators by CPlan (section 2.1, P024).
//!
//! CPlans name nothing and compare structurally, so the key is the plan itself, compared in full on every hit. An
//! operator id stays valid for ever; the least recently used operators beyond the capacity lose their code and are
//! compiled again when they run.

use fuseline_ir::cplan::{CPlan, VerifiedCPlan};
use fuseline_ir::hop::OperatorId;
use fuseline_skeletons::{Backend, BackendError, CompiledCPlan};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Operators that keep their code by default.
const CAPACITY: usize = 1024;

#[derive(Debug)]
struct Slot {
    plan: VerifiedCPlan,
    compiled: Option<Arc<CompiledCPlan>>,
    last_use: u64,
}

#[derive(Debug, Default)]
struct Table {
    ids: HashMap<CPlan, OperatorId>,
    slots: Vec<Slot>,
    clock: u64,
    with_code: usize,
}

/// What a look-up found.
#[derive(Clone, Debug)]
pub struct CacheAnswer {
    /// The operator.
    pub operator: OperatorId,
    /// The facts of its compilation, if this look-up compiled it.
    pub compiled: Option<Arc<CompiledCPlan>>,
}

/// Compiled operators; shared by all runs of a session.
#[derive(Debug)]
pub struct PlanCache {
    table: Mutex<Table>,
    capacity: usize,
    enabled: bool,
}

impl Default for PlanCache {
    fn default() -> Self {
        PlanCache::new(CAPACITY)
    }
}

impl PlanCache {
    /// A cache of at most this many operators with code.
    pub fn new(capacity: usize) -> Self {
        PlanCache { table: Mutex::default(), capacity: capacity.max(1), enabled: true }
    }

    /// A cache that compiles every plan anew (`--plan-cache off`).
    pub fn disabled() -> Self {
        PlanCache { enabled: false, ..PlanCache::default() }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // A panic elsewhere leaves the table consistent: every update below is complete when the lock is released.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The operator of a plan, compiled if need be.
    ///
    /// # Errors
    /// The backend refuses the plan.
    pub fn get_or_compile(&self, plan: VerifiedCPlan, backend: &dyn Backend) -> Result<CacheAnswer, BackendError> {
        let mut table = self.table();
        let known = if self.enabled { table.ids.get(&*plan).copied() } else { None };
        if let Some(operator) = known {
            table.touch(operator);
            return Ok(CacheAnswer { operator, compiled: None });
        }
        let compiled = Arc::new(backend.compile(&plan)?);
        let operator = OperatorId::from_u32(u32::try_from(table.slots.len()).unwrap_or(u32::MAX));
        table.slots.push(Slot { plan: plan.clone(), compiled: Some(Arc::clone(&compiled)), last_use: 0 });
        table.ids.insert(plan.into_inner(), operator);
        table.with_code += 1;
        table.touch(operator);
        table.evict(self.capacity);
        Ok(CacheAnswer { operator, compiled: Some(compiled) })
    }

    /// The code of an operator; compiles it again if it was evicted.
    ///
    /// # Errors
    /// The backend refuses the plan that it once compiled.
    pub fn operator(&self, operator: OperatorId, backend: &dyn Backend) -> Result<Arc<CompiledCPlan>, BackendError> {
        let mut table = self.table();
        table.touch(operator);
        let slot = &mut table.slots[operator.as_u32() as usize];
        if let Some(compiled) = &slot.compiled {
            return Ok(Arc::clone(compiled));
        }
        let compiled = Arc::new(backend.compile(&slot.plan)?);
        slot.compiled = Some(Arc::clone(&compiled));
        table.with_code += 1;
        table.evict(self.capacity);
        Ok(compiled)
    }

    /// The plan of an operator.
    pub fn plan(&self, operator: OperatorId) -> VerifiedCPlan {
        self.table().slots[operator.as_u32() as usize].plan.clone()
    }
}

impl Table {
    fn touch(&mut self, operator: OperatorId) {
        self.clock += 1;
        self.slots[operator.as_u32() as usize].last_use = self.clock;
    }

    fn evict(&mut self, capacity: usize) {
        while self.with_code > capacity {
            let oldest = self.slots.iter_mut().filter(|slot| slot.compiled.is_some()).min_by_key(|slot| slot.last_use);
            let Some(slot) = oldest else { return };
            slot.compiled = None;
            self.with_code -= 1;
        }
    }
}
