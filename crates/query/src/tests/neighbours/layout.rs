//! How tables lie in files, and how the engine takes them: format, number of files, rows of a
//! batch, partitions.

use super::cell::Cell;
use super::world::{COLUMNS, PUBLIC, Row};
use crate::tests::noiseless::Draw;
use arrow_ipc::writer::FileWriter;
use datafusion::arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Date64Array, DictionaryArray, Float32Array,
    Float64Array, Int64Array, StringArray, StringViewArray, TimestampMicrosecondArray,
    TimestampSecondArray,
};
use datafusion::arrow::datatypes::Int32Type;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::file::properties::WriterProperties;
use flate2::{Compression, write::GzEncoder};
use reticent_policy::{ColumnType, Policy};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

/// The format of a table's files.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Format {
    Csv { header: bool, gzip: bool },
    Parquet,
    Arrow,
}

/// Where rows lie, and how they are read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Layout {
    pub(super) format: Format,
    pub(super) files: usize,
    /// Rows in a row group of Parquet or in a batch of Arrow.
    pub(super) chunk: usize,
    /// Whether Parquet and Arrow columns have other types than the declared ones, from which they
    /// are read.
    pub(super) odd_types: bool,
    /// Whether the unit is the first column of the files; else a text is.
    pub(super) unit_first: bool,
    /// Rows in a batch of the engine.
    pub(super) batch: usize,
    pub(super) partitions: usize,
}

impl Layout {
    /// What is plainest to look at.
    pub(super) const PLAIN: Layout = Layout {
        format: Format::Csv { header: true, gzip: false },
        files: 1,
        chunk: 8192,
        odd_types: false,
        unit_first: true,
        batch: 8192,
        partitions: 1,
    };

    pub(super) fn random(rows: usize, draw: &mut Draw) -> Layout {
        let csv = |header: bool, gzip: bool| Format::Csv { header, gzip };
        let formats = [
            csv(true, false),
            csv(true, true),
            csv(false, false),
            csv(false, false),
            csv(false, true),
            Format::Parquet,
            Format::Parquet,
            Format::Arrow,
        ];
        let small = rows < 500;
        Layout {
            format: draw.of(&formats),
            files: draw.of(&[1, 1, 2, 3]),
            chunk: if small { draw.of(&[1, 3, 8192]) } else { draw.of(&[1000, 8192]) },
            odd_types: draw.once_in(3),
            unit_first: draw.once_in(2),
            // Small tables span several batches too.
            batch: if small { draw.of(&[1, 2, 5, 16, 8192]) } else { draw.of(&[100, 8192, 8192]) },
            partitions: draw.of(&[1, 2, 3]),
        }
    }

    /// Whether every cell is read as the same value in both: CSV has no NaN, marks at the beginning
    /// of a line are passed over, and other types lose digits.
    pub(super) fn reads_like(self, other: Layout) -> bool {
        let csv = |layout: Layout| matches!(layout.format, Format::Csv { .. });
        let same = if csv(self) {
            self.unit_first == other.unit_first
        } else {
            self.odd_types == other.odd_types
        };
        csv(self) == csv(other) && same
    }

    /// Another layout that reads like this one.
    pub(super) fn another(self, rows: usize, draw: &mut Draw) -> Layout {
        loop {
            let other = Layout::random(rows, draw);
            if self.reads_like(other) {
                return other;
            }
        }
    }

    /// Rows as they lie in the files of a table.
    pub(super) fn parts(self, rows: &[Row]) -> Vec<Vec<Row>> {
        let share = rows.len().div_ceil(self.files).max(1);
        rows.chunks(share).map(<[Row]>::to_vec).collect()
    }

    /// The unit that a reader of the files sees in a cell: marks of UTF-8 at the beginning of a
    /// line are none of it.
    pub(super) fn unit_of(self, cell: &Cell, of: ColumnType) -> Option<String> {
        let unit = cell.unit(of)?;
        let line_begins =
            matches!(self.format, Format::Csv { .. }) && self.unit_first && !is_quoted(&cell.csv());
        if !line_begins {
            return Some(unit);
        }
        Some(unit.trim_start_matches('\u{feff}').to_owned()).filter(|unit| !unit.is_empty())
    }

    /// Plainer layouts to try instead.
    pub(super) fn simpler(self) -> Vec<Layout> {
        let plain = Layout::PLAIN;
        let one_change = [
            plain,
            Layout { format: plain.format, ..self },
            Layout { format: Format::Csv { header: false, gzip: false }, ..self },
            Layout { files: 1, ..self },
            Layout { chunk: plain.chunk, ..self },
            Layout { unit_first: true, ..self },
            Layout { odd_types: false, ..self },
            Layout { batch: plain.batch, ..self },
            Layout { partitions: 1, ..self },
        ];
        one_change.into_iter().filter(|other| other.weight() < self.weight()).collect()
    }

