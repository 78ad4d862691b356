//! Whole numbers.

use crate::error::DenoisingError;
use crate::release::{Denoised, Denoiser, Release};

/// Values rounded to integers, on their own or so that the rounded sum of all is kept.
///
/// With the sum kept, the values are rounded down and those with the largest fractions up, as many
/// as are missing (the largest remainders): of all integer vectors with that sum one of the
/// nearest. No risk is stated: rounding is not a rule that any identity covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Integers {
    /// Whether the sum of the results is the rounded sum of the values.
    pub keep_total: bool,
}

impl Denoiser for Integers {
    fn denoise(&self, release: &Release) -> Result<Denoised, DenoisingError> {
        let values = release.values();
        let rounded = if self.keep_total {
            let mut whole: Vec<f64> = values.iter().map(|value| value.floor()).collect();
            let fractions: Vec<f64> = values.iter().map(|value| value - value.floor()).collect();
            // The fractions alone, whose sum does not lose what large values have lost.
            let missing = (fractions.iter().sum::<f64>().round() as usize).min(values.len());
            let mut order: Vec<usize> = (0..values.len()).collect();
            order.sort_by(|left, right| fractions[*right].total_cmp(&fractions[*left]));
            for index in order.into_iter().take(missing) {
                whole[index] += 1.0;
            }
            whole
        } else {
            values.iter().map(|value| value.round()).collect()
        };
        Ok(Denoised {
            // Adding zero turns a negative zero into zero.
            values: rounded.iter().map(|value| value + 0.0).collect(),
            risk_before: release.risk(),
            risk_after: None,
            assumptions: vec!["every true value is an integer".into()],
            method: "rounding to integers".into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoiseDescription;

    #[test]
    fn the_total_is_kept_if_it_is_to_be() {
        let noise = NoiseDescription::laplace(1.0).expect("valid");
        let release = Release::new(vec![0.4, 0.4, 0.4, -1.6, 2.4], noise).expect("valid");
        let plain = Integers { keep_total: false }.denoise(&release).expect("valid");
        assert_eq!(plain.values, [0.0, 0.0, 0.0, -2.0, 2.0]);
        let kept = Integers { keep_total: true }.denoise(&release).expect("valid");
        assert_eq!(kept.values.iter().sum::<f64>(), 2.0);
        let farthest = kept
            .values
            .iter()
            .zip(release.values())
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f64::max);
        assert!(farthest < 1.0, "{:?}", kept.values);
    }
}
