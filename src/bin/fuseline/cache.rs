//! The code and plans that are kept for later runs (`--plan-cache`).

use crate::standard_error::tell;
use fuseline::{CodeFolder, code_folder};
use std::path::{Path, PathBuf};

/// What becomes of compiled operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PlanCache {
    /// They are found again in the run, and in later ones.
    On,
    /// Each is compiled anew.
    Off,
    /// They are found again, in later runs in a folder other than the user's cache folder.
    Folder(PathBuf),
}

impl PlanCache {
    /// Reads `on|off|DIR`.
    pub(crate) fn of(choice: &str) -> Self {
        match choice {
            "on" => PlanCache::On,
            "off" => PlanCache::Off,
            folder => PlanCache::Folder(folder.into()),
        }
    }

    /// The folder that keeps code and plans for later runs. One that was asked for and cannot is told; that is no reason not to
    /// run.
    pub(crate) fn code_folder(&self) -> Option<PathBuf> {
        match self {
            PlanCache::On => code_folder(),
            PlanCache::Off => None,
            PlanCache::Folder(path) => usable(path).then(|| path.clone()),
        }
    }
}

fn usable(path: &Path) -> bool {
    let folder = CodeFolder::open(path);
    let warn = |error: &_| tell(&format!("warning: --plan-cache {}: {error}; no code is kept\n", path.display()));
    folder.inspect_err(warn).is_ok()
}
