//! Which expressions a query may use over rows, and how each is made total: it has a value, or NULL, for every row, so that no row can stop a query.

use super::arithmetic::checked;
use super::calendar::{DAYS, covered};
use super::joined_text::{Joining, joined};
use super::rows::{planner, refused};
use crate::error::QueryError;
use datafusion::arrow::array::RecordBatchOptions;
use datafusion::arrow::compute::can_cast_types;
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::expr::{AggregateFunction, Alias, Between, Case, InList, Like};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator, try_cast};
use datafusion::physical_expr::create_physical_expr;
use datafusion::prelude::{lit, when};
use std::sync::Arc;

/// The most values in an `IN` list.
const LONGEST_LIST: usize = 10_000;

/// The most parts of an expression once it is total, not counting literals, of which lists have many. Some functions are made so by a test of their argument, which is then written twice: nested in each other, thirty of them would fill any memory.
const LARGEST: usize = 2_000;

/// Checks expressions over rows and makes them total.
pub(crate) struct Total<'a> {
    schema: &'a DFSchema,
    /// Checks a subquery, which must be over public tables; gives it back total.
    subquery: &'a dyn Fn(&LogicalPlan) -> Result<LogicalPlan, QueryError>,
}

impl<'a> Total<'a> {
    pub(crate) fn new(
        schema: &'a DFSchema,
        subquery: &'a dyn Fn(&LogicalPlan) -> Result<LogicalPlan, QueryError>,
    ) -> Self {
        Total { schema, subquery }
    }

    fn boxed(&self, expression: &Expr) -> Result<Box<Expr>, QueryError> {
        Ok(Box::new(self.expression(expression)?))
    }

    pub(super) fn of_type(&self, expression: &Expr) -> Result<DataType, QueryError> {
        expression.get_type(self.schema).map_err(planner)
    }

    /// The same value wherever the engine gives one, NULL where it would stop, an error if it is not offered.
    pub(crate) fn expression(&self, expression: &Expr) -> Result<Expr, QueryError> {
        Ok(match expression {
            Expr::Column(_) | Expr::Literal(..) => expression.clone(),
            Expr::Alias(alias) => Expr::Alias(Alias { expr: self.boxed(&alias.expr)?, ..alias.clone() }),
            Expr::BinaryExpr(binary) => self.binary(binary)?,
            Expr::Like(like) => {
                literal_pattern(&like.pattern, "LIKE")?;
                self.tried(expression)?;
                Expr::Like(Like { expr: self.boxed(&like.expr)?, ..like.clone() })
            }
            Expr::Not(inner) => Expr::Not(self.boxed(inner)?),
            Expr::IsNotNull(inner) => Expr::IsNotNull(self.boxed(inner)?),
            Expr::IsNull(inner) => Expr::IsNull(self.boxed(inner)?),
            Expr::IsTrue(inner) => Expr::IsTrue(self.boxed(inner)?),
            Expr::IsFalse(inner) => Expr::IsFalse(self.boxed(inner)?),
            Expr::IsUnknown(inner) => Expr::IsUnknown(self.boxed(inner)?),
            Expr::IsNotTrue(inner) => Expr::IsNotTrue(self.boxed(inner)?),
            Expr::IsNotFalse(inner) => Expr::IsNotFalse(self.boxed(inner)?),
            Expr::IsNotUnknown(inner) => Expr::IsNotUnknown(self.boxed(inner)?),
            Expr::Negative(inner) => self.negative(inner)?,
            Expr::Between(between) => Expr::Between(Between {
                expr: self.boxed(&between.expr)?,
                negated: between.negated,
                low: self.boxed(&between.low)?,
                high: self.boxed(&between.high)?,
            }),
            Expr::Case(case) => self.case(case)?,
            Expr::Cast(cast) => of_bearable_size(self.cast(&cast.expr, cast.field.data_type())?)?,
            Expr::TryCast(cast) => of_bearable_size(self.cast(&cast.expr, cast.field.data_type())?)?,
            Expr::InList(list) => self.in_list(list)?,
            Expr::ScalarFunction(call) => of_bearable_size(self.function(call)?)?,
            Expr::InSubquery(within) => {
                let mut checked = within.clone();
                checked.expr = self.boxed(&within.expr)?;
                checked.subquery = self.public_subquery(&within.subquery)?;
                Expr::InSubquery(checked)
            }
            Expr::ScalarSubquery(subquery) => Expr::ScalarSubquery(self.public_subquery(subquery)?),
            Expr::Exists(exists) => {
                let mut checked = exists.clone();
                checked.subquery = self.public_subquery(&exists.subquery)?;
                Expr::Exists(checked)
            }
            Expr::WindowFunction(_) => {
                return refused("window functions (OVER) are not offered; group in a sub-query instead");
            }
            Expr::AggregateFunction(call) => {
                return refused(format!("the aggregate {} stands where a row's value is expected", call.func.name()));
            }
            Expr::SimilarTo(_) => return refused("SIMILAR TO is not offered; use LIKE or REGEXP_LIKE"),
            Expr::Placeholder(_) => return refused("placeholders ($1, ?) are not offered; write the value"),
            Expr::Unnest(_) => return refused("UNNEST is not offered"),
            other => return refused(format!("the expression {other} is not offered")),
        })
    }

