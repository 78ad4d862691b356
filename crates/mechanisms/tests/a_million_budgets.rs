//! A million random budgets over all mechanisms: each is kept, provably, or refused with a reason.
//!
//! # What is drawn
//! `epsilon` log-uniform from 1e-6 to 500, `delta` from 1e-300 to 0.9, the sensitivity from 1e-6 to
//! 1e6 (for integers from 1 to 1e6), orders, ranges, categories and shapes beside them. Where a
//! mechanism has more than one method or family, each has a row of its own.
//!
//! # What is checked
//! A mechanism that is made guarantees what was asked for, and both its certificate and its
//! profile, evaluated anew, are within it at their upper bounds. A refusal names a parameter or
//! gives a reason. Inside the range in which a mechanism is guaranteed to work, refusals are the
//! share that its row states, or less.
//!
//! # How many
//! 1,047,464: about 1,012,000 of mechanisms that take microseconds, thousands of most others.
//! Calibrations that take a tenth of a second or more (truncated noise by the exact method,
//! generalized Gaussian noise of order at most 1 with a delta, Gaussian noise of random scale) have
//! tens over the full ranges, and hundreds of ordinary budgets. In all 72 s of processor time in
//! the dev profile, about 40 s on two free cores.
#![allow(clippy::unwrap_used, clippy::panic)]

use reticent_mechanisms::{
    BoundedQuery, Certificate, ContinuousExponential, Delta, DiscreteGaussianMechanism,
    DiscreteLaplace, Distance, Epsilon, Exponential, GaussianMechanism, GaussianMethod,
    GeneralizedGaussian, GeneralizedGaussianMethod, InflatedGeneralizedGaussian, Laplace,
    Mechanism, MechanismError, Neighbours, Notion, Order, PermuteAndFlip,
    RandomScaleGaussianMechanism, RandomScaleLaplace, RandomizedResponse, Sensitivity, Staircase,
    StaircaseAim, TruncatedGeneralizedGaussian, TruncatedLaplace, TruncatedMethod, UtilityChange,
};
use reticent_noise::random_scale::{
    Combined, GammaScale, InverseScale, TruncatedGaussianScale, TwoPointScale, UniformScale,
};
use reticent_noise::randomness::{RandomBits, SeededRandom};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What a mechanism is asked for, with numbers from 0 to 1 for whatever else it needs.
#[derive(Clone, Copy, Debug)]
struct Budget {
    epsilon: f64,
    delta: f64,
    distance: f64,
    /// The width of the range of a bounded query, in sensitivities.
    range: f64,
    extra: [f64; 4],
}

/// Which corners budgets come from.
#[derive(Clone, Copy, PartialEq)]
enum Corners {
    /// As stated above.
    Full,
    /// `epsilon` from 0.05 to 10, `delta` from 1e-20 to 0.1, ranges of up to 10 sensitivities:
    /// where more budgets can be had from mechanisms that take long in the corners.
    Ordinary,
}

impl Budget {
    fn draw(random: &mut SeededRandom, corners: Corners) -> Self {
        let mut uniform = || ((random.next_u64().unwrap() >> 12) as f64 + 0.5) * 2f64.powi(-52);
        let (epsilons, deltas) = match corners {
            Corners::Full => ((1e-6, 500.0), (1e-300, 0.9)),
            Corners::Ordinary => ((0.05, 10.0), (1e-20, 0.1)),
        };
        Budget {
            epsilon: between(epsilons.0, epsilons.1, uniform()),
            delta: between(deltas.0, deltas.1, uniform()),
            distance: between(1e-6, 1e6, uniform()),
            range: between(1.0, if corners == Corners::Full { 1e3 } else { 10.0 }, uniform()),
            extra: [uniform(), uniform(), uniform(), uniform()],
        }
    }

    fn epsilon(&self) -> Result<Epsilon, MechanismError> {
        Epsilon::new(self.epsilon)
    }

    fn delta(&self) -> Result<Delta, MechanismError> {
        Delta::new(self.delta)
    }

    fn distance(&self) -> Result<Distance, MechanismError> {
        Distance::new(self.distance)
    }

