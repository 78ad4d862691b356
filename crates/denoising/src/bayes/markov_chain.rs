//! The posterior mean under a prior that is only a log density over the whole vector.

use super::diagnostics::{Diagnostics, diagnose};
use crate::error::DenoisingError;
use crate::release::{Denoised, Release};
use crate::shape::Shape;
use reticent_noise::NoiseError;
use reticent_noise::randomness::{RandomBits, SeededRandom};
use reticent_numerics::require;
use std::fmt;

/// Metropolis-within-Gibbs chains for a prior that couples the values, such as a smoothness prior.
///
/// # Method
/// Four chains start at the release plus as much noise again. A sweep proposes to each coordinate
/// in turn a uniform step about where it is and accepts it with the Metropolis probability
/// `min(1, pi(new) f(y - new) / pi(old) f(y - old))`. During the warm-up each coordinate's step
/// grows or shrinks towards an acceptance of 0.44, the optimum in one dimension (Gelman, Roberts
/// and Gilks 1996); afterwards it is fixed, so that the chain has the posterior as its stationary
/// distribution. The draws come from a seeded generator: nothing is kept secret here, and a result
/// can be reproduced.
///
/// There are crates for gradient-based samplers (nuts-rs among them). They need the gradient of the
/// log density, which a caller with only a log density does not have.
///
/// # Certificate
/// The mean is returned only if every coordinate has a split R-hat of at most
/// [`MarkovChain::LARGEST_R_HAT`] and at least [`MarkovChain::LEAST_DRAWS`] effective draws;
/// otherwise there is an error that names the worst. Cost: one evaluation of the prior for each
/// coordinate and sweep.
pub struct MarkovChain<P> {
    ln_prior: P,
    warm_up: usize,
    draws: usize,
    seed: u64,
}

impl<P> fmt::Debug for MarkovChain<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MarkovChain")
            .field("warm_up", &self.warm_up)
            .field("draws", &self.draws)
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}

/// A posterior mean with what is known about its accuracy.
#[derive(Clone, Debug, PartialEq)]
pub struct Posterior {
    /// The posterior means. No risk is stated: that of a chain's mean has no estimate.
    pub denoised: Denoised,
    /// The diagnostics of each coordinate.
    pub diagnostics: Vec<Diagnostics>,
}

const CHAINS: u64 = 4;
const WANTED_ACCEPTANCE: f64 = 0.44;

impl<P: Fn(&[f64]) -> f64> MarkovChain<P> {
    /// The most that split R-hat may be.
    pub const LARGEST_R_HAT: f64 = 1.05;
    /// The fewest effective draws.
    pub const LEAST_DRAWS: f64 = 100.0;

    /// Chains of `draws` sweeps each, after as many to warm up.
    ///
    /// # Errors
    /// If there are fewer than 100 draws or more than ten million.
    pub fn new(ln_prior: P, draws: usize, seed: u64) -> Result<Self, DenoisingError> {
        require(
            (100..=10_000_000).contains(&draws),
            "draws",
            draws as f64,
            "from 100 to 10000000",
        )?;
        Ok(MarkovChain { ln_prior, warm_up: draws, draws, seed })
    }

    /// The posterior mean.
    ///
    /// # Errors
    /// If the prior is zero or not a number at the release, or the chains have not converged.
    pub fn denoise(&self, release: &Release) -> Result<Posterior, DenoisingError> {
        let start = (self.ln_prior)(release.values());
        require(start.is_finite(), "log density of the prior at the release", start, "finite")?;
        let chains =
            (0..CHAINS).map(|stream| self.run(release, stream)).collect::<Result<Vec<_>, _>>()?;
        let diagnostics: Vec<Diagnostics> = (0..release.values().len())
            .filter_map(|index| {
                diagnose(&chains.iter().map(|chain| chain[index].as_slice()).collect::<Vec<_>>())
            })
            .collect();
        for (index, found) in diagnostics.iter().enumerate() {
            // Negated, so that a NaN is a failure.
            if !(found.r_hat <= Self::LARGEST_R_HAT && found.effective_draws >= Self::LEAST_DRAWS) {
                let (r_hat, draws) = (found.r_hat, found.effective_draws);
                let reason = format!(
                    "value {} has R-hat {r_hat:.3} and {draws:.0} effective draws, but they must \
                     be at most {} and at least {}; try more draws",
                    index + 1,
                    Self::LARGEST_R_HAT,
                    Self::LEAST_DRAWS
                );
                return Err(DenoisingError::NoConvergence { method: "the Markov chain", reason });
            }
        }
        let denoised = Denoised {
            values: diagnostics.iter().map(|found| found.mean).collect(),
            risk_before: release.risk(),
            risk_after: None,
            assumptions: vec!["the true values are a draw from the given prior".into()],
            method: "Bayes by Markov chains".into(),
        };
        Ok(Posterior { denoised, diagnostics })
    }

