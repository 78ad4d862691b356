//! Estimates that say they are unbiased are: over 10,000 seeded releases the estimate minus the
//! loss has mean zero.
#![allow(clippy::unwrap_used, clippy::panic)]

mod simulation;

use reticent_denoising::bayes::{Deconvolution, Prior, SeparableBayes};
use reticent_denoising::consistency::{
    Direction, LinearConstraints, Monotone, NoisyTotal, Total, Within,
};
use reticent_denoising::shrinkage::{
    GaussianPrior, JamesStein, LinearShrinkage, Multiscale, SureThreshold, Target, Threshold,
    ThresholdKind, Thresholding, Towards,
};
use reticent_denoising::{CrossFitted, Denoiser, NoiseDescription, Shape};
use reticent_noise::DiscreteLaplace;
use simulation::{discrete_laplace, gaussian, laplace, simulate};

const RELEASES: usize = 10_000;

/// Sparse, with a few large values, and non-negative as some of the projections assume.
fn theta() -> Vec<f64> {
    (0..24).map(|index| [0.0, 0.0, 1.0, 0.0, 7.0, 2.0][index % 6]).collect()
}

fn threshold(kind: ThresholdKind) -> Box<dyn Denoiser> {
    Box::new(Thresholding::new(kind, Threshold::Scales(1.5)).unwrap())
}

fn for_any_noise() -> Vec<Box<dyn Denoiser>> {
    let margins = LinearConstraints::margins(&[10.0; 4], &[0.0, 0.0, 4.0, 0.0, 28.0, 8.0]).unwrap();
    vec![
        Box::new(GaussianPrior::new(1.0, 2.0).unwrap()),
        Box::new(CrossFitted::new(LinearShrinkage { towards: Towards::Zero }, 2).unwrap()),
        Box::new(CrossFitted::new(LinearShrinkage { towards: Towards::Mean }, 3).unwrap()),
        Box::new(Total::new(40.0, false).unwrap()),
        Box::new(margins),
    ]
}

fn for_noise_with_an_identity() -> Vec<Box<dyn Denoiser>> {
    vec![
        threshold(ThresholdKind::Soft),
        Box::new(Within::non_negative()),
        Box::new(Within::new(0.0, 7.0).unwrap()),
        Box::new(
            CrossFitted::new(SureThreshold { kind: ThresholdKind::Soft }, 2)
                .unwrap()
                .within(0.0, 9.0)
                .unwrap(),
        ),
    ]
}

/// About 30 comparisons at 2e-9.
fn assert_unbiased(denoiser: &dyn Denoiser, difference: simulation::Mean, error: simulation::Mean) {
    assert!(difference.agrees_with(0.0), "{denoiser:?}: {difference:?}");
    // Power: a bias of a tenth of the risk would be seen.
    assert!(
        6.0 * difference.standard_error() < 0.1 * error.value,
        "{denoiser:?}: {difference:?} {error:?}"
    );
}

#[test]
fn gaussian_noise() {
    let noise = NoiseDescription::gaussian(1.5).unwrap();
    let mut denoisers = for_any_noise();
    denoisers.extend(for_noise_with_an_identity());
    denoisers.push(Box::new(JamesStein::positive_part()));
    denoisers.push(Box::new(JamesStein { target: Target::Mean, ..JamesStein::positive_part() }));
    denoisers.push(Box::new(JamesStein { block: Some(6), ..JamesStein::positive_part() }));
    denoisers.push(Box::new(Total::new(40.0, true).unwrap()));
    denoisers.push(Box::new(Multiscale::line(24, Some(5)).unwrap()));
    denoisers.push(Box::new(Multiscale::grid(4, 6, None).unwrap()));
    for (seed, denoiser) in denoisers.iter().enumerate() {
        let mut draws = gaussian(1.5, seed as u64);
        let (error, _, difference) = simulate(&**denoiser, &theta(), &noise, &mut draws, RELEASES);
        assert_unbiased(&**denoiser, difference, error);
    }
    let mut sorted = theta();
    sorted.sort_by(f64::total_cmp);
    let monotone = Monotone { direction: Direction::Increasing };
    let (error, _, difference) =
        simulate(&monotone, &sorted, &noise, &mut gaussian(1.5, 99), RELEASES);
    assert_unbiased(&monotone, difference, error);
}

#[test]
fn laplace_noise() {
    let noise = NoiseDescription::laplace(1.2).unwrap();
    let mut denoisers = for_any_noise();
    denoisers.extend(for_noise_with_an_identity());
    denoisers.push(threshold(ThresholdKind::Hard));
    for (seed, denoiser) in denoisers.iter().enumerate() {
        let mut draws = laplace(1.2, 1000 + seed as u64);
        let (error, _, difference) = simulate(&**denoiser, &theta(), &noise, &mut draws, RELEASES);
        assert_unbiased(&**denoiser, difference, error);
    }
}

