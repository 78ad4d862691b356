//! The least value of a function of one variable, searched for without a proof.

/// Where a function is least on `[low, high]`: the best of equally spaced probes, then a golden
/// section between its neighbours until they are within `tolerance`. Exact for functions with one
/// valley between neighbouring probes; a result that is not the least is merely not the best.
pub(crate) fn least_by_golden_section(
    mut f: impl FnMut(f64) -> f64,
    low: f64,
    high: f64,
    probes: u32,
    tolerance: f64,
) -> f64 {
    let point = |i: u32| low + (high - low) * f64::from(i) / f64::from(probes - 1);
    let values: Vec<f64> = (0..probes).map(|i| f(point(i))).collect();
    let best =
        (0..probes).min_by(|&a, &b| values[a as usize].total_cmp(&values[b as usize])).unwrap_or(0);
    let (mut a, mut b) = (point(best.saturating_sub(1)), point((best + 1).min(probes - 1)));
    // The end of the range may be the least; a golden section stays inside.
    let (mut least_at, mut least) = (point(best), values[best as usize]);
    let share = 0.5 * (5f64.sqrt() - 1.0);
    let (mut c, mut d) = (b - share * (b - a), a + share * (b - a));
    let (mut at_c, mut at_d) = (f(c), f(d));
    while b - a > tolerance {
        for (x, value) in [(c, at_c), (d, at_d)] {
            if value < least {
                (least_at, least) = (x, value);
            }
        }
        if at_c <= at_d {
            (b, d, at_d) = (d, c, at_c);
            c = b - share * (b - a);
            at_c = f(c);
        } else {
            (a, c, at_c) = (c, d, at_d);
            d = a + share * (b - a);
            at_d = f(d);
        }
    }
    for (x, value) in [(c, at_c), (d, at_d)] {
        if value < least {
            (least_at, least) = (x, value);
        }
    }
    least_at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valleys_and_ends_are_found() {
        assert!(
            (least_by_golden_section(|x| (x - 0.3) * (x - 0.3), -1.0, 2.0, 5, 1e-9) - 0.3).abs()
                < 1e-7
        );
        assert_eq!(least_by_golden_section(|x| x, 1.0, 2.0, 4, 1e-6), 1.0);
        assert_eq!(least_by_golden_section(|x| -x, 1.0, 2.0, 4, 1e-6), 2.0);
        // The right valley of two, if a probe lies in it.
        let two = |x: f64| ((x - 1.0).powi(2)).min((x - 3.0).powi(2) - 0.5);
        assert!((least_by_golden_section(two, 0.0, 4.0, 9, 1e-9) - 3.0).abs() < 1e-7);
    }
}
