//! The known attacks on floating-point noise, and a battery of checks that must catch every faulty
//! sampler and pass every exact one.
//!
//! # Error rates
//! Where chance is involved the level is `ALPHA` = 1e-6. Six exact releases pass the battery, whose
//! five random checks each give 30 tests, and four audits are made: about one false alarm in 30
//! thousand new seeds.
#![allow(clippy::unwrap_used, clippy::panic)]

use reticent_noise::randomness::{RandomBits, SeededRandom};
use reticent_noise::{
    DiscreteGaussian, DiscreteLaplace, Gaussian, IntegerNoise, Jittered, Laplace, Lattice, Noise,
    Sampler,
};
use stat_tests::audit::{Claim, contradicts};
use stat_tests::battery::{Claimed, Finding, INPUTS, battery};
use stat_tests::membership::{attack, is_on_lattice};
use stat_tests::naive::NaiveLaplace;
use stat_tests::oracle::{self, DiscreteGaussianTail, DiscreteLaplaceTail, Rounded, UpperTail};
use stat_tests::precision;

const ALPHA: f64 = 1e-6;
const RELEASES: usize = 3_000_000;

/// A release as the library makes it: the value to the lattice, the noise in steps, the sum as a
/// number.
fn exact_release<N: Noise>(sampler: Sampler<N>, seed: u64) -> impl FnMut(f64) -> f64 {
    let mut random = SeededRandom::new(seed);
    let lattice = sampler.lattice();
    move |value| {
        let noise = sampler.draw(&mut random).unwrap();
        lattice.value(lattice.add(lattice.nearest(value).unwrap(), noise))
    }
}

fn laplace(scale: f64, lattice: Lattice) -> Sampler<Laplace> {
    Sampler::new(Laplace, scale, lattice).unwrap()
}

fn discrete_laplace(scale: f64) -> Sampler<Jittered<DiscreteLaplace>> {
    DiscreteLaplace::new(scale).unwrap().sampler().unwrap()
}

fn naive_release(scale: f64, seed: u64) -> impl FnMut(f64) -> f64 {
    let mut random = SeededRandom::new(seed);
    let sampler = NaiveLaplace { scale };
    move |value| sampler.release(value, &mut random).unwrap()
}

/// Mironov's attack: with epsilon 1, more than half of the naive outputs (64% measured) give the
/// input away with certainty, where differential privacy with any epsilon allows none.
#[test]
fn support_gives_the_input_away_for_naive_noise_only() {
    let naive = NaiveLaplace { scale: 1.0 };
    let outcome = attack(100_000, INPUTS, naive_release(1.0, 1), |input, output| {
        naive.can_give(input, output)
    });
    assert_eq!(outcome.mistaken, 0, "the attacker knows the sampler");
    assert!(outcome.share() > 0.5, "{outcome:?}");

    for exponent in [-44, -40, 0] {
        let lattice = Lattice::of_spacing_power(exponent).unwrap();
        let release = exact_release(laplace(1.0, lattice), 2);
        let outcome = attack(100_000, INPUTS, release, |_, output| is_on_lattice(output, exponent));
        assert_eq!((outcome.betrayed, outcome.mistaken), (0, 0), "2^{exponent}");
    }
}

/// The support of the exact release is the whole lattice for both inputs, not merely a part of it:
/// on a coarse lattice every point that is likely at all is hit from both.
#[test]
fn both_inputs_reach_every_lattice_point() {
    let mut release = exact_release(laplace(1.0, Lattice::of_spacing_power(-3).unwrap()), 3);
    for input in INPUTS {
        let mut hit = [false; 81];
        for _ in 0..1_000_000 {
            let index = release(input) * 8.0 + 40.0;
            if (0.0..=80.0).contains(&index) {
                hit[index as usize] = true;
            }
        }
        // The rarest, at distance 6, is expected 1e6 * e^-6 / 16 = 155 times.
        assert!(hit.iter().all(|&hit| hit), "{input}");
    }
}

