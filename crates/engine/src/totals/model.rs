//! The definition of bounded totals with everything at hand, slow and plain: what the engine is
//! compared with.

use super::identity::Identity;
use super::layout::Layout;
use super::secret_key::SecretKey;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Date32Array, Float64Array, Int64Array, StringArray,
    StringViewArray, TimestampMicrosecondArray,
};
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Field, Float64Type, Int64Type, Schema, TimeUnit, TimestampMicrosecondType,
};
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use reticent_release::{Contribution, Grid, Statistic};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A value of a table.
#[derive(Clone, Debug)]
pub(super) enum Cell {
    Null,
    /// Whole numbers, dates, times, and truth values as 0 and 1.
    Whole(i64),
    Float(f64),
    Text(String),
}

/// What a cell is known by, in the order of answers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Known {
    Null,
    Whole(i64),
    /// In the order of the bits as IEEE 754 defines it.
    Float(i64),
    Text(String),
}

/// A table in rows.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) types: Vec<DataType>,
    pub(super) rows: Vec<Vec<Cell>>,
}

/// The totals of one group.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct Group {
    pub(super) units: u64,
    pub(super) totals: Vec<Total>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Total {
    Integer(i128),
    Values(BTreeMap<i64, u64>),
}

impl Cell {
    pub(super) fn known(&self) -> Known {
        match self {
            Cell::Null => Known::Null,
            Cell::Whole(value) => Known::Whole(*value),
            Cell::Float(value) if value.is_nan() => Known::Float(i64::MAX),
            Cell::Float(value) => {
                let bits = (value + 0.0).to_bits() as i64;
                Known::Float(if bits < 0 { bits ^ i64::MAX } else { bits })
            }
            Cell::Text(text) => Known::Text(text.clone()),
        }
    }
}

pub(super) fn column(cells: &[Cell], data_type: &DataType) -> ArrayRef {
    let whole =
        || cells.iter().map(|cell| if let Cell::Whole(value) = cell { Some(*value) } else { None });
    let text = || {
        cells
            .iter()
            .map(|cell| if let Cell::Text(text) = cell { Some(text.as_str()) } else { None })
    };
    match data_type {
        DataType::Int64 => Arc::new(Int64Array::from_iter(whole())),
        DataType::Timestamp(..) => Arc::new(TimestampMicrosecondArray::from_iter(whole())),
        DataType::Date32 => Arc::new(Date32Array::from_iter(whole().map(|v| v.map(|v| v as i32)))),
        DataType::Boolean => Arc::new(BooleanArray::from_iter(whole().map(|v| v.map(|v| v == 1)))),
        DataType::Float64 => {
            let float =
                |cell: &Cell| if let Cell::Float(value) = cell { Some(*value) } else { None };
            Arc::new(Float64Array::from_iter(cells.iter().map(float)))
        }
        DataType::Utf8 => Arc::new(StringArray::from_iter(text())),
        DataType::Utf8View => Arc::new(StringViewArray::from_iter(text())),
        other => unreachable!("no column of {other}"),
    }
}

pub(super) fn cells(column: &ArrayRef) -> Vec<Cell> {
    let cell = |row: usize| {
        if column.is_null(row) {
            return Cell::Null;
        }
        match column.data_type() {
            DataType::Int64 => Cell::Whole(column.as_primitive::<Int64Type>().value(row)),
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                Cell::Whole(column.as_primitive::<TimestampMicrosecondType>().value(row))
            }
            DataType::Date32 => Cell::Whole(column.as_primitive::<Date32Type>().value(row).into()),
            DataType::Boolean => Cell::Whole(column.as_boolean().value(row).into()),
            DataType::Float64 => Cell::Float(column.as_primitive::<Float64Type>().value(row)),
            DataType::Utf8 => Cell::Text(column.as_string::<i32>().value(row).to_owned()),
            _ => Cell::Text(column.as_string_view().value(row).to_owned()),
        }
    };
    (0..column.len()).map(cell).collect()
}

impl Table {
    pub(super) fn schema(&self) -> Arc<Schema> {
        let fields = self.types.iter().enumerate();
        Arc::new(Schema::new(
            fields.map(|(n, t)| Field::new(format!("c{n}"), t.clone(), true)).collect::<Vec<_>>(),
        ))
    }

    pub(super) fn batch(&self, rows: &[Vec<Cell>]) -> RecordBatch {
        let columns = self.types.iter().enumerate().map(|(n, data_type)| {
            column(&rows.iter().map(|row| row[n].clone()).collect::<Vec<_>>(), data_type)
        });
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        RecordBatch::try_new_with_options(self.schema(), columns.collect(), &options)
            .expect("columns of the schema")
    }

    fn known(&self, row: usize, columns: &[usize]) -> Vec<Known> {
        columns.iter().map(|&column| self.rows[row][column].known()).collect()
    }

    /// The keyed hash of some cells of a row.
    fn hash(&self, row: usize, columns: &[usize], key: &SecretKey) -> u64 {
        let schema = self.schema();
        let identity =
            Identity::new(columns.iter().map(|&column| schema.field(column))).expect("known types");
        let cells = columns
            .iter()
            .map(|&c| column(&self.rows[row][c..=c], &self.types[c]))
            .collect::<Vec<_>>();
        identity.of(&cells, 1, key).expect("one row").marks()[0]
    }

