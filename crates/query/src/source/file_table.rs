//! A table of Parquet or Arrow files, with the declared columns in the engine's types.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result as EngineResult, ScalarValue};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::union::UnionExec;
use reticent_policy::{ColumnType, Format, TablePolicy};

use super::arrow_file::{ArrowFile, bytes_of};
use super::arrow_scan::{ArrowShare, arrow_scan};
use super::conversion::accepts;
use super::converted_rows::ConvertedRows;
use super::data_file::DataFile;
use super::engine_type;
use super::error::SourceError;
use super::origins::{Origin, Origins};
use super::parquet_scan::{ParquetShare, parquet_scan, store_path};
use super::schemas::parquet_schema;

/// A table of Parquet or Arrow files.
#[derive(Debug)]
pub(super) struct FileTable {
    name: Arc<str>,
    schema: SchemaRef,
    kinds: Vec<ColumnType>,
    parts: Vec<Part>,
}

/// Files that have the declared columns in the same types. Often all of them; but a writer that turns whole numbers into reals once a value is
/// missing makes two parts.
#[derive(Debug)]
struct Part {
    columns: Vec<FileColumn>,
    files: Files,
}

/// A declared column, as it is in files.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FileColumn {
    /// In the engine's type, if it is in the names of folders.
    found: DataType,
    in_folders: bool,
}

#[derive(Debug)]
enum Files {
    Parquet(Vec<ParquetShare>),
    Arrow(Vec<ArrowShare>),
}

impl FileTable {
    /// Checks the columns of every file against the policy.
    pub(super) fn open(table: &TablePolicy, format: Format, files: &[DataFile]) -> Result<FileTable, SourceError> {
        let origins = Origins::new(table, files);
        let mut parts: Vec<Part> = Vec::new();
        for data in files {
            let (schema, batches) = match format {
                Format::Arrow => ArrowFile::open(data).map(|file| (Arc::clone(file.schema()), file.batches()))?,
                _ => (Arc::new(parquet_schema(data)?), 0),
            };
            let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
            let (mut columns, mut values) = (Vec::new(), Vec::new());
            for (column, origin) in table.columns().iter().zip(origins.of(data, &names)?) {
                let (found, value) = match origin {
                    Origin::Folder(value) => (engine_type(column.kind()), Some(value)),
                    Origin::File(place) => {
                        let found = schema.field(place).data_type();
                        check_type(table, column, found, data)?;
                        (if format == Format::Arrow { bytes_of(found) } else { found.clone() }, None)
                    }
                };
                columns.push(FileColumn { found, in_folders: value.is_some() });
                values.push(value);
            }
            let known = parts.iter_mut().find(|part| part.columns == columns);
            match known {
                Some(part) => part.files.add(data, batches, values)?,
                None => {
                    let mut files = if format == Format::Arrow { Files::Arrow(vec![]) } else { Files::Parquet(vec![]) };
                    files.add(data, batches, values)?;
                    parts.push(Part { columns, files });
                }
            }
        }
        Ok(FileTable {
            name: table.name().into(),
            schema: super::engine_schema(table),
            kinds: table.columns().iter().map(|column| column.kind()).collect(),
            parts,
        })
    }
}

impl Files {
    fn add(&mut self, data: &DataFile, batches: usize, values: Vec<Option<ScalarValue>>) -> Result<(), SourceError> {
        match self {
            Files::Parquet(files) => {
                files.push(ParquetShare { place: store_path(data)?, values: values.into_iter().flatten().collect() });
            }
            Files::Arrow(files) => {
                files.push(ArrowShare { data: data.clone(), of: batches, batches: 0..batches, values });
            }
        }
        Ok(())
    }
}

fn check_type(
    table: &TablePolicy,
    column: &reticent_policy::Column,
    found: &DataType,
    data: &DataFile,
) -> Result<(), SourceError> {
    if accepts(found, column.kind()) {
        return Ok(());
    }
    let fitting: Vec<&str> =
        EVERY_TYPE.into_iter().filter(|kind| accepts(found, *kind)).map(ColumnType::name).collect();
    let hint = if fitting.is_empty() {
        "no declaration fits this type; leave the column out, or write it in another way".to_owned()
    } else {
        format!("declare it as {}", fitting.join(" or "))
    };
    Err(SourceError::ColumnType {
        table: table.name().to_owned(),
        column: column.name().to_owned(),
        path: data.shown().to_owned(),
        problem: format!("the type {found}, which is not read as {}; {hint}", column.kind()),
    })
}

const EVERY_TYPE: [ColumnType; 6] = [
    ColumnType::Integer,
    ColumnType::Real,
    ColumnType::Text,
    ColumnType::Boolean,
    ColumnType::Date,
    ColumnType::Timestamp,
];

impl Part {
    /// The wanted columns of these files, in the engine's types.
    async fn scan(
        &self,
        state: &dyn Session,
        table: &FileTable,
        wanted: &[usize],
        limit: Option<usize>,
    ) -> EngineResult<Arc<dyn ExecutionPlan>> {
        let fields = table.schema.fields().iter().zip(&self.columns);
        let fields = fields.map(|(field, column)| Field::new(field.name(), column.found.clone(), true));
        let found = Arc::new(Schema::new(fields.collect::<Vec<Field>>()));
        let rows = match &self.files {
            Files::Parquet(files) => {
                let in_folders: Vec<bool> = self.columns.iter().map(|column| column.in_folders).collect();
                parquet_scan(state, &table.name, (&found, &in_folders), files, wanted, limit).await?
            }
            Files::Arrow(files) => {
                let values = |file: &ArrowShare| wanted.iter().map(|column| file.values[*column].clone()).collect();
                let files = files.iter().map(|file| ArrowShare { values: values(file), ..file.clone() });
                let partitions = state.config().target_partitions();
                arrow_scan(&Arc::new(found.project(wanted)?), files.collect(), partitions, limit)?
            }
        };
        let kinds = wanted.iter().map(|index| table.kinds[*index]).collect();
        let schema = Arc::new(table.schema.project(wanted)?);
        Ok(Arc::new(ConvertedRows::new(table.name.clone(), rows, schema, kinds)))
    }
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
