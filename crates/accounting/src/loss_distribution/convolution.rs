//! Sums of many independent losses, by Fourier transform, with a bound on its error. The three
//! bounds below are proved in docs/proofs/composition_by_transform.md.

use super::grid::Masses;
use realfft::num_complex::Complex;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use reticent_numerics::nearest;
use std::sync::Arc;

/// Half an ulp of 1.
const U: f64 = 0.5 * f64::EPSILON;

/// The error of one output of a transform of `2^m` points, over the sum of the absolute inputs, is
/// at most `PER_LEVEL * (m + 2)` times `U`. The tests measure a thirtieth of it.
const PER_LEVEL: f64 = 32.0;

/// The error of a sum `sum m_j w^j` by Horner's rule over `n` terms, over the sum of the absolute
/// `m_j`, is at most `PER_TERM * (n + 2)` times `U`.
///
/// In blocks of `b` terms, whose sums are added up by Horner's rule for `w^b`, it is at most
/// `PER_TERM * (b + n/b + 4)` times `U`.
const PER_TERM: f64 = 32.0;

/// Frequencies at which less than this is left of the sum, whose masses are about 1 in all, are no
/// longer followed: the bound is counted as an error.
const NEGLIGIBLE: f64 = 1e-25;

/// How many frequencies are worked on side by side, so that the compiler finds vectors.
const LANES: usize = 16;

/// The transform of a sum of losses, as the product of the transforms of its terms.
///
/// A product of many transforms is soon negligible at most frequencies. Only the others are
/// followed; once they are few, the next term's transform is evaluated there alone, by Horner's
/// rule.
pub(super) struct Spectrum {
    size: usize,
    /// The frequencies that are followed, rising.
    frequencies: Vec<u32>,
    /// The value at each of them.
    values: Vec<Complex<f64>>,
    /// At least the distance of each value from the exact one.
    errors: Vec<f64>,
    /// At least the sum of the moduli at all other frequencies of the circle.
    dropped: f64,
    forward: Arc<dyn RealToComplex<f64>>,
    inverse: Arc<dyn ComplexToReal<f64>>,
    buffer: Vec<f64>,
    transformed: Vec<Complex<f64>>,
}

impl Spectrum {
    /// Of the sum of nothing, on `size` grid points around a circle. The size must be a power of
    /// two, at most 2^32.
    pub(super) fn new(size: usize, planner: &mut RealFftPlanner<f64>) -> Self {
        let half = size / 2 + 1;
        Spectrum {
            size,
            forward: planner.plan_fft_forward(size),
            inverse: planner.plan_fft_inverse(size),
            frequencies: (0..half as u32).collect(),
            values: vec![Complex::new(1.0, 0.0); half],
            errors: vec![0.0; half],
            dropped: 0.0,
            buffer: vec![0.0; size],
            transformed: vec![Complex::new(0.0, 0.0); half],
        }
    }

    fn levels(&self) -> f64 {
        f64::from(self.size.ilog2()) + 2.0
    }

    /// Adds `times` independent losses with these masses. They must not be negative. `false` if the
    /// transform refuses.
    #[must_use]
    pub(super) fn add(&mut self, masses: &Masses, times: u64) -> bool {
        let count = masses.masses.len() as f64;
        // Summing in any order is off by the number of terms in ulps of the sum, here and where
        // masses share a position.
        let total = masses.masses.iter().sum::<f64>() * (1.0 + 2.0 * U * count);
        let error = if count * self.frequencies.len() as f64 <= self.size as f64 * self.levels() {
            let block = (masses.masses.len() as f64).sqrt().ceil().max(1.0);
            self.transform_where_followed(masses, block as usize);
            total * PER_TERM * U * (block + (count / block).ceil() + 4.0)
        } else {
            let wraps = self.wrap(masses);
            if self.forward.process(&mut self.buffer, &mut self.transformed).is_err() {
                return false;
            }
            for (position, &frequency) in self.frequencies.iter().enumerate() {
                // Frequencies rise, so that none is overwritten before it is read.
                self.transformed[position] = self.transformed[frequency as usize];
            }
            total * (PER_LEVEL * U * self.levels() + 2.0 * U * wraps)
        };
        self.multiply(error, times);
        // No transform is larger than the total.
        self.dropped *=
            powers(&[Complex::new(total, 0.0); LANES], 0.0, times).2[0] * (1.0 + 4.0 * U);
        self.drop_negligible();
        true
    }

