//! Axes: where values lie, and which of them are labelled.

use crate::number::{label, power};

/// How values are laid out along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AxisScale {
    /// Equal differences are equally far apart.
    Linear,
    /// Equal ratios are equally far apart. Values of zero or less are not drawn.
    Logarithmic,
}

/// What an axis shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What is measured, with its unit.
    pub label: String,
    /// How values are laid out.
    pub scale: AxisScale,
    /// The values at its ends; those of the data if not given.
    pub range: Option<(f64, f64)>,
    /// Whether zero is on it, wherever the data are.
    pub(crate) zero: bool,
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: impl Into<String>) -> Self {
        Axis { label: label.into(), scale: AxisScale::Linear, range: None, zero: false }
    }

    /// A logarithmic axis.
    pub fn logarithmic(label: impl Into<String>) -> Self {
        Axis { label: label.into(), scale: AxisScale::Logarithmic, range: None, zero: false }
    }

    /// The same axis from one value to another.
    pub fn from_to(self, low: f64, high: f64) -> Self {
        Axis { range: Some((low, high)), ..self }
    }

    /// The same linear axis with zero on it: a length from there can be compared with another.
    pub fn with_zero(self) -> Self {
        Axis { zero: true, ..self }
    }

    /// The axis around the values that are drawn along it.
    pub(crate) fn around(&self, values: impl Iterator<Item = f64>) -> Ruler {
        let (low, high) = self.range.unwrap_or_else(|| {
            let zero = (self.zero && self.scale == AxisScale::Linear).then_some(0.0);
            let drawn = values.chain(zero).filter(|value| {
                value.is_finite() && (self.scale == AxisScale::Linear || *value > 0.0)
            });
            drawn.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            })
        });
        match self.scale {
            _ if low > high => Ruler { scale: AxisScale::Linear, low: 0.0, high: 1.0 },
            AxisScale::Linear if low == high => {
                Ruler { scale: AxisScale::Linear, low: low - 0.5, high: high + 0.5 }
            }
            AxisScale::Linear if self.range.is_some() => {
                Ruler { scale: AxisScale::Linear, low, high }
            }
            AxisScale::Linear => {
                // A little room, but a quantity that starts at zero starts at the axis.
                let room = 0.04 * (high - low);
                let floor = if low >= 0.0 && low < 0.25 * high { 0.0 } else { low - room };
                Ruler { scale: AxisScale::Linear, low: floor, high: high + room }
            }
            AxisScale::Logarithmic if low == high => {
                Ruler { scale: self.scale, low: low / 2.0, high: high * 2.0 }
            }
            AxisScale::Logarithmic if self.range.is_some() => {
                Ruler { scale: self.scale, low, high }
            }
            AxisScale::Logarithmic => {
                let room = (high / low).powf(0.03);
                Ruler { scale: self.scale, low: low / room, high: high * room }
            }
        }
    }
}

/// An axis with its ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ruler {
    scale: AxisScale,
    low: f64,
    high: f64,
}

impl Ruler {
    /// Where a value lies, 0 at the low end and 1 at the high end; `None` if it cannot be drawn.
    pub(crate) fn place(&self, value: f64) -> Option<f64> {
        let share = match self.scale {
            AxisScale::Linear => (value - self.low) / (self.high - self.low),
            AxisScale::Logarithmic if value > 0.0 => {
                (value / self.low).ln() / (self.high / self.low).ln()
            }
            AxisScale::Logarithmic => return None,
        };
        share.is_finite().then_some(share)
    }

    /// The values that get a label, with it.
    pub(crate) fn ticks(&self) -> Vec<(f64, String)> {
        let inside = |value: &f64| {
            self.place(*value).is_some_and(|share| (-1e-9..=1.0 + 1e-9).contains(&share))
        };
        let values: Vec<f64> = match self.scale {
            AxisScale::Linear => {
                let step = round_step((self.high - self.low) / 6.0);
                let first = (self.low / step - 1e-9).ceil();
                (0..20).map(|i| (first + f64::from(i)) * step).collect()
            }
            AxisScale::Logarithmic => self.round_values(),
        };
        let values: Vec<f64> = values.into_iter().filter(inside).collect();
        let labels = self.labels(&values);
        values.into_iter().zip(labels).collect()
    }

    /// The labels of an axis have one format: plain numbers, on a linear axis with as many decimals
    /// each, or else powers of ten.
    fn labels(&self, values: &[f64]) -> Vec<String> {
        let plain = |value: &f64| *value == 0.0 || (1e-3..1e5).contains(&value.abs());
        match self.scale {
            _ if !values.iter().all(plain) => values.iter().map(|value| power(*value)).collect(),
            AxisScale::Linear => {
                let decimals = |value: &f64| label(*value).split('.').nth(1).map_or(0, str::len);
                let most = values.iter().map(decimals).max().unwrap_or(0);
                let text = |value: &f64| format!("{:.most$}", value + 0.0).replace('-', "\u{2212}");
                values.iter().map(text).collect()
            }
            AxisScale::Logarithmic => values.iter().map(|value| label(*value)).collect(),
        }
    }

