//! The file that keeps a calibration.

use super::hardware::processor;
use crate::options::machine_threads;
use fuseline_matrix::io::Output;
use fuseline_passes::machine::Machine;
use fuseline_vecprims::Isa;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use thiserror::Error;

/// The version of the format, and of what its numbers mean.
const VERSION: u32 = 12;

/// The machine that was calibrated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Host {
    processor: String,
    instruction_set: String,
    threads: usize,
}

impl Host {
    fn this() -> Self {
        Host { processor: processor(), instruction_set: Isa::detect().to_string(), threads: machine_threads() }
    }
}

/// A calibration as it is kept: JSON, with the version of the format and the machine that it was made on.
///
/// ```
/// use fuseline::{Machine, calibrate::MachineFile, io::Output};
///
/// let folder = tempfile::tempdir()?;
/// let file = folder.path().join("machine.json");
/// MachineFile::new(Machine::default()).save(Output::create(&file, false)?)?;
/// assert_eq!(MachineFile::load(&file)?, Machine::default());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineFile {
    version: u32,
    host: Host,
    machine: Machine,
}

/// A file without a calibration for this machine.
///
/// ```
/// use fuseline::calibrate::{MachineFile, MachineFileError};
///
/// let missing = MachineFile::load("no/such/file.json".as_ref());
/// assert!(matches!(missing, Err(MachineFileError::Io(_))));
/// ```
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MachineFileError {
    /// It cannot be read or written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It is no calibration.
    #[error("it is no calibration: {0}")]
    Format(#[from] serde_json::Error),
    /// It was written by another version.
    #[error("it has version {found} of the format, not {VERSION}")]
    Version {
        /// Its version.
        found: u64,
    },
    /// It was made on another machine.
    #[error("it was made on another machine ({found}, not {expected})")]
    Host {
        /// That machine.
        found: String,
        /// This machine.
        expected: String,
    },
    /// Its rates are none.
    #[error("its rates are not those of a machine")]
    Inconsistent,
}

impl MachineFile {
    /// A calibration of this machine. As in the example of [`MachineFile`].
    pub fn new(machine: Machine) -> Self {
        MachineFile { version: VERSION, host: Host::this(), machine }
    }

    /// Writes the calibration to a file that was started before, so that nobody measures for a file that cannot be
    /// written. As in the example of [`MachineFile`].
    ///
    /// # Errors
    /// It cannot be written.
    pub fn save(&self, mut file: Output) -> Result<(), MachineFileError> {
        file.write_all((serde_json::to_string_pretty(self)? + "\n").as_bytes())?;
        Ok(file.finish()?)
    }

    /// The machine of a file that was made on this one. As in the example of [`MachineFile`].
    ///
    /// # Errors
    /// There is no calibration of this version and this machine in the file.
    pub fn load(path: &Path) -> Result<Machine, MachineFileError> {
        MachineFile::parse(&fs::read_to_string(path)?)?.machine_on(&Host::this())
    }

    fn parse(text: &str) -> Result<MachineFile, MachineFileError> {
        let value: serde_json::Value = serde_json::from_str(text)?;
        // The version comes first: other versions may have other fields.
        match value.get("version").and_then(serde_json::Value::as_u64) {
            Some(found) if found != u64::from(VERSION) => Err(MachineFileError::Version { found }),
            _ => Ok(serde_json::from_value(value)?),
        }
    }

    fn machine_on(self, host: &Host) -> Result<Machine, MachineFileError> {
        if self.host != *host {
            let name = |host: &Host| format!("{}, {}, {} threads", host.processor, host.instruction_set, host.threads);
            return Err(MachineFileError::Host { found: name(&self.host), expected: name(host) });
        }
        if self.machine.is_consistent() { Ok(self.machine) } else { Err(MachineFileError::Inconsistent) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(file: &MachineFile) -> String {
        serde_json::to_string(file).expect("calibrations are JSON")
    }

    #[test]
    fn what_is_saved_is_loaded() {
        let folder = tempfile::tempdir().expect("there is room");
        let path = folder.path().join("new/machine.json");
        let machine = Machine {
            start: fuseline_passes::machine::StartCosts { basic: 1.25e-7, run: 5e-9, ..Machine::default().start },
            ..Machine::default()
        };
        let file = Output::create(&path, false).expect("the folder is ours");
        MachineFile::new(machine.clone()).save(file).expect("the folder is ours");
        assert_eq!(MachineFile::load(&path).expect("it was just saved"), machine);
    }

    #[test]
    fn what_is_no_calibration_is_refused() {
        let file = MachineFile::new(Machine::default());
        let version_alone = format!("{{\"version\":{VERSION}}}");
        for broken in ["", "{", "[]", "{}", "null", r#"{"version": "one"}"#, &version_alone] {
            assert!(matches!(MachineFile::parse(broken), Err(MachineFileError::Format(_))), "{broken}");
        }
        let earlier = text(&MachineFile { version: VERSION - 1, ..file.clone() });
        let refused = MachineFile::parse(&earlier);
        assert!(matches!(refused, Err(MachineFileError::Version { found }) if found == u64::from(VERSION - 1)));
        let unknown = text(&file).replacen("\"memory_budget\"", "\"colour\":1,\"memory_budget\"", 1);
        assert!(matches!(MachineFile::parse(&unknown), Err(MachineFileError::Format(_))));
        let missing = std::path::Path::new("/nowhere/machine.json");
        assert!(matches!(MachineFile::load(missing), Err(MachineFileError::Io(_))));
    }

    #[test]
    fn other_machines_and_impossible_rates_are_refused() {
        let file = MachineFile::new(Machine::default());
        let other = Host { threads: file.host.threads + 1, ..file.host.clone() };
        assert!(matches!(file.clone().machine_on(&other), Err(MachineFileError::Host { .. })));
        let impossible = MachineFile::new(Machine { threads: 0, ..Machine::default() });
        assert!(matches!(impossible.machine_on(&file.host), Err(MachineFileError::Inconsistent)));
    }
}
