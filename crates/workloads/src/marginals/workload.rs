//! Which marginals are asked for.

use crate::marginals::MOST_CELLS;
use crate::{Attributes, Domain, WorkloadError};
use reticent_numerics::require;
use std::collections::BTreeMap;

/// A list of marginals over a domain, each with the weight of its squared errors.
///
/// # Example
/// ```
/// use reticent_workloads::{Domain, MarginalWorkload};
///
/// let domain = Domain::new([("age", 100), ("sex", 2), ("income", 50)])?;
/// let pairs = MarginalWorkload::parse(&domain, "all 2-way over age, sex, income")?;
/// assert_eq!(pairs.marginals().count(), 3);
/// let some = MarginalWorkload::parse(&domain, "total; marginal age, sex weight 2")?;
/// assert_eq!(some.cells(), 1 + 200);
/// # Ok::<(), reticent_workloads::WorkloadError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MarginalWorkload {
    domain: Domain,
    weights: BTreeMap<Attributes, f64>,
}

impl MarginalWorkload {
    /// Marginals with weights. A set that is named twice has the sum of its weights.
    ///
    /// # Errors
    /// If there are none, a set has attributes that do not exist, a weight is not from 1e-30 to
    /// 1e30, or the tables have more than `2^28` cells in all.
    pub fn weighted(
        domain: &Domain,
        marginals: impl IntoIterator<Item = (Attributes, f64)>,
    ) -> Result<Self, WorkloadError> {
        let mut weights = BTreeMap::new();
        for (set, weight) in marginals {
            if !set.is_subset_of(domain.all()) {
                return Err(WorkloadError::Workload(format!(
                    "a marginal names attributes that the domain of {} does not have",
                    domain.attributes()
                )));
            }
            let accepted = "a number from 1e-30 to 1e30: what has no weight is not asked for";
            require((1e-30..=1e30).contains(&weight), "weight", weight, accepted)?;
            *weights.entry(set).or_insert(0.0) += weight;
        }
        if weights.is_empty() {
            return Err(WorkloadError::Workload(
                "it is empty: name at least one marginal, such as `all 2-way`".into(),
            ));
        }
        let cells = weights.keys().try_fold(0u64, |sum, &set| sum.checked_add(domain.cells(set)?));
        if cells.is_none_or(|cells| cells > MOST_CELLS) {
            return Err(WorkloadError::Workload(
                "its tables have more than 2^28 (268435456) cells in all".into(),
            ));
        }
        Ok(MarginalWorkload { domain: domain.clone(), weights })
    }

    /// Marginals that all count the same.
    ///
    /// # Errors
    /// As [`MarginalWorkload::weighted`].
    pub fn of(
        domain: &Domain,
        sets: impl IntoIterator<Item = Attributes>,
    ) -> Result<Self, WorkloadError> {
        let sets: std::collections::BTreeSet<Attributes> = sets.into_iter().collect();
        Self::weighted(domain, sets.into_iter().map(|set| (set, 1.0)))
    }

    /// All marginals of exactly `order` of the given attributes.
    ///
    /// # Errors
    /// As [`MarginalWorkload::weighted`], in particular if there are fewer attributes than that.
    pub fn all_of_order(
        domain: &Domain,
        over: Attributes,
        order: usize,
    ) -> Result<Self, WorkloadError> {
        Self::of(domain, of_order(over, order, order)?)
    }

    /// All marginals of at most `order` of the given attributes, the total among them.
    ///
    /// # Errors
    /// As [`MarginalWorkload::all_of_order`].
    pub fn all_up_to_order(
        domain: &Domain,
        over: Attributes,
        order: usize,
    ) -> Result<Self, WorkloadError> {
        Self::of(domain, of_order(over, 0, order)?)
    }

    /// Reads statements that are separated by semicolons or line breaks:
    ///
    /// ```text
    /// all 2-way over age, sex, income
    /// all up to 3-way
    /// marginal age, sex weight 2
    /// total
    /// ```
    ///
    /// The total is one of `all up to 3-way`.
    ///
    /// # Errors
    /// If a statement is none of these, or as [`MarginalWorkload::weighted`].
    pub fn parse(domain: &Domain, text: &str) -> Result<Self, WorkloadError> {
        let mut marginals = Vec::new();
        for statement in text.split([';', '\n']).map(str::trim).filter(|part| !part.is_empty()) {
            let (sets, weight) = parse_statement(domain, statement)?;
            marginals.extend(sets.into_iter().map(|set| (set, weight)));
        }
        Self::weighted(domain, marginals)
    }

    /// The domain.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// The marginals with their weights.
    pub fn marginals(&self) -> impl Iterator<Item = (Attributes, f64)> {
        self.weights.iter().map(|(&set, &weight)| (set, weight))
    }

    /// The cells of all marginals together.
    pub fn cells(&self) -> u64 {
        self.weights.keys().filter_map(|&set| self.domain.cells(set)).sum()
    }
}

