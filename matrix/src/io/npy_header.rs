//! The header of NumPy arrays: a Python dictionary with the element type, the order of the cells, and the shape.

use super::error::{Problem, shown};

/// What the header of an array says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) element: ElementType,
    pub(super) byte_order: ByteOrder,
    pub(super) order: Order,
    pub(super) shape: Vec<u64>,
}

/// How cells follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    RowMajor,
    ColumnMajor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

/// One row per element type: variant, kind and size as NumPy writes them, bytes to double.
macro_rules! element_types {
    ($($name:ident $kind:literal $size:literal $rust:ty => $to_double:expr;)*) => {
        /// The type of an array's elements.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum ElementType {
            $($name,)*
        }

        impl ElementType {
            #[cfg(test)]
            pub(super) const ALL: &[ElementType] = &[$(ElementType::$name),*];

            fn of(kind: char, size: &str) -> Option<Self> {
                match (kind, size) {
                    $(($kind, stringify!($size)) => Some(ElementType::$name),)*
                    _ => None,
                }
            }

            /// Kind and size, as NumPy writes them.
            #[cfg(test)]
            pub(super) fn name(self) -> &'static str {
                match self {
                    $(ElementType::$name => concat!($kind, $size),)*
                }
            }

            /// Bytes of an element.
            pub(super) fn size(self) -> usize {
                match self {
                    $(ElementType::$name => $size,)*
                }
            }

            /// Appends the elements in these bytes, as doubles. An element that is cut off is left out.
            pub(super) fn append(self, bytes: &[u8], byte_order: ByteOrder, values: &mut Vec<f64>) {
                match self {
                    $(ElementType::$name => {
                        let (elements, _) = bytes.as_chunks::<$size>();
                        let to_double: fn($rust) -> f64 = $to_double;
                        match byte_order {
                            ByteOrder::Little => {
                                values.extend(elements.iter().map(|&bytes| to_double(<$rust>::from_le_bytes(bytes))));
                            }
                            ByteOrder::Big => {
                                values.extend(elements.iter().map(|&bytes| to_double(<$rust>::from_be_bytes(bytes))));
                            }
                        }
                    })*
                }
            }
        }
    };
}

// Integers beyond 2^53 are rounded to the nearest double.
element_types! {
    F64 'f' 8 f64 => |value| value;
    F32 'f' 4 f32 => f64::from;
    I64 'i' 8 i64 => |value| value as f64;
    I32 'i' 4 i32 => f64::from;
    I16 'i' 2 i16 => f64::from;
    I8 'i' 1 i8 => f64::from;
    U64 'u' 8 u64 => |value| value as f64;
    U32 'u' 4 u32 => f64::from;
    U16 'u' 2 u16 => f64::from;
    U8 'u' 1 u8 => f64::from;
    Bool 'b' 1 u8 => |value| f64::from(u8::from(value != 0));
}

impl Header {
    /// Reads the dictionary.
    pub(super) fn parse(text: &[u8]) -> Result<Self, Problem> {
        let mut literals = Literals { text, at: 0 };
        let (mut element, mut order, mut shape) = (None, None, None);
        literals.expect(b'{')?;
        while !literals.eat(b'}') {
            let start = literals.at;
            let key = literals.string()?;
            literals.expect(b':')?;
            let is_new = match key {
                "descr" => element.replace(literals.element_type()?).is_none(),
                "fortran_order" => order.replace(literals.order()?).is_none(),
                "shape" => shape.replace(literals.shape()?).is_none(),
                _ => return Err(Problem::at(start, format!("the key `{}` is not known", shown(key.as_bytes())))),
            };
            if !is_new {
                return Err(Problem::at(start, format!("the key `{key}` occurs twice")));
            }
            if !literals.eat(b',') {
                literals.expect(b'}')?;
                break;
            }
        }
        literals.end()?;
        let missing = |key: &str| Problem::at(0, format!("the key `{key}` is missing"));
        let (element, byte_order) = element.ok_or_else(|| missing("descr"))?;
        let order = order.ok_or_else(|| missing("fortran_order"))?;
        let shape = shape.ok_or_else(|| missing("shape"))?;
        Ok(Header { element, byte_order, order, shape })
    }
}

