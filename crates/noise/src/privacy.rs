//! The privacy that a noise gives, from its density and tails alone.
//!
//! This is the definition made computable, for any [`Noise`] and with no formula of its own: the
//! mechanisms' closed forms are checked against it.

use crate::noise::Noise;
use reticent_numerics::{Bounds, Enclosure, ExactSum};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// What an answer that moves by a distance reveals at a given `epsilon`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Violation {
    /// `P[L > epsilon]` for the privacy loss `L = ln(f(X) / f(X + D))`: the upper tail of the loss
    /// distribution, and the `delta` of (one-sided) probabilistic differential privacy.
    pub probability: Bounds,
    /// The probability of the same outputs when the answer has moved.
    pub moved_probability: Bounds,
    /// `∫ max(0, f(x) - e^epsilon f(x + D)) dx`, the hockey-stick divergence: the least `delta` for
    /// this distance.
    pub delta: Bounds,
}

/// Pieces of the line that are looked at before the rest is left open.
const PIECES: usize = 200_000;

/// The share of the decided probability that may be left open.
const LEFT_OPEN: f64 = 1e-13;

/// Computes the [`Violation`] of `scale * X` moved by `distance`, for `epsilon >= 0`.
///
/// # Method
/// The loss exceeds `epsilon` on `{x : f(|x|) > e^epsilon f(|x + d|)}`, `d = distance / scale`.
/// Left of `-d/2` it is at most zero. What is to the right is cut into pieces; on each, bounds on
/// the two monotone densities at its ends decide that the loss exceeds `epsilon` everywhere, or
/// nowhere, or neither, and then the piece is halved, the most probable ones first. The probability
/// of decided pieces is a difference of tails. Pieces still open at the end count with all that
/// they may contribute. (A loss that comes within a small margin of `epsilon` on a long stretch, as
/// that of Laplace noise does, takes pieces as short as the margin: there the mechanisms' own
/// formulas are sharper.)
pub fn violation<N: Noise>(noise: &N, scale: f64, distance: f64, epsilon: f64) -> Violation {
    if !(epsilon >= 0.0 && epsilon.is_finite() && distance.is_finite() && scale > 0.0) {
        let anything = Bounds::new(0.0, 1.0);
        return Violation { probability: anything, moved_probability: anything, delta: anything };
    }
    // The noise is symmetric: a move to either side reveals the same.
    let shift = Bounds::exact(distance.abs()) / Bounds::exact(scale);
    let line = Line { noise, shift, factor: Bounds::exact(epsilon).exp() };
    let mut totals = Totals::default();
    let mut open = BinaryHeap::new();
    let mut open_mass = 0.0;
    let decide = |from: f64, to: f64, totals: &mut Totals, open: &mut BinaryHeap<Piece>| -> f64 {
        match line.exceeds(from, to) {
            Some(false) => 0.0,
            Some(true) => {
                totals.add(line.masses(from, to), line.factor);
                0.0
            }
            None => {
                let mass = line.masses(from, to).0.upper();
                open.push(Piece { mass, from, to });
                mass
            }
        }
    };
    for (from, to) in line.pieces() {
        open_mass += decide(from, to, &mut totals, &mut open);
    }
    for _ in 0..PIECES {
        if open_mass <= LEFT_OPEN * totals.probability.0.lower() {
            break;
        }
        let Some(piece) = open.pop() else { break };
        let Some(middle) = piece.middle() else {
            // As short as f64 allows, or endless: it stays open.
            totals.add_open(line.masses(piece.from, piece.to), line.excess(piece.from, piece.to));
            open_mass -= piece.mass;
            continue;
        };
        open_mass -= piece.mass;
        open_mass += decide(piece.from, middle, &mut totals, &mut open);
        open_mass += decide(middle, piece.to, &mut totals, &mut open);
    }
    for piece in open {
        totals.add_open(line.masses(piece.from, piece.to), line.excess(piece.from, piece.to));
    }
    totals.normalised(noise.mass(&Bounds::ONE))
}

/// A piece of the line on which nothing is decided yet; the most probable is the greatest.
struct Piece {
    mass: f64,
    from: f64,
    to: f64,
}

