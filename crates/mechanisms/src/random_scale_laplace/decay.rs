//! How fast the transform decays, which decides what is finite.

use reticent_noise::random_scale::{InverseScale, TruncatedGaussianScale};
use reticent_numerics::{Bounds, Enclosure};

/// `E[exp(-y T)] <= bound (x/y)^order` for every `y >= x`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decay {
    pub(super) bound: Bounds,
    /// Rounded down.
    pub(super) order: f64,
}

impl Decay {
    /// The bound from `x > 0` on. Parts that stay away from zero decay exponentially, for which
    /// this takes no credit (`order` zero): see `InverseScale::least`.
    pub(super) fn of(inverse_scale: &InverseScale, x: Bounds) -> Self {
        let constant = || Decay { bound: inverse_scale.transform(&x), order: 0.0 };
        match inverse_scale {
            InverseScale::Gamma(gamma) => {
                // (1 + theta y)^-k <= (theta y)^-k
                let order = gamma.shape();
                Decay { bound: (Bounds::exact(gamma.scale()) * x).pow(-order), order }
            }
            // (1 - exp(-upper y)) / (upper y)
            InverseScale::Uniform(uniform) if uniform.lower() == 0.0 => {
                Decay { bound: Bounds::ONE / (Bounds::exact(uniform.upper()) * x), order: 1.0 }
            }
            // E[exp(-y T)] is at most the highest density over y.
            InverseScale::TruncatedGaussian(normal) if normal.lower() == 0.0 => {
                Decay { bound: highest_density(normal) / x, order: 1.0 }
            }
            InverseScale::Combined(combined) => {
                let one = Decay { bound: Bounds::ONE, order: 0.0 };
                combined.parts().iter().fold(one, |product, (weight, part)| {
                    let part = Decay::of(part, Bounds::exact(*weight) * x);
                    let order = (Bounds::exact(product.order) + Bounds::exact(part.order)).lower();
                    Decay { bound: product.bound * part.bound, order }
                })
            }
            InverseScale::TwoPoint(_)
            | InverseScale::Uniform(_)
            | InverseScale::TruncatedGaussian(_) => constant(),
        }
    }

    /// A bound on `∫_x^∞ y^power E[exp(-y T)] dy`, which is
    /// `bound x^(power+1) / (order - power - 1)` if that is positive.
    pub(super) fn tail_integral(&self, x: Bounds, power: f64) -> Bounds {
        let margin = Bounds::exact(self.order) - Bounds::exact(power + 1.0);
        if margin.lower() > 0.0 {
            self.bound * x.pow(power + 1.0) / margin
        } else {
            Bounds::WHOLE_LINE
        }
    }
}

/// Bounds on the number `r` such that `P[T <= t]` falls like `t^r` as `t` goes to zero: `E[T^-n]`
/// is finite if and only if `r > n`. Infinite where `T` stays away from zero; the exponents of
/// independent parts add up.
pub(super) fn order_at_zero(inverse_scale: &InverseScale) -> Bounds {
    const NEVER: (f64, f64) = (f64::INFINITY, f64::INFINITY);
    let (lower, upper) = match inverse_scale {
        InverseScale::Gamma(gamma) => (gamma.shape(), gamma.shape()),
        InverseScale::Uniform(uniform) if uniform.lower() == 0.0 => (1.0, 1.0),
        InverseScale::TruncatedGaussian(normal) if normal.lower() == 0.0 => (1.0, 1.0),
        InverseScale::Combined(combined) => {
            let sum = combined
                .parts()
                .iter()
                .fold(Bounds::ZERO, |sum, (_, part)| sum + order_at_zero(part));
            (sum.lower(), sum.upper())
        }
        InverseScale::TwoPoint(_)
        | InverseScale::Uniform(_)
        | InverseScale::TruncatedGaussian(_) => NEVER,
    };
    Bounds::new(lower, upper)
}

/// A bound on the density of a truncated normal distribution.
///
/// Let the mode lie at a distance `d` from `mu` and `l = min(sigma^2/(d + sigma), w/2)`, `w` being
/// the width of the interval. On one of its sides the mode has a stretch of length `l` within the
/// interval, over which the density falls by at most a factor
/// `exp(-(2 d l + l^2) / (2 sigma^2)) >= exp(-3/2)`. So its mass, at most one, is at least
/// `exp(-3/2) l` times the highest density.
fn highest_density(normal: &TruncatedGaussianScale) -> Bounds {
    let [mu, sigma, lower, upper] =
        [normal.mu(), normal.sigma(), normal.lower(), normal.upper()].map(Bounds::exact);
    let distance = Bounds::new(0.0, (lower - mu).upper().max((mu - upper).upper()).max(0.0));
    let length = (sigma * sigma / (distance + sigma))
        .lower()
        .min((upper - lower).times_power_of_two(-1).lower());
    Bounds::exact(1.5).exp() / Bounds::exact(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_noise::random_scale::{Combined, GammaScale, TwoPointScale, UniformScale};

    fn families() -> [(InverseScale, f64); 7] {
        let gamma: InverseScale = GammaScale::new(0.7, 3.0).expect("valid").into();
        let uniform: InverseScale = UniformScale::new(0.0, 2.0).expect("valid").into();
        let normal: InverseScale =
            TruncatedGaussianScale::new(-2.0, 0.5, 0.0, 4.0).expect("valid").into();
        let away: InverseScale = TwoPointScale::new(1.0, 3.0, 0.3).expect("valid").into();
        let combined = |parts: Vec<InverseScale>| {
            InverseScale::from(
                Combined::new(parts.into_iter().map(|part| (0.5, part)).collect()).expect("valid"),
            )
        };
        [
            (gamma.clone(), 0.7),
            (uniform.clone(), 1.0),
            (normal.clone(), 1.0),
            (away.clone(), f64::INFINITY),
            (combined(vec![gamma.clone(), uniform, normal]), 2.7),
            (combined(vec![gamma, away]), f64::INFINITY),
            (UniformScale::new(0.5, 2.0).expect("valid").into(), f64::INFINITY),
        ]
    }

    #[test]
    fn the_bound_holds_all_the_way_out() {
        for (family, order) in families() {
            assert!(order_at_zero(&family).contains(order), "{family:?}");
            for x in [0.3, 2.0, 40.0] {
                let decay = Decay::of(&family, Bounds::exact(x));
                for ratio in [1.0, 1.5, 10.0, 1e3, 1e6] {
                    let value = family.transform(&Bounds::exact(x * ratio)).lower();
                    let bound = decay.bound.upper() * ratio.powf(-decay.order) * (1.0 + 1e-12);
                    assert!(value <= bound, "{family:?} at {x} * {ratio}: {value:e} > {bound:e}");
                }
            }
        }
    }
}
