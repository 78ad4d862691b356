//! The discrete Laplace (geometric) mechanism: pure differential privacy for integers, exactly.

use crate::additive::AdditiveRelease;
use crate::{
    Budget, Certificate, Epsilon, Errors, Guarantee, Mechanism, MechanismError, MechanismKind,
    Notion, Releaser, Sensitivity,
};
use reticent_events::Event;
use reticent_noise::randomness::{RandomBits, RandomnessError};
use reticent_noise::{IntegerNoise, Jittered};
use reticent_numerics::rounding::{div_down, div_up, mul_down};
use reticent_numerics::{Bounds, Enclosure, OutOfRange, Wide};

/// Adds discrete Laplace noise of scale `b` to each of one or more integers.
///
/// # Distribution
/// `P[N = n] = (1 - q)/(1 + q) q^|n|` with `q = exp(-1/b)`, for every integer `n`.
///
/// # Guarantee
/// Pure epsilon-differential privacy with `epsilon_0 = D/b` for integers of l1 sensitivity `D`, and
/// this is tight. Clamping the result to public bounds ([`DiscreteLaplace::clamped`]) is
/// post-processing and keeps it.
///
/// # Profile
/// For one integer that moves by `D`, the loss is `(D - 2j)/b` with `j = 0` for every output up to
/// the true answer, then 1, 2, ..., and `D` for every output from `D` on. `delta` is the largest
/// `P(j <= i) - e^epsilon Q(j <= i)`; both are geometric sums, and
///
/// `delta(epsilon) = max_i [1 - e^epsilon q^(D - i) + q (1 - q^i)] / (1 + q)`,
///
/// attained by the greatest `i` whose loss is above `epsilon`. Neither difference cancels:
/// `e^epsilon < q^(2i - D)` there, so that both are non-negative. Where `epsilon` is itself a loss,
/// `1 - delta = q^i = exp((epsilon - epsilon_0)/2)`: the profile of real Laplace noise, and between
/// those it is linear in `e^epsilon`, so above that.
///
/// A vector loses no more than one coordinate that moves all of `D` alone: profiles of vectors have
/// their corners at the same losses, where the argument for [`crate::Laplace`] holds with
/// `E min(q^-k, q^-j) = 1 + k (1 - q)/(1 + q) >= 1` for `k < D_1`, the smaller of two moves.
///
/// # Numerics
/// `b = D/epsilon` is rounded up until `D/b <= epsilon` is proved. Nothing is rounded to a lattice:
/// the answers are integers, and so is the noise. Other answers are not accepted.
///
/// # Example
/// ```
/// use reticent_mechanisms::{DiscreteLaplace, Epsilon, Mechanism, Sensitivity};
/// use reticent_noise::randomness::SecureRandom;
/// let mechanism =
///     DiscreteLaplace::calibrate(&Sensitivity::whole(1), Epsilon::new(0.5)?)?.clamped(0, 1000)?;
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
    /// The least noise that keeps a budget, for integers.
    ///
    /// # Errors
    /// If epsilon is zero or there is a delta, the l1 sensitivity is not an integer up to `2^53`,
    /// or the scale is not from 1e-3 to `2^60`.
    pub fn calibrate(
        sensitivity: &Sensitivity,
        budget: impl Into<Budget>,
    ) -> Result<Self, MechanismError> {
        let l1_sensitivity = sensitivity.whole_l1()?;
        let distance = whole_distance(l1_sensitivity)?;
        let epsilon = budget.into().pure(MechanismKind::DiscreteLaplace)?;
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
    /// If the sensitivity is zero or above `2^53`, the scale is not from 1e-3 to `2^60`, or the
    /// loss is above 700.
    pub fn with_scale(l1_sensitivity: u64, scale: f64) -> Result<Self, MechanismError> {
        let distance = whole_distance(l1_sensitivity)?;
        let noise = reticent_noise::DiscreteLaplace::new(scale)?;
        let epsilon = Epsilon::positive(div_up(distance, scale))?.get();
        Ok(DiscreteLaplace { l1_sensitivity, noise, clamp: None, epsilon })
    }

    /// The same, with released integers clamped to public bounds.
    ///
    /// The profile stays what it is: with both true answers within the bounds, all outputs beyond a
    /// bound have the loss of the bound itself.
    ///
    /// # Errors
    /// If the bounds are less than a sensitivity apart (an answer that lies between them moves less
    /// than was said), or beyond `2^53`.
    pub fn clamped(self, lower: i64, upper: i64) -> Result<Self, MechanismError> {
        let exact = |bound: i64| bound.unsigned_abs() <= LARGEST_INTEGER;
        if !(exact(lower)
            && exact(upper)
            && upper >= lower
            && upper.abs_diff(lower) >= self.l1_sensitivity)
        {
            return Err(MechanismError::Refused(format!(
                "the bounds {lower} and {upper} must be integers from -2^53 to 2^53, the second at \
                 least the sensitivity {} above the first",
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
        let rest =
            Wide::ONE.integer(i128::from(self.l1_sensitivity) - i) / Wide::from(self.noise.scale());
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
        Err(OutOfRange::new("sensitivity", l1_sensitivity as f64, accepted).into())
    }
}

impl Mechanism for DiscreteLaplace {
    fn kind(&self) -> MechanismKind {
        MechanismKind::DiscreteLaplace
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
            .fold(Bounds::ZERO, |a, b| {
                Bounds::new(a.lower().max(b.lower()), a.upper().max(b.upper()))
            });
        Ok(largest.clamp(0.0, 1.0))
    }

    fn event(&self) -> Event {
        Event::DiscreteLaplace { scale: self.scale(), sensitivity: self.l1_sensitivity }
    }

    /// `E|N| = 2q/(1 - q^2)`, `E N^2 = 2q/(1 - q)^2`, Shannon entropy
    /// `ln((1 + q)/(1 - q)) + E|N|/b`, and the least `t` with
    /// `P[|N| > t] = 2 q^(t+1)/(1 + q) <= 1/20`. After clamping the error depends on the answer,
    /// and there is no figure.
    fn errors(&self) -> Option<Errors> {
        if self.clamp.is_some() {
            return None;
        }
        let ((q, one_less_q), (_, one_less_square)) = (self.power(1), self.power(2));
        let twice_q = q.times_power_of_two(1);
        let mean_absolute = twice_q / one_less_square;
        // (1 + q)/(1 - q) is 1 + 2q/(1 - q).
        let surprise = (twice_q / one_less_q).ln_1p();
        // (t + 1)/b >= ln(40 / (1 + q))
        let threshold =
            (Wide::from(40.0) / (Wide::ONE + q)).ln() * Wide::from(self.scale()) - Wide::ONE;
        let threshold = threshold.bounds();
        Some(Errors {
            mean_absolute: mean_absolute.bounds(),
            root_mean_square: (twice_q.sqrt() / one_less_q).bounds(),
            entropy: (surprise + mean_absolute / Wide::from(self.scale())).bounds(),
            quantile_95: Bounds::new(
                threshold.lower().ceil().max(0.0),
                threshold.upper().ceil().max(0.0),
            ),
        })
    }

    fn usefulness(&self, t: f64) -> Option<Bounds> {
        if self.clamp.is_some() || t.is_nan() {
            return None;
        }
        if t < 0.0 {
            return Some(Bounds::ZERO);
        }
        // 1 - 2 q^(n+1)/(1 + q) with n = floor(t) is [1 - q + 2q (1 - q^n)]/(1 + q). Beyond 2^100
        // the second power has long vanished, and is bounded by it.
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
struct IntegerRelease(AdditiveRelease<Jittered<reticent_noise::DiscreteLaplace>>);

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

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_noise::randomness::SeededRandom;

    fn calibrated(distance: u64, epsilon: f64) -> DiscreteLaplace {
        DiscreteLaplace::calibrate(
            &Sensitivity::whole(distance),
            Epsilon::new(epsilon).expect("valid"),
        )
        .expect("valid")
    }

    #[test]
    fn the_profile_agrees_with_the_reference_values() {
        let reference: serde_json::Value =
            serde_json::from_str(include_str!("../../../reference/profiles.json")).expect("JSON");
        let rows = reference["discrete_laplace"].as_array().expect("rows");
        assert!(rows.len() >= 20);
        for row in rows {
            let number = |key: &str| {
                row[key].as_str().and_then(|text| text.parse::<f64>().ok()).expect("a number")
            };
            let (scale, epsilon, truth) = (number("scale"), number("eps"), number("delta"));
            let mechanism =
                DiscreteLaplace::with_scale(row["Delta"].as_u64().expect("an integer"), scale);
            let delta = mechanism.and_then(|mechanism| mechanism.delta(epsilon)).expect("valid");
            let slack = 1e-13 * (1.0 + truth.ln().abs().min(700.0));
            assert!(
                delta.lower() <= truth * (1.0 + slack) && truth * (1.0 - slack) <= delta.upper(),
                "{row} {delta:?}"
            );
            assert!(delta.relative_width() <= 1e-15, "{row} {delta:?}");
        }
    }

    /// `sum of max(0, P[n] - e^epsilon P[n - D])`, straight from the probabilities, over an even
    /// box of one or two coordinates.
    fn hockey_stick(scale: f64, moves: [i32; 2], epsilon: f64) -> f64 {
        let q = (-1.0 / scale).exp();
        let reach = (40.0 * scale) as i32 + 5;
        let side = |far: bool| if far { -reach..=reach } else { 0..=0 };
        let single = |n: i32, coordinate: usize| {
            if coordinate == 1 && moves[1] == 0 {
                1.0
            } else {
                (1.0 - q) / (1.0 + q) * q.powi(n.abs())
            }
        };
        let mut sum = 0.0;
        for n in side(true) {
            for m in side(moves[1] != 0) {
                let here = single(n, 0) * single(m, 1);
                let there = single(n - moves[0], 0) * single(m - moves[1], 1);
                sum += (here - epsilon.exp() * there).max(0.0);
            }
        }
        sum
    }

    #[test]
    fn the_profile_agrees_with_the_sum_over_all_outputs_and_covers_vectors() {
        for (scale, distance) in [(0.7, 1u64), (1.3, 4), (2.0, 3), (5.0, 2)] {
            let mechanism = DiscreteLaplace::with_scale(distance, scale).expect("valid");
            for share in [0.0, 0.1, 0.35, 0.5, 0.77, 0.99] {
                let epsilon = share * distance as f64 / scale;
                let delta = mechanism.delta(epsilon).expect("valid");
                let direct = hockey_stick(scale, [distance as i32, 0], epsilon);
                assert!(
                    (delta.estimate() - direct).abs() < 1e-12,
                    "{scale} {distance} {epsilon}: {delta:?} {direct}"
                );
                for first in 1..distance as i32 {
                    let vector = hockey_stick(scale, [first, distance as i32 - first], epsilon);
                    assert!(
                        vector <= delta.upper() + 1e-12,
                        "{scale} {first} of {distance}, {epsilon}: {vector}"
                    );
                }
                // Between the possible losses it lies above the profile of real noise.
                let real = -((epsilon - distance as f64 / scale) / 2.0).exp_m1();
                assert!(delta.upper() >= real * (1.0 - 1e-15));
            }
        }
    }

    #[test]
    fn where_epsilon_is_a_possible_loss_the_profile_is_that_of_real_noise() {
        let mechanism = DiscreteLaplace::with_scale(6, 2.0).expect("valid");
        for i in 0..=3 {
            let epsilon = f64::from(6 - 2 * i) / 2.0;
            let delta = mechanism.delta(epsilon).expect("valid");
            let real = -(-f64::from(i) / 2.0).exp_m1();
            assert!(
                (delta.estimate() - real).abs() <= 1e-15 && delta.width() <= 1e-15,
                "{i}: {delta:?} {real}"
            );
        }
    }

    #[test]
    fn huge_sensitivities_are_no_obstacle() {
        let mechanism = calibrated(LARGEST_INTEGER, 0.1);
        let delta = mechanism.delta(0.05).expect("valid");
        assert!(
            delta.relative_width() < 1e-12
                && (delta.estimate() + (-0.025f64).exp_m1()).abs() < 1e-12,
            "{delta:?}"
        );
    }

    #[test]
    fn errors_are_those_of_the_sums() {
        for scale in [0.05, 0.4, 1.0, 3.7, 30.0] {
            let mechanism = DiscreteLaplace::with_scale(1, scale).expect("valid");
            let q = (-1.0 / scale).exp();
            let probability = |n: i32| (1.0 - q) / (1.0 + q) * q.powi(n.abs());
            let expect =
                |f: &dyn Fn(i32) -> f64| (-3000..=3000).map(|n| probability(n) * f(n)).sum::<f64>();
            let errors = mechanism.errors().expect("additive");
            let entropy = expect(&|n| q.ln_1p() - (-q).ln_1p() + f64::from(n.abs()) / scale);
            let close = |bounds: Bounds, truth: f64| {
                (bounds.estimate() - truth).abs() < 1e-12 * truth && bounds.relative_width() < 1e-14
            };
            assert!(close(errors.mean_absolute, expect(&|n| f64::from(n.abs()))), "{scale}");
            assert!(
                close(errors.root_mean_square, expect(&|n| f64::from(n).powi(2)).sqrt()),
                "{scale}"
            );
            assert!(close(errors.entropy, entropy), "{scale} {:?} {entropy}", errors.entropy);
            let t = errors.quantile_95.upper();
            assert!(errors.quantile_95.is_exact() && t.fract() == 0.0);
            assert!(mechanism.usefulness(t).expect("additive").lower() >= 0.95);
            assert!(
                t == 0.0 || mechanism.usefulness(t - 1.0).expect("additive").upper() < 0.95,
                "{scale}"
            );
            let within = (-2..=2).map(probability).sum::<f64>();
            assert!(
                (mechanism.usefulness(2.9).expect("additive").estimate() - within).abs() < 1e-14
            );
        }
    }

    #[test]
    fn noise_that_is_all_but_zero_has_all_but_no_error() {
        let errors = calibrated(1, 700.0).errors().expect("additive");
        let q = (-700f64).exp();
        for (bounds, truth) in [
            (errors.mean_absolute, 2.0 * q),
            (errors.root_mean_square, (2.0 * q).sqrt()),
            (errors.entropy, 2.0 * q * 701.0),
        ] {
            assert!((bounds.estimate() / truth - 1.0).abs() < 1e-10, "{bounds:?} {truth:e}");
        }
        assert_eq!(errors.quantile_95, Bounds::ZERO);
    }

    #[test]
    fn clamping_keeps_the_guarantee_and_the_range() {
        let mechanism = calibrated(3, 0.3);
        let clamped = mechanism.clone().clamped(-5, 5).expect("valid");
        assert_eq!(clamped.certificate(), mechanism.certificate());
        assert_eq!(
            (clamped.delta(0.1), clamped.event()),
            (mechanism.delta(0.1), mechanism.event())
        );
        assert_eq!((clamped.errors(), clamped.usefulness(1.0)), (None, None));
        let releaser = clamped.releaser().expect("a sampler");
        let mut random = SeededRandom::new(5);
        let released: Vec<f64> =
            (0..2000).filter_map(|_| releaser.release(4.0, &mut random).ok()).collect();
        assert!(
            released.len() == 2000 && released.iter().all(|x| x.fract() == 0.0 && x.abs() <= 5.0)
        );
        assert!(released.contains(&-5.0) && released.contains(&5.0) && released.contains(&0.0));
        assert!(releaser.accepts(4.0) && !releaser.accepts(4.5) && !releaser.accepts(f64::NAN));
        for (lower, upper) in [(0, 2), (5, -5), (i64::MIN, 0), (0, i64::MAX)] {
            assert!(calibrated(3, 0.3).clamped(lower, upper).is_err(), "{lower} {upper}");
        }
    }

    #[test]
    fn what_cannot_be_guaranteed_is_refused() {
        let epsilon = |value: f64| Epsilon::new(value).expect("a loss");
        assert!(
            DiscreteLaplace::calibrate(&Sensitivity::whole(0), epsilon(1.0))
                .is_err_and(|error| error.to_string().contains("sensitivity"))
        );
        assert!(DiscreteLaplace::calibrate(&Sensitivity::whole(u64::MAX), epsilon(1.0)).is_err());
        assert!(
            DiscreteLaplace::calibrate(&Sensitivity::whole(1), epsilon(0.0))
                .is_err_and(|error| error.to_string().contains("epsilon"))
        );
        assert!(
            DiscreteLaplace::calibrate(&Sensitivity::whole(1), epsilon(1e-300))
                .is_err_and(|error| error.to_string().contains("scale"))
        );
        assert!(DiscreteLaplace::with_scale(1, f64::NAN).is_err());
        assert!(calibrated(1, 700.0).delta(f64::NAN).is_err());
    }
}
