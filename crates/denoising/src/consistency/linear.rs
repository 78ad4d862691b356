//! Values that satisfy linear equations, such as a table that agrees with its margins.

use crate::error::DenoisingError;
use crate::release::{Denoised, Denoiser, Release, RiskEstimate};
use reticent_numerics::require;

/// `sum coefficient * x[coordinate] = value`.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// Coordinates, counting from 0, with their coefficients.
    pub terms: Vec<(usize, f64)>,
    /// The right-hand side.
    pub value: f64,
}

impl Constraint {
    /// By how much a vector that was made from a release may miss the equation: `1e-9` of its terms
    /// and `1e-12` of those of the release.
    pub(super) fn allowance(&self, values: &[f64], released: &[f64]) -> f64 {
        let size = |x: &[f64]| {
            self.terms
                .iter()
                .map(|(coordinate, coefficient)| (coefficient * x[*coordinate]).abs())
                .sum::<f64>()
        };
        1e-9 * (size(values) + self.value.abs()) + 1e-12 * size(released)
    }
}

/// The nearest vector that satisfies linear equations, weighted by the inverse variances.
///
/// # Formula
/// `x = y - V A' (A V A')^-1 (A y - b)` with the diagonal `V` of the variances. Equations that
/// follow from others, as one margin of a table does, are dropped in a Cholesky factorisation with
/// pivoting; they are checked to follow, within `1e-9` of their terms and `1e-12` of those of the
/// release, whose rounding errors are all that is left where the terms are zero.
///
/// # Risk
/// The rule is linear, with covariance `V - V A' (A V A')^-1 A V`; its trace is the risk, exactly,
/// for any noise of these variances.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearConstraints {
    constraints: Vec<Constraint>,
}

/// The factorisation is dense.
const MOST_CONSTRAINTS: usize = 4000;

impl LinearConstraints {
    /// Equations.
    ///
    /// # Errors
    /// If there are none or more than 4000, or a coefficient or value is not a number of magnitude
    /// at most 1e100.
    pub fn new(constraints: Vec<Constraint>) -> Result<Self, DenoisingError> {
        let count = constraints.len();
        require(
            (1..=MOST_CONSTRAINTS).contains(&count),
            "number of equations",
            count as f64,
            "from 1 to 4000",
        )?;
        for constraint in &constraints {
            let numbers = constraint.terms.iter().map(|term| term.1).chain([constraint.value]);
            for number in numbers {
                require(
                    number.abs() <= 1e100,
                    "coefficient",
                    number,
                    "a number from -1e100 to 1e100",
                )?;
            }
        }
        Ok(LinearConstraints { constraints })
    }

    /// A table, row by row, whose rows and columns add up to public margins.
    ///
    /// # Errors
    /// If a margin is empty or too long.
    pub fn margins(rows: &[f64], columns: &[f64]) -> Result<Self, DenoisingError> {
        let width = columns.len();
        let of_row = rows.iter().enumerate().map(|(row, total)| Constraint {
            terms: (0..width).map(|column| (row * width + column, 1.0)).collect(),
            value: *total,
        });
        let of_column = columns.iter().enumerate().map(|(column, total)| Constraint {
            terms: (0..rows.len()).map(|row| (row * width + column, 1.0)).collect(),
            value: *total,
        });
        Self::new(of_row.chain(of_column).collect())
    }

    /// The equations.
    pub(super) fn constraints(&self) -> &[Constraint] {
        &self.constraints
    }

    /// `A V A'`.
    pub(super) fn gram(&self, variances: &[f64]) -> Vec<Vec<f64>> {
        let mut by_coordinate: Vec<Vec<(usize, f64)>> = vec![Vec::new(); variances.len()];
        for (index, constraint) in self.constraints.iter().enumerate() {
            for &(coordinate, coefficient) in &constraint.terms {
                by_coordinate[coordinate].push((index, coefficient));
            }
        }
        let mut gram = vec![vec![0.0; self.constraints.len()]; self.constraints.len()];
        for (entries, variance) in by_coordinate.iter().zip(variances) {
            for (row, left) in entries {
                for (column, right) in entries {
                    gram[*row][*column] += left * right * variance;
                }
            }
        }
        gram
    }
}

