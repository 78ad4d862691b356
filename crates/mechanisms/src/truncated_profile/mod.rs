//! The privacy profile of truncated generalized Gaussian noise: a certified maximum over the
//! private location.
//!
//! In units of the scale, with `r = R/b`, `u = D/b`, the output's density is
//! `f_s(y) = exp(-|y - s|^p) / Z(s)` on `[0, r]`, and `S_s(y) = P_s[Y > y]`.
//!
//! # One number to search
//! For `p >= 1` the ratio `f_t(y) / f_s(y)`, `t > s`, does not fall with `y`. So the outputs that
//! lose more than `epsilon` in a move from `t` to `s` are those beyond a point,
//! `delta(s, t) = max_y S_t(y) - e^epsilon S_s(y)`, and `S_s(y)` increases with `s`. Hence
//! `delta(s, t)` grows with `t` and falls with `s`: whatever moves less than `D` can be moved
//! further, up to a bound or down from there, and the whole `D` is the worst move. The reverse
//! moves are mirror images. What is left is the largest `g(s) = delta(s, s + u)` for `s` from 0 to
//! `r - u`.
//!
//! # One location
//! Cut at `y = s + x`, where `q(x) = |x|^p - |x - u|^p` passes `epsilon - ln(Z(s) / Z(t))`. Any cut
//! gives a lower bound; next to the best one the integrand nearly vanishes, so that an error in `x`
//! counts by its square.
//!
//! # All locations
//! `x` being where the maximum is, only the explicit `s` counts in the derivative (envelope
//! theorem), and with `A_s = S_s(s + x)`
//!
//! `g'(s) = e^epsilon (f_s(r) (1 - A_s) + f_s(0) A_s) - (f_t(r) (1 - A_t) + f_t(0) A_t)`,
//!
//! where nothing exceeds `epsilon` it is zero. On a piece of locations every factor is enclosed by
//! its values at the ends: `A_s` falls with `s` and `x`, `f_s(0)` falls with `s`, `f_s(r)`
//! increases, and `Z(s)` is concave and symmetric. A piece on which `g'` has one sign has its
//! maximum at an end; on others, from slopes between `-a` and `b` and the values at the ends,
//! `g <= (b g_2 + a g_1 + a b h) / (a + b)` for a width `h`. The most guaranteeing piece is split
//! first; the slopes are narrowed by a second form and by the curvature, see [`slope`], and by
//! Taylor series, see [`series`]. Far from both bounds all densities at the bounds vanish, and the
//! pieces are flat at once. The largest is at neither end in general.

mod series;
mod slope;
mod tails;

use crate::bounded_query::Interval;
use crate::generalized_gaussian::{Order, most_for_pure};
use crate::sharp::{Formula, sharp_until};
use crate::truncated_loss::larger;
use reticent_numerics::rounding::{add_up, sub_up};
use reticent_numerics::{Bounds, Enclosure, Wide};
use slope::Slope;
use std::cell::OnceCell;
use std::rc::Rc;
use tails::{Point, Tails};

/// Beyond `|x|^p` of this, `e^700` times the tail is below every `f64`.
const NEVER: f64 = 1600.0;

/// Beyond `|x|` of this, `|x|^p` may be too large for a `f64` and its exponential is zero for one.
const FAR: f64 = 2000.0;

/// Below this nobody asks.
const LEAST: f64 = 1e-300;

/// The most pieces that are split.
const SPLITS: usize = 400;

/// How much, relatively, a piece may exceed the best end without being split further.
const CONTENT: f64 = 1e-12;

/// Bounds on the profile: see the module. `pure` bounds the largest loss.
pub(crate) fn profile(
    order: Order,
    interval: &Interval,
    scale: f64,
    pure: f64,
    epsilon: f64,
) -> Bounds {
    let most = most_for_pure(pure, epsilon);
    if most == 0.0 {
        return Bounds::ZERO;
    }
    let half = interval.shift(scale, &Bounds::ONE).times_power_of_two(-1);
    if half.lower() >= order.root_above(NEVER) {
        // Half way between the answers, all of one distribution is on one side and of the other on
        // the other.
        return Bounds::new(1.0f64.next_down(), 1.0);
    }
    let search = Search::new(order, interval, scale, epsilon);
    let value = if interval.covers_range() { search.end(0.0, 0.0).delta } else { search.worst() };
    Bounds::new(value.lower().max(0.0), add_up(value.upper().max(0.0), f64::from_bits(1)).min(most))
}

