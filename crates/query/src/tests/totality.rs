//! Every function and operator that is offered has an answer for every value: no error, no panic.

use super::noiseless::wait;
use datafusion::arrow::array::{
    Array, ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, StringViewArray,
    TimestampMicrosecondArray,
};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::datasource::MemTable;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::prelude::{SessionConfig, SessionContext};
use reticent_engine::Total;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

const WHOLE: [i64; 14] = [
    i64::MIN,
    i64::MIN + 1,
    -9_007_199_254_740_993,
    -719_163,
    -2,
    -1,
    0,
    1,
    2,
    7,
    60,
    1 << 33,
    i64::MAX - 1,
    i64::MAX,
];

fn reals() -> Vec<f64> {
    let mut list = vec![
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MAX,
        f64::MIN,
        f64::MIN_POSITIVE,
        f64::from_bits(1),
    ];
    list.extend([
        0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, 1e15, -1e15, 9.3e18, -9.3e18, 709.9, 1e-300,
    ]);
    list
}

fn texts() -> Vec<String> {
    let plain = [
        "",
        " ",
        "a",
        "-1",
        "1e400",
        "NaN",
        "2024-02-30",
        "9999999999999999999999",
        "ŉΐﬃ",
        "\u{0}",
        "İ",
        "%_\\",
        "true",
    ];
    let mut list: Vec<String> = plain.iter().map(|text| (*text).to_owned()).collect();
    list.extend(
        ["10000-01-01", "-262144-01-01T00:00:00", "294247-01-10T04:00:54.775807", "0000-00-00"]
            .map(str::to_owned),
    );
    list.extend([" a".repeat(32_768), "é".repeat(32_768), "a".repeat(65_536)]);
    list
}

const DAYS: [i32; 11] = [
    i32::MIN,
    i32::MIN + 1,
    -96_465_293,
    -719_163,
    -719_162,
    -1,
    0,
    19_000,
    2_932_896,
    2_932_897,
    i32::MAX,
];
const MOMENTS: [i64; 13] = [
    i64::MIN,
    i64::MIN + 1,
    -62_135_596_800_000_001,
    -62_135_596_800_000_000,
    -9_223_372_036_854_776,
    -1,
    0,
    1_700_000_000_123_456,
    9_223_372_036_854_776,
    253_402_214_400_000_000,
    253_402_300_799_999_999,
    i64::MAX - 1,
    i64::MAX,
];

/// Two columns of each type, with every value of the one beside every value of the other, and NULL.
fn extremes() -> RecordBatch {
    let rows = 450;
    fn cycle<T: Clone>(list: &[T], rows: usize, stride: usize) -> Vec<Option<T>> {
        let length = list.len() + 1;
        (0..rows).map(|row| list.get((row / stride) % length).cloned()).collect()
    }
    let mut columns: Vec<(String, ArrayRef)> = Vec::new();
    for (suffix, fast) in [("", true), ("2", false)] {
        let stride = |length: usize| if fast { 1 } else { length + 1 };
        let (reals, texts) = (reals(), texts());
        columns.push((
            format!("i{suffix}"),
            Arc::new(Int64Array::from(cycle(&WHOLE, rows, stride(WHOLE.len())))),
        ));
        columns.push((
            format!("f{suffix}"),
            Arc::new(Float64Array::from(cycle(&reals, rows, stride(reals.len())))),
        ));
        columns.push((
            format!("s{suffix}"),
            Arc::new(
                cycle(&texts, rows, stride(texts.len())).into_iter().collect::<StringViewArray>(),
            ),
        ));
        columns.push((
            format!("b{suffix}"),
            Arc::new(BooleanArray::from(cycle(&[true, false], rows, stride(2)))),
        ));
        columns.push((
            format!("d{suffix}"),
            Arc::new(Date32Array::from(cycle(&DAYS, rows, stride(DAYS.len())))),
        ));
        columns.push((
            format!("m{suffix}"),
            Arc::new(TimestampMicrosecondArray::from(cycle(&MOMENTS, rows, stride(MOMENTS.len())))),
        ));
    }
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, column)| (name, column, true)),
    )
    .expect("one length")
}

