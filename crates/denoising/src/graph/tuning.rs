//! The penalty of trend filtering, chosen from the release alone.

use super::{GraphError, NoisyValues, TrendFilter, TrendFit};

/// How the penalty is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PenaltyRule {
    /// The one of least unbiased risk. Assumes independent Gaussian noise of the stated deviations.
    UnbiasedRisk,
    /// The largest one that explains the release up to its noise:
    /// `sum (y_i - x_i)^2 / sigma_i^2 <= n`, the discrepancy principle. Assumes the deviations
    /// only, so it is right for any noise; it smooths more than the least risk would, and gives no
    /// risk.
    Discrepancy,
}

/// Where the search starts, in units of the noise. On a line a run of values within this of each
/// other is about to fuse.
const FIRST: f64 = 1.0 / 8.0;

/// The search ends after this many doublings in a row without less risk.
const PATIENCE: usize = 2;

/// No penalty outside `2^-24` to `2^36` times [`FIRST`] is tried.
const MOST_DOUBLINGS: i32 = 36;
const MOST_HALVINGS: i32 = 24;

/// The gap along the path: within `1e-4 n/2` of the optimum the fit is off by a squared error of at
/// most `1e-4 n` noise variances.
const GAP_ON_THE_WAY: f64 = 1e-4;

impl TrendFilter<'_> {
    /// The fit for the penalty that `rule` chooses.
    ///
    /// The penalty is doubled from 1/8 on, each fit starting from the one before, until a component
    /// is one piece or the rule has been passed for good; then it is refined to a factor of
    /// `2^(1/4)`. Only penalties whose gap was certified are considered.
    ///
    /// # Errors
    /// If the vector does not fit the graph, or no penalty gives a fit within the gap.
    pub fn tuned(&self, released: &NoisyValues, rule: PenaltyRule) -> Result<TrendFit, GraphError> {
        self.differences.graph.require_length("values", released.len())?;
        let coarse = TrendFilter { relative_gap: self.relative_gap.max(GAP_ON_THE_WAY), ..*self };
        let best = match rule {
            PenaltyRule::UnbiasedRisk => coarse.least_risk(released)?,
            PenaltyRule::Discrepancy => coarse.largest_within_noise(released)?,
        };
        let mut chosen = if best.relative_gap() <= self.relative_gap {
            best
        } else {
            self.fit_from(released, best.lambda(), Some(&best))?
        };
        chosen.gaussian_risk = chosen.gaussian_risk.after_choice();
        Ok(chosen)
    }

    fn least_risk(&self, released: &NoisyValues) -> Result<TrendFit, GraphError> {
        let first = self.fit(released, FIRST)?;
        let mut best = self.descend(released, &first, 1..=MOST_DOUBLINGS)?;
        if best.lambda() == FIRST {
            best = self.descend(released, &first, (-MOST_HALVINGS..=-1).rev())?;
        }
        // To a factor of sqrt 2 on both sides, and then of the fourth root of 2 on both sides of
        // the better one.
        for step in [0.5, 0.25] {
            let centre = best.lambda();
            for exponent in [-step, step] {
                let lambda = centre * 2_f64.powf(exponent);
                if let Some(fit) = converged(self.fit_from(released, lambda, Some(&best)))? {
                    best = the_better(best, fit);
                }
            }
        }
        Ok(best)
    }

    /// Follows the penalties `2^exponent FIRST` until the risk has stopped falling.
    fn descend(
        &self,
        released: &NoisyValues,
        first: &TrendFit,
        exponents: impl Iterator<Item = i32>,
    ) -> Result<TrendFit, GraphError> {
        let (mut best, mut last, mut worse) = (first.clone(), first.clone(), 0);
        let pieces = self.differences.graph.components().len();
        for exponent in exponents {
            let Some(fit) =
                converged(self.fit_from(released, FIRST * 2_f64.powi(exponent), Some(&last)))?
            else {
                break;
            };
            worse = if risk(&fit) < risk(&best) { 0 } else { worse + 1 };
            best = the_better(best, fit.clone());
            if worse == PATIENCE || fit.degrees_of_freedom() <= pieces {
                break;
            }
            last = fit;
        }
        Ok(best)
    }

    /// The residual grows with the penalty, so the rule is a bisection.
    fn largest_within_noise(&self, released: &NoisyValues) -> Result<TrendFit, GraphError> {
        let allowed = released.len() as f64;
        let pieces = self.differences.graph.components().len();
        let mut exponent = 0.0;
        let mut best = self.fit(released, FIRST)?;
        while best.scaled_residual() > allowed {
            exponent -= 1.0;
            best = self.fit(released, FIRST * 2_f64.powf(exponent))?;
        }
        loop {
            if best.degrees_of_freedom() <= pieces || exponent >= f64::from(MOST_DOUBLINGS) {
                return Ok(best);
            }
            let next = converged(self.fit_from(
                released,
                FIRST * 2_f64.powf(exponent + 1.0),
                Some(&best),
            ))?;
            let Some(next) = next.filter(|fit| fit.scaled_residual() <= allowed) else { break };
            (best, exponent) = (next, exponent + 1.0);
        }
        for step in [0.5, 0.25] {
            let lambda = FIRST * 2_f64.powf(exponent + step);
            let fit = converged(self.fit_from(released, lambda, Some(&best)))?;
            if let Some(fit) = fit.filter(|fit| fit.scaled_residual() <= allowed) {
                (best, exponent) = (fit, exponent + step);
            }
        }
        Ok(best)
    }
}

