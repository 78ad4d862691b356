//! Repeated measurements of one quantity, and how far their means are from chance.

use crate::Answer;

/// Simulated findings count as shown where the normal distribution would be beyond so many standard
/// errors with the same probability: `Q(5) = 2.9e-7`.
const SHOWN: f64 = 5.0;

/// How far a difference of means is from zero, and how far it has to be.
///
/// The statistic is Student's: its deviation is estimated from the repeats themselves, so that a
/// few repeats must show more. With `v` degrees of freedom the equivalent normal deviate `z` of
/// Student's `t` is at least `sqrt((v - 1/2) ln(1 + t^2/v))` (Wallace 1959, Bounds on normal
/// approximations to Student's and the chi-square distributions, for `v > 1/2`). Solved for `t` at
/// `z = 5` that asks for `sqrt(v (exp(25/(v - 1/2)) - 1))` standard errors: 5.1 of 500 repeats, 7.4
/// of 20, and so many of two that nothing is shown. Direction of error: it asks for too many. The
/// repeats are taken to have a mean that is nearly normal, as those of hundreds of cells are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margin {
    /// By how many standard errors the difference is on the right side of zero.
    pub standard_errors: f64,
    /// How many are needed, so that a difference that is not there is called shown with probability
    /// below 3e-7.
    pub needed: f64,
}

impl Margin {
    fn new(standard_errors: f64, degrees_of_freedom: f64) -> Self {
        let v = degrees_of_freedom;
        let needed = if v > 0.5 {
            (v * ((SHOWN * SHOWN) / (v - 0.5)).exp_m1()).sqrt()
        } else {
            f64::INFINITY
        };
        Margin { standard_errors, needed }
    }

    /// Whether the difference is shown.
    pub(crate) fn suffices(self) -> bool {
        self.standard_errors >= self.needed
    }

    /// The margin of the opposite difference.
    pub(crate) fn opposite(self) -> Margin {
        Margin { standard_errors: -self.standard_errors, ..self }
    }
}

/// The results of repeats, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sample(pub(crate) Vec<f64>);

