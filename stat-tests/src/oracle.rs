//! The distributions once more, from their textbook formulas in MPFR.
//!
//! Nothing here calls the density, tail or normaliser of the crate under test: the formulas are
//! written out, evaluated with [`BITS`] bits by another library, and where the crate uses a derived
//! closed form, the definition is used instead.

use rug::Float;
use rug::float::Constant;
use rug::ops::Pow;

/// The precision of the oracle. Differences of tails cancel, and leave more than enough.
pub const BITS: u32 = 256;

/// A symmetric distribution on the integers (lattice steps), through its upper tail.
pub trait UpperTail {
    /// `P[N >= n]` for `n >= 1`.
    fn at_least(&self, n: u128) -> Float;

    /// `P[N = n]`.
    fn probability(&self, n: i128) -> Float {
        let n = n.unsigned_abs();
        if n == 0 {
            1u32 - self.at_least(1) * 2u32
        } else {
            self.at_least(n) - self.at_least(n + 1)
        }
    }
}

/// A symmetric distribution on the line, through `P[X > x]` for `x >= 0`.
pub type RealTail = Box<dyn Fn(&Float) -> Float>;

/// `scale X` rounded to the multiples of `2^exponent`, halves up:
/// `P[N >= n] = P[scale X >= (n - 1/2) 2^exponent]`.
pub struct Rounded<'a> {
    /// `P[X > x]`.
    pub tail: &'a RealTail,
    /// The scale.
    pub scale: f64,
    /// The exponent of the lattice's spacing.
    pub exponent: i32,
}

impl std::fmt::Debug for Rounded<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rounded")
            .field("scale", &self.scale)
            .field("exponent", &self.exponent)
            .finish_non_exhaustive()
    }
}

impl UpperTail for Rounded<'_> {
    fn at_least(&self, n: u128) -> Float {
        let boundary = (float(n) - 0.5f64) << self.exponent;
        (self.tail)(&(boundary / self.scale))
    }
}

/// A number at the oracle's precision.
pub fn float<T>(value: T) -> Float
where
    Float: rug::Assign<T>,
{
    Float::with_val(BITS, value)
}

/// `exp(-x) / 2`.
pub fn laplace() -> RealTail {
    Box::new(|x| (-x.clone()).exp() / 2u32)
}

/// `erfc(x / sqrt 2) / 2`.
pub fn gaussian() -> RealTail {
    Box::new(|x| (x.clone() / float(2).sqrt()).erfc() / 2u32)
}

/// The same on average over standard deviations, given as `(sigma, weight)`.
pub fn gaussian_mixture(sigmas: Vec<(f64, f64)>) -> RealTail {
    Box::new(move |x| {
        let total = sigmas.iter().fold(float(0), |sum, part| sum + part.1);
        let sum = sigmas.iter().fold(float(0), |sum, &(sigma, weight)| {
            sum + float(weight) * (x.clone() / float(sigma) / float(2).sqrt()).erfc()
        });
        sum / total / 2u32
    })
}

/// `Gamma(1/p, x^p) / (2 Gamma(1/p))`: the integral of `exp(-t^p)` from `x` on, by the substitution
/// `u = t^p`. Where `x^p` exceeds 300 it is below `e^-299` and given as zero, because MPFR takes
/// minutes there.
pub fn generalized_gaussian(order: f64) -> RealTail {
    Box::new(move |x| {
        let inverse = float(order).recip();
        let power = x.clone().pow(float(order));
        if power > 300 {
            float(0)
        } else {
            inverse.clone().gamma_inc(&power) / inverse.gamma() / 2u32
        }
    })
}

/// One half, less the area of the stairs from 0 to `x`: what the full periods hold is a geometric
/// sum, the last one is added half step by half step.
pub fn staircase(epsilon: f64, gamma: f64) -> RealTail {
    Box::new(move |x| {
        let b = float(-epsilon).exp();
        let period = float(gamma) + (1u32 - float(gamma)) * &b;
        let peak = (1u32 - b.clone()) / (period.clone() * 2u32);
        let k = x.clone().floor();
        let rest = x.clone() - &k;
        let decay = b.clone().pow(&k);
        let full_periods = peak.clone() * &period * (1u32 - decay.clone()) / (1u32 - b.clone());
        let upper_half = float(rest.min_ref(&float(gamma)));
        let lower_half = rest - &upper_half;
        float(0.5) - full_periods - peak * decay * (upper_half + lower_half * b)
    })
}

/// `E[exp(-x T)] / 2` for a `T` with finitely many values, given as `(probability, value)`.
pub fn laplace_mixture(points: Vec<(f64, f64)>) -> RealTail {
    Box::new(move |x| {
        points.iter().fold(float(0), |sum, &(weight, value)| {
            sum + float(weight) * (-(float(value) * x)).exp()
        }) / 2u32
    })
}

