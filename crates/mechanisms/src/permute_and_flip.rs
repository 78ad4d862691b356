//! Permute-and-flip: the exponential mechanism's task, never done worse at the same loss.

use crate::exponential::{
    Candidates, ChoiceByUtility, delta_of_pure, does_not_release_numbers, require_loss,
};
use crate::{
    Budget, Certificate, Errors, Guarantee, Mechanism, MechanismError, MechanismKind, Releaser,
    Sensitivity, UtilityChange,
};
use reticent_events::Event;
use reticent_noise::randomness::RandomBits;
use reticent_noise::{Bernoulli, NoiseError, Probability, Weights, choose};
use reticent_numerics::{Bounds, Enclosure};

/// Goes through the candidates in random order, tosses for each a coin of probability
/// `exp(-c (u_max - u_i))`, and takes the first that shows heads.
///
/// # Distribution
/// `c` as in [`crate::Exponential`]. No candidate is tossed for twice, since the best always shows
/// heads; so the coins may as well be tossed for all, and the first head in a random order is a
/// uniformly chosen one among the heads. This is what is done here: the number of tosses does not
/// depend on the utilities. Coins and choice are exact.
///
/// # Guarantee
/// Pure `epsilon`-differential privacy. Its expected loss of utility is at most that of the
/// exponential mechanism on every input, up to a factor of two less. The exact profile over all
/// inputs is not known to us. The bounds are: from above that of any pure mechanism,
/// `(e^epsilon - e^e)/(e^epsilon + 1)`; from below that of two candidates that change points. If
/// the first is `a` behind and then `b` ahead, with `c (a + b) = epsilon`, it is chosen with the
/// probabilities `e^(-c a)/2` and `1 - e^(-c b)/2`; the best `b` gives `1 - e^((e - epsilon)/2)`.
///
/// # References
/// McKenna, Sheldon, *Permute-and-flip: a new mechanism for differentially private selection*,
/// 2020, Algorithm 1 and Theorem 2.
///
/// # Example
/// ```
/// use reticent_mechanisms::{Distance, Epsilon, MechanismError, PermuteAndFlip, UtilityChange};
/// use reticent_noise::randomness::SeededRandom;
///
/// let mechanism = PermuteAndFlip::calibrate(
///     UtilityChange::OneWay,
///     &Distance::new(1.0)?.into(),
///     Epsilon::new(1.0)?,
/// )?;
/// assert_eq!(mechanism.choose(&[12.0, 70.0, 3.0], &mut SeededRandom::new(1))?, 1);
/// # Ok::<(), MechanismError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PermuteAndFlip {
    choice: ChoiceByUtility,
}

/// The weight of one candidate as the probability of its coin.
struct Coin<'a> {
    candidates: Candidates<'a>,
    index: usize,
}

impl Probability for Coin<'_> {
    fn enclose<E: Enclosure>(&self, like: &E) -> E {
        self.candidates.weight(self.index, like)
    }
}

/// All equal.
struct Equal {
    count: usize,
}

impl Weights for Equal {
    fn count(&self) -> usize {
        self.count
    }

    fn weight<E: Enclosure>(&self, _: usize, like: &E) -> E {
        like.exactly(1.0)
    }
}

impl PermuteAndFlip {
    /// The mechanism for utilities of the given sensitivity.
    ///
    /// # Errors
    /// If `epsilon` is zero.
    pub fn calibrate(
        change: UtilityChange,
        sensitivity: &Sensitivity,
        budget: impl Into<Budget>,
    ) -> Result<Self, MechanismError> {
        let (kind, budget) = (MechanismKind::PermuteAndFlip, budget.into());
        Ok(PermuteAndFlip { choice: ChoiceByUtility::new(kind, change, sensitivity, budget)? })
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
        let mut heads = Vec::with_capacity(utilities.len());
        for index in 0..utilities.len() {
            if Bernoulli::new(Coin { candidates, index }).draw(random).map_err(NoiseError::from)? {
                heads.push(index);
            }
        }
        let index = choose(&Equal { count: heads.len() }, random).map_err(NoiseError::from)?;
        index
            .and_then(|index| heads.get(index).copied())
            .ok_or_else(|| MechanismError::Refused("there are no candidates to choose from".into()))
    }
}

