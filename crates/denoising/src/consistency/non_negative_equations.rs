//! Values that satisfy linear equations and are not negative: a table that agrees with its margins,
//! without negative counts.

use super::linear::{Constraint, Factor, LinearConstraints};
use crate::error::DenoisingError;
use crate::release::{Denoised, Denoiser, Release};
use crate::shape::Shape;
use crate::unbiased::estimate_from_terms;
use faer::linalg::solvers::Solve;
use faer::{Mat, Side};

/// The nearest vector that satisfies linear equations and has no negative value, weighted by the
/// inverse variances.
///
/// # Formula
/// The projection is `x = max(0, y - V A' u)` with multipliers `u` such that `A x = b`: those are
/// the conditions of Karush, Kuhn and Tucker. They say that the gradient `b - A x(u)` of the convex
/// dual function `f(u) = sum of max(0, y - V A' u)^2/(2 v) + b'u` is zero. Newton's method finds
/// the zero in finitely many steps, with the Hessian `A V D A'`, where `D` selects the coordinates
/// that are positive, and an exact line search.
///
/// # Certificate
/// Whatever `u` is, `x(u)` is the projection for the right-hand sides `A x(u)`; these are checked
/// to be the given ones as nearly as for [`LinearConstraints`], or there is an error. So the answer
/// is never a vector that is merely near the projection: it is that of equations that differ in
/// their last digits.
///
/// # Risk
/// For Gaussian noise Stein's unbiased estimate. Where the positive coordinates stay the same the
/// rule is linear, and its derivative is that of [`LinearConstraints`] on those coordinates. For
/// other noise none is known.
#[derive(Clone, Debug, PartialEq)]
pub struct NonNegativeConstraints {
    equations: LinearConstraints,
}

/// Newton's steps; tables of real data take fewer than twenty.
const MOST_STEPS: usize = 200;

/// What is added to the diagonal of the Hessian, whose entries are at most 1: equations that follow
/// from others leave it singular.
const RIDGE: f64 = 1e-11;

impl NonNegativeConstraints {
    /// The same equations for values that are not negative.
    pub fn new(equations: LinearConstraints) -> Self {
        NonNegativeConstraints { equations }
    }
}

/// The dual function of one release. Equations are scaled so that the Hessian of all coordinates
/// has ones on its diagonal.
struct Dual<'a> {
    equations: &'a [Constraint],
    units: Vec<f64>,
    values: &'a [f64],
    variances: &'a [f64],
}

impl Dual<'_> {
    /// `x(u)`.
    fn primal(&self, multipliers: &[f64]) -> Vec<f64> {
        let mut x = self.values.to_vec();
        for ((equation, unit), multiplier) in
            self.equations.iter().zip(&self.units).zip(multipliers)
        {
            for &(coordinate, coefficient) in &equation.terms {
                x[coordinate] -= self.variances[coordinate] * coefficient * unit * multiplier;
            }
        }
        x.iter_mut().for_each(|value| *value = value.max(0.0));
        x
    }

    /// `b - A x`, scaled.
    fn gradient(&self, x: &[f64]) -> Vec<f64> {
        self.equations
            .iter()
            .zip(&self.units)
            .map(|(equation, unit)| unit * (equation.value - sum(equation, x)))
            .collect()
    }

    /// Whether every equation holds as nearly as is asked for.
    fn holds(&self, x: &[f64]) -> bool {
        let holds = |equation: &Constraint| {
            (sum(equation, x) - equation.value).abs() <= equation.allowance(x, self.values)
        };
        self.equations.iter().all(holds)
    }

    /// Newton's direction.
    fn direction(
        &self,
        equations: &LinearConstraints,
        x: &[f64],
        gradient: &[f64],
    ) -> Option<Vec<f64>> {
        let hessian = equations.gram(&positive_only(self.variances, x));
        let count = self.units.len();
        let scaled = Mat::from_fn(count, count, |row, column| {
            hessian[row][column] * self.units[row] * self.units[column]
                + if row == column { RIDGE } else { 0.0 }
        });
        let right = Mat::from_fn(count, 1, |row, _| -gradient[row]);
        let solution = scaled.llt(Side::Lower).ok()?.solve(&right);
        Some((0..count).map(|row| solution[(row, 0)]).collect())
    }

    /// The multipliers along a direction where the dual function is least: its slope is monotone,
    /// so that halving finds the sign change.
    fn least_along(&self, from: &[f64], direction: &[f64]) -> Vec<f64> {
        let at = |step: f64| -> Vec<f64> {
            from.iter().zip(direction).map(|(u, d)| u + step * d).collect()
        };
        let slope = |step: f64| -> f64 {
            let gradient = self.gradient(&self.primal(&at(step)));
            gradient.iter().zip(direction).map(|(g, d)| g * d).sum()
        };
        let (mut low, mut high) = (0.0, 1.0);
        if slope(1.0) <= 0.0 {
            return at(1.0);
        }
        for _ in 0..100 {
            let middle = 0.5 * (low + high);
            if slope(middle) <= 0.0 {
                low = middle
            } else {
                high = middle
            }
            if high - low <= 1e-15 * high {
                break;
            }
        }
        at(high)
    }
}