    fn weight(self) -> usize {
        let format = match self.format {
            Format::Csv { header, gzip } => usize::from(!header) + 2 * usize::from(gzip),
            Format::Parquet => 4,
            Format::Arrow => 5,
        };
        let odd = [
            self.chunk != 8192,
            !self.unit_first,
            self.odd_types,
            self.batch != 8192,
            self.partitions > 1,
            self.files > 1,
        ];
        format + odd.into_iter().map(|odd| usize::from(odd) * 8).sum::<usize>()
    }

    /// Tables, each in its parts, in files, and a policy over them.
    pub(super) fn stored(&self, unit: ColumnType, tables: [Vec<Vec<Row>>; 3]) -> (TempDir, Policy) {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("public.csv"), PUBLIC).expect("written");
        let ending = match self.format {
            Format::Csv { gzip: false, .. } => "csv",
            Format::Csv { gzip: true, .. } => "csv.gz",
            Format::Parquet => "parquet",
            Format::Arrow => "arrow",
        };
        let mut columns: Vec<usize> = (0..=COLUMNS.len()).collect();
        if !self.unit_first {
            // The text without public values.
            columns.swap(0, 6);
        }
        for (name, mut parts) in ["people", "visits", "records"].into_iter().zip(tables) {
            if parts.is_empty() {
                parts.push(Vec::new());
            }
            for (number, part) in parts.iter().enumerate() {
                let path = folder.path().join(format!("{name}{number}.{ending}"));
                let batch = || batch(unit, part, &columns, self.odd_types);
                match self.format {
                    Format::Csv { header, gzip } => csv(&path, part, &columns, header, gzip),
                    Format::Parquet => parquet(&path, &batch(), self.chunk),
                    Format::Arrow => arrow(&path, &batch(), self.chunk),
                }
            }
        }
        let policy =
            Policy::parse(&self.policy(unit, &columns, ending), &folder.path().join("policy.toml"));
        (folder, policy.expect("a policy"))
    }

    fn policy(&self, unit: ColumnType, columns: &[usize], ending: &str) -> String {
        let declared: String = COLUMNS
            .iter()
            .map(|(name, of, more)| format!("{name} = {{ type = '{of}'{more} }}\n"))
            .collect();
        let names: Vec<String> =
            columns.iter().map(|&index| format!("'{}'", name_of(index))).collect();
        let header = match self.format {
            Format::Csv { header: false, .. } => format!("header = [{}]\n", names.join(", ")),
            _ => String::new(),
        };
        let with_unit = |name: &str| {
            format!(
                "[tables.{name}]\nsource = '{name}*.{ending}'\n{header}unit = 'id'\nmax_groups = \
                 2\nmax_rows = 2\n\
                 [tables.{name}.columns]\nid = {{ type = '{unit}' }}\n{declared}"
            )
        };
        format!(
            "[budget]\nepsilon = 10\ndelta = 1e-5\nquery_epsilon = 1\nquery_delta = 1e-7\n{}{}\
             [tables.records]\nsource = 'records*.{ending}'\n{header}each_row = \
             true\n[tables.records.columns]\n{declared}\
             [tables.public]\nsource = 'public.csv'\npublic = true\nunique = \
             ['city']\n[tables.public.columns]\n\
             city = {{ type = 'text' }}\nregion = {{ type = 'text' }}\nweight = {{ type = \
             'integer', bounds = [0, 9] }}\n\
             z = {{ type = 'real' }}\nday = {{ type = 'date' }}\n",
            with_unit("people"),
            with_unit("visits")
        )
    }
}

fn name_of(index: usize) -> &'static str {
    if index == 0 { "id" } else { COLUMNS[index - 1].0 }
}

fn is_quoted(cell: &[u8]) -> bool {
    cell.iter().any(|byte| b",\"\r\n".contains(byte))
}

