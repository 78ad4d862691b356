//! The groups of an answer.

use super::division::Division;
use super::identity::{Identities, Identity, Item};
use super::interner::Interner;
use super::secret_key::SecretKey;
use super::view_memo::ViewMemo;
use crate::EngineError;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringViewArray, UInt32Array};
use datafusion::arrow::compute::{SortColumn, lexsort_to_indices, take};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use reticent_numerics::require;
use std::sync::Arc;

/// Which groups there are.
#[derive(Clone, Debug)]
pub enum GroupKeys {
    /// These, one row per group, in the order of the answer, whether or not they occur. Rows with
    /// other keys are left out *before* contributions are bounded: which groups are asked for is
    /// public, so a unit's rows elsewhere need not use up its share.
    Public(RecordBatch),
    /// Those that occur in what is left after contributions are bounded, sorted by key: the order
    /// tells nothing about the rows.
    Found,
}

/// Numbers for group keys.
#[derive(Debug)]
pub(super) struct Groups {
    /// Where the columns of the key are.
    columns: Vec<usize>,
    identity: Arc<Identity>,
    pub(super) interner: Interner,
    memo: ViewMemo,
    public: Option<RecordBatch>,
    schema: Arc<Schema>,
}

impl Groups {
    /// For keys in these columns. Without any, there is one group, which is public.
    ///
    /// # Errors
    /// If a type is none of the engine's, or the public keys have other types or are not distinct.
    pub(super) fn new(
        keys: &[usize],
        groups: GroupKeys,
        schema: &Schema,
        key: SecretKey,
    ) -> Result<Self, EngineError> {
        let fields: Vec<Field> = keys.iter().map(|&column| schema.field(column).clone()).collect();
        let identity = Identity::new(fields.iter())?;
        let plain = fields.into_iter().map(|field| match field.data_type().clone() {
            DataType::Dictionary(_, values) => field.with_data_type(*values),
            _ => field,
        });
        // Also a column that is never NULL can be asked for its NULL.
        let schema =
            Arc::new(Schema::new(plain.map(|field| field.with_nullable(true)).collect::<Vec<_>>()));
        let interner = identity.interner(key, Division::WHOLE);
        let public = match groups {
            _ if keys.is_empty() => Some(batch(&schema, Vec::new(), 1)?),
            GroupKeys::Found => None,
            GroupKeys::Public(keys) => Some(keys),
        };
        let columns = keys.to_vec();
        let mut groups = Self {
            columns,
            identity: Arc::new(identity),
            interner,
            memo: ViewMemo::new(),
            public: None,
            schema,
        };
        if let Some(public) = public {
            groups.set_public(public, key)?;
        }
        Ok(groups)
    }

    fn set_public(&mut self, keys: RecordBatch, key: SecretKey) -> Result<(), EngineError> {
        let expected = self.schema.fields();
        let found = keys.schema();
        let columns = found.fields().len();
        require(
            columns == expected.len(),
            "number of columns of the public groups",
            columns as f64,
            "that of the columns of the group key",
        )?;
        for (expected, found) in expected.iter().zip(found.fields()) {
            if expected.data_type() != found.data_type() {
                return Err(EngineError::ColumnType {
                    column: found.name().clone(),
                    found: found.data_type().clone(),
                    accepted: "public groups have the types of the group key",
                });
            }
        }
        let mut numbers = Vec::new();
        let identities = self.identity.of(keys.columns(), keys.num_rows(), &key)?;
        self.interner.intern_all(&identities, 0..keys.num_rows(), &mut numbers)?;
        require(
            self.interner.len() >= keys.num_rows(),
            "number of distinct public groups",
            self.interner.len() as f64,
            "the number of groups listed, each once (0.0 and -0.0 are one key, and so are all NaN)",
        )?;
        self.public = Some(keys);
        Ok(())
    }

