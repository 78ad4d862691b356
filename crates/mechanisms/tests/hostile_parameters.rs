//! Numbers that no one should give: every constructor refuses them or makes a mechanism that is
//! sound, and nothing panics.
#![allow(clippy::unwrap_used, clippy::panic)]

use reticent_mechanisms::{
    BoundedQuery, Certificate, Clamped, ContinuousExponential, Delta, DiscreteGaussianMechanism,
    DiscreteLaplace, Distance, Epsilon, Exponential, GaussianMechanism, GaussianMethod,
    GeneralizedGaussian, GeneralizedGaussianMethod, InflatedGeneralizedGaussian, Laplace,
    Mechanism, MechanismError, Neighbours, Notion, Order, PermuteAndFlip,
    RandomScaleGaussianMechanism, RandomScaleLaplace, RandomizedResponse, Scale, Sensitivity,
    Staircase, StaircaseAim, Support, Tabulated, TruncatedGeneralizedGaussian, TruncatedLaplace,
    TruncatedMethod, UtilityChange, utility_sensitivity,
};
use reticent_noise::Table;
use reticent_noise::random_scale::{
    Combined, GammaScale, InverseScale, TruncatedGaussianScale, TwoPointScale, UniformScale,
};
use reticent_noise::randomness::SeededRandom;

const HOSTILE: [f64; 19] = [
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    0.0,
    -0.0,
    5e-324,
    f64::MIN_POSITIVE,
    -1e-308,
    -1.0,
    1e-300,
    1e-100,
    1e-9,
    1.0,
    0.999_999_999_999_999_9,
    700.0,
    700.000_000_1,
    1e100,
    1e308,
    f64::MAX,
];

fn losses() -> Vec<Epsilon> {
    HOSTILE.iter().filter_map(|&value| Epsilon::new(value).ok()).collect()
}

/// For mechanisms that take their time.
fn few_losses() -> [Epsilon; 4] {
    [0.0, 5e-324, 1.0, 700.0].map(|value| Epsilon::new(value).unwrap())
}

fn deltas() -> Vec<Delta> {
    HOSTILE.iter().filter_map(|&value| Delta::new(value).ok()).collect()
}

fn distances() -> Vec<Distance> {
    HOSTILE.iter().filter_map(|&value| Distance::new(value).ok()).collect()
}

/// A refusal that tells why, or a mechanism that keeps what it guarantees and says nothing
/// impossible about itself, whatever it is asked.
fn check<M: Mechanism>(made: Result<M, MechanismError>) -> bool {
    let mechanism = match made {
        Ok(mechanism) => mechanism,
        Err(error) => {
            assert!(error.to_string().split_whitespace().count() >= 5, "{error}");
            return false;
        }
    };
    let guarantee = mechanism.guarantee();
    match (guarantee.notion, mechanism.certificate()) {
        (Notion::Pure, Certificate::Epsilon(loss)) => {
            assert!(guarantee.epsilon > 0.0 && loss.upper() <= guarantee.epsilon, "{mechanism:?}");
            assert_eq!(mechanism.delta(guarantee.epsilon).unwrap().upper(), 0.0, "{mechanism:?}");
        }
        (Notion::Approximate | Notion::Probabilistic, Certificate::Delta(delta)) => {
            assert!(delta.upper() <= guarantee.delta, "{mechanism:?}");
            // A certificate in the probabilistic notion is no evaluation of the profile, which it
            // bounds: that one has a rounding error of its own.
            let room =
                if guarantee.notion == Notion::Probabilistic { 2.0 * f64::EPSILON } else { 0.0 };
            let profile = mechanism.delta(guarantee.epsilon).unwrap();
            assert!(
                profile.upper() <= guarantee.delta * (1.0 + room),
                "{mechanism:?}: {profile:?}"
            );
        }
        _ => panic!("{mechanism:?}"),
    }
    for value in HOSTILE {
        match mechanism.delta(value) {
            Ok(delta) => {
                assert!(
                    0.0 <= delta.lower() && delta.lower() <= delta.upper() && delta.upper() <= 1.0,
                    "{mechanism:?}"
                );
                assert!(value >= 0.0 && value.is_finite(), "{mechanism:?} has a delta at {value}");
                let beyond = value >= guarantee.epsilon && guarantee.notion == Notion::Pure;
                assert!(!beyond || delta.upper() == 0.0, "{mechanism:?} at {value}: {delta:?}");
            }
            Err(error) => {
                assert!(error.to_string().contains("epsilon"), "{mechanism:?} at {value}: {error}")
            }
        }
        if let Some(share) = mechanism.usefulness(value) {
            assert!(
                0.0 <= share.lower() && share.lower() <= share.upper() && share.upper() <= 1.0,
                "{mechanism:?} {value}"
            );
        }
    }
    if let Some(errors) = mechanism.errors() {
        for figure in [errors.mean_absolute, errors.root_mean_square, errors.quantile_95] {
            assert!(
                figure.lower() <= figure.upper() && figure.upper() >= 0.0,
                "{mechanism:?}: {errors:?}"
            );
        }
        assert!(errors.entropy.lower() <= errors.entropy.upper(), "{mechanism:?}: {errors:?}");
    }
    let _ = (mechanism.event(), mechanism.parameters(), mechanism.scale());
    if let Ok(releaser) = mechanism.releaser() {
        let mut random = SeededRandom::new(1);
        for value in HOSTILE {
            assert!(
                !releaser.release(value, &mut random).unwrap().is_nan(),
                "{mechanism:?} {value}"
            );
        }
    }
    true
}

