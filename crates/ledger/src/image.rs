//! The bytes of a ledger's file, read without SQLite, and every one of them accounted for.
//!
//! SQLite reads what it needs and is lenient about the rest. This reader knows only what SQLite
//! writes when rows are appended to one table and never changed, and refuses everything else: each
//! byte is
//!
//! - a constant, a counter that is compared with another, or the length of the file (the header,
//!   `image/header.rs`);
//! - part of the tree of pages: every page is reached once, cells fill a page from its end without
//!   gaps, the keys of inner pages are the last numbers below them;
//! - part of a record, which must be encoded as SQLite encodes it (`image/record.rs`), and whose
//!   contents are covered by the chain of hashes;
//! - unused, and zero.
//!
//! So a flip of any one bit is found.
//!
//! # The exception
//! When an inner page is full, SQLite distributes its cells over two, and leaves remains of old
//! cells where nothing is ever read. Inner pages are rearranged only when the root of the tree is
//! full, which holds some 3600 pages of rows, 32 KiB each. In a tree that has grown beyond two
//! levels, the unused bytes of inner pages are counted and not looked at. They are between cells,
//! and no reader of the format reads them.
//!
//! The format: SQLite, *Database File Format*, sections 1.3 (header), 1.6 (pages), 2.1 (records).

mod header;
mod record;

use crate::entry::Row;
use crate::store::{PAGE_BYTES, TABLE};
use crate::{Digest, LedgerError};
use record::{Value, decode, encode, read_varint};

/// Of page 1, how much the header of the file takes.
const FILE_HEADER_BYTES: usize = 100;
/// The root of the table of entries.
const ENTRY_ROOT: usize = 2;
/// The page with the byte at `2^30`, which SQLite uses for locks and never for content.
const LOCK_PAGE: usize = (1 << 30) / PAGE_BYTES + 1;
/// Trees are never deeper than this: an inner page has at least two children, and a page number 32
/// bits.
const DEEPEST: usize = 33;

/// What a file holds.
#[derive(Debug)]
pub(crate) struct Contents {
    /// In the order of their numbers.
    pub(crate) rows: Vec<Row>,
    /// How many transactions have changed the file, each by one row.
    pub(crate) changes: u32,
    /// The version of SQLite that made the last change.
    pub(crate) sqlite: i32,
    /// Whether the format is one in which the last entry carries a summary.
    pub(crate) summarised: bool,
    /// How many bytes were not looked at.
    pub(crate) leftover_bytes: u64,
}

fn damaged(page: usize, problem: &str) -> LedgerError {
    LedgerError::Damaged(format!("page {page} {problem}"))
}

/// The rows in a file, if the file is one that SQLite writes.
pub(crate) fn rows_of_image(image: &[u8]) -> Result<Contents, LedgerError> {
    let pages = image.len() / PAGE_BYTES;
    if !image.len().is_multiple_of(PAGE_BYTES) || pages < ENTRY_ROOT {
        return Err(LedgerError::Damaged("the file was cut off".into()));
    }
    let changes = header::check(&image[..FILE_HEADER_BYTES], pages)?;
    let mut reader =
        Reader { image, reached: vec![false; pages], rows: Vec::new(), leftover_bytes: 0 };
    reader.schema()?;
    let depth = reader.depth(ENTRY_ROOT)?;
    reader.subtree(ENTRY_ROOT, depth, depth)?;
    if let Some(reached) = reader.reached.get_mut(LOCK_PAGE - 1) {
        *reached |= image[(LOCK_PAGE - 1) * PAGE_BYTES..LOCK_PAGE * PAGE_BYTES]
            .iter()
            .all(|byte| *byte == 0);
    }
    match reader.reached.iter().position(|reached| !reached) {
        Some(index) => Err(damaged(index + 1, "belongs to nothing")),
        None => Ok(Contents {
            rows: reader.rows,
            changes: changes.count,
            sqlite: changes.sqlite,
            summarised: changes.summarised,
            leftover_bytes: reader.leftover_bytes,
        }),
    }
}

/// How a page of a tree is to be read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unused {
    /// All of it is one gap of zeros between the pointers and the cells.
    Zero,
    /// It is anywhere, and anything.
    Leftover,
}

/// A page of a tree.
struct Page<'a> {
    bytes: &'a [u8],
    /// Where each cell begins, in the order of keys.
    cells: Vec<usize>,
    /// The rightmost child, in an inner page.
    last_child: Option<usize>,
    /// Where the page's header ends and the pointers begin, and where the pointers end.
    pointers_end: usize,
    content_start: usize,
    /// The first free block and the number of fragmented bytes.
    free: (usize, u8),
}

