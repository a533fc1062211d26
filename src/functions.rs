//! Functions written in DML, called like functions of Rust.

use crate::error::Error;
use crate::prepared::{PreparedScript, ScriptInterface};
use crate::session::Session;
use fuseline_ir::DataType;
use fuseline_runtime::RuntimeValue;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The functions that a script defines, and those of the script library.
///
/// ```
/// use fuseline::{RuntimeValue, Session, ndarray::array};
///
/// let session = Session::builder().build()?;
/// let script = session.script(
///     "scaled = function(matrix[double] X, double c = 2) return (matrix[double] Y, double total) {
///          Y = X * c
///          total = sum(Y)
///      }",
/// );
/// let x = RuntimeValue::from(array![[1.0, 2.0]]);
/// let [y, total] = script.call("scaled", &[("X", x.clone()), ("c", 3.0.into())])?;
/// assert_eq!(y.size().known_dims(), Some((1, 2)));
/// assert_eq!(total.as_f64(), Some(9.0));
/// let [scaled, _centres, _scales] = script.call("scale", &[("X", x)])?;
/// assert_eq!(scaled.size().known_dims(), Some((1, 2)));
/// # Ok::<(), fuseline::Error>(())
/// ```
#[derive(Debug)]
pub struct ScriptFunctions<'s> {
    session: &'s Session,
    text: String,
    /// The calls that were prepared and that nobody runs now.
    idle: Mutex<HashMap<Call, Vec<PreparedScript<'s>>>>,
}

/// What calls that are one script have in common.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Call {
    function: String,
    arguments: Vec<(String, DataType)>,
    results: usize,
}

impl Session {
    /// The functions of a script, to be called. It is parsed when one of them is called first; statements beside functions
    /// run with each call.
    ///
    /// ```
    /// use fuseline::Session;
    ///
    /// let session = Session::builder().build()?;
    /// let script = session.script("half = function(double x) return (double y) { y = x / 2 }");
    /// let [half] = script.call("half", &[("x", 3.0.into())])?;
    /// assert_eq!(half.as_f64(), Some(1.5));
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    pub fn script(&self, text: &str) -> ScriptFunctions<'_> {
        ScriptFunctions { session: self, text: text.to_owned(), idle: Mutex::default() }
    }
}

impl<'s> ScriptFunctions<'s> {
    /// Calls a function with arguments by name, or by position where a name is empty, and gives as many of its results as are
    /// asked for, which must be all. A call with arguments of the same types again compiles only what meets other sizes.
    /// The example of [`ScriptFunctions`] shows it.
    ///
    /// # Errors
    /// Mistakes of the script, with their places; another number of results; what fails while the function runs.
    pub fn call<const N: usize>(
        &self,
        function: &str,
        arguments: &[(&str, RuntimeValue)],
    ) -> Result<[RuntimeValue; N], Error> {
        let types = arguments.iter().map(|(name, value)| ((*name).to_owned(), value.data_type())).collect();
        let call = Call { function: function.to_owned(), arguments: types, results: N };
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).get_mut(&call).and_then(Vec::pop);
        let mut script = match idle {
            Some(script) => script,
            None => self.prepare(&call)?,
        };
        for (position, (_, value)) in arguments.iter().enumerate() {
            script.bind(&argument(position), value.clone())?;
        }
        let mut outcome = script.execute(&mut std::io::stdout())?;
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).entry(call).or_default().push(script);
        let values: Vec<RuntimeValue> = (0..N).filter_map(|number| outcome.variables.remove(&result(number))).collect();
        values.try_into().map_err(|_| Error::NoSuchOutput(function.to_owned()))
    }

    /// The script that is this call.
    fn prepare(&self, call: &Call) -> Result<PreparedScript<'s>, Error> {
        let arguments = call.arguments.iter().enumerate().map(|(position, (name, _))| match name.as_str() {
            "" => argument(position),
            name => format!("{name}={}", argument(position)),
        });
        let arguments: Vec<String> = arguments.collect();
        let results: Vec<String> = (0..call.results).map(result).collect();
        let target = if results.len() == 1 { results[0].clone() } else { format!("[{}]", results.join(", ")) };
        let text = format!("{}\n{target} = {}({})\n", self.text, call.function, arguments.join(", "));
        let names: Vec<String> = (0..call.arguments.len()).map(argument).collect();
        let inputs: Vec<(&str, DataType)> =
            names.iter().zip(&call.arguments).map(|(name, (_, data_type))| (name.as_str(), *data_type)).collect();
        let outputs: Vec<&str> = results.iter().map(String::as_str).collect();
        let interface = ScriptInterface { inputs: &inputs, outputs: &outputs, ..ScriptInterface::default() };
        self.session.prepare_script(&format!("<call of {}>", call.function), &text, &interface)
    }
}

/// The variable of an argument.
fn argument(position: usize) -> String {
    format!("argument{position}")
}

/// The variable of a result.
fn result(number: usize) -> String {
    format!("result{number}")
}
