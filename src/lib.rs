//! Fuseline: linear algebra, fused and compiled.
//!
//! A [`Session`] compiles and runs DML scripts and expressions. It finds the cheapest way to fuse their operators,
//! compiles the fused operators to machine code, and runs them over dense and sparse matrices.
//!
//! ```
//! use fuseline::{CompileOptions, Session, Variables};
//!
//! let session = Session::new(CompileOptions::default())?;
//! let script = session.compile_script("<text>", "X = rand(rows=100, cols=10, seed=1)\ns = sum(X * X + 1)", &[])?;
//! let outcome = session.run(&script, Variables::new(), &mut std::io::stdout())?;
//! assert!(outcome.variables["s"].as_f64().unwrap() > 1000.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod calibrate;
mod error;
mod evaluator;
pub mod explain;
mod expression;
mod functions;
pub mod generate;
mod library;
mod located;
mod memory;
mod options;
mod prepared;
mod session;
mod session_builder;
mod user;

pub use error::Error;
pub use explain::{BlocksPrinter, ExplainStage, StageCollector, StagePrinter};
pub use expression::{
    Axis, Compiled, CompiledExprs, Expr, ExprError, Iteration, Matrix, Operand, OperandOf, Place, Scalar, cbind, rbind,
    where_,
};
pub use functions::ScriptFunctions;
pub use library::script_library;
pub use ndarray;
pub use options::{BackendKind, CompileOptions, CpuFeatures, LlvmLevel, PrimitiveMode};
pub use prepared::{PreparedScript, ScriptInterface};
pub use session::{Interrupter, Outcome, Script, Session, finish_compilation};
pub use session_builder::SessionBuilder;
pub use sprs;
pub use user::{calibrated_machine, calibration_file, code_folder};

/// What is computed together: an expression, or several of any types.
///
/// ```
/// use fuseline::{Error, Matrix, Outputs, Session};
///
/// /// Values of a new session, and the operators that it fused for them.
/// fn counted<O: Outputs>(outputs: O) -> Result<(O::Values, u64), Error> {
///     let (values, statistics) = Session::builder().build()?.eval_with_statistics(outputs)?;
///     Ok((values, statistics.fused_operators.values().sum()))
/// }
/// let x = Matrix::full(10, 10, 0.5);
/// let ((total, squares), _) = counted((x.sum(), x.square()))?;
/// assert_eq!((total, squares.get(0, 0)), (50.0, 0.25));
/// let (totals, _) = counted([x.sum(), x.square().sum()])?;
/// assert_eq!(totals, [50.0, 25.0]);
/// # Ok::<(), Error>(())
/// ```
pub use expression::Outputs;

/// The compiler's own representations, for bindings of other languages and tests: they change from version to version.
#[doc(hidden)]
pub use fuseline_ir as ir;
#[doc(hidden)]
pub use fuseline_lang::read_script;
#[doc(hidden)]
pub use fuseline_matrix::run_context::{Abort, caught};

/// The type of a variable, an input or an expression.
///
/// ```
/// use fuseline::{DataType, RuntimeValue};
///
/// assert_eq!(RuntimeValue::from(2.5).data_type(), DataType::F64);
/// assert!(DataType::MATRIX.is_matrix());
/// ```
#[doc(inline)]
pub use fuseline_ir::DataType;
/// Dense or sparse.
///
/// ```
/// use fuseline::{Format, MatrixBlock};
///
/// assert_eq!(MatrixBlock::best_format(1000, 1000, 10), Format::Sparse);
/// assert!(!MatrixBlock::single(1.0).format().is_sparse());
/// ```
#[doc(inline)]
pub use fuseline_ir::Format;
/// The type of a [`Value`], and of the cells of a [`Column`].
///
/// ```
/// use fuseline::{ScalarType, Value};
///
/// assert_eq!(Value::Bool(true).scalar_type(), ScalarType::Bool);
/// ```
#[doc(inline)]
pub use fuseline_ir::ScalarType;
/// What is known of the size of a matrix.
///
/// ```
/// use fuseline::{Matrix, SizeInfo};
///
/// assert_eq!(Matrix::full(2, 3, 0.5).size().known_dims(), Some((2, 3)));
/// assert_eq!(SizeInfo::UNKNOWN.known_dims(), None);
/// ```
#[doc(inline)]
pub use fuseline_ir::SizeInfo;
/// A number, a truth value or a text.
///
/// ```
/// use fuseline::Value;
///
/// assert_eq!(Value::I64(3).as_f64(), Some(3.0));
/// assert_eq!(Value::Str("three".into()).as_f64(), None);
/// ```
#[doc(inline)]
pub use fuseline_ir::Value;

