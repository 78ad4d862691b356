//! The parts of a query that read public tables only: computed first, by themselves, before any
//! private table is opened.
//!
//! What is joined with private rows or with released figures is then a table in memory, and a
//! sub-query in an expression is a literal. So no private row has a part in how they are computed,
//! and what can fail there fails before anything is paid.

use super::facts::{Domain, Facts};
use super::rows::{planner, refused};
use super::syntax::LONGEST_LIST;
use super::walk::Walk;
use crate::error::QueryError;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Float64Array};
use datafusion::arrow::compute::{cast, concat_batches};
use datafusion::arrow::datatypes::{DataType, Field, Float64Type, Schema};
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::row::{RowConverter, SortField};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, ScalarValue, TableReference};
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{
    Expr, LogicalPlan, LogicalPlanBuilder, Projection, Subquery, Volatility,
};
use datafusion::physical_expr::create_physical_expr;
use datafusion::physical_plan::execute_stream;
use datafusion::prelude::lit;
use futures::StreamExt;
use futures::future::BoxFuture;
use reticent_engine::{COMPUTED, tables_of};
use reticent_policy::Privacy;
use std::collections::HashMap;
use std::sync::Arc;

/// The most rows of a public part of a query.
const MOST_ROWS: usize = 10_000_000;

/// The most memory of a public part of a query.
const MOST_BYTES: usize = 1 << 30;

/// A public part of a query, in memory.
pub(super) struct Computed {
    /// A scan of it, with the columns of the part.
    pub(super) plan: LogicalPlan,
    pub(super) facts: Vec<Facts>,
    rows: RecordBatch,
}

