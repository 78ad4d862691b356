//! Cells of generated tables: ordinary values, and every extreme of every declared type.

use crate::tests::noiseless::Draw;
use chrono::{DateTime, NaiveDate};
use reticent_policy::{ColumnType, LONGEST_TEXT};

/// A value in a file. Its `Debug` form is the Rust expression that makes it.
#[derive(Clone, PartialEq)]
pub(super) enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    /// A piece, repeated: also what is no value of a column's type (`x` in a column of numbers).
    Text(String, usize),
    /// Bytes that are no UTF-8: as they are in CSV, repaired in other formats.
    Bytes(Vec<u8>),
    Boolean(bool),
    Date(i32),
    Moment(i64),
}

pub(super) fn text(piece: &str, times: usize) -> Cell {
    Cell::Text(piece.to_owned(), times)
}

pub(super) fn bytes(list: &[u8]) -> Cell {
    Cell::Bytes(list.to_vec())
}

impl std::fmt::Debug for Cell {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Cell::Null => write!(out, "Null"),
            Cell::Integer(number) => write!(out, "Integer({number})"),
            Cell::Real(number) if number.is_nan() => write!(out, "Real(f64::NAN)"),
            Cell::Real(number) if number.is_infinite() && *number > 0.0 => {
                write!(out, "Real(f64::INFINITY)")
            }
            Cell::Real(number) if number.is_infinite() => write!(out, "Real(f64::NEG_INFINITY)"),
            Cell::Real(number) => write!(out, "Real({number:?})"),
            Cell::Text(piece, times) => write!(out, "text({piece:?}, {times})"),
            Cell::Bytes(bytes) => write!(out, "bytes(&{bytes:?})"),
            Cell::Boolean(truth) => write!(out, "Boolean({truth})"),
            Cell::Date(days) => write!(out, "Date({days})"),
            Cell::Moment(moment) => write!(out, "Moment({moment})"),
        }
    }
}

const WHOLE: &[i64] = &[
    i64::MIN,
    i64::MIN + 1,
    -9_007_199_254_740_993,
    -32_769,
    -129,
    -100,
    -1,
    0,
    1,
    5,
    127,
    128,
    32_767,
    2_147_483_647,
    i64::MAX - 1,
    i64::MAX,
];

const REALS: &[f64] = &[
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::MAX,
    f64::MIN,
    1e308,
    -1e308,
    f64::MIN_POSITIVE,
    5e-324,
    -5e-324,
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.5,
    0.1,
    0.2,
    0.3,
    1.0 / 3.0,
    -2.0 / 3.0,
    1e16,
    9.3e18,
    -9.3e18,
    3.5e38,
    709.9,
];

/// Beyond the calendar of dates, at its ends, and where functions of nanoseconds end.
const DAYS: &[i32] = &[
    i32::MIN,
    -96_465_293,
    -719_163,
    -719_162,
    -106_752,
    -106_751,
    -1,
    0,
    19_782,
    19_783,
    106_751,
    106_752,
    2_932_896,
    2_932_897,
    i32::MAX,
];

const MOMENTS: &[i64] = &[
    i64::MIN,
    -62_135_596_800_000_001,
    -62_135_596_800_000_000,
    -9_223_372_036_854_776,
    -9_223_372_036_854_775,
    -1_000_001,
    -1,
    0,
    1_700_000_000_123_456,
    1_709_164_800_000_000,
    9_223_372_036_854_775,
    9_223_372_036_854_776,
    253_402_214_400_000_000,
    253_402_300_799_999_999,
    253_402_300_800_000_000,
    i64::MAX,
];

