//! Which statistics of which values the aggregates of a query need, and how its columns follow from
//! them.

use super::facts::Facts;
use super::range::Range;
use super::rows::{Rows, plain_column, planner, refused};
use crate::error::QueryError;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::{Expr, ExprSchemable, cast, when};
use datafusion::prelude::lit;
use reticent_engine::{Total, constant, written};
use reticent_release::{Contribution, Grid, Statistic};

/// How a column of the answer follows from the statistics, by their indices.
#[derive(Clone, Debug, PartialEq)]
pub enum Formula {
    /// A count of rows or units.
    Count(usize),
    /// A sum; if it is around a centre that is not zero, then also how many values it is of.
    Sum {
        /// The sum around the centre.
        sum: usize,
        /// How many values.
        count: Option<usize>,
    },
    /// A mean.
    Average {
        /// The sum around the centre.
        sum: usize,
        /// How many values.
        count: usize,
    },
    /// A variance, or its root.
    Variance {
        /// The sum around the centre.
        sum: usize,
        /// The sum of the squares of the distances from the centre.
        squares: usize,
        /// How many values.
        count: usize,
        /// Whether it is divided by one less than the count.
        sample: bool,
        /// Whether its root is asked for.
        root: bool,
    },
    /// A quantile: the index of the statistic, and which of its points.
    Quantile {
        /// The statistic.
        quantiles: usize,
        /// Which of its points.
        point: usize,
    },
}

impl Formula {
    /// Whether the column needs the statistic with this index.
    pub fn uses(&self, index: usize) -> bool {
        match *self {
            Formula::Count(count) => count == index,
            Formula::Sum { sum, count } => sum == index || count == Some(index),
            Formula::Average { sum, count } => sum == index || count == index,
            Formula::Variance { sum, squares, count, .. } => [sum, squares, count].contains(&index),
            Formula::Quantile { quantiles, .. } => quantiles == index,
        }
    }
}

/// Collects values and statistics, each once.
pub(super) struct Collector<'a> {
    rows: &'a Rows,
    total: Total<'a>,
    max_rows: u32,
    /// The index of the first value among the columns of the rows.
    first: usize,
    pub(super) values: Vec<Expr>,
    pub(super) statistics: Vec<Statistic>,
}

impl<'a> Collector<'a> {
    pub(super) fn new(rows: &'a Rows, total: Total<'a>, max_rows: u32, first: usize) -> Self {
        Collector { rows, total, max_rows, first, values: Vec::new(), statistics: Vec::new() }
    }

    /// The column of an expression, which is made total.
    fn column(&mut self, expression: &Expr) -> Result<usize, QueryError> {
        let expression = self.total.expression(expression)?;
        Ok(self.first + position(&mut self.values, expression))
    }

    /// The index of a statistic.
    fn add(&mut self, statistic: Statistic) -> usize {
        position(&mut self.statistics, statistic)
    }

    fn type_of(&self, expression: &Expr) -> Result<DataType, QueryError> {
        expression.get_type(self.rows.plan.schema()).map_err(planner)
    }

    /// The expression as the aggregate sees it: NULL where its FILTER does not hold.
    fn filtered(&self, expression: &Expr, filter: Option<&Expr>) -> Result<Expr, QueryError> {
        let value = expression.clone();
        match filter {
            None => Ok(value),
            Some(condition) => when(condition.clone(), value).end().map_err(planner),
        }
    }

    /// The numeric argument of an aggregate without the cast that the planner put around it, with
    /// its public facts.
    fn number(&self, name: &str, argument: &Expr) -> Result<(Expr, Facts, bool), QueryError> {
        let bare = match argument {
            Expr::Cast(cast) if keeps_value(&self.type_of(&cast.expr)?, cast.field.data_type()) => {
                cast.expr.as_ref()
            }
            other => other,
        };
        let of = self.type_of(bare)?;
        if !of.is_numeric() {
            return refused(format!("{name} of {of} is not offered: it is over numbers"));
        }
        let facts = self.rows.facts_of(bare);
        if !facts.range.is_finite() {
            let bare = written(bare);
            return refused(format!(
                "{name}({bare}) needs public bounds: declare `bounds` for its columns in the \
                 policy, or clamp it in the \
                 query, as in {name}(GREATEST(LEAST({bare}, 100), 0))"
            ));
        }
        Ok((bare.clone(), facts, of.is_integer()))
    }

    /// The value in the type that the engine sums: integers or floats of 64 bits.
    fn summable(&self, expression: Expr, integer: bool) -> Result<Expr, QueryError> {
        let wanted = if integer { DataType::Int64 } else { DataType::Float64 };
        Ok(if self.type_of(&expression)? == wanted { expression } else { cast(expression, wanted) })
    }

