//! From the planner's tree to the private aggregate, and what comes before and after it.

use super::aggregation::{Aggregation, aggregation};
use super::facts::{Domain, Facts};
use super::range::Range;
use super::released::{RELEASED, Released};
use super::rows::{
    Limits, Rows, Unit, equalities, facts_of_unit_aggregate, of_one_unit, plain_column, planner, refused, with_public,
};
use super::total::Total;
use crate::error::QueryError;
use crate::tables::Tables;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::Column;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::datasource::{empty::EmptyTable, provider_as_source};
use datafusion::execution::SessionState;
use datafusion::logical_expr::expr::{AggregateFunction, Alias};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    Aggregate, Distinct, Expr, Filter, Join, LogicalPlan, LogicalPlanBuilder, Projection, SubqueryAlias, Union,
    Volatility,
};
use futures::future::BoxFuture;
use reticent_policy::{ColumnType, Privacy, TablePolicy};
use std::sync::Arc;

/// What a part of a query is made of.
pub(crate) enum Relation {
    /// Public tables only.
    Public(LogicalPlan),
    /// Rows of private tables.
    Rows(Box<Rows>),
    /// Released figures, and the private aggregate that they come from.
    Released(Box<(Released, Aggregation)>),
}

/// Reads a plan.
pub(crate) struct Walk<'a> {
    pub(crate) state: &'a SessionState,
    pub(crate) tables: &'a Tables<'a>,
    /// Limits that the query sets for itself.
    pub(crate) max_groups: Option<u32>,
    pub(crate) max_rows: Option<u32>,
}

const TWO_RELEASES: &str = "the query has two private aggregates: one query is one release. Ask them one by one, or group once and combine the columns";