    fn scalar(&self) -> Result<Sensitivity, MechanismError> {
        Sensitivity::scalar(self.distance, Neighbours::AddRemove)
    }

    /// From 1 to 1e6.
    fn steps(&self) -> u64 {
        self.distance.sqrt().mul_add(1e3, 0.5).round() as u64
    }

    fn order(&self, least: f64, most: f64) -> Result<Order, MechanismError> {
        Order::new(between(least, most, self.extra[0]))
    }

    /// A range somewhere around zero.
    fn query(&self) -> Result<BoundedQuery, MechanismError> {
        let width = self.distance * self.range;
        let lower = -width * self.extra[2];
        BoundedQuery::new(lower, lower + width, self.distance()?)
    }
}

/// Log-uniform.
fn between(lower: f64, upper: f64, share: f64) -> f64 {
    (lower.ln() + share * (upper / lower).ln()).exp().clamp(lower, upper)
}

type Made = Result<Box<dyn Mechanism>, MechanismError>;

fn boxed<M: Mechanism + 'static>(mechanism: M) -> Box<dyn Mechanism> {
    Box::new(mechanism)
}

/// A mechanism with a way to make it.
struct Row {
    name: &'static str,
    budgets: usize,
    corners: Corners,
    /// Where it is guaranteed to work.
    guaranteed: fn(&Budget) -> bool,
    /// The largest share of refusals there.
    refusals: f64,
    make: fn(&Budget) -> Made,
}

fn always(name: &'static str, budgets: usize, make: fn(&Budget) -> Made) -> Row {
    Row { name, budgets, corners: Corners::Full, guaranteed: |_| true, refusals: 0.0, make }
}

fn gaussian(budget: &Budget, method: GaussianMethod) -> Made {
    GaussianMechanism::calibrate(
        method,
        &budget.distance()?.into(),
        (budget.epsilon()?, budget.delta()?),
    )
    .map(boxed)
}

fn staircase(budget: &Budget, aim: StaircaseAim) -> Made {
    Staircase::calibrate(aim, &budget.scalar()?, budget.epsilon()?).map(boxed)
}

fn generalized(budget: &Budget, least: f64, most: f64, method: GeneralizedGaussianMethod) -> Made {
    let (order, distances) = (budget.order(least, most)?, [budget.distance()?]);
    GeneralizedGaussian::calibrate(
        order,
        method,
        &Sensitivity::from(&distances[..]),
        (budget.epsilon()?, budget.delta()?),
    )
    .map(boxed)
}

/// Whether noise of an order from `least` to 1 is neither so large nor so small next to the
/// sensitivity that no lattice serves both. Pure noise has the scale `D epsilon^(-1/p)`, which for
/// small orders is soon more than `2^43 D`.
fn has_a_lattice(budget: &Budget, least: f64) -> bool {
    let ratio = budget.epsilon.powf(-1.0 / between(least, 1.0, budget.extra[0]));
    (1e-3..1e7).contains(&ratio)
}

fn truncated(budget: &Budget, method: TruncatedMethod) -> Made {
    TruncatedGeneralizedGaussian::calibrate(
        budget.order(1.0, 20.0)?,
        method,
        budget.query()?.bounds(),
        &budget.query()?.into(),
        budget.epsilon()?,
    )
    .map(boxed)
}

fn random_scale(budget: &Budget, shape: impl Into<InverseScale>) -> Made {
    RandomScaleLaplace::calibrate(shape, &budget.distance()?.into(), budget.epsilon()?).map(boxed)
}

fn random_scale_gaussian(b: &Budget) -> Made {
    let shape = vec![(1.0, 1.0 - b.extra[0]), (between(1.0, 10.0, b.extra[1]), b.extra[0])];
    RandomScaleGaussianMechanism::calibrate(
        shape,
        &b.distance()?.into(),
        (b.epsilon()?, b.delta()?),
    )
    .map(boxed)
}

