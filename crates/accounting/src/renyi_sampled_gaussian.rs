//! Rényi divergences of Gaussian noise on a Poisson sample, at every order.
//!
//! With `x = e^(mu z - mu^2/2)`, `z` standard normal, the larger direction has
//!
//! ```text
//! e^m - 1 = E[F(x)],      F(x) = (1 + w)^alpha - 1 - alpha w,      w = q (x - 1).
//! ```
//!
//! `F` is convex, so in each cell of `z` it lies below its chord in `x`. With cells of width `h`
//! the bound is above by a relative `(h alpha mu)^2/8` or so. Proof:
//! docs/proofs/subsampled_renyi.md, section 4.

use reticent_numerics::normal::normal_sf;
use reticent_numerics::{Bounds, Enclosure};

/// The width of a cell times `alpha mu`, at most: the bound is then above by a relative `3e-4` or
/// so.
const STEP: f64 = 0.05;
/// The largest number of cells.
const MOST_CELLS: f64 = 6_000.0;
/// Standard deviations that are covered on each side of both means.
const REACH: f64 = 9.0;

/// An upper bound on `m` at the order `1 + excess`; infinite where it would take too many cells.
pub(crate) fn sampled_gaussian_moment(rate: f64, mu: f64, excess: f64) -> f64 {
    let (first, last) = (-REACH, (1.0 + excess) * mu + REACH);
    let cells = ((last - first) * ((1.0 + excess) * mu / STEP).max(4.0)).ceil();
    if !(cells <= MOST_CELLS && excess > 0.0) {
        return f64::INFINITY;
    }
    let step = (last - first) / cells;
    let point = |index: f64| first + index * step;
    let setting = Setting {
        rate: Bounds::exact(rate),
        mu: Bounds::exact(mu),
        order: Bounds::exact(excess) + Bounds::ONE,
    };
    let mut left = setting.end(point(0.0));
    // What lies below the first end: F(0) times its mass.
    let mut sum = setting.height(-setting.rate) * normal_sf(-left.z);
    for index in 1..=cells as u32 {
        let right = setting.end(point(f64::from(index)));
        sum = sum + left.chord_until(&right);
        left = right;
    }
    let share = setting.rate + (Bounds::ONE - setting.rate) / left.x;
    let power = setting.order * share.ln();
    let power = power
        + setting.order
            * (setting.order - Bounds::ONE)
            * setting.mu.square().times_power_of_two(-1);
    sum = sum + power.exp() * normal_sf(Bounds::exact(left.z) - setting.order * setting.mu);
    let moment = sum.ln_1p().upper();
    if moment.is_nan() { f64::INFINITY } else { moment.max(0.0) }
}

struct Setting {
    rate: Bounds,
    mu: Bounds,
    order: Bounds,
}

/// One end of a cell.
struct End {
    z: f64,
    x: Bounds,
    height: Bounds,
    shifted: Bounds,
}

impl Setting {
    fn end(&self, z: f64) -> End {
        let exponent = self.mu * (Bounds::exact(z) - self.mu.times_power_of_two(-1));
        let height = self.height(self.rate * exponent.exp_m1());
        End { z, x: exponent.exp(), height, shifted: Bounds::exact(z) - self.mu }
    }

    /// `(1 + w)^alpha - 1 - alpha w`, which is not negative.
    fn height(&self, w: Bounds) -> Bounds {
        let value = (self.order * w.ln_1p()).exp_m1() - self.order * w;
        Bounds::new(value.lower().max(0.0), value.upper())
    }
}

impl End {
    /// An upper bound, with 0 below, on the mean of the chord over the cell:
    /// `sum of end heights times the weights` `(x_1 P - X)/(x_1 - x_0)` and
    /// `(X - x_0 P)/(x_1 - x_0)`.
    fn chord_until(&self, right: &End) -> Bounds {
        let mass = mass_between(Bounds::exact(self.z), Bounds::exact(right.z));
        let weighted = mass_between(self.shifted, right.shifted);
        let width = right.x - self.x;
        let at_left = ((right.x * mass - weighted) / width).clamp(0.0, mass.upper());
        let at_right = ((weighted - self.x * mass) / width).clamp(0.0, mass.upper());
        let mean = self.height * at_left + right.height * at_right;
        // Where rounding hides the weights, the larger height bounds the chord.
        let crude = self.height.upper().max(right.height.upper()) * mass.upper();
        Bounds::new(0.0, if mean.upper() <= crude { mean.upper() } else { crude.next_up() })
    }
}

/// The standard normal mass between two points, from the side on which it does not cancel.
fn mass_between(from: Bounds, to: Bounds) -> Bounds {
    let mass = if from.lower() >= 0.0 {
        normal_sf(from) - normal_sf(to)
    } else {
        normal_sf(-to) - normal_sf(-from)
    };
    Bounds::new(mass.lower().max(0.0), mass.upper())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The integral by mpmath's quadrature at 30 digits.
    #[test]
    fn above_the_integral_by_little() {
        let rows = [
            (0.01, 1.0, 4.5, 0.0014522447356382452),
            (0.01, 1.0, 2.0, 0.00017181342207454794),
            (0.0001, 0.5, 4.55, 7.458582914035587e-5),
            (0.01, 0.3, 1.125, 0.002837726040977032),
            (1e-6, 1.0, 3.5, 7.517513472959569e-12),
            (0.5, 4.0, 20.25, 4.323154916551216),
            (0.001, 0.8, 1.01, 1.8889527853488214e-8),
        ];
        for (rate, sigma, order, exact) in rows {
            let found = sampled_gaussian_moment(rate, 1.0 / sigma, order - 1.0);
            assert!(
                found >= exact * (1.0 - 1e-9) && found <= exact * (1.0 + 1e-3),
                "{rate} {sigma} {order}: {found:e} {exact:e}"
            );
        }
    }

    #[test]
    fn too_many_cells_are_refused() {
        assert_eq!(sampled_gaussian_moment(0.1, 1000.0, 1.0), f64::INFINITY);
        assert_eq!(sampled_gaussian_moment(0.1, 1.0, f64::NAN), f64::INFINITY);
        assert_eq!(sampled_gaussian_moment(0.1, 1.0, -1.0), f64::INFINITY);
    }
}
