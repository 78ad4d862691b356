//! Integrals with a proved remainder.
//!
//! Three rules, by what is known of the integrand, over one adaptive subdivision:
//!
//! | function | needs | width after `N` pieces |
//! |---|---|---|
//! | [`integrate`] | a formula over [`Enclosure`] | `N^-order` where it is smooth |
//! | [`integrate_convex`] | enclosures at points, convexity | `N^-2` |
//! | [`integrate_monotone`] | enclosures at points, monotonicity | `N^-1` |
//!
//! The result always encloses the integral. Tolerances and the budget of pieces decide only how
//! narrow it is. Pieces are added pairwise, so that `N` of them cost `log2 N` roundings and not
//! `N`.

use crate::root::Direction;
use crate::{Bounds, Enclosure, Jet};

/// A formula `f`, to be evaluated at points, on intervals and on [`Jet`]s, in any precision.
///
/// # Contract
/// `at(x)` encloses `f(x)` for every number in `x`, and obeys the rules of [`Jet`] for formulas
/// that are to be differentiated.
pub trait Integrand {
    /// `f(x)`.
    fn at<E: Enclosure>(&self, x: &E) -> E;
}

/// When to stop subdividing: as soon as either tolerance is met, or the pieces are used up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// The width that is good enough, relative to the integral.
    pub relative_tolerance: f64,
    /// The width that is good enough.
    pub absolute_tolerance: f64,
    /// The largest number of pieces.
    pub pieces: usize,
    /// The order of the Taylor expansions of [`integrate`], rounded up to an even number.
    pub order: usize,
}

impl Default for Options {
    /// A relative width of `1e-13`, for which order 24 and a few pieces serve on smooth integrands.
    fn default() -> Self {
        Options { relative_tolerance: 1e-13, absolute_tolerance: 0.0, pieces: 2000, order: 24 }
    }
}

/// An enclosure of the integral of `f` from `lower` to `upper`, in the kind of enclosure that
/// `like` is.
///
/// # Method
/// Taylor's theorem with Lagrange's remainder on each piece, the remainder from a jet over all of
/// it (Moore, Kearfott, Cloud, *Introduction to Interval Analysis*, chapter 9; Corliss, Rall,
/// *Adaptive, self-validating numerical quadrature*, SIAM J. Sci. Stat. Comput. 8, 1987). The
/// remainders are computed in [`Bounds`], whatever `like` is. Proof:
/// docs/proofs/taylor_quadrature.md.
///
/// # Direction of error
/// Outward. An end that is a NaN or infinite gives the whole line. `lower > upper` gives the
/// negative of the integral from `upper` to `lower`.
///
/// # Example
/// ```
/// use reticent_numerics::quadrature::{Integrand, Options, integrate};
/// use reticent_numerics::{Bounds, Enclosure};
/// struct Bell;
/// impl Integrand for Bell {
///     fn at<E: Enclosure>(&self, x: &E) -> E {
///         (-(x.clone() * x.clone())).exp()
///     }
/// }
/// let area = integrate(&Bell, &Bounds::ZERO, -9.0, 9.0, &Options::default());
/// assert!(area.contains(std::f64::consts::PI.sqrt()) && area.relative_width() < 1e-13);
/// ```
pub fn integrate<E: Enclosure>(
    f: &impl Integrand,
    like: &E,
    lower: f64,
    upper: f64,
    options: &Options,
) -> E {
    if lower > upper {
        return -integrate(f, like, upper, lower, options);
    }
    if !(lower.is_finite() && upper.is_finite()) {
        return like.exactly(f64::NAN);
    }
    if lower == upper {
        return like.exactly(0.0);
    }
    let order = options.order.next_multiple_of(2);
    let whole = taylor_piece(f, like, lower, upper, order);
    let pieces = subdivide(whole, options, |piece| {
        let middle = inner_point(piece.lower, piece.upper)?;
        Some([
            taylor_piece(f, like, piece.lower, middle, order),
            taylor_piece(f, like, middle, piece.upper, order),
        ])
    });
    total(pieces, like)
}

