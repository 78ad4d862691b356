//! Graphs given by a name: lines and grids.

use super::{Graph, GraphError};

impl Graph {
    /// The path `0 - 1 - ... - (n - 1)`: a time series or a histogram.
    ///
    /// # Errors
    /// If `nodes` is zero or more than `2^32 - 2`.
    pub fn line(nodes: usize) -> Result<Self, GraphError> {
        Graph::new(nodes, (1..nodes).map(|node| (node - 1, node)))
    }

    /// The grid with `rows` times `columns` nodes, each joined to those above, below, left and
    /// right: an image, row by row.
    ///
    /// # Errors
    /// If there is no node or more than `2^32 - 2`.
    pub fn grid(rows: usize, columns: usize) -> Result<Self, GraphError> {
        let nodes = rows.saturating_mul(columns);
        let across =
            (0..nodes).filter(|node| (node + 1) % columns != 0).map(|node| (node, node + 1));
        let down = (0..nodes.saturating_sub(columns)).map(|node| (node, node + columns));
        Graph::new(nodes, across.chain(down))
    }

    /// The graph called `line` or `grid RxC` for a vector of `nodes` values.
    ///
    /// # Errors
    /// If the name is unknown, or the grid has another number of nodes. Nothing is allocated before
    /// the number of nodes has been compared with `nodes`.
    ///
    /// # Example
    /// ```
    /// use reticent_denoising::graph::Graph;
    ///
    /// assert_eq!(Graph::named("grid 3x4", 12)?.edge_count(), 17);
    /// assert!(Graph::named("grid 3x4", 13).is_err());
    /// # Ok::<(), reticent_denoising::graph::GraphError>(())
    /// ```
    pub fn named(name: &str, nodes: usize) -> Result<Self, GraphError> {
        let unknown = || GraphError::Name { given: name.chars().take(60).collect() };
        if name.trim() == "line" {
            return Graph::line(nodes);
        }
        let size = name.trim().strip_prefix("grid ").ok_or_else(unknown)?;
        let (rows, columns) = size.trim().split_once(['x', 'X']).ok_or_else(unknown)?;
        let rows: usize = rows.trim().parse().map_err(|_| unknown())?;
        let columns: usize = columns.trim().parse().map_err(|_| unknown())?;
        let cells = rows.saturating_mul(columns);
        if cells != nodes {
            return Err(GraphError::Length {
                what: "values",
                given: nodes,
                expected: cells,
                each: "cell of the grid",
            });
        }
        Graph::grid(rows, columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_joins_each_cell_to_its_four_neighbours() {
        let grid = Graph::grid(2, 3).expect("a grid");
        let edges: Vec<_> = grid.edges().map(|(from, to, _)| (from, to)).collect();
        assert_eq!(edges, [(0, 1), (0, 3), (1, 2), (1, 4), (2, 5), (3, 4), (4, 5)]);
        assert_eq!(Graph::grid(1, 5).expect("a row"), Graph::line(5).expect("a line"));
        assert_eq!(Graph::grid(5, 1).expect("a column"), Graph::line(5).expect("a line"));
    }

    #[test]
    fn hostile_names_are_refused() {
        for name in [
            "",
            "circle",
            "grid",
            "grid 3",
            "grid 3x",
            "grid -3x4",
            "grid 3x4x5",
            "grid 1e3x2",
            "line 4",
        ] {
            assert!(matches!(Graph::named(name, 12), Err(GraphError::Name { .. })), "{name}");
        }
        for name in [
            "grid 0x5",
            "grid 18446744073709551615x18446744073709551615",
            "grid 4294967296x4294967296",
        ] {
            assert!(matches!(Graph::named(name, 12), Err(GraphError::Length { .. })), "{name}");
        }
        assert!(matches!(Graph::named("grid 0x0", 0), Err(GraphError::Size { .. })));
        assert!(matches!(Graph::named("line", 0), Err(GraphError::Size { .. })));
        assert!(matches!(Graph::grid(usize::MAX, 2), Err(GraphError::Size { .. })));
        assert!(matches!(Graph::grid(0, 0), Err(GraphError::Size { .. })));
        assert!(matches!(Graph::grid(usize::MAX, 0), Err(GraphError::Size { .. })));
    }

    #[test]
    fn one_node_is_a_line_and_a_grid() {
        assert_eq!(
            Graph::named("line", 1).expect("a node"),
            Graph::named("grid 1x1", 1).expect("a node")
        );
    }
}