    /// The totals by their definition. `public` groups, if there are any, or those that occur.
    pub(super) fn totals(
        &self,
        layout: &Layout,
        public: Option<&[Vec<Known>]>,
        key: &SecretKey,
    ) -> BTreeMap<Vec<Known>, Group> {
        let zero = || Group {
            units: 0,
            totals: layout
                .statistics
                .iter()
                .map(|statistic| match statistic {
                    Statistic::Quantiles { .. } => Total::Values(BTreeMap::new()),
                    _ => Total::Integer(0),
                })
                .collect(),
        };
        let mut answer: BTreeMap<Vec<Known>, Group> =
            public.unwrap_or(&[]).iter().map(|key| (key.clone(), zero())).collect();
        // Rows by unit, then by group.
        let mut units: BTreeMap<(usize, Known), BTreeMap<Vec<Known>, Vec<usize>>> = BTreeMap::new();
        for row in 0..self.rows.len() {
            let unit = match layout.unit {
                None => (row, Known::Null),
                Some(column) => (0, self.rows[row][column].known()),
            };
            let group = self.known(row, &layout.keys);
            let asked = public.is_none_or(|public| public.contains(&group));
            if asked && (layout.unit.is_none() || unit.1 != Known::Null) {
                units.entry(unit).or_default().entry(group).or_default().push(row);
            }
        }
        for groups in units.into_values() {
            let mut order: Vec<(u64, Vec<Known>, Vec<usize>)> = groups
                .into_iter()
                .map(|(group, rows)| {
                    let unit = layout.unit.map_or(0, |column| self.hash(rows[0], &[column], key));
                    (key.priority(unit, self.hash(rows[0], &layout.keys, key)), group, rows)
                })
                .collect();
            order.sort();
            for (priority, group, rows) in order.into_iter().take(layout.max_groups as usize) {
                let group = answer.entry(group).or_insert_with(zero);
                group.units += 1;
                for (total, statistic) in group.totals.iter_mut().zip(&layout.statistics) {
                    match (total, self.added(statistic, &rows, priority, key)) {
                        (Total::Integer(sum), Total::Integer(more)) => *sum += more,
                        (Total::Values(all), Total::Values(more)) => {
                            more.into_iter()
                                .for_each(|(value, times)| *all.entry(value).or_insert(0) += times);
                        }
                        _ => unreachable!("a statistic has one kind of total"),
                    }
                }
            }
        }
        answer
    }

    /// What one unit's rows add to a statistic of one group.
    fn added(
        &self,
        statistic: &Statistic,
        rows: &[usize],
        priority: u64,
        key: &SecretKey,
    ) -> Total {
        let column = match *statistic {
            Statistic::Count { column, .. } => column,
            Statistic::Units => None,
            Statistic::Sum { column, .. } | Statistic::Quantiles { column, .. } => Some(column),
        };
        let present: Vec<&Cell> = match column {
            None => vec![&Cell::Null; rows.len()],
            Some(column) => rows
                .iter()
                .map(|&row| &self.rows[row][column])
                .filter(|cell| {
                    !matches!(cell, Cell::Null)
                        && !matches!(cell, Cell::Float(value) if value.is_nan())
                })
                .collect(),
        };
        let n = present.len() as i128;
        match statistic {
            Statistic::Count { max_rows, .. } => Total::Integer(n.min((*max_rows).into())),
            Statistic::Units => Total::Integer(n.min(1)),
            Statistic::Sum { grid, contribution, .. } => {
                let sum: i128 = present.iter().map(|cell| i128::from(step(cell, grid))).sum();
                Total::Integer(match *contribution {
                    Contribution::Rows(max_rows) if n > max_rows.into() => {
                        sum * i128::from(max_rows) / n
                    }
                    Contribution::Rows(_) => sum,
                    Contribution::Total { lower, upper } => sum.max(lower.into()).min(upper.into()),
                })
            }
            Statistic::Quantiles { grid, max_rows, .. } => {
                let mut order: Vec<(u64, i64)> = present
                    .iter()
                    .map(|cell| step(cell, grid))
                    .map(|step| (key.priority(priority, key.word(step as u64)), step))
                    .collect();
                order.sort_unstable();
                let mut chosen = BTreeMap::new();
                order
                    .iter()
                    .take(*max_rows as usize)
                    .for_each(|&(_, step)| *chosen.entry(step).or_insert(0) += 1);
                Total::Values(chosen)
            }
        }
    }
}

/// The nearest point of a grid whose step is between 2^-8 and 2^8 and whose centre is a multiple of
/// 2^-8, in integers for whole numbers.
fn step(cell: &Cell, grid: &Grid) -> i64 {
    let nearest = match *cell {
        Cell::Whole(value) if grid.centre.fract() == 0.0 => {
            let numerator = (i128::from(value) - grid.centre as i128) * 256;
            let denominator = (grid.step * 256.0) as i128;
            let (below, rest) =
                (numerator.div_euclid(denominator), numerator.rem_euclid(denominator) * 2);
            below + i128::from(rest > denominator || (rest == denominator && below % 2 != 0))
        }
        Cell::Whole(value) => ((value as f64 - grid.centre) / grid.step).round_ties_even() as i128,
        Cell::Float(value) => ((value - grid.centre) / grid.step).round_ties_even() as i128,
        _ => unreachable!("sums are of numbers"),
    };
    nearest.clamp(grid.lower.into(), grid.upper.into()) as i64
}
