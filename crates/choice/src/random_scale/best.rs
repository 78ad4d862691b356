//! The best that any distribution of the inverse scale can reach, for every objective.

use super::families::two_points_for;
use super::{ConditionalLoss, Objective, best_inverse_scale};

/// The best distribution of the inverse scale, which has two points or one.
#[derive(Clone, Debug, PartialEq)]
pub struct BestScale {
    /// `(t_1, t_2, w)`, with the probability `w` of `t_1`; `None` where Laplace noise is the best
    /// that was found.
    pub two_point: Option<(f64, f64, f64)>,
    /// Proved: no distribution of the inverse scale has a smaller value of the objective.
    pub floor: f64,
    /// Whether the floor is the value of what was found, but for what a proof in rounded arithmetic
    /// leaves open: then it is proved to be the best.
    pub is_proved: bool,
    /// What a family is searched with: the objective, and for the quantile of integers, which moves
    /// in steps, the probability beyond the best one.
    pub(super) aim: Objective,
}

impl BestScale {
    /// Whether it is proved that Laplace noise is the best.
    pub fn is_laplace(&self) -> bool {
        self.two_point.is_none() && self.is_proved
    }
}

/// The best distribution of the inverse scale for `epsilon` and a sensitivity. With `integer` the
/// release is rounded to the integers, which a quantile has to know.
pub fn best_scale(
    objective: &Objective,
    epsilon: f64,
    sensitivity: f64,
    integer: bool,
) -> BestScale {
    match objective {
        Objective::Expected(loss) => {
            let best = best_inverse_scale(loss, epsilon, sensitivity);
            BestScale {
                is_proved: best.floor > loss.least(),
                two_point: best.two_point,
                floor: best.floor,
                aim: objective.clone(),
            }
        }
        Objective::Entropy | Objective::Maximum(_) => {
            let Some(loss) = objective.linear() else { return unknown(objective) };
            let linear = best_inverse_scale(&loss, epsilon, sensitivity);
            let is_proved = linear.two_point.is_none() && linear.floor > loss.least();
            let two_point =
                if is_proved { None } else { two_points_for(objective, epsilon, sensitivity) };
            BestScale { two_point, floor: linear.floor, is_proved, aim: objective.clone() }
        }
        Objective::Quantile(outside) => quantile(*outside, epsilon, sensitivity, integer),
    }
}

fn unknown(objective: &Objective) -> BestScale {
    let aim = objective.clone();
    BestScale { two_point: None, floor: f64::NEG_INFINITY, is_proved: false, aim }
}

