//! For each unit, the groups that it keeps: the lowest in the order of the query.

use super::few_groups::{FEW, FewGroups};
use super::interner::Interner;
use super::many_groups::ManyGroups;
use crate::EngineError;

/// The kept groups of all units.
///
/// # Exactness
/// A group is given up only when `max_groups` others of the same unit come before it, and they
/// stay. So a group that is among the `max_groups` lowest of all of a unit's groups is kept from
/// its first row on, in every order of rows.
///
/// # Memory
/// 4 bytes a unit and 12 to 24 a kept group, whatever the number of rows or of groups that a unit
/// has; see [`FewGroups`] and [`ManyGroups`].
#[derive(Debug)]
pub(super) struct KeptGroups {
    /// By unit: the upper half of the priority of the last if there are `max_groups`, else the
    /// greatest there is. See [`KeptGroups::may_keep`].
    thresholds: Vec<u32>,
    records: Records,
}

#[derive(Debug)]
enum Records {
    Few(FewGroups),
    Many(ManyGroups),
}

/// A group of a unit that asks for a slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer {
    pub(super) unit: u32,
    pub(super) group: u32,
    pub(super) priority: u64,
}

/// Where a row is to be counted: slots are numbers from 0, one for each group that a unit keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// The group is not kept.
    None,
    /// The group was kept before.
    Known(usize),
    /// At a slot that is new, or whose group was given up: what was counted there is of no more
    /// use.
    New(usize),
}

impl Slot {
    /// Where, if anywhere.
    #[inline(always)]
    pub(super) fn index(self) -> usize {
        match self {
            Slot::None => usize::MAX,
            Slot::Known(slot) | Slot::New(slot) => slot,
        }
    }
}

impl KeptGroups {
    pub(super) fn new(max_groups: u32) -> Self {
        let max_groups = max_groups as usize;
        let records = match max_groups {
            ..=FEW => Records::Few(FewGroups::new(max_groups)),
            _ => Records::Many(ManyGroups::new(max_groups)),
        };
        Self { thresholds: Vec::new(), records }
    }

    /// As many units, the new ones without groups.
    pub(super) fn resize(&mut self, units: usize) {
        self.thresholds.resize(units, u32::MAX);
        match &mut self.records {
            Records::Few(few) => few.resize(units),
            Records::Many(many) => many.resize(units),
        }
    }

    /// Whether a unit might keep a group of this priority: `false` if there are `max_groups` before
    /// it, for certain. Looking here rejects most rows of a unit with many groups; half of a
    /// priority suffices for that, and all units take half the memory, which is read for every row.
    #[inline(always)]
    pub(super) fn may_keep(&self, unit: u32, priority: u64) -> bool {
        upper_half(priority) <= self.thresholds[unit as usize]
    }

    /// Slots are below this.
    pub(super) fn slots(&self) -> usize {
        match &self.records {
            Records::Few(few) => few.slots(),
            Records::Many(many) => many.slots(),
        }
    }

    /// What is kept, in no order: the group, and the slot where what a unit adds to it is counted.
    pub(super) fn for_each(&self, mut each: impl FnMut((u32, usize))) {
        for unit in 0..self.thresholds.len() {
            match &self.records {
                Records::Few(few) => few.of(unit).for_each(&mut each),
                Records::Many(many) => many.of(unit).for_each(&mut each),
            }
        }
    }

    /// Reads what is kept for these units, and decides nothing by it: the memory of many is then
    /// fetched at once, where a search would wait for one after the other.
    pub(super) fn warm(&self, units: impl Iterator<Item = u32>) {
        match &self.records {
            Records::Few(few) => few.warm(units),
            Records::Many(many) => many.warm(units),
        }
    }

    /// The slot of a unit's group, which it may take from another.
    ///
    /// # Errors
    /// If there are `2^32` slots already.
    #[inline(always)]
    pub(super) fn assign(&mut self, offer: Offer, groups: &Interner) -> Result<Slot, EngineError> {
        let threshold = &mut self.thresholds[offer.unit as usize];
        match &mut self.records {
            Records::Few(few) => Ok(few.assign(offer, threshold, groups)),
            Records::Many(many) => many.assign(offer, threshold, groups),
        }
    }
}

