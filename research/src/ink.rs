//! One look for one mechanism in all figures.

use reticent_figures::{Ink, Series};

/// The look of a mechanism: a colour for its noise, a variant of it for its calibration or for what
/// is done with the release. Names that belong together have one row.
const LOOKS: [(&str, usize, usize); 27] = [
    ("Laplace", 0, 0),
    ("Laplace, projected to the total", 0, 1),
    ("classical Gaussian", 1, 1),
    ("classical 2014", 1, 1),
    ("classical 2006", 1, 2),
    ("analytic Gaussian", 2, 2),
    ("Gaussian, exact", 2, 2),
    ("Gaussian, Eqn 17", 3, 3),
    ("Gaussian, Eqn 18", 1, 1),
    ("Gaussian", 2, 2),
    ("closed form 1", 3, 1),
    ("closed form 2", 3, 2),
    ("Vinterbo", 3, 4),
    ("order 3", 4, 0),
    ("R2DP, gamma", 5, 1),
    ("R2DP, uniform", 5, 2),
    ("R2DP, truncated Gaussian", 5, 3),
    ("R2DP, combined", 5, 4),
    ("R2DP, two points", 5, 5),
    ("R2DP, best possible", 5, 0),
    ("staircase", 6, 0),
    ("optimal noise", 6, 1),
    ("randomized response", 7, 1),
    ("James-Stein", 8, 1),
    ("soft threshold", 8, 2),
    ("auto", 8, 3),
    ("nothing released", 7, 2),
];

/// The look of the mechanism whose name begins the name of a series; nothing if it is not one.
fn look(name: &str) -> Option<Ink> {
    LOOKS
        .iter()
        .filter(|(start, _, _)| name.starts_with(start))
        .max_by_key(|(start, _, _)| start.len())
        .map(|(_, hue, variant)| Ink::new(*hue, *variant))
}

/// The series of a mechanism, in its colour.
pub(crate) fn inked(series: Series) -> Series {
    match look(&series.name) {
        Some(ink) => series.with_ink(ink),
        None => series,
    }
}

/// The series of one of `count` values of a parameter that has an order.
pub(crate) fn shaded(series: Series, index: usize, count: usize) -> Series {
    let share = index as f64 / count.saturating_sub(1).max(1) as f64;
    series.with_ink(Ink::shade(share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mechanism_has_one_look_and_no_two_share_it() {
        assert_eq!(look("Gaussian, Eqn 17 (probabilistic)"), Some(Ink::new(3, 3)));
        assert_eq!(look("Gaussian, \u{3b4} = 1e-6"), look("analytic Gaussian"));
        assert_eq!(look("Gaussian, Eqn 18 (classical)"), look("classical Gaussian"));
        assert_eq!(look("\u{3b4} = 0.1"), None);
        let same = [
            ("classical Gaussian", "classical 2014"),
            ("classical 2014", "Gaussian, Eqn 18"),
            ("analytic Gaussian", "Gaussian, exact"),
            ("Gaussian, exact", "Gaussian"),
        ];
        let group = |name: &'static str| {
            let mut first = name;
            while let Some((to, _)) = same.iter().find(|(_, of)| *of == first) {
                first = to;
            }
            first
        };
        for (i, a) in LOOKS.iter().enumerate() {
            for b in &LOOKS[i + 1..] {
                let alike = (a.1, a.2) == (b.1, b.2);
                assert_eq!(alike, group(a.0) == group(b.0), "{a:?} {b:?}");
            }
        }
    }
}
