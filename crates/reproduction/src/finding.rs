//! What a paper says beside what comes out here.

use crate::Margin;

/// How a statement of a paper fares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is so.
    Holds,
    /// It is wrong, and this is the number of the erratum in `docs/errata.md`.
    Corrected(&'static str),
    /// It is so in the paper's setting, and not in general.
    Qualified,
    /// The paper says nothing about it.
    Beyond,
}

impl Verdict {
    /// The verdict in words.
    pub fn text(self) -> String {
        match self {
            Verdict::Holds => "holds".into(),
            Verdict::Corrected(erratum) => format!("corrected, erratum {erratum}"),
            Verdict::Qualified => "holds in the paper's setting only".into(),
            Verdict::Beyond => "beyond the paper".into(),
        }
    }
}

/// What a finding rests on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Evidence {
    /// Figures that were computed: whether they show it.
    Computed(bool),
    /// Repeated simulation: the least margin of the differences that it states.
    Simulated(Margin),
    /// Nothing that this run computes: a remark on what the paper says, which no figure here could refute.
    Stated,
}

/// A statement of a paper, and what comes out here.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What the paper reports, or a question that it leaves open.
    pub claim: String,
    /// What comes out here, with numbers.
    pub here: String,
    /// How the statement fares.
    pub verdict: Verdict,
    /// What that rests on.
    pub evidence: Evidence,
}

impl Finding {
    /// A finding that computed figures show or refute.
    pub fn computed(claim: &str, here: String, verdict: Verdict, shown: bool) -> Self {
        Finding { claim: claim.into(), here, verdict, evidence: Evidence::Computed(shown) }
    }

    /// A finding from repeated simulation.
    pub fn simulated(claim: &str, here: String, verdict: Verdict, margin: Margin) -> Self {
        Finding { claim: claim.into(), here, verdict, evidence: Evidence::Simulated(margin) }
    }

    /// A remark on the paper that rests on an argument, not on this run.
    pub fn stated(claim: &str, here: String, verdict: Verdict) -> Self {
        Finding { claim: claim.into(), here, verdict, evidence: Evidence::Stated }
    }

    /// Whether it is a remark, about which a run says nothing.
    pub fn is_remark(&self) -> bool {
        self.evidence == Evidence::Stated
    }

    /// Whether this run shows it: computed figures do, or a simulation does with a margin that chance has with probability below 3e-7.
    pub fn is_shown(&self) -> bool {
        self.is_shown_by(0.0)
    }

    /// Whether this run shows it with so many standard errors to spare, if it is a matter of chance.
    pub(crate) fn is_shown_by(&self, spare: f64) -> bool {
        match self.evidence {
            Evidence::Computed(shown) => shown,
            Evidence::Simulated(margin) => margin.suffices_by(spare),
            Evidence::Stated => false,
        }
    }
}

/// Asserts every finding of an outcome with five standard errors to spare: then a new seed, whose margin differs by about one standard error, fails to show it with probability
/// below `Q(5) = 3e-7` each.
#[cfg(test)]
pub(crate) fn assert_all_shown(findings: &[Finding]) {
    for finding in findings.iter().filter(|finding| !finding.is_remark()) {
        assert!(finding.is_shown_by(crate::sample::SHOWN), "{finding:#?}");
    }
    assert!(findings.iter().any(|finding| !finding.is_remark()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_shown_by_its_evidence_alone() {
        let simulated = |standard_errors| {
            let margin = Margin { standard_errors, needed: 5.5 };
            Finding::simulated("a < b", String::new(), Verdict::Holds, margin)
        };
        assert!(simulated(5.6).is_shown() && !simulated(5.4).is_shown() && !simulated(f64::NAN).is_shown());
        assert!(!simulated(5.6).is_shown_by(5.0));
        assert!(!Finding::computed("a < b", String::new(), Verdict::Holds, false).is_shown());
        assert_eq!(Verdict::Corrected("L2").text(), "corrected, erratum L2");
    }
}