/// `A V A' = L L'` on the independent equations, in the order of the pivots.
pub(super) struct Factor {
    pivots: Vec<usize>,
    /// Row `k` is that of pivot `k`, up to the diagonal.
    rows: Vec<Vec<f64>>,
}

impl Factor {
    /// Cholesky with the largest remaining diagonal entry as the next pivot, until it is nothing
    /// but rounding.
    pub(super) fn of(mut gram: Vec<Vec<f64>>) -> Self {
        let count = gram.len();
        let largest = (0..count).map(|index| gram[index][index]).fold(0.0, f64::max);
        let mut columns: Vec<Vec<f64>> = Vec::new();
        let mut pivots = Vec::new();
        loop {
            let left = (0..count).filter(|index| !pivots.contains(index));
            let pivot = left.max_by(|a, b| gram[*a][*a].total_cmp(&gram[*b][*b]));
            let Some(pivot) = pivot.filter(|pivot| gram[*pivot][*pivot] > 1e-12 * largest) else {
                break;
            };
            let root = gram[pivot][pivot].sqrt();
            let column: Vec<f64> = (0..count)
                .map(|index| if pivots.contains(&index) { 0.0 } else { gram[index][pivot] / root })
                .collect();
            for row in 0..count {
                for other in 0..count {
                    gram[row][other] -= column[row] * column[other];
                }
            }
            columns.push(column);
            pivots.push(pivot);
        }
        let rows = pivots
            .iter()
            .enumerate()
            .map(|(k, &pivot)| columns[..=k].iter().map(|column| column[pivot]).collect());
        Factor { rows: rows.collect(), pivots }
    }

    /// `L^-1` times a vector of the pivots' entries.
    fn forward(&self, mut vector: Vec<f64>) -> Vec<f64> {
        for (k, row) in self.rows.iter().enumerate() {
            let known: f64 = row[..k].iter().zip(&vector).map(|(entry, value)| entry * value).sum();
            vector[k] = (vector[k] - known) / row[k];
        }
        vector
    }

    /// The columns of `A V` on the independent equations, by coordinate.
    pub(super) fn columns(
        &self,
        constraints: &[Constraint],
        variances: &[f64],
    ) -> Vec<Vec<(usize, f64)>> {
        let mut columns: Vec<Vec<(usize, f64)>> = vec![Vec::new(); variances.len()];
        for (k, index) in self.pivots.iter().enumerate() {
            for &(coordinate, coefficient) in &constraints[*index].terms {
                columns[coordinate].push((k, coefficient * variances[coordinate]));
            }
        }
        columns
    }

    /// `|L^-1 c|^2` of such a column.
    pub(super) fn squared_norm(&self, column: &[(usize, f64)]) -> f64 {
        let mut vector = vec![0.0; self.pivots.len()];
        for (k, entry) in column {
            vector[*k] += entry;
        }
        self.forward(vector).iter().map(|value| value * value).sum()
    }

    /// `L'^-1` times a vector.
    fn backward(&self, mut vector: Vec<f64>) -> Vec<f64> {
        for k in (0..vector.len()).rev() {
            let known: f64 =
                (k + 1..vector.len()).map(|later| self.rows[later][k] * vector[later]).sum();
            vector[k] = (vector[k] - known) / self.rows[k][k];
        }
        vector
    }
}

