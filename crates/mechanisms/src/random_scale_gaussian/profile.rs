//! The privacy profile of a Gaussian scale mixture, which need not lose more further out.
//!
//! # Method
//! Let `f` be the density, `T` the upper tail, and `l(x) = ln f(x) - ln f(x + D)` the loss. Then
//! `delta(epsilon)` is the integral of `f(x) - e^epsilon f(x + D)` over the set `l > epsilon`.
//!
//! 1. A component of standard deviation `s` alone has the ratio
//!    `f_s(x)/f_s(x + D) = exp((2 x D + D^2)/(2 s^2))`. So for `x >= -D/2` the ratio of the mixture
//!    lies between those of the largest and the smallest `s`: below `epsilon s_min^2/D - D/2` no
//!    output loses more than `epsilon`, beyond `epsilon s_max^2/D - D/2` all of them do. Only the
//!    range in between is open. (For `x < -D/2` the loss is negative.)
//! 2. There the slope `l'` is bounded on a whole piece through monotone functions of `x`, and with
//!    the loss at its middle the loss on all of it. Pieces are halved until that is proved to be
//!    above or below `epsilon` or the piece is tiny.
//! 3. A run of pieces above `epsilon` from `u` to `v` adds `G(u) - G(v)`,
//!    `G(x) = T(x) - e^epsilon T(x + D)`, evaluated with 160 bits or more. A piece `[u, v]` that
//!    stays open adds something between 0 and `(v - u) f(u) (l_max - epsilon)`, as `f - e^epsilon
//!    f(. + D) = f (1 - e^(epsilon - l)) <= f (l - epsilon)` there: second order in its width.

use reticent_noise::{GaussianMixture, Noise};
use reticent_numerics::log_sum::ln_sum_exp;
use reticent_numerics::{Big, Bounds, Enclosure};

/// The largest number of pieces; what is still open then widens the upper bound.
const PIECES: usize = 20_000;

/// A piece that is narrower than this, relative to its point, is left open.
const NARROWEST: f64 = 1e-11;

/// Bounds on `delta(epsilon)` for a shift of `sensitivity`.
pub(super) fn delta(mixture: &GaussianMixture, sensitivity: f64, epsilon: f64) -> Bounds {
    let loss = Loss { mixture, sensitivity };
    let Some(range) = loss.open_range(epsilon) else {
        return Bounds::new(0.0, f64::from_bits(1));
    };
    let (above, open) = loss.classify(&range, epsilon);
    let mut precision = 160;
    loop {
        let like = Big::exact(1.0, precision);
        let mass = mixture.mass(&like);
        let value = |x: f64| loss.surplus(&like.exactly(x), epsilon);
        let mut sum = like.exactly(0.0);
        for &(from, to) in &above {
            sum = sum + value(from);
            if let Some(to) = to {
                sum = sum - value(to);
            }
        }
        let certain = (sum / mass).bounds();
        let total = Bounds::new(certain.lower(), (certain + open).upper()).clamp(0.0, 1.0);
        // Cancellation is cured by bits; what is open, or below the range of f64, is not.
        if certain.relative_width() < 1e-12 || certain.upper() < 1e-300 || precision > 1000 {
            return total;
        }
        precision *= 2;
    }
}

/// Runs of outputs that lose more than the budget, from left to right; only the last may have no
/// end.
type Runs = Vec<(f64, Option<f64>)>;

/// The outputs from `start` to `end` may lose more or less than `epsilon`; those beyond all lose
/// more, unless the range was cut off.
struct OpenRange {
    start: f64,
    end: f64,
    cut: bool,
}

struct Loss<'a> {
    mixture: &'a GaussianMixture,
    sensitivity: f64,
}

