//! One formula at the precision it needs.

use reticent_numerics::{Big, Bounds, Enclosure, Wide};

/// A number given by a formula in exactly known constants.
pub(crate) trait Formula {
    /// The number, at the precision of `like`.
    fn at<E: Enclosure>(&self, like: &E) -> E;
}

/// The relative width at which [`sharp`] is content: a few units in the last place.
const CONTENT: f64 = 1e-15;

/// The precisions that are tried after [`Wide`], in bits. The last is enough for a loss of
/// `10^-300` next to one.
const LADDER: [u32; 4] = [192, 384, 768, 1536];

/// The formula's value to a relative `1e-15`, by raising the precision until the cancellation in it
/// does not show.
///
/// # Direction of error
/// Outward: every step of the ladder is an enclosure, and they are intersected.
pub(crate) fn sharp(formula: &impl Formula) -> Bounds {
    sharp_until(formula, |value| value.relative_width() <= CONTENT || value == Bounds::ZERO)
}

/// As [`sharp`], with another idea of what is sharp enough.
pub(crate) fn sharp_until(formula: &impl Formula, enough: impl Fn(Bounds) -> bool) -> Bounds {
    let mut value = formula.at(&Wide::ONE).bounds();
    for precision in LADDER {
        if enough(value) {
            break;
        }
        value = value.intersect(formula.at(&Big::exact(1.0, precision)).bounds());
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    struct SmallDifference;
    impl Formula for SmallDifference {
        fn at<E: Enclosure>(&self, like: &E) -> E {
            let tiny = like.exactly(2f64.powi(-200));
            ((like.exactly(1.0) + tiny).ln()) * like.exactly(2f64.powi(200))
        }
    }

    /// `2^200 ln(1 + 2^-200)`, of which 100 bits know nothing.
    #[test]
    fn precision_is_raised_where_digits_cancel() {
        let value = sharp(&SmallDifference);
        assert!(value.relative_width() < 1e-15 && value.contains(1.0), "{value:?}");
    }
}
