//! The privacy profile of Gaussian noise: the least `delta` at each `epsilon`, to the last digits.
//!
//! # Formula
//! With `c = epsilon sigma/D` and `h = D/(2 sigma)`, the privacy loss is normal with mean `2 h^2`
//! and standard deviation `2 h`, and (Balle and Wang, *Improving the Gaussian mechanism for
//! differential privacy*, 2018, Theorem 8)
//!
//! ```text
//! delta = Q(c - h) - e^epsilon Q(c + h).
//! ```
//!
//! It is evaluated as a sum of positive terms where these two cancel: see
//! docs/proofs/gaussian_profile.md.
//!
//! # Precision
//! `phi(a)` changes by a relative `a da`, so `a = c - h` is carried with 100 bits. Relative width
//! below `1e-13` wherever `delta >= 1e-300`.

use crate::MechanismError;
use crate::parameters::{Distance, Scale};
use reticent_numerics::normal::{mills_ratio, normal_sf};
use reticent_numerics::{Bounds, Enclosure, OutOfRange, Wide};

/// The exact privacy profile of Gaussian noise of standard deviation `sigma` on a query of l2
/// sensitivity `D`, in any dimension.
///
/// Every result bounds the truth from both sides. A smaller shift than `D` loses less, so `D` is
/// the worst case.
///
/// # Example
/// ```
/// use reticent_mechanisms::{Distance, GaussianProfile, Scale};
/// let profile = GaussianProfile::new(Scale::new(4.224679)?, Distance::new(1.0)?);
/// let delta = profile.delta(1.0)?;
/// assert!(delta.contains(1.0000003e-6) || (delta.estimate() - 1e-6).abs() < 1e-11);
/// assert!(delta.relative_width() < 1e-13);
/// # Ok::<(), reticent_mechanisms::MechanismError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GaussianProfile {
    /// `sigma/D`.
    ratio: Wide,
    /// `D/(2 sigma)`.
    half: Wide,
}

impl GaussianProfile {
    /// The profile of noise of standard deviation `sigma` for the l2 sensitivity `sensitivity`.
    pub fn new(sigma: Scale, sensitivity: Distance) -> Self {
        GaussianProfile::of_quotient(sigma.get(), sensitivity.get())
    }

    /// The profile for `sigma/D = sigma/sensitivity`, both positive and finite.
    pub(crate) fn of_quotient(sigma: f64, sensitivity: f64) -> Self {
        let (sigma, sensitivity) = (Wide::exact(sigma), Wide::exact(sensitivity));
        GaussianProfile {
            ratio: sigma / sensitivity,
            half: (sensitivity / sigma).times_power_of_two(-1),
        }
    }

    /// Bounds on the least `delta` with which the noise is `(epsilon, delta)`-differentially
    /// private.
    ///
    /// # Errors
    /// If `epsilon` is negative, infinite or a NaN.
    pub fn delta(&self, epsilon: f64) -> Result<Bounds, MechanismError> {
        checked(epsilon).map(|epsilon| self.at(epsilon).delta())
    }

    /// Bounds on the logarithm of [`GaussianProfile::delta`], also far below the range of `f64`.
    ///
    /// # Errors
    /// If `epsilon` is negative, infinite or a NaN.
    pub fn ln_delta(&self, epsilon: f64) -> Result<Bounds, MechanismError> {
        checked(epsilon).map(|epsilon| self.at(epsilon).ln_delta())
    }

    /// Bounds on `P[L > epsilon] = Q(c - h)`, the probability of a loss beyond `epsilon` in one
    /// direction.
    ///
    /// # Errors
    /// If `epsilon` is negative, infinite or a NaN.
    pub fn one_sided(&self, epsilon: f64) -> Result<Bounds, MechanismError> {
        checked(epsilon).map(|epsilon| self.at(epsilon).one_sided())
    }