/// Memory that was refused; see [`Error::Memory`].
///
/// ```
/// use fuseline::Error;
///
/// /// Bytes that would have been needed.
/// fn needed(error: &Error) -> Option<u64> {
///     match error {
///         Error::Memory(failure) => Some(failure.bytes),
///         _ => None,
///     }
/// }
/// assert_eq!(needed(&Error::Interrupted), None);
/// ```
#[doc(inline)]
pub use fuseline_matrix::AllocationFailure;
/// Why memory of another owner cannot be read where it lies.
///
/// ```
/// use fuseline::{BorrowError, Matrix, ndarray::Array2};
/// use std::sync::Arc;
///
/// let by_columns = Arc::new(Array2::<f64>::zeros((2, 3)).reversed_axes());
/// assert_eq!(Matrix::borrow_ndarray(&by_columns).unwrap_err(), BorrowError::Order);
/// ```
#[doc(inline)]
pub use fuseline_matrix::BorrowError;
/// Values that another owner lends: the way in for arrays of other libraries and mapped files.
///
/// ```
/// use fuseline::{Borrowed, Dense};
/// use std::sync::Arc;
///
/// let owner = Arc::new(vec![1.0, 2.0, 3.0]);
/// let values: Borrowed<f64> = Borrowed::new(owner, |values| bytemuck::cast_slice(values))?;
/// assert_eq!(Dense::borrowed(1, 3, values)?.get(0, 2), 3.0);
/// # Ok::<(), fuseline::BorrowError>(())
/// ```
#[doc(inline)]
pub use fuseline_matrix::Borrowed;
/// A column of a [`Frame`]. The example makes one and reads it.
///
/// ```
/// use fuseline::{Column, ScalarType, Value};
///
/// let column = Column::of_optional_texts([Some("a".to_owned()), None]);
/// assert_eq!((column.len(), column.scalar_type()), (2, ScalarType::Str));
/// assert_eq!(column.get(0), Value::Str("a".to_owned()));
/// assert!(column.is_missing(1));
/// ```
#[doc(inline)]
pub use fuseline_matrix::Column;
/// A sparse matrix, which stores its non-zeros. The example makes some and reads them.
///
/// ```
/// use fuseline::{Csr, Dense};
///
/// let matrix = Csr::new(2, 3, vec![0, 1, 3], vec![2, 0, 1], vec![5.0, 6.0, 7.0])?;
/// assert_eq!((matrix.rows(), matrix.cols(), matrix.nnz()), (2, 3, 3));
/// assert_eq!(matrix.row(1), (&[0, 1][..], &[6.0, 7.0][..]));
/// assert_eq!(matrix.get(0, 0), 0.0);
/// assert_eq!(matrix.transpose().get(2, 0), 5.0);
/// assert_eq!(Csr::from_dense(&matrix.to_dense()), matrix);
/// assert_eq!(matrix.into_sprs().nnz(), 3);
/// # Ok::<(), fuseline::CsrError>(())
/// ```
#[doc(inline)]
pub use fuseline_matrix::Csr;
/// Why parts form no sparse matrix.
///
/// ```
/// use fuseline::{Csr, CsrError};
///
/// let beyond = Csr::new(1, 3, vec![0, 1], vec![7], vec![1.0]);
/// assert!(matches!(beyond, Err(CsrError::Columns { .. })));
/// ```
#[doc(inline)]
pub use fuseline_matrix::CsrError;
/// A dense matrix, which stores every cell. The example makes some and reads them.
///
/// ```
/// use fuseline::{Dense, ndarray::array};
///
/// let mut matrix = Dense::from_fn(2, 3, |row, column| (10 * row + column) as f64);
/// assert_eq!((matrix.rows(), matrix.cols(), matrix.get(1, 2)), (2, 3, 12.0));
/// assert_eq!(matrix.row(0), [0.0, 1.0, 2.0]);
/// matrix.values_mut()[0] = 5.0;
/// assert_eq!(matrix.view().sum(), 41.0);
/// assert_eq!(matrix.count_nonzeros(), 6);
/// assert_eq!(Dense::from_vec(1, 2, vec![1.0, 2.0]), Dense::from_ndarray(array![[1.0, 2.0]]));
/// ```
#[doc(inline)]
pub use fuseline_matrix::Dense;
/// Columns of several types. The example makes one and reads it.
///
/// ```
/// use fuseline::{Column, Frame};
///
/// let cities = Column::of_texts(["Bern".to_owned(), "Oslo".to_owned()]);
/// let frame = Frame::new(vec![cities, Column::of_integers([134, 717])], vec!["city".into(), "thousands".into()])?;
/// assert_eq!((frame.rows(), frame.cols()), (2, 2));
/// assert_eq!(frame.names()[1], "thousands");
/// assert_eq!(frame.columns()[0].text(1), "Oslo");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use fuseline_matrix::Frame;
/// Either form of a matrix, to be read without a conversion.
///
/// ```
/// use fuseline::{Csr, Layout, MatrixBlock};
///
/// let stored = |block: &MatrixBlock| match block.layout() {
///     Layout::Dense(dense) => dense.values().len(),
///     Layout::Sparse(csr) => csr.values().len(),
/// };
/// assert_eq!(stored(&MatrixBlock::from(Csr::empty(10, 10))), 0);
/// assert_eq!(stored(&MatrixBlock::single(2.0)), 1);
/// ```
#[doc(inline)]
pub use fuseline_matrix::Layout;
/// A matrix in memory, dense or sparse: what expressions and scripts take and give. The example reads one.
///
/// ```
/// use fuseline::{Dense, MatrixBlock, ndarray::array};
///
/// let block = MatrixBlock::from(array![[0.0, 2.0], [0.0, 0.0]]);
/// assert_eq!((block.rows(), block.cols(), block.nnz()), (2, 2, 1));
/// assert_eq!((block.dims(), block.get(0, 1)), ((2, 2), 2.0));
/// assert_eq!(block.to_csr().nnz(), 1);
/// assert_eq!(*block.to_dense(), Dense::from_vec(2, 2, vec![0.0, 2.0, 0.0, 0.0]));
/// ```
#[doc(inline)]
pub use fuseline_matrix::MatrixBlock;
/// A sparse matrix whose values are narrower than doubles.
///
/// ```
/// use fuseline::{MatrixBlock, NarrowCsr};
///
/// let bytes = NarrowCsr::new(1, 1000, vec![0, 2], vec![3, 7], vec![1_u8, 255])?;
/// assert_eq!(bytes.nnz(), 2);
/// assert_eq!(MatrixBlock::from(bytes).get(0, 7), 255.0);
/// # Ok::<(), fuseline::CsrError>(())
/// ```
#[doc(inline)]
pub use fuseline_matrix::NarrowCsr;
/// A dense matrix whose values are narrower than doubles.
///
/// ```
/// use fuseline::{Matrix, NarrowDense, Session};
///
/// let bytes = NarrowDense::from_vec(1, 3, vec![1_u8, 2, 255]);
/// assert_eq!(bytes.get(0, 2), 255.0);
/// assert_eq!(Session::builder().build()?.eval(Matrix::from(bytes).sum())?, 258.0);
/// # Ok::<(), fuseline::Error>(())
/// ```
#[doc(inline)]
pub use fuseline_matrix::NarrowDense;
/// What matrices store besides doubles: `f32`, `i32` and `u8`.
///
/// ```
/// use fuseline::{Matrix, NarrowDense, NarrowValue};
///
/// fn column<T: NarrowValue>(values: Vec<T>) -> Matrix {
///     Matrix::from(NarrowDense::from_vec(values.len(), 1, values))
/// }
/// assert_eq!(column(vec![1_i32, -2]).size(), column(vec![0.5_f32, 2.0]).size());
/// ```
#[doc(inline)]
pub use fuseline_matrix::NarrowValue;
/// Files of matrices, frames and scalars. The example, which is that of all functions here, writes and reads them.
///
/// ```
/// use fuseline::io::{self, Metadata};
/// use fuseline::{Column, Frame, MatrixBlock, Value, ndarray::array};
///
/// let folder = tempfile::tempdir()?;
/// let (matrix, none) = (MatrixBlock::from(array![[1.5, 0.0], [0.0, 2.5]]), Metadata::default());
/// for name in ["x.csv", "x.mtx", "x.bin"] {
///     io::write_matrix(&matrix, &folder.path().join(name), &none)?;
///     assert_eq!(io::read_matrix(&folder.path().join(name), &none)?, matrix);
/// }
/// let known = Metadata::beside(&folder.path().join("x.csv"))?.expect("it was written beside the matrix");
/// assert_eq!((known.rows, known.cols, known.nnz), (Some(2), Some(2), Some(2)));
///
/// let frame = Frame::new(vec![Column::of_integers([7])], vec!["count".to_owned()])?;
/// io::write_frame(&frame, &folder.path().join("f.csv"), &none)?;
/// assert_eq!(io::read_frame(&folder.path().join("f.csv"), &none)?.columns()[0].number(0), Some(7.0));
///
/// io::write_scalar(&Value::F64(0.5), &folder.path().join("s"), &none)?;
/// assert_eq!(io::read_scalar(&folder.path().join("s"), &none)?, Value::F64(0.5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use fuseline_matrix::io;

