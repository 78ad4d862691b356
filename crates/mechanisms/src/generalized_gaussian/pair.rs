//! Two coordinates: their joint delta as a Taylor series around any point.
//!
//! # Formula
//! Let `D_i(y) = E[(1 - e^(y - L_i))_+]` be the delta of a coordinate and `S_i(y) = P[L_i > y]`, so
//! that `S = D - D'`. For any corner `a` with `l = L_1(a)` and `m = e - l`, the noise that loses
//! more than `e` lies where `x_1 <= a`, or where `L_2 <= m`, or beyond both, where everything does:
//!
//! `D_12(e) = E[D_2(e - L_1); x_1 <= a] + E[D_1(e - L_2); L_2 <= m] + S_1(l) D_2(m) - D_1(l)
//! D_2'(m)`,
//!
//! the last two terms being `S_1 S_2 - e^e E[e^-L_1; L_1 > l] E[e^-L_2; L_2 > m]`, with
//! `E[e^-L; L > y] = e^-y (S(y) - D(y))`. For Proposition 8 `S` takes the point of `D`, and the
//! last terms are `S_1(l) S_2(m)`.
//!
//! # Why a corner
//! `D_i(y)` is smooth on the scale of `|y|`, but only on that of `u_i^p` around zero. With a corner
//! half way, `l` and `m` about `e/2`, `D_2` is asked at `m` and beyond and `D_1` at `l` and beyond:
//! the integrands are smooth on the scale of `e` wherever `e` is larger than `u_1^p`, and a few
//! dozen pieces of noise do. Where `e` is less, `D_1` is smooth enough everywhere, and the corner
//! is put at infinity.
//!
//! # Series
//! As `e` becomes `e - s` with `a` fixed, `m` becomes `m - s`: the second term loses
//! `∫_0^s D_1(l - (s - h)) g_2(m - h) dh`, where `g_2` is the density of `L_2`, that is
//! `sum d_i g_j i! j! / (i + j + 1)! s^(i+j+1)` in the coefficients of the two. All else is a
//! series term by term.
//!
//! # Direction of error
//! Outward. Noise beyond the reach is left out, here of one coordinate or both, and the caller adds
//! its mass.

use super::expansions::Expansions;
use super::inner_product::{inner_product, times};
use super::moved_series::{Ball, KEPT, LAST, choose, moved};
use super::noise_tree::{NoiseTree, Piece};

use super::several::Losses;
use super::shift::Shift;
use super::taylor::{falling_exponential, product};
use reticent_numerics::rounding::{add_up, mul_up};
use reticent_numerics::{Bounds, Enclosure};

/// Below this many `u_1^p` the corner is at infinity.
const CORNER_FROM: f64 = 3.0;

/// The corner is moved by about this share of its point, to an end of pieces.
const CORNER_SHARE: f64 = 0.1;

/// The coefficients of `D_12(e - s)` in `s`.
pub(super) struct Series {
    /// At the point.
    pub(super) exact: Vec<Bounds>,
    /// At all points of the interval.
    pub(super) range: Vec<Bounds>,
    /// `D_12` may be larger than the series says by up to this.
    pub(super) left_out: f64,
    /// A contribution that nobody misses.
    negligible: f64,
}

impl Series {
    fn new(negligible: f64) -> Self {
        Series {
            negligible,
            exact: vec![Bounds::ZERO; LAST + 1],
            range: vec![Bounds::ZERO; LAST + 1],
            left_out: 0.0,
        }
    }

    /// From `D(e)` to `D(-e) = 1 - e^-e (1 - D(e))`.
    fn mirrored(&self, point: Bounds, around: Bounds) -> Self {
        let mirror = |coefficients: &[Bounds], point: Bounds| -> Vec<Bounds> {
            let signed =
                coefficients.iter().enumerate().map(|(k, &c)| if k % 2 == 0 { -c } else { c });
            let mut rest: Vec<Bounds> = signed.collect();
            rest[0] = rest[0] + Bounds::ONE;
            let mut result: Vec<Bounds> =
                product(&rest, &falling_exponential(point.exp(), LAST + 1))
                    .into_iter()
                    .map(|c| -c)
                    .collect();
            result[0] = result[0] + Bounds::ONE;
            result
        };
        Series {
            exact: mirror(&self.exact, point),
            range: mirror(&self.range, around),
            left_out: mul_up(self.left_out, around.exp().upper().max(1.0)),
            negligible: self.negligible,
        }
    }

    fn add(&mut self, exact: impl Fn(usize) -> Bounds, range: impl Fn(usize) -> Bounds) {
        for k in 0..=LAST {
            self.exact[k] = self.exact[k] + exact(k);
            self.range[k] = self.range[k] + range(k);
        }
    }
}

