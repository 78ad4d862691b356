//! Every function over every pair of extreme values, against a plain reference that is written
//! without any of the code that it checks; in one batch, in many, and among other rows.

use super::calendar::Part;
use super::convert::{convert, converts};
use super::functions::{FUNCTIONS, Function, Kernel, Takes};
use super::kind::Kind;
use super::node::{Named, Node, Operation};
use super::values::Values;
use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::common::ScalarValue;
use reticent_policy::LONGEST_TEXT;

/// A value, or NULL. Reals are compared by their bits.
#[derive(Clone, Debug, PartialEq, PartialOrd)]
enum Cell {
    Boolean(bool),
    Integer(i64),
    Real(f64),
    Text(String),
    Date(i32),
    Moment(i64),
}

type Maybe = Option<Cell>;

/// An argument of a call, from the columns of a row.
type Argument = Box<dyn Fn(&[Maybe]) -> Maybe>;

use Cell::{Boolean, Date, Integer, Moment, Real, Text};

const KINDS: [Kind; 6] =
    [Kind::Boolean, Kind::Integer, Kind::Real, Kind::Text, Kind::Date, Kind::Moment];

fn scalar(kind: Kind, cell: &Maybe) -> ScalarValue {
    match cell {
        None => ScalarValue::try_from(&kind.stored()).expect("a type"),
        Some(Boolean(truth)) => ScalarValue::Boolean(Some(*truth)),
        Some(Integer(number)) => ScalarValue::Int64(Some(*number)),
        Some(Real(number)) => ScalarValue::Float64(Some(*number)),
        Some(Text(text)) => ScalarValue::Utf8View(Some(text.clone())),
        Some(Date(day)) => ScalarValue::Date32(Some(*day)),
        Some(Moment(moment)) => ScalarValue::TimestampMicrosecond(Some(*moment), None),
    }
}

fn cell(array: &ArrayRef, row: usize) -> Maybe {
    match ScalarValue::try_from_array(array, row).expect("a value") {
        ScalarValue::Boolean(truth) => truth.map(Boolean),
        ScalarValue::Int64(number) => number.map(Integer),
        ScalarValue::Float64(number) => number.map(Real),
        ScalarValue::Utf8View(text) => text.map(Text),
        ScalarValue::Date32(day) => day.map(Date),
        ScalarValue::TimestampMicrosecond(moment, None) => moment.map(Moment),
        other => unreachable!("{other:?} is in no stored form"),
    }
}

/// Extremes of each kind, NULL among them.
fn extremes(kind: Kind) -> Vec<Maybe> {
    let mut cells: Vec<Cell> = match kind {
        Kind::Boolean => vec![Boolean(false), Boolean(true)],
        Kind::Integer => {
            let numbers = [
                i64::MIN,
                i64::MIN + 1,
                -9_007_199_254_740_993,
                -15,
                -1,
                0,
                1,
                2,
                15,
                i64::MAX - 5,
                i64::MAX,
            ];
            numbers.map(Integer).to_vec()
        }
        Kind::Real => {
            let mut numbers = vec![
                f64::NEG_INFINITY,
                f64::MIN,
                -9.3e18,
                -2.5,
                -1.0,
                -0.5,
                -f64::from_bits(1),
                0.0,
            ];
            numbers.extend([
                f64::from_bits(1),
                1e-300,
                0.1,
                0.5,
                1.0,
                2.5,
                709.9,
                9.3e18,
                f64::MAX,
                f64::INFINITY,
            ]);
            numbers.into_iter().map(Real).collect()
        }
        Kind::Text => {
            let plain = [
                "",
                " ",
                "a",
                "abcab",
                "Ab cd",
                "ŉΐﬃ",
                "İK\u{212a}ſ",
                "\u{0}%_\\",
                "e\u{301}",
                "12",
                "-1e400",
                "NaN",
            ];
            let mut texts: Vec<String> = plain.iter().map(|text| (*text).to_owned()).collect();
            texts.extend(
                ["2024-02-29", "2024-02-30", "1969-12-31T23:59:59.9", "10000-01-01", "yes"]
                    .map(str::to_owned),
            );
            texts.extend(["ŉ".repeat(LONGEST_TEXT / 2), "a".repeat(LONGEST_TEXT)]);
            texts.into_iter().map(Text).collect()
        }
        Kind::Date => {
            let days = [
                i32::MIN,
                -719_163,
                -719_162,
                -1,
                0,
                59,
                18_629,
                18_630,
                2_932_896,
                2_932_897,
                i32::MAX,
            ];
            days.map(Date).to_vec()
        }
        Kind::Moment => {
            let days = [-719_163, -719_162, -1, 0, 18_629, 2_932_896, 2_932_897]
                .map(|day: i64| day * 86_400_000_000);
            let mut moments = vec![i64::MIN, i64::MAX];
            moments
                .extend(days.iter().flat_map(|day| [*day, day + 1, day + 45_296_789_123, day - 1]));
            moments.into_iter().map(Moment).collect()
        }
    };
    cells.dedup();
    cells.into_iter().map(Some).chain([None]).collect()
}

