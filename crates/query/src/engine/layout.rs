//! Which column is what, and what is to be totalled.

use super::steps::Steps;
use crate::QueryError;
use datafusion::arrow::datatypes::Schema;
use reticent_release::{Contribution, Statistic};

/// What the columns of the rows mean, and which totals are wanted. Columns are given by their position.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// The column that names the privacy unit; without one, each row is a unit.
    pub unit: Option<usize>,
    /// The columns of the group key; none for one group of all rows.
    pub keys: Vec<usize>,
    /// The statistics of each group, in the order of the totals.
    pub measures: Vec<Measure>,
    /// The most groups in which one unit counts. Of no effect if each row is a unit: a row is in one group.
    pub max_groups: u32,
}

/// A statistic, and the column that it is about.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// The statistic.
    pub statistic: Statistic,
    /// The column of its values. A count without one counts rows.
    pub value: Option<usize>,
}

/// What is added up while rows are read, each thing once even if several measures need it.
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

/// How a measure comes from the tracks, by their positions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Output {
    Rows { max_rows: u32 },
    Count { count: usize, max_rows: u32 },
    Units,
    UnitsWith { count: usize },
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
    pub(super) fn new(layout: &Layout, schema: &Schema) -> Result<Self, QueryError> {
        positive("max_groups", layout.max_groups)?;
        for &column in layout.unit.iter().chain(&layout.keys) {
            exists(column, schema)?;
        }
        let each_row = layout.unit.is_none();
        let mut tracks = Self::default();
        for measure in &layout.measures {
            let output = tracks.output(measure, each_row, schema)?;
            tracks.outputs.push(output);
        }
        Ok(tracks)
    }

    fn output(&mut self, measure: &Measure, each_row: bool, schema: &Schema) -> Result<Output, QueryError> {
        Ok(match (&measure.statistic, measure.value) {
            (&Statistic::Count { max_rows }, value) => {
                positive("max_rows", max_rows)?;
                match value {
                    None => Output::Rows { max_rows },
                    Some(column) => Output::Count { count: self.count(column, schema)?, max_rows },
                }
            }
            (Statistic::Units, None) => Output::Units,
            (Statistic::Units, Some(column)) => Output::UnitsWith { count: self.count(column, schema)? },
            (&Statistic::Sum { grid, contribution }, Some(column)) => {
                exists(column, schema)?;
                let steps = Steps::new(grid, schema.field(column).name(), schema.field(column).data_type())?;
                let (bound, row_limits) = match contribution {
                    Contribution::Rows(max_rows) => {
                        positive("max_rows", max_rows)?;
                        let bound = match each_row {
                            true => Bound::EachRow,
                            false => Bound::Rows { count: self.count(column, schema)?, max_rows },
                        };
                        (bound, None)
                    }
                    Contribution::Total { lower, upper } if lower <= 0 && upper >= 0 => match each_row {
                        true => (Bound::EachRow, Some((lower, upper))),
                        false => (Bound::Total { lower, upper }, None),
                    },
                    Contribution::Total { lower, upper } => {
                        return Err(QueryError::Parameter {
                            parameter: "the range of a unit's total",
                            value: format!("{lower} to {upper} steps"),
                            accepted: "it must hold 0, the total of a unit without rows",
                        });
                    }
                };
                let sum = position(&mut self.sums, SumTrack { column, steps, row_limits });
                Output::Sum { sum, bound }
            }
            (&Statistic::Quantiles { grid, max_rows, .. }, Some(column)) => {
                positive("max_rows", max_rows)?;
                exists(column, schema)?;
                let steps = Steps::new(grid, schema.field(column).name(), schema.field(column).data_type())?;
                Output::Values { sample: position(&mut self.samples, SampleTrack { column, steps, max_rows }) }
            }
            (Statistic::Sum { .. } | Statistic::Quantiles { .. }, None) => {
                return Err(QueryError::Parameter {
                    parameter: "the column of a sum or of quantiles",
                    value: "missing".to_owned(),
                    accepted: "a column of numbers is needed",
                });
            }
        })
    }

    fn count(&mut self, column: usize, schema: &Schema) -> Result<usize, QueryError> {
        exists(column, schema)?;
        Ok(position(&mut self.counts, column))
    }
}