    /// Puts masses around the circle, and says how many share a position at most.
    fn wrap(&mut self, masses: &Masses) -> f64 {
        self.buffer.fill(0.0);
        let mut position = masses.first.rem_euclid(self.size as i64) as usize;
        for &mass in &masses.masses {
            self.buffer[position] += mass;
            position = if position + 1 == self.size { 0 } else { position + 1 };
        }
        (masses.masses.len() / self.size + 1) as f64
    }

    /// `sum_j m_j w^(first + j)` at each frequency `f` that is followed,
    /// `w = exp(-2 pi i f / size)`, in blocks of `block` terms.
    fn transform_where_followed(&mut self, masses: &Masses, block: usize) {
        let first = masses.first.rem_euclid(self.size as i64) as u64;
        let root = |turns: u64| {
            // The size is a power of two, so that the quotient is exact.
            let (re, im) =
                nearest::unit_root(-2.0 * ((turns % self.size as u64) as f64 / self.size as f64));
            Complex::new(re, im)
        };
        for (frequencies, found) in
            self.frequencies.chunks(LANES).zip(self.transformed.chunks_mut(LANES))
        {
            let roots = |turns: u64| {
                let (mut re, mut im) = ([0.0; LANES], [0.0; LANES]);
                for (lane, &frequency) in frequencies.iter().enumerate() {
                    let root = root(u64::from(frequency) * turns);
                    (re[lane], im[lane]) = (root.re, root.im);
                }
                (re, im)
            };
            let (one, whole) = (roots(1), roots(block as u64));
            let (mut re, mut im) = ([0.0; LANES], [0.0; LANES]);
            for terms in masses.masses.chunks(block).rev() {
                let (mut block_re, mut block_im) = ([0.0; LANES], [0.0; LANES]);
                for &mass in terms.iter().rev() {
                    multiply_lanes((&mut block_re, &mut block_im), &one);
                    block_re.iter_mut().for_each(|re| *re += mass);
                }
                multiply_lanes((&mut re, &mut im), &whole);
                for lane in 0..LANES {
                    re[lane] += block_re[lane];
                    im[lane] += block_im[lane];
                }
            }
            for (lane, (&frequency, found)) in frequencies.iter().zip(found).enumerate() {
                *found = Complex::new(re[lane], im[lane]) * root(u64::from(frequency) * first);
            }
        }
    }

    /// Multiplies by the power of what has been transformed, where each value is off by at most
    /// `error`.
    fn multiply(&mut self, error: f64, times: u64) {
        let terms = self.transformed.chunks(LANES);
        for ((values, errors), terms) in
            self.values.chunks_mut(LANES).zip(self.errors.chunks_mut(LANES)).zip(terms)
        {
            let mut lanes = [Complex::new(0.0, 0.0); LANES];
            lanes[..values.len()].copy_from_slice(&terms[..values.len()]);
            let (power, power_error, _) = powers(&lanes, error, times);
            for (lane, (value, value_error)) in values.iter_mut().zip(errors).enumerate() {
                let (size, power_size) = (modulus(*value), modulus(power[lane]));
                let (power, power_error) = (power[lane], power_error[lane]);
                *value_error = (*value_error * (power_size + power_error)
                    + size * (power_error + 4.0 * U * power_size))
                    * (1.0 + 8.0 * U);
                *value *= power;
            }
        }
    }

    /// How many frequencies of the whole circle one of the half circle stands for: both ends for
    /// one, all others for two.
    fn weight(&self, frequency: u32) -> f64 {
        if frequency == 0 || frequency as usize == self.size / 2 { 1.0 } else { 2.0 }
    }

    fn drop_negligible(&mut self) {
        let mut kept = 0;
        for position in 0..self.frequencies.len() {
            let (frequency, value, error) =
                (self.frequencies[position], self.values[position], self.errors[position]);
            let most = modulus(value) + error;
            if most < NEGLIGIBLE {
                self.dropped += self.weight(frequency) * most;
            } else {
                (self.frequencies[kept], self.values[kept], self.errors[kept]) =
                    (frequency, value, error);
                kept += 1;
            }
        }
        self.frequencies.truncate(kept);
        self.values.truncate(kept);
        self.errors.truncate(kept);
    }

