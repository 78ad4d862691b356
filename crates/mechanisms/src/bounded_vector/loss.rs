//! The loss of one coordinate with bounds of its own.

use super::separable::{CoordinateLoss, below_tangent};
use crate::bounded_query::Interval;
use crate::generalized_gaussian::Order;
use crate::inflated;
use crate::truncated_loss::{Slope, loss_at_ends, worst_loss};
use reticent_numerics::incomplete_gamma::ln_gamma_q;
use reticent_numerics::rounding::{add_up, sub_down};
use reticent_numerics::{Bounds, Enclosure, Wide};

/// Noise of one scale on a range of this width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TruncatedLoss {
    pub(super) order: Order,
    pub(super) range: [f64; 2],
    pub(super) scale: f64,
    /// Whether the maximum over answers is proved. It is nearly always at an end of the range,
    /// which is enough to steer a search.
    pub(super) proved: bool,
}

impl TruncatedLoss {
    fn interval(&self, d: f64) -> Interval {
        Interval { range: self.range, sensitivity: d }
    }

    fn slope(&self) -> Slope {
        Slope::new(self.order, &self.interval(self.range[0]), self.scale)
    }

    /// Whether `E` is concave: `psi(R) - psi(R - d)` with a convex `psi` at order 1, and
    /// `psi(d) - psi(0)` with a concave one at order 2 (`truncated_loss.rs`).
    fn is_concave(&self) -> bool {
        self.order.get() == 1.0 || self.order.get() == 2.0
    }
}

impl CoordinateLoss for TruncatedLoss {
    fn loss(&self, d: f64) -> Bounds {
        if self.proved {
            worst_loss(self.order, &self.interval(d), self.scale)
        } else {
            loss_at_ends(self.order, &self.interval(d), self.scale)
        }
    }

    fn least_loss(&self, d: f64) -> f64 {
        loss_at_ends(self.order, &self.interval(d), self.scale).lower()
    }

    fn rate(&self, d: f64) -> Bounds {
        let scale = Wide::exact(self.scale);
        let range = self.interval(d).range(self.scale, &Wide::ONE);
        let moved = Wide::exact(d) / scale;
        let rest = (range - moved).bounds();
        let rest = Bounds::new(rest.lower().max(0.0), rest.upper().max(0.0));
        // At order 1 the worst move ends at the upper bound; at order 2 it begins at the lower one.
        // Between and beyond, one of the two is a good guess.
        let (at, above) =
            if self.order.get() < 1.5 { (rest, moved.bounds()) } else { (moved.bounds(), rest) };
        self.slope().of_psi(at, above) / Bounds::exact(self.scale)
    }

    fn above_line(&self, rate: f64, most: f64, near: f64) -> f64 {
        if self.is_concave() {
            below_tangent(self, rate, most, near)
        } else {
            largest_rise(self, rate, most)
        }
    }
}

/// In how many cells the range is divided.
const CELLS: usize = 512;

