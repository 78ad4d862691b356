//! Exact draws: the ideal real draw, rounded to a public lattice.
//!
//! A draw takes 64 random bits: 8 choose a column of the [cover](crate::strips), one the sign, 11
//! begin a height and 44 a position. In all but a few of a hundred cases that decides everything:
//! the height is so low that the point lies under the density wherever it is in its strip, and the
//! whole range of positions that the 44 bits leave open rounds to the same lattice point.
//!
//! Otherwise more is learned, never assumed:
//! 1. A second word gives the height 44 more bits and the position 20, and the height is compared
//!    with certified bounds on the density, in `f64`.
//! 2. If the bounds overlap (about once in `2^50` such comparisons), height and position get more
//!    bits and the density is bounded at a precision that grows until they do not.
//! 3. If the position's range straddles a rounding boundary, it gets more bits until it does not.
//!
//! Height and position are thus real numbers of which a finite prefix happens to be known; every
//! decision holds for all their continuations. The result has exactly the probability of its cell
//! (docs/noise.md, section 4).
//!
//! Nothing here sees a private value, so neither the time nor the number of bits can depend on one.

use crate::NoiseError;
use crate::lattice::Lattice;
use crate::lazy_uniform::{LazyUniform, dyadic};
use crate::noise::Noise;
use crate::parameter::positive;
use crate::randomness::{RandomBits, RandomnessError};
use crate::strips::{COLUMN_BITS, COLUMNS, HEIGHT_BITS, POSITION_BITS, Strip, Strips};
use dashu_base::BitTest;
use dashu_int::UBig;
use reticent_numerics::{Bounds, Enclosure};
use std::cmp::Ordering;
use std::sync::Arc;

/// Where a draw saturates: see [`Sampler::draw`].
pub const LARGEST_DRAW: i128 = 1 << 126;

/// The bits of the height once a second word has been drawn.
const LONG_HEIGHT_BITS: usize = (HEIGHT_BITS + POSITION_BITS) as usize;

/// The bits of the first comparison at higher precision.
const FIRST_PRECISION: u32 = 128;

/// Draws of `scale * X`, rounded to a lattice, where `X` follows a [`Noise`].
#[derive(Clone, Debug)]
pub struct Sampler<N> {
    noise: N,
    scale: f64,
    lattice: Lattice,
    strips: Arc<Strips>,
    /// The scale's digits, shifted up until the highest of 64 bits is set.
    mantissa: u64,
    /// A position of `z` units is `z * mantissa / 2^shift` lattice steps.
    shift: i32,
}

impl<N: Noise> Sampler<N> {
    /// A sampler of `scale * X` on `lattice`.
    ///
    /// # Errors
    /// If the scale is not a number from 1e-150 to 1e150, or the lattice is finer than `2^-60` or
    /// coarser than `2^60` times the magnitude of the noise. (Below `2^-44` most draws take a
    /// second word and a few times as long.)
    pub fn new(noise: N, scale: f64, lattice: Lattice) -> Result<Self, NoiseError> {
        positive("scale", scale)?;
        let strips = noise.strips()?;
        lattice.require_fit(scale * noise.magnitude())?;
        let (digits, exponent) = integer_parts(scale);
        let unused = digits.leading_zeros();
        let shift = lattice.exponent() - exponent - strips.unit() + unused as i32;
        Ok(Sampler { noise, scale, lattice, strips, mantissa: digits << unused, shift })
    }

    /// The distribution, before scaling.
    pub fn noise(&self) -> &N {
        &self.noise
    }

    /// The factor by which the distribution is scaled; the privacy cost is computed from this
    /// value.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// The lattice that draws are rounded to.
    pub fn lattice(&self) -> Lattice {
        self.lattice
    }

    /// The share of tries that give a draw.
    pub fn acceptance(&self) -> f64 {
        self.strips.acceptance(&self.noise)
    }

    #[cfg(test)]
    pub(crate) fn strips(&self) -> &Strips {
        &self.strips
    }

    /// One draw, in lattice steps: `round(scale * X / spacing)`.
    ///
    /// Draws beyond [`LARGEST_DRAW`] are returned as that. [`Lattice::add`] keeps the sum with a
    /// value well inside, so that this is a rule about the released sum, which is post-processing.
    ///
    /// # Errors
    /// If random bits cannot be had.
    #[inline]
    pub fn draw<R: RandomBits + ?Sized>(&self, random: &mut R) -> Result<i128, RandomnessError> {
        let word = random.next_u64()?;
        let point = Point::from_word(word);
        let strip = &self.strips.first_level()[point.column];
        if point.height < u64::from(strip.accept)
            && let Some(steps) = self.round_at_once(strip, point.position)
        {
            return Ok(point.signed(u128::from(steps)));
        }
        self.draw_with_care(point, random)
    }

