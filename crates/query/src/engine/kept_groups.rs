//! For each unit, the groups that it keeps: the lowest in the order of the query.

use super::interner::{Interner, NONE};
use crate::QueryError;
use std::collections::HashMap;

/// The kept groups of all units. Where there are more than [`FEW`], they are a heap whose root is the group that would be given up next.
///
/// # Exactness
/// A group is given up only when `max_groups` others of the same unit come before it, and they stay. So a group that is among the `max_groups` lowest of all of
/// a unit's groups is kept from its first row on, in every order of rows, and also in each part of a table; what is kept of parts can be merged.
///
/// # Memory
/// 8 bytes a unit and 16 a kept group, whatever the number of rows or of groups that a unit has. For up to 8 groups there is room for all of them from the
/// start, at a place that follows from the unit's number; for more the heaps grow by doubling, with 24 bytes a unit for where they are, and leave less
/// behind than they take.
#[derive(Debug)]
pub(super) struct KeptGroups {
    max_groups: usize,
    /// By unit: the priority of the last if there are `max_groups`, else the greatest there is. What comes after it is not kept; looking here rejects
    /// most rows of a unit with many groups.
    pub(super) thresholds: Vec<u64>,
    /// By unit, where `max_groups` is above [`FEW`].
    heaps: Vec<Heap>,
    entries: Vec<Entry>,
    /// The places of the groups of units that have many, where a search through the heap would take long.
    index: HashMap<(u32, u32), u32>,
    /// How many places were given out, where they do not follow from the unit.
    places: usize,
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
pub(super) struct Entry {
    pub(super) priority: u64,
    pub(super) group: u32,
    /// Where what the unit adds to the group is counted.
    pub(super) place: u32,
}

/// Where a row is to be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placed {
    /// The group is not kept.
    Nowhere,
    /// The group was kept before.
    Known(usize),
    /// At a place that is new, or whose group was given up: to be cleared.
    New(usize),
}

impl Placed {
    /// Where, if anywhere.
    #[inline(always)]
    pub(super) fn place(self) -> usize {
        match self {
            Placed::Nowhere => usize::MAX,
            Placed::Known(place) | Placed::New(place) => place,
        }
    }
}

/// Heaps up to this size are searched from end to end: 32 entries are eight cache lines.
const SEARCHED: usize = 32;

/// Up to so many groups have all their room from the start; for more, heaps start with this much.
const FEW: usize = 8;

const EMPTY: Entry = Entry { priority: 0, group: NONE, place: 0 };

impl KeptGroups {
    pub(super) fn new(max_groups: u32) -> Self {
        Self {
            max_groups: max_groups as usize,
            thresholds: Vec::new(),
            heaps: Vec::new(),
            entries: Vec::new(),
            index: HashMap::new(),
            places: 0,
        }
    }

    /// As many units, the new ones without groups.
    pub(super) fn resize(&mut self, units: usize) {
        self.thresholds.resize(units, u64::MAX);
        if self.max_groups <= FEW {
            self.entries.resize(units * self.max_groups, EMPTY);
        } else {
            self.heaps.resize(units, Heap { start: 0, len: 0, room: 0 });
        }
    }

    /// Places are below this.
    pub(super) fn places(&self) -> usize {
        if self.max_groups <= FEW { self.entries.len() } else { self.places }
    }

    pub(super) fn units(&self) -> usize {
        self.thresholds.len()
    }

    /// What a unit keeps, in no order.
    pub(super) fn of(&self, unit: usize) -> &[Entry] {
        let (start, len) = self.heap(unit);
        &self.entries[start..start + len]
    }

    /// Where a unit's entries start, and how many there are.
    #[inline(always)]
    fn heap(&self, unit: usize) -> (usize, usize) {
        if self.max_groups <= FEW {
            let start = unit * self.max_groups;
            let room = &self.entries[start..start + self.max_groups];
            // Empty ones are at the end. All are counted, without a branch that would depend on how many there are.
            (start, room.iter().map(|entry| usize::from(entry.group != NONE)).sum())
        } else {
            let heap = self.heaps[unit];
            (heap.start, heap.len as usize)
        }
    }

    /// Reads the entries of these units, and decides nothing by it: the memory of many is then fetched at once, where a search would wait for one after the
    /// other.
    pub(super) fn warm(&self, units: impl Iterator<Item = u32>) {
        let touched = units.map(|unit| {
            let (first, last) = if self.max_groups <= FEW {
                (unit as usize * self.max_groups, (unit as usize + 1) * self.max_groups - 1)
            } else {
                let heap = self.heaps[unit as usize];
                (heap.start, heap.start + heap.len as usize)
            };
            let priority = |at: usize| self.entries.get(at).map_or(0, |entry| entry.priority);
            priority(first) ^ priority(last)
        });
        std::hint::black_box(touched.fold(0, |all, one| all ^ one));
    }

