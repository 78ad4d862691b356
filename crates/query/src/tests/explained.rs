//! What is said of a query beforehand is what its release has, and how the noise is shared.

#![allow(clippy::panic)]

use super::grammar::Grammar;
use super::noiseless::{Draw, prepared, totals, wait};
use super::tables::World;
use crate::{Formula, Options, Prepared, prepare};
use reticent_events::Event;
use reticent_noise::randomness::SeededRandom;
use reticent_release::Noisy;

/// The half-widths of counts and sums in an answer are those of the plan, and there are as many
/// statistics as it says.
#[test]
fn half_widths_and_statistics_are_those_of_the_plan() {
    let mut draw = Draw::new(5);
    let world = World::random(60, 12, &mut draw);
    let (_folder, policy) = world.stored(3, 2);
    let mut compared = 0;
    wait(async {
        // How many cells an answer has is up to the noise (HAVING, groups that are found), which is
        // from a seed here.
        for seed in 0..400 {
            let query = Grammar::new(&mut draw).query();
            let Some(explained) = prepared(&policy, &query.sql, Options::default()).await else {
                continue;
            };
            let plan = explained.plan;
            let prepared =
                prepare(&policy, &query.sql, Options::default()).await.expect(&query.sql);
            assert_eq!(plan.events(), prepared.plan.events(), "{}", query.sql);
            let (keys, exact) = totals(&prepared, &policy, draw.key()).await.expect(&query.sql);
            let released =
                prepared.plan.release(&exact, &mut SeededRandom::new(seed)).expect(&query.sql);
            let answer = prepared.finish(&keys, &released).await.expect(&query.sql);
            assert_eq!(answer.released.len(), plan.statistics().len());
            for (planned, released) in plan.statistics().iter().zip(&answer.released) {
                assert_eq!(matches!(released, Noisy::Quantiles(_)), planned.half_width().is_none());
            }
            for (name, widths) in prepared.columns.iter().zip(&answer.half_widths) {
                let alias = format!(" AS {name}");
                let bare = |output: &&crate::Output| {
                    query
                        .sql
                        .to_lowercase()
                        .contains(&format!("{}{alias}", output.name).to_lowercase())
                };
                let Some(output) = prepared.aggregation.outputs.iter().find(bare) else { continue };
                let (Formula::Count(statistic) | Formula::Sum { sum: statistic, count: None }) =
                    output.formula
                else {
                    continue;
                };
                for width in widths {
                    assert_eq!(*width, plan.statistics()[statistic].half_width(), "{}", query.sql);
                    compared += 1;
                }
            }
        }
    });
    assert!(compared > 100, "{compared}");
}

fn planned(sql: &str, max_groups: u32, max_rows: u32) -> Prepared {
    let (_folder, policy) = World::random(5, 2, &mut Draw::new(3)).stored(max_groups, max_rows);
    wait(prepare(&policy, sql, Options::default())).expect(sql)
}

/// The least root mean square error of staircase noise, relative to the sensitivity: levels
/// `e^-(j epsilon)`, the first from 0 to `gamma`, the next ones of width 1 (Geng and Viswanath,
/// *The optimal noise-adding mechanism in differential privacy*, 2016, Theorem 7). On integers
/// `gamma` is a multiple of the step, and so are the values; real numbers are the limit of fine
/// steps.
fn least_error(epsilon: f64, sensitivity: u64) -> f64 {
    let (fine, levels) = (sensitivity > 1000, (60.0 / epsilon) as u64);
    let steps = if fine { 4000 } else { sensitivity };
    let of = |gamma: u64| {
        let (mut mass, mut square) = (0.0, 0.0);
        for level in 0..levels {
            for (from, to, drop) in [(0, gamma, 0), (gamma, steps, 1)] {
                let weight = (-epsilon * (level + drop) as f64).exp();
                let [from, to] = [from, to].map(|at| (level * steps + at) as f64 / steps as f64);
                mass += weight * (to - from);
                square += weight * (to.powi(3) - from.powi(3)) / 3.0;
            }
        }
        (square / mass).sqrt()
    };
    let on_integers = |gamma: u64| {
        let level = |n: u64| n / steps + u64::from(n % steps >= gamma);
        let sum = |power: i32| -> f64 {
            let term = |n: u64| (n as f64).powi(power) * (-epsilon * level(n) as f64).exp();
            2.0 * (1..levels * steps).map(term).sum::<f64>()
        };
        (sum(2) / (1.0 + sum(0))).sqrt() / steps as f64
    };
    let error = |gamma| if fine { of(gamma) } else { on_integers(gamma) };
    (1..=steps).map(error).fold(f64::INFINITY, f64::min)
}

