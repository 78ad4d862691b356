//! Sums of many numbers, rounded once.

use crate::Bounds;
use std::cmp::Ordering;
use std::num::NonZeroU64;

/// Bits of each chunk that hold the number; the other half of an `i64` collects carries.
const CHUNK_BITS: usize = 32;

/// The range of `f64` takes `971 + 53 + 1074 = 2098` bits, and `2^63` terms add another 63.
const CHUNKS: usize = (2098 + 63) / CHUNK_BITS + 1;

/// Each addition leaves less than `2^32` in a chunk, so this many keep it well inside an `i64`.
const ADDITIONS_BEFORE_CARRY: u32 = 1 << 30;

/// The exact sum of any number of `f64`.
///
/// The sum is a fixed-point number that covers the whole range of `f64`, in chunks of 32 bits whose
/// carries are put off (a small superaccumulator: Neal, *Fast exact summation using small and large
/// superaccumulators*, 2015). Nothing is rounded before the end, so the result depends neither on
/// the order of the terms nor on how many there are, and cancellation costs nothing.
///
/// An infinite term makes the sum that infinity; both infinities, or a NaN, leave nothing known.
#[derive(Clone, Debug)]
pub struct ExactSum {
    /// Chunk `i` counts units of `2^(32 i - 1074)`.
    chunks: [i64; CHUNKS],
    additions: u32,
    holds_infinity: bool,
    holds_negative_infinity: bool,
}

impl Default for ExactSum {
    fn default() -> Self {
        ExactSum {
            chunks: [0; CHUNKS],
            additions: 0,
            holds_infinity: false,
            holds_negative_infinity: false,
        }
    }
}

impl ExactSum {
    /// The exponent of [`ExactSum::add_scaled_up`]. Its largest product is below `2^(1024 + 64)`:
    /// the last chunk counts units of `2^1070`, so that 18 of its bits are in use.
    pub const BEYOND: usize = 64;

    /// The empty sum, zero.
    pub fn new() -> Self {
        ExactSum::default()
    }

    /// Adds one term.
    #[inline]
    pub fn add(&mut self, term: f64) {
        self.add_at(term, 0);
    }

    /// Adds `term * 2^BEYOND`, which need not be an `f64` itself: for sums of huge numbers that
    /// were scaled down so as not to overflow.
    pub fn add_scaled_up(&mut self, term: f64) {
        self.add_at(term, Self::BEYOND);
    }

    /// Adds `term * 2^exponent`. The caller ensures that the product is below `2^1088`, which the
    /// chunks hold: with `exponent = 0` every `f64` is, with `exponent = BEYOND` see below.
    #[inline]
    fn add_at(&mut self, term: f64, exponent: usize) {
        let bits = term.to_bits();
        let (field, fraction) = ((bits >> 52 & 0x7ff) as usize, bits & ((1 << 52) - 1));
        if field == 0x7ff {
            self.holds_infinity |= term.is_nan() || term > 0.0;
            self.holds_negative_infinity |= term.is_nan() || term < 0.0;
            return;
        }
        // |term| * 2^exponent = mantissa * 2^(position - 1074).
        let (mantissa, position) =
            if field == 0 { (fraction, 0) } else { (fraction | 1 << 52, field - 1) };
        let position = position + exponent;
        let aligned = u128::from(mantissa) << (position % CHUNK_BITS);
        let pieces = &mut self.chunks[position / CHUNK_BITS..][..3];
        for (index, piece) in pieces.iter_mut().enumerate() {
            let part = i64::from((aligned >> (CHUNK_BITS * index)) as u32);
            *piece += if term < 0.0 { -part } else { part };
        }
        self.additions += 1;
        if self.additions == ADDITIONS_BEFORE_CARRY {
            carry(&mut self.chunks);
            self.additions = 0;
        }
    }

    /// The largest `f64` that is not above the sum.
    pub fn lower(&self) -> f64 {
        self.bounds().lower()
    }

    /// The least `f64` that is not below the sum.
    pub fn upper(&self) -> f64 {
        self.bounds().upper()
    }

    /// Both bounds: the same number where the sum is an `f64`, else two neighbours.
    pub fn bounds(&self) -> Bounds {
        match (self.holds_negative_infinity, self.holds_infinity) {
            (false, false) => self.rounded(),
            (true, true) => Bounds::WHOLE_LINE,
            (true, false) => Bounds::new(f64::NEG_INFINITY, f64::NEG_INFINITY),
            (false, true) => Bounds::new(f64::INFINITY, f64::INFINITY),
        }
    }

    /// The `f64` nearest to the sum divided by `divisor`, of two equally near the even one: zero is
    /// `0.0`, what lies beyond the largest `f64` by half a unit in its last place or more an
    /// infinity. NaN if a term was infinite or NaN.
    ///
    /// ```
    /// use reticent_numerics::ExactSum;
    /// use std::num::NonZeroU64;
    ///
    /// let mut sum = ExactSum::new();
    /// [1e300, 1.0, -1e300].into_iter().for_each(|term| sum.add(term));
    /// assert_eq!(sum.nearest_quotient(NonZeroU64::MIN), 1.0);
    /// assert_eq!(sum.nearest_quotient(NonZeroU64::MIN.saturating_add(2)), 1.0 / 3.0);
    /// ```
    pub fn nearest_quotient(&self, divisor: NonZeroU64) -> f64 {
        if self.holds_infinity || self.holds_negative_infinity {
            return f64::NAN;
        }
        let (negative, chunks) = self.magnitude();
        let quotient = nearest_quotient(&chunks, divisor);
        if negative && quotient != 0.0 { -quotient } else { quotient }
    }

