//! Queries that would make much of one row: refused from public facts, before anything is read.

use super::noiseless::{Cell, Draw, cells, exact_answer, totals, wait};
use super::tables::World;
use crate::{Options, QueryError, prepare};
use datafusion::physical_plan::displayable;
use reticent_noise::randomness::SecureRandom;
use reticent_policy::Policy;
use tempfile::TempDir;

fn world() -> (TempDir, Policy) {
    World::random(40, 10, &mut Draw::new(3)).stored(3, 3)
}

fn refusal(policy: &Policy, sql: &str) -> Option<String> {
    wait(prepare(policy, sql, Options::default())).err().map(|error| error.to_string())
}

fn assert_refused(sql: &str, words: &[&str]) {
    let (_folder, policy) = world();
    let message = refusal(&policy, sql).unwrap_or_else(|| "accepted".to_owned());
    assert!(words.iter().all(|word| message.contains(word)), "{sql}: {message}");
}

fn count(policy: &Policy, sql: &str) -> Result<f64, QueryError> {
    let (_, answer) = wait(exact_answer(policy, sql, Draw::new(9).key()))?;
    match cells(&answer.table)[0][0] {
        Cell::Number(number) => Ok(number),
        _ => Ok(f64::NAN),
    }
}

/// `times` joins with ten rows each.
fn crossed(times: usize) -> String {
    let joins = (0..times)
        .map(|n| format!(" CROSS JOIN (VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) v{n}(x)"));
    format!("SELECT COUNT(*) FROM people p{} WHERE p.person = 1", joins.collect::<String>())
}

#[test]
fn seven_cross_joins_with_values_are_refused() {
    assert_refused(&crossed(7), &["10000 rows of one row", "at most 1000"]);
    // The columns of public parts count with all their rows, wherever they stand.
    let grouped =
        crossed(4).replace("COUNT(*) FROM", "v0.x, v1.x, COUNT(*) FROM") + " GROUP BY v0.x, v1.x";
    assert_refused(&grouped, &["10000 rows of one row"]);
    let by_unit = crossed(4).replace("COUNT(*)", "p.person, COUNT(*) AS n") + " GROUP BY p.person";
    assert_refused(&format!("SELECT COUNT(*) FROM ({by_unit}) u"), &["10000 rows of one row"]);
    let (_folder, policy) = world();
    assert_eq!(refusal(&policy, &crossed(3)), None);
}

#[test]
fn a_join_on_a_key_counts_the_rows_that_agree_in_it() {
    let (folder, _) = world();
    let rows: String = (0..3000).map(|n| format!("{},{}\n", n % 2, n)).collect();
    std::fs::write(folder.path().join("codes.csv"), format!("half,code\n{rows}")).expect("written");
    let text = "[budget]\nepsilon = 1\n[tables.t]\nsource = 't.csv'\nunit = 'id'\nmax_groups = \
        1\nmax_rows = 1\n[tables.t.columns]\n\
        id = { type = 'integer' }\ncode = { type = 'integer' }\n[tables.r]\nsource = \
        't.csv'\neach_row = true\n[tables.r.columns]\n\
        code = { type = 'integer' }\n[tables.codes]\nsource = 'codes.csv'\npublic = \
        true\n[tables.codes.columns]\n\
        half = { type = 'integer' }\ncode = { type = 'integer' }\n";
    let policy = Policy::parse(text, &folder.path().join("policy.toml")).expect("a policy");
    for (join, refused) in [
        ("t JOIN codes c ON t.code = c.code", None),
        ("t LEFT JOIN codes c ON t.code = c.code AND c.half = 1", None),
        ("t JOIN codes c ON t.code = c.half", Some("1500 rows of one row")),
        ("t JOIN codes c ON t.code = c.code % 2", Some("1500 rows of one row")),
        ("t JOIN codes c ON t.code < c.code", Some("3000 rows of one row")),
        ("t JOIN codes c ON t.code = c.code OR t.code > 7", Some("3000 rows of one row")),
        ("t JOIN (SELECT half, COUNT(*) AS n FROM codes GROUP BY half) c ON t.code < c.n", None),
        ("t LEFT SEMI JOIN codes c ON t.code < c.code", None),
        ("r JOIN codes c ON r.code = c.code", None),
        (
            "r JOIN codes c ON r.code = c.half",
            Some("1500 rows of one: join on columns that are unique"),
        ),
        ("r CROSS JOIN (VALUES (1)) v(x)", None),
        ("r CROSS JOIN (VALUES (1), (2)) v(x)", Some("2 rows of one")),
    ] {
        let message = refusal(&policy, &format!("SELECT COUNT(*) FROM {join}"));
        assert_eq!(message.is_some(), refused.is_some(), "{join}: {message:?}");
        assert!(message.unwrap_or_default().contains(refused.unwrap_or_default()), "{join}");
    }
}