fn finite(number: f64) -> Maybe {
    number.is_finite().then_some(Real(if number == 0.0 { 0.0 } else { number }))
}

fn real(cell: &Cell) -> f64 {
    match cell {
        Real(number) => *number,
        Integer(number) => *number as f64,
        other => unreachable!("{other:?} is no number"),
    }
}

fn chars(cell: &Cell) -> Vec<char> {
    match cell {
        Text(text) => text.chars().collect(),
        other => unreachable!("{other:?} is no text"),
    }
}

/// Characters as a text, cut at the first that does not fit.
fn written(characters: impl IntoIterator<Item = char>) -> Maybe {
    let mut text = String::new();
    for character in characters {
        if text.len() + character.len_utf8() > LONGEST_TEXT {
            break;
        }
        text.push(character);
    }
    Some(Text(text))
}

/// The index of the first occurrence of some characters.
fn found(all: &[char], part: &[char]) -> Option<usize> {
    (0..=all.len().checked_sub(part.len())?).find(|&from| all[from..from + part.len()] == *part)
}

/// A whole number rounded by the sign and size of what is cut off.
fn rounded(number: i64, digits: i64, to_nearest: bool) -> Maybe {
    if digits >= 0 {
        return Some(Integer(number));
    }
    if digits < -20 {
        return Some(Integer(0));
    }
    let (unit, number) = (10_i128.pow(digits.unsigned_abs() as u32), i128::from(number));
    let rest = number % unit;
    let away = if to_nearest && rest.abs() * 2 >= unit { number.signum() * unit } else { 0 };
    i64::try_from(number - rest + away).ok().map(Integer)
}

fn rounded_real(number: f64, digits: i64, to_nearest: bool) -> Maybe {
    if number.is_infinite() {
        return Some(Real(number));
    }
    let factor = 10_f64.powi(digits.clamp(-400, 400) as i32);
    let scaled = number * factor;
    if factor == 0.0 {
        return Some(Real(0.0));
    }
    if !scaled.is_finite() {
        return Some(Real(number));
    }
    let whole = scaled - scaled % 1.0;
    let away =
        if to_nearest && (scaled % 1.0).abs() >= 0.5 { 1.0_f64.copysign(scaled) } else { 0.0 };
    finite((whole + away) / factor)
}

