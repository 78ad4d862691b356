//! The discrete Gaussian mechanism: integer answers, calibrated exactly.

mod tails;

use crate::gaussian::analytic::analytic;
use crate::guarantee::{Certificate, Guarantee, Notion};
use crate::mechanism::{Errors, Mechanism, Releaser};
use crate::parameters::Epsilon;
use crate::{Budget, MechanismError, MechanismKind, Sensitivity};
use reticent_events::Event;
use reticent_noise::randomness::{RandomBits, RandomnessError};
use reticent_noise::{DiscreteGaussian, IntegerNoise, Jittered, Lattice, Sampler};
use reticent_numerics::root::{Range, least_at_most};
use reticent_numerics::{Big, Bounds, Enclosure, OutOfRange, Wide};
use tails::{first_moment, relative_tail, weight};

/// Adds discrete Gaussian noise of parameter `sigma` to an integer that one privacy unit moves by
/// at most `D`.
///
/// # Distribution
/// `P[N = n] = f(n)/Z`, `f(n) = exp(-n^2/(2 sigma^2))`, for every integer `n`.
///
/// # Guarantee
/// The loss `(2 n D + D^2)/(2 sigma^2)` increases with `n` and exceeds `epsilon` from
/// `n_0 = floor(epsilon sigma^2/D
/// - D/2) + 1` on, so
///
/// ```text
/// delta(epsilon) = P[N >= n_0] - e^epsilon P[N >= n_0 + D]
/// ```
///
/// exactly. A smaller shift moves the second tail up and so loses less. Charged as
/// [`Event::DiscreteGaussian`].
///
/// # Numerics
/// With `R(n) = P[N >= n]/P[N = n]` and `e^epsilon f(n_0 + D) = f(n_0) exp(epsilon - loss(n_0))`,
/// the profile is `f(n_0) [R(n_0) - exp(epsilon - loss(n_0)) R(n_0 + D)]/Z`, and nothing overflows;
/// it is evaluated with 100 bits, or 256 where these cancel.
///
/// # Calibration
/// Unlike the continuous profile this one is not monotone in `sigma` where `epsilon/D` is of the
/// order of 1 or more: it has valleys where the loss of some integer is exactly `epsilon`. At
/// `sigma = 1/sqrt(2 epsilon)` and `D = 1`, for example, the answer 0 loses just `epsilon`, and
/// what is left is `delta = P[N = 1] + ...`, about `e^-epsilon`, where the continuous Gaussian has
/// a `delta` of nearly 1/2; a little more noise is then less private. The least `sigma` is looked
/// for in every valley, from below, and then found to a relative `1e-14`.
///
/// What is proved: the budget is kept at the `sigma` that is returned, and `delta` is above it, or
/// not proved to be within it, at the number tried next below and at every bottom of a valley
/// below. What is not: that no `sigma` between these keeps the budget. That rests on the shape of
/// the profile between two bottoms (it rises, or falls, or first rises and then falls) and, below
/// an `epsilon/D` of 1/2, on its falling throughout, for which `VALLEYS_FROM` in the source has an
/// argument and not a proof; a test looks for a counterexample on fine grids. An error in it would
/// cost noise, never privacy.
///
/// # References
/// Canonne, Kamath, Steinke, *The discrete Gaussian for differential privacy*, 2020, Theorem 7.
///
/// # Example
/// ```
/// use reticent_mechanisms::{
///     Delta, DiscreteGaussianMechanism, Epsilon, Mechanism, Sensitivity,
/// };
/// let mechanism = DiscreteGaussianMechanism::calibrate(
///     &Sensitivity::whole(1),
///     (Epsilon::new(1.0)?, Delta::new(1e-6)?),
/// )?;
/// assert!((mechanism.scale() - 4.22).abs() < 0.1);
/// assert!(mechanism.delta(1.0)?.upper() <= 1e-6);
/// # Ok::<(), reticent_mechanisms::MechanismError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiscreteGaussianMechanism {
    method: &'static str,
    /// Checked, and read by the noise, the certificate and the event.
    noise: DiscreteGaussian,
    /// `D`.
    sensitivity: u64,
    guarantee: Guarantee,
    certified: Bounds,
}

/// The largest sensitivity: the integers that every `f64` tells apart.
const LARGEST_SENSITIVITY: u64 = 1 << 53;

