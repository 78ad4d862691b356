//! Random tables of people, in memory and in files.

use super::conformance::{Content, Setting, Stored};
use super::noiseless::Draw;
use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, StringViewArray,
    TimestampMicrosecondArray,
};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::parquet::arrow::ArrowWriter;
use reticent_policy::Policy;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

/// The cities that the policy lists.
pub(super) const CITIES: [&str; 4] = ["Brno", "Köln", "Praha", "Ulm"];

/// A row about somebody.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) person: Option<i64>,
    pub(super) city: Option<&'static str>,
    pub(super) kind: Option<String>,
    pub(super) flag: Option<bool>,
    pub(super) day: Option<i32>,
    pub(super) moment: Option<i64>,
    pub(super) age: i64,
    pub(super) score: Option<i64>,
    pub(super) amount: Option<f64>,
    pub(super) height: f64,
}

impl Entry {
    fn random(people: usize, draw: &mut Draw) -> Self {
        let known = |draw: &mut Draw| !draw.once_in(8);
        Entry {
            person: (!draw.once_in(15)).then(|| draw.below(people) as i64),
            city: known(draw).then(|| draw.of(&CITIES)),
            kind: known(draw)
                .then(|| draw.of(&["a", "ab", "B", "b,\"c\"", "über", "x y"]).to_owned()),
            flag: known(draw).then(|| draw.once_in(2)),
            day: known(draw).then(|| 19_700 + draw.below(120) as i32),
            moment: known(draw)
                .then(|| 1_700_000_000_000_000 + draw.below(9_000_000) as i64 * 1_000_000),
            age: draw.below(101) as i64,
            score: known(draw).then(|| draw.below(21) as i64 - 10),
            // Eighths lie on the grids of reals, so that sums of them are exact.
            amount: known(draw).then(|| draw.below(1025) as f64 / 8.0 - 64.0),
            height: draw.below(33) as f64 / 8.0,
        }
    }
}

/// A visit of somebody.
#[derive(Clone, Debug)]
pub(super) struct Visit {
    pub(super) person: Option<i64>,
    pub(super) ward: Option<&'static str>,
    pub(super) cost: Option<f64>,
}

/// The tables of one test.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) people: Vec<Entry>,
    pub(super) visits: Vec<Visit>,
    pub(super) records: Vec<Entry>,
}

fn named(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, column)| (name, column, true)),
    )
    .expect("columns of one length")
}

fn batch_of(rows: &[Entry], with_person: bool) -> RecordBatch {
    let mut columns: Vec<(&str, ArrayRef)> = Vec::new();
    if with_person {
        columns
            .push(("person", Arc::new(rows.iter().map(|row| row.person).collect::<Int64Array>())));
    }
    columns.extend([
        (
            "city",
            Arc::new(rows.iter().map(|row| row.city).collect::<StringViewArray>()) as ArrayRef,
        ),
        ("kind", Arc::new(rows.iter().map(|row| row.kind.clone()).collect::<StringViewArray>())),
        ("flag", Arc::new(rows.iter().map(|row| row.flag).collect::<BooleanArray>())),
        ("day", Arc::new(rows.iter().map(|row| row.day).collect::<Date32Array>())),
        (
            "moment",
            Arc::new(rows.iter().map(|row| row.moment).collect::<TimestampMicrosecondArray>()),
        ),
        ("age", Arc::new(rows.iter().map(|row| row.age).collect::<Int64Array>())),
        ("score", Arc::new(rows.iter().map(|row| row.score).collect::<Int64Array>())),
        ("amount", Arc::new(rows.iter().map(|row| row.amount).collect::<Float64Array>())),
        ("height", Arc::new(rows.iter().map(|row| row.height).collect::<Float64Array>())),
    ]);
    named(columns)
}

impl World {
    /// About `rows` rows in each table, of `people` people.
    pub(super) fn random(rows: usize, people: usize, draw: &mut Draw) -> Self {
        let visit = |draw: &mut Draw| Visit {
            person: (!draw.once_in(15)).then(|| draw.below(people) as i64),
            ward: (!draw.once_in(8)).then(|| draw.of(&["east", "west"])),
            cost: (!draw.once_in(8)).then(|| draw.below(801) as f64 / 8.0),
        };
        World {
            people: (0..rows).map(|_| Entry::random(people, draw)).collect(),
            visits: (0..rows / 2).map(|_| visit(draw)).collect(),
            records: (0..rows).map(|_| Entry::random(people, draw)).collect(),
        }
    }

    /// Without all rows of a person.
    pub(super) fn without_person(&self, person: i64) -> Self {
        let mut left = self.clone();
        left.people.retain(|row| row.person != Some(person));
        left.visits.retain(|row| row.person != Some(person));
        left
    }

    pub(super) fn people_batch(&self) -> RecordBatch {
        batch_of(&self.people, true)
    }

    pub(super) fn records_batch(&self) -> RecordBatch {
        batch_of(&self.records, false)
    }

