//! The one private aggregate of a query: which statistics of each group it needs, over which rows, and how its columns follow from them.

use super::domain::Domains;
use super::facts::{Domain, Facts};
use super::range::Range;
use super::rows::{Rows, Unit, plain_column, planner, refused};
use super::total::{Total, constant};
use crate::engine::Measure;
use crate::error::QueryError;
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::{Column, ScalarValue, TableReference};
use datafusion::execution::SessionState;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::{Aggregate, Expr, ExprSchemable, LogicalPlan, Projection, try_cast, when};
use datafusion::prelude::lit;
use reticent_release::{Contribution, Grid, Statistic};
use std::sync::Arc;

/// The most groups of an answer whose groups are public.
const MOST_GROUPS: usize = 1_000_000;

/// How a column of the answer follows from the statistics, by their places.
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
    Spread {
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
    /// A quantile: the place of the statistic, and which of its points.
    Quantile {
        /// The statistic.
        quantiles: usize,
        /// Which of its points.
        point: usize,
    },
}

/// A column that the aggregate makes.
#[derive(Clone, Debug)]
pub struct Output {
    /// What it is called in the answer.
    pub title: String,
    /// Its name, as the rest of the query refers to it.
    pub(crate) name: String,
    pub(crate) relation: Option<TableReference>,
    /// Its type.
    pub data_type: DataType,
    /// How it follows from the statistics.
    pub formula: Formula,
}

/// A key of the groups.
#[derive(Clone, Debug)]
pub struct Key {
    /// Its name, as the rest of the query refers to it.
    pub name: String,
    pub(crate) relation: Option<TableReference>,
    /// Its type.
    pub data_type: DataType,
    /// The type in which the engine tells groups apart.
    pub(crate) engine_type: DataType,
    /// Its public values, if they are known.
    pub values: Option<Vec<ScalarValue>>,
}

/// The private aggregate.
#[derive(Clone, Debug)]
pub struct Aggregation {
    /// One row per contribution: the unit (if there is a column of it), the keys, the values.
    pub rows: LogicalPlan,
    /// Whether the first column is the unit; otherwise each row is one.
    pub has_unit: bool,
    /// The keys.
    pub keys: Vec<Key>,
    /// How many value columns there are.
    pub values: usize,
    /// The statistics.
    pub measures: Vec<Measure>,
    /// The columns that follow from them.
    pub outputs: Vec<Output>,
    /// The most groups in which one unit has a part.
    pub max_groups: u32,
    /// The most rows of one unit that count in one group.
    pub max_rows: u32,
}

impl Aggregation {
    /// How many groups there are if all keys are public.
    pub fn public_groups(&self) -> Option<u64> {
        self.keys.iter().try_fold(1_u64, |product, key| product.checked_mul(key.values.as_ref()?.len() as u64))
    }
}

/// Collects values and statistics, each once.
struct Collector<'a> {
    rows: &'a Rows,
    total: Total<'a>,
    max_rows: u32,
    values: Vec<Expr>,
    measures: Vec<Measure>,
}

