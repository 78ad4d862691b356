//! The privacy profile of all releases together, bounded from one side.

use super::convolution::Spectrum;
use super::frame::{Frame, moved, offset, support};
use super::grid::Masses;
use super::saturation::Excess;
use crate::AccountingError;
use realfft::RealFftPlanner;
use reticent_numerics::rounding::{
    add_down, add_up, div_up, exp_down, exp_m1_down, exp_m1_up, exp_up, mul_down, mul_up, sub_down,
    sub_up,
};
use reticent_numerics::{Bounds, Enclosure, nearest, sum_bounds};

/// Which side a bound is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// At most the exact value.
    Lower,
    /// At least the exact value.
    Upper,
}

/// Where a curve falls to a `delta`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Crossing {
    /// At this `epsilon`, on the side of the curve.
    At(f64),
    /// Before this, the first loss of the frame.
    Before(f64),
    /// After this, the last loss of the frame.
    Beyond(f64),
}

/// `delta` at the grid points of a frame.
///
/// Each distribution is tilted by `e^(lambda x)`, so that the losses that decide `delta` are the
/// largest masses of the sum, and `delta` follows from the tilted masses `y` by a recursion of
/// positive terms:
///
/// `delta(x_j) = e^(K - lambda x_j) G_j`, `T_j = y_j + e^(-lambda h) T_(j+1)`,
/// `G_j = e^(-lambda h) (e^-h G_(j+1) + (1 - e^-h) T_(j+1))`.
///
/// Every `y` and every factor is moved to the side of the bound. The direction of each error, and
/// what mass outside the frame can do: docs/proofs/composition_by_transform.md, sections 4 and 5.
#[derive(Debug)]
pub(super) struct Curve {
    frame: Frame,
    side: Side,
    /// `G`, with all margins.
    values: Vec<f64>,
    /// `K`.
    log_scale: Bounds,
    /// The sum of the offsets of all grids: the loss of an index is this and the multiple of the
    /// step. All else is computed as if it was zero.
    offset: Bounds,
    /// What is added after all else.
    infinite: f64,
    /// What is taken off after that, from below.
    excess: Excess,
    /// `y`.
    sum: Sum,
}

/// The tilted masses of a sum around a circle.
#[derive(Debug)]
struct Sum {
    masses: Vec<f64>,
    /// At least the error of each.
    error: f64,
    /// At least the mass left of the frame, and right of it; it has come around the circle.
    outside: (f64, f64),
}

impl Curve {
    /// Composes distributions, each with its count.
    pub(super) fn new(
        terms: &[(Masses, u64)],
        frame: Frame,
        side: Side,
        planner: &mut RealFftPlanner<f64>,
    ) -> Result<Self, AccountingError> {
        let failed = |what: &str| AccountingError::NotProved(what.to_string());
        let offset = offset(terms);
        let frame = Frame { first: frame.first - moved(terms, frame.step), ..frame };
        let mut log_scale = Bounds::ZERO;
        let mut tails = LogTails::NONE;
        let mut all = Vec::with_capacity(terms.len());
        for (masses, times) in terms {
            // Any number would do; this one makes the total about 1.
            let log_mass = masses.log_moment_by_index(frame.step, frame.tilt).estimate();
            let log_mass = if log_mass.is_finite() { log_mass } else { 0.0 };
            let tilted = tilted(masses, frame, log_mass, side);
            log_scale = log_scale + Bounds::exact(log_mass) * Bounds::exact(*times as f64);
            tails.add(masses, log_mass, *times, frame);
            all.push((tilted, *times));
        }
        // The longest first: by the time short ones are added, few frequencies are left.
        all.sort_by_key(|(tilted, _)| std::cmp::Reverse(tilted.masses.len()));
        let mut spectrum = Spectrum::new(frame.size, planner);
        if !all.iter().all(|(tilted, times)| spectrum.add(tilted, *times)) {
            return Err(failed("a Fourier transform was refused"));
        }
        let (masses, error) = spectrum
            .masses()
            .ok_or_else(|| failed("the error of a Fourier transform is not bounded"))?;
        let (least, greatest) = support(terms);
        let outside = tails.outside(frame, (least, greatest));
        let (outside_left, outside_right) = outside;
        if !(outside_left + outside_right).is_finite() {
            return Err(failed("the mass outside the frame is not bounded"));
        }
        let sum = Sum { masses, error, outside };
        let excess = Excess::of(terms, frame.step, frame.falling);
        let mut curve = Curve {
            frame,
            side,
            values: Vec::new(),
            log_scale,
            offset,
            infinite: infinite(terms, side),
            excess,
            sum,
        };
        curve.values = match side {
            Side::Upper => curve.recursion(error, outside_right),
            Side::Lower => {
                let outside =
                    div_up(add_up(outside_left, outside_right), add_down(frame.tilt, 1.0));
                curve.recursion(-error, -outside)
            }
        };
        Ok(curve)
    }

