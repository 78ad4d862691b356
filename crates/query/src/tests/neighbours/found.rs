//! What the machine found, made small: each was a violation once.

use super::case::violation;
use super::cell::{
    Cell::{self, Integer, Null},
    bytes, text,
};
use super::layout::Format;
use super::layout::Layout;
use super::violation::Change;
use super::world::{Row, World};
use crate::Options;
use crate::tests::noiseless::wait;
use reticent_policy::ColumnType;

/// A case as the machine prints it.
pub(super) struct Found {
    pub(super) sql: &'static str,
    /// `max_groups` and `max_rows`.
    pub(super) options: (Option<u32>, Option<u32>),
    pub(super) unit: ColumnType,
    pub(super) people: Vec<Row>,
    pub(super) visits: Vec<Row>,
    pub(super) records: Vec<Row>,
    pub(super) layout: Layout,
    pub(super) change: Change,
    pub(super) key: u64,
}

/// The text with `⟨a*3⟩` written out as `aaa`.
fn expanded(short: &str) -> String {
    let mut text = String::new();
    for (index, piece) in short.split('⟨').enumerate() {
        match piece.split_once('⟩') {
            Some((repeated, rest)) if index > 0 => {
                let (unit, times) = repeated.rsplit_once('*').expect("a piece and how often");
                text += &unit.repeat(times.parse().expect("a number"));
                text += rest;
            }
            _ => text += piece,
        }
    }
    text
}

/// Asserts that the case shows no violation any more.
fn holds(found: Found) {
    let Found {
        sql,
        options: (max_groups, max_rows),
        unit,
        people,
        visits,
        records,
        layout,
        change,
        key,
    } = found;
    let world = World { unit, people, visits, records };
    let options = Options { max_groups, max_rows, ..Options::default() };
    let shown = wait(violation(&expanded(sql), false, options, (&world, layout, &change), key));
    assert_eq!(shown, Ok(None), "{sql}");
}

/// A mark of UTF-8 at the beginning of somebody's first cell was left out if it was the first of a
/// file without a header: the text depended on whose row comes first.
#[test]
fn a_mark_in_the_first_cell_of_a_file_without_a_header_is_data() {
    let nobody = || vec![Null; 10];
    let row = |id: i64, word: Cell| {
        let mut row = nobody();
        row[0] = Integer(id);
        row[6] = word;
        row
    };
    let csv = Format::Csv { header: false, gzip: false };
    for mark in [text("\u{feff}a", 1), bytes(&[0xff, 0xfe]), bytes(&[0x1f, 0x8b])] {
        holds(Found {
            sql: "SELECT p.k AS k0, COUNT(*) AS a0 FROM people AS p GROUP BY 1",
            options: (None, None),
            unit: ColumnType::Integer,
            people: vec![row(1, Null), row(0, mark)],
            visits: vec![],
            records: vec![],
            layout: Layout { format: csv, unit_first: false, ..Layout::PLAIN },
            change: Change::Removed { person: Integer(1), record: 0 },
            key: 1,
        });
    }
}

/// A table of one row each: a person, and a value in one column.
fn people(index: usize, cells: &[(i64, Cell)]) -> Vec<Row> {
    let row = |(id, cell): &(i64, Cell)| {
        let mut row = vec![Null; 10];
        row[0] = Integer(*id);
        row[index] = cell.clone();
        row
    };
    cells.iter().map(row).collect()
}

/// Queries over people, of whom the first is taken away.
fn without_the_first(sql: &'static str, people: Vec<Row>, layout: Layout) {
    let person = people[0][0].clone();
    let change = Change::Removed { person, record: 0 };
    let options = (None, None);
    let unit = ColumnType::Integer;
    holds(Found {
        sql,
        options,
        unit,
        people,
        visits: vec![],
        records: vec![],
        layout,
        change,
        key: 1,
    });
}

/// The rounding of the greatest integer failed, and with it every query that had such a row.
#[test]
fn the_rounding_of_a_great_integer_is_null() {
    for sql in [
        "SELECT COUNT(*) AS a0 FROM people AS p WHERE ROUND(p.n, -1) = 0",
        "SELECT COUNT(ROUND(CAST(p.n AS TINYINT), -1)) AS a0 FROM people AS p",
    ] {
        let rows = people(2, &[(1, Integer(i64::MAX)), (2, Integer(127)), (3, Integer(5))]);
        without_the_first(sql, rows, Layout::PLAIN);
    }
}

/// Sums of reals by unit followed the batches, which somebody else's rows shift.
#[test]
fn sums_of_a_unit_do_not_depend_on_where_its_rows_are() {
    for call in ["SUM(p.r)", "AVG(p.r)", "SUM(CAST(p.r AS REAL))"] {
        let sql = format!(
            "SELECT CAST(p.r AS TEXT) AS k0, COUNT(*) AS a0 FROM (SELECT p.id AS id, {call} AS r \
             FROM people AS p GROUP BY \
             p.id) AS p GROUP BY 1"
        );
        let cents = [0.1, 0.2, 0.3, 0.7, 1e16, -1e16, 0.6];
        let mut cells = vec![(1, Cell::Real(0.5))];
        cells.extend(cents.map(|cent| (2, Cell::Real(cent))));
        let layout = Layout { batch: 2, partitions: 2, ..Layout::PLAIN };
        without_the_first(sql.leak(), people(3, &cells), layout);
    }
}

/// A long pattern failed in batches that have a text beyond ASCII.
#[test]
fn a_long_pattern_does_not_fail_where_a_text_is_not_ascii() {
    let rows = || people(6, &[(1, text("é", 1)), (2, text("a", 1))]);
    without_the_first(
        "SELECT COUNT(*) AS a0 FROM people AS p WHERE p.k ILIKE '⟨a*1000⟩'",
        rows(),
        Layout::PLAIN,
    );
    // Longer ones are refused, whatever the texts are.
    let world =
        World { unit: ColumnType::Integer, people: rows(), visits: vec![], records: vec![] };
    let sql = expanded("SELECT COUNT(*) AS a0 FROM people AS p WHERE p.k ILIKE '⟨a*60000⟩'");
    let change = Change::Removed { person: Integer(1), record: 0 };
    let found =
        wait(violation(&sql, false, Options::default(), (&world, Layout::PLAIN, &change), 1));
    assert!(found.is_err_and(|message| message.contains("a pattern has 60000 characters")));
}
