//! Size propagation across the blocks of a program and through its functions.
//!
//! Every step maps blocks and what holds before them to blocks with sizes and what holds after them. A loop repeats
//! that until what holds before its body no longer changes, and its body gets sizes after that; branches join. A function is analysed once per signature,
//! the facts of its arguments; its blocks then get the sizes that hold for all of its calls. Nothing is asked of what
//! follows a `stop` that surely runs.
//!
//! Constant propagation is the same walk: what it knows of scalars becomes literals, and branches that never hold go.

use super::dag::{Literals, propagate};
use super::environment::{FileSizes, NoFiles, OneSided, SizeEnvironment, VariableFacts};
use super::error::ValidationError;
use crate::blocks::{Mentions, Place, Sequence};
use fuseline_ir::hop::{Function as Builtin, HopDag, HopOp};
use fuseline_ir::program::{Call, Function, Parameter, Predicate, Program, StatementBlock};
use fuseline_ir::types::{DataType, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

/// A function that is called with more different signatures than this is analysed for unknown sizes.
const MAX_SIGNATURES: usize = 16;

/// Propagates sizes through a whole program, given what is known of the variables that it starts with and of files.
/// Returns what is known at its end.
///
/// # Errors
/// Shapes or types do not fit. Branches whose condition is known never to hold are not looked at.
pub fn propagate_sizes(
    program: &mut Program,
    inputs: &SizeEnvironment,
    files: &dyn FileSizes,
) -> Result<SizeEnvironment, ValidationError> {
    let mut environment = inputs.clone();
    walk(program, &mut environment, files, Literals::OfSizes)?;
    Ok(environment)
}

/// Replaces scalars of which the text of the program tells the value by literals, across blocks and through functions,
/// and branches on such conditions by what they choose. What only run time knows, as the sizes of files, changes
/// nothing, and what changes in a loop is no constant in it. `inputs` are the variables that the program starts with.
///
/// # Errors
/// Shapes or types do not fit; the program is then unchanged.
pub fn propagate_constants(program: &mut Program, inputs: &SizeEnvironment) -> Result<(), ValidationError> {
    walk(program, &mut inputs.clone(), &NoFiles, Literals::Everywhere)?;
    Ok(())
}

/// Gives the blocks of a program sizes, and returns how often it looked at a DAG for that.
pub(super) fn walk(
    program: &mut Program,
    environment: &mut SizeEnvironment,
    files: &dyn FileSizes,
    wanted: Literals,
) -> Step<usize> {
    let mut walk = Walk::new(program, files, wanted);
    let body = walk.blocks(&program.body, environment)?;
    let mut functions = program.functions.clone();
    for (name, function) in &mut functions {
        if let Some(mut parameters) = walk.of_all_calls(name) {
            walk.heads.clear();
            function.body = walk.blocks(&program.functions[name].body, &mut parameters)?;
        }
    }
    let visits = walk.visits;
    (program.body, program.functions) = (body, functions);
    Ok(visits)
}

/// One way in which a function is called.
struct Signature {
    parameters: SizeEnvironment,
    /// What its results are; `None` while its body is being analysed (it is recursive).
    results: Option<Vec<VariableFacts>>,
}

struct Walk<'a> {
    functions: &'a BTreeMap<String, Function>,
    files: &'a dyn FileSizes,
    wanted: Literals,
    mentions: Mentions,
    signatures: BTreeMap<String, Vec<Signature>>,
    /// For each loop what held before its body in every iteration so far, of the variables that it mentions.
    heads: HashMap<Place, SizeEnvironment>,
    /// Whether only what holds after blocks is asked for, not the blocks with sizes.
    is_solving: bool,
    /// Last-level blocks that were looked at.
    visits: usize,
}

type Step<T> = Result<T, ValidationError>;

impl<'a> Walk<'a> {
    fn new(program: &'a Program, files: &'a dyn FileSizes, wanted: Literals) -> Self {
        Walk {
            functions: &program.functions,
            files,
            wanted,
            mentions: Mentions::of_program(program),
            signatures: BTreeMap::new(),
            heads: HashMap::new(),
            is_solving: false,
            visits: 0,
        }
    }

