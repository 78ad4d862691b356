//! The quantiles of the gamma distribution: `P(a, x) = p` and `Q(a, x) = q` solved for `x`.
//!
//! An iteration in `f64` finds where to look; what is returned are two numbers at which
//! [`GammaTails`] has proved on which side of the quantile they lie. A bad iteration makes a result
//! wide or slow, never wrong.
//!
//! # Width
//! For `10^-3 <= a <= 10^5` the ends are a few units in the last place apart, times the condition
//! of the problem: a relative `2^-52` in `p` (or an absolute one in `ln p`) moves `x` by a relative
//! `2^-52 P(a, x) / (x P'(a, x))`, which is `2^-52 / a` for small `x`. A quantile below the least
//! `f64` is enclosed by zero and that number.

use crate::incomplete_gamma::GammaTails;
use crate::root::{Direction, Range, monotone_root};
use crate::{Bounds, Enclosure};

/// The `x` with `P(a, x) = p`, for `a > 0` and `0 <= p <= 1`; unbounded above where `p` may be 1.
pub fn gamma_p_inverse(a: Bounds, p: Bounds) -> Bounds {
    between_ends(a, p.lower(), p.upper(), |a, p| match p {
        _ if p <= 0.0 => Bounds::ZERO,
        _ if p >= 1.0 => beyond_every_number(),
        _ if p <= 0.5 => solve(a, Equation::lower(p)),
        // Exact: both are multiples of the unit in the last place of p, and 1 - p is not larger.
        _ => solve(a, Equation::upper(1.0 - p)),
    })
}

/// The `x` with `Q(a, x) = q`, for `a > 0` and `0 <= q <= 1`; unbounded above where `q` may be
/// zero.
pub fn gamma_q_inverse(a: Bounds, q: Bounds) -> Bounds {
    between_ends(a, q.upper(), q.lower(), |a, q| match q {
        _ if q >= 1.0 => Bounds::ZERO,
        _ if q <= 0.0 => beyond_every_number(),
        _ if q <= 0.5 => solve(a, Equation::upper(q)),
        _ => solve(a, Equation::lower(1.0 - q)),
    })
}

/// The `x` with `ln P(a, x) = ln_p`, for `a > 0` and `ln_p <= 0`, also for a `p` below every `f64`.
pub fn gamma_p_inverse_of_ln(a: Bounds, ln_p: Bounds) -> Bounds {
    between_ends(a, ln_p.lower(), ln_p.upper(), |a, ln_p| match ln_p {
        _ if ln_p == f64::NEG_INFINITY => Bounds::ZERO,
        _ if ln_p >= 0.0 => beyond_every_number(),
        _ => solve(a, Equation::ln_lower(Bounds::exact(ln_p))),
    })
}

/// The `x` with `ln Q(a, x) = ln_q`, for `a > 0` and `ln_q <= 0`, also for a `q` below every `f64`.
pub fn gamma_q_inverse_of_ln(a: Bounds, ln_q: Bounds) -> Bounds {
    between_ends(a, ln_q.upper(), ln_q.lower(), |a, ln_q| match ln_q {
        _ if ln_q >= 0.0 => Bounds::ZERO,
        _ if ln_q == f64::NEG_INFINITY => beyond_every_number(),
        _ => solve(a, Equation::ln_upper(Bounds::exact(ln_q))),
    })
}

fn beyond_every_number() -> Bounds {
    Bounds::new(f64::MAX, f64::INFINITY)
}

/// From the quantile at the level that makes it least to the one at the level that makes it
/// largest. The quantile increases with the shape, because `Q` does.
fn between_ends(
    a: Bounds,
    least: f64,
    largest: f64,
    quantile: impl Fn(f64, f64) -> Bounds,
) -> Bounds {
    if !(a.lower() > 0.0 && a.upper() < f64::INFINITY) {
        return Bounds::new(0.0, f64::INFINITY);
    }
    let first = quantile(a.lower(), least);
    if a.is_exact() && least == largest { first } else { first.hull(quantile(a.upper(), largest)) }
}

/// Which of the four functions has which value.
#[derive(Clone, Copy)]
struct Equation {
    function: fn(&GammaTails, Bounds) -> Bounds,
    direction: Direction,
    target: Bounds,
    guide: Guide,
}

/// The same equation in the form that the iteration solves: the logarithm of the function that is
/// at most 1/2.
#[derive(Clone, Copy)]
enum Guide {
    LnP(f64),
    LnQ(f64),
}

/// Below this, a probability is compared by its logarithm: among the subnormal numbers
/// [`GammaTails`] has few digits.
const COMPARED_BY_LOGARITHM_BELOW: f64 = 1e-290;