/// The loss of a statistic in one of its two groups, if its error is the least that one buys.
fn loss_in_a_group(prepared: &Prepared, index: usize) -> f64 {
    let planned = &prepared.plan.statistics()[index];
    let Some(Event::Repetition { times: 2, event }) = planned.event() else {
        panic!("{planned:?}")
    };
    let Event::Staircase { epsilon, .. } = *event else { panic!("{event:?}") };
    let sensitivity = planned.influence().per_group;
    let deviation = planned.standard_deviation().expect("a number");
    let relative = deviation / (planned.step() * sensitivity as f64);
    let least = least_error(epsilon, sensitivity);
    assert!((relative / least - 1.0).abs() < 1e-6, "{relative} {least} for {sensitivity}");
    epsilon
}

#[test]
fn a_count_that_only_divides_gets_less_of_the_budget() {
    let average = planned("SELECT city, AVG(height) AS a FROM people GROUP BY city", 2, 2);
    let Formula::Average { sum, count } = average.aggregation.outputs[0].formula else {
        panic!("not an average")
    };
    // Shares of epsilon are to each other as the cube roots of the weights.
    let ratio = loss_in_a_group(&average, sum) / loss_in_a_group(&average, count);
    assert!((ratio - 3f64.cbrt()).abs() < 1e-12, "{ratio}");
    let counted = planned(
        "SELECT city, AVG(height) AS a, COUNT(height) AS n FROM people GROUP BY city",
        2,
        2,
    );
    let ratio = loss_in_a_group(&counted, 0) / loss_in_a_group(&counted, 1);
    assert!((ratio - 1.0).abs() < 1e-12, "a count that is shown is a figure too");
}

#[test]
fn a_sum_of_values_that_are_counted_is_taken_around_the_middle() {
    let of =
        |sql: &str| planned(sql, 2, 2).aggregation.outputs.last().expect("a sum").formula.clone();
    assert!(matches!(
        of("SELECT COUNT(age) AS n, SUM(age) AS s FROM people"),
        Formula::Sum { count: Some(_), .. }
    ));
    assert!(matches!(of("SELECT SUM(age) AS s FROM people"), Formula::Sum { count: None, .. }));
    // Other values than those that are counted.
    assert!(matches!(
        of("SELECT COUNT(score) AS n, SUM(age) AS s FROM people"),
        Formula::Sum { count: None, .. }
    ));
    // The middle of these is zero, or is rounded away from it.
    let clamped = |lower: i64, upper: i64| {
        of(&format!(
            "SELECT COUNT(GREATEST(LEAST(age, {upper}), {lower})) AS n, SUM(GREATEST(LEAST(age, \
             {upper}), {lower})) AS s FROM people"
        ))
    };
    assert!(matches!(clamped(-9, 9), Formula::Sum { count: None, .. }));
    assert!(matches!(clamped(-1, 0), Formula::Sum { count: None, .. }));
    assert!(matches!(clamped(3, 9), Formula::Sum { count: Some(_), .. }));
}

#[test]
fn groups_that_are_found_are_selected_by_a_count_that_is_asked_for() {
    let selection = |aggregates: &str| {
        let prepared =
            planned(&format!("SELECT kind, {aggregates} FROM people GROUP BY kind"), 2, 3);
        let selection = prepared.plan.selection().expect("found groups");
        (selection.epsilon == 0.0, selection.rows_of_unit)
    };
    assert_eq!(selection("COUNT(*)"), (true, 3));
    assert_eq!(selection("COUNT(score), COUNT(*), SUM(age)"), (true, 3));
    assert_eq!(selection("COUNT(*), COUNT(DISTINCT person)"), (true, 1));
    assert_eq!(selection("SUM(age)"), (false, 1));
}
