//! The exponential mechanism: the best of finitely many candidates, chosen privately.

use crate::named::named;
use crate::{
    Budget, Certificate, Distance, Epsilon, Errors, Guarantee, Mechanism, MechanismError,
    MechanismKind, Notion, Releaser, Sensitivity,
};
use reticent_events::Event;
use reticent_noise::randomness::RandomBits;
use reticent_noise::{NoiseError, Weights, choose};
use reticent_numerics::{Bounds, Enclosure, OutOfRange};

named! {
    /// How one privacy unit changes the utilities of all candidates.
    pub enum UtilityChange {
        /// Each by at most the sensitivity, some up and some down.
        EitherWay => "either-way",
        /// Each by at most the sensitivity, and all in the same direction, as when utilities are
        /// counts and a unit is added or removed. The choice may then be twice as sharp.
        OneWay => "one-way",
    }
}

/// Chooses candidate `i` with a probability proportional to `exp(c u_i)`.
///
/// # Distribution
/// `c = epsilon / (2 Delta)`, or `epsilon / Delta` where utilities change one way only; `Delta` is
/// the most by which one privacy unit changes a utility. The weights are never computed as `f64`:
/// one uniform real is compared with certified bounds on their sums ([`reticent_noise::choose`]),
/// and the choice has exactly these probabilities.
///
/// # Guarantee
/// Pure `epsilon`-differential privacy, and more: between two neighbours the losses
/// `c (u_i - u_i') + constant` of all candidates lie in a range of length `epsilon` (Durfee and
/// Rogers, *Practical differentially private top-k selection with pay-what-you-get composition*,
/// 2019). Among all pairs of distributions with losses in `[t - epsilon, t]` the hockey-stick
/// divergence is largest for the pair that takes the two ends only, where it is
/// `(e^epsilon - e^t)(1 - e^(e-t)) / (e^epsilon - 1)`; the worst `t` is `(epsilon + e)/2`, and
///
/// `delta(e) = (e^(epsilon/2) - e^(e/2))^2 / (e^epsilon - 1)`.
///
/// Two candidates whose utilities part by `2 Delta` (or one way by `Delta`), at the right distance,
/// attain it: this is the exact profile.
///
/// # Side channels
/// All weights are evaluated and all sums compared whatever is chosen, and 64 random bits are drawn
/// but for a chance of about `n / 2^52`.
///
/// # References
/// McSherry, Talwar, *Mechanism design via differential privacy*, 2007.
///
/// # Example
/// ```
/// use reticent_mechanisms::{Distance, Epsilon, Exponential, MechanismError, UtilityChange};
/// use reticent_noise::randomness::SeededRandom;
///
/// // Which of three is the most frequent, with one vote a person.
/// let mechanism = Exponential::calibrate(
///     UtilityChange::OneWay,
///     &Distance::new(1.0)?.into(),
///     Epsilon::new(1.0)?,
/// )?;
/// assert_eq!(mechanism.choose(&[12.0, 70.0, 3.0], &mut SeededRandom::new(1))?, 1);
/// # Ok::<(), MechanismError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exponential {
    choice: ChoiceByUtility,
}

/// What the two mechanisms that choose by utility have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ChoiceByUtility {
    pub(crate) epsilon: Epsilon,
    pub(crate) sensitivity: Distance,
    pub(crate) change: UtilityChange,
}

impl ChoiceByUtility {
    pub(crate) fn new(
        kind: MechanismKind,
        change: UtilityChange,
        sensitivity: &Sensitivity,
        budget: Budget,
    ) -> Result<Self, MechanismError> {
        let sensitivity = Distance::new(sensitivity.of_one_number("a choice by utility")?)?;
        Ok(ChoiceByUtility { epsilon: Epsilon::new(budget.pure(kind)?)?, sensitivity, change })
    }

