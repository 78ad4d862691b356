//! The best distribution of the standard deviation: a linear programme.
//!
//! Unknowns are the probabilities `w_n` of standard deviations on a grid, and what each cell of
//! outputs exceeds the guarantee by:
//!
//! - minimise `sum w_n c(s_n)` with `sum w_n = 1`,
//! - `e_i >= sum w_n (P_n(cell_i) - e^epsilon P_n(cell_i + D))`, `e_i >= 0` and `sum e_i <= delta`.
//!
//! The prices of the cells over that of `delta` are a randomized test of the guarantee, between 0
//! and 1 on each cell, and so a true constraint on every distribution: with it the Lagrangian
//! proves how far any could go. Where it is below its value on the grid, standard deviations are
//! added, and the programme is solved again. The mixture exceeds `delta` a little between the ends
//! of cells; calibration stretches it until the guarantee is proved.

use super::certificate::Lagrangian;
use super::losing::{Kernel, Losing};
use super::loss::SigmaLoss;
use crate::error::ChoiceError;
use crate::limit::{Rows, interior_point};
use reticent_mechanisms::{Delta, Distance, Epsilon, GaussianMechanism, GaussianMethod, Mechanism};
use reticent_numerics::Bounds;
use reticent_numerics::normal::normal_sf;

/// The first grid of standard deviations.
const GRID: u32 = 64;
/// Where more of them are looked for.
const SCAN: u32 = 400;
/// How often the programme is solved at most.
const ROUNDS: usize = 4;
/// The most cells of outputs.
const MOST_CELLS: usize = 500;
/// How far below its value on the grid the Lagrangian may be, relatively.
const TOLERANCE: f64 = 1e-4;

/// The best distribution of the standard deviation for a loss.
#[derive(Clone, Debug, PartialEq)]
pub struct BestSigmas {
    /// Standard deviations with their probabilities. Calibration stretches them until the guarantee
    /// is proved.
    pub sigmas: Vec<(f64, f64)>,
    /// Proved: with no distribution of the standard deviation is the expected loss smaller.
    pub floor: f64,
    /// The standard deviation of plain Gaussian noise.
    pub plain: f64,
    /// Proved: plain Gaussian noise is the best.
    pub is_plain: bool,
}

/// The best distribution of the standard deviation for `(epsilon, delta)` and one number.
///
/// # Errors
/// If plain Gaussian noise cannot be calibrated, or the solver fails.
pub fn best_sigmas(
    loss: &SigmaLoss,
    sensitivity: Distance,
    epsilon: Epsilon,
    delta: Delta,
) -> Result<BestSigmas, ChoiceError> {
    let plain = GaussianMechanism::calibrate(
        GaussianMethod::Analytic,
        &sensitivity.into(),
        (epsilon, delta),
    )?
    .scale();
    let problem = Problem {
        loss,
        sensitivity: sensitivity.get(),
        epsilon: epsilon.get(),
        delta: delta.get(),
        plain,
    };
    let floor = problem.plain_floor();
    if floor >= problem.cost(plain) * (1.0 - 1e-6) {
        return Ok(BestSigmas { sigmas: vec![(plain, 1.0)], floor, plain, is_plain: true });
    }
    let (sigmas, found) = problem.solved()?;
    Ok(BestSigmas { sigmas, floor: found.max(floor), plain, is_plain: false })
}

struct Problem<'a> {
    loss: &'a SigmaLoss,
    sensitivity: f64,
    epsilon: f64,
    delta: f64,
    /// The standard deviation of plain Gaussian noise.
    plain: f64,
}

