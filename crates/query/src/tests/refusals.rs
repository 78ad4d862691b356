//! What is not offered is refused by name, with what to write instead, before anything is read or
//! spent.

use super::noiseless::{Draw, exact_answer, wait};
use super::tables::World;
use crate::{Options, prepare};
use reticent_policy::Policy;

fn refusal(policy: &Policy, sql: &str) -> Option<String> {
    wait(prepare(policy, sql, Options::default())).err().map(|error| error.to_string())
}

/// A query, and a word that its refusal must have.
const REFUSED: &[(&str, &str)] = &[
    // Rows of single people.
    ("SELECT * FROM people", "rows of single people"),
    ("SELECT age FROM people WHERE person = 1", "rows of single people"),
    ("SELECT DISTINCT kind FROM people", "GROUP BY"),
    ("SELECT kind FROM people GROUP BY kind", "aggregate"),
    // Before the aggregates.
    ("SELECT COUNT(*) FROM (SELECT * FROM people LIMIT 5) p", "LIMIT"),
    ("SELECT COUNT(*) FROM (SELECT * FROM people ORDER BY age LIMIT 5) p", "LIMIT"),
    ("SELECT COUNT(*) FROM (SELECT * FROM people OFFSET 5) p", "LIMIT"),
    ("SELECT SUM(n) FROM (SELECT ROW_NUMBER() OVER (ORDER BY age) AS n FROM people) p", "window"),
    ("SELECT COUNT(*) FROM (SELECT DISTINCT age FROM people) p", "DISTINCT"),
    ("SELECT COUNT(*) FROM (SELECT DISTINCT ON (age) age, person FROM people) p", "DISTINCT ON"),
    // Two releases.
    (
        "SELECT COUNT(*) FROM people p JOIN (SELECT city, COUNT(*) AS n FROM people GROUP BY city) \
         q ON p.city = q.city",
        "second release",
    ),
    (
        "SELECT a.n, b.n FROM (SELECT city, COUNT(*) AS n FROM people GROUP BY city) a JOIN \
         (SELECT city, COUNT(*) AS n FROM visits v JOIN regions r ON v.ward = r.region GROUP BY \
         city) b ON a.city = b.city",
        "two private aggregates",
    ),
    // Aggregates.
    ("SELECT MAX(age) FROM people", "PERCENTILE_CONT"),
    ("SELECT MIN(amount) FROM people", "PERCENTILE_CONT"),
    (
        "SELECT city, MAX(s) FROM (SELECT city, person, MAX(age) AS s FROM people GROUP BY city, \
         person) q GROUP BY city",
        "PERCENTILE_CONT",
    ),
    (
        "SELECT MAX(m) FROM (SELECT person, MAX(age) AS m FROM people GROUP BY person) q",
        "PERCENTILE_CONT",
    ),
    ("SELECT ARRAY_AGG(kind) FROM people", "not offered"),
    ("SELECT STRING_AGG(kind, ',') FROM people", "not offered"),
    ("SELECT FIRST_VALUE(age) FROM people", "not offered"),
    ("SELECT COUNT(DISTINCT kind) FROM people", "DISTINCT"),
    ("SELECT SUM(DISTINCT age) FROM people", "DISTINCT"),
    ("SELECT APPROX_DISTINCT(kind) FROM people", "not offered"),
    ("SELECT CORR(age, score) FROM people", "not offered"),
    ("SELECT SUM(CHARACTER_LENGTH(kind)) FROM people", "bounds"),
    ("SELECT SUM(kind) FROM people", ""),
    ("SELECT PERCENTILE_CONT(2) WITHIN GROUP (ORDER BY age) FROM people", ""),
    ("SELECT city, COUNT(*) FROM people GROUP BY ROLLUP (city)", "ROLLUP"),
    ("SELECT city, COUNT(*) FROM people GROUP BY GROUPING SETS ((city), ())", "GROUPING SETS"),
    // Functions whose answers change or that are not known.
    ("SELECT COUNT(*) FROM people WHERE RANDOM() < 0.5", "random"),
    ("SELECT COUNT(*) FROM people WHERE moment < NOW()", "now"),
    ("SELECT COUNT(*) FROM people WHERE day < CURRENT_DATE", "current_date"),
    ("SELECT COUNT(*) FROM people WHERE UUID() = 'a'", "uuid"),
    ("SELECT COUNT(*) FROM people WHERE my_function(age) > 1", "my_function"),
    (
        "SELECT SUM(RANDOM()) FROM (SELECT city, COUNT(*) AS n FROM people GROUP BY city) q",
        "random",
    ),
    ("SELECT city, COUNT(*) * RANDOM() FROM people GROUP BY city", "random"),
    (
        "SELECT COUNT(*) FROM people p JOIN (SELECT city, RANDOM() AS x FROM regions) r ON p.city \
         = r.city",
        "random",
    ),
    ("SELECT COUNT(*) FROM people WHERE TO_DATE(kind) > DATE '2024-01-01'", "CAST"),
    ("SELECT COUNT(*) FROM people WHERE REPEAT(kind, 1000000) = 'a'", "repeat"),
    ("SELECT COUNT(*) FROM people WHERE REGEXP_REPLACE(kind, 'a', 'b') = 'a'", "regexp_replace"),
    ("SELECT COUNT(*) FROM people WHERE kind ~ city", "literal"),
    ("SELECT COUNT(*) FROM people WHERE kind ~ '['", "not a regular expression"),
    ("SELECT COUNT(*) FROM people WHERE kind ~ '((a{100}){100}){100}'", "too large"),
    ("SELECT COUNT(*) FROM people WHERE REGEXP_LIKE(kind, '(')", "not a regular expression"),
    ("SELECT COUNT(*) FROM people WHERE kind LIKE city", "literal"),
    ("SELECT COUNT(*) FROM people WHERE DATE_PART('eon', day) = 1", "does not know the part"),
    (
        "SELECT COUNT(*) FROM people WHERE DATE_TRUNC('eon', moment) = moment",
        "does not know the part",
    ),
    ("SELECT COUNT(*) FROM people WHERE SPLIT_PART(kind, 'a', 0) = ''", "counted from 1"),
    ("SELECT COUNT(*) FROM people WHERE day + INTERVAL '1 day' > DATE '2024-01-01'", "DATE_PART"),
    ("SELECT COUNT(*) FROM people WHERE kind SIMILAR TO 'a'", "SIMILAR"),
    ("SELECT COUNT(*) FROM people WHERE age = $1", "placeholder"),
    ("SELECT COUNT(*) FROM people WHERE CAST(amount AS DECIMAL(10, 2)) > 1", "cast"),
    ("SELECT COUNT(*) FROM people WHERE (age & 1) = 1", "operator"),
    // Syntax that the planner would leave out, or that has no meaning here.
    ("SELECT COUNT(*) FROM people QUALIFY COUNT(*) > 1", "QUALIFY"),
    (
        "SELECT COUNT(*) FROM people p, LATERAL (SELECT * FROM regions r WHERE r.city = p.city) q",
        "LATERAL",
    ),
    ("SELECT COUNT(*) FROM people PIVOT (SUM(age) FOR kind IN ('a', 'b')) AS q", "PIVOT"),
    ("SELECT COUNT(*) FROM people UNPIVOT (x FOR n IN (age, score)) AS q", "UNPIVOT"),
    ("SELECT COUNT(*) FROM people FOR UPDATE", "FOR UPDATE"),
    ("SELECT COUNT(*) INTO stolen FROM people", "INTO"),
    ("SELECT TOP 5 city, COUNT(*) FROM people GROUP BY city", "TOP"),
    ("SELECT COUNT(*) FROM people WINDOW w AS (PARTITION BY age)", "WINDOW"),
    ("SELECT COUNT(*) OVER () FROM people", "OVER"),
    ("SELECT COUNT(*) FROM people SETTINGS max_threads = 1", "SETTINGS"),
    ("SELECT COUNT(*) FROM people FORMAT JSON", "FORMAT"),
    ("SELECT COUNT(*) FROM people FETCH FIRST 5 ROWS ONLY", "FETCH"),
    ("SELECT COUNT(*) FROM people FETCH FIRST 5 PERCENT ROWS WITH TIES", "FETCH"),
    ("SELECT city, COUNT(*) FROM people GROUP BY city LIMIT 1, 2", "OFFSET"),
    ("SELECT city, COUNT(*) FROM people GROUP BY ALL", "GROUP BY ALL"),
    ("SELECT city, COUNT(*) FROM people GROUP BY city WITH TOTALS", "TOTALS"),
    ("WITH w AS MATERIALIZED (SELECT * FROM people) SELECT COUNT(*) FROM w", "MATERIALIZED"),
    ("FROM people SELECT COUNT(*)", "SELECT first"),
    ("SELECT COUNT(*) FROM people WITH (NOLOCK)", "hint"),
    ("SELECT COUNT(*) FROM TABLE(people)", "FROM"),
    ("SELECT COUNT(*) FROM people p CROSS APPLY regions", "APPLY"),
    ("SELECT COUNT(*) FROM (SELECT * FROM people MINUS SELECT * FROM people) q", "MINUS"),
    ("SELECT COUNT(*) FROM (SELECT * FROM people EXCEPT ALL SELECT * FROM people) q", "EXCEPT ALL"),
    (
        "SELECT COUNT(*) FROM (SELECT * FROM people UNION ALL BY NAME SELECT * FROM people) q",
        "BY NAME",
    ),
    ("SELECT COUNT(*) FROM (SELECT * REPLACE (1 AS age) FROM people) q", "REPLACE"),
    ("SELECT COUNT(p.*) FROM people p", "COUNT(*)"),
    ("SELECT FIRST_VALUE(age) IGNORE NULLS FROM people", "IGNORE NULLS"),
    ("SELECT STRING_AGG(kind) WITHIN GROUP (ORDER BY age) FROM people", "WITHIN GROUP"),
    ("SELECT SUM(value => age) FROM people", "name"),
    ("SELECT COUNT(*) FROM people WHERE age = ANY (SELECT weight FROM regions)", "IN"),
    (
        "SELECT COUNT(*) FROM people WHERE moment AT TIME ZONE 'UTC' > TIMESTAMP '2024-01-01'",
        "TIME ZONE",
    ),
    ("SELECT COUNT(*) FROM people WHERE (age, score) IN ((1, 2))", "one by one"),
    ("SELECT COUNT(*) FROM people WHERE kind COLLATE german = 'a'", "COLLATE"),
    ("SELECT COUNT(*) FROM people WHERE kind RLIKE 'a'", "REGEXP_LIKE"),
    ("SELECT COUNT(*) FROM people WHERE kind LIKE ANY ('a', 'b')", "LIKE ANY"),
    ("SELECT COUNT(*) FROM people WHERE [age][1] = 1", "plain values"),
    ("SELECT COUNT(*) FROM people WHERE kind = X'6162'", "prefix"),
    ("SELECT COUNT(*) FROM people WHERE CEIL(moment TO DAY) > moment", "DATE_TRUNC"),
    ("SELECT COUNT(*) FROM people WHERE OVERLAY(kind PLACING 'a' FROM 1) = 'a'", "OVERLAY"),
    // Private tables inside expressions, and joins that mix people.
    (
        "SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(age) FROM people)",
        "private table people",
    ),
    (
        "SELECT COUNT(*) FROM people WHERE person IN (SELECT person FROM visits)",
        "private table visits",
    ),
    (
        "SELECT COUNT(*) FROM people p WHERE EXISTS (SELECT 1 FROM regions r WHERE r.city = \
         p.city)",
        "join",
    ),
    ("SELECT COUNT(*) FROM people a JOIN people b ON a.city = b.city", "privacy unit"),
    ("SELECT COUNT(*) FROM people a CROSS JOIN people b", "privacy unit"),
    (
        "SELECT COUNT(*) FROM people a JOIN visits b ON a.person = b.person OR a.age > 3",
        "privacy unit",
    ),
    ("SELECT COUNT(*) FROM people a JOIN visits b ON a.person + 1 = b.person", "privacy unit"),
    ("SELECT COUNT(*) FROM people a JOIN visits b ON a.person = a.person", "privacy unit"),
    ("SELECT COUNT(*) FROM people a FULL JOIN visits b ON a.person = b.person", "join"),
    ("SELECT COUNT(*) FROM records a JOIN records b ON a.age = b.age", "privacy unit"),
    ("SELECT COUNT(*) FROM records a JOIN people b ON a.age = b.age", "privacy unit"),
    ("SELECT COUNT(*) FROM records a JOIN regions r ON a.kind = r.region", "unique"),
    ("SELECT COUNT(*) FROM records a JOIN regions r ON r.city = r.city", "unique"),
    ("SELECT COUNT(*) FROM records a JOIN regions r ON r.city = r.region", "unique"),
    ("SELECT COUNT(*) FROM records a CROSS JOIN regions r", "unique"),
    (
        "SELECT COUNT(*) FROM records a LEFT JOIN regions r ON a.city = r.city OR a.age > 3",
        "unique",
    ),
    ("SELECT COUNT(*) FROM regions r LEFT JOIN records a ON a.city = r.city", "join"),
    ("SELECT COUNT(*) FROM (SELECT * FROM records UNION ALL SELECT * FROM records) p", "UNION"),
    (
        "SELECT COUNT(*) FROM (SELECT city FROM people UNION ALL SELECT city FROM regions) p",
        "UNION",
    ),
    (
        "WITH RECURSIVE w AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM w WHERE n < 9) SELECT \
         COUNT(*) FROM people p JOIN w ON p.age = w.n",
        "RECURSIVE",
    ),
    ("SELECT COUNT(*) FROM regions", "public"),
    ("SELECT 1", "public"),
    // Limits of a table without units, and options.
    (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups = 3) COUNT(*) FROM records",
        "max_groups",
    ),
    ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = -1) COUNT(*) FROM records", "epsilon"),
    ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0) COUNT(*) FROM records", "epsilon"),
    ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(delta = 2) COUNT(*) FROM records", "delta"),
    (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(delta = 0) kind, COUNT(*) FROM records GROUP BY \
         kind",
        "declare public values",
    ),
    // Other statements, and other tables.
    ("EXPLAIN SELECT COUNT(*) FROM people", "reticent explain"),
    ("EXPLAIN ANALYZE SELECT COUNT(*) FROM people", "reticent explain"),
    ("INSERT INTO people VALUES (1)", "SELECT"),
    ("CREATE TABLE x AS SELECT * FROM people", "SELECT"),
    ("COPY people TO 'stolen.csv'", "SELECT"),
    ("SET datafusion.execution.batch_size = 1", "SELECT"),
    ("DROP TABLE people", "SELECT"),
    ("SHOW TABLES", "SELECT"),
    ("SELECT COUNT(*) FROM people; SELECT COUNT(*) FROM people", "one statement"),
    ("SELECT * FROM information_schema.tables", "not found"),
    ("SELECT * FROM pg_catalog.pg_tables", "not found"),
    ("SELECT COUNT(*) FROM nobody", "nobody"),
    ("SELECT COUNT(*) FROM 'people.csv'", ""),
    ("SELECT COUNT(*) FROM \"people.csv\"", "not found"),
    ("SELECT COUNT(*) FROM generate_series(1, 9)", ""),
    ("SELECT COUNT(nothing) FROM people", "nothing"),
    ("SELECT COUNT(*) FROM people, UNNEST([1, 2]) u", ""),
    ("", "no statement"),
    ("-- nothing but a comment", "no statement"),
    ("SELEC COUNT(*) FROM people", ""),
    ("SELECT 'unclosed FROM people", ""),
];

