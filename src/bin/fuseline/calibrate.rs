//! `fuseline calibrate`.

use crate::Failure;
use crate::arguments::CalibrateArguments;
use fuseline::calibrate::MachineFile;
use fuseline::calibration_file;
use fuseline::io::Output;
use std::io::Write;

pub(crate) fn calibrate(arguments: &CalibrateArguments) -> Result<(), Failure> {
    let path = match &arguments.out {
        Some(path) => path.clone(),
        None => {
            calibration_file().ok_or("there is no cache folder: set XDG_CACHE_HOME or HOME, or use --out".to_owned())?
        }
    };
    let file = Output::create(&path, false).map_err(|error| error.to_string())?;
    let calibration = fuseline::calibrate::calibrate(arguments.rounds.into())?;
    let (table, path) = (calibration.to_text(), path.display());
    MachineFile::new(calibration.machine).save(file).map_err(|error| format!("cannot write {path}: {error}"))?;
    let printed = writeln!(std::io::stdout().lock(), "{table}written to {path}");
    printed.map_err(|error| format!("cannot print: {error}").into())
}
