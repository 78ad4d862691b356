//! Rows that another program holds, as Arrow's batches: data frames, and results of databases.

use std::fmt::{self, Debug};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{ArrayRef, RecordBatchReader, new_null_array};
use arrow::datatypes::{DataType, FieldRef, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use reticent_policy::{ColumnType, TablePolicy};

use super::conversion::{accepts, convert};
use super::error::{Failure, SourceError};
use super::origins::{check_type, index_of};
use super::source::{Batches, Share, Source};

/// A table in memory, or one that comes as a stream of batches.
///
/// Columns are found by their names and converted to the declared types by the rules of files, so
/// that a table gives the same answers from memory as from a Parquet file of it. One type more is
/// read: columns of `Null`, which data frames have where no value is there at all, are NULL as any
/// declared type. Otherwise one value could decide whether there is an error.
///
/// Batches are valid in the sense of Arrow, texts in UTF-8 among it: whoever imports data of
/// another language checks that first.
#[derive(Debug)]
pub struct MemorySource {
    name: Arc<str>,
    schema: SchemaRef,
    kinds: Vec<ColumnType>,
    rows: Rows,
}

/// A stream of batches.
type Reader = Box<dyn RecordBatchReader + Send>;

/// Where the batches are.
enum Rows {
    Held(Vec<RecordBatch>),
    /// None once it was asked for.
    Once(Mutex<Option<Reader>>),
    Opened(Open),
}

/// Begins a stream anew.
type Open = Arc<dyn Fn() -> Result<Reader, ArrowError> + Send + Sync>;

impl Debug for Rows {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Rows::Held(_) => "Held",
            Rows::Once(_) => "Once",
            Rows::Opened(_) => "Opened",
        })
    }
}

/// What messages call it.
const LOCATION: &str = "the data in memory";

/// So many rows are converted at a time: enough that the values of a dictionary, which are
/// converted each time, are seldom more.
const CHUNK: usize = 1 << 17;

impl MemorySource {
    /// Batches, which may differ in the order and in the types of their columns.
    ///
    /// # Errors
    /// If a batch lacks a declared column, has it twice, or in a type that is not read as the
    /// declared one.
    pub fn from_batches(
        table: &TablePolicy,
        batches: Vec<RecordBatch>,
    ) -> Result<MemorySource, SourceError> {
        for batch in &batches {
            check(table, batch.schema_ref())?;
        }
        Ok(MemorySource::new(table, Rows::Held(batches)))
    }

    /// A stream that can be read once. A query that reads the table twice, as one that joins it
    /// with itself, is refused before it is paid for.
    ///
    /// # Errors
    /// As for [`from_batches`](MemorySource::from_batches), by the schema of the stream.
    pub fn from_reader(
        table: &TablePolicy,
        reader: impl RecordBatchReader + Send + 'static,
    ) -> Result<MemorySource, SourceError> {
        check(table, &reader.schema())?;
        Ok(MemorySource::new(table, Rows::Once(Mutex::new(Some(Box::new(reader))))))
    }

    /// A stream that can be opened again, with the same rows each time, and this schema.
    ///
    /// # Errors
    /// As for [`from_batches`](MemorySource::from_batches).
    pub fn from_readers(
        table: &TablePolicy,
        schema: &Schema,
        open: impl Fn() -> Result<Reader, ArrowError> + Send + Sync + 'static,
    ) -> Result<MemorySource, SourceError> {
        check(table, schema)?;
        Ok(MemorySource::new(table, Rows::Opened(Arc::new(open))))
    }

    fn new(table: &TablePolicy, rows: Rows) -> MemorySource {
        MemorySource {
            name: table.name().into(),
            schema: super::engine_schema(table),
            kinds: table.columns().iter().map(|column| column.kind()).collect(),
            rows,
        }
    }

    fn read_once(&self) -> SourceError {
        SourceError::ReadOnce { table: self.name.to_string() }
    }
}

