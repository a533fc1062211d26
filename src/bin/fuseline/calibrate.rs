//! `fuseline calibrate`, and the machine that the other commands plan for.

use crate::Failure;
use crate::arguments::CalibrateArguments;
use crate::cache::cache_folder;
use crate::standard_error::tell;
use fuseline::Machine;
use fuseline::calibrate::MachineFile;
use fuseline::io::Output;
use std::io::Write;
use std::path::{Path, PathBuf};

pub(crate) fn calibrate(arguments: &CalibrateArguments) -> Result<(), Failure> {
    let path = match &arguments.out {
        Some(path) => path.clone(),
        None => cached_file().ok_or("there is no cache folder: set XDG_CACHE_HOME or HOME, or use --out".to_owned())?,
    };
    let file = Output::create(&path, false).map_err(|error| error.to_string())?;
    let calibration = fuseline::calibrate::calibrate(arguments.rounds.into())?;
    let (table, path) = (calibration.to_text(), path.display());
    MachineFile::new(calibration.machine).save(file).map_err(|error| format!("cannot write {path}: {error}"))?;
    let printed = writeln!(std::io::stdout().lock(), "{table}written to {path}");
    printed.map_err(|error| format!("cannot print: {error}").into())
}

/// The machine of `--machine default|FILE`: of the file, which must hold one; by default that of the last calibration,
/// if there is one that fits this machine. `None` is the machine of the library's defaults.
pub(crate) fn machine(choice: Option<&str>) -> Result<Option<Machine>, Failure> {
    match choice {
        Some("default") => Ok(None),
        Some(file) => {
            let machine = MachineFile::load(Path::new(file));
            machine.map(Some).map_err(|error| format!("--machine {file}: {error}").into())
        }
        None => Ok(cached_file().filter(|path| path.exists()).and_then(|path| machine_of(&path))),
    }
}

/// The machine of the cached file; what is wrong with it is no reason not to run.
fn machine_of(path: &Path) -> Option<Machine> {
    let machine = MachineFile::load(path);
    machine
        .inspect_err(|error| {
            let path = path.display();
            tell(&format!(
                "warning: {path} is ignored: {error}; `fuseline calibrate` measures this machine, `--machine default` \
                 plans for a typical one\n"
            ));
        })
        .ok()
}

/// Where calibrations are kept.
fn cached_file() -> Option<PathBuf> {
    Some(cache_folder()?.join("machine.json"))
}
