//! Brackets are as narrow as asked for, over the whole range.

use super::{epsilon_of, gaussian, laplace, others, repeated, response, sampled};
use reticent_accounting::Composition;
use reticent_events::Event;
use reticent_mechanisms::Delta;

fn assert_widths(cases: Vec<(&str, Vec<Event>, f64)>) {
    for (name, events, delta) in cases {
        let bracket = epsilon_of(1e-4, &events, delta);
        let composition = Composition::new(&events).unwrap();
        println!("{name}: {bracket:?} {:e}", bracket.relative_width());
        assert!(bracket.relative_width() <= 1e-4, "{name}: {bracket:?}");
        for other in others() {
            if let Ok(bounds) = other.epsilon(&composition, Delta::new(delta).unwrap()) {
                assert!(
                    bounds.upper() >= bracket.lower(),
                    "{name}: {} {bounds:?} {bracket:?}",
                    other.name()
                );
            }
        }
    }
}

#[test]
fn ranges() {
    let cases: Vec<(&str, Vec<Event>, f64)> = vec![
        ("a million responses", vec![repeated(1_000_000, response(1e-3))], 1e-9),
        ("a million responses, tiny delta", vec![repeated(1_000_000, response(1e-3))], 1e-30),
        ("a million Laplace", vec![repeated(1_000_000, laplace(2e-3))], 1e-6),
        ("epsilon near 500", vec![repeated(100, laplace(6.0))], 1e-30),
        ("rate 1e-6", vec![repeated(1_000_000, sampled(1e-6, gaussian(1.0)))], 1e-9),
        ("rate near 1", vec![repeated(100, sampled(0.999, gaussian(0.2)))], 1e-9),
        (
            "sigma 0.3",
            vec![repeated(10_000, sampled(0.01, Event::Gaussian { sigma: 0.3, sensitivity: 1.0 }))],
            1e-6,
        ),
        ("sigma 1", vec![repeated(10_000, sampled(0.01, gaussian(1.0)))], 1e-6),
    ];
    assert_widths(cases);
}

/// Points that a sweep of the whole range (the example `widths`) found to be wide once, with what
/// their brackets end at now.
#[test]
fn points_of_the_sweep() {
    let response =
        |epsilon: f64, categories: u64| Event::RandomizedResponse { epsilon, categories };
    let ten_kinds = [0.02, 0.03, 0.04, 0.05].map(laplace).into_iter();
    let ten_kinds =
        ten_kinds.chain([0.02, 0.0125].map(gaussian)).chain([response(0.02, 2), response(0.04, 2)]);
    let ten_kinds =
        ten_kinds.chain([sampled(0.001, gaussian(1.0)), sampled(0.002, gaussian(1.25))]);
    assert_widths(vec![
        (
            "k-ary responses",
            vec![repeated(707_089, response(0.001_430_283_476_645_567_5, 14))],
            5.6e-9,
        ),
        (
            "k-ary responses, small delta",
            vec![repeated(16_945, response(0.015_756_339_682_595_32, 21))],
            2.3e-22,
        ),
        ("ten kinds", ten_kinds.map(|event| repeated(1000, event)).collect(), 1e-6),
        ("rate 1e-4", vec![repeated(4311, sampled(1.42e-4, gaussian(2.085)))], 1.6e-23),
        ("few strong ones", vec![repeated(52, sampled(2.27e-4, gaussian(4.235)))], 2.3e-22),
        ("many weak ones", vec![repeated(352_587, sampled(2.69e-4, gaussian(0.842)))], 1e-19),
    ]);
}

/// Mixtures of many kinds with losses of their own, which no grid holds at once: with outcomes
/// merged only, brackets were up to 14 times too wide.
#[test]
fn outcomes_between_grid_points() {
    let response =
        |epsilon: f64, categories: u64| Event::RandomizedResponse { epsilon, categories };
    let discrete = |scale: f64| Event::DiscreteLaplace { scale, sensitivity: 1 };
    let nine_kinds = vec![
        repeated(1760, sampled(3.15e-4, laplace(1.638))),
        repeated(9, sampled(1.25e-4, gaussian(3.121))),
        repeated(3282, discrete(3.625_310_4)),
        repeated(2466, discrete(10.257_215_9)),
        response(0.048_742_2, 88),
        repeated(86, sampled(2.94e-4, gaussian(2.403))),
        repeated(67, laplace(5.955e-3)),
        repeated(55_391, discrete(201.696_574)),
        repeated(7232, response(5.731_6e-4, 3)),
    ];
    let ten_kinds = vec![
        laplace(6.162e-3),
        repeated(275, sampled(7.85e-3, gaussian(4.731e-2))),
        repeated(43, sampled(1.99e-4, laplace(1.775))),
        repeated(35, sampled(2.05e-4, laplace(1.814))),
        repeated(1164, discrete(2.558_004_75)),
        repeated(15, sampled(0.161, laplace(9.854e-3))),
        repeated(1436, laplace(1.626e-4)),
        repeated(3683, discrete(5.000_189_2)),
        repeated(3109, response(1.105_1e-4, 33)),
        repeated(216, discrete(35.749_921)),
    ];
    // Its outcome is at the greatest loss, and the small ones are far from theirs.
    let one_among_many = vec![
        repeated(27, sampled(7.15e-3, gaussian(0.3111))),
        repeated(34, response(2.030_078e-3, 5)),
        discrete(1.297_355_86),
        repeated(3833, sampled(8.83e-2, laplace(2.164e-3))),
    ];
    let thousand_kinds =
        (0..1000).map(|i| repeated(10, laplace(0.01 + 2e-5 * f64::from(i)))).collect();
    assert_widths(vec![
        ("nine kinds", nine_kinds, 1.2e-30),
        ("a large one among small ones", one_among_many, 3.7e-22),
        ("ten kinds", ten_kinds, 1.3e-3),
        (
            "Laplace on a large sample",
            vec![repeated(204_735, sampled(0.765, laplace(7.4e-3)))],
            5.1e-12,
        ),
        ("1000 Laplace scales", thousand_kinds, 1e-6),
    ]);
}

