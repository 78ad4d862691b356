//! Reading Parquet files for a query, by the engine.
//!
//! The engine is told nothing of the files' statistics. Where they say that the least and the greatest value of a column are the same, it does not
//! read the column and fills in that value (DataFusion 55); but statistics leave NaN out, so that a row with NaN would take over the value of
//! somebody else's row. A test shows both sides.

use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::datatypes::{FieldRef, Schema, SchemaRef};
use datafusion::catalog::Session;
use datafusion::common::{Result as EngineResult, ScalarValue};
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::object_store::ObjectStoreUrl;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::object_store::ObjectStoreExt;
use datafusion::object_store::path::Path as StorePath;
use datafusion::physical_plan::ExecutionPlan;

use super::data_file::DataFile;
use super::error::SourceError;

/// A file, and the values of those columns that are in the names of its folders.
#[derive(Clone, Debug)]
pub(super) struct ParquetShare {
    pub(super) place: StorePath,
    pub(super) values: Vec<ScalarValue>,
}

/// The wanted ones of these columns, in the types in which the files have them. `in_folders` says which columns are in the names of folders.
pub(super) async fn parquet_scan(
    state: &dyn Session,
    table: &str,
    (schema, in_folders): (&SchemaRef, &[bool]),
    files: &[ParquetShare],
    wanted: &[usize],
    limit: Option<usize>,
) -> EngineResult<Arc<dyn ExecutionPlan>> {
    let store = state.runtime_env().object_store(ObjectStoreUrl::local_filesystem())?;
    let mut found = Vec::with_capacity(files.len());
    for file in files {
        let head = store.head(&file.place).await.map_err(|error| SourceError::scan(table, &error.into()))?;
        found.push(PartitionedFile::from(head).with_partition_values(file.values.clone()));
    }
    // The engine has the columns of folders after those of files.
    let of = |folder: bool| (0..in_folders.len()).filter(move |column| in_folders[*column] == folder);
    let fields =
        |folder: bool| of(folder).map(|column| Arc::clone(&schema.fields()[column])).collect::<Vec<FieldRef>>();
    let order: Vec<usize> = of(false).chain(of(true)).collect();
    let position = |column: &usize| order.iter().position(|other| other == column);
    let positions: Vec<usize> = wanted.iter().filter_map(position).collect();
    let columns = TableSchema::builder(Arc::new(Schema::new(fields(false)))).with_table_partition_cols(fields(true));
    let format = ParquetFormat::new();
    let scan = FileScanConfigBuilder::new(ObjectStoreUrl::local_filesystem(), format.file_source(columns.build()))
        .with_file_groups(FileGroup::new(found).split_files(state.config().target_partitions().max(1)))
        .with_projection_indices(Some(positions))?
        .with_limit(limit)
        .build();
    format.create_physical_plan(state, scan).await
}

/// A file's full name as the engine's store has it, whatever characters it has.
pub(super) fn store_path(file: &DataFile) -> Result<StorePath, SourceError> {
    let path: &Path = file.path();
    StorePath::from_absolute_path(path).map_err(|_| SourceError::Unreadable {
        path: file.shown().to_owned(),
        reason: "its name cannot be written as a URL".to_owned(),
    })
}