#[test]
fn parameters_are_checked_before_anything_else() {
    for value in HOSTILE {
        for refused in [
            Epsilon::new(value).is_ok() && !(0.0..=700.0).contains(&value),
            Epsilon::positive(value).is_ok() && !(value > 0.0 && value <= 700.0),
            Delta::new(value).is_ok() && !(value > 0.0 && value < 1.0),
            Distance::new(value).is_ok() && !(value > 0.0 && value.is_finite()),
            Scale::new(value).is_ok() && !(value > 0.0 && value.is_finite()),
            Order::new(value).is_ok() && !(value > 0.0 && value <= 100.0),
            Sensitivity::scalar(value, Neighbours::AddRemove).is_ok()
                && !(value > 0.0 && value.is_finite()),
            Sensitivity::per_element(&[value], Neighbours::Replace).is_ok()
                && !(value > 0.0 && value.is_finite()),
            Sensitivity::disjoint(value, Neighbours::Replace).is_ok()
                && !(value > 0.0 && value.is_finite()),
        ] {
            assert!(!refused, "{value}");
        }
        for other in HOSTILE {
            let range = Sensitivity::ranges(&[(value, other)], Neighbours::AddRemove);
            assert!(range.is_err() || (other > value && other - value < 1e101), "{value} {other}");
            let norm = Sensitivity::norm(value, other, Neighbours::AddRemove);
            assert!(
                norm.is_err() || (value > 0.0 && other > 0.0 && other.is_finite()),
                "{value} {other}"
            );
            let query = BoundedQuery::new(value, other, Distance::new(1.0).unwrap());
            assert!(query.is_err() || other > value, "{value} {other}");
        }
    }
}

#[test]
fn pure_noise() {
    let mut made = 0;
    for epsilon in losses() {
        for distance in distances() {
            let scalar = Sensitivity::scalar(distance.get(), Neighbours::AddRemove).unwrap();
            made += usize::from(check(Laplace::calibrate(&scalar, epsilon)));
            for aim in HOSTILE.map(StaircaseAim::Usefulness).into_iter().chain([
                StaircaseAim::MeanAbsolute,
                StaircaseAim::MeanSquare,
                StaircaseAim::Entropy,
            ]) {
                made += usize::from(check(Staircase::calibrate(aim, &scalar, epsilon)));
            }
            for gamma in HOSTILE {
                made += usize::from(check(Staircase::with_gamma(&scalar, epsilon, gamma)));
            }
            for scale in HOSTILE.into_iter().filter_map(|value| Scale::new(value).ok()) {
                made += usize::from(check(Laplace::with_scale(&scalar, scale)));
            }
        }
        for distance in [0, 1, 3, 1 << 53, (1 << 53) + 1, u64::MAX] {
            made += usize::from(check(DiscreteLaplace::calibrate(
                &Sensitivity::whole(distance),
                epsilon,
            )));
            for (lower, upper) in
                [(0, 0), (i64::MIN, i64::MAX), (0, 5), (5, 0), (-(1 << 53), 1 << 53)]
            {
                let clamped = DiscreteLaplace::calibrate(&Sensitivity::whole(distance), epsilon)
                    .and_then(|noise| noise.clamped(lower, upper));
                made += usize::from(check(clamped));
            }
            made += usize::from(check(RandomizedResponse::new(distance, epsilon)));
        }
    }
    for scale in HOSTILE {
        made += usize::from(check(DiscreteLaplace::with_scale(1, scale)));
    }
    assert!(made > 300, "{made}");
}