/// The machine that plans are made for: what operators cost there.
///
/// ```
/// use fuseline::{Machine, Session};
///
/// let machine = Machine { threads: 64, memory_budget: Some(64e9), ..Machine::default() };
/// assert!(machine.is_consistent());
/// let session = Session::builder().machine(machine).threads(2).build()?;
/// assert_eq!(session.options().machine.threads, 64);
/// # Ok::<(), fuseline::Error>(())
/// ```
#[doc(inline)]
pub use fuseline_passes::machine::Machine;
/// What is simplified across the blocks and functions of a script; see [`CompileOptions::program`].
///
/// ```
/// use fuseline::{CompileOptions, ProgramOptions, Session};
///
/// let options = CompileOptions { program: ProgramOptions::NONE, ..CompileOptions::default() };
/// assert!(!Session::new(options)?.options().program.inlining);
/// # Ok::<(), fuseline::Error>(())
/// ```
#[doc(inline)]
pub use fuseline_passes::program::ProgramOptions;
/// How fusion plans are looked for; see [`CompileOptions::enumeration`].
///
/// ```
/// use fuseline::{CompileOptions, Enumeration};
///
/// let options = CompileOptions { enumeration: "all".parse()?, ..CompileOptions::default() };
/// assert_eq!(options.enumeration, Enumeration::All);
/// assert_eq!(Enumeration::default().mnemonic(), "exact");
/// # Ok::<(), String>(())
/// ```
#[doc(inline)]
pub use fuseline_passes::select::Enumeration;

