//! An inverse scale with a normal distribution truncated to an interval.

use super::moments::{product, scaled_powers};
use crate::NoiseError;
use crate::parameter::positive;
use reticent_numerics::error_function::normal_tail;
use reticent_numerics::normal;
use reticent_numerics::{Bounds, Enclosure, require};

/// `T` normal with mean `mu` and standard deviation `sigma`, given that it lies in
/// `[lower, upper]`.
///
/// With `A = (lower - mu)/sigma + sigma x` and `B = (upper - mu)/sigma + sigma x`, `phi` and `Phi`
/// the normal density and distribution function, and
/// `N(x) = exp(-mu x + sigma^2 x^2 / 2) (Phi(B) - Phi(A))`:
///
/// - `E[exp(-x T)] = N(x) / N(0)`,
/// - `E[T exp(-x T)] = ((mu - sigma^2 x) N(x) + sigma (phi(alpha) exp(-lower x) - phi(beta)
///   exp(-upper x))) / N(0)`, with `alpha` and `beta` the values of `A` and `B` at `x = 0`: the
///   mean of the same truncation with `mu` moved to `mu - sigma^2 x` (Theorem 4.13).
///
/// The paper's Eqn 16 lacks the factor `sigma (phi(alpha) - phi(beta))` (erratum R5).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TruncatedGaussianScale {
    mu: f64,
    sigma: f64,
    lower: f64,
    upper: f64,
    /// `N(0)`.
    normaliser: Bounds,
}

impl TruncatedGaussianScale {
    /// The mean and standard deviation before truncation, and the interval.
    ///
    /// # Errors
    /// Unless `mu` is a number from -1e150 to 1e150, `sigma` one from 1e-150 to 1e150,
    /// `0 <= lower < upper <= 1e150`, and the interval within 30 standard deviations of the mean.
    pub fn new(mu: f64, sigma: f64, lower: f64, upper: f64) -> Result<Self, NoiseError> {
        require(mu.abs() <= 1e150, "mu", mu, "a number from -1e150 to 1e150")?;
        positive("sigma", sigma)?;
        require(
            (1e-150..=1e150).contains(&upper),
            "upper",
            upper,
            "a number from 1e-150 to 1e150",
        )?;
        require(lower >= 0.0 && lower < upper, "lower", lower, "at least 0 and below `upper`")?;
        let near = lower - mu <= 30.0 * sigma && mu - upper <= 30.0 * sigma;
        require(near, "mu", mu, "within 30 standard deviations of the interval")?;
        let mut family =
            TruncatedGaussianScale { mu, sigma, lower, upper, normaliser: Bounds::ZERO };
        family.normaliser = family.integrals(&Bounds::ZERO, &NormalFunctions::fast()).0;
        require(family.normaliser.lower() > 0.0, "upper", upper, "far enough above `lower`")?;
        Ok(family)
    }

    /// The mean before truncation.
    pub fn mu(&self) -> f64 {
        self.mu
    }

    /// The standard deviation before truncation.
    pub fn sigma(&self) -> f64 {
        self.sigma
    }

    /// The lower end.
    pub fn lower(&self) -> f64 {
        self.lower
    }

    /// The upper end.
    pub fn upper(&self) -> f64 {
        self.upper
    }

    pub(super) fn divided(&self, factor: f64) -> Result<Self, NoiseError> {
        TruncatedGaussianScale::new(
            self.mu / factor,
            self.sigma / factor,
            self.lower / factor,
            self.upper / factor,
        )
    }

    /// The moments about `lower` times those of the constant `lower`.
    pub(super) fn tilted_moments<E: Enclosure>(&self, order: usize, x: &E) -> Vec<E> {
        let sigma = x.exactly(self.sigma);
        let centre = x.exactly(self.mu) - sigma.clone() * sigma * x.clone() - x.exactly(self.lower);
        let above_lower = if centre.bounds().upper() <= 0.0 {
            self.falling_moments(order, x, &-centre)
        } else {
            self.rising_moments(order, x, &centre)
        };
        let inverse_mass = x.exactly(1.0) / self.normaliser(x);
        product(&scaled_powers(order, &x.exactly(self.lower), inverse_mass), &above_lower)
    }

