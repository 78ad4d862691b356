//! People who try to count for more, and queries that try to see one person.

use super::setting::{Content, Setting, Storage, Stored};
use crate::tests::noiseless::{Cell, Draw, cells, exact_answer, totals, wait, without_noise};
use crate::tests::tables::{CITIES, World};
use crate::{Options, Prepared, prepare};
use reticent_noise::randomness::SecureRandom;
use reticent_release::{Exact, Totals};
use std::fmt::Write;

const POLICY: &str = "[budget]\nepsilon = 1e3\ndelta = 1e-3\nquery_epsilon = 1\nquery_delta = \
    1e-6\n[tables.t]\nsource = 't.csv'\n\
    unit = 'id'\nmax_groups = 3\nmax_rows = 2\n[tables.t.columns]\nid = { type = 'integer' }\ntag \
    = { type = 'text' }\n\
    town = { type = 'integer', bounds = [0, 999] }\nx = { type = 'real', bounds = [0, 10] }\n";

fn stored(setting: Setting, rows: &str) -> Stored {
    setting.stored(POLICY, &[("t", Content::Text(format!("id,tag,town,x\n{rows}")))])
}

/// Where the source has no part in it.
const PLAIN: Setting = Setting { storage: Storage::Csv, parts: None };

fn exact(stored: &Stored, sql: &str) -> (Prepared, Exact) {
    wait(async {
        let prepared = stored.prepare(sql, Options::default()).await.expect(sql);
        let (_, exact) = stored.totals(&prepared, Draw::new(9).key()).await.expect(sql);
        (prepared, exact)
    })
}

fn whole(totals: &Totals) -> i128 {
    match totals {
        Totals::Integers(numbers) => numbers.iter().sum(),
        Totals::Values(groups) => {
            groups.iter().flatten().map(|(_, times)| i128::from(*times)).sum()
        }
    }
}

pub(super) fn a_person_with_a_million_rows_counts_as_two(setting: Setting) {
    let mut rows = "1,a,5,3\n2,a,5,4\n".to_owned();
    rows.push_str(&"7,a,5,10\n".repeat(1_000_000));
    let stored = stored(setting, &rows);
    let (prepared, exact) =
        exact(&stored, "SELECT COUNT(*), SUM(x), COUNT(DISTINCT id), MEDIAN(x) FROM t");
    let found: Vec<i128> = exact.totals.iter().map(whole).collect();
    for (index, total) in found.iter().enumerate() {
        let influence = prepared.plan.statistics()[index].influence().per_group;
        // Three people, each within the influence of one.
        assert!(*total <= 3 * i128::from(influence), "statistic {index}: {total} of {influence}");
    }
    assert_eq!(found.iter().filter(|&&total| total == 4).count(), 2, "{found:?}");
}

pub(super) fn a_person_in_very_many_groups_counts_in_three(setting: Setting) {
    let mut rows = String::new();
    for index in 0..200_000 {
        writeln!(rows, "7,tag {index},{},1", index % 1000).expect("written");
    }
    let stored = stored(setting, &rows);
    for sql in
        ["SELECT town, COUNT(*) FROM t GROUP BY town", "SELECT tag, COUNT(*) FROM t GROUP BY tag"]
    {
        let (_, exact) = exact(&stored, sql);
        assert_eq!(exact.units.iter().filter(|&&units| units > 0).count(), 3, "{sql}");
    }
}

pub(super) fn the_order_of_rows_changes_nothing(setting: Setting) {
    let mut draw = Draw::new(21);
    let mut world = World::random(200, 15, &mut draw);
    let ordered = world.stored_in(setting, 2, 2);
    draw.shuffle(&mut world.people);
    draw.shuffle(&mut world.visits);
    draw.shuffle(&mut world.records);
    let shuffled = world.stored_in(setting, 2, 2);
    for sql in [
        "SELECT city, kind, COUNT(*), SUM(amount), MEDIAN(amount) FROM people GROUP BY city, kind",
        "SELECT AVG(p.amount), VAR(v.cost) FROM people p JOIN visits v ON p.person = v.person",
        "SELECT score, SUM(amount), STDDEV(height) FROM records GROUP BY score",
        "SELECT kind, SUM(GREATEST(LEAST(s, 50), -50)) FROM (SELECT person, kind, SUM(amount) AS s \
         FROM people GROUP BY person, kind) q GROUP BY kind",
    ] {
        let of = |stored: &Stored| {
            wait(async {
                let prepared = stored.prepare(sql, Options::default()).await.expect(sql);
                stored.totals(&prepared, Draw::new(9).key()).await.expect(sql)
            })
        };
        assert!(of(&ordered) == of(&shuffled), "{sql}");
    }
}

