//! Balls of arbitrary precision, for the comparisons that `f64` bounds leave open.

mod dyadic;
mod magnitude;

use crate::{Bounds, Enclosure};
use dashu_float::round::mode::HalfEven;
use dashu_float::{ConstCache, Context, FBig, Repr};
use dyadic::Dyadic;
use magnitude::Magnitude;
use std::cell::Cell;
use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// How many bits are computed beyond the precision that is claimed.
const GUARD_BITS: i64 = 16;

/// Numbers range from `2^-EXPONENT_LIMIT` to `2^EXPONENT_LIMIT` in magnitude. What is larger
/// becomes the whole line, what is smaller an interval that starts or ends at zero.
const EXPONENT_LIMIT: i64 = 1 << 40;

/// `exp` of an argument of `2^39` or more in magnitude is not evaluated.
const EXP_ARGUMENT_TOP: i64 = 39;

/// An arbitrary-precision enclosure: all reals within `radius` of `middle`.
///
/// # Representation
/// The midpoint is an exact dyadic rational, the radius a 32-bit number rounded up, both with
/// 64-bit exponents, so that neither overflows: a magnitude beyond `2^(2^40)` turns into the whole
/// line, and one below `2^-(2^40)` into an interval that ends at zero. A value carries its working
/// precision `p`, between 32 and `2^20` bits; two operands meet at the larger of theirs.
///
/// # Error of an operation
/// Sums, products, quotients and square roots are worked out in exact integers and cut to `p + 16`
/// bits; `exp`, `ln` and `pi` come from dashu-float at `p + 16` bits. Whenever a result is not
/// exact, a relative `2^-p` is added to its radius, which is `2^15` units in the last place of what
/// the library was asked for. So a defect in the rounding of that library, which claims half a
/// unit, cannot make a result wrong. (Such defects happen: one in a big-number dependency left the
/// noise of a released privacy library biased for two years.) What is trusted is exact integer
/// arithmetic, and that the library errs by less than `2^15` such units.
///
/// # Example
/// ```
/// use reticent_numerics::{Big, Enclosure};
/// use std::cmp::Ordering;
///
/// // 1 - exp(-2^-80) lies just below 2^-80, which 53 bits cannot see.
/// let tiny = Big::dyadic(&[1], -80, 256);
/// let probability = -(-tiny.clone()).exp_m1();
/// assert_eq!(probability.compare(&tiny), Some(Ordering::Less));
/// ```
#[derive(Clone)]
pub struct Big {
    /// `None` is the whole line.
    ball: Option<Ball>,
    precision: u32,
}

#[derive(Clone)]
struct Ball {
    middle: Dyadic,
    radius: Magnitude,
}

impl Ball {
    fn point(middle: Dyadic) -> Self {
        Ball { middle, radius: Magnitude::ZERO }
    }

    fn is_point(&self) -> bool {
        self.radius.is_zero()
    }

    fn lower(&self) -> Dyadic {
        self.middle.minus(&self.radius.to_dyadic())
    }

    fn upper(&self) -> Dyadic {
        self.middle.plus(&self.radius.to_dyadic())
    }

    /// An upper bound on every magnitude inside.
    fn magnitude(&self) -> Magnitude {
        Magnitude::at_least(&self.middle).plus(self.radius)
    }

    /// Whether the radius is more than a quarter of `scale`: there, the first-order bounds on how
    /// far a function moves are poor, and its values at the two ends are taken instead.
    fn is_wide_against(&self, scale: Magnitude) -> bool {
        self.radius.times_power_of_two(2).compare(scale) == Ordering::Greater
    }
}

impl Big {
    /// The number `value`, exactly, to be worked on with `precision` bits; the whole line for a NaN
    /// or an infinity.
    pub fn exact(value: f64, precision: u32) -> Self {
        if value.is_finite() {
            Big::point(Dyadic::from_f64(value), precision)
        } else {
            Big::whole_line(precision)
        }
    }

