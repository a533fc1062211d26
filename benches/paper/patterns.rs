//! Generated operators against hand-coded ones, wherever a pattern of these applies: Gen must not fall behind.

use crate::conditions::{self, assert_equal_conditions};
use crate::deciding::{in_turn_until, is_undecided};
use crate::document::{Part, digits, time};
use crate::rounds::{Contender, Times};
use crate::workload::{BASE, Data, FUSED, GEN, prepared};
use crate::workloads::{Scale, random};
use fuseline::{CompileOptions, Mode, Session};
use std::hint::black_box;

/// The least speed of Gen as a share of that of Fused.
const LEAST: f64 = 0.95;

/// Seconds that a pattern runs at most to tell whether Gen has that speed.
const MOST_SECONDS: f64 = 10.0;

/// A script that a hand-coded operator serves, on some data.
pub(crate) struct Pattern {
    name: &'static str,
    on: String,
    data: String,
    script: &'static str,
}

pub(crate) fn pattern(name: &'static str, on: impl Into<String>, data: String, script: &'static str) -> Pattern {
    Pattern { name, on: on.into(), data, script }
}

fn patterns(scale: Scale) -> Vec<Pattern> {
    let mut all = Vec::new();
    let (rows, cols) = (scale.of(100_000), 1000);
    let vectors = || random(&["w"], rows, 1, "1") + &random(&["v"], cols, 1, "1");
    for sparsity in ["1", "0.1"] {
        let on = format!("{rows} x {cols}, density {sparsity}");
        let matrices = |names: &[&str]| random(names, rows, cols, sparsity);
        all.push(pattern("sum(X*Y)", &on, matrices(&["X", "Y"]), "R = sum(X * Y)"));
        all.push(pattern("colSums(X*Y)", &on, matrices(&["X", "Y"]), "R = colSums(X * Y)"));
        let chain = "R = t(X) %*% (w * (X %*% v))";
        all.push(pattern("t(X)%*%(w*(X%*%v))", &on, matrices(&["X"]) + &vectors(), chain));
    }
    let ranks = format!("u = rand(rows={rows}, cols=1, seed=1)\nv = rand(rows=1, cols=1000, seed=2)\n");
    let outer = "R = rowSums(outer(u, v, \"<=\"))";
    all.push(pattern("rowSums(outer(u,v,\"<=\"))", format!("{rows} x 1000"), ranks, outer));
    // Basic operators have several intermediates of this size.
    let side = scale.pick([4_000, 4_000, 10_000]);
    for (rank, sparsity) in [(10, "1"), (10, "0.01"), (100, "1"), (100, "0.01")] {
        let on = format!("{side} x {side}, density {sparsity}, rank {rank}");
        let data = || random(&["W", "X"], side, side, sparsity) + &random(&["U", "V"], side, rank, "1");
        all.extend(weighted(&on, &data));
    }
    all
}

/// The weighted products.
fn weighted(on: &str, data: &dyn Fn() -> String) -> [Pattern; 6] {
    [
        pattern("sum((X-U%*%t(V))^2)", on, data(), "R = sum((X - U %*% t(V)) ^ 2)"),
        pattern("sum(W*(X-U%*%t(V))^2)", on, data(), "R = sum(W * (X - U %*% t(V)) ^ 2)"),
        pattern("sum(W*log(U%*%t(V)+1e-15))", on, data(), "R = sum(W * log(U %*% t(V) + 1e-15))"),
        pattern("W*(U%*%t(V))", on, data(), "R = W * (U %*% t(V))"),
        pattern("(W/(U%*%t(V)))%*%V", on, data(), "R = (W / (U %*% t(V))) %*% V"),
        pattern("t(U)%*%(W/(U%*%t(V)))", on, data(), "R = t(U) %*% (W / (U %*% t(V)))"),
    ]
}

