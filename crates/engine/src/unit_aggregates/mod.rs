//! Aggregates over the rows of one privacy unit at a time: `SELECT id, SUM(x) FROM t GROUP BY id`.
//!
//! A unit's result is a function of the multiset of its own values, whatever the order, the batches
//! and the partitions they come in: values are canonical, sums are exact and rounded once, extremes
//! are those of a total order. docs/proofs/unit_aggregates.md argues it point by point.
//!
//! The functions have names of their own and offer the engine no rule, statistic or inverse, so
//! that its optimiser has nothing to put instead of them.

mod canonical;
mod extremes;
mod function;
mod groups;
mod integer_sums;
mod real_sums;
#[cfg(test)]
mod tests;

use crate::error::{EngineError, planner, refused};
use canonical::{counted, distinguished};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::{AggregateUDF, Expr, ExprSchemable, try_cast};
use function::{Statistic, UnitAggregate};

fn type_of(value: &Expr, schema: &DFSchema) -> Result<DataType, EngineError> {
    value.get_type(schema).map_err(planner)
}

/// The values of a key such that the engine tells two apart if they differ, and only then.
pub fn key(value: Expr, schema: &DFSchema) -> Result<Expr, EngineError> {
    Ok(match type_of(&value, schema)? {
        of if of.is_floating() => distinguished(value),
        of => in_one_type(value, &of),
    })
}

/// Texts in views: in the engine's other types all texts of a table together are limited.
fn in_one_type(value: Expr, of: &DataType) -> Expr {
    match of {
        DataType::Utf8 | DataType::LargeUtf8 => try_cast(value, DataType::Utf8View),
        _ => value,
    }
}

/// The same aggregate in arithmetic that is exact. The arguments and the filter are total, over
/// `schema`. Its type is the engine's, but that texts are views.
pub fn exact(call: AggregateFunction, schema: &DFSchema) -> Result<Expr, EngineError> {
    let AggregateFunction { func, mut params } = call;
    let name = func.name().to_uppercase();
    let statistic = match func.name() {
        "count" => None,
        "sum" => Some(Statistic::Sum),
        "avg" => Some(Statistic::Mean),
        "min" => Some(Statistic::Least),
        "max" => Some(Statistic::Greatest),
        _ => {
            return refused(format!(
                "the aggregate {name} of one unit's rows is not offered: COUNT, SUM, AVG, MIN and \
                 MAX are"
            ));
        }
    };
    if !params.order_by.is_empty() || params.null_treatment.is_some() {
        return refused(format!(
            "ORDER BY and the treatment of NULL inside {name} are not offered"
        ));
    }
    let distinct = params.distinct;
    for argument in &mut params.args {
        let of = type_of(argument, schema)?;
        let value = std::mem::take(argument);
        *argument = match statistic {
            None if of.is_floating() => counted(value),
            // Sets of all integers are kept in one way, of 64 bits.
            None if distinct && of.is_signed_integer() => try_cast(value, DataType::Int64),
            None if distinct && of.is_unsigned_integer() => try_cast(value, DataType::UInt64),
            None if !distinct => value,
            _ => in_one_type(value, &of),
        };
    }
    let Some(statistic) = statistic else {
        if distinct && params.args.len() != 1 {
            return refused(
                "COUNT(DISTINCT ...) of one unit's rows takes one expression".to_owned(),
            );
        }
        return Ok(Expr::AggregateFunction(AggregateFunction { func, params }));
    };
    if distinct && matches!(statistic, Statistic::Sum | Statistic::Mean) {
        return refused(format!(
            "{name}(DISTINCT ...) of one unit's rows is not offered; group by the unit and the \
             value in a \
             sub-query first"
        ));
    }
    // The least of the distinct values is the least of the values.
    params.distinct = false;
    let [argument] = params.args.as_slice() else {
        return refused(format!("{name} of one unit's rows takes one expression"));
    };
    let of = type_of(argument, schema)?;
    if !statistic.takes(&of) {
        return refused(format!(
            "{name} of {of} is not offered among one unit's rows: {}",
            statistic.types()
        ));
    }
    let func = AggregateUDF::new_from_impl(UnitAggregate::new(statistic)).into();
    Ok(Expr::AggregateFunction(AggregateFunction { func, params }))
}
