//! A query, ready to run: checked, planned and priced, before anything private is opened.

use crate::error::QueryError;
use crate::preferences::preferences;
use crate::sql::{
    Aggregation, Options, Relation, Released, Unplanned, Walk, planner, take_options, understood,
};
use crate::tables::{Tables, opened};
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::{
    Keyword, RESERVED_FOR_COLUMN_ALIAS, RESERVED_FOR_TABLE_ALIAS,
};
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};
use reticent_engine::{Embedded, public_state, tables_of};
use reticent_policy::{Accounting, Policy, TablePolicy};
use reticent_release::{
    AnswerMetric, Comparison, Design, Groups, NoiseFamily, NoiseName, Preferences, ReleasePlan,
    Statistic, compare, plan_with,
};
use reticent_sources::TableSources;
use std::collections::HashMap;

/// How deep parentheses and sub-queries may be nested.
const DEEPEST: usize = 48;

/// Words that SQL is made of, beyond those that cannot be an alias.
const WORDS: [Keyword; 22] = [
    Keyword::AS,
    Keyword::BY,
    Keyword::AND,
    Keyword::OR,
    Keyword::NOT,
    Keyword::IN,
    Keyword::IS,
    Keyword::NULL,
    Keyword::LIKE,
    Keyword::BETWEEN,
    Keyword::CASE,
    Keyword::WHEN,
    Keyword::THEN,
    Keyword::ELSE,
    Keyword::ALL,
    Keyword::DISTINCT,
    Keyword::ASC,
    Keyword::DESC,
    Keyword::EXISTS,
    Keyword::FILTER,
    Keyword::TRUE,
    Keyword::FALSE,
];

/// The most operators and keywords that follow each other without a comma.
const LONGEST_CHAIN: usize = 400;

/// The most sub-queries and CTEs.
const MOST_SELECTS: usize = 24;

/// The most groups of an answer whose groups are public.
const MOST_GROUPS: u64 = 1_000_000;

/// The longest query that is read, in bytes.
pub(crate) const LONGEST: usize = 1 << 20;

/// A query that can be run.
pub struct Prepared {
    /// The private aggregate and what it needs.
    pub aggregation: Aggregation,
    /// The noise, and what it costs.
    pub plan: ReleasePlan,
    /// By what the noise was judged, if that was said.
    pub metric: Option<AnswerMetric>,
    /// The noise by name, if that was said.
    pub mechanism: Option<NoiseName>,
    /// The query in a form that does not depend on spaces, comments, or the case of keywords and of
    /// names that are not quoted, without its options.
    pub sql: String,
    /// The names of the columns of the answer.
    pub columns: Vec<String>,
    /// What it may cost.
    pub epsilon: f64,
    /// What it may cost in delta, if anything.
    pub delta: Option<f64>,
    pub(crate) design: Design,
    pub(crate) preferences: Preferences,
    /// The rest of the query, over the table of released figures.
    pub(crate) after: LogicalPlan,
    pub(crate) engine: Embedded,
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Prepared {{ sql: {:?} }}", self.sql)
    }
}

impl Prepared {
    /// What each noise would give in place of the one that is planned. Takes up to seconds.
    ///
    /// # Errors
    /// None that planning did not have.
    pub fn compare(&self) -> Result<Comparison, QueryError> {
        Ok(compare(&self.design, &self.preferences)?)
    }
}

