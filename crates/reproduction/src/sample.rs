//! Repeated measurements of one quantity.

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

    /// By how many standard errors the mean is above a number.
    pub(crate) fn margin_above(&self, number: f64) -> f64 {
        (self.mean() - number) / (self.deviation() / (self.0.len() as f64).sqrt())
    }

    /// By how many standard errors the mean of independent repeats is below that of another sample (Welch).
    pub(crate) fn margin_below(&self, other: &Sample) -> f64 {
        let square = |sample: &Sample| sample.deviation().powi(2) / sample.0.len() as f64;
        (other.mean() - self.mean()) / (square(self) + square(other)).sqrt()
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
        assert!((low.margin_below(&high) - 10.0 / (2.0f64 / 3.0).sqrt()).abs() < 1e-12);
        assert!((low.margin_above(0.0) - 2.0 * 3f64.sqrt()).abs() < 1e-12);
        assert!(high.margin_below(&low) < 0.0);
    }
}
