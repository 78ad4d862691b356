//! A lower bound in which outcomes between grid points are split between both, at a loss of the
//! square of the step: stochastic rounding of the losses, unbiased under `Q`.
//!
//! Let `S` be the sum of the losses and `T` that of the split ones, `f(s) = max(0, 1 - e^(epsilon -
//! s))`, `u` the share of an outcome that goes up, and `G` the sum over all releases of
//! `g = u (1 - u) h^2 e^((r + 1) h)`. For all positive `r` and `v`, with `m(G) = sqrt(G + G^2/4)`,
//!
//! `0 <= E f(T) - E f(S) <= r^r (r + 1)^-(r + 1) e^a E[e^(b G - r |T - epsilon|)]`,
//! `a = r (m(v) - v m'(v))`, `b = r (r + 1)/2 + r m'(v)`.
//!
//! Proof, and how it is computed: docs/proofs/stochastic_rounding.md.

use super::curve::{Crossing, Curve, Side};
use super::frame::Frame;
use super::grid::{Masses, Sampled};
use super::pair::Test;
use realfft::RealFftPlanner;
use reticent_numerics::rounding::{add_up, mul_down, mul_up, sub_down, sub_up};
use reticent_numerics::{Bounds, Enclosure, nearest};

/// A release whose outcomes between grid points are split.
#[derive(Clone, Debug)]
pub(super) struct Split {
    masses: Masses,
    /// At each grid point at least the sum of mass times `u (1 - u)`, in units of the square of the
    /// step.
    variances: Vec<f64>,
}

/// The release on the grid, each side of the polygon of its tests split between two grid points.
pub(super) fn split(sampled: &Sampled) -> Split {
    /// Makes up for rounding in a share, and in sums of as many parts as there are tests.
    const ROUNDING: f64 = 1e-6;
    const LEAST: f64 = 1e-15;
    let tests = sampled.tests();
    let (first, last, step) = (sampled.first(), sampled.last(), sampled.step());
    let mut masses = vec![0.0; (last - first + 1) as usize];
    let mut variances = masses.clone();
    let mut put = |index: i64, mass: f64, variance: f64| {
        let Some(position) =
            usize::try_from(index - first).ok().filter(|position| *position < masses.len())
        else {
            return;
        };
        masses[position] = sub_down(masses[position], -mass);
        variances[position] += mass * variance * (1.0 + ROUNDING);
    };
    // 1 - e^-h
    let gap = -(-Bounds::exact(step)).exp_m1();
    let corners = concave(&tests);
    let mut saturated = 0.0;
    for side in corners.windows(2) {
        let (p, q) = (sub_down(side[1].p, side[0].p), sub_up(side[1].q, side[0].q));
        let near = (nearest::ln(p / q) / step).floor();
        if !(p > 0.0 && near.abs() < 1e15) {
            continue;
        }
        let share = |index: i64| {
            let grid_point = Bounds::exact(index as f64) * Bounds::exact(step);
            ((Bounds::ONE - Bounds::exact(q) * grid_point.exp() / Bounds::exact(p)) / gap).lower()
        };
        // The loss may be just below the grid point that it seems to be on.
        let near = (near as i64).min(last);
        if near == last && sampled.is_saturated() {
            // q of the side at the end of the grid, the rest at infinity.
            let end = (Bounds::exact(last as f64) * Bounds::exact(step)).exp() * Bounds::exact(q);
            let beyond = sub_down(p, end.upper());
            if beyond > 0.0 {
                put(last, sub_down(p, beyond), 0.0);
                saturated = add_up(saturated, beyond);
                continue;
            }
        }
        let Some((index, share)) = [near, near - 1]
            .map(|index| (index, share(index)))
            .into_iter()
            .find(|(_, share)| *share >= 0.0)
        else {
            continue;
        };
        // What is left of the grid is left out, and nothing of it is split.
        if index < first {
            continue;
        }
        let (up, share) =
            if index == last { (0.0, 0.0) } else { (mul_down(p, share).clamp(0.0, p), share) };
        let variance = (share * (1.0 - share)).max(0.0);
        let variance = if share == 0.0 { 0.0 } else { variance + LEAST };
        put(index, sub_down(p, up), variance);
        put(index + 1, up, variance);
    }
    let infinite = sub_down(tests[0].p, -saturated);
    Split { masses: Masses { first, offset: 0.0, masses, infinite, saturated }, variances }
}

