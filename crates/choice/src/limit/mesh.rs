//! The lattice that noise is put on to bound its loss.

use crate::limit::LimitError;
use crate::loss::Loss;
use reticent_mechanisms::{Distance, MechanismError};
use reticent_numerics::require;
use reticent_numerics::rounding::{div_down, mul_down, mul_up};

/// The most knots of a programme: about a second's work.
const MOST_KNOTS: f64 = 6000.0;

/// The most steps of a sensitivity.
const MOST_STEPS: u64 = 256;

/// The steps of the finest mesh of a family, at least.
const LEAST_FAMILY: usize = 64;

/// The largest loss.
const LARGEST_EPSILON: f64 = 10.0;

/// Steps of length `h`, `steps` of them to the sensitivity, and how far from zero noise of use
/// reaches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mesh {
    pub steps: usize,
    pub spacing: f64,
    pub last: usize,
    pub integers: bool,
}

impl Mesh {
    /// The mesh for integers and a budget; `None` where they are too many, so that real noise has
    /// to speak for them.
    ///
    /// # Errors
    /// If the sensitivity is not from 1 to `2^53`, or epsilon above 10.
    pub(crate) fn for_integers(
        sensitivity: u64,
        epsilon: f64,
        delta: f64,
    ) -> Result<Option<Mesh>, MechanismError> {
        let accepted = "an integer from 1 to 2^53";
        require((1..=1 << 53).contains(&sensitivity), "sensitivity", sensitivity as f64, accepted)?;
        at_most_ten(epsilon, "at most 10: beyond, noise on integers is all but zero")?;
        let knots = (support_in_sensitivities(epsilon, delta) + 2.0) * sensitivity as f64;
        let fits = sensitivity <= MOST_STEPS && knots <= MOST_KNOTS;
        Ok(fits.then(|| Mesh {
            steps: sensitivity as usize,
            spacing: 1.0,
            last: knots as usize + 2,
            integers: true,
        }))
    }

    /// The mesh for real numbers and a budget.
    ///
    /// # Errors
    /// If epsilon is above 10, or the budget so small that no mesh of this size holds its noise.
    pub(crate) fn for_reals(
        sensitivity: Distance,
        epsilon: f64,
        delta: f64,
    ) -> Result<Mesh, LimitError> {
        at_most_ten(
            epsilon,
            "at most 10: beyond, the noise is too fine for the programme's lattice",
        )?;
        let support = support_in_sensitivities(epsilon, delta) + 2.0;
        let mut steps = steps_for(epsilon);
        while steps > 1 && support * steps as f64 > MOST_KNOTS {
            steps /= 2;
        }
        let knots = support * steps as f64;
        if knots > MOST_KNOTS {
            return Err(LimitError::TooWide { sensitivities: support });
        }
        let spacing = sensitivity.get() / steps as f64;
        Ok(Mesh { steps: steps as usize, spacing, last: knots as usize + 2, integers: false })
    }

    /// The mesh for real numbers and a budget with others up to twice as fine, none of them
    /// coarser: on one or the other of them a given distance is all but in the middle between two
    /// steps. Steps are rounded down, so that no shift by whole steps is above the sensitivity.
    ///
    /// # Errors
    /// As for [`Mesh::for_reals`].
    pub(crate) fn family(
        sensitivity: Distance,
        epsilon: f64,
        delta: f64,
    ) -> Result<Vec<Mesh>, LimitError> {
        let coarsest = Mesh::for_reals(sensitivity, epsilon, delta)?;
        let support = coarsest.last as f64 / coarsest.steps as f64;
        let most = (2 * coarsest.steps).clamp(LEAST_FAMILY, MOST_STEPS as usize);
        let finer = (coarsest.steps + 1..=most).map(|steps| Mesh {
            steps,
            spacing: div_down(sensitivity.get(), steps as f64),
            last: (support * steps as f64) as usize + 1,
            integers: false,
        });
        Ok([coarsest]
            .into_iter()
            .chain(finer.filter(|mesh| mesh.last as f64 <= MOST_KNOTS))
            .collect())
    }

    /// The middle between step `m` and the next, moved down by a rounding error, so that the next
    /// lies beyond.
    fn middle(&self, m: f64) -> f64 {
        mul_down(m + 0.5, self.spacing).next_down()
    }

    /// The greatest middle between two steps that is not above `aim`; `None` below half a step.
    pub(crate) fn middle_below(&self, aim: f64) -> Option<f64> {
        let m = (aim / self.spacing - 0.5).floor();
        [m, m - 1.0]
            .into_iter()
            .filter(|&m| m >= 0.0)
            .map(|m| self.middle(m))
            .find(|&t| t > 0.0 && t <= aim)
    }

    /// The least middle between two steps that is not below `t`.
    pub(crate) fn middle_beyond(&self, t: f64) -> f64 {
        let m = (t / self.spacing - 0.5).ceil().max(0.0);
        if self.middle(m) >= t { self.middle(m) } else { self.middle(m + 1.0) }
    }

    /// A mesh twice as fine; `None` for integers, and where there would be too many knots.
    pub(crate) fn refined(&self) -> Option<Mesh> {
        let (steps, last) = (2 * self.steps, 2 * self.last);
        let fits = !self.integers && steps as u64 <= MOST_STEPS && last as f64 <= MOST_KNOTS;
        fits.then_some(Mesh { steps, spacing: 0.5 * self.spacing, last, integers: false })
    }

