//! The discrete Laplace (geometric) mechanism: pure differential privacy for integers, exactly.

use crate::additive::AdditiveRelease;
use crate::{Certificate, Epsilon, Errors, Guarantee, Mechanism, MechanismError, Notion, Releaser};
use reticent_accounting::Event;
use reticent_noise::randomness::{RandomBits, RandomnessError};
use reticent_noise::{IntegerNoise, Spread};
use reticent_numerics::rounding::{div_down, div_up, mul_down};
use reticent_numerics::{Bounds, Enclosure, Wide};

/// Adds discrete Laplace noise of scale `b` to each of one or more integers.
///
/// # Distribution
/// `P[N = n] = (1 - q)/(1 + q) q^|n|` with `q = exp(-1/b)`, for every integer `n`.
///
/// # Guarantee
/// Pure epsilon-differential privacy with `epsilon_0 = D/b` for integers of l1 sensitivity `D`, and this is tight. Clamping the result to public bounds
/// ([`DiscreteLaplace::clamped`]) is post-processing and keeps it.
///
/// # Profile
/// For one integer that moves by `D`, the loss is `(D - 2j)/b` with `j = 0` for every output up to the true answer, then 1, 2, ..., and `D` for every
/// output from `D` on. `delta` is the largest `P(j <= i) - e^epsilon Q(j <= i)`; both are geometric sums, and
///
/// `delta(epsilon) = max_i [1 - e^epsilon q^(D - i) + q (1 - q^i)] / (1 + q)`,
///
/// attained by the greatest `i` whose loss is above `epsilon`. Neither difference cancels: `e^epsilon < q^(2i - D)` there, so that both are
/// non-negative. Where `epsilon` is itself a loss, `1 - delta = q^i = exp((epsilon - epsilon_0)/2)`: the profile of real Laplace noise, and between those it
/// is linear in `e^epsilon`, so above that.
///
/// A vector loses no more than one coordinate that moves all of `D` alone: profiles of vectors have their corners at the same losses, where the
/// argument for [`crate::Laplace`] holds with `E min(q^-k, q^-j) = 1 + k (1 - q)/(1 + q) >= 1` for `k < D_1`, the smaller of two moves.
///
/// # Numerics
/// `b = D/epsilon` is rounded up until `D/b <= epsilon` is proved. Nothing is rounded to a lattice: the answers are integers, and so is the noise. A scalar
/// that is not an integer is rounded to the nearest, which keeps an integer sensitivity; a vector must consist of integers.
///
/// # Example
/// ```
/// use reticent_mechanisms::{DiscreteLaplace, Epsilon, Mechanism};
/// use reticent_noise::randomness::SecureRandom;
/// let mechanism = DiscreteLaplace::calibrate(1, Epsilon::new(0.5)?)?.clamped(0, 1000)?;
/// let released = mechanism.releaser()?.release(42.0, &mut SecureRandom::new()?)?;
/// assert!(released.fract() == 0.0 && (0.0..=1000.0).contains(&released));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # References
/// Ghosh, Roughgarden, Sundararajan, *Universally utility-maximizing privacy mechanisms*, 2009.
#[derive(Clone, Debug, PartialEq)]
pub struct DiscreteLaplace {
    /// `D`, at most `2^53`.
    l1_sensitivity: u64,
    noise: reticent_noise::DiscreteLaplace,
    clamp: Option<(i64, i64)>,
    epsilon: f64,
}

/// Integers up to here are `f64`.
const LARGEST_INTEGER: u64 = 1 << 53;

impl DiscreteLaplace {
    /// The least noise that keeps `epsilon` for integers of l1 sensitivity `l1_sensitivity`.
    ///
    /// # Errors
    /// If epsilon is zero, the sensitivity is zero or above `2^53`, or the scale is not from 1e-3 to `2^60`.
    pub fn calibrate(l1_sensitivity: u64, epsilon: Epsilon) -> Result<Self, MechanismError> {
        let distance = whole_distance(l1_sensitivity)?;
        let epsilon = Epsilon::positive(epsilon.get())?.get();
        let mut scale = div_up(distance, epsilon);
        while div_up(distance, scale) > epsilon {
            scale = scale.next_up();
        }
        let noise = reticent_noise::DiscreteLaplace::new(scale)?;
        Ok(DiscreteLaplace { l1_sensitivity, noise, clamp: None, epsilon })
    }

