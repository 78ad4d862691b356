//! Noise and priors in words, such as `gaussian sigma=2`.

use crate::failure::Failure;
use reticent_choice::Expression;
use reticent_denoising::bayes::Prior;
use reticent_denoising::{NoiseDescription, Shape};
use reticent_events::{Event, TextError, Words};

/// The noise of `--noise`: an event, of which Gaussian and Laplace noise take one scale for each
/// value, too, as `laplace scale=1,2,3`.
///
/// # Errors
/// If the words are not those of an event that adds noise.
pub fn noise(text: &str) -> Result<NoiseDescription, Failure> {
    let of_option = |error: TextError| Failure::usage(format!("--noise: {error}"));
    let words = Words::split(text).map_err(of_option)?;
    let each = |shape: Shape, scale: &'static str| -> Result<Option<_>, Failure> {
        let scales: Option<Vec<f64>> = words.optional(scale).map_err(of_option)?;
        let several = scales.filter(|scales| scales.len() > 1);
        Ok(several.map(|scales| NoiseDescription::with_scales(shape, scales)).transpose()?)
    };
    let several = match words.name() {
        "gaussian" => each(Shape::Gaussian, "sigma")?,
        "laplace" => each(Shape::Laplace, "scale")?,
        _ => None,
    };
    match several {
        Some(noise) => Ok(noise),
        None => {
            let event: Event = text.parse().map_err(of_option)?;
            Ok(NoiseDescription::of_event(&event)?)
        }
    }
}

/// The prior of `--prior`.
///
/// # Errors
/// If the words name no prior or not its parameters.
pub fn prior(text: &str) -> Result<Prior, Failure> {
    let of_option = |error: TextError| Failure::usage(format!("--prior: {error}"));
    let words = Words::split(text).map_err(of_option)?;
    let numbers = |first: &'static str, second: &'static str| {
        words.only(&[first, second], &[])?;
        Ok((words.value::<f64>(first)?, words.value::<f64>(second)?))
    };
    Ok(match words.name() {
        "gaussian" => {
            let (mean, deviation) = numbers("mean", "sd").map_err(of_option)?;
            Prior::gaussian(mean, deviation)?
        }
        "laplace" => {
            let (mean, scale) = numbers("mean", "scale").map_err(of_option)?;
            Prior::laplace(mean, scale)?
        }
        "uniform" => {
            let (lower, upper) = numbers("lower", "upper").map_err(of_option)?;
            Prior::uniform(lower, upper)?
        }
        "sample" => {
            words.only(&[], &["values", "file"]).map_err(of_option)?;
            let values: Option<Vec<f64>> = words.optional("values").map_err(of_option)?;
            let file: Option<String> = words.optional("file").map_err(of_option)?;
            match (values, file) {
                (Some(values), None) => Prior::sample(values)?,
                (None, Some(path)) => Prior::sample(sample_file(&path)?)?,
                _ => return Err(Failure::usage("--prior: sample takes either values= or file=")),
            }
        }
        name @ ("density" | "log-density") => {
            words.only(&["f", "lower", "upper"], &[]).map_err(of_option)?;
            let text: String = words.value("f").map_err(of_option)?;
            let function = Expression::parse(&text)?;
            let (lower, upper) = (
                words.value("lower").map_err(of_option)?,
                words.value("upper").map_err(of_option)?,
            );
            let is_density = name == "density";
            let ln_density = move |x: f64| {
                let value = function.at(x);
                if is_density { value.ln() } else { value }
            };
            // A density that is nowhere positive, or not a number, explains nothing.
            let inner = (0..=1000).map(|step| lower + (upper - lower) * f64::from(step) / 1000.0);
            let values: Vec<f64> = inner.map(&ln_density).collect();
            if values.iter().any(|value| value.is_nan() || *value == f64::INFINITY)
                || values.iter().all(|value| *value == f64::NEG_INFINITY)
            {
                return Err(Failure::usage(format!(
                    "--prior: the {name} must be a number everywhere from lower to upper, not \
                     negative, and not zero everywhere"
                )));
            }
            Prior::from_ln_density(ln_density, lower, upper)?
        }
        _ => {
            let known = ["gaussian", "laplace", "uniform", "sample", "density", "log-density"];
            return Err(of_option(words.unknown("prior", &known)));
        }
    })
}

/// The numbers of a file of a public sample, one on each line.
fn sample_file(path: &str) -> Result<Vec<f64>, Failure> {
    let bytes = std::fs::read(path)
        .map_err(|error| Failure::while_doing("reading the file of --prior", &error))?;
    crate::input::numbers_of_lines(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_understood_or_refused_with_what_is_accepted() {
        assert_eq!(noise("gaussian sigma=2"), Ok(NoiseDescription::gaussian(2.0).expect("valid")));
        assert_eq!(noise("laplace scale=1,2").expect("valid").common_scale(), None);
        assert!(
            noise("staircase epsilon=1 gamma=0.3 sensitivity=2").is_ok()
                && prior("uniform lower=0 upper=1").is_ok()
        );
        for (text, expected) in [
            ("", "--noise: the text is empty"),
            ("gaussian", "`sigma` is missing"),
            ("gaussian sigma", "parameter=value"),
            ("gaussian sigma=x", "must be a number"),
            ("gaussian scale=1", "there is no parameter `scale`"),
            ("gaussian sigma=1 sigma=2", "given twice"),
            ("gaussian sigma=nan", "scale"),
            ("discrete-laplace scale=1,2", "must be a number"),
            ("exponential epsilon=1", "exponential"),
        ] {
            let Err(Failure::Usage(message)) = noise(text) else {
                unreachable!("{text} was accepted")
            };
            assert!(message.contains(expected), "{text}: {message}");
        }
        assert!(prior("gaussian mean=0 sd=-1").is_err() && prior("cauchy").is_err());
    }
}
