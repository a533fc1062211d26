//! Configurations that run a case, drawn from its seed, and the sessions that serve them.

use super::starts;
use fuseline::{BackendKind, CompileOptions, CpuFeatures, Enumeration, LlvmLevel, Mode, PrimitiveMode, Session};
use fuseline_vecprims::Isa;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::HashMap;
use std::fmt;

/// How operators are fused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Plan {
    Base,
    HandCoded,
    FuseAll,
    FuseNoRedundancy,
    CostBased,
    Exhaustive,
    Random(u64),
}

/// What changes plans or the meaning of zeros besides the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Rules {
    pub(crate) strict_ieee: bool,
    pub(crate) rewrites: bool,
}

/// What results must not depend on within one plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Tier {
    pub(crate) backend: BackendKind,
    pub(crate) cpu: CpuFeatures,
    pub(crate) threads: usize,
    pub(crate) primitives: PrimitiveMode,
    pub(crate) llvm: LlvmLevel,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Configuration {
    pub(crate) plan: Plan,
    pub(crate) rules: Rules,
    pub(crate) tier: Tier,
}

/// Whether this build has LLVM.
pub(crate) const HAS_LLVM: bool = cfg!(feature = "llvm");
pub(crate) const THREADS: [usize; 4] = [1, 2, 3, 7];
const PRIMITIVES: [PrimitiveMode; 3] = [PrimitiveMode::Auto, PrimitiveMode::Shared, PrimitiveMode::Inlined];
/// Seeds of random plans: what they draw differs from DAG to DAG.
const RANDOM_PLANS: u64 = 8;

/// The instruction sets of this machine that the tests compare, the widest first.
pub(crate) fn cpus() -> Vec<CpuFeatures> {
    let tested = [(Isa::Avx512, CpuFeatures::Avx512), (Isa::Avx2, CpuFeatures::Avx2)];
    let mut cpus: Vec<CpuFeatures> = tested.iter().filter(|(isa, _)| isa.is_available()).map(|&(_, cpu)| cpu).collect();
    cpus.push(CpuFeatures::Portable);
    cpus
}

impl Plan {
    /// The names of all plans.
    pub(crate) const NAMES: [&str; 7] =
        ["base", "hand-coded", "fuse-all", "fuse-no-redundancy", "cost", "exhaustive", "random"];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Plan::Base => "base",
            Plan::HandCoded => "hand-coded",
            Plan::FuseAll => "fuse-all",
            Plan::FuseNoRedundancy => "fuse-no-redundancy",
            Plan::CostBased => "cost",
            Plan::Exhaustive => "exhaustive",
            Plan::Random(_) => "random",
        }
    }

    /// A plan that fuses.
    fn draw(random: &mut Pcg64Mcg) -> Plan {
        match random.random_range(0..7) {
            0 => Plan::FuseAll,
            1 => Plan::FuseNoRedundancy,
            2 => Plan::CostBased,
            3 => Plan::Exhaustive,
            4 => Plan::HandCoded,
            _ => Plan::Random(random.random_range(0..RANDOM_PLANS)),
        }
    }

    fn mode(self) -> Mode {
        match self {
            Plan::Base => Mode::Base,
            Plan::HandCoded => Mode::Fused,
            Plan::FuseAll => Mode::GenFuseAll,
            Plan::FuseNoRedundancy => Mode::GenFuseNoRedundancy,
            Plan::CostBased | Plan::Exhaustive | Plan::Random(_) => Mode::Gen,
        }
    }

    fn enumeration(self) -> Enumeration {
        if self == Plan::Exhaustive { Enumeration::Partition } else { Enumeration::default() }
    }

    fn seed(self) -> Option<u64> {
        if let Plan::Random(seed) = self { Some(seed) } else { None }
    }
}

impl Rules {
    /// The usual meaning.
    pub(crate) const USUAL: Rules = Rules { strict_ieee: false, rewrites: true };

    fn draw(random: &mut Pcg64Mcg) -> Rules {
        Rules { strict_ieee: random.random_bool(0.15), rewrites: random.random_bool(0.85) }
    }
}

impl Tier {
    pub(crate) fn interp(cpu: CpuFeatures, threads: usize) -> Tier {
        let (primitives, llvm) = (PrimitiveMode::Auto, LlvmLevel::Direct);
        Tier { backend: BackendKind::Interp, cpu, threads, primitives, llvm }
    }

    fn draw(random: &mut Pcg64Mcg) -> Tier {
        Tier::interp(*cpus().choose(random).expect("one at least"), *THREADS.choose(random).expect("some"))
    }

    fn draw_llvm(random: &mut Pcg64Mcg) -> Tier {
        // The JIT serves no portable code on x86-64.
        let cpus: Vec<CpuFeatures> = cpus().into_iter().filter(|&cpu| cpu != CpuFeatures::Portable).collect();
        Tier {
            cpu: cpus.choose(random).copied().unwrap_or_default(),
            primitives: *PRIMITIVES.choose(random).expect("some"),
            llvm: if random.random_bool(0.15) {
                *LlvmLevel::ALL.choose(random).expect("some")
            } else {
                LlvmLevel::Direct
            },
            threads: Tier::draw(random).threads,
            backend: if random.random_bool(0.25) { BackendKind::Tiered } else { BackendKind::Llvm },
        }
    }
}

