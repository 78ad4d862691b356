//! Taylor coefficients, with their ranges over an interval, of the functions that the losses of
//! several coordinates are made of.
//!
//! A coefficient list `c` of a function at `x`, or for all `x` of an interval `X`, holds
//! `f^(k)(x) / k!`. Differences of powers are evaluated at the ends of `X`, where they are extreme,
//! and not on `X`: interval arithmetic would lose the sign of `(x + u)^a - x^a` on any `X` wider
//! than `u`.

use super::inner_product::{inner_product, times};
use super::order::Order;
use super::shift::Shift;
use reticent_numerics::{Bounds, Enclosure, Wide};

/// `f g`, to as many coefficients as both have.
pub(super) fn product(f: &[Bounds], g: &[Bounds]) -> Vec<Bounds> {
    let count = f.len().min(g.len());
    (0..count).map(|k| inner_product((0..=k).map(|i| (f[i], g[k - i])))).collect()
}

/// `exp f`: `k e_k = sum_{i=1}^{k} i f_i e_{k-i}`.
fn exponential(f: &[Bounds]) -> Vec<Bounds> {
    let slope: Vec<Bounds> = f.iter().enumerate().map(|(i, &c)| times(count(i), c)).collect();
    let mut e: Vec<Bounds> = Vec::with_capacity(f.len());
    for k in 0..f.len() {
        let sum = inner_product((1..=k).map(|i| (slope[i], e[k - i])));
        e.push(if k == 0 { f[0].exp() } else { sum / count(k) });
    }
    e
}

/// `f(x + w)` for an increment `w` without a constant term.
fn compose(f: &[Bounds], w: &[Bounds]) -> Vec<Bounds> {
    let length = w.len().min(f.len());
    let mut result = vec![Bounds::ZERO; length];
    for &coefficient in f[..length].iter().rev() {
        result = product(&result, w);
        result[0] = result[0] + coefficient;
    }
    result
}

/// The antiderivative with a given value.
pub(super) fn antiderivative(value: Bounds, derivative: &[Bounds]) -> Vec<Bounds> {
    std::iter::once(value)
        .chain(derivative.iter().enumerate().map(|(k, &c)| c / count(k + 1)))
        .collect()
}

fn derivative(f: &[Bounds]) -> Vec<Bounds> {
    f.iter().enumerate().skip(1).map(|(k, &c)| times(count(k), c)).collect()
}

fn count(k: usize) -> Bounds {
    Bounds::exact(k as f64)
}

/// `e^-s` at zero, times a factor.
pub(super) fn falling_exponential(factor: Bounds, length: usize) -> Vec<Bounds> {
    let mut terms = vec![factor; length];
    for k in 1..length {
        terms[k] = -terms[k - 1] / count(k);
    }
    terms
}

/// The binomial coefficients `C(p, k)` for `k = 0 ..= last`.
fn binomials(p: f64, last: usize) -> Vec<Bounds> {
    let mut all = vec![Bounds::ONE];
    for k in 0..last {
        all.push(times(all[k], (Bounds::exact(p) - count(k)) / count(k + 1)));
    }
    all
}

/// `x^a` for `x >= 0`, or any `x` if `a` is a whole number that is not negative.
fn signed_power(x: Wide, a: f64) -> Wide {
    if a >= 0.0 && a.fract() == 0.0 {
        return x.powi(a as u32);
    }
    match x.bounds() {
        near if near.lower() > 0.0 => x.pow(a),
        near if near == Bounds::ZERO && a > 0.0 => Wide::ZERO,
        near if near.lower() >= 0.0 && a > 0.0 => Wide::ZERO.hull(Wide::exact(near.upper()).pow(a)),
        _ => Wide::WHOLE_LINE,
    }
}

fn is_even(order: Order) -> bool {
    order.get() % 2.0 == 0.0
}

