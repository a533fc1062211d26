//! The rates of the machine, beside which all figures are read.

use super::findings::Findings;
use super::setting::Setting;
use crate::document::Part;
use crate::machine;

pub(super) fn run(setting: Option<Setting>, _: &mut Findings) -> Vec<Part> {
    let rates = setting.map_or_else(Vec::new, |setting| machine::measure(setting.rounds));
    machine::section(&rates)
}