struct Reader<'a> {
    image: &'a [u8],
    reached: Vec<bool>,
    rows: Vec<Row>,
    leftover_bytes: u64,
}

impl<'a> Reader<'a> {
    /// The bytes of a page that must not have been reached before.
    fn claim(&mut self, page: usize) -> Result<&'a [u8], LedgerError> {
        let reached = page.checked_sub(1).and_then(|index| self.reached.get_mut(index));
        match reached {
            Some(reached) if !*reached && page != LOCK_PAGE => *reached = true,
            Some(_) => return Err(damaged(page, "is used twice")),
            None => return Err(damaged(page, "is not in the file")),
        }
        Ok(&self.image[(page - 1) * PAGE_BYTES..page * PAGE_BYTES])
    }

    /// Page 1 is the schema: one row, which describes the table of entries.
    fn schema(&mut self) -> Result<(), LedgerError> {
        let bytes = self.claim(1)?;
        let page = parse(1, bytes)?;
        let expected = encode(&[
            Value::Text("table"),
            Value::Text("entry"),
            Value::Text("entry"),
            Value::Byte(ENTRY_ROOT as u8),
            Value::Text(TABLE),
        ]);
        let [cell] = page.cells[..] else { return Err(damaged(1, "does not hold one table")) };
        let (number, payload, end) = self.leaf_cell(1, bytes, cell)?;
        if page.last_child.is_some() || number != 1 || payload != expected {
            return Err(damaged(1, "does not describe the table of a ledger"));
        }
        self.check_unused(1, &page, vec![(cell, end)], Unused::Zero)
    }

    /// How many levels there are below a root, itself included.
    fn depth(&self, root: usize) -> Result<usize, LedgerError> {
        let mut page = root;
        for depth in 1..=DEEPEST {
            let bytes = page
                .checked_sub(1)
                .and_then(|index| self.image.get(index * PAGE_BYTES..(index + 1) * PAGE_BYTES))
                .ok_or_else(|| damaged(page, "is not in the file"))?;
            match parse(page, bytes)?.last_child {
                Some(child) => page = child,
                None => return Ok(depth),
            }
        }
        Err(damaged(root, "is the root of a tree that does not end"))
    }

    /// Reads the rows below a page, and returns the last number among them.
    fn subtree(&mut self, number: usize, levels: usize, depth: usize) -> Result<u64, LedgerError> {
        let bytes = self.claim(number)?;
        let page = parse(number, bytes)?;
        match page.last_child {
            None if levels == 1 => self.leaf(number, &page),
            Some(last) if levels > 1 => {
                let mut extents = Vec::with_capacity(page.cells.len());
                for &cell in &page.cells {
                    let child = read_u32(bytes, cell)
                        .ok_or_else(|| damaged(number, "has a cell that ends too late"))?;
                    let (key, end) = read_varint(bytes, cell + 4)
                        .ok_or_else(|| damaged(number, "has a key that cannot be read"))?;
                    if self.subtree(child as usize, levels - 1, depth)? != key {
                        return Err(damaged(
                            number,
                            "has a key that is not the last number below it",
                        ));
                    }
                    extents.push((cell, end));
                }
                let unused = if depth > 2 { Unused::Leftover } else { Unused::Zero };
                self.check_unused(number, &page, extents, unused)?;
                self.subtree(last, levels - 1, depth)
            }
            _ => Err(damaged(number, "is of the wrong kind for its level")),
        }
    }

    fn leaf(&mut self, number: usize, page: &Page<'a>) -> Result<u64, LedgerError> {
        let mut extents = Vec::with_capacity(page.cells.len());
        let mut last = None;
        for &cell in &page.cells {
            let (row, payload, end) = self.leaf_cell(number, page.bytes, cell)?;
            self.rows.push(
                entry_row(row, &payload)
                    .ok_or_else(|| damaged(number, "has a record that is no entry"))?,
            );
            extents.push((cell, end));
            last = Some(row);
        }
        self.check_unused(number, page, extents, Unused::Zero)?;
        last.ok_or_else(|| damaged(number, "holds no rows"))
    }

    /// The number and the payload of a cell of a leaf, and where the cell ends.
    ///
    /// Of a payload of `P` bytes, `P` are in the cell if `P <= X = U - 35`; else
    /// `K = M + (P - M) mod (U - 4)` if that is at most `X`, else `M = 32 (U - 12)/255 - 23`; the
    /// rest is in a list of overflow pages.
    fn leaf_cell(
        &mut self,
        page: usize,
        bytes: &[u8],
        cell: usize,
    ) -> Result<(u64, Vec<u8>, usize), LedgerError> {
        let unreadable = || damaged(page, "has a cell that cannot be read");
        let (total, at) = read_varint(bytes, cell).ok_or_else(unreadable)?;
        let (number, at) = read_varint(bytes, at).ok_or_else(unreadable)?;
        let total = usize::try_from(total)
            .ok()
            .filter(|total| *total <= self.image.len())
            .ok_or_else(unreadable)?;
        const MOST_LOCAL: usize = PAGE_BYTES - 35;
        const LEAST_LOCAL: usize = 32 * (PAGE_BYTES - 12) / 255 - 23;
        const OVERFLOW: usize = PAGE_BYTES - 4;
        let local = match total {
            total if total <= MOST_LOCAL => total,
            total => match LEAST_LOCAL + (total - LEAST_LOCAL) % OVERFLOW {
                share if share <= MOST_LOCAL => share,
                _ => LEAST_LOCAL,
            },
        };
        let mut payload = bytes.get(at..at + local).ok_or_else(unreadable)?.to_vec();
        let mut end = at + local;
        if local < total {
            let mut next = read_u32(bytes, end).ok_or_else(unreadable)? as usize;
            end += 4;
            while payload.len() < total {
                let overflow = self.claim(next)?;
                let share = (total - payload.len()).min(OVERFLOW);
                payload.extend_from_slice(&overflow[4..4 + share]);
                if overflow[4 + share..].iter().any(|byte| *byte != 0) {
                    return Err(damaged(next, "has unused bytes that are not zero"));
                }
                next = read_u32(overflow, 0).ok_or_else(unreadable)? as usize;
            }
            if next != 0 {
                return Err(damaged(next, "continues a record that has ended"));
            }
        }
        Ok((number, payload, end))
    }

    /// Whether cells and the header of a page fill it, but for a gap of zeros before the cells.
    fn check_unused(
        &mut self,
        number: usize,
        page: &Page<'_>,
        mut extents: Vec<(usize, usize)>,
        unused: Unused,
    ) -> Result<(), LedgerError> {
        extents.sort_unstable();
        let first = extents.first().map_or(PAGE_BYTES, |(start, _)| *start);
        let apart = extents.windows(2).all(|pair| pair[0].1 <= pair[1].0);
        let last = extents.last().map_or(PAGE_BYTES, |(_, end)| *end);
        if first < page.pointers_end || !apart || last > PAGE_BYTES {
            return Err(damaged(number, "has cells that overlap"));
        }
        let used: usize = extents.iter().map(|(start, end)| end - start).sum();
        if unused == Unused::Leftover {
            self.leftover_bytes += (PAGE_BYTES - page.pointers_end - used) as u64;
            return Ok(());
        }
        let dense =
            first == page.content_start && used == PAGE_BYTES - first && page.free == (0, 0);
        if !dense || page.bytes[page.pointers_end..first].iter().any(|byte| *byte != 0) {
            return Err(damaged(number, "has unused bytes that are not zero"));
        }
        Ok(())
    }
}