    /// `mantissa * 2^exponent`, exactly, where the mantissa is an unsigned integer given in limbs
    /// of 64 bits, the least significant first. All bits are kept, even beyond `precision`.
    pub fn dyadic(mantissa: &[u64], exponent: i32, precision: u32) -> Self {
        Big::point(Dyadic::from_limbs(mantissa, i64::from(exponent)), precision)
    }

    /// Nothing is known.
    pub fn whole_line(precision: u32) -> Self {
        Big { ball: None, precision: precision.clamp(32, 1 << 20) }
    }

    /// The same set, to be worked on with another precision from here on.
    pub fn with_precision(self, precision: u32) -> Self {
        Big { ball: self.ball, ..Big::whole_line(precision) }
    }

    /// Whether this is a single number.
    pub fn is_exact(&self) -> bool {
        self.ball.as_ref().is_some_and(Ball::is_point)
    }

    fn point(middle: Dyadic, precision: u32) -> Self {
        Big { ball: Some(Ball::point(middle)), ..Big::whole_line(precision) }
    }

    fn working_bits(&self) -> i64 {
        i64::from(self.precision) + GUARD_BITS
    }

    fn unknown(&self) -> Self {
        Big::whole_line(self.precision)
    }

    fn at(&self, middle: Dyadic) -> Self {
        Big::point(middle, self.precision)
    }

    /// The ball around `middle`, which is cut to the working precision; `exact` says whether it is
    /// the exact result and needs no allowance of a relative `2^-precision`.
    fn around(&self, middle: Dyadic, radius: Magnitude, exact: bool) -> Self {
        let (middle, kept) = middle.truncated(self.working_bits());
        let radius = if exact && kept { radius } else { radius.plus(self.allowance(&middle)) };
        Big { ball: self.within_limits(middle, radius), precision: self.precision }
    }

    fn allowance(&self, middle: &Dyadic) -> Magnitude {
        Magnitude::at_least(middle).times_power_of_two(-i64::from(self.precision))
    }

    /// A ball that holds the given one and whose exponents are moderate: no larger than the limits,
    /// and near enough to one another that the two ends are short numbers.
    fn within_limits(&self, middle: Dyadic, radius: Magnitude) -> Option<Ball> {
        let least = Magnitude::power_of_two(-EXPONENT_LIMIT);
        let (mut middle, mut radius) = (middle, radius);
        if !middle.is_zero() && middle.top() < -EXPONENT_LIMIT {
            let size = Magnitude::at_least(&middle);
            if radius.compare(Magnitude::at_most(&middle)) != Ordering::Greater {
                // Of one sign, and at most 2^(1 - EXPONENT_LIMIT).
                let end = Dyadic::power_of_two(-EXPONENT_LIMIT);
                return Some(Ball {
                    middle: if middle.is_negative() { end.negated() } else { end },
                    radius: least,
                });
            }
            (middle, radius) = (Dyadic::zero(), radius.plus(size));
        }
        if radius.is_zero() {
            return (middle.is_zero() || middle.top() <= EXPONENT_LIMIT)
                .then_some(Ball { middle, radius });
        }
        if radius.compare(least) == Ordering::Less {
            radius = least;
        }
        if !middle.is_zero() {
            let reach = 4 * self.working_bits();
            if middle.top() < radius.top() - reach {
                (middle, radius) = (Dyadic::zero(), radius.plus(Magnitude::at_least(&middle)));
            } else if radius.top() < middle.exponent() - reach {
                radius = Magnitude::power_of_two(middle.exponent() - reach);
            }
        }
        let top = if middle.is_zero() { radius.top() } else { middle.top().max(radius.top()) };
        (top <= EXPONENT_LIMIT).then_some(Ball { middle, radius })
    }

