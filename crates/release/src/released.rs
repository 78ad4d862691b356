//! The release itself.

use crate::added_noise::{AddedNoise, NoiseSampler};
use crate::error::ReleaseError;
use crate::planned::Treatment;
use crate::selection::Selection;
use crate::{Exact, Groups, ReleasePlan, Totals};
use reticent_noise::randomness::RandomBits;

/// What was released: public, up to `kept`.
#[derive(Clone, Debug, PartialEq)]
pub struct Released {
    /// The indices of the groups that are shown, ascending. For groups that were found these
    /// indices are in the order of the exact totals and tell how many others there are: they are
    /// for fetching the keys, not for printing. Print groups in an order of their keys.
    pub kept: Vec<usize>,
    /// In the order of the design's statistics, one entry for each group that is shown.
    pub statistics: Vec<Noisy>,
}

/// The released values of one statistic.
#[derive(Clone, Debug, PartialEq)]
pub enum Noisy {
    /// Counts, or sums in steps of a grid.
    Numbers {
        /// In steps.
        steps: Vec<i128>,
        /// One step, in units of the answer.
        step: f64,
    },
    /// For each group, its quantiles in the order of the points asked for.
    Quantiles(Vec<Vec<f64>>),
}

impl Noisy {
    /// A number in units of the answer: the steps of a sum are counted from the centre of its grid.
    /// `None` for quantiles and beyond the last group.
    pub fn number(&self, group: usize) -> Option<f64> {
        match self {
            Noisy::Numbers { steps, step } => steps.get(group).map(|&steps| steps as f64 * step),
            Noisy::Quantiles(_) => None,
        }
    }

    /// The quantiles of a group; `None` for numbers and beyond the last group.
    pub fn quantiles(&self, group: usize) -> Option<&[f64]> {
        match self {
            Noisy::Numbers { .. } => None,
            Noisy::Quantiles(groups) => groups.get(group).map(Vec::as_slice),
        }
    }
}

impl ReleasePlan {
    /// Draws the noise and selects the groups. The cost must have been paid before.
    ///
    /// Groups that are not shown get noise too where their noisy number decides, and none
    /// otherwise. The number of units is read only where groups are found; it may be left empty for
    /// public ones.
    ///
    /// # Errors
    /// If the totals do not fit the design, the noise cannot be made, or random bits cannot be had.
    /// Nothing is released then, and the cost stays paid.
    pub fn release<R: RandomBits + ?Sized>(
        &self,
        exact: &Exact,
        random: &mut R,
    ) -> Result<Released, ReleaseError> {
        let groups = self.check(exact)?;
        let samplers: Vec<Option<NoiseSampler>> = self
            .statistics
            .iter()
            .map(|statistic| statistic.noise().map(AddedNoise::sampler).transpose())
            .collect::<Result<_, _>>()?;
        let (kept, compared) = self.select(exact, groups, &samplers, random)?;
        let mut statistics = Vec::with_capacity(self.statistics.len());
        for (index, planned) in self.statistics.iter().enumerate() {
            let totals = exact.totals.get(index);
            statistics.push(match (&planned.treatment, totals) {
                (Treatment::Quantiles(search), Some(Totals::Values(values))) => {
                    let one = |&group: &usize| search.draw(&values[group], random);
                    Noisy::Quantiles(kept.iter().map(one).collect::<Result<_, _>>()?)
                }
                (_, Some(Totals::Integers(values))) => {
                    let mut steps = Vec::with_capacity(kept.len());
                    match (&compared, &samplers[index]) {
                        (Some((statistic, noisy)), _) if *statistic == Some(index) => {
                            steps.extend(kept.iter().map(|&group| noisy[group]));
                        }
                        (_, Some(sampler)) => {
                            for &group in &kept {
                                steps.push(sampler.add(values[group], random)?);
                            }
                        }
                        // No unit moves it, so that it is zero whatever the data are.
                        (_, None) => steps.resize(kept.len(), 0),
                    }
                    Noisy::Numbers { steps, step: planned.step() }
                }
                _ => return Err(ReleaseError::Mismatch("a statistic has totals of another kind")),
            });
        }
        Ok(Released { kept, statistics })
    }

    /// The groups that are shown, and the noisy numbers that decided it, with the statistic that
    /// they are.
    fn select<R: RandomBits + ?Sized>(
        &self,
        exact: &Exact,
        groups: usize,
        samplers: &[Option<NoiseSampler>],
        random: &mut R,
    ) -> Result<Selected, ReleaseError> {
        match &self.selection {
            None => Ok(((0..groups).collect(), None)),
            Some(Selection::Optimal { rule, .. }) => {
                let mut kept = Vec::new();
                for (group, &units) in exact.units.iter().enumerate() {
                    if rule.draw(units, random)? {
                        kept.push(group);
                    }
                }
                Ok((kept, None))
            }
            Some(Selection::Threshold(threshold)) => {
                let hidden = self.hidden.as_ref().map(|noise| noise.sampler()).transpose()?;
                let (sampler, counts) = match threshold.statistic {
                    None => (hidden.as_ref(), None),
                    Some(index) => match exact.totals.get(index) {
                        Some(Totals::Integers(counts)) => {
                            (samplers.get(index).and_then(Option::as_ref), Some(counts))
                        }
                        Some(Totals::Values(_)) | None => (None, None),
                    },
                };
                let sampler = sampler.ok_or(ReleaseError::Mismatch("nothing selects groups"))?;
                let mut noisy = Vec::with_capacity(groups);
                for (group, &units) in exact.units.iter().enumerate() {
                    let number = counts.map_or(i128::from(units), |counts| counts[group]);
                    noisy.push(sampler.add(number, random)?);
                }
                let large = |&group: &usize| {
                    exact.units[group] > 0 && noisy[group] >= i128::from(threshold.least)
                };
                let kept = (0..groups).filter(large).collect();
                Ok((kept, Some((threshold.statistic, noisy))))
            }
        }
    }

    /// The number of groups, if everything has as many. No message tells how many were found.
    fn check(&self, exact: &Exact) -> Result<usize, ReleaseError> {
        if exact.totals.len() != self.statistics.len() {
            return Err(ReleaseError::Mismatch("there must be totals for every statistic"));
        }
        let groups = match self.groups {
            Groups::Public(count) => {
                let count = usize::try_from(count)
                    .map_err(|_| ReleaseError::Mismatch("there are too many groups"))?;
                if !exact.units.is_empty() && exact.units.len() != count {
                    return Err(ReleaseError::Mismatch(
                        "every public group must have a number of units, or none",
                    ));
                }
                count
            }
            Groups::Found => exact.units.len(),
        };
        for (planned, totals) in self.statistics.iter().zip(&exact.totals) {
            let quantiles = matches!(planned.treatment, Treatment::Quantiles(_));
            let (length, fits) = match totals {
                Totals::Integers(values) => (values.len(), !quantiles),
                Totals::Values(values) => (values.len(), quantiles),
            };
            if !fits {
                return Err(ReleaseError::Mismatch("a statistic has totals of another kind"));
            }
            if length != groups {
                return Err(ReleaseError::Mismatch(
                    "every statistic must have a total for every group",
                ));
            }
        }
        Ok(groups)
    }
}

/// The groups shown, and the numbers compared with the statistic that they are.
type Selected = (Vec<usize>, Option<(Option<usize>, Vec<i128>)>);
