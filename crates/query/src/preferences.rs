//! What of a query matters to the noise beyond its statistics.

use crate::sql::{Aggregation, Formula};
use reticent_release::{AnswerMetric, NoiseFamily, Preferences, Statistic};

/// The weight of a count that only averages divide by.
///
/// # Derivation
/// An average `c + S/N` of `n` values has, to first order, the mean square error
/// `(E N_S^2 + R^2 E N_N^2) / n^2`, where `R` is the distance of the average from the centre `c` of
/// its range. With `h` half of the range, one unit moves `S` by `h` and `N` by 1 a row: relative to
/// that, the error of the count weighs `(R/h)^2` beside that of the sum. Nothing public says where
/// in the range an average is; over the whole range the mean of `(R/h)^2` is 1/3.
const OF_DIVISOR: f64 = 1.0 / 3.0;

/// How much each statistic matters, and which count tells the size of a group.
pub(crate) fn preferences(
    aggregation: &Aggregation,
    statistics: &[Statistic],
    metric: Option<AnswerMetric>,
    noise: NoiseFamily,
) -> Preferences {
    let divides = |index: usize| {
        let mut users =
            aggregation.outputs.iter().map(|output| &output.formula).filter(|it| it.uses(index));
        let divisor =
            |it: &Formula| matches!(it, Formula::Average { count, .. } if *count == index);
        users.clone().next().is_some() && users.all(divisor)
    };
    let weights =
        (0..statistics.len()).map(|index| if divides(index) { OF_DIVISOR } else { 1.0 }).collect();
    // All rows, rather than those with a value of some column.
    let select_by = statistics
        .iter()
        .position(|statistic| matches!(statistic, Statistic::Count { column: None, .. }));
    Preferences { weights: Some(weights), metric, noise, select_by }
}