fn expressions() -> Vec<String> {
    let mut list = Vec::new();
    let types = ["i", "f", "s", "b", "d", "m"];
    for operator in ["+", "-", "*", "/", "%"] {
        for (a, b) in [
            ("i", "i2"),
            ("f", "f2"),
            ("i", "f2"),
            ("f", "i2"),
            ("i", "0"),
            ("i", "-1"),
            ("f", "0.0"),
            ("CAST(i AS INT)", "CAST(i2 AS SMALLINT)"),
        ] {
            list.push(format!("{a} {operator} {b}"));
        }
    }
    for operator in ["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"] {
        list.extend(types.map(|of| format!("{of} {operator} {of}2")));
        list.extend([
            format!("i {operator} f2"),
            format!("d {operator} m2"),
            format!("s {operator} 'a'"),
            format!("i {operator} 3.5"),
        ]);
    }
    for of in types {
        list.extend([
            format!("{of} IS NULL"),
            format!("{of} IS NOT NULL"),
            format!("COALESCE({of}, {of}2)"),
            format!("NVL({of}, {of}2)"),
        ]);
        list.extend([
            format!("NULLIF({of}, {of}2)"),
            format!("{of} IN ({of}2, {of})"),
            format!("CASE WHEN b THEN {of} ELSE {of}2 END"),
        ]);
        list.extend([
            format!("CASE {of} WHEN {of}2 THEN 1 ELSE 2 END"),
            format!("{of} BETWEEN {of}2 AND {of}"),
        ]);
        if of != "b" {
            list.extend([format!("GREATEST({of}, {of}2)"), format!("LEAST({of}, {of}2)")]);
        }
        for to in [
            "BOOLEAN",
            "TINYINT",
            "SMALLINT",
            "INT",
            "BIGINT",
            "INT UNSIGNED",
            "BIGINT UNSIGNED",
            "FLOAT",
            "DOUBLE",
            "TEXT",
            "DATE",
            "TIMESTAMP",
        ] {
            let calendar = ["TEXT", "DATE", "TIMESTAMP"].contains(&to);
            // Numbers of days are nobody's idea of a date.
            if (["d", "m"].contains(&of) && !calendar)
                || (["i", "f", "b"].contains(&of) && calendar && to != "TEXT")
            {
                continue;
            }
            list.extend([format!("CAST({of} AS {to})"), format!("TRY_CAST({of} AS {to})")]);
        }
    }
    list.extend(
        [
            "b AND b2",
            "b OR b2",
            "NOT b",
            "b IS TRUE",
            "b IS NOT FALSE",
            "b IS UNKNOWN",
            "-i",
            "-f",
            "ABS(i)",
            "ABS(f)",
            "-CAST(i AS SMALLINT)",
        ]
        .map(str::to_owned),
    );
    for name in [
        "floor", "ceil", "round", "trunc", "signum", "iszero", "sqrt", "ln", "log10", "log2",
        "exp", "sin", "cos", "tan", "atan", "asin", "acos", "cbrt", "degrees", "radians", "log",
        "abs",
    ] {
        list.extend([
            format!("{name}(f)"),
            format!("{name}(i)"),
            format!("{name}(CAST(f AS FLOAT))"),
        ]);
    }
    for digits in ["0", "2", "-2", "20", "-20", "400", "-400"] {
        list.extend([
            format!("round(f, {digits})"),
            format!("trunc(f, {digits})"),
            format!("round(i, {digits})"),
            format!("trunc(i, {digits})"),
        ]);
    }
    for name in ["power", "atan2", "log"] {
        list.extend([
            format!("{name}(f, f2)"),
            format!("{name}(i, f2)"),
            format!("{name}(f, i2)"),
            format!("{name}(i, i2)"),
        ]);
    }
    for name in [
        "lower",
        "upper",
        "initcap",
        "trim",
        "btrim",
        "ltrim",
        "rtrim",
        "length",
        "character_length",
        "octet_length",
        "ascii",
        "reverse",
    ] {
        list.extend([format!("{name}(s)"), format!("{name}(CAST(i AS TEXT))")]);
    }
    for name in
        ["btrim", "ltrim", "rtrim", "strpos", "starts_with", "ends_with", "contains", "concat"]
    {
        list.extend([format!("{name}(s, s2)"), format!("{name}(s, 'a')")]);
    }
    for number in ["0", "1", "3", "-2", "9223372036854775807", "-9223372036854775807"] {
        list.extend([
            format!("left(s, {number})"),
            format!("right(s, {number})"),
            format!("substr(s, {number})"),
            format!("substr(s, {number}, 3)"),
        ]);
        if number != "0" {
            list.push(format!("split_part(s, 'a', {number})"));
        }
    }
    list.extend(
        [
            "s || s2",
            "s || i",
            "concat(s, i, s2)",
            "concat_ws('-', s, s2)",
            "concat_ws(s, s2, 'x')",
            "split_part(s, '', 1)",
        ]
        .map(str::to_owned),
    );
    for pattern in ["a%", "%a%", "_", "%\\%", "", "%a%a%"] {
        list.extend([
            format!("s LIKE '{pattern}'"),
            format!("s NOT LIKE '{pattern}'"),
            format!("s ILIKE '{pattern}'"),
        ]);
    }
    for pattern in ["^(a+)+$", "[[:alpha:]]", "", "(?i)É"] {
        list.extend(["~", "~*", "!~", "!~*"].map(|operator| format!("s {operator} '{pattern}'")));
        list.push(format!("regexp_like(s, '{pattern}')"));
    }
    list.push("regexp_like(s, 'a', 'i')".to_owned());
    for part in [
        "year",
        "quarter",
        "month",
        "week",
        "day",
        "doy",
        "dow",
        "isodow",
        "hour",
        "minute",
        "second",
        "millisecond",
        "microsecond",
        "epoch",
    ] {
        list.extend([format!("date_part('{part}', m)"), format!("date_part('{part}', d)")]);
    }
    for part in [
        "year",
        "quarter",
        "month",
        "week",
        "day",
        "hour",
        "minute",
        "second",
        "millisecond",
        "microsecond",
    ] {
        list.extend([format!("date_trunc('{part}', m)"), format!("date_trunc('{part}', d)")]);
    }
    list.extend(
        [
            "EXTRACT(YEAR FROM d)",
            "EXTRACT(HOUR FROM m)",
            "d > m2",
            "d > '2024-01-01'",
            "m < DATE '2024-01-01'",
        ]
        .map(str::to_owned),
    );
    list
}

