//! Linear queries over the cells of some attributes, from which the cells that no query tells apart
//! are merged.

use crate::{
    Attributes, Domain, ExactHistogram, ExactTables, LinearQuery, LinearWorkload, WorkloadError,
};
use std::collections::BTreeMap;

/// Named linear queries over the table of some attributes.
///
/// Cells in which all queries have the same weights count as one, and cells that are in no query
/// are left out: what is planned is a histogram of the cells that differ, of which there may be
/// 4096, and the table may have `2^20`. Nothing is lost by it: an answer depends on the merged
/// cells alone, and merging rows of a histogram changes no sensitivity.
#[derive(Clone, Debug, PartialEq)]
pub struct CellWorkload {
    domain: Domain,
    attributes: Attributes,
    names: Vec<String>,
    workload: LinearWorkload,
    /// For each cell of the table its cell of the histogram, if it has one.
    merged: Vec<Option<usize>>,
}

/// The most cells of the table.
const MOST_CELLS: u64 = 1 << 20;

impl CellWorkload {
    /// Queries by name: the weight of each cell of the table, in row-major order.
    ///
    /// # Errors
    /// If there are none, one has no support or weights of a size beyond 1e-6 to 1e6, the table has
    /// more than `2^20` cells, or the queries tell more than 4096 apart.
    pub fn new(
        domain: &Domain,
        attributes: Attributes,
        queries: impl IntoIterator<Item = (String, Vec<f64>)>,
    ) -> Result<Self, WorkloadError> {
        let cells = table_cells(domain, attributes)?;
        let (names, weights): (Vec<String>, Vec<Vec<f64>>) = queries.into_iter().unzip();
        if let Some(index) = weights.iter().position(|weights| weights.len() != cells) {
            return Err(WorkloadError::Workload(format!(
                "the query `{}` has not one weight for each cell",
                names[index]
            )));
        }
        let mut classes: BTreeMap<Vec<u64>, usize> = BTreeMap::new();
        let mut merged = Vec::with_capacity(cells);
        let mut lists: Vec<Vec<(usize, f64)>> = vec![Vec::new(); weights.len()];
        for cell in 0..cells {
            // 0.0 and -0.0 are one weight; NaN is refused below.
            let column: Vec<f64> = weights.iter().map(|weights| weights[cell] + 0.0).collect();
            if column.iter().all(|&weight| weight == 0.0) {
                merged.push(None);
                continue;
            }
            let next = classes.len();
            let signature = column.iter().map(|weight| weight.to_bits()).collect();
            let class = *classes.entry(signature).or_insert(next);
            if class == next {
                let with = lists.iter_mut().zip(&column);
                with.for_each(|(list, &weight)| list.push((class, weight)));
            }
            merged.push(Some(class));
        }
        let queries = lists.into_iter().zip(&names).map(|(list, name)| {
            LinearQuery::new(list).map_err(|error| WorkloadError::Text {
                statement: name.clone(),
                problem: error.to_string(),
            })
        });
        let queries = queries.collect::<Result<Vec<_>, _>>()?;
        if classes.len() > crate::linear::MOST_CELLS {
            return Err(WorkloadError::Workload(format!(
                "its queries tell {} cells apart, and 4096 is the most: ask for fewer queries, or \
                 over fewer attributes",
                classes.len()
            )));
        }
        let workload = LinearWorkload::of(classes.len(), queries)?;
        Ok(CellWorkload { domain: domain.clone(), attributes, names, workload, merged })
    }

    /// The distribution function of one attribute: how many rows have its first value, its first
    /// two, and so on. `name` says what a query is called, by the index of its last value.
    ///
    /// # Errors
    /// If the attribute does not exist, or has more than 4096 values.
    pub fn prefixes(
        domain: &Domain,
        attribute: usize,
        name: impl Fn(usize) -> String,
    ) -> Result<Self, WorkloadError> {
        let (attributes, cells) = one_attribute(domain, attribute)?;
        let workload = LinearWorkload::prefixes(cells)?;
        let names = (0..cells).map(name).collect();
        let merged = (0..cells).map(Some).collect();
        Ok(CellWorkload { domain: domain.clone(), attributes, names, workload, merged })
    }

    /// How many rows are between two values of one attribute, for all pairs.
    ///
    /// # Errors
    /// If the attribute does not exist, or has more than 1024 values.
    pub fn ranges(
        domain: &Domain,
        attribute: usize,
        name: impl Fn(usize, usize) -> String,
    ) -> Result<Self, WorkloadError> {
        let (attributes, cells) = one_attribute(domain, attribute)?;
        let accepted = "an integer from 1 to 1024, for all ranges";
        reticent_numerics::require(cells <= 1024, "cells", cells as f64, accepted)?;
        let workload = LinearWorkload::ranges(cells)?;
        let pairs = (0..cells).flat_map(|from| (from..cells).map(move |to| (from, to)));
        let names = pairs.map(|(from, to)| name(from, to)).collect();
        let merged = (0..cells).map(Some).collect();
        Ok(CellWorkload { domain: domain.clone(), attributes, names, workload, merged })
    }

