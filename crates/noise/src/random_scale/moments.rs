//! Lists of `E[T^j exp(-x T)] / j!`, the Taylor coefficients from which moments of every order are
//! made.

use reticent_numerics::Enclosure;

/// `weight t^j / j!` for `j = 0 ..= order`.
pub(super) fn scaled_powers<E: Enclosure>(order: usize, t: &E, weight: E) -> Vec<E> {
    let mut powers = vec![weight];
    for j in 1..=order {
        powers.push(powers[j - 1].clone() * t.clone() / t.exactly(j as f64));
    }
    powers
}

/// The coefficients of the sum of two independent variables: the Cauchy product, cut to the length
/// of the operands.
pub(super) fn product<E: Enclosure>(a: &[E], b: &[E]) -> Vec<E> {
    (0..a.len().min(b.len()))
        .map(|j| {
            (1..=j)
                .fold(a[0].clone() * b[j].clone(), |sum, i| sum + a[i].clone() * b[j - i].clone())
        })
        .collect()
}

/// Arguments up to this, or up to twice the order, are small enough for a power series.
const SERIES_UP_TO: f64 = 100.0;

/// `p_j = m_j(h) / j!` with `m_j(h) = ∫_0^1 s^j exp(-h s) ds`, for `j = 0 ..= order` and `h >= 0`.
///
/// Integration by parts gives `p_(j-1) = h p_j + exp(-h) / j!`, which has no cancellation
/// downwards. It starts with `p_n = exp(-h) sum_i h^i / (n+1+i)!` (Kummer's transformation, also
/// without cancellation). For a large `h` the same runs upwards from `p_0 = (1 - exp(-h)) / h`,
/// where what is subtracted is small.
pub(super) fn exponential_moments<E: Enclosure>(order: usize, h: &E) -> Vec<E> {
    let decay = scaled_powers(order + 1, &h.exactly(1.0), (-h.clone()).exp());
    if h.bounds().lower() > SERIES_UP_TO.max(2.0 * order as f64) {
        let mut moments = vec![(h.exactly(1.0) - decay[0].clone()) / h.clone()];
        for j in 1..=order {
            moments.push((moments[j - 1].clone() - decay[j].clone()) / h.clone());
        }
        return moments;
    }
    let mut moments = vec![decay[order + 1].clone() * kummer_sum(order, h)];
    for j in (1..=order).rev() {
        let next = h.clone() * moments[order - j].clone() + decay[j].clone();
        moments.push(next);
    }
    moments.reverse();
    moments
}