fn sum(equation: &Constraint, x: &[f64]) -> f64 {
    equation.terms.iter().map(|&(coordinate, coefficient)| coefficient * x[coordinate]).sum()
}

/// The variances of the coordinates that are positive, zero for the others.
fn positive_only(variances: &[f64], x: &[f64]) -> Vec<f64> {
    variances
        .iter()
        .zip(x)
        .map(|(&variance, &value)| if value > 0.0 { variance } else { 0.0 })
        .collect()
}

impl Denoiser for NonNegativeConstraints {
    fn denoise(&self, release: &Release) -> Result<Denoised, DenoisingError> {
        // Equations that contradict each other, or name coordinates that are not there, are found
        // here.
        let unsigned = self.equations.denoise(release)?;
        let variances = release.finite_variances("a projection to linear equations")?;
        let equations = self.equations.constraints();
        let gram = self.equations.gram(&variances);
        let unit = |index: usize| {
            if gram[index][index] > 0.0 { 1.0 / gram[index][index].sqrt() } else { 0.0 }
        };
        let units = (0..equations.len()).map(unit).collect();
        let dual = Dual { equations, units, values: release.values(), variances: &variances };
        let values = if unsigned.values.iter().all(|&value| value >= 0.0) {
            unsigned.values
        } else {
            projected(&dual, &self.equations)?
        };
        let risk_after = (release.noise().shape() == &Shape::Gaussian).then(|| {
            let derivatives = derivatives(&self.equations, &positive_only(&variances, &values));
            let coordinates = values.iter().zip(release.values()).zip(&variances).zip(derivatives);
            estimate_from_terms(coordinates.map(|(((x, y), variance), derivative)| {
                (x - y).powi(2) - variance + 2.0 * derivative
            }))
        });
        Ok(Denoised {
            values,
            risk_before: release.risk(),
            risk_after,
            assumptions: vec![format!(
                "the true values satisfy the {} equations, and none of them is negative",
                equations.len()
            )],
            method: "projection to linear equations without negative values".into(),
        })
    }
}

fn projected(dual: &Dual<'_>, equations: &LinearConstraints) -> Result<Vec<f64>, DenoisingError> {
    let mut multipliers = vec![0.0; dual.units.len()];
    for _ in 0..MOST_STEPS {
        let x = dual.primal(&multipliers);
        if dual.holds(&x) {
            return Ok(x);
        }
        let Some(direction) = dual.direction(equations, &x, &dual.gradient(&x)) else { break };
        let next = dual.least_along(&multipliers, &direction);
        if next.iter().any(|multiplier| !multiplier.is_finite()) || next == multipliers {
            break;
        }
        multipliers = next;
    }
    let reason = "no values were found that satisfy all equations and are not negative; where they \
        are consistent \
                  without signs, some total asks for a negative value";
    Err(DenoisingError::Infeasible { reason: reason.into() })
}