    /// The lattice point of a position, if its first bits decide it.
    ///
    /// The position is a real number in `[z, z + slack)` units, and the answer
    /// `floor(z * mantissa / 2^shift + 1/2)`. As `shift > 64`, the half is added to the upper word
    /// of the product; what the lower word and the slack may still add to the upper word is less
    /// than `slack + 1`.
    #[inline]
    fn round_at_once(&self, strip: &Strip, position: u64) -> Option<u64> {
        // Beyond 127 the product, below 2^123, is far less than half a step, and the answer 0
        // either way.
        let shift = (self.shift - strip.exponent as i32).min(127);
        if shift < 65 {
            return None;
        }
        let (z, slack) = strip.position(position);
        let product = u128::from(z) * u128::from(self.mantissa);
        let steps_and_rest = (product >> 64) as u64 + (1 << (shift - 65));
        let rest = steps_and_rest & ((1 << (shift - 64)) - 1);
        (rest + slack + 1 < 1 << (shift - 64)).then_some(steps_and_rest >> (shift - 64))
    }

    /// The general case: any column, any height, any position.
    #[cold]
    #[inline(never)]
    fn draw_with_care<R: RandomBits + ?Sized>(
        &self,
        first: Point,
        random: &mut R,
    ) -> Result<i128, RandomnessError> {
        let mut point = first;
        let mut level = 0;
        loop {
            let steps = if point.column < COLUMNS - 1 {
                let strip = *self.strips.strip(level, point.column);
                let steps = if strip.is_empty() {
                    None
                } else {
                    self.draw_in_strip(&strip, level, &point, random)?
                };
                level = 0;
                steps
            } else if level + 1 < self.strips.levels() {
                level += 1;
                None
            } else {
                level = 0;
                self.draw_tail(LazyUniform::unknown(), random)?
            };
            if let Some(steps) = steps {
                return Ok(point.signed(steps));
            }
            point = Point::from_word(random.next_u64()?);
        }
    }

    /// The lattice point of a point in a strip, if it lies under the density.
    fn draw_in_strip<R: RandomBits + ?Sized>(
        &self,
        strip: &Strip,
        level: usize,
        point: &Point,
        random: &mut R,
    ) -> Result<Option<u128>, RandomnessError> {
        // One more word completes the position to 64 bits and the height to 55.
        let more = random.next_u64()?;
        let position = point.position << (64 - POSITION_BITS) | more >> POSITION_BITS;
        let height = point.height << POSITION_BITS | more & ((1 << POSITION_BITS) - 1);
        match self.lies_under_density(strip, level, height, position) {
            Some(false) => Ok(None),
            Some(true) => match self.round_soon(strip, position) {
                Some(steps) => Ok(Some(steps)),
                None => self.round(strip, LazyUniform::from_prefix(position, 64), random).map(Some),
            },
            None => {
                let mut position = LazyUniform::from_prefix(position, 64);
                let height = LazyUniform::from_prefix(height, LONG_HEIGHT_BITS);
                if self.decide_density(strip, level, height, &mut position, random)? {
                    self.round(strip, position, random).map(Some)
                } else {
                    Ok(None)
                }
            }
        }
    }

    /// Whether the point lies under the density: `height * area < density(x) * width`, for the real
    /// numbers `height` and `x` that begin with the given 55 and 64 bits; `None` if that is not
    /// enough to tell.
    fn lies_under_density(
        &self,
        strip: &Strip,
        level: usize,
        height: u64,
        position: u64,
    ) -> Option<bool> {
        if height < u64::from(strip.accept) << POSITION_BITS {
            return Some(true);
        }
        let unit = self.strips.unit() + strip.exponent as i32;
        let width = between_integers(strip.width, strip.width).times_power_of_two(unit);
        let height_of_strip = Bounds::exact(self.strips.area_at(level)) / width;
        let height = between_integers(height, height + 1)
            .times_power_of_two(-(LONG_HEIGHT_BITS as i32))
            * height_of_strip;
        let low = strip.start + ((u128::from(strip.width) * u128::from(position)) >> 64) as u64;
        let x = between_integers(low, low + 2).times_power_of_two(unit);
        let density = self.noise.density_bounds(x);
        height.compare(&density).map(Ordering::is_lt)
    }

