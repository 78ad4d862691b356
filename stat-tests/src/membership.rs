//! The support attack (Mironov, *On significance of the least significant bits for differential
//! privacy*, 2012).
//!
//! The outputs of a floating-point sampler for input 0 and for input 1 are two different sets of
//! numbers with many gaps. An attacker who knows the sampler asks of one output which of the two
//! sets it is in; if it is in one only, that was the input.

/// How often one output gave the input away.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Betrayals {
    /// The attacks made.
    pub tries: u64,
    /// Outputs that the true input can give and the other cannot.
    pub betrayed: u64,
    /// Outputs that the attacker believes the true input cannot give: the oracle's own errors.
    pub mistaken: u64,
}

impl Betrayals {
    /// The share of outputs that give the input away. Differential privacy with any finite
    /// `epsilon`, and `delta = 0`, wants it to be 0: the other input gives such an output with
    /// probability 0, and `e^epsilon` times 0 is 0.
    pub fn share(&self) -> f64 {
        self.betrayed as f64 / self.tries as f64
    }
}

/// Attacks `tries` releases of each input. `can_give(input, output)` is the attacker's knowledge of
/// the sampler.
pub fn attack(
    tries: u64,
    inputs: [f64; 2],
    mut release: impl FnMut(f64) -> f64,
    can_give: impl Fn(f64, f64) -> bool,
) -> Betrayals {
    let mut outcome = Betrayals { tries: 2 * tries, betrayed: 0, mistaken: 0 };
    for [truth, other] in [inputs, [inputs[1], inputs[0]]] {
        for _ in 0..tries {
            let output = release(truth);
            match (can_give(truth, output), can_give(other, output)) {
                (true, false) => outcome.betrayed += 1,
                (true, true) => {}
                (false, _) => outcome.mistaken += 1,
            }
        }
    }
    outcome
}

/// Whether a number is a multiple of `2^exponent`.
pub fn is_on_lattice(value: f64, exponent: i32) -> bool {
    // A f64 is a multiple of its own last place; dividing by a power of two is exact here.
    let steps = value / 2f64.powi(exponent);
    steps.is_finite() && steps.fract() == 0.0
}
