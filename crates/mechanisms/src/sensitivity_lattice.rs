//! Releases on a lattice that the sensitivity is a multiple of.

use crate::MechanismError;
use crate::mechanism::Releaser;
use reticent_noise::randomness::{RandomBits, RandomnessError};
use reticent_noise::{LARGEST_VALUE, Lattice, Noise, Sampler};
use reticent_numerics::rounding::{add_up, div_up, mul_up, sqrt_up};

/// Adds noise of a family that loses less the larger its scale is, on the multiples of `D 2^-k`,
/// where `D` is the sensitivity.
///
/// # Guarantee
/// A value `x` becomes `floor(2^k x/D + 1/2)` steps, computed exactly. That map is monotone and
/// commutes with adding `D`, so two values that differ by at most `D` become integers that differ
/// by at most `2^k`: in units of `D`, the sensitivity is still 1, for every `D`, dyadic or not.
/// Nothing is lost to rounding, and the certificate for `D` itself covers the release (of the
/// approximate guarantee, where a probabilistic one was calibrated: see
/// [`crate::Mechanism::released_guarantee`]).
///
/// The noise is the ideal real draw in units of `D`, rounded to the same lattice; as the value is a
/// lattice point already, the sum is the rounded ideal release, which is post-processing. Its scale
/// is `scale/D`, rounded up: at least the certified noise. The last step, from steps to an `f64`,
/// is post-processing too.
///
/// # Vectors
/// When the `d` coordinates of a vector are rounded one by one, each moves by at most a step more
/// than it did, and the l2 sensitivity grows from `D` to at most `D (1 + sqrt(d) 2^-k)`.
/// [`SensitivityLattice::for_coordinates`] scales the noise up by that factor, rounded up.
#[derive(Clone, Debug)]
pub(crate) struct SensitivityLattice<N> {
    sensitivity: f64,
    sampler: Sampler<N>,
}

/// How far below the noise the lattice lies, in bits.
const BITS_BELOW_NOISE: i32 = 40;

impl<N: Noise> SensitivityLattice<N> {
    /// Noise `scale X`, where `X` follows `noise`, for scalars of sensitivity `sensitivity`.
    ///
    /// # Errors
    /// If the noise is more than `2^43` times the sensitivity, so that no lattice that the sampler
    /// can use is finer than that, or too small to be drawn.
    pub(crate) fn new(noise: N, scale: f64, sensitivity: f64) -> Result<Self, MechanismError> {
        SensitivityLattice::with_inflation(noise, scale, sensitivity, |_| 1.0)
    }

    /// The same for each of the coordinates of a vector whose l2 sensitivity is `sensitivity`.
    ///
    /// # Errors
    /// As for [`SensitivityLattice::new`].
    pub(crate) fn for_coordinates(
        noise: N,
        scale: f64,
        sensitivity: f64,
        coordinates: u32,
    ) -> Result<Self, MechanismError> {
        if coordinates == 1 {
            return SensitivityLattice::new(noise, scale, sensitivity);
        }
        let root = sqrt_up(f64::from(coordinates));
        SensitivityLattice::with_inflation(noise, scale, sensitivity, |spacing| {
            add_up(1.0, mul_up(root, spacing))
        })
    }

    fn with_inflation(
        noise: N,
        scale: f64,
        sensitivity: f64,
        inflation: impl Fn(f64) -> f64,
    ) -> Result<Self, MechanismError> {
        let ratio = div_up(scale, sensitivity);
        let magnitude = ratio * noise.magnitude();
        if !(1e-100..=2f64.powi(43)).contains(&magnitude) {
            return Err(MechanismError::Refused(format!(
                "noise of {magnitude:e} times the sensitivity cannot be released: it must be from \
                 1e-100 to 2^43 (about 8.8e12) times"
            )));
        }
        // At least one step to the sensitivity.
        let exponent = (magnitude.log2().ceil() as i32 - BITS_BELOW_NOISE).min(0);
        let lattice = Lattice::of_spacing_power(exponent)?;
        let ratio = mul_up(ratio, inflation(lattice.spacing()));
        Ok(SensitivityLattice { sensitivity, sampler: Sampler::new(noise, ratio, lattice)? })
    }
}

impl<N: Noise> Releaser for SensitivityLattice<N> {
    fn release(&self, value: f64, random: &mut dyn RandomBits) -> Result<f64, RandomnessError> {
        let lattice = self.sampler.lattice();
        // A NaN is released as if it were zero: an error would tell that it was there.
        let steps = steps_in_units(value, self.sensitivity, -lattice.exponent()).unwrap_or(0);
        let sum = lattice.add(steps, self.sampler.draw(random)?);
        Ok(lattice.value(sum) * self.sensitivity)
    }

    fn spacing(&self) -> f64 {
        self.sampler.lattice().spacing() * self.sensitivity
    }
}