    /// With `s = t - lower`, `w = upper - lower`, `m = mu - sigma^2 x - lower > 0`, and `J_j` the
    /// integral of `s^j/j! exp(-x t)` against the density that `N` integrates, integration by parts
    /// gives
    ///
    /// `j J_j = m J_(j-1) + sigma^2 J_(j-2) - sigma w^(j-1)/(j-1)! phi(beta) exp(-upper x) + [j =
    /// 1] sigma phi(alpha) exp(-lower x)`.
    fn rising_moments<E: Enclosure>(&self, order: usize, x: &E, m: &E) -> Vec<E> {
        let sigma = x.exactly(self.sigma);
        let variance = sigma.clone() * sigma.clone();
        let width = x.exactly(self.upper) - x.exactly(self.lower);
        let mut at_upper = sigma.clone() * self.density_at(self.upper, x);
        let mut moments = vec![self.integrals(x, &NormalFunctions::any_precision()).0];
        for j in 1..=order {
            let before = if j == 1 {
                sigma.clone() * self.density_at(self.lower, x)
            } else {
                variance.clone() * moments[j - 2].clone()
            };
            moments.push(
                (m.clone() * moments[j - 1].clone() + before - at_upper.clone())
                    / x.exactly(j as f64),
            );
            at_upper = at_upper * width.clone() / x.exactly(j as f64);
        }
        moments
    }

    /// The same for `m = -distance <= 0`, where the recurrence has positive terms only if it runs
    /// downwards.
    ///
    /// On `[0, w]` the density is `phi(alpha) exp(-lower x) / sigma` times `exp(-q(s))` with
    /// `q(s) = s distance/sigma^2 + s^2/(2 sigma^2)`. With `s = w r`, `Y = w distance/sigma^2` and
    /// `G = w^2/(2 sigma^2)`, the numbers `k_n = (n+1) ∫_0^1 r^n exp(-Y r - G r^2) dr`, which lie
    /// between 0 and 1, satisfy
    ///
    /// `k_n = exp(-Y - G) + Y/(n+2) k_(n+1) + 2 G/(n+3) k_(n+2)`.
    ///
    /// Started far up with `[0, 1]`, this forgets its start as an exponential series does. Where
    /// `q(w)` is large the integral is cut at a smaller `w`: since `q(s) >= s q(w)/w` beyond, the
    /// rest is at most `exp(-q) sum_{i<=n} q^i/i! (w/q)^(n+1)` with `q = q(w)`.
    fn falling_moments<E: Enclosure>(&self, order: usize, x: &E, distance: &E) -> Vec<E> {
        let variance = x.exactly(self.sigma) * x.exactly(self.sigma);
        let exponents = |w: &E| {
            let linear = w.clone() * distance.clone() / variance.clone();
            (linear, (w.clone() * w.clone() / variance.clone()).times_power_of_two(-1))
        };
        let mut width = x.exactly(self.upper) - x.exactly(self.lower);
        // Steers only: what is cut off is added below.
        let enough = f64::from(x.precision()) * std::f64::consts::LN_2 + 4.0 * order as f64 + 20.0;
        let slope = (distance.clone() / variance.clone()).bounds().estimate();
        let curvature = (x.exactly(1.0) / variance.clone()).bounds().estimate();
        let cut = 2.0 * enough / (slope + (slope * slope + 2.0 * curvature * enough).sqrt());
        let is_cut = cut < width.bounds().lower();
        if is_cut {
            width = x.exactly(cut);
        }
        let (linear, quadratic) = exponents(&width);
        let exponent = linear.clone() + quadratic.clone();
        let decay = (-exponent.clone()).exp();
        let highest = order
            + (4.0 * exponent.bounds().upper().clamp(0.0, 1e5)) as usize
            + x.precision() as usize;
        let twice_quadratic = quadratic.times_power_of_two(1);
        let (mut above, mut here) = (x.between(0.0, 1.0), x.between(0.0, 1.0));
        let mut scaled = vec![x.exactly(0.0); order + 1];
        for n in (0..highest).rev() {
            let next = decay.clone()
                + linear.clone() * here.clone() / x.exactly((n + 2) as f64)
                + twice_quadratic.clone() * above / x.exactly((n + 3) as f64);
            (above, here) = (here, next);
            if n <= order {
                scaled[n] = here.clone();
            }
        }
        // w^(n+1)/(n+1)! and exp(-q) q^i/i!
        let powers = scaled_powers(
            order + 1,
            &width,
            self.density_at(self.lower, x) / x.exactly(self.sigma),
        );
        let rest_terms = scaled_powers(order, &exponent, decay);
        let (mut rest_sum, mut rest_power) = (x.exactly(0.0), powers[0].clone());
        let per_exponent = width / exponent;
        (0..=order)
            .map(|n| {
                rest_sum = rest_sum.clone() + rest_terms[n].clone();
                rest_power = rest_power.clone() * per_exponent.clone();
                let moment = scaled[n].clone() * powers[n + 1].clone();
                if is_cut {
                    moment + x.exactly(0.0).hull(rest_sum.clone() * rest_power.clone())
                } else {
                    moment
                }
            })
            .collect()
    }

