//! Why a plan is what it is, in a sentence that people read before they spend anything.

use crate::added_noise::AddedNoise;
use crate::aim::AnswerMetric;
use crate::draft::{Draft, Task};
use crate::plan::NoiseFamily;
use crate::selection::Selection;

/// The noise, the quantiles, the selection of groups, and the next best noise with how many times
/// the error it has.
pub(crate) fn reason(
    task: &Task<'_>,
    draft: &Draft,
    asked: NoiseFamily,
    next: Option<(String, f64)>,
) -> String {
    let parts = [
        numbers(task, draft, asked),
        quantiles(task.quantiles),
        selection(draft),
        comparison(&task.aim.in_words(), next),
    ];
    let text = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ");
    let mut letters = text.chars();
    letters
        .next()
        .map_or(String::new(), |first| first.to_uppercase().chain(letters).chain(['.']).collect())
}

fn numbers(task: &Task<'_>, draft: &Draft, asked: NoiseFamily) -> String {
    let moved = u64::from(task.groups).saturating_mul(task.numbers.len() as u64);
    let (name, delta) =
        (draft.noise_in_words(), draft.noises.iter().any(|noise| noise.delta() > 0.0));
    let named = match asked {
        NoiseFamily::Named(_) => ", as it was asked for",
        NoiseFamily::LeastError | NoiseFamily::Pure | NoiseFamily::Gaussian => "",
    };
    // By another metric than the usual one it is the best of what was compared.
    let is_usual = task.aim.metric == AnswerMetric::RootMeanSquare;
    match (draft.noises.first().map(AddedNoise::name), moved) {
        (None, _) => String::new(),
        (Some("gaussian"), _) => format!(
            "Gaussian noise{named}, calibrated for the Euclidean length of all that one unit can \
             move at once ({moved} numbers)"
        ),
        (Some(_), _) if !named.is_empty() => format!(
            "{name} noise{named}, on {}{}",
            if moved == 1 {
                "one number".to_string()
            } else {
                format!("each of the {moved} numbers that one unit can move at once")
            },
            if delta { ", for a part of delta" } else { "" }
        ),
        (Some(_), 1) if delta => format!("{name} noise on one number, for a part of delta"),
        (Some(_), 1) if is_usual => {
            format!("{name} noise on one number, the best of all under pure DP")
        }
        (Some(_), 1) => format!("{name} noise on one number, under pure DP"),
        (Some(_), _) => format!(
            "{name} noise, {} on each of the {moved} numbers that one unit can move at once",
            match (delta, is_usual) {
                (true, _) => "the best for its share of epsilon and delta",
                (false, true) => "the best pure noise",
                (false, false) => "the best pure noise that was compared,",
            }
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

/// Noise may be better by less than the `delta` is worth that it would spend, or the groups that it
/// would not show.
fn comparison(error: &str, next: Option<(String, f64)>) -> String {
    match next {
        None => String::new(),
        Some((name, ratio)) if name.is_empty() || !ratio.is_finite() => String::new(),
        Some((name, ratio)) if ratio < 1.0 => format!(
            "{name} noise would have {ratio:.4} times the {error}, too little less to spend more \
             of delta or to show fewer groups"
        ),
        Some((name, ratio)) => {
            format!("the next best, {name} noise, has {ratio:.2} times the {error}")
        }
    }
}
