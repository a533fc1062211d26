//! `fuseline generate`.

use crate::Failure;
use crate::arguments::GenerateArguments;
use fuseline::MatrixBlock;
use fuseline::generate::{Generated, Specification};
use fuseline::io::{Format, Metadata, write_matrix, write_matrix_to};
use std::path::Path;

pub(crate) fn generate(arguments: &GenerateArguments) -> Result<(), Failure> {
    let kind = arguments.kind;
    let labels = arguments.labels.as_deref().map(Path::new);
    if labels.is_some() && !kind.has_labels() {
        return Err(format!("data of kind `{kind}` has no labels").into());
    }
    let out = Path::new(&arguments.out);
    if labels == Some(out) {
        return Err("data and labels need a file each".to_owned().into());
    }
    for path in [out].into_iter().chain(labels) {
        check_format(path)?;
    }
    if arguments.threads > fuseline::MOST_THREADS {
        return Err(format!("--threads {}: at most {} threads", arguments.threads, fuseline::MOST_THREADS).into());
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(arguments.threads).build();
    let pool = pool.map_err(|error| format!("cannot start threads: {error}"))?;
    let specification = specification(arguments);
    let generated = pool.install(|| specification.generate()).map_err(|error| error.to_string())?;
    let description = format!("{kind}, scale {}, seed {}", specification.scale, specification.seed);
    write(&generated, out, labels, &description)
}

fn specification(arguments: &GenerateArguments) -> Specification {
    Specification {
        rows: arguments.rows,
        cols: arguments.cols,
        sparsity: arguments.sparsity,
        scale: arguments.scale,
        seed: arguments.seed,
        classes: arguments.classes,
        noise: arguments.noise,
        ..Specification::new(arguments.kind)
    }
}

/// The format of the file's name; the binary one where it says nothing.
fn metadata(path: &Path) -> Metadata {
    let format = Format::of_name(path).unwrap_or(Format::Binary);
    Metadata { format: Some(format.to_string()), ..Metadata::default() }
}

/// Refuses files that cannot be written before the work is done.
fn check_format(path: &Path) -> Result<(), Failure> {
    write_matrix_to(&MatrixBlock::single(1.0), path, &metadata(path)).map_err(|error| error.to_string())?;
    Ok(())
}

fn write(generated: &Generated, out: &Path, labels: Option<&Path>, description: &str) -> Result<(), Failure> {
    let files = [
        (out, Some(&generated.data), ""),
        (labels.unwrap_or(out), labels.and(generated.labels.as_ref()), "labels of "),
    ];
    for (path, block, what) in files {
        let Some(block) = block else { continue };
        let metadata = Metadata { description: Some(format!("{what}{description}")), ..metadata(path) };
        write_matrix(block, path, &metadata).map_err(|error| error.to_string())?;
    }
    Ok(())
}
