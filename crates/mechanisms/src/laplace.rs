//! The Laplace mechanism: pure differential privacy for numbers and vectors.

use crate::additive::AdditiveRelease;
use crate::{Certificate, Epsilon, Errors, Guarantee, Mechanism, MechanismError, Notion, Releaser, Scale, Sensitivity};
use reticent_accounting::Event;
use reticent_noise::{Lattice, Sampler};
use reticent_numerics::rounding::{div_down, div_up, mul_down};
use reticent_numerics::{Bounds, Enclosure, Wide};

/// Adds Laplace noise of scale `b` to each coordinate.
///
/// # Distribution
/// `f(x) = exp(-|x|/b) / (2b)`.
///
/// # Guarantee
/// Pure epsilon-differential privacy with `epsilon_0 = D_1 / b` for answers of l1 sensitivity `D_1`, and this is tight.
///
/// # Profile
/// `delta(epsilon) = 1 - exp((epsilon - epsilon_0)/2)` below `epsilon_0`, and zero from there on. For a scalar: the loss of an output is at least
/// `epsilon` left of `t = (D - b epsilon)/2`, and `P[X <= t] - e^epsilon P[X <= t - D]` is the expression.
///
/// A vector whose l1 norm moves by `D_1` loses no more than a scalar that moves by `D_1`, which is one of those vectors. To see it, let
/// `m_a(u) = 1 - delta(u) = E min(1, e^(u - L)) = min(1, e^((u - a)/2), e^u)` for a scalar with `D/b = a` and the loss `L`, at any sign of `u`. Two
/// coordinates with `a_1 <= a_2`, `A = a_1 + a_2`, have `1 - delta(u) = E m_(a_2)(u - L_1)`, and `Z = (a_1 - L_1)/2` is an exponential variable with a
/// fair chance of 0 instead, cut at `a_1`. With `c = (A - u)/2` and `0 <= u <= A`,
///
/// `e^c E m_(a_2)(u - L_1) = E min(e^c, e^Z, e^(2Z + (a_2 - a_1 + u)/2)) = E min(e^c, e^Z) = 1 + min(c, a_1)/2 >= 1`,
///
/// the third entry being above the second as `a_1 <= a_2`. So the pair has the smaller `delta`, and with it, coordinate by coordinate, every vector.
///
/// # Numerics
/// Answers are rounded to a lattice of spacing `h <= 2^-39 b` before noise is added. Sensitivity here is that of the rounded answer
/// ([`Sensitivity::rounded_to`]), and `b = D_1 / epsilon` is rounded up until `D_1 / b <= epsilon` is proved. A `D_1` that is a multiple of `h` (every
/// integer, for `epsilon > 1e-12`) costs nothing; any other makes `b` larger by a relative `2^-43 / epsilon` or less for a
/// scalar. [`Mechanism::delta`] encloses the profile with and without that excess.
///
/// # Example
/// ```
/// use reticent_mechanisms::{Certificate, Epsilon, Laplace, Mechanism, Neighbours, Sensitivity};
/// let counts = Sensitivity::histogram(Neighbours::Replace);
/// let mechanism = Laplace::calibrate(&counts, Epsilon::new(0.5)?)?;
/// assert_eq!(mechanism.scale(), 4.0);
/// assert!(matches!(mechanism.certificate(), Certificate::Epsilon(epsilon) if epsilon.upper() <= 0.5));
/// # Ok::<(), reticent_mechanisms::MechanismError>(())
/// ```
///
/// # References
/// Dwork, McSherry, Nissim, Smith, *Calibrating noise to sensitivity in private data analysis*, 2006.
#[derive(Clone, Debug, PartialEq)]
pub struct Laplace {
    /// `D_1` of the answer.
    l1_sensitivity: f64,
    /// `D_1` of the answer rounded to the lattice.
    rounded_sensitivity: f64,
    scale: f64,
    lattice: Lattice,
    epsilon: f64,
}

impl Laplace {
    /// The least noise that keeps `epsilon`.
    ///
    /// # Errors
    /// If epsilon is zero, the l1 sensitivity is not known, or the scale leaves the accepted range.
    pub fn calibrate(sensitivity: &Sensitivity, epsilon: Epsilon) -> Result<Self, MechanismError> {
        let epsilon = Epsilon::positive(epsilon.get())?.get();
        let ideal = Scale::new(div_up(sensitivity.l1()?, epsilon))?.get();
        let (lattice, rounded_sensitivity) = lattice_for(sensitivity, ideal)?;
        let mut scale = Scale::new(div_up(rounded_sensitivity, epsilon))?.get();
        while div_up(rounded_sensitivity, scale) > epsilon {
            scale = scale.next_up();
        }
        Ok(Laplace { l1_sensitivity: sensitivity.l1()?, rounded_sensitivity, scale, lattice, epsilon })
    }

    /// Noise of a given scale.
    ///
    /// # Errors
    /// If the l1 sensitivity is not known, or the loss is above 700.
    pub fn with_scale(sensitivity: &Sensitivity, scale: Scale) -> Result<Self, MechanismError> {
        let scale = scale.get();
        let (lattice, rounded_sensitivity) = lattice_for(sensitivity, scale)?;
        let epsilon = Epsilon::positive(div_up(rounded_sensitivity, scale))?.get();
        Ok(Laplace { l1_sensitivity: sensitivity.l1()?, rounded_sensitivity, scale, lattice, epsilon })
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

/// The lattice for noise of a given scale and the l1 sensitivity of answers rounded to it: the coarsest lattice from `2^-40` to `2^-44` times the scale that
/// does not raise the sensitivity, or else the finest.
fn lattice_for(sensitivity: &Sensitivity, scale: f64) -> Result<(Lattice, f64), MechanismError> {
    let coarsest = Lattice::for_scale(scale)?;
    let l1 = sensitivity.l1()?;
    let mut chosen = (coarsest, f64::INFINITY);
    for finer in 0..=4 {
        let lattice = Lattice::of_spacing_power(coarsest.exponent() - finer)?;
        chosen = (lattice, sensitivity.rounded_to(lattice)?.l1()?);
        if chosen.1 <= l1 {
            break;
        }
    }
    Ok(chosen)
}

impl Mechanism for Laplace {
    fn name(&self) -> &'static str {
        "laplace"
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
        let lower = div_down(self.l1_sensitivity, self.scale);
        Certificate::Epsilon(Bounds::new(lower, div_up(self.rounded_sensitivity, self.scale)))
    }

    fn delta(&self, epsilon: f64) -> Result<Bounds, MechanismError> {
        let epsilon = Epsilon::new(epsilon)?.get();
        Ok(self.delta_at(self.l1_sensitivity, epsilon).hull(self.delta_at(self.rounded_sensitivity, epsilon)))
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
