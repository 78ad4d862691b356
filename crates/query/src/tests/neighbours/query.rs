//! Generated queries: private rows through every operator that is offered, aggregates, and what may
//! follow them.

use super::expressions::{Scope, expression};
use super::tree::{Sort, Tree};
use super::world::COLUMNS;
use crate::tests::noiseless::Draw;
use reticent_policy::ColumnType::{self, Boolean, Date, Integer, Real, Text, Timestamp};

/// A query in pieces that can be left out.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Query {
    keys: Vec<Tree>,
    aggregates: Vec<Tree>,
    /// From FROM to WHERE.
    body: Tree,
    having: Tree,
    /// ORDER BY and LIMIT.
    tail: Tree,
    /// What is asked of the released figures, if more than they are: `{}` is the query.
    around: Option<String>,
}

/// The columns of private rows under a name.
fn columns_of(name: &str) -> Vec<(String, ColumnType)> {
    COLUMNS.iter().map(|(column, of, _)| (format!("{name}.{column}"), *of)).collect()
}

fn public_columns() -> Vec<(String, ColumnType)> {
    [("city", Text), ("region", Text), ("weight", Integer), ("z", Real), ("day", Date)]
        .map(|(name, of)| (format!("g.{name}"), of))
        .to_vec()
}

/// Generates queries over tables with a unit column, or over the one in which each row is a unit.
pub(super) struct Grammar<'a> {
    draw: &'a mut Draw,
    each_row: bool,
}

