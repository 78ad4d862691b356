//! Plain data as text: a name and its parameters, such as `gaussian sigma=2 sensitivity=1`.
//!
//! | what | how it is written |
//! |---|---|
//! | a structure | its name, then `parameter=value` for each of its fields, in any order |
//! | a number | as Rust writes it; a whole number also as `1e6` |
//! | a list | its entries with commas between them; an empty list is an empty value |
//! | a pair | its two halves with a colon between them |
//! | a structure inside another | in square brackets |
//!
//! [`written!`](crate::written) makes `FromStr` and `Display` of an enumeration from the list of
//! its variants, in which each must be named.

use std::fmt;

/// How deep square brackets may be nested.
const DEEPEST: usize = 64;

/// Why a text could not be read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TextError {
    /// There is nothing in it.
    #[error("the text is empty, but it must be a name with parameters, as `gaussian sigma=2`")]
    Empty,
    /// Square brackets without their counterpart, or nested too deep.
    #[error("the square brackets of `{0}` do not match, or are nested more than {DEEPEST} deep")]
    Brackets(String),
    /// Nothing has this name.
    #[error("there is no {what} `{name}`; there are {known}")]
    Name {
        /// What was to be named.
        what: &'static str,
        /// What was given.
        name: String,
        /// What would be accepted.
        known: String,
    },
    /// A word that does not give a parameter its value.
    #[error("{name}: `{word}` is not of the form parameter=value")]
    Word {
        /// What it was given for.
        name: String,
        /// What was given.
        word: String,
    },
    /// There is no such parameter.
    #[error("{name}: there is no parameter `{parameter}`; there are {known}")]
    Parameter {
        /// What it was given for.
        name: String,
        /// What was given.
        parameter: String,
        /// What would be accepted.
        known: String,
    },
    /// A parameter is given more than once.
    #[error("{name}: `{parameter}` is given twice")]
    Twice {
        /// What it was given for.
        name: String,
        /// The parameter.
        parameter: String,
    },
    /// A parameter that has no usual value is not given.
    #[error("{name}: `{parameter}` is missing")]
    Missing {
        /// What needs it.
        name: String,
        /// The parameter.
        parameter: &'static str,
    },
    /// A value that the parameter cannot have.
    #[error("{name}: `{parameter}` is `{value}`, but {problem}")]
    Value {
        /// What it was given for.
        name: String,
        /// The parameter.
        parameter: &'static str,
        /// What was given.
        value: String,
        /// What would be accepted.
        problem: String,
    },
}

/// What can be the value of a parameter.
pub trait Word: Sized {
    /// Reads it.
    ///
    /// # Errors
    /// A sentence about "it" that says what is accepted.
    fn read(text: &str) -> Result<Self, String>;

    /// Writes it, so that [`Word::read`] gives it back.
    ///
    /// # Errors
    /// If the formatter fails.
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

/// A name with the values of its parameters, as they were written.
#[derive(Clone, Debug, PartialEq)]
pub struct Words<'a> {
    name: &'a str,
    values: Vec<(&'a str, &'a str)>,
}

impl<'a> Words<'a> {
    /// Splits a text.
    ///
    /// # Errors
    /// If it is empty, brackets do not match, or a parameter is given twice or without `=`.
    pub fn split(text: &'a str) -> Result<Self, TextError> {
        let mut words = outside_brackets(text, char::is_whitespace)
            .ok_or_else(|| TextError::Brackets(text.into()))?
            .into_iter()
            .filter(|word| !word.is_empty());
        let name = words.next().ok_or(TextError::Empty)?;
        let mut values: Vec<(&str, &str)> = Vec::new();
        for word in words {
            let Some((parameter, value)) = word.split_once('=') else {
                return Err(TextError::Word { name: name.into(), word: word.into() });
            };
            if values.iter().any(|(known, _)| *known == parameter) {
                return Err(TextError::Twice { name: name.into(), parameter: parameter.into() });
            }
            values.push((parameter, value));
        }
        Ok(Words { name, values })
    }

    /// The name.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// The error of a name that nothing has.
    pub fn unknown(&self, what: &'static str, known: &[&str]) -> TextError {
        TextError::Name { what, name: self.name.into(), known: known.join(", ") }
    }

    /// Refuses parameters that are not among these.
    ///
    /// # Errors
    /// If there is one.
    pub fn only(&self, own: &[&str], common: &[&str]) -> Result<(), TextError> {
        let known = || own.iter().chain(common).copied();
        match self.values.iter().find(|(parameter, _)| known().all(|known| known != *parameter)) {
            None => Ok(()),
            Some((parameter, _)) => Err(TextError::Parameter {
                name: self.name.into(),
                parameter: (*parameter).into(),
                known: known().collect::<Vec<_>>().join(", "),
            }),
        }
    }

    /// The value of a parameter, if it is given.
    ///
    /// # Errors
    /// If it is not one that the parameter can have.
    pub fn optional<T: Word>(&self, parameter: &'static str) -> Result<Option<T>, TextError> {
        let given = self.values.iter().find(|(known, _)| *known == parameter);
        given
            .map(|(_, value)| T::read(value).map_err(|problem| (value, problem)))
            .transpose()
            .map_err(|(value, problem)| TextError::Value {
                name: self.name.into(),
                parameter,
                value: (*value).into(),
                problem,
            })
    }