/// Reads Python's literals one after the other.
struct Literals<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Literals<'a> {
    fn error<T>(&self, expected: &str) -> Result<T, Problem> {
        let rest = &self.text[self.at..];
        let found = if rest.is_empty() { "the end".to_owned() } else { format!("`{}`", shown(rest)) };
        Err(Problem::at(self.at, format!("expected {expected}, found {found}")))
    }

    fn skip_blanks(&mut self) {
        self.at += self.text[self.at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    }

    fn eat(&mut self, byte: u8) -> bool {
        self.skip_blanks();
        let found = self.text.get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), Problem> {
        if self.eat(byte) { Ok(()) } else { self.error(&format!("`{}`", char::from(byte))) }
    }

    fn end(&mut self) -> Result<(), Problem> {
        self.skip_blanks();
        if self.at == self.text.len() { Ok(()) } else { self.error("the end") }
    }

    /// A text in quotes, without escapes.
    fn string(&mut self) -> Result<&'a str, Problem> {
        self.skip_blanks();
        let rest = &self.text[self.at..];
        let [quote @ (b'\'' | b'"'), content @ ..] = rest else { return self.error("a text in quotes") };
        let Some(end) = memchr::memchr(*quote, content) else { return self.error("a text that ends") };
        match std::str::from_utf8(&content[..end]) {
            Ok(text) if !text.contains('\\') => {
                self.at += end + 2;
                Ok(text)
            }
            _ => self.error("a text without escapes"),
        }
    }

    fn word(&mut self) -> &'a [u8] {
        self.skip_blanks();
        let rest = &self.text[self.at..];
        let length = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        self.at += length;
        &rest[..length]
    }

    fn element_type(&mut self) -> Result<(ElementType, ByteOrder), Problem> {
        self.skip_blanks();
        let start = self.at;
        if self.text.get(start) == Some(&b'[') {
            return Err(Problem::at(start, "arrays of records are not supported; numbers and truth values are"));
        }
        let descr = self.string()?;
        let (byte_order, rest) = match descr.split_at_checked(1) {
            Some(("<" | "|", rest)) => (ByteOrder::Little, rest),
            Some((">", rest)) => (ByteOrder::Big, rest),
            Some(("=", rest)) => (if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little }, rest),
            _ => (ByteOrder::Little, descr),
        };
        let kind = rest.chars().next().unwrap_or_default();
        match ElementType::of(kind, &rest[kind.len_utf8().min(rest.len())..]) {
            Some(element) => Ok((element, byte_order)),
            None => {
                let what = match kind {
                    'O' => " (Python objects)",
                    'c' => " (complex numbers)",
                    'U' | 'S' | 'a' => " (texts)",
                    'M' | 'm' => " (dates and times)",
                    _ => "",
                };
                let descr = shown(descr.as_bytes());
                let problem =
                    format!("the element type `{descr}`{what} is not supported; f4, f8, integers and truth values are");
                Err(Problem::at(start, problem))
            }
        }
    }

    fn order(&mut self) -> Result<Order, Problem> {
        self.skip_blanks();
        let start = self.at;
        match self.word() {
            b"False" => Ok(Order::RowMajor),
            b"True" => Ok(Order::ColumnMajor),
            _ => {
                self.at = start;
                self.error("`True` or `False`")
            }
        }
    }

    /// A tuple of sizes.
    fn shape(&mut self) -> Result<Vec<u64>, Problem> {
        let mut shape = Vec::new();
        self.expect(b'(')?;
        while !self.eat(b')') {
            self.skip_blanks();
            let start = self.at;
            let word = self.word();
            // Python 2 marked long integers.
            let digits = word.strip_suffix(b"L").unwrap_or(word);
            let Some(size) = super::number::parse_count(digits) else {
                self.at = start;
                return self.error("a size");
            };
            shape.push(size);
            if !self.eat(b',') {
                if shape.len() == 1 {
                    return self.error("`,` after the only size");
                }
                self.expect(b')')?;
                break;
            }
        }
        Ok(shape)
    }
}
