//! Sums of numbers that are known by their logarithms.
//!
//! A number may be zero: its logarithm is `-inf`, and [`exact_log`] makes the bounds `[-inf, -inf]`
//! of it. An upper bound of `inf` stays one.

use crate::rounding::{add_up, mul_up, two_sum};
use crate::{Bounds, Enclosure, ExactSum};
use std::cmp::Ordering;

/// The logarithm `value`, exactly, where `-inf` is the logarithm of zero; nothing is known of a
/// NaN.
pub fn exact_log(value: f64) -> Bounds {
    Bounds::new(value, value)
}

/// `ln(1 + exp(x))`, at any precision and without overflow.
///
/// For `x > 0` this is `x + ln(1 + exp(-x))`, whose second term is below `ln 2`.
pub fn ln_one_plus_exp<E: Enclosure>(x: E) -> E {
    match x.compare(&x.exactly(0.0)) {
        Some(Ordering::Greater) => x.clone() + (-x).exp().ln_1p(),
        _ => x.exp().ln_1p(),
    }
}

/// `ln(1 - exp(x))` for `x < 0`, at any precision and without cancellation.
///
/// Both `ln(-(exp(x) - 1))` and `ln(1 + (-exp(x)))` are this number. The first is accurate while
/// `exp(x) - 1` is not near `-1`, the second while `exp(x)` is not near 1; they change over at
/// `x = -ln 2`. (Mächler, *Accurately computing log(1 - exp(-|a|))*, 2012.)
pub fn ln_one_minus_exp<E: Enclosure>(x: E) -> E {
    match x.compare(&x.exactly(-std::f64::consts::LN_2)) {
        Some(Ordering::Less) => (-x.exp()).ln_1p(),
        _ => (-x.exp_m1()).ln(),
    }
}

/// `ln(exp(a) + exp(b))`.
///
/// It increases in both, so each bound is a value at two points: the larger of them plus
/// `ln(1 + exp(smaller - larger))`. The result is two or three units in the last place wider than
/// it must be.
pub fn ln_add_exp(a: Bounds, b: Bounds) -> Bounds {
    let at_lower = ln_add_exp_of_points(a.lower(), b.lower());
    if a.is_exact() && b.is_exact() {
        return at_lower;
    }
    Bounds::new(at_lower.lower(), ln_add_exp_of_points(a.upper(), b.upper()).upper())
}

fn ln_add_exp_of_points(a: f64, b: f64) -> Bounds {
    let (large, small) = if a >= b { (a, b) } else { (b, a) };
    if small == f64::NEG_INFINITY || large == f64::INFINITY {
        return exact_log(large);
    }
    let (large, small) = (Bounds::exact(large), Bounds::exact(small));
    large + ln_one_plus_exp(small - large)
}

/// `ln(exp(a) - exp(b))` for numbers with `a >= b`.
///
/// It increases in `a` and decreases in `b`, so each bound is a value at two points: `a` plus
/// `ln(1 - exp(b - a))`. Where the bounds on `a` and `b` overlap, the difference may be zero, and
/// the lower bound is `-inf`. Where they prove that `a < b`, nothing is known.
pub fn ln_sub_exp(a: Bounds, b: Bounds) -> Bounds {
    if a.upper() < b.lower() {
        return Bounds::WHOLE_LINE;
    }
    let lower = if a.lower() > b.upper() {
        ln_sub_exp_of_points(a.lower(), b.upper()).lower()
    } else {
        f64::NEG_INFINITY
    };
    let upper = ln_sub_exp_of_points(a.upper(), b.lower()).upper();
    Bounds::new(lower, upper)
}

fn ln_sub_exp_of_points(a: f64, b: f64) -> Bounds {
    if a == b && a != f64::INFINITY {
        return exact_log(f64::NEG_INFINITY);
    }
    if b == f64::NEG_INFINITY {
        return exact_log(a);
    }
    if a == f64::INFINITY {
        return Bounds::new(f64::NEG_INFINITY, a);
    }
    let (a, b) = (Bounds::exact(a), Bounds::exact(b));
    a + ln_one_minus_exp(b - a)
}

/// `ln(sum of exp(x))` over all terms `x`; `-inf` for no terms. See [`LogSum`].
pub fn ln_sum_exp(terms: impl IntoIterator<Item = Bounds>) -> Bounds {
    let mut sum = LogSum::new();
    terms.into_iter().for_each(|term| sum.add(term));
    sum.bounds()
}

/// Adds up numbers that are known by their logarithms.
///
/// # Numerics
/// The numbers are taken relative to an anchor, `exp(x - anchor)`, and summed exactly, the lower
/// and the upper bounds apart, so that the error does not grow with their number: the sum is known
/// to a relative `2^-50`, and its logarithm to that plus one unit in its last place. The anchor is
/// the first term, and moves only for one that is larger by 600; what was summed before such a move
/// picks up another relative `2^-50`, and counts for less by a factor `exp(-600)` with each further
/// move.
///
/// ```
/// use reticent_numerics::log_sum::{LogSum, exact_log};
///
/// let mut sum = LogSum::new();
/// for _ in 0..1000 {
///     sum.add(exact_log(-5000.0));
/// }
/// assert!(sum.bounds().contains(1000f64.ln() - 5000.0) && sum.bounds().width() < 4e-12);
/// ```
#[derive(Clone, Debug)]
pub struct LogSum {
    lower: DirectedLogSum,
    upper: DirectedLogSum,
}