/// An upper bound on `psi(t) - psi(s) - rate (t - s)` for all answers `s <= t` that are at most
/// `most` apart, which is `E(d) - rate d` for all moves `d`.
///
/// `phi(s) = psi(s) - rate s` is bounded on each cell by its values at the ends and, where its
/// slope has no certain sign there, by half the cell's width times the slope. The largest rise from
/// one cell to another that is near enough bounds them all.
fn largest_rise(loss: &TruncatedLoss, rate: f64, most: f64) -> f64 {
    let slope = loss.slope();
    let range = loss.interval(0.0).range(loss.scale, &Bounds::ONE);
    let line = Bounds::exact(rate) * Bounds::exact(loss.scale);
    let window = (Bounds::exact(most) / Bounds::exact(loss.scale)).upper();
    let share = |i: usize| i as f64 / CELLS as f64;
    let node = |i: usize| {
        let (s, above) = (range * Bounds::exact(share(i)), range * Bounds::exact(1.0 - share(i)));
        slope.psi(s, above) - line * s
    };
    let nodes: Vec<Bounds> = (0..=CELLS).map(node).collect();
    let cells: Vec<(f64, f64)> = (0..CELLS)
        .map(|i| {
            let (from, to) = (share(i), share(i + 1));
            let s = range * Bounds::new(from, to);
            let above = range * Bounds::new(1.0 - to, 1.0 - from);
            let steepness = slope.of_psi(s, above) - line;
            let ends = nodes[i].hull(nodes[i + 1]);
            if steepness.lower() >= 0.0 || steepness.upper() <= 0.0 {
                (ends.lower(), ends.upper())
            } else {
                let half = range * Bounds::exact(0.5 / CELLS as f64);
                let reach = (steepness.abs() * half).upper();
                (sub_down(ends.lower(), reach), add_up(ends.upper(), reach))
            }
        })
        .collect();
    let mut rise = 0.0f64;
    for (j, (_, high)) in cells.iter().enumerate() {
        for (i, (low, _)) in cells.iter().enumerate().take(j + 1) {
            // Cells whose nearest points are further apart than any move are no pair.
            let gap = (range * Bounds::exact(share(j.saturating_sub(i + 1)))).lower();
            if i == j || gap <= window {
                rise = rise.max(add_up(*high, -low));
            }
        }
    }
    rise
}

/// Clamped noise: `E(d) = ln Q(1/p, ((R-d)/b)^p) - ln Q(1/p, (R/b)^p)`, concave because the tail of
/// log-concave noise is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct InflatedLoss {
    pub(super) order: Order,
    pub(super) range: [f64; 2],
    pub(super) scale: f64,
}

impl InflatedLoss {
    fn interval(&self, d: f64) -> Interval {
        Interval { range: self.range, sensitivity: d }
    }
}

impl CoordinateLoss for InflatedLoss {
    fn loss(&self, d: f64) -> Bounds {
        inflated::loss(self.order, &self.interval(d), self.scale)
    }

    /// The hazard rate `f(x) / P[X > x]` at `x = (R-d)/b`, over the scale.
    fn rate(&self, d: f64) -> Bounds {
        let range = self.interval(d).range(self.scale, &Wide::ONE);
        let rest = (range - Wide::exact(d) / Wide::exact(self.scale)).bounds();
        let rest = Bounds::new(rest.lower().max(0.0), rest.upper().max(0.0));
        let power = self.order.power_bounds(rest);
        let ln_tail = ln_gamma_q(self.order.inverse(&Bounds::ONE), power);
        let hazard = (-power - ln_tail).exp().times_power_of_two(1) / self.order.mass(&Bounds::ONE);
        hazard / Bounds::exact(self.scale)
    }
}

/// The utility `-|y - s|^p` of the exponential mechanism moves by `R^p - (R-d)^p`, concave in `d`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct UtilityMove {
    pub(super) order: Order,
    pub(super) range: [f64; 2],
}

impl UtilityMove {
    fn width(&self) -> Wide {
        Wide::exact(self.range[0]) + Wide::exact(self.range[1])
    }

    fn rest(&self, d: f64) -> Wide {
        let rest = self.width() - Wide::exact(d);
        if rest.bounds().lower() > 0.0 { rest } else { Wide::ZERO.hull(rest.max(Wide::ZERO)) }
    }
}

impl CoordinateLoss for UtilityMove {
    fn loss(&self, d: f64) -> Bounds {
        (self.order.power(&self.width()) - self.order.power(&self.rest(d))).bounds()
    }

    fn rate(&self, d: f64) -> Bounds {
        let order = self.order.get();
        let rest = self.rest(d).bounds();
        let rest = Bounds::new(rest.lower().max(0.0), rest.upper().max(0.0));
        let steep = if order == 1.0 { Bounds::ONE } else { rest.pow(order - 1.0) };
        Bounds::exact(order) * steep
    }
}
