//! Between which numbers an expression lies, from the public bounds of its columns.
//!
//! Privacy does not rest on this: values are clamped to the range that is found before they are
//! summed. A range that is too narrow would clamp, one that is too wide would add noise.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Column, ScalarValue};
use datafusion::logical_expr::{Expr, Operator};
use reticent_engine::constant;

/// A closed interval; infinite ends are unknown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Range {
    pub(crate) lower: f64,
    pub(crate) upper: f64,
}

impl Range {
    pub(crate) const UNKNOWN: Range = Range { lower: f64::NEG_INFINITY, upper: f64::INFINITY };

    pub(crate) fn new(lower: f64, upper: f64) -> Range {
        if lower <= upper { Range { lower, upper } } else { Range::UNKNOWN }
    }

    pub(crate) fn is_finite(self) -> bool {
        self.lower.is_finite() && self.upper.is_finite()
    }

    pub(crate) fn union(self, other: Range) -> Range {
        Range { lower: self.lower.min(other.lower), upper: self.upper.max(other.upper) }
    }

    fn of_corners(corners: [f64; 4]) -> Range {
        if corners.iter().any(|corner| corner.is_nan()) {
            return Range::UNKNOWN;
        }
        Range::new(
            corners.iter().copied().fold(f64::INFINITY, f64::min),
            corners.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        )
    }

    fn through(self, monotone: impl Fn(f64) -> f64) -> Range {
        Range::new(monotone(self.lower), monotone(self.upper))
    }

    fn combined(self, operator: Operator, other: Range) -> Range {
        match operator {
            Operator::Plus => Range::new(self.lower + other.lower, self.upper + other.upper),
            Operator::Minus => Range::new(self.lower - other.upper, self.upper - other.lower),
            Operator::Multiply => Range::of_corners([
                self.lower * other.lower,
                self.lower * other.upper,
                self.upper * other.lower,
                self.upper * other.upper,
            ]),
            Operator::Divide if other.lower > 0.0 || other.upper < 0.0 => Range::of_corners([
                self.lower / other.lower,
                self.lower / other.upper,
                self.upper / other.lower,
                self.upper / other.upper,
            ]),
            Operator::Modulo if other.is_finite() => {
                let most = other.lower.abs().max(other.upper.abs());
                Range::new(
                    if self.lower >= 0.0 { 0.0 } else { -most },
                    if self.upper <= 0.0 { 0.0 } else { most },
                )
            }
            _ => Range::UNKNOWN,
        }
    }

    fn absolute(self) -> Range {
        let most = self.lower.abs().max(self.upper.abs());
        let least = if self.lower <= 0.0 && self.upper >= 0.0 {
            0.0
        } else {
            self.lower.abs().min(self.upper.abs())
        };
        Range::new(least, most)
    }
}

/// The range of an expression, given that of its columns.
pub(crate) fn range_of(expression: &Expr, column: &impl Fn(&Column) -> Range) -> Range {
    let of = |inner: &Expr| range_of(inner, column);
    match expression {
        Expr::Column(name) => column(name),
        Expr::Literal(value, _) => literal(value),
        Expr::Alias(alias) => of(&alias.expr),
        Expr::BinaryExpr(binary) => of(&binary.left).combined(binary.op, of(&binary.right)),
        Expr::Negative(inner) => Range::new(0.0, 0.0).combined(Operator::Minus, of(inner)),
        Expr::Cast(cast) if cast.field.data_type().is_integer() => {
            of(&cast.expr).through(f64::trunc)
        }
        Expr::TryCast(cast) if cast.field.data_type().is_integer() => {
            of(&cast.expr).through(f64::trunc)
        }
        Expr::Cast(cast) if number(cast.field.data_type()) => of(&cast.expr),
        Expr::TryCast(cast) if number(cast.field.data_type()) => of(&cast.expr),
        Expr::Case(case) => {
            let branches = case
                .when_then_expr
                .iter()
                .map(|(_, then)| then.as_ref())
                .chain(case.else_expr.as_deref());
            branches.map(of).reduce(Range::union).unwrap_or(Range::UNKNOWN)
        }
        Expr::ScalarFunction(call) => function(call.func.name(), &call.args, &of),
        _ => Range::UNKNOWN,
    }
}

fn number(of: &DataType) -> bool {
    of.is_numeric()
}

fn literal(value: &ScalarValue) -> Range {
    // A NULL is in every range, so it narrows nothing and widens nothing.
    match value.cast_to(&DataType::Float64) {
        Ok(ScalarValue::Float64(Some(number))) if number.is_finite() => Range::new(number, number),
        Ok(ScalarValue::Float64(None)) => Range { lower: f64::INFINITY, upper: f64::NEG_INFINITY },
        _ => Range::UNKNOWN,
    }
}

