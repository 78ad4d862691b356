//! One of many releases at a scale: the options that describe it, from those that the budget of all was given with.

use crate::options::{Budget, Options, OwnParameters};
use crate::request::Purpose;

/// From the options of all releases and a scale to those of one, and whether they are to be calibrated or taken as they are.
pub type Stretch = fn(&Options, f64) -> (Purpose, Options);

/// The scale is that of the noise.
pub fn by_scale(options: &Options, scale: f64) -> (Purpose, Options) {
    as_it_is(options, OwnParameters { scale: Some(scale), ..OwnParameters::default() })
}

/// The scale is the noise's sigma.
pub fn by_sigma(options: &Options, sigma: f64) -> (Purpose, Options) {
    as_it_is(options, OwnParameters { sigma: Some(sigma), ..OwnParameters::default() })
}

/// The scale is one over the loss of each release, for which the mechanism is calibrated.
pub fn by_loss(options: &Options, scale: f64) -> (Purpose, Options) {
    let budget = Budget { epsilon: Some(1.0 / scale), delta: None, ..options.budget.clone() };
    (Purpose::Calibrate, Options { budget, ..options.clone() })
}

fn as_it_is(options: &Options, own: OwnParameters) -> (Purpose, Options) {
    (Purpose::Describe, Options { budget: Budget::default(), own, ..options.clone() })
}
