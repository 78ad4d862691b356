//! The picture of a choice: what the noises look like, and how their errors move with epsilon.

use crate::plot::{Chart, Curve, side_by_side};
use crate::progress::Progress;
use reticent_choice::{Candidate, Metric, Ranking, Requirements, SharedBudget, choose};

/// How many of the best mechanisms are drawn, besides the usual ones.
const BEST: usize = 3;
/// What everybody knows.
const USUAL: [&str; 2] = ["laplace", "gaussian"];
/// The points of a density, on each side of zero.
const DENSITY_POINTS: i32 = 400;
/// The epsilons at which errors are drawn; fewer where each takes a linear programme or bounded
/// noise.
const QUICK_POINTS: u32 = 24;
const SLOW_POINTS: u32 = 8;

/// Densities on the left, errors against epsilon on the right, with the limit as a line.
pub fn picture(ranking: &Ranking) -> String {
    side_by_side("The best noises and the usual ones", &[densities(ranking), errors(ranking)])
}

/// The mechanisms that are drawn.
fn drawn(ranking: &Ranking) -> Vec<&Candidate> {
    let mut drawn = Vec::new();
    for (rank, candidate) in ranking.candidates.iter().enumerate() {
        if rank < BEST || USUAL.contains(&candidate.name) {
            drawn.push(candidate);
        }
    }
    drawn
}

fn densities(ranking: &Ranking) -> Chart {
    // As far as the best one's errors reach but for a few in a thousand.
    let reach = Metric::Quantile(0.995).error(&*ranking.best().law, 1).upper();
    let reach = if reach.is_finite() && reach > 0.0 {
        reach.max(ranking.requirements().query.l1())
    } else {
        1.0
    };
    let integer = ranking.requirements().query.is_integer();
    let point = |i: i32| {
        let x = reach * f64::from(i) / f64::from(DENSITY_POINTS);
        if integer { x.round() } else { x }
    };
    let curves = drawn(ranking).into_iter().map(|candidate| {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for x in (-DENSITY_POINTS..=DENSITY_POINTS).map(point) {
            if points.last().is_none_or(|last| last.0 < x) {
                points.push((x, candidate.law.density(x)));
            }
        }
        Curve { name: candidate.name.to_string(), points }
    });
    let curves: Vec<_> = curves.collect();
    let highest =
        curves.iter().flat_map(|curve| &curve.points).map(|point| point.1).fold(0.0, f64::max);
    let (title, vertical) = if integer {
        ("Probability of each integer error", "probability")
    } else {
        ("Density of the error", "density (per unit of the answer)")
    };
    Chart {
        mark: None,
        title: title.into(),
        horizontal: "error (units of the answer)".into(),
        vertical: vertical.into(),
        floor: 1e-6 * highest,
        curves,
    }
}

/// A figure that a logarithmic axis can show: for the entropy `h` the width `e^h`.
fn shown(metric: &Metric, error: f64) -> f64 {
    if *metric == Metric::Entropy { error.exp() } else { error }
}

fn errors(ranking: &Ranking) -> Chart {
    let request = ranking.requirements();
    let (metric, budget) = (&request.metric, &request.budget);
    let slow = budget.delta().is_some() || request.query.bounds().is_some();
    let points = if slow { SLOW_POINTS } else { QUICK_POINTS };
    let (low, high) = (0.25 * budget.epsilon(), (2.0 * budget.epsilon()).min(700.0));
    let drawn = drawn(ranking);
    let mut curves: Vec<_> = drawn
        .iter()
        .map(|candidate| Curve { name: candidate.name.to_string(), points: Vec::new() })
        .collect();
    let mut limit = Curve { name: "limit".into(), points: Vec::new() };
    let mut progress = Progress::new("drawing", points as usize, 1);
    for i in 0..points {
        progress.reach(i as usize);
        let epsilon = low + (high - low) * f64::from(i) / f64::from(points - 1);
        let Ok(budget) = SharedBudget::new(epsilon, budget.delta(), budget.releases()) else {
            continue;
        };
        let at = Requirements { budget, ..request.clone() };
        let Ok(ranked) = choose(&at, |_| ()) else { continue };
        for (candidate, curve) in drawn.iter().zip(&mut curves) {
            if let Some(found) = ranked.candidates.iter().find(|other| other.name == candidate.name)
            {
                curve.points.push((epsilon, shown(metric, found.error.upper())));
            }
        }
        if let Ok(bounds) = ranked.limit {
            limit.points.push((epsilon, shown(metric, bounds.lower())));
        }
    }
    if !limit.points.is_empty() {
        curves.push(limit);
    }
    let what = if *metric == Metric::Entropy {
        "e to the entropy".to_string()
    } else {
        format!("error by {metric}")
    };
    Chart {
        mark: None,
        title: "Error against the privacy loss".into(),
        horizontal: "privacy loss \u{3b5} (nats)".into(),
        vertical: what,
        floor: 0.0,
        curves: curves.into_iter().filter(|curve| !curve.points.is_empty()).collect(),
    }
}
