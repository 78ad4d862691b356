//! Which rows have the same unit, and which the same key: exactly, by value.

use super::division::Division;
use super::interner::{Interner, SMALL_WORD, all_small};
use super::secret_key::SecretKey;
use super::short_text::ShortText;
use crate::EngineError;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Float64Array, StringArray, StringViewArray,
};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Field, Float64Type, Int64Type, TimeUnit, TimestampMicrosecondType,
};
use datafusion::arrow::row::{RowConverter, Rows, SortField};
use std::sync::Arc;

/// What makes the rows of some columns the same: one column of a fixed width by its bits, one
/// column of text by its bytes, several columns by arrow's row format, which keeps apart what
/// differs and orders as the columns do.
///
/// -0.0 and 0.0 are one value, and all NaN are one value. NULL is a value of its own, here; what a
/// NULL unit means is decided by the caller.
#[derive(Debug)]
pub(super) enum Identity {
    /// No column: all rows are the same.
    Nothing,
    /// One column of at most 64 bits.
    Word(DataType),
    /// One column of text.
    Text(DataType),
    /// Anything else.
    Rows(RowConverter, Vec<DataType>),
}

/// The identities of the rows of a batch.
#[derive(Debug)]
pub(super) struct Identities {
    /// Keyed hashes: equal for equal rows. They say where to look in an
    /// [`Interner`](super::interner::Interner), which looks up small words without: where all are
    /// such, there are none.
    pub(super) hashes: Vec<u64>,
    pub(super) values: Values,
}

/// What the rows of a batch are known by.
#[derive(Debug)]
pub(super) enum Values {
    Nothing,
    /// With the mark of NULL for rows that are.
    Words(Vec<u64>, Option<NullBuffer>),
    Text(StringArray),
    View(StringViewArray),
    Rows(Rows),
}

/// What one row is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Item<'a> {
    Null,
    Word(u64),
    Bytes(&'a [u8]),
}