/// Year, month and day of a number of days since 1970, counted year by year from a leap cycle.
fn civil(day: i64) -> Option<(i64, i64, i64)> {
    if !(-719_162..=2_932_896).contains(&day) {
        return None;
    }
    let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let cycles = (day + 719_162) / 146_097;
    let (mut year, mut left) = (1 + 400 * cycles, (day + 719_162) % 146_097);
    while left >= 365 + i64::from(leap(year)) {
        left -= 365 + i64::from(leap(year));
        year += 1;
    }
    let lengths = [31, 28 + i64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for length in lengths {
        if left < length {
            break;
        }
        left -= length;
        month += 1;
    }
    Some((year, month, left + 1))
}

/// Microseconds since 1970, if 64 bits hold them: no day of the calendar has more.
fn micros(cell: &Cell) -> Option<i64> {
    match cell {
        Date(day) => i64::from(*day).checked_mul(86_400_000_000),
        Moment(moment) => Some(*moment),
        other => unreachable!("{other:?} is no date"),
    }
}

/// The first day of a year, in days since 1970.
fn new_year(year: i64) -> i64 {
    let before = year - 1;
    before * 365 + before / 4 - before / 100 + before / 400 - 719_162
}

/// The year and week of ISO 8601 of a day: the week's Thursday decides.
fn iso_week(day: i64) -> (i64, i64) {
    let monday = day - (day + 3).rem_euclid(7);
    let thursday = monday + 3;
    // A year that is not too late.
    let mut year = (1969 + thursday.div_euclid(if thursday < 0 { 365 } else { 366 })).max(0);
    while new_year(year + 1) <= thursday {
        year += 1;
    }
    (year, (thursday - new_year(year)) / 7 + 1)
}

fn part_of(part: Part, value: &Cell) -> Maybe {
    let moment = micros(value)?;
    let (day, time) = (moment.div_euclid(86_400_000_000), moment.rem_euclid(86_400_000_000));
    let (year, month, of_month) = civil(day)?;
    Some(Integer(match part {
        Part::Year => year,
        Part::IsoYear => iso_week(day).0,
        Part::Quarter => (month + 2) / 3,
        Part::Month => month,
        Part::Week => iso_week(day).1,
        Part::Day => of_month,
        Part::DayOfYear => day - new_year(year) + 1,
        Part::DayOfWeek => (day + 4).rem_euclid(7),
        Part::IsoDayOfWeek => (day + 3).rem_euclid(7) + 1,
        Part::Hour => time / 3_600_000_000,
        Part::Minute => time / 60_000_000 % 60,
        Part::Second => time / 1_000_000 % 60,
        Part::Millisecond => time / 1_000 % 60_000,
        Part::Microsecond => time % 60_000_000,
        Part::Epoch => return Some(Real(moment as f64 / 1e6)),
    }))
}

fn cut_to(part: Part, value: &Cell) -> Maybe {
    let moment = micros(value)?;
    let day = moment.div_euclid(86_400_000_000);
    let (year, month, of_month) = civil(day)?;
    let first_of_month = day - of_month + 1;
    let first = match part {
        Part::Year => new_year(year),
        Part::Quarter => (0..100).map(|back| first_of_month - back).find(|day| {
            civil(*day).is_some_and(|(y, m, d)| y == year && d == 1 && m == (month - 1) / 3 * 3 + 1)
        })?,
        Part::Month => first_of_month,
        Part::Week => day - (day + 3).rem_euclid(7),
        Part::Day => day,
        Part::Hour => return Some(Moment(moment - moment.rem_euclid(3_600_000_000))),
        Part::Minute => return Some(Moment(moment - moment.rem_euclid(60_000_000))),
        Part::Second => return Some(Moment(moment - moment.rem_euclid(1_000_000))),
        Part::Millisecond => return Some(Moment(moment - moment.rem_euclid(1_000))),
        _ => return Some(Moment(moment)),
    };
    Some(Moment(first * 86_400_000_000))
}

/// What a function of this name means. NULL arguments are `None`.
fn plain(name: &str, arguments: &[Maybe]) -> Maybe {
    // These see NULL; all others are NULL if an argument is.
    match name {
        "coalesce" | "nvl" => return arguments.iter().flatten().next().cloned(),
        "greatest" => {
            return arguments.iter().flatten().cloned().reduce(|a, b| if b > a { b } else { a });
        }
        "least" => {
            return arguments.iter().flatten().cloned().reduce(|a, b| if b < a { b } else { a });
        }
        "nullif" => {
            return arguments[0].clone().filter(|value| Some(value) != arguments[1].as_ref());
        }
        "concat" => return written(arguments.iter().flatten().flat_map(chars)),
        "concat_ws" => {
            let separator = chars(arguments[0].as_ref()?);
            let mut all = Vec::new();
            for (index, piece) in arguments[1..].iter().flatten().enumerate() {
                all.extend(if index > 0 { separator.clone() } else { vec![] });
                all.extend(chars(piece));
            }
            return written(all);
        }
        _ => {}
    }
    let given: Vec<Cell> = arguments.iter().cloned().collect::<Option<_>>()?;
    let integer = |index: usize| match given.get(index) {
        Some(Integer(number)) => *number,
        _ => 0,
    };
    let x = || real(&given[0]);
    match name {
        "abs" => match given[0] {
            Integer(number) => i64::try_from(i128::from(number).abs()).ok().map(Integer),
            _ => Some(Real(if x() < 0.0 { 0.0 - x() } else { x() })),
        },
        "ceil" | "floor" => match given[0] {
            Integer(number) => Some(Integer(number)),
            _ if x().abs() >= 9e15 => Some(Real(x())),
            _ => {
                let whole = x() as i64;
                let up = name == "ceil" && (whole as f64) < x();
                let down = name == "floor" && (whole as f64) > x();
                finite((whole + i64::from(up) - i64::from(down)) as f64)
            }
        },
        "round" | "trunc" => match given[0] {
            Integer(number) => rounded(number, integer(1), name == "round"),
            _ => rounded_real(x(), integer(1), name == "round"),
        },
        "signum" => match given[0] {
            Integer(number) => Some(Integer(i64::from(number > 0) - i64::from(number < 0))),
            _ => Some(Real(f64::from(i8::from(x() > 0.0) - i8::from(x() < 0.0)))),
        },
        "iszero" => Some(Boolean(x() == 0.0)),
        "sqrt" => finite(x().powf(0.5)).filter(|_| x() >= 0.0).map(|_| Real(x().sqrt())),
        "cbrt" => finite(x().cbrt()),
        "exp" => finite(x().exp()),
        "ln" => finite(x().ln()),
        "log2" => finite(x().log2()),
        "log10" => finite(x().log10()),
        "log" => match given.as_slice() {
            [_] => finite(x().log10()),
            _ => finite(real(&given[1]).ln() / x().ln()),
        },
        "power" => finite(x().powf(real(&given[1]))),
        "sin" => finite(x().sin()),
        "cos" => finite(x().cos()),
        "tan" => finite(x().tan()),
        "asin" => finite(x().asin()),
        "acos" => finite(x().acos()),
        "atan" => finite(x().atan()),
        "atan2" => finite(x().atan2(real(&given[1]))),
        "degrees" => finite(x() * (180.0 / std::f64::consts::PI)),
        "radians" => finite(x() * (std::f64::consts::PI / 180.0)),
        "lower" | "upper" | "initcap" | "reverse" => {
            let all = chars(&given[0]);
            let text: String = all.iter().collect();
            match name {
                "lower" => written(text.to_lowercase().chars()),
                "upper" => written(text.to_uppercase().chars()),
                "reverse" => written(all.into_iter().rev()),
                _ => {
                    let first = |index: usize| index == 0 || !all[index - 1].is_alphanumeric();
                    written(all.iter().enumerate().flat_map(|(index, character)| {
                        let changed: Vec<char> = if first(index) {
                            character.to_uppercase().collect()
                        } else {
                            character.to_lowercase().collect()
                        };
                        changed
                    }))
                }
            }
        }
        "character_length" => Some(Integer(chars(&given[0]).len() as i64)),
        "octet_length" => Some(Integer(chars(&given[0]).iter().map(|c| c.len_utf8() as i64).sum())),
        "ascii" => Some(Integer(chars(&given[0]).first().map_or(0, |c| i64::from(u32::from(*c))))),
        "starts_with" => Some(Boolean(chars(&given[0]).starts_with(&chars(&given[1])))),
        "ends_with" => Some(Boolean(chars(&given[0]).ends_with(&chars(&given[1])))),
        "contains" => Some(Boolean(found(&chars(&given[0]), &chars(&given[1])).is_some())),
        "strpos" => {
            Some(Integer(found(&chars(&given[0]), &chars(&given[1])).map_or(0, |at| at as i64 + 1)))
        }
        "btrim" | "ltrim" | "rtrim" => {
            let set = given.get(1).map_or(vec![' '], chars);
            let set: std::collections::BTreeSet<char> = set.into_iter().collect();
            let mut all: std::collections::VecDeque<char> = chars(&given[0]).into();
            while name != "rtrim" && all.front().is_some_and(|c| set.contains(c)) {
                all.pop_front();
            }
            while name != "ltrim" && all.back().is_some_and(|c| set.contains(c)) {
                all.pop_back();
            }
            written(all)
        }
        "left" | "right" | "substr" => {
            let all = chars(&given[0]);
            let (length, number) = (all.len() as i128, i128::from(integer(1)));
            let (from, to) = match name {
                "left" => (0, if number < 0 { length + number } else { number }),
                "right" => (if number < 0 { -number } else { length - number }, length),
                _ if given.len() == 3 => (number - 1, number - 1 + i128::from(integer(2))),
                _ => (number - 1, length),
            };
            let kept = |index: i128| index >= from && index < to;
            written(
                all.into_iter()
                    .enumerate()
                    .filter(|(index, _)| kept(*index as i128))
                    .map(|(_, c)| c),
            )
        }
        "split_part" => {
            let (all, separator, number) = (chars(&given[0]), chars(&given[1]), integer(2));
            let mut pieces = vec![vec![]];
            let mut from = 0;
            while from < all.len() {
                if !separator.is_empty() && all[from..].starts_with(&separator) {
                    pieces.push(vec![]);
                    from += separator.len();
                } else {
                    pieces.last_mut().expect("a piece").push(all[from]);
                    from += 1;
                }
            }
            let index = if number > 0 { number - 1 } else { pieces.len() as i64 + number };
            let piece = usize::try_from(index).ok().and_then(|index| pieces.get(index));
            written(piece.cloned().unwrap_or_default())
        }
        other => unreachable!("{other} has no reference: write one"),
    }
}

/// Reals that come from one formula in two ways may differ in their last bits.
fn agree(ours: &Maybe, theirs: &Maybe) -> bool {
    match (ours, theirs) {
        (Some(Real(a)), Some(Real(b))) => {
            let signed_zero = a.to_bits() == (-0.0_f64).to_bits();
            !a.is_nan() && !signed_zero && (a == b || (a - b).abs() <= 1e-14 * b.abs())
        }
        _ => ours == theirs,
    }
}

/// All combinations of some lists.
fn combinations(lists: &[Vec<Maybe>]) -> Vec<Vec<Maybe>> {
    let mut all = vec![vec![]];
    for list in lists {
        all = all
            .iter()
            .flat_map(|row| list.iter().map(|cell| [row.clone(), vec![cell.clone()]].concat()))
            .collect();
    }
    all
}

/// The values of a node in one batch; checks that smaller batches, other orders and single rows
/// give the same bits.
fn evaluated(node: &Node, kinds: &[Kind], rows: &[Vec<Maybe>]) -> Vec<Maybe> {
    let batch = |rows: &[&Vec<Maybe>]| -> Vec<Maybe> {
        let columns: Vec<Values> = kinds
            .iter()
            .enumerate()
            .map(|(column, kind)| {
                let cells = rows.iter().map(|row| scalar(*kind, &row[column]));
                Values::new(ScalarValue::iter_to_array(cells).expect("a column"), false)
            })
            .collect();
        let values = node.evaluate(&columns, rows.len()).expect("total");
        assert_eq!(values.array().data_type(), &node.kind.stored());
        assert!(values.is_shared() || values.array().len() == rows.len());
        (0..rows.len()).map(|row| cell(values.array(), values.index(row))).collect()
    };
    let rows: Vec<&Vec<Maybe>> = rows.iter().collect();
    let whole = batch(&rows);
    let bits = |cells: &[Maybe]| format!("{cells:?}");
    let pieces: Vec<Maybe> = rows.chunks(7).flat_map(batch).collect();
    assert_eq!(bits(&whole), bits(&pieces), "batches of 7");
    let mut backwards = batch(&rows.iter().rev().copied().collect::<Vec<_>>());
    backwards.reverse();
    assert_eq!(bits(&whole), bits(&backwards), "another order");
    for row in (0..rows.len()).step_by(rows.len().div_ceil(23)) {
        assert_eq!(bits(&whole[row..=row]), bits(&batch(&rows[row..=row])), "alone");
    }
    whole
}

/// The kinds that an argument may be of.
fn kinds_of(takes: Takes) -> Vec<Kind> {
    match takes {
        Takes::Real => vec![Kind::Real],
        Takes::Number => vec![Kind::Integer, Kind::Real],
        Takes::Text | Takes::LiteralText => vec![Kind::Text],
        Takes::Calendar => vec![Kind::Date, Kind::Moment],
        Takes::Any => KINDS.to_vec(),
        Takes::LiteralInteger => vec![Kind::Integer],
    }
}

fn check(function: &'static Function, takes: &[Takes]) -> usize {
    let mut compared = 0;
    for kind in
        kinds_of(*takes.iter().find(|takes| **takes != Takes::LiteralText).expect("an argument"))
    {
        let literal = |takes: Takes| matches!(takes, Takes::LiteralInteger | Takes::LiteralText);
        let of =
            |takes: Takes| if kinds_of(takes).contains(&kind) { kind } else { kinds_of(takes)[0] };
        let columns: Vec<Kind> =
            takes.iter().filter(|takes| !literal(**takes)).map(|takes| of(*takes)).collect();
        let rows = combinations(&columns.iter().map(|kind| extremes(*kind)).collect::<Vec<_>>());
        let numbers =
            [i64::MIN + 1, -400, -19, -1, 0, 1, 3, i64::MAX].map(|number| Some(Integer(number)));
        let texts = ["a", "b c", ""].map(|text| Some(Text(text.to_owned())));
        let lists: Vec<Vec<Maybe>> =
            takes
                .iter()
                .filter(|takes| literal(**takes))
                .map(|takes| {
                    if *takes == Takes::LiteralInteger { numbers.to_vec() } else { texts.to_vec() }
                })
                .collect();
        for literals in combinations(&lists) {
            // Refused when a query is read.
            let integers = || {
                literals.iter().filter_map(|literal| match literal {
                    Some(Integer(number)) => Some(*number),
                    _ => None,
                })
            };
            if matches!(function.kernel, Kernel::SplitPart) && integers().any(|number| number == 0)
                || matches!(function.kernel, Kernel::Slice(_))
                    && integers().nth(1).is_some_and(|number| number < 0)
            {
                continue;
            }
            let (mut column, mut written) = (0, literals.iter());
            let mut inputs = Vec::new();
            let mut arguments: Vec<Argument> = Vec::new();
            for takes in takes {
                if literal(*takes) {
                    let value = written.next().expect("a literal").clone();
                    inputs.push(Node::new(
                        Operation::Literal(scalar(of(*takes), &value)),
                        vec![],
                        of(*takes),
                    ));
                    arguments.push(Box::new(move |_| value.clone()));
                } else {
                    let index = column;
                    inputs.push(Node::new(Operation::Column(index), vec![], of(*takes)));
                    arguments.push(Box::new(move |row: &[Maybe]| row[index].clone()));
                    column += 1;
                }
            }
            let input_kinds: Vec<Kind> = inputs.iter().map(|input| input.kind).collect();
            let made = function.makes(&input_kinds);
            let node = Node::new(Operation::Call(Named(function)), inputs, made);
            for (row, ours) in rows.iter().zip(evaluated(&node, &columns, &rows)) {
                let given: Vec<Maybe> = arguments.iter().map(|argument| argument(row)).collect();
                let expected = plain(function.name, &given);
                let shown =
                    |cells: &[Maybe]| format!("{cells:?}").chars().take(300).collect::<String>();
                assert!(
                    agree(&ours, &expected),
                    "{}({}) is {}, not {}",
                    function.name,
                    shown(&given),
                    shown(&[ours]),
                    shown(&[expected])
                );
                compared += 1;
            }
        }
    }
    compared
}

#[test]
fn every_function_is_what_it_means_on_all_pairs_of_extremes() {
    for function in FUNCTIONS {
        if matches!(function.kernel, Kernel::RegexpLike | Kernel::DatePart | Kernel::DateTrunc) {
            continue;
        }
        let mut compared = 0;
        for left_out in 0..=function.optional {
            let mut takes = function.takes[..function.takes.len() - left_out].to_vec();
            compared += check(function, &takes);
            if function.repeats {
                takes.push(takes[takes.len() - 1]);
                compared += check(function, &takes);
            }
        }
        assert!(compared >= 10, "{}: {compared}", function.name);
    }
}

#[test]
fn parts_of_dates_are_those_of_a_plain_calendar() {
    use Part::{
        Day, DayOfWeek, DayOfYear, Epoch, Hour, IsoDayOfWeek, IsoYear, Microsecond, Millisecond,
    };
    use Part::{Minute, Month, Quarter, Second, Week, Year};
    let parts = [
        Year,
        IsoYear,
        Quarter,
        Month,
        Week,
        Day,
        DayOfYear,
        DayOfWeek,
        IsoDayOfWeek,
        Hour,
        Minute,
        Second,
    ];
    for kind in [Kind::Date, Kind::Moment] {
        let mut rows: Vec<Vec<Maybe>> = extremes(kind).into_iter().map(|cell| vec![cell]).collect();
        // Every day of some years, and around the ends of all.
        let days = (10_000..12_500)
            .chain((1..9_999).map(|year| new_year(year) as i32 - 1 + year as i32 % 5));
        rows.extend(days.map(|day| {
            vec![Some(if kind == Kind::Date {
                Date(day)
            } else {
                Moment(i64::from(day) * 86_400_000_000 + 7)
            })]
        }));
        for part in parts.into_iter().chain([Millisecond, Microsecond, Epoch]) {
            let made = if part == Epoch { Kind::Real } else { Kind::Integer };
            let column = Node::new(Operation::Column(0), vec![], kind);
            let node = Node::new(Operation::DatePart(part), vec![column.clone()], made);
            for (row, ours) in rows.iter().zip(evaluated(&node, &[kind], &rows)) {
                let expected = row[0].as_ref().and_then(|value| part_of(part, value));
                assert!(
                    agree(&ours, &expected),
                    "{part:?} of {row:?} is {ours:?}, not {expected:?}"
                );
            }
            if !part.cuts() {
                continue;
            }
            let node = Node::new(Operation::DateTrunc(part), vec![column], Kind::Moment);
            for (row, ours) in rows.iter().zip(evaluated(&node, &[kind], &rows)) {
                let expected = row[0].as_ref().and_then(|value| cut_to(part, value));
                assert_eq!(ours, expected, "{row:?} cut to {part:?}");
            }
        }
    }
}

#[test]
fn casts_go_back_to_what_they_came_from() {
    for from in KINDS {
        for to in KINDS.into_iter().filter(|to| converts(from, *to)) {
            let cells = extremes(from);
            let array = ScalarValue::iter_to_array(cells.iter().map(|cell| scalar(from, cell)))
                .expect("a column");
            let there = convert(&Values::new(array, false), from, to, cells.len());
            // A text holds everything there is to know of what it was made of.
            if to != Kind::Text {
                continue;
            }
            let back = convert(&Values::new(there.clone(), false), to, from, cells.len());
            for (row, before) in cells.iter().enumerate() {
                let after = cell(&back, row);
                let outside = there.is_null(row) && matches!(before, Some(Date(_) | Moment(_)));
                assert!(
                    &after == before || outside,
                    "{before:?} became {:?}, {after:?}",
                    cell(&there, row)
                );
            }
        }
    }
}
