//! A fixed sequence that scatters test points, so that a failure repeats.
#![allow(dead_code, reason = "each test program uses some of it")]

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * 2f64.powi(-53)
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Between two positive numbers, with a uniform logarithm.
    pub fn log_uniform(&mut self, low: f64, high: f64) -> f64 {
        self.between(low.ln(), high.ln()).exp()
    }

    /// A magnitude with a uniform exponent, of either sign.
    pub fn of_any_size(&mut self, least_exponent: f64, greatest_exponent: f64) -> f64 {
        let magnitude = self.between(least_exponent, greatest_exponent).exp2();
        if self.bits() & 1 == 0 { magnitude } else { -magnitude }
    }

    /// Any finite number: every exponent is as likely as any other.
    pub fn finite(&mut self) -> f64 {
        loop {
            let x = f64::from_bits(self.bits());
            if x.is_finite() {
                return x;
            }
        }
    }
}
