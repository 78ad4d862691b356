//! What releases cost together.
//!
//! What it is: accountants, each of which reads the same plain-data events and bounds the privacy
//! that they use up. What it never does: draw noise, see data, or give a figure that is not a
//! bound.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests compare with plain formulas"))]

mod accountant;
mod advanced;
mod basic;
mod calibrate;
mod comparison;
mod composition;
mod conversion;
mod error;
mod filter;
mod gaussian_dp;
mod group;
mod guarantee;
mod loss_distribution;
mod many_releases;
mod odometer;
mod optimal;
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
pub use comparison::{Comparison, PrivacyQuestion, Verdict, accountants};
pub use composition::{Component, Composition};
pub use error::AccountingError;
pub use filter::{Filter, FilterBudget, Refusal};
pub use gaussian_dp::{GaussianDp, gaussian_shift};
pub use group::{
    group_event, group_gaussian_shift, group_guarantee, group_renyi, group_zero_concentration,
};
pub use loss_distribution::LossDistribution;
pub use many_releases::{CalibratedReleases, ManyReleases};
pub use odometer::Odometer;
pub use optimal::OptimalComposition;
pub use renyi::{RenyiDp, renyi_divergence};
pub use zcdp::{ZeroConcentratedDp, zero_concentration};
