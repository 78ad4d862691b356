//! The plan of least error for marginals: how much noise each residual gets.

use crate::{Attributes, Contribution, Domain, GaussianBudget, MarginalWorkload, WorkloadError};
use reticent_events::Event;
use reticent_mechanisms::Neighbours;
use reticent_numerics::normal_quantile::normal_isf;
use reticent_numerics::rounding::{add_up, div_down, div_up, mul_down, mul_up, sqrt_up};
use reticent_numerics::{Bounds, Enclosure};
use std::collections::BTreeMap;

/// Which residuals are measured with how much noise, what that costs, and the errors that follow.
///
/// # Measurement
/// The residual of a set `S` is the part of its marginal that no smaller marginal shows: all
/// contrasts `z_(r,..) - z_(i,..) - ...` of the table against the first value of each attribute.
/// Measured are the contrasts of the marginal plus independent Gaussian noise of standard deviation
/// `sigma_S` on each of its cells. The contrasts alone are released.
///
/// # Guarantee
/// A unit with one row moves the residual by `sqrt(p_S)/sigma_S` standard deviations,
/// `p_S = prod_(i in S) (n_i - 1)/n_i`, and all residuals together are one Gaussian mechanism with
/// `mu^2 = sum_S p_S/sigma_S^2`. With `R` rows it is `R` times as far. Charged as one
/// [`Event::Gaussian`] of sensitivity 1 whose `sigma` is at most `1/mu`. If a unit's rows are
/// replaced by others, `p_S` becomes the squared length of the difference of two cells' residuals,
/// the worst over the set `T` of attributes in which the cells differ:
/// `2 p_S (1 - prod_(i in S and T) -1/(n_i - 1))`, summed over `S` before the worst is taken.
///
/// # Error
/// A cell of the marginal on `A` has the variance
/// `sum_(S in A) sigma_S^2 p_S prod_(j in A without S) 1/n_j^2`. With `v_S` the sum of these
/// factors over all cells that are asked for, the `sigma_S^2` proportional to `sqrt(p_S/v_S)` have
/// the least total, `(sum_S sqrt(v_S p_S))^2/mu^2`. No Gaussian matrix mechanism has less: proof in
/// docs/proofs/marginals.md.
///
/// # References
/// Xiao, He, Zhang, Kifer, *An optimal and scalable matrix mechanism for noisy marginals under
/// convex loss functions*, 2023, Theorems 3 to 5.
///
/// # Example
/// ```
/// use reticent_workloads::{
///     Contribution, Domain, GaussianBudget, MarginalPlan, MarginalWorkload,
/// };
///
/// // The domain of CPS, and all its pairs.
/// let sizes = [("income", 100), ("age", 50), ("marital", 7), ("race", 4), ("sex", 2)];
/// let workload = MarginalWorkload::parse(&Domain::new(sizes)?, "all 2-way")?;
/// let budget = GaussianBudget::zero_concentrated(0.5)?;
/// let plan = MarginalPlan::new(&workload, budget, Contribution::ONE_ROW)?;
/// let error = plan.expected_error();
/// assert!((error.rmse.upper() - 2.035).abs() < 5e-4);
/// assert!(error.ratio().is_some_and(|ratio| ratio < 1.0 + 1e-12));
/// # Ok::<(), reticent_workloads::WorkloadError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MarginalPlan {
    workload: MarginalWorkload,
    contribution: Contribution,
    /// `sigma_S` of each residual: the noise, the event and the errors all read it.
    sigmas: BTreeMap<Attributes, f64>,
    /// The certified `mu^2`, rounded up.
    mu_square: f64,
}

/// What error to expect of a plan, and the least that any plan of its kind can have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpectedError {
    /// The root mean squared error over all answers, by their weights.
    pub rmse: Bounds,
    /// A certified lower bound on it for every Gaussian matrix mechanism of the same budget; none
    /// where no proof covers the neighbours.
    pub limit: Option<f64>,
}

impl ExpectedError {
    /// How far from the limit the plan is at most: at least 1, as both are certified.
    pub fn ratio(&self) -> Option<f64> {
        self.limit.map(|limit| div_up(self.rmse.upper(), limit))
    }
}

/// The largest standard deviation that is drawn, and the smallest.
pub(crate) const SIGMAS: (f64, f64) = (1e-3, 1_073_741_824.0);

/// Up to here all sets of attributes are tried for the worst replacement.
const MOST_TRIED: usize = 14;

