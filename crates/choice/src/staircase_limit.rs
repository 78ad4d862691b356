//! The least error of any noise under pure differential privacy.
//!
//! Some staircase is the best noise for every loss that grows, and for the entropy (Geng and
//! Viswanath, *The optimal noise-adding mechanism in differential privacy*, 2016, Theorem 4). For a
//! loss `l` put `b = e^-epsilon`, `m(u) = sum over k of b^k l(D (k + u))`, `A(g)` the integral of
//! `m` from 0 to `g`, and `B = A(1)`. The staircase with its step at `g` has the expected loss
//! `C(g) = (1 - b) [(1 - b) A(g) + b B] / [(1 - b) g + b]`, which is least where
//! `m(g) ((1 - b) g + b) - (1 - b) A(g) - b B` passes zero. A tangent of the convex `A` proves that
//! nothing is below. The proofs are in docs/proofs/staircase_limit.md.

use crate::piecewise_loss::PiecewiseLoss;
use reticent_numerics::{Bounds, Enclosure, Wide};

/// The best staircase for something, and the least that any noise can reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StaircaseLimit {
    /// Where the steps are, as a share of the sensitivity: an estimate, which no bound depends on.
    pub gamma: f64,
    /// Bounds on the least error of all noise.
    pub least: Bounds,
}

/// `b` and `1 - b`.
fn decay(epsilon: f64) -> (Wide, Wide) {
    let exponent = Wide::from(-epsilon);
    (exponent.exp(), -exponent.exp_m1())
}

/// A distance in sensitivities, `k + phi` with an integer `k` and `phi` from 0 to 1; both ways of
/// writing it where it might be an integer.
fn split(distance: f64, sensitivity: f64) -> Vec<(f64, Wide)> {
    let whole = Wide::from(distance) / Wide::from(sensitivity);
    let k = whole.bounds().estimate().floor().max(0.0);
    let phi = whole - Wide::from(k);
    let reach = phi.bounds();
    if k >= 1.0 && reach.lower() < 0.0 {
        return vec![(k, within(phi, 0.0, 1.0)), (k - 1.0, within(phi + Wide::ONE, 0.0, 1.0))];
    }
    if reach.upper() > 1.0 {
        return vec![(k, within(phi, 0.0, 1.0)), (k + 1.0, within(phi - Wide::ONE, 0.0, 1.0))];
    }
    vec![(k, within(phi, 0.0, 1.0))]
}

/// What of an enclosure lies in a range that its number lies in.
fn within(x: Wide, lower: f64, upper: f64) -> Wide {
    let reach = x.bounds();
    if reach.lower() >= lower && reach.upper() <= upper {
        x
    } else {
        Wide::from_bounds(reach.clamp(lower, upper))
    }
}

fn hull_of(values: impl Iterator<Item = Wide>) -> Wide {
    values.reduce(|a, b| a.hull(b)).unwrap_or(Wide::from_bounds(Bounds::WHOLE_LINE))
}

/// The least `P[|error| > t]`: `b^(k+1) / (phi + b (1 - phi))` for `t = (k + phi) D`, by the
/// staircase with its step at `phi`.
pub fn least_exceedance(epsilon: f64, sensitivity: f64, t: f64) -> StaircaseLimit {
    let (b, _) = decay(epsilon);
    let parts = split(t, sensitivity);
    let value = |&(k, phi): &(f64, Wide)| {
        let power = (-(Wide::from(epsilon) * Wide::from(k + 1.0))).exp();
        power / (phi + b * (Wide::ONE - phi))
    };
    let gamma = parts.first().map_or(0.0, |(_, phi)| phi.bounds().estimate());
    StaircaseLimit { gamma, least: hull_of(parts.iter().map(value)).bounds().clamp(0.0, 1.0) }
}

