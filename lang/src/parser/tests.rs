//! Precedence and statement boundaries.

use super::parse;
use crate::ast::{Expression, ExpressionKind, Infix, Prefix, Range, Script, StatementKind};
use crate::diagnostic::Diagnostic;
use crate::token::tokenize;

fn parsed(text: &str) -> (Script, Vec<Diagnostic>) {
    let mut errors = Vec::new();
    let script = parse(0, text, &mut errors);
    (script, errors)
}

/// An expression with all its parentheses.
fn print(expression: &Expression) -> String {
    match &expression.kind {
        ExpressionKind::Literal(value) => value.to_string(),
        ExpressionKind::Variable(name) => name.clone(),
        ExpressionKind::ScriptArgument(name) => format!("${name}"),
        ExpressionKind::Prefix(Prefix::Plus, operand) => format!("(+{})", print(operand)),
        ExpressionKind::Prefix(Prefix::Minus, operand) => format!("(-{})", print(operand)),
        ExpressionKind::Prefix(Prefix::Not, operand) => format!("(!{})", print(operand)),
        ExpressionKind::Infix(op, left, right) => {
            let op = match op {
                Infix::MatMul => "%*%",
                Infix::Elementwise(op) => op.dml().expect("infix operators have spellings"),
            };
            format!("({} {op} {})", print(left), print(right))
        }
        ExpressionKind::Call(call) => {
            let arguments = call.arguments.iter().map(|argument| match &argument.name {
                Some(name) => format!("{}={}", name.text, print(&argument.value)),
                None => print(&argument.value),
            });
            let namespace = call.namespace.as_ref().map_or(String::new(), |name| format!("{}::", name.text));
            format!("{namespace}{}({})", call.function.text, arguments.collect::<Vec<_>>().join(", "))
        }
        ExpressionKind::List(elements) => {
            format!("[{}]", elements.iter().map(print).collect::<Vec<_>>().join(", "))
        }
        ExpressionKind::Index(base, ranges) => {
            let range = |range: &Range| match range {
                Range::All => String::new(),
                Range::Single(at) => print(at),
                Range::Between(first, last) => format!("{}:{}", print(first), print(last)),
            };
            format!("{}[{},{}]", print(base), range(&ranges.rows), range(&ranges.cols))
        }
    }
}

fn expression(text: &str) -> String {
    let (script, errors) = parsed(&format!("x = {text}"));
    assert!(errors.is_empty(), "{text}: {errors:?}");
    match &script.statements[0].kind {
        StatementKind::Assign { value, .. } => print(value),
        other => panic!("{text} is {other:?}"),
    }
}

#[test]
fn operators_bind_as_in_r() {
    let table = [
        ("-a^2", "(-(a ^ 2))"),
        ("2^-1", "(2 ^ (-1))"),
        ("2^-1^2", "(2 ^ (-(1 ^ 2)))"),
        ("2^-1*3", "((2 ^ (-1)) * 3)"),
        ("a^b^c", "(a ^ (b ^ c))"),
        ("a*B%*%c", "(a * (B %*% c))"),
        ("A%*%B*c", "((A %*% B) * c)"),
        ("-A%*%B", "((-A) %*% B)"),
        ("A%*%-B", "(A %*% (-B))"),
        ("A%*%B^2", "(A %*% (B ^ 2))"),
        ("a*b%%c", "(a * (b %% c))"),
        ("a%/%b%%c", "((a %/% b) %% c)"),
        ("a%%b%*%c", "(a %% (b %*% c))"),
        ("a/b*c", "((a / b) * c)"),
        ("a-b-c", "((a - b) - c)"),
        ("a+b*c", "(a + (b * c))"),
        ("-a+b", "((-a) + b)"),
        ("- -a", "(-(-a))"),
        ("+a*b", "((+a) * b)"),
        ("a<b+c", "(a < (b + c))"),
        ("a+b==c*d", "((a + b) == (c * d))"),
        ("!a==b", "(!(a == b))"),
        ("!a&b", "((!a) & b)"),
        ("a|b&c", "(a | (b & c))"),
        ("a&b|c&&d", "((a & b) | (c & d))"),
        ("a||!b", "(a | (!b))"),
        ("a & !b == c", "(a & (!(b == c)))"),
        ("(a+b)*c", "((a + b) * c)"),
        ("-(a+b)^2", "(-((a + b) ^ 2))"),
        ("t(X)%*%X[1,]", "(t(X) %*% X[1,])"),
        ("-X[1:2,3]^2", "(-(X[1:2,3] ^ 2))"),
    ];
    for (text, expected) in table {
        assert_eq!(expression(text), expected, "{text}");
    }
}

