//! The staircase mechanism: the least error that pure differential privacy allows for a scalar.

use crate::additive::AdditiveRelease;
use crate::{
    Budget, Certificate, Epsilon, Errors, Guarantee, Mechanism, MechanismError, MechanismKind,
    Notion, Releaser, Sensitivity,
};
use reticent_events::{Event, Word};
use reticent_noise::{Lattice, Noise, Sampler};
use reticent_numerics::{Bounds, Enclosure, OutOfRange, Wide};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What the steps are placed for. With `b = e^-epsilon` and sensitivity 1 (errata, "Staircase
/// optima"):
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StaircaseAim {
    /// The least mean absolute error: `gamma = 1/(1 + e^(epsilon/2))`, which gives
    /// `E|X| = e^(epsilon/2)/(e^epsilon - 1)`.
    #[default]
    #[serde(rename = "l1")]
    MeanAbsolute,
    /// The least mean square error: `gamma = [(b (1 + b)/2)^(1/3) - b]/(1 - b)`, which gives
    /// `E X^2 = [2^(-2/3) b^(2/3) (1 + b)^(2/3) + b]/(1 - b)^2`.
    #[serde(rename = "l2")]
    MeanSquare,
    /// The least differential entropy: `gamma = b (epsilon - 1 + b)/(1 - b)^2`, which gives
    /// `1 + ln(2 epsilon b/(1 - b)^2)`.
    Entropy,
    /// The greatest probability of an error of at most this many units of the answer: for `m + phi`
    /// sensitivities, `gamma = phi`, and `P[|X| > m + phi] = b^(m+1)/(phi + b (1 - phi))`. For a
    /// whole number of sensitivities it is `b^m` whatever the steps, and they are placed for the
    /// mean absolute error.
    Usefulness(f64),
}

impl StaircaseAim {
    /// Its name, without the distance of a usefulness.
    pub fn name(self) -> &'static str {
        match self {
            StaircaseAim::MeanAbsolute => "l1",
            StaircaseAim::MeanSquare => "l2",
            StaircaseAim::Entropy => "entropy",
            StaircaseAim::Usefulness(_) => "usefulness",
        }
    }
}

/// Written as `l1`, `l2`, `entropy` or `usefulness:T`.
impl Word for StaircaseAim {
    fn read(text: &str) -> Result<Self, String> {
        match (text, text.strip_prefix("usefulness:").map(f64::read)) {
            ("l1", _) => Ok(StaircaseAim::MeanAbsolute),
            ("l2", _) => Ok(StaircaseAim::MeanSquare),
            ("entropy", _) => Ok(StaircaseAim::Entropy),
            (_, Some(Ok(within))) => Ok(StaircaseAim::Usefulness(within)),
            _ => Err("it must be l1, l2, entropy, or usefulness:T with a number T".into()),
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            StaircaseAim::Usefulness(within) => {
                f.write_str(":")?;
                within.write(f)
            }
            StaircaseAim::MeanAbsolute | StaircaseAim::MeanSquare | StaircaseAim::Entropy => Ok(()),
        }
    }
}

