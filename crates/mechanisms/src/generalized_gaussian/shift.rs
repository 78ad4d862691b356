//! One coordinate that moves: the privacy loss of generalized Gaussian noise under a shift.

use super::order::Order;
use crate::sharp::{Formula, sharp, sharp_until};
use reticent_numerics::root::{Direction, Range, monotone_root};
use reticent_numerics::rounding::{add_up, exp_m1_up, mul_up, sub_up};
use reticent_numerics::{Bounds, Enclosure, Wide};

/// A coordinate whose true value moves by `D` under noise of scale `b`.
///
/// Everything is in units of `b`, with `u = D/b`. At noise `x` the privacy loss is
/// `L(x) = |x + u|^p - |x|^p`; it is odd around `-u/2`, that is `L(-u - x) = -L(x)`.
///
/// # The worst shift is the largest
/// For any symmetric unimodal density `f`, `delta_u(eps) = integral of (f(x) - e^eps f(x+u))_+`,
/// and the integrand is positive for `x > -u/2` only. So its derivative in `u`,
/// `-e^eps integral_A f'(x + u) dx` over that set `A`, is not negative, because `x + u > 0` there.
/// Moves of less than `D` are therefore covered by the move of `D`, for every order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shift {
    pub(crate) order: Order,
    pub(crate) sensitivity: f64,
    pub(crate) scale: f64,
}

/// Beyond `|x|^p` of this, `e^700` times the tail is below a relative `2^-60` of one: by far.
const CERTAIN: f64 = 1600.0;

/// Beyond `|x|^p` of this, the tail is below every `f64` (it is at most `y^4 e^-y` for every order
/// from 0.2 on).
const NEVER: f64 = 900.0;

impl Shift {
    /// `u = D/b`.
    pub(crate) fn ratio<E: Enclosure>(&self, like: &E) -> E {
        like.exactly(self.sensitivity) / like.exactly(self.scale)
    }

    /// `L(x) = |x + u|^p - |x|^p`.
    pub(crate) fn loss<E: Enclosure>(&self, x: &E) -> E {
        self.order.power(&(x.clone() + self.ratio(x))) - self.order.power(x)
    }

    /// `L(x)` at a number, to a relative `1e-15` of the larger of itself and `scale_of_interest`.
    pub(crate) fn loss_at(&self, x: f64, scale_of_interest: f64) -> Bounds {
        let size =
            |value: Bounds| value.upper().abs().max(value.lower().abs()).max(scale_of_interest);
        sharp_until(&LossAt { shift: self, x }, |value| value.width() <= 1e-15 * size(value))
    }

    /// Two neighbouring numbers between which the loss passes `epsilon`, for orders above 1, where
    /// it increases. `None` where it does so too far out for any probability to be left there.
    pub(crate) fn threshold(&self, epsilon: f64) -> Option<(f64, f64)> {
        let u = self.ratio(&Bounds::ONE);
        if epsilon < 0.0 {
            // L(-u - x) = -L(x).
            let (low, high) = self.threshold(-epsilon)?;
            let mirrored = -u - Bounds::new(low, high);
            return Some((mirrored.lower(), mirrored.upper()));
        }
        if epsilon == 0.0 {
            let middle = -u.times_power_of_two(-1);
            return Some((middle.lower(), middle.upper()));
        }
        if self.order.get() == 2.0 {
            // (x + u)^2 - x^2 = u (2 x + u)
            let u = self.ratio(&Wide::ONE);
            let x = (Wide::exact(epsilon) / u - u).times_power_of_two(-1).bounds();
            return (x.lower() < self.order.root_above(NEVER)).then_some((x.lower(), x.upper()));
        }
        let (least, most) = (-0.5 * u.upper(), self.order.root_above(NEVER));
        self.crossing(epsilon, least, most, Direction::Increasing)
    }

    /// The bracket of `L = epsilon` in a range where `L` is monotone; the whole range where no sign
    /// could be proved.
    fn crossing(
        &self,
        epsilon: f64,
        least: f64,
        most: f64,
        direction: Direction,
    ) -> Option<(f64, f64)> {
        let excess = |x: f64| self.loss_at(x, epsilon) - Bounds::exact(epsilon);
        let at_most = excess(most);
        let never_reached = match direction {
            Direction::Increasing => at_most.upper() <= 0.0,
            Direction::Decreasing => at_most.lower() >= 0.0,
        };
        if never_reached {
            return None;
        }
        let bracket = monotone_root(excess, Range::between(least, most), direction).ok();
        Some(bracket.map_or((least, most), |bracket| (bracket.lower(), bracket.upper())))
    }

