//! The optimal noise is within a hundredth of the limit, keeps its guarantee, and is what its table
//! says.

#![allow(clippy::unwrap_used, clippy::panic)]

use reticent_choice::{
    AbsoluteError, Beyond, Loss, Optimum, ScalarQuery, SquaredError, limit, optimum, pure_limit,
};
use reticent_mechanisms::{Certificate, Delta, Distance, Epsilon, Mechanism, Notion, StaircaseAim};
use reticent_noise::Table;
use reticent_noise::randomness::SeededRandom;

const REAL: fn(f64) -> ScalarQuery =
    |d| ScalarQuery::Real { sensitivity: Distance::new(d).unwrap() };

fn budget(epsilon: f64, delta: f64) -> (Epsilon, Delta) {
    (Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap())
}

fn best(query: ScalarQuery, epsilon: f64, delta: f64, loss: &dyn Loss) -> Optimum {
    let (epsilon, delta) = budget(epsilon, delta);
    optimum(query, epsilon, delta, loss).unwrap()
}

/// The greatest violation over all shifts of at most `steps`, in plain `f64`, straight from the
/// definition.
fn worst_violation(table: &Table, steps: u64, epsilon: f64) -> f64 {
    let p = |k: i64| table.weight(k.unsigned_abs()) as f64 / table.total() as f64;
    let support = table.support_in_steps() as i64;
    let over = |shift: i64| {
        (-support..=support).map(|k| (p(k) - epsilon.exp() * p(k + shift)).max(0.0)).sum::<f64>()
    };
    (1..=steps as i64).flat_map(|shift| [shift, -shift]).map(over).fold(0.0, f64::max)
}

#[test]
fn within_a_hundredth_of_the_limit_and_of_what_is_stated() {
    for epsilon in [0.1, 1.0, 4.0] {
        for delta in [1e-3, 1e-6, 1e-9] {
            for (aim, loss) in [
                (StaircaseAim::MeanAbsolute, &AbsoluteError as &dyn Loss),
                (StaircaseAim::MeanSquare, &SquaredError),
            ] {
                let found = best(REAL(1.0), epsilon, delta, loss);
                assert!(
                    found.loss <= 1.003 * found.limit,
                    "{epsilon} {delta} {aim:?}: {} {}",
                    found.loss,
                    found.limit
                );
                // A second way to the loss.
                let errors = found.mechanism.errors().unwrap();
                let error = if aim == StaircaseAim::MeanAbsolute {
                    errors.mean_absolute
                } else {
                    errors.root_mean_square.square()
                };
                assert!(
                    (error.estimate() / found.loss - 1.0).abs() < 1e-9
                        && error.lower() <= found.loss
                );
                // The delta helps: the limit is below that without it, and goes to it as delta
                // vanishes.
                let pure =
                    pure_limit(aim, Distance::new(1.0).unwrap(), Epsilon::new(epsilon).unwrap());
                assert!(found.limit < pure.lower(), "{epsilon} {delta}");
                assert!(
                    delta > 1e-8 || found.limit > 0.997 * pure.upper(),
                    "{epsilon} {delta}: {} {pure:?}",
                    found.limit
                );
                // The guarantee, as certified and a second way.
                let Certificate::Delta(certified) = found.mechanism.certificate() else {
                    panic!("approximate")
                };
                assert!(
                    certified.upper() <= delta && certified.lower() > 0.9 * delta,
                    "{certified:?}"
                );
                let direct =
                    worst_violation(found.mechanism.table(), found.mechanism.steps(), epsilon);
                assert!(
                    (direct / certified.upper() - 1.0).abs() < 1e-6,
                    "{epsilon} {delta}: {direct:e} {certified:?}"
                );
                assert_eq!(found.mechanism.guarantee().notion, Notion::Approximate);
            }
        }
    }
}

#[test]
fn scale_is_a_matter_of_units() {
    let one = best(REAL(1.0), 1.0, 1e-6, &AbsoluteError);
    for distance in [1e-90, 0.3, 7e50] {
        let other = best(REAL(distance), 1.0, 1e-6, &AbsoluteError);
        assert!((other.limit / distance / one.limit - 1.0).abs() < 1e-9, "{distance}");
        assert!((other.loss / distance / one.loss - 1.0).abs() < 1e-9, "{distance}");
    }
}

