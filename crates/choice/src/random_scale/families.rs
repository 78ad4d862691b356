//! The best member of a named family of random inverse scales, by a constrained solver.
//!
//! This is the optimisation of Mohammady's Sections 4.4 to 4.6 and of Algorithm 1: `minimise the
//! error subject to ln(E[T]/E[T e^(-T D)]) <= epsilon` (the loss is that of Theorem 4.3, not the
//! averages of erratum R2; Table 1 with the corrections of erratum R4) over gamma, uniform and
//! truncated Gaussian variables and their sums (Corollary 4.15). The paper's Lagrange multipliers
//! are left to COBYLA, which needs no derivatives. No family comes near the two-point distribution
//! of [`super::best_scale`], which is the best of all (erratum R3).
//!
//! What comes out is a shape: [`reticent_mechanisms::RandomScaleLaplace::calibrate`] stretches it
//! until the loss is proved, whatever the solver did.

use super::Objective;
use super::estimate::Estimate;
use cobyla::{RhoBeg, StopTols, minimize};
use reticent_noise::NoiseError;
use reticent_noise::random_scale::{
    Combined, GammaScale, InverseScale, TruncatedGaussianScale, TwoPointScale, UniformScale,
};
use std::fmt;
use std::str::FromStr;

/// A family of distributions of the inverse scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Two values: the best of all.
    TwoPoint,
    /// Gamma distributions.
    Gamma,
    /// Uniform distributions.
    Uniform,
    /// Normal distributions, cut to an interval.
    TruncatedGaussian,
    /// Sums of a gamma, a uniform and a truncated Gaussian variable: Algorithm 1.
    Combined,
}

impl Family {
    /// All of them, the best first.
    pub const ALL: [Family; 5] = [
        Family::TwoPoint,
        Family::Combined,
        Family::TruncatedGaussian,
        Family::Gamma,
        Family::Uniform,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Family::TwoPoint => "two-point",
            Family::Gamma => "gamma",
            Family::Uniform => "uniform",
            Family::TruncatedGaussian => "truncated-gaussian",
            Family::Combined => "combined",
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Family {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Family::ALL.into_iter().find(|family| family.name() == text).ok_or_else(|| {
            let names: Vec<_> = Family::ALL.iter().map(|family| family.name()).collect();
            format!("the family is `{text}`, but it must be one of {}", names.join(", "))
        })
    }
}

/// The most evaluations of one run of the solver, for each of its variables.
const EVALUATIONS: usize = 250;
/// How far a coordinate of the search goes from zero.
const FARTHEST: f64 = 12.0;

/// The member of a family with the least value of the objective that was found; `None` if the
/// solver found none that keeps `epsilon`. Of two points the best is known without a search:
/// [`super::best_scale`].
pub fn best_of_family(
    family: Family,
    objective: &Objective,
    epsilon: f64,
    sensitivity: f64,
) -> Option<InverseScale> {
    let search = Search { family, objective, epsilon, unit: epsilon / sensitivity };
    let best = search.best_from(&search.starts())?;
    search.member(&best.1)?.built().ok()
}

/// Two points that the solver finds for an objective that is not linear; `None` where they are no
/// better than Laplace noise.
pub(super) fn two_points_for(
    objective: &Objective,
    epsilon: f64,
    sensitivity: f64,
) -> Option<(f64, f64, f64)> {
    let unit = epsilon / sensitivity;
    let search = Search { family: Family::TwoPoint, objective, epsilon, unit };
    let (value, x) = search.best_from(&search.starts())?;
    let laplace = objective.estimate(&Estimate::Points(vec![(unit, 1.0)]), unit);
    match search.member(&x)? {
        Member::TwoPoint(first, second, weight) if value < laplace - 1e-9 * laplace.abs() => {
            Some((first, second, weight))
        }
        _ => None,
    }
}

/// A member of a family by its parameters.
enum Member {
    TwoPoint(f64, f64, f64),
    Gamma(f64, f64),
    Uniform(f64, f64),
    TruncatedGaussian(f64, f64, f64, f64),
    Sum([Box<Member>; 3]),
}

impl Member {
    fn estimate(&self) -> Estimate {
        match self {
            Member::TwoPoint(first, second, weight) => {
                Estimate::Points(vec![(*first, *weight), (*second, 1.0 - weight)])
            }
            Member::Gamma(shape, scale) => Estimate::Gamma(*shape, *scale),
            Member::Uniform(lower, upper) => Estimate::Uniform(*lower, *upper),
            Member::TruncatedGaussian(mu, sigma, lower, upper) => {
                Estimate::truncated_gaussian(*mu, *sigma, *lower, *upper)
            }
            Member::Sum(parts) => {
                Estimate::Sum(parts.iter().map(|part| (1.0, part.estimate())).collect())
            }
        }
    }

