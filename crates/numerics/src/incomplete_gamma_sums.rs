//! The three all-positive expansions behind the incomplete gamma functions.
//!
//! With `D(a, x) = x^a e^-x / Γ(a+1)`,
//!
//! ```text
//! P(a, x) = D(a, x) S(a, x),         S(a, x) = sum_{n>=0} x^n / ((a+1) ... (a+n))
//! Q(a, x) = D(a, x) (a/x) G(a, x),   G(a, x) = integral_0^inf (1 + u/x)^(a-1) e^-u du
//!                                    (DLMF 8.11.4; 8.2.2, t = x + u)
//! ```
//!
//! and none of the sums below subtracts, so that no digits cancel. Each is evaluated from its far
//! end inwards. There a relative error counts for little: the far end is evaluated in [`Bounds`],
//! with 53 bits, and only the levels whose weight needs more are evaluated at the precision asked
//! for.

use crate::convergence::{DOUBLE_BITS, MOST_LEVELS, levels_until};
use crate::{Bounds, Enclosure};

/// Bits that the far end, evaluated in [`Bounds`], is counted on for. A chain of `n` levels that
/// hardly contract loses `log2 n` of the 53; the sums here have about `sqrt(a + x)` such levels.
fn bits_of_the_far_end(a: Bounds, x: Bounds) -> f64 {
    47.0 - 0.5 * (1.0 + a.upper() + x.upper()).log2()
}

fn whole_line<E: Enclosure>(like: &E) -> E {
    like.exactly(f64::INFINITY)
}

/// `S(a, x)` for `a > 0`, `x >= 0`: the nested form of `S(a, x) = 1 + x/(a+1) S(a+1, x)`, to a
/// relative `2^-bits` or so. Converges for every `x`, in about `sqrt(a bits)` levels when `x` is
/// near `a`, and quickly when it is far below.
///
/// What is left out: with `r = x/(a+1) < 1`, `1 <= S(a, x) <= 1 + r + r^2 + ... = 1/(1 - r)`.
pub(crate) fn ascending_sum<E: Enclosure>(a: &E, x: &E, bits: u32) -> E {
    let (a_near, x_near) = (a.bounds(), x.bounds());
    let ratio = |n: u32| x_near.upper() / (a_near.lower() + f64::from(n));
    let in_doubles = bits > DOUBLE_BITS;
    let wanted = if in_doubles {
        f64::from(bits) - bits_of_the_far_end(a_near, x_near)
    } else {
        f64::from(bits)
    };
    // The ratios decrease: once their product is below 1/2, the next one is below 1.
    let Some(levels) = levels_until(wanted.max(1.0), MOST_LEVELS, ratio) else {
        return whole_line(x);
    };
    let a_far = a_near + Bounds::exact(f64::from(levels));
    let tail = if in_doubles {
        ascending_sum(&a_far, &x_near, DOUBLE_BITS)
    } else {
        up_to_geometric_sum(x_near / (a_far + Bounds::ONE))
    };
    let mut sum = x.between(tail.lower(), tail.upper());
    for n in (1..=levels).rev() {
        sum = x.exactly(1.0) + x.clone() * sum / (a.clone() + x.exactly(f64::from(n)));
    }
    sum
}

/// `[1, 1/(1 - ratio)]`, unbounded above for a ratio that may reach 1.
fn up_to_geometric_sum(ratio: Bounds) -> Bounds {
    let rest = Bounds::ONE - ratio;
    if rest.lower() > 0.0 {
        Bounds::new(1.0, (Bounds::ONE / rest).upper())
    } else {
        Bounds::new(1.0, f64::INFINITY)
    }
}