#[test]
fn private_tables_that_multiply_each_other_are_counted() {
    let chain = |tables: usize| {
        let joins = (1..tables).map(|n| format!(" JOIN people p{n} ON p0.person = p{n}.person"));
        format!("SELECT COUNT(*) FROM people p0{}", joins.collect::<String>())
    };
    assert_refused(&chain(5), &["n^5 rows of a unit", "at most n^4"]);
    let (_folder, policy) = world();
    assert_eq!(refusal(&policy, &chain(4)), None);
    // One row a person multiplies nothing, and neither does a semi join.
    let one = "(SELECT person, COUNT(*) AS n FROM visits GROUP BY person)";
    let joins =
        (0..6).map(|n| format!(" JOIN {one} v{n} ON p0.person = v{n}.person")).collect::<String>();
    assert_eq!(refusal(&policy, &format!("SELECT COUNT(*) FROM people p0{joins}")), None);
    let joins = (0..6)
        .map(|n| format!(" LEFT SEMI JOIN visits v{n} ON p0.person = v{n}.person"))
        .collect::<String>();
    assert_eq!(refusal(&policy, &format!("SELECT COUNT(*) FROM people p0{joins}")), None);
}

#[test]
fn with_recursive_named_like_a_public_table_is_refused() {
    assert_refused(
        "WITH RECURSIVE regions AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM regions) SELECT \
         COUNT(*) FROM people p JOIN regions r ON p.age = r.n",
        &["WITH RECURSIVE is not offered"],
    );
}

#[test]
fn tablesample_is_refused() {
    for sql in [
        "SELECT COUNT(*) FROM people TABLESAMPLE BERNOULLI (10)",
        "SELECT COUNT(*) FROM (SELECT * FROM people) p TABLESAMPLE SYSTEM (1 PERCENT)",
        "SELECT COUNT(*) FROM people p JOIN regions r TABLESAMPLE (10 ROWS) ON p.city = r.city",
    ] {
        assert_refused(sql, &["TABLESAMPLE is not offered"]);
    }
}

#[test]
fn a_limit_that_is_a_sub_query_is_refused() {
    for (limit, of) in [
        ("LIMIT (SELECT MAX(weight) FROM regions)", "LIMIT"),
        ("LIMIT (SELECT weight FROM regions)", "LIMIT"),
        ("LIMIT 1 + 1", "LIMIT"),
        ("LIMIT -1", "LIMIT"),
        ("LIMIT 99999999999999999999999", "LIMIT"),
        ("LIMIT 1 OFFSET (SELECT 1)", "OFFSET"),
    ] {
        let sql = format!("SELECT city, COUNT(*) FROM people GROUP BY city {limit}");
        assert_refused(&sql, &["write a whole number", of]);
    }
}

/// Public parts are computed before anything is paid, and what fails there is a refusal that names
/// them.
#[test]
fn a_public_part_that_cannot_be_computed_is_refused_by_name() {
    for join in [
        "JOIN (SELECT city, 1 / (weight - 2) AS w FROM regions) r ON p.city = r.city",
        "LEFT JOIN (SELECT city, CAST(region AS INTEGER) AS w FROM regions) r ON p.city = r.city",
    ] {
        assert_refused(
            &format!("SELECT COUNT(*) FROM people p {join}"),
            &["public data (regions)", "cannot be computed"],
        );
    }
    assert_refused(
        "SELECT COUNT(*) FROM people WHERE age > (SELECT weight FROM regions)",
        &["has 4 rows"],
    );
    assert_refused(
        "SELECT COUNT(*) FROM people WHERE EXISTS (SELECT 1 FROM visits)",
        &["private table visits"],
    );
    let large = "SELECT COUNT(*) FROM people WHERE age IN (SELECT a.x * 100 + b.x FROM V a CROSS \
        JOIN V b CROSS JOIN W c)";
    let values = |count: usize| {
        let rows: Vec<String> = (0..count).map(|n| format!("({n})")).collect();
        format!("(SELECT * FROM (VALUES {}) v(x))", rows.join(","))
    };
    let large =
        large.replace("V ", &format!("{} ", values(150))).replace("W ", &format!("{} ", values(1)));
    assert_refused(&large, &["write a join"]);
}

