//! Random changes of an input.

/// Numbers from a seed (SplitMix64, Steele, Lea, Flood 2014). Not for anything private.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// Sixty-four bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`; 0 if that is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        self.bits().checked_rem(limit as u64).unwrap_or(0) as usize
    }

    /// One of these.
    pub fn of<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        all.get(self.below(all.len()))
    }
}

/// The longest input.
pub const LONGEST: usize = 1 << 16;

/// A number at which something overflows, begins or ends: a power of two or its negative, or next
/// to one.
fn edge(random: &mut Random) -> i64 {
    let power = 1_i64.wrapping_shl(random.below(64) as u32);
    let signed = if random.below(3) == 0 { power.wrapping_neg() } else { power };
    signed.wrapping_add(random.below(3) as i64 - 1)
}

/// An input made of another, of a second one, and of words that mean something.
pub fn mutated(
    random: &mut Random,
    input: &[u8],
    other: &[u8],
    words: &[&str],
    is_text: bool,
) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..=random.below(4) {
        if is_text && random.below(4) > 0 {
            change_words(random, &mut bytes, other, words);
        } else {
            change_bytes(random, &mut bytes, other, words);
        }
    }
    bytes.truncate(LONGEST);
    bytes
}

/// A random range of at most `most` elements out of `length`.
fn range(random: &mut Random, length: usize, most: usize) -> std::ops::Range<usize> {
    let start = random.below(length + 1);
    start..start + random.below((length - start).min(most) + 1)
}

fn change_bytes(random: &mut Random, bytes: &mut Vec<u8>, other: &[u8], words: &[&str]) {
    let at = random.below(bytes.len());
    match random.below(10) {
        0 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
        1 if !bytes.is_empty() => bytes[at] = random.bits() as u8,
        2 => {
            let length = [1, 2, 4, 8][random.below(4)];
            // Numbers in files are aligned, mostly.
            let at = if random.below(2) == 0 { at / length * length } else { at };
            let edge = edge(random);
            let end = bytes.len().min(at + length);
            let count = end.saturating_sub(at);
            bytes[at..end].copy_from_slice(&edge.to_le_bytes()[..count]);
        }
        3 => drop(bytes.drain(range(random, bytes.len(), 64))),
        4 => {
            let copied = bytes[range(random, bytes.len(), 64)].to_vec();
            bytes.splice(at..at, copied);
        }
        5 => {
            let copied = &other[range(random, other.len(), 256)];
            bytes.splice(at..at, copied.iter().copied());
        }
        6 => {
            let (from, copied) = (range(random, bytes.len(), 256), range(random, other.len(), 256));
            bytes.splice(from, other[copied].iter().copied());
        }
        7 => bytes.truncate(at),
        8 => {
            let word = random.of(words).map_or(&b"\0"[..], |word| word.as_bytes());
            bytes.splice(at..at, word.iter().copied());
        }
        _ => {
            let tail = other.len() - random.below(other.len() + 1);
            bytes.truncate(at);
            bytes.extend_from_slice(&other[tail..]);
        }
    }
}

/// The words, numbers, signs and spaces of a text.
fn pieces(text: &str) -> Vec<&str> {
    let kind = |character: char| match character {
        c if c.is_alphanumeric() || c == '_' || c == '.' => 0,
        c if c.is_whitespace() => 1,
        other => 2 + other as u32,
    };
    let mut all = Vec::new();
    let mut start = 0;
    let mut last = None;
    for (at, character) in text.char_indices() {
        if last.is_some_and(|last| last != kind(character)) {
            all.push(&text[start..at]);
            start = at;
        }
        last = Some(kind(character));
    }
    all.push(&text[start..]);
    all
}

fn change_words(random: &mut Random, bytes: &mut Vec<u8>, other: &[u8], words: &[&str]) {
    let (text, other) = (String::from_utf8_lossy(bytes), String::from_utf8_lossy(other));
    let (mut mine, theirs) = (pieces(&text), pieces(&other));
    let edge = edge(random).to_string();
    let at = random.below(mine.len());
    let word = random.of(words).copied().unwrap_or_default();
    match random.below(8) {
        0 => mine[at] = word,
        1 => drop(mine.splice(at..at, [" ", word, " "])),
        2 => drop(mine.drain(range(random, mine.len(), 8))),
        3 => {
            let copied = mine[range(random, mine.len(), 12)].to_vec();
            mine.splice(at..at, copied);
        }
        4 => drop(mine.splice(at..at, theirs[range(random, theirs.len(), 24)].to_vec())),
        5 => {
            let from = range(random, mine.len(), 12);
            mine.splice(from, theirs[range(random, theirs.len(), 24)].to_vec());
        }
        6 => {
            let numbers: Vec<usize> = (0..mine.len())
                .filter(|at| mine[*at].starts_with(|c: char| c.is_ascii_digit()))
                .collect();
            if let Some(at) = random.of(&numbers) {
                mine[*at] = &edge;
            }
        }
        _ => {
            let with = random.below(mine.len());
            mine.swap(at, with);
        }
    }
    *bytes = mine.concat().into_bytes();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_input_has_a_successor() {
        let mut random = Random(1);
        let (mut input, mut seen) = (Vec::new(), std::collections::HashSet::new());
        for round in 0..20_000 {
            let other = if round % 3 == 0 { &b""[..] } else { b"SELECT 1, \xff 'x' -- y" };
            let next = mutated(&mut random, &input, other, &["FROM", "é"], round % 2 == 0);
            assert!(next.len() <= LONGEST);
            seen.insert(next.clone());
            input = if round % 7 == 0 { Vec::new() } else { next };
        }
        assert!(seen.len() > 10_000, "{}", seen.len());
    }

    #[test]
    fn a_text_is_its_pieces() {
        assert_eq!(pieces("a1 >= 'é\n'"), ["a1", " ", ">", "=", " ", "'", "é", "\n", "'"]);
        assert_eq!(pieces(""), [""]);
    }
}
