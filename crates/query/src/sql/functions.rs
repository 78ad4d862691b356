//! The functions that a query may call over rows, and how each is made total.

use super::arithmetic::checked;
use super::calendar::{DAYS, DAYS_OF_NANOSECONDS, covered};
use super::joined_text::Joining;
use super::rows::{planner, refused};
use super::total::{Total, constant};
use crate::error::QueryError;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::{Case, ScalarFunction};
use datafusion::logical_expr::{Expr, Operator, try_cast};
use datafusion::prelude::{lit, when};

/// How a function of the engine is made total.
enum Rule {
    /// It is, for all arguments; these arguments must be literals, because they say what is computed.
    Total { literals: &'static [usize] },
    /// It is, over floats.
    OverFloats,
    /// The first argument that is not NULL. The engine computes it only in another form.
    FirstPresent,
    /// It stops at negative numbers.
    Root,
    /// It is, over floats, but for zero raised to a negative power.
    Power,
    /// Its argument at this place is a date or time, and it is total for the years 1 to 9999.
    Calendar { date: usize },
    /// The greatest negative number has no absolute value.
    Absolute,
    /// The text it makes may be as long as all of its arguments.
    Joins,
}

fn rule(name: &str) -> Option<Rule> {
    Some(match name {
        "coalesce" | "nvl" => Rule::FirstPresent,
        "nullif" | "greatest" | "least" | "lower" | "upper" | "btrim" | "ltrim" | "rtrim" | "character_length"
        | "octet_length" | "strpos" | "starts_with" | "ends_with" | "contains" | "ascii" | "initcap" | "reverse"
        | "floor" | "ceil" | "signum" | "isnan" | "iszero" | "nanvl" | "ln" | "log10" | "log2" | "exp" | "sin"
        | "cos" | "tan" | "atan" | "asin" | "acos" | "cbrt" | "degrees" | "radians" => Rule::Total { literals: &[] },
        "round" | "trunc" | "left" | "right" => Rule::Total { literals: &[1] },
        "substr" | "split_part" => Rule::Total { literals: &[1, 2] },
        "regexp_like" => Rule::Total { literals: &[1, 2] },
        "log" | "atan2" => Rule::OverFloats,
        "sqrt" => Rule::Root,
        "power" => Rule::Power,
        "date_part" | "date_trunc" => Rule::Calendar { date: 1 },
        "abs" => Rule::Absolute,
        "concat" | "concat_ws" => Rule::Joins,
        _ => return None,
    })
}

/// What to write instead of a function that is not offered.
fn advice(name: &str) -> &'static str {
    match name {
        "random" | "uuid" => "its values cannot be repeated; leave it out",
        "now" | "current_date" | "current_time" | "today" => "the answer would depend on a clock; write the date",
        "to_date" | "to_timestamp" | "to_timestamp_seconds" | "to_timestamp_millis" | "to_timestamp_micros" => {
            "it stops at text that is not a date; write CAST(x AS DATE) or CAST(x AS TIMESTAMP), which give NULL there"
        }
        "repeat" | "lpad" | "rpad" | "replace" | "translate" | "regexp_replace" => {
            "one row could make a text of any length; use SUBSTR, LEFT, RIGHT, SPLIT_PART or CASE"
        }
        "regexp_match" | "regexp_count" | "regexp_instr" => "use REGEXP_LIKE with a literal pattern, or LIKE",
        "gcd" | "lcm" | "factorial" => "it stops at numbers that are too large",
        _ => "see docs/sql.md for the functions that are",
    }
}