    /// Bounds on `P[|L| > epsilon] = Q(c - h) + Q(c + h)`, the `delta` of probabilistic
    /// differential privacy (erratum L9: the paper's Eqn 17 doubles the first term instead of
    /// adding the second).
    ///
    /// # Errors
    /// If `epsilon` is negative, infinite or a NaN.
    pub fn two_sided(&self, epsilon: f64) -> Result<Bounds, MechanismError> {
        checked(epsilon).map(|epsilon| self.at(epsilon).two_sided())
    }

    pub(crate) fn at(&self, epsilon: f64) -> Point {
        let centre = Wide::exact(epsilon) * self.ratio;
        Point {
            centre: centre.bounds(),
            half: self.half.bounds(),
            near: centre - self.half,
            far: (centre + self.half).bounds(),
        }
    }
}

fn checked(epsilon: f64) -> Result<f64, MechanismError> {
    if epsilon >= 0.0 && epsilon.is_finite() {
        Ok(epsilon)
    } else {
        Err(OutOfRange::new("epsilon", epsilon, "a finite number, at least 0").into())
    }
}

/// Where the loss equals `epsilon`, in standard deviations from the mean of either of two
/// neighbours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    /// `c`.
    centre: Bounds,
    /// `h`.
    half: Bounds,
    /// `c - h`.
    near: Wide,
    /// `c + h`.
    far: Bounds,
}

/// Beyond this many standard deviations every logarithm of a tail is below `-1e199`.
const OUT_OF_SIGHT: f64 = 1e100;

impl Point {
    pub(crate) fn delta(&self) -> Bounds {
        let near = self.near.bounds();
        if near.lower() > OUT_OF_SIGHT {
            return Bounds::new(0.0, f64::from_bits(1));
        }
        if near.upper() < 0.0 && !self.is_narrow() {
            return (Bounds::ONE - self.complement()).clamp(0.0, 1.0);
        }
        (self.density() * self.difference()).clamp(0.0, 1.0)
    }

    fn ln_delta(&self) -> Bounds {
        let near = self.near.bounds();
        if near.lower() > OUT_OF_SIGHT {
            return Bounds::new(f64::NEG_INFINITY, -0.25 * OUT_OF_SIGHT * OUT_OF_SIGHT);
        }
        if near.upper() < 0.0 && !self.is_narrow() {
            return (-self.complement()).ln_1p();
        }
        -half_square(self.near).bounds() + inverse_root_two_pi().ln() + self.difference().ln()
    }

    /// `1 - delta = Q(h - c) + phi(c - h) M(c + h)`, a sum of positive terms, for `c < h`. Where
    /// `delta` is near 1, this is what the scale depends on.
    fn complement(&self) -> Bounds {
        (normal_sf(-self.near.bounds()) + self.density() * mills_ratio(self.far)).clamp(0.0, 1.0)
    }

    pub(super) fn one_sided(&self) -> Bounds {
        let near = self.near.bounds();
        if near.lower() > OUT_OF_SIGHT {
            return Bounds::new(0.0, f64::from_bits(1));
        }
        if near.lower() > 0.0 { self.density() * mills_ratio(near) } else { normal_sf(near) }
            .clamp(0.0, 1.0)
    }

    pub(super) fn two_sided(&self) -> Bounds {
        // The far tail is at most the near one, and its argument's last bits matter less than that.
        (self.one_sided() + normal_sf(self.far)).clamp(0.0, 1.0)
    }

    /// `phi(c - h)`, which is also the derivative of `delta` with respect to `D/sigma`.
    pub(crate) fn density(&self) -> Bounds {
        let exponent = half_square(self.near);
        // exp(-750) is below the least subnormal; further out the low part alone would overflow.
        if exponent.bounds().lower() > 750.0 {
            return Bounds::new(0.0, f64::from_bits(1));
        }
        let (high, low) = exponent.midpoint();
        let low = Bounds::exact(low) + Bounds::new(-exponent.radius(), exponent.radius());
        Bounds::exact(-high).exp() * (-low).exp() * inverse_root_two_pi()
    }

