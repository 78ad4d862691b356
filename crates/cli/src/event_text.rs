//! Events as people write them on the command line: a mechanism and its parameters, such as `gaussian sigma=10 times=1000`.

use crate::failure::Failure;
use crate::options::{count, number};
use reticent_events::{Event, InverseScale};
use reticent_mechanisms::{
    Epsilon, Mechanism, MechanismError, Neighbours, Scale, Sensitivity, Support, TruncatedLaplace,
};

/// The mechanisms that can be written, each with its own parameters. `sensitivity`, where a mechanism has one, is 1 unless it is given; every event may say `times` and `subsample`.
const GRAMMAR: [(&str, &[&str]); 16] = [
    ("laplace", &["scale", "sensitivity"]),
    ("discrete-laplace", &["scale", "sensitivity"]),
    ("staircase", &["epsilon", "gamma", "sensitivity"]),
    ("truncated-laplace", &["scale", "support", "sensitivity"]),
    ("gaussian", &["sigma", "sensitivity"]),
    ("discrete-gaussian", &["sigma", "sensitivity"]),
    ("generalized-gaussian", &["order", "scale", "sensitivity"]),
    ("truncated-generalized-gaussian", &["order", "scale", "range", "sensitivity"]),
    ("inflated-generalized-gaussian", &["order", "scale", "range", "sensitivity"]),
    ("randomized-response", &["epsilon", "categories"]),
    (
        "random-scale-laplace",
        &["family", "first", "second", "weight", "shape", "theta", "lower", "upper", "mu", "spread", "sensitivity"],
    ),
    ("random-scale-gaussian", &["sigmas", "sensitivity"]),
    ("exponential", &["epsilon"]),
    ("permute-and-flip", &["epsilon"]),
    ("approximate", &["epsilon", "delta"]),
    ("zero-concentrated", &["rho"]),
];

/// What every event may say besides.
const COMMON: [&str; 2] = ["times", "subsample"];

/// Reads one event. `position` counts from 1, and names it in messages.
///
/// # Errors
/// If the mechanism or a parameter is unknown, given twice, missing or not a number. Whether a number is one that the mechanism can have is the accountants' to say.
pub fn event_of(text: &str, position: usize) -> Result<Event, Failure> {
    let mut words = text.split_whitespace();
    let mechanism = words.next().ok_or_else(|| {
        Failure::usage(format!("event {position} is empty, but it must be like \"gaussian sigma=10 times=1000\""))
    })?;
    let Some((mechanism, parameters)) = GRAMMAR.iter().find(|(name, _)| *name == mechanism) else {
        let names: Vec<_> = GRAMMAR.iter().map(|(name, _)| *name).collect();
        return Err(Failure::usage(format!(
            "event {position}: there is no mechanism `{mechanism}`; there are {}",
            names.join(", ")
        )));
    };
    let mut words_of = Words { position, mechanism, values: Vec::new() };
    for word in words {
        let Some((name, value)) = word.split_once('=') else {
            return Err(words_of.refuse(&format!("`{word}` is not of the form name=value")));
        };
        if !parameters.contains(&name) && !COMMON.contains(&name) {
            let known: Vec<_> = parameters.iter().chain(&COMMON).copied().collect();
            return Err(words_of.refuse(&format!("there is no parameter `{name}`; there are {}", known.join(", "))));
        }
        if words_of.values.iter().any(|(known, _)| *known == name) {
            return Err(words_of.refuse(&format!("`{name}` is given twice")));
        }
        words_of.values.push((name, value));
    }
    words_of.event()
}

/// The words of one event.
struct Words<'a> {
    position: usize,
    mechanism: &'a str,
    values: Vec<(&'a str, &'a str)>,
}

