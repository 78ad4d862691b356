//! Tables are opened and queried by the engine, as a user would.

mod arrow;
mod folders;
mod hostile;
mod parquet;

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, Date32Array, DictionaryArray, Float64Array, Int32Array, Int64Array, ListArray,
    StringArray, TimestampNanosecondArray, UInt64Array,
};
use datafusion::arrow::datatypes::Int32Type;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::common::DataFusionError;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::file::properties::WriterProperties;
use datafusion::prelude::{SessionConfig, SessionContext};
use reticent_policy::{Policy, TablePolicy};
use tempfile::TempDir;

use super::{SourceError, SourceTable};
use reticent_sources::open;

fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::Builder::new().prefix("a b#%20[x]").tempdir().expect("a folder");
    for (name, bytes) in files {
        write(&folder.path().join(name), bytes);
    }
    folder
}

fn write(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().expect("inside")).expect("a folder");
    std::fs::write(path, bytes).expect("written");
}

fn table(fields: &str) -> TablePolicy {
    let text = format!("[budget]\nepsilon = 1\n[tables.t]\neach_row = true\n{fields}");
    Policy::parse(&text, Path::new("policy.toml")).expect("a policy").tables()[0].clone()
}

fn wait<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(work)
}

async fn context(fields: &str, folder: &TempDir) -> Result<SessionContext, SourceError> {
    let provider = SourceTable::new("t", open(&table(fields), folder.path())?);
    let context = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(2));
    context.register_table("t", Arc::new(provider)).expect("registered");
    Ok(context)
}

/// The answer, row by row, with `-` for NULL.
async fn run(context: &SessionContext, sql: &str) -> Result<Vec<String>, DataFusionError> {
    let batches = context.sql(sql).await?.collect().await?;
    let options = FormatOptions::new().with_null("-");
    let mut rows = Vec::new();
    for batch in &batches {
        let columns: Vec<ArrayFormatter> = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column, &options).expect("shown"))
            .collect();
        for row in 0..batch.num_rows() {
            let cells: Vec<String> =
                columns.iter().map(|column| column.value(row).to_string()).collect();
            rows.push(cells.join("|"));
        }
    }
    Ok(rows)
}

fn query(fields: &str, folder: &TempDir, sql: &str) -> Vec<String> {
    wait(async {
        run(&context(fields, folder).await.expect("opened"), sql).await.expect("answered")
    })
}

/// A name that DataFusion does not take for a pattern.
fn url_of(path: &Path) -> String {
    let text = path
        .to_str()
        .expect("text")
        .replace('%', "%25")
        .replace('#', "%23")
        .replace('[', "%5B")
        .replace(']', "%5D");
    format!("file://{}", text.replace(' ', "%20"))
}

fn refusal(fields: &str, folder: &TempDir) -> String {
    open(&table(fields), folder.path()).expect_err("refused").to_string()
}

const PEOPLE: &str = "source = 'people.csv'\ncolumns.name.type = 'text'\ncolumns.age.type = \
    'integer'\n\
    columns.height.type = 'real'\ncolumns.member.type = 'boolean'\ncolumns.born.type = 'date'\n\
    columns.seen.type = 'timestamp'\n";

