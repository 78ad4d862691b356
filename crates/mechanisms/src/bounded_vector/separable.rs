//! The largest total of losses that one move of a vector can cause.
//!
//! Coordinates get independent noise, so the loss of a move `d` is the sum of the coordinates' own
//! losses `E_k(|d_k|)`, each at its worst answer and output; `E_k` increases with `d_k`. What
//! remains is the maximum over the moves that are possible.
//!
//! - One coordinate, two, or all of them by their own most: a maximum or a sum, exactly.
//! - Moves within an l_q ball of radius `B`, `q >= 1`: for any numbers `m_k >= 0`,
//!
//!   `sum E_k(d_k) <= sum (max_d E_k(d) - m_k d) + B ||m||_q*`, with `1/q + 1/q* = 1`,
//!
//!   by Hölder's inequality. At the best move, `m_k = E_k'(d_k)` makes it an equation wherever
//!   `E_k` is concave, which it is for clamped noise and for truncated noise of order 1 and 2. For
//!   other orders of truncated noise it need not be, and a gap can remain: the result is a bracket,
//!   from the loss of a move that was found to an upper bound that holds for all of them.
//! - A ball with `q < 1` lies inside the l1 ball of the same radius.

use crate::sensitivity::{Ball, Moves, norm_up};
use reticent_numerics::Bounds;
use reticent_numerics::rounding::{add_up, mul_up, sub_up};

/// The loss of one coordinate, by how far it moves.
pub(super) trait CoordinateLoss: PartialEq {
    /// Bounds on `E(d)`, the largest loss of a move by at most `d`.
    fn loss(&self, d: f64) -> Bounds;

    /// A lower bound on `E(d)`, which may be quicker.
    fn least_loss(&self, d: f64) -> f64 {
        self.loss(d).lower()
    }

    /// Bounds on `E'(d)` where `E` is concave; an estimate that only steers where it is not.
    fn rate(&self, d: f64) -> Bounds;

    /// An upper bound on `E(d) - rate d` for all `d` from 0 to `most`; `near` is about where the
    /// maximum is. That of [`below_tangent`] is for a concave `E`.
    fn above_line(&self, rate: f64, most: f64, near: f64) -> f64 {
        below_tangent(self, rate, most, near)
    }
}

/// `max E(d) - rate d` of a concave `E`, rounded up: `E` lies below its tangent at `near`.
pub(super) fn below_tangent<C: CoordinateLoss + ?Sized>(
    coordinate: &C,
    rate: f64,
    most: f64,
    near: f64,
) -> f64 {
    let (near, line) = (near.clamp(0.0, most), Bounds::exact(rate));
    let excess = coordinate.rate(near) - line;
    let here = (coordinate.loss(near) - line * Bounds::exact(near)).upper();
    let beyond = mul_up(excess.upper().max(0.0), sub_up(most, near));
    let before = mul_up((-excess).upper().max(0.0), near);
    add_up(here, add_up(beyond, before))
}

/// Bounds on the largest total loss.
pub(super) fn worst<C: CoordinateLoss>(coordinates: &[C], moves: &Moves) -> Bounds {
    match moves {
        Moves::One(distance) => each(coordinates, &vec![*distance; coordinates.len()])
            .into_iter()
            .fold(Bounds::ZERO, larger),
        Moves::Two(distance) => {
            let losses = each(coordinates, &vec![*distance; coordinates.len()]);
            let two = |side: fn(&Bounds) -> f64| {
                let mut ends: Vec<f64> = losses.iter().map(side).collect();
                ends.sort_by(|a, b| b.total_cmp(a));
                ends.into_iter().take(2).fold(Bounds::ZERO, |sum, end| sum + Bounds::exact(end))
            };
            Bounds::new(two(Bounds::lower).lower(), two(Bounds::upper).upper())
        }
        Moves::All { most, ball: None } => total(&each(coordinates, most)),
        Moves::All { most, ball: Some(ball) } => within(coordinates, most, *ball),
    }
}