impl Words<'_> {
    fn refuse(&self, problem: &str) -> Failure {
        Failure::usage(format!("event {} ({}): {problem}", self.position, self.mechanism))
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    fn need(&self, name: &str) -> Result<&str, Failure> {
        self.text(name).ok_or_else(|| self.refuse(&format!("`{name}=` is missing")))
    }

    fn real(&self, name: &str) -> Result<f64, Failure> {
        let text = self.need(name)?;
        number(text).map_err(|_| self.refuse(&format!("`{name}` is `{text}`, but it must be a number")))
    }

    fn whole(&self, name: &str, least: u64) -> Result<u64, Failure> {
        let text = self.need(name)?;
        count(text).ok().filter(|value| *value >= least).ok_or_else(|| {
            self.refuse(&format!("`{name}` is `{text}`, but it must be a whole number of at least {least}"))
        })
    }

    fn sensitivity(&self) -> Result<f64, Failure> {
        self.text("sensitivity").map_or(Ok(1.0), |_| self.real("sensitivity"))
    }

    fn whole_sensitivity(&self) -> Result<u64, Failure> {
        self.text("sensitivity").map_or(Ok(1), |_| self.whole("sensitivity", 1))
    }

    fn event(&self) -> Result<Event, Failure> {
        let mut event = self.single()?;
        if self.text("subsample").is_some() {
            let rate = self.real("subsample")?;
            if !(rate > 0.0 && rate <= 1.0) {
                return Err(
                    self.refuse(&format!("`subsample` is {rate:e}, but it must be a number above 0 and at most 1"))
                );
            }
            event = Event::PoissonSubsampled { rate, event: Box::new(event) };
        }
        match self.text("times").map_or(Ok(1), |_| self.whole("times", 1))? {
            1 => Ok(event),
            times => Ok(Event::Repetition { times, event: Box::new(event) }),
        }
    }

    fn single(&self) -> Result<Event, Failure> {
        let real = |name| self.real(name);
        Ok(match self.mechanism {
            "laplace" => Event::Laplace { scale: real("scale")?, sensitivity: self.sensitivity()? },
            "discrete-laplace" => {
                Event::DiscreteLaplace { scale: real("scale")?, sensitivity: self.whole_sensitivity()? }
            }
            "staircase" => {
                let (epsilon, gamma) = (real("epsilon")?, real("gamma")?);
                Event::Staircase { epsilon, gamma, sensitivity: self.sensitivity()? }
            }
            "truncated-laplace" => {
                let (scale, support) = (real("scale")?, Support::InAnswers(real("support")?));
                let event = truncated_laplace(scale, support, self.sensitivity()?);
                event.map_err(|error| self.refuse(&error.to_string()))?
            }
            "gaussian" => Event::Gaussian { sigma: real("sigma")?, sensitivity: self.sensitivity()? },
            "discrete-gaussian" => {
                Event::DiscreteGaussian { sigma: real("sigma")?, sensitivity: self.whole_sensitivity()? }
            }
            "generalized-gaussian" => {
                let (order, scale) = (real("order")?, real("scale")?);
                Event::GeneralizedGaussian { order, scale, sensitivities: vec![self.sensitivity()?] }
            }
            "truncated-generalized-gaussian" => {
                let (order, scale, range) = (real("order")?, real("scale")?, real("range")?);
                Event::TruncatedGeneralizedGaussian { order, scale, range, sensitivity: self.sensitivity()? }
            }
            "inflated-generalized-gaussian" => {
                let (order, scale, range) = (real("order")?, real("scale")?, real("range")?);
                Event::InflatedGeneralizedGaussian { order, scale, range, sensitivity: self.sensitivity()? }
            }
            "randomized-response" => {
                Event::RandomizedResponse { epsilon: real("epsilon")?, categories: self.whole("categories", 2)? }
            }
            "random-scale-laplace" => {
                Event::RandomScaleLaplace { inverse_scale: self.inverse_scale()?, sensitivity: self.sensitivity()? }
            }
            "random-scale-gaussian" => {
                Event::RandomScaleGaussian { sigmas: self.sigmas()?, sensitivity: self.sensitivity()? }
            }
            "exponential" => Event::Exponential { epsilon: real("epsilon")? },
            "permute-and-flip" => Event::PermuteAndFlip { epsilon: real("epsilon")? },
            "approximate" => Event::Approximate { epsilon: real("epsilon")?, delta: real("delta")? },
            // "zero-concentrated", the last of the grammar.
            _ => Event::ZeroConcentrated { rho: real("rho")? },
        })
    }

    /// The distribution of a random inverse scale; the parameters of other families are refused.
    fn inverse_scale(&self) -> Result<InverseScale, Failure> {
        let family = self.need("family")?;
        let own: &[&str] = match family {
            "two-point" => &["first", "second", "weight"],
            "gamma" => &["shape", "theta"],
            "uniform" => &["lower", "upper"],
            "truncated-gaussian" => &["mu", "spread", "lower", "upper"],
            _ => {
                let accepted = "two-point, gamma, uniform or truncated-gaussian (combined can be given in a file)";
                return Err(self.refuse(&format!("`family` is `{family}`, but it must be {accepted}")));
            }
        };
        let others = ["family", "sensitivity"];
        let strange =
            |(name, _): &&(&str, &str)| !own.contains(name) && !others.contains(name) && !COMMON.contains(name);
        if let Some((name, _)) = self.values.iter().find(strange) {
            return Err(self.refuse(&format!("`{name}` is not a parameter of the family {family}")));
        }
        let real = |name| self.real(name);
        Ok(match family {
            "two-point" => {
                InverseScale::TwoPoint { first: real("first")?, second: real("second")?, weight: real("weight")? }
            }
            "gamma" => InverseScale::Gamma { shape: real("shape")?, theta: real("theta")? },
            "uniform" => InverseScale::Uniform { lower: real("lower")?, upper: real("upper")? },
            _ => {
                let (mu, sigma) = (real("mu")?, real("spread")?);
                InverseScale::TruncatedGaussian { mu, sigma, lower: real("lower")?, upper: real("upper")? }
            }
        })
    }

    /// Standard deviations with their weights, such as `1:0.9,3:0.1`.
    fn sigmas(&self) -> Result<Vec<(f64, f64)>, Failure> {
        let text = self.need("sigmas")?;
        let pair = |pair: &str| {
            let (sigma, weight) = pair.split_once(':')?;
            Some((number(sigma).ok()?, number(weight).ok()?))
        };
        text.split(',').map(pair).collect::<Option<Vec<_>>>().ok_or_else(|| {
            self.refuse(&format!("`sigmas` is `{text}`, but it must be like 1:0.9,3:0.1, each sigma with its weight"))
        })
    }
}

