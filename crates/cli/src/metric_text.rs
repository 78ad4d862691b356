//! A metric as it is written on the command line.

use crate::failure::Failure;
use crate::loss_file;
use reticent_choice::{Metric, PiecewiseLoss};

/// Reads a metric: a word, a file of losses or an expression. Of an expression six decades around
/// `length` are tabulated, the size that errors are expected to have, which leave room for all
/// noise.
///
/// # Errors
/// If it is not understood, or a file cannot be read.
pub fn read_metric(text: &str, length: f64) -> Result<Metric, Failure> {
    if let Some(path) = text.strip_prefix("loss:") {
        return Ok(Metric::Loss(loss_file::read(path)?));
    }
    if let Some(expression) = text.strip_prefix("expression:") {
        return Ok(Metric::Loss(PiecewiseLoss::from_expression(expression, length)?));
    }
    Ok(text.parse()?)
}
