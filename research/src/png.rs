//! Pictures as pixels.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};
use std::sync::Arc;

/// Larger pictures are refused: 400 MB of pixels.
const MOST_PIXELS: f32 = 1e8;

/// Why a picture could not be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PngError {
    /// The text is not SVG.
    #[error("the figure is not valid SVG: {0}")]
    Svg(String),
    /// The picture has no area, or more than can be stored.
    #[error("a picture of {width} by {height} pixels cannot be stored")]
    Size {
        /// Pixels across.
        width: u32,
        /// Pixels down.
        height: u32,
    },
    /// The pixels could not be encoded.
    #[error("the picture could not be encoded: {0}")]
    Encoding(String),
}

/// The PNG of an SVG, `scale` pixels for each of its units.
///
/// Text is set in Ubuntu Light, which is compiled in: the pixels do not depend on the fonts of the
/// machine, and a machine without fonts draws text too.
///
/// # Errors
/// If the SVG is not valid or the picture too large.
pub fn png(svg: &str, scale: f32) -> Result<Vec<u8>, PngError> {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(epaint_default_fonts::UBUNTU_LIGHT.to_vec());
    let family =
        fonts.faces().next().and_then(|face| face.families.first()).map(|family| family.0.clone());
    let family = family.unwrap_or_default();
    fonts.set_sans_serif_family(family.clone());
    let options = Options { fontdb: Arc::new(fonts), font_family: family, ..Options::default() };
    let tree = Tree::from_str(svg, &options).map_err(|error| PngError::Svg(error.to_string()))?;
    let (across, down) =
        ((tree.size().width() * scale).ceil(), (tree.size().height() * scale).ceil());
    let (width, height) = (across as u32, down as u32);
    let pixels = if across * down <= MOST_PIXELS { Pixmap::new(width, height) } else { None };
    let mut pixels = pixels.ok_or(PngError::Size { width, height })?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| PngError::Encoding(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dark_pixels(svg: &str) -> usize {
        let encoded = png(svg, 1.0).expect("a picture");
        let pixels = Pixmap::decode_png(&encoded).expect("readable");
        pixels.pixels().iter().filter(|pixel| pixel.alpha() > 0 && pixel.red() < 128).count()
    }

    #[test]
    fn text_is_drawn_whatever_the_machine_has_installed() {
        let frame = |inside: &str| {
            format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"200\" height=\"40\" \
                 font-family=\"Ubuntu, Helvetica, sans-serif\">\
                 <rect width=\"200\" height=\"40\" fill=\"#fff\"/>{inside}</svg>"
            )
        };
        let empty = dark_pixels(&frame(""));
        assert_eq!(empty, 0);
        for content in ["legend", "\u{3b5} = \u{3b4} \u{2212} \u{3c3} \u{2265} \u{b7}"] {
            let text = frame(&format!("<text x=\"5\" y=\"30\" font-size=\"24\">{content}</text>"));
            assert!(dark_pixels(&text) > 60, "{content}");
        }
    }

    #[test]
    fn what_is_no_picture_is_refused() {
        assert!(matches!(png("no svg", 1.0), Err(PngError::Svg(_))));
        let huge = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100000\" height=\"100000\"/>";
        assert!(matches!(png(huge, 1000.0), Err(PngError::Size { .. })));
    }
}