/// What is typed is in units of the answer, as the scale and the sensitivity are; an event has its
/// support in scales.
fn truncated_laplace(scale: f64, support: Support, sensitivity: f64) -> Result<Event, MechanismError> {
    let sensitivity = Sensitivity::scalar(sensitivity, Neighbours::AddRemove)?;
    Ok(TruncatedLaplace::with_support(&sensitivity, Scale::new(scale)?, support, Epsilon::new(1.0)?)?.event())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_read_as_it_is_written() {
        let gaussian = Event::Gaussian { sigma: 10.0, sensitivity: 1.0 };
        assert_eq!(event_of("gaussian sigma=10", 1), Ok(gaussian.clone()));
        let sampled = Event::PoissonSubsampled { rate: 0.01, event: Box::new(gaussian) };
        let expected = Event::Repetition { times: 1000, event: Box::new(sampled) };
        assert_eq!(event_of(" gaussian  times=1e3 sigma=10 subsample=0.01 ", 1), Ok(expected));
        let inverse_scale = InverseScale::Gamma { shape: 2.0, theta: 0.5 };
        let expected = Event::RandomScaleLaplace { inverse_scale, sensitivity: 3.0 };
        assert_eq!(event_of("random-scale-laplace family=gamma shape=2 theta=0.5 sensitivity=3", 1), Ok(expected));
        let expected = Event::TruncatedLaplace { scale: 0.25, support_in_scales: 8.0, sensitivity: 3.0 };
        assert_eq!(event_of("truncated-laplace scale=0.25 support=2 sensitivity=3", 1), Ok(expected));
        let expected = Event::RandomScaleGaussian { sigmas: vec![(1.0, 0.9), (3.0, 0.1)], sensitivity: 1.0 };
        assert_eq!(event_of("random-scale-gaussian sigmas=1:0.9,3:0.1", 1), Ok(expected));
    }

    /// Every mechanism of the grammar can be written, with the name that the event gives itself.
    #[test]
    fn the_grammar_is_that_of_the_events() {
        for (mechanism, parameters) in GRAMMAR {
            let value = |name: &str| match name {
                "family" => Some("family=uniform".to_string()),
                "lower" => Some("lower=1".into()),
                "upper" => Some("upper=2".into()),
                "sigmas" => Some("sigmas=1:1".into()),
                "categories" => Some("categories=2".into()),
                "first" | "second" | "weight" | "shape" | "theta" | "mu" | "spread" => None,
                other => Some(format!("{other}=1")),
            };
            let text: Vec<_> =
                [mechanism.to_string()].into_iter().chain(parameters.iter().filter_map(|name| value(name))).collect();
            let event = event_of(&text.join(" "), 1).expect("right");
            assert_eq!(event.mechanism(), mechanism);
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_the_event() {
        for (text, expected) in [
            ("", "event 7 is empty"),
            ("gauss sigma=1", "event 7: there is no mechanism `gauss`; there are laplace"),
            ("gaussian", "event 7 (gaussian): `sigma=` is missing"),
            ("gaussian sigma", "`sigma` is not of the form name=value"),
            ("gaussian scale=1", "there is no parameter `scale`; there are sigma, sensitivity, times, subsample"),
            ("gaussian sigma=1 sigma=2", "`sigma` is given twice"),
            ("gaussian sigma=one", "`sigma` is `one`, but it must be a number"),
            ("gaussian sigma=1 times=0", "`times` is `0`, but it must be a whole number of at least 1"),
            ("gaussian sigma=1 times=-3", "`times` is `-3`"),
            ("gaussian sigma=1 times=1.5", "`times` is `1.5`"),
            ("gaussian sigma=1 subsample=1.5", "`subsample` is 1.5e0, but it must be a number above 0 and at most 1"),
            ("gaussian sigma=1 subsample=nan", "`subsample` is NaN"),
            ("discrete-laplace scale=1 sensitivity=0.5", "`sensitivity` is `0.5`, but it must be a whole number"),
            ("randomized-response epsilon=1 categories=1", "`categories` is `1`"),
            ("random-scale-laplace family=odd", "`family` is `odd`"),
            ("random-scale-laplace family=gamma shape=2 theta=1 mu=1", "`mu` is not a parameter of the family gamma"),
            ("random-scale-gaussian sigmas=1,2", "`sigmas` is `1,2`"),
        ] {
            let message = event_of(text, 7).expect_err("wrong").to_string();
            assert!(message.contains(expected), "{text}: {message}");
        }
    }
}
