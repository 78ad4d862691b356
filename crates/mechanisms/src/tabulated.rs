//! Noise from an exact table: a law that was found by search, certified as it is.

use crate::additive::AdditiveRelease;
use crate::sensitivity_lattice::SensitivityLattice;
use crate::tabulated_error::{StepLaw, integer};
use crate::{
    Certificate, Delta, Epsilon, Errors, Guarantee, Mechanism, MechanismError, MechanismKind,
    Notion, Releaser, Sensitivity,
};
use reticent_events::Event;
use reticent_noise::randomness::{RandomBits, RandomnessError};
use reticent_noise::{IntegerNoise, Jittered, Table};
use reticent_numerics::{Bounds, Enclosure, OutOfRange, Wide};

/// Adds a step that is drawn from a [`Table`], times the length of a step, to a number.
///
/// # Distribution
/// A sensitivity `D` has `m` steps of `h = D/m`. The step `k`, and the step `-k`, has the
/// probability `w_k/W`, `W = w_0 + 2 w_1 + 2 w_2 + ...`, exactly, with integers
/// `w_0 >= w_1 >= ...`. On integers `h` is 1. On real numbers the noise is uniform within half a
/// step of the step: it has the density `w_k/(W h)` between `(k - 1/2) h` and `(k + 1/2) h`.
///
/// # Guarantee
/// `delta(epsilon) = sum over k of max(0, w_|k| - e^epsilon w_|k+m|) / W`, the violation over a
/// shift by `m` steps, exactly. No other shift is worse:
///
/// - *Fewer steps.* Let `f` be symmetric and not increasing away from zero, and `0 <= d < d'`.
///   Where `x >= -d/2`, `|x| <= |x + d| <= |x + d'|`, so that `f(x + d) >= f(x + d')` and the
///   violation at `x` is at least as large over `d'`. Where `x < -d/2`, `f(x) <= f(x + d)`, and
///   over `d` there is none.
/// - *Parts of a step*, on real numbers. Over `d = (j + u) h`, `0 <= u < 1`, a share `1 - u` of the
///   cell `k` is compared with the cell `k + j` and the rest with `k + j + 1`, so that the
///   violation is that mean of those over `j` and `j + 1` steps.
///
/// # Numerics
/// The weights are integers and the law is what they say; sums are taken with 100 bits and rounded
/// outwards. Real answers are put on a lattice of which the sensitivity is a multiple: its rounding
/// costs nothing.
///
/// # Example
/// ```
/// use reticent_mechanisms::{Delta, Epsilon, Mechanism, Tabulated};
/// use reticent_noise::Table;
/// // Noise of at most 2 on a count: 0 with probability 1/2, 1/4 in all on each side.
/// let table = Table::new(vec![8, 3, 1])?;
/// let mechanism = Tabulated::for_integers(1, table, Epsilon::new(1.2)?, Delta::new(0.1)?)?;
/// assert_eq!(mechanism.delta(1.2)?.upper(), 1.0 / 16.0);
/// # Ok::<(), reticent_mechanisms::MechanismError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Tabulated {
    table: Table,
    /// `m`.
    steps: u64,
    /// `D`.
    sensitivity: f64,
    answers: Answers,
    guarantee: Guarantee,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answers {
    Integers,
    Reals,
}

/// The most steps of a sensitivity.
const MOST_STEPS: u64 = 1 << 20;

impl Tabulated {
    /// Noise for a real number, with `steps`, a power of two, to the sensitivity.
    ///
    /// # Errors
    /// If more than one coordinate of the answer can move, `steps` is not a power of two up to
    /// `2^20`, a weight has more than 64 significant bits, or the table does not keep the
    /// guarantee.
    pub fn for_reals(
        sensitivity: &Sensitivity,
        steps: u64,
        table: Table,
        epsilon: Epsilon,
        delta: Delta,
    ) -> Result<Self, MechanismError> {
        let sensitivity = sensitivity.of_one_number("noise from a table")?;
        if !steps.is_power_of_two() {
            let accepted = "a power of two from 1 to 2^20";
            return Err(OutOfRange::new("steps", steps as f64, accepted).into());
        }
        Tabulated::certified(table, steps, sensitivity, Answers::Reals, epsilon, delta)
    }

