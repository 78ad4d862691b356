//! Which column is what, and what is to be totalled.

use super::steps::Steps;
use crate::EngineError;
use datafusion::arrow::datatypes::Schema;
use reticent_numerics::{OutOfRange, require};
use reticent_release::{Contribution, Grid, Statistic};

/// What the columns of the rows mean, and which totals are wanted. Columns are given by their
/// position.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// The column that names the privacy unit; without one, each row is a unit.
    pub unit: Option<usize>,
    /// The columns of the group key; none for one group of all rows.
    pub keys: Vec<usize>,
    /// The statistics of each group, in the order of the totals.
    pub statistics: Vec<Statistic>,
    /// The most groups in which one unit counts. Of no effect if each row is a unit: a row is in
    /// one group.
    pub max_groups: u32,
}

/// What is added up while rows are read, each thing once even if several statistics need it.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct Tracks {
    /// Columns of which the values that are there are counted.
    pub(super) counts: Vec<usize>,
    pub(super) sums: Vec<SumTrack>,
    pub(super) samples: Vec<SampleTrack>,
    pub(super) outputs: Vec<Output>,
}

/// A column that is summed in steps of a grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SumTrack {
    pub(super) column: usize,
    pub(super) steps: Steps,
    /// What a row may count, where each row is a unit with a total of its own.
    pub(super) row_limits: Option<(i64, i64)>,
}

/// A column of which values are collected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SampleTrack {
    pub(super) column: usize,
    pub(super) steps: Steps,
    pub(super) max_rows: u32,
}

/// How a statistic comes from the tracks, by their positions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Output {
    Rows { max_rows: u32 },
    Count { count: usize, max_rows: u32 },
    Units,
    Sum { sum: usize, bound: Bound },
    Values { sample: usize },
}

/// How much one unit may add to a sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Bound {
    /// A row is a unit, and its value within limits already.
    EachRow,
    /// The weight of so many of its values, which are counted.
    Rows { count: usize, max_rows: u32 },
    /// So much altogether.
    Total { lower: i64, upper: i64 },
}

impl Tracks {
    /// # Errors
    /// If a column does not exist or has the wrong type, a grid is none, or a limit is zero.
    pub(super) fn new(layout: &Layout, schema: &Schema) -> Result<Self, EngineError> {
        positive("max_groups", layout.max_groups)?;
        for &column in layout.unit.iter().chain(&layout.keys) {
            exists(column, schema)?;
        }
        let each_row = layout.unit.is_none();
        let mut tracks = Self::default();
        for statistic in &layout.statistics {
            let output = tracks.output(statistic, each_row, schema)?;
            tracks.outputs.push(output);
        }
        Ok(tracks)
    }

    fn output(
        &mut self,
        statistic: &Statistic,
        each_row: bool,
        schema: &Schema,
    ) -> Result<Output, EngineError> {
        Ok(match *statistic {
            Statistic::Count { column, max_rows } => {
                positive("max_rows", max_rows)?;
                match column {
                    None => Output::Rows { max_rows },
                    Some(column) => Output::Count { count: self.count(column, schema)?, max_rows },
                }
            }
            Statistic::Units => Output::Units,
            Statistic::Sum { column, grid, contribution } => {
                let steps = steps(column, grid, schema)?;
                let (bound, row_limits) = match contribution {
                    Contribution::Rows(max_rows) => {
                        positive("max_rows", max_rows)?;
                        let bound = match each_row {
                            true => Bound::EachRow,
                            false => Bound::Rows { count: self.count(column, schema)?, max_rows },
                        };
                        (bound, None)
                    }
                    Contribution::Total { lower, upper } if lower <= 0 && upper >= 0 => {
                        match each_row {
                            true => (Bound::EachRow, Some((lower, upper))),
                            false => (Bound::Total { lower, upper }, None),
                        }
                    }
                    Contribution::Total { lower, upper } => {
                        return Err(OutOfRange {
                            name: "range of a unit's total",
                            value: format!("{lower} to {upper} steps"),
                            accepted: "one that holds 0, the total of a unit without rows",
                        }
                        .into());
                    }
                };
                let sum = position(&mut self.sums, SumTrack { column, steps, row_limits });
                Output::Sum { sum, bound }
            }
            Statistic::Quantiles { column, grid, max_rows, .. } => {
                positive("max_rows", max_rows)?;
                let steps = steps(column, grid, schema)?;
                Output::Values {
                    sample: position(&mut self.samples, SampleTrack { column, steps, max_rows }),
                }
            }
        })
    }

