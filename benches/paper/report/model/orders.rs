//! Whether prices order the plans of one expression: what the modes choose, and valid plans drawn at random.

use super::statistics::{Pair, quantile};
use crate::document::Part;
use crate::workload::{Data, prepared};
use fuseline::calibrate::Calibrator;
use fuseline::{BackendKind, CompileOptions, Machine, Mode, PreparedScript, Session};

/// How the plans are chosen.
const MODES: &[Mode] = &[Mode::Gen, Mode::GenFuseAll, Mode::GenFuseNoRedundancy, Mode::Base];
const RANDOM: u64 = 3;

/// Turns within a round, of which the median counts.
const TURNS: usize = 5;

/// Plans whose times differ by less are alike.
const DIFFERENT: f64 = 1.1;

/// Expressions with their data: some of them over dense matrices of several shapes, some over sparse ones.
fn expressions() -> Vec<(String, &'static str)> {
    let dense = [(2000, 1000), (100_000, 20), (400, 300)].map(|(rows, cols)| data(rows, cols, "1"));
    let sparse = [(5000, 1000, "0.05"), (50_000, 200, "0.01")].map(|(rows, cols, share)| data(rows, cols, share));
    let over_both = [
        "R = sum(X * Y)\nS = sum(X ^ 2)\nT = rowSums(X * Y)",
        "P = X * Y\nR = sum(P)\nS = colSums(P) / 2",
        "Q = X %*% V\nR = t(X) %*% (Q * W)\nS = sum(Q * W)",
        "q = X %*% v\nR = t(X) %*% (w * q)\nS = sum(q ^ 2)",
        "R = t(X) %*% (1 / (1 + exp(-(X %*% v))) - w)",
        "R = colSums(X * w) + colSums(X) * 2",
        "R = sum((X * 2 - X * Y) ^ 2)",
    ];
    let over_dense = [
        "A = exp(X - rowMaxs(X))\nR = A / rowSums(A)\nS = sum(A)",
        "A = abs(X - Y) * 3\nB = A + X\nR = sum(A * B)\nS = max(B)",
        "A = sqrt(X) + Y\nR = A * X\nS = A - X",
        "R = (X * Y + X) / (X + Y)",
        "A = exp(X) * Y\nR = rowSums(A)\nS = colSums(A)",
    ];
    let products = [("1000", "20", "0.01"), ("800", "30", "1")].map(|(side, rank, share)| {
        let rand = |name: &str, cols: &str, share: &str, seed: usize| {
            format!("{name} = rand(rows={side}, cols={cols}, min=0.5, max=1.5, sparsity={share}, seed={seed})\n")
        };
        rand("X", side, share, 1) + &rand("U", rank, "1", 2) + &rand("V", rank, "1", 3)
    });
    let over_products = [
        "R = (X * (U %*% t(V))) %*% V + U",
        "E = (X != 0) * (U %*% t(V) - X)\nR = E %*% V\nS = sum(E ^ 2)",
        "R = sum(X * log(U %*% t(V) + 1))\nS = sum(X * (U %*% t(V)))",
    ];
    let on = |data: &[String], texts: &[&'static str]| -> Vec<(String, &'static str)> {
        data.iter().flat_map(|data| texts.iter().map(|&text| (data.clone(), text))).collect()
    };
    [on(&dense, &over_both), on(&dense, &over_dense), on(&sparse, &over_both), on(&products, &over_products)].concat()
}

fn data(rows: usize, cols: usize, share: &str) -> String {
    let matrices = [
        ("X", rows, cols, share),
        ("Y", rows, cols, "1"),
        ("v", cols, 1, "1"),
        ("V", cols, 4, "1"),
        ("w", rows, 1, "1"),
        ("W", rows, 4, "1"),
    ];
    let rand = |(seed, (name, rows, cols, share)): (usize, (&str, usize, usize, &str))| {
        format!("{name} = rand(rows={rows}, cols={cols}, min=0.5, max=1.5, sparsity={share}, seed={seed})\n")
    };
    matrices.into_iter().enumerate().map(rand).collect()
}

/// The plans of an expression.
pub(super) struct Measured {
    text: &'static str,
    /// The matrices in words.
    on: String,
    plans: Vec<Pair>,
}

