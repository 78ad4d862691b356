//! The limit is below every mechanism, near the best, and what a plain linear programme says.

#![allow(clippy::unwrap_used, clippy::panic)]

use reticent_choice::{AbsoluteError, Beyond, Loss, ScalarQuery, SquaredError, limit, optimum};
use reticent_mechanisms::{
    Delta, DiscreteGaussianMechanism, DiscreteLaplace, Distance, Epsilon, GaussianMechanism,
    GaussianMethod, Laplace, Mechanism, Neighbours, Sensitivity, Staircase, StaircaseAim,
    TruncatedLaplace,
};
use reticent_noise::randomness::{RandomBits, SeededRandom};

fn real(sensitivity: f64) -> ScalarQuery {
    ScalarQuery::Real { sensitivity: Distance::new(sensitivity).unwrap() }
}

fn budget(epsilon: f64, delta: f64) -> (Epsilon, Delta) {
    (Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap())
}

/// Uniform on `[0, 1)`, for parameters.
fn uniform(random: &mut SeededRandom) -> f64 {
    (random.next_u64().unwrap() >> 11) as f64 / 2f64.powi(53)
}

/// The mean absolute error, the mean square error and the exceedance of `t`, from above.
fn losses_of(mechanism: &dyn Mechanism, t: f64) -> [f64; 3] {
    let errors = mechanism.errors().unwrap();
    let beyond = 1.0 - mechanism.usefulness(t).unwrap().lower();
    [errors.mean_absolute.upper(), errors.root_mean_square.square().upper(), beyond]
}

fn real_mechanisms(
    distance: f64,
    epsilon: Epsilon,
    delta: Delta,
    t: f64,
) -> Vec<Box<dyn Mechanism>> {
    let scalar = Sensitivity::scalar(distance, Neighbours::AddRemove).unwrap();
    let gaussian = GaussianMechanism::calibrate(
        GaussianMethod::Analytic,
        &Distance::new(distance).unwrap().into(),
        (epsilon, delta),
    );
    let mut all: Vec<Box<dyn Mechanism>> = vec![
        Box::new(Laplace::calibrate(&scalar, epsilon).unwrap()),
        Box::new(gaussian.unwrap()),
        Box::new(TruncatedLaplace::calibrate(&scalar, (epsilon, delta)).unwrap()),
    ];
    for aim in [StaircaseAim::MeanAbsolute, StaircaseAim::MeanSquare, StaircaseAim::Usefulness(t)] {
        all.push(Box::new(Staircase::calibrate(aim, &scalar, epsilon).unwrap()));
    }
    all
}

#[test]
fn no_mechanism_on_real_numbers_is_below_the_limit() {
    let mut random = SeededRandom::new(1);
    for _ in 0..12 {
        let epsilon = 10f64.powf(-1.2 + 2.0 * uniform(&mut random));
        let delta = 10f64.powf(-12.0 + 11.5 * uniform(&mut random));
        let distance = 10f64.powf(-3.0 + 6.0 * uniform(&mut random));
        let t = distance * 3.0 * uniform(&mut random);
        let (epsilon, delta) = budget(epsilon, delta);
        let limits = [&AbsoluteError as &dyn Loss, &SquaredError, &Beyond { distance: t }]
            .map(|loss| limit(real(distance), epsilon, Some(delta), loss).unwrap());
        for mechanism in real_mechanisms(distance, epsilon, delta, t) {
            for (limit, error) in limits.iter().zip(losses_of(mechanism.as_ref(), t)) {
                assert!(
                    *limit <= error,
                    "{epsilon:?} {delta:?} {distance} {t}: {limit} > {error} of {mechanism:?}"
                );
            }
        }
        // A limit of zero would pass all of this.
        let best = optimum(real(distance), epsilon, delta, &AbsoluteError).unwrap();
        assert_eq!(best.limit, limits[0]);
        let close = if delta.get() < 1e-3 { 1.02 } else { 1.2 };
        assert!(
            best.loss <= close * best.limit,
            "{epsilon:?} {delta:?}: {} {}",
            best.loss,
            best.limit
        );
    }
}