/// All subsets of `least` to `most` attributes.
fn of_order(over: Attributes, least: usize, most: usize) -> Result<Vec<Attributes>, WorkloadError> {
    if most == 0 || most > over.len() {
        return Err(WorkloadError::Workload(format!(
            "it asks for marginals of {most} attributes, but it must be from 1 to {}, the number \
             there are to choose from",
            over.len()
        )));
    }
    let mut found = vec![(Attributes::NONE, 0usize)];
    let mut sets = Vec::new();
    let attributes: Vec<usize> = over.iter().collect();
    while let Some((set, from)) = found.pop() {
        if set.len() >= least {
            sets.push(set);
        }
        if sets.len() > 1 << 20 {
            return Err(WorkloadError::Workload("it has more than 2^20 marginals".into()));
        }
        if set.len() < most {
            found.extend(
                (from..attributes.len()).map(|next| (set.with(attributes[next]), next + 1)),
            );
        }
    }
    Ok(sets)
}

/// One statement: its sets and their weight.
fn parse_statement(
    domain: &Domain,
    statement: &str,
) -> Result<(Vec<Attributes>, f64), WorkloadError> {
    let wrong = |problem: String| WorkloadError::Text { statement: statement.into(), problem };
    let (body, weight) = match statement.rsplit_once(" weight ") {
        Some((body, weight)) => {
            let weight: f64 = weight
                .trim()
                .parse()
                .map_err(|_| wrong(format!("`{}` is no number to weigh it with", weight.trim())))?;
            (body.trim(), weight)
        }
        None => (statement, 1.0),
    };
    let set_of = |names: &str| domain.set_of(&names.split(',').map(str::trim).collect::<Vec<_>>());
    if body == "total" {
        return Ok((vec![Attributes::NONE], weight));
    }
    if let Some(names) = body.strip_prefix("marginal ") {
        return Ok((vec![set_of(names)?], weight));
    }
    let Some(rest) = body.strip_prefix("all ") else {
        return Err(wrong(
            "write `all 2-way over a, b, c`, `all up to 3-way`, `marginal a, b` or `total`".into(),
        ));
    };
    let (what, over) = match rest.split_once(" over ") {
        Some((what, names)) => (what.trim(), set_of(names)?),
        None => (rest.trim(), domain.all()),
    };
    let up_to = what.strip_prefix("up to ");
    let order: usize = up_to
        .unwrap_or(what)
        .strip_suffix("-way")
        .and_then(|order| order.trim().parse().ok())
        .ok_or_else(|| wrong("after `all` comes `2-way` or `up to 3-way`".into()))?;
    let least = if up_to.is_some() { 0 } else { order };
    Ok((of_order(over, least, order)?, weight))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn domain() -> Domain {
        Domain::new([("a", 10), ("b", 2), ("c", 3), ("d d", 4)]).expect("valid")
    }

    fn refused(text: &str) -> String {
        MarginalWorkload::parse(&domain(), text).expect_err("refused").to_string()
    }

    #[test]
    fn statements_say_which_marginals() {
        let parse = |text| MarginalWorkload::parse(&domain(), text).expect("read");
        assert_eq!(parse("all 2-way").marginals().count(), 6);
        assert_eq!(parse("all 2-way over a, b, d d").marginals().count(), 3);
        assert_eq!(parse("all up to 3-way").marginals().count(), 1 + 4 + 6 + 4);
        let several = parse("total\n marginal a, d d weight 0.5;marginal a , d d");
        assert_eq!(
            several.marginals().collect::<Vec<_>>(),
            [(Attributes::NONE, 1.0), (Attributes::NONE.with(0).with(3), 1.5)]
        );
        assert_eq!(several.cells(), 41);
    }

    #[test]
    fn what_cannot_be_answered_is_refused_with_a_reason() {
        assert!(refused("").contains("empty") && refused(" ; \n").contains("empty"));
        assert!(refused("all 5-way").contains("from 1 to 4"));
        assert!(refused("all 0-way").contains("from 1 to 4"));
        assert!(refused("all 2way").contains("`2-way`"));
        assert!(refused("marginal e").contains("no attribute `e`"));
        assert!(refused("marginal a, a").contains("twice"));
        assert!(refused("every pair").contains("write `all 2-way"));
        for weight in ["0", "-1", "NaN", "inf", "1e31"] {
            assert!(refused(&format!("total weight {weight}")).contains("`weight` is"), "{weight}");
        }
        assert!(refused("total weight heavy").contains("no number"));
        let huge = Domain::new([("a", 1 << 20), ("b", 1 << 20)]).expect("valid");
        let message = MarginalWorkload::parse(&huge, "all 2-way").expect_err("too large");
        assert!(message.to_string().contains("2^28"), "{message}");
        let outside = MarginalWorkload::of(&domain(), [Attributes::NONE.with(4)]);
        assert!(outside.is_err());
    }
}
