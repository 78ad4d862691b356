//! A mechanism of every kind, for random budgets on all scales, with the noise that its sampler
//! draws.

use reticent_mechanisms::{
    BoundedQuery, ContinuousExponential, Delta, DiscreteGaussianMechanism, DiscreteLaplace,
    Distance, Epsilon, Exponential, GaussianMechanism, GaussianMethod, GeneralizedGaussian,
    GeneralizedGaussianMethod, InflatedGeneralizedGaussian, Laplace, Mechanism, MechanismError,
    MechanismKind, Neighbours, Order, PermuteAndFlip, RandomScaleGaussianMechanism,
    RandomScaleLaplace, RandomizedResponse, Sensitivity, Staircase, StaircaseAim, Tabulated,
    TruncatedGeneralizedGaussian, TruncatedLaplace, TruncatedMethod, UtilityChange,
};
use reticent_noise::privacy::violation;
use reticent_noise::random_scale::{
    Combined, GammaScale, InverseScale, TruncatedGaussianScale, TwoPointScale, UniformScale,
};
use reticent_noise::{GaussianMixture, Jittered, Noise, Table};
use reticent_numerics::Bounds;

/// `delta` of a sampler's noise over a distance, from its density and tails alone.
pub type FromDensity = Box<dyn Fn(f64) -> Bounds>;

/// A mechanism, and the hockey-stick divergence of what it draws, where that takes no more than a
/// second: noise on the integers has a step at each of them.
pub struct Case {
    pub mechanism: Box<dyn Mechanism>,
    pub from_density: Option<FromDensity>,
}

/// A small generator of its own, so that the cases never change.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn uniform(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64) / (1u64 << 53) as f64
    }

    /// Log-uniform.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        (low.ln() + self.uniform() * (high / low).ln()).exp()
    }

    pub fn count(&mut self, most: u64) -> u64 {
        1 + (self.uniform() * most as f64) as u64
    }

    pub fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[(self.uniform() * all.len() as f64) as usize]
    }
}

fn of_noise<N: Noise + 'static>(noise: N, scale: f64, distance: f64) -> Option<FromDensity> {
    Some(Box::new(move |epsilon| violation(&noise, scale, distance, epsilon).delta))
}

fn case(
    mechanism: impl Mechanism + 'static,
    from_density: Option<FromDensity>,
) -> Result<Case, MechanismError> {
    Ok(Case { mechanism: Box::new(mechanism), from_density })
}