/// What was measured of a pattern.
pub(crate) struct Measured {
    pub(crate) name: &'static str,
    pub(crate) on: String,
    /// Of Base, Fused and Gen.
    pub(crate) times: [Times; 3],
    /// The fused operators of Gen, by template and variant.
    pub(crate) operators: String,
    /// How many of them ran.
    pub(crate) generated: u64,
    /// How many hand-coded operators Fused ran.
    pub(crate) hand_coded: u64,
}

impl Measured {
    /// How many times as fast Gen is as Base.
    pub(crate) fn over_base(&self) -> f64 {
        let [base, _, generated] = &self.times;
        generated.speedup_over(base)
    }

    /// The speed of Gen as a share of that of Fused.
    pub(crate) fn share(&self) -> f64 {
        let [_, fused, generated] = &self.times;
        generated.speedup_over(fused)
    }
}

pub(crate) fn measure(scale: Scale, rounds: usize, is_wanted: impl Fn(&str) -> bool) -> Vec<Measured> {
    patterns(scale)
        .iter()
        .filter(|pattern| is_wanted(&format!("{}, {}", pattern.name, pattern.on)))
        .map(|pattern| measure_one(pattern, rounds))
        .collect()
}

pub(crate) fn section(measured: &[Measured]) -> Vec<Part> {
    let header = ["pattern", "data", BASE, FUSED, GEN, "spread", "operators of Gen", "Gen / Fused", ""];
    vec![
        Part::heading("Hand-coded operators"),
        Part::text(format!(
            "Expressions that a hand-coded operator serves. *Gen / Fused* is the ratio of their speeds, which is at least \
             {LEAST}: the median of the ratios within rounds.",
        )),
        Part::table(&header, measured.iter().map(row).collect()),
    ]
}

fn row(measured: &Measured) -> Vec<String> {
    let Measured { name, on, times: [base, fused, generated], operators, .. } = measured;
    let share = measured.share();
    vec![
        (*name).to_owned(),
        on.clone(),
        time(base.median()),
        time(fused.median()),
        time(generated.median()),
        format!("{:.0} %", 100.0 * generated.spread()),
        operators.clone(),
        digits(share),
        if share >= LEAST { "holds" } else { "missed" }.to_owned(),
    ]
}

pub(crate) fn measure_one(pattern: &Pattern, rounds: usize) -> Measured {
    eprintln!("{}, {}", pattern.name, pattern.on);
    let data = Data::generate(&pattern.data);
    let first = Session::new(conditions::options()).expect("a session");
    let ways = [(BASE, Mode::Base), (FUSED, Mode::Fused), (GEN, Mode::Gen)];
    let sessions =
        ways.map(|(_, mode)| first.reconfigured(CompileOptions { mode, ..conditions::options() }).expect("a session"));
    assert_equal_conditions(&sessions, data.blocks());
    let mut contenders = Vec::new();
    let mut statistics = Vec::new();
    for ((name, _), session) in ways.iter().zip(&sessions) {
        let mut script = prepared(session, pattern.name, pattern.script, &data);
        statistics.push(script.execute(&mut std::io::sink()).unwrap_or_else(|error| panic!("{error}")).statistics);
        contenders.push(Contender::new(*name, move || {
            black_box(script.execute(&mut std::io::sink()).expect("it ran before"));
        }));
    }
    let is_decided = |times: &[Times]| !is_undecided(&times[2], &times[1], LEAST);
    let times = in_turn_until(&mut contenders, rounds, MOST_SECONDS, is_decided).try_into().expect("three ways");
    let [_, fused, generated] = &statistics[..] else { unreachable!("three ways") };
    Measured {
        name: pattern.name,
        on: pattern.on.clone(),
        times,
        operators: generated.fused_operators.keys().cloned().collect::<Vec<_>>().join(", "),
        generated: generated.fused_operators.values().sum(),
        hand_coded: fused.fused_operators.values().sum(),
    }
}
