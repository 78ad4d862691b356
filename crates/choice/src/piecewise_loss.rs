//! Losses that are put together from hinges: what an error of a given size costs.

use crate::error::ChoiceError;
use crate::error_law::ErrorLaw;
use crate::loss::Loss;
use reticent_numerics::{Bounds, Enclosure, Wide, require};

/// The most points that a table of losses has.
const LARGEST_TABLE: usize = 2000;

/// Hinges beyond which integers are added up in one pass for all of them.
const FEW_HINGES: usize = 8;
/// The most integers of that pass.
const MOST_INTEGERS: u32 = 20_000;

/// A loss of `|error|`: `l(t) = c + q t^2 + sum_i s_i (t - t_i)_+`, continuous and not decreasing.
///
/// Its expectation is linear in a few figures of a law:
/// `E l(|X|) = c + q E X^2 + sum_i s_i E(|X| - t_i)_+`. The mean absolute error is one hinge at
/// zero, the mean square error is `q = 1`, and every table with straight lines between its points
/// is a sum of hinges.
#[derive(Clone, Debug, PartialEq)]
pub struct PiecewiseLoss {
    constant: f64,
    quadratic: f64,
    /// Where the slope changes, and by how much, from left to right.
    hinges: Vec<(f64, Wide)>,
}

impl PiecewiseLoss {
    /// `t`.
    pub fn absolute() -> Self {
        PiecewiseLoss { constant: 0.0, quadratic: 0.0, hinges: vec![(0.0, Wide::ONE)] }
    }

    /// `t^2`.
    pub fn square() -> Self {
        PiecewiseLoss { constant: 0.0, quadratic: 1.0, hinges: Vec::new() }
    }

    /// A table of `(|error|, loss)` with straight lines between its points. Before the first point
    /// the loss is that of the first point; beyond the last one it goes on as steeply as it
    /// arrived.
    ///
    /// # Errors
    /// If there are fewer than two points or more than 2000, an error is negative, not finite or
    /// not above the one before, or a loss is negative, not finite or below the one before, or if
    /// all losses are equal.
    pub fn table(points: &[(f64, f64)]) -> Result<Self, ChoiceError> {
        let count = points.len() as f64;
        require(
            (2..=LARGEST_TABLE).contains(&points.len()),
            "points of the loss",
            count,
            "from 2 to 2000 of them",
        )?;
        for &(error, loss) in points {
            require(
                (0.0..=1e100).contains(&error),
                "|error| of the loss",
                error,
                "a number from 0 to 1e100",
            )?;
            require((0.0..=1e100).contains(&loss), "loss", loss, "a number from 0 to 1e100")?;
        }
        let mut hinges = Vec::with_capacity(points.len());
        let mut before = Wide::ZERO;
        for pair in points.windows(2) {
            let ((from, low), (to, high)) = (pair[0], pair[1]);
            require(to > from, "|error| of the loss", to, "above the one before it")?;
            require(
                high >= low,
                "loss",
                high,
                "at least the one before it: an error that grows cannot cost less",
            )?;
            let slope = (Wide::from(high) - Wide::from(low)) / (Wide::from(to) - Wide::from(from));
            hinges.push((from, slope - before));
            before = slope;
        }
        let (first, last) = (points[0].1, points[points.len() - 1].1);
        if first == last {
            return Err(ChoiceError::Meaningless(
                "all losses are equal: a loss that does not grow with the error prefers no noise \
                 to another"
                    .into(),
            ));
        }
        Ok(PiecewiseLoss { constant: first, quadratic: 0.0, hinges })
    }

    /// `c`.
    pub(crate) fn constant(&self) -> f64 {
        self.constant
    }

    /// `q`.
    pub(crate) fn quadratic(&self) -> f64 {
        self.quadratic
    }

    /// `(t_i, s_i)`.
    pub(crate) fn hinges(&self) -> &[(f64, Wide)] {
        &self.hinges
    }

    /// `l(t)`, for `t >= 0`.
    pub fn at(&self, t: f64) -> Bounds {
        let x = Wide::from(t);
        let start = Wide::from(self.constant) + Wide::from(self.quadratic) * x * x;
        let hinges = self.hinges.iter().take_while(|(knot, _)| *knot < t);
        hinges.fold(start, |sum, (knot, change)| sum + *change * (x - Wide::from(*knot))).bounds()
    }

    /// `E l(|error|)`.
    pub fn expected(&self, law: &dyn ErrorLaw) -> Bounds {
        if law.is_integer() && self.quadratic == 0.0 && self.hinges.len() > FEW_HINGES {
            let summed = self.expected_over_integers(law);
            if summed.relative_width() < 1e-9 {
                return summed;
            }
        }
        let mut sum = Bounds::exact(self.constant);
        if self.quadratic > 0.0 {
            sum = sum + Bounds::exact(self.quadratic) * law.mean_square();
        }
        for (knot, change) in &self.hinges {
            sum = sum + change.bounds() * law.excess(*knot);
        }
        Bounds::new(sum.lower().max(self.constant), sum.upper())
    }
}

