//! What is said of a query beforehand is what its release has.

use super::grammar::Grammar;
use super::noiseless::{Draw, prepared, totals, wait};
use super::tables::World;
use crate::{Formula, Options, prepare};
use reticent_noise::randomness::SeededRandom;
use reticent_release::Noisy;

/// The half-widths of counts and sums in an answer are those of the plan, and there are as many statistics as it says.
#[test]
fn half_widths_and_statistics_are_those_of_the_plan() {
    let mut draw = Draw::new(5);
    let world = World::random(60, 12, &mut draw);
    let (_folder, policy) = world.stored(3, 2);
    let mut compared = 0;
    wait(async {
        // How many cells an answer has is up to the noise (HAVING, groups that are found), which is from a seed here.
        for seed in 0..400 {
            let query = Grammar::new(&mut draw).query();
            let Some(explained) = prepared(&policy, &query.sql, Options::default()).await else { continue };
            let plan = explained.plan;
            let prepared = prepare(&policy, &query.sql, Options::default()).await.expect(&query.sql);
            assert_eq!(plan.events(), prepared.plan.events(), "{}", query.sql);
            let (keys, exact) = totals(&prepared, &policy, draw.key()).await.expect(&query.sql);
            let released = prepared.plan.release(&exact, &mut SeededRandom::new(seed)).expect(&query.sql);
            let answer = prepared.finish(&keys, &released).await.expect(&query.sql);
            assert_eq!(answer.released.len(), plan.design().statistics.len());
            for (place, released) in answer.released.iter().enumerate() {
                assert_eq!(matches!(released, Noisy::Quantiles(_)), plan.half_width(place).is_none());
            }
            for (name, widths) in prepared.columns.iter().zip(&answer.half_widths) {
                let alias = format!(" AS {name}");
                let bare = |output: &&crate::Output| {
                    query.sql.to_lowercase().contains(&format!("{}{alias}", output.name).to_lowercase())
                };
                let Some(output) = prepared.aggregation.outputs.iter().find(bare) else { continue };
                let (Formula::Count(statistic) | Formula::Sum { sum: statistic, count: None }) = output.formula else {
                    continue;
                };
                for width in widths {
                    assert_eq!(*width, plan.half_width(statistic), "{}", query.sql);
                    compared += 1;
                }
            }
        }
    });
    assert!(compared > 100, "{compared}");
}