    /// `G`, with `shift` added to every mass and `extra` to every value.
    fn recursion(&self, shift: f64, extra: f64) -> Vec<f64> {
        /// More than what is below the normal range adds up to.
        const TINY: f64 = 1e-300;
        let Frame { step, first, size, tilt, .. } = self.frame;
        let masses = &self.sum.masses;
        // e^(-lambda h), e^-h and 1 - e^-h.
        let (decay, shrink, rise) = match self.side {
            Side::Upper => (exp_up(-mul_down(tilt, step)), exp_up(-step), -exp_m1_down(-step)),
            Side::Lower => (exp_down(-mul_up(tilt, step)), exp_down(-step), -exp_m1_up(-step)),
        };
        let rounding = 4.0 * f64::EPSILON * (size as f64 + 16.0);
        let (factor, tiny) = match self.side {
            Side::Upper => (1.0 + rounding, TINY),
            Side::Lower => (1.0 - rounding, -TINY),
        };
        let mut values = vec![0.0; size];
        let (mut total, mut gain) = (0.0, 0.0);
        let mut position = (first + size as i64).rem_euclid(size as i64) as usize;
        let mut further = 0.0_f64;
        let mut distance_factor = if self.side == Side::Upper { 1.0 } else { 0.0 };
        for value in values.iter_mut().rev() {
            gain = decay * (shrink * gain + rise * total);
            position = if position == 0 { size - 1 } else { position - 1 };
            total = (masses[position] + shift).max(0.0) + decay * total;
            // Mass beyond the frame counts for e^(-lambda d) at the distance d of its end, or, from
            // below, for the most at any distance.
            let beyond = if self.side == Side::Upper { extra * distance_factor } else { extra };
            let here = (gain * factor + beyond * (1.0 + 1e-8) + tiny).max(0.0);
            // As delta falls, a lower bound further right is one here too.
            further =
                if self.side == Side::Lower { here.max(mul_down(further, decay)) } else { here };
            *value = further;
            distance_factor = mul_up(distance_factor, decay);
        }
        values
    }

    /// The position next to an `epsilon`, about, and at least its distance. `None` outside of the
    /// frame.
    pub(super) fn nearest(&self, epsilon: f64) -> Option<(usize, f64)> {
        let index = ((epsilon - self.offset.estimate()) / self.frame.step).round()
            - self.frame.first as f64;
        let position =
            (index >= 0.0 && index < self.frame.size as f64).then_some(index as usize)?;
        let distance = Bounds::exact(epsilon) - self.loss(position);
        Some((position, distance.upper().max(-distance.lower())))
    }

    /// At least `E e^(-r |T - x|)` for the sum `T` of these finite masses and the grid point `x` at
    /// a position, up to a relative 1e-7 of rounding. The rate `r` must exceed the tilt.
    ///
    /// It is `e^(K - lambda x) sum_l y_l e^(-lambda (x_l - x) - r |x_l - x|)`, whose weights fall
    /// on both sides; so does that of mass outside the frame, which is counted at the frame's ends.
    /// Where weights are below `LEAST` they are taken for that.
    pub(super) fn exponential_mean(&self, position: usize, rate: f64) -> f64 {
        const LEAST: f64 = 1e-35;
        let Frame { step, first, size, tilt, .. } = self.frame;
        let at = |position: usize| {
            self.sum.masses[(first + position as i64).rem_euclid(size as i64) as usize].max(0.0)
                + self.sum.error
        };
        let one_side = |positions: &mut dyn Iterator<Item = usize>, decay: f64, outside: f64| {
            let mut weight = 1.0;
            let mut sum = 0.0;
            for position in positions {
                weight = f64::max(weight * decay, LEAST);
                sum += weight * at(position);
            }
            sum + weight * outside
        };
        let falling = exp_up(mul_up(sub_up(tilt, rate), step));
        let left = one_side(&mut (0..position).rev(), falling, self.sum.outside.0);
        let falling = exp_up(-mul_down(add_down(tilt, rate), step));
        let right = one_side(&mut (position + 1..size), falling, self.sum.outside.1);
        let exponent = self.log_scale - Bounds::exact(tilt) * self.by_index(position);
        exponent.exp().upper() * (left + at(position) + right)
    }

