//! The engine against its definition, on random tables in random arrangements, and on extremes.

use super::model::{Cell, Group, Known, Table, Total, cells};
use super::{GroupKeys, Layout, SecretKey, exact_totals, totals_of_no_rows};
use crate::{EngineError, GroupTotals, PartError};
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::catalog::memory::MemorySourceConfig;
use datafusion::execution::TaskContext;
use reticent_noise::randomness::{RandomBits, SeededRandom};
use reticent_release::{Contribution, Exact, Grid, Statistic, Totals};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::runtime::{Builder, Runtime};

struct Draw(SeededRandom);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        (self.0.next_u64().expect("a seeded generator does not fail") % bound as u64) as usize
    }

    fn of<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())].clone()
    }

    fn key(&mut self) -> SecretKey {
        SecretKey::draw(&mut self.0).expect("a seeded generator does not fail")
    }

    fn shuffle<T>(&mut self, list: &mut [T]) {
        for at in (1..list.len()).rev() {
            list.swap(at, self.below(at + 1));
        }
    }
}

fn types() -> Vec<DataType> {
    let time = DataType::Timestamp(TimeUnit::Microsecond, None);
    vec![
        DataType::Int64,
        DataType::Utf8,
        DataType::Utf8View,
        DataType::Float64,
        DataType::Boolean,
        DataType::Date32,
        time,
    ]
}

/// A cell out of few, so that values meet, with strange ones among them.
fn cell(data_type: &DataType, variety: usize, draw: &mut Draw) -> Cell {
    if draw.below(12) == 0 {
        return Cell::Null;
    }
    let small = draw.below(variety) as i64 - 1;
    match data_type {
        DataType::Int64 | DataType::Timestamp(..) => Cell::Whole(if draw.below(20) == 0 {
            draw.of(&[i64::MIN, i64::MAX, i64::MIN + 1])
        } else {
            small
        }),
        DataType::Date32 => Cell::Whole(if draw.below(20) == 0 { i32::MIN.into() } else { small }),
        DataType::Boolean => Cell::Whole(small & 1),
        DataType::Float64 => {
            let strange = [
                0.0,
                -0.0,
                f64::NAN,
                -f64::NAN,
                f64::INFINITY,
                f64::NEG_INFINITY,
                f64::MAX,
                f64::from_bits(1),
            ];
            Cell::Float(if draw.below(4) == 0 { draw.of(&strange) } else { small as f64 * 0.75 })
        }
        _ => Cell::Text(match draw.below(15) {
            0 => String::new(),
            1 => "long ".repeat(40),
            _ => format!("value {small}"),
        }),
    }
}

fn grid(draw: &mut Draw) -> Grid {
    if draw.below(6) == 0 {
        return Grid { centre: 0.0, step: 1.0, lower: i64::MIN, upper: i64::MAX };
    }
    let (lower, width) = (draw.below(60) as i64 - 40, draw.below(50) as i64);
    Grid {
        centre: draw.of(&[0.0, 3.0, -2.5]),
        step: draw.of(&[1.0, 0.25, 8.0, 0.5]),
        lower,
        upper: lower + width,
    }
}

fn statistic(table: &Table, values: &[usize], draw: &mut Draw) -> Statistic {
    let numbers: Vec<usize> = values
        .iter()
        .copied()
        .filter(|&v| matches!(table.types[v], DataType::Int64 | DataType::Float64))
        .collect();
    let max_rows = draw.below(4) as u32 + 1;
    let maybe = |draw: &mut Draw| (draw.below(2) == 0).then(|| draw.of(values));
    match draw.below(5) {
        0 => Statistic::Count { column: maybe(draw), max_rows },
        1 => Statistic::Units,
        2 => Statistic::Quantiles {
            grid: grid(draw),
            max_rows,
            points: vec![0.5],
            column: draw.of(&numbers),
        },
        _ => {
            let total = Contribution::Total {
                lower: -(draw.below(30) as i64),
                upper: draw.below(30) as i64,
            };
            let contribution = draw.of(&[Contribution::Rows(max_rows), total]);
            Statistic::Sum { grid: grid(draw), contribution, column: draw.of(&numbers) }
        }
    }
}

