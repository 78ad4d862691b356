//! What all accountants say about the same releases, side by side.

use crate::{
    Accountant, AccountingError, AdvancedComposition, BasicComposition, Composition, GaussianDp,
    LossDistribution, OptimalComposition, RenyiDp, ZeroConcentratedDp,
};
use reticent_mechanisms::{Delta, Epsilon};
use reticent_numerics::Bounds;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

/// What is asked: one number is given, the other bounded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PrivacyQuestion {
    /// The least epsilon at this delta.
    EpsilonAt(Delta),
    /// The least delta at this epsilon.
    DeltaAt(Epsilon),
}

impl PrivacyQuestion {
    /// The name of what is bounded.
    pub fn figure(self) -> &'static str {
        match self {
            PrivacyQuestion::EpsilonAt(_) => "epsilon",
            PrivacyQuestion::DeltaAt(_) => "delta",
        }
    }

    /// Asks one accountant.
    ///
    /// # Errors
    /// If it does not cover the releases, or proves nothing about them.
    pub fn ask(
        self,
        accountant: &dyn Accountant,
        composition: &Composition,
    ) -> Result<Bounds, AccountingError> {
        match self {
            PrivacyQuestion::EpsilonAt(delta) => accountant.epsilon(composition, delta),
            PrivacyQuestion::DeltaAt(epsilon) => accountant.delta(composition, epsilon),
        }
    }
}

/// What one accountant says.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Proved bounds.
    Bracket(Bounds),
    /// It cannot read one of the events, which is named with the reason.
    NotCovered(String),
    /// It covers the events but proves nothing here.
    NotProved(String),
}

impl Verdict {
    fn of(answer: Result<Bounds, AccountingError>) -> Self {
        match answer {
            Ok(bounds) => Verdict::Bracket(bounds),
            Err(AccountingError::NotCovered { mechanism, reason, .. }) => {
                Verdict::NotCovered(format!("{mechanism}: {reason}"))
            }
            Err(error) => Verdict::NotProved(error.to_string()),
        }
    }

    /// The bounds, if there are any.
    pub fn bracket(&self) -> Option<Bounds> {
        match self {
            Verdict::Bracket(bounds) => Some(*bounds),
            Verdict::NotCovered(_) | Verdict::NotProved(_) => None,
        }
    }
}

/// All accountants, the default first.
///
/// # Errors
/// If the precision is not one that [`LossDistribution::new`] takes.
pub fn accountants(precision: f64) -> Result<Vec<Box<dyn Accountant>>, AccountingError> {
    Ok(vec![
        Box::new(LossDistribution::new(precision)?),
        Box::new(GaussianDp),
        Box::new(OptimalComposition),
        Box::new(RenyiDp),
        Box::new(ZeroConcentratedDp),
        Box::new(AdvancedComposition),
        Box::new(BasicComposition),
    ])
}

/// All verdicts on one question.
#[derive(Debug)]
pub struct Comparison {
    question: PrivacyQuestion,
    /// Each accountant's name and verdict: the default first, then the least upper bound first,
    /// then those that say nothing.
    pub verdicts: Vec<(&'static str, Verdict)>,
}

impl Comparison {
    /// Asks all accountants; `progress` is told how many have answered.
    pub fn new(
        accountants: &[Box<dyn Accountant>],
        composition: &Composition,
        question: PrivacyQuestion,
        mut progress: impl FnMut(usize),
    ) -> Self {
        let verdict = |(done, accountant): (usize, &dyn Accountant)| {
            progress(done);
            (accountant.name(), Verdict::of(question.ask(accountant, composition)))
        };
        let mut verdicts: Vec<_> =
            accountants.iter().map(|accountant| &**accountant).enumerate().map(verdict).collect();
        if let Some((_, others)) = verdicts.split_first_mut() {
            let rank = |verdict: &Verdict| {
                verdict.bracket().map_or((true, 0.0), |bounds| (false, bounds.upper()))
            };
            others.sort_by(|(_, a), (_, b)| {
                let (a, b) = (rank(a), rank(b));
                a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
            });
        }
        Comparison { question, verdicts }
    }

    /// What all brackets together prove: each of them holds the exact figure, and so does what they
    /// have in common.
    ///
    /// # Errors
    /// If there is no bracket, or if two contradict each other, which would be a defect.
    pub fn in_common(&self) -> Result<Bounds, AccountingError> {
        let mut brackets = self.verdicts.iter().filter_map(|(_, verdict)| verdict.bracket());
        let first = brackets.next().ok_or_else(|| {
            let why = self.verdicts.iter().map(|(name, verdict)| match verdict {
                Verdict::NotCovered(why) | Verdict::NotProved(why) => format!("{name}: {why}"),
                Verdict::Bracket(_) => (*name).to_string(),
            });
            AccountingError::NotProved(Vec::from_iter(why).join("; "))
        })?;
        let (lower, upper) = brackets
            .fold((first.lower(), first.upper()), |(lower, upper), bracket| {
                (lower.max(bracket.lower()), upper.min(bracket.upper()))
            });
        if lower <= upper {
            Ok(Bounds::new(lower, upper))
        } else {
            let figure = self.question.figure();
            Err(AccountingError::Contradiction { figure, lower, upper })
        }
    }
}

/// `{"basic": {"epsilon": {"lower", "upper"}}, "renyi": {"not_covered": "..."}}`
impl Serialize for Comparison {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.verdicts.len()))?;
        for (name, verdict) in &self.verdicts {
            match verdict {
                Verdict::Bracket(bounds) => {
                    let (lower, upper) = (bounds.lower(), bounds.upper());
                    let interval = Interval { lower, upper };
                    map.serialize_entry(name, &One(self.question.figure(), interval))?;
                }
                Verdict::NotCovered(why) => map.serialize_entry(name, &One("not_covered", why))?,
                Verdict::NotProved(why) => map.serialize_entry(name, &One("not_proved", why))?,
            }
        }
        map.end()
    }
}

/// Bounds as they are written.
#[derive(Serialize)]
struct Interval {
    lower: f64,
    upper: f64,
}

/// An object with one field.
struct One<T>(&'static str, T);

impl<T: Serialize> Serialize for One<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(self.0, &self.1)?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(verdicts: Vec<(&'static str, Verdict)>) -> Comparison {
        Comparison {
            question: PrivacyQuestion::EpsilonAt(Delta::new(1e-6).expect("valid")),
            verdicts,
        }
    }

    #[test]
    fn what_brackets_have_in_common_is_proved() {
        let bracket = |lower, upper| Verdict::Bracket(Bounds::new(lower, upper));
        let both = comparison(vec![
            ("a", bracket(1.0, 2.0)),
            ("b", bracket(0.0, 1.5)),
            ("c", Verdict::NotCovered("why".into())),
        ]);
        assert_eq!(both.in_common(), Ok(Bounds::new(1.0, 1.5)));
        let text = serde_json::to_string(&both).expect("plain data");
        assert_eq!(
            text,
            r#"{"a":{"epsilon":{"lower":1.0,"upper":2.0}},"b":{"epsilon":{"lower":0.0,"upper":1.5}},"c":{"not_covered":"why"}}"#
        );
        assert!(matches!(
            comparison(vec![("a", bracket(1.0, 2.0)), ("b", bracket(3.0, 4.0))]).in_common(),
            Err(AccountingError::Contradiction { .. })
        ));
        assert!(matches!(
            comparison(vec![("c", Verdict::NotProved("why".into()))]).in_common(),
            Err(AccountingError::NotProved(_))
        ));
    }
}