    /// The place of a unit's group, which it may take from another.
    ///
    /// # Errors
    /// If there are `2^32` places already.
    #[inline]
    pub(super) fn place(
        &mut self,
        unit: u32,
        group: u32,
        priority: u64,
        groups: &Interner,
    ) -> Result<Placed, QueryError> {
        if self.max_groups <= FEW {
            return self.place_among_few(unit, group, priority, groups);
        }
        let kept = self.of(unit as usize);
        let known = if kept.len() <= SEARCHED {
            kept.iter().fold(None, |known, entry| if entry.group == group { Some(entry.place) } else { known })
        } else {
            self.index.get(&(unit, group)).copied()
        };
        match known {
            Some(place) => Ok(Placed::Known(place as usize)),
            None if kept.len() < self.max_groups => self.push(unit, group, priority, groups),
            None => Ok(self.replace(unit, group, priority, groups)),
        }
    }

    /// Few groups need no heap: all are looked at, without branches that depend on what is there, and a group stays where it was put.
    #[inline]
    fn place_among_few(
        &mut self,
        unit: u32,
        group: u32,
        priority: u64,
        groups: &Interner,
    ) -> Result<Placed, QueryError> {
        let start = unit as usize * self.max_groups;
        let room = &mut self.entries[start..start + self.max_groups];
        let (mut known, mut vacant) = (usize::MAX, usize::MAX);
        for (at, entry) in room.iter().enumerate().rev() {
            known = if entry.group == group { at } else { known };
            vacant = if entry.group == NONE { at } else { vacant };
        }
        if known != usize::MAX {
            return Ok(Placed::Known(start + known));
        }
        let at = if vacant != usize::MAX { vacant } else { last(room, self.thresholds[unit as usize], groups) };
        let entry = Entry { priority, group, place: place_number(start + at)? };
        if vacant == usize::MAX && !precedes(&entry, &room[at], groups) {
            return Ok(Placed::Nowhere);
        }
        room[at] = entry;
        if vacant == usize::MAX || at + 1 == self.max_groups {
            self.thresholds[unit as usize] = room.iter().fold(0, |most, entry| most.max(entry.priority));
        }
        Ok(Placed::New(start + at))
    }

    fn push(&mut self, unit: u32, group: u32, priority: u64, groups: &Interner) -> Result<Placed, QueryError> {
        let place = place_number(self.places)?;
        let len = self.heaps[unit as usize].len as usize;
        let start = self.make_room(unit as usize);
        self.places += 1;
        self.entries[start + len] = Entry { priority, group, place };
        let entries = &mut self.entries[start..=start + len];
        if len == SEARCHED {
            self.index.extend(entries.iter().map(|entry| ((unit, entry.group), entry.place)));
        } else if len > SEARCHED {
            self.index.insert((unit, group), place);
        }
        rise(entries, groups);
        if len + 1 == self.max_groups {
            self.thresholds[unit as usize] = entries[0].priority;
        }
        Ok(Placed::New(place as usize))
    }

    /// One more entry for a unit, which may move: less is left behind than it takes then, as room doubles. Says where it starts.
    fn make_room(&mut self, unit: usize) -> usize {
        let Heap { mut start, len, mut room } = self.heaps[unit];
        if len == room {
            let moved = start..start + len as usize;
            room = (2 * len as usize).clamp(FEW, self.max_groups) as u32;
            start = self.entries.len();
            self.entries.extend_from_within(moved);
            self.entries.resize(start + room as usize, EMPTY);
        }
        self.heaps[unit] = Heap { start, len: len + 1, room };
        start
    }

    fn replace(&mut self, unit: u32, group: u32, priority: u64, groups: &Interner) -> Placed {
        let Heap { start, len, .. } = self.heaps[unit as usize];
        let entries = &mut self.entries[start..start + len as usize];
        let last = entries[0];
        let entry = Entry { priority, group, place: last.place };
        if !precedes(&entry, &last, groups) {
            return Placed::Nowhere;
        }
        entries[0] = entry;
        sink(entries, groups);
        self.thresholds[unit as usize] = entries[0].priority;
        if entries.len() > SEARCHED {
            self.index.remove(&(unit, last.group));
            self.index.insert((unit, group), last.place);
        }
        Placed::New(last.place as usize)
    }
}