impl Collector<'_> {
    fn value(&mut self, expression: Expr) -> usize {
        self.values.iter().position(|known| known == &expression).unwrap_or_else(|| {
            self.values.push(expression);
            self.values.len() - 1
        })
    }

    fn measure(&mut self, statistic: Statistic, value: Option<usize>) -> usize {
        let measure = Measure { statistic, value };
        self.measures.iter().position(|known| known == &measure).unwrap_or_else(|| {
            self.measures.push(measure);
            self.measures.len() - 1
        })
    }

    fn type_of(&self, expression: &Expr) -> Result<DataType, QueryError> {
        expression.get_type(self.rows.plan.schema()).map_err(planner)
    }

    /// The expression as the aggregate sees it: NULL where its FILTER does not hold.
    fn filtered(&self, expression: &Expr, filter: Option<&Expr>) -> Result<Expr, QueryError> {
        let value = self.total.expression(expression)?;
        match filter {
            None => Ok(value),
            Some(condition) => when(self.total.expression(condition)?, value).end().map_err(planner),
        }
    }

    /// The numeric argument of an aggregate without the cast that the planner put around it, with its public facts.
    fn number(&self, name: &str, argument: &Expr) -> Result<(Expr, Facts, bool), QueryError> {
        let bare = match argument {
            Expr::Cast(cast) if keeps_value(&self.type_of(&cast.expr)?, cast.field.data_type()) => cast.expr.as_ref(),
            other => other,
        };
        let of = self.type_of(bare)?;
        if !of.is_numeric() {
            return refused(format!("{name} of {of} is not offered: it is over numbers"));
        }
        let facts = self.rows.facts_of(bare);
        if !facts.range.is_finite() {
            return refused(format!(
                "{name}({bare}) needs public bounds: declare `bounds` for its columns in the policy, or clamp it in the \
                 query, as in {name}(GREATEST(LEAST({bare}, 100), 0))"
            ));
        }
        Ok((bare.clone(), facts, of.is_integer()))
    }

    /// The value in the type that the engine sums: integers or floats of 64 bits.
    fn summable(&self, expression: Expr, integer: bool) -> Result<Expr, QueryError> {
        let wanted = if integer { DataType::Int64 } else { DataType::Float64 };
        Ok(if self.type_of(&expression)? == wanted { expression } else { try_cast(expression, wanted) })
    }

    /// How many of a value there are. If it is a column that is never NULL, these are all rows, and `COUNT(*)` is the same statistic.
    fn count_of(&mut self, value: usize) -> usize {
        let Measure { statistic, value } = self.counted(value);
        self.measure(statistic, value)
    }

    fn counted(&self, value: usize) -> Measure {
        let all = plain_column(&self.values[value]).is_some_and(|column| !self.rows.fact(column).nullable);
        Measure { statistic: Statistic::Count { max_rows: self.max_rows }, value: (!all).then_some(value) }
    }

    fn formula(&mut self, call: &AggregateFunction) -> Result<Formula, QueryError> {
        let name = call.func.name();
        let params = &call.params;
        let filter = params.filter.as_deref();
        let shown = name.to_uppercase();
        if params.distinct && name != "count" {
            return refused(format!("{shown}(DISTINCT ...) is not offered; COUNT(DISTINCT unit) is"));
        }
        match (name, params.args.as_slice()) {
            ("count", [argument]) if params.distinct => {
                if !self.rows.is_unit(argument) || filter.is_some() {
                    return refused(
                        "COUNT(DISTINCT ...) is offered for the privacy unit only, and without FILTER: how many values \
                         occur depends on single rows. Group by the column instead",
                    );
                }
                Ok(Formula::Count(self.measure(Statistic::Units, None)))
            }
            ("count", [argument]) => {
                let rows = constant(argument).is_some_and(|value| !value.is_null());
                if rows && filter.is_none() {
                    return Ok(Formula::Count(self.measure(Statistic::Count { max_rows: self.max_rows }, None)));
                }
                let value = if !rows && self.type_of(argument)?.is_numeric() {
                    let integer = self.type_of(argument)?.is_integer();
                    let bare = self.filtered(argument, filter)?;
                    self.summable(bare, integer)?
                } else {
                    let present = self.total.expression(argument)?.is_not_null();
                    let condition = match filter {
                        None => present,
                        Some(filter) => present.and(self.total.expression(filter)?),
                    };
                    when(condition, lit(1_i64)).end().map_err(planner)?
                };
                let value = self.value(value);
                Ok(Formula::Count(self.count_of(value)))
            }
            ("sum", [argument]) => {
                let (bare, facts, integer) = self.number("SUM", argument)?;
                let filtered = self.filtered(&bare, filter)?;
                let expression = self.summable(filtered, integer)?;
                let value = self.value(expression);
                let (lower, upper) = (facts.range.lower, facts.range.upper);
                if let Some(unit) = facts.unit_range {
                    let grid = Grid::for_values(lower, upper, integer)?;
                    let contribution = unit_total(&grid, unit);
                    let sum = self.measure(Statistic::Sum { grid, contribution }, Some(value));
                    return Ok(Formula::Sum { sum, count: None });
                }
                let contribution = Contribution::Rows(self.max_rows);
                let around = Grid::around_midpoint(lower, upper, integer)?;
                let centred = Statistic::Sum { grid: around, contribution };
                // A mean of the same values needs the sum around the middle and the count. The sum follows from these: one statistic less to pay for.
                let mean = Measure { statistic: centred.clone(), value: Some(value) };
                // Where the values are counted anyway, the sum around the middle has less noise.
                let less = less_noise_around(around.centre, lower, upper);
                if self.measures.contains(&mean) || less && self.measures.contains(&self.counted(value)) {
                    let sum = self.measure(centred, Some(value));
                    return Ok(Formula::Sum { sum, count: Some(self.count_of(value)) });
                }
                let grid = Grid::for_values(lower, upper, integer)?;
                let sum = self.measure(Statistic::Sum { grid, contribution }, Some(value));
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
                let distance = self.summable(self.filtered(&bare, filter)?, false)? - lit(around.centre);
                let value = self.value(distance.clone() * distance);
                let contribution = Contribution::Rows(self.max_rows);
                let squares = self.measure(Statistic::Sum { grid: around.of_squares()?, contribution }, Some(value));
                let sample = !name.ends_with("_pop");
                Ok(Formula::Spread { sum, squares, count, sample, root: name.starts_with("stddev") })
            }
            ("median", [argument]) => self.quantile(argument, filter, 0.5),
            ("percentile_cont", [argument, point]) => {
                let point = constant(point).and_then(|value| match value.cast_to(&DataType::Float64) {
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
                "{shown} shows one person's value and is not offered over people; use PERCENTILE_CONT(0.05) or (0.95), or \
                 {shown} within a sub-query that groups by the privacy unit"
            )),
            _ => refused(format!(
                "the aggregate {shown} is not offered: COUNT, SUM, AVG, VAR, VAR_POP, STDDEV, STDDEV_POP, MEDIAN and \
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
        let value = self.value(expression);
        let grid = Grid::around_midpoint(facts.range.lower, facts.range.upper, integer)?;
        let contribution = Contribution::Rows(self.max_rows);
        let sum = self.measure(Statistic::Sum { grid, contribution }, Some(value));
        Ok((sum, self.count_of(value)))
    }

    fn quantile(&mut self, argument: &Expr, filter: Option<&Expr>, point: f64) -> Result<Formula, QueryError> {
        let (bare, facts, integer) = self.number("a quantile", argument)?;
        let expression = self.summable(self.filtered(&bare, filter)?, integer)?;
        let value = self.value(expression);
        let grid = Grid::around_midpoint(facts.range.lower, facts.range.upper, integer)?;
        // Quantiles of one value are released together.
        let mut known = self.measures.iter_mut().enumerate();
        let same = known.find_map(|(place, measure)| match &mut measure.statistic {
            Statistic::Quantiles { points, .. } if measure.value == Some(value) => Some((place, points)),
            _ => None,
        });
        if let Some((quantiles, points)) = same {
            let place = points.iter().position(|known| *known == point).unwrap_or_else(|| {
                points.push(point);
                points.len() - 1
            });
            return Ok(Formula::Quantile { quantiles, point: place });
        }
        let statistic = Statistic::Quantiles { grid, max_rows: self.max_rows, points: vec![point] };
        Ok(Formula::Quantile { quantiles: self.measure(statistic, Some(value)), point: 0 })
    }
}

/// Whether a sum that follows from one around a centre `c` and a count has less noise than a sum around zero with the same share of the budget.
///
/// One row moves the sum around `c` by at most `h`, the distance of the farther bound, and the count by 1. So the mean square error of their sum `S + c N` is in proportion to `h^2 + c^2`; that of a sum around zero to the square of the bound that is
/// farther from it, `(h + |c|)^2` for a true middle. Middles of integers are rounded, so that it is not always less.
fn less_noise_around(centre: f64, lower: f64, upper: f64) -> bool {
    let farthest = (upper - centre).max(centre - lower);
    farthest * farthest + centre * centre < lower.abs().max(upper.abs()).powi(2)
}

/// The limits of one unit's sum in steps of a grid around zero: they hold zero, which is the sum of a unit without values.
fn unit_total(grid: &Grid, unit: Range) -> Contribution {
    // A cast of a float that is too large stops at the greatest integer, which is refused as a sensitivity.
    let steps = |limit: f64| (limit / grid.step).round() as i64;
    Contribution::Total { lower: steps(unit.lower).min(0), upper: steps(unit.upper).max(0) }
}

/// Whether a cast between types of numbers changes no value, as those that the planner puts around arguments. One that a query asks for, such as of reals to integers, does.
fn keeps_value(from: &DataType, to: &DataType) -> bool {
    (from.is_numeric() && *to == DataType::Float64) || (from.is_integer() && *to == DataType::Int64)
}

/// The type in which the engine tells the values of a key apart: parts of dates are small integers, for example, and it has one kind of them.
fn key_type(of: &DataType) -> Option<DataType> {
    Some(match of {
        of if of.is_integer() => DataType::Int64,
        of if of.is_floating() => DataType::Float64,
        of if of.is_string() => DataType::Utf8View,
        DataType::Boolean | DataType::Date32 => of.clone(),
        DataType::Timestamp(_, None) => DataType::Timestamp(TimeUnit::Microsecond, None),
        _ => return None,
    })
}

/// The distinct values of a column of public tables, read from them.
async fn public_values(
    state: &SessionState,
    run: &(dyn Fn(LogicalPlan) -> Result<LogicalPlan, QueryError> + Sync),
    plan: &LogicalPlan,
    column: &Column,
) -> Result<Vec<ScalarValue>, QueryError> {
    let read = |_| QueryError::Refused("a public table could not be read".to_owned());
    let input = Arc::new(run(plan.clone())?);
    let projection = Projection::try_new(vec![Expr::Column(column.clone())], input).map_err(planner)?;
    let distinct = datafusion::logical_expr::Distinct::All(Arc::new(LogicalPlan::Projection(projection)));
    let physical = state.create_physical_plan(&LogicalPlan::Distinct(distinct)).await.map_err(read)?;
    let batches = datafusion::physical_plan::collect(physical, state.task_ctx()).await.map_err(read)?;
    let mut values = Vec::new();
    for batch in &batches {
        for row in 0..batch.num_rows() {
            values.push(ScalarValue::try_from_array(batch.column(0), row).map_err(planner)?);
        }
    }
    Ok(values)
}

/// Reads an aggregate over private rows. `run` replaces the tables of a plan by those that can be read.
pub(crate) async fn aggregation(
    aggregate: &Aggregate,
    rows: &Rows,
    state: &SessionState,
    run: &(dyn Fn(LogicalPlan) -> Result<LogicalPlan, QueryError> + Sync),
    limits: super::rows::Limits,
) -> Result<Aggregation, QueryError> {
    // Values of public columns that keys are made of.
    let mut facts = rows.facts.clone();
    for key in &aggregate.group_expr {
        for column in key.column_refs() {
            if let Some(place) = rows.place(column)
                && let Domain::Public { plan, column: source, lost } = facts[place].domain.clone()
            {
                let values = public_values(state, run, &plan, &source).await?;
                facts[place].domain = Domain::Values(Arc::new(values));
                // The values that were read have their NULL among them.
                facts[place].nullable = lost;
            }
        }
    }
    let rows = &Rows { facts, ..rows.clone() };
    let schema = rows.plan.schema().clone();
    let no_subquery =
        |_: &LogicalPlan| refused("a sub-query inside an aggregate or a group key is not offered; write a join");
    let fact = |column: &Column| rows.fact(column);
    let domains = Domains { state, schema: &schema, facts: &fact };
    let mut expressions = Vec::new();
    let mut keys = Vec::new();
    let total = Total::new(&schema, &no_subquery);
    for (place, key) in aggregate.group_expr.iter().enumerate() {
        if matches!(key, Expr::GroupingSet(_)) {
            return refused("GROUPING SETS, ROLLUP and CUBE are not offered; ask one GROUP BY at a time");
        }
        let (relation, name) = key.qualified_name();
        let data_type = key.get_type(&schema).map_err(planner)?;
        let Some(engine_type) = key_type(&data_type) else {
            return refused(format!(
                "groups by {data_type} are not offered: numbers, texts, truth values, dates and moments are"
            ));
        };
        let mut value = total.expression(key)?;
        if engine_type != data_type {
            value = try_cast(value, engine_type.clone());
        }
        expressions.push(value.alias(format!("key{place}")));
        keys.push(Key { name, relation, data_type, engine_type, values: domains.values(key) });
    }
    let mut collector = Collector { rows, total, max_rows: limits.max_rows, values: Vec::new(), measures: Vec::new() };
    let mut calls = Vec::new();
    for (place, expression) in aggregate.aggr_expr.iter().enumerate() {
        let mut bare = expression;
        while let Expr::Alias(alias) = bare {
            bare = &alias.expr;
        }
        let Expr::AggregateFunction(call) = bare else {
            return refused(format!("{bare} is not an aggregate that is offered"));
        };
        calls.push((place, call));
    }
    // Sums last: they may follow from what means need.
    calls.sort_by_key(|(_, call)| call.func.name() == "sum");
    let mut outputs = Vec::new();
    for (place, call) in calls {
        let expression = &aggregate.aggr_expr[place];
        let (relation, name) = expression.qualified_name();
        let data_type = expression.get_type(&schema).map_err(planner)?;
        outputs.push((
            place,
            Output { title: name.clone(), name, relation, data_type, formula: collector.formula(call)? },
        ));
    }
    outputs.sort_by_key(|(place, _)| *place);
    let outputs: Vec<Output> = outputs.into_iter().map(|(_, output)| output).collect();
    let (values, measures) = (collector.values, collector.measures);
    if let Some(unit) = rows.unit_column() {
        expressions.insert(0, Expr::Column(unit).alias("unit"));
    }
    let count = values.len();
    expressions.extend(values.into_iter().enumerate().map(|(place, value)| value.alias(format!("value{place}"))));
    if expressions.is_empty() {
        // Rows alone are counted; a projection needs a column.
        expressions.push(lit(1_i64).alias("row"));
    }
    let projection = Projection::try_new(expressions, Arc::new(rows.plan.clone())).map_err(planner)?;
    let found = Aggregation {
        rows: LogicalPlan::Projection(projection),
        has_unit: rows.unit != Unit::EachRow,
        keys,
        values: count,
        measures,
        outputs,
        max_groups: limits.max_groups,
        max_rows: limits.max_rows,
    };
    if found.outputs.is_empty() {
        return refused("a query without an aggregate would show rows; add COUNT(*) or another aggregate");
    }
    if found.keys.iter().all(|key| key.values.is_some())
        && found.public_groups().is_none_or(|groups| groups > MOST_GROUPS as u64)
    {
        return refused(format!(
            "the public values of the keys make more than {MOST_GROUPS} groups; group by fewer or coarser keys"
        ));
    }
    Ok(found)
}
