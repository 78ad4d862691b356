//! What can be said on the command line about a mechanism, as plain values: nothing is judged here.
//!
//! The second step is [`crate::request`], which judges the values together. Each group below is one part of what a command accepts:
//! `calibrate` takes all but [`OwnParameters`], `profile` all but [`Budget`], `noise` takes everything.

use clap::{Args, ValueEnum};

/// The promise to keep, and how.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "The promise")]
pub struct Budget {
    /// The privacy loss to keep, from 0 to 700; 0 only for approximate and probabilistic promises
    #[arg(long, value_name = "E", value_parser = number, allow_hyphen_values = true)]
    pub epsilon: Option<f64>,
    /// The exception to keep, from 1e-300 to below 1; mechanisms of pure differential privacy take none
    #[arg(long, value_name = "D", value_parser = number, allow_hyphen_values = true)]
    pub delta: Option<f64>,
    /// How the scale is found, for mechanisms that know several ways (see `reticent mechanisms`)
    #[arg(long, value_name = "NAME")]
    pub method: Option<String>,
    /// Which promise, for mechanisms that can keep several
    #[arg(long, value_name = "NOTION")]
    pub notion: Option<NotionName>,
    /// What the staircase is best for: l1, l2, entropy, or usefulness:T for the most P(|error| <= T)
    #[arg(long, value_name = "METRIC")]
    pub metric: Option<String>,
}

/// How far one privacy unit moves the true answer. One of these is enough.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "The sensitivity (one of these)")]
pub struct Sensitivities {
    /// The most by which one privacy unit moves a number; also for many numbers, if each unit is in one of them only
    #[arg(long, value_name = "S", value_parser = number, allow_hyphen_values = true)]
    pub sensitivity: Option<f64>,
    /// The most by which one privacy unit moves the whole vector of numbers, as a sum of absolute differences
    #[arg(long, value_name = "A", value_parser = number, allow_hyphen_values = true)]
    pub l1: Option<f64>,
    /// The most by which one privacy unit moves the whole vector of numbers, as a Euclidean distance
    #[arg(long, value_name = "B", value_parser = number, allow_hyphen_values = true)]
    pub l2: Option<f64>,
    /// The most by which one privacy unit moves each number of a vector, all of them at once
    #[arg(long, value_name = "A,B,...", value_parser = number, value_delimiter = ',', allow_hyphen_values = true)]
    pub per_element: Option<Vec<f64>>,
    /// How many numbers the vector of --l1 has, for laplace and random-scale-laplace; `noise` counts them itself
    #[arg(long, value_name = "K", value_parser = count, allow_hyphen_values = true)]
    pub dimension: Option<u64>,
}

/// What distinguishes one mechanism of a family from another, besides its scale.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "The shape of the noise")]
pub struct Shape {
    /// The order p of generalized-gaussian: 1 is Laplace, 2 is Gaussian, more has thinner tails
    #[arg(long, value_name = "P", value_parser = number, allow_hyphen_values = true)]
    pub order: Option<f64>,
    /// Move released numbers into this public range afterwards, which costs nothing
    #[arg(long, value_name = "LO,HI", value_parser = number, value_delimiter = ',', allow_hyphen_values = true)]
    pub clamp: Option<Vec<f64>>,
    /// The public range of the true answer, for the bounded forms of generalized-gaussian; answers outside are moved onto it first
    #[arg(long, value_name = "LO,HI", value_parser = number, value_delimiter = ',', allow_hyphen_values = true)]
    pub bounds: Option<Vec<f64>>,
    /// What happens at the bounds: noise that never leaves them, or everything beyond moved onto them
    #[arg(long, value_name = "WAY", requires = "bounds")]
    pub at_bounds: Option<AtBounds>,
    /// How many answers randomized-response chooses from, 2 or more
    #[arg(long, value_name = "K", value_parser = count, allow_hyphen_values = true)]
    pub categories: Option<u64>,
    /// The distribution of the inverse scale of random-scale-laplace
    #[arg(long, value_name = "FAMILY")]
    pub family: Option<FamilyName>,
    /// two-point: one value of the inverse scale
    #[arg(long, value_name = "T", value_parser = number, allow_hyphen_values = true)]
    pub first: Option<f64>,
    /// two-point: the other value of the inverse scale
    #[arg(long, value_name = "T", value_parser = number, allow_hyphen_values = true)]
    pub second: Option<f64>,
    /// two-point: the probability of the first value
    #[arg(long, value_name = "W", value_parser = number, allow_hyphen_values = true)]
    pub weight: Option<f64>,
    /// gamma: its shape k
    #[arg(long, value_name = "K", value_parser = number, allow_hyphen_values = true)]
    pub shape: Option<f64>,
    /// gamma: its scale theta
    #[arg(long, value_name = "THETA", value_parser = number, allow_hyphen_values = true)]
    pub theta: Option<f64>,
    /// truncated-gaussian: the mean before the cut
    #[arg(long, value_name = "MU", value_parser = number, allow_hyphen_values = true)]
    pub mu: Option<f64>,
    /// truncated-gaussian: the standard deviation before the cut
    #[arg(long, value_name = "S", value_parser = number, allow_hyphen_values = true)]
    pub spread: Option<f64>,
    /// uniform and truncated-gaussian: the least inverse scale
    #[arg(long, value_name = "T", value_parser = number, allow_hyphen_values = true)]
    pub lower: Option<f64>,
    /// uniform and truncated-gaussian: the greatest inverse scale
    #[arg(long, value_name = "T", value_parser = number, allow_hyphen_values = true)]
    pub upper: Option<f64>,
    /// The standard deviations of random-scale-gaussian with their weights, such as 1:0.9,3:0.1
    #[arg(long, value_name = "S:W,...", value_delimiter = ',')]
    pub sigmas: Option<Vec<String>>,
    /// combined: one weighted part, such as "2 gamma shape=3 theta=0.5"; give one --part for each
    #[arg(long, value_name = "PART")]
    pub part: Option<Vec<String>>,
}