    /// The privacy profile: the least `delta` for an `epsilon` of any sign.
    ///
    /// # Formula
    /// For orders above 1 the loss increases, so the outputs that lose more than `epsilon` are
    /// those beyond the `t` with `L(t) = epsilon`, which may be negative, and
    /// `delta = P[X > t] - e^epsilon P[X > t + u]`. For orders below 1 they are those between two
    /// such points. Order 1 is Laplace, `1 - exp((epsilon - u)/2)`. For a negative epsilon,
    /// `delta(-e) = 1 - e^-e + e^-e delta(e)`.
    ///
    /// # Direction of error
    /// Outward. As `delta` is the largest of these differences over all `t`, an error in `t` counts
    /// by its square; it is bounded in [`Shift::excess_beside`].
    pub(crate) fn delta(&self, epsilon: f64) -> Bounds {
        if epsilon < 0.0 {
            let reverse = self.delta(-epsilon);
            let factor = Bounds::exact(epsilon).exp();
            return (-Bounds::exact(epsilon).exp_m1() + factor * reverse).clamp(0.0, 1.0);
        }
        let half = self.ratio(&Bounds::ONE).times_power_of_two(-1);
        if half.lower() >= self.order.root_above(CERTAIN) {
            return Bounds::new(1.0f64.next_down(), 1.0);
        }
        let order = self.order.get();
        if order == 1.0 {
            let profile = sharp(&LaplaceProfile { shift: self, epsilon });
            return Bounds::new(profile.lower().max(0.0), profile.upper().max(0.0)).clamp(0.0, 1.0);
        }
        if order < 1.0 {
            return self.delta_between_two_thresholds(epsilon);
        }
        let Some((low, high)) = self.threshold(epsilon) else {
            return Bounds::new(0.0, f64::from_bits(1));
        };
        let at_low = sharp(&Difference { shift: self, epsilon, from: low, to: None });
        let most = add_up(at_low.upper(), self.excess_beside(epsilon, low, high));
        Bounds::new(at_low.lower().max(0.0), most).clamp(0.0, 1.0)
    }

    fn delta_between_two_thresholds(&self, epsilon: f64) -> Bounds {
        let most = sharp(&LossAt { shift: self, x: 0.0 });
        if most.upper() <= epsilon {
            return Bounds::ZERO;
        }
        let far = self.order.root_above(NEVER);
        let least = -0.5 * self.ratio(&Bounds::ONE).upper();
        let (low, low_end) = match epsilon {
            0.0 => (least, -0.5 * self.ratio(&Bounds::ONE).lower()),
            _ => self.crossing(epsilon, least, 0.0, Direction::Increasing).unwrap_or((least, 0.0)),
        };
        // Beyond `far` nothing is left that a f64 could show.
        let (high_start, high) =
            self.crossing(epsilon, 0.0, far, Direction::Decreasing).unwrap_or((far, far));
        let inside = sharp(&Difference { shift: self, epsilon, from: low, to: Some(high) });
        let excess = add_up(
            self.excess_beside(epsilon, low, low_end),
            self.excess_beside(epsilon, high, high_start),
        );
        let most = add_up(inside.upper(), add_up(excess, f64::from_bits(1)));
        Bounds::new(inside.lower().max(0.0), most).clamp(0.0, 1.0)
    }

    /// What is lost by cutting at `cut` instead of at the threshold, which lies between it and
    /// `other`.
    ///
    /// Between the cut and the threshold the integrand is `f(x) (1 - e^(epsilon - L(x)))`, whose
    /// magnitude is at most the largest density times `e^|epsilon - L(cut)| - 1`.
    fn excess_beside(&self, epsilon: f64, cut: f64, other: f64) -> f64 {
        let width = sub_up(cut.max(other), cut.min(other));
        if width == 0.0 {
            return 0.0;
        }
        let loss = (self.loss_at(cut, epsilon) - Bounds::exact(epsilon)).abs().upper();
        let density = self.order.density(&Bounds::new(cut.min(other), cut.max(other))).upper();
        mul_up(mul_up(width, density), exp_m1_up(loss))
    }