    /// The comparison of [`Sampler::lies_under_density`] at growing precision.
    fn decide_density<R: RandomBits + ?Sized>(
        &self,
        strip: &Strip,
        level: usize,
        mut height: LazyUniform,
        position: &mut LazyUniform,
        random: &mut R,
    ) -> Result<bool, RandomnessError> {
        let unit = self.strips.unit() + strip.exponent as i32;
        let area = self.strips.area_at(level);
        let mut precision = FIRST_PRECISION;
        loop {
            height.know(precision as usize, random)?;
            position.know(precision as usize, random)?;
            let level_of = |end: &UBig| {
                // start + width * digits / 2^count
                let x =
                    (UBig::from(strip.start) << position.count()) + UBig::from(strip.width) * end;
                let x = dyadic(&x, unit - position.count() as i32, precision);
                let width = dyadic(&UBig::from(strip.width), unit, precision);
                self.noise.density(&x) * width / x.exactly(area)
            };
            let (height_low, height_high) = height.ends(precision);
            if height_high.compare(&level_of(&(position.digits() + UBig::ONE)))
                == Some(Ordering::Less)
            {
                return Ok(true);
            }
            if height_low.compare(&level_of(position.digits())) == Some(Ordering::Greater) {
                return Ok(false);
            }
            precision *= 2;
        }
    }

    /// [`Sampler::round_at_once`] for a position of 64 bits.
    ///
    /// With `Z = start * 2^64 + width * position` the position is in `[Z, Z + width) / 2^64` units,
    /// and `floor(Z * mantissa / 2^64)` is within `width + 2` of what it may be.
    fn round_soon(&self, strip: &Strip, position: u64) -> Option<u128> {
        let shift = (self.shift - strip.exponent as i32).min(127);
        if shift < 1 {
            return None;
        }
        let z = (u128::from(strip.start) << 64) + u128::from(strip.width) * u128::from(position);
        let (high, low) = (z >> 64, z & u128::from(u64::MAX));
        let mantissa = u128::from(self.mantissa);
        let steps_and_rest = high * mantissa + ((low * mantissa) >> 64) + (1 << (shift - 1));
        let rest = steps_and_rest & ((1 << shift) - 1);
        (rest + u128::from(strip.width) + 2 < 1 << shift).then_some(steps_and_rest >> shift)
    }

    /// The lattice point nearest to a position, drawing bits of it until it is certain.
    fn round<R: RandomBits + ?Sized>(
        &self,
        strip: &Strip,
        mut position: LazyUniform,
        random: &mut R,
    ) -> Result<u128, RandomnessError> {
        let shift = self.shift - strip.exponent as i32;
        let mantissa = UBig::from(self.mantissa);
        loop {
            let count = position.count();
            let low =
                (UBig::from(strip.start) << count) + UBig::from(strip.width) * position.digits();
            let high = &low + UBig::from(strip.width);
            // In units of 2^-count of a table unit times the mantissa; the number is in [low,
            // high).
            let least = nearest(low * &mantissa, shift + count as i32);
            let most = nearest(high * &mantissa - UBig::ONE, shift + count as i32);
            if least == most {
                return Ok(least);
            }
            position.know(count + 1, random)?;
        }
    }

    /// A draw from beyond the last level, by inverting the tail function.
    ///
    /// The column's area is `A`, and `V = A U` is uniform on it. With `S` the tail function, a `V`
    /// of at least `S(x_last)` is not under the density and is rejected; any other is `S(X)` for an
    /// `X` beyond `x_last`, and `X` rounds to `j` exactly when
    /// `S((j + 1/2) s) <= V < S((j - 1/2) s)`, `s` being the lattice's spacing over the scale.
    fn draw_tail<R: RandomBits + ?Sized>(
        &self,
        mut uniform: LazyUniform,
        random: &mut R,
    ) -> Result<Option<u128>, RandomnessError> {
        let start = TailPoint::Edge(self.strips.tail_start());
        if !self.below_tail(&start, &mut uniform, random)? {
            return Ok(None);
        }
        // The least j that X may round to: its upper boundary lies beyond the edge.
        let edge = UBig::from(self.strips.tail_start()) * UBig::from(self.mantissa);
        let mut beyond = nearest(edge, self.shift).min(LARGEST_DRAW as u128 - 1);
        let mut step = 1u128;
        // The answer is at least `beyond`, and at most LARGEST_DRAW.
        let mut upper = loop {
            let candidate = (beyond + step).min(LARGEST_DRAW as u128 - 1);
            if !self.below_tail(&TailPoint::AboveStep(candidate), &mut uniform, random)? {
                break candidate;
            }
            if candidate == LARGEST_DRAW as u128 - 1 {
                return Ok(Some(LARGEST_DRAW as u128));
            }
            beyond = candidate;
            step *= 2;
        };
        // V >= S((upper + 1/2) s): the answer is at most `upper`, and at least `beyond`.
        while beyond < upper {
            let middle = beyond + (upper - beyond) / 2;
            if self.below_tail(&TailPoint::AboveStep(middle), &mut uniform, random)? {
                beyond = middle + 1;
            } else {
                upper = middle;
            }
        }
        Ok(Some(upper))
    }

