//! The slope and curvature of the profile as a function of the location, on a piece of locations.
//!
//! Everywhere `s` is a location, `t = s + u`, `x` the cut, `A_s` the share beyond it and
//! `n_s = f_s(0) - f_s(r)`, which is `d/ds ln Z(s)`. The factors are enclosed by their values at
//! the ends of the piece, where they are monotone: `f_s(0)` falls with `s`, `f_s(r)` increases,
//! `A_s` falls with `s` for a given `x` and increases for a given output.
//!
//! Two forms of the slope are intersected. In [`Search::slope`] the cut is measured from the
//! answer: sharp far from the bounds, where nothing depends on `s`. In [`Search::slope_near_top`]
//! it is measured from the top, and all small differences are written as such: sharp where little
//! is lost beyond epsilon, and where the range is narrow for the noise or the move small, so that
//! `g` is nearly flat. With the curvature, a slope is known to the second order of the width.

use super::{End, FAR, Point, Search, least_between, most_between};
use reticent_numerics::{Bounds, Enclosure, Wide};

/// What is known about `g` on a piece.
pub(super) struct Slope {
    pub(super) slope: Bounds,
    /// `g''`, or the whole line where it may not exist.
    pub(super) curvature: Bounds,
}

impl Search<'_> {
    /// `g'` and `g''` on a piece.
    pub(super) fn slope(&self, from: &End, to: &End) -> Slope {
        let mass_t = self.masses(&from.point.t, &to.point.t, from.point.mass_t, to.point.mass_t);
        let most = from.point.above_s.bounds().upper();
        let cut = self.cuts(from, to);
        let (low, high) = (cut.lower(), cut.upper());
        let share = |end: &End, which: usize, cut: f64| {
            let (x, weight, mass) = match which {
                0 => (Wide::exact(cut), self.epsilon, end.point.mass_s),
                _ => (Wide::exact(cut) - self.shift, 0.0, end.point.mass_t),
            };
            (self.tails.beyond(&x, weight).bounds() - end.outside[which]) / mass.bounds()
        };
        let largest = [Bounds::exact(self.epsilon).exp(), Bounds::ONE];
        let beyond = |which: usize| {
            let least = if high >= self.shift.bounds().upper() + self.never {
                0.0
            } else {
                share(to, which, high).lower()
            };
            let most =
                if low <= -self.never { f64::INFINITY } else { share(from, which, low).upper() };
            Bounds::new(least.max(0.0), most.max(0.0).min(largest[which].upper()))
        };
        let [beyond_s, beyond_t] = [beyond(0), beyond(1)];
        let top = |which: usize| Bounds::new(from.at_top[which].lower(), to.at_top[which].upper());
        let bottom =
            |which: usize| Bounds::new(to.at_bottom[which].lower(), from.at_bottom[which].upper());
        let rest_s =
            (Bounds::ONE - beyond_s * (-Bounds::exact(self.epsilon)).exp()).clamp(0.0, 1.0);
        let rest_t = (Bounds::ONE - beyond_t).clamp(0.0, 1.0);
        let slope =
            top(0) * rest_s + beyond_s * bottom(0) - (top(1) * rest_t + beyond_t * bottom(1));
        let always_above = from.at_top[1].lower() > to.at_top[0].upper();
        if !always_above {
            return Slope { slope: slope.hull(Bounds::ZERO), curvature: Bounds::WHOLE_LINE };
        }
        let density =
            (self.tails.density(&(Wide::from_bounds(cut) - self.shift), 0.0).bounds()) / mass_t;
        let rate = self.loss_rate(cut);
        let furthest = self.shift.bounds().upper() + self.never;
        if rate.lower() <= 0.0 || most >= FAR || low <= -self.never || high >= furthest {
            return Slope { slope, curvature: Bounds::WHOLE_LINE };
        }
        let (factor, order) = (Bounds::exact(self.epsilon).exp(), Bounds::exact(self.order.get()));
        let force = |from: &Wide, to: &Wide| {
            order * self.signed_power(*from).hull(self.signed_power(*to)).bounds()
        };
        let top = [top(0) / factor, top(1)];
        let beyond = [beyond_s / factor, beyond_t];
        let net = [bottom(0) - top[0], bottom(1) - top[1]];
        let parts = |which: usize, above: Bounds, below: Bounds, density: Bounds| {
            let top_change = top[which] * (above - net[which]);
            let net_change = -bottom(which) * (below + net[which]) - top_change;
            let share_change = density - top[which] - beyond[which] * net[which];
            -top_change - share_change * net[which] - beyond[which] * net_change
        };
        let (a, b) = (&from.point, &to.point);
        let of_s = parts(0, force(&a.above_s, &b.above_s), force(&a.s, &b.s), density / factor);
        let of_t = parts(1, force(&a.above_t, &b.above_t), force(&a.t, &b.t), density);
        let apart = net[0] - net[1];
        let curvature = of_t - factor * of_s - density * (rate - apart) * apart / rate;
        Slope { slope, curvature }
    }

    /// The cuts `x` of all locations on a piece. What `q` must reach, `epsilon - ln(Z(s)/Z(t))`, is
    /// known at the ends, and so is its slope `n_t - n_s` on the piece.
    pub(super) fn cuts(&self, from: &End, to: &End) -> Bounds {
        let width = Bounds::exact(to.share - from.share) * self.free;
        let at = |end: &End| {
            (Wide::exact(self.epsilon) - (end.point.mass_s / end.point.mass_t).ln()).bounds()
        };
        let rate = -self.net_difference(from, to, self.net_changes(from, to).0);
        let level = Bounds::new(
            least_between(at(from).lower(), at(to).lower(), rate, width),
            most_between(at(from).upper(), at(to).upper(), rate, width),
        );
        let (least, most) = (-to.point.s.bounds().upper(), from.point.above_s.bounds().upper());
        let low = self.crossing(Wide::exact(level.lower()), least, most).0;
        let high = self.crossing(Wide::exact(level.upper()), least, most).1;
        Bounds::new(low, high)
    }

    /// `g'` on a piece where the loss hardly exceeds epsilon, so that little more than the top of
    /// the range violates it.
    ///
    /// There `g'` is a small difference of large terms, which the gap `c = L(r) - epsilon` tells
    /// better: as `f_t(r) = e^(epsilon + c) f_s(r)` and `A_t = e^epsilon A_s + g`,
    ///
    /// `g' = -e^epsilon f_s(r) (e^c - 1) + e^epsilon A_s ((f_t(r) - f_t(0)) - (f_s(r) - f_s(0))) +
    /// g (f_t(r) - f_t(0))`, `0 <= g <= A_t (1 - e^-c)`.
    ///
    /// The gap is enclosed by its own slope, `-q'(r-s) + (f_t(r) - f_t(0)) - (f_s(r) - f_s(0))`,
    /// and the cut by its distance from the top, `w = r - s - x`: with `q(a) - q(a - w) = c` at
    /// `a = r - s`, for a given `c` it changes by `dw/da = 1 - q'(a) / q'(a - w)`. `A_s` increases
    /// with `s` and `w`.
    pub(super) fn slope_near_top(&self, from: &End, to: &End, width: Bounds) -> Option<Slope> {
        let top = |which: usize| Bounds::new(from.at_top[which].lower(), to.at_top[which].upper());
        let bottom =
            |which: usize| Bounds::new(to.at_bottom[which].lower(), from.at_bottom[which].upper());
        let top_s = top(0) * (-Bounds::exact(self.epsilon)).exp();
        let net_t = top(1) - bottom(1);
        let (net_change, net_second) = self.net_changes(from, to);
        let shift = self.shift.bounds();
        let net = self.net_difference(from, to, net_change);
        let heights =
            Bounds::new(to.point.above_s.bounds().lower(), from.point.above_s.bounds().upper());
        if heights.upper() >= FAR || heights.upper() >= self.shift.bounds().upper() + self.never {
            return None;
        }
        let rate = net - self.loss_rate_beyond_shift(from, to);
        let most_gap = most_between(from.gap.upper(), to.gap.upper(), rate, width);
        let least_gap = least_between(from.gap.lower(), to.gap.lower(), rate, width);
        if most_gap <= 0.0 {
            return Some(Slope { slope: Bounds::ZERO, curvature: Bounds::ZERO });
        }
        let gap = Bounds::new(least_gap.max(0.0), most_gap);
        if !gap.is_finite() {
            return None;
        }
        // The cut for the gap's ends at the first location, and how it moves from there; it is
        // lowest at the last location, with the largest gap.
        let cut = |point: &Point<Wide>, gap: f64| {
            let top_loss = self.order.power(&point.above_s) - self.order.power(&point.above_t);
            self.crossing(top_loss - Wide::exact(gap), -self.never, heights.upper())
        };
        let depth = |cut: f64| (from.point.above_s - Wide::exact(cut)).bounds();
        let (first_low, first_high) =
            (cut(&from.point, gap.upper()).0, cut(&from.point, gap.lower()).1);
        let lowest = cut(&to.point, gap.upper()).0.min(first_low);
        if lowest <= -self.never {
            return None;
        }
        let (shallow, deep) = (depth(first_high).lower().max(0.0), depth(first_low).upper());
        let steps = self.loss_rate(Bounds::new(lowest, heights.upper()));
        if steps.lower() <= 0.0 {
            return None;
        }
        let ratio = Bounds::exact(steps.upper()) / Bounds::exact(steps.lower());
        let change = Bounds::ONE - ratio.hull(Bounds::ONE / ratio);
        let drift = Bounds::new(0.0, width.upper()) * change;
        let depths = Bounds::new(shallow, deep) - drift;
        let (shallow, deep) = (depths.lower().max(0.0), depths.upper());
        let share = |end: &End, which: usize, depth: f64| {
            let (height, weight, mass) = match which {
                0 => (end.point.above_s, self.epsilon, end.point.mass_s),
                _ => (end.point.above_t, 0.0, end.point.mass_t),
            };
            let part = self.tails.beyond(&(height - Wide::exact(depth)), weight)
                - self.tails.beyond(&height, weight);
            (part / mass).bounds()
        };
        let beyond_s =
            Bounds::new(share(from, 0, shallow).lower().max(0.0), share(to, 0, deep).upper());
        let most = share(to, 1, deep).upper();
        let value = Bounds::new(
            0.0,
            (Bounds::exact(most) * -(-Bounds::exact(gap.upper())).exp_m1()).upper().max(0.0),
        );
        let slope = beyond_s * net + value * net_t - top(0) * gap.exp_m1();
        if least_gap <= 0.0 {
            return Some(Slope { slope: slope.hull(Bounds::ZERO), curvature: Bounds::WHOLE_LINE });
        }
        // The derivative of this, with dy/ds = 1 - (n_s - n_t) / q'(x) for the cut's point y and
        // n_s = f_s(0) - f_s(r).
        let cuts = heights - Bounds::new(shallow, deep);
        let rate_at_cut = self.loss_rate(cuts);
        let masses = self.masses(&from.point.s, &to.point.s, from.point.mass_s, to.point.mass_s);
        let density = self.tails.density(&Wide::from_bounds(cuts), self.epsilon).bounds() / masses;
        let height_force = self.force(&from.point.above_s, &to.point.above_s);
        let net_s = bottom(0) - top_s;
        let beyond_change = density * net / rate_at_cut - top(0) - beyond_s * net_s;
        let curvature = beyond_change * net - beyond_s * shift * net_second + slope * net_t
            - value * net_change
            - top(0) * (height_force - net_s) * gap.exp_m1()
            - top(0) * gap.exp() * rate;
        Some(Slope { slope, curvature })
    }

    /// `(f_t(r) - f_t(0)) - (f_s(r) - f_s(0))` on a piece, from its terms or from their change over
    /// the move.
    fn net_difference(&self, from: &End, to: &End, net_change: Bounds) -> Bounds {
        let top = |which: usize| Bounds::new(from.at_top[which].lower(), to.at_top[which].upper());
        let bottom =
            |which: usize| Bounds::new(to.at_bottom[which].lower(), from.at_bottom[which].upper());
        let of_s = top(0) * (-Bounds::exact(self.epsilon)).exp() - bottom(0);
        (top(1) - bottom(1) - of_s).intersect(-(self.shift.bounds() * net_change))
    }

    /// A lower bound on the gap on a piece.
    pub(super) fn least_gap(&self, from: &End, to: &End, width: Bounds) -> f64 {
        let net = self.net_difference(from, to, self.net_changes(from, to).0);
        let rate = net - self.loss_rate_beyond_shift(from, to);
        least_between(from.gap.lower(), to.gap.lower(), rate, width)
    }

    /// The first two derivatives of `n(s) = f_s(0) - f_s(r)`, from the first `s` to the last `t`.
    ///
    /// With `l(x) = p sign(x) |x|^(p-1)`: `d/ds ln f_s(0) = -l(s) - n`,
    /// `d/ds ln f_s(r) = l(r-s) - n`.
    fn net_changes(&self, from: &End, to: &End) -> (Bounds, Bounds) {
        let factor = Bounds::exact(self.epsilon).exp();
        let bottom = Bounds::new(to.at_bottom[1].lower(), from.at_bottom[0].upper());
        let top = Bounds::new((from.at_top[0] / factor).lower(), to.at_top[1].upper());
        let net = bottom - top;
        let ((low, low_change), (high, high_change)) = (
            self.forces(&from.point.s, &to.point.t),
            self.forces(&to.point.above_t, &from.point.above_s),
        );
        let (bottom_rate, top_rate) = (-low - net, high - net);
        let change = bottom * bottom_rate - top * top_rate;
        let second = bottom * (bottom_rate.square() - low_change - change)
            - top * (top_rate.square() - high_change - change);
        (change, second)
    }

    /// `l(x)` between two numbers that are not negative.
    fn force(&self, from: &Wide, to: &Wide) -> Bounds {
        Bounds::exact(self.order.get())
            * self.signed_power(*from).hull(self.signed_power(*to)).bounds()
    }

    /// `l(x)` and `l'(x) = p (p-1) |x|^(p-2)` between two numbers that are not negative.
    fn forces(&self, from: &Wide, to: &Wide) -> (Bounds, Bounds) {
        (self.force(from, to), self.force_change(from.bounds().hull(to.bounds())))
    }

    /// `p (p-1) |x|^(p-2)` on an interval.
    fn force_change(&self, x: Bounds) -> Bounds {
        let p = self.order.get();
        let factor = Bounds::exact(p) * (Bounds::exact(p) - Bounds::ONE);
        let (x, exponent) = (x.abs(), p - 2.0);
        if p == 1.0 || p == 2.0 {
            return factor;
        }
        if exponent.fract() == 0.0 && exponent > 0.0 {
            return factor * x.powi(exponent as u32);
        }
        let at = |x: f64| if x > 0.0 { Bounds::exact(x).pow(exponent) } else { Bounds::ZERO };
        if x.lower() <= 0.0 && exponent < 0.0 {
            Bounds::WHOLE_LINE
        } else {
            factor * at(x.lower()).hull(at(x.upper()))
        }
    }

    /// `q'(r - s)` on a piece: `p (x^(p-1) - (x-u)^(p-1))` is monotone for `x >= u`, so the ends
    /// enclose it.
    fn loss_rate_beyond_shift(&self, from: &End, to: &End) -> Bounds {
        let order = Wide::exact(self.order.get());
        let at = |point: &Point<Wide>| {
            (order * (self.signed_power(point.above_s) - self.signed_power(point.above_t))).bounds()
        };
        at(&from.point).hull(at(&to.point))
    }

    /// `q'(x)` on an interval, from the ends of its two increasing terms, or as `u` times the slope
    /// between them.
    fn loss_rate(&self, x: Bounds) -> Bounds {
        let at = |x: f64| {
            (self.signed_power(Wide::exact(x)), self.signed_power(Wide::exact(x) - self.shift))
        };
        let ((low, low_shifted), (high, high_shifted)) = (at(x.lower()), at(x.upper()));
        let order = Bounds::exact(self.order.get());
        let by_ends = order
            * Bounds::new(
                (low - high_shifted).bounds().lower(),
                (high - low_shifted).bounds().upper(),
            );
        let shift = self.shift.bounds();
        if self.order.get() == 1.0 {
            by_ends
        } else {
            by_ends.intersect(shift * self.force_change(x.hull(x - shift)))
        }
    }

    /// `sign(x) |x|^(p-1)`, between -1 and 1 at zero for order 1.
    fn signed_power(&self, x: Wide) -> Wide {
        let (near, exponent) = (x.bounds(), self.order.get() - 1.0);
        let power = |x: Wide| if exponent == 0.0 { Wide::ONE } else { x.pow(exponent) };
        if near.lower() > 0.0 {
            power(x)
        } else if near.upper() < 0.0 {
            -power(-x)
        } else {
            let most = near.abs().upper();
            if most == 0.0 && exponent > 0.0 {
                return Wide::ZERO;
            }
            let most = if exponent == 0.0 { Wide::ONE } else { power(Wide::exact(most)) };
            most.hull(-most)
        }
    }

    /// `Z` between two locations, from its values there.
    fn masses(&self, from: &Wide, to: &Wide, at_from: Wide, at_to: Wide) -> Bounds {
        let ends = at_from.hull(at_to).bounds();
        let one_side = to.bounds().upper() <= self.middle.lower()
            || from.bounds().lower() >= self.middle.upper();
        if one_side { ends } else { Bounds::new(ends.lower(), self.most_mass.max(ends.upper())) }
    }
}
