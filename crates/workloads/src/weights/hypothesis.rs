//! A distribution over the cells of a histogram, in the log domain.

use crate::LinearQuery;

/// Logarithms of weights, up to a common constant, and the probabilities that they give. Public: it
/// is made from released numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Hypothesis {
    log_weights: Vec<f64>,
    probabilities: Vec<f64>,
}

impl Hypothesis {
    /// All cells alike.
    pub(crate) fn uniform(cells: usize) -> Self {
        let probabilities = vec![1.0 / cells as f64; cells];
        Hypothesis { log_weights: vec![0.0; cells], probabilities }
    }

    pub(crate) fn probabilities(&self) -> &[f64] {
        &self.probabilities
    }

    /// The probability of a query's cells.
    pub(crate) fn probability(&self, query: &LinearQuery) -> f64 {
        query.answer(&self.probabilities).clamp(0.0, 1.0)
    }

    /// Multiplies the weights of a query's cells by `exp(step)`.
    ///
    /// For the distribution `p` of the data, the divergence `KL(p || hypothesis)` falls by at least
    /// `step (q(p) - q(hypothesis)) - step^2/8`: the logarithm of the normalising constant,
    /// `ln E exp(step q)`, is at most `step E q + step^2/8` (Hoeffding), for `q` from 0 to 1.
    pub(crate) fn update(&mut self, query: &LinearQuery, step: f64) {
        for &(cell, _) in query.terms() {
            if let Some(weight) = self.log_weights.get_mut(cell) {
                *weight += step;
            }
        }
        let largest = self.log_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // The largest is kept at zero, so that histories of any length stay finite.
        self.log_weights.iter_mut().for_each(|weight| *weight -= largest);
        let sum: f64 = self.log_weights.iter().map(|weight| weight.exp()).sum();
        for (probability, weight) in self.probabilities.iter_mut().zip(&self.log_weights) {
            *probability = weight.exp() / sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divergence(p: &[f64], q: &[f64]) -> f64 {
        p.iter().zip(q).filter(|(p, _)| **p > 0.0).map(|(p, q)| p * (p / q).ln()).sum()
    }

    /// The claim of [`Hypothesis::update`], on many steps.
    #[test]
    fn the_divergence_falls_by_what_is_claimed() {
        let p = [0.5, 0.2, 0.05, 0.25, 0.0];
        let mut hypothesis = Hypothesis::uniform(5);
        for round in 0..200usize {
            let cells = (0..5).filter(|cell| (round * 7 + cell * cell * 3) % 5 < 2);
            let Ok(query) = LinearQuery::counting(cells) else { continue };
            let gap = query.answer(&p) - hypothesis.probability(&query);
            let step = 4.0 * gap * [0.5, 1.0, 1.7][round % 3];
            let before = divergence(&p, hypothesis.probabilities());
            hypothesis.update(&query, step);
            let fall = before - divergence(&p, hypothesis.probabilities());
            assert!(fall >= step * gap - step * step / 8.0 - 1e-12, "{round}: {fall}");
        }
    }

    #[test]
    fn long_histories_stay_finite() {
        let mut hypothesis = Hypothesis::uniform(3);
        let query = LinearQuery::counting([1]).expect("a cell");
        for _ in 0..100_000 {
            hypothesis.update(&query, 4.0);
        }
        assert_eq!(hypothesis.probability(&query), 1.0);
        assert!(hypothesis.probabilities().iter().all(|p| p.is_finite()));
        hypothesis.update(&query, -800_000.0);
        assert!((hypothesis.probabilities()[0] - 0.5).abs() < 1e-9);
    }
}
