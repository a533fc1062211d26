//! x
use fuseline_ir::cplan::{VerifiedCPlan, parse};
use fuseline_llvm_backend::{LlvmBackend, LlvmOptions};
use fuseline_skeletons::backend::Backend;
use std::time::Instant;
fn cpu() -> u64 {
    std::fs::read_dir("/proc/self/task")
        .unwrap()
        .flatten()
        .map(|t| {
            std::fs::read_to_string(t.path().join("schedstat"))
                .unwrap()
                .split_whitespace()
                .next()
                .unwrap()
                .parse::<u64>()
                .unwrap()
        })
        .sum()
}
fn p(t: &str) -> VerifiedCPlan {
    parse(t).unwrap().verify().unwrap()
}
fn main() {
    let b = LlvmBackend::new(LlvmOptions::default()).unwrap();
    let mut big =
        "cplan cell no_agg sparse_safe=false {\nin0 = matrix\nin1 = matrix\n%0 = main\n%1 = side_cell in1\n".to_owned();
    let ops = ["mult", "plus", "minus", "max", "gt"];
    for i in 0..45 {
        big += &format!("%{} = {} %{}, %{}\n", i + 2, ops[i % 5], i + 1, i / 2);
    }
    big += "out %46\n}";
    let math = "cplan cell full_agg sparse_safe=false {\nin0 = matrix\nin1 = matrix\n%0 = main\n%1 = side_cell in1\n%2 = mult %0, %1\n%3 = exp %2\n%4 = sigmoid %3\n%5 = log %4\nout %5 agg=sum\n}";
    for (n, t) in [("45 ops", &*big), ("math", math)] {
        let plan = p(t);
        b.compile(&plan).unwrap();
        let s = cpu();
        for _ in 0..20 {
            b.compile(&plan).unwrap();
        }
        println!("{n}: {:.2} ms cpu", (cpu() - s) as f64 / 20e6);
    }
    for n in [30, 60, 1000, 5000, 19_000] {
        let mut text =
            "cplan row row_agg sparse_safe=false {\nin0 = matrix\n%0 = main\n%1 = row_agg.sum %0\n".to_owned();
        for i in 0..n {
            text += &format!("%{} = mult %{}, %1\n", i + 2, if i == 0 { 0 } else { i + 1 });
        }
        let plan = p(&format!("{text}%{} = row_agg.sum %{}\nout %{}\n}}", n + 2, n + 1, n + 2));
        let mut text =
            "cplan row row_agg sparse_safe=false {\nin0 = matrix\n%0 = main\n%1 = row_agg.sum %0\n".to_owned();
        for i in (0..n).step_by(2) {
            text += &format!("%{} = mult %0, %{}\n%{} = row_agg.sum %{}\n", i + 2, i + 1, i + 3, i + 2);
        }
        let plan2 = p(&format!("{text}out %{}\n}}", n + 1));
        for (k, plan) in [("chain", plan), ("phases", plan2)] {
            let (s, t) = (cpu(), Instant::now());
            let r = b.compile(&plan).map(|c| c.info.code_bytes);
            println!("{k} {n}: {:.1} ms cpu, {:.1?}, {r:?}", (cpu() - s) as f64 / 1e6, t.elapsed());
        }
    }
}
