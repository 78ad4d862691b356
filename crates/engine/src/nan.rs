//! Not-a-number.

/// Whether there is one. All are looked at, in vectors, which is faster than to stop at the first:
/// most columns have none.
pub(crate) fn has_nan(values: &[f64]) -> bool {
    values.iter().fold(false, |any, value| any | value.is_nan())
}
