//! Tails of the discrete Gaussian relative to their first term, which neither overflow nor vanish.

use reticent_numerics::Enclosure;
use reticent_numerics::error_function::normal_tail;
use std::f64::consts::{LN_2, TAU};

/// `f(n) = exp(-n^2/(2 sigma^2))`.
pub(super) fn weight<E: Enclosure>(sigma: f64, n: i128, like: &E) -> E {
    let t = like.integer(n) / like.exactly(sigma);
    (-(t.clone() * t).times_power_of_two(-1)).exp()
}

/// `R(n) = sum_(j >= 0) f(n + j)/f(n)` for `n >= 0`: a discrete Mills ratio.
///
/// By the Euler-Maclaurin formula where its remainder is below the precision of `like`, and term by
/// term where it is not: then `sigma` is small or the terms fall fast, and either way they are few.
pub(super) fn relative_tail<E: Enclosure>(sigma: f64, n: i128, like: &E) -> E {
    let remainder = ln_remainder(sigma, n as f64 / sigma);
    if remainder < -f64::from(like.precision() + 4) * LN_2 {
        by_euler_maclaurin(sigma, n, like, remainder)
    } else {
        by_terms(sigma, n, like)
    }
}

/// `f(n+j+1)/f(n+j) = exp(-(2(n+j)+1)/(2 sigma^2))` falls by the factor `exp(-1/sigma^2)` at each
/// step; with `q` the current ratio, the rest after a term is between 0 and `q/(1-q)` of it.
fn by_terms<E: Enclosure>(sigma: f64, n: i128, like: &E) -> E {
    let negligible = 2f64.powi(-(like.precision() as i32) - 4);
    let one = like.exactly(1.0);
    let square = like.exactly(sigma) * like.exactly(sigma);
    let falls = (-(one.clone() / square.clone())).exp();
    let mut ratio = (-(like.integer(2 * n + 1) / square.times_power_of_two(1))).exp();
    let (mut term, mut sum) = (one.clone(), one.clone());
    loop {
        let rest = term.clone() * ratio.clone() / (one.clone() - ratio.clone());
        if rest.bounds().upper() <= negligible {
            return sum + like.exactly(0.0).hull(rest);
        }
        term = term * ratio.clone();
        sum = sum + term.clone();
        ratio = ratio * falls.clone();
    }
}

/// The number of correction terms.
const TERMS: u32 = 15;

/// The Euler-Maclaurin formula with `K = 15` for `f`, whose derivatives are
/// `f^(j)(n) = (-1)^j sigma^-j He_j(t) f(n)` at `t = n/sigma`:
///
/// `R(n) = sigma M(t) + 1/2 + sum_(k <= K) B_2k/(2k)! sigma^(1-2k) He_(2k-1)(t)`, up to a remainder
/// whose logarithm is at most `ln_remainder`.
fn by_euler_maclaurin<E: Enclosure>(sigma: f64, n: i128, like: &E, ln_remainder: f64) -> E {
    let one = like.exactly(1.0);
    let sigma = like.exactly(sigma);
    let t = like.integer(n) / sigma.clone();
    let inverse = one.clone() / sigma.clone();
    let mut corrections = one.clone().times_power_of_two(-1);
    // He_(2k-2) and He_(2k-1); sigma^(1-2k)/(2k)!
    let (mut even, mut odd) = (one.clone(), t.clone());
    let mut weight = inverse.clone().times_power_of_two(-1);
    for (k, (numerator, denominator)) in (1..=TERMS).zip(BERNOULLI) {
        let bernoulli = like.exactly(numerator) / like.exactly(denominator);
        corrections = corrections + bernoulli * weight.clone() * odd.clone();
        let j = f64::from(2 * k);
        weight = weight * inverse.clone() * inverse.clone() / like.exactly((j + 1.0) * (j + 2.0));
        even = t.clone() * odd.clone() - like.exactly(j - 1.0) * even;
        odd = t.clone() * even.clone() - like.exactly(j) * odd;
    }
    let remainder = like.exactly(ln_remainder).exp();
    sigma * mills_ratio(&t) + corrections + remainder.clone().hull(-remainder)
}

/// A bound on the logarithm of the remainder relative to `f(n)`:
/// `2 zeta(2K) (2 pi)^(-2K) ∫_n^∞ |f^(2K)|/f(n)`, with a margin of a tenth for the roundings here.
///
/// All zeros of `He_30` are below `sqrt(4*30 + 2) = 11.05` (Szegő, *Orthogonal polynomials*, 6.31).
/// Beyond that the derivative keeps its sign, and the integral is
/// `sigma^-29 He_29(t) <= (t/sigma)^29`. Before that Cramér's inequality
/// `|He_j(u)| <= 1.0865 sqrt(j!) exp(u^2/4)` (Abramowitz and Stegun 22.14.17) bounds it by
/// `sigma^-29 1.0865 sqrt(30!) sqrt(pi) exp(t^2/4)`.
fn ln_remainder(sigma: f64, t: f64) -> f64 {
    let common = 2.000_000_1f64.ln() - 30.0 * TAU.ln() + 0.1;
    if t > 11.1 {
        common + 29.0 * (t / sigma).ln()
    } else {
        // ln 30! = 74.6582363488...
        let cramer = 1.0865f64.ln() + 0.5 * 74.658_236_4 + 0.5 * std::f64::consts::PI.ln();
        common + cramer + 0.25 * t * t - 29.0 * sigma.ln()
    }
}

