//! The project's commands, reached through `./x`, which sets up LLVM first, or through `cargo xtask` afterwards.

mod cargo;
mod fuzz;
mod main_job;
mod oracles;
mod packages;
mod pages;
mod python;
mod release;
mod test;
mod timing;

use anyhow::{Result, bail};
use cargo::Cargo;
use std::process::ExitCode;

const HELP: &str = "\
./x sets up what is missing (LLVM, a C++ linker) and runs one of these commands:

  run                                train L2SVM on the data set in examples/data: accuracy, fusion plan, timing
  test [--long] [--seed N] [FILTER]  all checks and tests; with FILTER only the tests whose names contain it
       --long                        the long forms of randomized tests (FUSELINE_LONG=1), comparisons with SystemDS and R,
                                     what a release needs (packages, an interface as before, examples in its pages), and
                                     whether pages of benchmarks have the columns that their commands write
       --seed N                      the seed of randomized tests (FUSELINE_SEED=N)
  build [--release]                  the fuseline program
  python [--test] [--wheel DIR] [--python PATH]
                                     the wheel of the Python package, with LLVM in it, installed into target/python/venv
       --test                        and its tests, in a fresh environment
       --wheel DIR                   a copy of the wheel
       --python PATH                 the Python to use, instead of python3: 3.11 or later
  lint                               formatting, clippy and documentation, warnings denied
  bench [--full]                     the benchmark report in minutes, or in full into docs/benchmarks.md
  bench paper [--scale quick|default|full] [PART...]
                                     every experiment of the paper with a verdict, into docs/experiments.md; parts: machine,
                                     operators, patterns, footprint, compilation, enumeration, algorithms, hybrid, classes,
                                     peers
  bench overhead                     what evaluating expressions over little data costs beside operators
  bench python [--scale S] [--rounds N] [PART...]
                                     the Python package: overhead, loss (an expression beside the program), workloads
                                     (by parts of their names) beside NumPy, SciPy, numexpr, numba, JAX and KeOps, and
                                     estimators beside scikit-learn, scikit-learn-intelex, glum and implicit
  bench peers [--scale S] [--rounds N] [--json FILE] [PART...]
                                     the paper's operators beside NumPy, numba, JAX and PyTorch, eager and compiled; all of
                                     them, as they are by default, into docs/peers.json
  bench report [--full] PART...      parts of it: machine, operators, patterns, footprint, model, algorithms, or (parts of) workloads' names
  bench optimizer [--quick]          the optimizer in numbers, into docs/optimizer.md unless quick
  bench compile [--quick] [CASE][/STAGE]
                                     what compilation costs, stage by stage, into docs/compile.md unless quick or filtered
  bench algorithms [NAME]            the script library in every mode, into docs/algorithms.md
  bench levels [ROUNDS]              LLVM's levels of optimization: compile times, and times of operators
  bench narrow [MEGABYTES]           products of values narrower than doubles, beyond the caches
  bench primitives [NAME]            vector primitives against loops over single values
  bench sparse [--rounds N] [--only TEXT] [--kept-apart] [--python PATH] [--calibrate | --machine FILE]
                                     expressions over sparse matrices that people run, in every mode, by hand, and in SciPy where
                                     python3, or the Python at PATH, has it; planned for a typical machine, this one, or that of a file
  bench cliffs [--seed N] [--count M] [--explain] [--case SEED:NUMBER] [--calibrate | --machine FILE]
                                     random expressions on which the cost-based plan loses to another mode
  fuzz TARGET [-- ARGUMENTS]         a fuzz target of fuzz/, with arguments for libFuzzer (-runs=N)
  help                               this text

./x --dry-run shows what the set-up would do. FUSELINE_LLVM=19 or 22 chooses a version of LLVM.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("x: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[&str]) -> Result<()> {
    let cargo = Cargo::from_environment()?;
    match arguments {
        [] | ["help" | "--help" | "-h", ..] => {
            println!("{HELP}");
            Ok(())
        }
        ["run"] => main_job::run(&cargo),
        ["test", rest @ ..] => test::run(&cargo, &test::Options::parse(rest)?),
        ["build"] => cargo.run("build", &cargo.with_features(&["build"])),
        ["build", "--release"] => cargo.run("build", &cargo.with_features(&["build", "--release"])),
        ["python", rest @ ..] => python::run(&cargo, &python::Options::parse(rest)?),
        ["lint"] => test::lint(&cargo),
        ["bench", "python", rest @ ..] => python::bench(&cargo, rest),
        ["bench", "peers", rest @ ..] => python::bench_peers(&cargo, rest),
        ["bench", "report", rest @ ..] => bench(&cargo, "paper", &[&["report"], rest].concat()),
        ["bench", name, rest @ ..] if !name.starts_with('-') => bench(&cargo, name, rest),
        ["bench", rest @ ..] => bench(&cargo, "paper", &[&["report"], rest].concat()),
        ["fuzz", target] => fuzz::run(&cargo, target, &[]),
        ["fuzz", target, "--", rest @ ..] => fuzz::run(&cargo, target, rest),
        [command @ ("run" | "build" | "lint" | "fuzz"), rest @ ..] => {
            bail!("{command} does not take {}; see ./x help", rest.join(" "))
        }
        [command, ..] => bail!("no command is called {command}; see ./x help"),
    }
}

fn bench(cargo: &Cargo, name: &str, arguments: &[&str]) -> Result<()> {
    let command = cargo.with_features(&["bench", "--bench", name]);
    cargo.run("bench", &[&command[..], &["--"], arguments].concat())
}