    fn built(&self) -> Result<InverseScale, NoiseError> {
        Ok(match self {
            Member::TwoPoint(first, second, weight) => {
                TwoPointScale::new(*first, *second, *weight)?.into()
            }
            Member::Gamma(shape, scale) => GammaScale::new(*shape, *scale)?.into(),
            Member::Uniform(lower, upper) => UniformScale::new(*lower, *upper)?.into(),
            Member::TruncatedGaussian(mu, sigma, lower, upper) => {
                TruncatedGaussianScale::new(*mu, *sigma, *lower, *upper)?.into()
            }
            Member::Sum(parts) => {
                let parts = parts.iter().map(|part| Ok((1.0, part.built()?)));
                Combined::new(parts.collect::<Result<_, NoiseError>>()?)?.into()
            }
        })
    }
}

/// One optimisation. Shapes are searched for in the unit of Laplace's own inverse scale.
struct Search<'a> {
    family: Family,
    objective: &'a Objective,
    epsilon: f64,
    unit: f64,
}

impl Search<'_> {
    fn within(&self, family: Family) -> Search<'_> {
        Search { family, ..*self }
    }

    fn starts(&self) -> Vec<Vec<f64>> {
        match self.family {
            Family::TwoPoint => vec![vec![-1.0, -1.0], vec![0.0, 0.0], vec![0.5, -2.0]],
            Family::Gamma => {
                [0.3, 1.5, 3.0].iter().map(|&log_shape| vec![log_shape, 0.1]).collect()
            }
            Family::Uniform => [0.0, 1.5, 3.0].iter().map(|&spread| vec![0.1, spread]).collect(),
            // A hump, a slope on either side of it, and a falling tail.
            Family::TruncatedGaussian => [(0.8, -0.5), (-0.8, 0.3), (-4.0, 0.0)]
                .iter()
                .flat_map(|(mean, spread)| {
                    [(-1.0, 1.0), (-2.0, 1.7)]
                        .map(|(lower, width)| vec![*mean, *spread, lower, width])
                })
                .collect(),
            Family::Combined => {
                // A little of the others beside the best of one.
                let best = |family: Family| {
                    let search = self.within(family);
                    search.best_from(&search.starts()).map(|found| found.1)
                };
                let cut = best(Family::TruncatedGaussian)
                    .map(|cut| [&[0.0, -4.0, -4.0, 1.0][..], &cut].concat());
                let gamma = best(Family::Gamma)
                    .map(|gamma| [&gamma[..], &[-3.0, 1.0, 0.1, -2.0, -3.0, -1.0]].concat());
                let even = vec![0.0, -1.0, -2.0, 0.0, 0.5, -0.3, -2.0, 1.0];
                cut.into_iter().chain(gamma).chain([even]).collect()
            }
        }
    }

    /// The best of several runs, each of which is started again where it ended.
    fn best_from(&self, starts: &[Vec<f64>]) -> Option<(f64, Vec<f64>)> {
        let sensitivity = self.epsilon / self.unit;
        let estimate = |x: &[f64]| self.member(x).map(|member| member.estimate());
        let objective = |x: &[f64], _: &mut ()| {
            let value = estimate(x).map(|noise| self.objective.estimate(&noise, self.unit));
            value.filter(|value| value.is_finite()).map_or(1e9, |value| value.min(1e9))
        };
        let slack = |x: &[f64], _: &mut ()| {
            let loss = estimate(x).map(|noise| noise.epsilon(sensitivity));
            loss.filter(|loss| loss.is_finite())
                .map_or(-1e3, |loss| (self.epsilon - loss).max(-1e3))
        };
        let mut best: Option<(f64, Vec<f64>)> = None;
        for start in starts {
            let mut x = start.clone();
            for radius in [0.4, 0.1, 0.02] {
                let bounds = vec![(-FARTHEST, FARTHEST); x.len()];
                let stop = StopTols { xtol_rel: 1e-9, ..StopTols::default() };
                let run = minimize(
                    objective,
                    &x,
                    &bounds,
                    &[slack],
                    (),
                    EVALUATIONS * x.len(),
                    RhoBeg::All(radius),
                    Some(stop),
                );
                x = match run {
                    Ok((_, found, _)) | Err((_, found, _)) => found,
                };
            }
            let value = objective(&x, &mut ());
            if slack(&x, &mut ()) >= -1e-7
                && value < 1e9
                && best.as_ref().is_none_or(|(least, _)| value < *least)
            {
                best = Some((value, x));
            }
        }
        best
    }

    /// The member with these coordinates.
    fn member(&self, x: &[f64]) -> Option<Member> {
        let unit = self.unit;
        match (self.family, x) {
            (Family::TwoPoint, &[below, above]) => {
                // On both sides of Laplace's, with the weight at which epsilon is just kept:
                // E[g(T)] = 0 for g(t) = t (e^(-t D) - e^-epsilon).
                let (first, second) = (unit * (-below.exp()).exp(), unit * above.exp().exp());
                let gain = |t: f64| t / unit * (self.epsilon * (1.0 - t / unit)).exp_m1();
                let (gained, lost) = (gain(first), -gain(second));
                let weight = lost / (gained + lost);
                (first > 0.0 && second.is_finite() && weight > 0.0 && weight < 1.0)
                    .then_some(Member::TwoPoint(first, second, weight))
            }
            (Family::Gamma, &[log_shape, log_mean]) => {
                let shape = log_shape.exp();
                (0.1..=1e6)
                    .contains(&shape)
                    .then(|| Member::Gamma(shape, unit * log_mean.exp() / shape))
            }
            (Family::Uniform, &[log_middle, spread]) => {
                // The half width is a share of the middle, between 0 and 1.
                let (middle, share) = (unit * log_middle.exp(), 1.0 / (1.0 + (-spread).exp()));
                Some(Member::Uniform(middle * (1.0 - share), middle * (1.0 + share)))
            }
            (Family::TruncatedGaussian, &[mean, log_deviation, log_lower, log_width]) => {
                // The best are cut far out in a tail, next to an exponential distribution of the
                // scale `deviation^2/|mean|`: a mean that goes to minus infinity together with the
                // deviation must be near.
                let (mean, lower, width) =
                    (mean.sinh(), unit * log_lower.exp(), unit * log_width.exp());
                let deviation = unit * log_deviation.exp() * (1.0 + mean.abs()).sqrt();
                let (mu, upper) = (unit * mean, lower + width);
                let near = lower - mu <= 30.0 * deviation && mu - upper <= 30.0 * deviation;
                near.then_some(Member::TruncatedGaussian(mu, deviation, lower, upper))
            }
            (Family::Combined, &[a, b, c, d, ref rest @ ..]) => Some(Member::Sum([
                Box::new(self.within(Family::Gamma).member(&[a, b])?),
                Box::new(self.within(Family::Uniform).member(&[c, d])?),
                Box::new(self.within(Family::TruncatedGaussian).member(rest)?),
            ])),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::piecewise_loss::PiecewiseLoss;
    use crate::random_scale::{ConditionalLoss, best_inverse_scale};
    use reticent_mechanisms::{Distance, Epsilon, Mechanism, RandomScaleLaplace};

    fn calibrated(scale: InverseScale, epsilon: f64) -> RandomScaleLaplace {
        let (epsilon, one) =
            (Epsilon::new(epsilon).expect("valid"), Distance::new(1.0).expect("valid"));
        RandomScaleLaplace::calibrate(scale, &one.into(), epsilon).expect("valid")
    }

    #[test]
    fn the_table_of_erratum_r8_is_regenerated() {
        let loss = ConditionalLoss::Exceedance(0.1);
        for (family, useful) in [
            (Family::Gamma, 0.394),
            (Family::Uniform, 0.386),
            (Family::TruncatedGaussian, 0.406),
            (Family::Combined, 0.410),
        ] {
            let found = best_of_family(family, &Objective::Expected(loss.clone()), 4.0, 1.0)
                .expect("a member");
            let within = calibrated(found, 4.0).usefulness(0.1).expect("additive").estimate();
            assert!((within - useful).abs() < 1e-3, "{family:?}: {within}");
        }
    }

    #[test]
    fn the_optima_of_the_reference_are_met_and_none_beats_two_points() {
        let reference: serde_json::Value =
            serde_json::from_str(include_str!("../../../../reference/r2dp.json")).expect("JSON");
        let number = |value: &serde_json::Value| {
            value.as_str().and_then(|text| text.parse::<f64>().ok()).expect("a number")
        };
        let mut compared = 0;
        for row in reference["optimised"]["rows"].as_array().expect("rows") {
            let (epsilon, metric) = (number(&row["eps"]), row["metric"].as_str().expect("a name"));
            for (family, key) in [(Family::Gamma, "gamma"), (Family::Uniform, "uniform")] {
                let Some(truth) = row.get(key) else { continue };
                let t: f64 = metric[1..].parse().expect("a number");
                let loss = ConditionalLoss::Exceedance(t);
                let found = calibrated(
                    best_of_family(family, &Objective::Expected(loss.clone()), epsilon, 1.0)
                        .expect("a member"),
                    epsilon,
                );
                let beyond = 1.0 - found.usefulness(t).expect("additive").estimate();
                assert!(
                    (beyond / number(&truth["cost"]) - 1.0).abs() < 1e-5,
                    "{row} {key}: {beyond}"
                );
                assert!(
                    beyond > best_inverse_scale(&loss, epsilon, 1.0).cost.upper(),
                    "{row} {key}"
                );
                compared += 1;
            }
        }
        assert!(compared >= 20, "{compared}");
    }

    #[test]
    fn moments_are_optimised_too() {
        // E[1/T] of a gamma variable; from l1's threshold on two points beat it and it stays near
        // Laplace's 1/epsilon.
        let loss = ConditionalLoss::Real(PiecewiseLoss::absolute());
        let found = calibrated(
            best_of_family(Family::Uniform, &Objective::Expected(loss.clone()), 5.0, 1.0)
                .expect("a member"),
            5.0,
        );
        let error = found.errors().expect("additive").mean_absolute.estimate();
        let best = best_inverse_scale(&loss, 5.0, 1.0);
        assert!(error < 0.2 && error > best.cost.upper(), "{error}");
    }
}
