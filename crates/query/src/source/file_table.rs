//! A table of Parquet or Arrow files, read by the engine, with the declared columns in the engine's types.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result as EngineResult;
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::arrow::ArrowFormat;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::union::UnionExec;
use reticent_policy::{ColumnType, Format, TablePolicy};
use url::Url;

use super::conversion::{Converted, accepts, is_unchanged};
use super::error::{SourceError, listed};
use super::schemas::file_schema;

/// A table of Parquet or Arrow files.
#[derive(Debug)]
pub(super) struct FileTable {
    schema: SchemaRef,
    kinds: Vec<ColumnType>,
    parts: Vec<Part>,
}

/// Files with the same columns. Often all of them; but a writer that turns whole numbers into reals once a value is missing makes two parts.
#[derive(Debug)]
struct Part {
    files: ListingTable,
    schema: Schema,
    /// Where each declared column is in the files.
    positions: Vec<usize>,
}

impl FileTable {
    /// Checks the columns of every file against the policy.
    pub(super) fn open(table: &TablePolicy, format: Format, files: &[PathBuf]) -> Result<FileTable, SourceError> {
        let mut groups: Vec<(Schema, Vec<PathBuf>)> = Vec::new();
        for path in files {
            let schema = file_schema(path, format)?;
            match groups.iter_mut().find(|(known, _)| *known == schema) {
                Some((_, paths)) => paths.push(path.clone()),
                None => groups.push((schema, vec![path.clone()])),
            }
        }
        let parts = groups.into_iter().map(|(schema, paths)| Part::new(table, format, schema, &paths));
        Ok(FileTable {
            schema: super::engine_schema(table),
            kinds: table.columns().iter().map(|column| column.kind()).collect(),
            parts: parts.collect::<Result<_, _>>()?,
        })
    }

    /// Whether a column is, in all files, as the engine wants it.
    fn is_unchanged(&self, name: &str) -> bool {
        let Ok(index) = self.schema.index_of(name) else { return false };
        self.parts.iter().all(|part| part.is_unchanged(index, self.kinds[index]))
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
                let (found, declared) = (field.data_type().to_string(), column.kind().name());
                return Err(SourceError::ColumnType { table, column: name, path, found, declared, hint });
            }
            positions.push(position);
        }
        let format: Arc<dyn FileFormat> = match format {
            Format::Parquet => Arc::new(ParquetFormat::new()),
            _ => Arc::new(ArrowFormat),
        };
        let urls = paths.iter().map(|path| file_url(path)).collect::<Result<Vec<_>, _>>()?;
        // The files are known; their names need no further test.
        let options = ListingOptions::new(format).with_file_extension("");
        let config = ListingTableConfig::new_with_multi_paths(urls)
            .with_listing_options(options)
            .with_schema(Arc::new(schema.clone()));
        let files = ListingTable::try_new(config)
            .map_err(|_| SourceError::Unreadable { path, reason: "the engine cannot list it".to_owned() })?;
        Ok(Part { files, schema, positions })
    }

    fn is_unchanged(&self, index: usize, kind: ColumnType) -> bool {
        is_unchanged(self.schema.field(self.positions[index]).data_type(), kind)
    }

    /// The wanted columns of these files, in the engine's types.
    async fn scan(
        &self,
        state: &dyn Session,
        table: &FileTable,
        wanted: &[usize],
        filters: &[Expr],
        limit: Option<usize>,
    ) -> EngineResult<Arc<dyn ExecutionPlan>> {
        let positions: Vec<usize> = wanted.iter().map(|index| self.positions[*index]).collect();
        let rows = self.files.scan(state, Some(&positions), filters, limit).await?;
        if wanted.is_empty() {
            return Ok(rows);
        }
        let columns = wanted.iter().enumerate().map(|(place, index)| {
            let name = table.schema.field(*index).name();
            let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(name, place));
            let kind = table.kinds[*index];
            let expr = if self.is_unchanged(*index, kind) { column } else { Arc::new(Converted::new(column, kind)) };
            ProjectionExpr { expr, alias: name.clone() }
        });
        Ok(Arc::new(ProjectionExec::try_new(columns.collect::<Vec<_>>(), rows)?))
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

/// A file's name as a URL, whatever characters it has.
fn file_url(path: &Path) -> Result<ListingTableUrl, SourceError> {
    let strange =
        || SourceError::Unreadable { path: path.to_owned(), reason: "its name cannot be written as a URL".to_owned() };
    let url = Url::from_file_path(path).map_err(|()| strange())?;
    ListingTableUrl::try_new(url, None).map_err(|_| strange())
}

#[async_trait]
impl TableProvider for FileTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    /// Conditions on columns that are read as they are let the engine skip parts of files; they are applied to the rows all the same.
    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> EngineResult<Vec<TableProviderFilterPushDown>> {
        let judged = filters.iter().map(|filter| {
            if filter.column_refs().iter().all(|column| self.is_unchanged(&column.name)) {
                TableProviderFilterPushDown::Inexact
            } else {
                TableProviderFilterPushDown::Unsupported
            }
        });
        Ok(judged.collect())
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> EngineResult<Arc<dyn ExecutionPlan>> {
        let wanted: Vec<usize> = projection.cloned().unwrap_or_else(|| (0..self.kinds.len()).collect());
        let mut plans = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            plans.push(part.scan(state, self, &wanted, filters, limit).await?);
        }
        match plans.len() {
            1 => Ok(plans.remove(0)),
            _ => UnionExec::try_new(plans),
        }
    }
}