impl Grammar<'_> {
    pub(super) fn query(draw: &mut Draw) -> Query {
        let each_row = draw.once_in(4);
        Grammar { draw, each_row }.whole()
    }

    fn depth(&mut self) -> usize {
        self.draw.of(&[0, 1, 1, 2, 2, 3])
    }

    /// `FROM rows AS p`, joins and a condition; and the columns that are then in scope.
    fn body(&mut self, depth: usize) -> (Tree, Scope) {
        let mut scope = Scope { columns: columns_of("p"), subqueries: false };
        let mut parts = vec![self.rows(depth)];
        let mut joins = Tree::nothing();
        match self.draw.below(10) {
            0 | 1 => joins = self.public_join(&mut scope),
            2 | 3 if !self.each_row => joins = self.private_join(&mut scope, depth),
            _ => {}
        }
        parts.push(joins);
        parts.push(self.condition(&scope));
        (Tree::new(Sort::Clause, " FROM {} AS p{}{}", parts), scope)
    }

    fn condition(&mut self, scope: &Scope) -> Tree {
        if self.draw.once_in(2) {
            return Tree::nothing();
        }
        let scope = Scope { subqueries: true, ..scope.clone() };
        let depth = self.depth().max(1);
        Tree::new(Sort::Clause, " WHERE {}", vec![expression(&scope, Boolean, depth, self.draw)])
    }

    fn public_join(&mut self, scope: &mut Scope) -> Tree {
        let kind = self.draw.of(&[
            "JOIN",
            "JOIN",
            "LEFT JOIN",
            "RIGHT JOIN",
            "LEFT SEMI JOIN",
            "LEFT ANTI JOIN",
        ]);
        let table = self.draw.of(&[
            "public",
            "public",
            "(SELECT * FROM public WHERE weight > 1)",
            "(SELECT region AS city, city AS region, MAX(weight) AS weight, MIN(z) AS z, MAX(day) \
             AS day FROM public GROUP BY 1, 2)",
            "(VALUES ('Ulm', 'a', 1, 0.1, DATE '2024-02-29'), ('a', NULL, 3, -0.0, NULL)) ",
        ]);
        let alias =
            if table.starts_with("(VALUES") { "g(city, region, weight, z, day)" } else { "g" };
        if self.draw.once_in(12) && !self.each_row {
            scope.columns.extend(public_columns());
            return Tree::leaf(Sort::Clause, format!(" CROSS JOIN {table} AS {alias}"));
        }
        let unique = self.each_row && !kind.contains("SEMI") && !kind.contains("ANTI");
        let table = if unique { "public" } else { table };
        let alias = if unique { "g" } else { alias };
        let on = if unique {
            self.draw.of(&["p.s = g.city", "p.k = g.city"])
        } else {
            self.draw.of(&[
                "p.s = g.city",
                "p.k = g.city",
                "p.i = g.weight",
                "p.n = g.weight",
                "p.r = g.z",
                "p.x = g.z",
                "p.d = g.day",
                "p.i > g.weight",
                "p.r <= g.z",
                "UPPER(p.k) = UPPER(g.city)",
                "p.s = g.city AND p.r < g.z",
                "p.r = g.weight",
                "p.k = g.city AND p.s = g.region",
                "p.k ILIKE 'a%' AND p.i = g.weight",
            ])
        };
        let mut parts = Vec::new();
        let mut template = format!(" {kind} {table} AS {alias} ON {on}");
        let both = Scope {
            columns: [scope.columns.clone(), public_columns()].concat(),
            subqueries: false,
        };
        if self.draw.once_in(4) {
            template += "{}";
            let more = expression(&both, Boolean, 2, self.draw);
            parts.push(Tree::new(Sort::Clause, " AND {}", vec![more]));
        }
        if !kind.contains("SEMI") && !kind.contains("ANTI") {
            *scope = both;
        }
        Tree::new(Sort::Clause, &template, parts)
    }

    fn private_join(&mut self, scope: &mut Scope, depth: usize) -> Tree {
        let kind = self.draw.of(&[
            "JOIN",
            "JOIN",
            "LEFT JOIN",
            "RIGHT JOIN",
            "LEFT SEMI JOIN",
            "LEFT ANTI JOIN",
        ]);
        let mut parts = vec![self.rows(depth.saturating_sub(1))];
        let mut template = format!(" {kind} {{}} AS v ON p.id = v.id");
        let both =
            Scope { columns: [scope.columns.clone(), columns_of("v")].concat(), subqueries: false };
        if self.draw.once_in(3) {
            template += "{}";
            let more = expression(&both, Boolean, 1, self.draw);
            parts.push(Tree::new(Sort::Clause, " AND {}", vec![more]));
        }
        if !kind.contains("SEMI") && !kind.contains("ANTI") {
            *scope = both;
        }
        Tree::new(Sort::Clause, &template, parts)
    }

    /// Private rows with all of [`COLUMNS`].
    fn rows(&mut self, depth: usize) -> Tree {
        if depth == 0 || self.draw.once_in(3) {
            let names: &[&str] = if self.each_row {
                &["records"]
            } else {
                &["people", "people", "people", "visits"]
            };
            return Tree::leaf(Sort::Rows, self.draw.of(names));
        }
        match self.draw.below(8) {
            0 | 1 => self.selected("SELECT", depth),
            _ if self.each_row => self.selected("SELECT", depth),
            2 => {
                let parts =
                    vec![self.selected("SELECT", depth - 1), self.selected("SELECT", depth - 1)];
                let union = self.draw.of(&[
                    "UNION ALL",
                    "UNION ALL",
                    "UNION ALL",
                    "UNION",
                    "INTERSECT",
                    "EXCEPT",
                ]);
                Tree::new(
                    Sort::Rows,
                    &format!("(SELECT * FROM {{}} AS a {union} SELECT * FROM {{}} AS c)"),
                    parts,
                )
            }
            3 => self.selected("SELECT DISTINCT", depth),
            _ => self.by_unit(depth),
        }
    }

    /// A sub-query with some columns computed.
    fn selected(&mut self, select: &str, depth: usize) -> Tree {
        let (body, scope) = self.body(depth.saturating_sub(1));
        let unit = if self.each_row { "" } else { "p.id AS id, " };
        let (mut parts, mut columns) = (Vec::new(), Vec::new());
        for (name, of, _) in COLUMNS {
            columns.push(format!("{{}} AS {name}"));
            let depth = if self.draw.once_in(3) { self.depth() } else { 0 };
            parts.push(if depth == 0 {
                Tree::leaf(Sort::Value(of), format!("p.{name}"))
            } else {
                expression(&scope, of, depth, self.draw)
            });
        }
        parts.push(body);
        let order = self.draw.of(&["", "", "", "", " ORDER BY r"]);
        Tree::new(Sort::Rows, &format!("({select} {unit}{}{{}}{order})", columns.join(", ")), parts)
    }

    /// One row for each unit, or for each unit and some more.
    fn by_unit(&mut self, depth: usize) -> Tree {
        let (body, scope) = self.body(depth.saturating_sub(1));
        let (mut parts, mut columns, mut keys) = (Vec::new(), Vec::new(), vec!["p.id".to_owned()]);
        for (name, of, _) in COLUMNS {
            if self.draw.once_in(8) {
                keys.push(format!("p.{name}"));
                columns.push(format!("p.{name} AS {name}"));
                continue;
            }
            columns.push(format!("{{}} AS {name}"));
            let calls: &[(&str, ColumnType)] = match of {
                Integer => &[
                    ("SUM({})", Integer),
                    ("MIN({})", Integer),
                    ("MAX({})", Integer),
                    ("COUNT({})", Text),
                    ("COUNT({})", Integer),
                    ("COUNT(*) + 0 * COUNT({})", Boolean),
                ],
                Real => &[
                    ("SUM({})", Real),
                    ("SUM({})", Real),
                    ("AVG({})", Real),
                    ("AVG({})", Integer),
                    ("MIN({})", Real),
                    ("MAX({})", Real),
                    ("SUM(CAST({} AS REAL))", Real),
                    ("SUM({}) / COUNT(*)", Real),
                ],
                Text => &[("MIN({})", Text), ("MAX({})", Text), ("CAST(SUM({}) AS TEXT)", Real)],
                Boolean => {
                    &[("MAX({})", Boolean), ("SUM({}) > 0.5", Real), ("COUNT({}) > 1", Text)]
                }
                Date => &[("MIN({})", Date), ("MAX({})", Date)],
                Timestamp => &[("MIN({})", Timestamp), ("MAX({})", Timestamp)],
            };
            let (call, argument) = self.draw.of(calls);
            let depth = if self.draw.once_in(3) { self.depth() } else { 0 };
            let mut inner = vec![expression(&scope, argument, depth, self.draw)];
            let mut call = call.to_owned();
            if call.ends_with("({})") && self.draw.once_in(8) {
                call += " FILTER (WHERE {})";
                inner.push(expression(&scope, Boolean, 1, self.draw));
            }
            parts.push(Tree::value(of, &call, inner));
        }
        parts.push(body);
        let having = self.draw.of(&[
            "",
            "",
            "",
            " HAVING COUNT(*) > 1",
            " HAVING SUM(p.r) > 0.5",
            " HAVING MAX(p.x) >= 0",
        ]);
        let template = format!(
            "(SELECT p.id AS id, {}{{}} GROUP BY {}{having})",
            columns.join(", "),
            keys.join(", ")
        );
        Tree::new(Sort::Rows, &template, parts)
    }

    /// A number between public bounds.
    fn bounded(&mut self, scope: &Scope) -> Tree {
        let of = self.draw.of(&[Integer, Real, Real]);
        let depth = self.depth();
        let inner = expression(scope, of, depth, self.draw);
        Tree::value(of, "GREATEST(LEAST({}, 50), -50)", vec![inner])
    }

    fn aggregate(&mut self, scope: &Scope) -> Tree {
        let (mut template, mut parts) = match self.draw.below(12) {
            0 | 1 => ("COUNT(*)", vec![]),
            2 | 3 => {
                let (of, depth) =
                    (self.draw.of(&[Integer, Real, Text, Boolean, Date, Timestamp]), self.depth());
                ("COUNT({})", vec![expression(scope, of, depth, self.draw)])
            }
            4 if !self.each_row => return Tree::leaf(Sort::Clause, "COUNT(DISTINCT p.id)"),
            5 => ("AVG({})", vec![self.bounded(scope)]),
            6 => (self.draw.of(&["VAR({})", "STDDEV_POP({})"]), vec![self.bounded(scope)]),
            7 => ("MEDIAN({})", vec![self.bounded(scope)]),
            8 => {
                let template = self.draw.of(&[
                    "PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY {})",
                    "PERCENTILE_CONT(0) WITHIN GROUP (ORDER BY {} DESC)",
                ]);
                return Tree::new(Sort::Clause, template, vec![self.bounded(scope)]);
            }
            _ => ("SUM({})", vec![self.bounded(scope)]),
        };
        let filtered;
        if self.draw.once_in(6) {
            filtered = format!("{template} FILTER (WHERE {{}})");
            template = &filtered;
            parts.push(expression(scope, Boolean, 2, self.draw));
        }
        Tree::new(Sort::Clause, template, parts)
    }

    fn whole(&mut self) -> Query {
        let depth = self.draw.of(&[0, 1, 1, 1, 2, 2, 3]);
        let (body, scope) = self.body(depth);
        let keys = (0..self.draw.of(&[0, 1, 1, 2]))
            .map(|_| {
                let (of, depth) = (
                    self.draw.of(&[Integer, Real, Text, Text, Boolean, Date, Timestamp]),
                    self.depth(),
                );
                expression(&scope, of, depth, self.draw)
            })
            .collect::<Vec<_>>();
        let aggregates = (0..self.draw.below(5) + 1).map(|_| self.aggregate(&scope)).collect();
        let having =
            self.draw.of(&["", "", "", " HAVING COUNT(*) > 0", " HAVING 10 / COUNT(*) > 0"]);
        let order = self.draw.of(&[
            "",
            "",
            "",
            " ORDER BY COUNT(*) DESC",
            " ORDER BY 1 LIMIT 3",
            " LIMIT 2 OFFSET 1",
        ]);
        let around = self.draw.of(&[
            None,
            None,
            None,
            None,
            Some("SELECT COUNT(*) AS rows, SUM(1 / q.a0) AS s FROM ({}) AS q"),
            Some("SELECT q.a0, g.weight FROM ({}) AS q LEFT JOIN public AS g ON g.weight = q.a0"),
            Some(
                "SELECT ROUND(q.a0, -1) AS a0, SQRT(q.a0) AS root FROM ({}) AS q WHERE q.a0 / 0 \
                IS NULL",
            ),
        ]);
        Query {
            keys,
            aggregates,
            body,
            having: Tree::leaf(Sort::Clause, having),
            tail: Tree::leaf(Sort::Clause, order),
            around: around.map(str::to_owned),
        }
    }
}

