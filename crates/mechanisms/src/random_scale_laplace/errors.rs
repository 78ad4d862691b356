//! The error of noise with a random scale.
//!
//! Given `T` the noise is Laplace of scale `1/T`, so `E|X| = E[1/T]`, `E[X^2] = 2 E[1/T^2]` and
//! `P[|X| <= t] = 1 - M(-t)`. The entropy is `ln 2 - ∫ p ln p` with `p(x) = M'(-x)`: Table 1 of the
//! paper lacks the `ln 2`, and has `M_b` where `M_{1/b}` is meant (erratum R4). What is infinite is
//! reported as infinite: `E[1/T]` for a gamma distribution of shape at most 1 and for anything else
//! that can come arbitrarily close to zero like `t` or slower.

use super::decay::order_at_zero;
use super::integrals::{Integral, integrate};
use super::ladder::{Formula, evaluate, evaluate_until};
use crate::Errors;
use reticent_noise::random_scale::InverseScale;
use reticent_numerics::root::{Direction, Range, monotone_root};
use reticent_numerics::{Bounds, Enclosure};

const INFINITE: f64 = f64::INFINITY;

/// All measures for one released number.
pub(super) fn errors(inverse_scale: &InverseScale) -> Errors {
    Errors {
        mean_absolute: mean_inverse_power(inverse_scale, 1),
        root_mean_square: mean_square(inverse_scale).sqrt(),
        entropy: entropy(inverse_scale),
        quantile_95: quantile_95(inverse_scale),
    }
}

/// `2 E[T^-2]`.
pub(super) fn mean_square(inverse_scale: &InverseScale) -> Bounds {
    Bounds::exact(2.0) * mean_inverse_power(inverse_scale, 2)
}

/// `P[|X| <= t] = 1 - M(-t)`.
pub(super) fn usefulness(inverse_scale: &InverseScale, t: f64) -> Bounds {
    if t <= 0.0 {
        Bounds::ZERO
    } else if t.is_infinite() {
        Bounds::ONE
    } else {
        evaluate(&Within { inverse_scale, t }).clamp(0.0, 1.0)
    }
}

struct Within<'a> {
    inverse_scale: &'a InverseScale,
    t: f64,
}

impl Formula for Within<'_> {
    fn at<E: Enclosure>(&self, like: &E) -> E {
        like.exactly(1.0) - self.inverse_scale.transform(&like.exactly(self.t))
    }
}

/// `E[T^-power]` for a power of 1 or 2.
pub(super) fn mean_inverse_power(inverse_scale: &InverseScale, power: u32) -> Bounds {
    let order = order_at_zero(inverse_scale);
    if order.upper() <= f64::from(power) {
        return Bounds::new(INFINITE, INFINITE);
    }
    let integral = if power == 1 { Integral::Transform } else { Integral::TransformTimesDistance };
    match inverse_scale {
        InverseScale::TruncatedGaussian(_) | InverseScale::Combined(_) => {
            integrate(inverse_scale, integral).clamp(0.0, INFINITE)
        }
        InverseScale::TwoPoint(_) | InverseScale::Gamma(_) | InverseScale::Uniform(_) => {
            evaluate(&InverseMoment { inverse_scale, power })
        }
    }
}

/// `E[T^-power]` where it has a closed form.
struct InverseMoment<'a> {
    inverse_scale: &'a InverseScale,
    power: u32,
}

impl Formula for InverseMoment<'_> {
    fn at<E: Enclosure>(&self, like: &E) -> E {
        let one = like.exactly(1.0);
        match self.inverse_scale {
            InverseScale::TwoPoint(family) => {
                let weight = like.exactly(family.weight());
                let inverse = |t: f64| (one.clone() / like.exactly(t)).powi(self.power);
                weight.clone() * inverse(family.first())
                    + (one.clone() - weight) * inverse(family.second())
            }
            InverseScale::Gamma(family) => {
                // 1/(theta (k-1)) and 1/(theta^2 (k-1)(k-2))
                let divisor = (1..=self.power).fold(one.clone(), |product, step| {
                    let rest = like.exactly(family.shape()) - like.exactly(f64::from(step));
                    product * like.exactly(family.scale()) * rest
                });
                one / divisor
            }
            InverseScale::Uniform(family) if self.power == 1 => {
                // ln(b/a) / (b - a)
                let lower = like.exactly(family.lower());
                let width = like.exactly(family.upper()) - lower.clone();
                (width.clone() / lower).ln_1p() / width
            }
            InverseScale::Uniform(family) => {
                one / (like.exactly(family.lower()) * like.exactly(family.upper()))
            }
            // Integrated, not evaluated.
            InverseScale::TruncatedGaussian(_) | InverseScale::Combined(_) => {
                like.exactly(f64::NAN)
            }
        }
    }
}

pub(super) fn entropy(inverse_scale: &InverseScale) -> Bounds {
    match inverse_scale {
        InverseScale::Gamma(_) => {
            evaluate_until(&GammaEntropy { inverse_scale }, |bounds| bounds.width() < 1e-15)
        }
        InverseScale::TwoPoint(_)
        | InverseScale::Uniform(_)
        | InverseScale::TruncatedGaussian(_)
        | InverseScale::Combined(_) => {
            Bounds::exact(2.0).ln() + integrate(inverse_scale, Integral::Entropy)
        }
    }
}