    pub(crate) fn method(&self) -> &'static str {
        self.change.name()
    }

    /// `1/c`, the difference of utilities that makes one candidate `e` times as likely as another.
    pub(crate) fn scale(&self) -> f64 {
        self.steps() * self.sensitivity.get() / self.epsilon.get()
    }

    fn steps(&self) -> f64 {
        match self.change {
            UtilityChange::EitherWay => 2.0,
            UtilityChange::OneWay => 1.0,
        }
    }

    pub(crate) fn guarantee(&self) -> Guarantee {
        Guarantee { notion: Notion::Pure, epsilon: self.epsilon.get(), delta: 0.0 }
    }

    pub(crate) fn certificate(&self) -> Certificate {
        Certificate::Epsilon(Bounds::exact(self.epsilon.get()))
    }

    /// Utilities to choose by, if there are any and all are numbers. The message names no value and
    /// no index: both are private.
    pub(crate) fn candidates<'a>(
        &self,
        utilities: &'a [f64],
    ) -> Result<Candidates<'a>, MechanismError> {
        if utilities.is_empty() {
            return Err(MechanismError::Refused(
                "there are no candidates to choose from: give at least one utility".into(),
            ));
        }
        if !utilities.iter().all(|utility| utility.is_finite()) {
            return Err(MechanismError::Refused("every utility must be a finite number".into()));
        }
        let best = utilities.iter().fold(f64::NEG_INFINITY, |best, &utility| best.max(utility));
        Ok(Candidates { utilities, best, choice: *self })
    }
}

/// Finite utilities, with their weights relative to the best.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidates<'a> {
    pub(crate) utilities: &'a [f64],
    best: f64,
    choice: ChoiceByUtility,
}

impl Weights for Candidates<'_> {
    fn count(&self) -> usize {
        self.utilities.len()
    }

    /// `exp(-c (u_max - u_i))`, with `c` an exact quotient.
    fn weight<E: Enclosure>(&self, index: usize, like: &E) -> E {
        let behind = like.exactly(self.best) - like.exactly(self.utilities[index]);
        let scale = like.exactly(self.choice.steps()) * like.exactly(self.choice.sensitivity.get());
        (-(behind * like.exactly(self.choice.epsilon.get()) / scale)).exp()
    }
}

impl Exponential {
    /// The mechanism for utilities of the given sensitivity.
    ///
    /// # Errors
    /// If `epsilon` is zero: a choice that pays no attention to utilities needs no mechanism.
    pub fn calibrate(
        change: UtilityChange,
        sensitivity: &Sensitivity,
        budget: impl Into<Budget>,
    ) -> Result<Self, MechanismError> {
        let (kind, budget) = (MechanismKind::Exponential, budget.into());
        Ok(Exponential { choice: ChoiceByUtility::new(kind, change, sensitivity, budget)? })
    }

    /// The index of the chosen candidate.
    ///
    /// # Errors
    /// If there are no candidates, a utility is not a finite number, or random bits cannot be had.
    pub fn choose<R: RandomBits + ?Sized>(
        &self,
        utilities: &[f64],
        random: &mut R,
    ) -> Result<usize, MechanismError> {
        let candidates = self.choice.candidates(utilities)?;
        let chosen = choose(&candidates, random).map_err(NoiseError::from)?;
        chosen
            .ok_or_else(|| MechanismError::Refused("there are no candidates to choose from".into()))
    }
}

impl Mechanism for Exponential {
    fn kind(&self) -> MechanismKind {
        MechanismKind::Exponential
    }

    fn method(&self) -> &'static str {
        self.choice.method()
    }

    fn choose(
        &self,
        utilities: &[f64],
        random: &mut dyn RandomBits,
    ) -> Option<Result<usize, MechanismError>> {
        Some(Exponential::choose(self, utilities, random))
    }

    /// The difference of utilities that makes one candidate `e` times as likely as another.
    fn scale(&self) -> f64 {
        self.choice.scale()
    }

    fn guarantee(&self) -> Guarantee {
        self.choice.guarantee()
    }

    fn certificate(&self) -> Certificate {
        self.choice.certificate()
    }

    fn delta(&self, epsilon: f64) -> Result<Bounds, MechanismError> {
        require_loss(epsilon)?;
        Ok(delta_of_bounded_range(self.choice.epsilon.get(), epsilon))
    }

    fn event(&self) -> Event {
        Event::Exponential { epsilon: self.choice.epsilon.get() }
    }

    fn errors(&self) -> Option<Errors> {
        None
    }

    fn usefulness(&self, _: f64) -> Option<Bounds> {
        None
    }

    fn releaser(&self) -> Result<Box<dyn Releaser>, MechanismError> {
        Err(does_not_release_numbers("exponential"))
    }
}