    /// The draws of each coordinate.
    fn run(&self, release: &Release, stream: u64) -> Result<Vec<Vec<f64>>, DenoisingError> {
        let mut random = SeededRandom::new(self.seed).stream(stream);
        let mut uniform = || -> Result<f64, DenoisingError> {
            let word = random.next_u64().map_err(NoiseError::from)?;
            Ok(((word >> 11) as f64 + 0.5) / 2f64.powi(53))
        };
        let (values, noise) = (release.values(), release.noise());
        let mut state = values.to_vec();
        let mut steps: Vec<f64> = (0..values.len()).map(|index| 3.0 * noise.scale(index)).collect();
        for (index, coordinate) in state.iter_mut().enumerate() {
            *coordinate += noise.scale(index) * 4.0 * (uniform()? - 0.5);
        }
        let mut ln_prior = (self.ln_prior)(&state);
        if !ln_prior.is_finite() {
            state.copy_from_slice(values);
            ln_prior = (self.ln_prior)(&state);
        }
        let mut draws = vec![Vec::with_capacity(self.draws); values.len()];
        for sweep in 0..self.warm_up + self.draws {
            for index in 0..values.len() {
                let (old, scale) = (state[index], noise.scale(index));
                let new = old + steps[index] * (2.0 * uniform()? - 1.0);
                state[index] = new;
                let proposed = (self.ln_prior)(&state);
                let likelihood =
                    |theta: f64| ln_likelihood(noise.shape(), (values[index] - theta) / scale);
                let ln_ratio = proposed - ln_prior + likelihood(new) - likelihood(old);
                // A NaN compares false, and the proposal is refused.
                let accepted = uniform()?.ln() < ln_ratio;
                if accepted {
                    ln_prior = proposed;
                } else {
                    state[index] = old;
                }
                if sweep < self.warm_up {
                    // Robbins and Monro: the gain falls with the sweep, but slowly enough to get
                    // anywhere.
                    let gain = (1.0 + sweep as f64).powf(-0.6);
                    steps[index] *=
                        (gain * (f64::from(u8::from(accepted)) - WANTED_ACCEPTANCE)).exp();
                } else {
                    draws[index].push(state[index]);
                }
            }
        }
        Ok(draws)
    }
}

fn ln_likelihood(shape: &Shape, z: f64) -> f64 {
    match shape {
        Shape::Gaussian => -0.5 * z * z,
        Shape::Laplace => -z.abs(),
        shape => shape.density(z).ln(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoiseDescription;

    fn release() -> Release {
        Release::new(vec![3.0, -1.0, 4.0], NoiseDescription::gaussian(1.0).expect("valid"))
            .expect("valid")
    }

    /// Values that differ from their neighbours by `N(0, 1)`, and the first from 0: under Gaussian
    /// noise the posterior mean solves a linear system.
    #[test]
    fn a_coupled_normal_prior_gives_the_solution_of_its_system() {
        let walk =
            |x: &[f64]| -0.5 * (x[0].powi(2) + (x[1] - x[0]).powi(2) + (x[2] - x[1]).powi(2));
        let posterior = MarkovChain::new(walk, 20_000, 3)
            .expect("valid")
            .denoise(&release())
            .expect("converges");
        // (I + D'D) x = y with D'D = [[2,-1,0],[-1,2,-1],[0,-1,1]]; inverse of
        // [[3,-1,0],[-1,3,-1],[0,-1,2]] has determinant 13.
        let y = [3.0, -1.0, 4.0];
        let inverse = [[5.0, 2.0, 1.0], [2.0, 6.0, 3.0], [1.0, 3.0, 8.0]];
        for (row, found) in inverse.iter().zip(&posterior.diagnostics) {
            let exact: f64 = row.iter().zip(y).map(|(entry, value)| entry * value / 13.0).sum();
            // Six standard errors: 2e-9 for each of three, with a fixed seed.
            assert!(
                (found.mean - exact).abs() < 6.0 * found.monte_carlo_error(),
                "{found:?} {exact}"
            );
            assert!(found.monte_carlo_error() < 0.01, "{found:?}");
        }
        assert_eq!(posterior.denoised.risk_after, None);
    }

    #[test]
    fn chains_that_do_not_meet_are_an_error() {
        // Two far apart modes: no chain crosses, and the chains that start on both sides never
        // agree.
        let modes = |x: &[f64]| {
            let toward = |m: f64| -x.iter().map(|x| 1e3 * (x - m).powi(2)).sum::<f64>();
            toward(-1.0).max(toward(1.0))
        };
        let middle = Release::new(vec![0.0; 3], NoiseDescription::gaussian(1.0).expect("valid"))
            .expect("valid");
        let refused = MarkovChain::new(modes, 500, 2)
            .expect("valid")
            .denoise(&middle)
            .expect_err("two modes");
        assert!(refused.to_string().contains("R-hat"), "{refused}");
    }

    #[test]
    fn hostile_priors_are_refused() {
        assert!(
            MarkovChain::new(|_: &[f64]| f64::NAN, 100, 1)
                .expect("valid")
                .denoise(&release())
                .is_err()
        );
        assert!(
            MarkovChain::new(|_: &[f64]| f64::NEG_INFINITY, 100, 1)
                .expect("valid")
                .denoise(&release())
                .is_err()
        );
        assert!(MarkovChain::new(|_: &[f64]| 0.0, 99, 1).is_err());
    }
}
