//! Wavelets and trend filtering as denoisers of a release.

use super::{
    GaussianRisk, Graph, Loss, NoiseDeviation, NoisyValues, Order, PenaltyRule, SpanningForest,
    Threshold, TrendFilter, Wavelets, denoise_with_wavelets,
};
use crate::{Denoised, Denoiser, DenoisingError, Release, RiskEstimate, Shape};
use reticent_noise::randomness::SeededRandom;
use reticent_numerics::OutOfRange;

/// Graph trend filtering with a penalty that the release chooses.
///
/// For Gaussian noise the penalty of least unbiased risk; for other noise, of which only the
/// variance is used, the discrepancy principle, without a risk ([`PenaltyRule`]).
///
/// # Example
/// ```
/// use reticent_denoising::graph::{Graph, GraphTrendFilter, Order};
/// use reticent_denoising::{Denoiser, NoiseDescription, Release};
///
/// let values = vec![0.3, -0.8, 0.1, 9.2, 10.4, 9.6];
/// let release = Release::new(values, NoiseDescription::gaussian(1.0)?)?;
/// let filter = GraphTrendFilter::new(Graph::named("line", 6)?, Order::Constant);
/// let denoised = filter.denoise(&release)?;
/// assert_eq!(denoised.values[0], denoised.values[2]);
/// # Ok::<(), reticent_denoising::DenoisingError>(())
/// ```
#[derive(Clone, Debug)]
pub struct GraphTrendFilter {
    graph: Graph,
    order: Order,
}

impl GraphTrendFilter {
    /// Trend filtering on this graph.
    pub fn new(graph: Graph, order: Order) -> Self {
        GraphTrendFilter { graph, order }
    }
}

impl Denoiser for GraphTrendFilter {
    fn denoise(&self, release: &Release) -> Result<Denoised, DenoisingError> {
        let noisy = noisy_values(release, "graph trend filtering")?;
        let is_gaussian = release.noise().shape() == &Shape::Gaussian;
        let rule = if is_gaussian { PenaltyRule::UnbiasedRisk } else { PenaltyRule::Discrepancy };
        let fit = TrendFilter::new(&self.graph, self.order).tuned(&noisy, rule)?;
        let order = match self.order {
            Order::Constant => 0,
            Order::Linear => 1,
            Order::Quadratic => 2,
        };
        Ok(Denoised {
            values: fit.values().to_vec(),
            risk_before: release.risk(),
            risk_after: squared_error(fit.risk_if_gaussian()).filter(|_| is_gaussian),
            assumptions: vec!["neighbours in the graph have similar values".into()],
            method: format!(
                "graph trend filtering of order {order}, penalty {:.4} deviations",
                fit.lambda()
            ),
        })
    }
}

/// Spanning-tree wavelets with soft thresholding.
///
/// For Gaussian noise the threshold of least unbiased risk, or, as Balle and Wang print it in
/// Section 5.3, the universal one of `sqrt(2 ln n)` deviations
/// ([`GraphWavelets::with_universal_threshold`]). For other noise, of which only the variance is
/// used, always the universal one, without a risk.
#[derive(Clone, Debug)]
pub struct GraphWavelets {
    bases: Vec<Wavelets>,
    universal: bool,
}

impl GraphWavelets {
    /// Wavelets of `trees` uniform spanning trees, whose results are averaged. The seed is a public
    /// choice, like the graph: it protects nothing.
    ///
    /// # Errors
    /// If there is no tree to draw, or a draw takes too long ([`SpanningForest::uniform`]).
    pub fn new(graph: &Graph, trees: usize, seed: u64) -> Result<Self, DenoisingError> {
        let mut random = SeededRandom::new(seed);
        let draw = |_| Ok(Wavelets::new(&SpanningForest::uniform(graph, &mut random)?));
        let bases = (0..trees).map(draw).collect::<Result<Vec<_>, DenoisingError>>()?;
        if bases.is_empty() {
            return Err(OutOfRange::new("trees", 0.0, "at least 1").into());
        }
        Ok(GraphWavelets { bases, universal: false })
    }

    /// The same with the universal threshold.
    #[must_use]
    pub fn with_universal_threshold(self) -> Self {
        GraphWavelets { universal: true, ..self }
    }
}

impl Denoiser for GraphWavelets {
    fn denoise(&self, release: &Release) -> Result<Denoised, DenoisingError> {
        let noisy = noisy_values(release, "spanning-tree wavelets")?;
        let is_gaussian = release.noise().shape() == &Shape::Gaussian;
        let (threshold, name) = if is_gaussian && !self.universal {
            (Threshold::UnbiasedRisk, "soft thresholds of least estimated risk")
        } else {
            (Threshold::Universal, "universal soft threshold")
        };
        let fit = denoise_with_wavelets(&noisy, &self.bases, threshold)?;
        Ok(Denoised {
            values: fit.values().to_vec(),
            risk_before: release.risk(),
            risk_after: squared_error(fit.risk_if_gaussian()).filter(|_| is_gaussian),
            assumptions: vec!["the vector changes across few edges of the graph".into()],
            method: match self.bases.len() {
                1 => format!("wavelets of a spanning tree, {name}"),
                trees => format!("wavelets of {trees} spanning trees, {name}"),
            },
        })
    }
}

