//! Columns in the names of folders, the same for every format.

use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array, StringArray};
use datafusion::arrow::record_batch::RecordBatch;
use tempfile::TempDir;

use super::super::SourceTable;
use super::arrow::write_arrow;
use super::{context, folder, query, refusal, run, wait, write, write_parquet};

const FORMATS: [&str; 3] = ["csv", "parquet", "arrow"];

/// A file with a column of numbers, and perhaps one of texts.
fn store(path: &Path, numbers: &[i64], other: Option<(&str, &str)>) {
    let mut columns = vec![("n", Arc::new(Int64Array::from(numbers.to_vec())) as ArrayRef)];
    if let Some((name, text)) = other {
        columns.push((name, Arc::new(StringArray::from(vec![text; numbers.len()]))));
    }
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("parquet") => write_parquet(path, columns),
        Some("arrow") => {
            write_arrow(path, &[RecordBatch::try_from_iter(columns).expect("a batch")], true, None)
        }
        _ => {
            let (name, text) = other.unzip();
            let line = |n: &i64| {
                format!("{n}{}\n", text.map(|text| format!(",{text}")).unwrap_or_default())
            };
            let header = format!("n{}\n", name.map(|name| format!(",{name}")).unwrap_or_default());
            write(path, (header + &numbers.iter().map(line).collect::<String>()).as_bytes());
        }
    }
}

/// Twelve numbers in folders of years and cities.
fn data(ending: &str) -> TempDir {
    let folder = folder(&[]);
    for (name, numbers) in [
        ("year=2023/city=K%C3%B6ln/a", &[1, 2][..]),
        ("year=2023/city=Ulm/a", &[3]),
        ("year=2024/city=Ulm/a", &[4, 5, 6]),
        ("year=2024/city=Ulm/b", &[7]),
        ("year=2024/city=__HIVE_DEFAULT_PARTITION__/a", &[8]),
        ("year=soon/city=/a", &[9]),
        ("year=2025/a", &[10]),
        ("plain/a", &[11]),
        ("_year=2026/a", &[12]),
        ("_hidden/a", &[13]),
    ] {
        store(&folder.path().join("data").join(format!("{name}.{ending}")), numbers, None);
    }
    folder
}

const COLUMNS: &str =
    "columns.n.type = 'integer'\ncolumns.year.type = 'integer'\ncolumns.city.type = 'text'\n";

#[test]
fn names_of_folders_are_columns_in_every_format() {
    for ending in FORMATS {
        let folder = data(ending);
        let ask = |sql: &str| query(&format!("source = 'data'\n{COLUMNS}"), &folder, sql);
        assert_eq!(
            ask("SELECT n, year, city FROM t ORDER BY n"),
            [
                "1|2023|Köln",
                "2|2023|Köln",
                "3|2023|Ulm",
                "4|2024|Ulm",
                "5|2024|Ulm",
                "6|2024|Ulm",
                "7|2024|Ulm",
                "8|2024|-",
                "9|-|-",
                "10|2025|-",
                "11|-|-",
                "12|-|-",
            ],
            "{ending}"
        );
        for (sql, expected) in [
            ("SELECT COUNT(*) FROM t", vec!["12"]),
            ("SELECT COUNT(*), COUNT(year), COUNT(city), SUM(year) FROM t", vec!["12|9|7|18214"]),
            ("SELECT SUM(n) FROM t WHERE year = 2024", vec!["30"]),
            ("SELECT SUM(n) FROM t WHERE year = 2024 AND n > 5 AND city IS NOT NULL", vec!["13"]),
            ("SELECT SUM(n) FROM t WHERE year IS NULL", vec!["32"]),
            ("SELECT SUM(n) FROM t WHERE year < 2024 OR city IS NULL", vec!["56"]),
            ("SELECT SUM(n) FROM t WHERE NOT (year = 2024)", vec!["16"]),
            ("SELECT SUM(n) FROM t WHERE city = 'Köln'", vec!["3"]),
            ("SELECT SUM(n) FROM t WHERE city LIKE 'U%' AND year + 1 = 2024", vec!["3"]),
            (
                "SELECT city, COUNT(*), SUM(n) FROM t GROUP BY city ORDER BY city",
                vec!["Köln|2|3", "Ulm|5|25", "-|5|50"],
            ),
            ("SELECT DISTINCT year FROM t ORDER BY year", vec!["2023", "2024", "2025", "-"]),
            ("SELECT year, n FROM t WHERE n IN (3, 8) ORDER BY n", vec!["2023|3", "2024|8"]),
        ] {
            assert_eq!(ask(sql), expected, "{ending} {sql}");
        }
    }
}

