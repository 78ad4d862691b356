//! The sampler's table: a region of strips of exactly equal area that covers the density.
//!
//! `[0, ∞)` is divided at integer edges (times a public power of two) into 255 strips of the same
//! area `A`, each at least as high as the density on it, and the mass beyond the last edge is at
//! most `A`. The tail column is covered in the same way by 256 columns of area `A / 256`, and so on
//! for [`LEVELS`] levels; what is beyond the last (probability `2^-24`) is drawn by inverting the
//! tail function, see [`crate::sampler`]. Edges and areas are exact; the certified bounds that
//! prove these inequalities only have to be true. Proof: docs/noise.md, section 3.

use crate::NoiseError;
use crate::noise::Noise;
use reticent_numerics::rounding::{div_down, mul_down, mul_up};
use reticent_numerics::{Bounds, Enclosure};

/// Random bits that choose a column.
pub(crate) const COLUMN_BITS: u32 = 8;
/// Columns of a level.
pub(crate) const COLUMNS: usize = 1 << COLUMN_BITS;
/// Random bits of the height that are compared at once; the others are drawn when these do not
/// decide.
pub(crate) const HEIGHT_BITS: u32 = 11;
/// Random bits of the position that are drawn at once. With a bit for the sign, 64 in all.
pub(crate) const POSITION_BITS: u32 = 44;
/// Levels of columns.
const LEVELS: usize = 3;

/// The table's unit is this many bits below the magnitude of the distribution.
const UNIT_BELOW_MAGNITUDE: i32 = 52;
/// Edges are kept to this many significant bits, so that a position times the 64 bits of a scale is
/// a `u128`.
const EDGE_BITS: u32 = 58;
/// No edge lies beyond `2^110` units; the rest is left to the tail.
const EDGE_LIMIT: u128 = 1 << 110;

/// One column: `[start, start + width)` in units of `2^(unit + exponent)`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strip {
    pub(crate) start: u64,
    pub(crate) width: u64,
    /// A height below `accept / 2^HEIGHT_BITS` of the strip's lies under the density wherever it
    /// is.
    pub(crate) accept: u32,
    pub(crate) exponent: u32,
}

impl Strip {
    /// A column that no point under the density lies in: a level that reached the limit has some to
    /// spare.
    const EMPTY: Strip = Strip { start: 0, width: 0, accept: 0, exponent: 0 };

    pub(crate) fn is_empty(&self) -> bool {
        self.width == 0
    }
}

/// The last column of a level: never accepted on sight.
const TAIL_COLUMN: Strip = Strip::EMPTY;

/// The table of the sampler: a cover of one density by strips of exactly equal area.
#[derive(Clone, Debug)]
pub struct Strips {
    /// `COLUMNS` strips a level, the last of each standing for what lies beyond.
    columns: Vec<Strip>,
    /// The power of two that the edges count in.
    unit: i32,
    /// `A`, the area of a column of the first level.
    area: f64,
    /// Where the last level ends, in units.
    tail_start: u128,
}

impl Strips {
    /// Covers `noise`.
    pub(crate) fn build<N: Noise>(noise: &N) -> Result<Strips, NoiseError> {
        let fail = |reason| NoiseError::Table { distribution: format!("{noise:?}"), reason };
        let unit = exponent_above(noise.magnitude()) - UNIT_BELOW_MAGNITUDE;
        let one_sided = noise.tail_bounds(Bounds::ZERO);
        if !(one_sided.lower() > 0.0 && one_sided.upper().is_finite()) {
            return Err(fail("the total mass is not known"));
        }
        // Of a heavy tail a smaller share is left to the last column, whose own cover is less snug.
        let mut best: Option<Strips> = None;
        for tail_share in [0.75, 0.25, 0.05] {
            let first = least_area(noise, unit, one_sided.lower() / COLUMNS as f64, tail_share);
            let Some((area, columns, end)) = first else { continue };
            let mut strips = Strips { columns, unit, area, tail_start: end };
            while strips.levels() < LEVELS && strips.add_level(noise) {}
            if best.as_ref().is_none_or(|known| known.levels() < strips.levels()) {
                best = Some(strips);
            }
            if best.as_ref().is_some_and(|known| known.levels() == LEVELS) {
                break;
            }
        }
        best.ok_or_else(|| fail("no cover was found"))
    }

    /// Adds the cover of what lies beyond, if it fits into its columns.
    fn add_level<N: Noise>(&mut self, noise: &N) -> bool {
        let area = self.area_at(self.levels());
        match cover(noise, self.unit, self.tail_start, area, 1.0) {
            Some((columns, end)) => {
                self.columns.extend(columns);
                self.tail_start = end;
                true
            }
            None => false,
        }
    }

