//! The one private aggregate of a query: its groups, the rows that it is over, and the columns that
//! it makes.

use super::domain::Domains;
use super::facts::Domain;
use super::rows::{Rows, Unit, planner, refused};
use super::statistics::{Collector, Formula};
use crate::error::QueryError;
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::{Column, ScalarValue, TableReference};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{Aggregate, Expr, ExprSchemable, LogicalPlan, Projection, cast};
use datafusion::prelude::lit;
use reticent_engine::{Total, plan_as_written, written};
use reticent_release::Statistic;
use std::sync::Arc;

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
    /// The columns that follow from the statistics of the plan.
    pub outputs: Vec<Output>,
    /// The most groups in which one unit has a part.
    pub max_groups: u32,
    /// The most rows of one unit that count in one group.
    pub max_rows: u32,
}

/// An aggregate whose noise is not planned yet.
pub(crate) struct Unplanned {
    pub(crate) aggregation: Aggregation,
    /// What has to be released.
    pub(crate) statistics: Vec<Statistic>,
}

impl Aggregation {
    /// The plan of the rows that are counted, for people.
    pub fn rows_as_written(&self) -> String {
        plan_as_written(&self.rows)
    }

    /// How many groups there are if all keys are public.
    pub fn public_groups(&self) -> Option<u64> {
        self.keys
            .iter()
            .try_fold(1_u64, |product, key| product.checked_mul(key.values.as_ref()?.len() as u64))
    }
}

/// The type in which the engine tells the values of a key apart: parts of dates are small integers,
/// for example, and it has one kind of them.
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
    plan: &LogicalPlan,
    column: &Column,
) -> Result<Vec<ScalarValue>, QueryError> {
    let read = |_| QueryError::Refused("a public table could not be read".to_owned());
    let projection =
        Projection::try_new(vec![Expr::Column(column.clone())], Arc::new(plan.clone()))
            .map_err(planner)?;
    let distinct =
        datafusion::logical_expr::Distinct::All(Arc::new(LogicalPlan::Projection(projection)));
    let physical =
        state.create_physical_plan(&LogicalPlan::Distinct(distinct)).await.map_err(read)?;
    let batches =
        datafusion::physical_plan::collect(physical, state.task_ctx()).await.map_err(read)?;
    let mut values = Vec::new();
    for batch in &batches {
        for row in 0..batch.num_rows() {
            values.push(ScalarValue::try_from_array(batch.column(0), row).map_err(planner)?);
        }
    }
    Ok(values)
}

/// Reads an aggregate over private rows.
pub(crate) async fn aggregation(
    aggregate: &Aggregate,
    rows: &Rows,
    state: &SessionState,
    limits: super::rows::Limits,
) -> Result<Unplanned, QueryError> {
    // Values of public columns that keys are made of.
    let mut facts = rows.facts.clone();
    for key in &aggregate.group_expr {
        for column in key.column_refs() {
            if let Some(index) = rows.index_of(column)
                && let Domain::Public { plan, column: source, lost } = facts[index].domain.clone()
            {
                let values = public_values(state, &plan, &source).await?;
                facts[index].domain = Domain::Values(Arc::new(values));
                // The values that were read have their NULL among them.
                facts[index].nullable = lost;
            }
        }
    }
    let rows = &Rows { facts, ..rows.clone() };
    let schema = rows.plan.schema().clone();
    let fact = |column: &Column| rows.fact(column);
    let domains = Domains { state, schema: &schema, facts: &fact };
    let mut expressions = Vec::new();
    let mut keys = Vec::new();
    let total = Total::new(&schema);
    for (index, key) in aggregate.group_expr.iter().enumerate() {
        if matches!(key, Expr::GroupingSet(_)) {
            return refused(
                "GROUPING SETS, ROLLUP and CUBE are not offered; ask one GROUP BY at a time",
            );
        }
        let (relation, name) = key.qualified_name();
        let data_type = key.get_type(&schema).map_err(planner)?;
        let Some(engine_type) = key_type(&data_type) else {
            return refused(format!(
                "groups by {data_type} are not offered: numbers, texts, truth values, dates and \
                 moments are"
            ));
        };
        let mut value = key.clone();
        if engine_type != data_type {
            value = cast(value, engine_type.clone());
        }
        expressions.push(total.expression(&value)?.alias(format!("key{index}")));
        keys.push(Key { name, relation, data_type, engine_type, values: domains.values(key) });
    }
    let unit = rows.unit_column();
    let first_value = usize::from(unit.is_some()) + keys.len();
    let mut collector = Collector::new(rows, total, limits.max_rows, first_value);
    let mut calls = Vec::new();
    for (index, expression) in aggregate.aggr_expr.iter().enumerate() {
        let mut bare = expression;
        while let Expr::Alias(alias) = bare {
            bare = &alias.expr;
        }
        let Expr::AggregateFunction(call) = bare else {
            return refused(format!("{} is not an aggregate that is offered", written(bare)));
        };
        calls.push((index, call));
    }
    // Sums last: they may follow from what means need.
    calls.sort_by_key(|(_, call)| call.func.name() == "sum");
    let mut outputs = Vec::new();
    for (index, call) in calls {
        let expression = &aggregate.aggr_expr[index];
        let (relation, name) = expression.qualified_name();
        let data_type = expression.get_type(&schema).map_err(planner)?;
        outputs.push((
            index,
            Output {
                title: written(&expression.clone().unalias()),
                name,
                relation,
                data_type,
                formula: collector.formula(call)?,
            },
        ));
    }
    outputs.sort_by_key(|(index, _)| *index);
    let outputs: Vec<Output> = outputs.into_iter().map(|(_, output)| output).collect();
    let Collector { values, statistics, .. } = collector;
    if let Some(unit) = unit {
        expressions.insert(0, Expr::Column(unit).alias("unit"));
    }
    expressions.extend(
        values.into_iter().enumerate().map(|(index, value)| value.alias(format!("value{index}"))),
    );
    if expressions.is_empty() {
        // Rows alone are counted; a projection needs a column.
        expressions.push(lit(1_i64).alias("row"));
    }
    let projection =
        Projection::try_new(expressions, Arc::new(rows.plan.clone())).map_err(planner)?;
    let found = Aggregation {
        rows: LogicalPlan::Projection(projection),
        has_unit: rows.unit != Unit::EachRow,
        keys,
        outputs,
        max_groups: limits.max_groups,
        max_rows: limits.max_rows,
    };
    if found.outputs.is_empty() {
        return refused(
            "a query without an aggregate would show rows; add COUNT(*) or another aggregate",
        );
    }
    Ok(Unplanned { aggregation: found, statistics })
}