impl Problem<'_> {
    fn cost(&self, sigma: f64) -> f64 {
        self.loss.estimate(sigma)
    }

    /// Of plain noise of standard deviation `s` the outputs beyond `epsilon s^2/D - D/2` lose more.
    fn plain_set(&self) -> Losing {
        let edge = self.epsilon * self.plain * self.plain / self.sensitivity;
        Losing::beyond(edge - 0.5 * self.sensitivity)
    }

    /// The proof by the one constraint that plain noise meets with equality, at the multiplier at
    /// which its standard deviation is stationary.
    fn plain_floor(&self) -> f64 {
        let kernel = self.plain_set().kernel(self.sensitivity, self.epsilon);
        let t = Bounds::exact(1.0 / self.plain);
        let (cost, slope) = (self.loss.at(t), kernel.at(t).first.estimate());
        let multiplier = -cost.first.estimate() * self.delta / slope;
        if !(multiplier > 0.0 && multiplier.is_finite()) {
            return 0.0;
        }
        let constraints = vec![(multiplier, &kernel)];
        Lagrangian { loss: self.loss, constraints, delta: self.delta }
            .proved_floor(cost.value.lower(), self.plain)
    }

    /// A mixture, and the floor that the prices prove.
    fn solved(&self) -> Result<(Vec<(f64, f64)>, f64), ChoiceError> {
        let grid = |i: u32, count: u32, low: f64, high: f64| {
            self.plain * low * (high / low).powf(f64::from(i) / f64::from(count))
        };
        let mut sigmas: Vec<f64> = (0..=GRID).map(|i| grid(i, GRID, 3e-3, 3.0)).collect();
        sigmas.push(self.plain);
        let ends = self.cells();
        let mut round = self.programme(&sigmas, &ends)?;
        for _ in 1..ROUNDS {
            let lagrangian = self.lagrangian(&round);
            let scan: Vec<(f64, f64)> = (0..=SCAN)
                .map(|i| grid(i, SCAN, 1e-3, 10.0))
                .map(|sigma| (sigma, lagrangian.estimate(sigma)))
                .collect();
            let missing: Vec<f64> = scan
                .windows(3)
                .filter(|near| near[1].1 <= near[0].1.min(near[2].1))
                .filter(|near| near[1].1 < round.value * (1.0 - TOLERANCE))
                .map(|near| near[1].0)
                .collect();
            if missing.is_empty() {
                break;
            }
            sigmas.extend(missing);
            round = self.programme(&sigmas, &ends)?;
        }
        let floor = self.lagrangian(&round).proved_floor(round.value, self.plain);
        Ok((round.mixture, floor))
    }

    fn lagrangian<'a>(&'a self, round: &'a Round) -> Lagrangian<'a> {
        let constraints = vec![(round.price, &round.test)];
        Lagrangian { loss: self.loss, constraints, delta: self.delta }
    }

    /// The ends of cells: fine next to the answer, in the unit in which noise falls beyond, up to
    /// where less than `delta` is left. From the middle between two answers on, where losses begin.
    fn cells(&self) -> Vec<f64> {
        let fall = self.sensitivity / self.epsilon;
        let fine = 0.05 * self.sensitivity.min(fall);
        let coarse = 0.08 * fall;
        let far = self.sensitivity + fall * (2.0 - self.delta.ln());
        let (mut x, mut ends) = (-0.5 * self.sensitivity, Vec::new());
        while x < far && ends.len() < MOST_CELLS {
            ends.push(x);
            x += if x < self.sensitivity { fine.min(coarse) } else { coarse };
        }
        ends
    }

    /// The programme over a grid of standard deviations and cells, of which the last has no end.
    fn programme(&self, sigmas: &[f64], ends: &[f64]) -> Result<Round, ChoiceError> {
        let unit = self.cost(self.plain).max(f64::MIN_POSITIVE);
        let (count, cells) = (sigmas.len(), ends.len());
        // Noise that falls by e^epsilon over one sensitivity has rows of one size.
        let size = |i: usize| {
            (-self.epsilon * ends[i].max(0.0) / self.sensitivity).exp().max(1e-3 * self.delta)
        };
        let growth = self.epsilon.exp();
        let surplus = |x: f64, sigma: f64| {
            let tail = |x: f64| normal_sf(x / sigma).estimate();
            tail(x) - growth * tail(x + self.sensitivity)
        };
        let mut rows = Rows::default();
        rows.add((0..count).map(|n| (n, 1.0)), 1.0);
        for i in 0..cells {
            let entry = |(n, sigma): (usize, &f64)| {
                let next = ends.get(i + 1).map_or(0.0, |end| surplus(*end, *sigma));
                (n, (surplus(ends[i], *sigma) - next) / size(i))
            };
            rows.add(sigmas.iter().enumerate().map(entry).chain([(count + i, -1.0)]), 0.0);
        }
        rows.add((0..cells).map(|i| (count + i, size(i) / self.delta)), 1.0);
        for x in 0..count + cells {
            rows.add([(x, -1.0)], 0.0);
        }
        let mut cost: Vec<f64> = sigmas.iter().map(|sigma| self.cost(*sigma) / unit).collect();
        cost.resize(count + cells, 0.0);
        let (found, prices) = interior_point(rows, &cost).map_err(|error| {
            ChoiceError::NothingFits(format!("the best distribution of the scale: {error}"))
        })?;
        let value = cost.iter().zip(&found).map(|(cost, x)| cost * x).sum::<f64>() * unit;
        let price = prices[cells + 1].max(0.0);
        // What a cell's row is worth over what delta is worth: the test's value there.
        let levels: Vec<f64> = (0..cells)
            .map(|i| (prices[i + 1] / size(i) / (price / self.delta)).clamp(0.0, 1.0))
            .map(|level| if level.is_nan() { 0.0 } else { level })
            .collect();
        let least = (1e-4 * self.delta).clamp(1e-11, 1e-8);
        let mut mixture: Vec<(f64, f64)> =
            sigmas.iter().copied().zip(found).filter(|(_, weight)| *weight > least).collect();
        let total: f64 = mixture.iter().map(|part| part.1).sum();
        mixture.iter_mut().for_each(|part| part.1 /= total);
        let test = Kernel::of_test(ends, &levels, self.sensitivity, self.epsilon);
        Ok(Round { mixture, test, price: price * unit, value })
    }
}

