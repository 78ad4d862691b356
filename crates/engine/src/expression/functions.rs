//! The functions that a query may call over rows: one table, from which the reader of queries, the
//! evaluator and the generators of tests all take them.

use super::arithmetic::{cut_integer, finite, rounded_integer, rounded_real};
use super::compare::{Comparison, extreme, select};
use super::kind::Kind;
use super::text;
use super::values::{Values, each};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, StringViewArray,
};
use datafusion::common::{Result, internal_err};
use std::cmp::Ordering;

/// What a function takes at one of its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    /// A number, computed with as a real one.
    Real,
    /// A number, whole or real.
    Number,
    Text,
    /// A date or a timestamp.
    Calendar,
    /// A value of any kind, the same for all such arguments.
    Any,
    /// A whole number that is written in the query.
    LiteralInteger,
    /// A text that is written in the query.
    LiteralText,
}

/// A function that is offered.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) takes: &'static [Takes],
    /// How many of the last arguments may be left out.
    pub(crate) optional: usize,
    /// Whether the last argument may be repeated.
    pub(crate) repeats: bool,
    pub(super) kernel: Kernel,
}

/// How a function is computed, from one row at a time.
#[derive(Debug)]
pub(super) enum Kernel {
    /// A real function; what is not finite is NULL.
    Real(fn(f64) -> f64),
    Real2(fn(f64, f64) -> f64),
    /// Rounding to whole numbers; whole numbers stay.
    Whole(fn(f64) -> f64),
    /// Rounding to decimal digits, of whole numbers and of reals.
    Digits(fn(i64, i64) -> Option<i64>, fn(f64) -> f64),
    Absolute,
    Sign,
    IsZero,
    /// To base 10, or to a base that comes first.
    Logarithm,
    Text(fn(&str) -> String),
    Measure(fn(&str) -> i64),
    Test(fn(&str, &str) -> bool),
    Position(fn(&str, &str) -> i64),
    Trim {
        start: bool,
        end: bool,
    },
    Slice(fn(&str, i64, Option<i64>) -> &str),
    SplitPart,
    FirstPresent,
    NullIf,
    Extreme(Ordering),
    /// Pieces that are NULL are passed over; the separator, if there is one, comes first.
    Join {
        separator: bool,
    },
    /// These have a literal that is made ready when the query is read.
    RegexpLike,
    DatePart,
    DateTrunc,
}

const fn function(name: &'static str, takes: &'static [Takes], kernel: Kernel) -> Function {
    Function { name, takes, optional: 0, repeats: false, kernel }
}

const fn optional(mut function: Function, count: usize) -> Function {
    function.optional = count;
    function
}

const fn repeats(mut function: Function) -> Function {
    function.repeats = true;
    function
}

use Takes::{Any, Calendar, LiteralInteger, LiteralText, Number};
const REAL: &[Takes] = &[Takes::Real];
const REALS: &[Takes] = &[Takes::Real, Takes::Real];
const TEXT: &[Takes] = &[Takes::Text];
const TEXTS: &[Takes] = &[Takes::Text, Takes::Text];

/// The names of the functions that a query may call over rows.
pub fn functions() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|function| function.name)
}