/// An enclosure of the integral of `f` from `lower` to infinity, for a caller who encloses the rest
/// beyond `cut`: `integrate(lower, cut) + tail`.
///
/// # Contract
/// `tail` holds the integral of `f` from `cut` to infinity. For a positive and log-concave `f` with
/// slope `-s = f'(cut)/f(cut) < 0`, for example, it lies between 0 and `f(cut)/s`.
pub fn integrate_with_tail<E: Enclosure>(
    f: &impl Integrand,
    lower: f64,
    cut: f64,
    tail: E,
    options: &Options,
) -> E {
    integrate(f, &tail, lower, cut, options) + tail
}

/// An enclosure of the integral, from `lower` to `upper`, of a monotone function that is known by
/// enclosures at points.
///
/// On `[a, b]` an increasing function has `f(a) (b-a) <= integral <= f(b) (b-a)`. Each new piece
/// costs one evaluation.
///
/// # Direction of error
/// Outward, provided that the function does run in `direction`; values that contradict it give the
/// whole line. Ends as in [`integrate`].
pub fn integrate_monotone(
    mut f: impl FnMut(f64) -> Bounds,
    direction: Direction,
    lower: f64,
    upper: f64,
    options: &Options,
) -> Bounds {
    let mut increasing = |x: f64| match direction {
        Direction::Increasing => f(x),
        Direction::Decreasing => -f(x),
    };
    let integral = over_ordered_ends(lower, upper, |lower, upper| {
        let whole = monotone_piece((lower, increasing(lower)), (upper, increasing(upper)));
        let pieces = subdivide(whole, options, |piece| {
            let middle = inner_point(piece.lower, piece.upper)?;
            let (at_lower, at_upper) = piece.known;
            let at_middle = increasing(middle);
            Some([
                monotone_piece((piece.lower, at_lower), (middle, at_middle)),
                monotone_piece((middle, at_middle), (piece.upper, at_upper)),
            ])
        });
        total(pieces, &Bounds::ZERO)
    });
    if direction == Direction::Increasing { integral } else { -integral }
}

/// An enclosure of the integral, from `lower` to `upper`, of a convex function that is known by
/// enclosures at points. (For a concave one, integrate its negative.)
///
/// A convex function lies above each of its tangents and below each of its chords. So with `m`
/// between `a` and `b`, and the tangent's slope `s` at `m` between the slopes of the two chords
/// there,
///
/// `(b-a) (f(m) + s ((a+b)/2 - m)) <= integral <= (m-a) (f(a)+f(m))/2 + (b-m) (f(m)+f(b))/2`:
///
/// the midpoint rule and the trapezium rule (the Hermite-Hadamard inequality), up to the rounding
/// of the midpoint. Each new piece costs one evaluation.
///
/// # Direction of error
/// Outward, provided that the function is convex and finite on the closed interval. Ends as in
/// [`integrate`].
pub fn integrate_convex(
    mut f: impl FnMut(f64) -> Bounds,
    lower: f64,
    upper: f64,
    options: &Options,
) -> Bounds {
    over_ordered_ends(lower, upper, |lower, upper| {
        let (at_lower, at_upper) = (f(lower), f(upper));
        let Some(middle) = inner_point(lower, upper) else {
            return Bounds::new(
                f64::NEG_INFINITY,
                chord((lower, at_lower), (upper, at_upper)).upper(),
            );
        };
        let whole = convex_piece((lower, at_lower), (middle, f(middle)), (upper, at_upper));
        let pieces = subdivide(whole, options, |piece| {
            let [left, middle, right] = piece.known;
            let (quarter, three_quarters) =
                (inner_point(left.0, middle.0)?, inner_point(middle.0, right.0)?);
            Some([
                convex_piece(left, (quarter, f(quarter)), middle),
                convex_piece(middle, (three_quarters, f(three_quarters)), right),
            ])
        });
        total(pieces, &Bounds::ZERO)
    })
}

/// The conventions about the ends, for an `integral` over `lower < upper`, both finite.
fn over_ordered_ends(lower: f64, upper: f64, integral: impl FnOnce(f64, f64) -> Bounds) -> Bounds {
    if !(lower.is_finite() && upper.is_finite()) {
        Bounds::WHOLE_LINE
    } else if lower == upper {
        Bounds::ZERO
    } else if lower < upper {
        integral(lower, upper)
    } else {
        -integral(upper, lower)
    }
}

