//! The tables of a policy as the planner sees them: names, types and public facts. No private table is opened to plan a query.

use crate::error::QueryError;
use crate::source::engine_type;
use crate::sql::{Domain, Facts, Range};
use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::catalog::TableProvider;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{Column as ColumnName, ScalarValue, TableReference};
use datafusion::datasource::{empty::EmptyTable, provider_as_source};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Projection};
use datafusion::prelude::SessionContext;
use reticent_policy::{Column, Policy, TablePolicy, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// The schema of the tables that hold public parts of a query once they are computed. No query can name it.
pub(crate) const COMPUTED: &str = "computed";

/// The tables of a policy, and those public ones that are open.
pub(crate) struct Tables<'a> {
    policy: &'a Policy,
    public: HashMap<String, Arc<dyn TableProvider>>,
}

/// A public value in the engine's type.
pub(crate) fn scalar(value: &Value) -> ScalarValue {
    match value {
        Value::Integer(number) => ScalarValue::Int64(Some(*number)),
        Value::Real(number) => ScalarValue::Float64(Some(*number)),
        Value::Text(text) => ScalarValue::Utf8(Some(text.clone())),
        Value::Boolean(truth) => ScalarValue::Boolean(Some(*truth)),
        Value::Date(days) => ScalarValue::Date32(Some(*days)),
        Value::Timestamp(moment) => ScalarValue::TimestampMicrosecond(Some(*moment), None),
    }
}

impl<'a> Tables<'a> {
    pub(crate) fn new(policy: &'a Policy, public: HashMap<String, Arc<dyn TableProvider>>) -> Self {
        Tables { policy, public }
    }

    pub(crate) fn policy(&self, name: &str) -> Option<&'a TablePolicy> {
        self.policy.tables().iter().find(|table| table.name() == name)
    }

    /// The columns of a table, in the engine's types. All may be NULL as far as the engine is concerned: what a policy says is not a reason to crash.
    pub(crate) fn schema(table: &TablePolicy) -> Schema {
        let fields = table.columns().iter().map(|column| Field::new(column.name(), engine_type(column.kind()), true));
        Schema::new(fields.collect::<Vec<_>>())
    }

    /// Makes the tables of a policy known to the planner, without their contents.
    pub(crate) fn register(policy: &Policy, context: &SessionContext) -> Result<(), QueryError> {
        for table in policy.tables() {
            let empty = Arc::new(EmptyTable::new(Arc::new(Self::schema(table))));
            let name = TableReference::bare(table.name());
            context.register_table(name, empty).map_err(|error| QueryError::Refused(error.strip_backtrace()))?;
        }
        Ok(())
    }

    /// What the policy says of a column.
    pub(crate) fn facts(&self, column: &Column) -> Facts {
        let range = |bounds: &reticent_policy::Bounds| {
            bounds.numbers().map_or(Range::UNKNOWN, |(lower, upper)| Range::new(lower, upper))
        };
        let of = engine_type(column.kind());
        let values = column.values().map(|values| {
            // A policy's value always casts to the type of its own column.
            values.iter().filter_map(|value| scalar(value).cast_to(&of).ok()).collect::<Vec<_>>()
        });
        Facts {
            range: column.bounds().map_or(Range::UNKNOWN, range),
            domain: values.map_or(Domain::Unknown, |values| Domain::Values(Arc::new(values))),
            unit_range: column.unit_bounds().map(range),
            nullable: column.nullable(),
            is_unit: false,
        }
    }

    /// The plan over the public tables that are open.
    pub(crate) fn with_public_sources(&self, plan: LogicalPlan) -> Result<LogicalPlan, QueryError> {
        with_sources(plan, &self.public)
    }
}

/// The plan with each of these tables in the place of the empty one that it was planned with.
pub(crate) fn with_sources(
    plan: LogicalPlan,
    sources: &HashMap<String, Arc<dyn TableProvider>>,
) -> Result<LogicalPlan, QueryError> {
    let replaced = plan.transform_up_with_subqueries(|node| {
        let LogicalPlan::TableScan(scan) = &node else { return Ok(Transformed::no(node)) };
        let Some(source) = of_policy(&scan.table_name).and_then(|name| sources.get(name)) else {
            return Ok(Transformed::no(node));
        };
        let columns: Vec<Expr> = scan
            .projected_schema
            .iter()
            .map(|(_, field)| Expr::Column(ColumnName::new(Some(scan.table_name.clone()), field.name())))
            .collect();
        let opened =
            LogicalPlanBuilder::scan(scan.table_name.clone(), provider_as_source(source.clone()), None)?.build()?;
        Ok(Transformed::yes(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(opened))?)))
    });
    Ok(replaced.map_err(|error| QueryError::Refused(error.strip_backtrace()))?.data)
}

/// The name of a table, unless its rows are in memory.
fn of_policy(name: &TableReference) -> Option<&str> {
    (name.schema() != Some(COMPUTED)).then(|| name.table())
}

/// The names of the tables that a plan reads, also inside its expressions.
pub(crate) fn tables_of(plan: &LogicalPlan) -> Result<Vec<String>, QueryError> {
    let mut names = Vec::new();
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            names.extend(of_policy(&scan.table_name).map(str::to_owned));
        }
        Ok(TreeNodeRecursion::Continue)
    })
    .map_err(|_| QueryError::Fault { place: "the tables of the query" })?;
    names.sort();
    names.dedup();
    Ok(names)
}