#[test]
fn operands_of_every_form() {
    let table = [
        ("10", "10"),
        ("10L", "10"),
        (".5", "0.5"),
        ("1.", "1.0"),
        ("1e-5", "1.0E-5"),
        ("9223372036854775808", "9.223372036854776E18"),
        ("TRUE & FALSE", "(TRUE & FALSE)"),
        ("\"a\\\"b\\n\"", "a\"b\n"),
        ("'it\"s'", "it\"s"),
        ("X[r]", "X[r,]"),
        ("X[r,]", "X[r,]"),
        ("X[,c]", "X[,c]"),
        ("X[a:b,c:d]", "X[a:b,c:d]"),
        ("X[a+1:b*2,]", "X[(a + 1):(b * 2),]"),
        ("X[1,][,c]", "X[1,][,c]"),
        ("[1, a + b, \"c\"]", "[1, (a + b), c]"),
        ("f(shape=[])", "f(shape=[])"),
        ("a\n  + b\n\n  # comment\n  * c", "(a + (b * c))"),
        ("'two\nlines'", "two\nlines"),
        ("ns::f(a, n=1)", "ns::f(a, n=1)"),
        ("as.scalar(X[1,1])", "as.scalar(X[1,1])"),
        ("ifdef($x, $1)", "ifdef($x, $1)"),
        ("f()", "f()"),
    ];
    for (text, expected) in table {
        assert_eq!(expression(text), expected, "{text}");
    }
}

/// How many statements a text has, which must parse.
fn count(text: &str) -> usize {
    let (script, errors) = parsed(text);
    assert!(errors.is_empty(), "{text:?}: {errors:?}");
    script.statements.len()
}

#[test]
fn a_statement_ends_where_the_next_token_cannot_continue_it() {
    assert_eq!(count("a = 1\nb = 2"), 2);
    assert_eq!(count("a = 1; b = 2;"), 2);
    assert_eq!(count("a = 1 b = 2 print(a); [c] = f(b) if (c) d = 1 else d = 2 e[1,] = 3"), 6);
    assert_eq!(count("a =\n 1 +\n\n 2 *\n - 3"), 1);
    assert_eq!(count("a = (1\n + 2\n)\nb = f(1,\n 2\n)"), 2);
    assert_eq!(count("a = X[1,\n 2]"), 1);
    assert_eq!(count("a = 1 # + \n# comment\nb = 2 /* over\n lines */ + 1"), 2);
    assert_eq!(count("if (a)\n b = 1\nelse\n b = 2\nc = 3"), 2);
    assert_eq!(count("if (a) b = 1; else b = 2"), 1);
    assert_eq!(count("if (a) { b = 1 }\n\nelse if (c) { b = 2 }\nelse { b = 3 }"), 1);
    assert_eq!(count("while (a) b = 1\nc = 2"), 2);
    assert_eq!(count("while(FALSE){}\nprint(1)"), 2);
    assert_eq!(count("for (i in 1:10, check=0) { a += i }"), 1);
    assert_eq!(count("[a, b] = f(x)\n[c] = f(x)"), 2);
    assert_eq!(count("x <- 3\nx[1,] <- 4"), 2);
    assert_eq!(count("\r\n a = 1\r\n;;\n"), 1);
}

#[test]
fn a_statement_may_break_between_any_two_tokens() {
    let text = "f=function(Matrix[Double] X,Double e=1e-3)return(Matrix[Double] Y,Double z){Y=X[1,2:3]z=-e^2}\
        [a,b]=f(x,e=2)c=ns::g(a)d[1,]<-c%*%t(c)[1,2]for(i in 1:3,check=0){d+=i}parfor(i in seq(1,3))d=i;\
        while(!a&b)print(\"a\")if(a)b=1 else if(b){c=2}else c=[1,2][1]";
    let (whole, errors) = parsed(text);
    assert!(errors.is_empty(), "{errors:?}");
    let mut no_errors = Vec::new();
    let tokens = tokenize(0, text, &mut no_errors);
    for token in &tokens[1..tokens.len() - 1] {
        let (before, after) = text.split_at(token.span.start as usize);
        let broken = format!("{before}\n{after}");
        let (script, errors) = parsed(&broken);
        assert!(errors.is_empty(), "{broken}: {errors:?}");
        assert_eq!(script.statements.len(), whole.statements.len(), "{broken}");
    }
}

