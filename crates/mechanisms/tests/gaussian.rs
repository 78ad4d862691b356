//! The Gaussian mechanism against reference values, and over random budgets.

#![allow(clippy::unwrap_used, clippy::panic)]

use reticent_mechanisms::{
    Certificate, Delta, Distance, Epsilon, GaussianMechanism, GaussianMethod, GaussianProfile,
    Mechanism, MechanismError, Scale,
};
use serde_json::Value;

fn rows(text: &str) -> Vec<Value> {
    let file: Value = serde_json::from_str(text).unwrap();
    file["rows"].as_array().unwrap().clone()
}

fn number(row: &Value, name: &str) -> f64 {
    row[name].as_str().unwrap_or_else(|| panic!("{name} in {row}")).parse().unwrap()
}

fn calibrate(
    method: GaussianMethod,
    epsilon: f64,
    delta: f64,
    d: f64,
) -> Result<GaussianMechanism, MechanismError> {
    GaussianMechanism::calibrate(
        method,
        &Distance::new(d)?.into(),
        (Epsilon::new(epsilon)?, Delta::new(delta)?),
    )
}

fn profile(sigma: f64, sensitivity: f64) -> GaussianProfile {
    GaussianProfile::new(Scale::new(sigma).unwrap(), Distance::new(sensitivity).unwrap())
}

/// Pseudo-random numbers from 0 to 1, always the same.
struct Uniform(u64);

impl Uniform {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / 2f64.powi(53)
    }

    /// `epsilon` from 1e-6 to 700 or exactly 0, `delta` from 1e-300 to nearly 1.
    fn budget(&mut self) -> (f64, f64) {
        let epsilon = if self.next() < 0.05 { 0.0 } else { 10f64.powf(-6.0 + 8.84 * self.next()) };
        let delta = match self.next() {
            kind if kind < 0.3 => 10f64.powf(-300.0 * self.next()),
            kind if kind < 0.8 => 10f64.powf(-16.0 * self.next()),
            _ => self.next().clamp(1e-6, 0.999_999),
        };
        (epsilon, delta.min(0.999_999))
    }
}

/// The scale is a little above the optimum or equal to it as far as 17 digits and the rounding of
/// the inputs tell.
fn assert_scale(found: f64, truth: f64, what: &str) {
    let relative = found / truth - 1.0;
    assert!(
        (-2e-15..1e-12).contains(&relative),
        "{what}: {found} against {truth}, relative {relative:e}"
    );
}

#[test]
fn analytic_scales_are_the_optimum() {
    let mut worst: f64 = 0.0;
    for row in rows(include_str!("../../../reference/gaussian_sigma.json")) {
        let (epsilon, delta, truth) =
            (number(&row, "eps"), number(&row, "delta"), number(&row, "sigma"));
        let mechanism = calibrate(GaussianMethod::Analytic, epsilon, delta, 1.0).unwrap();
        worst = worst.max(mechanism.scale() / truth - 1.0);
        assert_scale(mechanism.scale(), truth, &row.to_string());
    }
    assert!(worst < 1e-13, "{worst:e}");
}

#[test]
fn profiles_contain_the_truth_and_are_narrow() {
    for row in rows(include_str!("../../../reference/gaussian_delta.json")) {
        let profile = profile(number(&row, "sigma"), 1.0);
        let (delta, ln_delta) = (
            profile.delta(number(&row, "eps")).unwrap(),
            profile.ln_delta(number(&row, "eps")).unwrap(),
        );
        let (truth, ln_truth) = (number(&row, "delta"), number(&row, "ln_delta"));
        // The decimal inputs are not f64: 0.1 is off by half a unit, which counts c^2 times.
        let slack = 3e-16 * (2.0 + ln_truth.abs() * 4.0);
        assert!(
            delta.lower() <= truth * (1.0 + slack) && truth * (1.0 - slack) <= delta.upper(),
            "{row} {delta:?}"
        );
        assert!(
            ln_delta.lower() <= ln_truth + slack.max(slack * ln_truth.abs().min(1.0))
                && ln_truth - slack <= ln_delta.upper(),
            "{row} {ln_delta:?}"
        );
        if truth >= 1e-300 {
            assert!(delta.relative_width() < 1e-13, "{row} {delta:?} {:e}", delta.relative_width());
        }
        assert!(ln_delta.relative_width() < 1e-13, "{row} {ln_delta:?}");
    }
}

#[test]
fn probabilistic_and_closed_form_scales_are_those_of_the_reference() {
    for row in rows(include_str!("../../../reference/gaussian_pdp.json")) {
        let (epsilon, delta) = (number(&row, "eps"), number(&row, "delta"));
        for (column, method) in [
            ("liu_eqn17", GaussianMethod::Liu),
            ("one_sided", GaussianMethod::ProbabilisticOneSided),
            ("one_sided", GaussianMethod::ClosedForm1),
            ("two_sided_exact", GaussianMethod::Probabilistic),
            ("mech2", GaussianMethod::ClosedForm2),
            ("vinterbo", GaussianMethod::Vinterbo),
            ("optimal_dp", GaussianMethod::Analytic),
        ] {
            let mechanism = calibrate(method, epsilon, delta, 1.0).unwrap();
            assert_scale(mechanism.scale(), number(&row, column), &format!("{column} {row}"));
        }
    }
}