    /// The attributes whose table is counted.
    pub fn attributes(&self) -> Attributes {
        self.attributes
    }

    /// The domain.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// The names of the queries, in their order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The queries over the merged cells.
    pub fn workload(&self) -> &LinearWorkload {
        &self.workload
    }

    /// The counts of the merged cells.
    ///
    /// # Errors
    /// If the tables are of another domain, or lack that of the attributes.
    pub(crate) fn histogram(&self, counts: &ExactTables) -> Result<ExactHistogram, WorkloadError> {
        if counts.domain() != &self.domain {
            return Err(WorkloadError::Counts("they are of another domain"));
        }
        let table = counts
            .table(self.attributes)
            .ok_or(WorkloadError::Counts("the table of the attributes is missing"))?;
        let mut merged = vec![0u64; self.workload.cells()];
        for (count, class) in table.into_iter().zip(&self.merged) {
            if let Some(sum) = class.and_then(|class| merged.get_mut(class)) {
                // Counts are not negative, and their sum is at most the number of rows.
                *sum = sum.saturating_add(u64::try_from(count).unwrap_or(0));
            }
        }
        Ok(ExactHistogram::new(merged))
    }
}

fn table_cells(domain: &Domain, attributes: Attributes) -> Result<usize, WorkloadError> {
    match domain.cells(attributes) {
        Some(cells) if cells <= MOST_CELLS => Ok(cells as usize),
        Some(_) | None => Err(WorkloadError::Workload(
            "the table of its attributes has more than 2^20 (1048576) cells: name only attributes \
             that its queries need, or coarser ones"
                .into(),
        )),
    }
}

fn one_attribute(domain: &Domain, index: usize) -> Result<(Attributes, usize), WorkloadError> {
    let size = domain.sizes().get(index).copied().ok_or_else(|| {
        WorkloadError::Domain(format!("there is no attribute of the index {index}"))
    })?;
    Ok((Attributes::NONE.with(index), usize::try_from(size).unwrap_or(usize::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tally;

    fn domain() -> Domain {
        Domain::new([("a", 3), ("b", 2), ("c", 4)]).expect("valid")
    }

    #[test]
    fn cells_that_no_query_tells_apart_are_one() {
        let domain = domain();
        let set = domain.set_of(&["a", "b"]).expect("known");
        let first = vec![1.0, 1.0, 0.0, 0.0, 0.0, 0.0];
        let second = vec![1.0, 1.0, 1.0, -0.0, 0.0, 0.0];
        let queries = [("first".to_owned(), first), ("second".to_owned(), second)];
        let workload = CellWorkload::new(&domain, set, queries).expect("valid");
        assert_eq!(workload.workload().cells(), 2);
        assert_eq!(workload.names(), ["first", "second"]);
        let mut tally = Tally::new(&domain, [domain.all()]).expect("small");
        for (row, times) in [([0, 0, 1], 3), ([0, 1, 0], 4), ([1, 0, 3], 5), ([2, 1, 0], 100)] {
            tally.add_times(&row, times).expect("a row");
        }
        let histogram = workload.histogram(&tally.finish()).expect("counted");
        assert_eq!(histogram.counts(), [7, 5]);
    }

    #[test]
    fn what_cannot_be_asked_is_refused_by_name() {
        let domain = domain();
        let set = Attributes::NONE.with(0);
        let refused = |weights: Vec<f64>| {
            CellWorkload::new(&domain, set, [("q".to_owned(), weights)])
                .expect_err("refused")
                .to_string()
        };
        assert!(refused(vec![0.0; 3]).contains("`q`"));
        assert!(refused(vec![1.0; 2]).contains("one weight for each cell"));
        assert!(refused(vec![f64::NAN, 1.0, 1.0]).contains("weight"));
        assert!(CellWorkload::new(&domain, set, []).is_err());
        assert!(CellWorkload::prefixes(&domain, 3, |_| String::new()).is_err());
        let wide = Domain::new([("w", 2000), ("v", 2000)]).expect("valid");
        assert!(CellWorkload::ranges(&wide, 0, |_, _| String::new()).is_err());
        assert!(CellWorkload::new(&wide, wide.all(), []).is_err());
        let empty = Tally::new(&wide, [wide.all()]).expect("small").finish();
        let prefixes = CellWorkload::prefixes(&domain, 0, |k| k.to_string()).expect("valid");
        assert!(prefixes.histogram(&empty).is_err());
        assert_eq!(prefixes.names(), ["0", "1", "2"]);
    }
}
