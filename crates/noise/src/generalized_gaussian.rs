//! Generalized Gaussian noise of any order.

use crate::NoiseError;
use crate::noise::Noise;
use reticent_numerics::gamma::gamma;
use reticent_numerics::incomplete_gamma::{gamma_q, upper_regularized};
use reticent_numerics::{Bounds, Enclosure, require};

/// The generalized Gaussian distribution of order `p` and scale 1.
///
/// # Distribution
/// `f(x) = exp(-|x|^p) / (2 Gamma(1 + 1/p))`, and `P[X > x] = Q(1/p, x^p) / 2` with the regularised
/// upper incomplete gamma function `Q`. Order 1 is Laplace; order 2 with scale `b` is the Gaussian
/// of standard deviation `b / sqrt 2`. It is log-concave for `p >= 1`.
///
/// # Guarantee
/// Orders above 1 are never pure (Liu, Claim 4); orders of at most 1 are: `b = D_p / epsilon^(1/p)`
/// gives pure epsilon-differential privacy, which Claim 4 denies (erratum L1).
///
/// # References
/// Liu, *Generalized Gaussian mechanism for differential privacy*, Definition 5.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GeneralizedGaussian {
    order: f64,
}

impl GeneralizedGaussian {
    /// Noise of the given order `p`.
    ///
    /// # Errors
    /// If the order is not a number from 0.2 to 1000.
    pub fn new(order: f64) -> Result<Self, NoiseError> {
        require((0.2..=1000.0).contains(&order), "order", order, "a number from 0.2 to 1000")?;
        Ok(GeneralizedGaussian { order })
    }

    /// `p`.
    pub fn order(&self) -> f64 {
        self.order
    }

    /// `1/p`.
    fn inverse_order<E: Enclosure>(&self, like: &E) -> E {
        like.exactly(1.0) / like.exactly(self.order)
    }

    /// `|x|^p`, also at zero.
    fn power<E: Enclosure>(&self, x: &E) -> E {
        let reach = x.bounds();
        if reach.upper() <= 0.0 {
            return x.exactly(0.0);
        }
        if reach.lower() <= 0.0 {
            // The logarithm does not reach zero, but x^p does, monotonically.
            let most = x.exactly(reach.upper()).pow(self.order);
            return x.exactly(0.0).hull(most);
        }
        x.clone().pow(self.order)
    }
}

/// `exp(-x^p)` underflows long before this value of `x^p`.
const NEGLIGIBLE_BEYOND: f64 = 1e4;

/// The density is not normalised: `c = 2 Gamma(1 + 1/p)`.
impl Noise for GeneralizedGaussian {
    fn density<E: Enclosure>(&self, x: &E) -> E {
        (-self.power(x)).exp()
    }

    fn tail<E: Enclosure>(&self, x: &E) -> E {
        let inverse = self.inverse_order(x);
        upper_regularized(&inverse, &self.power(x)) * self.mass(x).times_power_of_two(-1)
    }

    fn mass<E: Enclosure>(&self, like: &E) -> E {
        gamma(&(like.exactly(1.0) + self.inverse_order(like))).times_power_of_two(1)
    }

    fn tail_bounds(&self, x: Bounds) -> Bounds {
        let inverse = self.inverse_order(&x);
        let power = self.power(&x);
        let upper_tail = if power.upper() <= NEGLIGIBLE_BEYOND {
            gamma_q(inverse, power)
        } else {
            // Q decreases; beyond the range of f64 its bound at the near end is all there is to
            // know.
            gamma_q(inverse, Bounds::exact(power.lower().min(NEGLIGIBLE_BEYOND))).hull(Bounds::ZERO)
        };
        upper_tail * self.mass(&x).times_power_of_two(-1)
    }

    fn magnitude(&self) -> f64 {
        // The mean absolute value is Gamma(2/p) / Gamma(1/p); an estimate is enough.
        let inverse = Bounds::ONE / Bounds::exact(self.order);
        (gamma(&(inverse + inverse)) / gamma(&inverse)).estimate()
    }
}