impl Query {
    fn written(&self, of: &dyn Fn(&Tree) -> String) -> String {
        let keys =
            self.keys.iter().enumerate().map(|(index, key)| format!("{} AS k{index}", of(key)));
        let aggregates = self
            .aggregates
            .iter()
            .enumerate()
            .map(|(index, one)| format!("{} AS a{index}", of(one)));
        let columns: Vec<String> = keys.chain(aggregates).collect();
        let by: Vec<String> = (1..=self.keys.len()).map(|index| index.to_string()).collect();
        let group =
            if by.is_empty() { String::new() } else { format!(" GROUP BY {}", by.join(", ")) };
        let sql = format!(
            "SELECT {}{}{group}{}{}",
            columns.join(", "),
            of(&self.body),
            of(&self.having),
            of(&self.tail)
        );
        self.around.as_ref().map_or(sql.clone(), |around| around.replace("{}", &sql))
    }

    pub(super) fn sql(&self) -> String {
        self.written(&Tree::sql)
    }

    /// With long repetitions in short.
    pub(super) fn shown(&self) -> String {
        self.written(&Tree::shown)
    }

    /// Whether the rows of an answer are those of public groups, all of them.
    pub(super) fn shows_all(&self) -> bool {
        self.around.is_none() && self.having.sql().is_empty() && self.tail.sql().is_empty()
    }