    /// `P[|L| > epsilon]`, the exact two-sided probabilistic `delta`, for orders above 1:
    /// `P[X > t] + P[X > t + u]`.
    pub(crate) fn two_sided(&self, epsilon: f64) -> Bounds {
        let Some((low, high)) = self.threshold(epsilon) else {
            return Bounds::new(0.0, f64::from_bits(1));
        };
        let at = |t: f64| sharp(&BothTails { shift: self, t });
        // Both tails fall in t.
        at(high).hull(at(low)).clamp(0.0, 1.0)
    }

    /// `P[(|X| + u)^p - |X|^p > epsilon]`, the `delta` of Corollary 9 with the power of the
    /// sensitivity restored (erratum L2).
    pub(crate) fn corollary_9(&self, epsilon: f64) -> Bounds {
        if sharp(&LossAt { shift: self, x: 0.0 }).lower() >= epsilon {
            return Bounds::ONE;
        }
        let Some((low, high)) = self.threshold(epsilon) else {
            return Bounds::new(0.0, f64::from_bits(1));
        };
        let at = |t: f64| sharp(&OneTail { shift: self, t: t.max(0.0) });
        at(high).hull(at(low)).times_power_of_two(1).clamp(0.0, 1.0)
    }
}

struct LossAt<'a> {
    shift: &'a Shift,
    x: f64,
}

impl Formula for LossAt<'_> {
    fn at<E: Enclosure>(&self, like: &E) -> E {
        self.shift.loss(&like.exactly(self.x))
    }
}

/// `1 - exp((epsilon - u) / 2)`.
struct LaplaceProfile<'a> {
    shift: &'a Shift,
    epsilon: f64,
}

impl Formula for LaplaceProfile<'_> {
    fn at<E: Enclosure>(&self, like: &E) -> E {
        -((like.exactly(self.epsilon) - self.shift.ratio(like)).times_power_of_two(-1)).exp_m1()
    }
}

/// `P[from < X <= to] - e^epsilon P[from < X - u <= to]`.
struct Difference<'a> {
    shift: &'a Shift,
    epsilon: f64,
    from: f64,
    to: Option<f64>,
}

impl Formula for Difference<'_> {
    fn at<E: Enclosure>(&self, like: &E) -> E {
        let beyond = |t: f64| {
            let t = like.exactly(t);
            let moved = t.clone() + self.shift.ratio(like);
            (self.shift.order.tail(&t), self.shift.order.tail(&moved))
        };
        let (mut stays, mut moves) = beyond(self.from);
        if let Some(to) = self.to {
            let (far_stays, far_moves) = beyond(to);
            stays = stays - far_stays;
            moves = moves - far_moves;
        }
        stays - like.exactly(self.epsilon).exp() * moves
    }
}

struct OneTail<'a> {
    shift: &'a Shift,
    t: f64,
}

impl Formula for OneTail<'_> {
    fn at<E: Enclosure>(&self, like: &E) -> E {
        self.shift.order.tail(&like.exactly(self.t))
    }
}

struct BothTails<'a> {
    shift: &'a Shift,
    t: f64,
}