    /// Noise of a given scale.
    ///
    /// # Errors
    /// If the sensitivity is zero or above `2^53`, the scale is not from 1e-3 to `2^60`, or the loss is above 700.
    pub fn with_scale(l1_sensitivity: u64, scale: f64) -> Result<Self, MechanismError> {
        let distance = whole_distance(l1_sensitivity)?;
        let noise = reticent_noise::DiscreteLaplace::new(scale)?;
        let epsilon = Epsilon::positive(div_up(distance, scale))?.get();
        Ok(DiscreteLaplace { l1_sensitivity, noise, clamp: None, epsilon })
    }

    /// The same, with released integers clamped to public bounds.
    ///
    /// The profile stays what it is: with both true answers within the bounds, all outputs beyond a bound have the loss of the bound itself.
    ///
    /// # Errors
    /// If the bounds are less than a sensitivity apart (an answer that lies between them moves less than was said), or beyond `2^53`.
    pub fn clamped(self, lower: i64, upper: i64) -> Result<Self, MechanismError> {
        let exact = |bound: i64| bound.unsigned_abs() <= LARGEST_INTEGER;
        if !(exact(lower) && exact(upper) && upper >= lower && upper.abs_diff(lower) >= self.l1_sensitivity) {
            return Err(MechanismError::Refused(format!(
                "the bounds {lower} and {upper} must be integers from -2^53 to 2^53, the second at least the sensitivity {} above the first",
                self.l1_sensitivity
            )));
        }
        Ok(DiscreteLaplace { clamp: Some((lower, upper)), ..self })
    }

    /// `D` as an `f64`, exactly.
    fn distance(&self) -> f64 {
        self.l1_sensitivity as f64
    }

    /// `q^n` and `1 - q^n`.
    fn power(&self, n: i128) -> (Wide, Wide) {
        let exponent = -(Wide::ONE.integer(n) / Wide::from(self.noise.scale()));
        (exponent.exp(), -exponent.exp_m1())
    }

    /// `[1 - e^epsilon q^(D - i) + q (1 - q^i)] / (1 + q)`.
    fn advantage(&self, i: i128, epsilon: f64) -> Bounds {
        let rest = Wide::ONE.integer(i128::from(self.l1_sensitivity) - i) / Wide::from(self.noise.scale());
        let left = -(Wide::from(epsilon) - rest).exp_m1();
        let (q, _) = self.power(1);
        ((left + q * self.power(i).1) / (Wide::ONE + q)).bounds()
    }
}

fn whole_distance(l1_sensitivity: u64) -> Result<f64, MechanismError> {
    if (1..=LARGEST_INTEGER).contains(&l1_sensitivity) {
        Ok(l1_sensitivity as f64)
    } else {
        let accepted = "an integer from 1 to 2^53";
        Err(MechanismError::Parameter { name: "sensitivity", value: l1_sensitivity as f64, accepted })
    }
}

