//! Colours that every kind of colour vision tells apart.

/// The colours of Okabe and Ito; yellow, which does not show on white, is replaced by brown.
const HUES: [&str; 9] = [
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#888888",
    "#8C510A",
];

/// Dashes that tell lines apart in print too.
const DASHES: [&str; 6] = ["", "8 3", "2 2.5", "10 3 2 3", "14 4", "5 2"];

/// What helps to read a figure without being data.
const HELP: &str = "#777777";
/// What is shown and hardly matters.
const FAINT: &str = "#bbbbbb";

/// The look of a series: its colour, its dashes, its marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ink {
    pub(crate) colour: String,
    pub(crate) dashes: &'static str,
    /// One of four shapes.
    pub(crate) marker: usize,
    /// The width of a line, in tenths.
    pub(crate) tenths: u32,
}

impl Ink {
    /// A colour of the palette, from 0 to 8, and a variant of it by dashes and marker. (A larger
    /// number begins again.)
    pub fn new(hue: usize, variant: usize) -> Self {
        Ink {
            colour: HUES[hue % HUES.len()].into(),
            dashes: DASHES[variant % DASHES.len()],
            marker: variant % 4,
            tenths: 20,
        }
    }

    /// A value of a parameter that has an order, from 0 to 1, dark to light.
    pub fn shade(share: f64) -> Self {
        let step = (share.clamp(0.0, 1.0) * 3.99) as usize;
        // The lightest shades do not show on white.
        Ink { colour: shade(0.85 * share), ..Ink::new(0, step) }
    }

    /// The look itself, then the same colour with other dashes and markers.
    pub(crate) fn variants(&self) -> impl Iterator<Item = Ink> + '_ {
        let other =
            |variant: usize| Ink { dashes: DASHES[variant], marker: variant % 4, ..self.clone() };
        std::iter::once(self.clone()).chain((0..DASHES.len()).map(other))
    }

    /// The look of the series with this index in the legend, if it has none of its own.
    pub(crate) fn in_order(index: usize) -> Self {
        Ink::new(index % 8, index)
    }

    pub(crate) fn help() -> Self {
        Ink { colour: HELP.into(), dashes: "4 4", marker: 0, tenths: 12 }
    }

    pub(crate) fn faint() -> Self {
        Ink { colour: FAINT.into(), dashes: "", marker: 0, tenths: 14 }
    }
}

/// Anchors of viridis (Smith and van der Walt 2015), whose lightness grows evenly: it reads in grey
/// and with every colour vision.
const VIRIDIS: [[f64; 3]; 9] = [
    [68.0, 1.0, 84.0],
    [71.0, 44.0, 122.0],
    [59.0, 81.0, 139.0],
    [44.0, 113.0, 142.0],
    [33.0, 144.0, 141.0],
    [39.0, 173.0, 129.0],
    [92.0, 200.0, 99.0],
    [170.0, 220.0, 50.0],
    [253.0, 231.0, 37.0],
];

/// The colour of a share from 0 to 1, dark to light; what lies outside gets the nearest end.
pub(crate) fn shade(share: f64) -> String {
    let last = VIRIDIS.len() - 1;
    let place = share.clamp(0.0, 1.0) * last as f64;
    let before = (place.floor() as usize).min(last - 1);
    let part = place - before as f64;
    let channel = |i: usize| {
        (VIRIDIS[before][i] + part * (VIRIDIS[before + 1][i] - VIRIDIS[before][i])).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", channel(0), channel(1), channel(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_run_from_dark_to_light() {
        assert_eq!((shade(0.0), shade(1.0)), ("#440154".to_string(), "#fde725".to_string()));
        assert_eq!((shade(-3.0), shade(7.0)), (shade(0.0), shade(1.0)));
        let lightness = |share: f64| -> u32 {
            let text = shade(share);
            let channel = |i: usize| u32::from_str_radix(&text[i..i + 2], 16).expect("two digits");
            2126 * channel(1) + 7152 * channel(3) + 722 * channel(5)
        };
        assert!(
            (0..20).all(|i| lightness(f64::from(i) / 20.0) < lightness(f64::from(i + 1) / 20.0))
        );
    }
}
