//! The exact privacy profile of a scalar with noise of a random scale.
//!
//! With `g(x) = ln E[T exp(-x T)]` the loss of an output `y`, between the answers 0 and `D`, is
//! `g(|y|) - g(|y - D|)`. As `g` is convex and decreasing, it rises up to `y = 0` and falls from
//! there to zero at `D/2`. Where it exceeds `epsilon` is therefore an interval `(-u, v)` with
//!
//! `g(u) - g(u + D) = epsilon` (`u` is infinite if there is none) and `g(v) - g(D - v) = epsilon`,
//! `0 <= v <= D/2`,
//!
//! and with `Q(x) = E[exp(-x T)] / 2`
//!
//! `delta(epsilon) = F(u, v) = 1 - Q(u) - Q(v) - e^epsilon (Q(D - v) - Q(D + u))`.
//!
//! The derivative of `F` in `D` is `e^epsilon (f(D - v) - f(D + u)) >= 0`, so that `D` itself is
//! the worst of all shifts up to `D`.
//!
//! # Direction of error
//! `delta` is the maximum of `F`, so `F` at any pair is a lower bound. The pair used lies inside
//! the interval; what is missing at an end, say between `v_1` and `v`, is at most
//! `(v_2 - v_1) f(D - v_2) (e^loss(v_1) - e^epsilon)` with a proved `v_2 >= v`: the square of the
//! roots' error, which is why `f64` roots suffice for any `delta`.

use super::ladder::{Formula, evaluate, evaluate_until};
use reticent_noise::random_scale::InverseScale;
use reticent_numerics::root::{Direction, Range, greatest_where, monotone_root};
use reticent_numerics::{Bounds, Enclosure};

/// One scalar release.
#[derive(Clone, Copy, Debug)]
pub(super) struct Profile<'a> {
    pub(super) inverse_scale: &'a InverseScale,
    pub(super) sensitivity: f64,
    /// The pure loss at that sensitivity.
    pub(super) pure_epsilon: Bounds,
}

impl Profile<'_> {
    /// Bounds on `delta(epsilon)` for a finite `epsilon >= 0`.
    pub(super) fn delta(&self, epsilon: f64) -> Bounds {
        if epsilon >= self.pure_epsilon.upper() {
            return Bounds::ZERO;
        }
        if epsilon >= self.pure_epsilon.lower() {
            // delta <= P[loss > epsilon] (1 - e^(epsilon - pure epsilon))
            let excess = Bounds::exact(epsilon) - Bounds::exact(self.pure_epsilon.upper());
            return Bounds::new(0.0, (-excess.exp_m1()).upper().clamp(0.0, 1.0));
        }
        let right = self.right_end(epsilon);
        let left = self.left_end(epsilon);
        let inside =
            evaluate(&Gain { profile: self, epsilon, left: left.inside, right: right.inside });
        let missing = left.missing + right.missing;
        Bounds::new(inside.lower(), (inside + missing).upper()).clamp(0.0, 1.0)
    }

    /// Bounds on `loss(y) - epsilon`, sharp enough to tell its sign wherever `f64` can tell `y`.
    fn excess_loss(&self, near: f64, far: Far, epsilon: f64) -> Bounds {
        let formula = ExcessLoss { profile: self, near, far, epsilon };
        let negligible = 1e-27 * epsilon.max(self.pure_epsilon.lower());
        evaluate_until(&formula, |bounds| {
            bounds.relative_width() < 1e-9 || bounds.width() < negligible
        })
    }

    /// `v`, between 0 and `D/2`.
    fn right_end(&self, epsilon: f64) -> End {
        let half = 0.5 * self.sensitivity;
        if epsilon == 0.0 {
            // By symmetry; no evaluation could prove it.
            return End { inside: half, missing: Bounds::ZERO };
        }
        let loss = |v: f64| self.excess_loss(v, Far::Mirrored, epsilon);
        let range = Range::between(0.0, half);
        let (inside, outside) = match monotone_root(loss, range, Direction::Decreasing) {
            Ok(root) => (root.lower(), root.upper()),
            // So small an epsilon that the sign at D/2, where the loss is zero, is not proved.
            Err(_) => (greatest_where(|v| loss(v).lower() >= 0.0, range).unwrap_or(0.0), half),
        };
        // The density around D rises up to `outside`.
        let density = Density { profile: self, near: outside, far: Far::Mirrored };
        End { inside, missing: self.missing(loss(inside), inside, outside, epsilon, &density) }
    }

    /// `u`, which may be infinite.
    fn left_end(&self, epsilon: f64) -> End {
        let floor = Bounds::exact(self.inverse_scale.least()) * Bounds::exact(self.sensitivity);
        if epsilon <= floor.lower() {
            // The loss decreases to its infimum, D times the least T, and does not fall below.
            return End { inside: f64::INFINITY, missing: Bounds::ZERO };
        }
        let loss = |u: f64| self.excess_loss(u, Far::Beyond, epsilon);
        let farthest = self.farthest();
        let range = Range::between(0.0, farthest).bracket_from(self.sensitivity.min(farthest));
        match monotone_root(loss, range, Direction::Decreasing) {
            Ok(root) => {
                let density = Density { profile: self, near: root.lower(), far: Far::Beyond };
                let missing =
                    self.missing(loss(root.lower()), root.lower(), root.upper(), epsilon, &density);
                End { inside: root.lower(), missing }
            }
            Err(_) => {
                let inside =
                    greatest_where(|u| loss(u).lower() >= 0.0, Range::between(0.0, farthest))
                        .unwrap_or(0.0);
                // All of the mass around D that lies farther out.
                let beyond = evaluate(&Tail { profile: self, near: inside });
                End { inside, missing: self.gain_of(loss(inside), epsilon) * beyond }
            }
        }
    }

    /// Where less than `1e-250` of the noise lies farther out, or `1e120` times its size.
    fn farthest(&self) -> f64 {
        let mut x = 1.0 / self.inverse_scale.tilted_mean(&Bounds::ZERO).estimate();
        let limit = 1e120 * x;
        while x < limit && self.inverse_scale.transform(&Bounds::exact(2.0 * x)).lower() > 1e-250 {
            x *= 2.0;
        }
        x
    }

    /// `e^loss - e^epsilon` for a given `loss - epsilon`, or zero where that is negative.
    fn gain_of(&self, excess: Bounds, epsilon: f64) -> Bounds {
        let gain = excess.exp_m1() * Bounds::exact(epsilon).exp();
        Bounds::new(0.0, gain.upper().max(0.0))
    }

    fn missing(
        &self,
        excess: Bounds,
        inside: f64,
        outside: f64,
        epsilon: f64,
        density: &Density,
    ) -> Bounds {
        if inside == outside {
            return Bounds::ZERO;
        }
        let length = (Bounds::exact(outside) - Bounds::exact(inside)).abs();
        self.gain_of(excess, epsilon) * length * evaluate(density)
    }
}

