//! Noise conditioned on the answer staying inside public bounds.

use crate::NoiseError;
use crate::bernoulli::{Bernoulli, Probability};
use crate::noise::Noise;
use crate::randomness::{Provenance, RandomBits, RandomnessError};
use crate::sampler::Sampler;
use reticent_numerics::{Bounds, Enclosure, require};
use zeroize::Zeroizing;

/// Releases `value + noise`, given that it lies between two public lattice points.
///
/// # Distribution
/// With `s` the lattice's spacing over the scale and `C(j)` the probability of the cell of `j`
/// steps, `[(j - 1/2) s, (j + 1/2) s)`: the output `y` in `lower..=upper` has probability
/// `C(y - value) / Z(value)`, where `Z(value)` is the sum over that range. It is the ideal
/// truncated draw on `[lower - 1/2, upper + 1/2]` steps, rounded to the lattice; so a guarantee
/// proved for a range that is one step wider holds for it.
///
/// # Method
/// Each try is subject to a coin that succeeds with probability `Z_min / Z(value)`, `Z_min` being
/// the least `Z`, and takes a fixed number of words, so that neither the number of tries nor that
/// of random bits depends on the value, up to rare cases that docs/proofs/truncated_noise.md names.
/// The coins' probabilities are computed from the value; see GUARANTEES.md on what that means for
/// timing.
#[derive(Clone, Debug)]
pub struct Truncated<N> {
    sampler: Sampler<N>,
    lower: i128,
    upper: i128,
    from_the_line: bool,
    /// `c Z_min`.
    least_inside: Bounds,
}

/// The widest range, in steps.
const WIDEST: i128 = 1 << 100;

impl<N: Noise> Truncated<N> {
    /// Noise of the sampler's distribution, on `lower..=upper` lattice steps.
    ///
    /// # Errors
    /// If the bounds are in the wrong order, the same, or more than `2^100` steps from zero.
    pub fn new(sampler: Sampler<N>, lower: i128, upper: i128) -> Result<Self, NoiseError> {
        let accepted = "above the lower bound, both within 2^100 lattice steps of zero";
        require(
            lower < upper && lower >= -WIDEST && upper <= WIDEST,
            "upper bound",
            sampler.lattice().value(upper),
            accepted,
        )?;
        let mut truncated =
            Truncated { sampler, lower, upper, from_the_line: true, least_inside: Bounds::ZERO };
        truncated.least_inside = truncated.inside_bounds(lower);
        // A try succeeds with probability Z_min from the line, and Z_min / (cells * C(0)) from the
        // range.
        let cells = (upper - lower + 1) as f64;
        let line = truncated.sampler.noise().mass(&Bounds::ONE).estimate();
        truncated.from_the_line = line <= cells * truncated.cell_bounds(0).estimate();
        Ok(truncated)
    }

    /// The least output, in steps.
    pub fn lower(&self) -> i128 {
        self.lower
    }

    /// The greatest output, in steps.
    pub fn upper(&self) -> i128 {
        self.upper
    }

    /// One release of a value in steps; a value outside the bounds is moved to the nearer one
    /// first.
    ///
    /// # Errors
    /// If random bits cannot be had.
    pub fn release<R: RandomBits + ?Sized>(
        &self,
        value: i128,
        random: &mut R,
    ) -> Result<i128, RandomnessError> {
        let value = value.clamp(self.lower, self.upper);
        let balance = Bernoulli::new(Balance { truncated: self, value });
        loop {
            let (output, inside) = if self.from_the_line {
                let mut allotment = Allotment::of(&mut *random)?;
                let output = value + self.sampler.draw(&mut allotment)?;
                (output, self.lower <= output && output <= self.upper)
            } else {
                let output = self.lower
                    + uniform_below((self.upper - self.lower + 1) as u128, random)? as i128;
                let cell = CellRatio { truncated: self, steps: (output - value).unsigned_abs() };
                (output, Bernoulli::new(cell).draw(random)?)
            };
            // Both coins are tossed in every try.
            let balanced = balance.draw(random)?;
            if inside & balanced {
                return Ok(output);
            }
        }
    }

    /// `(steps + 1/2) s`, the boundary between a cell and the next.
    fn boundary<E: Enclosure>(&self, steps: u128, like: &E) -> E {
        let boundary = like.integer(steps as i128) + like.exactly(0.5);
        boundary.times_power_of_two(self.sampler.lattice().exponent())
            / like.exactly(self.sampler.scale())
    }

    /// `c P[X > (steps + 1/2) s]`.
    fn tail_above<E: Enclosure>(&self, steps: u128, like: &E) -> E {
        self.sampler.noise().tail(&self.boundary(steps, like))
    }

    /// `c C(steps)`.
    fn cell<E: Enclosure>(&self, steps: u128, like: &E) -> E {
        let above = self.tail_above(steps, like);
        match steps.checked_sub(1) {
            Some(fewer) => self.tail_above(fewer, like) - above,
            None => self.sampler.noise().mass(like) - above.times_power_of_two(1),
        }
    }

