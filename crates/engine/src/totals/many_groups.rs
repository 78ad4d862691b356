//! Any number of groups a unit, in heaps.

use super::interner::Interner;
use super::kept_groups::{Offer, Slot, precedes, upper_half};
use crate::EngineError;
use std::collections::HashMap;

/// For each unit a heap whose root is the group that would be given up next.
///
/// # Memory
/// 16 bytes a kept group. Heaps grow by doubling, with 24 bytes a unit for where they are, and
/// leave less behind than they take.
#[derive(Debug)]
pub(super) struct ManyGroups {
    max_groups: usize,
    /// By unit.
    heaps: Vec<Heap>,
    entries: Vec<Entry>,
    /// The slots of the groups of units that have many, where a search through the heap would take
    /// long.
    index: HashMap<(u32, u32), u32>,
    /// How many slots were given out.
    slots: usize,
}

/// Where a unit's entries are.
#[derive(Clone, Copy, Debug)]
struct Heap {
    start: usize,
    len: u32,
    room: u32,
}

/// A group that a unit keeps.
#[derive(Clone, Copy, Debug)]
struct Entry {
    priority: u64,
    group: u32,
    slot: u32,
}

/// Heaps up to this size are searched from end to end: 32 entries are eight cache lines.
const SEARCHED: usize = 32;

/// The room that heaps start with.
const FIRST_ROOM: usize = 8;

const EMPTY: Entry = Entry { priority: 0, group: 0, slot: 0 };

impl ManyGroups {
    pub(super) fn new(max_groups: usize) -> Self {
        Self { max_groups, heaps: Vec::new(), entries: Vec::new(), index: HashMap::new(), slots: 0 }
    }

    pub(super) fn resize(&mut self, units: usize) {
        self.heaps.resize(units, Heap { start: 0, len: 0, room: 0 });
    }

    pub(super) fn slots(&self) -> usize {
        self.slots
    }

    /// The groups of a unit, and their slots.
    pub(super) fn of(&self, unit: usize) -> impl Iterator<Item = (u32, usize)> {
        self.entries(unit).iter().map(|entry| (entry.group, entry.slot as usize))
    }

    fn entries(&self, unit: usize) -> &[Entry] {
        let heap = self.heaps[unit];
        &self.entries[heap.start..][..heap.len as usize]
    }

    /// See [`KeptGroups::warm`](super::kept_groups::KeptGroups::warm).
    pub(super) fn warm(&self, units: impl Iterator<Item = u32>) {
        let priority = |at: usize| self.entries.get(at).map_or(0, |entry| entry.priority);
        let touched = units.map(|unit| {
            let heap = self.heaps[unit as usize];
            priority(heap.start) ^ priority(heap.start + heap.len as usize)
        });
        std::hint::black_box(touched.fold(0, |all, one| all ^ one));
    }

    /// See [`KeptGroups::assign`](super::kept_groups::KeptGroups::assign); `threshold` is that
    /// of the unit.
    pub(super) fn assign(
        &mut self,
        offer: Offer,
        threshold: &mut u32,
        groups: &Interner,
    ) -> Result<Slot, EngineError> {
        let Offer { unit, group, .. } = offer;
        let kept = self.entries(unit as usize);
        let known = if kept.len() <= SEARCHED {
            kept.iter().fold(
                None,
                |known, entry| if entry.group == group { Some(entry.slot) } else { known },
            )
        } else {
            self.index.get(&(unit, group)).copied()
        };
        match known {
            Some(slot) => Ok(Slot::Known(slot as usize)),
            None if kept.len() < self.max_groups => self.push(offer, threshold, groups),
            None => Ok(self.replace(offer, threshold, groups)),
        }
    }

