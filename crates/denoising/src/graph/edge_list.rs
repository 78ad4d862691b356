//! Edge lists in files.

use super::{Graph, GraphError};
use std::collections::HashMap;
use std::io::Read;

/// What the nodes are called in an edge list, in the order of the released vector.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeLabels {
    /// The integers `first, first + 1, ...`, as many as there are values.
    Numbered {
        /// The first node's number, usually 0 or 1.
        first: u64,
        /// How many nodes there are.
        nodes: usize,
    },
    /// Names, one for each node.
    Named(Vec<String>),
}

impl NodeLabels {
    fn nodes(&self) -> usize {
        match self {
            NodeLabels::Numbered { nodes, .. } => *nodes,
            NodeLabels::Named(names) => names.len(),
        }
    }

    fn describe(&self) -> String {
        match self {
            NodeLabels::Numbered { nodes: 0, .. } => "none".to_string(),
            NodeLabels::Numbered { first, nodes } => {
                format!("{first} to {}", first.saturating_add(*nodes as u64 - 1))
            }
            NodeLabels::Named(names) => format!("the {} named ones", names.len()),
        }
    }

    /// The positions of named nodes; empty for numbered ones.
    fn positions(&self) -> Result<HashMap<&str, usize>, GraphError> {
        let mut positions = HashMap::new();
        if let NodeLabels::Named(names) = self {
            for (position, name) in names.iter().enumerate() {
                if positions.insert(name.trim(), position).is_some() {
                    return Err(GraphError::RepeatedLabel { label: shortened(name) });
                }
            }
        }
        Ok(positions)
    }

    fn find(&self, positions: &HashMap<&str, usize>, label: &str) -> Option<usize> {
        match self {
            NodeLabels::Numbered { first, nodes } => {
                let offset = label.parse::<u64>().ok()?.checked_sub(*first)?;
                usize::try_from(offset).ok().filter(|position| position < nodes)
            }
            NodeLabels::Named(_) => positions.get(label).copied(),
        }
    }
}

impl Graph {
    /// Reads lines `u,v` or `u,v,weight`.
    ///
    /// The first line is a header, and skipped, if neither of its first two fields is a node or a
    /// number. Fields are trimmed, empty lines skipped. Loops, repeated edges and weights follow
    /// the rules of [`Graph`]; an edge without a weight has weight 1.
    ///
    /// # Errors
    /// If a line is not of this form, names a node that does not exist, or has a weight that is no
    /// number from 1e-9 to 1e9; if the file cannot be read; or if a label belongs to two nodes.
    ///
    /// # Example
    /// ```
    /// use reticent_denoising::graph::{Graph, NodeLabels};
    ///
    /// let file = "source,target\n1,2\n2,3\n3,2\n";
    /// let graph = Graph::read_csv(file.as_bytes(), &NodeLabels::Numbered { first: 1, nodes: 3 })?;
    /// assert_eq!((graph.edge_count(), graph.repeats_left_out()), (2, 1));
    /// # Ok::<(), reticent_denoising::graph::GraphError>(())
    /// ```
    pub fn read_csv(reader: impl Read, labels: &NodeLabels) -> Result<Self, GraphError> {
        let positions = labels.positions()?;
        // A carriage return before the line end is trimmed like other white space.
        let mut lines = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .terminator(csv::Terminator::Any(b'\n'))
            .trim(csv::Trim::All)
            .from_reader(reader.chain(&b"\n"[..]));
        let mut record = csv::StringRecord::new();
        let (mut edges, mut first) = (Vec::new(), true);
        loop {
            let read = lines.read_record(&mut record);
            // The reader has just passed the end of this line, and blank lines before it; with the
            // line end that was added there is always one to pass.
            let line = lines.position().line() - 1;
            let bad = |problem: String| GraphError::Line { line, problem };
            if !read.map_err(|error| bad(format!("cannot be read: {error}")))? {
                break;
            }
            if record.len() == 1 && record[0].is_empty() {
                continue;
            }
            if !(2..=3).contains(&record.len()) {
                return Err(bad(format!("has {} fields", record.len())));
            }
            let ends = [labels.find(&positions, &record[0]), labels.find(&positions, &record[1])];
            let is_header = first
                && (0..2).all(|end| ends[end].is_none() && record[end].parse::<f64>().is_err());
            first = false;
            if is_header {
                continue;
            }
            let [Some(from), Some(to)] = ends else {
                let missing = if ends[0].is_none() { &record[0] } else { &record[1] };
                return Err(bad(format!(
                    "names the node `{}`, but the nodes are {}",
                    shortened(missing),
                    labels.describe()
                )));
            };
            let weight = match record.get(2) {
                None => 1.0,
                Some(text) => {
                    text.parse().ok().filter(|weight| (1e-9..=1e9).contains(weight)).ok_or_else(
                        || {
                            bad(format!(
                                "has the weight `{}`, which is no number from 1e-9 to 1e9",
                                shortened(text)
                            ))
                        },
                    )?
                }
            };
            edges.push((from, to, weight));
        }
        Graph::weighted(labels.nodes(), edges)
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, nodes: usize) -> Result<Graph, GraphError> {
        Graph::read_csv(text.as_bytes(), &NodeLabels::Numbered { first: 0, nodes })
    }

