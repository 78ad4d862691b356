//! Where released numbers live: the multiples of a public power of two.

use crate::NoiseError;
use crate::sampler::{LARGEST_DRAW, integer_parts};
use crate::strips::exponent_above;
use reticent_numerics::rounding::{div_up, mul_up};
use reticent_numerics::{OutOfRange, require};

/// The largest value that is put on a lattice, in steps. With draws that saturate at `2^126` the
/// sum of the two, clamped to this range, is what it would be without saturation.
pub const LARGEST_VALUE: i128 = 1 << 125;

/// The multiples of `2^exponent`.
///
/// Released values are lattice points, and which lattice is a function of public parameters only.
/// The value is rounded to the lattice *before* noise is added, and the noise is a lattice point:
/// so the output is a function of the ideal real-valued release of the rounded value, and its bits
/// tell nothing more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lattice {
    exponent: i32,
}

impl Lattice {
    /// The integers.
    pub const INTEGERS: Lattice = Lattice { exponent: 0 };

    /// How far below the scale the default lattice lies, in bits: rounding then moves a value by
    /// less than a trillionth of the noise.
    const BITS_BELOW_SCALE: i32 = 40;

    /// The multiples of `2^exponent`.
    ///
    /// # Errors
    /// If the exponent is not from -1000 to 900.
    pub fn of_spacing_power(exponent: i32) -> Result<Self, NoiseError> {
        if (-1000..=900).contains(&exponent) {
            Ok(Lattice { exponent })
        } else {
            Err(OutOfRange::new(
                "lattice exponent",
                f64::from(exponent),
                "an integer from -1000 to 900",
            )
            .into())
        }
    }

    /// The lattice for noise of a given (public) scale: `2^-40` of it, rounded to a power of two.
    ///
    /// # Errors
    /// If the scale is not a number from 1e-150 to 1e150.
    pub fn for_scale(scale: f64) -> Result<Self, NoiseError> {
        crate::parameter::positive("scale", scale)?;
        Lattice::of_spacing_power(exponent_above(scale) - Self::BITS_BELOW_SCALE)
    }

    /// The exponent of the spacing.
    pub fn exponent(&self) -> i32 {
        self.exponent
    }

    /// The distance of neighbouring points.
    pub fn spacing(&self) -> f64 {
        2f64.powi(self.exponent)
    }

    pub(crate) fn require_fit(&self, magnitude: f64) -> Result<(), NoiseError> {
        let relative = self.exponent - exponent_above(magnitude);
        if (-60..=60).contains(&relative) {
            Ok(())
        } else {
            Err(OutOfRange::new(
                "lattice spacing",
                self.spacing(),
                "from 2^-60 to 2^60 times the size of the noise",
            )
            .into())
        }
    }

    /// The lattice point nearest to `value`, in steps, halves up, clamped to [`LARGEST_VALUE`].
    /// `None` for a NaN. Exact: no rounding but the one to the lattice.
    pub fn nearest(&self, value: f64) -> Option<i128> {
        if value.is_nan() {
            return None;
        }
        let limit = LARGEST_VALUE as u128;
        let steps = if value == 0.0 {
            0
        } else if value.is_infinite() {
            limit
        } else {
            let (mantissa, exponent) = integer_parts(value.abs());
            let shift = exponent - self.exponent;
            if shift >= 72 {
                limit
            } else if shift >= 0 {
                (u128::from(mantissa) << shift).min(limit)
            } else if shift < -64 {
                0
            } else {
                // floor(v + 1/2), which for a negative v is -ceil(|v| - 1/2).
                let half = (1u128 << (-shift - 1)) - u128::from(value < 0.0);
                (u128::from(mantissa) + half) >> -shift
            }
        };
        Some(if value < 0.0 { -(steps as i128) } else { steps as i128 })
    }

    /// The most by which the steps of two values can differ, if the values differ by at most
    /// `sensitivity`.
    ///
    /// Rounding with halves up is monotone and commutes with adding an integer, so `|a - b| <= D`
    /// implies `|round(a) - round(b)| <= ceil(D)`: a sensitivity that is a multiple of the spacing
    /// stays what it is. (With halves away from zero it would not hold: -1/2 and 1/2 would
    /// become -1 and 1.)
    ///
    /// # Errors
    /// If the sensitivity is negative, not finite, or more than `2^62` steps.
    pub fn sensitivity_in_steps(&self, sensitivity: f64) -> Result<u64, NoiseError> {
        let accepted = "a number from 0 to 2^62 lattice steps";
        let steps = div_up(sensitivity, self.spacing()).ceil();
        // Of a NaN the first comparison is false.
        let fits = sensitivity >= 0.0 && steps <= 2f64.powi(62);
        require(fits, "sensitivity", sensitivity, accepted)?;
        Ok(steps as u64)
    }