    pub(super) fn visits_batch(&self) -> RecordBatch {
        named(vec![
            ("person", Arc::new(self.visits.iter().map(|row| row.person).collect::<Int64Array>())),
            ("ward", Arc::new(self.visits.iter().map(|row| row.ward).collect::<StringViewArray>())),
            ("cost", Arc::new(self.visits.iter().map(|row| row.cost).collect::<Float64Array>())),
        ])
    }

    /// What belongs to somebody: rows without a person count for nobody.
    pub(super) fn with_people_only(mut self) -> Self {
        self.people.retain(|row| row.person.is_some());
        self.visits.retain(|row| row.person.is_some());
        self
    }

    /// The tables in files, and a policy over them.
    pub(super) fn stored_in(&self, setting: Setting, max_groups: u32, max_rows: u32) -> Stored {
        let tables = [
            ("people", Content::Batch(self.people_batch())),
            ("visits", Content::Batch(self.visits_batch())),
            ("records", Content::Batch(self.records_batch())),
            ("regions", Content::Batch(regions())),
        ];
        setting.stored(&policy_text(max_groups, max_rows), &tables)
    }

    pub(super) fn stored(&self, max_groups: u32, max_rows: u32) -> (TempDir, Policy) {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("people.csv"), csv(&self.people_batch()))
            .expect("written");
        std::fs::write(folder.path().join("regions.csv"), csv(&regions())).expect("written");
        parquet(&folder.path().join("visits.parquet"), &self.visits_batch());
        parquet(&folder.path().join("records.parquet"), &self.records_batch());
        let text = policy_text(max_groups, max_rows);
        let policy = Policy::parse(&text, &folder.path().join("policy.toml")).expect("a policy");
        (folder, policy)
    }
}

/// A public table: a region and a weight of each city but one, and a city that is nobody's.
pub(super) fn regions() -> RecordBatch {
    named(vec![
        ("city", Arc::new(StringViewArray::from(vec!["Brno", "Praha", "Ulm", "Wien"]))),
        (
            "region",
            Arc::new(StringViewArray::from(vec![Some("east"), Some("east"), Some("south"), None])),
        ),
        ("weight", Arc::new(Int64Array::from(vec![Some(2), Some(5), None, Some(9)]))),
    ])
}

fn policy_text(max_groups: u32, max_rows: u32) -> String {
    let columns = "city = { type = 'text', values = ['Brno', 'Köln', 'Praha', 'Ulm'] }\nkind = { \
        type = 'text' }\n\
                   flag = { type = 'boolean' }\nday = { type = 'date' }\nmoment = { type = \
                   'timestamp' }\n\
                   age = { type = 'integer', bounds = [0, 100], nullable = false }\n\
                   score = { type = 'integer', bounds = [-10, 10] }\namount = { type = 'real', \
                   bounds = [-64, 64] }\n\
                   height = { type = 'real', bounds = [0, 4], nullable = false }\n";
    let unit = format!("unit = 'person'\nmax_groups = {max_groups}\nmax_rows = {max_rows}\n");
    format!(
        "[budget]\nepsilon = 10\ndelta = 1e-5\nquery_epsilon = 1\nquery_delta = 1e-7\n\
         [tables.people]\nsource = 'people.csv'\n{unit}[tables.people.columns]\nperson = {{ type = \
         'integer' }}\n{columns}\
         [tables.visits]\nsource = 'visits.parquet'\n{unit}[tables.visits.columns]\nperson = {{ \
         type = 'integer' }}\n\
         ward = {{ type = 'text', values = ['east', 'west'] }}\ncost = {{ type = 'real', bounds = \
         [0, 100] }}\n\
         [tables.records]\nsource = 'records.parquet'\neach_row = \
         true\n[tables.records.columns]\n{columns}\
         [tables.regions]\nsource = 'regions.csv'\npublic = true\nunique = \
         ['city']\n[tables.regions.columns]\n\
         city = {{ type = 'text' }}\nregion = {{ type = 'text' }}\nweight = {{ type = 'integer', \
         bounds = [0, 9] }}\n"
    )
}

/// A table as CSV: NULL is an empty field.
pub(super) fn csv(table: &RecordBatch) -> String {
    let names: Vec<String> =
        table.schema().fields().iter().map(|field| field.name().clone()).collect();
    let mut text = names.join(",") + "\n";
    let options = FormatOptions::new();
    let columns: Vec<ArrayFormatter> = table
        .columns()
        .iter()
        .map(|column| ArrayFormatter::try_new(column, &options).expect("shown"))
        .collect();
    for row in 0..table.num_rows() {
        let cells = columns
            .iter()
            .map(|column| format!("\"{}\"", column.value(row).to_string().replace('"', "\"\"")));
        writeln!(text, "{}", cells.collect::<Vec<_>>().join(",")).expect("written");
    }
    text
}

fn parquet(path: &Path, table: &RecordBatch) {
    let file = std::fs::File::create(path).expect("a file");
    let mut writer = ArrowWriter::try_new(file, table.schema(), None).expect("a writer");
    writer.write(table).expect("written");
    writer.close().expect("closed");
}
