//! Which linear queries are asked.

use crate::{Domain, WorkloadError};
use faer::Mat;

/// The most cells of a histogram whose queries are planned by matrices.
pub(crate) const MOST_CELLS: usize = 4096;

/// The most queries of a list.
const MOST_QUERIES: usize = 1 << 22;

/// A weighted sum of cells.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearQuery {
    terms: Vec<(usize, f64)>,
}

impl LinearQuery {
    /// The sum of the named cells, each with its weight. Cells that are named twice add up.
    ///
    /// # Errors
    /// If a weight is neither zero nor of a size from 1e-6 to 1e6, or all weights are zero.
    pub fn new(terms: impl IntoIterator<Item = (usize, f64)>) -> Result<Self, WorkloadError> {
        let mut sums = std::collections::BTreeMap::new();
        for (cell, weight) in terms {
            *sums.entry(cell).or_insert(0.0) += weight;
        }
        for &weight in sums.values() {
            let size = f64::abs(weight);
            let accepted = "0 or a number from 1e-6 to 1e6, or the negative of one";
            let holds = size == 0.0 || (1e-6..=1e6).contains(&size);
            reticent_numerics::require(holds, "weight", weight, accepted)?;
        }
        let terms: Vec<(usize, f64)> =
            sums.into_iter().filter(|&(_, weight)| weight != 0.0).collect();
        if terms.is_empty() {
            return Err(WorkloadError::Workload(
                "a query has no support: all of its weights are zero".into(),
            ));
        }
        Ok(LinearQuery { terms })
    }

    /// How many rows are in the named cells.
    ///
    /// # Errors
    /// If there are none.
    pub fn counting(cells: impl IntoIterator<Item = usize>) -> Result<Self, WorkloadError> {
        let cells: std::collections::BTreeSet<usize> = cells.into_iter().collect();
        Self::new(cells.into_iter().map(|cell| (cell, 1.0)))
    }

    /// The cells with their weights, none of which is zero.
    pub fn terms(&self) -> &[(usize, f64)] {
        &self.terms
    }

    /// The answer on a histogram; cells beyond its end count nothing.
    pub fn answer(&self, histogram: &[f64]) -> f64 {
        self.terms.iter().filter_map(|&(cell, weight)| Some(weight * histogram.get(cell)?)).sum()
    }
}

/// Linear queries over a histogram of some cells.
///
/// # Example
/// ```
/// use reticent_workloads::{LinearQuery, LinearWorkload};
///
/// let prefixes = LinearWorkload::prefixes(4)?;
/// assert_eq!(prefixes.answers(&[1.0, 2.0, 3.0, 4.0]), [1.0, 3.0, 6.0, 10.0]);
/// assert_eq!(LinearWorkload::ranges(4)?.queries(), 10);
/// assert!(LinearWorkload::of(4, vec![LinearQuery::counting([0, 1])?]).is_err());
/// # Ok::<(), reticent_workloads::WorkloadError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LinearWorkload {
    cells: usize,
    queries: Queries,
}

#[derive(Clone, Debug, PartialEq)]
enum Queries {
    Prefixes,
    Ranges,
    Explicit(Vec<LinearQuery>),
}

/// The inverse of a Gram matrix that is tridiagonal: its diagonal and what is next to it.
#[derive(Clone, Debug)]
pub(crate) struct Tridiagonal {
    pub(crate) diagonal: Vec<f64>,
    pub(crate) beside: f64,
}

fn check_cells(cells: usize) -> Result<(), WorkloadError> {
    let accepted = "an integer from 1 to 4096";
    let holds = (1..=MOST_CELLS).contains(&cells);
    reticent_numerics::require(holds, "cells", cells as f64, accepted)?;
    Ok(())
}

impl LinearWorkload {
    /// All prefix sums `x_0 + .. + x_k`: the distribution function.
    ///
    /// # Errors
    /// If there are no cells, or more than 4096.
    pub fn prefixes(cells: usize) -> Result<Self, WorkloadError> {
        check_cells(cells)?;
        Ok(LinearWorkload { cells, queries: Queries::Prefixes })
    }

