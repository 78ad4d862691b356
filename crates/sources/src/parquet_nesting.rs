//! How deep the columns of a Parquet file are nested in each other, without recursion.
//!
//! The footer lists the schema as a tree in depth-first order, each element with the number of its
//! children (`parquet.thrift`, `SchemaElement`). The library builds the tree by recursion, without
//! a limit: a footer of 40 kilobytes that nests 5,000 groups ends the program. So the footer is
//! walked here before, in the compact encoding of Thrift.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// The deepest nesting that is read. Writers that nest at all stay below ten.
pub(super) const DEEPEST: usize = 100;

/// The number of groups around the deepest column of a Parquet file, the schema itself among them;
/// none if there is no footer that can be read.
pub(super) fn nesting(mut file: &File) -> io::Result<Option<usize>> {
    let size = file.metadata()?.len();
    let mut tail = [0; 8];
    if size < 12 {
        return Ok(None);
    }
    file.seek(SeekFrom::End(-8))?;
    file.read_exact(&mut tail)?;
    let [a, b, c, d, b'P', b'A', b'R', b'1'] = tail else { return Ok(None) };
    let length = u64::from(u32::from_le_bytes([a, b, c, d]));
    if length > size - 8 {
        return Ok(None);
    }
    file.seek(SeekFrom::Start(size - 8 - length))?;
    let mut footer = Vec::new();
    file.take(length).read_to_end(&mut footer)?;
    Ok(depth(&footer))
}

/// Types of the compact encoding.
const STOP: u8 = 0;
const TRUTHS: std::ops::RangeInclusive<u8> = 1..=2;
const BYTE: u8 = 3;
const NUMBERS: std::ops::RangeInclusive<u8> = 4..=6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LISTS: std::ops::RangeInclusive<u8> = 9..=10;
const STRUCT: u8 = 12;

/// FileMetaData: field 2 is the schema, and it must come. Whatever comes twice is looked at twice.
fn depth(footer: &[u8]) -> Option<usize> {
    let mut bytes = Compact(footer);
    let (mut field, mut deepest) = (0, None);
    loop {
        let (kind, id) = bytes.field(field)?;
        field = id;
        match (id, kind) {
            (_, STOP) => return deepest,
            (2, kind) if LISTS.contains(&kind) => deepest = deepest.max(Some(bytes.schema()?)),
            _ => bytes.skip(kind)?,
        }
    }
}

/// Bytes in the compact encoding of Thrift.
struct Compact<'a>(&'a [u8]);

impl Compact<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// A number of seven bits a byte, the lowest first.
    fn number(&mut self) -> Option<u64> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// The type and the number of the next field; the numbers have 16 bits.
    fn field(&mut self, last: i16) -> Option<(u8, i16)> {
        let head = self.byte()?;
        let kind = head & 0xf;
        let id = match head >> 4 {
            0 if kind == STOP => last,
            0 => {
                let zigzag = self.number()? as i16;
                (zigzag >> 1 & 0x7fff) ^ -(zigzag & 1)
            }
            step => last.wrapping_add(i16::from(step)),
        };
        Some((kind, id))
    }

    /// The length of a list and the type of its elements.
    fn list(&mut self) -> Option<(u64, u8)> {
        let head = self.byte()?;
        let count = if head >> 4 == 15 { self.number()? } else { u64::from(head >> 4) };
        Some((count, head & 0xf))
    }

    /// The number of groups around the deepest element of a list of elements.
    fn schema(&mut self) -> Option<usize> {
        let (count, kind) = self.list()?;
        if kind != STRUCT {
            return None;
        }
        // How many children are still to come, for each group that is open.
        let mut open: Vec<u64> = Vec::new();
        let mut deepest = 0;
        for _ in 0..count {
            let children = self.children()?;
            while open.pop_if(|left| *left == 0).is_some() {}
            if let Some(left) = open.last_mut() {
                *left -= 1;
            }
            if children > 0 {
                open.push(children);
            }
            deepest = deepest.max(open.len());
        }
        Some(deepest)
    }

    /// The number of children of the next element: its field 5.
    fn children(&mut self) -> Option<u64> {
        let (mut children, mut field) = (0, 0);
        loop {
            let (kind, id) = self.field(field)?;
            field = id;
            match (id, kind) {
                (_, STOP) => return Some(children),
                // An odd number is a negative one, which the library refuses.
                (5, kind) if NUMBERS.contains(&kind) => children = self.number()? >> 1,
                _ => self.skip(kind)?,
            }
        }
    }

    /// Passes over the value of a field.
    fn skip(&mut self, kind: u8) -> Option<()> {
        let mut open = Vec::new();
        if !TRUTHS.contains(&kind) {
            self.enter(kind, &mut open)?;
        }
        while let Some(innermost) = open.last_mut() {
            match innermost {
                Open::Struct => match self.field(0)?.0 {
                    STOP => drop(open.pop()),
                    kind if TRUTHS.contains(&kind) => {}
                    kind => self.enter(kind, &mut open)?,
                },
                Open::List { left: 0, .. } => drop(open.pop()),
                Open::List { left, kind } => {
                    *left -= 1;
                    let kind = *kind;
                    self.enter(kind, &mut open)?;
                }
            }
        }
        Some(())
    }

    /// Passes over a value, or to the beginning of what is in it. Every value has at least one
    /// byte, so that this ends with the bytes.
    fn enter(&mut self, kind: u8, open: &mut Vec<Open>) -> Option<()> {
        match kind {
            BYTE => drop(self.byte()?),
            kind if TRUTHS.contains(&kind) => drop(self.byte()?),
            kind if NUMBERS.contains(&kind) => drop(self.number()?),
            DOUBLE => self.0 = self.0.get(8..)?,
            BINARY => {
                let length = usize::try_from(self.number()?).ok()?;
                self.0 = self.0.get(length..)?;
            }
            STRUCT => open.push(Open::Struct),
            kind if LISTS.contains(&kind) => {
                let (left, kind) = self.list()?;
                open.push(Open::List { left, kind });
            }
            // Parquet has no maps and no identifiers in its footer.
            _ => return None,
        }
        Some(())
    }
}

