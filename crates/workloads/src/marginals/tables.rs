//! Tables from measured residuals.

use super::finish::Finish;
use super::measure::MarginalMeasurements;
use super::plan::relevant;
use crate::exact::strides_in;
use crate::{Attributes, Domain};
use reticent_numerics::rounding::sqrt_up;
use std::collections::BTreeMap;

/// A released marginal.
#[derive(Clone, Debug, PartialEq)]
pub struct ReleasedTable {
    /// Its attributes.
    pub attributes: Attributes,
    /// Its cells, in row-major order.
    pub values: Vec<f64>,
    /// The standard deviation of the noise of every cell, rounded up, before anything is done to
    /// cells that are negative or no integers.
    pub standard_deviation: f64,
    /// The exact count of a cell lies within this of its value with probability 95%, whatever the
    /// counts are; none where what was done to the cells leaves no such claim.
    pub half_width: Option<f64>,
}

impl MarginalMeasurements {
    /// All marginals that were asked for: unbiased, and consistent in that tables agree on the sums
    /// that they share, up to the rounding of `f64`.
    ///
    /// With `c_S` the residual of `S` as a table (its contrasts, centred along every axis), the
    /// marginal on `A` is the sum over the subsets `S` of `c_S` spread evenly over the other
    /// attributes: `c_S / prod_(j in A without S) n_j`.
    pub fn tables(&self) -> Vec<ReleasedTable> {
        let domain = self.plan.workload().domain();
        let residuals = self
            .contrasts
            .iter()
            .map(|(&set, contrasts)| (set, centred(&domain.shape(set), contrasts)))
            .collect();
        let asked = self.plan.workload().marginals();
        asked
            .map(|(set, _)| {
                let variance = self.plan.variance(set).map_or(f64::INFINITY, |v| v.upper());
                ReleasedTable {
                    attributes: set,
                    values: from_residuals(domain, &residuals, set),
                    standard_deviation: sqrt_up(variance),
                    half_width: self.plan.half_width(set),
                }
            })
            .collect()
    }

    /// The tables with something done to cells that are negative or no integers.
    pub fn finished(&self, finish: Finish) -> Vec<ReleasedTable> {
        finish.apply(self.tables(), self.total())
    }

    /// The released total. Every table adds up to it.
    pub fn total(&self) -> f64 {
        self.contrasts(Attributes::NONE).and_then(|total| total.first()).copied().unwrap_or(0.0)
    }
}

/// The marginal on a set: the sum of its residuals, each spread evenly.
pub(super) fn from_residuals(
    domain: &Domain,
    residuals: &BTreeMap<Attributes, Vec<f64>>,
    set: Attributes,
) -> Vec<f64> {
    let mut values = vec![0.0; domain.cells(set).unwrap_or(0) as usize];
    for part in relevant(domain, set).subsets() {
        if let Some(residual) = residuals.get(&part) {
            let share = domain.shape(set.without(part)).iter().map(|&n| n as f64).product();
            add_spread(domain, set, &mut values, part, residual, share);
        }
    }
    values
}

/// A residual as a table whose sums along every axis are zero: for the contrasts `d_i = z_0 - z_i`,
/// `d_0 = 0`, along an axis, `z_i - mean z = mean d - d_i`.
pub(super) fn centred(shape: &[usize], contrasts: &[f64]) -> Vec<f64> {
    let mut table = contrasts.to_vec();
    // Axes before the current one still have one entry less.
    let mut inner: usize = 1;
    for &size in shape.iter().rev() {
        let mut next = Vec::with_capacity(table.len() / (size - 1) * size);
        for chunk in table.chunks_exact((size - 1) * inner) {
            let mut means = vec![0.0; inner];
            for row in chunk.chunks_exact(inner) {
                means.iter_mut().zip(row).for_each(|(mean, value)| *mean += value);
            }
            means.iter_mut().for_each(|mean| *mean /= size as f64);
            next.extend_from_slice(&means);
            for row in chunk.chunks_exact(inner) {
                next.extend(means.iter().zip(row).map(|(mean, value)| mean - value));
            }
        }
        inner *= size;
        table = next;
    }
    table
}

/// Adds `residual / share` to every cell of the table of `set` that it belongs to.
fn add_spread(
    domain: &Domain,
    set: Attributes,
    values: &mut [f64],
    part: Attributes,
    residual: &[f64],
    share: f64,
) {
    let shape = domain.shape(set);
    let strides = strides_in(domain, set, part);
    let Some((&last, outer)) = shape.split_last() else {
        if let (Some(value), Some(total)) = (values.first_mut(), residual.first()) {
            *value += total;
        }
        return;
    };
    let last_stride = strides.last().copied().unwrap_or(0);
    let mut digits = vec![0usize; outer.len()];
    let mut index = 0usize;
    for row in values.chunks_exact_mut(last) {
        if last_stride == 0 {
            let shared = residual[index] / share;
            row.iter_mut().for_each(|value| *value += shared);
        } else {
            // The last attribute of both: neighbours in one are neighbours in the other.
            let own = &residual[index..index + last];
            row.iter_mut().zip(own).for_each(|(value, part)| *value += part / share);
        }
        for axis in (0..outer.len()).rev() {
            digits[axis] += 1;
            index += strides[axis];
            if digits[axis] < outer[axis] {
                break;
            }
            index -= strides[axis] * outer[axis];
            digits[axis] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::contrasts::contrasts;
    use super::*;

    /// Without noise the tables are the counts.
    #[test]
    fn residuals_of_a_table_add_up_to_it() {
        let domain = Domain::new([("a", 3), ("one", 1), ("b", 2), ("c", 4)]).expect("valid");
        let table: Vec<i128> = (0..24).map(|k| (k * k * 7 + 3 * k) % 31).collect();
        let counts: Vec<u64> = table.iter().map(|&count| count as u64).collect();
        let exact = crate::ExactTables::new(&domain, [(domain.all(), counts)]).expect("cells");
        let mut values = vec![0.0; 24];
        for part in relevant(&domain, domain.all()).subsets() {
            let shape = domain.shape(part);
            let of_part = contrasts(&shape, exact.table(part).expect("a subset"));
            let floats: Vec<f64> = of_part.iter().map(|&value| value as f64).collect();
            let share =
                domain.shape(domain.all().without(part)).iter().map(|&n| n as f64).product();
            let residual = centred(&shape, &floats);
            add_spread(&domain, domain.all(), &mut values, part, &residual, share);
        }
        for (value, count) in values.iter().zip(&table) {
            assert!((value - *count as f64).abs() < 1e-12, "{value} {count}");
        }
    }
}
