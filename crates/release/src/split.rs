//! How a budget is shared.

use crate::UnitInfluence;
use crate::added_noise::{AddedNoise, ranking};
use crate::aim::Aim;
use crate::error::ReleaseError;
use crate::quantiles::LOSS_OF_SHARES;
use reticent_accounting::{Accountant, Composition, GaussianDp, ZeroConcentratedDp};
use reticent_choice::{Candidate, Considered, Refusal, ReleaseRanking};
use reticent_events::Event;
use reticent_mechanisms::{Delta, Distance, Epsilon, GaussianMechanism, GaussianMethod, Mechanism};
use reticent_numerics::rounding::{add_up, div_down, mul_down, mul_up};

/// One statistic to which noise is added: how far a unit moves it, and how much its error matters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Number {
    pub(crate) influence: UnitInfluence,
    pub(crate) weight: f64,
    /// What one step is, in units of the answer.
    pub(crate) step: f64,
}

/// `w e^2` over all numbers, for their errors `e` in steps made relative: what the choice of noise
/// makes small.
pub(crate) fn weighted_square_error(aim: &Aim, numbers: &[Number], errors: &[f64]) -> f64 {
    let one =
        |(number, &error): (&Number, &f64)| number.weight * aim.relative(error, number).powi(2);
    numbers.iter().zip(errors).map(one).sum()
}

/// `parts / all` of a loss or a delta, rounded down.
///
/// A whole is left as it is. Otherwise `2^-44` of the share is kept back, so that the shares of up
/// to 500 parts still add up to no more than the whole when every sum is rounded up.
pub(crate) fn share(whole: f64, parts: f64, all: f64) -> f64 {
    if parts >= all {
        return whole;
    }
    mul_down(div_down(mul_down(whole, parts), all), 1.0 - 2f64.powi(-44))
}

/// A release whose noise spends some of `delta` must have an error smaller by this factor than one
/// that spends none: what is saved of `delta` shows groups in later queries.
pub(crate) const WORTH_A_DELTA: f64 = 1.01;

