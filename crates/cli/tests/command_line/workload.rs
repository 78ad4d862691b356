//! `reticent workload`: what a user meets.

use crate::question::Folder;
use serde_json::{Value, json};

const PAIRS: [&str; 6] = ["workload", "--table", "workers", "--marginals", "2", "--over"];
const OVER: &str = "smokes,systolic_blood_pressure,family_history_of_chd";

fn pairs(folder: &Folder, more: &[&str]) -> crate::program::Run {
    folder.run(&[&PAIRS[..], &[OVER], more].concat())
}

fn values(table: &Value) -> Vec<f64> {
    table["values"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
}

/// The tables of the example: they agree with each other, have half-widths, and are near
/// the truth.
#[test]
fn all_pairs_of_three_attributes() {
    let folder = Folder::factory("pairs");
    let answer = pairs(&folder, &["--epsilon", "1", "--format", "json"]).json();
    let tables = answer["tables"].as_array().unwrap();
    assert_eq!(tables.len(), 3);
    assert_eq!(tables[0]["attributes"], json!(["smokes", "systolic_blood_pressure"]));
    let smokers = |table: &Value| {
        let values = values(table);
        (values[0] + values[1], values.iter().sum::<f64>())
    };
    let (one, other) = (smokers(&tables[0]), smokers(&tables[1]));
    assert!((one.0 - other.0).abs() < 1e-6 && (one.1 - other.1).abs() < 1e-6, "{one:?} {other:?}");
    let width = tables[0]["half_width"].as_f64().unwrap();
    // 961 do not smoke, of 1841; ten half-widths fail less than once in 10^12 runs.
    assert!((one.0 - 961.0).abs() < 20.0 * width && (one.1 - 1841.0).abs() < 40.0 * width);
    assert!(width > 1.0 && width < 60.0, "{width}");
    let error = &answer["expected_error"];
    assert!(error["rmse"].as_f64().unwrap() > 0.5, "{error}");
    assert!(error.get("limit").is_some() && error.get("ratio").is_some(), "{error}");
    assert_eq!(answer["attributes"][0], json!({"name": "smokes", "values": ["no", "yes"]}));
    assert_eq!(answer["cost"]["epsilon"], 1.0);
    assert_eq!(answer["release"]["random"], "secure");

    // The same again is free, byte for byte.
    let spent = folder.run(&["budget", "--format", "json"]).json();
    let again = pairs(&folder, &["--epsilon", "1", "--format", "json"]);
    assert!(again.stderr.contains("nothing was spent"), "{}", again.stderr);
    assert_eq!(again.json(), answer);
    assert_eq!(folder.run(&["budget", "--format", "json"]).json()["spent"], spent["spent"]);

    // What is beyond the budget is refused, and nothing is spent.
    let refused = pairs(&folder, &["--epsilon", "1.5"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (3, ""), "{}", refused.stderr);
    assert_eq!(folder.run(&["budget", "--format", "json"]).json()["spent"], spent["spent"]);
}

#[test]
fn gaussian_noise_has_a_certified_ratio() {
    let folder = Folder::factory_with_budget(
        "pairs-rho",
        "epsilon = 3\ndelta = 1e-5\naccounting = \"zero-concentrated\"",
    );
    let plan = pairs(&folder, &["--rho", "0.05", "--plan", "--format", "json"]).json();
    let ratio = plan["expected_error"]["ratio"].as_f64().unwrap();
    assert!((1.0..1.0 + 1e-9).contains(&ratio), "{ratio}");
    assert_eq!(plan["rho"], 0.05);
    assert_eq!(plan["ledger"]["state"], "none");
    assert!(!folder.file("policy.ledger").exists());
    let answer = pairs(&folder, &["--rho", "0.05", "--format", "json"]).json();
    assert_eq!(answer["expected_error"], plan["expected_error"]);
    let balance = folder.run(&["budget", "--format", "json"]).json();
    let spent = balance["spent"]["cost"].as_f64().unwrap();
    assert!(spent <= 0.05 && spent > 0.0499, "{balance}");
    let text = pairs(&folder, &["--rho", "0.05"]).done();
    assert!(text.contains("times the least of any Gaussian strategy"), "{text}");
    assert!(text.contains("Answered before"), "{text}");
}

#[test]
fn the_plan_says_what_is_measured_and_spends_nothing() {
    let folder = Folder::factory("pairs-plan");
    let text = pairs(&folder, &["--epsilon", "1", "--plan"]).done();
    for expected in ["cost", "strategy", "why", "expected error", "table of", "± (95%) of a cell"]
    {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert!(text.ends_with("Nothing was read from private tables, and nothing was spent.\n"));
    let files: Vec<_> = std::fs::read_dir(folder.file(".")).unwrap().collect();
    assert_eq!(files.len(), 2, "no ledger was made");
}

#[test]
fn statements_files_and_formats() {
    let folder = Folder::factory("statements");
    folder.write(
        "asked.txt",
        b"# two questions\ncount where smokes = 'yes' AND lipoprotein_ratio = 'above 3'\ncount\n",
    );
    let path = folder.file("asked.txt");
    let file = path.to_str().unwrap();
    let csv = folder.run(&["workload", "--workload", file, "--epsilon", "1", "--format", "csv"]);
    let csv = csv.done();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "query,answer,half_width");
    assert_eq!(lines.len(), 3, "{csv}");
    let total: Vec<&str> = lines[2].split(',').collect();
    assert_eq!(total[0], "count");
    // Noise of scale 2 or so: 200 is beyond it once in 10^40 runs.
    assert!((total[1].parse::<f64>().unwrap() - 1841.0).abs() < 200.0, "{csv}");

    let integers =
        pairs(&folder, &["--epsilon", "0.5", "--integers", "totals", "--format", "csv"]).done();
    let mut totals = std::collections::BTreeMap::new();
    for row in csv::Reader::from_reader(integers.as_bytes()).records() {
        let row = row.unwrap();
        let count: f64 = row[4].parse().unwrap();
        assert!(count >= 0.0 && count.fract() == 0.0 && row[5].is_empty(), "{integers}");
        *totals.entry(row[0].to_owned()).or_insert(0.0) += count;
    }
    let totals: Vec<f64> = totals.into_values().collect();
    assert!(totals.len() == 3 && totals.iter().all(|total| *total == totals[0]), "{totals:?}");
}

#[test]
fn what_cannot_be_asked_is_refused_and_nothing_is_spent() {
    let folder = Folder::factory("workload-refused");
    for (arguments, expected) in [
        (&["workload"][..], "nothing is asked for"),
        (&["workload", "--marginals", "9"], "from 1 to"),
        (&["workload", "--marginals", "1", "--over", "worker"], "`worker` is the privacy unit"),
        (&["workload", "--marginals", "1", "--over", "smoke"], "smoke"),
        (&["workload", "--table", "people", "--marginals", "1"], "workers"),
        (&["workload", "--ask", "count where smokes = 'never'"], "support"),
        (&["workload", "--ask", "marginal smokes weight 0"], "weight"),
        (&["workload", "--marginals", "1", "--epsilon", "0"], "epsilon"),
        (&["workload", "--marginals", "1", "--epsilon", "1e-12"], "epsilon"),
        (&["workload", "--marginals", "1", "--epsilon", "1", "--rho", "1"], "--rho"),
        (&["workload", "--marginals", "1", "--method", "magic"], "mwem:ROUNDS"),
        (&["workload", "--marginals", "1", "--format", "parquet"], "csv"),
    ] {
        let message = folder.run(arguments).refused();
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
    assert_eq!(std::fs::read_dir(folder.file(".")).unwrap().count(), 2, "no ledger was made");
}
