//! The part of a query above its aggregates: it sees released figures only, and carries their
//! half-widths along.
//!
//! Half-widths of an expression `e` of released columns `c_i` with half-widths `h_i` are
//! `sqrt(sum_i (e(c_i + h_i) - e)^2)`: to first order the half-width of a function of independent
//! errors.

use super::aggregation::Aggregation;
use super::rows::{condition, plain_column, planner, refused};
use crate::error::QueryError;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::Column;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::datasource::{empty::EmptyTable, provider_as_source};
use datafusion::functions::math::expr_fn::{round, sqrt};
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{
    Aggregate, Distinct, Expr, ExprSchemable, Filter, Join, LogicalPlan, LogicalPlanBuilder,
    Projection, Sort, SubqueryAlias, cast,
};
use datafusion::prelude::lit;
use reticent_engine::Total;
use std::sync::Arc;

/// A relation of released figures.
#[derive(Clone, Debug)]
pub(crate) struct Released {
    pub(crate) plan: LogicalPlan,
    /// The indices of the columns that the query sees.
    pub(crate) visible: Vec<usize>,
    /// For each column of the plan the index of its half-width.
    pub(crate) widths: Vec<Option<usize>>,
    /// For each column of the plan the output of the aggregate that it is, if it is one unchanged.
    pub(crate) origins: Vec<Option<usize>>,
}

/// The name of the table of released figures in the plan.
pub(crate) const RELEASED: &str = "__released";

/// An expression over released figures, total and under its own name.
fn named(input: &LogicalPlan, expression: &Expr) -> Result<Expr, QueryError> {
    let (relation, name) = expression.qualified_name();
    let total = Total::new(input.schema()).expression(expression)?;
    Ok(if total.qualified_name() == (relation.clone(), name.clone()) {
        total
    } else {
        total.alias_qualified(relation, name)
    })
}

/// The columns of the table of released figures: keys, outputs, and the half-width of each output.
pub(crate) fn released_schema(private: &Aggregation) -> Schema {
    let keys = private
        .keys
        .iter()
        .enumerate()
        .map(|(index, key)| (format!("k{index}"), key.data_type.clone()));
    let outputs = private
        .outputs
        .iter()
        .enumerate()
        .map(|(index, output)| (format!("v{index}"), output.data_type.clone()));
    let widths = (0..private.outputs.len()).map(|index| (format!("h{index}"), DataType::Float64));
    Schema::new(
        keys.chain(outputs)
            .chain(widths)
            .map(|(name, of)| Field::new(name, of, true))
            .collect::<Vec<_>>(),
    )
}

impl Released {
    /// What the rest of the query sees in place of the aggregate: a table that is filled once
    /// the figures are released.
    pub(crate) fn by(private: &Aggregation) -> Result<Released, QueryError> {
        let empty = Arc::new(EmptyTable::new(Arc::new(released_schema(private))));
        let scan = LogicalPlanBuilder::scan(RELEASED, provider_as_source(empty), None)
            .and_then(LogicalPlanBuilder::build)
            .map_err(planner)?;
        let column = |name: String| Expr::Column(Column::new(Some(RELEASED), name));
        let (keys, outputs) = (private.keys.len(), private.outputs.len());
        let mut expressions = Vec::new();
        for (index, key) in private.keys.iter().enumerate() {
            expressions.push(
                column(format!("k{index}")).alias_qualified(key.relation.clone(), key.name.clone()),
            );
        }
        for (index, output) in private.outputs.iter().enumerate() {
            expressions.push(
                column(format!("v{index}"))
                    .alias_qualified(output.relation.clone(), output.name.clone()),
            );
        }
        for index in 0..outputs {
            expressions.push(column(format!("h{index}")).alias(format!("__half_of_{index}")));
        }
        let mut widths = vec![None; keys + 2 * outputs];
        for index in 0..outputs {
            widths[keys + index] = Some(keys + outputs + index);
        }
        let mut origins = vec![None; keys + 2 * outputs];
        for (output, origin) in origins[keys..keys + outputs].iter_mut().enumerate() {
            *origin = Some(output);
        }
        let plan = LogicalPlan::Projection(
            Projection::try_new(expressions, Arc::new(scan)).map_err(planner)?,
        );
        Ok(Released { plan, visible: (0..keys + outputs).collect(), widths, origins })
    }

    fn width_of(&self, column: &Column) -> Option<Column> {
        let schema = self.plan.schema();
        let index = schema.index_of_column(column).ok()?;
        self.widths[index].map(|width| Column::from(schema.qualified_field(width)))
    }

