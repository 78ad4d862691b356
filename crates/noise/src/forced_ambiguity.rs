//! What happens where bounds overlap: generators that land on a boundary on purpose, and MPFR to
//! say what is right.
//!
//! In production a comparison is left open by `f64` about once in `2^50` slow draws. Here every one
//! is.

use crate::bernoulli::{Bernoulli, Probability};
use crate::noise::Noise;
use crate::random_scale::GammaScale;
use crate::randomness::{Provenance, RandomBits, RandomnessError};
use crate::sampler::Sampler;
use crate::strips::{COLUMN_BITS, COLUMNS, HEIGHT_BITS, POSITION_BITS};
use crate::{Gaussian, GeneralizedGaussian, Laplace, Lattice, RandomScaleLaplace};
use reticent_numerics::Enclosure;
use rug::float::Round;
use rug::{Float, Integer};
use std::collections::VecDeque;

const PRECISION: u32 = 1200;

/// Words written down beforehand; once they are used up, an error, so that a test sees how many
/// were drawn.
struct Script(VecDeque<u64>);

impl RandomBits for Script {
    fn next_u64(&mut self) -> Result<u64, RandomnessError> {
        self.0.pop_front().ok_or(RandomnessError::Closed)
    }

    fn provenance(&self) -> Provenance {
        Provenance::Seeded
    }
}

/// Binary digits of a number in `[0, 1)`, taken in turns.
struct Digits {
    number: Float,
}

impl Digits {
    fn of(number: Float) -> Self {
        assert!(!number.is_sign_negative() && number < 1, "{number}");
        Digits { number }
    }

    fn take(&mut self, count: u32) -> u64 {
        self.number <<= count;
        let (integer, _) = self.number.to_integer_round(Round::Down).expect("finite");
        self.number -= &integer;
        integer.to_u64().expect("fewer than 64 digits")
    }
}

fn float(value: f64) -> Float {
    Float::with_val(PRECISION, value)
}

fn whole(value: u64) -> Float {
    Float::with_val(PRECISION, value)
}

/// The words of a point in a column of the first level: a position and a height whose digits go on
/// as given, in the order in which the sampler asks for them.
fn script_of_point(column: usize, mut height: Digits, mut position: Digits) -> Script {
    let mut words = VecDeque::new();
    let first = column as u64
        | height.take(HEIGHT_BITS) << (COLUMN_BITS + 1)
        | position.take(POSITION_BITS) << (64 - POSITION_BITS);
    words.push_back(first);
    words
        .push_back(position.take(64 - POSITION_BITS) << POSITION_BITS | height.take(POSITION_BITS));
    // From 55 and 64 known digits to at least 128 and 256 of each, the height first.
    let (mut known_height, mut known_position) = (HEIGHT_BITS + POSITION_BITS, 64);
    for precision in [128, 256] {
        while known_height < precision {
            words.push_back(height.take(64));
            known_height += 64;
        }
        while known_position < precision {
            words.push_back(position.take(64));
            known_position += 64;
        }
    }
    Script(words)
}

/// A point that lies on the graph of the density to 200 digits, then just below or above it.
fn graze_the_density<N: Noise>(noise: N, density: impl Fn(&Float) -> Float) {
    let sampler =
        Sampler::new(noise, 1.0, Lattice::for_scale(1.0).expect("valid")).expect("can be built");
    let strips = sampler.strips();
    for column in [1, 40, 128, 200, 240, 254] {
        let strip = strips.strip(0, column);
        let unit = strips.unit() + strip.exponent as i32;
        // In the middle of the strip, but not at a multiple of anything.
        let mut position = float(0.3) + float(1.0) / 7u32;
        position.set_prec(PRECISION);
        let x: Float = (whole(strip.start) + whole(strip.width) * &position) << unit;
        // height * area / width = density(x), where the strip's height is 1.
        let graph = density(&x) * (whole(strip.width) << unit) / float(strips.area_at(0));
        for (nudge, below) in [(-1i32, true), (1, false)] {
            let height = graph.clone() + (float(f64::from(nudge)) >> 200u32);
            let mut script =
                script_of_point(column, Digits::of(height), Digits::of(position.clone()));
            let supplied = script.0.len();
            let drawn = sampler.draw(&mut script);
            let used = supplied - script.0.len();
            assert!(
                used > 5,
                "column {column}: decided after {used} words, so it was not ambiguous"
            );
            if below {
                let nearest: Float = x.clone() >> sampler.lattice().exponent();
                let expected = nearest.round().to_integer().expect("finite");
                assert_eq!(drawn.map(Integer::from), Ok(expected), "column {column}");
            } else {
                // Rejected: the sampler went on to the words that come after, and found none.
                assert!(
                    drawn.is_err() && script.0.is_empty(),
                    "column {column}: accepted from above the density"
                );
            }
        }
    }
}