    fn push(
        &mut self,
        offer: Offer,
        threshold: &mut u32,
        groups: &Interner,
    ) -> Result<Slot, EngineError> {
        let Offer { unit, group, priority } = offer;
        let slot = u32::try_from(self.slots).map_err(|_| EngineError::Capacity {
            of: "groups of all units together",
            limit: "at most 4294967296 can be kept; a smaller max_groups keeps fewer",
        })?;
        let len = self.heaps[unit as usize].len as usize;
        let start = self.make_room(unit as usize);
        self.slots += 1;
        self.entries[start + len] = Entry { priority, group, slot };
        let entries = &mut self.entries[start..=start + len];
        if len == SEARCHED {
            self.index.extend(entries.iter().map(|entry| ((unit, entry.group), entry.slot)));
        } else if len > SEARCHED {
            self.index.insert((unit, group), slot);
        }
        rise(entries, groups);
        if len + 1 == self.max_groups {
            *threshold = upper_half(entries[0].priority);
        }
        Ok(Slot::New(slot as usize))
    }

    /// One more entry for a unit, which may move: less is left behind than it takes then, as room
    /// doubles. Says where it starts.
    fn make_room(&mut self, unit: usize) -> usize {
        let Heap { mut start, len, mut room } = self.heaps[unit];
        if len == room {
            let moved = start..start + len as usize;
            room = (2 * len as usize).clamp(FIRST_ROOM, self.max_groups) as u32;
            start = self.entries.len();
            self.entries.extend_from_within(moved);
            self.entries.resize(start + room as usize, EMPTY);
        }
        self.heaps[unit] = Heap { start, len: len + 1, room };
        start
    }

    fn replace(&mut self, offer: Offer, threshold: &mut u32, groups: &Interner) -> Slot {
        let Offer { unit, group, priority } = offer;
        let Heap { start, len, .. } = self.heaps[unit as usize];
        let entries = &mut self.entries[start..start + len as usize];
        let last = entries[0];
        let entry = Entry { priority, group, slot: last.slot };
        if !comes_before(&entry, &last, groups) {
            return Slot::None;
        }
        entries[0] = entry;
        sink(entries, groups);
        *threshold = upper_half(entries[0].priority);
        if entries.len() > SEARCHED {
            self.index.remove(&(unit, last.group));
            self.index.insert((unit, group), last.slot);
        }
        Slot::New(last.slot as usize)
    }
}

fn comes_before(one: &Entry, other: &Entry, groups: &Interner) -> bool {
    precedes((one.priority, one.group), (other.priority, other.group), groups)
}

/// Restores the heap after its last entry is new.
fn rise(entries: &mut [Entry], groups: &Interner) {
    let mut at = entries.len() - 1;
    while at > 0 && comes_before(&entries[(at - 1) / 2], &entries[at], groups) {
        entries.swap(at, (at - 1) / 2);
        at = (at - 1) / 2;
    }
}

/// Restores the heap after its root is new.
fn sink(entries: &mut [Entry], groups: &Interner) {
    let mut at = 0;
    loop {
        let (left, right) = (2 * at + 1, 2 * at + 2);
        let mut last = at;
        if left < entries.len() && comes_before(&entries[last], &entries[left], groups) {
            last = left;
        }
        if right < entries.len() && comes_before(&entries[last], &entries[right], groups) {
            last = right;
        }
        if last == at {
            return;
        }
        entries.swap(at, last);
        at = last;
    }
}

#[cfg(test)]
mod tests {
    use super::super::division::Division;
    use super::super::secret_key::SecretKey;
    use super::*;
    use reticent_noise::randomness::SeededRandom;

    #[test]
    fn a_unit_with_a_million_groups_takes_the_memory_of_a_few() {
        let key =
            SecretKey::draw(&mut SeededRandom::new(1)).expect("a seeded generator does not fail");
        let groups = Interner::of_words(key, Division::WHOLE);
        let mut kept = ManyGroups::new(40);
        kept.resize(1);
        let mut threshold = u32::MAX;
        for group in 0..1_000_000 {
            let priority = u64::from(group ^ 0x5555).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            kept.assign(Offer { unit: 0, group, priority }, &mut threshold, &groups).expect("room");
        }
        assert_eq!((kept.of(0).count(), kept.slots(), kept.index.len()), (40, 40, 40));
        assert!(kept.entries.len() <= 120);
    }
}