    /// The loss of a grid point.
    fn loss(&self, position: usize) -> Bounds {
        self.offset + self.by_index(position)
    }

    /// The same if the offset was zero.
    fn by_index(&self, position: usize) -> Bounds {
        Bounds::exact((self.frame.first + position as i64) as f64) * Bounds::exact(self.frame.step)
    }

    /// `delta` at a grid point, on the side of this curve.
    fn delta(&self, position: usize) -> f64 {
        let exponent = self.log_scale - Bounds::exact(self.frame.tilt) * self.by_index(position);
        let delta =
            exponent.exp() * Bounds::exact(self.values[position]) + Bounds::exact(self.infinite);
        match self.side {
            Side::Upper if delta.upper() < 1.0 => delta.upper(),
            Side::Upper => 1.0,
            // With the excess of the next grid point, no bound between the two is too high.
            Side::Lower => {
                sub_down(delta.lower(), self.excess.at(self.loss(position + 1).upper())).max(0.0)
            }
        }
    }

    /// `delta` at an index, on the side of this curve, where it says something. It falls, so that
    /// outside the frame its ends do on one side.
    pub(super) fn delta_at_index(&self, index: i64) -> Option<f64> {
        let last = self.values.len() - 1;
        match (usize::try_from(index - self.frame.first), self.side) {
            (Ok(position), _) if position <= last => Some(self.delta(position)),
            (Ok(_), Side::Upper) => Some(self.delta(last)),
            (Err(_), Side::Lower) => Some(self.delta(0)),
            _ => None,
        }
    }

    /// Where `delta` falls to `target`, on the side of this curve, which is linear in `e^epsilon`
    /// between grid points.
    pub(super) fn epsilon(&self, target: f64) -> Crossing {
        let (mut above, mut below) = (0, self.values.len() - 1);
        if self.delta(above) <= target {
            return Crossing::Before(self.loss(above).upper());
        }
        if self.delta(below) > target {
            return Crossing::Beyond(self.loss(below).lower());
        }
        while below - above > 1 {
            let middle = above + (below - above) / 2;
            if self.delta(middle) > target { above = middle } else { below = middle }
        }
        // e^x = e^from (1 + (e^h - 1) share)
        let (high, low) = (Bounds::exact(self.delta(above)), Bounds::exact(self.delta(below)));
        let share = ((high - Bounds::exact(target)) / (high - low)).clamp(0.0, 1.0);
        let epsilon = self.loss(above) + (share * Bounds::exact(self.frame.step).exp_m1()).ln_1p();
        Crossing::At(match self.side {
            Side::Upper => epsilon.upper().min(self.loss(below).upper()),
            Side::Lower => epsilon.lower().max(self.loss(above).lower()),
        })
    }

    /// `delta` at an `epsilon`, on the side of this curve. It falls, so that outside the frame its
    /// ends say something on one side.
    pub(super) fn delta_at(&self, epsilon: f64) -> f64 {
        let last = self.values.len() - 1;
        let (before, beyond) = (self.loss(0).upper() > epsilon, self.loss(last).upper() <= epsilon);
        match self.side {
            Side::Upper if before => return 1.0,
            Side::Upper if beyond => return self.delta(last),
            Side::Lower if before => return self.delta(0),
            Side::Lower if beyond => {
                return sub_down(self.infinite, self.excess.at(epsilon)).max(0.0);
            }
            _ => {}
        }
        // The quotient may have been rounded over a grid point.
        let near = (((epsilon - self.offset.estimate()) / self.frame.step).floor() as i64
            - self.frame.first)
            .clamp(0, last as i64 - 1) as usize;
        let position = (near.saturating_sub(1)..=(near + 1).min(last - 1))
            .rev()
            .find(|&position| self.loss(position).upper() <= epsilon);
        let position = position.unwrap_or(0);
        let (high, low) = (self.delta(position), self.delta(position + 1));
        let along = Bounds::exact(epsilon) - self.loss(position);
        let share = (along.exp_m1() / Bounds::exact(self.frame.step).exp_m1()).clamp(0.0, 1.0);
        let delta = Bounds::exact(high) - share * (Bounds::exact(high) - Bounds::exact(low));
        match self.side {
            Side::Upper => delta.upper().min(1.0),
            Side::Lower => delta.lower().max(0.0),
        }
    }
}

