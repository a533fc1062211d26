//! Whether the iterations of a `parfor` are independent of each other.
//!
//! What no statement before the loop assigns is each iteration's own. An iteration may assign variables, add to a variable with `+=`, and write ranges of a matrix or list
//! that no other iteration touches. Two ranges never meet when they lie apart in one dimension in all iterations, or
//! when they move alike in one dimension, linear in the loop variable, by more than they span together. Nothing is
//! assumed of other indexes. A loop within that promises independent iterations (`check=0`) is not looked into.

use super::linear::Polynomial;
use crate::ast::{
    Call, Expression, ExpressionKind, LoopOrder, LoopRange, Name, Range, Ranges, Statement, StatementKind, Target,
};
use crate::diagnostic::Diagnostic;
use crate::lower::control::assigned_in;
use fuseline_ir::hop::Span;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// The first dependency of each variable. `is_shared` says of a variable whether it may have a value before the loop.
pub(super) fn dependencies(
    variable: &Name,
    range: &LoopRange,
    body: &[Statement],
    is_shared: &dyn Fn(&str) -> bool,
) -> Vec<Diagnostic> {
    let mut analysis = Analysis {
        variable: &variable.text,
        step: constant_step(range),
        assigned: assigned_whole(body),
        locals: single_assignments(body),
        known_locals: RefCell::default(),
        inner: inner_loops(body),
        accesses: BTreeMap::new(),
        found: BTreeMap::new(),
    };
    analysis.walk(body, &mut BTreeSet::from([variable.text.clone()]));
    let accesses = std::mem::take(&mut analysis.accesses);
    for (name, accesses) in accesses.iter().filter(|(name, _)| is_shared(name)) {
        if let Some(place) = analysis.conflict(accesses) {
            analysis.report(name, place);
        }
    }
    analysis.found.into_values().collect()
}

/// The increment of a loop over whole numbers, when it is a constant.
fn constant_step(range: &LoopRange) -> Option<Polynomial> {
    let value = |expression: &Expression| Polynomial::of(expression, &|_| None);
    let step = range.by.as_ref().map_or(Some(Polynomial::constant(1.0)), value)?;
    let starts_whole = value(&range.from).is_none_or(|from| from.is_integral());
    (starts_whole && step.is_integral()).then_some(step)
}

/// How an iteration touches a variable that others see as well.
enum Access<'a> {
    /// A whole read.
    Read(Span),
    /// A range that is read.
    ReadRange(&'a Ranges, Span),
    /// A range that is written.
    WriteRange(&'a Ranges, Span),
    /// `+=` of the whole variable.
    Accumulate(Span),
    /// An assignment of the whole variable, on some path at least.
    Assign(Span),
}

impl Access<'_> {
    fn place(&self) -> Span {
        match self {
            Access::Read(span)
            | Access::ReadRange(_, span)
            | Access::WriteRange(_, span)
            | Access::Accumulate(span)
            | Access::Assign(span) => *span,
        }
    }

    fn is_read(&self) -> bool {
        matches!(self, Access::Read(_) | Access::ReadRange(..))
    }

    fn ranges(&self) -> Option<&Ranges> {
        match self {
            Access::ReadRange(ranges, _) | Access::WriteRange(ranges, _) => Some(ranges),
            Access::Read(_) | Access::Accumulate(_) | Access::Assign(_) => None,
        }
    }
}

/// First and last position of a range.
type Bounds = (Polynomial, Polynomial);

struct Analysis<'a> {
    variable: &'a str,
    /// The increment of the loop, when it is a constant.
    step: Option<Polynomial>,
    /// The variables that the body assigns as a whole, inner loops' variables among them.
    assigned: BTreeSet<String>,
    /// The values of variables that the body assigns once, whatever path it takes.
    locals: BTreeMap<&'a str, &'a Expression>,
    /// The polynomials of locals that were asked for, each of which may be needed many times.
    known_locals: RefCell<BTreeMap<String, Polynomial>>,
    /// The ranges of loops within the body that step by one, where no two loops share a variable.
    inner: BTreeMap<&'a str, &'a LoopRange>,
    accesses: BTreeMap<String, Vec<Access<'a>>>,
    found: BTreeMap<String, Diagnostic>,
}

