//! Arrow data on disk, message by message, in both ways in which it is written: as a file, with a
//! footer that says where the messages are, and as a stream of messages. Endings do not tell which.
//!
//! The decoding is Arrow's own. But its readers make room for every length that a file states
//! before they look whether the bytes are there, and where there is no such room the program ends.
//! Here a length is believed if the file is as long, and that of a compressed buffer if so many
//! bytes can be made of it:
//! - LZ4 makes at most 255 bytes of one: a sequence of `3 + k` bytes copies at most `19 + 255 k`
//!   (LZ4 block format).
//! - Zstandard makes at most 2^15 of one: a block has at least 4 bytes and makes at most 2^17 (RFC
//!   8878, section 3.1.1.2).
//!
//! One batch is in memory at a time.
//!
//! # What is an error
//! What the format calls invalid, and the decoder checks: buffers shorter than their columns,
//! offsets that go back, keys of dictionaries that have no value, a compression that cannot be
//! undone. A writer makes these from the number of rows and from the lengths of texts, and no value
//! that it can be given makes it write a wrong one. Two things are not left to the decoder, because
//! values decide them: texts that are not UTF-8 are read as bytes and repaired, and a missing value
//! in a column that is declared without any, which some writers do not check, is NULL like any
//! other. Decimals with more digits than their type has, dates and moments beyond every calendar,
//! NaN and dictionaries with NULL are values.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow::buffer::Buffer;
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::FileDecoder;
use arrow_ipc::{
    Block, CompressionType, MessageHeader, MetadataVersion, root_as_footer, root_as_message,
};

use super::data_file::DataFile;
use super::error::{Failure, SourceError};
use super::source::FileBatches;

/// Arrow data on disk.
#[derive(Debug)]
pub(super) struct ArrowFile {
    file: BufReader<File>,
    schema: SchemaRef,
    version: MetadataVersion,
    messages: Vec<Message>,
}

/// A piece of the file that holds values.
#[derive(Clone, Copy, Debug)]
struct Message {
    is_batch: bool,
    block: Block,
}

/// What stands in the way of reading a file.
enum Fault {
    System(io::Error),
    /// It is not what it should be.
    Damage,
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Fault {
        // The lengths fit into the file: if it ends before, it was cut meanwhile.
        if error.kind() == io::ErrorKind::UnexpectedEof {
            Fault::Damage
        } else {
            Fault::System(error)
        }
    }
}

impl ArrowFile {
    /// Finds the messages. No value is read.
    pub(super) fn open(data: &DataFile) -> Result<ArrowFile, SourceError> {
        let open = || {
            let file = File::open(data.path())?;
            let size = file.metadata()?.len();
            let mut file = BufReader::new(file);
            let mut head = [0; 8];
            file.read_exact(&mut head)?;
            match head {
                [b'A', b'R', b'R', b'O', b'W', b'1', ..] => from_footer(file, size),
                [0xff, 0xff, 0xff, 0xff, ..] => from_stream(file, size),
                _ => Err(Fault::Damage),
            }
        };
        open().map_err(|fault| match fault {
            Fault::System(error) => SourceError::unreadable(data.shown(), &error),
            Fault::Damage => {
                SourceError::Damaged { path: data.shown().to_owned(), format: "Arrow" }
            }
        })
    }

    /// Its columns.
    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// How many batches it has.
    pub(super) fn pieces(&self) -> usize {
        self.messages.iter().filter(|message| message.is_batch).count()
    }

    /// The columns at these positions, of the batches in this range. Texts are bytes: whether they
    /// are UTF-8 is for the conversion to see. Every column may have missing values.
    pub(super) fn read(self, positions: &[usize], batches: Range<usize>) -> FileBatches {
        let as_bytes = |field: &FieldRef| {
            field.as_ref().clone().with_data_type(bytes_of(field.data_type())).with_nullable(true)
        };
        let schema = Schema::new(self.schema.fields().iter().map(as_bytes).collect::<Vec<Field>>());
        let decoder =
            FileDecoder::new(Arc::new(schema), self.version).with_projection(positions.to_vec());
        let mut batches =
            ArrowBatches { file: self, decoder, batches, next_message: 0, next_batch: 0 };
        Box::new(std::iter::from_fn(move || batches.next().transpose()))
    }
}

