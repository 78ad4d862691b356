//! A mechanism that can be asked for: its name and its own options, before it is calibrated.

use crate::bounded_vector::MOST_NUMBERS;
use crate::generalized_gaussian::Method;
use crate::{
    BoundedQuery, BoundedVector, Bounding, Budget, DiscreteGaussianMechanism, DiscreteLaplace,
    Distance, Epsilon, Exponential, ForEach, GaussianMechanism, GaussianMethod,
    GeneralizedGaussian, InflatedGeneralizedGaussian, Laplace, Mechanism, MechanismError,
    MechanismKind, Neighbours, Order, PermuteAndFlip, RandomScaleGaussianMechanism,
    RandomScaleLaplace, RandomizedResponse, Scale, Sensitivity, Staircase, StaircaseAim, Support,
    TruncatedGeneralizedGaussian, TruncatedLaplace, TruncatedMethod, UtilityChange,
};
use reticent_events::{Event, InverseScale as WrittenInverseScale, TextError, Words, written};
use reticent_noise::NoiseError;
use reticent_noise::random_scale::{
    Combined, GammaScale, InverseScale, TruncatedGaussianScale, TwoPointScale, UniformScale,
};
use reticent_numerics::require;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// Which mechanism, and with which options of its own: what remains to be said is how far one
/// privacy unit moves the answer, and what may be spent.
///
/// It is plain data, serialised and written by the names of [`MechanismKind`]: as JSON
/// `{"mechanism": "gaussian", "method": "analytic"}`, and as text `gaussian method=analytic`.
/// Options that are left out have their usual value.
///
/// Every mechanism has a variant but two that cannot be asked for in this way: the table of
/// [`crate::Tabulated`] is found by search, and [`crate::ContinuousExponential`] is
/// [`MechanismSpec::TruncatedGeneralizedGaussian`] by the method `exponential`.
///
/// # Example
/// ```
/// use reticent_mechanisms::{Budget, MechanismSpec, Neighbours, Sensitivity};
/// let spec: MechanismSpec = "gaussian method=analytic".parse().expect("as it is written");
/// let sensitivity = Sensitivity::scalar(1.0, Neighbours::AddRemove)?;
/// let mechanism = spec.calibrate(&sensitivity, Budget::new(1.0, Some(1e-5))?)?;
/// assert!((mechanism.scale() - 3.730_631_634_815_942).abs() < 1e-12);
/// # Ok::<(), reticent_mechanisms::MechanismError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mechanism", rename_all = "kebab-case", deny_unknown_fields)]
pub enum MechanismSpec {
    /// [`RandomizedResponse`]; it has no sensitivity.
    RandomizedResponse {
        /// How many answers there are to choose from.
        categories: u64,
    },
    /// [`Laplace`].
    Laplace {},
    /// [`DiscreteLaplace`].
    DiscreteLaplace {},
    /// [`Staircase`].
    Staircase {
        /// What its steps are placed for.
        #[serde(default)]
        aim: StaircaseAim,
    },
    /// [`TruncatedLaplace`].
    TruncatedLaplace {},
    /// [`GaussianMechanism`].
    Gaussian {
        /// How the standard deviation is found.
        #[serde(default)]
        method: GaussianMethod,
    },
    /// [`DiscreteGaussianMechanism`].
    DiscreteGaussian {},
    /// [`GeneralizedGaussian`].
    GeneralizedGaussian {
        /// `p`.
        order: f64,
        /// How the scale is found.
        #[serde(default)]
        method: Method,
    },
    /// [`TruncatedGeneralizedGaussian`].
    TruncatedGeneralizedGaussian {
        /// `p`.
        order: f64,
        /// The public lower bound of the answer, or of each of its numbers.
        lower: ForEach,
        /// The public upper bound of the answer, or of each of its numbers.
        upper: ForEach,
        /// How the scale is found.
        #[serde(default)]
        method: TruncatedMethod,
    },
    /// [`InflatedGeneralizedGaussian`].
    InflatedGeneralizedGaussian {
        /// `p`.
        order: f64,
        /// The public lower bound of the answer, or of each of its numbers.
        lower: ForEach,
        /// The public upper bound of the answer, or of each of its numbers.
        upper: ForEach,
    },
    /// [`RandomScaleLaplace`].
    RandomScaleLaplace {
        /// The shape of the distribution of the inverse scale, which calibration stretches.
        inverse_scale: WrittenInverseScale,
    },
    /// [`RandomScaleGaussianMechanism`].
    RandomScaleGaussian {
        /// Standard deviations with their probabilities, which calibration stretches.
        sigmas: Vec<(f64, f64)>,
    },
    /// [`Exponential`].
    Exponential {
        /// How one privacy unit changes utilities.
        #[serde(default)]
        change: UtilityChange,
    },
    /// [`PermuteAndFlip`].
    PermuteAndFlip {
        /// How one privacy unit changes utilities.
        #[serde(default)]
        change: UtilityChange,
    },
}

