//! Nodes of the graph that expressions are: values, symbols for values to come, and operations.

use super::failure::{Described, ExprError, Place};
use super::while_loop::WhileLoop;
use foldhash::{HashSet, HashSetExt};
use fuseline_ir::hop::infer::ShapeError;
use fuseline_ir::hop::{Hop, HopDag, HopId, HopOp, Inputs, ShapeOp};
use fuseline_ir::{DataType, SizeInfo, Value};
use fuseline_matrix::MatrixBlock;
use fuseline_runtime::RuntimeValue;
use smallvec::SmallVec;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// An expression of any type; cheap to clone.
///
/// [`Matrix`](super::Matrix) and [`Scalar`](super::Scalar) are expressions whose type the compiler knows. This one is for
/// what applies operations by value, such as the bindings of another language.
///
/// ```
/// use fuseline::ir::ops::BinaryOp;
/// use fuseline::{Expr, Matrix, Session, ndarray::array};
///
/// let x = Expr::from(Matrix::from(array![[1.0, 2.0]]));
/// let sum = Expr::apply(BinaryOp::Plus, &[&x, &x]);
/// let values = Session::builder().build()?.eval([&sum])?;
/// assert_eq!(values[0].size().known_dims(), Some((1, 2)));
/// # Ok::<(), fuseline::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Expr(Arc<Node>);

/// The operands of an operation.
pub(super) type Operands = SmallVec<[Expr; 3]>;

#[derive(Debug)]
struct Node {
    place: Place,
    data_type: DataType,
    size: SizeInfo,
    /// Operations on the longest way to a value that is there.
    depth: AtomicU32,
    /// Whether it is a symbol or built on one.
    is_symbolic: bool,
    /// Whether the value stays once it was computed for others.
    is_kept: AtomicBool,
    state: Mutex<State>,
}

/// What a node stands for.
#[derive(Clone, Debug)]
pub(super) enum State {
    /// A value that is there: given, or computed before.
    Value(RuntimeValue),
    /// A value that is bound before each run.
    Symbol(Arc<str>),
    /// An operation on others.
    Operation(HopOp, Operands),
    /// One of the values that a loop ends with.
    LoopResult(Arc<WhileLoop>, usize),
    /// What could not be built.
    Failed(Arc<ExprError>),
}

impl Expr {
    /// A value that is there.
    ///
    /// ```
    /// use fuseline::{Expr, Matrix, RuntimeValue};
    ///
    /// assert_eq!(Expr::value(2.5).known_value(), Some(RuntimeValue::from(2.5)));
    /// assert!(Matrix::full(1, 1, 2.5).as_expr().known_value().is_none(), "it is yet to be computed");
    /// ```
    #[track_caller]
    pub fn value(value: impl Into<RuntimeValue>) -> Expr {
        Expr::value_at(value, Place::Rust(std::panic::Location::caller()))
    }

    /// A value that is there, as written at a place.
    ///
    /// ```
    /// use fuseline::{Expr, Place};
    /// use std::sync::Arc;
    ///
    /// let value = Expr::value_at(2.5, Place::Foreign(Arc::new("line 7 of model.jl")));
    /// assert_eq!(value.place().to_string(), "line 7 of model.jl");
    /// ```
    pub fn value_at(value: impl Into<RuntimeValue>, place: Place) -> Expr {
        let value = value.into();
        let (data_type, size) = (value.data_type(), value.size());
        Expr::node(place, data_type, size, 0, State::Value(value))
    }

    /// A value that is bound before each run of what is compiled, of this type and size as far as it is known.
    ///
    /// ```
    /// use fuseline::{DataType, Expr, SizeInfo};
    ///
    /// let x = Expr::symbol("X", DataType::MATRIX, SizeInfo::UNKNOWN);
    /// assert_eq!((x.data_type(), x.size(), x.is_symbolic()), (DataType::MATRIX, SizeInfo::UNKNOWN, true));
    /// ```
    #[track_caller]
    pub fn symbol(name: &str, data_type: DataType, size: SizeInfo) -> Expr {
        Expr::symbol_at(name, data_type, size, Place::Rust(std::panic::Location::caller()))
    }

