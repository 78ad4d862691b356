//! Non-negative numbers that are only ever rounded one way: the radii of balls.

use super::dyadic::Dyadic;
use std::cmp::Ordering;

/// `mantissa * 2^exponent` with a mantissa of 32 bits, or zero.
///
/// Every operation returns a number at least as large as the exact result, by a relative `2^-30` at
/// most. The one lower bound, [`Magnitude::at_most`], is made for the divisor of
/// [`Magnitude::over`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Magnitude {
    /// Zero, or between `2^31` and `2^32`.
    mantissa: u64,
    exponent: i64,
}

impl Magnitude {
    pub(super) const ZERO: Magnitude = Magnitude { mantissa: 0, exponent: 0 };

    /// `2^exponent`.
    pub(super) fn power_of_two(exponent: i64) -> Self {
        Magnitude { mantissa: 1 << 31, exponent: exponent - 31 }
    }

    /// The least magnitude that is at least `mantissa * 2^exponent`.
    fn rounded_up(mantissa: u128, exponent: i64) -> Self {
        if mantissa == 0 {
            return Magnitude::ZERO;
        }
        let length = (128 - mantissa.leading_zeros()) as i64;
        if length <= 32 {
            return Magnitude {
                mantissa: (mantissa as u64) << (32 - length),
                exponent: exponent - (32 - length),
            };
        }
        let excess = length - 32;
        let (kept, dropped) = (mantissa >> excess, mantissa & ((1 << excess) - 1));
        let kept = kept as u64 + u64::from(dropped != 0);
        if kept >> 32 == 0 {
            Magnitude { mantissa: kept, exponent: exponent + excess }
        } else {
            Magnitude::power_of_two(exponent + excess + 32)
        }
    }

    /// The least magnitude that is at least `|value|`.
    pub(super) fn at_least(value: &Dyadic) -> Self {
        let (leading, exponent, exact) = value.leading_bits();
        Magnitude::rounded_up(u128::from(leading) + u128::from(!exact), exponent)
    }

    /// A magnitude that is at most `|value|`.
    pub(super) fn at_most(value: &Dyadic) -> Self {
        let (leading, exponent, _) = value.leading_bits();
        if leading == 0 {
            return Magnitude::ZERO;
        }
        let aligned = leading << leading.leading_zeros();
        Magnitude {
            mantissa: aligned >> 32,
            exponent: exponent - i64::from(leading.leading_zeros()) + 32,
        }
    }

    pub(super) fn is_zero(self) -> bool {
        self.mantissa == 0
    }

    /// `t` with `2^(t-1) <= self < 2^t`, for a magnitude other than zero.
    pub(super) fn top(self) -> i64 {
        self.exponent + 32
    }

    pub(super) fn plus(self, other: Magnitude) -> Self {
        if self.is_zero() {
            return other;
        }
        if other.is_zero() {
            return self;
        }
        let (large, small) =
            if self.exponent >= other.exponent { (self, other) } else { (other, self) };
        let gap = large.exponent - small.exponent;
        if gap > 64 {
            return Magnitude::rounded_up(
                (u128::from(large.mantissa) << 32) + 1,
                large.exponent - 32,
            );
        }
        Magnitude::rounded_up(
            (u128::from(large.mantissa) << gap) + u128::from(small.mantissa),
            small.exponent,
        )
    }

    pub(super) fn times(self, other: Magnitude) -> Self {
        Magnitude::rounded_up(
            u128::from(self.mantissa) * u128::from(other.mantissa),
            self.exponent + other.exponent,
        )
    }

    /// `self / divisor`, where the divisor is a lower bound other than zero; with a zero divisor
    /// nothing is known.
    pub(super) fn over(self, divisor: Magnitude) -> Option<Self> {
        if divisor.is_zero() {
            return None;
        }
        let quotient = (u128::from(self.mantissa) << 64).div_ceil(u128::from(divisor.mantissa));
        Some(Magnitude::rounded_up(quotient, self.exponent - divisor.exponent - 64))
    }

    pub(super) fn times_power_of_two(self, exponent: i64) -> Self {
        if self.is_zero() { self } else { Magnitude { exponent: self.exponent + exponent, ..self } }
    }

    /// The same number, exactly.
    pub(super) fn to_dyadic(self) -> Dyadic {
        Dyadic::new(self.mantissa.into(), self.exponent)
    }

    pub(super) fn compare(self, other: Magnitude) -> Ordering {
        match (self.is_zero(), other.is_zero()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => (self.exponent, self.mantissa).cmp(&(other.exponent, other.mantissa)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A few hundred magnitudes of all shapes, with their exact values.
    fn samples() -> Vec<Magnitude> {
        let mut samples = vec![Magnitude::ZERO];
        for exponent in [-200, -65, -33, -32, -1, 0, 1, 31, 64, 90] {
            for mantissa in [1u128, 3, 0xffff_ffff, 0x1_0000_0001, 0xffff_ffff_ffff_ffff, u128::MAX]
            {
                samples.push(Magnitude::rounded_up(mantissa, exponent));
            }
        }
        samples
    }

    #[test]
    fn results_are_never_below_the_exact_ones_and_hardly_above() {
        let barely_more = Dyadic::new(((1u64 << 29) + 1).into(), -29);
        for a in samples() {
            for b in samples() {
                let (x, y) = (a.to_dyadic(), b.to_dyadic());
                for (result, exact) in [(a.plus(b), x.plus(&y)), (a.times(b), x.times(&y))] {
                    let result = result.to_dyadic();
                    assert!(result.compare(&exact) != Ordering::Less, "{a:?} {b:?}");
                    assert!(
                        result.compare(&exact.times(&barely_more)) != Ordering::Greater,
                        "{a:?} {b:?}"
                    );
                }
                assert_eq!(a.compare(b), x.compare(&y));
                if let Some(quotient) = a.over(b) {
                    let product = quotient.to_dyadic().times(&y);
                    assert!(product.compare(&x) != Ordering::Less, "{a:?} / {b:?}");
                    assert!(
                        product.compare(&x.times(&barely_more)) != Ordering::Greater,
                        "{a:?} / {b:?}"
                    );
                } else {
                    assert!(b.is_zero());
                }
            }
        }
    }

    #[test]
    fn a_number_lies_between_its_two_magnitudes() {
        for mantissa in [1u128, 5, 0xffff_ffff, 0x1_0000_0001, (1 << 100) + 1, u128::MAX] {
            let value = Dyadic::new(mantissa.into(), -7);
            assert!(Magnitude::at_most(&value).to_dyadic().compare(&value) != Ordering::Greater);
            assert!(Magnitude::at_least(&value).to_dyadic().compare(&value) != Ordering::Less);
            let gap = Magnitude::at_least(&value).top() - Magnitude::at_most(&value).top();
            assert!((0..=1).contains(&gap));
        }
        assert!(
            Magnitude::at_least(&Dyadic::zero()).is_zero()
                && Magnitude::at_most(&Dyadic::zero()).is_zero()
        );
    }
}