#[test]
fn a_group_of_one_person_is_not_shown() {
    let mut rows = String::new();
    for id in 0..500 {
        writeln!(rows, "{id},crowd,1,1").expect("written");
    }
    rows.push_str("999,singleton,1,1\n");
    let stored = stored(PLAIN, &rows);
    let options = Options { delta: Some(1e-12), ..Options::default() };
    let prepared =
        wait(prepare(&stored.policy, "SELECT tag, COUNT(*) FROM t GROUP BY tag", options))
            .expect("offered");
    let selection = prepared.plan.selection().expect("groups are found");
    // One person shows a group with probability 1e-12 at most, in each of 20 tries. That 500 people
    // do not is rarer: the noise that hides them is farther from its centre than the noise that
    // would show one.
    assert!(selection.delta <= 1e-12 && selection.shown_at_half < 250);
    for _ in 0..20 {
        let mut random = SecureRandom::new().expect("random bits");
        let answer =
            wait(async { prepared.open(&stored.policy).await?.run(&mut random, |_| ()).await })
                .expect("an answer");
        let shown: Vec<Cell> =
            cells(&answer.table).into_iter().map(|mut row| row.swap_remove(0)).collect();
        assert_eq!(shown, [Cell::Text("crowd".to_owned())]);
    }
}

pub(super) fn a_join_with_oneself_counts_no_more_than_the_limits(setting: Setting) {
    let stored = stored(setting, &"7,a,1,10\n8,b,1,10\n".repeat(50));
    let sql = "SELECT COUNT(*), SUM(a.x) FROM t a JOIN t b ON a.id = b.id JOIN t c ON a.id = c.id";
    let (prepared, exact) = exact(&stored, sql);
    for (index, totals) in exact.totals.iter().enumerate() {
        let influence = prepared.plan.statistics()[index].influence().per_group;
        assert_eq!(whole(totals), 2 * i128::from(influence), "125,000 rows each, as much as two");
    }
}

#[test]
fn having_and_order_see_released_figures_only() {
    let mut draw = Draw::new(3);
    let (_folder, policy) = World::random(40, 10, &mut draw).stored(3, 3);
    let sql = "SELECT city, COUNT(*) AS n FROM people GROUP BY city HAVING COUNT(*) > 100 AND city \
        IS NOT NULL ORDER BY n DESC, city";
    let shown = |more: i128| {
        wait(async {
            let prepared = prepare(&policy, sql, Options::default()).await.expect("offered");
            let (keys, mut exact) =
                totals(&prepared, &policy, Draw::new(9).key()).await.expect("totals");
            for totals in &mut exact.totals {
                if let Totals::Integers(numbers) = totals {
                    numbers.iter_mut().for_each(|number| *number += more);
                }
            }
            let answer = prepared
                .finish(&keys, &without_noise(&prepared.plan, &exact))
                .await
                .expect("an answer");
            answer.table.num_rows()
        })
    };
    // What noise makes of the figures decides, and nothing else does.
    assert_eq!((shown(0), shown(1000)), (0, CITIES.len()));
}

#[test]
fn a_scalar_sub_query_makes_no_rows() {
    let (_folder, policy) = World::random(40, 10, &mut Draw::new(3)).stored(3, 3);
    let count = |sql: &str| {
        wait(exact_answer(&policy, sql, Draw::new(9).key())).map(|(_, answer)| cells(&answer.table))
    };
    let all = count("SELECT COUNT(*) FROM records WHERE age >= 0").expect("offered");
    assert_eq!(
        count("SELECT COUNT(*) FROM records WHERE age >= (SELECT MIN(weight) - 2 FROM regions)")
            .expect("offered"),
        all
    );
    // Several rows: refused or failed, never multiplied.
    if let Ok(found) = count(
        "SELECT COUNT(*) FROM records WHERE age >= (SELECT weight - 9 FROM regions WHERE weight IS \
         NOT NULL)",
    ) {
        assert_eq!(found, all);
    }
}

