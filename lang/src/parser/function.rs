//! Function definitions.

use super::{Parsed, Parser, join};
use crate::ast::{FunctionDefinition, Name, ParameterDefinition};
use crate::diagnostic::Diagnostic;
use crate::suggest;
use crate::token::Token;
use fuseline_ir::types::DataType;

/// The names of types; any case of letters is accepted.
const TYPES: &[(&str, DataType)] = &[
    ("Matrix", DataType::MATRIX),
    ("Double", DataType::F64),
    ("Integer", DataType::I64),
    ("Int", DataType::I64),
    ("Boolean", DataType::BOOL),
    ("String", DataType::STR),
    ("List", DataType::List),
    ("Frame", DataType::Frame),
    ("Unknown", DataType::Unknown),
];

/// The names of types of elements, in brackets after `Matrix`, `List` and `Frame`.
const ELEMENTS: &[&str] = &["Double", "Integer", "Int", "Boolean", "String", "Unknown"];

impl Parser<'_> {
    /// `name = function(parameters) return (results) { statements }`.
    pub(super) fn function_definition(&mut self) -> Parsed<FunctionDefinition> {
        let name = self.expect_identifier("the name of the function")?;
        self.advance();
        self.expect(&Token::Function, "")?;
        let parameters = self.declarations("parameter")?;
        let mut results = Vec::new();
        if self.accept(&Token::Return) {
            results = self.declarations("result")?;
        }
        let end = self.before();
        let body = self.nested(Self::braces)?;
        Ok(FunctionDefinition { span: join(name.span, end), name, parameters, results, body })
    }

    /// `(Type name = default, ...)`.
    fn declarations(&mut self, what: &str) -> Parsed<Vec<ParameterDefinition>> {
        self.expect(&Token::OpenParenthesis, &format!("before the {what}s"))?;
        let mut declarations: Vec<ParameterDefinition> = Vec::new();
        while *self.peek() != Token::CloseParenthesis {
            let declaration = self.declaration(what)?;
            if let Some(first) = declarations.iter().find(|other| other.name.text == declaration.name.text) {
                let message = format!("the {what} `{}` is declared twice", first.name.text);
                let error = Diagnostic::new(declaration.name.span, message).here("again here");
                return self.fail(error.label(first.name.span, "first here"));
            }
            declarations.push(declaration);
            if !self.accept(&Token::Comma) {
                break;
            }
        }
        self.expect(&Token::CloseParenthesis, &format!("after the {what}s"))?;
        Ok(declarations)
    }

    fn declaration(&mut self, what: &str) -> Parsed<ParameterDefinition> {
        let data_type = self.data_type(what)?;
        let name = self.expect_identifier(&format!("the name of the {what}"))?;
        let default = if self.accept(&Token::Assign) { Some(self.expression()?) } else { None };
        Ok(ParameterDefinition { name, data_type, default })
    }

    fn data_type(&mut self, what: &str) -> Parsed<DataType> {
        let name = self.expect_name(&format!("the type of the {what}"))?;
        let is_named = |known: &str| known.eq_ignore_ascii_case(&name.text);
        if name.text.eq_ignore_ascii_case("scalar") {
            return self.scalar_type();
        }
        let Some((_, data_type)) = TYPES.iter().find(|(known, _)| is_named(known)) else {
            return self.unknown_type(&name);
        };
        let holds_elements = matches!(data_type, DataType::Matrix(_) | DataType::List | DataType::Frame);
        if holds_elements && self.accept(&Token::OpenBracket) {
            self.element_type(*data_type)?;
            self.expect(&Token::CloseBracket, "after the type of the elements")?;
        }
        Ok(*data_type)
    }

    /// The type in brackets of `Scalar[...]`.
    fn scalar_type(&mut self) -> Parsed<DataType> {
        self.expect(&Token::OpenBracket, "and the type of the scalar")?;
        let name = self.expect_name("the type of the scalar")?;
        let is_named = |known: &str| known.eq_ignore_ascii_case(&name.text);
        let known = TYPES.iter().filter(|(_, data_type)| data_type.is_scalar() || *data_type == DataType::Unknown);
        let Some((_, data_type)) = known.clone().find(|(known, _)| is_named(known)) else {
            let names: Vec<&str> = known.map(|(name, _)| *name).collect();
            let error = Diagnostic::new(name.span, format!("there is no scalar of the type `{}`", name.text));
            return self.fail(error.help(format!("the types of scalars are {}", names.join(", "))));
        };
        self.expect(&Token::CloseBracket, "after the type of the scalar")?;
        Ok(*data_type)
    }

    /// The type in brackets, which tells nothing of the container but what is not supported.
    fn element_type(&mut self, container: DataType) -> Parsed<()> {
        let element = self.expect_name("the type of the elements")?;
        if container.is_matrix() && element.text.eq_ignore_ascii_case("string") {
            let message = format!("matrices of `{}` are not supported", element.text);
            return self.fail(Diagnostic::new(element.span, message).help("write `Matrix[Double]`"));
        }
        if !ELEMENTS.iter().any(|known| known.eq_ignore_ascii_case(&element.text)) {
            return self.unknown_type(&element);
        }
        Ok(())
    }

    fn unknown_type<T>(&mut self, name: &Name) -> Parsed<T> {
        if name.text.eq_ignore_ascii_case("Tensor") {
            return self.fail(Diagnostic::new(name.span, format!("the type `{}` is not supported yet", name.text)));
        }
        let error = Diagnostic::new(name.span, format!("there is no type `{}`", name.text));
        let known = suggest::nearest(&name.text, TYPES.iter().map(|(name, _)| *name));
        let help = known.unwrap_or(
            "the types are Matrix[Double], Double, Integer, Boolean, String, List[Unknown] and Frame[Unknown]"
                .to_owned(),
        );
        self.fail(error.help(help))
    }
}
