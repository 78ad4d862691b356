//! The order `p`, and the tail and density that belong to it.

use crate::MechanismError;
use reticent_numerics::gamma::gamma;
use reticent_numerics::incomplete_gamma::RegularizedGamma;
use reticent_numerics::{Bounds, Enclosure, OutOfRange};

/// The order `p` of generalized Gaussian noise `exp(-|x|^p) / (2 Gamma(1 + 1/p))` of scale 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Order(f64);

impl Order {
    /// Checks the order.
    ///
    /// # Errors
    /// If it is not a number from 0.2 to 100.
    pub fn new(order: f64) -> Result<Self, MechanismError> {
        if (0.2..=100.0).contains(&order) {
            Ok(Order(order))
        } else {
            Err(OutOfRange::new("order", order, "a number from 0.2 to 100").into())
        }
    }

    /// `p`.
    pub fn get(self) -> f64 {
        self.0
    }

    /// `1/p`.
    pub(crate) fn inverse<E: Enclosure>(self, like: &E) -> E {
        like.exactly(1.0) / like.exactly(self.0)
    }

    /// `x^(1/p)` for `x >= 0`.
    pub(crate) fn root<E: Enclosure>(self, x: &E) -> E {
        if self.0 == 1.0 {
            return x.clone();
        }
        if self.0 == 2.0 {
            return x.clone().sqrt();
        }
        let near = x.bounds();
        if near.upper() <= 0.0 {
            return x.exactly(0.0);
        }
        if near.lower() <= 0.0 {
            let most = x.exactly(near.upper());
            // An end that is infinite, or too small for this precision to know its sign, has no
            // better bound than itself, or 1.
            let root = match most.bounds().lower() > 0.0 {
                true => self.root(&most),
                false if near.upper() < 1.0 => x.exactly(1.0),
                false => x.clone(),
            };
            return x.exactly(0.0).hull(root);
        }
        (x.clone().ln() / x.exactly(self.0)).exp()
    }

    /// `|x|^p` for any real `x`.
    pub(crate) fn power<E: Enclosure>(self, x: &E) -> E {
        let near = x.bounds();
        if near.lower() > 0.0 {
            self.power_of_positive(x.clone())
        } else if near.upper() < 0.0 {
            self.power_of_positive(-x.clone())
        } else {
            let most = near.upper().max(-near.lower());
            let zero = x.exactly(0.0);
            if most == 0.0 { zero } else { zero.hull(self.power_of_positive(x.exactly(most))) }
        }
    }

    /// Whole orders by repeated squaring, which is faster and sharper than a logarithm.
    fn power_of_positive<E: Enclosure>(self, x: E) -> E {
        if self.0.fract() == 0.0 { x.powi(self.0 as u32) } else { x.pow(self.0) }
    }

    /// `P[X > x] = Q(1/p, x^p) / 2`, and its complement for a negative `x`.
    pub(crate) fn tail<E: Enclosure>(self, x: &E) -> E {
        let near = x.bounds();
        if near.lower() >= 0.0 {
            let function = RegularizedGamma::new(self.inverse(x));
            return function.upper(&self.power(x)).times_power_of_two(-1);
        }
        if near.upper() <= 0.0 {
            return x.exactly(1.0) - self.tail(&-x.clone());
        }
        if !(near.lower().is_finite() && near.upper().is_finite()) {
            return x.exactly(0.0).hull(x.exactly(1.0));
        }
        // It falls: the values at the ends enclose it.
        self.tail(&x.exactly(near.lower())).hull(self.tail(&x.exactly(near.upper())))
    }

    /// The density `exp(-|x|^p) / (2 Gamma(1 + 1/p))`.
    pub(crate) fn density<E: Enclosure>(self, x: &E) -> E {
        (-self.power(x)).exp() / self.mass(x)
    }

    /// `2 Gamma(1 + 1/p)`.
    pub(crate) fn mass<E: Enclosure>(self, like: &E) -> E {
        gamma(&(like.exactly(1.0) + self.inverse(like))).times_power_of_two(1)
    }

    /// A number whose `p`-th power is at least `power`: rounded up by far more than `powf` can be
    /// wrong.
    pub(crate) fn root_above(self, power: f64) -> f64 {
        power.powf(1.0 / self.0) * (1.0 + 1e-12)
    }

    /// `|x|^p` on plain intervals.
    pub(crate) fn power_bounds(self, x: Bounds) -> Bounds {
        self.power(&x)
    }
}