#[test]
fn points_on_the_graph_are_decided_as_mpfr_does() {
    graze_the_density(Laplace, |x| (-x.clone()).exp() / 2u32);
    graze_the_density(Gaussian, |x| {
        let two_pi = Float::with_val(PRECISION, rug::float::Constant::Pi) * 2u32;
        (-(x.clone() * x) / 2u32).exp() / two_pi.sqrt()
    });
    graze_the_density(GeneralizedGaussian::new(3.0).expect("valid"), |x| {
        (-(x.clone() * x * x)).exp()
    });
}

/// A position that lies on the boundary between two lattice points to 200 digits, then just below
/// or above it.
#[test]
fn positions_on_a_rounding_boundary_are_rounded_as_they_go_on() {
    for (scale, exponent) in [(1.0, -40), (3.7, -38), (0.1, -44), (1e6, -20)] {
        let lattice = Lattice::of_spacing_power(exponent).expect("valid");
        let sampler = Sampler::new(Laplace, scale, lattice).expect("can be built");
        let strips = sampler.strips();
        for column in [0, 17, 99, 250] {
            let strip = strips.strip(0, column);
            let unit = strips.unit() + strip.exponent as i32;
            // The boundary nearest to the strip's middle, in table units: (k + 1/2) spacing /
            // (scale unit).
            let middle = whole(strip.start) + whole(strip.width) / 2u32;
            let step = (float(1.0) << (exponent - unit)) / float(scale);
            let below = (middle / &step).floor().to_integer().expect("finite");
            let boundary = (Float::with_val(PRECISION, &below) + 0.5f64) * step;
            let position = (boundary - whole(strip.start)) / whole(strip.width);
            for (nudge, expected) in [(-1i32, below.clone()), (1, below.clone() + 1u32)] {
                let position = position.clone() + (float(f64::from(nudge)) >> 200u32);
                let mut script =
                    script_of_point(column, Digits::of(float(0.0)), Digits::of(position.clone()));
                // The height is settled at once, so that all further words are the position's.
                let mut digits = Digits::of(position);
                digits.take(64);
                script.0.truncate(2);
                script.0.extend((0..4).map(|_| digits.take(64)));
                let drawn = sampler.draw(&mut script);
                assert_eq!(
                    drawn.map(Integer::from),
                    Ok(expected),
                    "scale {scale}, column {column}"
                );
                assert!(script.0.len() < 3, "decided without drawing on");
            }
        }
    }
}

/// A uniform number that equals the tail probability of a lattice boundary to 170 digits, then just
/// less or more. The noise has the tail `P[X > x] = 1 / (2 (1 + x))`, so heavy that there is
/// something to invert beyond the table.
#[test]
fn the_far_tail_is_inverted_as_mpfr_does() {
    let lattice = Lattice::of_spacing_power(-30).expect("valid");
    let noise = RandomScaleLaplace::new(GammaScale::new(1.0, 1.0).expect("valid"));
    let sampler = Sampler::new(noise, 1.0, lattice).expect("can be built");
    let strips = sampler.strips();
    let area = float(strips.area_at(strips.levels() - 1));
    let first: Float = Float::with_val(PRECISION, strips.tail_start()) << (strips.unit() + 30);
    let first = first.to_integer().expect("finite").to_u128().expect("not that far out");
    for steps in [first + 1, first + 12345, 3 * first, first << 9] {
        let boundary: Float = (Float::with_val(PRECISION, steps) + 0.5f64) >> 30u32;
        let uniform: Float = 0.5f64 / (boundary + 1u32) / &area;
        // A smaller tail probability is further out.
        for (nudge, expected) in [(1i32, steps), (-1, steps + 1)] {
            let mut digits = Digits::of(uniform.clone() + (float(f64::from(nudge)) >> 230u32));
            let mut words: VecDeque<u64> = vec![COLUMNS as u64 - 1; strips.levels()].into();
            words.extend((0..8).map(|_| digits.take(64)));
            let mut script = Script(words);
            assert_eq!(sampler.draw(&mut script), Ok(expected as i128));
            assert!(script.0.len() < 6, "decided by 128 digits alone");
        }
    }
}

#[derive(Clone, Debug)]
struct InverseE;

impl Probability for InverseE {
    fn enclose<E: Enclosure>(&self, like: &E) -> E {
        like.exactly(-1.0).exp()
    }
}

#[test]
fn a_coin_on_its_edge_falls_as_the_digits_go_on() {
    let coin = Bernoulli::new(InverseE);
    for nudge in [-1i32, 1] {
        let mut digits = Digits::of(float(-1.0).exp() + (float(f64::from(nudge)) >> 300u32));
        let mut script = Script((0..9).map(|_| digits.take(64)).collect());
        assert_eq!(coin.draw(&mut script), Ok(nudge < 0));
        assert!(script.0.len() < 5, "decided too early");
    }
}