    /// The same groups for another part of the table.
    pub(super) fn another(&self, key: SecretKey) -> Result<Self, EngineError> {
        let mut another = Self {
            columns: self.columns.clone(),
            identity: self.identity.clone(),
            interner: self.identity.interner(key, Division::WHOLE),
            memo: ViewMemo::new(),
            public: None,
            schema: self.schema.clone(),
        };
        if let Some(public) = &self.public {
            another.set_public(public.clone(), key)?;
        }
        Ok(another)
    }

    /// The identities of the keys of a batch.
    pub(super) fn identities(
        &self,
        batch: &RecordBatch,
        key: &SecretKey,
    ) -> Result<Identities, EngineError> {
        let keys: Vec<ArrayRef> =
            self.columns.iter().map(|&column| batch.column(column).clone()).collect();
        self.identity.of(&keys, batch.num_rows(), key)
    }

    /// The number of a key; [`NONE`](super::interner::NONE) for one that is not among public
    /// groups, whose rows are left out.
    ///
    /// # Errors
    /// If there are too many.
    #[inline]
    pub(super) fn number(&mut self, hash: u64, item: Item<'_>) -> Result<u32, EngineError> {
        if self.public.is_some() {
            Ok(self.interner.find(hash, item))
        } else {
            self.interner.intern(hash, item)
        }
    }

    /// The numbers of the keys of a batch, in the same way.
    ///
    /// # Errors
    /// If there are too many.
    pub(super) fn numbers(
        &mut self,
        batch: &RecordBatch,
        key: &SecretKey,
        numbers: &mut Vec<u32>,
    ) -> Result<(), EngineError> {
        if let &[column] = self.columns.as_slice()
            && let Some(texts) = batch.column(column).as_string_view_opt()
        {
            return self.numbers_of_texts(texts, key, numbers);
        }
        let keys = self.identities(batch, key)?;
        if self.public.is_some() {
            self.interner.find_all(&keys, numbers);
            Ok(())
        } else {
            self.interner.intern_all(&keys, 0..keys.marks().len(), numbers)
        }
    }

    fn numbers_of_texts(
        &mut self,
        texts: &StringViewArray,
        key: &SecretKey,
        numbers: &mut Vec<u32>,
    ) -> Result<(), EngineError> {
        numbers.clear();
        self.memo.turn_to(texts);
        for (row, &view) in texts.views().iter().enumerate() {
            if texts.is_null(row) {
                numbers.push(self.number(key.null(), Item::Null)?);
                continue;
            }
            let (slot, known) = self.memo.get(view);
            let number = match known {
                Some(number) => number,
                None => {
                    let bytes = texts.value(row).as_bytes();
                    let number = self.number(key.bytes(bytes), Item::Bytes(bytes))?;
                    self.memo.put(slot, view, number);
                    number
                }
            };
            numbers.push(number);
        }
        Ok(())
    }

    /// The groups that are in the answer in their order, as keys and as numbers, given how many
    /// units are in each.
    pub(super) fn answer(&self, units: &[u64]) -> Result<(RecordBatch, Vec<u32>), EngineError> {
        if let Some(public) = &self.public {
            return Ok((public.clone(), (0..public.num_rows() as u32).collect()));
        }
        let mut numbers: Vec<u32> =
            (0..units.len() as u32).filter(|&number| units[number as usize] > 0).collect();
        let columns =
            self.identity.columns(numbers.iter().map(|&number| self.interner.item(number)))?;
        let by: Vec<SortColumn> = columns
            .iter()
            .map(|column| SortColumn { values: column.clone(), options: None })
            .collect();
        let order: UInt32Array = lexsort_to_indices(&by, None).map_err(|_| FAULT)?;
        let sorted: Result<Vec<ArrayRef>, _> =
            columns.iter().map(|column| take(column, &order, None)).collect();
        numbers = order.values().iter().map(|&at| numbers[at as usize]).collect();
        Ok((batch(&self.schema, sorted.map_err(|_| FAULT)?, numbers.len())?, numbers))
    }
}

const FAULT: EngineError = EngineError::Fault { part: "the groups of an answer" };

fn batch(
    schema: &Arc<Schema>,
    columns: Vec<ArrayRef>,
    rows: usize,
) -> Result<RecordBatch, EngineError> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options).map_err(|_| FAULT)
}
