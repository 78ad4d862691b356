//! One row with something strange in it: the same status, the same columns, the same messages.

use super::setting::{Content, Setting, Stored};
use crate::Options;
use crate::tests::noiseless::{Cell, Draw, cells, wait};
use datafusion::arrow::datatypes::DataType;
use reticent_noise::randomness::SecureRandom;

const POLICY: &str = "[budget]\nepsilon = 1e3\ndelta = 1e-3\nquery_epsilon = 1\nquery_delta = \
    1e-6\n\
    [tables.t]\nsource = 't.csv'\nunit = 'id'\nmax_groups = 2\nmax_rows = 3\n[tables.t.columns]\n\
    id = { type = 'text' }\ncity = { type = 'text', values = ['Brno', 'Ulm'], nullable = false \
    }\nnote = { type = 'text' }\n\
    whole = { type = 'integer', bounds = [-100, 100] }\nreal = { type = 'real', bounds = [-100, \
    100] }\n\
    day = { type = 'date' }\nmoment = { type = 'timestamp' }\n\
    [tables.each]\nsource = 't.csv'\neach_row = true\n[tables.each.columns]\n\
    city = { type = 'text', values = ['Brno', 'Ulm'], nullable = false }\nnote = { type = 'text' \
    }\n\
    whole = { type = 'integer', bounds = [-100, 100] }\nreal = { type = 'real', bounds = [-100, \
    100] }\n\
    [tables.pub]\nsource = 'pub.csv'\npublic = true\nunique = ['city']\n[tables.pub.columns]\n\
    city = { type = 'text' }\nzero = { type = 'integer', bounds = [0, 9] }\n";

const HEADER: &str = "id,city,note,whole,real,day,moment\n";
const ORDINARY: &str = "p1,Ulm,abc,5,1.5,2024-01-02,2024-01-02T03:04:05\n\
    p2,Brno,17,7,-2.5,2024-02-03,2024-02-03T00:00:00\n\
    p3,Ulm,x,,,,\np3,Brno,2024-01-01,-3,0.25,1999-12-31,1999-12-31T23:59:59\n";

fn stored(setting: Setting, rows: &str) -> Stored {
    let public = "city,zero\nUlm,0\nBrno,3\n".to_owned();
    let rows = Content::Text(format!("{HEADER}{rows}"));
    setting.stored(POLICY, &[("t", rows), ("pub", Content::Text(public))])
}

