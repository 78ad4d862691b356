//! Standard deviations for probabilistic differential privacy.
//!
//! The loss of Gaussian noise is normal with mean `2 h^2` and standard deviation `2 h`,
//! `h = D/(2 sigma)`, so with `c = epsilon sigma/D`
//!
//! ```text
//! P[L > epsilon] = Q(c - h),        P[|L| > epsilon] = Q(c - h) + Q(c + h).
//! ```
//!
//! Liu's Eqn 17 solves `2 Q(c - h) = delta` and is presented as "the" lower bound (erratum L9): it
//! is sufficient for the two-sided notion but not necessary, because `Q(c + h) < Q(c - h)`. The
//! one-sided notion is weaker, and enough for `(epsilon, delta)`-differential privacy. Neither
//! agrees with the approximate notion for small `delta` (erratum L11): at `epsilon = 0.1`,
//! `delta = 0.01` the scales are 25.95 and 9.54.
//!
//! # References
//! Liu, *Generalized Gaussian mechanism for differential privacy*, 2019, Proposition 11 and Eqn 17.

use super::closed_form::{closed_form_1, ratio_of_quantile};
use super::least_ratio::{Sample, least_ratio};
use super::profile::GaussianProfile;
use crate::MechanismError;
use reticent_numerics::Bounds;
use reticent_numerics::normal_quantile::normal_isf;

/// Eqn 17: `2 P[L > epsilon] = delta`.
pub(super) fn liu(epsilon: f64, delta: f64) -> Bounds {
    // Halving is exact, as delta is at least 1e-300.
    ratio_of_quantile(epsilon, normal_isf(0.5 * delta))
}

/// The one-sided notion, `P[L > epsilon] = delta`: the first closed form of Zhao et al., as a
/// guarantee of its own.
pub(super) fn one_sided(epsilon: f64, delta: f64) -> Bounds {
    closed_form_1(epsilon, delta)
}

/// The least `sigma/D` with `P[|L| > epsilon] <= delta`.
///
/// The derivative with respect to `s = sigma/D` is `-phi(c - h) [epsilon (1 + e^-epsilon) + (1 -
/// e^-epsilon)/(2 s^2)]`, as `phi(c + h) = e^-epsilon phi(c - h)`: always negative, so there is one
/// crossing.
pub(super) fn two_sided(epsilon: f64, delta: f64) -> Result<f64, MechanismError> {
    let start = liu(epsilon, delta).estimate();
    let (decay, rise) = ((-epsilon).exp(), -(-epsilon).exp_m1());
    least_ratio("probabilistic differential privacy", delta, start, |ratio| {
        let point = GaussianProfile::of_quotient(ratio, 1.0).at(epsilon);
        let factor = epsilon * ratio * (1.0 + decay) + 0.5 * rise / ratio;
        Sample { value: point.two_sided(), slope: -point.density().estimate() * factor }
    })
}