impl Piece {
    fn middle(&self) -> Option<f64> {
        let middle = 0.5 * (self.from + self.to);
        (self.from < middle && middle < self.to).then_some(middle)
    }
}

impl Ord for Piece {
    fn cmp(&self, other: &Self) -> Ordering {
        self.mass.total_cmp(&other.mass)
    }
}

impl PartialOrd for Piece {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Piece {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Piece {}

struct Line<'a, N> {
    noise: &'a N,
    shift: Bounds,
    factor: Bounds,
}

impl<N: Noise> Line<'_, N> {
    /// Pieces from `-d/2` on, longer and longer, to where nothing is left or `f64` ends.
    fn pieces(&self) -> Vec<(f64, f64)> {
        let start = (-self.shift.times_power_of_two(-1)).lower();
        let mut pieces = vec![(start, 0.0)];
        let mut from = 0.0;
        let mut to = self.noise.magnitude();
        while self.noise.tail_bounds(Bounds::exact(from)).upper() > 1e-320 && to < 1e300 {
            pieces.push((from, to));
            (from, to) = (to, 2.0 * to);
        }
        pieces.push((from, f64::INFINITY));
        pieces
    }

    /// `c f(|x|)` over `from <= x <= to`, a piece that does not reach over zero.
    fn density(&self, from: f64, to: f64) -> Bounds {
        let (near, far) = if from >= 0.0 { (from, to) } else { (-to, -from) };
        let least = if far.is_finite() {
            self.noise.density_bounds(Bounds::exact(far.max(0.0))).lower()
        } else {
            0.0
        };
        Bounds::new(least.max(0.0), self.noise.density_bounds(Bounds::exact(near.max(0.0))).upper())
    }

    /// `e^epsilon c f(|x + d|)` over the piece; `x + d` is positive there.
    fn moved_density(&self, from: f64, to: f64) -> Bounds {
        let near = (Bounds::exact(from) + self.shift).lower();
        let far =
            if to.is_finite() { (Bounds::exact(to) + self.shift).upper() } else { f64::INFINITY };
        self.density(near.max(0.0), far) * self.factor
    }

    /// Whether the loss exceeds `epsilon` on the whole piece, or nowhere on it.
    fn exceeds(&self, from: f64, to: f64) -> Option<bool> {
        let (here, moved) = (self.density(from, to), self.moved_density(from, to));
        if here.lower() > moved.upper() {
            Some(true)
        } else if here.upper() <= moved.lower() {
            Some(false)
        } else {
            None
        }
    }

    /// An upper bound on the integral of `max(0, f(x) - e^epsilon f(x + d))` over the piece.
    fn excess(&self, from: f64, to: f64) -> f64 {
        let whole = self.masses(from, to).0.upper();
        let height = (self.density(from, to) - self.moved_density(from, to)).upper();
        let box_area =
            Bounds::new(0.0, height.max(0.0)) * (Bounds::exact(to) - Bounds::exact(from));
        whole.min(box_area.upper())
    }

    /// `c P[from < X < to]` and `c P[from < X - d < to]`.
    fn masses(&self, from: f64, to: f64) -> (Bounds, Bounds) {
        let tail = |x: Bounds| {
            if x.lower() > 1e300 {
                Bounds::new(0.0, self.noise.tail_bounds(Bounds::exact(1e300)).upper())
            } else {
                self.noise.tail_bounds(x)
            }
        };
        let between = |near: Bounds, far: Option<Bounds>| {
            let beyond = far.map_or(Bounds::ZERO, tail);
            let mass = tail(near) - beyond;
            Bounds::new(mass.lower().max(0.0), mass.upper().max(0.0))
        };
        let end = to.is_finite().then(|| Bounds::exact(to));
        let here = if from >= 0.0 {
            between(Bounds::exact(from), end)
        } else {
            between(Bounds::exact(-to.min(0.0)), Some(Bounds::exact(-from)))
        };
        let moved_from = Bounds::exact(from) + self.shift;
        let moved_from = Bounds::new(moved_from.lower().max(0.0), moved_from.upper());
        (here, between(moved_from, end.map(|end| end + self.shift)))
    }
}

#[derive(Default)]
struct Totals {
    probability: (ExactSum, ExactSum),
    moved: (ExactSum, ExactSum),
    delta: (ExactSum, ExactSum),
}