/// A random question: a table, what its columns mean, and perhaps public groups.
struct Question {
    table: Table,
    layout: Layout,
    public: Option<Vec<Vec<Cell>>>,
}

impl Question {
    fn random(draw: &mut Draw) -> Self {
        let keys = draw.below(4);
        let mut columns: Vec<DataType> = vec![draw.of(&types())];
        columns.extend((0..keys).map(|_| draw.of(&types())));
        columns.extend([DataType::Int64, DataType::Float64, draw.of(&types())]);
        let (rows, units, groups) =
            (draw.of(&[0, 1, 5, 40, 120]), draw.below(12) + 2, draw.below(9) + 2);
        let variety: Vec<usize> = (0..columns.len())
            .map(|n| {
                if n == 0 {
                    units
                } else if n <= keys {
                    groups
                } else {
                    80
                }
            })
            .collect();
        let row = |draw: &mut Draw| {
            columns.iter().zip(&variety).map(|(t, &v)| cell(t, v, draw)).collect::<Vec<_>>()
        };
        let table = Table { rows: (0..rows).map(|_| row(draw)).collect(), types: columns.clone() };
        let values: Vec<usize> = (keys + 1..columns.len()).collect();
        let layout = Layout {
            unit: (draw.below(4) > 0).then_some(0),
            keys: (1..=keys).collect(),
            statistics: (0..draw.below(5)).map(|_| statistic(&table, &values, draw)).collect(),
            max_groups: draw.of(&[1, 1, 2, 3, 5, 12, 50]),
        };
        let mut seen = BTreeSet::new();
        let public = (keys > 0 && draw.below(3) == 0).then(|| {
            let all: Vec<Vec<Cell>> =
                (0..draw.below(7)).map(|_| row(draw)[1..=keys].to_vec()).collect();
            all.into_iter().filter(|key| seen.insert(known(key))).collect()
        });
        Self { table, layout, public }
    }

    /// What the definition says.
    fn expected(&self, key: &SecretKey) -> BTreeMap<Vec<Known>, Group> {
        let public: Option<Vec<Vec<Known>>> = match &self.public {
            Some(keys) => Some(keys.iter().map(|key| known(key)).collect()),
            None => self.layout.keys.is_empty().then(|| vec![Vec::new()]),
        };
        self.table.totals(&self.layout, public.as_deref(), key)
    }

    fn groups(&self) -> GroupKeys {
        match &self.public {
            None => GroupKeys::Found,
            Some(keys) => {
                let types = self
                    .layout
                    .keys
                    .iter()
                    .map(|&column| self.table.types[column].clone())
                    .collect();
                GroupKeys::Public(Table { types, rows: Vec::new() }.batch(keys))
            }
        }
    }

    /// The totals of rows of the table, in one batch.
    fn totals_of(&self, rows: &[Vec<Cell>], key: SecretKey, runtime: &Runtime) -> GroupTotals {
        let batches = vec![vec![self.table.batch(rows)]];
        let (keys, exact) =
            run(&self.table, batches, &self.layout, self.groups(), key, runtime).expect("totals");
        GroupTotals { keys, exact }
    }

    /// The rows divided at random into so many parts, each unit in one.
    fn divided(&self, parts: usize, draw: &mut Draw) -> Vec<Vec<Vec<Cell>>> {
        let mut divided = vec![Vec::new(); parts];
        let mut part_of = BTreeMap::new();
        for row in &self.table.rows {
            let unit = self.layout.unit.map(|column| row[column].known());
            let part = match unit {
                Some(unit) => *part_of.entry(unit).or_insert_with(|| draw.below(parts)),
                None => draw.below(parts),
            };
            divided[part].push(row.clone());
        }
        divided
    }

