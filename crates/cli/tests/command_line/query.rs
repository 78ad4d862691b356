//! `reticent query`, `explain`, `budget`, `ledger` and `init`: what a user meets.

use crate::program::{reticent, run};
use crate::question::{Folder, column, numbers};
use datafusion::arrow::datatypes::DataType;
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const SMOKERS: &str = "SELECT smokes, COUNT(*) FROM workers GROUP BY smokes";
/// The exact answer to it.
const SMOKERS_EXACTLY: [(&str, f64); 2] = [("no", 961.0), ("yes", 880.0)];

/// Visits of 400 people: four each, in towns of which all but one person's are "Brno" or "Praha".
fn visits(name: &str) -> Folder {
    let folder = Folder::new(name);
    let mut rows = String::from("person,town,age,cost\n");
    for person in 0..400 {
        for visit in 0..4 {
            let town = if person == 7 { "Hidden" } else { ["Brno", "Praha"][visit % 2] };
            rows.push_str(&format!(
                "p{person},{town},{},{}\n",
                20 + person % 60,
                10.5 * f64::from(person % 7)
            ));
        }
    }
    folder.write("visits.csv", rows.as_bytes());
    folder.write(
        "policy.toml",
        b"[budget]\ncreate_ledger = true\nepsilon = 50\ndelta = 1e-5\nquery_epsilon = \
            2\nquery_delta = 1e-12\n\
          [tables.visits]\nsource = \"visits.csv\"\nunit = \"person\"\nmax_groups = 2\nmax_rows = \
          2\n\
          [tables.visits.columns]\nperson = { type = \"text\" }\ntown = { type = \"text\" }\n\
          age = { type = \"integer\", bounds = [0, 110] }\ncost = { type = \"real\", bounds = [0, \
          100] }\n",
    );
    folder
}

#[test]
fn the_first_question() {
    let folder = Folder::factory("first");
    let text = folder.run(&["query", SMOKERS]).done();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("smokes") && lines[0].ends_with("count(*)"), "{text}");
    for (line, (group, exact)) in lines[2..4].iter().zip(SMOKERS_EXACTLY) {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!((words[0], words[2], words.len()), (group, "±", 4), "{text}");
        // Noise of scale 4: beyond 200 once in 10^21 runs.
        let (count, width): (f64, f64) = (words[1].parse().unwrap(), words[3].parse().unwrap());
        assert!((count - exact).abs() < 200.0 && (5.0..40.0).contains(&width), "{text}");
    }
    assert!(
        text.contains("Spent: epsilon 0.25. Left of the budget: epsilon 1.75, delta 1e-6."),
        "{text}"
    );
    assert!(text.contains("with probability 95%"), "{text}");
}

#[test]
fn json_has_the_documented_keys() {
    let folder = Folder::factory("json");
    let answer = folder.ask(SMOKERS);
    assert_eq!(answer["columns"], json!(["smokes", "count(*)"]));
    assert_eq!(column(&answer, 0), [json!("no"), json!("yes")]);
    assert_eq!(
        answer["rows"].as_array().unwrap().len(),
        answer["half_widths"].as_array().unwrap().len()
    );
    assert!(
        answer["half_widths"][0][0].is_null()
            && answer["half_widths"][0][1].as_f64().unwrap() > 5.0
    );
    assert_eq!(answer["cost"], json!({"epsilon": 0.25, "delta": 0.0}));
    assert_eq!(answer["remaining"]["epsilon"], 1.75);
    let mechanism = &answer["mechanisms"][0];
    assert_eq!(mechanism["per_group"], 1.0);
    assert!(
        mechanism["mechanism"].is_string() && mechanism["scale"].as_f64().unwrap() > 0.0,
        "{mechanism}"
    );
    assert_eq!(answer["groups"], json!({"columns": ["smokes"], "rows": [["no"], ["yes"]]}));
    assert_eq!(answer["releases"]["count(*)"]["values"].as_array().unwrap().len(), 2);
}

