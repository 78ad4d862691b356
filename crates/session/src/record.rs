//! The answer as it is stored and shown: plain data, the same bytes each time.

use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use reticent_events::Event;
use reticent_query::{Answer, Formula, Prepared};
use reticent_release::{Noisy, Statistic};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A cell: a number, a text, a truth value, or nothing.
pub type Cell = serde_json::Value;

/// A privacy loss with its exception.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// The loss.
    pub epsilon: f64,
    /// The exception.
    pub delta: f64,
}

/// What is left of the budget once the answer is paid for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Remaining {
    /// As a loss: how much of the policy's `epsilon` is not yet used up, rounded down.
    pub epsilon: f64,
    /// Of the exception for selections of groups.
    pub delta: f64,
    /// The currency in which the ledger counts: `epsilon` or `rho`.
    pub unit: String,
    /// What is left in it, rounded down.
    pub amount: f64,
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
    /// The scale of the noise, in units of the answer; none for quantiles.
    pub scale: Option<f64>,
    /// The 95% half-width of the noise, in units of the answer; none for quantiles.
    pub half_width: Option<f64>,
    /// For quantiles the 95% error of each, in ranks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank_errors: Option<Vec<f64>>,
}

/// The noisy numbers behind a column, with the description of their noise: a release file, as `denoise` reads it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoisyColumn {
    /// What released the values.
    pub release: Provenance,
    /// One for each group, in the order of the answer's `groups`.
    pub values: Vec<f64>,
}

/// What released some values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// The mechanism by name.
    pub mechanism: String,
    /// What ran.
    pub event: Event,
    /// What the whole answer promises.
    pub guarantee: Promise,
    /// The spacing of the lattice that the values lie on.
    pub spacing: Option<f64>,
    /// Where the noise came from.
    pub random: String,
}

/// A promise, as release files state it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Promise {
    /// `pure` or `approximate`.
    pub notion: String,
    /// The loss.
    pub epsilon: f64,
    /// The exception.
    pub delta: f64,
}

/// The groups that were released.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupsRecord {
    /// The names of the keys.
    pub columns: Vec<String>,
    /// The keys of each group.
    pub rows: Vec<Vec<Cell>>,
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
    pub releases: BTreeMap<String, NoisyColumn>,
}

/// What a statistic is, in words.
pub(crate) fn statistic_in_words(prepared: &Prepared, place: usize) -> String {
    let of_outputs = |wanted: &dyn Fn(&Formula) -> bool| {
        let names: Vec<&str> = prepared
            .aggregation
            .outputs
            .iter()
            .filter(|output| wanted(&output.formula))
            .map(|output| output.title.as_str())
            .collect();
        names.join(", ")
    };
    let uses = |formula: &Formula| match *formula {
        Formula::Count(count) => count == place,
        Formula::Sum { sum, count } => sum == place || count == Some(place),
        Formula::Average { sum, count } => sum == place || count == place,
        Formula::Spread { sum, squares, count, .. } => [sum, squares, count].contains(&place),
        Formula::Quantile { quantiles, .. } => quantiles == place,
    };
    let what = match &prepared.aggregation.measures[place].statistic {
        Statistic::Count { .. } => "count",
        Statistic::Units => "count of units",
        Statistic::Sum { grid, .. } if grid.centre == 0.0 => "sum",
        Statistic::Sum { .. } => "sum around the middle",
        Statistic::Quantiles { .. } => "quantiles",
    };
    format!("{what} for {}", of_outputs(&uses))
}

/// How each statistic is released: public, known before anything is read.
pub(crate) fn statistics(prepared: &Prepared) -> Vec<StatisticRecord> {
    let plan = &prepared.plan;
    let measures = &prepared.aggregation.measures;
    (0..measures.len())
        .map(|place| StatisticRecord {
            statistic: statistic_in_words(prepared, place),
            mechanism: plan.mechanism(place).unwrap_or("constant").to_owned(),
            per_group: plan.influence(place).map_or(0.0, |influence| {
                let step = match measures[place].statistic {
                    Statistic::Sum { grid, .. } => grid.step,
                    _ => 1.0,
                };
                influence.per_group as f64 * step
            }),
            scale: plan.scale(place),
            half_width: plan.half_width(place),
            rank_errors: plan.rank_errors(place),
        })
        .collect()
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
                .map(|row| if column.is_null(row) { Cell::Null } else { Cell::from(shown.value(row).to_string()) })
                .collect()
        };
        for (row, cell) in rows.iter_mut().zip(plain) {
            row.push(cell);
        }
    }
    Some(rows)
}

/// The noisy numbers of counts and direct sums, under the names of their columns.
pub(crate) fn releases(prepared: &Prepared, answer: &Answer) -> BTreeMap<String, NoisyColumn> {
    let guarantee = prepared.plan.guarantee();
    let notion = if guarantee.delta > 0.0 { "approximate" } else { "pure" };
    let mut found = BTreeMap::new();
    for output in &prepared.aggregation.outputs {
        let place = match output.formula {
            Formula::Count(place) | Formula::Sum { sum: place, count: None } => place,
            _ => continue,
        };
        let (Some(Noisy::Numbers { steps, step }), Some(event)) =
            (answer.released.get(place), prepared.plan.event(place))
        else {
            continue;
        };
        // The event is stated in steps: for numbers that are not whole, the two would not be in the same unit.
        if *step != 1.0 {
            continue;
        }
        let release = Provenance {
            mechanism: prepared.plan.mechanism(place).unwrap_or("constant").to_owned(),
            event,
            guarantee: Promise { notion: notion.to_owned(), epsilon: guarantee.epsilon, delta: guarantee.delta },
            spacing: Some(*step),
            random: "secure".to_owned(),
        };
        let values = steps.iter().map(|&steps| steps as f64 * step).collect();
        found.insert(output.title.clone(), NoisyColumn { release, values });
    }
    found
}
