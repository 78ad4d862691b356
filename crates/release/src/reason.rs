//! Why a plan is what it is, in a sentence that people read before they spend anything.

use crate::added_noise::AddedNoise;
use crate::draft::{Draft, Task};
use crate::selection::Selection;

/// The noise, the quantiles, the selection of groups, and how many times worse the next best way is.
pub(crate) fn reason(task: &Task<'_>, draft: &Draft, gain: f64) -> String {
    let parts = [numbers(task, draft), quantiles(task.quantiles), selection(draft), comparison(gain)];
    let text = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ");
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).chain(['.']).collect())
}

fn numbers(task: &Task<'_>, draft: &Draft) -> String {
    let moved = u64::from(task.groups).saturating_mul(task.numbers.len() as u64);
    match (draft.noises.first(), moved) {
        (None, _) => String::new(),
        (Some(AddedNoise::Gaussian(_)), _) => format!(
            "Gaussian noise, calibrated for the Euclidean length of all that one unit can move at once ({moved} numbers)"
        ),
        (Some(noise), 1) => format!("{} noise on one number, the best that a pure promise allows", noise.name()),
        (Some(_), _) if draft.noises.iter().any(|noise| noise.name() == "staircase") => {
            "staircase noise, the best for numbers of which one unit moves one group's".into()
        }
        (Some(_), _) => format!(
            "discrete-laplace noise, calibrated for the sum of all that one unit can move at once ({moved} numbers)"
        ),
    }
}

fn quantiles(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => "one quantile by the exponential mechanism on ranks".into(),
        more => format!("{more} quantiles by the exponential mechanism on ranks"),
    }
}

fn selection(draft: &Draft) -> String {
    match &draft.selection {
        None => String::new(),
        Some(Selection::Optimal { rule, .. }) => format!(
            "groups shown by optimal partition selection, with probability 1/2 from {} units on",
            rule.shown_at_half()
        ),
        Some(Selection::Threshold(threshold)) => {
            let compared = if threshold.statistic.is_some() {
                "a count of theirs that is released"
            } else {
                "a noisy number of units"
            };
            format!("groups shown if {compared} is at least {}", threshold.least)
        }
    }
}

fn comparison(gain: f64) -> String {
    if gain.is_finite() && gain > 1.005 {
        format!("the next best way has {gain:.2} times the root mean square error")
    } else {
        String::new()
    }
}
