//! An inverse scale with a normal distribution cut to an interval.

use super::moments::{product, scaled_powers};
use crate::NoiseError;
use crate::parameter::{positive, require};
use reticent_numerics::Enclosure;
use reticent_numerics::error_function::normal_tail;

/// `T` normal with mean `mu` and standard deviation `sigma`, given that it lies in `[lower, upper]`.
///
/// With `A = (lower - mu)/sigma + sigma x` and `B = (upper - mu)/sigma + sigma x`, `phi` and `Phi` the normal density and distribution function, and
/// `N(x) = exp(-mu x + sigma^2 x^2 / 2) (Phi(B) - Phi(A))`:
///
/// - `E[exp(-x T)] = N(x) / N(0)`,
/// - `E[T exp(-x T)] = ((mu - sigma^2 x) N(x) + sigma (phi(alpha) exp(-lower x) - phi(beta) exp(-upper x))) / N(0)`, with `alpha` and `beta` the values of `A` and
///   `B` at `x = 0`: the mean of the same truncation with `mu` moved to `mu - sigma^2 x` (Theorem 4.13).
///
/// The paper's Eqn 16 lacks the factor `sigma (phi(alpha) - phi(beta))` (erratum R5).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TruncatedGaussianScale {
    mu: f64,
    sigma: f64,
    lower: f64,
    upper: f64,
}

impl TruncatedGaussianScale {
    /// The mean and standard deviation before the cut, and the interval.
    ///
    /// # Errors
    /// Unless `mu` is finite, `sigma` a number from 1e-150 to 1e150, `0 <= lower < upper <= 1e150`, and the interval within 30 standard
    /// deviations of the mean.
    pub fn new(mu: f64, sigma: f64, lower: f64, upper: f64) -> Result<Self, NoiseError> {
        require(mu.abs() <= 1e150, "mu", mu, "a number from -1e150 to 1e150")?;
        positive("sigma", sigma)?;
        require((1e-150..=1e150).contains(&upper), "upper", upper, "a number from 1e-150 to 1e150")?;
        require(lower >= 0.0 && lower < upper, "lower", lower, "at least 0 and below `upper`")?;
        let near = lower - mu <= 30.0 * sigma && mu - upper <= 30.0 * sigma;
        require(near, "mu", mu, "within 30 standard deviations of the interval")?;
        Ok(TruncatedGaussianScale { mu, sigma, lower, upper })
    }

    /// The mean before the cut.
    pub fn mu(&self) -> f64 {
        self.mu
    }

