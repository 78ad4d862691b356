//! The policy file: what is private, what is public knowledge, and how much may be spent.
//!
//! What it is: a TOML file, read and judged as a whole. What it never does: open a table. Whatever
//! it says is public; a value that was taken from the data (the greatest age that occurs, the
//! diagnoses that occur) makes every answer leak, and no program can notice.
//!
//! ```
//! use reticent_policy::{Policy, Privacy};
//!
//! let text = r#"
//!     [budget]
//!     epsilon = 1
//!     delta = 1e-6
//!
//!     [tables.visits]
//!     source = "visits.csv"
//!     unit = "patient"
//!     max_groups = 5
//!     max_rows = 10
//!
//!     [tables.visits.columns.patient]
//!     type = "text"
//!     [tables.visits.columns.age]
//!     type = "integer"
//!     bounds = [0, 120]
//! "#;
//! let policy = Policy::parse(text, "clinic/policy.toml".as_ref())?;
//! assert_eq!(policy.ledger(), std::path::Path::new("clinic/policy.ledger"));
//! let visits = policy.table("Visits").expect("names do not depend on case");
//! assert_eq!(visits.max_groups(), Some(5));
//! assert!(matches!(visits.privacy(), Privacy::Unit { column, .. } if column == "patient"));
//! # Ok::<(), reticent_policy::PolicyError>(())
//! ```

mod budget;
mod column;
mod draft_marker;
mod error;
mod file;
mod policy;
mod schema;
mod table;
mod value;

pub use budget::{Accounting, PolicyBudget};
pub use column::{Bounds, Column};
pub use draft_marker::fill_in;
pub use error::PolicyError;
pub use policy::Policy;
pub use schema::json_schema;
pub use table::{CsvOptions, Format, NOTES, Privacy, TablePolicy};
pub use value::{ColumnType, LONGEST_TEXT, Value};