/// Tests whose polygon is proved to be concave: from one corner to the next the slope does not
/// rise.
fn concave(tests: &[Test]) -> Vec<Test> {
    let slope = |from: Test, to: Test| {
        (Bounds::exact(to.p) - Bounds::exact(from.p))
            / (Bounds::exact(to.q) - Bounds::exact(from.q))
    };
    let mut corners: Vec<Test> = Vec::with_capacity(tests.len());
    // Of the side that ends at each corner.
    let mut slopes: Vec<Bounds> = Vec::with_capacity(tests.len());
    for &test in tests {
        while let Some(&corner) = corners.last() {
            let next = slope(corner, test);
            if slopes.last().is_none_or(|before| before.lower() >= next.upper()) {
                slopes.push(next);
                break;
            }
            slopes.pop();
            corners.pop();
        }
        corners.push(test);
    }
    corners
}

/// The lower bound of a composition of split releases.
#[derive(Debug)]
pub(super) struct StochasticRounding {
    /// `E f(T)`, from below.
    curve: Curve,
    /// What is taken off; nothing if no outcome was split.
    excess: Option<Excess>,
}

/// `r^r (r + 1)^-(r + 1) e^a E[e^(b G - r |T - epsilon|)]`.
#[derive(Debug)]
struct Excess {
    /// The sum of masses that are larger by `e^(b g)`, from above.
    enlarged: Curve,
    /// `r`.
    rate: f64,
    /// The logarithm of what is before the mean.
    log_factor: f64,
}

impl StochasticRounding {
    /// Composes split releases. `None` if the composition cannot be bounded.
    pub(super) fn new(
        terms: &[(Split, u64)],
        frame: Frame,
        planner: &mut RealFftPlanner<f64>,
    ) -> Option<Self> {
        let masses: Vec<_> =
            terms.iter().map(|(split, times)| (split.masses.clone(), *times)).collect();
        let curve = Curve::new(&masses, frame, Side::Lower, planner).ok()?;
        let excess = if terms
            .iter()
            .all(|(split, _)| split.variances.iter().all(|variance| *variance == 0.0))
        {
            None
        } else {
            Some(Excess::new(terms, frame, planner)?)
        };
        Some(StochasticRounding { curve, excess })
    }

    /// A lower bound on `delta`.
    pub(super) fn delta_at(&self, epsilon: f64) -> f64 {
        let delta = sub_down(self.curve.delta_at(epsilon), self.excess(epsilon));
        if delta > 0.0 { delta } else { 0.0 }
    }

    /// A lower bound on the `epsilon` at which `delta` falls to `target`.
    pub(super) fn epsilon(&self, target: f64) -> Option<f64> {
        let start = match self.curve.epsilon(target) {
            Crossing::At(epsilon) | Crossing::Beyond(epsilon) => epsilon,
            Crossing::Before(_) => return None,
        };
        let excess = self.excess(start);
        [1.0, 1.02, 1.06, 1.15, 1.4, 2.0, 4.0].into_iter().find_map(|factor| {
            match self.curve.epsilon(target + factor * excess) {
                Crossing::At(epsilon) if epsilon > 0.0 && self.delta_at(epsilon) > target => {
                    Some(epsilon)
                }
                _ => None,
            }
        })
    }

    /// At least `E f(T) - E f(S)`.
    fn excess(&self, epsilon: f64) -> f64 {
        self.excess.as_ref().map_or(0.0, |excess| excess.at(epsilon))
    }
}

impl Excess {
    fn new(
        terms: &[(Split, u64)],
        frame: Frame,
        planner: &mut RealFftPlanner<f64>,
    ) -> Option<Self> {
        let Frame { step, tilt, .. } = frame;
        // Any v and r are sound; these are about the best. The sum falls faster on both sides than
        // the tilt makes it rise.
        let mean: f64 = terms
            .iter()
            .map(|(split, times)| *times as f64 * split.mean_variance(step, tilt))
            .sum();
        let v = (mean * step * step).max(0.25 * step * step);
        let rate = (1.0 / v.sqrt()).max(1.5 * tilt);
        // m(v) and m'(v) = (1 + v/2) / (2 m(v)); r and v are the f64 themselves.
        let (one, r, v, h) =
            (Bounds::ONE, Bounds::exact(rate), Bounds::exact(v), Bounds::exact(step));
        let m = (v + v.square().times_power_of_two(-2)).sqrt();
        let slope = (one + v.times_power_of_two(-1)) / m.times_power_of_two(1);
        let b = (r * (r + one)).times_power_of_two(-1) + r * slope;
        // g (e^(b q) - 1) / q = 4 (e^(b q) - 1) u (1 - u), with q = h^2 e^((r + 1) h) / 4.
        let q = h.square().times_power_of_two(-2) * ((r + one) * h).exp();
        let enlargement = (b * q).exp_m1().times_power_of_two(2).upper();
        let enlarged: Vec<_> =
            terms.iter().map(|(split, times)| (split.enlarged(enlargement), *times)).collect();
        let enlarged = Curve::new(&enlarged, frame, Side::Upper, planner).ok()?;
        let log_factor = (-(r * (one / r).ln_1p()) - (r + one).ln() + r * (m - v * slope)).upper();
        Some(Excess { enlarged, rate, log_factor })
    }

