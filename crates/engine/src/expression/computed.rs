//! An expression as the engine sees it: one function of columns, which cannot fail.
//!
//! The engine knows nothing of what is inside. So it cannot simplify, reorder, prune or evaluate
//! any part of an expression by kernels of its own, in this version or another. Should a kernel
//! fail or panic all the same, the batch is computed again row by row, and a row that fails is
//! NULL: what a row becomes never depends on the rows that happen to be in the same batch.

use super::kind::Kind;
use super::node::Node;
use super::values::{Values, presented, stored};
use super::written::written;
use datafusion::arrow::array::{Array, ArrayRef, new_null_array};
use datafusion::arrow::compute::concat;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use reticent_sources::mutation::{Mend, is_out};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

/// An expression over columns.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Computed {
    pub(super) node: Node,
    /// The kind of each column.
    pub(super) columns: Vec<Kind>,
    /// The type that the plan expects.
    pub(super) declared: DataType,
    /// The expression in the planner's notation: its name.
    pub(super) name: String,
    /// The expression as it was written, for people.
    pub(super) written: String,
    pub(super) signature: Signature,
}

impl Computed {
    pub(super) fn call(
        node: Node,
        columns: Vec<(Expr, Kind)>,
        declared: DataType,
        expression: &Expr,
    ) -> Expr {
        let (arguments, columns): (Vec<Expr>, Vec<Kind>) = columns.into_iter().unzip();
        let signature = Signature::variadic_any(Volatility::Immutable);
        let (name, written) = (expression.to_string(), written(expression));
        ScalarUDF::new_from_impl(Computed { node, columns, declared, name, written, signature })
            .call(arguments)
    }

    /// The values for all rows, in the declared type.
    fn evaluate(&self, columns: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        let columns = columns.iter().zip(&self.columns).map(|(column, kind)| {
            Ok(match column {
                ColumnarValue::Array(array) => Values::new(stored(array, *kind)?, false),
                ColumnarValue::Scalar(value) => {
                    Values::new(stored(&value.to_array()?, *kind)?, true)
                }
            })
        });
        let values = self.node.evaluate(&columns.collect::<Result<Vec<_>>>()?, rows)?;
        let array = presented(values.array(), self.node.kind, &self.declared)?;
        if values.is_shared() {
            ScalarValue::try_from_array(&array, 0)?.to_array_of_size(rows)
        } else {
            Ok(array)
        }
    }

    /// The values for all rows; a row on which a kernel fails is NULL.
    fn guarded(&self, columns: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        if is_out(Mend::Rounding) || is_out(Mend::Ilike) {
            return self.evaluate(columns, rows);
        }
        if is_out(Mend::OwnRow) && rows > 1 {
            let array = self.evaluate(columns, rows)?;
            return Ok(concat(&[&array.slice(0, rows - 1), &new_null_array(&self.declared, 1)])?);
        }
        if let Some(array) = quietly(|| self.evaluate(columns, rows)) {
            return Ok(array);
        }
        let mut cells: Vec<ArrayRef> = vec![new_null_array(&self.declared, 0)];
        for row in 0..rows {
            let alone: Vec<ColumnarValue> = columns
                .iter()
                .map(|column| match column {
                    ColumnarValue::Array(array) => ColumnarValue::Array(array.slice(row, 1)),
                    ColumnarValue::Scalar(value) => ColumnarValue::Scalar(value.clone()),
                })
                .collect();
            let cell = quietly(|| self.evaluate(&alone, 1));
            cells.push(cell.unwrap_or_else(|| new_null_array(&self.declared, 1)));
        }
        let cells: Vec<&dyn Array> = cells.iter().map(AsRef::as_ref).collect();
        Ok(concat(&cells)?)
    }
}

thread_local! {
    /// Whether a panic on this thread is about to be caught, so that it must not be told.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// What `work` gives, unless it fails or panics; nothing is printed, because it could tell of a
/// row.
fn quietly<T>(work: impl FnOnce() -> Result<T>) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                before(panic);
            }
        }));
    });
    QUIET.set(true);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    QUIET.set(false);
    outcome.ok()?.ok()
}

impl ScalarUDFImpl for Computed {
    fn name(&self) -> &str {
        "computed"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.declared.clone())
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(ColumnarValue::Array(self.guarded(&arguments.args, arguments.number_rows)?))
    }

    fn display_name(&self, arguments: &[Expr]) -> Result<String> {
        self.schema_name(arguments)
    }

    fn schema_name(&self, _: &[Expr]) -> Result<String> {
        Ok(self.name.clone())
    }
}