    /// How many values a column has. If it is one that is never NULL, these are all rows, and
    /// `COUNT(*)` is the same statistic.
    fn counted(&self, column: usize) -> Statistic {
        let all = plain_column(&self.values[column - self.first])
            .is_some_and(|column| !self.rows.fact(column).nullable);
        Statistic::Count { column: (!all).then_some(column), max_rows: self.max_rows }
    }

    fn count_of(&mut self, column: usize) -> usize {
        self.add(self.counted(column))
    }

    /// How the column of an aggregate follows from statistics, which are collected.
    pub(super) fn formula(&mut self, call: &AggregateFunction) -> Result<Formula, QueryError> {
        let name = call.func.name();
        let params = &call.params;
        let filter = params.filter.as_deref();
        let shown = name.to_uppercase();
        if params.distinct && name != "count" {
            return refused(format!(
                "{shown}(DISTINCT ...) is not offered; COUNT(DISTINCT unit) is"
            ));
        }
        match (name, params.args.as_slice()) {
            ("count", [argument]) if params.distinct => {
                if !self.rows.is_unit(argument) || filter.is_some() {
                    return refused(
                        "COUNT(DISTINCT ...) is offered for the privacy unit only, and without \
                         FILTER: how many values \
                         occur depends on single rows. Group by the column instead",
                    );
                }
                Ok(Formula::Count(self.add(Statistic::Units)))
            }
            ("count", [argument]) => {
                let rows = constant(argument).is_some_and(|value| !value.is_null());
                if rows && filter.is_none() {
                    let all = Statistic::Count { column: None, max_rows: self.max_rows };
                    return Ok(Formula::Count(self.add(all)));
                }
                let value = if !rows && self.type_of(argument)?.is_numeric() {
                    let integer = self.type_of(argument)?.is_integer();
                    let bare = self.filtered(argument, filter)?;
                    self.summable(bare, integer)?
                } else {
                    let present = argument.clone().is_not_null();
                    let condition = match filter {
                        None => present,
                        Some(filter) => present.and(filter.clone()),
                    };
                    when(condition, lit(1_i64)).end().map_err(planner)?
                };
                let column = self.column(&value)?;
                Ok(Formula::Count(self.count_of(column)))
            }
            ("sum", [argument]) => {
                let (bare, facts, integer) = self.number("SUM", argument)?;
                let filtered = self.filtered(&bare, filter)?;
                let expression = self.summable(filtered, integer)?;
                let column = self.column(&expression)?;
                let (lower, upper) = (facts.range.lower, facts.range.upper);
                if let Some(unit) = facts.unit_range {
                    let grid = Grid::for_values(lower, upper, integer)?;
                    let contribution = unit_total(&grid, unit);
                    let sum = self.add(Statistic::Sum { column, grid, contribution });
                    return Ok(Formula::Sum { sum, count: None });
                }
                let contribution = Contribution::Rows(self.max_rows);
                let around = Grid::around_midpoint(lower, upper, integer)?;
                let centred = Statistic::Sum { column, grid: around, contribution };
                // A mean of the same values needs the sum around the middle and the count. The sum
                // follows from these: one statistic less to pay for.
                // Where the values are counted anyway, the sum around the middle has less noise.
                let less = less_noise_around(around.centre, lower, upper);
                if self.statistics.contains(&centred)
                    || less && self.statistics.contains(&self.counted(column))
                {
                    let sum = self.add(centred);
                    return Ok(Formula::Sum { sum, count: Some(self.count_of(column)) });
                }
                let grid = Grid::for_values(lower, upper, integer)?;
                let sum = self.add(Statistic::Sum { column, grid, contribution });
                Ok(Formula::Sum { sum, count: None })
            }
            ("avg", [argument]) => {
                let (bare, facts, integer) = self.number("AVG", argument)?;
                let (sum, count) = self.centred(&bare, &facts, integer, filter)?;
                Ok(Formula::Average { sum, count })
            }
            ("var" | "var_pop" | "stddev" | "stddev_pop", [argument]) => {
                let (bare, facts, integer) = self.number(&shown, argument)?;
                let (sum, count) = self.centred(&bare, &facts, integer, filter)?;
                let around = Grid::around_midpoint(facts.range.lower, facts.range.upper, integer)?;
                let distance =
                    self.summable(self.filtered(&bare, filter)?, false)? - lit(around.centre);
                let column = self.column(&(distance.clone() * distance))?;
                let contribution = Contribution::Rows(self.max_rows);
                let grid = around.of_squares()?;
                let squares = self.add(Statistic::Sum { column, grid, contribution });
                let sample = !name.ends_with("_pop");
                Ok(Formula::Variance {
                    sum,
                    squares,
                    count,
                    sample,
                    root: name.starts_with("stddev"),
                })
            }
            ("median", [argument]) => self.quantile(argument, filter, 0.5),
            ("percentile_cont", [argument, point]) => {
                let point =
                    constant(point).and_then(|value| match value.cast_to(&DataType::Float64) {
                        Ok(ScalarValue::Float64(number)) => number,
                        _ => None,
                    });
                let Some(point) = point.filter(|point| (0.0..=1.0).contains(point)) else {
                    return refused("PERCENTILE_CONT takes a literal from 0 to 1");
                };
                let descending = params.order_by.first().is_some_and(|order| !order.asc);
                self.quantile(argument, filter, if descending { 1.0 - point } else { point })
            }
            ("min" | "max" | "first_value" | "last_value" | "nth_value", _) => refused(format!(
                "{shown} shows one person's value and is not offered over people; use \
                 PERCENTILE_CONT(0.05) or (0.95), or \
                 {shown} within a sub-query that groups by the privacy unit"
            )),
            _ => refused(format!(
                "the aggregate {shown} is not offered: COUNT, SUM, AVG, VAR, VAR_POP, STDDEV, \
                 STDDEV_POP, MEDIAN and \
                 PERCENTILE_CONT are"
            )),
        }
    }

