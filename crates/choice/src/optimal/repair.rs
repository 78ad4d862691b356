//! From an approximate solution to exact tables that keep the guarantee.

use crate::limit::{Solution, multiplicity};
use reticent_noise::Table;

/// The probability 1, in weights.
const UNIT: f64 = (1u128 << 120) as f64;

/// Tables near a solution, each a little further inside the guarantee than the one before. None of
/// them is certified yet.
///
/// The last ones keep of the solution only the middle, and continue it as purely private noise
/// to where that may end. For a `delta` next to the solver's rounding errors this is as good; for
/// any other it is a last resort.
pub(super) fn tables(
    solution: &Solution,
    steps: usize,
    epsilon: f64,
    delta: f64,
) -> impl Iterator<Item = Table> {
    // A few ulps more than e^-epsilon, for the roundings of the two weights that are compared.
    let decay = (-epsilon).exp() * (1.0 + 2e-15);
    let near = [1e-12, 1e-10, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3];
    let near = near
        .into_iter()
        .filter_map(move |margin| repaired(solution, steps, decay, delta * (1.0 - margin)));
    let continued = [1e-9, 0.5]
        .into_iter()
        .filter_map(move |margin| continued(solution, steps, decay, delta * (1.0 - margin)));
    near.chain(continued)
}

/// The solution with its probabilities raised where the guarantee asks for it.
///
/// The solver's excesses, scaled to `delta`, say where the guarantee is to be exceeded, and by how
/// much.
fn repaired(solution: &Solution, steps: usize, decay: f64, delta: f64) -> Option<Table> {
    let mut law: Vec<f64> = solution.probabilities.iter().map(|p| p.max(0.0)).collect();
    let total: f64 = solution.excesses.iter().map(|&(_, excess)| excess.max(0.0)).sum();
    let scale = if total > delta { delta / total } else { 1.0 };
    let excesses: Vec<(i64, f64)> =
        solution.excesses.iter().map(|&(i, s)| (i, scale * s.max(0.0))).collect();
    // Nothing is left of the last sensitivity but what may be exceeded.
    for &(i, excess) in excesses.iter().filter(|&&(i, _)| i >= 0) {
        let i = i as usize;
        if i + steps >= law.len() {
            law[i] = law[i].min(excess);
        }
    }
    raise(&mut law, &excesses, steps, decay);
    weights(&law)
}

/// The middle of the solution, two sensitivities to each side, and beyond it each step `e^-epsilon`
/// of that a sensitivity nearer; ended where the last sensitivity holds at most `delta`.
fn continued(solution: &Solution, steps: usize, decay: f64, delta: f64) -> Option<Table> {
    let middle = |(k, p): (usize, &f64)| if k < 2 * steps { p.max(0.0) } else { 0.0 };
    let mut law: Vec<f64> = solution.probabilities.iter().enumerate().map(middle).collect();
    let none: Vec<(i64, f64)> = solution.excesses.iter().map(|&(i, _)| (i, 0.0)).collect();
    raise(&mut law, &none, steps, decay);
    let total: f64 = law.iter().enumerate().map(|(k, p)| multiplicity(k) * p).sum();
    let end = (steps..=law.len())
        .find(|&end| law[end - steps..end].iter().sum::<f64>() <= delta * total * 0.999)?;
    law.truncate(end);
    weights(&law)
}

/// Raises `p_|i+m|` to at least `(p_|i| - s_i) e^-epsilon`, from zero outwards, and `p_k` to at
/// least `p_(k+1)`, from outside inwards; both until nothing changes, or nothing that matters.
fn raise(law: &mut [f64], excesses: &[(i64, f64)], steps: usize, decay: f64) {
    for _ in 0..100 {
        let mut raised = false;
        let mut at_least = |p: &mut f64, least: f64| {
            raised |= *p < least * (1.0 - 1e-15);
            *p = p.max(least);
        };
        for &(i, excess) in excesses {
            let least = (law[i.unsigned_abs() as usize] - excess) * decay;
            if let Some(p) = law.get_mut((i + steps as i64).unsigned_abs() as usize) {
                at_least(p, least);
            }
        }
        for k in (1..law.len()).rev() {
            let outer = law[k];
            at_least(&mut law[k - 1], outer);
        }
        if !raised {
            return;
        }
    }
}

fn weights(law: &[f64]) -> Option<Table> {
    let total: f64 = law.iter().enumerate().map(|(k, p)| multiplicity(k) * p).sum();
    Table::new(law.iter().map(|p| (p / total * UNIT) as u128).collect()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_mechanisms::{Delta, Epsilon, Tabulated};
    use reticent_noise::randomness::{RandomBits, SeededRandom};

    const STEPS: usize = 3;

    fn solution(probabilities: Vec<f64>, excess: impl Fn(i64) -> f64) -> Solution {
        let excesses = (-1..probabilities.len() as i64).map(|i| (i, excess(i))).collect();
        Solution {
            probabilities,
            excesses,
            value: 0.0,
            level: 0.0,
            flows: Vec::new(),
            delta_prices: Vec::new(),
        }
    }

    fn first_certified(solution: &Solution, epsilon: f64, delta: f64) -> Option<Tabulated> {
        let guarantee = (Epsilon::new(epsilon).expect("valid"), Delta::new(delta).expect("valid"));
        tables(solution, STEPS, epsilon, delta).find_map(|table| {
            Tabulated::for_integers(STEPS as u64, table, guarantee.0, guarantee.1).ok()
        })
    }

    /// Noise that decays by `e^epsilon` over a sensitivity and ends after 60 steps.
    fn decaying(epsilon: f64) -> Vec<f64> {
        (0..60).map(|k| (-epsilon * f64::from(k) / STEPS as f64).exp()).collect()
    }

    #[test]
    fn a_law_that_keeps_its_guarantee_stays_as_it_is() {
        let law = decaying(1.0);
        let table = repaired(
            &solution(law.clone(), |i| if i >= 57 { 1e-8 } else { 0.0 }),
            STEPS,
            (-1f64).exp(),
            3e-8,
        );
        let table = table.expect("a table");
        let total: f64 = law.iter().enumerate().map(|(k, p)| multiplicity(k) * p).sum();
        for (k, p) in law.iter().enumerate() {
            let weight = table.weight(k as u64) as f64 / table.total() as f64;
            assert!((weight * total / p - 1.0).abs() < 1e-6 || k >= 57, "{k}: {weight} {p}");
        }
    }

    #[test]
    fn rough_laws_are_made_to_keep_it() {
        let mut random = SeededRandom::new(4);
        let mut uniform = || (random.next_u64().expect("seeded") >> 11) as f64 / 2f64.powi(53);
        for (epsilon, delta) in [(0.5, 1e-3), (1.0, 1e-5), (2.0, 1e-9)] {
            for rough in [1e-9, 1e-4, 0.1, 0.9] {
                let law = decaying(epsilon)
                    .into_iter()
                    .map(|p| p * (1.0 + rough * (uniform() - 0.5)))
                    .collect();
                let made = first_certified(
                    &solution(law, |i| if i >= 40 { delta } else { 0.0 }),
                    epsilon,
                    delta,
                );
                assert!(made.is_some(), "{epsilon} {delta} {rough}");
            }
        }
    }

    #[test]
    fn of_nothing_nothing_is_made() {
        for nothing in [vec![0.0; 30], vec![-1.0; 30], vec![f64::NAN; 30], vec![0.0; 2]] {
            assert!(
                first_certified(&solution(nothing.clone(), |_| f64::NAN), 1.0, 1e-3).is_none(),
                "{nothing:?}"
            );
        }
    }
}
