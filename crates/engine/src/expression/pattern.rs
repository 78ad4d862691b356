//! Patterns of texts: `LIKE`, `ILIKE` and regular expressions, made ready before anything is read.
//!
//! A match is decided by the text and the pattern alone. The pattern is a literal, and one that is
//! too large is refused when the query is read, so that no text can make it too large later.

use crate::error::EngineError;
use crate::error::refused;
#[cfg(any(test, feature = "mutation"))]
use datafusion::arrow::array::{BooleanArray, Scalar, StringViewArray};
#[cfg(any(test, feature = "mutation"))]
use datafusion::arrow::{compute::ilike, error::ArrowError};
use regex::{Regex, RegexBuilder};
#[cfg(any(test, feature = "mutation"))]
use reticent_sources::mutation::{Mend, is_out};
use std::hash::{Hash, Hasher};

/// The most characters of a `LIKE` pattern or a regular expression.
const LONGEST_PATTERN: usize = 1_000;

/// The most bytes of a regular expression made ready. A text is matched in time proportional to its
/// length times this, at worst.
const LARGEST_PROGRAM: usize = 1 << 18;

/// A pattern that texts match, or do not.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    source: String,
    matcher: Matcher,
}

#[derive(Clone, Debug)]
enum Matcher {
    Equals(String),
    Begins(String),
    Ends(String),
    Contains(String),
    Regex(Regex),
    /// Arrow's, of the source as it is written.
    #[cfg(any(test, feature = "mutation"))]
    TakenOut,
}

// The source says everything that the matcher does.
impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl Eq for Pattern {}

impl Hash for Pattern {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.source.hash(state);
    }
}

impl Pattern {
    /// A regular expression; `flags` are those of `REGEXP_LIKE`.
    pub(super) fn regex(pattern: &str, flags: &str) -> Result<Self, EngineError> {
        if let Some(unknown) = flags.chars().find(|flag| !"imsxU".contains(*flag)) {
            return refused(format!(
                "the flag {unknown:?} of a regular expression is not offered: i, m, s, x, U are"
            ));
        }
        check_length(pattern)?;
        let source =
            if flags.is_empty() { pattern.to_owned() } else { format!("(?{flags}){pattern}") };
        Ok(Pattern { matcher: Matcher::Regex(compiled(&source, pattern)?), source })
    }

    /// A pattern of `LIKE` (or of `ILIKE`, which does not tell upper from lower case).
    pub(super) fn like(
        pattern: &str,
        escape: Option<char>,
        any_case: bool,
    ) -> Result<Self, EngineError> {
        #[cfg(any(test, feature = "mutation"))]
        if is_out(Mend::Ilike) && any_case {
            return Ok(Pattern { source: pattern.to_owned(), matcher: Matcher::TakenOut });
        }
        check_length(pattern)?;
        let escape = escape.unwrap_or('\\');
        let mut pieces = vec![Piece::Text(String::new())];
        let mut characters = pattern.chars();
        while let Some(character) = characters.next() {
            let literal = match character {
                // What follows the mark stands for itself; at the end the mark does.
                mark if mark == escape => characters.next().unwrap_or(mark),
                '%' => {
                    pieces.extend([Piece::Any, Piece::Text(String::new())]);
                    continue;
                }
                '_' => {
                    pieces.extend([Piece::One, Piece::Text(String::new())]);
                    continue;
                }
                other => other,
            };
            if let Some(Piece::Text(text)) = pieces.last_mut() {
                text.push(literal);
            }
        }
        pieces.retain(|piece| *piece != Piece::Text(String::new()));
        let body: String = pieces.iter().map(Piece::as_regex).collect();
        let source = format!("(?s{}:\\A{body}\\z)", if any_case { "i" } else { "" });
        let matcher = match pieces.as_slice() {
            _ if any_case => Matcher::Regex(compiled(&source, pattern)?),
            [] => Matcher::Equals(String::new()),
            [Piece::Text(text)] => Matcher::Equals(text.clone()),
            [Piece::Text(text), Piece::Any] => Matcher::Begins(text.clone()),
            [Piece::Any, Piece::Text(text)] => Matcher::Ends(text.clone()),
            [Piece::Any, Piece::Text(text), Piece::Any] => Matcher::Contains(text.clone()),
            _ => Matcher::Regex(compiled(&source, pattern)?),
        };
        Ok(Pattern { source, matcher })
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        match &self.matcher {
            Matcher::Equals(known) => text == known,
            Matcher::Begins(known) => text.starts_with(known.as_str()),
            Matcher::Ends(known) => text.ends_with(known.as_str()),
            Matcher::Contains(known) => text.contains(known.as_str()),
            Matcher::Regex(regex) => regex.is_match(text),
            #[cfg(any(test, feature = "mutation"))]
            Matcher::TakenOut => false,
        }
    }

