//! Plain text tables.

/// Rows of cells, laid out in columns that are as wide as their widest cell.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
    ruled: bool,
}

impl Table {
    /// A table of names and values, without a heading.
    pub fn of_pairs() -> Self {
        Table::default()
    }

    /// A table with a heading, ruled off from its rows.
    pub fn with_heading(heading: &[&str]) -> Self {
        Table { rows: vec![heading.iter().map(|cell| cell.to_string()).collect()], ruled: true }
    }

    /// Puts a heading over a table whose columns are not known in advance.
    pub fn heading(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.insert(0, cells.into_iter().collect());
        self.ruled = true;
    }

    /// Adds a row of any number of cells.
    pub fn cells(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Adds a row.
    pub fn row<const N: usize>(&mut self, cells: [impl Into<String>; N]) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// The text, with a line break after each row.
    pub fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            self.rows
                .iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for (index, row) in self.rows.iter().enumerate() {
            let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}"));
            text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
            text.push('\n');
            if self.ruled && index == 0 {
                let rules = widths.iter().map(|&width| "-".repeat(width));
                text.push_str(&rules.collect::<Vec<_>>().join("  "));
                text.push('\n');
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::with_heading(&["epsilon", "delta"]);
        table.row(["1", "0.25"]);
        assert_eq!(table.render(), "epsilon  delta\n-------  -----\n1        0.25\n");
        let mut pairs = Table::of_pairs();
        pairs.row(["scale", "1"]);
        pairs.row(["method", "exact"]);
        assert_eq!(pairs.render(), "scale   1\nmethod  exact\n");
    }
}
