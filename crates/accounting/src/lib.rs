//! What releases cost together.
//!
//! What it is: accountants, each of which reads the same plain-data events and bounds the privacy that they use up. What it never does: draw noise, see
//! data, or give a figure that is not a bound.

mod accountant;
mod charges;
mod error;
mod loss_distribution;

pub use accountant::Accountant;
pub use charges::{Charge, Charges};
pub use error::AccountingError;
pub use loss_distribution::LossDistribution;
