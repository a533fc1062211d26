//! NumPy archives: `.npz` files, which are ZIP archives of arrays.
//!
//! Nothing is ever extracted to a path that an archive names, and what an array inflates to is limited.

use super::error::{IoError, shown};
use super::metadata::Metadata;
use super::npy;
use super::source::{Inflated, Source};
use crate::block::MatrixBlock;
use zip::ZipArchive;
use zip::result::ZipError;

/// Reads the only array of an archive.
pub(super) fn read(source: &mut Source<'_>, metadata: &Metadata) -> Result<MatrixBlock, IoError> {
    let (path, limit) = (source.path, source.inflation_limit());
    let failed = |error: ZipError| match error {
        ZipError::Io(error) => IoError::system("read", path, error),
        other => IoError::description(path, format!("not a readable archive of arrays: {other}")),
    };
    let mut archive = ZipArchive::new(source.stored()).map_err(failed)?;
    if archive.len() != 1 {
        let names: Vec<String> = archive.file_names().take(5).flatten().map(|name| shown(name.as_bytes())).collect();
        let problem = format!("the archive holds {} arrays ({}), not one", archive.len(), names.join(", "));
        return Err(IoError::description(path, problem));
    }
    let array = archive.by_index(0).map_err(failed)?;
    npy::read_array(path, &mut Inflated::new(array, limit), metadata)
}
