//! The machine that a benchmark plans for: a typical one, as without calibration, or this one as it is measured first.

use fuseline::Machine;
use fuseline::calibrate::{ROUNDS, calibrate};
use fuseline::{CompileOptions, Error};

/// The machine to plan for, and what it is in words.
///
/// # Errors
/// The machine cannot be measured.
pub(crate) fn planned_for(is_calibrated: bool) -> Result<(Machine, &'static str), Error> {
    if is_calibrated {
        return Ok((calibrate(ROUNDS)?.machine, "this machine as it is calibrated"));
    }
    Ok((CompileOptions::default().machine, "a typical machine"))
}
