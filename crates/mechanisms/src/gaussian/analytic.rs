//! The least standard deviation for `(epsilon, delta)`-differential privacy.

use super::closed_form::closed_form_1;
use super::least_ratio::{Sample, least_ratio};
use super::profile::GaussianProfile;
use crate::MechanismError;
use reticent_numerics::normal_quantile::normal_isf;
use reticent_numerics::{Bounds, Enclosure};

/// The least `sigma/D` whose certified `delta(epsilon)` is at most `delta`, for `epsilon >= 0`.
///
/// # Derivation
/// `delta(epsilon)` decreases in `sigma/D` from 1 to 0, and its derivative with respect to
/// `D/sigma` is `phi(c - h)` (the other terms cancel, as `e^epsilon phi(c + h) = phi(c - h)`), so
/// that Newton's method costs nothing extra. It starts from the smaller of two upper bounds on the
/// optimum: the first closed form of Zhao et al., and what `epsilon = 0` needs.
///
/// # References
/// Balle and Wang, *Improving the Gaussian mechanism for differential privacy*, 2018, Theorem 8 and
/// Algorithm 1. Their algorithm subtracts distribution functions near 1 and so loses its way below
/// `delta` of `1e-15`; this one is certified down to `1e-300`. Their Theorem 4 is false as printed
/// (erratum B1).
pub(crate) fn analytic(epsilon: f64, delta: f64) -> Result<f64, MechanismError> {
    let without_loss = ratio_without_loss(delta).estimate();
    let start = if epsilon == 0.0 {
        without_loss
    } else {
        without_loss.min(closed_form_1(epsilon, delta).estimate())
    };
    least_ratio("the Gaussian mechanism", delta, start, |ratio| {
        let point = GaussianProfile::of_quotient(ratio, 1.0).at(epsilon);
        Sample { value: point.delta(), slope: -point.loss_deviation() * point.density().estimate() }
    })
}

/// `sigma/D` at `epsilon = 0`, exactly: `1/(2 PhiInv((1 + delta)/2))`.
///
/// `delta(0) = Phi(h) - Phi(-h) = 2 Phi(h) - 1`. Theorem 2 of Balle and Wang has `1/(2 delta)`,
/// larger by `sqrt(2 pi)/2 = 1.25` for small `delta`.
fn ratio_without_loss(delta: f64) -> Bounds {
    if delta < 1e-8 {
        // 2 Phi(h) - 1 = 2 phi(0) h (1 - h^2/6 + ...), and h < 1.3e-8.
        let root_two_pi = Bounds::ZERO.pi().times_power_of_two(1).sqrt();
        let slack = Bounds::new(1.0 - 1e-16, 1.0);
        return slack / (Bounds::exact(delta) * root_two_pi);
    }
    Bounds::exact(0.5) / normal_isf((Bounds::ONE - Bounds::exact(delta)).times_power_of_two(-1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_loss_the_search_finds_the_closed_form() {
        for delta in [1e-300, 1e-100, 1e-15, 0.9e-8, 1.1e-8, 1e-3, 0.4, 0.999_999] {
            let (found, exact) =
                (analytic(0.0, delta).expect("certified"), ratio_without_loss(delta));
            // Where delta is not tiny, the quantile near one half carries the rounding of (1 -
            // delta)/2.
            let tolerance = if delta < 1e-3 && delta > 1e-8 { 1e-7 } else { 1e-12 };
            assert!(
                (found / exact.estimate() - 1.0).abs() < tolerance,
                "{delta}: {found} {exact:?}"
            );
            assert!(found >= exact.lower(), "{delta}");
        }
    }
}
