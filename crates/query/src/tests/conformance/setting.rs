//! Where the rows of a test come from, and which engine computes their totals.

use super::in_parts::InParts;
use crate::tests::noiseless::without_noise;
use crate::tests::tables::csv;
use crate::{Answer, MemorySource, Opened, Options, Prepared, QueryError, TableSources, prepare};
use datafusion::arrow::csv::ReaderBuilder;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::ipc::writer::FileWriter;
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchIterator};
use datafusion::parquet::arrow::ArrowWriter;
use reticent_engine::SecretKey;
use reticent_policy::{Policy, TablePolicy};
use reticent_release::Exact;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

/// Where the rows of a test come from, and in how many parts their totals are computed, if not as a
/// whole.
#[derive(Clone, Copy, Debug)]
pub(in crate::tests) struct Setting {
    pub(in crate::tests) storage: Storage,
    pub(in crate::tests) parts: Option<u64>,
}

/// A kind of source.
#[derive(Clone, Copy, Debug)]
pub(in crate::tests) enum Storage {
    Csv,
    Parquet,
    Arrow,
    Memory,
    /// A stream of small batches, opened anew for each query.
    Stream,
}

/// The rows of a table.
pub(in crate::tests) enum Content {
    /// A CSV file. Elsewhere its fields are columns of text.
    Text(String),
    Batch(RecordBatch),
}

impl Content {
    fn text(&self) -> String {
        match self {
            Content::Text(text) => text.clone(),
            Content::Batch(batch) => csv(batch),
        }
    }

    fn batch(&self) -> RecordBatch {
        match self {
            Content::Batch(batch) => batch.clone(),
            Content::Text(text) => {
                let header = text.lines().next().unwrap_or_default();
                let field = |name: &str| Field::new(name, DataType::Utf8, true);
                let schema =
                    Arc::new(Schema::new(header.split(',').map(field).collect::<Vec<_>>()));
                let rows = text.lines().count().max(1);
                let reader = ReaderBuilder::new(schema.clone()).with_header(true);
                let mut reader =
                    reader.with_batch_size(rows).build(text.as_bytes()).expect("a reader");
                let batch = reader.next().map(|batch| batch.expect("a table"));
                batch.unwrap_or_else(|| RecordBatch::new_empty(schema))
            }
        }
    }
}