    fn blocks(&mut self, blocks: &[StatementBlock], environment: &mut SizeEnvironment) -> Step<Vec<StatementBlock>> {
        let mut sequence = Sequence::default();
        for block in blocks {
            if environment.is_unreachable() {
                sequence.push(block.clone());
            } else {
                self.block(block, environment, &mut sequence)?;
            }
        }
        Ok(sequence.finish())
    }

    /// Appends what becomes of a block to a sequence.
    fn block(
        &mut self,
        block: &StatementBlock,
        environment: &mut SizeEnvironment,
        sequence: &mut Sequence,
    ) -> Step<()> {
        match block {
            StatementBlock::Basic(dag) => {
                let sized = self.dag(dag, environment)?;
                if stops(dag) {
                    environment.end();
                }
                sequence.push(StatementBlock::Basic(sized));
            }
            StatementBlock::Call(call) => sequence.push(StatementBlock::Call(self.call(call, environment)?)),
            _ => {
                let mut scope = environment.part(&self.mentions.of(block));
                self.nested(block, &mut scope, sequence)?;
                environment.update(scope);
            }
        }
        Ok(())
    }

    /// Appends what becomes of a loop or a branch to a sequence.
    fn nested(
        &mut self,
        block: &StatementBlock,
        environment: &mut SizeEnvironment,
        sequence: &mut Sequence,
    ) -> Step<()> {
        match block {
            StatementBlock::Basic(_) | StatementBlock::Call(_) => sequence.push(block.clone()),
            StatementBlock::If { predicate, then_body, else_body, span } => {
                let (predicate, value) = self.predicate(predicate, environment)?;
                match (truth(&value), self.wanted) {
                    (Some(holds), Literals::Everywhere) if !value.may_be_missing => {
                        let chosen = self.blocks(if holds { then_body } else { else_body }, environment)?;
                        sequence.splice(predicate.prelude);
                        sequence.splice(chosen);
                    }
                    (decision, _) => {
                        let (then_body, else_body) = self.branches(decision, then_body, else_body, environment)?;
                        sequence.push(StatementBlock::If { predicate, then_body, else_body, span: *span });
                    }
                }
            }
            StatementBlock::While { predicate, body, span } => {
                self.repeat(block, environment, &mut |walk, environment| {
                    walk.predicate(predicate, environment)?;
                    walk.blocks(body, environment)
                })?;
                // The loop ends after its condition, which may have run function calls, was evaluated.
                let (predicate, _) = self.predicate(predicate, environment)?;
                let body = self.body(body, environment.clone())?;
                sequence.push(StatementBlock::While { predicate, body, span: *span });
            }
            StatementBlock::For { variable, from, to, by, body, parallel, span } => {
                let (from, first) = self.predicate(from, environment)?;
                let (to, _) = self.predicate(to, environment)?;
                let by = by.as_ref().map(|by| self.predicate(by, environment)).transpose()?;
                let (by, step) = by.map_or((None, None), |(by, step)| (Some(by), Some(step)));
                let counter = VariableFacts::of_type(counter_type(&first, step.as_ref()));
                self.repeat(block, environment, &mut |walk, environment| {
                    environment.set(variable, counter.clone());
                    walk.blocks(body, environment)
                })?;
                let mut inside = environment.clone();
                inside.set(variable, counter);
                let body = self.body(body, inside)?;
                let (variable, parallel, span) = (variable.clone(), *parallel, *span);
                sequence.push(StatementBlock::For { variable, from, to, by, body, parallel, span });
            }
        }
        Ok(())
    }

