//! A lower bound of `c(t) + sum of lambda_j (k_j(t)/delta - 1)` over all `t > 0`.

use super::losing::Kernel;
use super::loss::{Derivatives, SigmaLoss};
use reticent_numerics::Bounds;

/// How far below the optimum of the programme the proof may stay, relative to it: the grid of
/// standard deviations and the solver's accuracy decide what can be had.
const SLACKS: [f64; 5] = [1e-7, 5e-3, 0.02, 0.06, 0.3];
/// The most pieces of the half line that are looked at for one slack.
const PIECES: usize = 5000;

/// A loss with multipliers of constraints.
pub(super) struct Lagrangian<'a> {
    pub(super) loss: &'a SigmaLoss,
    /// Each kernel with its multiplier, which is not negative.
    pub(super) constraints: Vec<(f64, &'a Kernel)>,
    pub(super) delta: f64,
}

impl Lagrangian<'_> {
    fn at(&self, t: Bounds) -> Derivatives {
        let delta = Bounds::exact(self.delta);
        self.constraints.iter().fold(self.loss.at(t), |sum, (multiplier, kernel)| {
            let multiplier = Bounds::exact(*multiplier);
            let mut sum = sum.plus(multiplier / delta, kernel.at(t));
            sum.value = sum.value - multiplier;
            sum
        })
    }

    /// Estimated, at a standard deviation.
    pub(super) fn estimate(&self, sigma: f64) -> f64 {
        let constraints = self
            .constraints
            .iter()
            .map(|(multiplier, kernel)| multiplier * (kernel.estimate(sigma) / self.delta - 1.0));
        self.loss.estimate(sigma) + constraints.sum::<f64>()
    }

    /// A number that it is proved to be at least, for every `t > 0`, at best `target` but for a
    /// slack; zero where nothing near the target can be proved, which every loss is at least.
    ///
    /// For every distribution of `sigma` that keeps `(epsilon, delta)`, `E[c] >= E[c + sum of
    /// lambda_j (k_j/delta - 1)]`, because `E[k_j] <= delta`: so no such distribution has a smaller
    /// error than this number.
    pub(super) fn proved_floor(&self, target: f64, size: f64) -> f64 {
        if !(target.is_finite() && target > 0.0 && size > 0.0) {
            return 0.0;
        }
        let aims = SLACKS.map(|slack| target * (1.0 - slack));
        aims.into_iter().find(|&aim| self.is_proved(aim, size)).unwrap_or(0.0)
    }

    /// By halving pieces of the half line. `size` is a standard deviation of the right size. The
    /// first piece begins at zero and the last has no end; of a tail `Q(u t)` there the limits are
    /// used, and of the loss its least value, at the far end or zero.
    fn is_proved(&self, aim: f64, size: f64) -> bool {
        let (near, far) = (1e-9 / size, 1e9 / size);
        let mut pieces = vec![(0.0, near), (near, far), (far, f64::INFINITY)];
        for _ in 0..PIECES {
            let Some((low, high)) = pieces.pop() else { return true };
            if self.least_over(low, high) >= aim {
                continue;
            }
            // The ends are as they are.
            if low == 0.0 || high.is_infinite() {
                return false;
            }
            let cut = if high > 2.0 * low { (low * high).sqrt() } else { 0.5 * (low + high) };
            if cut <= low || cut >= high {
                return false;
            }
            pieces.extend([(low, cut), (cut, high)]);
        }
        false
    }

    /// What it is at least between two numbers: `c` at the far end, where it is least, with the
    /// kernels over the piece; or Taylor's formula around the middle.
    fn least_over(&self, low: f64, high: f64) -> f64 {
        let piece = Bounds::new(low, high);
        let delta = Bounds::exact(self.delta);
        let falling = if high.is_infinite() {
            Bounds::ZERO
        } else {
            Bounds::exact(self.loss.at(Bounds::exact(high)).value.lower())
        };
        let mut plain = falling;
        for (multiplier, kernel) in &self.constraints {
            let multiplier = Bounds::exact(*multiplier);
            plain = plain + multiplier / delta * kernel.values_over(piece) - multiplier;
        }
        let plain = plain.lower();
        if low == 0.0 || high.is_infinite() || high > 2.0 * low {
            return plain;
        }
        let center = 0.5 * (low + high);
        let (near, over) = (self.at(Bounds::exact(center)), self.at(piece));
        let half = Bounds::new(0.0, (high - center).max(center - low).next_up());
        let bend = over.second.lower();
        let slope = near.first.abs();
        let bent = Bounds::exact(0.5 * bend.min(0.0)) * half.square();
        let mut taylor = (near.value - slope * half + bent).lower();
        if bend > 0.0 {
            let dip = slope.square() / (Bounds::exact(2.0) * Bounds::exact(bend));
            taylor = taylor.max((near.value - dip).lower());
        }
        if taylor.is_nan() { plain } else { plain.max(taylor) }
    }
}