written! {
    MechanismSpec, "mechanism", name, also &[];
    RandomizedResponse => "randomized-response" { categories }
    Laplace => "laplace" {}
    DiscreteLaplace => "discrete-laplace" {}
    Staircase => "staircase" { aim = StaircaseAim::default() }
    TruncatedLaplace => "truncated-laplace" {}
    Gaussian => "gaussian" { method = GaussianMethod::default() }
    DiscreteGaussian => "discrete-gaussian" {}
    GeneralizedGaussian => "generalized-gaussian" { order, method = Method::default() }
    TruncatedGeneralizedGaussian => "truncated-generalized-gaussian" {
        order, lower, upper, method = TruncatedMethod::default()
    }
    InflatedGeneralizedGaussian => "inflated-generalized-gaussian" { order, lower, upper }
    RandomScaleLaplace => "random-scale-laplace" { inverse_scale }
    RandomScaleGaussian => "random-scale-gaussian" { sigmas }
    Exponential => "exponential" { change = UtilityChange::default() }
    PermuteAndFlip => "permute-and-flip" { change = UtilityChange::default() }
}

/// Reads what [`std::fmt::Display`] writes, such as `gaussian method=analytic`.
impl FromStr for MechanismSpec {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        MechanismSpec::from_words(&Words::split(text)?)
    }
}

/// What one number stretches a mechanism: see [`MechanismSpec::stretched`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stretch {
    /// The scale of its noise.
    Scale,
    /// One over the loss that it is calibrated for.
    InverseLoss,
}

/// Noise whose parameters were given was made for no loss in particular: its guarantee is stated at
/// this one, with the least delta that is proved there.
const STATED_EPSILON: f64 = 1.0;

type Made = Result<Box<dyn Mechanism>, MechanismError>;

impl MechanismSpec {
    /// Which mechanism.
    pub fn kind(&self) -> MechanismKind {
        match self {
            MechanismSpec::RandomizedResponse { .. } => MechanismKind::RandomizedResponse,
            MechanismSpec::Laplace {} => MechanismKind::Laplace,
            MechanismSpec::DiscreteLaplace {} => MechanismKind::DiscreteLaplace,
            MechanismSpec::Staircase { .. } => MechanismKind::Staircase,
            MechanismSpec::TruncatedLaplace {} => MechanismKind::TruncatedLaplace,
            MechanismSpec::Gaussian { .. } => MechanismKind::Gaussian,
            MechanismSpec::DiscreteGaussian {} => MechanismKind::DiscreteGaussian,
            MechanismSpec::GeneralizedGaussian { .. } => MechanismKind::GeneralizedGaussian,
            MechanismSpec::TruncatedGeneralizedGaussian { .. } => {
                MechanismKind::TruncatedGeneralizedGaussian
            }
            MechanismSpec::InflatedGeneralizedGaussian { .. } => {
                MechanismKind::InflatedGeneralizedGaussian
            }
            MechanismSpec::RandomScaleLaplace { .. } => MechanismKind::RandomScaleLaplace,
            MechanismSpec::RandomScaleGaussian { .. } => MechanismKind::RandomScaleGaussian,
            MechanismSpec::Exponential { .. } => MechanismKind::Exponential,
            MechanismSpec::PermuteAndFlip { .. } => MechanismKind::PermuteAndFlip,
        }
    }