#[test]
fn the_same_question_gets_the_same_bytes_and_is_free() {
    let folder = Folder::factory("same");
    let first = folder.run(&["query", "--format", "json", SMOKERS]);
    let made = format!(
        "A new ledger was created: {}; nothing counts as spent.\n",
        folder.ledger().display()
    );
    assert_eq!((first.code, first.stderr.as_str()), (0, made.as_str()));
    for again in [
        SMOKERS,
        "select smokes,   COUNT(*)\nfrom workers group by smokes",
        "Select SMOKES, count ( * ) From WORKERS Group By Smokes -- as before",
    ] {
        let second = folder.run(&["query", "--format", "json", again]);
        assert_eq!(second.stdout, first.stdout);
        assert!(second.stderr.contains("nothing was spent"), "{}", second.stderr);
    }
    assert!(
        folder
            .run(&["query", SMOKERS])
            .done()
            .contains("Answered before (entry 2 of the ledger): nothing was spent.")
    );
    assert_eq!(folder.spent(), 0.25);
    assert_ne!(folder.ask_afresh(SMOKERS)["entry"], 2);
    assert_eq!(folder.spent(), 0.5);
    // Another option is another question, and so is another text in quotation marks.
    folder.run(&["query", "--epsilon", "0.5", SMOKERS]).done();
    assert_eq!(folder.spent(), 1.0);
    for (answer, spent) in [("yes", 1.25), ("YES", 1.5), ("yes ", 1.75)] {
        folder.ask(&format!("SELECT COUNT(*) FROM workers WHERE smokes = '{answer}'"));
        assert_eq!(folder.spent(), spent, "{answer}");
    }
}

#[test]
fn csv_and_parquet_have_a_column_of_half_widths() {
    let folder = Folder::factory("formats");
    let answer = folder.ask(SMOKERS);
    let text = folder.run(&["query", "--format", "csv", SMOKERS]).done();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("smokes,count(*),count(*) half_width"));
    let width = answer["half_widths"][0][1].as_f64().unwrap();
    assert_eq!(lines.next(), Some(format!("no,{},{width}", answer["rows"][0][1]).as_str()));
    let child = folder.spawn(&["query", "--format", "parquet", SMOKERS]);
    folder.write("answer.parquet", &child.wait_with_output().unwrap().stdout);
    let file = std::fs::File::open(folder.file("answer.parquet")).unwrap();
    let table = ParquetRecordBatchReaderBuilder::try_new(file)
        .unwrap()
        .build()
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let types: Vec<DataType> =
        table.schema().fields().iter().map(|field| field.data_type().clone()).collect();
    assert_eq!(types, [DataType::Utf8, DataType::Int64, DataType::Float64]);
    assert_eq!(table.num_rows(), 2);
    // And that file is one that a policy can be drafted from.
    let draft = run(&["init", folder.file("answer.parquet").to_str().unwrap()], b"").done();
    assert!(
        draft.contains("half_width") && draft.contains("integer") && draft.contains("FILL IN"),
        "{draft}"
    );
    assert_eq!(folder.spent(), 0.25, "all of it was one answer");
}

#[test]
fn options_can_stand_in_the_sql() {
    let folder = Folder::factory("options");
    let answer = folder.ask(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5, delta = 1e-8) smokes, COUNT(*) \
         FROM workers GROUP BY smokes",
    );
    assert_eq!(answer["cost"]["epsilon"], 0.5);
    let refused = folder.run(&[
        "query",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilom = 1) COUNT(*) FROM workers",
    ]);
    assert!(refused.refused().contains("epsilom"));
}

