//! Records: how SQLite writes a row.

/// A value in a record of a ledger.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value<'a> {
    Null,
    /// An integer from 2 to 127, which takes one byte.
    Byte(u8),
    Text(&'a str),
    Blob(&'a [u8]),
}

/// An integer of 7 bits a byte, most significant first, the highest bit of each byte but the last
/// set. Numbers here stay below `2^56`, so the ninth byte, which would hold 8 bits, is never
/// needed.
///
/// Returns the number and where it ends, if it is written with as few bytes as possible.
pub(super) fn read_varint(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let mut value = 0;
    for (index, &byte) in bytes.get(at..)?.iter().take(8).enumerate() {
        value = value << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            let minimal = index == 0 || value >> (7 * index) != 0;
            return minimal.then_some((value, at + index + 1));
        }
    }
    None
}

fn write_varint(value: u64, out: &mut Vec<u8>) {
    let groups = (u64::BITS - value.leading_zeros()).div_ceil(7).max(1);
    for group in (0..groups).rev() {
        let more = if group > 0 { 0x80 } else { 0 };
        out.push((value >> (7 * group)) as u8 & 0x7f | more);
    }
}

/// The record of some values: the length of the record's header, the type of each value, the
/// values.
pub(super) fn encode(values: &[Value<'_>]) -> Vec<u8> {
    let mut types = Vec::new();
    for value in values {
        let serial_type = match value {
            Value::Null => 0,
            Value::Byte(_) => 1,
            Value::Blob(bytes) => 12 + 2 * bytes.len() as u64,
            Value::Text(text) => 13 + 2 * text.len() as u64,
        };
        write_varint(serial_type, &mut types);
    }
    let mut record = Vec::new();
    // The length counts itself: one byte, as long as there are few values.
    write_varint(types.len() as u64 + 1, &mut record);
    record.extend_from_slice(&types);
    for value in values {
        match value {
            Value::Null => {}
            Value::Byte(byte) => record.push(*byte),
            Value::Blob(bytes) => record.extend_from_slice(bytes),
            Value::Text(text) => record.extend_from_slice(text.as_bytes()),
        }
    }
    record
}

/// The values of a record, if they are of these kinds.
pub(super) fn decode(record: &[u8]) -> Option<Vec<Value<'_>>> {
    let (header_bytes, mut at) = read_varint(record, 0)?;
    let header_bytes = usize::try_from(header_bytes).ok()?;
    let (header, mut content) = (record.get(..header_bytes)?, record.get(header_bytes..)?);
    let mut values = Vec::new();
    while at < header_bytes {
        let (serial_type, next) = read_varint(header, at)?;
        at = next;
        let bytes = match serial_type {
            0 => 0,
            1 => 1,
            serial_type => usize::try_from(serial_type.checked_sub(12)? / 2).ok()?,
        };
        let (value, rest) = content.split_at_checked(bytes)?;
        content = rest;
        values.push(match serial_type {
            0 => Value::Null,
            1 => Value::Byte(value[0]),
            serial_type if serial_type % 2 == 0 => Value::Blob(value),
            _ => Value::Text(std::str::from_utf8(value).ok()?),
        });
    }
    content.is_empty().then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_round_trip_and_longer_ones_are_refused() {
        for value in [0, 1, 127, 128, 16_383, 16_384, (1 << 32) - 1, 1 << 40, (1 << 56) - 1] {
            let mut bytes = vec![9];
            write_varint(value, &mut bytes);
            assert_eq!(read_varint(&bytes, 1), Some((value, bytes.len())), "{value}");
            assert_eq!(read_varint(&bytes[..bytes.len() - 1], 1), None, "{value} cut off");
        }
        assert_eq!(read_varint(&[0x80, 0x01], 0), None);
        assert_eq!(read_varint(&[0xff; 20], 0), None);
        assert_eq!(read_varint(&[1], 5), None);
    }

    #[test]
    fn records_round_trip() {
        let long = "x".repeat(5000);
        let values = [
            Value::Null,
            Value::Text(&long),
            Value::Blob(&[1, 2, 3]),
            Value::Byte(2),
            Value::Text(""),
        ];
        let record = encode(&values);
        assert_eq!(decode(&record).as_deref(), Some(&values[..]));
        for length in 0..record.len() {
            assert_eq!(decode(&record[..length]), None, "{length}");
        }
        assert_eq!(decode(&[record, vec![0]].concat()), None);
    }
}