#[test]
fn what_is_not_offered_is_refused_by_name() {
    let (_folder, policy) = World::random(5, 3, &mut Draw::new(1)).stored(2, 2);
    let mut wrong = Vec::new();
    for (sql, word) in REFUSED {
        match refusal(&policy, sql) {
            None => wrong.push(format!("{sql}: not refused")),
            Some(message) => {
                if !message.to_lowercase().contains(&word.to_lowercase())
                    || message.contains("internal")
                {
                    wrong.push(format!("{sql}: {message}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A refusal is a fact about the query and the policy: it is the same over no rows at all.
#[test]
fn refusals_do_not_depend_on_the_rows() {
    let (_some, policy) = World::random(50, 3, &mut Draw::new(1)).stored(2, 2);
    let (_none, empty) = World::random(0, 3, &mut Draw::new(1)).stored(2, 2);
    for (sql, _) in REFUSED {
        assert_eq!(refusal(&policy, sql), refusal(&empty, sql), "{sql}");
    }
}

#[test]
fn deep_and_long_queries_are_refused_without_a_fall() {
    let (_folder, policy) = World::random(5, 3, &mut Draw::new(1)).stored(2, 2);
    let nested = |depth: usize| {
        format!(
            "SELECT COUNT(*) FROM people WHERE {}age{} > 1",
            "(".repeat(depth),
            ")".repeat(depth)
        )
    };
    assert!(refusal(&policy, &nested(10_000)).is_some());
    assert_eq!(refusal(&policy, &nested(20)), None);
    let minus = format!("SELECT COUNT(*) FROM people WHERE {}age > 1", "- ".repeat(50_000));
    let not = format!("SELECT COUNT(*) FROM people WHERE {} flag", "NOT ".repeat(50_000));
    let subqueries = format!(
        "{}SELECT * FROM people{}",
        "SELECT COUNT(*) FROM (".repeat(5_000),
        ") p".repeat(5_000)
    );
    let case = format!(
        "SELECT COUNT(*) FROM people WHERE {}1{} > 0",
        "CASE WHEN flag THEN ".repeat(9_000),
        " END".repeat(9_000)
    );
    for sql in [minus, not, subqueries, case] {
        assert!(refusal(&policy, &sql).is_some(), "{}...", &sql[..60]);
    }
    // Operators of one level make deep trees without any parenthesis.
    for operator in ["+ 1 ", "OR flag "] {
        let start = if operator.starts_with('+') { "age " } else { "flag " };
        let long = format!(
            "SELECT COUNT(*) FROM people WHERE {start}{} IS NOT NULL",
            operator.repeat(20_000)
        );
        assert!(refusal(&policy, &long).is_some(), "{operator}");
    }
    let longest = format!("SELECT COUNT(*) FROM people WHERE kind = '{}'", "x".repeat(1 << 20));
    assert!(refusal(&policy, &longest).is_some_and(|message| message.contains("bytes")));
    let list: Vec<String> = (0..20_000).map(|value| value.to_string()).collect();
    let list = format!("SELECT COUNT(*) FROM people WHERE age IN ({})", list.join(", "));
    assert!(refusal(&policy, &list).is_some_and(|message| message.contains("IN list")));
}

#[test]
fn names_in_any_case_quotes_and_script_and_comments_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("t.csv"), "Größe,Order,Date,id\n5,a,2024-01-01,1\n")
        .expect("written");
    let text = "[budget]\nepsilon = 1\n[tables.Leute]\nsource = 't.csv'\nunit = 'id'\nmax_groups = \
        1\nmax_rows = 1\n\
        [tables.Leute.columns]\n'Größe' = { type = 'integer', bounds = [0, 9] }\nOrder = { type = \
        'text', values = ['a', 'b'] }\n\
        Date = { type = 'date' }\nid = { type = 'text' }\n";
    let policy = Policy::parse(text, &folder.path().join("policy.toml")).expect("a policy");
    for sql in [
        "SELECT SUM(\"Größe\") FROM \"Leute\"",
        "select sum(größe) from leute",
        "SELECT SUM(GRÖSSE) FROM LEUTE".replace("GRÖSSE", "GRÖßE").as_str(),
        "SELECT \"Order\", COUNT(*) FROM Leute GROUP BY \"Order\" ORDER BY \"Order\"",
        "SELECT COUNT(*) FROM Leute WHERE date > DATE '2023-01-01' AND CAST(Date AS TEXT) LIKE \
         '2%' AND CAST(\"Order\" AS DATE) IS NULL",
        "SELECT COUNT(*) FROM Leute WHERE EXTRACT(YEAR FROM Date) > 2000",
        "SELECT /* a comment */ COUNT(*) -- another\nFROM leute",
        "SELECT COUNT(*) AS \"Wie viele?\", SUM(l.größe) AS \"größe\" FROM leute AS l",
    ] {
        let (_, answer) = wait(exact_answer(&policy, sql, Draw::new(1).key())).expect(sql);
        assert!(answer.table.num_rows() >= 1, "{sql}");
    }
}

#[test]
fn the_planners_messages_are_in_plain_words() {
    let (_folder, policy) = World::random(5, 2, &mut Draw::new(3)).stored(3, 3);
    for (sql, expected) in [
        ("SELECT TOP 5 COUNT(*) FROM people", "is not offered"),
        ("SELECT COUNT(*) FROM people WHERE age LIKE '1%'", "LIKE"),
        ("SELECT \"Age\", COUNT(*) FROM people GROUP BY 1", "No field named"),
        ("SELECT COUNT(*) FROM people WHERE age BETWEEN 'a' AND 'b'", "not a value of"),
        ("SELECT COUNT(*) FROM people WHERE day > 'tomorrow'", "not a value of"),
    ] {
        let message = refusal(&policy, sql).expect(sql);
        assert!(message.contains(expected), "{sql}: {message}");
        for word in
            ["caused by", "type_coercion", "enable_ident_normalization", "Error during planning"]
        {
            assert!(!message.contains(word), "{sql}: {message}");
        }
    }
    assert_eq!(
        refusal(&policy, "SELECT COUNT(*) FROM people WHERE day > '2024-01-31' AND age > '17'"),
        None
    );
}

#[test]
fn functions_nested_in_each_other_do_not_grow() {
    let (_folder, policy) = World::random(5, 2, &mut Draw::new(3)).stored(3, 3);
    for (open, close) in [("SQRT(", ")"), ("ABS(", ")"), ("COALESCE(", ", 1)"), ("POWER(", ", 2)")]
    {
        let nested = |depth: usize| {
            format!(
                "SELECT COUNT(*) FROM people WHERE {}score{} > 1",
                open.repeat(depth),
                close.repeat(depth)
            )
        };
        assert_eq!(refusal(&policy, &nested(40)), None);
    }
}

#[test]
fn real_numbers_identify_no_row_of_a_public_table() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("rates.csv"), "rate,code\n0.0,1\n-0.0,2\n").expect("written");
    let policy = "[budget]\nepsilon = 1\n[tables.t]\nsource = 't.csv'\neach_row = \
        true\n[tables.t.columns]\nrate = { type = 'real' }\n\
        code = { type = 'integer' }\n[tables.rates]\nsource = 'rates.csv'\npublic = true\nunique = \
        ['UNIQUE']\n[tables.rates.columns]\n\
        rate = { type = 'real' }\ncode = { type = 'integer' }\n";
    // Both columns differ in every row as they are written; but 0.0 and -0.0 are one number, of
    // which a join makes two rows.
    for (column, offered) in [("code", true), ("rate", false)] {
        let policy =
            Policy::parse(&policy.replace("UNIQUE", column), &folder.path().join("policy.toml"))
                .expect("valid");
        let sql = format!("SELECT COUNT(*) FROM t JOIN rates r ON t.{column} = r.{column}");
        let message = refusal(&policy, &sql);
        assert_eq!(message.is_none(), offered, "{message:?}");
        assert!(message.is_none_or(|message| message.contains("two rows agree")));
    }
}