/// An end of the interval, and what is lost by stopping there.
struct End {
    inside: f64,
    missing: Bounds,
}

/// How far an output at a distance `near` of 0 is from `D`.
#[derive(Clone, Copy, Debug)]
enum Far {
    /// Between the two: `D - near`.
    Mirrored,
    /// On the far side of 0: `D + near`.
    Beyond,
}

impl Far {
    fn distance<E: Enclosure>(self, sensitivity: f64, near: &E) -> E {
        match self {
            Far::Mirrored => near.exactly(sensitivity) - near.clone(),
            Far::Beyond => near.exactly(sensitivity) + near.clone(),
        }
    }
}

struct ExcessLoss<'a> {
    profile: &'a Profile<'a>,
    near: f64,
    far: Far,
    epsilon: f64,
}

impl Formula for ExcessLoss<'_> {
    fn at<E: Enclosure>(&self, like: &E) -> E {
        let near = like.exactly(self.near);
        let far = self.far.distance(self.profile.sensitivity, &near);
        let [near, far] = [near, far].map(|x| self.profile.inverse_scale.tilted_mean(&x).ln());
        near - far - like.exactly(self.epsilon)
    }
}

/// `f` at the distance from `D`.
struct Density<'a> {
    profile: &'a Profile<'a>,
    near: f64,
    far: Far,
}

impl Formula for Density<'_> {
    fn at<E: Enclosure>(&self, like: &E) -> E {
        let x = self.far.distance(self.profile.sensitivity, &like.exactly(self.near));
        self.profile.inverse_scale.tilted_mean(&x).times_power_of_two(-1)
    }
}

/// `Q(D + near)`.
struct Tail<'a> {
    profile: &'a Profile<'a>,
    near: f64,
}

impl Formula for Tail<'_> {
    fn at<E: Enclosure>(&self, like: &E) -> E {
        let x = Far::Beyond.distance(self.profile.sensitivity, &like.exactly(self.near));
        self.profile.inverse_scale.transform(&x).times_power_of_two(-1)
    }
}

/// `F(left, right)`.
struct Gain<'a> {
    profile: &'a Profile<'a>,
    epsilon: f64,
    left: f64,
    right: f64,
}

impl Formula for Gain<'_> {
    fn at<E: Enclosure>(&self, like: &E) -> E {
        let tail = |x: E| self.profile.inverse_scale.transform(&x).times_power_of_two(-1);
        let right = like.exactly(self.right);
        let mut here = like.exactly(1.0) - tail(right.clone());
        let mut there = tail(Far::Mirrored.distance(self.profile.sensitivity, &right));
        if self.left < f64::INFINITY {
            let left = like.exactly(self.left);
            here = here - tail(left.clone());
            there = there - tail(Far::Beyond.distance(self.profile.sensitivity, &left));
        }
        here - like.exactly(self.epsilon).exp() * there
    }
}
