//! Sums of many independent losses, by Fourier transform, with a bound on its error.

use super::grid::Masses;
use realfft::num_complex::Complex;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use std::sync::Arc;

/// Half an ulp of 1.
const U: f64 = 0.5 * f64::EPSILON;

/// The error of one output of a transform of `2^m` points, over the sum of the absolute inputs, is at most `PER_LEVEL * (m + 2)` times `U`.
///
/// In any factorisation of Cooley and Tukey's kind an output is a sum over paths, one from each input, through `m` levels (two more for the
/// transform of real data). A path multiplies by roots of unity of modulus 1 and is rounded at each addition and product. A computed root is off by at most
/// `22 U`: its angle is a product of three rounded numbers, at most `2 pi` with a relative error of `3 U`, and its sine and cosine are good to an ulp. A complex product
/// rounds by at most `sqrt(8) U` of its modulus, an addition by `U`. So each level adds at most `26 U`, relative to the path.
/// The sum of the moduli of all paths into one output is the sum of the absolute inputs, which is the claim. The tests measure a thirtieth of it.
const PER_LEVEL: f64 = 32.0;

/// The transform of a sum of losses, as the product of the transforms of its terms.
pub(super) struct Spectrum {
    size: usize,
    values: Vec<Complex<f64>>,
    /// At least the distance of each value from the exact one.
    errors: Vec<f64>,
    forward: Arc<dyn RealToComplex<f64>>,
    inverse: Arc<dyn ComplexToReal<f64>>,
    buffer: Vec<f64>,
    transformed: Vec<Complex<f64>>,
}

impl Spectrum {
    /// Of the sum of nothing, on `size` grid points around a circle. The size must be a power of two.
    pub(super) fn new(size: usize, planner: &mut RealFftPlanner<f64>) -> Self {
        let half = size / 2 + 1;
        Spectrum {
            size,
            forward: planner.plan_fft_forward(size),
            inverse: planner.plan_fft_inverse(size),
            values: vec![Complex::new(1.0, 0.0); half],
            errors: vec![0.0; half],
            buffer: vec![0.0; size],
            transformed: vec![Complex::new(0.0, 0.0); half],
        }
    }

    fn rounding(&self) -> f64 {
        PER_LEVEL * U * (f64::from(self.size.ilog2()) + 2.0)
    }

    /// Adds `times` independent losses with these masses. They must not be negative. `false` if the transform refuses.
    #[must_use]
    pub(super) fn add(&mut self, masses: &Masses, times: u64) -> bool {
        self.buffer.fill(0.0);
        let mut place = masses.first.rem_euclid(self.size as i64) as usize;
        let mut total = 0.0;
        for &mass in &masses.masses {
            self.buffer[place] += mass;
            total += mass;
            place = if place + 1 == self.size { 0 } else { place + 1 };
        }
        // Summing in any order is off by the number of terms in ulps of the sum, here and where masses share a place.
        let spread = 2.0 * U * masses.masses.len() as f64;
        let wraps = (masses.masses.len() / self.size + 1) as f64;
        let error = total * (1.0 + spread) * (self.rounding() + 2.0 * U * wraps);
        if self.forward.process(&mut self.buffer, &mut self.transformed).is_err() {
            return false;
        }
        for ((value, value_error), &term) in self.values.iter_mut().zip(&mut self.errors).zip(&self.transformed) {
            let (power, power_error) = if times == 1 { (term, error) } else { powered(term, error, times) };
            let (size, power_size) = (modulus(*value), modulus(power));
            *value_error = (*value_error * (power_size + power_error) + size * (power_error + 4.0 * U * power_size))
                * (1.0 + 8.0 * U);
            *value *= power;
        }
        true
    }

    /// The masses of the sum around the circle, and a bound on the error of each.
    pub(super) fn masses(mut self) -> Option<(Vec<f64>, f64)> {
        // Both ends of the half spectrum stand for one frequency, all others for two.
        let last = self.values.len() - 1;
        let weight = |i: usize| if i == 0 || i == last { 1.0 } else { 2.0 };
        let (mut sizes, mut errors) = (0.0, 0.0);
        for (i, (value, error)) in self.values.iter().zip(&self.errors).enumerate() {
            sizes += weight(i) * modulus(*value);
            errors += weight(i) * error;
        }
        let summing = 1.0 + 4.0 * U * self.values.len() as f64;
        let count = self.size as f64;
        let error = (sizes * self.rounding() + errors) * summing / count;
        // The imaginary parts of the two ends are zero exactly.
        self.values[0].im = 0.0;
        self.values[last].im = 0.0;
        self.inverse.process(&mut self.values, &mut self.buffer).ok()?;
        self.buffer.iter_mut().for_each(|mass| *mass /= count);
        error.is_finite().then_some((self.buffer, error))
    }
}

