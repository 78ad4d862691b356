//! A rough picture of the losses, from which tilt, step and window are chosen. Nothing is proved
//! here and nothing needs to be: bad choices make brackets wide.
#![allow(
    clippy::disallowed_methods,
    reason = "estimates that steer; what is returned is proved elsewhere"
)]

use super::grid::Masses;
use super::pair::Pair;

/// How many cells all pairs together are cut into, and each of them at least and at most; the least
/// where an evaluation takes long.
const CELLS: usize = 40_000;
const CELLS_OF_ONE: (usize, usize) = (60, 500);

/// How closely a pair is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// With a quarter of the cells.
    Passing,
    Close,
}

/// The loss of one release, as a few atoms, and how often it is made.
#[derive(Clone, Debug)]
struct Sketch {
    /// Each with the logarithm of its mass.
    atoms: Vec<(f64, f64)>,
    /// What is infinite.
    infinite: f64,
    times: f64,
}

impl Sketch {
    /// `ln E e^(s L)` with two derivatives, for one release.
    fn cumulants(&self, s: f64) -> Cumulants {
        let exponent = |&(x, log_mass): &(f64, f64)| s * x + log_mass;
        let greatest = self.atoms.iter().map(exponent).fold(f64::NEG_INFINITY, f64::max);
        let (mut mass_sum, mut first, mut second) = (0.0, 0.0, 0.0);
        for atom @ &(x, _) in &self.atoms {
            let weight = (exponent(atom) - greatest).exp();
            mass_sum += weight;
            first += weight * x;
            second += weight * x * x;
        }
        let mean = first / mass_sum;
        let variance = (second / mass_sum - mean * mean).max(0.0);
        Cumulants { value: greatest + mass_sum.ln(), mean, variance }
    }

    /// The same with losses beyond `top` saturated.
    fn saturated_at(&self, top: f64) -> Self {
        let mut atoms: Vec<(f64, f64)> =
            self.atoms.iter().copied().filter(|&(x, _)| x < top).collect();
        let beyond = self.atoms.iter().filter(|(x, _)| *x >= top);
        let (mut at_top, mut infinite) = (0.0, self.infinite);
        for &(x, log_mass) in beyond {
            at_top += (log_mass + top - x).exp();
            infinite += log_mass.exp() * -(top - x).exp_m1();
        }
        if at_top > 0.0 {
            atoms.push((top, at_top.ln()));
        }
        Sketch { atoms, infinite, times: self.times }
    }
}

/// The cumulant generating function `K(s) = ln E e^(s L)` of all losses together, with two
/// derivatives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cumulants {
    pub(super) value: f64,
    pub(super) mean: f64,
    pub(super) variance: f64,
}

/// How far a tilt is raised for losses that are hardly reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Until the losses that make up the variance are at their greatest.
    Large,
    /// Until all are: a few large losses may be at their greatest, and many small ones decide.
    All,
}

/// All releases.
#[derive(Debug)]
pub(super) struct Sketches {
    all: Vec<Sketch>,
    reach: Reach,
}

impl Sketches {
    /// Looks at each pair up to the loss `top`, where its `delta` is above `negligible`, and
    /// closely where the losses are that matter under a tilt.
    pub(super) fn new<'a>(
        pairs: impl Iterator<Item = (&'a dyn Pair, u64)>,
        negligible: f64,
        tilt: f64,
        top: f64,
        look: Look,
    ) -> Self {
        let pairs: Vec<_> = pairs.collect();
        let most = if look == Look::Close { CELLS_OF_ONE.1 } else { CELLS_OF_ONE.1 / 4 };
        let cells = (CELLS / pairs.len().max(1)).clamp(CELLS_OF_ONE.0, most);
        let sketch = |(pair, times): (&dyn Pair, u64)| {
            let cells = if pair.effort() > 50.0 { CELLS_OF_ONE.0 } else { cells };
            let (atoms, infinite) = atoms(pair, negligible, cells, tilt, top);
            Sketch { atoms, infinite, times: times as f64 }
        };
        Sketches { all: pairs.into_iter().map(sketch).collect(), reach: Reach::Large }
    }

    /// Losses that are on a grid already.
    pub(super) fn of_masses(terms: &[(Masses, u64)], step: f64) -> Self {
        let sketch = |(masses, times): &(Masses, u64)| {
            let atoms = masses.masses.iter().zip(masses.first..).filter(|(mass, _)| **mass > 0.0);
            Sketch {
                atoms: atoms.map(|(mass, index)| (index as f64 * step, mass.ln())).collect(),
                infinite: masses.infinite,
                times: *times as f64,
            }
        };
        Sketches { all: terms.iter().map(sketch).collect(), reach: Reach::Large }
    }