/// The least `t` with `P[|error| > t] <= outside`, for `outside` between 0 and 1:
/// [`least_exceedance`] solved for `t`. With `b^(k+1) < outside <= b^k`,
/// `phi = (b^(k+1)/outside - b)/(1 - b)`.
pub fn least_quantile(epsilon: f64, sensitivity: f64, outside: Bounds) -> StaircaseLimit {
    let (b, one_less_b) = decay(epsilon);
    let outside = Wide::from_bounds(outside);
    let steps = (-(outside.ln()) / Wide::from(epsilon)).bounds();
    let at = |k: f64| {
        let power = (-(Wide::from(epsilon) * Wide::from(k + 1.0))).exp();
        let phi = within((power / outside - b) / one_less_b, 0.0, 1.0);
        (phi, (Wide::from(k) + phi) * Wide::from(sensitivity))
    };
    // Where the quotient might be an integer, both neighbours are tried; at it they agree, with phi
    // = 1 and phi = 0.
    let (first, last) = (steps.lower().floor().max(0.0), steps.upper().floor().max(0.0));
    let (phi, value) = at(first);
    let least = if last > first { value.hull(at(last).1) } else { value };
    StaircaseLimit {
        gamma: phi.bounds().estimate(),
        least: least.bounds().clamp(0.0, f64::INFINITY),
    }
}

/// The least differential entropy, `1 + ln(2 epsilon b D/(1 - b)^2)`, at
/// `gamma = b (epsilon - 1 + b)/(1 - b)^2`.
pub fn least_entropy(epsilon: f64, sensitivity: f64) -> StaircaseLimit {
    let (b, one_less_b) = decay(epsilon);
    let square = one_less_b * one_less_b;
    let gamma = b * (Wide::from(epsilon) - one_less_b) / square;
    let inside = Wide::from(2.0 * epsilon) * b * Wide::from(sensitivity) / square;
    StaircaseLimit {
        gamma: gamma.bounds().estimate().clamp(0.0, 1.0),
        least: (Wide::ONE + inside.ln()).bounds(),
    }
}

/// The least expected loss.
pub fn least_loss(epsilon: f64, sensitivity: f64, loss: &PiecewiseLoss) -> StaircaseLimit {
    let programme = Programme::new(epsilon, sensitivity, loss);
    let whole = programme.integral(Wide::ONE);
    let passes = |g: f64| programme.slope(Wide::from(g), whole).bounds().estimate() >= 0.0;
    let (mut low, mut high) = (0.0f64, 1.0f64);
    // Halved in the logarithm as long as that is finer: for a large epsilon the step is tiny.
    for _ in 0..200 {
        let middle = if low == 0.0 && high > 1e-300 { high * 1e-2 } else { (low * high).sqrt() };
        let middle = if low > 0.0 && high < 2.0 * low { 0.5 * (low + high) } else { middle };
        if middle <= low || middle >= high || low == 0.0 && high < 1e-290 {
            break;
        }
        if passes(middle) { high = middle } else { low = middle }
    }
    // The tangent's value at 0 feels the last bit of an f64 where the step is tiny: the position of
    // the zero is taken to more digits.
    let (below, above) = (Wide::from(low), Wide::from(high));
    let (falls, rises) = (programme.slope(below, whole), programme.slope(above, whole));
    let refined = below - falls * (above - below) / (rises - falls);
    let tangents = [below, above, refined].map(|h| programme.proved(h, whole));
    let costs = [low, high].map(|g| programme.cost(Wide::from(g), whole).upper());
    // A NaN cannot come out of these: a tangent that is not known proves no more than the constant.
    let proved = tangents.into_iter().fold(loss.constant(), f64::max);
    let gamma = if costs[0] < costs[1] { low } else { high };
    StaircaseLimit {
        gamma,
        least: Bounds::new(proved.min(costs[0].min(costs[1])), costs[0].min(costs[1])),
    }
}

/// `m`, `A` and the expected loss of a staircase.
pub(crate) struct Programme<'a> {
    epsilon: f64,
    sensitivity: f64,
    loss: &'a PiecewiseLoss,
}

impl<'a> Programme<'a> {
    /// The programme for a loss, in the units of the sensitivity.
    pub(crate) fn new(epsilon: f64, sensitivity: f64, loss: &'a PiecewiseLoss) -> Self {
        Programme { epsilon, sensitivity, loss }
    }

