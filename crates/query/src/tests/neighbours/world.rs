//! Generated tables: two with a unit column, one in which each row is a unit, and a public one that
//! never changes.

use super::cell::Cell;
use crate::tests::noiseless::Draw;
use reticent_policy::ColumnType;

/// The columns of every private table after its unit column, with what the policy says of them
/// besides the type.
pub(super) const COLUMNS: [(&str, ColumnType, &str); 9] = [
    ("i", ColumnType::Integer, ", bounds = [-100, 100]"),
    ("n", ColumnType::Integer, ""),
    ("r", ColumnType::Real, ", bounds = [-100, 100]"),
    ("x", ColumnType::Real, ""),
    ("s", ColumnType::Text, ", values = ['Brno', 'Köln', 'Ulm']"),
    ("k", ColumnType::Text, ""),
    ("b", ColumnType::Boolean, ""),
    ("d", ColumnType::Date, ""),
    ("m", ColumnType::Timestamp, ""),
];

/// The public table.
pub(super) const PUBLIC: &str = "city,region,weight,z,day\n\
    Brno,east,2,0.1,2024-02-29\nUlm,south,5,-0.0,1970-01-01\n\
    a,,,0.0,\n\u{212A},east,-9223372036854775808,NaN,9999-12-31\n\
    \u{17F},Ulm,0,inf,0001-01-01\n,south,1,1e308,2024-03-01\n";

/// The unit, then a cell for each of [`COLUMNS`].
pub(super) type Row = Vec<Cell>;

/// The private tables.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct World {
    /// Integer or text.
    pub(super) unit: ColumnType,
    pub(super) people: Vec<Row>,
    pub(super) visits: Vec<Row>,
    /// Each row a unit.
    pub(super) records: Vec<Row>,
}

impl World {
    /// About `rows` rows of people; the other tables are smaller, so that joins stay small.
    pub(super) fn random(unit: ColumnType, rows: usize, draw: &mut Draw) -> World {
        // Few values a column, so that rows agree and disagree; people of several rows each.
        let pools: Vec<Vec<Cell>> =
            COLUMNS
                .iter()
                .map(|(_, of, _)| {
                    let (size, ordinary) = (draw.of(&[1, 3, 6, 30]), draw.once_in(2));
                    (0..size)
                        .map(|_| {
                            if ordinary {
                                Cell::ordinary(*of, draw)
                            } else {
                                Cell::random(*of, draw)
                            }
                        })
                        .collect()
                })
                .collect();
        let people: Vec<Cell> = (0..(rows / draw.of(&[1, 2, 4, 7])).max(1))
            .map(|number| Cell::somebody(unit, number, draw))
            .collect();
        // Long texts in many rows would take longer than they are worth.
        let long = |cell: &Cell| matches!(cell, Cell::Text(_, times) if *times > 100);
        let row = |draw: &mut Draw, rows: usize| -> Row {
            let id = if draw.once_in(15) {
                Cell::Null
            } else {
                people[draw.below(people.len())].clone()
            };
            let mut row = vec![if rows > 400 && long(&id) { Cell::Null } else { id }];
            for ((_, of, _), pool) in COLUMNS.iter().zip(&pools) {
                let cell = if draw.once_in(40) {
                    Cell::random(*of, draw)
                } else {
                    pool[draw.below(pool.len())].clone()
                };
                row.push(if rows > 400 && long(&cell) { Cell::Null } else { cell });
            }
            row
        };
        let few = rows.min(300) / 2 + 1;
        World {
            unit,
            people: (0..rows).map(|_| row(draw, rows)).collect(),
            visits: (0..few).map(|_| row(draw, few)).collect(),
            records: (0..rows.min(9_000)).map(|_| row(draw, rows)).collect(),
        }
    }

    /// How many rows a table has, most of the time few: planning takes far longer than a hundred
    /// rows do.
    pub(super) fn size(draw: &mut Draw) -> usize {
        match draw.below(200) {
            0 => 8_193 + draw.below(41_808),
            1 => 8_000 + draw.below(400),
            2..6 => 500 + draw.below(2_000),
            6..80 => 1 + draw.below(40),
            _ => 40 + draw.below(160),
        }
    }

    /// Somebody who has a row.
    pub(super) fn somebody(&self, draw: &mut Draw) -> Option<Cell> {
        let all: Vec<&Row> = self.people.iter().chain(&self.visits).collect();
        (0..20).find_map(|_| {
            all.get(draw.below(all.len().max(1)))
                .map(|row| row[0].clone())
                .filter(|id| *id != Cell::Null)
        })
    }

    /// The same rows in another order.
    pub(super) fn shuffled(&self, seed: u64) -> World {
        let (mut other, mut draw) = (self.clone(), Draw::new(seed));
        draw.shuffle(&mut other.people);
        draw.shuffle(&mut other.visits);
        draw.shuffle(&mut other.records);
        other
    }

    pub(super) fn tables(&self) -> [&Vec<Row>; 3] {
        [&self.people, &self.visits, &self.records]
    }

    /// The tables, for whoever makes them smaller.
    pub(super) fn tables_mut(&mut self) -> [&mut Vec<Row>; 3] {
        [&mut self.people, &mut self.visits, &mut self.records]
    }
}
