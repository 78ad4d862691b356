//! The staircase mechanism: the least error that pure differential privacy allows for a scalar.

use crate::additive::AdditiveRelease;
use crate::{Certificate, Epsilon, Errors, Guarantee, Mechanism, MechanismError, Notion, Releaser, Sensitivity};
use reticent_accounting::Event;
use reticent_noise::{Lattice, Noise, Sampler};
use reticent_numerics::{Bounds, Enclosure, Wide};

/// What the steps are placed for. With `b = e^-epsilon` and sensitivity 1 (errata, "Staircase optima"):
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum StaircaseAim {
    /// The least mean absolute error: `gamma = 1/(1 + e^(epsilon/2))`, which gives `E|X| = e^(epsilon/2)/(e^epsilon - 1)`.
    #[default]
    MeanAbsolute,
    /// The least mean square error: `gamma = [(b (1 + b)/2)^(1/3) - b]/(1 - b)`, which gives
    /// `E X^2 = [2^(-2/3) b^(2/3) (1 + b)^(2/3) + b]/(1 - b)^2`.
    MeanSquare,
    /// The least differential entropy: `gamma = b (epsilon - 1 + b)/(1 - b)^2`, which gives `1 + ln(2 epsilon b/(1 - b)^2)`.
    Entropy,
    /// The greatest probability of an error of at most this many units of the answer: for `m + phi` sensitivities, `gamma = phi`, and
    /// `P[|X| > m + phi] = b^(m+1)/(phi + b (1 - phi))`. For a whole number of sensitivities it is `b^m` whatever the steps, and they
    /// are placed for the mean absolute error.
    Usefulness(f64),
}

