//! The error of integer answers: noise on the integers, and real noise whose release is rounded to
//! them.

use crate::error_law::ErrorLaw;
use reticent_mechanisms::Errors;
use reticent_noise::IntegerNoise;
use reticent_numerics::{Bounds, Enclosure};
use std::fmt::Debug;

/// The terms that are added one by one; beyond them a sum is bounded by an integral.
const TERMS: u32 = 20_000;

/// Noise on the integers.
#[derive(Debug)]
pub struct Discrete<N> {
    noise: N,
    errors: Errors,
}

impl<N: IntegerNoise> Discrete<N> {
    /// The law of the noise. The moments come from the mechanism that adds it.
    pub fn new(noise: N, errors: &Errors) -> Self {
        Discrete { noise, errors: *errors }
    }

    /// An upper bound of the sum of `P[|N| > n]` over the integers from `n` on, by doubling: at
    /// most `r + 1` terms of at most `P[|N| > r]` from `r` to `2 r`.
    fn sum_beyond(&self, n: f64) -> f64 {
        let (mut total, mut r) = (0.0, n.max(1.0));
        for _ in 0..120 {
            let tail = self.beyond(r).upper();
            total += 1.000_001 * (r + 1.0) * tail;
            r *= 2.0;
            if tail < 1e-300 {
                return total + f64::MIN_POSITIVE;
            }
        }
        f64::INFINITY
    }

    fn beyond(&self, n: f64) -> Bounds {
        let tail = self.noise.upper_tail(n as u128 + 1, &Bounds::ONE);
        (tail.times_power_of_two(1) / self.noise.mass(&Bounds::ONE)).clamp(0.0, 1.0)
    }
}

impl<N: IntegerNoise> ErrorLaw for Discrete<N> {
    fn exceedance(&self, t: f64) -> Bounds {
        // No draw is beyond 2^126.
        self.beyond(t.floor().min(8e37))
    }

    /// `E(|N| - t)_+ = (c - t) P[|N| >= c] + E|N| - sum of P[|N| > n] over n < c`, with `c` the
    /// integer at or above `t`.
    fn excess(&self, t: f64) -> Bounds {
        let next = t.ceil();
        if next <= 0.0 {
            return self.errors.mean_absolute;
        }
        if next > f64::from(TERMS) {
            return Bounds::new(
                0.0,
                self.sum_beyond(next - 1.0).min(self.errors.mean_absolute.upper()),
            );
        }
        let near = (0..next as u32).fold(Bounds::ZERO, |sum, n| sum + self.beyond(f64::from(n)));
        let part = (Bounds::exact(next) - Bounds::exact(t)) * self.beyond(next - 1.0);
        (part + self.errors.mean_absolute - near).clamp(0.0, f64::INFINITY)
    }

    fn mean_square(&self) -> Bounds {
        self.errors.root_mean_square.square()
    }

    fn entropy(&self) -> Bounds {
        self.errors.entropy
    }

    fn is_integer(&self) -> bool {
        true
    }

    fn density(&self, x: f64) -> f64 {
        let probability = self.noise.probability(x.abs().round() as u128, &Bounds::ONE);
        probability.estimate() / self.noise.mass(&Bounds::ONE).estimate()
    }
}

/// Real noise, rounded to the integers: `P[|N| > n] = P[|X| > n + 1/2]`.
#[derive(Debug)]
pub struct Rounded {
    inner: Box<dyn ErrorLaw>,
    /// Shannon's entropy after rounding, where it is known.
    entropy: Bounds,
}

impl Rounded {
    /// The law after rounding. `entropy` is that of the integers; the whole line where it is not
    /// known.
    pub fn new(inner: Box<dyn ErrorLaw>, entropy: Bounds) -> Self {
        Rounded { inner, entropy }
    }

