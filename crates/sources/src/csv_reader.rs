//! Records of a CSV file, whatever its bytes.
//!
//! DataFusion's own reader is not used, because its errors depend on rows: a field too few, a
//! letter in a number or a byte that is not UTF-8 ends the query with a message that names the line
//! or quotes the cell. Here the grammar is that of `csv-core`, which reads every sequence of bytes
//! as *some* table, and fields are read by total functions.
//!
//! Memory does not depend on the file: of a field only the first [`LONGEST_TEXT`] bytes are kept.
//!
//! # What decides
//! The name of a file says whether it is compressed, and the policy whether it has a header. Where
//! it has none, its first bytes are a row's, and decide nothing: a row that begins like a file of
//! gzip or of UTF-16 is a row. Where there is a header, the first bytes belong to whoever made the
//! file and are as public as the names of the columns, so that an encoding that is not read can be
//! told.
//!
//! A UTF-8 mark is passed over at the beginning of every record. At the beginning of the file alone
//! it would be another matter: if the row that came first is taken away, the next one comes first,
//! and what is read of one person would depend on whether somebody else is there.
//!
//! # What is an error
//! Only that the system cannot read the file, and that a file named `.gz` is not gzip from its
//! beginning to its end. Quotation marks that do not match, too few or too many fields, NUL, bytes
//! that are not UTF-8, and records and fields of any length are all some table.

use crate::mutation::{Mend, is_out};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use csv_core::ReadFieldResult;
use flate2::read::MultiGzDecoder;
use reticent_policy::{CsvOptions, LONGEST_TEXT};

use super::data_file::DataFile;
use super::error::SourceError;

/// How much is read from a file at a time.
const BUFFER: usize = 1 << 18;

/// The most columns of a file whose names are kept, and the most bytes of all of them: a file of
/// nothing but commas is no reason to fill the memory.
const MOST_COLUMNS: usize = 100_000;
const MOST_BYTES: usize = 1 << 24;

/// The records of a file, field by field.
pub(super) struct Records {
    /// What messages call the file.
    shown: PathBuf,
    compressed: bool,
    input: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    /// The part of the buffer that is still to be parsed.
    start: usize,
    end: usize,
    /// Whether the file has been read to its end.
    ended: bool,
    /// Whether the next byte is the first of a record, but for line breaks and marks before it.
    before_record: bool,
    parser: csv_core::Reader,
    field: Vec<u8>,
    /// Where bytes go that nobody asked for.
    ignored: Vec<u8>,
}

/// What comes next in a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next<'a> {
    /// A field; whether it is the last of its record.
    Field(&'a [u8], bool),
    /// The end of the file.
    End,
}

impl Records {
    /// Opens a file; it is compressed by gzip if its name says so.
    pub(super) fn open(data: &DataFile, options: &CsvOptions) -> Result<Records, SourceError> {
        Records::with_buffer(data, options, BUFFER)
    }