/// `G(a, x)` for `x > max(a, 0)`, to a relative `2^-bits` or so.
///
/// Integration by parts gives `G(a, x) = 1 + (a-1)/x G(a-1, x)`. The recurrence is followed down
/// until what is left does not count, or to an argument of at most 1 and [`stieltjes_denominator`].
pub(crate) fn descending_sum<E: Enclosure>(a: &E, x: &E, bits: u32) -> E {
    let (a_near, x_near) = (a.bounds(), x.bounds());
    let to_unit = (a_near.upper() - 1.0).ceil().max(0.0);
    if to_unit == 0.0 {
        return x.clone() / stieltjes_denominator(a, x, 1, bits);
    }
    let ratio = |n: u32| (a_near.upper() - f64::from(n)) / x_near.lower();
    let in_doubles = bits > DOUBLE_BITS;
    let wanted = if in_doubles {
        f64::from(bits) - bits_of_the_far_end(a_near, x_near)
    } else {
        f64::from(bits)
    };
    let limit = to_unit.min(f64::from(MOST_LEVELS)) as u32;
    let (levels, mut sum) = match levels_until(wanted.max(1.0), limit, ratio) {
        Some(levels) => {
            let a_far = a_near - Bounds::exact(f64::from(levels));
            let tail = if in_doubles {
                descending_sum(&a_far, &x_near, DOUBLE_BITS)
            } else {
                range_of_scaled_tail(a_far, x_near)
            };
            (levels, x.between(tail.lower(), tail.upper()))
        }
        None if f64::from(limit) == to_unit => {
            let a_far = a.clone() - x.exactly(to_unit);
            (limit, x.clone() / stieltjes_denominator(&a_far, x, 1, bits))
        }
        None => return whole_line(x),
    };
    let inverse = x.exactly(1.0) / x.clone();
    for n in (1..=levels).rev() {
        sum = x.exactly(1.0) + (a.clone() - x.exactly(f64::from(n))) * inverse.clone() * sum;
    }
    sum
}

/// What is known of `G(a, x)` without a sum. For `a >= 1`, `1 <= (1 + u/x)^(a-1) <= exp((a-1) u/x)`
/// makes it `1 <= G <= 1/(1 - (a-1)/x)`. For `a <= 1`, `G` is the mean of `x/(x + T)` over a gamma
/// variable `T` of shape `1 - a` (see [`stieltjes_denominator`]), so that by Jensen
/// `x/(x + 1 - a) <= G <= 1`.
fn range_of_scaled_tail(a: Bounds, x: Bounds) -> Bounds {
    let above_one = Bounds::exact(a.upper()) - Bounds::ONE;
    let upper = if a.upper() <= 1.0 { 1.0 } else { up_to_geometric_sum(above_one / x).upper() };
    let below_one = Bounds::ONE - Bounds::exact(a.lower());
    let lower = if a.lower() >= 1.0 { 1.0 } else { (x / (x + below_one)).lower() };
    Bounds::new(lower, upper)
}