/// An upper bound on the modulus, and next to it.
fn modulus(z: Complex<f64>) -> f64 {
    (z.re * z.re + z.im * z.im).sqrt() * (1.0 + 4.0 * U)
}

/// `z^k` and its error, if `z` is off by at most `error`.
///
/// With `a = |z| + error` the exact power differs from that of the computed `z` by at most `k a^(k-1) error`. Repeated squaring rounds as often
/// as the exponent says at most, each time by `3 U` relative. Where `a^k` is negligible, zero is taken for it.
fn powered(z: Complex<f64>, error: f64, k: u64) -> (Complex<f64>, f64) {
    const NEGLIGIBLE: f64 = -90.0;
    let reach = modulus(z) + error;
    let times = k as f64;
    // The logarithm of a^(k-1), rounded up by far more than it can be off.
    let log = (times - 1.0) * (reach.ln() + 2.0 * f64::EPSILON) + 1e-12;
    if log < NEGLIGIBLE {
        return (Complex::new(0.0, 0.0), (log.exp() * reach * (1.0 + 1e-12)).max(f64::MIN_POSITIVE));
    }
    let power_error = times * (error + 3.5 * U * reach) * log.exp() * (1.0 + 1e-12);
    (raised(z, k), power_error)
}

fn raised(z: Complex<f64>, k: u64) -> Complex<f64> {
    let mut result = Complex::new(1.0, 0.0);
    let (mut base, mut left) = (z, k);
    while left > 0 {
        if left & 1 == 1 {
            result *= base;
        }
        base *= base;
        left >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::super::pairs::uniform;
    use super::*;

    /// Random masses of total 1, multiples of a power of two: their products add up exactly in integers.
    fn random_masses(count: usize, state: &mut u64) -> Vec<u64> {
        let mut masses: Vec<u64> = (0..count).map(|_| (uniform(state) * 1e3) as u64).collect();
        masses[0] += (1 << 20) - masses.iter().sum::<u64>();
        masses
    }

    fn of(masses: &[u64], first: i64) -> Masses {
        let masses = masses.iter().map(|&mass| mass as f64 / f64::from(1 << 20)).collect();
        Masses { first, offset: 0.0, masses, infinite: 0.0 }
    }

    /// Two random distributions around the circle, against integers.
    #[test]
    fn products_are_within_the_bound() {
        let mut state = 3;
        for size in [64, 512, 4096] {
            let mut planner = RealFftPlanner::new();
            let mut spectrum = Spectrum::new(size, &mut planner);
            let (one, other) = (random_masses(size / 2, &mut state), random_masses(size / 2, &mut state));
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
            let off = exact.iter().zip(&found).map(|(&exact, found)| (exact as f64 * scale - found).abs());
            let off = off.fold(0.0, f64::max);
            assert!(off <= bound, "{size}: {off:e} {bound:e}");
            // Measured: a thousandth of it at 64 points, less beyond. Far more would be a bound of something else.
            assert!(off > 1e-6 * bound && bound < 1e-12, "{size}: {off:e} {bound:e}");
        }
    }

    /// Powers of a coin, against the binomial distribution by its recurrence, up to a million.
    #[test]
    fn powers_are_within_the_bound() {
        for times in [1u64, 10, 1000, 1_000_000] {
            let size = 16_384;
            let mut planner = RealFftPlanner::new();
            let mut spectrum = Spectrum::new(size, &mut planner);
            let coin = Masses { first: 0, offset: 0.0, masses: vec![0.5, 0.5], infinite: 0.0 };
            assert!(spectrum.add(&coin, times));
            let (found, bound) = spectrum.masses().expect("bounded");
            // C(n, m) / 2^n in the middle as a product, or by Stirling's series; then outwards by ratios.
            let n = times as f64;
            let middle = (times / 2) as usize;
            let centre = if times <= 1000 {
                let factors = (1..=middle).map(|i| (n - middle as f64 + i as f64) / (4.0 * i as f64));
                factors.product::<f64>() * if times % 2 == 1 { 0.5 } else { 1.0 }
            } else {
                (1.0 - 1.0 / (4.0 * n) + 1.0 / (32.0 * n * n)) * (2.0 / (std::f64::consts::PI * n)).sqrt()
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
}
