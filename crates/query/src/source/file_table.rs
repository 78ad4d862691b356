//! A table of Parquet or Arrow files, read by the engine, with the declared columns in the engine's types.
//!
//! The engine is told nothing of the files' statistics. Where they say that the least and the greatest value of a column are the same, it does not
//! read the column and fills in that value (DataFusion 55); but statistics leave NaN out, so that a row with NaN would take over the value of
//! somebody else's row. A test shows both sides.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result as EngineResult;
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::arrow::ArrowFormat;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::object_store::ObjectStoreUrl;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::object_store::ObjectStoreExt;
use datafusion::object_store::path::Path as StorePath;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::union::UnionExec;
use reticent_policy::{ColumnType, Format, TablePolicy};

use super::conversion::accepts;
use super::converted_rows::ConvertedRows;
use super::error::{SourceError, listed};
use super::schemas::file_schema;

/// A table of Parquet or Arrow files.
#[derive(Debug)]
pub(super) struct FileTable {
    name: Arc<str>,
    schema: SchemaRef,
    kinds: Vec<ColumnType>,
    parts: Vec<Part>,
}

/// Files with the same columns, written in the same way. Often all of them; but a writer that turns whole numbers into reals once a value is
/// missing makes two parts.
#[derive(Debug)]
struct Part {
    format: Arc<dyn FileFormat>,
    schema: SchemaRef,
    files: Vec<StorePath>,
    /// Where each declared column is in the files.
    positions: Vec<usize>,
}

impl FileTable {
    /// Checks the columns of every file against the policy.
    pub(super) fn open(table: &TablePolicy, format: Format, files: &[PathBuf]) -> Result<FileTable, SourceError> {
        let mut groups: Vec<((Schema, _), Vec<PathBuf>)> = Vec::new();
        for path in files {
            let columns = file_schema(path, format)?;
            match groups.iter_mut().find(|(known, _)| *known == columns) {
                Some((_, paths)) => paths.push(path.clone()),
                None => groups.push((columns, vec![path.clone()])),
            }
        }
        let parts = groups.into_iter().map(|((schema, _), paths)| Part::new(table, format, schema, &paths));
        Ok(FileTable {
            name: table.name().into(),
            schema: super::engine_schema(table),
            kinds: table.columns().iter().map(|column| column.kind()).collect(),
            parts: parts.collect::<Result<_, _>>()?,
        })
    }
}

impl Part {
    fn new(table: &TablePolicy, format: Format, schema: Schema, paths: &[PathBuf]) -> Result<Part, SourceError> {
        let path = paths.first().cloned().unwrap_or_default();
        let mut positions = Vec::new();
        for column in table.columns() {
            let table = table.name().to_owned();
            let name = column.name().to_owned();
            let mut found = schema.fields().iter().enumerate().filter(|(_, field)| *field.name() == name);
            let Some((position, field)) = found.next() else {
                let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
                return Err(SourceError::MissingColumn { table, column: name, path, available: listed(&names) });
            };
            if found.next().is_some() {
                return Err(SourceError::RepeatedColumn { table, column: name, path });
            }
            if !accepts(field.data_type(), column.kind()) {
                let fitting: Vec<&str> = EVERY_TYPE
                    .into_iter()
                    .filter(|kind| accepts(field.data_type(), *kind))
                    .map(ColumnType::name)
                    .collect();
                let hint = if fitting.is_empty() {
                    "no declaration fits this type; leave the column out, or write it in another way".to_owned()
                } else {
                    format!("declare it as {}", fitting.join(" or "))
                };
                let problem = format!("the type {}, which is not read as {}; {hint}", field.data_type(), column.kind());
                return Err(SourceError::ColumnType { table, column: name, path, problem });
            }
            positions.push(position);
        }
        let format: Arc<dyn FileFormat> = match format {
            Format::Parquet => Arc::new(ParquetFormat::new()),
            _ => Arc::new(ArrowFormat),
        };
        let files = paths.iter().map(|path| store_path(path)).collect::<Result<_, _>>()?;
        Ok(Part { format, schema: Arc::new(schema), files, positions })
    }

    /// The wanted columns of these files, in the engine's types.
    async fn scan(
        &self,
        state: &dyn Session,
        table: &FileTable,
        wanted: &[usize],
        limit: Option<usize>,
    ) -> EngineResult<Arc<dyn ExecutionPlan>> {
        let positions: Vec<usize> = wanted.iter().map(|index| self.positions[*index]).collect();
        let store = state.runtime_env().object_store(ObjectStoreUrl::local_filesystem())?;
        let mut files = Vec::with_capacity(self.files.len());
        for path in &self.files {
            let found = store.head(path).await.map_err(|error| SourceError::scan(&table.name, &error.into()))?;
            files.push(PartitionedFile::from(found));
        }
        let source = self.format.file_source(Arc::clone(&self.schema).into());
        let scan = FileScanConfigBuilder::new(ObjectStoreUrl::local_filesystem(), source)
            .with_file_groups(FileGroup::new(files).split_files(state.config().target_partitions().max(1)))
            .with_projection_indices(Some(positions))?
            .with_limit(limit)
            .build();
        let rows = self.format.create_physical_plan(state, scan).await?;
        let kinds = wanted.iter().map(|index| table.kinds[*index]).collect();
        let schema = Arc::new(table.schema.project(wanted)?);
        Ok(Arc::new(ConvertedRows::new(table.name.clone(), rows, schema, kinds)))
    }
}

const EVERY_TYPE: [ColumnType; 6] = [
    ColumnType::Integer,
    ColumnType::Real,
    ColumnType::Text,
    ColumnType::Boolean,
    ColumnType::Date,
    ColumnType::Timestamp,
];

/// A file's full name as the engine's store has it, whatever characters it has.
fn store_path(path: &Path) -> Result<StorePath, SourceError> {
    StorePath::from_absolute_path(path).map_err(|_| SourceError::Unreadable {
        path: path.to_owned(),
        reason: "its name cannot be written as a URL".to_owned(),
    })
}

#[async_trait]
impl TableProvider for FileTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> EngineResult<Arc<dyn ExecutionPlan>> {
        let wanted: Vec<usize> = projection.cloned().unwrap_or_else(|| (0..self.kinds.len()).collect());
        let mut plans = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            plans.push(part.scan(state, self, &wanted, limit).await?);
        }
        match plans.len() {
            1 => Ok(plans.remove(0)),
            _ => UnionExec::try_new(plans),
        }
    }
}
