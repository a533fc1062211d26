//! Motifs: the paper's expressions and the inner loops of its algorithms, over the leaves of a random case.
//!
//! The names of leaves are those of [`super::generate::ROLES`]; `s` is a scalar variable, `?u`, `?b` and `?a` are a
//! random unary or binary operation and a random aggregation function. `(let q ... body)` names a value that is used
//! several times.

use super::generate::Generator;
use super::tally::Tally;
use fuseline_ir::Value;
use fuseline_ir::hop::{Function, HopOp, NaryOp, ReorgOp};
use fuseline_ir::ops::{AggOp, BinaryOp, Direction, TernaryOp, UnaryOp};
use rand::seq::IndexedRandom;
use std::collections::BTreeMap;

pub(crate) const MOTIFS: &[&str] = &[
    // Cell: chains and aggregates, sparse-safe and not.
    "(sum.full (mult X (mult Y Z)))",
    "(?a.full (mult (minus X Y) Z))",
    "(?a.row (mult X (?u Y)))",
    "(?a.col (?b X (?u Y)))",
    "(?u (?b (?u (?b X Y)) Z))",
    "(sum.full (mult X (log (plus Y 2))))",
    "(plus X (mult s Y))",
    "(min.full (max X (mult w Y)))",
    "(prod.full (plus (mult X X) 1))",
    "(nnz.full (mult (ne X 0) Y))",
    "(mult X (sigmoid (plus (mult Y w) r)))",
    "(?b (index.first X) (index.first Y))",
    "(mult X (seq.rows X))",
    "(plus (nary_min X Y Z) (nary_max X 0 s))",
    "(plus X (expand r))",
    "(replace (mult X Y) 0 s)",
    "(ifelse (gt X 0) Y (neg Z))",
    "(?b X c)",
    "(sum.full (matmul (t w) y))",
    "(mult (outer.mult w r) X)",
    // MAgg.
    "(let p (mult X Y) (plus (sum.full (pow2 X)) (minus (sum.full p) (sum.full (pow2 Y)))))",
    "(plus (sum.full (mult X Y)) (mult (min.full X) (max.full (mult X Z))))",
    "(plus (sum.full (abs X)) (plus (nnz.full X) (plus (max.full X) (sumsq.full X))))",
    "(plus (matmul (t w) y) (plus (matmul (t w) w) (matmul (t y) y)))",
    // Row.
    "(matmul (t X) (matmul X v))",
    "(matmul (t X) (mult w (matmul X v)))",
    "(matmul (t X) (minus (matmul X v) y))",
    "(matmul (t X) (matmul X B))",
    "(let q (mult P (matmul X B)) (matmul (t X) (minus q (mult P (sum.row q)))))",
    "(div X (sum.row X))",
    "(sum.col (div X (sum.row (abs X))))",
    "(let e (exp (minus X (max.row X))) (div e (sum.row e)))",
    "(minus X (mean.row X))",
    "(sum.row (pow2 (minus X (mean.row X))))",
    "(mult (var.row X) (prod.row Y))",
    "(max.col (mult X (le (sum.row Y) 3)))",
    "(matmul (t X) (mult X w))",
    "(matmul (t (eq X (max.row X))) P)",
    "(cbind (mult X Y) (sum.row X))",
    "(sum.row (cbind (mult X Y) w P))",
    "(t (cumulative.sum (t (mult X Y))))",
    "(cumulative.sum (mult X Y))",
    "(matmul (minus X (mean.col X)) B)",
    "(sum.full (mult (matmul X v) y))",
    "(matmul (mult X r) B)",
    "(let d (plus (minus (mult -2 (matmul X B)) 0) (t (sum.row (t (pow2 B))))) (matmul (t (le d (min.row d))) X))",
    // Sparse rows through element-wise operations, alone and several of them.
    "(matmul (div X w) v)",
    "(matmul (t (pow2 X)) w)",
    "(plus (matmul (plus (mult X 2) (pow2 X)) v) (sum.row X))",
    "(matmul (mult X (exp r)) B)",
    "(div (mult X r) (sum.row X))",
    "(matmul (t (mult X (mult Y r))) (matmul X B))",
    "(sum.col (mult (?u X) (div w (sum.row X))))",
    "(?a.full (?u (plus X Y)))",
    "(?a.row (plus (mult X r) Y))",
    "(matmul (minus (mult X w) (?b Y Z)) B)",
    "(mult (plus X Y) (max.row Z))",
    "(matmul (t (ifelse (gt X s) X Y)) w)",
    // Outer.
    "(mult X (matmul U (t V)))",
    "(mult (ne X 0) (minus (matmul U (t V)) X))",
    "(sum.full (mult X (log (plus (abs (matmul U (t V))) 1))))",
    "(sum.full (mult (ne X 0) (pow2 (minus X (matmul U (t V))))))",
    "(matmul (mult (ne X 0) (matmul U (t V))) V)",
    "(matmul (t (mult X (?u (matmul U (t V))))) U)",
    "(matmul (t U) (div X (plus (abs (matmul U (t V))) 1)))",
    "(plus (matmul (mult (ne X 0) (minus (matmul U (t V)) X)) V) (mult s U))",
    // What hand-coded operators were written for, besides.
    "(sum.full (mult X (pow2 (minus Y (matmul U (t V))))))",
    "(sum.full (pow2 (minus X (mult Y (matmul U (t V))))))",
    "(sum.full (pow2 (minus (matmul U (t V)) X)))",
    "(mult X (log (sigmoid (neg (matmul U (t V))))))",
    "(matmul (mult X (minus (matmul U (t V)) Y)) V)",
    "(matmul (t U) (mult (ne X 0) (minus (matmul U (t V)) X)))",
    "(div X (exp (matmul U (t V))))",
    "(sum.full (mult X (log (plus (matmul U (t V)) s))))",
    "(sum.col (mult X (mult Y Z)))",
    "(sum.full (mult (pow2 X) Y))",
    "(sum.row (outer.le w r))",
    "(sum.col (outer.ne w r))",
    "(matmul X (t X))",
    "(minus X (mult s Y))",
    // Inner loops of algorithms: L2SVM, GLM, PCA, PNMF, autoencoder.
    "(let o (minus 1 (mult y (plus (matmul X v) (mult s w)))) (let p (mult o (gt o 0)) (plus (sum.full (mult p p)) (sum.full (mult p w)))))",
    "(let q (sigmoid (matmul X v)) (matmul (t X) (mult (mult q (minus 1 q)) (minus q y))))",
    "(let m (mean.col X) (minus (matmul (t X) X) (outer.mult (t m) m)))",
    "(let h (sigmoid (plus (matmul X B) 1)) (matmul (t X) (mult h (minus 1 h))))",
    "(mult P (div (matmul X B) (plus (sum.row P) (sum.full (abs B)))))",
];

