//! Up to eight groups a unit, in one line of the cache or two.

use super::interner::Interner;
use super::kept_groups::{Offer, Slot, precedes, upper_half};
use super::lines::{LINE, Lines};

/// For each unit there is room for all of its groups, at a slot that follows from the unit's
/// number. A group stays where it was put.
///
/// What is known of a unit is the priorities and then the groups, two in a word and each more by
/// one, so that zero stands for none. For up to five groups that is one line of the cache. What
/// looks through it does so from end to end, without branches that depend on what is there.
#[derive(Debug)]
pub(super) struct FewGroups {
    max_groups: usize,
    /// Words of the priorities and groups of a unit.
    width: usize,
    known: Lines,
    units: usize,
}

/// The most groups of a unit.
pub(super) const FEW: usize = 8;

impl FewGroups {
    pub(super) fn new(max_groups: usize) -> Self {
        let width = max_groups + max_groups.div_ceil(2);
        // What fits into a line does not reach into the next.
        let width = if width <= LINE { width.next_power_of_two() } else { width };
        Self { max_groups, width, known: Lines::new(), units: 0 }
    }

    pub(super) fn resize(&mut self, units: usize) {
        self.known.grow(units * self.width);
        self.units = units;
    }

    pub(super) fn slots(&self) -> usize {
        self.units * self.max_groups
    }

    /// The groups of a unit, and their slots.
    pub(super) fn of(&self, unit: usize) -> impl Iterator<Item = (u32, usize)> {
        let known = &self.known.words()[unit * self.width..][..self.width];
        let kept = move |at: usize| {
            let group = group(known, self.max_groups, at).checked_sub(1)?;
            Some((group, unit * self.max_groups + at))
        };
        (0..self.max_groups).map_while(kept)
    }

    /// See [`KeptGroups::warm`](super::kept_groups::KeptGroups::warm).
    pub(super) fn warm(&self, units: impl Iterator<Item = u32>) {
        let known = self.known.words();
        std::hint::black_box(units.fold(0, |all, unit| all ^ known[unit as usize * self.width]));
    }

    /// See [`KeptGroups::assign`](super::kept_groups::KeptGroups::assign); `threshold` is that
    /// of the unit.
    #[inline(always)]
    pub(super) fn assign(&mut self, offer: Offer, threshold: &mut u32, groups: &Interner) -> Slot {
        let unit = offer.unit as usize;
        let known = &mut self.known.words_mut()[unit * self.width..][..self.width];
        let first = unit * self.max_groups;
        match self.max_groups {
            1 => assign_in::<1>(known, first, offer, threshold, groups),
            2 => assign_in::<2>(known, first, offer, threshold, groups),
            3 => assign_in::<3>(known, first, offer, threshold, groups),
            4 => assign_in::<4>(known, first, offer, threshold, groups),
            5 => assign_in::<5>(known, first, offer, threshold, groups),
            6 => assign_in::<6>(known, first, offer, threshold, groups),
            7 => assign_in::<7>(known, first, offer, threshold, groups),
            _ => assign_in::<FEW>(known, first, offer, threshold, groups),
        }
    }
}

/// The group at a position of a record, more by one.
#[inline(always)]
fn group(record: &[u64], max_groups: usize, at: usize) -> u32 {
    (record[max_groups + at / 2] >> (32 * (at % 2))) as u32
}

/// The slot of an offer, where `first` is that of the unit's first group. The loops are over a
/// number of groups that is known when this is compiled, and so are none.
#[inline(always)]
fn assign_in<const MAX: usize>(
    record: &mut [u64],
    first: usize,
    offer: Offer,
    threshold: &mut u32,
    groups: &Interner,
) -> Slot {
    let record = &mut record[..MAX + MAX.div_ceil(2)];
    let (mut known, mut vacant) = (MAX, MAX);
    for at in (0..MAX).rev() {
        let there = group(record, MAX, at);
        known = if there == offer.group + 1 { at } else { known };
        vacant = if there == 0 { at } else { vacant };
    }
    if known < MAX {
        return Slot::Known(first + known);
    }
    let mut at = vacant;
    if vacant == MAX {
        at = last::<MAX>(record, groups);
        let least = (record[at], group(record, MAX, at) - 1);
        if !precedes((offer.priority, offer.group), least, groups) {
            return Slot::None;
        }
    }
    record[at] = offer.priority;
    let (word, shift) = (MAX + at / 2, 32 * (at % 2));
    record[word] =
        record[word] & !(u64::from(u32::MAX) << shift) | u64::from(offer.group + 1) << shift;
    if vacant >= MAX - 1 {
        *threshold = upper_half(greatest::<MAX>(record));
    }
    Slot::New(first + at)
}

#[inline(always)]
fn greatest<const MAX: usize>(record: &[u64]) -> u64 {
    record[..MAX].iter().fold(0, |most, &priority| most.max(priority))
}

/// Which of a full record comes last in the order of the query.
#[inline(always)]
fn last<const MAX: usize>(record: &[u64], groups: &Interner) -> usize {
    let greatest = greatest::<MAX>(record);
    let (mut last, mut times) = (0, 0);
    for (at, &priority) in record[..MAX].iter().enumerate() {
        last = if priority == greatest { at } else { last };
        times += usize::from(priority == greatest);
    }
    if times > 1 { last_of_equal(record, MAX, groups) } else { last }
}

#[cold]
fn last_of_equal(record: &[u64], max_groups: usize, groups: &Interner) -> usize {
    let entry = |at: usize| (record[at], group(record, max_groups, at) - 1);
    (1..max_groups)
        .fold(0, |last, at| if precedes(entry(last), entry(at), groups) { at } else { last })
}