fn rows() -> Vec<Row> {
    use GaussianMethod as G;
    use GeneralizedGaussianMethod as P;
    vec![
        always("laplace", 200_000, |b| Laplace::calibrate(&b.scalar()?, b.epsilon()?).map(boxed)),
        always("laplace vector", 50_000, |b| {
            let count = 1 + (8.0 * b.extra[0]) as u32;
            let sensitivity =
                Sensitivity::l2_bound(b.distance, Neighbours::Replace)?.with_coordinates(count)?;
            Laplace::calibrate(&sensitivity, b.epsilon()?).map(boxed)
        }),
        always("discrete laplace", 200_000, |b| {
            DiscreteLaplace::calibrate(&Sensitivity::whole(b.steps()), b.epsilon()?).map(boxed)
        }),
        Row {
            guaranteed: |b| b.delta <= 0.5,
            ..always("truncated Laplace", 40_000, |b| {
                TruncatedLaplace::calibrate(&b.scalar()?, (b.epsilon()?, b.delta()?)).map(boxed)
            })
        },
        always("staircase, l1", 70_000, |b| staircase(b, StaircaseAim::MeanAbsolute)),
        always("staircase, l2", 70_000, |b| staircase(b, StaircaseAim::MeanSquare)),
        always("staircase, entropy", 70_000, |b| staircase(b, StaircaseAim::Entropy)),
        always("staircase, usefulness", 70_000, |b| {
            staircase(b, StaircaseAim::Usefulness(b.distance * between(1e-3, 1e3, b.extra[0])))
        }),
        always("randomized response", 100_000, |b| {
            RandomizedResponse::new(between(2.0, 1e9, b.extra[0]) as u64, b.epsilon()?).map(boxed)
        }),
        always("exponential", 10_000, |b| {
            Exponential::calibrate(UtilityChange::EitherWay, &b.distance()?.into(), b.epsilon()?)
                .map(boxed)
        }),
        always("permute and flip", 10_000, |b| {
            PermuteAndFlip::calibrate(UtilityChange::OneWay, &b.distance()?.into(), b.epsilon()?)
                .map(boxed)
        }),
        always("gaussian, analytic", 60_000, |b| gaussian(b, G::Analytic)),
        // Where the theorems hold: epsilon at most 1, and for the second a delta that is not large.
        Row {
            guaranteed: |b| b.epsilon < 1.0 && b.delta < 0.05,
            ..always("gaussian, classical 2006", 12_000, |b| gaussian(b, G::Classical2006))
        },
        Row {
            guaranteed: |b| b.epsilon < 1.0 && b.delta < 0.05,
            ..always("gaussian, classical 2014", 12_000, |b| gaussian(b, G::Classical2014))
        },
        Row {
            guaranteed: |b| b.delta < 0.4,
            ..always("gaussian, closed form 1", 12_000, |b| gaussian(b, G::ClosedForm1))
        },
        Row {
            guaranteed: |b| b.delta < 0.4,
            ..always("gaussian, closed form 2", 12_000, |b| gaussian(b, G::ClosedForm2))
        },
        Row {
            guaranteed: |b| b.delta < 0.4,
            ..always("gaussian, vinterbo", 12_000, |b| gaussian(b, G::Vinterbo))
        },
        always("gaussian, liu", 12_000, |b| gaussian(b, G::Liu)),
        always("gaussian, two-sided", 12_000, |b| gaussian(b, G::Probabilistic)),
        always("gaussian, one-sided", 12_000, |b| gaussian(b, G::ProbabilisticOneSided)),
        always("discrete gaussian", 4_000, |b| {
            DiscreteGaussianMechanism::calibrate(
                &Sensitivity::whole(b.steps()),
                (b.epsilon()?, b.delta()?),
            )
            .map(boxed)
        }),
        always("generalized gaussian, exact, above 1", 4_000, |b| {
            generalized(b, 1.01, 20.0, P::Exact)
        }),
        Row {
            guaranteed: |b| has_a_lattice(b, 0.3),
            ..always("generalized gaussian, exact, up to 1", 40, |b| {
                generalized(b, 0.3, 1.0, P::Exact)
            })
        },
        always("generalized gaussian, probabilistic", 4_000, |b| {
            generalized(b, 1.01, 20.0, P::Probabilistic)
        }),
        always("generalized gaussian, two-sided", 4_000, |b| {
            generalized(b, 1.01, 20.0, P::TwoSided)
        }),
        Row {
            guaranteed: |b| has_a_lattice(b, 0.2),
            ..always("generalized gaussian, pure", 4_000, |b| {
                let distances =
                    [b.distance()?, Distance::new(b.distance * (0.01 + 0.99 * b.extra[1]))?];
                GeneralizedGaussian::calibrate(
                    b.order(0.2, 1.0)?,
                    GeneralizedGaussianMethod::Exact,
                    &Sensitivity::from(&distances[..]),
                    b.epsilon()?,
                )
                .map(boxed)
            })
        },
        always("truncated, exact", 16, |b| truncated(b, TruncatedMethod::Exact)),
        Row {
            corners: Corners::Ordinary,
            ..always("truncated, exact, ordinary", 200, |b| truncated(b, TruncatedMethod::Exact))
        },
        always("truncated, paper", 500, |b| truncated(b, TruncatedMethod::Paper)),
        always("truncated, exponential", 500, |b| {
            ContinuousExponential::calibrate(
                b.order(1.0, 20.0)?,
                b.query()?.bounds(),
                &b.query()?.into(),
                b.epsilon()?,
            )
            .map(boxed)
        }),
        always("inflated", 4_000, |b| {
            InflatedGeneralizedGaussian::calibrate(
                b.order(1.0, 20.0)?,
                b.query()?.bounds(),
                &b.query()?.into(),
                b.epsilon()?,
            )
            .map(boxed)
        }),
        // A gamma family of shape k has the loss (k + 1) ln(1 + theta), and its theta an end.
        Row {
            guaranteed: |b| b.epsilon < 200.0,
            ..always("random scale, gamma", 4_000, |b| {
                random_scale(
                    b,
                    GammaScale::new(
                        between(0.1, 30.0, b.extra[0]),
                        between(0.01, 100.0, b.extra[1]),
                    )?,
                )
            })
        },
        always("random scale, uniform", 4_000, |b| {
            random_scale(
                b,
                UniformScale::new(b.extra[0], b.extra[0] + between(0.01, 100.0, b.extra[1]))?,
            )
        }),
        always("random scale, truncated gaussian", 2_000, |b| {
            let upper = b.extra[2] + between(0.1, 10.0, b.extra[3]);
            random_scale(
                b,
                TruncatedGaussianScale::new(
                    4.0 * b.extra[0],
                    0.1 + 2.0 * b.extra[1],
                    b.extra[2],
                    upper,
                )?,
            )
        }),
        always("random scale, two-point", 4_000, |b| {
            let (first, second) = (between(0.01, 1.0, b.extra[0]), between(1.0, 100.0, b.extra[1]));
            random_scale(b, TwoPointScale::new(first, second, b.extra[2])?)
        }),
        always("random scale, combined", 2_000, |b| {
            let gamma =
                GammaScale::new(between(0.3, 10.0, b.extra[0]), between(0.1, 10.0, b.extra[1]))?;
            let parts =
                vec![(b.extra[2], gamma.into()), (b.extra[3], UniformScale::new(0.1, 1.0)?.into())];
            random_scale(b, Combined::new(parts)?)
        }),
        always("random-scale gaussian", 8, random_scale_gaussian),
        Row {
            corners: Corners::Ordinary,
            ..always("random-scale gaussian, ordinary", 200, random_scale_gaussian)
        },
    ]
}

