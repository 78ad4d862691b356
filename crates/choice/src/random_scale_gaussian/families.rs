//! The best member of a named family of random standard deviations.
//!
//! A continuous distribution is released as the discrete one of its quadrature nodes: the noise
//! that is drawn, the guarantee that is certified and the event that is charged are all those of
//! the nodes.

use super::losing::delta;
use super::loss::SigmaLoss;
use crate::random_scale::gauss_legendre;
use std::fmt;
use std::str::FromStr;

/// A family of distributions of the standard deviation, or of its inverse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SigmaFamily {
    /// Any finite number of values: the best of all.
    Discrete,
    /// Two values.
    TwoPoint,
    /// Gamma distributions of the standard deviation or its inverse.
    Gamma,
    /// Uniform distributions of the standard deviation or its inverse.
    Uniform,
    /// Normal distributions, cut to an interval, of the standard deviation or its inverse.
    TruncatedGaussian,
}

impl SigmaFamily {
    /// All of them, the best first.
    pub const ALL: [SigmaFamily; 5] = [
        SigmaFamily::Discrete,
        SigmaFamily::TwoPoint,
        SigmaFamily::Gamma,
        SigmaFamily::Uniform,
        SigmaFamily::TruncatedGaussian,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            SigmaFamily::Discrete => "discrete",
            SigmaFamily::TwoPoint => "two-point",
            SigmaFamily::Gamma => "gamma",
            SigmaFamily::Uniform => "uniform",
            SigmaFamily::TruncatedGaussian => "truncated-gaussian",
        }
    }
}

impl fmt::Display for SigmaFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for SigmaFamily {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        SigmaFamily::ALL.into_iter().find(|family| family.name() == text).ok_or_else(|| {
            let names: Vec<_> = SigmaFamily::ALL.iter().map(|family| family.name()).collect();
            format!("the family is `{text}`, but it must be one of {}", names.join(", "))
        })
    }
}

/// What has a distribution of the family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variable {
    Sigma,
    Inverse,
}

/// The nodes of a gamma distribution, equally spaced in the logarithm.
const GAMMA_NODES: u32 = 16;
/// Nodes whose density is `e^-25` of the highest are left out.
const CUT: f64 = 25.0;
/// The size of a simplex from every start, of the next ones from the best end, and the most rounds.
const WIDE: f64 = 0.5;
const NARROW: [f64; 2] = [0.1, 0.02];
const ROUNDS: u32 = 80;
/// How far a shape is stretched at most, as a logarithm.
const WIDEST: f64 = 20.0;
/// The most steps to the scale that keeps the budget; about eight are needed.
const STEPS: u32 = 60;

/// One number, a budget, and the standard deviation of plain Gaussian noise.
pub(super) struct Search<'a> {
    pub(super) loss: &'a SigmaLoss,
    pub(super) sensitivity: f64,
    pub(super) epsilon: f64,
    pub(super) delta: f64,
    pub(super) plain: f64,
}