fn larger(a: Bounds, b: Bounds) -> Bounds {
    Bounds::new(a.lower().max(b.lower()), a.upper().max(b.upper()))
}

fn total(losses: &[Bounds]) -> Bounds {
    losses.iter().fold(Bounds::ZERO, |sum, &loss| sum + loss)
}

/// Each coordinate's figure at its move, those of equal ones computed once.
fn each<C: CoordinateLoss>(coordinates: &[C], moves: &[f64]) -> Vec<Bounds> {
    each_once(
        coordinates,
        moves,
        |coordinate, d| {
            if d > 0.0 { coordinate.loss(d) } else { Bounds::ZERO }
        },
    )
}

fn each_once<C: CoordinateLoss, T: Copy>(
    coordinates: &[C],
    moves: &[f64],
    figure: impl Fn(&C, f64) -> T,
) -> Vec<T> {
    let mut figures: Vec<T> = Vec::with_capacity(moves.len());
    for (k, &d) in moves.iter().enumerate() {
        let same = (0..k).find(|&j| moves[j] == d && coordinates[j] == coordinates[k]);
        figures.push(same.map_or_else(|| figure(&coordinates[k], d), |j| figures[j]));
    }
    figures
}

/// The largest total within a ball and a box.
fn within<C: CoordinateLoss>(coordinates: &[C], most: &[f64], ball: Ball) -> Bounds {
    let q = ball.order.max(1.0);
    let caps: Vec<f64> = most.iter().map(|&most| most.min(ball.bound)).collect();
    let (found, multiplier) = best_move(coordinates, &caps, q, ball.bound);
    let alone = each_once(coordinates, &caps, |coordinate, d| coordinate.least_loss(d));
    let mut lower = alone.iter().copied().fold(0.0, f64::max);
    for candidate in [found.clone(), filled(&alone, &caps, q, ball.bound)] {
        if let Some(feasible) = shrunk(candidate, ball) {
            let losses = each_once(coordinates, &feasible, |coordinate, d| {
                if d > 0.0 { coordinate.least_loss(d) } else { 0.0 }
            });
            let sum = losses.iter().fold(Bounds::ZERO, |sum, &loss| sum + Bounds::exact(loss));
            lower = lower.max(sum.lower());
        }
    }
    // Where a coordinate goes as far as it can, its own slope is more than what the ball charges.
    let tangents: Vec<f64> = found
        .iter()
        .zip(&caps)
        .zip(coordinates)
        .map(|((&d, &cap), coordinate)| {
            let charged = multiplier * d.powf(q - 1.0);
            if d < cap { coordinate.rate(d).estimate() } else { charged }
        })
        .collect();
    let chords: Vec<f64> = alone.iter().zip(&caps).map(|(&loss, &cap)| loss / cap).collect();
    let corner = total(&each(coordinates, &caps)).upper();
    let upper = [tangents, chords]
        .iter()
        .filter(|rates| rates.iter().all(|rate| rate.is_finite() && *rate >= 0.0))
        .map(|rates| below_lines(coordinates, &caps, &found, rates, q, ball.bound))
        .fold(corner, f64::min);
    Bounds::new(lower.min(upper), upper)
}

/// `sum max_d (E_k(d) - m_k d) + B ||m||_q*`, rounded up.
fn below_lines<C: CoordinateLoss>(
    coordinates: &[C],
    caps: &[f64],
    near: &[f64],
    rates: &[f64],
    q: f64,
    bound: f64,
) -> f64 {
    let mut excesses: Vec<f64> = Vec::with_capacity(rates.len());
    for k in 0..rates.len() {
        let same = (0..k).find(|&j| {
            caps[j] == caps[k] && rates[j] == rates[k] && coordinates[j] == coordinates[k]
        });
        excesses.push(match same {
            Some(j) => excesses[j],
            None => coordinates[k].above_line(rates[k], caps[k], near[k]),
        });
    }
    // 1/q* = 1 - 1/q, in f64: a smaller conjugate has a larger norm, so it is rounded down.
    let conjugate = match q {
        1.0 => f64::INFINITY,
        _ => (Bounds::exact(q) / (Bounds::exact(q) - Bounds::ONE)).lower(),
    };
    let dual = mul_up(bound, norm_up(rates, conjugate));
    excesses.into_iter().fold(dual, add_up)
}