/// Tables that are stored, and what computes over them.
pub(in crate::tests) struct Stored {
    _folder: TempDir,
    pub(in crate::tests) policy: Policy,
    in_memory: Vec<(&'static str, Vec<RecordBatch>)>,
    streamed: bool,
    engine: Option<InParts>,
}

impl Setting {
    /// Stores tables under a policy whose sources are named after them, with any ending.
    pub(in crate::tests) fn stored(
        self,
        policy: &str,
        tables: &[(&'static str, Content)],
    ) -> Stored {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut text, mut in_memory) = (policy.to_owned(), Vec::new());
        for (name, content) in tables {
            let ending = match self.storage {
                Storage::Csv => "csv",
                Storage::Parquet => "parquet",
                Storage::Arrow => "arrow",
                Storage::Memory | Storage::Stream => "nowhere",
            };
            for other in ["csv", "parquet"] {
                text = text.replace(
                    &format!("source = '{name}.{other}'"),
                    &format!("source = '{name}.{ending}'"),
                );
            }
            let path = folder.path().join(format!("{name}.{ending}"));
            match self.storage {
                Storage::Csv => std::fs::write(path, content.text()).expect("written"),
                Storage::Parquet => write_parquet(&path, &content.batch()),
                Storage::Arrow => write_arrow(&path, &content.batch()),
                Storage::Memory => in_memory.push((*name, vec![content.batch()])),
                Storage::Stream => in_memory.push((*name, in_pieces(&content.batch()))),
            }
        }
        let policy = Policy::parse(&text, &folder.path().join("policy.toml")).expect("a policy");
        let engine = self.parts.map(|parts| InParts::new(&policy, parts));
        let streamed = matches!(self.storage, Storage::Stream);
        Stored { _folder: folder, policy, in_memory, streamed, engine }
    }
}

/// The rows in batches of 1, 2, 4 and so on up to 1024, and an empty one in front.
fn in_pieces(batch: &RecordBatch) -> Vec<RecordBatch> {
    let (mut pieces, mut start) = (vec![batch.slice(0, 0)], 0);
    while start < batch.num_rows() {
        let rows = (batch.num_rows() - start).min(1 << (pieces.len() - 1).min(10));
        pieces.push(batch.slice(start, rows));
        start += rows;
    }
    pieces
}

/// A stream of batches that there is at least one of.
fn stream(declared: &TablePolicy, batches: &[RecordBatch]) -> MemorySource {
    let (schema, batches) = (batches[0].schema(), batches.to_vec());
    MemorySource::from_readers(declared, &schema.clone(), move || {
        let batches = batches.clone().into_iter().map(Ok);
        Ok(Box::new(RecordBatchIterator::new(batches, schema.clone())))
    })
    .expect("the declared columns")
}

fn write_parquet(path: &Path, table: &RecordBatch) {
    let file = File::create(path).expect("a file");
    let mut writer = ArrowWriter::try_new(file, table.schema(), None).expect("a writer");
    writer.write(table).expect("written");
    writer.close().expect("closed");
}

fn write_arrow(path: &Path, table: &RecordBatch) {
    let file = File::create(path).expect("a file");
    let mut writer = FileWriter::try_new(file, &table.schema()).expect("a writer");
    writer.write(table).expect("written");
    writer.finish().expect("closed");
}

impl Stored {
    pub(in crate::tests) fn tables(&self) -> TableSources<'_> {
        let mut tables = TableSources::from(&self.policy);
        for declared in self.policy.tables() {
            // Tables of one file are declared as often as tests look at it in another manner.
            let stem = declared.source()[0].split('.').next().unwrap_or_default();
            if let Some((_, batches)) = self.in_memory.iter().find(|(name, _)| *name == stem) {
                let source = if self.streamed {
                    stream(declared, batches)
                } else {
                    MemorySource::from_batches(declared, batches.clone())
                        .expect("the declared columns")
                };
                let source = Arc::new(source);
                tables = tables.with(declared.name(), source).expect("a table of the policy");
            }
        }
        tables
    }

    pub(in crate::tests) async fn prepare(
        &self,
        sql: &str,
        options: Options,
    ) -> Result<Prepared, QueryError> {
        prepare(self.tables(), sql, options).await
    }

    pub(in crate::tests) async fn open<'a>(
        &self,
        prepared: &'a Prepared,
    ) -> Result<Opened<'a>, QueryError> {
        match &self.engine {
            None => prepared.open(self.tables()).await,
            Some(engine) => prepared.open_in(engine, self.tables()).await,
        }
    }

    /// The keys of the groups and the exact totals of a query, which may have been prepared for
    /// other tables of the same policy.
    pub(in crate::tests) async fn totals(
        &self,
        prepared: &Prepared,
        key: SecretKey,
    ) -> Result<(RecordBatch, Exact), QueryError> {
        let totals = self.open(prepared).await?.totals(key, |_| ()).await?;
        Ok((totals.keys, totals.exact))
    }

    /// The answer that a query would have without noise.
    pub(in crate::tests) async fn exact_answer(
        &self,
        sql: &str,
        key: SecretKey,
    ) -> Result<(Prepared, Answer), QueryError> {
        let prepared = self.prepare(sql, Options::default()).await?;
        let (keys, exact) = self.totals(&prepared, key).await?;
        let answer = prepared.finish(&keys, &without_noise(&prepared.plan, &exact)).await?;
        Ok((prepared, answer))
    }
}