    /// Walks a loop's body until what holds before it holds after it as well, and leaves that in `environment`.
    ///
    /// A loop within loops is met once for each of their iterations, with less known each time. It goes on from what
    /// held before its body so far, and there is nothing to do where that holds for what it is met with too: so the work
    /// does not multiply with each level.
    fn repeat(
        &mut self,
        block: &StatementBlock,
        environment: &mut SizeEnvironment,
        iterate: &mut dyn FnMut(&mut Self, &mut SizeEnvironment) -> Step<Vec<StatementBlock>>,
    ) -> Step<()> {
        let known = self.heads.get(&Place::from(block));
        let entry = std::mem::take(environment);
        let mut head = match known {
            Some(known) => known.clone().join_repetition(entry, self.one_sided()),
            None => entry,
        };
        if known != Some(&head) {
            let is_solving = std::mem::replace(&mut self.is_solving, true);
            loop {
                let mut after = head.clone();
                iterate(self, &mut after)?;
                let joined = head.clone().join_repetition(after, self.one_sided());
                if joined == head {
                    break;
                }
                head = joined;
            }
            self.is_solving = is_solving;
            self.heads.insert(Place::from(block), head.clone());
        }
        *environment = head;
        Ok(())
    }

    /// The body of a loop with the sizes that hold in all iterations, if they are asked for.
    fn body(&mut self, body: &[StatementBlock], mut environment: SizeEnvironment) -> Step<Vec<StatementBlock>> {
        if self.is_solving { Ok(Vec::new()) } else { self.blocks(body, &mut environment) }
    }

    fn one_sided(&self) -> OneSided {
        match self.wanted {
            Literals::OfSizes => OneSided::KeepsSize,
            Literals::Everywhere => OneSided::KeepsType,
        }
    }

    fn dag(&mut self, dag: &HopDag, environment: &mut SizeEnvironment) -> Step<HopDag> {
        self.visits += 1;
        propagate(dag, environment, self.files, self.wanted)
    }

    /// The predicate with sizes, and what is known of its value.
    fn predicate(
        &mut self,
        predicate: &Predicate,
        environment: &mut SizeEnvironment,
    ) -> Step<(Predicate, VariableFacts)> {
        let prelude = self.blocks(&predicate.prelude, environment)?;
        let dag = self.dag(&predicate.dag, environment)?;
        let value = environment.take(Predicate::VALUE);
        Ok((Predicate { prelude, dag }, value.unwrap_or_else(|| VariableFacts::of_type(DataType::Unknown))))
    }

    fn branches(
        &mut self,
        decision: Option<bool>,
        then_body: &[StatementBlock],
        else_body: &[StatementBlock],
        environment: &mut SizeEnvironment,
    ) -> Step<(Vec<StatementBlock>, Vec<StatementBlock>)> {
        match decision {
            Some(false) => Ok((then_body.to_vec(), self.blocks(else_body, environment)?)),
            Some(true) => Ok((self.blocks(then_body, environment)?, else_body.to_vec())),
            None => {
                let mut otherwise = environment.clone();
                let then_body = self.blocks(then_body, environment)?;
                let else_body = self.blocks(else_body, &mut otherwise)?;
                *environment = std::mem::take(environment).join(otherwise, self.one_sided());
                Ok((then_body, else_body))
            }
        }
    }

    fn call(&mut self, call: &Call, environment: &mut SizeEnvironment) -> Step<Call> {
        let reads: BTreeSet<Rc<str>> = call.arguments.reads().map(|(_, name)| Rc::from(name)).collect();
        let mut scope = environment.part(&reads);
        let arguments = self.dag(&call.arguments, &mut scope)?;
        let given = |name: &str| {
            let is_given = arguments.outputs.iter().any(|output| output.name == name);
            scope.get(name).filter(|_| is_given)
        };
        if let Some(function) = self.functions.get(&call.function) {
            let parameters = function.parameters.iter().map(|parameter| {
                let facts = given(&parameter.name).cloned();
                let facts = facts.unwrap_or_else(|| unknown(parameter));
                (parameter.name.clone(), declared(parameter, facts))
            });
            let results = self.results(&call.function, function, parameters.collect());
            let results = results.map_err(|error| error.called(&call.function, call.span))?;
            for (target, facts) in call.targets.iter().zip(results) {
                if let Some(target) = target {
                    environment.set(target, facts);
                }
            }
        } else {
            for target in call.targets.iter().flatten() {
                environment.set(target, VariableFacts::of_type(DataType::Unknown));
            }
        }
        Ok(Call { arguments, ..call.clone() })
    }