    /// The size of the buffer is a parameter so that tests can put its end everywhere. At least 3,
    /// the length of a mark.
    fn with_buffer(
        data: &DataFile,
        options: &CsvOptions,
        size: usize,
    ) -> Result<Records, SourceError> {
        let failure = |error: io::Error| SourceError::unreadable(data.shown(), &error);
        let mut file = BufReader::new(File::open(data.path()).map_err(failure)?);
        // A file of no bytes is a table without rows, whatever its name.
        let compressed = is_gzip(data.path()) && !file.fill_buf().map_err(failure)?.is_empty();
        let input: Box<dyn Read + Send> =
            if compressed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
        let delimiter = options.delimiter.unwrap_or_else(|| default_delimiter(data.path()));
        let mut records = Records {
            shown: data.shown().to_owned(),
            compressed,
            input,
            buffer: vec![0; size],
            start: 0,
            end: 0,
            ended: false,
            before_record: true,
            parser: csv_core::ReaderBuilder::new().delimiter(delimiter).build(),
            field: vec![0; LONGEST_TEXT],
            ignored: vec![0; 4096],
        };
        records.fill()?;
        let path = records.shown.clone();
        let has_header = options.header.is_none() || is_out(Mend::Marks);
        match records.buffer[..records.end] {
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] if has_header => {
                Err(SourceError::Encoding { path })
            }
            [0x1f, 0x8b, ..] if has_header => Err(SourceError::Compression { path }),
            _ => Ok(records),
        }
    }

    /// The names in the first record, without spaces around them; none in an empty file.
    pub(super) fn header(&mut self) -> Result<Option<Vec<String>>, SourceError> {
        let (mut names, mut bytes) = (Vec::new(), 0);
        loop {
            match self.next(true)? {
                Next::End => return Ok(None),
                Next::Field(name, last) => {
                    bytes += name.len();
                    if names.len() < MOST_COLUMNS && bytes <= MOST_BYTES {
                        names.push(String::from_utf8_lossy(name).trim().to_owned());
                    }
                    if last {
                        return Ok(Some(names));
                    }
                }
            }
        }
    }

    /// The next field. If it is not wanted, what is in it is left out.
    pub(super) fn next(&mut self, wanted: bool) -> Result<Next<'_>, SourceError> {
        if self.before_record {
            self.find_record()?;
        }
        let mut length = 0;
        loop {
            // The parser takes an empty input for the end of the file, so it gets one only there: a
            // field may end where the buffer does.
            if self.start == self.end && !self.ended {
                self.fill()?;
            }
            let keep = wanted && length < self.field.len();
            let output = if keep { &mut self.field[length..] } else { &mut self.ignored[..] };
            let (result, read, written) =
                self.parser.read_field(&self.buffer[self.start..self.end], output);
            self.start += read;
            if keep {
                length += written;
            }
            match result {
                ReadFieldResult::InputEmpty | ReadFieldResult::OutputFull => {}
                ReadFieldResult::Field { record_end } => {
                    self.before_record = record_end;
                    return Ok(Next::Field(&self.field[..length], record_end));
                }
                ReadFieldResult::End => return Ok(Next::End),
            }
        }
    }

    /// Passes over line breaks, which are no rows, and marks.
    fn find_record(&mut self) -> Result<(), SourceError> {
        loop {
            if self.end - self.start < 3 && !self.ended {
                self.fill()?;
            }
            match self.buffer[self.start..self.end] {
                [b'\r' | b'\n', ..] => self.start += 1,
                [0xef, 0xbb, 0xbf, ..] => self.start += 3,
                _ => return Ok(()),
            }
        }
    }

    /// Reads until the buffer is full or the file ends. What is still to be parsed stays.
    fn fill(&mut self) -> Result<(), SourceError> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        while self.end < self.buffer.len() {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => {
                    self.ended = true;
                    break;
                }
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) if self.compressed => {
                    return Err(SourceError::Damaged { path: self.shown.clone(), format: "gzip" });
                }
                Err(error) => return Err(SourceError::unreadable(&self.shown, &error)),
            }
        }
        Ok(())
    }
}

fn default_delimiter(path: &Path) -> u8 {
    let name = small(path);
    if name.ends_with(".tsv") || name.ends_with(".tsv.gz") { b'\t' } else { b',' }
}

fn is_gzip(path: &Path) -> bool {
    small(path).ends_with(".gz")
}