/// What is left when the support tells nothing: the frequencies, which stay within `e^epsilon`.
#[test]
fn frequencies_stay_within_the_guarantee() {
    for (scale, exponent) in [(1.0, -40), (1.0, 0), (0.5, -3), (4.0, -2)] {
        let sampler = laplace(scale, Lattice::of_spacing_power(exponent).unwrap());
        let mut random = SeededRandom::new(4);
        let outputs = INPUTS.map(|input| {
            let value = sampler.lattice().nearest(input).unwrap();
            (0..500_000).map(|_| value + sampler.draw(&mut random).unwrap()).collect::<Vec<i128>>()
        });
        let claim = Claim { epsilon: 1.0 / scale, delta: 0.0 };
        assert!(!contradicts([&outputs[0], &outputs[1]], claim, ALPHA), "{scale} on 2^{exponent}");
    }
}

/// The precision attack: for input 1 the naive sum has no bits below `2^-53`, for input 0 it does.
#[test]
fn lowest_bit_depends_on_the_input_for_naive_noise_only() {
    let sample = |release: &mut dyn FnMut(f64) -> f64| {
        INPUTS.map(|input| (0..200_000).map(|_| release(input)).collect::<Vec<f64>>())
    };
    let naive = sample(&mut naive_release(1.0, 5));
    assert!(precision::p_value([&naive[0], &naive[1]]) < 1e-100);
    let finest = |outputs: &[f64]| {
        outputs.iter().filter_map(|&output| precision::lowest_exponent(output)).min().unwrap()
    };
    assert!(
        finest(&naive[0]) < -56 && finest(&naive[1]) >= -54,
        "{} {}",
        finest(&naive[0]),
        finest(&naive[1])
    );

    let exact = sample(&mut exact_release(laplace(1.0, Lattice::for_scale(1.0).unwrap()), 6));
    let p = precision::p_value([&exact[0], &exact[1]]);
    assert!(p > ALPHA, "{p:e}");
    assert!(exact.iter().flatten().all(|&output| is_on_lattice(output, -40)));
}

#[test]
fn the_battery_passes_exact_releases() {
    let fine = Lattice::for_scale(1.0).unwrap();
    let coarse = Lattice::INTEGERS;
    let check =
        |name: &str, exponent: i32, noise: &dyn UpperTail, release: &mut dyn FnMut(f64) -> f64| {
            let claimed = Claimed { lattice_exponent: exponent, noise };
            assert_eq!(battery(&claimed, RELEASES / 3, ALPHA, release), [], "{name}");
        };
    let (laplace_tail, gaussian_tail) = (oracle::laplace(), oracle::gaussian());
    for lattice in [fine, coarse] {
        let exponent = lattice.exponent();
        let noise = Rounded { tail: &laplace_tail, scale: 1.0, exponent };
        check("Laplace", exponent, &noise, &mut exact_release(laplace(1.0, lattice), 7));
        let noise = Rounded { tail: &gaussian_tail, scale: 1.0, exponent };
        let sampler = Sampler::new(Gaussian, 1.0, lattice).unwrap();
        check("Gaussian", exponent, &noise, &mut exact_release(sampler, 8));
    }
    check(
        "discrete Laplace",
        0,
        &DiscreteLaplaceTail(1.0),
        &mut exact_release(discrete_laplace(1.0), 9),
    );
    let sampler = DiscreteGaussian::new(2.5).unwrap().sampler().unwrap();
    check("discrete Gaussian", 0, &DiscreteGaussianTail::new(2.5), &mut exact_release(sampler, 10));
}

