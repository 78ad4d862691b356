//! Dominating pairs, one kind a file.

mod atoms;
mod by_profile;
mod concentrated;
mod discrete;
mod gaussian;
mod laplace;
mod of_event;
mod subsampled;
mod tabulated;
mod truncated_laplace;

#[cfg(test)]
pub(super) use atoms::AtomsPair;
pub(crate) use of_event::{Term, pairs_of};
#[cfg(test)]
pub(super) use subsampled::{Direction, SubsampledPair};

/// Pairs of every kind, each with a step, for tests of what is done with pairs.
#[cfg(test)]
pub(super) fn examples() -> Vec<(std::sync::Arc<dyn super::pair::Pair>, f64)> {
    use reticent_numerics::Bounds;
    use std::sync::Arc;
    use subsampled::{Direction, SubsampledPair};
    let gaussian = || Arc::new(gaussian::GaussianPair::new(Bounds::exact(0.7)));
    let laplace = || Arc::new(laplace::LaplacePair::new(Bounds::exact(1.3)));
    let guarantee = || Arc::new(atoms::AtomsPair::approximate(0.8, 1e-3));
    vec![
        (gaussian(), 0.02),
        (laplace(), 0.017),
        (guarantee(), 0.03),
        (Arc::new(atoms::AtomsPair::randomized_response(1.1, 5)), 0.013),
        (Arc::new(truncated_laplace::TruncatedLaplacePair::new(8.0, Bounds::exact(1.2))), 0.014),
        (Arc::new(SubsampledPair::new(gaussian(), 0.2, Direction::Removed)), 0.01),
        (Arc::new(SubsampledPair::new(gaussian(), 0.2, Direction::Added)), 0.01),
        (Arc::new(SubsampledPair::new(laplace(), 0.4, Direction::Removed)), 0.01),
        (Arc::new(SubsampledPair::new(laplace(), 0.4, Direction::Added)), 0.01),
        (Arc::new(SubsampledPair::new(guarantee(), 0.5, Direction::Removed)), 0.01),
        (Arc::new(SubsampledPair::new(guarantee(), 0.5, Direction::Added)), 0.01),
    ]
}

/// Numbers from 0 to 1 that are the same in every run.
#[cfg(test)]
pub(super) fn uniform(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 11) as f64 / (1u64 << 53) as f64
}