/// Queries in which a row could do harm.
const QUERIES: &[&str] = &[
    "SELECT city, SUM(GREATEST(LEAST(100 / whole, 100), -100)) AS s FROM t GROUP BY city",
    "SELECT city, SUM(GREATEST(LEAST(1 / real, 100), -100)) AS s FROM t GROUP BY city",
    "SELECT city, SUM(GREATEST(LEAST(whole % (whole - 5), 100), -100)) AS s FROM t GROUP BY city",
    "SELECT city, COUNT(CAST(note AS INTEGER)) AS n FROM t GROUP BY city",
    "SELECT city, COUNT(CAST(note AS DATE)) AS n, COUNT(CAST(UPPER(note) AS TIMESTAMP)) AS m FROM \
     t GROUP BY city",
    "SELECT city, COUNT(CAST(note AS BOOLEAN)) AS n, COUNT(CAST(real AS BIGINT)) AS m FROM t GROUP \
     BY city",
    "SELECT city, COUNT(CAST(moment AS TEXT)) AS n, COUNT(CAST(day AS TEXT)) AS m FROM t GROUP BY \
     city",
    "SELECT city, COUNT(*) AS n FROM t WHERE note ~ '^(a+)+$' GROUP BY city",
    "SELECT city, COUNT(*) AS n FROM t WHERE note LIKE '%a%a%a%a%a%a%a%b' GROUP BY city",
    "SELECT city, SUM(whole) AS s, AVG(whole) AS a, VAR(whole) AS v FROM t GROUP BY city",
    "SELECT city, SUM(real) AS s, STDDEV(real) AS d, MEDIAN(real) AS m FROM t GROUP BY city",
    "SELECT city, SUM(GREATEST(LEAST(whole * whole * whole, 50), -50)) AS s FROM t GROUP BY city",
    "SELECT city, SUM(GREATEST(LEAST(-whole, 50), -50)) AS s, SUM(ABS(whole)) AS t FROM t GROUP BY \
     city",
    "SELECT city, COUNT(note || note || note) AS n, COUNT(UPPER(note)) AS m FROM t GROUP BY city",
    "SELECT COUNT(*) AS n FROM t WHERE DATE_PART('year', day) > 2000 OR DATE_TRUNC('month', \
     moment) > DATE '2024-01-01'",
    "SELECT COUNT(*) AS n FROM t WHERE SQRT(real) > 1 OR LN(whole) > 1 OR POWER(real, 900) > 1 OR \
     ASIN(real) > 0",
    "SELECT COUNT(*) AS n FROM t WHERE SUBSTR(note, 2, 3) = 'a' OR SPLIT_PART(note, 'a', 2) = '' \
     OR LEFT(note, 3) = 'b'",
    "SELECT s.n, COUNT(*) AS c FROM (SELECT id, LEAST(COUNT(*), 3) AS n, SUM(whole) AS w FROM t \
     GROUP BY id) s GROUP BY s.n HAVING COUNT(*) >= 0",
    "SELECT AVG(GREATEST(LEAST(w, 10), -10)) AS a FROM (SELECT id, SUM(whole) AS w, MAX(note) AS m \
     FROM t GROUP BY id) s",
    "SELECT p.city, SUM(GREATEST(LEAST(t.whole / p.zero, 9), -9)) AS s FROM t JOIN pub p ON t.city \
     = p.city GROUP BY p.city",
    "SELECT p.city, COUNT(*) AS s FROM t JOIN (SELECT city, 1 / NULLIF(zero, 0) AS z FROM pub) p \
     ON t.city = p.city GROUP BY p.city",
    "SELECT city, 1 / COUNT(*) AS q, SUM(whole) / SUM(real) AS r FROM t GROUP BY city HAVING 10 / \
     COUNT(*) >= 0 OR COUNT(*) <= 0",
    "SELECT SUM(1 / c) AS s FROM (SELECT city, COUNT(*) AS c FROM t GROUP BY city) q",
    "SELECT city, SUM(GREATEST(LEAST(100 / whole, 100), -100)) AS s, COUNT(CAST(note AS INTEGER)) \
     AS n FROM each GROUP BY city",
    "SELECT city, AVG(real) AS s, MEDIAN(whole) AS n FROM each WHERE note ~ '^(a+)+$' OR note IS \
     NULL GROUP BY city",
];

/// Rows that have it in them.
fn hostile() -> Vec<(&'static str, String)> {
    let row = |note: &str, whole: &str, real: &str, day: &str, moment: &str| {
        format!("evil,Ulm,{note},{whole},{real},{day},{moment}\n")
    };
    vec![
        ("zeros", row("0", "0", "0", "1970-01-01", "1970-01-01T00:00:00")),
        ("negative zero", row("-0.0", "0", "-0.0", "0000-01-01", "0000-01-01T00:00:00")),
        ("a bad cast", row("not a number", "x", "y", "2024-02-30", "yesterday")),
        (
            "the least integer",
            row(
                "-9223372036854775808",
                "-9223372036854775808",
                "-1e308",
                "-262143-01-01",
                "-290308-12-21T19:59:05",
            ),
        ),
        (
            "the greatest integer",
            row(
                "9223372036854775807",
                "9223372036854775807",
                "1.7e308",
                "9999-12-31",
                "9999-12-31T23:59:59.999999",
            ),
        ),
        (
            "too large",
            row(
                "99999999999999999999",
                "99999999999999999999",
                "1e999",
                "10000-01-01",
                "294247-01-10T04:00:54",
            ),
        ),
        ("NaN", row("NaN", "NaN", "NaN", "NaN", "NaN")),
        ("an infinity", row("inf", "inf", "inf", "inf", "inf")),
        ("minus infinity", row("-inf", "-inf", "-Infinity", "", "")),
        ("a subnormal", row("5e-324", "1", "5e-324", "0001-01-01", "0001-01-01T00:00:00")),
        ("nothing", "evil,Ulm,,,,,\n".to_owned()),
        ("nobody", ",Ulm,a,1,1,2024-01-01,2024-01-01T00:00:00\n".to_owned()),
        ("a bomb for regular expressions", row(&("a".repeat(60_000) + "!"), "1", "1", "", "")),
        ("a huge text", row(&"é".repeat(1 << 20), "1", "1", "", "")),
        ("bytes of every kind", row("\u{0}\u{FFFF}\u{202E}𝄞", "1", "1", "", "")),
        ("another city", "evil,Nowhere,a,1,1,2024-01-01,2024-01-01T00:00:00\n".to_owned()),
    ]
}