    /// The value of a parameter.
    ///
    /// # Errors
    /// If it is not given, or not one that the parameter can have.
    pub fn value<T: Word>(&self, parameter: &'static str) -> Result<T, TextError> {
        let missing = || TextError::Missing { name: self.name.into(), parameter };
        self.optional(parameter)?.ok_or_else(missing)
    }
}

/// The parts between separators that are in no brackets; `None` if brackets do not match.
fn outside_brackets(text: &str, separates: impl Fn(char) -> bool) -> Option<Vec<&str>> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0usize, 0);
    for (index, character) in text.char_indices() {
        match character {
            '[' => depth += 1,
            ']' => depth = depth.checked_sub(1)?,
            other if depth == 0 && separates(other) => {
                parts.push(&text[start..index]);
                start = index + other.len_utf8();
            }
            _ => {}
        }
        if depth > DEEPEST {
            return None;
        }
    }
    parts.push(&text[start..]);
    (depth == 0).then_some(parts)
}

impl Word for f64 {
    fn read(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| "it must be a number".into())
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let magnitude = self.abs();
        if magnitude == 0.0 || (1e-4..1e16).contains(&magnitude) {
            write!(f, "{self}")
        } else {
            write!(f, "{self:e}")
        }
    }
}

/// Any text without blanks, such as a path or an expression.
impl Word for String {
    fn read(text: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl Word for u64 {
    fn read(text: &str) -> Result<Self, String> {
        let whole = |value: f64| {
            (value >= 0.0 && value.fract() == 0.0 && value <= 9e15).then_some(value as u64)
        };
        let parsed = text.parse().ok().or_else(|| text.parse().ok().and_then(whole));
        parsed.ok_or_else(|| "it must be a whole number of zero or more".into())
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Word for u32 {
    fn read(text: &str) -> Result<Self, String> {
        let most = || format!("it must be a whole number from 0 to {}", u32::MAX);
        u64::read(text)?.try_into().map_err(|_| most())
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl<T: Word> Word for Vec<T> {
    fn read(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let parts = outside_brackets(text, |character| character == ',').unwrap_or_default();
        parts.into_iter().map(T::read).collect()
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, entry) in self.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            entry.write(f)?;
        }
        Ok(())
    }
}

impl<A: Word, B: Word> Word for (A, B) {
    fn read(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some((first, second)) => Ok((A::read(first)?, B::read(second)?)),
            None => Err("it must be pairs such as 1:0.9,3:0.1".into()),
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write(f)?;
        f.write_str(":")?;
        self.1.write(f)
    }
}

impl<T: Word> Word for Box<T> {
    fn read(text: &str) -> Result<Self, String> {
        T::read(text).map(Box::new)
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).write(f)
    }
}

/// Makes an enumeration of structures readable and writable: [`std::fmt::Display`], a private
/// `from_words`, the name of each variant, and [`Word`] for use inside another structure.
///
/// Every variant and every field must be listed, or the program does not compile. A field with a
/// usual value, `field = value`, may be left out by whoever writes.
#[macro_export]
macro_rules! written {
    (
        $type:ident, $what:literal, $name_of:ident, also $common:expr;
        $($variant:ident => $name:literal { $($field:ident $(= $usual:expr)?),* })*
    ) => {
        impl $type {
            /// All names, as they are written and serialised.
            pub const NAMES: &[&str] = &[$($name),*];

            /// The parameters of each, by its name.
            pub const PARAMETERS: &[(&str, &[&str])] = &[$(($name, &[$(stringify!($field)),*])),*];

            /// The name, as it is written and serialised.
            pub fn $name_of(&self) -> &'static str {
                match self {
                    $($type::$variant { .. } => $name,)*
                }
            }

            fn from_words(words: &$crate::Words<'_>) -> Result<Self, $crate::TextError> {
                Ok(match words.name() {
                    $($name => {
                        words.only(&[$(stringify!($field)),*], $common)?;
                        $type::$variant {
                            $($field: $crate::written!(@value words, $field $(, $usual)?),)*
                        }
                    })*
                    _ => return Err(words.unknown($what, Self::NAMES)),
                })
            }
        }

        impl ::std::fmt::Display for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                match self {
                    $($type::$variant { $($field),* } => {
                        f.write_str($name)?;
                        $(
                            f.write_str(concat!(" ", stringify!($field), "="))?;
                            $crate::Word::write($field, f)?;
                        )*
                    })*
                }
                Ok(())
            }
        }

        impl $crate::Word for $type {
            fn read(text: &str) -> Result<Self, String> {
                let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
                let inner = inner.ok_or(concat!("it must be a ", $what, " in square brackets"))?;
                inner.parse().map_err(|error: $crate::TextError| error.to_string())
            }

            fn write(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                write!(f, "[{self}]")
            }
        }
    };
    (@value $words:ident, $field:ident) => { $words.value(stringify!($field))? };
    (@value $words:ident, $field:ident, $usual:expr) => {
        $words.optional(stringify!($field))?.unwrap_or_else(|| $usual)
    };
}
