//! The user's cache folder, and the code that is kept there (`--plan-cache`).

use crate::standard_error::tell;
use fuseline::CodeFolder;
use std::path::{Path, PathBuf};

/// Our part of the user's cache folder.
pub(crate) fn cache_folder() -> Option<PathBuf> {
    let folder = |variable: &str| std::env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from);
    let cache = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")))?;
    Some(cache.join("fuseline"))
}

/// What becomes of compiled operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PlanCache {
    /// They are found again in the run, and their code in later ones.
    On,
    /// Each is compiled anew.
    Off,
    /// They are found again, and their code in a folder other than the user's cache folder.
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

    /// The folder that keeps code for later runs. One that was asked for and cannot is told; that is no reason not to
    /// run.
    pub(crate) fn code_folder(&self) -> Option<PathBuf> {
        match self {
            PlanCache::On => Some(cache_folder()?.join("code")),
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