#[test]
fn types_are_those_of_the_policy() {
    let folder = folder(&[
        ("d/at=2024-02-29/ok=yes/x=1e3/a.csv", b"n\n1\n"),
        ("d/at=never/ok=maybe/x=nan/a.csv", b"n\n2\n"),
    ]);
    let columns = "columns.n.type = 'integer'\ncolumns.at.type = 'date'\ncolumns.ok.type = \
        'boolean'\ncolumns.x.type = 'real'\n";
    let rows = query(
        &format!("source = 'd'\n{columns}"),
        &folder,
        "SELECT n, at, ok, x FROM t ORDER BY n",
    );
    assert_eq!(rows, ["1|2024-02-29|true|1000.0", "2|-|-|-"]);
    let columns = columns
        .replace("'date'", "'timestamp'")
        .replace("'boolean'", "'text'")
        .replace("'real'", "'integer'");
    let rows = query(
        &format!("source = 'd'\n{columns}"),
        &folder,
        "SELECT n, at, ok, x FROM t ORDER BY n",
    );
    assert_eq!(rows, ["1|2024-02-29T00:00:00|yes|1000", "2|-|maybe|-"]);
}

#[test]
fn the_name_of_the_folder_wins_over_the_file() {
    for ending in FORMATS {
        let folder = folder(&[]);
        let path = |name: &str| folder.path().join(format!("{name}.{ending}"));
        store(&path("d/city=Ulm/a"), &[1, 2], Some(("city", "Brno")));
        store(&path("d/b"), &[3], Some(("city", "Brno")));
        store(&path("d/city=/c"), &[4], Some(("city", "Brno")));
        store(&path("d/d"), &[5], None);
        let fields = "source = 'd'\ncolumns.n.type = 'integer'\ncolumns.city.type = 'text'\n";
        let rows = query(fields, &folder, "SELECT n, city FROM t ORDER BY n");
        assert_eq!(rows, ["1|Ulm", "2|Ulm", "3|Brno", "4|-", "5|-"], "{ending}");
        assert_eq!(
            query(fields, &folder, "SELECT SUM(n) FROM t WHERE city = 'Brno'"),
            ["3"],
            "{ending}"
        );
        // Only a folder that has the column excuses a file that does not.
        std::fs::remove_dir_all(folder.path().join("d/city=Ulm")).expect("removed");
        std::fs::remove_dir_all(folder.path().join("d/city=")).expect("removed");
        assert!(
            refusal(fields, &folder).contains("has no column \"city\"; it has \"n\""),
            "{ending}"
        );
    }
}

#[test]
fn patterns_folders_and_lists_see_the_same_folders() {
    for ending in FORMATS {
        let folder = data(ending);
        let sql = "SELECT COUNT(*), SUM(n), SUM(year), COUNT(city) FROM t";
        for (source, expected) in [
            ("'data/year=2024'".to_owned(), "5|30|10120|4"),
            (format!("'data/*/*/*.{ending}'"), "9|45|16189|7"),
            (format!("'data/year=202[34]/*/a.{ending}'"), "7|29|14165|6"),
            ("'data/year=*'".to_owned(), "10|55|18214|7"),
            (format!("['data/year=2024/city=Ulm/a.{ending}', 'data/year=2023']"), "6|21|12141|6"),
            (format!("['data/year=2024', 'data', 'data/**/*.{ending}']"), "13|91|18214|7"),
        ] {
            assert_eq!(
                query(&format!("source = {source}\n{COLUMNS}"), &folder, sql),
                [expected],
                "{source}"
            );
        }
        let single = format!("source = 'data/year=2023/city=Ulm/a.{ending}'\n{COLUMNS}");
        assert_eq!(query(&single, &folder, "SELECT n, year, city FROM t"), ["3|2023|Ulm"]);
    }
}

