//! Private columns in the names of folders: the unit, a key, a value. The answers are those of the
//! same table in one file.

use super::noiseless::{Cell, Draw, cells, exact_answer, wait};
use datafusion::arrow::array::{ArrayRef, Float64Array};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::parquet::arrow::ArrowWriter;
use reticent_policy::Policy;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// A person, a tag, a day, a number: the first three in folders.
type Row = (Option<i64>, Option<&'static str>, &'static str, f64);

fn random_rows(count: usize, draw: &mut Draw) -> Vec<Row> {
    let row = |draw: &mut Draw| {
        let person = (!draw.once_in(10)).then(|| draw.below(9) as i64);
        let tag = (!draw.once_in(6)).then(|| draw.of(&["a", "b c", "ü/%", "d=e"]));
        // Eighths lie on the grids of reals.
        (person, tag, draw.of(&["2024-01-31", "2024-02-01", "no day"]), draw.below(81) as f64 / 8.0)
    };
    (0..count).map(|_| row(draw)).collect()
}

const COLUMNS: &str = "unit = 'person'\nmax_groups = 2\nmax_rows = \
    3\n[tables.t.columns]\nperson.type = 'integer'\ntag.type = 'text'\n\
    day = { type = 'date', values = [2024-01-31, 2024-02-01] }\nx = { type = 'real', bounds = [0, \
    10] }\n";

fn policy(folder: &Path, source: &str) -> Policy {
    let text = format!(
        "[budget]\nepsilon = 1e3\ndelta = 1e-3\n[tables.t]\nsource = '{source}'\n{COLUMNS}"
    );
    Policy::parse(&text, &folder.join("policy.toml")).expect("a policy")
}

/// The table in one file, and in folders in two formats.
fn store(folder: &Path, rows: &[Row]) {
    let mut flat = "person,tag,day,x\n".to_owned();
    let mut folders: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (person, tag, day, x) in rows {
        let number = person.map(|person| person.to_string());
        flat += &format!(
            "{},{},{day},{x}\n",
            number.as_deref().unwrap_or_default(),
            tag.unwrap_or_default()
        );
        let null = "__HIVE_DEFAULT_PARTITION__".to_owned();
        let tag = tag.map(|tag| tag.replace('%', "%25").replace('/', "%2F"));
        let name = format!(
            "person={}/tag={}/day={day}",
            number.as_ref().unwrap_or(&null),
            tag.as_ref().unwrap_or(&null)
        );
        folders.entry(name).or_default().push(*x);
    }
    std::fs::write(folder.join("flat.csv"), flat).expect("written");
    for (name, numbers) in folders {
        for format in ["csv", "parquet"] {
            let within = folder.join(format).join(&name);
            std::fs::create_dir_all(&within).expect("a folder");
            let path = within.join(format!("part.{format}"));
            if format == "csv" {
                let lines: String = numbers.iter().map(|x| format!("{x}\n")).collect();
                std::fs::write(path, format!("x\n{lines}")).expect("written");
            } else {
                let column: ArrayRef = Arc::new(Float64Array::from(numbers.clone()));
                let batch = RecordBatch::try_from_iter([("x", column)]).expect("a batch");
                let file = std::fs::File::create(path).expect("a file");
                let mut writer =
                    ArrowWriter::try_new(file, batch.schema(), None).expect("a writer");
                writer.write(&batch).expect("written");
                writer.close().expect("written");
            }
        }
    }
}

const QUERIES: [&str; 7] = [
    "SELECT COUNT(*), COUNT(DISTINCT person), SUM(x), COUNT(day), COUNT(tag) FROM t",
    "SELECT tag, COUNT(*), SUM(x) FROM t GROUP BY tag",
    "SELECT day, tag, COUNT(*), AVG(x) FROM t GROUP BY day, tag",
    "SELECT COUNT(*), MEDIAN(x) FROM t WHERE tag = 'b c' AND day = DATE '2024-01-31'",
    "SELECT COUNT(*) FROM t WHERE tag IS NULL OR day IS NULL",
    "SELECT COUNT(*) FROM t WHERE person < 4",
    "SELECT tag, SUM(n) FROM (SELECT person, tag, LEAST(COUNT(*), 5) AS n FROM t GROUP BY person, \
     tag) q GROUP BY tag",
];

fn answers(folder: &Path, source: &str) -> Vec<Vec<Vec<Cell>>> {
    let policy = policy(folder, source);
    let answer = |sql: &&str| {
        let (_, answer) = wait(exact_answer(&policy, sql, Draw::new(3).key())).expect(sql);
        let mut rows = cells(&answer.table);
        rows.sort_by_key(|row| format!("{row:?}"));
        rows
    };
    QUERIES.iter().map(answer).collect()
}

#[test]
fn folders_give_the_answers_of_one_file() {
    let mut draw = Draw::new(77);
    for count in [1, 40, 400] {
        let folder = tempfile::tempdir().expect("a folder");
        store(folder.path(), &random_rows(count, &mut draw));
        let expected = answers(folder.path(), "flat.csv");
        for source in ["csv", "parquet", "csv/**/*.csv", "parquet/person=*"] {
            assert_eq!(answers(folder.path(), source), expected, "{count} rows in {source}");
        }
    }
}

/// The folder of one person goes: the columns are the same, and the rest of the table stays as it
/// is in one file without that person.
#[test]
fn a_person_leaves_with_their_folder() {
    let mut draw = Draw::new(78);
    let mut rows = random_rows(300, &mut draw);
    rows.sort_by_key(|row| row.0 == Some(4));
    let folder = tempfile::tempdir().expect("a folder");
    store(folder.path(), &rows);
    std::fs::remove_dir_all(folder.path().join("parquet/person=4")).expect("removed");
    rows.retain(|row| row.0 != Some(4));
    let without = tempfile::tempdir().expect("a folder");
    store(without.path(), &rows);
    assert_eq!(answers(folder.path(), "parquet"), answers(without.path(), "flat.csv"));
}
