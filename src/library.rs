//! The functions written in DML that every script may call: those of the user's folders, then those of `algorithms/`.

use fuseline_ir::program::Source;
use fuseline_lang::{Library, read_script_text};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

macro_rules! files {
    ($($name:literal)*) => {
        /// The files of `algorithms/` by the functions that they define.
        const FILES: &[(&str, &str)] = &[$(($name, include_str!(concat!("../algorithms/", $name, ".dml")))),*];
    };
}

files! {
    "alsCG" "alsPredict" "alsTopkPredict" "auc" "autoencoder_2layer" "confusionMatrix" "f1Score" "getAccuracy" "glm"
    "glmBinomial" "glmLikelihood" "glmPredict" "imputeByMean" "imputeByMeanApply" "imputeByMedian"
    "imputeByMedianApply" "imputeByMode" "imputeByModeApply" "kmeans" "kmeansPredict" "l2svm" "l2svmPredict" "lm"
    "lmCG" "lmDS" "lmPredict" "logSumExp" "mae" "mape" "mcc" "mse" "msmape" "msvm" "msvmPredict" "multiLogReg"
    "multiLogRegPredict" "normalize" "normalizeApply" "nrmse" "pageRank" "pca" "pcaInverse" "pcaTransform" "pnmf"
    "psnr" "rmse" "scale" "scaleApply" "scaleMinMax" "skewness" "smape" "softmax"
}

/// The functions of the library, each with the text of the script that defines it.
///
/// ```
/// assert!(fuseline::script_library().any(|(name, text)| name == "l2svm" && text.contains("m_l2svm")));
/// ```
pub fn script_library() -> impl Iterator<Item = (&'static str, &'static str)> {
    FILES.iter().copied()
}

/// Looks in folders first, then among the files of `algorithms/`.
#[derive(Debug)]
pub(crate) struct ScriptLibrary<'a> {
    pub(crate) folders: &'a [PathBuf],
}

impl ScriptLibrary<'_> {
    /// The folders, each before the one within it where SystemDS keeps the scripts of functions.
    fn places(&self) -> impl Iterator<Item = PathBuf> {
        self.folders.iter().flat_map(|folder| [folder.clone(), folder.join("builtin")])
    }
}

impl Library for ScriptLibrary<'_> {
    fn find(&self, function: &str) -> io::Result<Option<Source>> {
        for folder in self.places() {
            let path = folder.join(format!("{function}.dml"));
            match read_script_text(&path) {
                Ok(text) => return Ok(Some(source(&path, &text))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(io::Error::new(error.kind(), format!("{}: {error}", path.display()))),
            }
        }
        let embedded = FILES.iter().find(|(name, _)| *name == function);
        Ok(embedded.map(|(name, text)| source(&Path::new("<library>").join(format!("{name}.dml")), text)))
    }

    fn folders(&self) -> &[PathBuf] {
        self.folders
    }

    fn names(&self) -> Vec<String> {
        let files = self.places().filter_map(|folder| folder.read_dir().ok()).flatten().flatten();
        let in_folders = files.filter_map(|file| {
            let path = file.path();
            let is_script = path.extension().is_some_and(|extension| extension == "dml");
            path.file_stem().filter(|_| is_script).map(|name| name.to_string_lossy().into_owned())
        });
        in_folders.chain(FILES.iter().map(|(name, _)| (*name).to_owned())).collect()
    }
}

fn source(path: &Path, text: &str) -> Source {
    Source { name: path.display().to_string(), text: Arc::from(text) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fuseline_ir::builtins;
    use std::collections::BTreeSet;

    #[test]
    fn every_file_of_the_folder_is_embedded() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("algorithms");
        let in_folder = ScriptLibrary { folders: &[folder] }.names().into_iter().collect::<BTreeSet<_>>();
        let embedded: BTreeSet<String> = FILES.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(in_folder, embedded);
    }

    #[test]
    fn a_function_of_the_library_is_neither_builtin_nor_missing() {
        for (name, _) in FILES {
            assert!(builtins::find(name).is_none(), "{name} is builtin, so that its file is never read");
            assert!(!builtins::is_not_yet(name), "{name} is still listed as not supported");
        }
    }

    #[test]
    fn every_file_defines_its_entry_and_only_functions() -> Result<(), Box<dyn std::error::Error>> {
        let session = crate::Session::new(crate::CompileOptions {
            backend: crate::BackendKind::Interp,
            ..crate::CompileOptions::default()
        })?;
        for (name, _) in FILES {
            // A call with a wrong argument name gets as far as the signature.
            let script = format!("x = {name}(there_is_no_such_parameter=1)");
            let error = session.compile_script("<text>", &script, &[]).expect_err("no such parameter").to_string();
            let expected = format!("`{name}` has no parameter `there_is_no_such_parameter`");
            assert!(error.contains(&expected), "{name}: {error}");
            assert_eq!(error.matches("Error:").count(), 1, "{error}");
        }
        Ok(())
    }
}