    /// `c C(steps)` between two `f64`, narrow on every lattice.
    ///
    /// The difference of the tails at the cell's ends loses about `2^-52 / s` of the cell to
    /// cancellation; the least and the greatest density of the cell, times its width, are about `s`
    /// apart. The first is used on coarse lattices and the second on fine ones, where each leaves
    /// at most about `2^-26` open. It matters: a comparison that is left open takes more words, and
    /// how often depends on the value.
    fn cell_bounds(&self, steps: u128) -> Bounds {
        let noise = self.sampler.noise();
        let far = self.boundary(steps, &Bounds::ONE);
        let near = steps.checked_sub(1).map(|fewer| self.boundary(fewer, &Bounds::ONE));
        let step = self.step_bounds();
        if step.lower() > noise.magnitude() * 2f64.powi(-26) {
            let above = noise.tail_bounds(far);
            return match near {
                Some(near) => noise.tail_bounds(near) - above,
                None => noise.mass(&Bounds::ONE) - above.times_power_of_two(1),
            };
        }
        let nearest = near.unwrap_or(Bounds::ZERO).lower();
        let densities = noise
            .density_bounds(Bounds::exact(nearest))
            .hull(noise.density_bounds(Bounds::exact(far.upper())));
        densities * step
    }

    /// `s`.
    fn step_bounds(&self) -> Bounds {
        Bounds::exact(self.sampler.lattice().spacing()) / Bounds::exact(self.sampler.scale())
    }

    /// [`Truncated::inside`] between two `f64`.
    fn inside_bounds(&self, value: i128) -> Bounds {
        let tail = |steps: i128| {
            self.sampler.noise().tail_bounds(self.boundary(steps as u128, &Bounds::ONE))
        };
        self.sampler.noise().mass(&Bounds::ONE)
            - tail(self.upper - value)
            - tail(value - self.lower)
    }

    /// `c Z(value)`: everything but the two tails.
    fn inside<E: Enclosure>(&self, value: i128, like: &E) -> E {
        let above = self.tail_above((self.upper - value) as u128, like);
        let below = self.tail_above((value - self.lower) as u128, like);
        self.sampler.noise().mass(like) - above - below
    }
}

/// The words that a try takes for its noise. A draw takes one, two for each rejection before it (a
/// few of a hundred), and a few beyond the table.
const NOISE_WORDS: usize = 32;

/// [`NOISE_WORDS`] words taken at once, and further ones should they not be enough.
struct Allotment<'a, R: ?Sized> {
    words: Zeroizing<[u64; NOISE_WORDS]>,
    used: usize,
    further: &'a mut R,
}

impl<'a, R: RandomBits + ?Sized> Allotment<'a, R> {
    fn of(random: &'a mut R) -> Result<Self, RandomnessError> {
        let mut words = Zeroizing::new([0; NOISE_WORDS]);
        random.fill(&mut *words)?;
        Ok(Allotment { words, used: 0, further: random })
    }
}

impl<R: RandomBits + ?Sized> RandomBits for Allotment<'_, R> {
    fn next_u64(&mut self) -> Result<u64, RandomnessError> {
        match self.words.get(self.used) {
            Some(&word) => {
                self.used += 1;
                Ok(word)
            }
            None => self.further.next_u64(),
        }
    }

    fn provenance(&self) -> Provenance {
        self.further.provenance()
    }
}

/// `Z_min / Z(value)`.
struct Balance<'a, N> {
    truncated: &'a Truncated<N>,
    value: i128,
}

impl<N: Noise> Probability for Balance<'_, N> {
    fn enclose<E: Enclosure>(&self, like: &E) -> E {
        self.truncated.inside(self.truncated.lower, like) / self.truncated.inside(self.value, like)
    }

    fn bounds(&self) -> Bounds {
        self.truncated.least_inside / self.truncated.inside_bounds(self.value)
    }
}

/// `C(steps) / C(0)`.
struct CellRatio<'a, N> {
    truncated: &'a Truncated<N>,
    steps: u128,
}

impl<N: Noise> Probability for CellRatio<'_, N> {
    fn enclose<E: Enclosure>(&self, like: &E) -> E {
        self.truncated.cell(self.steps, like) / self.truncated.cell(0, like)
    }

    fn bounds(&self) -> Bounds {
        self.truncated.cell_bounds(self.steps) / self.truncated.cell_bounds(0)
    }
}

/// A uniform integer below `limit`, by rejection of the surplus; `limit` is at most `2^102`.
fn uniform_below<R: RandomBits + ?Sized>(
    limit: u128,
    random: &mut R,
) -> Result<u128, RandomnessError> {
    let surplus = (u128::MAX % limit + 1) % limit;
    loop {
        let word = u128::from(random.next_u64()?) << 64 | u128::from(random.next_u64()?);
        if word <= u128::MAX - surplus {
            return Ok(word % limit);
        }
    }
}
