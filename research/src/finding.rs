//! What a paper says beside what comes out here, and a verdict that is computed from the statement
//! as the paper makes it.

use crate::Margin;
use serde::{Deserialize, Serialize};

/// How many cases a verdict names before it only counts them.
const MOST_NAMED: usize = 3;

/// How a statement fares in one of the cases that it speaks of: at one budget, in one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is so.
    Yes,
    /// It is not so.
    No,
    /// The repeats of this run do not tell.
    Open,
}

impl Answer {
    /// The answer of figures that were computed. (A comparison with NaN is false.)
    pub fn when(is_so: bool) -> Self {
        if is_so { Answer::Yes } else { Answer::No }
    }

    /// The answer of a simulation, from the margin of the difference that the statement claims. A
    /// wrong answer has a probability below 3e-7.
    pub fn simulated(margin: Margin) -> Self {
        match (margin.suffices(), margin.opposite().suffices()) {
            (true, _) => Answer::Yes,
            (false, true) => Answer::No,
            (false, false) => Answer::Open,
        }
    }

    /// Whether both statements are so.
    pub fn and(self, other: Answer) -> Answer {
        match (self, other) {
            (Answer::No, _) | (_, Answer::No) => Answer::No,
            (Answer::Yes, Answer::Yes) => Answer::Yes,
            (Answer::Open, _) | (_, Answer::Open) => Answer::Open,
        }
    }
}

/// The cases of a statement, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cases(Vec<(String, Answer)>);

impl FromIterator<(String, Answer)> for Cases {
    fn from_iter<I: IntoIterator<Item = (String, Answer)>>(cases: I) -> Self {
        Cases(cases.into_iter().collect())
    }
}

impl Cases {
    fn count(&self, answer: Answer) -> usize {
        self.0.iter().filter(|case| case.1 == answer).count()
    }

    /// The names of the cases with that answer, the first few of them.
    fn named(&self, answer: Answer) -> String {
        let names: Vec<&str> =
            self.0.iter().filter(|case| case.1 == answer).map(|case| case.0.as_str()).collect();
        let shown = names[..names.len().min(MOST_NAMED)].join("; ");
        match names.len().checked_sub(MOST_NAMED) {
            None | Some(0) => shown,
            Some(more) => format!("{shown}; and {more} more"),
        }
    }

    /// Where the statement holds and where it does not.
    fn split(&self) -> String {
        let mut text = format!("in {} of {} cases", self.count(Answer::Yes), self.0.len());
        for (answer, lead) in [(Answer::No, "not at"), (Answer::Open, "not decided at")] {
            if self.count(answer) > 0 {
                text.push_str(&format!("; {lead} {}", self.named(answer)));
            }
        }
        text
    }
}

/// How a statement fares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// In every case.
    Holds,
    /// In some cases: which, and which not.
    InPart(String),
    /// In no case.
    Fails,
    /// This run has too few repeats to tell.
    Open,
    /// No figure of this run could refute it: a remark.
    Remark,
}

impl Verdict {
    /// The verdict of a statement with one case.
    pub fn of(answer: Answer) -> Self {
        match answer {
            Answer::Yes => Verdict::Holds,
            Answer::No => Verdict::Fails,
            Answer::Open => Verdict::Open,
        }
    }

    /// The verdict of a statement about every one of some cases. Without cases nothing is decided.
    pub fn over(cases: &Cases) -> Self {
        let (yes, no) = (cases.count(Answer::Yes), cases.count(Answer::No));
        match (yes, no) {
            (0, 0) => Verdict::Open,
            (0, _) => Verdict::Fails,
            _ if yes == cases.0.len() => Verdict::Holds,
            _ => Verdict::InPart(cases.split()),
        }
    }

    /// The verdict of figures that were computed.
    pub fn when(is_so: bool) -> Self {
        Verdict::of(Answer::when(is_so))
    }

    /// The kind in one word or two, the same for all statements that fare alike.
    pub fn kind(&self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::InPart(_) => "holds in part",
            Verdict::Fails => "does not hold here",
            Verdict::Open => "not decided by this run",
            Verdict::Remark => "a remark, not computed",
        }
    }
}

/// A statement, and what comes out here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The section, theorem or figure that makes the statement; nothing for one of our own.
    pub source: Option<String>,
    /// The statement.
    pub claim: String,
    /// What comes out here, with numbers.
    pub here: String,
    /// How the statement fares.
    pub verdict: Verdict,
    /// The number in `docs/errata.md`, if the statement is not true in general.
    pub erratum: Option<String>,
}

impl Finding {
    /// A statement of a paper.
    pub fn of_paper(source: &str, claim: &str, here: String, verdict: Verdict) -> Self {
        let source = Some(source.to_string());
        Finding { source, claim: claim.into(), here, verdict, erratum: None }
    }

    /// A statement of our own, which does not count among those of the papers.
    pub fn own(claim: &str, here: String, verdict: Verdict) -> Self {
        Finding { source: None, claim: claim.into(), here, verdict, erratum: None }
    }

    /// The same with the erratum that corrects it.
    pub fn corrected_by(self, erratum: &str) -> Self {
        Finding { erratum: Some(erratum.into()), ..self }
    }

