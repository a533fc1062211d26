use super::super::*;
use crate::explore::explore_in;
use crate::template::TEMPLATES;

#[test]
#[ignore = "prints"]
fn corpus() {
    let mut files: Vec<_> = std::fs::read_dir(std::env::var("CORPUS").unwrap())
        .unwrap()
        .flat_map(|d| std::fs::read_dir(d.unwrap().path()).unwrap().map(|f| f.unwrap().path()))
        .collect();
    files.sort();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let dag = match fuseline_ir::hop::parse(&text) {
            Ok(mut d) => d.remove(0).1,
            Err(e) => {
                println!("{file:?} {e:?}");
                continue;
            }
        };
        let limits = TemplateLimits::default();
        let context = Context::new(&dag, &limits);
        let memo = prepare(&context, &explore_in(&context, TEMPLATES), SelectPolicy::CostBased);
        let model = CostModel::default();
        for partition in partition_in(&context, &memo) {
            let t = std::time::Instant::now();
            let solution = super::solve(&context, &memo, &partition, &model, 20_000).unwrap();
            let t = t.elapsed();
            let space = space::SearchSpace::new(&context, &memo, &partition, &model);
            let t2 = std::time::Instant::now();
            let enumerate::Found { seconds, stats, .. } =
                enumerate::search(&space, SelectPolicy::CostBased, &SearchLimits::default());
            let t2 = t2.elapsed();
            if partition.points.is_empty() {
                continue;
            }
            println!(
                "{} members {} points {} priced {} {t:?} {:e} {:e} | {seconds:e} {} {t2:?} {}",
                file.file_name().unwrap().to_string_lossy(),
                partition.members.len(),
                partition.points.len(),
                solution.stats.operators,
                solution.seconds,
                solution.bound,
                stats.operators,
                solution.seconds <= seconds * (1.0 + 1e-12)
            );
        }
    }
}