impl Mechanism for DiscreteLaplace {
    fn name(&self) -> &'static str {
        "discrete-laplace"
    }

    fn method(&self) -> &'static str {
        "exact"
    }

    fn scale(&self) -> f64 {
        self.noise.scale()
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee { notion: Notion::Pure, epsilon: self.epsilon, delta: 0.0 }
    }

    fn certificate(&self) -> Certificate {
        let (distance, scale) = (self.distance(), self.scale());
        Certificate::Epsilon(Bounds::new(div_down(distance, scale), div_up(distance, scale)))
    }

    fn delta(&self, epsilon: f64) -> Result<Bounds, MechanismError> {
        let epsilon = Epsilon::new(epsilon)?.get();
        if mul_down(epsilon, self.scale()) >= self.distance() {
            return Ok(Bounds::ZERO);
        }
        // The greatest i with (D - 2i)/b > epsilon is ceil(t) - 1 for this t, and t is above 0.
        let turn = Wide::from(self.distance()) - Wide::from(epsilon) * Wide::from(self.scale());
        let turn = turn.times_power_of_two(-1).bounds();
        let (first, last) = (turn.lower().ceil() as i128 - 1, turn.upper().ceil() as i128 - 1);
        // At most two candidates, unless t is beyond 2^52.
        let largest = (first.max(0)..=last.max(0))
            .map(|i| self.advantage(i, epsilon))
            .fold(Bounds::ZERO, |a, b| Bounds::new(a.lower().max(b.lower()), a.upper().max(b.upper())));
        Ok(largest.clamp(0.0, 1.0))
    }

    fn event(&self) -> Event {
        Event::DiscreteLaplace { scale: self.scale(), sensitivity: self.l1_sensitivity }
    }

    /// `E|N| = 2q/(1 - q^2)`, `E N^2 = 2q/(1 - q)^2`, Shannon entropy `ln((1 + q)/(1 - q)) + E|N|/b`, and the least `t` with
    /// `P[|N| > t] = 2 q^(t+1)/(1 + q) <= 1/20`. After clamping the error depends on the answer, and there is no figure.
    fn errors(&self) -> Option<Errors> {
        if self.clamp.is_some() {
            return None;
        }
        let ((q, one_less_q), (_, one_less_square)) = (self.power(1), self.power(2));
        let twice_q = q.times_power_of_two(1);
        let mean_absolute = twice_q / one_less_square;
        let surprise = ((Wide::ONE + q) / one_less_q).ln();
        // (t + 1)/b >= ln(40 / (1 + q))
        let threshold = (Wide::from(40.0) / (Wide::ONE + q)).ln() * Wide::from(self.scale()) - Wide::ONE;
        let threshold = threshold.bounds();
        Some(Errors {
            mean_absolute: mean_absolute.bounds(),
            root_mean_square: (twice_q.sqrt() / one_less_q).bounds(),
            entropy: (surprise + mean_absolute / Wide::from(self.scale())).bounds(),
            quantile_95: Bounds::new(threshold.lower().ceil().max(0.0), threshold.upper().ceil().max(0.0)),
        })
    }

    fn usefulness(&self, t: f64) -> Option<Bounds> {
        if self.clamp.is_some() || t.is_nan() {
            return None;
        }
        if t < 0.0 {
            return Some(Bounds::ZERO);
        }
        // 1 - 2 q^(n+1)/(1 + q) with n = floor(t) is [1 - q + 2q (1 - q^n)]/(1 + q). Beyond 2^100 the second power has long vanished, and is bounded by it.
        let n = t.floor().min(2f64.powi(100)) as i128;
        let (q, one_less_q) = self.power(1);
        let within = (one_less_q + q.times_power_of_two(1) * self.power(n).1) / (Wide::ONE + q);
        let within = within.bounds().clamp(0.0, 1.0);
        Some(if t.is_infinite() { Bounds::ONE } else { within })
    }

    fn releaser(&self) -> Result<Box<dyn Releaser>, MechanismError> {
        let release = AdditiveRelease::new(self.noise.sampler()?);
        let release = match self.clamp {
            Some((lower, upper)) => release.clamped(lower as f64, upper as f64),
            None => release,
        };
        Ok(Box::new(IntegerRelease(release)))
    }
}

/// Releases integers.
#[derive(Debug)]
struct IntegerRelease(AdditiveRelease<Spread<reticent_noise::DiscreteLaplace>>);

impl Releaser for IntegerRelease {
    fn release(&self, value: f64, random: &mut dyn RandomBits) -> Result<f64, RandomnessError> {
        self.0.release(value, random)
    }

    fn accepts(&self, value: f64) -> bool {
        value.fract() == 0.0
    }

    fn spacing(&self) -> f64 {
        self.0.spacing()
    }
}