    /// All sums `x_i + .. + x_k` of neighbouring cells.
    ///
    /// # Errors
    /// If there are no cells, or more than 4096.
    pub fn ranges(cells: usize) -> Result<Self, WorkloadError> {
        check_cells(cells)?;
        Ok(LinearWorkload { cells, queries: Queries::Ranges })
    }

    /// Any queries.
    ///
    /// # Errors
    /// If there are none or more than `2^22`, no cells or more than 4096, a query names a cell that
    /// does not exist, or a cell is in no query.
    pub fn of(cells: usize, queries: Vec<LinearQuery>) -> Result<Self, WorkloadError> {
        check_cells(cells)?;
        if queries.is_empty() || queries.len() > MOST_QUERIES {
            return Err(WorkloadError::Workload(format!(
                "it has {} queries, but it must have from 1 to 2^22",
                queries.len()
            )));
        }
        let mut used = vec![false; cells];
        for (cell, _) in queries.iter().flat_map(|query| &query.terms) {
            match used.get_mut(*cell) {
                Some(used) => *used = true,
                None => {
                    return Err(WorkloadError::Workload(format!(
                        "a query names the cell {cell}, but there are only {cells}"
                    )));
                }
            }
        }
        if let Some(unused) = used.iter().position(|used| !used) {
            return Err(WorkloadError::Workload(format!(
                "no query has the cell {unused} in it: leave it out of the histogram"
            )));
        }
        Ok(LinearWorkload { cells, queries: Queries::Explicit(queries) })
    }

    /// Reads `prefixes of age` or `ranges of age`, for an attribute of a domain.
    ///
    /// # Errors
    /// If it is neither, the attribute does not exist, or it has more than 4096 values.
    pub fn parse(domain: &Domain, text: &str) -> Result<Self, WorkloadError> {
        let size = |name: &str| -> Result<usize, WorkloadError> {
            Ok(domain.sizes()[domain.index_of(name.trim())?] as usize)
        };
        match text.trim().split_once(" of ") {
            Some(("prefixes", name)) => Self::prefixes(size(name)?),
            Some(("ranges", name)) => Self::ranges(size(name)?),
            Some(_) | None => Err(WorkloadError::Text {
                statement: text.trim().into(),
                problem: "write `prefixes of a` or `ranges of a`".into(),
            }),
        }
    }

    /// How many cells the histogram has.
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// How many queries there are.
    pub fn queries(&self) -> usize {
        match &self.queries {
            Queries::Prefixes => self.cells,
            Queries::Ranges => self.cells * (self.cells + 1) / 2,
            Queries::Explicit(queries) => queries.len(),
        }
    }

    /// Whether a query is a plain count, which is an integer and not negative.
    pub(crate) fn is_counting(&self, index: usize) -> bool {
        match &self.queries {
            Queries::Prefixes | Queries::Ranges => true,
            Queries::Explicit(queries) => queries
                .get(index)
                .is_some_and(|query| query.terms.iter().all(|&(_, weight)| weight == 1.0)),
        }
    }

    /// The queries one by one, in the order of the answers.
    ///
    /// # Errors
    /// Never: each has a cell.
    pub(crate) fn as_queries(&self) -> Result<Vec<LinearQuery>, WorkloadError> {
        let n = self.cells;
        match &self.queries {
            Queries::Prefixes => (0..n).map(|to| LinearQuery::counting(0..=to)).collect(),
            Queries::Ranges => (0..n)
                .flat_map(|from| (from..n).map(move |to| LinearQuery::counting(from..=to)))
                .collect(),
            Queries::Explicit(queries) => Ok(queries.clone()),
        }
    }