    /// What the engine says, with the rows shuffled and dealt to partitions and batches at random.
    /// Checks the order of the groups.
    fn answer(
        &self,
        key: SecretKey,
        runtime: &Runtime,
        draw: &mut Draw,
    ) -> BTreeMap<Vec<Known>, Group> {
        let mut rows = self.table.rows.clone();
        draw.shuffle(&mut rows);
        let mut partitions = vec![Vec::new(); draw.below(4) + 1];
        while !rows.is_empty() {
            let batch = rows.split_off(rows.len() - (draw.below(30) + 1).min(rows.len()));
            let to = draw.below(partitions.len());
            partitions[to].push(self.table.batch(&batch));
        }
        let groups = self.groups();
        let (keys, exact) =
            run(&self.table, partitions, &self.layout, groups, key, runtime).expect("totals");
        let listed = listed(&keys, &exact);
        match &self.public {
            Some(public) => assert!(
                listed.iter().map(|(key, _)| key).eq(public
                    .iter()
                    .map(|key| known(key))
                    .collect::<Vec<_>>()
                    .iter())
            ),
            None => assert!(listed.is_sorted_by(|one, other| one.0 < other.0)),
        }
        listed.into_iter().collect()
    }
}

fn known(cells: &[Cell]) -> Vec<Known> {
    cells.iter().map(Cell::known).collect()
}

fn run(
    table: &Table,
    partitions: Vec<Vec<RecordBatch>>,
    layout: &Layout,
    groups: GroupKeys,
    key: SecretKey,
    runtime: &Runtime,
) -> Result<(RecordBatch, Exact), EngineError> {
    let rows: usize = partitions.iter().flatten().map(RecordBatch::num_rows).sum();
    let input =
        MemorySourceConfig::try_new_exec(&partitions, table.schema(), None).expect("a plan");
    let counted = Arc::new(AtomicU64::new(0));
    let counter = counted.clone();
    let progress = move |rows| {
        counter.fetch_add(rows, Ordering::Relaxed);
    };
    let answer = runtime.block_on(exact_totals(
        input,
        layout,
        groups,
        Arc::new(TaskContext::default()),
        key,
        Arc::new(progress),
    ))?;
    assert_eq!(counted.load(Ordering::Relaxed), rows as u64);
    Ok((answer.keys, answer.exact))
}

fn listed(keys: &RecordBatch, exact: &Exact) -> Vec<(Vec<Known>, Group)> {
    let columns: Vec<Vec<Cell>> = keys.columns().iter().map(cells).collect();
    let group = |row: usize| {
        let total = |totals: &Totals| match totals {
            Totals::Integers(all) => Total::Integer(all[row]),
            Totals::Values(all) => {
                assert!(all[row].is_sorted_by(|one, other| one.0 < other.0));
                Total::Values(all[row].iter().copied().collect())
            }
        };
        Group { units: exact.units[row], totals: exact.totals.iter().map(total).collect() }
    };
    assert_eq!(exact.units.len(), keys.num_rows());
    (0..keys.num_rows())
        .map(|row| (columns.iter().map(|column| column[row].known()).collect(), group(row)))
        .collect()
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(3).build().expect("a runtime")
}

#[test]
fn totals_are_those_of_the_definition_however_rows_are_arranged() {
    let (mut draw, runtime) = (Draw(SeededRandom::new(1)), runtime());
    let (mut bounded, mut found) = (0, 0);
    for round in 0..4000 {
        let (question, key) = (Question::random(&mut draw), draw.key());
        let expected = question.expected(&key);
        for _ in 0..2 {
            let answer = question.answer(key, &runtime, &mut draw);
            assert_eq!(answer, expected, "round {round}: {:?}", question.layout);
        }
        found += expected.len();
        let unbounded = Layout { max_groups: 1000, ..question.layout.clone() };
        bounded +=
            usize::from(Question { layout: unbounded, ..question }.expected(&key) != expected);
    }
    // The tables are such that there is something to find and to bound.
    assert!(bounded > 500 && found > 10_000, "{bounded} tables bounded, {found} groups");
}