/// Adds staircase noise to a number.
///
/// # Distribution
/// Let `D` be the sensitivity, `b = e^-epsilon` and `a = (1 - b)/(2 (gamma + b (1 - gamma)))`. The
/// density is `a b^k / D` from `k D` to `(k + gamma) D` and `a b^(k+1) / D` from there to
/// `(k + 1) D`, for `k = 0, 1, ...`, and symmetric.
///
/// # Guarantee
/// Pure epsilon-differential privacy for every `gamma` from 0 to 1, tight: so the rounding of the
/// best `gamma` to an `f64` costs no privacy, and no utility that could be noticed. With the right
/// `gamma` no other noise does better for the loss in question. It is a mechanism for one number
/// that moves by at most `D`: over any shift up to `D` the loss is already `epsilon`, so that
/// coordinates that move together each cost all of it.
///
/// # Profile
/// Over the shift `D` the loss is `epsilon` on the half line beyond the answer, where every step is
/// one lower, and where a middle step meets a side step, which is `min(gamma, 1 - gamma) D` wide;
/// elsewhere it is 0 or `-epsilon`. Hence `delta(epsilon') = (1/2 + a min(gamma, 1 - gamma)) (1 -
/// e^(epsilon' - epsilon))` below `epsilon`. A smaller shift violates less: both sets shrink.
///
/// # Numerics
/// The answer is rounded to a lattice first, and `D` is the sensitivity of the rounded answer
/// ([`Sensitivity::rounded_to`]), which is also [`Mechanism::scale`]. So the loss is `epsilon`
/// exactly, and a sensitivity that is a multiple of the spacing stays as it is.
/// [`Mechanism::releaser`] refuses where the noise is so narrow that no lattice serves both it and
/// the sensitivity: `epsilon` from about 50 on for the entropy, 165 for the mean absolute and 245
/// for the mean square error.
///
/// # Example
/// ```
/// use reticent_mechanisms::{
///     Epsilon, Laplace, Mechanism, Neighbours, Sensitivity, Staircase, StaircaseAim,
/// };
/// let (count, epsilon) = (Sensitivity::scalar(1.0, Neighbours::AddRemove)?, Epsilon::new(4.0)?);
/// let staircase = Staircase::calibrate(StaircaseAim::Usefulness(0.1), &count, epsilon)?;
/// let laplace = Laplace::calibrate(&count, epsilon)?;
/// let useful = |m: &dyn Mechanism| m.usefulness(0.1).map(|p| p.lower());
/// assert!(useful(&staircase) > Some(0.84) && useful(&laplace) < Some(0.34));
/// # Ok::<(), reticent_mechanisms::MechanismError>(())
/// ```
///
/// # References
/// Geng and Viswanath, *The optimal noise-adding mechanism in differential privacy*, 2016.
#[derive(Clone, Debug, PartialEq)]
pub struct Staircase {
    /// `D` of the rounded answer.
    sensitivity: f64,
    /// Scaled by the sensitivity when drawn.
    noise: reticent_noise::Staircase,
    lattice: Lattice,
    method: &'static str,
}

impl Staircase {
    /// Steps placed for an aim.
    ///
    /// # Errors
    /// If epsilon is not from 1e-9 to 700 or there is a delta, if more than one coordinate of the
    /// answer can move, or if the aim is not a usefulness at a positive distance of at most `2^50`
    /// sensitivities.
    pub fn calibrate(
        aim: StaircaseAim,
        sensitivity: &Sensitivity,
        budget: impl Into<Budget>,
    ) -> Result<Self, MechanismError> {
        let epsilon = budget.into().pure(MechanismKind::Staircase)?;
        let gamma = best_gamma(aim, epsilon, sensitivity.of_one_number("staircase noise")?)?;
        let steps = Self::with_gamma(sensitivity, Epsilon::new(epsilon)?, gamma)?;
        Ok(Staircase { method: aim.name(), ..steps })
    }

    /// Steps at `k + gamma` sensitivities.
    ///
    /// # Errors
    /// If epsilon is not from 1e-9 to 700, gamma not from 0 to 1, or if more than one coordinate of
    /// the answer can move.
    pub fn with_gamma(
        sensitivity: &Sensitivity,
        epsilon: Epsilon,
        gamma: f64,
    ) -> Result<Self, MechanismError> {
        let distance = sensitivity.of_one_number("staircase noise")?;
        let noise = reticent_noise::Staircase::new(epsilon.get(), gamma)?;
        let (lattice, sensitivity) = lattice_for(sensitivity, distance, noise.magnitude())?;
        Ok(Staircase { sensitivity, noise, lattice, method: "gamma" })
    }

    /// Where a step ends, as a share of the sensitivity.
    pub fn gamma(&self) -> f64 {
        self.noise.gamma()
    }

    /// `b`, `1 - b` and `gamma + b (1 - gamma)`.
    fn constants(&self) -> (Wide, Wide, Wide) {
        let exponent = Wide::from(-self.noise.epsilon());
        let (b, gamma) = (exponent.exp(), Wide::from(self.gamma()));
        (b, -exponent.exp_m1(), gamma + b * (Wide::ONE - gamma))
    }