    /// A symbol as written at a place; see [`Expr::symbol`] and [`Expr::value_at`].
    pub fn symbol_at(name: &str, data_type: DataType, size: SizeInfo, place: Place) -> Expr {
        Expr::node(place, data_type, size, 0, State::Symbol(name.into()))
    }

    /// An operation on expressions. As in the example of [`Expr`].
    #[track_caller]
    pub fn apply(op: impl Into<HopOp>, operands: &[&Expr]) -> Expr {
        Expr::apply_at(op, operands, Place::Rust(std::panic::Location::caller()))
    }

    /// An operation as written at a place; see [`Expr::apply`] and [`Expr::value_at`].
    pub fn apply_at(op: impl Into<HopOp>, operands: &[&Expr], place: Place) -> Expr {
        let op = op.into();
        if let Some(failed) = operands.iter().find_map(|operand| operand.failure()) {
            return Expr::failed_before(failed, place);
        }
        match inferred(&op, operands) {
            Ok((data_type, size)) => {
                let depth = 1 + operands.iter().map(|operand| operand.depth()).max().unwrap_or(0);
                let operands = operands.iter().map(|&operand| operand.clone()).collect();
                Expr::node(place, data_type, size, depth, State::Operation(op, operands))
            }
            Err(error) => Expr::failed(error, operands, place),
        }
    }

    /// An operation that cannot be.
    pub(super) fn failed(error: ShapeError, operands: &[&Expr], place: Place) -> Expr {
        let described = |operand: &&Expr| Described {
            data_type: operand.data_type(),
            size: operand.size(),
            place: operand.0.place.clone(),
        };
        let error = ExprError { error, place: place.clone(), operands: operands.iter().map(described).collect() };
        Expr::node(place, DataType::MATRIX, SizeInfo::UNKNOWN, 0, State::Failed(Arc::new(error)))
    }

    /// What failed before.
    pub(super) fn failed_before(error: Arc<ExprError>, place: Place) -> Expr {
        Expr::node(place, DataType::MATRIX, SizeInfo::UNKNOWN, 0, State::Failed(error))
    }

    /// A value that a loop ends with, of the type and size that the loop's symbol for it has.
    pub(super) fn loop_result(of: &Arc<WhileLoop>, position: usize, symbol: &Expr, place: Place) -> Expr {
        let depth = 1 + of.operands().iter().map(Expr::depth).max().unwrap_or(0);
        Expr::node(place, symbol.data_type(), symbol.size(), depth, State::LoopResult(Arc::clone(of), position))
    }

    fn node(place: Place, data_type: DataType, size: SizeInfo, depth: u32, state: State) -> Expr {
        let is_symbolic = match &state {
            State::Symbol(_) => true,
            State::Operation(_, operands) => operands.iter().any(Expr::is_symbolic),
            State::LoopResult(of, _) => of.operands().iter().any(Expr::is_symbolic),
            State::Value(_) | State::Failed(_) => false,
        };
        Expr(Arc::new(Node {
            place,
            data_type,
            size,
            depth: depth.into(),
            is_symbolic,
            is_kept: AtomicBool::new(false),
            state: Mutex::new(state),
        }))
    }

    /// The type of the value. As in the example of [`Expr::symbol`].
    pub fn data_type(&self) -> DataType {
        self.0.data_type
    }

    /// The size of a matrix, as far as it is known before anything is computed. As in the example of [`Expr::symbol`].
    pub fn size(&self) -> SizeInfo {
        match &*self.state() {
            State::Value(value) => value.size(),
            _ => self.0.size,
        }
    }

    /// Whether it is a symbol, or built on one. As in the example of [`Expr::symbol`].
    pub fn is_symbolic(&self) -> bool {
        self.0.is_symbolic
    }