/// One of the two coordinates.
pub(super) struct Coordinate<'a> {
    pub(super) shift: &'a Shift,
    pub(super) delta: Expansions<'a>,
    pub(super) noise: NoiseTree<'a>,
}

/// Two coordinates, the one with the larger sensitivity first.
pub(super) struct Pair<'a> {
    pub(super) first: Coordinate<'a>,
    pub(super) second: Coordinate<'a>,
    pub(super) losses: Losses,
    pub(super) reach: f64,
    /// Pieces are as wide as the distance to the nearest singularity over this.
    pub(super) fineness: f64,
    /// A probability that nobody misses.
    pub(super) negligible: f64,
}

impl Pair<'_> {
    /// The series at `point`, and for all of `around`, which holds it. For Proposition 8 all of
    /// `around` is above the sum of the least losses.
    pub(super) fn series(&self, point: Bounds, around: Bounds, negligible: f64) -> Series {
        if self.losses == Losses::Both && point.upper() < 0.0 {
            return self.series(-point, -around, negligible).mirrored(point, around);
        }
        let mut series = Series::new(negligible);
        let least = if self.losses == Losses::Magnitudes {
            [self.first.delta.turn(), self.second.delta.turn()]
        } else {
            [0.0; 2]
        };
        let room = point.estimate() - least[0] - least[1];
        if self.losses == Losses::Both && room <= CORNER_FROM * self.first.delta.turn() {
            self.add_losses(
                &mut series,
                point,
                around,
                &self.second.noise,
                f64::INFINITY,
                f64::INFINITY,
                &self.first.delta,
                f64::NEG_INFINITY,
            );
            return series;
        }
        let target = least[0] + 0.5 * room;
        let corner = self
            .first
            .shift
            .threshold(target)
            .map_or(self.reach, |(low, _)| low.clamp(-self.reach, self.reach));
        let corner = self.first.noise.end_near(corner, CORNER_SHARE);
        let l = self.first.shift.loss_at(corner, 0.0);
        let (m, m_around) = (point - l, around - l);
        self.add_losses(
            &mut series,
            point,
            around,
            &self.first.noise,
            corner,
            f64::INFINITY,
            &self.second.delta,
            m_around.lower(),
        );
        let edge = |m: f64| {
            self.second.shift.threshold(m).map_or((self.reach, self.reach), |(low, high)| {
                (low.min(self.reach), high.min(self.reach))
            })
        };
        let (edge_low, edge_high) = (edge(m.lower()).0, edge(m.upper()).1);
        let (moving_low, moving_high) = (edge(m_around.lower()).0, edge(m_around.upper()).1);
        let noise = &self.second.noise;
        let near_corner = self
            .first
            .delta
            .over(Bounds::new(l.lower(), (l + around - Bounds::exact(around.lower())).upper()));
        self.add_losses(
            &mut series,
            point,
            around,
            noise,
            edge_low,
            moving_low,
            &self.first.delta,
            l.lower(),
        );
        // What the end of the second term moves over: nearly nothing at the point, more in all of
        // the interval.
        let (undecided, moved) = (
            Bounds::new(0.0, noise.mass_at_most(edge_low, edge_high)),
            noise.mass_at_most(moving_low, moving_high),
        );
        series.add(
            |k| times(undecided, near_corner[k]),
            |k| times(Bounds::new(-moved, moved), near_corner[k]),
        );
        self.add_corner(
            &mut series,
            &self.first.delta.at(l),
            &self.second.delta.at(m),
            &self.second.delta.over(m_around),
        );
        series
    }

    /// `E[D(e - L); x <= end]`, for which `e - L` is `least` or more. Of the noise up to `fixed`,
    /// what nobody misses is left out; beyond, the end moves with `e`.
    #[expect(
        clippy::too_many_arguments,
        reason = "one private step of `series`, which names them all"
    )]
    fn add_losses(
        &self,
        series: &mut Series,
        point: Bounds,
        around: Bounds,
        noise: &NoiseTree,
        end: f64,
        fixed: f64,
        delta: &Expansions,
        least: f64,
    ) {
        let left = |piece: &Piece| {
            let low = (Bounds::exact(around.lower()) - piece.most).lower().max(least);
            Bounds::new(low, (Bounds::exact(around.upper()) - piece.least).upper().max(low))
        };
        let fits = |piece: &Piece| {
            let y = left(piece);
            piece.span() <= delta.distance(y.lower(), y.upper()) / self.fineness
        };
        for piece in noise.up_to(end, &fits) {
            let range = delta.over(left(&piece));
            let mass = piece.moments[0];
            let bound = mul_up(mass.upper(), range[0].upper());
            if bound <= series.negligible && piece.high <= fixed {
                series.left_out = add_up(series.left_out, bound);
                continue;
            }
            let exact = delta.at(point - Bounds::exact(piece.centre));
            let expected = expectations(&exact, &range, &piece);
            series.add(|k| expected[k], |k| times(mass, range[k]));
        }
    }

    fn add_corner(
        &self,
        series: &mut Series,
        first: &[Bounds],
        second: &[Bounds],
        second_around: &[Bounds],
    ) {
        let count = |k: usize| Bounds::exact(k as f64);
        let both = self.losses == Losses::Both;
        // S = D + dD/ds.
        let tail = if both { first[0] + first[1] } else { first[0] };
        let beyond = |second: &[Bounds], k: usize| {
            let stays = times(tail, second[k]);
            if both { stays + times(first[0], times(count(k + 1), second[k + 1])) } else { stays }
        };
        let density = |second: &[Bounds], j: usize| {
            let slope = second[j + 1];
            times(
                count(j + 1),
                if both { slope + times(count(j + 2), second[j + 2]) } else { slope },
            )
        };
        let lost = |second: &[Bounds], k: usize| {
            let terms = (0..k).map(|i| (first[i] / choose(k - 1, i), density(second, k - 1 - i)));
            if k == 0 { Bounds::ZERO } else { inner_product(terms) / count(k) }
        };
        series.add(
            |k| beyond(second, k) - lost(second, k),
            |k| beyond(second_around, k) - lost(second_around, k),
        );
    }
}

