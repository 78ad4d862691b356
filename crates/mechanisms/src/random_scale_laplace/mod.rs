//! Laplace noise whose scale is itself drawn at random (R2DP): pure privacy with other shapes of
//! noise than Laplace's.

mod decay;
mod epsilon;
mod errors;
mod integrals;
mod ladder;
mod necessary;
mod profile;

pub use epsilon::{
    MOST_COORDINATES, independent_epsilon, reused_epsilon, scalar_epsilon, shared_epsilon,
};
pub use necessary::{Boost, average_leakage, can_boost};

use crate::{
    Budget, Certificate, Distance, Epsilon, Errors, Guarantee, Mechanism, MechanismError,
    MechanismKind, Notion, Releaser, Sensitivity,
};
use profile::Profile;
use reticent_events::{Event, InverseScale as ChargedInverseScale};
use reticent_noise::random_scale::InverseScale;
use reticent_noise::randomness::{RandomBits, RandomnessError};
use reticent_noise::{Lattice, Noise, NoiseError, RandomScaleLaplace as MixtureNoise, Sampler};
use reticent_numerics::root::{Range, least_at_most};
use reticent_numerics::rounding::{add_up, mul_up};
use reticent_numerics::{Bounds, require};

/// Adds Laplace noise of scale `1/T` to each number, with a fresh and secret `T` for each.
///
/// # Distribution
/// `f(x) = E[T exp(-|x| T)] / 2`. The two stages are never carried out: noise is drawn from the
/// mixture itself, and no drawn scale exists that could leak or be used again.
///
/// # Guarantee
/// Pure differential privacy with `epsilon = ln(E[T] / E[T exp(-D T)])` for a scalar of sensitivity
/// `D` (Theorem 4.3), and with `k ln(E[T] / E[T exp(-D_1 T/k)])` for `k` coordinates of l1
/// sensitivity `D_1`, each with a scale of its own. Theorem 4.3 does not hold for one scale shared
/// by all coordinates, or used again for the next query (erratum R7); [`shared_epsilon`] and
/// [`reused_epsilon`] say what such a release costs, but none is offered here, because the sampler
/// draws single coordinates.
///
/// # Calibration
/// A family of distributions of `T` is given by an example, its shape; the mechanism divides it by
/// the least factor, the *scale*, at which the loss is proved to be within the budget. The family's
/// parameters are rounded after the division; noise, proof and event are all made from the rounded
/// ones.
///
/// # Lattice
/// The value is put on a public lattice first, which can move two neighbouring values apart by up
/// to a spacing more. The loss is certified for the sensitivity including that. The spacing is
/// between `2^-40` and `2^-60` of the noise, so that a sensitivity that is a multiple of it stays
/// what it is, and any other grows by less than one spacing. Where that takes the loss past the
/// budget, the scale is searched again.
///
/// # When to use it
/// Up to `epsilon = 1` no distribution of `T` beats plain Laplace noise in usefulness, l1 or l2
/// error (erratum R8: the paper says "effective for small epsilon"); beyond, a two-point `T` is the
/// best of all (erratum R3: the paper says that it "brings nothing"), and staircase noise is better
/// still.
///
/// # References
/// Mohammady, *Randomized privacy budget differential privacy*, 2018, Theorems 4.1 to 4.3 and
/// Section 4.3.
///
/// # Example
/// ```
/// use reticent_mechanisms::{
///     Certificate, Distance, Epsilon, Mechanism, MechanismError, RandomScaleLaplace,
/// };
/// use reticent_noise::random_scale::GammaScale;
/// use reticent_noise::randomness::SecureRandom;
///
/// // A gamma distribution of shape 1.35, stretched until epsilon = 4 is proved.
/// let shape = GammaScale::new(1.35, 1.0)?;
/// let mechanism =
///     RandomScaleLaplace::calibrate(shape, &Distance::new(1.0)?.into(), Epsilon::new(4.0)?)?;
/// let Certificate::Epsilon(loss) = mechanism.certificate() else { unreachable!("a pure one") };
/// assert!(loss.upper() <= 4.0 && loss.lower() > 3.999999);
/// // Laplace noise would be within a tenth of the sensitivity with probability 0.330.
/// assert!(mechanism.usefulness(0.1).is_some_and(|share| share.lower() > 0.393));
///
/// let mut random = SecureRandom::new().map_err(reticent_noise::NoiseError::from)?;
/// let released = mechanism.releaser()?.release(1234.5, &mut random);
/// let released = released.map_err(reticent_noise::NoiseError::from)?;
/// assert!(released.is_finite());
/// # Ok::<(), MechanismError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RandomScaleLaplace {
    guaranteed: Epsilon,
    /// By how much the given shape was stretched.
    scale: f64,
    coordinates: u32,
    noise: MixtureNoise,
    lattice: Lattice,
    /// The l1 sensitivity of the values on the lattice.
    sensitivity: Distance,
    certified: Bounds,
}

