//! A uniform random real, known to as many bits as have been asked for.

use crate::randomness::{RandomBits, RandomnessError};
use dashu_int::UBig;
use reticent_numerics::{Big, Bounds};

/// A number uniform on `[0, 1)` whose binary digits are drawn when they are needed.
///
/// With `n` digits drawn it is known to lie in `[k, k + 1) / 2^n`. Whatever is decided about it is
/// decided for every number in that cell, so a decision is a fact about the real number that the
/// digits would go on to spell, and no rounding is involved.
#[derive(Clone, Debug)]
pub(crate) struct LazyUniform {
    digits: UBig,
    count: usize,
}

impl LazyUniform {
    /// The number whose first `count` digits are the bits of `digits`.
    pub(crate) fn from_prefix(digits: u64, count: usize) -> Self {
        debug_assert!(count <= 64 && (count == 64 || digits >> count == 0));
        LazyUniform { digits: UBig::from(digits), count }
    }

    /// A number of which nothing is known yet.
    pub(crate) fn unknown() -> Self {
        LazyUniform { digits: UBig::ZERO, count: 0 }
    }

    /// The digits drawn so far, as an integer.
    pub(crate) fn digits(&self) -> &UBig {
        &self.digits
    }

    /// How many digits have been drawn.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Draws digits until at least `count` are known.
    pub(crate) fn know(
        &mut self,
        count: usize,
        random: &mut (impl RandomBits + ?Sized),
    ) -> Result<(), RandomnessError> {
        while self.count < count {
            self.digits = (std::mem::take(&mut self.digits) << 64) + UBig::from(random.next_u64()?);
            self.count += 64;
        }
        Ok(())
    }

    /// Bounds on the number from the digits drawn so far.
    pub(crate) fn bounds(&self) -> Bounds {
        let lower = dyadic(&self.digits, -(self.count as i32), 64);
        let upper = dyadic(&(&self.digits + UBig::ONE), -(self.count as i32), 64);
        use reticent_numerics::Enclosure;
        lower.bounds().hull(upper.bounds())
    }

    /// The two ends of the cell, as exact points.
    pub(crate) fn ends(&self, precision: u32) -> (Big, Big) {
        let exponent = -(self.count as i32);
        (
            dyadic(&self.digits, exponent, precision),
            dyadic(&(&self.digits + UBig::ONE), exponent, precision),
        )
    }
}

/// The exact number `mantissa * 2^exponent`.
pub(crate) fn dyadic(mantissa: &UBig, exponent: i32, precision: u32) -> Big {
    Big::dyadic(mantissa.as_words(), exponent, precision)
}
