//! The graph of `--graph`: a name, or a file of edges.

use crate::failure::Failure;
use reticent_denoising::DenoisingError;
use reticent_denoising::graph::{Graph, NodeLabels};
use std::fs::File;

/// The rows and columns of a graph that is a line or a grid by its name.
pub fn grid_size(text: &str, values: usize) -> Option<(usize, usize)> {
    if text == "line" {
        return Some((1, values));
    }
    let (rows, columns) = text.strip_prefix("grid:")?.split_once(['x', 'X'])?;
    rows.parse().ok().zip(columns.parse().ok())
}

/// The graph on so many values.
///
/// `line` and `grid:RxC` are names; anything else is a CSV file of edges `u,v` or `u,v,weight`,
/// whose nodes are the indices of the values, counting from `first`, or the given labels.
///
/// # Errors
/// If the file cannot be read, or is not a graph on these nodes.
pub fn read(
    text: &str,
    values: usize,
    first: u64,
    labels: Option<Vec<String>>,
) -> Result<Graph, Failure> {
    let named = match text.strip_prefix("grid:") {
        Some(size) => Some(format!("grid {size}")),
        None => (text == "line").then(|| "line".to_string()),
    };
    let graph = match named {
        Some(name) => Graph::named(&name, values),
        None => {
            let file = File::open(text).map_err(|error| {
                Failure::while_doing(
                    "opening the file of --graph (which can also be `line` or `grid:RxC`)",
                    &error,
                )
            })?;
            let labels =
                labels.map_or(NodeLabels::Numbered { first, nodes: values }, NodeLabels::Named);
            Graph::read_csv(file, &labels)
        }
    };
    Ok(graph.map_err(DenoisingError::from)?)
}