impl Denoiser for LinearConstraints {
    fn denoise(&self, release: &Release) -> Result<Denoised, DenoisingError> {
        let variances = release.finite_variances("a projection to linear equations")?;
        let count = release.values().len();
        for constraint in &self.constraints {
            if let Some((coordinate, _)) = constraint.terms.iter().find(|term| term.0 >= count) {
                return Err(DenoisingError::Length {
                    name: "coordinates in an equation",
                    given: coordinate + 1,
                    values: count,
                });
            }
        }
        let factor = Factor::of(self.gram(&variances));
        let excess = |values: &[f64], constraint: &Constraint| -> f64 {
            constraint
                .terms
                .iter()
                .map(|(coordinate, coefficient)| coefficient * values[*coordinate])
                .sum::<f64>()
                - constraint.value
        };
        let off = factor
            .pivots
            .iter()
            .map(|index| excess(release.values(), &self.constraints[*index]))
            .collect();
        let multipliers = factor.backward(factor.forward(off));
        let mut values = release.values().to_vec();
        for (index, multiplier) in factor.pivots.iter().zip(&multipliers) {
            for (coordinate, coefficient) in &self.constraints[*index].terms {
                values[*coordinate] -= variances[*coordinate] * coefficient * multiplier;
            }
        }
        for (index, constraint) in self.constraints.iter().enumerate() {
            if excess(&values, constraint).abs() > constraint.allowance(&values, release.values()) {
                let reason =
                    format!("equation {} (counting from 1) contradicts the others", index + 1);
                return Err(DenoisingError::Infeasible { reason });
            }
        }
        // The trace of V A' (A V A')^-1 A V is the sum over coordinates of |L^-1 (A
        // V)_coordinate|^2.
        let columns = factor.columns(&self.constraints, &variances);
        let gained: f64 = columns.iter().map(|column| factor.squared_norm(column)).sum();
        let risk = (release.risk() - gained).max(0.0);
        Ok(Denoised {
            values,
            risk_before: release.risk(),
            risk_after: Some(RiskEstimate { value: risk, standard_error: 0.0, unbiased: true }),
            assumptions: vec![format!(
                "the true values satisfy the {} equations",
                self.constraints.len()
            )],
            method: "projection to linear equations".into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NoiseDescription, Shape};

    #[test]
    fn a_table_agrees_with_its_margins() {
        let scales = vec![1.0, 2.0, 1.0, 0.5, 1.0, 3.0];
        let noise = NoiseDescription::with_scales(Shape::Laplace, scales).expect("valid");
        let release = Release::new(vec![3.2, 1.0, 5.5, 2.0, 2.0, 8.0], noise).expect("valid");
        let margins = LinearConstraints::margins(&[10.0, 12.0], &[5.0, 3.0, 14.0]).expect("valid");
        let table = margins.denoise(&release).expect("consistent margins").values;
        let close = |left: f64, right: f64| (left - right).abs() < 1e-9;
        assert!(
            close(table[0] + table[1] + table[2], 10.0)
                && close(table[3] + table[4] + table[5], 12.0)
        );
        assert!(
            close(table[0] + table[3], 5.0)
                && close(table[1] + table[4], 3.0)
                && close(table[2] + table[5], 14.0)
        );
        // Optimality: (y - x)/v is in the row space of A, that is, it is a row effect plus a column
        // effect.
        let variances = release.variances();
        let pull: Vec<f64> =
            (0..6).map(|i| (release.values()[i] - table[i]) / variances[i]).collect();
        assert!(
            close(pull[0] - pull[1], pull[3] - pull[4])
                && close(pull[1] - pull[2], pull[4] - pull[5]),
            "{pull:?}"
        );
    }

    #[test]
    fn equal_variances_lose_one_for_each_independent_equation() {
        let release = Release::new(vec![1.0; 6], NoiseDescription::gaussian(2.0).expect("valid"))
            .expect("valid");
        let margins = LinearConstraints::margins(&[3.0, 3.0], &[2.0, 2.0, 2.0]).expect("valid");
        let risk = margins.denoise(&release).expect("consistent").risk_after.expect("linear");
        // Six values, four independent margins, variance 4.
        assert!((risk.value - 8.0).abs() < 1e-9 && risk.standard_error == 0.0, "{risk:?}");
    }

    #[test]
    fn contradictions_and_hostile_numbers_are_refused() {
        let release = Release::new(vec![1.0; 4], NoiseDescription::gaussian(1.0).expect("valid"))
            .expect("valid");
        let off =
            LinearConstraints::margins(&[2.0, 2.0], &[2.0, 3.0]).expect("valid").denoise(&release);
        assert!(matches!(off, Err(DenoisingError::Infeasible { .. })), "{off:?}");
        let beyond = LinearConstraints::new(vec![Constraint { terms: vec![(4, 1.0)], value: 0.0 }])
            .expect("valid");
        assert!(beyond.denoise(&release).is_err());
        let empty =
            LinearConstraints::new(vec![Constraint { terms: vec![], value: 1.0 }]).expect("valid");
        assert!(empty.denoise(&release).is_err());
        assert!(LinearConstraints::new(vec![]).is_err());
        assert!(
            LinearConstraints::new(vec![Constraint { terms: vec![(0, f64::NAN)], value: 0.0 }])
                .is_err()
        );
    }
}