/// Compares names and types with the policy.
fn check(table: &TablePolicy, schema: &Schema) -> Result<(), SourceError> {
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    for column in table.columns() {
        let found = schema.field(index_of(table, column, &names, LOCATION)?).data_type();
        if *found != DataType::Null {
            check_type(table, column, found, LOCATION)?;
        }
    }
    Ok(())
}

impl Source for MemorySource {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn shares(
        &self,
        columns: &[usize],
        threads: usize,
    ) -> Result<Vec<Arc<dyn Share>>, SourceError> {
        let wanted = Wanted {
            table: Arc::clone(&self.name),
            schema: super::projected(&self.schema, columns),
            kinds: columns.iter().map(|column| self.kinds[*column]).collect(),
        };
        Ok(match &self.rows {
            Rows::Held(batches) => {
                let share = |batches| -> Arc<dyn Share> {
                    Arc::new(HeldShare { wanted: wanted.clone(), batches })
                };
                divided(batches, threads).into_iter().map(share).collect()
            }
            Rows::Once(reader) => {
                let mut reader = reader.lock().unwrap_or_else(PoisonError::into_inner);
                let reader = reader.take().ok_or_else(|| self.read_once())?;
                vec![Arc::new(OnceShare { wanted, reader: Mutex::new(Some(reader)) })]
            }
            Rows::Opened(open) => vec![Arc::new(OpenedShare { wanted, open: Arc::clone(open) })],
        })
    }
}

/// Equal numbers of rows for at most so many threads, in pieces that are converted at a time.
fn divided(batches: &[RecordBatch], threads: usize) -> Vec<Vec<RecordBatch>> {
    let total: usize = batches.iter().map(RecordBatch::num_rows).sum();
    let fair = total.div_ceil(threads.max(1)).max(1);
    let mut shares: Vec<Vec<RecordBatch>> = Vec::new();
    let mut room = 0;
    for batch in batches {
        let mut start = 0;
        while start < batch.num_rows() {
            if room == 0 {
                shares.push(Vec::new());
                room = fair;
            }
            let rows = room.min(CHUNK).min(batch.num_rows() - start);
            if let Some(share) = shares.last_mut() {
                share.push(batch.slice(start, rows));
            }
            (start, room) = (start + rows, room - rows);
        }
    }
    shares
}

/// What is wanted of the rows.
#[derive(Clone, Debug)]
struct Wanted {
    table: Arc<str>,
    schema: SchemaRef,
    kinds: Arc<[ColumnType]>,
}

impl Wanted {
    /// The wanted columns of a batch, in the engine's types. An error is that the batch is not what
    /// the schema said.
    fn of(&self, batch: &RecordBatch) -> Result<RecordBatch, SourceError> {
        let column = |(field, kind): (&FieldRef, &ColumnType)| -> Result<ArrayRef, Failure> {
            let found = batch.column_by_name(field.name());
            match found.ok_or(Failure::Reason("a batch lacks a column of its schema"))? {
                found if *found.data_type() == DataType::Null => {
                    Ok(new_null_array(field.data_type(), batch.num_rows()))
                }
                found if accepts(found.data_type(), *kind) => Ok(convert(found, *kind)?),
                _ => Err(Failure::Reason("a batch has other types than its schema")),
            }
        };
        let columns = self.schema.fields().iter().zip(self.kinds.iter()).map(column);
        let whole = columns.collect::<Result<Vec<ArrayRef>, Failure>>().and_then(|columns| {
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            let schema = Arc::clone(&self.schema);
            Ok(RecordBatch::try_new_with_options(schema, columns, &options)?)
        });
        whole.map_err(|failure| failure.in_table(&self.table))
    }

    /// All rows of a stream.
    fn of_all(&self, reader: Reader) -> Batches {
        let wanted = self.clone();
        Box::new(reader.map(move |batch| match batch {
            Ok(batch) => wanted.of(&batch),
            Err(_) => Err(wanted.interrupted()),
        }))
    }

    fn interrupted(&self) -> SourceError {
        Failure::Reason("the stream of its rows broke off").in_table(&self.table)
    }
}

#[derive(Debug)]
struct HeldShare {
    wanted: Wanted,
    batches: Vec<RecordBatch>,
}

