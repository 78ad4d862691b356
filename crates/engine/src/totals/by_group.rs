//! Totals by group, and how those of parts become one.

use super::groups::Groups;
use super::interner::NONE;
use super::sample::Histogram;
use crate::{EngineError, GroupTotals};
use reticent_release::{Exact, Totals};

/// The totals of the groups of a part of the table, in which each unit is as a whole: to add them
/// up is all that is left to do.
#[derive(Debug)]
pub(super) struct ByGroup {
    pub(super) groups: Groups,
    /// How many units are in each group, by its number.
    pub(super) units: Vec<u64>,
    /// By statistic, then by the number of the group.
    pub(super) totals: Vec<Totals>,
}

impl ByGroup {
    /// Adds the totals of another part.
    ///
    /// # Errors
    /// If there are too many groups.
    pub(super) fn merge(&mut self, other: Self) -> Result<(), EngineError> {
        let mut numbers = vec![NONE; other.units.len()];
        for (number, found) in
            numbers.iter_mut().enumerate().filter(|&(number, _)| other.units[number] > 0)
        {
            let number = number as u32;
            *found = self
                .groups
                .interner
                .intern(other.groups.interner.hash(number), other.groups.interner.item(number))?;
        }
        let groups = self.groups.interner.len();
        self.units.resize(groups, 0);
        add_up(&mut self.units, other.units, &numbers);
        for (totals, others) in self.totals.iter_mut().zip(other.totals) {
            match (totals, others) {
                (Totals::Integers(all), Totals::Integers(others)) => {
                    all.resize(groups, 0);
                    add_up(all, others, &numbers);
                }
                (Totals::Values(all), Totals::Values(others)) => {
                    all.resize(groups, Vec::new());
                    for (others, &number) in
                        others.into_iter().zip(&numbers).filter(|&(_, &number)| number != NONE)
                    {
                        let values = &mut all[number as usize];
                        *values = Histogram::of_both(std::mem::take(values), others).into_values();
                    }
                }
                _ => return Err(EngineError::Fault { part: "the totals of a part of the table" }),
            }
        }
        Ok(())
    }

    /// The groups of the answer in their order, with their totals.
    pub(super) fn answer(self) -> Result<GroupTotals, EngineError> {
        let (keys, order) = self.groups.answer(&self.units)?;
        let mut totals = self.totals;
        for totals in &mut totals {
            match totals {
                Totals::Integers(all) => {
                    *all = order.iter().map(|&group| all[group as usize]).collect()
                }
                Totals::Values(all) => {
                    *all = order
                        .iter()
                        .map(|&group| std::mem::take(&mut all[group as usize]))
                        .collect()
                }
            }
        }
        let units = order.iter().map(|&group| self.units[group as usize]).collect();
        Ok(GroupTotals { keys, exact: Exact { units, totals } })
    }
}

/// Adds numbers where their groups are.
fn add_up<T: Copy + std::ops::AddAssign>(all: &mut [T], others: Vec<T>, numbers: &[u32]) {
    for (more, &number) in others.into_iter().zip(numbers).filter(|&(_, &number)| number != NONE) {
        all[number as usize] += more;
    }
}
