//! Why an experiment could not be run.

use crate::PngError;
use reticent_choice::LimitError;
use reticent_denoising::DenoisingError;
use reticent_denoising::graph::GraphError;
use reticent_mechanisms::MechanismError;
use reticent_noise::NoiseError;
use reticent_noise::randomness::RandomnessError;
use reticent_workloads::WorkloadError;
use std::io;
use std::path::PathBuf;

/// An experiment that ended without a result. The data of the experiments are public, so messages
/// may name their lines.
#[derive(Debug, thiserror::Error)]
pub enum ReproductionError {
    /// There is no experiment of that name.
    #[error("there is no experiment `{name}`; the experiments are {known}")]
    UnknownExperiment {
        /// What was asked for.
        name: String,
        /// All names.
        known: String,
    },
    /// No repeats, or too many of them.
    #[error("the parameter `repeats` is {0}, but it must be a number from 2 to 1000000")]
    Repeats(u32),
    /// The experiment reads data that were not given.
    #[error(
        "the experiment `{experiment}` reads the folder `{folder}` of the data; say with --data \
         where the data are"
    )]
    NoData {
        /// The experiment.
        experiment: &'static str,
        /// What it reads.
        folder: &'static str,
    },
    /// The folder of data is not there.
    #[error("--data {}: there is no such folder", .0.display())]
    NoFolder(PathBuf),
    /// A file could not be read.
    #[error("{} could not be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
    /// A file does not hold what it should.
    #[error("{} is not as expected: {problem}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, with the line.
        problem: String,
    },
    /// A result could not be written.
    #[error("{} could not be written: {source}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
    /// A support vector machine could not be trained.
    #[error("the support vector machine could not be trained: {0}")]
    SupportVectors(String),
    /// A figure of the papers could not be computed.
    #[error("{0} could not be computed")]
    NotComputed(&'static str),
    /// A mechanism could not be made.
    #[error(transparent)]
    Mechanism(#[from] MechanismError),
    /// A workload could not be planned or measured.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// A limit could not be found.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// A release could not be denoised.
    #[error(transparent)]
    Denoising(#[from] DenoisingError),
    /// A graph could not be made.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// Noise could not be made.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// Random bits could not be had.
    #[error(transparent)]
    Randomness(#[from] RandomnessError),
    /// A figure could not be drawn.
    #[error(transparent)]
    Png(#[from] PngError),
}

impl ReproductionError {
    /// Whether the request was wrong, or its data; everything else is a fault.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            ReproductionError::UnknownExperiment { .. }
                | ReproductionError::Repeats(_)
                | ReproductionError::NoData { .. }
                | ReproductionError::NoFolder(_)
                | ReproductionError::Malformed { .. }
        )
    }
}
