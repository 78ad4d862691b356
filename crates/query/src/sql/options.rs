//! `SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5, ...)`: taken out of the tokens before
//! the SQL is parsed.

use crate::error::QueryError;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};
use reticent_release::{AnswerMetric, NoiseName, ReleaseError};

/// What a query may set for itself. Command-line options take the same names.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options {
    /// What the query may cost.
    pub epsilon: Option<f64>,
    /// What the query may cost in delta.
    pub delta: Option<f64>,
    /// The most groups of the answer in which one unit has a part.
    pub max_groups: Option<u32>,
    /// The most rows of one unit that count in one group.
    pub max_rows: Option<u32>,
    /// By what the noise is judged and chosen; otherwise by the root mean square error.
    pub metric: Option<AnswerMetric>,
    /// The noise by name; otherwise it is chosen.
    pub mechanism: Option<NoiseName>,
}

impl Options {
    /// These, and the others where these say nothing.
    #[must_use]
    pub fn or(self, others: Options) -> Options {
        Options {
            epsilon: self.epsilon.or(others.epsilon),
            delta: self.delta.or(others.delta),
            max_groups: self.max_groups.or(others.max_groups),
            max_rows: self.max_rows.or(others.max_rows),
            metric: self.metric.or(others.metric),
            mechanism: self.mechanism.or(others.mechanism),
        }
    }

    fn set(&mut self, name: &str, value: &Value) -> Result<(), QueryError> {
        let value = match (name, value) {
            ("metric", Value::Text(text)) => {
                return put(&mut self.metric, name, text.parse()?);
            }
            ("mechanism", Value::Text(text)) => {
                let mechanism = text.parse::<NoiseName>().map_err(ReleaseError::from)?;
                return put(&mut self.mechanism, name, mechanism);
            }
            ("metric" | "mechanism", Value::Number(_)) => {
                let example = if name == "metric" { "usefulness:5" } else { "staircase" };
                return Err(QueryError::Refused(format!(
                    "the option {name} is a text, as in {name} = '{example}'"
                )));
            }
            (_, Value::Number(value)) => *value,
            (_, Value::Text(_)) => {
                return Err(QueryError::Refused(format!("the option {name} is a number")));
            }
        };
        let limit = |slot: &mut Option<u32>| {
            if !(value.fract() == 0.0 && (1.0..=f64::from(u32::MAX)).contains(&value)) {
                return Err(QueryError::Refused(format!(
                    "the option {name} is {value}: an integer from 1 to 4294967295 is accepted"
                )));
            }
            // In range by the line above.
            put(slot, name, value as u32)
        };
        match name {
            "epsilon" => put(&mut self.epsilon, name, value),
            "delta" => put(&mut self.delta, name, value),
            "max_groups" | "max_groups_contributed" => limit(&mut self.max_groups),
            "max_rows" => limit(&mut self.max_rows),
            _ => Err(QueryError::Refused(format!(
                "the option {name} is not known: epsilon, delta, max_groups, max_rows, metric and \
                 mechanism are"
            ))),
        }
    }
}

/// What stands behind the name of an option.
enum Value {
    Number(f64),
    Text(String),
}

fn put<T>(slot: &mut Option<T>, name: &str, value: T) -> Result<(), QueryError> {
    if slot.replace(value).is_some() {
        return Err(QueryError::Refused(format!("the option {name} is given twice")));
    }
    Ok(())
}

fn is_word(token: &Token, word: &str) -> bool {
    let Token::Word(found) = token else { return false };
    found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word)
}

/// The tokens of a statement without its options, and the options.
pub(crate) fn take_options(sql: &str) -> Result<(Vec<TokenWithSpan>, Options), QueryError> {
    let dialect = GenericDialect {};
    let mut tokens: Vec<TokenWithSpan> = Tokenizer::new(&dialect, sql)
        .tokenize_with_location()
        .map_err(|error| QueryError::Syntax(error.to_string()))?
        .into_iter()
        .filter(|token| !matches!(token.token, Token::Whitespace(_)))
        .collect();
    let mut options = Options::default();
    let starts: Vec<usize> = (0..tokens.len().saturating_sub(2))
        .filter(|&at| {
            is_word(&tokens[at].token, "SELECT")
                && is_word(&tokens[at + 1].token, "WITH")
                && is_word(&tokens[at + 2].token, "DIFFERENTIAL_PRIVACY")
        })
        .collect();
    let Some(&start) = starts.first() else {
        return Ok((tokens, options));
    };
    if starts.len() > 1 {
        let message = "WITH DIFFERENTIAL_PRIVACY is written twice: one query is one release, and \
            says it once";
        return Err(QueryError::Refused(message.into()));
    }
    let first = start + 1;
    let mut end = start + 3;
    if tokens.get(end).is_some_and(|token| is_word(&token.token, "OPTIONS")) {
        end = read_list(&tokens, end + 1, &mut options)?;
    }
    tokens.drain(first..end);
    Ok((tokens, options))
}

