//! The page that shows everything.

use crate::results::Entry;
use crate::{Finding, Paper, Record, ReproductionError, Tally, Verdict, data, table};
use reticent_figures::escaped;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Rows of a table that the page shows; the files hold all of them.
const MOST_ROWS: usize = 60;

const STYLE: &str = "\
body{font:16px/1.5 Ubuntu,Helvetica,Arial,sans-serif;color:#222;max-width:1280px;margin:2em \
auto;padding:0 1em}
h1{font-size:1.7em}h2{margin-top:2.4em;border-bottom:2px solid \
#0072B2;font-size:1.35em}h3{margin-top:1.8em;font-size:1.1em}
table{border-collapse:collapse;margin:.8em 0;font-size:.92em}th,td{border-bottom:1px solid \
#ddd;padding:.3em .7em;text-align:left;vertical-align:top}
th{border-bottom:2px solid \
#888}svg{max-width:100%;height:auto}.holds{color:#00664a}.part{color:#7a5c00}\
.fails{color:#a84300}.mark{color:#a84300}.source{color:#666;font-size:.9em}
details{margin:.6em 0}code{background:#f3f3f3;padding:.1em .3em}";

/// One self-contained page: for each experiment the paper's statements beside what comes out here,
/// our own statements apart from them, the figures and the tables, read from the files in `folder`.
/// It holds no date and no path, so that the same runs give the same page.
///
/// # Errors
/// If a file that a record names cannot be read.
pub fn page(entries: &[Entry], folder: &Path) -> Result<String, ReproductionError> {
    let findings = entries
        .iter()
        .filter_map(|entry| entry.record.as_ref())
        .flat_map(|record| &record.findings);
    let tally: Tally = findings.collect();
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><meta \
         name=\"viewport\" content=\"width=device-width\"><title>The papers, \
         reproduced</title>\n<style>\n{STYLE}\n</style></head>\n<body>\n\
         <h1>The papers, reproduced</h1>\n<p>Every privacy figure is a certified bound. The noise \
         is exact but seeded: it protects nobody. A verdict is computed from the statement as the \
         paper makes it; where it rests on simulation, each case is answered with a margin that \
         chance has with probability below 3e-7, or left undecided. <strong>{}</strong> Our own \
         statements ({}) and remarks ({}) are not among them.</p>\n",
        tally.of_papers(),
        tally.own.iter().sum::<usize>(),
        tally.remarks
    );
    contents(&mut html, entries);
    for paper in Paper::ALL {
        // Writing to a String does not fail.
        let _ = writeln!(html, "<h2>{}</h2>", escaped(paper.citation()));
        for entry in entries.iter().filter(|entry| entry.experiment.paper == paper) {
            section(&mut html, entry, folder)?;
        }
    }
    html.push_str("</body>\n</html>\n");
    Ok(html)
}

/// Where to find what, and what is missing.
fn contents(html: &mut String, entries: &[Entry]) {
    html.push_str("<ul>\n");
    for Entry { experiment, record, unfinished } in entries {
        let state = match (record.is_some(), unfinished) {
            (true, false) => "",
            (true, true) => " <span class=\"mark\">(a later run is unfinished)</span>",
            (false, true) => " <span class=\"mark\">(unfinished)</span>",
            (false, false) => " <span class=\"mark\">(not run)</span>",
        };
        let _ = writeln!(
            html,
            "<li><a href=\"#{0}\"><code>{0}</code></a> {1}{state}</li>",
            experiment.name,
            escaped(experiment.title)
        );
    }
    html.push_str("</ul>\n");
}

fn section(html: &mut String, entry: &Entry, folder: &Path) -> Result<(), ReproductionError> {
    let experiment = &entry.experiment;
    let _ = writeln!(
        html,
        "<h3 id=\"{0}\">{1} <code>{0}</code></h3>",
        experiment.name,
        escaped(experiment.title)
    );
    if entry.unfinished {
        html.push_str(
            "<p class=\"mark\"><strong>A run of this experiment was begun and not finished; what \
             stands below, if anything, is from an earlier one.</strong></p>\n",
        );
    }
    let Some(record) = &entry.record else {
        let data = experiment.reads.map_or_else(String::new, |reads| {
            format!(" It reads {} of the data: say with --data where they are.", escaped(reads))
        });
        let _ = writeln!(html, "<p class=\"mark\">Not run.{data}</p>");
        return Ok(());
    };
    let _ = writeln!(
        html,
        "<p>Made by <code>{}</code>, seed {}.</p>",
        escaped(&record.origin.command),
        record.origin.seed
    );
    let (own, papers): (Vec<_>, Vec<_>) =
        record.findings.iter().partition(|finding| finding.is_own());
    findings_table(html, "the paper", &papers);
    if !own.is_empty() {
        findings_table(html, "our own", &own);
    }
    files(html, record, folder)
}

fn findings_table(html: &mut String, whose: &str, findings: &[&Finding]) {
    let _ = writeln!(
        html,
        "<table><thead><tr><th>{whose}</th><th>here</th><th>verdict</th></tr></thead><tbody>"
    );
    for finding in findings {
        let class = match finding.verdict {
            Verdict::Holds | Verdict::Remark => "holds",
            Verdict::InPart(_) => "part",
            Verdict::Fails | Verdict::Open => "fails",
        };
        let source = finding.source.as_ref().map_or_else(String::new, |source| {
            format!(" <span class=\"source\">{}</span>", escaped(source))
        });
        let _ = writeln!(
            html,
            "<tr><td>{}{source}</td><td>{}</td><td class=\"{class}\">{}</td></tr>",
            escaped(&finding.claim),
            escaped(&finding.here),
            escaped(&finding.verdict_text())
        );
    }
    html.push_str("</tbody></table>\n");
}

/// The figures and the tables.
fn files(html: &mut String, record: &Record, folder: &Path) -> Result<(), ReproductionError> {
    for name in &record.pictures {
        let path: PathBuf = folder.join(format!("{name}.svg"));
        let svg = std::fs::read_to_string(&path)
            .map_err(|source| ReproductionError::Read { path, source })?;
        html.push_str(&svg);
    }
    for (name, caption) in &record.tables {
        let (columns, rows) = data::rows(&folder.join(format!("{name}.csv")))?;
        let _ = writeln!(
            html,
            "<details><summary>{} ({} rows, <a href=\"{2}.csv\">{2}.csv</a>)</summary>",
            escaped(caption),
            rows.len(),
            name
        );
        if rows.len() <= MOST_ROWS {
            html.push_str(&table::html(&columns, &rows));
        }
        html.push_str("</details>\n");
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::data::tests::Folder;
    use crate::{Experiment, Origin};

    /// An experiment with these findings, or without a record.
    pub(crate) fn entry(name: &str, findings: Option<Vec<Finding>>, unfinished: bool) -> Entry {
        let record = findings.map(|findings| Record {
            origin: Origin { command: "reproduce --seed 9".into(), seed: 9 },
            findings,
            pictures: Vec::new(),
            tables: vec![("numbers".into(), "Some numbers".into())],
        });
        Entry { experiment: Experiment::named(name).expect("known"), record, unfinished }
    }

    #[test]
    fn the_page_shows_what_was_not_run_and_what_does_not_hold() {
        let folder = Folder::new("page");
        std::fs::create_dir_all(&folder.0).expect("made");
        std::fs::write(folder.0.join("numbers.csv"), "n\n17\n").expect("written");
        let findings = vec![
            Finding::of_paper("Section 3", "a < b", "1 < 2".into(), Verdict::Fails)
                .corrected_by("L2"),
            Finding::of_paper("Figure 2", "c", "d".into(), Verdict::Holds),
            Finding::own("our question", "e".into(), Verdict::Holds),
        ];
        let entries = [
            entry("liu-adult", None, false),
            entry("liu-mildew", None, true),
            entry("lecture-counting", Some(findings), false),
        ];
        let html = page(&entries, &folder.0).expect("a page");
        assert!(html.contains("Not run. It reads adult of the data"));
        assert!(html.contains("was begun and not finished"));
        assert!(
            html.contains("a &lt; b <span class=\"source\">Section 3</span>")
                && html.contains("does not hold here (erratum L2)")
                && html.contains("seed 9")
        );
        assert!(html.contains("Of 2 statements of the papers 1 hold, 0 hold in part, 1 do not"));
        let own = html.find("<th>our own</th>").expect("a table of our own");
        assert!(html.find("our question").is_some_and(|place| place > own));
        assert!(html.contains("Some numbers (1 rows, <a href=\"numbers.csv\">numbers.csv</a>)"));
        assert!(html.contains("<td>17</td>"));
        for name in ["liu-adult", "lecture-counting"] {
            assert!(
                html.contains(&format!("href=\"#{name}\""))
                    && html.contains(&format!("id=\"{name}\""))
            );
        }
        // Self-contained: nothing is fetched.
        assert!(!html.contains("src=") && !html.contains("http-equiv"));
    }
}
