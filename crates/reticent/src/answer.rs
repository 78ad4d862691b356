//! The answer as it is stored and shown: plain data, the same bytes each time.

use crate::Error;
use crate::question::Question;
use crate::release_file::{GroupsRecord, ReleaseFile, ReleaseRecord};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Float64Type, Int64Type, Schema};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use reticent_ledger::Balance;
use reticent_mechanisms::{Guarantee, Notion};
use reticent_query::{Answer as Released, Formula, Prepared};
use reticent_release::{Noisy, PlannedStatistic, Statistic};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A cell: a number, a text, a truth value, or nothing.
pub type Cell = serde_json::Value;

/// A privacy loss.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// `epsilon`, rounded up.
    pub epsilon: f64,
    /// `delta`, rounded up; 0 for pure differential privacy.
    pub delta: f64,
}

impl Cost {
    /// What an answer of this cost guarantees.
    pub fn guarantee(self) -> Guarantee {
        let notion = if self.delta > 0.0 { Notion::Approximate } else { Notion::Pure };
        Guarantee { notion, epsilon: self.epsilon, delta: self.delta }
    }
}

/// What is left of the budget once the answer is paid for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Remaining {
    /// As a loss: how much of the policy's `epsilon` is not yet used up, rounded down.
    pub epsilon: f64,
    /// Of the `delta` for selections of groups.
    pub delta: f64,
    /// The currency in which the ledger counts: `epsilon` or `rho`.
    pub unit: String,
    /// What is left in it, rounded down.
    pub amount: f64,
}

impl Remaining {
    pub(crate) fn of(balance: &Balance) -> Self {
        Remaining {
            epsilon: balance
                .converted
                .map_or(balance.remaining.cost, |converted| converted.remaining),
            delta: balance.remaining.delta,
            unit: balance.limits.unit().to_string(),
            amount: balance.remaining.cost,
        }
    }
}

/// What was done for one statistic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatisticRecord {
    /// Which statistic, in words.
    pub statistic: String,
    /// The mechanism by name.
    pub mechanism: String,
    /// The most by which one unit moves it in one group, in units of the answer.
    pub per_group: f64,
    /// The scale of the noise, in units of the answer; none for quantiles and tables.
    pub scale: Option<f64>,
    /// The 95% half-width of the noise, in units of the answer; none for quantiles.
    pub half_width: Option<f64>,
    /// For quantiles the 95% error of each, in ranks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank_errors: Option<Vec<f64>>,
}

/// How groups were selected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SelectionRecord {
    /// The rule by name.
    pub rule: String,
    /// The least count with which a group is shown more often than not: of units, or of rows.
    pub shown_from: u64,
    /// 1 where units are counted; for rows, how many of them one unit may have.
    pub rows_of_unit: u32,
}

/// An answer with all that belongs to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The types of the columns.
    pub types: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<Cell>>,
    /// For each row and column the 95% half-width; none for what is not a noisy number.
    pub half_widths: Vec<Vec<Option<f64>>>,
    /// What it cost.
    pub cost: Cost,
    /// What was left after it.
    pub remaining: Remaining,
    /// How each statistic was released.
    pub mechanisms: Vec<StatisticRecord>,
    /// How groups were selected; none where they are public.
    pub selection: Option<SelectionRecord>,
    /// Why this noise.
    pub reason: String,
    /// The query in its canonical form.
    pub query: String,
    /// The entry of the ledger that paid.
    pub entry: u64,
    /// The groups that were released, before HAVING, ORDER BY and LIMIT.
    pub groups: GroupsRecord,
    /// The noisy counts and sums behind columns, for further work such as denoising.
    pub releases: BTreeMap<String, ReleaseFile>,
}

/// An answer that is paid for and stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The table that the query asked for.
    pub table: RecordBatch,
    /// The answer as it is stored, with all that belongs to it.
    pub record: Record,
    /// The bytes that are stored, JSON: the same each time.
    pub bytes: Vec<u8>,
    /// Whether it was stored before, and cost nothing now.
    pub stored: bool,
}

impl Answer {
    /// For each row and column the 95% half-width; none for what is not a noisy number.
    pub fn half_widths(&self) -> &[Vec<Option<f64>>] {
        &self.record.half_widths
    }

