//! Which values a group key can have, from public knowledge alone: the policy's values, integer
//! bounds, and expressions of those.
//!
//! A key whose values are public needs no selection of groups: all groups are shown, also the empty
//! ones, and no delta is spent. The list may be too long (groups that are always empty), never too
//! short for rows that keep to the policy; rows that do not are left out.

use super::facts::{Domain, Facts};
use super::range::range_of;
use crate::error::QueryError;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, ScalarValue};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{Expr, ExprSchemable, Operator};
use reticent_engine::{Total, constant};
use std::sync::Arc;

/// The most values that are listed for one key.
pub(crate) const MOST_VALUES: usize = 100_000;

/// Finds the values of expressions.
pub(crate) struct Domains<'a> {
    pub(crate) state: &'a SessionState,
    pub(crate) schema: &'a DFSchema,
    pub(crate) facts: &'a dyn Fn(&Column) -> Facts,
}

/// A list of values without duplicates, in ascending order, NULL last.
fn distinct(mut values: Vec<ScalarValue>) -> Vec<ScalarValue> {
    for value in &mut values {
        // -0.0 and 0.0 are one key, and so are all NaN.
        if let ScalarValue::Float64(Some(number)) = value {
            *number = if number.is_nan() { f64::NAN } else { *number + 0.0 };
        }
    }
    values.sort_by(|a, b| {
        a.is_null()
            .cmp(&b.is_null())
            .then_with(|| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal))
    });
    values.dedup();
    values
}