#[test]
fn extreme_budgets_still_have_certified_tables() {
    for (epsilon, delta, far) in [
        (0.5, 1e-20, 1.003),
        (9.0, 1e-4, 1.05),
        (0.0, 1e-3, 1.001),
        (1.0, 0.3, 1.1),
        (0.01, 1e-5, 1.001),
    ] {
        let found = best(REAL(2.0), epsilon, delta, &AbsoluteError);
        assert!(
            found.loss <= far * found.limit,
            "{epsilon} {delta}: {} {}",
            found.loss,
            found.limit
        );
        assert!(found.mechanism.delta(epsilon).unwrap().upper() <= delta);
    }
    for (sensitivity, epsilon, delta) in
        [(1, 10.0, 1e-6), (1, 3.0, 0.9), (40, 0.5, 1e-6), (256, 3.0, 1e-3)]
    {
        let found = best(ScalarQuery::Integer { sensitivity }, epsilon, delta, &SquaredError);
        assert!(
            found.mechanism.delta(epsilon).unwrap().upper() <= delta && found.limit <= found.loss
        );
        assert!(
            delta > 0.5 || found.loss <= 1.01 * found.limit,
            "{sensitivity} {epsilon} {delta}: {} {}",
            found.loss,
            found.limit
        );
    }
}

#[test]
fn usefulness_has_a_limit_too() {
    for (epsilon, t) in [(1.0, 0.1), (1.0, 1.5), (3.0, 0.4)] {
        let found = best(REAL(1.0), epsilon, 1e-6, &Beyond { distance: t });
        let beyond = 1.0 - found.mechanism.usefulness(t).unwrap().estimate();
        assert!((beyond / found.loss - 1.0).abs() < 1e-6, "{epsilon} {t}: {beyond} {}", found.loss);
        assert!(found.loss <= 1.05 * found.limit, "{epsilon} {t}: {} {}", found.loss, found.limit);
    }
}

/// The statistic of a chi-square test of draws against a table: cells of at least 25 expected
/// draws, the rest of each side in one.
fn statistic(
    counts: &std::collections::HashMap<i64, f64>,
    draws: f64,
    table: &Table,
) -> (f64, f64) {
    let (mut sum, mut cells) = (0.0, 0.0);
    let mut add = |count: f64, expected: f64| {
        sum += (count - expected).powi(2) / expected;
        cells += 1.0;
    };
    let expected = |k: i64| draws * table.weight(k.unsigned_abs()) as f64 / table.total() as f64;
    let edge = (0..).find(|&k| expected(k + 1) < 25.0).unwrap();
    (-edge..=edge).for_each(|k| add(counts.get(&k).copied().unwrap_or(0.0), expected(k)));
    let beyond: f64 = (edge + 1..=table.support_in_steps() as i64).map(|k| 2.0 * expected(k)).sum();
    if beyond > 25.0 {
        add(counts.iter().filter(|(k, _)| k.abs() > edge).map(|(_, count)| count).sum(), beyond);
    }
    (sum, cells - 1.0)
}

#[test]
fn released_numbers_follow_the_table() {
    let draws = 100_000;
    for (seed, query) in [(5, REAL(2.0)), (6, ScalarQuery::Integer { sensitivity: 3 })] {
        let found = best(query, 1.0, 1e-4, &AbsoluteError);
        let (releaser, step) = (found.mechanism.releaser().unwrap(), found.mechanism.spacing());
        let mut random = SeededRandom::new(seed);
        let mut counts = std::collections::HashMap::new();
        for _ in 0..draws {
            let noise = releaser.release(10.0, &mut random).unwrap() - 10.0;
            *counts.entry((noise / step).round() as i64).or_insert(0.0) += 1.0;
        }
        // With n degrees of freedom the statistic is above n + 2 sqrt(n x) + 2x with probability at
        // most e^-x (Laurent and Massart), 1e-7 for x = 16.2.
        let bound = |n: f64| n + 8.1 * n.sqrt() + 32.4;
        let (sum, degrees) = statistic(&counts, f64::from(draws), found.mechanism.table());
        assert!(sum < bound(degrees), "{query:?}: {sum} of {degrees}");
        // Power: the table of a budget 5% larger is rejected.
        let wrong = best(query, 1.05, 1e-4, &AbsoluteError);
        let (sum, degrees) = statistic(&counts, f64::from(draws), wrong.mechanism.table());
        assert!(sum > bound(degrees), "{query:?}: no power, {sum} of {degrees}");
    }
}

