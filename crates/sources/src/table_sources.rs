//! Which source each table of a policy has.

use std::collections::HashMap;
use std::sync::Arc;

use reticent_policy::{Policy, TablePolicy};

use super::error::SourceError;
use super::source::Source;

/// The tables of a policy: the files that it names, or for some of them a source that is given.
///
/// ```
/// # use reticent_policy::Policy;
/// # use reticent_sources::{MemorySource, TableSources};
/// # use std::{path::Path, sync::Arc};
/// # let text = "[budget]\nepsilon = 1\n[tables.t]\neach_row = true\nsource = 'x'\n\
/// #     columns.n.type = 'integer'\n";
/// let policy = Policy::parse(text, Path::new("policy.toml"))?;
/// let rows = MemorySource::from_batches(&policy.tables()[0], Vec::new())?;
/// let tables = TableSources::from(&policy).with("t", Arc::new(rows))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct TableSources<'a> {
    policy: &'a Policy,
    given: HashMap<String, Arc<dyn Source>>,
}

impl<'a> From<&'a Policy> for TableSources<'a> {
    fn from(policy: &'a Policy) -> TableSources<'a> {
        TableSources { policy, given: HashMap::new() }
    }
}

impl<'a> TableSources<'a> {
    /// The same with this source for a table, whatever files the policy names for it.
    ///
    /// # Errors
    /// If the policy has no such table, or the source has not its columns in the engine's types.
    pub fn with(mut self, table: &str, source: Arc<dyn Source>) -> Result<Self, SourceError> {
        let declared = self.policy.tables().iter().find(|declared| declared.name() == table);
        let fits = |declared| super::engine_schema(declared) == source.schema();
        if !declared.is_some_and(fits) {
            return Err(SourceError::NoSuchTable { table: table.to_owned() });
        }
        self.given.insert(table.to_owned(), source);
        Ok(self)
    }

    /// What they are the tables of.
    #[must_use]
    pub fn policy(&self) -> &'a Policy {
        self.policy
    }

    /// Opens a table of the policy. No row is read.
    ///
    /// # Errors
    /// If its files cannot be opened; see [`open`](crate::open).
    pub fn open(&self, table: &TablePolicy) -> Result<Arc<dyn Source>, SourceError> {
        match self.given.get(table.name()) {
            Some(source) => Ok(Arc::clone(source)),
            None => super::open(table, self.policy.folder()),
        }
    }
}
