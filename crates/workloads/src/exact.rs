//! Exact counts, as they come from the data. They are private: nothing here shows one.

use crate::{Attributes, Domain, WorkloadError};
use std::collections::BTreeMap;
use std::fmt;

/// The exact tables of several sets of attributes: private.
#[derive(Clone, PartialEq, Eq)]
pub struct ExactTables {
    domain: Domain,
    tables: BTreeMap<Attributes, Vec<u64>>,
}

/// Prints which tables there are, and none of their counts.
impl fmt::Debug for ExactTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExactTables")
            .field("domain", &self.domain)
            .field("sets", &self.tables.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl ExactTables {
    /// Tables that were counted elsewhere, in row-major order.
    ///
    /// # Errors
    /// If a table does not have the cells of its set, or more than `2^28`.
    pub fn new(
        domain: &Domain,
        tables: impl IntoIterator<Item = (Attributes, Vec<u64>)>,
    ) -> Result<Self, WorkloadError> {
        let tables: BTreeMap<Attributes, Vec<u64>> = tables.into_iter().collect();
        for (&set, table) in &tables {
            let cells = table.len() as u64;
            if domain.cells(set) != Some(cells) || cells > crate::marginals::MOST_CELLS {
                return Err(WorkloadError::Counts("a table does not have the cells of its set"));
            }
        }
        Ok(ExactTables { domain: domain.clone(), tables })
    }

    pub(crate) fn domain(&self) -> &Domain {
        &self.domain
    }

    /// The table of a set, summed from the smallest table that has its attributes; none if no table
    /// does.
    pub(crate) fn table(&self, set: Attributes) -> Option<Vec<i128>> {
        let (from, table) = self
            .tables
            .iter()
            .filter(|(from, _)| set.is_subset_of(**from))
            .min_by_key(|(_, table)| table.len())?;
        Some(summed(&self.domain, *from, table, set))
    }
}

/// The table over `set` from one over `from`, which has all of its attributes.
pub(crate) fn summed<T: Copy + Into<i128>>(
    domain: &Domain,
    from: Attributes,
    table: &[T],
    set: Attributes,
) -> Vec<i128> {
    let cells = domain.cells(set).unwrap_or(0) as usize;
    let mut sums = vec![0i128; cells];
    let strides = strides_in(domain, from, set);
    let shape = domain.shape(from);
    // An odometer over the cells of the larger table, with the index into the smaller one.
    let mut digits = vec![0usize; shape.len()];
    let mut index = 0usize;
    for &count in table {
        // At most 2^28 cells of at most 2^64 each, or as much with noise.
        let count: i128 = count.into();
        sums[index] += count;
        for axis in (0..shape.len()).rev() {
            digits[axis] += 1;
            index += strides[axis];
            if digits[axis] < shape[axis] {
                break;
            }
            index -= strides[axis] * shape[axis];
            digits[axis] = 0;
        }
    }
    sums
}

/// For each attribute of `from`, by how much a step in it moves the index into the table of `set`.
pub(crate) fn strides_in(domain: &Domain, from: Attributes, set: Attributes) -> Vec<usize> {
    let sizes = domain.sizes();
    from.iter()
        .map(|attribute| {
            if !set.contains(attribute) {
                return 0;
            }
            set.iter()
                .filter(|&later| later > attribute)
                .map(|later| sizes[later] as usize)
                .product()
        })
        .collect()
}

/// The exact counts of the cells of one histogram: private.
#[derive(Clone, PartialEq, Eq)]
pub struct ExactHistogram {
    counts: Vec<u64>,
}

/// Prints how many cells there are, and none of their counts.
impl fmt::Debug for ExactHistogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExactHistogram").field("cells", &self.counts.len()).finish_non_exhaustive()
    }
}

impl ExactHistogram {
    /// The counts of all cells.
    pub fn new(counts: Vec<u64>) -> Self {
        ExactHistogram { counts }
    }

    pub(crate) fn counts(&self) -> &[u64] {
        &self.counts
    }
}

/// Counts rows into the tables of several sets, in one pass.
///
/// A row whose values are not all in the public domain counts nowhere, and nothing says so: the
/// content of a row must not be an error. The total is the number of rows that count.
#[derive(Clone)]
pub struct Tally {
    domain: Domain,
    tables: Vec<Counted>,
}

/// A table with the stride of every attribute of the domain in it.
#[derive(Clone)]
struct Counted {
    set: Attributes,
    strides: Vec<usize>,
    counts: Vec<u64>,
}

/// Prints which tables are counted, and none of the counts.
impl fmt::Debug for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sets: Vec<Attributes> = self.tables.iter().map(|table| table.set).collect();
        f.debug_struct("Tally").field("sets", &sets).finish_non_exhaustive()
    }
}