impl PiecewiseLoss {
    /// `l(0) + sum over n of (l(n + 1) - l(n)) P[|N| > n]`, in one pass over the integers and the
    /// hinges. What is left after the last term is at most the steepest slope times `E(|N| - n)_+`.
    fn expected_over_integers(&self, law: &dyn ErrorLaw) -> Bounds {
        let mut hinges = self.hinges.iter().peekable();
        let (mut slope, mut sum) = (Wide::ZERO, Bounds::exact(self.constant));
        let mut n = 0.0;
        for _ in 0..MOST_INTEGERS {
            // The slope so far for the whole step, and each change from its knot on.
            let mut rise = slope;
            while let Some((knot, change)) = hinges.next_if(|(knot, _)| *knot < n + 1.0) {
                rise = rise + *change * (Wide::from(n + 1.0) - Wide::from(*knot));
                slope = slope + *change;
            }
            let beyond = law.exceedance(n);
            sum = sum + rise.bounds() * beyond;
            n += 1.0;
            if beyond.upper() < 1e-25 {
                break;
            }
        }
        let rest = (Bounds::exact(self.steepest()) * law.excess(n)).upper();
        Bounds::new(sum.lower().max(self.constant), (sum + Bounds::new(0.0, rest)).upper())
    }

    /// Whether the slope rises strictly between two multiples of a spacing.
    fn bends_up_between(&self, from: f64, to: f64) -> bool {
        self.quadratic > 0.0
            || self
                .hinges
                .iter()
                .any(|(knot, change)| *knot > from && *knot < to && change.bounds().upper() > 0.0)
    }

    /// An upper bound of the slope of the hinges.
    fn steepest(&self) -> f64 {
        let mut slope = Wide::ZERO;
        let slopes = self.hinges.iter().map(|(_, change)| {
            slope = slope + *change;
            slope.bounds().upper()
        });
        slopes.fold(0.0, f64::max)
    }
}

impl Loss for PiecewiseLoss {
    fn least_on(&self, from: f64, _to: f64) -> f64 {
        self.at(from).lower().max(0.0)
    }

    fn greatest_on(&self, _from: f64, to: f64) -> f64 {
        self.at(to).upper()
    }

    /// The loss itself, where it does not bend upwards on either side of the knot; otherwise the
    /// loss one step nearer.
    fn below_at_knot(&self, k: u64, spacing: f64) -> f64 {
        let point = |k: f64| k.max(0.0) * spacing;
        let k = k as f64;
        // A hinge within rounding of a multiple counts as between.
        let (left, right) = (point(k - 1.0).next_down(), point(k + 1.0).next_up());
        let (before, after) = (point(k).next_down(), point(k).next_up());
        if self.bends_up_between(left, before) || self.bends_up_between(after, right) {
            return self.least_on(point(k - 1.0).next_down().max(0.0), point(k));
        }
        self.least_on(before.max(0.0), after)
    }

    fn greatest_mean_on(&self, from: f64, to: f64) -> f64 {
        if to <= from {
            return self.greatest_on(from, to);
        }
        let (a, b) = (Wide::from(from), Wide::from(to));
        let third = (a * a + a * b + b * b) / Wide::from(3.0);
        let above = |x: Wide, knot: f64| (x - Wide::from(knot)).max(Wide::ZERO);
        let start = Wide::from(self.constant) + Wide::from(self.quadratic) * third;
        let mean = self.hinges.iter().fold(start, |sum, (knot, change)| {
            let square = above(b, *knot) * above(b, *knot) - above(a, *knot) * above(a, *knot);
            sum + *change * square.times_power_of_two(-1) / (b - a)
        });
        mean.bounds().upper()
    }