#[test]
fn parts_by_unit_add_up_to_the_whole_in_any_order() {
    let (mut draw, runtime) = (Draw(SeededRandom::new(7)), runtime());
    let (query, mut several) = ([7; 32], 0);
    for round in 0..1000 {
        let (question, key) = (Question::random(&mut draw), draw.key());
        let whole = question.totals_of(&question.table.rows, key, &runtime);
        let none = totals_of_no_rows(&question.table.schema(), &question.layout, question.groups());
        let none = none.expect("a layout that fits");
        assert_eq!(none, question.totals_of(&[], key, &runtime));
        let count = draw.of(&[1, 2, 3, 7]);
        let mut parts = vec![none.clone()];
        for rows in question.divided(count, &mut draw) {
            let totals = question.totals_of(&rows, key, &runtime);
            let bytes = totals.to_bytes(&query).expect("written");
            assert_eq!(bytes, totals.clone().to_bytes(&query).expect("written"));
            parts.push(GroupTotals::from_bytes(&bytes, &query, &none).expect("read"));
        }
        several += usize::from(parts.iter().filter(|part| **part != none).count() > 1);
        draw.shuffle(&mut parts);
        let merged = GroupTotals::merged(parts.clone()).expect("merged");
        assert!(merged == whole, "round {round}: {:?}", question.layout);
        // Merging parts of parts is the same.
        let rest = parts.split_off(parts.len() / 2);
        let half = |parts: Vec<GroupTotals>| {
            let with_none = std::iter::once(none.clone()).chain(parts);
            GroupTotals::merged(with_none).expect("merged")
        };
        assert!(half(vec![half(rest), half(parts)]) == whole, "round {round}");
    }
    assert!(several > 300, "{several} tables in several parts");
}

#[test]
fn every_byte_of_a_part_counts() {
    let (mut draw, runtime) = (Draw(SeededRandom::new(8)), runtime());
    let query = [7; 32];
    let mut tried = 0;
    while tried < 6 {
        let (question, key) = (Question::random(&mut draw), draw.key());
        let totals = question.totals_of(&question.table.rows, key, &runtime);
        let has_values = totals.exact.totals.iter().any(|all| matches!(all, Totals::Values(_)));
        if question.public.is_some() || totals.keys.num_rows() < 3 || !has_values {
            continue;
        }
        tried += 1;
        let bytes = totals.to_bytes(&query).expect("written");
        let read = |bytes: &[u8]| GroupTotals::from_bytes(bytes, &query, &totals);
        assert_eq!(read(&bytes), Ok(totals.clone()));
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << draw.below(8);
            assert!(read(&damaged).is_err(), "byte {at} of {}", bytes.len());
            assert!(read(&bytes[..at]).is_err(), "cut at {at}");
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert_eq!(read(&longer), Err(PartError::Damaged));
        assert_eq!(read(b"PAR1"), Err(PartError::Foreign));
        let other = totals.to_bytes(&[8; 32]).expect("written");
        assert_eq!(read(&other), Err(PartError::OtherQuery));
        let mut newer = bytes.clone();
        newer[8] = 2;
        assert_eq!(read(&newer), Err(PartError::Version(2)));
        // The same identity, and yet totals of other kinds.
        let mut fewer = totals.clone();
        fewer.exact.totals.pop();
        let fewer_bytes = fewer.to_bytes(&query).expect("written");
        assert_eq!(read(&fewer_bytes), Err(PartError::OtherQuery));
        assert_eq!(GroupTotals::from_bytes(&bytes, &query, &fewer), Err(PartError::OtherQuery));
        assert!(GroupTotals::merged([totals, fewer]).is_err());
    }
}

/// How far one unit may move a total.
fn allowed(statistic: &Statistic, each_row: bool) -> i128 {
    let rows = |max_rows: u32| if each_row { 1 } else { i128::from(max_rows) };
    match *statistic {
        Statistic::Count { max_rows, .. } | Statistic::Quantiles { max_rows, .. } => rows(max_rows),
        Statistic::Units => 1,
        Statistic::Sum { contribution: Contribution::Total { lower, upper }, .. } => {
            i128::from(upper).max(-i128::from(lower))
        }
        Statistic::Sum { grid, contribution: Contribution::Rows(max_rows), .. } => {
            rows(max_rows) * i128::from(grid.upper).abs().max(i128::from(grid.lower).abs())
        }
    }
}

/// How far apart two totals are: for values, how many would have to be added or removed.
fn distance(one: &Total, other: &Total) -> i128 {
    match (one, other) {
        (Total::Integer(one), Total::Integer(other)) => (one - other).abs(),
        (Total::Values(one), Total::Values(other)) => {
            let values: BTreeSet<i64> = one.keys().chain(other.keys()).copied().collect();
            let times =
                |all: &BTreeMap<i64, u64>, value| i128::from(all.get(value).copied().unwrap_or(0));
            values.iter().map(|value| (times(one, value) - times(other, value)).abs()).sum()
        }
        _ => unreachable!("a statistic has one kind of total"),
    }
}

