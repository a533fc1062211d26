//! `./x python`: the wheel of the Python package, its checks, and an environment that has it.

use crate::cargo::{Cargo, check, root};
use crate::packages;
use anyhow::{Context, Result, bail, ensure};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What builds and checks wheels.
const TOOLS: &[&str] = &["maturin>=1.9.4,<2", "auditwheel", "abi3audit"];

/// What the tests need.
const TEST_PACKAGES: &[&str] = &[
    "pytest",
    "pytest-memray",
    "pytest-run-parallel",
    "hypothesis",
    "pyelftools",
    "scipy",
    "pandas",
    "polars",
    "pyarrow",
    "scikit-learn",
    "array-api-strict",
];

/// Tests of a minute and more, which run on the wheel and in the long run alone.
const OF_THE_WHEEL: &[&str] = &["test_memory.py", "test_parallel.py", "test_sklearns_own.py"];

/// Packages with an LLVM of their own. Tests beside one are skipped where it cannot be installed: it may not be there yet for
/// this version of Python.
const OTHER_LLVMS: &[&str] = &["numba", "jax"];

/// The most that a wheel may take, so that installing one stays a matter of seconds.
const MOST_BYTES: u64 = 60_000_000;

/// Packages of Debian with archives that LLVM's archives refer to, each with such an archive.
const ARCHIVES: &[(&str, &str)] = &[("libz.a", "zlib1g-dev"), ("libzstd.a", "libzstd-dev")];

/// What `./x python` was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// Whether tests run.
    test: bool,
    /// Where a copy of the wheel goes.
    wheel: Option<PathBuf>,
    /// The Python to use.
    python: Option<PathBuf>,
}

impl Options {
    /// Reads the arguments behind `python`.
    pub(crate) fn parse(arguments: &[&str]) -> Result<Self> {
        let mut options = Options::default();
        let mut arguments = arguments.iter();
        while let Some(&argument) = arguments.next() {
            match argument {
                "--test" => options.test = true,
                "--wheel" => options.wheel = Some(arguments.next().context("--wheel needs a folder")?.into()),
                "--python" => options.python = Some(arguments.next().context("--python needs a program")?.into()),
                other => bail!("python does not take {other}; see ./x help"),
            }
        }
        Ok(options)
    }
}

/// Builds, checks and installs the wheel, and says where all is.
pub(crate) fn run(cargo: &Cargo, options: &Options) -> Result<()> {
    let python = options.python.as_deref().unwrap_or(Path::new("python3"));
    let (tools, feature) = prepare(cargo, python)?;
    let wheel = build(&tools, &feature)?;
    inspect(&tools, &wheel, &feature)?;
    tools.install_wheel(&wheel)?;
    if options.test {
        test(python, &wheel)?;
    }
    let copy = options.wheel.as_deref().map(|folder| copy_into(&wheel, folder)).transpose()?;
    report(&tools, copy.as_deref().unwrap_or(&wheel))
}

/// Packages that benchmarks compare with. What cannot be installed is left out of the tables.
const PEERS: &[&str] = &[
    "threadpoolctl",
    "scipy",
    "numexpr",
    "numba",
    "jax",
    "pykeops",
    "matplotlib",
    "scikit-learn",
    "scikit-learn-intelex",
    "glum",
    "implicit",
];

/// Other compilers of array expressions, which compute the paper's operators. `PyTorch` takes some 6 GB with its libraries.
const COMPILERS: &[&str] = &["scipy", "threadpoolctl", "numba", "jax", "torch"];

/// Builds the wheel and compares it with other packages, in an environment that has both, and with the program.
pub(crate) fn bench(cargo: &Cargo, arguments: &[&str]) -> Result<()> {
    let environment = environment_with(cargo, "bench-venv", PEERS)?;
    cargo.run("build", &cargo.with_features(&["build", "--release"]))?;
    let mut command = comparison(&environment, "compare.py");
    command.arg("--program").arg(built("release", &format!("fuseline{}", std::env::consts::EXE_SUFFIX)));
    command.args(arguments);
    check("the comparison", command)
}