    /// The least `t`, in sensitivities, with `P[|X| > t] <= 1/20`.
    ///
    /// With `b^k >= 1/20 > b^(k+1)` and `r = 1/20 / b^k`: `P[|X| > k + u] / b^k` is `1 - 2a u` up
    /// to `u = gamma`, and `b + 2ab (1 - u)` beyond. Should rounding take the neighbouring `k`,
    /// then the line on which `t` lies goes on over the integer, and the answer stays right.
    fn quantile_95(&self) -> Wide {
        let (b, one_less_b, period) = self.constants();
        let (epsilon, twentieth) = (Wide::from(self.noise.epsilon()), Wide::ONE / Wide::from(20.0));
        let k = Wide::from((-twentieth.ln() / epsilon).bounds().estimate().floor());
        let r = twentieth * (epsilon * k).exp();
        let near = (Wide::ONE - r) * period / one_less_b;
        let far = Wide::ONE - (r - b) * period / (b * one_less_b);
        let gamma = Wide::from(self.gamma());
        k + match near.compare(&gamma) {
            Some(std::cmp::Ordering::Less) => near,
            Some(_) => far,
            None => near.hull(far),
        }
    }
}

/// The lattice and the sensitivity of an answer rounded to it: `2^-40` to `2^-60` of the noise's
/// size, the coarsest that raises the sensitivity by at most `1e-13` of itself, or else the finest;
/// but never below `2^-60` of the sensitivity.
fn lattice_for(
    sensitivity: &Sensitivity,
    distance: f64,
    magnitude: f64,
) -> Result<(Lattice, f64), MechanismError> {
    let noise = Lattice::for_scale((distance * magnitude).max(1e-150))?.exponent();
    let least = Lattice::for_scale(distance)?.exponent() - 20;
    let mut chosen = (Lattice::INTEGERS, f64::INFINITY);
    for finer in 0..=20 {
        let lattice = Lattice::of_spacing_power((noise - finer).max(least))?;
        let rounded = sensitivity.rounded_to(lattice)?;
        chosen = (lattice, rounded.of_one_number("staircase noise")?);
        if chosen.1 <= distance * (1.0 + 1e-13) {
            break;
        }
    }
    Ok(chosen)
}

/// The formulas at [`StaircaseAim`], rounded to nearest.
fn best_gamma(aim: StaircaseAim, epsilon: f64, sensitivity: f64) -> Result<f64, MechanismError> {
    let exponent = Wide::from(-epsilon);
    let (b, one_less_b) = (exponent.exp(), -exponent.exp_m1());
    let gamma = match aim {
        StaircaseAim::MeanAbsolute => {
            let root = exponent.times_power_of_two(-1).exp();
            root / (Wide::ONE + root)
        }
        StaircaseAim::MeanSquare => {
            let cube = b * (Wide::ONE + b).times_power_of_two(-1);
            ((cube.ln() / Wide::from(3.0)).exp() - b) / one_less_b
        }
        StaircaseAim::Entropy => b * (Wide::from(epsilon) - one_less_b) / (one_less_b * one_less_b),
        StaircaseAim::Usefulness(within) => {
            let sensitivities = within / sensitivity;
            if !(within > 0.0 && sensitivities <= 2f64.powi(50)) {
                let accepted = "a distance above 0 and at most 2^50 sensitivities";
                return Err(OutOfRange::new("usefulness", within, accepted).into());
            }
            let phi = sensitivities.fract();
            if phi == 0.0 {
                return best_gamma(StaircaseAim::MeanAbsolute, epsilon, sensitivity);
            }
            Wide::from(phi)
        }
    };
    Ok(gamma.bounds().estimate().clamp(0.0, 1.0))
}

impl Mechanism for Staircase {
    fn kind(&self) -> MechanismKind {
        MechanismKind::Staircase
    }

