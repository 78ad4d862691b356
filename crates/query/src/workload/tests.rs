use super::*;
use reticent_release::Totals;
use std::fmt::Write;
use tempfile::TempDir;

const POLICY: &str = r#"
[budget]
epsilon = 1000000
delta = 0.5
query_epsilon = 1
min_query_epsilon = 0.001
query_delta = 1e-6

[tables.visits]
source = "visits.csv"
unit = "person"
max_groups = 2
max_rows = 3

[tables.visits.columns]
person = { type = "integer" }
age = { type = "integer", bounds = [0, 29], nullable = false }
sex = { type = "text", values = ["f", "m"], nullable = false }
ward = { type = "integer", values = [3, 5, 8] }
note = { type = "text" }

[tables.open]
source = "open.csv"
public = true
[tables.open.columns]
a = { type = "integer" }
"#;

/// A visit: person, age, sex, ward.
type Visit = (u64, u64, &'static str, Option<u64>);

struct World {
    folder: TempDir,
    policy: Policy,
}

fn world(visits: &[Visit]) -> World {
    let folder = tempfile::tempdir().expect("a folder");
    let mut csv = String::from("person,age,sex,ward,note\n");
    for (person, age, sex, ward) in visits {
        let ward = ward.map(|ward| ward.to_string()).unwrap_or_default();
        writeln!(csv, "{person},{age},{sex},{ward},x").expect("a string");
    }
    std::fs::write(folder.path().join("visits.csv"), csv).expect("written");
    std::fs::write(folder.path().join("open.csv"), "a\n1\n").expect("written");
    let policy = Policy::parse(POLICY, &folder.path().join("policy.toml")).expect("valid");
    World { folder, policy }
}

/// Pseudo-random visits of 40 people, some of whom are there often.
fn visits() -> Vec<Visit> {
    let mut state = 7u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    (0..400)
        .map(|_| {
            let person = if next(3) == 0 { next(4) } else { next(40) };
            // A ward that the policy does not list counts nowhere; a missing one counts as NULL.
            let ward = [Some(3), Some(5), Some(8), None, Some(4)][next(5) as usize];
            (person, next(30), ["f", "m"][next(2) as usize], ward)
        })
        .collect()
}

fn asked(statements: &str, over: &[&str]) -> WorkloadQuestion {
    WorkloadQuestion {
        table: "visits".into(),
        over: over.iter().map(|&text| text.to_owned()).collect(),
        statements: statements.into(),
        options: Options { epsilon: Some(1.0), ..Options::default() },
        ..WorkloadQuestion::default()
    }
}

async fn refused(question: &WorkloadQuestion) -> String {
    let world = world(&[]);
    prepare_workload(&world.policy, question).await.expect_err("refused").to_string()
}

/// Nearly no noise: everything is known, and what is released is what was counted.
async fn released(
    world: &World,
    question: &WorkloadQuestion,
) -> (PreparedWorkload, WorkloadRelease) {
    let loud = WorkloadQuestion {
        rho: Some(1e6),
        options: Options { epsilon: None, ..question.options },
        ..question.clone()
    };
    let prepared = prepare_workload(&world.policy, &loud).await.expect("planned");
    let mut random = SecureRandom::new().expect("entropy");
    let release = {
        let opened = prepared.open(&world.policy).await.expect("opened");
        opened.run(&mut random, |_| ()).await.expect("released")
    };
    (prepared, release)
}

/// Every table and every query against a plain count of the rows, with bounds that nobody reaches.
#[tokio::test]
async fn what_is_released_is_what_is_in_the_table() {
    let visits = visits();
    let world = world(&visits);
    let mut question = asked("all 2-way\ntotal", &["FLOOR(age / 10) AS decade", "sex", "ward"]);
    // Seven deviations: a false alarm once in 1e11 comparisons.
    let close = |found: f64, exact: usize, width: Option<f64>| {
        (found - exact as f64).abs() <= 3.5 * width.expect("stated")
    };
    question.options.max_groups = Some(60);
    question.options.max_rows = Some(10);
    let (prepared, release) = released(&world, &question).await;
    let inside: Vec<&Visit> = visits.iter().filter(|visit| visit.3 != Some(4)).collect();
    let wards = [Some(3), Some(5), Some(8), None];
    assert_eq!(prepared.domain().sizes(), [3, 2, 4]);
    for table in &release.tables {
        let names: Vec<usize> = table.attributes.iter().collect();
        let shape: Vec<usize> =
            names.iter().map(|&i| prepared.domain().sizes()[i] as usize).collect();
        for (cell, &value) in table.values.iter().enumerate() {
            let mut rest = cell;
            let mut wanted = vec![0; shape.len()];
            for axis in (0..shape.len()).rev() {
                wanted[axis] = rest % shape[axis];
                rest /= shape[axis];
            }
            let exact = inside
                .iter()
                .filter(|(_, age, sex, ward)| {
                    let row = [
                        (age / 10) as usize,
                        usize::from(*sex == "m"),
                        wards.iter().position(|one| one == ward).expect("listed"),
                    ];
                    names.iter().zip(&wanted).all(|(&attribute, &value)| row[attribute] == value)
                })
                .count();
            assert!(close(value, exact, table.half_width), "{names:?} {cell}: {value} {exact}");
        }
    }

    let mut question = asked(
        "count where age >= 20 AND sex = 'f'\nsum of age where Sex IN ('m')\nmarginal sex\ncount",
        &["age", "sex"],
    );
    question.options.max_groups = Some(60);
    question.options.max_rows = Some(10);
    let (_, release) = released(&world, &question).await;
    let count = |keep: &dyn Fn(&Visit) -> bool| visits.iter().filter(|visit| keep(visit)).count();
    let sum: u64 = visits.iter().filter(|visit| visit.2 == "m").map(|visit| visit.1).sum();
    let exact = [
        count(&|visit| visit.1 >= 20 && visit.2 == "f"),
        sum as usize,
        count(&|visit| visit.2 == "f"),
        count(&|visit| visit.2 == "m"),
        visits.len(),
    ];
    assert_eq!(release.answers.len(), exact.len());
    for (answer, exact) in release.answers.iter().zip(exact) {
        assert!(close(answer.value, exact, answer.half_width), "{answer:?} {exact}");
    }
    assert_eq!(release.answers[2].query, "sex = f");

    let mut question = asked("prefixes of age", &[]);
    question.options.max_groups = Some(60);
    question.options.max_rows = Some(10);
    let (prepared, release) = released(&world, &question).await;
    assert_eq!(prepared.attributes.len(), 1, "only what is needed is grouped by");
    assert_eq!(release.answers[9].query, "age <= 9");
    for (age, answer) in release.answers.iter().enumerate() {
        let exact = count(&|visit| visit.1 <= age as u64);
        assert!(close(answer.value, exact, answer.half_width), "{answer:?} {exact}");
    }
    drop(world.folder);
}

/// Somebody's rows change what is tallied by at most `max_groups max_rows` rows, which is what the
/// plan is made for; and somebody who is there often does change it by all of them.
#[tokio::test]
async fn nobody_moves_the_counts_by_more_than_is_charged() {
    let visits = visits();
    let question = asked("all 2-way", &["age", "sex", "ward"]);
    let mut most = 0;
    for person in 0..8 {
        let without: Vec<Visit> =
            visits.iter().filter(|visit| visit.0 != person).copied().collect();
        let mut counts = Vec::new();
        for rows in [&visits, &without] {
            let world = world(rows);
            let prepared = prepare_workload(&world.policy, &question).await.expect("planned");
            assert_eq!(prepared.plan.contribution().rows(), 6);
            let opened = prepared.open(&world.policy).await.expect("opened");
            let key = SecretKey::draw(&mut SecureRandom::new().expect("entropy")).expect("drawn");
            let totals = opened.rows.totals(key, Arc::new(|_| ())).await.expect("counted");
            let Some(Totals::Integers(of)) = totals.exact.totals.first() else {
                unreachable!("counts")
            };
            counts.push(of.iter().sum::<i128>());
            // The tally takes them as they are.
            tally::counted(&prepared.read, &prepared.plan, totals).expect("tallied");
        }
        let moved = counts[0] - counts[1];
        assert!((0..=6).contains(&moved), "{person}: {moved}");
        most = most.max(moved);
    }
    // Two cells, in which hardly anybody is three times.
    assert!(most >= 2, "{most}");
}

#[tokio::test]
async fn what_is_not_public_or_not_asked_is_refused() {
    for (statements, over, expected) in [
        ("all 2-way", &["age", "note"][..], "`note` are not public"),
        ("", &["age"], "0 statements"),
        ("# nothing", &["age"], "0 statements"),
        ("all 3-way", &["age", "sex"], "from 1 to 2"),
        ("marginal age weight 0", &["age"], "weight"),
        ("marginal wage", &["age"], "no attribute `wage`"),
        ("prefixes of wage", &["age"], "no attribute `wage`"),
        ("tables of age", &["age"], "is not a workload"),
        ("count where age > 100", &["age"], "support"),
        ("count where age", &["age"], "no condition"),
        ("count where EXISTS (SELECT 1)", &["age"], ""),
        ("count where note = 'x'", &["age"], "note"),
        ("sum of sex", &["sex"], "numbers"),
        ("all 1-way", &["age", "age"], ""),
        ("all 1-way", &["person"], "`person`"),
        ("all 1-way", &["COUNT(*)"], ""),
        ("all 1-way", &["age) ORDER BY (sex"], ""),
    ] {
        let message = refused(&asked(statements, over)).await;
        assert!(message.contains(expected), "{statements} {over:?}: {message}");
        assert!(!message.is_empty());
    }
    let question = |change: fn(&mut WorkloadQuestion)| {
        let mut question = asked("all 1-way", &["age"]);
        change(&mut question);
        question
    };
    for (question, expected) in [
        (question(|q| q.table = "open".into()), "public"),
        (question(|q| q.table = "nothing".into()), "visits"),
        (question(|q| q.rho = Some(0.5)), "one of them"),
        (question(|q| (q.rho, q.options.epsilon) = (Some(f64::NAN), None)), "rho"),
        (question(|q| q.options.epsilon = Some(0.0)), "epsilon"),
        (question(|q| q.options.epsilon = Some(f64::NAN)), "epsilon"),
        (
            question(|q| (q.options.max_groups, q.options.max_rows) = (Some(9999), Some(9999))),
            "million",
        ),
        (question(|q| q.filter = Some("age > ".into())), ""),
        (question(|q| q.filter = Some("FALSE) OR (note".into())), ""),
        (question(|q| q.method = Method::Mwem { rounds: 5 }), "marginals"),
    ] {
        let message = refused(&question).await;
        assert!(message.contains(expected), "{question:?}: {message}");
    }
}

/// A filter narrows the rows, and the budget of the policy is the default.
#[tokio::test]
async fn filters_and_defaults_are_those_of_a_query() {
    let world = world(&visits());
    let mut question = asked("all 1-way", &["sex"]);
    question.filter = Some("age < 10".into());
    question.options.epsilon = None;
    let prepared = prepare_workload(&world.policy, &question).await.expect("planned");
    assert!(prepared.sql.contains("WHERE"), "{}", prepared.sql);
    let WorkloadBudget::Approximate { epsilon, delta } = prepared.budget else {
        unreachable!("the policy has a delta")
    };
    assert_eq!((epsilon.get(), delta.get()), (1.0, 1e-6));
    question.options.max_groups = Some(60);
    question.options.max_rows = Some(10);
    let (_, release) = released(&world, &question).await;
    let exact = visits().iter().filter(|visit| visit.1 < 10 && visit.2 == "f").count() as f64;
    let table = &release.tables[0];
    assert!((table.values[0] - exact).abs() <= 3.5 * table.half_width.expect("stated"));
    // By default all columns that are needed and public.
    let all = prepare_workload(&world.policy, &asked("all 1-way", &[])).await.expect("planned");
    let names: Vec<&str> = all.attributes.iter().map(|attribute| attribute.name.as_str()).collect();
    assert_eq!(names, ["age", "sex", "ward"]);
}