/// `ln(2/(k theta)) + (k+1)/k`: `ln(1 + theta |X|)` is exponential of rate `k`.
struct GammaEntropy<'a> {
    inverse_scale: &'a InverseScale,
}

impl Formula for GammaEntropy<'_> {
    fn at<E: Enclosure>(&self, like: &E) -> E {
        let InverseScale::Gamma(family) = self.inverse_scale else { return like.exactly(f64::NAN) };
        let (shape, scale) = (like.exactly(family.shape()), like.exactly(family.scale()));
        (like.exactly(2.0) / (shape.clone() * scale)).ln()
            + (shape.clone() + like.exactly(1.0)) / shape
    }
}

/// The root of `M(-t) = 1/20`.
fn quantile_95(inverse_scale: &InverseScale) -> Bounds {
    let enough = |bounds: Bounds| bounds.relative_width() < 1e-9 || bounds.width() < 1e-25;
    let excess = |t: f64| evaluate_until(&Beyond { inverse_scale, t }, enough);
    let guess = 3.0 / inverse_scale.tilted_mean(&Bounds::ZERO).estimate();
    monotone_root(excess, Range::POSITIVE.bracket_from(guess), Direction::Decreasing)
        .unwrap_or(Bounds::new(0.0, INFINITE))
}

struct Beyond<'a> {
    inverse_scale: &'a InverseScale,
    t: f64,
}

impl Formula for Beyond<'_> {
    fn at<E: Enclosure>(&self, like: &E) -> E {
        self.inverse_scale.transform(&like.exactly(self.t)) - like.exactly(1.0) / like.exactly(20.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_noise::random_scale::{
        Combined, GammaScale, TruncatedGaussianScale, UniformScale,
    };

    fn sum(parts: Vec<InverseScale>) -> InverseScale {
        Combined::new(parts.into_iter().map(|part| (1.0, part)).collect()).expect("valid").into()
    }

    fn gamma(shape: f64) -> InverseScale {
        GammaScale::new(shape, 0.75).expect("valid").into()
    }

    #[test]
    fn sums_of_gamma_variables_have_the_errors_of_the_gamma_variable_that_they_are() {
        // 0.5 + 0.75 and so on are exact. Integrals on the one side, closed forms on the other.
        for (first, second) in [(0.5, 0.75), (0.125, 0.25), (1.25, 1.5), (10.0, 30.0)] {
            let (integrated, closed) =
                (errors(&sum(vec![gamma(first), gamma(second)])), errors(&gamma(first + second)));
            for (a, b) in [
                (integrated.mean_absolute, closed.mean_absolute),
                (integrated.root_mean_square, closed.root_mean_square),
                (integrated.entropy, closed.entropy),
                (integrated.quantile_95, closed.quantile_95),
            ] {
                assert!(
                    a.lower() <= b.upper() && b.lower() <= a.upper(),
                    "{first} + {second}: {a:?} {b:?}"
                );
                assert!(
                    a.lower() == f64::INFINITY || a.relative_width() < 1e-11,
                    "{first} + {second}: {a:?}"
                );
            }
        }
    }

    #[test]
    fn two_uniform_variables_sum_to_a_triangular_one() {
        let uniform: InverseScale = UniformScale::new(0.0, 1.0).expect("valid").into();
        let both = errors(&sum(vec![uniform.clone(), uniform]));
        // ∫_0^1 t/t dt + ∫_1^2 (2-t)/t dt = 2 ln 2, and ∫ t/t^2 diverges.
        assert!(
            both.mean_absolute.contains(4f64.ln()) && both.mean_absolute.relative_width() < 1e-13,
            "{both:?}"
        );
        assert_eq!(both.root_mean_square.lower(), f64::INFINITY);
    }

    #[test]
    fn what_is_infinite_is_said_to_be() {
        for (family, infinite) in [
            (gamma(1.0), (true, true)),
            (gamma(1f64.next_up()), (false, true)),
            (gamma(2.0), (false, true)),
            (gamma(2f64.next_up()), (false, false)),
            (UniformScale::new(0.0, 3.0).expect("valid").into(), (true, true)),
            (UniformScale::new(1e-9, 3.0).expect("valid").into(), (false, false)),
            (TruncatedGaussianScale::new(5.0, 1.0, 0.0, 9.0).expect("valid").into(), (true, true)),
            (sum(vec![gamma(0.5), gamma(0.5)]), (true, true)),
        ] {
            let errors = errors(&family);
            let found = [errors.mean_absolute, errors.root_mean_square]
                .map(|bounds| bounds.lower() == f64::INFINITY);
            assert_eq!((found[0], found[1]), infinite, "{family:?}: {errors:?}");
            assert!(
                errors.entropy.is_finite() && errors.quantile_95.is_finite(),
                "{family:?}: {errors:?}"
            );
        }
    }

    #[test]
    fn usefulness_runs_from_zero_to_one_and_is_sharp_next_to_zero() {
        let family = UniformScale::new(0.5, 1.5).expect("valid").into();
        assert_eq!(
            (usefulness(&family, -1.0), usefulness(&family, 0.0)),
            (Bounds::ZERO, Bounds::ZERO)
        );
        assert_eq!(usefulness(&family, f64::INFINITY), Bounds::ONE);
        // t E[T] = t
        let near = usefulness(&family, 1e-200);
        assert!(near.contains(1e-200) && near.relative_width() < 1e-15, "{near:?}");
    }
}
