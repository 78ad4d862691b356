//! What `auto` reports is supported by its own estimate: the bound holds on average although the
//! best-looking candidate was chosen, and it never does harm.
#![allow(clippy::unwrap_used, clippy::panic)]

mod simulation;

use reticent_denoising::graph::{Graph, GraphTrendFilter, Order};
use reticent_denoising::shrinkage::{JamesStein, Multiscale, Thresholding};
use reticent_denoising::{Auto, Denoiser, NoiseDescription, Release, Shape};
use reticent_noise::{DiscreteLaplace, Noise};
use simulation::{Draws, Mean, discrete_laplace, gaussian, laplace, squared_error};

const RELEASES: usize = 400;

/// The mean loss, the mean of the reported bounds, and the share of releases whose loss is above
/// the bound.
fn run<N: Noise>(
    theta: &[f64],
    noise: &NoiseDescription,
    draws: &mut Draws<N>,
) -> (Mean, Mean, f64) {
    let (mut loss, mut bound, mut above) = (Mean::default(), Mean::default(), 0.0);
    for _ in 0..RELEASES {
        let values = theta.iter().map(|truth| truth + draws.next()).collect();
        let denoised = Auto::new().denoise(&Release::new(values, noise.clone()).unwrap()).unwrap();
        let (error, stated) =
            (squared_error(&denoised.values, theta), denoised.risk_after.unwrap().value);
        loss.add(error);
        bound.add(stated);
        above += f64::from(u8::from(error > stated)) / RELEASES as f64;
    }
    (loss, bound, above)
}

/// Signals from none over all that lies between to one that cannot be improved. The means have a
/// relative spread of about 1% (400 releases of 40 to 60 values), which the 5% allow for five
/// times: below 1e-6 for each of 14 comparisons.
#[test]
fn it_does_no_harm_and_its_bound_holds_on_average() {
    for (seed, size) in [0.0, 1.0, 2.0, 3.0, 5.0, 20.0, 1000.0].into_iter().enumerate() {
        let theta: Vec<f64> = (0..50).map(|index| size * (f64::from(index) * 1.7).sin()).collect();
        let noise = NoiseDescription::gaussian(1.0).unwrap();
        let (loss, bound, _) = run(&theta, &noise, &mut gaussian(1.0, 300 + seed as u64));
        assert!(
            loss.value < 1.05 * 50.0 && bound.value > 0.95 * loss.value,
            "{size}: {loss:?} {bound:?}"
        );
        let noise = NoiseDescription::laplace(1.0).unwrap();
        let (loss, bound, _) = run(&theta, &noise, &mut laplace(1.0, 400 + seed as u64));
        assert!(
            loss.value < 1.05 * 100.0 && bound.value > 0.95 * loss.value,
            "{size}: {loss:?} {bound:?}"
        );
    }
}

/// Where there is something to gain it is gained: of pure noise next to nothing is left, and the
/// loss of a single release, not only the risk, stays below the bound in nearly all of them.
#[test]
fn pure_noise_is_erased() {
    let noise = NoiseDescription::gaussian(1.0).unwrap();
    let (loss, bound, above) = run(&[0.0; 60], &noise, &mut gaussian(1.0, 500));
    assert!(loss.value < 6.0 && bound.value < 40.0, "{loss:?} {bound:?}");
    assert!(above < 0.05, "{above}");
}

/// Counts by age as a census has them: a plateau that falls off, with people's preference for
/// multiples of ten.
fn ages(people: f64) -> Vec<f64> {
    let weight = |age: i32| {
        let plateau = 1.0 / (1.0 + (0.1 * f64::from(age - 62)).exp());
        plateau * if age % 10 == 0 { 1.2 } else { 1.0 } * if age < 20 { 0.6 } else { 1.0 }
    };
    let total: f64 = (17..=90).map(weight).sum();
    (17..=90).map(|age| (people * weight(age) / total).round()).collect()
}

/// The 64 counts of the carried table of Czech car workers.
fn car_workers() -> Vec<f64> {
    let text = include_str!("../../../examples/data/czech.csv");
    let counts = text.lines().skip(1).filter_map(|line| line.rsplit(',').next()?.parse().ok());
    counts.collect()
}

