//! A generated query as a tree: written out as SQL, and made smaller piece by piece.

use reticent_policy::ColumnType;

/// What a part of a query is; a part can stand where another of its sort does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Sort {
    /// An expression, of this type as far as the planner is concerned.
    Value(ColumnType),
    /// Rows of a private table with the columns that all of them have.
    Rows,
    /// A part that may be missing.
    Clause,
    /// A piece of text that is repeated, in a literal.
    Repeated(usize),
}

/// A part of a query: pieces of SQL with smaller parts between them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tree {
    sort: Sort,
    pieces: Vec<String>,
    parts: Vec<Tree>,
}

impl Tree {
    /// A part without parts.
    pub(super) fn leaf(sort: Sort, text: impl Into<String>) -> Tree {
        Tree { sort, pieces: vec![text.into()], parts: Vec::new() }
    }

    /// A part whose parts stand where the template has `{}`.
    pub(super) fn new(sort: Sort, template: &str, parts: Vec<Tree>) -> Tree {
        let pieces: Vec<String> = template.split("{}").map(str::to_owned).collect();
        assert_eq!(pieces.len(), parts.len() + 1, "{template}");
        Tree { sort, pieces, parts }
    }

    pub(super) fn value(of: ColumnType, template: &str, parts: Vec<Tree>) -> Tree {
        Tree::new(Sort::Value(of), template, parts)
    }

    pub(super) fn nothing() -> Tree {
        Tree::leaf(Sort::Clause, "")
    }

    /// The SQL, as the planner reads it.
    pub(super) fn sql(&self) -> String {
        self.written(&|piece, times| piece.repeat(times))
    }

    /// The SQL with long repetitions as `⟨a*45000⟩`, which [`super::expanded`] reads.
    pub(super) fn shown(&self) -> String {
        self.written(&|piece, times| {
            if times == 1 { piece.to_owned() } else { format!("⟨{piece}*{times}⟩") }
        })
    }

    fn written(&self, repeated: &dyn Fn(&str, usize) -> String) -> String {
        if let Sort::Repeated(times) = self.sort {
            return repeated(&self.pieces[0], times);
        }
        let mut text = self.pieces[0].clone();
        for (part, piece) in self.parts.iter().zip(&self.pieces[1..]) {
            text += &part.written(repeated);
            text += piece;
        }
        text
    }

    fn descendants<'a>(&'a self, sort: Sort, found: &mut Vec<&'a Tree>) {
        for part in &self.parts {
            if part.sort == sort {
                found.push(part);
            } else {
                part.descendants(sort, found);
            }
        }
    }

    /// Smaller trees to try instead: parts of it, plain values, and itself with a smaller
    /// part.
    pub(super) fn smaller(&self) -> Vec<Tree> {
        let mut list = Vec::new();
        match self.sort {
            Sort::Clause => list.push(Tree::nothing()),
            Sort::Value(of) => {
                list.extend(plain(of).into_iter().map(|text| Tree::leaf(self.sort, text)))
            }
            Sort::Rows => {
                list.extend(["people", "records"].map(|name| Tree::leaf(Sort::Rows, name)))
            }
            Sort::Repeated(times) => {
                let of = |times: usize| Tree { sort: Sort::Repeated(times), ..self.clone() };
                list.extend(
                    [1, times / 2, times - times / 8, times - 1].map(|times| of(times.max(1))),
                );
            }
        }
        let mut within = Vec::new();
        self.descendants(self.sort, &mut within);
        list.extend(within.into_iter().cloned());
        for (index, part) in self.parts.iter().enumerate() {
            for smaller in part.smaller() {
                let mut again = self.clone();
                again.parts[index] = smaller;
                list.push(again);
            }
        }
        let length = self.sql().len();
        list.retain(|tree| tree.sql().len() < length);
        list
    }
}

/// Columns and values that stand for all of a type.
fn plain(of: ColumnType) -> Vec<&'static str> {
    match of {
        ColumnType::Integer => vec!["1", "p.i", "p.n"],
        ColumnType::Real => vec!["0.1", "p.r", "p.x", "p.i"],
        ColumnType::Text => vec!["'a'", "p.s", "p.k"],
        ColumnType::Boolean => vec!["TRUE", "p.b"],
        ColumnType::Date => vec!["p.d"],
        ColumnType::Timestamp => vec!["p.m"],
    }
}