impl Share for HeldShare {
    fn rows(&self, _: usize) -> Result<Batches, SourceError> {
        let wanted = self.wanted.clone();
        Ok(Box::new(self.batches.clone().into_iter().map(move |batch| wanted.of(&batch))))
    }
}

struct OnceShare {
    wanted: Wanted,
    reader: Mutex<Option<Reader>>,
}

impl Debug for OnceShare {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("OnceShare").field(&self.wanted).finish()
    }
}

impl Share for OnceShare {
    fn rows(&self, _: usize) -> Result<Batches, SourceError> {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let table = || self.wanted.table.to_string();
        let reader = reader.take().ok_or_else(|| SourceError::ReadOnce { table: table() })?;
        Ok(self.wanted.of_all(reader))
    }
}

struct OpenedShare {
    wanted: Wanted,
    open: Open,
}

impl Debug for OpenedShare {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("OpenedShare").field(&self.wanted).finish()
    }
}

impl Share for OpenedShare {
    fn rows(&self, _: usize) -> Result<Batches, SourceError> {
        let reader = (self.open)().map_err(|_| self.wanted.interrupted())?;
        Ok(self.wanted.of_all(reader))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use arrow::array::{Array, Float32Array, Int32Array, NullArray, RecordBatchIterator};
    use arrow::array::{StringArray, StringViewArray};
    use reticent_policy::Policy;

    use super::*;

    fn table() -> TablePolicy {
        let text = "[budget]\nepsilon = 1\n[tables.t]\neach_row = true\nsource = 'x'\n\
            columns.n.type = 'integer'\ncolumns.town.type = 'text'\n";
        Policy::parse(text, Path::new("policy.toml")).expect("a policy").tables()[0].clone()
    }

    fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
        RecordBatch::try_from_iter(columns).expect("a batch")
    }

    fn texts(values: &[&str]) -> ArrayRef {
        Arc::new(StringArray::from(values.to_vec()))
    }

    fn numbers(values: Vec<i32>) -> ArrayRef {
        Arc::new(Int32Array::from(values))
    }

    /// All rows, with `-` for NULL.
    fn read(source: &MemorySource, columns: &[usize], threads: usize) -> Vec<String> {
        let options = arrow::util::display::FormatOptions::new().with_null("-");
        let mut rows = Vec::new();
        for share in source.shares(columns, threads).expect("shares") {
            for batch in share.rows(8).expect("opened") {
                let batch = batch.expect("read");
                assert_eq!(batch.schema(), super::super::projected(&source.schema(), columns));
                for row in 0..batch.num_rows() {
                    let cell = |column: &ArrayRef| {
                        arrow::util::display::ArrayFormatter::try_new(column, &options)
                            .expect("shown")
                            .value(row)
                            .to_string()
                    };
                    rows.push(batch.columns().iter().map(cell).collect::<Vec<_>>().join("|"));
                }
            }
        }
        rows
    }

    #[test]
    fn batches_of_several_types_are_one_table() {
        let real: ArrayRef = Arc::new(Float32Array::from(vec![2.9, f32::NAN]));
        let none: ArrayRef = Arc::new(NullArray::new(2));
        let batches = vec![
            batch(vec![("town", texts(&["Ulm", "Brno"])), ("n", numbers(vec![1, 2]))]),
            batch(vec![("n", real), ("more", numbers(vec![9, 9])), ("town", none.clone())]),
            batch(vec![("n", texts(&[" 7 ", "x"])), ("town", numbers(vec![5, 6]))]),
            batch(vec![("n", none), ("town", texts(&["", "é"]))]),
        ];
        let source = MemorySource::from_batches(&table(), batches).expect("a table");
        let expected = ["1|Ulm", "2|Brno", "2|-", "-|-", "7|5", "-|6", "-|", "-|é"];
        for threads in [0, 1, 2, 3, 8, 20] {
            assert!(source.shares(&[0, 1], threads).expect("shares").len() <= threads.max(1));
            assert_eq!(read(&source, &[0, 1], threads), expected, "{threads} threads");
        }
        assert_eq!(read(&source, &[1], 2)[..2], ["Ulm", "Brno"]);
        assert_eq!(read(&source, &[], 3).len(), 8, "rows are counted without columns");
        let empty = MemorySource::from_batches(&table(), Vec::new()).expect("a table");
        assert!(read(&empty, &[0, 1], 2).is_empty());
    }