/// Where the item is in the list, which it joins if it is new.
fn position<T: PartialEq>(list: &mut Vec<T>, item: T) -> usize {
    list.iter().position(|known| *known == item).unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    })
}

fn positive(parameter: &'static str, value: u32) -> Result<(), QueryError> {
    if value > 0 {
        return Ok(());
    }
    Err(QueryError::Parameter { parameter, value: value.to_string(), accepted: "at least 1 is needed" })
}

fn exists(column: usize, schema: &Schema) -> Result<(), QueryError> {
    if column < schema.fields().len() {
        return Ok(());
    }
    Err(QueryError::Parameter {
        parameter: "a column's position",
        value: column.to_string(),
        accepted: "a position below the number of columns is needed",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::datatypes::{DataType, Field};
    use reticent_release::Grid;

    const GRID: Grid = Grid { centre: 0.0, step: 1.0, lower: 0, upper: 10 };

    fn schema() -> Schema {
        let field = |name, data_type| Field::new(name, data_type, true);
        Schema::new(vec![field("unit", DataType::Int64), field("x", DataType::Float64), field("s", DataType::Utf8)])
    }

    fn tracks(unit: Option<usize>, measures: &[(Statistic, Option<usize>)]) -> Result<Tracks, QueryError> {
        let measures =
            measures.iter().map(|(statistic, value)| Measure { statistic: statistic.clone(), value: *value });
        Tracks::new(&Layout { unit, keys: vec![2], measures: measures.collect(), max_groups: 1 }, &schema())
    }

    fn sum(contribution: Contribution) -> Statistic {
        Statistic::Sum { grid: GRID, contribution }
    }

    #[test]
    fn what_several_measures_need_is_added_up_once() {
        let rows = Contribution::Rows(2);
        let tracks =
            tracks(Some(0), &[(sum(rows), Some(1)), (Statistic::Count { max_rows: 2 }, Some(1)), (sum(rows), Some(1))]);
        let tracks = tracks.expect("a valid layout");
        assert_eq!((tracks.counts.len(), tracks.sums.len(), tracks.outputs.len()), (1, 1, 3));
    }

    #[test]
    fn a_total_limits_each_row_only_if_each_row_is_a_unit() {
        let total = Contribution::Total { lower: -3, upper: 4 };
        let limits = |unit| tracks(unit, &[(sum(total), Some(1))]).expect("a valid layout").sums[0].row_limits;
        assert_eq!((limits(None), limits(Some(0))), (Some((-3, 4)), None));
    }

    #[test]
    fn bad_layouts_are_refused() {
        let quantiles = |max_rows| Statistic::Quantiles { grid: GRID, max_rows, points: vec![0.5] };
        for (statistic, value) in [
            (Statistic::Count { max_rows: 0 }, None),
            (Statistic::Count { max_rows: 1 }, Some(3)),
            (Statistic::Units, Some(9)),
            (sum(Contribution::Rows(0)), Some(1)),
            (sum(Contribution::Rows(1)), None),
            (sum(Contribution::Rows(1)), Some(2)),
            (sum(Contribution::Total { lower: 1, upper: 2 }), Some(1)),
            (sum(Contribution::Total { lower: -2, upper: -1 }), Some(1)),
            (quantiles(0), Some(1)),
            (quantiles(1), Some(2)),
            (quantiles(1), Some(7)),
            (quantiles(1), None),
        ] {
            assert!(tracks(Some(0), &[(statistic.clone(), value)]).is_err(), "{statistic:?} of {value:?}");
        }
        let layout = Layout { unit: Some(0), keys: vec![], measures: vec![], max_groups: 0 };
        let refused = Tracks::new(&layout, &schema()).expect_err("no group at all");
        assert_eq!(refused.to_string(), "max_groups is 0: at least 1 is needed");
        for (unit, keys) in [(Some(3), vec![]), (None, vec![0, 3])] {
            assert!(Tracks::new(&Layout { unit, keys, measures: vec![], max_groups: 1 }, &schema()).is_err());
        }
    }
}
