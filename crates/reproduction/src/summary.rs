//! The findings as Markdown: what `docs/reproduction.md` is made of.

use crate::{Finding, Paper, Run};
use std::fmt::Write;

/// For each paper and experiment a table of what the paper says, what comes out here, and how the two compare.
pub fn summary(runs: &[Run]) -> String {
    let mut text = String::new();
    for paper in Paper::ALL {
        let of_paper: Vec<&Run> = runs.iter().filter(|run| run.experiment.paper == paper).collect();
        if of_paper.is_empty() {
            continue;
        }
        // Writing to a String does not fail.
        let _ = writeln!(text, "### {}\n", paper.citation());
        for run in of_paper {
            let _ = writeln!(text, "**{}** (`{}`)\n", run.experiment.title, run.experiment.name);
            match &run.outcome {
                Some(outcome) => text.push_str(&table(&outcome.findings)),
                None => text.push_str("Skipped: its data were not given.\n"),
            }
            text.push('\n');
        }
    }
    text
}

fn table(findings: &[Finding]) -> String {
    let mut text = "| paper | here | remark |\n|---|---|---|\n".to_string();
    for finding in findings {
        let verdict = finding.verdict.text();
        let remark = match finding.is_shown() || finding.is_remark() {
            true => verdict,
            false => format!("**not shown by this run** (expected: {verdict})"),
        };
        let _ = writeln!(text, "| {} | {} | {remark} |", cell(&finding.claim), cell(&finding.here));
    }
    text
}

/// Text that does not end a cell or begin a tag.
fn cell(text: &str) -> String {
    text.replace("<=", "\u{2264}").replace('&', "&amp;").replace('<', "&lt;").replace('|', "\\|").replace('*', "\\*")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Experiment, Outcome, Verdict};

    #[test]
    fn every_finding_has_a_row_and_what_is_missing_is_said() {
        let experiment = |name| Experiment::named(name).expect("known");
        let findings = vec![
            Finding::computed("a < b", "P(|x| > 1)".into(), Verdict::Corrected("L2"), true),
            Finding::computed("c", "1 <= d".into(), Verdict::Holds, false),
            Finding::stated("e", "f".into(), Verdict::Qualified),
        ];
        let outcome = Some(Outcome { findings, ..Outcome::default() });
        let runs = [
            Run { experiment: experiment("liu-adult"), outcome: None },
            Run { experiment: experiment("lecture-counting"), outcome },
        ];
        let text = summary(&runs);
        assert!(text.contains("| a &lt; b | P(\\|x\\| > 1) | corrected, erratum L2 |\n"), "{text}");
        assert!(text.contains("| c | 1 \u{2264} d | **not shown by this run** (expected: holds) |\n"), "{text}");
        assert!(text.contains("| e | f | holds in the paper's setting only |\n"), "{text}");
        assert!(text.contains("(`liu-adult`)\n\nSkipped") && !text.contains("Zhao"), "{text}");
    }
}
