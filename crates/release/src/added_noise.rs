//! Noise that is added to integers.

use crate::error::ReleaseError;
use reticent_choice::{
    Additive, Candidate, Considered, ErrorLaw, Metric, Query, ReleaseRanking, Requirements,
    Rounded, SharedBudget, rank_for_release,
};
use reticent_events::Event;
use reticent_mechanisms::{Guarantee, Neighbours, inverse_scale_of};
use reticent_noise::randomness::{RandomBits, RandomnessError};
use reticent_noise::{
    DiscreteGaussian, DiscreteLaplace, Gaussian, GaussianMixture, GeneralizedGaussian,
    IntegerNoise, Jittered, Laplace, Lattice, RandomScaleLaplace, Sampler, Staircase, Table,
    TruncatedLaplace,
};
use reticent_numerics::rounding::mul_up;
use reticent_numerics::{Bounds, Enclosure, require};
use std::sync::Arc;

/// A distribution of integer noise, with its cost and its error. The noise that is drawn and what
/// is charged come from the same event.
///
/// # Real noise on integers
/// All but discrete Laplace noise, discrete Gaussian noise and that of a table are real numbers
/// `X`; what is added is `round(X)`. For an integer `v` this is `round(v + X)`, because rounding
/// commutes with adding an integer (ties have probability zero): the release is a function of the
/// ideal real-valued one and keeps its guarantee, whatever the size of `v`. Nothing else is
/// rounded, so that the sensitivity stays what it is. The sum is made in `i128`.
///
/// # Why not the discrete Gaussian for all groups together
/// Rounded Gaussians compose exactly, by the sum of `mu^2`; for vectors of discrete ones no such
/// theorem is known, and the variance gained is below 1/12.
#[derive(Clone, Debug)]
pub(crate) struct AddedNoise {
    /// What runs: in one group, or for Gaussian noise in all that one unit moves.
    event: Event,
    /// What is drawn, read from the event.
    distribution: Distribution,
    cost: Cost,
    name: &'static str,
    law: Arc<dyn ErrorLaw>,
}

/// How the cost of noise adds up over the groups that one unit moves.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Cost {
    /// Each group keeps this guarantee by itself, and a unit moves so many.
    ByGroup(Guarantee, u32),
    /// The event is for the l2 length over all groups.
    Joint,
}

/// The noises that integers get.
#[derive(Clone, Debug)]
enum Distribution {
    DiscreteLaplace(DiscreteLaplace),
    Staircase { noise: Staircase, width: f64 },
    TruncatedLaplace { noise: TruncatedLaplace, scale: f64 },
    Table(Table),
    Gaussian { sigma: f64 },
    Laplace { scale: f64 },
    DiscreteGaussian(DiscreteGaussian),
    GeneralizedGaussian { noise: GeneralizedGaussian, scale: f64 },
    RandomScaleLaplace(RandomScaleLaplace),
    RandomScaleGaussian(GaussianMixture),
}

impl Distribution {
    fn of(event: &Event) -> Result<Self, ReleaseError> {
        Ok(match event {
            Event::DiscreteLaplace { scale, .. } => {
                Distribution::DiscreteLaplace(DiscreteLaplace::new(*scale)?)
            }
            Event::Staircase { epsilon, gamma, sensitivity } => Distribution::Staircase {
                noise: Staircase::new(*epsilon, *gamma)?,
                width: *sensitivity,
            },
            Event::TruncatedLaplace { scale, support_in_scales, .. } => {
                let noise = TruncatedLaplace::new(*support_in_scales)?;
                Distribution::TruncatedLaplace { noise, scale: *scale }
            }
            Event::Tabulated { weights, .. } => Distribution::Table(Table::from_parts(weights)?),
            Event::Gaussian { sigma, .. } => Distribution::Gaussian { sigma: *sigma },
            Event::Laplace { scale, .. } => Distribution::Laplace { scale: *scale },
            Event::DiscreteGaussian { sigma, .. } => {
                Distribution::DiscreteGaussian(DiscreteGaussian::new(*sigma)?)
            }
            Event::GeneralizedGaussian { order, scale, .. } => {
                let noise = GeneralizedGaussian::new(*order)?;
                Distribution::GeneralizedGaussian { noise, scale: *scale }
            }
            Event::RandomScaleLaplace { inverse_scale, .. } => {
                let noise = RandomScaleLaplace::new(inverse_scale_of(inverse_scale)?);
                Distribution::RandomScaleLaplace(noise)
            }
            Event::RandomScaleGaussian { sigmas, .. } => {
                Distribution::RandomScaleGaussian(GaussianMixture::new(sigmas.clone())?)
            }
            Event::TruncatedGeneralizedGaussian { .. }
            | Event::InflatedGeneralizedGaussian { .. }
            | Event::RandomizedResponse { .. }
            | Event::RandomScaleLaplaceVector { .. }
            | Event::Exponential { .. }
            | Event::PermuteAndFlip { .. }
            | Event::Approximate { .. }
            | Event::ZeroConcentrated { .. }
            | Event::PoissonSubsampled { .. }
            | Event::Composition { .. }
            | Event::Repetition { .. } => {
                let name = event.mechanism();
                return Err(ReleaseError::Refused(format!("{name} is not added to integers")));
            }
        })
    }
}