    /// What Arrow's kernel makes of a column, if our own matcher is taken out.
    #[cfg(any(test, feature = "mutation"))]
    pub(super) fn by_arrow(
        &self,
        texts: &StringViewArray,
        rows: usize,
    ) -> Option<Result<BooleanArray, ArrowError>> {
        let pattern = Scalar::new(StringViewArray::from(vec![self.source.as_str()]));
        (matches!(self.matcher, Matcher::TakenOut) && texts.views().len() == rows)
            .then(|| ilike(texts, &pattern))
    }
}

/// A part of a `LIKE` pattern.
#[derive(PartialEq)]
enum Piece {
    Text(String),
    /// `_`: one character.
    One,
    /// `%`: any characters.
    Any,
}

impl Piece {
    fn as_regex(&self) -> String {
        match self {
            Piece::Text(text) => regex::escape(text),
            Piece::One => ".".to_owned(),
            Piece::Any => ".*".to_owned(),
        }
    }
}

fn check_length(pattern: &str) -> Result<(), EngineError> {
    let characters = pattern.chars().count();
    if characters > LONGEST_PATTERN {
        return refused(format!(
            "a pattern has {characters} characters: at most {LONGEST_PATTERN} are offered"
        ));
    }
    Ok(())
}

fn compiled(source: &str, shown: &str) -> Result<Regex, EngineError> {
    match RegexBuilder::new(source).size_limit(LARGEST_PROGRAM).build() {
        Ok(regex) => Ok(regex),
        Err(regex::Error::CompiledTooBig(_)) => refused(format!(
            "the pattern '{shown}' is too large once it is made ready; write a simpler one"
        )),
        Err(_) => refused(format!("'{shown}' is not a regular expression that is offered")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn like(pattern: &str, text: &str) -> bool {
        Pattern::like(pattern, None, false).expect("a pattern").matches(text)
    }

    #[test]
    fn like_is_that_of_sql() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("", "a", false),
            ("a%", "abc", true),
            ("%c", "abc", true),
            ("%b%", "abc", true),
            ("a_c", "abc", true),
            ("a_c", "aéc", true),
            ("a_c", "a\nc", true),
            ("_", "", false),
            ("%\\%", "100%", true),
            ("%\\%", "100", false),
            ("a\\", "a\\", true),
            ("a.c", "abc", false),
            ("%a%b%", "xxaxxbxx", true),
            ("%a%b%", "xxbxxaxx", false),
            ("%%", "", true),
            ("b%", "abc", false),
        ] {
            assert_eq!(like(pattern, text), expected, "{pattern:?} {text:?}");
            let folded = Pattern::like(pattern, None, true).expect("a pattern");
            assert_eq!(folded.matches(text), expected, "{pattern:?} {text:?} in any case");
        }
        assert!(Pattern::like("a!%", Some('!'), false).expect("a pattern").matches("a%"));
    }

    #[test]
    fn any_case_is_one_rule_for_every_text() {
        // Arrow has another rule for arrays of ASCII alone; here a text is compared by itself.
        for (pattern, text, expected) in
            [("ſ", "s", true), ("K", "\u{212a}", true), ("É%", "école", true)]
        {
            assert_eq!(
                Pattern::like(pattern, None, true).expect("a pattern").matches(text),
                expected
            );
        }
    }

    #[test]
    fn large_patterns_are_refused_before_anything_is_read() {
        let long = "a".repeat(LONGEST_PATTERN + 1);
        assert!(Pattern::like(&long, None, true).is_err());
        assert!(Pattern::regex(&long, "").is_err());
        let letters: String = ('a'..='z').cycle().take(LONGEST_PATTERN).collect();
        assert!(Pattern::like(&letters, None, true).is_ok(), "as long as offered, in any case");
        assert!(Pattern::regex("(a{500}){500}", "").is_err());
        assert!(Pattern::regex("(", "").is_err());
        assert!(Pattern::regex("a", "g").is_err());
        assert!(Pattern::regex("^A", "i").expect("a pattern").matches("abc"));
    }
}