/// Builds the wheel and compares the paper's operators with those of other compilers, into `docs/peers.json` where all of
/// them are compared.
pub(crate) fn bench_peers(cargo: &Cargo, arguments: &[&str]) -> Result<()> {
    let environment = environment_with(cargo, "peers-venv", COMPILERS)?;
    let mut command = comparison(&environment, "peers.py");
    if arguments.is_empty() {
        command.args(["--json", "docs/peers.json"]);
    }
    command.args(arguments);
    check("the comparison", command)
}

/// An environment with the wheel and all of these packages that can be installed.
fn environment_with(cargo: &Cargo, name: &str, packages: &[&str]) -> Result<Environment> {
    let python = Path::new("python3");
    let (tools, feature) = prepare(cargo, python)?;
    let wheel = build(&tools, &feature)?;
    let environment = Environment::new(name, python)?;
    environment.install_wheel(&wheel)?;
    for package in packages {
        if let Err(error) = environment.install(package, &[package]) {
            eprintln!("x: {error:#}: it is not compared");
        }
    }
    Ok(environment)
}

/// A program of `benches/python` that runs in an environment.
fn comparison(environment: &Environment, program: &str) -> Command {
    let mut command = environment.command("python");
    command.arg(format!("benches/python/{program}")).env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

/// Runs the package's tests on a module that is built like all other tests, without a wheel; not where there is no Python.
pub(crate) fn test_module(cargo: &Cargo, is_long: bool, seed: Option<u64>) -> Result<()> {
    let python = Path::new("python3");
    if let Err(reason) = check_python(python) {
        eprintln!("x: no tests of the Python package: {reason}");
        return Ok(());
    }
    // With the tests of the workspace, dependencies have the features that they have for these, and are not built again.
    cargo.run("the Python module", &cargo.with_features(&["build", "--quiet", "--workspace", "--lib", "--tests"]))?;
    let package = assemble()?;
    let environment = Environment::new("module-venv", python)?;
    environment.install("what the tests need", &[&["numpy"], TEST_PACKAGES].concat())?;
    let mut command = tests(&environment);
    command.arg("--quiet").env("PYTHONPATH", package);
    if is_long {
        command.env("FUSELINE_CASES", "20000");
    } else {
        command.args(OF_THE_WHEEL.iter().map(|file| format!("--ignore=python/tests/{file}")));
    }
    if let Some(seed) = seed {
        command.arg(format!("--hypothesis-seed={seed}")).env("FUSELINE_SEED", seed.to_string());
    }
    check("the tests of the Python package", command)
}

/// Puts the sources of the package and the module that was built beside each other, and gives the folder.
fn assemble() -> Result<PathBuf> {
    let package = folder().join("package");
    if package.exists() {
        fs::remove_dir_all(&package)?;
    }
    copy_sources(&root().join("python/fuseline"), &package.join("fuseline"))?;
    let module = built("debug", &format!("{}_native{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX));
    let copy = package.join("fuseline/_native.abi3.so");
    fs::copy(&module, copy).with_context(|| format!("no module {}", module.display()))?;
    Ok(package)
}

/// A file that Cargo built.
fn built(profile: &str, name: &str) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    root().join(target).join(profile).join(name)
}

/// Copies files of Python and what describes them.
fn copy_sources(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let copy = to.join(path.file_name().context("files have names")?);
        if path.is_dir() {
            copy_sources(&path, &copy)?;
        } else if path
            .extension()
            .is_some_and(|extension| ["py", "pyi", "typed"].iter().any(|known| extension == *known))
        {
            fs::copy(&path, copy)?;
        }
    }
    Ok(())
}

fn check_python(python: &Path) -> Result<()> {
    let question = "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))";
    let status = Command::new(python).args(["-c", question]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    ensure!(
        status.is_ok_and(|status| status.success()),
        "{} is no Python 3.11 or later with the modules venv and ensurepip: install one (python3 and python3-venv on \
         Debian and Ubuntu), or name another with --python PATH",
        python.display()
    );
    Ok(())
}

/// A virtual environment of Python.
struct Environment {
    folder: PathBuf,
}

impl Environment {
    /// That of this name, made where it is not there.
    fn new(name: &str, python: &Path) -> Result<Self> {
        let environment = Environment { folder: folder().join(name) };
        if !environment.program("python").exists() {
            let mut command = Command::new(python);
            command.args(["-m", "venv", "--clear"]).arg(&environment.folder);
            check("a Python environment", command)?;
        }
        Ok(environment)
    }

    /// One without anything in it.
    fn fresh(name: &str, python: &Path) -> Result<Self> {
        match fs::remove_dir_all(folder().join(name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error).context("an old environment")?,
            _ => Environment::new(name, python),
        }
    }

    fn program(&self, name: &str) -> PathBuf {
        self.folder.join("bin").join(name)
    }

    /// A command of this environment, in the root of the repository.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.program(program));
        command.current_dir(root()).env("VIRTUAL_ENV", &self.folder);
        command
    }

    fn install<T: AsRef<OsStr>>(&self, what: &str, arguments: &[T]) -> Result<()> {
        let mut command = self.command("python");
        command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(arguments);
        check(&format!("installing {what}"), command)
    }

    /// Installs the wheel in the place of any of the same version, and what it needs where that is missing.
    fn install_wheel(&self, wheel: &Path) -> Result<()> {
        self.install("what the wheel needs", &[wheel])?;
        self.install("the wheel", &["--force-reinstall".as_ref(), "--no-deps".as_ref(), wheel.as_os_str()])
    }
}

/// What is made here.
fn folder() -> PathBuf {
    root().join("target/python")
}

/// What builds wheels, and the feature by which one is built here.
fn prepare(cargo: &Cargo, python: &Path) -> Result<(Environment, String)> {
    check_python(python)?;
    let tools = Environment::new("venv", python)?;
    tools.install("the tools", TOOLS)?;
    let feature = choose_feature(cargo, &tools)?;
    Ok((tools, feature))
}

/// The feature by which the package itself would be built on this machine; empty without LLVM.
fn choose_feature(cargo: &Cargo, tools: &Environment) -> Result<String> {
    if cargo.links_llvm_22() {
        provide_archives();
    }
    let mut command = tools.command("python");
    let output = command.arg("python/build_backend.py").stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "choosing an LLVM failed ({})", output.status);
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// Installs what LLVM's archives refer to, where that can be done. Without, the wheel links the shared library.
fn provide_archives() {
    let missing: Vec<&str> =
        ARCHIVES.iter().filter(|(archive, _)| !has_archive(archive)).map(|(_, package)| *package).collect();
    if !missing.is_empty()
        && let Err(error) = packages::install("LLVM within the wheel", &missing)
    {
        eprintln!("x: {error:#}");
    }
}

/// The C compiler prints the path of a file that it finds, else the name alone.
fn has_archive(name: &str) -> bool {
    let output = Command::new("cc").arg(format!("-print-file-name={name}")).output();
    output.is_ok_and(|output| output.stdout.starts_with(b"/"))
}

/// Builds the wheel and gives its path.
fn build(tools: &Environment, feature: &str) -> Result<PathBuf> {
    let wheels = folder().join("wheels");
    if wheels.exists() {
        fs::remove_dir_all(&wheels)?;
    }
    let mut command = tools.command("maturin");
    command.args(["build", "--manifest-path", "python/Cargo.toml", "--out"]).arg(&wheels);
    command.arg("--interpreter").arg(tools.program("python"));
    if !feature.is_empty() {
        command.args(["--features", feature]);
    }
    if !is_portable(feature) {
        command.args(["--auditwheel", "skip"]);
    }
    check("the wheel", command)?;
    let files = fs::read_dir(&wheels)?.collect::<std::io::Result<Vec<_>>>()?;
    let wheel = files.iter().map(fs::DirEntry::path).find(|path| path.extension() == Some(OsStr::new("whl")));
    wheel.context("maturin left no wheel")
}

/// Whether a wheel of this feature runs without this machine's LLVM.
fn is_portable(feature: &str) -> bool {
    feature.is_empty() || feature.ends_with("-static")
}

/// Checks a wheel and says on which systems it runs.
fn inspect(tools: &Environment, wheel: &Path, feature: &str) -> Result<()> {
    let mut stable_interface = tools.command("abi3audit");
    stable_interface.arg("--strict").arg(wheel);
    check("the check that the wheel serves later versions of Python", stable_interface)?;
    if !is_portable(feature) {
        eprintln!("x: this wheel needs the LLVM of this machine and is of use here alone");
    } else if cfg!(target_os = "linux") {
        let mut systems = tools.command("auditwheel");
        systems.arg("show").arg(wheel);
        check("the check of what the wheel needs", systems)?;
    }
    let bytes = fs::metadata(wheel)?.len();
    ensure!(bytes <= MOST_BYTES, "the wheel has {} MB, more than {}", bytes / 1_000_000, MOST_BYTES / 1_000_000);
    Ok(())
}

/// Runs the package's tests in an environment that has the wheel, and nothing of the sources.
fn test(python: &Path, wheel: &Path) -> Result<()> {
    let environment = Environment::fresh("test-venv", python)?;
    environment.install_wheel(wheel)?;
    environment.install("what the tests need", TEST_PACKAGES)?;
    for package in OTHER_LLVMS {
        if let Err(error) = environment.install(package, &[package]) {
            eprintln!("x: {error:#}: tests beside it are skipped");
        }
    }
    let mut command = tests(&environment);
    command.arg("-rs").env("FUSELINE_CASES", "5000");
    check("the tests of the Python package", command)
}

/// The tests, which leave nothing in the sources.
fn tests(environment: &Environment) -> Command {
    let mut command = environment.command("pytest");
    command.args(["-p", "no:cacheprovider", "python/tests"]).env("PYTHONDONTWRITEBYTECODE", "1");
    command.env("HYPOTHESIS_STORAGE_DIRECTORY", folder().join("hypothesis"));
    command
}

fn copy_into(wheel: &Path, folder: &Path) -> Result<PathBuf> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let copy = folder.join(wheel.file_name().context("wheels have names")?);
    fs::copy(wheel, &copy).with_context(|| format!("cannot write {}", copy.display()))?;
    Ok(copy)
}

fn report(tools: &Environment, wheel: &Path) -> Result<()> {
    let megabytes = fs::metadata(wheel)?.len() as f64 / 1e6;
    println!("The wheel ({megabytes:.1} MB): {}", wheel.display());
    println!("    python3 -m pip install {}", wheel.display());
    println!("It is installed in {}:", tools.folder.display());
    println!("    {} -c 'import fuseline; print(fuseline.__version__)'", tools.program("python").display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_come_in_any_order() {
        let options = Options::parse(&["--wheel", "out", "--test", "--python", "python3.13"]).unwrap();
        let expected = Options { test: true, wheel: Some("out".into()), python: Some("python3.13".into()) };
        assert_eq!(options, expected);
    }

    #[test]
    fn wrong_options_are_named() {
        for (arguments, expected) in [(&["--wheel"][..], "needs a folder"), (&["--fast"], "does not take --fast")] {
            let message = Options::parse(arguments).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn a_missing_python_is_named() {
        let message = check_python(Path::new("/nowhere/python3")).unwrap_err().to_string();
        assert!(message.contains("/nowhere/python3 is no Python 3.11") && message.contains("--python"), "{message}");
    }
}