/// `w e^(lambda x - kappa)`, rounded to the side of the bound.
///
/// A relative `4 u (|lambda x| + |kappa| + 4)` is allowed for rounding, with `u` half an ulp of 1
/// (docs/proofs/composition_by_transform.md, section 4). Where that is no longer small nothing is
/// claimed.
fn tilted(masses: &Masses, frame: Frame, log_mass: f64, side: Side) -> Masses {
    let sign = if side == Side::Upper { 1.0 } else { -1.0 };
    let tilt = |(i, &mass): (usize, &f64)| {
        let exponent = frame.tilt * ((masses.first + i as i64) as f64 * frame.step);
        let slack = 2.0 * f64::EPSILON * (exponent.abs() + log_mass.abs() + 4.0);
        if slack > 1e-3 {
            return if side == Side::Upper { f64::INFINITY } else { 0.0 };
        }
        let value = nearest::exp(exponent - log_mass) * mass * (1.0 + sign * slack);
        // Below the normal range rounding is no longer relative.
        if value > 1e-300 || mass == 0.0 {
            value
        } else if side == Side::Upper {
            1e-300
        } else {
            0.0
        }
    };
    Masses {
        first: masses.first,
        offset: 0.0,
        masses: masses.masses.iter().enumerate().map(tilt).collect(),
        infinite: masses.infinite,
        saturated: masses.saturated,
    }
}

/// Chernoff's bounds on the tilted mass of the sum outside a frame, as logarithms.
#[derive(Debug)]
struct LogTails {
    left: Bounds,
    right: Bounds,
}

impl LogTails {
    /// Of the sum of nothing.
    const NONE: LogTails = LogTails { left: Bounds::ZERO, right: Bounds::ZERO };

    /// Adds `times ln sum w e^(s x - kappa)` for both tilts `s`. Of the exact masses, because those
    /// which were raised to the normal range weigh too much far from the tilt.
    fn add(&mut self, masses: &Masses, log_mass: f64, times: u64, frame: Frame) {
        let log = |s: f64| {
            (masses.log_moment_by_index(frame.step, s) - Bounds::exact(log_mass))
                * Bounds::exact(times as f64)
        };
        self.left = self.left + log(frame.below);
        self.right = self.right + log(frame.above);
    }

    /// `P[S < x_first]` and `P[S > x_last]`, where sums lie between two indices; none is outside of
    /// a frame that holds them all.
    fn outside(&self, frame: Frame, (least, greatest): (i128, i128)) -> (f64, f64) {
        let Frame { step, first, tilt, below, above, .. } = frame;
        let last = frame.last();
        // e^(log - (s - lambda) x)
        let bound = |log: Bounds, s: f64, index: i64| {
            let x = Bounds::exact(index as f64) * Bounds::exact(step);
            (log - (Bounds::exact(s) - Bounds::exact(tilt)) * x).exp().upper()
        };
        let left = if least >= i128::from(first) { 0.0 } else { bound(self.left, below, first) };
        let right = if greatest <= i128::from(last) { 0.0 } else { bound(self.right, above, last) };
        (left, right)
    }
}

/// The probability that some loss is infinite.
///
/// From above `1 - prod (1 - v_i)^(k_i)`; from below, with finite masses `F_i`,
/// `prod F_i^(k_i) (exp(sum k_i ln(1 + v_i / F_i)) - 1)` (docs/proofs/composition_by_transform.md,
/// section 6).
pub(super) fn infinite(terms: &[(Masses, u64)], side: Side) -> f64 {
    if side == Side::Upper {
        return some_infinite(
            terms.iter().map(|(masses, times)| (Bounds::exact(masses.infinite), *times)),
        )
        .upper();
    }
    if terms.iter().all(|(masses, _)| masses.infinite == 0.0) {
        return 0.0;
    }
    let (mut excess, mut finite) = (Bounds::ZERO, Bounds::ZERO);
    for (masses, times) in terms {
        let sum = Bounds::exact(
            sum_bounds(masses.masses.iter().map(|&mass| Bounds::exact(mass))).lower(),
        );
        let times = Bounds::exact(*times as f64);
        excess = excess + times * (Bounds::exact(masses.infinite) / sum).ln_1p();
        finite = finite + times * sum.ln();
    }
    (finite.exp() * excess.exp_m1()).lower().max(0.0)
}