/// `S_t(s + x) - e^epsilon S_s(s + x)`.
struct BeyondCut<'a> {
    search: &'a Search<'a>,
    share: f64,
    cut: f64,
}

impl Formula for BeyondCut<'_> {
    fn at<E: Enclosure>(&self, like: &E) -> E {
        let search = self.search;
        let tails = Tails::new(search.order, like);
        let point = Point::new(&tails, search.interval, search.scale, self.share, like);
        search.beyond_cut(&tails, &point, self.cut, like)
    }
}

/// What is known about a location that is an end of a piece.
struct End {
    share: f64,
    point: Point<Wide>,
    /// `P[X > r - s]`, times `e^epsilon`, and `P[X > r - t]`.
    outside: [Bounds; 2],
    /// `e^epsilon f_s(r)` and `f_t(r)`.
    at_top: [Bounds; 2],
    /// `f_s(0)` and `f_t(0)`.
    at_bottom: [Bounds; 2],
    /// The loss at the top of the range beyond epsilon, `ln(f_t(r) / f_s(r)) - epsilon`.
    gap: Bounds,
    delta: Bounds,
    /// `g'`.
    slope: OnceCell<Bounds>,
}

/// Locations with a bound on `g`.
struct Piece {
    from: Rc<End>,
    to: Rc<End>,
    most: f64,
}

struct Search<'a> {
    order: Order,
    interval: &'a Interval,
    scale: f64,
    epsilon: f64,
    tails: Tails<Wide>,
    shift: Wide,
    /// `r - u`.
    free: Bounds,
    /// `r / 2`.
    middle: Bounds,
    /// `Z(r/2)`, the largest.
    most_mass: f64,
    /// Where no probability is left.
    never: f64,
}

impl<'a> Search<'a> {
    fn new(order: Order, interval: &'a Interval, scale: f64, epsilon: f64) -> Self {
        let tails = Tails::new(order, &Wide::ONE);
        let (range, shift) = (interval.range(scale, &Wide::ONE), interval.shift(scale, &Wide::ONE));
        let middle = range.times_power_of_two(-1);
        let most_mass = tails.within(&middle).times_power_of_two(1).bounds().upper();
        let (free, middle, never) =
            ((range - shift).bounds(), middle.bounds(), order.root_above(NEVER));
        Search { order, interval, scale, epsilon, tails, shift, free, middle, most_mass, never }
    }

    /// The largest `g`.
    fn worst(&self) -> Bounds {
        let (first, last) = (Rc::new(self.end(0.0, 0.0)), Rc::new(self.end(1.0, 0.0)));
        let mut best = larger(first.delta, last.delta);
        let mut open = vec![Piece { from: first, to: last, most: 1.0 }];
        for _ in 0..SPLITS {
            let Some(next) = (0..open.len()).max_by(|&a, &b| open[a].most.total_cmp(&open[b].most))
            else {
                break;
            };
            if open[next].most <= (best.lower() * (1.0 + CONTENT)).max(LEAST) {
                break;
            }
            let Piece { from, to, .. } = open.swap_remove(next);
            let middle = Rc::new(self.end(0.5 * (from.share + to.share), best.lower()));
            best = larger(best, middle.delta);
            for (from, to) in [(from, middle.clone()), (middle, to)] {
                if let Some(most) = self.most_on(&from, &to) {
                    open.push(Piece { from, to, most });
                }
            }
        }
        open.iter()
            .fold(best, |best, piece| Bounds::new(best.lower(), best.upper().max(piece.most)))
    }