    /// The masses of the sum around the circle, and a bound on the error of each.
    pub(super) fn masses(mut self) -> Option<(Vec<f64>, f64)> {
        let (mut sizes, mut errors) = (0.0, self.dropped);
        self.transformed.fill(Complex::new(0.0, 0.0));
        for ((&frequency, &value), error) in
            self.frequencies.iter().zip(&self.values).zip(&self.errors)
        {
            sizes += self.weight(frequency) * modulus(value);
            errors += self.weight(frequency) * error;
            self.transformed[frequency as usize] = value;
        }
        let summing = 1.0 + 8.0 * U * self.size as f64;
        let count = self.size as f64;
        let error = (sizes * PER_LEVEL * U * self.levels() + errors) * summing / count;
        // The imaginary parts of the two ends are zero exactly.
        self.transformed[0].im = 0.0;
        self.transformed[self.size / 2].im = 0.0;
        self.inverse.process(&mut self.transformed, &mut self.buffer).ok()?;
        self.buffer.iter_mut().for_each(|mass| *mass /= count);
        error.is_finite().then_some((self.buffer, error))
    }
}

/// Multiplies complex numbers, as real and imaginary parts, by others.
fn multiply_lanes(
    (re, im): (&mut [f64; LANES], &mut [f64; LANES]),
    (w_re, w_im): &([f64; LANES], [f64; LANES]),
) {
    for lane in 0..LANES {
        let product = re[lane] * w_re[lane] - im[lane] * w_im[lane];
        im[lane] = re[lane] * w_im[lane] + im[lane] * w_re[lane];
        re[lane] = product;
    }
}

/// An upper bound on the modulus, and next to it.
fn modulus(z: Complex<f64>) -> f64 {
    (z.re * z.re + z.im * z.im).sqrt() * (1.0 + 4.0 * U)
}

/// `z^k`, its error if `z` is off by at most `error`, and a bound on the modulus of the exact
/// power.
///
/// With `a = |z| + error` it is off by at most `k (error + 3.5 U a) a^(k-1)`, up to rounding. Where
/// all powers are negligible, zero is taken for them. From `k U = 1/20` on, some 4e14, roundings no
/// longer add up, and nothing is claimed.
fn powers(
    z: &[Complex<f64>; LANES],
    error: f64,
    k: u64,
) -> ([Complex<f64>; LANES], [f64; LANES], [f64; LANES]) {
    const TINY: f64 = 1e-300;
    const NONE: f64 = 1e-40;
    let times = k as f64;
    let reach = z.map(|z| modulus(z) + error);
    let before = raised([[1.0; LANES], reach], k - 1, |a, b| a * b);
    let rounding = 1.0 + 2.0 * U * times;
    let most: [f64; LANES] =
        std::array::from_fn(|lane| before[lane] * reach[lane] * rounding * (1.0 + 4.0 * U) + TINY);
    if most.iter().all(|&most| most < NONE) {
        return ([Complex::new(0.0, 0.0); LANES], most, most);
    }
    let power =
        if k == 1 { *z } else { raised([[Complex::new(1.0, 0.0); LANES], *z], k, |a, b| a * b) };
    if times * U > 0.05 {
        return (power, [f64::INFINITY; LANES], most);
    }
    let off = |lane: usize| {
        times * (error + 3.5 * U * reach[lane]) * before[lane] * rounding * (1.0 + 8.0 * U) + TINY
    };
    (power, std::array::from_fn(off), most)
}