/// The header of a page and its pointers.
fn parse(number: usize, bytes: &[u8]) -> Result<Page<'_>, LedgerError> {
    let start = if number == 1 { FILE_HEADER_BYTES } else { 0 };
    let short =
        |at: usize| usize::from(u16::from_be_bytes([bytes[start + at], bytes[start + at + 1]]));
    let (last_child, header_end) = match bytes[start] {
        0x0d => (None, start + 8),
        0x05 => (read_u32(bytes, start + 8).map(|child| child as usize), start + 12),
        _ => return Err(damaged(number, "is not a page of a table")),
    };
    let pointers_end = header_end + 2 * short(3);
    if pointers_end > PAGE_BYTES {
        return Err(damaged(number, "has more cells than it can hold"));
    }
    let pointer = |pair: &[u8]| usize::from(u16::from_be_bytes([pair[0], pair[1]]));
    let cells = bytes[header_end..pointers_end].chunks_exact(2).map(pointer).collect();
    Ok(Page {
        bytes,
        cells,
        last_child,
        pointers_end,
        content_start: short(5),
        free: (short(1), bytes[start + 7]),
    })
}

fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// The row in a record, if it is encoded as SQLite encodes rows of the table. The number is not in
/// the record: it is the key.
fn entry_row(number: u64, payload: &[u8]) -> Option<Row> {
    let values = decode(payload)?;
    if encode(&values) != payload {
        return None;
    }
    let (body, hash, answer) = match values[..] {
        [Value::Null, Value::Text(body), Value::Blob(hash), Value::Null] => (body, hash, None),
        [Value::Null, Value::Text(body), Value::Blob(hash), Value::Blob(answer)] => {
            (body, hash, Some(answer.to_vec()))
        }
        _ => return None,
    };
    Some(Row {
        number,
        body: body.to_owned(),
        hash: Digest::from_bytes(hash.try_into().ok()?),
        answer,
    })
}