/// What is being passed over.
enum Open {
    Struct,
    List { left: u64, kind: u8 },
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// A footer with a column inside of so many groups, and another column beside the outermost.
    fn footer(groups: usize) -> Vec<u8> {
        let count = groups + 3;
        let mut bytes = vec![
            0x15,
            0x02,
            0x19,
            0xfc,
            count as u8 | 0x80,
            (count >> 7) as u8 | 0x80,
            (count >> 14) as u8,
        ];
        bytes.extend(b"\x48\x01r\x15\x04\x00");
        bytes.extend(b"\x35\x02\x18\x01g\x15\x02\x00".repeat(groups));
        // The leaf has a logical type: a struct in a struct.
        bytes.extend(b"\x15\x04\x25\x02\x18\x01a\x6c\x1c\x00\x00\x00");
        bytes.extend(b"\x15\x04\x25\x02\x18\x01b\x00");
        bytes.extend(b"\x16\x00\x19\x0c\x00");
        bytes
    }

    #[test]
    fn groups_around_a_column_are_counted() {
        for groups in [0, 1, 5, 100, 5000] {
            assert_eq!(depth(&footer(groups)), Some(groups + 1));
        }
        let whole = footer(3);
        assert!((0..whole.len()).all(|length| depth(&whole[..length]).is_none()), "cut");
        assert_eq!(depth(b""), None);
        assert_eq!(depth(b"\x15\x02\x00"), None, "no schema");
        assert_eq!(depth(&[0xff; 100]), None);
        assert_eq!(depth(b"\x29\xfc\xff\xff\xff\xff\x0f"), None, "a list without its elements");
    }

    #[test]
    fn nesting_cannot_be_hidden() {
        let deep = footer(500);
        let shallow = footer(0);
        // Twice the schema, the deep one second, its field by its number (2) instead of by a step.
        let mut twice = shallow[..shallow.len() - 5].to_vec();
        twice.extend(b"\x09\x04");
        twice.extend(&deep[3..]);
        assert_eq!(depth(&twice), Some(501));
        // Before it a field that nobody knows: a list of lists of truths and of structs.
        let mut after = b"\x89\x29\x32\x01\x02\x01\x1c\x11\x00".to_vec();
        after.extend(b"\x09\x04");
        after.extend(&deep[3..]);
        assert_eq!(depth(&after), Some(501));
    }

    #[test]
    fn a_file_is_judged_by_its_footer() {
        let judged = |groups: usize, end: &[u8]| {
            let footer = footer(groups);
            let mut file = tempfile::tempfile().expect("a file");
            let length = (footer.len() as u32).to_le_bytes();
            file.write_all(&[b"PAR1", footer.as_slice(), &length, end].concat()).expect("written");
            nesting(&file).expect("read")
        };
        assert_eq!(
            (judged(2, b"PAR1"), judged(20_000, b"PAR1"), judged(2, b"PAR2")),
            (Some(3), Some(20_001), None)
        );
    }
}