/// The least `t` beyond which some distribution of the scale leaves no more than `outside`. It is
/// proved that no smaller one will do, where the least probability beyond a `t` next to it is
/// proved to be larger.
fn quantile(outside: f64, epsilon: f64, sensitivity: f64, integer: bool) -> BestScale {
    let beyond = |t: f64| ConditionalLoss::Exceedance(if integer { t.floor() + 0.5 } else { t });
    let at = |t: f64| best_inverse_scale(&beyond(t), epsilon, sensitivity);
    // Laplace's own quantile is an upper end.
    let (mut low, mut high) = (0.0, sensitivity / epsilon * -outside.ln());
    for _ in 0..50 {
        let middle = 0.5 * (low + high);
        if at(middle).cost.estimate() <= outside {
            high = middle
        } else {
            low = middle
        }
        if high - low <= 1e-13 * high || integer && high - low < 0.25 {
            break;
        }
    }
    let best = at(high);
    let (least, tries) = if integer {
        (high.floor(), [high.floor() - 0.5; 3])
    } else {
        (high, [1e-9, 1e-6, 1e-3].map(|slack| high * (1.0 - slack)))
    };
    let proved = tries.into_iter().find(|&t| t >= 0.0 && at(t).floor > outside);
    let floor = proved.map_or(0.0, |t| if integer { least } else { t });
    BestScale {
        is_proved: floor > 0.0,
        two_point: best.two_point,
        floor,
        aim: if integer { Objective::Expected(beyond(high)) } else { Objective::Quantile(outside) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::Metric;
    use crate::random_scale::estimate::Estimate;

    fn objective(metric: &str, dimension: u32) -> Objective {
        let metric: Metric = metric.parse().expect("a metric");
        Objective::of(&metric, dimension, false).expect("known")
    }

    fn value(objective: &Objective, best: &BestScale, epsilon: f64) -> f64 {
        let points = match best.two_point {
            Some((first, second, weight)) => vec![(first, weight), (second, 1.0 - weight)],
            None => vec![(epsilon, 1.0)],
        };
        let noise = Estimate::Points(points);
        assert!(noise.epsilon(1.0) <= epsilon + 1e-9);
        objective.estimate(&noise, epsilon)
    }

    /// No mixture of three points that keeps epsilon is better than the two that were found, nor
    /// below the floor.
    #[test]
    fn two_points_are_the_best_of_many_for_every_metric() {
        let mut state = 1u64;
        let mut uniform = move || {
            // Knuth's linear congruential generator.
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / 9007199254740992.0
        };
        for (metric, dimension) in [
            ("l1", 1),
            ("l2", 1),
            ("entropy", 1),
            ("usefulness:0.1", 1),
            ("quantile:0.5", 1),
            ("max", 4),
            ("max:0.9", 4),
        ] {
            let objective = objective(metric, dimension);
            for epsilon in [0.7, 4.0, 6.0] {
                let best = best_scale(&objective, epsilon, 1.0, false);
                let least = value(&objective, &best, epsilon);
                assert!(best.floor <= least + 1e-9, "{metric} {epsilon}: {best:?} {least}");
                for _ in 0..300 {
                    let points: Vec<(f64, f64)> = (0..3)
                        .map(|_| (epsilon * (3.0 * uniform() - 2.0).exp(), uniform()))
                        .collect();
                    let total: f64 = points.iter().map(|point| point.1).sum();
                    let noise =
                        Estimate::Points(points.iter().map(|(t, w)| (*t, w / total)).collect());
                    // Stretched until it keeps epsilon.
                    let (mut low, mut high) = (1e-3, 1e3);
                    for _ in 0..80 {
                        let middle = f64::sqrt(low * high);
                        if noise.epsilon(middle) > epsilon { high = middle } else { low = middle }
                    }
                    let Estimate::Points(points) = noise else { unreachable!("as made") };
                    let kept =
                        Estimate::Points(points.iter().map(|(t, w)| (t * low, *w)).collect());
                    let found = objective.estimate(&kept, epsilon);
                    assert!(
                        found >= least - 1e-7 * least.abs(),
                        "{metric} {epsilon}: {found} {least} {kept:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn laplace_is_proved_best_for_the_entropy_and_for_maxima_at_small_epsilon() {
        for epsilon in [0.1, 1.0] {
            for (metric, dimension) in [("entropy", 1), ("max", 7), ("quantile:0.9", 1)] {
                let best = best_scale(&objective(metric, dimension), epsilon, 1.0, false);
                assert!(best.is_laplace(), "{metric} {epsilon}");
            }
        }
        // h = 1 + ln(2/epsilon), to the last digits of the proof.
        let best = best_scale(&Objective::Entropy, 1.0, 1.0, false);
        assert!((best.floor - 1.0 - 2f64.ln()).abs() < 1e-9, "{best:?}");
    }

    #[test]
    fn a_larger_epsilon_gains_entropy() {
        for epsilon in [4.0, 8.0] {
            let best = best_scale(&Objective::Entropy, epsilon, 1.0, false);
            let laplace = 1.0 + (2.0 / epsilon).ln();
            let found = value(&Objective::Entropy, &best, epsilon);
            assert!(best.two_point.is_none() || found < laplace, "{epsilon}: {found} {laplace}");
            assert!(best.floor <= found && best.floor > found - 0.75, "{epsilon}: {best:?}");
        }
    }

    #[test]
    fn quantiles_of_integers_are_integers() {
        for (q, epsilon) in [(0.5, 1.0), (0.9, 0.5), (0.99, 3.0)] {
            let best = best_scale(&Objective::Quantile(1.0 - q), epsilon, 3.0, true);
            assert!(best.floor >= 1.0 && best.floor.fract() == 0.0, "{q} {epsilon}: {best:?}");
        }
    }
}