impl<'a> Analysis<'a> {
    fn report(&mut self, name: &str, place: Span) {
        let message = format!("the iterations of this `parfor` depend on each other through `{name}`");
        let error = Diagnostic::new(place, message).here("touches what other iterations touch");
        let help = "use `for`; or, where the iterations are independent nevertheless, `parfor (..., check=0)`";
        self.found.entry(name.to_owned()).or_insert_with(|| error.help(help));
    }

    /// Collects accesses to what other iterations see: variables that this iteration did not assign before.
    fn walk(&mut self, statements: &'a [Statement], own: &mut BTreeSet<String>) {
        for statement in statements {
            for expression in statement.expressions() {
                self.reads(expression, own);
            }
            match &statement.kind {
                StatementKind::Assign { target, accumulate, .. } => self.assign(target, *accumulate, own),
                StatementKind::MultiAssign { targets, .. } => {
                    for target in targets {
                        self.assign(target, false, own);
                    }
                }
                StatementKind::Call(_) => {}
                StatementKind::If { then_body, else_body, .. } => {
                    let (mut then_own, mut else_own) = (own.clone(), own.clone());
                    self.walk(then_body, &mut then_own);
                    self.walk(else_body, &mut else_own);
                    *own = then_own.intersection(&else_own).cloned().collect();
                }
                StatementKind::While { body, .. } => self.walk(body, &mut own.clone()),
                // The script vouches for what it does; what it surely assigns is this iteration's own afterwards.
                StatementKind::For { order: LoopOrder::Promised, variable, range, body } => {
                    let seen = std::mem::take(&mut self.accesses);
                    let mut inner = own.clone();
                    inner.insert(variable.text.clone());
                    self.walk(body, &mut inner);
                    self.accesses = seen;
                    if range.by.is_none() {
                        *own = inner;
                    }
                }
                StatementKind::For { variable, range, body, .. } => {
                    let mut inner = own.clone();
                    if inner.insert(variable.text.clone()) {
                        // It keeps its last value, which a later iteration may read.
                        self.access(&variable.text, Access::Assign(variable.span));
                    }
                    self.walk(body, &mut inner);
                    if range.by.is_none() {
                        // It runs at least once, upwards or downwards.
                        *own = inner;
                    }
                }
            }
        }
    }

    fn assign(&mut self, target: &'a Target, accumulate: bool, own: &mut BTreeSet<String>) {
        let name = &target.name.text;
        if own.contains(name) {
            return;
        }
        match &target.ranges {
            Some(ranges) => self.access(name, Access::WriteRange(ranges, target.span)),
            None if accumulate => self.access(name, Access::Accumulate(target.span)),
            None => {
                self.access(name, Access::Assign(target.span));
                own.insert(name.clone());
            }
        }
    }

    fn access(&mut self, name: &str, access: Access<'a>) {
        self.accesses.entry(name.to_owned()).or_default().push(access);
    }

    fn reads(&mut self, expression: &'a Expression, own: &BTreeSet<String>) {
        let mut pending = vec![expression];
        while let Some(expression) = pending.pop() {
            match &expression.kind {
                ExpressionKind::Variable(name) if !own.contains(name) => {
                    self.access(name, Access::Read(expression.span));
                }
                ExpressionKind::Index(base, ranges) => match &base.kind {
                    ExpressionKind::Variable(name) => {
                        if !own.contains(name) {
                            self.access(name, Access::ReadRange(ranges, expression.span));
                        }
                        pending.extend(ranges.expressions());
                    }
                    _ => pending.extend(expression.children()),
                },
                // A size does not depend on the cells.
                ExpressionKind::Call(call) if self.is_size_of_constant(call) => {}
                _ => pending.extend(expression.children()),
            }
        }
    }

    /// Whether a call asks for the size of a variable that no iteration assigns as a whole.
    fn is_size_of_constant(&self, call: &Call) -> bool {
        let is_size = call.namespace.is_none() && matches!(call.function.text.as_str(), "nrow" | "ncol");
        let [argument] = call.arguments.as_slice() else { return false };
        let ExpressionKind::Variable(name) = &argument.value.kind else { return false };
        is_size && !self.assigned.contains(name)
    }

