//! The machine that a benchmark plans for: a typical one, as without calibration, this one as it is measured first, or that
//! of a file.

use fuseline::calibrate::{MachineFile, ROUNDS, calibrate};
use fuseline::{CompileOptions, Machine};
use std::path::PathBuf;

/// Which machine that is.
pub(crate) enum PlannedFor {
    /// A typical one.
    Typical,
    /// This one, which is measured first.
    Calibrated,
    /// One that was measured before.
    File(PathBuf),
}

impl PlannedFor {
    /// The machine, and what it is in words.
    ///
    /// # Errors
    /// It cannot be measured, or read.
    pub(crate) fn machine(&self) -> Result<(Machine, String), String> {
        match self {
            PlannedFor::Typical => Ok((CompileOptions::default().machine, "a typical machine".into())),
            PlannedFor::Calibrated => {
                let calibration = calibrate(ROUNDS).map_err(|error| error.render(false))?;
                Ok((calibration.machine, "this machine as it is calibrated".into()))
            }
            PlannedFor::File(path) => {
                let name = path.display();
                let machine = MachineFile::load(path).map_err(|error| format!("{name}: {error}"))?;
                Ok((machine, format!("the machine of {name}")))
            }
        }
    }
}