    /// Around the grid point `x` next to `epsilon`, `|T - epsilon| >= |T - x| - |x - epsilon|`.
    fn at(&self, epsilon: f64) -> f64 {
        /// Makes up for the rounding of sums and products of positive numbers: of as many as a
        /// frame has points, at most `2^26`, each by a few ulps.
        const ROUNDING: f64 = 1.0 + 1e-6;
        let Some((position, distance)) = self.enlarged.nearest(epsilon) else {
            return f64::INFINITY;
        };
        let factor = (Bounds::exact(self.log_factor)
            + Bounds::exact(self.rate) * Bounds::exact(distance))
        .exp()
        .upper();
        let bound =
            mul_up(mul_up(factor, self.enlarged.exponential_mean(position, self.rate)), ROUNDING);
        if bound >= 0.0 { bound } else { f64::INFINITY }
    }
}

impl Split {
    /// About the mean of `u (1 - u)` under a tilt.
    fn mean_variance(&self, step: f64, tilt: f64) -> f64 {
        let Masses { first, masses, .. } = &self.masses;
        let log_mass = self.masses.log_moment_by_index(step, tilt).estimate();
        let weight = |position: usize| {
            nearest::exp(tilt * ((first + position as i64) as f64 * step) - log_mass)
        };
        let split = self
            .variances
            .iter()
            .enumerate()
            .filter(|(position, variance)| **variance > 0.0 && masses[*position] > 0.0);
        split.map(|(position, variance)| weight(position) * variance).sum()
    }

