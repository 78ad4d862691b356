//! A running sum that never falls behind: what has been spent.

use reticent_numerics::Bounds;
use reticent_numerics::rounding::{add_up, sub_down};
use serde::{Deserialize, Serialize};

/// The sum of many costs, as two `f64` that together are at least the exact sum.
///
/// `high + low` is exact up to a relative `2^-104` an addition, rounded up each time: a million
/// costs of a millionth of a budget are within `1e-25` of that budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Pair", into = "Pair")]
pub(crate) struct Spent {
    high: f64,
    low: f64,
}

/// As it is stored.
#[derive(Serialize, Deserialize)]
struct Pair {
    high: f64,
    low: f64,
}

impl From<Spent> for Pair {
    fn from(spent: Spent) -> Self {
        Pair { high: spent.high, low: spent.low }
    }
}

impl TryFrom<Pair> for Spent {
    type Error = String;

    fn try_from(pair: Pair) -> Result<Self, String> {
        let Pair { high, low } = pair;
        // Only what additions can have left: a file that says anything else is refused.
        let consistent = high >= 0.0
            && high.is_finite()
            && low.is_finite()
            && high + low == high
            && (high > 0.0 || low == 0.0);
        if consistent {
            Ok(Spent { high, low })
        } else {
            Err(format!(
                "`spent` is {high:e} and {low:e}, but it must be two finite numbers, the first not \
                 negative and the second its rounding error"
            ))
        }
    }
}

impl Spent {
    /// The sum with one more cost, `None` where that leaves the range of `f64` or the cost is
    /// negative or a NaN.
    pub(crate) fn with(self, cost: f64) -> Option<Self> {
        if cost.is_nan() || cost < 0.0 {
            return None;
        }
        let (sum, error) = exact_sum(self.high, cost)?;
        let (high, low) = exact_sum(sum, add_up(error, self.low))?;
        Some(Spent { high, low })
    }

    /// The least `f64` that is not below the sum.
    pub(crate) fn upper(self) -> f64 {
        add_up(self.high, self.low)
    }

    /// Whether the sum is within a budget.
    pub(crate) fn is_within(self, budget: f64) -> bool {
        // Both differences are exact or rounded toward refusing.
        sub_down(sub_down(budget, self.high), self.low) >= 0.0
    }

    /// What a budget leaves, rounded down; 0 where it leaves nothing.
    pub(crate) fn remaining(self, budget: f64) -> f64 {
        (Bounds::exact(budget) - Bounds::exact(self.high) - Bounds::exact(self.low))
            .lower()
            .max(0.0)
    }
}

/// The rounded sum and its rounding error (Knuth), `None` where it overflows.
fn exact_sum(a: f64, b: f64) -> Option<(f64, f64)> {
    let sum = a + b;
    let from_b = sum - a;
    let error = (a - (sum - from_b)) + (b - from_b);
    (sum.is_finite() && error.is_finite()).then_some((sum, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_charges_lose_nothing() {
        let mut spent = Spent::default();
        for _ in 0..1_000_000 {
            spent = spent.with(0.1).expect("finite");
        }
        // 0.1 as an f64 is 0.1000000000000000055511151231257827...
        assert_eq!(spent.high, 100_000.0);
        assert!((spent.low - 5.551115123125783e-12).abs() < 1e-24, "{:e}", spent.low);
        assert!(!spent.is_within(100_000.0) && spent.is_within(100_000.0f64.next_up()));
    }

    #[test]
    fn a_difference_below_the_last_bit_is_seen() {
        let spent = Spent::default().with(1.0).and_then(|spent| spent.with(1e-30)).expect("finite");
        assert!(!spent.is_within(1.0) && spent.upper() > 1.0 && spent.remaining(1.0) == 0.0);
        assert!(Spent::default().with(1.0).expect("finite").is_within(1.0));
    }

    #[test]
    fn hostile_charges_and_files() {
        let spent = Spent::default();
        for cost in [-1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(spent.with(cost), None, "{cost}");
        }
        let full = spent.with(f64::MAX).expect("finite");
        assert_eq!(full.with(f64::MAX), None);
        for text in [
            r#"{"high":-1.0,"low":0.0}"#,
            r#"{"high":1.0,"low":-0.5}"#,
            r#"{"high":0.0,"low":-1e-9}"#,
            r#"{"high":1e999,"low":0.0}"#,
            r#"{"high":1.0}"#,
        ] {
            assert!(serde_json::from_str::<Spent>(text).is_err(), "{text}");
        }
        let text = serde_json::to_string(&full).expect("plain data");
        assert_eq!(serde_json::from_str::<Spent>(&text).expect("round trip"), full);
    }
}
