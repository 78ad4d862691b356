//! How much probability fits near zero, by counting copies.

use reticent_mechanisms::Distance;
use reticent_numerics::rounding::{add_down, div_down, mul_down, sub_down};
use reticent_numerics::{Bounds, Enclosure};

/// An upper bound of the probability that noise can put on an interval of which `copies` disjoint
/// translates lie within one sensitivity to each side.
///
/// # Proof
/// The guarantee, applied `j` times, gives each translate by `j` sensitivities or less at least
/// `v_j`, where `v_0 = P` and `v_(j+1) = e^-epsilon (v_j - delta)`. There are `2 M` of them between
/// `j - 1` and `j` sensitivities, all disjoint: `P + 2 M (v_1 + v_2 + ...) <= 1`, where negative
/// terms may be left out. The left side grows with `P`, so that a `P` at which it is above 1 is
/// above all that are possible.
///
/// Under pure differential privacy, and if the translates leave no gaps, this is what the staircase
/// reaches: `P = (1 - b)/(1 - b + 2 M b)` with `b = e^-epsilon`.
pub(crate) fn greatest_probability(epsilon: f64, delta: f64, copies: f64) -> f64 {
    let decay = Bounds::exact(-epsilon).exp().lower();
    let impossible = |probability: f64| {
        let (mut value, mut sum) = (probability, probability);
        for _ in 0..MOST_TERMS {
            value = mul_down(decay, sub_down(value, delta));
            let term = mul_down(2.0 * copies, value);
            if term <= 1e-17 * sum {
                break;
            }
            sum = add_down(sum, term);
        }
        sum > 1.0
    };
    if !impossible(1.0) {
        return 1.0;
    }
    let (mut low, mut high) = (0.0f64, 1.0f64);
    // In the logarithm while the ends are far apart: a probability may be tiny.
    for _ in 0..200 {
        let middle =
            if high > 4.0 * low { (low.max(1e-300) * high).sqrt() } else { 0.5 * (low + high) };
        if middle <= low || middle >= high {
            break;
        }
        if impossible(middle) { high = middle } else { low = middle }
    }
    high
}

/// The terms that are added; to leave out more makes the bound no less true.
const MOST_TERMS: usize = 20_000;

/// A lower bound of `P[|X| > t]` for all noise: good where `t` is small beside the sensitivity,
/// nothing beyond half of it.
pub(crate) fn least_exceedance(sensitivity: Distance, epsilon: f64, delta: f64, t: f64) -> f64 {
    // Translates by multiples of D/M are disjoint if D/M > 2 t.
    let copies = (div_down(sensitivity.get(), 2.0 * t).ceil() - 1.0).max(0.0);
    sub_down(1.0, greatest_probability(epsilon, delta, copies)).max(0.0)
}

/// A distance that every noise exceeds with a probability above `outside`; zero where there is none
/// that this proves.
pub(crate) fn exceeded_distance(
    sensitivity: Distance,
    epsilon: f64,
    delta: f64,
    outside: f64,
) -> f64 {
    let exceeded =
        |copies: f64| sub_down(1.0, greatest_probability(epsilon, delta, copies)) > outside;
    let (mut low, mut high) = (0.0f64, 1.0f64);
    while !exceeded(high) {
        (low, high) = (high, 2.0 * high);
        if high > MOST_COPIES {
            return 0.0;
        }
    }
    while high - low > 1.0 {
        let middle = (0.5 * (low + high)).floor();
        if exceeded(middle) { high = middle } else { low = middle }
    }
    // A little less, so that the copies are disjoint beyond the rounding of a quotient.
    mul_down(div_down(sensitivity.get(), 2.0 * high), 1.0 - 1e-14)
}

/// The copies up to which a number is exact.
const MOST_COPIES: f64 = 4e15;

#[cfg(test)]
mod tests {
    use super::*;

    fn one() -> Distance {
        Distance::new(1.0).expect("valid")
    }

    #[test]
    fn without_a_delta_the_staircase_is_met() {
        for (epsilon, copies) in [(0.1f64, 1.0f64), (1.0, 3.0), (8.0, 500.0), (30.0, 1e12)] {
            let b = (-epsilon).exp();
            let truth = (1.0 - b) / (1.0 - b + 2.0 * copies * b);
            let bound = greatest_probability(epsilon, 0.0, copies);
            assert!(
                bound >= truth * (1.0 - 1e-14) && bound <= truth * (1.0 + 1e-9),
                "{epsilon}: {bound} {truth}"
            );
        }
    }

    #[test]
    fn the_bound_is_kept_by_noise_with_a_delta_and_near_it() {
        // Zero with probability delta, Laplace noise otherwise: P[|X| <= t] = delta + (1 -
        // delta)(1 - e^(-epsilon t)).
        for (epsilon, delta, t) in [(1.0f64, 0.2f64, 0.01f64), (3.0, 1e-3, 0.002), (0.5, 1e-9, 0.1)]
        {
            let reached = (1.0 - delta) * (-epsilon * t).exp();
            let proved = least_exceedance(one(), epsilon, delta, t);
            assert!(proved <= reached, "{epsilon} {delta} {t}: {proved} {reached}");
            assert!(proved > 0.9 * reached, "{epsilon} {delta} {t}: {proved} {reached}");
        }
        // A larger delta, and a larger loss, allow more.
        assert!(greatest_probability(1.0, 0.1, 5.0) > greatest_probability(1.0, 0.01, 5.0));
        assert!(greatest_probability(2.0, 0.1, 5.0) > greatest_probability(1.0, 0.1, 5.0));
        assert_eq!(least_exceedance(one(), 1.0, 1e-6, 0.7), 0.0);
    }

    #[test]
    fn the_distance_is_the_last_that_is_proved() {
        for (epsilon, delta, outside) in [(8.0, 1e-6, 0.5), (5.0, 1e-3, 0.9), (12.0, 1e-9, 0.3)] {
            let t = exceeded_distance(one(), epsilon, delta, outside);
            assert!(
                t > 0.0 && least_exceedance(one(), epsilon, delta, t) > outside,
                "{epsilon}: {t}"
            );
            let copies = (0.5 / t).round();
            let next = 0.5 / (copies - 1.0).max(0.5);
            assert!(
                least_exceedance(one(), epsilon, delta, next * (1.0 + 1e-9)) <= outside,
                "{epsilon}: {t}"
            );
        }
        // A delta of one half may be no noise at all.
        assert_eq!(exceeded_distance(one(), 1.0, 0.6, 0.5), 0.0);
    }
}