impl Tally {
    /// Nothing counted yet.
    ///
    /// # Errors
    /// If a set has attributes that do not exist, or the tables have more than `2^28` cells in all.
    pub fn new(
        domain: &Domain,
        sets: impl IntoIterator<Item = Attributes>,
    ) -> Result<Self, WorkloadError> {
        let sets: std::collections::BTreeSet<Attributes> = sets.into_iter().collect();
        let mut tables = Vec::with_capacity(sets.len());
        let mut cells = 0u64;
        for set in sets {
            let own = domain.cells(set).filter(|_| set.is_subset_of(domain.all()));
            cells = own.and_then(|own| cells.checked_add(own)).unwrap_or(u64::MAX);
            if cells > crate::marginals::MOST_CELLS {
                return Err(WorkloadError::Counts(
                    "a set has attributes that do not exist, or the tables have more than 2^28 \
                     cells in all",
                ));
            }
            let counts = vec![0; own.unwrap_or(0) as usize];
            tables.push(Counted { set, strides: strides_in(domain, domain.all(), set), counts });
        }
        Ok(Tally { domain: domain.clone(), tables })
    }

    /// Counts a row: one value of each attribute of the domain.
    ///
    /// # Errors
    /// If the row has another number of values.
    pub fn add(&mut self, row: &[u64]) -> Result<(), WorkloadError> {
        self.add_times(row, 1)
    }

    /// Counts a row so often.
    ///
    /// # Errors
    /// If the row has another number of values.
    pub fn add_times(&mut self, row: &[u64], times: u64) -> Result<(), WorkloadError> {
        let sizes = self.domain.sizes();
        if row.len() != sizes.len() {
            return Err(WorkloadError::Counts("a row has one value of each attribute"));
        }
        if row.iter().zip(sizes).any(|(value, size)| value >= size) {
            return Ok(());
        }
        for table in &mut self.tables {
            let steps = row.iter().zip(&table.strides);
            let index: usize = steps.map(|(&value, &stride)| value as usize * stride).sum();
            if let Some(count) = table.counts.get_mut(index) {
                *count = count.saturating_add(times);
            }
        }
        Ok(())
    }

    /// What was counted.
    pub fn finish(self) -> ExactTables {
        let tables = self.tables.into_iter().map(|table| (table.set, table.counts)).collect();
        ExactTables { domain: self.domain, tables }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn domain() -> Domain {
        Domain::new([("a", 3), ("b", 2), ("c", 4)]).expect("valid")
    }

    #[test]
    fn smaller_tables_are_sums_of_larger_ones() {
        let domain = domain();
        let sets: Vec<Attributes> = domain.all().subsets().collect();
        let mut all = Tally::new(&domain, sets.clone()).expect("small");
        let mut one = Tally::new(&domain, [domain.all()]).expect("small");
        for step in 0..500u64 {
            let row = [step * step % 3, step / 7 % 2, step % 4];
            all.add(&row).expect("three values");
            one.add(&row).expect("three values");
        }
        let (all, one) = (all.finish(), one.finish());
        for set in sets {
            let direct: Vec<i128> = all.tables[&set].iter().map(|&count| count.into()).collect();
            assert_eq!(one.table(set), Some(direct), "{set:?}");
        }
        assert_eq!(one.table(Attributes::NONE), Some(vec![500]));
        assert_eq!(one.table(Attributes::NONE.with(9)), None);
    }

    #[test]
    fn rows_outside_the_domain_count_nowhere_and_are_no_error() {
        let mut tally = Tally::new(&domain(), [Attributes::NONE.with(0)]).expect("small");
        for row in [[3, 0, 0], [0, 2, 0], [0, 0, u64::MAX]] {
            tally.add(&row).expect("no error");
        }
        assert!(tally.add(&[0, 0]).is_err());
        assert_eq!(tally.finish().table(Attributes::NONE), Some(vec![0]));
    }

    #[test]
    fn nothing_shows_a_count() {
        let mut tally = Tally::new(&domain(), [Attributes::NONE]).expect("small");
        for _ in 0..7777 {
            tally.add(&[0, 0, 0]).expect("three values");
        }
        assert!(!format!("{tally:?}").contains("7777"));
        assert!(!format!("{:?}", tally.finish()).contains("7777"));
        assert!(!format!("{:?}", ExactHistogram::new(vec![7777])).contains("7777"));
    }

    #[test]
    fn a_table_of_the_wrong_size_is_refused() {
        assert!(ExactTables::new(&domain(), [(Attributes::NONE, vec![1, 2])]).is_err());
        let huge = Domain::new([("a", 1 << 20), ("b", 1 << 20)]).expect("valid");
        assert!(Tally::new(&huge, [huge.all()]).is_err());
        assert!(Tally::new(&domain(), [Attributes::NONE.with(5)]).is_err());
    }
}