    /// `m(u)`. A hinge at `(k + phi) D` adds
    /// `D b^k [(u - phi)_+ + (u - phi) b/(1 - b) + b/(1 - b)^2]`, the square
    /// `D^2 [u^2/(1 - b) + 2 u b/(1 - b)^2 + b (1 + b)/(1 - b)^3]`, the constant `1/(1 - b)`.
    pub(crate) fn at(&self, u: Wide) -> Wide {
        let (b, rest) = decay(self.epsilon);
        let unit = Wide::from(self.sensitivity);
        let mut sum = Wide::from(self.loss.constant()) / rest;
        let quadratic = Wide::from(self.loss.quadratic());
        let square = u * u / rest
            + (u * b / (rest * rest)).times_power_of_two(1)
            + b * (Wide::ONE + b) / rest.powi(3);
        sum = sum + quadratic * unit * unit * square;
        for (knot, change) in self.loss.hinges() {
            sum = sum
                + *change
                    * unit
                    * self.of_hinge(*knot, |phi| {
                        (u - phi).max(Wide::ZERO) + (u - phi) * b / rest + b / (rest * rest)
                    });
        }
        sum
    }

    /// `A(g)`, by integrating `m` term by term.
    fn integral(&self, g: Wide) -> Wide {
        let (b, rest) = decay(self.epsilon);
        let unit = Wide::from(self.sensitivity);
        let half = |x: Wide| x.times_power_of_two(-1);
        let quadratic = Wide::from(self.loss.quadratic());
        let cube = g * g * g / (Wide::from(3.0) * rest);
        let square = cube + g * g * b / (rest * rest) + g * b * (Wide::ONE + b) / rest.powi(3);
        let mut sum =
            Wide::from(self.loss.constant()) * g / rest + quadratic * unit * unit * square;
        for (knot, change) in self.loss.hinges() {
            sum = sum
                + *change
                    * unit
                    * self.of_hinge(*knot, |phi| {
                        let above = (g - phi).max(Wide::ZERO);
                        half(above * above)
                            + (half(g * g) - phi * g) * b / rest
                            + g * b / (rest * rest)
                    });
        }
        sum
    }

    /// `b^k` times a function of `phi`, for the knot at `(k + phi) D`.
    fn of_hinge(&self, knot: f64, of_phi: impl Fn(Wide) -> Wide) -> Wide {
        let parts = split(knot, self.sensitivity);
        hull_of(
            parts
                .iter()
                .map(|&(k, phi)| (-(Wide::from(self.epsilon) * Wide::from(k))).exp() * of_phi(phi)),
        )
    }

    /// `m(g) ((1 - b) g + b) - (1 - b) A(g) - b B`.
    fn slope(&self, g: Wide, whole: Wide) -> Wide {
        let (b, rest) = decay(self.epsilon);
        self.at(g) * (rest * g + b) - rest * self.integral(g) - b * whole
    }

    /// `C(g)`.
    fn cost(&self, g: Wide, whole: Wide) -> Bounds {
        self.quotient(self.integral(g), g, whole)
    }

    /// `C(g)` from `A(g)` and `B`.
    pub(crate) fn quotient(&self, integral: Wide, g: Wide, whole: Wide) -> Bounds {
        let (b, rest) = decay(self.epsilon);
        (rest * (rest * integral + b * whole) / (rest * g + b)).bounds()
    }