/// `(name = value, ...)` from `at`; where it ends.
fn read_list(
    tokens: &[TokenWithSpan],
    mut at: usize,
    options: &mut Options,
) -> Result<usize, QueryError> {
    let wrong = || {
        let form = "OPTIONS is followed by (name = value, ...), with numbers and 'texts'";
        QueryError::Syntax(form.to_owned())
    };
    let token = |at: usize| tokens.get(at).map(|token| &token.token).ok_or_else(wrong);
    if token(at)? != &Token::LParen {
        return Err(wrong());
    }
    at += 1;
    if token(at)? == &Token::RParen {
        return Ok(at + 1);
    }
    loop {
        let Token::Word(name) = token(at)? else { return Err(wrong()) };
        if token(at + 1)? != &Token::Eq {
            return Err(wrong());
        }
        let (sign, last) =
            if token(at + 2)? == &Token::Minus { (-1.0, at + 3) } else { (1.0, at + 2) };
        let value = match token(last)? {
            Token::Number(text, _) => {
                Value::Number(sign * text.parse::<f64>().map_err(|_| wrong())?)
            }
            Token::SingleQuotedString(text) if sign > 0.0 => Value::Text(text.clone()),
            _ => return Err(wrong()),
        };
        options.set(&name.value.to_lowercase(), &value)?;
        at = last + 2;
        match token(last + 1)? {
            Token::Comma => {}
            Token::RParen => return Ok(at),
            _ => return Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_taken_out_of_the_statement() {
        let sql = "select with differential_privacy options(epsilon = 0.5, delta=1e-6, \
            max_groups_contributed = 3) count(*) from t";
        let (tokens, options) = take_options(sql).expect("well formed");
        assert_eq!(
            options,
            Options {
                epsilon: Some(0.5),
                delta: Some(1e-6),
                max_groups: Some(3),
                ..Options::default()
            }
        );
        let left: Vec<String> = tokens.iter().map(|token| token.token.to_string()).collect();
        assert_eq!(left.join(" "), "select count ( * ) from t");
    }

    #[test]
    fn metrics_and_mechanisms_are_texts() {
        let sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(METRIC = 'usefulness:5', \
            mechanism='random-scale-laplace gamma', epsilon = 2) COUNT(*) FROM t";
        let (_, options) = take_options(sql).expect("well formed");
        assert_eq!(options.metric, Some(AnswerMetric::Usefulness(5.0)));
        let name = options.mechanism.map(NoiseName::as_str);
        assert_eq!((name, options.epsilon), (Some("random-scale-laplace gamma"), Some(2.0)));
        let over = Options { metric: Some(AnswerMetric::MeanAbsolute), ..Options::default() };
        assert_eq!(over.or(options).metric, Some(AnswerMetric::MeanAbsolute));
    }

    #[test]
    fn without_a_list_there_are_no_options() {
        let (tokens, options) =
            take_options("SELECT WITH DIFFERENTIAL_PRIVACY COUNT(*) FROM t").expect("well formed");
        assert_eq!((tokens.len(), options), (7, Options::default()));
    }

    #[test]
    fn what_is_not_an_option_is_refused_by_name() {
        for (list, names) in [
            ("(sigma = 1)", "sigma"),
            ("(epsilon = 1, epsilon = 2)", "epsilon"),
            ("(max_groups = 0)", "max_groups"),
            ("(max_rows = 1.5)", "max_rows"),
            ("(epsilon 1)", "OPTIONS"),
            ("(epsilon = 'x')", "the option epsilon is a number"),
            ("(epsilon = x)", "OPTIONS"),
            ("(metric = 5)", "metric = 'usefulness:5'"),
            ("(metric = 'usefulness:-5')", "`usefulness` is -5"),
            ("(metric = 'rms')", "l1, l2"),
            ("(metric = -'l1')", "OPTIONS"),
            ("(metric = 'l1', metric = 'l2')", "given twice"),
            ("(mechanism = 'exponential')", "discrete-laplace, staircase"),
            ("(mechanism = gaussian)", "OPTIONS"),
            ("(epsilon = 1", "OPTIONS"),
        ] {
            let error = take_options(&format!(
                "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS{list} COUNT(*) FROM t"
            ))
            .expect_err("refused")
            .to_string();
            assert!(error.contains(names), "{list}: {error}");
        }
    }
}