    /// Asks that the value stays once it was computed on the way to others, and not only where it is wanted itself: it is
    /// needed again and again. Products and transposes alone, which read it in another way, do not count.
    ///
    /// ```
    /// use fuseline::{Matrix, Session};
    ///
    /// let squares = Matrix::full(10, 10, 0.5).square();
    /// squares.as_expr().keep();
    /// assert_eq!(Session::builder().build()?.eval((&squares + 1.0).sum())?, 125.0);
    /// assert!(squares.as_expr().known_value().is_some());
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    pub fn keep(&self) {
        self.0.is_kept.store(true, Ordering::Relaxed);
    }

    /// Whether the value is to stay.
    pub(super) fn is_kept(&self) -> bool {
        self.0.is_kept.load(Ordering::Relaxed)
    }

    /// Where it was written. As in the example of [`Expr::value_at`].
    pub fn place(&self) -> &Place {
        &self.0.place
    }

    /// The value, where it is there: given, or computed before. As in the example of [`Expr::value`].
    pub fn known_value(&self) -> Option<RuntimeValue> {
        match &*self.state() {
            State::Value(value) => Some(value.clone()),
            _ => None,
        }
    }

    /// The name, where it is a symbol.
    pub(super) fn symbol_name(&self) -> Option<Arc<str>> {
        match &*self.state() {
            State::Symbol(name) => Some(Arc::clone(name)),
            _ => None,
        }
    }

    /// Why the expression cannot be computed, where its operands do not fit. As in the example of
    /// [`ExprError`](super::ExprError).
    pub fn failure(&self) -> Option<Arc<ExprError>> {
        match &*self.state() {
            State::Failed(error) => Some(Arc::clone(error)),
            _ => None,
        }
    }

    /// Operations on the longest way to a value that is there.
    ///
    /// ```
    /// use fuseline::{Expr, Scalar};
    ///
    /// assert_eq!(Expr::value(2.5).depth(), 0);
    /// assert_eq!(Scalar::from(2.5).abs().sqrt().as_expr().depth(), 2);
    /// ```
    pub fn depth(&self) -> u32 {
        match &*self.state() {
            State::Operation(..) | State::LoopResult(..) => self.0.depth.load(Ordering::Relaxed),
            State::Value(_) | State::Symbol(_) | State::Failed(_) => 0,
        }
    }

    /// Notes the depth anew, once operands were computed.
    pub(super) fn set_depth(&self, depth: u32) {
        self.0.depth.store(depth, Ordering::Relaxed);
    }

    /// The values that computing expressions would read.
    ///
    /// ```
    /// use fuseline::{Expr, Matrix, ndarray::array};
    ///
    /// let x = Expr::from(Matrix::from(array![[1.0, 2.0]]));
    /// let sum = Expr::apply(fuseline::ir::ops::BinaryOp::Plus, &[&x, &x]);
    /// assert_eq!(Expr::values_read(&[sum]).len(), 1);
    /// ```
    pub fn values_read(exprs: &[Expr]) -> Vec<RuntimeValue> {
        let (mut seen, mut values, mut pending) = (HashSet::new(), Vec::new(), exprs.to_vec());
        while let Some(expr) = pending.pop() {
            if !seen.insert(expr.address()) {
                continue;
            }
            match &*expr.state() {
                State::Value(value) => values.push(value.clone()),
                State::Operation(_, operands) => pending.extend_from_slice(operands),
                State::LoopResult(of, _) => pending.extend(of.exprs().cloned()),
                State::Symbol(_) | State::Failed(_) => {}
            }
        }
        values
    }

    /// Whether two are the same node of a graph.
    ///
    /// ```
    /// use fuseline::Matrix;
    ///
    /// let x = Matrix::full(2, 2, 0.5);
    /// assert!(x.as_expr().is_same(x.clone().as_expr()));
    /// assert!(!x.as_expr().is_same(Matrix::full(2, 2, 0.5).as_expr()));
    /// ```
    pub fn is_same(&self, other: &Expr) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The address of the node, which no other has as long as this one is held.
    pub(super) fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes over a value that was computed; what it was computed from is given up.
    pub(super) fn resolve(&self, value: RuntimeValue) {
        let before = match &mut *self.state() {
            state @ (State::Operation(..) | State::LoopResult(..)) => std::mem::replace(state, State::Value(value)),
            _ => return,
        };
        drop(before);
    }

