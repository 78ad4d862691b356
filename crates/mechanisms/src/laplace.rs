//! The Laplace mechanism: pure differential privacy for numbers and vectors.

use crate::additive::AdditiveRelease;
use crate::{
    Budget, Certificate, Epsilon, Errors, Guarantee, Mechanism, MechanismError, MechanismKind,
    Notion, Releaser, Scale, Sensitivity,
};
use reticent_events::Event;
use reticent_noise::{Lattice, Sampler};
use reticent_numerics::rounding::{div_down, div_up, mul_down};
use reticent_numerics::{Bounds, Enclosure, Wide};

/// Adds Laplace noise of scale `b` to each coordinate.
///
/// # Distribution
/// `f(x) = exp(-|x|/b) / (2b)`.
///
/// # Guarantee
/// Pure epsilon-differential privacy with `epsilon_0 = D_1 / b` for answers of l1 sensitivity
/// `D_1`, and this is tight.
///
/// # Profile
/// `delta(epsilon) = 1 - exp((epsilon - epsilon_0)/2)` below `epsilon_0`, and zero from there on.
/// For a scalar: the loss of an output is at least `epsilon` left of `t = (D - b epsilon)/2`, and
/// `P[X <= t] - e^epsilon P[X <= t - D]` is the expression.
///
/// A vector whose l1 norm moves by `D_1` loses no more than a scalar that moves by `D_1`, which is
/// one of those vectors. To see it, let `m_a(u) = 1 - delta(u) = E min(1, e^(u - L)) = min(1,
/// e^((u - a)/2), e^u)` for a scalar with `D/b = a` and the loss `L`, at any sign of `u`. Two
/// coordinates with `a_1 <= a_2`, `A = a_1 + a_2`, have `1 - delta(u) = E m_(a_2)(u - L_1)`, and
/// `Z = (a_1 - L_1)/2` is an exponential variable with a fair chance of 0 instead, cut at `a_1`.
/// With `c = (A - u)/2` and `0 <= u <= A`,
///
/// `e^c E m_(a_2)(u - L_1) = E min(e^c, e^Z, e^(2Z + (a_2 - a_1 + u)/2)) = E min(e^c, e^Z) = 1 +
/// min(c, a_1)/2 >= 1`,
///
/// the third entry being above the second as `a_1 <= a_2`. So the pair has the smaller `delta`, and
/// with it, coordinate by coordinate, every vector.
///
/// # Numerics
/// Answers are rounded to a lattice of spacing `h <= 2^-39 b` before noise is added. Sensitivity
/// here is that of the rounded answer ([`Sensitivity::rounded_to`]), and `b = D_1 / epsilon` is
/// rounded up until `D_1 / b <= epsilon` is proved. A `D_1` that is a multiple of `h` costs
/// nothing; any other makes a scalar's `b` larger by a relative `1e-13` or, for `epsilon` below
/// `1e-5`, `2^-59 / epsilon` at most. Where a scale is given instead, [`Mechanism::delta`] encloses
/// the profile with and without the rounding.
///
/// # Example
/// ```
/// use reticent_mechanisms::{Certificate, Epsilon, Laplace, Mechanism, Neighbours, Sensitivity};
/// let counts = Sensitivity::histogram(Neighbours::Replace);
/// let mechanism = Laplace::calibrate(&counts, Epsilon::new(0.5)?)?;
/// assert_eq!(mechanism.scale(), 4.0);
/// let certificate = mechanism.certificate();
/// assert!(matches!(certificate, Certificate::Epsilon(epsilon) if epsilon.upper() <= 0.5));
/// # Ok::<(), reticent_mechanisms::MechanismError>(())
/// ```
///
/// # References
/// Dwork, McSherry, Nissim, Smith, *Calibrating noise to sensitivity in private data
/// analysis*, 2006.
#[derive(Clone, Debug, PartialEq)]
pub struct Laplace {
    /// What lower bounds are about: the rounded answer, for which a scale is calibrated; the answer
    /// itself, where a scale is given.
    least_sensitivity: f64,
    /// `D_1` of the answer rounded to the lattice.
    rounded_sensitivity: f64,
    scale: f64,
    lattice: Lattice,
    epsilon: f64,
}