impl Identity {
    /// How the rows of these columns are told apart.
    ///
    /// # Errors
    /// If a column has a type that is not among those of the engine.
    pub(super) fn new<'a>(columns: impl Iterator<Item = &'a Field>) -> Result<Self, EngineError> {
        let mut types = Vec::new();
        for column in columns {
            let found = plain_type(column.data_type());
            if !is_word(found) && !is_text(found) {
                return Err(EngineError::ColumnType {
                    column: column.name().clone(),
                    found: found.clone(),
                    accepted: "units and group keys are Int64, Float64, Utf8, Utf8View, Boolean, \
                        Date32 or \
                               Timestamp(Microsecond), or dictionaries of these",
                });
            }
            types.push(found.clone());
        }
        Ok(match types.as_slice() {
            [] => Self::Nothing,
            [one] if is_word(one) => Self::Word(one.clone()),
            [one] => Self::Text(one.clone()),
            _ => {
                let fields = types.iter().cloned().map(SortField::new).collect();
                Self::Rows(RowConverter::new(fields).map_err(|_| FAULT)?, types)
            }
        })
    }

    /// Numbers for what is told apart, if that is a part of a division.
    pub(super) fn interner(&self, key: SecretKey, division: Division) -> Interner {
        match self {
            Self::Nothing | Self::Word(_) => Interner::of_words(key, division),
            Self::Text(_) | Self::Rows(..) => Interner::of_bytes(key),
        }
    }

    /// The identities of a batch of `rows` rows of these columns.
    pub(super) fn of(
        &self,
        columns: &[ArrayRef],
        rows: usize,
        key: &SecretKey,
    ) -> Result<Identities, EngineError> {
        let (hashes, values) = match (self, columns) {
            (Self::Nothing, _) => (vec![key.null(); rows], Values::Nothing),
            (Self::Word(data_type), [column]) => {
                let column = plain(column, data_type)?;
                let mut words = words(&column).ok_or(FAULT)?;
                let nulls = column.nulls().filter(|nulls| nulls.null_count() > 0).cloned();
                if let Some(nulls) = &nulls {
                    let of_null = key.null();
                    words
                        .iter_mut()
                        .zip(nulls)
                        .filter(|(_, valid)| !valid)
                        .for_each(|(word, _)| *word = of_null);
                }
                let is_small = nulls.is_none() && all_small(&words);
                let hashes = if is_small {
                    Vec::new()
                } else {
                    words.iter().map(|&word| key.word(word)).collect()
                };
                (hashes, Values::Words(words, nulls))
            }
            (Self::Text(data_type), [column]) => {
                let column = plain(column, data_type)?;
                let of_null = key.null();
                let hash =
                    |text: Option<&str>| text.map_or(of_null, |text| key.bytes(text.as_bytes()));
                if let Some(texts) = column.as_string_view_opt() {
                    let of_view = |(row, &view): (usize, &u128)| match ShortText::of_view(view) {
                        _ if texts.is_null(row) => of_null,
                        Some(text) => key.short(text),
                        None => key.bytes(texts.value(row).as_bytes()),
                    };
                    (
                        texts.views().iter().enumerate().map(of_view).collect(),
                        Values::View(texts.clone()),
                    )
                } else {
                    let texts = column.as_string_opt::<i32>().ok_or(FAULT)?;
                    (texts.iter().map(hash).collect(), Values::Text(texts.clone()))
                }
            }
            (Self::Rows(converter, types), columns) if columns.len() == types.len() => {
                let same = columns.iter().zip(types).map(|(column, data_type)| {
                    let column = plain(column, data_type)?;
                    Ok::<ArrayRef, EngineError>(match column.as_primitive_opt::<Float64Type>() {
                        Some(floats) => Arc::new(floats.unary::<_, Float64Type>(canonical)),
                        None => column,
                    })
                });
                let rows = converter
                    .convert_columns(&same.collect::<Result<Vec<_>, _>>()?)
                    .map_err(|_| FAULT)?;
                (rows.iter().map(|row| key.bytes(row.data())).collect(), Values::Rows(rows))
            }
            _ => return Err(FAULT),
        };
        Ok(Identities { hashes, values })
    }

    /// Columns of the values that rows are known by, the inverse of [`Identity::of`].
    ///
    /// # Errors
    /// If text does not fit into a column of `Utf8`, which holds 2 GiB; a column of `Utf8View`
    /// holds any.
    pub(super) fn columns<'a>(
        &self,
        items: impl Iterator<Item = Item<'a>>,
    ) -> Result<Vec<ArrayRef>, EngineError> {
        match self {
            Self::Nothing => Ok(Vec::new()),
            Self::Word(data_type) => {
                let words: Vec<Option<u64>> = items
                    .map(|item| if let Item::Word(w) = item { Some(w) } else { None })
                    .collect();
                Ok(vec![column_of_words(&words, data_type).ok_or(FAULT)?])
            }
            Self::Text(data_type) => {
                let texts = items.map(|item| match item {
                    Item::Bytes(bytes) => std::str::from_utf8(bytes).ok(),
                    _ => None,
                });
                if *data_type == DataType::Utf8View {
                    return Ok(vec![Arc::new(StringViewArray::from_iter(texts))]);
                }
                let texts: Vec<Option<&str>> = texts.collect();
                fits(texts.iter().map(|text| text.map_or(0, str::len)).sum())?;
                Ok(vec![Arc::new(StringArray::from(texts))])
            }
            Self::Rows(converter, types) => {
                let rows: Vec<&[u8]> = items
                    .map(|item| if let Item::Bytes(bytes) = item { bytes } else { &[] })
                    .collect();
                if types.contains(&DataType::Utf8) {
                    fits(rows.iter().map(|row| row.len()).sum())?;
                }
                let parser = converter.parser();
                converter
                    .convert_rows(rows.into_iter().map(|row| parser.parse(row)))
                    .map_err(|_| FAULT)
            }
        }
    }
}

impl Identities {
    /// A number for each row, the same in every batch for equal rows: its word, or the hash of its
    /// bytes. [`SecretKey::priority`] mixes it.
    pub(super) fn marks(&self) -> &[u64] {
        match &self.values {
            Values::Words(words, _) => words,
            Values::Nothing | Values::Text(_) | Values::View(_) | Values::Rows(_) => &self.hashes,
        }
    }

    /// The hash of a row; any number for a small word, which is looked up without.
    pub(super) fn hash(&self, row: usize) -> u64 {
        self.hashes.get(row).copied().unwrap_or(0)
    }

    /// The part of each row.
    pub(super) fn parts(&self, division: Division, parts: &mut Vec<u16>) {
        parts.clear();
        match &self.values {
            Values::Words(words, _) if self.hashes.is_empty() => {
                parts.extend(words.iter().map(|&word| division.of_small(word) as u16));
            }
            Values::Words(words, _) => {
                parts.extend(words.iter().zip(&self.hashes).map(|(&word, &hash)| {
                    let part = if word < SMALL_WORD {
                        division.of_small(word)
                    } else {
                        division.of_hash(hash)
                    };
                    part as u16
                }))
            }
            Values::Nothing | Values::Text(_) | Values::View(_) | Values::Rows(_) => {
                parts.extend(self.hashes.iter().map(|&hash| division.of_hash(hash) as u16));
            }
        }
    }

