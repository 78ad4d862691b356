//! Comparisons of two values of one kind, and the choice of the first, the least or the greatest.

use super::kind::Kind;
use super::values::{Cells, Values};
use datafusion::arrow::array::{
    Array, ArrayAccessor, ArrayRef, BooleanArray, StringViewArray, new_null_array,
};
use datafusion::arrow::buffer::{BooleanBuffer, NullBuffer};
use datafusion::arrow::compute::interleave;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use std::cmp::Ordering;
use std::sync::Arc;

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    /// NULL where a side is. Texts are compared by code points, `false` comes before `true`.
    pub(super) fn apply(self, kind: Kind, left: &Values, right: &Values, rows: usize) -> ArrayRef {
        let missing = |side: &Values| side.is_shared() && side.is_null(0);
        if missing(left) || missing(right) {
            return new_null_array(&DataType::Boolean, rows);
        }
        let nulls =
            |side: &Values| if side.is_shared() { None } else { side.array().nulls().cloned() };
        let nulls = NullBuffer::union(nulls(left).as_ref(), nulls(right).as_ref());
        let held = match kind {
            Kind::Boolean => self.ordered(left.booleans(), right.booleans(), rows),
            Kind::Integer => self.ordered(left.integers(), right.integers(), rows),
            Kind::Real => self.ordered(left.reals(), right.reals(), rows),
            Kind::Date => self.ordered(left.dates(), right.dates(), rows),
            Kind::Moment => self.ordered(left.moments(), right.moments(), rows),
            Kind::Text => {
                let (a, b) = (left.texts(), right.texts());
                match self {
                    Comparison::Equal => {
                        BooleanBuffer::collect_bool(rows, |row| same_text(&a, &b, row))
                    }
                    Comparison::NotEqual => {
                        BooleanBuffer::collect_bool(rows, |row| !same_text(&a, &b, row))
                    }
                    Comparison::Less
                    | Comparison::LessOrEqual
                    | Comparison::Greater
                    | Comparison::GreaterOrEqual => self.ordered(a, b, rows),
                }
            }
        };
        Arc::new(BooleanArray::new(held, nulls))
    }

    fn ordered<A>(self, a: Cells<A>, b: Cells<A>, rows: usize) -> BooleanBuffer
    where
        A: ArrayAccessor,
        A::Item: PartialOrd,
    {
        match self {
            Comparison::Equal => {
                BooleanBuffer::collect_bool(rows, |row| a.value(row) == b.value(row))
            }
            Comparison::NotEqual => {
                BooleanBuffer::collect_bool(rows, |row| a.value(row) != b.value(row))
            }
            Comparison::Less => {
                BooleanBuffer::collect_bool(rows, |row| a.value(row) < b.value(row))
            }
            Comparison::LessOrEqual => {
                BooleanBuffer::collect_bool(rows, |row| a.value(row) <= b.value(row))
            }
            Comparison::Greater => {
                BooleanBuffer::collect_bool(rows, |row| a.value(row) > b.value(row))
            }
            Comparison::GreaterOrEqual => {
                BooleanBuffer::collect_bool(rows, |row| a.value(row) >= b.value(row))
            }
        }
    }
}

/// Whether two texts are equal, by their lengths and first letters before their bytes are looked
/// up. The low half of a view's first word is the length; a text of up to 12 bytes is in the view
/// itself.
#[inline]
fn same_text(a: &Cells<&StringViewArray>, b: &Cells<&StringViewArray>, row: usize) -> bool {
    let (one, other) = (a.array().views()[a.index(row)], b.array().views()[b.index(row)]);
    if one as u64 != other as u64 {
        return false;
    }
    if one as u32 <= 12 { one == other } else { a.value(row) == b.value(row) }
}

/// Of several values of one kind, that of the choice which `pick` makes in each row, or NULL.
pub(super) fn select(
    choices: &[&Values],
    kind: Kind,
    rows: usize,
    pick: impl Fn(usize) -> Option<usize>,
) -> Result<ArrayRef> {
    let nothing = new_null_array(&kind.stored(), 1);
    let mut arrays: Vec<&dyn Array> =
        choices.iter().map(|values| values.array().as_ref()).collect();
    arrays.push(nothing.as_ref());
    let indices: Vec<(usize, usize)> = (0..rows)
        .map(|row| {
            pick(row).map_or((choices.len(), 0), |choice| (choice, choices[choice].index(row)))
        })
        .collect();
    Ok(interleave(&arrays, &indices)?)
}

/// The least (or greatest) of several values in each row, of those that are not NULL.
pub(super) fn extreme(
    wanted: Ordering,
    choices: &[&Values],
    kind: Kind,
    rows: usize,
) -> Result<ArrayRef> {
    fn best<A>(wanted: Ordering, cells: &[Cells<A>], row: usize) -> Option<usize>
    where
        A: ArrayAccessor,
        A::Item: PartialOrd,
    {
        let mut best: Option<(usize, A::Item)> = None;
        for (index, cell) in cells.iter().enumerate() {
            let Some(value) = cell.get(row) else { continue };
            if best.as_ref().is_none_or(|(_, known)| value.partial_cmp(known) == Some(wanted)) {
                best = Some((index, value));
            }
        }
        best.map(|(index, _)| index)
    }
    macro_rules! by {
        ($cells:ident) => {{
            let cells: Vec<_> = choices.iter().map(|values| values.$cells()).collect();
            select(choices, kind, rows, |row| best(wanted, &cells, row))
        }};
    }
    match kind {
        Kind::Boolean => by!(booleans),
        Kind::Integer => by!(integers),
        Kind::Real => by!(reals),
        Kind::Text => by!(texts),
        Kind::Date => by!(dates),
        Kind::Moment => by!(moments),
    }
}