    /// `2 h = D/sigma`, roughly.
    pub(crate) fn loss_deviation(&self) -> f64 {
        2.0 * self.half.estimate()
    }

    /// Whether the two arguments are so close that their ratios cancel. In the remaining cases with
    /// a positive near end, `M(c + h)` is at most 0.65 of `M(c - h)`.
    fn is_narrow(&self) -> bool {
        self.half.upper() <= (0.25 * self.centre.lower()).max(0.5)
    }

    /// `M(c - h) - M(c + h)`.
    fn difference(&self) -> Bounds {
        if self.is_narrow() {
            let sum = if self.centre.lower() < BACKWARD_FROM {
                self.forward_sum()
            } else {
                self.backward_sum()
            };
            sum * self.half.times_power_of_two(1)
        } else {
            mills_ratio(self.near.bounds()) - mills_ratio(self.far)
        }
    }

    /// A bound on `h^2/((j+1)(j+2)) K_(j+2)/K_j`, which decreases with `j`.
    ///
    /// `r_j = j/(c + r_(j+1)) <= j/c`; and the moments are log-convex in `j`, so
    /// `r_j^2 <= r_j r_(j+1) <= j`.
    fn term_ratio(&self, j: u32) -> f64 {
        let (h, c) = (self.half.upper(), self.centre.lower());
        let j = f64::from(j);
        let quotient = (h / c) * (h / c);
        // A NaN of 0/0 is dropped by `min`. The factor covers the roundings here.
        (h * h / ((j + 1.0) * (j + 2.0)).sqrt()).min(quotient) * (1.0 + 1e-14)
    }

    /// The last odd `j` of the sum, and what the rest adds relative to that term.
    fn last_term(&self) -> (u32, Bounds) {
        let (mut j, mut size) = (1, 1.0);
        while size > 1e-18 {
            size *= self.term_ratio(j);
            j += 2;
        }
        // At most 1/8, so that q/(1-q) <= 1.15 q.
        let ratio = self.term_ratio(j);
        (
            j,
            if ratio <= 0.125 {
                Bounds::new(0.0, 1.15 * ratio)
            } else {
                Bounds::new(0.0, f64::INFINITY)
            },
        )
    }

    /// `sum_(j odd) h^(j-1)/j! K_j` by the recurrence upward.
    fn forward_sum(&self) -> Bounds {
        let (last, rest) = self.last_term();
        let (c, square) = (self.centre, self.half.square());
        let (mut below, mut moment) = (mills_ratio(c), Bounds::ONE - c * mills_ratio(c));
        let (mut coefficient, mut sum, mut term) = (Bounds::ONE, moment, moment);
        for j in (1..last).step_by(2) {
            for k in [j, j + 1] {
                // Never negative, whatever the roundings say.
                let next = Bounds::exact(f64::from(k)) * below - c * moment;
                (below, moment) = (moment, Bounds::new(next.lower().max(0.0), next.upper()));
            }
            coefficient = coefficient * square / Bounds::exact(f64::from((j + 1) * (j + 2)));
            term = coefficient * moment;
            sum = sum + term;
        }
        sum + term * rest
    }

