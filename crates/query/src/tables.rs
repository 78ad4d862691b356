//! The tables of a policy as the planner sees them: names, types and public facts. No private table
//! is opened to plan a query.

use crate::error::QueryError;
use crate::sql::{Domain, Facts, Range};
use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::catalog::TableProvider;
use datafusion::common::{ScalarValue, TableReference};
use datafusion::datasource::empty::EmptyTable;
use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::SessionContext;
use reticent_engine::{SourceTable, with_tables};
use reticent_policy::{Column, Policy, TablePolicy, Value};
use reticent_sources::{TableSources, engine_type};
use std::collections::HashMap;
use std::sync::Arc;

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

    /// The columns of a table, in the engine's types. All may be NULL as far as the engine is
    /// concerned: what a policy says is not a reason to crash.
    pub(crate) fn schema(table: &TablePolicy) -> Schema {
        let fields = table
            .columns()
            .iter()
            .map(|column| Field::new(column.name(), engine_type(column.kind()), true));
        Schema::new(fields.collect::<Vec<_>>())
    }

    /// Makes the tables of a policy known to the planner, without their contents.
    pub(crate) fn register(policy: &Policy, context: &SessionContext) -> Result<(), QueryError> {
        for table in policy.tables() {
            let empty = Arc::new(EmptyTable::new(Arc::new(Self::schema(table))));
            let name = TableReference::bare(table.name());
            context
                .register_table(name, empty)
                .map_err(|error| QueryError::Refused(error.strip_backtrace()))?;
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
        Ok(with_tables(plan, &self.public)?)
    }
}

/// A table of the policy, open for the engine.
pub(crate) fn opened(
    sources: &TableSources<'_>,
    table: &TablePolicy,
) -> Result<Arc<dyn TableProvider>, QueryError> {
    Ok(Arc::new(SourceTable::new(table.name(), sources.open(table)?)))
}