    /// The place of an access that another iteration may conflict with.
    fn conflict(&self, accesses: &[Access<'a>]) -> Option<Span> {
        let is_all = |kind: fn(&Access<'a>) -> bool| accesses.iter().all(kind);
        let is_harmless = is_all(Access::is_read)
            || is_all(|access| matches!(access, Access::Accumulate(_)))
            || is_all(|access| matches!(access, Access::Assign(_)));
        let whole = accesses.iter().find(|access| access.ranges().is_none());
        match whole {
            _ if is_harmless => None,
            Some(whole) => Some(whole.place()),
            None => self.conflicting_range(accesses),
        }
    }

    fn conflicting_range(&self, accesses: &[Access<'a>]) -> Option<Span> {
        let writes = accesses.iter().filter(|access| !access.is_read());
        let meets_another = |write: &&Access<'a>| {
            accesses.iter().any(|other| match (write.ranges(), other.ranges()) {
                (Some(written), Some(touched)) => !self.never_meet(written, touched),
                _ => true,
            })
        };
        writes.clone().find(meets_another).map(Access::place)
    }

    /// Whether two ranges of different iterations have no cell in common.
    fn never_meet(&self, left: &Ranges, right: &Ranges) -> bool {
        [(&left.rows, &right.rows), (&left.cols, &right.cols)].into_iter().any(|(left, right)| {
            let (Some(left), Some(right)) = (self.bounds(left), self.bounds(right)) else { return false };
            self.lie_apart(&left, &right) || self.move_apart(&left, &right)
        })
    }

    /// Whether one lies before the other, in all iterations.
    fn lie_apart(&self, left: &Bounds, right: &Bounds) -> bool {
        let is_fixed = |bound: &Polynomial| bound.coefficient_of(self.variable) == Some(Polynomial::default());
        let is_before = |last: &Polynomial, first: &Polynomial| {
            first.clone().plus(last, -1.0).as_constant().is_some_and(|distance| distance > 0.0)
        };
        [&left.0, &left.1, &right.0, &right.1].into_iter().all(is_fixed)
            && (is_before(&left.1, &right.0) || is_before(&right.1, &left.0))
    }

    /// Whether each step of the loop moves both by more than they span together.
    fn move_apart(&self, left: &Bounds, right: &Bounds) -> bool {
        let Some(coefficient) = left.0.coefficient_of(self.variable) else { return false };
        let moves_alike = |bound: &Polynomial| bound.coefficient_of(self.variable).as_ref() == Some(&coefficient);
        let stride = self.step.as_ref().and_then(|step| coefficient.times(step));
        let Some(stride) = stride else { return false };
        let is_narrow = |first: &Polynomial, last: &Polynomial| {
            let width = last.clone().plus(first, -1.0);
            // In either direction; for a symbolic stride a positive difference says that it is longer than the width.
            [1.0, -1.0].iter().any(|sign| {
                let room = Polynomial::default().plus(&stride, *sign).plus(&width, -1.0);
                room.as_constant().is_some_and(|room| room > 0.0)
            })
        };
        [&left.0, &left.1, &right.0, &right.1].into_iter().all(moves_alike)
            && is_narrow(&left.0, &right.1)
            && is_narrow(&right.0, &left.1)
    }

    /// First and last position; positions that are no whole numbers are cut off, so nothing is known of them.
    fn bounds(&self, range: &Range) -> Option<Bounds> {
        self.exact_bounds(range).filter(|(first, last)| first.is_integral() && last.is_integral())
    }

    fn exact_bounds(&self, range: &Range) -> Option<Bounds> {
        match range {
            Range::All => None,
            Range::Single(at) => {
                let at = self.polynomial(at, 0)?;
                Some((self.extreme(at.clone(), false)?, self.extreme(at, true)?))
            }
            Range::Between(first, last) => {
                let (first, last) = (self.polynomial(first, 0)?, self.polynomial(last, 0)?);
                Some((self.extreme(first, false)?, self.extreme(last, true)?))
            }
        }
    }

    /// The least or largest value over the loops within the body.
    fn extreme(&self, mut value: Polynomial, is_largest: bool) -> Option<Polynomial> {
        // From within: the range of a loop may use the variable of the loop around it.
        for _ in 0..=self.inner.len() {
            let used = self.inner.iter().find(|(name, _)| value.coefficient_of(name) != Some(Polynomial::default()));
            let Some((name, range)) = used else { return Some(value) };
            let grows = value.coefficient_of(name)?.as_constant()? > 0.0;
            let (from, to) = (self.polynomial(&range.from, 0)?, self.polynomial(&range.to, 0)?);
            let falls = to.clone().plus(&from, -1.0).as_constant().is_some_and(|length| length < 0.0);
            let bound = if (grows == is_largest) != falls { to } else { from };
            value = value.substituted(name, &bound)?;
        }
        None
    }

    fn polynomial(&self, expression: &Expression, depth: usize) -> Option<Polynomial> {
        Polynomial::of(expression, &|leaf| match &leaf.kind {
            ExpressionKind::Variable(name) if name == self.variable => {
                (!self.assigned.contains(name)).then(|| Polynomial::variable(name))
            }
            ExpressionKind::Variable(name) => match self.locals.get(name.as_str()) {
                Some(value) if depth < 20 => {
                    if let Some(known) = self.known_locals.borrow().get(name) {
                        return Some(known.clone());
                    }
                    let value = self.polynomial(value, depth + 1)?;
                    self.known_locals.borrow_mut().insert(name.clone(), value.clone());
                    Some(value)
                }
                _ => {
                    let is_known = !self.assigned.contains(name) || self.inner.contains_key(name.as_str());
                    is_known.then(|| Polynomial::variable(name))
                }
            },
            ExpressionKind::Call(call) => {
                let ExpressionKind::Variable(name) = &call.arguments.first()?.value.kind else { return None };
                let size = || Polynomial::variable(&format!("{}({name})", call.function.text));
                self.is_size_of_constant(call).then(size)
            }
            _ => None,
        })
    }
}

/// The variables that a statement itself assigns as a whole.
fn assigned_names(statement: &Statement) -> Vec<&str> {
    let targets: &[Target] = match &statement.kind {
        StatementKind::Assign { target, .. } => std::slice::from_ref(target),
        StatementKind::MultiAssign { targets, .. } => targets,
        StatementKind::For { variable, .. } => return vec![&variable.text],
        StatementKind::Call(_) | StatementKind::If { .. } | StatementKind::While { .. } => &[],
    };
    targets.iter().filter(|target| target.ranges.is_none()).map(|target| target.name.text.as_str()).collect()
}

/// The variables that statements assign as a whole.
fn assigned_whole(statements: &[Statement]) -> BTreeSet<String> {
    let mut assigned = BTreeSet::new();
    let mut pending: Vec<&Statement> = statements.iter().collect();
    while let Some(statement) = pending.pop() {
        pending.extend(statement.inner());
        assigned.extend(assigned_names(statement).into_iter().map(str::to_owned));
    }
    assigned
}

/// The loops within a body that step upwards by one, by their variables; none of variables that are assigned elsewhere.
fn inner_loops(body: &[Statement]) -> BTreeMap<&str, &LoopRange> {
    let (mut loops, mut seen) = (BTreeMap::new(), BTreeSet::new());
    let mut pending: Vec<&Statement> = body.iter().collect();
    while let Some(statement) = pending.pop() {
        pending.extend(statement.inner());
        match &statement.kind {
            StatementKind::For { variable, range, .. } => {
                let ascends = [&range.from, &range.to].map(|bound| match &bound.kind {
                    ExpressionKind::Literal(value) => value.as_f64(),
                    _ => None,
                });
                let is_upwards = !matches!(ascends, [Some(from), Some(to)] if from > to);
                if seen.insert(variable.text.as_str()) && range.by.is_none() && is_upwards {
                    loops.insert(variable.text.as_str(), range);
                } else {
                    loops.remove(variable.text.as_str());
                }
            }
            _ => {
                for name in assigned_names(statement) {
                    seen.insert(name);
                    loops.remove(name);
                }
            }
        }
    }
    loops
}

/// The values of the variables that a body assigns once, outside of branches and inner loops.
fn single_assignments(body: &[Statement]) -> BTreeMap<&str, &Expression> {
    let mut values = BTreeMap::new();
    let mut statements_that_assign: BTreeMap<String, usize> = BTreeMap::new();
    for name in body.iter().flat_map(|statement| assigned_in(std::slice::from_ref(statement))) {
        *statements_that_assign.entry(name).or_default() += 1;
    }
    for statement in body {
        if let StatementKind::Assign { target, accumulate: false, value } = &statement.kind
            && target.ranges.is_none()
            && statements_that_assign.get(&target.name.text) == Some(&1)
        {
            values.insert(target.name.text.as_str(), value);
        }
    }
    values
}
