//! Where a statement about a number begins to hold.
//!
//! # Method
//! The numbers of the range are counted in order, so that neighbouring `f64` have neighbouring
//! integers (*keys*), subnormals included. A bracket of two keys is narrowed by inverse
//! interpolation through up to four recent points (Alefeld, Potra, Shi, *Algorithm 748: enclosing
//! zeros of continuous functions*, ACM TOMS 21, 1995), in `ln x` while the bracket spans a factor
//! of two. The probe is moved past the interpolated crossing by the expected error of that
//! crossing, so that both ends of the bracket close in. When interpolation does not pay, keys are
//! bisected. A smooth function takes 8 to 16 evaluations from a range of a few orders of magnitude
//! down to neighbouring `f64`; a statement without estimates takes at most 80, and the safeguard
//! keeps any boundary below 500.

/// The index of `x` in the order of all `f64`; both zeros have the key 0.
pub(super) fn key(x: f64) -> i64 {
    let bits = x.to_bits() as i64;
    if bits < 0 { i64::MIN.wrapping_sub(bits) } else { bits }
}

/// The number of a key.
pub(super) fn number(key: i64) -> f64 {
    f64::from_bits(if key < 0 { i64::MIN.wrapping_sub(key) } else { key } as u64)
}

/// What one evaluation tells a search.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guide {
    /// Whether the statement is proved here.
    pub(super) holds: bool,
    /// An increasing figure that passes zero near the boundary; a NaN if there is none.
    pub(super) height: f64,
}

/// An evaluated key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub(super) key: i64,
    pub(super) guide: Guide,
}

/// A range as keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resolved {
    pub(super) lower: i64,
    pub(super) upper: i64,
    pub(super) guess: Option<i64>,
    /// The distance in keys at which a bracket is narrow enough.
    pub(super) resolution: u64,
}

impl Resolved {
    /// The last key found where the statement does not hold, and the first where it does. A missing
    /// side means that the whole range, as far as it was tried, lies on the other.
    pub(super) fn boundary(
        &self,
        seen: &[Point],
        mut probe: impl FnMut(i64) -> Guide,
    ) -> (Option<i64>, Option<i64>) {
        let mut at = |key: i64| Point { key, guide: probe(key) };
        let mut after =
            seen.iter().filter(|point| point.guide.holds).min_by_key(|point| point.key).copied();
        let limit = after.map_or(i64::MAX, |point| point.key);
        let mut before = seen
            .iter()
            .filter(|point| !point.guide.holds && point.key < limit)
            .max_by_key(|point| point.key)
            .copied();
        if before.is_none() && after.is_none() {
            let first = at(self.guess.unwrap_or(self.lower));
            *if first.guide.holds { &mut after } else { &mut before } = Some(first);
        }
        let mut recent = Recent::default();
        let factor_of_two = 1i64 << 52;
        let mut stride = if self.guess.is_some() { factor_of_two } else { i64::MAX };
        let (before, after) = loop {
            let next = match (before, after) {
                (Some(before), Some(after)) => break (before, after),
                (None, Some(after)) if after.key > self.lower => {
                    at(after.key.saturating_sub(stride).max(self.lower))
                }
                (Some(before), None) if before.key < self.upper => {
                    at(before.key.saturating_add(stride).min(self.upper))
                }
                _ => return (before.map(|point| point.key), after.map(|point| point.key)),
            };
            let side = if next.guide.holds { &mut after } else { &mut before };
            if let Some(left_behind) = side.replace(next) {
                recent.push(left_behind);
            }
            stride = stride.saturating_mul(2);
        };
        for &point in seen.iter().filter(|point| point.key != before.key && point.key != after.key)
        {
            recent.push(point);
        }
        let bracket = Bracket { before, after, recent }.narrow(self.resolution, at);
        (Some(bracket.before.key), Some(bracket.after.key))
    }

