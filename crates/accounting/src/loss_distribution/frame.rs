//! Where a sum of losses is followed.

use super::grid::Masses;
use reticent_numerics::Bounds;

/// On which points of the loss axis the sum is followed, and how it is tilted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) step: f64,
    /// The index of the first grid point.
    pub(super) first: i64,
    /// A power of two.
    pub(super) size: usize,
    /// `lambda >= 0`.
    pub(super) tilt: f64,
    /// Between which tilts the mass outside the frame is bounded, `below < tilt < above`.
    pub(super) below: f64,
    pub(super) above: f64,
    /// The rate at which small sums are bounded from above, for losses that are saturated.
    pub(super) falling: f64,
}

impl Frame {
    /// A frame that holds all of the sums whose ends are near those of this one, so that nothing is
    /// outside.
    pub(super) fn widened_to(self, sums: [&[(Masses, u64)]; 2]) -> Self {
        let [one, other] = sums.map(|terms| {
            let moved = i128::from(moved(terms, self.step));
            let (least, greatest) = support(terms);
            (least + moved, greatest + moved)
        });
        let (least, greatest) = (one.0.min(other.0), one.1.max(other.1));
        let near = (self.size / 8) as i128;
        let (mut first, mut last) = (i128::from(self.first), i128::from(self.last()));
        if (0..=near).contains(&(first - least)) {
            first = least;
        }
        if (0..=near).contains(&(greatest - last)) {
            last = greatest;
        }
        let size = ((last - first + 1) as usize).next_power_of_two();
        Frame { first: first as i64, size, ..self }
    }

    pub(super) fn last(&self) -> i64 {
        self.first + self.size as i64 - 1
    }
}

/// The sum of the offsets of all losses.
pub(super) fn offset(terms: &[(Masses, u64)]) -> Bounds {
    terms.iter().fold(Bounds::ZERO, |sum, (masses, times)| {
        sum + Bounds::exact(masses.offset) * Bounds::exact(*times as f64)
    })
}

/// By how many steps, about, the offsets move a sum: offsets are less than a step each, and there
/// are at most 2^53 of them.
pub(super) fn moved(terms: &[(Masses, u64)], step: f64) -> i64 {
    (offset(terms).estimate() / step).round() as i64
}

/// The least and the greatest index of a sum.
pub(super) fn support(terms: &[(Masses, u64)]) -> (i128, i128) {
    terms.iter().fold((0, 0), |(least, greatest), (masses, times)| {
        let (first, times) = (i128::from(masses.first), i128::from(*times));
        (least + times * first, greatest + times * (first + masses.masses.len() as i128 - 1))
    })
}