#[test]
fn the_classical_forms_are_refused_exactly_where_they_fail() {
    for row in rows(include_str!("../../../reference/gaussian_classical_threshold.json")) {
        let delta = number(&row, "delta");
        for (column, method) in [
            ("eps_fail_2006_const2", GaussianMethod::Classical2006),
            ("eps_fail_2014_const1.25", GaussianMethod::Classical2014),
        ] {
            let threshold = number(&row, column);
            assert!(calibrate(method, threshold * (1.0 - 1e-11), delta, 1.0).is_ok(), "{row}");
            let refusal = calibrate(method, threshold * 1.01, delta, 1.0).unwrap_err().to_string();
            assert!(
                refusal.contains("would really give delta = ") && refusal.contains(method.name()),
                "{refusal}"
            );
            assert!(calibrate(method, threshold * (1.0 + 1e-11), delta, 1.0).is_err(), "{row}");
        }
    }
}

/// The definition itself: the integral of `(f(x) - e^epsilon f(x + D))` over the outputs that lose
/// more than `epsilon`, by certified sums over cells.
#[test]
fn the_profile_is_the_hockey_stick_divergence_of_the_density() {
    use reticent_numerics::quadrature::{Integrand, Options, integrate};
    use reticent_numerics::{Bounds, Enclosure};
    struct Excess {
        sigma: f64,
        epsilon: f64,
    }
    impl Integrand for Excess {
        fn at<E: Enclosure>(&self, x: &E) -> E {
            let sigma = x.exactly(self.sigma);
            let bell = |x: E| {
                let z = x / sigma.clone();
                (-(z.clone() * z).times_power_of_two(-1)).exp()
            };
            let norm = sigma.clone() * x.pi().times_power_of_two(1).sqrt();
            (bell(x.clone()) - x.exactly(self.epsilon).exp() * bell(x.clone() + x.exactly(1.0)))
                / norm
        }
    }
    for (sigma, epsilon) in
        [(1.0, 0.0), (1.0, 0.5), (0.5, 2.0), (2.0, 1.0), (0.3, 8.0), (5.0, 0.25)]
    {
        // The loss (2 x + 1)/(2 sigma^2) exceeds epsilon beyond this; beyond 14 sigma further, less
        // than 1e-40 is left.
        let from = epsilon * sigma * sigma - 0.5;
        let options = Options { relative_tolerance: 1e-12, ..Options::default() };
        let integral = integrate(
            &Excess { sigma, epsilon },
            &Bounds::ZERO,
            from,
            from + 14.0 * sigma,
            &options,
        );
        let integral = integral + Bounds::new(-1e-30, 1e-30);
        let delta = profile(sigma, 1.0).delta(epsilon).unwrap();
        assert!(integral.relative_width() < 1e-10, "{sigma} {epsilon} {integral:?}");
        assert!(integral.intersect(delta).is_finite(), "{sigma} {epsilon}: {integral:?} {delta:?}");
    }
}

#[test]
fn random_budgets_are_kept_and_nearly_used_up() {
    let mut uniform = Uniform(1);
    for _ in 0..20_000 {
        let (epsilon, delta) = uniform.budget();
        let d = 10f64.powf(8.0 * uniform.next() - 4.0);
        let mechanism = calibrate(GaussianMethod::Analytic, epsilon, delta, d).unwrap();
        let at = mechanism.delta(epsilon).unwrap();
        assert!(at.upper() <= delta, "{epsilon} {delta} {d}: {at:?}");
        assert_eq!(mechanism.certificate(), Certificate::Delta(at));
        assert!(at.relative_width() < 1e-13, "{epsilon} {delta}: {at:?} {:e}", at.relative_width());
        let Ok(less) = Scale::new(mechanism.scale() * (1.0 - 1e-12)) else { continue };
        let less = GaussianProfile::new(less, Distance::new(d).unwrap()).delta(epsilon).unwrap();
        // Near delta = 1 the last bit of delta is worth more than that.
        assert!(
            less.lower() > delta || (delta > 0.9 && less.upper() >= delta),
            "not the least at {epsilon} {delta} {d}: {less:?}"
        );
    }
}

#[test]
fn every_method_is_certified_on_random_budgets() {
    let mut uniform = Uniform(2);
    for _ in 0..2_000 {
        let (epsilon, delta) = uniform.budget();
        for &method in GaussianMethod::ALL {
            if let Ok(mechanism) = calibrate(method, epsilon, delta, 1.0) {
                let Certificate::Delta(bounds) = mechanism.certificate() else {
                    panic!("{method:?}")
                };
                assert!(bounds.upper() <= delta, "{method:?} {epsilon} {delta}: {bounds:?}");
                // Each of the notions implies the approximate one.
                assert!(
                    mechanism.delta(epsilon).unwrap().lower() <= delta,
                    "{method:?} {epsilon} {delta}"
                );
            } else {
                let classical =
                    matches!(method, GaussianMethod::Classical2006 | GaussianMethod::Classical2014);
                assert!(classical || epsilon == 0.0 || delta > 0.5, "{method:?} {epsilon} {delta}");
            }
        }
    }
}