/// `sum_(n >= 1) n f(n) = sigma^2 - sum_(k <= K) |B_2k|/(2k (k-1)! (2 sigma^2)^(k-1))`, by the same
/// formula for `x f(x) = -sigma^2 f'(x)` at zero, for `sigma >= 4`. The remainder is at most
/// `2 zeta(30) (2 pi)^-30 sigma^-28 1.0865 sqrt(31!) sqrt(pi)`.
pub(super) fn first_moment<E: Enclosure>(sigma: f64, like: &E) -> E {
    let square = like.exactly(sigma) * like.exactly(sigma);
    let twice = square.clone().times_power_of_two(1);
    let (mut sum, mut scale) = (square, like.exactly(1.0));
    for (k, (numerator, denominator)) in (1..=TERMS).zip(BERNOULLI) {
        let bernoulli = like.exactly(numerator.abs()) / like.exactly(denominator);
        sum = sum - bernoulli * scale.clone() / like.exactly(f64::from(2 * k));
        scale = scale / (twice.clone() * like.exactly(f64::from(k)));
    }
    // ln 31! = 78.0922235533...
    let ln_remainder =
        2.000_000_1f64.ln() + 1.0865f64.ln() + 0.5 * 78.092_223_6 + 0.5 * std::f64::consts::PI.ln()
            - 30.0 * TAU.ln()
            - 28.0 * sigma.ln()
            + 0.1;
    let remainder = like.exactly(ln_remainder).exp();
    sum + remainder.clone().hull(-remainder)
}

/// Mills' ratio `M(t) = Q(t)/phi(t)` for `t >= 0`, at any precision and also where the tail
/// vanishes.
///
/// From 8 on by the continued fraction `1/(t + r_1)`, `r_j = j/(t + r_(j+1))`, in which
/// `j/(t + sqrt(j+1)) <= r_j <= j/t` to begin with, and a relative error falls by about
/// `exp(-t/sqrt j)` at each step.
fn mills_ratio<E: Enclosure>(t: &E) -> E {
    let (lower, upper) = (t.bounds().lower(), t.bounds().upper());
    if lower < 8.0 {
        let grow = (t.clone() * t.clone()).times_power_of_two(-1).exp();
        return normal_tail(t) * grow * t.pi().times_power_of_two(1).sqrt();
    }
    let steps = 0.36 * f64::from(t.precision()) / lower + 1.0;
    let first = (steps * steps) as u32 + 12;
    let start = f64::from(first);
    let mut ratio = t.between(
        start / (upper + (start + 1.0).sqrt()) * (1.0 - 1e-14),
        start / lower * (1.0 + 1e-14),
    );
    for j in (0..first).rev() {
        ratio = t.exactly(f64::from(j.max(1))) / (t.clone() + ratio);
    }
    ratio
}

/// `B_2k`, numerators and denominators, for `k` from 1 to 15.
const BERNOULLI: [(f64, f64); TERMS as usize] = [
    (1.0, 6.0),
    (-1.0, 30.0),
    (1.0, 42.0),
    (-1.0, 30.0),
    (5.0, 66.0),
    (-691.0, 2730.0),
    (7.0, 6.0),
    (-3617.0, 510.0),
    (43867.0, 798.0),
    (-174611.0, 330.0),
    (854513.0, 138.0),
    (-236364091.0, 2730.0),
    (8553103.0, 6.0),
    (-23749461029.0, 870.0),
    (8615841276005.0, 14322.0),
];

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_numerics::{Big, Wide};

    #[test]
    fn the_two_ways_to_sum_agree() {
        for sigma in [33.0, 50.0, 200.0] {
            for n in [0, 1, 7, 100, 700, 2000] {
                let remainder = ln_remainder(sigma, f64::from(n) / sigma);
                let (terms, formula) = (
                    by_terms(sigma, i128::from(n), &Wide::ONE),
                    by_euler_maclaurin(sigma, i128::from(n), &Wide::ONE, remainder),
                );
                assert!(terms.compare(&formula).is_none(), "{sigma} {n}: {terms:?} {formula:?}");
                assert!(terms.radius() < 1e-26 * terms.midpoint().0, "{sigma} {n}: {terms:?}");
            }
        }
    }

    #[test]
    fn mills_ratio_agrees_with_the_tail_on_both_sides_of_its_seam() {
        for t in [8.0, 9.5, 20.0, 36.0] {
            let big = Big::exact(t, 200);
            let plain = normal_tail(&big)
                * (big.clone() * big.clone()).times_power_of_two(-1).exp()
                * big.pi().times_power_of_two(1).sqrt();
            let fraction = mills_ratio(&Wide::exact(t));
            assert!(fraction.bounds().intersect(plain.bounds()).is_finite(), "{t}");
            assert!(fraction.radius() < 1e-28 * fraction.midpoint().0, "{t}: {fraction:?}");
        }
    }

    #[test]
    fn the_first_moment_agrees_with_its_sum() {
        for sigma in [4.0, 10.0] {
            let sum = (1..400).fold(Wide::ZERO, |sum, n| {
                sum + Wide::exact(f64::from(n)) * weight(sigma, i128::from(n), &Wide::ONE)
            });
            let formula = first_moment(sigma, &Wide::ONE);
            assert!(
                formula.bounds().intersect(sum.bounds()).is_finite(),
                "{sigma}: {formula:?} {sum:?}"
            );
            assert!(formula.bounds().relative_width() < 1e-15);
        }
    }
}