    /// What it cost when it was computed.
    pub fn cost(&self) -> Cost {
        self.record.cost
    }

    /// What it guarantees to every privacy unit.
    pub fn guarantee(&self) -> Guarantee {
        self.record.cost.guarantee()
    }

    /// What was left of the budget after it.
    pub fn remaining(&self) -> &Remaining {
        &self.record.remaining
    }

    /// The table, and after each noisy column its half-widths, in a column `NAME half_width`.
    ///
    /// # Errors
    /// Never, unless the stored answer is not a table.
    pub fn table_with_half_widths(&self) -> Result<RecordBatch, Error> {
        let mut columns: Vec<(String, ArrayRef)> = Vec::new();
        for (index, (name, array)) in
            self.record.columns.iter().zip(self.table.columns()).enumerate()
        {
            columns.push((name.clone(), array.clone()));
            let widths = self.half_widths().iter().map(|row| row.get(index).copied().flatten());
            let widths: Float64Array = widths.collect();
            if widths.null_count() < widths.len() {
                columns.push((format!("{name} half_width"), Arc::new(widths)));
            }
        }
        batch(columns)
    }

    pub(crate) fn new(bytes: Vec<u8>, stored: bool) -> Result<Self, Error> {
        let record: Record = serde_json::from_slice(&bytes).map_err(|_| not_an_answer())?;
        Ok(Answer { table: record.table()?, record, bytes, stored })
    }
}

fn not_an_answer() -> Error {
    Error::Fault("the stored answer is not one of this program's".into())
}

fn batch(columns: Vec<(String, ArrayRef)>) -> Result<RecordBatch, Error> {
    let field =
        |(name, array): &(String, ArrayRef)| Field::new(name, array.data_type().clone(), true);
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(Arc::new(schema), arrays).map_err(|_| not_an_answer())
}

impl Record {
    /// The type of a column.
    pub fn data_type(&self, column: usize) -> Option<DataType> {
        self.types.get(column)?.parse().ok()
    }

    /// The rows as a table of the columns' types.
    fn table(&self) -> Result<RecordBatch, Error> {
        let columns = self.columns.iter().enumerate().map(|(index, name)| {
            let of = self.data_type(index).ok_or_else(not_an_answer)?;
            let cells = || self.rows.iter().map(move |row| row.get(index));
            let plain: ArrayRef = if of.is_integer() {
                Arc::new(cells().map(|cell| cell?.as_i64()).collect::<Int64Array>())
            } else if of.is_floating() {
                Arc::new(cells().map(|cell| cell?.as_f64()).collect::<Float64Array>())
            } else if of == DataType::Boolean {
                Arc::new(cells().map(|cell| cell?.as_bool()).collect::<BooleanArray>())
            } else {
                Arc::new(cells().map(|cell| cell?.as_str()).collect::<StringArray>())
            };
            Ok((name.clone(), cast(&plain, &of).map_err(|_| not_an_answer())?))
        });
        batch(columns.collect::<Result<_, Error>>()?)
    }
}

/// What a statistic is, in words.
fn statistic_in_words(prepared: &Prepared, index: usize, statistic: &Statistic) -> String {
    let outputs = prepared.aggregation.outputs.iter();
    let users: Vec<&str> = outputs
        .filter(|output| output.formula.uses(index))
        .map(|output| output.title.as_str())
        .collect();
    let what = match statistic {
        Statistic::Count { .. } => "count",
        Statistic::Units => "count of units",
        Statistic::Sum { grid, .. } if grid.centre == 0.0 => "sum",
        Statistic::Sum { .. } => "sum around the middle",
        Statistic::Quantiles { .. } => "quantiles",
    };
    format!("{what} for {}", users.join(", "))
}

/// How each statistic is released: public, known before anything is read.
pub(crate) fn statistics(prepared: &Prepared) -> Vec<StatisticRecord> {
    let record = |(index, planned): (usize, &PlannedStatistic)| StatisticRecord {
        statistic: statistic_in_words(prepared, index, planned.statistic()),
        mechanism: planned.mechanism().to_owned(),
        per_group: planned.influence().per_group as f64 * planned.step(),
        scale: planned.scale(),
        half_width: planned.half_width(),
        rank_errors: planned.rank_errors(),
    };
    prepared.plan.statistics().iter().enumerate().map(record).collect()
}