    /// The operation that is yet to be computed.
    pub(super) fn producer(&self) -> Option<(HopOp, Operands)> {
        match &*self.state() {
            State::Operation(op, operands) => Some((op.clone(), operands.clone())),
            _ => None,
        }
    }

    /// What an expression that is yet to be computed is computed from.
    pub(super) fn operands(&self) -> Operands {
        match &*self.state() {
            State::Operation(_, operands) => operands.clone(),
            State::LoopResult(of, _) => of.operands().into(),
            State::Value(_) | State::Symbol(_) | State::Failed(_) => Operands::new(),
        }
    }

    /// A reference that does not hold the expression.
    pub(super) fn downgrade(&self) -> WeakExpr {
        WeakExpr(Arc::downgrade(&self.0))
    }

    /// A scalar that is known while the expression is built: a literal, or a fact of a known shape.
    fn known_scalar(&self) -> Option<Value> {
        match &*self.state() {
            State::Value(RuntimeValue::Scalar(value)) => Some(value.clone()),
            State::Operation(HopOp::Shape(op), operands) => known_extent(*op, operands.first()?.size()),
            _ => None,
        }
    }
}

/// An expression that somebody else may hold.
#[derive(Debug)]
pub(super) struct WeakExpr(Weak<Node>);

impl WeakExpr {
    /// The expression, where somebody holds it.
    pub(super) fn upgrade(&self) -> Option<Expr> {
        self.0.upgrade().map(Expr)
    }
}

/// What a function of a shape gives, where the shape is known.
fn known_extent(op: ShapeOp, size: SizeInfo) -> Option<Value> {
    let extent = match op {
        ShapeOp::Nrow => size.rows,
        ShapeOp::Ncol => size.cols,
        ShapeOp::Length => size.cells(),
    };
    extent.and_then(|extent| i64::try_from(extent).ok()).map(Value::I64)
}

/// Graphs may be deeper than any stack: what nobody else has is dropped without recursion.
impl Drop for Node {
    fn drop(&mut self) {
        let mut pending = taken(&mut self.state);
        while let Some(operand) = pending.pop() {
            if let Some(mut node) = Arc::into_inner(operand.0) {
                pending.append(&mut taken(&mut node.state));
            }
        }
    }
}

/// The operands of a node that goes.
fn taken(state: &mut Mutex<State>) -> Operands {
    let state = state.get_mut().unwrap_or_else(PoisonError::into_inner);
    match state {
        State::Operation(_, operands) => std::mem::take(operands),
        // Anything that holds nothing takes its place.
        State::LoopResult(..) => match std::mem::replace(state, State::Symbol("".into())) {
            State::LoopResult(of, _) => Arc::into_inner(of).map_or_else(Operands::new, WhileLoop::into_exprs),
            _ => Operands::new(),
        },
        _ => Operands::new(),
    }
}

/// The type and size of an operation on expressions.
fn inferred(op: &HopOp, operands: &[&Expr]) -> Result<(DataType, SizeInfo), ShapeError> {
    let mut dag = HopDag::new();
    let inputs: Inputs = operands.iter().map(|operand| stand_in(&mut dag, op, operand)).collect();
    fuseline_ir::hop::infer::output(&dag, op, &inputs)
}

/// An operator with all that inference looks at in an operand.
fn stand_in(dag: &mut HopDag, user: &HopOp, operand: &Expr) -> HopId {
    if let Some(value) = operand.known_scalar() {
        return dag.literal(value);
    }
    let (op, inputs) = match operand.producer().filter(|_| matches!(user, HopOp::Item(_))) {
        Some((op, operands)) => {
            let inputs = operands.iter().map(|operand| stand_in(dag, &op, operand)).collect();
            (op, inputs)
        }
        None => (HopOp::Read(String::new()), Inputs::new()),
    };
    dag.push(Hop { op, inputs, data_type: operand.data_type(), size: operand.size(), span: None })
}

impl From<MatrixBlock> for Expr {
    #[track_caller]
    fn from(block: MatrixBlock) -> Self {
        Expr::value(block)
    }
}
