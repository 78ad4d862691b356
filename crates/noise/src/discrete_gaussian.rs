//! Discrete Gaussian noise.

use crate::NoiseError;
use crate::integer_noise::IntegerNoise;
use reticent_numerics::error_function::normal_tail;
use reticent_numerics::{Enclosure, require};

/// The discrete Gaussian distribution of parameter `sigma`.
///
/// # Distribution
/// `P[N = n]` is proportional to `exp(-n^2 / (2 sigma^2))`. Its variance is at most `sigma^2`.
///
/// # Guarantee
/// `D^2 / (2 sigma^2)`-zero-concentrated differential privacy for integer answers that move by at
/// most `D`, like the continuous Gaussian, and an `(epsilon, delta)` profile close to it.
///
/// # References
/// Canonne, Kamath, Steinke, *The discrete Gaussian for differential privacy*, 2020.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiscreteGaussian {
    sigma: f64,
}

impl DiscreteGaussian {
    /// Noise of parameter `sigma`.
    ///
    /// # Errors
    /// If `sigma` is not a number from 1e-3 to 2^60.
    pub fn new(sigma: f64) -> Result<Self, NoiseError> {
        let accepted = "a number from 1e-3 to 2^60 (about 1.15e18)";
        require((1e-3..=1_152_921_504_606_846_976.0).contains(&sigma), "sigma", sigma, accepted)?;
        Ok(DiscreteGaussian { sigma })
    }

    /// `sigma`.
    pub fn sigma(&self) -> f64 {
        self.sigma
    }

    /// The tail term by term. From the term `m` on each is at most
    /// `r = exp(-(2 m + 1) / (2 sigma^2))` times the one before it, so the terms from `m` on add up
    /// to at most that of `m` over `1 - r`.
    fn tail_by_terms<E: Enclosure>(&self, n: u128, like: &E) -> E {
        let negligible = 2f64.powi(-(like.precision() as i32) - 4);
        let double_square =
            (like.exactly(self.sigma) * like.exactly(self.sigma)).times_power_of_two(1);
        let mut sum = like.exactly(0.0);
        let mut m = n;
        loop {
            let term = self.probability(m, like);
            let twice_and_one = like.integer(m as i128).times_power_of_two(1) + like.exactly(1.0);
            let log_ratio = twice_and_one / double_square.clone();
            let rest = term.clone() / -(-log_ratio).exp_m1();
            let (rest_bound, sum_bound) = (rest.bounds().upper(), sum.bounds().lower());
            // Once everything underflows there is nothing more to learn by going on.
            if rest_bound <= sum_bound * negligible || rest_bound < 1e-320 {
                return sum + like.exactly(0.0).hull(rest);
            }
            sum = sum + term;
            m += 1;
        }
    }

    /// The tail by the Euler-Maclaurin formula with `K = 15`:
    ///
    /// `sum_(m >= n) f(m) = ∫_n^∞ f + f(n)/2 - sum_(k=1..K) B_2k/(2k)! f^(2k-1)(n) + R`, where for
    /// `f(x) = exp(-x^2/2 sigma^2)` and `t = n / sigma` `f^(j)(n) = (-1)^j sigma^-j He_j(t) f(n)`
    /// with the Hermite polynomials `He_j`, and `|R| <= 2 zeta(2K) (2 pi)^(-2K) ∫_n^∞ |f^(2K)|`.
    /// Cramér's inequality `|He_j(t)| <= 1.0865 sqrt(j!) exp(t^2/4)` (Abramowitz and Stegun,
    /// 22.14.17) bounds the integral by `sigma^(1-2K) 1.0865 sqrt((2K)!) sqrt(pi) exp(-t^2/4)`.
    fn tail_by_euler_maclaurin<E: Enclosure>(&self, n: u128, like: &E) -> E {
        let one = like.exactly(1.0);
        let sigma = like.exactly(self.sigma);
        let t = like.integer(n as i128) / sigma.clone();
        let root_two_pi = like.pi().times_power_of_two(1).sqrt();
        let mut corrections = one.clone().times_power_of_two(-1);
        // He_0 and He_1; each round of the loop steps the pair on by two.
        let (mut even, mut odd) = (one.clone(), t.clone());
        let inverse = one.clone() / sigma.clone();
        let mut weight = inverse.clone();
        for (k, (numerator, denominator)) in (1u32..).zip(BERNOULLI) {
            // -B_2k/(2k)! (-1)^(2k-1) sigma^(1-2k) He_(2k-1)(t)
            let bernoulli = like.exactly(numerator) / like.exactly(denominator);
            corrections = corrections + bernoulli * weight.clone() * odd.clone();
            let j = f64::from(2 * k);
            // weight = 2 sigma^(1-2k) / (2k)! becomes 2 sigma^(-1-2k) / (2k+2)!; the table has B_2k
            // / 2.
            weight =
                weight * inverse.clone() * inverse.clone() / like.exactly((j + 1.0) * (j + 2.0));
            even = t.clone() * odd.clone() - like.exactly(j - 1.0) * even;
            odd = t.clone() * even.clone() - like.exactly(j) * odd;
        }
        let remainder = like.exactly(euler_maclaurin_remainder(self.sigma)).exp()
            * (-(t.clone() * t.clone()).times_power_of_two(-2)).exp();
        let remainder = remainder.clone().hull(-remainder);
        sigma * root_two_pi * normal_tail(&t) + self.probability(n, like) * corrections + remainder
    }
}

