//! Small numbers for distinct units and groups.

use super::division::Division;
use super::identity::{Identities, Item, Values};
use super::secret_key::SecretKey;
use super::short_text::{ShortText, stored_bytes};
use crate::EngineError;
use std::ops::Range;

/// Stands for no number.
pub(super) const NONE: u32 = u32::MAX;

/// Numbers distinct values from 0 in the order in which they come.
///
/// A hash table with open addressing and linear probing, at most half full, of 16 bytes an entry: a
/// word, or the hash of a text. The hash only says where to look, what decides is the value. Words
/// below 2^20, by which people and things are often numbered, are looked up directly.
#[derive(Debug)]
pub(super) struct Interner {
    key: SecretKey,
    null: u32,
    /// Of which part of all words this is.
    division: Division,
    /// The numbers of small words.
    direct: Vec<u32>,
    entries: Vec<Entry>,
    /// How many entries are not empty.
    hashed: usize,
    values: Stored,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The word itself, or the hash of the bytes.
    tag: u64,
    number: u32,
}

/// The values by their numbers; that of NULL is a filler.
#[derive(Debug)]
enum Stored {
    Words(Vec<u64>),
    /// Each text in 16 bytes: itself if it is short, else its length and where it starts in the
    /// arena.
    Texts {
        arena: Vec<u8>,
        stored: Vec<[u8; 16]>,
    },
}

/// Words below this are looked up directly, in at most 4 MiB.
pub(super) const SMALL_WORD: u64 = 1 << 20;

/// Tables up to this size (256 KiB) are in the cache anyway.
const SMALL: usize = 1 << 14;

const EMPTY: Entry = Entry { tag: 0, number: NONE };

/// Whether all are looked up directly. All are looked at, which is faster than to stop at the
/// first.
pub(super) fn all_small(words: &[u64]) -> bool {
    words.iter().fold(0, |all, word| all | word) < SMALL_WORD
}

impl Interner {
    /// For words of one part of a division.
    pub(super) fn of_words(key: SecretKey, division: Division) -> Self {
        Self::of(key, division, Stored::Words(Vec::new()))
    }

    pub(super) fn of_bytes(key: SecretKey) -> Self {
        Self::of(key, Division::WHOLE, Stored::Texts { arena: Vec::new(), stored: Vec::new() })
    }

    fn of(key: SecretKey, division: Division, values: Stored) -> Self {
        Self {
            key,
            null: NONE,
            division,
            direct: Vec::new(),
            entries: vec![EMPTY; 64],
            hashed: 0,
            values,
        }
    }

    pub(super) fn len(&self) -> usize {
        match &self.values {
            Stored::Words(words) => words.len(),
            Stored::Texts { stored, .. } => stored.len(),
        }
    }

