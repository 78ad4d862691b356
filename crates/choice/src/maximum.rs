//! The expected maximum of several errors.

use crate::error_law::ErrorLaw;
use reticent_numerics::{Bounds, Enclosure};

/// The pieces of the integral.
const PIECES: u32 = 3000;
/// The most integers that are added up.
const TERMS: u32 = 200_000;

/// `E max |X_i|` over `k` independent copies: the integral of `1 - G(t)^k` with
/// `G(t) = P[|X| <= t]`, or its sum over the integers from zero.
///
/// # Method
/// `G` rises and, where the density falls, is concave: on a piece it is above its chord, and below
/// the chords of both neighbours, continued. The integral of the `k`-th power of a line from `p` to
/// `q` over a width `h` is `h (q^(k+1) - p^(k+1))/((k+1)(q - p))`. Beyond the last piece lies at
/// most `k E(|X| - t)_+`.
pub(crate) fn expected_maximum(law: &dyn ErrorLaw, copies: u32) -> Bounds {
    if copies == 1 {
        return law.excess(0.0);
    }
    if law.is_integer() {
        return over_integers(law, copies);
    }
    let Some(far) = far_end(law, copies) else { return Bounds::new(0.0, f64::INFINITY) };
    // Finer towards zero by a square: both the middle of a single law and its far tail are met.
    let point = |i: u32| far * (f64::from(i) / f64::from(PIECES)).powi(2);
    let points: Vec<(f64, Bounds)> = (0..=PIECES).map(point).map(|t| (t, within(law, t))).collect();
    let slope = |i: usize| {
        let ((from, low), (to, high)) = (points[i], points[i + 1]);
        (high - low) / (Bounds::exact(to) - Bounds::exact(from))
    };
    let last = points.len() - 2;
    let mut powers = Bounds::ZERO;
    for i in 0..=last {
        let ((from, low), (to, high)) = (points[i], points[i + 1]);
        let width = Bounds::exact(to) - Bounds::exact(from);
        let least = width * mean_power(low, high, copies);
        // On the left half below the chord before the piece, continued; on the right half below the
        // one after it.
        let half = width.times_power_of_two(-1);
        let ends = [
            if i > 0 { low + slope(i - 1) * half } else { high },
            if i < last { high - slope(i + 1) * half } else { high },
        ];
        let [left_end, right_end] = ends.map(|end| Bounds::exact(end.upper()));
        let left = if i > 0 { mean_power(low, left_end, copies) } else { high.powi(copies) };
        let right = if i < last { mean_power(right_end, high, copies) } else { high.powi(copies) };
        let most = half * left + half * right;
        powers = powers
            + Bounds::new(least.lower(), most.upper().min((width * high.powi(copies)).upper()));
    }
    let rest = (Bounds::exact(f64::from(copies)) * law.excess(far)).upper();
    (Bounds::exact(far) - powers).clamp(0.0, f64::INFINITY) + Bounds::new(0.0, rest)
}

fn within(law: &dyn ErrorLaw, t: f64) -> Bounds {
    (Bounds::ONE - law.exceedance(t)).clamp(0.0, 1.0)
}

/// The mean of the `k`-th power over a line from `p` to `q`: `sum of p^i q^(k-i)/(k+1)`, as a
/// quotient where the ends are apart, and by its ends where not.
fn mean_power(p: Bounds, q: Bounds, k: u32) -> Bounds {
    let ends = p.powi(k).hull(q.powi(k));
    let gap = q - p;
    if gap.contains(0.0) {
        return ends;
    }
    let quotient = (q.powi(k + 1) - p.powi(k + 1)) / (Bounds::exact(f64::from(k) + 1.0) * gap);
    // Rounding decides which is narrower.
    if quotient.is_finite() { quotient.intersect(ends) } else { ends }
}