#[test]
fn csv_values_are_read_or_null() {
    let folder = folder(&[(
        "people.csv",
        b"\xef\xbb\xbfseen,name,unseen,height,age,member,born\r\n\
          2024-01-31T12:00:00Z,\"Ann, \"\"A\"\"\",x,1.7,42,yes,1980-02-29\r\n\
          ,,,,,,\r\n\
          never,\xffB\xc3\xa9,x,tall,old,perhaps,1981-02-29\r\n\
          \r\n\
          2024-01-31\r\n\
          2024-01-31,\"two\nlines\",x,inf,3.0,0,2000-01-01,too,many,fields",
    )]);
    assert_eq!(
        query(PEOPLE, &folder, "SELECT name, age, height, member, born, seen FROM t"),
        [
            "Ann, \"A\"|42|1.7|true|1980-02-29|2024-01-31T12:00:00",
            "-|-|-|-|-|-",
            "\u{fffd}Bé|-|-|-|-|-",
            "-|-|-|-|-|2024-01-31T00:00:00",
            "two\nlines|3|inf|false|2000-01-01|2024-01-31T00:00:00",
        ]
    );
    assert_eq!(query(PEOPLE, &folder, "SELECT COUNT(*) FROM t"), ["5"]);
    assert_eq!(query(PEOPLE, &folder, "SELECT age FROM t WHERE name LIKE 'Ann%'"), ["42"]);
    assert_eq!(
        query(PEOPLE, &folder, "SELECT COUNT(age), SUM(age), COUNT(born) FROM t LIMIT 1"),
        ["2|45|2"]
    );
    let hidden = wait(async {
        run(&context(PEOPLE, &folder).await.expect("opened"), "SELECT unseen FROM t").await
    });
    assert!(hidden.is_err(), "a column that is not declared is invisible");
}

#[test]
fn the_header_must_have_the_declared_columns() {
    for (header, expected) in [
        (
            "name,Alice,age,member",
            "has no column \"born\"; it has \"age\", \"member\", \"name\" of those declared",
        ),
        ("seen,name,height,age,member,born,name", "has several columns \"name\""),
        (
            "seen;name;height;age;member;born",
            "has none of the declared columns; if it is a row, name the columns with `header",
        ),
        ("Alice,42,1.7", "people.csv has none of the declared columns"),
    ] {
        let folder = folder(&[("people.csv", header.as_bytes())]);
        let message = refusal(PEOPLE, &folder);
        assert!(message.contains(expected) && !message.contains("Alice"), "{message}");
    }
    let semicolons = folder(&[("people.csv", b"seen;name;height;age;member;born\n;Ann;1;2")]);
    assert_eq!(
        query(&format!("{PEOPLE}delimiter = ';'"), &semicolons, "SELECT name, age FROM t"),
        ["Ann|2"]
    );
    let bare = folder(&[("people.csv", b"Ann,1\nBob,2\n")]);
    let fields = "source = 'people.csv'\nheader = ['name', 'age']\ncolumns.age.type = 'integer'\n";
    assert_eq!(query(fields, &bare, "SELECT age FROM t ORDER BY age"), ["1", "2"]);
    let message = refusal(&format!("{fields}columns.size.type = 'real'\n"), &bare);
    assert!(message.ends_with("has no column \"size\"; it has \"name\", \"age\""), "{message}");
}

#[test]
fn a_table_without_rows_is_a_table() {
    let whole = folder(&[("people.csv", b"seen,name,height,age,member,born\n")]);
    assert_eq!(query(PEOPLE, &whole, "SELECT COUNT(*), SUM(age) FROM t"), ["0|-"]);
    let nothing = folder(&[("people.csv", b"")]);
    assert_eq!(query(PEOPLE, &nothing, "SELECT COUNT(*), MAX(name) FROM t"), ["0|-"]);
}

#[test]
fn many_files_are_one_table_in_any_order() {
    let mut compressed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    compressed.write_all(b"value,key\n4,b\n").expect("compressed");
    let compressed = compressed.finish().expect("compressed");
    let folder = folder(&[
        ("1.csv", b"key,value\na,1\n"),
        ("2.csv", b"other,value,key\nx,2,a\n"),
        ("3.csv", b""),
        ("4.csv.gz", &compressed),
    ]);
    let columns = "columns.key.type = 'text'\ncolumns.value.type = 'integer'\n";
    let sql = "SELECT key, SUM(value) FROM t GROUP BY key ORDER BY key";
    for source in
        ["'.'", "'*.csv*'", "['4.csv.gz', '2.csv', '1.csv', '3.csv']", "['1.csv', '.', '1.csv']"]
    {
        assert_eq!(
            query(&format!("source = {source}\n{columns}"), &folder, sql),
            ["a|3", "b|4"],
            "{source}"
        );
    }
}

