//! Prepared scripts: compiled once, run many times on matrices in memory (the paper's prepared scripts).
//!
//! A block is compiled when a run first meets it, and again only when it meets other sizes or types; a run on new data
//! of the same shape compiles nothing.

use crate::error::Error;
use crate::session::{Outcome, Script, Session};
use fuseline_ir::{DataType, Value};
use fuseline_passes::liveness::assigned_variables;
use fuseline_runtime::{CompiledBlocks, Observer, RuntimeValue, Variables};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

/// What a script takes from the program around it and gives back.
///
/// ```
/// use fuseline::{DataType, ScriptInterface, Session};
///
/// let session = Session::builder().build()?;
/// let interface = ScriptInterface {
///     arguments: &[("power", "3")],
///     inputs: &[("x", DataType::F64)],
///     outputs: &["y"],
/// };
/// let mut script = session.prepare_script("<text>", "y = x ^ $power", &interface)?;
/// assert_eq!(script.bind("x", 2.0)?.execute(&mut std::io::sink())?.scalar("y")?, 8.0);
/// # Ok::<(), fuseline::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ScriptInterface<'a> {
    /// The values of `$name` and `$1`, fixed when the script is prepared.
    pub arguments: &'a [(&'a str, &'a str)],
    /// The variables that are bound before each run, and their types. Where the script itself reads such a variable
    /// from a file (`X = read(...)`), what is bound takes the place of the file.
    pub inputs: &'a [(&'a str, DataType)],
    /// The variables to fetch after each run. Others are not computed unless these depend on them.
    pub outputs: &'a [&'a str],
}

/// A script that runs many times.
///
/// ```
/// use fuseline::ir::DataType;
/// use fuseline::{CompileOptions, Dense, ScriptInterface, Session};
///
/// let session = Session::new(CompileOptions::default())?;
/// let interface = ScriptInterface { inputs: &[("X", DataType::MATRIX)], outputs: &["s"], ..Default::default() };
/// let mut script = session.prepare_script("<text>", "s = sum(X * X + 1)", &interface)?;
/// for scale in [1.0, 2.0] {
///     script.bind("X", Dense::from_fn(10, 10, |_, _| scale))?;
///     let outcome = script.execute(&mut std::io::stdout())?;
///     assert_eq!(outcome.scalar("s")?, 100.0 * (scale * scale + 1.0));
/// }
/// # Ok::<(), fuseline::Error>(())
/// ```
#[derive(Debug)]
pub struct PreparedScript<'s> {
    session: &'s Session,
    script: Script,
    inputs: BTreeMap<String, DataType>,
    outputs: BTreeSet<String>,
    bound: Variables,
    compiled: CompiledBlocks,
}

impl Session {
    /// Parses and checks a script that will run many times. `name` is its path, for messages and relative paths.
    /// The examples of [`PreparedScript`] and [`ScriptInterface`] show it.
    ///
    /// # Errors
    /// All mistakes found, each with its place; or an output that the script never assigns.
    pub fn prepare_script(
        &self,
        name: &str,
        text: &str,
        interface: &ScriptInterface<'_>,
    ) -> Result<PreparedScript<'_>, Error> {
        let outputs: BTreeSet<String> = interface.outputs.iter().map(|name| (*name).to_owned()).collect();
        self.prepare(name, text, interface, Some(outputs))
    }

    /// Parses and checks a script of which all variables that it assigns are its outputs, in the place of those that
    /// the interface names.
    ///
    /// ```
    /// use fuseline::{ScriptInterface, Session};
    ///
    /// let session = Session::builder().build()?;
    /// let mut script = session.prepare_whole_script("<text>", "a = 1.0\nb = a + 1", &ScriptInterface::default())?;
    /// let outcome = script.execute(&mut std::io::sink())?;
    /// assert_eq!((outcome.scalar("a")?, outcome.scalar("b")?), (1.0, 2.0));
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    ///
    /// # Errors
    /// All mistakes found, each with its place.
    pub fn prepare_whole_script(
        &self,
        name: &str,
        text: &str,
        interface: &ScriptInterface<'_>,
    ) -> Result<PreparedScript<'_>, Error> {
        self.prepare(name, text, interface, None)
    }

    fn prepare(
        &self,
        name: &str,
        text: &str,
        interface: &ScriptInterface<'_>,
        outputs: Option<BTreeSet<String>>,
    ) -> Result<PreparedScript<'_>, Error> {
        let inputs: BTreeMap<String, DataType> =
            interface.inputs.iter().map(|(name, data_type)| ((*name).to_owned(), *data_type)).collect();
        let script = self.compile_interface(name, text, interface.arguments, &inputs, outputs.as_ref())?;
        let outputs = outputs.unwrap_or_else(|| assigned_variables(script.program()));
        Ok(PreparedScript {
            session: self,
            script,
            inputs,
            outputs,
            bound: Variables::new(),
            compiled: CompiledBlocks::default(),
        })
    }
}

