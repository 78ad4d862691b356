//! Files of the repository that are made by the program are as it makes them. With
//! `RETICENT_REGENERATE=1` they are written anew.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::{Path, PathBuf};

use reticent_policy::{Policy, Value, json_schema};

fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn check_kept(path: &str, made: &str) {
    let file = in_repository(path);
    if std::env::var_os("RETICENT_REGENERATE").is_some() {
        std::fs::write(&file, made).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        kept == made,
        "{path} is not what the program makes; run this test with RETICENT_REGENERATE=1"
    );
}

#[test]
fn the_schema_for_editors() {
    check_kept("docs/policy.schema.json", &json_schema());
}

const NAMES: [&str; 7] = [
    "worker",
    "smokes",
    "strenuous_mental_work",
    "strenuous_physical_work",
    "systolic_blood_pressure",
    "lipoprotein_ratio",
    "family_history_of_chd",
];

/// The words for the two levels of each factor, in the order of the table's columns.
const WORDS: [[&str; 2]; 6] = [
    ["no", "yes"],
    ["no", "yes"],
    ["no", "yes"],
    ["below 140", "above 140"],
    ["below 3", "above 3"],
    ["negative", "positive"],
];

/// One row per man from the table of 64 cells.
fn workers(cells: &str) -> String {
    let mut rows = NAMES.join(",") + "\n";
    let mut worker = 0;
    for cell in cells.lines().skip(1) {
        let numbers: Vec<usize> = cell.split(',').map(|number| number.parse().unwrap()).collect();
        let words: Vec<&str> =
            numbers[..6].iter().zip(WORDS).map(|(level, words)| words[level - 1]).collect();
        for _ in 0..numbers[6] {
            worker += 1;
            rows += &format!("{worker},{}\n", words.join(","));
        }
    }
    rows
}

#[test]
fn the_workers_of_the_factory() {
    let cells = std::fs::read_to_string(in_repository("examples/data/czech.csv")).unwrap();
    let rows = workers(&cells);
    assert_eq!(rows.lines().count(), 1 + 1841);
    check_kept("examples/factory/workers.csv", &rows);
}

#[test]
fn the_policy_of_the_factory_lists_the_words() {
    let policy = Policy::load(&in_repository("examples/factory/policy.toml")).unwrap();
    let table = policy.table("workers").unwrap();
    for (name, words) in NAMES[1..].iter().zip(WORDS) {
        let mut words: Vec<Value> =
            words.iter().map(|word| Value::Text((*word).to_owned())).collect();
        words.sort_by_key(ToString::to_string);
        assert_eq!(table.column(name).unwrap().values(), Some(&words[..]), "{name}");
    }
    let header: Vec<&str> = NAMES.to_vec();
    assert!(table.columns().iter().all(|column| header.contains(&column.name())));
    assert_eq!(policy.ledger(), in_repository("examples/factory/policy.ledger"));
}

/// Every policy that the documentation shows loads.
#[test]
fn the_examples_of_the_documentation() {
    let pages =
        ["policy", "tutorial", "how-to/survey", "how-to/visits", "how-to/logs", "../README"];
    for page in pages.map(|page| format!("docs/{page}.md")) {
        let text = std::fs::read_to_string(in_repository(&page)).unwrap();
        let examples: Vec<&str> =
            text.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
        assert!(!examples.is_empty(), "{page}");
        for example in examples {
            Policy::parse(example, Path::new("policy.toml"))
                .unwrap_or_else(|error| panic!("{page}: {error}\n{example}"));
        }
    }
}

/// Every field of the schema is described in the documentation.
#[test]
fn every_field_is_documented() {
    let schema: serde_json::Value = serde_json::from_str(&json_schema()).unwrap();
    let text = std::fs::read_to_string(in_repository("docs/policy.md")).unwrap();
    let mut objects = vec![&schema];
    objects.extend(schema["definitions"].as_object().unwrap().values());
    let mut fields = 0;
    for object in objects {
        for name in object["properties"].as_object().into_iter().flatten().map(|(name, _)| name) {
            fields += 1;
            assert!(
                text.contains(&format!("`{name}`")),
                "docs/policy.md does not mention `{name}`"
            );
        }
    }
    assert!(fields >= 20, "only {fields} fields");
}
