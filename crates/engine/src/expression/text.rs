//! Functions of texts. What they make is at most as long as a text that is read, and cut there.

use reticent_policy::LONGEST_TEXT;
use std::collections::HashSet;

/// The beginning of a text that is kept.
fn kept(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(LONGEST_TEXT));
    text
}

pub(super) fn lower(text: &str) -> String {
    kept(text.to_lowercase())
}

pub(super) fn upper(text: &str) -> String {
    kept(text.to_uppercase())
}

/// The first letter of each word in upper case, the others in lower case.
pub(super) fn initcap(text: &str) -> String {
    let mut changed = String::with_capacity(text.len());
    let mut within = false;
    for character in text.chars() {
        if within {
            changed.extend(character.to_lowercase());
        } else {
            changed.extend(character.to_uppercase());
        }
        within = character.is_alphanumeric();
    }
    kept(changed)
}

pub(super) fn reverse(text: &str) -> String {
    text.chars().rev().collect()
}

pub(super) fn character_length(text: &str) -> i64 {
    text.chars().count() as i64
}

pub(super) fn octet_length(text: &str) -> i64 {
    text.len() as i64
}

/// The code point of the first character, 0 for no text.
pub(super) fn ascii(text: &str) -> i64 {
    text.chars().next().map_or(0, |character| u32::from(character).into())
}

/// The number of the character at which `part` begins, from 1 on; 0 if it does not occur.
pub(super) fn strpos(text: &str, part: &str) -> i64 {
    text.find(part).map_or(0, |at| character_length(&text[..at]) + 1)
}

/// The text without those of `characters` that it begins (and ends) with.
pub(super) fn trimmed<'a>(text: &'a str, characters: &str, start: bool, end: bool) -> &'a str {
    let set: HashSet<char> = characters.chars().collect();
    let among = |character: char| set.contains(&character);
    let text = if start { text.trim_start_matches(among) } else { text };
    if end { text.trim_end_matches(among) } else { text }
}

/// The first `count` characters; a negative count leaves so many out at the end.
pub(super) fn left(text: &str, count: i64, _: Option<i64>) -> &str {
    let count = if count < 0 { character_length(text).saturating_add(count) } else { count };
    &text[..after(text, count)]
}

/// The last `count` characters; a negative count leaves so many out at the beginning.
pub(super) fn right(text: &str, count: i64, _: Option<i64>) -> &str {
    let dropped = if count < 0 {
        count.saturating_neg()
    } else {
        character_length(text).saturating_sub(count)
    };
    &text[after(text, dropped)..]
}

/// The characters from number `start` on, counted from 1, up to `length` of them. As SQL has it,
/// the count begins at `start` even where that is before the text.
pub(super) fn substr(text: &str, start: i64, length: Option<i64>) -> &str {
    let begin = after(text, start.saturating_sub(1));
    let end = length
        .map_or(text.len(), |length| after(text, start.saturating_sub(1).saturating_add(length)));
    &text[begin..end.max(begin)]
}

/// The byte after the first `count` characters; 0 for none, the end for more than there are.
fn after(text: &str, count: i64) -> usize {
    match usize::try_from(count) {
        Err(_) => 0,
        Ok(count) => text.char_indices().nth(count).map_or(text.len(), |(at, _)| at),
    }
}

/// The piece of this number between separators, from 1 on, or from -1 on from the end.
pub(super) fn split_part<'a>(text: &'a str, separator: &str, number: i64) -> &'a str {
    let index = usize::try_from(number.unsigned_abs().saturating_sub(1)).unwrap_or(usize::MAX);
    let found = if separator.is_empty() {
        (index == 0).then_some(text)
    } else if number > 0 {
        text.split(separator).nth(index)
    } else {
        text.rsplit(separator).nth(index)
    };
    found.unwrap_or("")
}

/// Texts one after the other with `separator` between them, cut where a text that is read would be.
pub(super) fn joined<'a>(separator: &str, pieces: impl Iterator<Item = &'a str>) -> String {
    let mut text = String::new();
    for (index, piece) in pieces.enumerate() {
        for part in [if index > 0 { separator } else { "" }, piece] {
            let room = LONGEST_TEXT - text.len();
            let fitting = &part[..part.floor_char_boundary(room)];
            text.push_str(fitting);
            if fitting.len() < part.len() {
                return text;
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_counted_in_characters() {
        assert_eq!(
            (left("aéc", 2, None), left("aéc", -1, None), left("aéc", i64::MIN, None)),
            ("aé", "aé", "")
        );
        assert_eq!(
            (right("aéc", 2, None), right("aéc", -1, None), right("aéc", i64::MIN, None)),
            ("éc", "éc", "")
        );
        assert_eq!(
            (substr("aéc", 2, None), substr("aéc", -1, Some(3)), substr("aéc", 2, Some(1))),
            ("éc", "a", "é")
        );
        assert_eq!(
            (substr("abc", i64::MAX, Some(i64::MAX)), substr("abc", i64::MIN, Some(1))),
            ("", "")
        );
        assert_eq!((strpos("éa", "a"), strpos("éa", ""), strpos("éa", "x")), (2, 1, 0));
        assert_eq!(
            [1, 3, -1, 4, i64::MIN].map(|n| split_part("a,b,c", ",", n)),
            ["a", "c", "c", "", ""]
        );
        assert_eq!((split_part("abc", "", 1), split_part("abc", "", 2)), ("abc", ""));
        assert_eq!(trimmed("xyaxyx", "xy", true, true), "a");
        assert_eq!(
            (initcap("hELLO wörld-ünd 2x"), ascii("é")),
            ("Hello Wörld-Ünd 2x".to_owned(), 233)
        );
    }

    #[test]
    fn long_texts_are_cut_at_a_character() {
        let (long, wide) = ("x".repeat(LONGEST_TEXT - 1), "é");
        assert_eq!(joined("", [long.as_str(), wide].into_iter()), long);
        let doubled = joined("-", [long.as_str(), &long, "y"].into_iter());
        assert_eq!((doubled.len(), doubled.ends_with("x-")), (LONGEST_TEXT, true));
        assert!(upper(&"ŉ".repeat(LONGEST_TEXT / 2)).len() <= LONGEST_TEXT);
    }
}