    /// [`Lattice::sensitivity_in_steps`] as a number, rounded up.
    ///
    /// # Errors
    /// As there.
    pub fn sensitivity(&self, sensitivity: f64) -> Result<f64, NoiseError> {
        let steps = self.sensitivity_in_steps(sensitivity)? as f64;
        // A u64 above 2^53 may convert downwards.
        let steps = if steps > 9_007_199_254_740_992.0 { steps.next_up() } else { steps };
        Ok(mul_up(steps, self.spacing()))
    }

    /// A value and its noise added, both in steps, clamped to [`LARGEST_VALUE`].
    pub fn add(&self, value: i128, noise: i128) -> i128 {
        debug_assert!(noise.abs() <= LARGEST_DRAW);
        let value = value.clamp(-LARGEST_VALUE, LARGEST_VALUE);
        (value + noise).clamp(-LARGEST_VALUE, LARGEST_VALUE)
    }

    /// The number that a lattice point stands for, rounded to the nearest `f64` (which is
    /// post-processing).
    pub fn value(&self, steps: i128) -> f64 {
        // Scaling by a power of two is exact but for overflow and the subnormals.
        let steps = steps as f64;
        if self.exponent < -900 {
            steps * 2f64.powi(self.exponent + 200) * 2f64.powi(-200)
        } else {
            steps * self.spacing()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_is_exact_at_halves_and_limits() {
        let quarters = Lattice::of_spacing_power(-2).expect("within range");
        for (value, steps) in [
            (0.0, 0),
            (-0.0, 0),
            (0.125, 1),
            (-0.125, 0),
            (-0.126, -1),
            (0.124, 0),
            (1.0, 4),
            (-3.3, -13),
            (5e-324, 0),
        ] {
            assert_eq!(quarters.nearest(value), Some(steps), "{value}");
        }
        assert_eq!(quarters.nearest(f64::NAN), None);
        assert_eq!(quarters.nearest(f64::INFINITY), Some(LARGEST_VALUE));
        assert_eq!(quarters.nearest(-1e300), Some(-LARGEST_VALUE));
        assert_eq!(Lattice::INTEGERS.nearest(9.007199254740993e15), Some(9_007_199_254_740_992));
    }

    #[test]
    fn rounding_never_moves_two_values_further_apart_than_the_steps_say() {
        let lattice = Lattice::of_spacing_power(-3).expect("within range");
        for sensitivity in [0.0, 0.01, 0.125, 0.126, 1.0, 1.01] {
            let steps = i128::from(lattice.sensitivity_in_steps(sensitivity).expect("valid"));
            for start in 0..4000 {
                // Every multiple of 1/1024 in the range, so also the halves on both sides of zero.
                let a = f64::from(start) / 1024.0 - 2.0;
                let (low, high) = (lattice.nearest(a), lattice.nearest(a + sensitivity));
                let moved = high.zip(low).map(|(high, low)| high - low).expect("not a NaN");
                assert!(
                    (0..=steps).contains(&moved),
                    "{a} + {sensitivity} moved {moved} of {steps}"
                );
            }
        }
        assert_eq!(lattice.sensitivity(1.0), Ok(1.0));
        assert_eq!(lattice.sensitivity(1.01), Ok(1.125));
    }

    #[test]
    fn bad_sensitivities_and_spacings_are_refused() {
        for bad in [f64::NAN, f64::INFINITY, -1.0, 1e300] {
            assert!(Lattice::INTEGERS.sensitivity_in_steps(bad).is_err(), "{bad}");
        }
        for bad in [f64::NAN, 0.0, -1.0, f64::INFINITY, 1e-320] {
            assert!(Lattice::for_scale(bad).is_err(), "{bad}");
        }
        assert!(Lattice::of_spacing_power(5000).is_err());
    }

    #[test]
    fn a_saturated_draw_gives_the_clamped_sum() {
        let lattice = Lattice::INTEGERS;
        assert_eq!(lattice.add(-LARGEST_VALUE, LARGEST_DRAW), LARGEST_VALUE);
        assert_eq!(lattice.add(LARGEST_VALUE, -LARGEST_DRAW), -LARGEST_VALUE);
        assert_eq!(lattice.add(5, -7), -2);
    }
}
