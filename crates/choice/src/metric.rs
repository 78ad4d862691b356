//! What is to be small: the measures of error by which noise is compared.

use crate::error::ChoiceError;
use crate::error_law::ErrorLaw;
use crate::maximum::expected_maximum;
use crate::piecewise_loss::PiecewiseLoss;
use reticent_numerics::root::{Direction, Range, monotone_root};
use reticent_numerics::{Bounds, Enclosure, require};
use std::fmt;
use std::str::FromStr;

/// A measure of error. All but the maxima are about one released number.
#[derive(Clone, Debug, PartialEq)]
pub enum Metric {
    /// The mean absolute error `E|X|`.
    MeanAbsolute,
    /// The root mean square error `sqrt(E X^2)`, in the units of the answer.
    RootMeanSquare,
    /// The expected maximum of `|X_i|` over all released numbers.
    Maximum,
    /// The least `t` that the maximum of `|X_i|` stays within with this probability.
    MaximumQuantile(f64),
    /// The differential entropy in nats, and Shannon's for integers. It can be negative; ratios are
    /// of the widths `e^h`.
    Entropy,
    /// `P[|X| > t]`, one less the usefulness at `t`.
    Usefulness(f64),
    /// The least `t` with `P[|X| <= t]` at least this.
    Quantile(f64),
    /// The expectation of a loss of the user's own.
    Loss(PiecewiseLoss),
}

impl Metric {
    /// Checks the number that a metric is made with.
    ///
    /// # Errors
    /// If a distance is not above 0 and at most 1e100, or a probability not from 1e-12 to 1 -
    /// 1e-12.
    pub fn checked(self) -> Result<Self, ChoiceError> {
        match self {
            Metric::Usefulness(t) => require(
                t > 0.0 && t <= 1e100,
                "usefulness",
                t,
                "a number above 0 and at most 1e100",
            ),
            Metric::Quantile(q) | Metric::MaximumQuantile(q) => require(
                (1e-12..=1.0 - 1e-12).contains(&q),
                "quantile",
                q,
                "a probability from 1e-12 to 1 - 1e-12",
            ),
            Metric::MeanAbsolute
            | Metric::RootMeanSquare
            | Metric::Maximum
            | Metric::Entropy
            | Metric::Loss(_) => Ok(0.0),
        }?;
        Ok(self)
    }

    /// The error of a law, of which so many independent copies are released. Infinite where it does
    /// not exist.
    pub fn error(&self, law: &dyn ErrorLaw, dimension: u32) -> Bounds {
        match self {
            Metric::MeanAbsolute => law.excess(0.0),
            Metric::RootMeanSquare => law.mean_square().clamp(0.0, f64::INFINITY).sqrt(),
            Metric::Maximum => expected_maximum(law, dimension),
            Metric::MaximumQuantile(q) => {
                // All of k stay within t if P[|X| <= t] = q^(1/k).
                let each = Bounds::exact(*q).ln() / Bounds::exact(f64::from(dimension));
                quantile(law, -each.exp_m1())
            }
            Metric::Entropy => law.entropy(),
            Metric::Usefulness(t) => law.exceedance(*t),
            Metric::Quantile(q) => quantile(law, Bounds::ONE - Bounds::exact(*q)),
            Metric::Loss(loss) => loss.expected(law),
        }
    }

    /// How many times the other error an error is: the quotient, and for the entropy the quotient
    /// of `e^h`.
    pub fn ratio(&self, error: Bounds, other: Bounds) -> Bounds {
        match self {
            Metric::Entropy => (error - other).exp(),
            Metric::MeanAbsolute
            | Metric::RootMeanSquare
            | Metric::Maximum
            | Metric::MaximumQuantile(_)
            | Metric::Usefulness(_)
            | Metric::Quantile(_)
            | Metric::Loss(_) => error / other,
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Metric::MeanAbsolute => f.write_str("l1"),
            Metric::RootMeanSquare => f.write_str("l2"),
            Metric::Maximum => f.write_str("max"),
            Metric::MaximumQuantile(q) => write!(f, "max:{q}"),
            Metric::Entropy => f.write_str("entropy"),
            Metric::Usefulness(t) => write!(f, "usefulness:{t}"),
            Metric::Quantile(q) => write!(f, "quantile:{q}"),
            Metric::Loss(_) => f.write_str("loss"),
        }
    }
}

/// Reads every metric but a loss, which is a table and not a word.
impl FromStr for Metric {
    type Err = ChoiceError;