#[test]
fn averages_medians_and_groups_that_are_found() {
    let folder = visits("found");
    let answer = folder.ask(
        "SELECT town, COUNT(DISTINCT person) AS people, AVG(age) AS age FROM visits GROUP BY \
            town ORDER BY town",
    );
    // Shown although only one person is in it: with probability 1e-12 at most, here and below.
    assert_eq!(column(&answer, 0), [json!("Brno"), json!("Praha")]);
    assert!(
        answer["selection"]["shown_from"].as_u64().unwrap() > 2
            && answer["cost"]["delta"].as_f64().unwrap() <= 1e-12
    );
    for people in column(&answer, 1) {
        // Scales of a few people; 150 off is beyond any chance.
        assert!((people.as_f64().unwrap() - 399.0).abs() < 150.0, "{answer}");
    }
    for age in column(&answer, 2) {
        assert!((20.0..80.0).contains(&age.as_f64().unwrap()), "{answer}");
    }
    let text =
        folder.run(&["query", "SELECT town, COUNT(*) AS n FROM visits GROUP BY town"]).done();
    assert!(
        !text.contains("Hidden") && text.contains("Groups with too few people are left out"),
        "{text}"
    );

    let median = folder.run(&["query", "SELECT MEDIAN(age) AS middle, SUM(cost) FROM visits"]);
    let text = median.done();
    assert!(text.contains("middle") && text.contains("ranks with probability 95%"), "{text}");
    let answer = folder.ask("SELECT MEDIAN(age) FROM visits");
    // Ages are even from 20 to 79; at epsilon 2 the rank is off by a few dozen of 800.
    assert!((30.0..70.0).contains(&answer["rows"][0][0].as_f64().unwrap()), "{answer}");
}

#[test]
fn several_keys_and_what_comes_after_the_noise() {
    let folder = Folder::factory("keys");
    let answer = folder.ask(
        "SELECT smokes, systolic_blood_pressure AS pressure, COUNT(*) AS n, 100 * COUNT(*) AS \
         hundred FROM workers \
         GROUP BY smokes, systolic_blood_pressure HAVING COUNT(*) > 10 ORDER BY n DESC LIMIT 3",
    );
    let counts: Vec<f64> = column(&answer, 2).iter().map(|n| n.as_f64().unwrap()).collect();
    assert_eq!(answer["columns"], json!(["smokes", "pressure", "n", "hundred"]));
    assert!(counts.len() == 3 && counts.windows(2).all(|pair| pair[0] >= pair[1]), "{answer}");
    for row in 0..3 {
        let (value, width) = (&answer["rows"][row], &answer["half_widths"][row]);
        assert_eq!(value[3].as_f64().unwrap(), 100.0 * value[2].as_f64().unwrap());
        let ratio = width[3].as_f64().unwrap() / width[2].as_f64().unwrap();
        assert!((ratio - 100.0).abs() < 1e-6, "{answer}");
    }
    // All four groups were released, whatever is shown of them.
    assert_eq!(answer["groups"]["rows"].as_array().unwrap().len(), 4);
}

