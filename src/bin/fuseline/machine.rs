//! The machine that commands plan for.

use crate::Failure;
use crate::standard_error::tell;
use fuseline::calibrate::MachineFile;
use fuseline::{Machine, calibration_file};
use std::path::Path;

/// The machine of `--machine default|FILE`: of the file, which must hold one; by default that of the last calibration,
/// if there is one that fits this machine. `None` is the machine of the library's defaults.
pub(crate) fn machine(choice: Option<&str>) -> Result<Option<Machine>, Failure> {
    match choice {
        Some("default") => Ok(None),
        Some(file) => {
            let machine = MachineFile::load(Path::new(file));
            machine.map(Some).map_err(|error| format!("--machine {file}: {error}").into())
        }
        None => Ok(calibration_file().filter(|path| path.exists()).and_then(|path| machine_of(&path))),
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
