//! Reals with one bit pattern a value: -0.0 is 0.0, and there is one NaN, or none.

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use std::sync::Arc;

pub(super) use reticent_sources::field::canonical;

/// [`canonical`] of narrow floats.
pub(super) fn canonical_narrow(value: f32) -> Option<f32> {
    (!value.is_nan()).then_some(value + 0.0)
}

/// What is done to NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum NotANumber {
    /// All are one value.
    One,
    /// It is NULL.
    Null,
}

/// A real expression for a key: all NaN are one group.
pub(super) fn distinguished(value: Expr) -> Expr {
    ScalarUDF::new_from_impl(Canonical::new(NotANumber::One)).call(vec![value])
}

/// A real expression for a count: NaN is not counted.
pub(super) fn counted(value: Expr) -> Expr {
    ScalarUDF::new_from_impl(Canonical::new(NotANumber::Null)).call(vec![value])
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Canonical {
    nan: NotANumber,
    signature: Signature,
}

impl Canonical {
    fn new(nan: NotANumber) -> Self {
        Canonical { nan, signature: Signature::any(1, Volatility::Immutable) }
    }

    fn of(&self, values: &ArrayRef) -> Result<ArrayRef> {
        let one = self.nan == NotANumber::One;
        Ok(match values.data_type() {
            DataType::Float64 => {
                let to = |value| canonical(value).or(one.then_some(f64::NAN));
                Arc::new(values.as_primitive::<Float64Type>().unary_opt::<_, Float64Type>(to))
            }
            DataType::Float32 => {
                let to = |value| canonical_narrow(value).or(one.then_some(f32::NAN));
                Arc::new(values.as_primitive::<Float32Type>().unary_opt::<_, Float32Type>(to))
            }
            of => return Err(DataFusionError::Internal(format!("{of} is not a real"))),
        })
    }
}

impl ScalarUDFImpl for Canonical {
    fn name(&self) -> &str {
        match self.nan {
            NotANumber::One => "canonical_real",
            NotANumber::Null => "counted_real",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match arguments {
            [of @ (DataType::Float32 | DataType::Float64)] => Ok(of.clone()),
            _ => Err(DataFusionError::Plan(format!("{} takes one real", self.name()))),
        }
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value] = arguments.args.as_slice() else {
            return Err(DataFusionError::Internal(format!("{} takes one argument", self.name())));
        };
        Ok(ColumnarValue::Array(self.of(&value.to_array(arguments.number_rows)?)?))
    }
}
