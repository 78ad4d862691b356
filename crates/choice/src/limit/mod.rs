//! How far any mechanism could go: the least error at a budget, proved.

mod certificate;
mod programme;

use reticent_mechanisms::MechanismError;

/// Why there is no limit.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LimitError {
    /// The solver found nothing.
    #[error("the linear programme of the limit was not solved: {0}")]
    NotSolved(String),
    /// A parameter is wrong.
    #[error(transparent)]
    Parameter(#[from] MechanismError),
}

#[cfg(test)]
mod tests {
    use super::certificate::*;
    use super::programme::*;
    #[test]
    fn proto() {
        for (eps, m) in [(0.1, 4usize), (1.0, 16), (4.0, 64), (0.001, 1), (8.0, 256)] {
            for delta in [1e-3, 1e-6, 1e-9, 1e-20] {
                let f: f64 = eps;
                let a = (f.exp_m1() / 2.0 / delta).ln_1p() / eps;
                let n = ((a + 2.0) * m as f64) as usize + 2;
                let h = 1.0 / m as f64;
                let up: Vec<f64> = (0..=n).map(|k| if k == 0 { h / 4.0 } else { k as f64 * h }).collect();
                let lo: Vec<f64> = (0..=n).map(|k| k as f64 * h).collect();
                let t = std::time::Instant::now();
                let primal = Programme { steps: m, epsilon: eps, delta, losses: up };
                let s = primal.solve(Shape::Decreasing).expect("p");
                let w =
                    s.probabilities.iter().position(|&p| p < s.probabilities[0] * (-f / 2.0).exp()).unwrap_or(m) + 1;
                let t1 = t.elapsed().as_secs_f64();
                let dual = Programme { losses: lo.clone(), ..primal };
                let d = dual.solve(Shape::Any { window: w }).expect("d");
                let claim = Claim { steps: m, epsilon: eps, delta, losses: &lo, beyond: lo[n] };
                let b = certified_bound(&claim, &d);
                println!(
                    "{eps} {delta:e} n={n} w={w} upper {} lower LP {} cert {} ratio {} loss {:e} t {t1:.2} {:.2}",
                    s.value,
                    d.value,
                    b,
                    s.value / b,
                    1.0 - b / d.value,
                    t.elapsed().as_secs_f64()
                );
            }
        }
    }
}