    /// The ball that spans from `lower` to `upper`. The end that is nearer to zero is kept to the
    /// working precision, and never carried past zero; the other one to a relative `2^-26`.
    fn spanning(&self, lower: &Dyadic, upper: &Dyadic) -> Self {
        if lower.is_negative() && upper.compare(&lower.negated()) == Ordering::Less {
            return -self.spanning(&upper.negated(), &lower.negated());
        }
        let Some(width) = (self.at(upper.clone()) - self.at(lower.clone())).ball else {
            return self.unknown();
        };
        // The midpoint is lower + radius, less what is cut off there, at most 2^(2-bits) |upper|.
        // So the lower end is kept but for that; and the upper end, lower + 2 radius less the same,
        // is covered because that much, and a relative 2^-28 for the replaced anchor below, is in
        // the radius.
        let half = width.magnitude().times_power_of_two(-1);
        let cut_off = Magnitude::at_least(upper).times_power_of_two(2 - self.working_bits());
        let radius = half.plus(half.times_power_of_two(-28)).plus(cut_off);
        let lowest_bit = radius.top() - self.working_bits();
        let anchor = match lower.is_negative() {
            _ if lower.is_zero() || lower.top() >= lowest_bit => lower.clone(),
            true => Dyadic::power_of_two(lowest_bit).negated(),
            false => Dyadic::zero(),
        };
        let (middle, _) = anchor.plus(&radius.to_dyadic()).truncated(self.working_bits());
        let ball = self.around(middle, radius, true);
        if lower.is_negative() || ball.ball.as_ref().is_none_or(|ball| !ball.lower().is_negative())
        {
            return ball;
        }
        let radius = Magnitude::at_least(upper).times_power_of_two(-1);
        self.around(radius.to_dyadic(), radius, true)
    }

    /// The image under an increasing function, from its values at the two ends.
    fn by_ends(&self, ball: &Ball, function: impl Fn(Big) -> Big) -> Self {
        function(self.at(ball.lower())).hull(function(self.at(ball.upper())))
    }

    /// The set widened by `distance` to both sides; nothing is known where there is no distance.
    fn widened(self, distance: impl FnOnce(&Ball) -> Option<Magnitude>) -> Self {
        let Some(ball) = self.ball.as_ref() else { return self };
        match distance(ball) {
            Some(distance) => self.around(ball.middle.clone(), ball.radius.plus(distance), true),
            None => self.unknown(),
        }
    }

    /// Asks dashu-float for a function of `x` at the working precision. An error it reports, or an
    /// infinity, becomes the whole line.
    fn library_value(&self, x: &Dyadic, extra_bits: i64, function: LibraryFunction) -> Self {
        // Cutting the argument off at these bits moves the result by far less than the allowance.
        let (x, _) = x.clone().truncated(self.working_bits() + extra_bits);
        let Ok(exponent) = isize::try_from(x.exponent()) else { return self.unknown() };
        let argument = Repr::new(x.mantissa().clone(), exponent);
        let context = Context::<HalfEven>::new(self.working_bits() as usize);
        match with_constants(|constants| function(&context, &argument, constants)) {
            Some(value) => self.approximately(value),
            None => self.unknown(),
        }
    }

    fn approximately(&self, value: FBig<HalfEven>) -> Self {
        let repr = value.into_repr();
        if repr.is_infinite() {
            return self.unknown();
        }
        let (mantissa, exponent) = repr.into_parts();
        self.around(Dyadic::new(mantissa, exponent as i64), Magnitude::ZERO, false)
    }

    fn exp_of_point(&self, x: &Dyadic) -> Self {
        if x.is_zero() {
            return self.at(Dyadic::integer(1));
        }
        if x.top() > EXP_ARGUMENT_TOP {
            if !x.is_negative() {
                return self.unknown();
            }
            // 0 < exp(x) < 2^x, with x at most -2^EXP_ARGUMENT_TOP.
            let half = Magnitude::power_of_two(-(1 << EXP_ARGUMENT_TOP) - 1);
            return self.around(half.to_dyadic(), half, true);
        }
        if x.top() < -self.working_bits() {
            // |exp(x) - 1| <= 2 |x| for |x| <= 1.
            return self.around(
                Dyadic::integer(1),
                Magnitude::at_least(x).times_power_of_two(1),
                true,
            );
        }
        // An argument below 2^39 in magnitude, cut at a relative 2^-48 of the working precision.
        self.library_value(x, 48, |context, x, constants| {
            Some(context.exp(x, Some(constants)).ok()?.value())
        })
    }

