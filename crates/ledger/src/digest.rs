//! SHA-256 of several parts, none of which can run into the next.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::str::FromStr;

/// A SHA-256 digest; 64 hexadecimal digits as text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

impl Digest {
    /// What stands before the first entry of a chain.
    pub(crate) const ZERO: Digest = Digest([0; 32]);

    /// The digest of several parts: `SHA-256(len(part 1) || part 1 || len(part 2) || part 2 ||
    /// ...)`, each length as 8 bytes, most significant first.
    ///
    /// Because of the lengths, lists of parts that differ have inputs that differ: `["ab", "c"]` is
    /// not `["a", "bc"]`.
    ///
    /// ```
    /// use reticent_ledger::Digest;
    /// let fingerprint = Digest::of(&[b"SELECT COUNT(*) FROM t", b"policy 3", b"epsilon=0.1"]);
    /// let moved = Digest::of(&[b"SELECT COUNT(*) FROM tp", b"olicy 3", b"epsilon=0.1"]);
    /// assert_ne!(fingerprint, moved);
    /// ```
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        Digest(hash.finalize().into())
    }

    /// A digest that was computed elsewhere.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Digest(bytes)
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

/// Text that is not a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a digest is 64 digits from 0 to 9 and a to f")]
pub struct NotADigest;

impl FromStr for Digest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, NotADigest> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Ok(byte - b'0'),
            b'a'..=b'f' => Ok(byte - b'a' + 10),
            _ => Err(NotADigest),
        };
        let mut bytes = [0; 32];
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return Err(NotADigest);
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Ok(Digest(bytes))
    }
}

impl TryFrom<String> for Digest {
    type Error = NotADigest;

    fn try_from(text: String) -> Result<Self, NotADigest> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_input_is_hashed() {
        // `printf '\0\0\0\0\0\0\0\3abc' | sha256sum`
        let expected = "c3494ca1a2cf8eeb8a11ded316fb55b83c3bbbedb6313cd50415251e5d09e12f";
        assert_eq!(Digest::of(&[b"abc"]).to_string(), expected);
        assert_ne!(Digest::of(&[b"ab", b"c"]), Digest::of(&[b"a", b"bc"]));
        assert_ne!(Digest::of(&[b"", b"a"]), Digest::of(&[b"a", b""]));
    }

    #[test]
    fn text_round_trips_and_other_text_is_refused() {
        let digest = Digest::of(&[b"x"]);
        assert_eq!(digest.to_string().parse(), Ok(digest));
        let upper = digest.to_string().to_uppercase();
        for text in ["", "00", &upper, &"g".repeat(64), &"0".repeat(65), &"é".repeat(32)] {
            assert_eq!(text.parse::<Digest>(), Err(NotADigest), "{text}");
        }
    }
}