    /// The sum of `P[|N| > n]` over `n >= first`.
    ///
    /// Terms are added until they are negligible or there are too many. `e(t) = P[|X| > t]` is
    /// convex, so that what is left from `m` on lies between the trapezium rule's
    /// `integral of e from m + 1/2 + e(m + 1/2)/2` and the midpoint rule's `integral of e from m`.
    fn sum_from(&self, first: f64) -> Bounds {
        let mut sum = Bounds::ZERO;
        let mut n = first;
        for _ in 0..TERMS {
            let term = self.inner.exceedance(n + 0.5);
            sum = sum + term;
            n += 1.0;
            if term.upper() <= 1e-18 * sum.lower() {
                break;
            }
        }
        let half = self.inner.exceedance(n + 0.5).times_power_of_two(-1);
        let (least, most) = (self.inner.excess(n + 0.5) + half, self.inner.excess(n));
        sum + Bounds::new(least.lower().max(0.0), most.upper().max(0.0))
    }
}

impl ErrorLaw for Rounded {
    fn exceedance(&self, t: f64) -> Bounds {
        self.inner.exceedance(t.floor() + 0.5)
    }

    fn excess(&self, t: f64) -> Bounds {
        let next = t.max(0.0).ceil();
        let part = (Bounds::exact(next) - Bounds::exact(t.max(0.0)))
            * self.exceedance((next - 1.0).max(0.0));
        part + self.sum_from(next)
    }

    /// `E N^2 = sum of (2n + 1) P[|X| > n + 1/2]`, added until the terms are negligible and bounded
    /// from there on. For wide noise, `E X^2 - 1/4 <= E N^2 <= E X^2 + 1/2` is close enough.
    ///
    /// With `U = N - X`, `E N^2 = E X^2 + 2 E[N U] - E U^2`, and `E U^2` is at most 1/4. The
    /// density `f` does not increase away from zero, so that the cell of `n >= 1` has an `E U` from
    /// 0 to `(f(n - 1/2) - f(n + 1/2))/8`. Over both signs `E[N U]` is at most a quarter of `sum of
    /// n (f(n - 1/2) - f(n + 1/2)) = sum of f(n - 1/2)`, which is at most `f(1/2) + P[X > 1/2] <= 2
    /// P[0 < X <= 1/2] + P[X > 1/2] <= 1`.
    fn mean_square(&self) -> Bounds {
        let near = self.inner.mean_square() + Bounds::new(-0.25, 0.5);
        let rough = near.clamp(0.0, f64::INFINITY);
        if rough.relative_width() < 1e-6 {
            return rough;
        }
        let mut sum = Bounds::ZERO;
        for n in 0..TERMS {
            let at = f64::from(n) + 0.5;
            let term = Bounds::exact(2.0 * at) * self.inner.exceedance(at);
            sum = sum + term;
            if term.upper() <= 1e-22 * sum.lower() {
                let left = self.square_beyond(at);
                return (sum + Bounds::new(0.0, left)).intersect(rough);
            }
        }
        rough
    }

    fn entropy(&self) -> Bounds {
        self.entropy
    }

    fn is_integer(&self) -> bool {
        true
    }

    fn density(&self, x: f64) -> f64 {
        let n = x.abs().round();
        if n == 0.0 {
            return 1.0 - self.inner.exceedance(0.5).estimate();
        }
        0.5 * (self.inner.exceedance(n - 0.5).estimate()
            - self.inner.exceedance(n + 0.5).estimate())
    }
}