    /// A location; its `g` is made sharp only if it can be above `best`.
    fn end(&self, share: f64, best: f64) -> End {
        let point = Point::new(&self.tails, self.interval, self.scale, share, &Wide::ONE);
        let (s, t) = (point.mass_s, point.mass_t);
        let over = |value: Wide, mass: Wide| (value / mass).bounds().clamp(0.0, f64::INFINITY);
        let density = |x: &Wide, weight: f64| self.tails.density(x, weight);
        let outside = [
            self.tails.beyond(&point.above_s, self.epsilon).bounds(),
            self.tails.beyond(&point.above_t, 0.0).bounds(),
        ];
        let at_top =
            [over(density(&point.above_s, self.epsilon), s), over(density(&point.above_t, 0.0), t)];
        let at_bottom = [over(density(&point.s, 0.0), s), over(density(&point.t, 0.0), t)];
        let gap = if point.above_s.bounds().upper() < FAR {
            let powers = self.order.power(&point.above_s) - self.order.power(&point.above_t);
            (powers + (point.mass_s / point.mass_t).ln() - Wide::exact(self.epsilon)).bounds()
        } else {
            Bounds::WHOLE_LINE
        };
        let delta = if gap.upper() <= 0.0 { Bounds::ZERO } else { self.delta(share, &point, best) };
        End { share, point, outside, at_top, at_bottom, gap, delta, slope: OnceCell::new() }
    }

    /// `g` at a location.
    fn delta(&self, share: f64, point: &Point<Wide>, best: f64) -> Bounds {
        let level = Wide::exact(self.epsilon) - (point.mass_s / point.mass_t).ln();
        let (below, above) = (point.s.bounds(), point.above_s.bounds());
        let furthest = add_up(self.shift.bounds().upper(), self.never);
        if furthest < above.lower() && (self.loss(furthest) - level).bounds().upper() <= 0.0 {
            return Bounds::new(0.0, f64::from_bits(1));
        }
        let (low, high) = self.crossing(level, -below.upper(), above.upper());
        // Beyond the range the two tails are no probabilities: the cut stays inside.
        let cut = low.max(-below.lower()).min(above.lower());
        let value = self.beyond_cut(&self.tails, point, cut, &Wide::ONE).bounds();
        let enough =
            |value: Bounds| value.relative_width() <= 1e-13 || value.upper() <= best.max(LEAST);
        let value = if enough(value) {
            value
        } else {
            sharp_until(&BeyondCut { search: self, share, cut }, enough)
        };
        // Between the cut and the best one the integrand is f_t(y) (1 - e^(epsilon - L)).
        let (low, high) = (low.min(cut), high.max(cut));
        let gap = |x: f64| (self.loss(x) - level).bounds().abs();
        let off = larger(gap(low), gap(high)).exp_m1();
        let x = Wide::from_bounds(Bounds::new(low, high)) - self.shift;
        let density = (self.tails.density(&x, 0.0) / point.mass_t).bounds();
        let excess = (Bounds::exact(sub_up(high, low)) * density * off).upper();
        Bounds::new(value.lower().max(0.0), add_up(value.upper().max(0.0), excess))
    }

    fn beyond_cut<E: Enclosure>(
        &self,
        tails: &Tails<E>,
        point: &Point<E>,
        cut: f64,
        like: &E,
    ) -> E {
        let cut = like.exactly(cut);
        let from_t = cut.clone() - self.interval.shift(self.scale, like);
        let share_t =
            (tails.beyond(&from_t, 0.0) - tails.beyond(&point.above_t, 0.0)) / point.mass_t.clone();
        let share_s = (tails.beyond(&cut, self.epsilon)
            - tails.beyond(&point.above_s, self.epsilon))
            / point.mass_s.clone();
        share_t - share_s
    }

    /// `q(x)`.
    fn loss(&self, x: f64) -> Wide {
        self.order.power(&Wide::exact(x)) - self.order.power(&(Wide::exact(x) - self.shift))
    }

