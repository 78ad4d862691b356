//! What one person can change: never more than the plan says, whatever the query and the data.

use super::setting::{Setting, Stored};
use crate::Options;
use crate::tests::grammar::Grammar;
use crate::tests::influence::{Seen, check};
use crate::tests::noiseless::{Draw, prepared, wait};
use crate::tests::tables::World;

fn neighbours(setting: Setting, draw: &mut Draw) -> [Stored; 2] {
    // Few people with many rows: limits bind.
    let world = World::random(60, 6, draw);
    let mut without = world.without_person(draw.below(6) as i64);
    without.records.remove(draw.below(without.records.len()));
    [world.stored_in(setting, 2, 2), without.stored_in(setting, 2, 2)]
}

pub(super) fn compare_many(setting: Setting, seed: u64, worlds: usize, queries: usize) {
    let mut draw = Draw::new(seed);
    let mut seen = Seen::default();
    wait(async {
        for _ in 0..worlds {
            let [with, without] = neighbours(setting, &mut draw);
            for _ in 0..queries {
                let query = Grammar::new(&mut draw).query();
                let limit = |draw: &mut Draw| Some(draw.below(3) as u32 + 1);
                let mut options = Options {
                    max_groups: limit(&mut draw),
                    max_rows: limit(&mut draw),
                    ..Options::default()
                };
                if query.sql.contains("records") {
                    options = Options::default();
                }
                let prepared = prepared(with.tables(), &query.sql, options).await;
                let Some(prepared) = prepared else { continue };
                let key = draw.key();
                let one = with.totals(&prepared, key).await.expect(&query.sql);
                let other = without.totals(&prepared, key).await.expect(&query.sql);
                check(&prepared, &one, &other, &mut seen).expect(&query.sql);
            }
        }
    });
    assert!(seen.compared * 20 >= worlds * queries * 19, "{seen:?}");
    // The bounds are tried and reached, or the above shows nothing.
    assert!(seen.moved * 2 > seen.compared, "{seen:?}");
    assert!(
        seen.to_the_limit * 20 > seen.compared && seen.in_all_groups * 20 > seen.compared,
        "{seen:?}"
    );
}
