//! The mechanisms by name. Only this file knows all of them.

mod choice;
mod gaussian;
mod generalized_gaussian;
mod inverse_scale;
mod random_scale_gaussian;
mod random_scale_laplace;
pub mod stretch;

use crate::failure::Failure;
use crate::numbers::exact;
use crate::request::Request;
use reticent_mechanisms::{
    Delta, DiscreteGaussianMechanism, DiscreteLaplace, Epsilon, Exponential, Laplace, Mechanism, PermuteAndFlip,
    RandomizedResponse, Staircase, StaircaseAim, Support, TruncatedLaplace,
};
use reticent_noise::randomness::RandomBits;
use serde::Serialize;
use stretch::{Stretch, by_loss, by_scale, by_sigma};

/// What the command line knows about a mechanism.
#[derive(Debug, Serialize)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// What it is for, in a line.
    pub purpose: &'static str,
    /// The promises it can keep.
    pub notions: &'static [&'static str],
    /// The ways to find its scale, the default first.
    pub methods: &'static [&'static str],
    /// The options from which it is calibrated.
    pub calibrated_by: &'static [&'static str],
    /// The options that describe it when it need not be calibrated.
    pub made_of: &'static [&'static str],
    /// Finds the least scale.
    #[serde(skip)]
    pub calibrate: Maker,
    /// Takes the parameters as they are.
    #[serde(skip)]
    pub describe: Maker,
    /// What one of many releases is made of at a scale; `None` if no single number stretches it.
    #[serde(skip)]
    pub stretch: Option<Stretch>,
    /// Whether it sees to `--clamp` by itself.
    #[serde(skip)]
    pub clamps_itself: bool,
    /// For a mechanism that chooses a candidate in place of adding noise.
    #[serde(skip)]
    pub choose: Option<Chooser>,
}

type Chooser = fn(&Request, &[f64], &mut dyn RandomBits) -> Result<usize, Failure>;

type Made = Result<Box<dyn Mechanism>, Failure>;
type Maker = fn(&Request) -> Made;

/// The entry of a name.
///
/// # Errors
/// If there is none; the message lists what there is.
pub fn entry_named(name: &str) -> Result<&'static Entry, String> {
    MECHANISMS.iter().find(|entry| entry.name == name).ok_or_else(|| {
        let names: Vec<_> = MECHANISMS.iter().map(|entry| entry.name).collect();
        format!("there is no such mechanism; there are {}", names.join(", "))
    })
}