impl Walk<'_> {
    /// Whether a plan reads public tables only.
    pub(super) fn is_public(&self, plan: &LogicalPlan) -> Result<bool, QueryError> {
        let is_public =
            |name: &String| self.tables.policy(name).is_some_and(|table| table.is_public());
        Ok(tables_of(plan)?.iter().all(is_public))
    }

    /// The plan with the value of each sub-query in its expression.
    pub(crate) fn without_subqueries<'b>(
        &'b self,
        plan: &'b LogicalPlan,
    ) -> BoxFuture<'b, Result<LogicalPlan, QueryError>> {
        Box::pin(async move {
            if self.is_public(plan)? {
                return Ok(plan.clone());
            }
            let mut inputs = Vec::new();
            for input in plan.inputs() {
                inputs.push(self.without_subqueries(input).await?);
            }
            let plan = match inputs.as_slice() {
                [] => plan.clone(),
                _ => plan.with_new_exprs(plan.expressions(), inputs).map_err(planner)?,
            };
            let mut found: Vec<Subquery> = Vec::new();
            plan.apply_expressions(|expression| {
                expression.apply(|part| {
                    match part {
                        Expr::InSubquery(within) => found.push(within.subquery.clone()),
                        Expr::ScalarSubquery(subquery) => found.push(subquery.clone()),
                        Expr::Exists(exists) => found.push(exists.subquery.clone()),
                        _ => {}
                    }
                    Ok(TreeNodeRecursion::Continue)
                })
            })
            .map_err(planner)?;
            let mut values: Vec<(Subquery, RecordBatch)> = Vec::new();
            for subquery in found {
                if !subquery.outer_ref_columns.is_empty() {
                    return refused(
                        "a sub-query inside an expression must not refer to the query around it; \
                         write a join",
                    );
                }
                let rows = self.rows_of(&subquery.subquery).await?;
                values.push((subquery, rows));
            }
            let names = NamePreserver::new(&plan);
            let mut wrong = None;
            let replaced = plan.map_expressions(|expression| {
                let name = names.save(&expression);
                let replaced = expression.transform_up(|part| {
                    Ok(match value_of(&part, &values) {
                        None => Transformed::no(part),
                        Some(Ok(value)) => Transformed::yes(value),
                        Some(Err(error)) => {
                            wrong.get_or_insert(error);
                            Transformed::no(part)
                        }
                    })
                })?;
                Ok(replaced.update_data(|expression| name.restore(expression)))
            });
            match wrong {
                Some(error) => Err(error),
                None => {
                    replaced.and_then(|replaced| replaced.data.recompute_schema()).map_err(planner)
                }
            }
        })
    }

    /// Computes a public part that is joined with something else.
    pub(super) async fn computed(&self, part: &LogicalPlan) -> Result<Computed, QueryError> {
        let rows = self.rows_of(part).await?;
        let table = scanned(part).and_then(|name| self.tables.policy(name));
        let name = TableReference::partial(COMPUTED, table.map_or("part", |table| table.name()));
        let scan = MemTable::try_new(rows.schema(), vec![vec![rows.clone()]])
            .and_then(|memory| {
                LogicalPlanBuilder::scan(name.clone(), provider_as_source(Arc::new(memory)), None)
            })
            .and_then(LogicalPlanBuilder::build)
            .map_err(planner)?;
        let columns = part.schema().iter().enumerate().map(|(index, (relation, field))| {
            let column = Column::new(Some(name.clone()), rows.schema().field(index).name());
            Expr::Column(column).alias_qualified(relation.cloned(), field.name())
        });
        let plan = LogicalPlan::Projection(
            Projection::try_new(columns.collect(), Arc::new(scan)).map_err(planner)?,
        );
        let shared = Arc::new(plan.clone());
        let fact = |column: Column| {
            let declared = table
                .and_then(|table| table.columns().iter().find(|known| known.name() == column.name));
            let known =
                declared.map_or_else(Facts::unknown, |declared| self.tables.facts(declared));
            Facts {
                domain: Domain::Public { plan: shared.clone(), column, lost: false },
                unit_range: None,
                ..known
            }
        };
        let facts = plan.schema().columns().into_iter().map(fact).collect();
        let computed = Computed { plan, facts, rows };
        if let Some(table) = table
            && let Privacy::Public { unique } = table.privacy()
            && !unique.is_empty()
        {
            let of = |name: &String| {
                computed.plan.schema().columns().into_iter().find(|column| column.name == *name)
            };
            let keys: Vec<Expr> = unique.iter().filter_map(of).map(Expr::Column).collect();
            if computed.most_matches(&keys)? > 1 {
                return refused(format!(
                    "the policy says that {} identifies a row of the public table {}, but two rows \
                     agree in it",
                    unique.join(", "),
                    table.name()
                ));
            }
        }
        Ok(computed)
    }

    /// The rows of a plan that must read public tables only, in one batch, in an order that is the
    /// same each time.
    async fn rows_of(&self, part: &LogicalPlan) -> Result<RecordBatch, QueryError> {
        check(part, |name| self.tables.policy(name).is_some_and(|table| table.is_public()))?;
        let of = match tables_of(part)?.as_slice() {
            [] => "VALUES".to_owned(),
            names => names.join(", "),
        };
        let failed = |error: datafusion::common::DataFusionError| {
            let cause = error.strip_backtrace();
            QueryError::Refused(format!(
                "the part of the query over public data ({of}) cannot be computed: {cause}"
            ))
        };
        let plan = self.tables.with_public_sources(part.clone())?;
        let physical = self.state.create_physical_plan(&plan).await.map_err(failed)?;
        let schema = physical.schema();
        let mut stream = execute_stream(physical, self.state.task_ctx()).map_err(failed)?;
        let (mut batches, mut rows, mut bytes) = (Vec::new(), 0, 0);
        while let Some(batch) = stream.next().await {
            let batch = batch.map_err(failed)?;
            rows += batch.num_rows();
            bytes += batch.get_array_memory_size();
            if rows > MOST_ROWS || bytes > MOST_BYTES {
                return refused(format!(
                    "the part of the query over public data ({of}) has more than {MOST_ROWS} rows, \
                     or takes more than 1 GiB: \
                     filter or aggregate it first"
                ));
            }
            batches.push(batch);
        }
        let whole = concat_batches(&schema, &batches).map_err(|error| failed(error.into()))?;
        canonical(&whole, None).map_err(|error| failed(error.into()))
    }
}