impl Domains<'_> {
    /// All values that the expression can have, or none if that is not known.
    pub(crate) fn values(&self, expression: &Expr) -> Option<Vec<ScalarValue>> {
        let found = match expression {
            Expr::Alias(alias) => self.values(&alias.expr),
            Expr::Literal(value, _) => Some(vec![value.clone()]),
            Expr::Column(column) => self.column(column),
            Expr::Case(case) => {
                let branches = case.when_then_expr.iter().map(|(_, then)| then.as_ref());
                let mut values = Vec::new();
                let mut known = true;
                for branch in branches.chain(case.else_expr.as_deref()) {
                    match self.values(branch) {
                        Some(some) => values.extend(some),
                        None => known = false,
                    }
                }
                if case.else_expr.is_none() {
                    values.push(self.null(expression)?);
                }
                if known { Some(values) } else { self.through_children(expression) }
            }
            Expr::ScalarFunction(call)
                if matches!(call.func.name(), "floor" | "ceil" | "round" | "trunc") =>
            {
                self.through_children(expression).or_else(|| self.whole_numbers(expression))
            }
            Expr::ScalarFunction(call) if call.func.name() == "date_part" => {
                self.through_children(expression).or_else(|| self.whole_numbers(expression))
            }
            _ => self.through_children(expression),
        };
        let found = found.or_else(|| self.truth_values(expression))?;
        let found = distinct(found);
        (found.len() <= MOST_VALUES).then_some(found)
    }

    fn null(&self, expression: &Expr) -> Option<ScalarValue> {
        ScalarValue::try_from(&expression.get_type(self.schema).ok()?).ok()
    }

    fn column(&self, column: &Column) -> Option<Vec<ScalarValue>> {
        let facts = (self.facts)(column);
        let expression = Expr::Column(column.clone());
        let of = expression.get_type(self.schema).ok()?;
        let mut values = match &facts.domain {
            Domain::Values(values) => values.as_ref().clone(),
            Domain::Public { .. } => return None,
            Domain::Unknown if of == DataType::Boolean => {
                vec![ScalarValue::Boolean(Some(false)), ScalarValue::Boolean(Some(true))]
            }
            Domain::Unknown if of.is_integer() && facts.range.is_finite() => {
                whole(facts.range.lower.ceil(), facts.range.upper.floor(), &of)?
            }
            Domain::Unknown => return None,
        };
        if facts.nullable {
            values.push(self.null(&expression)?);
        }
        Some(values)
    }

    /// The whole numbers in the range of a rounding function or a part of a date.
    fn whole_numbers(&self, expression: &Expr) -> Option<Vec<ScalarValue>> {
        if let Expr::ScalarFunction(call) = expression
            && call.func.name() != "date_part"
            && call.args.len() > 1
        {
            return None;
        }
        let range = range_of(expression, &|column| (self.facts)(column).range);
        if !range.is_finite() {
            return None;
        }
        let of = expression.get_type(self.schema).ok()?;
        let mut values = whole(range.lower.ceil(), range.upper.floor(), &of)?;
        if self.may_be_null(expression) {
            values.push(self.null(expression)?);
        }
        Some(values)
    }

    fn truth_values(&self, expression: &Expr) -> Option<Vec<ScalarValue>> {
        if expression.get_type(self.schema).ok()? != DataType::Boolean {
            return None;
        }
        let mut values = vec![ScalarValue::Boolean(Some(false)), ScalarValue::Boolean(Some(true))];
        if self.may_be_null(expression) {
            values.push(ScalarValue::Boolean(None));
        }
        Some(values)
    }

    /// Whether rows that keep to the policy can make the expression NULL.
    fn may_be_null(&self, expression: &Expr) -> bool {
        let mut found = false;
        // Reading a column cannot fail, and the walk stops at the first answer.
        let _ = expression.apply(|inner| {
            found |= match inner {
                Expr::Column(column) => (self.facts)(column).nullable,
                Expr::Literal(value, _) => value.is_null(),
                Expr::Case(case) => case.else_expr.is_none(),
                Expr::TryCast(_) => true,
                Expr::Cast(cast) => !cast.field.data_type().is_numeric(),
                Expr::BinaryExpr(binary)
                    if matches!(binary.op, Operator::Divide | Operator::Modulo) =>
                {
                    constant(&binary.right).is_none()
                }
                Expr::ScalarFunction(call) => call.func.name() == "nullif",
                Expr::IsNull(_) | Expr::IsNotNull(_) => return Ok(TreeNodeRecursion::Jump),
                _ => false,
            };
            Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        });
        found
    }

    /// The values of an expression whose arguments each have a known list of values: it is
    /// evaluated on all of their combinations.
    fn through_children(&self, expression: &Expr) -> Option<Vec<ScalarValue>> {
        let mut lists: Vec<Vec<ScalarValue>> = Vec::new();
        let mut known = true;
        expression
            .apply_children(|child| {
                if constant(child).is_none() {
                    match self.values(child) {
                        Some(values) if !values.is_empty() => lists.push(values),
                        _ => known = false,
                    }
                }
                Ok(if known { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
            })
            .ok()?;
        if !known || lists.is_empty() {
            return None;
        }
        let combinations =
            lists.iter().try_fold(1_usize, |product, list| product.checked_mul(list.len()))?;
        if combinations > MOST_VALUES {
            return None;
        }
        self.evaluated(expression, &lists, combinations).ok()
    }

    fn evaluated(
        &self,
        expression: &Expr,
        lists: &[Vec<ScalarValue>],
        combinations: usize,
    ) -> Result<Vec<ScalarValue>, QueryError> {
        let failed = |error: datafusion::common::DataFusionError| {
            QueryError::Refused(error.strip_backtrace())
        };
        let mut next = 0;
        let over_columns = expression
            .clone()
            .map_children(|child| {
                Ok(if constant(&child).is_some() {
                    Transformed::no(child)
                } else {
                    next += 1;
                    Transformed::yes(Expr::Column(Column::from_name(format!(
                        "argument{}",
                        next - 1
                    ))))
                })
            })
            .map_err(failed)?
            .data;
        let mut repeat = combinations;
        let mut fields = Vec::new();
        let mut arrays = Vec::new();
        for (index, list) in lists.iter().enumerate() {
            repeat /= list.len();
            let column = (0..combinations).map(|row| list[(row / repeat) % list.len()].clone());
            let array = ScalarValue::iter_to_array(column).map_err(failed)?;
            fields.push(Field::new(format!("argument{index}"), array.data_type().clone(), true));
            arrays.push(array);
        }
        let schema = Arc::new(Schema::new(fields));
        let batch =
            RecordBatch::try_new(schema.clone(), arrays).map_err(|error| failed(error.into()))?;
        let schema = DFSchema::try_from(schema.as_ref().clone()).map_err(failed)?;
        let total = Total::new(&schema).expression(&over_columns)?;
        let physical = self.state.create_physical_expr(total, &schema).map_err(failed)?;
        let values = physical
            .evaluate(&batch)
            .and_then(|value| value.into_array(combinations))
            .map_err(failed)?;
        (0..values.len())
            .map(|row| ScalarValue::try_from_array(&values, row).map_err(failed))
            .collect()
    }
}

fn whole(first: f64, last: f64, of: &DataType) -> Option<Vec<ScalarValue>> {
    if !(first.abs() < 9e15
        && last.abs() < 9e15
        && last >= first
        && last - first < MOST_VALUES as f64)
    {
        return None;
    }
    // Exact: both are whole and below 2^53.
    (first as i64..=last as i64)
        .map(|value| ScalarValue::Int64(Some(value)).cast_to(of).ok())
        .collect()
}
