//! The walks of CONTRIBUTING.md are true: what is there today was added where they say.

use crate::files::{read, with_ending};
use std::path::Path;

/// Files that name `word` and that the section does not, and files of its table that do not name
/// it.
fn faults(heading: &str, word: &str, folders: &[&str]) -> Vec<String> {
    let text = read(Path::new("CONTRIBUTING.md"));
    let section = text.split(&format!("\n## {heading}\n")).nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let spans = |text: &str| -> Vec<String> {
        text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    let named: Vec<String> = spans(section);
    let mut faults = Vec::new();
    for file in with_ending(&[".rs"]) {
        let path = file.to_str().unwrap();
        let is_asked = folders.iter().any(|folder| path.starts_with(folder));
        let is_named = named.iter().any(|name| name.contains('/') && path.starts_with(name));
        if is_asked && !is_named && read(&file).contains(word) {
            faults.push(format!("{heading}: {path} has {word} and is not in the walk"));
        }
    }
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let mut files = 0;
    for file in rows.flat_map(|row| spans(row.split('|').nth(1).unwrap())) {
        if file.ends_with(".rs") && !OPTIONAL.contains(&file.as_str()) {
            files += 1;
            if !read(Path::new(&file)).contains(word) {
                faults.push(format!("{heading}: {file} is in the walk and has no {word}"));
            }
        }
    }
    assert!(files > 3, "{heading}: {files} files");
    faults
}

/// Where a walk leads only some.
const OPTIONAL: [&str; 1] = ["crates/query/src/sql/range.rs"];

#[test]
fn the_walks_lead_where_the_last_ones_led() {
    let mut found = faults("Add a mechanism", "InflatedGeneralizedGaussian", &["crates"]);
    found.extend(faults("Add a source", "Format::Arrow", &["crates"]));
    found.extend(faults("Add a SQL function", "atan2", &["crates", "fuzz"]));
    assert!(found.is_empty(), "{}", found.join("\n"));
}