/// Reads, checks and plans a query under a policy, whose tables may have sources other than its
/// files. Only public tables are opened.
///
/// # Errors
/// If the query cannot be read, asks for what is not offered, or no noise fits.
pub async fn prepare<'a>(
    sources: impl Into<TableSources<'a>>,
    sql: &str,
    options: Options,
) -> Result<Prepared, QueryError> {
    let sources = sources.into();
    let policy = sources.policy();
    if sql.len() > LONGEST {
        return Err(QueryError::Refused(format!(
            "the query has {} bytes; at most {LONGEST} are read",
            sql.len()
        )));
    }
    let (tokens, own_options) = take_options(sql)?;
    let options = options.or(own_options);
    let Understood { engine, sql, released, mut aggregation, statistics } =
        understand(&sources, tokens, &options).await?;
    if aggregation.keys.iter().all(|key| key.values.is_some())
        && aggregation.public_groups().is_none_or(|groups| groups > MOST_GROUPS)
    {
        return Err(QueryError::Refused(format!(
            "the public values of the keys make more than {MOST_GROUPS} groups; group by fewer or \
             coarser keys"
        )));
    }
    let state = engine.context().state();
    let names: Vec<String> = released
        .visible
        .iter()
        .map(|&index| released.plan.schema().field(index).name().clone())
        .collect();
    let origins: Vec<Option<usize>> =
        released.visible.iter().map(|&index| released.origins[index]).collect();
    // What an aggregate is called in the answer, rather than by the planner.
    for (output, aggregate) in aggregation.outputs.iter_mut().enumerate() {
        if let Some(shown) = origins.iter().position(|origin| *origin == Some(output)) {
            aggregate.title.clone_from(&names[shown]);
        }
    }
    let (after, _) = released.finished()?;
    // What cannot be planned above the aggregates is found here, and not once the figures are
    // released.
    state.create_physical_plan(&after).await.map_err(planner)?;

    let (epsilon, delta) = price(policy, &options)?;
    let Options { metric, mechanism, .. } = options;
    let noise = match (mechanism, policy.budget().accounting(), delta) {
        (Some(name), _, _) => NoiseFamily::Named(name),
        (None, _, None) => NoiseFamily::Pure,
        (None, Accounting::Basic, Some(_)) => NoiseFamily::LeastError,
        // In this currency Gaussian noise costs a small part of what pure noise does.
        (None, Accounting::ZeroConcentrated, Some(_)) => NoiseFamily::Gaussian,
    };
    let preferences = preferences(&aggregation, &statistics, metric, noise);
    let design = Design {
        statistics,
        groups: aggregation.public_groups().map_or(Groups::Found, Groups::Public),
        max_groups: aggregation.max_groups,
        epsilon,
        delta,
    };
    let plan = plan_with(&design, &preferences)?;
    Ok(Prepared {
        aggregation,
        plan,
        metric,
        mechanism,
        sql,
        columns: names,
        epsilon,
        delta,
        design,
        preferences,
        after,
        engine,
    })
}

/// A query that was read and checked, and whose noise is not planned yet.
pub(crate) struct Understood {
    pub(crate) engine: Embedded,
    /// The query in its canonical form.
    pub(crate) sql: String,
    pub(crate) released: Released,
    pub(crate) aggregation: Aggregation,
    /// What has to be released.
    pub(crate) statistics: Vec<Statistic>,
}

/// Reads and checks a query. Only public tables are opened.
pub(crate) async fn understand(
    sources: &TableSources<'_>,
    tokens: Vec<TokenWithSpan>,
    options: &Options,
) -> Result<Understood, QueryError> {
    let policy = sources.policy();
    check_size(&tokens)?;
    let given: String = tokens.iter().map(|token| token.token.to_string()).collect();
    let query = parse(in_the_case_of(folded(tokens), names_of(policy)))?;
    understood(&query)?;
    let sql = canonical(&query, &given);

    let engine = Embedded::new()?;
    Tables::register(policy, engine.context())?;
    let state = engine.context().state();
    let statement = Statement::Statement(Box::new(ast::Statement::Query(query)));
    let raw = state.statement_to_plan(statement).await.map_err(planner)?;
    let typed = state
        .analyzer()
        .execute_and_check(raw, state.config_options(), |_, _| {})
        .map_err(planner)?;

    // A public table that the query does not read stays closed, and one that it reads is never
    // taken for empty.
    let read = tables_of(&typed)?;
    let mut public = HashMap::new();
    for table in policy.tables().iter().filter(|table| table.is_public()) {
        if read.iter().any(|name| name == table.name()) {
            public.insert(table.name().to_owned(), opened(sources, table)?);
        }
    }
    let tables = Tables::new(policy, public);
    let public = public_state(&state);
    let (max_groups, max_rows) = (options.max_groups, options.max_rows);
    let walk = Walk { state: &public, tables: &tables, max_groups, max_rows };
    let (released, Unplanned { aggregation, statistics }) =
        match walk.relation(&walk.without_subqueries(&typed).await?).await? {
            Relation::Released(inner) => *inner,
            Relation::Rows(_) => {
                return Err(QueryError::Refused(
                "the query would show rows of single people; ask for aggregates, such as COUNT(*), \
                 SUM or AVG, by \
                 groups that hold many people"
                    .to_owned(),
            ));
            }
            Relation::Public(_) => {
                return Err(QueryError::Refused(
                    "the query reads no private table: its answer is public and needs no noise"
                        .to_owned(),
                ));
            }
        };
    Ok(Understood { engine, sql, released, aggregation, statistics })
}