    /// An expression that may be an aggregate: what it is computed of is total.
    pub(crate) fn aggregate(&self, expression: &Expr) -> Result<Expr, QueryError> {
        Ok(match expression {
            Expr::Alias(alias) => Expr::Alias(Alias { expr: Box::new(self.aggregate(&alias.expr)?), ..alias.clone() }),
            Expr::AggregateFunction(call) => {
                let mut params = call.params.clone();
                for argument in &mut params.args {
                    *argument = self.expression(argument)?;
                }
                for key in &mut params.order_by {
                    key.expr = self.expression(&key.expr)?;
                }
                params.filter = params.filter.as_deref().map(|filter| self.boxed(filter)).transpose()?;
                Expr::AggregateFunction(AggregateFunction { func: call.func.clone(), params })
            }
            other => self.expression(other)?,
        })
    }

    /// Literals that the engine does not take, such as a broken pattern, are found on a row that is made up here, and not on somebody's.
    pub(super) fn tried(&self, expression: &Expr) -> Result<(), QueryError> {
        let sample = expression.clone().map_children(|child| {
            Ok(if constant(&child).is_some() {
                Transformed::no(child)
            } else {
                let of = child.get_type(self.schema)?;
                Transformed::yes(lit(ScalarValue::new_default(&of).or_else(|_| ScalarValue::try_new_null(&of))?))
            })
        });
        let outcome = sample.and_then(|sample| {
            let options = RecordBatchOptions::new().with_row_count(Some(1));
            let row = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options)?;
            create_physical_expr(
                &sample.data,
                &DFSchema::empty(),
                &ExecutionProps::new(),
                &PhysicalPlanningContext::default(),
            )?
            .evaluate(&row)
        });
        match outcome {
            Ok(_) => Ok(()),
            Err(error) => refused(format!("{expression} cannot be computed: {}", error.strip_backtrace())),
        }
    }

    /// Joined texts, in the type that the planner expects.
    pub(super) fn joined(&self, joining: Joining, pieces: &[Expr], of: DataType) -> Result<Expr, QueryError> {
        let mut texts = Vec::new();
        for piece in pieces {
            texts.push(if self.of_type(piece)?.is_string() {
                self.expression(piece)?
            } else {
                self.cast(piece, &DataType::Utf8View)?
            });
        }
        let text = joined(joining, texts);
        match of {
            DataType::Utf8View => Ok(text),
            DataType::Utf8 | DataType::LargeUtf8 => Ok(try_cast(text, of)),
            other => refused(format!("joining texts to {other} is not offered: they are TEXT")),
        }
    }

    fn public_subquery(
        &self,
        subquery: &datafusion::logical_expr::Subquery,
    ) -> Result<datafusion::logical_expr::Subquery, QueryError> {
        if !subquery.outer_ref_columns.is_empty() {
            return refused("a sub-query inside an expression must not refer to the query around it; write a join");
        }
        let plan = (self.subquery)(&subquery.subquery)?;
        Ok(subquery.with_plan(std::sync::Arc::new(plan)))
    }

    fn binary(&self, binary: &BinaryExpr) -> Result<Expr, QueryError> {
        let sides = || Ok::<_, QueryError>((self.expression(&binary.left)?, self.expression(&binary.right)?));
        match binary.op {
            Operator::Eq
            | Operator::NotEq
            | Operator::Lt
            | Operator::LtEq
            | Operator::Gt
            | Operator::GtEq
            | Operator::And
            | Operator::Or
            | Operator::IsDistinctFrom
            | Operator::IsNotDistinctFrom => {
                let (left, right) = sides()?;
                Ok(Expr::BinaryExpr(BinaryExpr::new(Box::new(left), binary.op, Box::new(right))))
            }
            Operator::Plus | Operator::Minus | Operator::Multiply | Operator::Divide | Operator::Modulo => {
                let (left, right) = sides()?;
                let of = self.of_type(&Expr::BinaryExpr(binary.clone()))?;
                let over = if of.is_floating() {
                    DataType::Float64
                } else if of.is_integer() {
                    DataType::Int64
                } else {
                    return refused(format!(
                        "{} of {} and {} is not offered: arithmetic is over numbers; for dates use DATE_PART, \
                         DATE_TRUNC and comparisons",
                        binary.op,
                        self.of_type(&binary.left)?,
                        self.of_type(&binary.right)?
                    ));
                };
                let result = checked(self.as_type(left, &over)?, binary.op, self.as_type(right, &over)?);
                Ok(if of == over { result } else { try_cast(result, of) })
            }
            Operator::RegexMatch | Operator::RegexIMatch | Operator::RegexNotMatch | Operator::RegexNotIMatch => {
                literal_pattern(&binary.right, "a regular expression")?;
                self.tried(&Expr::BinaryExpr(binary.clone()))?;
                let (left, right) = sides()?;
                Ok(Expr::BinaryExpr(BinaryExpr::new(Box::new(left), binary.op, Box::new(right))))
            }
            Operator::StringConcat => {
                let of = self.of_type(&Expr::BinaryExpr(binary.clone()))?;
                self.joined(Joining::Operator, &[*binary.left.clone(), *binary.right.clone()], of)
            }
            other => refused(format!("the operator {other} is not offered over rows")),
        }
    }

    /// The expression, which is total, in another numeric type.
    pub(super) fn as_type(&self, expression: Expr, of: &DataType) -> Result<Expr, QueryError> {
        Ok(if &self.of_type(&expression)? == of { expression } else { try_cast(expression, of.clone()) })
    }

    fn negative(&self, inner: &Expr) -> Result<Expr, QueryError> {
        let of = self.of_type(inner)?;
        let value = self.expression(inner)?;
        if of.is_floating() {
            Ok(Expr::Negative(Box::new(value)))
        } else if of.is_integer() {
            let wide = self.as_type(value, &DataType::Int64)?;
            let result = checked(lit(0_i64), Operator::Minus, wide);
            Ok(if of == DataType::Int64 { result } else { try_cast(result, of) })
        } else {
            refused(format!("- of {of} is not offered: arithmetic is over numbers"))
        }
    }

    fn case(&self, case: &Case) -> Result<Expr, QueryError> {
        let when_then = case.when_then_expr.iter().map(|(when, then)| Ok((self.boxed(when)?, self.boxed(then)?)));
        Ok(Expr::Case(Case {
            expr: case.expr.as_deref().map(|inner| self.boxed(inner)).transpose()?,
            when_then_expr: when_then.collect::<Result<_, QueryError>>()?,
            else_expr: case.else_expr.as_deref().map(|inner| self.boxed(inner)).transpose()?,
        }))
    }

    fn cast(&self, inner: &Expr, to: &DataType) -> Result<Expr, QueryError> {
        let offered = matches!(
            to,
            DataType::Boolean
                | DataType::Int8
                | DataType::Int16
                | DataType::Int32
                | DataType::Int64
                | DataType::UInt8
                | DataType::UInt16
                | DataType::UInt32
                | DataType::UInt64
                | DataType::Float32
                | DataType::Float64
                | DataType::Utf8
                | DataType::LargeUtf8
                | DataType::Utf8View
                | DataType::Date32
                | DataType::Timestamp(_, None)
                | DataType::Null
        );
        if !offered {
            return refused(format!(
                "a cast to {to} is not offered: INTEGER, DOUBLE, TEXT, BOOLEAN, DATE and TIMESTAMP are"
            ));
        }
        let from = self.of_type(inner)?;
        let strange =
            matches!(from, DataType::Date32 | DataType::Timestamp(..)) && (to.is_numeric() || *to == DataType::Boolean);
        if !can_cast_types(&from, to) || strange {
            return refused(format!("a cast from {from} to {to} is not offered; for dates use DATE_PART"));
        }
        if let Expr::Literal(literal, _) = inner
            && !literal.is_null()
            && !literal.cast_to(to).is_ok_and(|value| !value.is_null())
        {
            return refused(format!("{literal} is compared with, or cast to, {to}, which it is not a value of"));
        }
        let mut value = self.expression(inner)?;
        let shown = to.is_string() || (*to == DataType::Date32 && from != DataType::Date32);
        if matches!(from, DataType::Date32 | DataType::Timestamp(..)) && shown {
            // The calendar of the cast ends earlier than the numbers do, and it stops there.
            value = when(covered(value.clone(), &from, DAYS, "a cast")?, value).end().map_err(planner)?;
        }
        Ok(try_cast(value, to.clone()))
    }

    fn in_list(&self, list: &InList) -> Result<Expr, QueryError> {
        if list.list.len() > LONGEST_LIST {
            return refused(format!("an IN list of {} values: at most {LONGEST_LIST} are offered", list.list.len()));
        }
        let values = list.list.iter().map(|value| self.expression(value)).collect::<Result<_, _>>()?;
        Ok(Expr::InList(InList { expr: self.boxed(&list.expr)?, list: values, negated: list.negated }))
    }
}