/// Every function, by its name in a plan. (`length` is `character_length`, `trim` is `btrim`, ...)
pub(crate) static FUNCTIONS: &[Function] = &[
    function("abs", &[Number], Kernel::Absolute),
    function("ceil", &[Number], Kernel::Whole(f64::ceil)),
    function("floor", &[Number], Kernel::Whole(f64::floor)),
    optional(
        function("round", &[Number, LiteralInteger], Kernel::Digits(rounded_integer, f64::round)),
        1,
    ),
    optional(
        function("trunc", &[Number, LiteralInteger], Kernel::Digits(cut_integer, f64::trunc)),
        1,
    ),
    function("signum", &[Number], Kernel::Sign),
    function("iszero", &[Number], Kernel::IsZero),
    function("sqrt", REAL, Kernel::Real(f64::sqrt)),
    function("cbrt", REAL, Kernel::Real(f64::cbrt)),
    function("exp", REAL, Kernel::Real(f64::exp)),
    function("ln", REAL, Kernel::Real(f64::ln)),
    function("log2", REAL, Kernel::Real(f64::log2)),
    function("log10", REAL, Kernel::Real(f64::log10)),
    optional(function("log", REALS, Kernel::Logarithm), 1),
    function("power", REALS, Kernel::Real2(f64::powf)),
    function("sin", REAL, Kernel::Real(f64::sin)),
    function("cos", REAL, Kernel::Real(f64::cos)),
    function("tan", REAL, Kernel::Real(f64::tan)),
    function("asin", REAL, Kernel::Real(f64::asin)),
    function("acos", REAL, Kernel::Real(f64::acos)),
    function("atan", REAL, Kernel::Real(f64::atan)),
    function("atan2", REALS, Kernel::Real2(f64::atan2)),
    function("degrees", REAL, Kernel::Real(f64::to_degrees)),
    function("radians", REAL, Kernel::Real(f64::to_radians)),
    function("lower", TEXT, Kernel::Text(text::lower)),
    function("upper", TEXT, Kernel::Text(text::upper)),
    function("initcap", TEXT, Kernel::Text(text::initcap)),
    function("reverse", TEXT, Kernel::Text(text::reverse)),
    function("character_length", TEXT, Kernel::Measure(text::character_length)),
    function("octet_length", TEXT, Kernel::Measure(text::octet_length)),
    function("ascii", TEXT, Kernel::Measure(text::ascii)),
    function("starts_with", TEXTS, Kernel::Test(|text, part| text.starts_with(part))),
    function("ends_with", TEXTS, Kernel::Test(|text, part| text.ends_with(part))),
    function("contains", TEXTS, Kernel::Test(|text, part| text.contains(part))),
    function("strpos", TEXTS, Kernel::Position(text::strpos)),
    optional(function("btrim", TEXTS, Kernel::Trim { start: true, end: true }), 1),
    optional(function("ltrim", TEXTS, Kernel::Trim { start: true, end: false }), 1),
    optional(function("rtrim", TEXTS, Kernel::Trim { start: false, end: true }), 1),
    function("left", &[Takes::Text, LiteralInteger], Kernel::Slice(text::left)),
    function("right", &[Takes::Text, LiteralInteger], Kernel::Slice(text::right)),
    optional(
        function(
            "substr",
            &[Takes::Text, LiteralInteger, LiteralInteger],
            Kernel::Slice(text::substr),
        ),
        1,
    ),
    function("split_part", &[Takes::Text, LiteralText, LiteralInteger], Kernel::SplitPart),
    optional(
        function("regexp_like", &[Takes::Text, LiteralText, LiteralText], Kernel::RegexpLike),
        1,
    ),
    repeats(function("concat", TEXT, Kernel::Join { separator: false })),
    repeats(function("concat_ws", TEXTS, Kernel::Join { separator: true })),
    repeats(function("coalesce", &[Any], Kernel::FirstPresent)),
    function("nvl", &[Any, Any], Kernel::FirstPresent),
    function("nullif", &[Any, Any], Kernel::NullIf),
    repeats(function("greatest", &[Any], Kernel::Extreme(Ordering::Greater))),
    repeats(function("least", &[Any], Kernel::Extreme(Ordering::Less))),
    function("date_part", &[LiteralText, Calendar], Kernel::DatePart),
    function("date_trunc", &[LiteralText, Calendar], Kernel::DateTrunc),
];