#[test]
fn texts_that_double_in_a_chain_stay_short() {
    let stored = stored(PLAIN, &format!("7,{},1,1\n8,b,1,1\n", "x".repeat(60_000)));
    let mut sql = "WITH w0 AS (SELECT id, tag FROM t)".to_owned();
    for step in 1..20 {
        write!(sql, ", w{step} AS (SELECT id, tag || tag AS tag FROM w{})", step - 1)
            .expect("written");
    }
    sql += " SELECT SUM(LEAST(CHARACTER_LENGTH(tag), 100000)) FROM w19";
    let sql = sql.replace("SUM(LEAST(", "SUM(GREATEST(0, LEAST(").replace("100000))", "100000)))");
    let (_, answer) =
        wait(exact_answer(&stored.policy, &sql, Draw::new(9).key())).expect("an answer");
    assert_eq!(cells(&answer.table), [[Cell::Number(2.0 * 65_536.0)]]);
}

#[test]
fn sizes_far_beyond_the_data_cost_nothing() {
    let stored = stored(PLAIN, "7,a,1,1\n8,b,1,1\n");
    let huge = Options { max_groups: Some(1_000_000), max_rows: Some(2000), ..Options::default() };
    let prepared = wait(prepare(&stored.policy, "SELECT tag, COUNT(*) FROM t GROUP BY tag", huge))
        .expect("offered");
    let (_, exact) = wait(totals(&prepared, &stored.policy, Draw::new(9).key())).expect("totals");
    assert_eq!(exact.units, [1, 1]);
    let beyond = Options { max_rows: Some(u32::MAX), ..Options::default() };
    let message = wait(prepare(&stored.policy, "SELECT SUM(x) FROM t", beyond))
        .expect_err("beyond 2^53")
        .to_string();
    assert!(message.contains("sensitivity"), "{message}");
}

pub(super) fn sums_of_a_unit_at_the_limits_of_integers_count_for_no_more(setting: Setting) {
    let sql = "SELECT SUM(GREATEST(LEAST(s, 50), -50)) FROM (SELECT id, SUM(CAST(tag AS BIGINT)) \
        AS s FROM t GROUP BY id) q";
    let total = |rows: &str| {
        let stored = stored(setting, rows);
        let (prepared, exact) = exact(&stored, sql);
        (prepared.plan.statistics()[0].influence().per_group, whole(&exact.totals[0]))
    };
    let ordinary = "1,30,1,1\n1,-7,1,1\n2,5,1,1\n";
    let (influence, expected) = total(ordinary);
    for values in [
        [i64::MAX, i64::MAX],
        [i64::MIN, i64::MIN],
        [i64::MIN, -1],
        [i64::MAX, 1],
        [i64::MAX, i64::MIN],
    ] {
        let [first, second] = values;
        let (_, forwards) = total(&format!("{ordinary}7,{first},1,1\n7,{second},1,1\n"));
        let (_, backwards) = total(&format!("7,{second},1,1\n7,{first},1,1\n{ordinary}"));
        assert_eq!(forwards, backwards, "{values:?}");
        assert!(
            (forwards - expected).unsigned_abs() <= u128::from(influence),
            "{values:?}: {forwards} for {expected}"
        );
    }
}

#[test]
fn a_chain_of_joins_on_the_unit_is_one_of_joins_with_the_first() {
    let (_folder, policy) = World::random(40, 10, &mut Draw::new(3)).stored(3, 3);
    let of = |sql: &str| {
        wait(async {
            let prepared = prepare(&policy, sql, Options::default()).await.expect(sql);
            let (_, exact) = totals(&prepared, &policy, Draw::new(9).key()).await.expect(sql);
            exact
        })
    };
    let through = |side: &str| {
        of(&format!(
            "SELECT COUNT(*), SUM(p.age), COUNT(DISTINCT {side}.person) FROM people p JOIN visits \
             v ON p.person = v.person \
             JOIN people q ON {side}.person = q.person JOIN visits w ON {side}.person = w.person"
        ))
    };
    let (star, chain) = (through("p"), through("v"));
    assert!(star == chain && whole(&star.totals[0]) > 0);
    // Where the middle may be missing its column is not the unit of the row.
    let gap = "SELECT COUNT(*) FROM people p LEFT JOIN visits v ON p.person = v.person JOIN people \
        q ON v.person = q.person";
    let message = wait(prepare(&policy, gap, Options::default())).expect_err("refused").to_string();
    assert!(message.contains("privacy unit"), "{message}");
}
