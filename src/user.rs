//! What a user has on this machine: the cache folder, with code, plans and the calibration in it.

use crate::calibrate::{MachineFile, MachineFileError};
use crate::options::CompileOptions;
use fuseline_passes::machine::Machine;
use std::path::PathBuf;

/// Our part of the user's cache folder.
fn cache_folder() -> Option<PathBuf> {
    let folder = |variable: &str| std::env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from);
    let cache = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")))?;
    Some(cache.join("fuseline"))
}

/// Where machine code and plans are kept for other processes: in the user's cache folder, where there is one.
///
/// ```
/// let session = fuseline::Session::builder();
/// let session = match fuseline::code_folder() {
///     Some(folder) => session.code_folder(folder),
///     None => session,
/// };
/// # drop(session);
/// ```
pub fn code_folder() -> Option<PathBuf> {
    Some(cache_folder()?.join("code"))
}

/// Where calibrations are kept, in the user's cache folder.
///
/// ```
/// if let Some(file) = fuseline::calibration_file() {
///     assert_eq!(file.extension().unwrap(), "json");
/// }
/// ```
pub fn calibration_file() -> Option<PathBuf> {
    Some(cache_folder()?.join("machine.json"))
}

/// The machine of the last calibration, where there is one.
///
/// ```
/// use fuseline::{Machine, calibrated_machine};
///
/// let machine = calibrated_machine().ok().flatten().unwrap_or_else(Machine::default);
/// assert!(machine.is_consistent());
/// ```
///
/// # Errors
/// The file cannot be read, or is of another machine or another version.
pub fn calibrated_machine() -> Result<Option<Machine>, MachineFileError> {
    let file = calibration_file().filter(|path| path.exists());
    file.map(|path| MachineFile::load(&path)).transpose()
}

impl CompileOptions {
    /// The options of the command line: plans are made for the machine of the last calibration, where it can be had,
    /// and code and plans are kept in the user's cache folder.
    ///
    /// ```
    /// use fuseline::{CompileOptions, Session};
    ///
    /// let session = Session::builder().options(CompileOptions::for_user()).threads(2).build()?;
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    pub fn for_user() -> Self {
        let default = CompileOptions::default();
        CompileOptions {
            machine: calibrated_machine().ok().flatten().unwrap_or_else(|| default.machine.clone()),
            code_folder: code_folder(),
            ..default
        }
    }
}