/// Texts of which some program somewhere thinks differently: cases that fold to ASCII, marks,
/// directions, numbers.
pub(super) const WORDS: &[&str] = &[
    "a",
    "A",
    "ab",
    "b",
    "B",
    "abc",
    " a ",
    "Ulm",
    "Köln",
    "ulm",
    "é",
    "e\u{301}",
    "\u{212A}",
    "k",
    "\u{17F}",
    "s",
    "ß",
    "ı",
    "İ",
    "ﬃ",
    "ŉ",
    "Σ",
    "ς",
    "\u{5E9}\u{5DC}",
    "\u{202E}x",
    "𝄞",
    "\0",
    "\u{FEFF}a",
    "%",
    "_",
    "\\",
    "a%b",
    "x\ny",
    "\"q\"",
    "1",
    "-7",
    "0.1",
    "1e308",
    "NaN",
    "2024-02-29",
    "2024-02-29T12:00:00",
    "true",
    "9223372036854775808",
    "a\u{0}b",
];

/// First bytes that look like those of another kind of file: UTF-16, UTF-8 with a mark, gzip,
/// Arrow, Parquet.
const MARKS: &[&[u8]] = &[
    &[0xff, 0xfe, b'a'],
    &[0xfe, 0xff, b'a'],
    &[0x1f, 0x8b, 8, b'a'],
    &[0xef, 0xbb, 0xbf, b'a'],
    &[0xff, b'a'],
    b"ARROW1",
    b"PAR1",
];

impl Cell {
    /// A value as people have them, in a column of this type: money in cents, thirds, recent days.
    pub(super) fn ordinary(of: ColumnType, draw: &mut Draw) -> Cell {
        match of {
            ColumnType::Integer => Cell::Integer(draw.below(41) as i64 - 20),
            ColumnType::Real if draw.once_in(3) => Cell::Real(draw.below(100) as f64 / 3.0),
            ColumnType::Real => Cell::Real(draw.below(2001) as f64 / 100.0 - 10.0),
            ColumnType::Text => text(draw.of(&["Brno", "Köln", "Ulm", "Ulm", "a"]), 1),
            ColumnType::Boolean => Cell::Boolean(draw.once_in(2)),
            ColumnType::Date => Cell::Date(19_700 + draw.below(90) as i32),
            ColumnType::Timestamp => {
                Cell::Moment(1_700_000_000_000_000 + draw.below(90) as i64 * 86_400_000_000 / 7)
            }
        }
    }

    /// Any value for a column of this type.
    pub(super) fn random(of: ColumnType, draw: &mut Draw) -> Cell {
        if draw.once_in(10) {
            return Cell::Null;
        }
        if draw.once_in(2) {
            return Cell::ordinary(of, draw);
        }
        if draw.once_in(60) {
            // Not a value of the type, unless it is a text.
            return text(
                draw.of(&[
                    "x",
                    "1e999",
                    "0x10",
                    "12 monkeys",
                    "2023-02-29",
                    "99999999999999999999",
                    "é",
                ]),
                1,
            );
        }
        match of {
            ColumnType::Integer => Cell::Integer(draw.of(WHOLE)),
            ColumnType::Real => Cell::Real(draw.of(REALS)),
            ColumnType::Text => match draw.below(40) {
                0 => Cell::Bytes(draw.of(MARKS).to_vec()),
                1 => {
                    let times = draw.of(&[
                        20,
                        300,
                        30_000,
                        LONGEST_TEXT - 1,
                        LONGEST_TEXT,
                        LONGEST_TEXT + 1,
                    ]);
                    text(draw.of(WORDS), times)
                }
                _ => text(draw.of(WORDS), 1),
            },
            ColumnType::Boolean => Cell::Boolean(draw.once_in(2)),
            ColumnType::Date => Cell::Date(draw.of(DAYS)),
            ColumnType::Timestamp => Cell::Moment(draw.of(MOMENTS)),
        }
    }

    /// Somebody: the cell of a unit column, for the person of this number.
    pub(super) fn somebody(of: ColumnType, number: usize, draw: &mut Draw) -> Cell {
        let odd = draw.once_in(6);
        match of {
            ColumnType::Integer if odd => Cell::Integer(draw.of(WHOLE)),
            ColumnType::Integer => Cell::Integer(number as i64),
            _ if odd => match draw.below(8) {
                0 => Cell::Bytes(draw.of(MARKS).to_vec()),
                1 => text(draw.of(WORDS), LONGEST_TEXT + 1),
                _ => text(draw.of(WORDS), 1),
            },
            _ => text(&number.to_string(), 1),
        }
    }

