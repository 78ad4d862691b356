//! The necessary condition on a random scale: Theorem 4.6 and Eqn 13 of Mohammady's paper.
//!
//! A random inverse scale `T` that loses `epsilon` can be better than Laplace noise of the same
//! `epsilon` only if `e^epsilon < E[e^(T D)]`, the average of what the scales lose one by one.
//!
//! **Why.** Laplace noise of loss `epsilon` has `t = epsilon/D`. If `epsilon >= ln E[e^(T D)]`,
//! then by Jensen's inequality `t D >= E[T] D`, and more: `e^(-x T) = (e^(T D))^(-x/D)` is a convex
//! function of `e^(T D)`, so that `P[|X| > x] = E[e^(-x T)] >= E[e^(T D)]^(-x/D) >= e^(-x t)` for
//! every `x`: Laplace noise is nearer to the answer at every distance, and so by every metric that
//! grows with the error. The condition is necessary and not sufficient, and the average is not what
//! the mechanism loses (erratum R2: "a tight upper bound").

use super::ladder::{Formula, evaluate_until};
use super::scalar_epsilon;
use crate::Distance;
use reticent_noise::random_scale::InverseScale;
use reticent_numerics::error_function::normal_tail;
use reticent_numerics::{Bounds, Enclosure};

/// What Theorem 4.6 says of a random scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boost {
    /// The condition holds: nothing is said against a gain over Laplace noise.
    Possible,
    /// The condition fails: Laplace noise of the same epsilon is better at every distance.
    Excluded,
    /// The two sides are too near to tell.
    NotKnown,
}

/// Bounds on `ln E[e^(T D)]`, the right-hand side of Eqn 13 as a loss; infinite where the
/// expectation is (a gamma distribution of scale `1/D` or more).
pub fn average_leakage(inverse_scale: &InverseScale, sensitivity: Distance) -> Bounds {
    let formula = LnPositiveTransform { inverse_scale, at: sensitivity.get() };
    if is_infinite(inverse_scale, Bounds::exact(sensitivity.get())) {
        return Bounds::new(f64::INFINITY, f64::INFINITY);
    }
    evaluate_until(&formula, |bounds| bounds.relative_width() < 1e-13)
}

/// The necessary condition of Theorem 4.6, `epsilon < ln E[e^(T D)]`.
pub fn can_boost(inverse_scale: &InverseScale, sensitivity: Distance) -> Boost {
    let loss = scalar_epsilon(inverse_scale, sensitivity);
    let average = average_leakage(inverse_scale, sensitivity);
    if loss.upper() < average.lower() {
        Boost::Possible
    } else if loss.lower() >= average.upper() {
        Boost::Excluded
    } else {
        Boost::NotKnown
    }
}

/// Whether `E[e^(x T)]` is infinite for certain.
fn is_infinite(inverse_scale: &InverseScale, x: Bounds) -> bool {
    match inverse_scale {
        InverseScale::Gamma(family) => (Bounds::exact(family.scale()) * x).lower() >= 1.0,
        InverseScale::Combined(family) => family
            .parts()
            .iter()
            .any(|(weight, part)| is_infinite(part, Bounds::exact(*weight) * x)),
        InverseScale::TwoPoint(_)
        | InverseScale::Uniform(_)
        | InverseScale::TruncatedGaussian(_) => false,
    }
}

/// `ln E[e^(x T)]`.
struct LnPositiveTransform<'a> {
    inverse_scale: &'a InverseScale,
    at: f64,
}

impl Formula for LnPositiveTransform<'_> {
    fn at<E: Enclosure>(&self, like: &E) -> E {
        ln_transform(self.inverse_scale, &like.exactly(self.at))
    }
}