impl<'a> Walk<'a> {
    pub(crate) fn relation<'b>(&'b self, plan: &'b LogicalPlan) -> BoxFuture<'b, Result<Relation, QueryError>> {
        Box::pin(async move {
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
                    Relation::Public(_) => Ok(Relation::Public(self.public(plan)?)),
                    // The order of rows does not matter to what is computed of them.
                    Relation::Rows(rows) if sort.fetch.is_none() => Ok(Relation::Rows(rows)),
                    Relation::Rows(_) => limit_before_aggregation(),
                    Relation::Released(inner) => {
                        let (released, private) = *inner;
                        Ok(Relation::Released(Box::new((released.sort(sort)?, private))))
                    }
                },
                LogicalPlan::Limit(limit) => match self.relation(&limit.input).await? {
                    Relation::Public(_) => Ok(Relation::Public(self.public(plan)?)),
                    Relation::Rows(_) => limit_before_aggregation(),
                    Relation::Released(inner) => {
                        let (released, private) = *inner;
                        Ok(Relation::Released(Box::new((released.limit(limit), private))))
                    }
                },
                LogicalPlan::EmptyRelation(_) | LogicalPlan::Values(_) => Ok(Relation::Public(self.public(plan)?)),
                LogicalPlan::Window(_) => {
                    refused("window functions (OVER) are not offered; group in a sub-query instead")
                }
                LogicalPlan::RecursiveQuery(_) => refused("WITH RECURSIVE is not offered"),
                LogicalPlan::Unnest(_) => refused("UNNEST is not offered"),
                other => {
                    let shown = other.display().to_string();
                    let name = shown.split([':', ' ']).next().unwrap_or("this");
                    refused(format!("{name} is not offered; a query is a SELECT over the tables of the policy"))
                }
            }
        })
    }

    fn table(&self, plan: &LogicalPlan, name: &str) -> Result<Relation, QueryError> {
        let Some(table) = self.tables.policy(name) else {
            return refused(format!("the table {name} is not in the policy"));
        };
        let limits = match table.privacy() {
            Privacy::Public { .. } => return Ok(Relation::Public(plan.clone())),
            Privacy::EachRow => Limits { max_groups: 1, max_rows: 1 },
            Privacy::Unit { max_groups, max_rows, .. } => Limits { max_groups: *max_groups, max_rows: *max_rows },
        };
        let facts = table.columns().iter().map(|column| self.tables.facts(column)).collect();
        let unit = match table.unit() {
            None => Unit::EachRow,
            Some(unit) => {
                let found = table.columns().iter().position(|column| column.name() == unit.name());
                Unit::Column(found.ok_or_else(|| QueryError::Refused("the unit column is not declared".into()))?)
            }
        };
        Ok(Relation::Rows(Box::new(Rows { plan: plan.clone(), unit, hidden: false, facts, limits })))
    }

    /// A plan over public tables: nothing in it may change from run to run.
    fn public(&self, plan: &LogicalPlan) -> Result<LogicalPlan, QueryError> {
        let mut wrong: Option<String> = None;
        plan.apply_with_subqueries(|node| {
            if let LogicalPlan::TableScan(scan) = node {
                let name = scan.table_name.table();
                if self.tables.policy(name).is_none_or(|table| !table.is_public()) {
                    wrong = Some(format!(
                        "the private table {name} is read where only public tables are: a sub-query inside an expression \
                         must be over public tables. Write a join on the privacy unit"
                    ));
                }
            }
            node.apply_expressions(|expression| {
                expression.apply(|inner| {
                    if let Expr::ScalarFunction(call) = inner
                        && call.func.signature().volatility != Volatility::Immutable
                    {
                        wrong = Some(format!(
                            "the function {} is not offered: its values change from run to run",
                            call.func.name()
                        ));
                    }
                    Ok(TreeNodeRecursion::Continue)
                })
            })
        })
        .map_err(planner)?;
        match wrong {
            None => self.total_public(plan),
            Some(message) => refused(message),
        }
    }

    /// The same plan with expressions that have an answer for every row. What the engine reads of a public table can depend on the private rows that it is joined with, and so could an error.
    fn total_public(&self, plan: &LogicalPlan) -> Result<LogicalPlan, QueryError> {
        let mut wrong = None;
        let subquery = |plan: &LogicalPlan| self.public(plan);
        let total = plan.clone().transform_up(|node| {
            let schema = merge_schema(&node.inputs());
            let names = NamePreserver::new(&node);
            let rewritten = node.map_expressions(|expression| {
                let name = names.save(&expression);
                match Total::new(&schema, &subquery).aggregate(&expression) {
                    Ok(total) => Ok(Transformed::yes(name.restore(total))),
                    Err(error) => {
                        wrong.get_or_insert(error);
                        Ok(Transformed::no(expression))
                    }
                }
            })?;
            rewritten.map_data(LogicalPlan::recompute_schema)
        });
        match (wrong, total) {
            (Some(error), _) => Err(error),
            (None, total) => Ok(total.map_err(planner)?.data),
        }
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
        let subquery = |plan: &LogicalPlan| self.public(plan);
        Total::new(input.schema(), &subquery).expression(expression)
    }

    async fn alias(&self, alias: &SubqueryAlias) -> Result<Relation, QueryError> {
        let renamed = |plan: LogicalPlan| {
            SubqueryAlias::try_new(Arc::new(plan), alias.alias.clone()).map(LogicalPlan::SubqueryAlias).map_err(planner)
        };
        Ok(match self.relation(&alias.input).await? {
            Relation::Public(plan) => Relation::Public(renamed(plan)?),
            Relation::Rows(rows) => Relation::Rows(Box::new(Rows { plan: renamed(rows.plan.clone())?, ..*rows })),
            Relation::Released(inner) => {
                let (released, private) = *inner;
                Relation::Released(Box::new((released.alias(alias)?, private)))
            }
        })
    }

    async fn projection(&self, projection: &Projection) -> Result<Relation, QueryError> {
        Ok(match self.relation(&projection.input).await? {
            Relation::Public(_) => Relation::Public(self.public(&LogicalPlan::Projection(projection.clone()))?),
            Relation::Rows(rows) => {
                let named = projection.expr.iter().map(|expression| self.named(&rows.plan, expression));
                Relation::Rows(Box::new(rows.projected(named.collect::<Result<_, _>>()?)?))
            }
            Relation::Released(inner) => {
                let (released, private) = *inner;
                Relation::Released(Box::new((released.project(projection)?, private)))
            }
        })
    }

    async fn filter(&self, filter: &Filter) -> Result<Relation, QueryError> {
        Ok(match self.relation(&filter.input).await? {
            Relation::Public(_) => Relation::Public(self.public(&LogicalPlan::Filter(filter.clone()))?),
            Relation::Rows(mut rows) => {
                let predicate = self.total(&rows.plan, &filter.predicate)?;
                let input = Arc::new(rows.plan.clone());
                rows.plan = LogicalPlan::Filter(Filter::try_new(predicate, input).map_err(planner)?);
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
            Relation::Public(_) => Ok(Relation::Public(self.public(&LogicalPlan::Aggregate(aggregate.clone()))?)),
            Relation::Released(inner) => {
                let (released, private) = *inner;
                Ok(Relation::Released(Box::new((released.aggregate(aggregate)?, private))))
            }
            Relation::Rows(rows) if aggregate.group_expr.iter().any(|key| rows.is_unit(key)) => {
                Ok(Relation::Rows(Box::new(self.of_each_unit(&rows, aggregate)?)))
            }
            Relation::Rows(rows) => {
                let limits = self.limits(&rows)?;
                let run = |plan| self.tables.with_public_sources(plan);
                let private = aggregation(aggregate, &rows, self.state, &run, limits).await?;
                let released = leaf(&private)?;
                Ok(Relation::Released(Box::new((released, private))))
            }
        }
    }

    fn limits(&self, rows: &Rows) -> Result<Limits, QueryError> {
        if rows.unit == Unit::EachRow && (self.max_groups.is_some() || self.max_rows.is_some()) {
            return refused("max_groups and max_rows are for tables with a unit column; here each row is a unit");
        }
        Ok(Limits {
            max_groups: self.max_groups.unwrap_or(rows.limits.max_groups),
            max_rows: self.max_rows.unwrap_or(rows.limits.max_rows),
        })
    }

    /// An aggregate over the rows of one unit at a time.
    fn of_each_unit(&self, rows: &Rows, aggregate: &Aggregate) -> Result<Rows, QueryError> {
        let mut facts = Vec::new();
        let mut keys = Vec::new();
        for key in &aggregate.group_expr {
            if matches!(key, Expr::GroupingSet(_)) {
                return refused("GROUPING SETS, ROLLUP and CUBE are not offered; ask one GROUP BY at a time");
            }
            facts.push(rows.facts_of(key));
            keys.push(self.named(&rows.plan, key)?);
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
            let function = call.func.name();
            if !matches!(function, "count" | "sum" | "avg" | "min" | "max") || !call.params.order_by.is_empty() {
                return refused(format!(
                    "the aggregate {} of one unit's rows is not offered: COUNT, SUM, AVG, MIN and MAX are",
                    function.to_uppercase()
                ));
            }
            let mut params = call.params.clone();
            facts.push(facts_of_unit_aggregate(
                function,
                params.args.first().map(|argument| rows.facts_of(argument)).as_ref(),
            ));
            params.args =
                params.args.iter().map(|argument| self.total(&rows.plan, argument)).collect::<Result<_, _>>()?;
            params.filter =
                params.filter.as_deref().map(|filter| self.total(&rows.plan, filter)).transpose()?.map(Box::new);
            let again = Expr::AggregateFunction(AggregateFunction { func: call.func.clone(), params });
            calls.push(Expr::Alias(Alias::new(again, relation, name)));
        }
        let unit = aggregate.group_expr.iter().position(|key| rows.is_unit(key)).map_or(Unit::EachRow, Unit::Column);
        let again = Aggregate::try_new(Arc::new(rows.plan.clone()), keys, calls).map_err(planner)?;
        Ok(Rows { plan: LogicalPlan::Aggregate(again), unit, hidden: false, facts, limits: rows.limits })
    }

    async fn distinct(&self, distinct: &Distinct) -> Result<Relation, QueryError> {
        let Distinct::All(input) = distinct else {
            return refused("DISTINCT ON is not offered");
        };
        match self.relation(input).await? {
            Relation::Public(_) => Ok(Relation::Public(self.public(&LogicalPlan::Distinct(distinct.clone()))?)),
            Relation::Released(inner) => {
                let (released, private) = *inner;
                Ok(Relation::Released(Box::new((released.distinct()?, private))))
            }
            Relation::Rows(mut rows) => {
                if rows.hidden || rows.unit == Unit::EachRow {
                    return refused(
                        "SELECT DISTINCT over rows is offered where the privacy unit is among its columns; to see which \
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
            return Ok(Relation::Public(self.public(&LogicalPlan::Union(union.clone()))?));
        }
        let mut sides: Vec<Rows> = Vec::new();
        for input in inputs {
            let Relation::Rows(rows) = input else {
                return refused("UNION is offered between rows of private tables, or between public ones, not of both");
            };
            sides.push(*rows);
        }
        // The unit is a column of the union if it is the same column of all parts.
        let shared = sides.iter().all(|rows| !rows.hidden && rows.unit == sides[0].unit);
        let mut parts: Vec<Rows> = Vec::new();
        for rows in sides {
            let Some(unit) = rows.unit_column() else {
                return refused("UNION is not offered where each row is a privacy unit: one row could appear twice");
            };
            // The columns that the query sees, in order, then the unit: positions decide in a union.
            let seen = rows.plan.schema().columns().into_iter().enumerate();
            let shown = seen.filter(|(place, _)| !(rows.hidden && Unit::Column(*place) == rows.unit));
            let mut columns: Vec<Expr> = shown.map(|(_, column)| Expr::Column(column)).collect();
            let mut place = rows.unit;
            if !shared {
                columns.push(Expr::Alias(Alias::new(Expr::Column(unit), None::<&str>, "__unit_of_union")));
                place = Unit::Column(columns.len() - 1);
            }
            let facts = columns.iter().map(|column| rows.facts_of(column)).collect();
            let plan = Projection::try_new(columns, Arc::new(rows.plan.clone())).map_err(planner)?;
            let plan = LogicalPlan::Projection(plan);
            parts.push(Rows { plan, unit: place, hidden: !shared, facts, limits: rows.limits });
        }
        let plans = parts.iter().map(|part| Arc::new(part.plan.clone())).collect();
        let plan = LogicalPlan::Union(Union::try_new_with_loose_types(plans).map_err(planner)?);
        let facts = (0..parts[0].facts.len())
            .map(|place| {
                let all = parts.iter().map(|part| &part.facts[place]);
                let range = all.clone().map(|facts| facts.range).reduce(Range::union).unwrap_or(Range::UNKNOWN);
                Facts { range, nullable: all.clone().any(|facts| facts.nullable), ..Facts::unknown() }
            })
            .collect();
        Ok(Relation::Rows(Box::new(Rows {
            plan,
            unit: parts[0].unit,
            hidden: !shared,
            facts,
            limits: parts[0].limits,
        })))
    }

    async fn join(&self, join: &Join) -> Result<Relation, QueryError> {
        let left = self.relation(&join.left).await?;
        let right = self.relation(&join.right).await?;
        let plan_of = |side: &Relation| match side {
            Relation::Public(plan) => plan.clone(),
            Relation::Rows(rows) => rows.plan.clone(),
            Relation::Released(inner) => inner.0.plan.clone(),
        };
        let (left_plan, right_plan) = (plan_of(&left), plan_of(&right));
        let rebuilt = || -> Result<Join, QueryError> {
            let on = join.on.iter().map(|(a, b)| Ok((self.total(&left_plan, a)?, self.total(&right_plan, b)?)));
            let on = on.collect::<Result<Vec<_>, QueryError>>()?;
            let both = left_plan.schema().join(right_plan.schema()).map_err(planner)?;
            let subquery = |plan: &LogicalPlan| self.public(plan);
            let filter = join.filter.as_ref().map(|filter| Total::new(&both, &subquery).expression(filter));
            Join::try_new(
                Arc::new(left_plan.clone()),
                Arc::new(right_plan.clone()),
                on,
                filter.transpose()?,
                join.join_type,
                join.join_constraint,
                join.null_equality,
                join.null_aware,
            )
            .map_err(planner)
        };
        match (left, right) {
            (Relation::Public(_), Relation::Public(_)) => {
                Ok(Relation::Public(self.public(&LogicalPlan::Join(join.clone()))?))
            }
            (Relation::Rows(rows), Relation::Public(public)) => {
                let join = rebuilt()?;
                let identifies = self.identifies(&public, equalities(&join).into_iter().map(|(_, key)| key)).await?;
                Ok(Relation::Rows(Box::new(with_public(join, &rows, &self.public_facts(&public), true, identifies)?)))
            }
            (Relation::Public(public), Relation::Rows(rows)) => {
                let join = rebuilt()?;
                let identifies = self.identifies(&public, equalities(&join).into_iter().map(|(key, _)| key)).await?;
                Ok(Relation::Rows(Box::new(with_public(join, &rows, &self.public_facts(&public), false, identifies)?)))
            }
            (Relation::Rows(left), Relation::Rows(right)) => {
                Ok(Relation::Rows(Box::new(of_one_unit(rebuilt()?, &left, &right)?)))
            }
            (Relation::Released(inner), Relation::Public(public)) => {
                let (released, private) = *inner;
                Ok(Relation::Released(Box::new((released.join(join, public, true)?, private))))
            }
            (Relation::Public(public), Relation::Released(inner)) => {
                let (released, private) = *inner;
                Ok(Relation::Released(Box::new((released.join(join, public, false)?, private))))
            }
            (Relation::Released(_), Relation::Released(_)) => refused(TWO_RELEASES),
            (Relation::Released(_), Relation::Rows(_)) | (Relation::Rows(_), Relation::Released(_)) => refused(
                "released figures are joined with private rows: that would need a second release. Ask in two queries",
            ),
        }
    }

    /// What is known of the columns of public tables: their values may be read, and the policy may bound them.
    fn public_facts(&self, plan: &LogicalPlan) -> Vec<Facts> {
        let table = scanned(plan).and_then(|name| self.tables.policy(name));
        let shared = Arc::new(plan.clone());
        let of = |column: Column| {
            let declared = table.and_then(|table| table.columns().iter().find(|known| known.name() == column.name));
            let known = declared.map_or_else(Facts::unknown, |declared| self.tables.facts(declared));
            Facts { domain: Domain::Public { plan: shared.clone(), column, lost: false }, unit_range: None, ..known }
        };
        plan.schema().columns().into_iter().map(of).collect()
    }

    /// Whether these columns identify a row of a public table: the policy says so, and the table, which is public, agrees.
    async fn identifies(&self, public: &LogicalPlan, keys: impl Iterator<Item = Expr>) -> Result<bool, QueryError> {
        let mut inner = public;
        while let LogicalPlan::SubqueryAlias(alias) = inner {
            inner = &alias.input;
        }
        let LogicalPlan::TableScan(scan) = inner else { return Ok(false) };
        let Some(table) = self.tables.policy(scan.table_name.table()) else { return Ok(false) };
        let Privacy::Public { unique } = table.privacy() else { return Ok(false) };
        let joined: Vec<String> = keys.filter_map(|key| plain_column(&key).map(|column| column.name.clone())).collect();
        if unique.is_empty() || !unique.iter().all(|column| joined.contains(column)) {
            return Ok(false);
        }
        // 0.0 and -0.0 may be one value to a join and two to a GROUP BY: real numbers identify nothing.
        let real = |name: &String| table.column(name).is_none_or(|column| column.kind() == ColumnType::Real);
        if unique.iter().any(real) {
            return Ok(false);
        }
        self.check_unique(inner, table, unique).await?;
        Ok(true)
    }

    async fn check_unique(&self, scan: &LogicalPlan, table: &TablePolicy, unique: &[String]) -> Result<(), QueryError> {
        let read = |_| QueryError::Refused(format!("the public table {} could not be read", table.name()));
        let columns: Vec<Expr> =
            unique.iter().map(|name| Expr::Column(Column::new(Some(table.name().to_owned()), name.clone()))).collect();
        let count = datafusion::functions_aggregate::expr_fn::count(datafusion::prelude::lit(1_i64)).alias("rows");
        let plan = LogicalPlanBuilder::from(self.tables.with_public_sources(scan.clone())?)
            .aggregate(columns, vec![count])
            .and_then(|plan| plan.filter(datafusion::prelude::col("rows").gt(datafusion::prelude::lit(1_i64))))
            .and_then(|plan| plan.limit(0, Some(1)))
            .and_then(LogicalPlanBuilder::build)
            .map_err(planner)?;
        let physical = self.state.create_physical_plan(&plan).await.map_err(read)?;
        let batches = datafusion::physical_plan::collect(physical, self.state.task_ctx()).await.map_err(read)?;
        if batches.iter().any(|batch| batch.num_rows() > 0) {
            return refused(format!(
                "the policy says that {} identifies a row of the public table {}, but two rows agree in it",
                unique.join(", "),
                table.name()
            ));
        }
        Ok(())
    }
}

/// The name of the table that a plan is nothing but a scan of.
fn scanned(plan: &LogicalPlan) -> Option<&str> {
    match plan {
        LogicalPlan::TableScan(scan) => Some(scan.table_name.table()),
        LogicalPlan::SubqueryAlias(alias) => scanned(&alias.input),
        _ => None,
    }
}

fn limit_before_aggregation<T>() -> Result<T, QueryError> {
    refused(
        "LIMIT before the aggregates would let one person decide which rows of others count; use WHERE, or LIMIT after GROUP BY",
    )
}

/// The columns of the table of released figures: keys, outputs, and the half-width of each output.
pub(crate) fn released_schema(private: &Aggregation) -> Schema {
    let keys = private.keys.iter().enumerate().map(|(place, key)| (format!("k{place}"), key.data_type.clone()));
    let outputs =
        private.outputs.iter().enumerate().map(|(place, output)| (format!("v{place}"), output.data_type.clone()));
    let widths = (0..private.outputs.len()).map(|place| (format!("h{place}"), DataType::Float64));
    Schema::new(keys.chain(outputs).chain(widths).map(|(name, of)| Field::new(name, of, true)).collect::<Vec<_>>())
}

/// What the rest of the query sees in the place of the aggregate: a table that is filled once the figures are released.
fn leaf(private: &Aggregation) -> Result<Released, QueryError> {
    let empty = Arc::new(EmptyTable::new(Arc::new(released_schema(private))));
    let scan = LogicalPlanBuilder::scan(RELEASED, provider_as_source(empty), None)
        .and_then(LogicalPlanBuilder::build)
        .map_err(planner)?;
    let column = |name: String| Expr::Column(Column::new(Some(RELEASED), name));
    let (keys, outputs) = (private.keys.len(), private.outputs.len());
    let mut expressions = Vec::new();
    for (place, key) in private.keys.iter().enumerate() {
        expressions.push(column(format!("k{place}")).alias_qualified(key.relation.clone(), key.name.clone()));
    }
    for (place, output) in private.outputs.iter().enumerate() {
        expressions.push(column(format!("v{place}")).alias_qualified(output.relation.clone(), output.name.clone()));
    }
    for place in 0..outputs {
        expressions.push(column(format!("h{place}")).alias(format!("__half_of_{place}")));
    }
    let mut widths = vec![None; keys + 2 * outputs];
    for place in 0..outputs {
        widths[keys + place] = Some(keys + outputs + place);
    }
    let mut origins = vec![None; keys + 2 * outputs];
    for (output, origin) in origins[keys..keys + outputs].iter_mut().enumerate() {
        *origin = Some(output);
    }
    let plan = LogicalPlan::Projection(Projection::try_new(expressions, Arc::new(scan)).map_err(planner)?);
    Ok(Released { plan, visible: (0..keys + outputs).collect(), widths, origins })
}
