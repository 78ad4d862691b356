//! Noise and priors in words, such as `gaussian sigma=2`.

use crate::failure::Failure;
use reticent_denoising::bayes::Prior;
use reticent_denoising::{NoiseDescription, Shape};
use reticent_events::Event;

/// A name with parameters: `name key=value key=value`. A value can be a list, `1,2,3`.
#[derive(Debug)]
struct Words<'a> {
    option: &'static str,
    name: &'a str,
    parameters: Vec<(&'a str, Vec<f64>)>,
}

impl<'a> Words<'a> {
    fn parse(option: &'static str, text: &'a str) -> Result<Self, Failure> {
        let mut words = text.split_whitespace();
        let name = words.next().ok_or_else(|| Failure::usage(format!("--{option} is empty")))?;
        let parameters = words.map(|word| {
            let pair = word.split_once('=').and_then(|(key, list)| {
                let values: Option<Vec<f64>> = list.split(',').map(|value| value.parse().ok()).collect();
                values.map(|values| (key, values))
            });
            pair.ok_or_else(|| Failure::usage(format!("--{option}: `{word}` is not of the form name=number")))
        });
        Ok(Words { option, name, parameters: parameters.collect::<Result<_, _>>()? })
    }

    /// The parameters by name, each given once, and no others.
    fn lists<const N: usize>(&self, names: [&str; N]) -> Result<[Vec<f64>; N], Failure> {
        let (option, name) = (self.option, self.name);
        let wanted = || names.map(|name| format!("{name}=NUMBER")).join(" ");
        let right =
            self.parameters.len() == N && names.iter().all(|name| self.parameters.iter().any(|(key, _)| key == name));
        if !right {
            return Err(Failure::usage(format!("--{option}: `{name}` takes {}", wanted())));
        }
        Ok(names.map(|name| {
            self.parameters.iter().find(|(key, _)| *key == name).map(|(_, values)| values.clone()).unwrap_or_default()
        }))
    }

    fn numbers<const N: usize>(&self, names: [&str; N]) -> Result<[f64; N], Failure> {
        let lists = self.lists(names)?;
        if let Some(index) = lists.iter().position(|list| list.len() != 1) {
            return Err(Failure::usage(format!("--{}: {} takes one number", self.option, names[index])));
        }
        Ok(lists.map(|list| list[0]))
    }
}

/// The noise of `--noise`. Gaussian and Laplace noise take one scale or one for each value.
///
/// # Errors
/// If the words name no noise or not its parameters.
pub fn noise(text: &str) -> Result<NoiseDescription, Failure> {
    let words = Words::parse("noise", text)?;
    let scaled = |shape: Shape, scales: Vec<f64>| match scales[..] {
        [scale] => NoiseDescription::new(shape, scale),
        _ => NoiseDescription::with_scales(shape, scales),
    };
    // The sensitivity of an event is nothing to the noise.
    let event = match words.name {
        "gaussian" => {
            let [sigma] = words.lists(["sigma"])?;
            return Ok(scaled(Shape::Gaussian, sigma)?);
        }
        "laplace" => {
            let [scale] = words.lists(["scale"])?;
            return Ok(scaled(Shape::Laplace, scale)?);
        }
        "discrete-laplace" => Event::DiscreteLaplace { scale: words.numbers(["scale"])?[0], sensitivity: 1 },
        "discrete-gaussian" => Event::DiscreteGaussian { sigma: words.numbers(["sigma"])?[0], sensitivity: 1 },
        "generalized-gaussian" => {
            let [order, scale] = words.numbers(["order", "scale"])?;
            Event::GeneralizedGaussian { order, scale, sensitivities: vec![1.0] }
        }
        "staircase" => {
            let [epsilon, gamma, sensitivity] = words.numbers(["loss", "gamma", "sensitivity"])?;
            Event::Staircase { epsilon, gamma, sensitivity }
        }
        other => {
            return Err(Failure::usage(format!(
                "--noise is `{other}`, but it must begin with gaussian, laplace, discrete-laplace, discrete-gaussian, generalized-gaussian or \
                 staircase; other noise comes with a release file"
            )));
        }
    };
    Ok(NoiseDescription::of_event(&event)?)
}

/// The prior of `--prior`.
///
/// # Errors
/// If the words name no prior or not its parameters.
pub fn prior(text: &str) -> Result<Prior, Failure> {
    let words = Words::parse("prior", text)?;
    Ok(match words.name {
        "gaussian" => {
            let [mean, deviation] = words.numbers(["mean", "sd"])?;
            Prior::gaussian(mean, deviation)?
        }
        "laplace" => {
            let [mean, scale] = words.numbers(["mean", "scale"])?;
            Prior::laplace(mean, scale)?
        }
        "uniform" => {
            let [lower, upper] = words.numbers(["lower", "upper"])?;
            Prior::uniform(lower, upper)?
        }
        "sample" => {
            let [values] = words.lists(["values"])?;
            Prior::sample(values)?
        }
        other => {
            return Err(Failure::usage(format!(
                "--prior is `{other}`, but it must begin with gaussian, laplace, uniform or sample"
            )));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_understood_or_refused_with_what_is_accepted() {
        assert_eq!(noise("gaussian sigma=2"), Ok(NoiseDescription::gaussian(2.0).expect("valid")));
        assert_eq!(noise("laplace scale=1,2").expect("valid").common_scale(), None);
        assert!(noise("staircase loss=1 gamma=0.3 sensitivity=2").is_ok() && prior("uniform lower=0 upper=1").is_ok());
        for (text, expected) in [
            ("", "empty"),
            ("gaussian", "sigma=NUMBER"),
            ("gaussian sigma", "name=number"),
            ("gaussian sigma=x", "name=number"),
            ("gaussian scale=1", "sigma=NUMBER"),
            ("gaussian sigma=1 sigma=2", "sigma=NUMBER"),
            ("gaussian sigma=nan", "scale"),
            ("discrete-laplace scale=1,2", "one number"),
            ("exponential epsilon=1", "begin with"),
        ] {
            let Err(Failure::Usage(message)) = noise(text) else { unreachable!("{text} was accepted") };
            assert!(message.contains(expected), "{text}: {message}");
        }
        assert!(prior("gaussian mean=0 sd=-1").is_err() && prior("cauchy").is_err());
    }
}
