//! The proof of a limit.

use crate::limit::programme::{Flow, Solution, multiplicity};
use reticent_numerics::rounding::{add_down, add_up, div_down, mul_down, mul_up, sub_down, sub_up};
use reticent_numerics::{Bounds, Enclosure};

/// What the proof is about: noise on the integers that is `(epsilon, delta)`-differentially private for moves of `1, ..., steps`, and the losses
/// `l_k`, not decreasing in `k`.
#[derive(Debug)]
pub(crate) struct Claim<'a> {
    pub steps: usize,
    pub epsilon: f64,
    pub delta: f64,
    /// `l_0, ..., l_n`, lower bounds.
    pub losses: &'a [f64],
    /// A lower bound of `l_k` for every `k > n`, not below `l_n`.
    pub beyond: f64,
}

/// A lower bound of the expected loss of all such noise.
///
/// # Proof
/// The set of laws that keep the promise is convex and symmetric about zero, and the loss is linear and symmetric: so a law may be replaced by the
/// mean of itself and its mirror image. For such a law `p`, weights `y_ij` from 0 to `h_j` and `c = e^epsilon`,
///
/// `sum over i of y_ij (p_i - c p_(i+j)) <= h_j delta`,
///
/// because the left side is largest where `y_ij` is `h_j` on a set and 0 outside of it, and there it is the promise times `h_j`. Hence, for every `L`,
///
/// `E loss - L + sum_j h_j delta >= sum over k >= 0 of p_k [m_k (l_k - L) + sum of y_ij with |i| = k - c sum of y_ij with |i + j| = k]`
///
/// with `m_0 = 1` and `m_k = 2` otherwise. If no bracket is negative, then `E loss >= L - delta sum_j h_j`.
///
/// The weights and `h_j` come from the solver; any would do. Those of the whole shift from `i >= 0` on, which decide about the far brackets, are found
/// anew from outside inwards, each as large as the bracket of `i + steps` allows. Beyond `n` they are constant, `y`, and there each bracket is at least
/// `2 (l_(n+1) - L) - (c - 1) y`, which is not negative for `y = 2 (l_(n+1) - L)/(c - 1)` or less. The least bracket is then added to `L`, divided by
/// its `m_k`, if it is negative: a smaller `L` makes no bracket smaller.
///
/// All operations are rounded towards a smaller bound, `c` upwards.
pub(crate) fn certified_bound(claim: &Claim<'_>, solution: &Solution) -> f64 {
    let ceilings: Vec<f64> = ceilings(claim.steps, &solution.delta_prices);
    // The prices are approximate: a little below the approximate level the proof may well be better than at it.
    let levels = std::iter::once(0.0).chain((0..8).map(|n| 1e-12 * 10f64.powi(n)));
    let cost = ceilings.iter().fold(0.0, |sum, &h| add_up(sum, mul_up(h, claim.delta)));
    let bound = levels
        .map(|lower| solution.level - lower * solution.level.abs())
        .map(|level| proved_level(claim, &solution.flows, &ceilings, level))
        .fold(f64::NEG_INFINITY, f64::max);
    sub_down(bound, cost)
}

/// `h_j` by `j`, with zero for shifts that are not tested.
fn ceilings(steps: usize, prices: &[(usize, f64)]) -> Vec<f64> {
    let mut ceilings = vec![0.0; steps + 1];
    for &(shift, price) in prices {
        ceilings[shift] = if price > 0.0 { price } else { 0.0 };
    }
    ceilings
}

/// The greatest `L` not above `level` that these weights are found to prove.
fn proved_level(claim: &Claim<'_>, flows: &[Flow], ceilings: &[f64], level: f64) -> f64 {
    let growth = Bounds::exact(claim.epsilon).exp().upper();
    let (steps, last) = (claim.steps, claim.losses.len() - 1);
    // Brackets without the whole shifts from i >= 0 on.
    let mut paid: Vec<f64> = vec![0.0; last + 1];
    let mut owed: Vec<f64> = vec![0.0; last + steps + 1];
    for flow in flows.iter().filter(|flow| flow.shift < steps || flow.from < 0) {
        let weight = flow.price.clamp(0.0, ceilings[flow.shift]);
        let (near, far) = (flow.from.unsigned_abs() as usize, (flow.from + flow.shift as i64).unsigned_abs() as usize);
        paid[near] = add_down(paid[near], weight);
        owed[far] = add_up(owed[far], weight);
    }
    // What is owed beyond the last knot by shorter shifts is paid from the same constant brackets; tests do not reach there unless the cut is absurdly near.
    if owed[last + 1..].iter().any(|&weight| weight > 0.0) {
        return f64::NEG_INFINITY;
    }
    let surplus = |k: usize, whole: f64| {
        let own = mul_down(multiplicity(k), sub_down(claim.losses[k], level));
        sub_down(add_down(add_down(own, paid[k]), whole), mul_up(growth, owed[k]))
    };
    let reserve = sub_down(claim.beyond, level);
    let limit = ceilings[steps];
    let constant = if reserve <= 0.0 {
        0.0
    } else {
        let excess = sub_up(growth, 1.0);
        if excess > 0.0 { div_down(2.0 * reserve, excess).min(limit) } else { limit }
    };
    let mut whole = vec![constant; last + 1];
    let mut least = reserve.min(0.0);
    for k in (0..=last).rev() {
        let mut bracket = surplus(k, whole[k]);
        if k >= steps {
            let weight = div_down(bracket, growth).clamp(0.0, limit);
            whole[k - steps] = weight;
            bracket = sub_down(bracket, mul_up(growth, weight));
        }
        least = least.min(div_down(bracket, multiplicity(k)));
    }
    if least.is_nan() { f64::NEG_INFINITY } else { add_down(level, least) }
}