    /// Whether `V = A U` lies below the tail function at a point.
    fn below_tail<R: RandomBits + ?Sized>(
        &self,
        point: &TailPoint,
        uniform: &mut LazyUniform,
        random: &mut R,
    ) -> Result<bool, RandomnessError> {
        let area = self.strips.area_at(self.strips.levels() - 1);
        let mut precision = FIRST_PRECISION;
        uniform.know(FIRST_PRECISION as usize, random)?;
        let quick = uniform.bounds() * Bounds::exact(area);
        if let Some(order) =
            quick.compare(&self.noise.tail_bounds(self.tail_point(point, &Bounds::ONE)))
        {
            return Ok(order == Ordering::Less);
        }
        loop {
            uniform.know(precision as usize, random)?;
            let (low, high) = uniform.ends(precision);
            let area = low.exactly(area);
            let tail = self.noise.tail(&self.tail_point(point, &low));
            // The number is below the upper end of its cell, never equal to it.
            if matches!(
                (high * area.clone()).compare(&tail),
                Some(Ordering::Less | Ordering::Equal)
            ) {
                return Ok(true);
            }
            if matches!((low * area).compare(&tail), Some(Ordering::Greater | Ordering::Equal)) {
                return Ok(false);
            }
            precision *= 2;
        }
    }

    /// A point of the tail, before scaling.
    fn tail_point<E: Enclosure>(&self, point: &TailPoint, like: &E) -> E {
        match *point {
            TailPoint::Edge(edge) => {
                like.integer(edge as i128).times_power_of_two(self.strips.unit())
            }
            TailPoint::AboveStep(step) => {
                let boundary = (like.integer(step as i128) + like.exactly(0.5))
                    .times_power_of_two(self.lattice.exponent());
                boundary / like.exactly(self.scale)
            }
        }
    }
}

/// Where the tail function is evaluated.
enum TailPoint {
    /// The end of the table, in its units.
    Edge(u128),
    /// The boundary between a lattice point and the next.
    AboveStep(u128),
}

/// What the 64 bits of a draw say.
#[derive(Clone, Copy, Debug)]
struct Point {
    column: usize,
    negative: bool,
    height: u64,
    position: u64,
}

impl Point {
    #[inline(always)]
    fn from_word(word: u64) -> Self {
        Point {
            column: (word & (COLUMNS as u64 - 1)) as usize,
            negative: word >> COLUMN_BITS & 1 == 1,
            height: word >> (COLUMN_BITS + 1) & ((1 << HEIGHT_BITS) - 1),
            position: word >> (64 - POSITION_BITS),
        }
    }

    #[inline(always)]
    fn signed(&self, steps: u128) -> i128 {
        // At most LARGEST_DRAW, as `nearest` sees to.
        let magnitude = steps as i128;
        if self.negative { -magnitude } else { magnitude }
    }
}

impl Strip {
    /// `z` and `slack` such that `start + width * (position + [0, 1)) / 2^POSITION_BITS` lies in
    /// `[z, z + slack)`.
    #[inline(always)]
    fn position(&self, position: u64) -> (u64, u64) {
        let z =
            self.start + ((u128::from(self.width) * u128::from(position)) >> POSITION_BITS) as u64;
        // The fraction that the shift dropped, and the width of the cell.
        (z, (self.width >> POSITION_BITS) + 2)
    }
}

/// `round(number / 2^shift)`, halves up; saturating.
fn nearest(number: UBig, shift: i32) -> u128 {
    let rounded = if shift <= 0 {
        number << (-shift) as usize
    } else {
        ((number >> (shift - 1) as usize) + UBig::ONE) >> 1
    };
    if rounded.bit_len() > 126 {
        LARGEST_DRAW as u128
    } else {
        u128::try_from(rounded).unwrap_or(LARGEST_DRAW as u128)
    }
}

/// The interval between two integers, as `f64` rounded outward.
fn between_integers(low: u64, high: u64) -> Bounds {
    let down = |n: u64| if n >> 53 == 0 { n as f64 } else { (n as f64).next_down() };
    let up = |n: u64| if n >> 53 == 0 { n as f64 } else { (n as f64).next_up() };
    Bounds::new(down(low), up(high))
}

/// A positive `f64` as an integer times a power of two.
pub(crate) fn integer_parts(value: f64) -> (u64, i32) {
    let bits = value.to_bits();
    let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    let (mantissa, exponent) =
        if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent - 1075) };
    let zeros = mantissa.trailing_zeros();
    (mantissa >> zeros, exponent + zeros as i32)
}