impl Sample {
    pub(crate) fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }

    /// The standard deviation of one repeat.
    pub(crate) fn deviation(&self) -> f64 {
        let mean = self.mean();
        let squares: f64 = self.0.iter().map(|value| (value - mean).powi(2)).sum();
        (squares / (self.0.len().max(2) - 1) as f64).sqrt()
    }

    /// The square of the mean's standard error.
    fn squared_error(&self) -> f64 {
        self.deviation().powi(2) / self.0.len() as f64
    }

    /// Every repeat so many times as large.
    pub(crate) fn times(&self, factor: f64) -> Sample {
        Sample(self.0.iter().map(|value| factor * value).collect())
    }

    /// The sums, repeat by repeat.
    pub(crate) fn plus(&self, other: &Sample) -> Sample {
        Sample(self.0.iter().zip(&other.0).map(|(own, other)| own + other).collect())
    }

    /// Whether the means of two samples are within `share` of each other: each is below the other
    /// one times `1 + share`.
    pub(crate) fn similar_to(&self, other: &Sample, share: f64) -> Answer {
        let below =
            |a: &Sample, b: &Sample| Answer::simulated(a.margin_below(&b.times(1.0 + share)));
        below(self, other).and(below(other, self))
    }

    /// Whether the mean is below that of another sample.
    pub(crate) fn below(&self, other: &Sample) -> Answer {
        Answer::simulated(self.margin_below(other))
    }

    /// How far the mean is above a number.
    pub(crate) fn margin_above(&self, number: f64) -> Margin {
        let freedom = self.0.len() as f64 - 1.0;
        Margin::new((self.mean() - number) / self.squared_error().sqrt(), freedom)
    }

    /// How far the mean of independent repeats is below that of another sample (Welch 1947, with
    /// Satterthwaite's degrees of freedom).
    pub(crate) fn margin_below(&self, other: &Sample) -> Margin {
        let (own, others) = (self.squared_error(), other.squared_error());
        let part = |square: f64, sample: &Sample| square * square / (sample.0.len() as f64 - 1.0);
        let freedom = (own + others).powi(2) / (part(own, self) + part(others, other));
        Margin::new((other.mean() - self.mean()) / (own + others).sqrt(), freedom)
    }

    /// How far the product of the means of two samples is below that of two others: by logarithms,
    /// whose errors are those of the means relative to them.
    pub(crate) fn product_margin_below(these: [&Sample; 2], those: [&Sample; 2]) -> Margin {
        let mut difference = 0.0;
        let (mut variance, mut fewest) = (0.0, f64::INFINITY);
        for (sign, pair) in [(-1.0, these), (1.0, those)] {
            for sample in pair {
                difference += sign * sample.mean().ln();
                variance += sample.squared_error() / sample.mean().powi(2);
                fewest = f64::min(fewest, sample.0.len() as f64);
            }
        }
        Margin::new(difference / variance.sqrt(), fewest - 1.0)
    }

    /// How far the standard deviation is below that of another sample: by logarithms, whose
    /// variance is `1/(2 (n - 1))` for repeats that are nearly normal.
    pub(crate) fn deviation_margin_below(&self, other: &Sample) -> Margin {
        let freedom = |sample: &Sample| sample.0.len() as f64 - 1.0;
        let (own, others) = (freedom(self), freedom(other));
        let difference = (other.deviation() / self.deviation()).ln();
        Margin::new(difference / (0.5 / own + 0.5 / others).sqrt(), own.min(others))
    }

    /// How far the mean is below that of another sample whose repeats were made from the same
    /// random bits, one by one.
    pub(crate) fn paired_margin_below(&self, other: &Sample) -> Margin {
        Sample(self.0.iter().zip(&other.0).map(|(own, other)| other - own).collect())
            .margin_above(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_are_in_standard_errors() {
        let low = Sample(vec![1.0, 2.0, 3.0]);
        let high = Sample(vec![11.0, 12.0, 13.0]);
        assert_eq!((low.mean(), low.deviation()), (2.0, 1.0));
        // Both means have the standard error sqrt(1/3).
        let margin = low.margin_below(&high);
        assert!((margin.standard_errors - 10.0 / (2.0f64 / 3.0).sqrt()).abs() < 1e-12);
        assert!((low.margin_above(0.0).standard_errors - 2.0 * 3f64.sqrt()).abs() < 1e-12);
        assert!(high.margin_below(&low).standard_errors < 0.0);
        // Equal variances and sizes: twice the degrees of freedom of one sample.
        assert_eq!(margin.needed, Margin::new(0.0, 4.0).needed);
        assert_eq!(low.paired_margin_below(&high).standard_errors, f64::INFINITY);
        assert_eq!(low.times(3.0).0, [3.0, 6.0, 9.0]);
    }

    /// Means of 2 and 12 with relative errors of `sqrt(1/3)/2` and `sqrt(1/3)/12`.
    #[test]
    fn products_and_deviations_are_compared_by_logarithms() {
        let (low, high) = (Sample(vec![1.0, 2.0, 3.0]), Sample(vec![11.0, 12.0, 13.0]));
        let margin = Sample::product_margin_below([&low, &low], [&high, &low]);
        let error = ((3.0 / 4.0 + 1.0 / 144.0) / 3.0f64).sqrt();
        assert!((margin.standard_errors - 6f64.ln() / error).abs() < 1e-12);
        let wide = low.times(4.0);
        // Two degrees of freedom each: a variance of 1/4 + 1/4.
        let margin = low.deviation_margin_below(&wide).standard_errors;
        assert!((margin - 4f64.ln() / 0.5f64.sqrt()).abs() < 1e-12);
        assert_eq!(low.similar_to(&low, 0.1), Answer::Open, "three repeats say nothing");
        let many = Sample((0..2000).map(|i| f64::from(100 + i % 10)).collect());
        assert_eq!(many.similar_to(&many.times(1.01), 0.1), Answer::Yes);
        assert_eq!(many.similar_to(&many.times(1.3), 0.1), Answer::No);
    }

    /// `P[T > needed]` for `v` degrees of freedom, by integrating Student's density, is at most
    /// `Q(5)`, and not by far. The density is proportional to `(1 + t^2/v)^(-(v+1)/2)`, so that no
    /// constant of it is needed. With `t = sqrt(v) tan(u)` the integrals are those of
    /// `cos(u)^(v-1)`.
    #[test]
    fn few_repeats_must_show_more() {
        let tail = |v: f64, t: f64| {
            const STEPS: i32 = 400_000;
            let integral = |from: f64, to: f64| {
                let step = (to - from) / f64::from(STEPS);
                (0..STEPS)
                    .map(|i| (from + (f64::from(i) + 0.5) * step).cos().powf(v - 1.0))
                    .sum::<f64>()
                    * step
            };
            let quarter = std::f64::consts::FRAC_PI_2;
            integral((t / v.sqrt()).atan(), quarter) / (2.0 * integral(0.0, quarter))
        };
        let five = 2.866_515_7e-7;
        let mut before = f64::INFINITY;
        for v in [4.0, 8.0, 19.0, 38.0, 99.0, 499.0] {
            let needed = Margin::new(0.0, v).needed;
            let probability = tail(v, needed);
            assert!(
                probability <= five && probability > 0.3 * five,
                "{v} {needed} {probability:e}"
            );
            assert!(needed < before && needed > SHOWN);
            before = needed;
        }
        assert!(!Margin::new(1e6, 1.0).suffices() && !Margin::new(1e6, 0.0).suffices());
        assert!(!Margin::new(f64::NAN, 10.0).suffices() && Margin::new(1e6, 10.0).suffices());
    }
}