/// Issue 17: `denoise` made counts by age worse, 57,036 to 64,763, and with more facts 67,084 to
/// 107,269. Whatever is public, the squared error of a release is not larger than without the
/// choice, but for a few: 1 in 36 at most of the releases of one kind, and none by more than a
/// quarter. A normal error of the estimated gain allows for 1 in 20 where a gain is in doubt. The
/// seeds are fixed. With the rule before (risks alone, against the release) 25 of 60 releases of
/// the ages of Adult became worse at epsilon 0.05.
#[test]
fn counts_by_age_do_not_become_worse_whatever_is_public() {
    const SEEDS: u64 = 12;
    for (name, theta) in [("ages", ages(32_561.0)), ("few", ages(1000.0)), ("cars", car_workers())]
    {
        for facts in ["none", "non-negative", "graph", "both"] {
            let (mut worse, mut gained) = (0, 0);
            for (epsilon, seed) in
                [0.02, 0.05, 0.2].into_iter().flat_map(|e| (0..SEEDS).map(move |seed| (e, seed)))
            {
                let scale = 1.0 / epsilon;
                let (values, noise) = if seed % 2 == 0 {
                    let mut draws = discrete_laplace(scale, seed);
                    let shape = Shape::DiscreteLaplace(DiscreteLaplace::new(scale).unwrap());
                    let noise = NoiseDescription::new(shape, 1.0).unwrap();
                    (theta.iter().map(|truth| truth + draws.next()).collect(), noise)
                } else {
                    let mut draws = gaussian(scale, seed);
                    let noise = NoiseDescription::gaussian(scale).unwrap();
                    (theta.iter().map(|truth| truth + draws.next()).collect::<Vec<_>>(), noise)
                };
                let release = Release::new(values, noise).unwrap();
                let mut auto = Auto::new();
                let mut before = squared_error(release.values(), &theta);
                if matches!(facts, "non-negative" | "both") {
                    auto = auto.within(0.0, f64::INFINITY);
                    let clamped: Vec<f64> = release.values().iter().map(|y| y.max(0.0)).collect();
                    before = squared_error(&clamped, &theta);
                }
                if matches!(facts, "graph" | "both") {
                    let graph = Graph::line(theta.len()).unwrap();
                    auto = auto
                        .with(Box::new(Multiscale::line(theta.len(), Some(32)).unwrap()))
                        .with(Box::new(GraphTrendFilter::new(graph, Order::Constant)));
                }
                let denoised = auto.denoise(&release).unwrap();
                let after = squared_error(&denoised.values, &theta);
                assert!(after < 1.25 * before, "{name} {facts} {epsilon} {seed}: {before} {after}");
                assert!(facts != "non-negative" || denoised.values.iter().all(|x| *x >= 0.0));
                worse += u64::from(after > before * (1.0 + 1e-9));
                gained += u64::from(after < 0.8 * before);
            }
            assert!(worse <= 1, "{name} {facts}: {worse} worse");
            // Where there is much to gain, it is gained: the test does not pass by doing nothing.
            assert!(name != "few" || 3 * gained >= SEEDS, "{name} {facts}: {gained} gained");
        }
    }
}

/// Issue 16: in the setting of Balle and Wang's Section 5.2 at epsilon 0.01 and 3,000 dimensions
/// (deviation 19 about signals of 1) the choice was 45% worse than both of the paper's denoisers,
/// because the luckiest of several noisy estimates won. Means over 10 seeded releases.
#[test]
fn where_all_is_noise_it_is_as_good_as_the_denoisers_of_the_paper() {
    let (mut centres, sigma) = (gaussian(1.0, 77), 18.88);
    let theta: Vec<f64> = (0..3000).map(|_| centres.next()).collect();
    let noise = NoiseDescription::gaussian(sigma).unwrap();
    let mut errors = [0.0; 3];
    for seed in 0..10 {
        let mut draws = gaussian(sigma, 900 + seed);
        let values = theta.iter().map(|truth| truth + draws.next()).collect();
        let release = Release::new(values, noise.clone()).unwrap();
        let denoisers: [&dyn Denoiser; 3] =
            [&Auto::new(), &JamesStein::positive_part(), &Thresholding::soft_universal()];
        for (error, denoiser) in errors.iter_mut().zip(denoisers) {
            *error += squared_error(&denoiser.denoise(&release).unwrap().values, &theta).sqrt();
        }
    }
    assert!(errors[0] < 1.02 * errors[1].max(errors[2]), "{errors:?}");
}