    /// Whether it is our own.
    pub fn is_own(&self) -> bool {
        self.source.is_none()
    }

    /// The verdict in words, with where it holds and the erratum. A statement that holds wherever
    /// this run looked has no erratum to show for.
    pub fn verdict_text(&self) -> String {
        let mut text = self.verdict.kind().to_string();
        if let Verdict::InPart(where_so) = &self.verdict {
            text.push_str(&format!(": {where_so}"));
        }
        match &self.erratum {
            Some(erratum) if self.verdict != Verdict::Holds => {
                format!("{text} (erratum {erratum})")
            }
            Some(_) | None => text,
        }
    }
}

/// How the statements of the papers fare, and those of our own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Those of the papers: that hold, hold in part, do not hold, and are not decided.
    pub papers: [usize; 4],
    /// The same of our own.
    pub own: [usize; 4],
    /// Remarks.
    pub remarks: usize,
}

impl<'a> FromIterator<&'a Finding> for Tally {
    fn from_iter<I: IntoIterator<Item = &'a Finding>>(findings: I) -> Self {
        let mut tally = Tally::default();
        for finding in findings {
            let index = match finding.verdict {
                Verdict::Holds => 0,
                Verdict::InPart(_) => 1,
                Verdict::Fails => 2,
                Verdict::Open => 3,
                Verdict::Remark => {
                    tally.remarks += 1;
                    continue;
                }
            };
            let counts = if finding.is_own() { &mut tally.own } else { &mut tally.papers };
            counts[index] += 1;
        }
        tally
    }
}

impl Tally {
    /// The statements of the papers in one sentence.
    pub fn of_papers(&self) -> String {
        let [holds, part, fails, open] = self.papers;
        format!(
            "Of {} statements of the papers {holds} hold, {part} hold in part, {fails} do not hold \
             here, {open} are not decided.",
            self.papers.iter().sum::<usize>()
        )
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The kinds of verdicts, in the order of the findings.
    pub(crate) fn kinds(findings: &[Finding]) -> Vec<&'static str> {
        findings.iter().map(|finding| finding.verdict.kind()).collect()
    }

    /// Asserts that each verdict is another one on some of the data that were made to refute it:
    /// none is a constant.
    pub(crate) fn assert_each_turns(findings: &[Finding], on_other_data: &[Vec<Finding>]) {
        for (index, finding) in findings.iter().enumerate() {
            let turned = on_other_data.iter().any(|others| {
                assert_eq!(others.len(), findings.len());
                others[index].verdict.kind() != finding.verdict.kind()
            });
            let remark = finding.verdict == Verdict::Remark;
            assert_eq!(turned, !remark, "{finding:#?}\n{on_other_data:#?}");
        }
    }

    #[test]
    fn a_verdict_follows_from_the_answers() {
        let cases = |answers: &[Answer]| -> Cases {
            answers.iter().enumerate().map(|(i, answer)| (format!("case {i}"), *answer)).collect()
        };
        let (yes, no, open) = (Answer::Yes, Answer::No, Answer::Open);
        assert_eq!(Verdict::over(&cases(&[yes, yes])), Verdict::Holds);
        assert_eq!(Verdict::over(&cases(&[no, open])), Verdict::Fails);
        assert_eq!(Verdict::over(&cases(&[open, open])), Verdict::Open);
        assert_eq!(Verdict::over(&cases(&[])), Verdict::Open);
        let part = Verdict::over(&cases(&[yes, no, no, no, no, no, open]));
        let text = "in 1 of 7 cases; not at case 1; case 2; case 3; and 2 more; \
            not decided at case 6";
        assert_eq!(part, Verdict::InPart(text.into()));
        assert_eq!((yes.and(open), no.and(open), yes.and(yes)), (open, no, yes));
        assert_eq!(Verdict::when(f64::NAN.max(f64::NAN) > 1.0), Verdict::Fails);
    }

    #[test]
    fn a_simulation_answers_where_chance_does_not() {
        let margin = |standard_errors| Margin { standard_errors, needed: 5.5 };
        assert_eq!(Answer::simulated(margin(5.6)), Answer::Yes);
        assert_eq!(Answer::simulated(margin(-5.6)), Answer::No);
        for nothing in [5.4, -5.4, 0.0, f64::NAN] {
            assert_eq!(Answer::simulated(margin(nothing)), Answer::Open);
        }
    }

    #[test]
    fn our_own_statements_and_remarks_do_not_count_among_those_of_the_papers() {
        let paper = |verdict| Finding::of_paper("Section 1", "a", String::new(), verdict);
        let findings = [
            paper(Verdict::Holds),
            paper(Verdict::Fails).corrected_by("L2"),
            paper(Verdict::Holds).corrected_by("L2"),
            paper(Verdict::Remark),
            Finding::own("b", String::new(), Verdict::Holds),
        ];
        let tally: Tally = findings.iter().collect();
        assert_eq!((tally.papers, tally.own, tally.remarks), ([2, 0, 1, 0], [1, 0, 0, 0], 1));
        assert!(tally.of_papers().starts_with("Of 3 statements of the papers 2 hold"));
        assert_eq!(findings[1].verdict_text(), "does not hold here (erratum L2)");
        assert_eq!(findings[2].verdict_text(), "holds");
    }
}
