//! Algorithm 1: a query, a budget and a metric in, the noise of a family out.

use super::{BestScale, Family, Objective, RandomScaleLaw, best_of_family, best_scale};
use crate::error::ChoiceError;
use crate::error_law::Additive;
use crate::metric::Metric;
use reticent_mechanisms::{Epsilon, Laplace, Mechanism, RandomScaleLaplace, Sensitivity};
use reticent_noise::random_scale::{InverseScale, TwoPointScale};
use reticent_numerics::Bounds;
use reticent_numerics::rounding::{div_down, div_up, sqrt_down};

/// The best noise of a family of random scales for a metric, with what is proved of it.
#[derive(Debug)]
pub struct Optimised {
    /// Which family.
    pub family: Family,
    /// What was made small.
    pub metric: Metric,
    /// The mechanism, ready to release, with its certified epsilon and the parameters that the
    /// solver found.
    pub mechanism: RandomScaleLaplace,
    /// Its error by the metric.
    pub error: Bounds,
    /// The error of Laplace noise.
    pub laplace: Bounds,
    /// Proved: with no distribution of the inverse scale is the error smaller. For a vector each
    /// coordinate has an inverse scale of its own, all with one distribution.
    pub least: f64,
    /// Proved: that least is Laplace noise.
    pub is_laplace: bool,
}

impl Optimised {
    /// How many times the least error of any distribution of the scale its own is, at most; `None`
    /// where that least is not known to be positive. For the entropy the ratio is of `e^h`.
    pub fn ratio(&self) -> Option<f64> {
        let (error, least) = (Bounds::exact(self.error.upper()), Bounds::exact(self.least));
        let ratio = self.metric.ratio(error, least).upper();
        (ratio.is_finite() && ratio > 0.0).then_some(ratio)
    }
}

/// The best member of a family for a metric, calibrated to a pure `epsilon` (Algorithm 1).
///
/// # Vectors
/// With `k` coordinates, an l1 sensitivity of `D_1` and a scale of its own for each, the loss is
/// `k ln(E[T]/E[T e^(-T D_1/k)])` (erratum R7). It is within `epsilon` exactly where a number of
/// sensitivity `D_1/k` keeps `epsilon/k`: the best distribution, and the proof, are those of that
/// number. So a vector gains only where `epsilon/k` is above the thresholds of erratum R8.
///
/// # Example
/// ```
/// use reticent_choice::Metric;
/// use reticent_choice::random_scale::{Family, optimise};
/// use reticent_mechanisms::{Epsilon, Neighbours, Sensitivity};
/// let one = Sensitivity::scalar(1.0, Neighbours::AddRemove)?;
/// let found = optimise(Family::Combined, &Metric::Usefulness(0.1), &one, Epsilon::new(4.0)?)?;
/// // Laplace noise misses by more than 0.1 with probability 0.670, the best random scale 0.519.
/// assert!(found.error.upper() < 0.591 && found.least > 0.518);
/// # Ok::<(), reticent_choice::ChoiceError>(())
/// ```
///
/// # Errors
/// If the mechanism refuses the sensitivity or epsilon, the metric has no finite value for any
/// member that was found, or the solver found none.
pub fn optimise(
    family: Family,
    metric: &Metric,
    sensitivity: &Sensitivity,
    epsilon: Epsilon,
) -> Result<Optimised, ChoiceError> {
    let each = EachCoordinate::of(sensitivity, epsilon)?;
    let objective = each.objective(metric, false)?;
    let best = best_scale(&objective, each.epsilon, each.sensitivity, false);
    let shape = each.shape(family, &best)?;
    let mechanism = RandomScaleLaplace::calibrate(shape, sensitivity, epsilon)?;
    let error = metric.error(&RandomScaleLaw::new(&mechanism), each.coordinates);
    if !error.upper().is_finite() {
        return Err(ChoiceError::NothingFits(format!(
            "the best member of the family {family} that was found has no finite error by the \
             metric {metric}"
        )));
    }
    let laplace = Laplace::calibrate(sensitivity, epsilon)?;
    let laplace = match laplace.errors() {
        Some(errors) => {
            let law = Additive::new(reticent_noise::Laplace, laplace.scale(), &errors);
            metric.error(&law, each.coordinates)
        }
        None => Bounds::WHOLE_LINE,
    };
    let least = match metric {
        Metric::RootMeanSquare => sqrt_down(best.floor.max(0.0)),
        Metric::MeanAbsolute
        | Metric::Maximum
        | Metric::MaximumQuantile(_)
        | Metric::Entropy
        | Metric::Usefulness(_)
        | Metric::Quantile(_)
        | Metric::Loss(_) => best.floor,
    };
    let (metric, is_laplace) = (metric.clone(), best.is_laplace());
    Ok(Optimised { family, metric, mechanism, error, laplace, least, is_laplace })
}

/// The number that each coordinate of a vector is, by itself.
pub(crate) struct EachCoordinate {
    pub(crate) coordinates: u32,
    /// `epsilon/k`, rounded up, and `D_1/k`, rounded down: a proof that no noise keeps these holds
    /// of the exact ones.
    pub(crate) epsilon: f64,
    pub(crate) sensitivity: f64,
}

impl EachCoordinate {
    pub(crate) fn of(sensitivity: &Sensitivity, epsilon: Epsilon) -> Result<Self, ChoiceError> {
        Epsilon::positive(epsilon.get())?;
        let coordinates = sensitivity.moving_coordinates("Laplace noise of random scale")?;
        let k = f64::from(coordinates.max(1));
        Ok(EachCoordinate {
            coordinates,
            epsilon: div_up(epsilon.get(), k),
            sensitivity: div_down(sensitivity.l1()?, k),
        })
    }

    pub(crate) fn objective(
        &self,
        metric: &Metric,
        integer: bool,
    ) -> Result<Objective, ChoiceError> {
        Objective::of(metric, self.coordinates, integer).ok_or_else(|| {
            ChoiceError::Meaningless(format!(
                "the best distribution of the scale for the metric {metric} is not known for \
                 releases that are rounded to integers"
            ))
        })
    }

    /// The member of a family that is best for a metric, to be stretched until its loss is proved.
    pub(crate) fn shape(
        &self,
        family: Family,
        best: &BestScale,
    ) -> Result<InverseScale, ChoiceError> {
        let found = match family {
            Family::TwoPoint => {
                let laplace = self.epsilon / self.sensitivity;
                let (first, second, weight) = best.two_point.unwrap_or((laplace, laplace, 1.0));
                TwoPointScale::new(first, second, weight).ok().map(InverseScale::from)
            }
            Family::Gamma | Family::Uniform | Family::TruncatedGaussian | Family::Combined => {
                best_of_family(family, &best.aim, self.epsilon, self.sensitivity)
            }
        };
        found.ok_or_else(|| {
            ChoiceError::NothingFits(format!(
                "no member of the family {family} was found that keeps epsilon with a finite error"
            ))
        })
    }
}