impl Search<'_> {
    /// The best member of a family but the discrete one that was found.
    pub(super) fn best(&self, family: SigmaFamily) -> Option<Vec<(f64, f64)>> {
        let variables: &[Variable] = match family {
            SigmaFamily::Discrete => return None,
            SigmaFamily::TwoPoint => &[Variable::Sigma],
            SigmaFamily::Gamma | SigmaFamily::Uniform | SigmaFamily::TruncatedGaussian => {
                &[Variable::Sigma, Variable::Inverse]
            }
        };
        let found = variables.iter().filter_map(|variable| self.run(family, *variable));
        found.min_by(|a, b| a.0.total_cmp(&b.0)).map(|best| best.1)
    }

    /// Shapes to begin with: what is left of a family when its members are stretched to the budget.
    fn starts(&self, family: SigmaFamily) -> Vec<Vec<f64>> {
        match family {
            SigmaFamily::Discrete => Vec::new(),
            SigmaFamily::TwoPoint => vec![vec![1.0, 0.0], vec![0.8, 2.0], vec![1.5, 2.0]],
            SigmaFamily::Gamma => vec![vec![0.5], vec![2.0]],
            SigmaFamily::Uniform => vec![vec![1.0], vec![-1.0]],
            SigmaFamily::TruncatedGaussian => vec![vec![-0.5, -0.5, -2.0], vec![0.6, -1.2, -1.7]],
        }
    }

    /// The least cost and its mixture.
    fn run(&self, family: SigmaFamily, variable: Variable) -> Option<(f64, Vec<(f64, f64)>)> {
        let unit = self.loss.estimate(self.plain).max(f64::MIN_POSITIVE);
        let cost = |mixture: &[(f64, f64)]| {
            mixture.iter().map(|(sigma, w)| w * self.loss.estimate(*sigma)).sum::<f64>() / unit
        };
        let member =
            |x: &[f64]| self.mixture(family, variable, x).and_then(|shape| self.stretched(&shape));
        let objective = |x: &[f64]| member(x).map_or(1e6, |mixture| cost(&mixture).min(1e6));
        let ends = self.starts(family).into_iter().map(|x| (objective(&x), x));
        let ends = ends.map(|start| simplex(&objective, start, WIDE));
        let best = ends.filter(|end| end.0 < 1e6).min_by(|a, b| a.0.total_cmp(&b.0))?;
        let (value, x) = NARROW.into_iter().fold(best, |x, size| simplex(&objective, x, size));
        Some((value, member(&x)?))
    }

    /// A mixture of this shape whose `delta` is the budget's, by false position in the logarithms
    /// (the Illinois rule): every shape keeps the budget at some scale, so that the solver has no
    /// constraint to violate.
    fn stretched(&self, shape: &[(f64, f64)]) -> Option<Vec<(f64, f64)>> {
        let scaled = |log: f64| -> Vec<(f64, f64)> {
            shape.iter().map(|(sigma, weight)| (sigma * log.exp(), *weight)).collect()
        };
        let excess = |log: f64| {
            let ratio = delta(&scaled(log), self.sensitivity, self.epsilon) / self.delta;
            (!ratio.is_nan()).then(|| ratio.ln().clamp(-700.0, 700.0))
        };
        let start = (0.0, excess(0.0)?);
        let (mut low, mut high) = (start, start);
        while low.1 <= 0.0 {
            low = (low.0 - 0.5, excess(low.0 - 0.5).filter(|_| low.0 > -WIDEST)?);
        }
        while high.1 > 0.0 {
            high = (high.0 + 0.5, excess(high.0 + 0.5).filter(|_| high.0 < WIDEST)?);
        }
        let (mut below, mut above) = (low.1, high.1);
        for _ in 0..STEPS {
            if high.0 - low.0 < 1e-10 {
                break;
            }
            let log = low.0 + (high.0 - low.0) * below / (below - above);
            let value = excess(log)?;
            if value > 0.0 {
                (low, below, above) = ((log, value), value, above / 2.0);
            } else {
                (high, above, below) = ((log, value), value, below / 2.0);
            }
        }
        Some(scaled(high.0))
    }

    /// The standard deviations with their weights, in the unit of plain noise.
    fn mixture(
        &self,
        family: SigmaFamily,
        variable: Variable,
        x: &[f64],
    ) -> Option<Vec<(f64, f64)>> {
        let nodes = match (family, x) {
            (SigmaFamily::TwoPoint, &[log_ratio, odds]) => {
                let weight = 1.0 / (1.0 + (-odds).exp());
                vec![(1.0, weight), (log_ratio.exp(), 1.0 - weight)]
            }
            (SigmaFamily::Gamma, &[log_shape]) => {
                let shape = log_shape.exp();
                let density = |s: f64| shape * (s - shape.ln()) - (s.exp() - shape);
                // The density in the logarithm is highest at ln(shape).
                let end = |sign: f64| {
                    let mut step = 0.01;
                    while density(shape.ln() + sign * step) > -CUT && step < 1e3 {
                        step *= 1.1;
                    }
                    shape.ln() + sign * step
                };
                let (from, to) = (end(-1.0), end(1.0));
                (0..GAMMA_NODES)
                    .map(|i| from + (to - from) * (f64::from(i) + 0.5) / f64::from(GAMMA_NODES))
                    .map(|s| (s.exp() / shape, density(s).exp()))
                    .collect()
            }
            (SigmaFamily::Uniform, &[spread]) => {
                let share = 1.0 / (1.0 + (-spread).exp());
                let rule = gauss_legendre().iter();
                rule.map(|(node, weight)| (1.0 + share * node, *weight)).collect()
            }
            (SigmaFamily::TruncatedGaussian, &[mean, log_deviation, log_lower]) => {
                let (mean, lower, width) = (mean.sinh(), log_lower.exp(), 1.0);
                let deviation = log_deviation.exp() * (1.0 + mean.abs()).sqrt();
                let mode = mean.clamp(lower, lower + width);
                let exponent = |v: f64| {
                    ((mode - mean).powi(2) - (v - mean).powi(2)) / (2.0 * deviation.powi(2))
                };
                let rule = gauss_legendre().iter();
                rule.map(|(node, weight)| (lower + 0.5 * width * (1.0 + node), *weight))
                    .map(|(v, weight)| (v, weight * exponent(v).exp()))
                    .collect()
            }
            _ => return None,
        };
        let heaviest = nodes.iter().map(|node| node.1).fold(0.0, f64::max);
        let kept: Vec<(f64, f64)> = nodes
            .into_iter()
            .filter(|node| node.1 > heaviest * (-CUT).exp() && node.0 > 0.0)
            .collect();
        let total: f64 = kept.iter().map(|node| node.1).sum();
        let sigma = |v: f64| match variable {
            Variable::Sigma => self.plain * v,
            Variable::Inverse => self.plain / v,
        };
        let mixture: Vec<_> = kept.iter().map(|(v, w)| (sigma(*v), w / total)).collect();
        mixture
            .iter()
            .all(|(sigma, w)| sigma.is_finite() && *sigma > 0.0 && *w > 0.0)
            .then_some(mixture)
    }
}

