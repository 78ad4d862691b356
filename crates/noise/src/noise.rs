//! The idea that carries this crate: a noise distribution is something that can bound its own
//! density and tails.

use crate::NoiseError;
use crate::strips::Strips;
use reticent_numerics::{Bounds, Enclosure};
use std::fmt::Debug;
use std::sync::Arc;

/// A symmetric, unimodal distribution on the line that can bound its own density and tails, at any
/// precision.
///
/// From these two functions alone generic code makes the exact sampler ([`crate::Sampler`]), the
/// error metrics ([`crate::error`]), the privacy profile and the distribution of the privacy loss
/// ([`crate::privacy`]). A new distribution is a page: its formula, its citation, its shortcuts.
///
/// # Contract
/// For every `x >= 0`:
/// - `density(x)` holds `c f(x)`, where `f` is the density at `x` and at `-x`. It does not increase
///   with `x`.
/// - `tail(x)` holds `c P[X > x]` with the same `c`.
/// - Both get narrower as the precision of `x` grows, without limit. (It is what makes a comparison
///   with a random real end with probability one.)
///
/// The constant `c` is 1 unless [`Noise::mass`] says otherwise: a sampler needs no normalised
/// density, and the normaliser of some families is the hardest part of them.
pub trait Noise: Clone + Debug + Send + Sync {
    /// `c f(x)` for `x >= 0`.
    fn density<E: Enclosure>(&self, x: &E) -> E;

    /// `c P[X > x]` for `x >= 0`.
    fn tail<E: Enclosure>(&self, x: &E) -> E;

    /// `c`, the mass of the unnormalised density.
    fn mass<E: Enclosure>(&self, like: &E) -> E {
        like.exactly(1.0)
    }

    /// [`Noise::density`] on plain intervals; overridden where a faster or sharper way exists.
    fn density_bounds(&self, x: Bounds) -> Bounds {
        self.density(&x)
    }

    /// [`Noise::tail`] on plain intervals; overridden where a faster or sharper way exists.
    fn tail_bounds(&self, x: Bounds) -> Bounds {
        self.tail(&x)
    }

    /// A magnitude in the middle of the distribution, within a factor of a thousand or so of the
    /// mean absolute value. It sets the unit of the sampler's table and decides speed alone.
    fn magnitude(&self) -> f64;

    /// The sampler's table; a family without a parameter keeps one for ever.
    fn strips(&self) -> Result<Arc<Strips>, NoiseError> {
        Strips::build(self).map(Arc::new)
    }
}