    /// Noise for an integer that moves by at most `sensitivity`.
    ///
    /// # Errors
    /// If the sensitivity is not from 1 to `2^20`, a weight has more than 64 significant bits, or
    /// the table does not keep the guarantee.
    pub fn for_integers(
        sensitivity: u64,
        table: Table,
        epsilon: Epsilon,
        delta: Delta,
    ) -> Result<Self, MechanismError> {
        Tabulated::certified(
            table,
            sensitivity,
            sensitivity as f64,
            Answers::Integers,
            epsilon,
            delta,
        )
    }

    fn certified(
        table: Table,
        steps: u64,
        sensitivity: f64,
        answers: Answers,
        epsilon: Epsilon,
        delta: Delta,
    ) -> Result<Self, MechanismError> {
        if !(1..=MOST_STEPS).contains(&steps) {
            let name = if answers == Answers::Integers { "sensitivity" } else { "steps" };
            return Err(OutOfRange::new(name, steps as f64, "from 1 to 2^20").into());
        }
        if table.parts().is_none() {
            return Err(MechanismError::Refused(
                "a weight of the table has more than 64 significant bits".into(),
            ));
        }
        let (epsilon, delta) = (epsilon.get(), delta.get());
        let certified = violation(&table, steps, epsilon);
        if certified.upper() > delta {
            let reason = format!(
                "at epsilon {epsilon} its delta is up to {:e}, which is above {delta:e}",
                certified.upper()
            );
            return Err(MechanismError::NotCertified { what: "a table of noise", reason });
        }
        let guarantee = Guarantee { notion: Notion::Approximate, epsilon, delta };
        Ok(Tabulated { table, steps, sensitivity, answers, guarantee })
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// `m`, the steps of a sensitivity.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// `h`, the length of a step.
    pub fn spacing(&self) -> f64 {
        // Exact: the steps are a power of two, or the sensitivity.
        self.sensitivity / self.steps as f64
    }

    /// Whether the noise is a whole number of steps.
    pub fn is_integer(&self) -> bool {
        self.answers == Answers::Integers
    }

    /// The formula above for a table and a sensitivity of `steps`, whatever it guarantees.
    pub fn delta_of(table: &Table, steps: u64, epsilon: Epsilon) -> Bounds {
        violation(table, steps, epsilon.get())
    }

    fn law(&self) -> StepLaw<'_> {
        StepLaw { table: &self.table, whole: self.is_integer() }
    }
}

/// The formula at [`Tabulated`].
fn violation(table: &Table, steps: u64, epsilon: f64) -> Bounds {
    let growth = Wide::from(epsilon).exp();
    let (shift, support) = (steps as i64, table.support_in_steps() as i64);
    // Only from -m/2 on is |k| below |k + m|.
    let sum = (-((shift - 1) / 2).min(support)..=support).fold(Wide::ZERO, |sum, k| {
        let here = integer(table.weight(k.unsigned_abs()));
        let gain = here - growth * integer(table.weight((k + shift).unsigned_abs()));
        let bounds = gain.bounds();
        if bounds.lower() >= 0.0 {
            sum + gain
        } else if bounds.upper() > 0.0 {
            sum + gain.hull(Wide::ZERO)
        } else {
            sum
        }
    });
    (sum / integer(table.total())).bounds().clamp(0.0, 1.0)
}

impl Mechanism for Tabulated {
    fn kind(&self) -> MechanismKind {
        MechanismKind::Tabulated
    }

