//! Records of a CSV file, whatever its bytes.
//!
//! DataFusion's own reader is not used, because its errors depend on rows: a field too few, a letter in a number or a byte that is not UTF-8 ends
//! the query with a message that names the line or quotes the cell. Here the grammar is that of `csv-core`, which reads every sequence of bytes as
//! *some* table, and fields are read by total functions.
//!
//! Memory does not depend on the file: of a field only the first [`LONGEST_TEXT`] bytes are kept.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use csv_core::ReadFieldResult;
use flate2::read::MultiGzDecoder;
use reticent_policy::{CsvOptions, LONGEST_TEXT};

use super::error::SourceError;

/// How much is read from a file at a time.
const BUFFER: usize = 1 << 18;

/// The records of a file, field by field.
pub(super) struct Records {
    path: PathBuf,
    compressed: bool,
    input: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    /// The part of the buffer that is still to be parsed.
    start: usize,
    end: usize,
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
    /// Opens a file, compressed by gzip or not, which its first bytes tell.
    pub(super) fn open(path: &Path, options: &CsvOptions) -> Result<Records, SourceError> {
        let failure = |error: io::Error| SourceError::unreadable(path, &error);
        let mut file = File::open(path).map_err(failure)?;
        let mut head = Vec::new();
        file.by_ref().take(2).read_to_end(&mut head).map_err(failure)?;
        let compressed = head == [0x1f, 0x8b];
        let whole = Cursor::new(head).chain(file);
        let input: Box<dyn Read + Send> =
            if compressed { Box::new(MultiGzDecoder::new(whole)) } else { Box::new(whole) };
        let delimiter = options.delimiter.unwrap_or_else(|| default_delimiter(path));
        let mut records = Records {
            path: path.to_owned(),
            compressed,
            input,
            buffer: vec![0; BUFFER],
            start: 0,
            end: 0,
            parser: csv_core::ReaderBuilder::new().delimiter(delimiter).build(),
            field: vec![0; LONGEST_TEXT],
            ignored: vec![0; 4096],
        };
        records.fill()?;
        if matches!(records.buffer[..records.end], [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) {
            return Err(SourceError::Encoding { path: path.to_owned() });
        }
        Ok(records)
    }

    /// The names in the first record, without spaces around them; none in an empty file.
    pub(super) fn header(&mut self) -> Result<Option<Vec<String>>, SourceError> {
        let mut names = Vec::new();
        loop {
            match self.next(true)? {
                Next::End => return Ok(None),
                Next::Field(name, last) => {
                    names.push(String::from_utf8_lossy(name).trim().to_owned());
                    if last {
                        return Ok(Some(names));
                    }
                }
            }
        }
    }

    /// The next field. If it is not wanted, what is in it is left out.
    pub(super) fn next(&mut self, wanted: bool) -> Result<Next<'_>, SourceError> {
        let mut length = 0;
        loop {
            let keep = wanted && length < self.field.len();
            let output = if keep { &mut self.field[length..] } else { &mut self.ignored[..] };
            let (result, read, written) = self.parser.read_field(&self.buffer[self.start..self.end], output);
            self.start += read;
            if keep {
                length += written;
            }
            match result {
                // When nothing is left to read, the parser is given nothing, which tells it that the file ends.
                ReadFieldResult::InputEmpty => self.fill()?,
                ReadFieldResult::OutputFull => {}
                ReadFieldResult::Field { record_end } => return Ok(Next::Field(&self.field[..length], record_end)),
                ReadFieldResult::End => return Ok(Next::End),
            }
        }
    }

    /// Reads until the buffer is full or the file ends.
    fn fill(&mut self) -> Result<(), SourceError> {
        (self.start, self.end) = (0, 0);
        while self.end < self.buffer.len() {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => break,
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) if self.compressed => {
                    return Err(SourceError::Damaged { path: self.path.clone(), format: "gzip" });
                }
                Err(error) => return Err(SourceError::unreadable(&self.path, &error)),
            }
        }
        Ok(())
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

fn default_delimiter(path: &Path) -> u8 {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_ascii_lowercase();
    if name.ends_with(".tsv") || name.ends_with(".tsv.gz") { b'\t' } else { b',' }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

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
        let mut reader = Records::open(path, &CsvOptions::default())?;
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

    fn texts(bytes: &[u8]) -> Vec<Vec<String>> {
        let file = file(".csv", bytes);
        let text = |field: &Vec<u8>| String::from_utf8_lossy(field).into_owned();
        records(file.path()).expect("readable").iter().map(|record| record.iter().map(text).collect()).collect()
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
    fn gzip_is_seen_from_the_first_bytes() {
        let mut bytes = gzip(b"a,b\n1,");
        bytes.extend(gzip(b"2\n"));
        let whole = file(".csv", &bytes);
        assert_eq!(records(whole.path()).expect("readable").len(), 2);
        let cut = file(".csv.gz", &bytes[..bytes.len() - 9]);
        let message = records(cut.path()).expect_err("cut").to_string();
        assert!(message.ends_with("this is not a complete gzip file"), "{message}");
        let named_only = file(".csv.gz", b"a,b\n1,2\n");
        assert_eq!(records(named_only.path()).expect("readable").len(), 2);
    }

    #[test]
    fn other_encodings_are_named() {
        let utf16 = file(".csv", b"\xff\xfea\0,\0");
        assert!(records(utf16.path()).expect_err("UTF-16").to_string().ends_with("this is UTF-16; save it as UTF-8"));
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

    #[test]
    fn fields_across_buffers_are_as_those_within() {
        let row = b"12345,\"a \"\"quoted\"\" one\",,text\r\n";
        let bytes: Vec<u8> = row.iter().copied().cycle().take(row.len() * (BUFFER / row.len() * 3)).collect();
        let file = file(".csv", &bytes);
        let all = records(file.path()).expect("readable");
        assert_eq!(all.len(), BUFFER / row.len() * 3);
        assert!(all.iter().all(|record| record == &all[0] && record.len() == 4));
    }
}