    fn method(&self) -> &'static str {
        self.method
    }

    /// The sensitivity, by which the noise is scaled.
    fn scale(&self) -> f64 {
        self.sensitivity
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("gamma", self.gamma())]
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee { notion: Notion::Pure, epsilon: self.noise.epsilon(), delta: 0.0 }
    }

    fn certificate(&self) -> Certificate {
        Certificate::Epsilon(Bounds::exact(self.noise.epsilon()))
    }

    fn delta(&self, epsilon: f64) -> Result<Bounds, MechanismError> {
        let epsilon = Epsilon::new(epsilon)?.get();
        if epsilon >= self.noise.epsilon() {
            return Ok(Bounds::ZERO);
        }
        // One of gamma and 1 - gamma is the lesser; 1 - gamma is exact as a pair of f64.
        let (gamma, rest) = (Wide::from(self.gamma()), Wide::ONE - Wide::from(self.gamma()));
        let meeting = if self.gamma() <= 0.5 { gamma } else { rest };
        let violating = Wide::from(0.5) + self.noise.peak(&Wide::ONE) * meeting;
        let share = -(Wide::from(epsilon) - Wide::from(self.noise.epsilon())).exp_m1();
        Ok((violating * share).bounds().clamp(0.0, 1.0))
    }

    fn event(&self) -> Event {
        Event::Staircase {
            epsilon: self.noise.epsilon(),
            gamma: self.gamma(),
            sensitivity: self.sensitivity,
        }
    }

    /// `|X| = D (G + U)` with `P[G = k] = (1 - b) b^k` and `U` in `[0, 1)` of density proportional
    /// to 1 below `gamma` and to `b` above. So with `S = gamma + b (1 - gamma)`: `E G = b/(1 - b)`,
    /// `E G^2 = b (1 + b)/(1 - b)^2`, `E U = [gamma^2 + b (1 - gamma^2)]/(2S)`,
    /// `E U^2 = [gamma^3 + b (1 - gamma^3)]/(3S)`; and the entropy is
    /// `ln(2 D S/(1 - b)) + epsilon (E G + b (1 - gamma)/S)`.
    fn errors(&self) -> Option<Errors> {
        let ((b, one_less_b, period), gamma) = (self.constants(), Wide::from(self.gamma()));
        let unit = Wide::from(self.sensitivity);
        let moment = |power: Wide, order: f64| {
            (power + b * (Wide::ONE - power)) / (Wide::from(order) * period)
        };
        let (first, second) = (moment(gamma * gamma, 2.0), moment(gamma * gamma * gamma, 3.0));
        let steps = b / one_less_b;
        let squared_steps = b * (Wide::ONE + b) / (one_less_b * one_less_b);
        let mean_square = squared_steps + (steps * first).times_power_of_two(1) + second;
        let drops = steps + b * (Wide::ONE - gamma) / period;
        let peak = (unit * period.times_power_of_two(1) / one_less_b).ln();
        Some(Errors {
            mean_absolute: (unit * (steps + first)).bounds(),
            root_mean_square: (unit * mean_square.sqrt()).bounds(),
            entropy: (peak + Wide::from(self.noise.epsilon()) * drops).bounds(),
            quantile_95: (unit * self.quantile_95()).bounds(),
        })
    }

    fn usefulness(&self, t: f64) -> Option<Bounds> {
        if t.is_nan() {
            return None;
        }
        if t <= 0.0 {
            return Some(Bounds::ZERO);
        }
        let sensitivities = t / self.sensitivity;
        if sensitivities >= 1e30 {
            // P[|X| > k] = b^k, and k epsilon >= 1e21 here.
            return Some(Bounds::new(1.0f64.next_down(), 1.0));
        }
        let beyond =
            self.noise.tail(&(Wide::from(t) / Wide::from(self.sensitivity))).times_power_of_two(1);
        Some((Wide::ONE - beyond).bounds().clamp(0.0, 1.0))
    }

    fn releaser(&self) -> Result<Box<dyn Releaser>, MechanismError> {
        Ok(Box::new(AdditiveRelease::new(Sampler::new(
            self.noise,
            self.sensitivity,
            self.lattice,
        )?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Neighbours::{AddRemove, Replace};
    use reticent_noise::randomness::SeededRandom;

    fn calibrated(distance: f64, epsilon: f64, aim: StaircaseAim) -> Staircase {
        let sensitivity = Sensitivity::scalar(distance, AddRemove).expect("valid");
        Staircase::calibrate(aim, &sensitivity, Epsilon::new(epsilon).expect("valid"))
            .expect("valid")
    }

    fn reference() -> Vec<serde_json::Value> {
        let file: serde_json::Value =
            serde_json::from_str(include_str!("../../../reference/staircase.json")).expect("JSON");
        file["rows"].as_array().expect("rows").clone()
    }

    fn number(value: &serde_json::Value) -> f64 {
        value.as_str().and_then(|text| text.parse().ok()).expect("a number")
    }

    fn agrees(bounds: Bounds, truth: f64) -> bool {
        bounds.relative_width() < 1e-14 && (bounds.estimate() - truth).abs() <= 1e-13 * truth.abs()
    }

    #[test]
    fn optima_costs_and_profiles_agree_with_the_reference_values() {
        assert!(reference().len() >= 6);
        for row in reference() {
            let epsilon = number(&row["eps"]);
            for (aim, key) in [
                (StaircaseAim::MeanAbsolute, "l1"),
                (StaircaseAim::MeanSquare, "l2"),
                (StaircaseAim::Entropy, "entropy"),
            ] {
                let mechanism = calibrated(1.0, epsilon, aim);
                let (gamma, cost) =
                    (number(&row[format!("gamma_{key}")]), number(&row[format!("cost_{key}")]));
                assert!(
                    (mechanism.gamma() / gamma - 1.0).abs() < 1e-13,
                    "{epsilon} {key}: {} {gamma}",
                    mechanism.gamma()
                );
                let errors = mechanism.errors().expect("additive");
                let figure = match aim {
                    StaircaseAim::MeanAbsolute => errors.mean_absolute,
                    StaircaseAim::MeanSquare => errors.root_mean_square.square(),
                    _ => errors.entropy,
                };
                assert!(agrees(figure, cost), "{epsilon} {key}: {figure:?} {cost}");
            }
            for (x, tail) in row["min_tail_P(|X|>x)"].as_object().expect("a table") {
                let (x, tail) = (x.parse().expect("a number"), number(tail));
                let mechanism = calibrated(1.0, epsilon, StaircaseAim::Usefulness(x));
                let within = mechanism.usefulness(x).expect("additive");
                assert!(
                    (1.0 - within.estimate() - tail).abs() < 1e-15,
                    "{epsilon} {x}: {within:?} {tail}"
                );
            }
            for (share, delta) in row["profile_gamma_l1"].as_object().expect("a table") {
                let at = share.parse::<f64>().expect("a number") * epsilon;
                let bounds =
                    calibrated(1.0, epsilon, StaircaseAim::MeanAbsolute).delta(at).expect("valid");
                assert!(bounds.relative_width() < 1e-15, "{bounds:?}");
                // The epsilon asked for is rounded; near the guaranteed one that moves 1 -
                // e^(epsilon' - epsilon).
                assert!(
                    (bounds.estimate() / number(delta) - 1.0).abs() < 1e-13,
                    "{epsilon} {share}: {bounds:?} {delta}"
                );
            }
        }
    }

    #[test]
    fn each_aim_beats_the_neighbouring_steps_and_laplace() {
        let sensitivity = Sensitivity::scalar(1.0, AddRemove).expect("valid");
        for epsilon in [0.1, 1.0, 3.0, 9.0] {
            let loss = Epsilon::new(epsilon).expect("valid");
            let measure = |aim: StaircaseAim, mechanism: &dyn Mechanism| {
                let errors = mechanism.errors().expect("additive");
                match aim {
                    StaircaseAim::MeanAbsolute => errors.mean_absolute,
                    StaircaseAim::MeanSquare => errors.root_mean_square,
                    StaircaseAim::Entropy => errors.entropy,
                    StaircaseAim::Usefulness(t) => -mechanism.usefulness(t).expect("additive"),
                }
            };
            let laplace = crate::Laplace::calibrate(&sensitivity, loss).expect("valid");
            for aim in [
                StaircaseAim::MeanAbsolute,
                StaircaseAim::MeanSquare,
                StaircaseAim::Entropy,
                StaircaseAim::Usefulness(0.3),
                StaircaseAim::Usefulness(1.25),
            ] {
                let best = calibrated(1.0, epsilon, aim);
                assert!(
                    measure(aim, &best).upper() < measure(aim, &laplace).lower(),
                    "{epsilon} {aim:?}"
                );
                for factor in [0.98, 1.02] {
                    let other = Staircase::with_gamma(&sensitivity, loss, best.gamma() * factor)
                        .expect("valid");
                    assert!(
                        measure(aim, &best).upper() < measure(aim, &other).lower(),
                        "{epsilon} {aim:?} {factor}"
                    );
                }
            }
        }
    }

    /// `integral of max(0, f(x) - e^epsilon f(x - s))` for a shift of `s` sensitivities, straight
    /// from the density: cells between all the steps of both, on each of which the integrand is
    /// constant.
    fn hockey_stick(noise: &reticent_noise::Staircase, s: f64, epsilon: f64) -> f64 {
        let far = (40.0 / noise.epsilon()).ceil() as i32 + 2;
        let mut edges: Vec<f64> = (-far..=far)
            .flat_map(|k| {
                [f64::from(k), f64::from(k) + noise.gamma(), f64::from(k) - noise.gamma()]
            })
            .flat_map(|x| [x, x + s])
            .collect();
        edges.sort_by(f64::total_cmp);
        let density = |x: f64| noise.density(&Bounds::exact(x.abs())).estimate();
        let cell = |ends: &[f64]| {
            let middle = 0.5 * (ends[0] + ends[1]);
            // Slivers between an edge and its rounded copy.
            if ends[1] - ends[0] < 1e-12 {
                0.0
            } else {
                (density(middle) - epsilon.exp() * density(middle - s)).max(0.0)
                    * (ends[1] - ends[0])
            }
        };
        edges.windows(2).map(cell).sum()
    }

    #[test]
    fn the_profile_agrees_with_the_hockey_stick_of_the_density_and_a_whole_shift_is_the_worst() {
        let sensitivity = Sensitivity::scalar(1.0, AddRemove).expect("valid");
        for (epsilon, gamma) in
            [(1.0, 0.3), (0.5, 0.8), (3.0, 0.05), (2.0, 0.5), (1.0, 0.0), (1.0, 1.0)]
        {
            let mechanism =
                Staircase::with_gamma(&sensitivity, Epsilon::new(epsilon).expect("valid"), gamma)
                    .expect("valid");
            for share in [0.0, 0.3, 0.8] {
                let formula = mechanism.delta(share * epsilon).expect("valid");
                let whole = hockey_stick(&mechanism.noise, 1.0, share * epsilon);
                assert!(
                    (formula.estimate() - whole).abs() < 1e-10,
                    "{epsilon} {gamma}: {formula:?} {whole}"
                );
                for shift in [0.05, 0.3, 0.5, 0.77, 0.99] {
                    let less = hockey_stick(&mechanism.noise, shift, share * epsilon);
                    assert!(
                        less <= formula.upper() + 1e-10,
                        "{epsilon} {gamma} {shift}: {less} {formula:?}"
                    );
                }
            }
            assert!(hockey_stick(&mechanism.noise, 1.0, epsilon) < 1e-10);
        }
    }

    #[test]
    fn the_quantile_and_the_usefulness_are_inverse() {
        for epsilon in [1e-6, 0.1, 0.7, 1.0, 2.99, 3.0, 8.0, 40.0] {
            for gamma in [0.0, 1e-9, 0.2, 0.5, 1.0] {
                let sensitivity = Sensitivity::scalar(0.25, AddRemove).expect("valid");
                let mechanism = Staircase::with_gamma(
                    &sensitivity,
                    Epsilon::new(epsilon).expect("valid"),
                    gamma,
                )
                .expect("valid");
                let quantile = mechanism.errors().expect("additive").quantile_95;
                assert!(quantile.relative_width() < 1e-12, "{epsilon} {gamma}: {quantile:?}");
                let within = mechanism.usefulness(quantile.estimate()).expect("additive");
                assert!(
                    (within.estimate() - 0.95).abs() < 1e-6 * (1.0 - gamma).max(1e-6)
                        || (within.estimate() - 0.95).abs() < 1e-12,
                    "{epsilon} {gamma}: {within:?}"
                );
            }
        }
    }

    #[test]
    fn coordinates_that_move_together_are_refused() {
        let epsilon = Epsilon::new(1.0).expect("valid");
        for sensitivity in [
            Sensitivity::l1_bound(1.0, AddRemove),
            Sensitivity::per_element(&[1.0, 1.0], AddRemove),
            Ok(Sensitivity::histogram(Replace)),
        ] {
            let refused = Staircase::calibrate(
                StaircaseAim::default(),
                &sensitivity.expect("valid"),
                epsilon,
            );
            assert!(refused.is_err_and(|error| error.to_string().contains("one number")));
        }
        let histogram = Sensitivity::histogram(AddRemove);
        assert!(Staircase::calibrate(StaircaseAim::default(), &histogram, epsilon).is_ok());
    }

    #[test]
    fn extreme_losses_are_exact_or_refused() {
        for epsilon in [1e-9, 1e-3, 30.0, 150.0, 700.0] {
            for aim in [StaircaseAim::MeanAbsolute, StaircaseAim::MeanSquare, StaircaseAim::Entropy]
            {
                let mechanism = calibrated(0.3, epsilon, aim);
                let errors = mechanism.errors().expect("additive");
                assert!(
                    errors.mean_absolute.relative_width() < 1e-12,
                    "{epsilon} {aim:?} {errors:?}"
                );
                assert!(mechanism.delta(0.5 * epsilon).expect("valid").relative_width() < 1e-14);
                // Where a step is far below the sensitivity, neither a lattice nor a table serves
                // both.
                match mechanism.releaser() {
                    Ok(_) => assert!(epsilon <= 150.0, "{epsilon} {aim:?}"),
                    Err(error) => {
                        let message = error.to_string();
                        assert!(epsilon >= 150.0, "{epsilon} {aim:?} {message}");
                        assert!(
                            message.contains("lattice") || message.contains("cannot be sampled"),
                            "{message}"
                        );
                    }
                }
            }
        }
        let sensitivity = Sensitivity::scalar(1.0, AddRemove).expect("valid");
        let tiny = Epsilon::new(1e-10).expect("a loss");
        assert!(Staircase::calibrate(StaircaseAim::default(), &sensitivity, tiny).is_err());
        for bad in [f64::NAN, 0.0, -1.0, f64::INFINITY] {
            let aim = StaircaseAim::Usefulness(bad);
            let refused =
                Staircase::calibrate(aim, &sensitivity, Epsilon::new(1.0).expect("valid"));
            assert!(refused.is_err_and(|error| error.to_string().contains("usefulness")), "{bad}");
        }
        assert!(
            Staircase::with_gamma(&sensitivity, Epsilon::new(1.0).expect("valid"), 1.1).is_err()
        );
    }

    #[test]
    fn releases_have_the_guaranteed_error() {
        let mechanism = calibrated(3.0, 2.0, StaircaseAim::MeanSquare);
        let releaser = mechanism.releaser().expect("a sampler");
        let mut random = SeededRandom::new(3);
        let draws = 40_000;
        let total: f64 = (0..draws)
            .filter_map(|_| releaser.release(-8.0, &mut random).ok())
            .map(|x| (x + 8.0).abs())
            .sum();
        let errors = mechanism.errors().expect("additive");
        let deviation = errors.root_mean_square.estimate() / f64::from(draws).sqrt();
        // The root mean square is above the standard deviation of |X|: six of it, a false alarm in
        // 5e8 seeds.
        assert!(
            (total / f64::from(draws) - errors.mean_absolute.estimate()).abs() < 6.0 * deviation
        );
    }
}