const NOISE: &str = "Laplace noise of random scale";

impl RandomScaleLaplace {
    /// The least stretch of `shape` at which a number, or a vector with a scale of its own for
    /// each coordinate, is proved to be released with pure differential privacy.
    ///
    /// # Errors
    /// If epsilon is zero or there is a delta, no stretch within the range of the family's
    /// parameters is proved, or it is not known how many coordinates move, at most
    /// [`MOST_COORDINATES`].
    pub fn calibrate(
        shape: impl Into<InverseScale>,
        sensitivity: &Sensitivity,
        budget: impl Into<Budget>,
    ) -> Result<Self, MechanismError> {
        let epsilon = Epsilon::new(budget.into().pure(MechanismKind::RandomScaleLaplace)?)?;
        let coordinates = sensitivity.moving_coordinates(NOISE)?;
        let l1_sensitivity = Distance::new(sensitivity.l1()?)?;
        let shape = shape.into();
        let least_scale = |sensitivity: Distance, guess: f64| {
            let loss = |scale: f64| match shape.divided(scale) {
                Ok(divided) => independent_epsilon(&divided, coordinates, sensitivity)
                    .unwrap_or(Bounds::WHOLE_LINE),
                Err(_) => Bounds::WHOLE_LINE,
            };
            least_at_most(loss, epsilon.get(), Range::between(1e-140, 1e140).bracket_from(guess))
                .map_err(|error| {
                    MechanismError::not_certified("random-scale Laplace noise", &error)
                })
        };
        epsilon::count("coordinates", coordinates)?;
        // Exact for small losses: epsilon ~ D E[T^2]/E[T].
        let moments = shape.tilted_moments(2, &Bounds::ZERO);
        let slope = 2.0 * moments[2].estimate() / moments[1].estimate();
        let scale = least_scale(l1_sensitivity, l1_sensitivity.get() * slope / epsilon.get())?;
        let first = Self::stretched(&shape, scale, epsilon, coordinates, l1_sensitivity)?;
        if first.keeps_guarantee() {
            return first.unless_far_below_budget();
        }
        // On its lattice the values move a little farther apart. The lattice for the larger scale
        // that this takes may be coarser again, by a factor of two.
        let scale = least_scale(first.sensitivity, scale)?;
        let second = Self::stretched(&shape, scale, epsilon, coordinates, l1_sensitivity)?;
        if second.keeps_guarantee() {
            return second.unless_far_below_budget();
        }
        let scale = least_scale(second.sensitivity, scale)?;
        let (lattice, sensitivity) = (second.lattice, second.sensitivity);
        Self::on_lattice(&shape.divided(scale)?, scale, epsilon, coordinates, lattice, sensitivity)?
            .unless_far_below_budget()
    }

    fn keeps_guarantee(&self) -> bool {
        self.certified.upper() <= self.guaranteed.get()
    }

    /// A loss below the budget by more than a lattice can account for means that the search met the
    /// end of the family's range, where the result is safe but not the best.
    fn unless_far_below_budget(self) -> Result<Self, MechanismError> {
        if self.keeps_guarantee() && self.certified.lower() >= 0.999 * self.guaranteed.get() {
            return Ok(self);
        }
        let (loss, guaranteed) = (self.certified.upper(), self.guaranteed.get());
        Err(MechanismError::NotCertified {
            what: "random-scale Laplace noise",
            reason: format!(
                "the nearest loss to {guaranteed:e} that the family's parameters and a lattice \
                 allow is {loss:e}"
            ),
        })
    }

    /// The mechanism with a given distribution of the inverse scale, which guarantees the loss that
    /// it is proved to have.
    ///
    /// # Errors
    /// If that loss is more than 700, or it is not known how many coordinates move.
    pub fn with_inverse_scale(
        inverse_scale: impl Into<InverseScale>,
        sensitivity: &Sensitivity,
    ) -> Result<Self, MechanismError> {
        let coordinates = sensitivity.moving_coordinates(NOISE)?;
        let l1 = Distance::new(sensitivity.l1()?)?;
        let one = Epsilon::positive(1.0)?;
        let mut mechanism = Self::stretched(&inverse_scale.into(), 1.0, one, coordinates, l1)?;
        mechanism.guaranteed = Epsilon::positive(mechanism.certified.upper())?;
        Ok(mechanism)
    }

    fn stretched(
        shape: &InverseScale,
        scale: f64,
        guaranteed: Epsilon,
        coordinates: u32,
        sensitivity: Distance,
    ) -> Result<Self, MechanismError> {
        let inverse_scale = shape.divided(scale)?;
        let (lattice, on_lattice) = lattice_for(&inverse_scale, coordinates, sensitivity.get())?;
        Self::on_lattice(
            &inverse_scale,
            scale,
            guaranteed,
            coordinates,
            lattice,
            Distance::new(on_lattice)?,
        )
    }

