//! Rules that denoise each value by itself, as piecewise linear functions.

/// A piecewise linear function `rho` of a value in units of its noise's scale, perhaps with jumps:
/// value `y_i` becomes `s_i rho(y_i / s_i)`.
///
/// Every rule that treats values one by one is one of these, or is made one by interpolation:
/// thresholds, clipping, linear shrinkage, posterior means. It is worth the interpolation, because
/// the unbiased estimate of a piecewise linear rule's risk is exact in closed form for each noise
/// that has one ([`crate::unbiased`]).
#[derive(Clone, Debug, PartialEq)]
pub struct PiecewiseLinear {
    /// Where the slope changes or a jump is, in increasing order; at least one.
    knots: Vec<Knot>,
    /// The slope before the first knot, between each two, and after the last.
    slopes: Vec<f64>,
}

/// A position where two pieces meet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Knot {
    /// The position.
    pub at: f64,
    /// The limit from below.
    pub below: f64,
    /// The limit from above, and the value.
    pub above: f64,
}

impl PiecewiseLinear {
    /// `intercept + slope z`.
    pub fn affine(intercept: f64, slope: f64) -> Self {
        Self::joining(vec![Knot { at: 0.0, below: intercept, above: intercept }], slope, slope)
    }

    /// `sign(z) max(|z| - threshold, 0)`.
    pub fn soft_threshold(threshold: f64) -> Self {
        let zero = |at| Knot { at, below: 0.0, above: 0.0 };
        Self::joining(vec![zero(-threshold), zero(threshold)], 1.0, 1.0)
    }

    /// `z` where `|z| > threshold` and 0 elsewhere.
    pub fn hard_threshold(threshold: f64) -> Self {
        let knots = vec![
            Knot { at: -threshold, below: -threshold, above: 0.0 },
            Knot { at: threshold, below: 0.0, above: threshold },
        ];
        Self::joining(knots, 1.0, 1.0)
    }

    /// The interpolation of points in increasing order, continued with the given slopes. `None` if
    /// there are no points.
    pub fn interpolating(
        points: &[(f64, f64)],
        slope_before: f64,
        slope_after: f64,
    ) -> Option<Self> {
        let knots: Vec<_> =
            points.iter().map(|&(at, value)| Knot { at, below: value, above: value }).collect();
        (!knots.is_empty()).then(|| Self::joining(knots, slope_before, slope_after))
    }

    /// Lines from knot to knot. Two at one position, as for a threshold of 0, have no values
    /// between them, and any slope will do.
    fn joining(knots: Vec<Knot>, slope_before: f64, slope_after: f64) -> Self {
        let between = knots.windows(2).map(|pair| {
            let length = pair[1].at - pair[0].at;
            if length > 0.0 { (pair[1].below - pair[0].above) / length } else { 0.0 }
        });
        let slopes = std::iter::once(slope_before).chain(between).chain([slope_after]).collect();
        PiecewiseLinear { knots, slopes }
    }

    /// `min(max(rho(z), lower), upper)`: knots are added where a piece crosses a bound.
    pub fn clamped(&self, lower: f64, upper: f64) -> Self {
        let clamp = |value: f64| value.max(lower).min(upper);
        let mut knots = Vec::with_capacity(self.knots.len() + 4);
        // Where the line through `(at, value)` meets a bound.
        let crossings = |at: f64, value: f64, slope: f64| {
            let mut found: Vec<f64> = [lower, upper]
                .into_iter()
                .filter(|bound| bound.is_finite() && slope != 0.0)
                .map(|bound| at + (bound - value) / slope)
                .collect();
            found.sort_unstable_by(f64::total_cmp);
            found
        };
        let edge = |at: f64, value: f64| Knot { at, below: clamp(value), above: clamp(value) };
        let on_line =
            |knots: &mut Vec<Knot>, at: f64, value: f64, slope: f64, from: f64, to: f64| {
                for position in crossings(at, value, slope)
                    .into_iter()
                    .filter(|position| *position > from && *position < to)
                {
                    knots.push(edge(position, value + slope * (position - at)));
                }
            };
        let (first, last) = (self.knots[0], self.knots[self.knots.len() - 1]);
        on_line(
            &mut knots,
            first.at,
            first.below,
            self.slope_before(),
            f64::NEG_INFINITY,
            first.at,
        );
        for (index, knot) in self.knots.iter().enumerate() {
            knots.push(Knot { at: knot.at, below: clamp(knot.below), above: clamp(knot.above) });
            if let Some(next) = self.knots.get(index + 1) {
                on_line(
                    &mut knots,
                    knot.at,
                    knot.above,
                    self.slope_between(index),
                    knot.at,
                    next.at,
                );
            }
        }
        on_line(&mut knots, last.at, last.above, self.slope_after(), last.at, f64::INFINITY);
        // Far out a line that is not level has left the bounds on one side, if there is a bound
        // there.
        let beyond = |slope: f64, upwards: bool| {
            let held = if upwards { upper.is_finite() } else { lower.is_finite() };
            if slope == 0.0 || held { 0.0 } else { slope }
        };
        let slope_before = beyond(self.slope_before(), self.slope_before() < 0.0);
        let slope_after = beyond(self.slope_after(), self.slope_after() > 0.0);
        Self::joining(knots, slope_before, slope_after)
    }