impl Rounded {
    /// An upper bound of the sum of `2 t e(t)` over `t = s + 1, s + 2, ...`, by doubling: on
    /// `(r, 2r]` there are at most `r + 1` terms of at most `4 r e(r)` each. No noise of this
    /// project has a scale above 1e140, so that nothing is left at 1e150.
    fn square_beyond(&self, s: f64) -> f64 {
        let mut total = 0.0;
        let mut r = s;
        while r < 1e150 {
            total += 1.000_001 * 4.0 * r * (r + 1.0) * self.inner.exceedance(r).upper();
            r *= 2.0;
        }
        total + f64::MIN_POSITIVE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error_law::Additive;
    use reticent_mechanisms::{
        Delta, DiscreteLaplace, Distance, Epsilon, GaussianMechanism, GaussianMethod, Laplace,
        Mechanism, Neighbours, Sensitivity,
    };

    fn laplace(epsilon: f64) -> Rounded {
        let one = Sensitivity::scalar(1.0, Neighbours::AddRemove).expect("valid");
        let mechanism =
            Laplace::calibrate(&one, Epsilon::new(epsilon).expect("valid")).expect("valid");
        let errors = mechanism.errors().expect("additive");
        Rounded::new(
            Box::new(Additive::new(reticent_noise::Laplace, mechanism.scale(), &errors)),
            Bounds::WHOLE_LINE,
        )
    }

    #[test]
    fn rounded_laplace_noise_has_its_closed_forms() {
        for epsilon in [0.01f64, 0.3, 1.0, 4.0] {
            let (law, q) = (laplace(epsilon), (-epsilon).exp());
            // P[|N| > n] = sqrt(q) q^n: E|N| = sqrt(q)/(1 - q), E N^2 = sqrt(q) (1 + q)/(1 - q)^2.
            let mean = q.sqrt() / (1.0 - q);
            assert!(
                (law.excess(0.0).estimate() / mean - 1.0).abs() < 1e-11,
                "{epsilon}: {:?}",
                law.excess(0.0)
            );
            let square = q.sqrt() * (1.0 + q) / ((1.0 - q) * (1.0 - q));
            assert!(
                (law.mean_square().estimate() / square - 1.0).abs() < 1e-10,
                "{epsilon}: {:?}",
                law.mean_square()
            );
            assert!(
                law.mean_square().relative_width() < 1e-9
                    && law.excess(0.0).relative_width() < 1e-9
            );
            // A threshold between integers: E(|N| - 1.25)_+ = 0.75 P[|N| >= 2] + E(|N| - 2)_+.
            let excess = q.sqrt() * (0.75 * q + q * q / (1.0 - q));
            assert!((law.excess(1.25).estimate() / excess - 1.0).abs() < 1e-11, "{epsilon}");
            assert_eq!(law.exceedance(1.0), law.exceedance(1.9));
        }
    }

    #[test]
    fn a_sum_that_is_cut_is_still_enclosed() {
        let law = laplace(1e-6);
        let q = (-1e-6f64).exp();
        let mean = q.sqrt() / -(-1e-6f64).exp_m1();
        let bounds = law.excess(0.0);
        assert!(
            bounds.lower() <= mean * (1.0 + 1e-12) && mean <= bounds.upper() * (1.0 + 1e-12),
            "{bounds:?} {mean}"
        );
        assert!(bounds.relative_width() < 1e-9, "{bounds:?}");
        assert!(law.mean_square().relative_width() < 1e-5);
    }

    #[test]
    fn integer_noise_is_summed_from_its_mean() {
        let mechanism =
            DiscreteLaplace::calibrate(&Sensitivity::whole(1), Epsilon::new(0.5).expect("valid"))
                .expect("valid");
        let noise = reticent_noise::DiscreteLaplace::new(mechanism.scale()).expect("valid");
        let law = Discrete::new(noise, &mechanism.errors().expect("additive"));
        let q = (-0.5f64).exp();
        // P[|N| > n] = 2 q^(n+1)/(1 + q), summed from n = 3.
        let excess = 2.0 * q.powi(4) / (1.0 + q) / (1.0 - q);
        assert!((law.excess(3.0).estimate() / excess - 1.0).abs() < 1e-13, "{:?}", law.excess(3.0));
        assert!(
            (law.exceedance(2.5).estimate() / (2.0 * q.powi(3) / (1.0 + q)) - 1.0).abs() < 1e-14
        );
    }

    #[test]
    fn rounding_adds_a_twelfth_to_the_variance_of_wide_gaussian_noise() {
        let (epsilon, delta) =
            (Epsilon::new(0.5).expect("valid"), Delta::new(1e-6).expect("valid"));
        let one = Distance::new(1.0).expect("valid");
        let real =
            GaussianMechanism::calibrate(GaussianMethod::Analytic, &one.into(), (epsilon, delta))
                .expect("valid");
        let errors = real.errors().expect("additive");
        let rounded = Rounded::new(
            Box::new(Additive::new(reticent_noise::Gaussian, real.scale(), &errors)),
            Bounds::WHOLE_LINE,
        );
        let excess = rounded.mean_square() - Bounds::exact(real.scale()).square();
        assert!(
            excess.width() < 1e-10 && (excess.estimate() - 1.0 / 12.0).abs() < 1e-10,
            "{excess:?}"
        );
    }
}