    /// The same with another reach.
    pub(super) fn reaching(self, reach: Reach) -> Self {
        Sketches { reach, ..self }
    }

    /// How many releases there are.
    pub(super) fn releases(&self) -> f64 {
        self.all.iter().map(|sketch| sketch.times).sum()
    }

    /// `K` at `s` and its derivatives.
    pub(super) fn cumulants(&self, s: f64) -> Cumulants {
        let mut all = Cumulants { value: 0.0, mean: 0.0, variance: 0.0 };
        for sketch in &self.all {
            let one = sketch.cumulants(s);
            all.value += sketch.times * one.value;
            all.mean += sketch.times * one.mean;
            all.variance += sketch.times * one.variance;
        }
        all
    }

    /// The same with losses beyond `top` saturated.
    pub(super) fn saturated_at(&self, top: f64) -> Self {
        Sketches {
            all: self.all.iter().map(|sketch| sketch.saturated_at(top)).collect(),
            reach: self.reach,
        }
    }

    /// The probability that a loss is infinite, if it is small.
    pub(super) fn infinite(&self) -> f64 {
        self.all.iter().map(|sketch| sketch.times * sketch.infinite).sum()
    }

    /// How far below zero the sum of all losses but one is with the probability `e^log_tail`, by
    /// Markov's inequality, and the rate `s` of the moment `E e^(-s L)` that says so.
    pub(super) fn falling(&self, log_tail: f64) -> (f64, f64) {
        const TRIES: usize = 60;
        const FINER: f64 = 1.5;
        let distance = |s: f64| {
            let each = self.all.iter().map(|sketch| (sketch.times, sketch.cumulants(-s).value));
            let (all, least) = each.fold((0.0, 0.0_f64), |(all, least), (times, one)| {
                (all + times * one, least.min(one))
            });
            (all - least - log_tail) / s
        };
        let mut rate = (-2.0 * log_tail).sqrt() / self.cumulants(0.0).variance.sqrt().max(1e-12);
        let mut best = distance(rate);
        for factor in [FINER, 1.0 / FINER] {
            let before = rate;
            for _ in 0..TRIES {
                let next = distance(rate * factor);
                if next.is_nan() || next >= best {
                    break;
                }
                (best, rate) = (next, rate * factor);
            }
            if rate != before {
                break;
            }
        }
        (best, rate)
    }

    /// The tilt at which Chernoff's bound `K(s) - s K'(s)` on the tail from the tilted mean on is
    /// `log_tail`.
    pub(super) fn tilt_for_tail(&self, log_tail: f64) -> f64 {
        self.tilt_where(|s, at| at.value - s * at.mean > log_tail)
    }

    /// The tilt whose mean is `loss`.
    pub(super) fn tilt_for_loss(&self, loss: f64) -> f64 {
        self.tilt_where(|_, at| at.mean < loss)
    }

    /// Between which losses all but a given tail of the tilted losses' sum lies on either side,
    /// each with the tilt whose mean it is. A grid adds a variance to the sum.
    pub(super) fn window(&self, tilt: f64, log_tail: f64, added: f64) -> [(f64, f64); 2] {
        let at = self.cumulants(tilt);
        [-1.0, 1.0].map(|sign| {
            let is_inside = |s: f64| {
                let there = self.cumulants(tilt + sign * s);
                there.value - at.value - sign * s * there.mean - 0.5 * added * s * s > log_tail
            };
            let further = tilt + sign * self.bisect(at.variance, Reach::All, is_inside);
            (self.cumulants(further).mean + added * (further - tilt), further)
        })
    }

    fn tilt_where(&self, is_below: impl Fn(f64, Cumulants) -> bool) -> f64 {
        self.bisect(self.cumulants(0.0).variance, self.reach, |s| is_below(s, self.cumulants(s)))
    }