    /// `rho(z)`.
    pub fn apply(&self, z: f64) -> f64 {
        self.piece(z).at(z)
    }

    /// `rho'(z)`, the slope to the right at a knot.
    pub fn slope(&self, z: f64) -> f64 {
        self.piece(z).slope
    }

    /// The slope, if it is the same everywhere and there are no jumps.
    pub fn constant_slope(&self) -> Option<f64> {
        let slope = self.slope_before();
        let constant = self.is_continuous() && self.slopes.iter().all(|other| *other == slope);
        constant.then_some(slope)
    }

    /// Whether it has no jumps.
    pub fn is_continuous(&self) -> bool {
        self.knots.iter().all(|knot| knot.below == knot.above)
    }

    pub(crate) fn knots(&self) -> &[Knot] {
        &self.knots
    }

    pub(crate) fn slope_before(&self) -> f64 {
        self.slopes[0]
    }

    pub(crate) fn slope_after(&self) -> f64 {
        self.slopes[self.knots.len()]
    }

    /// The slope between knot `index` and the next.
    pub(crate) fn slope_between(&self, index: usize) -> f64 {
        self.slopes[index + 1]
    }

    /// How many knots are at or below `z`.
    #[inline]
    pub(crate) fn rank(&self, z: f64) -> usize {
        // Two knots, as a threshold has, are the common case and worth no search.
        if let [first, second] = self.knots.as_slice() {
            return usize::from(first.at <= z) + usize::from(second.at <= z);
        }
        self.knots.partition_point(|knot| knot.at <= z)
    }

    #[inline]
    pub(crate) fn piece(&self, z: f64) -> Piece {
        self.piece_of_rank(self.rank(z))
    }

    /// The piece after so many knots.
    #[inline]
    pub(crate) fn piece_of_rank(&self, rank: usize) -> Piece {
        let (from, value) = match rank.checked_sub(1) {
            None => (self.knots[0].at, self.knots[0].below),
            Some(left) => (self.knots[left].at, self.knots[left].above),
        };
        Piece { from, value, slope: self.slopes[rank] }
    }
}

/// A line through `(from, value)`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    from: f64,
    value: f64,
    slope: f64,
}

impl Piece {
    pub(crate) fn slope(&self) -> f64 {
        self.slope
    }

    pub(crate) fn at(&self, z: f64) -> f64 {
        self.value + self.slope * (z - self.from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_their_formulas() {
        let (soft, hard) =
            (PiecewiseLinear::soft_threshold(1.5), PiecewiseLinear::hard_threshold(1.5));
        let line = PiecewiseLinear::affine(2.0, 0.25);
        for step in -40..=40 {
            let z = 0.0999 * f64::from(step);
            assert!((soft.apply(z) - z.signum() * (z.abs() - 1.5).max(0.0)).abs() < 1e-15, "{z}");
            assert!((hard.apply(z) - if z.abs() > 1.5 { z } else { 0.0 }).abs() < 1e-15, "{z}");
            assert_eq!(line.apply(z), 2.0 + 0.25 * z);
            assert_eq!(soft.slope(z), f64::from(u8::from(z.abs() > 1.5)));
        }
        assert_eq!((line.constant_slope(), soft.constant_slope()), (Some(0.25), None));
        assert!(soft.is_continuous() && !hard.is_continuous());
    }

    #[test]
    fn clamping_a_rule_is_clamping_its_values() {
        let points = [(-1.0, 3.0), (0.5, -2.0), (2.0, 1.0)];
        let rules = [
            PiecewiseLinear::interpolating(&points, -0.5, 1.5).expect("points"),
            PiecewiseLinear::hard_threshold(0.7),
            PiecewiseLinear::soft_threshold(0.7),
            PiecewiseLinear::soft_threshold(0.0),
            PiecewiseLinear::affine(1.0, 0.4),
            PiecewiseLinear::affine(0.2, 0.0),
        ];
        for rule in rules {
            for (lower, upper) in
                [(0.0, f64::INFINITY), (-0.5, 1.2), (f64::NEG_INFINITY, 0.3), (2.0, 9.0)]
            {
                let clamped = rule.clamped(lower, upper);
                for step in -500..=500 {
                    let z = 0.0999 * f64::from(step);
                    let expected = rule.apply(z).max(lower).min(upper);
                    assert!(
                        (clamped.apply(z) - expected).abs() < 1e-12,
                        "{rule:?} {lower} {upper} {z}"
                    );
                }
            }
        }
    }

    #[test]
    fn interpolation_meets_its_points() {
        let points = [(-1.0, 3.0), (0.5, 0.0), (2.0, 1.0)];
        let rule = PiecewiseLinear::interpolating(&points, 0.0, 1.0).expect("points");
        for (z, value) in points {
            assert_eq!(rule.apply(z), value);
        }
        assert_eq!((rule.apply(-9.0), rule.apply(5.0), rule.apply(1.25)), (3.0, 4.0, 0.5));
        assert_eq!(PiecewiseLinear::interpolating(&[], 0.0, 0.0), None);
    }
}