/// `base^k` for each lane of `[one, base]`, by repeated squaring.
fn raised<T: Copy>(
    [one, mut base]: [[T; LANES]; 2],
    k: u64,
    product: impl Fn(T, T) -> T,
) -> [T; LANES] {
    let mut result = one;
    let mut left = k;
    while left > 0 {
        if left & 1 == 1 {
            result = std::array::from_fn(|lane| product(result[lane], base[lane]));
        }
        base = std::array::from_fn(|lane| product(base[lane], base[lane]));
        left >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::super::pairs::uniform;
    use super::*;

    /// Random masses of total 1, multiples of a power of two: their products add up exactly in
    /// integers.
    fn random_masses(count: usize, state: &mut u64) -> Vec<u64> {
        let mut masses: Vec<u64> = (0..count).map(|_| (uniform(state) * 1e3) as u64).collect();
        masses[0] += (1 << 20) - masses.iter().sum::<u64>();
        masses
    }

    fn of(masses: &[u64], first: i64) -> Masses {
        let masses = masses.iter().map(|&mass| mass as f64 / f64::from(1 << 20)).collect();
        Masses { first, offset: 0.0, masses, infinite: 0.0, saturated: 0.0 }
    }

    /// Two random distributions around the circle, against integers; the second by a transform if
    /// it is long, and by Horner's rule if it is short.
    #[test]
    fn products_are_within_the_bound() {
        let mut state = 3;
        for (size, length) in [(64, 32), (512, 256), (4096, 2048), (64, 5), (512, 7), (4096, 9)] {
            let mut planner = RealFftPlanner::new();
            let mut spectrum = Spectrum::new(size, &mut planner);
            let (one, other) =
                (random_masses(size / 2, &mut state), random_masses(length, &mut state));
            assert!(spectrum.add(&of(&one, -7), 1) && spectrum.add(&of(&other, 3), 1));
            let (found, bound) = spectrum.masses().expect("bounded");
            let mut exact = vec![0u64; size];
            for (i, a) in one.iter().enumerate() {
                for (j, b) in other.iter().enumerate() {
                    exact[(i + j + size - 4) % size] += a * b;
                }
            }
            let scale = 1.0 / (1u64 << 40) as f64;
            // The integers are below 2^53 and the scale is a power of two, so these are exact.
            let off = exact
                .iter()
                .zip(&found)
                .map(|(&exact, found)| (exact as f64 * scale - found).abs());
            let off = off.fold(0.0, f64::max);
            assert!(off <= bound, "{size}: {off:e} {bound:e}");
            // Measured: a thousandth of it at 64 points, less beyond. Far more would be a bound of
            // something else.
            assert!(off > 1e-6 * bound && bound < 1e-12, "{size}: {off:e} {bound:e}");
        }
    }

    /// Powers of a coin, against the binomial distribution by its recurrence, up to a million; the
    /// same coin among many zeros goes through a transform.
    #[test]
    fn powers_are_within_the_bound() {
        for (times, length) in
            [1u64, 10, 1000, 1_000_000].into_iter().flat_map(|times| [(times, 2), (times, 8192)])
        {
            let size = 16_384;
            let mut planner = RealFftPlanner::new();
            let mut spectrum = Spectrum::new(size, &mut planner);
            let mut masses = vec![0.0; length];
            masses[..2].fill(0.5);
            assert!(spectrum.add(
                &Masses { first: 0, offset: 0.0, masses, infinite: 0.0, saturated: 0.0 },
                times
            ));
            let followed = spectrum.frequencies.len();
            assert!(
                if times < 1000 { followed > 4000 } else { followed < 2000 },
                "{times}: {followed}"
            );
            let (found, bound) = spectrum.masses().expect("bounded");
            // C(n, m) / 2^n in the middle as a product, or by Stirling's series; then outwards by
            // ratios.
            let n = times as f64;
            let middle = (times / 2) as usize;
            let centre = if times <= 1000 {
                let factors =
                    (1..=middle).map(|i| (n - middle as f64 + i as f64) / (4.0 * i as f64));
                factors.product::<f64>() * if times % 2 == 1 { 0.5 } else { 1.0 }
            } else {
                (1.0 - 1.0 / (4.0 * n) + 1.0 / (32.0 * n * n))
                    * (2.0 / (std::f64::consts::PI * n)).sqrt()
            };
            let mut exact = centre;
            for k in middle..middle + 2000 {
                let off = (found[k % size] - exact).abs();
                assert!(off <= bound + 1e-12 * exact, "{times} at {k}: {off:e} {bound:e}");
                exact *= (n - k as f64).max(0.0) / (k as f64 + 1.0);
            }
            assert!(bound < 1e-9, "{times}: {bound:e}");
        }
    }

    /// So many roundings that nothing is known of their sum.
    #[test]
    fn powers_beyond_the_proof_are_refused() {
        let mut planner = RealFftPlanner::new();
        for (times, is_bounded) in [(1 << 40, true), (1 << 52, false)] {
            let mut spectrum = Spectrum::new(64, &mut planner);
            let coin = Masses {
                first: 0,
                offset: 0.0,
                masses: vec![0.5, 0.5],
                infinite: 0.0,
                saturated: 0.0,
            };
            assert!(spectrum.add(&coin, times));
            assert_eq!(spectrum.masses().is_some(), is_bounded, "{times}");
        }
    }
}