/// The rewritten expression over the extremes, in batches and row by row.
async fn evaluated(
    context: &SessionContext,
    rows: &RecordBatch,
    text: &str,
) -> Result<usize, String> {
    let state = context.state();
    let plan = state
        .create_logical_plan(&format!("SELECT {text} FROM t"))
        .await
        .map_err(|error| error.to_string())?;
    let plan = state
        .analyzer()
        .execute_and_check(plan, state.config_options(), |_, _| {})
        .map_err(|error| error.to_string())?;
    let LogicalPlan::Projection(projection) = plan else {
        return Err("not a projection".to_owned());
    };
    let schema = projection.input.schema();
    let total: Expr =
        Total::new(schema).expression(&projection.expr[0]).map_err(|error| error.to_string())?;
    let physical = state.create_physical_expr(total, schema).map_err(|error| error.to_string())?;
    let evaluate = |batch: &RecordBatch| {
        catch_unwind(AssertUnwindSafe(|| {
            physical.evaluate(batch).and_then(|value| value.into_array(batch.num_rows()))
        }))
        .map_err(|_| "panicked".to_owned())?
        .map_err(|error| {
            format!("failed: {}", error.to_string().chars().take(200).collect::<String>())
        })
    };
    let all = evaluate(rows)?;
    for row in 0..rows.num_rows().min(40) {
        evaluate(&rows.slice(row, 1))?;
    }
    Ok(all.len() - all.logical_nulls().map_or(0, |nulls| nulls.null_count()))
}

#[test]
fn what_is_offered_has_an_answer_for_every_value() {
    let rows = extremes();
    let mut config = SessionConfig::new();
    config.options_mut().sql_parser.parse_float_as_decimal = false;
    let context = SessionContext::new_with_config(config);
    let table = MemTable::try_new(rows.schema(), vec![vec![rows.clone()]]).expect("a table");
    context.register_table("t", Arc::new(table)).expect("registered");
    let (expressions, mut wrong, mut answers) = (expressions(), Vec::new(), 0);
    for name in reticent_engine::functions() {
        let called = |text: &String| text.to_lowercase().contains(&format!("{name}("));
        assert!(expressions.iter().any(called), "{name} is not tried");
    }
    for text in &expressions {
        match wait(evaluated(&context, &rows, text)) {
            Ok(found) => answers += usize::from(found > 0),
            Err(message) => wrong.push(format!("{text}: {message}")),
        }
    }
    assert!(wrong.is_empty(), "{} are not total:\n{}", wrong.len(), wrong.join("\n"));
    // NULL everywhere would be total too.
    let all = expressions.len();
    assert!(answers * 10 > all * 9, "only {answers} of {all} have answers");
}