/// The integral over one piece.
#[derive(Clone, Debug)]
struct Piece<E, Known> {
    lower: f64,
    upper: f64,
    integral: E,
    /// The width of `integral`, to full precision.
    width: f64,
    /// Whether the width comes from the rule and not from the evaluations, so that smaller pieces
    /// are narrower together.
    improvable: bool,
    /// What the pieces inside this one can be computed from.
    known: Known,
}

/// An evaluated point.
type Value = (f64, Bounds);

/// The width of an enclosure whose precision may be beyond that of `f64`: of what is left when its
/// leading parts are taken away.
fn width_of<E: Enclosure>(enclosure: &E) -> f64 {
    let parts = enclosure.precision().div_ceil(f64::MANTISSA_DIGITS);
    let rest = (1..parts).fold(enclosure.clone(), |rest, _| {
        let leading = rest.exactly(rest.bounds().estimate());
        rest - leading
    });
    rest.bounds().width()
}

/// A number strictly between, near the middle.
fn inner_point(lower: f64, upper: f64) -> Option<f64> {
    let middle = 0.5 * lower + 0.5 * upper;
    (lower < middle && middle < upper).then_some(middle)
}

fn taylor_piece<E: Enclosure>(
    f: &impl Integrand,
    like: &E,
    lower: f64,
    upper: f64,
    order: usize,
) -> Piece<E, ()> {
    let inner = inner_point(lower, upper);
    // Without an inner point there is only m = 0, for which any centre serves.
    let (centre, order) = inner.map_or((lower, 0), |centre| (centre, order));
    let over = f.at(&Jet::variable(Bounds::new(lower, upper), order));
    let (right, left) =
        (like.exactly(upper) - like.exactly(centre), like.exactly(centre) - like.exactly(lower));

    // integral of (x-c)^k over the piece, for k = 0 ..= order
    let (mut right_power, mut left_power) = (right.clone(), left.clone());
    let moments: Vec<E> = (0..=order)
        .map(|k| {
            let sum = if k % 2 == 0 {
                right_power.clone() + left_power.clone()
            } else {
                right_power.clone() - left_power.clone()
            };
            right_power = right_power.clone() * right.clone();
            left_power = left_power.clone() * left.clone();
            sum / like.exactly((k + 1) as f64)
        })
        .collect();

    let remainder_width = |m: usize| over.coefficient(m).width() * moments[m].bounds().upper();
    // Below the rounding of the value itself a still smaller remainder is of no use.
    let value = over.coefficient(0).abs().upper() * (upper - lower);
    let negligible = value * 2f64.powi(-(like.precision().min(1000) as i32));
    let mut best = 0;
    for m in (0..=order).step_by(2) {
        if remainder_width(m) < remainder_width(best) {
            best = m;
        }
        if remainder_width(best) <= negligible {
            break;
        }
    }

    let range = over.coefficient(best);
    let mut integral = like.between(range.lower(), range.upper()) * moments[best].clone();
    if best > 0 {
        let at_centre = f.at(&Jet::variable(like.exactly(centre), best - 1));
        // The small terms first.
        for k in (0..best).rev() {
            integral = integral + at_centre.coefficient(k) * moments[k].clone();
        }
    }
    let width = width_of(&integral);
    // Rounding that is large against the value comes from cancellation, which small pieces avoid.
    let rounded =
        integral.bounds().abs().upper() * 2f64.powi(10 - like.precision().min(1000) as i32);
    let at_rounding_level = 4.0 * remainder_width(best) < width && width <= rounded;
    Piece {
        lower,
        upper,
        integral,
        width,
        improvable: inner.is_some() && !at_rounding_level,
        known: (),
    }
}

fn monotone_piece(left: Value, right: Value) -> Piece<Bounds, (Bounds, Bounds)> {
    let length = Bounds::exact(right.0) - Bounds::exact(left.0);
    let integral = Bounds::new(left.1.lower(), right.1.upper()) * length;
    let noise = 0.5 * (left.1.width() + right.1.width()) * length.upper();
    let width = integral.width();
    let improvable = width > 2.0 * noise || width.is_infinite();
    Piece { lower: left.0, upper: right.0, integral, width, improvable, known: (left.1, right.1) }
}