    /// The half-width of an expression, if it is a number made of released numbers.
    fn width(&self, expression: &Expr) -> Result<Option<Expr>, QueryError> {
        let schema = self.plan.schema();
        if !expression.get_type(schema).map_err(planner)?.is_numeric() {
            return Ok(None);
        }
        if let Some(column) = plain_column(expression) {
            return Ok(self.width_of(column).map(Expr::Column));
        }
        let mut bare = expression;
        while let Expr::Alias(alias) = bare {
            bare = &alias.expr;
        }
        let float = |value: Expr| cast(value, DataType::Float64);
        let mut columns: Vec<&Column> = bare.column_refs().into_iter().collect();
        columns.sort();
        let mut squares: Option<Expr> = None;
        for column in columns {
            let Some(width) = self.width_of(column) else { continue };
            let of = Expr::Column(column.clone()).get_type(schema).map_err(planner)?;
            let mut moved = float(Expr::Column(column.clone())) + Expr::Column(width);
            if of.is_integer() {
                moved = round(vec![moved]);
            }
            let moved = cast(moved, of);
            let elsewhere = bare
                .clone()
                .transform(|inner| {
                    Ok(match &inner {
                        Expr::Column(found) if found == column => Transformed::yes(moved.clone()),
                        _ => Transformed::no(inner),
                    })
                })
                .map_err(planner)?
                .data;
            let difference = float(elsewhere) - float(bare.clone());
            let square = difference.clone() * difference;
            squares = Some(match squares {
                None => square,
                Some(sum) => sum + square,
            });
        }
        Ok(squares.map(|squares| Total::new(schema).expression(&sqrt(squares))).transpose()?)
    }

    pub(crate) fn project(self, projection: &Projection) -> Result<Released, QueryError> {
        let mut expressions = Vec::new();
        let mut half_widths = Vec::new();
        for (index, expression) in projection.expr.iter().enumerate() {
            let named = named(&self.plan, expression)?;
            if let Some(width) = self.width(expression)? {
                half_widths.push((index, width));
            }
            expressions.push(named);
        }
        let visible: Vec<usize> = (0..expressions.len()).collect();
        let schema = self.plan.schema();
        let origin = |expression: &Expr| {
            let column = plain_column(expression)?;
            self.origins[schema.index_of_column(column).ok()?]
        };
        let mut origins: Vec<Option<usize>> = expressions.iter().map(origin).collect();
        origins.resize(expressions.len() + half_widths.len(), None);
        let mut widths = vec![None; expressions.len() + half_widths.len()];
        for (index, width) in half_widths {
            widths[index] = Some(expressions.len());
            expressions.push(width.alias(format!("__half{}", expressions.len())));
        }
        let plan = LogicalPlan::Projection(
            Projection::try_new(expressions, Arc::new(self.plan)).map_err(planner)?,
        );
        Ok(Released { plan, visible, widths, origins })
    }

    pub(crate) fn filter(self, filter: &Filter) -> Result<Released, QueryError> {
        let predicate = Total::new(self.plan.schema()).condition(&filter.predicate)?;
        let plan =
            LogicalPlan::Filter(Filter::try_new(predicate, Arc::new(self.plan)).map_err(planner)?);
        Ok(Released { plan, ..self })
    }

    pub(crate) fn sort(self, sort: &Sort) -> Result<Released, QueryError> {
        let mut sort = sort.clone();
        for key in &mut sort.expr {
            key.expr = Total::new(self.plan.schema()).expression(&key.expr)?;
        }
        sort.input = Arc::new(self.plan);
        Ok(Released {
            plan: LogicalPlan::Sort(sort),
            visible: self.visible,
            widths: self.widths,
            origins: self.origins,
        })
    }

    pub(crate) fn limit(self, limit: &datafusion::logical_expr::Limit) -> Released {
        let plan = LogicalPlan::Limit(datafusion::logical_expr::Limit {
            input: Arc::new(self.plan),
            ..limit.clone()
        });
        Released { plan, visible: self.visible, widths: self.widths, origins: self.origins }
    }

    pub(crate) fn alias(self, alias: &SubqueryAlias) -> Result<Released, QueryError> {
        let renamed =
            SubqueryAlias::try_new(Arc::new(self.plan), alias.alias.clone()).map_err(planner)?;
        Ok(Released { plan: LogicalPlan::SubqueryAlias(renamed), ..self })
    }

    /// Only what the query sees, without half-widths: what aggregates and DISTINCT over released
    /// figures are of.
    fn bare(self) -> Result<LogicalPlan, QueryError> {
        let schema = self.plan.schema().clone();
        let seen = self
            .visible
            .iter()
            .map(|&index| Expr::Column(Column::from(schema.qualified_field(index))));
        Ok(LogicalPlan::Projection(
            Projection::try_new(seen.collect(), Arc::new(self.plan)).map_err(planner)?,
        ))
    }