/// Rare large losses among many small ones: next to all outcomes have a loss below the step, and
/// one of the others decides.
#[test]
fn rare_losses() {
    let narrow = |sigma: f64, rate: f64| sampled(rate, Event::Gaussian { sigma, sensitivity: 1.0 });
    assert_widths(vec![
        ("sigma 0.3, rate 1e-6", vec![repeated(10_000, narrow(0.3, 1e-6))], 1e-6),
        ("sigma 0.3, rate 1e-6, small delta", vec![repeated(10_000, narrow(0.3, 1e-6))], 1e-12),
        ("sigma 0.3, rate 1e-3, tiny delta", vec![repeated(10_000, narrow(0.3, 1e-3))], 1e-30),
        ("sigma 0.5, rate 0.01", vec![repeated(100, narrow(0.5, 0.01))], 1e-15),
        ("Laplace on a sample", vec![repeated(1000, sampled(1e-4, laplace(10.0)))], 1e-12),
    ]);
    let one = [repeated(10_000, narrow(1.0, 1e-4))];
    let bracket = epsilon_of(1e-4, &one, 1e-15);
    // By direct convolution at steps of 1e-4 and 5e-5 and extrapolation: 0.30428, good to the last
    // digit or two.
    assert!(bracket.lower() < 0.304_30 && 0.304_26 < bracket.upper(), "{bracket:?}");
    assert!(bracket.relative_width() <= 1e-4, "{bracket:?}");
}

/// Rare losses of several kinds, up to a hundred times `epsilon`, beside many small ones. The first
/// had a bracket a factor of two wide, the last one of 30.
#[test]
fn rare_losses_of_several_kinds() {
    let discrete = |scale: f64| Event::DiscreteLaplace { scale, sensitivity: 1 };
    let response =
        |epsilon: f64, categories: u64| Event::RandomizedResponse { epsilon, categories };
    let seven_kinds = vec![
        repeated(67, sampled(4.161e-6, gaussian(3.035))),
        repeated(27, sampled(3.612e-6, gaussian(3.225))),
        repeated(56, sampled(3.431e-2, gaussian(1.3269e-2))),
        repeated(36_268, sampled(7.011e-5, gaussian(0.2511))),
        repeated(8245, sampled(1.491e-6, gaussian(2.540))),
        repeated(4, sampled(0.6555, laplace(2.599e-3))),
        repeated(2304, sampled(3.198e-6, laplace(2.490))),
    ];
    let several_jumps = vec![
        repeated(11, discrete(2.900_557_16)),
        repeated(7, response(0.164_424_341, 4)),
        repeated(128, sampled(5.756e-4, gaussian(2.899))),
        repeated(19, sampled(4.666e-5, gaussian(3.916))),
        repeated(98_495, laplace(1.386_143e-3)),
        repeated(7, sampled(4.513e-5, laplace(4.050))),
        laplace(0.435_026),
    ];
    // The discrete noise is at its greatest, and the small losses decide.
    let beside_the_greatest = vec![
        repeated(5, discrete(15.328_62)),
        repeated(670, response(3.2116e-5, 42)),
        repeated(11, sampled(0.788, gaussian(3.179e-4))),
    ];
    let one_jump = vec![
        repeated(106, sampled(0.277, gaussian(3.929e-4))),
        repeated(12_892, sampled(8.10e-4, laplace(1.217e-2))),
        repeated(916, sampled(1.26e-4, laplace(0.288))),
        repeated(34, sampled(6.37e-6, gaussian(2.610))),
    ];
    assert_widths(vec![
        ("seven kinds", seven_kinds, 4.6e-4),
        ("several jumps", several_jumps, 3.1e-26),
        ("beside the greatest", beside_the_greatest, 1.26e-24),
        ("one jump", one_jump, 3.9e-24),
    ]);
}
