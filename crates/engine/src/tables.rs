//! The tables of a plan: planned with names and types alone, and filled at the last moment.

use crate::EngineError;
use datafusion::catalog::TableProvider;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{Column, TableReference};
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Projection};
use std::collections::HashMap;
use std::sync::Arc;

/// The schema of the tables that hold public parts of a query once they are computed. No query can
/// name it.
pub const COMPUTED: &str = "computed";

/// The plan with each of these tables instead of the empty one that it was planned with.
///
/// # Errors
/// If a table has not the columns that the plan wants.
pub fn with_tables(
    plan: LogicalPlan,
    tables: &HashMap<String, Arc<dyn TableProvider>>,
) -> Result<LogicalPlan, EngineError> {
    let replaced = plan.transform_up_with_subqueries(|node| {
        let LogicalPlan::TableScan(scan) = &node else { return Ok(Transformed::no(node)) };
        let Some(source) = of_policy(&scan.table_name).and_then(|name| tables.get(name)) else {
            return Ok(Transformed::no(node));
        };
        let columns: Vec<Expr> = scan
            .projected_schema
            .iter()
            .map(|(_, field)| {
                Expr::Column(Column::new(Some(scan.table_name.clone()), field.name()))
            })
            .collect();
        let opened = LogicalPlanBuilder::scan(
            scan.table_name.clone(),
            provider_as_source(source.clone()),
            None,
        )?
        .build()?;
        Ok(Transformed::yes(LogicalPlan::Projection(Projection::try_new(
            columns,
            Arc::new(opened),
        )?)))
    });
    Ok(replaced.map_err(|error| EngineError::Refused(error.strip_backtrace()))?.data)
}

/// The name of a table, unless its rows are in memory.
fn of_policy(name: &TableReference) -> Option<&str> {
    (name.schema() != Some(COMPUTED)).then(|| name.table())
}

/// The names of the tables that a plan reads, also inside its expressions.
///
/// # Errors
/// If the plan cannot be walked, which is a fault of this program.
pub fn tables_of(plan: &LogicalPlan) -> Result<Vec<String>, EngineError> {
    let mut names = Vec::new();
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            names.extend(of_policy(&scan.table_name).map(str::to_owned));
        }
        Ok(TreeNodeRecursion::Continue)
    })
    .map_err(|_| EngineError::Fault { part: "the tables of the query" })?;
    names.sort();
    names.dedup();
    Ok(names)
}