    /// The same sum as `K_0 r_1 (1 + h^2/(2*3) r_2 r_3 (1 + h^2/(4*5) r_4 r_5 (...)))`, from the
    /// innermost bracket outward.
    fn backward_sum(&self) -> Bounds {
        let (last, rest) = self.last_term();
        let (c, square) = (self.centre, self.half.square());
        // The relative errors contract by exp(-c/sqrt j) or faster at the step to j: by exp(-40)
        // and more on the way to j = 1.
        let steps = 20.0 / c.lower() + 1.0;
        let first = last.max((steps * steps) as u32) + 6;
        let start = f64::from(first);
        // j/(c + sqrt(j+1)) <= r_j <= j/c, with room for the roundings.
        let mut ratio = Bounds::new(
            start / (c.upper() + (start + 1.0).sqrt()) * (1.0 - 1e-14),
            start / c.lower() * (1.0 + 1e-14),
        );
        let mut bracket = Bounds::ONE + rest;
        for j in (1..first).rev() {
            let next = Bounds::exact(f64::from(j)) / (c + ratio);
            if j < last && j % 2 == 0 {
                let weight = square / Bounds::exact(f64::from(j * (j + 1)));
                bracket = Bounds::ONE + weight * next * ratio * bracket;
            }
            ratio = next;
        }
        mills_ratio(c) * ratio * bracket
    }
}

/// From this `c` on the ratios of the moments contract within a hundred steps; below it the
/// recurrence upward loses less than a digit.
const BACKWARD_FROM: f64 = 2.0;

/// `x^2/2`.
fn half_square(x: Wide) -> Wide {
    (x * x).times_power_of_two(-1)
}

/// `1/sqrt(2 pi) = 0.398942280401432677...`
fn inverse_root_two_pi() -> Bounds {
    let nearest = 0.398_942_280_401_432_7_f64;
    Bounds::new(nearest.next_down(), nearest.next_up())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(sigma: f64) -> GaussianProfile {
        GaussianProfile::of_quotient(sigma, 1.0)
    }

    #[test]
    fn the_series_and_the_difference_of_mills_ratios_agree_where_both_are_sharp() {
        for (sigma, epsilon) in
            [(1.5, 0.3), (1.0, 1.0), (1.2, 1.5), (0.3, 20.0), (1.0, 4.0), (0.2, 60.0)]
        {
            let point = profile(sigma).at(epsilon);
            let plain = mills_ratio(point.near.bounds()) - mills_ratio(point.far);
            let width = point.half.times_power_of_two(1);
            let sum = if point.centre.lower() < BACKWARD_FROM {
                point.forward_sum()
            } else {
                point.backward_sum()
            };
            // The series holds wherever its own remainder bound does.
            assert!(point.last_term().1.is_finite(), "{sigma} {epsilon}");
            assert!(
                (sum * width).intersect(plain).is_finite(),
                "{sigma} {epsilon}: {:?} {plain:?}",
                sum * width
            );
            assert!((sum * width).relative_width() < 1e-13, "{sigma} {epsilon}");
        }
    }

    #[test]
    fn the_two_directions_of_the_recurrence_agree() {
        for sigma in [10.0, 1000.0, 1e6] {
            let point = profile(sigma).at(2.0 / sigma);
            let (up, down) = (point.forward_sum(), point.backward_sum());
            assert!(up.intersect(down).is_finite(), "{sigma}: {up:?} {down:?}");
            assert!(
                up.relative_width() < 3e-14 && down.relative_width() < 1e-14,
                "{sigma}: {up:?} {down:?}"
            );
        }
    }

    #[test]
    fn extreme_arguments_give_bounds_and_no_panic() {
        for sigma in [1e-140, 1e-3, 1.0, 1e140] {
            for sensitivity in [1e-100, 1.0, 1e100] {
                let profile = GaussianProfile::of_quotient(sigma, sensitivity);
                for epsilon in [0.0, 5e-324, 1e-300, 1.0, 700.0, 1e300, f64::MAX] {
                    let delta = profile.delta(epsilon).expect("finite");
                    assert!(
                        delta.lower() >= 0.0 && delta.upper() <= 1.0,
                        "{sigma} {sensitivity} {epsilon}: {delta:?}"
                    );
                    assert!(profile.ln_delta(epsilon).expect("finite").lower() <= 0.0);
                }
            }
        }
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(profile(1.0).delta(bad).is_err() && profile(1.0).two_sided(bad).is_err());
        }
    }
}
