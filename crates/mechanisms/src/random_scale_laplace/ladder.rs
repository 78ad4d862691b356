//! One formula, climbed up the precisions until it is sharp.

use reticent_numerics::{Big, Bounds, Enclosure, Wide};

/// A real number, as a formula that can be evaluated at any precision.
pub(super) trait Formula {
    /// The number, in the kind of enclosure that `like` is.
    fn at<E: Enclosure>(&self, like: &E) -> E;
}

/// The bits that are tried after the 100 of [`Wide`].
const PRECISIONS: [u32; 4] = [256, 512, 1024, 4096];

/// A relative width that `f64` bounds of a sharp result have: a few units in the last place.
const SHARP: f64 = 1e-15;

/// Bounds on the number, each a proof by itself; higher precisions are tried until `enough` is
/// satisfied.
pub(super) fn evaluate_until(formula: &impl Formula, enough: impl Fn(Bounds) -> bool) -> Bounds {
    let mut bounds = formula.at(&Wide::ONE).bounds();
    for precision in PRECISIONS {
        if enough(bounds) {
            break;
        }
        bounds = bounds.intersect(formula.at(&Big::exact(1.0, precision)).bounds());
    }
    bounds
}

/// Bounds on a number other than zero, sharp to its last digits.
pub(super) fn evaluate(formula: &impl Formula) -> Bounds {
    evaluate_until(formula, |bounds| bounds.relative_width() <= SHARP)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `exp(x) - 1 - x`, which cancels to `x^2/2`.
    struct Cancelling(f64);

    impl Formula for Cancelling {
        fn at<E: Enclosure>(&self, like: &E) -> E {
            let x = like.exactly(self.0);
            x.clone().exp() - like.exactly(1.0) - x
        }
    }

    #[test]
    fn a_result_is_sharp_however_much_cancels() {
        for exponent in [-3, -20, -60, -200] {
            let x = 2f64.powi(exponent);
            let bounds = evaluate(&Cancelling(x));
            assert!(bounds.relative_width() < 1e-15, "{exponent}: {bounds:?}");
            // x^2/2 < exp(x) - 1 - x < x^2/2 exp(x)
            assert!(
                bounds.upper() >= 0.5 * x * x && bounds.lower() <= 0.5 * x * x * x.exp().next_up(),
                "{exponent}"
            );
        }
    }
}