/// `sum_i h^i / ((n+2)(n+3)...(n+1+i))`. Once the quotient of terms, `h/(n+2+i)`, is at most a
/// half, the rest lies between zero and the last term.
fn kummer_sum<E: Enclosure>(order: usize, h: &E) -> E {
    let most = h.bounds().upper();
    let negligible = 2f64.powi(-(h.precision().min(1000) as i32) - 4);
    let mut term = h.exactly(1.0);
    let mut sum = term.clone();
    let mut divisor = (order + 2) as f64;
    loop {
        term = term * h.clone() / h.exactly(divisor);
        sum = sum + term.clone();
        divisor += 1.0;
        let converged = term.bounds().upper() <= negligible * sum.bounds().lower() || divisor > 1e5;
        if 2.0 * most <= divisor && converged {
            return sum + h.exactly(0.0).hull(term);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random_scale::{
        Combined, GammaScale, InverseScale, TruncatedGaussianScale, TwoPointScale, UniformScale,
    };
    use reticent_numerics::quadrature::{Integrand, Options, integrate};
    use reticent_numerics::{Big, Bounds, Wide};

    struct Moment {
        order: u32,
        h: f64,
    }

    impl Integrand for Moment {
        fn at<E: Enclosure>(&self, s: &E) -> E {
            s.clone().powi(self.order) * (-(s.exactly(self.h) * s.clone())).exp()
        }
    }

    #[test]
    fn moments_of_the_uniform_distribution_agree_with_quadrature() {
        for h in [0.0, 1e-9, 0.3, 1.0, 7.5, 99.0, 101.0, 3000.0] {
            let moments = exponential_moments(9, &Wide::exact(h));
            let mut factorial = 1.0;
            for (order, moment) in (0u32..).zip(moments) {
                factorial *= f64::from(order.max(1));
                let integral =
                    integrate(&Moment { order, h }, &Bounds::ZERO, 0.0, 1.0, &Options::default());
                let expected = integral / Bounds::exact(factorial);
                let got = moment.bounds();
                assert!(got.relative_width() < 1e-14, "m_{order}({h}) = {got:?}");
                assert!(
                    got.lower() <= expected.upper() && expected.lower() <= got.upper(),
                    "m_{order}({h}): {got:?} {expected:?}"
                );
            }
        }
    }

    fn families() -> Vec<InverseScale> {
        let gamma = GammaScale::new(1.7, 0.6).expect("valid");
        let uniform = UniformScale::new(0.5, 9.0).expect("valid");
        let normal = TruncatedGaussianScale::new(-1.0, 3.0, 0.5, 20.0).expect("valid");
        let parts = vec![(0.5, gamma.into()), (1.0, uniform.into()), (0.25, normal.into())];
        vec![
            TwoPointScale::new(1.0, 3.0, 0.3).expect("valid").into(),
            gamma.into(),
            uniform.into(),
            UniformScale::new(0.0, 2.0).expect("valid").into(),
            normal.into(),
            TruncatedGaussianScale::new(4.0, 2.0, 0.0, 12.0).expect("valid").into(),
            Combined::new(parts).expect("valid").into(),
        ]
    }

    #[test]
    fn the_first_two_moments_are_the_transform_and_its_derivative() {
        for family in families() {
            for x in [0.0, 0.01, 1.0, 12.0, 300.0] {
                let x = Wide::exact(x);
                let moments = family.tilted_moments(3, &x);
                for (moment, known) in
                    moments.iter().zip([family.transform(&x), family.tilted_mean(&x)])
                {
                    assert!(
                        moment.compare(&known).is_none_or(|order| order.is_eq()),
                        "{family:?} at {x:?}"
                    );
                    assert!(
                        moment.bounds().relative_width() < 1e-15
                            && known.bounds().relative_width() < 1e-15,
                        "{family:?} at {x:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_moments_are_the_taylor_coefficients_of_the_transform() {
        // sum_j (-s)^j E[T^j exp(-x T)]/j! = E[exp(-(x+s) T)], with a remainder of at most the next
        // term.
        for family in families() {
            let (x, step) = (Big::exact(1.5, 400), 0.03125);
            let moments = family.tilted_moments(40, &x);
            let shift = x.exactly(-step);
            let sum = moments
                .iter()
                .rev()
                .fold(x.exactly(0.0), |sum, moment| sum * shift.clone() + moment.clone());
            let difference = (sum - family.transform(&(x.clone() + x.exactly(step)))).bounds();
            let next = moments[40].bounds().upper() * step.powi(40);
            assert!(
                difference.abs().upper() <= next,
                "{family:?}: {difference:?} against {next:e}"
            );
            assert!(next < 1e-12, "{family:?}: no power");
        }
    }

    #[test]
    fn dividing_the_inverse_scale_stretches_the_noise() {
        for family in families() {
            // Powers of two are not rounded, so the two sides are equal.
            let stretched = family.divided(4.0).expect("within range");
            let (a, b) =
                (stretched.transform(&Wide::exact(6.0)), family.transform(&Wide::exact(1.5)));
            assert!((a - b).bounds().contains(0.0), "{family:?}");
            assert_eq!(stretched.least(), family.least() / 4.0, "{family:?}");
            assert!(
                family.divided(1e300).is_err() && family.divided(f64::NAN).is_err(),
                "{family:?}"
            );
        }
    }
}