#[test]
fn gaussian_noise() {
    let mut made = 0;
    for epsilon in losses() {
        for distance in distances() {
            for delta in deltas() {
                for &method in GaussianMethod::ALL {
                    made += usize::from(check(GaussianMechanism::calibrate(
                        method,
                        &distance.into(),
                        (epsilon, delta),
                    )));
                }
            }
            for sigma in [1e-140, 1.0, 1e140] {
                made += usize::from(check(GaussianMechanism::with_sigma(
                    Scale::new(sigma).unwrap(),
                    distance,
                    epsilon,
                )));
            }
        }
        for distance in [0, 1, 1000, 1 << 53, u64::MAX] {
            for delta in deltas() {
                made += usize::from(check(DiscreteGaussianMechanism::calibrate(
                    &Sensitivity::whole(distance),
                    (epsilon, delta),
                )));
            }
            for sigma in HOSTILE {
                made += usize::from(check(DiscreteGaussianMechanism::with_sigma(
                    sigma, distance, epsilon,
                )));
            }
        }
    }
    assert!(made > 300, "{made}");
}

#[test]
fn gaussian_noise_of_random_scale() {
    let one = Distance::new(1.0).unwrap();
    let ordinary = Epsilon::new(1.0).unwrap();
    let mut made = 0;
    for value in HOSTILE {
        for components in [
            vec![(value, 1.0)],
            vec![(1.0, value)],
            vec![(1.0, 0.5), (value, 0.5)],
            vec![(1.0, value), (2.0, 1.0 - value)],
        ] {
            made +=
                usize::from(check(RandomScaleGaussianMechanism::new(components, one, ordinary)));
        }
    }
    made += usize::from(check(RandomScaleGaussianMechanism::new(Vec::new(), one, ordinary)));
    assert!(made > 3, "{made}");
}

#[test]
fn generalized_gaussian_noise() {
    let mut made = 0;
    for p in [0.2, 0.9, 1.0, 1.0 + f64::EPSILON, 2.0, 100.0] {
        let order = Order::new(p).unwrap();
        for epsilon in few_losses() {
            for distance in [1e-100, 1.0, 1e100].map(|value| Distance::new(value).unwrap()) {
                made += usize::from(check(GeneralizedGaussian::calibrate(
                    order,
                    GeneralizedGaussianMethod::Exact,
                    &Sensitivity::from(&[distance][..]),
                    epsilon,
                )));
                for scale in [1e-140, 1.0, 1e140].map(|value| Scale::new(value).unwrap()) {
                    made += usize::from(check(GeneralizedGaussian::with_scale(
                        order,
                        scale,
                        &Sensitivity::from(&[distance][..]),
                        epsilon,
                    )));
                }
            }
        }
        made += usize::from(check(GeneralizedGaussian::calibrate(
            order,
            GeneralizedGaussianMethod::Exact,
            &Sensitivity::from(&[][..]),
            Epsilon::new(1.0).unwrap(),
        )));
    }
    use GeneralizedGaussianMethod::{Exact, Probabilistic, TwoSided};
    for p in [1.5, 4.0] {
        for method in [Exact, Probabilistic, TwoSided] {
            for epsilon in few_losses() {
                for delta in deltas() {
                    let (order, one) = (Order::new(p).unwrap(), Distance::new(1.0).unwrap());
                    made += usize::from(check(GeneralizedGaussian::calibrate(
                        order,
                        method,
                        &Sensitivity::from(&[one][..]),
                        (epsilon, delta),
                    )));
                }
            }
        }
    }
    assert!(made > 100, "{made}");
}