/// A move of about the largest total within the ball, and its multiplier: where
/// `E_k'(d_k) = multiplier d_k^(q-1)`. It is only tried, and proves nothing.
fn best_move<C: CoordinateLoss>(
    coordinates: &[C],
    caps: &[f64],
    q: f64,
    bound: f64,
) -> (Vec<f64>, f64) {
    let at = |multiplier: f64| {
        each_once(coordinates, caps, |coordinate, cap| {
            let worth = |d: f64| coordinate.rate(d).estimate() >= multiplier * d.powf(q - 1.0);
            if worth(cap) {
                return cap;
            }
            let (mut low, mut high) = (0.0, cap);
            for _ in 0..STEPS {
                let middle = 0.5 * (low + high);
                if worth(middle) { low = middle } else { high = middle }
            }
            low
        })
    };
    let size = |d: &[f64]| norm_up(d, q);
    let typical = coordinates[0].rate(0.5 * caps[0]).estimate() / caps[0].powf(q - 1.0);
    let (mut low, mut high) = (typical, typical);
    for _ in 0..60 {
        if size(&at(low)) > bound {
            break;
        }
        low /= 8.0;
    }
    for _ in 0..60 {
        if size(&at(high)) <= bound {
            break;
        }
        high *= 8.0;
    }
    for _ in 0..STEPS {
        let middle = (low * high).sqrt();
        if size(&at(middle)) > bound { low = middle } else { high = middle }
    }
    // A loss that grows at a constant rate jumps from nothing to all: what is between is as good.
    let (far, near) = (at(low), at(high));
    let between = |share: f64| -> Vec<f64> {
        near.iter().zip(&far).map(|(near, far)| near + share * (far - near)).collect()
    };
    let (mut inside, mut outside) = (0.0, 1.0);
    for _ in 0..STEPS {
        let middle = 0.5 * (inside + outside);
        if size(&between(middle)) > bound { outside = middle } else { inside = middle }
    }
    (between(inside), high)
}

/// Steps of a bisection: to about a billionth.
const STEPS: u32 = 32;

/// The coordinates that lose most for what they take of the ball as far as they can go, one after
/// the other: for losses that are not concave.
fn filled(alone: &[f64], caps: &[f64], q: f64, bound: f64) -> Vec<f64> {
    let worth = |k: usize| alone[k] / caps[k].powf(q);
    let mut order: Vec<usize> = (0..caps.len()).filter(|&k| caps[k] > 0.0).collect();
    order.sort_by(|&a, &b| worth(b).total_cmp(&worth(a)));
    let (mut left, mut moved) = (1.0, vec![0.0; caps.len()]);
    for k in order {
        let share: f64 = (caps[k] / bound).powf(q);
        let taken = share.min(left);
        moved[k] = if share <= left { caps[k] } else { bound * taken.powf(1.0 / q) };
        left -= taken;
    }
    moved
}

/// A move a little shorter, which is certain to be within the ball.
fn shrunk(moved: Vec<f64>, ball: Ball) -> Option<Vec<f64>> {
    [0.0, 1e-12, 1e-9, 1e-6, 1e-3].into_iter().find_map(|by| {
        let shorter: Vec<f64> = moved.iter().map(|d| d * (1.0 - by)).collect();
        (norm_up(&shorter, ball.order) <= ball.bound).then_some(shorter)
    })
}
