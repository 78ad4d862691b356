//! How far the exact totals of neighbours are apart, against what the plan claims.

use crate::Prepared;
use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Float64Type, Int64Type, TimeUnit, TimestampMicrosecondType,
};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::ScalarValue;
use reticent_release::{Exact, Totals};
use std::collections::BTreeMap;

/// The totals of a group: its units, and of each statistic the number, or how often each value
/// occurs.
#[derive(Clone, Debug, Default, PartialEq)]
struct Group {
    units: i128,
    statistics: Vec<BTreeMap<i64, i128>>,
}

/// Appends the bits of a cell: two cells have the same if and only if they are the same, down to
/// the sign of a zero.
pub(super) fn bits(column: &ArrayRef, row: usize, all: &mut Vec<u8>) {
    if column.is_null(row) {
        return all.push(0);
    }
    all.push(1);
    match column.data_type() {
        DataType::Int64 => all.extend(column.as_primitive::<Int64Type>().value(row).to_le_bytes()),
        DataType::Float64 => {
            all.extend(column.as_primitive::<Float64Type>().value(row).to_bits().to_le_bytes())
        }
        DataType::Date32 => {
            all.extend(column.as_primitive::<Date32Type>().value(row).to_le_bytes())
        }
        DataType::Timestamp(TimeUnit::Microsecond, None) => {
            all.extend(column.as_primitive::<TimestampMicrosecondType>().value(row).to_le_bytes());
        }
        DataType::Boolean => all.push(column.as_boolean().value(row).into()),
        DataType::Utf8View => {
            let text = column.as_string_view().value(row).as_bytes();
            all.extend(text.len().to_le_bytes());
            all.extend(text);
        }
        _ => all.extend(format!("{:?}", ScalarValue::try_from_array(column, row)).bytes()),
    }
}

/// The groups by the bits of their keys; numbers are under the value 0.
fn by_key(keys: &RecordBatch, exact: &Exact) -> BTreeMap<Vec<u8>, Group> {
    let of = |group: usize| Group {
        units: exact.units[group].into(),
        statistics: exact
            .totals
            .iter()
            .map(|totals| match totals {
                Totals::Integers(numbers) => BTreeMap::from([(0, numbers[group])]),
                Totals::Values(values) => {
                    values[group].iter().map(|&(value, times)| (value, times.into())).collect()
                }
            })
            .collect(),
    };
    (0..exact.units.len())
        .map(|group| {
            let mut key = Vec::new();
            keys.columns().iter().for_each(|column| bits(column, group, &mut key));
            (key, of(group))
        })
        .collect()
}

/// How far two groups are apart in a statistic.
fn distance(one: Option<&BTreeMap<i64, i128>>, other: Option<&BTreeMap<i64, i128>>) -> u128 {
    let nothing = BTreeMap::new();
    let (one, other) = (one.unwrap_or(&nothing), other.unwrap_or(&nothing));
    let mut apart = 0;
    for value in one.keys().chain(other.keys().filter(|value| !one.contains_key(value))) {
        let times = |side: &BTreeMap<i64, i128>| side.get(value).copied().unwrap_or(0);
        apart += times(one).abs_diff(times(other));
    }
    apart
}

/// How often something moved, and how often as far as it may.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) compared: usize,
    pub(super) moved: usize,
    pub(super) to_the_limit: usize,
    pub(super) in_all_groups: usize,
}

/// Compares the totals of neighbours with what the plan claims; what moved farther, in words.
pub(super) fn check(
    prepared: &Prepared,
    one: &(RecordBatch, Exact),
    other: &(RecordBatch, Exact),
    seen: &mut Seen,
) -> Result<(), String> {
    let (one, other) = (by_key(&one.0, &one.1), by_key(&other.0, &other.1));
    let keys: Vec<&Vec<u8>> =
        one.keys().chain(other.keys().filter(|key| !one.contains_key(*key))).collect();
    let most = prepared.aggregation.max_groups as usize;
    let units = |side: &BTreeMap<Vec<u8>, Group>, key: &Vec<u8>| {
        side.get(key).map_or(0, |group| group.units)
    };
    let moved: Vec<u128> =
        keys.iter().map(|key| units(&one, key).abs_diff(units(&other, key))).collect();
    if moved.iter().any(|&by| by > 1) {
        return Err("a unit is counted twice".to_owned());
    }
    if moved.iter().filter(|&&by| by > 0).count() > most {
        return Err(format!("a unit is in more than {most} groups"));
    }
    for (index, planned) in prepared.plan.statistics().iter().enumerate() {
        let influence = planned.influence();
        let statistic = |side: &BTreeMap<Vec<u8>, Group>, key: &Vec<u8>| {
            side.get(key).map(|group: &Group| group.statistics[index].clone())
        };
        let apart: Vec<u128> = keys
            .iter()
            .map(|key| distance(statistic(&one, key).as_ref(), statistic(&other, key).as_ref()))
            .collect();
        let groups = apart.iter().filter(|&&by| by > 0).count();
        let farthest = apart.iter().copied().max().unwrap_or(0);
        if farthest > influence.per_group.into() {
            return Err(format!("statistic {index} moves by {farthest}, not {influence:?}"));
        }
        if groups > influence.groups as usize {
            return Err(format!("statistic {index} moves in {groups} groups, not {influence:?}"));
        }
        seen.moved += usize::from(groups > 0);
        seen.to_the_limit += usize::from(farthest == influence.per_group.into());
        seen.in_all_groups += usize::from(groups > 1 && groups == influence.groups as usize);
    }
    seen.compared += 1;
    Ok(())
}