/// A run with more orders failed here: the loss is `(R/b)^p`, beyond every `f64`, and was
/// guaranteed as an epsilon of infinity.
#[test]
fn an_infinite_epsilon_is_no_guarantee() {
    let query = BoundedQuery::new(0.0, 1.0, Distance::new(0.4).unwrap()).unwrap();
    let (order, scale) = (Order::new(100.0).unwrap(), Scale::new(1e-4).unwrap());
    let truncated =
        TruncatedGeneralizedGaussian::with_scale(order, query, scale).map(|made| made.guarantee());
    let inflated =
        InflatedGeneralizedGaussian::with_scale(order, query, scale).map(|made| made.guarantee());
    for refused in [truncated, inflated] {
        assert!(
            refused.as_ref().is_err_and(|error| error.to_string().contains("epsilon")),
            "{refused:?}"
        );
    }
}

#[test]
fn bounded_queries() {
    let mut made = 0;
    for (lower, upper) in [(0.0, 1.0), (-1e100, 1e100), (1.0, 1.0 + 1e-11), (0.0, 1e-100)] {
        for distance in [1e-100, 0.4, 1e100].map(|value| Distance::new(value).unwrap()) {
            let Ok(query) = BoundedQuery::new(lower, upper, distance) else { continue };
            for p in [0.5, 1.0, 2.0] {
                let order = Order::new(p).unwrap();
                let gap = utility_sensitivity(order, query);
                assert!(gap.lower() <= gap.upper());
                for epsilon in few_losses() {
                    made += usize::from(check(InflatedGeneralizedGaussian::calibrate(
                        order,
                        query.bounds(),
                        &query.into(),
                        epsilon,
                    )));
                    made += usize::from(check(ContinuousExponential::calibrate(
                        order,
                        query.bounds(),
                        &query.into(),
                        epsilon,
                    )));
                    let paper = TruncatedMethod::Paper;
                    made += usize::from(check(TruncatedGeneralizedGaussian::calibrate(
                        order,
                        paper,
                        query.bounds(),
                        &query.into(),
                        epsilon,
                    )));
                }
                for scale in [1e-140, 1.0, 1e140].map(|value| Scale::new(value).unwrap()) {
                    made += usize::from(check(InflatedGeneralizedGaussian::with_scale(
                        order, query, scale,
                    )));
                    // Noise that is flat to 280 digits takes a second for each delta: once is
                    // enough.
                    if scale.get() <= 1.0 || (p == 2.0 && upper == 1.0 && distance.get() == 0.4) {
                        made += usize::from(check(TruncatedGeneralizedGaussian::with_scale(
                            order, query, scale,
                        )));
                    }
                }
            }
        }
    }
    let scalar = Sensitivity::scalar(1.0, Neighbours::AddRemove).unwrap();
    for lower in HOSTILE {
        for upper in HOSTILE {
            let inner = Laplace::calibrate(&scalar, Epsilon::new(1.0).unwrap()).unwrap();
            made += usize::from(check(Clamped::new(Box::new(inner), lower, upper)));
        }
    }
    assert!(made > 100, "{made}");
}