/// Adds a random motif, as far as its shapes fit.
pub(crate) fn add_random(generator: &mut Generator, tally: &mut Tally) -> Option<usize> {
    let number = rand::RngExt::random_range(&mut generator.random, 0..MOTIFS.len());
    let result = add(generator, MOTIFS[number], tally);
    if result.is_some() {
        tally.count("motif", number.to_string());
    }
    result
}

/// Adds a motif.
pub(crate) fn add(generator: &mut Generator, text: &str, tally: &mut Tally) -> Option<usize> {
    let spaced = text.replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace();
    Reader { generator, names: BTreeMap::new(), tally }.term(words.next()?, &mut words)
}

struct Reader<'a, 'w> {
    generator: &'a mut Generator,
    names: BTreeMap<&'w str, usize>,
    tally: &'a mut Tally,
}

impl<'w> Reader<'_, 'w> {
    fn term(&mut self, word: &'w str, words: &mut std::str::SplitWhitespace<'w>) -> Option<usize> {
        if word != "(" {
            return Some(self.atom(word));
        }
        let head = words.next()?;
        if head == "let" {
            let name = words.next()?;
            let value = self.term(words.next()?, words)?;
            self.names.insert(name, value);
            let body = self.term(words.next()?, words)?;
            words.next();
            return Some(body);
        }
        let mut inputs = Vec::new();
        loop {
            match words.next()? {
                ")" => break,
                word => inputs.push(self.term(word, words)?),
            }
        }
        self.operator(head, &inputs)
    }

    fn atom(&mut self, word: &'w str) -> usize {
        match (self.names.get(word), word.parse::<f64>()) {
            (Some(&position), _) => position,
            (None, Ok(number)) => self.generator.number(number),
            (None, Err(_)) => self.generator.leaf(word, self.tally),
        }
    }

    fn operator(&mut self, head: &str, inputs: &[usize]) -> Option<usize> {
        let random = &mut self.generator.random;
        let op = match head {
            "?u" => HopOp::Unary(*UnaryOp::ALL.choose(random)?),
            "?b" => HopOp::Binary(*BinaryOp::ALL.choose(random)?),
            "index.first" => return self.generator.first_column(inputs[0]),
            "seq.rows" => return self.generator.row_numbers(inputs[0]),
            "expand" => return self.generator.expanded(inputs[0]),
            _ => match head.strip_prefix("?a.") {
                Some(direction) => HopOp::AggUnary(*AggOp::ALL.choose(random)?, direction.parse().ok()?),
                None => operation(head).unwrap_or_else(|| panic!("motifs have no `{head}`")),
            },
        };
        self.generator.add_or_stand_in(&op, inputs)
    }
}