    /// The sum around the middle of the range, and the count of the values: what a mean needs.
    fn centred(
        &mut self,
        bare: &Expr,
        facts: &Facts,
        integer: bool,
        filter: Option<&Expr>,
    ) -> Result<(usize, usize), QueryError> {
        let expression = self.summable(self.filtered(bare, filter)?, integer)?;
        let column = self.column(&expression)?;
        let grid = Grid::around_midpoint(facts.range.lower, facts.range.upper, integer)?;
        let contribution = Contribution::Rows(self.max_rows);
        let sum = self.add(Statistic::Sum { column, grid, contribution });
        Ok((sum, self.count_of(column)))
    }

    fn quantile(
        &mut self,
        argument: &Expr,
        filter: Option<&Expr>,
        point: f64,
    ) -> Result<Formula, QueryError> {
        let (bare, facts, integer) = self.number("a quantile", argument)?;
        let expression = self.summable(self.filtered(&bare, filter)?, integer)?;
        let column = self.column(&expression)?;
        let grid = Grid::around_midpoint(facts.range.lower, facts.range.upper, integer)?;
        // Quantiles of one value are released together.
        for (quantiles, known) in self.statistics.iter_mut().enumerate() {
            if let Statistic::Quantiles { column: same, points, .. } = known
                && *same == column
            {
                return Ok(Formula::Quantile { quantiles, point: position(points, point) });
            }
        }
        let (max_rows, points) = (self.max_rows, vec![point]);
        let quantiles = self.add(Statistic::Quantiles { column, grid, max_rows, points });
        Ok(Formula::Quantile { quantiles, point: 0 })
    }
}

/// Where an item is in a list, which it joins if it is new.
fn position<T: PartialEq>(list: &mut Vec<T>, item: T) -> usize {
    list.iter().position(|known| *known == item).unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    })
}

/// Whether a sum that follows from one around a centre `c` and a count has less noise than a sum
/// around zero with the same share of the budget.
///
/// One row moves the sum around `c` by at most `h`, the distance of the farther bound, and the
/// count by 1. So the mean square error of their sum `S + c N` is in proportion to `h^2 + c^2`;
/// that of a sum around zero to the square of the bound that is farther from it, `(h + |c|)^2` for
/// a true middle. Middles of integers are rounded, so that it is not always less.
fn less_noise_around(centre: f64, lower: f64, upper: f64) -> bool {
    let farthest = (upper - centre).max(centre - lower);
    farthest * farthest + centre * centre < lower.abs().max(upper.abs()).powi(2)
}

/// The limits of one unit's sum in steps of a grid around zero: they hold zero, which is the sum of
/// a unit without values.
fn unit_total(grid: &Grid, unit: Range) -> Contribution {
    // A cast of a float that is too large stops at the greatest integer, which is refused as a
    // sensitivity.
    let steps = |limit: f64| (limit / grid.step).round() as i64;
    Contribution::Total { lower: steps(unit.lower).min(0), upper: steps(unit.upper).max(0) }
}

/// Whether a cast between types of numbers changes no value, as those that the planner puts around
/// arguments. One that a query asks for, such as of reals to integers, does.
fn keeps_value(from: &DataType, to: &DataType) -> bool {
    (from.is_numeric() && *to == DataType::Float64) || (from.is_integer() && *to == DataType::Int64)
}