fn place_number(place: usize) -> Result<u32, QueryError> {
    u32::try_from(place).map_err(|_| QueryError::Capacity {
        of: "groups of all units together",
        limit: "at most 4294967296 can be kept; a smaller max_groups keeps fewer",
    })
}

/// Which entry comes last in the order of the query, if the greatest priority is this.
#[inline]
fn last(entries: &[Entry], greatest: u64, groups: &Interner) -> usize {
    let (mut last, mut times) = (0, 0);
    for (at, entry) in entries.iter().enumerate() {
        last = if entry.priority == greatest { at } else { last };
        times += usize::from(entry.priority == greatest);
    }
    if times > 1 { last_of_equal(entries, groups) } else { last }
}

#[cold]
fn last_of_equal(entries: &[Entry], groups: &Interner) -> usize {
    (1..entries.len()).fold(0, |last, at| if precedes(&entries[last], &entries[at], groups) { at } else { last })
}

/// The order of the query: by priority, and by the key itself where two are equal. Group numbers depend on the order of rows and have no part in it.
#[inline]
fn precedes(one: &Entry, other: &Entry, groups: &Interner) -> bool {
    one.priority < other.priority
        || (one.priority == other.priority && groups.item(one.group) < groups.item(other.group))
}

/// Restores the heap after its last entry is new.
fn rise(entries: &mut [Entry], groups: &Interner) {
    let mut at = entries.len() - 1;
    while at > 0 && precedes(&entries[(at - 1) / 2], &entries[at], groups) {
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
        if left < entries.len() && precedes(&entries[last], &entries[left], groups) {
            last = left;
        }
        if right < entries.len() && precedes(&entries[last], &entries[right], groups) {
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
        let key = SecretKey::draw(&mut SeededRandom::new(1)).expect("a seeded generator does not fail");
        let mut groups = Interner::of_words(key);
        // Numbers that run against the values: an order by number would show.
        (0..count).for_each(|n| assert_eq!(groups.intern(key.word(count - n), Item::Word(count - n)), Ok(n as u32)));
        groups
    }

    #[test]
    fn the_lowest_are_kept_with_places_of_their_own() {
        let groups = groups(300);
        let mut draw = random(2);
        for (max_groups, range) in
            [(1, u64::MAX), (5, u64::MAX), (5, 3), (8, 2), (9, 40), (32, u64::MAX), (33, 50), (100, 9)]
        {
            let mut kept = KeptGroups::new(max_groups);
            kept.resize(3);
            let priorities: Vec<u64> = (0..3 * 300).map(|_| draw(range)).collect();
            let mut seen = vec![BTreeSet::new(); 3];
            let mut rows = vec![0; 3 * max_groups as usize];
            for _ in 0..3000 {
                let (unit, group) = (draw(3), draw(300));
                let priority = priorities[(unit * 300 + group) as usize];
                seen[unit as usize].insert((priority, groups.item(group as u32), group as u32));
                match kept.place(unit as u32, group as u32, priority, &groups).expect("room") {
                    Placed::Nowhere => assert!(priority >= kept.thresholds[unit as usize]),
                    Placed::Known(place) => rows[place] += 1,
                    Placed::New(place) => rows[place] = 1,
                }
                let expected: BTreeSet<u32> =
                    seen[unit as usize].iter().take(max_groups as usize).map(|&(_, _, g)| g).collect();
                let found: BTreeSet<u32> = kept.of(unit as usize).iter().map(|entry| entry.group).collect();
                assert_eq!(found, expected, "max_groups {max_groups}, priorities below {range}");
            }
            let places: BTreeSet<u32> = (0..3).flat_map(|unit| kept.of(unit)).map(|entry| entry.place).collect();
            assert_eq!(places, (0..kept.places() as u32).collect());
            assert_eq!(kept.index.len(), if max_groups > 32 { kept.places() } else { 0 });
        }
    }

    #[test]
    fn a_unit_with_a_million_groups_takes_the_memory_of_a_few() {
        let groups = groups(1);
        let mut kept = KeptGroups::new(40);
        kept.resize(1);
        for group in 0..1_000_000 {
            let priority = u64::from(group ^ 0x5555).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            kept.place(0, group, priority, &groups).expect("room");
        }
        assert_eq!((kept.of(0).len(), kept.places(), kept.index.len()), (40, 40, 40));
        assert!(kept.entries.len() <= 120);
    }
}