/// Refuses private tables, and functions that change from run to run.
fn check(part: &LogicalPlan, is_public: impl Fn(&str) -> bool) -> Result<(), QueryError> {
    let mut wrong: Option<String> = None;
    part.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node
            && !is_public(scan.table_name.table())
        {
            wrong = Some(format!(
                "the private table {} is read where only public tables are: a sub-query inside an \
                 expression must be \
                 over public tables. Write a join on the privacy unit",
                scan.table_name.table()
            ));
        }
        node.apply_expressions(|expression| {
            expression.apply(|part| {
                if let Expr::ScalarFunction(call) = part
                    && call.func.signature().volatility != Volatility::Immutable
                {
                    let name = call.func.name();
                    wrong = Some(format!(
                        "the function {name} is not offered: its values change \
                        from run to run"
                    ));
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })
    .map_err(planner)?;
    wrong.map_or(Ok(()), refused)
}

/// The rows with names for their columns that differ, and with one form of each real number: -0.0
/// is 0.0, and all NaN are one, or NULL.
fn canonical(
    rows: &RecordBatch,
    nan: Option<f64>,
) -> Result<RecordBatch, datafusion::arrow::error::ArrowError> {
    let mut columns: Vec<ArrayRef> = Vec::new();
    let mut fields = Vec::new();
    for (index, column) in rows.columns().iter().enumerate() {
        fields.push(Field::new(format!("c{index}"), column.data_type().clone(), true));
        columns.push(if column.data_type().is_floating() {
            let wide = cast(column, &DataType::Float64)?;
            let plain = |value: f64| if value.is_nan() { nan } else { Some(value + 0.0) };
            let values =
                wide.as_primitive::<Float64Type>().iter().map(|value| value.and_then(plain));
            cast(&values.collect::<Float64Array>(), column.data_type())?
        } else {
            column.clone()
        });
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)
}

/// What a sub-query is where it stands.
fn value_of(part: &Expr, values: &[(Subquery, RecordBatch)]) -> Option<Result<Expr, QueryError>> {
    let rows = |subquery: &Subquery| {
        values.iter().find(|(known, _)| known == subquery).map(|(_, rows)| rows)
    };
    let scalar =
        |rows: &RecordBatch, row| ScalarValue::try_from_array(rows.column(0), row).map_err(planner);
    match part {
        Expr::Exists(exists) => {
            rows(&exists.subquery).map(|rows| Ok(lit((rows.num_rows() > 0) != exists.negated)))
        }
        Expr::ScalarSubquery(subquery) => rows(subquery).map(|rows| match rows.num_rows() {
            0 => ScalarValue::try_new_null(rows.column(0).data_type()).map(lit).map_err(planner),
            1 => scalar(rows, 0).map(lit),
            more => refused(format!(
                "a sub-query that stands for one value has {more} rows; write an aggregate, or IN \
                 (SELECT ...)"
            )),
        }),
        Expr::InSubquery(within) => rows(&within.subquery).map(|rows| {
            let mut list: Vec<ScalarValue> = Vec::new();
            let mut seen = std::collections::HashSet::new();
            for row in 0..rows.num_rows() {
                let value = scalar(rows, row)?;
                if seen.insert(value.clone()) {
                    list.push(value);
                }
            }
            match list.len() {
                // Nothing is in an empty list, not even what is not known.
                0 => Ok(lit(within.negated)),
                1..=LONGEST_LIST => {
                    let list = list.into_iter().map(lit).collect();
                    Ok(Expr::InList(InList {
                        expr: within.expr.clone(),
                        list,
                        negated: within.negated,
                    }))
                }
                more => refused(format!(
                    "IN (SELECT ...) has {more} values: at most {LONGEST_LIST} are offered; write \
                     a join"
                )),
            }
        }),
        _ => None,
    }
}

impl Computed {
    /// The most rows that agree in these expressions, of those in which none is NULL; without any,
    /// all rows.
    pub(super) fn most_matches(&self, keys: &[Expr]) -> Result<u64, QueryError> {
        if keys.is_empty() {
            return Ok(self.rows.num_rows() as u64);
        }
        let mut columns = Vec::new();
        for key in keys {
            let physical = create_physical_expr(
                key,
                self.plan.schema(),
                &ExecutionProps::new(),
                &PhysicalPlanningContext::default(),
            );
            let column = physical
                .and_then(|key| key.evaluate(&self.rows))
                .and_then(|values| values.into_array(self.rows.num_rows()))
                .map_err(planner)?;
            columns.push(column);
        }
        let fields =
            columns.iter().map(|column| Field::new("key", column.data_type().clone(), true));
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows.num_rows()));
        let keys = RecordBatch::try_new_with_options(
            Arc::new(Schema::new(fields.collect::<Vec<_>>())),
            columns.clone(),
            &options,
        );
        // One more time, for what the expressions make. A join may find that NaN equals NaN.
        let keys = keys
            .and_then(|keys| canonical(&keys, Some(f64::NAN)))
            .map_err(|error| planner(error.into()))?;
        let types = keys
            .columns()
            .iter()
            .map(|column| SortField::new(column.data_type().clone()))
            .collect();
        let rows = RowConverter::new(types)
            .and_then(|converter| converter.convert_columns(keys.columns()))
            .map_err(|error| planner(error.into()))?;
        let mut counts: HashMap<&[u8], u64> = HashMap::new();
        for (index, row) in rows.iter().enumerate() {
            if keys.columns().iter().all(|column| column.is_valid(index)) {
                *counts.entry(row.data()).or_insert(0) += 1;
            }
        }
        Ok(counts.into_values().max().unwrap_or(0))
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