#[test]
fn discrete_laplace_noise() {
    let shape = Shape::DiscreteLaplace(DiscreteLaplace::new(1.6).unwrap());
    let noise = NoiseDescription::new(shape, 1.0).unwrap();
    let denoisers = [
        threshold(ThresholdKind::Soft),
        threshold(ThresholdKind::Hard),
        Box::new(Within::non_negative()) as Box<dyn Denoiser>,
        Box::new(CrossFitted::new(SureThreshold { kind: ThresholdKind::Hard }, 2).unwrap()),
    ];
    for (seed, denoiser) in denoisers.iter().enumerate() {
        let mut draws = discrete_laplace(1.6, 2000 + seed as u64);
        let (error, _, difference) = simulate(&**denoiser, &theta(), &noise, &mut draws, RELEASES);
        assert_unbiased(&**denoiser, difference, error);
    }
}

/// Posterior means under a prior that is not where the true values come from. Fewer releases of
/// more values: each makes a table of integrals.
#[test]
fn bayes_with_a_wrong_prior() {
    let theta = theta().repeat(10);
    let denoiser = SeparableBayes { prior: Prior::laplace(0.0, 2.0).unwrap() };
    let noise = NoiseDescription::laplace(1.2).unwrap();
    let (error, _, difference) = simulate(&denoiser, &theta, &noise, &mut laplace(1.2, 31), 200);
    assert_unbiased(&denoiser, difference, error);
    let noise = NoiseDescription::gaussian(1.5).unwrap();
    let (error, _, difference) = simulate(&denoiser, &theta, &noise, &mut gaussian(1.5, 32), 200);
    assert_unbiased(&denoiser, difference, error);
}

/// Empirical Bayes chooses a whole function, and its cross-fitted risk is unbiased all the same.
/// Fewer releases: each fits two priors.
#[test]
fn empirical_bayes() {
    let theta: Vec<f64> = (0..100).map(|index| if index % 5 == 0 { 8.0 } else { 0.0 }).collect();
    let denoiser = CrossFitted::new(Deconvolution, 2).unwrap();
    let noise = NoiseDescription::laplace(1.0).unwrap();
    let (error, _, difference) = simulate(&denoiser, &theta, &noise, &mut laplace(1.0, 7), 2000);
    assert_unbiased(&denoiser, difference, error);
    // Far better than the release, whose risk is 200.
    assert!(error.value < 130.0, "{error:?}");
}

/// James-Stein under Laplace noise: right to first order in 1/d, and not without the fourth
/// cumulant's term.
#[test]
fn james_stein_under_laplace_noise() {
    let theta: Vec<f64> = (0..60).map(|index| f64::from(index % 4)).collect();
    let noise = NoiseDescription::laplace(1.0).unwrap();
    let denoiser = JamesStein::positive_part();
    let (error, _, difference) =
        simulate(&denoiser, &theta, &noise, &mut laplace(1.0, 11), 20 * RELEASES);
    // The correction is 2 c k/(v^2 S^2) v summed: about 2 * 58 * 3 * 2 * 60/S^2 with S = E|y|^2/v
    // = 165.
    let correction = 2.0 * 58.0 * 3.0 * 2.0 * 60.0 / 165f64.powi(2);
    assert!(difference.value.abs() < 0.35 * correction, "{difference:?} {correction} {error:?}");
    assert!(
        6.0 * difference.standard_error() < 0.65 * correction,
        "{difference:?}: too noisy to tell"
    );
}

/// Multiscale shrinkage under Laplace noise: the bias is below 2% of the risk.
#[test]
fn multiscale_shrinkage_under_laplace_noise() {
    let theta: Vec<f64> =
        (0..128).map(|index| f64::from(index % 3) + f64::from(index / 16)).collect();
    let noise = NoiseDescription::laplace(1.0).unwrap();
    let denoiser = Multiscale::line(128, Some(32)).unwrap();
    let (error, _, difference) =
        simulate(&denoiser, &theta, &noise, &mut laplace(1.0, 51), 10 * RELEASES);
    assert!(difference.value.abs() < 0.02 * error.value, "{difference:?} {error:?}");
    assert!(
        6.0 * difference.standard_error() < 0.02 * error.value,
        "{difference:?}: too noisy to tell"
    );
}

/// A total with noise of its own.
#[test]
fn a_released_total() {
    let (mut draws, mut of_total) = (laplace(1.0, 21), laplace(3.0, 22));
    let truth = theta();
    let noise = NoiseDescription::laplace(1.0).unwrap();
    let mut error = simulation::Mean::default();
    let mut stated = 0.0;
    for _ in 0..RELEASES {
        let values = truth.iter().map(|truth| truth + draws.next()).collect();
        let release = reticent_denoising::Release::new(values, noise.clone()).unwrap();
        let total = truth.iter().sum::<f64>() + of_total.next();
        let denoised = NoisyTotal::new(total, 18.0).unwrap().denoise(&release).unwrap();
        error.add(simulation::squared_error(&denoised.values, &truth));
        stated = denoised.risk_after.unwrap().value;
    }
    assert!(error.agrees_with(stated), "{error:?} {stated}");
}