    pub(crate) fn levels(&self) -> usize {
        self.columns.len() / COLUMNS
    }

    /// The area of a column of a level: exact, a power of two below the first one's.
    pub(crate) fn area_at(&self, level: usize) -> f64 {
        self.area * 0.5f64.powi(COLUMN_BITS as i32 * level as i32)
    }

    pub(crate) fn unit(&self) -> i32 {
        self.unit
    }

    pub(crate) fn tail_start(&self) -> u128 {
        self.tail_start
    }

    #[inline(always)]
    pub(crate) fn first_level(&self) -> &[Strip] {
        &self.columns[..COLUMNS]
    }

    pub(crate) fn strip(&self, level: usize, column: usize) -> &Strip {
        &self.columns[level * COLUMNS + column]
    }

    /// The probability that a point of the cover lies under the density: how many tries a draw
    /// needs.
    pub fn acceptance<N: Noise>(&self, noise: &N) -> f64 {
        noise.tail_bounds(Bounds::ZERO).estimate() / (COLUMNS as f64 * self.area)
    }
}

/// The least exponent `e` with `2^e >= magnitude`.
pub(crate) fn exponent_above(magnitude: f64) -> i32 {
    let mut exponent = magnitude.log2().ceil() as i32;
    while (exponent as f64).exp2() < magnitude {
        exponent += 1;
    }
    exponent
}

type Cover = (Vec<Strip>, u128);

/// The least area, to within a part in a thousand, with which one level covers the whole density.
/// The search steers by trial; each trial is a proof, and the last successful one is returned.
fn least_area<N: Noise>(
    noise: &N,
    unit: i32,
    least: f64,
    tail_share: f64,
) -> Option<(f64, Vec<Strip>, u128)> {
    let mut too_small = least;
    let mut step = 0.02;
    let mut found = loop {
        let area = least * (1.0 + step);
        match cover(noise, unit, 0, area, tail_share) {
            Some((columns, end)) => break (area, columns, end),
            None if step > 1e6 => return None,
            None => {
                too_small = area;
                step *= 2.0;
            }
        }
    };
    while found.0 > too_small * 1.001 {
        let area = 0.5 * (found.0 + too_small);
        match cover(noise, unit, 0, area, tail_share) {
            Some((columns, end)) => found = (area, columns, end),
            None => too_small = area,
        }
    }
    Some(found)
}

/// Covers the density from `start` on by one level of columns of the given area, if what lies
/// beyond the last strip is at most `tail_share` of a column.
fn cover<N: Noise>(noise: &N, unit: i32, start: u128, area: f64, tail_share: f64) -> Option<Cover> {
    let unit_size = 2f64.powi(unit);
    let position = |edge: u128| {
        // An edge has at most EDGE_BITS significant bits.
        Bounds::ONE.integer(edge as i128).times_power_of_two(unit)
    };
    let mut columns = Vec::with_capacity(COLUMNS);
    let mut edge = start;
    let mut density = noise.density_bounds(position(edge));
    for _ in 0..COLUMNS - 1 {
        // Where the density has ended, nothing is left to cover.
        if edge == EDGE_LIMIT || density.upper() == 0.0 {
            columns.push(Strip::EMPTY);
            continue;
        }
        let exponent = surplus_bits(edge);
        // width * 2^unit * f(edge) <= area, rounded down at every step.
        let widest = div_down(area, mul_up(density.upper(), unit_size));
        // A NaN or a negative number converts to zero and fails below.
        let widest = (widest as u128).min(1 << (EDGE_BITS + exponent)).min(EDGE_LIMIT - edge);
        let end = edge + widest;
        let end = end >> surplus_bits(end) << surplus_bits(end);
        if end <= edge {
            return None;
        }
        let width = end - edge;
        let density_at_end = noise.density_bounds(position(end));
        // Everything in the strip that is lower than f(end) / height = f(end) * width / area.
        let width_below = position(width).lower();
        let sure = div_down(mul_down(density_at_end.lower(), width_below), area);
        columns.push(Strip {
            start: (edge >> exponent) as u64,
            width: (width >> exponent) as u64,
            accept: (sure.clamp(0.0, 1.0) * f64::from(1u32 << HEIGHT_BITS)).floor() as u32,
            exponent,
        });
        (edge, density) = (end, density_at_end);
    }
    columns.push(TAIL_COLUMN);
    let beyond = noise.tail_bounds(position(edge)).upper();
    (beyond <= mul_down(area, tail_share)).then_some((columns, edge))
}

/// How many low bits an edge must not use, to have at most [`EDGE_BITS`] significant ones.
fn surplus_bits(edge: u128) -> u32 {
    (u128::BITS - edge.leading_zeros()).saturating_sub(EDGE_BITS)
}