    /// The end of a statement that holds for small `s`, to a hundredth; where it does not end
    /// before `MOST_TILT`, that. It is expected near one over the root of a variance.
    ///
    /// The tilt doubles at most some 500 times before it is there and is then halved, on a scale of
    /// logarithms, at most seven times.
    fn bisect(&self, near: f64, reach: Reach, holds: impl Fn(f64) -> bool) -> f64 {
        /// The square of it is finite.
        const MOST_TILT: f64 = 1e150;
        let variance = self.cumulants(0.0).variance;
        let unit = 1.0 / near.sqrt().max(1e-12);
        let (mut low, mut high) = (1e-3 * unit, 2.0 * unit);
        if !holds(low) {
            return 0.0;
        }
        while holds(high) {
            // Next to the greatest loss no tilt goes further.
            let left = self.cumulants(high).variance;
            // Losses that have not begun to rise have a small product too, but not that small.
            let is_reached =
                left <= 1e-3 * variance && (reach == Reach::Large || high * high * left <= 1e-12);
            if is_reached || high > MOST_TILT {
                return high;
            }
            (low, high) = (high, high * 2.0);
        }
        while high > low * 1.01 {
            let middle = (low * high).sqrt();
            if holds(middle) { low = middle } else { high = middle }
        }
        low
    }
}

/// The pair as atoms, each with the logarithm of its mass, and what is infinite beyond `top`: its
/// `delta` connected by lines in `e^x` between points that are closer where more of it is.
fn atoms(
    pair: &dyn Pair,
    negligible: f64,
    cells: usize,
    tilt: f64,
    top: f64,
) -> (Vec<(f64, f64)>, f64) {
    let delta = |x: f64| pair.at(x).delta.estimate();
    let beyond = |x: f64| delta(x) <= negligible.max(pair.infinite().upper());
    let before = |x: f64| delta(-x) + (-x).exp_m1() <= 1e-15;
    let (left, right) = (-reach(before), reach(beyond).min(pair.greatest_loss()).min(top));
    let mut points: Vec<(f64, f64)> = (0..=8)
        .map(|i| left + (right - left) * f64::from(i) / 8.0)
        .map(|x| (x, delta(x)))
        .collect();
    // Differences of delta over shorter cells are rounding errors.
    let finest = 1e-8 * (right - left);
    while points.len() < cells {
        let tails = tails(&points);
        // Roots of the masses, so that those which are small but may matter are seen too.
        let log_mass = |i: usize| (tails[i] - tails[i + 1]).max(1e-300).ln();
        let exponent = |i: usize| log_mass(i) + tilt * points[i].0;
        let greatest = (0..points.len() - 1).map(exponent).fold(f64::NEG_INFINITY, f64::max);
        let weight = |i: usize| {
            let tilted = (0.5 * (exponent(i) - greatest)).exp();
            ((0.12 * log_mass(i)).exp() + tilted) * (points[i + 1].0 - points[i].0).powi(2)
        };
        let weights: Vec<f64> = (0..points.len() - 1).map(weight).collect();
        let heavy = 0.2 * weights.iter().fold(0.0, |a: f64, &b| a.max(b));
        let mut finer = Vec::with_capacity(2 * points.len());
        for (i, &point) in points.iter().enumerate() {
            finer.push(point);
            let middle = points.get(i + 1).map(|next| 0.5 * (point.0 + next.0));
            if let Some(middle) =
                middle.filter(|&middle| weights[i] >= heavy && middle - point.0 > finest)
            {
                finer.push((middle, delta(middle)));
            }
        }
        if finer.len() == points.len() {
            break;
        }
        points = finer;
    }
    let tails = tails(&points);
    let infinite = if right == top { points[points.len() - 1].1 } else { 0.0 };
    let beyond = |i: usize| if i == points.len() { infinite } else { tails[i] };
    let masses = (0..points.len()).map(|i| (points[i].0, tails[i] - beyond(i + 1)));
    (masses.filter(|&(_, mass)| mass > 0.0).map(|(x, mass)| (x, mass.ln())).collect(), infinite)
}

/// The mass at each point and beyond, and zero after the last.
fn tails(points: &[(f64, f64)]) -> Vec<f64> {
    let mut tails = vec![1.0];
    for pair in points.windows(2) {
        let ((left, before), (right, after)) = (pair[0], pair[1]);
        tails.push((after + (before - after) / -(left - right).exp_m1()).clamp(0.0, 1.0));
    }
    tails.push(0.0);
    for i in (1..tails.len()).rev() {
        tails[i - 1] = tails[i - 1].max(tails[i]);
    }
    tails
}

/// A distance at which a statement holds that holds from somewhere on, within a factor of two of
/// the first.
fn reach(holds: impl Fn(f64) -> bool) -> f64 {
    let mut distance = 1.0;
    if holds(distance) {
        while distance > 1e-12 && holds(0.5 * distance) {
            distance *= 0.5;
        }
    } else {
        while distance < 1e6 && !holds(distance) {
            distance *= 2.0;
        }
    }
    distance
}