    /// The finite sum, rounded down and up.
    fn rounded(&self) -> Bounds {
        let (negative, chunks) = self.magnitude();
        let (toward_zero, away) = rounded_magnitude(&chunks);
        let magnitude = Bounds::new(toward_zero, away);
        if negative { -magnitude } else { magnitude }
    }

    /// Whether the finite sum is below zero, and its distance from zero, carried.
    fn magnitude(&self) -> (bool, [i64; CHUNKS]) {
        let mut chunks = self.chunks;
        carry(&mut chunks);
        // After the carry, only the last chunk can be negative, and it then outweighs the others.
        let negative = chunks[CHUNKS - 1] < 0;
        if negative {
            chunks.iter_mut().for_each(|chunk| *chunk = -*chunk);
            carry(&mut chunks);
        }
        (negative, chunks)
    }
}

/// Brings every chunk but the last into `0..2^32`, keeping the sum.
fn carry(chunks: &mut [i64; CHUNKS]) {
    let mut carried = 0;
    for chunk in &mut chunks[..CHUNKS - 1] {
        let total = *chunk + carried;
        (*chunk, carried) = (total & 0xffff_ffff, total >> CHUNK_BITS);
    }
    chunks[CHUNKS - 1] += carried;
}

/// A non-negative sum after its carry, rounded toward zero and away from it.
fn rounded_magnitude(chunks: &[i64; CHUNKS]) -> (f64, f64) {
    let Some(highest) = chunks.iter().rposition(|chunk| *chunk != 0) else { return (0.0, 0.0) };
    // Four chunks hold at least 97 leading bits, or all of them.
    let base = highest.saturating_sub(3);
    let leading = (base..=highest)
        .rev()
        .fold(0u128, |bits, index| bits << CHUNK_BITS | chunks[index] as u128);
    let excess = (128 - leading.leading_zeros()).saturating_sub(53);
    let multiple = (leading >> excess) as u64;
    let exact =
        leading.trailing_zeros() >= excess && chunks[..base].iter().all(|chunk| *chunk == 0);
    // The last place of the result, in units of 2^-1074. The encoding of multiple * 2^(position
    // - 1074) is their sum below: the leading bit of a 53-bit multiple adds one to the exponent
    // field, and a carry out of the mantissa, up to infinity, lands where it should.
    let position = (CHUNK_BITS * base) as u64 + u64::from(excess);
    if position > 2045 {
        return (f64::MAX, f64::INFINITY);
    }
    let encoding = (position << 52) + multiple;
    (f64::from_bits(encoding), f64::from_bits(encoding + u64::from(!exact)))
}

/// A non-negative sum after its carry, divided and rounded to nearest, ties to even.
fn nearest_quotient(chunks: &[i64; CHUNKS], divisor: NonZeroU64) -> f64 {
    let divisor = u128::from(divisor.get());
    let (mut quotient, mut remainder) = (0u128, 0u128);
    let Some(highest) = chunks.iter().rposition(|chunk| *chunk != 0) else { return 0.0 };
    // Long division from the top. It ends with at least 65 bits of the quotient, of which the lower
    // chunks change no bit, or with all of it. As the remainder is below the divisor, a digit is
    // below 2^32 and the quotient stays below 2^96.
    let mut base = highest + 1;
    while base > 0 && quotient >> 64 == 0 {
        base -= 1;
        let part = (remainder << CHUNK_BITS) | chunks[base] as u128;
        quotient = (quotient << CHUNK_BITS) | (part / divisor);
        remainder = part % divisor;
    }
    // The exact value is quotient + fraction, with 0 <= fraction < 1, in units of the chunk at
    // base.
    let excess = (128 - quotient.leading_zeros()).saturating_sub(53);
    let multiple = (quotient >> excess) as u64;
    let to_middle = if excess == 0 {
        // Then all chunks were divided, and the fraction is remainder / divisor.
        (2 * remainder).cmp(&divisor)
    } else {
        let rest = remainder != 0 || chunks[..base].iter().any(|chunk| *chunk != 0);
        let dropped = quotient & ((1 << excess) - 1);
        dropped.cmp(&(1 << (excess - 1))).then(if rest {
            Ordering::Greater
        } else {
            Ordering::Equal
        })
    };
    let up = to_middle == Ordering::Greater || to_middle == Ordering::Equal && multiple % 2 == 1;
    // The encoding is the one of `rounded_magnitude`.
    let position = (CHUNK_BITS * base) as u64 + u64::from(excess);
    if position > 2045 {
        f64::INFINITY
    } else {
        f64::from_bits((position << 52) + multiple + u64::from(up))
    }
}

/// The sum of many enclosed numbers: the exact sum of the lower bounds, rounded down, and that of
/// the upper bounds, rounded up. However many terms there are, this widens the result by less than
/// two units in its last place.
///
/// ```
/// use reticent_numerics::{Bounds, sum_bounds};
///
/// let tenth = Bounds::exact(0.1);
/// let sum = sum_bounds(std::iter::repeat_n(tenth, 1_000_000));
/// assert_eq!(sum.lower().next_up(), sum.upper());
/// assert_eq!(sum_bounds([1e300, 1.0, -1e300]), Bounds::ONE);
/// ```
pub fn sum_bounds<T: Into<Bounds>>(terms: impl IntoIterator<Item = T>) -> Bounds {
    let (mut lower, mut upper) = (ExactSum::new(), ExactSum::new());
    for term in terms {
        let term: Bounds = term.into();
        lower.add(term.lower());
        upper.add(term.upper());
    }
    Bounds::new(lower.lower(), upper.upper())
}
