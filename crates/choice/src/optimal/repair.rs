//! From an approximate solution to exact tables that keep the promise.

use crate::limit::{Solution, multiplicity};
use reticent_noise::Table;

/// The probability 1, in weights.
const UNIT: f64 = (1u128 << 120) as f64;

/// Tables near a solution, each a little further inside the promise than the one before. None of them is certified yet.
pub(super) fn tables(solution: &Solution, steps: usize, epsilon: f64, delta: f64) -> impl Iterator<Item = Table> {
    [1e-12, 1e-10, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.5]
        .into_iter()
        .filter_map(move |margin| table(solution, steps, epsilon, delta * (1.0 - margin)))
}

/// The solution with its probabilities raised where the promise asks for it.
///
/// The solver's excesses, scaled to `delta`, say where the promise is to be exceeded, and by how much. Everywhere else `p_|i+m|` is raised to at least
/// `(p_|i| - s_i)/e^epsilon`, from zero outwards, and `p_k` to at least `p_(k+1)`, from outside inwards; both until nothing changes, or
/// nothing that matters.
fn table(solution: &Solution, steps: usize, epsilon: f64, delta: f64) -> Option<Table> {
    let mut law: Vec<f64> = solution.probabilities.iter().map(|p| p.max(0.0)).collect();
    let total: f64 = solution.excesses.iter().map(|(_, s)| s.max(0.0)).sum();
    let scale = if total > delta { delta / total } else { 1.0 };
    let decay = (-epsilon).exp();
    for _ in 0..100 {
        let mut raised = false;
        let mut raise = |law: &mut [f64], k: usize, least: f64| {
            if law[k] < least {
                raised |= law[k] < least * (1.0 - 1e-15);
                law[k] = least;
            }
        };
        for &(i, excess) in &solution.excesses {
            let (near, far) = (i.unsigned_abs() as usize, (i + steps as i64).unsigned_abs() as usize);
            if far < law.len() {
                let least = (law[near] - scale * excess.max(0.0)) * decay;
                raise(&mut law, far, least);
            }
        }
        for k in (1..law.len()).rev() {
            let outer = law[k];
            raise(&mut law, k - 1, outer);
        }
        if !raised {
            break;
        }
    }
    let total: f64 = law.iter().enumerate().map(|(k, p)| multiplicity(k) * p).sum();
    Table::new(law.iter().map(|p| (p / total * UNIT) as u128).collect()).ok()
}
