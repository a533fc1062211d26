//! The verifier of CPlans.
use super::CPlan;
/// A plan that passed the verifier.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VerifiedCPlan(CPlan);
/// What is wrong with a plan: always a bug of ours or of a hand-built plan.
#[derive(Clone, Debug)]
pub struct VerifierErrors;