/// Adds staircase noise to a number.
///
/// # Distribution
/// Let `D` be the sensitivity, `b = e^-epsilon` and `a = (1 - b)/(2 (gamma + b (1 - gamma)))`. The density is `a b^k / D` from `k D` to
/// `(k + gamma) D` and `a b^(k+1) / D` from there to `(k + 1) D`, for `k = 0, 1, ...`, and symmetric.
///
/// # Guarantee
/// Pure epsilon-differential privacy for every `gamma` from 0 to 1, tight: so the rounding of the best `gamma` to an `f64` costs no privacy, and no
/// utility that could be noticed. With the right `gamma` no other noise does better for the loss in question. It is a mechanism for one number
/// that moves by at most `D`: over any shift up to `D` the loss is already `epsilon`, so that coordinates that move together each cost all of it.
///
/// # Profile
/// Over the shift `D` the loss is `epsilon` on the half line beyond the answer, where every step is one lower, and where a middle step meets a
/// side step, which is `min(gamma, 1 - gamma) D` wide; elsewhere it is 0 or `-epsilon`. Hence
/// `delta(epsilon') = (1/2 + a min(gamma, 1 - gamma)) (1 - e^(epsilon' - epsilon))` below `epsilon`. A smaller shift violates less: both sets shrink.
///
/// # Numerics
/// The answer is rounded to a lattice first, and `D` is the sensitivity of the rounded answer ([`Sensitivity::rounded_to`]), which is also
/// [`Mechanism::scale`]. So the loss is `epsilon` exactly, and a sensitivity that is a multiple of the spacing stays as it is.
///
/// # Example
/// ```
/// use reticent_mechanisms::{Epsilon, Laplace, Mechanism, Neighbours, Sensitivity, Staircase, StaircaseAim};
/// let (count, epsilon) = (Sensitivity::scalar(1.0, Neighbours::AddRemove)?, Epsilon::new(4.0)?);
/// let staircase = Staircase::calibrate(&count, epsilon, StaircaseAim::Usefulness(0.1))?;
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
    /// If epsilon is not from 1e-9 to 700, if more than one coordinate of the answer can move, or if the aim is not a usefulness at a
    /// positive distance of at most `2^50` sensitivities.
    pub fn calibrate(sensitivity: &Sensitivity, epsilon: Epsilon, aim: StaircaseAim) -> Result<Self, MechanismError> {
        let epsilon = Epsilon::positive(epsilon.get())?.get();
        let gamma = best_gamma(aim, epsilon, one_distance(sensitivity)?)?;
        let method = match aim {
            StaircaseAim::MeanAbsolute => "l1",
            StaircaseAim::MeanSquare => "l2",
            StaircaseAim::Entropy => "entropy",
            StaircaseAim::Usefulness(_) => "usefulness",
        };
        Ok(Staircase { method, ..Self::with_gamma(sensitivity, Epsilon::new(epsilon)?, gamma)? })
    }

    /// Steps at `k + gamma` sensitivities.
    ///
    /// # Errors
    /// If epsilon is not from 1e-9 to 700, gamma not from 0 to 1, or if more than one coordinate of the answer can move.
    pub fn with_gamma(sensitivity: &Sensitivity, epsilon: Epsilon, gamma: f64) -> Result<Self, MechanismError> {
        let distance = one_distance(sensitivity)?;
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
    /// With `b^k >= 1/20 > b^(k+1)` and `r = 1/20 / b^k`: `P[|X| > k + u] / b^k` is `1 - 2a u` up to `u = gamma`, and `b + 2ab (1 - u)` beyond. Should
    /// rounding take the neighbouring `k`, then the line on which `t` lies goes on over the integer, and the answer stays right.
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

fn one_distance(sensitivity: &Sensitivity) -> Result<f64, MechanismError> {
    sensitivity.one_coordinate().ok_or_else(|| {
        MechanismError::Refused(
            "staircase noise protects one number: this answer has more coordinates that can move at once, or an unknown number of them".into(),
        )
    })
}

/// The lattice and the sensitivity of an answer rounded to it: `2^-40` to `2^-44` of the noise's size and of the sensitivity, whichever is less, chosen
/// so as not to raise the sensitivity if possible; but never below `2^-60` of the sensitivity.
fn lattice_for(sensitivity: &Sensitivity, distance: f64, magnitude: f64) -> Result<(Lattice, f64), MechanismError> {
    let noise = Lattice::for_scale((distance * magnitude).max(1e-150))?.exponent();
    let least = Lattice::for_scale(distance)?.exponent() - 20;
    let mut chosen = (Lattice::INTEGERS, f64::INFINITY);
    for finer in 0..=4 {
        let lattice = Lattice::of_spacing_power((noise - finer).max(least))?;
        let rounded = sensitivity.rounded_to(lattice)?;
        chosen = (lattice, one_distance(&rounded)?);
        if chosen.1 <= distance {
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
                return Err(MechanismError::Parameter { name: "usefulness", value: within, accepted });
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
    fn name(&self) -> &'static str {
        "staircase"
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
        Event::Staircase { epsilon: self.noise.epsilon(), gamma: self.gamma(), sensitivity: self.sensitivity }
    }

    /// `|X| = D (G + U)` with `P[G = k] = (1 - b) b^k` and `U` in `[0, 1)` of density proportional to 1 below `gamma` and to `b` above. So with
    /// `S = gamma + b (1 - gamma)`: `E G = b/(1 - b)`, `E G^2 = b (1 + b)/(1 - b)^2`, `E U = [gamma^2 + b (1 - gamma^2)]/(2S)`,
    /// `E U^2 = [gamma^3 + b (1 - gamma^3)]/(3S)`; and the entropy is `ln(2 D S/(1 - b)) + epsilon (E G + b (1 - gamma)/S)`.
    fn errors(&self) -> Option<Errors> {
        let ((b, one_less_b, period), gamma) = (self.constants(), Wide::from(self.gamma()));
        let unit = Wide::from(self.sensitivity);
        let moment = |power: Wide, order: f64| (power + b * (Wide::ONE - power)) / (Wide::from(order) * period);
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
        if !(sensitivities < 1e30) {
            // P[|X| > k] = b^k, and k epsilon >= 1e21 here.
            return Some(Bounds::new(1.0f64.next_down(), 1.0));
        }
        let beyond = self.noise.tail(&(Wide::from(t) / Wide::from(self.sensitivity))).times_power_of_two(1);
        Some((Wide::ONE - beyond).bounds().clamp(0.0, 1.0))
    }

    fn releaser(&self) -> Result<Box<dyn Releaser>, MechanismError> {
        Ok(Box::new(AdditiveRelease::new(Sampler::new(self.noise, self.sensitivity, self.lattice)?)))
    }
}
