//! What one person can change: never more than the plan says, whatever the query and the data.

use super::grammar::Grammar;
use super::influence::{Seen, check};
use super::noiseless::{Draw, prepared, totals, wait};
use super::tables::World;
use crate::Options;
use reticent_policy::Policy;
use tempfile::TempDir;

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
                check(&prepared, &one, &other, &mut seen).expect(&query.sql);
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
