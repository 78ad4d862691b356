//! Closed forms that are enough for `(epsilon, delta)`-differential privacy.
//!
//! With `sigma = D (c + sqrt(c^2 + epsilon))/(epsilon sqrt 2)` the exact profile reads
//! `delta = erfc(c)/2 - e^epsilon erfc(sqrt(c^2 + epsilon))/2`. Each method picks a `c` for which
//! that is at most `delta`. The order is
//!
//! ```text
//! optimum <= closed form 1 <= Vinterbo <= closed form 2,
//! ```
//!
//! and "close to optimal" (the paper's abstract) fails as `epsilon` goes to zero: the first form is
//! 11.2 times the optimum at `epsilon = delta = 1e-3`.
//!
//! # References
//! Zhao et al., *Reviewing and improving the Gaussian mechanism for differential privacy*, 2019.
//! Vinterbo, *A closed form scale bound for the (epsilon, delta)-differentially private Gaussian
//! mechanism valid for all epsilon > 0*, 2020.

use crate::MechanismError;
use reticent_numerics::normal_quantile::normal_isf;
use reticent_numerics::{Bounds, Enclosure, OutOfRange};

/// `sigma/D` from the quantile: with `z = sqrt(2) c`, the solution of `epsilon s - 1/(2 s) = z`,
/// which is `P[L > epsilon] = Q(z)`.
///
/// `s = (z + sqrt(z^2 + 2 epsilon))/(2 epsilon) = 1/(sqrt(z^2 + 2 epsilon) - z)`; each form is used
/// where it adds.
pub(super) fn ratio_of_quantile(epsilon: f64, z: Bounds) -> Bounds {
    let twice = Bounds::exact(2.0 * epsilon);
    let root = (z.square() + twice).sqrt();
    if z.lower() >= 0.0 { (z + root) / twice } else { Bounds::ONE / (root - z) }
}

/// Closed form 1: `c = erfcinv(2 delta)`, so that `P[L > epsilon] = delta`. It is one-sided
/// probabilistic differential privacy, exactly.
pub(super) fn closed_form_1(epsilon: f64, delta: f64) -> Bounds {
    ratio_of_quantile(epsilon, normal_isf(delta))
}

/// Closed form 2: `c^2 = ln(2/(sqrt(16 delta + 1) - 1))`, written
/// `ln((sqrt(16 delta + 1) + 1)/(8 delta))` to avoid cancellation.
///
/// # Errors
/// If `delta` is above 1/2, where there is no such `c`.
pub(super) fn closed_form_2(epsilon: f64, delta: f64) -> Result<Bounds, MechanismError> {
    at_most_half(delta)?;
    let delta = Bounds::exact(delta);
    let root = (Bounds::exact(16.0) * delta + Bounds::ONE).sqrt();
    Ok(ratio_of_square(epsilon, ((root + Bounds::ONE) / (Bounds::exact(8.0) * delta)).ln()))
}

/// Vinterbo's form: `c^2 = -ln(4 delta (1 - delta))`.
///
/// # Errors
/// If `delta` is above 1/2, where `c` would have to be negative.
pub(super) fn vinterbo(epsilon: f64, delta: f64) -> Result<Bounds, MechanismError> {
    at_most_half(delta)?;
    let delta = Bounds::exact(delta);
    let product = Bounds::exact(4.0) * delta * (Bounds::ONE - delta);
    Ok(ratio_of_square(epsilon, -product.ln()))
}

/// `sigma/D` from `c^2 = z^2/2`, which is not negative.
fn ratio_of_square(epsilon: f64, square: Bounds) -> Bounds {
    let square = Bounds::new(square.lower().max(0.0), square.upper().max(0.0));
    ratio_of_quantile(epsilon, square.times_power_of_two(1).sqrt())
}

fn at_most_half(delta: f64) -> Result<(), MechanismError> {
    if delta <= 0.5 {
        Ok(())
    } else {
        let accepted = "at most 1/2 for the closed forms of Zhao et al. and Vinterbo";
        Err(OutOfRange::new("delta", delta, accepted).into())
    }
}
