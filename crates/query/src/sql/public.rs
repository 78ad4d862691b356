//! The parts of a query that read public tables only: what may stand in them, and what is known of their columns.

use super::facts::{Domain, Facts};
use super::rows::{plain_column, planner, refused};
use super::walk::Walk;
use crate::error::QueryError;
use crate::expression::Total;
use datafusion::common::Column;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Volatility};
use reticent_policy::{ColumnType, Privacy, TablePolicy};
use std::sync::Arc;

impl Walk<'_> {
    /// A plan over public tables: nothing in it may change from run to run.
    pub(super) fn public(&self, plan: &LogicalPlan) -> Result<LogicalPlan, QueryError> {
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
        let total = plan.clone().transform_up(|node| {
            let schema = merge_schema(&node.inputs());
            let names = NamePreserver::new(&node);
            let rewritten = node.map_expressions(|expression| {
                let name = names.save(&expression);
                match Total::new(&schema).aggregate(&expression) {
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

    /// What is known of the columns of public tables: their values may be read, and the policy may bound them.
    pub(super) fn public_facts(&self, plan: &LogicalPlan) -> Vec<Facts> {
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
    pub(super) async fn identifies(
        &self,
        public: &LogicalPlan,
        keys: impl Iterator<Item = Expr>,
    ) -> Result<bool, QueryError> {
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