/// The coefficients of `|x|^p` on `X`, up to `last`.
fn power_coefficients(order: Order, x: Bounds, last: usize) -> Vec<Bounds> {
    if x.upper() <= 0.0 && !is_even(order) {
        let mirrored = power_coefficients(order, -x, last);
        return mirrored
            .into_iter()
            .enumerate()
            .map(|(k, c)| if k % 2 == 1 { -c } else { c })
            .collect();
    }
    let one_sided = x.lower() >= 0.0 || is_even(order);
    let at = |end: f64, a: f64| signed_power(Wide::exact(end), a).bounds();
    binomials(order.get(), last)
        .into_iter()
        .enumerate()
        .map(|(k, binomial)| {
            let a = order.get() - k as f64;
            if k == 0 {
                return order.power_bounds(x);
            }
            if !one_sided {
                // sign(x)^k |x|^a is monotone on either side of zero.
                let (left, right) = (at(-x.lower(), a), at(x.upper(), a));
                let left = if k % 2 == 1 { -left } else { left };
                return if a > 0.0 {
                    times(binomial, left.hull(right).hull(Bounds::ZERO))
                } else {
                    Bounds::WHOLE_LINE
                };
            }
            if binomial == Bounds::ZERO {
                return Bounds::ZERO;
            }
            // Monotone on either side of zero; between, the power passes through zero.
            let ends = at(x.lower(), a).hull(at(x.upper(), a));
            times(binomial, if x.contains(0.0) && a > 0.0 { ends.hull(Bounds::ZERO) } else { ends })
        })
        .collect()
}

/// The coefficients of the density `f` on `X`, up to `last`.
pub(super) fn density_coefficients(order: Order, x: Bounds, last: usize) -> Vec<Bounds> {
    let exponent: Vec<Bounds> =
        power_coefficients(order, x, last).into_iter().map(|c| -c).collect();
    let mass = order.mass(&Bounds::ONE);
    exponential(&exponent).into_iter().map(|c| c / mass).collect()
}

/// The coefficients of the loss `L(x) = |x + u|^p - |x|^p` on `X`, up to `last`.
pub(crate) fn loss_coefficients(shift: &Shift, x: Bounds, last: usize) -> Vec<Bounds> {
    let u = shift.ratio(&Bounds::ONE);
    let order = shift.order;
    let even = is_even(order);
    if x.upper() <= -u.upper() && !even {
        // L(-u - y) = -L(y)
        let mirrored = loss_coefficients(shift, -u - x, last);
        return mirrored
            .into_iter()
            .enumerate()
            .map(|(k, c)| if k % 2 == 0 { -c } else { c })
            .collect();
    }
    let value = shift.loss_at(x.lower(), 0.0).hull(shift.loss_at(x.upper(), 0.0));
    let outside = x.lower() >= 0.0 || even;
    let inside = x.upper() <= 0.0 && x.lower() >= -u.lower();
    let wide_u = shift.ratio(&Wide::ONE);
    let middle = -wide_u.times_power_of_two(-1);
    let difference =
        |end: Wide, a: f64| (signed_power(end + wide_u, a) - signed_power(end, a)).bounds();
    let coefficient = |(k, binomial): (usize, Bounds)| {
        let a = order.get() - k as f64;
        if k == 0 {
            return value;
        }
        if outside && binomial == Bounds::ZERO {
            return Bounds::ZERO;
        }
        if outside {
            // a ((x + u)^(a-1) - x^(a-1)) does not change sign for x >= 0; for whole powers it may
            // do so at -u/2.
            let ends =
                difference(Wide::exact(x.lower()), a).hull(difference(Wide::exact(x.upper()), a));
            let turning =
                middle.bounds().upper() >= x.lower() && middle.bounds().lower() <= x.upper();
            return times(binomial, if turning { ends.hull(difference(middle, a)) } else { ends });
        }
        if inside {
            let power = |y: Bounds| signed_power(Wide::from_bounds(y), a).bounds();
            let (right, left) =
                (power(Bounds::new((x + u).lower().max(0.0), (x + u).upper())), power(-x));
            return times(binomial, if k % 2 == 0 { right - left } else { right + left });
        }
        // Across 0 or -u: sign(x+u)^k |x+u|^a - sign(x)^k |x|^a is monotone between its ends and
        // the points -u, -u/2 and 0. For a = 0, which odd orders reach at an odd k, it is 0 or 2;
        // there the derivative before it is Lipschitz, which Taylor's theorem is content with.
        if a > 0.0 {
            let signed = |y: Wide| {
                let near = y.bounds();
                let magnitude = if near.lower() >= 0.0 {
                    signed_power(y, a)
                } else if near.upper() <= 0.0 {
                    signed_power(-y, a)
                } else {
                    Wide::ZERO.hull(signed_power(Wide::exact(near.upper().max(-near.lower())), a))
                };
                if k % 2 == 0 || near.lower() >= 0.0 {
                    magnitude
                } else if near.upper() <= 0.0 {
                    -magnitude
                } else {
                    magnitude.hull(-magnitude)
                }
            };
            let at = |y: Wide| (signed(y + wide_u) - signed(y)).bounds();
            let inner = [-wide_u, middle, Wide::ZERO]
                .into_iter()
                .filter(|y| y.bounds().upper() >= x.lower() && y.bounds().lower() <= x.upper());
            let ends = at(Wide::exact(x.lower())).hull(at(Wide::exact(x.upper())));
            return times(binomial, inner.fold(ends, |range, y| range.hull(at(y))));
        }
        if a == 0.0 { Bounds::new(0.0, 2.0) } else { Bounds::WHOLE_LINE }
    };
    binomials(order.get(), last).into_iter().enumerate().map(coefficient).collect()
}

