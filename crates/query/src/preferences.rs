//! What of a query matters to the noise beyond its statistics.

use crate::sql::{Aggregation, Formula};
use reticent_release::{NoiseFamily, Preferences, Statistic};

/// The weight of a count that only averages divide by.
///
/// # Derivation
/// An average `c + S/N` of `n` values has, to first order, the mean square error `(E N_S^2 + R^2 E N_N^2) / n^2`, where `R` is the distance of the average from the centre `c` of its range. With `h` half of the range, one unit moves `S` by `h` and
/// `N` by 1 a row: relative to that, the error of the count weighs `(R/h)^2` beside that of the sum. Nothing public says where in the range an average is; over all places the mean of `(R/h)^2` is 1/3.
const OF_DIVISOR: f64 = 1.0 / 3.0;

/// How much each statistic matters, and which count tells the size of a group.
pub(crate) fn preferences(aggregation: &Aggregation, noise: NoiseFamily) -> Preferences {
    let divides = |place: usize| {
        let mut uses =
            aggregation.outputs.iter().map(|output| use_of(&output.formula, place)).filter(|&used| used != Use::None);
        uses.clone().next().is_some() && uses.all(|used| used == Use::Divisor)
    };
    let weights = (0..aggregation.measures.len()).map(|place| if divides(place) { OF_DIVISOR } else { 1.0 }).collect();
    // All rows, rather than those with a value of some column.
    let select_by = aggregation
        .measures
        .iter()
        .position(|measure| matches!(measure.statistic, Statistic::Count { .. }) && measure.value.is_none());
    Preferences { weights: Some(weights), noise, select_by }
}

/// What a column makes of a statistic.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Use {
    None,
    Divisor,
    Figure,
}

fn use_of(formula: &Formula, place: usize) -> Use {
    match *formula {
        Formula::Average { count, .. } if count == place => Use::Divisor,
        Formula::Count(used) | Formula::Sum { sum: used, count: None } if used == place => Use::Figure,
        Formula::Sum { sum, count: Some(count) } | Formula::Average { sum, count }
            if sum == place || count == place =>
        {
            Use::Figure
        }
        Formula::Spread { sum, squares, count, .. } if [sum, squares, count].contains(&place) => Use::Figure,
        Formula::Quantile { quantiles, .. } if quantiles == place => Use::Figure,
        _ => Use::None,
    }
}
