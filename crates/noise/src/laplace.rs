//! Laplace noise.

use crate::NoiseError;
use crate::noise::Noise;
use crate::strips::Strips;
use reticent_numerics::Enclosure;
use std::sync::{Arc, OnceLock};

/// The Laplace distribution of scale 1.
///
/// # Distribution
/// `f(x) = exp(-|x|) / 2`, `P[X > x] = exp(-x) / 2` for `x >= 0`. With scale `b` the mean absolute
/// error is `b` and the variance `2 b^2`.
///
/// # Guarantee
/// With `b = D_1 / epsilon` pure epsilon-differential privacy for a query of l1 sensitivity `D_1`,
/// and this is tight.
///
/// # References
/// Dwork, McSherry, Nissim, Smith, *Calibrating noise to sensitivity in private data
/// analysis*, 2006.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Laplace;

impl Noise for Laplace {
    fn density<E: Enclosure>(&self, x: &E) -> E {
        (-x.clone()).exp().times_power_of_two(-1)
    }

    fn tail<E: Enclosure>(&self, x: &E) -> E {
        self.density(x)
    }

    fn magnitude(&self) -> f64 {
        1.0
    }

    fn strips(&self) -> Result<Arc<Strips>, NoiseError> {
        static STRIPS: OnceLock<Result<Arc<Strips>, NoiseError>> = OnceLock::new();
        STRIPS.get_or_init(|| Strips::build(self).map(Arc::new)).clone()
    }
}
