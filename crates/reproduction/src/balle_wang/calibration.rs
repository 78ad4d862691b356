//! Figure 1, left: the standard deviation of the analytic Gaussian mechanism beside the classical one.

use crate::count_query::{profile, sigma};
use crate::format::{long, short};
use crate::{Finding, Outcome, Picture, ReproductionError, Setting, Table, Verdict};
use reticent_figures::{Axis, Figure, Panel, Series};
use reticent_mechanisms::GaussianMethod::{Analytic, Classical2014};

pub(crate) const NAME: &str = "balle-wang-calibration";

const DELTAS: [f64; 4] = [1e-3, 1e-5, 1e-7, 1e-9];

pub(crate) fn run(_: &Setting) -> Result<Outcome, ReproductionError> {
    let columns = ["epsilon", "delta", "classical sigma", "analytic sigma", "gain in variance"];
    let mut table = Table::new("balle-wang-calibration", "Standard deviations for sensitivity 1", &columns);
    let mut rows = Vec::new();
    for delta in DELTAS {
        for step in 0..=80 {
            let epsilon = 10f64.powf(-4.0 + 0.05 * f64::from(step));
            let (classical, analytic) = (sigma(Classical2014, epsilon, delta)?, sigma(Analytic, epsilon, delta)?);
            table.push([epsilon, delta, classical, analytic, (classical / analytic).powi(2)].map(long));
            rows.push((epsilon, delta, classical, analytic));
        }
    }
    let own = |delta: f64| rows.iter().filter(move |row| row.1 == delta);
    let mut absolute = Vec::new();
    for delta in [1e-3, 1e-7] {
        let name = |what: &str| format!("{what}, \u{3b4} = {delta:e}");
        absolute.push(Series::line(name("classical"), own(delta).map(|row| (row.0, row.2)).collect()));
        absolute.push(Series::line(name("analytic"), own(delta).map(|row| (row.0, row.3)).collect()));
    }
    let gain = |delta: f64| {
        let points = own(delta).filter(|row| row.0 >= 0.0099).map(|row| (row.0, (row.2 / row.3).powi(2))).collect();
        Series::line(format!("gain, \u{3b4} = {delta:e}"), points)
    };
    let figure = Figure {
        title: "Analytic and classical Gaussian mechanism (Balle and Wang, Figure 1, left)".into(),
        columns: 2,
        panels: vec![
            Panel {
                title: "Standard deviation as \u{3b5} goes to 0".into(),
                horizontal: Axis::logarithmic("privacy loss \u{3b5}"),
                vertical: Axis::logarithmic("\u{3c3} (sensitivities)"),
                series: absolute,
            },
            Panel {
                title: "Gain in variance".into(),
                horizontal: Axis::logarithmic("privacy loss \u{3b5}"),
                vertical: Axis::logarithmic("classical \u{3c3}\u{b2} : analytic \u{3c3}\u{b2}"),
                series: DELTAS.into_iter().map(gain).collect(),
            },
        ],
    };
    Ok(Outcome {
        findings: findings()?,
        pictures: vec![("balle-wang-figure-1-left", Picture::Figure(figure))],
        tables: vec![table],
    })
}

fn findings() -> Result<Vec<Finding>, ReproductionError> {
    let gain = |epsilon: f64, delta: f64| -> Result<f64, ReproductionError> {
        Ok((sigma(Classical2014, epsilon, delta)? / sigma(Analytic, epsilon, delta)?).powi(2))
    };
    let tiny = (gain(1e-4, 1e-3)?).sqrt();
    let at_one = [gain(1.0, 1e-3)?, gain(1.0, 1e-7)?, gain(1.0, 1e-9)?, gain(1.0, 1e-15)?];
    // Theorem 4 as printed: delta < 1/2 - e^(-3 epsilon)/sqrt(4 pi epsilon) would force sigma >= 1/sqrt(2 epsilon).
    let (printed_bound, forced) = (0.5 - (-3f64).exp() / (4.0 * std::f64::consts::PI).sqrt(), 0.5f64.sqrt());
    let counterexample = sigma(Analytic, 1.0, 0.4)?;
    let keeps = profile(counterexample)?.delta(1.0)?.upper() <= 0.4;
    let at_zero = [sigma(Analytic, 0.0, 1e-3)?, 1.0 / (2.0 * 1e-3)];
    Ok(vec![
        Finding::computed(
            "As epsilon goes to 0 the analytic mechanism is better by orders of magnitude.",
            format!("At epsilon = 1e-4, delta = 1e-3 the classical sigma is {} times the analytic one.", short(tiny)),
            Verdict::Holds,
            tiny > 50.0,
        ),
        Finding::computed(
            "Near epsilon = 1 the variance falls by a factor of 1.4 or more, by \"at least a third\".",
            format!(
                "It depends on delta: at epsilon = 1 the factor is {} at delta = 1e-3, {} at 1e-7, {} at 1e-9 and {} at 1e-15.",
                short(at_one[0]),
                short(at_one[1]),
                short(at_one[2]),
                short(at_one[3])
            ),
            Verdict::Corrected("B4"),
            at_one[0] > 1.5 && at_one[2] < 1.4 && at_one[3] < 1.25,
        ),
        Finding::computed(
            "The gain is higher for larger delta.",
            "So it is at epsilon = 1.".into(),
            Verdict::Holds,
            at_one.windows(2).all(|pair| pair[0] > pair[1]),
        ),
        Finding::computed(
            "Theorem 4: for delta < 1/2 - e^(-3 epsilon)/sqrt(4 pi epsilon), sigma is at least 1/sqrt(2 epsilon).",
            format!(
                "False: at epsilon = 1, delta = 0.4 (below {}) sigma = {} is enough, and {} is not needed.",
                short(printed_bound),
                short(counterexample),
                short(forced)
            ),
            Verdict::Corrected("B1"),
            keeps && 0.4 < printed_bound && counterexample < 0.6,
        ),
        Finding::computed(
            "Theorem 2: sigma = 1/(2 delta) gives (0, delta)-privacy.",
            format!(
                "Enough, and loose: at delta = 1e-3 the least is {} and not {}.",
                short(at_zero[0]),
                short(at_zero[1])
            ),
            Verdict::Holds,
            at_zero[0] < 0.8 * at_zero[1],
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_claims_of_figure_1_left() {
        crate::finding::assert_all_shown(&findings().expect("computed"));
    }
}