/// What the engine's own reader says of a clean file of several buffers is what ours says: every
/// row arrives, in every column.
#[test]
fn a_clean_file_is_read_as_the_engines_own_reader_reads_it() {
    let mut text = "id,key,value,day\n".to_owned();
    for row in 0..40_000u64 {
        let mixed = row.wrapping_mul(6364136223846793005) >> 40;
        // Quarters add up exactly, in whatever order the partitions do it.
        let quarter = ["0", "25", "5", "75"][row as usize % 4];
        let day = format!("20{:02}-0{}-1{}", mixed % 24, 1 + mixed % 9, mixed % 10);
        text += &format!("{row},k{},{mixed}.{quarter},{day}\n", mixed % 300);
    }
    assert!(text.len() > 3 << 18, "several buffers");
    let folder = folder(&[("1.csv", text.as_bytes())]);
    let fields = "source = '1.csv'\ncolumns.id.type = 'integer'\ncolumns.key.type = \
        'text'\ncolumns.value.type = 'real'\ncolumns.day.type = 'date'\n";
    let url = url_of(&folder.path().join("1.csv"));
    for sql in [
        "SELECT COUNT(*) FROM t",
        "SELECT COUNT(*), SUM(id), MAX(id), SUM(value), MIN(day), MAX(day), COUNT(DISTINCT key) \
         FROM t",
        "SELECT key, COUNT(*), SUM(id) FROM t GROUP BY key ORDER BY key",
        "SELECT day, COUNT(key) FROM t WHERE value > 1000 GROUP BY day ORDER BY day",
    ] {
        let theirs = wait(async {
            let context = SessionContext::new();
            context.register_csv("t", &url, Default::default()).await.expect("registered");
            run(&context, sql).await.expect("answered")
        });
        assert_eq!(query(fields, &folder, sql), theirs, "{sql}");
    }
}

/// Violation 4 of the review: such a first row made every query fail. Whatever comes first, in
/// whatever file, all rows are rows, and the others are what they are without it.
#[test]
fn a_first_row_that_looks_like_a_mark_changes_no_other_row() {
    let fields = "source = '1.csv'\nheader = ['name', 'n']\ncolumns.name.type = \
        'text'\ncolumns.n.type = 'integer'\n";
    let marks: [&[u8]; 6] = [
        b"\x1f\x8b",
        b"\x1f\x8b\x08\0\0\0\0\0\0\x03",
        b"\xff\xfe",
        b"\xfe\xff\0",
        b"\xef\xbb\xbf",
        b"PAR1",
    ];
    let rows = |text: &[u8]| query(fields, &folder(&[("1.csv", text)]), "SELECT name, n FROM t");
    for mark in marks {
        let row = [mark, b",7\n"].concat();
        // A row like the first one, which is first if that one is not there.
        let others = [mark, b"x,8\ny,9\n"].concat();
        let with = rows(&[row.as_slice(), &others].concat());
        assert_eq!(with.len(), 3, "{with:?}");
        assert_eq!((with[0].ends_with("|7"), &with[1..]), (true, rows(&others).as_slice()));
    }
}

/// Random bytes, mostly those that mean something to CSV.
fn noise(state: &mut u64, length: usize) -> Vec<u8> {
    let mut next = || {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (*state >> 33) as usize
    };
    (0..length)
        .map(|_| match next() % 3 {
            0 => b",\"\n\r0123456789.-eE:TZ\t \0"[next() % 24],
            1 => next() as u8,
            _ => b"a1,"[next() % 3],
        })
        .collect()
}

