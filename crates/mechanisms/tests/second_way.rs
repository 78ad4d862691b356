//! The profile of every additive mechanism, evaluated a second way: from the density and the tails
//! of the noise alone, with none of the mechanism's formulas.
//!
//! [`violation`] knows a noise only as a [`Noise`]; it finds the outputs that lose more than
//! epsilon by bisection and adds up their probabilities. Both results are certified bounds on the
//! same number, so they must intersect. The second is content with a relative `1e-13` of the
//! probability of those outputs, where the loss lets it; it is wide where the loss stays close to
//! epsilon for long, and so the grid keeps away from the pure epsilon itself.
#![allow(clippy::unwrap_used, clippy::panic)]

use reticent_mechanisms::{
    Delta, DiscreteGaussianMechanism, DiscreteLaplace, Distance, Epsilon, GaussianMechanism,
    GaussianMethod, GeneralizedGaussian, GeneralizedGaussianMethod, Laplace, Mechanism, Neighbours,
    Order, RandomScaleGaussianMechanism, RandomScaleLaplace, Sensitivity, Staircase, StaircaseAim,
};
use reticent_noise::privacy::violation;
use reticent_noise::random_scale::{
    Combined, GammaScale, InverseScale, TruncatedGaussianScale, TwoPointScale, UniformScale,
};
use reticent_noise::{GaussianMixture, Jittered, Noise};

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(value).unwrap()
}

fn delta(value: f64) -> Delta {
    Delta::new(value).unwrap()
}

fn one() -> Distance {
    Distance::new(1.0).unwrap()
}

/// Compares the two ways on a grid of shares of the guaranteed epsilon, for noise `scale X` and a
/// move by `distance`.
fn agrees<N: Noise>(mechanism: &dyn Mechanism, noise: &N, scale: f64, distance: f64, widest: f64) {
    let guaranteed = mechanism.guarantee().epsilon;
    for share in [0.1, 0.37, 0.8, 1.3] {
        let epsilon = share * guaranteed;
        let (first, second) =
            (mechanism.delta(epsilon).unwrap(), violation(noise, scale, distance, epsilon).delta);
        let name = format!("{mechanism:?} at {epsilon}: {first:?} and {second:?}");
        assert!(
            first.lower() <= second.upper() && second.lower() <= first.upper(),
            "disjoint: {name}"
        );
        assert!(first.width() <= 1e-10 * first.upper(), "the mechanism's own is wide: {name}");
        assert!(second.width() <= widest, "the second is wide: {name}");
        // Where there is something to see, both see it.
        if first.lower() > 10.0 * widest {
            assert!(second.lower() > 0.9 * first.lower(), "{name}");
        }
    }
}

#[test]
fn laplace() {
    for loss in [0.1, 1.0, 5.0, 30.0] {
        let sensitivity = Sensitivity::scalar(1.0, Neighbours::AddRemove).unwrap();
        let mechanism = Laplace::calibrate(&sensitivity, epsilon(loss)).unwrap();
        agrees(&mechanism, &reticent_noise::Laplace, mechanism.scale(), 1.0, 1e-5);
    }
}

#[test]
fn staircase() {
    let sensitivity = Sensitivity::scalar(1.0, Neighbours::AddRemove).unwrap();
    for loss in [0.1, 1.0, 5.0] {
        for aim in
            [StaircaseAim::MeanAbsolute, StaircaseAim::MeanSquare, StaircaseAim::Usefulness(0.7)]
        {
            let mechanism = Staircase::calibrate(aim, &sensitivity, epsilon(loss)).unwrap();
            let noise = reticent_noise::Staircase::new(loss, mechanism.gamma()).unwrap();
            agrees(&mechanism, &noise, mechanism.scale(), mechanism.scale(), 1e-5);
        }
    }
}

