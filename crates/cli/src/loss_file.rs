//! A loss of the user's own, from a CSV file of two columns.

use crate::failure::Failure;
use reticent_choice::PiecewiseLoss;
use std::fs::File;

/// Reads pairs of `|error|` and loss. A first line that holds no numbers is a heading.
///
/// # Errors
/// If the file cannot be read, a line is not two numbers, or they are no loss.
pub fn read(path: &str) -> Result<PiecewiseLoss, Failure> {
    let file = File::open(path)
        .map_err(|error| Failure::while_doing("opening the file of --metric loss:FILE", &error))?;
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(file);
    let mut points = Vec::new();
    for (index, record) in reader.records().enumerate() {
        let line = index + 1;
        let refuse = || {
            Failure::usage(format!(
                "line {line} of the loss is not two numbers, |error| and loss, with a comma \
                 between them"
            ))
        };
        let record = record.map_err(|_| refuse())?;
        let numbers: Vec<Option<f64>> =
            record.iter().map(|cell| cell.trim().parse().ok()).collect();
        match numbers.as_slice() {
            [Some(error), Some(loss)] => points.push((*error, *loss)),
            [None, None] if index == 0 => {}
            _ => return Err(refuse()),
        }
    }
    Ok(PiecewiseLoss::table(&points)?)
}
