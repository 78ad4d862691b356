//! Noise of random scale that is optimised for a metric: what is asked, found and said.

use crate::failure::Failure;
use crate::metric_text::read_metric;
use crate::options::Words;
use crate::stated::Stated;
use clap::Args;
use reticent_choice::Metric;
use reticent_choice::random_scale::{Family, Optimised, optimise};
use reticent_choice::random_scale_gaussian::{OptimisedGaussian, SigmaFamily, optimise_gaussian};
use reticent_events::Event;
use reticent_mechanisms::{
    Boost, Budget, Delta, Distance, Epsilon, Mechanism, MechanismKind, average_leakage, can_boost,
    inverse_scale_of, scalar_epsilon,
};
use reticent_numerics::Bounds;
use reticent_numerics::digits::{exact, figure, rounded, rounded_down, rounded_up};
use serde::Serialize;

/// What the scale is optimised for. With one of these the mechanism is `random-scale-laplace` or
/// `random-scale-gaussian`, without parameters.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "A random scale, optimised (R2DP)")]
pub struct OptimiseOptions {
    /// What the noise of random-scale-laplace or random-scale-gaussian is to make small: l1, l2,
    /// max, max:Q, entropy, usefulness:T, quantile:Q, loss:FILE or expression:TEXT [default: l1]
    #[arg(long, value_name = "METRIC")]
    metric: Option<String>,
    /// The family of distributions to search: two-point (the best of all), combined (Algorithm 1),
    /// gamma, uniform or truncated-gaussian, of one over the scale; for random-scale-gaussian
    /// discrete (the best of all), two-point, gamma, uniform or truncated-gaussian
    #[arg(long, value_name = "FAMILY")]
    family: Option<String>,
}

/// An optimisation that was asked for.
#[derive(Clone, Debug)]
pub struct Optimisation {
    family: AnyFamily,
    metric: String,
}

#[derive(Clone, Copy, Debug)]
enum AnyFamily {
    Laplace(Family),
    Gaussian(SigmaFamily),
}

impl OptimiseOptions {
    /// What is to be optimised; `None` if nothing is.
    ///
    /// # Errors
    /// If the mechanism is not one whose scale is random, or the family is none of its own.
    pub fn wanted(&self, mechanism: &Words) -> Result<Option<Optimisation>, Failure> {
        if self.metric.is_none() && self.family.is_none() {
            return Ok(None);
        }
        let [laplace, gaussian] =
            [MechanismKind::RandomScaleLaplace, MechanismKind::RandomScaleGaussian];
        let text = mechanism.text();
        let family = if text == laplace.name() {
            let family = self.family.as_deref().unwrap_or(Family::TwoPoint.name());
            AnyFamily::Laplace(family.parse::<Family>().map_err(Failure::usage)?)
        } else if text == gaussian.name() {
            let family = self.family.as_deref().unwrap_or(SigmaFamily::Discrete.name());
            AnyFamily::Gaussian(family.parse::<SigmaFamily>().map_err(Failure::usage)?)
        } else {
            return Err(Failure::usage(format!(
                "--metric and --family are for {} and {}, without parameters of their own: their \
                 scale is what is optimised. `reticent choose` compares all mechanisms by a metric",
                laplace.name(),
                gaussian.name()
            )));
        };
        Ok(Some(Optimisation { family, metric: self.metric.clone().unwrap_or("l1".into()) }))
    }
}

/// The noise that was found.
#[derive(Debug)]
pub enum Found {
    /// Laplace noise.
    Laplace(Box<Optimised>),
    /// Gaussian noise.
    Gaussian(Box<OptimisedGaussian>),
}

/// The sensitivity where none is given, with what is said about it.
pub const ASSUMED: (f64, &str) = (1.0, "no sensitivity was given: it is taken to be 1");

impl Optimisation {
    /// The best noise of the family for a sensitivity, of so many numbers if that is known.
    ///
    /// # Errors
    /// If the metric or a parameter is not accepted, or nothing was found.
    pub fn run(
        &self,
        stated: &Stated,
        dimension: Option<u64>,
        budget: Budget,
    ) -> Result<Found, Failure> {
        let sensitivity = stated.sensitivity(dimension)?;
        let (kind, length) = match self.family {
            AnyFamily::Laplace(_) => (MechanismKind::RandomScaleLaplace, sensitivity.l1()?),
            AnyFamily::Gaussian(_) => (MechanismKind::RandomScaleGaussian, sensitivity.l2()?),
        };
        let metric = |epsilon: f64| read_metric(&self.metric, length / epsilon);
        Ok(match self.family {
            AnyFamily::Laplace(family) => {
                let epsilon = Epsilon::positive(budget.pure(kind)?)?;
                let found = optimise(family, &metric(epsilon.get())?, &sensitivity, epsilon)?;
                Found::Laplace(Box::new(found))
            }
            AnyFamily::Gaussian(family) => {
                let (epsilon, delta) = budget.approximate(kind)?;
                let budget = (Epsilon::positive(epsilon)?, Delta::new(delta)?);
                let metric = metric(budget.0.get())?;
                Found::Gaussian(Box::new(optimise_gaussian(family, &metric, &sensitivity, budget)?))
            }
        })
    }
}