#[test]
fn no_mechanism_on_integers_is_below_the_limit() {
    let mut random = SeededRandom::new(2);
    for round in 0..16 {
        let epsilon = 10f64.powf(-1.0 + 1.8 * uniform(&mut random));
        let delta = 10f64.powf(-10.0 + 9.0 * uniform(&mut random));
        // Beyond 256, and where the noise is wide, the limit goes by way of real noise.
        let sensitivity = [1, 2, 3, 7, 20, 100, 300, 5000][round % 8];
        let query = ScalarQuery::Integer { sensitivity };
        let (epsilon, delta) = budget(epsilon, delta);
        let discrete: [Box<dyn Mechanism>; 2] = [
            Box::new(
                DiscreteLaplace::calibrate(&Sensitivity::whole(sensitivity), epsilon).unwrap(),
            ),
            Box::new(
                DiscreteGaussianMechanism::calibrate(
                    &Sensitivity::whole(sensitivity),
                    (epsilon, delta),
                )
                .unwrap(),
            ),
        ];
        let limits = [&AbsoluteError as &dyn Loss, &SquaredError]
            .map(|loss| limit(query, epsilon, Some(delta), loss).unwrap());
        for mechanism in discrete {
            for (limit, error) in limits.iter().zip(losses_of(mechanism.as_ref(), 1.0)) {
                assert!(
                    *limit <= error,
                    "{epsilon:?} {delta:?} {sensitivity}: {limit} > {error} of {mechanism:?}"
                );
            }
        }
        // Power: for a small delta the limit is near that of real noise without any.
        let pure = limit(real(sensitivity as f64), epsilon, None, &AbsoluteError).unwrap();
        let small = delta.get() < 1e-6 && epsilon.get() < 1.0;
        assert!(
            !small || limits[0] > 0.85 * pure,
            "{epsilon:?} {delta:?} {sensitivity}: {limits:?} {pure}"
        );
    }
}

#[test]
fn integers_agree_with_the_plain_programme() {
    let reference: serde_json::Value =
        serde_json::from_str(include_str!("../../../reference/integer_limit.json")).unwrap();
    let rows = reference["rows"].as_array().unwrap();
    assert!(rows.len() > 150);
    let mut decreasing_costs = 0;
    for row in rows {
        let number = |key: &str| row[key].as_f64().unwrap();
        let loss: Box<dyn Loss> = match row["metric"].as_str().unwrap() {
            "l1" => Box::new(AbsoluteError),
            "l2" => Box::new(SquaredError),
            _ => Box::new(Beyond { distance: 1.0 }),
        };
        let (epsilon, delta) = budget(number("eps"), number("delta"));
        let query = ScalarQuery::Integer { sensitivity: row["sensitivity"].as_u64().unwrap() };
        let best = optimum(query, epsilon, delta, loss.as_ref()).unwrap();
        let (least, least_decreasing) = (number("least"), number("least_decreasing"));
        // The reference is good to 1e-7, and ends a step or two further out, where a bounded loss
        // has some use for it.
        let bounded = row["metric"] == "beyond:1";
        assert!(best.limit <= least * (1.0 + 1e-7) + 1e-9, "{row}: {}", best.limit);
        assert!(best.loss >= least_decreasing * (1.0 - 1e-7) - 1e-9, "{row}: {}", best.loss);
        assert!(
            best.loss <= least_decreasing * if bounded { 1.02 } else { 1.0 + 1e-5 } + 1e-9,
            "{row}: {}",
            best.loss
        );
        // The limit loses nothing to the lattice, nor to the tests that are left out.
        assert!(
            best.limit >= least * if bounded { 0.95 } else { 1.0 - 1e-5 },
            "{row}: {}",
            best.limit
        );
        decreasing_costs += usize::from(least_decreasing > least * 1.001);
    }
    // That noise should not increase away from zero is an assumption that the limit must not make.
    assert!(decreasing_costs > 20, "{decreasing_costs}");
}

#[test]
fn small_losses_have_a_limit_next_to_truncated_laplace_noise() {
    for (epsilon, delta) in [(0.03, 1e-4), (1e-3, 1e-6), (1e-6, 1e-12), (1e-9, 1e-3)] {
        let (epsilon, delta) = budget(epsilon, delta);
        let scalar = Sensitivity::scalar(3.0, Neighbours::AddRemove).unwrap();
        let errors =
            losses_of(&TruncatedLaplace::calibrate(&scalar, (epsilon, delta)).unwrap(), 1.0);
        for (loss, error) in [(&AbsoluteError as &dyn Loss, errors[0]), (&SquaredError, errors[1])]
        {
            let least = limit(real(3.0), epsilon, Some(delta), loss).unwrap();
            assert!(
                least <= error && least > 0.998 * error,
                "{epsilon:?} {delta:?} {loss:?}: {least} {error}"
            );
            // Integers by way of real noise, less what spreading gains.
            let integers =
                limit(ScalarQuery::Integer { sensitivity: 3 }, epsilon, Some(delta), loss).unwrap();
            assert!(
                integers <= error && integers > 0.99 * least - 0.5,
                "{epsilon:?} {delta:?}: {integers} {least}"
            );
        }
    }
}