/// Each in its logarithm, so that nothing overflows.
fn ln_transform<E: Enclosure>(inverse_scale: &InverseScale, x: &E) -> E {
    match inverse_scale {
        InverseScale::TwoPoint(family) => {
            let weight = x.exactly(family.weight());
            let rest = x.exactly(1.0) - weight.clone();
            if family.first() >= family.second() {
                two_point(x, family.first(), weight, family.second())
            } else {
                two_point(x, family.second(), rest, family.first())
            }
        }
        InverseScale::Gamma(family) => {
            -(x.exactly(family.shape()) * (-(x.exactly(family.scale()) * x.clone())).ln_1p())
        }
        InverseScale::Uniform(family) => {
            // e^(b x) (1 - e^(-w x))/(w x)
            let upper = x.exactly(family.upper());
            let h = (upper.clone() - x.exactly(family.lower())) * x.clone();
            upper * x.clone() + (-(-h.clone()).exp_m1()).ln() - h.ln()
        }
        InverseScale::TruncatedGaussian(family) => {
            // mu x + sigma^2 x^2/2 + ln[Q(alpha - sigma x) - Q(beta - sigma x)] - ln[Q(alpha) -
            // Q(beta)]
            let (mu, sigma) = (x.exactly(family.mu()), x.exactly(family.sigma()));
            let tilt = sigma.clone() * x.clone();
            let ends = [family.lower(), family.upper()]
                .map(|end| (x.exactly(end) - mu.clone()) / sigma.clone());
            let between = |shift: E| {
                let [low, high] = [&ends[0], &ends[1]].map(|end| end.clone() - shift.clone());
                // Of two points on the left of zero the tails on the left are the small ones.
                let (low, high) =
                    if high.bounds().upper() < 0.0 { (-high, -low) } else { (low, high) };
                (normal_tail(&low) - normal_tail(&high)).ln()
            };
            mu.clone() * x.clone()
                + (tilt.clone() * tilt.clone()).times_power_of_two(-1)
                + between(tilt)
                - between(x.exactly(0.0))
        }
        InverseScale::Combined(family) => {
            family.parts().iter().fold(x.exactly(0.0), |sum, (weight, part)| {
                sum + ln_transform(part, &(x.exactly(*weight) * x.clone()))
            })
        }
    }
}