    #[inline]
    pub(super) fn is_null(&self, row: usize) -> bool {
        match &self.values {
            Values::Nothing => true,
            Values::Words(_, nulls) => nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)),
            Values::Text(texts) => texts.is_null(row),
            Values::View(texts) => texts.is_null(row),
            Values::Rows(_) => false,
        }
    }

    /// What a row of views is known by if it is a short text, which needs no look at its bytes.
    #[inline(always)]
    pub(super) fn short_text(&self, row: usize) -> Option<ShortText> {
        match &self.values {
            Values::View(texts) if texts.is_valid(row) => ShortText::of_view(texts.views()[row]),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn item(&self, row: usize) -> Item<'_> {
        match &self.values {
            Values::Nothing => Item::Null,
            Values::Words(words, nulls)
                if nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)) =>
            {
                Item::Word(words[row])
            }
            Values::Text(texts) if texts.is_valid(row) => Item::Bytes(texts.value(row).as_bytes()),
            Values::View(texts) if texts.is_valid(row) => Item::Bytes(texts.value(row).as_bytes()),
            Values::Words(..) | Values::Text(_) | Values::View(_) => Item::Null,
            Values::Rows(rows) => Item::Bytes(rows.row(row).data()),
        }
    }
}

const FAULT: EngineError = EngineError::Fault { part: "the identity of rows" };

/// The longest text of a column of `Utf8`, whose offsets are 32 bits.
fn fits(bytes: usize) -> Result<(), EngineError> {
    if bytes <= i32::MAX as usize {
        return Ok(());
    }
    Err(EngineError::Capacity {
        of: "bytes in group keys",
        limit: "a column of type Utf8 holds 2 GiB, one of type Utf8View any",
    })
}

fn plain_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => values,
        other => other,
    }
}

fn plain(column: &ArrayRef, data_type: &DataType) -> Result<ArrayRef, EngineError> {
    if column.data_type() == data_type {
        Ok(column.clone())
    } else {
        cast(column, data_type).map_err(|_| FAULT)
    }
}

fn is_word(data_type: &DataType) -> bool {
    use DataType::{Boolean, Date32, Float64, Int64, Timestamp};
    matches!(data_type, Int64 | Float64 | Boolean | Date32 | Timestamp(TimeUnit::Microsecond, _))
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::Utf8View)
}

fn canonical(value: f64) -> f64 {
    if value.is_nan() {
        f64::NAN
    } else if value == 0.0 {
        0.0
    } else {
        value
    }
}

