//! `fuseline convert`.

use crate::Failure;
use crate::arguments::ConvertArguments;
use fuseline::io::{Metadata, read_matrix, write_matrix};
use std::path::Path;

pub(crate) fn convert(arguments: &ConvertArguments) -> Result<(), Failure> {
    let described = Metadata {
        format: arguments.from.clone(),
        rows: arguments.rows,
        cols: arguments.cols,
        header: arguments.header.then_some(true),
        sep: arguments.sep.clone(),
        ..Metadata::default()
    };
    let block = read_matrix(Path::new(&arguments.input), &described).map_err(|error| error.to_string())?;
    let wanted = Metadata { format: arguments.to.clone(), ..Metadata::default() };
    write_matrix(&block, Path::new(&arguments.output), &wanted).map_err(|error| error.to_string())?;
    Ok(())
}