/// What a threshold holds of a priority.
#[inline(always)]
pub(super) fn upper_half(priority: u64) -> u32 {
    (priority >> 32) as u32
}

/// The order of the query, for priorities and groups: by priority, and by the key itself where two
/// are equal. Group numbers depend on the order of rows and have no part in it.
#[inline]
pub(super) fn precedes(one: (u64, u32), other: (u64, u32), groups: &Interner) -> bool {
    one.0 < other.0 || (one.0 == other.0 && groups.item(one.1) < groups.item(other.1))
}

#[cfg(test)]
mod tests {
    use super::super::division::Division;
    use super::super::identity::Item;
    use super::super::secret_key::SecretKey;
    use super::*;
    use reticent_noise::randomness::{RandomBits, SeededRandom};
    use std::collections::BTreeSet;

    fn random(seed: u64) -> impl FnMut(u64) -> u64 {
        let mut random = SeededRandom::new(seed);
        move |below| random.next_u64().expect("a seeded generator does not fail") % below
    }

    fn groups(count: u64) -> Interner {
        let key =
            SecretKey::draw(&mut SeededRandom::new(1)).expect("a seeded generator does not fail");
        let mut groups = Interner::of_words(key, Division::WHOLE);
        // Numbers that run against the values: an order by number would show.
        (0..count).for_each(|n| {
            assert_eq!(groups.intern(key.word(count - n), Item::Word(count - n)), Ok(n as u32))
        });
        groups
    }

    fn of(kept: &KeptGroups, unit: usize) -> Vec<(u32, usize)> {
        match &kept.records {
            Records::Few(few) => few.of(unit).collect(),
            Records::Many(many) => many.of(unit).collect(),
        }
    }

    #[test]
    fn the_lowest_are_kept_with_slots_of_their_own() {
        let groups = groups(300);
        let mut draw = random(2);
        for (max_groups, range) in [
            (1, u64::MAX),
            (5, u64::MAX),
            (5, 3),
            (8, 2),
            (9, 40),
            (32, u64::MAX),
            (33, 50),
            (100, 9),
        ] {
            let mut kept = KeptGroups::new(max_groups);
            kept.resize(3);
            let priorities: Vec<u64> = (0..3 * 300).map(|_| draw(range)).collect();
            let mut seen = vec![BTreeSet::new(); 3];
            let mut rows = vec![0; 3 * max_groups as usize];
            for _ in 0..3000 {
                let (unit, group) = (draw(3), draw(300));
                let priority = priorities[(unit * 300 + group) as usize];
                if !kept.may_keep(unit as u32, priority) {
                    let before = seen[unit as usize]
                        .iter()
                        .filter(|&&(other, _, _)| other < priority)
                        .count();
                    assert!(before >= max_groups as usize);
                }
                seen[unit as usize].insert((priority, groups.item(group as u32), group as u32));
                let offer = Offer { unit: unit as u32, group: group as u32, priority };
                match kept.assign(offer, &groups).expect("room") {
                    Slot::None => {
                        assert!(upper_half(priority) >= kept.thresholds[unit as usize])
                    }
                    Slot::Known(slot) => rows[slot] += 1,
                    Slot::New(slot) => rows[slot] = 1,
                }
                let expected: BTreeSet<u32> = seen[unit as usize]
                    .iter()
                    .take(max_groups as usize)
                    .map(|&(_, _, g)| g)
                    .collect();
                let found: BTreeSet<u32> =
                    of(&kept, unit as usize).iter().map(|kept| kept.0).collect();
                assert_eq!(found, expected, "max_groups {max_groups}, priorities below {range}");
            }
            let slots: BTreeSet<usize> =
                (0..3).flat_map(|unit| of(&kept, unit)).map(|(_, slot)| slot).collect();
            assert_eq!(slots, (0..kept.slots()).collect());
        }
    }
}