    /// The values of a logarithmic axis that get a label: powers of ten, not more than seven of
    /// them, or as many of their multiples as are needed for three.
    fn round_values(&self) -> Vec<f64> {
        const FACTORS: [&[f64]; 4] = [
            &[1.0],
            &[1.0, 2.0, 5.0],
            &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0],
            &[
                1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0,
                7.0, 8.0, 9.0,
            ],
        ];
        let (low, high) = (self.low.log10(), self.high.log10());
        let every = (((high - low) / 6.0).ceil() as i32).max(1);
        let within = |factors: &[f64]| -> Vec<f64> {
            let decades = (low.floor() as i32..=high.ceil() as i32)
                .filter(|exponent| exponent.rem_euclid(every) == 0);
            decades
                .flat_map(|exponent| {
                    factors.iter().map(move |factor| factor * 10f64.powi(exponent))
                })
                .filter(|value| (self.low..=self.high).contains(value))
                .collect()
        };
        let enough = FACTORS.iter().map(|factors| within(factors)).find(|values| values.len() >= 3);
        enough.unwrap_or_else(|| vec![self.low, self.high])
    }
}

/// 1, 2, 2.5 or 5 times a power of ten, and at least `step`.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|&round| round >= step * 0.999)
        .unwrap_or(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let ruler = Axis::linear("x").around([0.0, 0.93].into_iter());
        let texts: Vec<_> = ruler.ticks().into_iter().map(|tick| tick.1).collect();
        assert_eq!(texts, ["0.0", "0.2", "0.4", "0.6", "0.8"]);
        let wide = Axis::linear("x").around([10_700.0, 22_900.0].into_iter());
        let texts: Vec<_> = wide.ticks().into_iter().map(|tick| tick.1).collect();
        assert_eq!(texts, ["12500", "15000", "17500", "20000", "22500"]);
        let ruler = Axis::logarithmic("x").around([1e-3, 10.0].into_iter());
        let texts: Vec<_> = ruler.ticks().into_iter().map(|tick| tick.1).collect();
        assert_eq!(texts, ["0.001", "0.01", "0.1", "1", "10"]);
        assert_eq!(ruler.place(-1.0), None);
        for (low, high) in
            [(0.98, 2.2), (1.0, 1.6), (1.4, 16.0), (0.95, 4.8), (1e-13, 0.5), (100.0, 10_000.0)]
        {
            let count =
                Axis::logarithmic("x").from_to(low, high).around(std::iter::empty()).ticks().len();
            assert!((3..=9).contains(&count), "{low} {high} {count}");
        }
        assert!((ruler.place(0.1).expect("positive") - 0.5).abs() < 1e-12);
    }

    #[test]
    fn an_axis_has_one_number_format() {
        let texts = |axis: Axis, low: f64, high: f64| -> Vec<String> {
            axis.from_to(low, high)
                .around(std::iter::empty())
                .ticks()
                .into_iter()
                .map(|tick| tick.1)
                .collect()
        };
        assert_eq!(
            texts(Axis::linear("x"), -1.0, 1.0),
            ["\u{2212}1.0", "\u{2212}0.5", "0.0", "0.5", "1.0"]
        );
        // A decade beyond the plain range turns all of them into powers.
        for text in texts(Axis::logarithmic("x"), 1e-4, 10.0) {
            assert!(text.starts_with("10<tspan"), "{text}");
        }
        let large = texts(Axis::linear("x"), 0.0, 3e5);
        assert!(large[0] == "0" && large[1..].iter().all(|text| text.contains("10<tspan")));
    }

    #[test]
    fn zero_is_on_an_axis_that_asks_for_it() {
        let ruler = Axis::linear("x").with_zero().around([8.0, 9.0].into_iter());
        assert_eq!(ruler.low, 0.0);
        assert!(Axis::linear("x").around([8.0, 9.0].into_iter()).low > 7.0);
        let log = Axis::logarithmic("x").with_zero().around([8.0, 9.0].into_iter());
        assert!(log.low > 7.0);
    }

    #[test]
    fn odd_data_have_an_axis_too() {
        for values in [vec![], vec![1.0], vec![f64::NAN, f64::INFINITY], vec![-1.0]] {
            for axis in [Axis::linear("x"), Axis::logarithmic("x")] {
                let ruler = axis.around(values.iter().copied());
                assert!(ruler.low < ruler.high && ruler.low.is_finite(), "{values:?} {ruler:?}");
                assert!(ruler.ticks().len() < 21);
            }
        }
    }
}