    /// Numbers between `low` and `high` around the point where `q` passes `level`, or as far as
    /// there is probability.
    fn crossing(&self, level: Wide, low: f64, high: f64) -> (f64, f64) {
        let (mut low, mut high) =
            (low.max(-self.never), high.min(self.shift.bounds().upper() + self.never));
        let (p, shift, goal) =
            (self.order.get(), self.shift.bounds().estimate(), level.bounds().estimate());
        // Plain arithmetic proposes, certified arithmetic disposes.
        let (mut a, mut b) = (low, high);
        for _ in 0..100 {
            let x = 0.5 * (a + b);
            if b - a <= 2.0 * f64::EPSILON * x.abs().max(shift) {
                break;
            }
            if x.abs().powf(p) - (x - shift).abs().powf(p) < goal { a = x } else { b = x }
        }
        let excess = |x: f64| (self.loss(x) - level).bounds();
        // One step of Newton's method, for the digits that the difference of the powers cost.
        let middle = 0.5 * (a + b);
        let power = |x: f64| x.signum() * x.abs().powf(p - 1.0);
        let better =
            middle - excess(middle).estimate() / (p * (power(middle) - power(middle - shift)));
        if better > low && better < high && (better - middle).abs() < 1e-3 * shift.max(middle.abs())
        {
            (a, b) = (better, better);
        }
        let mut step = 4.0 * f64::EPSILON * a.abs().max(shift);
        let (near_low, near_high) = (low, high);
        while a - step > near_low {
            if excess(a - step).upper() <= 0.0 {
                low = a - step;
                break;
            }
            step *= 8.0;
        }
        step = 4.0 * f64::EPSILON * b.abs().max(shift);
        while b + step < near_high {
            if excess(b + step).lower() >= 0.0 {
                high = b + step;
                break;
            }
            step *= 8.0;
        }
        let content = 16.0 * f64::EPSILON * a.abs().max(shift);
        while high - low > content {
            let x = 0.5 * (low + high);
            let value = excess(x);
            if value.upper() <= 0.0 {
                low = x;
            } else if value.lower() >= 0.0 {
                high = x;
            } else {
                break;
            }
        }
        (low, high)
    }

    /// A bound on `g` on a piece, or nothing where the ends know better.
    fn most_on(&self, from: &End, to: &End) -> Option<f64> {
        if to.at_top[1].upper() <= from.at_top[0].lower() {
            // Even at the top of the range the loss is at most epsilon.
            return None;
        }
        let has_sign = |slope: Bounds| slope.lower() >= 0.0 || slope.upper() <= 0.0;
        let width = Bounds::exact(to.share - from.share) * self.free;
        let at = |end: &End| *end.slope.get_or_init(|| self.slope(end, end).slope);
        let narrowed = |slope: Bounds, curvature: Bounds| {
            if has_sign(slope) || !curvature.is_finite() {
                return slope;
            }
            let change = curvature * Bounds::new(0.0, width.upper());
            slope.intersect(at(from) + change).intersect(at(to) - change)
        };
        let Slope { slope, curvature } = self.slope(from, to);
        let mut slope = narrowed(slope, curvature);
        if !has_sign(slope)
            && let Some(near_top) = self.slope_near_top(from, to, width)
        {
            slope = narrowed(slope.intersect(near_top.slope), near_top.curvature);
        }
        if !has_sign(slope)
            && let Some(series) = self.slope_by_series(from, to, width)
        {
            slope = slope.intersect(series);
        }
        if has_sign(slope) {
            return None;
        }
        Some(most_between(from.delta.upper(), to.delta.upper(), slope, width).min(1.0))
    }
}

/// A bound on a function on a piece of a given width, from bounds at its ends and its slope: from
/// either end it rises by no more than the slope allows.
fn most_between(first: f64, last: f64, slope: Bounds, width: Bounds) -> f64 {
    if slope.lower() >= 0.0 || slope.upper() <= 0.0 {
        return first.max(last);
    }
    let (fall, rise) = (Bounds::exact(-slope.lower()), Bounds::exact(slope.upper()));
    let (first, last) = (Bounds::exact(first), Bounds::exact(last));
    // A mean of the ends and what the slopes allow beyond it, both largest where the two lines
    // meet.
    let share = rise / (rise + fall);
    let most = (first + (last - first) * share + fall * share * width).upper();
    if most.is_nan() { f64::INFINITY } else { most }
}