    /// The answers on a histogram with one entry for each cell: prefixes by their end, ranges by
    /// their beginning and then their end.
    pub fn answers(&self, histogram: &[f64]) -> Vec<f64> {
        match &self.queries {
            Queries::Prefixes => cumulated(histogram).collect(),
            Queries::Ranges => {
                let beginnings = 0..histogram.len();
                beginnings.flat_map(|from| cumulated(&histogram[from..])).collect()
            }
            Queries::Explicit(queries) => {
                queries.iter().map(|query| query.answer(histogram)).collect()
            }
        }
    }

    /// An upper bound on `||W b||^2`, up to the relative rounding of sums of fewer than `2^25`
    /// terms that are not negative.
    ///
    /// An answer is a sum of at most `n` terms, and its rounding is at most `n 2^-53` of the sum of
    /// their sizes. For ranges, `||W b||^2 = sum_(i < j) (S_j - S_i)^2 <= (n + 1) sum_j (S_j -
    /// c)^2` over the `n + 1` prefix sums, for every `c`.
    pub(crate) fn square_above(&self, histogram: &[f64]) -> f64 {
        let rounding = 1.01 * (histogram.len() as f64 + 2.0) * f64::EPSILON;
        let sizes = || histogram.iter().map(|value| value.abs()).collect::<Vec<f64>>();
        match &self.queries {
            Queries::Prefixes => cumulated(histogram)
                .zip(cumulated(&sizes()))
                .map(|(sum, size)| (sum.abs() + rounding * size).powi(2))
                .sum(),
            Queries::Ranges => {
                let whole: f64 = histogram.iter().map(|value| value.abs()).sum();
                let sums: Vec<f64> = std::iter::once(0.0).chain(cumulated(histogram)).collect();
                let middle = sums.iter().sum::<f64>() / sums.len() as f64;
                let each = |sum: &f64| ((sum - middle).abs() + 2.0 * rounding * whole).powi(2);
                sums.len() as f64 * sums.iter().map(each).sum::<f64>()
            }
            Queries::Explicit(queries) => {
                let sizes = sizes();
                queries
                    .iter()
                    .map(|query| {
                        let size: f64 =
                            query.terms.iter().map(|&(cell, w)| w.abs() * sizes[cell]).sum();
                        (query.answer(histogram).abs() + rounding * size).powi(2)
                    })
                    .sum()
            }
        }
    }

    /// `V = W'W` in `f64`, with a bound `g` on its rounding: each entry is off by at most
    /// `g sqrt(V_ii V_jj)`.
    pub(crate) fn gram(&self) -> (Mat<f64>, f64) {
        let n = self.cells;
        match &self.queries {
            // Integers below 2^53.
            Queries::Prefixes => (Mat::from_fn(n, n, |i, j| (n - i.max(j)) as f64), 0.0),
            Queries::Ranges => {
                (Mat::from_fn(n, n, |i, j| ((i.min(j) + 1) * (n - i.max(j))) as f64), 0.0)
            }
            Queries::Explicit(queries) => {
                let mut gram = Mat::zeros(n, n);
                for query in queries {
                    for &(i, a) in &query.terms {
                        for &(j, b) in &query.terms {
                            gram[(i, j)] += a * b;
                        }
                    }
                }
                (gram, 1.01 * (queries.len() as f64 + 2.0) * f64::EPSILON)
            }
        }
    }

    /// `V^-1` where it is tridiagonal: for prefixes and ranges, up to the factor `1/(n + 1)` of
    /// ranges, which is returned beside it.
    pub(crate) fn chain(&self) -> Option<(Tridiagonal, f64)> {
        let n = self.cells;
        let mut diagonal = vec![2.0; n];
        match &self.queries {
            Queries::Prefixes => {
                diagonal[0] = 1.0;
                Some((Tridiagonal { diagonal, beside: -1.0 }, 1.0))
            }
            Queries::Ranges => Some((Tridiagonal { diagonal, beside: -1.0 }, n as f64 + 1.0)),
            Queries::Explicit(_) => None,
        }
    }
}

