//! The proof of a limit.

use crate::limit::programme::{Flow, Solution, multiplicity};
use reticent_numerics::rounding::{add_down, add_up, div_down, mul_down, mul_up, sub_down, sub_up};
use reticent_numerics::{Bounds, Enclosure};

/// What the proof is about: noise on the integers that is `(epsilon, delta)`-differentially private
/// for moves of `1, ..., steps`, and the losses `l_k`, not decreasing in `k`.
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
/// For weights `y_ij` from 0 to `h_j`, `c = e^epsilon`, `m_0 = 1` and `m_k = 2` otherwise:
/// `E loss >= L - delta sum_j h_j` if for no `k` the bracket
/// `m_k (l_k - L) + sum of y_ij with |i| = k - c sum of y_ij with |i + j| = k` is negative
/// (docs/proofs/limit_certificate.md). The weights come from the solver; any would do.
///
/// All operations are rounded towards a smaller bound, `c` upwards.
pub(crate) fn certified_bound(claim: &Claim<'_>, solution: &Solution) -> f64 {
    let ceilings: Vec<f64> = ceilings(claim.steps, &solution.delta_prices);
    // The prices are approximate: a little below the approximate level the proof may well be better
    // than at it.
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
    if level.is_nan() || claim.beyond.is_nan() {
        return f64::NEG_INFINITY;
    }
    let growth = Bounds::exact(claim.epsilon).exp().upper();
    let (steps, last) = (claim.steps, claim.losses.len() - 1);
    // Brackets without the whole shifts from i >= 0 on.
    let mut paid: Vec<f64> = vec![0.0; last + 1];
    let mut owed: Vec<f64> = vec![0.0; last + 1];
    for flow in flows.iter().filter(|flow| flow.shift < steps || flow.from < 0) {
        let weight = flow.price.clamp(0.0, ceilings[flow.shift]);
        let (near, far) = (
            flow.from.unsigned_abs() as usize,
            (flow.from + flow.shift as i64).unsigned_abs() as usize,
        );
        // A test that reaches beyond the last knot is none of those that are proved here.
        let (Some(paid), Some(owed)) = (paid.get_mut(near), owed.get_mut(far)) else {
            return f64::NEG_INFINITY;
        };
        *paid = add_down(*paid, weight);
        *owed = add_up(*owed, weight);
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
        // An infinite weight on both sides.
        if bracket.is_nan() {
            return f64::NEG_INFINITY;
        }
        if k >= steps {
            let weight = div_down(bracket, growth).clamp(0.0, limit);
            whole[k - steps] = weight;
            bracket = sub_down(bracket, mul_up(growth, weight));
        }
        least = least.min(div_down(bracket, multiplicity(k)));
    }
    add_down(level, least)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::programme::{Programme, Shape};
    use reticent_noise::randomness::{RandomBits, SeededRandom};

    const STEPS: usize = 3;
    const EPSILON: f64 = 0.7;
    const DELTA: f64 = 0.01;

    fn losses() -> Vec<f64> {
        (0..=40).map(f64::from).collect()
    }

    fn claim(losses: &[f64]) -> Claim<'_> {
        Claim { steps: STEPS, epsilon: EPSILON, delta: DELTA, losses, beyond: 41.0 }
    }

    fn solved() -> Solution {
        let programme = Programme {
            steps: STEPS,
            epsilon: EPSILON,
            delta: DELTA,
            losses: losses(),
            beyond: 41.0,
        };
        programme.solve(Shape::Any { window: 30, stride: 1 }).expect("solvable")
    }

    #[test]
    fn the_solver_s_prices_prove_the_optimum() {
        let (solution, losses) = (solved(), losses());
        let bound = certified_bound(&claim(&losses), &solution);
        assert!((bound / solution.value - 1.0).abs() < 1e-8, "{bound} {}", solution.value);
    }

    #[test]
    fn no_prices_whatever_prove_more() {
        let (solution, losses) = (solved(), losses());
        let mut random = SeededRandom::new(9);
        let mut uniform = || (random.next_u64().expect("seeded") >> 11) as f64 / 2f64.powi(53);
        let mut best = f64::NEG_INFINITY;
        for round in 0..3000 {
            let mut other = solution.clone();
            // From a little beside the solution to nothing that has to do with it.
            let far = 10f64.powi(round % 8 - 6);
            other.level *= 1.0 + far * (uniform() - 0.3);
            for flow in &mut other.flows {
                flow.price *= 1.0 + far * (uniform() - 0.5);
                if round % 3 == 0 {
                    flow.price += far * (uniform() - 0.5);
                }
            }
            for price in &mut other.delta_prices {
                price.1 *= 1.0 + far * (uniform() - 0.5);
            }
            let bound = certified_bound(&claim(&losses), &other);
            assert!(bound <= solution.value * (1.0 + 1e-9), "{round}: {bound} {}", solution.value);
            best = best.max(bound);
        }
        assert!(best > 0.999 * solution.value, "no round came near: {best}");
    }

    #[test]
    fn a_smaller_budget_is_proved_to_cost_more_and_a_larger_loss_too() {
        let (solution, losses) = (solved(), losses());
        let bound = certified_bound(&claim(&losses), &solution);
        let stricter = Claim { delta: 0.5 * DELTA, ..claim(&losses) };
        assert!(certified_bound(&stricter, &solution) > bound);
        // The prices were made for an epsilon of 0.7. With more of it noise can do better, and the
        // proof must not go through unchanged.
        let looser = Claim { epsilon: 0.8, ..claim(&losses) };
        assert!(certified_bound(&looser, &solution) < bound * 0.99);
        let smaller: Vec<f64> = losses.iter().map(|loss| 0.9 * loss).collect();
        assert!(certified_bound(&claim(&smaller), &solution) < bound);
        // A loss that ends before the level is reached leaves nothing to prove it with.
        let ended = Claim { beyond: 0.0, ..claim(&losses[..1]) };
        assert!(certified_bound(&ended, &solution) <= 0.0);
    }

    #[test]
    fn numbers_that_are_none_prove_nothing() {
        let losses = losses();
        let optimum = solved().value * (1.0 + 1e-9);
        let proves_nothing_wrong = |solution: &Solution| {
            let bound = certified_bound(&claim(&losses), solution);
            bound.is_nan() || bound <= optimum
        };
        for wrong in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e308] {
            let mut solution = solved();
            solution.level = wrong;
            assert!(proves_nothing_wrong(&solution), "{wrong}");
            let mut solution = solved();
            solution.delta_prices.iter_mut().for_each(|price| price.1 = wrong);
            assert!(proves_nothing_wrong(&solution), "{wrong}");
            let mut solution = solved();
            solution.flows.iter_mut().for_each(|flow| flow.price = wrong);
            assert!(proves_nothing_wrong(&solution), "{wrong}");
        }
    }
}