    /// How many numbers it has bounds for, where each has its own.
    pub fn numbers(&self) -> Option<usize> {
        match self {
            MechanismSpec::TruncatedGeneralizedGaussian { lower, upper, .. }
            | MechanismSpec::InflatedGeneralizedGaussian { lower, upper, .. } => {
                lower.count().or(upper.count())
            }
            MechanismSpec::RandomizedResponse { .. }
            | MechanismSpec::Laplace {}
            | MechanismSpec::DiscreteLaplace {}
            | MechanismSpec::Staircase { .. }
            | MechanismSpec::TruncatedLaplace {}
            | MechanismSpec::Gaussian { .. }
            | MechanismSpec::DiscreteGaussian {}
            | MechanismSpec::GeneralizedGaussian { .. }
            | MechanismSpec::RandomScaleLaplace { .. }
            | MechanismSpec::RandomScaleGaussian { .. }
            | MechanismSpec::Exponential { .. }
            | MechanismSpec::PermuteAndFlip { .. } => None,
        }
    }

    /// The mechanism with the least noise that is proved to keep a budget. Randomized response
    /// pays no attention to the sensitivity.
    ///
    /// # Errors
    /// If an option or the sensitivity is not accepted, or no scale can be certified.
    pub fn calibrate(&self, sensitivity: &Sensitivity, budget: impl Into<Budget>) -> Made {
        let budget = budget.into();
        Ok(match self {
            MechanismSpec::RandomizedResponse { categories } => {
                Box::new(RandomizedResponse::new(*categories, budget)?)
            }
            MechanismSpec::Laplace {} => Box::new(Laplace::calibrate(sensitivity, budget)?),
            MechanismSpec::DiscreteLaplace {} => {
                Box::new(DiscreteLaplace::calibrate(sensitivity, budget)?)
            }
            MechanismSpec::Staircase { aim } => {
                Box::new(Staircase::calibrate(*aim, sensitivity, budget)?)
            }
            MechanismSpec::TruncatedLaplace {} => {
                Box::new(TruncatedLaplace::calibrate(sensitivity, budget)?)
            }
            MechanismSpec::Gaussian { method } => {
                Box::new(GaussianMechanism::calibrate(*method, sensitivity, budget)?)
            }
            MechanismSpec::DiscreteGaussian {} => {
                Box::new(DiscreteGaussianMechanism::calibrate(sensitivity, budget)?)
            }
            MechanismSpec::GeneralizedGaussian { order, method } => {
                let order = Order::new(*order)?;
                Box::new(GeneralizedGaussian::calibrate(order, *method, sensitivity, budget)?)
            }
            MechanismSpec::TruncatedGeneralizedGaussian { order, lower, upper, method } => {
                let order = Order::new(*order)?;
                match bounds_of(lower, upper, sensitivity)?.as_slice() {
                    &[bounds] => Box::new(TruncatedGeneralizedGaussian::calibrate(
                        order,
                        *method,
                        bounds,
                        sensitivity,
                        budget,
                    )?),
                    several => Box::new(BoundedVector::calibrate(
                        Bounding::Truncated,
                        order,
                        *method,
                        several,
                        sensitivity,
                        budget,
                    )?),
                }
            }
            MechanismSpec::InflatedGeneralizedGaussian { order, lower, upper } => {
                let order = Order::new(*order)?;
                match bounds_of(lower, upper, sensitivity)?.as_slice() {
                    &[bounds] => Box::new(InflatedGeneralizedGaussian::calibrate(
                        order,
                        bounds,
                        sensitivity,
                        budget,
                    )?),
                    several => Box::new(BoundedVector::calibrate(
                        Bounding::Inflated,
                        order,
                        TruncatedMethod::Exact,
                        several,
                        sensitivity,
                        budget,
                    )?),
                }
            }
            MechanismSpec::RandomScaleLaplace { inverse_scale } => {
                let shape = inverse_scale_of(inverse_scale)?;
                Box::new(RandomScaleLaplace::calibrate(shape, sensitivity, budget)?)
            }
            MechanismSpec::RandomScaleGaussian { sigmas } => {
                let shape = sigmas.clone();
                Box::new(RandomScaleGaussianMechanism::calibrate(shape, sensitivity, budget)?)
            }
            MechanismSpec::Exponential { change } => {
                Box::new(Exponential::calibrate(*change, sensitivity, budget)?)
            }
            MechanismSpec::PermuteAndFlip { change } => {
                Box::new(PermuteAndFlip::calibrate(*change, sensitivity, budget)?)
            }
        })
    }