    /// Tries keys ever farther in from one end; the first that is `good`.
    pub(super) fn walk_in(&self, end: i64, mut good: impl FnMut(i64) -> bool) -> Option<i64> {
        let span = self.lower.abs_diff(self.upper);
        let keys = (2..=62)
            .rev()
            .step_by(4)
            .map(|halvings| (span >> halvings) as i64)
            .filter(|offset| *offset > 0);
        keys.map(|offset| if end == self.lower { end + offset } else { end - offset })
            .find(|key| good(*key))
    }
}

/// The two points that left the bracket last.
#[derive(Clone, Copy, Debug, Default)]
struct Recent([Option<Point>; 2]);

impl Recent {
    fn push(&mut self, point: Point) {
        self.0 = [Some(point), self.0[0]];
    }
}

/// Two keys between which the statement begins to hold.
#[derive(Clone, Copy, Debug)]
struct Bracket {
    before: Point,
    after: Point,
    recent: Recent,
}

impl Bracket {
    /// Probes that fail to halve the bracket, before it is bisected.
    const PATIENCE: u32 = 3;

    fn width(&self) -> u64 {
        self.before.key.abs_diff(self.after.key)
    }

    fn narrow(mut self, resolution: u64, mut at: impl FnMut(i64) -> Point) -> Self {
        let (mut stalled, mut one_sided, mut bisections) = (0, 0, 0);
        let mut last_side = None;
        while self.width() > resolution {
            let width = self.width();
            let interpolated = if stalled < Self::PATIENCE { self.crossing() } else { None };
            let probed = match interpolated {
                Some(crossing) => self.past(crossing, one_sided),
                None => {
                    stalled = 0;
                    bisections += 1;
                    self.middle(bisections)
                }
            };
            let point = at(probed);
            let side = if point.guide.holds { &mut self.after } else { &mut self.before };
            let left_behind = std::mem::replace(side, point);
            self.recent.push(left_behind);
            one_sided = if last_side == Some(point.guide.holds) { one_sided + 1 } else { 0 };
            last_side = Some(point.guide.holds);
            stalled = if self.width() > width / 2 { stalled + 1 } else { 0 };
        }
        self
    }

    /// The middle in keys, which is that of the exponents. Half of all keys between zero and one
    /// belong to numbers below `1e-150`, so a bracket of very different numbers is split in the
    /// middle of the numbers every other time. A statement without heights is taken to be about a
    /// scale, and is not.
    fn middle(&self, turn: u32) -> i64 {
        let (low, high) = (number(self.before.key), number(self.after.key));
        let very_different =
            (low <= 0.0 && high >= 0.0) || high / low > 1024.0 || low / high > 1024.0;
        let of_numbers = key(0.5 * low + 0.5 * high);
        let inside = self.before.key < of_numbers && of_numbers < self.after.key;
        if very_different && inside && turn % 2 == 1 && !self.before.guide.height.is_nan() {
            of_numbers
        } else {
            self.before.key + (self.width() / 2) as i64
        }
    }

    /// The key to probe: past the expected crossing, seen from the nearer end of the bracket, by
    /// the error of the expectation. The probe is then on the other side and still close. Each
    /// probe that was not far enough makes the next go four times as far.
    fn past(&self, crossing: Crossing, one_sided: u32) -> i64 {
        let from_before = self.before.key.abs_diff(crossing.key);
        let from_after = self.after.key.abs_diff(crossing.key);
        let step = from_before.min(from_after);
        let gallop = 1u64 << (2 * one_sided.min(20));
        let farther = step.saturating_add(crossing.error.saturating_mul(gallop).max(gallop / 2));
        // Beyond the middle the crossing itself is as good a probe.
        let taken = if farther > self.width() / 2 { step } else { farther } as i64;
        if from_before <= from_after { self.before.key + taken } else { self.after.key - taken }
    }