    /// `l_k`, a lower bound of what noise is to be charged for the step `k`
    /// ([`Loss::below_at_knot`]).
    ///
    /// Rounding to the nearest step, and at random to one of the two neighbouring ones, commutes
    /// with shifts by whole steps: so the rounded noise keeps the guarantee for them.
    pub(crate) fn least_loss(&self, loss: &dyn Loss, k: usize) -> f64 {
        if self.integers {
            loss.least_on(k as f64, k as f64)
        } else {
            loss.below_at_knot(k as u64, self.spacing)
        }
    }

    /// An upper bound of the loss of the step `k`: that of the integer, or the mean over the cell
    /// of real numbers.
    pub(crate) fn greatest_loss(&self, loss: &dyn Loss, k: usize) -> f64 {
        if self.integers {
            return loss.greatest_on(k as f64, k as f64);
        }
        let end = |half_steps: f64| 0.5 * half_steps * self.spacing;
        if k == 0 {
            return loss.greatest_mean_on(0.0, end(1.0).next_up());
        }
        // An error in the ends below the last digit moves a loss that does not decrease by no more
        // than the same at the far end.
        loss.greatest_mean_on(
            end(2.0 * k as f64 - 1.0),
            mul_up(end(2.0 * k as f64 + 1.0), 1.0f64.next_up()),
        )
    }
}

/// Where truncated Laplace noise of the budget ends: noise that is better does not reach much
/// further.
pub(crate) fn support_in_sensitivities(epsilon: f64, delta: f64) -> f64 {
    if epsilon < 1e-9 { 0.5 / delta } else { (epsilon.exp_m1() / (2.0 * delta)).ln_1p() / epsilon }
}

/// A power of two that keeps what the mesh costs near 0.2 percent.
///
/// With `a` the peak and `E` the mean absolute error of the staircase, in sensitivities, spreading
/// the noise of zero over its cell costs `a h^2/4` of `E`; for the square it is less. For small
/// losses a few steps do: without any between, the limit is `E epsilon^2/8` too low.
fn steps_for(epsilon: f64) -> u64 {
    let root = (-0.5 * epsilon).exp();
    let gamma = root / (1.0 + root);
    let (b, rest) = (root * root, -(-epsilon).exp_m1());
    let peak = rest / (2.0 * (gamma + b * (1.0 - gamma)));
    let steps = (peak * rest / root / 0.008).sqrt();
    (steps.ceil().max((20.0 * epsilon).clamp(1.0, 4.0)) as u64).next_power_of_two().min(MOST_STEPS)
}

fn at_most_ten(epsilon: f64, accepted: &'static str) -> Result<f64, MechanismError> {
    Ok(require(epsilon <= LARGEST_EPSILON, "epsilon", epsilon, accepted)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::{AbsoluteError, Beyond, SquaredError};

    fn real(sensitivity: f64, epsilon: f64, delta: f64) -> Result<Mesh, LimitError> {
        Mesh::for_reals(Distance::new(sensitivity).expect("valid"), epsilon, delta)
    }

    #[test]
    fn meshes_are_as_fine_as_the_noise_and_no_larger_than_can_be_solved() {
        for (epsilon, delta, steps) in
            [(0.003, 1e-6, 1), (0.1, 1e-9, 2), (1.0, 1e-6, 16), (4.0, 1e-3, 64), (10.0, 1e-3, 256)]
        {
            let mesh = real(3.0, epsilon, delta).expect("valid");
            assert_eq!(
                (mesh.steps, mesh.spacing),
                (steps, 3.0 / steps as f64),
                "{epsilon} {delta}"
            );
            assert!(mesh.last <= 6002 && mesh.last > 2 * steps);
            if let Some(finer) = mesh.refined() {
                assert_eq!((finer.steps, finer.spacing), (2 * steps, 0.5 * mesh.spacing));
            }
        }
        let refused = real(1.0, 1e-5, 1e-9).expect_err("too wide").to_string();
        assert!(refused.contains("sensitivities"), "{refused}");
        assert!(real(1.0, 11.0, 1e-9).is_err_and(|error| error.to_string().contains("epsilon")));
        let integers = |sensitivity| Mesh::for_integers(sensitivity, 1.0, 1e-6).expect("valid");
        assert_eq!(
            integers(7).map(|mesh| (mesh.steps, mesh.spacing, mesh.refined())),
            Some((7, 1.0, None))
        );
        assert_eq!(integers(257), None);
        assert_eq!(Mesh::for_integers(1, 1e-5, 1e-9), Ok(None));
        assert!(
            Mesh::for_integers(0, 1.0, 1e-6).is_err() && Mesh::for_integers(1, 11.0, 1e-6).is_err()
        );
    }

    #[test]
    fn the_loss_of_a_cell_lies_between_what_is_charged_and_what_is_paid() {
        let mesh = real(1.0, 1.0, 1e-3).expect("valid");
        for loss in [&AbsoluteError as &dyn Loss, &SquaredError, &Beyond { distance: 0.7 }] {
            for k in 0..100 {
                let (least, greatest) = (mesh.least_loss(loss, k), mesh.greatest_loss(loss, k));
                let middle = loss.least_on(k as f64 * mesh.spacing, k as f64 * mesh.spacing);
                assert!(least <= middle && least <= greatest, "{loss:?} {k}");
                assert!(
                    greatest - least <= 0.3 * mesh.spacing.powi(2) + 0.25 * mesh.spacing
                        || greatest - least <= 1.0,
                    "{loss:?} {k}"
                );
            }
        }
        assert!((mesh.greatest_loss(&AbsoluteError, 0) / mesh.spacing - 0.25).abs() < 1e-12);
        assert!(
            (mesh.greatest_loss(&SquaredError, 2) / mesh.spacing.powi(2) - (4.0 + 1.0 / 12.0))
                .abs()
                < 1e-12
        );
    }
}
