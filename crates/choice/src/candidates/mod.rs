//! Every mechanism of the project, each at its best for given requirements.

mod approximate;
mod bounded;
mod for_release;
mod generalized_gaussian;
mod optimal;
mod pure;
mod random_scale;

pub(crate) use for_release::for_release;
pub(crate) use optimal::optimal;
pub(crate) use pure::pure_limit;

use crate::clamped_law::ClampedLaw;
use crate::error::ChoiceError;
use crate::error_law::ErrorLaw;
use crate::integer_law::Rounded;
use crate::requirements::Requirements;
use reticent_mechanisms::{Clamped, Mechanism, RoundedToIntegers};
use reticent_numerics::Bounds;

/// A mechanism that keeps the budget, with the error that it brings.
#[derive(Debug)]
pub struct Candidate {
    /// What the ranking calls it: the name of the mechanism, and for bounded noise what happens at
    /// the bounds, too.
    pub name: &'static str,
    /// The mechanism, ready to release.
    pub mechanism: Box<dyn Mechanism>,
    /// The distribution of its error.
    pub law: Box<dyn ErrorLaw>,
    /// Its error by the metric of the requirements.
    pub error: Bounds,
    /// What speaks for it or against it, in a sentence.
    pub why: String,
}

/// A mechanism that does not meet the requirements.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// Its name.
    pub mechanism: &'static str,
    /// Why, in a sentence.
    pub reason: String,
}

/// What becomes of a mechanism.
pub(crate) type Outcome = Result<Candidate, Refusal>;

/// A refusal.
pub(crate) fn refuse(mechanism: &'static str, reason: impl Into<String>) -> Refusal {
    Refusal { mechanism, reason: reason.into() }
}

/// A failed construction as a refusal.
pub(crate) fn failed<E: Into<ChoiceError>>(mechanism: &'static str) -> impl Fn(E) -> Refusal {
    move |error| refuse(mechanism, error.into().to_string())
}

/// Tries every mechanism but the one that takes a linear programme. `reached` is called before each
/// with its name.
pub(crate) fn all(
    requirements: &Requirements,
    reached: &mut dyn FnMut(&'static str),
) -> Vec<Outcome> {
    type Maker = fn(&Requirements) -> Outcome;
    let makers: [(&'static str, Maker); 9] = [
        ("staircase", pure::staircase),
        ("discrete-laplace", pure::discrete_laplace),
        ("laplace", pure::laplace),
        ("gaussian", approximate::gaussian),
        ("truncated-laplace", approximate::truncated_laplace),
        ("discrete-gaussian", approximate::discrete_gaussian),
        ("generalized-gaussian", generalized_gaussian::generalized_gaussian),
        ("truncated-generalized-gaussian", bounded::truncated),
        ("inflated-generalized-gaussian", bounded::inflated),
    ];
    let single = makers.map(|(name, make)| {
        reached(name);
        make(requirements)
    });
    reached("random-scale-laplace");
    let laplace = random_scale::random_scale_laplace(requirements);
    reached("random-scale-gaussian");
    let gaussian = random_scale::random_scale_gaussian(requirements);
    single.into_iter().chain(laplace).chain([gaussian]).collect()
}

impl Candidate {
    /// An additive mechanism with the law of its noise. For integers its releases are rounded, and
    /// the error is that of the rounded ones; with bounds they are moved between them, which can
    /// only help.
    pub(crate) fn new(
        requirements: &Requirements,
        mechanism: impl Mechanism + 'static,
        law: impl ErrorLaw + 'static,
        why: impl Into<String>,
    ) -> Outcome {
        Self::with_entropy(requirements, mechanism, law, Bounds::WHOLE_LINE, why)
    }

    /// The same where Shannon's entropy after rounding is known.
    pub(crate) fn with_entropy(
        requirements: &Requirements,
        mechanism: impl Mechanism + 'static,
        law: impl ErrorLaw + 'static,
        entropy_of_integers: Bounds,
        why: impl Into<String>,
    ) -> Outcome {
        let name = mechanism.name();
        let mut mechanism: Box<dyn Mechanism> = Box::new(mechanism);
        let mut law: Box<dyn ErrorLaw> = Box::new(law);
        if requirements.query.is_integer() && !law.is_integer() {
            mechanism = Box::new(RoundedToIntegers::new(mechanism).map_err(failed(name))?);
            law = Box::new(Rounded::new(law, entropy_of_integers));
        }
        if let Some((lower, upper)) = requirements.query.bounds() {
            mechanism = Box::new(Clamped::new(mechanism, lower, upper).map_err(failed(name))?);
            law = Box::new(ClampedLaw::new(law, (upper - lower).next_up()));
        }
        Self::judged(requirements, name, mechanism, law, why.into())
    }

    /// The error by the metric, if it is finite.
    pub(crate) fn judged(
        requirements: &Requirements,
        name: &'static str,
        mechanism: Box<dyn Mechanism>,
        law: Box<dyn ErrorLaw>,
        why: String,
    ) -> Outcome {
        let error = requirements.metric.error(&*law, requirements.query.dimension());
        if !error.upper().is_finite() {
            let metric = &requirements.metric;
            let reason = if error.lower() == f64::INFINITY {
                format!("its error by the metric {metric} is infinite: its tails are too heavy")
            } else {
                format!("its error by the metric {metric} could not be bounded")
            };
            return Err(refuse(name, reason));
        }
        Ok(Candidate { name, mechanism, law, error, why })
    }
}