    fn on_lattice(
        inverse_scale: &InverseScale,
        scale: f64,
        guaranteed: Epsilon,
        coordinates: u32,
        lattice: Lattice,
        sensitivity: Distance,
    ) -> Result<Self, MechanismError> {
        let certified = independent_epsilon(inverse_scale, coordinates, sensitivity)?;
        let noise = MixtureNoise::new(inverse_scale.clone());
        Ok(RandomScaleLaplace {
            guaranteed,
            scale,
            coordinates,
            noise,
            lattice,
            sensitivity,
            certified,
        })
    }

    /// The distribution of the inverse scale that noise is drawn with.
    pub fn inverse_scale(&self) -> &InverseScale {
        self.noise.inverse_scale()
    }

    /// `E|X|` of each number.
    pub fn mean_absolute_error(&self) -> Bounds {
        errors::mean_inverse_power(self.inverse_scale(), 1)
    }

    /// `E[X^2]` of each number.
    pub fn mean_square_error(&self) -> Bounds {
        errors::mean_square(self.inverse_scale())
    }

    /// The differential entropy of each number's noise, in nats.
    pub fn entropy(&self) -> Bounds {
        errors::entropy(self.inverse_scale())
    }

    /// How many numbers are released together.
    pub fn coordinates(&self) -> u32 {
        self.coordinates
    }

    /// The l1 sensitivity that the loss is certified for, which includes what the lattice adds.
    pub fn sensitivity(&self) -> f64 {
        self.sensitivity.get()
    }
}

impl Mechanism for RandomScaleLaplace {
    fn kind(&self) -> MechanismKind {
        MechanismKind::RandomScaleLaplace
    }

    fn method(&self) -> &'static str {
        match self.inverse_scale() {
            InverseScale::TwoPoint(_) => "two-point",
            InverseScale::Gamma(_) => "gamma",
            InverseScale::Uniform(_) => "uniform",
            InverseScale::TruncatedGaussian(_) => "truncated-gaussian",
            InverseScale::Combined(_) => "combined",
        }
    }

    fn scale(&self) -> f64 {
        self.scale
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        parameters_of(self.inverse_scale())
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee { notion: Notion::Pure, epsilon: self.guaranteed.get(), delta: 0.0 }
    }

    fn certificate(&self) -> Certificate {
        Certificate::Epsilon(self.certified)
    }

    /// Exact for a scalar. For a vector the upper bound is that of any pure mechanism,
    /// `(e^e0 - e^epsilon)/(e^e0 + 1)` with the certified loss `e0`, and the lower bound that of a
    /// change in one coordinate alone.
    fn delta(&self, epsilon: f64) -> Result<Bounds, MechanismError> {
        let accepted = "a finite number that is not negative";
        require(epsilon >= 0.0 && epsilon.is_finite(), "epsilon", epsilon, accepted)?;
        let (inverse_scale, sensitivity) = (self.inverse_scale(), self.sensitivity.get());
        if self.coordinates == 1 {
            return Ok(
                Profile { inverse_scale, sensitivity, pure_epsilon: self.certified }.delta(epsilon)
            );
        }
        let pure_epsilon = scalar_epsilon(inverse_scale, self.sensitivity);
        let one = Profile { inverse_scale, sensitivity, pure_epsilon }.delta(epsilon);
        Ok(Bounds::new(
            one.lower(),
            crate::exponential::delta_of_pure(self.certified, epsilon).upper(),
        ))
    }

    fn event(&self) -> Event {
        let (inverse_scale, sensitivity) = (charged(self.inverse_scale()), self.sensitivity.get());
        if self.coordinates == 1 {
            Event::RandomScaleLaplace { inverse_scale, sensitivity }
        } else {
            Event::RandomScaleLaplaceVector {
                inverse_scale,
                coordinates: u64::from(self.coordinates),
                sensitivity,
            }
        }
    }

    fn errors(&self) -> Option<Errors> {
        Some(errors::errors(self.inverse_scale()))
    }

    fn usefulness(&self, t: f64) -> Option<Bounds> {
        (!t.is_nan()).then(|| errors::usefulness(self.inverse_scale(), t))
    }

    fn releaser(&self) -> Result<Box<dyn Releaser>, MechanismError> {
        Ok(Box::new(MixtureReleaser {
            sampler: Sampler::new(self.noise.clone(), 1.0, self.lattice)?,
        }))
    }

    /// For as many coordinates as the mechanism was made for, or fewer, which cost less.
    fn vector_releaser(&self, coordinates: u32) -> Result<Box<dyn Releaser>, MechanismError> {
        epsilon::count("coordinates", coordinates)?;
        if coordinates > self.coordinates {
            let made_for = self.coordinates;
            return Err(MechanismError::Refused(format!(
                "this random-scale Laplace mechanism was calibrated for {made_for} coordinates, \
                 not for {coordinates}: calibrate it for the vector"
            )));
        }
        self.releaser()
    }
}

