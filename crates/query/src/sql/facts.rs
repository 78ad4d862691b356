//! What is publicly known of a column of rows.

use super::range::Range;
use datafusion::common::{Column, ScalarValue};
use datafusion::logical_expr::LogicalPlan;
use std::sync::Arc;

/// Which values a column can have.
#[derive(Clone, Debug, Default)]
pub(crate) enum Domain {
    /// Not known.
    #[default]
    Unknown,
    /// These, as the policy says.
    Values(Arc<Vec<ScalarValue>>),
    /// Those of a column of public tables, which may be read.
    Public {
        /// The tables.
        plan: Arc<LogicalPlan>,
        /// The column.
        column: Column,
        /// Whether a join makes it NULL where there is no match.
        lost: bool,
    },
}

/// What is publicly known of a column.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) range: Range,
    pub(crate) domain: Domain,
    /// The limits of one unit's sum in one group, if the policy states them.
    pub(crate) unit_range: Option<Range>,
    pub(crate) nullable: bool,
    /// Whether it holds the unit of each row, as the other side of an inner join on the unit does.
    pub(crate) is_unit: bool,
}

impl Facts {
    pub(crate) fn unknown() -> Facts {
        Facts {
            range: Range::UNKNOWN,
            domain: Domain::Unknown,
            unit_range: None,
            nullable: true,
            is_unit: false,
        }
    }
}
