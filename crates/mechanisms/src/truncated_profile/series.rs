//! The slope of the profile on a piece of locations by Taylor series: the last resort where `g` is
//! nearly flat.
//!
//! Noise that is wide for the range makes all locations nearly alike. Then `g'` is a small
//! remainder of terms that cancel, at first order in the width of a piece for the forms of
//! [`super::slope`], which is not enough. Here `g` is expanded in `s - c` around the middle `c` of
//! the piece with 100 bits, where cancellation does no harm, up to an order whose remainder is
//! small whatever its enclosure: `g'(s) = sum_{k<m} k g_k (s - c)^(k-1) + m g_m(z) (s - c)^(m-1)`,
//! `g_m` over the whole piece.
//!
//! # Formula
//! `g = N_t / Z_t - e^epsilon N_s / Z_s` with `N_s = P[x < X < r - s]`,
//! `N_t = P[x - u < X < r - t]`, and, `f` being the density of the noise, `Z_s' = f(s) - f(r - s)`,
//! `N_s' = -f(x) x' - f(r - s)`, `N_t' = -f(x - u) x' - f(r - t)`. The cut follows from
//! `q(x) = epsilon - ln(Z_s / Z_t)`, one coefficient at a time.

use super::tails::Tails;
use super::{End, Search};
use crate::generalized_gaussian::{Shift, loss_coefficients};
use reticent_numerics::{Bounds, Enclosure, Jet, Wide};

/// The order of the remainder.
const ORDER: usize = 8;