impl MarginalPlan {
    /// The plan of least total squared error within a budget.
    ///
    /// # Errors
    /// If the budget is so small that a standard deviation exceeds `2^30`, or so large that one is
    /// below 1e-3.
    pub fn new(
        workload: &MarginalWorkload,
        budget: GaussianBudget,
        contribution: Contribution,
    ) -> Result<Self, WorkloadError> {
        let shares = shares(workload);
        let shape: Vec<(Attributes, f64)> = shares
            .iter()
            .map(|(&set, share)| (set, (share.p.estimate() / share.v.estimate()).sqrt().sqrt()))
            .collect();
        let domain = workload.domain();
        let unscaled = cost(domain, &shape.iter().copied().collect(), contribution).upper();
        let mut stretch = (unscaled / budget.mu_square()).sqrt();
        // The scale is an estimate; a few units in the last place more may be needed for the proof.
        for extra in 0..60 {
            let sigmas: BTreeMap<Attributes, f64> =
                shape.iter().map(|&(set, sigma)| (set, sigma * stretch)).collect();
            for &sigma in sigmas.values() {
                if sigma > SIGMAS.1 {
                    return Err(WorkloadError::BudgetTooSmall { sigma, largest: SIGMAS.1 });
                }
                let accepted = "small enough that every noise has a standard deviation of 1e-3 \
                                or more";
                let asked = budget.mu_square();
                reticent_numerics::require(sigma >= SIGMAS.0, "budget", asked, accepted)?;
            }
            let mu_square = cost(domain, &sigmas, contribution).upper();
            let plan = MarginalPlan { workload: workload.clone(), contribution, sigmas, mu_square };
            let charged = plan.charged_sigma();
            if div_up(1.0, mul_down(charged, charged)) <= budget.mu_square() {
                return Ok(plan);
            }
            stretch *= 1.0 + f64::EPSILON * f64::from(1u32 << (extra / 3));
        }
        Err(WorkloadError::NotCertified {
            what: "the plan for marginals",
            reason: "its cost stays above the budget",
        })
    }

    /// What was asked for.
    pub fn workload(&self) -> &MarginalWorkload {
        &self.workload
    }

    /// What one unit can do.
    pub fn contribution(&self) -> Contribution {
        self.contribution
    }

    /// The residuals that are measured, with the standard deviation of the noise on each cell of
    /// the marginal whose contrasts are released.
    pub fn residuals(&self) -> impl Iterator<Item = (Attributes, f64)> {
        self.sigmas.iter().map(|(&set, &sigma)| (set, sigma))
    }

    /// The sets whose exact tables are enough to measure everything: those that are in no other.
    pub fn tables_needed(&self) -> Vec<Attributes> {
        let asked: Vec<Attributes> = self.workload.marginals().map(|(set, _)| set).collect();
        let within =
            |set: Attributes| asked.iter().any(|&other| other != set && set.is_subset_of(other));
        asked.iter().copied().filter(|&set| !within(set)).collect()
    }

    /// `mu^2` of everything that is measured, rounded up: `2 rho`.
    pub fn mu_square(&self) -> f64 {
        self.mu_square
    }

    fn charged_sigma(&self) -> f64 {
        div_down(1.0, sqrt_up(self.mu_square))
    }

    /// What is charged for measuring all residuals once.
    pub fn event(&self) -> Event {
        Event::Gaussian { sigma: self.charged_sigma(), sensitivity: 1.0 }
    }

    /// The variance of every cell of a marginal; none if it does not follow from what is measured.
    pub fn variance(&self, set: Attributes) -> Option<Bounds> {
        let mut sum = Bounds::ZERO;
        let domain = self.workload.domain();
        for part in relevant(domain, set).subsets() {
            let sigma = Bounds::exact(*self.sigmas.get(&part)?);
            sum = sum + sigma * sigma * p(domain, part) * inverse_square(domain, set.without(part));
        }
        Some(sum)
    }

    /// The half-width of the interval around a released cell in which its exact count lies with
    /// probability 95%, rounded up; none if it does not follow from what is measured.
    pub fn half_width(&self, set: Attributes) -> Option<f64> {
        let sd = sqrt_up(self.variance(set)?.upper());
        Some(add_up(mul_up(normal_isf(0.025).upper(), sd), self.rounding(set)))
    }

    /// The most by which rounding measurements to their lattices moves a cell of a marginal.
    fn rounding(&self, set: Attributes) -> f64 {
        // A contrast moves by at most half a spacing, and centring along an axis at most doubles
        // it.
        relevant(self.workload.domain(), set).subsets().fold(0.0, |sum, part| {
            let sigma = self.sigmas.get(&part).copied().unwrap_or(f64::INFINITY);
            let spacing = 2f64.powi(super::contrasts::spacing_power(sigma) - 1);
            add_up(sum, mul_up(spacing, 2f64.powi(part.len() as i32)))
        })
    }

    /// The error to expect over all cells that were asked for, and the least possible.
    pub fn expected_error(&self) -> ExpectedError {
        let shares = shares(&self.workload);
        let domain = self.workload.domain();
        let cells = self.workload.marginals().fold(Bounds::ZERO, |sum, (set, weight)| {
            let own = domain.cells(set).unwrap_or(u64::MAX);
            sum + Bounds::exact(weight) * Bounds::ONE.integer(i128::from(own))
        });
        let mut total = Bounds::ZERO;
        let mut least = Bounds::ZERO;
        for (set, share) in &shares {
            let sigma = self.sigmas.get(set).map_or(Bounds::WHOLE_LINE, |&s| Bounds::exact(s));
            total = total + sigma * sigma * share.v;
            least = least + (share.v * share.p).sqrt();
        }
        let rows = Bounds::exact(f64::from(self.contribution.rows()));
        let limit = match self.contribution.neighbours() {
            Neighbours::AddRemove => {
                let least = least.square() * rows.square() / Bounds::exact(self.mu_square);
                Some((least / cells).sqrt().lower())
            }
            Neighbours::Replace => None,
        };
        ExpectedError { rmse: (total / cells).sqrt(), limit }
    }
}

