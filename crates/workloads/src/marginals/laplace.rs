//! Marginals under pure differential privacy: whole tables with discrete Laplace noise.

use super::contrasts::contrasts;
use super::finish::Finish;
use super::plan::{inverse_square, p, relevant};
use super::tables::{ReleasedTable, centred, from_residuals};
use crate::exact::summed;
use crate::linear::half_width_of_sum;
use crate::{Attributes, Contribution, Domain, ExactTables, MarginalWorkload, WorkloadError};
use reticent_events::Event;
use reticent_mechanisms::{DiscreteLaplace, Epsilon, Mechanism, Neighbours, Sensitivity};
use reticent_noise::IntegerNoise;
use reticent_noise::randomness::{Provenance, RandomBits};
use reticent_numerics::rounding::{mul_up, sqrt_up};
use reticent_numerics::{Bounds, Enclosure};
use std::collections::{BTreeMap, BTreeSet};

/// Which tables are measured, each cell with discrete Laplace noise, and the errors that follow for
/// the marginals of a workload by weighted least squares.
///
/// # Strategy
/// Either the marginals that are in no other, or all that are asked for, or the one table over all
/// attributes that are asked for: whichever has the least total squared error.
///
/// # Guarantee
/// A row counts in one cell of each of the `m` tables, so a unit of `R` rows moves all of them by
/// `m R` in the l1 norm, twice that if its rows are replaced. Charged as one
/// [`Event::DiscreteLaplace`].
///
/// # Error
/// Noise that is independent and alike on the cells of a table is so on its residuals. So the
/// residual of `S` is the mean of those of the tables `B` that have it, by the weights
/// `1/prod_(B without S) n_j`, and with `v` the variance of the noise it is as if its marginal had
/// been measured with the variance `v/sum_B prod_(B without S) 1/n_j`; from there on the errors are
/// those of [`super::MarginalPlan`]. No limit is stated: no closed form of the least error is known
/// for pure differential privacy.
#[derive(Clone, Debug, PartialEq)]
pub struct LaplaceMarginalPlan {
    workload: MarginalWorkload,
    measured: BTreeSet<Attributes>,
    mechanism: DiscreteLaplace,
}

/// The table over all attributes is tried if it has no more cells than this.
const MOST_JOINT_CELLS: u64 = 1 << 22;

impl LaplaceMarginalPlan {
    /// The best of the strategies that are known.
    ///
    /// # Errors
    /// If `epsilon` is zero, or so small that no noise is calibrated.
    pub fn new(
        workload: &MarginalWorkload,
        epsilon: Epsilon,
        contribution: Contribution,
    ) -> Result<Self, WorkloadError> {
        let asked: BTreeSet<Attributes> = workload.marginals().map(|(set, _)| set).collect();
        let within =
            |set: Attributes| asked.iter().any(|&other| other != set && set.is_subset_of(other));
        let largest = asked.iter().copied().filter(|&set| !within(set)).collect();
        let all = asked.iter().fold(Attributes::NONE, |all, &set| all.union(set));
        let mut strategies = vec![largest, asked];
        if workload.domain().cells(all).is_some_and(|cells| cells <= MOST_JOINT_CELLS) {
            strategies.push(BTreeSet::from([all]));
        }
        let mut best: Option<LaplaceMarginalPlan> = None;
        for measured in strategies {
            let plan = Self::measuring(workload, measured, epsilon, contribution)?;
            if best.as_ref().is_none_or(|best| plan.rmse() < best.rmse()) {
                best = Some(plan);
            }
        }
        best.ok_or(WorkloadError::Workload("it is empty".into()))
    }

    /// The plan that measures these tables, among which must be one for every marginal.
    fn measuring(
        workload: &MarginalWorkload,
        measured: BTreeSet<Attributes>,
        epsilon: Epsilon,
        contribution: Contribution,
    ) -> Result<Self, WorkloadError> {
        let times = match contribution.neighbours() {
            Neighbours::AddRemove => 1,
            Neighbours::Replace => 2,
        };
        let sensitivity = measured.len() as u64 * times * u64::from(contribution.rows());
        let epsilon = Epsilon::positive(epsilon.get())?;
        let mechanism = DiscreteLaplace::calibrate(&Sensitivity::whole(sensitivity), epsilon)?;
        Ok(LaplaceMarginalPlan { workload: workload.clone(), measured, mechanism })
    }

