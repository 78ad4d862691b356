//! Conditions over attributes, evaluated on the cells of their public table.

use super::attributes::Read;
use crate::error::QueryError;
use crate::prepare::{check_size, folded, in_the_case_of, parse};
use crate::sql::{planner, take_options, understood};
use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch, UInt64Array};
use datafusion::arrow::compute::{cast, take};
use datafusion::arrow::datatypes::{DataType, Field, Float64Type, Schema};
use datafusion::common::DFSchema;
use datafusion::datasource::empty::EmptyTable;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast;
use reticent_engine::{Embedded, Total};
use reticent_workloads::Attributes;
use std::sync::Arc;

const CELLS: &str = "cells";

/// The cells of the table of some attributes, one row each, the last attribute changing fastest.
pub(super) struct Cells {
    batch: RecordBatch,
    names: Vec<String>,
}

fn failed(_: impl std::error::Error) -> QueryError {
    QueryError::Refused("the cells of the attributes cannot be listed".to_owned())
}

impl Cells {
    /// The cells of a set of attributes, of which there must be at most a million.
    pub(super) fn of(read: &Read, set: Attributes) -> Result<Self, QueryError> {
        let cells = read.domain.cells(set).filter(|cells| *cells <= 1 << 20).ok_or_else(|| {
            QueryError::Refused(
                "the attributes of the queries have more than 2^20 (1048576) cells together: name \
                 fewer attributes, or coarser ones"
                    .to_owned(),
            )
        })?;
        let mut repeat = cells;
        let (mut fields, mut columns, mut names) = (Vec::new(), Vec::new(), Vec::new());
        for attribute in set.iter().filter_map(|index| read.attributes.get(index)) {
            let size = attribute.values.len() as u64;
            repeat /= size.max(1);
            let indices: UInt64Array =
                (0..cells).map(|cell| Some(cell / repeat % size.max(1))).collect();
            columns.push(take(&attribute.values, &indices, None).map_err(failed)?);
            let of = attribute.values.data_type().clone();
            fields.push(Field::new(&attribute.name, of, true));
            names.push(attribute.name.clone());
        }
        if fields.is_empty() {
            // The total alone: one cell, and a batch needs a column.
            fields.push(Field::new("total", DataType::Int64, true));
            columns.push(Arc::new(datafusion::arrow::array::Int64Array::from(vec![1])));
        }
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(failed)?;
        Ok(Cells { batch, names })
    }

    /// In which cells a condition holds.
    pub(super) async fn condition(&self, text: &str) -> Result<Vec<bool>, QueryError> {
        let values = self.evaluated(text).await?;
        if values.data_type() != &DataType::Boolean {
            return Err(QueryError::Refused(format!(
                "`{text}` is no condition: write one, such as `age >= 30 AND sex = 'f'`"
            )));
        }
        // NULL is not true.
        Ok(values.as_boolean().iter().map(|truth| truth == Some(true)).collect())
    }

    /// The values of an attribute as numbers; NULL counts as zero in a sum.
    pub(super) fn numbers(&self, name: &str) -> Result<Vec<f64>, QueryError> {
        let refused = || {
            QueryError::Refused(format!(
                "`sum of {name}` needs an attribute whose values are numbers; there are {}",
                self.names.join(", ")
            ))
        };
        let column = self.batch.column_by_name(name).ok_or_else(refused)?;
        if !column.data_type().is_numeric() {
            return Err(refused());
        }
        let wide = cast(column, &DataType::Float64).map_err(|_| refused())?;
        Ok(wide.as_primitive::<Float64Type>().iter().map(|value| value.unwrap_or(0.0)).collect())
    }

    async fn evaluated(&self, text: &str) -> Result<ArrayRef, QueryError> {
        let sql = format!("SELECT ({text}) AS answer FROM {CELLS}");
        let (tokens, _) = take_options(&sql)?;
        check_size(&tokens)?;
        let names = self.names.iter().map(|name| (name.to_lowercase(), name.clone())).collect();
        let query = parse(in_the_case_of(folded(tokens), names))?;
        understood(&query)?;
        let engine = Embedded::new()?;
        let schema = self.batch.schema();
        let table = Arc::new(EmptyTable::new(schema.clone()));
        engine.context().register_table(CELLS, table).map_err(planner)?;
        let state = engine.context().state();
        let statement = Statement::Statement(Box::new(ast::Statement::Query(query)));
        let raw = state.statement_to_plan(statement).await.map_err(planner)?;
        let typed = state
            .analyzer()
            .execute_and_check(raw, state.config_options(), |_, _| {})
            .map_err(planner)?;
        let refused =
            || QueryError::Refused(format!("`{text}` is not one expression over the attributes"));
        let LogicalPlan::Projection(projection) = &typed else { return Err(refused()) };
        let (LogicalPlan::TableScan(_), [expression]) =
            (projection.input.as_ref(), projection.expr.as_slice())
        else {
            return Err(refused());
        };
        let total = Total::new(projection.input.schema()).expression(expression)?;
        let schema = DFSchema::try_from_qualified_schema(CELLS, &schema).map_err(planner)?;
        let physical = state.create_physical_expr(total, &schema).map_err(planner)?;
        physical
            .evaluate(&self.batch)
            .and_then(|value| value.into_array(self.batch.num_rows()))
            .map_err(planner)
    }
}