/// The search of Nelder and Mead (1965), in the form of Lagarias et al. (1998). The shapes have one
/// to three variables, and a cost whose curved valley has a kink where another set of outputs
/// begins to lose more than epsilon: there the linear models of COBYLA stop up to a percent too
/// high.
fn simplex(
    objective: &impl Fn(&[f64]) -> f64,
    start: (f64, Vec<f64>),
    size: f64,
) -> (f64, Vec<f64>) {
    let valued = |x: Vec<f64>| {
        let x: Vec<f64> = x.into_iter().map(|x| x.clamp(-9.0, 9.0)).collect();
        (objective(&x), x)
    };
    let between = |from: &[f64], to: &[f64], t: f64| -> Vec<f64> {
        from.iter().zip(to).map(|(from, to)| from + t * (to - from)).collect()
    };
    let axes = start.1.len();
    let mut corners = vec![start.clone()];
    for axis in 0..axes {
        let mut moved = start.1.clone();
        moved[axis] += size;
        corners.push(valued(moved));
    }
    for _ in 0..ROUNDS {
        corners.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (best, worst) = (corners[0].clone(), corners[axes].clone());
        if worst.0 - best.0 <= 1e-9 * best.0 {
            break;
        }
        let sum = |axis: usize| corners[..axes].iter().map(|corner| corner.1[axis]).sum::<f64>();
        let middle: Vec<f64> = (0..axes).map(|axis| sum(axis) / axes as f64).collect();
        let at = |t: f64| valued(between(&middle, &worst.1, t));
        let reflected = at(-1.0);
        let next = if reflected.0 < best.0 {
            let expanded = at(-2.0);
            Some(if expanded.0 < reflected.0 { expanded } else { reflected })
        } else if reflected.0 < corners[axes - 1].0 {
            Some(reflected)
        } else {
            let contracted = at(if reflected.0 < worst.0 { -0.5 } else { 0.5 });
            (contracted.0 < reflected.0.min(worst.0)).then_some(contracted)
        };
        match next {
            Some(corner) => corners[axes] = corner,
            None => {
                for corner in &mut corners[1..] {
                    *corner = valued(between(&best.1, &corner.1, 0.5));
                }
            }
        }
    }
    corners.into_iter().min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or(start)
}