    /// What was asked for.
    pub fn workload(&self) -> &MarginalWorkload {
        &self.workload
    }

    /// The sets whose tables are measured.
    pub fn tables_needed(&self) -> Vec<Attributes> {
        self.measured.iter().copied().collect()
    }

    /// The scale of the noise.
    pub fn scale(&self) -> f64 {
        self.mechanism.scale()
    }

    /// What is charged for measuring once.
    pub fn event(&self) -> Event {
        self.mechanism.event()
    }

    /// The variance of the noise on one cell, rounded up.
    fn noise_variance(&self) -> f64 {
        let error = self.mechanism.errors().map(|errors| errors.root_mean_square.upper());
        error.map_or(f64::INFINITY, |error| mul_up(error, error))
    }

    /// `sum_B prod_(B without S) 1/n_j` over the measured tables that have the residual.
    fn information(&self, part: Attributes) -> Bounds {
        let domain = self.workload.domain();
        self.measured
            .iter()
            .filter(|&&set| part.is_subset_of(set))
            .fold(Bounds::ZERO, |sum, &set| sum + inverse(domain, set.without(part)))
    }

    /// The variance of every cell of a marginal, in units of that of the noise.
    fn relative_variance(&self, set: Attributes) -> Bounds {
        let domain = self.workload.domain();
        relevant(domain, set).subsets().fold(Bounds::ZERO, |sum, part| {
            let rest = p(domain, part) * inverse_square(domain, set.without(part));
            sum + rest / self.information(part)
        })
    }

    /// The root mean squared error over all cells that are asked for, by their weights, rounded up.
    pub fn rmse(&self) -> f64 {
        let domain = self.workload.domain();
        let (mut total, mut cells) = (Bounds::ZERO, Bounds::ZERO);
        for (set, weight) in self.workload.marginals() {
            let own = Bounds::ONE.integer(i128::from(domain.cells(set).unwrap_or(u64::MAX)));
            let weight = Bounds::exact(weight) * own;
            total = total + weight * self.relative_variance(set);
            cells = cells + weight;
        }
        sqrt_up((total / cells * Bounds::exact(self.noise_variance())).upper())
    }

    /// A half-width that holds for each cell of a marginal with probability 95%.
    ///
    /// A cell of the marginal on `A` is a linear combination of measured cells. That of a cell of
    /// `B` that agrees with it in the attributes `T` of `A and B` is
    /// `sum_(S in A and B) w_(S,B) prod_(A without S) 1/n_j prod_(i in S) ([i in T] - 1/n_i)`.
    pub fn half_width(&self, set: Attributes) -> f64 {
        let coefficients = self.coefficients(set);
        let largest = coefficients.iter().map(|&(_, c)| c.abs()).fold(0.0, f64::max);
        let alone = coefficients.iter().filter(|(_, c)| c.abs() > 1e-12 * largest);
        if alone.map(|&(cells, _)| cells).sum::<f64>() == 1.0 && largest == 1.0 {
            return self.quantile();
        }
        let square = self.relative_variance(set).upper();
        half_width_of_sum(square, largest, self.scale(), self.noise_variance())
    }

    /// The least integer that one draw of the noise exceeds in size with probability at most 5%:
    /// `P[|N| > t] = 2 q^(t + 1)/(1 + q)`.
    fn quantile(&self) -> f64 {
        let q = (-1.0 / self.scale()).exp();
        ((0.025 * (1.0 + q)).ln() / q.ln() * (1.0 + 1e-9)).ceil() - 1.0
    }

    /// How many cells have which coefficient in a cell of a marginal.
    fn coefficients(&self, set: Attributes) -> Vec<(f64, f64)> {
        let domain = self.workload.domain();
        let sizes = domain.sizes();
        let mut found = Vec::new();
        for &measured in &self.measured {
            let common = relevant(domain, set.intersection(measured));
            let beyond: f64 =
                domain.shape(measured.without(set)).iter().map(|&n| n as f64).product();
            for agreeing in common.subsets() {
                let differing = common.without(agreeing);
                let cells =
                    differing.iter().map(|i| sizes[i] as f64 - 1.0).product::<f64>() * beyond;
                let coefficient: f64 = common
                    .subsets()
                    .map(|part| {
                        let weight =
                            inverse(domain, measured.without(part)) / self.information(part);
                        let spread = inverse(domain, set.without(part)).estimate();
                        let own = part.iter().map(|i| {
                            f64::from(u8::from(agreeing.contains(i))) - 1.0 / sizes[i] as f64
                        });
                        weight.estimate() * spread * own.product::<f64>()
                    })
                    .sum();
                found.push((cells, coefficient));
            }
        }
        found
    }