/// The naive sampler draws from the right distribution: only support, low bits and precision betray
/// it, and they do.
#[test]
fn the_battery_catches_the_naive_sampler() {
    let tail = oracle::laplace();
    let claimed = Claimed {
        lattice_exponent: -40,
        noise: &Rounded { tail: &tail, scale: 1.0, exponent: -40 },
    };
    let findings = battery(&claimed, RELEASES / 3, ALPHA, naive_release(1.0, 11));
    assert!(findings.iter().all(|finding| !finding.is_of_distribution()), "{findings:?}");
    let off_lattice = findings.iter().filter(
        |finding| matches!(finding, Finding::Support { off_lattice } if *off_lattice > 0.9),
    );
    assert_eq!(off_lattice.count(), 2, "{findings:?}");
    assert!(
        findings.iter().any(|finding| matches!(finding, Finding::Precision { .. })),
        "{findings:?}"
    );
}

#[test]
fn the_battery_catches_a_scale_one_percent_off() {
    let tail = oracle::laplace();
    for exponent in [-40, 0] {
        let lattice = Lattice::of_spacing_power(exponent).unwrap();
        for wrong in [0.99, 1.01] {
            let claimed = Claimed {
                lattice_exponent: exponent,
                noise: &Rounded { tail: &tail, scale: 1.0, exponent },
            };
            let findings =
                battery(&claimed, RELEASES, ALPHA, exact_release(laplace(wrong, lattice), 12));
            assert!(
                findings.iter().any(Finding::is_of_distribution),
                "{wrong} on 2^{exponent}: {findings:?}"
            );
        }
    }
}

#[test]
fn the_battery_catches_noise_that_is_one_step_off() {
    let tail = oracle::laplace();
    let caught = |name: &str,
                  noise: &dyn UpperTail,
                  exponent: i32,
                  release: &mut dyn FnMut(f64) -> f64| {
        let findings =
            battery(&Claimed { lattice_exponent: exponent, noise }, RELEASES / 10, ALPHA, release);
        assert!(findings.iter().any(Finding::is_of_distribution), "{name}: {findings:?}");
    };
    for exponent in [-4, 0] {
        let lattice = Lattice::of_spacing_power(exponent).unwrap();
        let mut release = exact_release(laplace(1.0, lattice), 13);
        let noise = Rounded { tail: &tail, scale: 1.0, exponent };
        caught("lattice", &noise, exponent, &mut |value| release(value) + lattice.spacing());
    }
    let mut release = exact_release(discrete_laplace(3.0), 14);
    caught("integers", &DiscreteLaplaceTail(3.0), 0, &mut |value| release(value) - 1.0);
}

/// The classical slip of two-sided geometric noise: a magnitude and a sign, so that zero is drawn
/// twice, once with each sign.
#[test]
fn the_battery_catches_a_zero_that_counts_twice() {
    let scale = 3.0;
    let q = (-1.0f64 / scale).exp();
    let mut random = SeededRandom::new(15);
    let doubled_zero = |value: f64| {
        let word = random.next_u64().unwrap();
        let uniform = ((word >> 11) as f64 + 0.5) / 2f64.powi(53);
        let magnitude = (uniform.ln() / q.ln()).floor();
        if word & 1 == 1 { value - magnitude } else { value + magnitude }
    };
    let claimed = Claimed { lattice_exponent: 0, noise: &DiscreteLaplaceTail(scale) };
    let findings = battery(&claimed, RELEASES / 10, ALPHA, doubled_zero);
    assert!(findings.iter().any(Finding::is_of_distribution), "{findings:?}");
}

/// Magnitudes that are right with a sign that is positive once in 100 too often.
#[test]
fn the_battery_catches_a_biased_sign() {
    let mut release = exact_release(discrete_laplace(3.0), 16);
    let mut random = SeededRandom::new(17);
    let biased = |value: f64| {
        let noise = release(0.0);
        let turned = random.next_u64().unwrap().is_multiple_of(100);
        value + if turned { noise.abs() } else { noise }
    };
    let claimed = Claimed { lattice_exponent: 0, noise: &DiscreteLaplaceTail(3.0) };
    let findings = battery(&claimed, RELEASES, ALPHA, biased);
    assert!(findings.iter().any(Finding::is_of_distribution), "{findings:?}");
}
