//! Whether Markov chains have met, and how much their draws are worth.

use serde::Serialize;

/// The diagnostics of one quantity over several chains.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Diagnostics {
    /// The mean of all draws.
    pub mean: f64,
    /// Their standard deviation.
    pub deviation: f64,
    /// Split R-hat: 1 where the halves of all chains agree, larger where they do not.
    pub r_hat: f64,
    /// How many independent draws the mean is worth.
    pub effective_draws: f64,
}

impl Diagnostics {
    /// The standard error of the mean by the chains being finite.
    pub fn monte_carlo_error(&self) -> f64 {
        self.deviation / self.effective_draws.sqrt()
    }
}

/// Split R-hat and the effective number of draws, for chains of equal length.
///
/// # Formula
/// Each chain is cut in two halves of length `n`. With the mean `W` of the halves' variances and
/// the variance `B/n` of their means, the pooled variance is `V = (n-1)/n W + B/n` and R-hat is
/// `sqrt(V/W)`. The autocorrelation at lag `t` is `1 - (W - mean covariance at t)/V`, and the
/// effective number of draws is `mn / (1 + 2 sum rho_t)`, the sum taken over pairs of lags as long
/// as they are positive and decrease (Geyer 1992).
///
/// `None` for fewer than 8 draws, or chains of different lengths. Constant equal chains have R-hat
/// 1 and as many effective draws as draws.
///
/// # References
/// Vehtari, Gelman, Simpson, Carpenter, Bürkner, *Rank-normalization, folding, and localization: an
/// improved R-hat*, 2021, Section 3 (without the ranks).
pub fn diagnose(chains: &[&[f64]]) -> Option<Diagnostics> {
    let length = chains.first()?.len();
    if length < 8 || chains.iter().any(|chain| chain.len() != length) {
        return None;
    }
    let n = length / 2;
    let halves: Vec<&[f64]> =
        chains.iter().flat_map(|chain| [&chain[..n], &chain[length - n..]]).collect();
    let m = halves.len() as f64;
    let means: Vec<f64> = halves.iter().map(|half| half.iter().sum::<f64>() / n as f64).collect();
    let mean = means.iter().sum::<f64>() / m;
    // The covariance of a half with itself at a lag, averaged over halves.
    let covariance = |lag: usize| -> f64 {
        let of_half = |(half, mean): (&&[f64], &f64)| -> f64 {
            half.iter()
                .zip(&half[lag..])
                .map(|(now, later)| (now - mean) * (later - mean))
                .sum::<f64>()
                / n as f64
        };
        halves.iter().zip(&means).map(of_half).sum::<f64>() / m
    };
    let within = covariance(0) * n as f64 / (n as f64 - 1.0);
    let between = means.iter().map(|half| (half - mean).powi(2)).sum::<f64>() / (m - 1.0);
    let pooled = covariance(0) + between;
    let draws = m * n as f64;
    if pooled == 0.0 {
        return Some(Diagnostics { mean, deviation: 0.0, r_hat: 1.0, effective_draws: draws });
    }
    let r_hat = if within > 0.0 { (pooled / within).sqrt() } else { f64::INFINITY };
    let correlation = |lag: usize| 1.0 - (within - covariance(lag)) / pooled;
    let (mut sum, mut last) = (0.0, f64::INFINITY);
    for lag in (0..n.saturating_sub(1)).step_by(2) {
        let pair = (correlation(lag) + correlation(lag + 1)).min(last);
        if pair <= 0.0 {
            break;
        }
        sum += pair;
        last = pair;
    }
    // The pairs begin with rho_0 = 1, so that 1 + 2 sum = 2 (sum of pairs) - 1.
    let effective_draws = draws / (2.0 * sum - 1.0).max(1.0 / draws.log10());
    Some(Diagnostics { mean, deviation: pooled.sqrt(), r_hat, effective_draws })
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_noise::randomness::{RandomBits, SeededRandom};
    use reticent_numerics::normal_quantile::normal_quantile;

    /// A chain `x' = a x + e`, whose effective share of draws is `(1-a)/(1+a)`.
    fn autoregressive(a: f64, length: usize, seed: u64) -> Vec<f64> {
        let mut random = SeededRandom::new(seed);
        let mut normal = || {
            let word = random.next_u64().expect("seeded bits");
            normal_quantile(((word >> 11) as f64 + 0.5) / 2f64.powi(53)).estimate()
        };
        let mut x = normal() / (1.0 - a * a).sqrt();
        (0..length)
            .map(|_| {
                x = a * x + normal();
                x
            })
            .collect()
    }

    #[test]
    fn autocorrelated_draws_are_worth_less() {
        for a in [0.0, 0.5, 0.9] {
            let chains: Vec<_> = (0..4).map(|seed| autoregressive(a, 5000, seed)).collect();
            let slices: Vec<&[f64]> = chains.iter().map(Vec::as_slice).collect();
            let found = diagnose(&slices).expect("long chains");
            let share = found.effective_draws / 20_000.0;
            let expected = (1.0 - a) / (1.0 + a);
            // The estimate has a relative spread of some 5%, more for slow chains; the seeds are
            // fixed.
            assert!((share / expected - 1.0).abs() < 0.25, "{a}: {share} {expected}");
            assert!(found.r_hat < 1.01, "{a}: {found:?}");
        }
    }

    #[test]
    fn chains_that_have_not_met_are_told() {
        let mut chains: Vec<_> = (0..4).map(|seed| autoregressive(0.2, 1000, seed)).collect();
        for value in &mut chains[2] {
            *value += 2.0;
        }
        let slices: Vec<&[f64]> = chains.iter().map(Vec::as_slice).collect();
        assert!(diagnose(&slices).expect("long chains").r_hat > 1.1);
        assert_eq!(diagnose(&[&[1.0; 20], &[1.0; 20]]).expect("long").r_hat, 1.0);
        assert_eq!(diagnose(&[&[1.0; 20], &[2.0; 20]]).expect("long").r_hat, f64::INFINITY);
        assert!(diagnose(&[&[1.0; 4]]).is_none() && diagnose(&[]).is_none());
    }
}
