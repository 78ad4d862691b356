//! Randomized response: a category that is told truly with a known probability.

use crate::binomial_interval::binomial_interval;
use crate::{
    Budget, Certificate, Epsilon, Errors, Guarantee, Mechanism, MechanismError, MechanismKind,
    Notion, Releaser,
};
use reticent_events::Event;
use reticent_noise::randomness::{RandomBits, RandomnessError};
use reticent_noise::{Bernoulli, Probability};
use reticent_numerics::{Bounds, Enclosure, OutOfRange, Wide};

/// Releases one of `k` categories: the true one with probability `e^epsilon/(e^epsilon + k - 1)`,
/// each other one with `1/(e^epsilon + k - 1)`.
///
/// # Guarantee
/// Pure epsilon-differential privacy when the category of one privacy unit is replaced, tight;
/// whoever answers needs to trust no one. With `k = 2` it is Warner's coin.
///
/// # Profile
/// `delta(epsilon') = (e^epsilon - e^epsilon')/(e^epsilon + k - 1)` below `epsilon`: of all
/// outputs, the true category alone has a loss above zero.
///
/// # Numerics
/// Both probabilities are met exactly, though they are irrational: the coin compares a uniform real
/// with bounds on the probability, at whatever precision decides ([`Bernoulli`]), and the other
/// category is an exactly uniform integer. It is drawn whether it is needed or not, so that the
/// time a response takes does not tell how it came about.
///
/// # Example
/// ```
/// use reticent_mechanisms::{Epsilon, RandomizedResponse};
/// use reticent_noise::randomness::SecureRandom;
/// let (survey, mut random) =
///     (RandomizedResponse::new(3, Epsilon::new(2.0)?)?, SecureRandom::new()?);
/// let mut counts = [0; 3];
/// for truth in [0, 0, 1, 2, 0, 1] {
///     counts[survey.respond(truth, &mut random)? as usize] += 1;
/// }
/// let estimates = survey.frequencies(&counts)?;
/// assert!((estimates.iter().map(|e| e.frequency.estimate()).sum::<f64>() - 1.0).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # References
/// Warner, *Randomized response: a survey technique for eliminating evasive answer bias*, 1965.
/// Kairouz, Bonawitz, Ramage, *Discrete distribution estimation under local privacy*, 2016, for
/// more than two categories.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomizedResponse {
    categories: u64,
    epsilon: f64,
}

/// What responses say of the share of one category.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrequencyEstimate {
    /// The unbiased estimate of the share of respondents whose true category this is. It may lie
    /// outside `[0, 1]`.
    pub frequency: Bounds,
    /// Bounds on the standard deviation of that estimate over the randomness of the responses,
    /// whatever the true categories are. Not in it is `f (1 - f)/n`, the variance of the share `f`
    /// itself where respondents are a sample.
    pub standard_error: Bounds,
}

/// The most categories: their numbers are `f64`.
const MOST_CATEGORIES: u64 = 1 << 53;

impl RandomizedResponse {
    /// Responses among `categories` categories that keep `epsilon`.
    ///
    /// # Errors
    /// If there are fewer than 2 or more than `2^53` categories, or epsilon is zero.
    pub fn new(categories: u64, budget: impl Into<Budget>) -> Result<Self, MechanismError> {
        if !(2..=MOST_CATEGORIES).contains(&categories) {
            let accepted = "an integer from 2 to 2^53";
            return Err(OutOfRange::new("categories", categories as f64, accepted).into());
        }
        let epsilon = budget.into().pure(MechanismKind::RandomizedResponse)?;
        Ok(RandomizedResponse { categories, epsilon })
    }

    /// How many categories there are.
    pub fn categories(&self) -> u64 {
        self.categories
    }

    /// Bounds on the probability of a true response.
    pub fn truth_probability(&self) -> Bounds {
        Truth(*self).enclose(&Wide::ONE).bounds()
    }

    /// One response. The categories are `0..k`.
    ///
    /// # Errors
    /// If there is no such category, or random bits cannot be had.
    pub fn respond(
        &self,
        category: u64,
        random: &mut dyn RandomBits,
    ) -> Result<u64, MechanismError> {
        if category >= self.categories {
            let accepted = "an integer from 0 to the number of categories less one";
            return Err(OutOfRange::new("category", category as f64, accepted).into());
        }
        let response =
            Responder { coin: Bernoulli::new(Truth(*self)), categories: self.categories };
        response.respond(category, random).map_err(|error| MechanismError::Noise(error.into()))
    }