impl AddedNoise {
    /// The noise of least mean square error for an integer that one unit moves by `per_group` in
    /// each of `groups` groups, under pure differential privacy.
    #[cfg(test)]
    pub(crate) fn pure(per_group: u64, groups: u32, epsilon: f64) -> Result<Self, ReleaseError> {
        let metric = Metric::RootMeanSquare;
        Self::first(
            ranking(per_group, epsilon, None, metric, Considered::Quick)?.candidates,
            groups,
        )
    }

    /// The first of some candidates for one group that can be drawn, in each of `groups` groups.
    /// At extreme losses the best may be too narrow for a sampler.
    pub(crate) fn first(candidates: Vec<Candidate>, groups: u32) -> Result<Self, ReleaseError> {
        let nothing = || ReleaseError::Refused("no noise for this budget can be drawn".into());
        let made =
            candidates.into_iter().filter_map(|Candidate { mechanism, law, name, .. }| {
                let event = mechanism.event();
                let distribution = Distribution::of(&event).ok()?;
                let cost = Cost::ByGroup(mechanism.released_guarantee(), groups);
                Some(AddedNoise { event, distribution, cost, name, law: Arc::from(law) })
            });
        made.into_iter().find(|noise| noise.sampler().is_ok()).ok_or_else(nothing)
    }

    /// `round(sigma X)` with a standard normal `X`, for integers that one unit moves by at most
    /// `l2_sensitivity` in the l2 norm.
    ///
    /// # Errors
    /// If `sigma` is not from `2^-50` to `2^59`, where a lattice of integers serves.
    pub(crate) fn gaussian(sigma: f64, l2_sensitivity: f64) -> Result<Self, ReleaseError> {
        let accepted = "from 2^-50 to 2^59 (about 5.8e17) steps of the grid: narrow the bounds of \
            the column, or lower max_rows or max_groups";
        let range = 2f64.powi(-50)..=2f64.powi(59);
        require(range.contains(&sigma), "standard deviation", sigma, accepted)?;
        let square = Bounds::exact(sigma).square();
        let law = |entropy: Bounds| {
            let real = Additive::with_moments(Gaussian, sigma, square, Bounds::WHOLE_LINE);
            Rounded::new(Box::new(real), entropy)
        };
        // N and a uniform number within a half of it have a density, N's entropy and the variance
        // E N^2 + 1/12; of all such numbers a normal one has the most entropy.
        let twelfth = Bounds::ONE / Bounds::exact(12.0);
        let variance = Bounds::exact(law(Bounds::WHOLE_LINE).mean_square().upper()) + twelfth;
        let factor = (Bounds::ONE.pi() * Bounds::ONE.exp()).times_power_of_two(1);
        let most = (factor * variance).ln().times_power_of_two(-1).upper();
        Ok(AddedNoise {
            event: Event::Gaussian { sigma, sensitivity: l2_sensitivity },
            distribution: Distribution::Gaussian { sigma },
            cost: Cost::Joint,
            name: "gaussian",
            law: Arc::new(law(Bounds::new(0.0, most.max(0.0)))),
        })
    }