    /// `exp(x) - 1` for `|x| < 1/2`.
    fn exp_m1_of_small_point(&self, x: &Dyadic) -> Self {
        self.near_identity(x, |context, x, constants| {
            Some(context.exp_m1(x, Some(constants)).ok()?.value())
        })
    }

    /// `ln(1 + x)` for `|x| <= 1/2`.
    fn ln_1p_of_small_point(&self, x: &Dyadic) -> Self {
        self.near_identity(x, |context, x, constants| {
            Some(context.ln_1p(x, Some(constants)).ok()?.value())
        })
    }

    /// A function `f` with `|f(x) - x| <= x^2` for `|x| <= 1/2`, as `exp(x) - 1` and `ln(1 + x)`
    /// are: from that bound where it is sharp enough, elsewhere from the library.
    fn near_identity(&self, x: &Dyadic, function: LibraryFunction) -> Self {
        if x.is_zero() {
            return self.at(Dyadic::zero());
        }
        if x.top() < -self.working_bits() {
            let size = Magnitude::at_least(x);
            return self.around(x.clone(), size.times(size), true);
        }
        self.library_value(x, 8, function)
    }

    fn sqrt_of_point(&self, x: &Dyadic) -> Self {
        let (root, exact) = x.square_root(self.working_bits());
        self.around(root, Magnitude::ZERO, exact)
    }

    /// `ln(x)` for `x > 0`, as `k ln(2) + ln(1 + y)` with `x = 2^k (1 + y)` and `y` in
    /// `[-1/4, 1/2)`.
    ///
    /// `y` is exact, so nothing cancels near one; and `|ln(1 + y)| < 0.6 |k ln(2)|` for other `k`
    /// than zero, so nothing cancels elsewhere.
    fn ln_of_point(&self, x: &Dyadic) -> Self {
        let mut power = x.top();
        if x.compare(&Dyadic::new(3.into(), power - 2)) == Ordering::Less {
            power -= 1;
        }
        let y = x.times_power_of_two(-power).minus(&Dyadic::integer(1));
        let fraction = self.ln_1p_of_small_point(&y);
        if power == 0 {
            return fraction;
        }
        let ln_2 = self
            .approximately(with_constants(|constants| constants.ln2(self.working_bits() as usize)));
        self.at(Dyadic::integer(power)) * ln_2 + fraction
    }
}

type LibraryFunction = fn(&Context<HalfEven>, &Repr<2>, &mut ConstCache) -> Option<FBig<HalfEven>>;

/// Lends the thread's table of constants (the series for `ln 2` and `pi`, extended as precision
/// grows), or an empty one where a thread that ends has lost it.
fn with_constants<T>(function: impl FnOnce(&mut ConstCache) -> T) -> T {
    thread_local! {
        static CONSTANTS: Cell<ConstCache> = const { Cell::new(ConstCache::new()) };
    }
    let mut constants = CONSTANTS.try_with(Cell::take).unwrap_or_default();
    let result = function(&mut constants);
    // Nothing depends on the table being kept.
    let _ = CONSTANTS.try_with(|slot| slot.set(constants));
    result
}

/// An upper bound on `exp(r) - 1` for `0 <= r <= 1/4`: the series is below `r + r^2`.
fn exp_m1_above(r: Magnitude) -> Magnitude {
    r.plus(r.times(r))
}

impl fmt::Debug for Big {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {} bits", self.bounds(), self.precision)
    }
}

impl Neg for Big {
    type Output = Big;
    fn neg(self) -> Big {
        let ball =
            self.ball.map(|ball| Ball { middle: ball.middle.negated(), radius: ball.radius });
        Big { ball, precision: self.precision }
    }
}

/// The two balls and the whole line at the larger of the two precisions, or only the latter.
fn both(a: Big, b: Big) -> Result<(Ball, Ball, Big), Big> {
    let result = Big::whole_line(a.precision.max(b.precision));
    match (a.ball, b.ball) {
        (Some(a), Some(b)) => Ok((a, b, result)),
        _ => Err(result),
    }
}