/// What an analyst sees of a query, without the noisy figures.
fn outcome(stored: &Stored, sql: &str) -> Result<(Vec<String>, Vec<DataType>, usize), String> {
    wait(async {
        let prepared =
            stored.prepare(sql, Options::default()).await.map_err(|error| error.to_string())?;
        let opened = stored.open(&prepared).await.map_err(|error| error.to_string())?;
        let mut random = SecureRandom::new().expect("random bits");
        let answer = opened.run(&mut random, |_| ()).await.map_err(|error| error.to_string())?;
        let schema = answer.table.schema();
        let fields = schema.fields().iter();
        Ok((
            fields.clone().map(|field| field.name().clone()).collect(),
            fields.map(|field| field.data_type().clone()).collect(),
            answer.table.num_rows(),
        ))
    })
}

pub(super) fn no_single_row_changes_status_columns_or_messages(setting: Setting) {
    let ordinary = stored(setting, ORDINARY);
    let mut wrong = Vec::new();
    let expected: Vec<_> = QUERIES.iter().map(|sql| outcome(&ordinary, sql)).collect();
    for (sql, expected) in QUERIES.iter().zip(&expected) {
        if let Err(message) = expected {
            wrong.push(format!("{sql}: {message}"));
        }
    }
    for (name, row) in hostile() {
        let with_row = stored(setting, &format!("{ORDINARY}{row}"));
        for (sql, expected) in QUERIES.iter().zip(&expected) {
            let found = outcome(&with_row, sql);
            if &found != expected {
                wrong.push(format!("{name}: {sql}: {found:?} for {expected:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

pub(super) fn an_empty_table_shows_its_public_groups_and_one_row_without_any(setting: Setting) {
    let empty = stored(setting, "");
    for sql in QUERIES {
        let found = outcome(&empty, sql);
        assert!(found.as_ref().is_ok_and(|(_, _, rows)| *rows >= 1), "{sql}: {found:?}");
    }
    let exact = |sql: &str| {
        let (_, answer) = wait(empty.exact_answer(sql, Draw::new(1).key())).expect(sql);
        cells(&answer.table)
    };
    let text = |text: &str| Cell::Text(text.to_owned());
    assert_eq!(
        exact("SELECT city, COUNT(*) FROM t GROUP BY city ORDER BY city"),
        [[text("Brno"), Cell::Number(0.0)], [text("Ulm"), Cell::Number(0.0)]]
    );
    assert_eq!(
        exact("SELECT COUNT(*), SUM(real), COUNT(DISTINCT id) FROM t"),
        [[0.0; 3].map(Cell::Number)]
    );
    assert_eq!(exact("SELECT COUNT(*) FROM each"), [[Cell::Number(0.0)]]);
}

pub(super) fn a_row_of_nobody_counts_for_nothing(setting: Setting) {
    let with = stored(setting, &format!("{ORDINARY},Ulm,a,90,90,2024-01-01,\n"));
    let without = stored(setting, ORDINARY);
    for sql in QUERIES.iter().filter(|sql| !sql.contains("each")) {
        let totals = |stored: &Stored| {
            wait(async {
                let prepared = stored.prepare(sql, Options::default()).await.expect(sql);
                stored.totals(&prepared, Draw::new(7).key()).await.expect(sql)
            })
        };
        assert!(totals(&with) == totals(&without), "{sql}");
    }
}