/// The operation with this mnemonic.
fn operation(mnemonic: &str) -> Option<HopOp> {
    let unary = UnaryOp::ALL.iter().map(|&op| HopOp::Unary(op));
    let binary = BinaryOp::ALL.iter().map(|&op| HopOp::Binary(op));
    let ternary = TernaryOp::ALL.iter().map(|&op| HopOp::Ternary(op));
    let nary = NaryOp::ALL.iter().map(|&op| HopOp::Nary(op));
    let reorg = ReorgOp::ALL.iter().map(|&op| HopOp::Reorg(op));
    let aggregates = AggOp::ALL.iter().flat_map(|&op| Direction::ALL.iter().map(move |&d| HopOp::AggUnary(op, d)));
    let cumulative = AggOp::ALL.iter().map(|&op| HopOp::Cumulative(op));
    let row_index = [Function::RowIndexMax, Function::RowIndexMin]
        .map(|function| HopOp::Parameterized { function, names: Vec::new() });
    let outer = BinaryOp::ALL.iter().map(|&op| HopOp::Outer(op));
    unary
        .chain(binary)
        .chain(ternary)
        .chain(nary)
        .chain(reorg)
        .chain(aggregates)
        .chain(cumulative)
        .chain(outer)
        .chain([HopOp::MatMul])
        .chain(row_index)
        .find(|op| op.to_string() == mnemonic)
}

impl Generator {
    /// `x[, 1]`.
    fn first_column(&mut self, x: usize) -> Option<usize> {
        let (rows, cols) = self.dims_of(x)?;
        if rows == 0 || cols == 0 {
            return None;
        }
        let range = [1, rows, 1, 1].map(|bound| self.literal(Value::I64(bound as i64)));
        self.add(HopOp::Index, &[&[x][..], &range].concat())
    }

    /// `seq(1, nrow(x))`.
    fn row_numbers(&mut self, x: usize) -> Option<usize> {
        let (rows, _) = self.dims_of(x)?;
        let inputs = [1.0, rows as f64, 1.0].map(|bound| self.number(bound));
        self.add(HopOp::DataGen(fuseline_ir::hop::DataGenOp::Seq), &inputs)
    }

    /// A vector repeated over all columns.
    fn expanded(&mut self, vector: usize) -> Option<usize> {
        let (rows, cols) = self.dims_of(vector)?;
        let cols = self.literal(Value::I64((rows * cols) as i64));
        self.add(HopOp::DataGen(fuseline_ir::hop::DataGenOp::Expand), &[vector, cols])
    }
}