impl Search<'_> {
    /// `g'` on a piece on which something exceeds epsilon everywhere.
    pub(super) fn slope_by_series(&self, from: &End, to: &End, width: Bounds) -> Option<Bounds> {
        let above = self.least_gap(from, to, width);
        if above.is_nan() || above <= 0.0 {
            return None;
        }
        let share = 0.5 * (from.share + to.share);
        let middle = self.end(share, f64::INFINITY).point;
        let level = Wide::exact(self.epsilon) - (middle.mass_s / middle.mass_t).ln();
        let (low, high) =
            self.crossing(level, -middle.s.bounds().upper(), middle.above_s.bounds().upper());
        let cut = Wide::from_bounds(Bounds::new(low, high));
        let x = Jet::variable(cut, ORDER);
        let loss =
            self.power_series(&x) - self.power_series(&(x - Jet::constant(self.shift, ORDER)));
        let loss: Vec<Wide> = (0..=ORDER).map(|k| loss.coefficient(k)).collect();
        let at_middle = self.profile_series(&self.tails, &middle.s, &cut, &loss, None)?;
        let s = from.point.s.bounds().hull(to.point.s.bounds());
        let tails = Tails::new(self.order, &Bounds::ONE);
        let moved = from.point.s.bounds().hull(to.point.t.bounds());
        let cuts = self.cuts(from, to);
        // q(x) is the loss of noise x - u.
        let move_by =
            Shift { order: self.order, sensitivity: self.interval.sensitivity, scale: self.scale };
        let loss = loss_coefficients(&move_by, cuts - self.shift.bounds(), ORDER);
        let over_piece =
            self.profile_series(&tails, &s, &cuts, &loss, Some(&moved))?.coefficient(ORDER);
        let step = s - middle.s.bounds();
        let count = |k: usize| Bounds::exact(k as f64);
        let slope = (1..ORDER).rev().fold(count(ORDER) * over_piece, |sum, k| {
            sum * step + count(k) * at_middle.coefficient(k).bounds()
        });
        slope.is_finite().then_some(slope)
    }

    /// The Taylor coefficients of `g` at the location, or all locations, `s`, whose cut is `x`.
    ///
    /// Over many locations `ln Z_t - ln Z_s` would lose that it is small; there its coefficients
    /// are taken to be `u` times those of the derivative of `ln Z` somewhere between, on all that
    /// is `moved` over.
    fn profile_series<E: Enclosure>(
        &self,
        tails: &Tails<E>,
        s: &E,
        x: &E,
        loss: &[E],
        moved: Option<&E>,
    ) -> Option<Jet<E>> {
        let constant = |value: E| Jet::constant(value, ORDER);
        let shift = constant(self.interval.shift(self.scale, s));
        let free = constant(self.interval.range(self.scale, s)) - shift.clone();
        let epsilon = s.exactly(self.epsilon);
        let s = Jet::variable(s.clone(), ORDER);
        let above_t = free - s.clone();
        let (t, above_s) = (s.clone() + shift.clone(), above_t.clone() + shift.clone());
        let density_at = |power: Jet<E>| {
            let order = power.order();
            (-power).exp() / Jet::constant(tails.noise_mass(), order)
        };
        // Of what is not negative, whole powers are products, also at zero.
        let whole = self.order.get().fract() == 0.0;
        let within = |x: &Jet<E>| {
            if whole { x.clone().powi(self.order.get() as u32) } else { self.order.power(x) }
        };
        let density = |x: &Jet<E>| density_at(within(x));
        let mass = |below: &Jet<E>, above: &Jet<E>| {
            let part = |x: &Jet<E>| tails.within(&x.coefficient(0));
            antiderivative(part(below) + part(above), &(density(below) - density(above)))
        };
        let (mass_s, mass_t) = (mass(&s, &above_s)?, mass(&t, &above_t)?);
        let level = match moved {
            None => constant(epsilon.clone()) - (mass_s.clone() / mass_t.clone()).ln(),
            Some(locations) => {
                let s = Jet::variable(locations.clone(), ORDER + 1);
                let above = Jet::constant(self.interval.range(self.scale, locations), ORDER + 1)
                    - s.clone();
                let log_mass = mass(&s, &above)?.ln();
                let change = |k: usize| {
                    let next = log_mass.coefficient(k + 1);
                    shift.coefficient(0) * next.exactly((k + 1) as f64) * next
                };
                Jet::from_coefficients((0..=ORDER).map(change).collect())?
            }
        };
        let cut = Self::cut_series(x, loss, &level)?;
        let rate = derivative(&cut)?;
        let beyond = |cut: &Jet<E>, above: &Jet<E>| {
            let tail = |x: &Jet<E>| tails.beyond(&x.coefficient(0), 0.0);
            antiderivative(
                tail(cut) - tail(above),
                &-(density_at(self.power_series(cut)) * rate.clone() + density(above)),
            )
        };
        let from_t = cut.clone() - shift;
        Some(
            beyond(&from_t, &above_t)? / mass_t
                - constant(epsilon.exp()) * (beyond(&cut, &above_s)? / mass_s),
        )
    }

    /// `x(s)` with `q(x) = level`, for the coefficients `q_j` of `q` at `x`: each coefficient from
    /// `q_1 x_k`, which is what the level has and the higher powers of the earlier ones have not.
    fn cut_series<E: Enclosure>(x: &E, loss: &[E], level: &Jet<E>) -> Option<Jet<E>> {
        let mut step = vec![x.exactly(0.0)];
        for k in 1..=ORDER {
            step.push(x.exactly(0.0));
            let moved = Jet::from_coefficients(step.clone())?;
            let zero = Jet::constant(x.exactly(0.0), k);
            let higher = loss[2..=k.max(1)]
                .iter()
                .rev()
                .fold(zero, |sum, q| (sum + Jet::constant(q.clone(), k)) * moved.clone());
            let higher = higher * moved;
            step[k] = (level.coefficient(k) - higher.coefficient(k)) / loss[1].clone();
        }
        step[0] = x.clone();
        Jet::from_coefficients(step)
    }

    /// `|x|^p`, by products where the order is even, so that its sign does not matter.
    fn power_series<E: Enclosure>(&self, x: &Jet<E>) -> Jet<E> {
        let order = self.order.get();
        if order % 2.0 == 0.0 { x.clone().powi(order as u32) } else { self.order.power(x) }
    }
}

/// The function with a given value and derivative.
fn antiderivative<E: Enclosure>(value: E, derivative: &Jet<E>) -> Option<Jet<E>> {
    let mut coefficients = vec![value];
    for k in 1..=derivative.order() {
        let next = derivative.coefficient(k - 1);
        let count = next.exactly(k as f64);
        coefficients.push(next / count);
    }
    Jet::from_coefficients(coefficients)
}

/// The derivative, whose last coefficient is not known.
fn derivative<E: Enclosure>(f: &Jet<E>) -> Option<Jet<E>> {
    let coefficient = |k: usize| {
        let next = f.coefficient(k);
        next.clone() * next.exactly(k as f64)
    };
    Jet::from_coefficients((1..=ORDER + 1).map(coefficient).collect())
}