/// Quoted only where it must be: the first bytes of a file are those of a cell.
fn csv(path: &Path, rows: &[Row], columns: &[usize], header: bool, gzip: bool) {
    let mut text = Vec::new();
    if header {
        let names: Vec<&str> = columns.iter().map(|&index| name_of(index)).collect();
        text.extend(names.join(",").bytes());
        text.push(b'\n');
    }
    for row in rows {
        for (position, &index) in columns.iter().enumerate() {
            if position > 0 {
                text.push(b',');
            }
            let cell = row[index].csv();
            if is_quoted(&cell) {
                let doubled = cell
                    .iter()
                    .flat_map(|&byte| if byte == b'"' { vec![byte; 2] } else { vec![byte] });
                text.push(b'"');
                text.extend(doubled);
                text.push(b'"');
            } else {
                text.extend(cell);
            }
        }
        text.push(b'\n');
    }
    let mut file = File::create(path).expect("a file");
    if gzip {
        let mut encoder = GzEncoder::new(file, Compression::fast());
        encoder.write_all(&text).expect("written");
        encoder.finish().expect("finished");
    } else {
        file.write_all(&text).expect("written");
    }
}

/// Rows as a batch; what is no value of its column's type is NULL.
fn batch(unit: ColumnType, rows: &[Row], columns: &[usize], odd_types: bool) -> RecordBatch {
    let column = |&index: &usize| -> (&'static str, ArrayRef, bool) {
        let cells: Vec<&Cell> = rows.iter().map(|row| &row[index]).collect();
        let of = if index == 0 { unit } else { COLUMNS[index - 1].1 };
        let array = if odd_types && index > 0 {
            odd_array(&cells, name_of(index), of)
        } else {
            array(&cells, of)
        };
        (name_of(index), array, true)
    };
    RecordBatch::try_from_iter_with_nullable(columns.iter().map(column))
        .expect("columns of one length")
}

fn array(cells: &[&Cell], of: ColumnType) -> ArrayRef {
    macro_rules! column {
        ($cell:ident, $array:ty) => {
            Arc::new(
                cells
                    .iter()
                    .map(|cell| if let Cell::$cell(value) = cell { Some(*value) } else { None })
                    .collect::<$array>(),
            )
        };
    }
    match of {
        ColumnType::Integer => column!(Integer, Int64Array),
        ColumnType::Real => column!(Real, Float64Array),
        ColumnType::Boolean => column!(Boolean, BooleanArray),
        ColumnType::Date => column!(Date, Date32Array),
        ColumnType::Timestamp => column!(Moment, TimestampMicrosecondArray),
        ColumnType::Text => {
            Arc::new(cells.iter().map(|cell| cell.repaired()).collect::<StringViewArray>())
        }
    }
}

/// The column in a type from which the declared one is read.
fn odd_array(cells: &[&Cell], name: &str, of: ColumnType) -> ArrayRef {
    let texts = || cells.iter().map(|cell| Some(String::from_utf8_lossy(&cell.csv()).into_owned()));
    match (name, of) {
        ("n", _) => Arc::new(texts().collect::<StringArray>()),
        ("s", _) => Arc::new(cells.iter().map(|cell| Some(cell.csv())).collect::<BinaryArray>()),
        ("k", _) => {
            let texts: Vec<Option<String>> = cells.iter().map(|cell| cell.repaired()).collect();
            Arc::new(texts.iter().map(Option::as_deref).collect::<DictionaryArray<Int32Type>>())
        }
        ("x", _) => {
            let reals = cells
                .iter()
                .map(|cell| if let Cell::Real(value) = cell { Some(*value as f32) } else { None });
            Arc::new(reals.collect::<Float32Array>())
        }
        // The same numbers in seconds: most are beyond the calendar then.
        (_, ColumnType::Timestamp) => {
            let numbers = cells
                .iter()
                .map(|cell| if let Cell::Moment(value) = cell { Some(*value) } else { None });
            Arc::new(numbers.collect::<TimestampSecondArray>())
        }
        (_, ColumnType::Date) => {
            let days = cells.iter().map(|cell| {
                if let Cell::Date(value) = cell { Some(i64::from(*value)) } else { None }
            });
            Arc::new(days.map(|days| Some(days? * 86_400_000)).collect::<Date64Array>())
        }
        _ => array(cells, of),
    }
}

fn parquet(path: &Path, rows: &RecordBatch, group: usize) {
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(group)).build();
    let file = File::create(path).expect("a file");
    let mut writer = ArrowWriter::try_new(file, rows.schema(), Some(properties)).expect("a writer");
    writer.write(rows).expect("written");
    writer.close().expect("closed");
}

fn arrow(path: &Path, rows: &RecordBatch, chunk: usize) {
    let mut writer =
        FileWriter::try_new(File::create(path).expect("a file"), &rows.schema()).expect("a writer");
    for start in (0..rows.num_rows()).step_by(chunk) {
        writer.write(&rows.slice(start, chunk.min(rows.num_rows() - start))).expect("written");
    }
    writer.finish().expect("finished");
}
