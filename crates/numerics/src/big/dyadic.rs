//! Exact dyadic rationals, `mantissa * 2^exponent`: the midpoints and the ends of balls.

use dashu_base::{BitTest, DivRem, Sign, Signed, SquareRootRem, UnsignedAbs};
use dashu_int::{IBig, UBig};
use std::cmp::Ordering;

/// `mantissa * 2^exponent`, where the mantissa is odd or the number is zero.
///
/// Sums and products are exact. They cost as much memory as their result has bits, so a sum of
/// numbers whose exponents lie far apart is the caller's to avoid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dyadic {
    mantissa: IBig,
    exponent: i64,
}

impl Dyadic {
    pub(super) fn new(mantissa: IBig, exponent: i64) -> Self {
        match mantissa.trailing_zeros() {
            None => Dyadic { mantissa: IBig::ZERO, exponent: 0 },
            Some(0) => Dyadic { mantissa, exponent },
            Some(zeros) => {
                Dyadic { mantissa: mantissa >> zeros, exponent: exponent + zeros as i64 }
            }
        }
    }

    pub(super) fn zero() -> Self {
        Dyadic { mantissa: IBig::ZERO, exponent: 0 }
    }

    pub(super) fn integer(value: i64) -> Self {
        Dyadic::new(value.into(), 0)
    }

    pub(super) fn power_of_two(exponent: i64) -> Self {
        Dyadic { mantissa: IBig::ONE, exponent }
    }

    /// A finite `f64`, exactly.
    pub(super) fn from_f64(value: f64) -> Self {
        let bits = value.to_bits();
        let (field, fraction) = ((bits >> 52 & 0x7ff) as i64, bits & ((1 << 52) - 1));
        let mantissa = if field == 0 { fraction } else { fraction | 1 << 52 };
        let sign = if value < 0.0 { Sign::Negative } else { Sign::Positive };
        Dyadic::new(IBig::from_parts(sign, mantissa.into()), field.max(1) - 1075)
    }

    /// The unsigned integer with these limbs, the least significant first, times `2^exponent`.
    pub(super) fn from_limbs(limbs: &[u64], exponent: i64) -> Self {
        let bytes: Vec<u8> = limbs.iter().flat_map(|limb| limb.to_le_bytes()).collect();
        Dyadic::new(UBig::from_le_bytes(&bytes).into(), exponent)
    }

    pub(super) fn mantissa(&self) -> &IBig {
        &self.mantissa
    }

    pub(super) fn exponent(&self) -> i64 {
        self.exponent
    }

    pub(super) fn is_zero(&self) -> bool {
        self.mantissa.is_zero()
    }

    pub(super) fn is_negative(&self) -> bool {
        self.mantissa.is_negative()
    }

    /// How many bits the mantissa has.
    pub(super) fn length(&self) -> i64 {
        self.mantissa.bit_len() as i64
    }

    /// `t` with `2^(t-1) <= |self| < 2^t`, for a number other than zero.
    pub(super) fn top(&self) -> i64 {
        self.exponent + self.length()
    }

    /// The up to 63 leading bits of `|self|` as an integer, the exponent that goes with them, and
    /// whether nothing was cut off.
    pub(super) fn leading_bits(&self) -> (u64, i64, bool) {
        let excess = self.length().saturating_sub(63).max(0);
        let leading = (&self.mantissa).unsigned_abs() >> excess as usize;
        // Never cut: at most 63 bits are left.
        (u64::try_from(&leading).unwrap_or(u64::MAX), self.exponent + excess, excess == 0)
    }

    pub(super) fn negated(&self) -> Self {
        Dyadic { mantissa: -&self.mantissa, exponent: self.exponent }
    }

    pub(super) fn times_power_of_two(&self, exponent: i64) -> Self {
        if self.is_zero() {
            return Dyadic::zero();
        }
        Dyadic { mantissa: self.mantissa.clone(), exponent: self.exponent + exponent }
    }

    pub(super) fn times(&self, other: &Dyadic) -> Self {
        Dyadic::new(&self.mantissa * &other.mantissa, self.exponent + other.exponent)
    }

    pub(super) fn plus(&self, other: &Dyadic) -> Self {
        if self.is_zero() {
            return other.clone();
        }
        if other.is_zero() {
            return self.clone();
        }
        let (high, low) =
            if self.exponent >= other.exponent { (self, other) } else { (other, self) };
        let aligned = &high.mantissa << (high.exponent - low.exponent) as usize;
        Dyadic::new(aligned + &low.mantissa, low.exponent)
    }

    pub(super) fn minus(&self, other: &Dyadic) -> Self {
        self.plus(&other.negated())
    }

    /// The number with all but its leading `bits` cut off, and whether it is still the same: what
    /// is lost is below a relative `2^(1-bits)`.
    pub(super) fn truncated(self, bits: i64) -> (Self, bool) {
        let excess = self.length() - bits;
        if excess <= 0 {
            return (self, true);
        }
        (Dyadic::new(self.mantissa >> excess as usize, self.exponent + excess), false)
    }

    /// `self / divisor` to at least `bits` bits, and whether it is exact; the divisor is not zero.
    pub(super) fn over(&self, divisor: &Dyadic, bits: i64) -> (Self, bool) {
        let shift = (bits + divisor.length() - self.length()).max(0);
        let (quotient, remainder) = (&self.mantissa << shift as usize).div_rem(&divisor.mantissa);
        (Dyadic::new(quotient, self.exponent - divisor.exponent - shift), remainder.is_zero())
    }