/// What to write instead of a function that is not offered.
pub(super) fn advice(name: &str) -> &'static str {
    match name {
        "random" | "uuid" => "its values cannot be repeated; leave it out",
        "now" | "current_date" | "current_time" | "today" => {
            "the answer would depend on a clock; write the date"
        }
        "to_date"
        | "to_timestamp"
        | "to_timestamp_seconds"
        | "to_timestamp_millis"
        | "to_timestamp_micros" => {
            "write CAST(x AS DATE) or CAST(x AS TIMESTAMP), which give NULL where the text is no \
             date"
        }
        "repeat" | "lpad" | "rpad" | "replace" | "translate" | "regexp_replace" => {
            "one row could make a text of any length; use SUBSTR, LEFT, RIGHT, SPLIT_PART or CASE"
        }
        "regexp_match" | "regexp_count" | "regexp_instr" => {
            "use REGEXP_LIKE with a literal pattern, or LIKE"
        }
        "isnan" | "nanvl" => "NaN is read as NULL; use IS NULL or COALESCE",
        _ => "see docs/sql.md for the functions that are",
    }
}

impl Function {
    pub(super) fn named(name: &str) -> Option<&'static Function> {
        FUNCTIONS.iter().find(|function| function.name == name)
    }

    /// The kind of the values that it makes, given those of its arguments.
    pub(super) fn makes(&self, takes: &[Kind]) -> Kind {
        match self.kernel {
            Kernel::Real(_) | Kernel::Real2(_) | Kernel::Logarithm => Kind::Real,
            Kernel::Whole(_) | Kernel::Digits(..) | Kernel::Absolute | Kernel::Sign => takes[0],
            Kernel::FirstPresent | Kernel::NullIf | Kernel::Extreme(_) => takes[0],
            Kernel::IsZero | Kernel::Test(_) | Kernel::RegexpLike => Kind::Boolean,
            Kernel::Text(_) | Kernel::Trim { .. } | Kernel::Slice(_) | Kernel::SplitPart => {
                Kind::Text
            }
            Kernel::Join { .. } => Kind::Text,
            Kernel::Measure(_) | Kernel::Position(_) | Kernel::DatePart => Kind::Integer,
            Kernel::DateTrunc => Kind::Moment,
        }
    }

    /// Its values in each row. The arguments are of the kinds that it takes.
    pub(super) fn apply(&self, inputs: &[Values], kinds: &[Kind], rows: usize) -> Result<ArrayRef> {
        let literal = |index: usize| inputs.get(index).and_then(|input| input.integers().get(0));
        let choices: Vec<&Values> = inputs.iter().collect();
        Ok(match self.kernel {
            Kernel::Real(real) => {
                let a = inputs[0].reals();
                each::<Float64Array, _>(rows, |row| finite(real(a.get(row)?)))
            }
            Kernel::Real2(real) => {
                let (a, b) = (inputs[0].reals(), inputs[1].reals());
                each::<Float64Array, _>(rows, |row| finite(real(a.get(row)?, b.get(row)?)))
            }
            Kernel::Logarithm => match inputs {
                [base, number] => {
                    let (base, a) = (base.reals(), number.reals());
                    each::<Float64Array, _>(rows, |row| finite(a.get(row)?.log(base.get(row)?)))
                }
                _ => {
                    let a = inputs[0].reals();
                    each::<Float64Array, _>(rows, |row| finite(a.get(row)?.log10()))
                }
            },
            Kernel::Whole(_) | Kernel::Sign | Kernel::Absolute | Kernel::Digits(..)
                if kinds[0] == Kind::Integer =>
            {
                let (a, digits) = (inputs[0].integers(), literal(1).unwrap_or(0));
                each::<Int64Array, _>(rows, |row| {
                    let number = a.get(row)?;
                    match self.kernel {
                        Kernel::Sign => Some(number.signum()),
                        Kernel::Absolute => number.checked_abs(),
                        Kernel::Digits(whole, _) => whole(number, digits),
                        _ => Some(number),
                    }
                })
            }
            // An infinity is its own rounding.
            Kernel::Whole(whole) => {
                let a = inputs[0].reals();
                each::<Float64Array, _>(rows, |row| Some(whole(a.get(row)?) + 0.0))
            }
            Kernel::Digits(_, whole) => {
                let (a, digits) = (inputs[0].reals(), literal(1).unwrap_or(0));
                each::<Float64Array, _>(rows, |row| {
                    let number = a.get(row)?;
                    Some(if number.is_finite() {
                        rounded_real(number, digits, whole) + 0.0
                    } else {
                        number
                    })
                })
            }
            Kernel::Absolute => {
                let a = inputs[0].reals();
                each::<Float64Array, _>(rows, |row| Some(a.get(row)?.abs()))
            }
            Kernel::Sign => {
                let a = inputs[0].reals();
                each::<Float64Array, _>(rows, |row| {
                    let number = a.get(row)?;
                    Some(if number == 0.0 { 0.0 } else { number.signum() })
                })
            }
            Kernel::IsZero if kinds[0] == Kind::Integer => {
                let a = inputs[0].integers();
                each::<BooleanArray, _>(rows, |row| Some(a.get(row)? == 0))
            }
            Kernel::IsZero => {
                let a = inputs[0].reals();
                each::<BooleanArray, _>(rows, |row| Some(a.get(row)? == 0.0))
            }
            Kernel::Text(made) => {
                let a = inputs[0].texts();
                each::<StringViewArray, _>(rows, |row| Some(made(a.get(row)?)))
            }
            Kernel::Measure(measure) => {
                let a = inputs[0].texts();
                each::<Int64Array, _>(rows, |row| Some(measure(a.get(row)?)))
            }
            Kernel::Test(test) => {
                let (a, b) = (inputs[0].texts(), inputs[1].texts());
                each::<BooleanArray, _>(rows, |row| Some(test(a.get(row)?, b.get(row)?)))
            }
            Kernel::Position(position) => {
                let (a, b) = (inputs[0].texts(), inputs[1].texts());
                each::<Int64Array, _>(rows, |row| Some(position(a.get(row)?, b.get(row)?)))
            }
            Kernel::Trim { start, end } => {
                let (a, characters) = (inputs[0].texts(), inputs.get(1).map(Values::texts));
                each::<StringViewArray, _>(rows, |row| {
                    let set =
                        characters.as_ref().map_or(Some(" "), |characters| characters.get(row))?;
                    Some(text::trimmed(a.get(row)?, set, start, end))
                })
            }
            Kernel::Slice(slice) => {
                let (a, first, second) = (inputs[0].texts(), literal(1), literal(2));
                let given = inputs.len() < 3 || second.is_some();
                each::<StringViewArray, _>(rows, |row| {
                    Some(slice(a.get(row)?, first.filter(|_| given)?, second))
                })
            }
            Kernel::SplitPart => {
                let (a, separator, number) = (inputs[0].texts(), inputs[1].texts(), literal(2));
                each::<StringViewArray, _>(rows, |row| {
                    Some(text::split_part(a.get(row)?, separator.get(0)?, number?))
                })
            }
            Kernel::Join { separator } => {
                let (between, pieces) = if separator {
                    (Some(inputs[0].texts()), &inputs[1..])
                } else {
                    (None, inputs)
                };
                let pieces: Vec<_> = pieces.iter().map(Values::texts).collect();
                each::<StringViewArray, _>(rows, |row| {
                    let between = between.as_ref().map_or(Some(""), |between| between.get(row))?;
                    Some(text::joined(between, pieces.iter().filter_map(|piece| piece.get(row))))
                })
            }
            Kernel::FirstPresent => {
                let present = |row: usize| choices.iter().position(|choice| !choice.is_null(row));
                select(&choices, kinds[0], rows, present)?
            }
            Kernel::NullIf => {
                let same = Comparison::Equal.apply(kinds[0], &inputs[0], &inputs[1], rows);
                let same = same.as_boolean();
                let differs = |row: usize| !(same.is_valid(row) && same.value(row));
                select(&choices, kinds[0], rows, |row| differs(row).then_some(0))?
            }
            Kernel::Extreme(wanted) => extreme(wanted, &choices, kinds[0], rows)?,
            Kernel::RegexpLike | Kernel::DatePart | Kernel::DateTrunc => {
                return internal_err!("{} is made ready when a query is read", self.name);
            }
        })
    }
}