/// `v_i` times the derivative of `x_i` by `y_i`, for a projection that is linear on the coordinates
/// with positive variances.
fn derivatives(equations: &LinearConstraints, variances: &[f64]) -> Vec<f64> {
    let factor = Factor::of(equations.gram(variances));
    let columns = factor.columns(equations.constraints(), variances);
    columns
        .into_iter()
        .zip(variances)
        .map(|(column, variance)| variance - factor.squared_norm(&column))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consistency::Total;
    use crate::{NoiseDescription, Release};
    use reticent_noise::randomness::{RandomBits, SeededRandom};

    fn uniform(random: &mut SeededRandom) -> f64 {
        (random.next_u64().expect("seeded") >> 11) as f64 / 2f64.powi(53)
    }

    /// A table of counts with its margins, and a release of it.
    fn table(rows: usize, columns: usize, seed: u64) -> (Release, Vec<f64>, Vec<f64>) {
        let mut random = SeededRandom::new(seed);
        let truth: Vec<f64> =
            (0..rows * columns).map(|_| (4.0 * uniform(&mut random)).floor()).collect();
        let scales = (0..truth.len()).map(|_| 0.5 + 2.0 * uniform(&mut random)).collect();
        let values = truth.iter().map(|value| value + 6.0 * (uniform(&mut random) - 0.5)).collect();
        let noise = NoiseDescription::with_scales(Shape::Gaussian, scales).expect("valid");
        let of_rows = truth.chunks(columns).map(|row| row.iter().sum()).collect();
        let of_columns =
            (0..columns).map(|column| truth.iter().skip(column).step_by(columns).sum()).collect();
        (Release::new(values, noise).expect("valid"), of_rows, of_columns)
    }

    /// Optimality without multipliers: moving a little around any rectangle of the table, as far as
    /// signs allow, comes no nearer. Those moves generate all that keep the margins.
    #[test]
    fn no_move_that_keeps_the_margins_and_the_signs_comes_nearer() {
        for (rows, columns, seed) in [(2, 3, 1), (5, 4, 2), (12, 9, 3), (1, 6, 4)] {
            let (release, of_rows, of_columns) = table(rows, columns, seed);
            let equations = LinearConstraints::margins(&of_rows, &of_columns).expect("valid");
            let x =
                NonNegativeConstraints::new(equations).denoise(&release).expect("feasible").values;
            assert!(x.iter().all(|&value| value >= 0.0) && x.contains(&0.0), "{x:?}");
            for (row, total) in of_rows.iter().enumerate() {
                let sum: f64 = x[row * columns..(row + 1) * columns].iter().sum();
                assert!((sum - total).abs() < 1e-8, "{sum} {total}");
            }
            let variances = release.variances();
            let pull = |i: usize| (x[i] - release.values()[i]) / variances[i];
            for (a, b) in
                (0..rows).flat_map(|a| (0..rows).map(move |b| (a, b))).filter(|(a, b)| a != b)
            {
                for (c, d) in (0..columns)
                    .flat_map(|c| (0..columns).map(move |d| (c, d)))
                    .filter(|(c, d)| c != d)
                {
                    // Up at (a, c) and (b, d), down at (a, d) and (b, c).
                    let [up, down] =
                        [[a * columns + c, b * columns + d], [a * columns + d, b * columns + c]];
                    if down.iter().all(|&i| x[i] > 1e-6) {
                        let slope =
                            up.map(pull).iter().sum::<f64>() - down.map(pull).iter().sum::<f64>();
                        assert!(slope > -1e-6, "{rows} {columns}: {slope}");
                    }
                }
            }
        }
    }

    #[test]
    fn one_total_is_the_projection_that_is_known() {
        let (release, _, _) = table(4, 5, 9);
        for total in [0.0, 3.0, 25.0, 400.0] {
            let terms = (0..20).map(|coordinate| (coordinate, 1.0)).collect();
            let equation =
                LinearConstraints::new(vec![Constraint { terms, value: total }]).expect("valid");
            let general =
                NonNegativeConstraints::new(equation).denoise(&release).expect("feasible");
            let known =
                Total::new(total, true).expect("valid").denoise(&release).expect("feasible");
            let off = general
                .values
                .iter()
                .zip(&known.values)
                .map(|(a, b)| (a - b).abs())
                .fold(0.0, f64::max);
            assert!(off < 1e-7, "{total}: {off}");
            let (left, right) =
                (general.risk_after.expect("Gaussian"), known.risk_after.expect("Gaussian"));
            assert!(
                (left.value - right.value).abs() < 1e-6 * (1.0 + right.value.abs()),
                "{total}: {left:?} {right:?}"
            );
        }
    }

    /// The mean of the estimates is the mean of the losses, within 5 standard errors of their
    /// difference (6e-7), over 4000 seeded releases.
    #[test]
    fn the_risk_is_unbiased() {
        let truth = [3.0, 0.0, 0.0, 1.0, 0.0, 2.0];
        let equations = LinearConstraints::margins(&[3.0, 3.0], &[4.0, 0.0, 2.0]).expect("valid");
        let denoiser = NonNegativeConstraints::new(equations);
        let mut random = SeededRandom::new(11);
        let mut differences = Vec::new();
        for _ in 0..4000 {
            // Box and Muller.
            let mut normal = || {
                (-2.0 * (1.0 - uniform(&mut random)).ln()).sqrt()
                    * (std::f64::consts::TAU * uniform(&mut random)).cos()
            };
            let values = truth.iter().map(|value| value + 1.5 * normal()).collect();
            let release = Release::new(values, NoiseDescription::gaussian(1.5).expect("valid"))
                .expect("valid");
            let denoised = denoiser.denoise(&release).expect("feasible");
            let loss: f64 = denoised.values.iter().zip(&truth).map(|(x, t)| (x - t).powi(2)).sum();
            differences.push(denoised.risk_after.expect("Gaussian").value - loss);
        }
        let count = differences.len() as f64;
        let mean = differences.iter().sum::<f64>() / count;
        let error =
            (differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / count / count).sqrt();
        assert!(mean.abs() < 5.0 * error, "{mean} {error}");
        // An estimate that is off by a tenth of the risk of the release, 13.5, would be noticed.
        assert!(5.0 * error < 1.35, "{error}");
    }

    #[test]
    fn what_no_values_satisfy_is_refused() {
        let release = Release::new(vec![1.0; 4], NoiseDescription::gaussian(1.0).expect("valid"))
            .expect("valid");
        for (rows, columns) in
            [([-1.0, 3.0], [1.0, 1.0]), ([2.0, 2.0], [5.0, -1.0]), ([2.0, 2.0], [2.0, 3.0])]
        {
            let equations = LinearConstraints::margins(&rows, &columns).expect("valid");
            let refused = NonNegativeConstraints::new(equations).denoise(&release);
            assert!(
                matches!(refused, Err(DenoisingError::Infeasible { .. })),
                "{rows:?}: {refused:?}"
            );
        }
        // Margins of zero leave nothing else.
        let zero = LinearConstraints::margins(&[0.0, 0.0], &[0.0, 0.0]).expect("valid");
        let denoised = NonNegativeConstraints::new(zero).denoise(&release).expect("feasible");
        assert!(
            denoised.values.iter().all(|&value| (0.0..1e-9).contains(&value)),
            "{:?}",
            denoised.values
        );
    }
}