#[test]
fn csv_without_a_header_has_columns_in_folders_too() {
    let folder = folder(&[
        ("d/year=2023/a.csv", b"1,x\n2,y\n"),
        ("d/year=2024/a.csv", b"3,z\n"),
        ("d/year=2025/a.csv", b""),
    ]);
    let fields = "source = 'd'\nheader = ['n', 'key']\ncolumns.n.type = \
        'integer'\ncolumns.year.type = 'integer'\n";
    assert_eq!(
        query(fields, &folder, "SELECT n, year FROM t ORDER BY n"),
        ["1|2023", "2|2023", "3|2024"]
    );
}

/// The values in the names of folders are content: whatever is wrong, a message has none of them.
#[test]
fn no_message_has_a_value_from_a_folder() {
    let fields = "source = 'd'\ncolumns.n.type = 'integer'\ncolumns.who.type = 'text'\n";
    for ending in FORMATS {
        let message = |name: &str, bytes: &[u8]| {
            let folder = folder(&[]);
            store(&folder.path().join(format!("d/a.{ending}")), &[1], None);
            write(&folder.path().join("d/who=Alice/when=now").join(name), bytes);
            refusal(fields, &folder)
        };
        let (own, other) =
            (format!("x.{ending}"), if ending == "csv" { "x.parquet" } else { "x.csv" });
        let or_damaged =
            |expected| if ending == "csv" { expected } else { "this is not a complete" };
        for (name, bytes, expected) in [
            (own.as_str(), &b"\x1f\x8b\x08Alice"[..], or_damaged("this is compressed by gzip")),
            (other, b"n\n1\n", "several formats"),
            (own.as_str(), b"\xff\xfen,\0", or_damaged("UTF-16")),
            (own.as_str(), b"m\nAlice\n", or_damaged("has none of the declared columns")),
        ] {
            let message = message(name, bytes);
            assert!(message.contains(expected) && message.contains("who=*/when=*/x."), "{message}");
            assert!(!message.contains("Alice"), "{message}");
        }
        let folder = folder(&[]);
        store(&folder.path().join(format!("d/who=Alice/a.{ending}")), &[1], None);
        wait(async {
            let context = context(fields, &folder).await.expect("opened");
            std::fs::remove_dir_all(folder.path().join("d")).expect("removed");
            let error = run(&context, "SELECT COUNT(n) FROM t").await.expect_err("gone");
            let message = SourceTable::error_in(&error).expect("ours").to_string();
            assert!(!message.contains("Alice") && message.len() < 300, "{message}");
        });
    }
}

#[cfg(unix)]
#[test]
fn strange_names_of_folders_are_no_error() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    for ending in FORMATS {
        let folder = folder(&[]);
        let fields = "source = 'd'\ncolumns.n.type = 'integer'\ncolumns.who.type = 'text'\n";
        for (name, numbers) in [
            (&b"who=#1 ?&[x] *%2F\\'\"{}"[..], 1),
            ("who=\u{1F600}".as_bytes(), 2),
            (b"who=..", 3),
            (b"who=%00%0A", 4),
            (b"who=a\nb", 100),
            (b"who=\xff", 200),
        ] {
            let path = folder.path().join("d").join(OsStr::from_bytes(name));
            store(&path.join(format!("a.{ending}")), &[numbers], None);
        }
        let rows = query(fields, &folder, "SELECT n, who FROM t ORDER BY n");
        let expected = ["1|#1 ?&[x] */\\'\"{}", "2|\u{1F600}", "3|..", "4|\0\n"];
        assert_eq!(rows, expected, "{ending}: what the libraries cannot be told of is passed over");
        let pattern = fields.replace("'d'", "'d/*'");
        assert_eq!(query(&pattern, &folder, "SELECT SUM(n) FROM t"), ["10"], "{ending}");
    }
}

#[cfg(unix)]
#[test]
fn a_linked_folder_counts_once_under_its_first_name() {
    let folder = folder(&[("d/year=2/a.csv", b"n\n1\n")]);
    std::os::unix::fs::symlink("year=2", folder.path().join("d/year=1")).expect("a link");
    std::os::unix::fs::symlink("..", folder.path().join("d/year=2/year=9")).expect("a link");
    let fields = "source = 'd'\ncolumns.n.type = 'integer'\ncolumns.year.type = 'integer'\n";
    assert_eq!(query(fields, &folder, "SELECT n, year FROM t"), ["1|1"]);
}