    /// Smaller queries to try instead.
    pub(super) fn smaller(&self) -> Vec<Query> {
        let mut list = Vec::new();
        if self.around.is_some() {
            list.push(Query { around: None, ..self.clone() });
        }
        for index in 0..self.keys.len() {
            let mut keys = self.keys.clone();
            keys.remove(index);
            list.push(Query { keys, ..self.clone() });
        }
        if self.aggregates.len() > 1 {
            for index in 0..self.aggregates.len() {
                let mut aggregates = self.aggregates.clone();
                aggregates.remove(index);
                list.push(Query { aggregates, ..self.clone() });
            }
        }
        let count = Tree::leaf(Sort::Clause, "COUNT(*)");
        for (index, tree) in self.aggregates.iter().enumerate() {
            for smaller in std::iter::once(count.clone()).chain(tree.smaller()) {
                let mut aggregates = self.aggregates.clone();
                aggregates[index] = smaller;
                list.push(Query { aggregates, ..self.clone() });
            }
        }
        for (index, tree) in self.keys.iter().enumerate() {
            for smaller in tree.smaller() {
                let mut keys = self.keys.clone();
                keys[index] = smaller;
                list.push(Query { keys, ..self.clone() });
            }
        }
        list.extend(
            self.having.smaller().into_iter().map(|having| Query { having, ..self.clone() }),
        );
        list.extend(self.tail.smaller().into_iter().map(|tail| Query { tail, ..self.clone() }));
        list.extend(self.body.smaller().into_iter().map(|body| Query { body, ..self.clone() }));
        let length = self.sql().len();
        list.retain(|query| query.sql().len() < length);
        list
    }
}