impl DiscreteGaussianMechanism {
    /// The least noise that keeps a budget.
    ///
    /// # Errors
    /// If the sensitivity is not from 1 to 2^53, or no `sigma` from 1e-3 to 2^60 is proved to keep
    /// the budget.
    pub fn calibrate(
        sensitivity: &Sensitivity,
        budget: impl Into<Budget>,
    ) -> Result<Self, MechanismError> {
        sensitivity.of_one_number("discrete Gaussian noise")?;
        let sensitivity = sensitivity.whole_l1()?;
        check_sensitivity(sensitivity)?;
        let (epsilon, delta) = budget.into().approximate(MechanismKind::DiscreteGaussian)?;
        let sigma = least_sigma(epsilon, delta, sensitivity)?;
        let guarantee = Guarantee { notion: Notion::Approximate, epsilon, delta };
        let (noise, certified) =
            (DiscreteGaussian::new(sigma)?, profile(sigma, sensitivity, epsilon));
        Ok(DiscreteGaussianMechanism { method: "exact", noise, sensitivity, guarantee, certified })
    }

    /// Noise of a given parameter, guaranteeing the least `delta` that is proved at `epsilon`.
    ///
    /// # Errors
    /// If the sensitivity is not from 1 to 2^53 or `sigma` not from 1e-3 to 2^60.
    pub fn with_sigma(
        sigma: f64,
        sensitivity: u64,
        epsilon: Epsilon,
    ) -> Result<Self, MechanismError> {
        check_sensitivity(sensitivity)?;
        let noise = DiscreteGaussian::new(sigma)?;
        let certified = profile(sigma, sensitivity, epsilon.get());
        let guarantee = Guarantee {
            notion: Notion::Approximate,
            epsilon: epsilon.get(),
            delta: certified.upper(),
        };
        Ok(DiscreteGaussianMechanism { method: "given", noise, sensitivity, guarantee, certified })
    }

    /// `D`.
    pub fn sensitivity(&self) -> u64 {
        self.sensitivity
    }

    /// `P[|N| > n]` for `n >= 0`.
    fn beyond(&self, n: i128) -> Bounds {
        let sigma = self.noise.sigma();
        let like = Wide::ONE;
        let tail =
            weight(sigma, n + 1, &like) * relative_tail(sigma, n + 1, &like) / mass(sigma, &like);
        tail.times_power_of_two(1).bounds().clamp(0.0, 1.0)
    }

    /// The least integer `t` with `P[|N| <= t] >= 0.95`, or the two between which the bounds leave
    /// it open.
    fn quantile_95(&self) -> Bounds {
        let limit = Bounds::ONE / Bounds::exact(20.0);
        // The tail of the discrete Gaussian is no heavier than 2 exp(-n^2/(2 sigma^2)), which is
        // below 0.05 here.
        let top = (3.0 * self.noise.sigma()) as i128 + 2;
        let first_where = |holds: &dyn Fn(Bounds) -> bool| {
            let (mut low, mut high) = (0, top);
            while low < high {
                let middle = low + (high - low) / 2;
                if holds(self.beyond(middle)) { high = middle } else { low = middle + 1 }
            }
            Bounds::ONE.integer(low)
        };
        let possible = first_where(&|beyond| beyond.lower() <= limit.upper());
        let sure = first_where(&|beyond| beyond.upper() <= limit.lower());
        possible.hull(sure)
    }
}

fn check_sensitivity(sensitivity: u64) -> Result<(), MechanismError> {
    if (1..=LARGEST_SENSITIVITY).contains(&sensitivity) {
        Ok(())
    } else {
        let accepted = "an integer from 1 to 2^53";
        Err(OutOfRange::new("sensitivity", sensitivity as f64, accepted).into())
    }
}

/// Below this `epsilon/D` there are no valleys to look into.
///
/// Around `n_0` the weights fall by the factor `exp(-epsilon/D)` from one integer to the next, so
/// with `x = epsilon/D` the profile is a sum over the integers of a multiple of `u exp(-x u)`,
/// `u > 0`. By Poisson's formula it moves by a relative `2 (x/2 pi)^2` as the integers pass, a
/// slope of up to `x^2/pi` for each, against a fall of `x/2`: the fall wins for `x < 1.5`.
const VALLEYS_FROM: f64 = 0.5;