impl Total<'_> {
    /// A call with the same value wherever the engine gives one, NULL where it would stop; an error if the function is not offered.
    pub(super) fn function(&self, call: &ScalarFunction) -> Result<Expr, QueryError> {
        let name = call.func.name();
        let Some(rule) = rule(name) else {
            return refused(format!("the function {name} is not offered: {}", advice(name)));
        };
        let mut arguments =
            call.args.iter().map(|argument| self.expression(argument)).collect::<Result<Vec<_>, _>>()?;
        let again = |arguments| Expr::ScalarFunction(ScalarFunction { func: call.func.clone(), args: arguments });
        match rule {
            Rule::Total { literals } => {
                for &place in literals {
                    if call.args.get(place).is_some_and(|argument| constant(argument).is_none()) {
                        let which = place + 1;
                        return refused(format!("argument {which} of {name} must be written as a literal"));
                    }
                }
                if !literals.is_empty() {
                    self.tried(&Expr::ScalarFunction(call.clone()))?;
                }
                Ok(again(arguments))
            }
            Rule::OverFloats => {
                let of = self.of_type(&Expr::ScalarFunction(call.clone()))?;
                for argument in &mut arguments {
                    *argument = self.as_type(argument.clone(), &DataType::Float64)?;
                }
                let result = again(arguments);
                Ok(if of == DataType::Float64 { result } else { try_cast(result, of) })
            }
            Rule::FirstPresent => {
                let Some(last) = arguments.pop() else { return refused(format!("{name} takes at least one argument")) };
                let branch = |value: Expr| (Box::new(value.clone().is_not_null()), Box::new(value));
                let when_then_expr: Vec<_> = arguments.into_iter().map(branch).collect();
                if when_then_expr.is_empty() {
                    return Ok(last);
                }
                Ok(Expr::Case(Case { expr: None, when_then_expr, else_expr: Some(Box::new(last)) }))
            }
            Rule::Root => {
                let value = arguments[0].clone();
                let zero = lit(ScalarValue::new_zero(&self.of_type(&value)?).map_err(planner)?);
                arguments[0] = when(value.clone().gt_eq(zero), value).end().map_err(planner)?;
                Ok(again(arguments))
            }
            Rule::Power => {
                let of = self.of_type(&Expr::ScalarFunction(call.clone()))?;
                let [base, exponent] = arguments.as_slice() else {
                    return refused("power takes a number and an exponent");
                };
                let base = self.as_type(base.clone(), &DataType::Float64)?;
                let exponent = self.as_type(exponent.clone(), &DataType::Float64)?;
                let answered = base.clone().not_eq(lit(0.0)).or(exponent.clone().gt_eq(lit(0.0)));
                let base = when(answered, base).end().map_err(planner)?;
                let result = again(vec![base, exponent]);
                Ok(if of == DataType::Float64 { result } else { try_cast(result, of) })
            }
            Rule::Calendar { date } => {
                let Some(argument) = call.args.get(date) else {
                    return refused(format!("{name} takes a part and a date"));
                };
                if call.args.first().and_then(constant).is_none() {
                    return refused(format!("argument 1 of {name} must be written as a literal, such as 'month'"));
                }
                self.tried(&Expr::ScalarFunction(call.clone()))?;
                let days = if name == "date_trunc" { DAYS_OF_NANOSECONDS } else { DAYS };
                let covered = covered(arguments[date].clone(), &self.of_type(argument)?, days, name)?;
                when(covered, again(arguments)).end().map_err(planner)
            }
            Rule::Absolute => {
                let of = self.of_type(&call.args[0])?;
                if of.is_floating() {
                    return Ok(again(arguments));
                }
                let value = arguments[0].clone();
                let wide = self.as_type(value, &DataType::Int64)?;
                let result = when(wide.clone().lt(lit(0_i64)), checked(lit(0_i64), Operator::Minus, wide.clone()))
                    .otherwise(wide)
                    .map_err(planner)?;
                Ok(if of == DataType::Int64 { result } else { try_cast(result, of) })
            }
            Rule::Joins => {
                let of = self.of_type(&Expr::ScalarFunction(call.clone()))?;
                let joining = if name == "concat" { Joining::Pieces } else { Joining::WithSeparator };
                self.joined(joining, &call.args, of)
            }
        }
    }
}