    /// `(end - mu)/sigma + sigma x`.
    fn standardised<E: Enclosure>(&self, end: f64, x: &E) -> E {
        (x.exactly(end) - x.exactly(self.mu)) / x.exactly(self.sigma)
            + x.exactly(self.sigma) * x.clone()
    }

    /// `phi((end - mu)/sigma) exp(-end x)`, which is also `exp(-mu x + sigma^2 x^2/2) phi(A)` with
    /// `A` of that end.
    fn density_at<E: Enclosure>(&self, end: f64, x: &E) -> E {
        let z = (x.exactly(end) - x.exactly(self.mu)) / x.exactly(self.sigma);
        let exponent = (z.clone() * z).times_power_of_two(-1) + x.exactly(end) * x.clone();
        (-exponent).exp() / x.pi().times_power_of_two(1).sqrt()
    }

    /// `N(x)` and `N(0) E[T exp(-x T)]`, in whichever of three forms neither overflows nor cancels.
    ///
    /// With `e_l` and `e_u` the [densities](Self::density_at) at the ends, `m` Mills' ratio and
    /// `r(z) = 1 - z m(z)`: where `A >= 1`, `N = e_l m(A) - e_u m(B)`, and because `mu - sigma^2 x`
    /// is `lower - sigma A` as well as `upper - sigma B`, the second integral is `e_l (lower m(A) +
    /// sigma r(A)) - e_u (upper m(B) + sigma r(B))`. Where `B <= -1` the same holds mirrored, with
    /// `-A`, `-B` and `-sigma`.
    fn integrals<E: Enclosure>(&self, x: &E, normal: &NormalFunctions<E>) -> (E, E) {
        let a = self.standardised(self.lower, x);
        let b = self.standardised(self.upper, x);
        let sigma = x.exactly(self.sigma);
        let at_end = |end: f64, z: E, sigma: E| {
            let (mills, rest) = mills_ratio(&z, normal);
            let density = self.density_at(end, x);
            (density.clone() * mills.clone(), density * (x.exactly(end) * mills + sigma * rest))
        };
        if a.bounds().lower() >= 1.0 {
            let (low, high) = (at_end(self.lower, a, sigma.clone()), at_end(self.upper, b, sigma));
            return (low.0 - high.0, low.1 - high.1);
        }
        if b.bounds().upper() <= -1.0 {
            let (low, high) =
                (at_end(self.lower, -a, -sigma.clone()), at_end(self.upper, -b, -sigma));
            return (high.0 - low.0, high.1 - low.1);
        }
        let sigma_x = sigma.clone() * x.clone();
        let exponent = (sigma_x.clone() * sigma_x.clone()).times_power_of_two(-1)
            - x.exactly(self.mu) * x.clone();
        let mass = exponent.exp() * ((normal.tail)(&a) - (normal.tail)(&b));
        let centre = x.exactly(self.mu) - sigma.clone() * sigma_x;
        let ends = self.density_at(self.lower, x) - self.density_at(self.upper, x);
        (mass.clone(), centre * mass + sigma * ends)
    }