    fn method(&self) -> &'static str {
        "table"
    }

    /// The length of a step.
    fn scale(&self) -> f64 {
        self.spacing()
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("steps", self.steps as f64),
            ("support", self.table.support_in_steps() as f64 * self.spacing()),
        ]
    }

    fn guarantee(&self) -> Guarantee {
        self.guarantee
    }

    fn certificate(&self) -> Certificate {
        Certificate::Delta(violation(&self.table, self.steps, self.guarantee.epsilon))
    }

    fn delta(&self, epsilon: f64) -> Result<Bounds, MechanismError> {
        Ok(violation(&self.table, self.steps, Epsilon::new(epsilon)?.get()))
    }

    fn event(&self) -> Event {
        Event::Tabulated {
            // The constructor has seen that there are parts.
            weights: self.table.parts().unwrap_or_default(),
            sensitivity_steps: self.steps,
            spacing: self.spacing(),
        }
    }

    fn errors(&self) -> Option<Errors> {
        Some(self.law().errors(self.spacing()))
    }

    fn usefulness(&self, t: f64) -> Option<Bounds> {
        if t.is_nan() {
            return None;
        }
        if t < 0.0 {
            return Some(Bounds::ZERO);
        }
        let support = (self.table.support_in_steps() as f64 + 1.0) * self.spacing();
        Some(
            (Bounds::ONE
                - self.law().exceeds(Wide::from(t.min(support)) / Wide::from(self.spacing())))
            .clamp(0.0, 1.0),
        )
    }

    fn releaser(&self) -> Result<Box<dyn Releaser>, MechanismError> {
        Ok(match self.answers {
            Answers::Integers => {
                Box::new(IntegerRelease(AdditiveRelease::new(self.table.sampler()?)))
            }
            Answers::Reals => Box::new(SensitivityLattice::new(
                Jittered(self.table.clone()),
                self.spacing(),
                self.sensitivity,
            )?),
        })
    }
}

/// Releases integers.
#[derive(Debug)]
struct IntegerRelease(AdditiveRelease<Jittered<Table>>);

impl Releaser for IntegerRelease {
    fn release(&self, value: f64, random: &mut dyn RandomBits) -> Result<f64, RandomnessError> {
        self.0.release(value, random)
    }

    fn accepts(&self, value: f64) -> bool {
        value.fract() == 0.0
    }

