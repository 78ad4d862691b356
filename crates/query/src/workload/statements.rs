//! What a workload asks for, read from text.
//!
//! ```text
//! all 2-way over age, sex, income     all tables of two of these attributes
//! all up to 3-way                     ... of at most three, the total among them
//! marginal age, sex weight 2          one table, whose squared errors count twice
//! total                               the number of rows
//! prefixes of age                     how many have at most this value, for each value
//! ranges of age                       how many are between two values, for all pairs
//! count where age >= 30 AND sex = 'f' how many rows keep a condition over attributes
//! sum of income where sex = 'f'       the sum of an attribute's values
//! ```

use super::attributes::Read;
use super::predicate::Cells;
use crate::error::QueryError;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use reticent_workloads::{Attributes, CellWorkload, MarginalWorkload, Workload};

/// The longest text, in bytes, and the most statements.
const LONGEST: usize = 1 << 18;
const MOST_STATEMENTS: usize = 4096;

/// How a missing value is written.
const NULL: &str = "NULL";

/// A statement about the cells of a histogram.
enum Linear<'a> {
    Prefixes(&'a str),
    Ranges(&'a str),
    Count(Option<&'a str>),
    Sum(&'a str, Option<&'a str>),
}

fn refused<T>(problem: impl Into<String>) -> Result<T, QueryError> {
    Err(QueryError::Refused(problem.into()))
}

/// The statements: separated by semicolons or line breaks outside quotation marks, without comments
/// (`#` to the end of a line).
fn split(text: &str) -> Vec<String> {
    let mut statements = vec![String::new()];
    let (mut quote, mut comment) = (None, false);
    for character in text.chars() {
        match (quote, character) {
            (_, '\n') if comment || quote.is_none() => {
                comment = false;
                statements.push(String::new());
                continue;
            }
            _ if comment => continue,
            (None, '#') => {
                comment = true;
                continue;
            }
            (None, ';') => {
                statements.push(String::new());
                continue;
            }
            (None, '\'' | '"') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            (None | Some(_), _) => {}
        }
        if let Some(statement) = statements.last_mut() {
            statement.push(character);
        }
    }
    let trimmed = statements.iter().map(|statement| statement.trim().to_owned());
    trimmed.filter(|statement| !statement.is_empty()).collect()
}

fn linear(statement: &str) -> Option<Linear<'_>> {
    let after = |prefix: &str| {
        let head = statement.get(..prefix.len())?;
        head.eq_ignore_ascii_case(prefix).then(|| statement[prefix.len()..].trim())
    };
    let condition = |rest: &str| -> Option<usize> { rest.to_ascii_lowercase().find(" where ") };
    if let Some(name) = after("prefixes of ") {
        return Some(Linear::Prefixes(name));
    }
    if let Some(name) = after("ranges of ") {
        return Some(Linear::Ranges(name));
    }
    if let Some(rest) = after("sum of ") {
        return Some(match condition(rest) {
            Some(at) => Linear::Sum(rest[..at].trim(), Some(rest[at + 7..].trim())),
            None => Linear::Sum(rest, None),
        });
    }
    if let Some(rest) = after("count where ") {
        return Some(Linear::Count(Some(rest)));
    }
    statement.eq_ignore_ascii_case("count").then_some(Linear::Count(None))
}

/// The workload, and its statements one a line.
pub(super) async fn read(text: &str, read: &Read) -> Result<(Workload, String), QueryError> {
    if text.len() > LONGEST {
        return refused(format!(
            "the workload has {} bytes; at most {LONGEST} are read",
            text.len()
        ));
    }
    let statements = split(text);
    if statements.is_empty() || statements.len() > MOST_STATEMENTS {
        return refused(format!(
            "the workload has {} statements, but it must have from 1 to {MOST_STATEMENTS}: write \
             `all 2-way`, `marginal a, b`, `prefixes of a`, `count where a = 1`, or others of \
             docs/workloads.md",
            statements.len()
        ));
    }
    let canonical = statements.join("\n");
    let domain = &read.domain;
    let kinds: Vec<Option<Linear>> = statements.iter().map(|text| linear(text)).collect();
    if kinds.iter().all(Option::is_none) {
        return Ok((Workload::Marginals(MarginalWorkload::parse(domain, &canonical)?), canonical));
    }
    // One distribution function, or all ranges of one attribute, have a strategy of their own.
    match kinds.as_slice() {
        [Some(Linear::Prefixes(name))] => {
            let index = domain.index_of(name)?;
            let labels = labels(read, index)?;
            let name = |to: usize| range_name(name, None, &labels[to]);
            let cells = CellWorkload::prefixes(domain, index, name)?;
            return Ok((Workload::Linear(cells), canonical));
        }
        [Some(Linear::Ranges(name))] => {
            let index = domain.index_of(name)?;
            let labels = labels(read, index)?;
            let name = |from: usize, to: usize| range_name(name, Some(&labels[from]), &labels[to]);
            return Ok((Workload::Linear(CellWorkload::ranges(domain, index, name)?), canonical));
        }
        _ => {}
    }
    let mut queries = Vec::new();
    let mut set = mentioned(read, &canonical);
    for (statement, _) in statements.iter().zip(&kinds).filter(|(_, kind)| kind.is_none()) {
        let marginals = MarginalWorkload::parse(domain, statement)?;
        set = marginals.marginals().fold(set, |set, (own, _)| set.union(own));
    }
    let cells = Cells::of(read, set)?;
    for (statement, kind) in statements.iter().zip(&kinds) {
        match kind {
            None => marginal_queries(read, statement, set, &mut queries)?,
            Some(Linear::Prefixes(name)) => {
                let index = domain.index_of(name)?;
                let labels = labels(read, index)?;
                for (to, label) in labels.iter().enumerate() {
                    let weights = digits(read, set, index).map(|value| flag(value <= to));
                    queries.push((range_name(name, None, label), weights.collect()));
                }
            }
            Some(Linear::Ranges(name)) => {
                let index = domain.index_of(name)?;
                let labels = labels(read, index)?;
                for from in 0..labels.len() {
                    for to in from..labels.len() {
                        let inside = |value: usize| flag((from..=to).contains(&value));
                        let weights = digits(read, set, index).map(inside).collect();
                        let name = range_name(name, Some(&labels[from]), &labels[to]);
                        queries.push((name, weights));
                    }
                }
            }
            Some(Linear::Count(condition)) => {
                let holds = holds(&cells, *condition, set, read).await?;
                queries.push((statement.clone(), holds.into_iter().map(flag).collect()));
            }
            Some(Linear::Sum(name, condition)) => {
                let holds = holds(&cells, *condition, set, read).await?;
                let values = cells.numbers(name)?;
                let weights = values.into_iter().zip(holds).map(|(value, of)| value * flag(of));
                queries.push((statement.clone(), weights.collect()));
            }
        }
        let numbers = queries.len() as u64 * domain.cells(set).unwrap_or(u64::MAX);
        if numbers > 1 << 27 {
            return refused(
                "the queries times the cells of their attributes are more than 2^27: ask for \
                 fewer queries, or over fewer attributes",
            );
        }
    }
    Ok((Workload::Linear(CellWorkload::new(domain, set, queries)?), canonical))
}

/// The attributes whose names occur in a text as words: those that its queries may need.
fn mentioned(read: &Read, text: &str) -> Attributes {
    let text = text.to_lowercase();
    let is_word = |found: Option<char>| found.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let occurs = |name: &str| {
        let name = name.to_lowercase();
        text.match_indices(&name).any(|(at, _)| {
            let (before, after) = (&text[..at], &text[at + name.len()..]);
            !is_word(before.chars().next_back()) && !is_word(after.chars().next())
        })
    };
    let found = read.attributes.iter().enumerate().filter(|(_, one)| occurs(&one.name));
    found.fold(Attributes::NONE, |set, (index, _)| set.with(index))
}

fn flag(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

async fn holds(
    cells: &Cells,
    condition: Option<&str>,
    set: Attributes,
    read: &Read,
) -> Result<Vec<bool>, QueryError> {
    match condition {
        Some(condition) => cells.condition(condition).await,
        None => Ok(vec![true; read.domain.cells(set).unwrap_or(0) as usize]),
    }
}

/// The value of an attribute in each cell of the table of a set, by its index.
fn digits(read: &Read, set: Attributes, attribute: usize) -> impl Iterator<Item = usize> {
    let sizes = read.domain.sizes();
    let cells = read.domain.cells(set).unwrap_or(0) as usize;
    let later = set.iter().filter(|&index| index > attribute).map(|index| sizes[index] as usize);
    let stride = later.product::<usize>().max(1);
    let size = sizes.get(attribute).copied().unwrap_or(1) as usize;
    (0..cells).map(move |cell| cell / stride % size.max(1))
}

/// One query for each cell of the marginals of a statement.
fn marginal_queries(
    read: &Read,
    statement: &str,
    set: Attributes,
    queries: &mut Vec<(String, Vec<f64>)>,
) -> Result<(), QueryError> {
    let marginals = MarginalWorkload::parse(&read.domain, statement)?;
    if marginals.marginals().any(|(_, weight)| weight != 1.0) {
        return refused(format!(
            "`{statement}` has a weight, which is offered where all statements are about tables"
        ));
    }
    for (own, _) in marginals.marginals() {
        let cells = read.domain.cells(own).unwrap_or(u64::MAX);
        if cells > 4096 {
            return refused(format!(
                "`{statement}` has a table of {cells} cells: beside queries that are no tables, \
                 4096 is the most"
            ));
        }
        let names: Vec<(usize, Vec<String>)> = own
            .iter()
            .map(|index| Ok((index, labels(read, index)?)))
            .collect::<Result<_, QueryError>>()?;
        for cell in 0..cells as usize {
            let mut rest = cell;
            let mut values = Vec::new();
            for (index, labels) in names.iter().rev() {
                values.push((*index, rest % labels.len()));
                rest /= labels.len();
            }
            values.reverse();
            let mut weights = vec![1.0; read.domain.cells(set).unwrap_or(0) as usize];
            for &(index, value) in &values {
                let with = weights.iter_mut().zip(digits(read, set, index));
                with.for_each(|(weight, own)| *weight *= flag(own == value));
            }
            let parts = values.iter().zip(&names).map(|((index, value), (_, labels))| {
                format!("{} = {}", read.attributes[*index].name, labels[*value])
            });
            let name = parts.collect::<Vec<_>>().join(", ");
            queries.push((if name.is_empty() { "total".into() } else { name }, weights));
        }
    }
    Ok(())
}

/// What a range of values is called. NULL comes after all values.
fn range_name(attribute: &str, from: Option<&String>, to: &str) -> String {
    match (from, to) {
        (None, NULL) => format!("{attribute} of any value, or NULL"),
        (None, to) => format!("{attribute} <= {to}"),
        (Some(from), NULL) if from == NULL => format!("{attribute} is NULL"),
        (Some(from), NULL) => format!("{attribute} >= {from}, or NULL"),
        (Some(from), to) => format!("{attribute} from {from} to {to}"),
    }
}

/// The values of an attribute as text.
fn labels(read: &Read, index: usize) -> Result<Vec<String>, QueryError> {
    let failed = |_| QueryError::Refused("the values of an attribute cannot be shown".to_owned());
    let values = &read.attributes[index].values;
    let options = FormatOptions::default().with_null(NULL);
    let shown = ArrayFormatter::try_new(values.as_ref(), &options).map_err(failed)?;
    Ok((0..values.len()).map(|row| shown.value(row).to_string()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_separated_outside_quotation_marks() {
        let text = "all 2-way; count where a = 'x;y'  # why; not\n\n prefixes of \"a#b\" ";
        assert_eq!(split(text), ["all 2-way", "count where a = 'x;y'", "prefixes of \"a#b\""]);
        assert!(split(" ;\n# nothing").is_empty());
    }

    #[test]
    fn what_is_no_table_is_told_by_its_first_words() {
        assert!(matches!(linear("PREFIXES OF age"), Some(Linear::Prefixes("age"))));
        assert!(matches!(linear("count"), Some(Linear::Count(None))));
        assert!(matches!(linear("Count where a = 1"), Some(Linear::Count(Some("a = 1")))));
        let sum = linear("sum of income Where sex = 'f'");
        assert!(matches!(sum, Some(Linear::Sum("income", Some("sex = 'f'")))));
        assert!(linear("all 2-way").is_none() && linear("counting").is_none());
    }
}