    fn from_str(text: &str) -> Result<Self, ChoiceError> {
        let number =
            |prefix: &str| text.strip_prefix(prefix).and_then(|rest| rest.parse::<f64>().ok());
        let named = match text {
            "l1" => Some(Metric::MeanAbsolute),
            "l2" => Some(Metric::RootMeanSquare),
            "max" => Some(Metric::Maximum),
            "entropy" => Some(Metric::Entropy),
            _ => number("usefulness:")
                .map(Metric::Usefulness)
                .or_else(|| number("quantile:").map(Metric::Quantile))
                .or_else(|| number("max:").map(Metric::MaximumQuantile)),
        };
        let known = "l1, l2, max, max:Q, entropy, usefulness:T, quantile:Q, loss:FILE or \
            expression:TEXT, with numbers T and Q";
        let unknown =
            || ChoiceError::Meaningless(format!("the metric is `{text}`, but it must be {known}"));
        named.ok_or_else(unknown)?.checked()
    }
}

/// The least `t` with `P[|X| > t] <= outside`.
fn quantile(law: &dyn ErrorLaw, outside: Bounds) -> Bounds {
    if law.is_integer() {
        let first = |reached: &dyn Fn(f64) -> bool| first_integer(reached).unwrap_or(f64::INFINITY);
        let upper = first(&|n| law.exceedance(n).upper() <= outside.lower());
        let lower = first(&|n| law.exceedance(n).lower() <= outside.upper());
        return Bounds::new(lower, upper);
    }
    let level = outside.ln();
    // Where nothing is left the logarithm would be minus infinity; the least positive number stands
    // for it.
    let positive = |tail: Bounds| {
        Bounds::new(tail.lower().max(f64::MIN_POSITIVE), tail.upper().max(f64::MIN_POSITIVE))
    };
    let excess = |t: f64| positive(law.exceedance(t)).ln() - level;
    let guess = law.mean_square().estimate().sqrt();
    let guess = if guess.is_finite() && guess > 0.0 { guess } else { 1.0 };
    let range = Range::POSITIVE.bracket_from(guess).to_within(1e-14);
    monotone_root(excess, range, Direction::Decreasing).unwrap_or(Bounds::new(0.0, f64::INFINITY))
}

/// The first integer from zero on at which a statement holds that goes on to hold; `None` beyond
/// 1e19.
fn first_integer(holds: &dyn Fn(f64) -> bool) -> Option<f64> {
    let (mut low, mut high) = (-1.0f64, 0.0f64);
    while !holds(high) {
        low = high;
        high = 2.0 * high + 1.0;
        if high > 1e19 {
            return None;
        }
    }
    // From 2^53 on not every integer is an `f64`: the first of those that are.
    while high - low > 1.0 && high.next_down() > low {
        let middle = ((low + high) / 2.0).floor();
        if holds(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error_law::Additive;
    use crate::integer_law::Rounded;
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
    fn laplace_noise_has_its_closed_forms() {
        let loss = PiecewiseLoss::table(&[(0.0, 0.0), (1.0, 3.0)]).expect("valid");
        for (metric, truth) in [
            (Metric::MeanAbsolute, 2.0),
            (Metric::RootMeanSquare, 8f64.sqrt()),
            (Metric::Entropy, 1.0 + 4f64.ln()),
            (Metric::Usefulness(3.0), (-1.5f64).exp()),
            (Metric::Quantile(0.75), 2.0 * 4f64.ln()),
            (Metric::Maximum, 2.0),
            (Metric::MaximumQuantile(0.5), 2.0 * 2f64.ln()),
            (Metric::Loss(loss), 6.0),
        ] {
            let error = metric.error(&laplace(), 1);
            assert!((error.estimate() / truth - 1.0).abs() < 1e-12, "{metric}: {error:?} {truth}");
            assert!(error.relative_width() < 1e-11, "{metric}: {error:?}");
        }
        // All of 3 within t: (1 - e^(-t/2))^3 = 1/2.
        let three = Metric::MaximumQuantile(0.5).error(&laplace(), 3);
        assert!(
            (three.estimate() / (-2.0 * (1.0 - 0.5f64.cbrt()).ln()) - 1.0).abs() < 1e-12,
            "{three:?}"
        );
    }

    #[test]
    fn integer_quantiles_are_integers() {
        let law = Rounded::new(Box::new(laplace()), Bounds::WHOLE_LINE);
        // P[|N| > n] = e^(-(n + 1/2)/2) <= 1/4 from n = 3 on: 2 ln 4 - 1/2 = 2.27.
        assert_eq!(Metric::Quantile(0.75).error(&law, 1), Bounds::exact(3.0));
        assert_eq!(Metric::Quantile(0.1).error(&law, 1), Bounds::exact(0.0));
    }

    #[test]
    fn names_are_read_and_printed_alike_and_nonsense_is_refused() {
        for text in ["l1", "l2", "max", "max:0.9", "entropy", "usefulness:0.1", "quantile:0.95"] {
            assert_eq!(
                text.parse::<Metric>().map(|metric| metric.to_string()),
                Ok(text.to_string())
            );
        }
        for text in [
            "",
            "l3",
            "usefulness",
            "usefulness:",
            "usefulness:-1",
            "usefulness:nan",
            "quantile:1",
            "max:0",
        ] {
            assert!(text.parse::<Metric>().is_err(), "{text}");
        }
    }
}