impl Add for Big {
    type Output = Big;
    fn add(self, other: Big) -> Big {
        let (a, b, result) = match both(self, other) {
            Ok(operands) => operands,
            Err(unknown) => return unknown,
        };
        let radius = a.radius.plus(b.radius);
        // An addend that lies wholly below the bits that are kept goes into the radius instead.
        let reach = result.working_bits() + 4;
        let (large, small) =
            if b.middle.is_zero() || (!a.middle.is_zero() && a.middle.top() >= b.middle.top()) {
                (a, b)
            } else {
                (b, a)
            };
        let (large, small) = (large.middle, small.middle);
        if !small.is_zero()
            && small.top() < large.top() - reach
            && small.exponent() < large.exponent() - reach
        {
            return result.around(large, radius.plus(Magnitude::at_least(&small)), true);
        }
        result.around(large.plus(&small), radius, true)
    }
}

impl Sub for Big {
    type Output = Big;
    fn sub(self, other: Big) -> Big {
        self + -other
    }
}

impl Mul for Big {
    type Output = Big;
    fn mul(self, other: Big) -> Big {
        let (a, b, result) = match both(self, other) {
            Ok(operands) => operands,
            Err(unknown) => return unknown,
        };
        // |(a + s)(b + t) - ab| <= |a| |t| + |s| (|b| + |t|).
        let radius =
            Magnitude::at_least(&a.middle).times(b.radius).plus(a.radius.times(b.magnitude()));
        result.around(a.middle.times(&b.middle), radius, true)
    }
}

impl Div for Big {
    type Output = Big;
    fn div(self, other: Big) -> Big {
        let (a, b, result) = match both(self, other) {
            Ok(operands) => operands,
            Err(unknown) => return unknown,
        };
        let nearest = if b.middle.is_negative() { b.upper().negated() } else { b.lower() };
        if nearest.is_zero() || nearest.is_negative() {
            return result;
        }
        // |(a + s)/(b + t) - a/b| = |s - (a/b) t| / |b + t|. The quotient is cut below, by a relative
        // amount that at_least(quotient) + allowance covers.
        let (quotient, exact) = a.middle.over(&b.middle, result.working_bits());
        let size = Magnitude::at_least(&quotient).plus(result.allowance(&quotient));
        match a.radius.plus(size.times(b.radius)).over(Magnitude::at_most(&nearest)) {
            Some(radius) => result.around(quotient, radius, exact),
            None => result,
        }
    }
}

impl Enclosure for Big {
    fn exactly(&self, value: f64) -> Self {
        Big::exact(value, self.precision)
    }

    fn precision(&self) -> u32 {
        self.precision
    }

    fn bounds(&self) -> Bounds {
        match &self.ball {
            Some(ball) => Bounds::new(ball.lower().f64_below(), ball.upper().f64_above()),
            None => Bounds::WHOLE_LINE,
        }
    }

    fn exp(self) -> Self {
        let Some(ball) = &self.ball else { return self };
        let far = !ball.middle.is_zero() && ball.middle.top() > EXP_ARGUMENT_TOP;
        if !ball.is_point() && (far || ball.is_wide_against(Magnitude::power_of_two(0))) {
            return self.by_ends(ball, Big::exp);
        }
        // |exp(x + t) - exp(x)| <= exp(x) (exp(r) - 1) for |t| <= r.
        let value = self.exp_of_point(&ball.middle);
        value.widened(|value| Some(value.magnitude().times(exp_m1_above(ball.radius))))
    }

    fn exp_m1(self) -> Self {
        let Some(ball) = &self.ball else { return self };
        if ball.is_wide_against(Magnitude::power_of_two(0)) {
            return self.by_ends(ball, Big::exp_m1);
        }
        if !ball.middle.is_zero() && ball.middle.top() >= 0 {
            // Outside of [-1/2, 1/2] the subtraction costs less than two bits.
            let one = self.exactly(1.0);
            return self.exp() - one;
        }
        // As for exp, where exp(x) <= 1 + |exp(x) - 1|.
        let value = self.exp_m1_of_small_point(&ball.middle);
        let one = Magnitude::power_of_two(0);
        value.widened(|value| Some(value.magnitude().plus(one).times(exp_m1_above(ball.radius))))
    }