/// All mechanisms.
pub static MECHANISMS: [Entry; 12] = [
    Entry {
        name: "randomized-response",
        purpose: "one of K answers, each person's own, for surveys without a trusted curator",
        notions: &["pure"],
        methods: &["exact"],
        calibrated_by: &["epsilon", "categories"],
        made_of: &["loss", "categories"],
        calibrate: |request| randomized_response(request, request.epsilon()?),
        describe: |request| randomized_response(request, request.loss()?),
        stretch: Some(by_loss),
        clamps_itself: false,
        choose: None,
    },
    Entry {
        name: "laplace",
        purpose: "numbers and vectors without exceptions; the usual choice for a few of them",
        notions: &["pure"],
        methods: &["exact"],
        calibrated_by: &["epsilon", "sensitivity", "l1", "dimension", "per-element", "clamp"],
        made_of: &["scale", "sensitivity", "l1", "dimension", "per-element", "clamp"],
        calibrate: |request| {
            let epsilon = Epsilon::positive(request.epsilon()?)?;
            Ok(Box::new(Laplace::calibrate(&request.sensitivity()?.known()?, epsilon)?))
        },
        describe: |request| {
            let scale = request.scale()?;
            Ok(Box::new(Laplace::with_scale(&request.sensitivity()?.known()?, scale)?))
        },
        stretch: Some(by_scale),
        clamps_itself: false,
        choose: None,
    },
    Entry {
        name: "discrete-laplace",
        purpose: "integers, such as counts, without exceptions; the geometric mechanism",
        notions: &["pure"],
        methods: &["exact"],
        calibrated_by: &["epsilon", "sensitivity", "l1", "per-element", "clamp"],
        made_of: &["scale", "sensitivity", "l1", "per-element", "clamp"],
        calibrate: |request| {
            let epsilon = Epsilon::positive(request.epsilon()?)?;
            clamped(request, DiscreteLaplace::calibrate(request.whole_sensitivity()?, epsilon)?)
        },
        describe: |request| {
            let scale = request.scale()?.get();
            clamped(request, DiscreteLaplace::with_scale(request.whole_sensitivity()?, scale)?)
        },
        stretch: Some(by_scale),
        clamps_itself: true,
        choose: None,
    },
    Entry {
        name: "staircase",
        purpose: "one number without exceptions, with the least error of all such noise for a given --metric",
        notions: &["pure"],
        methods: &["exact"],
        calibrated_by: &["epsilon", "sensitivity", "metric", "clamp"],
        made_of: &["loss", "gamma", "sensitivity", "clamp"],
        calibrate: |request| {
            let epsilon = Epsilon::positive(request.epsilon()?)?;
            let aim = aim_of(request.options().budget.metric.as_deref().unwrap_or("l1"))?;
            Ok(Box::new(Staircase::calibrate(&request.sensitivity()?.known()?, epsilon, aim)?))
        },
        describe: |request| {
            let gamma = request.need("gamma", &request.options().own.gamma)?;
            let loss = Epsilon::positive(request.loss()?)?;
            Ok(Box::new(Staircase::with_gamma(&request.sensitivity()?.known()?, loss, gamma)?))
        },
        stretch: Some(by_loss),
        clamps_itself: false,
        choose: None,
    },
    Entry {
        name: "truncated-laplace",
        purpose: "one number with a small exception, and noise that never exceeds a known --support",
        notions: &["approximate"],
        methods: &["exact"],
        calibrated_by: &["epsilon", "delta", "sensitivity", "clamp"],
        made_of: &["scale", "support", "sensitivity", "clamp"],
        calibrate: |request| {
            let (epsilon, delta) = (Epsilon::positive(request.epsilon()?)?, Delta::new(request.delta()?)?);
            Ok(Box::new(TruncatedLaplace::calibrate(&request.sensitivity()?.known()?, epsilon, delta)?))
        },
        describe: |request| {
            let (scale, support) = (request.scale()?, request.need("support", &request.options().own.support)?);
            let sensitivity = request.sensitivity()?.known()?;
            let support = Support::InAnswers(support);
            Ok(Box::new(TruncatedLaplace::with_support(&sensitivity, scale, support, stated_epsilon()?)?))
        },
        stretch: None,
        clamps_itself: false,
        choose: None,
    },
    Entry {
        name: "gaussian",
        purpose: "numbers and long vectors, with a small exception",
        notions: &["approximate", "probabilistic"],
        methods: &[
            "analytic",
            "classical-2006",
            "classical-2014",
            "closed-form-1",
            "closed-form-2",
            "vinterbo",
            "liu",
            "probabilistic",
            "probabilistic-one-sided",
        ],
        calibrated_by: &["epsilon", "delta", "method", "notion", "sensitivity", "l1", "l2", "per-element", "clamp"],
        made_of: &["sigma", "sensitivity", "l1", "l2", "per-element", "clamp"],
        calibrate: gaussian::calibrate,
        describe: gaussian::describe,
        stretch: Some(by_sigma),
        clamps_itself: false,
        choose: None,
    },
    Entry {
        name: "discrete-gaussian",
        purpose: "integers, such as counts, with a small exception",
        notions: &["approximate"],
        methods: &["exact"],
        calibrated_by: &["epsilon", "delta", "sensitivity", "clamp"],
        made_of: &["sigma", "sensitivity", "clamp"],
        calibrate: |request| {
            let (epsilon, delta) = (Epsilon::new(request.epsilon()?)?, Delta::new(request.delta()?)?);
            Ok(Box::new(DiscreteGaussianMechanism::calibrate(epsilon, delta, request.whole_sensitivity()?)?))
        },
        describe: |request| {
            let sigma = request.need("sigma", &request.options().own.sigma)?;
            let sensitivity = request.whole_sensitivity()?;
            Ok(Box::new(DiscreteGaussianMechanism::with_sigma(sigma, sensitivity, stated_epsilon()?)?))
        },
        stretch: Some(by_sigma),
        clamps_itself: false,
        choose: None,
    },
    Entry {
        name: "generalized-gaussian",
        purpose: "numbers, with tails as thick or thin as --order says; with --bounds, a number in a range without exceptions",
        notions: &["pure", "approximate", "probabilistic"],
        methods: &["exact", "probabilistic", "probabilistic-two-sided", "paper", "exponential"],
        calibrated_by: &[
            "order",
            "epsilon",
            "delta",
            "method",
            "notion",
            "sensitivity",
            "per-element",
            "bounds",
            "at-bounds",
            "clamp",
        ],
        made_of: &["order", "scale", "sensitivity", "per-element", "bounds", "at-bounds", "clamp"],
        calibrate: generalized_gaussian::calibrate,
        describe: generalized_gaussian::describe,
        stretch: Some(generalized_gaussian::stretch),
        clamps_itself: false,
        choose: None,
    },
    Entry {
        name: "random-scale-laplace",
        purpose: "numbers without exceptions, by Laplace noise whose inverse scale is drawn from a --family",
        notions: &["pure"],
        methods: &["exact"],
        calibrated_by: &[
            "epsilon",
            "sensitivity",
            "l1",
            "dimension",
            "family",
            "first",
            "second",
            "weight",
            "shape",
            "theta",
            "lower",
            "upper",
            "mu",
            "spread",
            "part",
            "clamp",
        ],
        made_of: &[
            "sensitivity",
            "family",
            "first",
            "second",
            "weight",
            "shape",
            "theta",
            "lower",
            "upper",
            "mu",
            "spread",
            "part",
            "clamp",
        ],
        calibrate: random_scale_laplace::calibrate,
        describe: random_scale_laplace::describe,
        stretch: Some(by_loss),
        clamps_itself: false,
        choose: None,
    },
    Entry {
        name: "random-scale-gaussian",
        purpose: "numbers with a small exception, by Gaussian noise whose standard deviation is drawn from --sigmas",
        notions: &["approximate"],
        methods: &["exact"],
        calibrated_by: &["epsilon", "delta", "sensitivity", "sigmas", "clamp"],
        made_of: &["sigmas", "sensitivity", "clamp"],
        calibrate: random_scale_gaussian::calibrate,
        describe: random_scale_gaussian::describe,
        stretch: Some(random_scale_gaussian::stretch),
        clamps_itself: false,
        choose: None,
    },
    Entry {
        name: "exponential",
        purpose: "a choice among candidates by their utilities, without exceptions; --method one-way where they move together",
        notions: &["pure"],
        methods: &["either-way", "one-way"],
        calibrated_by: &["epsilon", "sensitivity", "method"],
        made_of: &["loss", "sensitivity", "method"],
        calibrate: choice::make::<Exponential>,
        describe: choice::make::<Exponential>,
        stretch: Some(by_loss),
        clamps_itself: false,
        choose: Some(choice::choose::<Exponential>),
    },
    Entry {
        name: "permute-and-flip",
        purpose: "the same with a better choice on average at the same epsilon",
        notions: &["pure"],
        methods: &["either-way", "one-way"],
        calibrated_by: &["epsilon", "sensitivity", "method"],
        made_of: &["loss", "sensitivity", "method"],
        calibrate: choice::make::<PermuteAndFlip>,
        describe: choice::make::<PermuteAndFlip>,
        stretch: Some(by_loss),
        clamps_itself: false,
        choose: Some(choice::choose::<PermuteAndFlip>),
    },
];