    /// The square root of a non-negative number to at least `bits` bits, and whether it is exact.
    pub(super) fn square_root(&self, bits: i64) -> (Self, bool) {
        // 2 bits under the root for each bit of it, and an even exponent.
        let shift = (2 * bits - self.length()).max(0);
        let shift = shift + ((self.exponent - shift) & 1);
        let (root, remainder) = ((&self.mantissa).unsigned_abs() << shift as usize).sqrt_rem();
        (Dyadic::new(root.into(), (self.exponent - shift) / 2), remainder.is_zero())
    }

    /// The exact order, at a cost that does not grow with the exponents.
    pub(super) fn compare(&self, other: &Dyadic) -> Ordering {
        let sign = |x: &Dyadic| {
            if x.is_zero() {
                0
            } else if x.is_negative() {
                -1
            } else {
                1
            }
        };
        let signs = sign(self).cmp(&sign(other));
        if signs != Ordering::Equal || self.is_zero() {
            return signs;
        }
        // Same sign: the higher leading bit decides, else the mantissas with their leading bits
        // aligned, which shifts by no more than their lengths differ.
        let tops = self.top().cmp(&other.top());
        if tops != Ordering::Equal {
            return if self.is_negative() { tops.reverse() } else { tops };
        }
        let shift = self.exponent - other.exponent;
        if shift >= 0 {
            (&self.mantissa << shift as usize).cmp(&other.mantissa)
        } else {
            self.mantissa.cmp(&(&other.mantissa << shift.unsigned_abs() as usize))
        }
    }

    /// The largest `f64` that is not above, where `-inf` stands below every finite one.
    pub(super) fn f64_below(&self) -> f64 {
        if self.is_negative() {
            -self.negated().positive_to_f64(true)
        } else {
            self.positive_to_f64(false)
        }
    }

    /// The least `f64` that is not below.
    pub(super) fn f64_above(&self) -> f64 {
        if self.is_negative() {
            -self.negated().positive_to_f64(false)
        } else {
            self.positive_to_f64(true)
        }
    }

    fn positive_to_f64(&self, up: bool) -> f64 {
        if self.is_zero() {
            return 0.0;
        }
        let top = self.top();
        if top > 1024 {
            return if up { f64::INFINITY } else { f64::MAX };
        }
        // The weight of the last place of an f64 of this size, and the integer multiple of it.
        let last_place = (top - 53).max(-1074);
        let excess = last_place - self.exponent;
        let (multiple, exact) = if top <= last_place {
            (0, false)
        } else if excess <= 0 {
            (u64::try_from(&self.mantissa << excess.unsigned_abs() as usize).unwrap_or(0), true)
        } else {
            (u64::try_from(&self.mantissa >> excess as usize).unwrap_or(0), false)
        };
        let multiple = multiple + u64::from(up && !exact);
        // The exponent field is one less than that of a normal number with this last place, because
        // the leading bit of the multiple adds one to it; a carry out of the mantissa, up to
        // infinity, lands where it should.
        f64::from_bits((((last_place + 1074) as u64) << 52) + multiple)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_f64_comes_back_as_itself() {
        for x in [0.0, 5e-324, 2.5e-308, f64::MIN_POSITIVE, 0.1, 1.0, 3.0, 1e16, f64::MAX] {
            for x in [x, -x] {
                let exact = Dyadic::from_f64(x);
                assert!(exact.f64_below() == x && exact.f64_above() == x, "{x:e}");
            }
        }
    }

    #[test]
    fn what_lies_between_two_f64_is_moved_to_either() {
        let sliver = Dyadic::power_of_two(-3000);
        for x in [
            5e-324,
            2.5e-308,
            f64::MIN_POSITIVE,
            0.1,
            1.0,
            4503599627370496.0,
            f64::MAX,
            -1.0,
            -5e-324,
            0.0,
            -f64::MAX,
        ] {
            let above = Dyadic::from_f64(x).plus(&sliver);
            assert_eq!((above.f64_below(), above.f64_above()), (x, x.next_up()), "{x:e}");
            let below = Dyadic::from_f64(x).minus(&sliver);
            assert_eq!((below.f64_below(), below.f64_above()), (x.next_down(), x), "{x:e}");
        }
        let huge = Dyadic::power_of_two(1024);
        assert_eq!((huge.f64_below(), huge.f64_above()), (f64::MAX, f64::INFINITY));
    }

    #[test]
    fn quotients_and_roots_know_whether_they_are_exact() {
        let (quotient, exact) = Dyadic::integer(-21).over(&Dyadic::from_f64(0.75), 60);
        assert!(exact && quotient == Dyadic::integer(-28));
        assert!(!Dyadic::integer(1).over(&Dyadic::integer(3), 60).1);
        for exponent in [-7, -6, 0, 5, 8] {
            let root = Dyadic::new(15.into(), exponent);
            assert_eq!(root.times(&root).square_root(60), (root, true));
        }
        assert!(!Dyadic::integer(2).square_root(60).1);
    }

    #[test]
    fn order_does_not_depend_on_the_representation() {
        let ascending =
            [-1e300, -2.0, -1.5, -1e-300, 0.0, 1e-310, 1.0, 1.0 + f64::EPSILON, 1.5, 2.0, 1e300];
        for (i, a) in ascending.iter().enumerate() {
            for (j, b) in ascending.iter().enumerate() {
                assert_eq!(Dyadic::from_f64(*a).compare(&Dyadic::from_f64(*b)), i.cmp(&j));
            }
        }
        let far = Dyadic::power_of_two(1 << 40);
        assert_eq!(far.compare(&Dyadic::integer(1)), Ordering::Greater);
    }
}