#[test]
fn neighbours_are_not_told_apart_beyond_the_guarantee() {
    // The best test of one against the other answer, with sets of outputs fixed beforehand by the
    // table: S = {k : p_k > e^epsilon p_(k+m)}.
    let (epsilon, delta, draws) = (1.0, 0.05, 200_000);
    let found = best(ScalarQuery::Integer { sensitivity: 2 }, epsilon, delta, &AbsoluteError);
    let (table, releaser) = (found.mechanism.table(), found.mechanism.releaser().unwrap());
    let p = |k: i64| table.weight(k.unsigned_abs()) as f64;
    let telling = |output: f64| p(output as i64) > 1f64.exp() * p(output as i64 + 2);
    let mut random = SeededRandom::new(7);
    let mut share = |value: f64| {
        (0..draws).filter(|_| telling(releaser.release(value, &mut random).unwrap())).count() as f64
            / f64::from(draws)
    };
    // The outputs around 0 and, for the neighbour, around -2.
    let advantage = share(0.0) - 1f64.exp() * share(-2.0);
    // Hoeffding: one of the shares is off by more than 0.025/(1 + e) with probability below 4
    // exp(-2 n (0.025/(1 + e))^2) = 6e-8.
    assert!(advantage <= delta + 0.025, "{advantage}");
    assert!(
        advantage >= delta - 0.025,
        "the guarantee is met tightly, so the best test comes near it: {advantage}"
    );
}

#[test]
fn what_has_no_meaning_is_refused_by_name() {
    let (epsilon, delta) = budget(1.0, 1e-6);
    let refused = |query, epsilon, delta, word: &str| {
        let error = optimum(query, epsilon, delta, &AbsoluteError).unwrap_err().to_string();
        assert!(error.contains(word), "{word}: {error}");
    };
    refused(ScalarQuery::Integer { sensitivity: 0 }, epsilon, delta, "`sensitivity` is 0,");
    refused(ScalarQuery::Integer { sensitivity: u64::MAX }, epsilon, delta, "`sensitivity`");
    refused(ScalarQuery::Integer { sensitivity: 1000 }, epsilon, delta, "limit only");
    refused(REAL(1.0), Epsilon::new(50.0).unwrap(), delta, "`epsilon` is 50,");
    refused(REAL(1.0), Epsilon::new(1e-4).unwrap(), delta, "sensitivities");
    refused(REAL(1.0), epsilon, Delta::new(1e-30).unwrap(), "`delta` is 1e-30");
    assert!(
        limit(REAL(1.0), Epsilon::new(0.0).unwrap(), None, &AbsoluteError).is_err(),
        "no pure noise keeps epsilon zero"
    );
}

#[test]
fn losses_of_which_nothing_good_is_known_do_no_harm() {
    #[derive(Debug)]
    struct Odd(f64, f64);
    impl Loss for Odd {
        fn least_on(&self, _: f64, _: f64) -> f64 {
            self.0
        }
        fn greatest_on(&self, _: f64, _: f64) -> f64 {
            self.1
        }
    }
    let (epsilon, delta) = budget(1.0, 1e-6);
    for (least, greatest) in
        [(f64::NAN, f64::NAN), (1.0, f64::INFINITY), (f64::NAN, 1.0), (f64::NEG_INFINITY, 1.0)]
    {
        assert!(
            optimum(REAL(1.0), epsilon, delta, &Odd(least, greatest)).is_err(),
            "{least} {greatest}"
        );
    }
    // A constant loss is its own limit; one of zero has the limit zero.
    for value in [0.0, 3.0] {
        let found = limit(REAL(1.0), epsilon, Some(delta), &Odd(value, value)).unwrap();
        assert!(found <= value && found >= value * (1.0 - 1e-6), "{value}: {found}");
    }
    // A smaller delta than the programme can tell is taken for the least that it can.
    let tiny =
        limit(REAL(1.0), epsilon, Some(Delta::new(1e-300).unwrap()), &AbsoluteError).unwrap();
    assert!(tiny > 0.9594 && tiny < 0.9596, "{tiny}");
}
