//! What a paper says beside what comes out here.

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
    /// Certified figures: whether they show it.
    Computed(bool),
    /// Repeated simulation: by how many standard errors of the mean the least of the differences that it states is away from zero, on the right side.
    Simulated(f64),
}

/// Simulated findings count as shown from so many standard errors on. A difference that is not there, or the other way round, would be called shown with probability
/// below `Q(5) = 3e-7`.
pub(crate) const SHOWN: f64 = 5.0;

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
    /// A finding that certified figures show or refute.
    pub fn computed(claim: &str, here: String, verdict: Verdict, shown: bool) -> Self {
        Finding { claim: claim.into(), here, verdict, evidence: Evidence::Computed(shown) }
    }

    /// A finding from repeated simulation.
    pub fn simulated(claim: &str, here: String, verdict: Verdict, standard_errors: f64) -> Self {
        Finding { claim: claim.into(), here, verdict, evidence: Evidence::Simulated(standard_errors) }
    }

    /// Whether this run shows it: certified figures do, or a simulation does by five standard errors.
    pub fn is_shown(&self) -> bool {
        self.is_shown_by(SHOWN)
    }

    /// Whether this run shows it by so many standard errors, if it is a matter of chance.
    pub(crate) fn is_shown_by(&self, margin: f64) -> bool {
        match self.evidence {
            Evidence::Computed(shown) => shown,
            Evidence::Simulated(standard_errors) => standard_errors >= margin,
        }
    }
}

/// Asserts every finding of an outcome with a margin of ten standard errors: then a new seed falls below five, and fails, with probability below `Q(5) = 3e-7` each.
#[cfg(test)]
pub(crate) fn assert_all_shown(findings: &[Finding]) {
    for finding in findings {
        assert!(finding.is_shown_by(2.0 * SHOWN), "{finding:#?}");
    }
    assert!(!findings.is_empty());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_shown_by_its_evidence_alone() {
        let simulated = |margin| Finding::simulated("a < b", String::new(), Verdict::Holds, margin);
        assert!(simulated(5.1).is_shown() && !simulated(4.9).is_shown() && !simulated(f64::NAN).is_shown());
        assert!(!simulated(5.1).is_shown_by(10.0));
        assert!(!Finding::computed("a < b", String::new(), Verdict::Holds, false).is_shown());
        assert_eq!(Verdict::Corrected("L2").text(), "corrected, erratum L2");
    }
}
