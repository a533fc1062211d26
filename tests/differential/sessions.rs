//! Sessions of every combination of mode, backend, instruction set and threads, made once and used for many cases.

use fuseline::{BackendKind, CompileOptions, CpuFeatures, LlvmLevel, Mode, Primitives, Session};
use fuseline_passes::template::TemplateLimits;
use fuseline_vecprims::Isa;
use std::collections::HashMap;
use std::fmt;

/// What is the same for all sessions of a case, since it changes plans or the meaning of zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Rules {
    /// Templates apply to matrices of any size.
    pub(crate) tiny: bool,
    pub(crate) strict_ieee: bool,
    pub(crate) rewrites: bool,
}

/// A combination that results must not depend on within one mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Tier {
    pub(crate) backend: BackendKind,
    pub(crate) cpu: CpuFeatures,
    pub(crate) threads: usize,
    pub(crate) primitives: Primitives,
    pub(crate) llvm: LlvmLevel,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Combination {
    pub(crate) mode: Mode,
    pub(crate) tier: Tier,
    pub(crate) rules: Rules,
}

/// The modes that fuse.
pub(crate) const GEN_MODES: [Mode; 3] = [Mode::Gen, Mode::GenFuseAll, Mode::GenFuseNoRedundancy];

impl Rules {
    /// Half of the cases lower the floors of templates, some are strict, some go without rewrites.
    pub(crate) fn of_seed(seed: u64) -> Self {
        let tiny = seed.is_multiple_of(2);
        Rules { tiny, strict_ieee: tiny && seed % 8 == 2, rewrites: tiny || seed % 8 != 3 }
    }
}

impl Tier {
    const fn interp(cpu: CpuFeatures, threads: usize) -> Self {
        let (primitives, llvm) = (Primitives::Auto, LlvmLevel::Direct);
        Tier { backend: BackendKind::Interp, cpu, threads, primitives, llvm }
    }

    fn llvm(cpu: CpuFeatures, threads: usize, primitives: Primitives, llvm: LlvmLevel) -> Self {
        Tier { backend: BackendKind::Llvm, cpu, threads, primitives, llvm }
    }
}

/// The instruction sets of this machine that the tests compare, the widest first.
fn cpus() -> Vec<CpuFeatures> {
    let tested = [(Isa::Avx512, CpuFeatures::Avx512), (Isa::Avx2, CpuFeatures::Avx2)];
    let mut cpus: Vec<CpuFeatures> = tested.iter().filter(|(isa, _)| isa.is_available()).map(|&(_, cpu)| cpu).collect();
    cpus.push(CpuFeatures::Portable);
    cpus.truncate(2);
    cpus
}

/// The tiers that run a case in one mode; the same few for the same seed.
pub(crate) fn tiers(seed: u64, mode: Mode, llvm: bool) -> Vec<Tier> {
    let cpus = cpus();
    let cpu = |position: u64| cpus[(position % cpus.len() as u64) as usize];
    let threads = |position: u64| 1 + (position % 3) as usize;
    if mode == Mode::Base {
        return vec![Tier::interp(cpu(seed), 1), Tier::interp(cpu(seed + 1), 3)];
    }
    let turn = seed / 2;
    let mut tiers = vec![Tier::interp(cpu(turn), threads(turn)), Tier::interp(cpu(turn + 1), threads(turn + 1))];
    if llvm {
        let primitives = [Primitives::Auto, Primitives::Inlined, Primitives::Shared][(turn / 2 % 3) as usize];
        let level = if turn % 32 == 7 { LlvmLevel::O3 } else { LlvmLevel::Direct };
        tiers.push(Tier::llvm(cpu(turn), threads(turn + 2), primitives, level));
        tiers.push(Tier::llvm(cpu(turn + 1), threads(turn), Primitives::Auto, LlvmLevel::Direct));
    }
    tiers
}

impl Combination {
    fn options(self) -> CompileOptions {
        let Tier { backend, cpu, threads, primitives, llvm } = self.tier;
        CompileOptions {
            mode: self.mode,
            backend,
            cpu,
            threads,
            primitives,
            llvm,
            rewrites: self.rules.rewrites,
            strict_ieee: self.rules.strict_ieee,
            template_limits: if self.rules.tiny { TemplateLimits::tiny() } else { TemplateLimits::default() },
            ..CompileOptions::default()
        }
    }
}

impl fmt::Display for Combination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tier { backend, cpu, threads, primitives, llvm } = self.tier;
        write!(
            f,
            "{:?} on {backend:?}, {cpu:?}, {threads} threads, {primitives:?}, {llvm:?}, {:?}",
            self.mode, self.rules
        )
    }
}

/// Sessions by combination.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    sessions: HashMap<Combination, Session>,
}

impl Sessions {
    pub(crate) fn get(&mut self, combination: Combination) -> &Session {
        self.sessions
            .entry(combination)
            .or_insert_with(|| Session::new(combination.options()).expect("a session of this machine"))
    }

    /// Forgets a session that panicked.
    pub(crate) fn discard(&mut self, combination: Combination) {
        self.sessions.remove(&combination);
    }
}
