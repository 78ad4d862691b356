//! Colours that every kind of colour vision tells apart.

/// The colours of Okabe and Ito with dashes that tell them apart in print too. Yellow is left out: it does not show on white.
pub(crate) const STROKES: [Stroke; 8] = [
    Stroke { colour: "#0072B2", dashes: "" },
    Stroke { colour: "#D55E00", dashes: "8 3" },
    Stroke { colour: "#009E73", dashes: "2 2.5" },
    Stroke { colour: "#CC79A7", dashes: "10 3 2 3" },
    Stroke { colour: "#E69F00", dashes: "14 4" },
    Stroke { colour: "#56B4E9", dashes: "5 2" },
    Stroke { colour: "#000000", dashes: "" },
    Stroke { colour: "#888888", dashes: "12 3 2 3 2 3" },
];

/// What helps to read a figure without being data.
pub(crate) const REFERENCE: Stroke = Stroke { colour: "#777777", dashes: "4 4" };

/// The look of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stroke {
    pub(crate) colour: &'static str,
    pub(crate) dashes: &'static str,
}

/// The stroke of the series with this place in the legend.
pub(crate) fn stroke(place: usize) -> Stroke {
    STROKES[place % STROKES.len()]
}

/// Anchors of viridis (Smith and van der Walt 2015), whose lightness grows evenly: it reads in grey and with every colour vision.
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
    let channel = |i: usize| (VIRIDIS[before][i] + part * (VIRIDIS[before + 1][i] - VIRIDIS[before][i])).round() as u8;
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
        assert!((0..20).all(|i| lightness(f64::from(i) / 20.0) < lightness(f64::from(i + 1) / 20.0)));
    }
}
