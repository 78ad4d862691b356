//! Results as rows.

use reticent_figures::escaped;

/// A named table of results.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The name of its file, without an ending.
    pub name: &'static str,
    /// What the page says above it.
    pub caption: String,
    /// The headings.
    pub columns: Vec<&'static str>,
    /// The rows, of as many cells as there are headings.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new(name: &'static str, caption: impl Into<String>, columns: &[&'static str]) -> Self {
        Table { name, caption: caption.into(), columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn push(&mut self, cells: impl IntoIterator<Item = String>) {
        let row: Vec<String> = cells.into_iter().collect();
        debug_assert_eq!(row.len(), self.columns.len(), "{}", self.name);
        self.rows.push(row);
    }

    /// The table as comma-separated values, with headings.
    pub fn csv(&self) -> String {
        let mut text = self.columns.iter().map(|cell| quoted(cell)).collect::<Vec<_>>().join(",");
        text.push('\n');
        for row in &self.rows {
            text.push_str(&row.iter().map(|cell| quoted(cell)).collect::<Vec<_>>().join(","));
            text.push('\n');
        }
        text
    }
}

/// Headings and rows as HTML.
pub(crate) fn html(columns: &[String], rows: &[Vec<String>]) -> String {
    let cells = |tag: &str, cells: &[String]| -> String {
        cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell))).collect()
    };
    let mut text = format!("<table><thead><tr>{}</tr></thead><tbody>\n", cells("th", columns));
    for row in rows {
        text.push_str(&format!("<tr>{}</tr>\n", cells("td", row)));
    }
    text.push_str("</tbody></table>\n");
    text
}

/// A cell, in quotes if it needs them.
fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_with_commas_are_quoted() {
        let mut table = Table::new("t", "c", &["a", "b"]);
        table.push(["1, 2".to_string(), "say \"x\"".to_string()]);
        assert_eq!(table.csv(), "a,b\n\"1, 2\",\"say \"\"x\"\"\"\n");
        let html = html(&["a".into(), "b".into()], &table.rows);
        assert!(html.contains("<td>1, 2</td><td>say &quot;x&quot;</td>"));
    }
}