    /// What one number makes the noise larger, where there is one: more than a scale is to be found
    /// for truncated Laplace noise.
    pub fn stretch(&self) -> Option<Stretch> {
        match self {
            MechanismSpec::Laplace {}
            | MechanismSpec::DiscreteLaplace {}
            | MechanismSpec::Gaussian { .. }
            | MechanismSpec::DiscreteGaussian {}
            | MechanismSpec::GeneralizedGaussian { .. }
            | MechanismSpec::RandomScaleGaussian { .. } => Some(Stretch::Scale),
            MechanismSpec::RandomizedResponse { .. }
            | MechanismSpec::Staircase { .. }
            | MechanismSpec::TruncatedGeneralizedGaussian { .. }
            | MechanismSpec::InflatedGeneralizedGaussian { .. }
            | MechanismSpec::RandomScaleLaplace { .. }
            | MechanismSpec::Exponential { .. }
            | MechanismSpec::PermuteAndFlip { .. } => Some(Stretch::InverseLoss),
            MechanismSpec::TruncatedLaplace {} => None,
        }
    }

    /// The mechanism at a stretch: with noise of this scale, or calibrated for one over it as its
    /// loss. This is how those find their noise who look for more than one release.
    ///
    /// # Errors
    /// If an option, the sensitivity or the number is not accepted, or the mechanism has no
    /// [`MechanismSpec::stretch`].
    pub fn stretched(&self, sensitivity: &Sensitivity, by: f64) -> Made {
        let stated = Epsilon::new(STATED_EPSILON)?;
        Ok(match self {
            MechanismSpec::Laplace {} => {
                Box::new(Laplace::with_scale(sensitivity, Scale::new(by)?)?)
            }
            MechanismSpec::DiscreteLaplace {} => {
                Box::new(DiscreteLaplace::with_scale(sensitivity.whole_l1()?, by)?)
            }
            MechanismSpec::Gaussian { .. } => {
                let (sigma, l2) = (Scale::new(by)?, Distance::new(sensitivity.l2()?)?);
                Box::new(GaussianMechanism::with_sigma(sigma, l2, stated)?)
            }
            MechanismSpec::DiscreteGaussian {} => {
                sensitivity.of_one_number("discrete Gaussian noise")?;
                let whole = sensitivity.whole_l1()?;
                Box::new(DiscreteGaussianMechanism::with_sigma(by, whole, stated)?)
            }
            MechanismSpec::GeneralizedGaussian { order, .. } => {
                let (order, scale) = (Order::new(*order)?, Scale::new(by)?);
                Box::new(GeneralizedGaussian::with_scale(order, scale, sensitivity, stated)?)
            }
            MechanismSpec::RandomScaleGaussian { sigmas } => {
                let distance = sensitivity.of_one_number("Gaussian noise of random scale")?;
                let sigmas = sigmas.iter().map(|(sigma, weight)| (sigma * by, *weight)).collect();
                let distance = Distance::new(distance)?;
                Box::new(RandomScaleGaussianMechanism::new(sigmas, distance, stated)?)
            }
            MechanismSpec::RandomizedResponse { .. }
            | MechanismSpec::Staircase { .. }
            | MechanismSpec::TruncatedGeneralizedGaussian { .. }
            | MechanismSpec::InflatedGeneralizedGaussian { .. }
            | MechanismSpec::RandomScaleLaplace { .. }
            | MechanismSpec::Exponential { .. }
            | MechanismSpec::PermuteAndFlip { .. } => {
                return self.calibrate(sensitivity, Epsilon::positive(1.0 / by)?);
            }
            MechanismSpec::TruncatedLaplace {} => {
                return Err(MechanismError::Refused(
                    "the truncated-laplace mechanism has more than a scale to choose".into(),
                ));
            }
        })
    }
}