    /// The masses with `variances` times a factor added.
    fn enlarged(&self, factor: f64) -> Masses {
        let masses = self.masses.masses.iter().zip(&self.variances);
        let masses = masses
            .map(|(mass, variance)| (mass + factor * variance) * (1.0 + 4.0 * f64::EPSILON))
            .collect();
        Masses { masses, ..self.masses.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::effort::Effort;
    use super::super::grid::Cuts;
    use super::super::pairs::{AtomsPair, examples};
    use super::*;

    const CUTS: Cuts =
        Cuts { right: 1e-13, left: 1e-14, tilt: 1.0, share: 1.0, top: f64::INFINITY };

    fn sampled(pair: &dyn super::super::pair::Pair, step: f64) -> Sampled {
        Sampled::new(pair, step, CUTS, &mut Effort::for_precision(1e-4)).expect("few points")
    }

    /// `ln E e^(s D)` of an outcome at the share `z` of a step above its grid point, against
    /// `s (s + 1) u (1 - u) h^2 e^(|s| h) / 2`.
    #[test]
    fn moments_of_a_split_are_bounded() {
        let mut closest = 0.0_f64;
        for (h, z) in [0.01, 0.3, 2.0]
            .into_iter()
            .flat_map(|h: f64| (0..=20).map(move |i| (h, f64::from(i) / 20.0)))
        {
            let up = (1.0 - (-z * h).exp()) / (1.0 - (-h).exp());
            for s in [-30.0, -3.0, -1.5, -1.0, 0.0, 0.5, 2.0, 30.0_f64] {
                let mean = up * (s * (1.0 - z) * h).exp() + (1.0 - up) * (-s * z * h).exp();
                let bound =
                    s * (s + 1.0) / 2.0 * up * (1.0 - up) * h * h * (s.abs().max(1.0) * h).exp();
                assert!(mean.ln() <= bound + 1e-12, "{h} {z} {s}: {mean} {bound}");
                closest = closest.max(mean.ln() / bound.max(1e-9));
            }
        }
        assert!(closest > 0.99, "{closest}");
    }

    /// Neither `P` nor `Q` gains from the split, and next to nothing of either is lost.
    #[test]
    fn both_masses_are_kept() {
        for (pair, step) in examples() {
            let masses = split(&sampled(&*pair, step)).masses;
            let p: f64 = masses.masses.iter().sum::<f64>() + masses.infinite;
            assert!(p <= 1.0 + 1e-12 && p > 1.0 - 1e-9, "{pair:?}: {p}");
            let q_at = |(mass, index): (&f64, i64)| mass * (-(index as f64) * step).exp();
            let q: f64 = masses.masses.iter().zip(masses.first..).map(q_at).sum();
            // What has a loss of minus infinity, a thousandth at most in these, is in Q alone.
            assert!(q <= 1.0 + 1e-9 && q > 1.0 - 1.001e-3, "{pair:?}: {q}");
        }
    }

    #[test]
    fn corners_are_in_concave_position() {
        let test = |p: f64, q: f64| Test { p, q };
        let tests = [
            test(0.0, 0.0),
            test(0.4, 0.1),
            test(0.45, 0.2),
            test(0.8, 0.4),
            test(0.8, 0.5),
            test(1.0, 1.0),
        ];
        assert_eq!(concave(&tests), [tests[0], tests[1], tests[3], tests[5]]);
    }

    /// `delta` of `k` binary responses of loss `e`, by the binomial distribution.
    fn responses(e: f64, k: u32, epsilon: f64) -> f64 {
        let high = 1.0 / (1.0 + (-e).exp());
        let mut mass = (1.0 - high).powi(k as i32);
        let mut sum = 0.0;
        for n in 0..=k {
            let loss = (2.0 * f64::from(n) - f64::from(k)) * e;
            sum += mass * -(epsilon - loss).min(0.0).exp_m1();
            mass *= f64::from(k - n) / f64::from(n + 1) * e.exp();
        }
        sum
    }

    /// Outcomes in the middle between grid points, which is where splitting adds most: the bound
    /// holds, without what is taken off it would not, and neither with a tenth of it.
    #[test]
    fn responses_between_grid_points() {
        let mut planner = RealFftPlanner::new();
        let (mut is_caught, mut answers) = (false, 0);
        for (k, tilt) in [(200u32, 0.0), (200, 1.0), (400, 0.5), (900, 0.3)] {
            let e = 1.5 / f64::from(k).sqrt();
            let step = e / 2.5;
            let masses = split(&sampled(&AtomsPair::randomized_response(e, 2), step));
            let frame = Frame {
                step,
                first: -(1 << 11),
                size: 1 << 13,
                tilt,
                below: tilt - 2.0,
                above: tilt + 2.0,
                falling: 0.0,
            };
            let bound = StochasticRounding::new(&[(masses, u64::from(k))], frame, &mut planner)
                .expect("bounded");
            for epsilon in [0.5, 1.0, 2.013, 4.0] {
                let exact = responses(e, k, epsilon);
                let (found, split) = (bound.delta_at(epsilon), bound.curve.delta_at(epsilon));
                assert!(found <= exact * (1.0 + 1e-10), "{k} at {epsilon}: {found:e} {exact:e}");
                is_caught |= split - 0.1 * (split - found) > exact * (1.0 + 1e-6);
                if let Some(back) = bound.epsilon(0.99 * found) {
                    answers += 1;
                    assert!(back > 0.85 * epsilon, "{k}: {back} for {epsilon}");
                    assert!(
                        responses(e, k, back) > 0.99 * found * (1.0 - 1e-10),
                        "{k}: {back} for {epsilon}"
                    );
                }
            }
        }
        assert!(is_caught && answers > 10, "{is_caught} {answers}");
    }

    /// The bound comes closer with the square of the step.
    #[test]
    fn the_square_of_the_step_is_lost() {
        let mut planner = RealFftPlanner::new();
        let (k, e) = (900, 0.05);
        let exact = responses(e, k, 2.0);
        let mut lost = |parts: f64| {
            let step = e / parts;
            let masses = split(&sampled(&AtomsPair::randomized_response(e, 2), step));
            let frame = Frame {
                step,
                first: -(1 << 12),
                size: 1 << 14,
                tilt: 0.5,
                below: -1.5,
                above: 2.5,
                falling: 0.0,
            };
            let bound = StochasticRounding::new(&[(masses, u64::from(k))], frame, &mut planner)
                .expect("bounded");
            1.0 - bound.delta_at(2.0) / exact
        };
        let (coarse, fine) = (lost(3.5), lost(14.5));
        assert!(coarse < 0.25 && fine < coarse / 10.0 && fine > 0.0, "{coarse} {fine}");
    }
}