#[test]
fn no_bytes_after_the_header_are_an_error() {
    let fields = PEOPLE.replace("people.csv", "*.csv");
    let mut state = 42;
    wait(async {
        for length in [0, 1, 2, 7, 100, 1000, 300_000] {
            for _ in 0..if length < 10_000 { 40 } else { 4 } {
                let mut bytes = b"name,age,height,member,born,seen\n".to_vec();
                bytes.extend(noise(&mut state, length));
                let folder = folder(&[("people.csv", &bytes)]);
                let context = context(&fields, &folder).await.expect("opened");
                let sql = "SELECT COUNT(*), COUNT(name), COUNT(age), COUNT(height), COUNT(member), \
                    COUNT(born), COUNT(seen) FROM t";
                run(&context, sql).await.expect("whatever it is, it is a table");
            }
        }
    });
}

#[test]
fn no_bytes_at_all_cause_a_panic() {
    let mut state = 43;
    wait(async {
        for ending in ["csv", "csv.gz", "parquet", "arrow"] {
            for length in [0, 3, 8, 20, 200, 5000] {
                for head in
                    [&b""[..], b"PAR1", b"ARROW1\0\0", b"\xff\xff\xff\xff", b"\x1f\x8b\x08\0"]
                {
                    let mut bytes = head.to_vec();
                    bytes.extend(noise(&mut state, length));
                    bytes.extend(if head == b"PAR1" {
                        b"PAR1"
                    } else {
                        &head[..head.len().min(6)]
                    });
                    let name = format!("people.{ending}");
                    let folder = folder(&[(&name, &bytes)]);
                    let fields = PEOPLE.replace("people.csv", &name);
                    let message = match open(&table(&fields), folder.path()) {
                        Ok(_) => continue,
                        Err(error) => error.to_string(),
                    };
                    assert!(
                        message.contains(&name) && message.len() < 700 + 6 * length,
                        "{message}"
                    );
                }
            }
        }
    });
}

fn write_parquet(path: &Path, columns: Vec<(&str, ArrayRef)>) {
    let batch = RecordBatch::try_from_iter(columns).expect("a batch");
    // Small groups of rows, so that statistics can rule some of them out.
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(2)).build();
    write(path, b"");
    let file = File::create(path).expect("a file");
    let mut writer =
        ArrowWriter::try_new(file, batch.schema(), Some(properties)).expect("a writer");
    writer.write(&batch).expect("written");
    writer.close().expect("written");
}

#[test]
fn parquet_columns_come_in_the_engines_types() {
    let folder = folder(&[]);
    let dictionary: DictionaryArray<Int32Type> = ["x", "y", "x"].into_iter().collect();
    write_parquet(
        &folder.path().join("1.parquet"),
        vec![
            ("id", Arc::new(UInt64Array::from(vec![1, 2, u64::MAX])) as ArrayRef),
            ("key", Arc::new(dictionary)),
            (
                "at",
                Arc::new(
                    TimestampNanosecondArray::from(vec![0, 1_500, -1]).with_timezone("+02:00"),
                ),
            ),
            ("day", Arc::new(Date32Array::from(vec![Some(0), None, Some(1)]))),
            ("value", Arc::new(Float64Array::from(vec![1.5, f64::NAN, f64::INFINITY]))),
        ],
    );
    let fields = "source = '1.parquet'\ncolumns.id.type = 'integer'\ncolumns.key.type = \
        'text'\ncolumns.at.type = 'timestamp'\n\
        columns.day.type = 'date'\ncolumns.value.type = 'real'\n";
    assert_eq!(
        query(fields, &folder, "SELECT id, key, at, day, value FROM t ORDER BY at"),
        [
            "-|x|1969-12-31T23:59:59.999999|1970-01-02|inf",
            "1|x|1970-01-01T00:00:00|1970-01-01|1.5",
            "2|y|1970-01-01T00:00:00.000001|-|-",
        ]
    );
    assert_eq!(query(fields, &folder, "SELECT COUNT(*) FROM t"), ["3"]);
    assert_eq!(query(fields, &folder, "SELECT id FROM t WHERE day > DATE '1970-01-01'"), ["-"]);
    let other = "source = '1.parquet'\ncolumns.id.type = 'text'\ncolumns.day.type = \
        'timestamp'\ncolumns.at.type = 'date'\n";
    assert_eq!(
        query(other, &folder, "SELECT id, at, day FROM t ORDER BY id LIMIT 1"),
        ["1|1970-01-01|1970-01-01T00:00:00"]
    );
}