/// The configurations that run a case: unfused, one plan on two tiers or more, and another plan. Those of one plan are
/// neighbours. The same few for the same seed.
pub(crate) fn draw(seed: u64, with_llvm: bool) -> Vec<Configuration> {
    let random = &mut Pcg64Mcg::seed_from_u64(seed ^ 0x9e37_79b9_7f4a_7c15);
    let rules = Rules::draw(random);
    let (first, second) = (Plan::draw(random), Plan::draw(random));
    let mut tiers = vec![(Plan::Base, Tier::draw(random))];
    if random.random_bool(0.25) {
        tiers.push((Plan::Base, Tier::draw(random)));
    }
    tiers.extend([(first, Tier::draw(random)), (first, Tier::draw(random))]);
    if with_llvm {
        tiers.push((first, Tier::draw_llvm(random)));
        if random.random_bool(0.5) {
            tiers.push((first, Tier::draw_llvm(random)));
        }
    }
    if second != first {
        tiers.push((second, Tier::draw(random)));
    }
    tiers.into_iter().map(|(plan, tier)| Configuration { plan, rules, tier }).collect()
}

/// Hand-coded operators on every number of threads, for a single case.
pub(crate) fn hand_coded(rules: Rules) -> Vec<Configuration> {
    let cpus = cpus();
    let tiers = THREADS.iter().enumerate().map(|(turn, &threads)| Tier::interp(cpus[turn % cpus.len()], threads));
    tiers.map(|tier| Configuration { plan: Plan::HandCoded, rules, tier }).collect()
}

/// Every plan on several tiers, for a single case.
pub(crate) fn all(rules: Rules) -> Vec<Configuration> {
    let cpus = cpus();
    let mut plans = vec![Plan::Base, Plan::HandCoded];
    plans.extend([Plan::FuseAll, Plan::FuseNoRedundancy, Plan::CostBased, Plan::Exhaustive]);
    plans.extend((0..RANDOM_PLANS).map(Plan::Random));
    let mut configurations = Vec::new();
    for plan in plans {
        let mut tiers: Vec<Tier> =
            THREADS.iter().enumerate().map(|(turn, &threads)| Tier::interp(cpus[turn % cpus.len()], threads)).collect();
        if HAS_LLVM && plan != Plan::Base && cpus.len() > 1 {
            tiers.extend(PRIMITIVES.iter().enumerate().map(|(turn, &primitives)| Tier {
                backend: BackendKind::Llvm,
                cpu: cpus[turn % (cpus.len() - 1)],
                threads: THREADS[turn],
                primitives,
                llvm: LlvmLevel::Direct,
            }));
            tiers.push(Tier { backend: BackendKind::Tiered, ..Tier::interp(cpus[0], 2) });
        }
        configurations.extend(tiers.into_iter().map(|tier| Configuration { plan, rules, tier }));
    }
    configurations
}

impl Configuration {
    fn options(self) -> CompileOptions {
        let Tier { backend, cpu, threads, primitives, llvm } = self.tier;
        let options = CompileOptions::default();
        CompileOptions {
            machine: starts::alike(options.machine),
            mode: self.plan.mode(),
            enumeration: self.plan.enumeration(),
            random_plans: self.plan.seed(),
            backend,
            cpu,
            threads,
            primitives,
            llvm,
            rewrites: self.rules.rewrites,
            strict_ieee: self.rules.strict_ieee,
            ..options
        }
    }
}

impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tier { backend, cpu, threads, primitives, llvm } = self.tier;
        let plan = self.plan;
        write!(f, "{plan:?} on {backend:?}, {cpu:?}, {threads} threads, {primitives:?}, {llvm:?}, {:?}", self.rules)
    }
}

/// Sessions by configuration. Those of equal numbers of threads share these.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    threads: HashMap<usize, Session>,
    sessions: HashMap<Configuration, Session>,
}

/// Sessions that are kept: each keeps the operators that it compiled.
const MOST_SESSIONS: usize = 300;

impl Sessions {
    pub(crate) fn get(&mut self, configuration: Configuration) -> &Session {
        if self.sessions.len() >= MOST_SESSIONS && !self.sessions.contains_key(&configuration) {
            self.sessions.clear();
        }
        let options = configuration.options();
        let shared = self.threads.entry(options.threads).or_insert_with(|| {
            let interp =
                CompileOptions { backend: BackendKind::Interp, threads: options.threads, ..CompileOptions::default() };
            Session::new(interp).expect("a session of this machine")
        });
        self.sessions
            .entry(configuration)
            .or_insert_with(|| shared.reconfigured(options).expect("a session of this machine"))
    }

    /// Forgets a session that panicked.
    pub(crate) fn discard(&mut self, configuration: Configuration) {
        self.sessions.remove(&configuration);
    }
}