    /// Unbiased estimates of the share of each category, from how often it was the response.
    ///
    /// With `t` and `l` the probabilities of the true and of one other category, a share `f` of `n`
    /// respondents gives `n (l + f (t - l))` responses on average, so `(c/n - l)/(t - l) = (c/n
    /// (e^epsilon + k - 1) - 1)/(e^epsilon - 1)` is unbiased. Responses are independent, and the
    /// variance is
    ///
    /// `[f t (1 - t) + (1 - f) l (1 - l)]/(n (t - l)^2) = [f (k - 1) e^epsilon + (1 -
    /// f)(e^epsilon + k - 2)]/(n (e^epsilon - 1)^2)`,
    ///
    /// linear in `f`: the bounds are those at `f = 0` and `f = 1`, and for two categories they
    /// agree.
    ///
    /// # Errors
    /// If there is not one count for each category, or no response at all, or more than `2^63`.
    pub fn frequencies(&self, counts: &[u64]) -> Result<Vec<FrequencyEstimate>, MechanismError> {
        let total = counts
            .iter()
            .try_fold(0u64, |sum, &count| sum.checked_add(count))
            .filter(|&n| n >> 63 == 0);
        let total = match total {
            Some(total) if total > 0 && counts.len() as u64 == self.categories => {
                Wide::ONE.integer(i128::from(total))
            }
            _ => {
                return Err(MechanismError::Refused(format!(
                    "{} counts were given where {} are needed, with from 1 to 2^63 responses in \
                     all",
                    counts.len(),
                    self.categories
                )));
            }
        };
        // Numerators and denominators times e^-epsilon, against overflow.
        let (small, others) =
            (Wide::from(-self.epsilon).exp(), Wide::from((self.categories - 1) as f64));
        let gap = -Wide::from(-self.epsilon).exp_m1();
        let standard_error = |numerator: Wide| ((numerator / total).sqrt() / gap).bounds();
        let never = standard_error(small * (Wide::ONE + (others - Wide::ONE) * small));
        let standard_error = never.hull(standard_error(small * others));
        let estimate = |&count: &u64| {
            let share = Wide::ONE.integer(i128::from(count)) / total;
            let frequency = (share * (Wide::ONE + others * small) - small) / gap;
            FrequencyEstimate { frequency: frequency.bounds(), standard_error }
        };
        Ok(counts.iter().map(estimate).collect())
    }

    /// For each category an interval that holds its share with probability `confidence` or more,
    /// whatever the true categories are; not all of them at once. Certified.
    ///
    /// How often a category is the response has the mean `n (l + f (t - l))`, as above, and is a
    /// sum of independent responses: [`binomial_interval`] bounds that mean, and the share `f` is
    /// an increasing function of it. Shares are from 0 to 1, and so are the ends.
    ///
    /// # Errors
    /// As [`RandomizedResponse::frequencies`], or if `confidence` is not from 0.5 to `1 - 1e-12`.
    pub fn intervals(
        &self,
        counts: &[u64],
        confidence: f64,
    ) -> Result<Vec<Bounds>, MechanismError> {
        self.frequencies(counts)?;
        let total = counts.iter().sum();
        let small = (-Bounds::exact(self.epsilon)).exp();
        let gap = -(-Bounds::exact(self.epsilon)).exp_m1();
        let all = Bounds::ONE + Bounds::exact((self.categories - 1) as f64) * small;
        let share = |p: f64| (Bounds::exact(p) * all - small) / gap;
        let interval = |&count: &u64| {
            let mean = binomial_interval(count, total, confidence)?;
            let (lower, upper) = (share(mean.lower()).lower(), share(mean.upper()).upper());
            Ok(Bounds::new(lower.clamp(0.0, 1.0), upper.clamp(0.0, 1.0)))
        };
        counts.iter().map(interval).collect()
    }
}

/// `1/(1 + (k - 1) e^-epsilon)`.
#[derive(Clone, Copy, Debug)]
struct Truth(RandomizedResponse);