/// Refuses what would make a tree too deep to walk: the parser counts parentheses, but a chain of
/// operators or of sub-queries makes a deep tree without any.
pub(crate) fn check_size(tokens: &[TokenWithSpan]) -> Result<(), QueryError> {
    let is = |token: &Token, words: &[Keyword]| {
        let Token::Word(word) = token else { return false };
        word.quote_style.is_none() && words.contains(&word.keyword)
    };
    let selects = tokens.iter().filter(|token| is(&token.token, &[Keyword::SELECT])).count();
    if selects > MOST_SELECTS {
        return Err(QueryError::Refused(format!(
            "the query has {selects} SELECTs: at most {MOST_SELECTS} are read; ask in several \
             queries"
        )));
    }
    // How many operators follow each other, in each parenthesis that is open.
    let mut chains = vec![0_usize];
    for TokenWithSpan { token, .. } in tokens {
        match token {
            Token::LParen => chains.push(0),
            Token::RParen => {
                // More closed than opened is the parser's to refuse.
                chains.pop();
                if chains.is_empty() {
                    chains.push(0);
                }
            }
            Token::Comma | Token::Period | Token::Number(..) | Token::SingleQuotedString(_) => {}
            token if is(token, &[Keyword::WHEN, Keyword::THEN, Keyword::ELSE]) => {}
            Token::Word(word)
                if word.quote_style.is_some() || word.keyword == Keyword::NoKeyword => {}
            _ => {
                if let Some(chain) = chains.last_mut() {
                    *chain += 1;
                }
            }
        }
        if let (Token::Comma, Some(chain)) = (token, chains.last_mut()) {
            *chain = 0;
        }
        if chains.iter().sum::<usize>() > LONGEST_CHAIN {
            return Err(QueryError::Refused(format!(
                "the query has more than {LONGEST_CHAIN} operators and keywords in one expression; \
                 use IN lists, or ask in \
                 several queries"
            )));
        }
    }
    Ok(())
}

/// What the query may cost: what it says, or what the policy says.
pub(crate) fn price(policy: &Policy, options: &Options) -> Result<(f64, Option<f64>), QueryError> {
    let budget = policy.budget();
    let epsilon = options.epsilon.unwrap_or_else(|| budget.query_epsilon());
    if !(epsilon > 0.0 && epsilon.is_finite()) {
        return Err(QueryError::Refused(format!(
            "epsilon is {epsilon}: a positive number is accepted"
        )));
    }
    // A question that costs nearly nothing still is a run over private rows, and tells what runs
    // tell.
    let least = budget.min_query_epsilon();
    if epsilon < least {
        let [epsilon, least] = [epsilon, least]
            .map(|number| if number < 1e-3 { format!("{number:e}") } else { number.to_string() });
        return Err(QueryError::Refused(format!(
            "epsilon is {epsilon}: at least {least} is accepted, which is budget.min_query_epsilon \
             of the policy"
        )));
    }
    let delta = match options.delta {
        None => budget.query_delta(),
        Some(delta) if !(0.0..1.0).contains(&delta) => {
            return Err(QueryError::Refused(format!(
                "delta is {delta}: a number from 0 to below 1 is accepted"
            )));
        }
        Some(delta) if delta > 0.0 && budget.delta() == 0.0 => {
            return Err(QueryError::Refused(format!(
                "delta is {delta}, but the policy's budget has none: leave it out, or add delta to \
                 the policy"
            )));
        }
        Some(delta) => delta,
    };
    Ok((epsilon, (delta > 0.0).then_some(delta)))
}

/// Words without quotation marks in one case: functions in capitals, everything else in small
/// letters. The planner does not tell the cases apart either.
pub(crate) fn folded(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    for index in 0..tokens.len() {
        let called = matches!(tokens.get(index + 1).map(|token| &token.token), Some(Token::LParen));
        if let Token::Word(word) = &mut tokens[index].token
            && word.quote_style.is_none()
        {
            word.value = if called { word.value.to_uppercase() } else { word.value.to_lowercase() };
        }
    }
    tokens
}

/// The text of a query by which it is recognised when it is asked again.
///
/// Two queries of one text must be one query. They are if the text is read back as the very tree
/// that it was written from, since everything that follows depends on that tree alone; so this is
/// tried. A query whose text is read as another, by some fault of the writer, is recognised by its
/// text as it was given: that is read as this query, and so is the text of no other.
fn canonical(query: &ast::Query, given: &str) -> String {
    let text = query.to_string();
    let dialect = GenericDialect {};
    let again = Parser::new(&dialect)
        .with_recursion_limit(DEEPEST)
        .try_with_sql(&text)
        .and_then(|mut parser| parser.parse_query());
    if again.is_ok_and(|again| *again == *query) { text } else { given.to_owned() }
}

