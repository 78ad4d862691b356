//! Case II as a thing one can run: a query, a budget and a metric in, the noise of a family out.

use super::families::Search;
use super::{BestSigmas, SigmaFamily, SigmaLoss, best_sigmas};
use crate::error::ChoiceError;
use crate::error_law::Additive;
use crate::metric::Metric;
use reticent_mechanisms::{
    Delta, Distance, Epsilon, GaussianMechanism, GaussianMethod, Mechanism,
    RandomScaleGaussianMechanism, Sensitivity,
};
use reticent_noise::GaussianMixture;
use reticent_numerics::Bounds;
use reticent_numerics::rounding::sqrt_down;

/// The best noise of a family of random standard deviations, with what is proved of it.
#[derive(Debug)]
pub struct OptimisedGaussian {
    /// Which family.
    pub family: SigmaFamily,
    /// What was made small.
    pub metric: Metric,
    /// The mechanism, ready to release, with its certified delta and the standard deviations that
    /// the solver found.
    pub mechanism: RandomScaleGaussianMechanism,
    /// Its error by the metric.
    pub error: Bounds,
    /// The error of plain Gaussian noise.
    pub plain: Bounds,
    /// Proved: with no distribution of the standard deviation is the error smaller.
    pub least: f64,
    /// Proved: that least is plain Gaussian noise.
    pub is_plain: bool,
}

impl OptimisedGaussian {
    /// How many times the least error of any distribution of the scale its own is, at most; `None`
    /// where that least is not known to be positive.
    pub fn ratio(&self) -> Option<f64> {
        let (error, least) = (Bounds::exact(self.error.upper()), Bounds::exact(self.least));
        let ratio = self.metric.ratio(error, least).upper();
        (ratio.is_finite() && ratio > 0.0).then_some(ratio)
    }
}

/// The law of each number that a mechanism releases.
pub(crate) fn law_of(
    mechanism: &RandomScaleGaussianMechanism,
) -> Result<Additive<GaussianMixture>, ChoiceError> {
    let components = mechanism.components().to_vec();
    let mixture =
        GaussianMixture::new(components).map_err(reticent_mechanisms::MechanismError::from)?;
    let mass = mixture.weighted(&Bounds::ONE, |_| Bounds::ONE);
    let mean_square = mixture.weighted(&Bounds::ONE, |sigma| sigma.square()) / mass;
    // The entropy takes an integral, and no metric that comes this far asks for it.
    Ok(Additive::with_moments(mixture, 1.0, mean_square, Bounds::WHOLE_LINE))
}

/// The best member of a family for a metric of one number, calibrated to `(epsilon, delta)`.
///
/// # Example
/// ```
/// use reticent_choice::Metric;
/// use reticent_choice::random_scale_gaussian::{SigmaFamily, optimise_gaussian};
/// use reticent_mechanisms::{Delta, Epsilon, Neighbours, Sensitivity};
/// let one = Sensitivity::scalar(1.0, Neighbours::AddRemove)?;
/// let budget = (Epsilon::new(1.0)?, Delta::new(1e-6)?);
/// let found = optimise_gaussian(SigmaFamily::TwoPoint, &Metric::RootMeanSquare, &one, budget)?;
/// // Plain Gaussian noise has a standard deviation of 4.22.
/// assert!(found.error.upper() < 3.0 && found.plain.lower() > 4.2);
/// # Ok::<(), reticent_choice::ChoiceError>(())
/// ```
///
/// # Errors
/// If the metric is an entropy or a quantile, more than one number can move, a parameter is not
/// accepted, or the solver found nothing.
pub fn optimise_gaussian(
    family: SigmaFamily,
    metric: &Metric,
    sensitivity: &Sensitivity,
    budget: (Epsilon, Delta),
) -> Result<OptimisedGaussian, ChoiceError> {
    Problem::new(metric, sensitivity, budget)?.optimised(family)
}

/// A family with its best member, or why it has none.
pub type BestOfFamily = (SigmaFamily, Result<OptimisedGaussian, ChoiceError>);

/// The best member of each family, or why there is none, with one proof for all.
///
/// # Errors
/// As for [`optimise_gaussian`].
pub fn optimise_gaussian_families(
    metric: &Metric,
    sensitivity: &Sensitivity,
    budget: (Epsilon, Delta),
) -> Result<Vec<BestOfFamily>, ChoiceError> {
    let problem = Problem::new(metric, sensitivity, budget)?;
    Ok(SigmaFamily::ALL.map(|family| (family, problem.optimised(family))).into())
}