fn words(column: &ArrayRef) -> Option<Vec<u64>> {
    Some(match column.data_type() {
        DataType::Int64 => {
            column.as_primitive::<Int64Type>().values().iter().map(|&v| v as u64).collect()
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => column
            .as_primitive::<TimestampMicrosecondType>()
            .values()
            .iter()
            .map(|&v| v as u64)
            .collect(),
        DataType::Date32 => {
            column.as_primitive::<Date32Type>().values().iter().map(|&v| v as u32 as u64).collect()
        }
        DataType::Float64 => column
            .as_primitive::<Float64Type>()
            .values()
            .iter()
            .map(|&v| canonical(v).to_bits())
            .collect(),
        DataType::Boolean => column.as_boolean().values().iter().map(u64::from).collect(),
        _ => return None,
    })
}

fn column_of_words(words: &[Option<u64>], data_type: &DataType) -> Option<ArrayRef> {
    use datafusion::arrow::array::{
        BooleanArray, Date32Array, Int64Array, TimestampMicrosecondArray,
    };
    let signed = words.iter().map(|word| word.map(|word| word as i64));
    Some(match data_type {
        DataType::Int64 => Arc::new(Int64Array::from_iter(signed)),
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            Arc::new(TimestampMicrosecondArray::from_iter(signed).with_timezone_opt(zone.clone()))
        }
        DataType::Date32 => Arc::new(Date32Array::from_iter(
            words.iter().map(|word| word.map(|word| word as u32 as i32)),
        )),
        DataType::Float64 => {
            Arc::new(Float64Array::from_iter(words.iter().map(|word| word.map(f64::from_bits))))
        }
        DataType::Boolean => {
            Arc::new(BooleanArray::from_iter(words.iter().map(|word| word.map(|word| word != 0))))
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{
        BooleanArray, Date32Array, DictionaryArray, Int64Array, TimestampMicrosecondArray,
    };
    use datafusion::arrow::datatypes::Int32Type;
    use reticent_noise::randomness::SeededRandom;

    fn key() -> SecretKey {
        SecretKey::draw(&mut SeededRandom::new(3)).expect("a seeded generator does not fail")
    }

    fn identity(columns: &[ArrayRef]) -> Identity {
        let fields: Vec<Field> =
            columns.iter().map(|c| Field::new("c", c.data_type().clone(), true)).collect();
        Identity::new(fields.iter()).expect("known types")
    }

    fn identities(columns: &[ArrayRef]) -> Identities {
        let rows = columns.first().map_or(3, |c| c.len());
        identity(columns).of(columns, rows, &key()).expect("identities")
    }

    fn columns_of_all_types() -> Vec<ArrayRef> {
        let numbers = vec![Some(i64::MIN), None, Some(-1), Some(0), Some(i64::MAX)];
        vec![
            Arc::new(Int64Array::from(numbers.clone())),
            Arc::new(TimestampMicrosecondArray::from(numbers).with_timezone("UTC")),
            Arc::new(Float64Array::from(vec![
                Some(0.0),
                None,
                Some(f64::NAN),
                Some(-1e300),
                Some(f64::INFINITY),
            ])),
            Arc::new(Date32Array::from(vec![
                Some(i32::MIN),
                None,
                Some(-1),
                Some(0),
                Some(i32::MAX),
            ])),
            Arc::new(BooleanArray::from(vec![Some(true), None, Some(false), None, Some(true)])),
            Arc::new(StringArray::from(vec![Some(""), None, Some("a"), Some("\0"), Some("ä")])),
            Arc::new(StringViewArray::from(vec![
                Some(""),
                None,
                Some("a much longer text than is inlined"),
                Some("\0"),
                None,
            ])),
        ]
    }

    #[test]
    fn columns_come_back_as_they_were() {
        let all = columns_of_all_types();
        let mut sets: Vec<Vec<ArrayRef>> = all.iter().map(|column| vec![column.clone()]).collect();
        sets.push(all);
        for columns in sets {
            let identity = identity(&columns);
            let found = identity.of(&columns, 5, &key()).expect("identities");
            let back = identity.columns((0..5).map(|row| found.item(row))).expect("columns");
            for (back, column) in back.iter().zip(&columns) {
                assert_eq!(back.to_data(), column.to_data());
            }
            assert!((0..5).all(|row| found.is_null(row) == (found.item(row) == Item::Null)));
        }
        assert_eq!(identities(&[]).item(2), Item::Null);
    }

    #[test]
    fn zeros_are_one_value_and_nans_are_one_value() {
        let quiet = f64::from_bits(f64::NAN.to_bits() ^ 1);
        let floats: ArrayRef =
            Arc::new(Float64Array::from(vec![0.0, -0.0, f64::NAN, -f64::NAN, quiet, 1.0]));
        let ones: ArrayRef = Arc::new(Int64Array::from(vec![1; 6]));
        for columns in [vec![floats.clone()], vec![floats, ones]] {
            let found = identities(&columns);
            for (one, other) in [(0, 1), (2, 3), (2, 4)] {
                assert_eq!(found.item(one), found.item(other));
                assert_eq!(found.marks()[one], found.marks()[other]);
            }
            assert_ne!(found.item(0), found.item(2));
            assert_ne!(found.item(0), found.item(5));
        }
    }

    #[test]
    fn a_dictionary_is_its_values() {
        let words = vec![Some("b"), None, Some("a"), Some("b")];
        let dictionary: ArrayRef =
            Arc::new(words.iter().copied().collect::<DictionaryArray<Int32Type>>());
        let plain: ArrayRef = Arc::new(StringArray::from(words));
        let (one, other) = (identities(&[dictionary]), identities(&[plain]));
        assert_eq!(one.marks(), other.marks());
        assert!((0..4).all(|row| one.item(row) == other.item(row)));
    }

    #[test]
    fn several_columns_do_not_run_together() {
        let column = |texts: [&str; 3]| Arc::new(StringArray::from(texts.to_vec())) as ArrayRef;
        let found = identities(&[column(["ab", "a", ""]), column(["c", "bc", "abc"])]);
        assert_ne!(found.item(0), found.item(1));
        assert_ne!(found.item(1), found.item(2));
    }

    #[test]
    fn other_types_are_refused_by_name() {
        let refused = Identity::new([Field::new("when", DataType::Int32, true)].iter())
            .expect_err("not a type of the engine");
        assert!(
            refused
                .to_string()
                .starts_with("column when has the type Int32: units and group keys are Int64")
        );
    }
}
