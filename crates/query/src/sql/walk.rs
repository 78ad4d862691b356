//! From the planner's tree to the private aggregate, and what comes before and after it.

use super::aggregation::{Unplanned, aggregation};
use super::facts::Facts;
use super::range::Range;
use super::released::Released;
use super::rows::{
    Growth, Limits, Rows, Unit, condition, facts_of_unit_aggregate, of_one_unit, planner, refused,
    with_public,
};
use crate::error::QueryError;
use crate::tables::Tables;
use datafusion::common::{DFSchema, NullEquality};
use datafusion::execution::SessionState;
use datafusion::logical_expr::expr::{AggregateFunction, Alias};
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{
    Aggregate, Distinct, Expr, Filter, Join, LogicalPlan, Projection, SubqueryAlias, Union,
    try_cast,
};
use futures::future::BoxFuture;
use reticent_engine::{Total, unit_aggregate, unit_key};
use reticent_policy::Privacy;
use std::sync::Arc;

/// What a part of a query is made of.
pub(crate) enum Relation {
    /// Public tables only, or no tables; not computed yet.
    Public(LogicalPlan),
    /// Rows of private tables.
    Rows(Box<Rows>),
    /// Released figures, and the private aggregate that they come from.
    Released(Box<(Released, Unplanned)>),
}

/// Reads a plan.
pub(crate) struct Walk<'a> {
    /// What computes public parts.
    pub(crate) state: &'a SessionState,
    pub(crate) tables: &'a Tables<'a>,
    /// Limits that the query sets for itself.
    pub(crate) max_groups: Option<u32>,
    pub(crate) max_rows: Option<u32>,
}

const TWO_RELEASES: &str = "the query has two private aggregates: one query is one release. Ask \
    them one by one, or group once and combine the columns";