    fn ln(self) -> Self {
        let Some(ball) = &self.ball else { return self };
        let lower = ball.lower();
        if lower.is_zero() || lower.is_negative() {
            return self.unknown();
        }
        if ball.is_wide_against(Magnitude::at_most(&ball.middle)) {
            return self.by_ends(ball, Big::ln);
        }
        // The slope of ln is at most 1/lower.
        self.ln_of_point(&ball.middle).widened(|_| ball.radius.over(Magnitude::at_most(&lower)))
    }

    fn ln_1p(self) -> Self {
        let Some(ball) = &self.ball else { return self };
        let lower = ball.lower();
        if lower.compare(&Dyadic::integer(-1)) != Ordering::Greater {
            return self.unknown();
        }
        if ball.is_wide_against(Magnitude::power_of_two(-1)) {
            return self.by_ends(ball, Big::ln_1p);
        }
        if !ball.middle.is_zero() && ball.middle.top() >= 0 {
            // Outside of [-1/2, 1/2] the sum is no nearer to one than x is to zero, within a factor
            // of two.
            return (self.exactly(1.0) + self).ln();
        }
        // The slope of ln(1 + x) is at most 1/(1 + lower).
        let nearest = Dyadic::integer(1).plus(&lower);
        self.ln_1p_of_small_point(&ball.middle)
            .widened(|_| ball.radius.over(Magnitude::at_most(&nearest)))
    }

    fn sqrt(self) -> Self {
        let Some(ball) = &self.ball else { return self };
        let (lower, upper) = (ball.lower(), ball.upper());
        if upper.is_negative() {
            return self.unknown();
        }
        if lower.is_negative() || lower.is_zero() {
            // The number itself is not negative.
            return match self.sqrt_of_point(&upper).ball {
                Some(root) => self.spanning(&Dyadic::zero(), &root.upper()),
                None => self.unknown(),
            };
        }
        if ball.is_wide_against(Magnitude::at_most(&ball.middle)) {
            return self.by_ends(ball, Big::sqrt);
        }
        // |sqrt(x + t) - sqrt(x)| <= r / (2 sqrt(lower)) <= r sqrt(x) / (2 lower).
        let value = self.sqrt_of_point(&ball.middle);
        value.widened(|value| {
            ball.radius
                .times(value.magnitude())
                .times_power_of_two(-1)
                .over(Magnitude::at_most(&lower))
        })
    }

    fn pi(&self) -> Self {
        self.approximately(with_constants(|constants| {
            constants.pi(self.working_bits() as usize).value()
        }))
    }

    fn hull(self, other: Self) -> Self {
        let (a, b, result) = match both(self, other) {
            Ok(operands) => operands,
            Err(unknown) => return unknown,
        };
        let below = a.lower().compare(&b.lower()) != Ordering::Greater;
        let above = a.upper().compare(&b.upper()) != Ordering::Less;
        match (below, above) {
            (true, true) => Big { ball: Some(a), ..result },
            (false, false) => Big { ball: Some(b), ..result },
            (true, false) => result.spanning(&a.lower(), &b.upper()),
            (false, true) => result.spanning(&b.lower(), &a.upper()),
        }
    }

    fn times_power_of_two(self, exponent: i32) -> Self {
        let exponent = i64::from(exponent);
        let ball = self.ball.as_ref().and_then(|ball| {
            self.within_limits(
                ball.middle.times_power_of_two(exponent),
                ball.radius.times_power_of_two(exponent),
            )
        });
        Big { ball, precision: self.precision }
    }

    fn compare(&self, other: &Self) -> Option<Ordering> {
        let (a, b) = (self.ball.as_ref()?, other.ball.as_ref()?);
        if a.is_point() && b.is_point() {
            return Some(a.middle.compare(&b.middle));
        }
        if a.upper().compare(&b.lower()) == Ordering::Less {
            Some(Ordering::Less)
        } else if a.lower().compare(&b.upper()) == Ordering::Greater {
            Some(Ordering::Greater)
        } else {
            None
        }
    }
}