/// `H_first(x)` of the continued fraction, for `a <= 1`, `x > 0`,
///
/// ```text
/// G(a, x) = x / H_1,      H_j = x + (j - a)/(1 + j/H_(j+1))                     (DLMF 8.9.2)
/// ```
///
/// For `a < 1` this is the Stieltjes fraction of
/// `G(a, x) = 1/Γ(1-a) integral_0^inf x/(x+t) t^-a e^-t dt` (DLMF 8.6.4), convergent for all
/// `x > 0`. Its elements are positive, so `H_j` increases with `H_(j+1)`, and
/// `x <= H_j <= x + j - a`: replacing the far end by that interval, the two ends become consecutive
/// convergents, which lie on either side of the limit (Cuyt et al., *Handbook of continued
/// fractions for special functions*, 2008, chapter 3 and 12.6). At `a = 1` the fraction ends:
/// `H_1 = x`. About `bits^2 / 33 x` levels are needed.
pub(crate) fn stieltjes_denominator<E: Enclosure>(a: &E, x: &E, first: u32, bits: u32) -> E {
    let (a_near, x_near) = (a.bounds(), x.bounds());
    let (a_middle, x_middle) = (a_near.estimate(), x_near.estimate());
    // dH_j/dH_(j+1) = (j - a) j / (H_(j+1) + j)^2, where H is close to the root of H = x + (j -
    // a)/(1 + j/H).
    let contraction = |n: u32| {
        let j = f64::from(first) + f64::from(n - 1);
        let sum = x_middle - a_middle;
        let h = 0.5 * (sum + (sum * sum + 4.0 * x_middle * (j + 1.0)).sqrt());
        ((j - a_middle) * j / ((h + j) * (h + j))).max(0.0)
    };
    let in_doubles = bits > DOUBLE_BITS;
    let wanted = if in_doubles { f64::from(bits) - 46.0 } else { f64::from(bits) + 4.0 };
    let levels = levels_until(wanted, MOST_LEVELS - first, contraction).unwrap_or(0);
    let far = first + levels;
    let tail = if in_doubles {
        stieltjes_denominator(&a_near, &x_near, far, DOUBLE_BITS)
    } else {
        x_near + Bounds::ZERO.hull(Bounds::exact(f64::from(far)) - a_near)
    };
    let mut h = x.between(tail.lower(), tail.upper());
    for j in (first..far).rev() {
        // (j - a)/(1 + j/h) = (j - a) - (j - a) j/(j + h): one division, and one appearance of h.
        let whole = x.exactly(f64::from(j));
        let excess = whole.clone() - a.clone();
        h = x.clone() + excess.clone() - excess * whole.clone() / (whole + h);
    }
    h
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a sum leaves out is far below the rounding of its result, so that only a sum cut off
    /// early shows whether it is enclosed. `sum` is evaluated to few bits and compared with itself
    /// at 53.
    fn assert_cut_off_sums_enclose(
        name: &str,
        sum: impl Fn(Bounds, Bounds, u32) -> Bounds,
        arguments: &[(f64, f64)],
    ) {
        for &(a, x) in arguments {
            let at = |bits| sum(Bounds::exact(a), Bounds::exact(x), bits);
            let fine = at(DOUBLE_BITS);
            assert!(fine.relative_width() < 1e-10, "{name}({a}, {x}) = {fine:?}");
            for bits in [0, 1, 2, 3, 5, 9, 16] {
                let coarse = at(bits);
                assert_eq!(
                    coarse.hull(fine),
                    coarse,
                    "{name}({a}, {x}) to {bits} bits: {coarse:?} misses {fine:?}"
                );
            }
            // Power: the cut is really early.
            assert!(at(3).relative_width() > 1e-6, "{name}({a}, {x}) = {:?}", at(3));
        }
    }

    #[test]
    fn cut_off_sums_enclose_what_they_leave_out() {
        let small = [(0.01, 0.5), (0.5, 0.3), (0.9, 4.0), (3.5, 3.0), (50.0, 49.0), (1e4, 1e4)];
        assert_cut_off_sums_enclose("S", |a, x, bits| ascending_sum(&a, &x, bits), &small);
        let large = [
            (0.01, 2.0),
            (0.5, 3.0),
            (0.999, 4.0),
            (1.5, 2.5),
            (3.2, 3.3),
            (50.5, 51.0),
            (1e4, 1.0001e4),
        ];
        assert_cut_off_sums_enclose("G", |a, x, bits| descending_sum(&a, &x, bits), &large);
        assert_cut_off_sums_enclose(
            "H",
            |a, x, bits| stieltjes_denominator(&a, &x, 3, bits),
            &large[..3],
        );
        // A tail that begins below a = 0, as after a descent from a whole number that is not known
        // exactly.
        assert_cut_off_sums_enclose(
            "H",
            |a, x, bits| stieltjes_denominator(&a, &x, 1, bits),
            &[(-0.3, 2.0), (-1e-9, 5.0)],
        );
    }

    #[test]
    fn whole_shapes_end_the_descent_exactly() {
        // G(1, x) = 1, G(2, x) = 1 + 1/x, G(3, x) = 1 + 2/x + 2/x^2
        let x = Bounds::exact(4.0);
        assert_eq!(descending_sum(&Bounds::exact(1.0), &x, DOUBLE_BITS), Bounds::ONE);
        assert_eq!(descending_sum(&Bounds::exact(2.0), &x, DOUBLE_BITS), Bounds::exact(1.25));
        assert_eq!(descending_sum(&Bounds::exact(3.0), &x, DOUBLE_BITS), Bounds::exact(1.625));
    }
}