/// The expression, unless it has grown too large. Each call that could double it is followed by this, so that nothing larger than twice the limit, or a few times for several arguments, is ever made.
fn of_bearable_size(expression: Expr) -> Result<Expr, QueryError> {
    let mut parts = 0;
    let counted = expression.apply(|part| {
        parts += usize::from(!matches!(part, Expr::Literal(..)));
        Ok(if parts > LARGEST { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    counted.map_err(planner)?;
    if parts > LARGEST {
        return refused(format!(
            "functions are nested so deep in each other that the expression has more than {LARGEST} parts: nest fewer of \
             them"
        ));
    }
    Ok(expression)
}

/// The value of an expression that is a literal, perhaps cast or negated by the parser.
pub(crate) fn constant(expression: &Expr) -> Option<ScalarValue> {
    match expression {
        Expr::Literal(value, _) => Some(value.clone()),
        Expr::Alias(alias) => constant(&alias.expr),
        Expr::Cast(cast) => constant(&cast.expr)?.cast_to(cast.field.data_type()).ok(),
        Expr::TryCast(cast) => constant(&cast.expr)?.cast_to(cast.field.data_type()).ok(),
        Expr::Negative(inner) => constant(inner)?.arithmetic_negate().ok(),
        _ => None,
    }
}

fn literal_pattern(pattern: &Expr, what: &str) -> Result<(), QueryError> {
    match constant(pattern) {
        Some(_) => Ok(()),
        None => refused(format!("the pattern of {what} must be written as a literal")),
    }
}