/// The two standard deviations of least loss that are found without a programme, and so without a
/// proof of how far others could go. Not yet stretched until the guarantee is proved.
pub(crate) fn quick_two_points(
    metric: &Metric,
    distance: Distance,
    (epsilon, delta): (Epsilon, Delta),
) -> Result<Vec<(f64, f64)>, ChoiceError> {
    let loss = loss_of(metric)?;
    let plain = plain(distance, (epsilon, delta))?.scale();
    member(SigmaFamily::TwoPoint, &loss, distance, (epsilon, delta), plain)
}

fn loss_of(metric: &Metric) -> Result<SigmaLoss, ChoiceError> {
    SigmaLoss::of(metric).ok_or_else(|| {
        ChoiceError::Meaningless(format!(
            "the metric is {metric}, but the scale of Gaussian noise is optimised for expected \
             losses: l1, l2, usefulness:T, loss:FILE or expression:TEXT"
        ))
    })
}

fn plain(distance: Distance, budget: (Epsilon, Delta)) -> Result<GaussianMechanism, ChoiceError> {
    Ok(GaussianMechanism::calibrate(GaussianMethod::Analytic, &distance.into(), budget)?)
}

/// One number, a budget and a metric, with what the programme found.
struct Problem<'a> {
    metric: &'a Metric,
    sensitivity: &'a Sensitivity,
    budget: (Epsilon, Delta),
    loss: SigmaLoss,
    distance: Distance,
    best: BestSigmas,
    /// The error of plain Gaussian noise.
    plain: Bounds,
}

impl<'a> Problem<'a> {
    fn new(
        metric: &'a Metric,
        sensitivity: &'a Sensitivity,
        budget: (Epsilon, Delta),
    ) -> Result<Self, ChoiceError> {
        let loss = loss_of(metric)?;
        let distance = Distance::new(sensitivity.of_one_number("Gaussian noise of random scale")?)?;
        let best = best_sigmas(&loss, distance, budget.0, budget.1)?;
        let plain = plain(distance, budget)?;
        let plain = match plain.errors() {
            Some(errors) => {
                metric.error(&Additive::new(reticent_noise::Gaussian, plain.scale(), &errors), 1)
            }
            None => Bounds::WHOLE_LINE,
        };
        Ok(Problem { metric, sensitivity, budget, loss, distance, best, plain })
    }

    fn optimised(&self, family: SigmaFamily) -> Result<OptimisedGaussian, ChoiceError> {
        let shape = match family {
            SigmaFamily::Discrete => self.best.sigmas.clone(),
            SigmaFamily::TwoPoint
            | SigmaFamily::Gamma
            | SigmaFamily::Uniform
            | SigmaFamily::TruncatedGaussian => {
                member(family, &self.loss, self.distance, self.budget, self.best.plain)?
            }
        };
        let mechanism =
            RandomScaleGaussianMechanism::calibrate(shape, self.sensitivity, self.budget)?;
        let error = self.metric.error(&law_of(&mechanism)?, 1);
        let least = match self.metric {
            Metric::RootMeanSquare => sqrt_down(self.best.floor.max(0.0)),
            Metric::MeanAbsolute
            | Metric::Maximum
            | Metric::MaximumQuantile(_)
            | Metric::Entropy
            | Metric::Usefulness(_)
            | Metric::Quantile(_)
            | Metric::Loss(_) => self.best.floor,
        };
        let (metric, is_plain) = (self.metric.clone(), self.best.is_plain);
        let plain = self.plain;
        Ok(OptimisedGaussian { family, metric, mechanism, error, plain, least, is_plain })
    }
}

/// The best member of a family but the discrete one, to be stretched until its guarantee is proved.
fn member(
    family: SigmaFamily,
    loss: &SigmaLoss,
    distance: Distance,
    (epsilon, delta): (Epsilon, Delta),
    plain: f64,
) -> Result<Vec<(f64, f64)>, ChoiceError> {
    let search = Search {
        loss,
        sensitivity: distance.get(),
        epsilon: epsilon.get(),
        delta: delta.get(),
        plain,
    };
    search.best(family).ok_or_else(|| {
        ChoiceError::NothingFits(format!(
            "no member of the family {family} was found that keeps epsilon and delta"
        ))
    })
}