#[test]
fn one_unit_moves_few_groups_and_each_by_little() {
    let (mut draw, runtime) = (Draw(SeededRandom::new(2)), runtime());
    let mut attained = 0;
    for round in 0..4000 {
        let mut question = Question::random(&mut draw);
        if question.table.rows.is_empty() {
            continue;
        }
        let key = draw.key();
        let before = question.answer(key, &runtime, &mut draw);
        let at = draw.below(question.table.rows.len());
        let each_row = question.layout.unit.is_none();
        if each_row {
            question.table.rows.remove(at);
        } else {
            let unit = question.table.rows[at][0].known();
            question.table.rows.retain(|row| row[0].known() != unit);
        }
        let after = question.answer(key, &runtime, &mut draw);
        let statistics = &question.layout.statistics;
        let nothing = || Group {
            units: 0,
            totals: statistics
                .iter()
                .map(|statistic| match statistic {
                    Statistic::Quantiles { .. } => Total::Values(BTreeMap::new()),
                    _ => Total::Integer(0),
                })
                .collect(),
        };
        let groups: BTreeSet<&Vec<Known>> = before.keys().chain(after.keys()).collect();
        let mut moved = 0;
        for group in groups {
            let one = before.get(group).cloned().unwrap_or_else(nothing);
            let other = after.get(group).cloned().unwrap_or_else(nothing);
            moved += usize::from(one != other);
            assert!(one.units.abs_diff(other.units) <= 1);
            for (statistic, (one, other)) in
                statistics.iter().zip(one.totals.iter().zip(&other.totals))
            {
                let (distance, allowed) = (distance(one, other), allowed(statistic, each_row));
                assert!(distance <= allowed, "round {round}: {statistic:?} moved by {distance}");
                attained += usize::from(distance == allowed && allowed > 0);
            }
        }
        assert!(
            moved <= if each_row { 1 } else { question.layout.max_groups as usize },
            "round {round}: {moved} groups"
        );
    }
    // The limits are not so wide that the test could not fail.
    assert!(attained > 1000, "{attained}");
}

fn whole(values: &[i64]) -> Vec<Cell> {
    values.iter().map(|&value| Cell::Whole(value)).collect()
}

fn sum(grid: Grid, max_rows: u32, column: usize) -> Statistic {
    Statistic::Sum { column, grid, contribution: Contribution::Rows(max_rows) }
}

const COUNT: Statistic = Statistic::Count { column: None, max_rows: 1 };
const WIDE: Grid = Grid { centre: 0.0, step: 1.0, lower: i64::MIN, upper: i64::MAX };

fn answer(
    table: &Table,
    layout: &Layout,
    groups: GroupKeys,
) -> Result<(RecordBatch, Exact), EngineError> {
    let key = Draw(SeededRandom::new(3)).key();
    let batches = table.rows.chunks(10_000).map(|rows| table.batch(rows)).collect();
    run(table, vec![batches], layout, groups, key, &runtime())
}

#[test]
fn a_unit_with_a_million_rows_and_groups_has_bounded_influence() {
    let rows =
        (0..1_000_000).map(|n| whole(&[7, n, i64::MAX])).chain([whole(&[8, 5, 1])]).collect();
    let table = Table { types: vec![DataType::Int64; 3], rows };
    let layout = Layout {
        unit: Some(0),
        keys: vec![1],
        statistics: vec![COUNT, sum(WIDE, 2, 2)],
        max_groups: 3,
    };
    let (_, exact) = answer(&table, &layout, GroupKeys::Found).expect("totals");
    assert!(exact.units.len() <= 4);
    assert_eq!(exact.units.iter().sum::<u64>(), 4);
    let one_group = Layout { keys: vec![], ..layout };
    let (keys, exact) = answer(&table, &one_group, GroupKeys::Found).expect("totals");
    assert_eq!(keys.num_rows(), 1);
    assert_eq!(exact.totals[0], Totals::Integers(vec![2]));
    assert_eq!(exact.totals[1], Totals::Integers(vec![2 * i128::from(i64::MAX) + 1]));
}