    /// The standard deviation before the cut.
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
        TruncatedGaussianScale::new(self.mu / factor, self.sigma / factor, self.lower / factor, self.upper / factor)
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
        let inverse_mass = x.exactly(1.0) / self.unnormalised(&x.exactly(0.0));
        product(&scaled_powers(order, &x.exactly(self.lower), inverse_mass), &above_lower)
    }

    /// With `s = t - lower`, `w = upper - lower`, `m = mu - sigma^2 x - lower > 0`, and `J_j` the integral of `s^j/j! exp(-x t)` against the density that `N` integrates,
    /// integration by parts gives
    ///
    /// `j J_j = m J_(j-1) + sigma^2 J_(j-2) - sigma w^(j-1)/(j-1)! phi(beta) exp(-upper x) + [j = 1] sigma phi(alpha) exp(-lower x)`.
    fn rising_moments<E: Enclosure>(&self, order: usize, x: &E, m: &E) -> Vec<E> {
        let sigma = x.exactly(self.sigma);
        let variance = sigma.clone() * sigma.clone();
        let width = x.exactly(self.upper) - x.exactly(self.lower);
        let mut at_upper = sigma.clone() * self.density_at(self.upper, x);
        let mut moments = vec![self.unnormalised(x)];
        for j in 1..=order {
            let before = if j == 1 {
                sigma.clone() * self.density_at(self.lower, x)
            } else {
                variance.clone() * moments[j - 2].clone()
            };
            moments.push((m.clone() * moments[j - 1].clone() + before - at_upper.clone()) / x.exactly(j as f64));
            at_upper = at_upper * width.clone() / x.exactly(j as f64);
        }
        moments
    }

    /// The same for `m = -distance <= 0`, where the recurrence has positive terms only if it runs downwards.
    ///
    /// On `[0, w]` the density is `phi(alpha) exp(-lower x) / sigma` times `exp(-q(s))` with `q(s) = s distance/sigma^2 + s^2/(2 sigma^2)`. With `s = w r`, `Y = w distance/sigma^2` and
    /// `G = w^2/(2 sigma^2)`, the numbers `k_n = (n+1) ∫_0^1 r^n exp(-Y r - G r^2) dr`, which lie between 0 and 1, satisfy
    ///
    /// `k_n = exp(-Y - G) + Y/(n+2) k_(n+1) + 2 G/(n+3) k_(n+2)`.
    ///
    /// Started far up with `[0, 1]`, this forgets its start as an exponential series does. Where `q(w)` is large the integral is cut at a smaller `w`: since
    /// `q(s) >= s q(w)/w` beyond, the rest is at most `exp(-q) sum_{i<=n} q^i/i! (w/q)^(n+1)` with `q = q(w)`.
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
        let highest = order + (4.0 * exponent.bounds().upper().clamp(0.0, 1e5)) as usize + x.precision() as usize;
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
        let powers = scaled_powers(order + 1, &width, self.density_at(self.lower, x) / x.exactly(self.sigma));
        let rest_terms = scaled_powers(order, &exponent, decay);
        let (mut rest_sum, mut rest_power) = (x.exactly(0.0), powers[0].clone());
        let per_exponent = width / exponent;
        (0..=order)
            .map(|n| {
                rest_sum = rest_sum.clone() + rest_terms[n].clone();
                rest_power = rest_power.clone() * per_exponent.clone();
                let moment = scaled[n].clone() * powers[n + 1].clone();
                if is_cut { moment + x.exactly(0.0).hull(rest_sum.clone() * rest_power.clone()) } else { moment }
            })
            .collect()
    }

    /// `(end - mu)/sigma + sigma x`.
    fn standardised<E: Enclosure>(&self, end: f64, x: &E) -> E {
        (x.exactly(end) - x.exactly(self.mu)) / x.exactly(self.sigma) + x.exactly(self.sigma) * x.clone()
    }

    /// `phi((end - mu)/sigma) exp(-end x)`, which is also `exp(-mu x + sigma^2 x^2/2) phi(A)` with `A` of that end.
    fn density_at<E: Enclosure>(&self, end: f64, x: &E) -> E {
        let z = (x.exactly(end) - x.exactly(self.mu)) / x.exactly(self.sigma);
        let exponent = (z.clone() * z).times_power_of_two(-1) + x.exactly(end) * x.clone();
        (-exponent).exp() / x.pi().times_power_of_two(1).sqrt()
    }

    /// `N(x)`, in whichever of three forms does not overflow.
    fn unnormalised<E: Enclosure>(&self, x: &E) -> E {
        let a = self.standardised(self.lower, x);
        let b = self.standardised(self.upper, x);
        if a.bounds().lower() >= 1.0 {
            return self.density_at(self.lower, x) * mills_ratio(&a) - self.density_at(self.upper, x) * mills_ratio(&b);
        }
        if b.bounds().upper() <= -1.0 {
            return self.density_at(self.upper, x) * mills_ratio(&-b)
                - self.density_at(self.lower, x) * mills_ratio(&-a);
        }
        let sigma_x = x.exactly(self.sigma) * x.clone();
        let exponent = (sigma_x.clone() * sigma_x).times_power_of_two(-1) - x.exactly(self.mu) * x.clone();
        exponent.exp() * (normal_tail(&a) - normal_tail(&b))
    }

    pub(super) fn transform<E: Enclosure>(&self, x: &E) -> E {
        self.unnormalised(x) / self.unnormalised(&x.exactly(0.0))
    }

    pub(super) fn tilted_mean<E: Enclosure>(&self, x: &E) -> E {
        let sigma = x.exactly(self.sigma);
        let centre = x.exactly(self.mu) - sigma.clone() * sigma.clone() * x.clone();
        let ends = self.density_at(self.lower, x) - self.density_at(self.upper, x);
        (centre * self.unnormalised(x) + sigma * ends) / self.unnormalised(&x.exactly(0.0))
    }
}

/// `Q(z) / phi(z)` for `z >= 1`, also where both underflow.
///
/// Far out by the continued fraction `1/(z + 1/(z + 2/(z + 3/(z + ...))))`, whose successive convergents lie on either side of the value
/// because all its coefficients are positive (Abramowitz and Stegun, 26.2.14). Stopping after `n` levels leaves a relative error of
/// about `exp(-z sqrt(8 n))`; the bracket itself is taken from the convergents and does not rely on that.
fn mills_ratio<E: Enclosure>(z: &E) -> E {
    let least = z.bounds().lower();
    if least < 6.0 {
        let density = (-(z.clone() * z.clone()).times_power_of_two(-1)).exp() / z.pi().times_power_of_two(1).sqrt();
        return normal_tail(z) / density;
    }
    let wanted = f64::from(z.precision()) * std::f64::consts::LN_2 + 5.0;
    let levels = ((wanted * wanted / (8.0 * least * least)).ceil() + 8.0).min(1e5) as u32;
    let convergent = |levels: u32| {
        let mut value = z.clone();
        for level in (1..=levels).rev() {
            value = z.clone() + z.exactly(f64::from(level)) / value;
        }
        z.exactly(1.0) / value
    };
    convergent(levels).hull(convergent(levels + 1))
}