    /// The value with this number.
    pub(super) fn item(&self, number: u32) -> Item<'_> {
        if number == self.null {
            return Item::Null;
        }
        let at = number as usize;
        match &self.values {
            Stored::Words(words) => Item::Word(words[at]),
            Stored::Texts { arena, stored } => {
                let stored = &stored[at];
                Item::Bytes(stored_bytes(stored).unwrap_or_else(|| &arena[in_arena(stored)]))
            }
        }
    }

    /// The number of a value, a new one if it is new.
    ///
    /// # Errors
    /// If there are `2^32 - 1` values already.
    #[inline]
    pub(super) fn intern(&mut self, hash: u64, item: Item<'_>) -> Result<u32, EngineError> {
        match self.look_up(hash, item) {
            Ok(number) => Ok(number),
            Err(vacant) => self.insert(vacant, hash, item),
        }
    }

    /// The number of a value, or [`NONE`].
    #[inline]
    pub(super) fn find(&self, hash: u64, item: Item<'_>) -> u32 {
        self.look_up(hash, item).unwrap_or(NONE)
    }

    /// The numbers of some rows of a batch, in their order.
    pub(super) fn intern_all(
        &mut self,
        batch: &Identities,
        rows: impl Iterator<Item = usize> + Clone,
        numbers: &mut Vec<u32>,
    ) -> Result<(), EngineError> {
        numbers.clear();
        if let Values::Words(words, None) = &batch.values {
            self.find_small(rows.clone().map(|row| words[row]), numbers);
            if numbers.contains(&NONE) {
                self.warm(batch, rows.clone());
                for (row, number) in
                    rows.zip(numbers.iter_mut()).filter(|(_, number)| **number == NONE)
                {
                    *number = self.intern(batch.hash(row), Item::Word(words[row]))?;
                }
            }
        } else {
            self.warm(batch, rows.clone());
            for row in rows {
                let hash = batch.hash(row);
                let found = match batch.short_text(row) {
                    Some(text) => self.look_up_short(hash, text),
                    None => self.look_up(hash, batch.item(row)),
                };
                numbers.push(match found {
                    Ok(number) => number,
                    Err(vacant) => self.insert(vacant, hash, batch.item(row))?,
                });
            }
        }
        Ok(())
    }

    /// The numbers of all rows of a batch, [`NONE`] for values that have none.
    pub(super) fn find_all(&self, batch: &Identities, numbers: &mut Vec<u32>) {
        numbers.clear();
        let rows = 0..batch.marks().len();
        if let Values::Words(words, None) = &batch.values {
            self.find_small(words.iter().copied(), numbers);
            if self.hashed > 0 && numbers.contains(&NONE) {
                self.warm(batch, rows);
                for (row, number) in
                    numbers.iter_mut().enumerate().filter(|(_, number)| **number == NONE)
                {
                    *number = self.find(batch.hash(row), Item::Word(words[row]));
                }
            }
        } else {
            self.warm(batch, rows.clone());
            numbers.extend(rows.map(|row| match batch.short_text(row) {
                Some(text) => self.look_up_short(batch.hash(row), text).unwrap_or(NONE),
                None => self.find(batch.hash(row), batch.item(row)),
            }));
        }
    }

    /// The numbers of small words, [`NONE`] for new and for large ones.
    #[inline(always)]
    fn find_small(&self, words: impl Iterator<Item = u64>, numbers: &mut Vec<u32>) {
        if self.direct.is_empty() {
            numbers.extend(words.map(|_| NONE));
        } else if self.division == Division::WHOLE {
            numbers
                .extend(words.map(|word| self.direct.get(word as usize).copied().unwrap_or(NONE)));
        } else {
            numbers.extend(
                words.map(|word| {
                    self.direct.get(self.division.within(word)).copied().unwrap_or(NONE)
                }),
            );
        }
    }

    /// Reads the entries that are looked at first, and decides nothing by it: the memory of many is
    /// then fetched at once, where a search would wait for one after the other.
    #[inline(always)]
    fn warm(&self, batch: &Identities, rows: impl Iterator<Item = usize>) {
        if self.entries.len() > SMALL {
            let mask = self.entries.len() - 1;
            let touched = rows.map(|row| self.entries[batch.hash(row) as usize & mask].tag);
            std::hint::black_box(touched.fold(0, |all, one| all ^ one));
        }
    }

    /// `Err` says where it would be put.
    #[inline(always)]
    fn look_up(&self, hash: u64, item: Item<'_>) -> Result<u32, usize> {
        let bytes = match item {
            Item::Word(word) if word < SMALL_WORD => {
                let number = self.direct.get(self.division.within(word)).copied().unwrap_or(NONE);
                return if number == NONE { Err(0) } else { Ok(number) };
            }
            Item::Null if self.null == NONE => return Err(0),
            Item::Null => return Ok(self.null),
            Item::Word(word) => return self.probe(hash, word, |_| true),
            Item::Bytes(bytes) => bytes,
        };
        match ShortText::of(bytes) {
            Some(text) => self.look_up_short(hash, text),
            None => self.probe(hash, hash, |number| self.item(number) == item),
        }
    }

    /// The same for a short text.
    #[inline(always)]
    fn look_up_short(&self, hash: u64, text: ShortText) -> Result<u32, usize> {
        let Stored::Texts { stored, .. } = &self.values else { return Err(0) };
        self.probe(hash, hash, |number| ShortText::of_stored(&stored[number as usize]) == text)
    }

    /// Goes through the entries of a hash to one with this tag and the value itself.
    #[inline(always)]
    fn probe(&self, hash: u64, tag: u64, is_same: impl Fn(u32) -> bool) -> Result<u32, usize> {
        let mask = self.entries.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let entry = self.entries[at];
            if entry.number == NONE {
                return Err(at);
            }
            if entry.tag == tag && is_same(entry.number) {
                return Ok(entry.number);
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn insert(&mut self, vacant: usize, hash: u64, item: Item<'_>) -> Result<u32, EngineError> {
        let number = u32::try_from(self.len()).ok().filter(|&number| number != NONE).ok_or(
            EngineError::Capacity {
                of: "distinct units or groups",
                limit: "at most 4294967295 can be told apart",
            },
        )?;
        match &mut self.values {
            Stored::Words(words) => words.push(if let Item::Word(word) = item { word } else { 0 }),
            Stored::Texts { arena, stored } => {
                let bytes = if let Item::Bytes(bytes) = item { bytes } else { &[] };
                stored.push(match ShortText::of(bytes) {
                    Some(text) => text.stored(),
                    None => put_in(arena, bytes)?,
                });
            }
        }
        match item {
            Item::Null => self.null = number,
            Item::Word(word) if word < SMALL_WORD => {
                let at = self.division.within(word);
                if at >= self.direct.len() {
                    self.direct.resize((at + 1).next_power_of_two(), NONE);
                }
                self.direct[at] = number;
            }
            Item::Word(word) => self.put(vacant, Entry { tag: word, number }),
            Item::Bytes(_) => self.put(vacant, Entry { tag: hash, number }),
        }
        Ok(number)
    }

    fn put(&mut self, vacant: usize, entry: Entry) {
        self.entries[vacant] = entry;
        self.hashed += 1;
        if self.hashed * 2 > self.entries.len() {
            self.grow();
        }
    }

    fn grow(&mut self) {
        let mut larger = vec![EMPTY; self.entries.len() * 2];
        let mask = larger.len() - 1;
        for entry in self.entries.iter().filter(|entry| entry.number != NONE) {
            let hash = match self.values {
                Stored::Words(_) => self.key.word(entry.tag),
                Stored::Texts { .. } => entry.tag,
            };
            let mut at = hash as usize & mask;
            while larger[at].number != NONE {
                at = (at + 1) & mask;
            }
            larger[at] = *entry;
        }
        self.entries = larger;
    }

    /// The hash of the value with this number.
    pub(super) fn hash(&self, number: u32) -> u64 {
        match self.item(number) {
            Item::Null => self.key.null(),
            Item::Word(word) => self.key.word(word),
            Item::Bytes(bytes) => self.key.bytes(bytes),
        }
    }
}

/// Puts a text that is not short into the arena, and says how it is stored.
///
/// # Errors
/// If it is longer than `2^32 - 1` bytes, which no column holds.
fn put_in(arena: &mut Vec<u8>, bytes: &[u8]) -> Result<[u8; 16], EngineError> {
    let length = u32::try_from(bytes.len()).map_err(|_| EngineError::Capacity {
        of: "bytes in one unit or group key",
        limit: "at most 4294967295 can be told apart",
    })?;
    let mut stored = [0; 16];
    stored[..4].copy_from_slice(&length.to_le_bytes());
    stored[8..].copy_from_slice(&(arena.len() as u64).to_le_bytes());
    arena.extend_from_slice(bytes);
    Ok(stored)
}

/// Where a text that is not short is in the arena.
fn in_arena(stored: &[u8; 16]) -> Range<usize> {
    let [l0, l1, l2, l3, _, _, _, _, start @ ..] = *stored;
    let start = u64::from_le_bytes(start) as usize;
    start..start + u32::from_le_bytes([l0, l1, l2, l3]) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_noise::randomness::SeededRandom;

    fn key() -> SecretKey {
        SecretKey::draw(&mut SeededRandom::new(5)).expect("a seeded generator does not fail")
    }

    #[test]
    fn equal_values_have_one_number_and_others_another() {
        let key = key();
        let mut words = Interner::of_words(key, Division::WHOLE);
        for round in 0..2 {
            for value in 0..10_000_u64 {
                let word = value.wrapping_mul(3001) << (value % 2 * 40);
                assert_eq!(
                    words.intern(key.word(word), Item::Word(word)),
                    Ok(value as u32),
                    "round {round}"
                );
            }
        }
        assert_eq!(words.intern(key.null(), Item::Null), Ok(10_000));
        assert_eq!(words.intern(key.null(), Item::Null), Ok(10_000));
        assert_eq!((words.item(3), words.item(10_000)), (Item::Word(9003 << 40), Item::Null));
        assert_eq!(words.find(key.word(77), Item::Word(77)), NONE);
        assert_eq!(words.hash(3), key.word(9003 << 40));
    }

    #[test]
    fn the_value_decides_and_not_its_hash() {
        let mut words = Interner::of_words(key(), Division::WHOLE);
        let mut bytes = Interner::of_bytes(key());
        for value in 0..30_u64 {
            let text = value.to_string();
            assert_eq!(words.intern(12, Item::Word(value << 32 | 1 << 40)), Ok(value as u32));
            assert_eq!(bytes.intern(12, Item::Bytes(text.as_bytes())), Ok(value as u32));
        }
        assert_eq!(words.find(12, Item::Word(17 << 32 | 1 << 40)), 17);
        assert_eq!(bytes.find(12, Item::Bytes(b"17")), 17);
        assert_eq!(bytes.find(12, Item::Bytes(b"017")), NONE);
    }

    #[test]
    fn texts_are_kept_empty_ones_too() {
        let key = key();
        let mut texts = Interner::of_bytes(key);
        let long = "x".repeat(1 << 20);
        for text in ["", "a", &long, "\0"] {
            texts.intern(key.bytes(text.as_bytes()), Item::Bytes(text.as_bytes())).expect("room");
        }
        texts.intern(key.null(), Item::Null).expect("room");
        assert_eq!(texts.len(), 5);
        assert_eq!(texts.item(0), Item::Bytes(b""));
        assert_eq!(texts.item(2), Item::Bytes(long.as_bytes()));
        assert_eq!(texts.item(4), Item::Null);
        assert_eq!(texts.find(key.bytes(b""), Item::Bytes(b"")), 0);
    }
}