/// The name of a file in small letters.
fn small(path: &Path) -> String {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::super::data_file::Way;
    use super::*;

    fn data(path: &Path) -> DataFile {
        DataFile::new(path.to_owned(), Way::named(path, Path::new("")))
    }

    fn file(ending: &str, bytes: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::Builder::new().suffix(ending).tempfile().expect("a file");
        file.write_all(bytes).expect("written");
        file
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).expect("compressed");
        encoder.finish().expect("compressed")
    }

    fn records(path: &Path) -> Result<Vec<Vec<Vec<u8>>>, SourceError> {
        let mut reader = Records::open(&data(path), &CsvOptions::default())?;
        read(&mut reader)
    }

    fn read(reader: &mut Records) -> Result<Vec<Vec<Vec<u8>>>, SourceError> {
        let (mut all, mut record) = (Vec::new(), Vec::new());
        loop {
            match reader.next(true)? {
                Next::End => return Ok(all),
                Next::Field(field, last) => {
                    record.push(field.to_vec());
                    if last {
                        all.push(std::mem::take(&mut record));
                    }
                }
            }
        }
    }

    /// A file without a header, by buffers of every size.
    fn rows(ending: &str, bytes: &[u8]) -> Vec<Vec<Vec<u8>>> {
        let file = file(ending, bytes);
        let options = CsvOptions { header: Some(vec!["a".into()]), ..CsvOptions::default() };
        let by = |size| {
            let mut reader =
                Records::with_buffer(&data(file.path()), &options, size).expect("opened");
            read(&mut reader).expect("read")
        };
        let all = by(BUFFER);
        assert!((3..40).all(|size| by(size) == all));
        all
    }

    fn texts(bytes: &[u8]) -> Vec<Vec<String>> {
        let file = file(".csv", bytes);
        let text = |field: &Vec<u8>| String::from_utf8_lossy(field).into_owned();
        records(file.path())
            .expect("readable")
            .iter()
            .map(|record| record.iter().map(text).collect())
            .collect()
    }

    #[test]
    fn every_way_of_writing_csv() {
        assert_eq!(texts(b""), Vec::<Vec<String>>::new());
        assert_eq!(texts(b"\xef\xbb\xbfa,b\r\n1,2"), [["a", "b"], ["1", "2"]]);
        assert_eq!(texts(b"a\n\n\nb\n"), [["a"], ["b"]], "empty lines are no rows");
        assert_eq!(texts(b"\"x\ny\",\"say \"\"hi\"\"\"\n"), [["x\ny", "say \"hi\""]]);
        assert_eq!(texts(b"1,2,3\n4\n"), [vec!["1", "2", "3"], vec!["4"]]);
        assert_eq!(texts(b"a,\"never closed\n1,2\n"), [["a", "never closed\n1,2\n"]]);
        let tabs = file(".tsv", b"a,b\tc\n");
        assert_eq!(records(tabs.path()).expect("readable"), [[b"a,b".to_vec(), b"c".to_vec()]]);
    }

    #[test]
    fn the_name_says_whether_a_file_is_compressed() {
        let mut bytes = gzip(b"a,b\n1,");
        bytes.extend(gzip(b"2\n"));
        let message =
            |file: tempfile::NamedTempFile| records(file.path()).expect_err("refused").to_string();
        assert_eq!(records(file(".CSV.GZ", &bytes).path()).expect("readable").len(), 2);
        for cut in [file(".csv.gz", &bytes[..bytes.len() - 9]), file(".csv.gz", b"a,b\n1,2\n")] {
            assert!(message(cut).ends_with("this is not a complete gzip file"));
        }
        let unnamed = message(file(".csv", &bytes));
        assert!(unnamed.ends_with("give it a name that ends in .gz"), "{unnamed}");
        assert!(records(file(".csv.gz", b"").path()).expect("no rows").is_empty());
    }

    /// Such a first row made every query fail: the outcome told that the row was there.
    #[test]
    fn a_first_row_that_looks_like_a_mark_is_a_row() {
        for mark in
            [&b"\x1f\x8b"[..], b"\x1f\x8b\x08\x00", b"\xff\xfe", b"\xfe\xff", b"\xff\xfea\0"]
        {
            let text = [mark, b"x,1\ny,2"].concat();
            let field = [mark, b"x"].concat();
            let all = [[field, b"1".to_vec()], [b"y".to_vec(), b"2".to_vec()]];
            assert_eq!(rows(".csv", &text), all);
            assert_eq!(rows(".csv.gz", &gzip(&text)), all);
        }
    }

    /// Once a mark was passed over in the first row alone: that row's absence changed the next one.
    #[test]
    fn a_mark_is_passed_over_in_every_row_or_in_none() {
        let (one, two) = ("\u{feff}\"a,b\",1\n", "\u{feff}\u{feff}c\u{feff},\u{feff}2\r\n");
        let both = rows(".csv", format!("{one}{two}\u{feff}\n").as_bytes());
        assert_eq!(both.len(), 2, "a mark alone is an empty line");
        assert_eq!(both[0], [b"a,b".to_vec(), b"1".to_vec()]);
        assert_eq!(both[1], ["c\u{feff}".as_bytes().to_vec(), "\u{feff}2".as_bytes().to_vec()]);
        for (text, row) in [(one, &both[0]), (two, &both[1])] {
            assert_eq!(rows(".csv", text.as_bytes()), std::slice::from_ref(row));
        }
        assert_eq!(rows(".csv", b"\xef\xbb"), [[b"\xef\xbb".to_vec()]], "no mark");
    }

    #[test]
    fn a_header_has_its_limits() {
        let file = file(".csv", &vec![b','; 3 * MOST_COLUMNS]);
        let mut reader = Records::open(&data(file.path()), &CsvOptions::default()).expect("opened");
        assert_eq!(reader.header().expect("read").map(|names| names.len()), Some(MOST_COLUMNS));
        assert_eq!(reader.next(true).expect("read"), Next::End);
        let file =
            self::file(".csv", format!("{},", "x".repeat(LONGEST_TEXT)).repeat(400).as_bytes());
        let mut reader = Records::open(&data(file.path()), &CsvOptions::default()).expect("opened");
        let names = reader.header().expect("read").expect("names");
        assert!(names.iter().map(String::len).sum::<usize>() <= MOST_BYTES && names.len() > 200);
    }

    #[test]
    fn other_encodings_are_named() {
        let utf16 = file(".csv", b"\xff\xfea\0,\0");
        assert!(
            records(utf16.path())
                .expect_err("UTF-16")
                .to_string()
                .ends_with("this is UTF-16; save it as UTF-8")
        );
    }

    #[test]
    fn long_fields_are_cut_and_the_next_one_is_whole() {
        let long = "x".repeat(BUFFER * 2 + 17);
        let file = file(".csv", format!("{long},after\n{long}").as_bytes());
        let all = records(file.path()).expect("readable");
        assert_eq!(all[0][0].len(), LONGEST_TEXT);
        assert_eq!(all[0][1], b"after");
        assert_eq!(all[1][0].len(), LONGEST_TEXT);
    }

    /// All records by the parser alone, from memory, in one piece: no buffers, no files.
    fn oracle(bytes: &[u8]) -> Vec<Vec<Vec<u8>>> {
        let (mut parser, mut input) = (csv_core::Reader::new(), bytes);
        let (mut all, mut record, mut output) = (Vec::new(), Vec::new(), vec![0; bytes.len() + 1]);
        let mut length = 0;
        loop {
            let (result, read, written) = parser.read_field(input, &mut output[length..]);
            (input, length) = (&input[read..], length + written);
            match result {
                ReadFieldResult::Field { record_end } => {
                    record.push(output[..length].to_vec());
                    length = 0;
                    if record_end {
                        all.push(std::mem::take(&mut record));
                    }
                }
                ReadFieldResult::End => return all,
                ReadFieldResult::InputEmpty | ReadFieldResult::OutputFull => {}
            }
        }
    }

    /// A field that ended where the buffer did was once taken for the end of the file: the rest was
    /// lost without a word.
    #[test]
    fn the_end_of_a_buffer_is_not_the_end_of_the_file() {
        let text = b"id,name\r\n1,\"a \"\"q\"\" \n b\",\n\n22,,x\n333,\"\"\n4";
        let expected = oracle(text);
        assert_eq!(expected.len(), 5);
        let plain = file(".csv", text);
        let compressed = file(".csv.gz", &gzip(text));
        for size in 3..=text.len() + 2 {
            for path in [plain.path(), compressed.path()] {
                let mut reader = Records::with_buffer(&data(path), &CsvOptions::default(), size)
                    .expect("opened");
                assert_eq!(
                    read(&mut reader).expect("readable"),
                    expected,
                    "buffer of {size} bytes"
                );
            }
        }
    }

    #[test]
    fn large_files_are_read_to_the_end() {
        // Lines of every length, so that ends of buffers fall on every part of a line.
        let mut text = Vec::new();
        for row in 0..60_000 {
            text.extend(
                format!("{row},{},\"{}\"\n", "v".repeat(row % 13), "w,".repeat(row % 7)).as_bytes(),
            );
        }
        assert!(text.len() > 4 * BUFFER);
        let file = file(".csv", &text);
        let mut reader = Records::open(&data(file.path()), &CsvOptions::default()).expect("opened");
        let all = read(&mut reader).expect("readable");
        assert_eq!(all.len(), 60_000);
        assert!(all == oracle(&text), "as without buffers");
    }
}