    fn spacing(&self) -> f64 {
        self.0.spacing()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Neighbours::AddRemove;
    use reticent_noise::privacy;
    use reticent_noise::randomness::SeededRandom;

    fn guarantee(epsilon: f64, delta: f64) -> (Epsilon, Delta) {
        (Epsilon::new(epsilon).expect("valid"), Delta::new(delta).expect("valid"))
    }

    /// Any table, whether or not it guarantees anything.
    fn law(weights: &[u128], steps: u64, sensitivity: f64, answers: Answers) -> Tabulated {
        let guarantee = Guarantee { notion: Notion::Approximate, epsilon: 0.0, delta: 1.0 };
        let table = Table::new(weights.to_vec()).expect("valid");
        Tabulated { table, steps, sensitivity, answers, guarantee }
    }

    fn integers(weights: &[u128], steps: u64) -> Tabulated {
        law(weights, steps, steps as f64, Answers::Integers)
    }

    fn reals(weights: &[u128], steps: u64, sensitivity: f64) -> Tabulated {
        law(weights, steps, sensitivity, Answers::Reals)
    }

    const TABLES: [&[u128]; 4] = [
        &[1],
        &[9, 9, 9, 2, 2, 2, 2, 2, 1],
        &[1 << 90, 1 << 80, 1 << 80, 12345, 1],
        &[60, 41, 40, 33, 20, 8, 8, 1],
    ];

    /// `sum over k of max(0, p_k - e^epsilon p_(k+j))` over the whole line.
    fn over_shift(table: &Table, shift: i64, epsilon: f64) -> f64 {
        let p = |k: i64| table.weight(k.unsigned_abs()) as f64 / table.total() as f64;
        (-2000..2000).map(|k| (p(k) - epsilon.exp() * p(k + shift)).max(0.0)).sum()
    }

    #[test]
    fn no_shift_violates_more_than_the_whole_sensitivity() {
        for weights in TABLES {
            for steps in [1, 2, 3, 7, 8, 20] {
                let mechanism = integers(weights, steps);
                for epsilon in [0.0, 0.3, 1.0, 5.0, 40.0] {
                    let delta = mechanism.delta(epsilon).expect("valid");
                    let whole = over_shift(&mechanism.table, steps as i64, epsilon);
                    assert!(
                        (delta.estimate() - whole).abs() < 1e-12,
                        "{weights:?} {steps} {epsilon}: {delta:?} {whole}"
                    );
                    assert!(delta.width() < 1e-15);
                    for shift in -(steps as i64)..=steps as i64 {
                        let less = over_shift(&mechanism.table, shift, epsilon);
                        assert!(
                            less <= delta.upper() + 1e-12,
                            "{weights:?} {shift} of {steps}, {epsilon}: {less}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn the_density_of_real_noise_has_the_same_profile_and_no_part_of_a_step_is_worse() {
        for weights in TABLES {
            let mechanism = reals(weights, 4, 2.0);
            let spread = Jittered(mechanism.table.clone());
            for epsilon in [0.1, 1.0] {
                let formula = mechanism.delta(epsilon).expect("valid");
                let direct = privacy::violation(&spread, 0.5, 2.0, epsilon).delta;
                assert!(
                    direct.lower() <= formula.upper() && formula.lower() <= direct.upper(),
                    "{direct:?} {formula:?}"
                );
                for distance in [0.1, 0.77, 1.5, 1.99] {
                    let part = privacy::violation(&spread, 0.5, distance, epsilon).delta;
                    assert!(
                        part.lower() <= formula.upper(),
                        "{weights:?} {distance}: {part:?} {formula:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn errors_are_those_of_the_law() {
        for weights in TABLES {
            for (mechanism, real) in [(integers(weights, 2), false), (reals(weights, 4, 1.0), true)]
            {
                let (h, total) = (mechanism.spacing(), mechanism.table.total() as f64);
                let law: Vec<(f64, f64)> = (0..weights.len())
                    .map(|k| (k as f64, weights[k] as f64 / total * if k == 0 { 1.0 } else { 2.0 }))
                    .collect();
                // On real numbers the midpoint rule over each cell, one half step on both sides of
                // it.
                let parts = if real { 200 } else { 1 };
                let expect = |f: &dyn Fn(f64) -> f64| -> f64 {
                    let point = |k: f64, i: i32| {
                        (k + (f64::from(i) + 0.5) / f64::from(parts) - 0.5).abs() * h
                    };
                    law.iter()
                        .map(|&(k, p)| {
                            (0..parts).map(|i| p * f(point(k, i))).sum::<f64>() / f64::from(parts)
                        })
                        .sum()
                };
                let errors = mechanism.errors().expect("additive");
                let close = |bounds: Bounds, truth: f64, far: f64| {
                    (bounds.estimate() - truth).abs() <= far && bounds.width() <= 1e-13
                };
                assert!(
                    close(errors.mean_absolute, expect(&|x| x), 1e-12),
                    "{weights:?} {errors:?}"
                );
                assert!(
                    close(errors.root_mean_square, expect(&|x| x * x).sqrt(), 1e-5),
                    "{weights:?} {errors:?}"
                );
                let surprise: f64 = law
                    .iter()
                    .map(|&(k, p)| -p * (p / if k == 0.0 { 1.0 } else { 2.0 }).ln())
                    .sum();
                assert!(
                    close(errors.entropy, surprise + if real { h.ln() } else { 0.0 }, 1e-12),
                    "{weights:?}"
                );
                for t in [0.0, 0.24, 0.9, 1.0, 3.3, 50.0] {
                    let useful = mechanism.usefulness(t).expect("additive");
                    let direct = expect(&|x| f64::from(u8::from(x <= t)));
                    assert!(
                        (useful.estimate() - direct).abs()
                            < 0.011 * f64::from(u8::from(real)) + 1e-12,
                        "{weights:?} {t} {useful:?} {direct}"
                    );
                }
                let t = errors.quantile_95;
                assert!(
                    mechanism.usefulness(t.upper()).expect("additive").upper() >= 0.95,
                    "{weights:?} {t:?}"
                );
                let below = if real { t.lower() * (1.0 - 1e-9) } else { t.lower() - 1.0 };
                assert!(
                    mechanism.usefulness(below).expect("additive").lower() <= 0.95,
                    "{weights:?} {t:?}"
                );
            }
        }
        let mechanism = integers(&[1], 1);
        assert_eq!(
            (mechanism.usefulness(f64::NAN), mechanism.usefulness(-1.0)),
            (None, Some(Bounds::ZERO))
        );
    }

    #[test]
    fn integers_stay_integers_and_reals_fill_the_line() {
        let mut random = SeededRandom::new(8);
        let releaser = integers(&[5, 3, 1], 1).releaser().expect("a sampler");
        let released: Vec<f64> =
            (0..500).map(|_| releaser.release(7.0, &mut random).expect("seeded")).collect();
        assert!(
            released.iter().all(|x| x.fract() == 0.0 && (x - 7.0).abs() <= 2.0)
                && released.contains(&9.0)
        );
        assert!(releaser.accepts(3.0) && !releaser.accepts(0.5) && !releaser.accepts(f64::NAN));
        let mechanism = reals(&[5, 3, 1], 2, 0.3);
        let releaser = mechanism.releaser().expect("a sampler");
        let released: Vec<f64> =
            (0..500).map(|_| releaser.release(7.0, &mut random).expect("seeded")).collect();
        assert!(released.iter().all(|x| (x - 7.0).abs() <= 2.5 * 0.15 + 1e-9));
        assert!(released.iter().filter(|x| (*x - 7.0).abs() > 1.5 * 0.15).count() > 20);
    }

    #[test]
    fn the_event_holds_the_whole_law() {
        let mechanism = reals(&[60, 41, 40, 33], 4, 2.0);
        let Event::Tabulated { weights, sensitivity_steps, spacing } = mechanism.event() else {
            unreachable!("a table's event")
        };
        assert_eq!(Table::from_parts(&weights).as_ref(), Ok(mechanism.table()));
        assert_eq!((sensitivity_steps, spacing), (4, 0.5));
    }

    #[test]
    fn what_cannot_be_guaranteed_is_refused() {
        let table = || Table::new(vec![8, 3, 1]).expect("valid");
        let sensitivity = Sensitivity::scalar(1.0, AddRemove).expect("valid");
        let (epsilon, delta) = guarantee(1.2, 0.06);
        let refused = |result: Result<Tabulated, MechanismError>, word: &str| {
            assert!(
                result.as_ref().is_err_and(|error| error.to_string().contains(word)),
                "{word}: {result:?}"
            );
        };
        refused(Tabulated::for_integers(1, table(), epsilon, delta), "delta is up to 6.25e-2");
        refused(Tabulated::for_integers(0, table(), epsilon, delta), "sensitivity");
        refused(Tabulated::for_integers(u64::MAX, table(), epsilon, delta), "sensitivity");
        for steps in [0, 3, 1 << 21, u64::MAX] {
            refused(Tabulated::for_reals(&sensitivity, steps, table(), epsilon, delta), "steps");
        }
        let vector = Sensitivity::l2_bound(1.0, AddRemove).expect("valid");
        refused(Tabulated::for_reals(&vector, 2, table(), epsilon, delta), "one number");
        let long = Table::new(vec![(1 << 90) + 1]).expect("valid");
        refused(Tabulated::for_integers(1, long, epsilon, delta), "64 significant bits");
    }
}