/// A lattice for the noise, and the l1 sensitivity of values that have been put on it.
///
/// The coarsest of `2^-40` to `2^-60` of the noise's size that moves the sensitivity by less than
/// `1e-13` of itself, or the finest. Where the sensitivity is more than `2^62` steps of that, for
/// noise that has an extremely high peak, one that makes it `2^60` steps.
fn lattice_for(
    inverse_scale: &InverseScale,
    coordinates: u32,
    sensitivity: f64,
) -> Result<(Lattice, f64), NoiseError> {
    let size = MixtureNoise::new(inverse_scale.clone()).magnitude();
    let mut finest = None;
    for finer in 0..=20 {
        let lattice = Lattice::for_scale(size * 0.5f64.powi(finer))?;
        let Ok(moved) = l1_sensitivity_on(&lattice, coordinates, sensitivity) else { break };
        finest = Some((lattice, moved));
        if moved <= sensitivity * (1.0 + 1e-13) {
            break;
        }
    }
    if let Some(found) = finest {
        return Ok(found);
    }
    let lattice = Lattice::for_scale(sensitivity * 2f64.powi(-20))?;
    Ok((lattice, l1_sensitivity_on(&lattice, coordinates, sensitivity)?))
}

/// Coordinates that move by `d_i` move by at most `ceil(d_i / s)` steps on a lattice of spacing
/// `s`: an integer below `D_1/s + k`, and so at most `ceil(D_1/s) + k - 1`.
fn l1_sensitivity_on(
    lattice: &Lattice,
    coordinates: u32,
    sensitivity: f64,
) -> Result<f64, NoiseError> {
    Ok(add_up(
        lattice.sensitivity(sensitivity)?,
        mul_up(f64::from(coordinates - 1), lattice.spacing()),
    ))
}

/// The parameters by name; those of a sum are its weights with the parameters of each part.
fn parameters_of(inverse_scale: &InverseScale) -> Vec<(&'static str, f64)> {
    match inverse_scale {
        InverseScale::TwoPoint(family) => vec![
            ("first", family.first()),
            ("second", family.second()),
            ("weight", family.weight()),
        ],
        InverseScale::Gamma(family) => {
            vec![("shape", family.shape()), ("inverse-scale", family.scale())]
        }
        InverseScale::Uniform(family) => vec![("lower", family.lower()), ("upper", family.upper())],
        InverseScale::TruncatedGaussian(family) => vec![
            ("mu", family.mu()),
            ("sigma", family.sigma()),
            ("lower", family.lower()),
            ("upper", family.upper()),
        ],
        InverseScale::Combined(family) => family
            .parts()
            .iter()
            .flat_map(|(weight, part)| {
                std::iter::once(("weight", *weight)).chain(parameters_of(part))
            })
            .collect(),
    }
}

/// The distribution as plain data.
fn charged(inverse_scale: &InverseScale) -> ChargedInverseScale {
    match inverse_scale {
        InverseScale::TwoPoint(family) => {
            let (first, second, weight) = (family.first(), family.second(), family.weight());
            ChargedInverseScale::TwoPoint { first, second, weight }
        }
        InverseScale::Gamma(family) => {
            ChargedInverseScale::Gamma { shape: family.shape(), theta: family.scale() }
        }
        InverseScale::Uniform(family) => {
            ChargedInverseScale::Uniform { lower: family.lower(), upper: family.upper() }
        }
        InverseScale::TruncatedGaussian(family) => ChargedInverseScale::TruncatedGaussian {
            mu: family.mu(),
            sigma: family.sigma(),
            lower: family.lower(),
            upper: family.upper(),
        },
        InverseScale::Combined(family) => ChargedInverseScale::Combined {
            parts: family.parts().iter().map(|(weight, part)| (*weight, charged(part))).collect(),
        },
    }
}

/// Releases numbers, one at a time, each with a draw of its own.
#[derive(Debug)]
struct MixtureReleaser {
    sampler: Sampler<MixtureNoise>,
}

impl Releaser for MixtureReleaser {
    /// A NaN is released as zero would be: what comes out tells nothing about it.
    fn release(&self, value: f64, random: &mut dyn RandomBits) -> Result<f64, RandomnessError> {
        let lattice = self.sampler.lattice();
        let noise = self.sampler.draw(random)?;
        Ok(lattice.value(lattice.add(lattice.nearest(value).unwrap_or(0), noise)))
    }

    fn spacing(&self) -> f64 {
        self.sampler.lattice().spacing()
    }
}
