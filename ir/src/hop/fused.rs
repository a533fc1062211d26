//! Hand-coded fused operators: what the paper's baseline "Fused" replaces patterns of operators with (section 5).
//!
//! Each has one definition, an expression over its inputs. Types and sizes, the oracle's values and the pattern that the
//! compiler looks for all follow from it.

use super::expression::Expression;
use super::infer::ShapeError;
use super::{Hop, HopDag, HopId, HopOp};
use crate::ops::{BinaryOp, Direction, UnaryOp};
use std::fmt;

/// Which operand is transposed, or on which side of a weighted matrix a factor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The left one.
    Left,
    /// The right one.
    Right,
}

/// What a chain `t(X) %*% (X %*% V)` does to its inner product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChainWeight {
    /// Nothing.
    None,
    /// Multiplies it.
    Times,
    /// Subtracts from it.
    Minus,
}

/// What is aggregated of the comparison of every cell of a column with every cell of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OuterAggregate {
    /// The number of comparisons that hold.
    Sum(Direction),
    /// The last column in which the comparison holds, or the last one where none does.
    RowIndexMax,
    /// The last column in which the comparison does not hold, or the last one where all do.
    RowIndexMin,
}

/// Where the weights of a squared loss stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LossWeight {
    /// On the squares.
    Post,
    /// On the squares: whether the cell is not zero.
    PostNonZero,
    /// On the product.
    Pre,
    /// Nowhere.
    None,
}

/// How weights meet `P = U %*% t(V)` in an operator whose result is multiplied with `U` or `V`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProductWeight {
    /// `W / P`.
    Divide,
    /// `W / (P + e)`.
    DividePlus,
    /// `W * P`.
    Times,
    /// `(W != 0) * (P - W)`.
    MinusNonZero,
    /// `W * (P - X)`.
    Minus,
}

/// A hand-coded fused operator. Matrices are in the order of [`FusedOp::inputs`]; `W` and `X` have the size of
/// `U %*% t(V)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FusedOp {
    /// The product of a matrix with its own transpose, which is on this side.
    TransposeSelf(Side),
    /// A chain of two products with a matrix and its transpose on a column, which reads the matrix once.
    MatrixChain(ChainWeight),
    /// The sum of a product of two matrices of one size, cell by cell (full or by column).
    BinaryAggregate(Direction),
    /// The sum of a product of three matrices of one size, cell by cell (full or by column).
    TernaryAggregate(Direction),
    /// An aggregate of comparisons of a column with a row, without their matrix.
    OuterAggregate(OuterAggregate, BinaryOp),
    /// A sum of squared differences to a product of two factors.
    WeightedSquaredLoss(LossWeight),
    /// Weights times a sigmoid of a product of two factors.
    WeightedSigmoid {
        /// Of the negated product.
        minus: bool,
        /// The logarithm of the sigmoid.
        log: bool,
    },
    /// Weights combined with a product of two factors, times `U` (after transposing) or `V`.
    WeightedProduct(ProductWeight, Side),
    /// Weights times a product of two factors.
    WeightedMultiply,
    /// Weights times the logarithm of a product of two factors, summed.
    WeightedCrossEntropy {
        /// The product plus a scalar.
        plus: bool,
    },
    /// Weights times, or divided by, a function of a product of two factors.
    WeightedUnary(BinaryOp, UnaryOp),
}

/// Directions in which products of cells are summed.
const SUMS: [Direction; 2] = [Direction::Full, Direction::Col];

/// Comparisons whose matrix need not be formed.
const COMPARISONS: [BinaryOp; 6] = [
    BinaryOp::Less,
    BinaryOp::LessEqual,
    BinaryOp::Greater,
    BinaryOp::GreaterEqual,
    BinaryOp::Equal,
    BinaryOp::NotEqual,
];

