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

    /// Integration by parts, with `s = t - lower`, `w = upper - lower`, `m = mu - sigma^2 x - lower`, and `J_j` the integral of
    /// `s^j/j! exp(-x t)` against the density that `N` integrates:
    ///
    /// `j J_j = m J_(j-1) + sigma^2 J_(j-2) - sigma w^(j-1)/(j-1)! phi(beta) exp(-upper x) + [j = 1] sigma phi(alpha) exp(-lower x)`.
    ///
    /// For negative `m` terms cancel, about `log2(sigma^2 x^2)` bits for each step where `lower = 0`: ask for that precision.
    pub(super) fn tilted_moments<E: Enclosure>(&self, order: usize, x: &E) -> Vec<E> {
        let sigma = x.exactly(self.sigma);
        let variance = sigma.clone() * sigma.clone();
        let m = x.exactly(self.mu) - variance.clone() * x.clone() - x.exactly(self.lower);
        let width = x.exactly(self.upper) - x.exactly(self.lower);
        let mut at_upper = sigma.clone() * self.density_at(self.upper, x);
        let mut above_lower = vec![self.unnormalised(x)];
        for j in 1..=order {
            let mut sum = m.clone() * above_lower[j - 1].clone() - at_upper.clone();
            if j == 1 {
                sum = sum + sigma.clone() * self.density_at(self.lower, x);
            } else {
                sum = sum + variance.clone() * above_lower[j - 2].clone();
            }
            above_lower.push(sum / x.exactly(j as f64));
            at_upper = at_upper * width.clone() / x.exactly(j as f64);
        }
        let inverse_mass = x.exactly(1.0) / self.unnormalised(&x.exactly(0.0));
        product(&scaled_powers(order, &x.exactly(self.lower), inverse_mass), &above_lower)
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