impl Laplace {
    /// The least noise that keeps a budget.
    ///
    /// # Errors
    /// If epsilon is zero or there is a delta, the l1 sensitivity is not known, or the scale leaves
    /// the accepted range.
    pub fn calibrate(
        sensitivity: &Sensitivity,
        budget: impl Into<Budget>,
    ) -> Result<Self, MechanismError> {
        let epsilon = budget.into().pure(MechanismKind::Laplace)?;
        let ideal = Scale::new(div_up(sensitivity.l1()?, epsilon))?.get();
        let (lattice, rounded_sensitivity) = lattice_for(sensitivity, ideal)?;
        let mut scale = Scale::new(div_up(rounded_sensitivity, epsilon))?.get();
        while div_up(rounded_sensitivity, scale) > epsilon {
            scale = scale.next_up();
        }
        Ok(Laplace {
            least_sensitivity: rounded_sensitivity,
            rounded_sensitivity,
            scale,
            lattice,
            epsilon,
        })
    }

    /// Noise of a given scale.
    ///
    /// # Errors
    /// If the l1 sensitivity is not known, or the loss is above 700.
    pub fn with_scale(sensitivity: &Sensitivity, scale: Scale) -> Result<Self, MechanismError> {
        let scale = scale.get();
        let (lattice, rounded_sensitivity) = lattice_for(sensitivity, scale)?;
        let epsilon = Epsilon::positive(div_up(rounded_sensitivity, scale))?.get();
        Ok(Laplace {
            least_sensitivity: sensitivity.l1()?,
            rounded_sensitivity,
            scale,
            lattice,
            epsilon,
        })
    }

    /// The lattice that released numbers lie on.
    pub fn lattice(&self) -> Lattice {
        self.lattice
    }

    /// The profile for answers that move by at most `distance`.
    fn delta_at(&self, distance: f64, epsilon: f64) -> Bounds {
        if mul_down(epsilon, self.scale) >= distance {
            return Bounds::ZERO;
        }
        let loss = Wide::from(distance) / Wide::from(self.scale);
        let half = (Wide::from(epsilon) - loss).times_power_of_two(-1);
        (-half.exp_m1()).bounds().clamp(0.0, 1.0)
    }
}

/// The lattice for noise of a given scale and the l1 sensitivity of answers rounded to it: the
/// coarsest lattice from `2^-40` to `2^-60` times the scale that does not raise the sensitivity by
/// more than `1e-13` of itself, or else the finest. (Draws on lattices below `2^-44` take a few
/// times as long.)
fn lattice_for(sensitivity: &Sensitivity, scale: f64) -> Result<(Lattice, f64), MechanismError> {
    let coarsest = Lattice::for_scale(scale)?;
    let l1 = sensitivity.l1()?;
    let mut chosen = (coarsest, f64::INFINITY);
    for finer in 0..=20 {
        let lattice = Lattice::of_spacing_power(coarsest.exponent() - finer)?;
        chosen = (lattice, sensitivity.rounded_to(lattice)?.l1()?);
        if chosen.1 <= l1 * (1.0 + 1e-13) {
            break;
        }
    }
    Ok(chosen)
}

impl Mechanism for Laplace {
    fn kind(&self) -> MechanismKind {
        MechanismKind::Laplace
    }

