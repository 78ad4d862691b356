//! Text of up to 12 bytes as one number.

/// A text of up to 12 bytes: its length in the lowest four bytes, then its own, then zeros. This is
/// how arrow's views hold short text, so that a column of views is hashed and compared without a
/// look at any other memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ShortText(u128);

/// The longest short text.
pub(super) const SHORT: usize = 12;

impl ShortText {
    /// `None` for one that is longer.
    #[inline(always)]
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        let length = bytes.len();
        // Read in pieces of a fixed size, which costs less than a copy of any size; where pieces
        // overlap they agree.
        let packed = match length {
            0 => 0,
            1..=3 => [0, length / 2, length - 1]
                .iter()
                .fold(0, |all, &at| all | u128::from(bytes[at]) << (8 * at)),
            4..=SHORT => {
                let last = u32::from_le_bytes(*bytes.last_chunk()?);
                let first = match bytes.first_chunk() {
                    Some(&eight) => u64::from_le_bytes(eight),
                    None => u32::from_le_bytes(*bytes.first_chunk()?).into(),
                };
                u128::from(first) | u128::from(last) << (8 * (length - 4))
            }
            _ => return None,
        };
        Some(Self(packed << 32 | length as u128))
    }

    /// From a view; `None` for one of a longer text.
    ///
    /// What follows the text should be zero. It is made so, because two forms of one text would be
    /// two people or two groups.
    #[inline(always)]
    pub(super) fn of_view(view: u128) -> Option<Self> {
        let length = view as u32;
        (length <= SHORT as u32).then(|| Self(view & u128::MAX >> (96 - 8 * length)))
    }

    /// From how it is stored; of a longer text, something that is equal to no short one.
    #[inline(always)]
    pub(super) fn of_stored(stored: &[u8; 16]) -> Self {
        Self(u128::from_le_bytes(*stored))
    }

    #[inline(always)]
    pub(super) fn stored(self) -> [u8; 16] {
        self.0.to_le_bytes()
    }

    /// Its two halves.
    #[inline(always)]
    pub(super) fn halves(self) -> (u64, u64) {
        (self.0 as u64, (self.0 >> 64) as u64)
    }
}

/// The bytes of a short text as it is stored; `None` for a longer one.
#[inline(always)]
pub(super) fn stored_bytes(stored: &[u8; 16]) -> Option<&[u8]> {
    let [length @ .., _, _, _, _, _, _, _, _, _, _, _, _] = stored;
    stored[4..].get(..u32::from_le_bytes(*length) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::StringViewArray;

    #[test]
    fn a_text_has_one_form_however_it_comes() {
        let text = "a\0zβ€5678901234";
        let texts: Vec<&str> = (0..=text.len())
            .filter(|&end| text.is_char_boundary(end))
            .map(|end| &text[..end])
            .collect();
        let views = StringViewArray::from_iter_values(&texts);
        for (text, &view) in texts.iter().zip(views.views()) {
            let short = ShortText::of(text.as_bytes());
            assert_eq!(short.is_some(), text.len() <= 12);
            assert_eq!(ShortText::of_view(view), short, "{text:?}");
            let Some(short) = short else { continue };
            assert_eq!(stored_bytes(&short.stored()), Some(text.as_bytes()));
            assert_eq!(ShortText::of_stored(&short.stored()), short);
            // Whatever stands behind the text.
            let behind = if text.len() == 12 { 0 } else { u128::MAX << (32 + 8 * text.len()) };
            assert_eq!(ShortText::of_view(view | behind), Some(short));
        }
    }

    #[test]
    fn every_byte_counts() {
        for length in 1..=12 {
            let plain = vec![b'x'; length];
            for at in 0..length {
                let mut other = plain.clone();
                other[at] = b'y';
                assert_ne!(ShortText::of(&plain), ShortText::of(&other));
            }
            assert_ne!(ShortText::of(&plain), ShortText::of(&plain[1..]));
            assert_ne!(ShortText::of(&vec![0; length]), ShortText::of(&vec![0; length - 1]));
        }
    }
}