pub(crate) fn does_not_release_numbers(name: &str) -> MechanismError {
    MechanismError::Refused(format!(
        "the mechanism {name} chooses a candidate and does not add noise to numbers"
    ))
}

pub(crate) fn require_loss(epsilon: f64) -> Result<(), MechanismError> {
    if epsilon >= 0.0 && epsilon.is_finite() {
        Ok(())
    } else {
        let accepted = "a finite number that is not negative";
        Err(OutOfRange::new("epsilon", epsilon, accepted).into())
    }
}

/// `(e^(pure/2) - e^(e/2))^2 / (e^pure - 1)`, as `(1 - e^((e - pure)/2))^2 / (1 - e^-pure)`.
fn delta_of_bounded_range(pure: f64, epsilon: f64) -> Bounds {
    if epsilon >= pure {
        return Bounds::ZERO;
    }
    let (pure, epsilon) = (Bounds::exact(pure), Bounds::exact(epsilon));
    let step = (epsilon - pure).times_power_of_two(-1).exp_m1();
    ((step * step) / -(-pure).exp_m1()).clamp(0.0, 1.0)
}

/// `(e^pure - e^e) / (e^pure + 1)`, as `(1 - e^(e - pure)) / (1 + e^-pure)`: the profile of binary
/// randomized response, an upper bound for every mechanism of pure `pure`-privacy (Kairouz, Oh,
/// Viswanath, *The composition theorem for differential privacy*, 2015).
pub(crate) fn delta_of_pure(pure: Bounds, epsilon: f64) -> Bounds {
    if epsilon >= pure.upper() {
        return Bounds::ZERO;
    }
    let gain = -(Bounds::exact(epsilon) - pure).exp_m1();
    (gain / (Bounds::ONE + (-pure).exp())).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_noise::randomness::SeededRandom;

    fn mechanism(epsilon: f64, sensitivity: f64, change: UtilityChange) -> Exponential {
        let epsilon = Epsilon::new(epsilon).expect("valid");
        Exponential::calibrate(change, &Distance::new(sensitivity).expect("valid").into(), epsilon)
            .expect("valid")
    }

    #[test]
    fn frequencies_are_proportional_to_the_weights() {
        let utilities = [3.0, -1.0, 2.5, 3.0];
        for (change, c) in [(UtilityChange::EitherWay, 0.25), (UtilityChange::OneWay, 0.5)] {
            let mechanism = mechanism(1.0, 2.0, change);
            let weights = utilities.map(|utility: f64| (c * utility).exp());
            let total: f64 = weights.iter().sum();
            let mut random = SeededRandom::new(11);
            let mut counts = [0u32; 4];
            for _ in 0..50_000 {
                counts[mechanism.choose(&utilities, &mut random).expect("seeded")] += 1;
            }
            for (count, weight) in counts.into_iter().zip(weights) {
                let p = weight / total;
                // Six standard deviations, eight times: a false alarm once in 6e7 seeds.
                let deviation = (50_000.0 * p * (1.0 - p)).sqrt();
                assert!(
                    (f64::from(count) - 50_000.0 * p).abs() < 6.0 * deviation,
                    "{change:?}: {counts:?}"
                );
            }
        }
    }

    #[test]
    fn utilities_of_any_size_are_compared_exactly() {
        let mut random = SeededRandom::new(5);
        let sharp = mechanism(700.0, 1e-100, UtilityChange::OneWay);
        assert_eq!(sharp.choose(&[1e308, -1e308, 1e308f64.next_down()], &mut random).ok(), Some(0));
        let flat = mechanism(1e-300, 1e100, UtilityChange::EitherWay);
        let chosen: Vec<usize> =
            (0..64).filter_map(|_| flat.choose(&[0.0, -1.0], &mut random).ok()).collect();
        assert!(chosen.len() == 64 && chosen.contains(&0) && chosen.contains(&1));
        assert_eq!(sharp.choose(&[-7.5], &mut random).ok(), Some(0));
    }

    #[test]
    fn what_cannot_be_chosen_from_is_refused_without_a_word_about_values() {
        let mechanism = mechanism(1.0, 1.0, UtilityChange::EitherWay);
        let mut random = SeededRandom::new(1);
        assert!(mechanism.choose(&[], &mut random).is_err());
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let message =
                mechanism.choose(&[12345.0, bad], &mut random).map_err(|error| error.to_string());
            assert_eq!(message, Err("every utility must be a finite number".into()));
        }
        assert!(
            Exponential::calibrate(
                UtilityChange::OneWay,
                &Distance::new(1.0).expect("valid").into(),
                Epsilon::new(0.0).expect("valid")
            )
            .is_err()
        );
        assert!(
            mechanism.releaser().is_err()
                && mechanism.errors().is_none()
                && mechanism.usefulness(1.0).is_none()
        );
        for bad in [f64::NAN, f64::INFINITY, -1.0] {
            assert!(mechanism.delta(bad).is_err());
        }
    }

    /// The largest hockey-stick divergence of two candidates whose first utility leads by `gap` and
    /// then by `gap - 2 Delta`, over a fine grid of gaps.
    fn worst_of_two_candidates(pure: f64, epsilon: f64) -> f64 {
        let first = |lead: f64| 1.0 / (1.0 + (-lead).exp());
        (-25_000..=25_000)
            .map(|step| f64::from(step) / 1000.0)
            .map(|lead| {
                let (p, q) = (first(lead), first(lead - pure));
                (p - epsilon.exp() * q).max(0.0) + ((1.0 - p) - epsilon.exp() * (1.0 - q)).max(0.0)
            })
            .fold(0.0, f64::max)
    }

    #[test]
    fn the_profile_is_attained_and_never_exceeded() {
        for pure in [0.01, 1.0, 3.0, 20.0] {
            let mechanism = mechanism(pure, 1.0, UtilityChange::EitherWay);
            for share in [0.0, 0.1, 0.5, 0.9] {
                let delta = mechanism.delta(share * pure).expect("valid");
                let found = worst_of_two_candidates(pure, share * pure);
                assert!(
                    found <= delta.upper() * (1.0 + 1e-12),
                    "{pure} {share}: {found:e} {delta:?}"
                );
                assert!(
                    found >= delta.lower() * (1.0 - 1e-4),
                    "{pure} {share}: {found:e} {delta:?}"
                );
                assert!(delta.relative_width() < 1e-14, "{delta:?}");
                // Better than any pure mechanism must be.
                assert!(delta.upper() < delta_of_pure(Bounds::exact(pure), share * pure).lower());
            }
            assert_eq!(mechanism.delta(pure), Ok(Bounds::ZERO));
        }
    }

    #[test]
    fn three_candidates_never_lose_more_than_the_profile_says() {
        // All neighbours of random utilities that move every one of them up or down by the
        // sensitivity.
        let (pure, mut random) = (1.5, SeededRandom::new(9));
        let mechanism = mechanism(pure, 1.0, UtilityChange::EitherWay);
        let mut uniform =
            || random.next_u64().map(|word| word as f64 / 2f64.powi(64)).expect("seeded");
        for _ in 0..2000 {
            let utilities = [(); 3].map(|()| 4.0 * uniform());
            let distribution = |utilities: [f64; 3]| {
                let weights = utilities.map(|utility| (0.5 * pure * utility).exp());
                weights.map(|weight| weight / weights.iter().sum::<f64>())
            };
            for signs in 0..8 {
                let moved = std::array::from_fn(|i| {
                    utilities[i] + if signs >> i & 1 == 1 { 1.0 } else { -1.0 }
                });
                let (p, q) = (distribution(utilities), distribution(moved));
                for epsilon in [0.0, 0.5, 1.2] {
                    let loss: f64 =
                        p.iter().zip(q).map(|(p, q)| (p - f64::exp(epsilon) * q).max(0.0)).sum();
                    assert!(loss <= mechanism.delta(epsilon).expect("valid").upper() + 1e-14);
                }
            }
        }
    }
}
