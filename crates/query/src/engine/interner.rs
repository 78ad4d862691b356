//! Small numbers for distinct units and groups.

use super::identity::{Identities, Item, Values};
use super::secret_key::SecretKey;
use crate::QueryError;

/// Stands for no number.
pub(super) const NONE: u32 = u32::MAX;

/// Numbers distinct values from 0 in the order in which they come.
///
/// A hash table with open addressing and linear probing, at most half full, of 16 bytes an entry: a word, or the hash of a text whose bytes are in an arena. The
/// hash only says where to look, what decides is the value. Words below 2^20, by which people and things are often numbered, are looked up directly.
#[derive(Debug)]
pub(super) struct Interner {
    key: SecretKey,
    null: u32,
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
    Bytes { arena: Vec<u8>, ends: Vec<usize> },
}

/// Words below this are looked up directly, in at most 4 MiB.
const SMALL_WORD: u64 = 1 << 20;

/// Tables up to this size (256 KiB) are in the cache anyway.
const SMALL: usize = 1 << 14;

const EMPTY: Entry = Entry { tag: 0, number: NONE };

/// Whether all are looked up directly. All are looked at, which is faster than to stop at the first.
pub(super) fn all_small(words: &[u64]) -> bool {
    words.iter().fold(0, |all, word| all | word) < SMALL_WORD
}

impl Interner {
    pub(super) fn of_words(key: SecretKey) -> Self {
        Self::of(key, Stored::Words(Vec::new()))
    }

    pub(super) fn of_bytes(key: SecretKey) -> Self {
        Self::of(key, Stored::Bytes { arena: Vec::new(), ends: Vec::new() })
    }

    fn of(key: SecretKey, values: Stored) -> Self {
        Self { key, null: NONE, direct: Vec::new(), entries: vec![EMPTY; 64], hashed: 0, values }
    }

    /// An empty one for the same kind of values.
    pub(super) fn empty_like(&self) -> Self {
        match self.values {
            Stored::Words(_) => Self::of_words(self.key),
            Stored::Bytes { .. } => Self::of_bytes(self.key),
        }
    }

    pub(super) fn len(&self) -> usize {
        match &self.values {
            Stored::Words(words) => words.len(),
            Stored::Bytes { ends, .. } => ends.len(),
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
            Stored::Bytes { arena, ends } => Item::Bytes(&arena[if at == 0 { 0 } else { ends[at - 1] }..ends[at]]),
        }
    }

    /// The number of a value, a new one if it is new.
    ///
    /// # Errors
    /// If there are `2^32 - 1` values already.
    #[inline]
    pub(super) fn intern(&mut self, hash: u64, item: Item<'_>) -> Result<u32, QueryError> {
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

    /// The numbers of all rows of a batch.
    pub(super) fn intern_all(&mut self, rows: &Identities, numbers: &mut Vec<u32>) -> Result<(), QueryError> {
        numbers.clear();
        if let Values::Words(words, None) = &rows.values {
            self.find_small(words, numbers);
            if numbers.contains(&NONE) {
                self.warm(&rows.hashes);
                for (row, number) in numbers.iter_mut().enumerate().filter(|(_, number)| **number == NONE) {
                    *number = self.intern(rows.hash(row), Item::Word(words[row]))?;
                }
            }
        } else {
            self.warm(&rows.hashes);
            for (row, &hash) in rows.hashes.iter().enumerate() {
                numbers.push(self.intern(hash, rows.item(row))?);
            }
        }
        Ok(())
    }

    /// The numbers of all rows of a batch, [`NONE`] for values that have none.
    pub(super) fn find_all(&self, rows: &Identities, numbers: &mut Vec<u32>) {
        numbers.clear();
        if let Values::Words(words, None) = &rows.values {
            self.find_small(words, numbers);
            if self.hashed > 0 && numbers.contains(&NONE) {
                self.warm(&rows.hashes);
                for (row, number) in numbers.iter_mut().enumerate().filter(|(_, number)| **number == NONE) {
                    *number = self.find(rows.hash(row), Item::Word(words[row]));
                }
            }
        } else {
            self.warm(&rows.hashes);
            numbers.extend(rows.hashes.iter().enumerate().map(|(row, &hash)| self.find(hash, rows.item(row))));
        }
    }

    /// The numbers of small words, [`NONE`] for new and for large ones.
    fn find_small(&self, words: &[u64], numbers: &mut Vec<u32>) {
        if self.direct.is_empty() {
            numbers.resize(words.len(), NONE);
        } else {
            numbers.extend(words.iter().map(|&word| self.direct.get(word as usize).copied().unwrap_or(NONE)));
        }
    }

    /// Reads the entries that are looked at first, and decides nothing by it: the memory of many is then fetched at once, where a search would wait for one
    /// after the other.
    fn warm(&self, hashes: &[u64]) {
        if self.entries.len() > SMALL {
            let mask = self.entries.len() - 1;
            let touched = hashes.iter().map(|&hash| self.entries[hash as usize & mask].tag);
            std::hint::black_box(touched.fold(0, |all, one| all ^ one));
        }
    }

    /// `Err` says where it would be put.
    #[inline(always)]
    fn look_up(&self, hash: u64, item: Item<'_>) -> Result<u32, usize> {
        let tag = match item {
            Item::Word(word) if word < SMALL_WORD => {
                let number = self.direct.get(word as usize).copied().unwrap_or(NONE);
                return if number == NONE { Err(0) } else { Ok(number) };
            }
            Item::Null if self.null == NONE => return Err(0),
            Item::Null => return Ok(self.null),
            Item::Word(word) => word,
            Item::Bytes(_) => hash,
        };
        let mask = self.entries.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let entry = self.entries[at];
            if entry.tag == tag && entry.number != NONE {
                match item {
                    Item::Bytes(_) if self.item(entry.number) != item => {}
                    _ => return Ok(entry.number),
                }
            } else if entry.number == NONE {
                return Err(at);
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn insert(&mut self, vacant: usize, hash: u64, item: Item<'_>) -> Result<u32, QueryError> {
        let number = u32::try_from(self.len()).ok().filter(|&number| number != NONE).ok_or(QueryError::Capacity {
            of: "distinct units or groups",
            limit: "at most 4294967295 can be told apart",
        })?;
        match &mut self.values {
            Stored::Words(words) => words.push(if let Item::Word(word) = item { word } else { 0 }),
            Stored::Bytes { arena, ends } => {
                arena.extend_from_slice(if let Item::Bytes(bytes) = item { bytes } else { &[] });
                ends.push(arena.len());
            }
        }
        match item {
            Item::Null => self.null = number,
            Item::Word(word) if word < SMALL_WORD => {
                let word = word as usize;
                if word >= self.direct.len() {
                    self.direct.resize((word + 1).next_power_of_two(), NONE);
                }
                self.direct[word] = number;
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
                Stored::Bytes { .. } => entry.tag,
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
        let mut words = Interner::of_words(key);
        for round in 0..2 {
            for value in 0..10_000_u64 {
                let word = value.wrapping_mul(3001) << (value % 2 * 40);
                assert_eq!(words.intern(key.word(word), Item::Word(word)), Ok(value as u32), "round {round}");
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
        let mut words = Interner::of_words(key());
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
