//! What functions of cells may call.

/// How many arguments a call takes, at least and at most.
pub(super) type Arguments = (usize, usize);

macro_rules! calls {
    ($(#[$attribute:meta])* $type:ident { $($(#[$doc:meta])* $variant:ident = $name:literal $arguments:expr),* $(,)? }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $type {
            $($(#[$doc])* $variant),*
        }

        impl $type {
            /// All of them.
            pub const ALL: &[$type] = &[$($type::$variant),*];

            /// The name in the text.
            pub fn name(self) -> &'static str {
                match self {
                    $($type::$variant => $name),*
                }
            }

            /// How many arguments it takes, at least and at most.
            pub fn arguments(self) -> Arguments {
                match self {
                    $($type::$variant => $arguments),*
                }
            }

            /// The one of this name.
            pub fn find(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|call| call.name() == name)
            }
        }
    };
}

calls! {
    /// A method of a text. Positions count from 0.
    Method {
        /// In lower case.
        ToLowerCase = "toLowerCase" (0, 0),
        /// In upper case.
        ToUpperCase = "toUpperCase" (0, 0),
        /// Without spaces at both ends.
        Trim = "trim" (0, 0),
        /// Cuts white space off both ends, like `trim`.
        Strip = "strip" (0, 0),
        /// The text itself, or that of a number.
        ToString = "toString" (0, 0),
        /// How many characters.
        Length = "length" (0, 0),
        /// Whether there is no character.
        IsEmpty = "isEmpty" (0, 0),
        /// Whether there are spaces at most.
        IsBlank = "isBlank" (0, 0),
        /// Whether it is the same text.
        Equals = "equals" (1, 1),
        /// Whether it is the same text but for upper and lower case.
        EqualsIgnoreCase = "equalsIgnoreCase" (1, 1),
        /// Whether the argument is part of it.
        Contains = "contains" (1, 1),
        /// Whether it starts with the argument.
        StartsWith = "startsWith" (1, 1),
        /// Whether it ends with the argument.
        EndsWith = "endsWith" (1, 1),
        /// The first position of the argument in it, or -1.
        IndexOf = "indexOf" (1, 1),
        /// The last position of the argument in it, or -1.
        LastIndexOf = "lastIndexOf" (1, 1),
        /// The character at a position.
        CharAt = "charAt" (1, 1),
        /// The part from a position on, or up to before another.
        Substring = "substring" (1, 2),
        /// It and the argument.
        Concat = "concat" (1, 1),
        /// It, several times.
        Repeat = "repeat" (1, 1),
        /// Each occurrence of the first argument replaced by the second.
        Replace = "replace" (2, 2),
        /// Each match of a pattern replaced.
        ReplaceAll = "replaceAll" (2, 2),
        /// The first match of a pattern replaced.
        ReplaceFirst = "replaceFirst" (2, 2),
        /// Whether a pattern matches all of it.
        Matches = "matches" (1, 1),
        /// The texts between the matches of a pattern, without empty ones at the end.
        Split = "split" (1, 1),
    }
}

calls! {
    /// A function that is called by the name of its class.
    StaticFunction {
        /// An integer from a text.
        IntegerValueOf = "Integer.valueOf" (1, 1),
        /// An integer from a text.
        ParseInteger = "Integer.parseInt" (1, 1),
        /// An integer from a text.
        LongValueOf = "Long.valueOf" (1, 1),
        /// An integer from a text.
        ParseLong = "Long.parseLong" (1, 1),
        /// A double from a text.
        DoubleValueOf = "Double.valueOf" (1, 1),
        /// A double from a text.
        ParseDouble = "Double.parseDouble" (1, 1),
        /// A double from a text.
        ToDouble = "UtilFunctions.toDouble" (1, 1),
        /// Any value as text.
        TextValueOf = "String.valueOf" (1, 1),
        /// The size of a number.
        Absolute = "Math.abs" (1, 1),
        /// The smaller of two numbers.
        Minimum = "Math.min" (2, 2),
        /// The larger of two numbers.
        Maximum = "Math.max" (2, 2),
        /// The square root.
        SquareRoot = "Math.sqrt" (1, 1),
        /// The largest integer that is not above, as a double.
        Floor = "Math.floor" (1, 1),
        /// The smallest integer that is not below, as a double.
        Ceiling = "Math.ceil" (1, 1),
        /// The nearest integer, upwards from the middle.
        Round = "Math.round" (1, 1),
        /// A power.
        Power = "Math.pow" (2, 2),
        /// The category and the code of an entry of what `transformencode` learnt.
        SplitRecodeEntry = "UtilFunctions.splitRecodeEntry" (1, 1),
        /// The number of the character at a position from 1, or 0 outside of the text.
        CharacterCode = "UtilFunctions.getAsciiAtIdx" (2, 2),
        /// The share of the characters of two texts that both have (Jaccard).
        JaccardSimilarity = "UtilFunctions.jaccardSim" (2, 2),
        /// The edits that make the words of one text those of the other, per word of the longer one.
        WordErrorRate = "UtilFunctions.getWordErrorRate" (2, 2),
        /// The stem of an English word (Porter).
        Stem = "PorterStemmer.stem" (1, 1),
    }
}