impl Probability for Truth {
    fn enclose<E: Enclosure>(&self, like: &E) -> E {
        let others = like.integer(i128::from(self.0.categories - 1));
        like.exactly(1.0) / (like.exactly(1.0) + others * like.exactly(-self.0.epsilon).exp())
    }
}

impl Mechanism for RandomizedResponse {
    fn kind(&self) -> MechanismKind {
        MechanismKind::RandomizedResponse
    }

    fn method(&self) -> &'static str {
        "exact"
    }

    /// There is no noise to have a scale; `1/epsilon` stands in for it.
    fn scale(&self) -> f64 {
        1.0 / self.epsilon
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("categories", self.categories as f64),
            ("truth_probability", self.truth_probability().estimate()),
        ]
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee { notion: Notion::Pure, epsilon: self.epsilon, delta: 0.0 }
    }

    fn certificate(&self) -> Certificate {
        Certificate::Epsilon(Bounds::exact(self.epsilon))
    }

    fn delta(&self, epsilon: f64) -> Result<Bounds, MechanismError> {
        let epsilon = Epsilon::new(epsilon)?.get();
        if epsilon >= self.epsilon {
            return Ok(Bounds::ZERO);
        }
        let share = -(Wide::from(epsilon) - Wide::from(self.epsilon)).exp_m1();
        Ok((share * Truth(*self).enclose(&Wide::ONE)).bounds().clamp(0.0, 1.0))
    }

    fn event(&self) -> Event {
        Event::RandomizedResponse { epsilon: self.epsilon, categories: self.categories }
    }

    fn errors(&self) -> Option<Errors> {
        None
    }

    fn usefulness(&self, _: f64) -> Option<Bounds> {
        None
    }

    /// Releases category numbers `0..k`, given as `f64`.
    fn releaser(&self) -> Result<Box<dyn Releaser>, MechanismError> {
        Ok(Box::new(Responder { coin: Bernoulli::new(Truth(*self)), categories: self.categories }))
    }
}

#[derive(Debug)]
struct Responder {
    coin: Bernoulli<Truth>,
    categories: u64,
}

impl Responder {
    /// One response for a category below `k`.
    fn respond(&self, category: u64, random: &mut dyn RandomBits) -> Result<u64, RandomnessError> {
        let truthful = self.coin.draw(random)?;
        let other = uniform_below(self.categories - 1, random)?;
        // The other categories in order, the true one left out.
        let other = other + u64::from(other >= category);
        Ok(if truthful { category } else { other })
    }
}

impl Releaser for Responder {
    /// A value that is no category is released as category 0 would be.
    fn release(&self, value: f64, random: &mut dyn RandomBits) -> Result<f64, RandomnessError> {
        let category = if self.accepts(value) { value as u64 } else { 0 };
        self.respond(category, random).map(|response| response as f64)
    }

    fn accepts(&self, value: f64) -> bool {
        value.fract() == 0.0 && (0.0..self.categories as f64).contains(&value)
    }

    fn spacing(&self) -> f64 {
        1.0
    }
}