#[test]
fn scales_are_monotone_in_the_budget_and_linear_in_the_sensitivity() {
    let mut uniform = Uniform(3);
    for _ in 0..1_000 {
        let (epsilon, delta) = uniform.budget();
        let scale = |epsilon: f64, delta: f64, d: f64| {
            calibrate(GaussianMethod::Analytic, epsilon, delta, d).unwrap().scale()
        };
        let here = scale(epsilon, delta, 1.0);
        // At delta near 1 the scale hardly depends on epsilon, so the roundings are allowed for.
        assert!(
            scale((epsilon * 1.01).min(700.0), delta, 1.0) <= here * (1.0 + 1e-13),
            "{epsilon} {delta}"
        );
        assert!(scale(epsilon, delta + 0.01 * (1.0 - delta), 1.0) < here, "{epsilon} {delta}");
        let d = 10f64.powf(8.0 * uniform.next() - 4.0);
        assert!(
            (scale(epsilon, delta, d) / (here * d) - 1.0).abs() < 4e-15,
            "{epsilon} {delta} {d}"
        );
        assert_eq!(scale(epsilon, delta, 1024.0), here * 1024.0);
    }
}

#[test]
fn profiles_decrease_from_at_most_one() {
    for sigma in [1e-3, 0.1, 0.7, 1.0, 10.0, 1e4, 1e9] {
        let mut last = f64::INFINITY;
        for step in 0..200 {
            let epsilon = f64::from(step) * 0.05 / sigma;
            let delta = profile(sigma, 1.0).delta(epsilon).unwrap();
            assert!(delta.upper() <= 1.0 && delta.lower() <= last, "{sigma} {epsilon}");
            last = delta.upper();
        }
    }
}

#[test]
fn budgets_beyond_double_precision_are_used_up_and_kept() {
    for delta in [1e-16, 1e-30, 1e-100, 1e-300] {
        let scale = calibrate(GaussianMethod::Analytic, 1.0, delta, 1.0).unwrap().scale();
        let ln = profile(scale, 1.0).ln_delta(1.0).unwrap();
        assert!(
            (ln.upper() - delta.ln()).abs() < 1e-13 * delta.ln().abs(),
            "{delta} {scale} {ln:?}"
        );
        assert!(
            profile(0.9 * scale, 1.0).delta(1.0).unwrap().lower() > 10.0 * delta,
            "a tenth less noise at {delta}"
        );
    }
}

#[test]
fn figures_of_error_and_charge_come_from_the_stored_scale() {
    let mechanism = calibrate(GaussianMethod::Analytic, 1.0, 1e-6, 3.0).unwrap();
    let sigma = mechanism.scale();
    let errors = mechanism.errors().unwrap();
    assert!(errors.mean_absolute.contains(sigma * 0.797_884_560_802_865_4));
    assert!((errors.quantile_95.estimate() / sigma - 1.959_963_984_540_054).abs() < 1e-14);
    assert!((errors.entropy.estimate() - (sigma.ln() + 1.418_938_533_204_672_7)).abs() < 1e-14);
    assert!(mechanism.usefulness(errors.quantile_95.estimate()).unwrap().contains(0.95));
    let event = serde_json::to_value(mechanism.event()).unwrap();
    assert_eq!(event["sigma"].as_f64(), Some(sigma));
    assert_eq!(event["sensitivity"].as_f64(), Some(3.0));
    assert!(mechanism.releaser().unwrap().spacing() < sigma * 2f64.powi(-38));
    assert!(
        mechanism.coordinate_releaser(0).is_err() && mechanism.coordinate_releaser(100).is_ok()
    );
    let given = GaussianMechanism::with_sigma(
        Scale::new(sigma).unwrap(),
        Distance::new(3.0).unwrap(),
        Epsilon::new(1.0).unwrap(),
    );
    assert!(given.unwrap().guarantee().delta <= 1e-6);
}

#[test]
fn epsilon_zero_belongs_to_the_analytic_method_alone() {
    for &method in GaussianMethod::ALL {
        assert_eq!(
            calibrate(method, 0.0, 0.1, 1.0).is_ok(),
            method == GaussianMethod::Analytic,
            "{method:?}"
        );
    }
    // sigma of 4e299 is computed, and its release refused: no lattice resolves it.
    let hopeless = calibrate(GaussianMethod::Analytic, 0.0, 1e-300, 1.0).unwrap();
    assert!(
        (hopeless.scale() / 3.989_422_804_014_327e299 - 1.0).abs() < 1e-12
            && hopeless.releaser().is_err()
    );
}

#[test]
fn far_losses_have_vanishing_deltas() {
    for sigma in [0.5, 1.0, 1e3, 1e9] {
        for epsilon in [1e3, 5e3, 1e4, 1e6] {
            let delta = profile(sigma, 1.0).delta(epsilon).unwrap();
            assert!(delta.upper() < 1e-300, "{sigma} {epsilon}: {delta:?}");
        }
    }
}