/// The coefficients of `E[D(e - L - s); piece]`: `sum_n C(n + k, k) d_(n+k) E[(L - c)^n]`, with the
/// remainder at the last `n` that is even and known.
fn expectations(exact: &[Bounds], range: &[Bounds], piece: &Piece) -> [Bounds; LAST + 1] {
    let mut coefficients: Vec<Ball> = exact.iter().map(|&c| Ball::new(c)).collect();
    let known = (0..=KEPT)
        .rev()
        .find(|&k| range[k].is_finite() && coefficients[..k].iter().all(Ball::is_finite))
        .unwrap_or(0);
    std::array::from_fn(|k| {
        let plain = times(piece.moments[0], range[k]);
        if k >= known {
            return plain;
        }
        let last = (known - k).min(LAST) & !1;
        let kept = std::mem::replace(&mut coefficients[k + last], Ball::new(range[k + last]));
        let sum = moved(k, &coefficients, &piece.balls, last);
        coefficients[k + last] = kept;
        sum.intersect(plain)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generalized_gaussian::order::Order;
    use crate::generalized_gaussian::outer::Outer;
    use crate::generalized_gaussian::several;

    /// The series at a point, summed some way off, against the cubature for two coordinates there.
    #[test]
    fn the_series_is_the_delta_of_two_coordinates() {
        let cases = [
            (3.0, [1.0, 0.6], 3.0, 1.0),
            (4.0, [1.0, 0.9], 4.0, 0.5),
            (4.0, [1.0, 0.9], 4.0, 0.005),
            (5.0, [1.0, 0.2], 2.0, 2.0),
        ];
        for (order, sensitivities, scale, epsilon) in cases {
            let order = Order::new(order).expect("valid");
            let shifts = sensitivities.map(|sensitivity| Shift { order, sensitivity, scale });
            let reach = order.root_above(45.0);
            for losses in [Losses::Both, Losses::Magnitudes] {
                let coordinate = |shift| Coordinate {
                    shift,
                    delta: Expansions::new(Outer { shift, losses }, 12.0),
                    noise: NoiseTree::new(shift, losses, reach, &[], 1e-20),
                };
                let (first, second) = (coordinate(&shifts[0]), coordinate(&shifts[1]));
                let least = if losses == Losses::Both {
                    0.0
                } else {
                    first.delta.turn() + second.delta.turn()
                };
                let point = least + epsilon;
                let step = epsilon / 64.0;
                let pair = Pair { first, second, losses, reach, fineness: 12.0, negligible: 1e-20 };
                let series = pair.series(
                    Bounds::exact(point),
                    Bounds::new(point - step, point + step),
                    1e-18,
                );
                for s in [-step, 0.0, step] {
                    let powers = (0..LAST as u32).map(|k| Bounds::exact(s).powi(k));
                    let last = series.range[LAST] * Bounds::exact(s).powi(LAST as u32);
                    let sum = series
                        .exact
                        .iter()
                        .zip(powers)
                        .fold(last, |sum, (&c, power)| sum + c * power);
                    let plain =
                        several::delta(order, &sensitivities, scale, point - s, losses, &|_| false);
                    let context = format!("{order:?} {losses:?} {epsilon} {s}: {sum:?} {plain:?}");
                    assert!((sum.estimate() / plain.estimate() - 1.0).abs() < 3e-12, "{context}");
                    assert!(sum.width() < 1e-11 * plain.upper(), "{context}");
                }
            }
        }
    }
}