/// Functions of weighted products; the sigmoid has operators of its own.
const FUNCTIONS: [UnaryOp; 12] = [
    UnaryOp::Abs,
    UnaryOp::Round,
    UnaryOp::Ceil,
    UnaryOp::Floor,
    UnaryOp::Exp,
    UnaryOp::Log,
    UnaryOp::Sqrt,
    UnaryOp::Sin,
    UnaryOp::Cos,
    UnaryOp::Sprop,
    UnaryOp::Pow2,
    UnaryOp::Mult2,
];

/// The product that weights meet.
const PRODUCT: &str = "(matmul ?U (t ?V))";

impl FusedOp {
    /// Every operator.
    pub fn all() -> Vec<FusedOp> {
        use FusedOp::*;
        let mut all = vec![TransposeSelf(Side::Left), TransposeSelf(Side::Right)];
        all.extend([ChainWeight::None, ChainWeight::Times, ChainWeight::Minus].map(MatrixChain));
        all.extend(SUMS.map(BinaryAggregate));
        all.extend(SUMS.map(TernaryAggregate));
        let sums = Direction::ALL.iter().map(|&direction| self::OuterAggregate::Sum(direction));
        let indexes = [self::OuterAggregate::RowIndexMax, self::OuterAggregate::RowIndexMin];
        for aggregate in sums.chain(indexes) {
            all.extend(COMPARISONS.map(|comparison| OuterAggregate(aggregate, comparison)));
        }
        let losses = [LossWeight::Post, LossWeight::PostNonZero, LossWeight::Pre, LossWeight::None];
        all.extend(losses.map(WeightedSquaredLoss));
        for minus in [false, true] {
            all.extend([false, true].map(|log| WeightedSigmoid { minus, log }));
        }
        for side in [Side::Left, Side::Right] {
            let (divide, times) = ([ProductWeight::Divide, ProductWeight::DividePlus], [ProductWeight::Times]);
            let minus = [ProductWeight::MinusNonZero, ProductWeight::Minus];
            all.extend(divide.into_iter().chain(times).chain(minus).map(|weight| WeightedProduct(weight, side)));
        }
        all.push(WeightedMultiply);
        all.extend([false, true].map(|plus| WeightedCrossEntropy { plus }));
        for combine in [BinaryOp::Mult, BinaryOp::Div] {
            all.extend(FUNCTIONS.map(|function| WeightedUnary(combine, function)));
        }
        all
    }

    /// The operator with this text mnemonic.
    pub fn from_mnemonic(mnemonic: &str) -> Option<FusedOp> {
        FusedOp::all().into_iter().find(|op| op.to_string() == mnemonic)
    }

    /// The operator's name in plans, after those of its field.
    pub fn label(self) -> String {
        match self {
            FusedOp::BinaryAggregate(direction) | FusedOp::TernaryAggregate(direction) => {
                format!("tak({}+*)", direction.label())
            }
            other => other.to_string(),
        }
    }