/// `floor(2^bits value/unit + 1/2)`, exactly, clamped to [`LARGEST_VALUE`]; `None` for a NaN. The
/// unit is positive and normal.
fn steps_in_units(value: f64, unit: f64, bits: i32) -> Option<i128> {
    if value.is_nan() {
        return None;
    }
    let limit = LARGEST_VALUE as u128;
    let signed = |steps: u128| if value < 0.0 { -(steps as i128) } else { steps as i128 };
    if value == 0.0 || value.is_infinite() {
        return Some(if value == 0.0 { 0 } else { signed(limit) });
    }
    // |value|/unit = numerator/denominator * 2^exponent, both of 53 bits.
    let ((numerator, above), (denominator, below)) = (normalised(value.abs()), normalised(unit));
    let exponent = above - below + bits;
    if exponent < -1 {
        // Less than one half.
        return Some(0);
    }
    let denominator = if exponent == -1 { 2 * denominator } else { denominator };
    let (mut quotient, mut rest) = (numerator / denominator, numerator % denominator);
    let mut digits = exponent.max(0);
    while digits > 0 && quotient < limit {
        // A rest below 2^54 leaves room for 64 more bits.
        let chunk = digits.min(64);
        let wide = rest << chunk;
        if quotient >> (126 - chunk) != 0 {
            quotient = limit;
            break;
        }
        quotient = (quotient << chunk) + wide / denominator;
        rest = wide % denominator;
        digits -= chunk;
    }
    // Halves go up, which for a negative value is towards zero.
    let up = if value < 0.0 { 2 * rest > denominator } else { 2 * rest >= denominator };
    Some(signed((quotient + u128::from(up && digits == 0)).min(limit)))
}

/// The mantissa with its highest bit at point 52, and the exponent that goes with it.
fn normalised(x: f64) -> (u128, i32) {
    let exponent_bits = ((x.to_bits() >> 52) & 0x7ff) as i32;
    let fraction = x.to_bits() & ((1 << 52) - 1);
    if exponent_bits > 0 {
        return (u128::from(fraction | 1 << 52), exponent_bits - 1075);
    }
    let shift = fraction.leading_zeros() as i32 - 11;
    (u128::from(fraction << shift), -1074 - shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_noise::Gaussian;
    use reticent_noise::randomness::SeededRandom;

    #[test]
    fn steps_are_those_of_exact_division() {
        for (value, unit, bits, steps) in [
            (1.0, 1.0, 10, 1024),
            (0.3, 0.3, 40, 1 << 40),
            (-0.3, 0.3, 40, -(1 << 40)),
            (0.5, 1.0, 0, 1),
            (-0.5, 1.0, 0, 0),
            (0.49, 1.0, 0, 0),
            (-0.51, 1.0, 0, -1),
            (7.0, 3.0, 0, 2),
            (7.5, 3.0, 0, 3),
            (-7.5, 3.0, 0, -2),
            (1.0, 3.0, 60, 384_307_168_202_282_325),
            (5e-324, 5e-300, 0, 0),
            (1e300, 1.0, 3, LARGEST_VALUE),
            (f64::NEG_INFINITY, 1.0, 3, -LARGEST_VALUE),
        ] {
            assert_eq!(steps_in_units(value, unit, bits), Some(steps), "{value} {unit} {bits}");
        }
        assert_eq!(steps_in_units(f64::NAN, 1.0, 3), None);
    }

    #[test]
    fn values_one_sensitivity_apart_are_exactly_that_many_steps_apart() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / 2f64.powi(53)
        };
        for _ in 0..20_000 {
            let unit = 0.05 + next();
            let (a, b) = (200.0 * next() - 100.0, unit * next());
            // The distance of the two f64, rounded up, as the sensitivity.
            let (low, high) = (a, a + b);
            let unit = (high - low).abs().next_up().max(unit);
            for bits in [0, 3, 40] {
                let moved = steps_in_units(high, unit, bits)
                    .zip(steps_in_units(low, unit, bits))
                    .map(|(h, l)| h - l);
                assert!(
                    moved.is_some_and(|moved| (0..=1 << bits).contains(&moved)),
                    "{low} {high} {unit}"
                );
            }
        }
    }

    #[test]
    fn releases_lie_on_the_lattice_and_have_the_right_spread() {
        let releaser = SensitivityLattice::new(Gaussian, 2.0, 0.3).expect("within range");
        let mut random = SeededRandom::new(7);
        let count = 20_000;
        let sum: f64 = (0..count)
            .map(|_| releaser.release(5.0, &mut random).expect("seeded bits") - 5.0)
            .map(|error| error * error)
            .sum();
        // The mean square has the relative standard deviation sqrt(2/20000) = 0.01; six of them.
        assert!((sum / (4.0 * f64::from(count)) - 1.0).abs() < 0.06, "{sum}");
        assert!(releaser.spacing() < 2.0 * 2f64.powi(-39));
        assert!(SensitivityLattice::new(Gaussian, 1e14, 1.0).is_err());
        let vector =
            SensitivityLattice::for_coordinates(Gaussian, 2.0, 0.3, 100).expect("within range");
        let factor = vector.sampler.scale() / (2.0 / 0.3);
        assert!(factor > 1.0 && factor < 1.0 + 1e-9, "{factor}");
    }
}
