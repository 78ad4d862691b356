//! Arithmetic that has an answer for every row: overflow and division by zero are NULL.
//!
//! The engine's own operators stop the query, or wrap around. Stopping would tell that some row divides by zero; wrapping would be private, but no one expects it.

use datafusion::arrow::array::{Array, AsArray, Float64Array, Int64Array};
use datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, Expr, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use std::sync::Arc;

/// `a op b` over 64-bit integers or floats.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Checked {
    operator: Operator,
    signature: Signature,
}

/// `left op right` with NULL where there is no answer; both sides are integers, or both are floats.
pub(crate) fn checked(left: Expr, operator: Operator, right: Expr) -> Expr {
    let pairs = [DataType::Int64, DataType::Float64].map(|of| TypeSignature::Exact(vec![of.clone(), of]));
    let signature = Signature::one_of(pairs.to_vec(), Volatility::Immutable);
    ScalarUDF::new_from_impl(Checked { operator, signature }).call(vec![left, right])
}

impl Checked {
    fn integers(&self, a: i64, b: i64) -> Option<i64> {
        match self.operator {
            Operator::Plus => a.checked_add(b),
            Operator::Minus => a.checked_sub(b),
            Operator::Multiply => a.checked_mul(b),
            Operator::Divide => a.checked_div(b),
            Operator::Modulo => a.checked_rem(b),
            _ => None,
        }
    }

    /// What overflows to an infinity, or has no value, is NULL.
    fn floats(&self, a: f64, b: f64) -> Option<f64> {
        let value = match self.operator {
            Operator::Plus => a + b,
            Operator::Minus => a - b,
            Operator::Multiply => a * b,
            Operator::Divide => a / b,
            Operator::Modulo => a % b,
            _ => return None,
        };
        value.is_finite().then_some(value)
    }
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &str {
        match self.operator {
            Operator::Plus => "checked_add",
            Operator::Minus => "checked_subtract",
            Operator::Multiply => "checked_multiply",
            Operator::Divide => "checked_divide",
            _ => "checked_remainder",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match arguments {
            [of @ (DataType::Int64 | DataType::Float64), _] => Ok(of.clone()),
            _ => Err(DataFusionError::Plan("checked arithmetic is over integers or floats".into())),
        }
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [left, right] = arguments.args.as_slice() else {
            return Err(DataFusionError::Internal("checked arithmetic takes two arguments".into()));
        };
        let (left, right) = (left.to_array(arguments.number_rows)?, right.to_array(arguments.number_rows)?);
        Ok(ColumnarValue::Array(match left.data_type() {
            DataType::Int64 => {
                let (left, right) = (left.as_primitive::<Int64Type>(), right.as_primitive::<Int64Type>());
                let pairs = left.iter().zip(right.iter());
                Arc::new(pairs.map(|(a, b)| self.integers(a?, b?)).collect::<Int64Array>())
            }
            _ => {
                let (left, right) = (left.as_primitive::<Float64Type>(), right.as_primitive::<Float64Type>());
                let pairs = left.iter().zip(right.iter());
                Arc::new(pairs.map(|(a, b)| self.floats(a?, b?)).collect::<Float64Array>())
            }
        }))
    }

    fn display_name(&self, arguments: &[Expr]) -> Result<String> {
        self.schema_name(arguments)
    }

    fn schema_name(&self, arguments: &[Expr]) -> Result<String> {
        let [left, right] = arguments else { return Ok(self.name().to_owned()) };
        Ok(format!("({left} {} {right})", self.operator))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(operator: Operator) -> Checked {
        Checked { operator, signature: Signature::any(2, Volatility::Immutable) }
    }

    #[test]
    fn what_has_no_answer_is_null() {
        assert_eq!(of(Operator::Divide).integers(7, 0), None);
        assert_eq!(of(Operator::Divide).integers(i64::MIN, -1), None);
        assert_eq!(of(Operator::Modulo).integers(i64::MIN, -1), None);
        assert_eq!(of(Operator::Plus).integers(i64::MAX, 1), None);
        assert_eq!(of(Operator::Multiply).integers(i64::MIN, -1), None);
        assert_eq!(of(Operator::Divide).floats(1.0, 0.0), None);
        assert_eq!(of(Operator::Multiply).floats(1e300, 1e300), None);
        assert_eq!(of(Operator::Minus).integers(7, 9), Some(-2));
        assert_eq!(of(Operator::Divide).floats(1.0, 4.0), Some(0.25));
    }
}