    /// What runs in all groups that one unit moves.
    pub(crate) fn event(&self) -> Event {
        match self.cost {
            Cost::ByGroup(_, groups) => repeated(groups, self.event.clone()),
            Cost::Joint => self.event.clone(),
        }
    }

    /// What a filter charges outside a probability [`AddedNoise::delta`]: the event, or the loss of
    /// noise that has a `delta`.
    pub(crate) fn charged(&self) -> Event {
        match self.cost {
            Cost::ByGroup(Guarantee { epsilon, delta, .. }, groups) if delta > 0.0 => {
                repeated(groups, Event::Approximate { epsilon, delta: 0.0 })
            }
            Cost::ByGroup(..) | Cost::Joint => self.event(),
        }
    }

    /// The `delta` of all groups that one unit moves, rounded up; that of Gaussian noise is not
    /// known here, but that of all Gaussians together.
    pub(crate) fn delta(&self) -> f64 {
        match self.cost {
            Cost::ByGroup(guarantee, groups) => mul_up(f64::from(groups), guarantee.delta),
            Cost::Joint => 0.0,
        }
    }

    /// The name of the noise.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// `b`, the width of a stair, or `sigma`, in steps; `None` for a table and a random scale.
    pub(crate) fn scale(&self) -> Option<f64> {
        match &self.distribution {
            Distribution::DiscreteLaplace(noise) => Some(noise.scale()),
            Distribution::Staircase { width: scale, .. }
            | Distribution::TruncatedLaplace { scale, .. }
            | Distribution::Gaussian { sigma: scale }
            | Distribution::Laplace { scale }
            | Distribution::GeneralizedGaussian { scale, .. } => Some(*scale),
            Distribution::DiscreteGaussian(noise) => Some(noise.sigma()),
            Distribution::Table(_)
            | Distribution::RandomScaleLaplace(_)
            | Distribution::RandomScaleGaussian(_) => None,
        }
    }

    /// An upper bound on its error by a metric, in steps.
    pub(crate) fn error(&self, metric: &Metric) -> f64 {
        metric.error(&*self.law, 1).upper()
    }

    /// Bounds on `E N^2`, in steps.
    pub(crate) fn mean_square(&self) -> Bounds {
        self.law.mean_square()
    }

    /// The least integer `t` that is proved to have `P[|N| <= t] >= 0.95`.
    pub(crate) fn quantile_95(&self) -> f64 {
        // A zero that was rounded up from below is shown without its sign.
        self.error(&Metric::Quantile(0.95)) + 0.0
    }

    /// An upper bound on `P[N >= t]` for an integer `t >= 1`: half of `P[|N| > t - 1]`.
    pub(crate) fn tail(&self, t: i64) -> f64 {
        self.law.exceedance(t as f64 - 1.0).times_power_of_two(-1).upper()
    }

    /// What draws it.
    pub(crate) fn sampler(&self) -> Result<NoiseSampler, ReleaseError> {
        let whole = Lattice::INTEGERS;
        Ok(match &self.distribution {
            Distribution::DiscreteLaplace(noise) => NoiseSampler::DiscreteLaplace(noise.sampler()?),
            Distribution::Staircase { noise, width } => {
                NoiseSampler::Staircase(Sampler::new(*noise, *width, whole)?)
            }
            Distribution::TruncatedLaplace { noise, scale } => {
                NoiseSampler::TruncatedLaplace(Sampler::new(*noise, *scale, whole)?)
            }
            Distribution::Table(table) => NoiseSampler::Table(table.sampler()?),
            Distribution::Gaussian { sigma } => {
                NoiseSampler::Gaussian(Sampler::new(Gaussian, *sigma, whole)?)
            }
            Distribution::Laplace { scale } => {
                NoiseSampler::Laplace(Sampler::new(Laplace, *scale, whole)?)
            }
            Distribution::DiscreteGaussian(noise) => {
                NoiseSampler::DiscreteGaussian(noise.sampler()?)
            }
            Distribution::GeneralizedGaussian { noise, scale } => {
                NoiseSampler::GeneralizedGaussian(Sampler::new(*noise, *scale, whole)?)
            }
            Distribution::RandomScaleLaplace(noise) => {
                NoiseSampler::RandomScaleLaplace(Sampler::new(noise.clone(), 1.0, whole)?)
            }
            Distribution::RandomScaleGaussian(noise) => {
                NoiseSampler::RandomScaleGaussian(Sampler::new(noise.clone(), 1.0, whole)?)
            }
        })
    }
}