/// `B_2k` over what is left of `(2k)!` when [`DiscreteGaussian::tail_by_euler_maclaurin`] has
/// divided by `(2k)! / 2`: the numerators and denominators of `B_2k / 2`, for `k` from 1 to 15.
const BERNOULLI: [(f64, f64); 15] = [
    (1.0, 12.0),
    (-1.0, 60.0),
    (1.0, 84.0),
    (-1.0, 60.0),
    (5.0, 132.0),
    (-691.0, 5460.0),
    (7.0, 12.0),
    (-3617.0, 1020.0),
    (43867.0, 1596.0),
    (-174611.0, 660.0),
    (854513.0, 276.0),
    (-236364091.0, 5460.0),
    (8553103.0, 12.0),
    (-23749461029.0, 1740.0),
    (8615841276005.0, 28644.0),
];

/// An upper bound on the logarithm of the remainder's factor before `exp(-t^2/4)`: `ln(2 zeta(30)
/// (2 pi)^-30 sigma^-29 1.0865 sqrt(30!) sqrt(pi))`, with a margin of a tenth for the rounding of
/// this line and of `exp`.
fn euler_maclaurin_remainder(sigma: f64) -> f64 {
    // ln 30! = 74.6582363488...
    let constant =
        2.0000001f64.ln() + 1.0865f64.ln() + 0.5 * 74.6582364 + 0.5 * std::f64::consts::PI.ln();
    constant - 30.0 * std::f64::consts::TAU.ln() - 29.0 * sigma.ln() + 0.1
}

/// Not normalised: `c` is the sum of `exp(-n^2 / (2 sigma^2))` over the integers.
impl IntegerNoise for DiscreteGaussian {
    fn probability<E: Enclosure>(&self, n: u128, like: &E) -> E {
        let ratio = like.integer(n.min(i128::MAX as u128) as i128) / like.exactly(self.sigma);
        (-(ratio.clone() * ratio).times_power_of_two(-1)).exp()
    }

    fn upper_tail<E: Enclosure>(&self, n: u128, like: &E) -> E {
        // The tail is about sigma exp(-t^2/2) / (1 + t); the formula is used where its remainder is
        // below the precision, relative to that. Where it is not, sigma is small or t large, and
        // the terms are few.
        let t = n as f64 / self.sigma;
        let relative =
            euler_maclaurin_remainder(self.sigma) + 0.25 * t * t - self.sigma.ln() + t.ln_1p();
        if relative < -f64::from(like.precision() + 4) * std::f64::consts::LN_2 {
            self.tail_by_euler_maclaurin(n, like)
        } else {
            self.tail_by_terms(n, like)
        }
    }

    fn mass<E: Enclosure>(&self, like: &E) -> E {
        self.upper_tail(1, like).times_power_of_two(1) + like.exactly(1.0)
    }

    fn magnitude(&self) -> f64 {
        self.sigma
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_numerics::Bounds;

    /// Terms that underflow used to leave their quotient, and with it the rest of the sum,
    /// unbounded for ever.
    #[test]
    fn the_tail_of_a_tiny_sigma_ends() {
        for sigma in [1e-3, 0.02, 0.026] {
            let noise = DiscreteGaussian { sigma };
            let tail = noise.upper_tail(1, &Bounds::ONE);
            // exp(-1/(2 sigma^2)) is below 1e-300, and the other terms are nothing beside it.
            assert!(tail.lower() >= 0.0 && tail.upper() < 1e-300, "{sigma}: {tail:?}");
            assert!(noise.mass(&Bounds::ONE).contains(1.0), "{sigma}");
        }
    }
}
