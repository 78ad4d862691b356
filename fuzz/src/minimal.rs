//! The smallest input that still fails, by delta debugging (Zeller, Hildebrandt 2002): ever smaller
//! pieces are left out as long as what remains fails.

use std::time::Instant;

/// A part of `input` that fails too, and no part of it does that is one piece shorter; or what was
/// found when the time was over.
pub(crate) fn minimal(
    input: &[u8],
    deadline: Instant,
    mut fails: impl FnMut(&[u8]) -> bool,
) -> Vec<u8> {
    let mut smallest = input.to_vec();
    let mut piece = smallest.len().div_ceil(2);
    while piece > 0 {
        let mut start = 0;
        let mut shorter = false;
        while start < smallest.len() && Instant::now() < deadline {
            let end = smallest.len().min(start + piece);
            let rest = [&smallest[..start], &smallest[end..]].concat();
            if fails(&rest) {
                smallest = rest;
                shorter = true;
            } else {
                start = end;
            }
        }
        if !shorter || piece > smallest.len() {
            piece /= 2;
        }
    }
    smallest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_remains() {
        let later = Instant::now() + std::time::Duration::from_secs(60);
        let text = b"xxxxaxxxxxxxxxbxxxxxxxxxxxxxcxx";
        let needed = |bytes: &[u8]| b"abc".iter().all(|byte| bytes.contains(byte));
        assert_eq!(minimal(text, later, needed), b"abc");
        assert_eq!(minimal(text, later, |_| true), b"");
        assert_eq!(minimal(text, later, |bytes| bytes == text), text);
        assert_eq!(minimal(text, Instant::now(), |_| true), text, "no time");
    }
}