fn risk(fit: &TrendFit) -> f64 {
    fit.risk_if_gaussian().after.value
}

fn the_better(one: TrendFit, other: TrendFit) -> TrendFit {
    if risk(&other) < risk(&one) { other } else { one }
}

/// A penalty whose gap could not be certified is no candidate; other errors are errors.
fn converged(fit: Result<TrendFit, GraphError>) -> Result<Option<TrendFit>, GraphError> {
    match fit {
        Ok(fit) => Ok(Some(fit)),
        Err(GraphError::NotConverged { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Graph, NoiseDeviation, Order};
    use super::*;

    /// A step of 6 deviations in the middle of a line, with a fixed disturbance of variance 1.
    fn step() -> Vec<f64> {
        let disturbance = |i: usize| if (i * i / 3).is_multiple_of(2) { 1.0 } else { -1.0 };
        (0..60).map(|i| if i < 30 { 0.0 } else { 6.0 } + disturbance(i)).collect()
    }

    #[test]
    fn the_least_risk_is_found_up_to_the_grid() {
        let graph = Graph::line(60).expect("a line");
        let released = NoisyValues::new(&step(), NoiseDeviation::Same(1.0)).expect("a release");
        for order in [Order::Constant, Order::Linear, Order::Quadratic] {
            let filter = TrendFilter::new(&graph, order);
            let tuned = filter.tuned(&released, PenaltyRule::UnbiasedRisk).expect("a fit");
            for exponent in -4..14 {
                let other = filter.fit(&released, 2_f64.powi(exponent)).expect("a fit");
                assert!(
                    risk(&tuned) <= risk(&other) + 0.1,
                    "{order:?} {exponent}: {tuned:?} {other:?}"
                );
            }
            assert!(tuned.relative_gap() <= 1e-6);
        }
    }

    #[test]
    fn the_discrepancy_is_met_and_a_larger_penalty_exceeds_it() {
        let graph = Graph::grid(6, 10).expect("a grid");
        let released = NoisyValues::new(&step(), NoiseDeviation::Same(1.0)).expect("a release");
        for order in [Order::Constant, Order::Linear, Order::Quadratic] {
            let filter = TrendFilter::new(&graph, order);
            let tuned = filter.tuned(&released, PenaltyRule::Discrepancy).expect("a fit");
            assert!(tuned.scaled_residual() <= 60.0 * 1.001, "{order:?}");
            let larger = filter.fit(&released, tuned.lambda() * 2_f64.powf(0.26)).expect("a fit");
            assert!(larger.scaled_residual() > 60.0, "{order:?}");
        }
    }

    #[test]
    fn a_release_without_noise_to_speak_of_is_left_alone_and_a_constant_one_is_fused() {
        let graph = Graph::grid(4, 5).expect("a grid");
        let far_apart: Vec<f64> = (0..20).map(|i| f64::from(i * i % 7) * 1e6).collect();
        let released = NoisyValues::new(&far_apart, NoiseDeviation::Same(1.0)).expect("a release");
        let zeros = NoisyValues::new(&[0.0; 20], NoiseDeviation::Same(1.0)).expect("a release");
        for rule in [PenaltyRule::UnbiasedRisk, PenaltyRule::Discrepancy] {
            let filter = TrendFilter::new(&graph, Order::Constant);
            let close = filter.tuned(&released, rule).expect("a fit");
            assert!(
                close.values().iter().zip(&far_apart).all(|(x, y)| (x - y).abs() < 8.0),
                "{rule:?}: {close:?}"
            );
            assert_eq!(filter.tuned(&zeros, rule).expect("a fit").values(), [0.0; 20]);
        }
    }
}