/// The noise for one integer in one group, the best by a metric first. With a `delta`, noise that
/// spends one.
pub(crate) fn ranking(
    per_group: u64,
    epsilon: f64,
    delta: Option<f64>,
    metric: Metric,
    considered: Considered,
) -> Result<ReleaseRanking, ReleaseError> {
    let query = Query::scalar(per_group as f64, Neighbours::AddRemove)?.of_integers()?;
    let budget = SharedBudget::new(epsilon, delta, 1)?;
    Ok(rank_for_release(&Requirements { query, budget, metric }, considered))
}

fn repeated(groups: u32, event: Event) -> Event {
    match groups {
        1 => event,
        _ => Event::Repetition { times: u64::from(groups), event: Box::new(event) },
    }
}

/// Draws noise for integers.
#[derive(Debug)]
pub(crate) enum NoiseSampler {
    DiscreteLaplace(Sampler<Jittered<DiscreteLaplace>>),
    Staircase(Sampler<Staircase>),
    TruncatedLaplace(Sampler<TruncatedLaplace>),
    Table(Sampler<Jittered<Table>>),
    Gaussian(Sampler<Gaussian>),
    Laplace(Sampler<Laplace>),
    DiscreteGaussian(Sampler<Jittered<DiscreteGaussian>>),
    GeneralizedGaussian(Sampler<GeneralizedGaussian>),
    RandomScaleLaplace(Sampler<RandomScaleLaplace>),
    RandomScaleGaussian(Sampler<GaussianMixture>),
}

