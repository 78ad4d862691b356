//! What releases cost together.
//!
//! What it is: accountants, each of which reads the same plain-data events and bounds the privacy that they use up. What it never does: draw noise, see
//! data, or give a figure that is not a bound.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests compare with plain formulas"))]

mod accountant;
mod advanced;
mod basic;
mod calibrate;
mod charges;
mod conversion;
mod error;
mod filter;
mod gaussian_dp;
mod group;
mod loss_distribution;
mod odometer;
mod optimal;
mod promise;
mod renyi;
mod renyi_curve;
mod renyi_sampled_gaussian;
mod renyi_sampling;
mod spent;
mod zcdp;

pub use accountant::Accountant;
pub use advanced::AdvancedComposition;
pub use basic::BasicComposition;
pub use calibrate::{LeastScale, least_scale};
pub use charges::{Charge, Charges};
pub use error::AccountingError;
pub use filter::{Budget, Filter, Refusal};
pub use gaussian_dp::{GaussianDp, gaussian_shift};
pub use group::{group_event, group_gaussian_shift, group_guarantee, group_renyi, group_zero_concentration};
pub use loss_distribution::LossDistribution;
pub use odometer::Odometer;
pub use optimal::OptimalComposition;
pub use renyi::{RenyiDp, renyi_divergence};
pub use zcdp::{ZeroConcentratedDp, zero_concentration};