    /// Measures every table once. What is charged is [`LaplaceMarginalPlan::event`], before this
    /// runs.
    ///
    /// # Errors
    /// If the counts are of another domain or lack a table, or random bits cannot be had.
    pub fn measure<R: RandomBits + ?Sized>(
        &self,
        counts: &ExactTables,
        random: &mut R,
    ) -> Result<LaplaceMarginals, WorkloadError> {
        let domain = self.workload.domain();
        if counts.domain() != domain {
            return Err(WorkloadError::Counts("they are of another domain"));
        }
        let noise = reticent_noise::DiscreteLaplace::new(self.scale())?.sampler()?;
        let mut tables = BTreeMap::new();
        for &set in &self.measured {
            let mut table = counts
                .table(set)
                .ok_or(WorkloadError::Counts("the table of a marginal is missing"))?;
            for cell in &mut table {
                *cell += noise.draw(random)?;
            }
            tables.insert(set, table);
        }
        Ok(LaplaceMarginals { plan: self.clone(), tables, provenance: random.provenance() })
    }
}

/// `prod 1/n_i`.
fn inverse(domain: &Domain, set: Attributes) -> Bounds {
    let sizes = domain.sizes();
    set.iter().fold(Bounds::ONE, |product, i| product / Bounds::exact(sizes[i] as f64))
}

/// What a plan with Laplace noise measured: released.
#[derive(Clone, Debug, PartialEq)]
pub struct LaplaceMarginals {
    plan: LaplaceMarginalPlan,
    tables: BTreeMap<Attributes, Vec<i128>>,
    provenance: Provenance,
}

impl LaplaceMarginals {
    /// The plan.
    pub fn plan(&self) -> &LaplaceMarginalPlan {
        &self.plan
    }

    /// Where the random bits came from.
    pub fn provenance(&self) -> Provenance {
        self.provenance
    }

    /// The released table of a set.
    pub fn measured(&self, set: Attributes) -> Option<&[i128]> {
        self.tables.get(&set).map(Vec::as_slice)
    }

    /// All marginals that were asked for: unbiased, consistent up to the rounding of `f64`, and
    /// finished as wished.
    pub fn finished(&self, finish: Finish) -> Vec<ReleasedTable> {
        let plan = &self.plan;
        let domain = plan.workload.domain();
        let parts: BTreeSet<Attributes> = self
            .tables
            .keys()
            .flat_map(|&set| relevant(domain, set).subsets())
            .filter(|&part| plan.workload.marginals().any(|(set, _)| part.is_subset_of(set)))
            .collect();
        let residuals: BTreeMap<Attributes, Vec<f64>> =
            parts.into_iter().map(|part| (part, self.residual(domain, part))).collect();
        let deviation = |set| {
            let variance = plan.relative_variance(set) * Bounds::exact(plan.noise_variance());
            sqrt_up(variance.upper())
        };
        let total = residuals.get(&Attributes::NONE).and_then(|total| total.first()).copied();
        let tables = plan.workload.marginals().map(|(set, _)| ReleasedTable {
            attributes: set,
            values: from_residuals(domain, &residuals, set),
            standard_deviation: deviation(set),
            half_width: Some(plan.half_width(set)),
        });
        finish.apply(tables.collect(), total.unwrap_or(0.0))
    }

    /// The mean of a residual over the tables that have it.
    fn residual(&self, domain: &Domain, part: Attributes) -> Vec<f64> {
        let shape = domain.shape(part);
        let information = self.plan.information(part).estimate();
        let mut mean: Vec<f64> = Vec::new();
        for (&set, table) in self.tables.iter().filter(|(set, _)| part.is_subset_of(**set)) {
            let of_part = contrasts(&shape, summed(domain, set, table, part));
            let floats: Vec<f64> = of_part.iter().map(|&value| value as f64).collect();
            let weight = inverse(domain, set.without(part)).estimate() / information;
            let own = centred(&shape, &floats).into_iter().map(|value| value * weight);
            if mean.is_empty() {
                mean = own.collect();
            } else {
                mean.iter_mut().zip(own).for_each(|(mean, own)| *mean += own);
            }
        }
        mean
    }
}

#[cfg(test)]
#[path = "laplace_tests.rs"]
mod tests;
