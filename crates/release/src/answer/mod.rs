//! Answers from released numbers: post-processing, which costs nothing and sees nothing private.

mod average;
mod count;
mod sum;
mod variance;

pub use average::average;
pub use count::count;
pub use sum::{sum, sum_around_centre};
pub use variance::{VarianceForm, standard_deviation, variance};

use crate::{ReleasePlan, Released};

/// A number, and how far it may be from the exact one with probability 0.95. Both are public.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// The half-width.
    pub half_width: f64,
}

impl Released {
    /// A released number with the half-width that the plan states; `None` for quantiles, and
    /// where there is no such statistic or group. Groups are counted among those shown.
    pub fn estimate(&self, plan: &ReleasePlan, statistic: usize, group: usize) -> Option<Estimate> {
        let value = self.statistics.get(statistic)?.number(group)?;
        Some(Estimate { value, half_width: plan.statistics().get(statistic)?.half_width()? })
    }
}

/// The least count that the half-width leaves possible, if a quotient by it means anything.
///
/// Below `least` the quotient may be anything in its public range, and that is what is said of it.
fn surely(count: Estimate, least: f64) -> Option<f64> {
    let lower = count.value - count.half_width;
    (lower >= least).then_some(lower)
}

/// The root of the sum of squares: independent errors, to first order.
fn together(errors: &[f64]) -> f64 {
    errors.iter().map(|error| error * error).sum::<f64>().sqrt()
}
