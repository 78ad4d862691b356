//! The limit under pure differential privacy, in closed form.

use reticent_mechanisms::{Distance, Epsilon, StaircaseAim};
use reticent_numerics::{Bounds, Enclosure, Wide};

/// The least error that any pure epsilon-differentially private noise on a real number can have, by
/// the aim.
///
/// With `b = e^-epsilon` and sensitivity `D`: the mean absolute error `D b^(1/2)/(1 - b)`, the mean
/// square error `D^2 [(b (1 + b)/2)^(2/3) + b]/(1 - b)^2`, the differential entropy
/// `1 + ln(2 epsilon b D/(1 - b)^2)`, and for `t = (m + phi) D` the probability
/// `b^(m+1)/(phi + b (1 - phi))` of an error beyond `t`: one less the usefulness. Each is reached
/// by the [`reticent_mechanisms::Staircase`] of that aim.
///
/// # References
/// Geng and Viswanath, *The optimal noise-adding mechanism in differential privacy*, 2016.
pub fn pure_limit(aim: StaircaseAim, sensitivity: Distance, epsilon: Epsilon) -> Bounds {
    let (distance, exponent) = (Wide::from(sensitivity.get()), Wide::from(-epsilon.get()));
    let (b, rest) = (exponent.exp(), -exponent.exp_m1());
    match aim {
        StaircaseAim::MeanAbsolute => {
            (distance * exponent.times_power_of_two(-1).exp() / rest).bounds()
        }
        StaircaseAim::MeanSquare => {
            let cube = (b * (Wide::ONE + b)).times_power_of_two(-1);
            let power = (cube.ln() * Wide::from(2.0) / Wide::from(3.0)).exp();
            (distance * distance * (power + b) / (rest * rest)).bounds()
        }
        StaircaseAim::Entropy => {
            let width = -exponent.times_power_of_two(1) * b * distance / (rest * rest);
            (Wide::ONE + width.ln()).bounds()
        }
        StaircaseAim::Usefulness(within) => {
            let sensitivities = Wide::from(within.max(0.0)) / distance;
            // Continuous where a step ends: the hull of both sides where the division leaves open
            // which one it is.
            let beyond = |m: f64| {
                let phi = sensitivities - Wide::from(m);
                (exponent * Wide::from(m + 1.0)).exp() / (phi + b * (Wide::ONE - phi))
            };
            let ends = sensitivities.bounds();
            beyond(ends.lower().floor()).hull(beyond(ends.upper().floor())).bounds().clamp(0.0, 1.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_mechanisms::{Mechanism, Neighbours, Sensitivity, Staircase};

    fn limit(aim: StaircaseAim, sensitivity: f64, epsilon: f64) -> Bounds {
        pure_limit(
            aim,
            Distance::new(sensitivity).expect("valid"),
            Epsilon::new(epsilon).expect("valid"),
        )
    }

    #[test]
    fn every_row_of_the_reference_is_met() {
        let reference: serde_json::Value =
            serde_json::from_str(include_str!("../../../../reference/staircase.json"))
                .expect("JSON");
        let rows = reference["rows"].as_array().expect("rows");
        assert!(rows.len() >= 5);
        let number = |value: &serde_json::Value| {
            value.as_str().and_then(|text| text.parse::<f64>().ok()).expect("a number")
        };
        let close = |bounds: Bounds, truth: f64| {
            (bounds.estimate() - truth).abs() <= 1e-13 * truth.abs().max(1e-2)
                && bounds.relative_width() < 1e-14
        };
        for row in rows {
            let epsilon = number(&row["eps"]);
            assert!(
                close(limit(StaircaseAim::MeanAbsolute, 1.0, epsilon), number(&row["cost_l1"])),
                "{row}"
            );
            assert!(
                close(limit(StaircaseAim::MeanSquare, 1.0, epsilon), number(&row["cost_l2"])),
                "{row}"
            );
            assert!(
                close(limit(StaircaseAim::Entropy, 1.0, epsilon), number(&row["cost_entropy"])),
                "{row}"
            );
            for (t, beyond) in row["min_tail_P(|X|>x)"].as_object().expect("tails") {
                let t: f64 = t.parse().expect("a number");
                let found = limit(StaircaseAim::Usefulness(t), 1.0, epsilon);
                let truth = number(beyond);
                // The decimal t is half an ulp off, and the tail moves by up to e^epsilon times
                // that, relatively.
                assert!(
                    (found.estimate() / truth - 1.0).abs() < 1e-14 * (1.0 + epsilon.exp()).min(1e6),
                    "{row} {t}: {found:?}"
                );
            }
        }
    }

    #[test]
    fn the_staircase_reaches_it_and_nothing_undercuts_it() {
        for (distance, epsilon) in [(1.0, 0.1), (3.0, 1.0), (0.5, 4.0)] {
            let sensitivity = Sensitivity::scalar(distance, Neighbours::AddRemove).expect("valid");
            let staircase = |aim| {
                Staircase::calibrate(aim, &sensitivity, Epsilon::new(epsilon).expect("valid"))
                    .expect("valid")
            };
            let errors = |aim| staircase(aim).errors().expect("additive");
            let near = |limit: Bounds, reached: f64| {
                // One less a usefulness is known to 1e-16 only.
                assert!(
                    limit.lower() <= reached * (1.0 + 1e-14) + 1e-15
                        && reached <= limit.upper() * (1.0 + 1e-12) + 1e-15,
                    "{limit:?} {reached}"
                );
            };
            near(
                limit(StaircaseAim::MeanAbsolute, distance, epsilon),
                errors(StaircaseAim::MeanAbsolute).mean_absolute.estimate(),
            );
            let square = errors(StaircaseAim::MeanSquare).root_mean_square.estimate().powi(2);
            near(limit(StaircaseAim::MeanSquare, distance, epsilon), square);
            for t in [0.1, 0.5, 1.0, 2.7] {
                let aim = StaircaseAim::Usefulness(t * distance);
                let useful = staircase(aim).usefulness(t * distance).expect("additive");
                near(limit(aim, distance, epsilon), 1.0 - useful.estimate());
            }
        }
    }

    #[test]
    fn where_a_step_ends_both_sides_agree() {
        for whole in [0.0, 1.0, 3.0] {
            let at = limit(StaircaseAim::Usefulness(whole), 1.0, 0.7).estimate();
            assert!((at - (-0.7 * whole).exp()).abs() < 1e-15, "{whole}");
            let before =
                limit(StaircaseAim::Usefulness((whole + 1.0).next_down()), 1.0, 0.7).estimate();
            assert!((before - (-0.7 * (whole + 1.0)).exp()).abs() < 1e-14, "{whole}");
        }
    }
}
