//! The optimizer environment: all that decides a plan besides the program, its sizes and what is known of its non-zeros.
//!
//! It is one value, from which plans are made and by which they are found again: whatever decides a plan is in its
//! fingerprint.

use fuseline_passes::machine::{Cluster, Machine};
use fuseline_passes::memory::bytes_text;
use fuseline_passes::pipeline::OptimizerOptions;
use fuseline_passes::rewrite::RewriteOptions;
use fuseline_passes::select::SelectPolicy;
use serde::Serialize;
use std::fmt;

/// How operators are fused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub enum Mode {
    /// Basic operators only (the paper's Base).
    Base,
    /// Basic operators, and hand-coded fused ones in the place of the patterns that they were written for (Fused).
    Fused,
    /// Cost-based fusion plans (Gen).
    #[default]
    Gen,
    /// Maximal fusion (Gen-FA).
    GenFuseAll,
    /// Fusion without redundant computation (Gen-FNR).
    GenFuseNoRedundancy,
}

/// All that decides a plan besides the program and its sizes.
#[derive(Clone, Debug, Default, Serialize)]
pub struct OptimizerEnvironment {
    /// How operators are fused.
    pub mode: Mode,
    /// Simplification rewrites.
    pub rewrites: RewriteOptions,
    /// Exploration, selection and construction, and the machine whose costs they compare; the policy is that of
    /// [`Mode::Gen`].
    pub optimizer: OptimizerOptions,
    /// Exactly IEEE arithmetic: zeros annihilate only finite operands.
    pub strict_ieee: bool,
}

impl OptimizerEnvironment {
    /// The selection policy; `None` where nothing is generated.
    pub fn policy(&self) -> Option<SelectPolicy> {
        match self.mode {
            Mode::Base | Mode::Fused => None,
            Mode::Gen => Some(self.optimizer.policy),
            Mode::GenFuseAll => Some(SelectPolicy::FuseAll),
            Mode::GenFuseNoRedundancy => Some(SelectPolicy::FuseNoRedundancy),
        }
    }

    /// The machine that plans are made for.
    pub fn machine(&self) -> &Machine {
        &self.optimizer.model.machine
    }

    /// What tells environments apart.
    pub fn fingerprint(&self) -> Fingerprint {
        let json = serde_json::to_vec(self).expect("options are numbers, names and lists of them");
        Fingerprint(blake3::hash(&json))
    }
}

/// The fingerprint, and what of the environment decides where operators run.
impl fmt::Display for OptimizerEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Machine { threads, memory_budget, cluster, .. } = self.machine();
        write!(f, "{}: {threads} threads, ", self.fingerprint())?;
        match memory_budget {
            Some(bytes) => write!(f, "{} for inputs and output of an operator, ", bytes_text(*bytes as u64))?,
            None => write!(f, "operators of any size, ")?,
        }
        match cluster {
            Some(Cluster { workers, broadcast_memory, .. }) => {
                write!(f, "{workers} workers that take {} each by broadcast", bytes_text(*broadcast_memory as u64))
            }
            None => write!(f, "no cluster"),
        }
    }
}

/// A hash of an environment: equal ones have equal ones, in every process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint(blake3::Hash);

impl Fingerprint {
    /// All digits.
    pub(crate) fn to_hex(self) -> String {
        self.0.to_hex().to_string()
    }
}

/// The first 16 digits.
impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", &self.0.to_hex()[..16])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fuseline_passes::cost::CostModel;
    use fuseline_passes::select::{Budget, Enumeration, SearchLimits};

    fn with_machine(machine: Machine) -> OptimizerEnvironment {
        with(|optimizer| optimizer.model = CostModel::new(machine))
    }

    fn with(change: impl FnOnce(&mut OptimizerOptions)) -> OptimizerEnvironment {
        let mut environment = OptimizerEnvironment::default();
        change(&mut environment.optimizer);
        environment
    }

    fn cluster() -> Cluster {
        Cluster {
            workers: 6,
            broadcast_memory: 1_073_741_824.0,
            block_size: 1000,
            read_bandwidth: 6e9,
            broadcast_bandwidth: 1e9,
            join_bandwidth: 1e9,
            start: 0.1,
        }
    }

    #[test]
    fn equal_environments_have_equal_fingerprints() {
        let environment = OptimizerEnvironment::default();
        assert_eq!(environment.fingerprint(), OptimizerEnvironment::default().fingerprint());
        assert_eq!(environment.fingerprint(), with_machine(Machine::default()).fingerprint());
    }

    #[test]
    fn whatever_decides_a_plan_is_in_the_fingerprint() {
        let typical = Machine::default();
        let rewrites = RewriteOptions { max_forms: 1, ..RewriteOptions::default() };
        let all = [
            OptimizerEnvironment::default(),
            OptimizerEnvironment { mode: Mode::GenFuseAll, ..OptimizerEnvironment::default() },
            OptimizerEnvironment { rewrites, ..OptimizerEnvironment::default() },
            OptimizerEnvironment { strict_ieee: true, ..OptimizerEnvironment::default() },
            with(|options| options.policy = SelectPolicy::Random { seed: 1 }),
            with(|options| options.policy = SelectPolicy::Random { seed: 2 }),
            with(|options| options.template_limits.skinny_cols = 7),
            with(|options| options.search_limits.enumeration = Enumeration::All),
            with(|options| options.search_limits = SearchLimits { budget: Budget::of(1), ..SearchLimits::default() }),
            with(|options| options.model.executions = Some(1.0)),
            with_machine(Machine { threads: 2, ..typical.clone() }),
            with_machine(Machine { overlap: 0.5, ..typical.clone() }),
            with_machine(Machine { exposed: 0.5, ..typical.clone() }),
            with_machine(Machine { memory_budget: Some(1e6), ..typical.clone() }),
            with_machine(Machine { memory_budget: Some(1e6), cluster: Some(cluster()), ..typical.clone() }),
        ];
        for (number, one) in all.iter().enumerate() {
            for other in &all[number + 1..] {
                assert_ne!(one.fingerprint(), other.fingerprint(), "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn environments_say_where_operators_run() {
        let environment = OptimizerEnvironment::default();
        let expected = format!("{}: 8 threads, operators of any size, no cluster", environment.fingerprint());
        assert_eq!(environment.to_string(), expected);
        let machine = Machine { memory_budget: Some(1_048_576.0), cluster: Some(cluster()), ..Machine::default() };
        let text = with_machine(machine).to_string();
        let expected =
            ": 8 threads, 1.0 MiB for inputs and output of an operator, 6 workers that take 1.0 GiB each by broadcast";
        assert!(text.ends_with(expected), "{text}");
    }
}