/// The columns of a table as plain cells, row by row.
pub(crate) fn cells(table: &RecordBatch) -> Option<Vec<Vec<Cell>>> {
    let mut rows = vec![Vec::with_capacity(table.num_columns()); table.num_rows()];
    for column in table.columns() {
        let of = column.data_type();
        let plain: Vec<Cell> = if of.is_integer() {
            let wide = cast(column, &DataType::Int64).ok()?;
            wide.as_primitive::<Int64Type>().iter().map(Cell::from).collect()
        } else if of.is_floating() {
            let wide = cast(column, &DataType::Float64).ok()?;
            wide.as_primitive::<Float64Type>().iter().map(Cell::from).collect()
        } else if of == &DataType::Boolean {
            column.as_boolean().iter().map(Cell::from).collect()
        } else {
            let format = FormatOptions::default();
            let shown = ArrayFormatter::try_new(column.as_ref(), &format).ok()?;
            (0..column.len())
                .map(|row| {
                    if column.is_null(row) {
                        Cell::Null
                    } else {
                        Cell::from(shown.value(row).to_string())
                    }
                })
                .collect()
        };
        for (row, cell) in rows.iter_mut().zip(plain) {
            row.push(cell);
        }
    }
    Some(rows)
}

/// The noisy numbers of counts and direct sums, under the names of their columns.
fn releases(prepared: &Prepared, answer: &Released, cost: Cost) -> BTreeMap<String, ReleaseFile> {
    let mut found = BTreeMap::new();
    for output in &prepared.aggregation.outputs {
        let index = match output.formula {
            Formula::Count(index) | Formula::Sum { sum: index, count: None } => index,
            Formula::Sum { .. }
            | Formula::Average { .. }
            | Formula::Variance { .. }
            | Formula::Quantile { .. } => continue,
        };
        let Some(planned) = prepared.plan.statistics().get(index) else { continue };
        let (Some(Noisy::Numbers { steps, step }), Some(event)) =
            (answer.released.get(index), planned.event())
        else {
            continue;
        };
        // The event is stated in steps: for numbers that are not whole, the two would not be in the
        // same unit.
        if *step != 1.0 {
            continue;
        }
        let release = ReleaseRecord {
            mechanism: planned.mechanism().to_owned(),
            event,
            guarantee: cost.guarantee(),
            spacing: Some(*step),
            random: "secure".to_owned(),
            clamp: None,
            count: matches!(output.formula, Formula::Count(_)),
        };
        let values = steps.iter().map(|&steps| steps as f64 * step).collect();
        found.insert(output.title.clone(), ReleaseFile { release, values });
    }
    found
}

/// The answer as it is stored.
pub(crate) fn record(
    question: &Question,
    answer: &Released,
    remaining: Remaining,
    entry: u64,
) -> Result<Record, Error> {
    let prepared = &question.prepared;
    let plan = &prepared.plan;
    let guarantee = plan.guarantee();
    let cost = Cost { epsilon: guarantee.epsilon, delta: guarantee.delta };
    let unprintable = || Error::Fault("the answer cannot be written".into());
    let rows = cells(&answer.table).ok_or_else(unprintable)?;
    let half_widths = (0..rows.len())
        .map(|row| {
            answer.half_widths.iter().map(|column| column.get(row).copied().flatten()).collect()
        })
        .collect();
    let schema = answer.table.schema();
    Ok(Record {
        columns: prepared.columns.clone(),
        types: schema.fields().iter().map(|field| field.data_type().to_string()).collect(),
        rows,
        half_widths,
        cost,
        remaining,
        mechanisms: question.statistics.clone(),
        selection: plan.selection().map(|selection| SelectionRecord {
            rule: selection.rule.to_owned(),
            shown_from: selection.shown_at_half,
            rows_of_unit: selection.rows_of_unit,
        }),
        reason: plan.reason().to_owned(),
        query: prepared.sql.clone(),
        entry,
        groups: GroupsRecord {
            columns: prepared.aggregation.keys.iter().map(|key| key.name.clone()).collect(),
            rows: cells(&answer.groups).ok_or_else(unprintable)?,
        },
        releases: releases(prepared, answer, cost),
    })
}