/// Batches of a file, one after the other.
struct ArrowBatches {
    file: ArrowFile,
    decoder: FileDecoder,
    batches: Range<usize>,
    next_message: usize,
    next_batch: usize,
}

impl ArrowBatches {
    /// The next batch; none after the last.
    fn next(&mut self) -> Result<Option<RecordBatch>, Failure> {
        while self.next_batch < self.batches.end {
            let Some(message) = self.file.messages.get(self.next_message).copied() else { break };
            self.next_message += 1;
            let passed = message.is_batch && self.next_batch < self.batches.start;
            self.next_batch += usize::from(message.is_batch);
            if passed {
                continue;
            }
            let bytes = self.file.bytes(&message.block)?;
            check_lengths(&bytes, message)?;
            if !message.is_batch {
                self.decoder.read_dictionary(&message.block, &bytes)?;
            } else if let Some(batch) = self.decoder.read_record_batch(&message.block, &bytes)? {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }
}

impl ArrowFile {
    fn bytes(&mut self, block: &Block) -> Result<Buffer, Failure> {
        // Both were compared with the length of the file.
        let length = block.metaDataLength() as u64 + block.bodyLength() as u64;
        let mut bytes = Vec::new();
        reserve(&mut bytes, length)?;
        self.file.seek(SeekFrom::Start(block.offset() as u64))?;
        self.file.by_ref().take(length).read_to_end(&mut bytes)?;
        if bytes.len() as u64 == length {
            Ok(Buffer::from_vec(bytes))
        } else {
            Err(damage().into())
        }
    }
}

/// Room for so many bytes, or an error: without it the program would end.
fn reserve(bytes: &mut Vec<u8>, length: u64) -> Result<(), Failure> {
    let room = usize::try_from(length).ok().and_then(|length| bytes.try_reserve_exact(length).ok());
    room.ok_or(Failure::MEMORY)
}

fn damage() -> ArrowError {
    ArrowError::IpcError("a length is wrong".to_owned())
}

/// Compares the lengths that a message states with the bytes that it has.
fn check_lengths(bytes: &[u8], message: Message) -> Result<(), Failure> {
    let (metadata, body) =
        bytes.split_at_checked(message.block.metaDataLength() as usize).ok_or_else(damage)?;
    let metadata = if metadata.starts_with(&[0xff; 4]) { &metadata[8..] } else { &metadata[4..] };
    let metadata = root_as_message(metadata).map_err(|_| damage())?;
    let batch = match metadata.header_as_dictionary_batch() {
        Some(dictionary) if !message.is_batch => dictionary.data(),
        _ => metadata.header_as_record_batch().filter(|_| message.is_batch),
    };
    let batch = batch.ok_or_else(damage)?;
    if batch.length() < 0 {
        return Err(damage().into());
    }
    let most_of_one = match batch.compression().map(|compression| compression.codec()) {
        None => None,
        Some(CompressionType::LZ4_FRAME) => Some(255),
        Some(CompressionType::ZSTD) => Some(1 << 15),
        Some(_) => return Err(ArrowError::NotYetImplemented("a compression".to_owned()).into()),
    };
    for buffer in batch.buffers().into_iter().flatten() {
        let start = usize::try_from(buffer.offset()).map_err(|_| damage())?;
        let length = usize::try_from(buffer.length()).map_err(|_| damage())?;
        let stored =
            start.checked_add(length).and_then(|end| body.get(start..end)).ok_or_else(damage)?;
        let Some(most_of_one) = most_of_one.filter(|_| !stored.is_empty()) else { continue };
        let (stated, compressed) = stored.split_first_chunk::<8>().ok_or_else(damage)?;
        // -1 says that the buffer is not compressed; others below zero the library refuses.
        let stated = u64::try_from(i64::from_le_bytes(*stated)).unwrap_or(0);
        if stated > most_of_one * compressed.len() as u64 {
            return Err(damage().into());
        }
        reserve(&mut Vec::new(), stated)?;
    }
    Ok(())
}

/// The type of the same bytes without the claim that they are UTF-8: one text that is not would be
/// an error for the whole file.
fn bytes_of(of: &DataType) -> DataType {
    match of {
        DataType::Utf8 => DataType::Binary,
        DataType::LargeUtf8 => DataType::LargeBinary,
        DataType::Utf8View => DataType::BinaryView,
        DataType::Dictionary(keys, values) => {
            DataType::Dictionary(keys.clone(), Box::new(bytes_of(values)))
        }
        other => other.clone(),
    }
}

/// A block that is inside a file of this size, with a message of at least its own length.
fn block_within(size: u64, offset: i64, metadata: i64, body: i64) -> Result<Block, Fault> {
    let whole = || {
        let end = u64::try_from(offset).ok()?.checked_add(u64::try_from(metadata).ok()?)?;
        let end = end.checked_add(u64::try_from(body).ok()?)?;
        (metadata >= 8 && end <= size).then_some(Block::new(
            offset,
            i32::try_from(metadata).ok()?,
            body,
        ))
    };
    whole().ok_or(Fault::Damage)
}

fn from_footer(mut file: BufReader<File>, size: u64) -> Result<ArrowFile, Fault> {
    let mut tail = [0; 10];
    if size < 18 {
        return Err(Fault::Damage);
    }
    file.seek(SeekFrom::End(-10))?;
    file.read_exact(&mut tail)?;
    let [a, b, c, d, magic @ ..] = tail;
    let length = u64::try_from(i32::from_le_bytes([a, b, c, d])).map_err(|_| Fault::Damage)?;
    if magic != *b"ARROW1" || length > size - 18 {
        return Err(Fault::Damage);
    }
    let mut footer = vec![0; length as usize];
    file.seek(SeekFrom::Start(size - 10 - length))?;
    file.read_exact(&mut footer)?;
    let footer = root_as_footer(&footer).map_err(|_| Fault::Damage)?;
    let schema = schema_of(footer.schema())?;
    let mut messages = Vec::new();
    for (blocks, is_batch) in [(footer.dictionaries(), false), (footer.recordBatches(), true)] {
        for block in blocks.into_iter().flatten() {
            let block = block_within(
                size,
                block.offset(),
                block.metaDataLength().into(),
                block.bodyLength(),
            )?;
            messages.push(Message { is_batch, block });
        }
    }
    Ok(ArrowFile { file, schema, version: footer.version(), messages })
}

fn from_stream(mut file: BufReader<File>, size: u64) -> Result<ArrowFile, Fault> {
    let mut start = 0;
    let mut head: Option<(SchemaRef, MetadataVersion)> = None;
    let mut messages = Vec::new();
    file.rewind()?;
    while start < size {
        let mut prefix = [0; 8];
        file.read_exact(&mut prefix)?;
        let [0xff, 0xff, 0xff, 0xff, a, b, c, d] = prefix else { return Err(Fault::Damage) };
        let length = i32::from_le_bytes([a, b, c, d]);
        if length == 0 {
            break;
        }
        let offset = i64::try_from(start).map_err(|_| Fault::Damage)?;
        let metadata = block_within(size, offset, 8 + i64::from(length), 0)?.metaDataLength();
        let mut bytes = vec![0; metadata as usize - 8];
        file.read_exact(&mut bytes)?;
        let message = root_as_message(&bytes).map_err(|_| Fault::Damage)?;
        let block = block_within(size, offset, metadata.into(), message.bodyLength())?;
        match (message.header_type(), &head) {
            (MessageHeader::Schema, None) => {
                head = Some((schema_of(message.header_as_schema())?, message.version()))
            }
            (MessageHeader::RecordBatch, Some(_)) => {
                messages.push(Message { is_batch: true, block })
            }
            (MessageHeader::DictionaryBatch, Some(_)) => {
                messages.push(Message { is_batch: false, block })
            }
            _ => return Err(Fault::Damage),
        }
        file.seek_relative(message.bodyLength())?;
        start += metadata as u64 + message.bodyLength() as u64;
    }
    let (schema, version) = head.ok_or(Fault::Damage)?;
    Ok(ArrowFile { file, schema, version, messages })
}

fn schema_of(schema: Option<arrow_ipc::Schema<'_>>) -> Result<SchemaRef, Fault> {
    let schema = schema
        .filter(|schema| schema.endianness().equals_to_target_endianness())
        .ok_or(Fault::Damage)?;
    // Arrow gives up on types that it does not know.
    let known =
        catch_unwind(AssertUnwindSafe(|| fb_to_schema(schema))).map_err(|_| Fault::Damage)?;
    Ok(Arc::new(known))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use arrow::array::{ArrayRef, Int64Array};
    use arrow_ipc::writer::{FileWriter, IpcWriteOptions};

    use super::super::data_file::Way;
    use super::*;

    fn stored(compression: Option<CompressionType>) -> (tempfile::NamedTempFile, DataFile) {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values((0..5000).map(|row| row % 3)));
        let batch = RecordBatch::try_from_iter([("n", column)]).expect("a batch");
        let options =
            IpcWriteOptions::default().try_with_compression(compression).expect("compiled in");
        let mut writer =
            FileWriter::try_new_with_options(&file, &batch.schema(), options).expect("a writer");
        writer.write(&batch).expect("written");
        writer.finish().expect("written");
        let data = DataFile::new(file.path().to_owned(), Way::named(file.path(), Path::new("")));
        (file, data)
    }

    /// The first batch, and where in it its last buffer is, which holds the numbers.
    fn first_batch(data: &DataFile) -> (Message, Vec<u8>, Range<usize>) {
        let mut file = ArrowFile::open(data).expect("opened");
        let message = file.messages[0];
        let bytes = file.bytes(&message.block).expect("read").to_vec();
        let batch = root_as_message(&bytes[8..]).expect("a message");
        let buffers =
            batch.header_as_record_batch().and_then(|batch| batch.buffers()).expect("buffers");
        let last = buffers.iter().next_back().expect("a buffer");
        let start = message.block.metaDataLength() as usize + last.offset() as usize;
        let buffer = start..start + last.length() as usize;
        (message, bytes, buffer)
    }

    #[test]
    fn a_length_that_no_compression_reaches_is_refused() {
        for (compression, most) in
            [(CompressionType::LZ4_FRAME, 255), (CompressionType::ZSTD, 1 << 15)]
        {
            let (_file, data) = stored(Some(compression));
            let (message, mut bytes, buffer) = first_batch(&data);
            assert!(check_lengths(&bytes, message).is_ok());
            let compressed = buffer.len() as i64 - 8;
            let mut with = |stated: i64| {
                bytes[buffer.start..buffer.start + 8].copy_from_slice(&stated.to_le_bytes());
                check_lengths(&bytes, message).is_ok()
            };
            assert!(with(-1) && with(0) && with(40_000) && with(most * compressed));
            assert!(!with(most * compressed + 1) && !with(1 << 45) && !with(i64::MAX));
        }
    }

    #[test]
    fn numbers_that_repeat_are_far_from_the_limits() {
        for compression in [CompressionType::LZ4_FRAME, CompressionType::ZSTD] {
            let (_file, data) = stored(Some(compression));
            let mut batches = ArrowFile::open(&data).expect("opened").read(&[0], 0..1);
            assert_eq!(batches.next().expect("a batch").expect("read").num_rows(), 5000);
            assert!(batches.next().is_none());
        }
    }

    #[test]
    fn places_are_inside_the_file() {
        let within = |offset, metadata, body| block_within(100, offset, metadata, body).is_ok();
        assert!(within(0, 8, 0) && within(0, 8, 92) && within(92, 8, 0));
        assert!(!within(0, 8, 93) && !within(93, 8, 0) && !within(0, 7, 0));
        assert!(!within(-1, 8, 0) && !within(0, -8, 0) && !within(0, 8, -1));
        assert!(!within(i64::MAX, i64::MAX, i64::MAX) && !within(8, 8, i64::MAX));
    }

    #[test]
    fn a_wanted_range_of_batches_and_nothing_else() {
        let (_file, data) = stored(None);
        let open = || ArrowFile::open(&data).expect("opened");
        assert_eq!(open().pieces(), 1);
        assert!(open().read(&[0], 1..2).next().is_none());
        assert_eq!(open().read(&[0], 0..1).count(), 1);
    }
}