pub(crate) fn parse(tokens: Vec<TokenWithSpan>) -> Result<Box<ast::Query>, QueryError> {
    let dialect = GenericDialect {};
    let mut parser =
        Parser::new(&dialect).with_recursion_limit(DEEPEST).with_tokens_with_locations(tokens);
    let mut statements =
        parser.parse_statements().map_err(|error| QueryError::Syntax(error.to_string()))?;
    match (statements.pop(), statements.is_empty()) {
        (Some(ast::Statement::Query(query)), true) => Ok(query),
        (Some(ast::Statement::Explain { .. }), true) => Err(QueryError::Refused(
            "EXPLAIN inside the SQL is not offered; `reticent explain` shows the plan and its cost"
                .to_owned(),
        )),
        (Some(_), true) => Err(QueryError::Refused("only SELECT is offered".to_owned())),
        (Some(_), false) => {
            Err(QueryError::Refused("one statement at a time; write one SELECT".to_owned()))
        }
        (None, _) => Err(QueryError::Syntax("there is no statement; write a SELECT".to_owned())),
    }
}

/// The names of a policy's tables and columns that are not in small letters, by how they are in
/// small letters.
fn names_of(policy: &Policy) -> HashMap<String, String> {
    let of_table = |table: &TablePolicy| {
        let columns = table.columns().iter().map(|column| column.name().to_owned());
        std::iter::once(table.name().to_owned()).chain(columns).collect::<Vec<_>>()
    };
    let names = policy.tables().iter().flat_map(of_table);
    names
        .filter(|name| name.to_lowercase() != *name)
        .map(|name| (name.to_lowercase(), name))
        .collect()
}

/// Names of tables and columns without regard to case, as SQL has them: words that are not quoted
/// and match a name are spelt as it is.
pub(crate) fn in_the_case_of(
    tokens: Vec<TokenWithSpan>,
    names: HashMap<String, String>,
) -> Vec<TokenWithSpan> {
    let mut spelt = tokens;
    // For each parenthesis that is open, whether a type or a part of a date may stand in it.
    let mut open: Vec<Option<Keyword>> = Vec::new();
    for index in 0..spelt.len() {
        let keyword = |at: usize| match spelt.get(at).map(|token| &token.token) {
            Some(Token::Word(word)) if word.quote_style.is_none() => Some(word.keyword),
            _ => None,
        };
        match spelt[index].token {
            Token::LParen => open.push(index.checked_sub(1).and_then(keyword)),
            Token::RParen => {
                open.pop();
            }
            _ => {}
        }
        let before = index.checked_sub(1).and_then(keyword);
        let inside = open.last().copied().flatten();
        let a_type = before == Some(Keyword::AS)
            && matches!(inside, Some(Keyword::CAST | Keyword::TRY_CAST));
        let a_part = inside == Some(Keyword::EXTRACT) && keyword(index + 1) == Some(Keyword::FROM);
        // A function's name, or the type before a literal, is not a column; nor is a word that SQL
        // is made of, which has to be quoted to be a name.
        let next = spelt.get(index + 1).map(|token| &token.token);
        let called = matches!(next, Some(Token::LParen | Token::SingleQuotedString(_)));
        let reserved = keyword(index).is_some_and(|word| {
            RESERVED_FOR_TABLE_ALIAS.contains(&word)
                || RESERVED_FOR_COLUMN_ALIAS.contains(&word)
                || WORDS.contains(&word)
        });
        if a_type || a_part || called || reserved {
            continue;
        }
        if let Token::Word(word) = &mut spelt[index].token
            && word.quote_style.is_none()
            && let Some(name) = names.get(&word.value.to_lowercase())
        {
            word.value.clone_from(name);
            word.quote_style = Some('"');
        }
    }
    spelt
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_read_as_another_query_recognises_none() {
        let (tokens, _) = take_options("SELECT a FROM t").expect("SQL");
        let mut query = parse(tokens).expect("a query");
        assert_eq!(canonical(&query, "as given"), "SELECT a FROM t");
        let ast::SetExpr::Select(select) = query.body.as_mut() else { unreachable!("a SELECT") };
        // Written without its quotation marks this is `a` under the name `b`.
        let name = ast::Expr::Identifier(ast::Ident::new("a b"));
        select.projection = vec![ast::SelectItem::UnnamedExpr(name)];
        assert_eq!(query.to_string(), "SELECT a b FROM t");
        assert_eq!(canonical(&query, "as given"), "as given");
    }
}