impl Formula for BothTails<'_> {
    fn at<E: Enclosure>(&self, like: &E) -> E {
        let t = like.exactly(self.t);
        self.shift.order.tail(&t) + self.shift.order.tail(&(t.clone() + self.shift.ratio(like)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_numerics::quadrature::{Integrand, Options, integrate};

    struct Violation<'a> {
        shift: &'a Shift,
        epsilon: f64,
    }

    impl Integrand for Violation<'_> {
        fn at<E: Enclosure>(&self, x: &E) -> E {
            let order = self.shift.order.get();
            let magnitude = |x: E| if x.bounds().upper() <= 0.0 { -x } else { x };
            let density = |x: E| (-magnitude(x).pow(order)).exp();
            density(x.clone())
                - x.exactly(self.epsilon).exp() * density(x.clone() + self.shift.ratio(x))
        }
    }

    /// The hockey-stick divergence straight from the density: no incomplete gamma function, no
    /// threshold but an estimate of where the integrand changes sign, an error in which counts by
    /// its square.
    fn by_quadrature(shift: &Shift, epsilon: f64) -> Bounds {
        let u = shift.sensitivity / shift.scale;
        let excess = |x: f64| {
            (x + u).abs().powf(shift.order.get()) - x.abs().powf(shift.order.get()) - epsilon
        };
        let (mut low, mut high) = (-0.5 * u, 60.0);
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if excess(middle) < 0.0 { low = middle } else { high = middle }
        }
        let violation = Violation { shift, epsilon };
        let end = shift.order.root_above(low.abs().powf(shift.order.get()) + 60.0);
        let part = |from: f64, to: f64| {
            let options = Options { pieces: 4000, ..Options::default() };
            integrate(&violation, &Bounds::ONE, from, to, &options)
        };
        let integral = if low < 0.0 { part(low, 0.0) + part(0.0, end) } else { part(low, end) };
        integral / shift.order.mass(&Bounds::ONE)
    }

    #[test]
    fn the_profile_is_the_integral_of_the_positive_part() {
        for order in [1.3, 2.0, 2.5, 3.0, 4.0, 7.0] {
            for scale in [0.4, 1.0, 6.0] {
                for epsilon in [0.0, 0.3, 1.0, 4.0] {
                    let shift =
                        Shift { order: Order::new(order).expect("valid"), sensitivity: 1.0, scale };
                    let (formula, integral) =
                        (shift.delta(epsilon), by_quadrature(&shift, epsilon));
                    assert!(
                        formula.relative_width() < 1e-13 || formula.upper() < 1e-300,
                        "{shift:?} {epsilon} {formula:?}"
                    );
                    // The tail that the integral leaves out is below e^-60 of the density at the
                    // threshold.
                    let difference = (formula - integral).abs().lower();
                    assert!(
                        difference <= 1e-11 * formula.upper() + 1e-26,
                        "{shift:?} {epsilon}: {formula:?} {integral:?}"
                    );
                }
            }
        }
    }

    /// Orders below 1 have two thresholds; here the positive part is summed on a fine grid, in
    /// plain f64.
    #[test]
    fn the_profile_below_order_one_is_the_sum_of_the_positive_part() {
        for (order, scale, epsilon) in
            [(0.5, 1.0, 0.2f64), (0.5, 0.3, 0.9), (0.8, 2.0, 0.1), (0.7, 1.0, 0.0)]
        {
            let shift = Shift { order: Order::new(order).expect("valid"), sensitivity: 1.0, scale };
            let u = 1.0 / scale;
            let density = |x: f64| (-x.abs().powf(order)).exp();
            // x = y^3 resolves the cusp at zero and reaches far.
            let (mut sum, step) = (0.0, 1e-4);
            for i in -100_000..200_000 {
                let y = (f64::from(i) + 0.5) * step;
                let x = y * y * y;
                sum += (density(x) - epsilon.exp() * density(x + u)).max(0.0) * 3.0 * y * y * step;
            }
            let expected = sum / shift.order.mass(&Bounds::ONE).estimate();
            let formula = shift.delta(epsilon);
            assert!(
                (formula.estimate() / expected - 1.0).abs() < 2e-4,
                "{shift:?} {formula:?} {expected}"
            );
            assert!(formula.relative_width() < 1e-10, "{formula:?}");
        }
    }

    #[test]
    fn far_beyond_what_can_be_seen_the_profile_is_zero_or_one() {
        for order in [0.2, 0.9, 1.0, 1.001, 2.0, 30.0, 100.0] {
            let order = Order::new(order).expect("valid");
            for (sensitivity, scale) in
                [(1.0, 1e100), (1e100, 1e-100), (1.0, 1e-3), (1e-100, 1e100)]
            {
                for epsilon in [0.0, 1e-300, 1.0, 700.0] {
                    let delta = Shift { order, sensitivity, scale }.delta(epsilon);
                    assert!(
                        delta.lower() >= 0.0 && delta.upper() <= 1.0,
                        "{order:?} {sensitivity} {scale} {epsilon} {delta:?}"
                    );
                }
            }
        }
    }
}