fn function(name: &str, arguments: &[Expr], of: &impl Fn(&Expr) -> Range) -> Range {
    let first = || arguments.first().map_or(Range::UNKNOWN, of);
    match name {
        "abs" => first().absolute(),
        "floor" => first().through(f64::floor),
        "ceil" => first().through(f64::ceil),
        "round" | "trunc" => Range::new(first().lower.floor(), first().upper.ceil()),
        "signum" => Range::new(-1.0, 1.0),
        "sqrt" if first().lower >= 0.0 => first().through(f64::sqrt),
        "exp" => first().through(f64::exp),
        "ln" if first().lower > 0.0 => first().through(f64::ln),
        "log10" if first().lower > 0.0 => first().through(f64::log10),
        "coalesce" | "nvl" => {
            arguments.iter().map(of).reduce(Range::union).unwrap_or(Range::UNKNOWN)
        }
        "nullif" => first(),
        // NULL arguments are passed over, so each argument alone bounds from one side only where
        // all do; the other side is bounded by any.
        "least" => Range::new(
            arguments.iter().map(|argument| of(argument).lower).fold(f64::INFINITY, f64::min),
            cap(arguments, of, |range| range.upper, f64::INFINITY, f64::min),
        ),
        "greatest" => Range::new(
            cap(arguments, of, |range| range.lower, f64::NEG_INFINITY, f64::max),
            arguments.iter().map(|argument| of(argument).upper).fold(f64::NEG_INFINITY, f64::max),
        ),
        "date_part" => date_part(arguments),
        _ => Range::UNKNOWN,
    }
}

/// The bound that a literal argument of `least` or `greatest` gives: a column may be NULL and then
/// does not bound.
fn cap(
    arguments: &[Expr],
    of: &impl Fn(&Expr) -> Range,
    side: impl Fn(Range) -> f64,
    unknown: f64,
    join: impl Fn(f64, f64) -> f64,
) -> f64 {
    let literals = arguments
        .iter()
        .filter(|argument| constant(argument).is_some_and(|value| !value.is_null()));
    let bound =
        literals.map(|argument| side(of(argument))).filter(|bound| bound.is_finite()).reduce(&join);
    bound.unwrap_or_else(|| {
        let all: Vec<f64> = arguments.iter().map(|argument| side(of(argument))).collect();
        // Without a literal the weakest bound holds, whichever arguments are NULL.
        all.into_iter().reduce(|a, b| if join(a, b) == a { b } else { a }).unwrap_or(unknown)
    })
}

fn date_part(arguments: &[Expr]) -> Range {
    let Some(Expr::Literal(part, _)) = arguments.first() else { return Range::UNKNOWN };
    match part.to_string().to_lowercase().as_str() {
        "quarter" => Range::new(1.0, 4.0),
        "month" => Range::new(1.0, 12.0),
        "week" => Range::new(1.0, 53.0),
        "day" => Range::new(1.0, 31.0),
        "doy" => Range::new(1.0, 366.0),
        "dow" => Range::new(0.0, 6.0),
        "isodow" => Range::new(0.0, 7.0),
        "hour" => Range::new(0.0, 23.0),
        "minute" => Range::new(0.0, 59.0),
        "second" => Range::new(0.0, 59.0),
        "year" => Range::new(1.0, 9999.0),
        _ => Range::UNKNOWN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::functions::core::expr_fn::{greatest, least};
    use datafusion::prelude::{case, col, lit};

    fn range(expression: Expr) -> (f64, f64) {
        let found = range_of(&expression, &|name| match name.name.as_str() {
            "age" => Range::new(18.0, 70.0),
            "gain" => Range::new(-5.0, 3.0),
            _ => Range::UNKNOWN,
        });
        (found.lower, found.upper)
    }

    #[test]
    fn ranges_follow_arithmetic() {
        assert_eq!(range(col("age") + lit(2)), (20.0, 72.0));
        assert_eq!(range(lit(1) - col("gain")), (-2.0, 6.0));
        assert_eq!(range(col("gain") * col("gain")), (-15.0, 25.0));
        assert_eq!(range(col("age") / lit(2)), (9.0, 35.0));
        assert_eq!(range(col("age") / col("gain")), (f64::NEG_INFINITY, f64::INFINITY));
        assert_eq!(range(col("age") % lit(10)), (0.0, 10.0));
    }

    #[test]
    fn a_query_can_bound_what_has_no_bounds() {
        assert_eq!(range(greatest(vec![least(vec![col("x"), lit(100)]), lit(0)])), (0.0, 100.0));
        assert_eq!(range(least(vec![greatest(vec![col("x"), lit(0)]), lit(100)])), (0.0, 100.0));
        assert_eq!(range(least(vec![col("x"), lit(100)])), (f64::NEG_INFINITY, 100.0));
    }

    #[test]
    fn a_column_in_least_may_be_null_and_then_does_not_bound() {
        assert_eq!(range(least(vec![col("age"), col("gain")])), (-5.0, 70.0));
    }

    #[test]
    fn the_branches_of_a_case_join() {
        let of = case(col("x")).when(lit(1), lit(5)).otherwise(col("gain")).expect("well formed");
        assert_eq!(range(of), (-5.0, 5.0));
    }
}