/// What one programme gives.
struct Round {
    mixture: Vec<(f64, f64)>,
    /// The test that the cells' prices make, and the price of `delta`.
    test: Kernel,
    price: f64,
    value: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::piecewise_loss::PiecewiseLoss;
    use reticent_mechanisms::RandomScaleGaussianMechanism;

    fn solved(loss: &SigmaLoss, epsilon: f64, delta: f64) -> (BestSigmas, f64) {
        let (epsilon, delta) =
            (Epsilon::new(epsilon).expect("valid"), Delta::new(delta).expect("valid"));
        let one = Distance::new(1.0).expect("valid");
        let best = best_sigmas(loss, one, epsilon, delta).expect("solvable");
        let mechanism = RandomScaleGaussianMechanism::calibrate(
            best.sigmas.clone(),
            &one.into(),
            (epsilon, delta),
        )
        .expect("calibrated");
        assert!(mechanism.delta(epsilon.get()).expect("valid").upper() <= delta.get());
        let cost =
            mechanism.components().iter().map(|(sigma, weight)| weight * loss.estimate(*sigma));
        (best.clone(), cost.sum())
    }

    #[test]
    fn the_mixture_beats_plain_noise_and_is_near_its_floor_up_to_epsilon_1() {
        for loss in [
            SigmaLoss::Real(PiecewiseLoss::absolute()),
            SigmaLoss::Real(PiecewiseLoss::square()),
            SigmaLoss::Exceedance(0.3),
        ] {
            for (epsilon, delta) in [(1.0, 1e-6), (0.3, 1e-4), (4.0, 1e-5)] {
                let (best, cost) = solved(&loss, epsilon, delta);
                let plain = loss.estimate(best.plain);
                // A chance of a large error is near 1 where little can be known: what is compared
                // is then the chance of a small one.
                let better = match loss {
                    SigmaLoss::Exceedance(_) => 1.0 - cost > 1.25 * (1.0 - plain),
                    SigmaLoss::Real(_) => cost < 0.8 * plain,
                };
                assert!(!best.is_plain && better, "{loss:?} {epsilon}: {cost} {plain}");
                assert!(best.floor <= cost * (1.0 + 1e-12), "{loss:?} {epsilon}: {best:?} {cost}");
                // The certificate proves less the larger epsilon is; at 4 it proves nothing.
                assert!(
                    epsilon > 1.0 || best.floor > 0.9 * cost,
                    "{loss:?} {epsilon} {delta}: {} {cost}",
                    best.floor
                );
            }
        }
    }

    /// Where `sigma^2 <= D^2/(2 epsilon)`, plain noise can be the best, and it is proved.
    #[test]
    fn plain_noise_is_proved_best_where_delta_is_large() {
        let loss = SigmaLoss::Real(PiecewiseLoss::square());
        let (best, cost) = solved(&loss, 0.1, 0.5);
        assert!(best.is_plain && best.floor > cost * (1.0 - 1e-6), "{best:?} {cost}");
    }
}
