//! Liu, *Generalized Gaussian mechanism for differential privacy*.

pub(crate) mod adult;
mod adult_data;
pub(crate) mod bounds;
pub(crate) mod densities;
pub(crate) mod prediction;
mod releases;
pub(crate) mod scales;
pub(crate) mod tables;
pub(crate) mod tails;
mod ways;
