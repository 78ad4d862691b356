//! What one person can change: never more than the plan says, whatever the query and the data.

use super::grammar::Grammar;
use super::noiseless::{Draw, prepared, totals, wait};
use super::tables::World;
use crate::{Options, Prepared};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use reticent_policy::Policy;
use reticent_release::{Exact, Totals};
use std::collections::BTreeMap;
use tempfile::TempDir;

/// The totals of a group: its units, and of each statistic the number, or how often each value occurs.
#[derive(Clone, Debug, Default, PartialEq)]
struct Group {
    units: i128,
    statistics: Vec<BTreeMap<i64, i128>>,
}

/// The groups by their keys; numbers are under the value 0.
fn by_key(keys: &RecordBatch, exact: &Exact) -> BTreeMap<Vec<String>, Group> {
    let options = FormatOptions::new().with_null("NULL");
    let columns: Vec<ArrayFormatter> =
        keys.columns().iter().map(|column| ArrayFormatter::try_new(column, &options).expect("shown")).collect();
    let of = |group: usize| Group {
        units: exact.units[group].into(),
        statistics: exact
            .totals
            .iter()
            .map(|totals| match totals {
                Totals::Integers(numbers) => BTreeMap::from([(0, numbers[group])]),
                Totals::Values(values) => values[group].iter().map(|&(value, times)| (value, times.into())).collect(),
            })
            .collect(),
    };
    (0..exact.units.len())
        .map(|group| {
            (columns.iter().map(|column| format!("{:?}", column.value(group).to_string())).collect(), of(group))
        })
        .collect()
}

/// How far two groups are apart in a statistic.
fn distance(one: Option<&BTreeMap<i64, i128>>, other: Option<&BTreeMap<i64, i128>>) -> u128 {
    let nothing = BTreeMap::new();
    let (one, other) = (one.unwrap_or(&nothing), other.unwrap_or(&nothing));
    let mut apart = 0;
    for value in one.keys().chain(other.keys().filter(|value| !one.contains_key(value))) {
        let times = |side: &BTreeMap<i64, i128>| side.get(value).copied().unwrap_or(0);
        apart += times(one).abs_diff(times(other));
    }
    apart
}

/// How often something moved, and how often as far as it may.
#[derive(Debug, Default)]
struct Seen {
    compared: usize,
    moved: usize,
    to_the_limit: usize,
    in_all_groups: usize,
}

/// Compares the totals of neighbours with what the plan claims.
fn check(prepared: &Prepared, one: (RecordBatch, Exact), other: (RecordBatch, Exact), seen: &mut Seen) {
    let (one, other) = (by_key(&one.0, &one.1), by_key(&other.0, &other.1));
    let keys: Vec<&Vec<String>> = one.keys().chain(other.keys().filter(|key| !one.contains_key(*key))).collect();
    let most = prepared.plan.design().reach.max_groups as usize;
    let sql = &prepared.sql;
    let units = |side: &BTreeMap<Vec<String>, Group>, key: &Vec<String>| side.get(key).map_or(0, |group| group.units);
    let moved: Vec<u128> = keys.iter().map(|key| units(&one, key).abs_diff(units(&other, key))).collect();
    assert!(moved.iter().all(|&by| by <= 1), "{sql}: a unit is counted twice");
    assert!(moved.iter().filter(|&&by| by > 0).count() <= most, "{sql}: a unit is in more than {most} groups");
    for place in 0..prepared.aggregation.measures.len() {
        let influence = prepared.plan.influence(place).expect("a statistic of the plan");
        let statistic = |side: &BTreeMap<Vec<String>, Group>, key: &Vec<String>| {
            side.get(key).map(|group: &Group| group.statistics[place].clone())
        };
        let apart: Vec<u128> =
            keys.iter().map(|key| distance(statistic(&one, key).as_ref(), statistic(&other, key).as_ref())).collect();
        let groups = apart.iter().filter(|&&by| by > 0).count();
        let farthest = apart.iter().copied().max().unwrap_or(0);
        assert!(
            farthest <= influence.per_group.into(),
            "{sql}: statistic {place} moves by {farthest}, not {influence:?}"
        );
        assert!(
            groups <= influence.groups as usize,
            "{sql}: statistic {place} moves in {groups} groups, not {influence:?}"
        );
        seen.moved += usize::from(groups > 0);
        seen.to_the_limit += usize::from(farthest == influence.per_group.into());
        seen.in_all_groups += usize::from(groups > 1 && groups == influence.groups as usize);
    }
    seen.compared += 1;
}

fn neighbours(draw: &mut Draw) -> ((TempDir, Policy), (TempDir, Policy)) {
    // Few people with many rows: limits bind.
    let world = World::random(60, 6, draw);
    let mut without = world.without_person(draw.below(6) as i64);
    without.records.remove(draw.below(without.records.len()));
    (world.stored(2, 2), without.stored(2, 2))
}

fn compare_many(seed: u64, worlds: usize, queries: usize) {
    let mut draw = Draw::new(seed);
    let mut seen = Seen::default();
    wait(async {
        for _ in 0..worlds {
            let ((_with, policy), (_without, neighbour)) = neighbours(&mut draw);
            for _ in 0..queries {
                let query = Grammar::new(&mut draw).query();
                let limit = |draw: &mut Draw| Some(draw.below(3) as u32 + 1);
                let mut options =
                    Options { max_groups: limit(&mut draw), max_rows: limit(&mut draw), ..Options::default() };
                if query.sql.contains("records") {
                    options = Options::default();
                }
                let Some(prepared) = prepared(&policy, &query.sql, options).await else { continue };
                let key = draw.key();
                let one = totals(&prepared, &policy, key).await.expect(&query.sql);
                let other = totals(&prepared, &neighbour, key).await.expect(&query.sql);
                check(&prepared, one, other, &mut seen);
            }
        }
    });
    assert!(seen.compared * 20 >= worlds * queries * 19, "{seen:?}");
    // The bounds are tried and reached, or the above shows nothing.
    assert!(seen.moved * 2 > seen.compared, "{seen:?}");
    assert!(seen.to_the_limit * 20 > seen.compared && seen.in_all_groups * 20 > seen.compared, "{seen:?}");
}

#[test]
fn one_person_moves_no_more_than_the_plan_says() {
    compare_many(3, 10, 75);
}

#[test]
fn one_person_moves_no_more_than_the_plan_says_again() {
    compare_many(4, 10, 75);
}
