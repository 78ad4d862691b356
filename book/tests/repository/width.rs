//! One page width: 100 columns.

use crate::files::{read, with_ending};
use std::path::Path;

const COLUMNS: usize = 100;

/// The lines that are too long, with their numbers.
fn long_lines(path: &Path, text: &str) -> Vec<usize> {
    let prose = path.extension().is_some_and(|ending| ending == "md");
    let mut output = false;
    let mut long = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if prose && line.trim_start().starts_with("```") {
            // What a program printed is shown as it was; what people type is broken.
            output = !output && line.trim_start().starts_with("```text");
        }
        let comment = line.trim_start().trim_start_matches(['/', '!', '#']).trim_start();
        let table = comment.starts_with('|');
        let link = line
            .split_whitespace()
            .any(|word| word.chars().count() > 60 && (word.contains("://") || word.contains("](")));
        let raw = line.contains("r#\"");
        if line.chars().count() > COLUMNS && !output && !table && !link && !raw {
            long.push(number);
        }
    }
    long
}

#[test]
fn no_line_is_longer_than_100_columns() {
    let mut faults = Vec::new();
    for file in with_ending(&[".rs", ".md", ".toml", ".sh", "run-tests", ".ci/run"]) {
        let long = long_lines(&file, &read(&file));
        faults.extend(long.iter().map(|number| format!("{}:{number}", file.display())));
    }
    assert!(faults.is_empty(), "longer than {COLUMNS} columns:\n{}", faults.join("\n"));
}