/// Noise that is drawn and charged group by group, with what else was considered.
pub(crate) struct ByGroup {
    pub(crate) noises: Vec<AddedNoise>,
    /// What the noises spend of `delta`, rounded up.
    pub(crate) delta: f64,
    /// Each mechanism that could serve all numbers, with its error for each, in steps.
    pub(crate) alternatives: Vec<(&'static str, Vec<f64>)>,
    /// What could not, with the reason.
    pub(crate) refusals: Vec<Refusal>,
}

/// Noise for several numbers of one release, each in each group by itself: the best that
/// [`reticent_choice`] knows for one integer.
///
/// The shares are those of least mean square error, whatever the metric.
///
/// # Derivation
/// A unit moves each number by at most `s_i` in each of at most `k` groups, so that noise that is
/// `(e, d)`-private for one integer that moves by `s_i` costs `(k e, k d)` in all. Laplace noise
/// with `y_i = b_i / s_i` loses `sum k / y_i`, and the error to be small is `sum w_i y_i^2` (its
/// variance is `2 b^2`). Lagrange: `w_i y_i = constant / y_i^2`, so `y_i` is proportional to
/// `w_i^(-1/3)`, and the shares of `epsilon` are to each other as `w_i^(1/3)`: equal for equal
/// weights. `delta` is shared in equal parts.
///
/// # Errors
/// If noise cannot be made.
pub(crate) fn noises_by_group(
    aim: &Aim,
    numbers: &[Number],
    epsilon: f64,
    delta: Option<f64>,
) -> Result<ByGroup, ReleaseError> {
    let all: f64 = numbers.iter().map(|number| number.weight.cbrt()).sum();
    let mut found = ByGroup { noises: vec![], delta: 0.0, alternatives: vec![], refusals: vec![] };
    for (index, number) in numbers.iter().enumerate() {
        let groups = number.influence.groups;
        // Refused by the name of the sensitivity, if it is beyond what integers can hold.
        number.influence.l1()?;
        let (each, parts) = (f64::from(groups), numbers.len() as f64);
        let of_number = match numbers.len() {
            1 => epsilon,
            _ => share(epsilon, number.weight.cbrt(), all),
        };
        let loss = share(of_number, 1.0, each);
        let delta = delta.map(|delta| share(share(delta, 1.0, parts), 1.0, each));
        let ReleaseRanking { candidates, refusals } = ranked(aim, number, loss, delta)?;
        let errors: Vec<_> =
            candidates.iter().map(|candidate| (candidate.name, vec![error(candidate)])).collect();
        found.alternatives = if index == 0 { errors } else { joined(found.alternatives, &errors) };
        let new = |refusal: &Refusal| {
            found.refusals.iter().all(|known| known.mechanism != refusal.mechanism)
        };
        let refusals: Vec<Refusal> = refusals.into_iter().filter(new).collect();
        found.refusals.extend(refusals);
        let noise = AddedNoise::first(candidates, groups).map_err(|nothing| {
            let reason = found.refusals.first().map(|refusal| refusal.reason.as_str());
            match (aim.considered, reason) {
                (Considered::Only(name), Some(reason)) => {
                    ReleaseError::Refused(format!("{name} noise cannot serve here: {reason}"))
                }
                (Considered::Only(name), None) => ReleaseError::Refused(format!(
                    "{name} noise cannot serve here: no noise of it for this budget can be drawn"
                )),
                _ => nothing,
            }
        })?;
        found.delta = add_up(found.delta, noise.delta());
        found.noises.push(noise);
    }
    Ok(found)
}

/// The noise of one number in one group, the best first: without a `delta`, and where there is one
/// also with it. Noise that spends it must be worth it.
fn ranked(
    aim: &Aim,
    number: &Number,
    epsilon: f64,
    delta: Option<f64>,
) -> Result<ReleaseRanking, ReleaseError> {
    let metric = aim.in_steps(number.step);
    let of = |delta: Option<f64>| {
        ranking(number.influence.per_group, epsilon, delta, metric.clone(), aim.considered)
    };
    let mut found = of(None)?;
    let Some(delta) = delta else {
        if found.candidates.is_empty() && found.refusals.is_empty() {
            found.refusals.extend(needs_delta(aim.considered));
        }
        return Ok(found);
    };
    // Where a budget is too small for noise with a delta, other noise serves.
    let Ok(ReleaseRanking { candidates: mut new, refusals }) = of(Some(delta)) else {
        return Ok(found);
    };
    found.refusals.extend(refusals);
    // Noise that there is of both kinds has one line: that of its better kind.
    let better = |one: &Candidate, others: &[Candidate]| {
        let worth = |other: &Candidate| WORTH_A_DELTA * error(one) < error(other);
        others.iter().all(|other| other.name != one.name || worth(other))
    };
    new.retain(|one| better(one, &found.candidates));
    found.candidates.retain(|one| new.iter().all(|other| other.name != one.name));
    let least = |list: &[Candidate]| list.first().map_or(f64::INFINITY, error);
    if WORTH_A_DELTA * least(&new) < least(&found.candidates) {
        found.candidates.splice(0..0, new);
    } else {
        found.candidates.extend(new);
    }
    let served = |refusal: &Refusal| {
        found.candidates.iter().all(|candidate| candidate.name != refusal.mechanism)
    };
    found.refusals.retain(served);
    Ok(found)
}

/// Why noise that was named is in no ranking of a pure budget.
fn needs_delta(considered: Considered) -> Option<Refusal> {
    let Considered::Only(name) = considered else { return None };
    let reason = "its guarantee has a delta, and the budget is pure; give a delta to allow it";
    Some(Refusal { mechanism: name.as_str(), reason: reason.into() })
}

fn error(candidate: &Candidate) -> f64 {
    candidate.error.upper()
}

/// For the names that both have, the errors of one more number.
fn joined(
    some: Vec<(&'static str, Vec<f64>)>,
    others: &[(&'static str, Vec<f64>)],
) -> Vec<(&'static str, Vec<f64>)> {
    let both = some.into_iter().filter_map(|(name, mut errors)| {
        let other = others.iter().find(|other| other.0 == name)?;
        errors.extend(&other.1);
        Some((name, errors))
    });
    both.collect()
}

/// Gaussian noise for several numbers of one release, calibrated together.
///
/// # Derivation
/// In units of `sigma_i` one unit moves the vector of all numbers in all groups by `mu`,
/// `mu^2 = sum k s_i^2 / sigma_i^2`, and the profile is that of one Gaussian with this `mu`:
/// nothing is lost to composition. With `x_i = sigma_i^2 / s_i^2` the error to be small is
/// `sum w_i x_i` under `sum k / x_i = mu^2`. Lagrange: `w_i = constant / x_i^2`, so the shares of
/// `mu^2` are to each other as `sqrt(w_i)`: equal for equal weights, which gives
/// `sigma_i = s_i sqrt(k m) / mu`.
///
/// # Certificate
/// The `delta` of the events as they will be charged is computed anew, and the noise is raised by
/// units in the last place until it is within the budget.
///
/// # Errors
/// If noise cannot be made or certified.
pub(crate) fn gaussian_noises(
    numbers: &[Number],
    epsilon: f64,
    delta: f64,
) -> Result<Vec<AddedNoise>, ReleaseError> {
    let unit = GaussianMechanism::calibrate(
        GaussianMethod::Analytic,
        &Distance::new(1.0)?.into(),
        (Epsilon::positive(epsilon)?, Delta::new(delta)?),
    )?;
    let all: f64 = numbers.iter().map(|number| number.weight.sqrt()).sum();
    let mut ratio = unit.scale();
    for _ in 0..20 {
        let one = |number: &Number| {
            let distance = number.influence.l2();
            let sigma = mul_up(mul_up(distance, ratio), (all / number.weight.sqrt()).sqrt());
            AddedNoise::gaussian(sigma, distance)
        };
        let noises: Vec<AddedNoise> = numbers.iter().map(one).collect::<Result<_, _>>()?;
        if gaussian_delta(&noises, epsilon)? <= delta {
            return Ok(noises);
        }
        ratio = mul_up(ratio, 1.0 + 4.0 * f64::EPSILON);
    }
    Err(ReleaseError::Refused("no standard deviation was proved to keep the budget".into()))
}

/// The `delta` of Gaussian noises together, rounded up.
pub(crate) fn gaussian_delta(noises: &[AddedNoise], epsilon: f64) -> Result<f64, ReleaseError> {
    let events: Vec<Event> = noises.iter().map(AddedNoise::event).collect();
    Ok(GaussianDp.delta(&Composition::new(&events)?, Epsilon::new(epsilon)?)?.upper())
}

/// How often points and shares of points are chosen in all groups that one unit reaches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rounds {
    pub(crate) points: u64,
    pub(crate) shares: u64,
}

impl Rounds {
    /// What they are charged as, when a round of points may lose `epsilon`.
    pub(crate) fn events(self, epsilon: f64) -> Vec<Event> {
        let repeated = |times: u64, epsilon: f64| match times {
            0 => None,
            1 => Some(Event::Exponential { epsilon }),
            _ => Some(Event::Repetition { times, event: Box::new(Event::Exponential { epsilon }) }),
        };
        let shares = repeated(self.shares, LOSS_OF_SHARES * epsilon);
        repeated(self.points, epsilon).into_iter().chain(shares).collect()
    }
}

/// What each round of points may cost, and the part of `delta` that is used.
///
/// Without a `delta` the losses add. With one the `rho` of all, `epsilon^2/8` each (Cesar and
/// Rogers 2021), add, and convert at the best order: more from about eight rounds on. The better of
/// the two is taken.
///
/// # Errors
/// If a loss is out of range.
pub(crate) fn round_loss(
    rounds: Rounds,
    epsilon: f64,
    delta: Option<f64>,
) -> Result<(f64, f64), ReleaseError> {
    let simple = share(epsilon, 1.0, rounds.points as f64 + LOSS_OF_SHARES * rounds.shares as f64);
    let whole = Epsilon::positive(epsilon)?;
    let Some(delta) = delta.filter(|_| rounds.points > 4) else { return Ok((simple, 0.0)) };
    let fits = |loss: f64| {
        let composition = Composition::new(&rounds.events(loss))?;
        Ok::<bool, ReleaseError>(ZeroConcentratedDp.delta(&composition, whole)?.upper() <= delta)
    };
    // Every loss that fits is proved to; the search only looks for a large one. The conversion
    // epsilon = rho + 2 sqrt(rho ln(1/delta)) (Bun and Steinke 2016) gives a first one, which the
    // best order betters by less than a half.
    let logarithm = -delta.ln();
    let rho = ((logarithm + epsilon).sqrt() - logarithm.sqrt()).powi(2);
    let squares = rounds.points as f64 + LOSS_OF_SHARES * LOSS_OF_SHARES * rounds.shares as f64;
    let mut low = (8.0 * rho / squares).sqrt() * (1.0 - 1e-9);
    if low <= simple / 1.5 || !fits(low)? {
        return Ok((simple, 0.0));
    }
    let mut high = 1.5 * low;
    for _ in 0..8 {
        let middle = (low * high).sqrt();
        if fits(middle)? { low = middle } else { high = middle }
    }
    Ok(if low > 1.01 * simple { (low, delta) } else { (simple, 0.0) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AnswerMetric;
    use reticent_choice::Metric;

    fn squares() -> Aim {
        Aim::new(AnswerMetric::RootMeanSquare, Considered::Quick).expect("valid")
    }

    fn pure_noises(numbers: &[Number], epsilon: f64) -> Vec<AddedNoise> {
        noises_by_group(&squares(), numbers, epsilon, None).expect("valid").noises
    }

    fn scale_of(noise: &AddedNoise) -> f64 {
        noise.scale().expect("not a table")
    }

    fn number(per_group: u64, groups: u32, weight: f64) -> Number {
        Number { influence: UnitInfluence { per_group, groups }, weight, step: 1.0 }
    }

    #[test]
    fn shares_add_up_to_no_more_than_the_whole_however_they_are_added() {
        for parts in [2u32, 3, 7, 10, 499] {
            for whole in [0.1, 1.0, 3.3, 1e-9] {
                let one = share(whole, 1.0, f64::from(parts));
                let sum = (0..parts).fold(0.0, |sum, _| add_up(sum, one));
                assert!(sum <= whole && sum > whole * (1.0 - 1e-12), "{parts} {whole}: {sum}");
            }
        }
        assert_eq!(share(0.3, 2.0, 2.0), 0.3);
    }

    /// No other split of the same budget has less error: the derivations, tried.
    #[test]
    fn the_split_is_the_best_one() {
        let numbers = [number(1, 4, 1.0), number(1000, 4, 8.0), number(50, 4, 0.3)];
        let gaussians = gaussian_noises(&numbers, 1.0, 1e-6).expect("valid");
        let errors: Vec<f64> =
            gaussians.iter().map(|noise| noise.error(&Metric::RootMeanSquare)).collect();
        let best = weighted_square_error(&squares(), &numbers, &errors);
        let counts = numbers.map(|n| number(1, 4, n.weight));
        let laplaces = pure_noises(&counts, 1.0);
        let pure_best: f64 =
            counts.iter().zip(&laplaces).map(|(n, noise)| n.weight * scale_of(noise).powi(2)).sum();
        // Move 2% of the budget from one number to another.
        for (from, to) in [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)] {
            let moved = |values: Vec<f64>| {
                let mut values = values;
                let part = 0.02 * values[from];
                values[from] -= part;
                values[to] += part;
                values
            };
            let scale =
                |noise: &AddedNoise, n: &Number| scale_of(noise) / n.influence.per_group as f64;
            let squares = moved(
                numbers.iter().zip(&gaussians).map(|(n, noise)| scale(noise, n).powi(-2)).collect(),
            );
            let error: f64 =
                numbers.iter().zip(&squares).map(|(n, square)| n.weight / square).sum();
            assert!(
                error > best * (1.0 - 1e-3)
                    && error
                        > numbers
                            .iter()
                            .zip(&gaussians)
                            .map(|(n, noise)| n.weight * scale(noise, n).powi(2))
                            .sum::<f64>()
            );
            let losses = moved(
                counts.iter().zip(&laplaces).map(|(n, noise)| 1.0 / scale(noise, n)).collect(),
            );
            let error: f64 =
                counts.iter().zip(&losses).map(|(n, loss)| n.weight / (loss * loss)).sum();
            assert!(error > pure_best, "{from} {to}: {error} {pure_best}");
        }
    }

    #[test]
    fn golden_scales() {
        // Two counts in 9 groups each: sigma = sqrt(18) times the optimum of
        // reference/gaussian_sigma.json for (1, 1e-5), and b = 9 / 0.5.
        let numbers = [number(1, 9, 1.0), number(1, 9, 1.0)];
        let gaussians = gaussian_noises(&numbers, 1.0, 1e-5).expect("valid");
        let sigma = 18f64.sqrt() * 3.730_631_634_815_942;
        assert!(
            gaussians.iter().all(|noise| (scale_of(noise) / sigma - 1.0).abs() < 1e-13),
            "{gaussians:?}"
        );
        assert!(
            gaussian_delta(&gaussians, 1.0)
                .is_ok_and(|delta| delta <= 1e-5 && delta > 0.999_999_999e-5)
        );
        let laplaces = pure_noises(&numbers, 1.0);
        assert!(laplaces.iter().all(|noise| (scale_of(noise) / 18.0 - 1.0).abs() < 1e-12));
    }

    #[test]
    fn many_rounds_gain_from_a_delta_and_few_do_not() {
        let only = |points: u64| Rounds { points, shares: 0 };
        assert_eq!(round_loss(only(1), 0.7, Some(1e-6)).expect("valid"), (0.7, 0.0));
        let (few, none) = round_loss(only(6), 1.0, Some(1e-9)).expect("valid");
        assert!(none == 0.0 && (few - 1.0 / 6.0).abs() < 1e-12);
        let (mixed, _) = round_loss(Rounds { points: 4, shares: 3 }, 1.0, None).expect("valid");
        assert!((mixed - 1.0 / 4.75).abs() < 1e-12);
        for rounds in [only(100), Rounds { points: 40, shares: 30 }] {
            let (many, used) = round_loss(rounds, 1.0, Some(1e-6)).expect("valid");
            assert!(used == 1e-6 && many > 2.0 / rounds.points as f64, "{many}");
            let composition = Composition::new(&rounds.events(many)).expect("valid");
            let delta = ZeroConcentratedDp
                .delta(&composition, Epsilon::new(1.0).expect("valid"))
                .expect("covered");
            assert!(delta.upper() <= 1e-6 && delta.upper() > 0.9e-6, "{delta:?}");
        }
    }
}