/// A sub-query has the meaning that SQL gives it, with NULL on either side, above the aggregates
/// and below.
#[test]
fn sub_queries_are_the_values_that_they_have() {
    let (_folder, policy) = world();
    let is = |condition: &str, same: &str| {
        let of = |condition: &str| {
            count(&policy, &format!("SELECT COUNT(*) FROM people WHERE {condition}"))
        };
        assert_eq!(of(condition).expect(condition), of(same).expect(same), "{condition}");
    };
    is("kind IN (SELECT region FROM regions)", "kind IN ('east', 'south')");
    is("kind NOT IN (SELECT region FROM regions)", "FALSE");
    is(
        "kind NOT IN (SELECT region FROM regions WHERE region IS NOT NULL)",
        "kind NOT IN ('east', 'south')",
    );
    is("city IN (SELECT city FROM regions WHERE weight > 99)", "FALSE");
    is("city NOT IN (SELECT city FROM regions WHERE weight > 99)", "TRUE");
    is("EXISTS (SELECT 1 FROM regions WHERE weight > 99)", "FALSE");
    is("NOT EXISTS (SELECT 1 FROM regions WHERE weight > 99)", "TRUE");
    is("age > (SELECT weight FROM regions WHERE weight > 99)", "FALSE");
    is("age > (SELECT MAX(weight) FROM regions)", "age > 9");
    is("age IN (3, (SELECT MAX(weight) FROM regions))", "age IN (3, 9)");
    is(
        "city IN (SELECT r.city FROM regions r WHERE r.weight = (SELECT MAX(s.weight) FROM regions \
         s))",
        "city = 'Wien'",
    );
    // A public part may refer to itself.
    is(
        "city IN (SELECT r.city FROM regions r WHERE EXISTS (SELECT 1 FROM regions s WHERE s.city \
         > r.city))",
        "city IN ('Brno', 'Praha', 'Ulm')",
    );
    for sql in [
        "SELECT SUM(age) + (SELECT MAX(weight) FROM regions) FROM people HAVING COUNT(*) > (SELECT \
         MAX(weight) FROM regions)",
        "SELECT SUM(LEAST(age, (SELECT MAX(weight) FROM regions))) FROM people",
        "SELECT COUNT(*) FROM people GROUP BY age > (SELECT MAX(weight) FROM regions) ORDER BY 1 \
         LIMIT 1",
    ] {
        let literal = sql.replace("(SELECT MAX(weight) FROM regions)", "9");
        assert_eq!(
            count(&policy, sql).expect(sql),
            count(&policy, &literal).expect(&literal),
            "{sql}"
        );
    }
}

/// How a query runs: public rows in memory, private rows past them, and nothing that one private
/// row could tell about another.
#[test]
fn private_rows_stream_past_public_ones() {
    let (_folder, policy) = world();
    for join in [
        "people p JOIN regions r ON p.city = r.city",
        "regions r JOIN people p ON p.city = r.city",
        "people p LEFT JOIN regions r ON p.city = r.city",
        "people p LEFT JOIN (SELECT city, SUM(weight) AS weight FROM regions GROUP BY city) r ON \
         p.city = r.city",
    ] {
        let sql = format!("SELECT SUM(age), COUNT(r.weight) FROM {join}");
        let shown = wait(async {
            let prepared = prepare(&policy, &sql, Options::default()).await.expect(&sql);
            let sources = prepared.sources(&(&policy).into()).expect(&sql);
            let query = prepared.totals_query().expect(&sql);
            let rows = prepared.engine.plan_rows(&query, sources).await.expect(&sql);
            displayable(rows.as_ref()).indent(true).to_string()
        });
        let (left, right) = shown.split_once("partitions=1").expect("a table in memory");
        assert!(
            left.contains("HashJoinExec: mode=CollectLeft") && !left.contains("StreamingTable"),
            "{shown}"
        );
        assert!(
            right.contains("StreamingTable")
                && !shown.contains("DynamicFilter")
                && !shown.contains("Aggregate"),
            "{shown}"
        );
    }
}

/// Whatever fails once rows may have been read is one outcome in the same words, a panic too.
#[test]
fn failures_after_the_payment_are_one_outcome() {
    let (folder, policy) = world();
    let sql = "SELECT COUNT(*), SUM(cost) FROM visits";
    let run = |progress: fn(u64)| {
        wait(async {
            let prepared = prepare(&policy, sql, Options::default()).await.expect(sql);
            let opened = prepared.open(&policy).await.expect(sql);
            let mut random = SecureRandom::new().expect("random bits");
            opened.run(&mut random, progress).await.map(|_| ())
        })
    };
    assert_eq!(run(|_| ()), Ok(()));
    assert_eq!(run(|rows| std::panic::resume_unwind(Box::new(rows))), Err(QueryError::Interrupted));
    let file = folder.path().join("visits.parquet");
    let good = std::fs::read(&file).expect("a file");
    let mut outcomes = 0;
    for at in (4..good.len() / 2).step_by(7) {
        let mut bad = good.clone();
        bad[at..at + 7].fill(0xff);
        std::fs::write(&file, &bad).expect("written");
        let prepared = wait(prepare(&policy, sql, Options::default())).expect(sql);
        let outcome = wait(async {
            let opened = prepared.open(&policy).await.ok()?;
            Some(opened.run(&mut SecureRandom::new().ok()?, |_| ()).await)
        });
        if let Some(Err(error)) = outcome {
            assert_eq!(error, QueryError::Interrupted);
            outcomes += 1;
        }
    }
    assert!(outcomes > 0, "no page was damaged");
}

#[test]
fn union_all_adds_up_what_becomes_of_a_row() {
    let (_folder, policy) = world();
    let part = crossed(3).replace("COUNT(*)", "p.person, p.age");
    assert_refused(
        &format!("SELECT COUNT(*) FROM ({part} UNION ALL SELECT person, age FROM people) u"),
        &["1001 rows of one row"],
    );
    let sql = "SELECT COUNT(*) FROM (SELECT person, age FROM people UNION ALL SELECT person, age \
        FROM people) u";
    let prepared = wait(prepare(&policy, sql, Options::default())).expect(sql);
    assert!(wait(totals(&prepared, &policy, Draw::new(9).key())).is_ok());
}