/// The least `sigma` whose certified `delta(epsilon)` is within the budget.
///
/// Between two values of `sigma` at which `n_0` changes, `sigma_n = sqrt(D (n + D/2)/epsilon)`, the
/// profile rises or falls or first rises and then falls, so that it is least at an end; the first
/// end that is within the budget closes the interval with the first crossing. (The proof of the
/// result does not rest on this, its being the least does.)
fn least_sigma(epsilon: f64, delta: f64, sensitivity: u64) -> Result<f64, MechanismError> {
    let certified = |sigma: f64| profile(sigma, sensitivity, epsilon);
    let distance = sensitivity as f64;
    let failed = |error| MechanismError::not_certified("the discrete Gaussian mechanism", &error);
    let largest = 2f64.powi(60);
    let mut low = 1e-3;
    // At most about 38^2 D/epsilon ends, as more than 38 standard deviations are beyond every
    // delta. n + D/2 = 1/2, 3/2, ... or 1, 2, ...
    let first = if sensitivity % 2 == 1 { 0.5 } else { 1.0 };
    for step in 0.. {
        let end = (distance * (first + f64::from(step)) / epsilon).sqrt();
        if epsilon < VALLEYS_FROM * distance || end > largest {
            break;
        }
        if end > low {
            if certified(end).upper() <= delta {
                return least_at_most(certified, delta, Range::between(low, end).to_within(1e-14))
                    .map_err(failed);
            }
            low = end;
        }
    }
    let guess = (analytic(epsilon, delta)? * distance).max(low);
    let range = Range::between(low, largest).bracket_from(guess).to_within(1e-14);
    least_at_most(certified, delta, range).map_err(failed)
}

/// `Z/f(0) = 2 R(0) - 1`.
fn mass<E: Enclosure>(sigma: f64, like: &E) -> E {
    relative_tail(sigma, 0, like).times_power_of_two(1) - like.exactly(1.0)
}

/// Bounds on `delta(epsilon)`; more bits where 100 leave them wide.
fn profile(sigma: f64, sensitivity: u64, epsilon: f64) -> Bounds {
    let fast = profile_at(sigma, sensitivity, epsilon, &Wide::ONE);
    if fast.upper() < 1e-300 || fast.relative_width() < 1e-13 {
        return fast;
    }
    profile_at(sigma, sensitivity, epsilon, &Big::exact(1.0, 256)).intersect(fast)
}

fn profile_at<E: Enclosure>(sigma: f64, sensitivity: u64, epsilon: f64, like: &E) -> Bounds {
    let shift = i128::from(sensitivity);
    let scale = like.exactly(sigma);
    let distance = like.integer(shift);
    let square = scale.clone() * scale;
    let threshold = like.exactly(epsilon) * square.clone() / distance.clone()
        - distance.clone().times_power_of_two(-1);
    let near = threshold.bounds();
    if near.lower() > 1e3 * sigma && near.lower() > 1.0 {
        // delta <= P[N >= n_0] <= exp(-n_0^2/(2 sigma^2)) (sigma + 1) < exp(-4e5).
        return Bounds::new(0.0, f64::from_bits(1));
    }
    let guess = near.lower().floor() as i128;
    let rest = (threshold - like.integer(guess)).bounds();
    // Also where nothing is known of the threshold.
    if rest.width() >= 8.0 {
        return Bounds::new(0.0, 1.0);
    }
    // n_0 > -D/2.
    let least = -((shift - 1) / 2);
    let first = (guess + rest.lower().floor() as i128 + 1).max(least);
    let last = (guess + rest.upper().floor() as i128 + 1).max(least);
    let total = mass(sigma, like);
    // Every n_0 bounds delta from below, and the right one is among them.
    let at = |n: i128| {
        let loss = (like.integer(2 * n + shift) * distance.clone() / square.clone())
            .times_power_of_two(-1);
        let second = weight(sigma, n, like)
            * (like.exactly(epsilon) - loss).exp()
            * relative_tail(sigma, n + shift, like);
        let delta = if n > 0 {
            (weight(sigma, n, like) * relative_tail(sigma, n, like) - second) / total.clone()
        } else {
            let first = weight(sigma, 1 - n, like) * relative_tail(sigma, 1 - n, like);
            like.exactly(1.0) - (first + second) / total.clone()
        };
        delta.bounds()
    };
    let (lower, upper) = (first..=last).map(at).fold((0.0f64, 0.0f64), |(lower, upper), delta| {
        (lower.max(delta.lower()), upper.max(delta.upper()))
    });
    Bounds::new(lower, upper.min(1.0))
}