/// `1 - prod (1 - v_i)^(k_i)`: the probability that one of several things happens, `k_i` of them
/// with the probability `v_i`.
pub(super) fn some_infinite(terms: impl Iterator<Item = (Bounds, u64)>) -> Bounds {
    let log_none = terms.fold(Bounds::ZERO, |sum, (infinite, times)| {
        if infinite.upper() == 0.0 {
            sum
        } else {
            sum + (-infinite).ln_1p() * Bounds::exact(times as f64)
        }
    });
    (-log_none.exp_m1()).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(first: i64, size: usize, tilt: f64) -> Frame {
        Frame { step: 0.25, first, size, tilt, below: tilt - 2.0, above: tilt + 2.0, falling: 0.0 }
    }

    /// Masses of a loss with an infinite part, as multiples of a power of two.
    fn masses() -> Masses {
        Masses {
            first: -1,
            offset: 0.0,
            masses: vec![0.25, 0.125, 0.5, 0.0625],
            infinite: 0.0625,
            saturated: 0.0,
        }
    }

    /// `delta` of `times` such losses, by plain convolution.
    fn slowly(masses: &Masses, times: u64, x: f64, step: f64) -> f64 {
        let mut sum = vec![1.0];
        for _ in 0..times {
            let mut next = vec![0.0; sum.len() + masses.masses.len() - 1];
            for (i, a) in sum.iter().enumerate() {
                for (j, b) in masses.masses.iter().enumerate() {
                    next[i + j] += a * b;
                }
            }
            sum = next;
        }
        let loss = |i: usize| (masses.first * times as i64 + i as i64) as f64 * step;
        let finite: f64 =
            sum.iter().enumerate().map(|(i, mass)| mass * -(x - loss(i)).min(0.0).exp_m1()).sum();
        finite + 1.0 - (1.0 - masses.infinite).powi(times as i32)
    }

    #[test]
    fn both_sides_hold_the_convolution() {
        let mut planner = RealFftPlanner::new();
        for times in [1, 3, 12] {
            // The second frame does not hold all sums.
            for (first, size) in [(-16, 64), (-2, 16)] {
                for tilt in [0.0, 1.5] {
                    let terms = [(masses(), times)];
                    let frame = frame(first, size, tilt);
                    let upper =
                        Curve::new(&terms, frame, Side::Upper, &mut planner).expect("a curve");
                    let lower =
                        Curve::new(&terms, frame, Side::Lower, &mut planner).expect("a curve");
                    for x in [-0.25, 0.0, 0.3, 0.5, 2.0] {
                        let exact = slowly(&masses(), times, x, frame.step);
                        let found = (lower.delta_at(x), upper.delta_at(x));
                        assert!(
                            found.0 <= exact + 1e-14 && found.1 >= exact - 1e-14,
                            "{times} {size} {tilt} at {x}: {found:?} {exact}"
                        );
                        if size == 64 {
                            assert!(
                                found.1 - found.0 < 1e-11,
                                "{times} {tilt} at {x}: {found:?} {exact}"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_crossing_is_where_delta_says() {
        let mut planner = RealFftPlanner::new();
        let terms = [(masses(), 5)];
        for side in [Side::Lower, Side::Upper] {
            let curve =
                Curve::new(&terms, frame(-16, 64, 1.0), side, &mut planner).expect("a curve");
            let Crossing::At(epsilon) = curve.epsilon(0.4) else { unreachable!("0.4 is inside") };
            assert!((slowly(&masses(), 5, epsilon, 0.25) - 0.4).abs() < 1e-11);
            assert_eq!(curve.epsilon(0.1), Crossing::Beyond(curve.loss(63).lower()));
        }
    }

    #[test]
    fn tiny_infinite_masses_do_not_cancel() {
        let masses =
            Masses { first: 0, offset: 0.0, masses: vec![1.0], infinite: 1e-20, saturated: 0.0 };
        assert!((infinite(&[(masses.clone(), 10)], Side::Lower) / 1e-19 - 1.0).abs() < 1e-12);
        assert!((infinite(&[(masses, 10)], Side::Upper) / 1e-19 - 1.0).abs() < 1e-12);
        let half =
            Masses { first: 0, offset: 0.0, masses: vec![0.5], infinite: 0.5, saturated: 0.0 };
        assert!((infinite(&[(half, 3)], Side::Upper) - 0.875).abs() < 1e-14);
    }
}