    /// Where the heights are expected to pass zero, strictly inside the bracket: inverse
    /// interpolation in Newton's form through the ends and the recent points, with as many points
    /// as have distinct heights in the right order.
    fn crossing(&self) -> Option<Crossing> {
        let (low, high) = (self.before, self.after);
        let (low_height, high_height) = (low.guide.height, high.guide.height);
        if !(low_height.is_finite() && high_height.is_finite() && low_height < high_height) {
            return None;
        }
        let (low_x, high_x) = (number(low.key), number(high.key));
        let logarithmic =
            (low_x > 0.0 && high_x > 2.0 * low_x) || (high_x < 0.0 && low_x < 2.0 * high_x);
        let origin = if low_height.abs() < high_height.abs() { low } else { high };
        let origin_x = number(origin.key);
        let coordinate = |point: Point| {
            let x = number(point.key);
            if logarithmic { x.abs().ln() - origin_x.abs().ln() } else { x - origin_x }
        };
        let inside = |coordinate: f64| {
            let x = if logarithmic { origin_x * coordinate.exp() } else { origin_x + coordinate };
            let found = key(x);
            (x.is_finite() && low.key <= found && found <= high.key)
                .then(|| found.clamp(low.key.saturating_add(1), high.key.saturating_sub(1)))
        };

        let other = if origin.key == low.key { high } else { low };
        let mut nodes = [(0.0, 0.0); 4];
        nodes[0] = (0.0, origin.guide.height);
        nodes[1] = (coordinate(other), other.guide.height);
        let mut count = 2;
        for point in self.recent.0.into_iter().flatten() {
            let node = (coordinate(point), point.guide.height);
            let in_order = nodes[..count]
                .iter()
                .all(|earlier| (node.0 - earlier.0) * (node.1 - earlier.1) > 0.0);
            if in_order
                && node.0.is_finite()
                && node.1.is_finite()
                && (!logarithmic || number(point.key) * origin_x > 0.0)
            {
                nodes[count] = node;
                count += 1;
            }
        }
        let (used, found) = (2..=count).rev().find_map(|used| {
            inside(inverse_interpolation_at_zero(&nodes[..used])).map(|found| (used, found))
        })?;
        // What one point fewer would have said differs by about the error of that.
        let coarser =
            if used > 2 { inside(inverse_interpolation_at_zero(&nodes[..used - 1])) } else { None };
        Some(Crossing {
            key: found,
            error: coarser.map_or(0, |coarser| coarser.abs_diff(found) / 4),
        })
    }
}

/// Where an interpolation expects the boundary, and how far off it may be, in keys.
#[derive(Clone, Copy, Debug)]
struct Crossing {
    key: i64,
    error: u64,
}

/// The polynomial through `(coordinate, height)` pairs, as a function of height, at height zero.
fn inverse_interpolation_at_zero(nodes: &[(f64, f64)]) -> f64 {
    let mut differences = [0.0; 4];
    for (difference, node) in differences.iter_mut().zip(nodes) {
        *difference = node.0;
    }
    for order in 1..nodes.len() {
        for index in (order..nodes.len()).rev() {
            differences[index] = (differences[index] - differences[index - 1])
                / (nodes[index].1 - nodes[index - order].1);
        }
    }
    let last = nodes.len() - 1;
    (0..last)
        .rev()
        .fold(differences[last], |value, index| value * -nodes[index].1 + differences[index])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_count_every_number_in_order() {
        for x in [0.0, 5e-324, 1.0, 1e300, f64::MAX, -5e-324, -1.0, -f64::MAX] {
            assert_eq!(number(key(x)), x);
            assert_eq!(number(key(x) - 1), x.next_down());
        }
        assert_eq!(key(-0.0), key(0.0));
    }

    #[test]
    fn interpolation_reproduces_the_inverse_of_a_cubic() {
        // x = y^3 + 2y + 5, so the crossing y = 0 is at x = 5.
        let node = |y: f64| (y * y * y + 2.0 * y + 5.0, y);
        let value = inverse_interpolation_at_zero(&[node(-1.0), node(2.0), node(3.0), node(0.5)]);
        assert!((value - 5.0).abs() < 1e-12, "{value}");
    }
}