    /// What the bytes in a CSV file are.
    pub(super) fn csv(&self) -> Vec<u8> {
        match self {
            Cell::Null => Vec::new(),
            Cell::Integer(number) => number.to_string().into_bytes(),
            Cell::Real(number) => format!("{number:?}").into_bytes(),
            Cell::Text(piece, times) => piece.repeat(*times).into_bytes(),
            Cell::Bytes(bytes) => bytes.clone(),
            Cell::Boolean(truth) => truth.to_string().into_bytes(),
            Cell::Date(days) => {
                let day = NaiveDate::from_epoch_days(*days);
                day.map_or_else(|| format!("{days}000-01-01"), |day| day.to_string()).into_bytes()
            }
            Cell::Moment(moment) => {
                let moment =
                    DateTime::from_timestamp_micros(*moment).map(|moment| moment.naive_utc());
                moment
                    .map_or_else(
                        || "999999-01-01T00:00:00".to_owned(),
                        |moment| format!("{moment:?}"),
                    )
                    .into_bytes()
            }
        }
    }

    /// The text that it is in a file of another format.
    pub(super) fn repaired(&self) -> Option<String> {
        match self {
            Cell::Text(piece, times) => Some(piece.repeat(*times)),
            Cell::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            _ => None,
        }
    }

    /// The unit that a reader of the file sees in it, as text: texts that are cut or repaired to
    /// the same are one.
    pub(super) fn unit(&self, of: ColumnType) -> Option<String> {
        match (of, self) {
            (ColumnType::Integer, Cell::Integer(number)) => Some(number.to_string()),
            (ColumnType::Integer, _) => None,
            (_, cell) => {
                let text = cell.repaired()?;
                Some(text[..text.floor_char_boundary(LONGEST_TEXT)].to_owned())
                    .filter(|text| !text.is_empty())
            }
        }
    }

    /// Plainer values to try instead.
    pub(super) fn simpler(&self) -> Vec<Cell> {
        let plain = match self {
            Cell::Null => vec![],
            Cell::Integer(_) => vec![Cell::Null, Cell::Integer(0), Cell::Integer(1)],
            Cell::Real(_) => vec![Cell::Null, Cell::Real(0.0), Cell::Real(1.0), Cell::Real(0.1)],
            Cell::Text(piece, 1) => {
                vec![Cell::Null, text("a", 1), text(&piece[..piece.floor_char_boundary(1)], 1)]
            }
            Cell::Text(piece, times) => {
                vec![
                    Cell::Null,
                    text("a", 1),
                    text(piece, 1),
                    text(piece, times / 2),
                    text("a", *times),
                ]
            }
            Cell::Bytes(bytes) => {
                vec![
                    Cell::Null,
                    text("a", 1),
                    Cell::Bytes(bytes[..bytes.len().saturating_sub(1)].to_vec()),
                ]
            }
            Cell::Boolean(_) => vec![Cell::Null, Cell::Boolean(false)],
            Cell::Date(_) => vec![Cell::Null, Cell::Date(0)],
            Cell::Moment(_) => vec![Cell::Null, Cell::Moment(0)],
        };
        plain.into_iter().filter(|cell| cell.weight() < self.weight()).collect()
    }

    /// How much there is to read in it: a cell is shrunk to lighter ones only, so that it ends.
    pub(super) fn weight(&self) -> usize {
        match self {
            Cell::Null => 0,
            Cell::Integer(0) | Cell::Date(0) | Cell::Moment(0) | Cell::Boolean(false) => 1,
            Cell::Real(number) if number.to_bits() == 0 => 1,
            Cell::Boolean(true) => 2,
            Cell::Text(piece, times) => 1 + piece.len() + times + usize::from(piece != "a"),
            Cell::Bytes(bytes) => 100_000 + bytes.len(),
            other => format!("{other:?}").len(),
        }
    }
}
