//! The values of one part of an expression for the rows of a batch, in the stored form of their
//! kind.

use super::kind::Kind;
use datafusion::arrow::array::{
    Array, ArrayAccessor, ArrayRef, AsArray, BooleanArray, Date32Array, Float64Array, Int64Array,
    StringViewArray, TimestampMicrosecondArray, new_null_array,
};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Float64Type, Int64Type, TimeUnit, TimestampMicrosecondType,
};
use datafusion::common::{Result, ScalarValue};
use reticent_sources::field;
use std::sync::Arc;

/// One value for each row, or one that all rows share.
#[derive(Clone, Debug)]
pub(super) struct Values {
    array: ArrayRef,
    shared: bool,
}

/// Typed access to [`Values`]: the value of a row, or `None` for NULL.
#[derive(Clone, Copy)]
pub(super) struct Cells<A> {
    array: A,
    /// 0 where all rows share the first value, else 1.
    stride: usize,
}

impl<A: ArrayAccessor> Cells<A> {
    #[inline]
    pub(super) fn get(&self, row: usize) -> Option<A::Item> {
        let index = row * self.stride;
        self.array.is_valid(index).then(|| self.array.value(index))
    }

    /// The value of a row, whatever is stored under a NULL.
    #[inline]
    pub(super) fn value(&self, row: usize) -> A::Item {
        self.array.value(row * self.stride)
    }

    pub(super) fn array(&self) -> &A {
        &self.array
    }

    /// Where the value of a row is stored.
    #[inline]
    pub(super) fn index(&self, row: usize) -> usize {
        row * self.stride
    }
}

impl Values {
    pub(super) fn new(array: ArrayRef, shared: bool) -> Self {
        Values { array, shared }
    }

    pub(super) fn literal(value: &ScalarValue) -> Result<Self> {
        Ok(Values { array: value.to_array()?, shared: true })
    }

    pub(super) fn is_shared(&self) -> bool {
        self.shared
    }

    pub(super) fn array(&self) -> &ArrayRef {
        &self.array
    }

    #[inline]
    pub(super) fn is_null(&self, row: usize) -> bool {
        self.array.is_null(self.index(row))
    }

    #[inline]
    pub(super) fn index(&self, row: usize) -> usize {
        if self.shared { 0 } else { row }
    }

    fn cells<A>(&self, array: A) -> Cells<A> {
        Cells { array, stride: usize::from(!self.shared) }
    }

    pub(super) fn booleans(&self) -> Cells<&BooleanArray> {
        self.cells(self.array.as_boolean())
    }

    pub(super) fn integers(&self) -> Cells<&Int64Array> {
        self.cells(self.array.as_primitive::<Int64Type>())
    }

    pub(super) fn reals(&self) -> Cells<&Float64Array> {
        self.cells(self.array.as_primitive::<Float64Type>())
    }

    pub(super) fn texts(&self) -> Cells<&StringViewArray> {
        self.cells(self.array.as_string_view())
    }

    pub(super) fn dates(&self) -> Cells<&Date32Array> {
        self.cells(self.array.as_primitive::<Date32Type>())
    }

    pub(super) fn moments(&self) -> Cells<&TimestampMicrosecondArray> {
        self.cells(self.array.as_primitive::<TimestampMicrosecondType>())
    }
}

/// An array whose cell in each row is computed from that row alone: every kernel is made of this.
pub(super) fn each<A, T>(rows: usize, cell: impl Fn(usize) -> Option<T>) -> ArrayRef
where
    A: Array + FromIterator<Option<T>> + 'static,
{
    Arc::new((0..rows).map(cell).collect::<A>())
}

/// A column of a plan in the stored form of its kind.
pub(super) fn stored(array: &ArrayRef, kind: Kind) -> Result<ArrayRef> {
    let declared = array.data_type();
    if *declared == DataType::Null {
        return Ok(new_null_array(&kind.stored(), array.len()));
    }
    Ok(match (kind, declared) {
        (Kind::Real, _) => {
            let numbers = cast_safely(array, &DataType::Float64)?;
            let reals = numbers.as_primitive::<Float64Type>();
            let strange =
                |number: &f64| number.is_nan() || number.to_bits() == (-0.0_f64).to_bits();
            if reals.values().iter().fold(false, |any, number| any | strange(number)) {
                Arc::new(reals.unary_opt::<_, Float64Type>(field::canonical))
            } else {
                numbers
            }
        }
        (Kind::Moment, DataType::Timestamp(unit, _)) if *unit != TimeUnit::Microsecond => {
            let ticks = cast_safely(array, &DataType::Int64)?;
            let ticks = ticks.as_primitive::<Int64Type>();
            let per_tick = match unit {
                TimeUnit::Second => 1_000_000,
                TimeUnit::Millisecond => 1_000,
                TimeUnit::Microsecond => 1,
                TimeUnit::Nanosecond => {
                    let moments =
                        ticks.unary::<_, TimestampMicrosecondType>(|tick| tick.div_euclid(1_000));
                    return Ok(Arc::new(moments));
                }
            };
            Arc::new(
                ticks.unary_opt::<_, TimestampMicrosecondType>(|tick| tick.checked_mul(per_tick)),
            )
        }
        _ => cast_safely(array, &kind.stored())?,
    })
}

/// Stored values in the type that the plan declares; what does not fit it is NULL.
pub(super) fn presented(array: &ArrayRef, kind: Kind, declared: &DataType) -> Result<ArrayRef> {
    if let (Kind::Moment, DataType::Timestamp(TimeUnit::Nanosecond, _)) = (kind, declared) {
        let moments = array.as_primitive::<TimestampMicrosecondType>();
        let ticks = moments.unary_opt::<_, Int64Type>(|moment| moment.checked_mul(1_000));
        return cast_safely(&(Arc::new(ticks) as ArrayRef), declared);
    }
    if *declared == DataType::Null {
        return Ok(new_null_array(declared, array.len()));
    }
    cast_safely(array, declared)
}

fn cast_safely(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    if array.data_type() == to {
        return Ok(Arc::clone(array));
    }
    Ok(cast_with_options(array, to, &CastOptions { safe: true, ..CastOptions::default() })?)
}