impl Default for LogSum {
    fn default() -> Self {
        LogSum {
            lower: DirectedLogSum::new(Bounds::lower),
            upper: DirectedLogSum::new(Bounds::upper),
        }
    }
}

impl LogSum {
    /// The empty sum: the logarithm of zero.
    pub fn new() -> Self {
        LogSum::default()
    }

    /// Adds the number whose logarithm is `term`.
    pub fn add(&mut self, term: Bounds) {
        self.lower.add(term.lower());
        self.upper.add(term.upper());
    }

    /// The logarithm of the sum.
    pub fn bounds(&self) -> Bounds {
        Bounds::new(self.lower.logarithm(), self.upper.logarithm())
    }
}

/// How far a term may lie above the anchor. `exp(600)` is about `1e260`, so that `1e47` such terms
/// stay finite.
const ANCHOR_REACH: f64 = 600.0;

/// Terms this far below the anchor, where the sum is at least one, are bounded and not evaluated.
const NEGLIGIBLE: f64 = -740.0;

/// `ln(2)` in two parts: the first has 21 significant bits, so that its integer multiples are
/// exact.
const LN_2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
/// The rest of `ln(2)`, rounded down.
const LN_2_LOW: f64 = f64::from_bits(0x3dea_39ef_3579_3c76);

/// One of the two bounds of a [`LogSum`].
#[derive(Clone, Debug)]
struct DirectedLogSum {
    /// Which bound.
    side: fn(&Bounds) -> f64,
    /// `-inf` before the first term other than zero, `inf` from an infinite one on.
    anchor: f64,
    /// A bound on the sum of `exp(x - anchor)`.
    sum: ExactSum,
}

impl DirectedLogSum {
    fn new(side: fn(&Bounds) -> f64) -> Self {
        DirectedLogSum { side, anchor: f64::NEG_INFINITY, sum: ExactSum::new() }
    }

    fn add(&mut self, term: f64) {
        if term == f64::NEG_INFINITY || self.anchor == f64::INFINITY {
            return;
        }
        if term == f64::INFINITY {
            self.anchor = term;
            return;
        }
        if term - self.anchor > ANCHOR_REACH {
            self.move_anchor(term);
        }
        let [value, correction] = exp_of_difference(term, self.anchor);
        self.sum.add((self.side)(&value));
        self.sum.add((self.side)(&correction));
    }

    /// Takes the sum so far relative to the higher `anchor`.
    fn move_anchor(&mut self, anchor: f64) {
        if self.anchor.is_finite() {
            let [value, correction] = exp_of_difference(self.anchor, anchor);
            let so_far = self.sum.bounds() * (value + correction);
            self.sum = ExactSum::new();
            self.sum.add((self.side)(&so_far));
        }
        self.anchor = anchor;
    }

    /// `anchor + ln(sum)`, as `anchor + k ln(2) + ln(s)` with `sum = 2^k s` and `s` near one: the
    /// logarithm that is rounded is small, and all else is added up exactly.
    fn logarithm(&self) -> f64 {
        if self.anchor.is_infinite() {
            return self.anchor;
        }
        let sum = (self.side)(&self.sum.bounds());
        // Nearest to one in ratio: the bits of 2^k s with s in [0.75, 1.5) start with those of 2^k
        // once half a unit of its leading place is added.
        let exponent = ((sum.to_bits() + (1 << 51)) >> 52) as i32 - 1023;
        let fraction = Bounds::exact(sum).times_power_of_two(-exponent);
        let exponent = f64::from(exponent);
        let low = Bounds::new(LN_2_LOW, LN_2_LOW.next_up()) * Bounds::exact(exponent);
        let mut total = ExactSum::new();
        total.add(self.anchor);
        total.add(LN_2_HIGH * exponent);
        total.add((self.side)(&low));
        total.add((self.side)(&fraction.ln()));
        (self.side)(&total.bounds())
    }
}

/// `exp(x - anchor)` for `x - anchor <= ANCHOR_REACH`, as the sum of a value and a small
/// correction.
///
/// The difference is `d + t` with a rounding error `t` below `2^-43`, and
/// `exp(d) (1 + t) <= exp(d + t) <= exp(d) (1 + t + t^2)`.
fn exp_of_difference(x: f64, anchor: f64) -> [Bounds; 2] {
    if x - anchor < NEGLIGIBLE {
        return [Bounds::new(0.0, Bounds::exact(NEGLIGIBLE).exp().upper()), Bounds::ZERO];
    }
    let (difference, error) = two_sum(x, -anchor);
    let value = Bounds::exact(difference).exp();
    let excess = Bounds::new(error, add_up(error, mul_up(error, error)));
    [value, value * excess]
}