/// Why the guarantee is not kept, if it is not.
fn broken(budget: &Budget, mechanism: &dyn Mechanism) -> Option<String> {
    let guarantee = mechanism.guarantee();
    let profile = match mechanism.delta(budget.epsilon) {
        Ok(profile) => profile,
        Err(error) => return Some(error.to_string()),
    };
    let kept = guarantee.epsilon == budget.epsilon
        && match (guarantee.notion, mechanism.certificate()) {
            (Notion::Pure, Certificate::Epsilon(epsilon)) => {
                guarantee.delta == 0.0
                    && 0.0 < epsilon.lower()
                    && epsilon.upper() <= budget.epsilon
                    && profile.upper() == 0.0
            }
            (Notion::Approximate | Notion::Probabilistic, Certificate::Delta(delta)) => {
                guarantee.delta == budget.delta
                    && delta.upper() <= budget.delta
                    && profile.upper() <= budget.delta
            }
            _ => false,
        };
    (!kept).then(|| format!("{guarantee:?} {:?} {profile:?}", mechanism.certificate()))
}

/// Whether an error tells what is wrong.
fn has_a_reason(error: &MechanismError) -> bool {
    match error {
        MechanismError::Parameter(refused) => {
            !refused.name.is_empty() && !refused.accepted.is_empty()
        }
        MechanismError::NotCertified { what, reason } => !what.is_empty() && !reason.is_empty(),
        other => other.to_string().split_whitespace().count() >= 5,
    }
}