/// Where a promise is stated that holds at every epsilon, each with its own delta: noise whose parameters were given was made for none in particular.
fn stated_epsilon() -> Result<Epsilon, Failure> {
    Ok(Epsilon::new(1.0)?)
}

fn randomized_response(request: &Request, epsilon: f64) -> Made {
    let categories = request.need("categories", &request.shape().categories)?;
    Ok(Box::new(RandomizedResponse::new(categories, Epsilon::positive(epsilon)?)?))
}

fn clamped(request: &Request, mechanism: DiscreteLaplace) -> Made {
    let Some((lower, upper)) = request.clamp()? else { return Ok(Box::new(mechanism)) };
    let whole = |bound: f64| (bound.fract() == 0.0 && bound.abs() <= 2f64.powi(53)).then_some(bound as i64);
    match (whole(lower), whole(upper)) {
        (Some(lower), Some(upper)) => Ok(Box::new(mechanism.clamped(lower, upper)?)),
        _ => Err(Failure::usage(format!(
            "--clamp is {},{}, but discrete-laplace takes integers from -2^53 to 2^53",
            exact(lower),
            exact(upper)
        ))),
    }
}

fn aim_of(metric: &str) -> Result<StaircaseAim, Failure> {
    match metric {
        "l1" => Ok(StaircaseAim::MeanAbsolute),
        "l2" => Ok(StaircaseAim::MeanSquare),
        "entropy" => Ok(StaircaseAim::Entropy),
        _ => {
            let within = metric.strip_prefix("usefulness:").and_then(|within| within.parse().ok());
            within.map(StaircaseAim::Usefulness).ok_or_else(|| {
                Failure::usage(format!(
                    "--metric is `{metric}`, but it must be l1, l2, entropy, or usefulness:T with a number T"
                ))
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_mechanisms::MechanismKind;

    /// All but the table that `choose` finds by search can be asked for by name, and nothing else
    /// can.
    #[test]
    fn every_mechanism_has_an_entry() {
        let names: Vec<_> = MECHANISMS.iter().map(|entry| entry.name).collect();
        for kind in MechanismKind::ALL {
            assert_eq!(names.contains(&kind.name()), *kind != MechanismKind::Tabulated, "{kind:?}");
        }
        assert!(names.iter().all(|name| MechanismKind::ALL.iter().any(|kind| kind.name() == *name)));
    }
}