    /// What is known of the results of a function on these arguments.
    fn results(&mut self, name: &str, function: &Function, parameters: SizeEnvironment) -> Step<Vec<VariableFacts>> {
        let signatures = self.signatures.entry(name.to_owned()).or_default();
        let nothing = || function.results.iter().map(unknown).collect();
        if let Some(known) = signatures.iter().find(|signature| signature.parameters == parameters) {
            return Ok(known.results.clone().unwrap_or_else(nothing));
        }
        let is_last = signatures.len() == MAX_SIGNATURES;
        if signatures.len() > MAX_SIGNATURES {
            return Ok(signatures[MAX_SIGNATURES].results.clone().unwrap_or_else(nothing));
        }
        let parameters = if is_last { without_sizes(function) } else { parameters };
        let index = signatures.len();
        signatures.push(Signature { parameters: parameters.clone(), results: None });
        let mut scope = parameters;
        // What holds in its loops holds for these arguments alone.
        let heads = std::mem::take(&mut self.heads);
        let is_solving = std::mem::replace(&mut self.is_solving, true);
        self.blocks(&function.body, &mut scope)?;
        (self.heads, self.is_solving) = (heads, is_solving);
        let result = |result: &Parameter| {
            let facts = scope.get(&result.name).cloned();
            declared(result, facts.unwrap_or_else(|| unknown(result)))
        };
        let results: Vec<VariableFacts> = function.results.iter().map(result).collect();
        if let Some(signatures) = self.signatures.get_mut(name) {
            signatures[index].results = Some(results.clone());
        }
        Ok(results)
    }

    /// What holds of the parameters of a function in all of its calls; `None` where it has none.
    fn of_all_calls(&self, name: &str) -> Option<SizeEnvironment> {
        let parameters = self.signatures.get(name)?.iter().map(|signature| signature.parameters.clone());
        parameters.reduce(|a, b| a.join(b, self.one_sided()))
    }
}

/// Whether the program ends in a block.
fn stops(dag: &HopDag) -> bool {
    dag.effects.iter().any(|&effect| matches!(dag[effect].op, HopOp::Parameterized { function: Builtin::Stop, .. }))
}

/// What a condition decides, if that is known. Where computing it fails, neither branch runs.
fn truth(condition: &VariableFacts) -> Option<bool> {
    condition.value.as_ref().and_then(Value::as_f64).map(|number| number != 0.0)
}

/// The type of a loop variable: an integer when its first value and increment are.
fn counter_type(first: &VariableFacts, step: Option<&VariableFacts>) -> DataType {
    match (first.data_type, step.map_or(DataType::I64, |step| step.data_type)) {
        (DataType::I64, DataType::I64) => DataType::I64,
        (DataType::Unknown, _) | (_, DataType::Unknown) => DataType::Unknown,
        _ => DataType::F64,
    }
}

/// What is known of a parameter or result by its declaration alone.
fn unknown(parameter: &Parameter) -> VariableFacts {
    VariableFacts::of_type(parameter.data_type.declared())
}

/// Facts under the declared type of a parameter or result, which converts no numbers.
fn declared(parameter: &Parameter, facts: VariableFacts) -> VariableFacts {
    match (parameter.data_type, facts.data_type) {
        (DataType::Unknown, _) => facts,
        (declared, actual) if declared == actual => facts,
        (declared, actual) if declared.is_number() && actual.is_number() => facts,
        (DataType::MATRIX, DataType::Unknown) => VariableFacts { data_type: DataType::MATRIX, ..facts },
        _ => VariableFacts { may_be_missing: facts.may_be_missing, ..unknown(parameter) },
    }
}

fn without_sizes(function: &Function) -> SizeEnvironment {
    let parameters = function.parameters.iter();
    parameters.map(|parameter| (parameter.name.clone(), unknown(parameter))).collect()
}
