//! A scalar query with public bounds, ideal and on a lattice.

use crate::generalized_gaussian::{Order, lattice_for};
use crate::{Distance, MechanismError, Sensitivity};
use reticent_noise::Lattice;
use reticent_numerics::{Bounds, Enclosure, require};

/// A query whose answers lie between two public bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundedQuery {
    lower: f64,
    upper: f64,
    distance: Distance,
}

impl BoundedQuery {
    /// Answers between `lower` and `upper`, of which one privacy unit moves one by at most
    /// `sensitivity`. Nothing moves further than the range is wide.
    ///
    /// # Errors
    /// If the bounds are not finite, in the wrong order, or so far from zero that the range cannot
    /// be told from them.
    pub fn new(lower: f64, upper: f64, sensitivity: Distance) -> Result<Self, MechanismError> {
        require(lower.abs() <= 1e100, "lower bound", lower, "a number from -1e100 to 1e100")?;
        let accepted = "above the lower bound and at most 1e100";
        require(upper > lower && upper <= 1e100, "upper bound", upper, accepted)?;
        let range = upper - lower;
        let wide = range >= 1e-100 && range >= 1e-12 * upper.abs().max(lower.abs());
        let accepted = "above the lower bound by at least a trillionth of their magnitude";
        require(wide, "upper bound", upper, accepted)?;
        Ok(BoundedQuery { lower, upper, distance: sensitivity })
    }

    /// The same from what is known of one number.
    pub(crate) fn of(
        (lower, upper): (f64, f64),
        sensitivity: &Sensitivity,
    ) -> Result<Self, MechanismError> {
        Self::new(lower, upper, Distance::new(sensitivity.of_one_number("bounded noise")?)?)
    }

    /// Both bounds.
    pub fn bounds(&self) -> (f64, f64) {
        (self.lower, self.upper)
    }

    /// The lower bound.
    pub fn lower(&self) -> f64 {
        self.lower
    }

    /// The upper bound.
    pub fn upper(&self) -> f64 {
        self.upper
    }

    /// The most by which one privacy unit moves an answer, as it was given.
    pub fn sensitivity(&self) -> f64 {
        self.distance.get()
    }

    /// The query itself, before it is put on a lattice.
    pub(crate) fn ideal(&self) -> Interval {
        let width = self.upper - self.lower;
        let rest = exact_rest(self.upper, self.lower, width);
        Interval { range: [width, rest], sensitivity: self.distance.get() }
    }

    /// The bounds in steps of the lattice for noise of this scale, moved outward.
    pub(crate) fn on_lattice(&self, order: Order, scale: f64) -> Result<OnLattice, MechanismError> {
        self.put_on(lattice_for(order, scale, &[self.distance.get()])?, scale)
    }

    /// The bounds in steps of a lattice for noise of this scale, moved outward.
    pub(crate) fn put_on(&self, lattice: Lattice, scale: f64) -> Result<OnLattice, MechanismError> {
        let refuse = || {
            MechanismError::Refused(format!(
                "the bounds {:e} and {:e} are too far away for noise of scale {scale:e}",
                self.lower, self.upper
            ))
        };
        let steps = |value: f64, outward: i128| {
            let nearest = lattice.nearest(value)?;
            let inside = if outward < 0 {
                lattice.value(nearest) > value
            } else {
                lattice.value(nearest) < value
            };
            // A bound that is within 2^100 steps of zero; those that f64 cannot tell apart move by
            // a step to be sure.
            let far = nearest.unsigned_abs() > 1 << 53;
            Some(if inside || far { nearest + outward } else { nearest })
                .filter(|steps| steps.unsigned_abs() < 1 << 99)
        };
        let lower = steps(self.lower, -1).ok_or_else(refuse)?;
        let upper = steps(self.upper, 1).ok_or_else(refuse)?;
        // The guarantee is that of a range which is half a step wider at both ends.
        let cells = upper - lower + 1;
        let most = cells as f64;
        let rest = (cells - most as i128) as f64;
        let range = [most * lattice.spacing(), rest * lattice.spacing()];
        let sensitivity = lattice.sensitivity(self.distance.get())?;
        Ok(OnLattice { lattice, lower, upper, interval: Interval { range, sensitivity } })
    }
}

impl From<BoundedQuery> for Sensitivity {
    fn from(query: BoundedQuery) -> Self {
        query.distance.into()
    }
}

/// `upper - lower - width` for `width` the rounded difference (Knuth).
fn exact_rest(upper: f64, lower: f64, width: f64) -> f64 {
    let virtual_upper = width + lower;
    let virtual_lower = virtual_upper - width;
    (upper - virtual_upper) - (lower - virtual_lower)
}

/// What a guarantee is proved for: the width of the range, as an exact sum of two `f64`, and the
/// sensitivity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    pub(crate) range: [f64; 2],
    pub(crate) sensitivity: f64,
}

impl Interval {
    /// `R/b`.
    pub(crate) fn range<E: Enclosure>(&self, scale: f64, like: &E) -> E {
        (like.exactly(self.range[0]) + like.exactly(self.range[1])) / like.exactly(scale)
    }

    /// `D/b`, at most `R/b`.
    pub(crate) fn shift<E: Enclosure>(&self, scale: f64, like: &E) -> E {
        if self.covers_range() {
            self.range(scale, like)
        } else {
            like.exactly(self.sensitivity) / like.exactly(scale)
        }
    }

    /// Whether an answer may move from one bound to the other.
    pub(crate) fn covers_range(&self) -> bool {
        self.sensitivity >= self.range[0] || self.sensitivity - self.range[0] >= self.range[1]
    }

    /// The range as one number, rounded up.
    pub(crate) fn width(&self) -> f64 {
        reticent_numerics::rounding::add_up(self.range[0], self.range[1])
    }
}

/// A query on the lattice of its noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct OnLattice {
    pub(crate) lattice: Lattice,
    /// In steps.
    pub(crate) lower: i128,
    /// In steps.
    pub(crate) upper: i128,
    pub(crate) interval: Interval,
}
/// The least epsilon that is proved, as a guarantee.
///
/// # Errors
/// If none is: at order 100 the loss of noise of scale `1e-4` of the range is beyond every `f64`,
/// and infinity is no guarantee.
pub(crate) fn guaranteed(certified: Bounds) -> Result<f64, MechanismError> {
    if certified.upper().is_finite() {
        Ok(certified.upper())
    } else {
        Err(MechanismError::Refused(
            "no finite epsilon is proved for noise of this scale; a larger scale has one".into(),
        ))
    }
}