    /// At zero the mean of `|U|`, a quarter, times the steepest slope; elsewhere the slopes of both
    /// sides differ by no more than that, and `E max(U, 0)` is an eighth. A square gains a twelfth.
    fn greatest_gain_of_spreading(&self) -> f64 {
        let twelfth = Bounds::exact(self.quadratic) / Bounds::exact(12.0);
        (Bounds::exact(self.steepest()) * Bounds::exact(0.25) + twelfth).upper()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error_law::Additive;
    use reticent_mechanisms::{Epsilon, Laplace, Mechanism, Neighbours, Sensitivity};

    fn laplace() -> Additive<reticent_noise::Laplace> {
        let one = Sensitivity::scalar(1.0, Neighbours::AddRemove).expect("valid");
        let mechanism = Laplace::calibrate(&one, Epsilon::new(0.5).expect("valid")).expect("valid");
        Additive::new(
            reticent_noise::Laplace,
            mechanism.scale(),
            &mechanism.errors().expect("additive"),
        )
    }

    #[test]
    fn the_named_losses_are_the_moments() {
        let law = laplace();
        assert!(PiecewiseLoss::absolute().expected(&law).contains(2.0));
        assert!(PiecewiseLoss::square().expected(&law).contains(8.0));
    }

    #[test]
    fn a_table_is_a_sum_of_hinges() {
        // Free up to 1, then 2 a unit up to 3, then flat.
        let loss = PiecewiseLoss::table(&[(1.0, 0.5), (3.0, 4.5), (4.0, 4.5)]).expect("valid");
        for (t, value) in [(0.0, 0.5), (1.0, 0.5), (2.0, 2.5), (3.0, 4.5), (9.0, 4.5)] {
            assert!(
                loss.at(t).contains(value) && loss.at(t).width() < 1e-14,
                "{t}: {:?}",
                loss.at(t)
            );
        }
        // 1/2 + 2 (E(|X| - 1)_+ - E(|X| - 3)_+), E(|X| - t)_+ = 2 e^(-t/2).
        let expected = 0.5 + 4.0 * ((-0.5f64).exp() - (-1.5f64).exp());
        let found = loss.expected(&laplace());
        assert!(
            (found.estimate() / expected - 1.0).abs() < 1e-14 && found.relative_width() < 1e-14,
            "{found:?}"
        );
    }

    #[test]
    fn one_pass_over_the_integers_agrees_with_the_hinges() {
        let one = Sensitivity::scalar(1.0, Neighbours::AddRemove).expect("valid");
        let mechanism = Laplace::calibrate(&one, Epsilon::new(0.3).expect("valid")).expect("valid");
        let law = Additive::new(
            reticent_noise::Laplace,
            mechanism.scale(),
            &mechanism.errors().expect("additive"),
        );
        let law = crate::Rounded::new(Box::new(law), Bounds::WHOLE_LINE);
        let points: Vec<_> =
            (0..20).map(|i| 0.37 * f64::from(i)).map(|t| (t, t.powf(1.5).min(6.0))).collect();
        let loss = PiecewiseLoss::table(&points).expect("valid");
        let summed = loss.expected_over_integers(&law);
        let plain: f64 = (0..500)
            .map(|n| {
                (
                    law.density(f64::from(n)) * if n == 0 { 1.0 } else { 2.0 },
                    loss.at(f64::from(n)).estimate(),
                )
            })
            .map(|(mass, cost)| mass * cost)
            .sum();
        assert!(
            (summed.estimate() / plain - 1.0).abs() < 1e-11 && summed.relative_width() < 1e-11,
            "{summed:?} {plain}"
        );
    }

    #[test]
    fn what_a_limit_is_told_of_a_table_holds() {
        let table = PiecewiseLoss::table(&[(0.3, 0.25), (0.7, 2.0), (1.5, 2.0), (2.0, 7.0)])
            .expect("valid");
        for spacing in [0.1, 0.125, 0.3, 1.0] {
            for k in 0..40u64 {
                let (left, right) =
                    (table.below_at_knot(k, spacing), table.below_at_knot(k + 1, spacing));
                assert!(right >= left, "{spacing} {k}");
                for i in 0..=20 {
                    let share = f64::from(i) / 20.0;
                    let gap = table.at((k as f64 + share) * spacing).estimate()
                        - (left * (1.0 - share) + right * share);
                    assert!(gap >= -1e-12, "{spacing} {k} {share}: {gap}");
                }
                let (from, to) = (k as f64 * spacing, (k as f64 + 1.0) * spacing);
                let points = (0..2000).map(|i| from + (to - from) * (f64::from(i) + 0.5) / 2000.0);
                let mean = points.map(|t| table.at(t).estimate()).sum::<f64>() / 2000.0;
                let claimed = table.greatest_mean_on(from, to);
                assert!((mean - claimed).abs() < 1e-5, "{spacing} {k}: {mean} {claimed}");
            }
        }
        for n in 0..4 {
            let points =
                (0..2000).map(|i| (f64::from(n) - 0.5 + (f64::from(i) + 0.5) / 2000.0).abs());
            let gain = points.map(|t| table.at(t).estimate()).sum::<f64>() / 2000.0
                - table.at(f64::from(n)).estimate();
            assert!(gain <= table.greatest_gain_of_spreading(), "{n}: {gain}");
        }
    }

    #[test]
    fn tables_that_are_no_losses_are_refused_by_name() {
        for (points, why) in [
            (vec![(0.0, 1.0)], "from 2 to"),
            (vec![(0.0, 1.0), (0.0, 2.0)], "above the one before"),
            (vec![(0.0, 1.0), (1.0, 0.5)], "cannot cost less"),
            (vec![(0.0, 1.0), (1.0, 1.0)], "all losses are equal"),
            (vec![(-1.0, 1.0), (1.0, 2.0)], "from 0 to 1e100"),
            (vec![(0.0, f64::NAN), (1.0, 2.0)], "from 0 to 1e100"),
            (vec![(0.0, 0.0), (f64::INFINITY, 2.0)], "from 0 to 1e100"),
        ] {
            let refused = PiecewiseLoss::table(&points).map_err(|error| error.to_string());
            assert!(
                refused.as_ref().is_err_and(|message| message.contains(why)),
                "{points:?}: {refused:?}"
            );
        }
    }
}