    fn without_widths(plan: LogicalPlan) -> Released {
        let count = plan.schema().fields().len();
        Released {
            plan,
            visible: (0..count).collect(),
            widths: vec![None; count],
            origins: vec![None; count],
        }
    }

    pub(crate) fn distinct(self) -> Result<Released, QueryError> {
        Ok(Released::without_widths(LogicalPlan::Distinct(Distinct::All(Arc::new(self.bare()?)))))
    }

    /// An aggregate over released figures: it costs nothing more.
    pub(crate) fn aggregate(self, aggregate: &Aggregate) -> Result<Released, QueryError> {
        let input = self.bare()?;
        let keys =
            aggregate.group_expr.iter().map(|key| named(&input, key)).collect::<Result<_, _>>()?;
        let total = Total::new(input.schema());
        let call = |expression: &Expr| {
            let (relation, name) = expression.qualified_name();
            Ok(total.aggregate(expression)?.alias_qualified(relation, name))
        };
        let calls = aggregate.aggr_expr.iter().map(call).collect::<Result<_, QueryError>>()?;
        let again = Aggregate::try_new(Arc::new(input.clone()), keys, calls);
        Ok(Released::without_widths(LogicalPlan::Aggregate(again.map_err(planner)?)))
    }

    /// A join with public tables, on the left or on the right.
    pub(crate) fn join(
        self,
        join: &Join,
        public: LogicalPlan,
        released_is_left: bool,
    ) -> Result<Released, QueryError> {
        let own = self.plan.schema().fields().len();
        let others = public.schema().fields().len();
        let (left, right) =
            if released_is_left { (self.plan, public) } else { (public, self.plan) };
        let (pairs, rest) = condition(join);
        let total = |side: &LogicalPlan, expression: &Expr| {
            Total::new(side.schema()).expression(expression)
        };
        let on = pairs.iter().map(|(a, b)| Ok((total(&left, a)?, total(&right, b)?)));
        let on = on.collect::<Result<Vec<_>, QueryError>>()?;
        let both = left.schema().join(right.schema()).map_err(planner)?;
        let filter =
            conjunction(rest).map(|filter| Total::new(&both).expression(&filter)).transpose()?;
        let again = Join::try_new(
            Arc::new(left),
            Arc::new(right),
            on,
            filter,
            join.join_type,
            join.join_constraint,
            join.null_equality,
            join.null_aware,
        )
        .map_err(planner)?;
        if again.schema.fields().len() != own + others {
            return refused(
                "a semi join of released figures is not offered; write an inner or left join",
            );
        }
        let shift = if released_is_left { 0 } else { others };
        let own_columns: Vec<usize> = self.visible.iter().map(|index| index + shift).collect();
        let other_columns: Vec<usize> =
            (0..others).map(|index| if released_is_left { own + index } else { index }).collect();
        let own_widths: Vec<Option<usize>> =
            self.widths.iter().map(|width| width.map(|at| at + shift)).collect();
        let no_widths = vec![None; others];
        let no_origins = no_widths.clone();
        let (visible, widths, origins) = if released_is_left {
            (
                [own_columns, other_columns].concat(),
                [own_widths, no_widths].concat(),
                [self.origins, no_origins].concat(),
            )
        } else {
            (
                [other_columns, own_columns].concat(),
                [no_widths, own_widths].concat(),
                [no_origins, self.origins].concat(),
            )
        };
        Ok(Released { plan: LogicalPlan::Join(again), visible, widths, origins })
    }

    /// The whole: the columns that the query sees in order, and then the half-width of each, NULL
    /// where there is none.
    pub(crate) fn finished(self) -> Result<(LogicalPlan, usize), QueryError> {
        let schema = self.plan.schema().clone();
        let mut expressions = Vec::new();
        for &index in &self.visible {
            let column = Expr::Column(Column::from(schema.qualified_field(index)));
            expressions.push(column.alias(format!("__value{}", expressions.len())));
        }
        let count = expressions.len();
        for (number, &index) in self.visible.iter().enumerate() {
            let width = match self.widths[index] {
                Some(width) => Expr::Column(Column::from(schema.qualified_field(width))),
                None => lit(datafusion::common::ScalarValue::Float64(None)),
            };
            expressions.push(cast(width, DataType::Float64).alias(format!("__width{number}")));
        }
        let plan = Projection::try_new(expressions, Arc::new(self.plan)).map_err(planner)?;
        Ok((LogicalPlan::Projection(plan), count))
    }
}