    #[test]
    fn headers_blanks_and_weights_are_read() {
        let graph = read("u,v,weight\n\n 0 , 1 ,2.5\n1,2\n", 3).expect("a graph");
        assert_eq!(graph.edges().collect::<Vec<_>>(), [(0, 1, 2.5), (1, 2, 1.0)]);
        assert_eq!(read("", 3).expect("no edges").edge_count(), 0);
    }

    #[test]
    fn names_are_found() {
        let labels = NodeLabels::Named(vec!["Broadway".into(), "Wall St".into()]);
        let graph =
            Graph::read_csv("from,to\nWall St,Broadway\n".as_bytes(), &labels).expect("a graph");
        assert_eq!(graph.edges().collect::<Vec<_>>(), [(0, 1, 1.0)]);
        let twice = NodeLabels::Named(vec!["a".into(), "a ".into()]);
        assert!(matches!(
            Graph::read_csv("".as_bytes(), &twice),
            Err(GraphError::RepeatedLabel { .. })
        ));
    }

    #[test]
    fn hostile_lines_are_named_by_number() {
        for (text, line, part) in [
            ("0,1\n0\n", 2, "1 fields"),
            ("0,1,1,1\n", 1, "4 fields"),
            ("0,1\n\n1,7\n", 3, "names the node `7`, but the nodes are 0 to 2"),
            ("0,1\r\n\r\n1,7\r\n", 3, "names the node `7`"),
            ("0,1\n\n1,7", 3, "names the node `7`"),
            ("7,8\n", 1, "names the node `7`"),
            ("0,1\nu,v\n", 2, "names the node `u`"),
            ("0,-1\n", 1, "names the node `-1`"),
            ("0,1,nan\n", 1, "weight `nan`"),
            ("0,1,0\n", 1, "weight `0`"),
            ("0,1,\n", 1, "weight ``"),
        ] {
            let message = read(text, 3).expect_err("must be refused").to_string();
            assert!(
                message.contains(part) && message.starts_with(&format!("line {line} ")),
                "{text:?}: {message}"
            );
        }
        assert!(read("0,1\n\u{fffd}\n", 3).is_err());
        let not_text = Graph::read_csv(
            &b"0,1\n\xff\xfe,2\n"[..],
            &NodeLabels::Numbered { first: 0, nodes: 3 },
        );
        assert!(not_text.expect_err("not text").to_string().contains("cannot be read"));
        assert!(matches!(read("0,1\n", 0), Err(GraphError::Line { .. })));
        assert!(matches!(read("", 0), Err(GraphError::Size { .. })));
    }

    #[test]
    fn numbers_may_start_anywhere() {
        let labels = NodeLabels::Numbered { first: u64::MAX, nodes: 2 };
        assert!(
            Graph::read_csv("18446744073709551615,18446744073709551615\n".as_bytes(), &labels)
                .is_ok()
        );
        assert!(Graph::read_csv("0,1\n".as_bytes(), &labels).is_err());
    }
}