#[test]
fn explaining_reads_and_spends_nothing_and_is_what_happens() {
    let folder = Folder::factory("explain");
    let data = std::fs::read(folder.file("workers.csv")).unwrap();
    std::fs::remove_file(folder.file("workers.csv")).unwrap();
    let text = folder.run(&["explain", SMOKERS]).done();
    for expected in [
        "epsilon 0.25 (pure)",
        "2, public",
        "at most 1 group",
        "nothing counts as spent",
        "count for count(*)",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    let explained = folder.run(&["explain", "--format", "json", SMOKERS]).json();
    assert!(!folder.ledger().exists());
    folder.write("workers.csv", &data);
    let answer = folder.ask(SMOKERS);
    assert_eq!(explained["statistics"], answer["mechanisms"]);
    assert_eq!(explained["cost"], answer["cost"]);
    assert_eq!(explained["statistics"][0]["half_width"], answer["half_widths"][0][1]);
    assert!(folder.run(&["explain", SMOKERS]).done().contains("asking again costs nothing"));
    let refused = folder.run(&["explain", "--epsilon", "1.9", SMOKERS]).done();
    assert!(refused.contains("would be refused") && refused.contains("1.75"), "{refused}");
    assert_eq!(folder.spent(), 0.25);
}

#[test]
fn a_budget_is_spent_to_its_end_and_no_further() {
    let folder = Folder::factory("end");
    assert!(folder.run(&["budget"]).done().contains("all of epsilon 2 and delta 1e-6 is left"));
    assert_eq!(folder.budget()["remaining"], json!({"cost": 2.0, "delta": 1e-6}));
    for _ in 0..8 {
        folder.ask_afresh(SMOKERS);
    }
    let refused = folder.run(&["query", "--fresh", SMOKERS]);
    assert_eq!((refused.code, refused.stdout.as_str()), (3, ""), "{refused:?}");
    assert!(refused.stderr.contains("of the budget of 2 there is 0 left"), "{}", refused.stderr);
    let budget = folder.budget();
    assert_eq!(
        (&budget["spent"]["cost"], &budget["remaining"]["cost"]),
        (&json!(2.0), &json!(0.0))
    );
    assert_eq!(budget["releases"].as_array().unwrap().len(), 8);
    // What was answered stays answered.
    folder.run(&["query", SMOKERS]).done();
    let text = folder.run(&["budget"]).done();
    assert!(
        text.contains("spent") && text.matches("SELECT smokes, COUNT(*)").count() == 8,
        "{text}"
    );
}

#[test]
fn a_changed_budget_is_a_decision_of_the_owner() {
    let folder = Folder::factory("amend");
    folder.ask(SMOKERS);
    folder.set_budget("epsilon = 3\ndelta = 1e-6\nquery_epsilon = 0.25");
    let message = folder.run(&["query", "--fresh", SMOKERS]).refused();
    assert!(
        message.contains("reticent budget --amend") && message.contains("epsilon = 3"),
        "{message}"
    );
    assert!(folder.run(&["budget"]).done().contains("no query is answered until they agree"));
    let text = folder.run(&["budget", "--amend"]).done();
    assert!(text.contains("2.75") && !text.contains("until they agree"), "{text}");
    folder.ask_afresh(SMOKERS);
    folder.set_budget("epsilon = 0.3\nquery_epsilon = 0.25");
    let message = folder.run(&["budget", "--amend"]).refused();
    assert!(message.contains("spent already"), "{message}");
    assert_eq!(folder.spent(), 0.5);
}

#[test]
fn many_queries_fit_under_zero_concentrated_accounting() {
    let budget = "epsilon = 1\ndelta = 1e-6\nquery_epsilon = 0.1\nquery_delta = 1e-7\naccounting \
        = \"zero-concentrated\"";
    let folder = Folder::factory_with_budget("concentrated", budget);
    // Ten would spend it by addition.
    for _ in 0..15 {
        folder.ask_afresh(SMOKERS);
    }
    let budget = folder.budget();
    assert!(budget["converted"]["spent"].as_f64().unwrap() < 1.0, "{budget}");
    let text = folder.run(&["budget"]).done();
    assert!(text.contains("rho") && text.contains("As epsilon at delta"), "{text}");
}

#[test]
fn a_ledger_is_verified_and_anchored() {
    let folder = Folder::factory("anchor");
    folder.ask(SMOKERS);
    let old = std::fs::read(folder.ledger()).unwrap();
    let early = folder.run(&["ledger", "anchor"]).done().trim().to_owned();
    folder.ask_afresh(SMOKERS);
    let late = folder.run(&["ledger", "anchor"]).done().trim().to_owned();
    for anchor in [&early, &late] {
        let text = folder.run(&["ledger", "verify", "--anchor", anchor]).done();
        assert!(text.contains("whole") && text.contains(&late), "{text}");
    }
    assert!(folder.run(&["ledger", "verify", "--anchor", "3"]).refused().contains("an anchor is"));
    // An older copy is whole in itself, but not what the anchor stands for.
    std::fs::write(folder.ledger(), old).unwrap();
    folder.run(&["ledger", "verify"]).done();
    let refused = folder.run(&["ledger", "verify", "--anchor", &late]);
    assert_eq!((refused.code, refused.stdout.as_str()), (1, ""));
    assert!(refused.stderr.contains("anchor"), "{}", refused.stderr);
}

#[test]
fn a_policy_is_drafted_from_names_alone() {
    let folder = Folder::factory("init");
    let data = folder.file("workers.csv");
    let draft = folder.file("draft.toml");
    run(&["init", data.to_str().unwrap(), "--output", draft.to_str().unwrap()], b"").done();
    let text = folder.read("draft.toml");
    assert!(text.contains("[tables.workers") && text.contains("systolic_blood_pressure"), "{text}");
    assert!(!text.contains("above 140") && !text.contains("1841"), "rows were read: {text}");
    let message = run(&["query", "--policy", draft.to_str().unwrap(), SMOKERS], b"").refused();
    assert!(message.contains("draft") && message.contains("budget.epsilon"), "{message}");
    let again = run(&["init", data.to_str().unwrap(), "--output", draft.to_str().unwrap()], b"");
    assert!(again.refused().contains("exists already"));
    let parts = folder.file("parts");
    std::fs::create_dir_all(parts.join("year=2031/city=Somewhere")).unwrap();
    std::fs::copy(&data, parts.join("year=2031/city=Somewhere/0.csv")).unwrap();
    let text = run(&["init", parts.to_str().unwrap()], b"").done();
    assert!(
        text.contains("source = \"parts\"") && text.contains("systolic_blood_pressure"),
        "{text}"
    );
    assert!(text.contains(".\"year\"]") && text.contains(".\"city\"]"), "{text}");
    assert!(!text.contains("2031") && !text.contains("Somewhere"), "a value of a folder: {text}");
    assert_eq!(run(&["init", "/no/such/file.csv"], b"").code, 1);
    assert!(run(&["init", "/no/such/file"], b"").code != 0);
}

/// Counts of many groups over fresh answers: their errors average to nothing.
#[test]
fn counts_are_unbiased_and_half_widths_hold() {
    let folder = Folder::factory_with_budget("unbiased", "epsilon = 1000\nquery_epsilon = 1");
    let keys = "smokes, strenuous_mental_work, strenuous_physical_work, systolic_blood_pressure, \
        lipoprotein_ratio";
    let mut exact: BTreeMap<String, f64> = BTreeMap::new();
    for line in folder.read("workers.csv").lines().skip(1) {
        let key = line.split(',').skip(1).take(5).collect::<Vec<_>>().join(",");
        *exact.entry(key).or_default() += 1.0;
    }
    let (mut errors, mut inside, mut inside_half) = (Vec::new(), 0_u32, 0_u32);
    for _ in 0..55 {
        let answer =
            folder.ask_afresh(&format!("SELECT {keys}, COUNT(*) FROM workers GROUP BY {keys}"));
        for (row, widths) in
            answer["rows"].as_array().unwrap().iter().zip(answer["half_widths"].as_array().unwrap())
        {
            let row = row.as_array().unwrap();
            let key =
                row[..5].iter().map(|cell| cell.as_str().unwrap()).collect::<Vec<_>>().join(",");
            let truth = exact.get(&key).copied().unwrap_or(0.0);
            // Counts below zero are shown as zero: noise of scale 1 takes a group of 25 there once
            // in 10^11 draws.
            if truth >= 25.0 {
                let (error, width) =
                    (row[5].as_f64().unwrap() - truth, widths[5].as_f64().unwrap());
                errors.push(error);
                inside += u32::from(error.abs() <= width);
                inside_half += u32::from(error.abs() <= width / 2.0);
            }
        }
    }
    let draws = errors.len() as f64;
    assert!(draws >= 1300.0, "{draws}");
    // The noise has standard deviation 1.36 at scale 1: a mean beyond 6.5 standard errors is met
    // once in 10^10 runs.
    let (mean, tolerance) = (errors.iter().sum::<f64>() / draws, 6.5 * 1.36 / draws.sqrt());
    assert!(mean.abs() < tolerance, "{mean} of {draws}");
    // Power: an expectation that is half a person off would be refused as surely as this one is
    // accepted.
    assert!(2.0 * tolerance < 0.5, "no power: {tolerance}");
    // 97.3% are within the width of 3, and 77% within half of it. The bound between, at about 92%,
    // is 12 standard errors from either.
    let least = draws * 0.95 - 5.0 * (draws * 0.95 * 0.05).sqrt();
    assert!(
        f64::from(inside) >= least && f64::from(inside_half) < least,
        "{inside} and {inside_half} of {draws}"
    );
}

fn denoised(options: &[&str], answer: &[u8]) -> Value {
    run(&[&["denoise", "--format", "json"], options].concat(), answer).json()
}

#[test]
fn an_answer_is_denoised() {
    let folder = Folder::factory("denoise");
    let keys = "smokes, strenuous_mental_work, strenuous_physical_work, systolic_blood_pressure, \
        family_history_of_chd";
    let sql =
        format!("SELECT {keys}, COUNT(*) AS n FROM workers GROUP BY {keys} ORDER BY n LIMIT 5");
    let answer = folder.run(&["query", "--format", "json", &sql]).done();
    let better = denoised(&["--method", "auto", "--non-negative"], answer.as_bytes());
    let answer: Value = serde_json::from_str(&answer).unwrap();
    // Rows are five, but all groups were released.
    assert_eq!((better["values"].as_array().unwrap().len(), &better["column"]), (32, &json!("n")));
    assert_eq!(better["groups"], answer["groups"]);
    assert!(numbers(&better["values"]).iter().all(|&value| value >= 0.0), "{better}");
    let noisy = numbers(&answer["releases"]["n"]["values"]);
    let unchanged = denoised(&["--method", "none"], answer.to_string().as_bytes());
    assert_eq!(numbers(&unchanged["values"]), noisy);
    // Several columns: one must be named.
    let both = folder.run(&[
        "query",
        "--format",
        "json",
        "SELECT smokes, COUNT(*) AS n, COUNT(DISTINCT worker) AS m FROM workers GROUP BY smokes",
    ]);
    let both = both.done();
    assert!(run(&["denoise"], both.as_bytes()).refused().contains("which of `m`, `n`"));
    denoised(&["--column", "m", "--method", "none"], both.as_bytes());
    assert!(
        run(&["denoise", "--column", "x"], both.as_bytes())
            .refused()
            .contains("what can be denoised")
    );
}

#[test]
fn help_names_the_commands() {
    let text = reticent("--help").done();
    for command in ["query", "explain", "budget", "ledger", "init"] {
        assert!(text.contains(command), "{text}");
        assert!(!reticent(&format!("{command} --help")).done().is_empty());
    }
}

/// A metric and a mechanism decide about the noise, and about which answer is stored.
#[test]
fn noise_by_a_metric_and_by_name() {
    let folder = Folder::factory_with_budget(
        "metric",
        "epsilon = 40.0\nquery_epsilon = 8.0\ndelta = 1e-4\nquery_delta = 0.0\n",
    );
    let sql = "SELECT COUNT(*) AS n FROM workers";
    let asked = |options: &[&str]| {
        folder.run(&[&["query", "--format", "json"], options, &[sql]].concat()).json()
    };
    let plain = asked(&[]);
    let laplace = asked(&["--mechanism", "laplace"]);
    assert_eq!(plain["mechanisms"][0]["mechanism"], "discrete-laplace");
    assert_eq!(laplace["mechanisms"][0]["mechanism"], "laplace");
    assert!(laplace["reason"].as_str().unwrap().contains("as it was asked for"), "{laplace}");
    // Each is an answer of its own, and asked again it is the stored one.
    let useful = asked(&["--metric", "usefulness:0.5"]);
    assert_eq!((&plain["entry"], &laplace["entry"]), (&json!(2), &json!(4)));
    assert_eq!(useful["entry"], json!(6));
    assert_eq!(asked(&["--metric", "usefulness:0.50"]), useful);
    let in_sql = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(metric = 'usefulness:0.5') COUNT(*) \
        AS n FROM workers";
    assert_eq!(folder.ask(in_sql), useful);
    assert_eq!(folder.spent(), 24.0);
    // The column can be denoised whatever its noise.
    assert_eq!(laplace["releases"]["n"]["release"]["event"]["mechanism"], "laplace");

    let explained =
        folder.run(&["explain", "--format", "json", "--metric", "usefulness:0.5", sql]).json();
    let compared = &explained["comparison"];
    assert_eq!(compared["metric"], "usefulness:0.5");
    let lines = compared["alternatives"].as_array().unwrap();
    let names: Vec<&str> = lines.iter().map(|line| line["mechanism"].as_str().unwrap()).collect();
    for name in ["discrete-laplace", "laplace", "random-scale-laplace", "generalized-gaussian"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert_eq!(names[0], explained["statistics"][0]["mechanism"].as_str().unwrap());
    let errors: Vec<f64> = lines.iter().map(|line| line["errors"][0].as_f64().unwrap()).collect();
    assert!(errors.windows(2).all(|pair| pair[0] <= pair[1]), "{errors:?}");
    // P[|N| > 0.5] for discrete Laplace noise of scale 1/8 is 2 q/(1 + q) with q = e^-8.
    let q = (-8.0f64).exp();
    assert!((errors[0] - 2.0 * q / (1.0 + q)).abs() < 1e-9, "{errors:?}");
    let refused = compared["refusals"].as_array().unwrap();
    assert!(refused.iter().any(|one| one["mechanism"] == "gaussian"), "{refused:?}");
    let text = folder.run(&["explain", "--metric", "usefulness:0.5", sql]).done();
    for expected in ["What each noise would give", "how often its error is above 0.5", "times"] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }

    for (options, expected) in [
        (["--metric", "max"], "usefulness:T"),
        (["--metric", "usefulness:0"], "usefulness"),
        (["--metric", "usefulness:nan"], "usefulness"),
        (["--mechanism", "exponential"], "staircase"),
        (["--mechanism", "gaussian"], "delta"),
        (["--mechanism", "optimal"], "delta"),
    ] {
        let refused = folder.run(&[&["query"], &options[..], &[sql]].concat());
        assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{refused:?}");
        assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    }
    assert_eq!(folder.spent(), 24.0);
}

/// Section 5.3 of Balle and Wang: pick-ups and drop-offs by junction, protected for a cab whose
/// trips are capped by the engine, then smoothed over the street graph.
#[test]
fn five_trips_a_cab_are_enforced_by_the_engine() {
    let folder = Folder::new("cabs");
    folder.write(
        "policy.toml",
        b"[budget]\nepsilon = 700\ndelta = 1e-5\nquery_epsilon = 300\nquery_delta = 1e-6\n\
          create_ledger = true\n\
          [tables.trips]\nsource = \"trips.csv\"\nunit = \"cab\"\nmax_groups = 5\nmax_rows = 1\n\
          [tables.trips.columns]\ncab = { type = \"text\", nullable = false }\n\
          pickup = { type = \"integer\", bounds = [1, 12], nullable = false }\n\
          dropoff = { type = \"integer\", bounds = [1, 12], nullable = false }\n",
    );
    // Cab k has k trips from different junctions, modulo 12, but the last, which has 60: five from
    // each. All go to the junction after.
    let mut trips = "cab,pickup,dropoff\n".to_owned();
    let mut capped = 0;
    for cab in 1..=12 {
        let (junctions, each) = if cab == 12 { (12, 5) } else { (cab, 1) };
        capped += junctions.min(5);
        for junction in 0..junctions {
            let (from, to) = ((cab + junction) % 12 + 1, (cab + junction + 1) % 12 + 1);
            trips.push_str(&format!("c{cab},{from},{to}\n").repeat(each));
        }
    }
    folder.write("trips.csv", trips.as_bytes());
    for end in ["pickup", "dropoff"] {
        let sql = format!("SELECT {end}, COUNT(*) AS trips FROM trips GROUP BY {end}");
        // At an epsilon of 60 a junction, noise other than zero has a probability below 1e-24.
        let answer = folder.ask(&sql);
        let counts: Vec<f64> =
            column(&answer, 1).iter().map(|count| count.as_f64().unwrap()).collect();
        assert_eq!(counts.len(), 12);
        assert_eq!(counts.iter().sum::<f64>(), f64::from(capped), "{counts:?}");
        assert!(trips.lines().count() - 1 > capped as usize, "nothing was capped");
        // One cab moves the counts by sqrt(5), not by 5: sigma is that times the exact 4.2246794.
        let options =
            ["explain", "--format", "json", "--epsilon", "1", "--mechanism", "gaussian", &sql];
        let scale = folder.run(&options).json()["statistics"][0]["scale"].as_f64().unwrap();
        assert!((scale / (5f64.sqrt() * 4.2246794) - 1.0).abs() < 1e-6, "{scale}");
        // The map is smoothed from the answer alone.
        folder.write("answer.json", answer.to_string().as_bytes());
        let input = folder.file("answer.json");
        let smooth = crate::program::run(
            &[
                "denoise",
                "--method",
                "trend-filter",
                "--graph",
                "grid:3x4",
                "--format",
                "csv",
                "--input",
                input.to_str().unwrap(),
            ],
            b"",
        )
        .done();
        assert_eq!(smooth.lines().count(), 13, "{smooth}");
    }
}
