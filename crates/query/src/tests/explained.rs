//! What is said of a query beforehand is what its release has, and how the noise is shared.

use super::grammar::Grammar;
use super::noiseless::{Draw, prepared, totals, wait};
use super::tables::World;
use crate::{Formula, Options, Prepared, prepare};
use reticent_noise::randomness::SeededRandom;
use reticent_release::{Noisy, Statistic};

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

/// The noise of a query whose statistics all have the same reach.
fn planned(sql: &str, max_groups: u32, max_rows: u32) -> Prepared {
    let (_folder, policy) = World::random(5, 2, &mut Draw::new(3)).stored(max_groups, max_rows);
    wait(prepare(&policy, sql, Options::default())).expect(sql)
}

fn relative_scale(prepared: &Prepared, statistic: usize) -> f64 {
    let step = match prepared.plan.design().statistics[statistic] {
        Statistic::Sum { grid, .. } => grid.step,
        _ => 1.0,
    };
    let influence = prepared.plan.influence(statistic).expect("a statistic").per_group;
    prepared.plan.scale(statistic).expect("a number") / (step * influence as f64)
}

#[test]
fn a_count_that_only_divides_gets_less_of_the_budget() {
    let average = planned("SELECT city, AVG(height) AS a FROM people GROUP BY city", 2, 2);
    let places = match average.aggregation.outputs[0].formula {
        Formula::Average { sum, count } => Some((sum, count)),
        _ => None,
    };
    let (sum, count) = places.expect("an average");
    // Shares of epsilon are to each other as the cube roots of the weights.
    let ratio = relative_scale(&average, count) / relative_scale(&average, sum);
    assert!((ratio - 3f64.cbrt()).abs() < 1e-6, "{ratio}");
    let counted = planned("SELECT city, AVG(height) AS a, COUNT(height) AS n FROM people GROUP BY city", 2, 2);
    assert!(
        (relative_scale(&counted, 0) / relative_scale(&counted, 1) - 1.0).abs() < 1e-6,
        "a count that is shown is a figure too"
    );
}

#[test]
fn a_sum_of_values_that_are_counted_is_taken_around_the_middle() {
    let of = |sql: &str| planned(sql, 2, 2).aggregation.outputs.last().expect("a sum").formula.clone();
    assert!(matches!(of("SELECT COUNT(age) AS n, SUM(age) AS s FROM people"), Formula::Sum { count: Some(_), .. }));
    assert!(matches!(of("SELECT SUM(age) AS s FROM people"), Formula::Sum { count: None, .. }));
    // Other values than those that are counted.
    assert!(matches!(of("SELECT COUNT(score) AS n, SUM(age) AS s FROM people"), Formula::Sum { count: None, .. }));
    // The middle of these is zero, or is rounded away from it.
    let clamped = |lower: i64, upper: i64| {
        of(&format!(
            "SELECT COUNT(GREATEST(LEAST(age, {upper}), {lower})) AS n, SUM(GREATEST(LEAST(age, {upper}), {lower})) AS s FROM people"
        ))
    };
    assert!(matches!(clamped(-9, 9), Formula::Sum { count: None, .. }));
    assert!(matches!(clamped(-1, 0), Formula::Sum { count: None, .. }));
    assert!(matches!(clamped(3, 9), Formula::Sum { count: Some(_), .. }));
}

#[test]
fn groups_that_are_found_are_selected_by_a_count_that_is_asked_for() {
    let selection = |aggregates: &str| {
        let prepared = planned(&format!("SELECT kind, {aggregates} FROM people GROUP BY kind"), 2, 3);
        let selection = prepared.plan.selection().expect("found groups");
        (selection.epsilon == 0.0, selection.rows_of_unit)
    };
    assert_eq!(selection("COUNT(*)"), (true, 3));
    assert_eq!(selection("COUNT(score), COUNT(*), SUM(age)"), (true, 3));
    assert_eq!(selection("COUNT(*), COUNT(DISTINCT person)"), (true, 1));
    assert_eq!(selection("SUM(age)"), (false, 1));
}