/// Runs the plans of each expression in turn.
pub(super) fn measure(rounds: usize, calibrator: &Calibrator, machine: &Machine) -> Vec<Measured> {
    let session = |mode: Mode, random_plans: Option<u64>| {
        let options = CompileOptions {
            mode,
            random_plans,
            machine: machine.clone(),
            backend: BackendKind::for_measurement(),
            ..CompileOptions::default()
        };
        calibrator.session().reconfigured(options).expect("a session")
    };
    let modes = MODES.iter().map(|&mode| session(mode, None));
    let sessions: Vec<Session> = modes.chain((1..=RANDOM).map(|seed| session(Mode::Gen, Some(seed)))).collect();
    expressions()
        .into_iter()
        .map(|(generate, text)| {
            let (data, first) = (Data::generate(&generate), generate.lines().next().unwrap_or_default());
            let on = first.trim_start_matches("X = rand(").split(", min").next().unwrap_or_default().to_owned();
            eprintln!("cost model, plans of {}", text.replace('\n', "; "));
            let mut scripts: Vec<PreparedScript<'_>> =
                sessions.iter().map(|session| prepared(session, &on, text, &data)).collect();
            Measured { text, plans: in_turn(&mut scripts, rounds), on: format!("{on}, {}", share(first)) }
        })
        .collect()
}

fn share(line: &str) -> &str {
    line.split("sparsity=").nth(1).and_then(|rest| rest.split(',').next()).unwrap_or("1")
}

/// What the scripts' operators that have a price take, and their prices.
fn in_turn(scripts: &mut [PreparedScript<'_>], rounds: usize) -> Vec<Pair> {
    let run = |script: &mut PreparedScript<'_>| {
        let outcome = script.execute(&mut std::io::sink()).unwrap_or_else(|error| panic!("{error}"));
        let hitters = outcome.statistics.heavy_hitters.into_values();
        hitters.fold(Pair { predicted: 0.0, measured: 0.0 }, |sum, hitter| Pair {
            predicted: sum.predicted + hitter.predicted_seconds,
            measured: sum.measured + hitter.seconds_of_predicted,
        })
    };
    scripts.iter_mut().for_each(|script| _ = run(script));
    let mut seconds: Vec<Vec<f64>> = vec![Vec::new(); scripts.len()];
    let mut predicted = vec![0.0; scripts.len()];
    for _ in 0..rounds {
        let mut turns: Vec<Vec<f64>> = vec![Vec::new(); scripts.len()];
        for _ in 0..TURNS {
            for (number, script) in scripts.iter_mut().enumerate() {
                let pair = run(script);
                predicted[number] = pair.predicted;
                turns[number].push(pair.measured);
            }
        }
        seconds.iter_mut().zip(turns).for_each(|(seconds, turns)| seconds.push(quantile(turns.into_iter(), 0.5)));
    }
    let undisturbed = seconds.into_iter().map(|rounds| quantile(rounds.into_iter(), 0.25));
    predicted.into_iter().zip(undisturbed).map(|(predicted, measured)| Pair { predicted, measured }).collect()
}

/// Pairs of plans that differ, and those among them that prices order right. Plans of one price are one plan.
fn ordered(plans: &[Pair]) -> (usize, usize) {
    let (mut pairs, mut right) = (0, 0);
    for (place, one) in plans.iter().enumerate() {
        for other in &plans[..place] {
            let ratio = one.measured / other.measured;
            if one.predicted == other.predicted || ratio.max(1.0 / ratio) <= DIFFERENT {
                continue;
            }
            pairs += 1;
            right += usize::from((one.predicted < other.predicted) == (one.measured < other.measured));
        }
    }
    (pairs, right)
}

pub(super) fn table(measured: &[Measured]) -> Part {
    let mut total = (0, 0);
    let mut rows: Vec<Vec<String>> = measured
        .iter()
        .map(|Measured { text, on, plans }| {
            let (pairs, right) = ordered(plans);
            total = (total.0 + pairs, total.1 + right);
            vec![text.replace('\n', "; "), on.clone(), pairs.to_string(), right.to_string()]
        })
        .collect();
    let share = 100.0 * total.1 as f64 / total.0.max(1) as f64;
    let (pairs, right) = (total.0.to_string(), format!("{} ({share:.0} %)", total.1));
    rows.push(vec!["all".to_owned(), String::new(), pairs, right]);
    Part::table(&["expression", "on", "pairs", "ordered right"], rows)
}