/// `p_S` and `v_S` of a residual.
struct Share {
    p: Bounds,
    v: Bounds,
}

/// The residuals of a workload: all subsets of what is asked for, without attributes of one value,
/// which have no contrasts.
fn shares(workload: &MarginalWorkload) -> BTreeMap<Attributes, Share> {
    let domain = workload.domain();
    let mut shares: BTreeMap<Attributes, Share> = BTreeMap::new();
    for (set, weight) in workload.marginals() {
        let cells = Bounds::ONE.integer(i128::from(domain.cells(set).unwrap_or(u64::MAX)));
        for part in relevant(domain, set).subsets() {
            let share =
                shares.entry(part).or_insert_with(|| Share { p: p(domain, part), v: Bounds::ZERO });
            let factor = share.p * inverse_square(domain, set.without(part));
            share.v = share.v + Bounds::exact(weight) * cells * factor;
        }
    }
    shares
}

/// The attributes of a set that have more than one value.
pub(crate) fn relevant(domain: &Domain, set: Attributes) -> Attributes {
    let sizes = domain.sizes();
    set.iter().filter(|&index| sizes[index] > 1).fold(Attributes::NONE, Attributes::with)
}

/// `prod (n_i - 1)/n_i`.
pub(crate) fn p(domain: &Domain, set: Attributes) -> Bounds {
    let sizes = domain.sizes();
    set.iter().fold(Bounds::ONE, |product, index| {
        let size = Bounds::exact(sizes[index] as f64);
        product * ((size - Bounds::ONE) / size)
    })
}

/// `prod 1/n_i^2`.
pub(crate) fn inverse_square(domain: &Domain, set: Attributes) -> Bounds {
    let sizes = domain.sizes();
    set.iter().fold(Bounds::ONE, |product, index| {
        let size = Bounds::exact(sizes[index] as f64);
        product / (size * size)
    })
}

/// `mu^2` of one unit between neighbours.
fn cost(domain: &Domain, sigmas: &BTreeMap<Attributes, f64>, contribution: Contribution) -> Bounds {
    let rows = Bounds::exact(f64::from(contribution.rows()));
    let each: Vec<(Attributes, Bounds)> = sigmas
        .iter()
        .map(|(&set, &sigma)| (set, p(domain, set) / Bounds::exact(sigma).square()))
        .collect();
    let added = each.iter().fold(Bounds::ZERO, |sum, &(_, cost)| sum + cost);
    let one_row = match contribution.neighbours() {
        Neighbours::AddRemove => added,
        // A unit may also come to have fewer rows than before: then the row is just removed.
        Neighbours::Replace => added.max(replaced(domain, &each)),
    };
    rows.square() * one_row
}

/// The squared length of the difference of two rows' residuals, in standard deviations, the worst
/// over all pairs of rows.
///
/// The residuals of two cells that differ exactly in the attributes `T` have the inner product
/// `prod_(S without T) (n - 1)/n prod_(S and T) (-1/n)`. Each pair of rows of two neighbours is
/// such a difference, and by the triangle inequality `R` of them are at most `R` times as long.
fn replaced(domain: &Domain, each: &[(Attributes, Bounds)]) -> Bounds {
    let sizes = domain.sizes();
    let two = Bounds::exact(2.0);
    let inverse: Vec<Bounds> = sizes
        .iter()
        .map(|&size| Bounds::ONE / Bounds::exact(size.saturating_sub(1).max(1) as f64))
        .collect();
    let attributes = each.iter().fold(Attributes::NONE, |union, &(set, _)| union.union(set));
    if attributes.len() > MOST_TRIED {
        // Set by set: an odd number of differing attributes, best one of the fewest values.
        return each.iter().filter(|(set, _)| !set.is_empty()).fold(
            Bounds::ZERO,
            |sum, &(set, cost)| {
                let largest = set.iter().map(|i| inverse[i]).fold(Bounds::ZERO, Bounds::max);
                sum + two * cost * (Bounds::ONE + largest)
            },
        );
    }
    attributes.subsets().fold(Bounds::ZERO, |worst, differing| {
        let length = each.iter().fold(Bounds::ZERO, |sum, &(set, cost)| {
            let common = set.intersection(differing);
            if common.is_empty() {
                return sum;
            }
            let product = common.iter().fold(Bounds::ONE, |product, i| product * -inverse[i]);
            sum + two * cost * (Bounds::ONE - product)
        });
        worst.max(length)
    })
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