    fn method(&self) -> &'static str {
        "exact"
    }

    fn scale(&self) -> f64 {
        self.scale
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee { notion: Notion::Pure, epsilon: self.epsilon, delta: 0.0 }
    }

    fn certificate(&self) -> Certificate {
        let lower = div_down(self.least_sensitivity, self.scale);
        Certificate::Epsilon(Bounds::new(lower, div_up(self.rounded_sensitivity, self.scale)))
    }

    fn delta(&self, epsilon: f64) -> Result<Bounds, MechanismError> {
        let epsilon = Epsilon::new(epsilon)?.get();
        Ok(self
            .delta_at(self.least_sensitivity, epsilon)
            .hull(self.delta_at(self.rounded_sensitivity, epsilon)))
    }

    fn event(&self) -> Event {
        Event::Laplace { scale: self.scale, sensitivity: self.rounded_sensitivity }
    }

    /// `E|X| = b`, `E X^2 = 2 b^2`, entropy `1 + ln(2b)`, `P[|X| > t] = exp(-t/b)`.
    fn errors(&self) -> Option<Errors> {
        let b = Wide::from(self.scale);
        let root_of_two = Wide::from(2.0).sqrt();
        Some(Errors {
            mean_absolute: Bounds::exact(self.scale),
            root_mean_square: (b * root_of_two).bounds(),
            entropy: (Wide::ONE + b.times_power_of_two(1).ln()).bounds(),
            quantile_95: (b * Wide::from(20.0).ln()).bounds(),
        })
    }

    fn usefulness(&self, t: f64) -> Option<Bounds> {
        if t.is_nan() {
            return None;
        }
        let within = -(-(Bounds::new(t.max(0.0), t.max(0.0)) / Bounds::exact(self.scale))).exp_m1();
        Some(within.clamp(0.0, 1.0))
    }

    fn releaser(&self) -> Result<Box<dyn Releaser>, MechanismError> {
        let sampler = Sampler::new(reticent_noise::Laplace, self.scale, self.lattice)?;
        Ok(Box::new(AdditiveRelease::new(sampler)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Neighbours::{AddRemove, Replace};
    use reticent_noise::randomness::SeededRandom;
    use reticent_numerics::quadrature::{Options, integrate_convex};

    fn scalar(distance: f64) -> Sensitivity {
        Sensitivity::scalar(distance, AddRemove).expect("valid")
    }

    fn calibrated(distance: f64, epsilon: f64) -> Laplace {
        Laplace::calibrate(&scalar(distance), Epsilon::new(epsilon).expect("valid")).expect("valid")
    }

    #[test]
    fn the_profile_agrees_with_the_reference_values() {
        let reference: serde_json::Value =
            serde_json::from_str(include_str!("../../../reference/profiles.json")).expect("JSON");
        let rows = reference["laplace"].as_array().expect("rows");
        assert!(rows.len() >= 8);
        for row in rows {
            let number = |key: &str| {
                row[key].as_str().and_then(|text| text.parse::<f64>().ok()).expect("a number")
            };
            let (epsilon, truth) = (number("eps"), number("delta"));
            let delta = calibrated(1.0, number("eps0")).delta(epsilon).expect("valid");
            // The reference is for the decimal epsilon, which the f64 is off by half an ulp from.
            assert!(
                delta.lower() * (1.0 - 1e-15) <= truth && truth <= delta.upper() * (1.0 + 1e-15),
                "{row} {delta:?}"
            );
            assert!(delta.relative_width() <= 1e-15, "{row} {delta:?}");
        }
    }

    /// `integral of max(0, f(x) - e^epsilon f(x - D))`, straight from the density: convex on each
    /// side of zero, where it is a difference of exponentials that shrink together, or one that
    /// grows from one that shrinks taken away.
    fn hockey_stick(mechanism: &Laplace, distance: f64, epsilon: f64) -> Bounds {
        let b = Bounds::exact(mechanism.scale);
        let density = |x: Bounds| (-(x.abs() / b)).exp() / (b + b);
        let weight = Bounds::exact(epsilon).exp();
        let gain = |x: f64| {
            density(Bounds::exact(x)) - weight * density(Bounds::exact(x) - Bounds::exact(distance))
        };
        let far = -700.0 * mechanism.scale;
        let options = Options { relative_tolerance: 1e-9, pieces: 100_000, ..Options::default() };
        let left = integrate_convex(gain, far, 0.0, &options);
        // Where the two densities agree; an f64 next to it, where the integrand is flat at zero,
        // changes nothing to 1e-15.
        let turn = 0.5 * (distance - mechanism.scale * epsilon);
        let rising = |x: f64| weight * density(Bounds::exact(x) - Bounds::exact(distance));
        let right = integrate_convex(|x| density(Bounds::exact(x)), 0.0, turn, &options)
            - integrate_convex(rising, 0.0, turn, &options);
        // Beyond `far` lies less than e^-700.
        left + right + Bounds::new(0.0, 1e-300)
    }

    #[test]
    fn the_profile_agrees_with_the_hockey_stick_of_the_density() {
        for (distance, scale, epsilon) in
            [(1.0, 1.0, 0.0), (1.0, 1.0, 0.9), (2.0, 0.5, 1.0), (0.75, 4.0, 0.1), (3.0, 0.25, 11.5)]
        {
            let mechanism =
                Laplace::with_scale(&scalar(distance), Scale::new(scale).expect("valid"))
                    .expect("valid");
            let (direct, formula) = (
                hockey_stick(&mechanism, distance, epsilon),
                mechanism.delta(epsilon).expect("valid"),
            );
            assert!(direct.relative_width() < 1e-6, "{direct:?}");
            assert!(
                direct.lower() <= formula.upper() && formula.lower() <= direct.upper(),
                "{direct:?} {formula:?}"
            );
        }
    }

    /// `1 - delta` of two coordinates at the loss `u`, by the sum over the first one's loss as in
    /// the documentation.
    fn agreement_of_two(a: [f64; 2], u: f64) -> f64 {
        let second = |u: f64| 1f64.min(((u - a[1]) / 2.0).exp()).min(u.exp());
        let steps = 20_000;
        let h = a[0] / f64::from(steps);
        let between: f64 = (0..steps)
            .map(|i| (f64::from(i) + 0.5) * h)
            .map(|z| 0.5 * (-z).exp() * h * second(u - a[0] + 2.0 * z))
            .sum();
        0.5 * second(u - a[0]) + between + 0.5 * (-a[0]).exp() * second(u + a[0])
    }

    #[test]
    fn a_vector_loses_no_more_than_one_coordinate_that_moves_alone() {
        for (a, b) in [(0.1, 0.1), (0.5, 1.0), (1.0, 0.5), (3.0, 0.2), (2.0, 5.0)] {
            for share in [0.0, 0.2, 0.5, 0.9] {
                let u = share * (a + b);
                let (pair, alone) = (agreement_of_two([a, b], u), ((u - a - b) / 2.0).exp());
                assert!(pair > alone * (1.0 + 1e-6), "{a} {b} {u}: {pair} {alone}");
            }
        }
    }

    #[test]
    fn the_certificate_covers_the_rounding_of_the_answer() {
        for (distance, epsilon) in
            [(0.1, 0.3), (1.0 / 3.0, 1.0), (7.7, 1e-3), (1e-9, 5.0), (1e90, 0.7)]
        {
            let mechanism = calibrated(distance, epsilon);
            let steps = mechanism.lattice.sensitivity(distance).expect("valid");
            assert!(steps >= distance && mechanism.rounded_sensitivity == steps);
            assert!(steps / mechanism.scale <= epsilon);
            let excess = mechanism.scale / (distance / epsilon) - 1.0;
            let most = 1e-13f64.max(2f64.powi(-59) / epsilon) + 1e-15;
            assert!((-1e-15..=most).contains(&excess), "{distance} {epsilon}: {excess:e}");
        }
        // Integers stay where they are.
        assert_eq!(calibrated(3.0, 0.75).scale, 4.0);
        assert_eq!(calibrated(1.0, 1e-6).rounded_sensitivity, 1.0);
    }

    #[test]
    fn the_profile_at_a_given_scale_holds_that_of_real_answers() {
        for (distance, scale) in [(0.3, 1.0), (0.7, 3.1), (1e-5, 2e-5)] {
            let given = Laplace::with_scale(&scalar(distance), Scale::new(scale).expect("valid"))
                .expect("valid");
            for share in [0.0, 0.3, 0.9] {
                let epsilon = share * distance / scale;
                let ideal = -((Wide::from(epsilon) - Wide::from(distance) / Wide::from(scale))
                    .times_power_of_two(-1))
                .exp_m1();
                let delta = given.delta(epsilon).expect("valid");
                assert!(
                    delta.lower() <= ideal.bounds().lower()
                        && ideal.bounds().upper() <= delta.upper()
                );
                assert!(delta.relative_width() < 1e-11, "{distance} {scale} {share}: {delta:?}");
            }
        }
    }

    #[test]
    fn vectors_pay_for_the_rounding_of_each_coordinate() {
        let epsilon = Epsilon::new(1.0).expect("valid");
        let norm = Sensitivity::l1_bound(1.0, Replace).expect("valid");
        assert!(
            Laplace::calibrate(&norm, epsilon).is_err(),
            "the number of coordinates is not known"
        );
        let counts = Laplace::calibrate(&norm.clone().of_integers(), epsilon).expect("valid");
        assert_eq!(counts.scale, 1.0);
        let vector = Laplace::calibrate(&norm.with_coordinates(1000).expect("valid"), epsilon)
            .expect("valid");
        let least = 1.0 + 999.0 * vector.lattice.spacing();
        assert!((least..least * (1.0 + 1e-15)).contains(&vector.rounded_sensitivity));
        assert!(vector.scale > counts.scale && vector.scale < 1.0 + 1e-10);
    }

    #[test]
    fn errors_are_the_closed_forms() {
        let errors = calibrated(1.0, 0.5).errors().expect("additive");
        assert_eq!(errors.mean_absolute, Bounds::exact(2.0));
        for (bounds, truth) in [
            (errors.root_mean_square, 8f64.sqrt()),
            (errors.entropy, 1.0 + 4f64.ln()),
            (errors.quantile_95, 2.0 * 20f64.ln()),
        ] {
            assert!(
                (bounds.estimate() / truth - 1.0).abs() < 1e-15 && bounds.relative_width() < 1e-15,
                "{bounds:?}"
            );
        }
        let mechanism = calibrated(1.0, 0.5);
        let at_quantile = mechanism.usefulness(errors.quantile_95.upper()).expect("additive");
        assert!((at_quantile.estimate() - 0.95).abs() < 1e-15);
        assert_eq!(mechanism.usefulness(-1.0), Some(Bounds::ZERO));
        assert_eq!(mechanism.usefulness(f64::INFINITY).map(|p| p.upper()), Some(1.0));
        assert_eq!(mechanism.usefulness(f64::NAN), None);
    }

    #[test]
    fn releases_lie_on_the_lattice_with_the_guaranteed_error() {
        let mechanism = calibrated(0.3, 0.1);
        let releaser = mechanism.releaser().expect("a sampler");
        let mut random = SeededRandom::new(11);
        let draws = 40_000;
        let mut total = 0.0;
        for _ in 0..draws {
            let released = releaser.release(17.0, &mut random).expect("bits");
            assert_eq!((released / releaser.spacing()).fract(), 0.0);
            total += (released - 17.0).abs();
        }
        // |X| has mean and standard deviation b = 3: six standard errors, a false alarm in 5e8 seeds.
        let mean = total / f64::from(draws);
        assert!((mean - 3.0).abs() < 6.0 * 3.0 / f64::from(draws).sqrt(), "{mean}");
        assert!(
            !releaser.accepts(f64::NAN)
                && releaser.release(f64::NAN, &mut random).is_ok_and(f64::is_finite)
        );
    }

    #[test]
    fn what_cannot_be_guaranteed_is_refused() {
        let zero = Epsilon::new(0.0).expect("a loss");
        assert!(
            Laplace::calibrate(&scalar(1.0), zero)
                .is_err_and(|error| error.to_string().contains("epsilon"))
        );
        let tiny = Epsilon::new(1e-200).expect("a loss");
        assert!(
            Laplace::calibrate(&scalar(1.0), tiny)
                .is_err_and(|error| error.to_string().contains("scale"))
        );
        assert!(
            Laplace::with_scale(&scalar(1.0), Scale::new(1e-3).expect("valid")).is_err(),
            "a loss of 1000"
        );
        let mechanism = calibrated(1.0, 1.0);
        for bad in [f64::NAN, -0.1, f64::INFINITY] {
            assert!(mechanism.delta(bad).is_err(), "{bad}");
        }
    }
}