    fn normaliser<E: Enclosure>(&self, like: &E) -> E {
        self.integrals(&like.exactly(0.0), &NormalFunctions::any_precision()).0
    }

    pub(super) fn transform<E: Enclosure>(&self, x: &E) -> E {
        self.integrals(x, &NormalFunctions::any_precision()).0 / self.normaliser(x)
    }

    pub(super) fn tilted_mean<E: Enclosure>(&self, x: &E) -> E {
        self.integrals(x, &NormalFunctions::any_precision()).1 / self.normaliser(x)
    }

    /// [`TruncatedGaussianScale::tilted_mean`] by the fast functions of `f64`.
    pub(super) fn tilted_mean_bounds(&self, x: Bounds) -> Bounds {
        self.integrals(&x, &NormalFunctions::fast()).1 / self.normaliser
    }
}

/// The upper tail of the normal distribution, and Mills' ratio from 1 to 6.
struct NormalFunctions<E> {
    tail: fn(&E) -> E,
    mills_ratio: fn(&E) -> E,
}

impl<E: Enclosure> NormalFunctions<E> {
    fn any_precision() -> Self {
        NormalFunctions {
            tail: normal_tail,
            mills_ratio: |z| {
                let density = (-(z.clone() * z.clone()).times_power_of_two(-1)).exp()
                    / z.pi().times_power_of_two(1).sqrt();
                normal_tail(z) / density
            },
        }
    }
}

impl NormalFunctions<Bounds> {
    fn fast() -> Self {
        NormalFunctions {
            tail: |z| normal::normal_sf(*z),
            mills_ratio: |z| normal::mills_ratio(*z),
        }
    }
}

/// Mills' ratio `m(z) = Q(z) / phi(z)` and `1 - z m(z)`, for `z >= 1`, also where `Q` and `phi`
/// underflow.
///
/// Far out by the continued fraction `m = 1/(z + K)`, `K = 1/(z + 2/(z + 3/(z + ...)))`, whose
/// successive convergents lie on either side of the value because all its coefficients are positive
/// (Abramowitz and Stegun, 26.2.14); then `1 - z m = K m`. Stopping after `n` levels leaves a
/// relative error of about `exp(-z sqrt(8 n))`; the bracket itself is taken from the convergents
/// and does not rely on that.
fn mills_ratio<E: Enclosure>(z: &E, normal: &NormalFunctions<E>) -> (E, E) {
    let one = z.exactly(1.0);
    let least = z.bounds().lower();
    if least < 6.0 {
        let ratio = (normal.mills_ratio)(z);
        return (ratio.clone(), one - z.clone() * ratio);
    }
    let wanted = f64::from(z.precision()) * std::f64::consts::LN_2 + 5.0;
    let levels = ((wanted * wanted / (8.0 * least * least)).ceil() + 8.0).min(1e5) as u32;
    let convergent = |levels: u32| {
        let mut value = z.clone();
        for level in (2..=levels).rev() {
            value = z.clone() + z.exactly(f64::from(level)) / value;
        }
        one.clone() / value
    };
    let k = convergent(levels).hull(convergent(levels + 1));
    let ratio = one.clone() / (z.clone() + k.clone());
    (ratio.clone(), k * ratio)
}
