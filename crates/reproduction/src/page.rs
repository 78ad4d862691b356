//! The page that shows everything.

use crate::write::Run;
use crate::{Evidence, Finding, Paper, Setting, Verdict};
use reticent_figures::escaped;
use std::fmt::Write;

/// Rows of a table that the page shows; the files hold all of them.
const MOST_ROWS: usize = 60;

const STYLE: &str = "\
body{font:16px/1.5 Ubuntu,Helvetica,Arial,sans-serif;color:#222;max-width:1280px;margin:2em auto;padding:0 1em}
h1{font-size:1.7em}h2{margin-top:2.4em;border-bottom:2px solid #0072B2;font-size:1.35em}h3{margin-top:1.8em;font-size:1.1em}
table{border-collapse:collapse;margin:.8em 0;font-size:.92em}th,td{border-bottom:1px solid #ddd;padding:.3em .7em;text-align:left;vertical-align:top}
th{border-bottom:2px solid #888}svg{max-width:100%;height:auto}.holds{color:#00664a}.corrected{color:#a84300}.skipped{color:#a84300}.missed{color:#fff;background:#a84300;font-weight:bold}
details{margin:.6em 0}code{background:#f3f3f3;padding:.1em .3em}";

/// One self-contained page: for each experiment the paper's statements beside what comes out here, the figures and the tables. It holds no date and no place, so that the
/// same run gives the same page.
pub fn page(runs: &[Run], setting: &Setting, command: &str) -> String {
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>The papers, reproduced</title>\n<style>\n{STYLE}\n</style></head>\n<body>\n\
         <h1>The papers, reproduced</h1>\n<p>Made by <code>{}</code> with seed {}. Every privacy figure is a certified bound. The noise is exact but seeded: \
         it protects nobody. A simulated finding counts as shown where a difference that is not there would have its margin with probability below 3e-7. \
         {}</p>\n",
        escaped(command),
        setting.seed(),
        tally(runs)
    );
    skipped(&mut html, runs);
    contents(&mut html, runs);
    for paper in Paper::ALL {
        let of_paper: Vec<&Run> = runs.iter().filter(|run| run.experiment.paper == paper).collect();
        if of_paper.is_empty() {
            continue;
        }
        // Writing to a String does not fail.
        let _ = writeln!(html, "<h2>{}</h2>", escaped(paper.citation()));
        for run in of_paper {
            section(&mut html, run);
        }
    }
    html.push_str("</body>\n</html>\n");
    html
}

/// How many claims this run shows.
fn tally(runs: &[Run]) -> String {
    let findings = || runs.iter().filter_map(|run| run.outcome.as_ref()).flat_map(|outcome| &outcome.findings);
    let claims = findings().filter(|finding| !finding.is_remark()).count();
    let shown = findings().filter(|finding| finding.is_shown()).count();
    format!("<strong>This run shows {shown} of {claims} claims.</strong>")
}

fn skipped(html: &mut String, runs: &[Run]) {
    let names: Vec<_> = runs.iter().filter(|run| run.outcome.is_none()).map(|run| run.experiment.name).collect();
    if !names.is_empty() {
        let _ = writeln!(
            html,
            "<p class=\"skipped\"><strong>Skipped, because their data were not given with --data: {}.</strong></p>",
            names.join(", ")
        );
    }
}

/// Where to find what.
fn contents(html: &mut String, runs: &[Run]) {
    html.push_str("<ul>\n");
    for Run { experiment, .. } in runs {
        let _ = writeln!(
            html,
            "<li><a href=\"#{0}\"><code>{0}</code></a> {1}</li>",
            experiment.name,
            escaped(experiment.title)
        );
    }
    html.push_str("</ul>\n");
}

fn section(html: &mut String, run: &Run) {
    let experiment = &run.experiment;
    let _ = writeln!(html, "<h3 id=\"{0}\">{1} <code>{0}</code></h3>", experiment.name, escaped(experiment.title));
    let Some(outcome) = &run.outcome else {
        let folder = experiment.reads.unwrap_or("none");
        let _ = writeln!(html, "<p class=\"skipped\">Skipped: it reads {} of the data.</p>", escaped(folder));
        return;
    };
    html.push_str(
        "<table><thead><tr><th>the paper</th><th>here</th><th>remark</th><th>this run</th></tr></thead><tbody>\n",
    );
    for finding in &outcome.findings {
        let class = if matches!(finding.verdict, Verdict::Corrected(_)) { "corrected" } else { "holds" };
        let fate = if finding.is_shown() || finding.is_remark() { "holds" } else { "missed" };
        let _ = writeln!(
            html,
            "<tr><td>{}</td><td>{}</td><td class=\"{class}\">{}</td><td class=\"{fate}\">{}</td></tr>",
            escaped(&finding.claim),
            escaped(&finding.here),
            escaped(&finding.verdict.text()),
            escaped(&this_run(finding))
        );
    }
    html.push_str("</tbody></table>\n");
    for (_, picture) in &outcome.pictures {
        html.push_str(&picture.svg());
    }
    for table in &outcome.tables {
        let _ = writeln!(
            html,
            "<details><summary>{} ({} rows, <a href=\"{2}.csv\">{2}.csv</a>)</summary>",
            escaped(&table.caption),
            table.rows.len(),
            table.name
        );
        if table.rows.len() <= MOST_ROWS {
            html.push_str(&table.html());
        }
        html.push_str("</details>\n");
    }
}

/// Whether this run shows a finding, and how far it is from chance.
fn this_run(finding: &Finding) -> String {
    match finding.evidence {
        Evidence::Computed(true) => "shown".into(),
        Evidence::Computed(false) => "NOT SHOWN".into(),
        Evidence::Simulated(margin) => {
            let fate = if finding.is_shown() { "shown" } else { "NOT SHOWN" };
            format!("{fate}: {:.1} standard errors, {:.1} needed", margin.standard_errors, margin.needed)
        }
        Evidence::Stated => "a remark, not computed".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Experiment, Margin, Outcome, Table};

    #[test]
    fn the_page_shows_what_was_skipped_and_what_was_not_shown() {
        let experiment = |name| Experiment::named(name).expect("known");
        let findings = vec![
            Finding::computed("a < b", "1 < 2".into(), Verdict::Corrected("L2"), true),
            Finding::simulated("c", "d".into(), Verdict::Holds, Margin { standard_errors: 1.0, needed: 5.5 }),
        ];
        let mut table = Table::new("numbers", "Some numbers", &["n"]);
        table.push(["17".to_owned()]);
        let runs = [
            Run { experiment: experiment("liu-adult"), outcome: None },
            Run {
                experiment: experiment("lecture-counting"),
                outcome: Some(Outcome { findings, tables: vec![table], ..Outcome::default() }),
            },
        ];
        let html = page(&runs, &Setting::new(9), "reticent reproduce");
        assert!(html.contains("not given with --data: liu-adult.") && html.contains("Skipped: it reads adult"));
        assert!(html.contains("a &lt; b") && html.contains("corrected, erratum L2") && html.contains("seed 9"));
        assert!(html.contains("NOT SHOWN: 1.0 standard errors, 5.5 needed") && html.contains("shows 1 of 2 claims"));
        assert!(html.contains("Some numbers (1 rows, <a href=\"numbers.csv\">numbers.csv</a>)"));
        for name in ["liu-adult", "lecture-counting"] {
            assert!(html.contains(&format!("href=\"#{name}\"")) && html.contains(&format!("id=\"{name}\"")));
        }
        // Self-contained: nothing is fetched.
        assert!(!html.contains("src=") && !html.contains("http-equiv"));
    }
}
