//! The pure loss of Laplace noise with a random scale, certified.
//!
//! The density of a scalar is `f(x) = E[T exp(-|x| T)] / 2`, a mixture that is log-convex on each
//! side, so that two copies at a distance `D` differ most at the peak:
//! `epsilon = ln(f(0) / f(D)) = ln(E[T] / E[T exp(-D T)])` (Theorem 4.3 of Mohammady's paper, right
//! as it stands for scalars).
//!
//! Erratum R1: Theorem 4.8's `ln E[exp(D T)]` for a two-point `T` is not a bound. Erratum R2: nor
//! is "the average of `exp(epsilon)`" of Theorem 4.6 for any other family. Erratum R5: no moment
//! generating function is needed for positive arguments; `E[T]` must be finite, as it is for every
//! family here.

use super::ladder::{Formula, evaluate};
use crate::{Distance, MechanismError};
use reticent_noise::random_scale::InverseScale;
use reticent_numerics::{Bounds, Enclosure, OutOfRange};

/// The most coordinates, or queries, over which a loss is worked out.
pub const MOST_COORDINATES: u32 = 1000;

/// Bounds on the least `epsilon` for which one number of the given sensitivity is released with
/// pure privacy: `ln(E[T] / E[T exp(-D T)])`.
pub fn scalar_epsilon(inverse_scale: &InverseScale, sensitivity: Distance) -> Bounds {
    evaluate(&Independent { inverse_scale, sensitivity: sensitivity.get(), coordinates: 1 })
}

/// Bounds on the least `epsilon` for `k` numbers of the given l1 sensitivity, each with a scale of
/// its own: `k ln(E[T] / E[T exp(-D_1 T / k)])`.
///
/// With `g(x) = ln E[T exp(-x T)]` the loss is at most the sum of `g(0) - g(d_i)` over coordinates
/// that move by `d_i`. Since `g` is convex, that is largest where all move equally (erratum R7,
/// which replaces Theorem 4.3 for vectors).
///
/// # Errors
/// If there are no coordinates or more than [`MOST_COORDINATES`].
pub fn independent_epsilon(
    inverse_scale: &InverseScale,
    coordinates: u32,
    l1_sensitivity: Distance,
) -> Result<Bounds, MechanismError> {
    let coordinates = count("coordinates", coordinates)?;
    Ok(evaluate(&Independent { inverse_scale, sensitivity: l1_sensitivity.get(), coordinates }))
}

/// Bounds on the least `epsilon` for `k` numbers of the given l1 sensitivity that share one drawn
/// scale: `ln(E[T^k] / E[T^k exp(-D_1 T)])` (erratum R7).
///
/// The joint density is `E[(T/2)^k exp(-T (|y_1| + ... + |y_k|))]`, a log-convex function of the l1
/// norm alone.
///
/// # Errors
/// If there are no coordinates or more than [`MOST_COORDINATES`].
pub fn shared_epsilon(
    inverse_scale: &InverseScale,
    coordinates: u32,
    l1_sensitivity: Distance,
) -> Result<Bounds, MechanismError> {
    let order = count("coordinates", coordinates)?;
    Ok(evaluate(&Shared {
        inverse_scale,
        order,
        sensitivity: l1_sensitivity.get(),
        repetitions: 1,
    }))
}

/// Bounds on the least `epsilon` for `m` scalar queries of the given sensitivity that reuse one
/// drawn scale: `ln(E[T^m] / E[T^m exp(-m D T)])` (erratum R7), [`shared_epsilon`] at an l1
/// sensitivity of `m D`.
///
/// # Errors
/// If there are no queries or more than [`MOST_COORDINATES`].
pub fn reused_epsilon(
    inverse_scale: &InverseScale,
    queries: u32,
    sensitivity: Distance,
) -> Result<Bounds, MechanismError> {
    let order = count("queries", queries)?;
    Ok(evaluate(&Shared {
        inverse_scale,
        order,
        sensitivity: sensitivity.get(),
        repetitions: order,
    }))
}

pub(super) fn count(name: &'static str, value: u32) -> Result<u32, MechanismError> {
    if (1..=MOST_COORDINATES).contains(&value) {
        Ok(value)
    } else {
        Err(OutOfRange::new(name, f64::from(value), "an integer from 1 to 1000").into())
    }
}

struct Independent<'a> {
    inverse_scale: &'a InverseScale,
    sensitivity: f64,
    coordinates: u32,
}

impl Formula for Independent<'_> {
    fn at<E: Enclosure>(&self, like: &E) -> E {
        let coordinates = like.exactly(f64::from(self.coordinates));
        let share = like.exactly(self.sensitivity) / coordinates.clone();
        let [peak, away] = [like.exactly(0.0), share].map(|x| self.inverse_scale.tilted_mean(&x));
        coordinates * (peak.ln() - away.ln())
    }
}

struct Shared<'a> {
    inverse_scale: &'a InverseScale,
    order: u32,
    sensitivity: f64,
    repetitions: u32,
}

impl Formula for Shared<'_> {
    fn at<E: Enclosure>(&self, like: &E) -> E {
        let order = self.order as usize;
        let away = like.exactly(self.sensitivity) * like.exactly(f64::from(self.repetitions));
        let [peak, away] = [like.exactly(0.0), away]
            .map(|x| self.inverse_scale.tilted_moments(order, &x)[order].clone());
        peak.ln() - away.ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_noise::random_scale::{GammaScale, TwoPointScale};

    #[test]
    fn counts_outside_the_range_are_refused_by_name() {
        let gamma = GammaScale::new(2.0, 0.5).expect("valid").into();
        let one = Distance::new(1.0).expect("valid");
        for bad in [0, 1001, u32::MAX] {
            let message = shared_epsilon(&gamma, bad, one).map_err(|error| error.to_string());
            assert!(
                message.is_err_and(
                    |text| text.contains("coordinates") && text.contains("from 1 to 1000")
                )
            );
            assert!(
                independent_epsilon(&gamma, bad, one).is_err()
                    && reused_epsilon(&gamma, bad, one).is_err()
            );
        }
        // (k + 1000) ln(1 + theta), where the moments themselves leave the range of f64.
        let most = shared_epsilon(&gamma, 1000, one).expect("in range");
        assert!(
            (most.estimate() / (1002.0 * 1.5f64.ln()) - 1.0).abs() < 1e-14
                && most.relative_width() < 1e-14
        );
    }

    #[test]
    fn a_loss_of_1e_minus_60_is_as_sharp_as_any() {
        let two_point = TwoPointScale::new(1.0, 3.0, 0.5).expect("valid").into();
        // epsilon ~ D E[T^2] / E[T] = 2.5 D.
        let epsilon = scalar_epsilon(&two_point, Distance::new(1e-60).expect("valid"));
        assert!(
            epsilon.relative_width() < 1e-15 && (epsilon.estimate() / 2.5e-60 - 1.0).abs() < 1e-15,
            "{epsilon:?}"
        );
    }
}