/// A folder that keeps machine code and plans. Sessions open that of [`CompileOptions::code_folder`]; this tells if they can.
///
/// ```
/// use fuseline::CodeFolder;
///
/// let folder = tempfile::tempdir()?;
/// assert!(CodeFolder::open(&folder.path().join("code")).is_ok());
/// # Ok::<(), std::io::Error>(())
/// ```
#[doc(inline)]
pub use fuseline_runtime::CodeFolder;
/// Why a folder cannot keep code.
///
/// ```
/// use fuseline::{CodeFolder, CodeFolderError};
///
/// let file = tempfile::NamedTempFile::new()?;
/// assert!(matches!(CodeFolder::open(file.path()), Err(CodeFolderError::Io(_))));
/// # Ok::<(), std::io::Error>(())
/// ```
#[doc(inline)]
pub use fuseline_runtime::CodeFolderError;
/// What observers of a compilation get, stage by stage.
///
/// ```
/// use fuseline::{CompileStage, Session};
///
/// let session = Session::builder().build()?;
/// let script = session.compile_script("<text>", "print(sum(rand(rows=100, cols=100)))", &[])?;
/// let mut operators = 0;
/// session.compile_blocks(&script, &mut |_, stage| {
///     if let CompileStage::Rewritten(dag, _) = stage {
///         operators += dag.hops.len();
///     }
/// })?;
/// assert!(operators > 0);
/// # Ok::<(), fuseline::Error>(())
/// ```
#[doc(inline)]
pub use fuseline_runtime::CompileStage;
/// What tells the environments of plans apart.
///
/// ```
/// use fuseline::CompileOptions;
///
/// let default = CompileOptions::default();
/// let strict = CompileOptions { strict_ieee: true, ..default.clone() };
/// assert_ne!(strict.environment().fingerprint(), default.environment().fingerprint());
/// ```
#[doc(inline)]
pub use fuseline_runtime::Fingerprint;
/// A list of a script.
///
/// ```
/// use fuseline::{List, RuntimeValue};
///
/// let list = List::unnamed([RuntimeValue::from(1.5), RuntimeValue::from("text")]);
/// assert_eq!(list.elements[0].value.as_f64(), Some(1.5));
/// ```
#[doc(inline)]
pub use fuseline_runtime::List;
/// An element of a [`List`], with its name where it has one.
///
/// ```
/// use fuseline::{List, ListElement};
///
/// let list = List { elements: vec![ListElement::new(Some("rate".to_owned()), 0.5.into())] };
/// assert_eq!(list.elements[0].name.as_deref(), Some("rate"));
/// ```
#[doc(inline)]
pub use fuseline_runtime::ListElement;
/// The most threads that a session takes.
///
/// ```
/// use fuseline::{MOST_THREADS, Session};
///
/// assert!(Session::builder().threads(MOST_THREADS + 1).build().is_err());
/// ```
#[doc(inline)]
pub use fuseline_runtime::MOST_THREADS;
/// How operators are fused, or that they are not; see [`SessionBuilder::mode`].
///
/// ```
/// use fuseline::{Matrix, Mode, Session};
///
/// let unfused = Session::builder().mode(Mode::Base).build()?;
/// let x = Matrix::full(100, 100, 2.0);
/// let (_, statistics) = unfused.eval_with_statistics((&x * &x).sum())?;
/// assert!(statistics.fused_operators.is_empty());
/// # Ok::<(), fuseline::Error>(())
/// ```
#[doc(inline)]
pub use fuseline_runtime::Mode;
/// All that decides plans besides program and sizes; see [`CompileOptions::environment`].
///
/// ```
/// use fuseline::{CompileOptions, Mode};
///
/// let environment = CompileOptions { mode: Mode::Base, ..CompileOptions::default() }.environment();
/// assert!(environment.policy().is_none());
/// assert_eq!(environment.machine().cluster, None);
/// ```
#[doc(inline)]
pub use fuseline_runtime::OptimizerEnvironment;
/// How far the runs of a session are; as in the example of [`Session::progress`].
#[doc(inline)]
pub use fuseline_runtime::Progress;
/// The value of a variable. The example makes some and reads them.
///
/// ```
/// use fuseline::{RuntimeValue, Value, ndarray::array};
///
/// let matrix = RuntimeValue::from(array![[1.0, 2.0]]);
/// assert_eq!(matrix.size().known_dims(), Some((1, 2)));
/// assert_eq!(RuntimeValue::from(3_i64).as_f64(), Some(3.0));
/// assert_eq!(RuntimeValue::from("text"), RuntimeValue::Scalar(Value::Str("text".to_owned())));
/// ```
#[doc(inline)]
pub use fuseline_runtime::RuntimeValue;
/// What a run did: times, operators and memory.
///
/// ```
/// use fuseline::{Matrix, Session, ndarray::Array2};
///
/// let session = Session::builder().build()?;
/// let x = Matrix::from(Array2::from_elem((1000, 100), 0.5));
/// let (_, statistics) = session.eval_with_statistics((&x * &x + 1.0).sum())?;
/// assert_eq!(statistics.fused_operators.values().sum::<u64>(), 1);
/// assert!(statistics.to_text().contains("optimize"));
/// # Ok::<(), fuseline::Error>(())
/// ```
#[doc(inline)]
pub use fuseline_runtime::Statistics;
/// Variables by name: what a script starts with and leaves.
///
/// ```
/// use fuseline::{Session, Variables};
///
/// let session = Session::builder().build()?;
/// let script = session.compile_script("<text>", "y = 2.0", &[])?;
/// let variables: Variables = session.run(&script, Variables::new(), &mut std::io::sink())?.variables;
/// assert_eq!(variables["y"].as_f64(), Some(2.0));
/// # Ok::<(), fuseline::Error>(())
/// ```
#[doc(inline)]
pub use fuseline_runtime::Variables;

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The examples of the guide are tests, too.
#[cfg(doctest)]
mod guide {
    #[doc = include_str!("../docs/guide/src/first-fusion.md")]
    struct FirstFusion;
    #[doc = include_str!("../docs/guide/src/compiled.md")]
    struct Compiled;
    #[doc = include_str!("../docs/guide/src/plans.md")]
    struct Plans;
    #[doc = include_str!("../docs/guide/src/sparse.md")]
    struct Sparse;
    #[doc = include_str!("../docs/guide/src/scripts.md")]
    struct Scripts;
    #[doc = include_str!("../docs/guide/src/performance.md")]
    struct Performance;
}