impl NoiseSampler {
    /// An integer and its noise.
    ///
    /// The value is clamped to `2^125` first, which moves no two values further apart, and the sum
    /// again, which is post-processing: nothing overflows, and what is released is a function of
    /// the ideal sum.
    pub(crate) fn add<R: RandomBits + ?Sized>(
        &self,
        value: i128,
        random: &mut R,
    ) -> Result<i128, RandomnessError> {
        let noise = match self {
            NoiseSampler::DiscreteLaplace(sampler) => sampler.draw(random)?,
            NoiseSampler::Staircase(sampler) => sampler.draw(random)?,
            NoiseSampler::TruncatedLaplace(sampler) => sampler.draw(random)?,
            NoiseSampler::Table(sampler) => sampler.draw(random)?,
            NoiseSampler::Gaussian(sampler) => sampler.draw(random)?,
            NoiseSampler::Laplace(sampler) => sampler.draw(random)?,
            NoiseSampler::DiscreteGaussian(sampler) => sampler.draw(random)?,
            NoiseSampler::GeneralizedGaussian(sampler) => sampler.draw(random)?,
            NoiseSampler::RandomScaleLaplace(sampler) => sampler.draw(random)?,
            NoiseSampler::RandomScaleGaussian(sampler) => sampler.draw(random)?,
        };
        Ok(Lattice::INTEGERS.add(value, noise))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_noise::randomness::SeededRandom;

    fn gaussian(sigma: f64) -> AddedNoise {
        AddedNoise::gaussian(sigma, 1.0).expect("valid")
    }

    fn draws(noise: &AddedNoise, value: i128, count: usize, seed: u64) -> Vec<i128> {
        let (sampler, mut random) = (noise.sampler().expect("a sampler"), SeededRandom::new(seed));
        (0..count).map(|_| sampler.add(value, &mut random).expect("seeded") - value).collect()
    }

    #[test]
    fn noise_that_is_mostly_zero_has_a_half_width_of_zero_without_a_sign() {
        for noise in [
            AddedNoise::pure(1, 1, 50.0),
            AddedNoise::pure(8, 1, 300.0),
            AddedNoise::pure(3, 5, 90.0),
        ] {
            let width = noise.expect("valid").quantile_95();
            assert!(width == 0.0 && width.is_sign_positive(), "{width}");
        }
        assert!(gaussian(0.1).quantile_95().is_sign_positive());
    }

    #[test]
    fn drawn_noise_has_the_variance_the_quantile_and_the_tail_that_are_claimed() {
        let noises = [
            AddedNoise::pure(1, 1, 0.7).expect("valid"),
            AddedNoise::pure(3, 5, 0.4).expect("valid"),
            AddedNoise::pure(8, 1, 3.0).expect("valid"),
            gaussian(0.4),
            gaussian(6.3),
            gaussian(1e6),
            best(1, 1.0, 1e-2),
            best(7, 0.002, 1e-4),
            named("laplace", 3, 0.5, None),
            named("discrete-gaussian", 2, 1.0, Some(1e-4)),
            named("generalized-gaussian", 3, 1.0, Some(1e-3)),
            named("random-scale-gaussian", 2, 1.0, Some(1e-4)),
            named("random-scale-laplace", 50, 8.0, None),
        ];
        let count = 100_000;
        for (seed, noise) in noises.iter().enumerate() {
            // Far beyond 2^53: nothing passes through an f64.
            let values = draws(noise, (1 << 90) + 1, count, seed as u64);
            let squares: Vec<f64> = values.iter().map(|&n| (n as f64).powi(2)).collect();
            let mean = squares.iter().sum::<f64>() / count as f64;
            let fourth = squares.iter().map(|s| s * s).sum::<f64>() / count as f64;
            let deviation = ((fourth - mean * mean) / count as f64).sqrt();
            let claimed = noise.mean_square();
            assert!(claimed.relative_width() < 1e-6, "{noise:?}: {claimed:?}");
            // Six standard deviations of the mean square; heavy tails make that about 1e-8 a case,
            // thirteen cases.
            assert!(
                (mean - claimed.estimate()).abs() < 6.0 * deviation,
                "{noise:?}: {mean} {claimed:?}"
            );
            // Power: a scale 10% off is noticed.
            assert!((mean - 1.1 * 1.1 * claimed.estimate()).abs() > 6.0 * deviation, "{noise:?}");
            let t = noise.quantile_95();
            let within = |t: f64| {
                values.iter().filter(|&&n| (n as f64).abs() <= t).count() as f64 / count as f64
            };
            // Six deviations of a share of 0.95, sqrt(0.95 0.05 / 1e5) = 6.9e-4: 1e-9 a case.
            assert!(within(t) > 0.95 - 6.0 * 6.9e-4, "{noise:?}: {}", within(t));
            assert!(
                t == 0.0 || within(0.9 * t - 1.0) < 0.95,
                "{noise:?}: the half-width is too wide"
            );
            let above =
                values.iter().filter(|&&n| n as f64 >= t.max(1.0)).count() as f64 / count as f64;
            let tail = noise.tail(t.max(1.0) as i64);
            assert!(
                (above - tail).abs() < 6.0 * (tail / count as f64).sqrt() + 1e-5,
                "{noise:?}: {above} {tail}"
            );
        }
    }

    /// The noise of one group at a budget, best first.
    fn best(per_group: u64, epsilon: f64, delta: f64) -> AddedNoise {
        let metric = Metric::RootMeanSquare;
        let ranking = ranking(per_group, epsilon, Some(delta), metric, Considered::Quick);
        AddedNoise::first(ranking.expect("valid").candidates, 1).expect("drawn")
    }

    /// Noise by its name.
    fn named(name: &str, per_group: u64, epsilon: f64, delta: Option<f64>) -> AddedNoise {
        let (metric, only) = (Metric::RootMeanSquare, Considered::Only(name.parse().expect(name)));
        let ranking = ranking(per_group, epsilon, delta, metric, only).expect("valid");
        AddedNoise::first(ranking.candidates, 1).expect("drawn")
    }

    #[test]
    fn each_noise_is_chosen_where_it_is_the_best() {
        assert_eq!(AddedNoise::pure(1, 1, 1.0).expect("valid").name(), "discrete-laplace");
        let stair = AddedNoise::pure(10, 1, 3.0).expect("valid");
        assert_eq!(stair.name(), "staircase");
        let laplace = DiscreteLaplace::new(10.0 / 3.0).expect("valid");
        let q = (-1.0 / laplace.scale()).exp();
        assert!(stair.mean_square().upper() < 0.9 * 2.0 * q / (1.0 - q).powi(2), "{stair:?}");
        // In several groups, too: each is a release of its own.
        let stairs = AddedNoise::pure(10, 4, 3.0).expect("valid");
        assert_eq!(stairs.mean_square(), stair.mean_square());
        assert!(matches!(stairs.event(), Event::Repetition { times: 4, .. }));
        assert_eq!(best(1, 1.0, 1e-2).name(), "optimal");
        assert_eq!(best(1, 0.001, 1e-5).name(), "truncated-laplace");
        // At an extreme loss there is still noise.
        assert!(AddedNoise::pure(10, 1, 690.0).is_ok());
    }

    #[test]
    fn golden_half_width_variance_and_tail_of_rounded_gaussians() {
        let noise = gaussian(4.2246794);
        // 1.959964 * 4.2246794 - 0.5 = 7.78, and Q(9.5 / 4.2246794) = 0.012265.
        assert_eq!(noise.quantile_95(), 8.0);
        assert!((noise.tail(10) - 0.012265).abs() < 5e-6, "{}", noise.tail(10));
        let square = 4.2246794f64.powi(2) + 1.0 / 12.0;
        assert!((noise.mean_square().estimate() / square - 1.0).abs() < 1e-12);
        for bad in [0.0, f64::NAN, f64::INFINITY, 1e18, -1.0] {
            assert!(
                AddedNoise::gaussian(bad, 1.0)
                    .is_err_and(|error| error.to_string().contains("standard deviation"))
            );
        }
    }

    #[test]
    fn sums_saturate_and_never_overflow() {
        let noise = gaussian(5e17);
        let (sampler, mut random) = (noise.sampler().expect("a sampler"), SeededRandom::new(3));
        for value in [i128::MAX, i128::MIN] {
            let released = sampler.add(value, &mut random).expect("seeded");
            assert!(released.unsigned_abs() <= 1 << 125 && released.unsigned_abs() > 1 << 124);
        }
    }

    /// Straight from the probabilities of integers: what each noise is charged with is what a unit
    /// that moves the count by as much as it may can lose.
    #[test]
    fn the_probabilities_of_integers_keep_what_is_charged() {
        let (moved, epsilon, delta) = (5u64, 6.0, 1e-3);
        for name in reticent_choice::NoiseName::ALL {
            let noise = if name == reticent_choice::NoiseName::GAUSSIAN {
                continue;
            } else {
                let delta =
                    ["truncated-laplace", "optimal", "discrete-gaussian", "random-scale-gaussian"]
                        .contains(&name.as_str())
                        .then_some(delta);
                named(name.as_str(), moved, epsilon, delta)
            };
            let guarantee = match noise.cost {
                Cost::ByGroup(guarantee, _) => guarantee,
                Cost::Joint => unreachable!("{noise:?}"),
            };
            assert!(guarantee.epsilon <= epsilon && guarantee.delta <= delta, "{name}");
            // P[N = n] for n = 0, 1, ... from the tails, and by symmetry.
            let beyond = |n: i64| noise.law.exceedance(n as f64).estimate();
            let probability = |n: i64| match n.abs() {
                0 => 1.0 - beyond(0),
                n => (beyond(n - 1) - beyond(n)) / 2.0,
            };
            for by in 1..=moved as i64 {
                let excess = |factor: f64| {
                    (-400..=400)
                        .map(|n| (probability(n) - factor * probability(n + by)).max(0.0))
                        .sum::<f64>()
                };
                let (claimed, found) = (guarantee.delta, excess(guarantee.epsilon.exp()));
                assert!(found <= claimed * (1.0 + 1e-9) + 1e-13, "{name} {by}: {found} {claimed}");
                // Power: a fifth less is not kept by a unit that moves it by all of it.
                if by == moved as i64 {
                    assert!(
                        excess((0.8 * guarantee.epsilon).exp()) > 1.5 * claimed + 1e-9,
                        "{name}"
                    );
                }
            }
        }
    }
}
