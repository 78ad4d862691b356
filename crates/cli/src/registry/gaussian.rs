//! Gaussian noise from options.

use super::Made;
use crate::failure::Failure;
use crate::options::NotionName;
use crate::request::Request;
use reticent_mechanisms::{Delta, Distance, Epsilon, GaussianMechanism, GaussianMethod, Notion, Scale};

/// The standard deviation that the method gives.
pub fn calibrate(request: &Request) -> Made {
    let (epsilon, delta) = (Epsilon::new(request.epsilon()?)?, Delta::new(request.delta()?)?);
    Ok(Box::new(GaussianMechanism::calibrate(method(request)?, epsilon, delta, distance(request)?)?))
}

/// A standard deviation as it is.
pub fn describe(request: &Request) -> Made {
    let sigma = Scale::new(request.need("sigma", &request.options().own.sigma)?)?;
    Ok(Box::new(GaussianMechanism::with_sigma(sigma, distance(request)?, super::stated_epsilon()?)?))
}

fn distance(request: &Request) -> Result<Distance, Failure> {
    Ok(Distance::new(request.sensitivity()?.known()?.l2()?)?)
}

/// The method that was named, or the best one for the notion that was named.
fn method(request: &Request) -> Result<GaussianMethod, Failure> {
    let budget = &request.options().budget;
    let method = match (&budget.method, budget.notion) {
        (None, Some(NotionName::Probabilistic)) => GaussianMethod::Probabilistic,
        // The registry lists the names of `GaussianMethod`, which a test checks.
        _ => GaussianMethod::from_name(request.method()?).unwrap_or(GaussianMethod::Analytic),
    };
    let kept = match method.notion() {
        Notion::Probabilistic => NotionName::Probabilistic,
        _ => NotionName::Approximate,
    };
    match budget.notion {
        Some(wanted) if wanted != kept => Err(Failure::usage(format!(
            "--notion is {}, but gaussian noise by the method {} keeps the {} notion",
            wanted.name(),
            method.name(),
            kept.name()
        ))),
        _ => Ok(method),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registry_knows_every_method() {
        let entry = crate::registry::entry_named("gaussian").expect("an entry");
        assert_eq!(entry.methods.to_vec(), GaussianMethod::ALL.map(GaussianMethod::name).to_vec());
    }
}