#[test]
fn files_with_other_types_join_in() {
    let folder = folder(&[]);
    let numbers = |name: &str, column: ArrayRef| {
        write_parquet(&folder.path().join(name), vec![("n", column)])
    };
    numbers("1.parquet", Arc::new(Int64Array::from(vec![1, 2])));
    numbers("2.parquet", Arc::new(Float64Array::from(vec![Some(3.0), None])));
    numbers("3.parquet", Arc::new(StringArray::from(vec!["4", "x"])));
    numbers("4.parquet", Arc::new(Int64Array::from(vec![5])));
    let fields = "source = '*.parquet'\ncolumns.n.type = 'integer'\n";
    assert_eq!(query(fields, &folder, "SELECT COUNT(*), SUM(n) FROM t"), ["7|15"]);
    assert_eq!(query(fields, &folder, "SELECT n FROM t WHERE n > 2 ORDER BY n"), ["3", "4", "5"]);
}

/// Statistics leave NaN out. With pruning by them the row of NaN would be read or not depending on
/// who shares its group of rows; and where they say that all values are the same, DataFusion's own
/// table gives the row of NaN its neighbour's value.
#[test]
fn statistics_never_decide_over_rows_with_nan() {
    let rows = |neighbour: f64| {
        let folder = folder(&[]);
        write_parquet(
            &folder.path().join("1.parquet"),
            vec![
                ("id", Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef),
                ("x", Arc::new(Float64Array::from(vec![f64::NAN, neighbour]))),
            ],
        );
        let fields = "source = '1.parquet'\ncolumns.id.type = 'integer'\ncolumns.x.type = 'real'\n";
        let ids = |condition: &str| {
            query(fields, &folder, &format!("SELECT id FROM t WHERE id = 1 AND ({condition})"))
        };
        (ids("x > 5.0"), ids("x IS NULL"), ids("x IS NOT NULL"), ids("NOT (x < 5.0)"))
    };
    assert_eq!(rows(1.0), rows(6.0));
    assert_eq!(rows(1.0), (vec![], vec!["1".to_owned()], vec![], vec![]));
    let folder = folder(&[]);
    let path = folder.path().join("1.parquet");
    write_parquet(
        &path,
        vec![("x", Arc::new(Float64Array::from(vec![f64::NAN, 1.0])) as ArrayRef)],
    );
    let ours = query("source = '1.parquet'\ncolumns.x.type = 'real'\n", &folder, "SELECT x FROM t");
    assert_eq!(ours, ["-", "1.0"]);
    let theirs = wait(async {
        let context = SessionContext::new();
        let url = url_of(&path);
        context.register_parquet("t", &url, Default::default()).await.expect("registered");
        run(&context, "SELECT x FROM t").await.expect("answered")
    });
    assert_eq!(
        theirs,
        ["1.0", "1.0"],
        "DataFusion has changed: the statistics may be worth another look"
    );
}

/// Statistics could spare groups of rows. They are never asked, and neither conditions nor limits
/// get to where files are read.
#[test]
fn a_source_is_told_no_condition_and_no_limit() {
    let folder = folder(&[("1.csv", b"id\n98\n")]);
    let path = folder.path().join("1.parquet");
    write_parquet(&path, vec![("id", Arc::new(Int64Array::from_iter_values(0..100)) as ArrayRef)]);
    for (file, answer) in [("1.parquet", vec!["98", "99"]), ("1.csv", vec!["98"])] {
        let fields = format!("source = '{file}'\ncolumns.id.type = 'integer'\n");
        let plan =
            query(&fields, &folder, "EXPLAIN SELECT id FROM t WHERE id > 97 LIMIT 5").join("\n");
        let (_, last) = plan.rsplit_once("StreamingTableExec").expect("the source");
        assert!(
            plan.contains("FilterExec: id") && !last.contains("97") && !last.contains("fetch"),
            "{plan}"
        );
        assert_eq!(
            query(&fields, &folder, "SELECT id FROM t WHERE id > 97 ORDER BY id LIMIT 5"),
            answer
        );
        assert_eq!(query(&fields, &folder, "SELECT id FROM t LIMIT 1").len(), 1);
    }
}