/// A uniform integer from 0 to `limit - 1`: words of just enough bits, until one is below the
/// limit.
fn uniform_below(limit: u64, random: &mut dyn RandomBits) -> Result<u64, RandomnessError> {
    let mask = u64::MAX.checked_shr((limit - 1).leading_zeros()).unwrap_or(0);
    loop {
        let candidate = random.next_u64()? & mask;
        if candidate < limit {
            return Ok(candidate);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_noise::randomness::SeededRandom;

    fn survey(categories: u64, epsilon: f64) -> RandomizedResponse {
        RandomizedResponse::new(categories, Epsilon::new(epsilon).expect("valid")).expect("valid")
    }

    #[test]
    fn the_profile_agrees_with_the_reference_values() {
        let reference: serde_json::Value =
            serde_json::from_str(include_str!("../../../reference/profiles.json")).expect("JSON");
        let rows = reference["randomized_response"].as_array().expect("rows");
        assert!(rows.len() >= 10);
        for row in rows {
            let number = |key: &str| {
                row[key].as_str().and_then(|text| text.parse::<f64>().ok()).expect("a number")
            };
            let truth = number("delta");
            let mechanism = survey(row["k"].as_u64().expect("an integer"), number("eps0"));
            let delta = mechanism.delta(number("eps")).expect("valid");
            assert!(
                delta.lower() * (1.0 - 1e-15) <= truth && truth <= delta.upper() * (1.0 + 1e-15),
                "{row} {delta:?}"
            );
            assert!(delta.relative_width() <= 1e-15, "{row} {delta:?}");
        }
    }

    #[test]
    fn the_profile_agrees_with_the_sum_over_all_responses() {
        for (k, guaranteed) in [(2u64, 0.3), (3, 1.0), (10, 2.5), (1000, 6.0)] {
            let mechanism = survey(k, guaranteed);
            let truth = guaranteed.exp() / (guaranteed.exp() + (k - 1) as f64);
            let lie = 1.0 / (guaranteed.exp() + (k - 1) as f64);
            assert!(
                (truth + (k - 1) as f64 * lie - 1.0).abs() < 1e-12
                    && mechanism.truth_probability().width() < 1e-15
            );
            assert!((mechanism.truth_probability().estimate() - truth).abs() < 1e-15);
            for share in [0.0, 0.4, 0.9, 1.0] {
                let epsilon = share * guaranteed;
                let probability = |true_category: u64, response: u64| {
                    if true_category == response { truth } else { lie }
                };
                let direct: f64 = (0..k)
                    .map(|r| (probability(0, r) - epsilon.exp() * probability(1, r)).max(0.0))
                    .sum();
                let delta = mechanism.delta(epsilon).expect("valid");
                assert!(
                    (delta.estimate() - direct).abs() < 1e-14,
                    "{k} {epsilon}: {delta:?} {direct}"
                );
            }
        }
    }

    #[test]
    fn responses_have_their_probabilities_and_the_estimator_is_unbiased_with_the_stated_error() {
        let mechanism = survey(4, 1.2);
        let mut random = SeededRandom::new(20);
        // 40 surveys of 2000 people, of whom 60%, 30%, 10% and none are in each category.
        let surveys = 40;
        let mut errors = Vec::new();
        for _ in 0..surveys {
            let mut counts = [0u64; 4];
            for person in 0..2000 {
                let category = [0, 0, 0, 0, 0, 0, 1, 1, 1, 2][person % 10];
                counts[mechanism.respond(category, &mut random).expect("bits") as usize] += 1;
            }
            let estimates = mechanism.frequencies(&counts).expect("valid");
            let sum: f64 = estimates.iter().map(|e| e.frequency.estimate()).sum();
            assert!((sum - 1.0).abs() < 1e-12);
            errors.extend(estimates.iter().zip([0.6, 0.3, 0.1, 0.0]).map(|(estimate, truth)| {
                assert!(estimate.frequency.width() < 1e-14);
                (estimate.frequency.estimate() - truth, estimate.standard_error)
            }));
        }
        let (l, t) = (1.0 / (1.2f64.exp() + 3.0), mechanism.truth_probability().estimate());
        for (category, frequency) in [0.6, 0.3, 0.1, 0.0].into_iter().enumerate() {
            let exact = ((frequency * t * (1.0 - t) + (1.0 - frequency) * l * (1.0 - l)) / 2000.0)
                .sqrt()
                / (t - l);
            let own: Vec<_> = errors.iter().skip(category).step_by(4).collect();
            assert!(own.iter().all(|(_, bounds)| bounds.lower() <= exact * (1.0 + 1e-14)
                && exact <= bounds.upper() * (1.0 + 1e-14)));
            // Five standard errors of a mean of 40 in each of 4 categories: a false alarm in 4e5
            // seeds.
            let mean = own.iter().map(|(error, _)| error).sum::<f64>() / f64::from(surveys);
            assert!(
                mean.abs() < 5.0 * exact / f64::from(surveys).sqrt(),
                "{category}: {mean} {exact}"
            );
            // The sum of 40 squares over the variance is chi-squared: from 10 to 92 but for 1e-6 of
            // all seeds.
            let squares = own.iter().map(|(error, _)| (error / exact).powi(2)).sum::<f64>();
            assert!((10.0..92.0).contains(&squares), "{category}: {squares}");
        }
    }

    /// 300 seeded surveys of 500 people. Each interval misses with probability at most 5%: of 1,200
    /// more than 100 do so with probability below 1e-6 (three of four are dependent, which the
    /// margin covers); at half the half-width a third would miss.
    #[test]
    fn intervals_hold_the_share_as_often_as_they_say() {
        let (mechanism, mut random) = (survey(4, 1.2), SeededRandom::new(21));
        let (mut missed, mut missed_by_half) = (0, 0);
        for _ in 0..300 {
            let mut counts = [0u64; 4];
            for person in 0..500 {
                let category = [0, 0, 0, 0, 0, 0, 1, 1, 1, 2][person % 10];
                counts[mechanism.respond(category, &mut random).expect("bits") as usize] += 1;
            }
            let intervals = mechanism.intervals(&counts, 0.95).expect("valid");
            for (interval, truth) in intervals.iter().zip([0.6, 0.3, 0.1, 0.0]) {
                let off = (interval.estimate() - truth).abs();
                missed += u32::from(!(interval.lower() <= truth && truth <= interval.upper()));
                missed_by_half += u32::from(off > 0.25 * interval.width());
            }
        }
        assert!(missed <= 100 && missed_by_half > 200, "{missed} {missed_by_half}");
        let certain = survey(2, 700.0).intervals(&[0, 5], 0.95).expect("valid");
        assert!(certain[0].lower() == 0.0 && certain[1].upper() == 1.0, "{certain:?}");
        assert!(survey(2, 1.0).intervals(&[1, 2], 1.5).is_err());
    }

    #[test]
    fn two_categories_have_one_standard_error() {
        let estimates = survey(2, 0.8).frequencies(&[30, 70]).expect("valid");
        let t = 0.8f64.exp() / (0.8f64.exp() + 1.0);
        let exact = (t * (1.0 - t) / 100.0).sqrt() / (2.0 * t - 1.0);
        for estimate in &estimates {
            assert!(estimate.standard_error.relative_width() < 1e-15);
            assert!((estimate.standard_error.estimate() / exact - 1.0).abs() < 1e-14);
        }
        assert!(
            (estimates[1].frequency.estimate() - (0.7 - (1.0 - t)) / (2.0 * t - 1.0)).abs() < 1e-14
        );
    }

    #[test]
    fn the_other_category_is_uniform_and_never_the_true_one() {
        // At this epsilon a true response has probability 1/7 within 1e-9.
        let mechanism = survey(7, 1e-9);
        let mut random = SeededRandom::new(8);
        let mut counts = [0u32; 7];
        for _ in 0..70_000 {
            counts[mechanism.respond(3, &mut random).expect("bits") as usize] += 1;
        }
        // Expected 10,000 each with a standard deviation of 93: six of them, in 7 cells, a false
        // alarm in 7e7 seeds.
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 556), "{counts:?}");
        let certain = survey(5, 700.0);
        assert!((0..1000).all(|_| certain.respond(4, &mut random) == Ok(4)));
    }

    #[test]
    fn categories_given_as_numbers_are_checked() {
        let releaser = survey(3, 1.0).releaser().expect("a responder");
        let mut random = SeededRandom::new(1);
        for good in [0.0, 1.0, 2.0] {
            let response = releaser.release(good, &mut random).expect("bits");
            assert!(releaser.accepts(good) && releaser.accepts(response));
        }
        for bad in [3.0, -1.0, 0.5, f64::NAN, f64::INFINITY] {
            assert!(!releaser.accepts(bad), "{bad}");
            assert!(
                releaser.release(bad, &mut random).is_ok_and(|response| releaser.accepts(response)),
                "{bad}"
            );
        }
        let refused =
            survey(3, 1.0).respond(3, &mut random).expect_err("no such category").to_string();
        assert!(refused.contains("category"), "{refused}");
    }

    #[test]
    fn what_cannot_be_guaranteed_is_refused() {
        let epsilon = Epsilon::new(1.0).expect("valid");
        assert!(
            RandomizedResponse::new(1, epsilon).is_err()
                && RandomizedResponse::new(u64::MAX, epsilon).is_err()
        );
        assert!(RandomizedResponse::new(2, Epsilon::new(0.0).expect("a loss")).is_err());
        assert!(
            survey(2, 1.0).frequencies(&[1, 2, 3]).is_err()
                && survey(2, 1.0).frequencies(&[0, 0]).is_err()
        );
        assert!(survey(2, 1.0).frequencies(&[u64::MAX, 1]).is_err());
        assert!(survey(2, 1.0).delta(-1.0).is_err());
    }
}