/// The bounds of each number: of as many as there are bounds, or sensitivities, or as can move at
/// once.
fn bounds_of(
    lower: &ForEach,
    upper: &ForEach,
    sensitivity: &Sensitivity,
) -> Result<Vec<(f64, f64)>, MechanismError> {
    let said = [lower.count(), upper.count(), sensitivity.coordinates()];
    let mut known = said.into_iter().flatten();
    let numbers = match known.next() {
        Some(numbers) => numbers,
        None => sensitivity.moving_coordinates("bounded noise")? as usize,
    };
    if let Some(other) = known.find(|&other| other != numbers) {
        return Err(MechanismError::Refused(format!(
            "`lower`, `upper` and the sensitivity must be of as many numbers, not of {numbers} and \
             {other}"
        )));
    }
    require(numbers <= MOST_NUMBERS, "number of bounds", numbers as f64, "from 1 to 1000")?;
    Ok((0..numbers).map(|index| (lower.at(index), upper.at(index))).collect())
}

/// The mechanism that an event is of: noise with the parameters as they are. A guarantee with a
/// delta is stated at epsilon 1, with the least delta that is proved there.
///
/// An event of bounded noise does not say where its range lies: the answer is taken to be between 0
/// and the width of the range. A choice by utility does not say how far one privacy unit moves
/// utilities: each is taken to move by at most 1, either way.
///
/// # Errors
/// If a parameter is not accepted, or the event is not one of a mechanism that is known.
pub fn described(event: &Event) -> Made {
    let stated = Epsilon::new(STATED_EPSILON)?;
    let scalar = |distance: f64| Sensitivity::scalar(distance, Neighbours::AddRemove);
    let bounded =
        |range: f64, sensitivity: f64| BoundedQuery::new(0.0, range, Distance::new(sensitivity)?);
    Ok(match event {
        Event::Laplace { scale, sensitivity } => {
            Box::new(Laplace::with_scale(&scalar(*sensitivity)?, Scale::new(*scale)?)?)
        }
        Event::DiscreteLaplace { scale, sensitivity } => {
            Box::new(DiscreteLaplace::with_scale(*sensitivity, *scale)?)
        }
        Event::Staircase { epsilon, gamma, sensitivity } => {
            let epsilon = Epsilon::positive(*epsilon)?;
            Box::new(Staircase::with_gamma(&scalar(*sensitivity)?, epsilon, *gamma)?)
        }
        Event::TruncatedLaplace { scale, support_in_scales, sensitivity } => {
            let (scale, support) = (Scale::new(*scale)?, Support::InScales(*support_in_scales));
            let sensitivity = scalar(*sensitivity)?;
            Box::new(TruncatedLaplace::with_support(&sensitivity, scale, support, stated)?)
        }
        Event::Gaussian { sigma, sensitivity } => {
            let (sigma, sensitivity) = (Scale::new(*sigma)?, Distance::new(*sensitivity)?);
            Box::new(GaussianMechanism::with_sigma(sigma, sensitivity, stated)?)
        }
        Event::DiscreteGaussian { sigma, sensitivity } => {
            Box::new(DiscreteGaussianMechanism::with_sigma(*sigma, *sensitivity, stated)?)
        }
        Event::GeneralizedGaussian { order, scale, sensitivities } => {
            let (order, scale) = (Order::new(*order)?, Scale::new(*scale)?);
            let sensitivity = Sensitivity::per_element(sensitivities, Neighbours::AddRemove)?;
            Box::new(GeneralizedGaussian::with_scale(order, scale, &sensitivity, stated)?)
        }
        Event::TruncatedGeneralizedGaussian { order, scale, range, sensitivity } => {
            let (order, query) = (Order::new(*order)?, bounded(*range, *sensitivity)?);
            let scale = Scale::new(*scale)?;
            Box::new(TruncatedGeneralizedGaussian::with_scale(order, query, scale)?)
        }
        Event::InflatedGeneralizedGaussian { order, scale, range, sensitivity } => {
            let (order, query) = (Order::new(*order)?, bounded(*range, *sensitivity)?);
            let scale = Scale::new(*scale)?;
            Box::new(InflatedGeneralizedGaussian::with_scale(order, query, scale)?)
        }
        Event::RandomizedResponse { epsilon, categories } => {
            Box::new(RandomizedResponse::new(*categories, Epsilon::positive(*epsilon)?)?)
        }
        Event::RandomScaleLaplace { inverse_scale, sensitivity } => {
            let inverse_scale = inverse_scale_of(inverse_scale)?;
            let sensitivity = scalar(*sensitivity)?;
            Box::new(RandomScaleLaplace::with_inverse_scale(inverse_scale, &sensitivity)?)
        }
        Event::RandomScaleLaplaceVector { inverse_scale, coordinates, sensitivity } => {
            let inverse_scale = inverse_scale_of(inverse_scale)?;
            let coordinates = u32::try_from(*coordinates).unwrap_or(u32::MAX);
            let sensitivity = Sensitivity::l1_bound(*sensitivity, Neighbours::AddRemove)?
                .with_coordinates(coordinates)?;
            Box::new(RandomScaleLaplace::with_inverse_scale(inverse_scale, &sensitivity)?)
        }
        Event::RandomScaleGaussian { sigmas, sensitivity } => {
            let sensitivity = Distance::new(*sensitivity)?;
            Box::new(RandomScaleGaussianMechanism::new(sigmas.clone(), sensitivity, stated)?)
        }
        Event::Exponential { epsilon } => {
            let (change, epsilon) = (UtilityChange::EitherWay, Epsilon::positive(*epsilon)?);
            Box::new(Exponential::calibrate(change, &scalar(1.0)?, epsilon)?)
        }
        Event::PermuteAndFlip { epsilon } => {
            let (change, epsilon) = (UtilityChange::EitherWay, Epsilon::positive(*epsilon)?);
            Box::new(PermuteAndFlip::calibrate(change, &scalar(1.0)?, epsilon)?)
        }
        Event::Tabulated { .. }
        | Event::Approximate { .. }
        | Event::ZeroConcentrated { .. }
        | Event::PoissonSubsampled { .. }
        | Event::Composition { .. }
        | Event::Repetition { .. } => {
            return Err(MechanismError::Refused(format!(
                "`{}` does not describe one mechanism completely; accountants can read it",
                event.mechanism()
            )));
        }
    })
}

/// The distribution of an inverse scale from its description.
///
/// # Errors
/// If a parameter is not accepted.
pub fn inverse_scale_of(written: &WrittenInverseScale) -> Result<InverseScale, NoiseError> {
    Ok(match written {
        WrittenInverseScale::TwoPoint { first, second, weight } => {
            TwoPointScale::new(*first, *second, *weight)?.into()
        }
        WrittenInverseScale::Gamma { shape, theta } => GammaScale::new(*shape, *theta)?.into(),
        WrittenInverseScale::Uniform { lower, upper } => UniformScale::new(*lower, *upper)?.into(),
        WrittenInverseScale::TruncatedGaussian { mu, sigma, lower, upper } => {
            TruncatedGaussianScale::new(*mu, *sigma, *lower, *upper)?.into()
        }
        WrittenInverseScale::Combined { parts } => {
            let parts = parts.iter().map(|(weight, part)| Ok((*weight, inverse_scale_of(part)?)));
            Combined::new(parts.collect::<Result<_, NoiseError>>()?)?.into()
        }
    })
}