/// The release with the deviations of its noise.
fn noisy_values(release: &Release, method: &'static str) -> Result<NoisyValues, DenoisingError> {
    let deviations: Vec<f64> =
        release.finite_variances(method)?.iter().map(|variance| variance.sqrt()).collect();
    Ok(NoisyValues::new(release.values(), NoiseDeviation::Each(&deviations))?)
}

/// A risk is reported where it is that of the squared error.
fn squared_error(risk: GaussianRisk) -> Option<RiskEstimate> {
    (risk.loss == Loss::SquaredError).then_some(risk.after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoiseDescription;

    fn denoisers(graph: &Graph) -> Vec<Box<dyn Denoiser>> {
        let filter =
            |order| Box::new(GraphTrendFilter::new(graph.clone(), order)) as Box<dyn Denoiser>;
        let wavelets = GraphWavelets::new(graph, 3, 1).expect("wavelets");
        vec![
            filter(Order::Constant),
            filter(Order::Linear),
            filter(Order::Quadratic),
            Box::new(wavelets),
        ]
    }

    fn step() -> Vec<f64> {
        (0..36).map(|i| if i < 18 { 0.0 } else { 30.0 } + ((i * i) as f64).sin()).collect()
    }

    #[test]
    fn gaussian_releases_have_a_risk_and_others_none() {
        let graph = Graph::grid(6, 6).expect("a grid");
        let gaussian = Release::new(step(), NoiseDescription::gaussian(1.0).expect("noise"))
            .expect("a release");
        let laplace = Release::new(step(), NoiseDescription::laplace(1.0).expect("noise"))
            .expect("a release");
        for denoiser in denoisers(&graph) {
            let denoised = denoiser.denoise(&gaussian).expect("denoised");
            let risk = denoised.risk_after.expect("a risk");
            assert!(
                risk.value < denoised.risk_before && !risk.unbiased && risk.standard_error > 0.0,
                "{denoised:?}"
            );
            let denoised = denoiser.denoise(&laplace).expect("denoised");
            assert!(denoised.risk_after.is_none() && denoised.risk_before == 72.0, "{denoised:?}");
        }
    }

    #[test]
    fn unequal_noise_has_a_risk_where_it_is_that_of_the_squared_error() {
        let graph = Graph::grid(6, 6).expect("a grid");
        let scales = (0..36).map(|i| 1.0 + f64::from(i % 2)).collect();
        let noise = NoiseDescription::with_scales(Shape::Gaussian, scales).expect("noise");
        let release = Release::new(step(), noise).expect("a release");
        let has_risk = denoisers(&graph)
            .into_iter()
            .map(|d| d.denoise(&release).expect("denoised").risk_after.is_some());
        assert_eq!(has_risk.collect::<Vec<_>>(), [true, false, false, true]);
    }

    #[test]
    fn another_graph_is_refused() {
        let graph = Graph::grid(5, 6).expect("a grid");
        let release = Release::new(step(), NoiseDescription::gaussian(1.0).expect("noise"))
            .expect("a release");
        for denoiser in denoisers(&graph) {
            let message =
                denoiser.denoise(&release).expect_err("36 values on 30 nodes").to_string();
            assert!(
                message.contains("36 values") && message.contains("30 are needed"),
                "{message}"
            );
        }
        assert!(GraphWavelets::new(&graph, 0, 1).is_err());
    }

    /// Balle and Wang, Section 5.3: every coefficient moves by `sigma sqrt(2 ln d)`, and the
    /// estimate of that fixed rule's risk is unbiased.
    #[test]
    fn the_universal_threshold_is_that_of_the_paper() {
        let graph = Graph::grid(6, 6).expect("a grid");
        let release = Release::new(step(), NoiseDescription::gaussian(1.0).expect("noise"))
            .expect("a release");
        let wavelets = GraphWavelets::new(&graph, 1, 1).expect("a tree");
        let noisy = noisy_values(&release, "a test").expect("valid");
        let fixed = Threshold::Fixed((2.0 * 36f64.ln()).sqrt());
        let expected = denoise_with_wavelets(&noisy, &wavelets.bases, fixed).expect("a fit");
        let least = wavelets.denoise(&release).expect("denoised");
        let universal = wavelets.with_universal_threshold().denoise(&release).expect("denoised");
        for (value, expected) in universal.values.iter().zip(expected.values()) {
            assert!((value - expected).abs() < 1e-12);
        }
        assert!(universal.risk_after.expect("a risk").unbiased);
        assert!(universal.method.contains("universal") && least.method.contains("least"));
        assert!(universal.values != least.values);
    }
}
