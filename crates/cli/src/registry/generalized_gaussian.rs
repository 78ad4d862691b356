//! Generalized Gaussian noise from options.

use super::Made;
use super::stretch::{by_loss, by_scale};
use crate::failure::Failure;
use crate::options::{AtBounds, NotionName, Options};
use crate::request::{Purpose, Request, Sensitivity};
use reticent_mechanisms::{
    BoundedQuery, Delta, Distance, Epsilon, GeneralizedGaussian, GeneralizedGaussianMethod,
    InflatedGeneralizedGaussian, Order, TruncatedGeneralizedGaussian, TruncatedMethod,
};

/// The least scale for the promise that was named, or that the options amount to.
pub fn calibrate(request: &Request) -> Made {
    let (order, epsilon) = (order(request)?, request.epsilon()?);
    if let Some((query, at_bounds)) = bounded(request)? {
        let epsilon = Epsilon::positive(epsilon)?;
        return Ok(match (at_bounds, bounded_method(request)?) {
            (AtBounds::Truncate, method) => {
                Box::new(TruncatedGeneralizedGaussian::calibrate(order, query, epsilon, method)?)
            }
            (AtBounds::Inflate, TruncatedMethod::Exact) => {
                Box::new(InflatedGeneralizedGaussian::calibrate(order, query, epsilon)?)
            }
            (AtBounds::Inflate, method) => {
                let name = method.name();
                return Err(Failure::usage(format!(
                    "--method {name} is for --at-bounds truncate; inflate has only exact"
                )));
            }
        });
    }
    let distances = distances(request)?;
    let budget = &request.options().budget;
    if budget.delta.is_none() && budget.method.is_none() && matches!(budget.notion, None | Some(NotionName::Pure)) {
        if budget.notion.is_none() && order.get() > 1.0 {
            return Err(Failure::usage(
                "generalized-gaussian noise of an order above 1 needs --delta, or --bounds for a pure promise",
            ));
        }
        return Ok(Box::new(GeneralizedGaussian::pure(order, &distances, Epsilon::new(epsilon)?)?));
    }
    let (epsilon, delta) = (Epsilon::new(epsilon)?, Delta::new(request.delta()?)?);
    Ok(Box::new(GeneralizedGaussian::calibrate(order, &distances, epsilon, delta, method(request)?)?))
}

/// A scale as it is.
pub fn describe(request: &Request) -> Made {
    let (order, scale) = (order(request)?, request.scale()?);
    if let Some((query, at_bounds)) = bounded(request)? {
        return Ok(match at_bounds {
            AtBounds::Truncate => Box::new(TruncatedGeneralizedGaussian::with_scale(order, query, scale)?),
            AtBounds::Inflate => Box::new(InflatedGeneralizedGaussian::with_scale(order, query, scale)?),
        });
    }
    Ok(Box::new(GeneralizedGaussian::with_scale(order, scale, &distances(request)?, super::stated_epsilon()?)?))
}

/// With bounds the promise is pure, and each release has a loss of its own; without, the scale is what is looked for.
pub fn stretch(options: &Options, scale: f64) -> (Purpose, Options) {
    if options.shape.bounds.is_some() { by_loss(options, scale) } else { by_scale(options, scale) }
}

fn order(request: &Request) -> Result<Order, Failure> {
    Ok(Order::new(request.need("order", &request.shape().order)?)?)
}

fn distances(request: &Request) -> Result<Vec<Distance>, Failure> {
    let distances = match request.sensitivity()? {
        Sensitivity::PerElement(distances) => distances,
        _ => vec![request.need("sensitivity", &request.options().sensitivities.sensitivity)?],
    };
    distances.into_iter().map(|distance| Ok(Distance::new(distance)?)).collect()
}

/// The bounded query and what happens at its bounds, if bounds were given.
fn bounded(request: &Request) -> Result<Option<(BoundedQuery, AtBounds)>, Failure> {
    let Some((lower, upper)) = request.bounds()? else { return Ok(None) };
    let options = request.options();
    let unused = [
        ("delta", options.budget.delta.is_some()),
        ("per-element", options.sensitivities.per_element.is_some()),
        ("notion", options.budget.notion.is_some_and(|notion| notion != NotionName::Pure)),
    ];
    if let Some((name, _)) = unused.into_iter().find(|(_, given)| *given) {
        return Err(Failure::usage(format!(
            "--{name} cannot be given with --bounds: bounded generalized-gaussian noise is for one number, and its promise is pure"
        )));
    }
    let sensitivity = Distance::new(request.need("sensitivity", &options.sensitivities.sensitivity)?)?;
    let at_bounds = options.shape.at_bounds.unwrap_or(AtBounds::Truncate);
    Ok(Some((BoundedQuery::new(lower, upper, sensitivity)?, at_bounds)))
}

fn bounded_method(request: &Request) -> Result<TruncatedMethod, Failure> {
    use TruncatedMethod::{Exact, Exponential, Paper};
    let name = request.method()?;
    [Exact, Paper, Exponential].into_iter().find(|method| method.name() == name).ok_or_else(|| {
        Failure::usage(format!("--method is `{name}`, but with --bounds it is exact, paper or exponential"))
    })
}

fn method(request: &Request) -> Result<GeneralizedGaussianMethod, Failure> {
    use GeneralizedGaussianMethod::{Exact, Probabilistic, TwoSided};
    let budget = &request.options().budget;
    let method = match (&budget.method, budget.notion) {
        (None, Some(NotionName::Probabilistic)) => Probabilistic,
        _ => {
            let name = request.method()?;
            [Exact, Probabilistic, TwoSided]
                .into_iter()
                .find(|method| method.name() == name)
                .ok_or_else(|| Failure::usage(format!("--method {name} is for bounded noise, and needs --bounds")))?
        }
    };
    let kept = if method == Exact { NotionName::Approximate } else { NotionName::Probabilistic };
    match budget.notion {
        Some(wanted) if wanted != kept => Err(Failure::usage(format!(
            "--notion is {}, but generalized-gaussian noise by the method {} with a delta keeps the {} notion",
            wanted.name(),
            method.name(),
            kept.name()
        ))),
        _ => Ok(method),
    }
}
