//! The findings as Markdown: what `docs/reproduction.md` is made of.

use crate::{Entry, Finding, Paper};
use std::fmt::Write;

/// For each paper and experiment a table of what the paper says, what comes out here, and how the
/// two compare; and one of our own statements, which stand apart.
pub fn summary(entries: &[Entry]) -> String {
    let mut text = String::new();
    for paper in Paper::ALL {
        let of_paper: Vec<&Entry> = entries
            .iter()
            .filter(|entry| entry.experiment.paper == paper)
            .filter(|entry| entry.record.is_some() || entry.unfinished)
            .collect();
        if of_paper.is_empty() {
            continue;
        }
        // Writing to a String does not fail.
        let _ = writeln!(text, "### {}\n", paper.citation());
        for Entry { experiment, record, unfinished } in of_paper {
            let _ = writeln!(text, "**{}** (`{}`)\n", experiment.title, experiment.name);
            if *unfinished {
                text.push_str("A later run of it was begun and not finished.\n\n");
            }
            let Some(record) = record else { continue };
            let (own, papers): (Vec<_>, Vec<_>) =
                record.findings.iter().partition(|finding| finding.is_own());
            text.push_str(&table("the paper", &papers));
            if !own.is_empty() {
                text.push_str(&format!("\n{}", table("our own", &own)));
            }
            text.push('\n');
        }
    }
    text
}

fn table(whose: &str, findings: &[&Finding]) -> String {
    let mut text = format!("| {whose} | here | verdict |\n|---|---|---|\n");
    for finding in findings {
        let source = finding.source.as_ref().map_or_else(String::new, |s| format!(" ({s})"));
        let _ = writeln!(
            text,
            "| {}{} | {} | {} |",
            cell(&finding.claim),
            cell(&source),
            cell(&finding.here),
            cell(&finding.verdict_text())
        );
    }
    text
}

/// Text that does not end a cell or begin a tag.
fn cell(text: &str) -> String {
    text.replace("<=", "\u{2264}")
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('|', "\\|")
        .replace('*', "\\*")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::tests::entry;
    use crate::{Answer, Cases, Verdict};

    #[test]
    fn every_finding_has_a_row_and_our_own_stand_apart() {
        let cases: Cases =
            [("x".to_string(), Answer::Yes), ("y".to_string(), Answer::No)].into_iter().collect();
        let findings = vec![
            Finding::of_paper("Theorem 4", "a < b", "P(|x| > 1)".into(), Verdict::Fails)
                .corrected_by("B1"),
            Finding::of_paper("Section 5", "c", "1 <= d".into(), Verdict::over(&cases)),
            Finding::own("e", "f".into(), Verdict::Holds),
        ];
        let entries =
            [entry("liu-adult", None, true), entry("lecture-counting", Some(findings), false)];
        let text = summary(&entries);
        assert!(
            text.contains(
                "| a &lt; b (Theorem 4) | P(\\|x\\| > 1) | does not hold here (erratum B1) |\n"
            ),
            "{text}"
        );
        assert!(
            text.contains(
                "| c (Section 5) | 1 \u{2264} d | holds in part: in 1 of 2 cases; not at y |\n"
            ),
            "{text}"
        );
        assert!(text.contains("| our own | here | verdict |\n|---|---|---|\n| e | f | holds |"));
        assert!(text.contains("(`liu-adult`)\n\nA later run") && !text.contains("Zhao"), "{text}");
    }
}