    #[test]
    fn large_batches_are_divided_and_every_row_is_read_once() {
        let values: Vec<i32> = (0..CHUNK as i32 + 1000).collect();
        let city = texts(&vec!["Ulm"; values.len()]);
        let batches = vec![batch(vec![("n", numbers(values.clone())), ("town", city)])];
        let source = MemorySource::from_batches(&table(), batches).expect("a table");
        for threads in [1, 2, 7] {
            let rows: Vec<i32> =
                read(&source, &[0], threads).iter().map(|row| row.parse().expect("n")).collect();
            assert_eq!(rows, values);
        }
    }

    #[test]
    fn a_stream_is_read_once_or_opened_again() {
        let rows = batch(vec![("n", numbers(vec![4])), ("town", texts(&["Ulm"]))]);
        let schema = rows.schema();
        let reader = RecordBatchIterator::new(vec![Ok(rows.clone())], schema.clone());
        let once = MemorySource::from_reader(&table(), reader).expect("a table");
        assert_eq!(read(&once, &[0, 1], 2), ["4|Ulm"]);
        let again = once.shares(&[0], 1).expect_err("it was read");
        assert_eq!(again, SourceError::ReadOnce { table: "t".to_owned() });
        let open = move || -> Result<Reader, ArrowError> {
            Ok(Box::new(RecordBatchIterator::new(vec![Ok(rows.clone())], rows.schema())))
        };
        let many = MemorySource::from_readers(&table(), &schema, open).expect("a table");
        assert_eq!(read(&many, &[0], 2), read(&many, &[0], 1));
    }

    #[test]
    fn a_stream_that_breaks_off_tells_nothing_else() {
        let schema = batch(vec![("n", numbers(vec![])), ("town", texts(&[]))]).schema();
        let other = batch(vec![("n", numbers(vec![4]))]);
        let broken = Err(ArrowError::ComputeError("Alice".to_owned()));
        for (item, expected) in [(broken, "broke off"), (Ok(other), "lacks a column")] {
            let reader = RecordBatchIterator::new(vec![item], schema.clone());
            let source = MemorySource::from_reader(&table(), reader).expect("a table");
            let share = &source.shares(&[0, 1], 1).expect("shares")[0];
            let mut rows = share.rows(8).expect("opened");
            let message = rows.next().expect("an item").expect_err("a failure").to_string();
            assert!(message.contains(expected) && !message.contains("Alice"), "{message}");
            assert!(share.rows(8).is_err(), "it was read");
        }
    }

    #[test]
    fn names_and_types_are_compared_before_a_row_is_read() {
        let list = DataType::new_list(DataType::Int32, true);
        let views: ArrayRef = Arc::new(StringViewArray::from(vec!["x"]));
        for (columns, expected) in [
            (vec![("town", texts(&["x"]))], "the data in memory has no column \"n\""),
            (
                vec![("n", arrow::array::new_empty_array(&list)), ("town", texts(&[]))],
                "which is not read as integer",
            ),
            (
                vec![("n", numbers(vec![1])), ("n", views), ("town", texts(&["x"]))],
                "has several columns \"n\"",
            ),
        ] {
            let schema = Schema::new(
                columns
                    .iter()
                    .map(|(name, column)| {
                        arrow::datatypes::Field::new(*name, column.data_type().clone(), true)
                    })
                    .collect::<Vec<_>>(),
            );
            let arrays = columns.into_iter().map(|(_, column)| column).collect();
            let batch = RecordBatch::try_new(Arc::new(schema), arrays).expect("a batch");
            let refused = MemorySource::from_batches(&table(), vec![batch]).expect_err("refused");
            assert!(refused.to_string().contains(expected), "{refused}");
        }
    }
}
