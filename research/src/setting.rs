//! How experiments are run.

use reticent_noise::randomness::SeededRandom;
use std::fmt;
use std::path::PathBuf;

use crate::ReproductionError;

/// The most repeats that are accepted.
const MOST_REPEATS: u32 = 1_000_000;

/// What one experiment's share of the key is cut to: the seed takes the other 8 of 32 bytes.
pub(crate) const NAME_BYTES: usize = 24;

/// The seed, the number of repeats and where the data are.
pub struct Setting {
    seed: u64,
    repeats: Option<u32>,
    data: Option<PathBuf>,
    watch: Option<Box<dyn Fn(f64) + Send + Sync>>,
}

impl Setting {
    /// The repeats of each experiment's own, and no data.
    pub fn new(seed: u64) -> Self {
        Setting { seed, repeats: None, data: None, watch: None }
    }

    /// The same with a number of repeats for every simulation.
    ///
    /// # Errors
    /// If there are fewer than two, of which no deviation is known, or more than a million.
    pub fn with_repeats(self, repeats: u32) -> Result<Self, ReproductionError> {
        if !(2..=MOST_REPEATS).contains(&repeats) {
            return Err(ReproductionError::Repeats(repeats));
        }
        Ok(Setting { repeats: Some(repeats), ..self })
    }

    /// The same with a folder of data, laid out as `docs/reproduction.md` says.
    pub fn with_data(self, data: PathBuf) -> Self {
        Setting { data: Some(data), ..self }
    }

    /// The same with someone who is told the share that is done of each experiment.
    pub fn watched_by(self, watch: impl Fn(f64) + Send + Sync + 'static) -> Self {
        Setting { watch: Some(Box::new(watch)), ..self }
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Where the data are.
    pub fn data(&self) -> Option<&PathBuf> {
        self.data.as_ref()
    }

    /// How often to repeat, where the paper or time says `usual`.
    pub(crate) fn repeats(&self, usual: u32) -> u32 {
        self.repeats.unwrap_or(usual)
    }

    /// The share that is done.
    pub(crate) fn reached(&self, done: usize, total: usize) {
        if let Some(watch) = &self.watch {
            watch(done as f64 / total.max(1) as f64);
        }
    }

    /// The random bits of one part of an experiment. The key is the seed and the experiment's name,
    /// so that no two experiments, and no two parts, share a stream, and what runs before or beside
    /// it makes no difference.
    pub(crate) fn random(&self, experiment: &str, part: u64) -> SeededRandom {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&self.seed.to_le_bytes());
        for (byte, letter) in key[8..].iter_mut().zip(experiment.bytes().take(NAME_BYTES)) {
            *byte = letter;
        }
        SeededRandom::from_seed(key).stream(part)
    }
}

impl fmt::Debug for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setting")
            .field("seed", &self.seed)
            .field("repeats", &self.repeats)
            .field("data", &self.data)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_noise::randomness::RandomBits;

    #[test]
    fn streams_differ_by_seed_experiment_and_part() {
        let word = |seed, name, part| {
            Setting::new(seed).random(name, part).next_u64().expect("a seeded generator")
        };
        let words = [word(1, "a", 0), word(2, "a", 0), word(1, "b", 0), word(1, "a", 1)];
        for (i, first) in words.iter().enumerate() {
            assert!(words[i + 1..].iter().all(|other| other != first));
        }
        assert_eq!(word(1, "a", 0), word(1, "a", 0));
    }

    #[test]
    fn repeats_that_say_nothing_are_refused() {
        for bad in [0, 1, 2_000_000] {
            assert!(Setting::new(1).with_repeats(bad).is_err());
        }
        assert_eq!(Setting::new(1).with_repeats(7).expect("enough").repeats(500), 7);
        assert_eq!(Setting::new(1).repeats(500), 500);
    }
}