    /// What no staircase is below, by the tangent at `h`.
    fn proved(&self, h: Wide, whole: Wide) -> f64 {
        let (b, rest) = decay(self.epsilon);
        let (slope, value) = (self.at(h), self.integral(h));
        let at = |g: Wide| rest * (rest * (value + slope * (g - h)) + b * whole) / (rest * g + b);
        at(Wide::ZERO)
            .bounds()
            .lower()
            .min(at(Wide::ONE).bounds().lower())
            .max(self.loss.constant())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<serde_json::Value> {
        let file: serde_json::Value =
            serde_json::from_str(include_str!("../../../reference/staircase.json")).expect("JSON");
        file["rows"].as_array().expect("rows").clone()
    }

    fn number(value: &serde_json::Value) -> f64 {
        value.as_str().and_then(|text| text.parse().ok()).expect("a number")
    }

    #[track_caller]
    fn agrees(limit: StaircaseLimit, truth: f64, gamma: Option<f64>) {
        assert!(limit.least.relative_width() < 1e-12, "{limit:?}");
        assert!((limit.least.estimate() - truth).abs() <= 2e-13 * truth.abs(), "{limit:?} {truth}");
        if let Some(gamma) = gamma {
            // The optimum is flat: the step is known to half the digits of the cost.
            assert!((limit.gamma / gamma - 1.0).abs() < 1e-6, "{limit:?} {gamma}");
        }
    }

    #[test]
    fn every_reference_value_is_met() {
        assert!(rows().len() >= 6);
        for row in rows() {
            let epsilon = number(&row["eps"]);
            let gamma = |key: &str| Some(number(&row[format!("gamma_{key}")]));
            agrees(
                least_loss(epsilon, 1.0, &PiecewiseLoss::absolute()),
                number(&row["cost_l1"]),
                gamma("l1"),
            );
            agrees(
                least_loss(epsilon, 1.0, &PiecewiseLoss::square()),
                number(&row["cost_l2"]),
                gamma("l2"),
            );
            agrees(least_entropy(epsilon, 1.0), number(&row["cost_entropy"]), gamma("entropy"));
            for (x, tail) in row["min_tail_P(|X|>x)"].as_object().expect("a table") {
                agrees(
                    least_exceedance(epsilon, 1.0, x.parse().expect("a number")),
                    number(tail),
                    None,
                );
            }
        }
    }

    #[test]
    fn quantiles_are_the_inverse_of_exceedances() {
        for epsilon in [0.1, 1.0, 2.5, 8.0] {
            for (t, sensitivity) in [(0.3, 1.0), (1.0, 1.0), (2.6, 1.0), (5.5, 3.0), (40.0, 7.0)] {
                let outside = least_exceedance(epsilon, sensitivity, t).least;
                let quantile = least_quantile(epsilon, sensitivity, outside).least;
                assert!(
                    (quantile.estimate() / t - 1.0).abs() < 1e-9,
                    "{epsilon} {t}: {quantile:?}"
                );
                assert!(quantile.relative_width() < 1e-6, "{epsilon} {t}: {quantile:?}");
            }
        }
    }

    #[test]
    fn a_table_that_is_the_absolute_error_has_its_limit() {
        let table = PiecewiseLoss::table(&[(0.0, 0.0), (0.7, 0.7), (3.0, 3.0)]).expect("valid");
        for epsilon in [0.2, 1.0, 5.0] {
            let (a, b) = (
                least_loss(epsilon, 2.0, &table),
                least_loss(epsilon, 2.0, &PiecewiseLoss::absolute()),
            );
            assert!((a.least.estimate() / b.least.estimate() - 1.0).abs() < 1e-13, "{a:?} {b:?}");
        }
    }

    #[test]
    fn no_step_is_below_the_limit() {
        let table = PiecewiseLoss::table(&[(0.25, 0.0), (0.75, 3.0), (1.5, 3.5), (4.0, 10.0)])
            .expect("valid");
        for epsilon in [0.05, 1.0, 6.0, 30.0] {
            for loss in [&table, &PiecewiseLoss::absolute(), &PiecewiseLoss::square()] {
                let limit = least_loss(epsilon, 0.5, loss);
                let programme = Programme { epsilon, sensitivity: 0.5, loss };
                let whole = programme.integral(Wide::ONE);
                for i in 0..=1000 {
                    let cost = programme.cost(Wide::from(f64::from(i) / 1000.0), whole);
                    assert!(
                        cost.upper() >= limit.least.lower(),
                        "{epsilon} {i}: {cost:?} {limit:?}"
                    );
                }
                assert!(limit.least.relative_width() < 1e-10, "{epsilon}: {limit:?}");
            }
        }
    }

    #[test]
    fn the_averages_of_step_two_are_the_density() {
        // A falling, private density that is no staircase: Laplace's own. The average over u of
        // floor((v - u)) + u, as in the module's step 2.
        let epsilon = 1.3f64;
        let constant = epsilon.exp_m1() / epsilon;
        for v in [0.0, 0.2, 0.9, 1.0, 2.7] {
            let steps = 100_000;
            let average: f64 = (0..steps)
                .map(|i| (f64::from(i) + 0.5) / f64::from(steps))
                .map(|u| (-epsilon * ((v - u).floor() + u)).exp() / f64::from(steps))
                .sum();
            assert!(
                (average / (constant * (-epsilon * v).exp()) - 1.0).abs() < 1e-4,
                "{v}: {average}"
            );
        }
    }
}