impl Loss<'_> {
    /// Where the mixture's loss may be on either side of `epsilon`, rounded outward. Only up to
    /// 1000 times the largest standard deviation, beyond which there is less than the least `f64`;
    /// `None` if it begins there.
    fn open_range(&self, epsilon: f64) -> Option<OpenRange> {
        let sigmas = || self.mixture.components().iter().map(|&(sigma, _)| sigma);
        let (least, most) = (sigmas().fold(f64::INFINITY, f64::min), sigmas().fold(0.0, f64::max));
        let distance = Bounds::exact(self.sensitivity);
        let point = |sigma: f64| {
            Bounds::exact(epsilon) * Bounds::exact(sigma).square() / distance
                - distance.times_power_of_two(-1)
        };
        let start = point(least).lower().max(-0.5 * self.sensitivity);
        let (end, far) = (point(most).upper(), 1e3 * most);
        (start < far).then(|| OpenRange { start, end: end.min(far).max(start), cut: end > far })
    }

    /// `ln sum w_i s_i^-power exp(-x^2/(2 s_i^2))`: up to a constant `ln f(x)` for power 1.
    fn ln_sum(&self, power: u32, x: Bounds) -> Bounds {
        ln_sum_exp(self.mixture.components().iter().map(|&(sigma, weight)| {
            let (sigma, weight) = (Bounds::exact(sigma), Bounds::exact(weight));
            (weight / sigma.powi(power)).ln() - (x / sigma).square().times_power_of_two(-1)
        }))
    }

    fn ln_density(&self, x: Bounds) -> Bounds {
        self.ln_sum(1, x)
    }

    /// `t(x) = E[1/s^2 | x]`, with which `-(ln f)'(x) = x t(x)`. It decreases in `|x|`: its
    /// derivative is `-x Var[1/s^2 | x]`.
    fn precision(&self, x: Bounds) -> Bounds {
        (self.ln_sum(3, x) - self.ln_sum(1, x)).exp()
    }

    /// Bounds on the loss over all of `[low, high]`, which is right of `-D/2`.
    fn on_piece(&self, low: f64, high: f64) -> Bounds {
        let shifted = |x: f64| Bounds::exact(x) + Bounds::exact(self.sensitivity);
        if low < 0.0 {
            // |x| is largest at an end, and least at an end or at 0.
            let near = if high >= 0.0 { 0.0 } else { -high };
            let most = self.ln_density(Bounds::exact(near)) - self.ln_density(shifted(high));
            let least =
                self.ln_density(Bounds::exact(high.max(-low))) - self.ln_density(shifted(low));
            return Bounds::new(least.lower(), most.upper());
        }
        // The mean value theorem: l'(x) = (x + D) t(x + D) - x t(x), each factor monotone.
        let (left, right) = (Bounds::exact(low), Bounds::exact(high));
        let least = shifted(low) * self.precision(shifted(high)) - right * self.precision(left);
        let most = shifted(high) * self.precision(shifted(low)) - left * self.precision(right);
        let slope = Bounds::new(least.lower(), most.upper());
        let middle = Bounds::exact(0.5 * low + 0.5 * high);
        let at_middle =
            self.ln_density(middle) - self.ln_density(middle + Bounds::exact(self.sensitivity));
        at_middle + slope * (left - middle).hull(right - middle)
    }

    /// The runs above `epsilon`, and bounds on what the open pieces add.
    fn classify(&self, range: &OpenRange, epsilon: f64) -> (Runs, Bounds) {
        let mut runs: Runs = Vec::new();
        let mut open = Bounds::ZERO;
        let mut extend = |low: f64, high: Option<f64>| match runs.last_mut() {
            Some(last) if last.1 == Some(low) => last.1 = high,
            _ => runs.push((low, high)),
        };
        // Pieces still to be looked at, the leftmost on top.
        let mut stack = vec![(range.start, range.end)];
        let mut looked = 0;
        while let Some((low, high)) = stack.pop() {
            if low >= high {
                continue;
            }
            looked += 1;
            let loss = self.on_piece(low, high);
            if loss.upper() <= epsilon {
                continue;
            }
            if loss.lower() >= epsilon {
                extend(low, Some(high));
                continue;
            }
            let middle = 0.5 * low + 0.5 * high;
            let size = high.abs().max(self.sensitivity);
            if high - low > NARROWEST * size && looked < PIECES && low < middle && middle < high {
                stack.push((middle, high));
                stack.push((low, middle));
                continue;
            }
            let near = if low <= 0.0 { 0.0 } else { low };
            let density =
                self.mixture.density_bounds(Bounds::exact(near)) / self.mixture.mass(&Bounds::ONE);
            let height = density * (loss - Bounds::exact(epsilon));
            let most = (height * (Bounds::exact(high) - Bounds::exact(low))).upper();
            open = open + Bounds::new(0.0, most.max(0.0));
        }
        if range.cut {
            // What is beyond adds at most its own probability.
            open = open + Bounds::new(0.0, f64::from_bits(1));
        } else {
            extend(range.end, None);
        }
        (runs, open)
    }

    /// `G(x) = T(x) - e^epsilon T(x + D)`.
    fn surplus(&self, x: &Big, epsilon: f64) -> Big {
        let tail = |x: &Big| {
            if x.bounds().lower() >= 0.0 {
                self.mixture.tail(x)
            } else {
                self.mixture.mass(x) - self.mixture.tail(&-x.clone())
            }
        };
        tail(x) - x.exactly(epsilon).exp() * tail(&(x.clone() + x.exactly(self.sensitivity)))
    }
}