    fn count(&mut self, column: usize, schema: &Schema) -> Result<usize, EngineError> {
        exists(column, schema)?;
        Ok(position(&mut self.counts, column))
    }
}

/// How the values of a column become steps of a grid.
fn steps(column: usize, grid: Grid, schema: &Schema) -> Result<Steps, EngineError> {
    exists(column, schema)?;
    Steps::new(grid, schema.field(column).name(), schema.field(column).data_type())
}

/// Where the item is in the list, which it joins if it is new.
fn position<T: PartialEq>(list: &mut Vec<T>, item: T) -> usize {
    list.iter().position(|known| *known == item).unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    })
}

fn positive(name: &'static str, value: u32) -> Result<f64, OutOfRange> {
    require(value > 0, name, f64::from(value), "at least 1")
}

fn exists(column: usize, schema: &Schema) -> Result<f64, OutOfRange> {
    let exists = column < schema.fields().len();
    require(exists, "index of a column", column as f64, "below the number of columns")
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::datatypes::{DataType, Field};

    const GRID: Grid = Grid { centre: 0.0, step: 1.0, lower: 0, upper: 10 };

    fn schema() -> Schema {
        let field = |name, data_type| Field::new(name, data_type, true);
        Schema::new(vec![
            field("unit", DataType::Int64),
            field("x", DataType::Float64),
            field("s", DataType::Utf8),
        ])
    }

    fn tracks(unit: Option<usize>, statistics: Vec<Statistic>) -> Result<Tracks, EngineError> {
        Tracks::new(&Layout { unit, keys: vec![2], statistics, max_groups: 1 }, &schema())
    }

    fn sum(column: usize, contribution: Contribution) -> Statistic {
        Statistic::Sum { column, grid: GRID, contribution }
    }

    #[test]
    fn what_several_statistics_need_is_added_up_once() {
        let rows = Contribution::Rows(2);
        let count = Statistic::Count { column: Some(1), max_rows: 2 };
        let tracks = tracks(Some(0), vec![sum(1, rows), count, sum(1, rows)]);
        let tracks = tracks.expect("a valid layout");
        assert_eq!((tracks.counts.len(), tracks.sums.len(), tracks.outputs.len()), (1, 1, 3));
    }

    #[test]
    fn a_total_limits_each_row_only_if_each_row_is_a_unit() {
        let total = Contribution::Total { lower: -3, upper: 4 };
        let limits =
            |unit| tracks(unit, vec![sum(1, total)]).expect("a valid layout").sums[0].row_limits;
        assert_eq!((limits(None), limits(Some(0))), (Some((-3, 4)), None));
    }

    #[test]
    fn bad_layouts_are_refused() {
        let quantiles = |column, max_rows| Statistic::Quantiles {
            column,
            grid: GRID,
            max_rows,
            points: vec![0.5],
        };
        for statistic in [
            Statistic::Count { column: None, max_rows: 0 },
            Statistic::Count { column: Some(3), max_rows: 1 },
            sum(1, Contribution::Rows(0)),
            sum(2, Contribution::Rows(1)),
            sum(9, Contribution::Rows(1)),
            sum(1, Contribution::Total { lower: 1, upper: 2 }),
            sum(1, Contribution::Total { lower: -2, upper: -1 }),
            quantiles(1, 0),
            quantiles(2, 1),
            quantiles(7, 1),
        ] {
            assert!(tracks(Some(0), vec![statistic.clone()]).is_err(), "{statistic:?}");
        }
        let layout = Layout { unit: Some(0), keys: vec![], statistics: vec![], max_groups: 0 };
        let refused = Tracks::new(&layout, &schema()).expect_err("no group at all");
        assert_eq!(refused.to_string(), "`max_groups` is 0, but it must be at least 1");
        for (unit, keys) in [(Some(3), vec![]), (None, vec![0, 3])] {
            assert!(
                Tracks::new(&Layout { unit, keys, statistics: vec![], max_groups: 1 }, &schema())
                    .is_err()
            );
        }
    }
}
