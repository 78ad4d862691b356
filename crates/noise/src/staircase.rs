//! Staircase noise: the least error that pure differential privacy allows.

use crate::NoiseError;
use crate::integer_part::integer_part;
use crate::noise::Noise;
use reticent_numerics::{Enclosure, require};

/// The staircase distribution for sensitivity 1, with steps at `k` and `k + gamma`.
///
/// # Distribution
/// With `b = exp(-epsilon)` and the peak `a = (1 - b) / (2 (gamma + b (1 - gamma)))`:
/// `f(x) = a b^k` for `x` in `[k, k + gamma)` and `a b^(k+1)` for `x` in `[k + gamma, k + 1)`,
/// `k = 0, 1, 2, ...`, mirrored at zero. One period holds as much as all that is beyond it times
/// `1/b - 1`, so `P[X > k] = b^k / 2`.
///
/// # Guarantee
/// Pure epsilon-differential privacy for every `gamma` in `[0, 1]`, tight. With the right `gamma`
/// no noise has a smaller expected loss, for every loss that is symmetric and increasing in the
/// error.
///
/// # References
/// Geng and Viswanath, *The optimal noise-adding mechanism in differential privacy*, 2016.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Staircase {
    epsilon: f64,
    gamma: f64,
}

impl Staircase {
    /// Steps at `k + gamma`, each lower by `exp(-epsilon)`.
    ///
    /// # Errors
    /// If `epsilon` is not from 1e-9 to 700 or `gamma` not from 0 to 1.
    pub fn new(epsilon: f64, gamma: f64) -> Result<Self, NoiseError> {
        require(
            (1e-9..=700.0).contains(&epsilon),
            "epsilon",
            epsilon,
            "a number from 1e-9 to 700",
        )?;
        require((0.0..=1.0).contains(&gamma), "gamma", gamma, "a number from 0 to 1")?;
        Ok(Staircase { epsilon, gamma })
    }

    /// `epsilon`, per unit of distance.
    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// `gamma`, the width of the upper half of a step.
    pub fn gamma(&self) -> f64 {
        self.gamma
    }

    /// `exp(-epsilon k)`.
    fn decay<E: Enclosure>(&self, k: i128, like: &E) -> E {
        (-(like.integer(k) * like.exactly(self.epsilon))).exp()
    }

    /// `a`.
    pub fn peak<E: Enclosure>(&self, like: &E) -> E {
        let b = self.decay(1, like);
        let one_less_b = -(like.exactly(-self.epsilon).exp_m1());
        let gamma = like.exactly(self.gamma);
        let period = gamma.clone() + b * (like.exactly(1.0) - gamma);
        one_less_b / period.times_power_of_two(1)
    }

    /// On which half of which step `x` lies; both ends of an enclosure that reaches over an edge.
    fn steps<E: Enclosure>(&self, x: &E) -> [i128; 2] {
        let (low, high) = integer_part(x);
        let side = |k: i128, far: bool| {
            let rest = (x.clone() - x.integer(k)).bounds();
            let rest = if far { rest.upper() } else { rest.lower() };
            2 * k + i128::from(rest >= self.gamma)
        };
        [side(low.max(0), false), side(high.max(0), true)]
    }

    /// `f(x)` where the half step is known: number `2k` is above `[k, k + gamma)`, number `2k + 1`
    /// above `[k + gamma, k + 1)`.
    fn height<E: Enclosure>(&self, half_step: i128, like: &E) -> E {
        self.peak(like) * self.decay((half_step + 1) >> 1, like)
    }
}

impl Noise for Staircase {
    fn density<E: Enclosure>(&self, x: &E) -> E {
        let [low, high] = self.steps(x);
        let near = self.height(low, x);
        if low == high { near } else { near.hull(self.height(high, x)) }
    }

    fn tail<E: Enclosure>(&self, x: &E) -> E {
        let [low, high] = self.steps(x);
        // The tail is linear on a half step and continuous, so either neighbour's line is right at
        // an edge, and the hull of both lines is right where the edge itself is in doubt.
        let on = |half_step: i128| {
            let k = half_step >> 1;
            let end = x.integer(k + 1);
            let beyond = self.decay(k + 1, x).times_power_of_two(-1);
            let lower_half = self.height(2 * k + 1, x);
            if half_step & 1 == 1 {
                return beyond + lower_half * (end - x.clone());
            }
            let edge = x.integer(k) + x.exactly(self.gamma);
            beyond
                + lower_half * (end - edge.clone())
                + self.height(half_step, x) * (edge - x.clone())
        };
        let near = on(low);
        if low == high { near } else { near.hull(on(high)) }
    }

    fn magnitude(&self) -> f64 {
        let (b, g) = ((-self.epsilon).exp(), self.gamma);
        0.5 * (g * g + b * (1.0 - g * g)) / (g + b * (1.0 - g)) + b / -(-self.epsilon).exp_m1()
    }
}