#[derive(Default)]
struct Tally {
    budgets: usize,
    guaranteed: usize,
    broken: usize,
    wide: usize,
    refused: usize,
    refused_though_guaranteed: usize,
    example: Option<String>,
    time: Duration,
}

fn tally(row: &Row, budgets: usize, seed: u64) -> Tally {
    let mut random = SeededRandom::new(seed);
    let mut tally = Tally { budgets, ..Tally::default() };
    let start = Instant::now();
    for _ in 0..budgets {
        let budget = Budget::draw(&mut random, row.corners);
        let guaranteed = (row.guaranteed)(&budget);
        tally.guaranteed += usize::from(guaranteed);
        match (row.make)(&budget) {
            Ok(mechanism) => {
                let (Certificate::Epsilon(bounds) | Certificate::Delta(bounds)) =
                    mechanism.certificate();
                tally.wide += usize::from(bounds.width() > 1e-9 * bounds.upper());
                if let Some(how) = broken(&budget, &*mechanism) {
                    tally.broken += 1;
                    tally.example.get_or_insert_with(|| format!("{budget:?} is not kept: {how}"));
                }
            }
            Err(error) => {
                assert!(
                    has_a_reason(&error),
                    "{}: {budget:?} is refused without a reason: {error}",
                    row.name
                );
                tally.refused += 1;
                if guaranteed {
                    tally.refused_though_guaranteed += 1;
                    tally.example.get_or_insert_with(|| format!("{budget:?}: {error}"));
                }
            }
        }
    }
    tally.time = start.elapsed();
    tally
}

#[test]
fn a_million_budgets_are_kept_or_refused_with_a_reason() {
    let halves: Vec<Vec<Tally>> = std::thread::scope(|scope| {
        let workers: Vec<_> = [0, 1]
            .map(|half| {
                scope.spawn(move || {
                    let half_of = |(i, row): (usize, &Row)| {
                        tally(row, row.budgets / 2, 1000 * half + i as u64)
                    };
                    rows().iter().enumerate().map(half_of).collect()
                })
            })
            .into_iter()
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let mut total = 0;
    let mut wrong = BTreeMap::new();
    for (i, row) in rows().iter().enumerate() {
        let sum = |of: fn(&Tally) -> usize| of(&halves[0][i]) + of(&halves[1][i]);
        let (budgets, refused) = (sum(|t| t.budgets), sum(|t| t.refused));
        let (guaranteed, refused_there) =
            (sum(|t| t.guaranteed), sum(|t| t.refused_though_guaranteed));
        let time = (halves[0][i].time + halves[1][i].time).as_secs_f64();
        println!(
            "{:36} {budgets:7} budgets, {refused:6} refused, {refused_there} of them of \
             {guaranteed} guaranteed, {} wide, {:.1} us each",
            row.name,
            sum(|t| t.wide),
            1e6 * time / budgets as f64
        );
        total += budgets;
        let broken = sum(|t| t.broken);
        if broken > 0 || refused_there as f64 > row.refusals * guaranteed as f64 {
            let example = halves[0][i].example.clone().or(halves[1][i].example.clone());
            wrong.insert(row.name, (broken, refused_there, example));
        }
    }
    println!("{total} budgets in all");
    assert!(wrong.is_empty(), "not kept, refused too often: {wrong:#?}");
    assert!(total >= 1_000_000);
}