impl Equation {
    fn lower(p: f64) -> Self {
        let target = Bounds::exact(p);
        if p < COMPARED_BY_LOGARITHM_BELOW {
            return Equation::ln_lower(target.ln());
        }
        Equation {
            function: GammaTails::lower,
            direction: Direction::Increasing,
            target,
            guide: Guide::LnP(p.ln()),
        }
    }

    fn upper(q: f64) -> Self {
        let target = Bounds::exact(q);
        if q < COMPARED_BY_LOGARITHM_BELOW {
            return Equation::ln_upper(target.ln());
        }
        Equation {
            function: GammaTails::upper,
            direction: Direction::Decreasing,
            target,
            guide: Guide::LnQ(q.ln()),
        }
    }

    fn ln_lower(target: Bounds) -> Self {
        let guide = match target.estimate() {
            ln_p if ln_p > -0.7 => Guide::LnQ((-ln_p.exp_m1()).ln()),
            ln_p => Guide::LnP(ln_p),
        };
        Equation { function: GammaTails::ln_lower, direction: Direction::Increasing, target, guide }
    }

    fn ln_upper(target: Bounds) -> Self {
        let guide = match target.estimate() {
            ln_q if ln_q > -0.7 => Guide::LnP((-ln_q.exp_m1()).ln()),
            ln_q => Guide::LnQ(ln_q),
        };
        Equation { function: GammaTails::ln_upper, direction: Direction::Decreasing, target, guide }
    }
}

fn solve(a: f64, equation: Equation) -> Bounds {
    let tails = GammaTails::new(a);
    let guess = starting_point(a, &tails, equation.guide);
    let residual = |x: f64| (equation.function)(&tails, Bounds::exact(x)) - equation.target;
    let close = Range::between(guess * (1.0 - 1e-10), guess * (1.0 + 1e-10));
    monotone_root(residual, close, equation.direction)
        .or_else(|_| {
            monotone_root(residual, Range::POSITIVE.bracket_from(guess), equation.direction)
        })
        .unwrap_or_else(|_| outside_the_positive_numbers(residual, equation.direction))
}

/// When there is no change of sign among the positive `f64`: it is below them where the function is
/// proved to be past the target at the first one.
fn outside_the_positive_numbers(residual: impl Fn(f64) -> Bounds, direction: Direction) -> Bounds {
    let least = f64::from_bits(1);
    let at_least = residual(least);
    let past = match direction {
        Direction::Increasing => at_least.lower() >= 0.0,
        Direction::Decreasing => at_least.upper() <= 0.0,
    };
    Bounds::new(0.0, if past { least } else { f64::INFINITY })
}

/// A number close to the quantile, by Newton's method for `ln P` or `ln Q` as a function of
/// `u = ln x`.
///
/// The density of `ln X` is proportional to `exp(a u - e^u)`, which is log-concave, and so are its
/// distribution function and its tail. From a point where a concave function is below its target,
/// Newton's method approaches the solution from that side. Such points are
///
/// - for `P`: `x = (p Γ(a+1))^(1/a)`, since `P(a, x) <= x^a / Γ(a+1)`;
/// - for `Q`: `x = a + sqrt(2 a t) + t` with `t = ln(1/q)` (Boucheron, Lugosi,
///   Massart, *Concentration inequalities*, 2013, section 2.4).
fn starting_point(a: f64, tails: &GammaTails, guide: Guide) -> f64 {
    let ln_gamma_above = core_math::lgamma(a + 1.0);
    let mut u = match guide {
        Guide::LnP(ln_p) => (ln_p + ln_gamma_above) / a,
        Guide::LnQ(ln_q) => (a + (-2.0 * a * ln_q).sqrt() - ln_q).ln(),
    };
    for _ in 0..60 {
        let x = u.exp().clamp(f64::from_bits(1), f64::MAX);
        // d ln P/du = a D/P and d ln Q/du = -a D/Q, where D = x^a e^-x / Γ(a+1).
        let ln_density = a.ln() + a * x.ln() - x - ln_gamma_above;
        let step = match guide {
            Guide::LnP(ln_p) => {
                let value = tails.ln_lower(Bounds::exact(x)).estimate();
                (ln_p - value) / (ln_density - value).exp()
            }
            Guide::LnQ(ln_q) => {
                let value = tails.ln_upper(Bounds::exact(x)).estimate();
                (value - ln_q) / (ln_density - value).exp()
            }
        };
        if step.is_nan() || step.abs() <= 1e-12 {
            break;
        }
        u += step;
    }
    u.exp().clamp(f64::from_bits(1), f64::MAX)
}