    /// The names of its inputs in its definition: matrices in upper, scalars in lower case.
    pub fn inputs(self) -> &'static [&'static str] {
        match self {
            FusedOp::TransposeSelf(_) => &["X"],
            FusedOp::MatrixChain(ChainWeight::None) => &["X", "V"],
            FusedOp::MatrixChain(ChainWeight::Times | ChainWeight::Minus) => &["X", "V", "Y"],
            FusedOp::BinaryAggregate(_) => &["X", "Y"],
            FusedOp::TernaryAggregate(_) => &["X", "Y", "Z"],
            FusedOp::OuterAggregate(..) => &["U", "V"],
            FusedOp::WeightedSquaredLoss(LossWeight::Post | LossWeight::Pre) => &["W", "X", "U", "V"],
            FusedOp::WeightedSquaredLoss(LossWeight::PostNonZero | LossWeight::None) => &["X", "U", "V"],
            FusedOp::WeightedProduct(ProductWeight::DividePlus, _) => &["W", "U", "V", "e"],
            FusedOp::WeightedProduct(ProductWeight::Minus, _) => &["W", "U", "V", "X"],
            FusedOp::WeightedCrossEntropy { plus: true } => &["W", "U", "V", "e"],
            FusedOp::WeightedProduct(..)
            | FusedOp::WeightedSigmoid { .. }
            | FusedOp::WeightedMultiply
            | FusedOp::WeightedCrossEntropy { plus: false }
            | FusedOp::WeightedUnary(..) => &["W", "U", "V"],
        }
    }

    /// What the operator computes, as an s-expression over its inputs.
    pub fn definition_text(self) -> String {
        match self {
            FusedOp::TransposeSelf(Side::Left) => "(matmul (t ?X) ?X)".to_owned(),
            FusedOp::TransposeSelf(Side::Right) => "(matmul ?X (t ?X))".to_owned(),
            FusedOp::MatrixChain(weight) => {
                let inner = match weight {
                    ChainWeight::None => "(matmul ?X ?V)",
                    ChainWeight::Times => "(mult ?Y (matmul ?X ?V))",
                    ChainWeight::Minus => "(minus (matmul ?X ?V) ?Y)",
                };
                format!("(matmul (t ?X) {inner})")
            }
            FusedOp::BinaryAggregate(direction) => format!("(sum.{direction} (mult ?X ?Y))"),
            FusedOp::TernaryAggregate(direction) => format!("(sum.{direction} (mult (mult ?X ?Y) ?Z))"),
            FusedOp::OuterAggregate(aggregate, comparison) => format!("({aggregate} (outer.{comparison} ?U ?V))"),
            FusedOp::WeightedSquaredLoss(weight) => {
                let squares = match weight {
                    LossWeight::Post => format!("(mult ?W (pow2 (minus ?X {PRODUCT})))"),
                    LossWeight::PostNonZero => format!("(mult (ne ?X 0) (pow2 (minus ?X {PRODUCT})))"),
                    LossWeight::Pre => format!("(pow2 (minus ?X (mult ?W {PRODUCT})))"),
                    LossWeight::None => format!("(pow2 (minus ?X {PRODUCT}))"),
                };
                format!("(sum.full {squares})")
            }
            FusedOp::WeightedSigmoid { minus, log } => {
                let product = if minus { format!("(neg {PRODUCT})") } else { PRODUCT.to_owned() };
                let sigmoid = format!("(sigmoid {product})");
                let factor = if log { format!("(log {sigmoid})") } else { sigmoid };
                format!("(mult ?W {factor})")
            }
            FusedOp::WeightedProduct(weight, side) => {
                let weighted = match weight {
                    ProductWeight::Divide => format!("(div ?W {PRODUCT})"),
                    ProductWeight::DividePlus => format!("(div ?W (plus {PRODUCT} ?e))"),
                    ProductWeight::Times => format!("(mult ?W {PRODUCT})"),
                    ProductWeight::MinusNonZero => format!("(mult (ne ?W 0) (minus {PRODUCT} ?W))"),
                    ProductWeight::Minus => format!("(mult ?W (minus {PRODUCT} ?X))"),
                };
                match side {
                    Side::Left => format!("(matmul (t {weighted}) ?U)"),
                    Side::Right => format!("(matmul {weighted} ?V)"),
                }
            }
            FusedOp::WeightedMultiply => format!("(mult ?W {PRODUCT})"),
            FusedOp::WeightedCrossEntropy { plus: false } => format!("(sum.full (mult ?W (log {PRODUCT})))"),
            FusedOp::WeightedCrossEntropy { plus: true } => format!("(sum.full (mult ?W (log (plus {PRODUCT} ?e))))"),
            FusedOp::WeightedUnary(combine, function) => format!("({combine} ?W ({function} {PRODUCT}))"),
        }
    }

    /// What the operator computes.
    pub fn definition(self) -> Expression {
        self.definition_text().parse().expect("definitions are well-formed")
    }

    /// Appends the operators that the definition consists of to a DAG, on these inputs.
    ///
    /// # Errors
    /// The shapes or types of the inputs do not fit, or their number.
    pub fn expand(self, dag: &mut HopDag, inputs: &[HopId]) -> Result<HopId, ShapeError> {
        let names = self.inputs();
        if inputs.len() != names.len() {
            let (operation, expected, actual) = (self.to_string(), names.len(), inputs.len());
            return Err(ShapeError::Arity { operation, expected, actual });
        }
        let position = |name: &str| names.iter().position(|&input| input == name).expect("definitions name inputs");
        self.definition().build(dag, &|name| inputs[position(name)])
    }

    /// The definition as a DAG of its own that reads these inputs as variables of their names, and its result.
    ///
    /// # Errors
    /// The errors of [`FusedOp::expand`].
    pub fn as_dag(self, inputs: &[&Hop]) -> Result<(HopDag, HopId), ShapeError> {
        let mut dag = HopDag::new();
        let names = self.inputs().iter().copied().chain(std::iter::repeat(""));
        let read = |(hop, name): (&&Hop, &str)| {
            let op = match &hop.op {
                HopOp::Literal(value) => HopOp::Literal(value.clone()),
                _ => HopOp::Read(name.to_owned()),
            };
            dag.push(Hop { op, inputs: Default::default(), span: None, ..(*hop).clone() })
        };
        let reads: Vec<HopId> = inputs.iter().zip(names).map(read).collect();
        let root = self.expand(&mut dag, &reads)?;
        Ok((dag, root))
    }
}