impl Mechanism for PermuteAndFlip {
    fn kind(&self) -> MechanismKind {
        MechanismKind::PermuteAndFlip
    }

    fn method(&self) -> &'static str {
        self.choice.method()
    }

    fn choose(
        &self,
        utilities: &[f64],
        random: &mut dyn RandomBits,
    ) -> Option<Result<usize, MechanismError>> {
        Some(PermuteAndFlip::choose(self, utilities, random))
    }

    /// The difference of utilities that makes a candidate's coin `e` times less likely.
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
        let pure = Bounds::exact(self.choice.epsilon.get());
        if epsilon >= pure.lower() {
            return Ok(Bounds::ZERO);
        }
        let points_change = -(Bounds::exact(epsilon) - pure).times_power_of_two(-1).exp_m1();
        Ok(Bounds::new(points_change.lower(), delta_of_pure(pure, epsilon).upper()))
    }

    fn event(&self) -> Event {
        Event::PermuteAndFlip { epsilon: self.choice.epsilon.get() }
    }

    fn errors(&self) -> Option<Errors> {
        None
    }

    fn usefulness(&self, _: f64) -> Option<Bounds> {
        None
    }

    fn releaser(&self) -> Result<Box<dyn Releaser>, MechanismError> {
        Err(does_not_release_numbers("permute-and-flip"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Distance, Epsilon};
    use reticent_noise::randomness::{Provenance, RandomnessError, SeededRandom};

    fn mechanism(epsilon: f64) -> PermuteAndFlip {
        let (epsilon, one) =
            (Epsilon::new(epsilon).expect("valid"), Distance::new(1.0).expect("valid"));
        PermuteAndFlip::calibrate(UtilityChange::EitherWay, &one.into(), epsilon).expect("valid")
    }

    /// Algorithm 1 as printed: the sum over all orders of the candidates of the probability that a
    /// candidate is reached and shows heads.
    fn by_permutations(coins: &[f64]) -> Vec<f64> {
        fn extend(coins: &[f64], seen: &mut Vec<usize>, reached: f64, chosen: &mut [f64]) {
            let left = coins.len() - seen.len();
            for next in 0..coins.len() {
                if !seen.contains(&next) {
                    let here = reached / left as f64;
                    chosen[next] += here * coins[next];
                    seen.push(next);
                    extend(coins, seen, here * (1.0 - coins[next]), chosen);
                    seen.pop();
                }
            }
        }
        let mut chosen = vec![0.0; coins.len()];
        extend(coins, &mut Vec::new(), 1.0, &mut chosen);
        chosen
    }

    fn coins(epsilon: f64, utilities: &[f64]) -> Vec<f64> {
        let best = utilities.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        utilities.iter().map(|utility| (0.5 * epsilon * (utility - best)).exp()).collect()
    }

    #[test]
    fn frequencies_are_those_of_the_algorithm_as_printed() {
        let utilities = [1.0, 0.0, 3.0, 2.5];
        let expected = by_permutations(&coins(2.0, &utilities));
        let (mechanism, mut random) = (mechanism(2.0), SeededRandom::new(2));
        let mut counts = [0u32; 4];
        for _ in 0..50_000 {
            counts[mechanism.choose(&utilities, &mut random).expect("seeded")] += 1;
        }
        for (count, p) in counts.into_iter().zip(expected) {
            // Six standard deviations, four times: a false alarm once in 1e8 seeds.
            let deviation = (50_000.0 * p * (1.0 - p)).sqrt();
            assert!((f64::from(count) - 50_000.0 * p).abs() < 6.0 * deviation, "{counts:?}");
        }
    }

    #[test]
    fn the_expected_loss_of_utility_is_never_worse_than_that_of_the_exponential_mechanism() {
        let mut random = SeededRandom::new(4);
        let mut uniform =
            || random.next_u64().map(|word| word as f64 / 2f64.powi(64)).expect("seeded");
        let (mut better, mut rounds) = (0, 0);
        for round in 0..300 {
            let count = 2 + round % 5;
            let epsilon = 10f64.powf(2.0 * uniform() - 1.0);
            let utilities: Vec<f64> = (0..count).map(|_| (8.0 * uniform()).round()).collect();
            let best = utilities.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let lost = |chances: &[f64]| -> f64 {
                let total: f64 = chances.iter().sum();
                chances
                    .iter()
                    .zip(&utilities)
                    .map(|(chance, utility)| chance / total * (best - utility))
                    .sum()
            };
            let coins = coins(epsilon, &utilities);
            let (here, exponential) = (lost(&by_permutations(&coins)), lost(&coins));
            assert!(
                here <= exponential * (1.0 + 1e-12),
                "{utilities:?} at {epsilon}: {here} {exponential}"
            );
            better += u32::from(here < 0.9 * exponential);
            rounds += 1;
        }
        assert!(2 * better > rounds, "no power: better by a tenth in {better} of {rounds}");
    }

    #[test]
    fn the_profile_lies_between_two_candidates_and_any_pure_mechanism() {
        for pure in [0.1, 1.0, 5.0] {
            for share in [0.0, 0.3, 0.8] {
                let (epsilon, delta) =
                    (share * pure, mechanism(pure).delta(share * pure).expect("valid"));
                let found = (0..=2000)
                    .map(|step| {
                        // The first candidate is behind by a share of 2 Delta, and then ahead by
                        // the rest.
                        let behind = pure * f64::from(step) / 2000.0;
                        let (q, p) = (0.5 * (-behind).exp(), 1.0 - 0.5 * (behind - pure).exp());
                        p - epsilon.exp() * q
                    })
                    .fold(0.0, f64::max);
                assert!(
                    found <= delta.upper() && (found / delta.lower() - 1.0).abs() < 1e-5,
                    "{pure} {share}: {found}"
                );
            }
            assert_eq!(mechanism(pure).delta(pure), Ok(Bounds::ZERO));
        }
        assert!(mechanism(1.0).delta(f64::NAN).is_err());
    }

    #[test]
    fn random_neighbours_lose_at_most_epsilon() {
        let mut random = SeededRandom::new(8);
        let mut uniform =
            || random.next_u64().map(|word| word as f64 / 2f64.powi(64)).expect("seeded");
        for _ in 0..500 {
            let utilities: Vec<f64> = (0..4).map(|_| 3.0 * uniform()).collect();
            let moved: Vec<f64> =
                utilities.iter().map(|u| u + if uniform() < 0.5 { 1.0 } else { -1.0 }).collect();
            let (p, q) =
                (by_permutations(&coins(1.0, &utilities)), by_permutations(&coins(1.0, &moved)));
            assert!(
                p.iter().zip(q).all(|(p, q)| (p / q).ln().abs() <= 1.0 + 1e-12),
                "{utilities:?} {moved:?}"
            );
        }
    }

    /// Nothing but ones: a uniform real as near to one as it gets.
    struct Ones;

    impl RandomBits for Ones {
        fn next_u64(&mut self) -> Result<u64, RandomnessError> {
            Ok(u64::MAX)
        }

        fn provenance(&self) -> Provenance {
            Provenance::Seeded
        }
    }

    #[test]
    fn the_best_shows_heads_whatever_is_drawn() {
        // Coins of probability one are exact, or this would not end; all others show tails.
        let utilities = [2.0, 5.0, -1e300, 5.0, 1.0];
        assert_eq!(mechanism(1.0).choose(&utilities, &mut Ones).ok(), Some(3));
    }

    #[test]
    fn what_cannot_be_chosen_from_is_refused() {
        let mut random = SeededRandom::new(1);
        assert!(mechanism(1.0).choose(&[], &mut random).is_err());
        assert!(mechanism(1.0).choose(&[1.0, f64::NAN], &mut random).is_err());
        assert!(mechanism(1.0).releaser().is_err() && mechanism(1.0).errors().is_none());
        assert_eq!(mechanism(1.0).event(), Event::PermuteAndFlip { epsilon: 1.0 });
    }
}
