//! The plan cache: compiled operators by CPlan (section 2.1, P024).
//!
//! CPlans name nothing and compare structurally, so the key is the plan itself, compared in full on every hit. An
//! operator id stays valid for ever; the least recently used operators beyond the capacity lose their code and are
//! compiled again when they run. A plan that several threads ask for at the same time is compiled once.

#[cfg(test)]
mod tests;

use fuseline_ir::cplan::{CPlan, VerifiedCPlan};
use fuseline_ir::hop::OperatorId;
use fuseline_skeletons::{Backend, BackendError, CompiledCPlan};
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Operators that keep their code by default.
const CAPACITY: usize = 1024;

#[derive(Debug)]
struct Slot {
    plan: VerifiedCPlan,
    code: Code,
    last_use: u64,
}

#[derive(Debug)]
enum Code {
    /// Never compiled, evicted, or left by a thread that failed.
    Absent,
    /// A thread compiles it.
    InProgress,
    Ready(Arc<CompiledCPlan>),
    /// The backend cannot run the plan, and never will.
    Refused(BackendError),
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
    /// Whether this look-up compiled it.
    pub is_new: bool,
}

/// Compiled operators; shared by all runs of a session.
#[derive(Debug)]
pub struct PlanCache {
    table: Mutex<Table>,
    settled: Condvar,
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
        PlanCache { table: Mutex::default(), settled: Condvar::new(), capacity: capacity.max(1), enabled: true }
    }

    /// A cache that compiles every plan anew (`--plan-cache off`).
    pub fn disabled() -> Self {
        PlanCache { enabled: false, ..PlanCache::default() }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // A panic elsewhere leaves the table consistent: every update below is complete when the lock is released.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The operators of these plans, in their order; those that have no code are compiled together.
    ///
    /// An error is that of one plan: the backend refuses it.
    pub fn get_or_compile(
        &self,
        plans: &[VerifiedCPlan],
        backend: &dyn Backend,
    ) -> Vec<Result<CacheAnswer, BackendError>> {
        let mut table = self.table();
        let operators: Vec<OperatorId> = plans.iter().map(|plan| table.operator_of(plan, self.enabled)).collect();
        let claim = self.claim(&mut table, &operators);
        drop(table);
        let new = claim.operators.clone();
        let errors = claim.compile(backend);
        let mut unseen = new.iter().peekable();
        let answers = operators.into_iter().map(|operator| {
            // In this batch, the first look-up of a new plan is the one that compiled it.
            let is_new = unseen.next_if_eq(&&operator).is_some();
            if let Some((_, error)) = errors.iter().find(|(failed, _)| *failed == operator) {
                return Err(error.clone());
            }
            if !new.contains(&operator) {
                self.operator(operator, backend)?;
            }
            Ok(CacheAnswer { operator, is_new })
        });
        answers.collect()
    }

    /// The code of an operator; compiles it again if it was evicted, and waits for a thread that does.
    ///
    /// # Errors
    /// The backend refuses the plan.
    pub fn operator(&self, operator: OperatorId, backend: &dyn Backend) -> Result<Arc<CompiledCPlan>, BackendError> {
        let mut table = self.table();
        table.touch(operator);
        loop {
            match &table.slot(operator).code {
                Code::Ready(compiled) => return Ok(Arc::clone(compiled)),
                Code::Refused(error) => return Err(error.clone()),
                Code::InProgress => table = self.settled.wait(table).unwrap_or_else(PoisonError::into_inner),
                Code::Absent => {
                    let claim = self.claim(&mut table, &[operator]);
                    drop(table);
                    if let Some((_, error)) = claim.compile(backend).pop() {
                        return Err(error);
                    }
                    table = self.table();
                }
            }
        }
    }

    /// Makes the caller the one who compiles those of these operators that nobody has compiled or is compiling.
    fn claim(&self, table: &mut Table, operators: &[OperatorId]) -> Claim<'_> {
        let mut claimed = Vec::new();
        for &operator in operators {
            let slot = table.slot(operator);
            if matches!(slot.code, Code::Absent) {
                slot.code = Code::InProgress;
                claimed.push(operator);
            }
        }
        Claim { cache: self, operators: claimed }
    }

    /// The plan of an operator.
    pub fn plan(&self, operator: OperatorId) -> VerifiedCPlan {
        self.table().slot(operator).plan.clone()
    }
}

/// Operators that one thread compiles while others wait for it. What it does not finish is free for others.
struct Claim<'a> {
    cache: &'a PlanCache,
    operators: Vec<OperatorId>,
}

impl Claim<'_> {
    /// Compiles them; gives those that failed.
    fn compile(self, backend: &dyn Backend) -> Vec<(OperatorId, BackendError)> {
        let plans: Vec<VerifiedCPlan> = self.operators.iter().map(|&operator| self.cache.plan(operator)).collect();
        let results = if plans.is_empty() { Vec::new() } else { backend.compile_all(&plans) };
        let mut errors = Vec::new();
        let mut table = self.cache.table();
        for (&operator, result) in self.operators.iter().zip(results) {
            match result {
                Ok(compiled) => {
                    table.slot(operator).code = Code::Ready(Arc::new(compiled));
                    table.with_code += 1;
                    table.touch(operator);
                }
                Err(error) => {
                    // A bug may depend on the moment; the rest is a matter of the plan alone.
                    if !matches!(error, BackendError::Internal { .. }) {
                        table.slot(operator).code = Code::Refused(error.clone());
                    }
                    errors.push((operator, error));
                }
            }
        }
        table.evict(self.cache.capacity);
        errors
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let mut table = self.cache.table();
        for &operator in &self.operators {
            let slot = table.slot(operator);
            if matches!(slot.code, Code::InProgress) {
                slot.code = Code::Absent;
            }
        }
        self.cache.settled.notify_all();
    }
}

impl Table {
    fn slot(&mut self, operator: OperatorId) -> &mut Slot {
        &mut self.slots[operator.as_u32() as usize]
    }

    /// The operator of a plan, new or known.
    fn operator_of(&mut self, plan: &VerifiedCPlan, is_shared: bool) -> OperatorId {
        if let Some(&known) = self.ids.get(&**plan).filter(|_| is_shared) {
            self.touch(known);
            return known;
        }
        let operator = OperatorId::from_u32(u32::try_from(self.slots.len()).unwrap_or(u32::MAX));
        self.slots.push(Slot { plan: plan.clone(), code: Code::Absent, last_use: 0 });
        self.touch(operator);
        if is_shared {
            self.ids.insert((**plan).clone(), operator);
        }
        operator
    }

    fn touch(&mut self, operator: OperatorId) {
        self.clock += 1;
        let clock = self.clock;
        self.slot(operator).last_use = clock;
    }

    fn evict(&mut self, capacity: usize) {
        while self.with_code > capacity {
            let with_code = self.slots.iter_mut().filter(|slot| matches!(slot.code, Code::Ready(_)));
            let Some(oldest) = with_code.min_by_key(|slot| slot.last_use) else { return };
            oldest.code = Code::Absent;
            self.with_code -= 1;
        }
    }
}
