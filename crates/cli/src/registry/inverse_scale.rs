//! The distribution of a random inverse scale, from options.

use crate::failure::Failure;
use crate::options::FamilyName;
use crate::request::Request;
use clap::ValueEnum;
use reticent_mechanisms::MechanismError;
use reticent_noise::random_scale::{
    Combined, GammaScale, InverseScale, TruncatedGaussianScale, TwoPointScale, UniformScale,
};

/// The parameters of a family, in the order of its constructor.
fn parameters(family: FamilyName) -> &'static [&'static str] {
    match family {
        FamilyName::TwoPoint => &["first", "second", "weight"],
        FamilyName::Gamma => &["shape", "theta"],
        FamilyName::Uniform => &["lower", "upper"],
        FamilyName::TruncatedGaussian => &["mu", "spread", "lower", "upper"],
        FamilyName::Combined => &["part"],
    }
}

/// The family of `--family` with its parameters.
///
/// # Errors
/// If a parameter is missing, not accepted, or of another family.
pub fn from_options(request: &Request) -> Result<InverseScale, Failure> {
    let shape = request.shape();
    let family = request.need("family", &shape.family)?;
    let others = FamilyName::value_variants().iter().flat_map(|other| parameters(*other));
    let strange = others.filter(|name| !parameters(family).contains(name));
    let given = request.options().given();
    if let Some(strange) = strange.into_iter().find(|name| given.contains(*name)) {
        return Err(Failure::usage(format!("--{strange} is not a parameter of the family {}", family.name())));
    }
    if family == FamilyName::Combined {
        let parts = request.need("part", &shape.part)?;
        let parts = parts.iter().map(|text| part(text)).collect::<Result<Vec<_>, _>>()?;
        return Ok(Combined::new(parts).map_err(MechanismError::from)?.into());
    }
    let of_name = |name: &str| {
        let value = match name {
            "first" => shape.first,
            "second" => shape.second,
            "weight" => shape.weight,
            "shape" => shape.shape,
            // A family is stretched when it is calibrated: its own scale does not matter then.
            "theta" => shape.theta.or(request.calibrates().then_some(1.0)),
            "mu" => shape.mu,
            "spread" => shape.spread,
            "lower" => shape.lower,
            _ => shape.upper,
        };
        value.ok_or_else(|| Failure::usage(format!("the family {} needs --{name}", family.name())))
    };
    simple(family, of_name)
}

/// A part of a combination: a weight, a family and its parameters, such as `2 gamma shape=3 theta=0.5`.
fn part(text: &str) -> Result<(f64, InverseScale), Failure> {
    let refuse = |why: &str| {
        let example = "such as \"2 gamma shape=3 theta=0.5\"";
        Failure::usage(format!(
            "--part is `{text}`, but {why}; it takes a weight, a family and its parameters, {example}"
        ))
    };
    let mut words = text.split_whitespace();
    let weight = words.next().and_then(|word| word.parse().ok()).ok_or_else(|| refuse("it begins with no weight"))?;
    let family = words.next().and_then(|word| FamilyName::from_str(word, false).ok());
    let family = family.filter(|family| *family != FamilyName::Combined);
    let family =
        family.ok_or_else(|| refuse("its second word is none of two-point, gamma, uniform, truncated-gaussian"))?;
    let mut values = Vec::new();
    for word in words {
        let (name, value) = word.split_once('=').ok_or_else(|| refuse(&format!("`{word}` is no name=value")))?;
        let value: f64 = value.parse().map_err(|_| refuse(&format!("`{word}` has no number")))?;
        if !parameters(family).contains(&name) || values.iter().any(|(known, _)| *known == name) {
            return Err(refuse(&format!("`{word}` is unknown or given twice")));
        }
        values.push((name, value));
    }
    let of_name = |name: &str| {
        let value = values.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        value.ok_or_else(|| refuse(&format!("`{name}=` is missing")))
    };
    Ok((weight, simple(family, of_name)?))
}

/// A family that is not a combination.
fn simple(family: FamilyName, of_name: impl Fn(&str) -> Result<f64, Failure>) -> Result<InverseScale, Failure> {
    let values = parameters(family).iter().map(|name| of_name(name)).collect::<Result<Vec<_>, _>>()?;
    let made = match (family, values.as_slice()) {
        (FamilyName::TwoPoint, &[first, second, weight]) => TwoPointScale::new(first, second, weight).map(Into::into),
        (FamilyName::Gamma, &[shape, theta]) => GammaScale::new(shape, theta).map(Into::into),
        (FamilyName::Uniform, &[lower, upper]) => UniformScale::new(lower, upper).map(Into::into),
        (FamilyName::TruncatedGaussian, &[mu, spread, lower, upper]) => {
            TruncatedGaussianScale::new(mu, spread, lower, upper).map(Into::into)
        }
        _ => return Err(Failure::usage("a combination cannot be part of a combination")),
    };
    Ok(made.map_err(MechanismError::from)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_read_as_it_is_written() {
        let expected: InverseScale = GammaScale::new(3.0, 0.5).expect("valid").into();
        assert_eq!(part("2 gamma theta=0.5 shape=3"), Ok((2.0, expected)));
        for (text, why) in [
            ("gamma shape=3", "no weight"),
            ("1", "second word"),
            ("1 combined", "second word"),
            ("1 gamma shape", "no name=value"),
            ("1 gamma shape=x", "no number"),
            ("1 gamma shape=1 shape=2", "given twice"),
            ("1 gamma lower=1", "unknown"),
            ("1 gamma shape=1", "`theta=` is missing"),
            ("1 gamma shape=nan theta=1", "NaN"),
        ] {
            let message = part(text).map_err(|failure| failure.to_string());
            assert!(message.as_ref().is_err_and(|message| message.contains(why)), "{text}: {message:?}");
        }
    }
}