/// The mirror of [`most_between`].
fn least_between(first: f64, last: f64, slope: Bounds, width: Bounds) -> f64 {
    -most_between(-first, -last, -slope, width)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPES: [(f64, f64, f64, f64); 7] = [
        (1.0, 0.3, 0.2, 0.4),
        (1.3, 0.5, 0.1, 0.7),
        (1.3, 0.2, 0.05, 0.98),
        (2.0, 0.4, 0.3, 0.3),
        (2.0, 2.0, 0.3, 0.1),
        (3.0, 0.3, 0.5, 0.5),
        (6.0, 0.6, 0.2, 0.8),
    ];

    fn each_shape(check: impl Fn(&Search)) {
        for (p, scale, sensitivity, share) in SHAPES {
            let (order, interval) =
                (Order::new(p).expect("an order"), Interval { range: [1.0, 0.0], sensitivity });
            let pure = crate::truncated_loss::worst_loss(order, &interval, scale).upper();
            check(&Search::new(order, &interval, scale, share * pure));
        }
    }

    #[test]
    fn no_location_is_worse_than_the_worst() {
        each_shape(|search| {
            let worst = search.worst();
            let found = (0..=512)
                .map(|i| search.end(f64::from(i) / 512.0, 0.0).delta)
                .reduce(larger)
                .expect("locations");
            assert!(
                found.lower() <= worst.upper() && found.lower() >= worst.lower() * 0.999,
                "{found:?} {worst:?}"
            );
        });
    }

    /// Against central differences of `g`, which is known to 13 digits.
    #[test]
    fn slopes_and_curvatures_are_those_of_differences() {
        each_shape(|search| {
            for i in 1..16 {
                let (share, step) = (f64::from(i) / 16.0, 2f64.powi(-12));
                let [before, here, after] =
                    [share - step, share, share + step].map(|share| search.end(share, 0.0));
                if !(before.gap.lower() > 1e-3 && after.gap.lower() > 1e-3) {
                    continue;
                }
                let width = step * search.free.estimate();
                let value = |end: &End| end.delta.estimate();
                let first = (value(&after) - value(&before)) / (2.0 * width);
                let second =
                    (value(&after) - 2.0 * value(&here) + value(&before)) / (width * width);
                let exact = search.slope(&here, &here);
                let size = value(&here).max(first.abs()).max(second.abs());
                assert!(
                    (exact.slope.estimate() - first).abs() < 1e-4 * size,
                    "{i} {:?} {first}",
                    exact.slope
                );
                let piece = search.slope(&before, &after);
                assert!(
                    piece.slope.lower() <= first && first <= piece.slope.upper(),
                    "{i} {:?} {first}",
                    piece.slope
                );
                if exact.curvature.is_finite() {
                    let curvature = exact.curvature.estimate();
                    assert!(
                        (curvature - second).abs() < 1e-2 * size,
                        "{i} {:?} {second}",
                        exact.curvature
                    );
                }
                if let Some(slope) =
                    search.slope_by_series(&before, &after, Bounds::exact(2.0 * width))
                {
                    assert!(
                        slope.lower() <= first && first <= slope.upper(),
                        "{i} {slope:?} {first}"
                    );
                    assert!(
                        slope.width() <= 1.01 * piece.slope.width() + 1e-9 * size,
                        "{i} {slope:?} {:?}",
                        piece.slope
                    );
                }
                let near_top = search.slope_near_top(&before, &after, Bounds::exact(2.0 * width));
                if let Some(Slope { slope, curvature }) = near_top {
                    assert!(
                        slope.lower() <= first && first <= slope.upper(),
                        "{i} {slope:?} {first}"
                    );
                    let slack = 1e-6 * size;
                    assert!(
                        curvature.lower() <= second + slack && second - slack <= curvature.upper(),
                        "{i} {curvature:?} {second}"
                    );
                }
            }
        });
    }
}