/// The increment `w(s) = t(s) - t(0)`, where `L(t(s)) = epsilon - s`, for `t(0)` in `T`: from
/// `A(s) w'(s) = -1` with `A = L'(t(0) + w)`, one coefficient at a time,
/// `A_0 k w_k = -[k = 1] - sum_{i=1}^{k-1} A_i (k-i) w_{k-i}`, where
/// `A_i = sum_{j<=i} (L')_j [w^j]_i` needs no more of `w` than `w_i`.
pub(super) fn threshold_increment(shift: &Shift, t: Bounds, last: usize) -> Vec<Bounds> {
    let slope = derivative(&loss_coefficients(shift, t, last));
    let mut w = vec![Bounds::ZERO];
    // k w_k
    let mut rate = vec![Bounds::ZERO];
    let mut composed = vec![slope[0]];
    // powers[j - 1][i] is the coefficient of s^i in w^j.
    let mut powers: Vec<Vec<Bounds>> = Vec::with_capacity(last);
    for k in 1..=last {
        let start = if k == 1 { Bounds::ONE } else { Bounds::ZERO };
        let sum = start + inner_product((1..k).map(|i| (composed[i], rate[k - i])));
        rate.push(-sum / slope[0]);
        w.push(rate[k] / count(k));
        if k == last {
            break;
        }
        powers.push(vec![Bounds::ZERO; k]);
        for j in 1..=k {
            let coefficient = match j {
                1 => w[k],
                _ => inner_product((1..=k + 1 - j).map(|i| (w[i], powers[j - 2][k - i]))),
            };
            powers[j - 1].push(coefficient);
        }
        composed.push(inner_product((1..=k).map(|j| (slope[j], powers[j - 1][k]))));
    }
    w
}

/// The coefficients in `s` of `delta(epsilon - s) = P[X > t] - e^(epsilon - s) P[X > t + u]`, whose
/// derivative is `e^(epsilon - s) P[X > t + u]`.
pub(super) fn profile_coefficients(
    shift: &Shift,
    epsilon: Bounds,
    t: Bounds,
    tail_beyond: Bounds,
    value: Bounds,
    last: usize,
) -> Vec<Bounds> {
    let w = threshold_increment(shift, t, last);
    let moved = t + shift.ratio(&t);
    let density = compose(&density_coefficients(shift.order, moved, last), &w);
    let rate: Vec<Bounds> = product(&density, &derivative(&w)).into_iter().map(|c| -c).collect();
    let tail = antiderivative(tail_beyond, &rate);
    let slope = product(&tail[..last.min(tail.len())], &falling_exponential(epsilon.exp(), last));
    antiderivative(value, &slope)
}

/// The coefficients in `s` of `P[|X| > t]` where `L(t) = epsilon - s`.
pub(super) fn magnitude_coefficients(
    shift: &Shift,
    t: Bounds,
    value: Bounds,
    last: usize,
) -> Vec<Bounds> {
    let w = threshold_increment(shift, t, last);
    let density = compose(&density_coefficients(shift.order, t, last), &w);
    let slope: Vec<Bounds> =
        product(&density, &derivative(&w)).into_iter().map(|c| -c.times_power_of_two(1)).collect();
    antiderivative(value, &slope)
}