/// Where one copy in a million million is left of all of them; `None` if there is no such point.
fn far_end(law: &dyn ErrorLaw, copies: u32) -> Option<f64> {
    let mut t = law.mean_square().estimate().sqrt();
    if !(t.is_finite() && t > 0.0) {
        return None;
    }
    for _ in 0..200 {
        if law.exceedance(t).upper() * f64::from(copies) <= 1e-13 {
            return Some(t);
        }
        t *= 1.25;
    }
    None
}

fn over_integers(law: &dyn ErrorLaw, copies: u32) -> Bounds {
    let mut sum = Bounds::ZERO;
    let mut n = 0.0;
    for _ in 0..TERMS {
        // 1 - (1 - e)^k without cancellation.
        let one_beyond = law.exceedance(n).clamp(0.0, 1.0);
        let some = if one_beyond.upper() < 1.0 {
            -((-one_beyond).ln_1p() * Bounds::exact(f64::from(copies))).exp_m1()
        } else {
            Bounds::ONE - within(law, n).powi(copies)
        };
        sum = sum + some.clamp(0.0, 1.0);
        n += 1.0;
        if some.upper() <= 1e-15 * sum.lower() {
            break;
        }
    }
    let rest = (Bounds::exact(f64::from(copies)) * law.excess(n)).upper();
    sum + Bounds::new(0.0, rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error_law::Additive;
    use crate::integer_law::Rounded;
    use reticent_mechanisms::{Delta, Distance, Epsilon, GaussianMechanism, GaussianMethod};
    use reticent_mechanisms::{Laplace, Mechanism, Neighbours, Sensitivity};

    fn laplace(epsilon: f64) -> Additive<reticent_noise::Laplace> {
        let one = Sensitivity::scalar(1.0, Neighbours::AddRemove).expect("valid");
        let mechanism =
            Laplace::calibrate(&one, Epsilon::new(epsilon).expect("valid")).expect("valid");
        Additive::new(
            reticent_noise::Laplace,
            mechanism.scale(),
            &mechanism.errors().expect("additive"),
        )
    }

    #[test]
    fn the_maximum_of_laplace_errors_is_a_harmonic_number() {
        for copies in [1u32, 2, 10, 1000] {
            let harmonic: f64 = (1..=copies).map(|i| 1.0 / f64::from(i)).sum();
            let maximum = expected_maximum(&laplace(0.5), copies);
            assert!(maximum.contains(2.0 * harmonic), "{copies}: {maximum:?} {}", 2.0 * harmonic);
            assert!(maximum.relative_width() < 1e-4, "{copies}: {maximum:?}");
        }
    }

    #[test]
    fn two_gaussian_errors_have_the_known_maximum() {
        let one = Distance::new(1.0).expect("valid");
        let (epsilon, delta) =
            (Epsilon::new(1.0).expect("valid"), Delta::new(1e-6).expect("valid"));
        let mechanism =
            GaussianMechanism::calibrate(GaussianMethod::Analytic, &one.into(), (epsilon, delta))
                .expect("valid");
        let law = Additive::new(
            reticent_noise::Gaussian,
            mechanism.scale(),
            &mechanism.errors().expect("additive"),
        );
        // max(|X|, |Y|) = (|X + Y| + |X - Y|)/2, and X + Y, X - Y have the mean absolute value
        // 2/sqrt(pi) each.
        let maximum = expected_maximum(&law, 2).estimate() / mechanism.scale();
        assert!((maximum - 2.0 / std::f64::consts::PI.sqrt()).abs() < 1e-4, "{maximum}");
    }

    #[test]
    fn integers_are_added_up() {
        let law = Rounded::new(Box::new(laplace(0.5)), Bounds::WHOLE_LINE);
        let plain: f64 =
            (0..2000).map(|n| 1.0 - (1.0 - (-0.5 * (f64::from(n) + 0.5)).exp()).powi(10)).sum();
        let maximum = expected_maximum(&law, 10);
        assert!(
            (maximum.estimate() / plain - 1.0).abs() < 1e-12 && maximum.relative_width() < 1e-10,
            "{maximum:?}"
        );
    }
}