impl Totals {
    fn add(&mut self, (here, moved): (Bounds, Bounds), factor: Bounds) {
        let delta = here - moved * factor;
        self.grow(here, moved, Bounds::new(delta.lower().max(0.0), delta.upper().max(0.0)));
    }

    fn add_open(&mut self, (here, moved): (Bounds, Bounds), excess: f64) {
        self.grow(
            Bounds::new(0.0, here.upper()),
            Bounds::new(0.0, moved.upper()),
            Bounds::new(0.0, excess),
        );
    }

    fn grow(&mut self, here: Bounds, moved: Bounds, delta: Bounds) {
        for (sum, part) in
            [(&mut self.probability, here), (&mut self.moved, moved), (&mut self.delta, delta)]
        {
            sum.0.add(part.lower());
            sum.1.add(part.upper());
        }
    }

    fn normalised(&self, mass: Bounds) -> Violation {
        let share = |sum: &(ExactSum, ExactSum)| {
            (Bounds::new(sum.0.lower(), sum.1.upper()) / mass).clamp(0.0, 1.0)
        };
        Violation {
            probability: share(&self.probability),
            moved_probability: share(&self.moved),
            delta: share(&self.delta),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Gaussian, Laplace, RandomScaleLaplace, Staircase, random_scale::GammaScale};
    use reticent_numerics::normal::normal_cdf;

    fn close(found: Bounds, truth: f64, relative: f64) {
        assert!(
            found.lower() <= truth * (1.0 + 1e-14) && found.upper() >= truth * (1.0 - 1e-14),
            "{found:?} misses {truth:e}"
        );
        assert!(found.width() <= relative * truth, "{found:?} is wide for {truth:e}");
    }

    #[test]
    fn the_gaussian_profile_is_the_analytic_one() {
        // Balle and Wang, Theorem 8, with D = 1, sigma = 1.3.
        let sigma = 1.3;
        for epsilon in [0.0, 0.5, 1.0, 3.0] {
            let (a, b) = (0.5 / sigma - epsilon * sigma, -0.5 / sigma - epsilon * sigma);
            let truth = normal_cdf(a).estimate() - epsilon.exp() * normal_cdf(b).estimate();
            let found = violation(&Gaussian, sigma, 1.0, epsilon);
            close(found.delta, truth, 1e-8);
            close(found.probability, normal_cdf(a).estimate(), 1e-8);
            close(found.moved_probability, normal_cdf(b).estimate(), 1e-8);
        }
    }

    #[test]
    fn pure_mechanisms_violate_nothing_beyond_their_loss() {
        let laplace = violation(&Laplace, 2.0, 1.0, 0.25);
        close(laplace.delta, -(-0.125f64).exp_m1(), 1e-8);
        assert!(violation(&Laplace, 2.0, 1.0, 0.51).delta.upper() < 1e-12);
        let staircase = Staircase::new(1.0, 0.3).expect("valid");
        assert!(violation(&staircase, 1.0, 1.0, 1.01).delta.upper() < 1e-12);
        assert!(violation(&staircase, 1.0, 1.0, 0.99).delta.lower() > 1e-3);
    }

    #[test]
    fn a_random_scale_loses_most_at_its_peak() {
        // Theorem 4.3 for gamma(3, 1/2): epsilon = (k + 1) ln(1 + theta).
        let noise = RandomScaleLaplace::new(GammaScale::new(3.0, 0.5).expect("valid"));
        let epsilon = 4.0 * 1.5f64.ln();
        assert!(violation(&noise, 1.0, 1.0, epsilon * 1.001).delta.upper() < 1e-12);
        assert!(violation(&noise, 1.0, 1.0, epsilon * 0.99).delta.lower() > 1e-9);
    }

    #[test]
    fn doubt_is_not_privacy() {
        for epsilon in [f64::NAN, f64::INFINITY, -1.0] {
            assert_eq!(violation(&Laplace, 1.0, 1.0, epsilon).delta.upper(), 1.0);
        }
        assert_eq!(violation(&Laplace, 1.0, f64::NAN, 1.0).delta.upper(), 1.0);
        assert_eq!(violation(&Gaussian, 1.0, -1.0, 0.5), violation(&Gaussian, 1.0, 1.0, 0.5));
    }
}