#[test]
fn sums_at_the_limits_are_exact() {
    let rows = [i64::MIN, i64::MAX]
        .iter()
        .cycle()
        .take(3001)
        .map(|&value| whole(&[1, 2, value]))
        .collect();
    let table = Table { types: vec![DataType::Int64; 3], rows };
    let each_row =
        Layout { unit: None, keys: vec![1], statistics: vec![sum(WIDE, 1, 2)], max_groups: 1 };
    let expected = 1501 * i128::from(i64::MIN) + 1500 * i128::from(i64::MAX);
    assert_eq!(
        answer(&table, &each_row, GroupKeys::Found).expect("totals").1.totals,
        [Totals::Integers(vec![expected])]
    );
    let unit = Layout { unit: Some(0), statistics: vec![sum(WIDE, u32::MAX, 2)], ..each_row };
    assert_eq!(
        answer(&table, &unit, GroupKeys::Found).expect("totals").1.totals,
        [Totals::Integers(vec![expected])]
    );
}

#[test]
fn an_empty_table_has_public_groups_and_no_others() {
    let table = Table { types: vec![DataType::Int64, DataType::Utf8], rows: Vec::new() };
    for unit in [None, Some(0)] {
        let layout = Layout { unit, keys: vec![1], statistics: vec![COUNT], max_groups: 1 };
        let (keys, exact) = answer(&table, &layout, GroupKeys::Found).expect("totals");
        assert_eq!((keys.num_rows(), exact.totals), (0, vec![Totals::Integers(vec![])]));
        let public = Table { types: vec![DataType::Utf8], rows: Vec::new() };
        let public = public.batch(&[
            vec![Cell::Text("b".to_owned())],
            vec![Cell::Null],
            vec![Cell::Text("a".to_owned())],
        ]);
        let (keys, exact) =
            answer(&table, &layout, GroupKeys::Public(public.clone())).expect("totals");
        assert_eq!((keys, exact.totals), (public, vec![Totals::Integers(vec![0; 3])]));
        let (keys, exact) =
            answer(&table, &Layout { keys: vec![], ..layout }, GroupKeys::Found).expect("totals");
        assert_eq!((keys.num_rows(), exact.totals), (1, vec![Totals::Integers(vec![0])]));
    }
}

#[test]
fn rows_of_groups_that_are_not_asked_for_use_up_nothing() {
    let rows = (0..100).map(|group| whole(&[1, group])).collect();
    let table = Table { types: vec![DataType::Int64; 2], rows };
    let layout = Layout { unit: Some(0), keys: vec![1], statistics: vec![COUNT], max_groups: 2 };
    let public = Table { types: vec![DataType::Int64], rows: Vec::new() }.batch(&[
        whole(&[17]),
        whole(&[200]),
        whole(&[4]),
    ]);
    let (_, exact) = answer(&table, &layout, GroupKeys::Public(public)).expect("totals");
    assert_eq!(exact.totals, [Totals::Integers(vec![1, 0, 1])]);
}

#[test]
fn public_groups_must_fit_and_be_distinct() {
    let table = Table { types: vec![DataType::Float64; 2], rows: Vec::new() };
    let layout = Layout { unit: Some(0), keys: vec![1], statistics: vec![COUNT], max_groups: 2 };
    let floats = |keys: &[f64]| {
        let rows: Vec<Vec<Cell>> = keys.iter().map(|&key| vec![Cell::Float(key)]).collect();
        GroupKeys::Public(Table { types: vec![DataType::Float64], rows: Vec::new() }.batch(&rows))
    };
    assert!(answer(&table, &layout, floats(&[0.0, 1.0])).is_ok());
    assert!(answer(&table, &layout, floats(&[0.0, -0.0])).is_err());
    let whole = Table { types: vec![DataType::Int64], rows: Vec::new() }.batch(&[whole(&[1])]);
    assert!(answer(&table, &layout, GroupKeys::Public(whole.clone())).is_err());
    let two = Layout { keys: vec![1, 0], ..layout };
    assert!(answer(&table, &two, GroupKeys::Public(whole)).is_err());
}