#[test]
fn types_that_no_declaration_fits_are_named() {
    let folder = folder(&[]);
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1)])]);
    write_parquet(
        &folder.path().join("1.parquet"),
        vec![("tags", Arc::new(lists) as ArrayRef), ("n", Arc::new(Int32Array::from(vec![7])))],
    );
    let message = refusal("source = '1.parquet'\ncolumns.tags.type = 'text'\n", &folder);
    assert!(
        message.contains("column \"tags\"") && message.contains("no declaration fits this type"),
        "{message}"
    );
    let message = refusal("source = '1.parquet'\ncolumns.n.type = 'date'\n", &folder);
    assert!(
        message.contains(
            "Int32, which is not read as date; declare it as integer or real or text or boolean"
        ),
        "{message}"
    );
    let message = refusal("source = '1.parquet'\ncolumns.m.type = 'date'\n", &folder);
    assert!(message.contains("has no column \"m\"; it has \"tags\", \"n\""), "{message}");
    // What is not declared is not in the way.
    assert_eq!(
        query("source = '1.parquet'\ncolumns.n.type = 'integer'\n", &folder, "SELECT n FROM t"),
        ["7"]
    );
}

#[test]
fn damage_is_told_without_values() {
    let folder = folder(&[]);
    let path = folder.path().join("1.parquet");
    let names: Vec<String> = (0..2000).map(|number| format!("Alice{number}")).collect();
    write_parquet(&path, vec![("name", Arc::new(StringArray::from(names)) as ArrayRef)]);
    let fields = "source = '1.parquet'\ncolumns.name.type = 'text'\n";
    let whole = std::fs::read(&path).expect("read");
    let mut told = 0;
    wait(async {
        for flipped in (10..2000).step_by(97) {
            let mut damaged = whole.clone();
            for byte in &mut damaged[flipped..flipped + 40] {
                *byte ^= 0x5a;
            }
            std::fs::write(&path, &damaged).expect("written");
            let context = context(fields, &folder).await.expect("the footer is whole");
            if let Err(error) = run(&context, "SELECT COUNT(name) FROM t").await {
                let message = SourceTable::error_in(&error).expect("ours").to_string();
                assert!(
                    !message.contains("Alice") && message.starts_with("table t could not be read"),
                    "{message}"
                );
                told += 1;
            }
        }
    });
    assert!(told > 5, "only {told} damages were noticed");
    std::fs::write(&path, &whole[..whole.len() - 1]).expect("written");
    assert!(refusal(fields, &folder).ends_with("this is not a complete Parquet file"));
}

#[test]
fn files_that_change_while_in_use_are_told() {
    let folder = folder(&[("people.csv", b"seen,name,height,age,member,born\n")]);
    wait(async {
        let context = context(PEOPLE, &folder).await.expect("opened");
        std::fs::write(folder.path().join("people.csv"), "name,secret\nAlice,1\n")
            .expect("written");
        let error = run(&context, "SELECT COUNT(age) FROM t").await.expect_err("changed");
        let message = SourceTable::error_in(&error).expect("ours").to_string();
        assert!(
            message.ends_with("people.csv: this file changed while it was in use"),
            "{message}"
        );
        std::fs::remove_file(folder.path().join("people.csv")).expect("removed");
        let error = run(&context, "SELECT COUNT(age) FROM t").await.expect_err("gone");
        let message = SourceTable::error_in(&error).expect("ours").to_string();
        assert!(message.ends_with("people.csv: entity not found"), "{message}");
    });
}