/// A mechanism of this kind. Without a wildcard: a mechanism that is not here does not compile.
pub fn draw(kind: MechanismKind, numbers: &mut Numbers) -> Result<Case, MechanismError> {
    let distance = numbers.between(1e-9, 1e9);
    let (loss, delta) = (numbers.between(0.02, 12.0), numbers.between(1e-12, 0.05));
    let (epsilon, delta) = (Epsilon::positive(loss)?, Delta::new(delta)?);
    let scalar = Sensitivity::scalar(distance, Neighbours::AddRemove)?;
    let exact_distance = Distance::new(distance)?;
    let integers = numbers.between(1.0, 1e6).round() as u64;
    match kind {
        MechanismKind::RandomizedResponse => {
            let categories = numbers.between(2.0, 1e6) as u64;
            case(RandomizedResponse::new(categories, epsilon)?, None)
        }
        MechanismKind::Laplace => {
            let mechanism = Laplace::calibrate(&scalar, epsilon)?;
            let noise = of_noise(reticent_noise::Laplace, mechanism.scale(), distance);
            case(mechanism, noise)
        }
        MechanismKind::DiscreteLaplace => {
            let mechanism = DiscreteLaplace::calibrate(&Sensitivity::whole(integers), epsilon)?;
            let noise = Jittered(reticent_noise::DiscreteLaplace::new(mechanism.scale())?);
            let from_density =
                (mechanism.scale() < 1e3).then(|| of_noise(noise, 1.0, integers as f64));
            case(mechanism, from_density.flatten())
        }
        MechanismKind::Staircase => {
            let aims =
                [StaircaseAim::MeanAbsolute, StaircaseAim::MeanSquare, StaircaseAim::Entropy];
            let mechanism = Staircase::calibrate(numbers.one_of(&aims), &scalar, epsilon)?;
            let noise = reticent_noise::Staircase::new(loss, mechanism.gamma())?;
            let scale = mechanism.scale();
            case(mechanism, of_noise(noise, scale, scale))
        }
        MechanismKind::TruncatedLaplace => {
            let mechanism = TruncatedLaplace::calibrate(&scalar, (epsilon, delta))?;
            let noise = reticent_noise::TruncatedLaplace::new(
                mechanism.support_in_answers() / mechanism.scale(),
            )?;
            let scale = mechanism.scale();
            case(mechanism, of_noise(noise, scale, distance))
        }
        MechanismKind::Tabulated => {
            let steps = 1u64 << numbers.count(5);
            let falls = loss / steps as f64;
            let end = (30.0 / falls).min(4000.0) as i32;
            let table = Table::new(
                (0..=end).map(|k| (1e15 * (-falls * f64::from(k)).exp()).ceil() as u128).collect(),
            )?;
            let least = Tabulated::delta_of(&table, steps, epsilon).upper();
            let delta = Delta::new((least * (1.0 + 1e-9)).clamp(1e-300, 0.999))?;
            let mechanism = Tabulated::for_reals(&scalar, steps, table.clone(), epsilon, delta)?;
            let spacing = mechanism.spacing();
            case(mechanism, of_noise(Jittered(table), spacing, distance))
        }
        MechanismKind::Gaussian => {
            let method = numbers.one_of(GaussianMethod::ALL);
            let mechanism =
                GaussianMechanism::calibrate(method, &exact_distance.into(), (epsilon, delta))?;
            let noise = of_noise(reticent_noise::Gaussian, mechanism.scale(), distance);
            case(mechanism, noise)
        }
        MechanismKind::DiscreteGaussian => {
            let mechanism = DiscreteGaussianMechanism::calibrate(
                &Sensitivity::whole(integers),
                (epsilon, delta),
            )?;
            let noise = Jittered(reticent_noise::DiscreteGaussian::new(mechanism.scale())?);
            let from_density =
                (mechanism.scale() < 30.0).then(|| of_noise(noise, 1.0, integers as f64));
            case(mechanism, from_density.flatten())
        }
        MechanismKind::GeneralizedGaussian => {
            let p = numbers.one_of(&[0.5, 1.0, 1.5, 2.0, 3.0, 4.0]);
            let (order, distances) = (Order::new(p)?, [exact_distance]);
            let mechanism = if p <= 1.0 {
                GeneralizedGaussian::calibrate(
                    order,
                    GeneralizedGaussianMethod::Exact,
                    &Sensitivity::from(&distances[..]),
                    epsilon,
                )?
            } else {
                GeneralizedGaussian::calibrate(
                    order,
                    GeneralizedGaussianMethod::Exact,
                    &Sensitivity::from(&distances[..]),
                    (epsilon, delta),
                )?
            };
            let noise = reticent_noise::GeneralizedGaussian::new(p)?;
            let (scale, distance) = (mechanism.scale(), mechanism.sensitivities()[0]);
            case(mechanism, of_noise(noise, scale, distance))
        }
        MechanismKind::TruncatedGeneralizedGaussian => {
            let (order, query) = bounded(numbers, exact_distance)?;
            case(
                TruncatedGeneralizedGaussian::calibrate(
                    order,
                    TruncatedMethod::Exact,
                    query.bounds(),
                    &query.into(),
                    epsilon,
                )?,
                None,
            )
        }
        MechanismKind::InflatedGeneralizedGaussian => {
            let (order, query) = bounded(numbers, exact_distance)?;
            case(
                InflatedGeneralizedGaussian::calibrate(
                    order,
                    query.bounds(),
                    &query.into(),
                    epsilon,
                )?,
                None,
            )
        }
        MechanismKind::ContinuousExponential => {
            let (order, query) = bounded(numbers, exact_distance)?;
            case(
                ContinuousExponential::calibrate(order, query.bounds(), &query.into(), epsilon)?,
                None,
            )
        }
        MechanismKind::RandomScaleLaplace => {
            let family = family(numbers)?;
            if numbers.uniform() < 0.25 {
                let coordinates = numbers.count(4) as u32;
                let vector = Sensitivity::l1_bound(exact_distance.get(), Neighbours::AddRemove)?
                    .with_coordinates(coordinates)?;
                let mechanism = RandomScaleLaplace::calibrate(family, &vector, epsilon)?;
                return case(mechanism, None);
            }
            let mechanism = RandomScaleLaplace::calibrate(family, &exact_distance.into(), epsilon)?;
            let noise = reticent_noise::RandomScaleLaplace::new(mechanism.inverse_scale().clone());
            let distance = mechanism.sensitivity();
            case(mechanism, of_noise(noise, 1.0, distance))
        }
        MechanismKind::RandomScaleGaussian => {
            let wider = numbers.between(1.2, 4.0);
            let shape = vec![(1.0, 0.75), (wider, 0.25)];
            let mechanism = RandomScaleGaussianMechanism::calibrate(
                shape,
                &exact_distance.into(),
                (epsilon, delta),
            )?;
            let noise = GaussianMixture::new(mechanism.components().to_vec())?;
            case(mechanism, of_noise(noise, 1.0, distance))
        }
        MechanismKind::Exponential => {
            case(Exponential::calibrate(change(numbers), &exact_distance.into(), epsilon)?, None)
        }
        MechanismKind::PermuteAndFlip => {
            case(PermuteAndFlip::calibrate(change(numbers), &exact_distance.into(), epsilon)?, None)
        }
    }
}

fn change(numbers: &mut Numbers) -> UtilityChange {
    numbers.one_of(&[UtilityChange::EitherWay, UtilityChange::OneWay])
}

fn bounded(
    numbers: &mut Numbers,
    distance: Distance,
) -> Result<(Order, BoundedQuery), MechanismError> {
    let order = Order::new(numbers.one_of(&[1.0, 1.5, 2.0, 3.0]))?;
    let width = distance.get() * numbers.between(1.0, 20.0);
    Ok((order, BoundedQuery::new(0.0, width, distance)?))
}

fn family(numbers: &mut Numbers) -> Result<InverseScale, MechanismError> {
    let gamma = GammaScale::new(numbers.between(1.0, 6.0), 1.0)?;
    let uniform = UniformScale::new(0.5, 0.5 + numbers.between(0.1, 3.0))?;
    Ok(match numbers.count(5) {
        1 => TwoPointScale::new(0.5, numbers.between(1.0, 6.0), 0.5)?.into(),
        2 => gamma.into(),
        3 => uniform.into(),
        4 => TruncatedGaussianScale::new(1.0, 0.3, 0.2, 2.0)?.into(),
        _ => Combined::new(vec![(0.7, gamma.into()), (1.0, uniform.into())])?.into(),
    })
}