#[test]
fn names_in_brackets_begin_a_statement_at_the_start_of_a_line_before_an_assignment_and_else_are_an_index() {
    assert_eq!(count("[x, y] = f\n(u, v)"), 1);
    assert_eq!(count("[x, y]\n= f(u)"), 1);
    assert_eq!(count("a = X\n[1, 2]"), 1);
    assert_eq!(count("a = X\n[b, c] = f(u)"), 2);
    assert_eq!(count("a = X\n[b[1, 2], c] <- f(u)"), 2);
    assert_eq!(count("a = f(X\n[1, 2])\n[2]"), 1);
    assert_eq!(count("a\n[1, 2] = 3"), 1);
}

#[test]
fn a_semicolon_may_end_the_last_argument() {
    assert_eq!(count("a = f(1, n=2;)"), 1);
    assert_eq!(count("print(\"a\";);"), 1);
    assert!(!parsed("a = f(1; 2)").1.is_empty());
}

#[test]
fn lines_that_look_like_statements_but_continue_one_are_warned_of() {
    const NONE: [u32; 0] = [];
    let warned = |text: &str| {
        let (script, errors) = parsed(text);
        assert!(errors.is_empty(), "{text:?}: {errors:?}");
        script.warnings.iter().map(|warning| warning.span.start).collect::<Vec<_>>()
    };
    assert_eq!(warned("a = b\n- 1\nc = d\n  + e"), [6, 18]);
    assert_eq!(warned("a = f\n(b)"), [6]);
    // Nothing could have ended there, or the line cannot be taken for a statement.
    assert_eq!(warned("a = (b\n- 1)\n"), NONE);
    assert_eq!(warned("a = b -\n1 *\n-2"), NONE);
    assert_eq!(warned("a = b\n* 1"), NONE);
    assert_eq!(warned("print\n(1)\n[x, y] = f\n(u, v)\nz = ns::g\n(1)"), NONE);
}

#[test]
fn functions_and_imports_of_every_form() {
    let text = "source(\"lib/f.dml\") as lib\n\
        f = function(matrix[double] X, Double eps=1e-3, INTEGER n, boolean b = TRUE,\n string s = 'x')\n\
        return (Matrix[Double] Y, double z)\n{\n Y = X\n z = eps\n}\n\
        g = function() { print(1) }\n h <- function(Matrix x) return (int n) { n = 1 };";
    let (script, errors) = parsed(text);
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(script.imports[0].path.to_str(), Some("lib/f.dml"));
    assert_eq!(script.imports[0].namespace.text, "lib");
    let shape = |f: &crate::ast::FunctionDefinition| {
        let parameters = f.parameters.iter().map(|p| format!("{}:{}", p.name.text, p.data_type)).collect::<Vec<_>>();
        format!("{}({}) -> {}", f.name.text, parameters.join(" "), f.results.len())
    };
    let shapes: Vec<String> = script.functions.iter().map(shape).collect();
    assert_eq!(shapes, ["f(X:matrix eps:f64 n:i64 b:bool s:str) -> 2", "g() -> 0", "h(x:matrix) -> 1"]);
}

#[test]
fn errors_leave_the_other_statements_alone() {
    let (script, errors) = parsed("a = (1 + \nb = 2\nc = )\nd = 4\nwhile (x y) {\n e = 5\n}\nf = 6");
    assert_eq!(errors.len(), 3, "{errors:?}");
    // `(1 +` goes on with `b`, where `=` ends it.
    assert_eq!(script.statements.len(), 2);
}

#[test]
fn deep_and_long_texts_are_errors_and_no_overflow() {
    let many = 100_000;
    for (open, close) in [("(", ")"), ("-", ""), ("!", ""), ("f(", ")"), ("X[", "]"), ("2^", ""), ("a+(", ")")] {
        let text = format!("x = {}a{}", open.repeat(many), close.repeat(many));
        assert!(!parsed(&text).1.is_empty(), "{open}");
    }
    for nested in ["if (a) ", "while (a) { ", "if (a) x = 1 else ", "{", "for (i in 1:2) "] {
        assert!(!parsed(&nested.repeat(many)).1.is_empty(), "{nested}");
    }
    let (_, errors) = parsed(&format!("x = a{}", " + a".repeat(many)));
    assert_eq!(errors.len(), 1);
    assert!(errors[0].message.contains("chained"), "{errors:?}");
    assert!(parsed(&format!("x = a{}", " + a".repeat(1900))).1.is_empty());
}
