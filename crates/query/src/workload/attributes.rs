//! The attributes of a workload: keys of a query under the policy, with their public values.

use crate::error::QueryError;
use crate::prepare::{LONGEST, Understood, understand};
use crate::sql::{Aggregation, Options, take_options};
use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::compute::cast;
use datafusion::common::ScalarValue;
use reticent_engine::{Embedded, GroupKeys, Layout, TotalsQuery};
use reticent_policy::{Column, ColumnType, TablePolicy};
use reticent_release::Statistic;
use reticent_sources::TableSources;
use reticent_workloads::Domain;

/// An attribute and its public values.
#[derive(Clone, Debug)]
pub struct Attribute {
    /// Its name.
    pub name: String,
    /// Its values, ascending, NULL last if there may be one.
    pub values: ArrayRef,
}

/// A table that was read as SQL: its attributes, and how its rows are counted.
pub(super) struct Read {
    pub(super) attributes: Vec<Attribute>,
    pub(super) domain: Domain,
    pub(super) aggregation: Aggregation,
    pub(super) sql: String,
    pub(super) engine: Embedded,
    statistics: Vec<Statistic>,
}

/// The columns of a table that have public values, quoted.
pub(super) fn public_columns(table: &TablePolicy) -> Vec<String> {
    let is_public = |column: &&Column| {
        let whole = column.kind() == ColumnType::Integer
            && column.bounds().and_then(|bounds| bounds.numbers()).is_some();
        column.values().is_some() || column.kind() == ColumnType::Boolean || whole
    };
    let unit = table.unit().map(Column::name);
    let columns = table.columns().iter().filter(is_public);
    columns.filter(|column| Some(column.name()) != unit).map(|c| quoted(c.name())).collect()
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// An expression and the name that it is given, or has: `age / 10 AS decade`, `"Age"`, `age`.
fn named(text: &str) -> (String, String) {
    let text = text.trim();
    let lower = text.to_ascii_lowercase();
    let (expression, name) = match lower.rfind(" as ") {
        // `CAST(x AS text)` ends with a parenthesis.
        Some(at) if !text.ends_with(')') => (&text[..at], text[at + 4..].trim()),
        Some(_) | None => (text, text),
    };
    let bare = name.strip_prefix('"').and_then(|name| name.strip_suffix('"'));
    let name = bare.map_or_else(|| name.to_owned(), |bare| bare.replace("\"\"", "\""));
    (expression.trim().to_owned(), name)
}

/// Reads attributes of a table.
pub(super) async fn read(
    sources: &TableSources<'_>,
    table: &TablePolicy,
    over: &[String],
    filter: Option<&str>,
    options: &Options,
) -> Result<Read, QueryError> {
    let attributes: Vec<(String, String)> = over.iter().map(|text| named(text)).collect();
    let is_unit = |unit: &&str| {
        let mut columns = attributes.iter().map(|(expression, _)| expression.trim_matches('"'));
        columns.any(|column| column.eq_ignore_ascii_case(unit))
    };
    if let Some(unit) = table.unit().map(Column::name).filter(is_unit) {
        return Err(QueryError::Refused(format!(
            "`{unit}` is the privacy unit: a table by it would show single people"
        )));
    }
    let keys: Vec<String> =
        attributes.iter().map(|(expression, _)| format!("({expression})")).collect();
    let filter = filter.map_or_else(String::new, |filter| format!(" WHERE ({filter})"));
    let sql = format!(
        "SELECT COUNT(*) FROM {}{filter} GROUP BY {}",
        quoted(table.name()),
        keys.join(", ")
    );
    if sql.len() > LONGEST {
        return Err(QueryError::Refused(format!(
            "the attributes and the filter have {} bytes; at most {LONGEST} are read",
            sql.len()
        )));
    }
    let (tokens, own) = take_options(&sql)?;
    if own != Options::default() {
        return Err(QueryError::Refused("options belong beside the workload, not into it".into()));
    }
    let Understood { engine, sql, aggregation, statistics, .. } =
        understand(sources, tokens, options).await?;
    // The text of an attribute could be any SQL. Whatever it is made of, what is computed are
    // counts of bounded contributions of these keys and nothing else.
    let counts = matches!(statistics.as_slice(), [Statistic::Count { column: None, .. }]);
    if aggregation.keys.len() != attributes.len() || !counts {
        return Err(QueryError::Refused(
            "the attributes are not a list of different columns or expressions".into(),
        ));
    }
    let mut found = Vec::new();
    for (key, (_, name)) in aggregation.keys.iter().zip(attributes) {
        let Some(values) = &key.values else {
            return Err(QueryError::Refused(format!(
                "the values of `{name}` are not public: give the column `values` or whole `bounds` \
                 in the policy, or ask over an expression with few public values, such as \
                 `FLOOR(age / 10) AS decade`"
            )));
        };
        let values = ScalarValue::iter_to_array(values.iter().cloned())
            .and_then(|values| Ok(cast(&values, &key.engine_type)?))
            .map_err(|_| QueryError::Refused(format!("the values of `{name}` are not listed")))?;
        found.push(Attribute { name, values });
    }
    let domain = Domain::new(
        found.iter().map(|attribute| (attribute.name.clone(), attribute.values.len() as u64)),
    )?;
    Ok(Read { attributes: found, domain, aggregation, sql, engine, statistics })
}

impl Read {
    /// What the engine is asked for: the joint cells that occur.
    pub(super) fn totals_query(&self) -> TotalsQuery {
        let private = &self.aggregation;
        let first = usize::from(private.has_unit);
        let layout = Layout {
            unit: private.has_unit.then_some(0),
            keys: (first..first + private.keys.len()).collect(),
            statistics: self.statistics.clone(),
            max_groups: private.max_groups,
        };
        TotalsQuery { rows: private.rows.clone(), layout, groups: GroupKeys::Found }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_given_or_taken() {
        for (text, expression, name) in [
            (" age ", "age", "age"),
            ("\"Age at entry\"", "\"Age at entry\"", "Age at entry"),
            ("age / 10 AS decade", "age / 10", "decade"),
            ("floor(age) as \"a\"\"b\"", "floor(age)", "a\"b"),
            ("CAST(age AS text)", "CAST(age AS text)", "CAST(age AS text)"),
        ] {
            assert_eq!(named(text), (expression.to_owned(), name.to_owned()));
        }
    }
}
