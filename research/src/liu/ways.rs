//! The ways in which a histogram is sanitised: those of the paper, and what this project adds at
//! the same budget.

use crate::ReproductionError;
use crate::count_query::{gaussian, laplace};
use crate::counts::{normalised, released};
use reticent_choice::{AbsoluteError, ScalarQuery, optimum};
use reticent_denoising::consistency::Total;
use reticent_denoising::{Denoiser, NoiseDescription, Release};
use reticent_mechanisms::{
    Delta, Distance, Epsilon, GaussianMethod, GeneralizedGaussian, GeneralizedGaussianMethod,
    Mechanism, Order, Releaser, Sensitivity,
};
use reticent_noise::randomness::RandomBits;

pub(super) const EPSILONS: [f64; 3] = [0.5, 1.0, 2.0];
pub(super) const DELTAS: [f64; 4] = [0.01, 0.05, 0.1, 0.25];

pub(super) const LAPLACE: &str = "Laplace";
pub(super) const PROBABILISTIC: &str = "Gaussian, Eqn 17 (probabilistic)";
pub(super) const CLASSICAL: &str = "Gaussian, Eqn 18 (classical)";
pub(super) const THIRD_ORDER: &str = "order 3, Corollary 9";
pub(super) const EXACT: &str = "Gaussian, exact";
pub(super) const OPTIMAL: &str = "optimal noise, exact";
pub(super) const DENOISED: &str = "Laplace, projected to the total";

/// A mechanism at a budget.
#[derive(Debug)]
pub(super) struct Way {
    pub(super) name: &'static str,
    pub(super) epsilon: f64,
    /// `None` where the guarantee is pure.
    pub(super) delta: Option<f64>,
    pub(super) scale: f64,
    releaser: Box<dyn Releaser>,
    /// The noise, if the release is moved to the nearest counts that are not negative and sum up,
    /// in place of being clamped and scaled.
    denoise: Option<NoiseDescription>,
}

impl Way {
    fn new(
        name: &'static str,
        epsilon: f64,
        delta: Option<f64>,
        mechanism: &dyn Mechanism,
    ) -> Result<Self, ReproductionError> {
        Ok(Way {
            name,
            epsilon,
            delta,
            scale: mechanism.scale(),
            releaser: mechanism.releaser()?,
            denoise: None,
        })
    }

    /// The histogram with noise, then between 0 and `total` and summing up to it.
    pub(super) fn sanitised(
        &self,
        original: &[f64],
        total: f64,
        random: &mut dyn RandomBits,
    ) -> Result<Vec<f64>, ReproductionError> {
        let counts = released(original, &*self.releaser, random)?;
        match &self.denoise {
            None => Ok(normalised(&counts, total)),
            Some(noise) => {
                // That counts are not negative and what they sum up to is public.
                let nearest = Total::new(total, true)?;
                Ok(nearest.denoise(&Release::new(counts, noise.clone())?)?.values)
            }
        }
    }
}

/// Laplace and the two Gaussian mechanisms of the paper.
pub(super) fn of_the_paper(epsilon: f64) -> Result<Vec<Way>, ReproductionError> {
    let mut ways = vec![Way::new(LAPLACE, epsilon, None, &laplace(epsilon)?)?];
    for delta in DELTAS {
        for (name, method) in
            [(PROBABILISTIC, GaussianMethod::Liu), (CLASSICAL, GaussianMethod::Classical2014)]
        {
            ways.push(Way::new(name, epsilon, Some(delta), &gaussian(method, epsilon, delta)?)?);
        }
    }
    Ok(ways)
}

/// Order 3 with the scale of Corollary 9, whose lost power of the sensitivity (erratum L2) makes no
/// difference at sensitivity 1; no Monte Carlo.
pub(super) fn third_order(epsilon: f64) -> Result<Vec<Way>, ReproductionError> {
    let mut ways = Vec::new();
    for delta in DELTAS {
        let mechanism = GeneralizedGaussian::calibrate(
            Order::new(3.0)?,
            GeneralizedGaussianMethod::Probabilistic,
            &Sensitivity::from(&[Distance::new(1.0)?][..]),
            (Epsilon::new(epsilon)?, Delta::new(delta)?),
        )?;
        ways.push(Way::new(THIRD_ORDER, epsilon, Some(delta), &mechanism)?);
    }
    Ok(ways)
}

/// Gaussian noise of the least variance.
fn gaussians(epsilon: f64) -> Result<Vec<Way>, ReproductionError> {
    let exact = |delta| {
        Way::new(EXACT, epsilon, Some(delta), &gaussian(GaussianMethod::Analytic, epsilon, delta)?)
    };
    DELTAS.into_iter().map(exact).collect()
}

/// Gaussian noise of the least variance, the noise of the least mean absolute error for integers,
/// and denoising.
pub(super) fn of_this_project(epsilon: f64) -> Result<Vec<Way>, ReproductionError> {
    let mut ways = gaussians(epsilon)?;
    for delta in DELTAS {
        let query = ScalarQuery::Integer { sensitivity: 1 };
        let best = optimum(query, Epsilon::new(epsilon)?, Delta::new(delta)?, &AbsoluteError)?;
        ways.push(Way::new(OPTIMAL, epsilon, Some(delta), &best.mechanism)?);
    }
    let plain = laplace(epsilon)?;
    let noise = NoiseDescription::laplace(plain.scale())?;
    ways.push(Way { denoise: Some(noise), ..Way::new(DENOISED, epsilon, None, &plain)? });
    Ok(ways)
}
