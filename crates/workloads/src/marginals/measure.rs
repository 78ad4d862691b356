//! The one place where a plan for marginals meets exact counts.

use super::contrasts::noisy_contrasts;
use super::plan::MarginalPlan;
use crate::{Attributes, ExactTables, WorkloadError};
use reticent_events::Event;
use reticent_noise::randomness::{Provenance, RandomBits};
use std::collections::BTreeMap;

/// The measured residuals of a plan: released, and all that is ever made of the counts.
#[derive(Clone, Debug, PartialEq)]
pub struct MarginalMeasurements {
    pub(crate) plan: MarginalPlan,
    /// The noisy contrasts of each residual.
    pub(crate) contrasts: BTreeMap<Attributes, Vec<f64>>,
    provenance: Provenance,
}

impl MarginalPlan {
    /// Measures every residual once. What is charged is [`MarginalPlan::event`], before this runs.
    ///
    /// # Errors
    /// If the counts are of another domain or lack a table, or random bits cannot be had. Whether
    /// it fails does not depend on a count.
    pub fn measure<R: RandomBits + ?Sized>(
        &self,
        counts: &ExactTables,
        random: &mut R,
    ) -> Result<MarginalMeasurements, WorkloadError> {
        let domain = self.workload().domain();
        if counts.domain() != domain {
            return Err(WorkloadError::Counts("they are of another domain"));
        }
        let mut contrasts = BTreeMap::new();
        for (set, sigma) in self.residuals() {
            let table = counts
                .table(set)
                .ok_or(WorkloadError::Counts("the table of a marginal is missing"))?;
            contrasts.insert(set, noisy_contrasts(&domain.shape(set), table, sigma, random)?);
        }
        let provenance = random.provenance();
        Ok(MarginalMeasurements { plan: self.clone(), contrasts, provenance })
    }
}

impl MarginalMeasurements {
    /// The plan.
    pub fn plan(&self) -> &MarginalPlan {
        &self.plan
    }

    /// What was charged.
    pub fn event(&self) -> Event {
        self.plan.event()
    }

    /// Where the random bits came from.
    pub fn provenance(&self) -> Provenance {
        self.provenance
    }

    /// The released contrasts of a residual.
    pub fn contrasts(&self, set: Attributes) -> Option<&[f64]> {
        self.contrasts.get(&set).map(Vec::as_slice)
    }
}
