//! `SciPy` in a process of its own, which holds the matrices and runs the expressions of `scipy_side.py` on request.

use bytemuck::{AnyBitPattern, NoUninit};
use fuseline::{Csr, Dense, Layout, MatrixBlock};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use tempfile::TempDir;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/sparse/scipy_side.py");

/// The process. Values come and go as files in a folder.
pub(crate) struct SciPy {
    process: Child,
    answers: BufReader<ChildStdout>,
    folder: TempDir,
    /// The versions of `SciPy` and NumPy.
    pub(crate) versions: String,
    names: Vec<String>,
}

/// Whether a program is a Python that has `SciPy`.
pub(crate) fn is_in(python: &str) -> bool {
    let mut command = Command::new(python);
    command.args(["-c", "import scipy"]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

impl SciPy {
    pub(crate) fn start(python: &str) -> Result<SciPy, String> {
        let failed = |error: std::io::Error| format!("cannot start {python}: {error}");
        let folder = TempDir::new().map_err(failed)?;
        let mut command = Command::new(python);
        command.arg(SCRIPT).arg(folder.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().map_err(failed)?;
        let answers = BufReader::new(process.stdout.take().expect("it is piped"));
        let mut scipy = SciPy { process, answers, folder, versions: String::new(), names: Vec::new() };
        scipy.versions = scipy.answer()?;
        scipy.names = scipy.answer()?.split('\t').map(str::to_owned).collect();
        Ok(scipy)
    }

    /// The expressions that it has.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    pub(crate) fn has(&self, expression: &str) -> bool {
        self.names().any(|name| name == expression)
    }

    pub(crate) fn give(&mut self, name: &str, block: &MatrixBlock) -> Result<(), String> {
        // Vectors have one dimension there, and no zeros are left out.
        let is_vector = block.rows() == 1 || block.cols() == 1;
        let layout = if is_vector { Layout::Dense(block.to_dense()) } else { block.layout() };
        let layout = match layout {
            Layout::Dense(dense) => {
                self.write(&format!("{name}.values"), dense.values())?;
                "dense"
            }
            Layout::Sparse(csr) => {
                self.write(&format!("{name}.offsets"), csr.row_offsets())?;
                self.write(&format!("{name}.columns"), csr.columns())?;
                self.write(&format!("{name}.values"), csr.values())?;
                "sparse"
            }
        };
        self.ask(&format!("{layout} {name} {} {}", block.rows(), block.cols())).map(|_| ())
    }

    /// What an expression gives, a matrix of this size.
    pub(crate) fn value(&mut self, name: &str, (rows, cols): (usize, usize)) -> Result<MatrixBlock, String> {
        let layout = self.ask(&format!("value {name}"))?;
        let values = self.read::<f64>("R.values")?;
        if layout == "sparse" {
            let (offsets, columns) = (self.read("R.offsets")?, self.read("R.columns")?);
            let matrix = Csr::new(rows, cols, offsets, columns, values);
            return matrix.map(MatrixBlock::from).map_err(|error| format!("{name} in SciPy: {error}"));
        }
        if values.len() != rows * cols {
            return Err(format!("{name} in SciPy has {} cells, not {rows} x {cols}", values.len()));
        }
        Ok(Dense::from_vec(rows, cols, values).into())
    }

    /// What an expression takes.
    pub(crate) fn seconds(&mut self, name: &str) -> Result<f64, String> {
        let answer = self.ask(&format!("seconds {name}"))?;
        answer.parse().map_err(|_| format!("SciPy took {answer} for {name}"))
    }

    fn ask(&mut self, request: &str) -> Result<String, String> {
        let stdin = self.process.stdin.as_mut().expect("it is piped");
        writeln!(stdin, "{request}").map_err(|error| format!("SciPy does not hear {request}: {error}"))?;
        self.answer().map_err(|error| format!("{request}: {error}"))
    }

    fn answer(&mut self) -> Result<String, String> {
        let mut line = String::new();
        match self.answers.read_line(&mut line) {
            Ok(0) => Err("the process of SciPy ended".to_owned()),
            Ok(_) => Ok(line.trim_end_matches('\n').to_owned()),
            Err(error) => Err(format!("SciPy does not answer: {error}")),
        }
    }

    fn write<T: NoUninit>(&self, file: &str, values: &[T]) -> Result<(), String> {
        let path = self.folder.path().join(file);
        fs::write(&path, bytemuck::cast_slice(values)).map_err(|error| format!("{}: {error}", path.display()))
    }

    fn read<T: AnyBitPattern>(&self, file: &str) -> Result<Vec<T>, String> {
        let path = self.folder.path().join(file);
        let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect())
    }
}

impl Drop for SciPy {
    fn drop(&mut self) {
        // It ends when nothing more can be asked: waiting closes its input.
        let _ = self.process.wait();
    }
}