/// The aggregation as the text form writes it.
impl fmt::Display for OuterAggregate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OuterAggregate::Sum(direction) => write!(f, "sum.{direction}"),
            OuterAggregate::RowIndexMax => f.write_str("rowIndexMax"),
            OuterAggregate::RowIndexMin => f.write_str("rowIndexMin"),
        }
    }
}

/// The text mnemonic.
impl fmt::Display for FusedOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |side: Side| if side == Side::Left { "left" } else { "right" };
        match *self {
            FusedOp::TransposeSelf(transposed) => write!(f, "tsmm.{}", side(transposed)),
            FusedOp::MatrixChain(ChainWeight::None) => f.write_str("mmchain.xtxv"),
            FusedOp::MatrixChain(ChainWeight::Times) => f.write_str("mmchain.xtwxv"),
            FusedOp::MatrixChain(ChainWeight::Minus) => f.write_str("mmchain.xtxvy"),
            FusedOp::BinaryAggregate(direction) => write!(f, "tak2.{direction}"),
            FusedOp::TernaryAggregate(direction) => write!(f, "tak3.{direction}"),
            FusedOp::OuterAggregate(aggregate, comparison) => write!(f, "uaggouter.{aggregate}.{comparison}"),
            FusedOp::WeightedSquaredLoss(LossWeight::Post) => f.write_str("wsloss.post"),
            FusedOp::WeightedSquaredLoss(LossWeight::PostNonZero) => f.write_str("wsloss.post_nz"),
            FusedOp::WeightedSquaredLoss(LossWeight::Pre) => f.write_str("wsloss.pre"),
            FusedOp::WeightedSquaredLoss(LossWeight::None) => f.write_str("wsloss.none"),
            FusedOp::WeightedSigmoid { minus, log } => f.write_str(match (log, minus) {
                (false, false) => "wsigmoid.basic",
                (true, false) => "wsigmoid.log",
                (false, true) => "wsigmoid.minus",
                (true, true) => "wsigmoid.log_minus",
            }),
            FusedOp::WeightedProduct(weight, factor) => {
                let weight = match weight {
                    ProductWeight::Divide => "div",
                    ProductWeight::DividePlus => "div_eps",
                    ProductWeight::Times => "mult",
                    ProductWeight::MinusNonZero => "mult_minus_nz",
                    ProductWeight::Minus => "mult_minus",
                };
                write!(f, "wdivmm.{}.{weight}", side(factor))
            }
            FusedOp::WeightedMultiply => f.write_str("wdivmm.basic"),
            FusedOp::WeightedCrossEntropy { plus } => f.write_str(if plus { "wcemm.eps" } else { "wcemm.basic" }),
            FusedOp::WeightedUnary(combine, function) => write!(f, "wumm.{combine}.{function}"),
        }
    }
}