/// The parameters that the noise is drawn with.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "The mechanism's own parameters")]
pub struct OwnParameters {
    /// The standard deviation of gaussian, and the parameter sigma of discrete-gaussian
    #[arg(long, value_name = "SIGMA", value_parser = number, allow_hyphen_values = true)]
    pub sigma: Option<f64>,
    /// The scale b of all other noise
    #[arg(long, value_name = "B", value_parser = number, allow_hyphen_values = true)]
    pub scale: Option<f64>,
    /// Where a step of the staircase ends, as a share of the sensitivity
    #[arg(long, value_name = "G", value_parser = number, allow_hyphen_values = true)]
    pub gamma: Option<f64>,
    /// The largest noise of truncated-laplace, in units of the answer, as the scale is
    #[arg(long, value_name = "A", value_parser = number, allow_hyphen_values = true)]
    pub support: Option<f64>,
    /// The loss that randomized-response, staircase or exponential was made for
    #[arg(long, value_name = "E", value_parser = number, allow_hyphen_values = true)]
    pub loss: Option<f64>,
}

/// All of them together; a command that does not offer a group leaves it empty.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The promise to keep.
    pub budget: Budget,
    /// How far one privacy unit moves the answer.
    pub sensitivities: Sensitivities,
    /// The shape of the noise.
    pub shape: Shape,
    /// The parameters of the noise.
    pub own: OwnParameters,
}

impl Options {
    /// The options that were given, by name.
    pub fn given(&self) -> Vec<&'static str> {
        let Options { budget, sensitivities, shape, own } = self;
        [
            ("epsilon", budget.epsilon.is_some()),
            ("delta", budget.delta.is_some()),
            ("method", budget.method.is_some()),
            ("notion", budget.notion.is_some()),
            ("metric", budget.metric.is_some()),
            ("sensitivity", sensitivities.sensitivity.is_some()),
            ("l1", sensitivities.l1.is_some()),
            ("l2", sensitivities.l2.is_some()),
            ("per-element", sensitivities.per_element.is_some()),
            ("dimension", sensitivities.dimension.is_some()),
            ("order", shape.order.is_some()),
            ("bounds", shape.bounds.is_some()),
            ("at-bounds", shape.at_bounds.is_some()),
            ("categories", shape.categories.is_some()),
            ("family", shape.family.is_some()),
            ("first", shape.first.is_some()),
            ("second", shape.second.is_some()),
            ("weight", shape.weight.is_some()),
            ("shape", shape.shape.is_some()),
            ("theta", shape.theta.is_some()),
            ("mu", shape.mu.is_some()),
            ("spread", shape.spread.is_some()),
            ("lower", shape.lower.is_some()),
            ("upper", shape.upper.is_some()),
            ("sigmas", shape.sigmas.is_some()),
            ("clamp", shape.clamp.is_some()),
            ("part", shape.part.is_some()),
            ("sigma", own.sigma.is_some()),
            ("scale", own.scale.is_some()),
            ("gamma", own.gamma.is_some()),
            ("support", own.support.is_some()),
            ("loss", own.loss.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, given)| given.then_some(name))
        .collect()
    }
}

/// The three promises, as they are spelt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NotionName {
    /// No probability changes by more than a factor e^epsilon
    Pure,
    /// The same up to an additive delta
    Approximate,
    /// The same outside a set of outputs of probability delta
    Probabilistic,
}

/// What happens at the bounds of a bounded answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AtBounds {
    /// Noise that never leaves the bounds
    Truncate,
    /// What falls beyond a bound is released as the bound
    Inflate,
}

/// The distributions of the inverse scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FamilyName {
    /// One of two values
    TwoPoint,
    /// A gamma distribution
    Gamma,
    /// Uniform on an interval
    Uniform,
    /// A normal distribution cut to an interval
    TruncatedGaussian,
    /// A sum of independent parts with weights
    Combined,
}

/// Any number, also those that no parameter accepts: what is wrong with one is better said by what it is for.
pub fn number(text: &str) -> Result<f64, String> {
    text.trim().parse().map_err(|_| "it is not a number".to_string())
}

/// A whole number, also as `1e6`.
pub fn count(text: &str) -> Result<u64, String> {
    let whole = |value: f64| (value >= 0.0 && value.fract() == 0.0 && value <= 9e15).then_some(value as u64);
    let parsed = text.trim().parse().ok().or_else(|| text.trim().parse().ok().and_then(whole));
    parsed.ok_or_else(|| "it is not a whole number of zero or more".to_string())
}

impl NotionName {
    /// As it is spelt.
    pub fn name(self) -> &'static str {
        match self {
            NotionName::Pure => "pure",
            NotionName::Approximate => "approximate",
            NotionName::Probabilistic => "probabilistic",
        }
    }
}

impl FamilyName {
    /// As it is spelt.
    pub fn name(self) -> &'static str {
        match self {
            FamilyName::TwoPoint => "two-point",
            FamilyName::Gamma => "gamma",
            FamilyName::Uniform => "uniform",
            FamilyName::TruncatedGaussian => "truncated-gaussian",
            FamilyName::Combined => "combined",
        }
    }
}