fn cumulated(values: &[f64]) -> impl Iterator<Item = f64> {
    values.iter().scan(0.0, |sum, value| {
        *sum += value;
        Some(*sum)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_without_support_are_refused() {
        let message = |error: WorkloadError| error.to_string();
        assert!(message(LinearQuery::new([(0, 0.0)]).expect_err("refused")).contains("no support"));
        assert!(
            message(LinearQuery::new([(0, 1.0), (0, -1.0)]).expect_err("refused"))
                .contains("support")
        );
        assert!(LinearQuery::counting([]).is_err());
        for bad in [f64::NAN, f64::INFINITY, 1e-7, 1e7] {
            assert!(LinearQuery::new([(0, bad)]).is_err(), "{bad}");
        }
        let one = LinearQuery::counting([0]).expect("a cell");
        assert!(message(LinearWorkload::of(2, vec![]).expect_err("refused")).contains("0 queries"));
        let unused = LinearWorkload::of(2, vec![one.clone()]).expect_err("refused");
        assert!(message(unused).contains("the cell 1"));
        let beyond = LinearQuery::counting([5]).expect("a cell");
        assert!(
            message(LinearWorkload::of(2, vec![one, beyond]).expect_err("refused"))
                .contains("only 2")
        );
        assert!(LinearWorkload::prefixes(0).is_err() && LinearWorkload::ranges(4097).is_err());
    }

    #[test]
    fn statements_name_an_attribute() {
        let domain = Domain::new([("age", 100), ("huge", 1 << 20)]).expect("valid");
        let parse = |text| LinearWorkload::parse(&domain, text);
        assert_eq!(parse(" prefixes of age "), LinearWorkload::prefixes(100));
        assert_eq!(parse("ranges of age"), LinearWorkload::ranges(100));
        assert!(parse("ranges of sex").is_err() && parse("ranges").is_err());
        assert!(parse("prefixes of huge").is_err());
    }

    /// Gram matrix, its inverse and the sum of squares, each against the list of queries.
    #[test]
    fn prefixes_and_ranges_are_those_of_the_list() {
        let n = 7;
        let list = |ranges: Vec<(usize, usize)>| {
            let queries = ranges.into_iter().map(|(a, b)| LinearQuery::counting(a..=b).expect("n"));
            LinearWorkload::of(n, queries.collect()).expect("valid")
        };
        let all = (0..n).flat_map(|a| (a..n).map(move |b| (a, b))).collect();
        let cases = [
            (LinearWorkload::prefixes(n).expect("valid"), list((0..n).map(|b| (0, b)).collect())),
            (LinearWorkload::ranges(n).expect("valid"), list(all)),
        ];
        for (short, long) in cases {
            let histogram = [1.5, -2.0, 0.25, 4.0, 0.0, -1.0, 3.0];
            assert_eq!(short.answers(&histogram), long.answers(&histogram));
            assert_eq!(short.queries(), long.queries());
            let (gram, listed) = (short.gram().0, long.gram().0);
            let (inverse, factor) = short.chain().expect("tridiagonal");
            for i in 0..n {
                for j in 0..n {
                    assert_eq!(gram[(i, j)], listed[(i, j)]);
                    let product: f64 = (0..n)
                        .map(|k| {
                            let entry = match i.abs_diff(k) {
                                0 => inverse.diagonal[i],
                                1 => inverse.beside,
                                _ => 0.0,
                            };
                            entry / factor * gram[(k, j)]
                        })
                        .sum();
                    assert!((product - f64::from(u8::from(i == j))).abs() < 1e-12);
                }
            }
            let exact: f64 = long.answers(&histogram).iter().map(|answer| answer * answer).sum();
            for workload in [short, long] {
                let above = workload.square_above(&histogram);
                assert!(above >= exact && above < exact * (1.0 + 1e-12), "{above} {exact}");
            }
        }
    }
}