impl PreparedScript<'_> {
    /// Gives an input its value for the runs to come, until it is bound again. Matrices are shared, not copied.
    /// The example of [`PreparedScript`] shows it.
    ///
    /// # Errors
    /// The script has no such input, or the value is not of its type; integers pass as doubles.
    pub fn bind(&mut self, name: &str, value: impl Into<RuntimeValue>) -> Result<&mut Self, Error> {
        let Some(&expected) = self.inputs.get(name) else {
            let known = self.inputs.keys().cloned().collect();
            return Err(Error::NoSuchInput { name: name.to_owned(), known });
        };
        let value = as_declared(name, value.into(), expected)?;
        self.bound.insert(name.to_owned(), value);
        Ok(self)
    }

    /// Runs the script on what is bound; what it prints goes to `output`. The outcome holds the outputs, and the
    /// statistics of this run alone. As in the example of [`PreparedScript`].
    ///
    /// # Errors
    /// An input that was never bound, or the first error of the script, with its place.
    pub fn execute(&mut self, output: &mut (dyn Write + Send)) -> Result<Outcome, Error> {
        self.execute_with(output, None)
    }

    /// Runs the script as [`PreparedScript::execute`] does; `observer` gets every stage of what is compiled for it, which is
    /// nothing where an earlier run had matrices of these sizes.
    ///
    /// ```
    /// use fuseline::{DataType, ScriptInterface, Session, ndarray::Array2};
    ///
    /// let session = Session::builder().build()?;
    /// let interface = ScriptInterface { inputs: &[("X", DataType::MATRIX)], outputs: &["s"], ..Default::default() };
    /// let mut script = session.prepare_script("<text>", "s = sum(X * X)", &interface)?;
    /// script.bind("X", Array2::from_elem((10, 10), 0.5))?;
    /// for is_first in [true, false] {
    ///     let mut stages = 0;
    ///     script.execute_observed(&mut std::io::sink(), &mut |_| stages += 1)?;
    ///     assert_eq!(stages > 0, is_first);
    /// }
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    ///
    /// # Errors
    /// An input that was never bound, or the first error of the script, with its place.
    pub fn execute_observed(
        &mut self,
        output: &mut (dyn Write + Send),
        observer: &mut Observer<'_>,
    ) -> Result<Outcome, Error> {
        self.execute_with(output, Some(observer))
    }

    fn execute_with(
        &mut self,
        output: &mut (dyn Write + Send),
        observer: Option<&mut Observer<'_>>,
    ) -> Result<Outcome, Error> {
        if let Some(name) = self.inputs.keys().find(|name| !self.bound.contains_key(*name)) {
            return Err(Error::UnboundInput(name.clone()));
        }
        let bound = self.bound.clone();
        let mut outcome = self.session.run_compiled(&self.script, &mut self.compiled, bound, output, observer)?;
        outcome.variables.retain(|name, _| self.outputs.contains(name));
        self.session.finished(outcome)
    }
}

/// The value of an input as one of its declared type.
///
/// # Errors
/// It is none; integers pass as doubles.
pub(crate) fn as_declared(name: &str, value: RuntimeValue, declared: DataType) -> Result<RuntimeValue, Error> {
    match value {
        RuntimeValue::Scalar(Value::I64(number)) if declared == DataType::F64 => Ok((number as f64).into()),
        value if declared == DataType::Unknown || value.data_type() == declared => Ok(value),
        value => Err(Error::InputType { name: name.to_owned(), expected: declared, actual: value.data_type() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::CompileOptions;
    use fuseline_matrix::Dense;

    /// Blocks that a run of a script compiles, beside those that runs before it did.
    fn compiled(session: &Session, script: &Script, blocks: &mut CompiledBlocks) -> u64 {
        let x = Dense::from_fn(100, 100, |row, column| (row + column) as f64);
        let variables = Variables::from([("X".to_owned(), x.into())]);
        let outcome = session.run_compiled(script, blocks, variables, &mut std::io::sink(), None);
        outcome.expect("the script runs").statistics.dags_optimized
    }

    /// A machine, or a budget of plans, that changes makes other plans.
    #[test]
    fn blocks_are_found_in_the_same_environment_alone() {
        let default = CompileOptions::default();
        let session = Session::new(default.clone()).expect("there are threads");
        let inputs = BTreeMap::from([("X".to_owned(), DataType::MATRIX)]);
        let script = session.compile_interface("<text>", "s = sum(X * X + 1)", &[], &inputs, None);
        let (script, blocks) = (script.expect("the script is right"), &mut CompiledBlocks::default());
        assert!(compiled(&session, &script, blocks) > 0);
        assert_eq!(compiled(&session, &script, blocks), 0);
        let mut slower = default.machine.clone();
        slower.memory.read /= 2.0;
        for options in [
            CompileOptions { plan_memory_budget: Some(1 << 10), ..default.clone() },
            CompileOptions { machine: slower, ..default },
        ] {
            let other = session.reconfigured(options).expect("there are threads");
            assert!(compiled(&other, &script, blocks) > 0);
            assert_eq!(compiled(&other, &script, blocks), 0);
        }
        assert_eq!(compiled(&session, &script, blocks), 0);
    }
}