/// `(E|N|, E[N^2])` and `ln Z`.
///
/// From `sigma = 4` on by Euler-Maclaurin and by Poisson's formula
/// `sum_n exp(-s n^2) = sqrt(pi/s) sum_k exp(-pi^2 k^2/s)`, whose derivative in `s = 1/(2 sigma^2)`
/// gives `E[N^2] = sigma^2 - 4 pi^2 sigma^4 S_2/S_0` with
/// `S_m = sum_k k^m exp(-2 pi^2 sigma^2 k^2)`; below, by plain sums of a few dozen terms.
fn moments(sigma: f64) -> (Wide, Wide, Wide) {
    let like = Wide::ONE;
    let total = mass(sigma, &like);
    let two = |x: Wide| x.times_power_of_two(1);
    let scale = Wide::exact(sigma);
    if sigma >= 4.0 {
        let pi = like.pi();
        let first = (-two(pi * pi * scale * scale)).exp();
        // Terms from k = 2 on: exp(-4 x) 4 (1 + ...) < first, as x > 300.
        let wave = two(first).hull(two(first) + first);
        let square = scale * scale
            - (pi * scale * scale).powi(2).times_power_of_two(2) * wave / (like + wave);
        return (two(first_moment(sigma, &like)) / total, square, total.ln());
    }
    let (mut absolute, mut square) = (Wide::ZERO, Wide::ZERO);
    let last = (64.0 * sigma) as i32 + 4;
    for n in 1..=last {
        let term = weight(sigma, i128::from(n), &like) * Wide::exact(f64::from(n));
        absolute = absolute + term;
        square = square + term * Wide::exact(f64::from(n));
    }
    // Beyond, n^2 f(n) <= exp(2 n - n^2/(2 sigma^2)) <= exp(-g n) with g = last/(2 sigma^2) - 2 >=
    // 6, and these terms add up to less than exp(-g last).
    let slope = 0.5 * f64::from(last) / (sigma * sigma) - 2.0;
    let left = Wide::ZERO.hull(Wide::exact(-0.99 * slope * f64::from(last)).exp());
    (two(absolute + left) / total, two(square + left) / total, total.ln())
}

impl Mechanism for DiscreteGaussianMechanism {
    fn kind(&self) -> MechanismKind {
        MechanismKind::DiscreteGaussian
    }

    fn method(&self) -> &'static str {
        self.method
    }

    fn scale(&self) -> f64 {
        self.noise.sigma()
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("sensitivity", self.sensitivity as f64)]
    }

    fn guarantee(&self) -> Guarantee {
        self.guarantee
    }

    fn certificate(&self) -> Certificate {
        Certificate::Delta(self.certified)
    }

    fn delta(&self, epsilon: f64) -> Result<Bounds, MechanismError> {
        if epsilon >= 0.0 && epsilon.is_finite() {
            Ok(profile(self.noise.sigma(), self.sensitivity, epsilon))
        } else {
            Err(OutOfRange::new("epsilon", epsilon, "a finite number, at least 0").into())
        }
    }

    fn event(&self) -> Event {
        Event::DiscreteGaussian { sigma: self.noise.sigma(), sensitivity: self.sensitivity }
    }

    fn errors(&self) -> Option<Errors> {
        let sigma = Wide::exact(self.noise.sigma());
        let (absolute, square, ln_mass) = moments(self.noise.sigma());
        Some(Errors {
            mean_absolute: absolute.bounds(),
            root_mean_square: square.sqrt().bounds(),
            // -sum p ln p = ln Z + E[N^2]/(2 sigma^2).
            entropy: (ln_mass + (square / (sigma * sigma)).times_power_of_two(-1)).bounds(),
            quantile_95: self.quantile_95(),
        })
    }

    fn usefulness(&self, t: f64) -> Option<Bounds> {
        if t.is_nan() || t < 0.0 {
            return Some(Bounds::ZERO);
        }
        // Far beyond any probability that an f64 can tell from 1.
        let n = t.min(100.0 * self.noise.sigma() + 100.0).floor() as i128;
        Some((Bounds::ONE - self.beyond(n)).clamp(0.0, 1.0))
    }

    fn releaser(&self) -> Result<Box<dyn Releaser>, MechanismError> {
        Ok(Box::new(IntegerReleaser { sampler: self.noise.sampler()? }))
    }
}

/// Rounds to the nearest integer, halves up, and adds the noise. Two values that differ by at most
/// the integer `D` round to integers that do.
#[derive(Clone, Debug)]
struct IntegerReleaser {
    sampler: Sampler<Jittered<DiscreteGaussian>>,
}

impl Releaser for IntegerReleaser {
    fn release(&self, value: f64, random: &mut dyn RandomBits) -> Result<f64, RandomnessError> {
        let lattice = Lattice::INTEGERS;
        // A NaN is released as if it were zero: an error would tell that it was there.
        let steps = lattice.nearest(value).unwrap_or(0);
        Ok(lattice.value(lattice.add(steps, self.sampler.draw(random)?)))
    }

    fn spacing(&self) -> f64 {
        1.0
    }
}