/// `ln(w e^(x t) + (1 - w) e^(x s))` with `t >= s`, as `x t + ln(w + (1 - w) e^(x (s - t)))`.
fn two_point<E: Enclosure>(x: &E, t: f64, weight: E, s: f64) -> E {
    let rest = x.exactly(1.0) - weight.clone();
    let below = ((x.exactly(s) - x.exactly(t)) * x.clone()).exp();
    x.exactly(t) * x.clone() + (weight + rest * below).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Distance, Epsilon, Mechanism, RandomScaleLaplace};
    use reticent_noise::random_scale::{
        Combined, GammaScale, TruncatedGaussianScale, TwoPointScale, UniformScale,
    };

    fn distance(d: f64) -> Distance {
        Distance::new(d).expect("valid")
    }

    fn gamma(shape: f64, scale: f64) -> InverseScale {
        GammaScale::new(shape, scale).expect("valid").into()
    }

    fn uniform(lower: f64, upper: f64) -> InverseScale {
        UniformScale::new(lower, upper).expect("valid").into()
    }

    fn normal(mu: f64, sigma: f64, lower: f64, upper: f64) -> InverseScale {
        TruncatedGaussianScale::new(mu, sigma, lower, upper).expect("valid").into()
    }

    #[test]
    fn lemma_4_10_for_gamma_distributions() {
        // theta = 1/(2 D): (k + 1) ln 1.5 < k ln 2 from k = ln 1.5/ln(4/3) = 1.4094 on.
        let turn = 1.5f64.ln() / (4.0 / 3.0f64).ln();
        assert!((turn - 1.4094).abs() < 1e-4);
        for d in [0.3, 1.0, 7.0] {
            let at = |shape: f64| can_boost(&gamma(shape, 0.5 / d), distance(d));
            assert_eq!(at(turn * (1.0 + 1e-9)), Boost::Possible, "{d}");
            assert_eq!(at(turn * (1.0 - 1e-9)), Boost::Excluded, "{d}");
            // E[e^(T D)] is infinite from theta = 1/D on, and the condition holds.
            assert_eq!(can_boost(&gamma(0.2, 1.0 / d), distance(d)), Boost::Possible);
        }
    }

    #[test]
    fn lemma_4_12_for_uniform_distributions_with_the_example_of_the_paper() {
        // a = 0.5, b = 9, D = 1.2: Theorem 4.11 as printed against Eqn 13 as printed.
        let example = uniform(0.5, 9.0);
        let (alpha, beta) = (0.6f64, 10.8f64);
        let printed = ((alpha * alpha - beta * beta)
            / (2.0 * ((1.0 + beta) * (-beta).exp() - (1.0 + alpha) * (-alpha).exp())))
        .ln();
        let average = ((beta.exp() - alpha.exp()) / (beta - alpha)).ln();
        let loss = scalar_epsilon(&example, distance(1.2)).estimate();
        let leakage = average_leakage(&example, distance(1.2)).estimate();
        assert!((loss / printed - 1.0).abs() < 1e-13 && (loss - 4.19).abs() < 5e-3, "{loss}");
        assert!((leakage / average - 1.0).abs() < 1e-13, "{leakage}");
        assert!((leakage - 8.48).abs() < 5e-3, "{leakage}");
        assert_eq!(can_boost(&example, distance(1.2)), Boost::Possible);
        // A narrow one far below a loss of 1 cannot.
        assert_eq!(can_boost(&uniform(0.1, 0.2), distance(1.0)), Boost::Excluded);
    }

    #[test]
    fn lemma_4_14_for_truncated_gaussian_distributions() {
        let wide = normal(1.0, 3.0, 0.5, 9.0);
        assert_eq!(can_boost(&wide, distance(1.0)), Boost::Possible);
        assert_eq!(can_boost(&normal(0.2, 0.1, 0.1, 0.3), distance(1.0)), Boost::Excluded);
        // By the midpoint rule, from the definition.
        let (steps, width) = (200_000, 8.5 / 200_000.0);
        let (mut mass, mut mean) = (0.0, 0.0);
        for i in 0..steps {
            let t = 0.5 + width * (f64::from(i) + 0.5);
            let density = (-((t - 1.0) / 3.0).powi(2) / 2.0).exp();
            (mass, mean) = (mass + density, mean + density * t.exp());
        }
        let leakage = average_leakage(&wide, distance(1.0)).estimate();
        assert!((leakage - (mean / mass).ln()).abs() < 1e-8, "{leakage}");
    }

    /// Theorem 4.6: where the condition fails, Laplace noise of the same loss is nearer at every
    /// distance; and by Jensen's inequality the average is at least `E[T] D`.
    #[test]
    fn theorem_4_6_where_the_condition_fails_laplace_noise_is_nearer_everywhere() {
        let parts = vec![(1.0, gamma(3.0, 0.02)), (1.0, uniform(0.1, 0.4))];
        let families = [
            gamma(0.5, 0.1),
            gamma(4.0, 0.05),
            uniform(0.0, 0.5),
            uniform(0.3, 1.0),
            normal(0.2, 0.4, 0.0, 0.9),
            TwoPointScale::new(0.2, 0.9, 0.5).expect("valid").into(),
            TwoPointScale::new(0.9, 0.2, 0.5).expect("valid").into(),
            Combined::new(parts).expect("valid").into(),
        ];
        let mut excluded = 0;
        for family in &families {
            let average = average_leakage(family, distance(1.0));
            let mean = family.tilted_mean(&Bounds::ZERO).estimate();
            assert!(average.lower() >= mean * (1.0 - 1e-12), "{family:?}: {average:?}");
            assert!(average.relative_width() < 1e-12, "{family:?}: {average:?}");
            if can_boost(family, distance(1.0)) != Boost::Excluded {
                continue;
            }
            excluded += 1;
            let epsilon = scalar_epsilon(family, distance(1.0)).lower();
            let mechanism =
                RandomScaleLaplace::with_inverse_scale(family.clone(), &distance(1.0).into())
                    .expect("valid");
            for x in [1e-3, 0.1, 0.5, 1.0, 3.0, 20.0] {
                let useful = mechanism.usefulness(x).expect("additive").upper();
                assert!(useful <= -(-epsilon * x).exp_m1() * (1.0 + 1e-12), "{family:?} {x}");
            }
        }
        assert!(excluded >= 6, "{excluded}");
    }

    #[test]
    fn the_best_two_points_at_epsilon_4_meet_the_condition() {
        let best: InverseScale = TwoPointScale::new(1.2, 9.0, 0.3).expect("valid").into();
        let stretched = RandomScaleLaplace::calibrate(
            best,
            &distance(1.0).into(),
            Epsilon::new(4.0).expect("valid"),
        )
        .expect("valid");
        assert_eq!(can_boost(stretched.inverse_scale(), distance(1.0)), Boost::Possible);
    }
}