impl<'a> Walk<'a> {
    pub(crate) fn relation<'b>(
        &'b self,
        plan: &'b LogicalPlan,
    ) -> BoxFuture<'b, Result<Relation, QueryError>> {
        Box::pin(async move {
            if self.is_public(plan)? {
                return Ok(Relation::Public(plan.clone()));
            }
            match plan {
                LogicalPlan::TableScan(scan) => self.table(plan, scan.table_name.table()),
                LogicalPlan::SubqueryAlias(alias) => self.alias(alias).await,
                LogicalPlan::Projection(projection) => self.projection(projection).await,
                LogicalPlan::Filter(filter) => self.filter(filter).await,
                LogicalPlan::Aggregate(aggregate) => self.aggregate(aggregate).await,
                LogicalPlan::Join(join) => self.join(join).await,
                LogicalPlan::Union(union) => self.union(union).await,
                LogicalPlan::Distinct(distinct) => self.distinct(distinct).await,
                LogicalPlan::Subquery(subquery) => self.relation(&subquery.subquery).await,
                LogicalPlan::Sort(sort) => match self.relation(&sort.input).await? {
                    Relation::Public(_) => Ok(Relation::Public(plan.clone())),
                    // The order of rows does not matter to what is computed of them.
                    Relation::Rows(rows) if sort.fetch.is_none() => Ok(Relation::Rows(rows)),
                    Relation::Rows(_) => limit_before_aggregation(),
                    Relation::Released(inner) => {
                        let (released, private) = *inner;
                        Ok(Relation::Released(Box::new((released.sort(sort)?, private))))
                    }
                },
                LogicalPlan::Limit(limit) => match self.relation(&limit.input).await? {
                    Relation::Public(_) => Ok(Relation::Public(plan.clone())),
                    Relation::Rows(_) => limit_before_aggregation(),
                    Relation::Released(inner) => {
                        let (released, private) = *inner;
                        Ok(Relation::Released(Box::new((released.limit(limit), private))))
                    }
                },
                other => {
                    let shown = other.display().to_string();
                    let name = shown.split([':', ' ']).next().unwrap_or("this");
                    refused(format!(
                        "{name} is not offered; a query is a SELECT over the tables of the policy"
                    ))
                }
            }
        })
    }

    fn table(&self, plan: &LogicalPlan, name: &str) -> Result<Relation, QueryError> {
        let Some(table) = self.tables.policy(name) else {
            return refused(format!("the table {name} is not in the policy"));
        };
        let limits = match table.privacy() {
            Privacy::Public { unique: _ } => return Ok(Relation::Public(plan.clone())),
            Privacy::EachRow => Limits { max_groups: 1, max_rows: 1 },
            Privacy::Unit { max_groups, max_rows, .. } => {
                Limits { max_groups: *max_groups, max_rows: *max_rows }
            }
        };
        let facts = table.columns().iter().map(|column| self.tables.facts(column)).collect();
        let unit = match table.unit() {
            None => Unit::EachRow,
            Some(unit) => {
                let found = table.columns().iter().position(|column| column.name() == unit.name());
                Unit::Column(
                    found.ok_or_else(|| {
                        QueryError::Refused("the unit column is not declared".into())
                    })?,
                )
            }
        };
        let growth = Growth::TABLE;
        Ok(Relation::Rows(Box::new(Rows {
            plan: plan.clone(),
            unit,
            hidden: false,
            facts,
            limits,
            growth,
        })))
    }

    /// An expression over rows, total and under its own name.
    fn named(&self, input: &LogicalPlan, expression: &Expr) -> Result<Expr, QueryError> {
        let (relation, name) = expression.qualified_name();
        let total = self.total(input, expression)?;
        Ok(if total.qualified_name() == (relation.clone(), name.clone()) {
            total
        } else {
            Expr::Alias(Alias::new(total, relation, name))
        })
    }

    fn total(&self, input: &LogicalPlan, expression: &Expr) -> Result<Expr, QueryError> {
        Ok(Total::new(input.schema()).expression(expression)?)
    }

    async fn alias(&self, alias: &SubqueryAlias) -> Result<Relation, QueryError> {
        let renamed = |plan: LogicalPlan| {
            SubqueryAlias::try_new(Arc::new(plan), alias.alias.clone())
                .map(LogicalPlan::SubqueryAlias)
                .map_err(planner)
        };
        Ok(match self.relation(&alias.input).await? {
            Relation::Public(plan) => Relation::Public(renamed(plan)?),
            Relation::Rows(rows) => {
                Relation::Rows(Box::new(Rows { plan: renamed(rows.plan.clone())?, ..*rows }))
            }
            Relation::Released(inner) => {
                let (released, private) = *inner;
                Relation::Released(Box::new((released.alias(alias)?, private)))
            }
        })
    }

    async fn projection(&self, projection: &Projection) -> Result<Relation, QueryError> {
        Ok(match self.relation(&projection.input).await? {
            Relation::Public(_) => Relation::Public(LogicalPlan::Projection(projection.clone())),
            Relation::Rows(rows) => {
                let named =
                    projection.expr.iter().map(|expression| self.named(&rows.plan, expression));
                Relation::Rows(Box::new(
                    rows.projected(named.collect::<Result<_, _>>()?, &projection.expr)?,
                ))
            }
            Relation::Released(inner) => {
                let (released, private) = *inner;
                Relation::Released(Box::new((released.project(projection)?, private)))
            }
        })
    }

    async fn filter(&self, filter: &Filter) -> Result<Relation, QueryError> {
        Ok(match self.relation(&filter.input).await? {
            Relation::Public(_) => Relation::Public(LogicalPlan::Filter(filter.clone())),
            Relation::Rows(mut rows) => {
                let predicate = Total::new(rows.plan.schema()).condition(&filter.predicate)?;
                let input = Arc::new(rows.plan.clone());
                rows.plan =
                    LogicalPlan::Filter(Filter::try_new(predicate, input).map_err(planner)?);
                Relation::Rows(rows)
            }
            Relation::Released(inner) => {
                let (released, private) = *inner;
                Relation::Released(Box::new((released.filter(filter)?, private)))
            }
        })
    }

    async fn aggregate(&self, aggregate: &Aggregate) -> Result<Relation, QueryError> {
        match self.relation(&aggregate.input).await? {
            Relation::Public(_) => Ok(Relation::Public(LogicalPlan::Aggregate(aggregate.clone()))),
            Relation::Released(inner) => {
                let (released, private) = *inner;
                Ok(Relation::Released(Box::new((released.aggregate(aggregate)?, private))))
            }
            Relation::Rows(rows) if aggregate.group_expr.iter().any(|key| rows.is_unit(key)) => {
                Ok(Relation::Rows(Box::new(self.of_each_unit(&rows, aggregate)?)))
            }
            Relation::Rows(rows) => {
                let limits = self.limits(&rows)?;
                let private = aggregation(aggregate, &rows, self.state, limits).await?;
                let released = Released::by(&private.aggregation)?;
                Ok(Relation::Released(Box::new((released, private))))
            }
        }
    }

    fn limits(&self, rows: &Rows) -> Result<Limits, QueryError> {
        if rows.unit == Unit::EachRow && (self.max_groups.is_some() || self.max_rows.is_some()) {
            return refused(
                "max_groups and max_rows are for tables with a unit column; here each row is a \
                 unit",
            );
        }
        Ok(Limits {
            max_groups: self.max_groups.unwrap_or(rows.limits.max_groups),
            max_rows: self.max_rows.unwrap_or(rows.limits.max_rows),
        })
    }

    /// An aggregate over the rows of one unit at a time, exact: see [`unit_aggregate`].
    fn of_each_unit(&self, rows: &Rows, aggregate: &Aggregate) -> Result<Rows, QueryError> {
        let schema = rows.plan.schema();
        let mut facts = Vec::new();
        let mut keys = Vec::new();
        for key in &aggregate.group_expr {
            if matches!(key, Expr::GroupingSet(_)) {
                return refused(
                    "GROUPING SETS, ROLLUP and CUBE are not offered; ask one GROUP BY at a time",
                );
            }
            facts.push(rows.facts_of(key));
            let named = self.named(&rows.plan, key)?;
            let distinguished = unit_key(named.clone(), schema)?;
            let (relation, name) = named.qualified_name();
            keys.push(if distinguished == named {
                named
            } else {
                Expr::Alias(Alias::new(distinguished, relation, name))
            });
        }
        let mut calls = Vec::new();
        for expression in &aggregate.aggr_expr {
            let (relation, name) = expression.qualified_name();
            let mut bare = expression;
            while let Expr::Alias(alias) = bare {
                bare = &alias.expr;
            }
            let Expr::AggregateFunction(call) = bare else {
                return refused(format!("{bare} is not an aggregate that is offered"));
            };
            let mut params = call.params.clone();
            let argument = params.args.first().map(|argument| rows.facts_of(argument));
            facts.push(facts_of_unit_aggregate(call.func.name(), argument.as_ref()));
            let total = |argument: &Expr| self.total(&rows.plan, argument);
            params.args = params.args.iter().map(total).collect::<Result<_, _>>()?;
            params.filter = params.filter.as_deref().map(total).transpose()?.map(Box::new);
            let call = AggregateFunction { func: call.func.clone(), params };
            calls.push(Expr::Alias(Alias::new(unit_aggregate(call, schema)?, relation, name)));
        }
        let unit = aggregate
            .group_expr
            .iter()
            .position(|key| rows.is_unit(key))
            .map_or(Unit::EachRow, Unit::Column);
        let again =
            Aggregate::try_new(Arc::new(rows.plan.clone()), keys, calls).map_err(planner)?;
        let growth = if aggregate.group_expr.len() == 1 { Growth::UNIT } else { rows.growth };
        let plan = in_types_of(LogicalPlan::Aggregate(again), &aggregate.schema)?;
        Ok(Rows { plan, unit, hidden: false, facts, limits: rows.limits, growth })
    }

    async fn distinct(&self, distinct: &Distinct) -> Result<Relation, QueryError> {
        let Distinct::All(input) = distinct else {
            return refused("DISTINCT ON is not offered");
        };
        match self.relation(input).await? {
            Relation::Public(_) => Ok(Relation::Public(LogicalPlan::Distinct(distinct.clone()))),
            Relation::Released(inner) => {
                let (released, private) = *inner;
                Ok(Relation::Released(Box::new((released.distinct()?, private))))
            }
            Relation::Rows(mut rows) => {
                if rows.hidden || rows.unit == Unit::EachRow {
                    return refused(
                        "SELECT DISTINCT over rows is offered where the privacy unit is among its \
                         columns; to see which \
                         groups there are, write GROUP BY with COUNT(*)",
                    );
                }
                rows.plan = LogicalPlan::Distinct(Distinct::All(Arc::new(rows.plan.clone())));
                Ok(Relation::Rows(rows))
            }
        }
    }

    async fn union(&self, union: &Union) -> Result<Relation, QueryError> {
        let mut inputs = Vec::new();
        for input in &union.inputs {
            inputs.push(self.relation(input).await?);
        }
        if inputs.iter().all(|input| matches!(input, Relation::Public(_))) {
            return Ok(Relation::Public(LogicalPlan::Union(union.clone())));
        }
        let mut sides: Vec<Rows> = Vec::new();
        for input in inputs {
            let Relation::Rows(rows) = input else {
                return refused(
                    "UNION is offered between rows of private tables, or between public ones, not \
                     of both",
                );
            };
            sides.push(*rows);
        }
        // The unit is a column of the union if it is the same column of all parts.
        let shared = sides.iter().all(|rows| !rows.hidden && rows.unit == sides[0].unit);
        let mut parts: Vec<Rows> = Vec::new();
        for rows in sides {
            let Some(unit) = rows.unit_column() else {
                return refused(
                    "UNION is not offered where each row is a privacy unit: one row could appear \
                     twice",
                );
            };
            // The columns that the query sees, in order, then the unit: positions decide in a
            // union.
            let seen = rows.plan.schema().columns().into_iter().enumerate();
            let shown =
                seen.filter(|(index, _)| !(rows.hidden && Unit::Column(*index) == rows.unit));
            let mut columns: Vec<Expr> = shown.map(|(_, column)| Expr::Column(column)).collect();
            let mut unit_column = rows.unit;
            if !shared {
                columns.push(Expr::Alias(Alias::new(
                    Expr::Column(unit),
                    None::<&str>,
                    "__unit_of_union",
                )));
                unit_column = Unit::Column(columns.len() - 1);
            }
            let facts = columns.iter().map(|column| rows.facts_of(column)).collect();
            let plan =
                Projection::try_new(columns, Arc::new(rows.plan.clone())).map_err(planner)?;
            let plan = LogicalPlan::Projection(plan);
            parts.push(Rows { plan, unit: unit_column, hidden: !shared, facts, ..rows });
        }
        let plans = parts.iter().map(|part| Arc::new(part.plan.clone())).collect();
        let plan = LogicalPlan::Union(Union::try_new_with_loose_types(plans).map_err(planner)?);
        let facts = (0..parts[0].facts.len())
            .map(|index| {
                let all = parts.iter().map(|part| &part.facts[index]);
                let range = all
                    .clone()
                    .map(|facts| facts.range)
                    .reduce(Range::union)
                    .unwrap_or(Range::UNKNOWN);
                Facts {
                    range,
                    nullable: all.clone().any(|facts| facts.nullable),
                    ..Facts::unknown()
                }
            })
            .collect();
        let growth =
            parts[1..].iter().try_fold(parts[0].growth, |all, part| all.plus(part.growth))?;
        Ok(Relation::Rows(Box::new(Rows { plan, facts, growth, ..parts.swap_remove(0) })))
    }

    async fn join(&self, join: &Join) -> Result<Relation, QueryError> {
        let left = self.relation(&join.left).await?;
        let right = self.relation(&join.right).await?;
        // Equalities by themselves, as the engine finds matches by them; then all of it total.
        let rebuilt = |left: &LogicalPlan, right: &LogicalPlan| -> Result<Join, QueryError> {
            let (pairs, rest) = condition(join);
            let on = pairs.iter().map(|(a, b)| Ok((self.total(left, a)?, self.total(right, b)?)));
            let on = on.collect::<Result<Vec<_>, QueryError>>()?;
            let both = left.schema().join(right.schema()).map_err(planner)?;
            let filter =
                conjunction(rest).map(|filter| Total::new(&both).condition(&filter)).transpose()?;
            Join::try_new(
                Arc::new(left.clone()),
                Arc::new(right.clone()),
                on,
                filter,
                join.join_type,
                join.join_constraint,
                join.null_equality,
                join.null_aware,
            )
            .map_err(planner)
        };
        // What the public side is found by. Where NULL equals NULL, or there are no equalities, any
        // row may match.
        let keys = |join: &Join, is_left: bool| -> Vec<Expr> {
            let pairs =
                if join.null_equality == NullEquality::NullEqualsNull { &[][..] } else { &join.on };
            pairs.iter().map(|(a, b)| if is_left { a.clone() } else { b.clone() }).collect()
        };
        match (left, right) {
            (Relation::Public(_), Relation::Public(_)) => {
                Ok(Relation::Public(LogicalPlan::Join(join.clone())))
            }
            (Relation::Rows(rows), Relation::Public(part)) => {
                let public = self.computed(&part).await?;
                let join = rebuilt(&rows.plan, &public.plan)?;
                let matches = public.most_matches(&keys(&join, false))?;
                Ok(Relation::Rows(Box::new(with_public(
                    join,
                    &rows,
                    &public.facts,
                    true,
                    matches,
                )?)))
            }
            (Relation::Public(part), Relation::Rows(rows)) => {
                let public = self.computed(&part).await?;
                let join = rebuilt(&public.plan, &rows.plan)?;
                let matches = public.most_matches(&keys(&join, true))?;
                Ok(Relation::Rows(Box::new(with_public(
                    join,
                    &rows,
                    &public.facts,
                    false,
                    matches,
                )?)))
            }
            (Relation::Rows(left), Relation::Rows(right)) => {
                let join = rebuilt(&left.plan, &right.plan)?;
                Ok(Relation::Rows(Box::new(of_one_unit(join, &left, &right)?)))
            }
            (Relation::Released(inner), Relation::Public(part)) => {
                let (released, private) = *inner;
                let public = self.computed(&part).await?;
                Ok(Relation::Released(Box::new((released.join(join, public.plan, true)?, private))))
            }
            (Relation::Public(part), Relation::Released(inner)) => {
                let (released, private) = *inner;
                let public = self.computed(&part).await?;
                Ok(Relation::Released(Box::new((
                    released.join(join, public.plan, false)?,
                    private,
                ))))
            }
            (Relation::Released(_), Relation::Released(_)) => refused(TWO_RELEASES),
            (Relation::Released(_), Relation::Rows(_))
            | (Relation::Rows(_), Relation::Released(_)) => refused(
                "released figures are joined with private rows: that would need a second release. \
                 Ask in two queries",
            ),
        }
    }
}

/// A plan with its columns in the types that the rest of the query was planned for: texts have
/// several.
fn in_types_of(plan: LogicalPlan, expected: &DFSchema) -> Result<LogicalPlan, QueryError> {
    let of = |schema: &DFSchema, index: usize| schema.field(index).data_type().clone();
    let columns = plan.schema().iter().enumerate().map(|(index, (relation, field))| {
        let column = Expr::from((relation, field));
        if *field.data_type() == of(expected, index) {
            return column;
        }
        let cast = try_cast(column, of(expected, index));
        Expr::Alias(Alias::new(cast, relation.cloned(), field.name()))
    });
    let columns: Vec<Expr> = columns.collect();
    if columns.iter().all(|column| matches!(column, Expr::Column(_))) {
        return Ok(plan);
    }
    Projection::try_new(columns, Arc::new(plan)).map(LogicalPlan::Projection).map_err(planner)
}

fn limit_before_aggregation<T>() -> Result<T, QueryError> {
    refused(
        "LIMIT before the aggregates would let one person decide which rows of others count; use \
         WHERE, or LIMIT after GROUP BY",
    )
}