/// What is said of noise that was optimised. Figures of errors are by the metric.
#[derive(Clone, Debug, Serialize)]
pub struct OptimisationRecord {
    metric: String,
    family: &'static str,
    /// Of the noise that was found; `null` is infinite.
    error: Option<f64>,
    /// Of plain noise, Laplace's or Gauss's.
    plain_error: Option<f64>,
    /// Proved: no distribution of the scale has less; `null` is not known.
    least_error: Option<f64>,
    /// At most so many times the least.
    ratio_to_least: Option<f64>,
    /// Whether it is proved that plain noise is the best of all random scales.
    plain_is_best: bool,
    #[serde(skip)]
    plain_name: &'static str,
}

impl Found {
    /// The mechanism.
    pub fn mechanism(&self) -> Box<dyn Mechanism> {
        match self {
            Found::Laplace(found) => Box::new(found.mechanism.clone()),
            Found::Gaussian(found) => Box::new(found.mechanism.clone()),
        }
    }

    /// What there is to say about it.
    pub fn record(&self) -> OptimisationRecord {
        let (metric, family, error, plain, least, ratio, best, plain_name) = match self {
            Found::Laplace(found) => (
                &found.metric,
                found.family.name(),
                found.error,
                found.laplace,
                found.least,
                found.ratio(),
                found.is_laplace,
                "Laplace",
            ),
            Found::Gaussian(found) => (
                &found.metric,
                found.family.name(),
                found.error,
                found.plain,
                found.least,
                found.ratio(),
                found.is_plain,
                "Gaussian",
            ),
        };
        let known = least.is_finite() && (least > 0.0 || *metric == Metric::Entropy);
        OptimisationRecord {
            metric: metric.to_string(),
            family,
            error: figure(error),
            plain_error: figure(plain),
            least_error: known.then_some(least),
            ratio_to_least: ratio,
            plain_is_best: best,
            plain_name,
        }
    }
}

impl OptimisationRecord {
    /// Names and values for a table.
    pub fn rows(&self) -> Vec<(String, String)> {
        let shown = |value: Option<f64>| value.map_or("not known".to_string(), rounded);
        let mut rows = vec![
            ("optimised for".to_string(), self.metric.clone()),
            ("over the family".to_string(), self.family.to_string()),
            ("error by the metric".to_string(), shown(self.error)),
            (format!("the same of {} noise", self.plain_name), shown(self.plain_error)),
            (
                "least of any random scale".to_string(),
                self.least_error.map_or("not known".to_string(), no_more),
            ),
            (
                "times that, at most".to_string(),
                self.ratio_to_least.map_or("not known".to_string(), rounded_up),
            ),
        ];
        if self.plain_is_best {
            let proved = format!("plain {} noise is the best, proved", self.plain_name);
            rows.push(("of all random scales".to_string(), proved));
        }
        rows
    }

    /// A sentence for a release.
    pub fn sentence(&self) -> String {
        let shown = |value: Option<f64>| value.map_or("not known".to_string(), rounded);
        let ratio = match (self.least_error, self.ratio_to_least) {
            (Some(least), Some(ratio)) => format!(
                "; it is proved that no random scale has less than {}, so that this is at most {} \
                 times the best",
                no_more(least),
                rounded_up(ratio)
            ),
            _ => String::new(),
        };
        let best = if self.plain_is_best {
            format!("; it is proved that plain {} noise is the best", self.plain_name)
        } else {
            String::new()
        };
        format!(
            "Optimised for the metric {} over the family {}: error {}, {} noise {}{ratio}{best}.",
            self.metric,
            self.family,
            shown(self.error),
            self.plain_name,
            shown(self.plain_error)
        )
    }
}

/// A proved lower bound in six digits, and no more than it; the entropy can be negative.
fn no_more(least: f64) -> String {
    if least >= 0.0 { rounded_down(least) } else { exact(least) }
}

/// Both sides of Theorem 4.6's condition: a random scale can gain over Laplace noise only if its
/// epsilon is below the logarithm of the average of `e^epsilon` over its scales (Eqn 13).
#[derive(Clone, Copy, Debug, Serialize)]
pub struct NecessaryCondition {
    /// `null` where the two are too near to tell.
    holds: Option<bool>,
    epsilon: f64,
    /// `null` is infinite.
    average: Option<f64>,
}

impl NecessaryCondition {
    /// For noise that the theorem is about, each coordinate of a vector by itself.
    pub fn of(event: &Event) -> Option<Self> {
        let (inverse_scale, distance) = match event {
            Event::RandomScaleLaplace { inverse_scale, sensitivity } => {
                (inverse_scale, *sensitivity)
            }
            Event::RandomScaleLaplaceVector { inverse_scale, coordinates, sensitivity } => {
                (inverse_scale, sensitivity / *coordinates as f64)
            }
            _ => return None,
        };
        let (inverse_scale, distance) =
            (inverse_scale_of(inverse_scale).ok()?, Distance::new(distance).ok()?);
        let holds = match can_boost(&inverse_scale, distance) {
            Boost::Possible => Some(true),
            Boost::Excluded => Some(false),
            Boost::NotKnown => None,
        };
        let average: Bounds = average_leakage(&inverse_scale, distance);
        Some(NecessaryCondition {
            holds,
            epsilon: scalar_epsilon(&inverse_scale, distance).estimate(),
            average: figure(average),
        })
    }

    /// For a table.
    pub fn text(&self) -> String {
        let average = self.average.map_or("infinity".to_string(), rounded);
        let epsilon = rounded(self.epsilon);
        match self.holds {
            Some(true) => format!("holds: {epsilon} < {average}"),
            Some(false) => {
                format!("fails: {epsilon} >= {average}, Laplace noise is better at every distance")
            }
            None => format!("too near to tell: {epsilon} and {average}"),
        }
    }
}