/// The area below the chord between two points.
fn chord(left: Value, right: Value) -> Bounds {
    ((Bounds::exact(right.0) - Bounds::exact(left.0)) * (left.1 + right.1)).times_power_of_two(-1)
}

fn slope(left: Value, right: Value) -> Bounds {
    (right.1 - left.1) / (Bounds::exact(right.0) - Bounds::exact(left.0))
}

fn convex_piece(left: Value, middle: Value, right: Value) -> Piece<Bounds, [Value; 3]> {
    let (a, m, b) = (Bounds::exact(left.0), Bounds::exact(middle.0), Bounds::exact(right.0));
    let length = b - a;
    let off_centre = (a + b).times_power_of_two(-1) - m;
    let tangent = slope(left, middle).hull(slope(middle, right));
    let below = (middle.1 + tangent * off_centre) * length;
    let above = chord(left, middle) + chord(middle, right);
    let integral = Bounds::new(below.lower(), above.upper());
    let noise = 0.25 * (left.1.width() + 2.0 * middle.1.width() + right.1.width()) * length.upper();
    let width = integral.width();
    let improvable = width > 2.0 * noise || width.is_infinite();
    Piece {
        lower: left.0,
        upper: right.0,
        integral,
        width,
        improvable,
        known: [left, middle, right],
    }
}

/// A piece on which the integrand is still not bounded, at this fraction of the whole, is taken to
/// hold a singularity. A pole of `1/(s^2 + x^2)` is told from one down to `s` of about `1e-60`.
const SMALLEST_UNBOUNDED_PIECE: f64 = f64::from_bits((1023 - 200) << 52);

/// Splits the widest pieces until a tolerance is met, the budget is used up, or nothing can
/// improve.
///
/// The pieces come back from left to right. The sums here decide only when to stop.
fn subdivide<E: Enclosure, Known>(
    whole: Piece<E, Known>,
    options: &Options,
    mut split: impl FnMut(&Piece<E, Known>) -> Option<[Piece<E, Known>; 2]>,
) -> Vec<Piece<E, Known>> {
    let hopeless = (whole.upper - whole.lower) * SMALLEST_UNBOUNDED_PIECE;
    let mut pieces = vec![whole];
    while pieces.len() < options.pieces {
        let width: f64 = pieces.iter().map(|piece| piece.width).sum();
        let middle: f64 = pieces.iter().map(|piece| piece.integral.bounds().estimate()).sum();
        let least = (middle.abs() - 0.5 * width).max(0.0);
        let target = options.absolute_tolerance.max(options.relative_tolerance * least);
        // An infinite width leaves `least` at zero or a NaN, which `max` drops.
        let lost = pieces
            .iter()
            .any(|piece| piece.width.is_infinite() && piece.upper - piece.lower < hopeless);
        if width <= target || lost {
            break;
        }
        // If every piece were within its share, the sum would be within the target. Among those
        // that are not, only the widest few binary orders are split before looking again.
        let share = target / pieces.len() as f64;
        let widest = pieces
            .iter()
            .filter(|piece| piece.improvable)
            .map(|piece| piece.width)
            .fold(0.0, f64::max);
        let threshold = share.max(widest / 8.0);
        let mut budget = options.pieces - pieces.len();
        let mut any = false;
        let mut next = Vec::with_capacity(2 * pieces.len());
        for mut piece in pieces {
            let chosen = budget > 0 && piece.improvable && piece.width >= threshold;
            match if chosen { split(&piece) } else { None } {
                Some(halves) => {
                    next.extend(halves);
                    budget -= 1;
                    any = true;
                }
                None => {
                    piece.improvable &= !chosen;
                    next.push(piece);
                }
            }
        }
        pieces = next;
        if !any {
            break;
        }
    }
    pieces
}

/// The sum of all pieces, pairwise.
fn total<E: Enclosure, Known>(pieces: Vec<Piece<E, Known>>, like: &E) -> E {
    let mut sums: Vec<E> = pieces.into_iter().map(|piece| piece.integral).collect();
    while sums.len() > 1 {
        sums = sums
            .chunks(2)
            .map(|pair| match pair {
                [left, right] => left.clone() + right.clone(),
                rest => rest[0].clone(),
            })
            .collect();
    }
    sums.pop().unwrap_or_else(|| like.exactly(0.0))
}