#[test]
fn discrete_laplace_and_gaussian() {
    for (distance, loss) in [(1, 1.0), (3, 0.5), (4, 6.0)] {
        let mechanism =
            DiscreteLaplace::calibrate(&Sensitivity::whole(distance), epsilon(loss)).unwrap();
        let noise = Jittered(reticent_noise::DiscreteLaplace::new(mechanism.scale()).unwrap());
        agrees(&mechanism, &noise, 1.0, distance as f64, 1e-5);
        for budget in [0.05, 1e-6, 1e-12] {
            let mechanism = DiscreteGaussianMechanism::calibrate(
                &Sensitivity::whole(distance),
                (epsilon(loss), delta(budget)),
            )
            .unwrap();
            let noise = Jittered(reticent_noise::DiscreteGaussian::new(mechanism.scale()).unwrap());
            agrees(&mechanism, &noise, 1.0, distance as f64, 1e-9);
        }
    }
}

#[test]
fn gaussian_by_every_method() {
    for &method in GaussianMethod::ALL {
        for (loss, budget) in [(0.1, 0.05), (0.5, 1e-6), (0.9, 1e-12)] {
            let mechanism =
                GaussianMechanism::calibrate(method, &one().into(), (epsilon(loss), delta(budget)))
                    .unwrap();
            agrees(&mechanism, &reticent_noise::Gaussian, mechanism.scale(), 1.0, 1e-9);
        }
    }
    let strong = GaussianMechanism::calibrate(
        GaussianMethod::Analytic,
        &one().into(),
        (epsilon(20.0), delta(1e-3)),
    )
    .unwrap();
    agrees(&strong, &reticent_noise::Gaussian, strong.scale(), 1.0, 1e-9);
}

#[test]
fn generalized_gaussian_of_every_kind_of_order() {
    let exact = GeneralizedGaussianMethod::Exact;
    for p in [1.5, 2.0, 3.0] {
        for (loss, budget) in [(1.0, 1e-6), (8.0, 1e-3)] {
            let order = Order::new(p).unwrap();
            let noise = reticent_noise::GeneralizedGaussian::new(p).unwrap();
            let mechanism = GeneralizedGaussian::calibrate(
                order,
                exact,
                &Sensitivity::from(&[one()][..]),
                (epsilon(loss), delta(budget)),
            )
            .unwrap();
            agrees(&mechanism, &noise, mechanism.scale(), mechanism.sensitivities()[0], 1e-9);
        }
    }
    let mechanism = GeneralizedGaussian::calibrate(
        Order::new(0.5).unwrap(),
        GeneralizedGaussianMethod::Exact,
        &Sensitivity::from(&[one()][..]),
        epsilon(1.0),
    )
    .unwrap();
    let noise = reticent_noise::GeneralizedGaussian::new(0.5).unwrap();
    agrees(&mechanism, &noise, mechanism.scale(), mechanism.sensitivities()[0], 1e-5);
}

#[test]
fn laplace_of_random_scale_in_every_family() {
    let gamma = GammaScale::new(3.0, 0.5).unwrap();
    let uniform = UniformScale::new(0.5, 1.5).unwrap();
    let families: [InverseScale; 5] = [
        TwoPointScale::new(0.5, 4.0, 0.5).unwrap().into(),
        gamma.into(),
        uniform.into(),
        TruncatedGaussianScale::new(1.0, 0.3, 0.2, 2.0).unwrap().into(),
        Combined::new(vec![(0.7, gamma.into()), (1.0, uniform.into())]).unwrap().into(),
    ];
    for family in families {
        for loss in [0.5, 2.0] {
            let mechanism =
                RandomScaleLaplace::calibrate(family.clone(), &one().into(), epsilon(loss))
                    .unwrap();
            let noise = reticent_noise::RandomScaleLaplace::new(mechanism.inverse_scale().clone());
            agrees(&mechanism, &noise, 1.0, mechanism.sensitivity(), 1e-5);
        }
    }
}

#[test]
fn gaussian_of_random_scale() {
    for (loss, budget) in [(1.0, 0.05), (2.0, 1e-6)] {
        let shape = vec![(1.0, 0.6), (2.5, 0.4)];
        let mechanism = RandomScaleGaussianMechanism::calibrate(
            shape,
            &one().into(),
            (epsilon(loss), delta(budget)),
        )
        .unwrap();
        let noise = GaussianMixture::new(mechanism.components().to_vec()).unwrap();
        agrees(&mechanism, &noise, 1.0, 1.0, 1e-9);
    }
}
