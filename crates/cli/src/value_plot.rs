//! Released and denoised values in one picture.

use reticent_figures::{Axis, Figure, Panel, Series};

/// Longer vectors are drawn as the mean and the range of each of so many stretches.
const STRETCHES: usize = 300;

/// The picture of a vector before and after denoising.
pub fn svg(title: &str, before: &[f64], after: &[f64]) -> String {
    let length = before.len().div_ceil(STRETCHES).max(1);
    let horizontal = match length {
        1 => format!("index, from 1 to {}", before.len()),
        _ => format!("index, from 1 to {}: mean and range of {length} at a time", before.len()),
    };
    let panel = Panel {
        title: String::new(),
        horizontal: Axis::linear(horizontal),
        vertical: Axis::linear("value (units of the answer)"),
        series: vec![series("released", before, length), series("denoised", after, length)],
    };
    Figure { title: title.into(), columns: 1, panels: vec![panel] }.svg()
}

fn series(name: &str, values: &[f64], length: usize) -> Series {
    let at = |stretch: usize, within: f64| (stretch * length) as f64 + within;
    if length == 1 {
        return Series::markers(
            name,
            values.iter().enumerate().map(|(i, value)| (at(i, 1.0), *value)).collect(),
        );
    }
    let range = |(index, stretch): (usize, &[f64])| {
        let low = stretch.iter().copied().fold(f64::INFINITY, f64::min);
        let high = stretch.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mean = stretch.iter().sum::<f64>() / stretch.len() as f64;
        (at(index, (stretch.len() as f64 + 1.0) / 2.0), low, mean, high)
    };
    Series::ranges(name, &values.chunks(length).enumerate().map(range).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_drawn_and_long_vectors_by_stretches() {
        for (before, after) in [
            (vec![1.0], vec![1.0]),
            (vec![0.0; 5], vec![0.0; 5]),
            ((0..5000).map(f64::from).collect(), vec![1e9; 5000]),
        ] {
            let picture = svg("a < b", &before, &after);
            assert!(
                !picture.contains("NaN")
                    && !picture.contains("inf")
                    && picture.contains("a &lt; b")
            );
            // One marker in the legend: circles are those of the released values, squares of the
            // denoised ones.
            assert_eq!(picture.matches("<circle").count(), before.len().min(295) + 1);
        }
        let Series { points, .. } = series("s", &(0..5000).map(f64::from).collect::<Vec<_>>(), 17);
        assert_eq!((points.len(), points[0]), (295, (9.0, 8.0)));
    }
}