#[test]
fn laplace_noise_of_random_scale() {
    let mut made = 0;
    let mut families: Vec<InverseScale> = Vec::new();
    for first in HOSTILE {
        for second in HOSTILE {
            families.extend(GammaScale::new(first, second).ok().map(InverseScale::from));
            families.extend(UniformScale::new(first, second).ok().map(InverseScale::from));
            families.extend(TwoPointScale::new(first, second, 0.5).ok().map(InverseScale::from));
            families.extend(TwoPointScale::new(1.0, first, second).ok().map(InverseScale::from));
            families.extend(
                TruncatedGaussianScale::new(first, second, 0.0, 2.0).ok().map(InverseScale::from),
            );
            families.extend(
                TruncatedGaussianScale::new(1.0, 1.0, first, second).ok().map(InverseScale::from),
            );
        }
        let gamma = GammaScale::new(1.0, 1.0).unwrap();
        families.extend(Combined::new(vec![(first, gamma.into())]).ok().map(InverseScale::from));
    }
    assert!(families.len() > 30 && Combined::new(Vec::new()).is_err());
    // Extreme families of the other kinds take seconds each: for them the constructors alone are
    // tried.
    let one = Distance::new(1.0).unwrap();
    for family in families.into_iter().filter(|family| matches!(family, InverseScale::Gamma(_))) {
        made += usize::from(
            RandomScaleLaplace::with_inverse_scale(family.clone(), &one.into()).is_ok(),
        );
        for epsilon in few_losses() {
            if let Ok(mechanism) =
                RandomScaleLaplace::calibrate(family.clone(), &one.into(), epsilon)
            {
                let Certificate::Epsilon(loss) = mechanism.certificate() else {
                    panic!("{mechanism:?}")
                };
                assert!(loss.upper() <= epsilon.get(), "{mechanism:?}");
                made += 1;
            }
        }
    }
    assert!(made > 5, "{made}");
}

#[test]
fn choices_by_utility() {
    let mut random = SeededRandom::new(1);
    for epsilon in losses() {
        for distance in distances() {
            let exponential =
                Exponential::calibrate(UtilityChange::OneWay, &distance.into(), epsilon);
            let flip =
                PermuteAndFlip::calibrate(UtilityChange::EitherWay, &distance.into(), epsilon);
            check(exponential.clone());
            check(flip.clone());
            for utility in HOSTILE {
                let utilities = [0.0, utility, -1.0];
                for choice in [
                    exponential
                        .as_ref()
                        .ok()
                        .map(|mechanism| mechanism.choose(&utilities, &mut random)),
                    flip.as_ref().ok().map(|mechanism| mechanism.choose(&utilities, &mut random)),
                ] {
                    let Some(choice) = choice else { continue };
                    assert_eq!(choice.is_ok(), utility.is_finite(), "{utility}: {choice:?}");
                    assert!(choice.is_err() || choice.is_ok_and(|index| index < 3));
                }
            }
        }
    }
}

#[test]
fn laplace_noise_that_ends() {
    let mut made = 0;
    for distance in distances() {
        let scalar = Sensitivity::scalar(distance.get(), Neighbours::AddRemove).unwrap();
        for epsilon in losses() {
            for delta in deltas() {
                made += usize::from(check(TruncatedLaplace::calibrate(&scalar, (epsilon, delta))));
            }
        }
        for scale in HOSTILE.iter().filter_map(|&value| Scale::new(value).ok()) {
            for support in HOSTILE {
                made += usize::from(check(TruncatedLaplace::with_support(
                    &scalar,
                    scale,
                    Support::InAnswers(support),
                    few_losses()[2],
                )));
            }
        }
    }
    assert!(made > 20, "{made}");
}

#[test]
fn tables() {
    let laws: [&[(u64, u32)]; 6] = [
        &[(1, 0)],
        &[(u64::MAX, 61), (1, 0)],
        &[(3, 100), (3, 100), (1, 90)],
        &[(5, 0), (4, 0), (4, 0), (1, 0), (1, 0)],
        &[(1, 2), (1, 3)],
        &[(7, 0); 3000],
    ];
    let mut made = 0;
    for table in laws.iter().filter_map(|parts| Table::from_parts(parts).ok()) {
        for epsilon in losses() {
            for delta in deltas() {
                for steps in [0, 1, 2, 3, 1 << 20, u64::MAX] {
                    made += usize::from(check(Tabulated::for_integers(
                        steps,
                        table.clone(),
                        epsilon,
                        delta,
                    )));
                    let scalar = Sensitivity::scalar(1e-90, Neighbours::AddRemove).unwrap();
                    made += usize::from(check(Tabulated::for_reals(
                        &scalar,
                        steps,
                        table.clone(),
                        epsilon,
                        delta,
                    )));
                }
            }
        }
    }
    assert!(made > 20, "{made}");
}