/// `(1 + theta x)^-k / 2`, the Laplace transform of the gamma distribution.
pub fn laplace_of_gamma_scale(shape: f64, scale: f64) -> RealTail {
    Box::new(move |x| (1u32 + float(scale) * x).pow(-float(shape)) / 2u32)
}

/// `(exp(-lower x) - exp(-upper x)) / (2 (upper - lower) x)`.
pub fn laplace_of_uniform_scale(lower: f64, upper: f64) -> RealTail {
    Box::new(move |x| {
        if x.is_zero() {
            return float(0.5);
        }
        let difference = (-(float(lower) * x)).exp() - (-(float(upper) * x)).exp();
        difference / ((float(upper) - lower) * x) / 2u32
    })
}

/// `E[exp(-x T)] / 2` for a normal `T` truncated to `[lower, upper]`, by Simpson's rule on the two
/// integrals of the definition, up to where `exp(-x T)` has fallen by `e^-60`. With 2000 panels the
/// error is below 1e-8, which no sample of a few million can see.
pub fn laplace_of_truncated_gaussian_scale(
    mu: f64,
    sigma: f64,
    lower: f64,
    upper: f64,
) -> RealTail {
    let integral = move |x: f64| {
        let panels = 2000;
        let width = (upper - lower).min(60.0 / x) / f64::from(panels);
        let at = |i: i32| {
            let t = lower + width * f64::from(i);
            (-x * t - ((t - mu) / sigma).powi(2) / 2.0).exp()
        };
        let inner: f64 =
            (1..panels).map(|i| if i % 2 == 1 { 4.0 * at(i) } else { 2.0 * at(i) }).sum();
        width / 3.0 * (at(0) + inner + at(panels))
    };
    Box::new(move |x| float(integral(x.to_f64()) / integral(0.0) / 2.0))
}

/// `E[exp(-x (a S + b T))] / 2` from the two transforms: `E[exp(-x a S)] E[exp(-x b T)]` by
/// independence.
pub fn laplace_of_sum(first: (f64, RealTail), second: (f64, RealTail)) -> RealTail {
    Box::new(move |x| {
        let part = |(weight, half_transform): &(f64, RealTail)| {
            half_transform(&(float(*weight) * x)) * 2u32
        };
        part(&first) * part(&second) / 2u32
    })
}

/// The discrete Laplace distribution of scale `b`: `P[N = n]` proportional to `exp(-|n|/b)`, summed
/// by hand.
#[derive(Clone, Copy, Debug)]
pub struct DiscreteLaplaceTail(pub f64);

impl UpperTail for DiscreteLaplaceTail {
    fn at_least(&self, n: u128) -> Float {
        // q^n/(1-q) of a total of 1 + 2 q/(1-q).
        let q = (-float(self.0).recip()).exp();
        let power = (-(float(n) / self.0)).exp();
        power / (1u32 + q)
    }
}

/// The discrete Gaussian distribution: `P[N = n]` proportional to `exp(-n^2 / (2 sigma^2))`, added
/// up term by term. From `sigma = 1e5` on by the integral over `[n - 1/2, ∞)`, which the midpoint
/// rule says is the sum but for a relative error of about `1/(24 sigma^2)`.
#[derive(Clone, Debug)]
pub struct DiscreteGaussianTail {
    sigma: f64,
    /// `sum_(m >= n) exp(-m^2 / (2 sigma^2))` by `n`, where sums are used.
    sums: Vec<f64>,
}

impl DiscreteGaussianTail {
    /// The distribution with the given `sigma`.
    pub fn new(sigma: f64) -> Self {
        let mut sums = Vec::new();
        if sigma < 1e5 {
            // exp(-40^2/2) is 1e-347.
            let last = (40.0 * sigma).ceil() as u64 + 1;
            let term = |m: u64| (-(m as f64 / sigma).powi(2) / 2.0).exp();
            // The smallest terms first.
            sums = (0..=last)
                .rev()
                .scan(0.0, |sum, m| {
                    *sum += term(m);
                    Some(*sum)
                })
                .collect();
            sums.reverse();
        }
        DiscreteGaussianTail { sigma, sums }
    }
}

impl UpperTail for DiscreteGaussianTail {
    fn at_least(&self, n: u128) -> Float {
        if self.sums.is_empty() {
            return ((float(n) - 0.5f64) / (float(2).sqrt() * self.sigma)).erfc() / 2u32;
        }
        let total = 1.0 + 2.0 * self.sums[1];
        float(self.sums.get(n as usize).map_or(0.0, |sum| sum / total))
    }
}

/// `pi` to the oracle's precision.
pub fn pi() -> Float {
    float(Constant::Pi)
}
