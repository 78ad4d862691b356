//! Least and greatest values by group, in a total order of canonical values.

use super::canonical::{canonical, canonical_narrow};
use super::groups::{Groups, column, for_each_value, states_of_rows};
use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, PrimitiveArray, StringViewArray,
};
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Date64Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use datafusion::common::Result;
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use std::cmp::Ordering;
use std::sync::Arc;

/// An accumulator of the values of a type that are `wanted` of any other, if they have an order
/// here.
pub(super) fn extremes(of: &DataType, wanted: Ordering) -> Option<Groups> {
    macro_rules! integers {
        ($of:ty) => {
            Box::new(Extremes::new(Numbers::<$of> { canonical: Some }, wanted))
        };
    }
    Some(match of {
        DataType::Int8 => integers!(Int8Type),
        DataType::Int16 => integers!(Int16Type),
        DataType::Int32 => integers!(Int32Type),
        DataType::Int64 => integers!(Int64Type),
        DataType::UInt8 => integers!(UInt8Type),
        DataType::UInt16 => integers!(UInt16Type),
        DataType::UInt32 => integers!(UInt32Type),
        DataType::UInt64 => integers!(UInt64Type),
        DataType::Date32 => integers!(Date32Type),
        DataType::Date64 => integers!(Date64Type),
        DataType::Timestamp(TimeUnit::Second, None) => integers!(TimestampSecondType),
        DataType::Timestamp(TimeUnit::Millisecond, None) => integers!(TimestampMillisecondType),
        DataType::Timestamp(TimeUnit::Microsecond, None) => integers!(TimestampMicrosecondType),
        DataType::Timestamp(TimeUnit::Nanosecond, None) => integers!(TimestampNanosecondType),
        DataType::Float32 => {
            Box::new(Extremes::new(Numbers::<Float32Type> { canonical: canonical_narrow }, wanted))
        }
        DataType::Float64 => Box::new(Extremes::new(Numbers::<Float64Type> { canonical }, wanted)),
        DataType::Boolean => Box::new(Extremes::new(Truths, wanted)),
        DataType::Utf8View => Box::new(Extremes::new(Texts, wanted)),
        _ => return None,
    })
}

/// Values of one kind: their column, what is kept of one, and their order.
trait Kind: Clone + Send + Sync + 'static {
    type Column: Array + FromIterator<Option<Self::Value>> + 'static;
    type Value: Clone + Send + Sync;

    /// Puts the value in the row, which is not NULL, in place of `best` if it is `wanted` of
    /// it.
    fn offer(
        &self,
        best: &mut Option<Self::Value>,
        column: &Self::Column,
        row: usize,
        wanted: Ordering,
    );

    /// Bytes of a value beside its own size.
    fn heap(_: &Self::Value) -> usize {
        0
    }
}

fn better<V: PartialOrd + ?Sized>(value: &V, best: Option<&V>, wanted: Ordering) -> bool {
    best.is_none_or(|best| value.partial_cmp(best) == Some(wanted))
}

/// Numbers, dates and moments: canonical values, on which `<` is a total order.
struct Numbers<T: ArrowPrimitiveType> {
    canonical: fn(T::Native) -> Option<T::Native>,
}

impl<T: ArrowPrimitiveType> Clone for Numbers<T> {
    fn clone(&self) -> Self {
        Numbers { canonical: self.canonical }
    }
}

impl<T> Kind for Numbers<T>
where
    T: ArrowPrimitiveType,
    T::Native: PartialOrd,
    PrimitiveArray<T>: FromIterator<Option<T::Native>>,
{
    type Column = PrimitiveArray<T>;
    type Value = T::Native;

    fn offer(
        &self,
        best: &mut Option<T::Native>,
        column: &PrimitiveArray<T>,
        row: usize,
        wanted: Ordering,
    ) {
        if let Some(value) = (self.canonical)(column.value(row))
            && better(&value, best.as_ref(), wanted)
        {
            *best = Some(value);
        }
    }
}

/// False before true.
#[derive(Clone)]
struct Truths;

impl Kind for Truths {
    type Column = BooleanArray;
    type Value = bool;

    fn offer(&self, best: &mut Option<bool>, column: &BooleanArray, row: usize, wanted: Ordering) {
        let value = column.value(row);
        if better(&value, best.as_ref(), wanted) {
            *best = Some(value);
        }
    }
}

/// Texts by their bytes.
#[derive(Clone)]
struct Texts;

impl Kind for Texts {
    type Column = StringViewArray;
    type Value = Box<str>;

    fn offer(
        &self,
        best: &mut Option<Box<str>>,
        column: &StringViewArray,
        row: usize,
        wanted: Ordering,
    ) {
        let value = column.value(row);
        if better(value, best.as_deref(), wanted) {
            *best = Some(value.into());
        }
    }

    fn heap(value: &Box<str>) -> usize {
        value.len()
    }
}

/// The best value of each group, if it has one.
struct Extremes<K: Kind> {
    kind: K,
    wanted: Ordering,
    best: Vec<Option<K::Value>>,
    /// Bytes of the values beside their own size.
    heap: usize,
}

impl<K: Kind> Extremes<K> {
    fn new(kind: K, wanted: Ordering) -> Self {
        Extremes { kind, wanted, best: Vec::new(), heap: 0 }
    }
}

fn heap_of<K: Kind>(value: Option<&K::Value>) -> usize {
    value.map_or(0, K::heap)
}

impl<K: Kind> GroupsAccumulator for Extremes<K> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        groups: usize,
    ) -> Result<()> {
        self.best.resize(groups, None);
        let values: &K::Column = column(values, 0)?;
        for_each_value(values, group_indices, filter, |row, group| {
            let best = &mut self.best[group];
            self.heap -= heap_of::<K>(best.as_ref());
            self.kind.offer(best, values, row, self.wanted);
            self.heap += heap_of::<K>(best.as_ref());
        });
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let best = emit_to.take_needed(&mut self.best);
        self.heap -= best.iter().map(|value| heap_of::<K>(value.as_ref())).sum::<usize>();
        Ok(Arc::new(best.into_iter().collect::<K::Column>()))
    }

    /// The best value so far is one of the values.
    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(emit_to)?])
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        groups: usize,
    ) -> Result<()> {
        self.update_batch(values, group_indices, None, groups)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        states_of_rows(Self::new(self.kind.clone(), self.wanted), values, filter)
    }

    fn size(&self) -> usize {
        self.best.capacity() * size_of::<Option<K::Value>>() + self.heap
    }
}
