//! Under which name the answer shows an aggregate.

use crate::prepare::Prepared;
use datafusion::logical_expr::{Expr, LogicalPlan};

impl Prepared {
    /// The name of the column of the answer that is this output of the aggregate, unchanged; none if the answer shows it only inside something else.
    #[must_use]
    pub fn shown_as(&self, output: usize) -> Option<&str> {
        let released = format!("v{output}");
        let place = (0..self.columns.len()).find(|&place| origin(&self.after, place) == Some(released.as_str()))?;
        self.columns.get(place).map(String::as_str)
    }
}

/// The column of the table of released figures that a column of a plan is, unchanged.
fn origin(plan: &LogicalPlan, place: usize) -> Option<&str> {
    match plan {
        LogicalPlan::Projection(projection) => {
            let mut expression = projection.expr.get(place)?;
            while let Expr::Alias(alias) = expression {
                expression = &alias.expr;
            }
            let Expr::Column(column) = expression else { return None };
            origin(&projection.input, projection.input.schema().index_of_column(column).ok()?)
        }
        LogicalPlan::Filter(filter) => origin(&filter.input, place),
        LogicalPlan::Sort(sort) => origin(&sort.input, place),
        LogicalPlan::Limit(limit) => origin(&limit.input, place),
        LogicalPlan::SubqueryAlias(alias) => origin(&alias.input, place),
        LogicalPlan::TableScan(scan) => (scan.table_name.table() == crate::sql::RELEASED)
            .then(|| scan.projected_schema.fields().get(place).map(|field| field.name().as_str()))
            .flatten(),
        _ => None,
    }
}
